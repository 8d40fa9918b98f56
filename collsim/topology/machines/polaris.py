"""Four A100 with a mesh of NVLinks, one processor, Slingshot."""

from __future__ import annotations

from ..cables import build_memory, build_nvlink, build_pcie
from ..machine_builder import Machine, MachineBuilder

_BUILDER = MachineBuilder()
_BUILDER.add(*(f"gpu{g}" for g in range(4)), "cpu0")
for _b in range(4):
    for _a in range(_b):
        _BUILDER.connect(f"gpu{_a}", f"gpu{_b}", build_nvlink(3, 4))
for _g in range(4):
    _BUILDER.connect(f"gpu{_g}", "cpu0", build_pcie(4))
_BUILDER.connect("cpu0", "memory0", build_memory("DDR4", 3200, 8, "EPYC 7543P"))
for _n in range(2):
    _BUILDER.connect(f"nic{_n}", "cpu0", build_pcie(4))

MACHINES = [
    Machine.from_builder(
        _BUILDER,
        name="polaris",
        title="Polaris node",
        about="4 A100 with 4 NVLinks between any two, each on a root port of one EPYC; 2 Slingshot cards.",
        chinese="4 块 A100，任意两块之间 4 条 NVLink，各接在同一颗 EPYC 的一个根端口上；2 块 Slingshot 网卡。",
        gpu="A100",
        sm=80,
        nic="slingshot",
        amd_cpu=True,
        source="docs.alcf.anl.gov/polaris, machine overview: one EPYC 7543P, NV4 between any two A100, 2 Slingshot 11 "
        "cards, PHB to GPU 3 and GPU 1; "
        "its four NUMA nodes shown as one socket",
    )
]
