"""Which machine is looked at, and which two of its ranks; with the address that says so. Nothing here knows Streamlit."""

from __future__ import annotations

import base64
import binascii
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import collsim as cs
from collsim.errors import CollsimError
from collsim.topology.fabrics import FABRICS
from collsim.viz.ways import Way, ways

from .choice import MOST_NODES, Complaint, count, one_of, quantity
from .run import Refused

MOST_RANKS = 256
_LONGEST_TEXT = 200_000
LONGEST_IN_ADDRESS = 4_000


@dataclass(frozen=True)
class Yard:
    """What is asked: a machine of the catalogue, or `text` of one's own; ranks `a` and `b`; what is compared: `p2p` or `gdr`."""

    machine: str = "pcie-8gpu"
    nodes: int = 1
    fabric: str = "switch"
    a: int = 0
    b: int = 1
    by: str = "p2p"
    nbytes: str = "64MiB"
    text: str = ""


READERS: dict[str, Callable[[str], Any]] = {
    "machine": one_of("machine", lambda: cs.topology.machines()),
    "nodes": count("nodes", MOST_NODES),
    "fabric": one_of("fabric", lambda: FABRICS),
    "a": count("a", MOST_RANKS - 1, 0),
    "b": count("b", MOST_RANKS - 1, 0),
    "by": one_of("comparison", lambda: ("p2p", "gdr")),
    "nbytes": quantity(cs.parse_bytes),
    "topo": lambda text: unpacked(text),
}


def read(query: dict[str, str]) -> tuple[Yard, list[Complaint]]:
    """The yard that an address asks for, with complaints; nothing is raised."""
    plain, found, complaints = Yard(), {}, []
    for name, reader in READERS.items():
        if name not in query:
            continue
        try:
            if len(query[name]) > (LONGEST_IN_ADDRESS if name == "topo" else 60):
                raise CollsimError(f"{len(query[name])} characters are too many.")
            found["text" if name == "topo" else name] = reader(query[name])
        except CollsimError as error:
            used = "" if name == "topo" else str(getattr(plain, name))
            complaints.append(Complaint(name, query[name][:60], str(error), used or plain.machine))
    return replace(plain, **found), complaints


def write(yard: Yard) -> dict[str, str]:
    """The address of a yard; what stands at its default is left out."""
    plain = Yard()
    query = {name: str(getattr(yard, name)) for name in READERS if name != "topo" and getattr(yard, name) != getattr(plain, name)}
    if yard.text:
        packed = packed_text(yard.text)
        query = {k: v for k, v in query.items() if k not in ("machine", "fabric")} | ({"topo": packed} if packed else {})
    return query


def packed_text(text: str) -> str:
    """A text as it stands in an address; empty where it is too long for one."""
    packed = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    return packed if len(packed) <= LONGEST_IN_ADDRESS else ""


def unpacked(packed: str) -> str:
    """The text again. Raises CollsimError for anything that `packed_text` did not write."""
    try:
        opened = zlib.decompressobj()
        raw = opened.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), _LONGEST_TEXT)
        if opened.unconsumed_tail or not opened.eof:
            raise CollsimError("the topology in the address is cut short or too long")
        return raw.decode()
    except (binascii.Error, ValueError, zlib.error) as error:
        if isinstance(error, CollsimError):
            raise
        raise CollsimError("the topology in the address cannot be read") from None


def build(yard: Yard, **switched: Any) -> cs.Topology:
    """The machine, with P2P or GDR as asked. Raises CollsimError for what cannot be, Refused for what is too large to draw."""
    place: cs.Topology = _own(yard, switched) if yard.text else cs.machine(yard.machine, nodes=yard.nodes, fabric=yard.fabric, **switched)
    if place.ranks > MOST_RANKS:
        raise Refused("machines.large", ranks=place.ranks, limit=MOST_RANKS)
    return place


def _own(yard: Yard, switched: dict[str, bool]) -> cs.Topology:
    """From the text; a format that describes a whole network and no machine takes neither switches nor nodes."""
    given: dict[str, Any] = {**switched, **({"nodes": yard.nodes} if yard.nodes > 1 else {})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return cs.topology.parse_topology_text(yard.text, "your text", **given)
        except CollsimError:
            return cs.topology.parse_topology_text(yard.text, "your text")


@dataclass(frozen=True)
class Look:
    """What the page shows: `ways` for on and off (None where there is no way, then `why` says so), and whether both are the same."""

    name: str
    ranks: int
    notes: tuple[str, ...]
    ways: tuple[Way | None, Way | None]
    why: tuple[str, str]
    same: bool


def look(yard: Yard) -> Look:
    """Build the machine with the switch on and off, and find the way in both. Raises CollsimError where even the first has none."""
    places: list[cs.Topology | None] = []
    why = ["", ""]
    for at, on in enumerate((True, False)):
        try:
            places.append(build(yard, **{yard.by: on}))
        except CollsimError as error:
            if on:
                raise
            places.append(None)
            why[at] = str(error)
    first = places[0]
    assert first is not None
    found: tuple[Way | None, Way | None]
    try:
        found = (None, None) if yard.a == yard.b else _pair(places, yard)
    except CollsimError as error:
        found, why[1] = (ways([first], yard.a, yard.b, yard.nbytes)[0], None), str(error)
    same = all(found) and found[0].links == found[1].links if found[0] and found[1] else False
    return Look(first.name, first.ranks, tuple(first.facts.get("notes", ())), found, (why[0], why[1]), bool(same))


def _pair(places: list[cs.Topology | None], yard: Yard) -> tuple[Way | None, Way | None]:
    there = [place for place in places if place is not None]
    found = ways(there, yard.a, yard.b, yard.nbytes)
    return found[0], found[1] if len(found) > 1 else None


def clicked(yard: Yard, rank: int, first: bool) -> Yard:
    """A click on a rank: the first of two chooses where the way begins, the second where it ends."""
    return replace(yard, a=rank) if first else replace(yard, b=rank)
