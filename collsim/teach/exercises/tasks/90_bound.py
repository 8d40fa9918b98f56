"""As near to the bound as a graph allows: an allgather that uses every cable at once."""

from __future__ import annotations

from ....errors.dependencies import networkx as nx
from ....topology import Topology
from ..kinds.task import Task


def _with_chords(n: int) -> Topology:
    """A ring whose opposite ranks are joined as well."""
    graph: nx.Graph[int] = nx.circulant_graph(n, [1, n // 2])
    graph.add_edges_from(list(graph.edges), bandwidth="25GB/s", alpha="1us")
    return Topology.from_networkx(graph, "ring with chords")


TASKS = (
    Task(
        name="beat-the-ring",
        collective="allgather",
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
