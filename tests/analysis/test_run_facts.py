"""What is shown of a run is computed once: one replay, and one simulation of each scenario."""

from collections import Counter

import numpy as np
import pytest

import collsim as cs
from collsim import replay
from collsim.analysis.run_facts import RunFacts
from collsim.app.scenario import outcome, run_questions, simple_run
from collsim.app.scenario.choice import Choice
from collsim.schedule import Schedule
from collsim.simulate import run
from collsim.verify import contributions, verify
from collsim.viz.race.race_document import build_runner

NETWORK = cs.topology.switch(4, bandwidth="25GB/s", alpha="1us")


@pytest.fixture
def calls(monkeypatch):
    """Counts of `(what, schedule)`: walks over its steps, steps replayed; of engines with the scenario instead."""
    counts = Counter()

    def watch(module, name, name_call):
        function = getattr(module, name)

        def counted(*arguments):
            counts[name_call(*arguments)] += 1
            return function(*arguments)

        monkeypatch.setattr(module, name, counted)

    def name_lockstep(schedule, topology, slot_bytes, *_):
        links = topology.links
        return "lockstep", schedule.label, links.bandwidth.tobytes(), links.alpha.tobytes(), slot_bytes.tobytes()

    def name_event(jobs, topology, *_):
        links, sizes = topology.links, b"".join(job.slot_bytes.tobytes() for job in jobs)
        return "event", jobs[0].schedule.label, links.bandwidth.tobytes(), links.alpha.tobytes(), sizes

    watch(run, "run_lockstep", name_lockstep)
    watch(run, "run_events", name_event)
    watch(Schedule, "each_step", lambda schedule: ("walk", schedule.label))
    for module in (replay, contributions):
        watch(module, "apply_step", lambda *_: ("replayed steps",))
    outcome._run_cached.cache.clear()
    return counts


def count(calls, kind):
    return sorted(number for key, number in calls.items() if key[0] == kind)


@pytest.mark.parametrize("nodes", [2, 8])
@pytest.mark.parametrize("engine", ["lockstep", "event"])
def test_the_full_page_replays_a_choice_once_and_runs_each_scenario_once(calls, nodes, engine):
    shown = outcome.compute_outcome(Choice(nodes=nodes, engine=engine))
    # the run, with one channel, without bytes, and with each kind of link twice as fast
    assert count(calls, engine) == [1] * (3 + len(set(shown.links["kind"][shown.links["bytes"] > 0])))
    assert calls[("replayed steps",)] == shown.figures.steps
    # for the table of transfers, the replay and, up to 33 ranks, the text diagram
    assert calls["walk", f"allreduce_ring({8 * nodes}, channels=8)"] <= 3


def test_the_next_page_of_a_choice_runs_nothing_that_ran(calls):
    choice = Choice()
    outcome.compute_outcome(choice)
    calls.clear()
    outcome.compute_outcome(Choice(sizes="1KiB:1MiB:2"))
    assert {key[0] for key in calls} <= {"walk"}, "what Compare plots is no part of the run"
    run_questions.break_run(choice, "lose", 0, "en")
    assert {key[1].split("(")[0] for key in calls if key[0] == "lockstep"} == {"allreduce_ring_broken"}
    calls.clear()
    simple_run.run_simple(choice)
    # of the run with one channel: without bytes, with each kind of link twice as fast; and with all channels
    assert count(calls, "lockstep") == [1] * 5
    assert calls[("replayed steps",)] == 30, "the run with one channel; the other was replayed before"


def test_a_runner_of_a_race_is_replayed_once(calls):
    build_runner(cs.simulate(cs.schedule("allreduce_ring", ranks=4), NETWORK, "1MiB"))
    assert calls[("replayed steps",)] == 6
    assert set(count(calls, "lockstep")) == {1}


def test_facts_know_right_schedules_from_wrong_ones():
    def twice(n):
        yield cs.reduce(range(1, n), 0, chunk=0)
        yield cs.reduce(range(1, n), 0, chunk=0)
        yield cs.copy(0, range(1, n), chunk=0)

    def empty(n):
        yield cs.copy(1, 2, chunk=0)  # rank 1 holds nothing yet, though all is well in the end
        yield cs.copy(0, range(1, n), chunk=0)

    wrong = [
        cs.algorithm("allreduce", name="twice")(twice)(4),
        cs.algorithm("broadcast", name="empty")(empty)(4),
    ]
    for schedule in wrong:
        with pytest.raises(cs.CollsimError):
            verify(schedule)
        assert not RunFacts(cs.simulate(schedule, NETWORK, "1MiB")).is_right
    for name in ("allreduce_ring", "broadcast_binomial", "alltoall_direct"):
        assert RunFacts(cs.simulate(cs.schedule(name, ranks=4), NETWORK, "1MiB")).is_right


def test_routes_of_pairs_are_those_of_every_transfer():
    place = cs.machine("dgx-a100", nodes=2)
    trace = cs.simulate(cs.schedule("allreduce_ring", topology=place), place, "1MiB")
    facts, rows = RunFacts(trace), trace.schedule.transfers
    src, dst = facts.pairs
    assert np.array_equal(src[facts.pair_of_transfer], rows["src"])
    assert np.array_equal(dst[facts.pair_of_transfer], rows["dst"])
    assert len(set(zip(src.tolist(), dst.tolist(), strict=True))) == len(src)
    every = place.routes(trace.placement[rows["src"]], trace.placement[rows["dst"]])
    assert np.array_equal(facts.pair_routes.hops[facts.pair_of_transfer], every.hops)
