"""As near to the bound as a graph allows: an allgather that uses every cable at once."""

from __future__ import annotations

import networkx as nx

from ....topology import Topology
from .task import Task


def _with_chords(n: int) -> Topology:
    """A ring whose opposite ranks are joined as well."""
    graph: nx.Graph[int] = nx.circulant_graph(n, [1, n // 2])
    graph.add_edges_from(list(graph.edges), bandwidth="25GB/s", alpha="1us")
    return Topology.from_networkx(graph, "ring with chords")


TASKS = (
    Task(
        name="beat-the-ring",
        collective="allgather",
        title=("Beat the ring on this graph", "在这张图上超过 ring"),
        ask=(
            "Six ranks on a ring of cables, and a cable between opposite ranks (0 and 3, 1 and 4, 2 and 5). The ring "
            "algorithm takes five steps and uses one cable of three. Gather all blocks in a time as near to the bound "
            "as you can; the answer says how near.",
            "六个 rank 接成环形，相对的 rank 之间（0 与 3、1 与 4、2 与 5）也有线缆。ring 算法要五步，三根线缆只用一"
            "根。请让所有块尽可能接近下界的时间到齐；回答会说明有多近。",
        ),
        hints=(
            (
                "How many blocks can come into a rank in one step, over all of its cables? How many does it lack?",
                "一步之内，从全部线缆可以进来几个块？每个 rank 缺几个？",
            ),
            (
                "After a step in which everybody sends its block to all three neighbours, two blocks are missing. Who "
                "of the neighbours has them?",
                "第一步人人把自己的块发给三个邻居；之后还缺两个块。哪些邻居有它们？",
            ),
            (
                "Step 1: yield [cs.copy(r, (r + d) % n, chunk=r) for d in (1, -1, 3)]. Step 2: each hands to its right "
                "neighbour the block of its left one, and to its left neighbour that of its right one.",
                "第 1 步：yield [cs.copy(r, (r + d) % n, chunk=r) for d in (1, -1, 3)]。第 2 步：每个 rank 把左邻居的块"
                "交给右邻居，把右邻居的块交给左邻居。",
            ),
        ),
        ranks=(6,),
        network=_with_chords,
        compared_ranks=6,
        within=1.25,
        starter=(
            "def beat_the_ring(n):\n    r = np.arange(n)\n    for k in range(n - 1):\n"
            "        yield cs.copy(r, (r + 1) % n, chunk=(r - k) % n)\n"
        ),
    ),
)
