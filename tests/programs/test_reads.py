"""A program is executed with late reads only where that can make a difference: random programs, executed both ways."""

import random

import numpy as np

from collsim.rank_engine import torch_dialect
from collsim.rank_engine.engine import RunMode
from collsim.rank_engine.execute import execute
from collsim.rank_engine.modes import execute_modes
from collsim.rank_engine.start import build_plan

HEAD = """import torch
import torch.distributed as dist

def run(rank, size):
    right, left = (rank + 1) % size, (rank - 1) % size
    a, b = torch.ones(4) * rank, torch.zeros(4)
    works = []
"""
LINES = (
    "works.append(dist.isend(a, right))",
    "works.append(dist.isend(a[:2], right))",
    "works.append(dist.irecv(b, left))",
    "dist.recv(b, left)",
    "dist.recv(b[2:], left)",
    "a += 1",
    "a += b",
    "b[0] = a[1]",
    "a, b = b, a",
    "for work in works: work.wait()",
)


def write(rng):
    """A program whose sends and receives are as many, so that most of them end."""
    lines = [rng.choice(LINES) for _ in range(rng.randint(2, 7))]
    sends = sum("isend" in line for line in lines)
    receives = sum("recv" in line for line in lines)
    lines += ["dist.recv(b, left)"] * (sends - receives) + ["works.append(dist.isend(a, right))"] * (receives - sends)
    rng.shuffle(lines)
    body = "".join(f"    {line}\n" for line in [*lines, "for work in works: work.wait()"])
    return f"{HEAD}{body}    return torch.cat([a, b])\n"


def test_late_reads_differ_only_where_the_first_execution_says_so():
    rng = random.Random(5)
    depending = differing = 0
    for _ in range(150):
        plan = build_plan(write(rng), 3, None, None, "96B", {})
        first = execute(plan, RunMode(), "results")
        if first.hangs or first.errors:
            continue
        late = execute(plan, RunMode(is_late=True), "results")
        is_equal = not late.hangs and not late.errors and np.array_equal(first.results, late.results)
        assert is_equal or first.depends_on_reads, plan.program
        depending += first.depends_on_reads
        differing += not is_equal
    assert 10 < differing < depending < 100


def test_a_ring_that_waits_before_it_changes_its_buffer_is_executed_once():
    source = HEAD + "    works.append(dist.isend(a, right))\n    dist.recv(b, left)\n    works[0].wait()\n    a += b\n"
    plan = build_plan(source, 4, None, None, "96B", {})
    modes = [execution.mode for execution in execute_modes(lambda mode, keeps: execute(plan, mode, keeps), -1)]
    assert modes == [RunMode(-1)]
    plan = build_plan(source.replace("dist.recv(b", "dist.irecv(b"), 4, None, None, "96B", {})
    modes = [execution.mode for execution in execute_modes(lambda mode, keeps: execute(plan, mode, keeps), -1)]
    assert modes == [RunMode(-1), RunMode(-1, is_late=True)]


def test_a_sum_is_computed_once_and_each_rank_has_its_own(monkeypatch):
    calls, reduce = [], torch_dialect._reduce
    monkeypatch.setattr(torch_dialect, "_reduce", lambda *values: calls.append(values) or reduce(*values))
    source = (
        HEAD + "    dist.all_reduce(a)\n    a += rank\n    dist.all_reduce(b, op=dist.ReduceOp.MAX)\n    return a\n"
    )
    execution = execute(build_plan(source, 4, None, None, "96B", {}), RunMode(), "results")
    assert [result.tolist() for result in execution.results] == [[6.0 + rank] * 4 for rank in range(4)]
    assert len(calls) == 2
