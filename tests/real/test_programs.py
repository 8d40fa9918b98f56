"""What the ranks compute is what replay says, bit for bit, in whatever order things arrive."""

import itertools

import numpy as np
import pytest
from threads import by_threads, same_bits

import collsim as cs
from collsim.real.ranks.network import Network
from collsim.replay import moved

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
    shape = plan.ranks, plan.ranks * 13 if cs.collectives()[plan.collective].blocks else 101
    if dtype == "int64":
        return random.integers(-(2**40), 2**40, shape)
    return random.normal(size=shape).astype(dtype)


@pytest.mark.parametrize(("dtype", "op"), CASES)
def test_every_algorithm_without_helpers_is_replay_bit_for_bit(dtype, op):
    wrong, count = [], 0
    for plan in without_helpers():
        buffers = data(plan, dtype)
        count += 1
        if not same_bits(moved(plan, buffers, op, None, by_threads()), cs.replay(plan, buffers, op)):
            wrong.append(plan.label)
    assert count > 250
    assert not wrong, wrong
