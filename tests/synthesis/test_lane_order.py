"""Trees in the order of the longest way: the same transfers as in steps, right, and sooner through."""

import numpy as np
import pytest
from networks import dgx1, random_network

import collsim as cs
from collsim.collective import get_collective
from collsim.synthesis.tree_packing.forests import build_schedule, plan_forests

GIB = 2**30


def forms(kind, network, pieces, lanes):
    made = plan_forests(get_collective(kind), network, network.ranks, 0, "normal", None)
    return [build_schedule(made, get_collective(kind), network.ranks, 0, pieces, {}, n, GIB) for n in (0, lanes)]


@pytest.mark.parametrize("kind", ["allgather", "reduce_scatter", "broadcast", "reduce", "allreduce"])
@pytest.mark.parametrize("lanes", [1, 3])
def test_the_order_changes_no_transfer_and_keeps_the_promise(kind, lanes):
    steps, ordered = forms(kind, random_network(7), 3, lanes)
    cs.verify(ordered)
    told = [np.sort(s.transfers[["src", "dst", "chunk", "reduce"]]) for s in (steps, ordered)]
    assert np.array_equal(*told)


def test_a_piece_goes_down_a_line_while_others_follow():
    """Broadcast down a line of 4, 3 links, one tree: 5 pieces of 1 s each take 5 + 2 steps, however they are ordered."""
    line = cs.topology.line(4, bandwidth="1GB/s", alpha=0)
    made = plan_forests(get_collective("broadcast"), line, 4, 0, "normal", None)
    for lanes in (0, 1):
        schedule = build_schedule(made, get_collective("broadcast"), 4, 0, 5, {}, lanes, 5_000_000_000)
        assert schedule.steps == 7
        assert cs.simulate(schedule, line, 5_000_000_000, engine="event").time == pytest.approx(7.0)


def test_trees_of_a_dgx1_fill_sooner_in_order():
    """Six trees per GPU, at most 4 links high: in steps a level takes as long as a piece of all trees of a pair, in
    order as one."""
    network = dgx1()
    in_steps, in_order = (cs.simulate(s, network, GIB, engine="event").time for s in forms("allgather", network, 8, 2))
    bound = 7 / 6 * GIB / 8 / 25e9
    assert in_order - bound < 0.6 * (in_steps - bound)
