"""Machines against what is published of them, and paths against hand-drawn ones."""

import itertools
import pickle
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from sampling import keep_fast

import collsim as cs
from collsim.topology import machine
from collsim.topology.cables import build_nvlink, build_pcie
from collsim.topology.machine_builder import LEVELS, Machine, MachineBuilder, MachinePaths
from collsim.topology.machines import machine_files, machines

ALL = sorted(machines())
WITH_CARDS = [name for name in ALL if machines()[name].of_kind("nic")]
WITH_MEMORY = [name for name in WITH_CARDS if name != "gb200-nvl72"]  # reached by all of the machine's GPUs


def all_pairs(topology):
    return np.divmod(np.arange(topology.endpoints**2), topology.endpoints)


def find_route(topology, a, b):
    hops = topology.route(a, b)
    return [hops[0].src, *(hop.dst for hop in hops)]


# ---- the catalogue
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", keep_fast(WITH_CARDS, WITH_MEMORY))
@pytest.mark.parametrize("direct", [True, False])
def test_what_enters_a_device_that_is_no_endpoint_leaves_it(name, direct):
    topology = machine(name, nodes=2, p2p=direct, gdr=direct)
    src, dst = all_pairs(topology)
    nbytes = np.random.default_rng(0).integers(1, 100, len(src))
    routes = topology.routes(src, dst)
    load = np.bincount(routes.link, weights=np.repeat(nbytes, routes.hops), minlength=len(topology.links))
    count, place = len(topology.devices), topology.endpoint_device
    into, out = (np.bincount(side, weights=load, minlength=count) for side in (topology.links.dst, topology.links.src))
    away = src != dst
    ends, starts = (np.bincount(place[side[away]], weights=nbytes[away], minlength=count) for side in (dst, src))
    assert (into - ends == out - starts).all()


@pytest.mark.parametrize("name", ALL)
def test_every_link_has_a_source_that_says_what_kind_of_figure_it_is(name):
    for *_, cable in machines()[name].connections:
        assert any(word in cable.source for word in ("spec", "measured", "order of magnitude")), cable
        assert "alpha" in cable.source


@pytest.mark.parametrize("name", keep_fast(WITH_CARDS, WITH_MEMORY))
@pytest.mark.parametrize(
    "options", [{}, {"nodes": 2}, {"nodes": 3, "p2p": False, "gdr": False}, {"nodes": 2, "fabric": "rail"}], ids=str
)
def test_routes_join_their_ends_link_by_link(name, options):
    topology = machine(name, **options)
    src, dst = all_pairs(topology)
    routes = topology.routes(src, dst)
    links, place = topology.links, topology.endpoint_device
    last = routes.start[1:] - 1
    joined = np.ones(len(routes.link), bool)
    joined[last[routes.hops > 0]] = False
    inner = np.flatnonzero(joined)
    assert (links.dst[routes.link[inner]] == links.src[routes.link[inner + 1]]).all()
    some = routes.hops > 0
    assert (links.src[routes.link[routes.start[:-1][some]]] == place[src[some]]).all()
    assert (links.dst[routes.link[last[some]]] == place[dst[some]]).all()
    assert (some == (src != dst)).all()


@pytest.mark.parametrize("name", WITH_CARDS)
def test_effective_rates_are_never_above_nominal(name):
    nominal, effective = machine(name, nodes=2), machine(name, nodes=2, rates="effective")
    assert (effective.links.bandwidth <= nominal.links.bandwidth).all()
    assert (effective.links.bandwidth < nominal.links.bandwidth).any()


def test_trays_of_a_rack_have_no_memory_in_common_so_without_p2p_they_need_the_network():
    with pytest.raises(cs.TopologyError, match="rank 3 cannot reach rank 4; P2P is not allowed"):
        machine("gb200-nvl72", p2p=False).route(3, 4)
    assert "fabric/switch0" in find_route(machine("gb200-nvl72", nodes=2, p2p=False), 3, 4)
    assert "node0/memory0" in find_route(machine("gb200-nvl72", p2p=False), 0, 1)
    with pytest.raises(cs.TopologyError, match=r"rank 4 cannot reach helper 0.*server='rank'"):
        machine("gb200-nvl72").with_helpers(1).route(4, 72)


@pytest.mark.parametrize("name", WITH_MEMORY)
def test_p2p_off_is_never_faster(name):
    on, off = machine(name), machine(name, p2p=False)
    schedule = cs.schedule("allreduce_ring", topology=on)
    for size in ("8B", "64MiB"):
        assert cs.simulate(schedule, off, size).time >= cs.simulate(schedule, on, size).time


@pytest.mark.parametrize("name", ["dgx-1v", "dgx-a100", "pcie-8gpu"])
def test_gdr_off_is_never_faster_and_more_bandwidth_never_slower(name):
    on, off = machine(name, nodes=2), machine(name, nodes=2, gdr=False)
    schedule = cs.schedule("allreduce_ring", topology=on)
    time = cs.simulate(schedule, on, "64MiB").time
    assert cs.simulate(schedule, off, "64MiB").time >= time
    for kind in {c.kind for c in on.links.cables}:
        assert cs.simulate(schedule, on.scaled(kind=kind, by=2), "64MiB").time <= time


def test_names_may_be_written_with_capitals_and_underscores():
    assert machine("DGX_A100", nodes=2, fabric="leaf_spine").name == "dgx-a100(nodes=2, fabric=leaf_spine)"


def test_a_machine_travels_to_another_process():
    topology = pickle.loads(pickle.dumps(machine("dgx-a100", nodes=2)))
    assert len(topology.route(7, 8)) == 6
    assert topology.facts.nodes == 2


def test_dropping_a_file_in_is_all_a_machine_takes(tmp_path, monkeypatch):
    (tmp_path / "machines").mkdir()
    folder = Path(machine_files.__file__).parent
    text = (folder / "polaris.toml").read_text(encoding="utf-8")
    (tmp_path / "machines" / "mine.toml").write_text(text.replace("links = 4", "links = 2"), encoding="utf-8")
    monkeypatch.setattr(machine_files, "__file__", str(tmp_path / "machines" / "machine_files.py"))
    monkeypatch.setattr(machine_files, "translate", lambda language, package, name: f"{name} in {language}")
    machine_files.list_machine_files.cache_clear()
    try:
        assert machine("mine").route(0, 1)[0].bandwidth == 50e9
        assert machine_files.read_machine("mine").about == "mine in en"
    finally:
        machine_files.list_machine_files.cache_clear()


def test_a_range_of_devices_is_written_out_and_paired_in_order():
    assert machine_files.expand_devices("gpu0..2") == ["gpu0", "gpu1", "gpu2"]
    assert machine_files.expand_devices("pcie0..2 by 2") == ["pcie0", "pcie2"]
    pairs = machine_files.pair_devices(["gpu0", "gpu1", "gpu2", "gpu3"], ["cpu0", "cpu1"])
    assert list(pairs) == [("gpu0", "cpu0"), ("gpu1", "cpu0"), ("gpu2", "cpu1"), ("gpu3", "cpu1")]


def test_one_machine_is_read_from_one_file():
    program = (
        "import collsim as cs; from collsim.topology.machines import machine_files as m\n"
        "before = m.read_machine.cache_info().currsize; cs.machine('dgx-a100', nodes=2)\n"
        "print(before, m.read_machine.cache_info().currsize)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.split() == ["0", "1"]


# ---- DGX A100, the figures of the first picture
# ----------------------------------------------------------------------------


def test_dgx_a100_crosses_six_links_to_the_next_node():
    topology = machine("dgx-a100", nodes=2)
    assert find_route(topology, 7, 8) == [
        "node0/gpu7", "node0/pcie3", "node0/nic7", "fabric/switch0", "node1/nic0", "node1/pcie0", "node1/gpu0",
    ]  # fmt: skip
    hops = topology.route(7, 8)
    alpha = sum(hop.alpha for hop in hops)
    assert alpha == pytest.approx(4 * 0.5e-6 + 2 * 0.6e-6)
    assert alpha + 16 * 2**20 / min(hop.bandwidth for hop in hops) == pytest.approx(674.29e-6, rel=1e-5)


def test_dgx_a100_nvlink_is_300_GB_per_second_and_two_hops_of_0_7_microseconds():
    hops = machine("dgx-a100").route(0, 5)
    assert [(hop.dst, hop.bandwidth, hop.alpha) for hop in hops] == [
        ("node0/nvswitch", 300e9, 0.7e-6),
        ("node0/gpu5", 300e9, 0.7e-6),
    ]


def test_ring_over_two_dgx_a100_takes_the_hand_worked_time():
    topology = machine("dgx-a100", nodes=2)
    one = cs.simulate(cs.schedule("allreduce_ring", topology=topology, channels=1), topology, "256MiB")
    assert one.time == pytest.approx(30 * (16 * 2**20 / 25e9 + 3.2e-6))
    eight = cs.simulate(cs.schedule("allreduce_ring", topology=topology, channels=8), topology, "256MiB")
    assert eight.time == pytest.approx(30 * (2 * 2**20 / 25e9 + 3.2e-6))


def test_each_channel_leaves_a_dgx_a100_through_another_card():
    topology = machine("dgx-a100", nodes=2)
    assert topology.orders[0].tolist() == list(range(16))
    cards = {topology.route(int(order[7]), int(order[8]))[1].dst for order in topology.orders}
    assert cards == {f"node0/nic{i}" for i in range(8)}


@pytest.mark.parametrize("gdr", [True, False])
def test_without_gpudirect_rdma_data_cross_pcie_and_memory_on_both_sides(gdr):
    hops = [hop.dst for hop in machine("dgx-a100", nodes=2, gdr=gdr).route(0, 8)]
    there = (
        ["node0/pcie0", "node0/nic0"]
        if gdr
        else ["node0/pcie0", "node0/cpu0", "node0/memory0", "node0/cpu0", "node0/pcie0", "node0/nic0"]
    )
    back = ["node1/pcie0", "node1/gpu0"]
    if not gdr:
        back = ["node1/pcie0", "node1/cpu0", "node1/memory0", "node1/cpu0", "node1/pcie0", "node1/gpu0"]
    assert hops == [*there, "fabric/switch0", "node1/nic0", *back]


# ---- DGX-1V
# ----------------------------------------------------------------------------------------------------------------

PUBLISHED = {  # nvidia-smi topo -m of a DGX-1V, NVLinks only (NVIDIA/nccl issue 671)
    0: {1: 1, 2: 1, 3: 2, 4: 2},
    1: {0: 1, 2: 2, 3: 1, 5: 2},
    2: {0: 1, 1: 2, 3: 2, 6: 1},
    3: {0: 2, 1: 1, 2: 2, 7: 1},
    4: {0: 2, 5: 1, 6: 1, 7: 2},
    5: {1: 2, 4: 1, 6: 2, 7: 1},
    6: {2: 1, 4: 1, 5: 2, 7: 2},
    7: {3: 1, 4: 2, 5: 1, 6: 2},
}


def nvlinks(topology):
    found = {g: {} for g in range(8)}
    for s, d, c in zip(
        topology.links.src.tolist(), topology.links.dst.tolist(), topology.links.cable.tolist(), strict=True
    ):
        if topology.links.cables[c].kind == "nvlink":
            found[s][d] = topology.links.cables[c].width
    return found


def test_the_nvlinks_of_dgx_1v_are_the_published_ones():
    found = nvlinks(machine("dgx-1v"))
    assert found == PUBLISHED
    assert [sum(found[g].values()) for g in range(8)] == [6] * 8
    assert sum(8 - 1 - len(found[g]) for g in range(8)) == 2 * 12  # 12 of the 28 pairs have none
    assert sum(width for a in range(4) for b, width in found[a].items() if b >= 4) == 6  # bisection {0-3} | {4-7}


def test_the_six_rings_of_dgx_1v_use_every_nvlink_fully():
    topology = machine("dgx-1v")
    used = np.zeros((8, 8), int)
    for order in topology.orders:
        np.add.at(used, (order, np.roll(order, -1)), 1)
    published = np.zeros((8, 8), int)
    for a, row in PUBLISHED.items():
        for b, width in row.items():
            published[a, b] = width
    assert (used == published).all()
    t = cs.simulate(cs.schedule("allreduce_ring", topology=topology, channels=6), topology, "1GiB")
    assert t.busbw == pytest.approx(150e9, rel=0.01)  # 6 rings of 25 GB/s, less the latency


def test_dgx_1v_channels_between_nodes_use_four_cards_and_only_nvlinks_inside():
    topology = machine("dgx-1v", nodes=2)
    cards = set()
    for order in topology.orders.tolist():
        assert sorted(order) == list(range(16))
        for a, b in itertools.pairwise(order[:8]):
            assert [hop.kind for hop in topology.route(a, b)] == ["nvlink"]
        cards.add((topology.route(order[7], order[8])[1].dst, topology.route(order[15], order[0])[-3].dst))
    assert len({out for out, _ in cards}) == 4
    assert len({into for _, into in cards}) == 4


def test_without_a_direct_nvlink_dgx_1v_passes_one_gpu_and_says_nvb():
    topology = machine("dgx-1v")
    assert find_route(topology, 0, 5) == ["node0/gpu0", "node0/gpu1", "node0/gpu5"]
    assert "SYS in nvidia-smi, NVB in NCCL" in topology.explain(0, 5)
    assert "NV2 in nvidia-smi" in topology.explain(0, 3)


def test_only_one_gpu_is_ever_passed():
    chain = MachineBuilder()
    chain.add("gpu0", "gpu1", "gpu2", "gpu3")
    for a in range(3):
        chain.connect(f"gpu{a}", f"gpu{a + 1}", build_nvlink(3, 4))
    for g in range(4):
        chain.connect(f"gpu{g}", "pcie0", build_pcie(4))
    topology = machine(Machine.from_builder(chain, name="chain", title="", about="", source="a test"))
    assert find_route(topology, 0, 2) == ["node0/gpu0", "node0/gpu1", "node0/gpu2"]
    assert find_route(topology, 0, 3) == ["node0/gpu0", "node0/pcie0", "node0/gpu3"]


def test_level_nvlink_refuses_nvb_and_stages():
    hops = find_route(machine("dgx-1v", p2p="nvlink"), 0, 5)
    assert "node0/memory1" in hops
    assert find_route(machine("dgx-1v", p2p="nvlink"), 0, 3) == ["node0/gpu0", "node0/gpu3"]


# ---- PCIe servers
# ----------------------------------------------------------------------------------------------------------

PIX = ["node0/gpu0", "node0/pcie0", "node0/gpu1"]
STAGED = ["node0/gpu0", "node0/pcie0", "node0/cpu0", "node0/memory0", "node0/cpu0", "node0/pcie0", "node0/gpu1"]
PHB = ["node0/gpu0", "node0/pcie0", "node0/cpu0", "node0/pcie1", "node0/gpu2"]
PHB_STAGED = ["node0/gpu0", "node0/pcie0", "node0/cpu0", "node0/memory0", "node0/cpu0", "node0/pcie1", "node0/gpu2"]
SYS = ["node0/gpu0", "node0/pcie0", "node0/cpu0", "node0/cpu1", "node0/pcie3", "node0/gpu7"]
SYS_STAGED = [
    "node0/gpu0", "node0/pcie0", "node0/cpu0", "node0/cpu1", "node0/memory1", "node0/cpu1", "node0/pcie3", "node0/gpu7",
]  # fmt: skip


@pytest.mark.parametrize(
    ("p2p", "ways"),
    [
        (True, (PIX, PHB_STAGED, SYS_STAGED)),
        (False, (STAGED, PHB_STAGED, SYS_STAGED)),
        ("nvlink", (STAGED, PHB_STAGED, SYS_STAGED)),
        ("pix", (PIX, PHB_STAGED, SYS_STAGED)),
        ("pxb", (PIX, PHB_STAGED, SYS_STAGED)),
        ("phb", (PIX, PHB, SYS_STAGED)),
        ("sys", (PIX, PHB, SYS)),
    ],
)
def test_the_level_decides_between_the_direct_path_and_host_memory(p2p, ways):
    topology = machine("pcie-8gpu", p2p=p2p)
    assert [find_route(topology, 0, b) for b in (1, 2, 7)] == list(ways)


def test_staging_pays_two_more_pcie_links_and_memory_twice():
    on, off = machine("pcie-8gpu").route(0, 1), machine("pcie-8gpu", p2p=False).route(0, 1)
    assert sum(h.alpha for h in on) == pytest.approx(2 * 0.5e-6)
    assert sum(h.alpha for h in off) == pytest.approx(4 * 0.5e-6 + 2 * 0.1e-6)


def test_p2p_off_doubles_a_ring_on_the_pcie_server_because_the_uplinks_are_shared():
    on, off = machine("pcie-8gpu"), machine("pcie-8gpu", p2p=False)
    ring = cs.schedule("allreduce_ring", ranks=8)
    piece = 8 * 2**20
    assert cs.simulate(ring, on, "64MiB").time == pytest.approx(14 * (piece / 31.5e9 + 2.4e-6), rel=1e-3)
    assert cs.simulate(ring, off, "64MiB").time == pytest.approx(14 * (2 * piece / 31.5e9 + 2.4e-6), rel=1e-3)


def test_words_are_those_of_nvidia_smi():
    topology = machine("pcie-8gpu")
    assert "PIX in nvidia-smi" in topology.explain(0, 1)
    assert "NODE in nvidia-smi, PHB in NCCL" in topology.explain(0, 2)
    assert "SYS in nvidia-smi" in topology.explain(0, 7)
    assert "PHB in nvidia-smi" in machine("workstation-4gpu").explain(0, 1)
    assert "PXB in nvidia-smi" in machine("pcie-8gpu-single-root").explain(0, 7)
    assert "NV4 in nvidia-smi" in machine("a40-8gpu").explain(0, 1)
    assert "NV18 in nvidia-smi" in machine("dgx-h100").explain(0, 1)


def test_tpu_chips_forward_as_in_the_torus_and_their_ring_goes_from_neighbour_to_neighbour():
    topology, torus = machine("tpu-v4-64"), cs.topology.torus(4, 4, 4)
    assert topology.routes(*all_pairs(topology)).hops.tolist() == torus.routes(*all_pairs(torus)).hops.tolist()
    for order in topology.orders:
        assert set(topology.routes(order, np.roll(order, -1)).hops.tolist()) == {1}


def test_geforce_without_p2p_stages_whatever_the_level():
    assert "node0/memory0" in find_route(machine("rtx4090-8gpu", p2p="sys"), 0, 1)
    assert find_route(machine("rtx3090-4gpu"), 0, 1) == ["node0/gpu0", "node0/gpu1"]  # the bridge
    assert "node0/memory0" in find_route(machine("rtx3090-4gpu", p2p="sys"), 0, 2)


def test_why_data_are_staged_is_said():
    assert "P2P is off: staged" in machine("dgx-h100", p2p=False).explain(0, 1)
    assert "beyond the P2P level PXB: staged" in machine("pcie-8gpu").explain(0, 2)
    assert "beyond the P2P level PIX: staged" in machine("pcie-8gpu-single-root", p2p="pix").explain(0, 7)
    assert "the driver allows no P2P over PCIe: staged" in machine("rtx4090-8gpu", p2p="sys").explain(0, 1)


@pytest.mark.parametrize("p2p", [True, False, "nvlink"])
def test_chips_with_routers_of_their_own_know_no_gpudirect(p2p):
    assert "over the chips' own links. node0/gpu0 → node0/gpu1. 1 link" in machine("tpu-v4-64", p2p=p2p).explain(0, 1)


def test_both_directions_of_a_card_at_grace_are_judged_by_the_gpus_path_to_it():
    topology = machine("gb200-nvl72", nodes=2)
    assert find_route(topology, 0, 72) == [
        "node0/gpu0", "node0/cpu0", "node0/nic0", "fabric/switch0", "node1/nic0", "node1/cpu0", "node1/gpu0",
    ]  # fmt: skip
    assert "through card 0 (P2C, GPUDirect RDMA) and card 0 (P2C, GPUDirect RDMA)" in topology.explain(0, 72)
    staged = find_route(machine("gb200-nvl72", nodes=2, gdr="pxb"), 0, 72)
    assert {"node0/memory0", "node1/memory0"} <= set(staged)


def test_amd_calls_it_xgmi():
    assert "XGMI in rocm-smi, NVL in NCCL" in machine("mi300x-8gpu").explain(0, 1)


def test_the_catalogue_prints_a_line_for_each_machine():
    assert repr(machines()["dgx-a100"]).startswith("<Machine dgx-a100: 8 ranks, ")
    assert len(repr(machines())) < 200 * len(machines())


def test_a_card_without_rdma_means_no_gpudirect():
    assert "node0/memory0" in find_route(machine("dgx-a100", nodes=2, nic="tcp-100"), 0, 8)


def test_the_path_types_agree_with_a_search_over_all_simple_paths():
    """NCCL's greedy search finds the best type and width among all simple paths of the cube mesh."""
    plan = machines()["dgx-1v"]
    graph = nx.Graph()
    for i, (a, b, cable) in enumerate(plan.connections):
        graph.add_edge(plan.devices.index(a), plan.devices.index(b), i=i, cable=cable)
    for a, b in ((0, 3), (0, 5), (0, 7), (2, 4)):
        nv = [p for p in nx.all_simple_paths(graph, a, b, cutoff=2) if all(plan.kinds[d] == "gpu" for d in p)]
        shortest = min(map(len, nv))
        width = max(
            min(graph.edges[e]["cable"].bandwidth for e in itertools.pairwise(p)) for p in nv if len(p) == shortest
        )
        path = MachinePaths(plan).best(a, b)
        assert (LEVELS[path.type], path.bandwidth) == ("NVL" if shortest == 2 else "NVB", width)


# ---- helpers, placement, mistakes
# ------------------------------------------------------------------------------------------


def test_helpers_on_machines_live_in_host_memory_of_each_node_in_turn():
    topology = machine("dgx-a100", nodes=2).with_helpers(3)
    assert [topology.devices.name[d] for d in topology.endpoint_device[16:]] == [
        "node0/memory0",
        "node1/memory0",
        "node0/memory1",
    ]
    assert find_route(topology, 0, 16) == ["node0/gpu0", "node0/pcie0", "node0/cpu0", "node0/memory0"]
    assert find_route(topology, 16, 17)[-3:] == ["node1/pcie0", "node1/cpu0", "node1/memory0"]


# ---- fewer GPUs of a node


@pytest.mark.parametrize(
    ("name", "gpus", "cards"),
    [
        ("dgx-a100", 4, ["nic0", "nic1", "nic2", "nic3"]),  # two GPUs and two cards behind each PCIe switch
        ("dgx-a100", 3, ["nic0", "nic1", "nic2", "nic3"]),
        ("dgx-h100", 3, ["nic0", "nic1", "nic2"]),  # a card to each GPU
        ("dgx-1v", 2, ["nic0"]),  # one card for two GPUs
    ],
)
def test_a_node_with_fewer_gpus_has_the_cards_that_serve_them(name, gpus, cards):
    topology = machine(name, nodes=2, gpus=gpus)
    of_first_node = [device.removeprefix("node0/") for device in topology.devices.name if device.startswith("node0/")]
    assert [device for device in of_first_node if device.startswith("gpu")] == [f"gpu{g}" for g in range(gpus)]
    assert [device for device in of_first_node if device.startswith("nic")] == cards
    assert topology.ranks == 2 * gpus
    whole = machine(name, nodes=2)
    for rank in range(1, gpus):
        assert find_route(topology, 0, rank) == find_route(whole, 0, rank)
        assert find_route(topology, rank, gpus + rank) == find_route(whole, rank, topology.ranks * 4 // gpus + rank)


def test_rings_of_fewer_gpus_are_as_many_as_the_nvlinks_that_remain():
    """GPUs 0 and 1 of a DGX-1 have four NVLinks to GPUs 0 to 3, the others five: four rings, and no link twice."""
    topology = machine("dgx-1v", gpus=4)
    steps = [(a, b) for ring in topology.orders.tolist() for a, b in itertools.pairwise([*ring, ring[0]])]
    widths = {
        (int(a[3:]), int(b[3:])): cable.width
        for a, b, cable in machines()["dgx-1v"].connections
        if cable.kind == "nvlink" and int(a[3:]) < 4 and int(b[3:]) < 4
    }
    of_gpu = [sum(width for pair, width in widths.items() if gpu in pair) for gpu in range(4)]
    assert of_gpu == [4, 4, 5, 5]
    assert len(topology.orders) == min(of_gpu)
    assert set(steps) <= widths.keys() | {(b, a) for a, b in widths}
    for (a, b), width in widths.items():
        assert max(steps.count((a, b)), steps.count((b, a))) <= width


def test_all_gpus_of_a_node_are_the_machine_itself():
    some, whole = machine("dgx-1v", gpus=8), machine("dgx-1v")
    assert some.devices.name[:] == whole.devices.name[:]
    assert some.orders.tolist() == whole.orders.tolist()


def test_fewer_gpus_come_back_from_a_file():
    topology = machine("dgx-1v", nodes=2, gpus=4)
    back = cs.topology.parse_topology_text(topology.to_yaml(), "smaller.yaml")
    assert back.orders.tolist() == topology.orders.tolist()
    assert [find_route(back, 0, rank) for rank in range(1, 8)] == [
        find_route(topology, 0, rank) for rank in range(1, 8)
    ]


def test_a_bad_rank_order_crosses_the_fabric_more_often():
    good, bad = machine("dgx-a100", nodes=2), machine("dgx-a100", nodes=2, placement="round-robin")
    ring = np.arange(16)
    assert good.crossings(ring, (ring + 1) % 16) == 2
    assert bad.crossings(ring, (ring + 1) % 16) == 16
    assert bad.devices.name[bad.endpoint_device[1]] == "node1/gpu0"


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: machine("dgx-h10"), r"unknown machine 'dgx-h10'; did you mean 'dgx-h100'"),
        (lambda: machine("dgx-a100", nodes=0), "nodes=0 is too small"),
        (lambda: machine("dgx-a100", p2p="fast"), "p2p='fast': unknown level"),
        (lambda: machine("dgx-a100", gdr="pbx"), "did you mean 'pxb'"),
        (lambda: machine("dgx-a100", nodes=2, fabric="star"), "unknown fabric 'star'"),
        (lambda: machine("dgx-a100", nodes=2, oversubscription=2), "has no option 'oversubscription'"),
        (lambda: machine("dgx-a100", nodes=2, fabric="leaf-spine", oversubscription=0), "oversubscription=0 must be"),
        (lambda: machine("dgx-a100", nodes=2, nic="ib-hd"), "did you mean 'ib-hdr'"),
        (lambda: machine("dgx-a100", nodes=2, placement=[0, 0]), "placement must hold each of 0 to 15 once"),
        (lambda: machine("dgx-a100", rates="real"), "unknown rates 'real'.*effective, nominal"),
        (lambda: machine("dgx-a100").route(0, 8), "no rank 8: its ranks are 0 to 7"),
        (lambda: machine("dgx-a100").device("node0/gpu8"), "did you mean 'node0/gpu"),
        (lambda: machine("tpu-v4-64", nodes=2), "has no network card, so there can be no 2 nodes"),
        (lambda: machine("dgx-a100", nodes=10**8), "is the most"),
        (lambda: machine("dgx-a100", gpus=9), "gpus=9: 'dgx-a100' has 8 GPUs"),
        (lambda: machine("dgx-a100", gpus=0), "gpus=0 is too small"),
        (lambda: machine("tpu-v4-64", gpus=4), "comes in one size"),
        (lambda: machine("cpu-2socket", gpus=1), "comes in one size"),
    ],
)
def test_mistakes_are_told_with_the_value_and_the_way_out(build, says):
    with pytest.raises(cs.TopologyError, match=says):
        build()
