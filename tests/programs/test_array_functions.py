"""Functions of one process that simulate a collective: what they really do, and the change that makes them right."""

import numpy as np
import pytest

import collsim as cs
from collsim.app.pages.program.program_drafts import EXAMPLES
from collsim.sandbox import Isolation, detect_isolation

pytestmark = pytest.mark.skipif(detect_isolation() is Isolation.NONE, reason="needs a system with a sandbox")

SHARED = """import numpy as np

def all_reduce(values):
    n = len(values)
    total = [np.zeros_like(values[0])] * n
    for i in range(n):
        for value in values:
            total[i] += value
    return total
"""
RING = """import numpy as np

def ring_all_reduce(nodes):
    n = len(nodes)
    chunks = [np.array_split(node.copy(), n) for node in nodes]
    for step in range(n - 1):
        moved = [chunks[r][(r - step) % n].copy() for r in range(n)]
        for r in range(n):
            chunks[(r + 1) % n][(r - step) % n] += moved[r]
    for step in range(n - 1):
        moved = [chunks[r][(r + 1 - step) % n].copy() for r in range(n)]
        for r in range(n):
            chunks[(r + 1) % n][(r + 1 - step) % n] = moved[r]
    return [np.concatenate(parts) for parts in chunks]

result = ring_all_reduce([np.arange(8), np.ones(8, int)])
"""


def call(source, name, *arguments):
    """Call a function of a program, as Python does."""
    names = {}
    exec(source, names)
    return names[name](*arguments)


@pytest.mark.slow
def test_a_sum_that_counts_blocks_again_says_how_often_and_which_line_to_leave_out():
    run = cs.program(EXAMPLES["scatter"][1], 4)
    assert "has the 4 blocks 8, 12, 14 and 15 times; in a sum each is once" in run.explanation()
    assert run.explanation().endswith("as runs with 2, 3 and 4 nodes show: leave out line 7.")
    assert [(fix.verdict, fix.ranks) for fix in run.fixes] == [("ends", (2, 3, 4))]
    assert "8、12、14 和 15 次" in run.explanation("zh")
    array = np.arange(20)
    result = call(run.fix.source, "scatter_reduce", array.copy(), 4)
    assert result.tolist() == array.reshape(4, 5).sum(axis=0).tolist()


def test_an_allgather_whose_nodes_have_one_place_for_all_blocks_becomes_a_ring():
    run = cs.program(EXAMPLES["gather"][1], 4)
    assert run.verdict == "error"
    assert "passes on the block that came last (line 9)" in run.explanation()
    blocks = np.arange(20).reshape(4, 5)
    for node in call(run.fix.source, "allgather", blocks.copy(), 4):
        assert node.tolist() == blocks.tolist()


@pytest.mark.slow
def test_one_array_for_all_nodes_is_copied():
    run = cs.program(SHARED, 4)
    assert "has the 4 blocks 4, 4, 4 and 4 times" in run.explanation()
    assert [str(fix.label) for fix in run.fixes] == ["give each node a copy (line 5)"]
    assert call(run.fix.source, "all_reduce", [np.array([1]), np.array([2])]) == [[3], [3]]


@pytest.mark.parametrize(
    "source",
    [RING, RING.replace("ring_all_reduce", "average"), "def all_gather(x):\n    return undefined[x]\nresult = 1\n"],
    ids=["right", "another name", "cannot be called"],
)
def test_nothing_is_said_where_nothing_is_known(source):
    run = cs.program(source, 3)
    assert run.explanation().endswith("any other way that data take between ranks.")
    assert not run.fixes
