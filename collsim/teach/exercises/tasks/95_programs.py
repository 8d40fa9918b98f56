"""Rank programs: make one hang, make one right, and make one that sends no more than a ring has to."""

from __future__ import annotations

from .program_task import ProgramTask

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
    ProgramTask(
        "make-it-hang",
        title=("Make it hang", "让它挂起"),
        ask=(
            "This allreduce is right: isend begins the message, then each rank receives, then it waits. Change as "
            "little as you can so that it hangs with every number of ranks, all of them in one cycle.",
            "这个 allreduce 是正确的：isend 开始发送，然后接收，最后等待。请作尽量小的改动，使它在任何 rank 数下"
            "都挂起，并且所有 rank 在同一个环里。",
        ),
        hints=(
            ("Who has to act before request.wait() returns?", "request.wait() 要等谁先行动才会返回？"),
            (
                "The wait ends when the right neighbour has received. Where does it stand so that nobody gets to the "
                "receive?",
                "右邻居接收之后 wait 才结束。把它放在哪里，就没有人走得到接收？",
            ),
            ("Put request.wait() before dist.recv.", "把 request.wait() 放到 dist.recv 之前。"),
        ),
        starter=_HEAD.format(name="make_it_hang") + _WITHOUT_WAITING,
        verdict="hangs",
    ),
    ProgramTask(
        "make-it-right",
        title=("Make it right", "让它正确"),
        ask=(
            "This program hangs: all ranks send first. Repair it with sends and receives, so that every rank has the "
            "sum, with 2 to 8 ranks.",
            "这个程序会挂起：所有 rank 都先发送。请用发送和接收修复它，使 2 到 8 个 rank 时每个 rank 都得到总和。",
        ),
        hints=(
            ("Who receives while all send?", "大家都在发送时，谁来接收？"),
            (
                "Either one call must not wait, or some ranks take the two calls in the other order. Mind odd numbers "
                "of ranks.",
                "要么让一个调用不等待，要么让一部分 rank 交换两个调用的顺序。注意 rank 数为奇数的情况。",
            ),
            (
                "request = dist.isend(part, right), then dist.recv(got, left), then request.wait().",
                "先 request = dist.isend(part, right)，再 dist.recv(got, left)，最后 request.wait()。",
            ),
        ),
        starter=_HEAD.format(name="make_it_right") + _SEND_FIRST,
    ),
    ProgramTask(
        "one-and-a-half-buffers",
        title=("At most 1.5 buffers", "最多 1.5 个缓冲区"),
        ask=(
            "This ring is right, but every rank sends n − 1 whole buffers: 3 with 4 ranks. Write one in which no rank "
            "sends more than 2 (n − 1) / n buffers: 1.5 with 4 ranks, and never 2.",
            "这个环是正确的，但每个 rank 发送 n − 1 个完整缓冲区：4 个 rank 时是 3 个。请写一个程序，使每个 rank 发送"
            "不超过 2 (n − 1) / n 个缓冲区：4 个 rank 时是 1.5 个，永远小于 2 个。",
        ),
        hints=(
            (
                "Cut the buffer into n parts; a rank passes on one part in each step.",
                "把缓冲区切成 n 份；每一步一个 rank 只传一份。",
            ),
            (
                "First every part is added up on its way around (n − 1 steps), then the sums go around (n − 1 steps).",
                "先让每一份绕环累加（n − 1 步），再让总和绕环传递（n − 1 步）。",
            ),
            (
                "parts = list(recv.chunk(size)); in step k send part (rank − k) % size and add to part "
                "(rank − k − 1) % size; then send part (rank + 1 − k) % size and receive part (rank − k) % size.",
                "parts = list(recv.chunk(size))；第 k 步发送第 (rank − k) % size 份，累加到第 (rank − k − 1) % size "
                "份；然后发送第 (rank + 1 − k) % size 份，接收第 (rank − k) % size 份。",
            ),
        ),
        starter=_HEAD.format(name="one_and_a_half_buffers") + _WITHOUT_WAITING,
        sent=lambda n: 2 * (n - 1) / n,
    ),
)
