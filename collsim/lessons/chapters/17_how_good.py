"""How good can it be: the narrowest cut, trees packed up to it by hand, and the same found by a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import networkx as nx

from ...schedule import Schedule, freeze
from ...simulate import Trace
from ...steps import Step, copy
from ...synthesis import synthesize
from ...topology import Topology
from ...units import format_bandwidth, format_time, parse_bandwidth
from ..lesson import Lesson, RunFacts, Section, build_facts, choice, simulate_algorithm, simulate_schedule

_CABLES = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2))
_RATE, _PIECES = "25GB/s", 32
#: Two trees that together use no cable twice in the same direction: (from, to, links from the root to `from`).
Tree = tuple[tuple[int, int, int], ...]
_FIRST: Tree = ((0, 2, 0), (2, 1, 1), (2, 3, 1))
_SECOND: Tree = ((0, 1, 0), (0, 3, 0), (1, 2, 1))


@cache
def _build_graph() -> Topology:
    """A square and one of its diagonals."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_edges_from(_CABLES, bandwidth=_RATE, alpha="1us")
    return Topology.from_networkx(graph, "square with a diagonal")


def _pack_trees(trees: Sequence[Tree], pieces: int) -> Schedule:
    """Each tree carries its share of the buffer, in pieces that follow one another."""

    def steps() -> Iterator[list[Step]]:
        for piece in range(pieces + 1):
            yield [
                copy(src, dst, chunk=share * pieces + piece - level)
                for share, tree in enumerate(trees)
                for src, dst, level in tree
                if 0 <= piece - level < pieces
            ]

    return freeze("trees", "broadcast", 4, steps(), chunks=len(trees) * pieces)


def _run(trees: Sequence[Tree], pieces: int = _PIECES) -> Trace:
    return simulate_schedule(_pack_trees(trees, pieces), _build_graph())


@cache
def _synthesize_schedule() -> Schedule:
    return synthesize("broadcast", _build_graph(), "64MiB")


def _format_tree(tree: Sequence[tuple[int, ...]]) -> str:
    return ", ".join(f"{src} → {dst}" for src, dst, *_ in tree)


def _cut() -> RunFacts:
    chain = simulate_algorithm("broadcast_chain", _build_graph(), chunks=_PIECES)
    cut = chain.bound.cut
    assert cut is not None
    rate = parse_bandwidth(_RATE)
    return build_facts(
        chain,
        chain=chain,
        ranks=chain.schedule.ranks,
        cables=len(_CABLES),
        rate=format_bandwidth(rate),
        bound=format_time(chain.bound.time),
        alone=format_time(chain.nbytes / rate),
        out=sum(0 in cable for cable in _CABLES),
        sends=format_time(chain.nbytes / rate / sum(0 in cable for cable in _CABLES)),
        narrow=len(cut.links),
        wide=format_bandwidth(cut.bandwidth),
        rank=cut.ranks[0],
    )


def _build_tree_facts() -> RunFacts:
    one_tree, two = _run((_FIRST,)), _run((_FIRST, _SECOND))
    rows = tuple(
        (str(pieces), str(t.schedule.steps), format_time(t.time), f"{t.gap:.3g}")
        for pieces, t in ((pieces, _run((_FIRST, _SECOND), pieces)) for pieces in (1, 4, 16, _PIECES, 128))
    )
    return build_facts(
        one_tree,
        rows,
        one=one_tree,
        two=two,
        found=simulate_schedule(_synthesize_schedule(), _build_graph()),
        first=_format_tree(_FIRST),
        second=_format_tree(_SECOND),
        right_round=_format_tree(((0, 1), (1, 2), (2, 3))),
        left_round=_format_tree(((0, 3), (3, 2), (2, 1))),
        clash_right=_format_tree(((2, 3),)),
        clash_left=_format_tree(((2, 1),)),
        pieces=_PIECES,
    )


_CUT = Section(
    "cut",
    _cut,
    title=("The narrowest cut", "最窄的割"),
    before=(
        (
            "{ranks} ranks and {cables} cables of {rate} each way: a square, and one diagonal. Rank 0 broadcasts "
            "{chain.size}. A chain around the square, in {chain.chunks} pieces, takes {chain.time}: the whole buffer "
            "goes over each of its cables. Count the cables at every rank.",
            "{ranks} 个 rank，{cables} 根线缆，每个方向 {rate}：一个正方形加一条对角线。rank 0 广播 {chain.size}。沿正"
            "方形的链切成 {chain.chunks} 块，需 {chain.time}：它的每根线缆都要传整份数据。数一数每个 rank 有几根线缆。",
        ),
    ),
    ask=(
        "How long must it take at least, whatever the schedule?",
        "无论用什么调度，至少需要多久？",
    ),
    choices=(
        choice(
            "{alone}",
            (
                "That is one cable; data may come in over several at once.",
                "那是一根线缆的时间；数据可以同时从几根进来。",
            ),
        ),
        choice(
            "{bound}",
            (
                "All of it has to come into rank {rank}, which has {narrow} cables.",
                "全部数据都要进入 rank {rank}，而它只有 {narrow} 根线缆。",
            ),
        ),
        choice(
            "{sends}",
            (
                "So fast could rank 0 send over its {out} cables; not every rank can take it in.",
                "rank 0 用它的 {out} 根线缆可以发这么快；但不是每个 rank 都收得下。",
            ),
        ),
    ),
    right=1,
    explanation=(
        "Cut the network in two, with rank 0 on one side: what crosses the cut has to go over its cables. The "
        "narrowest cut is around rank {rank}: {wide}.",
        "把网络割成两部分，rank 0 在其中一边：要过去的数据只能走割上的线缆。最窄的割围着 rank {rank}：{wide}。",
    ),
    after=(
        (
            "A cut is a proof: no cleverness gets below it. Whether some schedule reaches it is another question, and "
            "for a broadcast the answer is yes but for latency (Edmonds): as many trees fit as the narrowest cut has "
            "cables.",
            "割是一个证明：再聪明也低不过它。能否达到是另一个问题；对广播来说，除去延迟总能达到（Edmonds）：最窄的割有几根"
            "线缆，就装得下几棵树。",
        ),
    ),
)

_TREES = Section(
    "packing",
    _build_tree_facts,
    title=("Packing trees", "装下多棵树"),
    before=(
        (
            "A tree reaches every rank over as few cables as can be. In the picture one tree carries everything, in "
            "{pieces} pieces that follow one another: {first}. It takes {one.time}, {one.gap} times the bound, and "
            "leaves cables idle. So give half of the buffer to a second tree that uses no cable in a direction in "
            "which the first one does.",
            "一棵树用尽量少的线缆到达每个 rank。图中由一棵树传全部数据，切成前后相接的 {pieces} 块：{first}。它需 "
            "{one.time}，是下界的 {one.gap} 倍，还有线缆空着。那么把一半数据交给第二棵树，它不能在同一方向上使用第一棵"
            "用过的线缆。",
        ),
    ),
    ask=("Which tree is that?", "是哪一棵？"),
    choices=(
        choice(
            "{right_round}",
            (
                "{clash_right} belongs to the first tree.",
                "{clash_right} 已属于第一棵树。",
            ),
        ),
        choice(
            "{second}",
            (
                "It reaches all ranks, and what it uses was idle.",
                "它到达所有 rank，用的都是空闲的方向。",
            ),
        ),
        choice(
            "{left_round}",
            (
                "{clash_left} belongs to the first tree.",
                "{clash_left} 已属于第一棵树。",
            ),
        ),
    ),
    right=1,
    explanation=(
        "With half of the buffer on each tree it takes {two.time}, {two.gap} times the bound: what is left is the last "
        "piece's way down the trees, and latency.",
        "每棵树各传一半，需 {two.time}，是下界的 {two.gap} 倍：剩下的是最后一块沿树往下走的时间，以及延迟。",
    ),
    after=(
        (
            "Few pieces make the trees wait for whole pieces, many pay latency for each: see the table.",
            "块太少，下层要等整块到达；块太多，每块都要付延迟：见下表。",
        ),
        (
            "synthesize does all of it by itself: it looks for the narrowest cut, packs trees, cuts them into "
            "pieces and checks the result. Here it finds {found.time}. In the exercise you beat a ring on another "
            "graph by hand.",
            "synthesize 会自己完成这一切：找最窄的割，装树，切块，再验证结果。这里它找到 {found.time}。练习"
            "则请您在另一张图上亲手超过 ring。",
        ),
    ),
    table=(
        (
            ("pieces of a tree", "每棵树的块数"),
            ("steps", "步数"),
            ("time", "时间"),
            ("of the bound", "是下界的几倍"),
        ),
    ),
)

LESSON = Lesson(
    title=("How good can it be?", "最好能有多好？"),
    notebook="17-how-good-can-it-be",
    exercises=("beat-the-ring",),
    sections=(_CUT, _TREES),
)
