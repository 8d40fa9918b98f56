"""What a reader had to assume because its file does not say it: told with every answer, with what another value would
make of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .network import Topology

#: Ratios nearer to 1 than this are said to make no difference.
_SAME = 0.01


@dataclass(frozen=True)
class Assumption:
    """One thing that the input does not say.

    Attributes:
        option: the keyword of `load_topology` that says it (`nic`), on the command line `--nic`.
        taken: what was taken.
        why: by what, as (English, Chinese).
        others: values that are as possible; the first few are tried to tell the effect.
    """

    option: str
    taken: str
    why: tuple[str, str]
    others: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"{self.why[0]}: taken for {self.taken}; say {self.option}=... if it is another"

    @property
    def chinese(self) -> str:
        return f"{self.why[1]}：取 {self.taken}；若不是，请给出 {self.option}=…"


@dataclass(frozen=True)
class Effect:
    """What another value in place of an assumption makes of a time: `factor` times as long."""

    assumption: Assumption
    value: Any
    factor: float

    @property
    def none(self) -> bool:
        """Does it make no difference?"""
        return abs(self.factor - 1) < _SAME

    def __str__(self) -> str:
        said = f"if {self.assumption.option} is {self.value}: "
        if self.none:
            return said + "no difference"
        way = "slower" if self.factor > 1 else "faster"
        return f"{said}{max(self.factor, 1 / self.factor):.2g}x {way}"

    @property
    def chinese(self) -> str:
        if self.none:
            return f"若 {self.assumption.option} 为 {self.value}：没有差别"
        times = f"{max(self.factor, 1 / self.factor):.2g}"
        said = f"用时为 {times} 倍" if self.factor > 1 else f"用时为 1/{times}"
        return f"若 {self.assumption.option} 为 {self.value}：{said}"


@dataclass(frozen=True)
class FromText:
    """The text that a topology was read from, and the options it was read with, to read it again."""

    text: str = field(repr=False)
    name: str
    options: tuple[tuple[str, Any], ...]


def list_assumptions(topology: Topology) -> tuple[Assumption, ...]:
    """What was assumed of a topology; nothing where all was given."""
    return tuple(topology.facts.get("assumed", ()))
