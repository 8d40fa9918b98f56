"""Who waits for whom: the ranks that can never go on, and the shortest cycles among them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from ...rank_engine.execute import RankWait


def find_deadlocked(waits: Sequence[RankWait]) -> frozenset[int]:
    """The ranks that nothing can release.

    A rank that waits for all of its peers is released when all are, one that waits for any when one is; what is left
    when no more can be released is deadlocked (Hilbrich et al., "A graph based approach for MPI deadlock detection",
    ICS 2009).

    Args:
        waits: where ranks wait.

    Returns:
        Their numbers.
    """
    left = {wait.rank: wait for wait in waits}
    while True:
        released = [wait.rank for wait in left.values() if _is_released(wait, left)]
        if not released:
            return frozenset(left)
        for rank in released:
            del left[rank]


def _is_released(wait: RankWait, left: Mapping[int, RankWait]) -> bool:
    free = [peer not in left and peer not in wait.ended for peer in wait.peers]
    if not free:
        return False
    if wait.is_any:
        return any(free)
    return all(free)


def find_cycles(waits: Sequence[RankWait]) -> list[tuple[int, ...]]:
    """The shortest cycles of ranks that wait for one another, those that share no rank.

    Args:
        waits: where ranks wait.

    Returns:
        Cycles, the shortest first, each from its lowest rank on; empty where a rank waits for one that has ended.

    Examples:
        >>> from collsim.rank_engine.execute import RankWait
        >>> waits = [RankWait(r, "send", 3, ((r + 1) % 3,), False, (), ()) for r in range(3)]
        >>> find_cycles(waits)
        [(0, 1, 2)]
    """
    stuck = find_deadlocked(waits)
    edges = {wait.rank: [peer for peer in wait.peers if peer in stuck] for wait in waits if wait.rank in stuck}
    cycles = {cycle for rank in edges if (cycle := _find_shortest_cycle(edges, rank))}
    disjoint: list[tuple[int, ...]] = []
    for cycle in sorted(cycles, key=lambda ranks: (len(ranks), ranks)):
        if not any(set(cycle) & set(cycle_before) for cycle_before in disjoint):
            disjoint.append(cycle)
    return disjoint


def _find_shortest_cycle(edges: Mapping[int, Sequence[int]], start: int) -> tuple[int, ...]:
    """The shortest way from a rank back to it, from its lowest rank on; empty where there is none."""
    previous: dict[int, int] = {}
    pending = deque([start])
    while pending:
        rank = pending.popleft()
        # Breadth first, so that the first way back to the start is a shortest one.
        for peer in edges.get(rank, ()):
            if peer == start:
                path = [rank]
                while path[-1] != start:
                    path.append(previous[path[-1]])
                path.reverse()
                lowest = path.index(min(path))
                return tuple(path[lowest:] + path[:lowest])
            if peer not in previous:
                previous[peer] = rank
                pending.append(peer)
    return ()
