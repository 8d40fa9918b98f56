"""What the ranks of a program do at each moment, in a sentence: for the cursor over the lanes."""

from __future__ import annotations

from ...locale import Text
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
    english, chinese = [], []
    for span in spans[:_MAX_RANKS]:
        text = _describe_span(span)
        english.append(text[0])
        chinese.append(text[1])
    if len(spans) > _MAX_RANKS:
        english.append(f"{len(spans) - _MAX_RANKS} more wait")
        chinese.append(f"另有 {len(spans) - _MAX_RANKS} 个 rank 在等")
    if late:
        english.append(f"rank {_join(late)} has not begun")
        chinese.append(f"rank {_join(late)} 尚未开始")
    if moving:
        english.append(f"messages under way: {moving}")
        chinese.append(f"途中的消息：{moving} 条")
    if ended and not spans:
        english.append("all ranks have ended")
        chinese.append("所有 rank 都结束了")
    elif run.verdict == "hangs" and time >= run.timeline.time:
        if ended:
            english.append(f"rank {_join(ended)} has ended")
            chinese.append(f"rank {_join(ended)} 已经结束")
        english.append("nothing moves any more")
        chinese.append("再没有数据移动")
    head = format_time(time)
    return f"{head}: {'; '.join(english)}.", f"{head}：{'；'.join(chinese)}。"


def _describe_span(span: RankSpan) -> Text:
    if span.peer < 0:
        return (
            f"rank {span.rank} waits in {span.call} (line {span.line})",
            f"rank {span.rank} 停在 {span.call}（第 {span.line} 行）",
        )
    return (
        f"rank {span.rank} waits in {span.call} for rank {span.peer} (line {span.line})",
        f"rank {span.rank} 停在 {span.call}（第 {span.line} 行），等 rank {span.peer}",
    )


def _join(ranks: list[int]) -> str:
    return ", ".join(map(str, ranks[:_MAX_RANKS]))
