"""Other parts of a chosen machine: the words of `cs.machine` that the address holds, and which of them it can have.
Nothing here knows Streamlit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeAlias

import collsim as cs
from collsim.errors import CollsimError, describe_unknown
from collsim.topology.cables import load_nics
from collsim.topology.fabrics import ROUTED_FABRICS, ROUTINGS, SEEDED_ROUTINGS
from collsim.topology.machine_builder import Machine
from collsim.topology.parts.gpus import find_model
from collsim.topology.parts.nvlinks import NVLINK_WORDS
from collsim.topology.parts.refit import PARTS as REFITTED
from collsim.topology.parts.refit import refit_machine
from collsim.topology.parts.sockets import load_processors
from collsim.train.compute.gpu_speeds import list_gpus

#: Parts by name, as they were chosen; in the order of `PARTS`.
Parts: TypeAlias = tuple[tuple[str, str | int], ...]
#: What can be changed of a machine, beside its nodes, fabric and GPUDirect.
PARTS = ("gpus", "gpu", "nvlink", "pcie", "cpu", "nics", "nic", "oversubscription", "routing", "hash_seed")
#: Characters that all parts take in an address.
LONGEST = 160
_VALUE = re.compile(r"[\w. -]{1,24}", re.ASCII)
_MAX_PARTS, _MAX_SEED = 64, 99_999
#: Seeds on the shelf; an address may have others.
_SEEDS = (1, 2, 3, 4)
_PCIE = re.compile(r"PCIe (\d)\.0 ")
#: Processors that stand for a kind, and for none.
_KINDS_OF_PROCESSOR = ("arm", "unknown")


def read_parts(text: str) -> Parts:
    """Read parts as an address has them: `gpus:4,nic:roce-25`.

    Args:
        text: The text.

    Returns:
        The parts, numbers as numbers.

    Raises:
        CollsimError: A part is unknown, comes twice, or its value is no word.
    """
    chosen: dict[str, str | int] = {}
    for word in filter(None, text.split(",")):
        name, _, value = word.partition(":")
        if name not in PARTS:
            raise CollsimError(describe_unknown("part", name[:20], PARTS))
        if name in chosen or not _VALUE.fullmatch(value):
            raise CollsimError("{word!r} is not part:value, each part once, such as nic:roce-25", word=word[:40])
        if value.isdigit():
            most = _MAX_SEED if name == "hash_seed" else _MAX_PARTS
            if not 0 < int(value) <= most:
                raise CollsimError("{name}={value} is not between 1 and {most}", name=name, value=value, most=most)
            chosen[name] = int(value)
        else:
            chosen[name] = value
    return order_parts(chosen.items())


def order_parts(parts: Iterable[tuple[str, str | int]]) -> Parts:
    """The same parts in the order of `PARTS`.

    Args:
        parts: The parts.
    """
    return tuple(sorted(parts, key=lambda part: PARTS.index(part[0])))


def write_parts(parts: Parts) -> str:
    """The parts as an address has them.

    Args:
        parts: The parts.
    """
    return ",".join(f"{name}:{value}" for name, value in parts)


@lru_cache(maxsize=32)
def list_part_values(topology: cs.Topology) -> Mapping[str, Sequence[str | int]]:
    """List what a machine can have of each part, with its other parts as they are.

    The last ones are kept: each value is tried by building the machine with it, and a page asks at every run.

    Args:
        topology: The machine.

    Returns:
        By part the values that build a machine; parts without a choice are left out.
    """
    base = topology.facts.base
    if base is None or not base.of_kind("gpu"):
        return MappingProxyType({})
    gpus = len(base.of_kind("gpu"))
    candidates: dict[str, list[str | int]] = {
        "gpus": [count for count in (1, 2, 4, 8, 16) if count <= gpus],
        "gpu": [name for name in list_gpus() if _is_of_same_maker(name, base.gpu)],
        "nvlink": [*NVLINK_WORDS, 3, 4, 5],
        "pcie": [3, 4, 5, 6],
        "cpu": [
            name
            for name, each in load_processors().items()
            if each.is_amd == base.amd_cpu and name not in _KINDS_OF_PROCESSOR
        ],
    }
    if not any(cable.kind == "upi" for *_, cable in base.connections):
        del candidates["cpu"]
    if base.of_kind("nic") and topology.facts.nodes > 1:
        candidates |= {"nics": [1, 2, 4, 8], "nic": list(load_nics())}
    if topology.facts.fabric in ROUTED_FABRICS:
        candidates |= {"oversubscription": [1, 2, 4], "routing": list(ROUTINGS)}
        if topology.facts.options.get("routing") in SEEDED_ROUTINGS:
            candidates["hash_seed"] = list(_SEEDS)
    parts = dict(topology.facts.parts)
    values = {
        name: tuple(value for value in each if _fits(base, parts, name, value)) for name, each in candidates.items()
    }
    return MappingProxyType({name: each for name, each in values.items() if len(each) > 1})


def find_original_values(topology: cs.Topology) -> dict[str, str | int]:
    """Find what a machine has of each part before it was changed, where that is one of the values on the shelf.

    Args:
        topology: The machine.
    """
    base = topology.facts.base
    if base is None or not base.of_kind("gpu"):
        return {}
    original_values: dict[str, str | int] = {"gpus": len(base.of_kind("gpu")), "oversubscription": 1}
    if topology.facts.fabric in ROUTED_FABRICS:
        original_values |= {"routing": ROUTINGS[0], "hash_seed": 0}
    labels = {cable.label for *_, cable in base.connections if cable.kind == "pcie"}
    generations = {int(match[1]) for label in labels if (match := _PCIE.match(label))}
    if len(generations) == 1:
        original_values["pcie"] = generations.pop()
    if model := find_model(base.gpu):
        original_values["gpu"] = model.name
    if base.of_kind("nic"):
        original_values |= {"nics": len(base.of_kind("nic")), "nic": base.nic}
    return original_values


def _is_of_same_maker(name: str, other: str) -> bool:
    model, present = find_model(name), find_model(other)
    return model is not None and present is not None and model.is_amd == present.is_amd


def _fits(base: Machine, parts: dict[str, Any], name: str, value: str | int) -> bool:
    """Whether the machine can have it beside its other parts; what is outside of a node fits every machine."""
    if name not in REFITTED:
        return True
    try:
        refit_machine(base, **{**parts, name: value})
    except CollsimError:
        return False
    return True
