"""One cable between two machines or eight, with GPUDirect RDMA and without."""

from __future__ import annotations

from ...topology import machine
from ...units import format_time
from ...viz.sentences.causes import describe_bottleneck
from ..lesson import Lesson, RunFacts, Section, build_facts, choice, format_ratio, simulate_algorithm


def _build_rail_facts() -> RunFacts:
    two = machine("dgx-a100", nodes=2)
    single, many = (simulate_algorithm("allreduce_ring", two, "256MiB", channels=count) for count in (1, 8))
    staged = simulate_algorithm("allreduce_ring", machine("dgx-a100", nodes=2, gdr=False), "256MiB", channels=8)
    neck = describe_bottleneck(staged)
    assert neck is not None
    return build_facts(
        single,
        one=single,
        many=many,
        staged=staged,
        busy=f"{100 * single.link_busy.max() / single.time:.3g}",
        faster=format_ratio(single, many),
        slower=format_ratio(staged, many),
        alone=format_time(many.schedule.channels * many.time),
        neck=(neck["text"]["en"], neck["text"]["zh"]),
    )


LESSON = Lesson(
    title=("Between boxes: InfiniBand, RDMA, rails", "机箱之间：InfiniBand、RDMA 与 rail"),
    notebook="06-between-boxes",
    exercises=("hierarchical-2x8",),
    sections=(
        Section(
            "between",
            _build_rail_facts,
            before=(
                (
                    "One ring crosses between the machines on one cable, which is busy {busy} % of {one.time}. NVLink "
                    "waits.",
                    "一个环只用一条线缆跨机，它在 {one.time} 中有 {busy} % 的时间在忙。NVLink 在等待。",
                ),
                (
                    "{many.channels} channels with rank orders of their own use all network cards: {many.time}, "
                    "{faster} times faster with the same algorithm.",
                    "{many.channels} 个次序各异的 channel 用上所有网卡：{many.time}，算法不变，速度是原来的 "
                    "{faster} 倍。",
                ),
            ),
            ask=(
                "These {many.channels} channels take {many.time} with GPUDirect RDMA. How long without, through host "
                "memory?",
                "这 {many.channels} 个 channel 在启用 GPUDirect RDMA 时需 {many.time}。不启用、经主机内存中转需要多"
                "久？",
            ),
            choices=(
                choice(
                    "{many.time}",
                    (
                        "InfiniBand would allow it, but the PCIe cables carry each byte more than once.",
                        "InfiniBand 本可以，但 PCIe 线缆要把每个字节传不止一次。",
                    ),
                ),
                choice(
                    "{staged.time}",
                    (
                        "Each chunk goes into host memory and out again on both sides.",
                        "每个 chunk 在两侧都要进出一次主机内存。",
                    ),
                ),
                choice(
                    "{alone}",
                    (
                        "That would be one cable for all; there are still {many.channels} network cards.",
                        "那相当于所有数据只走一条线缆；但网卡仍有 {many.channels} 块。",
                    ),
                ),
            ),
            right=1,
            explanation=(
                "{staged.time}, {slower} times as long. {neck}",
                "{staged.time}，是原来的 {slower} 倍。{neck}",
            ),
        ),
    ),
)
