"""Cut bounds against published and hand-worked values."""

import itertools

import numpy as np
import pytest

import collsim as cs
from collsim.bounds.cuts import find_groups, find_worst_cut

# Links between the GPUs of a DGX-1V (nvidia-smi topo -m; NVIDIA/nccl issue 671).
DGX1 = {
    0: {1: 1, 2: 1, 3: 2, 4: 2},
    1: {2: 2, 3: 1, 5: 2},
    2: {3: 2, 6: 1},
    3: {7: 1},
    4: {5: 1, 6: 1, 7: 2},
    5: {6: 2, 7: 1},
    6: {7: 2},
}


def measure_ratio(what, network, ranks=None, **options):
    return find_worst_cut(what, network, ranks, **options)[0]


def graph_of(edges, ranks):
    import networkx as nx

    graph = nx.Graph()
    for rank in range(ranks):
        graph.add_node(rank, kind="gpu")
    for a, b, bandwidth in edges:
        graph.add_edge(a, b, bandwidth=bandwidth, alpha=0.0)
    return cs.Topology.from_networkx(graph)


def test_allgather_on_dgx1_with_unit_links_takes_seven_sixths():
    """SCCL (Cai et al. 2021): every GPU has 6 unit links and needs 7 blocks."""
    dgx1 = graph_of([(a, b, w) for a, row in DGX1.items() for b, w in row.items()], 8)
    assert measure_ratio("allgather", dgx1) == pytest.approx(7 / 6, rel=1e-9)


def test_allgather_on_two_boxes_of_eight_a100():
    """ForestColl (arXiv 2402.06787): 300 GB/s to the switch of the box and 25 GB/s to the network per GPU: 346.67
    GB/s."""
    edges = [(g, f"nvswitch{g // 8}", 300e9) for g in range(16)] + [(g, "network", 25e9) for g in range(16)]
    boxes = graph_of(edges, 16)
    assert 16 / measure_ratio("allgather", boxes) == pytest.approx(346.6667e9, rel=1e-6)


def test_a_bridge_between_two_islands_is_the_worst_cut():
    """Two triangles of fast links joined by one slow link: 3 blocks must cross it."""
    edges = [(0, 1, 10.0), (1, 2, 10.0), (0, 2, 10.0), (3, 4, 10.0), (4, 5, 10.0), (3, 5, 10.0), (2, 3, 1.0)]
    islands = graph_of(edges, 6)
    assert measure_ratio("allgather", islands) == pytest.approx(3.0)
    assert measure_ratio("flow", islands) == pytest.approx(1.0)


def test_broadcast_is_bounded_by_the_smallest_flow_from_the_root():
    line = graph_of([(0, 1, 4.0), (1, 2, 2.0)], 3)
    assert measure_ratio("flow", line, root=0) == pytest.approx(1 / 2)
    assert measure_ratio("flow", line, 2, root=0) == pytest.approx(1 / 4)


def test_a_trace_is_never_below_its_cut_bound():
    network = cs.topology.ring(8)
    for name in cs.algorithms("allgather"):
        try:
            trace = cs.simulate(cs.schedule(name, ranks=8), network, "8MiB")
        except cs.TopologyError:
            continue  # a ring has no place for a switch that multicasts
        assert trace.time >= trace.bound.time
        assert trace.bound.bandwidth >= 2**20 * measure_ratio("allgather", network)


def boxes_of_a100(nodes):
    """ForestColl's model of DGX A100 (liangyuRain/ForestColl topologies.py): 300 GB/s to NVSwitch, 25 GB/s to the network, per GPU."""
    edges = [(g, f"nvswitch{g // 8}", 300e9) for g in range(8 * nodes)]
    return graph_of(edges + [(g, "network", 25e9) for g in range(8 * nodes)], 8 * nodes)


# xGMI links of 50 GB/s between the 16 dies of a box of eight MI250 (liangyuRain/ForestColl topologies.py, MI250_ADJ_MAT).
MI250 = {
    0: {1: 4, 4: 2, 8: 1},
    1: {5: 1, 9: 1, 10: 1},
    2: {3: 4, 6: 1, 9: 1, 10: 1},
    3: {7: 2, 11: 1},
    4: {5: 4, 6: 1},
    5: {6: 1, 7: 1},
    6: {7: 4},
    8: {9: 4, 12: 2},
    9: {13: 1},
    10: {11: 4, 14: 1},
    11: {15: 2},
    12: {13: 4, 14: 1},
    13: {14: 1, 15: 1},
    14: {15: 4},
}


def boxes_of_mi250(nodes):
    edges = [
        (16 * k + a, 16 * k + b, 50e9 * w) for k in range(nodes) for a, row in MI250.items() for b, w in row.items()
    ]
    return graph_of(edges + [(g, "network", 16e9) for g in range(16 * nodes)], 16 * nodes)


@pytest.mark.parametrize(
    ("network", "algbw"),
    [
        (boxes_of_a100(2), 16 / 15 * 325),  # into one GPU: 15 blocks over 300 + 25
        (boxes_of_a100(4), 32 / 24 * 200),  # into one box: 24 blocks over 8 * 25
        (boxes_of_mi250(2), 354.13),  # as ForestColl's own search finds
    ],
    ids=["2 x 8 A100", "4 x 8 A100", "2 x 16 MI250"],
)
def test_forestcoll_optimum_is_found_above_twenty_ranks(network, algbw):
    """Optimal algbw in GB/s, N / max |S| / B+(S) (arXiv 2402.06787, theorem 1; its README computes the same)."""
    assert network.ranks / measure_ratio("allgather", network) / 1e9 == pytest.approx(algbw, rel=2e-5)


def test_more_nodes_do_not_lower_the_bound_of_the_network_between_them():
    """One box of eight behind 8 x 12.5 GB/s takes in 1 GiB: 10.74 ms. Between four go 2 * 3 GiB over four times that."""
    two, four = (cs.machine("dgx-h100", nodes=nodes, nic="ib-edr") for nodes in (2, 4))
    bound = cs.lower_bound("allreduce", two, "1GiB")
    assert bound.time == pytest.approx(2**30 / 100e9, rel=1e-9)
    assert len(bound.cut.ranks) == 8
    assert bound.cut.bandwidth == pytest.approx(100e9)
    bound = cs.lower_bound("allreduce", four, "1GiB")
    assert (bound.cut, bound.groups) == (None, 4)
    assert bound.time == pytest.approx(6 * 2**30 / 400e9, rel=1e-9)
    assert cs.lower_bound("broadcast", four, "1GiB").cut.bandwidth == pytest.approx(100e9)


def test_groups_of_ranks_behind_slow_links_send_more_than_twice_what_one_must():
    """Three racks of two nodes of two ranks: 2 * 2 buffers between racks, over one cable of each, one way."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(12), kind="gpu")
    for rack, node in itertools.product("abc", range(2)):
        ranks = [4 * "abc".index(rack) + 2 * node + i for i in range(2)]
        for src, dst, rate in [(ranks[0], ranks[1], "100GB/s"), *[(r, rack, "20GB/s") for r in ranks]]:
            graph.add_edge(src, dst, bandwidth=rate)
            graph.add_edge(dst, src, bandwidth=rate)
    for rack in "abc":
        graph.add_edge(rack, "core", bandwidth="9GB/s")
        graph.add_edge("core", rack, bandwidth="8GB/s")
    network = cs.Topology.from_networkx(graph)
    assert find_groups(network, 12) == (3, pytest.approx(24e9))
    bound = cs.lower_bound("allreduce", network, "1GiB")
    assert (bound.groups, bound.time) == (3, pytest.approx(4 * 2**30 / 24e9))
    schedule = cs.schedule("allreduce_hierarchical", ranks=12, topology=network)
    assert cs.simulate(schedule, network, "1GiB", engine="event").time >= bound.time


def random_network(seed):
    """Ranks and switches with random one-way links, every rank reachable from every other."""
    import networkx as nx

    rng = np.random.default_rng(seed)
    n, switches = int(rng.integers(2, 6)), int(rng.integers(0, 3))
    graph = nx.DiGraph()
    for device in range(n + switches):
        graph.add_node(device, kind="gpu" if device < n else "switch")
    order = rng.permutation(n + switches)
    pairs = {(int(a), int(b)) for a, b in zip(order, np.roll(order, 1), strict=True) if a != b}
    pairs |= {(int(a), int(b)) for a, b in rng.integers(0, n + switches, (2 * n, 2)) if a != b}
    for a, b in sorted(pairs):
        graph.add_edge(a, b, bandwidth=float(rng.integers(1, 9)), alpha=0.0)
    return cs.Topology.from_networkx(graph)


def crossed(network):
    """Which links some route between two ranks crosses."""
    pairs = itertools.permutations(range(network.ranks), 2)
    used = {int(link) for a, b in pairs for link in network.routes([a], [b])[0]}
    return np.array([link in used for link in range(len(network.links))])


def sides(network):
    used = crossed(network)
    for bits in itertools.product([False, True], repeat=len(network.devices)):
        side = np.array(bits)
        inside = int(side[network.endpoint_device].sum())
        if 0 < inside < network.ranks:
            links = network.links
            yield side, inside, float(links.bandwidth[side[links.src] & ~side[links.dst] & used].sum())


@pytest.mark.parametrize("seed", range(40))
def test_every_ratio_is_that_of_all_cuts_tried_one_by_one(seed):
    network = random_network(seed)
    cuts = list(sides(network))
    home = network.endpoint_device[0]
    assert measure_ratio("allgather", network) == pytest.approx(max(k / b for _, k, b in cuts))
    assert measure_ratio("allgather", network, reverse=True) == pytest.approx(
        max((network.ranks - k) / b for _, k, b in cuts)
    )
    assert measure_ratio("flow", network) == pytest.approx(max(1 / b for _, _, b in cuts))
    assert measure_ratio("flow", network, root=0) == pytest.approx(max(1 / b for side, _, b in cuts if side[home]))
    assert measure_ratio("flow", network, root=0, reverse=True) == pytest.approx(
        max(1 / b for side, _, b in cuts if not side[home])
    )
    assert measure_ratio("gather", network, root=0) == pytest.approx(
        max(k / b for side, k, b in cuts if not side[home])
    )
    assert measure_ratio("gather", network, root=0, reverse=True) == pytest.approx(
        max((network.ranks - k) / b for side, k, b in cuts if side[home])
    )
    assert measure_ratio("alltoall", network) <= max(k * (network.ranks - k) / b for _, k, b in cuts) * (1 + 1e-12)


@pytest.mark.parametrize("collective", ["allgather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter"])
def test_the_cut_of_a_bound_says_which_ranks_and_links_take_that_long(collective):
    """2 x 16 MI250: the links named are all that cross, and their bandwidth gives the time."""
    network = boxes_of_mi250(2)
    bound = cs.lower_bound(collective, network, "1GiB", root=3)
    cut, links = bound.cut, network.links
    assert cut.time == pytest.approx(bound.bandwidth)
    assert links.bandwidth[list(cut.links)].sum() == pytest.approx(cut.bandwidth)
    gone = np.ones(len(links), bool)
    gone[list(cut.links)] = False
    reached = set(cut.ranks)
    ends = (links.dst, links.src) if cut.into else (links.src, links.dst)
    for _ in range(len(network.devices)):
        reached |= {int(b) for a, b in zip(ends[0][gone], ends[1][gone], strict=True) if int(a) in reached}
    assert reached & set(range(network.ranks)) == set(cut.ranks), "without its links the two sides are apart"
    assert ("into" if cut.into else "out of") in cut.describe(network)
