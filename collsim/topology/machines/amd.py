"""AMD Instinct machines."""

from __future__ import annotations

from ..cables import dram, pcie, xgmi_gpu
from ..parts.sockets import between
from ..plan import Machine, Plan, server


def _mi300x() -> Plan:
    plan = server(
        sockets=2,
        switches=4,
        gpus=1,
        nics=1,
        slot=pcie(5),
        memory=dram("DDR5", 4800, 12, "EPYC 9004"),
        between=between("genoa"),
    )
    for b in range(8):
        for a in range(b):
            plan.join(f"gpu{a}", f"gpu{b}", xgmi_gpu())
    return plan


MACHINES = [
    Machine.drawn(
        _mi300x(),
        name="mi300x-8gpu",
        title="MI300X, 8 GPUs",
        about="8 MI300X, a link of 64 GB/s between any two; a 400 Gbit/s card to each GPU. Paths by NCCL's rules.",
        chinese="8 块 MI300X，任意两块之间一条 64 GB/s 的链路；每块 GPU 一块 400 Gbit/s 网卡。路径按 NCCL 的规则。",
        gpu="MI300X",
        sm=94,
        nic="ib-ndr",
        amd_cpu=True,
        source="AMD MI300X platform: fully connected by 7 Infinity Fabric links per GPU "
        "of 128 GB/s both directions (wheelersnetwork.com, January 2024; RCCL logs in ROCm/rccl issue 1210); a card "
        "at each GPU's switch: a common layout, not of one product",
    )
]
