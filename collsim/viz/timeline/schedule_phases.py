"""Phases of a schedule: where it adds and where it copies, under the names that its algorithm declares, or that follow
from where the finished sums lie in between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...analysis.run_facts import RunFacts
from ...collective import get_collective
from ...locale import Text, build_text, has_text, map_languages, repeat_text
from ...registry import find_schedule_algorithm
from ...schedule import Schedule
from .timeline_types import TimelinePhase

ADDS, COPIES, BOTH = "adds", "copies", "both"
_MAX_BANDS = 6


@dataclass(frozen=True)
class Phase:
    """Steps in a row under one name.

    Attributes:
        label: the name, English and Chinese.
        first: first step, from 0.
        last: last step, which belongs to it.
        reduce: do its steps add?
    """

    label: Text
    first: int
    last: int
    reduce: bool

    def to_document(self) -> TimelinePhase:
        label = map_languages(self.label)
        return {"label": label, "first": self.first, "last": self.last, "reduce": int(self.reduce)}


def list_phases(facts: RunFacts) -> list[Phase]:
    """The bands of the scrubber.

    Args:
        facts: Of the run.
    """
    schedule = facts.trace.schedule
    bands = _find_bands(schedule)
    if len(bands) > _MAX_BANDS:
        bands = [(BOTH, 0, schedule.steps - 1)]
    kind = get_collective(schedule.collective)
    phases = []
    splits: tuple[Text, ...] = ()
    if kind.reduces and len(bands) > 1:
        splits = tuple(map(_write_name, _name_split(facts, bands)))
    plain = schedule.collective.split("+")[-1].replace("_", "-")
    for what, first, last in bands:
        if len(bands) == 1 or not kind.reduces:
            label = repeat_text(plain)
        elif what == BOTH:
            label = build_text("timeline", "phases.both", first=splits[0], second=splits[1])
        else:
            label = splits[what == COPIES]
        phases.append(Phase(label, first, last, what != COPIES))
    return phases


def _write_name(name: str) -> Text:
    """A part of an algorithm in every language; collectives have one name in all of them."""
    if has_text("timeline", f"phases.{name}"):
        return build_text("timeline", f"phases.{name}")
    return repeat_text(name)


def _find_bands(schedule: Schedule) -> list[tuple[str, int, int]]:
    """Runs of steps that all add, all copy, or do both."""
    bands: list[tuple[str, int, int]] = []
    number = 0
    for p in schedule.patterns:
        if p.reduce.all():
            what = ADDS
        elif p.reduce.any():
            what = BOTH
        else:
            what = COPIES
        if bands and bands[-1][0] == what:
            bands[-1] = (what, bands[-1][1], number + p.times - 1)
        else:
            bands.append((what, number, number + p.times - 1))
        number += p.times
    return bands


def _name_split(facts: RunFacts, bands: list[tuple[str, int, int]]) -> tuple[str, str]:
    """What the part that adds and the part that copies are called."""
    entry = find_schedule_algorithm(facts.trace.schedule)
    declared = None
    if entry is not None:
        declared = entry.phases
    return declared or _name_split_by_sums(facts, bands)


def _name_split_by_sums(facts: RunFacts, bands: list[tuple[str, int, int]]) -> tuple[str, str]:
    """`reduce-scatter, allgather`, `reduce, broadcast`, `reduce, copy` or `push, pull`: by where the sums are when
    they are finished."""
    schedule = facts.trace.schedule
    kind = get_collective(schedule.collective)
    after = {"all": "allgather", "root": "gather", "own": "scatter"}.get(kind.after, "copy")
    if schedule.endpoints > schedule.ranks and schedule.helpers_on == "host":
        return "push", "pull"
    # What is copied before anything was added is no finished sum: a rank program's ring passes blocks on, for example.
    if bands[0][0] == COPIES:
        return "reduce", "copy"
    if any(what == BOTH for what, _, _ in bands):
        return "reduce", "broadcast"
    finished = facts.moments[bands[0][2]].finished
    if finished.max() == schedule.chunks and schedule.ranks > 2:
        if _has_fan_in(schedule) and schedule.endpoints == schedule.ranks:
            return ("push", "pull")
        return ("reduce", "broadcast")
    return "reduce-scatter", after


def _has_fan_in(schedule: Schedule) -> bool:
    """Does somebody receive from all others in one step?"""
    for p in schedule.patterns:
        pairs = np.unique(p.dst[p.reduce].astype(np.int64) * schedule.endpoints + p.src[p.reduce])
        if len(pairs) and np.bincount(pairs // schedule.endpoints).max() >= schedule.ranks - 1:
            return True
    return False
