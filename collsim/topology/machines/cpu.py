"""Processors only, for MPI and Gloo: a rank in the memory of each socket."""

from __future__ import annotations

from ..cables import build_memory, build_pcie
from ..machine_builder import Machine, MachineBuilder
from ..parts.sockets import build_socket_cable


def _build_two_sockets(generation: int) -> MachineBuilder:
    builder = MachineBuilder()
    builder.add("memory0", "memory1", "cpu0", "cpu1")
    for c in range(2):
        builder.connect(f"memory{c}", f"cpu{c}", build_memory("DDR4", 2933, 6, "Xeon Gold 6248"))
    builder.connect("cpu0", "cpu1", build_socket_cable("cascade-lake"))
    builder.connect("nic0", "cpu0", build_pcie(generation))
    return builder


MACHINES = [
    Machine.from_builder(
        _build_two_sockets(3),
        name="cpu-2socket",
        title="CPU node, 2 sockets",
        about="Two Xeons, a rank to each, one 25 Gbit/s Ethernet card spoken to over TCP: Gloo's and MPI's usual home.",
        chinese="两颗 Xeon，每颗一个 rank，一块 25 Gbit/s 以太网卡，走 TCP：Gloo 和 MPI 常在这样的机器上运行。",
        nic="tcp-25",
        source="a common layout, not of one product: the card at the first socket",
    ),
    Machine.from_builder(
        _build_two_sockets(3),
        name="cpu-2socket-ib",
        title="CPU node, 2 sockets, InfiniBand",
        about="Two Xeons, a rank to each, one EDR InfiniBand card at the first socket.",
        chinese="两颗 Xeon，每颗一个 rank，一块 EDR InfiniBand 网卡接在第一个 CPU 插槽上。",
        nic="ib-edr",
        source="a common layout, not of one product: the card at the first socket",
    ),
]
