"""The search of rings, against graphs that NCCL printed and against the closed rule for regular machines."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

import collsim as cs
from collsim import topology
from collsim.errors import CollsimError
from collsim.nccl import Facts, build_communicator, choose_algorithm, predict, read_facts, search_graphs
from collsim.nccl.machine.topology_facts import build_graph_search
from collsim.nccl.search.constants import BALANCED_TREE, SPLIT_TREE, TREE
from collsim.nccl.search.node_graph import Rules, SearchInput
from collsim.nccl.search.ring_tree_search import Channel, Rings, Trees, search_rings
from collsim.topology.machine_builder import LOC, SYS


def loads(seen: Rings) -> Counter:
    """GB/s that all channels together reserve on each cable between two GPUs, in one direction."""
    steps: Counter = Counter()
    for channel in seen.channels:
        for a, b in zip(channel.gpus, (*channel.gpus[1:], channel.gpus[0]), strict=True):
            steps[a, b] += seen.speed
    return steps


def test_dgx1v_six_rings_that_use_every_nvlink_once():
    """NCCL finds 6 channels of 20 GB/s, 12 once doubled: three cycles, both ways round, one link of 20 GB/s each (nccl
    issue 671)."""
    machine = topology.machine("dgx-1v")
    seen = search_graphs(machine).rings
    assert (len(seen.channels), seen.speed, seen.type_intra) == (6, 20.0, "NVL")
    width = {frozenset((a, b)): c.width for a, b, c in cs.machines()["dgx-1v"].connections if c.kind == "nvlink"}
    for (a, b), load in loads(seen).items():
        assert load <= 20.0 * width[frozenset((f"gpu{a}", f"gpu{b}"))]
    assert sum(loads(seen).values()) == 20.0 * 2 * sum(width.values())
    assert build_communicator(read_facts(machine), graph_search=search_graphs(machine)).running_channels == 12


@pytest.mark.parametrize(
    ("name", "ring", "running"),
    [
        ("dgx-a100", (12, 20.0), 24),
        ("dgx-h100", (12, 30.0), 24),
        ("hgx-b200", (16, 45.0), 32),
        ("dgx-2", (6, 20.0), 12),
    ],
)
def test_nvswitch_machines_get_the_graphs_that_nccl_prints(name, ring, running):
    """`Pattern 4, ... nChannels 12, bw 20.000000/20.000000, type NVL/PIX, sameChannels 1` on A100, 12 x 30 on H100
    (nccl issue 1197)."""
    facts = read_facts(topology.machine(name))
    comm = build_communicator(facts, graph_search=search_graphs(topology.machine(name)))
    assert (comm.ring.channels, comm.ring.bw_intra) == ring
    assert (comm.ring.type_intra, comm.ring.same_channels, comm.running_channels) == ("NVL", True, running)
    closed = build_communicator(facts)
    assert (closed.ring.channels, closed.ring.bw_intra) == ring


def test_two_hopper_nodes_cross_cards_in_pairs():
    """A published INFO log of 2 x 8 Hopper GPUs with 8 NICs of 400 Gbit/s: `Pattern 4, crossNic 2, nChannels 8, bw
    48.000000/48.000000, type NVL/PIX`, 16 channels of which rank 0 meets the other node in 00 and 01 (and their copies
    08 and 09) only.
    """
    seen = search_graphs(topology.machine("dgx-h100", nodes=2)).rings
    assert (len(seen.channels), seen.speed, seen.type_intra, seen.type_inter, seen.cross_nic) == (
        8,
        48.0,
        "NVL",
        "PIX",
        2,
    )
    assert [i for i, ch in enumerate(seen.channels) if 0 in (ch.gpus[0], ch.gpus[-1])] == [0, 1]
    assert all(
        (a.entry_card, a.exit_card) == (b.exit_card, b.entry_card)
        for a, b in zip(seen.channels[::2], seen.channels[1::2], strict=True)
    )
    assert predict("allreduce", topology.machine("dgx-h100", nodes=2), "1GiB").channels == 16


def test_cross_nic_0_keeps_every_ring_on_its_card():
    """Seven rings of 48 GB/s or eight of 45: the last GPU reaches the first one's card over NVLink (PXN), 8 x 48 is
    more than its 370.8."""
    seen = search_graphs(topology.machine("dgx-h100", nodes=2), NCCL_CROSS_NIC=0).rings
    assert (len(seen.channels), seen.speed, seen.type_inter) == (8, 45.0, "PXN")
    assert all(ch.entry_card == ch.exit_card for ch in seen.channels)
    assert sorted(ch.entry_card for ch in seen.channels) == list(range(8))


def test_every_node_of_the_catalogue_agrees_with_the_closed_rule_where_that_is_exact():
    """Machines with NVLink everywhere: the same total. (Over PCIe the closed rule looks at one GPU, the search at all
    shared links.)"""
    agreed = 0
    for name in cs.machines():
        for nodes in (1, 2):
            try:
                facts = read_facts(topology.machine(name, nodes=nodes))
            except cs.CollsimError:
                continue
            found = build_graph_search(facts, cross_nic=0)
            if found is None or facts.wiring not in ("nvswitch", "mesh", "cube"):
                continue
            closed = build_communicator(facts).ring
            assert found.rings.total_speed == pytest.approx(closed.channels * closed.bw_intra, rel=1e-6), (name, nodes)
            agreed += 1
    assert agreed > 20


def test_bridged_pairs_leave_the_pair_over_pcie():
    """RTX 3090, NVLink between 0-1 and 2-3 only: rings go along the bridges, and 24 GB/s of PCIe 4.0 hold two of 12
    each way."""
    seen = search_graphs(topology.machine("rtx3090-4gpu")).rings
    assert seen.type_intra == "PHB"
    steps = loads(seen)
    assert all(steps[a, b] + steps[b, a] > 0 for a, b in ((0, 1), (2, 3)))
    out_of_1 = sum(load for (a, b), load in steps.items() if a == 1 and b != 0)
    assert 0 < out_of_1 <= 24.0


def test_dual_root_server_is_held_by_its_sockets():
    """8 GPUs, 4 a socket over PCIe 4.0: one ring of what NCCL gives the link between Skylake sockets, 10 GB/s."""
    seen = search_graphs(topology.machine("pcie-8gpu")).rings
    assert (len(seen.channels), seen.speed, seen.type_intra) == (1, 10.0, "SYS")
    single = search_graphs(topology.machine("pcie-8gpu-single-root")).rings
    assert (single.total_speed, single.type_intra) == (24.0, "PXB")


def test_a_cut_nvlink_costs_rings():
    """DGX-1V without the double link 0-3: GPUs 0 and 3 keep 4 of 6 links, so that at most 4 rings of 20 GB/s are
    left."""
    cut = topology.machine("dgx-1v").without_link("node0/gpu0", "node0/gpu3")
    seen = search_graphs(cut).rings
    assert 40.0 <= seen.total_speed <= 80.0
    assert not any({0, 3} == {a, b} for a, b in loads(seen))
    assert read_facts(cut).link_rate <= 150e9 * 4 / 6
    assert predict("allreduce", cut, "1GiB").time > 1.4 * predict("allreduce", topology.machine("dgx-1v"), "1GiB").time


def test_what_cannot_be_ringed_falls_back_as_nccl_does():
    """No way between two GPUs: one channel in plain order at 0.1 GB/s, type SYS."""
    apart = replace(cs.machines()["dgx-a100"], connections=())
    assert search_rings(apart, 2, (), Rules(SYS, LOC)) == Rings((Channel((0, 1)),), 0.1, "SYS", "SYS", True, 0)


def test_crossings_are_what_cross_nic_decides():
    """0 keeps the card. 2 pairs channels, exchanged on every other node, so that an even number of nodes stays on its
    rails; 1 does not."""
    machine = topology.machine("dgx-h100", nodes=4, fabric="rail")
    kept, free, paired = (search_graphs(machine, NCCL_CROSS_NIC=k).rings for k in (0, 1, 2))
    assert (kept.count_crossings(4), paired.count_crossings(4)) == (0, 0)
    assert paired.count_crossings(3) == len(paired.channels)
    assert free.count_crossings(4) == 4 * sum(ch.entry_card != ch.exit_card for ch in free.channels) > 0
    notes = [predict("allreduce", machine, "1GiB", NCCL_CROSS_NIC=k).notes for k in (0, 1, 2)]
    assert [any("change the card" in note for note in told) for told in notes] == [False, True, False]
    believed = [predict("allreduce", machine, "1GiB", NCCL_CROSS_NIC=k, NCCL_ALGO="Ring").tuner_time for k in (0, 2)]
    assert believed[0] > believed[1]


def test_no_search_without_wires():
    for machine in (
        Facts("A100", 80, 8, wiring="nvswitch", link_rate=3e11),
        topology.machine("mi300x-8gpu"),
        topology.machine("gb200-nvl72"),
    ):
        with pytest.raises(CollsimError, match="no search of graphs here"):
            search_graphs(machine)
    with pytest.raises(CollsimError, match=r"2 ranks or more, and at most 16 in a node"):
        search_graphs(topology.machine("dgx-a100"), ranks=1)
    assert search_graphs(topology.machine("dgx-a100", nodes=2), ranks=2).rings.channels[0].gpus == (
        0,
    )  # one in each of two nodes


# ---- trees and heads of NVLS
# -----------------------------------------------------------------------------------------------------


def test_an_a100_pair_gets_the_trees_of_its_log():
    """`Pattern 4, nChannels 12, bw 20/20, sameChannels 1`, then `Pattern 1, nChannels 12, bw 40/40, sameChannels 0`:
    channels 0 to 5 are GPU/0 GPU/1, 6 to 11 GPU/1 GPU/0. A chain needs a link one way only: 6 x 40 of 240 GB/s each
    way.
    """
    found = search_graphs(topology.machine("dgx-a100"), ranks=2)
    seen = found.trees
    assert (found.rings.total_speed, found.rings.same_channels) == (240.0, True)
    assert (seen.pattern, seen.speed_intra, seen.speed_inter, seen.same_channels) == (BALANCED_TREE, 40.0, 40.0, False)
    assert [ch.gpus for ch in seen.channels] == [(0, 1)] * 6 + [(1, 0)] * 6


def test_h100_graphs_are_those_of_the_log():
    """`Pattern 1, nChannels 12, bw 30/30, sameChannels 1` and `Pattern 5, nChannels 8, bw 40/60` (NVIDIA/nccl issue
    1197)."""
    found = search_graphs(topology.machine("dgx-h100"))
    seen, heads = found.trees, found.heads
    assert (seen.pattern, len(seen.channels), seen.speed_intra, seen.type_intra, seen.same_channels) == (
        BALANCED_TREE,
        12,
        30.0,
        "NVL",
        True,
    )
    assert (len(heads.gpus), heads.speed_intra, heads.speed_inter) == (8, 40.0, 60.0)


def test_heads_of_two_hopper_nodes_sit_next_to_their_cards():
    """`NVLS Head 0: 0 8`, `Head 1: 1 9` ... in a published log of 2 x 8 Hopper GPUs: GPU k of both nodes, over card
    k."""
    heads = search_graphs(topology.machine("dgx-h100", nodes=2)).heads
    assert (heads.gpus, heads.cards) == (tuple(range(8)), tuple(range(8)))
    assert (heads.speed_intra, heads.speed_inter, heads.type_inter) == (40.0, 48.0, "PIX")


def test_fewer_heads_where_cards_are_shared():
    """Four cards left of eight: four GPUs head a channel."""
    machine = topology.machine("dgx-h100", nodes=2)
    for node in range(2):
        for card in (1, 3, 5, 7):
            machine = machine.without_device(f"node{node}/nic{card}")
    assert len(search_graphs(machine).heads.gpus) == 4


def test_a_cut_nvlink_slows_heads_and_trees():
    """A GPU with half its links: 9 x 20 of 185.4 GB/s instead of 9 x 40 of 370.8."""
    slow = topology.machine("dgx-h100").with_link("node0/gpu3", "node0/nvswitch", bandwidth="225GB/s")
    found, whole = search_graphs(slow), search_graphs(topology.machine("dgx-h100"))
    assert (found.heads.speed_intra, whole.heads.speed_intra) == (20.0, 40.0)
    steps: Counter = Counter()
    for channel in found.trees.channels:
        for a, b in pairwise(channel.gpus):
            steps.update({("out", a): found.trees.speed_intra, ("into", b): found.trees.speed_intra})
    assert max(steps["out", 3], steps["into", 3]) <= 185.4 < max(steps.values()) <= 370.8
    assert (
        predict("allreduce", slow, "1GiB").time > 1.5 * predict("allreduce", topology.machine("dgx-h100"), "1GiB").time
    )


@pytest.mark.parametrize("ranks", [2, 4])
def test_one_gpu_per_node_gets_the_plain_tree_twice_as_fast_inside(ranks):
    """A100 and one HDR card, PCIe 4.0: `Pattern 4, nChannels 1, bw 24/24, type LOC/PHB` and `Pattern 3, bw 48/24` (log
    of node n013)."""
    found = search_graphs(topology.machine("polaris", nodes=ranks), ranks=ranks)
    assert [(len(found.rings.channels), found.rings.speed, found.rings.type_intra, found.rings.type_inter)] == [
        (1, 24.0, "LOC", "PHB")
    ]
    assert (found.trees.pattern, found.trees.speed_intra, found.trees.speed_inter) == (TREE, 48.0, 24.0)


def test_trees_over_nodes_are_those_of_logs():
    """One GPU on each of 3 nodes: `Tree 0 : -1 -> 0 -> 2/-1/-1`, `Tree 1 : 1 -> 0 -> 2/-1/-1`; of 2: `Trees [0]
    1/-1/-1->0->-1 [1] -1/-1/-1->0->1`. Two GPUs of a node without a network: `[0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1`
    (nccl-tests issue 287).
    """
    one = Trees((Channel((0,), 0, 0),), 1.2, 0.24, "LOC", "PHB", True, 0, TREE)
    first, second = one.build_parents(3)
    assert (first[0], first.index(0), second[0], second[2]) == (-1, 2, 1, 0)
    assert one.build_parents(2) == ((-1, 0), (1, -1))
    pair = Trees((Channel((0, 1)),), 0.1, 0.1, "SYS", "SYS", True, 0, BALANCED_TREE)
    assert pair.build_parents(1) == ((-1, 0), (-1, 0))


def test_links_of_a_balanced_tree_leave_from_the_second_gpu():
    """Four nodes of chains 2-3-0-1, nodes 1 and 3 below node 2, which is below 0: the first child hangs at node 2's
    second GPU where the tree is balanced or split, the second child only where it is split (connect.cc: treeToChild0,
    treeToChild1)."""
    channel = (Channel((2, 3, 0, 1), 1, 1),)
    found = [
        Trees(channel, 24.0, 24.0, "NVL", "PIX", True, 0, kind).build_parents(4)[0]
        for kind in (BALANCED_TREE, SPLIT_TREE, TREE)
    ]
    assert [(tree[2], tree[6], tree[14]) for tree in found] == [(-1, 11, 10), (-1, 11, 11), (-1, 10, 10)]
    assert [(tree[3], tree[0], tree[1]) for tree in found] == [(2, 3, 0)] * 3


def test_hopper_nodes_take_the_plain_tree_and_ampere_the_balanced_one():
    """The second GPU reaches the first one's card over NVLink (PXN), but the card reaches it only through the host:
    worse than PIX. From compute capability 9.0 on NCCL tries the plain tree before worse paths."""
    hopper, ampere = (search_graphs(topology.machine(name, nodes=2)).trees for name in ("dgx-h100", "dgx-a100"))
    assert (hopper.pattern, hopper.type_inter, ampere.pattern) == (TREE, "PIX", BALANCED_TREE)
    believed = [
        predict(
            "allreduce", topology.machine("dgx-h100", nodes=2), "1GiB", NCCL_ALGO="Tree", NCCL_PROTO="Simple"
        ).tuner_time,
        choose_algorithm(
            "allreduce", build_communicator(read_facts(topology.machine("dgx-h100", nodes=2))), 2**30, "Tree", "Simple"
        ).time_us
        * 1e-6,
    ]
    assert believed[0] == pytest.approx(believed[1] / 0.85, rel=0.01)  # tuning.cc takes 15 % off a plain tree


def test_channels_reserve_no_more_than_links_have():
    """Of every tree on every machine of the catalogue: GB/s over each cable out of a GPU to a peer."""
    for name in ("dgx-1v", "dgx-1p", "polaris", "rtx3090-4gpu"):
        width: Counter = Counter()
        for a, b, cable in cs.machines()[name].connections:
            if cable.kind == "nvlink":
                width[a, b] = width[b, a] = cable.effective / 1e9
        seen, used = search_graphs(topology.machine(name)).trees, Counter()
        for channel in seen.channels:
            used.update({(f"gpu{a}", f"gpu{b}"): seen.speed_intra for a, b in pairwise(channel.gpus)})
        direct = {step: load for step, load in used.items() if step in width}
        assert direct
        assert all(load <= width[step] + 1e-6 for step, load in direct.items()), name


_NO_P2P = """collsim: 1
machine:
  name: pair
  title: two cards
  about: two cards at two host bridges, no P2P
  source: NVIDIA/nccl-tests issue 287
  sm: {sm}
  gpu: {gpu}
  amd_cpu: true
  p2p_over_pcie: false
  devices: [gpu0, gpu1, cpu0, cpu1, memory0, memory1]
  connections:
    - [gpu0, cpu0, {{kind: pcie, label: PCIe 5.0 x16, bandwidth: 63GB/s, effective: 48GB/s, width: 16, source: PCI-SIG}}]
    - [gpu1, cpu1, {{kind: pcie, label: PCIe 5.0 x16, bandwidth: 63GB/s, effective: 48GB/s, width: 16, source: PCI-SIG}}]
    - [cpu0, cpu1, {{kind: upi, label: xGMI, bandwidth: 64GB/s, effective: 16GB/s, source: topo.h}}]
    - [cpu0, memory0, {{kind: memory, label: DDR5, bandwidth: 400GB/s, source: JEDEC}}]
    - [cpu1, memory1, {{kind: memory, label: DDR5, bandwidth: 400GB/s, source: JEDEC}}]
"""


def test_blackwell_cards_across_amd_sockets_get_the_fallback_that_nccl_warns_of(tmp_path):
    """`Could not find a path for pattern 4 / 1, falling back to simple order`, `Channel 00/02 : 0 1`, `2 coll
    channels`: 2 RTX 5090 on EPYC (nccl-tests issue 287). 16 GB/s between sockets is less than 18, the least of NCCL's
    table from compute capability 10.0 on; the same box with Ada cards finds 15. What is predicted is the same path
    through host memory, so about as fast.
    """
    times = {}
    for gpu, sm, speed in (("RTX 5090", 120, 0.1), ("RTX 4090", 89, 15.0)):
        file = tmp_path / f"{sm}.yaml"
        file.write_text(_NO_P2P.format(gpu=gpu, sm=sm))
        machine = cs.load_topology(file)
        found = search_graphs(machine)
        assert (found.rings.speed, found.trees.speed_intra, len(found.trees.channels)) == (speed, speed, 1)
        assert predict("allreduce", machine, "1GiB").channels == 2
        times[sm] = [predict("allreduce", machine, size).time for size in ("64KiB", "1MiB", "1GiB")]
    assert times[120] == pytest.approx(times[89], rel=0.35)


def test_of_a_rack_the_search_sees_the_cards_of_the_trays_in_use():
    """GB200 NVL72: 18 trays of four GPUs and four cards, joined by NVLink alone; four ranks in a rack sit on one
    tray."""
    node = build_graph_search(read_facts(cs.machine("gb200-nvl72", nodes=2), 8)).nodes[0]
    assert len(node.machine.of_kind("nic")) == 72
    asked = SearchInput.from_machine(node.machine, 4, (50e9,) * 72, Rules(LOC, SYS))
    assert asked.build_node_graph().cards == [0, 1, 2, 3]
    both_sockets = SearchInput.from_machine(
        build_graph_search(read_facts(cs.machine("dgx-a100", nodes=2), 8)).nodes[0].machine,
        4,
        (25e9,) * 8,
        Rules(LOC, SYS),
    )
    assert both_sockets.build_node_graph().cards == list(range(8))
