"""Collectives: sizes, factors and conditions as nccl-tests and NCCL count them."""

import numpy as np
import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.collective import EVERY, NOTHING, find_collective_name, get_collective, split_evenly


def test_factors_are_those_of_nccl_tests():
    """doc/PERFORMANCE.md: with n = 8."""
    factors = {name: c.busbw(8) for name, c in cs.collectives().items()}
    assert factors == {
        "allreduce": 2 * 7 / 8,
        "reduce": 1,
        "broadcast": 1,
        "allgather": 7 / 8,
        "reduce_scatter": 7 / 8,
        "gather": 7 / 8,
        "scatter": 7 / 8,
        "alltoall": 7 / 8,
        "alltoallv": 7 / 64,  # of what all eight send, which is eight times the size of an alltoall
        "dispatch": 7 / 64,  # its size is that of the alltoallv in its place
        "sendrecv": 1,
    }


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "allreduce",
            ["all_reduce", "AllReduce", "ncclAllReduce", "MPI_Allreduce", "dist.all_reduce", "all_reduce_perf"],
        ),
        ("allgather", ["all_gather", "all_gather_into_tensor", "torch.distributed.all_gather", "MPI_Allgather"]),
        ("reduce_scatter", ["reduce-scatter", "reduce_scatter_tensor", "ncclReduceScatter", "MPI_Reduce_scatter"]),
        ("alltoall", ["all_to_all", "all_to_all_single", "MPI_Alltoall"]),
        ("broadcast", ["ncclBcast", "MPI_Bcast", "dist.broadcast"]),
        ("sendrecv", ["sendrecv_perf", "MPI_Sendrecv"]),
    ],
)
def test_a_collective_has_one_name_in_every_answer(name, words):
    ring = cs.topology.ring(4)
    for word in words:
        assert find_collective_name(word) == name
        assert cs.nccl.predict(word, "dgx-a100", "1MiB") == cs.nccl.predict(name, "dgx-a100", "1MiB")
        assert cs.lower_bound(word, ring, "1MiB").time == cs.lower_bound(name, ring, "1MiB").time
        assert list(cs.algorithms(word)) == list(cs.algorithms(name))
        algorithm = next(iter(cs.algorithms(name)))
        assert list(cs.sweep(word, algorithm, ring)["collective"]) == [name]
    assert cs.compare(words[0], ring, switches=False).equals(cs.compare(name, ring, switches=False))
    told = [CliRunner().invoke(app, ["compare", word, "--topology", "ring(4)"]).stdout for word in (words[0], name)]
    assert told[0] == told[1] != ""


@pytest.mark.parametrize("word", ["allreduces", "nccl", "", "scatter-reduce", "mpi_reduce_local", "perf", "all reduce"])
def test_a_word_that_is_no_collective_is_refused(word):
    with pytest.raises(cs.CollsimError, match="collective"):
        get_collective(word)


def test_a_learner_registers_for_a_collective_of_pytorch():
    @cs.algorithm("all_reduce")
    def sends_nothing(n):
        yield from ()

    with cs.registered(sends_nothing):
        assert sends_nothing.collective == "allreduce"
        assert "sends_nothing" in cs.algorithms("allreduce")


def test_the_ten_lines_of_arithmetic_of_nccl_tests():
    """n = 6, 1 MiB of float: floor(262144 / 6) = 43690, down to a multiple of 4: 43688, so 43688 * 6 * 4 bytes move."""
    assert get_collective("allgather").nccl_tests_count(2**20, 6, 4) == (43688, 1048512)
    assert get_collective("allgather").nccl_tests_count(2**30, 8, 4) == (33554432, 2**30)
    assert get_collective("allreduce").nccl_tests_count(2**20 + 3, 6, 4) == (2**18, 2**20)


@pytest.mark.parametrize("name", ["allgather", "reduce_scatter", "gather", "scatter", "alltoall"])
def test_blocks_are_cut_first_and_then_into_chunks(name):
    """10 elements over 2 ranks with 2 chunks each: blocks of 5 and 5, each 3 + 2; never 3, 3, 2, 2."""
    assert get_collective(name).chunk_sizes(10, 2, 4).tolist() == [3, 2, 3, 2]


def test_other_buffers_are_cut_evenly():
    assert get_collective("allreduce").chunk_sizes(10, 2, 4).tolist() == [3, 3, 2, 2]
    assert split_evenly(0, 3).tolist() == [0, 0, 0]
    assert split_evenly(1_000_003, 7).sum() == 1_000_003


@pytest.mark.parametrize("name", cs.collectives())
def test_no_element_is_lost(name):
    for total in (0, 1, 2, 13, 1_000_003):
        assert get_collective(name).chunk_sizes(total, 4, 8).sum() == total


def test_alltoall_wants_block_j_of_every_rank():
    contributor, chunk = get_collective("alltoall").find_expected_contributions(3, 3)
    assert contributor[1].tolist() == [NOTHING] * 3 + [0, 1, 2]
    assert chunk[1, 3:].tolist() == [1, 1, 1]  # each sender's block for rank 1


def test_sendrecv_wants_the_buffer_of_the_rank_before():
    contributor, chunk = get_collective("sendrecv").find_expected_contributions(3, 2)
    assert contributor[:, 2:].tolist() == [[2, 2], [0, 0], [1, 1]]
    assert chunk[0, 2:].tolist() == [0, 1]


def test_gather_and_scatter_are_each_others_reverse():
    gather, scatter = get_collective("gather"), get_collective("scatter")
    assert np.array_equal(
        gather.mark_initial_slots(3, 3, root=1), scatter.find_expected_contributions(3, 3, root=1)[0] >= 0
    )
    assert np.array_equal(
        scatter.mark_initial_slots(3, 3, root=1), gather.find_expected_contributions(3, 3, root=1)[0] >= 0
    )


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ("reduce_scatter+allgather", "allreduce"),
        ("reduce+broadcast", "allreduce"),
        ("scatter+allgather", "broadcast"),
        ("reduce_scatter+gather", "reduce"),
        ("gather+broadcast", "allgather"),
        ("reduce+scatter", "reduce_scatter"),
    ],
)
def test_collectives_compose_as_the_mpi_books_say(parts, whole):
    """Chan et al. 2007; section 1.5 of every MPI text."""
    assert get_collective(parts).name == whole


@pytest.mark.parametrize(
    ("first", "second", "options"),
    [
        ("reduce_scatter_ring", "allgather_bruck", {}),
        ("reduce_scatter_recursive_halving", "allgather_pat", {}),
        ("reduce_binomial", "broadcast_knomial", {"root": 0}),
        ("scatter_binomial", "allgather_ring", {}),
        ("reduce_scatter_pairwise", "gather_chain", {}),
    ],
)
def test_composed_schedules_verify(first, second, options):
    n = 6
    first_part, second_part = cs.schedule(first, n, **options), cs.schedule(second, n, **options)
    cs.verify(first_part + second_part)
    assert (first_part + second_part).steps == first_part.steps + second_part.steps


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("allreduse", "did you mean 'allreduce'"),
        ("allgather+reduce_scatter+nonsense", "unknown collective 'nonsense'"),
        ("reduce_scatter+broadcast", "do not join"),
        ("alltoall+allgather", "slots of its own"),
        ("allgather+reduce_scatter", "add up copies of what allgather hands out"),
        ("broadcast+reduce", "add up copies of what broadcast hands out"),
    ],
)
def test_wrong_names_are_sentences(name, says):
    with pytest.raises(cs.CollsimError, match=says):
        get_collective(name)


def test_every_is_told_from_every_rank_number():
    assert EVERY < 0
    assert NOTHING < 0
    assert EVERY != NOTHING
