"""What hangs together in a node: parts that cables join, directly or over others."""

from __future__ import annotations

from collections.abc import Iterable


def joined(names: Iterable[str], pairs: Iterable[tuple[str, str]]) -> list[set[str]]:
    """The groups of names that pairs join; a name without a pair is a group of its own."""
    near: dict[str, set[str]] = {name: set() for name in names}
    for a, b in pairs:
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    found: list[set[str]] = []
    left = set(near)
    while left:
        group, ends = set(), [left.pop()]
        while ends:
            here = ends.pop()
            group.add(here)
            ends += near[here] - group
        found.append(group)
        left -= group
    return found
