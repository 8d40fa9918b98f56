"""The eager rule of sending: a send waits until the bytes before it have left, not until they have arrived."""

from itertools import pairwise

import pytest

import collsim as cs
from collsim.simulate import Launch, simulate_ordered

ALPHA, RATE = 0.01, 1e7  # of a whole route; B/s


def place(n):
    return cs.topology.switch(n, bandwidth=RATE, alpha=ALPHA / 2)


def simulate_both(name, n, nbytes, **options):
    plan = cs.schedule(name, ranks=n, **options)
    return [cs.simulate(plan, place(n), nbytes, engine="event", eager=rule) for rule in (False, True)]


@pytest.mark.parametrize("n", [2, 4, 8])
@pytest.mark.parametrize("chunks", [1, 8, 16])
def test_a_chain_pays_the_latency_once_for_each_hop_and_not_for_each_chunk(n, chunks):
    chunk = 2**20 / chunks / RATE
    waits, eager = simulate_both("broadcast_chain", n, "1MiB", chunks=chunks)
    rounds = chunks + n - 2
    assert waits.time == pytest.approx(rounds * (ALPHA + chunk))
    assert eager.time == pytest.approx((n - 1) * ALPHA + rounds * chunk)


def test_a_chain_behind_a_delay_pays_the_same_from_its_end_on():
    chain, delay = cs.schedule("broadcast_chain", ranks=4, chunks=8), 0.05
    entries = [Launch(seconds=delay), Launch((0,), 0.0, chain, 2**20), Launch((1,), delay, chain, 2**20)]
    run = simulate_ordered(entries, place(4), eager=True)
    once = 3 * ALPHA + (8 + 4 - 2) * 2**17 / RATE
    assert run.begin.tolist() == pytest.approx([0.0, delay, delay + once])
    assert run.end.tolist() == pytest.approx([delay, delay + once, 2 * (delay + once)])


def test_a_root_that_hears_all_one_after_another_waits_for_one_latency():
    n, nbytes = 8, 2**16
    waits, eager = simulate_both("allreduce_data_parallel", n, nbytes)
    assert waits.time == pytest.approx(2 * (n - 1) * (ALPHA + nbytes / RATE))
    assert eager.time == pytest.approx(2 * (ALPHA + (n - 1) * nbytes / RATE))


def test_where_every_send_waits_for_data_nothing_changes():
    for name in ("allreduce_ring", "allreduce_recursive_doubling"):
        waits, eager = simulate_both(name, 8, "1MiB")
        assert eager.time == pytest.approx(waits.time)
        assert eager.start == pytest.approx(waits.start)


@pytest.mark.parametrize("name", ["allreduce_tree", "allreduce_double_binary_tree", "alltoall_pairwise", "gather_flat"])
def test_eager_is_never_slower_and_sends_of_a_rank_stay_in_order(name):
    waits, eager = simulate_both(name, 8, "1MiB")
    assert eager.time <= waits.time * (1 + 1e-9)
    rows = eager.schedule.transfers
    for rank in range(8):
        mine = [i for i in range(len(rows)) if rows["src"][i] == rank]
        for one, other in pairwise(mine):
            if rows["step"][one] < rows["step"][other]:
                assert eager.start[other] >= eager.finish[one] - ALPHA - 1e-12
    assert eager.link_bytes.tolist() == waits.link_bytes.tolist()
    assert eager.gap >= 1 - 1e-9


def test_a_late_rank_is_late_for_the_eager_too():
    plan = cs.schedule("broadcast_chain", ranks=3, chunks=4)
    t = cs.simulate(plan, place(3), "4KiB", engine="event", eager=True, late={1: 0.5})
    assert t.start.min() == pytest.approx(0.5)  # both ends of a transfer must have joined


def test_what_eager_does_not_go_with_is_said():
    plan = cs.schedule("broadcast_chain", ranks=3)
    for wrong in ({"sharing": "fifo"}, {"gamma": "10GB/s"}):
        with pytest.raises(cs.CollsimError, match="eager=True needs"):
            cs.simulate(plan, place(3), "4KiB", engine="event", eager=True, **wrong)
    with pytest.raises(cs.CollsimError, match="eager=1 must be True or False"):
        cs.simulate(plan, place(3), "4KiB", engine="event", eager=1)
