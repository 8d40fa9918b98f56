"""A repaired schedule: right without the lost link, most branches as they were, about as fast as a new one."""

import time

import pytest
from networks import dgx1, graph_of, uneven_network

import collsim as cs
from collsim.synthesis import repair, report

LARGE = "16GiB"
TORUS = cs.topology.torus(4, 4, bandwidth="25GB/s", alpha="1us")


@pytest.mark.parametrize(
    ("collective", "network", "link"),
    [
        ("allgather", TORUS, (0, 1)),
        ("broadcast", TORUS, (0, 1)),
        ("reduce_scatter", dgx1(), (0, 3)),
        pytest.param("allreduce", dgx1(), (0, 3), marks=pytest.mark.slow),
        pytest.param("allreduce", uneven_network(3), (0, 12), marks=pytest.mark.slow),
        ("allgather", uneven_network(0), (0, 1)),
    ],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_a_repaired_schedule_takes_at_most_a_tenth_more_than_a_new_one(collective, network, link):
    found = cs.synthesize(collective, network, method="trees")
    broken = network.without_link(*link)
    assert not any({row.src, row.dst} == set(link) for row in broken.links)
    begin = time.process_time()
    repaired = repair(found, broken)
    between = time.process_time()
    new = cs.synthesize(collective, broken, method="trees")
    end = time.process_time()
    cs.verify(repaired)
    times = [cs.simulate(schedule, broken, LARGE, engine="event").time for schedule in (repaired, new)]
    assert times[0] <= 1.1 * times[1]
    if collective == "allreduce" and network.ranks == 8:
        assert between - begin < (end - between) / 3


def test_most_branches_stay_and_a_second_link_can_fail():
    found = cs.synthesize("allgather", TORUS)
    once = repair(found, TORUS.without_link(0, 1))
    twice = repair(once, TORUS.without_link(0, 1).without_link(5, 6), "64MiB")
    kept = [float(report(schedule).summary.split()[1]) for schedule in (once, twice)]
    assert all(85 < share < 100 for share in kept)
    cs.verify(twice)


def test_ranks_behind_a_switch_and_a_process_group():
    machine = cs.machine("dgx-a100", nodes=2)
    group = [0, 1, 8, 9]
    found = cs.synthesize("allgather", machine, ranks=group, method="trees")
    broken = machine.scaled(by=0.5)
    repaired = repair(found, broken, ranks=group)
    trace = cs.simulate(repaired, broken, LARGE, ranks=group, engine="event")
    assert trace.time <= 1.1 * trace.bound.time


def test_what_cannot_be_repaired_gets_a_sentence():
    found = cs.synthesize("allgather", TORUS)
    with pytest.raises(cs.CollsimError, match="has 9 ranks, the schedule 16"):
        repair(found, cs.topology.torus(3, 3))
    with pytest.raises(cs.CollsimError, match="no trees to repair"):
        repair(cs.schedule("allgather_ring", ranks=16), TORUS)
    for nothing in (None, "allgather"):
        with pytest.raises(cs.CollsimError, match="no trees to repair"):
            repair(nothing, TORUS)
    bridge = graph_of([(0, 1, 1e9), (1, 2, 1e9)], 3)
    with pytest.raises(cs.TopologyError, match="rank"):
        repair(cs.synthesize("allgather", bridge), bridge.without_link(1, 2))
