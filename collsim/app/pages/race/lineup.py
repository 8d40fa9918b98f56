"""A race as asked for: two to four choices, the races that come ready, and their address. Nothing here knows
Streamlit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import collsim as cs
from collsim.analysis.differences import require_one_collective
from collsim.analysis.standing import counted
from collsim.errors import CollsimError, Sentence
from collsim.faults import require_right
from collsim.viz.race.race import Runner, build_runner

from ...jobs.worker import ReportProgress
from ...scenario import custom_machine
from ...scenario.address import Complaint, PageAddress, Word, shortened, written
from ...scenario.choice import (
    WORDS,
    Choice,
    among,
    engine_settings,
    from_query,
    networks,
    own_options,
    to_query,
    usual_algorithms,
)
from ...scenario.custom_machine import OWN
from ...scenario.outcome import (
    RUNS_OF_OUTCOME,
    SECONDS_TO_DRAW,
    Refused,
    build_place,
    choice_of,
    options_used,
    quietly,
    seconds,
)

LEAST, MOST = 2, 4
MOST_RACED = 60_000
_LONGEST = 400
_CHUNKS = 64

#: What all runners share: a race compares ways, not sizes.
SHARED = ("collective", "nbytes", "dtype", "engine", "sharing")
RUNNERS = tuple(f"runner{number}" for number in range(1, MOST + 1))

_EIGHT = Choice(place="switch", nbytes="64MiB", nodes=1)
_BOX = Choice(place="pcie-8gpu", nbytes="64MiB", nodes=1)
_TWO = Choice(place="dgx-a100", nbytes="64MiB", nodes=2)

READY: dict[str, tuple[Choice, ...]] = {
    "ways": (
        _EIGHT,
        replace(_EIGHT, algorithm="allreduce_double_binary_tree", options=(("chunks", 64),)),
        replace(_EIGHT, algorithm="allreduce_parameter_server", options=(("server", "helper"),)),
    ),
    "p2p": (_BOX, replace(_BOX, p2p=False)),
    "gdr": (_TWO, replace(_TWO, gdr=False)),
    "links": (replace(_BOX, place="dgx-a100", options=(("channels", 1),)), _BOX),
}


def ready_name(runners: tuple[Choice, ...]) -> str:
    """The ready race that these runners are, whatever the size, type and engine; `own` for any other."""
    first = runners[0]
    return next((name for name, known in READY.items() if runners == tuple(_with(c, first) for c in known)), "own")


def _with(one: Choice, first: Choice) -> Choice:
    """A runner of a ready race with the size, type and engine of another."""
    return replace(one, **{name: getattr(first, name) for name in SHARED[1:]})


def _agree(found: dict[str, Any], query: Mapping[str, str], complaints: list[Complaint]) -> tuple[Choice, ...]:
    """The runners that an address asks for: of a ready race, or each as it is written."""
    ready = found.get("race", "own" if "runner1" in query and "race" not in query else "ways")
    texts = [query[name] for name in RUNNERS if name in query] if ready == "own" else []
    _require_no_gap(query, complaints)
    known = READY["ways" if ready == "own" else ready]
    common, unread = from_query({name: query[name] for name in (*SHARED, "own") if name in query}, known[0])
    complaints += unread
    runners = tuple(_runner(text, number, common, complaints) for number, text in enumerate(texts, 1))
    if len(runners) >= LEAST:
        return runners
    runners = tuple(_with(one, common) for one in known)
    return runners if common.collective == "allreduce" else shared(runners, collective=common.collective)


def _require_no_gap(query: Mapping[str, str], complaints: list[Complaint]) -> None:
    there = [name in query for name in RUNNERS]
    for n in range(1, MOST + 1) if any(there) else ():
        if not there[n - 1] and (n <= LEAST or any(there[n : n + 1])):
            why = Sentence("runner{number} is not there; runners are counted from 1 without a gap", number=n)
            complaints.append(Complaint(f"runner{n}", "", why, "–"))


def _runner(text: str, number: int, common: Choice, complaints: list[Complaint]) -> Choice:
    """`algorithm:allreduce_tree;machine:dgx-a100;nodes:1` on top of what all share."""
    name = f"runner{number}"
    if len(text) > _LONGEST:
        why = Sentence("{characters} characters are too many.", characters=len(text))
        complaints.append(Complaint(name, shortened(text), why, common.algorithm))
        return common
    complaints += [
        Complaint(name, shortened(part), Sentence("it is not name:value"), common.algorithm)
        for part in text.split(";")
        if ":" not in part
    ]
    pairs = dict(part.split(":", 1) for part in text.split(";") if ":" in part)
    if (other := pairs.get("collective", common.collective)) != common.collective:
        message = Sentence("a race is of one collective, here of {collective}", collective=common.collective)
        complaints.append(Complaint(f"{name}.collective", shortened(other), message, common.collective))
    words = {
        **{name: written(getattr(common, name)) for name in SHARED},
        **{k: v for k, v in pairs.items() if k not in SHARED},
    }
    made, found = choice_of(words, Choice(nodes=1, own=common.own))
    made = made if made.place == OWN else replace(made, own="")
    complaints += [replace(c, name=f"{name}.{c.name}") for c in found]
    return made


def _adapt(runners: tuple[Choice, ...], _said: dict[str, str]) -> dict[str, str]:
    """The address of a race; the first one's is bare."""
    first, ready = runners[0], ready_name(runners)
    query = {} if ready in ("own", "ways") else {"race": ready}
    usual = READY[ready][0] if ready in READY else Choice()
    query |= {
        name: written(getattr(first, name))
        for name in SHARED
        if getattr(first, name) != getattr(usual, name) or ready == "own"
    }
    return query | (_each(runners) if ready == "own" else {})


def _each(runners: tuple[Choice, ...]) -> dict[str, str]:
    """Every runner in a word of its own, and the machine of one's own that they share."""
    query = dict([("own", custom_machine.packed(one.own)) for one in runners if one.place == OWN][:1])
    for name, one in zip(RUNNERS, runners, strict=False):
        words = {k: v for k, v in {**to_query(one), **_nodes(one)}.items() if k not in (*SHARED, "own")}
        query[name] = ";".join(f"{k}:{v}" for k, v in words.items())
    return query


def _nodes(one: Choice) -> dict[str, str]:
    return {"nodes": written(one.nodes)} if "nodes" in one.takes else {}


ADDRESS = PageAddress(
    READY["ways"],
    (
        Word("race", among((*READY, "own")), instead="ways"),
        *(replace(WORDS[name], read=None) for name in (*SHARED, "own")),  # `_agree` reads them together
        *map(Word, RUNNERS),
    ),
    _agree,
    _adapt,
)


def shared(runners: tuple[Choice, ...], **values: Any) -> tuple[Choice, ...]:
    """All runners with another size, type or engine, or on another collective: then each takes one of its usual ways in
    turn."""
    collective = values.get("collective", runners[0].collective)
    if collective == runners[0].collective:
        return tuple(replace(one, **values) for one in runners)
    ways = usual_algorithms(collective)
    several = len({one.algorithm for one in runners}) > 1
    return tuple(
        replace(one, **values, algorithm=ways[n % len(ways) if several else 0], options=())
        for n, one in enumerate(runners)
    )


def on(choice: Choice) -> tuple[Choice, ...]:
    """A race on one place: the first usual ways of the collective, those that pipeline with chunks enough to do so."""
    own = choice.own if choice.place == OWN else ""
    plain = replace(choice, options=(), algorithms=(), sizes=Choice.sizes, own=own)
    ways = usual_algorithms(choice.collective)[:LEAST]
    return resized(tuple(_pipelined(replace(plain, algorithm=name)) for name in ways), LEAST)


def _pipelined(choice: Choice) -> Choice:
    """With `_CHUNKS`, or half of them until the race takes it; ways without chunks stay as they are."""
    for chunks in (_CHUNKS >> halved for halved in range(_CHUNKS.bit_length())):
        made = set_options(choice, chunks=chunks)
        try:
            _planned(made)
        except Refused:
            continue
        except CollsimError:  # cannot be at all: the page says why
            pass
        return made
    return choice


def resized(runners: tuple[Choice, ...], count: int) -> tuple[Choice, ...]:
    """Fewer runners, or more: each new one takes a way that nobody has yet, where there is one."""
    made = list(runners[:count])
    while len(made) < count:
        left = [a for a in usual_algorithms(made[0].collective) if a not in {one.algorithm for one in made}]
        made.append(replace(made[-1], algorithm=left[0], options=()) if left else made[-1])
    return tuple(made)


@dataclass(frozen=True)
class Field:
    """All that a race shows, as plain data.

    Attributes:
        runners: one for each choice, or why it cannot start.
        overtaking: (first, other, bytes), as the function of that name; None too where somebody cannot start.
    """

    runners: tuple[Runner | CollsimError, ...]
    overtaking: tuple[int, int, int] | None


def expected_field(choices: tuple[Choice, ...]) -> float:
    """Seconds that `field` should take."""
    return sum(_expected(one) for one in choices)


def _expected(choice: Choice) -> float:
    """As an outcome: the run, and again for its bottleneck. No time for what cannot start."""
    try:
        topology, plan = _planned(choice)
        return RUNS_OF_OUTCOME * seconds(choice, plan, topology, choice.nbytes) + SECONDS_TO_DRAW * len(plan)
    except CollsimError:
        return 0.0


def field(choices: tuple[Choice, ...], report_progress: ReportProgress = quietly) -> Field:
    """Run them all; one that cannot start does not keep the others from it.

    Raises CollsimError for runners of different collectives.
    """
    require_one_collective(Sentence("a race"), [(one.algorithm, one.collective) for one in choices])
    made: list[Runner | CollsimError] = []
    for number, one in enumerate(choices, 1):
        try:
            made.append(run(one))
        except CollsimError as error:
            made.append(error)
        report_progress("run", 0.9 * number / len(choices))
    times = [one.time for one in made if isinstance(one, Runner)]
    return Field(tuple(made), overtaking(choices, times) if len(times) == len(choices) else None)


def run(choice: Choice) -> Runner:
    """One runner. Raises CollsimError for what cannot be, Refused for what is too much to be raced."""
    topology, plan = _planned(choice)
    require_right(plan)
    return build_runner(
        cs.simulate(plan, topology, choice.nbytes, choice.dtype, choice.engine, **engine_settings(choice))
    )


def _planned(choice: Choice) -> tuple[cs.Topology, cs.Schedule]:
    topology = build_place(choice)
    options = options_used(choice.algorithm, dict(choice.options), topology, choice.on_machine)
    if len(plan := cs.schedule(choice.algorithm, topology=topology, **options)) > MOST_RACED:
        raise Refused("race.large", name=choice.algorithm, transfers=f"{len(plan):,}", limit=f"{MOST_RACED:,}")
    return topology, plan


def overtaking(runners: tuple[Choice, ...], times: list[float]) -> tuple[int, int, int] | None:
    """(first, other, bytes): up to that size the other, which comes second here, would be first. None where it never
    would.

    Only on one generic network, where it takes a moment.
    """
    first, other = sorted(range(len(runners)), key=lambda n: counted(times[n]))[:2]
    a, b = runners[first], runners[other]
    alike = replace(a, algorithm=b.algorithm, options=b.options) == b
    if a.place not in networks() or engine_settings(a) or not alike or a.ranks > 64:
        return None
    network = build_place(a)
    try:
        ways = (b.algorithm, dict(b.options)), (a.algorithm, dict(a.options))
        size = cs.crossover(*ways, network, first="64B", last=a.nbytes, engine=a.engine)
    except CollsimError:
        return None
    return None if size is None else (first, other, size)


def differing(runners: tuple[Choice, ...]) -> str:
    """By what the runners are best told apart: `algorithm`, `place`, `p2p`, `gdr`, `nodes`, or `number`."""
    for name in ("algorithm", "place", "p2p", "gdr", "copies"):
        if len({getattr(one, name) for one in runners}) == len(runners):
            return name
    return "number"


def set_options(choice: Choice, **values: Any) -> Choice:
    """A choice with some of its algorithm's own options set, or left to themselves (None)."""
    known = own_options(choice.algorithm)
    kept: Mapping[str, Any] = {**dict(choice.options), **values}
    return replace(choice, options=tuple((k, v) for k, v in kept.items() if v is not None and k in known))
