"""Blackwell: HGX B200, and the rack GB200 NVL72."""

from __future__ import annotations

from ..cables import C2C, GRACE_LINK, build_memory, build_nvlink, build_pcie
from ..machine_builder import Machine, MachineBuilder, build_server
from ..parts.sockets import build_socket_cable

_LPDDR = build_memory("LPDDR5X", 8533, 8, "Grace")


def _build_b200() -> MachineBuilder:
    return build_server(
        sockets=2,
        switches=4,
        gpus=1,
        nics=1,
        slot=build_pcie(5),
        memory=build_memory("DDR5", 5600, 8, "Xeon Platinum 8570"),
        between=build_socket_cable("emerald-rapids"),
        nvlinks=build_nvlink(5, 18),
    )


def _build_nvl72() -> MachineBuilder:
    """18 trays of two Graces with two GPUs each; every GPU has a link to each of 18 NVSwitches, and a card at its
    Grace."""
    builder = MachineBuilder()
    builder.add(
        *(f"gpu{g}" for g in range(72)), "nvswitch", *(f"cpu{c}" for c in range(36)), *(f"memory{c}" for c in range(36))
    )
    for g in range(72):
        builder.connect(f"gpu{g}", "nvswitch", build_nvlink(5, 18))
        builder.connect(f"gpu{g}", f"cpu{g // 2}", C2C)
    for c in range(36):
        builder.connect(f"cpu{c}", f"memory{c}", _LPDDR)
    for c in range(0, 36, 2):
        builder.connect(f"cpu{c}", f"cpu{c + 1}", GRACE_LINK)
    for g in range(72):
        builder.connect(f"nic{g}", f"cpu{g // 2}", build_pcie(5))
    return builder


MACHINES = [
    Machine.from_builder(
        _build_b200(),
        name="hgx-b200",
        title="HGX B200",
        about="8 B200 on NVSwitch, 18 NVLinks 5 each; a 400 Gbit/s card to each GPU.",
        chinese="8 块 B200 接在 NVSwitch 上，每块 18 条 NVLink 5；每块 GPU 一块 400 Gbit/s 网卡。",
        gpu="B200",
        sm=100,
        nvswitches=2,
        nic="ib-ndr",
        source="NVIDIA HGX B200: 18 NVLink 5 per GPU; two NVSwitches, and PCIe as in DGX H100, are assumed",
    ),
    Machine.from_builder(
        _build_nvl72(),
        name="gb200-nvl72",
        title="GB200 NVL72",
        about="72 B200 of 18 trays in one NVLink domain, two to each Grace; a 400 Gbit/s card to each GPU.",
        chinese="18 个托盘的 72 块 B200 同在一个 NVLink 域，每颗 Grace 带两块；每块 GPU 一块 400 Gbit/s 网卡。",
        gpu="B200",
        sm=100,
        nvswitches=18,
        nic="ib-ndr",
        source="NVIDIA GB200 NVL72: 18 trays of 2 Grace and 4 B200, 9 switch trays of 2 NVSwitches "
        "(docs.nvidia.com, base-command-manager, nvlink), "
        "one link from each GPU to each of 18 switches; "
        "each card at its Grace over PCIe 5.0 ×16 is assumed",
    ),
]
