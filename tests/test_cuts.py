"""Cut bounds against published and hand-worked values."""

import pytest

import collsim as cs
from collsim.cuts import allgather_ratio, flow_ratio

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
    assert allgather_ratio(dgx1) == pytest.approx(7 / 6, rel=1e-9)


def test_allgather_on_two_boxes_of_eight_a100():
    """ForestColl (arXiv 2402.06787): 300 GB/s to the switch of the box and 25 GB/s to the network per GPU: 346.67
    GB/s."""
    edges = [(g, f"nvswitch{g // 8}", 300e9) for g in range(16)] + [(g, "network", 25e9) for g in range(16)]
    boxes = graph_of(edges, 16)
    assert 16 / allgather_ratio(boxes) == pytest.approx(346.6667e9, rel=1e-6)


def test_a_bridge_between_two_islands_is_the_worst_cut():
    """Two triangles of fast links joined by one slow link: 3 blocks must cross it."""
    edges = [(0, 1, 10.0), (1, 2, 10.0), (0, 2, 10.0), (3, 4, 10.0), (4, 5, 10.0), (3, 5, 10.0), (2, 3, 1.0)]
    islands = graph_of(edges, 6)
    assert allgather_ratio(islands) == pytest.approx(3.0)
    assert flow_ratio(islands) == pytest.approx(1.0)


def test_broadcast_is_bounded_by_the_smallest_flow_from_the_root():
    line = graph_of([(0, 1, 4.0), (1, 2, 2.0)], 3)
    assert flow_ratio(line, root=0) == pytest.approx(1 / 2)
    assert flow_ratio(line, 2, root=0) == pytest.approx(1 / 4)


def test_a_trace_is_never_below_its_cut_bound():
    network = cs.topology.ring(8)
    for name in cs.algorithms("allgather"):
        try:
            trace = cs.simulate(cs.schedule(name, ranks=8), network, "8MiB")
        except cs.TopologyError:
            continue  # a ring has no place for a switch that multicasts
        assert trace.time >= trace.bound.time
        assert trace.bound.bandwidth >= 2**20 * allgather_ratio(network)
