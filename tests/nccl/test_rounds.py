"""MPI on host memory: rounds counted against their arithmetic, and what a round takes."""

from types import SimpleNamespace

import pytest

from collsim.nccl.libraries import mpi, mpich, openmpi
from collsim.nccl.libraries.loggp import WIRES, Placement, build_host, compute_round_time
from collsim.nccl.libraries.rounds import ROUND_COUNTERS, Round

CASE = {"gpu": "none", "ranks": 16, "nodes": 16, "collective": "allreduce", "inter_link": "1xHDR200 IB"}


def case(**other):
    return SimpleNamespace(**{**CASE, "nccl_version": "openmpi", **other})


def sums(operation, name, n, size):
    """Rounds, bytes that a rank sends, bytes that it adds."""
    rounds = ROUND_COUNTERS[operation][name](n, size)
    return (
        sum(r.repeats for r in rounds),
        sum(r.repeats * r.sends * r.nbytes for r in rounds),
        sum((r.repeats or 1) * r.reduced_bytes for r in rounds),
    )


@pytest.mark.parametrize(
    ("operation", "name", "rounds", "sent", "added"),
    [  # 8 ranks, 800 bytes
        ("allreduce", "ring", 14, 2 * 7 / 8 * 800, 7 / 8 * 800),
        ("allreduce", "recursive_doubling", 3, 3 * 800, 3 * 800),
        ("allreduce", "rabenseifner", 6, 2 * 7 / 8 * 800, 7 / 8 * 800),
        ("allgather", "ring", 7, 7 / 8 * 800, 0),
        ("allgather", "bruck", 3, 7 / 8 * 800, 0),
        ("allgather", "neighbor", 4, 7 / 8 * 800, 0),
        ("alltoall", "pairwise", 7, 7 / 8 * 800, 0),
        ("alltoall", "linear", 1, 7 / 8 * 800, 0),
        ("bcast", "binomial", 3, 3 * 800, 0),
        ("bcast", "scatter_allgather", 6, 2 * 7 / 8 * 800, 0),
        ("reduce", "binomial", 3, 3 * 800, 3 * 800),
        ("reduce_scatter", "recursive_halving", 3, 7 / 8 * 800, 7 / 8 * 800),
    ],
)
def test_rounds_bytes_and_additions_are_those_of_the_algorithm(operation, name, rounds, sent, added):
    assert sums(operation, name, 8, 800.0) == pytest.approx((rounds, sent, added))


@pytest.mark.parametrize(
    ("operation", "name"),
    [("allreduce", "rabenseifner"), ("reduce", "rabenseifner"), ("reduce", "reduce_scatter_gather")],
)
def test_rabenseifner_begins_with_the_neighbour(operation, name):
    """MPICH: "beginning with processes that are distance 1 apart"; so the farthest gets the least, and first gives it
    back."""
    rounds = ROUND_COUNTERS[operation][name](8, 800.0)
    assert [(r.distance, r.nbytes) for r in rounds[:3]] == [(1, 400), (2, 200), (4, 100)]
    assert [(r.distance, r.nbytes) for r in rounds[3:]] == [(4, 100), (2, 200), (1, 400)]
    farthest_first = ROUND_COUNTERS["reduce_scatter"]["recursive_halving"](8, 800.0)
    assert [(r.distance, r.nbytes) for r in farthest_first] == [(4, 400), (2, 200), (1, 100)]


def test_every_algorithm_that_a_library_may_choose_is_counted():
    for operation in ROUND_COUNTERS:
        names = {name for name, _ in openmpi.get_algorithm_names(operation).values()}
        names |= {name for *_, name, _ in mpich.load_table()["rules"][operation]}
        for ranks in (2, 3, 8, 48, 1000):
            for nbytes in (8, 2**12, 2**20, 2**28):
                if old := openmpi.choose_openmpi_before_41(operation, ranks, nbytes):
                    names.add(old)
        assert names <= set(ROUND_COUNTERS[operation]), operation


def test_an_empty_message_takes_the_latency_of_its_network_and_a_large_one_agrees_first():
    """Two nodes of one rank: 1.3 us; 1 MiB: 4.5 us of agreeing, a copy of 8 KiB, 2^20 / 17 GB/s."""
    place, host = Placement(2, 2, 2, 25e9, "ib"), build_host("", 1)
    assert compute_round_time(Round(1, 0, 1), place, host) == pytest.approx((1.3e-6, 0))
    waits, moves = compute_round_time(Round(1, 2.0**20, 1), place, host)
    assert waits == pytest.approx(1.3e-6 + 4.5e-6 + 8192 / 3.5e9)
    assert moves == pytest.approx(2**20 / 17e9)


def test_ranks_of_a_node_share_its_card():
    """32 ranks that all send 1 MiB to the other node over one card of 12.5 GB/s, of which 95 % carry data."""
    place, host = Placement(64, 2, 1, 12.5e9, "ib"), build_host("", 32)
    _, moves = compute_round_time(Round(1, 2.0**20, 32), place, host)
    assert moves == pytest.approx(32 * 2**20 / (0.95 * 12.5e9))
    _, one = compute_round_time(Round(10, 2.0**20, 1), place, host)  # around a ring only the last of a node crosses
    assert one == pytest.approx(10 * 2**20 / (0.8 * 204.8e9 / 4.5 / 32))


def test_ranks_of_a_node_share_its_memory_as_many_as_send():
    """One socket of eight channels of DDR4-3200 up to 64 ranks, of which STREAM reaches 80 %; a message is one copy or
    two, which read, read what they write over, and write; adding is one. A binomial tree has 1, 2, 4 ... senders; 192 ranks first make 128, for which 64 send."""
    node = 0.8 * 8 * 8 * 3200e6
    place, host = Placement(64, 1, 0, 0, "none"), build_host("", 64)
    assert host.memory == pytest.approx(node)
    assert build_host("", 65).memory == pytest.approx(2 * node)
    _, all_of_them = compute_round_time(Round(1, 1e6, 1), place, host)
    assert all_of_them == pytest.approx(1e6 * 4.5 * 64 / node)
    _, added = compute_round_time(Round(0, 0, 1, 1e6), place, host)
    assert added == pytest.approx(1e6 * 3 * 64 / node)
    tree = ROUND_COUNTERS["bcast"]["binomial"](64, 1e6)
    moves = [compute_round_time(level, place, host)[1] for level in tree]
    assert moves == pytest.approx([max(1e6 / 5e9, 1e6 * 4.5 * 2**k / node) for k in range(6)])
    first, second, *_ = ROUND_COUNTERS["allreduce"]["rabenseifner"](192, 1e6)
    assert (first.senders * 192, second.senders * 192) == pytest.approx((64, 128))


def test_a_rank_that_sends_to_all_others_sends_to_those_of_its_node_inside():
    """64 ranks on two nodes: 31 of 63 messages stay, 32 cross a card that all 32 share."""
    place, host = Placement(64, 2, 1, 12.5e9, "ib"), build_host("", 32)
    (pairwise,) = ROUND_COUNTERS["alltoall"]["pairwise"](64, 64 * 1e6)
    _, moves = compute_round_time(pairwise, place, host)
    assert moves == pytest.approx(31 * 1e6 * 4.5 * 32 / host.memory + 32 * 32 * 1e6 / (0.95 * 12.5e9))


@pytest.mark.parametrize(
    ("ranks", "nbytes", "segment"),
    [(3, 2**20, 2**17), (128, 2**19, 2**13), (10, 2**19, 2**14), (128, 2**26, 2**16), (110, 2**26, 2**17)],
)
def test_pipelines_before_41_are_cut_as_the_library_cuts_them(ranks, nbytes, segment):
    """128 KB while ranks < 1.6134e-6 * bytes + 2.1102, 64 KB by 2.3679e-6 and 1.1787, 16 KB by 3.2118e-6 and 8.7936, else
    8 KB. The first segment passes all other ranks, then the others follow."""
    assert openmpi.find_pipeline_segment(ranks, nbytes, adds=False) == segment
    fill, stream = ROUND_COUNTERS["bcast"]["segmented_pipeline"](ranks, nbytes)
    assert (fill.repeats, stream.repeats) == (ranks - 1, nbytes / segment - 1)
    assert fill.nbytes == stream.nbytes == segment


def test_ranks_of_a_node_share_its_card_for_small_messages_too():
    """32 messages of 8 KiB, which are copied, over a card of 3.125 GB/s: the card takes longer than a copy of each."""
    place, host = Placement(64, 2, 1, 3.125e9, "roce"), build_host("", 32)
    _, moves = compute_round_time(Round(1, 8192, 32), place, host)
    assert moves == pytest.approx(32 * 8192 / (0.95 * 3.125e9))


def test_few_ranks_broadcast_through_a_tree_where_a_pipeline_would_be_cut_small():
    assert openmpi.choose_openmpi_before_41("bcast", 8, 2**20) == "split_binary_tree"
    assert openmpi.choose_openmpi_before_41("bcast", 8, 2**22) == "segmented_pipeline"
    assert openmpi.choose_openmpi_before_41("bcast", 16, 2**20) == "segmented_pipeline"


def test_the_ring_that_a_table_pins_is_the_ring():
    """2 x 15 rounds of a latency each at least; the library's own choice for 1 KiB takes four."""
    ring, own = (mpi.predict_mpi_parts(case(algo=name), 1024) for name in ("ring", "mpi-auto"))
    assert ring.latency > 30 * 1.3e-6
    assert own.latency < 10 * 2e-6


def test_releases_before_41_run_the_rules_of_their_time():
    for said, year, name in (
        ("openmpi-4.0.5", "2025", "ring"),
        ("ompi-4.1.6", "2019", "rabenseifner"),
        ("openmpi", "2020-10-06", "ring"),
        ("openmpi", "2025-01-01", "rabenseifner"),
        ("cray_mpich-8.1.29", "2020", "reduce_scatter_allgather"),
    ):
        told = case(nccl_version=said, date=year, ranks=64, nodes=4)
        assert mpi.find_running_algorithm(told, "allreduce", 64, 4, 2**22) == name, said


def test_a_block_that_goes_round_a_ring_waits_for_the_network_once_a_node():
    """4 nodes of 8 ranks: 31 rounds, of which every eighth enters a node; messages that need an agreement hold each up."""
    host, place = build_host("", 8), Placement(32, 4, 1, 25e9, "ib")
    far = WIRES["ib"].latency + host.span  # four nodes: one doubling of two
    small, large = (ROUND_COUNTERS["allgather"]["ring"](32, 32 * block)[0] for block in (1024, 12288))
    assert compute_round_time(small, place, host)[0] == pytest.approx(31 * (far + 7 * host.near) / 8)
    agreed = WIRES["ib"].rendezvous + WIRES["ib"].eager / host.copy
    assert compute_round_time(large, place, host)[0] == pytest.approx(31 * (far + agreed))


@pytest.mark.parametrize("library", ["", "openmpi", "Cray MPICH"])
def test_a_time_of_host_memory_says_whose_algorithm_it_is(library):
    mine = case(nccl_version=library)
    assert mpi.name_algorithm(mine, 2**20) == mpi.find_running_algorithm(mine, "allreduce", 16, 16, 2**20) != ""
    assert mpi.name_algorithm(case(nccl_version=library, collective="sendrecv"), 2**20) == ""
    assert mpi.name_algorithm(case(nccl_version=library, gpu="A100"), 2**20) == (
        mpi.choose_mpi_algorithm("openmpi", "allreduce", 16, 2**20, one_per_node=True).name
        if library == "openmpi"
        else ""
    )
