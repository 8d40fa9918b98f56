"""The variants of an algorithm that are tried where each is to be at its best: channels and chunks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from ..registry import Algorithm
from ..topology import Topology
from ..topology.network import count_offered_channels
from ..units import parse_count

#: Chunks that are tried for an algorithm which pipelines: without them a tree would stand no chance.
PIPELINES = (1, 4, 16, 64, 256)


@dataclass(frozen=True)
class VariantSearch:
    """The channels and chunks that are tried for every algorithm that has them.

    Fewer channels than the most are tried with the fewest chunks only: with many chunks in flight all channels were
    never slower on the machines of the catalogue, and each try costs a run.
    """

    channels: tuple[int, ...]
    chunks: tuple[int, ...]

    @classmethod
    def for_topology(cls, topology: Topology, channels: object = None, chunks: object = None) -> VariantSearch:
        """The search for a machine: one channel or all that it offers, and `PIPELINES`; a number given pins it.

        Args:
            topology: Says how many channels its machine offers.
            channels: One number to try only that; None for 1 and all that are offered.
            chunks: One number to try only that; None for `PIPELINES`.

        Raises:
            CollsimError: For what is no number of 1 or more.
        """
        offered = tuple(dict.fromkeys((1, count_offered_channels(topology))))
        return cls(
            offered if channels is None else (parse_count(channels, "channels"),),
            PIPELINES if chunks is None else (parse_count(chunks, "chunks"),),
        )

    def list_variants(self, entry: Algorithm) -> list[dict[str, int]]:
        """The options to try, the simplest first, so that it wins a tie.

        Args:
            entry: Options that it does not have are not varied.

        Returns:
            Keyword arguments of the algorithm.
        """
        counts = {"channels": self.channels, "chunks": self.chunks}
        known = {name: numbers for name, numbers in counts.items() if name in entry.options}
        tried = (dict(zip(known, values, strict=True)) for values in product(*known.values()))
        return [options for options in tried if len(options) < 2 or self._is_tried(**options)]

    def _is_tried(self, channels: int, chunks: int) -> bool:
        return channels == self.channels[-1] or chunks == self.chunks[0]

    def __str__(self) -> str:
        """`1 × 1, 8 × {1, 4, 16}`: channels × chunks."""
        *fewer, most = self.channels
        if len(self.chunks) == 1:
            chunks = str(self.chunks[0])
        else:
            chunks = f"{{{', '.join(map(str, self.chunks))}}}"
        return ", ".join([*(f"{few} × {self.chunks[0]}" for few in fewer), f"{most} × {chunks}"])
