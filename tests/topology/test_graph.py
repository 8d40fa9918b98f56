"""Topologies from networkx graphs, and back."""

import itertools
import warnings

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import collsim as cs
from collsim.topology.cable_figures import ImplausibleFigure


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


# ---- routes of equal length
# ---------------------------------------------------------------------------------------------------------------------


def boxes(nodes, gpus, core_first=True):
    """ForestColl's setting (Zhao et al. 2024, arXiv 2402.06787): nodes of GPUs with 300 GB/s to the switch of their
    node and 25 GB/s to one switch for all."""
    graph = nx.Graph()
    if core_first:
        graph.add_node("core", kind="switch")
    for node in range(nodes):
        for gpu in range(node * gpus, (node + 1) * gpus):
            graph.add_node(f"gpu{gpu}", kind="gpu", node=node)
            graph.add_edge(f"gpu{gpu}", "core", bandwidth="25GB/s")
            graph.add_edge(f"gpu{gpu}", f"switch{node}", bandwidth="300GB/s")
    for node in range(nodes):
        graph.nodes[f"switch{node}"]["kind"] = "switch"
    graph.nodes["core"]["kind"] = "switch"
    return cs.Topology.from_networkx(graph)


@pytest.mark.parametrize("core_first", [True, False])
def test_forestcolls_bound_is_found_whatever_was_added_first(core_first):
    """The three other nodes hold 24 of 32 blocks, which enter a node over 8 cards: 32/24 × 200 GB/s."""
    network = boxes(4, 8, core_first)
    size = 32 * 2**25
    assert size / cs.lower_bound("allgather", network, size).time / 1e9 == pytest.approx(266.67, abs=0.005)


def test_of_routes_of_equal_length_the_one_with_the_widest_narrowest_link_is_taken():
    network = boxes(2, 4)
    for a in range(8):
        for b in set(range(8)) - {a}:
            by = "core" if a // 4 != b // 4 else f"switch{a // 4}"
            assert [hop.dst for hop in network.route(a, b)] == [by, f"gpu{b}"]


def join_ranks(*routes, direct=None):
    """Two ranks joined over switches, each with the (bandwidth, alpha) of both its cables."""
    graph = nx.Graph()
    graph.add_nodes_from(["a", "b"], kind="gpu")
    for i, (first, second) in enumerate(routes):
        graph.add_node(f"s{i}", kind="switch")
        graph.add_edge("a", f"s{i}", bandwidth=first[0], alpha=first[1])
        graph.add_edge(f"s{i}", "b", bandwidth=second[0], alpha=second[1])
    if direct:
        graph.add_edge("a", "b", bandwidth=direct[0], alpha=direct[1])
    return cs.Topology.from_networkx(graph)


FAST, SLOW = ("50GB/s", "1us"), ("25GB/s", "1us")


@pytest.mark.parametrize(
    ("network", "over"),
    [
        (join_ranks((FAST, SLOW), (FAST, FAST)), "s1"),  # the slowest link decides, not the first
        (join_ranks((("50GB/s", "2us"), FAST), (FAST, FAST)), "s1"),  # then the latency of the whole route
        (join_ranks((SLOW, ("25GB/s", "9us")), (SLOW, ("25GB/s", "1us")), (FAST, SLOW)), "s1"),
        (join_ranks((FAST, FAST), (FAST, FAST)), "s0"),  # then the order
        (
            join_ranks((("1GB/s", "3us"), ("1GB/s", "1us")), (("1GB/s", "1us"), ("1GB/s", "3us"))),
            "s0",
        ),  # 3 + 1 is 1 + 3
        (join_ranks((FAST, FAST), direct=("1GB/s", "9us")), "b"),  # fewest links come before all
    ],
)
def test_ties_are_broken_by_bandwidth_then_latency_then_order(network, over):
    assert network.route(0, 1)[0].dst == over
    assert network.route(1, 0)[0].dst == ("a" if over == "b" else over)


A = (1e-7, 11e-7, 2e-7)


def test_latencies_that_add_up_to_the_same_in_another_order_are_equal():
    """For a computer 2e-7 + 11e-7 + 1e-7 is more than 1e-7 + 11e-7 + 2e-7."""
    graph = nx.Graph()
    graph.add_nodes_from(["a", "b"], kind="gpu")
    for name, alphas in (("s", A), ("t", A[::-1])):
        ends = ["a", f"{name}0", f"{name}1", "b"]
        graph.add_nodes_from(ends[1:3], kind="switch")
        for (x, y), alpha in zip(itertools.pairwise(ends), alphas, strict=True):
            graph.add_edge(x, y, bandwidth="1GB/s", alpha=alpha)
    assert sum(A) != sum(A[::-1])
    network = cs.Topology.from_networkx(graph)
    assert [network.route(0, 1)[0].dst, network.route(1, 0)[0].dst] == ["s0", "s1"]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_no_route_of_as_few_links_has_a_wider_narrowest_link(seed):
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(7, 0.5, seed=int(seed % 1000))
    graph.add_edges_from(zip(range(7), [*range(1, 7), 0], strict=True))
    for edge in graph.edges:
        graph.edges[edge].update(bandwidth=float(rng.integers(1, 4)) * 1e9, alpha=float(rng.integers(0, 3)) * 1e-6)
    network = cs.Topology.from_networkx(graph)
    for a, b in itertools.permutations(range(7), 2):
        route = network.route(a, b)
        others = [
            [graph.edges[x, y] for x, y in itertools.pairwise(path)] for path in nx.all_shortest_paths(graph, a, b)
        ]
        assert len(route) == len(others[0])
        widest = max(min(edge["bandwidth"] for edge in path) for path in others)
        assert min(hop.bandwidth for hop in route) == widest


def test_a_slow_cable_changes_no_route_and_none_after_it_was_written_down(tmp_path):
    """With what was built, switch 0 is as good as switch 1; a cable that goes slow later is not avoided."""
    network = join_ranks((FAST, FAST), (FAST, FAST)).with_link("a", "s0", bandwidth="x0.1")
    (tmp_path / "slow.yaml").write_text(network.to_yaml())
    for one in (network, cs.load_topology(tmp_path / "slow.yaml")):
        assert one.route(0, 1)[0].dst == "s0"
    uneven = join_ranks((FAST, SLOW), (FAST, FAST)).with_link("s1", "b", bandwidth="1GB/s")
    (tmp_path / "uneven.yaml").write_text(uneven.to_yaml())
    for one in (uneven, cs.load_topology(tmp_path / "uneven.yaml")):
        assert one.route(0, 1)[0].dst == "s1"
        assert one.route(0, 1)[1].bandwidth == 1e9


# ---- guesses that people make
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ({"bandwidth": "25GB/s", "latency": "1us"}, "alpha"),
        ({"bandwidth": "25GB/s", "delay": 1e-6}, "alpha"),
        ({"bw": 25e9, "alpha": "1us"}, "bandwidth"),
        ({"capacity": 25e9}, "bandwidth"),
    ],
)
def test_an_attribute_of_another_tool_is_answered_with_ours(attributes, name):
    graph = nx.Graph()
    graph.add_edge(0, 1, **attributes)
    with pytest.raises(cs.TopologyError, match=f"did you mean {name}?"):
        cs.Topology.from_networkx(graph)


@pytest.mark.parametrize("name", ["type", "role", "device_type"])
def test_a_node_whose_kind_has_another_name_is_no_rank_by_mistake(name):
    graph = nx.Graph()
    graph.add_node("a", **{name: "gpu"})
    graph.add_node("b", **{name: "switch"})
    graph.add_edge("a", "b", bandwidth="25GB/s")
    with pytest.raises(cs.TopologyError, match=rf"node 'a' has {name}='gpu'; did you mean kind\?"):
        cs.Topology.from_networkx(graph)


def test_attributes_that_mean_nothing_here_are_left_alone():
    graph = nx.Graph()
    graph.add_edge(0, 1, bandwidth="25GB/s", alpha="1us", latency=9.0, color="red", weight=3)
    assert cs.Topology.from_networkx(graph).links.alpha.tolist() == [1e-6, 1e-6]


def test_switches_that_become_ranks_are_warned_about():
    graph = nx.star_graph(["switch0", "gpu0", "gpu1"])
    nx.set_edge_attributes(graph, "25GB/s", "bandwidth")
    with pytest.warns(ImplausibleFigure, match="all 3 nodes are ranks, 'switch0' too"):
        assert cs.Topology.from_networkx(graph).ranks == 3
    nx.set_node_attributes(graph, {"switch0": "switch", "gpu0": "gpu", "gpu1": "gpu"}, "kind")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cs.Topology.from_networkx(graph).ranks == 2


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: cs.topology.ring(4, bandwidth=25), "bandwidth=25 is 25 B/s"),
        (lambda: cs.topology.switch(4, bandwidth="25"), "bandwidth=25 is 25 B/s"),
        (lambda: cs.topology.ring(4, alpha=1), "alpha=1 is 1 s"),
        (lambda: cs.topology.torus(2, 2, bandwidth=25e18), "bandwidth=2.5e[+]19 is"),
        (lambda: join_ranks(((25, 0), FAST)), "bandwidth=25 is 25 B/s"),
        (lambda: cs.topology.ring(4).with_link(0, 1, bandwidth=25), "bandwidth=25 is 25 B/s"),
        (lambda: cs.topology.ring(4).with_link(0, 1, alpha=5), "alpha=5 is 5 s"),
        (lambda: timed(overhead=5), "overhead=5 is 5 s"),
        (lambda: timed(launch="5"), "launch=5 is 5 s"),
        (lambda: timed(injection=25), "injection=25 is 25 B/s"),
        (lambda: timed(gamma=200), "gamma=200 is 200 B/s"),
    ],
)
def test_a_figure_without_its_unit_is_warned_about_at_the_line_that_has_it(build, text):
    with pytest.warns(ImplausibleFigure, match=text) as caught:
        build()
    assert caught[0].filename == __file__


def test_a_figure_with_its_unit_or_a_plausible_one_is_taken_as_it_is():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cs.topology.ring(4, bandwidth="25B/s", alpha="1s")
        cs.topology.ring(4, bandwidth=25e9, alpha=1e-6)
        cs.topology.ring(4, bandwidth=25e3, alpha=0)
        timed(overhead=1e-6, launch=0, injection=25e9, gamma="25B/s", late={1: 2})


def test_a_few_bytes_are_no_slip():
    """nccl-tests measures from 8 B on, so a plain small size is taken as it is; the run says which size it had."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "64 B" in str(timed())


def timed(**options):
    network = cs.topology.switch(2)
    return cs.simulate(cs.schedule("allreduce_ring", ranks=2), network, nbytes=64, engine="event", **options)
