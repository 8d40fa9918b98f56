"""What would close the gap: the schedule synthesized for a machine, raced against ring and tree, and why a gap remains.

The time of a run is its lower bound and three parts, each found by running again. The busiest link needs `floor`
seconds for what the schedule puts on it; what this is beyond the bound is the `cut`: its links are not used alike, or
carry more than must cross. Without alphas the run takes `bare` seconds; what this is beyond the floor is `chunks`: the
busiest link waits for chunks that are still on their way. The rest is `latency`. All runs of a race are those of the
event engine on the same links, so a difference of two times is the sum of the differences of their parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.ranking import get_sort_key
from ..bounds.cuts import Cut
from ..errors import Sentence, Words, join_words
from ..errors.arguments import check_arguments
from ..errors.dependencies import pandas as pd
from ..faults import require_right
from ..registry import algorithms
from ..schedule import Schedule
from ..simulate import Trace, simulate
from ..topology.graph import format_ranks
from ..topology_names import TopologyLike, resolve_topology
from ..units import ByteSize, format_bandwidth, format_bytes, format_time
from .synthesized_algorithm import SYNTHESIZED, check_options

if TYPE_CHECKING:
    from ..synthesis.synthesizer import Effort, SearchProgress

#: What the synthesized schedule is raced against: the first of each that the collective has and that runs here.
RIVALS = {
    "ring": ("ring", "chain"),
    "tree": ("double_binary_tree", "tree", "pat", "binomial", "recursive_doubling", "bruck"),
}
#: The same of an alltoall, which has neither.
RIVALS_OF_ALLTOALL = {"pairwise": ("pairwise",), "tree": ("bruck",)}
RUN = "run"
#: Names of patterns in a sentence; others have the one of their algorithm.
_PATTERNS: dict[str, Words] = {
    "ring": Sentence("ring"),
    "chain": Sentence("chain"),
    "tree": Sentence("tree"),
    "double_binary_tree": Sentence("double binary tree"),
    "binomial": Sentence("binomial tree"),
    "recursive_doubling": Sentence("recursive doubling"),
    "pairwise": Sentence("pairwise exchange"),
    "pat": "PAT",
    "bruck": "Bruck",
}
# Factor up to which times read as equal, gap up to which a bound reads as reached, and the part of a gain or a gap
# from which on a cause is told.
_EQUAL, _REACHED, _TOLD = 1.005, 1.005, 0.05
_NEVER = 1e-3  # of a run: what is less is a part of a byte, and no waiting that is worth a figure
_NOUGHT = 1e-9  # of a run: sums of many times differ by so much


@dataclass(frozen=True)
class GapParts:
    """Seconds of a run beyond its lower bound, by cause; with the bound they are its time.

    Attributes:
        cut: the busiest link carries more than the bound asks of it.
        chunks: it waits for chunks.
        latency: alphas.
        floor: s that the busiest link needs for its bytes.
        busiest: number of that link.
    """

    cut: float
    chunks: float
    latency: float
    floor: float
    busiest: int


def compute_gap_parts(trace: Trace) -> GapParts:
    """Compute where the time of a run beyond its bound goes, by running it again without alphas.

    Args:
        trace: The run.

    Returns:
        Seconds by cause.
    """
    links = trace.topology.links
    bare = trace.run_again(replace(trace.topology, links=replace(links, alpha=np.zeros_like(links.alpha)))).duration
    busiest = int(np.argmax(trace.link_busy))
    floor = float(trace.link_busy[busiest])
    parts = [trace.duration - bare, bare - floor, floor - trace.bound.bandwidth]
    left = trace.bound.time - trace.bound.bandwidth  # the farthest rank's alphas are no part of the gap
    for i, part in enumerate(parts):
        if part <= _NOUGHT * trace.duration:
            part = 0.0
        parts[i] = max(0.0, part - left)
        left = max(0.0, left - part)
    latency, chunks, cut = parts
    return GapParts(cut, chunks, latency, floor, busiest)


@dataclass(frozen=True, eq=False)
class SynthesisRace:
    """A synthesized schedule and what it was raced against, all timed by the event engine.

    Attributes:
        runs: `synthesized`, then `ring` and `tree` as far as the collective has them, each at its best channels and
            chunks, and `run`, the run that it is to beat, where there is one.
        parts: where the time of each beyond the bound goes.
        provenance: how the schedule was found, and what is proved.
    """

    runs: dict[str, Trace]
    parts: dict[str, GapParts]
    provenance: Sentence

    @property
    def trace(self) -> Trace:
        """The run of the synthesized schedule."""
        return self.runs[SYNTHESIZED]

    @property
    def schedule(self) -> Schedule:
        """The synthesized schedule; to be played, saved and taken home as any other."""
        return self.trace.schedule

    @property
    def rival(self) -> str:
        """The fastest of those it is raced against."""
        others = (name for name in self.runs if name != SYNTHESIZED)
        return min(others, key=lambda name: get_sort_key(self.runs[name].time, name))

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """By how much it is faster, where the gain comes from, what gap remains and why; in both languages."""
        return tuple(_list_sentences(self))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each run, the fastest first, in SI units: time, busbw, gap, and the parts of its gap in seconds."""
        order = sorted(self.runs, key=lambda name: get_sort_key(self.runs[name].time, name))
        return [_build_row(name, self.runs[name], self.parts[name]) for name in order]

    def to_frame(self) -> pd.DataFrame:
        """The same as a table."""
        return pd.DataFrame(self.rows())

    def __str__(self) -> str:
        return "\n".join(map(str, self.sentences))


def _build_row(name: str, trace: Trace, parts: GapParts) -> dict[str, object]:
    figures = trace.row()
    columns = ("collective", "algorithm", "steps", "transfers", "time", "busbw", "bound", "gap")
    return {
        "run": name,
        **{column: figures[column] for column in columns},
        "options": dict(trace.schedule.options),
        "cut": parts.cut,
        "chunks": parts.chunks,
        "latency": parts.latency,
    }


# ---- the race ------------------------------------------------------------------------------------------------------


@check_arguments
def close_gap(
    collective: str,
    topology: TopologyLike,
    nbytes: ByteSize,
    *,
    ranks: int | None = None,
    root: int = 0,
    dtype: str = "float32",
    effort: Effort = "normal",
    switches: bool = True,
    progress: SearchProgress | bool | None = None,
) -> SynthesisRace:
    """The schedule synthesized for a size, raced against ring and tree; with the sentence where its gain comes from.

    Args:
        collective: its name.
        topology: a Topology, or the name of one.
        nbytes: nccl-tests' size.
        ranks: fewer than the topology has.
        root: the root, where the collective has one.
        dtype: type of an element.
        effort: how long to search: `"low"`, `"normal"` or `"high"`.
        switches: may switches of the machine reduce and multicast?
        progress: True for a bar, or a function called with (done, in all, what); Ctrl-C ends it.

    Returns:
        The race; its `schedule` is what was synthesized.

    Raises:
        CollsimError: as `synthesize` and `simulate`.

    Examples:
        >>> import collsim as cs
        >>> race = close_gap("allgather", "ring(4)", "1MiB")
        >>> sorted(race.runs)
        ['ring', 'synthesized', 'tree']
    """
    check_options([str(collective)], ())
    topology = resolve_topology(topology, "close_gap")
    from ..synthesis.synthesizer import search_schedule

    search = search_schedule(
        collective, topology, nbytes, effort, ranks=ranks, root=root, switches=switches, progress=progress
    )
    trace = simulate(search.schedule, topology, nbytes, dtype, "event")
    return _build_race({SYNTHESIZED: trace, **dict(_list_rivals(trace, search.library))})


def close_gap_of(
    trace: Trace, *, effort: Effort = "normal", switches: bool = True, progress: SearchProgress | bool | None = None
) -> SynthesisRace:
    """Race what is synthesized for the size of a run against that run, too, without its barriers and its conditions.

    Args:
        trace: The run.
        effort: How long to search.
        switches: May switches of the machine reduce and multicast?
        progress: As `close_gap` takes it.

    Returns:
        The race.

    Raises:
        ScheduleError: The run's schedule does not do what its collective promises.
    """
    s = trace.schedule
    require_right(s)
    race = close_gap(
        s.collective,
        trace.topology,
        trace.nbytes,
        ranks=s.ranks,
        root=s.root,
        dtype=trace.dtype,
        effort=effort,
        switches=switches,
        progress=progress,
    )
    run = simulate(s, trace.topology, trace.nbytes, trace.dtype, "event")
    # A run that equals one of the race (same schedule, same time) would stand in the table twice.
    standings = [get_sort_key(raced.time, raced.schedule.name) for raced in race.runs.values()]
    if get_sort_key(run.time, s.name) in standings:
        return race
    return _build_race({**race.runs, RUN: run}, race.parts)


def _build_race(runs: dict[str, Trace], known: dict[str, GapParts] | None = None) -> SynthesisRace:
    from ..synthesis import report

    parts = dict(known or {})
    parts |= {name: compute_gap_parts(trace) for name, trace in runs.items() if name not in parts}
    search = report(runs[SYNTHESIZED].schedule)
    assert search is not None
    return SynthesisRace(runs, parts, search.sentence)


def _list_rivals(trace: Trace, library: Mapping[str, Trace]) -> Iterator[tuple[str, Trace]]:
    """Ring and tree at their best, as far as the collective has them and they run here; `library` are runs of the same
    size that the search has made."""
    from ..synthesis.library_algorithms import time_fastest_variant

    s, kind = trace.schedule, trace.schedule.collective
    rivals = {"alltoall": RIVALS_OF_ALLTOALL}.get(kind, RIVALS)
    for name, patterns in rivals.items():
        for pattern in patterns:
            best, entry = library.get(f"{kind}_{pattern}"), algorithms().get(f"{kind}_{pattern}")
            if entry is not None and (best is None or best.dtype != trace.dtype):
                best = time_fastest_variant(entry, trace.topology, s.ranks, s.root, trace.nbytes, trace.dtype)
            if best is not None:
                yield name, best
                break


# ---- sentences -----------------------------------------------------------------------------------------------------


def _list_sentences(race: SynthesisRace) -> Iterator[Sentence]:
    """By how much, where from, what remains and why."""
    time, rivals = race.trace.time, [name for name in race.runs if name != SYNTHESIZED]
    if rivals:
        rivals.sort(key=lambda name: get_sort_key(race.runs[name].time, name))
        against = [_compare_times(time, race.runs[name].time, _name_rival(name, race.runs[name])) for name in rivals]
        others = join_words(against, "{first}; {then}")
        yield Sentence("The synthesized schedule takes {time}; {others}.", time=format_time(time), others=others)
    for name in rivals:
        if race.runs[name].time > time * _EQUAL:
            yield from _explain_gain(race, name)
    yield _explain_remaining_gap(race)
    yield explain_bound(race.trace)


def _name_rival(name: str, trace: Trace) -> Words:
    """`ring`, `double binary tree`; the run that is to be beaten by its algorithm."""
    short_name = trace.schedule.name.removeprefix(f"{trace.schedule.collective}_")
    pattern = _PATTERNS.get(short_name, short_name.replace("_", " "))
    if name == RUN:
        return Sentence("{own} as it was run", own=pattern)
    return pattern


def _compare_times(time: float, other: float, rival: Words) -> Sentence:
    """How long a rival takes, and by how much longer or shorter that is."""
    values = {"rival": rival, "other": format_time(other)}
    if other > time * _EQUAL:
        return Sentence("{rival} takes {other}, {times} times as long", times=f"{other / time:.3g}", **values)
    if other * _EQUAL < time:
        return Sentence("{rival} takes {other} and is {times} times as fast", times=f"{time / other:.3g}", **values)
    return Sentence("{rival} takes as long", rival=rival)


def _explain_gain(race: SynthesisRace, name: str) -> Iterator[Sentence]:
    """Where the time goes that one of those that are beaten takes longer; the largest part first."""
    other, synthesized_parts, other_parts = race.runs[name], race.parts[SYNTHESIZED], race.parts[name]
    saved = other.time - race.trace.time
    reasons = [
        (other_parts.cut - synthesized_parts.cut, _explain_cut),
        (other_parts.chunks - synthesized_parts.chunks, _explain_chunks),
        (other_parts.latency - synthesized_parts.latency, _explain_latency),
    ]
    gains = [reason for reason in sorted(reasons, key=lambda r: -r[0]) if reason[0] > _TOLD * saved]
    if not gains:
        return
    causes = join_words([explain(race, name, seconds) for seconds, explain in gains], "{first}; {then}")
    values = {"saved": format_time(saved), "rival": _name_rival(name, other)}
    gain = Sentence("Where the gain of {saved} over {rival} comes from: {reason}.", reason=causes, **values)
    # Parts may have grown as well; that is said where it is more than a small share.
    lost = [_PARTS[explain](format_time(-seconds)) for seconds, explain in reasons if -seconds > _TOLD * saved]
    if lost:
        gain += Sentence(" It gives back {paid}.", paid=join_words(lost))
    yield gain


def _explain_cut(race: SynthesisRace, name: str, seconds: float) -> Sentence:
    """What the busiest links need for their bytes, and how much of the narrowest cut is in use."""
    other, synthesized_parts, other_parts = race.runs[name], race.parts[SYNTHESIZED], race.parts[name]
    values = {
        "part": format_time(seconds),
        "rival": _name_rival(name, other),
        "link": other.topology.link_name(other_parts.busiest),
        "floor": format_time(other_parts.floor),
        "own": format_time(synthesized_parts.floor),
    }
    cut = race.trace.bound.cut
    # How many of the links of the narrowest cut are in use explains most of the gap.
    used, used_by_mine = (_count_used_links(trace, cut) for trace in (other, race.trace))
    if cut is not None and used < used_by_mine:
        return Sentence(
            "{part} because {rival} uses {used} of the {all} links of the narrowest cut, not {mine}, and its busiest "
            "link, {link}, needs {floor} for what it carries, not {own}",
            used=used,
            all=len(cut.links),
            mine=used_by_mine,
            **values,
        )
    return Sentence(
        "{part} because the busiest link of {rival}, {link}, needs {floor} for what it carries, not {own}", **values
    )


def _explain_chunks(race: SynthesisRace, name: str, seconds: float) -> Sentence:
    other, synthesized_parts, other_parts = race.runs[name], race.parts[SYNTHESIZED], race.parts[name]
    if synthesized_parts.chunks < _NEVER * race.trace.duration:
        return Sentence(
            "{part} because the busiest link of {rival} waits {wait} for chunks that are still on their way, and that "
            "of the synthesized schedule for none",
            part=format_time(seconds),
            rival=_name_rival(name, other),
            wait=format_time(other_parts.chunks),
        )
    return Sentence(
        "{part} because the busiest link of {rival} waits {wait} for chunks that are still on their way, not {own}",
        part=format_time(seconds),
        rival=_name_rival(name, other),
        wait=format_time(other_parts.chunks),
        own=format_time(synthesized_parts.chunks),
    )


def _explain_latency(race: SynthesisRace, name: str, seconds: float) -> Sentence:
    other = race.runs[name]
    values = {"part": format_time(seconds), "rival": _name_rival(name, other), "steps": other.schedule.steps}
    if other.schedule.steps > race.schedule.steps:
        return Sentence(
            "{part} of latency because {rival} takes {steps} steps, not {own}", own=race.schedule.steps, **values
        )
    return Sentence("{part} of latency that {rival} with its {steps} steps does not hide", **values)


#: The parts of a gap by what says them.
_PARTS: dict[Callable[..., Sentence], Callable[[str], Sentence]] = {
    _explain_cut: lambda part: Sentence("{part} at the cut", part=part),
    _explain_chunks: lambda part: Sentence("{part} of waiting for chunks", part=part),
    _explain_latency: lambda part: Sentence("{part} of latency", part=part),
}


def _count_used_links(trace: Trace, cut: Cut | None) -> int:
    """Links of a cut that carry anything."""
    if cut is None:
        return 0
    return int((trace.link_bytes[list(cut.links)] > 0).sum())


def _explain_remaining_gap(race: SynthesisRace) -> Sentence:
    """The gap of the synthesized schedule, by cause."""
    trace, parts = race.trace, race.parts[SYNTHESIZED]
    bound, excess = format_time(trace.bound.time), trace.duration - trace.bound.time
    if trace.gap < _REACHED:
        return Sentence("No schedule can be faster than {bound}, and this one is within 0.5 % of it.", bound=bound)
    steps = trace.schedule.steps
    part = {name: format_time(getattr(parts, name)) for name in ("cut", "chunks", "latency")}
    uneven = "{part} at the cut: its links are not loaded alike, or carry more than must cross it"
    latency = Sentence("{part} of latency in one step", part=part["latency"])
    if steps > 1:
        latency = Sentence("{part} of latency in {steps} steps", part=part["latency"], steps=steps)
    causes = [
        (parts.cut, Sentence(uneven, part=part["cut"])),
        (parts.chunks, Sentence("{part} of waiting for chunks: pipelines fill and drain", part=part["chunks"])),
        (parts.latency, latency),
    ]
    named = [sentence for seconds, sentence in sorted(causes, key=lambda c: -c[0]) if seconds > _TOLD * excess]
    reasons, gap = join_words(named, "{first}; {then}"), f"{trace.gap:.3g}"
    return Sentence(
        "It stays at {gap} times the lower bound of {bound}: {reason}.", gap=gap, bound=bound, reason=reasons
    )


def explain_bound(trace: Trace) -> Sentence:
    """Where the bound comes from: the farthest rank, a cut, links between groups, or the links that blocks cross.

    Args:
        trace: The run.
    """
    if trace.bound.limit == "latency":
        return Sentence(
            "The bound is one of latency: the farthest rank is {time} away.", time=format_time(trace.bound.time)
        )
    if trace.bound.cut is not None:
        return describe_cut(trace.bound.cut)
    if (travel := trace.bound.travel) is not None:
        return Sentence(
            "A byte crosses at least {hops} links of at most {rate} in the mean: all of them together need {time}.",
            hops=f"{travel.hops:.3g}",
            rate=format_bandwidth(travel.bandwidth),
            time=format_time(travel.time),
        )
    if trace.bound.groups:
        return Sentence(
            "An allreduce sends 2 × {others} buffers between {groups} groups of ranks: the links between these need "
            "{time}.",
            others=trace.bound.groups - 1,
            groups=trace.bound.groups,
            time=format_time(trace.bound.time),
        )
    return Sentence(
        "No cut is narrower than all links of the ranks together: they need {time}.", time=format_time(trace.bound.time)
    )


def describe_cut(cut: Cut) -> Sentence:
    """Describe the cut that the bound comes from: what must cross, which ranks, how many links.

    Args:
        cut: The cut.

    Returns:
        A sentence.
    """
    values = {
        "needed": format_bytes(round(cut.nbytes)),
        "ranks": format_ranks(cut.ranks),
        "links": len(cut.links),
        "rate": format_bandwidth(cut.bandwidth),
        "time": format_time(cut.time),
    }
    if cut.into:
        return Sentence(
            "The narrowest cut: {needed} must get into {ranks} over {links} links of {rate} together, {time}.", **values
        )
    return Sentence(
        "The narrowest cut: {needed} must get out of {ranks} over {links} links of {rate} together, {time}.", **values
    )
