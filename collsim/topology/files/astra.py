"""ASTRA-sim's network YAML (astra-network-analytical): topology, npus_count, bandwidth, latency, one entry per
dimension.

Dimension 0 is the fastest: rank = d0 + n0 * (d1 + n1 * ...). Bandwidth is in GB/s of 2^30 bytes, latency in ns, per
link and direction; in a Switch the rate is of each cable to the switch and its latency counts twice, as here.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np

from ...dtypes import Longs
from ...errors import FormatError, Sentence, join_words
from ..facts import TopologyFacts
from ..generic import build_both_directions
from ..graph import ShortestPaths, require_connected
from ..network import DEVICE_KINDS, Cable, Devices, Links, Names, Topology
from .yaml_document import build_value, compose

_KINDS = ("Ring", "FullyConnected", "Switch")
_KEYS = ("topology", "npus_count", "bandwidth", "latency")
#: Ranks times the largest dimension, which bounds the links that are built.
_MAX_RANKS_TIMES_DIMENSION = 4_000_000
_FASTEST, _SLOWEST = 1e9, 1e12  # GB/s, ns: beyond any cable


def matches_format(text: str) -> bool:
    """ASTRA-sim's is the only YAML with npus_count."""
    return re.search(r"^npus_count\s*:", text, re.MULTILINE) is not None


def read_astra_network(text: str, name: str, options: dict[str, object]) -> Topology:
    """The network of the file; ranks are its NPUs. It has no options.

    Args:
        text: of the file.
        name: of the file, for errors and the topology.
        options: must be empty.
    """
    if options:
        raise FormatError("{name}: an ASTRA-sim network has no option {options}", name=name, options=", ".join(options))
    node = compose(text, name, "YAML")
    try:
        data = None
        if node is not None:
            data = build_value(node)
    except FormatError as error:
        raise FormatError("{name}, {error}", name=name, error=error) from None
    if not isinstance(data, dict):
        raise FormatError("{name}: expected the keys {keys}", name=name, keys=", ".join(_KEYS))
    # The parser keeps the last of two equal keys in silence, so doubles are looked for in the nodes.
    keys = [str(key.value) for key, _ in node.value]  # type: ignore[union-attr]
    if duplicates := [key for key in dict.fromkeys(keys) if keys.count(key) > 1]:
        raise FormatError("{name}: key {twice!r} is there twice", name=name, twice=duplicates[0][:40])
    dims = _read_dimensions(data, name)
    notes = [f"key {_shorten(key)} is not understood" for key in data if key not in _KEYS]
    return build(dims, name, notes)


def _read_dimensions(data: dict[str, object], name: str) -> list[tuple[str, int, float, float]]:
    """(kind, size, B/s, s) per dimension."""
    columns = []
    for key in _KEYS:
        value = data.get(key)
        if not isinstance(value, list) or not value:
            message = "{name}: {key} must be a list with an entry per dimension, for example [ 8 ]; it is {value}"
            raise FormatError(message, name=name, key=key, value=_shorten(value))
        columns.append(value)
    # Every list has an entry a dimension; one that is shorter would be paired wrongly without this.
    if len({len(c) for c in columns}) > 1:
        raise FormatError(
            "{name}: {keys} entries; all need as many",
            name=name,
            keys=join_words(
                Sentence("{key} has {count}", key=k, count=len(c)) for k, c in zip(_KEYS, columns, strict=True)
            ),
        )
    dims = []
    for i, (kind, size, rate, delay) in enumerate(zip(*columns, strict=True)):
        if kind not in _KINDS:
            message = "{name}: topology of dimension {i} is {kind}; known: {kinds}"
            raise FormatError(message, name=name, i=i, kind=_shorten(kind), kinds=", ".join(_KINDS))
        if not isinstance(size, int) or isinstance(size, bool) or size < 2:
            message = "{name}: npus_count of dimension {i} is {size}; a dimension has at least 2"
            raise FormatError(message, name=name, i=i, size=_shorten(size))
        if (
            not all(isinstance(x, int | float) and not isinstance(x, bool) for x in (rate, delay))
            or not 0 < rate <= _FASTEST
            or not 0 <= delay <= _SLOWEST
        ):
            message = (
                "{name}: dimension {i} has bandwidth {rate} GB/s and latency {delay} ns; they must be numbers above 0"
            )
            raise FormatError(message, name=name, i=i, rate=_shorten(rate), delay=_shorten(delay))
        # ASTRA-sim counts GB as 2^30 bytes.
        dims.append((kind, size, rate * 2**30, delay * 1e-9))
    return dims


def _shorten(value: object) -> str:
    """The value in a message, however long it is."""
    import reprlib

    return reprlib.repr(value)


def build(dims: list[tuple[str, int, float, float]], name: str, notes: list[str]) -> Topology:
    """The network of (kind, size, B/s, s) per dimension, which its facts keep as `dimensions` (kind, size).

    Args:
        dims: kind (`Ring`, `FullyConnected`, `Switch`), size, B/s and s of each dimension, the fastest first.
        name: of the topology.
        notes: what the file has that was not understood.
    """
    ranks = math.prod(size for _, size, _, _ in dims)
    if ranks * max(size for _, size, _, _ in dims) > _MAX_RANKS_TIMES_DIMENSION:
        message = "{name}: {ranks:,} NPUs are too many for a network without closed form; at most {most:,} links"
        raise FormatError(message, name=name, ranks=ranks, most=_MAX_RANKS_TIMES_DIMENSION)
    rank, stride, switches = np.arange(ranks), 1, 0
    parts: list[tuple[Longs, Longs, Cable]] = []
    for i, (kind, size, rate, delay) in enumerate(dims):
        # Mixed-radix numbers: the stride of a dimension is the product of the sizes before it.
        here = rank // stride % size
        group = rank - here * stride
        cable = Cable(
            "cable",
            f"dimension {i}",
            rate,
            delay,
            f"bandwidth spec: {name}, GB of 2^30 bytes; alpha spec: {name}",
            nominal=rate,
        )
        if kind == "Switch":
            firsts = np.unique(group)
            parts.append((rank, ranks + switches + np.searchsorted(firsts, group), cable))
            switches += len(firsts)
        else:
            steps = range(1, size)
            # A ring joins neighbours; of a dimension of two only one cable, not one in each sense.
            if kind == "Ring":
                steps = range(1, 2)
            for step in steps:
                if kind == "FullyConnected" or size == 2:
                    mine = here + step < size
                else:
                    mine = np.ones(ranks, bool)
                parts.append((rank[mine], (group + (here + step) % size * stride)[mine], cable))
        stride *= size
    dimensions = tuple((kind, size) for kind, size, _, _ in dims)
    facts = TopologyFacts(file=name, notes=tuple(notes), dimensions=dimensions)
    return _build_topology(parts, ranks, switches, name, facts)


def _build_topology(
    parts: list[tuple[Longs, Longs, Cable]], ranks: int, switches: int, name: str, facts: TopologyFacts
) -> Topology:
    pieces = [build_both_directions(a, b, cable) for a, b, cable in parts]
    cables = tuple(dict.fromkeys(cable for *_, cable in parts))
    column = np.concatenate(
        [np.full(len(p), cables.index(cable), np.int32) for p, (*_, cable) in zip(pieces, parts, strict=True)]
    )
    src, dst = (np.concatenate([getattr(p, what) for p in pieces]) for what in ("src", "dst"))
    alpha, rate = (np.concatenate([getattr(p, what) for p in pieces]) for what in ("alpha", "bandwidth"))
    kinds = np.repeat(np.array([DEVICE_KINDS.index("gpu"), DEVICE_KINDS.index("switch")], np.int8), [ranks, switches])
    topology = Topology(
        name=name,
        ranks=ranks,
        devices=Devices(Names(((ranks, "gpu"), (switches, "switch"))), kinds, np.full(ranks + switches, -1, np.int32)),
        links=Links(src, dst, alpha, rate, column, cables),
        endpoint_device=np.arange(ranks, dtype=np.int32),
    )
    paths = ShortestPaths.of_links(ranks + switches, topology.links)
    require_connected(topology, paths)
    return replace(topology, next_hop=paths, facts=facts)
