"""Names of the devices of many nodes, made when asked for: a million GPUs have no list of strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload


@dataclass(frozen=True, eq=False)
class NodeNames(Sequence[str]):
    """`node3/gpu5`, then `fabric/leaf0`; made when asked for."""

    machine: tuple[str, ...]
    nodes: int
    switches: tuple[tuple[int, str], ...]

    def __len__(self) -> int:
        return self.nodes * len(self.machine) + sum(count for count, _ in self.switches)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        at = int(i) + (len(self) if i < 0 else 0)
        node, local = divmod(at, len(self.machine))
        if 0 <= node < self.nodes:
            return f"node{node}/{self.machine[local]}"
        at -= self.nodes * len(self.machine)
        for count, prefix in self.switches:
            if 0 <= at < count:
                return f"fabric/{prefix}{at}"
            at -= count
        raise IndexError(i)

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Number of a device by name, without making the names of the others."""
        place, _, rest = str(value).partition("/")
        number = place.removeprefix("node")
        if place.startswith("node") and number.isdecimal() and int(number) < self.nodes and rest in self.machine:
            return int(number) * len(self.machine) + self.machine.index(rest)
        before = self.nodes * len(self.machine)
        for count, prefix in self.switches:
            tail = rest.removeprefix(prefix)
            if place == "fabric" and rest.startswith(prefix) and tail.isdecimal() and int(tail) < count:
                return before + int(tail)
            before += count
        raise ValueError(value)
