"""Fabrics: closed-form routes against the explicit graph, bisection against the formula."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import collsim as cs
from collsim.topology import machine
from collsim.topology.cables import find_nic
from collsim.topology.fabrics import FABRICS, build_fabric
from collsim.topology.graph import ShortestPaths

HDR = find_nic("ib-hdr").cable
SHAPES = [
    ("switch", 4, 8, {}),
    ("leaf-spine", 4, 8, {"radix": 16}),
    ("leaf-spine", 5, 2, {"nodes_per_leaf": 2, "oversubscription": 2}),
    ("fat-tree", 4, 4, {}),
    ("fat-tree", 9, 3, {"radix": 8, "oversubscription": 2}),
    ("rail", 4, 8, {"unit": 2}),
    ("rail", 8, 4, {"unit": 4, "oversubscription": 4}),
    ("torus", 12, 2, {}),
    ("torus", 27, 1, {"dims": (3, 3, 3)}),
    ("mesh", 6, 4, {}),
    ("dragonfly", 12, 2, {}),
]


def explicit(net):
    a, b = net.ends()
    src, dst = np.stack([a, b], 1).ravel().astype(np.int32), np.stack([b, a], 1).ravel().astype(np.int32)
    return ShortestPaths(net.ports + sum(n for n, _ in net.switches), src, dst), src, dst


@pytest.mark.parametrize(("name", "nodes", "cards", "options"), SHAPES)
def test_ways_join_their_ports_and_are_as_short_as_in_the_graph(name, nodes, cards, options):
    net = build_fabric(name, nodes, cards, HDR, **options)
    shortest, src, dst = explicit(net)
    one, two = np.divmod(np.arange(net.ports**2), net.ports)
    away = one != two
    one, two = one[away], two[away]
    for p, q, way in zip(one.tolist(), two.tolist(), net.find_links(one, two), strict=True):
        links = way[way >= 0]
        at = p
        for link in links:
            assert src[link] == at
            at = dst[link]
        assert at == q
        far, here = 0, p
        while here != q:
            here = int(shortest.find_next_hops(q)[here])
            far += 1
        assert len(links) == far or name == "dragonfly"
        if name == "dragonfly":
            assert len(links) <= 5


def cut(topology, half):
    """Bytes per second from the ranks in `half` to the others: the smallest cut of the whole network."""
    graph = topology.to_networkx()
    for *_, data in graph.edges(data=True):
        data["capacity"] = data["bandwidth"] if data["kind"] == "infiniband" else 1e15
    place = topology.endpoint_device
    for rank in range(topology.ranks):
        name = topology.devices.name[place[rank]]
        if half[rank]:
            graph.add_edge("left", name, capacity=1e15)
        else:
            graph.add_edge(name, "right", capacity=1e15)
    return nx.maximum_flow_value(graph, "left", "right")


def halves(topology):
    node = topology.devices.node[topology.endpoint_device]
    return node < (node.max() + 1) // 2


@pytest.mark.parametrize(
    ("options", "share"),
    [
        ({"fabric": "switch"}, 1),
        ({"fabric": "leaf-spine", "nodes_per_leaf": 1}, 1),
        ({"fabric": "leaf-spine", "nodes_per_leaf": 1, "oversubscription": 2}, 1 / 2),
        ({"fabric": "leaf-spine", "nodes_per_leaf": 2, "oversubscription": 3}, 1 / 3),
        ({"fabric": "fat-tree", "radix": 8}, 1),
        ({"fabric": "rail", "unit": 2}, 1),
        ({"fabric": "rail", "unit": 2, "oversubscription": 4}, 1 / 4),
        ({"fabric": "rail-only"}, 1),
        ({"fabric": "planes", "planes": 2}, 1),
    ],
    ids=str,
)
def test_bisection_is_half_the_cards_divided_by_the_oversubscription(options, share):
    topology = machine("dgx-a100", nodes=4, **options)
    assert cut(topology, halves(topology)) == pytest.approx(2 * 8 * 25e9 * share)


@pytest.mark.parametrize("nodes", [3, 5, 7])
@pytest.mark.parametrize(
    ("options", "share"),
    [
        ({"fabric": "switch"}, 1),
        ({"fabric": "leaf-spine", "nodes_per_leaf": 1}, 1),
        ({"fabric": "leaf-spine", "nodes_per_leaf": 1, "oversubscription": 2}, 1 / 2),
        ({"fabric": "leaf-spine", "nodes_per_leaf": 1, "oversubscription": 1.5}, 1 / 1.5),
        ({"fabric": "leaf-spine", "nodes_per_leaf": 1, "oversubscription": 3}, 1 / 3),
        ({"fabric": "rail", "unit": 1, "oversubscription": 2}, 1 / 2),
        ({"fabric": "rail-only"}, 1),
    ],
    ids=str,
)
def test_of_an_odd_number_of_nodes_the_smaller_half_counts(options, share, nodes):
    topology = machine("aws-p4d", nodes=nodes, nic="ib-hdr", nics="all", **options)
    assert cut(topology, halves(topology)) == pytest.approx((nodes // 2) * 4 * 25e9 * share)


def test_a_half_that_leaves_share_is_not_slowed_by_the_oversubscription():
    """5 nodes, two to a leaf: nodes 0 and 1 fill leaf 0, so that what crosses is leaf 0's way up; of 3, 4 | 5 two share
    leaf 1."""
    for ratio, expected in ((1, 2 * 4 * 25e9), (4, 2 * 4 * 25e9 / 4)):
        topology = machine(
            "aws-p4d", nodes=5, nic="ib-hdr", nics="all", fabric="leaf-spine", nodes_per_leaf=2, oversubscription=ratio
        )
        assert cut(topology, halves(topology)) == pytest.approx(expected)
    across = machine(
        "aws-p4d", nodes=2, nic="ib-hdr", nics="all", fabric="leaf-spine", nodes_per_leaf=2, oversubscription=4
    )
    assert cut(across, halves(across)) == pytest.approx(4 * 25e9)  # both on one leaf: nothing goes up


@pytest.mark.parametrize(("nodes", "radix", "ratio"), [(4, 8, 2), (4, 8, 4), (8, 8, 1), (6, 8, 1)])
def test_bisection_of_a_fat_tree_counts_its_edge_switches(nodes, radix, ratio):
    """A node's 4 cards fill one edge switch of radix 8, whose ways up carry 4 cards' rate divided by the
    oversubscription."""
    topology = machine(
        "aws-p4d", nodes=nodes, nic="ib-hdr", nics="all", fabric="fat-tree", radix=radix, oversubscription=ratio
    )
    assert cut(topology, halves(topology)) == pytest.approx(nodes / 2 * 4 * 25e9 / ratio)


def test_bisection_of_a_dragonfly_is_no_more_than_its_global_cables():
    """(a h + 1) groups, one cable between any two: of 3 groups {0} | {1, 2} two cables; nodes fill groups in order."""
    topology = machine(
        "aws-p4d", nodes=6, nic="ib-hdr", nics="all", fabric="dragonfly", ports_per_switch=4, switches=2, cables=1
    )
    first = topology.devices.node[topology.endpoint_device] < 2  # group 0
    assert cut(topology, first) == pytest.approx(2 * 25e9)


def test_bisection_of_a_torus_is_two_cuts_of_its_longer_rings():
    topology = machine("dgx-a100", nodes=16, fabric="torus", dims=(4, 4))
    assert cut(topology, halves(topology)) == pytest.approx(
        2 * 4 * 8 * 25e9
    )  # 4 rings cut twice, 8 cards' worth a cable
    grid = machine("dgx-a100", nodes=16, fabric="mesh", dims=(4, 4))
    assert cut(grid, halves(grid)) == pytest.approx(4 * 8 * 25e9)


def test_bisection_of_generic_networks_is_the_textbook_formula():
    t = cs.topology
    every = {
        "ring": (t.ring(8), 2),
        "line": (t.line(8), 1),
        "torus": (t.torus(4, 4), 8),
        "hypercube": (t.hypercube(8), 4),
    }
    for name, (topology, cables) in every.items():
        graph = topology.to_networkx()
        crossing = [
            d["bandwidth"] for a, b, d in graph.edges(data=True) if int(a[3:]) < topology.ranks // 2 <= int(b[3:])
        ]
        assert sum(crossing) == cables * 25e9, name


def test_rails_of_one_unit_cross_one_leaf_and_others_the_spine():
    topology = machine("dgx-h100", nodes=4, fabric="rail", unit=2)
    assert [h.dst for h in topology.route(0, 8)][2:4] == ["fabric/leaf0", "node1/nic0"]
    assert [h.dst for h in topology.route(0, 16)][2:4] == ["fabric/leaf0", "fabric/spine0"]
    assert [h.dst for h in topology.route(0, 16)][4:6] == ["fabric/leaf8", "node2/nic0"]


def test_pxn_moves_data_over_nvlink_to_the_gpu_whose_card_is_on_the_rail():
    on, off = machine("dgx-h100", nodes=2, fabric="rail"), machine("dgx-h100", nodes=2, fabric="rail", pxn=False)
    assert [h.dst for h in on.route(3, 8)] == [
        "node0/nvswitch",
        "node0/gpu0",
        "node0/pcie0",
        "node0/nic0",
        "fabric/leaf0",
        "node1/nic0",
        "node1/pcie0",
        "node1/gpu0",
    ]
    assert "fabric/spine0" in [h.dst for h in off.route(3, 8)]
    assert "PXN through gpu0" in on.explain(3, 8)
    assert "PXN" not in machine("dgx-h100", nodes=2, fabric="rail", gdr=False).explain(
        3, 8
    )  # the other GPU's card must be in reach


@pytest.mark.parametrize("name", ["dgx-a100", "dgx-h100"])
def test_every_channel_of_a_rail_fabric_stays_on_its_rail(name):
    topology = machine(name, nodes=4, fabric="rail", unit=4)
    for channel, order in enumerate(topology.orders):
        routes = topology.routes(order, np.roll(order, -1))
        used = {topology.devices.name[d] for d in topology.links.dst[routes.link] if topology.devices.node[d] < 0}
        assert used == {f"fabric/leaf{channel}"}


def test_rails_that_nothing_joins_need_pxn():
    with pytest.raises(cs.TopologyError, match="lanes that nothing joins, and PXN is not used"):
        machine("dgx-h100", nodes=2, fabric="rail-only", pxn=False).route(1, 8)
    assert machine("dgx-h100", nodes=2, fabric="rail-only").route(1, 8)


def test_planes_keep_to_themselves():
    topology = machine("dgx-a100", nodes=2, fabric="planes", planes=2)
    n = topology.ranks
    routes = topology.routes(*np.divmod(np.arange(n * n), n))
    for i in range(n * n):
        switches = {int(d) for d in topology.links.dst[routes[i]] if topology.devices.node[d] < 0}
        assert len(switches) <= 1


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(sorted(FABRICS)),
    st.integers(2, 9),
    st.sampled_from(["dgx-1v", "dgx-a100", "pcie-8gpu"]),
    st.booleans(),
)
def test_any_cluster_is_the_same_as_its_explicit_graph(name, nodes, plan, gdr):
    """Every hop of the arithmetic is an edge of the graph with the same figures."""
    topology = machine(plan, nodes=nodes, fabric=name, gdr=gdr, pxn=True)
    graph = topology.to_networkx()
    rng = np.random.default_rng(nodes)
    src, dst = rng.integers(0, topology.ranks, (2, 40))
    try:
        routes = topology.routes(src, dst)
    except cs.TopologyError as error:
        assert "lanes that nothing joins" in str(error)  # noqa: PT017
        return
    for i in range(40):
        names = [topology.devices.name[topology.endpoint_device[src[i]]]]
        for link in routes[i]:
            names.append(topology.devices.name[topology.links.dst[link]])
            edge = graph.edges[names[-2], names[-1]]
            assert edge["bandwidth"] == topology.links.bandwidth[link]
            assert edge["alpha"] == topology.links.alpha[link]
        assert names[-1] == topology.devices.name[topology.endpoint_device[dst[i]]]


def test_oversubscription_slows_an_alltoall_and_not_a_ring_in_order():
    def run(algorithm, **options):
        topology = machine("dgx-a100", nodes=4, fabric="leaf-spine", nodes_per_leaf=1, **options)
        pinned = {"channels": 1} if algorithm == "allreduce_ring" else {}
        return cs.simulate(cs.schedule(algorithm, topology=topology, **pinned), topology, "64MiB").time

    assert run("allreduce_ring", oversubscription=4) == pytest.approx(run("allreduce_ring"))
    alltoall = next(iter(cs.algorithms("alltoall")), None)
    if alltoall is not None:
        assert run(alltoall, oversubscription=4) > run(alltoall)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"fabric": "fat-tree", "radix": 4}, r"radix=4 ports holds 16 cards, not 32"),
        ({"fabric": "torus", "dims": (3, 2)}, "hold 6 nodes, not 4"),
        ({"fabric": "mesh", "dims": 4}, r"dims=4 must be a list of sizes, for example dims=\(2, 2\)"),
        ({"fabric": "rail", "pxn": "yes"}, "pxn='yes' must be True, False"),
        ({"fabric": "planes", "planes": 9}, "more than the 8 network cards"),
        ({"fabric": "rail", "dims": (2, 2)}, "no option 'dims'"),
        ({"fabric": "dragonfly", "switches": 1, "cables": 1}, "use more switches"),
        ({"fabric": "rails"}, "did you mean 'rail'"),
    ],
)
def test_mistakes_are_told_with_the_value_and_the_way_out(options, says):
    with pytest.raises(cs.TopologyError, match=says):
        machine("dgx-a100", nodes=4, **options)


def test_the_options_of_a_fabric_are_told_in_both_languages():
    with pytest.raises(cs.TopologyError) as caught:
        machine("dgx-a100", nodes=4, fabric="rail-only", radix=4)
    assert str(caught.value).endswith("rail-only: card i of every node on switch i, nothing above")
    assert caught.value.text("zh").endswith("rail-only：各节点的网卡 i 都接在交换机 i 上，其上没有交换机")


@pytest.mark.slow
def test_a_million_gpus_are_index_arithmetic():
    topology = machine("dgx-h100", nodes=131_072, fabric="fat-tree")
    assert topology.ranks == 1_048_576
    rank = np.array([0, 7, 1_048_575])
    routes = topology.routes(rank, (rank + 1) % topology.ranks)
    assert routes.hops.tolist() == [2, 6, 10]  # NVLink; one edge switch; over a core
    assert topology.link_name(int(routes[2][-1])) == "node0/pcie0 → node0/gpu0"


def test_pxn_spares_a_gpu_without_a_near_card_the_way_through_host_memory():
    """NCCL src/graph/paths.cc: a GPU sends to a far card over NVLink and the GPU next to it. With one of eight cards a
    ring leaves a DGX H100 at the card's rate (NVIDIA/nccl issue 1591), not at that of host memory."""
    on, off = (machine("dgx-h100", nodes=2, nics=1, pxn=pxn) for pxn in (None, False))
    kinds = [[hop.kind for hop in topology.route(1, 8)] for topology in (on, off)]
    assert "nvlink" in kinds[0]
    assert "memory" in kinds[1]
    assert "memory" not in kinds[0]
    near = [[hop.kind for hop in topology.route(0, 8)] for topology in (on, off)]
    assert near[0] == near[1]
    rates = [cs.nccl.predict("allreduce", topology, "1GiB", NCCL_ALGO="Ring").busbw for topology in (on, off)]
    assert rates[0] == pytest.approx(45e9, rel=0.02)
    assert rates[1] < 36e9
