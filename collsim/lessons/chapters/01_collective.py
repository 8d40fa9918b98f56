"""Who has what before and after, and what for. Facts about PyTorch: version 2.13, docs/source/distributed.md."""

from __future__ import annotations

from ...topology import ring
from ..lesson import Lesson, RunFacts, Section, build_facts, choice, simulate_algorithm


def _build_collective_facts() -> RunFacts:
    t = simulate_algorithm("allreduce_ring", ring(4, bandwidth="25GB/s", alpha="1us"))
    return build_facts(t, t=t)


LESSON = Lesson(
    title=("What a collective is", "什么是集合通信"),
    notebook="01-what-is-a-collective",
    exercises=("send-one-chunk", "broadcast-to-all", "scatter-blocks"),
    sources={"25": "MiB: bucket_cap_mb of DistributedDataParallel, PyTorch 2.13, torch/nn/parallel/distributed.py"},
    sections=(
        Section(
            "collective",
            _build_collective_facts,
            before=(
                (
                    "{t.ranks} ranks each hold {t.size}. After an allreduce every rank holds the sum. Nothing else is "
                    "promised: how the data get there is the algorithm's business.",
                    "{t.ranks} 个 rank 各持有 {t.size}。allreduce 之后，每个 rank 都持有总和。除此之外没有任何承诺："
                    "数据怎么走是算法的事。",
                ),
                (
                    "Data parallel training gives each of {t.ranks} ranks a copy of the model and a share of the "
                    "batch. Each computes gradients from its own share; an allreduce and a division make the mean of "
                    "the {t.ranks}, by which the copies step.",
                    "数据并行训练让 {t.ranks} 个 rank 各持有一份模型和批次的一部分。每个 rank 用自己那部分算出梯度；"
                    "一次 allreduce 再加一次除法得到 {t.ranks} 份的平均值，各份模型按它更新。",
                ),
                (
                    "Here a ring does it: the buffer is cut into {t.chunks} chunks, which move in {t.steps} steps. "
                    "Press play, or step with the arrow keys. A square adds on arrival, a circle replaces.",
                    "这里用 ring 来做：缓冲区切成 {t.chunks} 个 chunk，分 {t.steps} 步移动。按播放键，"
                    "或用方向键逐步看。方块到达后相加，圆点到达后覆盖。",
                ),
            ),
            ask=(
                "One rank skips the averaging and steps by its own gradient. What follows?",
                "如果一个 rank 跳过平均，按自己的梯度更新，会怎样？",
            ),
            choices=(
                choice(
                    ("Its copy differs from the others from then on.", "它的模型从此与其他的不同。"),
                    (
                        "The copies began equal, and only equal steps keep them equal.",
                        "各份模型起初相同，只有更新相同才能一直相同。",
                    ),
                ),
                choice(
                    ("Nothing: it only learns a little slower.", "没什么，只是学得慢一点。"),
                    (
                        "Nothing corrects the copy later: parameters are not sent again.",
                        "之后没有什么会纠正它：参数不会再发送。",
                    ),
                ),
                choice(
                    ("The others wait for it and catch up in the next step.", "其他 rank 会等它，并在下一步赶上。"),
                    (
                        "They would wait in the allreduce without end; a collective needs every rank.",
                        "它们会在 allreduce 中一直等下去：集合通信需要所有 rank 参加。",
                    ),
                ),
            ),
            right=0,
            explanation=(
                "The sum of {t.ranks} gradients, divided by {t.ranks}, is the gradient of the whole batch, and the "
                "same number on every rank, so equal copies stay equal.",
                "{t.ranks} 份梯度之和除以 {t.ranks}，就是整个批次的梯度，在每个 rank 上都是同一个数，所以相同的模型始终"
                "保持相同。",
            ),
            after=(
                (
                    "In PyTorch DistributedDataParallel does this, in buckets of about 25 MiB, while the backward pass "
                    "still runs. By hand it is all_reduce(p.grad) and a division by the world size; there is no "
                    "dist.reduce_grad().",
                    "在 PyTorch 中由 DistributedDataParallel 完成：按约 25 MiB 的桶，与反向传播重叠进行。"
                    "手写则是对每个 p.grad 调用 all_reduce，再除以 world size；并不存在 dist.reduce_grad()。",
                ),
            ),
            view="logical",
        ),
    ),
)
