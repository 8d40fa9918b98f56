"""Few steps or few bytes: recursive doubling, trees, and trees that are pipelined and doubled."""

from __future__ import annotations

from ..lesson import Lesson, RunFacts, Section, build_facts, build_switch, choice, format_ratio, simulate_algorithm

_RING, _TREE, _DOUBLING = "allreduce_ring", "allreduce_tree", "allreduce_recursive_doubling"


def _build_latency_facts() -> RunFacts:
    small, fast = (simulate_algorithm(name, build_switch(), "1KiB") for name in (_RING, _DOUBLING))
    big, slow = (simulate_algorithm(name, build_switch()) for name in (_RING, _DOUBLING))
    gains, loses = format_ratio(small, fast), format_ratio(slow, big)
    return build_facts(fast, ring=small, doubling=fast, ring_big=big, doubling_big=slow, gains=gains, loses=loses)


def _build_tree_facts() -> RunFacts:
    ring, tree = (simulate_algorithm(name, build_switch(8), "1KiB") for name in (_RING, _TREE))
    ring64, tree64 = (simulate_algorithm(name, build_switch(64), "1KiB") for name in (_RING, _TREE))
    ring_big, tree_big = (simulate_algorithm(name, build_switch(8)) for name in (_RING, _TREE))
    gained = (ring64.schedule.steps - ring.schedule.steps) / (ring64.schedule.ranks - ring.schedule.ranks)
    return build_facts(
        tree,
        ring=ring,
        tree=tree,
        ring64=ring64,
        tree64=tree64,
        ring_big=ring_big,
        tree_big=tree_big,
        gained=f"{gained:g}",
        faster=format_ratio(ring, tree),
        faster64=format_ratio(ring64, tree64),
    )


def _build_pipeline_facts() -> RunFacts:
    tree, double_tree = (
        simulate_algorithm(name, build_switch(), chunks=16) for name in (_TREE, "allreduce_double_binary_tree")
    )
    least = tree.sent_bytes.min() / tree.nbytes
    return build_facts(double_tree, one=tree, two=double_tree, leaf=f"{least:.4g}")


LESSON = Lesson(
    title=("Latency against bandwidth", "延迟与带宽"),
    notebook="04-latency-and-bandwidth",
    exercises=("broadcast-tree", "recursive-doubling", "halving-doubling", "pipelined-chain"),
    sections=(
        Section(
            "latency",
            _build_latency_facts,
            title=("Few steps or few bytes", "步数少，还是字节少"),
            before=(
                (
                    "For {ring.size} the ring needs {ring.time}: {ring.steps} steps, each with its latency. Recursive "
                    "doubling has {doubling.steps} steps and takes {doubling.time}.",
                    "传 {ring.size} 时，ring 需要 {ring.time}：{ring.steps} 步，每步都要付延迟。递归倍增只有 "
                    "{doubling.steps} 步，耗时 {doubling.time}。",
                ),
            ),
            ask=("The same two for {ring_big.size}: which is faster?", "换成 {ring_big.size}，哪一个更快？"),
            choices=(
                choice(
                    (
                        "Recursive doubling, {gains} times as fast, as for {ring.size}",
                        "递归倍增，速度是 ring 的 {gains} 倍，与 {ring.size} 时一样",
                    ),
                    (
                        "Fewer steps save latency, and for this size latency is hardly any of the time.",
                        "步数少省的是延迟，而数据这么大时，延迟几乎不占时间。",
                    ),
                ),
                choice(
                    ("The ring, {loses} times as fast", "ring，速度是递归倍增的 {loses} 倍"),
                    (
                        "Its busiest rank sends {ring_big.share} buffers, that of recursive doubling "
                        "{doubling_big.share}.",
                        "它最忙的 rank 发送 {ring_big.share} 份数据，递归倍增则是 {doubling_big.share} 份。",
                    ),
                ),
                choice(
                    ("Neither: both have to move the same bytes", "一样快：要搬的字节相同"),
                    (
                        "Both end with the same sums, but they do not send the same bytes on the way.",
                        "两者得到的和相同，但途中发送的字节不同。",
                    ),
                ),
            ),
            right=1,
            explanation=(
                "The ring takes {ring_big.time}, recursive doubling {doubling_big.time}.",
                "ring 需 {ring_big.time}，递归倍增需 {doubling_big.time}。",
            ),
            after=(
                (
                    "Recursive doubling sends the whole buffer in every step, so for large buffers it loses. Try "
                    "other sizes in the app or in a notebook.",
                    "递归倍增每一步都发送整个缓冲区，所以数据大时就输了。可以在应用或 notebook 中试试其他大小。",
                ),
            ),
            view="logical",
        ),
        Section(
            "trees",
            _build_tree_facts,
            title=("Trees and latency", "树与延迟"),
            before=(
                (
                    "For {ring.size} and {ring.ranks} ranks the ring has {ring.steps} steps and takes {ring.time}; a "
                    "tree goes up and down in {tree.steps} and takes {tree.time}.",
                    "{ring.ranks} 个 rank 传 {ring.size} 时，ring 有 {ring.steps} 步，需 {ring.time}；树一上一下共 "
                    "{tree.steps} 步，需 {tree.time}。",
                ),
            ),
            ask=(
                "With {ring64.ranks} ranks and {ring64.size}, how much faster is the tree than the ring?",
                "{ring64.ranks} 个 rank、{ring64.size}：树比 ring 快多少？",
            ),
            choices=(
                choice(
                    (
                        "{faster} times, as with {ring.ranks} ranks",
                        "{faster} 倍，与 {ring.ranks} 个 rank 时相同",
                    ),
                    (
                        "The ring gains {gained} steps with every rank, the tree hardly any.",
                        "每多一个 rank，ring 多 {gained} 步，树几乎不增加。",
                    ),
                ),
                choice(
                    ("{faster64} times", "{faster64} 倍"),
                    (
                        "For so few bytes almost all of the time is steps times latency.",
                        "字节这么少时，时间几乎全是步数乘以延迟。",
                    ),
                ),
                choice(
                    ("{ring64.ranks} times", "{ring64.ranks} 倍"),
                    (
                        "A tree is not one step: it has to climb up and down again.",
                        "树不是一步完成：要先上去再下来。",
                    ),
                ),
            ),
            right=1,
            explanation=(
                "The ring takes {ring64.steps} steps, {ring64.time}; the tree {tree64.steps}, {tree64.time}. Steps of "
                "a ring grow with n, of a tree with its depth, log n.",
                "ring 要 {ring64.steps} 步、{ring64.time}；树要 {tree64.steps} 步、{tree64.time}。ring 的步数随 n 增"
                "长，树的步数随深度即 log n 增长。",
            ),
            after=(
                (
                    "For {ring_big.size} it is the other way round: the ring takes {ring_big.time}, this tree, which "
                    "sends the buffer whole, {tree_big.time}. Pipelining mends that: it is cut into chunks that follow "
                    "one another.",
                    "传 {ring_big.size} 时正相反：ring 需 {ring_big.time}，而整块发送的树需 {tree_big.time}。"
                    "流水线可以弥补：切成多个 chunk，一个接一个地走。",
                ),
            ),
            view="logical",
        ),
        Section(
            "pipelined",
            _build_pipeline_facts,
            title=("Trees, pipelined and doubled", "树：流水线与双树"),
            before=(
                (
                    "In one tree a leaf sends everything once, an inner rank once to its parent and once more to each "
                    "of its children: {one.time} with {one.chunks} chunks.",
                    "单棵树中，叶子把所有数据发一遍，内部 rank 向父结点发一遍，再向每个子结点各发一遍："
                    "切成 {one.chunks} 个 chunk 时耗时 {one.time}。",
                ),
            ),
            ask=(
                "Two trees, each with half of the data: how much does the busiest rank send?",
                "用两棵树各传一半数据：最忙的 rank 发送多少？",
            ),
            choices=(
                choice(
                    ("{one.share} buffers, as in one tree", "{one.share} 份数据，与单棵树一样"),
                    (
                        "It would be so if the same ranks were inner ranks in both trees; they are chosen apart.",
                        "如果两棵树的内部 rank 是同一批就会这样；但它们是错开选的。",
                    ),
                ),
                choice(
                    ("{two.share} buffers", "{two.share} 份数据"),
                    (
                        "Who is an inner rank in one tree is a leaf in the other.",
                        "在一棵树里是内部 rank 的，在另一棵里就是叶子。",
                    ),
                ),
                choice(
                    ("{leaf} buffer, like a leaf", "{leaf} 份数据，与叶子一样"),
                    (
                        "Every sum has to be handed down again, and somebody has to send it.",
                        "每个和还要再传下去，总得有人发送。",
                    ),
                ),
            ),
            right=1,
            explanation=(
                "At most {two.share} buffers instead of {one.share}.",
                "最多 {two.share} 份，而不是 {one.share} 份。",
            ),
            after=(
                (
                    "Two trees, each with half of the data, share that out: {two.time} instead of {one.time}.",
                    "用两棵树各传一半数据来分摊：{two.time}，而不是 {one.time}。",
                ),
            ),
            view="logical",
        ),
    ),
)
