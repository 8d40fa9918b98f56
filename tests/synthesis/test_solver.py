"""The solver: the published points of SCCL on the DGX-1, found or refuted."""

import pytest
from networks import dgx1

import collsim as cs
from collsim.collective import get_collective
from collsim.synthesis import find_least_steps, report, solve_exactly

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
    answer = solve_exactly("allgather", dgx1(), steps, rounds, chunks)
    assert answer.is_proved
    assert (answer.schedule is not None) == exists
    if exists:
        cs.verify(answer.schedule)
        assert answer.schedule.steps == steps
        slowest = 25e9
        nbytes = 8 * chunks * 2**20
        trace = cs.simulate(answer.schedule, dgx1(), nbytes)
        spent = rounds * 2**20 / slowest + steps * 0.7e-6
        assert trace.time <= spent * (1 + 1e-9), "no step takes longer than its rounds"


@pytest.mark.parametrize(
    ("kind", "steps", "rounds", "chunks"),
    [
        ("broadcast", 4, 4, 12),
        ("broadcast", 5, 5, 18),
        ("gather", 3, 3, 2),
        ("gather", 3, 7, 6),
        ("scatter", 3, 7, 6),
        ("reduce_scatter", 3, 7, 6),
        ("reduce", 3, 3, 6),
        ("alltoall", 2, 3, 1),
        ("alltoall", 2, 8, 3),
        ("allreduce", 4, 4, 1),
        ("allreduce", 6, 14, 6),
    ],
)
def test_the_other_collectives_have_schedules_that_keep_their_rounds(kind, steps, rounds, chunks):
    """Each step takes its rounds on the real links: 25 GB/s and 0.7 us. In a broadcast of 12 chunks some come back
    nearer to the root than they were, because its own links are the narrow ones."""
    answer = solve_exactly(kind, dgx1(), steps, rounds, chunks)
    cs.verify(answer.schedule)
    assert answer.schedule.steps == steps
    whole = chunks * (1 if kind in ("broadcast", "reduce") else 8)
    trace = cs.simulate(answer.schedule, dgx1(), whole * 2**20)
    assert trace.time <= (rounds * 2**20 / 25e9 + steps * 0.7e-6) * (1 + 1e-9)


@pytest.mark.parametrize(("steps", "rounds", "chunks"), [(2, 5, 4), (2, 6, 5), (2, 7, 6), (2, 2, 2)])
def test_what_sccl_calls_unsatisfiable_is(steps, rounds, chunks):
    """microsoft/msccl-tools examples/dgx1_allgather.ipynb: the cells' answers."""
    answer = solve_exactly("allgather", dgx1(), steps, rounds, chunks)
    assert (answer.schedule, answer.is_proved) == (None, True)


def test_an_alltoall_needs_the_rounds_of_its_cut():
    """16 blocks must cross the 6 links between the halves of a DGX-1: 8/3 rounds for each."""
    answer = solve_exactly("alltoall", dgx1(), 2, 7, 3)
    assert (answer.schedule, answer.is_proved) == (None, True)


def test_a_chunk_may_come_back_nearer_to_where_it_began():
    """Broadcast from 0, next to 1 by one link and to 2 by two; 2 to 3 by two, 3 to 1 by one. In 4 steps of a round rank
    1 takes 4 chunks from rank 0 and 2 from rank 3, which has the first after two steps: 6 and no more."""
    import networkx as nx

    graph = nx.DiGraph()
    for rank in range(4):
        graph.add_node(rank, kind="gpu")
    for a, b, links in ((0, 1, 1), (0, 2, 2), (2, 3, 2), (3, 1, 1), (1, 0, 1), (3, 0, 1)):
        graph.add_edge(a, b, bandwidth=links * 1e9, alpha=0.0)
    network = cs.Topology.from_networkx(graph)
    found = solve_exactly("broadcast", network, 4, 4, 6)
    cs.verify(found.schedule)
    refused = solve_exactly("broadcast", network, 4, 4, 7)
    assert (refused.schedule, refused.is_proved) == (None, True)


def test_an_allreduce_of_an_odd_number_of_steps_is_refused():
    with pytest.raises(cs.CollsimError, match="must be even"):
        solve_exactly("allreduce", dgx1(), 3, 4)


def test_six_chunks_in_seven_rounds_are_the_bandwidth_bound():
    """7/6 rounds per chunk, as SCCL proves: no fewer rounds even with one more step."""
    assert solve_exactly("allgather", dgx1(), 3, 6, 6).schedule is None


@pytest.mark.parametrize(
    "kind", ["allgather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter", "alltoall"]
)
def test_the_fewest_steps_are_found_and_the_proof_told(kind):
    made = cs.synthesize(kind, dgx1(), "latency", root=3 if get_collective(kind).rooted else 0)
    assert made.steps == 2, "GPUs of a DGX-1 are at most two links apart"
    assert "No schedule of fewer than 2 steps exists" in report(made).summary


def test_of_an_allreduce_the_proof_is_of_its_two_halves():
    made = cs.synthesize("allreduce", dgx1(), "latency", method="exact")
    assert made.steps == 4
    assert "No reduce_scatter followed by an allgather takes fewer than 4 steps" in report(made).summary


def test_an_allreduce_of_fewer_steps_than_two_halves_is_taken_from_the_library():
    """Recursive doubling over the cables 0-1, 0-2, 0-4 ... of a DGX-1: lg 8 steps; its GPUs are at most two links
    apart. In a ring of 4 its second partners are two cables away, so there the two halves of two steps stand."""
    made = cs.synthesize("allreduce", dgx1(), "latency")
    cs.verify(made)
    assert (made.steps, report(made).method) == (3, "known")
    assert "at least 4. No allreduce takes fewer than 2" in report(made).summary
    ring = cs.synthesize("allreduce", cs.topology.ring(4), "latency")
    assert (ring.steps, report(ring).method) == (4, "exact")


def test_least_steps_are_the_longest_way():
    assert find_least_steps(get_collective("allgather"), cs.topology.line(5))[0] == 4
    assert find_least_steps(get_collective("broadcast"), cs.topology.line(5), root=2)[0] == 2
    assert find_least_steps(get_collective("allgather"), cs.topology.switch(8))[0] == 1


def test_rounds_that_do_not_suffice_are_proved_not_to():
    """A ring of 4, two links each: 3 blocks into a rank need 2 rounds, and 2 steps."""
    made = cs.synthesize("allgather", cs.topology.ring(4), "latency")
    assert (made.steps, made.options["rounds"]) == (2, 2)
    line = cs.topology.line(3)
    assert solve_exactly("allgather", line, 2, 2).schedule is not None
    assert solve_exactly("allgather", line, 1, 5).schedule is None


def test_too_large_a_question_is_refused_before_it_is_built():
    with pytest.raises(cs.CollsimError, match="variables"):
        solve_exactly("allgather", cs.topology.torus(8, 8), 8, 30, 4)


def test_whoever_is_told_can_stop_the_solver():
    def stop(done, in_all, what):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cs.synthesize("allgather", cs.topology.torus(4, 4), "latency", progress=stop)
