"""PCIe and host memory, P2P, NVLink and NVSwitch."""

from __future__ import annotations

from ...simulate import Trace
from ...topology import machine
from ...units import format_bandwidth, format_time
from ..lesson import Lesson, RunFacts, Section, build_facts, choice, format_ratio, simulate_algorithm


def _count_memory_hops(t: Trace) -> int:
    """How many hops of a ring over all ranks pass host memory."""
    n, links = t.schedule.ranks, t.topology.links
    hops = t.topology.routes(list(range(n)), [(rank + 1) % n for rank in range(n)])
    return sum(any(links.kind(k) == "memory" for k in hops[rank]) for rank in range(n))


def _build_facts_of_lesson() -> RunFacts:
    direct, staged = (
        simulate_algorithm("allreduce_ring", machine("pcie-8gpu-single-root", p2p=p2p)) for p2p in (True, False)
    )
    nvlink, dual = (simulate_algorithm("allreduce_ring", machine(name)) for name in ("dgx-a100", "pcie-8gpu"))
    hops = [len(t.topology.routes([0], [1])[0]) for t in (direct, staged)]
    loaded = [int((t.link_bytes > 0).sum()) for t in (direct, staged)]
    rate = float(nvlink.topology.links.bandwidth[nvlink.link_bytes > 0].max())
    return build_facts(
        staged,
        direct=direct,
        staged=staged,
        nvlink=nvlink,
        dual=dual,
        half=format_time(direct.time / 2),
        rate=format_bandwidth(rate),
        faster=format_ratio(direct, nvlink),
        slower=format_ratio(staged, direct),
        hops=hops,
        loaded=loaded,
        through=_count_memory_hops(dual),
    )


LESSON = Lesson(
    title=("Inside the box: PCIe, NVLink, NVSwitch, P2P", "机箱之内：PCIe、NVLink、NVSwitch 与 P2P"),
    notebook="05-inside-the-box",
    exercises=("both-directions",),
    sources={"4.0": "the generation of the machine's PCIe (collsim.topology.machines.pcie)"},
    sections=(
        Section(
            "inside",
            _build_facts_of_lesson,
            before=(
                (
                    "{direct.ranks} GPUs on PCIe switches under one root: with GPUDirect P2P a ring of {direct.size} "
                    "takes {direct.time}. A chunk goes from GPU to GPU through the switches; host memory is not "
                    "touched.",
                    "{direct.ranks} 块 GPU 接在同一个根之下的 PCIe 交换机上：启用 GPUDirect P2P 时，{direct.size} 的 "
                    "ring 需 {direct.time}。chunk 经由交换机从 GPU 到 GPU，不经过主机内存。",
                ),
                (
                    "The picture shows the same without P2P. Watch the host memory: every chunk goes into it and out "
                    "again.",
                    "图中是关闭 P2P 的情形。注意主机内存：每个 chunk 都要先写进去，再读出来。",
                ),
            ),
            ask=(
                "The same ring with NVLink and NVSwitch, {rate} per GPU and direction (DGX A100): how long?",
                "换成 NVLink 与 NVSwitch（DGX A100，每块 GPU 单向 {rate}），同样的 ring 需要多久？",
            ),
            choices=(
                choice(
                    "{direct.time}",
                    (
                        "The steps are the same, but every step ends when its slowest link is done.",
                        "步数不变，但每一步都等最慢的链路完成。",
                    ),
                ),
                choice(
                    "{half}",
                    (
                        "NVLink is far more than twice as fast as PCIe 4.0.",
                        "NVLink 的带宽远不止 PCIe 4.0 的两倍。",
                    ),
                ),
                choice(
                    "{nvlink.time}",
                    (
                        "Bandwidth per direction decides, for a buffer of this size.",
                        "数据量这么大时，单向带宽说了算。",
                    ),
                ),
            ),
            right=2,
            explanation=(
                "{nvlink.time}, {faster} times less: a cable of its own for every GPU, and nothing shared on the way.",
                "{nvlink.time}，速度是 PCIe 的 {faster} 倍：每块 GPU 有自己的线缆，途中没有共享。",
            ),
            after=(
                (
                    "Without GPUDirect P2P a chunk from GPU 0 to GPU 1 goes through host memory: {hops[1]} links "
                    "instead of {hops[0]}.",
                    "不启用 GPUDirect P2P 时，从 GPU 0 到 GPU 1 的 chunk 要绕行主机内存：{hops[1]} 条链路，而不是 "
                    "{hops[0]} 条。",
                ),
                (
                    "The ring takes {staged.time} instead of {direct.time}, {slower} times as long, and loads "
                    "{loaded[1]} links instead of {loaded[0]}: host memory, and the one cable to it that all hops "
                    "share.",
                    "ring 需要 {staged.time}，而不是 {direct.time}，是后者的 {slower} 倍；有流量的链路是 {loaded[1]} "
                    "条，而不是 {loaded[0]} 条：多了主机内存，以及通向它、由每一跳共用的那条线缆。",
                ),
                (
                    "Here all GPUs are under one PCIe root. In a server with two sockets {through} of the {dual.ranks} "
                    "hops go through host memory even with P2P: it passes PCIe switches, not a processor (NCCL goes "
                    "directly up to PXB).",
                    "这里所有 GPU 都在同一个 PCIe 根之下。在双路服务器中，即使启用 P2P，{dual.ranks} 跳中仍有 "
                    "{through} 跳要经过主机内存：它可以穿过 PCIe 交换机，但不穿过处理器（NCCL 直传的上限是 PXB）。",
                ),
            ),
        ),
    ),
)
