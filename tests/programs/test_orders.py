"""Random programs of sends and receives against an exploration of every interleaving, written apart from the engine."""

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


def test_the_random_programs_end_hang_and_race():
    kinds = set()
    for seed in range(400):
        ends = explore(draw(seed))
        kinds.add((any(ended for _, ended in ends), all(ended for _, ended in ends), len(ends) > 1))
    assert {(True, True, False), (True, True, True), (False, False, False), (True, False, True)} <= kinds
