"""A race as asked for: two to four choices, the races that come ready, and their address. Nothing here knows
Streamlit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import collsim as cs
from collsim.analysis.ranking import round_time
from collsim.errors import CollsimError, Sentence
from collsim.faults import require_right
from collsim.teach.quiz.question import Alternative, Question
from collsim.units import format_time
from collsim.viz.race.race_document import RacingRun, Runner, build_runner
from collsim.viz.race.race_page import save_race

from ...jobs.job_spec import job, report_progress
from ...scenario import custom_machine
from ...scenario.address_parameters import Complaint, PageAddress, Word, join_words, shorten, split_words, write_value
from ...scenario.choice import (
    WORDS,
    Choice,
    build_engine_settings,
    create_word_reader,
    from_query,
    list_networks,
    list_own_options,
    list_usual_algorithms,
    to_query,
)
from ...scenario.custom_machine import OWN
from ...scenario.outcome import (
    RUNS_OF_OUTCOME,
    SECONDS_TO_DRAW,
    Refused,
    build_plan,
    build_topology,
    estimate_seconds,
    list_used_options,
    read_choice,
    uses_events,
)
from ...scenario.run_files import estimate_file, gather_files
from ...texts import write_texts

#: One runner is no race, and of five players none is large enough on a projector.
MIN_RUNNERS, MAX_RUNNERS = 2, 4
#: Transfers of one runner, since all are played at once in the browser.
MAX_RACED = 60_000
_LONGEST = 400
#: Chunks that a pipelined runner begins with, halved until the race takes it.
_CHUNKS = 64

#: What runners share, unless one of them has its own of `OWN_FIELDS`, as a pinned run may.
SHARED = ("collective", "nbytes", "dtype", "engine", "sharing")
OWN_FIELDS = ("collective", "nbytes")
RUNNERS = tuple(f"runner{number}" for number in range(1, MAX_RUNNERS + 1))

_EIGHT = Choice(machine="switch", nbytes="64MiB", nodes=1)
_BOX = Choice(machine="pcie-8gpu", nbytes="64MiB", nodes=1)
_TWO = Choice(machine="dgx-a100", nbytes="64MiB", nodes=2)
#: Tokens on their way to experts: 128 MiB of each GPU of a node.
_EXPERTS = Choice(
    collective="alltoallv",
    algorithm="alltoallv_direct",
    machine="dgx-h100",
    nbytes="1GiB",
    nodes=1,
    options=(("load", "even"),),
)

#: Tokens on their way to experts on two nodes: as many copies as experts, one for each rank, one for each node.
_TOKENS = replace(_EXPERTS, nodes=2)

READY: dict[str, tuple[Choice, ...]] = {
    "algorithms": (
        _EIGHT,
        replace(_EIGHT, algorithm="allreduce_double_binary_tree", options=(("chunks", 64),)),
        replace(_EIGHT, algorithm="allreduce_parameter_server", options=(("server", "helper"),)),
    ),
    "p2p": (_BOX, replace(_BOX, p2p=False)),
    "gdr": (_TWO, replace(_TWO, gdr=False)),
    "links": (replace(_BOX, machine="dgx-a100", options=(("channels", 1),)), _BOX),
    "experts": (_EXPERTS, *(replace(_EXPERTS, options=(("load", load),)) for load in ("hot", "zipf"))),
    "dispatch": (
        _TOKENS,
        *(
            replace(_TOKENS, collective="dispatch", algorithm=f"dispatch_{pattern}", options=())
            for pattern in ("direct", "hierarchical")
        ),
    ),
}


def name_ready_race(runners: tuple[Choice, ...]) -> str:
    """The ready race that these runners are, whatever the size, type and engine; `own` for any other.

    Args:
        runners: The runs of the race.
    """
    first = runners[0]
    return next(
        (name for name, known in READY.items() if runners == tuple(_share_with(c, first) for c in known)), "own"
    )


def _share_with(runner: Choice, first: Choice) -> Choice:
    """A runner of a ready race with the size, type and engine of another."""
    return replace(runner, **{name: getattr(first, name) for name in SHARED[1:]})


def _reconcile(fields: dict[str, Any], query: Mapping[str, str], complaints: list[Complaint]) -> tuple[Choice, ...]:
    """The runners that an address asks for: of a ready race, or each as it is written."""
    ready = fields.get("race", "own" if "runner1" in query and "race" not in query else "algorithms")
    texts = []
    if ready == "own":
        texts = [query[name] for name in RUNNERS if name in query]
    _require_no_gap(query, complaints)
    known = READY["algorithms" if ready == "own" else ready]
    common, unread = from_query({name: query[name] for name in (*SHARED, "own") if name in query}, known[0])
    complaints += unread
    runners = tuple(_read_runner(text, number, common, complaints) for number, text in enumerate(texts, 1))
    if len(runners) >= MIN_RUNNERS:
        return runners
    runners = tuple(_share_with(runner, common) for runner in known)
    if common.collective == known[0].collective:
        return runners
    return share_fields(runners, collective=common.collective)


def _require_no_gap(query: Mapping[str, str], complaints: list[Complaint]) -> None:
    there = [name in query for name in RUNNERS]
    for n in range(1, MAX_RUNNERS + 1) if any(there) else ():
        if not there[n - 1] and (n <= MIN_RUNNERS or any(there[n : n + 1])):
            reason = Sentence("runner{number} is not there; runners are counted from 1 without a gap", number=n)
            complaints.append(Complaint(f"runner{n}", "", reason, "–"))


def _read_runner(text: str, number: int, common: Choice, complaints: list[Complaint]) -> Choice:
    """`algorithm:allreduce_tree;machine:dgx-a100;nodes:1` on top of what all share."""
    name = f"runner{number}"
    if len(text) > _LONGEST:
        reason = Sentence("{characters} characters are too many.", characters=len(text))
        complaints.append(Complaint(name, shorten(text), reason, common.algorithm))
        return common
    complaints += [
        Complaint(name, shorten(part), Sentence("it is not name:value"), common.algorithm)
        for part in text.split(";")
        if ":" not in part
    ]
    words = {
        **{name: write_value(getattr(common, name)) for name in SHARED},
        **{k: v for k, v in split_words(text).items() if k not in SHARED or k in OWN_FIELDS},
    }
    choice, choice_complaints = read_choice(words, Choice(nodes=1, machine_text=common.machine_text))
    if choice.machine != OWN:
        choice = replace(choice, machine_text="")
    complaints += [replace(c, name=f"{name}.{c.name}") for c in choice_complaints]
    return choice


def _adapt_address(runners: tuple[Choice, ...], _query: dict[str, str]) -> dict[str, str]:
    """The address of a race; the first one's is bare."""
    first, ready = runners[0], name_ready_race(runners)
    query = {}
    if ready not in ("own", "algorithms"):
        query = {"race": ready}
    if ready in READY:
        default_choice = READY[ready][0]
    else:
        default_choice = Choice()
    query |= {
        name: write_value(getattr(first, name))
        for name in SHARED
        if getattr(first, name) != getattr(default_choice, name) or ready == "own"
    }
    if ready == "own":
        query = query | _write_runners(runners)
    return query


def _write_runners(runners: tuple[Choice, ...]) -> dict[str, str]:
    """Every runner in a word of its own, and the machine of one's own that they share."""
    query = dict(
        [("own", custom_machine.pack_text(runner.machine_text)) for runner in runners if runner.machine == OWN][:1]
    )
    for name, runner in zip(RUNNERS, runners, strict=False):
        shared = {k for k in SHARED if k not in OWN_FIELDS or getattr(runner, k) == getattr(runners[0], k)}
        query[name] = write_runner(runner, without=shared)
    return query


def write_runner(runner: Choice, without: Collection[str] = SHARED) -> str:
    """A run as one word of an address: `algorithm:allreduce_tree;machine:dgx-a100;nodes:1`.

    Args:
        runner: The run. A machine of one's own is named and not described.
        without: Fields that stand elsewhere.
    """
    words = {k: v for k, v in {**to_query(runner), **_write_nodes(runner)}.items() if k not in {*without, "own"}}
    return join_words(words)


def build_pinned_race(text: str, choice: Choice) -> tuple[tuple[Choice, ...], list[Complaint]]:
    """A race of a pinned run against another one, and what of the pinned run could not be read.

    Args:
        text: The pinned run, as `write_runner` has it.
        choice: The other run. Its type, engine and sharing of cables hold for both.
    """
    complaints: list[Complaint] = []
    runner = replace(choice, algorithms=(), sizes=Choice.sizes)
    if runner.machine != OWN:
        runner = replace(runner, machine_text="")
    return (_read_runner(text, 1, replace(choice, algorithms=()), complaints), runner), complaints


def _write_nodes(runner: Choice) -> dict[str, str]:
    if "nodes" in runner.takes:
        return {"nodes": write_value(runner.nodes)}
    return {}


ADDRESS = PageAddress(
    READY["algorithms"],
    (
        Word("race", create_word_reader((*READY, "own")), instead="algorithms"),
        *(replace(WORDS[name], read=None) for name in (*SHARED, "own")),  # `_reconcile` reads them together
        *map(Word, RUNNERS),
    ),
    _reconcile,
    _adapt_address,
)


def share_fields(runners: tuple[Choice, ...], **values: Any) -> tuple[Choice, ...]:
    """All runners with another size, type or engine, or on another collective: then each takes one of its usual ways in
    turn.

    Args:
        runners: The runs of the race.
        **values: Fields by name.
    """
    collective = values.get("collective", runners[0].collective)
    if collective == runners[0].collective:
        return tuple(replace(runner, **values) for runner in runners)
    algorithms = list_usual_algorithms(collective)
    several = len({runner.algorithm for runner in runners}) > 1
    return tuple(
        replace(runner, **values, algorithm=algorithms[n % len(algorithms) if several else 0], options=())
        for n, runner in enumerate(runners)
    )


def build_race(choice: Choice) -> tuple[Choice, ...]:
    """A race on one machine: the first usual ways of the collective, those that pipeline with chunks enough to do so.

    Args:
        choice: The run that is chosen.
    """
    machine_text = ""
    if choice.machine == OWN:
        machine_text = choice.machine_text
    plain = replace(choice, options=(), algorithms=(), sizes=Choice.sizes, machine_text=machine_text)
    algorithms = list_usual_algorithms(choice.collective)[:MIN_RUNNERS]
    return resize(tuple(_set_chunks(replace(plain, algorithm=name)) for name in algorithms), MIN_RUNNERS)


def _set_chunks(choice: Choice) -> Choice:
    """With `_CHUNKS`, or half of them until the race takes it; ways without chunks stay as they are."""
    for chunks in (_CHUNKS >> halved for halved in range(_CHUNKS.bit_length())):
        with_chunks = set_options(choice, chunks=chunks)
        try:
            _build_plan(with_chunks)
        except Refused:
            continue
        except CollsimError:  # cannot be at all: the page says why
            pass
        return with_chunks
    return choice


def resize(runners: tuple[Choice, ...], count: int) -> tuple[Choice, ...]:
    """Fewer runners, or more: each new one takes a way that nobody has yet, where there is one.

    Args:
        runners: The runs of the race.
        count: How many.
    """
    result = list(runners[:count])
    while len(result) < count:
        left = [
            a for a in list_usual_algorithms(result[0].collective) if a not in {runner.algorithm for runner in result}
        ]
        if left:
            result.append(replace(result[-1], algorithm=left[0], options=()))
        else:
            result.append(result[-1])
    return tuple(result)


@dataclass(frozen=True)
class Field:
    """All that a race shows, as plain data.

    Attributes:
        runners: one for each choice, or why it cannot start.
        overtaking: (first, other, bytes), as the function of that name; None too where somebody cannot start.
    """

    runners: tuple[Runner | CollsimError, ...]
    overtaking: tuple[int, int, int] | None


def estimate_field(choices: tuple[Choice, ...]) -> float:
    """Seconds that `run_field` should take.

    Args:
        choices: The runs of the race.
    """
    return sum(_estimate_run(choice) for choice in choices)


def _estimate_run(choice: Choice) -> float:
    """As an outcome: the run, and again for its bottleneck. No time for what cannot start."""
    try:
        topology, plan = _build_plan(choice)
        return RUNS_OF_OUTCOME * estimate_seconds(choice, plan, topology, choice.nbytes) + SECONDS_TO_DRAW * len(plan)
    except CollsimError:
        return 0.0


@job(estimate_field, compiled=lambda choices: uses_events(choices[0]))
def run_field(choices: tuple[Choice, ...]) -> Field:
    """Run them all; one that cannot start does not keep the others from it.

    Args:
        choices: The runs of the race.

    """
    results: list[Runner | CollsimError] = []
    for number, choice in enumerate(choices, 1):
        try:
            results.append(simulate_runner(choice))
        except CollsimError as error:
            results.append(error)
        report_progress("run", 0.9 * number / len(choices))
    times = [choice.time for choice in results if isinstance(choice, Runner)]
    if len(times) < len(choices):
        return Field(tuple(results), None)
    return Field(tuple(results), find_overtaking(choices, times))


def ask_who_ends_first(runs: Sequence[RacingRun]) -> Question | None:
    """The question of a race, for a class: which run ends first, with the reason of each; None where two share the
    first place.

    Args:
        runs: The runs, each with its name.
    """
    times = [round_time(run.runner.time) for run in runs]
    first = min(range(len(runs)), key=times.__getitem__)
    if times.count(times[first]) > 1:
        return None
    names = ", ".join(run.name for run in runs)
    alternatives = tuple(
        Alternative(
            (run.name, run.name),
            write_texts("race.ask.reason", time=format_time(run.runner.time), reason=run.runner.reason),
        )
        for run in runs
    )
    explanation = write_texts("race.ask.why", name=runs[first].name, time=format_time(runs[first].runner.time))
    return Question("choice", "race", write_texts("race.ask", names=names), explanation, first, choices=alternatives)


@job(lambda choices, _, suffix, language, t: sum(estimate_file(choice, suffix, language) for choice in choices))
def build_race_file(
    choices: tuple[Choice, ...],
    labels: tuple[tuple[str, str], ...],
    suffix: str,
    language: str,
    t: float | None,
) -> tuple[str, bytes]:
    """The name and the bytes of a file of a race: the page that plays it, or a film.

    Args:
        choices: The runs of the race.
        labels: The name and the note of each.
        suffix: `html`, `gif` or `mp4`.
        language: `en` or `zh`.
        t: Moment at which the page begins, seconds; None for the start.
    """
    runs = [RacingRun(simulate_runner(choice), *label) for choice, label in zip(choices, labels, strict=True)]
    report_progress("run", 0.3)
    return gather_files(f"collsim.{suffix}", lambda path: save_race(runs, path, language, t))


def simulate_runner(choice: Choice) -> Runner:
    """One runner.

    Args:
        choice: The run that is chosen.

    Raises:
        CollsimError: for what cannot be, Refused for what is too much to be raced
    """
    topology, plan = _build_plan(choice)
    require_right(plan)
    return build_runner(
        cs.simulate(plan, topology, choice.nbytes, choice.dtype, choice.engine, **build_engine_settings(choice))
    )


def _build_plan(choice: Choice) -> tuple[cs.Topology, cs.Schedule]:
    topology = build_topology(choice)
    return topology, build_plan(choice, topology, list_used_options(choice, topology), MAX_RACED, "race.large")


def find_overtaking(runners: tuple[Choice, ...], times: list[float]) -> tuple[int, int, int] | None:
    """(first, other, bytes): up to that size the other, which comes second here, would be first. None where it never
    would.

    Only on one generic network, where it takes a moment.

    Args:
        runners: The runs of the race.
        times: Seconds of each run.
    """
    first, other = sorted(range(len(runners)), key=lambda n: round_time(times[n]))[:2]
    a, b = runners[first], runners[other]
    alike = replace(a, algorithm=b.algorithm, options=b.options) == b
    if a.machine not in list_networks() or build_engine_settings(a) or not alike or a.ranks > 64:
        return None
    network = build_topology(a)
    try:
        algorithms = (b.algorithm, dict(b.options)), (a.algorithm, dict(a.options))
        size = cs.crossover(*algorithms, network, first="64B", last=a.nbytes, engine=a.engine)
    except CollsimError:
        return None
    if size is None:
        return None
    return (first, other, size)


def find_difference(runners: tuple[Choice, ...]) -> str:
    """By what the runners are best told apart: `algorithm`, `machine`, `p2p`, `gdr`, `copies`, `nbytes`, `load`, or
    `number`.

    Args:
        runners: The runs of the race.
    """
    for name in ("algorithm", "machine", "p2p", "gdr", "copies", "nbytes"):
        if len({getattr(runner, name) for runner in runners}) == len(runners):
            return name
    loads = {find_load(runner) for runner in runners}
    return "load" if len(loads - {None}) == len(runners) else "number"


def find_load(runner: Choice) -> str | None:
    """How unevenly ranks receive: amounts, or a word; None for collectives that have no such option.

    Args:
        runner: The run.
    """
    options = {name: option.default for name, option in list_own_options(runner.algorithm).items()}
    options |= dict(runner.options)
    return options.get("amounts") or options.get("load")  # type: ignore[return-value]  # texts in an address


def set_options(choice: Choice, **values: object) -> Choice:
    """A choice with some of its algorithm's own options set, or left to themselves (None).

    Args:
        choice: The run that is chosen.
        **values: Options of the algorithm by name.
    """
    known = list_own_options(choice.algorithm)
    options: Mapping[str, object] = {**dict(choice.options), **values}
    return replace(choice, options=tuple((k, v) for k, v in options.items() if v is not None and k in known))
