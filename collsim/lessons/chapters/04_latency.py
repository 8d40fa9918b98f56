"""Few steps or few bytes: recursive doubling, trees, and trees that are pipelined and doubled."""

from __future__ import annotations

import numpy as np

from ...units import format_time
from ..lesson import (
    Lesson,
    LessonFacts,
    Section,
    build_facts,
    build_switch,
    find_last_send,
    format_ratio,
    simulate_algorithm,
)

_RING, _TREE, _DOUBLING = "allreduce_ring", "allreduce_tree", "allreduce_recursive_doubling"


def _build_latency_facts() -> LessonFacts:
    small, fast = (simulate_algorithm(name, build_switch(), "1KiB") for name in (_RING, _DOUBLING))
    big, slow = (simulate_algorithm(name, build_switch()) for name in (_RING, _DOUBLING))
    return build_facts(
        fast,
        ring=small,
        doubling=fast,
        ring_big=big,
        doubling_big=slow,
        gains=format_ratio(small, fast),
        loses=format_ratio(slow, big),
        saved=format_time(small.time - fast.time),
    )


def _build_tree_facts() -> LessonFacts:
    ring, tree = (simulate_algorithm(name, build_switch(8), "1KiB") for name in (_RING, _TREE))
    ring64, tree64 = (simulate_algorithm(name, build_switch(64), "1KiB") for name in (_RING, _TREE))
    ring_big, tree_big = (simulate_algorithm(name, build_switch(8)) for name in (_RING, _TREE))
    gained = (ring64.schedule.steps - ring.schedule.steps) / (ring64.schedule.ranks - ring.schedule.ranks)
    return build_facts(
        tree,
        ring=ring,
        tree=tree,
        ring64=ring64,
        tree64=tree64,
        ring_big=ring_big,
        tree_big=tree_big,
        gained=f"{gained:g}",
        step=format_time(ring64.time / ring64.schedule.steps),
        faster=format_ratio(ring, tree),
        faster64=format_ratio(ring64, tree64),
    )


def _build_pipeline_facts() -> LessonFacts:
    tree, double_tree = (
        simulate_algorithm(name, build_switch(), chunks=16) for name in (_TREE, "allreduce_double_binary_tree")
    )
    least = tree.sent_bytes.min() / tree.nbytes
    rows = double_tree.schedule.transfers
    in_first = rows[rows["chunk"] % 2 == 0]  # chunks go over the two trees in turn
    sent = np.bincount(in_first["src"], weights=double_tree.slot_bytes[in_first["chunk"]]) / double_tree.nbytes
    return build_facts(
        double_tree,
        one=tree,
        two=double_tree,
        leaf=f"{least:.4g}",
        inner_half=f"{sent.max():.4g}",
        leaf_half=f"{sent.min():.4g}",
        answer_step=find_last_send(double_tree),
    )


LESSON = Lesson(
    notebook="04-latency-and-bandwidth",
    exercises=("broadcast-tree", "recursive-doubling", "halving-doubling", "pipelined-chain"),
    sections=(
        Section("latency", _build_latency_facts, right=1, view="logical"),
        Section("trees", _build_tree_facts, right=1, view="logical"),
        Section("pipelined", _build_pipeline_facts, right=1, view="logical"),
    ),
)
