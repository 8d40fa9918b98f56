"""Several groups at once: links are shared fairly, every schedule is right, and all end near the bound of all."""

import numpy as np
import pytest
from networks import graph_of

import collsim as cs
from collsim.synthesis import synthesize_groups

TORUS = cs.topology.torus(4, 4, bandwidth="50GB/s", alpha="1us")


@pytest.mark.parametrize(
    ("collective", "groups"),
    [
        ("allgather", [list(range(0, 16, 2)), list(range(1, 16, 2))]),  # nothing in common but links
        ("allreduce", [list(range(6)), list(range(4, 10))]),  # two ranks in both
        ("reduce_scatter", [[0, 1, 2, 3], [0, 4, 8, 12], [5, 6, 9, 10]]),
        ("broadcast", [[0, 5, 10, 15], [0, 5, 10, 15]]),  # a group given twice
        ("reduce", [[3, 2, 1, 0], [0, 1, 2, 3]]),
    ],
)
def test_groups_that_share_links_end_near_the_bound_of_all_of_them(collective, groups):
    found = synthesize_groups(collective, TORUS, groups, "1GiB")
    for schedule, group in zip(found.schedules, groups, strict=True):
        cs.verify(schedule)
        assert schedule.ranks == len(group)
    trace = found.simulate()
    assert found.bound <= trace.time * (1 + 1e-6)
    assert trace.time <= 1.06 * found.bound
    assert trace.whole.schedule.collective == collective


def test_one_schedule_for_each_group_alone_takes_half_as_long_again():
    """Even and odd ranks of a torus: each group alone takes the short routes, which are the same for both."""
    groups = [list(range(0, 16, 2)), list(range(1, 16, 2))]
    together = synthesize_groups("allgather", TORUS, groups, "1GiB").simulate().time
    alone = [cs.synthesize("allgather", TORUS, "1GiB", ranks=group, method="trees") for group in groups]
    assert cs.simulate(alone, TORUS, "1GiB", ranks=groups, engine="event").time > 1.5 * together


def test_rates_are_max_min_fair_by_hand():
    """On a line of 10 GB/s two broadcasts share the middle link; the third, which does not cross it, has its own link
    alone: 5, 5 and 10 GB/s, not 5 for all."""
    line = graph_of([(0, 1, 10e9), (1, 2, 10e9), (3, 4, 10e9), (2, 3, 10e9)], 5)
    found = synthesize_groups("broadcast", line, [[1, 2], [1, 2], [3, 4]], "64MiB", "low")
    assert np.array(found.rates) / 1e9 == pytest.approx([5, 5, 10], rel=1e-4)


def test_a_group_with_twice_the_bytes_gets_twice_the_rate():
    line = graph_of([(0, 1, 30e9)], 2)
    found = synthesize_groups("broadcast", line, [[0, 1], [0, 1]], ["1GiB", "512MiB"], "low")
    assert np.array(found.rates) / 1e9 == pytest.approx([20, 10], rel=1e-4)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "0 groups: give 1 to 256"),
        ([[0, 1]] * 257, "257 groups"),
        ([[0]], "needs 2 ranks"),
        ([[0, 0]], "several ranks on one GPU"),
        ([[0, 99]], "0 to 15"),
        ([[0, -1]], "0 to 15"),
        ([0, 1], "must be lists of ranks"),
        ("0,1", "must be lists of ranks"),
        ([["a", "b"]], "must be ranks of"),
    ],
)
def test_groups_that_make_no_sense_get_a_sentence(groups, message):
    with pytest.raises(cs.CollsimError, match=message):
        synthesize_groups("allreduce", TORUS, groups)


def test_other_requests_that_make_no_sense_get_a_sentence():
    with pytest.raises(cs.CollsimError, match="12,000"):
        synthesize_groups("allreduce", cs.topology.switch(128), [list(range(128))])
    with pytest.raises(cs.CollsimError, match="alltoall"):
        synthesize_groups("alltoall", TORUS, [[0, 1]])
    with pytest.raises(cs.CollsimError, match="2 values for 1 groups"):
        synthesize_groups("broadcast", TORUS, [[0, 1]], roots=[0, 1])
    with pytest.raises(cs.CollsimError, match="root=5"):
        synthesize_groups("broadcast", TORUS, [[0, 1]], roots=[5])


def test_no_bytes_take_no_rate_and_a_numpy_array_is_a_list_of_groups():
    found = synthesize_groups("allgather", TORUS, np.array([[0, 1], [2, 3]]), 0, "low")
    assert found.bound < 1e-9
    assert found.simulate().time >= 0
