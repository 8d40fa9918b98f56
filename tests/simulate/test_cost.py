"""What a run is said to cost before it starts, in counts of what the engine then does."""

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
    ],
)
def test_how_often_rates_are_worked_out_is_known_within_a_factor_of_three(name, topo, options):
    """Visits: flows and links that are looked at for new rates; they are what heavy sharing costs."""
    s = cs.schedule(name, 32)
    expected = expected_cost(s, topo, "16MiB", engine="event", **options)
    done = run(s, topo, "16MiB", **options)
    assert expected.how == done.how == "events"
    assert done.timing.visits / 3 <= expected.visits <= 3 * done.timing.visits


def test_heavy_uneven_sharing_is_expected_to_take_long():
    """The same 4,032 transfers: with jitter no two of them end together, and each end changes the rates of all that are left."""
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
