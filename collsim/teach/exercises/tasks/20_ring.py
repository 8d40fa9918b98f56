"""The ring: its two halves, the whole, a sketch to mend, and both directions."""

from __future__ import annotations

from ....topology import ring
from .task import NEIGHBOURS, RIGHT_NEIGHBOUR, Task

#: Written anew with the mistakes that sketches of the ring in circulation make: a rank adds up its own blocks instead
#: of its neighbours', one step too many, and the second half sends the rank's own block again and again instead of
#: passing on what came.
SKETCH = '''def mend_the_sketch(n):
    """Meant to be reduce-scatter, then allgather. It runs, and it is wrong."""
    r = np.arange(n)
    for k in range(n):                                   # "every rank adds up the blocks"
        other = (r + k + 1) % n
        away = other != r
        yield cs.reduce(r[away], r[away], chunk=other[away], into=r[away])
    for k in range(n - 1):                               # "then the blocks are exchanged"
        yield cs.copy(r, (r + 1) % n, chunk=r)
'''

TASKS = (
    Task(
        name="ring-reduce-scatter",
        collective="reduce_scatter",
        title=("Reduce-scatter around the ring", "环上的 reduce-scatter"),
        ask=(
            "Every rank talks to its right neighbour only. After n-1 steps rank r must hold the finished sum of "
            "chunk r.",
            "每个 rank 只与右邻居通信。n-1 步之后，rank r 必须持有 chunk r 的完整总和。",
        ),
        hints=(
            (
                "Follow one chunk: it leaves one rank, collects a contribution at every rank and must end at the "
                "rank of its own number.",
                "跟踪一个 chunk：它从某个 rank 出发，在每个 rank 累加一份，最后必须停在与其编号相同的 rank 上。",
            ),
            (
                "Chunk c ends at rank c after n-1 hops, so it starts at rank c+1. Which chunk does rank r send in "
                "step 1?",
                "chunk c 经 n-1 跳到达 rank c，所以它从 rank c+1 出发。第 1 步 rank r 应发送哪个 chunk？",
            ),
            (
                "For k in range(n - 1): yield cs.reduce(r, (r + 1) % n, chunk=(r - k - 1) % n)",
                "k 取 range(n - 1)：yield cs.reduce(r, (r + 1) % n, chunk=(r - k - 1) % n)",
            ),
        ),
        partners=RIGHT_NEIGHBOUR,
        steps=lambda n: n - 1,
        sent=lambda n: (n - 1) / n,
        network=lambda n: ring(n, bandwidth="25GB/s", alpha="1us"),
    ),
    Task(
        name="ring-allgather",
        collective="allgather",
        title=("Allgather around the ring", "环上的 allgather"),
        ask=(
            "Rank r holds block r. Every rank talks to its right neighbour only; after n-1 steps all hold all blocks.",
            "rank r 持有块 r。每个 rank 只与右邻居通信；n-1 步之后所有 rank 都有全部的块。",
        ),
        hints=(
            ("Pass on what you received last, not what you had first.", "传递刚收到的块，而不是总发自己原来的块。"),
            (
                "In step 1 rank r sends block r. What did it receive in step 1?",
                "第 1 步 rank r 发送块 r。它在第 1 步收到了哪一块？",
            ),
            (
                "For k in range(n - 1): yield cs.copy(r, (r + 1) % n, chunk=(r - k) % n)",
                "k 取 range(n - 1)：yield cs.copy(r, (r + 1) % n, chunk=(r - k) % n)",
            ),
        ),
        partners=RIGHT_NEIGHBOUR,
        steps=lambda n: n - 1,
        sent=lambda n: (n - 1) / n,
        network=lambda n: ring(n, bandwidth="25GB/s", alpha="1us"),
    ),
    Task(
        name="ring-allreduce",
        collective="allreduce",
        title=("Ring allreduce", "ring allreduce"),
        ask=(
            "Put the two halves together: 2(n-1) steps, and no rank sends more than 2(n-1)/n of its buffer.",
            "把两半合起来：共 2(n-1) 步，每个 rank 发送的数据不超过缓冲区的 2(n-1)/n。",
        ),
        hints=(
            (
                "A reduce-scatter, then an allgather; only the chunk numbers have to fit.",
                "先 reduce-scatter，再 allgather；只需让 chunk 编号衔接上。",
            ),
            (
                "If rank r sends chunks r, r - 1, r - 2 ... in steps 1, 2, 3 ..., which chunk has it finished after "
                "n-1 steps? Start the second half with it.",
                "若 rank r 在第 1、2、3……步发送 chunk r、r - 1、r - 2……，那么 n-1 步后它完成的是哪个 chunk？"
                "后半段就从它开始。",
            ),
            (
                "First half: reduce(r, (r+1)%n, chunk=(r-k)%n); second half: copy(r, (r+1)%n, chunk=(r+1-k)%n); k "
                "in range(n-1) each",
                "前半段：reduce(r, (r+1)%n, chunk=(r-k)%n)；后半段：copy(r, (r+1)%n, chunk=(r+1-k)%n)；k 都取 "
                "range(n-1)",
            ),
        ),
        partners=RIGHT_NEIGHBOUR,
        steps=lambda n: 2 * (n - 1),
        sent=lambda n: 2 * (n - 1) / n,
        network=lambda n: ring(n, bandwidth="25GB/s", alpha="1us"),
    ),
    Task(
        name="mend-the-sketch",
        collective="allreduce",
        title=("Mend the sketch", "修好这份草稿"),
        ask=(
            "The starter calls itself a ring allreduce, runs without an error and is wrong in several ways. Find "
            "out how, and mend it.",
            "给出的草稿自称是 ring allreduce，运行不报错，却错了好几处。找出错误并修好它。",
        ),
        hints=(
            (
                "Print the schedule of the starter for n=3. In the first half, does anything ever leave a rank?",
                "打印 n=3 时草稿的调度。前半段里，有数据离开过任何一个 rank 吗？",
            ),
            (
                "A sum over ranks needs chunk c of every rank, not all chunks of one rank; and n-1 steps are enough "
                "for n-1 neighbours.",
                "跨 rank 的求和要的是每个 rank 的 chunk c，而不是一个 rank 的所有 chunk；n-1 个邻居只需 n-1 步。",
            ),
            (
                "First half: send chunk (r-k)%n to the right and add it there. Second half: pass on what came last, "
                "chunk (r+1-k)%n.",
                "前半段：把 chunk (r-k)%n 发给右邻居并在那里相加。后半段：把最后收到的 chunk (r+1-k)%n 传下去。",
            ),
        ),
        partners=RIGHT_NEIGHBOUR,
        steps=lambda n: 2 * (n - 1),
        sent=lambda n: 2 * (n - 1) / n,
        network=lambda n: ring(n, bandwidth="25GB/s", alpha="1us"),
        starter=SKETCH,
    ),
    Task(
        name="both-directions",
        collective="allreduce",
        title=("Use both directions of the cable", "用上线缆的两个方向"),
        ask=(
            "On a ring of full-duplex cables the ring allreduce leaves half of every cable idle. Use both directions.",
            "在全双工线缆组成的环上，普通 ring allreduce 让每条线缆的一半闲置。请同时使用两个方向。",
        ),
        hints=(
            ("Two rings at once, one to the right and one to the left.", "同时运行两个环，一个向右，一个向左。"),
            (
                "Cut the buffer into 2n chunks: 0..n-1 go right as before, n..2n-1 go left. A list of steps is one "
                "step.",
                "把数据切成 2n 个 chunk：0..n-1 照旧向右，n..2n-1 向左。多个 step 组成的列表就是一步。",
            ),
            (
                "yield [cs.reduce(r, (r+1)%n, chunk=(r-k)%n), cs.reduce(r, (r-1)%n, chunk=n+(r+k)%n)]; the copies "
                "likewise with r+1-k and r-1+k",
                "yield [cs.reduce(r, (r+1)%n, chunk=(r-k)%n), cs.reduce(r, (r-1)%n, chunk=n+(r+k)%n)]；copy 同理，"
                "用 r+1-k 和 r-1+k",
            ),
        ),
        ranks=(3, 4, 5, 6, 7, 8, 12),
        partners=NEIGHBOURS,
        steps=lambda n: 2 * (n - 1),
        network=lambda n: ring(n, bandwidth="25GB/s", alpha="1us"),
        within=1.1,
    ),
)
