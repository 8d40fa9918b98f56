"""Published decision rules of MPI libraries, row by row as they are written down, and the times of OSU's
micro-benchmarks."""

import re
from types import SimpleNamespace

import pytest

import collsim as cs
from collsim.errors import CollsimError
from collsim.nccl.libraries import mpi, mpich, openmpi
from collsim.nccl.libraries.mpi import choose_mpi_algorithm

K, M = 2**10, 2**20


@pytest.mark.parametrize(
    ("collective", "ranks", "nbytes", "name"),
    [
        # n < 4: <8 ring, <4K recursive doubling, <8K ring, <16K recursive doubling, <64K ring, <256K segmented ring,
        # else Rabenseifner
        ("allreduce", 3, 12, "recursive_doubling"),
        ("allreduce", 3, 4 * K, "ring"),
        ("allreduce", 3, 8 * K, "recursive_doubling"),
        ("allreduce", 3, 16 * K, "ring"),
        ("allreduce", 3, 256 * K - 1, "segmented_ring"),
        ("allreduce", 3, 256 * K, "rabenseifner"),
        # n < 16: <8K recursive doubling; n < 32: <64 segmented ring, <4K recursive doubling
        ("allreduce", 8, 8 * K - 1, "recursive_doubling"),
        ("allreduce", 8, 8 * K, "rabenseifner"),
        ("allreduce", 16, 8 * K - 1, "rabenseifner"),
        ("allreduce", 16, 4 * K - 1, "recursive_doubling"),
        # n < 128: <256K recursive doubling; n < 256: <128K nonoverlapping, <256K recursive doubling
        ("allreduce", 64, 256 * K - 1, "recursive_doubling"),
        ("allreduce", 128, 128 * K - 1, "nonoverlapping"),
        ("allreduce", 128, 128 * K, "recursive_doubling"),
        (
            "allreduce",
            5000,
            16 * K - 1,
            "recursive_doubling",
        ),  # <16K segmented ring, which falls back: 4095 floats are fewer than ranks
        ("allreduce", 5000, 32 * K, "rabenseifner"),
        # n < 16: <8 k-nomial, <64 binary, <4K k-nomial, <16K binary, <32K binomial, else linear
        ("broadcast", 8, 4, "knomial"),
        ("broadcast", 8, 63, "binary_tree"),
        ("broadcast", 8, 4 * K - 1, "knomial"),
        ("broadcast", 8, 16 * K, "binomial"),
        ("broadcast", 8, 32 * K, "basic_linear"),
        ("broadcast", 16, M, "scatter_allgather"),
        ("broadcast", 200, 1, "binomial"),
        # n < 8: <4K binary, <64K chain, <256K binomial, <512K linear, <1M binomial, else linear
        ("reduce", 4, 4 * K, "chain"),
        ("reduce", 4, 64 * K, "binomial"),
        ("reduce", 4, M, "linear"),
        ("reduce", 100, M, "binomial"),
        # the block counts: 64 ranks, <512 recursive doubling, <64K neighbour exchange, else ring
        ("allgather", 2, M, "two_proc"),
        ("allgather", 64, 64 * 511, "recursive_doubling"),
        ("allgather", 64, 64 * 512, "neighbor"),
        ("allgather", 64, 64 * 64 * K, "ring"),
        ("allgather", 65, 65 * 512, "ring"),  # neighbour exchange wants an even number
        ("allgather", 31, 31 * K, "bruck"),  # recursive doubling wants a power of two
        # 32 <= n < 64: <512 Bruck, <512K linear, else linear with sync
        ("alltoall", 32, 32 * 511, "modified_bruck"),
        ("alltoall", 32, 32 * 512, "linear"),
        ("alltoall", 32, 32 * 512 * K, "linear_sync"),
        ("alltoall", 2, 2 * M, "pairwise"),
        ("reduce_scatter", 6, 7, "non-overlapping"),
        ("reduce_scatter", 6, 256 * K, "ring"),
        ("reduce_scatter", 64, 2 * K - 1, "butterfly"),
        ("reduce_scatter_block", 4, 4 * M, "basic_linear"),
        ("reduce_scatter_block", 8, 8 * 4 * M, "butterfly"),
        ("gather", 6, 6 * 256 * K, "linear_sync"),
        ("scatter", 6, 6 * 32 * K, "linear_nb"),
    ],
)
def test_open_mpi(collective, ranks, nbytes, name):
    found = choose_mpi_algorithm("openmpi", collective, ranks, nbytes)
    assert (found.name, found.segment) == (name, 0)
    assert "coll_tuned_decision_fixed.c" in found.source


def test_open_mpi_with_a_rank_per_node():
    """n < 8: <1M allgather and reduce, else recursive doubling; n <= 64: <32K, <128K recursive doubling, else
    Rabenseifner."""
    apart = {"one_per_node": True}
    assert choose_mpi_algorithm("openmpi", "allreduce", 4, M - 1, **apart).name == "allgather_reduce"
    assert choose_mpi_algorithm("openmpi", "allreduce", 4, M, **apart).name == "recursive_doubling"
    assert choose_mpi_algorithm("openmpi", "allreduce", 64, 128 * K - 1, **apart).name == "recursive_doubling"
    assert choose_mpi_algorithm("openmpi", "allreduce", 64, 128 * K, **apart).name == "rabenseifner"
    assert choose_mpi_algorithm("openmpi", "broadcast", 64, M, **apart).name == "binary_tree"


def test_open_mpi_with_an_operator_that_does_not_commute():
    assert choose_mpi_algorithm("openmpi", "allreduce", 3, 128 * K, commutative=False).name == "basic_linear"
    assert choose_mpi_algorithm("openmpi", "allreduce", 8, M, commutative=False).name == "nonoverlapping"
    assert choose_mpi_algorithm("openmpi", "reduce", 100, 8, commutative=False).name == "in-order_binary"
    assert choose_mpi_algorithm("openmpi", "reduce_scatter", 100, M, commutative=False).name == "non-overlapping"
    assert choose_mpi_algorithm("openmpi", "allgather", 64, M, commutative=False) == choose_mpi_algorithm(
        "openmpi", "allgather", 64, M
    )


def test_rabenseifner_wants_an_element_for_every_rank():
    """128 bytes on 32 ranks are 32 floats, or 16 doubles."""
    assert choose_mpi_algorithm("openmpi", "allreduce", 32, 128).name == "rabenseifner"
    assert choose_mpi_algorithm("openmpi", "allreduce", 32, 128, itemsize=8).name == "recursive_doubling"
    assert choose_mpi_algorithm("mpich", "allreduce", 32, 128).name == "reduce_scatter_allgather"
    assert choose_mpi_algorithm("mpich", "allreduce", 32, 128, itemsize=8).name == "recursive_doubling"


@pytest.mark.parametrize(
    ("collective", "ranks", "nbytes", "name"),
    [
        ("broadcast", 7, 2**30, "binomial"),
        ("broadcast", 8, 12288, "binomial"),
        ("broadcast", 8, 12289, "scatter_recursive_doubling_allgather"),
        ("broadcast", 8, 524289, "scatter_ring_allgather"),
        ("broadcast", 9, 12289, "scatter_ring_allgather"),
        ("allreduce", 2, 8, "recursive_doubling"),
        ("allreduce", 2, 9, "reduce_scatter_allgather"),
        ("reduce", 8, 2048, "binomial"),
        ("reduce", 8, 2052, "reduce_scatter_gather"),
        ("allgather", 8, 524287, "recursive_doubling"),
        ("allgather", 8, 524288, "ring"),
        ("allgather", 9, 81919, "brucks"),
        ("allgather", 9, 81920, "ring"),
        ("reduce_scatter", 9, 524287, "recursive_halving"),
        ("reduce_scatter", 9, 524288, "pairwise"),
        ("alltoall", 7, 7 * 256, "scattered"),
        ("alltoall", 8, 8 * 256, "brucks"),
        ("alltoall", 8, 8 * 257, "scattered"),
        ("alltoall", 8, 8 * 32769, "pairwise"),
        ("gather", 8, M, "binomial"),
    ],
)
def test_mpich(collective, ranks, nbytes, name):
    found = choose_mpi_algorithm("mpich", collective, ranks, nbytes)
    assert found.name == name
    assert "coll_selection.json" in found.source


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_every_choice_that_names_an_algorithm_of_ours_can_be_run(library):
    named = set()
    for collective in mpi._OPERATIONS:
        for ranks in (2, 3, 4, 5, 7, 8, 12, 16, 33, 64):
            for nbytes in (ranks * 4, ranks * 64 * K, ranks * 4 * M):
                found = choose_mpi_algorithm(library, collective, ranks, nbytes)
                if found.algorithm is not None and found.algorithm not in named:
                    cs.verify(cs.schedule(found.algorithm, ranks=ranks))
                    named.add(found.algorithm)
    assert len(named) >= 12


def test_every_number_of_the_tables_is_an_algorithm():
    for table in openmpi.load_table()["rules"]:
        names = openmpi.get_algorithm_names(re.sub("_disjoint$", "", table))
        for _, _, rules in openmpi.read_rule_lines(table):
            assert {number for _, number in rules} <= set(names)
            limits = [below for below, _ in rules]
            assert limits[-1] is None
            assert limits[:-1] == sorted(limits[:-1])
    operations = set(mpi._OPERATIONS.values())
    assert set(mpich.load_table()["rules"]) == set(openmpi.load_table()["names"]) == operations
    assert {table.removesuffix("_disjoint") for table in openmpi.load_table()["rules"]} == operations
    for rows in mpich.load_table()["rules"].values():
        assert rows[-1][:2] == ["any", -1]
        assert all(who in ("any", "pow2") or int(who.removeprefix("<")) for who, *_ in rows)


def test_mistakes_are_said():
    for wrong, what in (
        (("lam", "allreduce", 4, 8), "MPI library 'lam'"),
        (("openmpi", "sendrecv", 4, 8), "collective of MPI 'sendrecv'"),
        (("openmpi", "allreduce", 1, 8), "ranks=1"),
        (("mpich", "allreduce", "four", 8), "ranks"),
    ):
        with pytest.raises(CollsimError, match=what):
            choose_mpi_algorithm(*wrong)


def test_a_table_reports_the_choice_of_a_library_that_publishes_its_rules():
    case = SimpleNamespace(
        gpu="none", ranks="64", nodes="2", collective="allreduce", inter_link="1xEDR100 IB", nccl_version="openmpi-ucx"
    )
    assert mpi.choose_for_case(case, 256 * K).name == "rabenseifner"
    case.nccl_version = "cray-mpich"
    assert mpi.choose_for_case(case, 256 * K) is None


def build_case(**words):
    usual = {"ranks": 16, "nodes": 2, "collective": "allreduce", "inter_link": "4xHDR200 IB", "nccl_version": "openmpi"}
    return SimpleNamespace(**{"gpu": "A100-SXM4", **usual, **words})


def test_gpu_memory_is_copied_where_gpudirect_is_off():
    """A round waits 12 us more for its two copies: one between nodes, three of eight ranks at 0.4 of that inside."""
    stated = {word: mpi.predict_mpi_parts(build_case(gdr=word), 8) for word in ("", "yes", "no")}
    assert stated["yes"].total == stated[""].total
    assert stated["no"].latency - stated["yes"].latency == pytest.approx(12e-6 * (1 + 0.4 * 3))
    assert stated[""].unknown_inputs[0].slow > 2 * stated["yes"].unknown_inputs[0].slow
    assert "GDRCopy not stated" in str(mpi.list_mpi_assumptions(build_case(), 8)[0])
    assert "once you know the times of one large" in str(
        mpi.list_mpi_assumptions(build_case(collective="broadcast"), 16 * M)[-1]
    )
    assert mpi.list_mpi_assumptions(build_case(gpu="none"), 8) == ()


def test_cards_that_nobody_stated_are_named_and_widen_the_interval():
    for gpu, links, start in (
        ("none", ("1xHDR200 IB", ""), "NIC rate or number not stated: 1 x 25 GB/s a node"),
        ("H100-SXM5", ("400G IB per GPU", "NIC rate not stated"), "NIC rate or number not stated: 8 x 50 GB/s a node"),
        ("none", ("2xSlingshot-11", "2xSlingshot"), "generation of Slingshot not stated: 11, 2 x 200 Gbit/s a node"),
    ):
        stated, guessed = (build_case(gpu=gpu, inter_link=link, collective="alltoall", gdr="yes") for link in links)
        assert mpi.predict_mpi_time(guessed, 64 * M) == mpi.predict_mpi_time(stated, 64 * M)
        named = [sentence for sentence in mpi.list_mpi_assumptions(guessed, 64 * M) if str(sentence).startswith(start)]
        assert len(named) == 1
        assert not any(str(sentence).startswith(start) for sentence in mpi.list_mpi_assumptions(stated, 64 * M))
        known, wide = (mpi.predict_mpi_interval(case, 64 * M).ratio for case in (stated, guessed))
        assert (wide > 1.02 * known) == ("alone" in str(named[0])), gpu
    one_rank_a_node = build_case(gpu="none", ranks=4, nodes=4, inter_link="", collective="alltoall")
    assert "know number and rate" in str(mpi.list_mpi_assumptions(one_rank_a_node, 64 * M)[-1])


def test_full_nodes_and_many_tcp_flows_at_a_port_are_doubts():
    full = build_case(gpu="none", ranks=128)
    assert mpi.predict_mpi_parts(full, 8).unknown_inputs[0].name == "full nodes"
    assert mpi.predict_mpi_parts(build_case(gpu="none", ranks=128, launch="srun"), 8).unknown_inputs == ()
    words = {"gpu": "none", "ranks": 48, "nodes": 48, "inter_link": "1x10GbE (TCP sockets)"}
    for collective, names in (("alltoall", {"incast", "TCP"}), ("allreduce", {"TCP"}), ("broadcast", {"TCP"})):
        inputs = mpi.predict_mpi_parts(build_case(**words, collective=collective), 4 * M).unknown_inputs
        assert {entry.name for entry in inputs} == names


def test_stated_processors_say_how_fast_the_memory_of_a_node_is():
    """All 64 ranks copy at a time, so twice the sockets take half of the time, and nothing of the memory is unknown."""
    words = {"gpu": "none", "ranks": 64, "nodes": 1, "collective": "alltoall"}
    one, two, guessed = (build_case(**words, intra_link=link) for link in ("1xmilan", "2 x Ice-Lake", "shm"))
    times = [mpi.predict_mpi_parts(case, 64 * M).bytes for case in (one, two, guessed)]
    assert times == pytest.approx([times[0], times[0] / 2, times[0]])
    for case, is_named in ((one, False), (two, False), (guessed, True)):
        sentences = " ".join(str(sentence) for sentence in mpi.list_mpi_assumptions(case, 64 * M))
        assert ("processors of a node not stated: 164 GB/s" in sentences) == is_named
    known, wide = (mpi.predict_mpi_interval(case, 64 * M).ratio for case in (one, guessed))
    assert wide > 1.1 * known
    with pytest.raises(CollsimError, match="milan"):
        mpi.predict_mpi_time(build_case(**words, intra_link="2xmillan"), 64 * M)


def test_memory_of_a_node_and_tcp_are_doubts_where_they_hold_up_a_call():
    """The sides on which other memory and other sockets lie: slower and faster ones are published."""
    full, alone = (build_case(gpu="none", ranks=ranks, nodes=4, inter_link="1xHDR200 IB") for ranks in (64, 4))
    memory, copies = mpi.predict_mpi_parts(full, 64 * M).unknown_inputs
    assert {memory.name, copies.name} == {"host memory", "copies"}
    assert min(memory.fast, memory.slow, copies.fast, copies.slow) > 0
    assert mpi.predict_mpi_parts(alone, 64 * M).unknown_inputs == ()
    fast_wire = build_case(gpu="none", ranks=4, nodes=4, inter_link="1x100GbE (TCP sockets)")
    (tcp,) = mpi.predict_mpi_parts(fast_wire, 64 * M).unknown_inputs
    assert tcp.name == "TCP"
    assert min(tcp.fast, tcp.slow) > 0
    assert "over TCP is not stated" in str(mpi.list_mpi_assumptions(fast_wire, 64 * M)[0])
