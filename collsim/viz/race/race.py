"""A race: several runs on one clock. What the module ``race.js`` needs of each, and that module with the player in one
text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.run_facts import RunFacts
from ...locale import Text
from ..sentences import words
from ..sentences.causes import describe_bottleneck
from ..sentences.names import name_endpoint
from ..timeline.document import build_encoded_timeline
from ..timeline.timeline_types import EncodedTimeline

if TYPE_CHECKING:
    from ...simulate import Trace

_HOT = 2.0  # the busiest cable of one runner stands out when it carries so many times the least of the others


@dataclass(frozen=True)
class Runner:
    """What a race shows of one run, as plain data.

    Attributes:
        time: seconds; `busbw`: bytes per second; `busiest`: bytes over the busiest link, one direction.
        why: one or two sentences, English and Chinese: who sends how much, what is busy, and what would help.
        timeline: as the player takes it.
    """

    time: float
    busbw: float
    busiest: int
    reason: Text
    timeline: EncodedTimeline


def build_runner(trace: Trace) -> Runner:
    """One run of a race.

    Args:
        trace: The run.

    Raises:
        CollsimError: For more transfers than the player shows.
    """
    facts = RunFacts(trace)
    return Runner(
        trace.time,
        trace.busbw,
        int(trace.link_bytes.max(initial=0)),
        explain_time(facts),
        build_encoded_timeline(facts),
    )


def explain_time(facts: RunFacts) -> Text:
    """Why this run takes as long as it does: the bytes that the busiest endpoint sends, and the bottleneck.

    Args:
        facts: Of the run.
    """
    if (causes := describe_bottleneck(facts)) is None:
        return "Nothing has to move.", "没有数据需要移动。"
    (en, zh), text, more = _describe_sends(facts.trace), causes["text"], causes["more"]
    return f"{en} {text['en']} {more['en']}".strip(), f"{zh}{text['zh']}{more['zh']}"


def _describe_sends(trace: Trace) -> Text:
    """How many buffers leave the busiest endpoint, and whether all ranks send as much."""
    sent, schedule = trace.sent_bytes, trace.schedule
    top = int(np.argmax(sent))
    buffers = f"{sent[top] / max(1, trace.nbytes):.3g}"
    if buffers == "1":
        plural = "buffer"
    else:
        plural = "buffers"
    if np.allclose(sent[: schedule.ranks], sent[top]):
        return f"Every rank sends {buffers} {plural}.", f"每个 rank 发送 {buffers} 份缓冲区。"
    if np.isclose(sent, sent[top]).sum() > 1:
        return f"The busiest ranks send {buffers} {plural}.", f"最忙的 rank 发送 {buffers} 份缓冲区。"
    en, zh = name_endpoint(schedule, top)
    return (
        f"{words.capitalise(en)} sends {buffers} {plural}, more than any other.",
        f"{zh} 发送 {buffers} 份缓冲区，多于其他端点。",
    )


def build_course(runners: Sequence[Runner]) -> list[dict[str, object]]:
    """What the module gets of each runner beside its names: place (equal times share one), load and whether its busiest
    cable is hot.

    Args:
        runners: The runs of the race.
    """
    times = [r.time for r in runners]
    most, least = max(r.busiest for r in runners), min(r.busiest for r in runners)
    return [
        {
            "place": 1 + sum(t < r.time * (1 - 1e-9) for t in times),
            "time": r.time,
            "busbw": r.busbw,
            "busiest": r.busiest,
            "load": r.busiest / most if most else 0.0,
            "hot": bool(r.busiest == most and r.busiest >= _HOT * least and len(runners) > 1),
            "timeline": r.timeline,
        }
        for r in runners
    ]
