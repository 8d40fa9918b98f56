"""Break it: one thing goes wrong in a run, and the checker, or the clock, says what.

Four ways break the schedule (a send is lost, two chunks are swapped, a send carries a chunk too many, a send happens
twice), two the machine (a cable is cut, a rank is slow). A broken schedule is a schedule like any other: it can be
played, timed and verified.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..analysis.device_names import name_device
from ..errors import CollsimError, ScheduleError, TopologyError, describe_unknown, require_language
from ..errors.arguments import check_arguments
from ..locale import LANGUAGES, Text, build_text
from ..schedule import Schedule, freeze
from ..simulate import Trace, simulate
from ..steps import Step
from ..units import format_time, parse_count
from ..verify import verify

Random = np.random.Generator
_MAX_TRANSFERS = 50_000


@dataclass(frozen=True, eq=False)
class BreakResult:
    """What was done to a run, and what came of it.

    Attributes:
        how: `lose`, `swap`, `oversize`, `repeat`, `cut` or `slow`.
        what: what was done, in one sentence.
        verdict: what the checker or the clock answers.
        trace: the run afterwards; None where it cannot run at all (a rank is cut off).
        error: the checker's error, with its rank, chunk and step; None where the data still come out right.

    Examples:
        >>> import collsim as cs
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), "1MiB")
        >>> cs.teach.break_it(trace, "lose").what
        'In step 6 the send of chunk 1 from rank 2 to rank 3 is lost.'
    """

    how: str
    what: str
    verdict: str
    trace: Trace | None
    error: CollsimError | None

    def __str__(self) -> str:
        return f"{self.what}\n{self.verdict}"


@check_arguments
def break_it(trace: Trace, how: str = "lose", seed: int = 0, language: str = "en") -> BreakResult:
    """Break one thing of a run.

    Args:
        trace: of `simulate`.
        how: `lose` a send, `swap` two chunks, `oversize` a chunk, `repeat` a send, `cut` the busiest cable, `slow` a
            rank by half.
        seed: which send, cable or rank.
        language: `en` or `zh`, the language of the sentences.

    Returns:
        What was done, and what came of it.

    Raises:
        CollsimError: For another word, and for a run in which nothing moves or that is too large to take apart.

    Examples:
        >>> import collsim as cs
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), "1MiB")
        >>> broken = cs.teach.break_it(trace, "lose")
        >>> broken.error.step, broken.error.rank
        (5, 3)
    """
    breakages = {**_SCHEDULE_BREAKAGES, **_MACHINE_BREAKAGES}
    if how not in breakages:
        raise CollsimError(describe_unknown("way to break a run", how, breakages))
    require_language(language)
    if not 0 < len(trace.schedule) <= _MAX_TRANSFERS or not trace.time:
        template = "{trace!r} cannot be broken: it needs 1 to {most:,} transfers that cross a link"
        raise CollsimError(template, trace=trace, most=_MAX_TRANSFERS)
    random = np.random.default_rng(parse_count(seed, "seed", least=0))
    k = LANGUAGES.index(language)
    if how in _MACHINE_BREAKAGES:
        what, verdict, after, error = _MACHINE_BREAKAGES[how](trace, random)
        return BreakResult(how, what[k], verdict[k], after, error)
    plan, what = _break_schedule(trace.schedule, how, random)
    verdict, wrong = _check_plan(plan)
    return BreakResult(how, what[k], verdict[k], _time_plan(trace, plan), wrong)


# ---- the schedule


def _drop_send(steps: list[Step], s: Schedule, random: Random) -> Text:
    number, row = _pick_transfer(steps, random)
    sending = _describe_send(s, steps[number], row)
    steps[number] = _select_rows(steps[number], np.arange(len(steps[number])) != row)
    return build_text("teach", "breaking.step_lost", number=number + 1, sending=sending)


def _swap_chunks(steps: list[Step], s: Schedule, random: Random) -> Text:
    """Two sends of one step carry each other's chunk; where all carry the same, one reads the next chunk, or goes the
    wrong way."""
    number, row = _pick_transfer(steps, random)
    step = steps[number]
    is_in_place = bool(step.chunk[row] == step.into[row])
    others = np.flatnonzero((step.chunk != step.chunk[row]) & (step.chunk == step.into) & is_in_place)
    chunk, into = step.chunk.copy(), step.into.copy()
    sending = _describe_send(s, step, row)
    if len(others):
        other = int(random.choice(others))
        for column in (chunk, into):
            column[[row, other]] = column[[other, row]]
        second = _describe_send(s, step, other)
        steps[number] = replace(step, chunk=chunk, into=into)
        return build_text("teach", "breaking.step_carry_each_other", number=number + 1, sending=sending, second=second)
    if s.slots == 1:
        src, dst = step.src.copy(), step.dst.copy()
        src[row], dst[row] = dst[row], src[row]
        steps[number] = replace(step, src=src, dst=dst)
        return build_text("teach", "breaking.step_goes_other_way", number=number + 1, sending=sending)
    chunk[row] = (chunk[row] + 1) % s.slots
    steps[number] = replace(step, chunk=chunk)
    return build_text(
        "teach", "breaking.step_reads_chunk_instead", number=number + 1, sending=sending, chunk=chunk[row]
    )


def _extend_send(steps: list[Step], s: Schedule, random: Random) -> Text:
    """One send is a chunk too long and runs on into the next one."""
    number, row = _pick_transfer(steps, random)
    step, sending = steps[number], _describe_send(s, steps[number], row)
    overrun = _select_rows(step, np.arange(len(step)) == row)
    overrun = replace(overrun, chunk=overrun.chunk + 1, into=overrun.into + 1)
    steps[number] = step + overrun
    return build_text(
        "teach", "breaking.step_chunk_too_long", number=number + 1, sending=sending, into=int(overrun.into[0])
    )


def _repeat_send(steps: list[Step], s: Schedule, random: Random) -> Text:
    """One send happens a second time, in a step of its own at once after the first."""
    number, row = _pick_transfer(steps, random, [k for k, step in enumerate(steps) if step.reduce.any()])
    sending = _describe_send(s, steps[number], row)
    steps.insert(number + 1, _select_rows(steps[number], np.arange(len(steps[number])) == row))
    return build_text("teach", "breaking.after_step_happens_second", number=number + 1, sending=sending)


_SCHEDULE_BREAKAGES: dict[str, Callable[[list[Step], Schedule, Random], Text]] = {
    "lose": _drop_send,
    "swap": _swap_chunks,
    "oversize": _extend_send,
    "repeat": _repeat_send,
}


def _pick_transfer(steps: list[Step], random: Random, among: list[int] | None = None) -> tuple[int, int]:
    """A transfer that leaves its endpoint: its step and its row there."""
    choices = [k for k in among or range(len(steps)) if (steps[k].src != steps[k].dst).any()] or [
        k for k in range(len(steps)) if (steps[k].src != steps[k].dst).any()
    ]
    number = int(random.choice(choices))
    away = np.flatnonzero(steps[number].src != steps[number].dst)
    adding = away[steps[number].reduce[away]]
    return number, int(random.choice(adding if among and len(adding) else away))


def _describe_send(s: Schedule, step: Step, row: int) -> Text:
    a, b, c = s.name_endpoint(int(step.src[row])), s.name_endpoint(int(step.dst[row])), int(step.chunk[row])
    return build_text("teach", "breaking.send_chunk_from", c=c, a=a, b=b)


def _select_rows(step: Step, keep: np.ndarray) -> Step:  # type: ignore[type-arg]
    columns = {name: getattr(step, name)[keep] for name in ("src", "dst", "chunk", "into", "reduce", "channel")}
    return replace(step, **columns)


def _break_schedule(s: Schedule, how: str, random: Random) -> tuple[Schedule | CollsimError, Text]:
    """The schedule with one thing wrong; or the error that says why there can be no such schedule."""
    steps = list(s.each_step())
    what = _SCHEDULE_BREAKAGES[how](steps, s, random)
    name = f"{s.name}_broken"
    try:
        plan = freeze(
            name,
            s.collective,
            s.ranks,
            steps,
            chunks=s.chunks,
            slots=s.slots,
            helpers=s.endpoints - s.ranks,
            root=s.root,
            helpers_on=s.helpers_on,
        )
    except ScheduleError as error:
        return error, what
    return replace(plan, original=s), what


def _check_plan(plan: Schedule | CollsimError) -> tuple[Text, CollsimError | None]:
    error: CollsimError | None = None
    if isinstance(plan, CollsimError):
        error = plan
    else:
        try:
            verify(plan)
        except CollsimError as problem:
            error = problem
    if error is None:
        return build_text("teach", "breaking.result_still_right_nobody"), None
    return error.sentence.texts, error


def _time_plan(trace: Trace, plan: Schedule | CollsimError) -> Trace | None:
    if isinstance(plan, CollsimError):
        return None
    return simulate(plan, trace.topology, trace.nbytes, trace.dtype, trace.engine)


# ---- the machine

Outcome = tuple[Text, Text, Trace | None, CollsimError | None]


def _cut_cable(trace: Trace, random: Random) -> Outcome:
    """One of the cables that are busiest is gone; the data take another way, if there is one."""
    busy, links, names = trace.link_busy, trace.topology.links, trace.topology.devices.name
    if not busy.any():
        raise CollsimError(
            "no cable carries a byte in this run, so none of them can be the busiest; use a larger nbytes"
        )
    link = int(random.choice(np.flatnonzero(busy > 0.99 * busy.max())))
    src, dst = int(links.src[link]), int(links.dst[link])
    a, b = names[src], names[dst]
    what = build_text("teach", "breaking.cable_between_cut", a=name_device(trace, src), b=name_device(trace, dst))
    try:
        after = simulate(trace.schedule, trace.topology.without_link(a, b), trace.nbytes, trace.dtype, trace.engine)
    except TopologyError as error:
        return what, build_text("teach", "breaking.unreachable", error=error), None, error
    return what, _compare_times(trace, after), after, None


def _slow_rank(trace: Trace, random: Random) -> Outcome:
    """All cables of one rank carry half."""
    rank = int(random.integers(trace.schedule.ranks))
    device = int(trace.topology.endpoint_device[trace.placement[rank]])
    links, topology = trace.topology.links, trace.topology
    for link in np.flatnonzero(links.src == device):
        topology = topology.with_link(device, int(links.dst[link]), bandwidth=float(links.bandwidth[link]) / 2)
    after = simulate(trace.schedule, topology, trace.nbytes, trace.dtype, trace.engine)
    what = build_text("teach", "breaking.all_cables_rank_half", rank=rank)
    return what, _compare_times(trace, after), after, None


def _compare_times(before: Trace, after: Trace) -> Text:
    a, b, times = format_time(before.time), format_time(after.time), f"{after.time / before.time:.3g}"
    if times == "1":
        return build_text("teach", "breaking.data_still_come_out", a=a)
    return build_text("teach", "breaking.slower", before=a, after=b, times=times)


_MACHINE_BREAKAGES: dict[str, Callable[[Trace, Random], Outcome]] = {"cut": _cut_cable, "slow": _slow_rank}
BREAKAGES = (*_SCHEDULE_BREAKAGES, *_MACHINE_BREAKAGES)
