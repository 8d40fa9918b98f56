"""What a reader had to assume because its file does not say it: told with every answer, with what another value would
make of it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..errors import CollsimError
from .network import Topology

#: Ratios nearer to 1 than this are said to make no difference.
_SAME = 0.01


@dataclass(frozen=True)
class Assumption:
    """One thing that the input does not say.

    Attributes:
        option: the keyword of `load_topology` that says it (`nic`), on the command line `--nic`.
        taken: what was taken. why: by what, as (English, Chinese).
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
        if self.none:
            return f"if {self.assumption.option} is {self.value}: no difference"
        slow = self.factor > 1
        return (
            f"if {self.assumption.option} is {self.value}: {max(self.factor, 1 / self.factor):.2g}x "
            f"{'slower' if slow else 'faster'}"
        )

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


def assumptions(topology: Topology) -> tuple[Assumption, ...]:
    """What was assumed of a topology; nothing where all was given."""
    return tuple(topology.facts.get("assumed", ()))


def again(topology: Topology, **options: Any) -> Topology:
    """The same file read with further options. Raises CollsimError where the topology comes from no file, was edited,
    or the options cannot be."""
    reading = topology.facts.get("reading")
    if reading is None or topology.facts.get("edits") or topology.facts.get("calibration") is not None:
        raise CollsimError(f"{topology.name} is not as a file has it, so it cannot be read again with {options}")
    made: Topology = _read(reading, tuple(sorted(options.items())))
    return made


@lru_cache(maxsize=64)
def _read(reading: FromText, options: tuple[tuple[str, Any], ...]) -> Topology:
    from .files import parse_topology_text

    with warnings.catch_warnings():  # what is assumed was told when it was read first
        warnings.simplefilter("ignore")
        return parse_topology_text(reading.text, reading.name, **{**dict(reading.options), **dict(options)})


def effects(topology: Topology, time: Callable[[Topology], float], most: int = 2) -> list[Effect]:
    """What the other values of each assumption make of a time, found by running `time` again on the machine with
    them.

    Args:
        time: seconds on a topology. most: values tried for each assumption.

    What cannot be built or run with a value is left out.
    """
    found, usual = [], math.nan
    for assumption in assumptions(topology):
        for value in assumption.others[:most]:
            try:
                other = again(topology, **{assumption.option: value})
                usual = time(topology) if math.isnan(usual) else usual
                found.append(Effect(assumption, value, time(other) / usual))
            except CollsimError:
                continue
    return found


def sentences(topology: Topology, time: Callable[[Topology], float]) -> list[tuple[str, str]]:
    """A line for each assumption with its effects, in English and Chinese; one that makes no difference to `time` is
    left out."""
    by_option: dict[str, list[Effect]] = {}
    for effect in effects(topology, time):
        by_option.setdefault(effect.assumption.option, []).append(effect)
    lines = []
    for one in assumptions(topology):
        tried = by_option.get(one.option, [])
        if tried and all(effect.none for effect in tried):
            continue
        en = "; ".join([str(one), *map(str, tried)])
        zh = "；".join([one.chinese, *(effect.chinese for effect in tried)])
        lines.append((en, zh))
    return lines
