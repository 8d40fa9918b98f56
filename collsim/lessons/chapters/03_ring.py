"""Reduce-scatter, then allgather, and what each rank sends: 2K(N-1)/N."""

from __future__ import annotations

from ...topology import ring
from ...units import format_bytes, format_time
from ...verify import list_contributions
from ..lesson import Lesson, RunFacts, Section, build_facts, build_switch, choice, simulate_algorithm


def _build_step_facts() -> RunFacts:
    t = simulate_algorithm("allreduce_ring", ring(8, bandwidth="25GB/s", alpha="1us"))
    n = t.schedule.ranks
    steps = [step for r in range(n) for step, terms in list_contributions(t.schedule, r, 0) if len(terms) == n]
    return build_facts(t, t=t, n=n, others=n - 1, full=min(steps) + 1, half=n // 2, half_held=n // 2 + 1)


def _build_volume_facts() -> RunFacts:
    runs = [simulate_algorithm("allreduce_ring", build_switch(n)) for n in (2, 4, 8, 16, 64)]
    t, last = runs[2], runs[-1]
    share = [r.sent_bytes.max() / r.nbytes for r in runs]
    rows = tuple(
        (
            str(r.schedule.ranks),
            str(r.schedule.steps),
            format_bytes(int(r.sent_bytes.max())),
            f"{s:.4g}",
            format_time(r.time),
        )
        for r, s in zip(runs, share, strict=True)
    )
    grown, more = f"{share[-1] / share[2]:.3g}", last.schedule.ranks // t.schedule.ranks
    return build_facts(t, rows, t=t, last=last, grown=grown, more=more)


_RING = Section(
    "ring",
    _build_step_facts,
    title=("Step by step", "一步一步看"),
    before=(
        (
            "A ring of {n} ranks, {t.steps} steps in all. First every rank adds what comes from its left and passes "
            "the sum on: reduce-scatter. Then the finished chunks go round: allgather. Count who has been added.",
            "{n} 个 rank 的环，共 {t.steps} 步。先是每个 rank 把左边来的加上再传下去：reduce-scatter。然后完成的 chunk "
            "绕环一圈：allgather。数一数已经加了谁。",
        ),
    ),
    ask=(
        "After which step does some rank hold the first finished sum?",
        "在第几步之后，第一次有 rank 得到完整的和？",
    ),
    choices=(
        choice(
            ("step {half}", "第 {half} 步"),
            ("Then it holds {half_held} of {n} contributions.", "那时只有 {n} 份贡献中的 {half_held} 份。"),
        ),
        choice(
            ("step {full}", "第 {full} 步"),
            ("Here reduce-scatter ends and allgather begins.", "reduce-scatter 到此结束，allgather 开始。"),
        ),
        choice(
            ("step {n}", "第 {n} 步"),
            (
                "One less: a rank adds {others} others to its own.",
                "少一步：自己的一份之外，只需加 {others} 份。",
            ),
        ),
        choice(
            ("step {t.steps}", "第 {t.steps} 步"),
            (
                "Then every rank holds every sum; the first comes much earlier.",
                "那时所有 rank 都有了全部的和；第一个要早得多。",
            ),
        ),
    ),
    right=1,
    explanation=(
        "A chunk starts with 1 contribution and gains one in each step: after {full} steps it has all {n}. Then it is "
        "only copied.",
        "每个 chunk 起初只有 1 份贡献，每步增加一份：{full} 步后集齐 {n} 份。此后只需复制。",
    ),
    after=(
        (
            "Each rank sends {t.sent} in {t.steps} steps: {t.share} of its buffer, 2(n-1)/n for n = {n}. It takes "
            "{t.time}.",
            "每个 rank 在 {t.steps} 步里发送 {t.sent}：缓冲区的 {t.share} 倍，即 n = {n} 时的 2(n-1)/n。"
            "耗时 {t.time}。",
        ),
    ),
    view="logical",
)

_VOLUME = Section(
    "volume",
    _build_volume_facts,
    title=("2K(N−1)/N", "2K(N−1)/N"),
    before=(
        (
            "The buffer of K = {t.size} is cut into N chunks. In reduce-scatter a rank sends N−1 of them, in allgather "
            "N−1 again: 2K(N−1)/N bytes out, and as many in.",
            "大小为 K = {t.size} 的缓冲区切成 N 个 chunk。reduce-scatter 中每个 rank 发送 N−1 个，allgather 中又是 "
            "N−1 个：共发出 2K(N−1)/N 字节，收到的也一样多。",
        ),
        (
            "For N = {t.ranks} that is {t.sent}. No allreduce without help from the network can send less from its "
            "busiest rank.",
            "N = {t.ranks} 时为 {t.sent}。没有网络设备帮忙时，任何 allreduce 中最忙的 rank 都不可能发得更少。",
        ),
    ),
    ask=(
        "From {t.ranks} to {last.ranks} ranks, same K: how much more does each rank send?",
        "K 不变，从 {t.ranks} 个增加到 {last.ranks} 个 rank：每个 rank 多发多少？",
    ),
    choices=(
        choice(
            ("{more} times as much", "{more} 倍"),
            (
                "That is what a parameter server's cable feels, not a rank of a ring.",
                "那是参数服务器线缆的感受，不是 ring 中的 rank。",
            ),
        ),
        choice(
            ("{grown} times as much", "{grown} 倍"),
            (
                "More ranks, but smaller chunks: (N−1)/N hardly changes.",
                "rank 更多，但 chunk 更小：(N−1)/N 几乎不变。",
            ),
        ),
        choice(
            ("1/{more} as much", "1/{more}"),
            (
                "Each chunk is that much smaller, but there are as many more of them.",
                "每个 chunk 确实小了这么多，但个数也多了这么多。",
            ),
        ),
    ),
    right=1,
    explanation=(
        "{t.share} K becomes {last.share} K: it never reaches 2 K. What does grow is the number of steps.",
        "从 {t.share} K 变为 {last.share} K：永远到不了 2 K。真正增长的是步数。",
    ),
    table=(
        (
            ("ranks N", "rank 数 N"),
            ("steps", "步数"),
            ("each sends", "每个发送"),
            ("of K", "相对 K"),
            ("time", "时间"),
        ),
    ),
    view="logical",
)

LESSON = Lesson(
    title=("The ring, step by step", "一步一步看 ring"),
    notebook="03-ring-step-by-step",
    exercises=("mend-the-sketch", "ring-reduce-scatter", "ring-allgather", "ring-allreduce"),
    sections=(_RING, _VOLUME),
)
