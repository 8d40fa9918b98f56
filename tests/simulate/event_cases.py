"""Networks and schedules that the tests of the event engine share."""

import networkx as nx
import numpy as np
from hypothesis import strategies as st

import collsim as cs
from collsim.registry import algorithms

ALPHA, RATE = 1e-6, 25e9
SHARING = st.sampled_from(["none", "fair", "fifo"])


def network(name, n, **options):
    return getattr(cs.topology, name)(n, **{"bandwidth": RATE, "alpha": ALPHA, **options})


def run(s, topo, nbytes, **options):
    return cs.simulate(s, topo, nbytes, engine="event", **options)


def irregular(seed):
    """A small network whose cables all differ."""
    rng = np.random.default_rng(seed)
    graph = nx.Graph()
    for r in range(6):
        graph.add_node(f"g{r}", kind="gpu")
    graph.add_node("s0", kind="switch")
    graph.add_node("s1", kind="switch")
    edges = [(f"g{r}", f"s{r % 2}") for r in range(6)] + [("s0", "s1")]
    for a, b in edges:
        graph.add_edge(a, b, bandwidth=float(rng.uniform(5e9, 50e9)), alpha=float(rng.uniform(1e-7, 5e-6)))
    return cs.Topology.from_networkx(graph)


def on_six(name):
    try:
        s = cs.schedule(name, ranks=6)
    except cs.CollsimError:
        return None
    return s if s.endpoints == 6 else None


CASES = [name for name in sorted(algorithms()) if on_six(name) is not None]

#: Arguments of a law for any algorithm on any small network.
ANY = {
    "name": st.sampled_from(CASES),
    "seed": st.integers(0, 1000),
    "nbytes": st.integers(0, 5_000_000),
}
