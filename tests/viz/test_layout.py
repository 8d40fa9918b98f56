"""Boxes do not overlap and lie in the stage, cables end at their devices, and the machine is recognisable."""

import dataclasses
import itertools
import warnings
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from sampling import cross, keep_fast

import collsim as cs
from collsim.errors import CollsimError
from collsim.topology import machine
from collsim.topology.fabrics import FABRICS
from collsim.topology.facts import TopologyFacts
from collsim.topology.machines import machines
from collsim.viz.layout.arrangement import lay_out
from collsim.viz.layout.geometry import Box, shift_line, split_directions
from collsim.viz.pictures.draw import select_links

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
    return lay_out(topology, np.zeros(len(topology.links), bool))


def drawn(topology):
    """Everything; what `topology.draw()` shows; what the player shows of a run that uses nothing."""
    return [lay_out(topology), lay_out(topology, select_links(topology)), idle(topology)]


def check(made):
    for i, box in enumerate(made.boxes):
        name = made.picture.name[i]
        assert box.x >= -0.1, name
        assert box.y >= -0.1, name
        assert box.right <= made.w + 0.1, name
        assert box.bottom <= made.h + 0.1, name
        for j in range(i):
            assert not box.overlaps(made.boxes[j]), (name, made.picture.name[j])
    for panel in made.panels:
        assert panel.box.x >= -0.1
        assert panel.box.y >= -0.1
        assert panel.box.right <= made.w + 0.1
        assert panel.box.bottom <= made.h + 0.1
    assert len(made.lines) == len(made.picture.src)
    for a, b, line in zip(made.picture.src, made.picture.dst, made.lines, strict=True):
        assert near(made.boxes[a], line[0]), (made.picture.name[a], line[0], made.boxes[a])
        assert near(made.boxes[b], line[-1]), (made.picture.name[b], line[-1], made.boxes[b])
        assert all(-0.1 <= x <= made.w + 0.1 and -0.1 <= y <= made.h + 0.1 for x, y in line), (
            made.picture.name[a],
            made.picture.name[b],
        )


def check_legible(made):
    """No cable passes behind a box, and every name has room for letters of 11 px."""
    names = made.picture.name
    for a, b, line in zip(made.picture.src.tolist(), made.picture.dst.tolist(), made.lines, strict=True):
        for d in behind(line, made.boxes) - {a, b}:
            raise AssertionError(f"the cable {names[a]} to {names[b]} passes behind {names[d]}")
    for name, label, box in zip(names, made.labels, made.boxes, strict=True):
        assert letters(label, box) >= 11, (name, label, letters(label, box))


def check_captions(made):
    """No cable or box is where the player writes the name of a node: inside its panel or just outside, at the lower
    edge where `foot` is set, else at the upper."""
    for panel in made.panels:
        box = panel.box
        top, bottom = (box.bottom - 34, box.bottom + 24) if panel.foot else (box.y - 24, box.y + 26)
        strip = Box(box.x, top, box.w, bottom - top)
        assert not any(behind(line, [strip]) for line in made.lines), panel.label
        assert not any(b.overlaps(strip) for b in made.boxes), panel.label


def behind(line, boxes):
    """Boxes that a polyline enters by more than a pixel (Liang-Barsky, all boxes at once)."""
    edges = np.array([(b.x + 1, b.right - 1, b.y + 1, b.bottom - 1) for b in boxes])
    found = set()
    for (x0, y0), (x1, y1) in itertools.pairwise(line):
        enter, leave = np.zeros(len(edges)), np.ones(len(edges))
        for start, step, low, high in (
            (x0, x1 - x0, edges[:, 0], edges[:, 1]),
            (y0, y1 - y0, edges[:, 2], edges[:, 3]),
        ):
            if abs(step) < 1e-9:
                leave = np.where((start < low) | (start > high), -1.0, leave)
                continue
            first, last = np.sort([(low - start) / step, (high - start) / step], axis=0)
            enter, leave = np.maximum(enter, first), np.minimum(leave, last)
        found |= set(np.flatnonzero(enter < leave).tolist())
    return found


def letters(label, box):
    """Height of the letters that fit in a box, upright in a tall one as the player writes them; a letter is 0.56 of
    that wide."""
    count = max(len(text) for text in (label.values() if isinstance(label, dict) else [label]))
    room, deep = (box.h - 8, box.w * 0.8) if box.h > 1.7 * box.w else (box.w - 5, box.h * 0.75)
    return min(room / (count * 0.56), deep) if count else 99


def near(box, point, slack=14):
    """A cable's two directions lie beside its middle line, so an end may be half a cable away from the box."""
    x, y = point
    return box.x - slack <= x <= box.right + slack and box.y - slack <= y <= box.bottom + slack


@pytest.mark.parametrize("topology", GENERIC, ids=lambda t: t.name)
def test_generic_networks(topology):
    check(lay_out(topology))


@pytest.mark.parametrize(("name", "nodes"), cross(machines(), [1, 2, 3, 4, 5, 16, 33]))
def test_every_machine_with_everything_drawn_and_with_what_is_idle_left_out(name, nodes):
    for made in drawn(machine_of(name, nodes)):
        check(made)
        if not machine_of(name, 1).facts.dims and nodes < 33:
            check_legible(made)
        if made.narrow is not None:
            check(made.narrow)
            check_legible(made.narrow)


@pytest.mark.parametrize("name", [name for name in machines() if not machine(name).facts.dims])
def test_one_or_two_nodes_have_a_picture_for_narrow_screens(name):
    """With the same devices and links, as wide as a phone shows them at two thirds of their size or more, and not so
    high that its height makes it smaller."""
    for nodes in (1, 2):
        for made in drawn(machine_of(name, nodes)):
            fitting = made.narrow or made
            assert fitting.picture is made.picture
            gpus = made.picture.kind.count("gpu") / nodes
            assert fitting.w < (580 if gpus <= 8 else 730) or gpus > 16, "racks are drawn tray by tray"
            assert fitting.h < 1000
            check_captions(fitting)


@pytest.mark.parametrize(
    ("name", "nodes", "fabric"),
    keep_fast(
        [
            ("dgx-a100", 4, None),
            ("polaris", 3, None),
            ("dgx-h100", 8, None),
            ("cpu-2socket", 4, None),
            ("pcie-8gpu", 8, "leaf-spine"),
            ("dgx-a100", 3, "rail-only"),
            ("gb200-nvl72", 16, None),
        ],
        [("dgx-a100", 4, None), ("polaris", 3, None), ("dgx-h100", 8, None)],
    ),
)
def test_clusters_fit_a_narrow_screen_with_the_fabric_between_two_rows_of_nodes(name, nodes, fabric):
    made = idle(machine(name, nodes=nodes, **{"fabric": fabric} if fabric else {}))
    narrow, what = made.narrow, made.picture
    check(narrow)
    check_legible(narrow)
    check_captions(narrow)
    assert narrow.w <= 500 < made.w
    switches = [box for kind, box in zip(what.kind, narrow.boxes, strict=True) if kind == "switch"]
    low, high = min(box.y for box in switches), max(box.bottom for box in switches)
    for kind, node, box in zip(what.kind, what.node, narrow.boxes, strict=True):
        if kind in {"host", "nic"}:
            assert box.bottom < low if node < nodes // 2 else box.y > high


def test_a_cluster_whose_rows_share_leaves_below_spines_has_no_picture_that_hides_cables():
    assert lay_out(machine("pcie-8gpu", nodes=5, fabric="leaf-spine")).narrow is None
    assert lay_out(machine("dgx-a100", nodes=4, fabric="rail")).narrow is None


def pasted(gpus, cards, word, nodes=1):
    """A machine as nvidia-smi topo -m prints it; `word(a, b)` of the places (kind, number) of two devices."""
    names = [*(("GPU", i) for i in range(gpus)), *(("NIC", i) for i in range(cards))]
    rows = ["\t" + "\t".join(f"{kind}{i}" for kind, i in names)]
    rows += [f"{a[0]}{a[1]}\t" + "\t".join("X" if a == b else word(*sorted((a, b))) for b in names) for a in names]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cs.topology.FormatWarning)
        return cs.topology.parse_topology_text("\n".join(rows), nodes=nodes)


def twelve_cards(a, b):
    """An HGX H100 with a card beside each GPU, two more at GPU 4, and a card of two ports at the second socket."""
    at = {("NIC", i): p for i, p in enumerate([0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 8, 8])}
    one, two = (at.get(d, d[1]) for d in (a, b))
    if a[0] == b[0] == "GPU":
        return "NV18"
    near = "PIX" if a[0] == b[0] else "PXB"
    return near if one == two else "NODE" if (one < 4) == (two < 4) else "SYS"


def dgx_a100(a, b):
    """Pairs of GPUs and cards within PXB, a ninth card by itself."""
    one, two = a[1] // 2, b[1] // 2
    return "NV12" if a[0] == b[0] == "GPU" else "PXB" if one == two < 4 else "NODE" if (one < 2) == (two < 2) else "SYS"


@pytest.mark.parametrize(
    ("gpus", "cards", "word", "switches"),
    [
        (8, 12, twelve_cards, 8),
        (8, 9, dgx_a100, 4),
        (2, 0, lambda a, b: "SYS", 0),
        (4, 0, lambda a, b: "SYS", 0),
        (
            4,
            2,
            lambda a, b: (
                "PIX" if a[1] // (2 if a[0] == "GPU" else 1) == b[1] // (2 if b[0] == "GPU" else 1) else "NODE"
            ),
            2,
        ),
        (4, 4, lambda a, b: "NV6" if a[0] == b[0] == "GPU" else "NODE" if a[1] == b[1] else "SYS", 0),
    ],
    ids=[
        "HGX H100, 12 cards",
        "DGX A100, 9 cards",
        "2 sockets",
        "4 sockets",
        "pairs with a card",
        "4 sockets with a card",
    ],
)
def test_a_machine_of_ones_own_stands_in_its_box_with_as_many_switches_as_gpus_are_distinguished_by(
    gpus, cards, word, switches
):
    for nodes in (1, 2) if cards else (1,):
        topology = pasted(gpus, cards, word, nodes)
        for made in drawn(topology):
            check(made)
            assert made.picture.kind.count("pcie") == switches * nodes
    made = lay_out(topology)
    for d, (kind, node) in enumerate(zip(made.picture.kind, made.picture.node, strict=True)):
        if node >= 0 and kind != "nic" and made.panels:
            panel = next(p.box for p in made.panels if p.node == node)
            assert panel.x <= made.boxes[d].x, made.picture.name[d]
            assert made.boxes[d].right <= panel.right, made.picture.name[d]


@pytest.mark.parametrize("name", ["dgx-h100", "dgx-a100", "pcie-8gpu", "aws-p4d", "cpu-2socket"])
@pytest.mark.parametrize("fabric", list(FABRICS))
@pytest.mark.parametrize("nodes", keep_fast([2, 4, 16], [4]))
def test_every_fabric(name, fabric, nodes):
    try:
        topology = machine(name, nodes=nodes, fabric=fabric)
    except CollsimError as error:
        pytest.skip(str(error))
    for made in drawn(topology):
        check(made)
        check_legible(made)


def test_without_gpudirect_host_memory_is_in_the_picture_and_nothing_is_hidden():
    for name in ("dgx-h100", "pcie-8gpu", "polaris", "rtx4090-8gpu", "mi300x-8gpu"):
        for nodes in (1, 2, 4):
            topology = machine(name, nodes=nodes, p2p=False, gdr=False)
            made = lay_out(topology, select_links(topology))
            check(made)
            check_legible(made)
            assert made.picture.kind.count("memory") == nodes * machines()[name].kinds.count("memory")


def tops(made, word):
    """The y of all switches of a level."""
    return {
        round(b.y) for b, name in zip(made.boxes, made.picture.name, strict=True) if name.startswith(f"fabric/{word}")
    }


@pytest.mark.parametrize("nodes", [4, 16])
@pytest.mark.parametrize(
    ("fabric", "levels"),
    [("leaf-spine", ["leaf", "spine"]), ("rail", ["leaf", "spine"]), ("fat-tree", ["edge", "aggregation", "core"])],
)
def test_a_fabric_stands_on_top_level_by_level_and_its_bands_say_what_they_are(fabric, levels, nodes):
    made = lay_out(machine("dgx-h100", nodes=nodes, fabric=fabric))
    rows = [tops(made, word) for word in levels]
    assert all(len(row) == 1 for row in rows)
    heights = [row.pop() for row in rows]
    assert heights == sorted(heights, reverse=True)
    assert all(heights[0] < b.y for b, kind in zip(made.boxes, made.picture.kind, strict=True) if kind != "switch")
    bands = {p.label["en"]: p.note["en"] for p in made.panels if p.node < 0}
    count = Counter(
        name.removeprefix("fabric/").rstrip("0123456789") for name in made.picture.name if name.startswith("fabric/")
    )
    assert bands == {word.capitalize(): f"× {count[word]}" for word in levels}


def test_a_fabric_over_four_nodes_is_as_wide_as_they_are():
    layout = lay_out(cs.machine("a40-8gpu", nodes=4))
    (fabric,) = (box for box, kind in zip(layout.boxes, layout.picture.kind, strict=True) if kind == "switch")
    assert fabric.x == pytest.approx(layout.panels[0].box.x)
    assert fabric.right == pytest.approx(layout.panels[-1].box.right)


def test_cards_of_four_nodes_are_named_and_counted_through():
    made = lay_out(machine("dgx-h100", nodes=4))
    cards = [label for label, kind in zip(made.labels, made.picture.kind, strict=True) if kind == "nic"]
    assert cards == [f"NIC {i}" for i in range(32)]


def test_the_bar_of_nvswitches_says_how_many_they_are():
    bars = {"dgx-2": 12, "dgx-a100": 6, "dgx-h100": 4, "hgx-b200": 2, "gb200-nvl72": 18}
    for name, chips in bars.items():
        made = lay_out(machine(name))
        assert f"NVSwitch × {chips}" in made.labels


def test_a_tpu_cube_is_drawn_as_its_torus_and_a_rack_as_its_trays():
    cube = lay_out(machine("tpu-v4-64"))
    assert len({b.y for b in cube.boxes}) == 4
    assert len({b.x for b in cube.boxes}) == 16
    rack = lay_out(machine("gb200-nvl72"))
    rows = {b.y for b, kind in zip(rack.boxes, rack.picture.kind, strict=True) if kind == "gpu"}
    assert len(rows) == 2
    bar = rack.boxes[rack.picture.kind.index("nvswitch")]
    assert min(rows) < bar.y < max(rows)


def test_256_ranks_under_a_switch_are_as_wide_as_a_stage():
    assert lay_out(cs.topology.switch(256)).w <= 1180


def test_any_graph_is_drawn_and_always_the_same():
    graph = nx.petersen_graph()
    nx.set_node_attributes(graph, "gpu", "kind")
    nx.set_edge_attributes(graph, {e: {"bandwidth": 1e9, "alpha": 1e-6} for e in graph.edges})
    topology = cs.Topology.from_networkx(graph)
    check(lay_out(topology))
    assert lay_out(topology).boxes == lay_out(topology).boxes


def test_two_dgx_a100_stand_as_in_the_mock():
    """Positions of the mock, in pixels: GPU 0 at (19, 293), NIC 7 at (438, 192), the switch in the middle; node 1
    mirrored."""
    made = idle(machine("dgx-a100", nodes=2))
    at = dict(zip(made.picture.name, made.boxes, strict=True))
    assert made.w == 1134
    assert at["node0/gpu0"] == Box(19, 293, 42, 40)
    assert at["node1/gpu0"] == Box(702, 293, 42, 40)
    assert at["node0/nic7"] == Box(434, 192, 56, 19)
    assert at["node1/nic0"].y == at["node0/nic7"].y, "7 → 8 is one level line at the bottom"
    assert at["node1/nic7"].y == at["node0/nic0"].y, "15 → 0 is one level line at the top"
    assert at["fabric/switch0"].cx == 567
    assert at["node0/nvswitch"] == Box(18, 421, 415, 31)
    assert [p.label["en"] for p in made.panels] == ["Node 0", "Node 1"]
    assert made.panels[1].note == {"en": "DGX A100, ranks 8 to 15", "zh": "DGX A100，rank 8–15"}


@pytest.mark.parametrize("name", ["dgx-a100", "dgx-h100", "dgx-1v", "pcie-8gpu"])
@pytest.mark.parametrize("nodes", [1, 2])
def test_gpus_are_large_enough_for_the_last_row(name, nodes):
    made = lay_out(machine(name, nodes=nodes))
    assert all(b.w >= 30 and b.h >= 30 for b, kind in zip(made.boxes, made.picture.kind, strict=True) if kind == "gpu")


def test_active_cables_of_a_ring_over_two_nodes_do_not_cross():
    topology = machine("dgx-a100", nodes=2)
    trace = cs.simulate(cs.schedule("allreduce_ring", topology=topology), topology, "1MiB")
    made = lay_out(topology, trace.link_bytes > 0)
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
    assert "nic" not in lay_out(topology, trace.link_bytes > 0).picture.kind
    assert "nic" in lay_out(topology).picture.kind


def test_the_hybrid_cube_mesh_is_two_squares():
    made = idle(machine("dgx-1v"))
    at = {made.picture.endpoint[d]: made.boxes[d] for d in range(len(made.boxes)) if made.picture.endpoint[d] >= 0}
    assert at[0].y == at[1].y == at[5].y == at[4].y < at[3].y == at[2].y == at[6].y == at[7].y
    assert at[0].x < at[1].x < at[5].x < at[4].x


def test_both_ways_lie_on_the_right_hand_side_of_travel():
    out, home = split_directions([(0, 0), (10, 0), (10, 10)], 4)
    assert out == [(0, 2), (8, 2), (8, 10)]
    assert home == [(12, 10), (12, -2), (0, -2)]
    assert shift_line([(0, 0), (5, 0)], 0) == [(0, 0), (5, 0)]


@pytest.mark.parametrize(
    "network", [cs.topology.torus(3, 5), cs.topology.mesh(2, 3, 4), cs.topology.dragonfly(2, 3, 1)]
)
def test_where_things_stand_follows_from_facts_and_not_from_a_name(network):
    renamed = dataclasses.replace(network, name="torus(15)")
    assert lay_out(renamed).boxes == lay_out(network).boxes
    without = dataclasses.replace(network, facts=TopologyFacts())
    assert lay_out(without).boxes != lay_out(network).boxes
