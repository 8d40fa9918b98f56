"""Which GPUs of a node are alike: a collective takes as long on any of them."""

from __future__ import annotations

from collections.abc import Collection

from ...topology.machine_builder import Machine, find_kind

#: Rounds of refinement: cables from a GPU to any other device of a node are fewer.
_ROUNDS = 8


def describe_gpus(node: Machine, gpus: Collection[int]) -> int:
    """Describe where GPUs of a node are among its cables, whatever their numbers.

    Colour refinement (Weisfeiler and Leman 1968): a device's colour is what it is, then also the colours of all its
    neighbours and the cables to them.

    Args:
        node: The node.
        gpus: Local devices, some of its GPUs.

    Returns:
        A number that two choices of GPUs have in common where an exchange of equal devices turns one into the other.
    """
    numbers = {name: number for number, name in enumerate(node.devices)}
    neighbours: list[list[tuple[str, float, int]]] = [[] for _ in numbers]
    for a, b, cable in node.connections:
        neighbours[numbers[a]].append((cable.kind, cable.bandwidth, numbers[b]))
        neighbours[numbers[b]].append((cable.kind, cable.bandwidth, numbers[a]))
    colours = [hash((find_kind(name), number in gpus)) for name, number in numbers.items()]
    for _ in range(_ROUNDS):
        colours = [
            hash((colour, *sorted((kind, rate, colours[other]) for kind, rate, other in around)))
            for colour, around in zip(colours, neighbours, strict=True)
        ]
    return hash(tuple(sorted(colours)))
