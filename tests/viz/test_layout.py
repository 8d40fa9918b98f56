"""Boxes do not overlap and lie in the stage, cables end at their devices, and the machine is recognisable."""

import networkx as nx
import numpy as np
import pytest

import collsim as cs
from collsim.errors import CollsimError
from collsim.topology import machine, machines
from collsim.viz.geometry import Box, beside, both_ways
from collsim.viz.layout import layout

GENERIC = [
    *(
        getattr(cs.topology, shape)(n)
        for shape in ("ring", "line", "star", "switch", "fully_connected", "tree")
        for n in (1, 2, 3, 8, 16, 33, 64)
    ),
    *(cs.topology.torus(*d) for d in ((4, 4), (3, 5), (2, 2, 2), (4, 4, 4))),
    *(cs.topology.mesh(*d) for d in ((2, 2), (4, 8), (2, 3, 4))),
    *(cs.topology.hypercube(n) for n in (2, 4, 8, 16, 32)),
    cs.topology.switch(8).with_helpers(2),
    cs.topology.fat_tree(4),
    cs.topology.dragonfly(),
]


def machine_of(name, nodes):
    try:
        return machine(name, nodes=nodes)
    except CollsimError as error:
        pytest.skip(str(error))


def idle(topology):
    """As drawn where nothing uses any link."""
    return layout(topology, np.zeros(len(topology.links), bool))


def check(made):
    for i, box in enumerate(made.boxes):
        name = made.picture.name[i]
        assert box.x >= -0.1, name
        assert box.y >= -0.1, name
        assert box.right <= made.w + 0.1, name
        assert box.bottom <= made.h + 0.1, name
        for j in range(i):
            assert not box.overlaps(made.boxes[j]), (name, made.picture.name[j])
    assert len(made.lines) == len(made.picture.src)
    for a, b, line in zip(made.picture.src, made.picture.dst, made.lines, strict=True):
        assert near(made.boxes[a], line[0]), (made.picture.name[a], line[0], made.boxes[a])
        assert near(made.boxes[b], line[-1]), (made.picture.name[b], line[-1], made.boxes[b])


def near(box, point, slack=14):
    """A cable's two directions lie beside its middle line, so an end may be half a cable away from the box."""
    x, y = point
    return box.x - slack <= x <= box.right + slack and box.y - slack <= y <= box.bottom + slack


@pytest.mark.parametrize("topology", GENERIC, ids=lambda t: t.name)
def test_generic_networks(topology):
    check(layout(topology))


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 8, 9, 32])
@pytest.mark.parametrize("name", list(machines()))
def test_every_machine_with_everything_drawn_and_with_what_is_idle_left_out(name, nodes):
    topology = machine_of(name, nodes)
    check(layout(topology))
    check(idle(topology))


@pytest.mark.parametrize("fabric", ["switch", "leaf-spine", "rail", "rail-only"])
@pytest.mark.parametrize("nodes", [2, 4])
def test_every_fabric(fabric, nodes):
    check(layout(machine("dgx-a100", nodes=nodes, fabric=fabric)))


def test_any_graph_is_drawn_and_always_the_same():
    graph = nx.petersen_graph()
    nx.set_node_attributes(graph, "gpu", "kind")
    nx.set_edge_attributes(graph, {e: {"bandwidth": 1e9, "alpha": 1e-6} for e in graph.edges})
    topology = cs.Topology.from_networkx(graph)
    check(layout(topology))
    assert layout(topology).boxes == layout(topology).boxes


def test_two_dgx_a100_stand_as_in_the_mock():
    """Positions of the mock, in pixels: GPU 0 at (19, 293), NIC 7 at (438, 192), the switch in the middle; node 1 mirrored."""
    made = idle(machine("dgx-a100", nodes=2))
    at = dict(zip(made.picture.name, made.boxes, strict=True))
    assert made.w == 1134
    assert at["node0/gpu0"] == Box(19, 293, 42, 40)
    assert at["node1/gpu0"] == Box(702, 293, 42, 40)
    assert at["node0/nic7"] == Box(438, 192, 48, 19)
    assert at["node1/nic0"].y == at["node0/nic7"].y, "7 → 8 is one level line at the bottom"
    assert at["node1/nic7"].y == at["node0/nic0"].y, "15 → 0 is one level line at the top"
    assert at["fabric/switch0"].cx == 567
    assert at["node0/nvswitch"] == Box(18, 421, 415, 31)
    assert [p.label["en"] for p in made.panels] == ["Node 0", "Node 1"]
    assert made.panels[1].note == {"en": "DGX A100, ranks 8 to 15", "zh": "DGX A100，rank 8–15"}


@pytest.mark.parametrize("name", ["dgx-a100", "dgx-h100", "dgx-1v", "pcie-8gpu"])
@pytest.mark.parametrize("nodes", [1, 2])
def test_gpus_are_large_enough_for_the_last_row(name, nodes):
    made = layout(machine(name, nodes=nodes))
    assert all(b.w >= 30 and b.h >= 30 for b, kind in zip(made.boxes, made.picture.kind, strict=True) if kind == "gpu")


def test_active_cables_of_a_ring_over_two_nodes_do_not_cross():
    topology = machine("dgx-a100", nodes=2)
    trace = cs.simulate(cs.schedule("allreduce_ring", topology=topology), topology, "1MiB")
    made = layout(topology, trace.link_bytes > 0)
    busy = {int(made.picture.link_of[i]) for i in np.flatnonzero(trace.link_bytes)}
    pieces = [(i, a, b) for i in busy for a, b in zip(made.lines[i], made.lines[i][1:], strict=False)]
    crossings = [(i, j) for i, a, b in pieces for j, c, d in pieces if i < j and crosses(a, b, c, d)]
    assert crossings == []


def crosses(a, b, c, d):
    def side(p, q, r):
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) < -1e-6 and side(c, d, a) * side(c, d, b) < -1e-6


def test_a_single_node_that_stays_inside_shows_no_nics():
    topology = machine("dgx-a100")
    trace = cs.simulate(cs.schedule("allreduce_ring", topology=topology), topology, "1MiB")
    assert "nic" not in layout(topology, trace.link_bytes > 0).picture.kind
    assert "nic" in layout(topology).picture.kind


def test_the_hybrid_cube_mesh_is_two_squares():
    made = idle(machine("dgx-1v"))
    at = {made.picture.endpoint[d]: made.boxes[d] for d in range(len(made.boxes)) if made.picture.endpoint[d] >= 0}
    assert at[0].y == at[1].y == at[5].y == at[4].y < at[3].y == at[2].y == at[6].y == at[7].y
    assert at[0].x < at[1].x < at[5].x < at[4].x


def test_both_ways_lie_on_the_right_hand_side_of_travel():
    out, home = both_ways([(0, 0), (10, 0), (10, 10)], 4)
    assert out == [(0, 2), (8, 2), (8, 10)]
    assert home == [(12, 10), (12, -2), (0, -2)]
    assert beside([(0, 0), (5, 0)], 0) == [(0, 0), (5, 0)]
