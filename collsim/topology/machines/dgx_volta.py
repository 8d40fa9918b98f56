"""DGX-1 with its NVLink hybrid cube mesh (P100, V100), and DGX-2."""

from __future__ import annotations

from ..cables import build_memory, build_nvlink, build_pcie
from ..machine_builder import Machine, MachineBuilder, build_server
from ..parts.sockets import build_socket_cable

# Links between GPU pairs of a DGX-1V: nvidia-smi topo -m and the topology XML in NVIDIA/nccl issue 671.
CUBE_MESH = {
    (0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2,
    (2, 6): 1, (3, 7): 1, (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2,
}  # fmt: skip
#: The cube mesh has two rings that share no NVLink. All neighbours of this one are joined by two bricks.
DOUBLE_RING = (0, 3, 2, 1, 5, 6, 7, 4)
#: All neighbours of this one are joined by one brick.
SINGLE_RING = (0, 1, 3, 7, 5, 4, 6, 2)

_MEMORY = build_memory("DDR4", 2400, 4, "Xeon E5-2698 v4")
_QPI = build_socket_cable("broadwell")


def _build_dgx1(generation: int, doubles: bool) -> MachineBuilder:
    builder = build_server(sockets=2, switches=2, gpus=2, nics=1, slot=build_pcie(3), memory=_MEMORY, between=_QPI)
    for (a, b), links in CUBE_MESH.items():
        builder.connect(f"gpu{a}", f"gpu{b}", build_nvlink(generation, links if doubles else 1))
    return builder


def _reverse_ring(ring: tuple[int, ...]) -> tuple[int, ...]:
    return (ring[0], *ring[:0:-1])


def _rotate_to(first: int, ring: tuple[int, ...]) -> tuple[int, ...]:
    position = ring.index(first)
    return ring[position:] + ring[:position]


_BACK = _reverse_ring(DOUBLE_RING)
# Each channel enters by the card with its number: GPU 0 (card 0), 3 (1), 5 (2), 6 (3), along links of two. They leave
# by GPU 4 (card 2), 2 (1), 1 (0), 7 (3); two go each way round.
_PATHS = (_rotate_to(0, DOUBLE_RING), _rotate_to(3, _BACK), _rotate_to(5, DOUBLE_RING), _rotate_to(6, _BACK))


def _build_dgx2() -> MachineBuilder:
    """GPU pairs behind PCIe switches, a card to each pair; all GPUs on one logical NVSwitch of 6 links each."""
    return build_server(
        sockets=2,
        switches=4,
        gpus=2,
        nics=1,
        slot=build_pcie(3),
        memory=build_memory("DDR4", 2666, 6, "Xeon Platinum 8168"),
        between=build_socket_cable("skylake"),
        nvlinks=build_nvlink(2, 6),
    )


MACHINES = [
    Machine.from_builder(
        _build_dgx1(2, doubles=True),
        name="dgx-1v",
        title="DGX-1V",
        about="8 V100 in a hybrid cube mesh: 6 NVLinks each, 12 of the 28 pairs without a direct one. Also AWS "
        "p3.16xlarge.",
        chinese="8 块 V100 按混合立方网格互连：每块 6 条 NVLink，28 对中有 12 对没有直接相连。AWS p3.16xlarge "
        "也是这样。",
        gpu="V100",
        sm=70,
        nic="ib-edr",
        rings=(DOUBLE_RING, _BACK, DOUBLE_RING, _BACK, SINGLE_RING, _reverse_ring(SINGLE_RING)),
        paths=_PATHS,
        source="NVLinks: nvidia-smi and topology XML of NVIDIA/nccl issue 671; PCIe pairs and cards: nvidia-smi topo "
        "-m "
        "of a DGX-1 (course intro_dl_sharc_dgx1, lab 05), PIX between two GPUs and a card",
    ),
    Machine.from_builder(
        _build_dgx1(1, doubles=False),
        name="dgx-1p",
        title="DGX-1P",
        about="8 P100 in a hybrid cube mesh of single NVLinks, 4 each.",
        chinese="8 块 P100 按混合立方网格互连，相连的两块之间只有一条 NVLink，每块 4 条。",
        gpu="P100",
        sm=60,
        nic="ib-edr",
        rings=(SINGLE_RING, _reverse_ring(SINGLE_RING), DOUBLE_RING, _BACK),
        paths=_PATHS,
        source="nvidia-smi topo -m of a DGX-1 with P100 (course intro_dl_sharc_dgx1, lab 05): the pairs of DGX-1V with "
        "one link each; PCIe as DGX-1V",
    ),
    Machine.from_builder(
        _build_dgx2(),
        name="dgx-2",
        title="DGX-2",
        about="16 V100 on two NVSwitch boards: any pair 6 NVLinks.",
        chinese="16 块 V100 接在两块 NVSwitch 板上：任意一对之间 6 条 NVLink。",
        gpu="V100",
        sm=70,
        nvswitches=12,
        nic="ib-edr",
        source="NVIDIA DGX-2 and Hot Chips 2018: 12 NVSwitches, 6 links per GPU, two boards with full bisection, so "
        "one "
        "logical switch as in NCCL",
    ),
]
