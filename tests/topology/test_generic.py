"""Generic networks: the cables that their definition says, and the fewest links between any two ranks."""

import pickle
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import collsim as cs
from collsim.topology import NETWORKS, generic
from collsim.topology.graph import ShortestPaths

SMALL = {
    "ring": generic.ring(7),
    "even ring": generic.ring(8),
    "line": generic.line(6),
    "star": generic.star(6),
    "switch": generic.switch(6),
    "switch with servers": generic.switch(4, helpers=2),
    "fully_connected": generic.fully_connected(6),
    "tree": generic.tree(11),
    "ternary tree": generic.tree(14, arity=3),
    "torus": generic.torus(3, 4),
    "torus 3-d": generic.torus(2, 3, 5),
    "mesh": generic.mesh(3, 4),
    "hypercube": generic.hypercube(16),
    "fat_tree": generic.fat_tree(4),
    "dragonfly": generic.dragonfly(1, 2, 1),
}


def all_pairs(topology):
    return np.divmod(np.arange(topology.endpoints**2), topology.endpoints)


@pytest.mark.parametrize("name", SMALL)
def test_routes_join_their_ends_link_by_link(name):
    topology = SMALL[name]
    src, dst = all_pairs(topology)
    routes = topology.routes(src, dst)
    for i in range(len(src)):
        here = topology.endpoint_device[src[i]]
        for link in routes[i]:
            assert topology.links.src[link] == here
            here = topology.links.dst[link]
        assert here == topology.endpoint_device[dst[i]]


@pytest.mark.parametrize("name", SMALL)
def test_closed_form_crosses_as_few_links_as_networkx_finds(name):
    topology = SMALL[name]
    far = dict(nx.all_pairs_shortest_path_length(topology.to_networkx()))
    names, place = topology.devices.name, topology.endpoint_device
    src, dst = all_pairs(topology)
    hops = topology.routes(src, dst).hops
    assert [far[names[place[s]]][names[place[d]]] for s, d in zip(src, dst, strict=True)] == hops.tolist()


@pytest.mark.parametrize("name", ["ring", "line", "tree", "torus 3-d", "mesh", "hypercube", "fully_connected"])
def test_ties_go_to_the_lower_next_device_as_in_the_explicit_graph(name):
    topology = SMALL[name]
    explicit = replace(topology, next_hop=ShortestPaths(len(topology.devices), topology.links.src, topology.links.dst))
    src, dst = all_pairs(topology)
    assert topology.routes(src, dst).link.tolist() == explicit.routes(src, dst).link.tolist()


@pytest.mark.parametrize(
    ("topology", "cables"),
    [
        (generic.ring(8), 8),
        (generic.ring(2), 1),
        (generic.line(8), 7),
        (generic.star(8), 7),
        (generic.switch(8), 8),
        (generic.fully_connected(8), 28),
        (generic.tree(8), 7),
        (generic.torus(4, 4), 32),  # two rings through each rank
        (generic.torus(2, 2), 4),  # a ring of two is one cable
        (generic.mesh(4, 4), 24),
        (generic.hypercube(8), 12),
        (generic.fat_tree(4), 48),  # 16 hosts, 16 edge to aggregation, 16 aggregation to core
        (
            generic.dragonfly(2, 4, 2),
            72 + 9 * 6 + 36,
        ),  # hosts, 9 groups of 6 local cables, a cable between any two groups
    ],
)
def test_number_of_cables_is_what_the_definition_says(topology, cables):
    assert len(topology.links) == 2 * cables


def test_half_way_round_a_ring_goes_clockwise():
    assert [hop.dst for hop in generic.ring(4).route(3, 1)] == ["gpu0", "gpu1"]
    assert [hop.dst for hop in generic.ring(4).route(1, 0)] == ["gpu0"]


def test_a_path_through_a_switch_is_two_cables_and_pays_alpha_twice():
    hops = generic.switch(4, bandwidth="10GB/s", alpha="3us").route(0, 3)
    assert [(hop.src, hop.dst) for hop in hops] == [("gpu0", "switch0"), ("switch0", "gpu3")]
    assert sum(hop.alpha for hop in hops) == pytest.approx(6e-6)
    assert {hop.bandwidth for hop in hops} == {10e9}


def test_the_hub_of_a_star_forwards():
    assert [hop.dst for hop in generic.star(4).route(2, 3)] == ["gpu0", "gpu3"]


def test_heap_order_makes_rank_2_the_parent_of_5_and_6():
    assert [hop.dst for hop in generic.tree(7).route(5, 6)] == ["gpu2", "gpu6"]
    assert [hop.dst for hop in generic.tree(7).route(6, 3)] == ["gpu2", "gpu0", "gpu1", "gpu3"]


def test_dragonfly_uses_at_most_one_global_cable():
    topology = generic.dragonfly(2, 4, 2)
    hops = topology.routes(*all_pairs(topology)).hops
    assert topology.ranks == 72
    assert hops.max() == 5  # host, local, global, local, host


def test_fat_tree_spreads_destinations_over_its_cores():
    topology = generic.fat_tree(4)
    routes = topology.routes(np.zeros(12, int), np.arange(4, 16))
    cores = {topology.devices.name[topology.links.dst[routes[i][2]]] for i in range(12)}
    assert cores == {"core0", "core1", "core2", "core3"}


@pytest.mark.parametrize("name", [n for n in NETWORKS if n not in ("fat_tree", "dragonfly")])
def test_one_rank_is_a_network_too(name):
    topology = NETWORKS[name](1)
    assert topology.ranks == 1
    assert topology.routes(0, 0).hops.tolist() == [0]


@pytest.mark.parametrize("name", SMALL)
def test_a_network_can_be_sent_to_another_process(name):
    topology = SMALL[name]
    again = pickle.loads(pickle.dumps(topology))
    assert again.name == topology.name
    assert again.routes(0, topology.ranks - 1).link.tolist() == topology.routes(0, topology.ranks - 1).link.tolist()


def test_a_ring_offers_both_ways_round():
    assert generic.ring(4).orders.tolist() == [[0, 1, 2, 3], [0, 3, 2, 1]]


def test_the_name_can_be_typed_again():
    assert generic.ring(8, bandwidth="25GB/s", alpha="1us").name == "ring(8)"
    assert generic.ring(8, bandwidth="400Gbit/s", alpha=2e-6).name == "ring(8, bandwidth=50GB/s, alpha=2us)"


def test_columns_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        generic.ring(4).links.bandwidth[0] = 1


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: generic.ring(0), "ring: ranks=0 is too small"),
        (lambda: generic.ring(-3), "ranks=-3"),
        (lambda: generic.ring(4, bandwidth="25G"), "bandwidth='25G'"),
        (lambda: generic.ring(4, bandwidth=0), "bandwidth=0 must be more than 0"),
        (lambda: generic.ring(4, alpha="-1us"), "alpha='-1us' is negative"),
        (lambda: generic.hypercube(6), "must be a power of two"),
        (lambda: generic.torus(), r"torus\(4, 4\)"),
        (lambda: generic.torus(4, 0), "dimension 1 of torus=0"),
        (lambda: generic.fat_tree(5), "must be even; use 6"),
        (lambda: generic.fully_connected(10**6), "use switch"),
        (lambda: generic.ring(4).routes(0, 4), "no rank 4: its ranks are 0 to 3"),
        (lambda: generic.ring(4).device("gpu9"), "unknown device 'gpu9'"),
    ],
)
def test_mistakes_are_told_with_the_value_and_the_way_out(build, says):
    with pytest.raises(cs.CollsimError, match=says):
        build()


def test_helpers_get_a_host_with_the_same_cable():
    topology = generic.switch(4, bandwidth="10GB/s").with_helpers(2)
    assert (topology.ranks, topology.endpoints) == (4, 6)
    assert [hop.dst for hop in topology.route(0, 5)] == ["switch0", "host1"]
    assert set(topology.links.bandwidth) == {10e9}
    assert topology.with_helpers(1) is topology


@pytest.mark.parametrize("name", ["star", "fully_connected", "tree"])
def test_helpers_reach_every_rank_and_each_other(name):
    topology = SMALL[name].with_helpers(2)
    assert (topology.routes(*all_pairs(topology)).hops > 0).sum() == topology.endpoints * (topology.endpoints - 1)


def test_a_ring_has_no_place_for_a_server_and_says_what_to_do():
    with pytest.raises(cs.TopologyError, match=r"server='rank'.*switch\(4\)"):
        generic.ring(4).with_helpers(1)


def test_a_thousand_ranks_route_at_once():
    topology = generic.torus(16, 64)
    rank = np.arange(1024)
    assert topology.routes(rank, (rank + 512) % 1024).hops.tolist() == [8] * 1024  # half of the 16 rows away
