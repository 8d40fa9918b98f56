"""Verify counts: what is there, what should be, who, where and when, in one sentence."""

import numpy as np
import pytest

import collsim as cs
from collsim.schedule import freeze


def broken(steps, ranks=4, collective="allreduce", **more):
    return freeze("allreduce_naive", collective, ranks, steps, **more)


def error_of(s):
    with pytest.raises(cs.ScheduleError) as caught:
        cs.verify(s)
    return caught.value


def test_a_double_add_is_told_as_a_count():
    """A checker that ORs contributions, as SCCL's own did, accepts this one: everything has arrived everywhere."""
    r = np.arange(4)
    everyone_twice = [cs.reduce(r, (r + 1) % 4, 0), cs.reduce(r, (r + 2) % 4, 0), cs.reduce(r, (r + 1) % 4, 0)]
    error = error_of(broken(everyone_twice))
    assert str(error).startswith("allreduce_naive(4): after the last step rank 0 has chunk 0 = 2·r0 + ")
    assert "but allreduce wants r0 + r1 + r2 + r3" in str(error)
    assert (error.rank, error.chunk, error.step) == (0, 0, 2)
    assert "It begins in step 3: rank 0 gets something too much into chunk 0." in str(error)


def test_a_missing_transfer_is_told_with_what_is_there():
    s = cs.schedule("reduce_flat", ranks=4)
    error = error_of(broken(list(s.each_step())[:2], collective="reduce"))
    assert "rank 0 has chunk 0 = r0 + r1 + r2, but reduce wants r0 + r1 + r2 + r3" in str(error)
    assert "Step 3 is missing: rank 0 gets nothing more into chunk 0." in str(error)
    assert (error.step, error.rank, error.chunk) == (2, 0, 0)


def test_nothing_at_all_is_told_as_nothing():
    error = error_of(broken([], collective="broadcast"))
    assert "rank 1 has chunk 0 = nothing, but broadcast wants r0. No step writes it." in str(error)
    assert error.from_start


def test_a_cell_that_a_step_makes_wrong_is_not_wrong_from_the_start():
    twice = [cs.copy(0, 1, chunk=0), cs.copy(0, 1, chunk=0), cs.reduce(0, 1, chunk=0)]
    error = error_of(broken(twice, collective="broadcast", ranks=2))
    assert (error.step, error.from_start) == (2, False)


def test_the_wrong_chunk_is_named():
    """Reading chunk 1 where chunk 0 was meant."""
    s = broken([cs.copy(0, 1, chunk=[1, 1], into=[0, 1])], ranks=2, collective="broadcast")
    assert "rank 1 has chunk 0 = r0[chunk 1], but broadcast wants r0" in str(error_of(s))


def test_sending_what_is_not_there_yet_names_the_step():
    error = error_of(broken([cs.copy(0, 1, 0), cs.copy(2, 3, 0)], collective="broadcast"))
    assert "step 2: rank 2 sends chunk 0 to rank 3, but holds nothing in it yet" in str(error)
    assert (error.step, error.rank, error.chunk) == (1, 2, 0)


def test_reading_in_the_step_of_arrival_is_too_early():
    """All transfers of a step read the buffers as they were at its start."""
    error = error_of(broken([[cs.copy(0, 1, 0), cs.copy(1, 2, 0)]], ranks=3, collective="broadcast"))
    assert (error.step, error.rank) == (0, 1)


def test_reducing_into_an_empty_slot_asks_for_a_copy():
    error = error_of(broken([cs.reduce(0, 1, 0)], ranks=2, collective="broadcast"))
    assert "rank 0 reduces into chunk 0 of rank 1, which holds nothing yet; use copy for the first one" in str(error)


def test_a_schedule_without_the_slots_of_the_result_is_wrong_not_right():
    """An alltoall that does nothing has no result slots at all; that must not count as kept."""
    error = error_of(freeze("mine", "alltoall", 2, [], chunks=2))
    assert "alltoall wants" in str(error)


def test_many_contributors_are_shortened():
    assert " + ... + r39" in str(error_of(broken([], ranks=40)))


@pytest.mark.parametrize("n", [256, 1024])
def test_weights_find_one_lost_transfer_in_a_large_ring(n):
    s = cs.schedule("reduce_scatter_ring", ranks=n)
    steps = list(s.each_step())
    last = steps[-1]
    steps[-1] = cs.reduce(last.src[1:], last.dst[1:], last.chunk[1:])
    error = error_of(freeze("reduce_scatter_ring", "reduce_scatter", n, steps, chunks=n))
    assert error.rank == int(last.dst[0])
    assert error.chunk == int(last.chunk[0])


def test_a_verdict_can_be_repeated():
    """The weights are others every time, what is said is not."""
    s = broken([cs.reduce(0, 1, 0)], ranks=2)
    assert str(error_of(s)) == str(error_of(s))


def ring(n, adds, copies):
    """A ring of so many steps that add and that copy."""
    r = np.arange(n)
    yield from (cs.reduce(r, (r + 1) % n, (r - k) % n) for k in range(adds))
    yield from (cs.copy(r, (r + 1) % n, (r + 1 - k) % n) for k in range(copies))


@pytest.mark.parametrize("n", [3, 4, 6])
def test_a_loop_one_step_short_points_at_the_step_that_is_not_there(n):
    """Of n - 1 steps that add the last is missing where the first that copies stands; of those that copy, the last."""
    assert error_of(broken(ring(n, n - 2, n - 1), n)).step == n - 2
    short = error_of(broken(ring(n, n - 1, n - 2), n))
    assert short.step == 2 * n - 3
    assert f"Step {2 * n - 2} is missing" in str(short)


def test_a_double_count_is_traced_to_where_it_was_added():
    """Nothing in the library is like it: r1 reaches rank 2 twice, and from there everybody."""
    steps = [cs.reduce(1, 2, 0), cs.reduce(3, 2, 0), cs.reduce(1, 2, 0), cs.reduce(2, 0, 0)]
    error = error_of(broken([*steps, cs.copy(0, [1, 2], 0), cs.copy(2, 3, 0)]))
    assert (error.step, error.rank, error.chunk) == (2, 2, 0)
    assert "rank 0 has chunk 0 = r0 + 2·r1 + r2 + r3" in str(error)


def test_a_sum_that_is_sent_on_too_early_is_pointed_at():
    """Chunks go round in an order that no algorithm of the library has, and the last addition comes after the copies."""
    steps = [cs.reduce(3, 1, 0), cs.reduce(0, 1, 0), cs.copy(1, [0, 3], 0), cs.reduce(2, 1, 0), cs.copy(1, 2, 0)]
    error = error_of(broken(steps))
    assert (error.step, error.rank, error.chunk) == (2, 1, 0)
    assert "It begins in step 3: rank 1 sends chunk 0 on too early." in str(error)
