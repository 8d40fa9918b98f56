"""Servers and workstations whose GPUs meet over PCIe, with and without NVLink bridges."""

from __future__ import annotations

from ..cables import NVLINK_BRIDGE, build_memory, build_pcie
from ..machine_builder import Machine, MachineBuilder, build_server
from ..network import Cable
from ..parts.sockets import build_socket_cable

_ICE_LAKE = build_memory("DDR4", 3200, 8, "Xeon Platinum 8380")
_UPI = build_socket_cable("ice-lake")
_EPYC = build_memory("DDR4", 3200, 8, "EPYC 7003")
_XGMI = build_socket_cable("milan")
_THREADRIPPER = build_memory("DDR4", 3200, 8, "Threadripper Pro 5000")


def _build_two_sockets() -> MachineBuilder:
    """Two PCIe switches at each socket with two GPUs each; one network card at the first switch of each socket."""
    builder = build_server(sockets=2, switches=2, gpus=2, nics=0, slot=build_pcie(4), memory=_ICE_LAKE, between=_UPI)
    builder.connect("nic0", "pcie0", build_pcie(4))
    builder.connect("nic1", "pcie2", build_pcie(4))
    return builder


def _build_single_root() -> MachineBuilder:
    """All GPUs behind two switches under a third, which has the only way to the first of two sockets."""
    builder = MachineBuilder()
    builder.add(*(f"gpu{g}" for g in range(8)), "pcie0", "pcie1", "pcie2", "cpu0", "cpu1")
    for g in range(8):
        builder.connect(f"gpu{g}", f"pcie{1 + g // 4}", build_pcie(4))
    for switch in ("pcie1", "pcie2"):
        builder.connect(switch, "pcie0", build_pcie(4))
    builder.connect("pcie0", "cpu0", build_pcie(4))
    for c in range(2):
        builder.connect(f"cpu{c}", f"memory{c}", _ICE_LAKE)
    builder.connect("cpu0", "cpu1", _UPI)
    builder.connect("nic0", "pcie0", build_pcie(4))
    return builder


def _build_direct(
    gpus: int, sockets: int, memory: Cable, between: Cable, bridge: Cable | None = None, cards: int = 1
) -> MachineBuilder:
    """Every GPU on a root port of its own; bridges between neighbours (0-1, 2-3 ...)."""
    builder = MachineBuilder()
    builder.add(*(f"gpu{g}" for g in range(gpus)), *(f"cpu{c}" for c in range(sockets)))
    for a in range(0, gpus if bridge else 0, 2):
        builder.connect(f"gpu{a}", f"gpu{a + 1}", bridge)  # type: ignore[arg-type]
    for g in range(gpus):
        builder.connect(f"gpu{g}", f"cpu{g * sockets // gpus}", build_pcie(4))
    for c in range(sockets):
        builder.connect(f"cpu{c}", f"memory{c}", memory)
        for other in range(c):
            builder.connect(f"cpu{other}", f"cpu{c}", between)
    for n in range(cards):
        builder.connect(f"nic{n}", f"cpu{n}", build_pcie(4))
    return builder


_COMMON = "a common layout, not of one product"

MACHINES = [
    Machine.from_builder(
        _build_two_sockets(),
        name="pcie-8gpu",
        title="PCIe server, 2 sockets, 8 GPUs",
        about="8 A100 PCIe in pairs behind four PCIe switches, two at each socket; no NVLink.",
        chinese="8 块 A100 PCIe 成对接在四个 PCIe 交换机之下，每个 CPU 插槽两个交换机；没有 NVLink。",
        gpu="A100 PCIe",
        sm=80,
        nic="ib-hdr",
        source=f"{_COMMON}: dual root, as the paths PIX, PHB or NODE, SYS of a published nvidia-smi topo -m of such a "
        "server",
    ),
    Machine.from_builder(
        _build_single_root(),
        name="pcie-8gpu-single-root",
        title="PCIe server, single root, 8 GPUs",
        about="8 A100 PCIe behind cascaded switches under one socket: P2P between all of them.",
        chinese="8 块 A100 PCIe 接在同一个 CPU 插槽之下的级联交换机上：任意两块之间都可用 P2P。",
        gpu="A100 PCIe",
        sm=80,
        nic="ib-hdr",
        source=f"{_COMMON}: single root complex",
    ),
    Machine.from_builder(
        _build_direct(8, 2, _EPYC, _XGMI, NVLINK_BRIDGE, cards=2),
        name="a40-8gpu",
        title="A40 server, 8 GPUs in bridged pairs",
        about="8 A40 on root ports of two EPYC; NVLink bridges join 0-1, 2-3, 4-5, 6-7.",
        chinese="8 块 A40 接在两颗 EPYC 的根端口上；NVLink 桥连接 0-1、2-3、4-5、6-7。",
        gpu="A40",
        sm=86,
        nic="ib-hdr",
        amd_cpu=True,
        source=f"{_COMMON}: direct attach; pairs as measured in NVIDIA/nccl-tests issue 74",
    ),
    Machine.from_builder(
        _build_direct(8, 2, _EPYC, _XGMI),
        name="rtx4090-8gpu",
        title="RTX 4090 server, 8 GPUs",
        about="8 RTX 4090 on root ports of two sockets: the driver allows no P2P, so everything goes through host "
        "memory.",
        chinese="8 块 RTX 4090 接在两个 CPU 插槽的根端口上：驱动不允许 P2P，所以一切都经过主机内存。",
        gpu="RTX 4090",
        sm=89,
        nic="roce-100",
        p2p_over_pcie=False,
        gdr=False,
        amd_cpu=True,
        source=f"{_COMMON}: direct attach; no P2P as in the log of NVIDIA/nccl-tests issue 307",
    ),
    Machine.from_builder(
        _build_direct(4, 1, _THREADRIPPER, _XGMI),
        name="workstation-4gpu",
        title="Workstation, 4 GPUs",
        about="4 RTX A6000 on root ports of one Threadripper Pro: PHB between all, beyond NCCL's P2P level.",
        chinese="4 块 RTX A6000 接在一颗 Threadripper Pro 的根端口上：彼此之间都是 PHB，超出 NCCL 允许 P2P 的级别。",
        gpu="RTX A6000",
        sm=86,
        nic="roce-25",
        amd_cpu=True,
        bridge="PHB",
        source=f"{_COMMON}: four root ports of one processor",
    ),
    Machine.from_builder(
        _build_direct(4, 1, _THREADRIPPER, _XGMI, NVLINK_BRIDGE),
        name="rtx3090-4gpu",
        title="Workstation, 4 RTX 3090 in bridged pairs",
        about="4 RTX 3090 on root ports of one Threadripper Pro; NVLink bridges join 0-1 and 2-3.",
        chinese="4 块 RTX 3090 接在一颗 Threadripper Pro 的根端口上；NVLink 桥连接 0-1 和 2-3。",
        gpu="RTX 3090",
        sm=86,
        nic="roce-25",
        p2p_over_pcie=False,
        gdr=False,
        amd_cpu=True,
        bridge="PHB",
        source=f"{_COMMON}: bridged pairs; GeForce has P2P over the bridge only",
    ),
]
