"""How good can it be: the narrowest cut, trees packed up to it by hand, and the same found by a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from ...errors.dependencies import networkx as nx
from ...schedule import Schedule, freeze
from ...simulate import Trace
from ...steps import Step, copy
from ...synthesis import synthesize
from ...topology import Topology
from ...units import format_bandwidth, format_time, parse_bandwidth
from ..lesson import Lesson, LessonFacts, Section, build_facts, simulate_algorithm, simulate_schedule

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

    def yield_steps() -> Iterator[list[Step]]:
        # The root sends piece k in step k; a rank `level` links away sends on what left the root `level` steps ago.
        for step in range(pieces + 1):
            yield [
                copy(src, dst, chunk=share * pieces + step - level)
                for share, tree in enumerate(trees)
                for src, dst, level in tree
                if 0 <= step - level < pieces
            ]

    return freeze("trees", "broadcast", 4, yield_steps(), chunks=len(trees) * pieces)


def _simulate_trees(trees: Sequence[Tree], pieces: int = _PIECES) -> Trace:
    return simulate_schedule(_pack_trees(trees, pieces), _build_graph())


@cache
def _synthesize_schedule() -> Schedule:
    return synthesize("broadcast", _build_graph(), "64MiB")


def _format_tree(tree: Sequence[tuple[int, ...]]) -> str:
    return ", ".join(f"{src} → {dst}" for src, dst, *_ in tree)


def _build_cut_facts() -> LessonFacts:
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


def _build_tree_facts() -> LessonFacts:
    one_tree, two = _simulate_trees((_FIRST,)), _simulate_trees((_FIRST, _SECOND))
    rows = tuple(
        (str(pieces), str(trace.schedule.steps), format_time(trace.time), f"{trace.gap:.3g}")
        for pieces, trace in (
            (pieces, _simulate_trees((_FIRST, _SECOND), pieces)) for pieces in (1, 4, 16, _PIECES, 128)
        )
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


_CUT = Section("cut", _build_cut_facts, right=1)

_TREES = Section("packing", _build_tree_facts, right=1)

LESSON = Lesson(
    notebook="17-how-good-can-it-be",
    exercises=("beat-the-ring",),
    sections=(_CUT, _TREES),
)
