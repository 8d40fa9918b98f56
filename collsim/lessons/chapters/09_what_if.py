"""What a better cable would buy, what a cut one costs, and what one slow rank does to the others."""

from __future__ import annotations

from ...simulate import Trace, simulate
from ...topology import line, machine, ring
from ..lesson import Lesson, RunFacts, Section, build_facts, build_switch, choice, format_ratio, simulate_algorithm


def _format_saving(base: Trace, kind: str) -> str:
    """What doubling a kind of link saves, in percent."""
    faster = simulate(base.schedule, base.topology.scaled(kind=kind, by=2), base.nbytes)
    return f"{100 * (1 - faster.time / base.time):.3g}"


def _build_whatif_facts() -> RunFacts:
    base = simulate_algorithm("allreduce_ring", machine("dgx-a100", nodes=2), "256MiB", channels=8)
    whole, cut = (simulate_algorithm("allreduce_ring", net(8, bandwidth="25GB/s", alpha="1us")) for net in (ring, line))
    even = simulate_algorithm("allreduce_ring", build_switch())
    slow = simulate(even.schedule, even.topology, even.nbytes, engine="event", slow={3: 2})
    fast = simulate(even.schedule, even.topology, even.nbytes, engine="event")
    saved = {kind: _format_saving(base, kind) for kind in ("infiniband", "nvlink")}
    return build_facts(base, base=base, whole=whole, cut=cut, even=even, saved=saved, slower=format_ratio(slow, fast))


LESSON = Lesson(
    title=("What if", "假如……会怎样"),
    notebook="09-what-if",
    exercises=("around-the-slow-cable",),
    sections=(
        Section(
            "what-if",
            _build_whatif_facts,
            before=(
                (
                    "What would a better cable buy, what does a broken one cost? Change the network, run again, "
                    "compare: nothing here needs a GPU.",
                    "换更好的线缆能省多少，线缆断了又要多花多少？改网络、重新运行、比较：这里的一切都不需要 GPU。",
                ),
                (
                    "Two DGX A100, {base.channels} channels, {base.size}: {base.time}. Look at which links are busy "
                    "before you answer.",
                    "两台 DGX A100、{base.channels} 个 channel、{base.size}：{base.time}。回答之前，先看看哪些链路在"
                    "忙。",
                ),
            ),
            ask=(
                "Every InfiniBand cable twice as fast: how much less time?",
                "所有 InfiniBand 线缆都快一倍：省多少时间？",
            ),
            choices=(
                choice(
                    "50 %",
                    (
                        "So it would be if nothing else took any time; the PCIe cables beside it are nearly as busy.",
                        "只有其他部分都不花时间才会这样；旁边的 PCIe 线缆几乎一样忙。",
                    ),
                ),
                choice(
                    "{saved[infiniband]} %",
                    (
                        "It is the bottleneck, but only until the next link is.",
                        "它是瓶颈，但只到下一条链路成为瓶颈为止。",
                    ),
                ),
                choice(
                    "{saved[nvlink]} %",
                    (
                        "That is what faster NVLink would save: it waits for the network anyway.",
                        "那是 NVLink 加倍能省的：它本来就在等网络。",
                    ),
                ),
            ),
            right=1,
            explanation=(
                "Doubling InfiniBand saves {saved[infiniband]} %, doubling NVLink {saved[nvlink]} %.",
                "InfiniBand 加倍可省 {saved[infiniband]} %，NVLink 加倍可省 {saved[nvlink]} %。",
            ),
            after=(
                (
                    "A ring network of {whole.ranks} with one cable cut takes {cut.time} instead of {whole.time}: the "
                    "cables are full duplex, so the way back was free, and only latency is added.",
                    "{whole.ranks} 个 rank 的环形网络断掉一条线缆，需 {cut.time}，而不是 {whole.time}："
                    "线缆是全双工的，回程本来就空着，只多了延迟。",
                ),
                (
                    "One rank of {even.ranks} with cables half as fast makes it take {slower} times as long, also "
                    "without a barrier: everybody waits for the slow one in the end.",
                    "{even.ranks} 个 rank 中有一个的线缆只有一半速度，时间就是原来的 {slower} 倍，没有同步屏障也一样："
                    "大家最后都在等那个慢的。",
                ),
            ),
        ),
    ),
)
