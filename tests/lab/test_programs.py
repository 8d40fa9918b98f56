"""What the ranks compute is what replay says, bit for bit, in whatever order things arrive."""

import itertools

import numpy as np
import pytest
from sampling import sample
from threads import by_threads, same_bits

import collsim as cs
from collsim.lab.ranks.emulated_network import ImitatedNetwork
from collsim.replay import replay_with

N = range(2, 9)
CASES = (("float32", "sum"), ("float16", "sum"), ("int64", "avg"), ("float32", "avg"))


def without_helpers():
    for name, n in itertools.product(cs.algorithms(), N):
        try:
            plan = cs.schedule(name, ranks=n)
        except cs.CollsimError:
            continue  # not for so many ranks
        if plan.endpoints == plan.ranks:
            yield plan


def data(plan, dtype, seed=0):
    """Numbers whose sums round, in every type; elements that do not divide by the chunks."""
    random = np.random.default_rng(seed)
    shape = plan.ranks, plan.ranks * 13 if cs.collectives()[plan.collective].has_blocks else 101
    if dtype == "int64":
        return random.integers(-(2**40), 2**40, shape)
    return random.normal(size=shape).astype(dtype)


@pytest.mark.parametrize(("dtype", "op"), sample(CASES, 1))
def test_every_algorithm_without_helpers_is_replay_bit_for_bit(dtype, op):
    wrong, count = [], 0
    for plan in without_helpers():
        buffers = data(plan, dtype)
        count += 1
        if not same_bits(replay_with(plan, buffers, op, None, by_threads()), cs.replay(plan, buffers, op)):
            wrong.append(plan.label)
    assert count > 250
    assert not wrong, wrong


@pytest.mark.parametrize("eager", [True, False])
def test_helpers_and_either_rule_of_sending_are_replay_too(eager):
    network = ImitatedNetwork(eager=eager)
    for plan in (
        cs.schedule("allreduce_parameter_server", ranks=4, server="helper"),
        cs.schedule("allreduce_sharded_parameter_server", ranks=4, server="helper"),
        cs.schedule("allreduce_ring", ranks=5, channels=2),
        cs.schedule("allreduce_double_binary_tree", ranks=6, chunks=4),
        cs.schedule("alltoall_bruck", ranks=7),
        cs.schedule("broadcast_chain", ranks=5, chunks=8),
    ):
        buffers = data(plan, "float32", seed=1)
        assert same_bits(replay_with(plan, buffers, "sum", None, by_threads(network)), cs.replay(plan, buffers)), (
            plan.label
        )


def test_pacing_changes_no_bit():
    plan = cs.schedule("allreduce_direct_one_shot", ranks=6)
    buffers = data(plan, "float16", seed=2)
    paced = replay_with(
        plan,
        buffers,
        "sum",
        None,
        by_threads(ImitatedNetwork(alpha=0.001, bandwidth=1e6, slow={2: 3.0}, late={1: 0.01})),
    )
    assert same_bits(paced, cs.replay(plan, buffers))


def test_two_ranks_that_swap_a_slot_send_what_they_had_before():
    @cs.algorithm("allreduce", steps=lambda n: 1, sent=lambda n: 1, source="a test")
    def swap_of_two(n):
        yield cs.reduce([0, 1], [1, 0], chunk=0)

    plan = cs.schedule("swap_of_two", ranks=2)
    slowly = by_threads(ImitatedNetwork(alpha=0.001, bandwidth=1e3))
    assert replay_with(plan, np.array([[1.0], [10.0]]), "sum", None, slowly).tolist() == [[11.0]] * 2


def test_a_slot_is_read_before_it_is_written_in_the_same_step():
    from collsim.lab.ranks.endpoint_program import build_programs
    from collsim.replay import mark_initial_slots

    plan = cs.schedule("allreduce_recursive_doubling", ranks=4)
    order = build_programs(plan, mark_initial_slots(plan))[0].order[0]
    assert order == ((False, 0), (True, 0), (False, 1), (True, 1))
