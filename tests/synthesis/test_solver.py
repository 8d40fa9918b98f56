"""The solver: the published points of SCCL on the DGX-1, found or refuted."""

import pytest
from networks import dgx1

import collsim as cs
from collsim.synthesis import exact, least_steps, report

pytest.importorskip("ortools", reason="the extra 'synthesis' is not installed")


@pytest.mark.parametrize(
    ("steps", "rounds", "chunks", "exists"),
    [
        (1, 1, 1, False),
        (2, 2, 1, True),
        (2, 3, 2, True),
        (2, 4, 3, False),
        (3, 4, 3, True),
        (3, 7, 6, True),
    ],
)
def test_allgather_on_a_dgx1_has_the_published_points(steps, rounds, chunks, exists):
    """microsoft/msccl-tools SYNTHESIS.md, `msccl solve pareto-optimal DGX1 Allgather`: each line's answer."""
    answer = exact("allgather", dgx1(), steps, rounds, chunks)
    assert answer.proved
    assert (answer.schedule is not None) == exists
    if exists:
        cs.verify(answer.schedule)
        assert answer.schedule.steps == steps
        slowest = 25e9
        nbytes = 8 * chunks * 2**20
        trace = cs.simulate(answer.schedule, dgx1(), nbytes)
        spent = rounds * 2**20 / slowest + steps * 0.7e-6
        assert trace.time <= spent * (1 + 1e-9), "no step takes longer than its rounds"


def test_six_chunks_in_seven_rounds_are_the_bandwidth_bound():
    """7/6 rounds per chunk, as SCCL proves: no fewer rounds even with one more step."""
    assert exact("allgather", dgx1(), 3, 6, 6).schedule is None


@pytest.mark.parametrize("kind", ["allgather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter"])
def test_the_fewest_steps_are_found_and_the_proof_told(kind):
    made = cs.synthesize(kind, dgx1(), "latency", root=3 if cs.collective(kind).rooted else 0)
    assert made.steps == 2, "GPUs of a DGX-1 are at most two links apart"
    assert "No schedule of fewer than 2 steps exists" in report(made).says


def test_least_steps_are_the_longest_way():
    assert least_steps(cs.collective("allgather"), cs.topology.line(5))[0] == 4
    assert least_steps(cs.collective("broadcast"), cs.topology.line(5), root=2)[0] == 2
    assert least_steps(cs.collective("allgather"), cs.topology.switch(8))[0] == 1


def test_rounds_that_do_not_suffice_are_proved_not_to():
    """A ring of 4, two links each: 3 blocks into a rank need 2 rounds, and 2 steps."""
    made = cs.synthesize("allgather", cs.topology.ring(4), "latency")
    assert (made.steps, made.options["rounds"]) == (2, 2)
    line = cs.topology.line(3)
    assert exact("allgather", line, 2, 2).schedule is not None
    assert exact("allgather", line, 1, 5).schedule is None


def test_too_large_a_question_is_refused_before_it_is_built():
    with pytest.raises(cs.CollsimError, match="variables"):
        exact("allgather", cs.topology.torus(8, 8), 8, 30, 4)


def test_whoever_is_told_can_stop_the_solver():
    def stop(done, in_all, what):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cs.synthesize("allgather", cs.topology.torus(4, 4), "latency", progress=stop)
