"""A machine of one's own: a text that `load_topology` reads, packed into the address, built within bounds. Nothing here
knows Streamlit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import collsim as cs
from collsim.errors import CollsimError
from collsim.errors.collected_warnings import collect_warnings
from collsim.limits import within
from collsim.locale import Text
from collsim.topology.files.topo_m import matches_format as looks_like_topo_m

from . import address_parameters

#: What the address calls such a machine, beside the machines of the catalogue.
OWN = "own"
#: Characters; also what a compressed text from an address may unpack to, as a small one may hold a huge one.
LONGEST_TEXT = 200_000
#: Compressed characters: much longer addresses are cut by chat programs, proxies and browsers.
LONGEST_IN_ADDRESS = 4_000
MAX_RANKS = 256
MAX_GPUS_IN_NODE = 80
_MAX_DEVICES = 4096
MAX_MEMORY = 16 * 2**20  # of a topology: 200,000 links
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


def check_text(text: str, name: Text) -> None:
    """Refuse a text that is no topology.

    Args:
        text: The text.
        name: What messages call it, as it may be no file.

    Raises:
        CollsimError: where `read_facts` raises it
    """
    try:
        read_facts(text)
    except CollsimError as error:
        raise CollsimError(error.sentence.rename({choose_file_name(text): name})) from error


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
    if name == "topo.xml":
        gpus = text.count("<gpu")
    else:
        gpus = len(set(re.findall(r"\bgpu\d+", text, re.IGNORECASE)))
    if gpus > MAX_GPUS_IN_NODE:
        raise _refuse_size(gpus, MAX_GPUS_IN_NODE)
    with collect_warnings(), within(MAX_MEMORY):  # the page lists the notes
        topology: cs.Topology = cs.topology.parse_topology_text(text, name, **settings)
    if topology.ranks > MAX_RANKS or len(topology.devices.name) > _MAX_DEVICES:
        raise _refuse_size(max(topology.ranks, len(topology.devices.name)))
    return topology


def _refuse_size(ranks: float, most: int = MAX_RANKS) -> CollsimError:
    return CollsimError(
        "{ranks:,.0f} ranks are more than this page computes from a file; {most} is the most",
        ranks=min(ranks, 1000000000000000.0),
        most=most,
    )
