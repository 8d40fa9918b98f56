"""Times in which something goes on, as spans (begin, end) in order that do not overlap."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter

from ..workload.step_graph import Spans


def insert_span(busy: Spans, start: float, end: float) -> None:
    """One more span to spans in order that do not overlap."""
    after: Spans = []
    while busy and busy[-1][0] > end:
        after.append(busy.pop())
    while busy and busy[-1][1] >= start:
        a, b = busy.pop()
        start, end = min(start, a), max(end, b)
    busy.append((start, end))
    busy += reversed(after)


def find_slowed_end(start: float, work: float, busy: Sequence[tuple[float, float]], interference: float) -> float:
    """When `work` seconds of computing end that begin at `start`, if in the spans of `busy` (in order) they go by
    `interference` slower."""
    if not work:
        return start
    first = len(busy)
    while first and busy[first - 1][1] > start:
        first -= 1
    at, left, rate = start, work, 1.0 - interference
    for a, b in busy[first:]:
        if left <= a - at:
            break
        left -= max(0.0, a - at)
        at = max(at, a)
        if left <= (b - at) * rate:
            return at + left / rate
        left -= (b - at) * rate
        at = b
    return at + left


def merge_spans(spans: Sequence[tuple[float, float]]) -> Spans:
    """The same times as spans that do not touch."""
    out: Spans = []
    for a, b in sorted(spans):
        if out and a <= out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], b)
        elif b > a:
            out.append((a, b))
    return out


def measure_spans(spans: Sequence[tuple[float, float]]) -> float:
    """Seconds of spans that do not overlap."""
    return sum(b - a for a, b in spans)


def intersect_spans(one: Sequence[tuple[float, float]], other: Sequence[tuple[float, float]]) -> Spans:
    """The times in both of two lists of spans that do not overlap, in order."""
    out: Spans = []
    i = _first_after(one, other[0][0]) if other else len(one)
    j = _first_after(other, one[0][0]) if one else len(other)
    while i < len(one) and j < len(other):
        a, b = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if b > a:
            out.append((a, b))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return out


def _first_after(spans: Sequence[tuple[float, float]], moment: float) -> int:
    """The first span that ends after a moment."""
    return bisect_right(spans, moment, key=itemgetter(1))


def subtract_spans(one: Sequence[tuple[float, float]], other: Sequence[tuple[float, float]]) -> Spans:
    """The times in `one` that are not in `other`; neither list overlaps itself, both are in order."""
    out: Spans = []
    first = 0
    for a, b in one:
        first = bisect_right(other, a, lo=first, key=itemgetter(1))
        at = a
        for number in range(first, len(other)):
            c, d = other[number]
            if c >= b:
                break
            if c > at:
                out.append((at, c))
            at = d
        if at < b:
            out.append((at, b))
    return out
