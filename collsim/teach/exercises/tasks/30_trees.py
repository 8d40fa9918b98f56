"""Fewer steps: trees, halving and doubling, and pipelines."""

from __future__ import annotations

from .task import NEXT, POWER_OF_TWO, Task


def round_up_log2(n: int) -> int:
    """The smallest k with 2^k >= n."""
    return (n - 1).bit_length()


_POWERS = (2, 4, 8, 16, 32)

TASKS = (
    Task(
        name="broadcast-tree",
        collective="broadcast",
        title=("Broadcast along a tree", "沿树广播"),
        ask=(
            "Whoever has the data helps to spread them: broadcast from rank 0 in as few steps as doubling allows, "
            "each rank sending to at most one other in a step.",
            "已经拿到数据的 rank 都帮忙传播：从 rank 0 广播，用倍增所能达到的最少步数，每个 rank "
            "每步最多发给一个对象。",
        ),
        hints=(
            ("After k steps, 2^k ranks can have the data.", "k 步之后，最多可有 2^k 个 rank 拿到数据。"),
            (
                "In the step with distance d = 1, 2, 4, ... ranks 0..d-1 send to d..2d-1.",
                "距离 d = 1, 2, 4, ... 的那一步，rank 0..d-1 发给 d..2d-1。",
            ),
            (
                "d = 1; while d < n: r = np.arange(min(d, n - d)); yield cs.copy(r, r + d, chunk=0); d *= 2",
                "d = 1；while d < n: r = np.arange(min(d, n - d)); yield cs.copy(r, r + d, chunk=0); d *= 2",
            ),
        ),
        steps=round_up_log2,
        one_peer=True,
    ),
    Task(
        name="recursive-doubling",
        collective="allreduce",
        title=("Recursive doubling", "递归倍增"),
        ask=(
            "For powers of two: allreduce the whole buffer in log2(n) steps by exchanging with the partner at "
            "distance 1, 2, 4, ...",
            "对 2 的幂：与距离为 1、2、4、… 的伙伴交换整个缓冲区，用 log2(n) 步完成 allreduce。",
        ),
        hints=(
            ("In every step the ranks form pairs, and both of a pair send.", "每一步里 rank 两两成对，双方都发送。"),
            ("The partner of r at distance d is r ^ d (exclusive or).", "距离 d 上 r 的伙伴是 r ^ d（异或）。"),
            (
                "for d = 1, 2, 4, ... below n: yield cs.reduce(r, r ^ d, chunk=0)",
                "对小于 n 的 d = 1, 2, 4, ...：yield cs.reduce(r, r ^ d, chunk=0)",
            ),
        ),
        ranks=_POWERS,
        partners=POWER_OF_TWO,
        steps=round_up_log2,
        nbytes="1KiB",
    ),
    Task(
        name="halving-doubling",
        collective="allreduce",
        title=("Halve, then double", "先减半，再倍增"),
        ask=(
            "For powers of two: few steps like recursive doubling, few bytes like the ring. 2 log2(n) steps, "
            "2(n-1)/n buffers.",
            "对 2 的幂：像递归倍增一样步数少，又像 ring 一样字节少。共 2·log2(n) 步，每个 rank 发送 2(n-1)/n 份数据。",
        ),
        hints=(
            (
                "Reduce-scatter by halving: in the first step each rank sends half of its buffer to its partner, "
                "then a quarter, ...",
                "用减半做 reduce-scatter：第一步把缓冲区的一半发给伙伴，下一步四分之一，依次类推。",
            ),
            (
                "With distance d = n/2, n/4, ..., 1: rank r sends to r ^ d those chunks c that agree with its "
                "partner in all bits >= d.",
                "距离 d = n/2, n/4, ..., 1：rank r 把那些在所有 >= d 的位上与伙伴编号一致的 chunk c 发给 r ^ d。",
            ),
            (
                "For each d: r, c = np.nonzero((np.arange(n)[:, None] ^ d) // d == np.arange(n) // d); yield "
                "cs.reduce(r, r ^ d, chunk=c). Then d upwards with copies of the chunks c // d == r // d",
                "对每个 d：r, c = np.nonzero((np.arange(n)[:, None] ^ d) // d == np.arange(n) // d)；yield "
                "cs.reduce(r, r ^ d, chunk=c)。之后 d 从小到大，copy 满足 c // d == r // d 的 chunk",
            ),
        ),
        ranks=_POWERS,
        partners=POWER_OF_TWO,
        steps=lambda n: 2 * round_up_log2(n),
        sent=lambda n: 2 * (n - 1) / n,
    ),
    Task(
        name="pipelined-chain",
        collective="broadcast",
        title=("Pipeline a chain", "流水线链式广播"),
        ask=(
            "A chain 0 → 1 → 2 → ... is slow for one piece and nearly perfect for many. Cut the buffer into pieces "
            "and keep every rank busy.",
            "链 0 → 1 → 2 → … 传一整块很慢，切成许多块却近乎完美。把数据切块，让每个 rank 都忙起来。",
        ),
        hints=(
            (
                "While rank 1 passes piece 0 on, rank 0 can already send piece 1.",
                "rank 1 转发第 0 块时，rank 0 已经可以发送第 1 块。",
            ),
            (
                "In step t rank r sends piece t - r, if there is such a piece. With p pieces that makes n - 1 + p - "
                "1 steps.",
                "第 t 步 rank r 发送第 t - r 块（如果存在）。p 块共需 n - 1 + p - 1 步。",
            ),
            (
                "p = 64; for t in range(n + p - 2): r = np.arange(n - 1); r = r[(t - r >= 0) & (t - r < p)]; yield "
                "cs.copy(r, r + 1, chunk=t - r)",
                "p = 64；for t in range(n + p - 2): r = np.arange(n - 1); r = r[(t - r >= 0) & (t - r < p)]; yield "
                "cs.copy(r, r + 1, chunk=t - r)",
            ),
        ),
        partners=NEXT,
        within=1.2,
    ),
    Task(
        name="alltoall-pairwise",
        collective="alltoall",
        title=("Alltoall without collisions", "无冲突的 alltoall"),
        ask=(
            "Rank r holds n blocks, one for each rank; its result goes to slots n..2n-1, block from rank j into "
            "slot n + j. In every step each rank sends one block and receives one.",
            "rank r 持有 n 个块，分别属于各个 rank；结果放在槽位 n..2n-1，来自 rank j 的块放进 n + j。每一步每个 "
            "rank 只发一块、收一块。",
        ),
        hints=(
            ("In step k everybody sends to the rank k places on.", "第 k 步，每个人都发给往后数第 k 个 rank。"),
            (
                "The block for rank d is chunk d; it goes into slot n + r at rank d, where r is the sender. Do not "
                "forget your own block.",
                "给 rank d 的块是 chunk d；它在 rank d 上放进槽位 n + r，r 是发送者。别忘了自己的那一块。",
            ),
            (
                "for k in range(n): d = (r + k) % n; yield cs.copy(r, d, chunk=d, into=n + r)",
                "for k in range(n): d = (r + k) % n; yield cs.copy(r, d, chunk=d, into=n + r)",
            ),
        ),
        sent=lambda n: (n - 1) / n,
        steps=lambda n: n,
        one_peer=True,
        within=1.1,
    ),
)
