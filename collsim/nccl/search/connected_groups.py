"""Groups of devices of a node that cables connect, directly or over others."""

from __future__ import annotations

from collections.abc import Iterable


def find_connected_groups(names: Iterable[str], pairs: Iterable[tuple[str, str]]) -> list[set[str]]:
    """Find the connected components of a graph (the import of networkx takes longer than most predictions).

    Args:
        names: devices that are listed even where they have no cable.
        pairs: two devices that a cable connects.

    Returns:
        The groups; a name without a pair is a group by itself.

    Examples:
        >>> sorted(map(sorted, find_connected_groups(["nic0"], [("gpu0", "gpu1"), ("gpu1", "gpu2")])))
        [['gpu0', 'gpu1', 'gpu2'], ['nic0']]
    """
    neighbours: dict[str, set[str]] = {name: set() for name in names}
    for a, b in pairs:
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    groups: list[set[str]] = []
    unvisited = set(neighbours)
    while unvisited:
        group, frontier = set(), [unvisited.pop()]
        while frontier:
            name = frontier.pop()
            group.add(name)
            frontier += neighbours[name] - group
        groups.append(group)
        unvisited -= group
    return groups
