"""PCIe and host memory, P2P, NVLink and NVSwitch."""

from __future__ import annotations

from ...simulate import Trace
from ...topology import machine
from ...units import format_bandwidth, format_time
from ..lesson import Lesson, LessonFacts, Section, build_facts, format_ratio, simulate_algorithm


def _count_memory_hops(t: Trace) -> int:
    """How many hops of a ring over all ranks pass host memory."""
    n, links = t.schedule.ranks, t.topology.links
    hops = t.topology.routes(list(range(n)), [(rank + 1) % n for rank in range(n)])
    return sum(any(links.kind(k) == "memory" for k in hops[rank]) for rank in range(n))


def _build_facts_of_lesson() -> LessonFacts:
    direct, staged = (
        simulate_algorithm("allreduce_ring", machine("pcie-8gpu-single-root", p2p=p2p)) for p2p in (True, False)
    )
    nvlink, dual = (simulate_algorithm("allreduce_ring", machine(name)) for name in ("dgx-a100", "pcie-8gpu"))
    hops = [len(t.topology.routes([0], [1])[0]) for t in (direct, staged)]
    loaded = [int((t.link_bytes > 0).sum()) for t in (direct, staged)]
    rate, pcie_rate = (float(t.topology.links.bandwidth[t.link_bytes > 0].max()) for t in (nvlink, direct))
    return build_facts(
        staged,
        direct=direct,
        staged=staged,
        nvlink=nvlink,
        dual=dual,
        half=format_time(direct.time / 2),
        rate=format_bandwidth(rate),
        pcie_rate=format_bandwidth(pcie_rate),
        rate_ratio=f"{rate / pcie_rate:.3g}",
        moving=format_time(float(nvlink.sent_bytes.max()) / rate),
        faster=format_ratio(direct, nvlink),
        slower=format_ratio(staged, direct),
        hops=hops,
        loaded=loaded,
        through=_count_memory_hops(dual),
    )


LESSON = Lesson(
    notebook="05-inside-the-box",
    exercises=("both-directions",),
    sources={"4.0": "the generation of the machine's PCIe (collsim.topology.machines.pcie)"},
    sections=(Section("inside", _build_facts_of_lesson, right=2),),
)
