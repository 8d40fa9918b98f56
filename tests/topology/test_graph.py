"""Topologies from networkx graphs, and back."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import collsim as cs


def cycle(n):
    graph = nx.cycle_graph(n)
    for _, _, data in graph.edges(data=True):
        data.update(bandwidth="25GB/s", alpha="1us")
    return graph


def test_a_cycle_routes_like_the_ring():
    graph, ring = cs.Topology.from_networkx(cycle(7)), cs.topology.ring(7)
    src, dst = np.divmod(np.arange(49), 7)
    assert graph.routes(src, dst).hops.tolist() == ring.routes(src, dst).hops.tolist()
    assert set(graph.links.bandwidth) == {25e9}
    assert set(graph.links.alpha) == {1e-6}


def test_only_gpus_are_ranks_and_switches_forward():
    graph = nx.Graph()
    graph.add_node("s", kind="switch")
    for name in "ab":
        graph.add_node(name, kind="gpu")
        graph.add_edge(name, "s", bandwidth=1e9)
    topology = cs.Topology.from_networkx(graph)
    assert topology.ranks == 2
    assert [hop.dst for hop in topology.route("a", "b")] == ["s", "b"]


def test_the_rank_attribute_orders_ranks():
    graph = nx.Graph()
    graph.add_node("late", kind="gpu", rank=1)
    graph.add_node("early", kind="gpu", rank=0)
    graph.add_edge("late", "early", bandwidth=1e9)
    assert cs.Topology.from_networkx(graph).route(0, 1)[0].src == "early"


def test_a_directed_graph_keeps_its_directions():
    graph = nx.DiGraph()
    for a, b in ((0, 1), (1, 2), (2, 0)):
        graph.add_edge(a, b, bandwidth=1e9)
    topology = cs.Topology.from_networkx(graph)
    assert len(topology.links) == 3
    assert topology.routes(0, 2).hops.tolist() == [2]


def test_parallel_edges_are_bonded():
    graph = nx.MultiGraph()
    graph.add_edge(0, 1, bandwidth="25GB/s")
    graph.add_edge(0, 1, bandwidth="25GB/s")
    assert set(cs.Topology.from_networkx(graph).links.bandwidth) == {50e9}


def test_ranks_that_are_not_joined_are_named():
    graph = nx.Graph()
    graph.add_edge(0, 1, bandwidth=1e9)
    graph.add_edge(2, 3, bandwidth=1e9)
    with pytest.raises(cs.TopologyError, match="ranks 0, 1 and ranks 2, 3 cannot reach each other"):
        cs.Topology.from_networkx(graph)


def test_one_way_is_not_enough():
    graph = nx.DiGraph()
    graph.add_edge(0, 1, bandwidth=1e9)
    with pytest.raises(cs.TopologyError, match="cannot reach each other"):
        cs.Topology.from_networkx(graph)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, "edge 'a' to 'b' has no bandwidth"),
        ({"bandwidth": -1}, "edge 'a' to 'b': bandwidth=-1"),
        ({"bandwidth": "fast"}, "edge 'a' to 'b': bandwidth='fast'"),
        ({"bandwidth": 1e9, "alpha": "soon"}, "edge 'a' to 'b': alpha='soon'"),
    ],
)
def test_a_bad_edge_is_named(data, says):
    graph = nx.Graph()
    graph.add_edge("a", "b", **data)
    with pytest.raises(cs.TopologyError, match=says):
        cs.Topology.from_networkx(graph)


def test_an_unknown_kind_is_named():
    graph = nx.Graph()
    graph.add_node("a", kind="gpus")
    with pytest.raises(cs.TopologyError, match="did you mean 'gpu'"):
        cs.Topology.from_networkx(graph)


def test_a_graph_without_gpus_is_refused():
    graph = nx.Graph()
    graph.add_node("a", kind="switch")
    with pytest.raises(cs.TopologyError, match="no rank"):
        cs.Topology.from_networkx(graph)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10_000))
def test_to_networkx_and_back_is_the_same_network(n, seed):
    graph = nx.connected_watts_strogatz_graph(n, min(n, 3), 0.5, seed=seed)
    for i, (_, _, data) in enumerate(graph.edges(data=True)):
        data.update(bandwidth=1e9 * (i + 1), alpha=1e-6 * i)
    one = cs.Topology.from_networkx(graph)
    two = cs.Topology.from_networkx(one.to_networkx())
    src, dst = np.divmod(np.arange(n * n), n)
    a, b = one.routes(src, dst), two.routes(src, dst)
    assert one.links.src[a.link].tolist() == two.links.src[b.link].tolist()
    assert one.links.bandwidth[a.link].tolist() == two.links.bandwidth[b.link].tolist()
    assert one.links.alpha[a.link].tolist() == two.links.alpha[b.link].tolist()


def test_an_unknown_device_does_not_list_thousands():
    with pytest.raises(cs.TopologyError, match=r"unknown device 'zzz'; known: .* and 1,\d\d\d more") as wrong:
        cs.machine("dgx-a100", nodes=64).device("zzz")
    assert len(str(wrong.value)) < 2000
