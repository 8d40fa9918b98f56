"""What if a cable is slow: the best way is another one."""

from __future__ import annotations

from ....topology import Topology, ring
from ..kinds.task import Task


def _with_a_slow_cable(n: int) -> Topology:
    """A ring network whose cable between ranks 0 and 1 carries an eighth of what the others carry."""
    return ring(n, bandwidth="25GB/s", alpha="1us").with_link("gpu0", "gpu1", bandwidth="x0.125")


TASKS = (
    Task(
        name="around-the-slow-cable",
        collective="broadcast",
        ranks=(3, 4, 5, 6, 7, 8, 12),
        network=_with_a_slow_cable,
        within=1.4,
    ),
)
