"""The lessons as pages: a short text whose numbers come from its run, the run in the player, and questions about it.

Every text is a function of runs; no number is typed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..registry import schedule
from ..simulate import Trace, simulate
from ..teach.breaking import break_it
from ..topology import Topology, machine, ring, switch
from ..units import format_bytes, format_time

Text = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Lesson:
    """A page: title, paragraphs in both languages, and the run that it shows (`view`: how the player begins)."""

    key: str
    title: Text
    paragraphs: tuple[Text, ...]
    trace: Trace
    view: str = "physical"
    seed: int = 1


def _on(name: str, topology: Topology, nbytes: str = "64MiB", **options: Any) -> Trace:
    return simulate(schedule(name, topology=topology, **options), topology, nbytes)


def _switch(n: int = 8) -> Topology:
    return switch(n, bandwidth="25GB/s", alpha="1us")


def _times(a: Trace, b: Trace) -> str:
    return f"{a.time / b.time:.3g}"


def collective() -> Lesson:
    t = _on("allreduce_ring", ring(4, bandwidth="25GB/s", alpha="1us"))
    s = t.schedule
    return Lesson(
        "collective",
        ("What a collective is", "什么是集合通信"),
        (
            (
                f"{s.ranks} ranks each hold {format_bytes(t.nbytes)}. After an allreduce every rank holds the sum. "
                "Nothing else is promised: how the data get there is the algorithm's business.",
                f"{s.ranks} 个 rank 各持有 {format_bytes(t.nbytes)}。allreduce 之后，每个 rank 都持有总和。"
                "除此之外没有任何承诺：数据怎么走是算法的事。",
            ),
            (
                f"Here a ring does it: the buffer is cut into {s.chunks} chunks, which move in {s.steps} steps. "
                "Press play, or step with the arrow keys. A square adds on arrival, a circle replaces.",
                f"这里用 ring 来做：缓冲区切成 {s.chunks} 个 chunk，分 {s.steps} 步移动。按播放键，"
                "或用方向键逐步看。方块到达后相加，圆点到达后覆盖。",
            ),
        ),
        t,
        "logical",
    )


def server() -> Lesson:
    t, other = _on("allreduce_parameter_server", _switch()), _on("allreduce_ring", _switch())
    hot = format_bytes(int(t.link_bytes.max()))
    return Lesson(
        "server",
        ("The parameter server and its hot link", "参数服务器与它的热点链路"),
        (
            (
                f"Rank 0 collects everything and hands the sum out: {t.schedule.steps} steps, "
                f"{format_time(t.time)}. Every worker sends {format_bytes(int(t.sent_bytes[1]))}. But {hot} go into "
                "the server's cable, and as much comes out of it.",
                f"rank 0 收集所有数据再发回总和：{t.schedule.steps} 步，{format_time(t.time)}。每个 worker 发送 "
                f"{format_bytes(int(t.sent_bytes[1]))}。但服务器那条线缆要进 {hot}，再出同样多。",
            ),
            (
                f"A ring on the same switch takes {format_time(other.time)}, {_times(t, other)} times less, because "
                "all cables share the work.",
                f"同一台交换机上的 ring 只需 {format_time(other.time)}，速度是服务器的 {_times(t, other)} 倍，"
                "因为所有线缆分担了工作。",
            ),
        ),
        t,
        seed=2,
    )


def the_ring() -> Lesson:
    t = _on("allreduce_ring", ring(8, bandwidth="25GB/s", alpha="1us"))
    n, share = t.schedule.ranks, f"{t.sent_bytes.max() / t.nbytes:.4g}"
    return Lesson(
        "ring",
        ("The ring, step by step", "一步一步看 ring"),
        (
            (
                f"In the first {n - 1} steps every rank adds what comes from its left and passes the sum on: "
                f"reduce-scatter. In the last {n - 1} the finished chunks go round: allgather.",
                f"前 {n - 1} 步里，每个 rank 把左边来的加上再传下去：reduce-scatter。后 {n - 1} 步里，完成的 chunk "
                "绕环一圈：allgather。",
            ),
            (
                f"Each rank sends {format_bytes(int(t.sent_bytes.max()))} in {t.schedule.steps} steps: {share} of "
                f"its buffer, 2(n-1)/n for n = {n}. It takes {format_time(t.time)}.",
                f"每个 rank 在 {t.schedule.steps} 步里发送 {format_bytes(int(t.sent_bytes.max()))}：缓冲区的 "
                f"{share} 倍，即 n = {n} 时的 2(n-1)/n。耗时 {format_time(t.time)}。",
            ),
        ),
        t,
        "logical",
        3,
    )


def latency() -> Lesson:
    small, fast = _on("allreduce_ring", _switch(), "1KiB"), _on("allreduce_recursive_doubling", _switch(), "1KiB")
    return Lesson(
        "latency",
        ("Latency against bandwidth", "延迟与带宽"),
        (
            (
                f"For 1 KiB the ring needs {format_time(small.time)}: {small.schedule.steps} steps, each with its "
                f"latency. Recursive doubling has {fast.schedule.steps} steps and takes {format_time(fast.time)}.",
                f"传 1 KiB 时，ring 需要 {format_time(small.time)}：{small.schedule.steps} 步，每步都要付延迟。"
                f"递归倍增只有 {fast.schedule.steps} 步，耗时 {format_time(fast.time)}。",
            ),
            (
                "It sends the whole buffer in every step, so for large buffers it loses. Try other sizes in the app "
                "or in a notebook.",
                "但它每一步都发送整个缓冲区，所以数据大时就输了。可以在应用或 notebook 中试试其他大小。",
            ),
        ),
        fast,
        "logical",
        4,
    )


def _through_memory(t: Trace) -> int:
    """How many hops of a ring over all ranks pass host memory."""
    n, links = t.schedule.ranks, t.topology.links
    hops = t.topology.routes(list(range(n)), [(rank + 1) % n for rank in range(n)])
    return sum(any(links.kind(k) == "memory" for k in hops[rank]) for rank in range(n))


def staging() -> Lesson:
    on, off = (_on("allreduce_ring", machine("pcie-8gpu-single-root", p2p=p2p)) for p2p in (True, False))
    hops = [len(t.topology.routes([0], [1])[0]) for t in (on, off)]
    loaded = [int((t.link_bytes > 0).sum()) for t in (on, off)]
    dual = _on("allreduce_ring", machine("pcie-8gpu"))
    n, through = dual.schedule.ranks, _through_memory(dual)
    return Lesson(
        "staging",
        ("Inside the box: P2P against staging", "机箱之内：P2P 与主机中转"),
        (
            (
                f"Without GPUDirect P2P a chunk from GPU 0 to GPU 1 goes through host memory: {hops[1]} links "
                f"instead of {hops[0]}.",
                f"不启用 GPUDirect P2P 时，从 GPU 0 到 GPU 1 的 chunk 要绕行主机内存：{hops[1]} 条链路，而不是 "
                f"{hops[0]} 条。",
            ),
            (
                f"The ring takes {format_time(off.time)} instead of {format_time(on.time)}, {_times(off, on)} times "
                f"as long, and loads {loaded[1]} links instead of {loaded[0]}: host memory, and the one cable to it "
                "that all hops share.",
                f"ring 需要 {format_time(off.time)}，而不是 {format_time(on.time)}，是后者的 {_times(off, on)} 倍；"
                f"有流量的链路是 {loaded[1]} 条，而不是 {loaded[0]} 条：多了主机内存，"
                "以及通向它、由每一跳共用的那条线缆。",
            ),
            (
                f"Here all GPUs are under one PCIe root. In a server with two sockets {through} of the {n} hops go "
                "through host memory even with P2P: it passes PCIe switches, not a processor (NCCL goes directly up "
                "to PXB).",
                f"这里所有 GPU 都在同一个 PCIe 根之下。在双路服务器中，即使启用 P2P，{n} 跳中仍有 "
                f"{through} 跳要经过主机内存："
                "它可以穿过 PCIe 交换机，但不穿过处理器（NCCL 直传的上限是 PXB）。",
            ),
        ),
        off,
        seed=5,
    )


def between() -> Lesson:
    two = machine("dgx-a100", nodes=2)
    one, many = _on("allreduce_ring", two, "256MiB"), _on("allreduce_ring", two, "256MiB", channels=8)
    return Lesson(
        "between",
        ("Between boxes: one cable or eight", "机箱之间：一条线缆还是八条"),
        (
            (
                "One ring crosses between the machines on one cable, which is busy "
                f"{100 * one.link_busy.max() / one.time:.3g} % of {format_time(one.time)}. NVLink waits.",
                f"一个环只用一条线缆跨机，它在 {format_time(one.time)} 中有 "
                f"{100 * one.link_busy.max() / one.time:.3g} % 的时间在忙。NVLink 在等待。",
            ),
            (
                f"{many.schedule.channels} channels with rank orders of their own use all network cards: "
                f"{format_time(many.time)}, {_times(one, many)} times faster with the same algorithm.",
                f"{many.schedule.channels} 个次序各异的 channel 用上所有网卡：{format_time(many.time)}，算法不变，"
                f"速度是原来的 {_times(one, many)} 倍。",
            ),
        ),
        one,
        seed=6,
    )


def two_trees() -> Lesson:
    one, two = (_on(name, _switch(), chunks=16) for name in ("allreduce_tree", "allreduce_double_binary_tree"))
    return Lesson(
        "trees",
        ("Trees, pipelined and doubled", "树：流水线与双树"),
        (
            (
                "In one tree a leaf sends everything once, an inner rank once to its parent and once more to each of "
                f"its children: {format_time(one.time)} with {one.schedule.chunks} chunks.",
                "单棵树中，叶子把所有数据发一遍，内部 rank 向父节点发一遍，再向每个子节点各发一遍："
                f"切成 {one.schedule.chunks} 个 chunk 时耗时 {format_time(one.time)}。",
            ),
            (
                f"Two trees, each with half of the data, share that out: {format_time(two.time)}. A rank sends at most "
                f"{two.sent_bytes.max() / two.nbytes:.3g} buffers instead of {one.sent_bytes.max() / one.nbytes:.3g}.",
                f"用两棵树各传一半数据来分摊：{format_time(two.time)}。单个 rank 最多发送 "
                f"{two.sent_bytes.max() / two.nbytes:.3g} 份数据，而不是 {one.sent_bytes.max() / one.nbytes:.3g} 份。",
            ),
        ),
        two,
        "logical",
        7,
    )


def broken() -> Lesson:
    good = _on("allreduce_ring", ring(4, bandwidth="25GB/s", alpha="1us"))
    lost, twice = ([break_it(good, how, seed=3, lang=lang) for lang in ("en", "zh")] for how in ("lose", "repeat"))
    assert lost[0].trace is not None  # a schedule without one of its sends is still a schedule
    return Lesson(
        "broken",
        ("Break it", "弄坏它"),
        (
            (
                f"{lost[0].what} The checker counts every contribution: {lost[0].says}",
                f"{lost[1].what}检查器会清点每一份贡献：{lost[1].says}",
            ),
            (f"{twice[0].what} Then: {twice[0].says}", f"{twice[1].what}结果：{twice[1].says}"),
            (
                "Below plays the ring with the lost send. Find the rank that goes without, and follow what it spoils.",
                "下面播放的是丢了一次发送的 ring。找出缺了数据的 rank，看看它接着破坏了什么。",
            ),
        ),
        lost[0].trace,
        "logical",
        8,
    )


LESSONS: tuple[Callable[[], Lesson], ...] = (collective, server, the_ring, latency, two_trees, staging, between, broken)
