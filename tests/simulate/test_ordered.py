"""Entries that begin when others have ended: chains by hand, sharing as `simulate` has it, and a small model of one's own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import collsim as cs
from collsim.simulate import Launch, simulate_ordered

RING = cs.schedule("allreduce_ring", ranks=4)
SWITCH = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")
ALONE = 6 * (2**20 / 4 / 25e9 + 2e-6)  # six steps of a quarter of 1 MiB over two cables


def test_delays_and_collectives_in_a_chain_take_their_sum():
    run = simulate_ordered(
        [Launch(seconds=1e-3), Launch((0,), 5e-4, RING, 2**20), Launch((1,), 2e-3), Launch((2,), 0.0, RING, 2**20)],
        SWITCH,
    )
    assert run.begin == pytest.approx([0, 1e-3, 1.5e-3 + ALONE, 3.5e-3 + ALONE], rel=1e-12)
    assert run.end == pytest.approx([1e-3, 1.5e-3 + ALONE, 3.5e-3 + ALONE, 3.5e-3 + 2 * ALONE], rel=1e-12)


def test_an_entry_waits_for_the_last_of_those_it_names():
    run = simulate_ordered([Launch(seconds=1.0), Launch(seconds=3.0), Launch((0, 1), 1.0), Launch((0,), 1.0)], SWITCH)
    assert run.end == pytest.approx([1, 3, 4, 2])


def test_two_at_once_share_links_as_simulate_has_it_and_one_behind_the_other_does_not():
    both = simulate_ordered([Launch((), 0.0, RING, 2**20), Launch((), 0.0, RING, 2**20)], SWITCH)
    known = cs.simulate([RING, RING], SWITCH, 2**20)
    assert both.end == pytest.approx([t.time for t in known], rel=1e-12)
    assert both.end.max() > 1.8 * ALONE
    behind = simulate_ordered([Launch((), 0.0, RING, 2**20), Launch((0,), 0.0, RING, 2**20)], SWITCH)
    assert behind.end == pytest.approx([ALONE, 2 * ALONE], rel=1e-12)


def test_one_that_begins_in_the_middle_slows_the_other_from_then_on():
    """Two flows over one cable of 1 B/s: 10 bytes from 0 s, 10 more from 4 s: 6 + 10 left, shared: 16 s and 20 s."""
    send = cs.schedule("broadcast_flat", ranks=2)
    net = cs.topology.switch(2, bandwidth=1.0, alpha=0)
    run = simulate_ordered([Launch((), 0.0, send, 10), Launch((), 4.0, send, 10)], net, "int8")
    assert run.end == pytest.approx([16, 20], rel=1e-12)


def test_ranks_and_helpers_sit_where_they_are_put():
    """Two parameter servers' turns use the same host: at the same time they take twice as long."""
    plan = cs.schedule("allreduce_parameter_server", ranks=4, server="helper")
    one = simulate_ordered([Launch((), 0.0, plan, 2**20)], SWITCH).end[0]
    assert one == pytest.approx(cs.simulate(plan, SWITCH, 2**20, engine="event").time, rel=1e-12)
    two = simulate_ordered([Launch((), 0.0, plan, 2**20), Launch((), 0.0, plan, 2**20, (4, 5, 6, 7))], SWITCH)
    assert two.end[1] > 1.9 * one


def test_background_traffic_shares_the_links():
    quiet = simulate_ordered([Launch((), 1e-3, RING, 2**22)], SWITCH)
    busy = simulate_ordered([Launch((), 1e-3, RING, 2**22)], SWITCH, background=[(4, 1, "1GiB")])
    assert busy.end[0] - 1e-3 > 1.8 * (quiet.end[0] - 1e-3)  # the ring ends while the other flow still runs


def test_a_log_of_rates_is_the_same_run():
    """Rates over time are found by running again: bytes by them are the bytes sent."""
    for trace in cs.simulate([RING, RING], SWITCH, 2**20, begin=[0.0, 1e-5]):
        flows = trace.timing.flows()
        assert (flows.rate * (flows.end - flows.begin)).sum() == pytest.approx(6 * 2**20, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_order_of_delays_is_the_longest_path(data):
    """Against a longest path worked out here."""
    many = data.draw(st.integers(1, 12))
    after = [data.draw(st.sets(st.integers(0, i - 1), max_size=3)) if i else set() for i in range(many)]
    spent = [data.draw(st.floats(0, 10)) for _ in range(many)]
    end = []
    for i in range(many):
        end.append(max((end[j] for j in after[i]), default=0.0) + spent[i])
    run = simulate_ordered([Launch(tuple(sorted(a)), s) for a, s in zip(after, spent, strict=True)], SWITCH)
    assert run.end == pytest.approx(end, rel=1e-12)
    assert (run.end - run.begin) == pytest.approx(spent, rel=1e-9, abs=1e-12)


def test_nothing_to_run_and_circles():
    assert not len(simulate_ordered([], SWITCH).end)
    empty = cs.schedule("allreduce_ring", ranks=1)
    assert simulate_ordered([Launch((), 0.0, empty, 5), Launch((0,), 1.0)], SWITCH).end == pytest.approx([0, 1])
    with pytest.raises(cs.CollsimError, match="entry 0 waits"):
        simulate_ordered([Launch((0,))], SWITCH)
    with pytest.raises(cs.CollsimError, match="ranks"):
        simulate_ordered([Launch((), 0.0, RING, 5, (0, 1))], SWITCH)
    assert np.isfinite(simulate_ordered([Launch()], SWITCH).end).all()
