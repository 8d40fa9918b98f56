"""What the other values of an assumption make of a time: the file is read again with them, or the machine changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache

from ...errors import CollsimError
from ...errors.collected_warnings import collect_warnings
from ..facts import Effect, FromText
from ..network import Topology
from .topology_loader import parse_topology_text

MAX_VALUES = 2  # that are tried for each assumption


def read_again(topology: Topology, **options: object) -> Topology:
    """The same file read with further options, or the same machine with other parts.

    Args:
        topology: what was read or built.
        options: of `load_topology`, in place of those it was read with or in addition; of a machine that no file
            describes its parts.

    Raises:
        CollsimError: Where the topology comes from no file, was edited, or the options cannot be.
    """
    facts = topology.facts
    if facts.base is not None and not facts.file:
        machine: Topology = topology.with_(**options)
        return machine
    if facts.reading is None or facts.edits or facts.calibration is not None:
        message = "{name} is not as a file has it, so it cannot be read again with {options}"
        raise CollsimError(message, name=topology.name, options=options)
    topology_read: Topology = _read(facts.reading, tuple(sorted(options.items())))
    return topology_read


@lru_cache(maxsize=64)
def _read(reading: FromText, options: tuple[tuple[str, object], ...]) -> Topology:
    with collect_warnings():  # the first reading has warned of what is assumed
        return parse_topology_text(reading.text, reading.name, **{**dict(reading.options), **dict(options)})


def find_effects(topology: Topology, time: Callable[[Topology], float]) -> list[Effect]:
    """What the other values of each assumption make of a time, found by running `time` again on the machine with
    them.

    What cannot be built or run with a value is left out.

    Args:
        topology: read from a file.
        time: seconds on a topology.

    Returns:
        An Effect for each value.
    """
    effects, base_time = [], math.nan
    for assumption in topology.facts.assumptions:
        for value in assumption.others[:MAX_VALUES]:
            try:
                other = read_again(topology, **{assumption.option: value})
                if math.isnan(base_time):
                    base_time = time(topology)
                effects.append(Effect(assumption, value, time(other) / base_time))
            except CollsimError:
                continue
    return effects


def describe_effects(topology: Topology, effects: Iterable[Effect]) -> list[tuple[str, str]]:
    """A line for each assumption with its effects, in English and Chinese; one that makes no difference is left out.

    Args:
        topology: read from a file.
        effects: of `find_effects`.
    """
    by_option: dict[str, list[Effect]] = {}
    for effect in effects:
        by_option.setdefault(effect.assumption.option, []).append(effect)
    lines = []
    for assumption in topology.facts.assumptions:
        tried = by_option.get(assumption.option, [])
        if tried and all(effect.is_negligible for effect in tried):
            continue
        en = "; ".join([str(assumption), *map(str, tried)])
        zh = "；".join([assumption.chinese, *(effect.chinese for effect in tried)])
        lines.append((en, zh))
    return lines
