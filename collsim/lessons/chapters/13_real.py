"""Do it for real: processes of this computer run a schedule over a network that they imitate, beside its prediction."""

from __future__ import annotations

from ...topology import Topology, switch
from ..lesson import Lesson, RunFacts, Section, build_facts, choice, format_ratio, simulate_algorithm

_BYTES, _SLOWER, _RANK = "1MiB", 4, 3


def _build_network(slow: bool = False) -> Topology:
    """What the processes imitate; with one cable that is slower in both directions."""
    network = switch(8, bandwidth="10MB/s", alpha="5ms")
    return network.with_link(f"gpu{_RANK}", "switch0", bandwidth=f"x{1 / _SLOWER}") if slow else network


def _build_real_facts() -> RunFacts:
    ring, late = (simulate_algorithm("allreduce_ring", _build_network(slow), _BYTES) for slow in (False, True))
    server, same = (
        simulate_algorithm("allreduce_parameter_server", _build_network(slow), _BYTES) for slow in (False, True)
    )
    return build_facts(
        late,
        ring=ring,
        late=late,
        server=server,
        same=same,
        rank=_RANK,
        slower=_SLOWER,
        more=format_ratio(late, ring),
    )


LESSON = Lesson(
    title=("Do it for real", "真做一遍"),
    notebook="13-do-it-for-real",
    exercises=("unnoticed-cable",),
    sections=(
        Section(
            "real",
            _build_real_facts,
            before=(
                (
                    "A schedule is data, so processes can run it: one for each rank, with sockets that are held to a "
                    "bandwidth and a latency. Every run is checked bit for bit, and stands below its prediction. Over "
                    "cables slow enough for a computer to keep up with, {ring.ranks} processes need {ring.time} for a "
                    "ring of {ring.size}, says the prediction; over a parameter server {server.time}.",
                    "调度就是数据，所以进程可以真的执行它：每个 rank 一个进程，套接字被限制在给定的带宽和延迟上。"
                    "每次运行都逐位核对，并放在预测的下面。在计算机跟得上的慢速线缆上，预测 {ring.ranks} 个进程"
                    "对 {ring.size} 做 ring 需要 {ring.time}，经参数服务器需要 {server.time}。",
                ),
            ),
            ask=(
                "The cable of rank {rank} becomes {slower} times slower, each way. Whose time changes?",
                "rank {rank} 的线缆在两个方向上都慢到 {slower} 分之一。谁的时间会变？",
            ),
            choices=(
                choice(
                    ("both", "两者都变"),
                    (
                        "The server's own cable carries what all ranks send; beside that, one slow cable has time.",
                        "服务器自己的线缆要承载所有 rank 发来的数据；与之相比，一根慢线还有余地。",
                    ),
                ),
                choice(
                    ("only the ring's", "只有 ring"),
                    (
                        "In every step somebody waits for rank {rank}.",
                        "每一步都有人在等 rank {rank}。",
                    ),
                ),
                choice(
                    ("only the server's", "只有参数服务器"),
                    (
                        "The ring passes through rank {rank} in every step.",
                        "ring 的每一步都经过 rank {rank}。",
                    ),
                ),
            ),
            right=1,
            explanation=(
                "The ring: {late.time}, {more} times as long, since each step ends with its slowest transfer. The "
                "server: {same.time} (before: {server.time}), its own cable is the bottleneck. The Lab says whether "
                "processes agree.",
                "ring：{late.time}，是原来的 {more} 倍，因为每一步都以最慢的传输结束。"
                "参数服务器：{same.time}（原来 {server.time}），瓶颈是它自己的线缆。进程是否同意，请看“实验”页。",
            ),
            after=(
                (
                    "And yet the ring stays ahead: {late.time} against {same.time}.",
                    "尽管如此，ring 仍然领先：{late.time} 对 {same.time}。",
                ),
            ),
        ),
    ),
)
