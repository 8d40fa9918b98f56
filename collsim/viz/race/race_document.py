"""A race: several runs on one clock. What the module ``race.js`` needs of each, and that module with the player in one
text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.endpoint_names import name_endpoint
from ...analysis.run_facts import RunFacts
from ...locale import LANGUAGES, Text, build_text, join_texts
from ..sentences.time_sentences import describe_bottleneck
from ..timeline.timeline_document import build_encoded_timeline
from ..timeline.timeline_types import EncodedTimeline

if TYPE_CHECKING:
    from ...simulate import Trace

_HOT = 2.0  # the busiest cable of one runner stands out when it carries so many times the least of the others


@dataclass(frozen=True)
class Runner:
    """What a race shows of one run, as plain data.

    Attributes:
        time: s.
        busbw: B/s, as nccl-tests counts.
        busiest: bytes over the busiest link, one direction.
        reason: one or two sentences, English and Chinese: who sends how much, what is busy, and what would help.
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
    busiest = int(trace.link_bytes.max(initial=0))
    return Runner(trace.time, trace.busbw, busiest, explain_time(facts), build_encoded_timeline(facts))


def explain_time(facts: RunFacts) -> Text:
    """Why this run takes as long as it does: the bytes that the busiest endpoint sends, and the bottleneck.

    Args:
        facts: Of the run.
    """
    if (causes := describe_bottleneck(facts)) is None:
        return build_text("race", "race.nothing_to_move")
    text, more = (tuple(causes[part][language] for language in LANGUAGES) for part in ("text", "more"))
    return join_texts("sentences", list(filter(any, (_describe_sends(facts.trace), text, more))))


def _describe_sends(trace: Trace) -> Text:
    """How many buffers leave the busiest endpoint, and whether all ranks send as much."""
    sent, schedule = trace.sent_bytes, trace.schedule
    top = int(np.argmax(sent))
    buffers = f"{sent[top] / max(1, trace.nbytes):.3g}"
    if np.allclose(sent[: schedule.ranks], sent[top]):
        return build_text("race", "race.every_rank_sends", buffers=buffers)
    if np.isclose(sent, sent[top]).sum() > 1:
        return build_text("race", "race.busiest_ranks_send", buffers=buffers)
    return build_text("race", "race.one_sends_most", endpoint=name_endpoint(schedule, top), buffers=buffers)


@dataclass(frozen=True)
class RacingRun:
    """A run of a race as it is shown.

    Attributes:
        runner: What is shown of the run.
        name: What tells it from the others.
        note: What else it is.
    """

    runner: Runner
    name: str
    note: str


def describe_runners(runs: Sequence[RacingRun], language: str) -> list[dict[str, object]]:
    """The runs as the module ``race.js`` takes them.

    Args:
        runs: The runs, each with its name and a note.
        language: `en` or `zh`.
    """
    number = LANGUAGES.index(language)
    course = build_course([run.runner for run in runs])
    return [
        {**facts, "name": run.name, "note": run.note, "reason": run.runner.reason[number]}
        for facts, run in zip(course, runs, strict=True)
    ]


def build_course(runners: Sequence[Runner]) -> list[dict[str, object]]:
    """What the module gets of each runner next to its names: position at the finish (equal times share one), load
    and whether its busiest cable is hot.

    Args:
        runners: The runs of the race.
    """
    times = [r.time for r in runners]
    most, least = max(r.busiest for r in runners), min(r.busiest for r in runners)
    return [
        {
            "position": 1 + sum(t < r.time * (1 - 1e-9) for t in times),
            "time": r.time,
            "busbw": r.busbw,
            "busiest": r.busiest,
            "load": r.busiest / most if most else 0.0,
            "hot": bool(r.busiest == most and r.busiest >= _HOT * least and len(runners) > 1),
            "timeline": r.timeline,
        }
        for r in runners
    ]
