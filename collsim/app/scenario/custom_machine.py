"""A machine of one's own: a text that `load_topology` reads, packed into the address, built within bounds. Nothing here
knows Streamlit."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import collsim as cs
from collsim.errors import CollsimError
from collsim.errors.collected_warnings import collect_warnings
from collsim.limits import within
from collsim.topology.files.topo_m import matches_format as looks_like_topo_m
from collsim.topology.files.yaml_document import build_value, compose
from collsim.topology.spec import parse_topology

from . import address_parameters

#: What the address calls such a machine, beside the machines of the catalogue.
OWN = "own"
#: Characters; also what a compressed text from an address may unpack to, as a small one may hold a huge one.
LONGEST_TEXT = 200_000
#: Compressed characters: much longer addresses are cut by chat programs, proxies and browsers.
LONGEST_IN_ADDRESS = 4_000
MAX_RANKS = 256
MAX_GPUS_IN_NODE = 80
_MAX_SIZE_OF_PARAMETER = 4096
MAX_MEMORY = 16 * 2**20  # of a topology: 200,000 links
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_OVER_NODES = ("nodes", "fabric")
_SWITCHES = ("p2p", "gdr")


@dataclass(frozen=True)
class Own:
    """What a text of one's own is.

    Attributes:
        file: the name under which it is offered for download, and in code to copy.
        ranks: of one copy, as the file has it.
        gpus: of one node; none of a network that is no machine.
        takes: which of `nodes`, `fabric`, `p2p`, `gdr` can be set: none for a network that is no machine, no nodes
            without network cards.
        settings: those that the file sets itself.
        notes: what the file does not say and was assumed.
    """

    file: str
    ranks: int
    gpus: int
    takes: tuple[str, ...]
    settings: tuple[tuple[str, object], ...]
    notes: tuple[str, ...]


# ---- address


def pack_text(text: str) -> str:
    """A text as it stands in an address; empty where it is too long for one.

    Args:
        text: The text.
    """
    letters = address_parameters.pack_text(text)
    if len(letters) <= LONGEST_IN_ADDRESS:
        return letters
    return ""


def unpack_text(letters: str) -> str:
    """The text again, never more than `LONGEST_TEXT` bytes of it.

    Args:
        letters: The text as an address holds it.

    Raises:
        CollsimError: for anything that `pack_text` did not write
    """
    try:
        return address_parameters.unpack_text(letters, LONGEST_TEXT)
    except ValueError:
        raise CollsimError("the topology in the address cannot be read") from None
    except EOFError:
        raise CollsimError("the topology in the address is cut short or too long") from None


# ---- the machine


@lru_cache(maxsize=64)
def read_facts(text: str) -> Own:
    """What the text is.

    Args:
        text: The text.

    Raises:
        CollsimError: where it is no topology, or one too large for a page
    """
    topology = _parse_cached(text)
    machine, options = topology.facts.machine, topology.facts.options
    takes: tuple[str, ...] = ()
    gpus = 0
    if machine is not None:
        takes = _SWITCHES
        gpus = len(machine.of_kind("gpu"))
        if machine.of_kind("nic"):
            takes = (*_OVER_NODES, *_SWITCHES)
    set_options = {name: options[name] for name in takes if name in options}
    return Own(choose_file_name(text), topology.ranks, gpus, takes, tuple(set_options.items()), topology.facts.notes)


def build_settings(text: str, nodes: int, fabric: str, p2p: bool, gdr: bool) -> dict[str, Any]:
    """Keywords of `load_topology` that turn what the file says into what is asked for.

    Args:
        text: The text.
        nodes: Number of nodes.
        fabric: Name of the fabric between nodes.
        p2p: Whether P2P is on.
        gdr: Whether GPUDirect RDMA is on.
    """
    file_facts = read_facts(text)
    file_settings = dict(file_facts.settings)
    settings: dict[str, object] = {}
    if "nodes" in file_facts.takes:
        if nodes != file_settings.get("nodes", 1):
            settings |= {"nodes": nodes}
        if nodes > 1 and fabric != file_settings.get("fabric", "switch"):
            settings |= {"fabric": fabric}
    for name, on in (("p2p", p2p), ("gdr", gdr)):
        if name in file_facts.takes and on != bool(file_settings.get(name, True)):
            settings[name] = on
    return settings


def build(
    text: str, nodes: int = 1, fabric: str = "switch", p2p: bool = True, gdr: bool = True, **more: object
) -> cs.Topology:
    """The machine as asked for; `more` goes to `machine` (placement, oversubscription). Raises CollsimError.

    Args:
        text: The text.
        nodes: Number of nodes.
        fabric: Name of the fabric between nodes.
        p2p: Whether P2P is on.
        gdr: Whether GPUDirect RDMA is on.
        **more: Further keywords of the function that builds the topology.
    """
    settings = build_settings(text, nodes, fabric, p2p, gdr) | more
    if read_facts(text).ranks * settings.get("nodes", 1) > MAX_RANKS:
        raise _refuse_size(read_facts(text).ranks * settings["nodes"])
    return _parse_cached(text, **settings)


def choose_file_name(text: str) -> str:
    """What the text would be called as a file.

    Args:
        text: The text.
    """
    if text.lstrip().startswith("<"):
        return "topo.xml"
    if looks_like_topo_m(text):
        return "topo.txt"
    return "topo.yaml"


def _parse_cached(text: str, **settings: Any) -> cs.Topology:
    """Built once its size is known to be small: the text may come from anybody's link."""
    if len(text) > LONGEST_TEXT:
        message = "{characters:,} characters are more than a topology here may have ({most:,})"
        raise CollsimError(message, characters=len(text), most=LONGEST_TEXT)
    name = choose_file_name(text)
    if name == "topo.yaml":
        _require_small(text, name)
    if name == "topo.xml":
        gpus = text.count("<gpu")
    else:
        gpus = len(set(re.findall(r"\bgpu\d+", text, re.IGNORECASE)))
    if gpus > MAX_GPUS_IN_NODE:
        raise _refuse_size(gpus, MAX_GPUS_IN_NODE)
    with collect_warnings(), within(MAX_MEMORY):  # the page lists the notes
        topology: cs.Topology = cs.topology.parse_topology_text(text, name, **settings)
    if topology.ranks > MAX_RANKS:
        raise _refuse_size(topology.ranks)
    return topology


def _refuse_size(ranks: float, most: int = MAX_RANKS) -> CollsimError:
    return CollsimError(
        "{ranks:,.0f} ranks are more than this page computes from a file; {most} is the most",
        ranks=min(ranks, 1000000000000000.0),
        most=most,
    )


def _require_small(text: str, name: str) -> None:
    """Raises CollsimError for YAML that asks for far more ranks, or larger options, than a page builds; nothing is
    built to find out."""
    node = compose(text, name, "YAML")
    top = _get_entries(node)
    if "network" in top:
        builders: dict[str, Any] = {kind: partial(_require_few, kind) for kind in cs.topology.NETWORKS}
        parse_topology(str(top["network"].value), builders)
    if getattr(top.get("npus_count"), "id", "") == "sequence":
        _require_few("", *(_read_scalar(value) for value in top["npus_count"].value))
    for key, value in _get_entries(top.get("options")).items():
        if isinstance(size := _read_scalar(value), int | float) and not abs(size) <= _MAX_SIZE_OF_PARAMETER:
            message = "option {key}={size:.6g} is too large; {most} is the most here"
            raise CollsimError(message, key=key[:20], size=size, most=_MAX_SIZE_OF_PARAMETER)


def _get_entries(node: Any) -> dict[str, Any]:
    """The entries of a mapping; none of anything else."""
    if getattr(node, "id", "") == "mapping":
        return {str(key.value): value for key, value in node.value}
    return {}


def _read_scalar(node: Any) -> object:
    """A number as YAML reads it, or the text."""
    if getattr(node, "id", "") != "scalar":
        return None
    try:
        value = build_value(node)
    except CollsimError:
        return None  # the reader will say what is wrong with it
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)  # '8' is taken for 8
    return value


def _require_few(kind: str, *sizes: object, **more: object) -> Any:
    """In the place of the function that builds a network: raises CollsimError for sizes far beyond what a page
    computes.

    A fat tree of 16 ports has 1,024 ranks, a dragonfly of 16 hosts, switches and cables more: their sizes count more
    than once.
    """
    most = MAX_RANKS
    if kind in ("fat_tree", "dragonfly"):
        most = 16
    values = (*sizes, *(value for name, value in more.items() if name not in ("bandwidth", "alpha")))
    numbers = [n for n in values if isinstance(n, int | float)]
    if max(numbers, default=0) > most or math.prod(numbers) > 16 * MAX_RANKS:
        raise _refuse_size(max(math.prod(numbers), *numbers))
