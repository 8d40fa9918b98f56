"""What a run is said to cost before it starts, in counts of what the engine then does."""

import numpy as np
import pytest
from event_cases import network, run

import collsim as cs
from collsim.simulate import expected_cost

LEAF = cs.machine("dgx-h100", nodes=4, fabric="leaf-spine", oversubscription=4)


def pairs():
    return [(r, (r + 7) % 32, "16MiB") for r in range(32)]


@pytest.mark.parametrize(
    ("name", "topo", "options"),
    [
        ("alltoall_direct", network("switch", 32), {}),
        ("alltoall_direct", network("switch", 32), {"jitter": "10us"}),
        ("alltoall_direct", network("line", 32), {"jitter": "1us"}),
        ("alltoall_direct", network("ring", 32), {}),
        ("alltoall_direct", cs.topology.torus(4, 8), {"jitter": "1us"}),
        ("alltoall_direct", LEAF, {"jitter": "1us"}),
        ("alltoall_direct", LEAF, {}),
        ("allreduce_halving_doubling", network("ring", 32), {"jitter": "1us"}),
        ("allreduce_recursive_doubling", network("ring", 32), {"jitter": "1us"}),
        ("allreduce_parameter_server", network("switch", 32), {"jitter": "1us"}),
        ("allreduce_ring", network("switch", 32), {"background": pairs()}),
        ("allreduce_ring", cs.machine("pcie-8gpu", nodes=4), {}),
        ("alltoall_direct", cs.topology.fully_connected(32), {"injection": "25GB/s", "jitter": "1us"}),
        (
            "alltoall_direct",
            network("switch", 32),
            {"injection": "10GB/s", "jitter": "1us", "ranks": np.arange(32)[::-1]},
        ),
    ],
)
def test_how_often_rates_are_worked_out_is_known_within_a_factor_of_three(name, topo, options):
    """Visits: flows and links that are looked at for new rates; they are what heavy sharing costs."""
    s = cs.schedule(name, 32)
    expected = expected_cost(s, topo, "16MiB", engine="event", **options)
    done = run(s, topo, "16MiB", **options)
    assert expected.how == done.how == "events"
    assert done.timing.visits / 3 <= expected.visits <= 3 * done.timing.visits


@pytest.mark.parametrize(
    ("names", "topo", "options"),
    [
        (["allreduce_ring"] * 2, network("switch", 32), {}),
        (["allreduce_ring"] * 4, cs.machine("dgx-a100", nodes=4), {"jitter": "1us"}),
        (["alltoall_direct"] * 2, network("switch", 32), {"jitter": "1us"}),
        (["allreduce_ring", "alltoall_direct"], network("switch", 32), {"jitter": "1us"}),
        (["alltoall_direct"] * 2, network("switch", 64), {"ranks": [range(32), range(32, 64)], "jitter": "1us"}),
    ],
)
def test_what_several_at_once_look_at_is_known_too(names, topo, options):
    several = [cs.schedule(name, 32) for name in names]
    expected = expected_cost(several, topo, "16MiB", **options)
    done = cs.simulate(several, topo, "16MiB", **options)
    assert expected.transfers == sum(map(len, several))
    assert expected.how == done[0].how == "events"
    assert done[0].timing.visits / 3 <= expected.visits <= 3 * done[0].timing.visits


def test_a_cost_is_asked_for_with_the_arguments_of_the_run():
    s, topo = cs.schedule("allreduce_ring", 8), cs.machine("dgx-a100", nodes=2)
    options = {"ranks": range(4, 12), "begin": "1ms", "slow": {4: 2}}
    near = expected_cost(s, topo, "1MiB", engine="event", **options)
    assert run(s, topo, "1MiB", **options).how in near.how
    for engine, wrong, says in [
        ("lockstep", {"nonsense": 3}, "unknown keyword of .* 'nonsense'"),
        ("lockstep", {"begin": 1}, "engine 'lockstep' has no option 'begin'"),
        ("event", {"ranks": range(3)}, "must be 8 ranks"),
        ("event", {"nonsense": 3}, "unknown keyword of .* 'nonsense'"),
        ("event", {"jiter": "1us"}, "did you mean 'jitter'"),
    ]:
        for ask in (expected_cost, cs.simulate):
            with pytest.raises(cs.CollsimError, match=says):
                ask(s, topo, "1MiB", engine=engine, **wrong)
    with pytest.raises(cs.CollsimError, match="several schedules at once need"):
        expected_cost([s, s], topo, "1MiB", engine="lockstep")


def test_heavy_uneven_sharing_is_expected_to_take_long():
    """The same 4,032 transfers: with jitter no two of them end together, and each end changes the rates of all that are
    left."""
    s, topo = cs.schedule("alltoall_direct", 64), network("switch", 64)
    even, uneven = (expected_cost(s, topo, "16MiB", engine="event", jitter=jitter) for jitter in (0, "10us"))
    assert uneven.visits > 1000 * even.visits
    assert uneven.seconds > 50 * even.seconds
    alone = expected_cost(s, topo, "16MiB", engine="event", jitter="10us", sharing="none")
    assert alone.visits == 0
    assert alone.seconds < even.seconds


def test_flows_that_share_no_link_are_never_visited():
    s, topo = cs.schedule("allreduce_ring", 64), network("switch", 64)
    expected = expected_cost(s, topo, "1MiB", engine="event", jitter="1us")
    assert (expected.visits, expected.how) == (0, "program order or events")
    assert run(s, topo, "1MiB", jitter="1us").timing.visits == 0


def test_many_delays_longer_than_the_flows_leave_few_under_way_together():
    s, topo = cs.schedule("alltoall_direct", 32), network("switch", 32, alpha=0)
    short, long = (expected_cost(s, topo, "32KiB", engine="event", jitter=jitter).visits for jitter in ("1ns", "1ms"))
    assert long < short / 10
    assert run(s, topo, "32KiB", jitter="1ms").timing.visits < run(s, topo, "32KiB", jitter="1ns").timing.visits / 10
