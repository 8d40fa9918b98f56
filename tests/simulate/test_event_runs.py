"""How a run of the event engine is computed, what it tells meanwhile, and what it refuses."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from event_cases import ALPHA, RATE, network, run

import collsim as cs
from collsim.simulate import Flows, event, expected_cost, simulate_flows

close = pytest.approx


def python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    ).stdout


def test_slices_of_any_length_give_the_same_times(monkeypatch):
    """A slice once ended within a moment, and the next one gave the links that still waited their rates at 0 s."""
    mesh = cs.topology.mesh(2, 3, bandwidth=f"{RATE}B/s", alpha=ALPHA)
    schedule = cs.synthesize("allgather", mesh, method="trees", pieces=8)
    times = []
    for length in (200_000, 1, 2, 7, 30):
        monkeypatch.setattr(event, "_SLICE", length)
        times.append(cs.simulate(schedule, mesh, 2**20, engine="event").time)
    assert times == [times[0]] * 5


def test_the_compiler_is_loaded_by_the_event_engine_only():
    code = (
        "import sys, collsim as cs; s, t = cs.schedule('allreduce_ring', 4), cs.topology.switch(4)\n"
        "cs.simulate(s, t, 100); print('numba' in sys.modules)"
    )
    assert python(code).strip() == "False"


@pytest.mark.slow
def test_without_a_compiler_the_same_source_gives_the_same_times():
    code = (
        "import sys; {}\n"
        "import collsim as cs; s, t = cs.schedule('allreduce_halving_doubling', 6), cs.topology.ring(6)\n"
        "for sharing in ('none', 'fair', 'fifo'):\n"
        "    r = cs.simulate(s, t, 100_000, engine='event', sharing=sharing, shortcuts=False, gamma=1e10)\n"
        "    print([x.hex() for x in r.finish.tolist()])\n"
        "    r = cs.simulate(s, t, 100_003, engine='event', sharing=sharing, jitter=1e-6, background=[(0, 2, 10**6)])\n"
        "    print(r.how, [x.hex() for x in r.finish.tolist()])\n"
        "    print([x.hex() for x in cs.simulate.simulate_flows(t, [0, 1, 1], [3, 4, 5], [10**6, 10**5, 0], "
        "sharing=sharing).finish.tolist()])\n"
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
    """2^16 ranks on one switch: a ring is two rows a rank, halving and doubling a row a rank and step; 8.6 × 10^9
    transfers."""
    n = 2**16
    topo = network("switch", n)
    ring, halving = (
        expected_cost(cs.schedule(name, n), topo, 4 * n) for name in ("allreduce_ring", "allreduce_halving_doubling")
    )
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


def test_an_idle_collective_next_to_a_busy_one():
    both = cs.simulate(
        [cs.schedule("allreduce_ring", 1), cs.schedule("allreduce_ring", 4)],
        network("switch", 5),
        "1MB",
        ranks=[[4], [0, 1, 2, 3]],
    )
    assert both[0].time == 0
    assert both.slowdown == close([1, 1])


def test_a_pipelined_tree_beats_the_ring_where_steps_cost_more_than_bytes():
    """256 ranks, 1 MiB: the ring pays 510 alphas, two trees in 8 chunks each a tenth of that."""
    topo = network("switch", 256)
    ring = run(cs.schedule("allreduce_ring", 256), topo, "1MiB").time
    assert (
        min(run(cs.schedule("allreduce_double_binary_tree", 256, chunks=c), topo, "1MiB").time for c in (1, 4, 8))
        < ring / 2
    )


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
    """All conditions are kept when the run is repeated with faster cables: with gamma of half the time, doubling saves
    less."""
    s, topo = cs.schedule("allreduce_ring", 4), network("ring", 4, alpha=0)
    plain = run(s, topo, "4MiB").bottleneck
    costly = run(s, topo, "4MiB", gamma=RATE / 2).bottleneck
    assert plain.savings["cable"] == close(0.5, rel=1e-9)
    assert costly.savings["cable"] == close(0.25, rel=1e-9)


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
        ({"ranks": [0, 0, 1, 2]}, "several ranks on one GPU"),
        ({"ranks": [0, 1, 2, 7]}, "has ranks 0 to 3"),
        ({"ranks": [[0], [1, 2]]}, "must be 4 ranks"),
        ({"slow": {0: 1e300}}, r"slow\[0\]=1e\+300 must be more than 0 and less than"),
        ({"slow": {True: 2}}, "True is not a rank"),
        ({"jitter": 1e10}, "jitter=1e\\+10 s is longer than"),
        ({"late": {1: 1e10}}, r"late\[1\]=1e\+10 s is longer"),
        (
            {"background": [(0, 1, 5), (2, 2, "1MB")]},
            "flow 1 goes from rank 2 to itself and crosses no link; leave it out",
        ),
        ({"background": Flows(*np.array([[2], [2], [5], [0]]))}, "flow 0 goes from rank 2 to itself"),
        ({"background": Flows(*np.array([[0], [1], [-5], [0]]))}, "nbytes=-5 is negative"),
        ({"background": Flows(*np.array([[0], [9], [5], [0]]))}, "dst=9 is not a rank"),
        ({"begin": 1e10}, r"begin=1e\+10 s is longer"),
    ],
)
def test_a_wrong_condition_is_refused_with_a_sentence(options, says):
    with pytest.raises(cs.CollsimError, match=says):
        run(cs.schedule("allreduce_ring", 4), network("switch", 4), 100, **options)


def test_many_runs_without_jitter_would_all_be_the_same_one():
    with pytest.raises(cs.CollsimError, match="jitter='1us'"):
        cs.simulate_many(cs.schedule("allreduce_ring", 4), network("switch", 4), 100)


def test_flows_have_no_condition_of_collectives_and_no_links_beyond_the_last():
    topo = network("switch", 4)
    for option in ({"late": {0: 1}}, {"background": [(0, 1, 1)]}, {"gamma": 1e9}, {"launch": "1us"}):
        with pytest.raises(cs.CollsimError, match=f"no option '{next(iter(option))}'"):
            simulate_flows(topo, [0], [1], 100, **option)
    with pytest.raises(cs.CollsimError, match="flat list"):
        simulate_flows(topo, [[0], [1, 2]], [1], 100)
    with pytest.raises(cs.CollsimError, match="there is no link 99"):
        simulate_flows(topo, [0], [1], 100).usage(99)


def test_the_lockstep_engine_refuses_what_it_does_not_know():
    with pytest.raises(cs.CollsimError, match="engine='event'"):
        cs.simulate(cs.schedule("allreduce_ring", 4), network("switch", 4), 100, gamma=1e9)
    with pytest.raises(cs.CollsimError, match="engine='event'"):
        cs.simulate([cs.schedule("allreduce_ring", 4)], network("switch", 4), 100, engine="lockstep")
