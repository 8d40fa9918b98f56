"""One heap for all that has to be taken in order: seats by the time of their next event, links by the rate at which
they may fill.

Each has four below it, which lie together: half the levels of two, and the least of the four is found without a branch,
which the processor would guess wrong half the time. Behind the last is always room for four more, their keys endless.
Item i stands in place `heap[i]["position"]`, -1 where it is not in the heap; `counters[which]` is how many are.
"""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import numpy as np

from ...dtypes import Longs
from .kernel_records import HEAP, Heap, compile_inlined, compile_inner


def build_heap(items: int) -> Heap:
    """A heap for that many items, with none in it."""
    heap = np.zeros(items + 4, HEAP)
    heap["key"], heap["position"] = np.inf, -1
    return heap


@compile_inner
def _move_up(heap: Heap, i: int, key: float, item: int) -> None:
    """Put an item in place i, and let it rise to where it belongs."""
    while i > 0:
        up = (i - 1) >> 2
        above = heap[up]["key"]
        if above <= key:
            break
        other = heap[up]["item"]
        heap[i]["key"] = above
        heap[i]["item"] = other
        heap[other]["position"] = i
        i = up
    heap[i]["key"] = key
    heap[i]["item"] = item
    heap[item]["position"] = i


@compile_inner
def _move_down(heap: Heap, n: int, i: int, key: float, item: int) -> None:
    """Put an item in place i of n, and let it sink to where it belongs."""
    heap[i]["key"] = key
    bits = heap[i]["bits"]
    # Four children a node: a heap half as high as a binary one, whose four keys lie in one cache line.
    below = 4 * i + 1
    while below < n:
        # Keys are compared as integers (`bits`), without branches that the processor would guess wrong.
        first, second = heap[below]["bits"], heap[below + 1]["bits"]
        third, fourth = heap[below + 2]["bits"], heap[below + 3]["bits"]
        left, right = below + (second < first), below + 2 + (fourth < third)
        low, high = min(first, second), min(third, fourth)
        down = right if high < low else left
        least = min(low, high)
        if least >= bits:
            break
        other = heap[down]["item"]
        heap[i]["bits"] = least
        heap[i]["item"] = other
        heap[other]["position"] = i
        i = down
        below = 4 * i + 1
    heap[i]["bits"] = bits
    heap[i]["item"] = item
    heap[item]["position"] = i


@compile_inner
def push(heap: Heap, counters: Longs, which: int, key: float, item: int) -> None:
    """Give an `item` this `key`, in the heap or not; `which` is the counter of how many are in it."""
    i = heap[item]["position"]
    if i >= 0 and key >= heap[i]["key"]:
        _move_down(heap, counters[which], i, key, item)
        return
    if i < 0:
        i = counters[which]
        counters[which] += 1
    _move_up(heap, i, key, item)


@compile_inner
def drop(heap: Heap, counters: Longs, which: int, item: int) -> None:
    """Take an `item` out, wherever it is; `which` is the counter of how many are in the heap."""
    i = heap[item]["position"]
    if i < 0:
        return
    heap[item]["position"] = -1
    n = counters[which] - 1
    counters[which] = n
    key, last = heap[n]["key"], heap[n]["item"]
    # What lies behind the last item must lose every comparison: `_move_down` reads four without asking how many there
    # are.
    heap[n]["key"] = np.inf
    if i < n:
        if i > 0 and heap[(i - 1) >> 2]["key"] > key:
            _move_up(heap, i, key, last)
        else:
            _move_down(heap, n, i, key, last)


@compile_inlined
def find_second(heap: Heap) -> int:
    """The place of the item that follows the first."""
    left = 1 + (heap[2]["key"] < heap[1]["key"])
    right = 3 + (heap[4]["key"] < heap[3]["key"])
    return left + (right - left) * (heap[right]["key"] < heap[left]["key"])
