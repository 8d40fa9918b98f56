"""Algorithms that follow the shape of a machine or network: rings, tori, nodes; and what one of them costs there."""

import numpy as np
import pytest

import collsim as cs

FAST = {"bandwidth": 1e10, "alpha": 1e-6}


def crossings(s, per_node):
    """Bytes between nodes, in buffers."""
    t = s.transfers
    return int((t["src"] // per_node != t["dst"] // per_node).sum()) / s.chunks


@pytest.mark.parametrize("dims", ["4x4", (2, 2, 2), "2x3x4", [8], (1, 6), "3x3"])
@pytest.mark.parametrize("all_ports", [False, True])
def test_torus_ring_holds_on_any_torus(dims, all_ports):
    side = [int(d) for d in (dims.split("x") if isinstance(dims, str) else dims)]
    n = int(np.prod(side))
    s = cs.schedule("allreduce_torus_ring", ranks=n, dims=dims, all_ports=all_ports)
    cs.verify(s)
    assert s.steps == sum(2 * (d - 1) for d in side)
    sent = np.bincount(s.transfers["src"]) / s.chunks
    assert sent == pytest.approx(np.full(n, 2 * (n - 1) / n))


def test_torus_ring_uses_every_port_once_per_dimension_and_direction():
    """4x4 torus, S bytes: one port 2*15/16*S*beta; all four ports at once a quarter of it."""
    nbytes = 16 * 8 * 3 * 2**16
    torus = cs.topology.torus(4, 4, bandwidth=1e10, alpha=0)
    one, four = (cs.schedule("allreduce_torus_ring", topology=torus, all_ports=ports) for ports in (False, True))
    assert cs.simulate(one, torus, nbytes=nbytes, dtype="int8").time == pytest.approx(2 * 15 / 16 * nbytes / 1e10)
    quarter = cs.simulate(four, torus, nbytes=nbytes, dtype="int8")
    assert quarter.time == pytest.approx(2 * 15 / 16 * nbytes / 1e10 / 4)
    assert quarter.link_bytes.min() == quarter.link_bytes.max()


def test_torus_ring_takes_its_sides_from_the_topology():
    s = cs.schedule("allreduce_torus_ring", topology=cs.topology.torus(2, 8))
    assert s.steps == 2 * (1 + 7)
    assert cs.schedule("allreduce_torus_ring", ranks=12).steps == 2 * (2 + 3)  # else the two most equal factors, 3 x 4


def test_bidirectional_ring_is_twice_as_fast_on_a_ring_and_no_faster_behind_a_switch():
    nbytes = 8 * 2 * 2**20
    for network, gain in (("ring", 2), ("switch", 1)):
        topology = getattr(cs.topology, network)(8, bandwidth=1e10, alpha=0)
        both = cs.simulate(cs.schedule("allreduce_ring_bidirectional", ranks=8), topology, nbytes=nbytes).time
        one = cs.simulate(cs.schedule("allreduce_ring", ranks=8), topology, nbytes=nbytes).time
        assert one / both == pytest.approx(gain)


@pytest.mark.parametrize("inner", ["ring", "direct", "pat"])
@pytest.mark.parametrize(
    "outer", ["ring", "tree", "double_binary_tree", "recursive_doubling", "halving_doubling", "direct_two_shot"]
)
def test_hierarchical_allreduce_takes_any_inner_and_outer(inner, outer):
    for n, per_node in ((12, 4), (15, 5), (8, 8), (6, 1), (9, 3)):
        cs.verify(cs.schedule("allreduce_hierarchical", ranks=n, inner=inner, outer=outer, per_node=per_node))


def test_hierarchical_allreduce_brings_each_byte_over_the_network_as_seldom_as_can_be():
    """4 nodes of 8: all NICs of a node together carry 2(N-1)/N*S; a flat ring in rank order as much, through one
    NIC."""
    two_level = cs.schedule("allreduce_hierarchical", ranks=32, per_node=8)
    assert crossings(two_level, 8) == pytest.approx(4 * 2 * 3 / 4)
    t = two_level.transfers
    across = t[t["src"] // 8 != t["dst"] // 8]
    per_gpu = np.bincount(across["src"], minlength=32) / two_level.chunks
    assert per_gpu == pytest.approx(np.full(32, 2 * 3 / 4 / 8))


def test_nodes_are_those_of_the_machine():
    machine = cs.machine("dgx-a100", nodes=2)
    for name in (
        "allreduce_hierarchical",
        "allgather_hierarchical",
        "reduce_scatter_hierarchical",
        "alltoall_hierarchical",
    ):
        s = cs.schedule(name, topology=machine, per_node=1)  # the machine knows better
        cs.verify(s)
        t = s.transfers
        across = t[t["src"] // 8 != t["dst"] // 8]
        assert (across["src"] % 8 == across["dst"] % 8).all(), name  # rails: same place in both nodes


def test_double_binary_tree_on_a_machine_is_chains_inside_and_trees_between():
    machine = cs.machine("dgx-a100", nodes=4)
    s = cs.schedule("allreduce_double_binary_tree", topology=machine, channels=1)
    cs.verify(s)
    t = s.transfers
    inside = t[t["src"] // 8 == t["dst"] // 8]
    assert (abs(inside["src"] - inside["dst"]) == 1).all()
    assert crossings(s, 8) == pytest.approx(2 * 3)  # each of three tree edges carries S up and S down, in two halves


def test_double_binary_tree_chains_follow_the_nvlinks_of_a_dgx_1():
    """Its GPUs 0 and 5 have no NVLink: a chain in rank order would cross PCIe."""
    machine = cs.machine("dgx-1v")
    s = cs.schedule("allreduce_double_binary_tree", topology=machine, channels=6)
    cs.verify(s)
    t = s.transfers
    for src, dst in set(zip(t["src"].tolist(), t["dst"].tolist(), strict=True)):
        assert machine.routes(src, dst).hops[0] == 1, (src, dst)


def test_double_binary_tree_channels_use_all_nics():
    machine = cs.machine("dgx-a100", nodes=2)
    s = cs.schedule("allreduce_double_binary_tree", topology=machine, channels=8)
    cs.verify(s)
    t = s.transfers
    assert set(t["src"][(t["src"] < 8) & (t["dst"] >= 8)].tolist()) == set(range(8))


@pytest.mark.parametrize("name", [name for name, a in cs.algorithms().items() if "channels" in a.options])
def test_channels_follow_the_ring_orders_of_the_machine(name):
    machine = cs.machine("dgx-a100", nodes=2)
    s = cs.schedule(name, topology=machine, channels=8)
    cs.verify(s)
    assert s.channels >= 8
    t = s.transfers
    leaving = [
        set(t["src"][(t["channel"] == c) & (t["src"] < 8) & (t["dst"] >= 8)].tolist()) for c in range(s.channels)
    ]
    # each channel leaves the node at another GPU, so through another NIC; a chain is a ring with one hop less
    assert len(set().union(*leaving)) >= (7 if "chain" in name else 8)


@pytest.mark.parametrize("name", [name for name, a in cs.algorithms().items() if "channels" in a.options])
def test_channels_with_scrambled_orders_still_hold(name):
    """Orders that are no rotation of 0, 1, 2 ... take the way without repeat()."""
    plain = cs.topology.ring(7)
    orders = np.array([np.random.default_rng(k).permutation(7) for k in range(3)], np.int32)
    object.__setattr__(plain, "orders", orders)
    for root in range(7) if "root" in cs.algorithms()[name].options else [None]:
        cs.verify(cs.schedule(name, topology=plain, channels=4, **({} if root is None else {"root": root})))


def test_pat_sends_little_far_and_much_near():
    """n = 16: over distance 8 one block each, over distance 1 eight (NCCL's reason for PAT)."""
    blocks = {}
    for step in cs.schedule("allgather_pat", ranks=16).each_step():
        distance = int((step.src[0] - step.dst[0]) % 16)
        blocks[distance] = len(step) // 16
    assert blocks == {8: 1, 4: 2, 2: 4, 1: 8}


def test_swing_crosses_fewer_links_of_a_ring_than_recursive_doubling():
    """De Sensi et al. 2024: byte-hops of the reduce-scatter for n = 64 on a ring, 135*S/64 against 192*S/64 per
    rank."""
    ring = cs.topology.ring(64)

    def byte_hops(name):
        s = cs.schedule(name, ranks=64)
        t = s.transfers[s.transfers["reduce"]]
        return ring.routes(t["src"], t["dst"]).hops.sum() / s.chunks / 64 * 64

    assert byte_hops("allreduce_swing") == 135
    assert byte_hops("allreduce_halving_doubling") == 192


def test_bruck_alltoall_moves_half_of_everything_lg_n_times():
    assert cs.algorithms()["alltoall_bruck"].claim("sent", 16) == 16 / 2 * 4 / 16  # (S/2) lg n


def test_neighbour_exchange_talks_to_neighbours_only():
    t = cs.schedule("allgather_neighbour_exchange", ranks=12).transfers
    assert set(((t["src"] - t["dst"]) % 12).tolist()) == {1, 11}


def test_nvls_and_sharp_load_a_ranks_link_as_their_papers_say():
    """NVLS: S(1 + 1/n) each way; SHARP: S each way; the ring 2S(n-1)/n."""
    for name, load in (("allreduce_nvls", 1 + 1 / 8), ("allreduce_sharp", 1), ("allreduce_ring", 2 * 7 / 8)):
        s = cs.schedule(name, ranks=8)
        t = s.transfers
        for column in ("src", "dst"):
            assert np.bincount(t[column], minlength=9)[:8] / s.chunks == pytest.approx(np.full(8, load)), name


def test_bine_broadcast_is_the_papers_for_eight_ranks():
    """De Sensi et al. 2025: 0→3; 0→7, 3→4; 0→1, 3→2, 4→5, 7→6."""
    steps = [
        set(zip(s.src.tolist(), s.dst.tolist(), strict=True))
        for s in cs.schedule("broadcast_bine", ranks=8).each_step()
    ]
    assert steps == [{(0, 3)}, {(0, 7), (3, 4)}, {(0, 1), (3, 2), (4, 5), (7, 6)}]


def test_bine_partners_are_nearer_than_binomial_ones():
    """n = 64, longest way around the ring in each step: 21, 11, 5, 3, 1, 1 against 32, 16, 8, 4, 2, 1."""

    def longest(name):
        ways = [(s.dst - s.src) % 64 for s in cs.schedule(name, ranks=64).each_step()]
        return sorted((int(np.minimum(w, 64 - w).max()) for w in ways), reverse=True)

    assert longest("broadcast_bine") == [21, 11, 5, 3, 1, 1]
    assert longest("broadcast_binomial") == [32, 16, 8, 4, 2, 1]


def test_swing_on_a_torus_is_as_near_to_the_ideal_as_its_paper_says():
    """De Sensi et al. 2024: a step over distance d(s) = (2^(s+1) + (-1)^s)/3 puts d(s) messages on each link, so that
    all 2D ports of a torus take Ξ = Σ d(⌊s/D⌋)/2^(s+1) times 1 - 1/n of the ideal: up to 1.2 on 2-D and 1.037 on 3-D."""
    for dims in ((4, 4), (8, 8), (4, 4, 4), (8, 8, 8)):
        n, d = int(np.prod(dims)), len(dims)
        torus = cs.topology.torus(*dims, bandwidth="10GB/s", alpha=0)
        swing = cs.schedule("allreduce_swing", topology=torus, all_ports=True)
        nbytes = 2 * d * n * 4096
        ideal = 2 * (1 - 1 / n) * nbytes / (2 * d) / 10e9
        distances = [(2 ** (s // d + 1) + (-1) ** (s // d)) / 3 for s in range(n.bit_length() - 1)]
        deficiency = sum(x / 2 ** (s + 1) for s, x in enumerate(distances)) / (1 - 1 / n)
        assert cs.simulate(swing, torus, nbytes).time / ideal == pytest.approx(deficiency, rel=1e-9), dims
        assert deficiency < {2: 1.2, 3: 1.04}[d]


@pytest.mark.parametrize("dims", [(4, 4), (2, 8), (4, 2, 4)])
def test_swing_on_a_torus_keeps_its_promise_and_stays_in_one_dimension_a_step(dims):
    torus = cs.topology.torus(*dims)
    for schedule in (
        cs.schedule("allreduce_swing", topology=torus, all_ports=True),
        cs.schedule("allreduce_swing", ranks=int(np.prod(dims)), dims="x".join(map(str, dims))),
    ):
        cs.verify(schedule)
        assert schedule.steps == 2 * sum(side.bit_length() - 1 for side in dims)
    at = np.array(np.unravel_index(np.arange(torus.ranks), dims))
    for step in schedule.each_step():
        assert len({tuple(row) for row in (at[:, step.src] != at[:, step.dst]).T.tolist()}) == 1


def test_pat_with_aggregation_keeps_its_messages_short_and_its_steps_few():
    """Jeaugey 2025: a logarithmic part and a linear one, lg a + n/a - 1 steps for messages of at most a blocks; with
    one block it is as long as a ring, with half of all fully aggregated."""
    for n, most, steps in ((16, 1, 15), (16, 2, 8), (16, 4, 5), (16, 8, 4), (64, 8, 10), (64, 32, 6)):
        for name in ("allgather_pat", "reduce_scatter_pat"):
            schedule = cs.schedule(name, ranks=n, aggregation=most)
            cs.verify(schedule)
            assert schedule.steps == steps == int(np.log2(most)) + n // most - 1
            assert max(np.bincount(step.src).max() for step in schedule.each_step()) == most
    for n in (3, 13, 17):
        for most in (1, 2, 3, 5):
            schedule = cs.schedule("allgather_pat", ranks=n, aggregation=most)
            cs.verify(schedule)
            assert max(np.bincount(step.src).max() for step in schedule.each_step()) <= most


def test_bine_butterflies_put_a_third_fewer_bytes_on_long_links():
    """De Sensi et al. 2025: distances of (2^(s+1) ± 1)/3 in place of 2^s: up to 33 % less over links between groups."""
    ring = cs.topology.ring(256)

    def byte_hops(name):
        t = cs.schedule(name, ranks=256).transfers
        return ring.routes(t["src"], t["dst"]).hops.sum()

    for bine, binomial in (
        ("reduce_scatter_bine", "reduce_scatter_recursive_halving"),
        ("allgather_bine", "allgather_recursive_doubling"),
    ):
        hops = [(2 ** (s + 1) + (-1) ** s) // 3 for s in range(8)]
        assert byte_hops(bine) == 256 * sum(hop * 256 // 2 ** (s + 1) for s, hop in enumerate(hops))
        longest = [
            max(
                np.minimum((s.dst - s.src) % 256, (s.src - s.dst) % 256).max()
                for s in cs.schedule(name, 256).each_step()
            )
            for name in (bine, binomial)
        ]
        assert longest == [85, 128]
    assert byte_hops("allgather_bine") < 0.72 * byte_hops("allgather_recursive_doubling")


def test_a_subtree_of_a_bine_tree_is_a_range_of_the_circle():
    """So that a scatter sends one range of the buffer, or two where it wraps around."""
    for root in (0, 5):
        for step in cs.schedule("scatter_bine", ranks=16, root=root).each_step():
            for sender in set(step.src.tolist()):
                blocks = np.sort((step.chunk[step.src == sender] - root) % 16)
                assert ((np.diff(blocks) != 1).sum() + (blocks[0] != 0 or blocks[-1] != 15)) <= 1


def test_what_copy_engines_do_is_the_direct_schedule_and_with_multicast_that_of_nvls():
    """NCCL src/ce_coll.cc: one batch of copies, `targetRank = (myLsaRank + r) % lsaSize` for r from 1 on, its own block
    into the same place of every buffer; with multicast one write for all."""
    batch = {(rank, (rank + r) % 8, rank) for rank in range(8) for r in range(1, 8)}
    t = cs.schedule("allgather_direct", ranks=8).transfers
    assert set(zip(t["src"].tolist(), t["dst"].tolist(), t["chunk"].tolist(), strict=True)) == batch
    s = cs.schedule("allgather_nvls", ranks=8)
    assert np.bincount(s.transfers["src"], minlength=9)[:8].max() == s.chunks // 8


def test_symmetric_kernels_move_what_their_names_say():
    """AGxLL_R gathers all buffers and reduces locally: S(n-1) a rank; RSxLD_AGxST: S(n-1)/n twice; with multicast
    (RSxLDMC_AGxSTMC) about S once each way."""
    for name, sent in (("direct_one_shot", 7), ("direct_two_shot", 2 * 7 / 8), ("nvls", 1 + 1 / 8)):
        s = cs.schedule(f"allreduce_{name}", ranks=8)
        assert np.bincount(s.transfers["src"], minlength=9)[:8] / s.chunks == pytest.approx(np.full(8, sent)), name


def test_sparbit_is_pat_the_other_way_round():
    for n in (5, 8, 13):
        pat, sparbit = (cs.schedule(f"allgather_{a}", ranks=n).transfers for a in ("pat", "sparbit"))
        mirrored = {(t["step"], -t["src"] % n, -t["dst"] % n, -t["chunk"] % n) for t in pat}
        assert mirrored == {(t["step"], t["src"], t["dst"], t["chunk"]) for t in sparbit}
