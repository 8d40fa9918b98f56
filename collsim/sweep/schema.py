"""The JSON Schema of plans, made of the reader's own keys and of the registries: editors complete and check a YAML file
with it before `collsim sweep` reads it.

`plan.schema.json` next to this file is what it says of the package alone (`make docs`); `build_plan_schema()` knows
what is registered now. What it accepts, the reader may still refuse: it knows no line, no permutation and no size of a
network.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from ..collective import collectives
from ..dtypes import OTHER_NAMES, list_dtypes
from ..purchases import PART_NAMES
from ..registry import algorithms
from ..simulate import ENGINES
from ..topology import NETWORKS, machine
from ..topology.fabrics import FABRIC_OPTIONS, FABRICS, ROUTINGS
from ..topology.machines import machines
from ..units import FACTOR, MAX_BYTES, SIZE
from .nccl_library import NCCL
from .plan import KEYS, STEP_KEYS
from .scenario_networks import EDITS

Schema = dict[str, Any]
ANY: Schema = {}


def build_plan_schema() -> Schema:
    """Build a JSON Schema (draft 2020-12) of plans: of collectives, or with `model` of training steps.

    Returns:
        The schema, with the names that are registered now.

    Examples:
        >>> "allreduce_ring" in build_plan_schema()["$defs"]["algorithm"]["anyOf"][0]["enum"]
        True
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of collsim sweep",
        "description": "Every key is one value or a list of them; docs/sweeps.md says what each means.",
        "type": "object",
        "required": ["topology"],
        "if": {"required": ["model"]},
        "then": {"properties": _build_properties(STEP_KEYS), "additionalProperties": False},
        "else": {"properties": _build_properties(KEYS), "additionalProperties": False},
        "$defs": _build_definitions(),
    }


def _build_properties(keys: tuple[str, ...]) -> dict[str, Schema]:
    """What each key may hold; what is for `training_step` to judge may be anything but nothing."""
    known = set(_build_definitions())
    if "model" in keys:
        known.remove("algorithm")
    properties: dict[str, Schema] = {key: {"not": {"type": "null"}} for key in keys}
    for key in known.intersection(keys):
        properties[key] = _allow_list({"$ref": f"#/$defs/{key}"})
    return {**properties, "prices": _build_prices()}


def _build_definitions() -> dict[str, Schema]:
    """One value of each key that the reader judges."""
    size = {
        "anyOf": [
            {"type": "number", "minimum": 0, "maximum": MAX_BYTES},
            # A size, or first:last, or first:last:factor.
            {"type": "string", "pattern": rf"^{SIZE}(:{SIZE}(:{FACTOR})?)?$"},
        ]
    }
    return {
        # A sum such as allreduce+allgather is a pattern, not a name.
        "collective": {"type": "string", "anyOf": [_build_enum(collectives()), {"pattern": "\\+"}]},
        "algorithm": _allow_options(_build_enum([*algorithms(), NCCL])),
        "topology": _build_topology(),
        "nbytes": size,
        "dtype": _build_enum([*list_dtypes(), *OTHER_NAMES]),
        "engine": _allow_options(_build_enum(ENGINES)),
        "order": {"anyOf": [_build_order(), {"type": "array", "items": {"type": "integer", "minimum": 0}}]},
        "model": _build_enum(_list_models()),
        "parallel": _build_parallel(),
    }


def _build_topology() -> Schema:
    edits = dict.fromkeys(EDITS, ANY)
    keywords = [name for name in inspect.signature(machine).parameters if name not in ("name", "options")]
    options = dict.fromkeys([*keywords, *FABRIC_OPTIONS], ANY) | {"fabric": _allow_list(_build_enum(FABRICS))}
    options |= {"routing": _allow_list(_build_enum(ROUTINGS))}
    built = {"machine": _allow_list(_build_enum(machines())), **options, **edits}
    drawn = {"network": _allow_list({"type": "string", "pattern": _build_call_pattern()}), **edits}
    return {
        "anyOf": [
            _build_enum(machines()),
            {"type": "string", "pattern": _build_call_pattern()},
            {"type": "object", "required": ["machine"], "properties": built, "additionalProperties": False},
            {"type": "object", "required": ["network"], "properties": drawn, "additionalProperties": False},
        ]
    }


def _build_prices() -> Schema:
    """Money by part or change."""
    names = {"pattern": rf"^({'|'.join(PART_NAMES)})(=.*)?$"}
    return {"type": "object", "propertyNames": names, "additionalProperties": {"type": "number", "exclusiveMinimum": 0}}


def _build_parallel() -> Schema:
    """A name, a name with the options that this way of splitting has, or a product as Python writes it."""
    from ..train.parallel.strategy_parser import STRATEGIES

    alone = _build_enum(name for name, strategy in STRATEGIES.items() if not _list_required(strategy))
    product = {"type": "string", "pattern": rf"\b({'|'.join(sorted(STRATEGIES))})\s*\("}
    return {"anyOf": [alone, product, *(_build_strategy(name, strategy) for name, strategy in STRATEGIES.items())]}


def _list_required(strategy: Any) -> list[str]:
    return [name for name, option in inspect.signature(strategy).parameters.items() if option.default is option.empty]


def _build_strategy(name: str, strategy: Any) -> Schema:
    properties = dict.fromkeys(inspect.signature(strategy).parameters, ANY) | {"name": {"const": name}}
    required = ["name", *_list_required(strategy)]
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def _list_models() -> list[str]:
    from ..train import models

    return list(models())


def _allow_options(name: Schema) -> Schema:
    """A name alone, or with options."""
    return {"anyOf": [name, {"type": "object", "required": ["name"], "properties": {"name": name}}]}


def _allow_list(item: Schema) -> Schema:
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}


def _build_enum(names: Iterable[str]) -> Schema:
    return {"enum": sorted(names)}


def _build_order() -> Schema:
    """By name, or a rank where the list is one permutation."""
    return {"type": ["string", "integer"], "pattern": r"^(given|reversed|random:[0-9]+)$", "minimum": 0}


def _build_call_pattern() -> str:
    """`ring(8, bandwidth=25GB/s)`, by the name of a network."""
    return rf"^\s*({'|'.join(sorted(NETWORKS))})\s*(\(.*\))?\s*$"
