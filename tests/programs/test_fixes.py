"""Fixes of programs that hang are run, keep all other lines, and are right."""

import pytest

import collsim as cs
from collsim.sandbox import Isolation, detect_isolation

pytestmark = pytest.mark.skipif(detect_isolation() is Isolation.NONE, reason="needs a system with a sandbox")

SEND_FIRST = """import torch.distributed as dist

def allreduce(send, recv):
    rank, size = dist.get_rank(), dist.get_world_size()
    buf, got = send.clone(), send.clone()
    recv[:] = send
    for step in range(size - 1):
        dist.send(buf, (rank + 1) % size)  # all at once
        dist.recv(got, (rank - 1) % size)
        recv += got
        buf, got = got, buf
"""
SWAP_OBJECTS = """from mpi4py import MPI
comm = MPI.COMM_WORLD
rank = comm.Get_rank()
comm.ssend([rank] * 3, dest=1 - rank)
result = comm.recv(source=1 - rank)
"""
SWAP_BUFFERS = """from mpi4py import MPI
import numpy as np

def run(comm):
    x, y = np.full(5000, float(comm.rank)), np.empty(5000)
    comm.Recv(y, source=1 - comm.rank)
    comm.Send(x, dest=1 - comm.rank)
    return y[0]
"""
ONE_MISSING = """import torch
import torch.distributed as dist

def run(rank, size):
    x = torch.ones(3)
    if rank > 0:
        dist.all_reduce(x)
    dist.barrier()
    return x[0]
"""
WORDS = "def run(rank, size, send, recv):\n    send((rank + 1) % size, rank)\n    return recv((rank - 1) % size)\n"


def test_a_send_before_a_receive_is_fixed_in_two_ways_and_both_are_right():
    run = cs.program(SEND_FIRST, 4, "allreduce")
    assert run.verdict == "hangs"
    assert [str(fix.label) for fix in run.fixes] == ["isend, then recv", "odd ranks receive first"]
    assert [(fix.verdict, fix.ranks) for fix in run.fixes] == [("right", (2, 3, 4))] * 2
    first = run.fix.source.splitlines()
    assert first[7:10] == [
        "        request = dist.isend(buf, (rank + 1) % size)",
        "        dist.recv(got, (rank - 1) % size)",
        "        request.wait()",
    ]
    before = SEND_FIRST.splitlines()
    assert (first[:7], first[10:]) == (before[:7], before[9:])
    assert run.fixes[0].run.time < run.fixes[1].run.time  # swapped, every second message waits for the one before
    assert cs.program(run.fixes[1].source, 5, "allreduce").verdict == "right"
    assert "isend" in run.fixes[0].label.text("zh")


@pytest.mark.slow
def test_objects_and_buffers_of_mpi_are_exchanged_by_one_call():
    objects = cs.program(SWAP_OBJECTS, 2, expect=lambda rank: [1 - rank] * 3)
    assert objects.verdict == "hangs"
    assert (objects.fix.verdict, str(objects.fix.label)) == ("right", "isend, then recv")
    buffers = cs.program(SWAP_BUFFERS, 2, expect=lambda rank: 1.0 - rank)
    assert str(buffers.fix.label) == "Sendrecv in place of both"
    assert "    comm.Sendrecv(x, dest=1 - comm.rank, recvbuf=y, source=1 - comm.rank)" in buffers.fix.source
    assert {fix.verdict for fix in buffers.fixes} == {"right"}
    assert len(buffers.fixes) >= 2


def test_a_collective_that_one_rank_leaves_out_is_called_by_all():
    run = cs.program(ONE_MISSING, 4, expect=lambda rank: 4.0)
    (fix,) = run.fixes
    assert (fix.verdict, fix.source.splitlines()[5]) == ("right", "    dist.all_reduce(x)")


def test_what_cannot_be_fixed_so_has_no_fix():
    assert cs.program(WORDS, 3).fixes == ()  # `return recv(...)` is no statement that can change places
    run = cs.program("import torch\nimport torch.distributed as dist\ndist.recv(torch.zeros(1), 0)\n", 2)
    assert (run.verdict, run.fix) == ("hangs", None) or run.verdict == "error"
    right = cs.program(SEND_FIRST.replace("dist.send", "w = dist.isend"), 2, "allreduce")
    assert right.fixes == ()


@pytest.mark.slow
def test_a_schedule_is_played_and_what_is_none_says_why():
    fixed = cs.program(SEND_FIRST, 3, "allreduce").fix.run
    assert fixed.animate() is not None
    with pytest.raises(cs.CollsimError, match="cannot be played as a schedule"):
        cs.program(WORDS, 3).animate()
