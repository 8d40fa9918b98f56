"""The event engine against known answers, an independent SimPy model, and laws that any network obeys."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import collsim as cs
from collsim.registry import algorithms
from collsim.schedule import copy, freeze, reduce
from collsim.simulate import expected_cost, simulate_flows, simulate_many

ALPHA, RATE = 1e-6, 25e9
GIB = 2**30
close = pytest.approx


def network(name, n, **options):
    return getattr(cs.topology, name)(n, **{"bandwidth": RATE, "alpha": ALPHA, **options})


def run(s, topo, nbytes, **options):
    return cs.simulate(s, topo, nbytes, engine="event", **options)


# ---- known answers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topo", "dst", "stored", "through"),
    [
        (cs.topology.fully_connected(4, bandwidth=50 * GIB, alpha="500ns"), 1, 20_031, 20_031),
        (cs.topology.switch(4, bandwidth=50 * GIB, alpha="500ns"), 1, 40_062, 20_531),
        (cs.topology.ring(16, bandwidth=50 * GIB, alpha="500ns"), 3, 60_093, 21_031),
    ],
    ids=["one hop", "two hops over a switch", "three hops in a ring"],
)
def test_one_mebibyte_takes_what_astra_sims_network_tests_say(topo, dst, stored, through):
    """2^20 B / 50 GiB/s = 19,531.25 ns. h hops: h * (19,531.25 + 500) stored and forwarded, 19,531.25 + 500 h cut through; ASTRA-sim
    counts whole nanoseconds."""
    times = {sharing: simulate_flows(topo, [0], [dst], "1MiB", sharing=sharing).time for sharing in ("fifo", "fair", "none")}
    assert int(times["fifo"] * 1e9) == stored
    assert int(times["fair"] * 1e9 + 1e-6) == int(times["none"] * 1e9 + 1e-6) == through


def test_incast_shares_the_receivers_cable():
    """Eight workers send 1 MB each into one cable: 8 MB at 25 GB/s, two alphas; store and forward adds 1 MB on the first cable."""
    topo = network("switch", 9)
    fair = simulate_flows(topo, range(1, 9), 0, 1_000_000)
    assert fair.finish == close(np.full(8, 2 * ALPHA + 8e6 / RATE), rel=1e-12)
    fifo = simulate_flows(topo, range(1, 9), 0, 1_000_000, sharing="fifo")
    assert fifo.finish == close(2 * ALPHA + np.arange(2, 10) * 1e6 / RATE, rel=1e-12)


def test_max_min_gives_the_short_flows_what_the_long_one_cannot_use():
    """The textbook line: one flow over three links, one over each; the first link has a second short flow. All rates by hand: link 0 has
    three flows, 1/3 each; what remains of links 1 and 2 is 2/3 for their own."""
    topo = network("line", 4, alpha=0)
    t = simulate_flows(topo, [0, 0, 0, 1, 2], [3, 1, 1, 2, 3], [10**9, 10**9, 10**9, 2 * 10**9, 2 * 10**9])
    assert t.finish == close(np.full(5, 3e9 / RATE), rel=1e-12)


def test_a_flow_that_ends_hands_its_share_to_the_others():
    """Two flows of 1 and 3 units into one cable: both at 1/2 until 2, then the second alone for its last 2 units: 4."""
    topo = network("switch", 3, alpha=0)
    assert simulate_flows(topo, [1, 2], 0, [10**9, 3 * 10**9]).finish == close(np.array([2e9, 4e9]) / RATE, rel=1e-12)


def test_a_flow_that_begins_later_takes_its_share_from_then():
    """Alone for 1 s at 25 GB/s, then half: 50 GB end after 1 + 2 = 3 s; the second has moved 25 GB by then and the last 25 GB take 1 s."""
    topo = network("switch", 3, alpha=0)
    t = simulate_flows(topo, [1, 2], 0, [50 * 10**9, 50 * 10**9], start=["0s", "1s"])
    assert t.finish == close([3.0, 4.0], rel=1e-12)


@pytest.mark.parametrize("chunks", [1, 4, 16])
@pytest.mark.parametrize("sharing", ["fair", "fifo", "none"])
def test_a_pipelined_chain_reaches_its_textbook_time(chunks, sharing):
    """(n - 2 + c) steps of alpha + S/c/B along a line of n = 6 (Chan et al. 2007, section 5)."""
    n, nbytes = 6, 4 * 16 * 10_000
    t = run(cs.schedule("broadcast_chain", n, chunks=chunks), network("line", n), nbytes, sharing=sharing)
    assert t.time == close((n - 2 + chunks) * (ALPHA + nbytes / chunks / RATE), rel=1e-9)


def test_without_a_barrier_two_slow_cables_on_different_ways_cost_only_once():
    """0 to 1 to 4 and 2 to 3 to 5, of 1 MB each; 0-1 and 3-5 run at a tenth. With a barrier 10 + 10 units of time, without 11."""
    s = freeze("two_ways", "broadcast", 6, [copy([0, 2], [1, 3], [0, 1]), copy([1, 3], [4, 5], [0, 1])], chunks=2)
    topo = network("fully_connected", 6, alpha=0)
    topo = topo.with_link("gpu0", "gpu1", bandwidth=RATE / 10).with_link("gpu3", "gpu5", bandwidth=RATE / 10)
    assert cs.simulate(s, topo, 2_000_000).time == close(20e6 / RATE, rel=1e-9)
    assert run(s, topo, 2_000_000).time == close(11e6 / RATE, rel=1e-9)


@pytest.mark.parametrize("n", [2, 3, 8, 17])
@pytest.mark.parametrize("shape", ["ring", "switch", "fully_connected"])
@pytest.mark.parametrize("shortcuts", [True, False])
def test_where_a_barrier_costs_nothing_both_engines_agree(n, shape, shortcuts):
    s, topo = cs.schedule("allreduce_ring", n), network(shape, n)
    for nbytes in (0, 8, 1_000_000 * n):
        a, b = cs.simulate(s, topo, nbytes), run(s, topo, nbytes, shortcuts=shortcuts)
        assert b.how == ("events" if not shortcuts else b.how)
        assert b.time == close(a.time, rel=1e-9)
        assert np.allclose(b.link_bytes, a.link_bytes)
    assert b.finish == close(a.finish, rel=1e-9)


# ---- costs -------------------------------------------------------------------------------------------------------------------


def test_reducing_costs_bytes_over_gamma_of_each_reduce_step():
    """Ring allreduce with gamma: 2(n-1)(alpha + S/n/B) + (n-1) S/n/gamma (Thakur et al. 2005, section 4.5)."""
    n, nbytes, gamma = 5, 5_000_000, 50e9
    t = run(cs.schedule("allreduce_ring", n), network("ring", n), nbytes, gamma=gamma)
    assert t.time == close(2 * (n - 1) * (ALPHA + nbytes / n / RATE) + (n - 1) * nbytes / n / gamma, rel=1e-9)


def test_a_device_reduces_one_arrival_after_another():
    """A server gets 4 MB at one moment, and adds 1 MB after 1 MB at 10 GB/s."""
    s = freeze("push", "reduce", 5, [reduce(range(1, 5), 0, chunk=0)], chunks=1)
    t = run(s, network("switch", 5), 1_000_000, gamma="10GB/s")
    assert t.finish == close(2 * ALPHA + 4e6 / RATE + np.arange(1, 5) * 1e6 / 1e10, rel=1e-9)


def test_launch_and_overhead_are_added_where_they_belong():
    n, nbytes = 4, 4_000_000
    s, topo = cs.schedule("allreduce_ring", n), network("ring", n)
    plain = run(s, topo, nbytes).time
    assert run(s, topo, nbytes, launch="10us").time == close(plain + 10e-6, rel=1e-9)
    assert run(s, topo, nbytes, overhead="2us").time == close(plain + 2 * (n - 1) * 2e-6, rel=1e-9)


def test_an_injection_limit_is_shared_by_all_that_an_endpoint_sends():
    """Rank 0 sends 1 MB over each of three cables of its own, but its NIC injects only 10 GB/s."""
    s = freeze("scatter_now", "allreduce", 4, [copy(0, [1, 2, 3], [0, 1, 2])], chunks=4)
    t = run(s, network("fully_connected", 4), 4_000_000, dtype="int8", injection="10GB/s")
    assert t.time == close(ALPHA + 3e6 / 10e9, rel=1e-9)
    assert t.link_bytes.sum() == 3_000_000


# ---- trouble -----------------------------------------------------------------------------------------------------------------


def test_a_late_rank_delays_everybody_by_at_most_its_delay():
    s, topo = cs.schedule("allreduce_ring", 6), network("ring", 6)
    plain = run(s, topo, 6_000_000).time
    late = run(s, topo, 6_000_000, late={2: "100us"})
    assert late.time == close(plain + 100e-6, rel=1e-9)
    assert late.start[s.transfers["src"] == 2].min() == close(100e-6)


def test_a_slow_rank_is_a_rank_with_slow_cables():
    s = cs.schedule("allreduce_ring", 6)
    slow = run(s, network("ring", 6), 6_000_000, slow={2: 4})
    topo = network("ring", 6)
    for other in (1, 3):
        topo = topo.with_link("gpu2", f"gpu{other}", bandwidth=RATE / 4)
    assert slow.time == close(run(s, topo, 6_000_000).time, rel=1e-12)


def test_a_failed_cable_is_gone_round():
    s = cs.schedule("allreduce_ring", 6)
    broken = run(s, network("ring", 6).without_link("gpu0", "gpu1"), 6_000_000)
    assert np.isfinite(broken.time)
    assert broken.time > run(s, network("ring", 6), 6_000_000).time


def test_a_cut_names_the_ranks_that_cannot_reach_each_other():
    with pytest.raises(cs.TopologyError, match=r"rank|gpu"):
        run(cs.schedule("allreduce_ring", 4), network("line", 4).without_link("gpu1", "gpu2"), 1000)


def test_jitter_is_the_same_for_a_seed_and_never_helps():
    s, topo = cs.schedule("allreduce_ring", 8), network("ring", 8)
    plain = run(s, topo, "1MiB").time
    times = [run(s, topo, "1MiB", jitter="1us", seed=seed).time for seed in range(20)]
    assert times[3] == run(s, topo, "1MiB", jitter="1us", seed=3).time
    assert len(set(times)) == 20
    assert min(times) > plain


def test_background_traffic_slows_what_it_shares_a_cable_with():
    """One endless flow into rank 1 takes half of that cable: the ring's transfers 0 to 1 take twice as long, and all wait for them."""
    n = 4
    s, topo = cs.schedule("allreduce_ring", n), network("switch", n, alpha=0)
    plain = run(s, topo, 4_000_000)
    busy = run(s, topo, 4_000_000, background=[(2, 1, "1GB")])
    assert busy.time > 1.3 * plain.time
    assert busy.background.finish[0] == close((1e9 + busy.link_bytes[topo.routes([0], [1])[0][1]]) / RATE, rel=1e-9)


def test_a_faster_cable_can_make_a_run_slower():
    """As Braess's road: rank 0's cable doubled lets 1 to 3 begin while the critical 2 to 3 still runs, and takes half of its cable.

    One unit of time per MB on most cables, four on rank 4's. Before: 2 to 3 ends at 1, 3 to 4 at 5. After: 0 to 1 ends at 0.5, 2 to 3 has
    half its bytes left and half the rate, ends at 1.5, and 3 to 4 at 5.5.
    """
    s = freeze("braess", "broadcast", 5, [copy([0, 2], [1, 3], [0, 1], channel=[1, 0]), copy([1, 3], [3, 4], [0, 1], channel=[1, 0])])
    before = cs.topology.switch(5, bandwidth=1e9, alpha=0)
    before = before.with_link("gpu1", "switch0", bandwidth=2e9).with_link("gpu4", "switch0", bandwidth=1e9 / 4)
    after = before.with_link("gpu0", "switch0", bandwidth=2e9)
    assert run(s, before, 2_000_000, dtype="int8").time == close(5e-3, rel=1e-9)
    assert run(s, after, 2_000_000, dtype="int8").time == close(5.5e-3, rel=1e-9)


def test_many_runs_show_how_jitter_spreads():
    s, topo = cs.schedule("allreduce_ring", 4), network("ring", 4)
    times = simulate_many(s, topo, "1MiB", runs=50, jitter="1us", seed=7)
    assert len(times) == 50
    assert times[3] == run(s, topo, "1MiB", jitter="1us", seed=10).time
    assert times.std() > 0
    assert times.min() > run(s, topo, "1MiB").time


# ---- several at once ---------------------------------------------------------------------------------------------------------


def test_two_rings_on_one_set_of_cables_take_twice_as_long_without_latency():
    s, topo = cs.schedule("allreduce_ring", 4), network("ring", 4, alpha=0)
    both = cs.simulate([s, s], topo, "4MiB")
    assert both.slowdown == close([2, 2], rel=1e-9)
    assert both.time == close(2 * run(s, topo, "4MiB").time, rel=1e-9)


def test_groups_of_ranks_that_share_no_cable_do_not_notice_each_other():
    s, topo = cs.schedule("allreduce_ring", 4), network("switch", 8)
    both = cs.simulate([s, s], topo, ["4MiB", "1MiB"], ranks=[[0, 1, 2, 3], [7, 5, 4, 6]])
    assert both.slowdown == close([1, 1])
    assert both[1].time == close(run(s, network("switch", 4), "1MiB").time, rel=1e-9)
    assert both.link_bytes.sum() == both[0].link_bytes.sum() + both[1].link_bytes.sum()


def test_a_collective_begun_later_ends_later():
    s, topo = cs.schedule("allreduce_ring", 4), network("switch", 8)
    both = cs.simulate([s, s], topo, "4MiB", ranks=[[0, 1, 2, 3], [4, 5, 6, 7]], begin=[0, "1ms"])
    assert both[1].time == close(both[0].time + 1e-3, rel=1e-9)
    assert both.slowdown == close([1, 1])


def test_helpers_of_several_schedules_have_places_of_their_own():
    s = cs.schedule("allreduce_parameter_server", 3, server="helper")
    both = cs.simulate([s, s], network("switch", 6), "3MB", ranks=[[0, 1, 2], [3, 4, 5]])
    assert both.slowdown == close([1, 1])


def test_a_parameter_server_beside_switches_that_reduce():
    """On a machine: the server in host memory, NVLS on each node's NVSwitch; two NVLS at once share their switches."""
    topo = cs.machine("dgx-h100", nodes=2)
    server, nvls = cs.schedule("allreduce_parameter_server", 16, server="helper"), cs.schedule("allreduce_nvls_tree", topology=topo)
    assert (server.helpers_on, nvls.helpers_on) == ("host", "switch")
    for order in ([server, nvls], [nvls, server]):
        both = cs.simulate(order, topo, "1MiB")
        kinds = {
            t.schedule.name: {topo.devices.name[d].rstrip("0123456789") for d in t.topology.endpoint_device[t.place[16:]]} for t in both
        }
        assert kinds == {"allreduce_parameter_server": {"node0/memory"}, "allreduce_nvls_tree": {"node0/nvswitch", "node1/nvswitch"}}
        assert (both.slowdown >= 1 - 1e-9).all()
    twice = cs.simulate([nvls, nvls], topo, "1MiB")
    assert twice.time > cs.simulate(nvls, topo, "1MiB", engine="event").time


def test_a_server_beside_a_switch_that_reduces_on_a_plain_switch():
    server, sharp = cs.schedule("allreduce_parameter_server", 3, server="helper"), cs.schedule("allreduce_sharp", 3)
    topo = network("switch", 6)
    both = cs.simulate([sharp, server], topo, "3MB", ranks=[[0, 1, 2], [3, 4, 5]])
    assert both.slowdown == close([1, 1])
    assert [both.topology.devices.name[t.topology.endpoint_device[t.place[3]]] for t in both] == ["switch0", "host0"]


# ---- explicit dependencies ---------------------------------------------------------------------------------------------------


def explicit(depends):
    from dataclasses import replace

    s = freeze("given", "allreduce", 4, [copy([0, 1, 2], [1, 2, 3], 0)], chunks=1)
    start = np.concatenate([[0], np.cumsum([len(d) for d in depends])])
    return replace(s, depends=(start, np.array([row for d in depends for row in d], np.int64)))


@pytest.mark.parametrize("shortcuts", [True, False])
def test_explicit_dependencies_replace_the_order_of_channels(shortcuts):
    """Three transfers of one step, made to follow one another."""
    t = run(explicit([[], [0], [1]]), network("line", 4), 1_000_000, shortcuts=shortcuts)
    assert t.finish == close(np.arange(1, 4) * (ALPHA + 1e6 / RATE), rel=1e-12)


def test_dependencies_that_point_forward_are_followed_too():
    t = run(explicit([[1], [2], []]), network("line", 4), 1_000_000)
    assert t.finish == close(np.arange(3, 0, -1) * (ALPHA + 1e6 / RATE), rel=1e-12)


def test_a_circle_of_dependencies_is_named():
    with pytest.raises(cs.ScheduleError, match=r"cannot end: transfer \d .* waits for transfer \d .*waits for the first of them"):
        run(explicit([[2], [0], [1]]), network("line", 4), 1_000_000)


def test_dependencies_of_the_wrong_shape_are_refused():
    from dataclasses import replace

    with pytest.raises(cs.ScheduleError, match="rising offsets"):
        run(replace(explicit([[], [0], [1]]), depends=(np.zeros(2, np.int64), np.zeros(0, np.int64))), network("line", 4), 1)
    with pytest.raises(cs.ScheduleError, match="names transfer 9"):
        run(explicit([[], [9], [1]]), network("line", 4), 1)


# ---- the oracle --------------------------------------------------------------------------------------------------------------


def irregular(seed):
    """A small network whose cables all differ."""
    import networkx as nx

    rng = np.random.default_rng(seed)
    graph = nx.Graph()
    for r in range(6):
        graph.add_node(f"g{r}", kind="gpu")
    graph.add_node("s0", kind="switch")
    graph.add_node("s1", kind="switch")
    edges = [(f"g{r}", f"s{r % 2}") for r in range(6)] + [("s0", "s1")]
    for a, b in edges:
        graph.add_edge(a, b, bandwidth=float(rng.uniform(5e9, 50e9)), alpha=float(rng.uniform(1e-7, 5e-6)))
    return cs.Topology.from_networkx(graph)


def on_six(name):
    try:
        s = cs.schedule(name, ranks=6)
    except cs.CollsimError:
        return None
    return s if s.endpoints == 6 else None


CASES = [name for name in sorted(algorithms()) if on_six(name) is not None]


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(CASES),
    seed=st.integers(0, 50),
    nbytes=st.integers(0, 3_000_000),
    sharing=st.sampled_from(["none", "fair", "fifo"]),
    gamma=st.sampled_from([None, 20e9]),
    shortcuts=st.booleans(),
)
def test_every_start_and_finish_is_that_of_the_simpy_model(name, seed, nbytes, sharing, gamma, shortcuts):
    """Where an order counts (fifo, reducing) a little jitter keeps arrivals apart: the order of a tie hangs on the last bit."""
    s, topo = on_six(name), irregular(seed)
    jitter = 1e-6 if gamma or sharing == "fifo" else 0
    delay = np.random.default_rng(seed).exponential(jitter, len(s)) if jitter else None
    t = run(s, topo, nbytes, sharing=sharing, gamma=gamma, shortcuts=shortcuts, jitter=jitter, seed=seed)
    start, finish = oracle.simulate(s, topo, t.slot_bytes, sharing, gamma, delay)
    assert np.allclose(t.start, start, rtol=1e-9, atol=0)
    assert np.allclose(t.finish, finish, rtol=1e-9, atol=0)


# ---- laws --------------------------------------------------------------------------------------------------------------------

ANY = {
    "name": st.sampled_from(CASES),
    "seed": st.integers(0, 1000),
    "nbytes": st.integers(0, 5_000_000),
}


@settings(max_examples=60, deadline=None)
@given(**ANY, sharing=st.sampled_from(["none", "fair", "fifo"]))
def test_shortcuts_change_nothing(name, seed, nbytes, sharing):
    s = on_six(name)
    for topo in (irregular(seed), network("switch", 6), network("ring", 6)):
        a, b = (run(s, topo, nbytes, sharing=sharing, shortcuts=way) for way in (True, False))
        assert np.allclose(a.start, b.start, rtol=1e-9, atol=0)
        assert np.allclose(a.finish, b.finish, rtol=1e-9, atol=0)
        assert np.allclose(a.timing.step_end, b.timing.step_end, rtol=1e-9, atol=0)
        assert np.array_equal(a.link_bytes, b.link_bytes)


@settings(max_examples=60, deadline=None)
@given(**ANY)
def test_contention_never_helps_and_nothing_beats_the_bound(name, seed, nbytes):
    s, topo = on_six(name), irregular(seed)
    none, fair = (run(s, topo, nbytes, sharing=sharing) for sharing in ("none", "fair"))
    assert (none.finish <= fair.finish * (1 + 1e-9)).all()
    assert fair.time >= fair.bound.time * (1 - 1e-9)
    assert run(s, topo, nbytes, sharing="fifo").time >= fair.bound.time * (1 - 1e-9)


@settings(max_examples=40, deadline=None)
@given(**ANY, sharing=st.sampled_from(["fair", "fifo"]))
def test_no_link_ever_carries_more_than_it_can_and_every_byte_is_carried(name, seed, nbytes, sharing):
    topo = irregular(seed)
    t = run(on_six(name), topo, nbytes, sharing=sharing)
    for link in range(len(topo.links)):
        usage = t.usage(link)
        assert (usage.rate <= topo.links.bandwidth[link] * (1 + 1e-9)).all()
        assert usage.nbytes == close(t.link_bytes[link], rel=1e-6, abs=1e-3)
        assert usage.busy <= t.time * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(**ANY, factor=st.floats(1, 10), sharing=st.sampled_from(["none", "fair", "fifo"]))
def test_more_of_all_bandwidth_or_less_of_all_latency_is_never_slower_without_contention(name, seed, nbytes, factor, sharing):
    """Without contention each transfer only gets shorter. With it, all bandwidths and latencies together by one factor is a change of
    clock: everything takes 1/factor of the time."""
    from dataclasses import replace

    s, topo = on_six(name), irregular(seed)
    links = topo.links
    wide = replace(topo, links=replace(links, bandwidth=links.bandwidth * factor))
    fast = replace(wide, links=replace(wide.links, alpha=links.alpha / factor))
    before = run(s, topo, nbytes, sharing=sharing)
    if sharing == "none":
        assert run(s, wide, nbytes, sharing=sharing).time <= before.time * (1 + 1e-9)
    assert run(s, fast, nbytes, sharing=sharing).time == close(before.time / factor, rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), name=st.sampled_from(CASES), nbytes=st.integers(0, 1_000_000), sharing=st.sampled_from(["fair", "none"]))
def test_relabelling_ranks_on_a_symmetric_network_changes_nothing(seed, name, nbytes, sharing):
    order = np.random.default_rng(seed).permutation(6)
    s, topo = on_six(name), network("switch", 6)
    assert run(s, topo, nbytes, sharing=sharing, ranks=order).time == close(run(s, topo, nbytes, sharing=sharing).time, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 40), sharing=st.sampled_from(["none", "fair", "fifo"]))
def test_flows_are_finite_deterministic_and_no_faster_than_alone(seed, n, sharing):
    rng = np.random.default_rng(seed)
    topo = irregular(seed % 7)
    flows = rng.integers(0, 6, n), rng.integers(0, 6, n), rng.integers(0, 10**7, n), rng.uniform(0, 1e-3, n)
    a, b = (simulate_flows(topo, *flows, sharing=sharing) for _ in range(2))
    assert np.array_equal(a.finish, b.finish)
    alone = simulate_flows(topo, *flows, sharing="none")
    assert np.isfinite(a.finish).all()
    assert (a.finish >= alone.finish * (1 - 1e-9)).all()


# ---- the machinery -----------------------------------------------------------------------------------------------------------


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]).stdout


def test_the_compiler_is_loaded_by_the_event_engine_only():
    code = (
        "import sys, collsim as cs; s, t = cs.schedule('allreduce_ring', 4), cs.topology.switch(4)\n"
        "cs.simulate(s, t, 100); print('numba' in sys.modules)"
    )
    assert python(code).strip() == "False"


def test_without_a_compiler_the_same_source_gives_the_same_times():
    code = (
        "import sys; {}\n"
        "import collsim as cs; s, t = cs.schedule('allreduce_halving_doubling', 6), cs.topology.ring(6)\n"
        "for sharing in ('none', 'fair', 'fifo'):\n"
        "    r = cs.simulate(s, t, 100_000, engine='event', sharing=sharing, shortcuts=False, gamma=1e10)\n"
        "    print([x.hex() for x in r.finish.tolist()])\n"
        "    r = cs.simulate(s, t, 100_003, engine='event', sharing=sharing, jitter=1e-6, background=[(0, 2, 10**6)])\n"
        "    print(r.how, [x.hex() for x in r.finish.tolist()])\n"
        "    print([x.hex() for x in cs.simulate_flows(t, [0, 1, 1], [3, 4, 5], [10**6, 10**5, 0], sharing=sharing).finish.tolist()])\n"
    )
    assert python(code.format("sys.modules['numba'] = None")) == python(code.format("pass"))


def test_progress_is_told_and_can_stop_a_run():
    s, topo = cs.schedule("allreduce_ring", 600), network("switch", 600)
    seen = []
    run(s, topo, 1_000_003, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(s), len(s))
    assert len(seen) > 2
    assert seen == sorted(seen)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(s, topo, 1_000_003, shortcuts=False, progress=stop)


def test_the_cost_of_a_run_is_known_before_it_starts():
    s, topo = cs.schedule("allreduce_ring", 64), network("switch", 64)
    assert expected_cost(s, topo, "1MiB", engine="event").how == "symmetry"
    assert expected_cost(s, topo, "1MiB", engine="event").transfers == len(s) == 2 * 63 * 64
    uneven = expected_cost(s, topo, 1_000_003, engine="event")
    assert uneven.how != "symmetry"
    assert uneven.seconds > 100 * expected_cost(s, topo, "1MiB").seconds / s.steps
    assert uneven.memory >= 100 * len(s)


def test_the_cost_of_lockstep_grows_with_what_is_worked_out_not_with_what_it_stands_for():
    """2^16 ranks on one switch: a ring is two rows a rank, halving and doubling a row a rank and step; 8.6 × 10^9 transfers."""
    n = 2**16
    topo = network("switch", n)
    ring, halving = (expected_cost(cs.schedule(name, n), topo, 4 * n) for name in ("allreduce_ring", "allreduce_halving_doubling"))
    assert ring.transfers == halving.transfers == 2 * n * (n - 1)
    assert ring.seconds < halving.seconds < 10
    assert ring.memory < 100e6
    assert halving.memory < 100e6
    doubling = expected_cost(cs.schedule("allreduce_recursive_doubling", n), topo, 4 * n)
    assert 0.1 < doubling.seconds < halving.seconds


def test_a_run_says_how_it_was_computed():
    s, topo = cs.schedule("allreduce_ring", 8), network("switch", 8)
    assert cs.simulate(s, topo, "1MiB").how == "lockstep"
    assert run(s, topo, "1MiB").how == "symmetry"
    assert run(s, topo, 1_000_003).how == "program order"
    assert run(s, topo, 1_000_003, shortcuts=False).how == "events"
    assert "sharing fair; computed by symmetry" in str(run(s, topo, "1MiB"))


def test_an_idle_collective_beside_a_busy_one():
    both = cs.simulate(
        [cs.schedule("allreduce_ring", 1), cs.schedule("allreduce_ring", 4)], network("switch", 5), "1MB", ranks=[[4], [0, 1, 2, 3]]
    )
    assert both[0].time == 0
    assert both.slowdown == close([1, 1])


def test_a_pipelined_tree_beats_the_ring_where_steps_cost_more_than_bytes():
    """256 ranks, 1 MiB: the ring pays 510 alphas, two trees in 8 chunks each a tenth of that."""
    topo = network("switch", 256)
    ring = run(cs.schedule("allreduce_ring", 256), topo, "1MiB").time
    assert min(run(cs.schedule("allreduce_double_binary_tree", 256, chunks=c), topo, "1MiB").time for c in (1, 4, 8)) < ring / 2


@pytest.mark.parametrize("options", [{}, {"shortcuts": False}, {"jitter": "1us"}])
def test_a_trace_can_be_sent_to_another_process(options):
    t = run(cs.schedule("allreduce_ring", 4), network("switch", 4), 1_000_003, **options)
    copied = pickle.loads(pickle.dumps(t))
    assert np.array_equal(copied.finish, t.finish)
    assert copied.usage(0).nbytes == close(t.link_bytes[0])
    both = cs.simulate([cs.schedule("allreduce_ring", 4)] * 2, network("switch", 4), "1MB", **options)
    assert pickle.loads(pickle.dumps(both)).slowdown == close(both.slowdown)


def test_a_ring_of_a_million_ranks_is_two_rows_of_work():
    n = 2**20
    t = run(cs.schedule("allreduce_ring", n), network("switch", n), 4 * n)
    assert t.how == "symmetry"
    assert t.time == close(2 * (n - 1) * (2 * ALPHA + 4 / RATE), rel=1e-9)


def test_what_no_machine_can_hold_is_refused_with_a_sentence():
    """2^17 ranks with chunks of two sizes: no symmetry, 34 thousand million transfers."""
    s = cs.schedule("allreduce_ring", 2**17)
    with pytest.raises(cs.CollsimError, match=r"34,359,476,224 transfers would take .* GiB"):
        run(s, network("switch", 2**17), 2**20 + 4)


def test_one_rank_or_no_flows_need_no_time():
    assert run(cs.schedule("allreduce_ring", 1), network("switch", 2), "1MiB").time == 0
    assert simulate_flows(network("switch", 2), [], [], []).time == 0


def test_the_reason_is_found_under_the_same_conditions():
    """All conditions are kept when the run is repeated with faster cables: with gamma of half the time, doubling saves less."""
    s, topo = cs.schedule("allreduce_ring", 4), network("ring", 4, alpha=0)
    plain = run(s, topo, "4MiB").bottleneck
    costly = run(s, topo, "4MiB", gamma=RATE / 2).bottleneck
    assert plain.saves["cable"] == close(0.5, rel=1e-9)
    assert costly.saves["cable"] == close(0.25, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sharing": "equal"}, "unknown sharing"),
        ({"gama": 1}, "did you mean 'gamma'"),
        ({"gamma": 0}, "more than 0"),
        ({"late": {9: 1}}, "not a rank"),
        ({"slow": {0: 0}}, "must be more than 0"),
        ({"background": [(0, 1)]}, "background is a list"),
        ({"background": [(0, 9, 1)]}, "not a rank"),
        ({"ranks": [0, 0, 1, 2]}, "different ranks"),
        ({"ranks": [0, 1, 2, 7]}, "has ranks 0 to 3"),
    ],
)
def test_a_wrong_condition_is_refused_with_a_sentence(options, says):
    with pytest.raises(cs.CollsimError, match=says):
        run(cs.schedule("allreduce_ring", 4), network("switch", 4), 100, **options)


def test_the_lockstep_engine_refuses_what_it_does_not_know():
    with pytest.raises(cs.CollsimError, match="engine='event'"):
        cs.simulate(cs.schedule("allreduce_ring", 4), network("switch", 4), 100, gamma=1e9)
    with pytest.raises(cs.CollsimError, match="engine='event'"):
        cs.simulate([cs.schedule("allreduce_ring", 4)], network("switch", 4), 100, engine="lockstep")
