"""Do what was asked for: build the topology, the schedule and the Trace, and keep what the pages show as plain data.

Nothing here knows Streamlit, so all of it can be cached, tested and read without a browser.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

import pandas as pd
from cachetools import LRUCache, cached

import collsim as cs
from collsim.analysis.device_names import name_link, name_links
from collsim.analysis.endpoint_names import name_box
from collsim.analysis.ranking import round_time
from collsim.analysis.run_facts import RunFacts
from collsim.collective import get_collective
from collsim.errors import CollsimError, Sentence
from collsim.limits import within
from collsim.locale import LANGUAGES, Text, match_language, split_languages
from collsim.registry import get_algorithm
from collsim.simulate import expected_cost
from collsim.simulate.conditions import Progress
from collsim.simulate.variants import VariantSearch
from collsim.sweep.compare_algorithms import select_fastest
from collsim.sweep.synthesized_algorithm import SYNTHESIZED
from collsim.topology.files.effects import MAX_VALUES, describe_effects, find_effects
from collsim.topology.network import choose_channels
from collsim.topology.spec import parse_topology
from collsim.viz.sentences.time_sentences import describe_bottleneck
from collsim.viz.timeline.timeline_document import MAX_TRANSFERS as MAX_PLAYED
from collsim.viz.timeline.timeline_document import build_encoded_timeline

from ..jobs.job_spec import ReportProgress, is_progress_heard, job, report_progress
from ..texts import say
from . import custom_machine
from .address_parameters import Complaint
from .choice import (
    Choice,
    MachineChoice,
    build_engine_pair,
    build_engine_settings,
    from_query,
    list_networks,
    list_own_options,
    list_usual_algorithms,
    write_network,
)
from .custom_machine import OWN
from .machine_edits import apply_edits

#: Beyond these a page says no before it computes; the player stops earlier than the figures do.
MAX_TRANSFERS = 1_000_000
#: Transfers of all algorithms at all sizes that one click may ask a server for.
MAX_COMPARED = 20_000_000
MAX_PAGE_RANKS = 256


_NO_RANK = "{name}={value} is not a rank; with {ranks} ranks it is 0 to {last}"


AnswerT = TypeVar("AnswerT")


class Refused(CollsimError):
    """More than a page of the app computes. `key` and `values` are the text of the app that says so."""

    def text(self, language: str = "en") -> str:
        """The sentence of the refusal.

        Args:
            language: "en" or "zh".
        """
        return say(match_language(language), self.key, **self.values)


@dataclass(frozen=True)
class Figures:
    """The headline of a run.

    Attributes:
        time: s.
        algbw: B/s, as nccl-tests counts.
        busbw: B/s, as nccl-tests counts.
        factor: busbw / algbw.
        bound: s below which no run can be.
        gap: time / bound.
        ranks: number of ranks.
        steps: of the schedule.
        transfers: of the schedule.
        nbytes: nccl-tests' size in bytes.
    """

    time: float
    algbw: float
    busbw: float
    factor: float
    bound: float
    gap: float
    ranks: int
    steps: int
    transfers: int
    nbytes: int


@dataclass(frozen=True)
class SingleChannel:
    """What a run would take with one channel.

    Attributes:
        time: In s.
        busbw: In B/s.
    """

    time: float
    busbw: float


@dataclass(frozen=True)
class Outcome:
    """All that the Explore page shows of one run, as plain data.

    Attributes:
        machine: what it runs on, as text.
        figures: time, bandwidths and bound.
        bottleneck: `{"text": {"en", "zh"}, "more": {...}}`, or None where nothing moves.
        channels: how many were used; `alone` is what a single channel would take where that is another run.
        links, steps, endpoints: the tables, in SI units.
        claimed: what the algorithm claims: steps, and bytes that the busiest endpoint sends; None where it claims
            nothing.
        timeline: what the player gets, or None where there are too many transfers to animate.
        notes: (English, Chinese) of what a file did not say, with its effect, and of a prediction that is far off.
    """

    machine: str
    figures: Figures
    bottleneck: dict[str, Any] | None
    channels: int
    alone: SingleChannel | None
    links: pd.DataFrame
    steps: pd.DataFrame
    endpoints: pd.DataFrame
    claimed: tuple[float | None, float | None]
    timeline: dict[str, Any] | None
    notes: tuple[Text, ...] = ()


def build_topology(choice: MachineChoice) -> cs.Topology:
    """The machine or network. Raises CollsimError, Refused where it is too large for a page.

    Args:
        choice: The machine or network that is chosen.
    """
    return _build_cached(MachineChoice(**choice.machine_fields))


def ask_topology(choice: MachineChoice, question: Callable[[cs.Topology], AnswerT], fallback: AnswerT) -> AnswerT:
    """What a machine or network has, or a fallback where it cannot be built: the page says why by itself.

    Args:
        choice: Where something runs.
        question: Takes it from the topology.
        fallback: What is taken in place.
    """
    try:
        return question(build_topology(choice))
    except CollsimError:
        return fallback


@lru_cache(maxsize=32)
def _build_cached(choice: MachineChoice) -> cs.Topology:
    """One topology for all who ask for the same machine: its routes, cuts and orders are found once."""
    topology = build_any_topology(choice)
    if topology.ranks > MAX_PAGE_RANKS:
        raise Refused("refused.ranks", ranks=topology.ranks, limit=MAX_PAGE_RANKS)
    return topology


def build_any_topology(choice: MachineChoice, **more: Any) -> cs.Topology:
    """The machine or network, of any number of ranks that a page has memory for; `more` goes to `machine`: placement,
    oversubscription.

    Args:
        choice: The run that is chosen.
        **more: Further keywords of the function that builds the topology.
    """
    with within(custom_machine.MAX_MEMORY):
        return _build_machine(choice, **more)


def _build_machine(choice: MachineChoice, **more: Any) -> cs.Topology:
    if choice.machine in list_networks():
        topology: cs.Topology = parse_topology(write_network(choice), cs.topology.NETWORKS)
        return apply_edits(topology, choice.edits)
    words: dict[str, Any] = {
        "nodes": choice.nodes,
        "fabric": choice.fabric,
        "p2p": choice.p2p,
        "gdr": choice.gdr,
        **dict(choice.parts),
        **more,
    }
    if choice.machine == OWN:
        return apply_edits(custom_machine.build(choice.machine_text, **words), choice.edits)
    return apply_edits(cs.topology.machine(choice.machine, **words), choice.edits)


def read_choice(query: Mapping[str, str], start: Choice | None = None) -> tuple[Choice, list[Complaint]]:
    """The choice that an address asks for, as `from_query`; a root that is no rank of the topology is reported too.

    Args:
        query: Words of the address.
        start: What holds for words that are missing; None for the first page's run.
    """
    choice, complaints = from_query(query, start)
    roots = {name: value for name, value in choice.options if list_own_options(choice.algorithm)[name].kind == "root"}
    try:
        ranks = 0
        if roots:
            ranks = build_topology(choice).ranks
    except CollsimError:
        return choice, complaints  # the page says what is wrong with the machine
    for name, value in roots.items():
        if value >= ranks:
            reason = Sentence(_NO_RANK, name=name, value=value, ranks=ranks, last=ranks - 1)
            complaints.append(Complaint(name, str(value), reason, "0"))
            choice = replace(choice, options=tuple(pair for pair in choice.options if pair[0] != name))
    return choice, complaints


def list_used_options(choice: Choice, topology: cs.Topology) -> dict[str, Any]:
    """The options of a run: those that are set, and the number of channels that `cs.schedule` takes where none is.

    Args:
        choice: The run that is chosen.
        topology: The machine or network.
    """
    known = list_own_options(choice.algorithm)
    used = {name: value for name, value in choice.options if name in known}
    if choice.on_machine and "channels" in known and "channels" not in used and choose_channels(topology) > 1:
        used["channels"] = choose_channels(topology)
    return used


def simulate(choice: Choice) -> cs.Trace:
    """The Trace of a choice.

    Args:
        choice: The run that is chosen.

    Raises:
        CollsimError: for what cannot be, Refused for what is too much
    """
    return run_choice(choice).trace


def run_choice(choice: Choice, progress: Progress | None = None) -> RunFacts:
    """The run of a choice and what follows from it: one for all parts of a page, and for the page that comes next.

    Args:
        choice: The run that is chosen.
        progress: Called with the transfers that are done, and all.

    Raises:
        CollsimError: for what cannot be, Refused for what is too much
    """
    return _run_cached(replace(choice, algorithms=(), sizes=Choice().sizes), progress)


@cached(LRUCache(maxsize=4), key=lambda choice, _: choice, lock=Lock())
def _run_cached(choice: Choice, progress: Progress | None) -> RunFacts:
    """What only the page Compare reads is no part of `choice`."""
    topology = build_topology(choice)
    used = list_used_options(choice, topology)
    return RunFacts(_trace(choice, topology, used, progress))


def build_plan(
    choice: Choice,
    topology: cs.Topology,
    options: dict[str, Any],
    most: int = MAX_TRANSFERS,
    refusal: str = "refused.transfers",
) -> cs.Schedule:
    """Build the schedule of a run; the last ones are kept.

    Args:
        choice: The run that is chosen.
        topology: Its machine or network.
        options: Options of its algorithm.
        most: Transfers that the page runs.
        refusal: Key of its text about more of them.

    Returns:
        The schedule: one for the estimate, the run and what is asked about it.

    Raises:
        CollsimError: For what cannot be.
        Refused: It has more transfers.
    """
    plan = _build_plan_cached(choice.algorithm, topology, tuple(sorted(options.items())))
    if len(plan) > most:
        raise Refused(refusal, name=choice.algorithm, transfers=f"{len(plan):,}", limit=f"{most:,}")
    return plan


@lru_cache(maxsize=8)
def _build_plan_cached(algorithm: str, topology: cs.Topology, options: tuple[tuple[str, Any], ...]) -> cs.Schedule:
    plan: cs.Schedule = cs.schedule(algorithm, topology=topology, **dict(options))
    return plan


def _trace(
    choice: Choice, topology: cs.Topology, options: dict[str, Any], progress: Progress | None = None
) -> cs.Trace:
    plan = build_plan(choice, topology, options)
    return cs.simulate(
        plan, topology, choice.nbytes, choice.dtype, choice.engine, progress=progress, **build_engine_settings(choice)
    )


#: An outcome runs its schedule again: for the bottleneck with each of a few kinds of link doubled and without bytes,
#: and with a single channel.
RUNS_OF_OUTCOME = 6
SECONDS_TO_DRAW = 6e-6  # per transfer of a timeline, measured
_SECONDS_OF_SCENARIO = 0.004  # of a comparison, beside its transfers: 420 of them took 1.2 s of processor time
#: Lockstep times a schedule at all sizes in one pass, which takes as long as so many sizes.
_ROUNDS_IN_LOCKSTEP = 2
_FEW_SIZES = 6  # up to so many are compared at once
#: Of a synthesis, in all and for each pair of ranks: measured from 8 to 256 ranks.
SECONDS_TO_SYNTHESIZE, SECONDS_OF_PAIR = 0.6, 1e-3


def uses_events(choice: Choice, *_: object) -> bool:
    """Whether a run needs the event engine.

    Args:
        choice: The run that is chosen.
        *_: What else is asked of it.
    """
    return choice.engine == "event"


def estimate_outcome(choice: Choice) -> float:
    """Seconds that `compute_outcome` should take. Raises what it would raise.

    Args:
        choice: The run that is chosen.
    """
    topology = build_topology(choice)
    plan = build_plan(choice, topology, list_used_options(choice, topology))
    drawn = 0
    if len(plan) <= MAX_PLAYED:
        drawn = len(plan)
    runs = RUNS_OF_OUTCOME + sum(len(assumption.others[:MAX_VALUES]) for assumption in topology.facts.assumptions)
    return runs * estimate_seconds(choice, plan, topology, choice.nbytes) + SECONDS_TO_DRAW * drawn


def estimate_seconds(choice: Choice, plan: cs.Schedule, topology: cs.Topology, nbytes: Any) -> float:
    """Seconds that one simulation should take.

    Args:
        choice: The run that is chosen.
        plan: The schedule.
        topology: The machine or network.
        nbytes: Size of the buffer, bytes or a text with a unit.
    """
    return float(
        expected_cost(plan, topology, nbytes, choice.dtype, choice.engine, **build_engine_settings(choice)).seconds
    )


@job(estimate_outcome, compiled=uses_events)
def compute_outcome(choice: Choice) -> Outcome:
    """Run a choice and keep what is shown of it.

    Args:
        choice: The run that is chosen.
    """
    topology = build_topology(choice)
    used = list_used_options(choice, topology)
    facts = run_choice(choice, lambda done, all_: report_progress("run", 0.2 * done / all_))
    trace, channels = facts.trace, int(used.get("channels", 1))
    report_progress("run", 0.2)
    if channels > 1:
        options = tuple(pair for pair in choice.options if pair[0] != "channels")
        single = simulate(replace(choice, options=(*options, ("channels", 1))))
        alone = SingleChannel(single.time, single.busbw)
    else:
        alone = None
    report_progress("run", 0.3)
    outcome = build_outcome(facts)
    report_progress("run", 0.8)
    notes = (
        *_explain_below_bound(trace),
        *describe_effects(topology, find_effects(topology, lambda changed: _time(choice, changed))),
        *_explain_nccl_difference(trace),
    )
    claimed = compute_claims(trace, choice.algorithm, used)
    return replace(outcome, channels=channels, alone=alone, claimed=claimed, notes=notes)


def build_outcome(facts: RunFacts) -> Outcome:
    """What is shown of any run, whatever its schedule is.

    Args:
        facts: The run.
    """
    trace = facts.trace
    timeline = None
    if len(trace.schedule) <= MAX_PLAYED:
        timeline = build_encoded_timeline(facts)
    return Outcome(
        machine=trace.topology.name,
        figures=compute_figures(trace),
        bottleneck=describe_bottleneck(facts),
        channels=1,
        alone=None,
        links=list_links(trace),
        steps=trace.steps,
        endpoints=list_endpoints(trace),
        claimed=(None, None),
        timeline=timeline,
    )


def _time(choice: Choice, topology: cs.Topology) -> float:
    """Seconds of a choice on another reading of its machine."""
    used = list_used_options(choice, topology)
    return float(_trace(choice, topology, used).time)


def _explain_below_bound(trace: cs.Trace) -> list[Text]:
    """That a time is that of no right schedule, where it is below the bound."""
    if trace.error is None:
        return []
    return [trace.error.texts]


def _explain_nccl_difference(trace: cs.Trace) -> list[Text]:
    """Why NCCL's prediction is far from this run, where it is; links by the names that the picture has."""
    difference, neck = cs.nccl.explain_difference(trace), trace.bottleneck
    if difference is None:
        return []
    if neck is not None:
        names = {trace.topology.link_name(neck.busiest): name_link(trace, neck.busiest)}
        difference = replace(difference, reason=Sentence.from_words(difference.reason).rename(names))
    return [tuple(map(difference.text, LANGUAGES))]


def compute_figures(trace: cs.Trace) -> Figures:
    """The headline figures of a Trace.

    Args:
        trace: The run.
    """
    s = trace.schedule
    return Figures(
        trace.time,
        trace.algbw,
        trace.busbw,
        get_collective(s.collective).busbw(s.ranks),
        trace.bound.time,
        trace.gap,
        s.ranks,
        s.steps,
        len(s),
        trace.nbytes,
    )


def compute_claims(trace: cs.Trace, algorithm: str, options: dict[str, Any]) -> tuple[float | None, float | None]:
    """Steps and bytes sent by the busiest endpoint, as the algorithm claims them for this run.

    Args:
        trace: The run.
        algorithm: Name of the algorithm.
        options: Options of the algorithm or format, by name.
    """
    entry = get_algorithm(algorithm)
    arguments = options
    if "topology" in entry.options:
        arguments = {**options, "topology": trace.topology}
    sent = entry.claim("sent", trace.schedule.ranks, **arguments)
    return entry.claim("steps", trace.schedule.ranks, **arguments), None if sent is None else sent * trace.nbytes


def list_links(trace: cs.Trace) -> pd.DataFrame:
    """`Trace.links` with the names of the picture and the sentences, a column for each language.

    Args:
        trace: The run.
    """
    return trace.links.assign(**split_languages(name_links(trace)))


def list_endpoints(trace: cs.Trace) -> pd.DataFrame:
    """A row per endpoint: its name in each language, sent and received bytes.

    Args:
        trace: The run.
    """
    names = [name_box(trace.schedule, endpoint) for endpoint in range(trace.schedule.endpoints)]
    return pd.DataFrame({**split_languages(names), "sent": trace.sent_bytes, "received": trace.received_bytes})


class _InThisProcess(Executor):
    """Does everything at once where it is asked: a server with threads must not be forked, as a sweep that takes longer
    would."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function here and now.

        Args:
            fn: The function to call.
            *args: Arguments of the function.
            **kwargs: Keywords of the function.
        """
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


def estimate_compare(choice: Choice) -> float:
    """Seconds that `compare` should take.

    Args:
        choice: The run that is chosen.

    Raises:
        Refused: for too much work
    """
    topology = build_topology(choice)
    sizes = cs.size_range(choice.sizes)
    pairs = list_compared(choice, topology)
    plans = [_build_plan(name, options, topology) for name, options in pairs if name != SYNTHESIZED]
    work = sum(len(plan) for plan in plans if plan is not None) * len(sizes)
    if work > MAX_COMPARED:
        raise Refused("refused.work", transfers=f"{work:,}", limit=f"{MAX_COMPARED:,}")
    runs = sum(_estimate_or_none(choice, plan, topology, sizes[-1]) for plan in plans if plan is not None)
    searches = 0.0
    if SYNTHESIZED in choice.algorithms:
        searches = SECONDS_TO_SYNTHESIZE + SECONDS_OF_PAIR * topology.ranks**2
    if choice.engine == "lockstep":
        rounds = min(len(sizes), _ROUNDS_IN_LOCKSTEP)
    else:
        rounds = len(sizes)
    return rounds * (len(plans) * _SECONDS_OF_SCENARIO + runs) + len(sizes) * searches


def _estimate_or_none(choice: Choice, plan: cs.Schedule, topology: cs.Topology, nbytes: Any) -> float:
    """No time for what cannot run here: it becomes a row with its reason."""
    try:
        return estimate_seconds(choice, plan, topology, nbytes)
    except CollsimError:
        return 0.0


@job(estimate_compare, compiled=uses_events)
def compare(choice: Choice) -> pd.DataFrame:
    """The algorithms of a choice over its sizes: the rows of `cs.sweep`, each with the channels and chunks that were
    the fastest; `attrs["refusals"]` has a sentence for each algorithm that could not run.

    Ask `estimate_compare` before: it refuses what is too much.

    Args:
        choice: The run that is chosen.
    """
    topology = build_topology(choice)
    pairs = list_compared(choice, topology)
    rounds, table = [cs.size_range(choice.sizes)], pd.DataFrame()
    if is_progress_heard():  # nobody sees a part of what is computed on the spot
        rounds = _split_sizes(choice)
    for done, sizes in enumerate(rounds):

        def report_part(stage: str, share: float, partial: object = None, done: int = done) -> None:
            report_progress(stage, (done + share) / len(rounds), partial)

        rows = select_fastest(sweep_algorithms(choice, pairs, topology, sizes, report_part)).drop(columns=["options"])
        table = pd.concat([table, rows]).sort_values("nbytes", kind="stable", ignore_index=True)
        report_part("run", 1.0, table)
    table = table.sort_values(
        "algorithm", key=lambda names: names.map(list(dict(pairs)).index), kind="stable", ignore_index=True
    )
    reasons = table[table["error"].notna()].drop_duplicates("algorithm").set_index("algorithm")["error"]
    options = dict(reversed(pairs))
    table.attrs["refusals"] = {
        name: _describe_refusal(choice.collective, name, options[name], topology, text)
        for name, text in zip(map(str, reasons.index), reasons, strict=True)
    }
    return table


def _split_sizes(choice: Choice) -> list[list[int]]:
    """The sizes in the order in which they are compared. Lockstep times all of them in one pass; with the event engine
    every fourth one comes first, so that the curves are there early."""
    sizes = cs.size_range(choice.sizes)
    if choice.engine == "lockstep" or len(sizes) <= _FEW_SIZES:
        return [sizes]
    first = sorted({*sizes[::4], sizes[-1]})
    second = [size for size in sizes[::2] if size not in first]
    return [first, second, [size for size in sizes if size not in (*first, *second)]]


def _describe_refusal(
    collective: str, algorithm: str, options: dict[str, Any], topology: cs.Topology, text: str
) -> Sentence:
    """Why an algorithm cannot run, as a sentence where its schedule is what cannot be."""
    try:
        if algorithm == SYNTHESIZED:
            cs.synthesize(collective, topology, effort="low", **options)
        else:
            cs.schedule(algorithm, topology=topology, **options)
    except CollsimError as error:
        return error.sentence
    return Sentence(text)


def sweep_algorithms(
    choice: Choice,
    pairs: list[tuple[str, dict[str, Any]]],
    topology: cs.Topology,
    sizes: list[int],
    report: ReportProgress = report_progress,
) -> pd.DataFrame:
    """`cs.sweep` of algorithms with their options over sizes; in processes of its own only where a worker does it.

    Args:
        choice: The run that is chosen.
        pairs: Algorithms with the options that are tried of each.
        topology: The machine or network.
        sizes: Bytes.
        report: Called with the stage and the share that is done.
    """
    return cs.sweep(
        choice.collective,
        pairs,
        topology,
        sizes,
        choice.dtype,
        build_engine_pair(choice),
        executor=None if is_progress_heard() else _InThisProcess(),
        progress=lambda done, all_, _: report("run", done / all_),
    )


def list_compared(choice: Choice, topology: cs.Topology) -> list[tuple[str, dict[str, Any]]]:
    """The algorithms of a comparison, each with its options for every choice of channels and chunks that is tried.

    Args:
        choice: The run that is chosen.
        topology: The machine or network.
    """
    names = choice.algorithms or list_usual_algorithms(choice.collective)
    search = VariantSearch.for_topology(topology)
    tries = {name: search.list_variants(get_algorithm(name)) for name in names if name != SYNTHESIZED}
    return [(name, options) for name in names for options in tries.get(name, [{}])]


def _build_plan(algorithm: str, options: dict[str, Any], topology: cs.Topology) -> cs.Schedule | None:
    try:
        plan: cs.Schedule = cs.schedule(algorithm, topology=topology, **options)
    except CollsimError:
        return None  # it becomes a row with its reason
    return plan


@dataclass(frozen=True)
class Crossing:
    """Two algorithms and the size from which the second is faster.

    Attributes:
        first: fastest for smaller sizes.
        second: fastest from `nbytes` on.
        nbytes: bytes at which it changes.
        time: s that a run of this size takes.
    """

    first: str
    second: str
    nbytes: int
    time: float


@dataclass(frozen=True)
class NearMiss:
    """An algorithm that leads at no size: where it comes nearest to the one that does.

    Attributes:
        algorithm: its name; `first`: the one that leads there.
        nbytes: the size.
        ratio: its time, in times of the first.
    """

    algorithm: str
    first: str
    nbytes: int
    ratio: float


def find_near_misses(table: pd.DataFrame) -> list[NearMiss]:
    """Algorithms that lead at no size, the nearest first.

    Args:
        table: A row for each size.
    """
    runnable = table[table["error"].isna() & (table["time"] > 0)]
    if runnable.empty:
        return []
    times = runnable.pivot_table(index="nbytes", columns="algorithm", values="time").map(round_time)
    best, first = times.min(axis=1), times.idxmin(axis=1)
    misses = []
    for name in map(str, times.columns):
        ratios = times[name] / best
        if ratios.min() > 1:
            row = int(ratios.argmin())
            misses.append(NearMiss(name, str(first.iloc[row]), int(times.index[row]), float(ratios.iloc[row])))
    return sorted(misses, key=lambda miss: miss.ratio)


@dataclass(frozen=True)
class CableLoad:
    """What two algorithms send over the cables that are busiest in the slower one.

    Attributes:
        kind: the kind of cable, as the topology names it.
        slower: bytes over the busiest cable of that kind; `faster`: those of the algorithm that leads.
    """

    kind: str
    slower: int
    faster: int


def find_load_of_miss(choice: Choice, table: pd.DataFrame, miss: NearMiss) -> CableLoad | None:
    """Why an algorithm leads at no size, where its busiest cable carries more than that of the leader; else None.

    Args:
        choice: The run that is chosen.
        table: The comparison.
        miss: The algorithm, and the size at which it comes nearest.
    """
    if SYNTHESIZED in (miss.algorithm, miss.first):
        return None
    rows = table[(table["nbytes"] == miss.nbytes) & table["error"].isna()]
    chosen = dict(zip(rows["algorithm"], zip(rows["channels"], rows["chunks"], strict=True), strict=True))
    variants = [(name, *map(int, chosen[name])) for name in (miss.algorithm, miss.first)]
    try:
        (kind, slower), (_, faster) = (_load_cables(choice, *variant, miss.nbytes) for variant in variants)
    except CollsimError:
        return None  # too many transfers to count here
    if slower[kind] <= 1.05 * faster.get(kind, 0):
        return None
    return CableLoad(kind, slower[kind], faster.get(kind, 0))


@lru_cache(maxsize=8)
def _load_cables(choice: Choice, algorithm: str, channels: int, chunks: int, nbytes: int) -> tuple[str, dict[str, int]]:
    """The kind of the busiest cable of a compared run, and the most bytes over one cable of each kind."""
    topology = build_topology(choice)
    options = next(
        options
        for name, options in list_compared(choice, topology)
        if name == algorithm and (options.get("channels", 1), options.get("chunks", 1)) == (channels, chunks)
    )
    trace = cs.simulate(_build_plan_cached(algorithm, topology, tuple(sorted(options.items()))), topology, nbytes)
    loads: dict[str, int] = {}
    for link, carried in zip(topology.links, trace.link_bytes, strict=True):
        loads[link.kind] = max(loads.get(link.kind, 0), int(carried))
    return topology.links[int(trace.link_busy.argmax())].kind, loads


def find_crossings(table: pd.DataFrame) -> tuple[list[str], list[Crossing]]:
    """The fastest algorithm of each size in turn, and where the lead changes (between two sizes: where the straight
    lines meet).

    Args:
        table: A row for each size.
    """
    runnable = table[table["error"].isna()]
    if runnable.empty:
        return [], []
    times = runnable.pivot_table(index="nbytes", columns="algorithm", values="time").dropna(axis=1).map(round_time)
    if times.empty:
        return [], []
    leaders = [str(times.iloc[0].idxmin())]
    lead_changes = []
    for low, high in itertools.pairwise(times.index):
        leader, fastest = leaders[-1], str(times.loc[high].idxmin())
        if times.loc[high, leader] > times.loc[high, fastest]:
            lead_changes.append(_find_meeting(times, leader, fastest, low, high))
            leaders.append(fastest)
    return leaders, lead_changes


def _find_meeting(times: pd.DataFrame, a: str, b: str, low: Any, high: Any) -> Crossing:
    """Times are straight lines over bytes between two sizes, so they meet where their difference is zero."""
    before, after = times.loc[low, b] - times.loc[low, a], times.loc[high, a] - times.loc[high, b]
    share = 0.0
    if before + after > 0:
        share = before / (before + after)
    nbytes = round(low + share * (high - low))
    return Crossing(a, b, nbytes, float(times.loc[low, a] + share * (times.loc[high, a] - times.loc[low, a])))
