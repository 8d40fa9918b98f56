"""A machine of one's own: a text that `load_topology` reads, packed into the address, built within bounds. Nothing here
knows Streamlit."""

from __future__ import annotations

import base64
import binascii
import math
import re
import warnings
import zlib
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import collsim as cs
from collsim.errors import CollsimError
from collsim.limits import within
from collsim.topology.files.document import compose, value_of
from collsim.topology.files.topo_m import looks_like_it as looks_like_topo_m
from collsim.topology.spec import parse_topology

#: What the address calls such a place, beside the machines of the catalogue.
OWN = "own"
LONGEST_TEXT = 200_000
LONGEST_IN_ADDRESS = 4_000
MOST_RANKS = 256
MOST_IN_A_NODE = 80
_MOST_OF_OPTION = 4096
MOST_MEMORY = 16 * 2**20  # of a topology: 200,000 links
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_OVER_NODES = ("nodes", "fabric")
_SWITCHES = ("p2p", "gdr")


@dataclass(frozen=True)
class Own:
    """What a text of one's own is.

    Attributes:
        file: the name under which it is offered for download, and in code to copy.
        ranks: of one copy, as the file has it. gpus: of one node; none of a network that is no machine.
        takes: which of `nodes`, `fabric`, `p2p`, `gdr` can be set: none for a network that is no machine, no nodes
        without network cards. asked: those that the file sets itself.
        notes: what the file does not say and was assumed.
    """

    file: str
    ranks: int
    gpus: int
    takes: tuple[str, ...]
    asked: tuple[tuple[str, Any], ...]
    notes: tuple[str, ...]


# ---- address


def packed(text: str) -> str:
    """A text as it stands in an address; empty where it is too long for one."""
    letters = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    return letters if len(letters) <= LONGEST_IN_ADDRESS else ""


def unpacked(letters: str) -> str:
    """The text again, never more than `LONGEST_TEXT` bytes of it. Raises CollsimError for anything that `packed` did
    not write."""
    try:
        opened = zlib.decompressobj()
        raw = opened.decompress(base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4)), LONGEST_TEXT)
        whole = opened.eof and not opened.unconsumed_tail
        text = raw.decode()
    except (binascii.Error, ValueError, zlib.error):
        raise CollsimError("the topology in the address cannot be read") from None
    if not whole:
        raise CollsimError("the topology in the address is cut short or too long")
    return text


# ---- the machine


@lru_cache(maxsize=64)
def facts(text: str) -> Own:
    """What the text is. Raises CollsimError where it is no topology, or one too large for a page."""
    made = _parsed(text)
    machine = made.facts.get("asked")
    given = dict(machine[1]) if isinstance(machine, tuple) else {}
    cards = isinstance(machine, tuple) and bool(machine[0].of_kind("nic"))
    takes = (*(_OVER_NODES if cards else ()), *_SWITCHES) if isinstance(machine, tuple) else ()
    asked = {name: given[name] for name in takes if name in given}
    gpus = len(machine[0].of_kind("gpu")) if isinstance(machine, tuple) else 0
    return Own(file_name(text), made.ranks, gpus, takes, tuple(asked.items()), tuple(made.facts.get("notes", ())))


def settings(text: str, nodes: int, fabric: str, p2p: bool, gdr: bool) -> dict[str, Any]:
    """Keywords of `load_topology` that turn what the file says into what is asked for."""
    own = facts(text)
    said = dict(own.asked)
    given: dict[str, Any] = {}
    if "nodes" in own.takes:
        given |= {"nodes": nodes} if nodes != said.get("nodes", 1) else {}
        given |= {"fabric": fabric} if nodes > 1 and fabric != said.get("fabric", "switch") else {}
    for name, on in (("p2p", p2p), ("gdr", gdr)):
        if name in own.takes and on != bool(said.get(name, True)):
            given[name] = on
    return given


def build(
    text: str, nodes: int = 1, fabric: str = "switch", p2p: bool = True, gdr: bool = True, **more: Any
) -> cs.Topology:
    """The machine as asked for; `more` goes to `machine` (placement, oversubscription). Raises CollsimError."""
    given = settings(text, nodes, fabric, p2p, gdr) | more
    if facts(text).ranks * given.get("nodes", 1) > MOST_RANKS:
        raise _too_large(facts(text).ranks * given["nodes"])
    return _parsed(text, **given)


def file_name(text: str) -> str:
    """What the text would be called as a file."""
    if text.lstrip().startswith("<"):
        return "topo.xml"
    return "topo.txt" if looks_like_topo_m(text) else "topo.yaml"


def _parsed(text: str, **given: Any) -> cs.Topology:
    """Built once its size is known to be small: the text may come from anybody's link."""
    if len(text) > LONGEST_TEXT:
        why = "{characters:,} characters are more than a topology here may have ({most:,})"
        raise CollsimError(why, characters=len(text), most=LONGEST_TEXT)
    name = file_name(text)
    if name == "topo.yaml":
        _require_small(text, name)
    gpus = text.count("<gpu") if name == "topo.xml" else len(set(re.findall(r"\bgpu\d+", text, re.IGNORECASE)))
    if gpus > MOST_IN_A_NODE:
        raise _too_large(gpus, MOST_IN_A_NODE)
    with warnings.catch_warnings(), within(MOST_MEMORY):  # the page lists the notes
        warnings.simplefilter("ignore")
        made: cs.Topology = cs.topology.parse_topology_text(text, name, **given)
    if made.ranks > MOST_RANKS:
        raise _too_large(made.ranks)
    return made


def _too_large(ranks: float, most: int = MOST_RANKS) -> CollsimError:
    return CollsimError(
        "{ranks:,.0f} ranks are more than this page computes from a file; {most} is the most",
        ranks=min(ranks, 1000000000000000.0),
        most=most,
    )


def _require_small(text: str, name: str) -> None:
    """Raises CollsimError for YAML that asks for far more ranks, or larger options, than a page builds; nothing is
    built to find out."""
    node = compose(text, name, "YAML")
    top = _entries(node)
    if "network" in top:
        builders: dict[str, Any] = {kind: partial(_require_few, kind) for kind in cs.topology.NETWORKS}
        parse_topology(str(top["network"].value), builders)
    if getattr(top.get("npus_count"), "id", "") == "sequence":
        _require_few("", *(_plain(value) for value in top["npus_count"].value))
    for key, value in _entries(top.get("options")).items():
        if isinstance(size := _plain(value), int | float) and not abs(size) <= _MOST_OF_OPTION:
            why = "option {key}={size:.6g} is too large; {most} is the most here"
            raise CollsimError(why, key=key[:20], size=size, most=_MOST_OF_OPTION)


def _entries(node: Any) -> dict[str, Any]:
    """The entries of a mapping; none of anything else."""
    return {str(key.value): value for key, value in node.value} if getattr(node, "id", "") == "mapping" else {}


def _plain(node: Any) -> Any:
    """A number as YAML reads it, or the text."""
    if getattr(node, "id", "") != "scalar":
        return None
    try:
        value = value_of(node)
    except CollsimError:
        return None  # the reader will say what is wrong with it
    return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value  # '8' is taken for 8


def _require_few(kind: str, *sizes: Any, **more: Any) -> Any:
    """In the place of the function that builds a network: raises CollsimError for sizes far beyond what a page
    computes.

    A fat tree of 16 ports has 1,024 ranks, a dragonfly of 16 hosts, switches and cables more: their sizes count more
    than once.
    """
    most = 16 if kind in ("fat_tree", "dragonfly") else MOST_RANKS
    values = (*sizes, *(value for name, value in more.items() if name not in ("bandwidth", "alpha")))
    numbers = [n for n in values if isinstance(n, int | float)]
    if max(numbers, default=0) > most or math.prod(numbers) > 16 * MOST_RANKS:
        raise _too_large(max(math.prod(numbers), *numbers))
