"""Networks: what `load_topology` reads, our YAML out, ASTRA-sim's YAML out, SimGrid's platform XML out.

Sources: astra-network-analytical (topology, npus_count, bandwidth in GB of 2^30 bytes, latency in ns per link,
dimension 0 the fastest); simgrid.org/doc/latest/XML_reference.html (platform 4.1: hosts, links, routes).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from xml.sax.saxutils import quoteattr

import numpy as np

from ..errors import CollsimError, Sentence
from ..files import FilePath, read_text, refuse, write_text
from ..topology import Topology
from ..topology.files import load_topology
from ..topology.files.astra import build
from .file_formats import register_built_in

_MAX_ROUTES = 250_000
_DEEPEST = 64
#: Shapes of one dimension: what ASTRA-sim calls them, and how many links n ranks have.
_ONE_DIMENSION: dict[str, tuple[str, Callable[[int], int]]] = {
    "ring": ("Ring", lambda n: 2 * n if n > 2 else 2),
    "switch": ("Switch", lambda n: 2 * n),
    "fully_connected": ("FullyConnected", lambda n: n * (n - 1)),
}


def read_topology(path: FilePath, **options: object) -> Topology:
    """A topology file of any kind that `load_topology` knows."""
    return load_topology(path, **options)


def read_yaml(path: FilePath, **options: object) -> Topology:
    """Read a topology in YAML.

    Args:
        path: Of the file.
        options: Of `load_topology`.

    Raises:
        FormatError: It is larger than 10 MiB or has more than 64 levels of brackets; found before the text is parsed.
    """
    depth = 0
    for number, line in enumerate(read_text(path, most=10 * 2**20).splitlines(), 1):
        for sign in re.findall(r"[\[{\]}]", line):
            depth += 1 if sign in "[{" else -1
            if depth > _DEEPEST:
                message = "brackets nested more than {most} deep"
                refuse(path, Sentence("line {line}", line=number), message, most=_DEEPEST)
    return load_topology(path, **options)


def write_yaml(topology: Topology, path: FilePath) -> None:
    """Write a topology as our own YAML."""
    write_text(path, topology.to_yaml())


# ---- ASTRA-sim


def write_astra(topology: Topology, path: FilePath) -> None:
    """Write a network of ASTRA-sim's, or a ring, switch, fully connected network, torus or hypercube of equal cables,
    as its network YAML.

    Args:
        topology: What is written.
        path: Of the file.

    Raises:
        CollsimError: For any other network: ASTRA-sim's analytical backend has no words for it.
    """
    dims = _load_dimensions(topology) or [
        (kind, size, *_find_uniform(topology)) for kind, size in _list_dimensions(topology)
    ]
    columns: list[tuple[str, list[object]]] = [
        ("topology", [kind for kind, *_ in dims]),
        ("npus_count", [size for _, size, *_ in dims]),
        ("bandwidth", [float(f"{rate / 2**30:.12g}") for *_, rate, _ in dims]),
        ("latency", [float(f"{delay * 1e9:.12g}") for *_, delay in dims]),
    ]
    notes = {"bandwidth": "  # GB/s of 2^30 bytes", "latency": "  # ns"}
    text = "".join(f"{key}: [ {', '.join(map(str, values))} ]{notes.get(key, '')}\n" for key, values in columns)
    write_text(path, f"# {topology.name.splitlines()[0]}, written by collsim\n{text}")


def _load_dimensions(topology: Topology) -> list[tuple[str, int, float, float]]:
    """(kind, size, B/s, s) of every dimension of a network from an ASTRA-sim file; none where it was changed since."""
    links, dims = topology.links, []
    for i, (kind, size) in enumerate(topology.facts.dimensions):
        first = int(np.argmax(links.cable == i))
        dims.append((kind, size, float(links.bandwidth[first]), float(links.alpha[first])))
    rebuilt = links
    if dims:
        rebuilt = build(dims, topology.name, []).links
    same = [
        np.array_equal(getattr(links, name), getattr(rebuilt, name)) for name in ("src", "dst", "bandwidth", "alpha")
    ]
    if all(same):
        return dims
    return []


def _list_dimensions(topology: Topology) -> list[tuple[str, int]]:
    """(kind, size) of every dimension, the fastest first. A hypercube is rings of two, a torus rings with its last
    dimension first."""
    dims, expected = _list_plain_dimensions(topology)
    small = not dims or any(size < 2 for _, size in dims)
    if small or len(topology.links) != expected or topology.endpoints != topology.ranks:
        message = "{name} has cables or endpoints more or fewer than a plain {shape}; ASTRA-sim cannot say that"
        raise CollsimError(message, name=topology.name, shape=topology.shape)
    return dims


def _list_plain_dimensions(topology: Topology) -> tuple[list[tuple[str, int]], int]:
    """The dimensions that the shape has, and how many links such a network would have."""
    n, shape = topology.ranks, topology.shape
    if shape in _ONE_DIMENSION:
        word, links = _ONE_DIMENSION[shape]
        return [(word, n)], links(n)
    if shape == "hypercube":
        return [("Ring", 2)] * (n.bit_length() - 1), n * (n.bit_length() - 1)
    if shape == "torus" and (sizes := _build_torus(topology)):
        dims = [("Ring", size) for size in reversed(sizes) if size > 1]
        return dims, sum(2 * n if size > 2 else n for _, size in dims)
    message = "ASTRA-sim has no words for {name}; it has rings, switches, fully connected networks and tori of them"
    raise CollsimError(message, name=topology.name)


def _build_torus(topology: Topology) -> list[int]:
    sizes = list(topology.facts.dims)
    if sizes and int(np.prod(sizes)) == topology.ranks:
        return sizes
    return []


def _find_uniform(topology: Topology) -> tuple[float, float]:
    rates, delays = np.unique(topology.links.bandwidth), np.unique(topology.links.alpha)
    if len(rates) != 1 or len(delays) != 1:
        message = "{name} has {rates} bandwidths and {delays} alphas; ASTRA-sim's networks have one per dimension"
        raise CollsimError(message, name=topology.name, rates=len(rates), delays=len(delays))
    return float(rates[0]), float(delays[0])


# ---- SimGrid


def write_simgrid(topology: Topology, path: FilePath, *, speed: str = "1Gf") -> None:
    """Write a topology as a SimGrid platform: a host per endpoint, a link per direction of each cable, a route per pair
    of endpoints.

    Args:
        topology: What is written.
        path: Of the file.
        speed: Of each host, for programs that compute.

    Raises:
        CollsimError: Beyond 250,000 routes (500 endpoints).
    """
    n = topology.endpoints
    if n * (n - 1) > _MAX_ROUTES:
        message = "{name} has {n} endpoints; SimGrid's full routing is written for at most {most}"
        raise CollsimError(message, name=topology.name, n=n, most=int(_MAX_ROUTES**0.5))
    if not re.fullmatch(r"\d+(\.\d+)?[kMGTPE]?f", speed):
        raise CollsimError("speed={speed!r} is not SimGrid's; write for example '1Gf'", speed=speed)
    write_text(path, (f"{line}\n" for line in _build_simgrid(topology, speed)))


def _build_simgrid(topology: Topology, speed: str) -> Iterator[str]:
    yield "<?xml version='1.0'?>"
    yield '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
    yield '<platform version="4.1">'
    yield f"  <!-- {topology.name.replace('--', '- -')} -->"
    yield '  <zone id="collsim" routing="Full">'
    for r in range(topology.endpoints):
        yield f'    <host id="{_name_host(topology, r)}" speed="{speed}"/>'
    links, names = topology.links, topology.devices.name
    ids = [quoteattr(f"{k}: {names[links.src[k]]} to {names[links.dst[k]]}") for k in range(len(links))]
    for k, name in enumerate(ids):
        rate, delay = f"{links.bandwidth[k]:.12g}Bps", f"{links.alpha[k]:.12g}s"
        yield f'    <link id={name} bandwidth="{rate}" latency="{delay}" sharing_policy="SHARED"/>'
    yield from _list_simgrid_routes(topology, ids)
    yield "  </zone>"
    yield "</platform>"


def _list_simgrid_routes(topology: Topology, ids: list[str]) -> Iterator[str]:
    src, dst = np.nonzero(~np.eye(topology.endpoints, dtype=bool))
    routes = topology.routes(src, dst)
    for pair, (a, b) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        hops = "".join(f"<link_ctn id={ids[k]}/>" for k in routes[pair].tolist())
        ends = f'src="{_name_host(topology, a)}" dst="{_name_host(topology, b)}"'
        yield f'    <route {ends} symmetrical="NO">{hops}</route>'


def _name_host(topology: Topology, endpoint: int) -> str:
    if endpoint < topology.ranks:
        return f"rank{endpoint}"
    return f"helper{endpoint - topology.ranks}"


# ---- the registry


def _is_topo_matrix(head: str) -> bool:
    return (
        re.search(r"^[ \t\x1b\[\d;m]*GPU0\s", head, re.MULTILINE) is not None and re.search(r"\sX\s", head) is not None
    )


register_built_in("topology-yaml", read=read_yaml, write=write_yaml)
register_built_in(
    "astra-sim",
    read=read_yaml,
    write=write_astra,
    looks=lambda head: re.search(r"^npus_count\s*:", head, re.MULTILINE) is not None,
)
register_built_in("nccl-topology", read=read_topology, looks=lambda head: "<system" in head)
register_built_in("topo-m", read=read_topology, looks=_is_topo_matrix)
register_built_in("simgrid", write=write_simgrid)
