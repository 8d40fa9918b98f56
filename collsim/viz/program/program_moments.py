"""What the ranks of a program do at each moment, in a sentence: for the cursor over the lanes."""

from __future__ import annotations

from ...locale import Text, build_text, join_texts
from ...programs import ProgramRun
from ...programs.program_timing import RankSpan
from ...units import format_time

_MAX_SENTENCES = 400
_MAX_RANKS = 4  # named in a sentence
#: A moment, in seconds, and what happens from then on.
Moment = tuple[float, Text]


def list_moments(run: ProgramRun) -> tuple[Moment, ...]:
    """Say what the ranks do from each moment on at which something changes.

    Args:
        run: of a program.

    Returns:
        Moments in their order; the first is 0 s.
    """
    timeline = run.timeline
    times: set[float | None] = {0.0, timeline.time, *run.late.values()}
    for span in timeline.spans:
        times |= {span.begin, span.end}
    for message in timeline.messages:
        times |= {message.begin, message.arrived}
    moments = sorted(time for time in times if time is not None and time <= timeline.time)
    return tuple((time, _describe_moment(run, time)) for time in moments[:_MAX_SENTENCES])


def _describe_moment(run: ProgramRun, time: float) -> Text:
    spans = [span for span in run.timeline.spans if span.begin <= time and (span.end is None or span.end > time)]
    moving = sum(
        message.begin is not None and message.arrived is not None and message.begin <= time < message.arrived
        for message in run.timeline.messages
    )
    waiting = {span.rank for span in spans}
    ended = [rank for rank, end in enumerate(run.timeline.ends) if end <= time and rank not in waiting]
    late = [rank for rank, begin in run.late.items() if begin > time]
    events = [_describe_span(span) for span in spans[:_MAX_RANKS]]
    if len(spans) > _MAX_RANKS:
        events.append(build_text("sentences", "program.more_wait", count=len(spans) - _MAX_RANKS))
    if late:
        events.append(build_text("sentences", "program.not_begun", ranks=_join(late)))
    if moving:
        events.append(build_text("sentences", "program.under_way", count=moving))
    if ended and not spans:
        events.append(build_text("sentences", "program.all_ended"))
    elif run.verdict == "hangs" and time >= run.timeline.time:
        if ended:
            events.append(build_text("sentences", "program.has_ended", ranks=_join(ended)))
        events.append(build_text("sentences", "program.nothing_moves"))
    happening = join_texts("semicolons", events)
    return build_text("sentences", "program.moment", time=format_time(time), events=happening)


def _describe_span(span: RankSpan) -> Text:
    key = "program.waits_for"
    if span.peer < 0:
        key = "program.waits"
    return build_text("sentences", key, rank=span.rank, call=span.call, line=span.line, peer=span.peer)


def _join(ranks: list[int]) -> str:
    return ", ".join(map(str, ranks[:_MAX_RANKS]))
