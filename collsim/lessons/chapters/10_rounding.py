"""Two correct algorithms, two sums: the order of additions in float16."""

from __future__ import annotations

import numpy as np

from ...registry import schedule
from ...replay import replay
from ...simulate import simulate
from ..lesson import Lesson, RunFacts, Section, build_facts, build_switch, choice


def _build_rounding_facts() -> RunFacts:
    n, count = 8, 4096
    ring, tree = (schedule(name, ranks=n) for name in ("allreduce_ring", "allreduce_tree"))
    data = np.random.default_rng(0).standard_normal((n, count)).astype(np.float16)
    by_ring, by_tree = replay(ring, data), replay(tree, data)
    big, unit = np.float16(2048), np.float16(1)
    return build_facts(
        simulate(tree, build_switch(n), "64MiB", dtype="float16"),
        n=n,
        count=f"{count:,}",
        differ=f"{100 * (by_ring[0] != by_tree[0]).mean():.3g}",
        big=f"{big:g}",
        one=f"{unit:g}",
        left=f"{(big + unit) + unit:g}",
        right=f"{big + (unit + unit):g}",
        mean=_average_both_ways(n),
    )


def _average_both_ways(n: int) -> dict[str, str]:
    """Eight times the same number, averaged by dividing late and early."""
    ring, each = schedule("allreduce_ring", ranks=n), np.full((n, n), 20000, np.float16)
    with np.errstate(over="ignore"):
        late = replay(ring, each)[0] / np.float16(n)
    early = replay(ring, each, op="avg")[0]
    return {"each": f"{each[0, 0]:g}", "late": f"{late[0]:g}", "early": f"{early[0]:g}"}


LESSON = Lesson(
    title=("Rounding: ring and tree in float16", "舍入：float16 下的 ring 与 tree"),
    notebook="10-rounding",
    exercises=("recursive-doubling",),
    sections=(
        Section(
            "rounding",
            _build_rounding_facts,
            before=(
                (
                    "A tree and a ring make the same sums of the same numbers, each in an order of its own. The "
                    "picture shows a tree: look who adds what to what.",
                    "树和 ring 对同样的数求同样的和，只是次序各异。图中是一棵树：看看是谁把什么加到了什么上。",
                ),
            ),
            ask=(
                "Ring and tree sum the same {count} random numbers from each of {n} ranks in float16. How many sums "
                "differ?",
                "ring 和树在 float16 下对 {n} 个 rank 的同样 {count} 个随机数求和。有多少个和不同？",
            ),
            choices=(
                choice(
                    "0 %",
                    (
                        "Both are correct, but each rounds after every addition, and they add in another order.",
                        "两者都正确，但每加一次就舍入一次，而次序不同。",
                    ),
                ),
                choice(
                    "{differ} %",
                    (
                        "Neither is wrong: both are off the exact sum by rounding.",
                        "谁都没错：两者与精确和的差别都来自舍入。",
                    ),
                ),
                choice(
                    "100 %",
                    (
                        "Often both orders round to the same number; few digits are left to differ in.",
                        "很多时候两种次序会舍入到同一个数：剩下的位数不多。",
                    ),
                ),
            ),
            right=1,
            explanation=(
                "{differ} % of the sums differ in the last bits.",
                "{differ} % 的和在最后几位上不同。",
            ),
            after=(
                (
                    "Floating-point addition is not associative. In float16 ({big} + {one}) + {one} is {left}, and "
                    "{big} + ({one} + {one}) is {right}: at this size it counts in twos.",
                    "浮点加法不满足结合律。在 float16 中，({big} + {one}) + {one} 等于 {left}，而 {big} + ({one} + "
                    "{one}) 等于 {right}：在这个量级上它以二为单位计数。",
                ),
                (
                    "Within one algorithm all {n} ranks end with the same bits, in the ring as in the tree: each "
                    "chunk is summed once and then copied.",
                    "在同一个算法内，{n} 个 rank 得到的每一位都相同，ring 和树都是如此：每个 chunk 只求和一次，"
                    "之后只是复制。",
                ),
                (
                    "An average is not a sum divided: {n} times {mean[each]} is more than float16 holds. Divided "
                    "afterwards it is {mean[late]}; NCCL's avg scales every contribution first and gives "
                    "{mean[early]}.",
                    "平均值不等于先求和再除：{n} 个 {mean[each]} 相加超出了 float16 的范围。最后再除得到 "
                    "{mean[late]}；NCCL 的 avg 先缩放每一份贡献，得到 {mean[early]}。",
                ),
            ),
            view="logical",
        ),
    ),
)
