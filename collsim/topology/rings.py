"""Ring orders for machines that come without: along NVLinks where they close to a ring, else along the PCIe tree."""

from __future__ import annotations

from .machine_builder import Machine, MachinePaths

#: Paths that are tried: to find such a cycle may take time that grows with n!, and a ring not found costs no more
#: than speed.
_MAX_STEPS = 20_000


def find_rings(machine: Machine) -> list[tuple[int, ...]]:
    """Find the ring orders of a node's ranks, one for each channel; always the same for the same machine.

    With direct NVLinks (or xGMI): rings along them, each using one link of a pair in one direction, as many as are
    found one after the other, both ways round. Otherwise one ring in the order of the PCIe tree, so that neighbours in
    the tree are neighbours in the ring.

    Args:
        machine: one node.
    """
    return _find_link_rings(machine) or [_order_by_tree(machine)]


def _order_by_tree(machine: Machine) -> tuple[int, ...]:
    paths, sockets = MachinePaths(machine), machine.of_kind("cpu")

    def find_tree_position(rank: int) -> tuple[int, ...]:
        near = paths.nearest(machine.ranks[rank], sockets)
        path = None
        if near:
            path = paths.best(machine.ranks[rank], near[0])
        if path:
            return path.devices[::-1]
        return (machine.ranks[rank],)

    return tuple(sorted(range(len(machine.ranks)), key=find_tree_position))


def _find_link_rings(machine: Machine) -> list[tuple[int, ...]]:
    rank = {machine.devices[device]: r for r, device in enumerate(machine.ranks)}
    # Width counts NVLinks: each ring takes one off every pair it passes.
    free: dict[tuple[int, int], int] = {}
    for a, b, cable in machine.connections:
        if cable.kind in ("nvlink", "xgmi", "ici") and a in rank and b in rank:
            free[rank[a], rank[b]] = free[rank[b], rank[a]] = cable.width
    rings: list[tuple[int, ...]] = []
    while len(rings) < 32 and (ring := _find_one_ring(len(rank), free)):
        # Links carry both directions, so the ring backwards is a second ring on the same links.
        back = (ring[0], *ring[:0:-1])
        steps = list(zip(ring, (*ring[1:], ring[0]), strict=True))
        # As many equal rings as the narrowest pair allows.
        times = min(free[step] for step in steps)
        rings += [ring, back] * times if len(ring) > 2 else [ring] * times
        for x, y in steps:
            free[x, y] -= times
            free[y, x] -= times if len(ring) > 2 else 0
    return rings


def _find_one_ring(n: int, free: dict[tuple[int, int], int]) -> tuple[int, ...] | None:
    """A cycle through all n over links that are free, the widest tried first; None where there is none, or none is
    found soon."""
    if n < 2:
        return None
    stack: list[tuple[int, ...]] = [(0,)]
    # A depth-first search without recursion and with a limit: finding a Hamiltonian cycle may take exponential time.
    for _ in range(_MAX_STEPS):
        if not stack:
            return None
        path = stack.pop()
        if len(path) == n:
            if free.get((path[-1], 0), 0) > 0:
                return path
            continue
        next_gpus = [(free[path[-1], b], -b) for b in range(n) if b not in path and free.get((path[-1], b), 0) > 0]
        # The widest link is pushed last and so tried first; of equals the lowest number.
        stack += [(*path, -b) for _, b in sorted(next_gpus)]
    return None
