"""Rank programs: make one hang, make one right, and make one that sends no more than a ring has to."""

from __future__ import annotations

from ..kinds.program_task import ProgramTask

_HEAD = """import torch.distributed as dist


def {name}(send, recv):
    rank, size = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    part, got = send.clone(), send.clone()
    recv[:] = send
    for _ in range(size - 1):
"""
_WITHOUT_WAITING = """        request = dist.isend(part, right)
        dist.recv(got, left)
        request.wait()
        recv += got
        part, got = got, part
"""
_SEND_FIRST = """        dist.send(part, right)
        dist.recv(got, left)
        recv += got
        part, got = got, part
"""

TASKS = (
    ProgramTask("make-it-hang", starter=_HEAD.format(name="make_it_hang") + _WITHOUT_WAITING, verdict="hangs"),
    ProgramTask("make-it-right", starter=_HEAD.format(name="make_it_right") + _SEND_FIRST),
    ProgramTask(
        "one-and-a-half-buffers",
        starter=_HEAD.format(name="one_and_a_half_buffers") + _WITHOUT_WAITING,
        sent=lambda n: 2 * (n - 1) / n,
    ),
)
