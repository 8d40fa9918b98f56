"""AMD Instinct machines."""

from __future__ import annotations

from ..cables import build_memory, build_pcie, build_xgmi
from ..machine_builder import Machine, MachineBuilder, build_server
from ..parts.sockets import build_socket_cable


def _build_mi300x() -> MachineBuilder:
    builder = build_server(
        sockets=2,
        switches=4,
        gpus=1,
        nics=1,
        slot=build_pcie(5),
        memory=build_memory("DDR5", 4800, 12, "EPYC 9004"),
        between=build_socket_cable("genoa"),
    )
    for b in range(8):
        for a in range(b):
            builder.connect(f"gpu{a}", f"gpu{b}", build_xgmi())
    return builder


#: Seven rings that cross every xGMI link once in each direction.
_RINGS = (
    (0, 7, 6, 4, 1, 2, 3, 5),
    (0, 5, 7, 4, 6, 2, 1, 3),
    (0, 4, 3, 7, 5, 2, 6, 1),
    (0, 3, 2, 7, 1, 6, 5, 4),
    (0, 6, 3, 4, 2, 5, 1, 7),
    (0, 2, 4, 7, 3, 1, 5, 6),
    (0, 1, 4, 5, 3, 6, 7, 2),
)
#: The ways through a node that RCCL takes where every GPU has a card: each enters at another, and together they cross
#: every link once (ROCm/rccl src/graph/rome_models.cc, the model of 8 GPUs with 7 links and 8 cards).
_PATHS = (
    (0, 1, 2, 3, 4, 5, 6, 7),
    (1, 0, 2, 4, 3, 5, 7, 6),
    (2, 5, 0, 3, 7, 1, 6, 4),
    (3, 6, 1, 5, 2, 7, 4, 0),
    (4, 7, 0, 6, 5, 1, 3, 2),
    (5, 4, 6, 3, 0, 7, 2, 1),
    (6, 2, 0, 4, 1, 7, 5, 3),
    (7, 3, 1, 4, 2, 6, 0, 5),
)

MACHINES = [
    Machine.from_builder(
        _build_mi300x(),
        name="mi300x-8gpu",
        title="MI300X, 8 GPUs",
        about="8 MI300X, a link of 64 GB/s between any two; a 400 Gbit/s card to each GPU. Paths by NCCL's rules.",
        chinese="8 块 MI300X，任意两块之间一条 64 GB/s 的链路；每块 GPU 一块 400 Gbit/s 网卡。路径按 NCCL 的规则。",
        gpu="MI300X",
        sm=94,
        nic="ib-ndr",
        rings=_RINGS,
        paths=_PATHS,
        amd_cpu=True,
        source="AMD MI300X platform: fully connected by 7 Infinity Fabric links per GPU "
        "of 128 GB/s both directions (wheelersnetwork.com, January 2024; RCCL logs in ROCm/rccl issue 1210); a card "
        "at each GPU's switch: a common layout, not of one product",
    )
]
