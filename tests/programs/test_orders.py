"""Random programs of sends and receives against an exploration of every interleaving, written apart from the engine."""

import itertools
import random

import pytest

from collsim.programs.judge import judge
from collsim.rank_engine.execute import execute
from collsim.rank_engine.modes import execute_modes
from collsim.rank_engine.start import build_plan

ANY = None


def explore(programs):
    """All ends of programs whose sends wait for their receives: `(what each rank received, has it ended)`.

    A state is how far each rank is and what it has received; a step is one meeting of a send with a receive.
    """
    ends, seen = set(), set()
    pending = [tuple((0, ()) for _ in programs)]
    while pending:
        state = pending.pop()
        if state in seen:
            continue
        seen.add(state)
        following = list(meetings(programs, state))
        if not following:
            ends.add((tuple(got for _, got in state), all(at == len(programs[r]) for r, (at, _) in enumerate(state))))
        pending += following
    return ends


def meetings(programs, state):
    for sender, (at, _) in enumerate(state):
        if at == len(programs[sender]) or programs[sender][at][0] != "send":
            continue
        receiver = programs[sender][at][1]
        there, got = state[receiver]
        if there == len(programs[receiver]):
            continue
        kind, source = programs[receiver][there]
        if kind == "recv" and source in (ANY, sender):
            after = list(state)
            after[sender] = (at + 1, state[sender][1])
            after[receiver] = (there + 1, (*got, sender))
            yield tuple(after)


def write(programs):
    """The same as a rank program: every rank returns the sources of what it received."""
    lines = ["from mpi4py import MPI", "comm = MPI.COMM_WORLD", "got = []"]
    for rank, calls in enumerate(programs):
        lines.append(f"if comm.rank == {rank}:")
        for kind, peer in calls:
            if kind == "send":
                lines.append(f"    comm.ssend({rank}, dest={peer})")
            else:
                lines.append(f"    got.append(comm.recv(source={'MPI.ANY_SOURCE' if peer is ANY else peer}))")
        lines.append("    pass")
    return "\n".join([*lines, "result = got"])


def draw(seed):
    """A program of 2 or 3 ranks; half of them come from messages in one order, so that many do not hang."""
    rng = random.Random(seed)
    ranks = rng.choice((2, 3))
    programs = [[] for _ in range(ranks)]
    for _ in range(rng.randint(2, 6)):
        src, dst = rng.sample(range(ranks), 2)
        programs[src].append(("send", dst))
        programs[dst].append(("recv", src if rng.random() < 0.5 else ANY))
    if rng.random() < 0.5:
        for calls in programs:
            rng.shuffle(calls)
    return programs


@pytest.mark.parametrize("block", range(10))
def test_the_verdict_agrees_with_all_interleavings(block):
    for seed in range(40 * block, 40 * block + 40):
        programs = draw(seed)
        ends = explore(programs)
        plan = build_plan(write(programs), len(programs), "", None, 8, {})
        executions = execute_modes(lambda mode, keeps, plan=plan: execute(plan, mode, keeps), -1)
        run = judge(len(programs), executions, None, -1)
        reached = {(tuple(tuple(r or ()) for r in e.results), not e.hangs) for e in executions if not e.hangs}
        assert reached <= {end for end in ends if end[1]}, programs
        if all(ended for _, ended in ends):
            assert run.verdict == ("ends" if len(ends) == 1 else "race"), programs
        elif not any(ended for _, ended in ends):
            assert run.verdict == "hangs", programs
        else:
            assert run.verdict in ("hangs", "race"), programs


def list_results(source, ranks):
    """What rank 0 ends with in each order that is executed."""
    plan = build_plan("from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nresult = None\n" + source, ranks, "", None, 8, {})
    executions = execute_modes(lambda mode, keeps: execute(plan, mode, keeps), -1)
    assert not any(execution.errors or execution.hangs for execution in executions)
    return {str(execution.results[0]) for execution in executions}, judge(ranks, executions, None, -1)


def test_each_call_may_be_the_one_that_ends_a_wait_for_any():
    source = """if comm.rank == 0:
    requests = [comm.irecv(source=k) for k in (1, 2, 3)]
    result = [MPI.Request.waitany(requests)[1] for k in requests]
else:
    comm.ssend(comm.rank, dest=0)
"""
    results, run = list_results(source, 4)
    assert results == {str(list(order)) for order in itertools.permutations((1, 2, 3))}
    assert run.verdict == "race"


def test_a_wait_for_some_ends_with_one_call_or_with_all():
    source = """if comm.rank == 0:
    requests = [comm.irecv(source=k) for k in (1, 2)]
    result = MPI.Request.Waitsome(requests)
    MPI.Request.Waitall(requests)
else:
    comm.ssend(comm.rank, dest=0)
"""
    assert list_results(source, 3)[0] == {"[0, 1]", "[0]", "[1]"}


def test_a_choice_taken_otherwise_may_leave_fewer_for_the_next():
    source = """if comm.rank == 0:
    result = []
    for tag in (1, 2):
        requests = [comm.irecv(source=k, tag=tag) for k in (1, 2, 3)]
        while (positions := MPI.Request.Waitsome(requests)) is not None:
            result.append(positions)
else:
    for tag in (1, 2):
        comm.send(comm.rank, dest=0, tag=tag)
"""
    assert {"[[0, 1, 2], [0, 1, 2]]", "[[2], [1], [0], [0, 1, 2]]"} <= list_results(source, 4)[0]


def test_what_follows_a_wait_for_any_races_for_a_receive_from_any_source():
    source = """if comm.rank == 0:
    result = [comm.recv(source=MPI.ANY_SOURCE) for _ in range(2)]
elif comm.rank == 1:
    MPI.Request.Waitany([comm.irecv(source=2)])
    comm.ssend(1, dest=0)
elif comm.rank == 2:
    comm.ssend(2, dest=1)
else:
    comm.ssend(3, dest=0)
"""
    assert list_results(source, 4)[0] == {"[1, 3]", "[3, 1]"}


def test_the_random_programs_end_hang_and_race():
    kinds = set()
    for seed in range(400):
        ends = explore(draw(seed))
        kinds.add((any(ended for _, ended in ends), all(ended for _, ended in ends), len(ends) > 1))
    assert {(True, True, False), (True, True, True), (False, False, False), (True, False, True)} <= kinds
