"""Plain flows against times worked out by hand, and what is refused.

S bytes, cables of B bytes per second and alpha seconds. Over h cables a flow alone takes h (alpha + S/B) where each
cable stores it and forwards it (`fifo`), and h alpha + S/B where it flows through (`fair`, `none`).
"""

import numpy as np
import pytest

import collsim as cs
from collsim.simulate import simulate_flows

ALPHA, RATE = 500e-9, 50 * 2**30
MIB = 2**20
BOTH = ["fair", "none"]
close = pytest.approx


def network(name, *sizes, **options):
    return getattr(cs.topology, name)(*sizes, **{"bandwidth": RATE, "alpha": ALPHA, **options})


def finish(topo, src, dst, nbytes, sharing, start=0.0):
    return simulate_flows(topo, src, dst, nbytes, start=start, sharing=sharing).finish


# ---- one flow
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nbytes", [1, 8, 1500, 4096, MIB, 64 * MIB, 2**30])
@pytest.mark.parametrize(
    ("topo", "src", "dst", "hops"),
    [
        (network("fully_connected", 4), 0, 3, 1),
        (network("switch", 4), 0, 3, 2),
        (network("ring", 16), 0, 3, 3),
        (network("ring", 16), 14, 1, 3),  # the short way, over the end
        (network("ring", 16), 0, 8, 8),
        (network("line", 9), 8, 0, 8),
        (network("mesh", 4, 4), 0, 15, 6),  # three along, three down
        (network("torus", 4, 4), 0, 15, 2),  # one back and one up, round both ends
        (network("torus", 4, 4), 0, 10, 4),
        (network("hypercube", 16), 0, 15, 4),  # a cable for each bit that differs
        (network("hypercube", 16), 5, 6, 2),
    ],
    ids=lambda v: v.name if hasattr(v, "name") else str(v),
)
def test_a_flow_alone_crosses_its_cables_one_by_one_or_all_at_once(topo, src, dst, hops, nbytes):
    assert finish(topo, src, dst, nbytes, "fifo") == close(hops * (ALPHA + nbytes / RATE), rel=1e-12)
    for sharing in BOTH:
        assert finish(topo, src, dst, nbytes, sharing) == close(hops * ALPHA + nbytes / RATE, rel=1e-12)


def chain(rates, alphas):
    import networkx as nx

    graph = nx.Graph()
    for i, (rate, alpha) in enumerate(zip(rates, alphas, strict=True)):
        graph.add_edge(i, i + 1, bandwidth=rate, alpha=alpha)
    return cs.Topology.from_networkx(graph)


@pytest.mark.parametrize("rates", [[1e9, 2e9, 4e9], [4e9, 1e9, 2e9], [4e9, 2e9, 1e9]])
def test_on_a_chain_of_different_cables_the_slowest_counts_or_each_of_them(rates):
    """1 GB: stored, 1 + 1/2 + 1/4 s wherever the slow one is; through, 1 s; and 1 + 2 + 3 ms."""
    topo = chain(rates, [1e-3, 2e-3, 3e-3])
    assert finish(topo, 0, 3, 10**9, "fifo") == close([1.75 + 6e-3], rel=1e-12)
    for sharing in BOTH:
        assert finish(topo, 0, 3, 10**9, sharing) == close([1 + 6e-3], rel=1e-12)


# ---- several
# -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 16, 64])
def test_incast_of_k_ends_together_or_one_by_one(k):
    """Through one switch into one cable. Fair: all end at 2 alpha + k S/B. Stored: all are at the switch at S/B +
    alpha; the i-th leaves it i S/B later. Alone: as if no one else were there."""
    topo, src = network("switch", k + 1), np.arange(1, k + 1)
    one = MIB / RATE
    assert finish(topo, src, 0, MIB, "fair") == close(np.full(k, 2 * ALPHA + k * one), rel=1e-12)
    assert finish(topo, src, 0, MIB, "fifo") == close(2 * ALPHA + one + np.arange(1, k + 1) * one, rel=1e-12)
    assert finish(topo, src, 0, MIB, "none") == close(np.full(k, 2 * ALPHA + one), rel=1e-12)


@pytest.mark.parametrize("k", [2, 5, 16])
def test_one_that_sends_to_k_shares_its_own_cable(k):
    topo, dst = network("switch", k + 1), np.arange(1, k + 1)
    one = MIB / RATE
    assert finish(topo, 0, dst, MIB, "fair") == close(np.full(k, 2 * ALPHA + k * one), rel=1e-12)
    assert finish(topo, 0, dst, MIB, "fifo") == close(2 * ALPHA + one + np.arange(1, k + 1) * one, rel=1e-12)


@pytest.mark.parametrize("sharing", ["fair", "fifo", "none"])
def test_both_directions_of_a_cable_are_separate(sharing):
    assert finish(network("fully_connected", 2), [0, 1], [1, 0], MIB, sharing) == close(
        np.full(2, ALPHA + MIB / RATE), rel=1e-12
    )


@pytest.mark.parametrize("distance", [1, 2, 5])
def test_everybody_sends_round_a_ring(distance):
    """Every cable is on `distance` routes. Fair: distance (alpha + S/B), sharing all the time; stored: the same, one
    after another."""
    r = np.arange(16)
    for sharing in ("fair", "fifo"):
        ends = finish(network("ring", 16), r, (r + distance) % 16, MIB, sharing)
        assert ends == close(np.full(16, distance * (ALPHA + MIB / RATE)), rel=1e-12)


@pytest.mark.parametrize("n", [2, 5, 16])
def test_all_to_all_fills_every_cable(n):
    src, dst = np.nonzero(~np.eye(n, dtype=bool))
    assert finish(network("switch", n), src, dst, MIB, "fair") == close(
        np.full(n * (n - 1), 2 * ALPHA + (n - 1) * MIB / RATE), rel=1e-12
    )


def test_stored_flows_are_served_in_the_order_of_arrival_not_of_size():
    """Into rank 0: 4 MiB sent at 0 is at the switch after 4 units and a bit; 1 MiB sent at 1 unit is there at 2 and
    goes first, to 3; the large one, at 4, does not wait."""
    unit = MIB / RATE
    ends = finish(network("switch", 3), [1, 2], 0, [4 * MIB, MIB], "fifo", start=[0.0, unit])
    assert ends == close([8 * unit + 2 * ALPHA, 3 * unit + 2 * ALPHA], rel=1e-12)


def test_fair_flows_of_three_sizes_into_one_cable():
    """1, 2 and 4 units. Thirds until the first ends at 3; halves for the second's last unit, until 5; the third's last
    two alone: 7."""
    unit = MIB / RATE
    ends = finish(network("switch", 4, alpha=0), [1, 2, 3], 0, [MIB, 2 * MIB, 4 * MIB], "fair")
    assert ends == close(np.array([3, 5, 7]) * unit, rel=1e-12)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("k", [2, 3, 7, 40])
def test_flows_that_begin_as_others_end_have_the_cable_for_themselves(k, turned):
    """Flow i comes to the cable in the moment in which flow i-1 leaves it: a second each, after a latency of one."""
    starts = np.arange(float(k))[:: -1 if turned else 1]
    pair = network("line", 2, bandwidth=MIB, alpha=1.0)
    assert finish(pair, [0] * k, [1] * k, MIB, "fair", starts) == close(starts + 2, rel=1e-12)


def test_a_start_delays_a_flow_by_itself():
    starts = np.array([0, 1e-3, 5e-3])
    for sharing in ("fair", "fifo", "none"):
        ends = finish(network("ring", 8), [0, 2, 4], [1, 3, 5], MIB, sharing, start=starts)
        assert ends == close(starts + ALPHA + MIB / RATE, rel=1e-12)


# ---- edges
# -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sharing", ["fair", "fifo", "none"])
def test_nothing_to_carry_costs_the_latency_and_nobody_to_carry_to_costs_nothing(sharing):
    topo = network("switch", 4)
    t = simulate_flows(topo, [0, 2], [1, 2], [0, MIB], start=[0.0, 1e-3], sharing=sharing)
    assert t.finish == close([2 * ALPHA, 1e-3], rel=1e-12)
    assert t.link_bytes.sum() == 0
    empty = simulate_flows(topo, [], [], [], sharing=sharing)
    assert (empty.time, empty.finish.shape, empty.link_bytes.sum()) == (0, (0,), 0)
    assert (empty.usage(0).nbytes, empty.usage(0).busy, len(empty.segments.row)) == (0, 0, 0)


@pytest.mark.parametrize("sharing", ["fair", "fifo", "none"])
def test_many_flows_and_huge_ones_stay_finite(sharing):
    """100,000 flows into one cable: the last ends when all bytes are through. And one of 2^60 bytes takes its 248
    days."""
    topo = network("switch", 3)
    ends = finish(topo, 1, np.zeros(100_000, int), 1000, sharing)
    assert np.isfinite(ends).all()
    if sharing != "none":
        assert ends.max() == close(2 * ALPHA + (100_000 + (sharing == "fifo")) * 1000 / RATE, rel=1e-9)
    assert finish(topo, 1, 0, 2**60, sharing) == close((1 + (sharing == "fifo")) * 2**60 / RATE, rel=1e-9)


@pytest.mark.parametrize(
    ("flows", "says"),
    [
        (([0], [1], [-1]), "negative"),
        (([0], [1], [float("nan")]), "nan"),
        (([0], [1], [float("inf")]), "inf"),
        (([0], [1], [1.5]), r"1\.5"),
        (([0], [1], [1], [float("nan")]), "nan"),
        (([0], [1], [1], [-1.0]), "start"),
        (([0], [1], [1], ["soon"]), "soon"),
        (([0], [1], [1], 1e10), r"start=1e\+10 s is longer"),
        (([0], [1], np.array([-1])), "nbytes=-1 is negative"),
        (([0, 0], [1, 1], np.array([1, 2**62])), "4611686018427387904 is more than 1 EiB"),
        (([0], [1], np.array([2**63], np.uint64)), "9223372036854775808 is more than 1 EiB"),
        (([0.5], [1], [1]), r"src must be rank numbers, got 0\.5"),
        (([0], [1], np.array([1.5])), r"nbytes=1\.5 is 1\.5 bytes"),
        (([0], [4], [1]), "dst=4 is not a rank"),
        (([-1], [1], [1]), "src=-1 is not a rank"),
        (([0, 1], [1, 2, 3], [1]), "one length"),
        ((None, [1], [1]), "rank numbers"),
    ],
)
def test_what_is_no_flow_is_refused_with_its_value(flows, says):
    with pytest.raises(cs.CollsimError, match=says):
        simulate_flows(network("switch", 4), *flows)


def test_a_cut_network_names_the_ranks_on_both_sides():
    with pytest.raises(cs.TopologyError, match="ranks 0, 1 and ranks 2, 3 cannot reach each other"):
        simulate_flows(network("line", 4).without_link("gpu1", "gpu2"), [0, 0], [1, 3], 1)


def test_a_flow_goes_round_a_failed_cable():
    """Without 0-1 of a ring of four the way is 0-3-2-1."""
    ends = finish(network("ring", 4).without_link("gpu0", "gpu1"), 0, 1, MIB, "fifo")
    assert ends == close([3 * (ALPHA + MIB / RATE)], rel=1e-12)
