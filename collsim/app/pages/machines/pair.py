"""Which machine is looked at, and which two of its ranks; with the address that says so. Nothing here knows
Streamlit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import collsim as cs
from collsim.errors import CollsimError, Sentence, Words
from collsim.viz.route.route import RankRoute, list_routes

from ...scenario.address_parameters import Complaint, PageAddress, declare_word, list_words
from ...scenario.choice import (
    MACHINE_WORDS,
    WORDS,
    Choice,
    MachineChoice,
    adapt_machine_query,
    count,
    declare_menu,
    read_machine_fields,
)
from ...scenario.outcome import Refused, build_any_topology

MAX_RANKS = 256


@dataclass(frozen=True)
class Pair(MachineChoice):
    """Two ranks of a machine, and what is compared between them.

    Attributes:
        nodes: Servers of the machine.
        a: The rank that sends.
        b: The rank that receives.
        by: What is switched on and off: `p2p` or `gdr`.
        nbytes: Size of the message, as text.
    """

    machine: str = "pcie-8gpu"
    nodes: int = 1
    a: int = declare_word(0, count("a", MAX_RANKS - 1, 0))
    b: int = declare_word(1, count("b", MAX_RANKS - 1, 0))
    by: str = declare_menu(
        "p2p", "comparison", lambda: ("p2p", "gdr"), kind="segments", text="machines.switch", names="machines"
    )
    nbytes: str = "64MiB"


PLAIN = Pair()


def _reconcile(fields: dict[str, Any], query: Mapping[str, str], complaints: list[Complaint]) -> Pair:
    """The machine that the address holds, and ranks that it has."""
    fields = read_machine_fields(fields, query, complaints, PLAIN.machine)
    pair = replace(PLAIN, **fields)
    for name in ("a", "b"):
        ranks = _count_ranks(pair)
        if name in fields and fields[name] >= ranks > 0:
            reason = Sentence(
                "{name}={value} is not a rank; with {ranks} ranks it is 0 to {last}",
                name=name,
                value=fields[name],
                ranks=ranks,
                last=ranks - 1,
            )
            complaints.append(Complaint(name, query[name], reason, str(ranks - 1)))
            fields[name] = ranks - 1
            pair = replace(pair, **fields)
    return pair


def _count_ranks(pair: Pair) -> int:
    """Ranks of the machine; none where it cannot be built, which the page tells."""
    try:
        return build(pair).ranks
    except CollsimError:
        return 0


ADDRESS = PageAddress(
    PLAIN,
    (
        *(WORDS[name] for name in ("own", "machine", *MACHINE_WORDS, "parts", "edits", "nbytes")),
        *list_words(PLAIN),
    ),
    _reconcile,
    lambda pair, query: adapt_machine_query(pair, PLAIN.machine, query),
)


def build(pair: Pair, **switched: Any) -> cs.Topology:
    """The machine, with P2P or GDR as asked.

    Args:
        pair: Two ranks of a machine, and what is compared between them.
        **switched: Settings that replace those of the pair.

    Raises:
        CollsimError: for what cannot be, Refused for what is too large to draw
    """
    topology = build_any_topology(replace(pair, **switched))
    if topology.ranks > MAX_RANKS:
        raise Refused("machines.large", ranks=topology.ranks, limit=MAX_RANKS)
    return topology


def build_choice(choice: Choice, pair: Pair) -> Choice:
    """A choice of Explore on the machine of a pair.

    Args:
        choice: The run that is chosen.
        pair: Two ranks of a machine, and what is compared between them.
    """
    return replace(choice, **{**pair.machine_fields, "machine_text": pair.machine_text or choice.machine_text})


@dataclass(frozen=True)
class Look:
    """What the page shows of a pair of ranks.

    Attributes:
        name: of the machine.
        ranks: of the machine.
        notes: sentences about what the machine's file or name left open.
        routes: with the switch on, and off; None where there is no route.
        reasons: why there is no route, for each of the two; empty where there is one.
        same: whether both take the same links.
        cable: a cable of the first route, as `a~b`, without which all ranks still reach each other; empty without one.
    """

    name: str
    ranks: int
    notes: tuple[str, ...]
    routes: tuple[RankRoute | None, RankRoute | None]
    reasons: tuple[Words, Words]
    same: bool
    cable: str = ""


def look(pair: Pair) -> Look:
    """Build the machine with the switch on and off, and find the route in both.

    Args:
        pair: Two ranks of a machine, and what is compared between them.

    Raises:
        CollsimError: where even the first has none
    """
    topologies: list[cs.Topology | None] = []
    reasons: list[Words] = ["", ""]
    for number, on in enumerate((True, False)):
        try:
            topologies.append(build(pair, **{pair.by: on}))
        except CollsimError as error:
            if on:
                raise
            topologies.append(None)
            reasons[number] = error.sentence
    first = topologies[0]
    assert first is not None
    routes: tuple[RankRoute | None, RankRoute | None]
    try:
        routes = (None, None)
        if pair.a != pair.b:
            routes = _find_both_routes(topologies, pair)
    except CollsimError as error:
        routes, reasons[1] = (list_routes([first], pair.a, pair.b, pair.nbytes)[0], None), error.sentence
    same = False
    if routes[0] and routes[1]:
        same = all(routes) and routes[0].links == routes[1].links
    notes = first.facts.notes
    return Look(
        first.name,
        first.ranks,
        notes,
        routes,
        (reasons[0], reasons[1]),
        bool(same),
        _find_spare_cable(first, routes[0]),
    )


def _find_spare_cable(topology: cs.Topology, route: RankRoute | None) -> str:
    """A cable of a way that the machine can lose."""
    names, links = topology.devices.name, topology.links
    for link in route.links if route is not None else ():
        a, b = names[links.src[link]], names[links.dst[link]]
        try:
            topology.without_link(a, b)
        except CollsimError:
            continue
        return f"{a}~{b}"
    return ""


def _find_both_routes(topologies: list[cs.Topology | None], pair: Pair) -> tuple[RankRoute | None, RankRoute | None]:
    there = [topology for topology in topologies if topology is not None]
    routes = list_routes(there, pair.a, pair.b, pair.nbytes)
    return routes[0], routes[1] if len(routes) > 1 else None


def pick_rank(pair: Pair, rank: int, first: bool) -> Pair:
    """A click on a rank: the first of two chooses where the way begins, the second where it ends.

    Args:
        pair: Two ranks of a machine, and what is compared between them.
        rank: The rank that was clicked.
        first: Whether the begin of the route is chosen next.
    """
    if first:
        return replace(pair, a=rank)
    return replace(pair, b=rank)
