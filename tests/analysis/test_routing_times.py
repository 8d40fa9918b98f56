"""The same work over many hash seeds, against balls in bins, other people's numbers and rates filled by hand."""

import math
import re
from itertools import product

import numpy as np
import pytest

import collsim as cs
from collsim.analysis import compare_routing, count_uplink_flows, expected_maximum_load
from collsim.analysis.routing_times import build_seeded, find_uplinks
from collsim.simulate import simulate_flows


def build(nodes=64, fabric="leaf-spine", **options):
    """64 hosts of one card: 8 leaves with 8 hosts and 8 spines."""
    return cs.machine("dgx-h100", nodes=nodes, gpus=1, fabric=fabric, **({"radix": 16} | options))


# ---- balls in bins


@pytest.mark.parametrize(
    ("balls", "bins", "expected"), [(1, 5, 1), (2, 2, 3 / 2), (3, 2, 9 / 4), (3, 3, 17 / 9), (2, 3, 4 / 3)]
)
def test_the_expected_maximum_is_that_worked_by_hand(balls, bins, expected):
    """Three balls in three bins: of 27 equally likely throws 6 have one each, 18 a pair and 3 all in one:
    (6 + 36 + 9) / 27 = 17 / 9."""
    assert expected_maximum_load(balls, bins) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("balls", "bins", "groups"), [(5, 3, 1), (4, 4, 2), (6, 2, 1), (3, 2, 3)])
def test_the_expected_maximum_is_the_mean_over_all_throws(balls, bins, groups):
    throws = [max(map(throw.count, range(bins))) for throw in product(range(bins), repeat=balls)]
    mean = np.mean([max(picked) for picked in product(throws, repeat=groups)])
    assert expected_maximum_load(balls, bins, groups) == pytest.approx(mean, rel=1e-12)


def test_the_expected_maximum_is_that_of_throws_at_random():
    rng = np.random.default_rng(5)
    for balls, bins, groups in ((64, 16, 1), (32, 32, 4), (100, 7, 1)):
        thrown = rng.integers(bins, size=(4000, groups, balls))
        loads = np.stack([(thrown == b).sum(axis=2) for b in range(bins)]).max(axis=0).max(axis=1)
        error = loads.std() / math.sqrt(len(loads))
        assert abs(expected_maximum_load(balls, bins, groups) - loads.mean()) < 4 * error


# ---- flows over seeds


def test_the_busiest_uplink_over_seeds_is_that_of_balls_in_bins():
    """A shift by 8 sends the 8 flows of each of 8 leaves to the next leaf: 8 balls in 8 bins, 8 times over."""
    network = build()
    links = find_uplinks(network)
    names = np.array(network.devices.name[:], object)
    up = np.array(["leaf" in name for name in names[network.links.src[links]]])
    loads = []
    for seed in range(300):
        routes = build_seeded(network, "ecmp", seed).routes(np.arange(64), (np.arange(64) + 8) % 64)
        counts = np.bincount(routes.link, minlength=len(network.links))
        loads.append(counts[links[up]].max())
    error = np.std(loads) / math.sqrt(len(loads))
    assert abs(np.mean(loads) - expected_maximum_load(8, 8, 8)) < 4 * error


def test_ecmp_leaves_idle_the_part_of_the_cables_that_delta_networks_lose():
    """J. H. Patel, Performance of processor-memory interconnections for multiprocessors (IEEE Trans. Computers, 1981):
    n requests for n outputs at random use 1 - (1 - 1/n)^n of them, 0.656 for 8 and 1 - 1/e = 0.632 for many."""
    network, used = build(), []
    links = find_uplinks(network)
    up = np.array(["leaf" in network.devices.name[i] for i in network.links.src[links].tolist()])
    for seed in range(200):
        routes = build_seeded(network, "ecmp", seed).routes(np.arange(64), (np.arange(64) + 8) % 64)
        used.append(np.isin(links[up], routes.link).mean())
    error = np.std(used) / math.sqrt(len(used))
    assert abs(np.mean(used) - (1 - (1 - 1 / 8) ** 8)) < 4 * error


def fill_rates(routes, rates):
    """Max-min fair rates by progressive filling: raise all flows together, freeze those of each link that is full."""
    flows = len(routes)
    crosses = np.zeros((flows, len(rates)), bool)
    for flow in range(flows):
        crosses[flow, routes[flow]] = True
    rate, active, left = np.zeros(flows), np.ones(flows, bool), rates.astype(float)
    while active.any():
        users = crosses[active].sum(axis=0)
        level = np.where(users > 0, left / np.maximum(users, 1), np.inf)
        full = level <= level.min() * (1 + 1e-12)
        rate[active] += level.min()
        left -= level.min() * users
        active &= ~crosses[:, full].any(axis=1)
    return rate


def test_the_rates_of_a_permutation_are_those_filled_by_hand():
    rng, network = np.random.default_rng(2), build()
    for seed in range(5):
        hashed = build_seeded(network, "ecmp", seed)
        dst = np.roll(rng.permutation(64), 1)
        src = np.flatnonzero(dst != np.arange(64))
        dst = dst[src]
        rates = fill_rates(hashed.routes(src, dst), network.links.bandwidth)
        first = simulate_flows(hashed, src, dst, "1GiB").finish.min()
        assert first == pytest.approx(2**30 / rates.max(), rel=1e-3)


@pytest.mark.slow
def test_ecmp_on_a_permutation_of_8192_hosts_has_about_the_half_of_the_best_rate():
    """Al-Fares et al., Hedera (NSDI 2010), abstract: on 8,192 hosts it reaches 96 % of the optimum, up to 113 % better
    than static load balancing: ECMP then reaches 45 %. Fair rates without TCP reach a little more."""
    network = build(8192, "fat-tree", radix=32, routing="ecmp", hash_seed=1)
    dst = np.random.default_rng(1).permutation(8192)
    flows = simulate_flows(network, np.arange(8192), dst, "1GiB")
    segments = flows.timing.flows()
    order = np.lexsort((segments.begin, segments.row))
    row = segments.row[order]
    first = np.r_[True, row[1:] != row[:-1]]
    share = segments.rate[order][first].mean() / 50e9
    assert 0.96 / 2.13 < share < 0.55


def test_distributions_are_those_of_single_runs():
    network, doubling = build(), cs.schedule("allreduce_recursive_doubling", ranks=64)
    compared = compare_routing(doubling, network, "64MiB", seeds=[4, 9, 2], routings=["ecmp", "d-mod-k"])
    ecmp = compared["ecmp"]
    assert list(compared) == ["ecmp", "d-mod-k"]
    assert ecmp.seeds.tolist() == [4, 9, 2]
    for seed, time in zip((4, 9, 2), ecmp.times, strict=True):
        alone = cs.machine("dgx-h100", nodes=64, gpus=1, fabric="leaf-spine", radix=16, routing="ecmp", hash_seed=seed)
        assert cs.simulate(doubling, alone, "64MiB").time == time
        assert ecmp.build_topology(seed) == alone
    assert ecmp.times[ecmp.seeds.tolist().index(ecmp.worst_seed)] == ecmp.times.max()
    assert ecmp.median == np.sort(ecmp.times)[1]
    assert ecmp.p99 == ecmp.times.max()


def test_a_step_takes_as_long_as_the_flows_on_its_busiest_cable_say():
    """Lockstep: bytes times flows over the rate of a cable, and the latencies of the route."""
    network = build_seeded(build(), "ecmp", 11)
    trace = cs.simulate(cs.schedule("alltoall_pairwise", ranks=64), network, "64MiB")
    _, flows = count_uplink_flows(trace)
    alpha = sum(hop.alpha for hop in network.route(0, 63))
    assert np.diff([0, *trace.timing.step_end]).max() == pytest.approx(alpha + flows.max() * 2**20 / 50e9, rel=1e-9)


def test_d_mod_k_and_spraying_have_no_collision_and_ecmp_is_behind_them():
    compared = compare_routing(cs.schedule("alltoall_pairwise", ranks=64), build(), "64MiB", seeds=10)
    assert {name: compared[name].flows.max() for name in ("d-mod-k", "s-mod-k", "spray")} == {
        "d-mod-k": 1,
        "s-mod-k": 1,
        "spray": 1,
    }
    assert compared["d-mod-k"].median == pytest.approx(compared["spray"].median)
    assert compared["ecmp"].times.min() > 2 * compared["spray"].median
    assert 4 < compared["ecmp"].flows.mean() < 7


def test_pxn_keeps_an_alltoall_on_its_rails_and_without_it_flows_cross_the_spines():
    """NVIDIA, Doubling all2all performance with NCCL 2.12 (2022): with PXN all traffic between nodes of a unit stays
    on the leaf of its rail."""
    alltoall = cs.schedule("alltoall_pairwise", ranks=32)
    rails = cs.machine("dgx-h100", nodes=4, fabric="rail")
    with_pxn, without = (compare_routing(alltoall, rails.with_(pxn=pxn), "64MiB", seeds=5) for pxn in (True, False))
    assert with_pxn["ecmp"].flows.max() == 0
    assert len(set(with_pxn["ecmp"].times.tolist())) == 1
    assert without["ecmp"].flows.min() > 1
    assert without["ecmp"].median > with_pxn["ecmp"].median


def test_a_function_of_a_network_is_timed_as_a_schedule_is():
    """Such as one that times a step of training."""
    network = cs.machine("dgx-h100", nodes=4, fabric="leaf-spine", radix=32)
    step = compare_routing(
        lambda net: cs.training_step("resnet50", net, parallel=cs.ddp(), batch=2048).time, network, seeds=3
    )
    assert math.isnan(step["ecmp"].flows[0])
    assert step["ecmp"].median >= step["d-mod-k"].median > 0


def test_progress_counts_the_runs():
    seen = []
    doubling = cs.schedule("allreduce_recursive_doubling", ranks=16)
    compare_routing(
        doubling, build(16, radix=8), "1MiB", seeds=3, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(i, 9) for i in range(1, 10)]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("switch(4)",), {}, "switch(4) has no fabric with several equal routes"),
        (("dgx-h100(nodes=2)",), {}, "use a machine with fabric='leaf-spine' or"),
        ((), {"nbytes": None}, "wants nbytes= with a schedule"),
        ((), {"routings": ["ecpm"]}, "did you mean 'ecmp'"),
        ((), {"seeds": 0}, "seeds"),
        ((), {"seeds": [-1]}, "seeds"),
        ((), {"seeds": 10**9}, "a distribution shows long before that"),
        ((), {"timed": "ring"}, "a function of a network that returns seconds, not"),
        ((), {"timed": lambda network: None}, "it must return seconds"),
        ((), {"timed": lambda network: math.inf}, "it must return seconds"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, options, message):
    network = arguments[0] if arguments else build(16, radix=8)
    words = {"timed": cs.schedule("allreduce_ring", ranks=4), "nbytes": "1MiB", "seeds": 2, **options}
    with pytest.raises(cs.CollsimError, match=re.escape(message)):
        compare_routing(words.pop("timed"), network, words.pop("nbytes"), **words)


@pytest.mark.parametrize("arguments", [(0, 1), (1, 0), (1.5, 2), (30_000, 2), (2, 2, 0)])
def test_the_expected_maximum_refuses_what_is_no_number_of_balls(arguments):
    with pytest.raises(cs.CollsimError):
        expected_maximum_load(*arguments)
