"""Reasons against runs whose time is a sum that can be written down."""

import numpy as np
import pytest

import collsim as cs
from collsim.analysis import best, cheapest, compare_runs, critical_path, crossover, sensitivity
from collsim.analysis.rank_orders import reorder_ranks

B, ALPHA, MIB = 25e9, 1e-6, 2**20


def ring_run(n=8, nbytes="64MiB", topology=None, **options):
    network = topology or cs.topology.switch(n, bandwidth=B, alpha=ALPHA)
    return cs.simulate(cs.schedule("allreduce_ring", ranks=n, **options), network, nbytes)


def test_the_critical_path_of_a_ring_is_one_transfer_per_step():
    path = critical_path(ring_run())
    # 14 steps; each crosses two cables (2 us) and moves 8 MiB at 25 GB/s
    assert len(path.transfers) == 14
    assert path.alpha.sum() == pytest.approx(14 * 2 * ALPHA)
    assert path.beta.sum() == pytest.approx(14 * 8 * MIB / B)
    assert path.waiting.sum() == pytest.approx(0, abs=1e-12)
    assert sum(path.shares.values()) == pytest.approx(1)


def test_incast_shows_as_waiting():
    """Seven workers push to one server: each alone would need 1/7 of the time that the shared cable takes."""
    run = cs.simulate(
        cs.schedule("allreduce_parameter_server", ranks=8), cs.topology.switch(8, bandwidth=B, alpha=ALPHA), "64MiB"
    )
    path = critical_path(run)
    assert len(path.transfers) == 2
    assert path.beta.sum() == pytest.approx(2 * 64 * MIB / B)
    assert path.waiting.sum() == pytest.approx(2 * 6 * 64 * MIB / B)


def test_nothing_moved_has_no_path():
    assert len(critical_path(ring_run(n=1)).transfers) == 0


def test_the_frame_names_the_slowest_link():
    two = cs.machine("dgx-a100", nodes=2)
    frame = critical_path(ring_run(16, topology=two)).to_frame()
    assert frame.link.str.contains("nic").all()


def test_elasticity_of_a_bandwidth_bound_ring_is_the_bandwidth_part():
    run = ring_run()
    frame = sensitivity(run)
    kind = frame[frame.what == "kind"].iloc[0]
    bandwidth_part = 14 * 8 * MIB / B / run.time
    assert kind.elasticity == pytest.approx(-bandwidth_part / 1.01, rel=1e-6)
    assert kind.doubled == pytest.approx(bandwidth_part / 2, rel=1e-9)


def test_one_cable_of_many_equal_ones_changes_nothing():
    frame = sensitivity(ring_run())
    assert (frame[frame.what == "link"].doubled.abs() < 1e-12).all()


def test_the_server_cable_is_the_one_that_matters():
    run = cs.simulate(
        cs.schedule("allreduce_parameter_server", ranks=8), cs.topology.switch(8, bandwidth=B, alpha=ALPHA), "64MiB"
    )
    first = sensitivity(run).query("what == 'link'").iloc[0]
    assert "rank0" in first["name"] or "gpu0" in first["name"]
    assert first.doubled == pytest.approx(0.5, rel=1e-2)


def test_a_comparison_says_what_moved():
    on = cs.simulate(cs.schedule("allreduce_ring", ranks=8), cs.machine("pcie-8gpu"), "64MiB")
    off = cs.simulate(cs.schedule("allreduce_ring", ranks=8), cs.machine("pcie-8gpu", p2p=False), "64MiB")
    difference = compare_runs(on, off)
    assert difference.speedup < 1
    assert "takes 1.99 times as long as allreduce_ring(8) on pcie-8gpu: 7.49 ms in place of 3.76 ms" in str(difference)
    assert "is 1.99 times as fast as" in str(compare_runs(off, on))
    assert difference.kinds.bytes["memory"] > 0, "staging goes through host memory"
    assert difference.links.bytes_b.sum() == off.link_bytes.sum()
    assert list(difference.frame.columns) == ["a", "b"]


def test_a_run_against_itself_is_the_same():
    run = ring_run()
    assert compare_runs(run, run).speedup == 1
    assert "takes as long as" in str(compare_runs(run, run))


def test_compare_wants_traces():
    with pytest.raises(cs.CollsimError, match="two Traces"):
        compare_runs(ring_run(), "ring")


def test_the_crossover_of_two_algorithms_is_where_their_formulas_meet():
    """Recursive doubling of 8: 3 (2a + S b). Ring: 14 (2a + S/8 b). Equal at S b (3 - 1.75) = 22 a."""
    network = cs.topology.switch(8, bandwidth=B, alpha=ALPHA)
    size = crossover("allreduce_recursive_doubling", "allreduce_ring", network, first=1024, last="64MiB")
    assert size == pytest.approx(22 * ALPHA / 1.25 * B, rel=2e-3)


def test_no_crossover_where_one_always_wins():
    network = cs.topology.switch(8)
    assert crossover("allreduce_ring", "allreduce_ring", network) is None


def test_best_finds_the_channels_of_the_machine():
    found = best("allreduce", cs.machine("dgx-a100", nodes=2), "256MiB", algorithm=["allreduce_ring"])
    assert found.options["channels"] == 8
    assert found.tried.time.is_monotonic_increasing


def test_best_finds_the_rank_order_that_undoes_a_shuffle():
    """On a ring of 8 every rank must send to its neighbour: one cable each, and no two messages on one."""
    network = cs.topology.ring(8)
    mixed = reorder_ranks(network, (0, 5, 2, 7, 4, 1, 6, 3))
    straight, crooked = (
        cs.simulate(cs.schedule("allreduce_ring", ranks=8), place, "64MiB").time for place in (network, mixed)
    )
    assert crooked > 2 * straight
    found = best("allreduce", mixed, "64MiB", algorithm=["allreduce_ring"], orders=1)
    assert found.trace.time == pytest.approx(straight)
    assert cs.simulate(found.trace.schedule, reorder_ranks(mixed, found.order), "64MiB").time == found.trace.time
    assert list(found.tried.order)[1:] == ["given"]
    assert best("allreduce", mixed, "64MiB", algorithm=["allreduce_ring"]).order is None


def test_exchanges_of_ranks_find_what_a_tour_does_not():
    """Recursive doubling on a line: partners of all distances, for which no tour is made."""
    network = cs.topology.line(8)
    mixed = reorder_ranks(network, tuple(np.random.default_rng(3).permutation(8)))
    given = {"algorithm": ["allreduce_recursive_doubling"]}
    times = [best("allreduce", mixed, "1MiB", **given, orders=tries).trace.time for tries in (0, 1, 100)]
    assert times[0] >= times[1] >= times[2]
    assert times[2] < times[0]
    first, again = (best("allreduce", mixed, "1MiB", **given, orders=20) for _ in range(2))
    assert first.order == again.order, "the same every time"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda net: best("allreduce", net, "1MiB", algorithm=["broadcast_chain"]),
            "broadcast_chain is an algorithm for broadcast",
        ),
        (lambda net: best("allreduce", net, "-1MiB"), "^nbytes='-1MiB' is negative"),
        (lambda net: best("allreduce", net, "1MiB", orders=-1), "orders=-1"),
        (lambda net: best("allreduce", net, "1MiB", orders=2**31), "give at most 100,000"),
        (
            lambda net: crossover("allreduce_ring", "allreduce_tree", net, first="1GiB", last="1KiB"),
            "first='1GiB' is not below last='1KiB'",
        ),
        (lambda net: cheapest({"a": float("nan")}, {"a": net}, "allreduce", 1, "1ms"), "price of a is nan"),
        (lambda net: cheapest({"a": -1}, {"a": net}, "allreduce", 1, "1ms"), "price of a is -1"),
    ],
)
def test_a_search_for_nonsense_says_so(call, words):
    with pytest.raises(cs.CollsimError, match=words):
        call(cs.topology.switch(4))


def test_best_chunk_count_of_a_chain_is_near_its_formula():
    """Best c = sqrt((n-2) S beta / alpha) (Thakur, Rabenseifner & Gropp 2005); the time is flat around it."""
    network = cs.topology.switch(8, bandwidth=B, alpha=ALPHA)
    found = best("broadcast", network, "64MiB", algorithm=["broadcast_chain"])
    optimum = (6 * 64 * MIB / B / (2 * ALPHA)) ** 0.5
    chain = cs.simulate(cs.schedule("broadcast_chain", ranks=8, chunks=round(optimum)), network, "64MiB")
    assert found.trace.time == pytest.approx(chain.time, rel=0.02)


def test_the_cheapest_machine_in_time():
    table = cheapest(
        {"fast": 10.0, "slow": 1.0, "dear": 20.0},
        {
            name: cs.topology.switch(4, bandwidth=rate)
            for name, rate in (("fast", "50GB/s"), ("slow", "1GB/s"), ("dear", "100GB/s"))
        },
        "allreduce",
        "64MiB",
        "10ms",
    )
    assert list(table.machine) == ["fast", "dear", "slow"]
    assert list(table.within) == [True, True, False]


def test_explain_says_bottleneck_counterfactual_and_gap():
    two = cs.machine("dgx-a100", nodes=2)
    text = cs.simulate(cs.schedule("allreduce_ring", topology=two, channels=1), two, "256MiB").explain()
    # 16 MiB / 25 GB/s of 674.29 us: 99.5 %; the bound is 2 * 15/16 * 256 MiB / 331.5 GB/s = 1.518 ms of 20.229
    assert "busy 99.5 %" in text
    assert "infiniband saves 20.5 %" in text
    assert "nvlink saves nothing" in text
    assert "1.52 ms" in text
    assert "13.3 times as long" in text


def test_explain_knows_when_latency_is_all():
    text = ring_run(nbytes=8).explain()
    assert text.startswith("Latency makes up 100")


def test_a_comparison_says_where_the_bytes_went_when_no_kind_carries_more():
    whole = cs.machine("dgx-a100", nodes=2)
    broken = whole.without_link("node0/nic3", "fabric/switch0")
    plan = cs.schedule("allreduce_ring", topology=whole, channels=8)
    difference = compare_runs(*(cs.simulate(plan, place, "64MiB") for place in (whole, broken)))
    assert difference.kinds.bytes["infiniband"] == 0
    assert "instead of" in str(difference)
    assert "nic3" in str(difference)
