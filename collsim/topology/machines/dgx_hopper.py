"""8 Hopper GPUs on NVSwitch: DGX and HGX H100, H200, H800, and the cloud's."""

from __future__ import annotations

from ..cables import build_memory, build_nvlink, build_pcie
from ..machine_builder import Machine, MachineBuilder, build_server
from ..network import Cable
from ..parts.sockets import build_socket_cable

_MEMORY = build_memory("DDR5", 4800, 8, "Xeon Platinum 8480C")
_UPI = build_socket_cable("sapphire-rapids")


def _build_hopper(nvlinks: Cable) -> MachineBuilder:
    """Each GPU and its card behind a PCIe switch of their own; four of them at each socket."""
    return build_server(
        sockets=2, switches=4, gpus=1, nics=1, slot=build_pcie(5), memory=_MEMORY, between=_UPI, nvlinks=nvlinks
    )


_WIRING = "NVIDIA DGX H100 user guide: 4 NVSwitches, 18 NVLinks per GPU, a ConnectX-7 and its GPU under one PCIe switch"


def _build_machine(
    name: str, title: str, says: tuple[str, str], nvlinks: Cable, source: str, nic: str = "ib-ndr"
) -> Machine:
    """`says`: the sentence about it, in English and in Chinese."""
    about, chinese = says
    return Machine.from_builder(
        _build_hopper(nvlinks),
        name=name,
        title=title,
        about=about,
        chinese=chinese,
        gpu=title.split()[-1],
        sm=90,
        nic=nic,
        nvswitches=4,
        source=source,
    )


MACHINES = [
    _build_machine(
        "dgx-h100",
        "DGX H100",
        (
            "8 H100 on NVSwitch, 18 NVLinks each; a 400 Gbit/s card to each GPU.",
            "8 块 H100 接在 NVSwitch 上，每块 18 条 NVLink；每块 GPU 一块 400 Gbit/s 网卡。",
        ),
        build_nvlink(4, 18),
        _WIRING,
    ),
    _build_machine(
        "hgx-h200",
        "HGX H200",
        (
            "8 H200 on NVSwitch; the links of H100.",
            "8 块 H200 接在 NVSwitch 上；链路与 H100 相同。",
        ),
        build_nvlink(4, 18),
        f"{_WIRING}; the same board with H200",
    ),
    _build_machine(
        "hgx-h800",
        "HGX H800",
        (
            "8 H800: H100 with 8 NVLinks each, 400 GB/s both directions together.",
            "8 块 H800：每块只有 8 条 NVLink 的 H100，双向合计 400 GB/s。",
        ),
        build_nvlink(4, 8),
        f"{_WIRING}; H800's NVLink is 400 GB/s both directions (philisun.com, H800 vs H100; NV8 in NVIDIA/nccl "
        "issue 933): 8 links of 25",
    ),
    _build_machine(
        "azure-ndv5",
        "Azure NDv5 H100",
        (
            "8 H100 on NVSwitch, 8 NDR InfiniBand cards.",
            "8 块 H100 接在 NVSwitch 上，8 块 NDR InfiniBand 网卡。",
        ),
        build_nvlink(4, 18),
        f"{_WIRING}; Azure: 8 × NDR",
    ),
    _build_machine(
        "aws-p5",
        "AWS p5.48xlarge H100",
        (
            "8 H100 on NVSwitch; 32 EFA cards of 100 Gbit/s, four to each GPU, shown as one of 400.",
            "8 块 H100 接在 NVSwitch 上；32 块 100 Gbit/s 的 EFA 网卡，每块 GPU 四块，合并显示为一块 400 Gbit/s 的。",
        ),
        build_nvlink(4, 18),
        "AWS p5: 3200 Gbit/s EFA, 8 H100; wiring: aws/aws-ofi-nccl topology/p5.48xl-topo.xml (a GPU and four cards "
        "behind each of eight switches)",
        nic="efa-400",
    ),
]
