"""Which machine is looked at, and which two of its ranks; with the address that says so. Nothing here knows
Streamlit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import collsim as cs
from collsim.errors import CollsimError
from collsim.topology.fabrics import FABRICS
from collsim.viz.route.route import RankRoute, ways

from ...scenario import custom_machine
from ...scenario.choice import MACHINE_WORDS, MOST_NODES, Choice, Complaint, count, filed, one_of, quantity
from ...scenario.custom_machine import OWN
from ...scenario.outcome import Refused

MOST_RANKS = 256


@dataclass(frozen=True)
class Yard:
    """What is asked: a machine of the catalogue, or `text` of one's own; ranks `a` and `b`; what is compared: `p2p` or
    `gdr`."""

    machine: str = "pcie-8gpu"
    nodes: int = 1
    fabric: str = "switch"
    a: int = 0
    b: int = 1
    by: str = "p2p"
    nbytes: str = "64MiB"
    text: str = ""


READERS: dict[str, Callable[[str], Any]] = {
    "machine": one_of("machine", lambda: [*cs.topology.machines(), OWN]),
    "nodes": count("nodes", MOST_NODES),
    "fabric": one_of("fabric", lambda: FABRICS),
    "a": count("a", MOST_RANKS - 1, 0),
    "b": count("b", MOST_RANKS - 1, 0),
    "by": one_of("comparison", lambda: ("p2p", "gdr")),
    "nbytes": quantity(cs.parse_bytes),
    "own": custom_machine.unpacked,
}


def read(query: dict[str, str]) -> tuple[Yard, list[Complaint]]:
    """The yard that an address asks for, with complaints; nothing is raised."""
    plain, found, complaints = Yard(), {}, []
    for name, reader in READERS.items():
        if name not in query:
            continue
        try:
            if len(query[name]) > (custom_machine.LONGEST_IN_ADDRESS if name == "own" else 60):
                raise CollsimError(f"{len(query[name])} characters are too many.")
            found["text" if name == "own" else name] = reader(query[name])
        except CollsimError as error:
            used = plain.machine if name == "own" else str(getattr(plain, name))
            complaints.append(Complaint(name, query[name][:60], str(error), used))
    if found.get("machine") == OWN:
        del found["machine"]
        if "own" not in query:
            complaints.append(Complaint("machine", OWN, "the address does not hold the machine", plain.machine))
    yard = replace(plain, **found)
    for name in ("a", "b"):
        ranks = _ranks(yard)
        if name in found and found[name] >= ranks > 0:
            why = f"{name}={found[name]} is not a rank; with {ranks} ranks it is 0 to {ranks - 1}"
            complaints.append(Complaint(name, query[name], why, str(ranks - 1)))
            yard = replace(yard, a=ranks - 1) if name == "a" else replace(yard, b=ranks - 1)
    return yard, complaints


def _ranks(yard: Yard) -> int:
    """Ranks of the machine; none where it cannot be built, which the page tells."""
    try:
        return build(yard).ranks
    except CollsimError:
        return 0


def write(yard: Yard) -> dict[str, str]:
    """The address of a yard; what stands at its default is left out."""
    plain = Yard()
    query = {
        name: str(getattr(yard, name))
        for name in READERS
        if name != "own" and getattr(yard, name) != getattr(plain, name)
    }
    return query | ({"machine": OWN, "own": custom_machine.packed(yard.text)} if yard.text else {})


def build(yard: Yard, **switched: Any) -> cs.Topology:
    """The machine, with P2P or GDR as asked. Raises CollsimError for what cannot be, Refused for what is too large to
    draw."""
    words: dict[str, Any] = {"nodes": yard.nodes, "fabric": yard.fabric, **switched}
    place: cs.Topology = custom_machine.build(yard.text, **words) if yard.text else cs.machine(yard.machine, **words)
    if place.ranks > MOST_RANKS:
        raise Refused("machines.large", ranks=place.ranks, limit=MOST_RANKS)
    return place


def takes(yard: Yard) -> tuple[str, ...]:
    """Which of `nodes`, `fabric`, `p2p`, `gdr` the machine has."""
    return custom_machine.facts(yard.text).takes if yard.text else MACHINE_WORDS


def chosen(choice: Choice, yard: Yard) -> Choice:
    """A choice of Explore on the machine of a yard."""
    place = filed(yard.text) if yard.text else {"place": yard.machine}
    return replace(choice, **{**place, "nodes": yard.nodes, "fabric": yard.fabric})


@dataclass(frozen=True)
class Look:
    """What the page shows: `ways` for on and off (None where there is no way, then `why` says so), and whether both are
    the same."""

    name: str
    ranks: int
    notes: tuple[str, ...]
    ways: tuple[RankRoute | None, RankRoute | None]
    why: tuple[str, str]
    same: bool


def look(yard: Yard) -> Look:
    """Build the machine with the switch on and off, and find the way in both. Raises CollsimError where even the first
    has none."""
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
    found: tuple[RankRoute | None, RankRoute | None]
    try:
        found = (None, None) if yard.a == yard.b else _pair(places, yard)
    except CollsimError as error:
        found, why[1] = (ways([first], yard.a, yard.b, yard.nbytes)[0], None), str(error)
    same = all(found) and found[0].links == found[1].links if found[0] and found[1] else False
    return Look(first.name, first.ranks, tuple(first.facts.get("notes", ())), found, (why[0], why[1]), bool(same))


def _pair(places: list[cs.Topology | None], yard: Yard) -> tuple[RankRoute | None, RankRoute | None]:
    there = [place for place in places if place is not None]
    found = ways(there, yard.a, yard.b, yard.nbytes)
    return found[0], found[1] if len(found) > 1 else None


def clicked(yard: Yard, rank: int, first: bool) -> Yard:
    """A click on a rank: the first of two chooses where the way begins, the second where it ends."""
    return replace(yard, a=rank) if first else replace(yard, b=rank)
