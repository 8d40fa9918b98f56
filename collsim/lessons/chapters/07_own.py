"""Beat the ring where the wiring allows it, and see what the checker says when something goes wrong."""

from __future__ import annotations

import numpy as np

from ...replay import replay
from ...teach import break_it, list_exercises
from ...topology import machine, ring
from ...units import format_time
from ..lesson import Lesson, RunFacts, Section, build_facts, choice, simulate_algorithm


def _build_own_facts() -> RunFacts:
    dgx1 = machine("dgx-1v")
    one_ring, two_rings, six_rings = (simulate_algorithm("allgather_ring", dgx1, channels=count) for count in (1, 2, 6))
    within = list_exercises()["dgx-1-allgather"].task.within
    return build_facts(
        six_rings,
        one=one_ring,
        two=two_rings,
        six=six_rings,
        bound=format_time(six_rings.bound.time),
        within=f"{within:g}",
    )


def _build_broken_facts() -> RunFacts:
    good = simulate_algorithm("allreduce_ring", ring(4, bandwidth="25GB/s", alpha="1us"))
    lost, twice = (
        [break_it(good, how, seed=3, language=language) for language in ("en", "zh")] for how in ("lose", "repeat")
    )
    trace = lost[0].trace
    assert trace is not None  # a schedule without one of its sends is still a schedule
    n = good.schedule.ranks
    ends = replay(trace.schedule, np.ones((n, n), np.int64))
    return build_facts(
        trace,
        n=n,
        wrong=int((ends != n).any(axis=1).sum()),
        lost=(lost[0].what, lost[1].what),
        lost_says=(lost[0].says, lost[1].says),
        twice=(twice[0].what, twice[1].what),
        twice_says=(twice[0].says, twice[1].says),
    )


LESSON = Lesson(
    title=("Write your own algorithm, and beat the ring", "自己写算法，超过 ring"),
    notebook="07-write-your-own",
    exercises=("dgx-1-allgather", "alltoall-pairwise"),
    sections=(
        Section(
            "own",
            _build_own_facts,
            title=("As near to the bound as the wiring allows", "接线允许的范围内逼近下界"),
            before=(
                (
                    "A bound says what no schedule can beat on a network. For an allgather of {one.size} on a DGX-1 "
                    "with {one.ranks} V100 it is {bound}: what must come into each GPU, over all of its NVLinks at "
                    "once.",
                    "下界说明在某个网络上任何调度都不可能更快。在有 {one.ranks} 块 V100 的 DGX-1 上做 {one.size} 的 "
                    "allgather，下界是 {bound}：每块 GPU 必须收到的数据，同时经过它的全部 NVLink。",
                ),
                (
                    "One ring takes {one.time}, {one.gap} times the bound: it uses few of the links. Two rings, each "
                    "with half of every block, take {two.time}.",
                    "一个环需 {one.time}，是下界的 {one.gap} 倍：它只用了少数链路。两个环各传每块的一半，需 "
                    "{two.time}。",
                ),
            ),
            ask=(
                "{six.channels} rings, each with an order of its own: how near do they come to the bound?",
                "{six.channels} 个环，各有自己的次序：能离下界多近？",
            ),
            choices=(
                choice(
                    ("{one.gap} times the bound", "下界的 {one.gap} 倍"),
                    (
                        "That is one ring; others go over links that it leaves idle.",
                        "那是一个环；其他的环走的是它闲置的链路。",
                    ),
                ),
                choice(
                    ("{two.gap} times the bound", "下界的 {two.gap} 倍"),
                    (
                        "Two rings come so far, and there are still links that carry nothing.",
                        "两个环就能做到，而且仍有链路没有流量。",
                    ),
                ),
                choice(
                    ("{six.gap} times the bound", "下界的 {six.gap} 倍"),
                    (
                        "Every NVLink carries a ring in each direction; what is left is latency.",
                        "每条 NVLink 的每个方向都有一个环；剩下的只是延迟。",
                    ),
                ),
            ),
            right=2,
            explanation=(
                "{six.time} against {bound}. The orders of the rings are those in which neighbours have a free NVLink.",
                "{six.time}，而下界是 {bound}。各环的次序使相邻的 GPU 之间总有空闲的 NVLink。",
            ),
            after=(
                (
                    "Write it yourself, in the notebook or on the page Write: a schedule is a function that yields "
                    "steps, and the checker says which rank is wrong first. The exercise asks for {within} of the "
                    "bound.",
                    "自己写一个，在 notebook 或“编写”页都可以：调度就是一个 yield 各步的函数，检查器会说出第一个出错的 "
                    "rank。练习要求不超过下界的 {within} 倍。",
                ),
            ),
        ),
        Section(
            "broken",
            _build_broken_facts,
            title=("Break it", "弄坏它"),
            before=(
                (
                    "{lost} The picture plays the ring without it. Find the rank that goes without, and follow what it "
                    "spoils.",
                    "{lost}图中播放的就是少了它的 ring。找出缺了数据的 rank，看看它接着破坏了什么。",
                ),
            ),
            ask=(
                "On how many of the {n} ranks is a sum wrong at the end?",
                "最后，{n} 个 rank 中有几个的和是错的？",
            ),
            choices=(
                choice(
                    "1",
                    (
                        "The rank that waits for it passes on what it has instead, and the next one keeps that.",
                        "没收到的 rank 会把手里的旧值继续传下去，下一个 rank 就留下了它。",
                    ),
                ),
                choice(
                    "{wrong}",
                    (
                        "The one that goes without, and all to whom it hands the chunk on.",
                        "没收到的那个，以及从它那里得到这个 chunk 的所有 rank。",
                    ),
                ),
                choice(
                    "{n}",
                    (
                        "Those before it on the way had the finished chunk already.",
                        "在它之前的 rank 已经拿到了完成的 chunk。",
                    ),
                ),
            ),
            right=1,
            explanation=(
                "The checker counts every contribution: {lost_says}",
                "检查器会清点每一份贡献：{lost_says}",
            ),
            after=(("{twice} Then: {twice_says}", "{twice}结果：{twice_says}"),),
            view="logical",
        ),
    ),
)
