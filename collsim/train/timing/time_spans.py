"""Times as spans (begin, end), in order and without overlap: union, intersection, difference."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter

from ..workload.step_graph import Spans


def insert_span(busy: Spans, start: float, end: float) -> None:
    """Insert a span into spans in order that do not overlap.

    Args:
        busy: The spans, which are changed.
        start: Begin of the new span in s.
        end: End of the new span in s.
    """
    if not busy or busy[-1][1] < start:  # the usual case
        busy.append((start, end))
        return
    after: Spans = []
    while busy and busy[-1][0] > end:
        after.append(busy.pop())
    while busy and busy[-1][1] >= start:
        a, b = busy.pop()
        start, end = min(start, a), max(end, b)
    busy.append((start, end))
    busy += reversed(after)


def find_slowed_end(start: float, work: float, busy: Sequence[tuple[float, float]], interference: float) -> float:
    """Find when a computation ends that slows down while data are sent.

    Args:
        start: Begin in s.
        work: Seconds that it takes if nothing slows it.
        busy: Spans in order in which it is slower.
        interference: Share of the speed that is lost in them, 0 to 1.

    Returns:
        The end in s.
    """
    if not work:
        return start
    # Spans are in order and mostly long past: the search runs back from the end.
    first = len(busy)
    while first and busy[first - 1][1] > start:
        first -= 1
    now, work_left, rate = start, work, 1.0 - interference
    for a, b in busy[first:]:
        if work_left <= a - now:
            break
        work_left -= max(0.0, a - now)
        now = max(now, a)
        # Within a span work goes on at the reduced rate, so what is left takes longer.
        if work_left <= (b - now) * rate:
            return now + work_left / rate
        work_left -= (b - now) * rate
        now = b
    return now + work_left


def merge_spans(spans: Sequence[tuple[float, float]]) -> Spans:
    """Merge spans that touch.

    Args:
        spans: (begin, end) in s, in any order.

    Returns:
        The same times as spans in order that do not touch.
    """
    merged: Spans = []
    for a, b in sorted(spans):
        if merged and a <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], b)
        elif b > a:
            merged.append((a, b))
    return merged


def measure_spans(spans: Sequence[tuple[float, float]]) -> float:
    """Seconds of spans that do not overlap."""
    return sum(b - a for a, b in spans)


def intersect_spans(first: Sequence[tuple[float, float]], second: Sequence[tuple[float, float]]) -> Spans:
    """Find the times in both of two lists of spans.

    Args:
        first: Spans in order that do not overlap.
        second: Likewise.

    Returns:
        The times in both, as spans in order.
    """
    common: Spans = []
    if second:
        i = _find_first_after(first, second[0][0])
    else:
        i = len(first)
    if first:
        j = _find_first_after(second, first[0][0])
    else:
        j = len(second)
    # Two ordered lists are walked like a merge: the one that ends first moves on.
    while i < len(first) and j < len(second):
        a, b = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        if b > a:
            common.append((a, b))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return common


def _find_first_after(spans: Sequence[tuple[float, float]], moment: float) -> int:
    """The first span that ends after a moment."""
    return bisect_right(spans, moment, key=itemgetter(1))


def subtract_spans(spans: Sequence[tuple[float, float]], removed: Sequence[tuple[float, float]]) -> Spans:
    """Find the times in one list of spans that are not in another.

    Args:
        spans: Spans in order that do not overlap.
        removed: Likewise.

    Returns:
        What is left, as spans in order.
    """
    remaining: Spans = []
    first = 0
    for a, b in spans:
        # Both lists are in order, so the search goes on where the last one ended.
        first = bisect_right(removed, a, lo=first, key=itemgetter(1))
        position = a
        for number in range(first, len(removed)):
            c, d = removed[number]
            if c >= b:
                break
            if c > position:
                remaining.append((position, c))
            position = d
        if position < b:
            remaining.append((position, b))
    return remaining
