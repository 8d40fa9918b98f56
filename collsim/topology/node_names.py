"""Names of the devices of many nodes, made when asked for: a million GPUs have no list of strings."""

from __future__ import annotations

from dataclasses import dataclass

from .network import ComputedNames, Names


@dataclass(frozen=True, eq=False)
class NodeNames(ComputedNames):
    """Names of a cluster's devices: `node3/gpu5`, then those of the switches, `fabric/leaf0`.

    Attributes:
        machine: names of one node's devices.
        nodes: number of nodes.
        switches: (how many, prefix of their names) per layer of the fabric.
    """

    machine: tuple[str, ...]
    nodes: int
    switches: tuple[tuple[int, str], ...]

    def __len__(self) -> int:
        return self.nodes * len(self.machine) + sum(count for count, _ in self.switches)

    def name(self, i: int) -> str:
        """The name of a device of a cluster: "node3/gpu0", or "fabric/..." for switches between nodes.

        Args:
            i: Its number.
        """
        node, local = divmod(i, len(self.machine))
        if 0 <= node < self.nodes:
            return f"node{node}/{self.machine[local]}"
        return "fabric/" + Names(self.switches).name(i - self.nodes * len(self.machine))

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Number of a device by name, without making the names of the others.

        Args:
            value: a name.
            start: the first number that counts.
            stop: the first number that does not; None for all.
        """
        head, _, rest = str(value).partition("/")
        number = head.removeprefix("node")
        if head.startswith("node") and number.isdecimal() and int(number) < self.nodes and rest in self.machine:
            return int(number) * len(self.machine) + self.machine.index(rest)
        before = self.nodes * len(self.machine)
        for count, prefix in self.switches:
            tail = rest.removeprefix(prefix)
            if head == "fabric" and rest.startswith(prefix) and tail.isdecimal() and int(tail) < count:
                return before + int(tail)
            before += count
        raise ValueError(value)
