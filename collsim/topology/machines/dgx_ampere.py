"""8 A100 on NVSwitch: DGX A100 and the cloud's."""

from __future__ import annotations

from ..cables import build_memory, build_nvlink, build_pcie
from ..machine_builder import Machine, MachineBuilder, build_server
from ..parts.sockets import build_socket_cable

_MEMORY = build_memory("DDR4", 3200, 8, "EPYC 7742")
_XGMI = build_socket_cable("rome")


def _build_dgx_a100() -> MachineBuilder:
    """Two GPUs and two cards behind each PCIe switch (two cascaded chips, one as NCCL flattens them), two switches at
    each socket."""
    return build_server(
        sockets=2,
        switches=2,
        gpus=2,
        nics=2,
        slot=build_pcie(4),
        memory=_MEMORY,
        between=_XGMI,
        nvlinks=build_nvlink(3, 12),
    )


def _build_p4d() -> MachineBuilder:
    return build_server(
        sockets=2,
        switches=2,
        gpus=2,
        nics=1,
        slot=build_pcie(4),
        uplink=build_pcie(3),
        card_slot=build_pcie(3),
        memory=build_memory("DDR4", 2933, 6, "Xeon Platinum 8275CL"),
        between=build_socket_cable("cascade-lake"),
        nvlinks=build_nvlink(3, 12),
    )


MACHINES = [
    Machine.from_builder(
        _build_dgx_a100(),
        name="dgx-a100",
        title="DGX A100",
        about="8 A100 on NVSwitch, 12 NVLinks each; 8 HDR InfiniBand cards, GPU g uses card g.",
        chinese="8 块 A100 接在 NVSwitch 上，每块 12 条 NVLink；8 块 HDR InfiniBand 网卡，GPU g 用网卡 g。",
        gpu="A100",
        sm=80,
        nvswitches=6,
        nic="ib-hdr",
        amd_cpu=True,
        source="nvidia-smi topo -m of NVIDIA/nccl issue 2157 (GPUs 0 and 1 PXB to the same four ports, NPS4) and the "
        "topology XML of "
        "issue 1505 (6 NVSwitches, 2 links to each); sockets shown as one NUMA node each (NPS1), storage "
        "cards left out",
    ),
    Machine.from_builder(
        _build_dgx_a100(),
        name="azure-ndv4",
        title="Azure NDv4",
        about="8 A100 on NVSwitch, 8 HDR InfiniBand cards.",
        chinese="8 块 A100 接在 NVSwitch 上，8 块 HDR InfiniBand 网卡。",
        gpu="A100",
        sm=80,
        nvswitches=6,
        nic="ib-hdr",
        amd_cpu=True,
        source="Azure ndv4-topo.xml: per NUMA node a PCIe 4.0 switch with 2 GPUs and 2 cards; two NUMA nodes shown as "
        "one socket",
    ),
    Machine.from_builder(
        _build_p4d(),
        name="aws-p4d",
        title="AWS p4d.24xlarge",
        about="8 A100 on NVSwitch; one 100 Gbit/s EFA card to each pair of GPUs, on PCIe 3.0.",
        chinese="8 块 A100 接在 NVSwitch 上；每两块 GPU 共用一块 100 Gbit/s 的 EFA 网卡，走 PCIe 3.0。",
        gpu="A100",
        sm=80,
        nvswitches=6,
        nic="efa-100",
        source="AWS p4d: 4 × 100 Gbit/s EFA, Intel Cascade Lake (PCIe 3.0 to the host); wiring: aws/aws-ofi-nccl "
        "topology/p4d-24xl-topo.xml "
        "(two GPUs and a card behind each switch, 8 GT/s)",
    ),
]
