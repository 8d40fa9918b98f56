"""What if a cable is slow: the best way is another one."""

from __future__ import annotations

from ....topology import Topology, ring
from .task import Task


def _with_a_slow_cable(n: int) -> Topology:
    """A ring network whose cable between ranks 0 and 1 carries an eighth of what the others carry."""
    return ring(n, bandwidth="25GB/s", alpha="1us").with_link("gpu0", "gpu1", bandwidth="x0.125")


TASKS = (
    Task(
        name="around-the-slow-cable",
        collective="broadcast",
        title=("Around the slow cable", "绕开慢线缆"),
        ask=(
            "A ring network, but the cable between rank 0 and rank 1 carries an eighth of the others. Broadcast from "
            "rank 0 as if it were cut: which way round, and in how many pieces?",
            "环形网络，但 rank 0 与 rank 1 之间的线缆只有其他线缆八分之一的带宽。从 rank 0 广播，就当它断了："
            "该往哪个方向走，切成多少块？",
        ),
        hints=(
            (
                "What does the slow cable cost the chain 0 → 1 → 2 → ...? Which neighbour of rank 0 has a fast one?",
                "链 0 → 1 → 2 → … 为慢线缆付出多少？rank 0 的哪个邻居有快的线缆？",
            ),
            (
                "The chain 0 → n-1 → n-2 → ... → 1 never crosses it. In one piece every rank waits for the one before; "
                "cut into pieces all cables work at once.",
                "链 0 → n-1 → n-2 → … → 1 不经过它。整块传时每个 rank 都要等前一个；切块之后所有线缆同时工作。",
            ),
            (
                "p = 64; for t in range(n + p - 2): k = np.arange(n - 1); k = k[(t - k >= 0) & (t - k < p)]; yield "
                "cs.copy(-k % n, (-k - 1) % n, chunk=t - k)",
                "p = 64；for t in range(n + p - 2): k = np.arange(n - 1); k = k[(t - k >= 0) & (t - k < p)]; yield "
                "cs.copy(-k % n, (-k - 1) % n, chunk=t - k)",
            ),
        ),
        ranks=(3, 4, 5, 6, 7, 8, 12),
        network=_with_a_slow_cable,
        within=1.4,
    ),
)
