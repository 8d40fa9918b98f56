"""Chosen routes: every cable of a leaf-spine network is used alike, and schedules come to the bound."""

import networkx as nx
import numpy as np
import pytest
from networks import random_network

import collsim as cs
from collsim.synthesis import choose_routes


def leaf_spine(leaves, spines, gpus, slow=1.0):
    """Of one rate, but for the cables of the first spine."""
    graph = nx.Graph()
    for rank in range(leaves * gpus):
        graph.add_node(rank, kind="gpu")
        graph.add_edge(rank, f"leaf{rank // gpus}", bandwidth="10GB/s")
    graph.add_edges_from(
        (f"leaf{leaf}", f"spine{spine}", {"bandwidth": 10e9 * (1.0 if spine else slow)})
        for leaf in range(leaves)
        for spine in range(spines)
    )
    return cs.Topology.from_networkx(graph)


def count_flows(network):
    """Flows of an alltoall on each link between switches."""
    n = network.ranks
    src, dst = np.divmod(np.flatnonzero(~np.eye(n, dtype=bool)), n)
    flows = np.bincount(network.routes(src, dst).link, minlength=len(network.links))
    names = np.array([name.startswith(("leaf", "spine")) for name in network.devices.name])
    return flows[names[network.links.src] & names[network.links.dst]]


def test_all_cables_between_switches_carry_as_many_flows():
    """Four leaves of four GPUs: 12 flows leave each GPU's leaf, 48 in all over four cables."""
    network = leaf_spine(4, 4, 4)
    assert count_flows(choose_routes(network)).tolist() == [12] * 32
    assert count_flows(network).max() > 20


@pytest.mark.parametrize("shape", [(2, 2, 2), (4, 4, 4)])
def test_an_alltoall_on_chosen_routes_comes_to_the_bound(shape):
    times = []
    for network in (leaf_spine(*shape), choose_routes(leaf_spine(*shape))):
        made = cs.synthesize("alltoall", network)
        cs.verify(made)
        times.append(cs.simulate(made, network, "4GiB", engine="event"))
    assert times[1].gap < 1.01
    assert times[1].time < 0.8 * times[0].time


def test_a_slow_spine_gets_fewer_flows():
    flows = count_flows(choose_routes(leaf_spine(4, 2, 4, slow=0.5)))
    slow, fast = sorted(flows.reshape(-1).tolist())[:8], sorted(flows.tolist())[8:]
    assert sum(slow) < 0.7 * sum(fast)


def test_routes_are_found_again_after_a_cable_is_lost_and_bad_networks_are_refused():
    spread = choose_routes(leaf_spine(2, 2, 2))
    assert len(spread.without_link("leaf0", "spine0").route(0, 2)) == 4
    mixed = choose_routes(random_network(3))  # some ranks meet at a switch, others are joined by ranks alone
    assert mixed.routes([0] * (mixed.ranks - 1), range(1, mixed.ranks)).hops.min() >= 1
    with pytest.raises(cs.TopologyError, match="rules of its machines"):
        choose_routes(cs.machine("dgx-a100", nodes=2))
    with pytest.raises(cs.TopologyError, match="1024 ranks"):
        choose_routes(cs.topology.switch(1025))
