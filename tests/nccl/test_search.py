"""The search of rings, against graphs that NCCL printed and against the closed rule for regular machines."""

from collections import Counter
from dataclasses import replace

import pytest

import collsim as cs
from collsim import topology
from collsim.errors import CollsimError
from collsim.nccl import Facts, communicator, facts_of, predict, search
from collsim.nccl.machines import rings_of
from collsim.nccl.search import Channel, Rings, Rules, rings
from collsim.topology.plan import LOC, SYS


def loads(seen: Rings) -> Counter:
    """GB/s that all channels together reserve on each cable between two GPUs, in one direction."""
    steps: Counter = Counter()
    for channel in seen.channels:
        for a, b in zip(channel.gpus, (*channel.gpus[1:], channel.gpus[0]), strict=True):
            steps[a, b] += seen.speed
    return steps


def test_dgx1v_six_rings_that_use_every_nvlink_once():
    """NCCL finds 6 channels of 20 GB/s, 12 once doubled: three cycles, both ways round, one link of 20 GB/s each (nccl issue 671)."""
    machine = topology.machine("dgx-1v")
    seen = search(machine)
    assert (len(seen.channels), seen.speed, seen.type_intra) == (6, 20.0, "NVL")
    width = {frozenset((a, b)): c.width for a, b, c in topology.machines()["dgx-1v"].joints if c.kind == "nvlink"}
    for (a, b), load in loads(seen).items():
        assert load <= 20.0 * width[frozenset((f"gpu{a}", f"gpu{b}"))]
    assert sum(loads(seen).values()) == 20.0 * 2 * sum(width.values())
    assert communicator(facts_of(machine), rings=seen).running_channels == 12


@pytest.mark.parametrize(
    ("name", "ring", "running"),
    [("dgx-a100", (12, 20.0), 24), ("dgx-h100", (12, 30.0), 24), ("hgx-b200", (16, 45.0), 32), ("dgx-2", (6, 20.0), 12)],
)
def test_nvswitch_machines_get_the_graphs_that_nccl_prints(name, ring, running):
    """`Pattern 4, ... nChannels 12, bw 20.000000/20.000000, type NVL/PIX, sameChannels 1` on A100, 12 x 30 on H100 (nccl issue 1197)."""
    facts = facts_of(topology.machine(name))
    comm = communicator(facts, rings=search(topology.machine(name)))
    assert (comm.ring.channels, comm.ring.bw_intra) == ring
    assert (comm.ring.type_intra, comm.ring.same_channels, comm.running_channels) == ("NVL", True, running)
    closed = communicator(facts)
    assert (closed.ring.channels, closed.ring.bw_intra) == ring


def test_two_hopper_nodes_cross_cards_in_pairs():
    """A published INFO log of 2 x 8 Hopper GPUs with 8 NICs of 400 Gbit/s: `Pattern 4, crossNic 2, nChannels 8, bw 48.000000/48.000000,
    type NVL/PIX`, 16 channels of which rank 0 meets the other node in 00 and 01 (and their copies 08 and 09) only.
    """
    seen = search(topology.machine("dgx-h100", nodes=2))
    assert (len(seen.channels), seen.speed, seen.type_intra, seen.type_inter, seen.cross_nic) == (8, 48.0, "NVL", "PIX", 2)
    assert [i for i, ch in enumerate(seen.channels) if 0 in (ch.gpus[0], ch.gpus[-1])] == [0, 1]
    assert all((a.enters, a.leaves) == (b.leaves, b.enters) for a, b in zip(seen.channels[::2], seen.channels[1::2], strict=True))
    assert predict("allreduce", topology.machine("dgx-h100", nodes=2), "1GiB").channels == 16


def test_cross_nic_0_keeps_every_ring_on_its_card():
    """Seven rings of 48 GB/s or eight of 45: the last GPU reaches the first one's card over NVLink (PXN), 8 x 48 is more than its 370.8."""
    seen = search(topology.machine("dgx-h100", nodes=2), NCCL_CROSS_NIC=0)
    assert (len(seen.channels), seen.speed, seen.type_inter) == (8, 45.0, "PXN")
    assert all(ch.enters == ch.leaves for ch in seen.channels)
    assert sorted(ch.enters for ch in seen.channels) == list(range(8))


def test_every_node_of_the_catalogue_agrees_with_the_closed_rule_where_that_is_exact():
    """Machines with NVLink everywhere: the same total. (Over PCIe the closed rule looks at one GPU, the search at all shared links.)"""
    agreed = 0
    for name in topology.machines():
        for nodes in (1, 2):
            try:
                facts = facts_of(topology.machine(name, nodes=nodes))
            except cs.CollsimError:
                continue
            seen = rings_of(facts, cross_nic=0)
            if seen is None or facts.inside not in ("nvswitch", "mesh", "cube"):
                continue
            closed = communicator(facts).ring
            assert seen.total == pytest.approx(closed.channels * closed.bw_intra, rel=1e-6), (name, nodes)
            agreed += 1
    assert agreed > 20


def test_bridged_pairs_leave_the_pair_over_pcie():
    """RTX 3090, NVLink between 0-1 and 2-3 only: rings go along the bridges, and 24 GB/s of PCIe 4.0 hold two of 12 each way."""
    seen = search(topology.machine("rtx3090-4gpu"))
    assert seen.type_intra == "PHB"
    steps = loads(seen)
    assert all(steps[a, b] + steps[b, a] > 0 for a, b in ((0, 1), (2, 3)))
    out_of_1 = sum(load for (a, b), load in steps.items() if a == 1 and b != 0)
    assert 0 < out_of_1 <= 24.0


def test_dual_root_server_is_held_by_its_sockets():
    """8 GPUs, 4 a socket over PCIe 4.0: one ring of what NCCL gives the link between Skylake sockets, 10 GB/s."""
    seen = search(topology.machine("pcie-8gpu"))
    assert (len(seen.channels), seen.speed, seen.type_intra) == (1, 10.0, "SYS")
    single = search(topology.machine("pcie-8gpu-single-root"))
    assert (single.total, single.type_intra) == (24.0, "PXB")


def test_a_cut_nvlink_costs_rings():
    """DGX-1V without the double link 0-3: GPUs 0 and 3 keep 4 of 6 links, so that at most 4 rings of 20 GB/s are left."""
    cut = topology.machine("dgx-1v").without_link("node0/gpu0", "node0/gpu3")
    seen = search(cut)
    assert 40.0 <= seen.total <= 80.0
    assert not any({0, 3} == {a, b} for a, b in loads(seen))
    assert facts_of(cut).link_rate <= 150e9 * 4 / 6
    assert predict("allreduce", cut, "1GiB").time > 1.4 * predict("allreduce", topology.machine("dgx-1v"), "1GiB").time


def test_what_cannot_be_ringed_falls_back_as_nccl_does():
    """No way between two GPUs: one channel in plain order at 0.1 GB/s, type SYS."""
    apart = replace(topology.machines()["dgx-a100"], joints=())
    assert rings(apart, 2, (), Rules(SYS, LOC)) == Rings((Channel((0, 1)),), 0.1, "SYS", "SYS", True, 0)


def test_crossings_are_what_cross_nic_decides():
    """0 keeps the card. 2 pairs channels, exchanged on every other node, so that an even number of nodes stays on its rails; 1 does not."""
    machine = topology.machine("dgx-h100", nodes=4, fabric="rail")
    kept, free, paired = (search(machine, NCCL_CROSS_NIC=k) for k in (0, 1, 2))
    assert (kept.crossings(4), paired.crossings(4)) == (0, 0)
    assert paired.crossings(3) == len(paired.channels)
    assert free.crossings(4) == 4 * sum(ch.enters != ch.leaves for ch in free.channels) > 0
    notes = [predict("allreduce", machine, "1GiB", NCCL_CROSS_NIC=k).notes for k in (0, 1, 2)]
    assert [any("change the card" in note for note in told) for told in notes] == [False, True, False]
    believed = [predict("allreduce", machine, "1GiB", NCCL_CROSS_NIC=k, NCCL_ALGO="Ring").tuner_time for k in (0, 2)]
    assert believed[0] > believed[1]


def test_no_search_without_wires():
    for machine in (
        Facts("A100", 80, 8, inside="nvswitch", link_rate=3e11),
        topology.machine("mi300x-8gpu"),
        topology.machine("gb200-nvl72"),
    ):
        with pytest.raises(CollsimError, match="no search of rings here"):
            search(machine)
