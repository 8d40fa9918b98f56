"""The door: what is chosen, told, refused, stopped and taken home."""

import json

import pytest
from networks import boxes_of_a100, dgx1
from typer.testing import CliRunner

import collsim as cs
from collsim.synthesis import report
from collsim.synthesis.pairs import optional_solver
from collsim.synthesis.pairs.search_phases import PHASES


def test_the_result_is_an_ordinary_schedule():
    made = cs.synthesize("allgather", cs.topology.ring(4), effort="low")
    cs.verify(made)
    assert (made.name, made.collective, made.ranks) == ("synthesized_allgather", "allgather", 4)
    assert "trees" in repr(made)
    assert report(made).method == "trees"
    assert report(cs.schedule("allgather_ring", ranks=4)) is None


def test_a_size_takes_the_fastest_of_the_methods():
    """At 1 KiB few steps win, at 64 MiB bandwidth does; never slower than one method alone, by the event engine."""
    network = cs.topology.torus(3, 3)
    for size in ("1KiB", "64MiB"):
        best = cs.simulate(cs.synthesize("allgather", network, size), network, size, engine="event").time
        for method in ("trees", "greedy"):
            alone = cs.synthesize("allgather", network, size, method=method)
            assert best <= cs.simulate(alone, network, size, engine="event").time * (1 + 1e-9)


@pytest.mark.parametrize("ranks", [8, [0, 1, 2, 3, 4, 5, 6, 7], [7, 0, 15], [1, 9]])
def test_a_number_of_ranks_and_a_process_group_are_those_that_simulate_and_the_bound_take(ranks):
    network = cs.machine("dgx-a100", nodes=2)
    found = cs.synthesize("allgather", network, ranks=ranks)
    n = ranks if isinstance(ranks, int) else len(ranks)
    assert found.ranks == n
    time = cs.simulate(found, network, "1GiB", ranks=ranks, engine="event").time
    assert time <= 1.1 * cs.lower_bound("allgather", network, "1GiB", ranks=ranks).time


def test_equal_schedules_have_a_report_each():
    """The same trees at half the bandwidth are an equal schedule, and their report names the other rate."""
    fast = cs.topology.ring(4, bandwidth="20GB/s")
    first, again = (cs.synthesize("allgather", fast, method="trees", pieces=2) for _ in range(2))
    slow = cs.synthesize("allgather", fast.scaled(by=0.5), method="trees", pieces=2)
    assert first == again == slow
    del first
    assert "13.3 GB/s" in report(again).summary
    assert "6.67 GB/s" in report(slow).summary
    cs.verify(cs.synthesis.repair(again, fast.without_link(0, 1)))


def test_so_many_ranks_have_a_root():
    made = cs.synthesize("broadcast", cs.machine("dgx-a100", nodes=2), ranks=8, root=5, effort="low")
    cs.verify(made)
    assert (made.ranks, made.root) == (8, 5)


def test_synthesized_beats_ring_on_a_dgx1():
    """A ring uses one link in and one out of each GPU at a time in every channel; the trees use all six."""
    network = dgx1()
    made = cs.simulate(cs.synthesize("allgather", network), network, "1GiB", engine="event")
    ring = cs.simulate(cs.schedule("allgather_ring", ranks=8), network, "1GiB", engine="event")
    assert made.time < ring.time / 2


def test_it_goes_to_msccl_and_comes_back(tmp_path):
    made = cs.synthesize("allreduce", dgx1(), method="trees", pieces=2)
    cs.io.write_msccl(made, tmp_path / "made.xml")
    cs.verify(cs.io.read_msccl(tmp_path / "made.xml"))


def test_progress_is_told_and_may_end_the_search():
    told = []
    cs.synthesize("allgather", boxes_of_a100(2), progress=lambda done, in_all, what: told.append((done, in_all, what)))
    assert any(what == "trees" and done == in_all for done, in_all, what in told)

    def stop(done, in_all, what):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cs.synthesize("allgather", boxes_of_a100(2), method="greedy", progress=stop)


def test_an_alltoall_goes_to_msccl_and_comes_back(tmp_path):
    made = cs.synthesize("alltoall", cs.topology.ring(4), method="greedy", pieces=1)
    cs.io.write_msccl(made, tmp_path / "made.xml")
    cs.verify(cs.io.read_msccl(tmp_path / "made.xml"))


def test_every_phase_that_is_told_has_a_name():
    told = set()

    def tell(done, in_all, what):
        told.add(what)

    for kind in ("allgather", "reduce_scatter"):
        cs.synthesize(kind, cs.topology.torus(3, 3), "1MiB", "low", progress=tell)
    cs.synthesize("allgather", cs.machine("dgx-1v"), method="trees", effort="low", progress=tell)
    if optional_solver.is_installed():
        cs.synthesize("allgather", cs.topology.ring(4), "latency", progress=tell)
    assert told <= set(PHASES)
    assert told >= {"trees", "reducing trees", "timing trees", "matching", "ring and tree"}


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: cs.synthesize("allgathr", dgx1()), "unknown collective 'allgathr'"),
        (lambda: cs.synthesize("allgather", "dgx-1vv"), "did you mean 'dgx-1v'"),
        (lambda: cs.synthesize("allgather", dgx1(), "fast"), "fast"),
        (lambda: cs.synthesize("allgather", dgx1(), effort="huge"), "unknown effort 'huge'"),
        (lambda: cs.synthesize("allgather", dgx1(), method="tacos"), "unknown method 'tacos'"),
        (lambda: cs.synthesize("allgather", dgx1(), ranks=9), "9 ranks do not fit on graph, which has 8"),
        (lambda: cs.synthesize("allgather", dgx1(), ranks=[0, 8]), "which has 0 to 7"),
        (lambda: cs.synthesize("allgather", "dgx-1v", ranks=[0, 0, 1]), "names a rank twice"),
        (lambda: cs.synthesize("allgather", dgx1(), ranks=[3]), "needs 2"),
        (lambda: cs.synthesize("broadcast", dgx1(), root=8), "root=8 is not a rank"),
        (lambda: cs.synthesize("gather", dgx1(), method="trees"), "method 'trees' knows"),
        (lambda: cs.synthesize("sendrecv", dgx1(), "latency"), "sendrecv cannot be synthesized"),
        (lambda: cs.synthesize("allgather", dgx1(), progress=3), "progress=3"),
        (lambda: cs.synthesize("allgather", cs.topology.ring(1)), "needs 2"),
    ],
)
def test_mistakes_get_a_sentence(ask, says):
    with pytest.raises(cs.CollsimError, match=says):
        ask()


def test_the_command_prints_what_was_found(tmp_path):
    from collsim.cli import app

    arguments = ["synthesize", "allgather", "--topology", "torus(3, 3)", "--effort", "low", "--no-progress"]
    done = CliRunner().invoke(app, [*arguments, "--json", "-o", str(tmp_path / "made.json")])
    assert done.exit_code == 0, done.output
    row = json.loads(done.stdout)
    assert row["method"] == "trees"
    assert 1 <= row["gap"] < 1.05
    assert "must get into rank" in row["cut"]
    cs.verify(cs.load(tmp_path / "made.json"))
