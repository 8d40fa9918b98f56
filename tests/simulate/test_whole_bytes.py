"""Bytes are whole numbers, also where floats are not; and what depends on the order of equal moments."""

import numpy as np
import pytest

import collsim as cs


def by_hand(t):
    """Bytes over each link in Python's whole numbers, from the routes of the transfers alone."""
    rows = t.schedule.transfers
    routes = t.topology.routes(t.placement[rows["src"]], t.placement[rows["dst"]])
    total = [0] * len(t.topology.links)
    for i, chunk in enumerate(rows["chunk"].tolist()):
        for link in routes.link[routes.start[i] : routes.start[i + 1]].tolist():
            total[link] += int(t.slot_bytes[chunk])
    return total


@pytest.mark.parametrize("engine", ["lockstep", "event"])
@pytest.mark.parametrize("nbytes", [2**53 + 1, 2**57 + 3, 3 * 2**54 - 1])
@pytest.mark.parametrize("name", ["allreduce_ring", "gather_binomial", "allreduce_halving_doubling"])
def test_bytes_above_two_to_the_53_are_counted_one_by_one(name, nbytes, engine):
    t = cs.simulate(cs.schedule(name, ranks=8), cs.topology.ring(8), nbytes, "int8", engine)
    assert t.link_bytes.tolist() == by_hand(t)
    away = [int(t.slot_bytes[c]) for c in t.schedule.transfers["chunk"].tolist()]
    assert int(t.sent_bytes.sum()) == int(t.received_bytes.sum()) == sum(away)
    assert int(t.steps["bytes"].sum()) == sum(away)


def test_more_bytes_than_64_bits_count_are_refused():
    t = cs.simulate(cs.schedule("broadcast_flat", ranks=16), cs.topology.star(16), 2**60)  # 15 times 2^60 > 2^63
    with pytest.raises(cs.CollsimError, match="cannot be counted; use a smaller nbytes"):
        _ = t.sent_bytes


def test_no_link_is_busy_for_more_than_the_run_when_others_flow_next_to_it():
    """The background moves 25 GB/s for the whole run, a part of a byte of it is under way at the end."""
    s, topo = cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4)
    for nbytes in (1, 5, 999, 1001, 35_001):
        beside = [(0, 1, "1GiB"), (2, 3, "1GiB")]
        t = cs.simulate(s, topo, nbytes, engine="event", background=beside)
        assert t.bottleneck.busy_share <= 1 + 1e-9


@pytest.mark.parametrize("alpha", ["0", "1us"])
@pytest.mark.parametrize("name", ["reduce_halving_gather", "allgather_hierarchical", "scatter_chain"])
@pytest.mark.parametrize("nbytes", [0, 1, 4096])
def test_who_comes_at_the_same_moment_is_served_in_the_same_order_with_and_without_shortcuts(name, nbytes, alpha):
    s = cs.schedule(name, ranks=8)
    beside = [(0, 4, "64MiB"), (5, 4, 5000), (3, 5, 0)]
    for topo in (
        cs.topology.star(8, alpha=alpha),
        cs.topology.mesh(2, 2, 2, alpha=alpha),
        cs.topology.switch(8, alpha=alpha),
    ):
        for other in ({}, {"background": beside}, {"late": {5: "1us"}}):
            short, full = (
                cs.simulate(s, topo, nbytes, engine="event", sharing="fifo", shortcuts=way, **other)
                for way in (True, False)
            )
            assert np.allclose(short.finish, full.finish, rtol=1e-9, atol=0)
