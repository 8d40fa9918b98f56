"""Which machine is looked at, and which two of its ranks; with the address that says so. Nothing here knows
Streamlit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import collsim as cs
from collsim.errors import CollsimError, Sentence, Words
from collsim.viz.route.route import RankRoute, list_routes

from ...scenario import custom_machine
from ...scenario.address import Complaint, PageAddress, Word
from ...scenario.choice import MACHINE_WORDS, WORDS, Choice, count, filed, one_of
from ...scenario.custom_machine import OWN
from ...scenario.outcome import Refused

MOST_RANKS = 256


@dataclass(frozen=True)
class Pair:
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


def _agree(found: dict[str, Any], query: Mapping[str, str], complaints: list[Complaint]) -> Pair:
    """The machine that the address holds, and ranks that it has."""
    plain = Pair()
    if found.get("machine") == OWN:
        del found["machine"]
        if "own" not in query:
            complaints.append(
                Complaint("machine", OWN, Sentence("the address does not hold the machine"), plain.machine)
            )
    pair = replace(plain, **found)
    for name in ("a", "b"):
        ranks = _ranks(pair)
        if name in found and found[name] >= ranks > 0:
            why = Sentence(
                "{name}={value} is not a rank; with {ranks} ranks it is 0 to {last}",
                name=name,
                value=found[name],
                ranks=ranks,
                last=ranks - 1,
            )
            complaints.append(Complaint(name, query[name], why, str(ranks - 1)))
            found[name] = ranks - 1
            pair = replace(plain, **found)
    return pair


def _ranks(pair: Pair) -> int:
    """Ranks of the machine; none where it cannot be built, which the page tells."""
    try:
        return build(pair).ranks
    except CollsimError:
        return 0


ADDRESS = PageAddress(
    Pair(),
    (
        WORDS["machine"].of("machine"),
        WORDS["nodes"],
        WORDS["fabric"],
        Word("a", count("a", MOST_RANKS - 1, 0)),
        Word("b", count("b", MOST_RANKS - 1, 0)),
        Word("by", one_of("comparison", lambda: ("p2p", "gdr"))),
        WORDS["nbytes"],
        Word(
            "own",
            custom_machine.unpacked,
            "text",
            custom_machine.LONGEST_IN_ADDRESS,
            custom_machine.packed,
            usual="machine",
        ),
    ),
    _agree,
    lambda pair, said: said | ({"machine": OWN} if pair.text else {}),
)


def build(pair: Pair, **switched: Any) -> cs.Topology:
    """The machine, with P2P or GDR as asked. Raises CollsimError for what cannot be, Refused for what is too large to
    draw."""
    words: dict[str, Any] = {"nodes": pair.nodes, "fabric": pair.fabric, **switched}
    place: cs.Topology = custom_machine.build(pair.text, **words) if pair.text else cs.machine(pair.machine, **words)
    if place.ranks > MOST_RANKS:
        raise Refused("machines.large", ranks=place.ranks, limit=MOST_RANKS)
    return place


def takes(pair: Pair) -> tuple[str, ...]:
    """Which of `nodes`, `fabric`, `p2p`, `gdr` the machine has."""
    return custom_machine.facts(pair.text).takes if pair.text else MACHINE_WORDS


def chosen(choice: Choice, pair: Pair) -> Choice:
    """A choice of Explore on the machine of a pair."""
    place = filed(pair.text) if pair.text else {"place": pair.machine}
    return replace(choice, **{**place, "nodes": pair.nodes, "fabric": pair.fabric})


@dataclass(frozen=True)
class Look:
    """What the page shows: `ways` for on and off (None where there is no way, then `why` says so), and whether both are
    the same; `cable`: one of the first way, as `a~b`, without which all ranks still reach each other; empty where there
    is none."""

    name: str
    ranks: int
    notes: tuple[str, ...]
    ways: tuple[RankRoute | None, RankRoute | None]
    why: tuple[Words, Words]
    same: bool
    cable: str = ""


def look(pair: Pair) -> Look:
    """Build the machine with the switch on and off, and find the way in both. Raises CollsimError where even the first
    has none."""
    places: list[cs.Topology | None] = []
    why: list[Words] = ["", ""]
    for at, on in enumerate((True, False)):
        try:
            places.append(build(pair, **{pair.by: on}))
        except CollsimError as error:
            if on:
                raise
            places.append(None)
            why[at] = error.sentence
    first = places[0]
    assert first is not None
    found: tuple[RankRoute | None, RankRoute | None]
    try:
        found = (None, None) if pair.a == pair.b else _both(places, pair)
    except CollsimError as error:
        found, why[1] = (list_routes([first], pair.a, pair.b, pair.nbytes)[0], None), error.sentence
    same = all(found) and found[0].links == found[1].links if found[0] and found[1] else False
    notes = tuple(first.facts.get("notes", ()))
    return Look(first.name, first.ranks, notes, found, (why[0], why[1]), bool(same), _spare(first, found[0]))


def _spare(place: cs.Topology, way: RankRoute | None) -> str:
    """A cable of a way that the machine can lose."""
    names, links = place.devices.name, place.links
    for link in way.links if way is not None else ():
        a, b = names[links.src[link]], names[links.dst[link]]
        try:
            place.without_link(a, b)
        except CollsimError:
            continue
        return f"{a}~{b}"
    return ""


def _both(places: list[cs.Topology | None], pair: Pair) -> tuple[RankRoute | None, RankRoute | None]:
    there = [place for place in places if place is not None]
    found = list_routes(there, pair.a, pair.b, pair.nbytes)
    return found[0], found[1] if len(found) > 1 else None


def clicked(pair: Pair, rank: int, first: bool) -> Pair:
    """A click on a rank: the first of two chooses where the way begins, the second where it ends."""
    return replace(pair, a=rank) if first else replace(pair, b=rank)
