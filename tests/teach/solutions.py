"""One right answer to every exercise, and answers that look right and are not."""

import numpy as np

import collsim as cs
from collsim.teach import exercise


def send_one_chunk(n):
    yield cs.copy(0, 1, chunk=0)


def broadcast_to_all(n):
    yield cs.copy(0, np.arange(1, n), chunk=0)


def reduce_to_root(n):
    for r in range(1, n):
        yield cs.reduce(r, 0, chunk=0)


def scatter_blocks(n):
    r = np.arange(1, n)
    yield cs.copy(0, r, chunk=r)


def parameter_server(n):
    w = np.arange(1, n)
    yield cs.reduce(w, 0, chunk=0)
    yield cs.copy(0, w, chunk=0)


def sharded_server(n):
    s, d = np.nonzero(~np.eye(n, dtype=bool))
    yield cs.reduce(s, d, chunk=d)
    yield cs.copy(s, d, chunk=s)


def ring_reduce_scatter(n):
    r = np.arange(n)
    for k in range(n - 1):
        yield cs.reduce(r, (r + 1) % n, chunk=(r - k - 1) % n)


def ring_allgather(n):
    r = np.arange(n)
    for k in range(n - 1):
        yield cs.copy(r, (r + 1) % n, chunk=(r - k) % n)


def ring_allreduce(n):
    r = np.arange(n)
    for k in range(n - 1):
        yield cs.reduce(r, (r + 1) % n, chunk=(r - k) % n)
    for k in range(n - 1):
        yield cs.copy(r, (r + 1) % n, chunk=(r + 1 - k) % n)


fix_the_sketch = ring_allreduce


def both_directions(n):
    r = np.arange(n)
    for k in range(n - 1):
        yield [cs.reduce(r, (r + 1) % n, chunk=(r - k) % n), cs.reduce(r, (r - 1) % n, chunk=n + (r + k) % n)]
    for k in range(n - 1):
        yield [cs.copy(r, (r + 1) % n, chunk=(r + 1 - k) % n), cs.copy(r, (r - 1) % n, chunk=n + (r - 1 + k) % n)]


def broadcast_tree(n):
    d = 1
    while d < n:
        r = np.arange(min(d, n - d))
        yield cs.copy(r, r + d, chunk=0)
        d *= 2


def recursive_doubling(n):
    r, d = np.arange(n), 1
    while d < n:
        yield cs.reduce(r, r ^ d, chunk=0)
        d *= 2


def halving_doubling(n):
    everyone, distances = np.arange(n), [1 << k for k in range((n - 1).bit_length())]
    for d in reversed(distances):
        r, c = np.nonzero((everyone[:, None] ^ d) // d == everyone // d)
        yield cs.reduce(r, r ^ d, chunk=c)
    for d in distances:
        r, c = np.nonzero(everyone[:, None] // d == everyone // d)
        yield cs.copy(r, r ^ d, chunk=c)


def pipelined_chain(n):
    p = 128
    for t in range(n + p - 2):
        r = np.arange(n - 1)
        r = r[(t - r >= 0) & (t - r < p)]
        yield cs.copy(r, r + 1, chunk=t - r)


def alltoall_pairwise(n):
    r = np.arange(n)
    for k in range(n):
        d = (r + k) % n
        yield cs.copy(r, d, chunk=d, into=n + r)


def dgx_1_allgather(n):
    orders = cs.machine("dgx-1v").orders
    for k in range(n - 1):
        rings = [np.asarray(o) for o in orders[:6]]
        yield [cs.copy(o, np.roll(o, -1), chunk=np.roll(o, k) * 6 + j, channel=j) for j, o in enumerate(rings)]


def hierarchical_2x8(n):
    parts, rounds = 32, list(_rounds(n))
    for t in range(parts + len(rounds) - 1):
        yield [
            maker(src, dst, chunk + 16 * c)
            for c in range(parts)
            if 0 <= t - c < len(rounds)
            for maker, src, dst, chunk in [rounds[t - c]]
        ]


def _rounds(n):
    r = np.arange(n)
    node, local, other = r // 8, r % 8, (r + 8) % 16
    s, d = np.nonzero((node[:, None] == node) & (r[:, None] != r))
    s, d, half = np.repeat(s, 2), np.repeat(d, 2), np.tile([0, 1], len(s))
    yield cs.reduce, s, d, 2 * (d % 8) + half
    yield cs.reduce, r, other, 2 * local + (1 - node)
    yield cs.copy, r, other, 2 * local + node
    yield cs.copy, s, d, 2 * (s % 8) + half


def around_the_slow_cable(n):
    p = 64
    for t in range(n + p - 2):
        k = np.arange(n - 1)
        k = k[(t - k >= 0) & (t - k < p)]
        yield cs.copy(-k % n, (-k - 1) % n, chunk=t - k)


def beat_the_ring(n):
    r = np.arange(n)
    yield [cs.copy(r, (r + d) % n, chunk=r) for d in (1, -1, n // 2)]
    yield [cs.copy(r, (r + d) % n, chunk=(r - d) % n) for d in (1, -1)]


def solution(name):
    """A right answer: one of these, or the one that the exercise brings along."""
    called, answer = name.replace("-", "_"), exercise(name).task.answer
    if not answer:
        return globals()[called]
    namespace = {"cs": cs, "np": np}
    exec(answer, namespace)
    return namespace[called]


#: Rank programs: answers by exercise, and what looks like one and is none, with what is said of it.
PROGRAM_ANSWERS = {
    "make-it-hang": """import torch.distributed as dist

def make_it_hang(send, recv):
    rank, size = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    part, got = send.clone(), send.clone()
    recv[:] = send
    for _ in range(size - 1):
        request = dist.isend(part, right)
        request.wait()
        dist.recv(got, left)
        recv += got
        part, got = got, part
""",
    "make-it-right": """from mpi4py import MPI
import numpy as np

def make_it_right(comm, send, recv):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    part, got = send.copy(), np.empty_like(send)
    recv[:] = send
    for _ in range(comm.size - 1):
        comm.Sendrecv(part, dest=right, recvbuf=got, source=left)
        recv += got
        part, got = got, part
""",
    "one-and-a-half-buffers": """import torch.distributed as dist

def one_and_a_half_buffers(send, recv):
    rank, size = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    recv[:] = send
    parts = list(recv.chunk(size))
    for k in range(size - 1):
        request = dist.isend(parts[(rank - k) % size], right)
        got = parts[(rank - k - 1) % size].clone()
        dist.recv(got, left)
        request.wait()
        parts[(rank - k - 1) % size] += got
    for k in range(size - 1):
        request = dist.isend(parts[(rank + 1 - k) % size], right)
        dist.recv(parts[(rank - k) % size], left)
        request.wait()
""",
}
