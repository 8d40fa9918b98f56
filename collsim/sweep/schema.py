"""The JSON Schema of plans, made of the reader's own keys and of the registries: editors complete and check a YAML file
with it before `collsim sweep` reads it.

`plan.schema.json` beside this file is what it says of the package alone (`make docs`); `plan_schema()` knows what is
registered now. What it accepts, the reader may still refuse: it knows no line, no permutation and no size of a network.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from ..collective import collectives
from ..dtypes import dtypes
from ..registry import algorithms
from ..simulate import ENGINES
from ..topology import NETWORKS, machine, machines
from ..topology.fabrics import FABRICS
from ..units import FACTOR, MOST_BYTES, SIZE
from .library import NCCL
from .networks import EDITS
from .plan import KEYS, STEP_KEYS

Schema = dict[str, Any]
ANY: Schema = {}


def plan_schema() -> Schema:
    """A JSON Schema (draft 2020-12) of plans: of collectives, or with `model` of training steps."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of collsim sweep",
        "description": "Every key is one value or a list of them; docs/sweeps.md says what each means.",
        "type": "object",
        "required": ["topology"],
        "if": {"required": ["model"]},
        "then": {"properties": _properties(STEP_KEYS), "additionalProperties": False},
        "else": {"properties": _properties(KEYS), "additionalProperties": False},
        "$defs": _values(),
    }


def _properties(keys: tuple[str, ...]) -> dict[str, Schema]:
    """What each key may hold; what is for `training_step` to judge may be anything but nothing."""
    known = _values().keys() - ({"algorithm"} if "model" in keys else set())
    free = {"not": {"type": "null"}}
    return {key: _one_or_more({"$ref": f"#/$defs/{key}"}) if key in known else free for key in keys}


def _values() -> dict[str, Schema]:
    """One value of each key that the reader judges."""
    size = {"anyOf": [{"type": "number", "minimum": 0, "maximum": MOST_BYTES}, {"type": "string", "pattern": _sizes()}]}
    return {
        "collective": {"type": "string", "anyOf": [_words(collectives()), {"pattern": "\\+"}]},
        "algorithm": _named(_words([*algorithms(), NCCL])),
        "topology": _topology(),
        "nbytes": size,
        "dtype": _words(dtypes()),
        "engine": _named(_words(ENGINES)),
        "order": {"anyOf": [_order(), {"type": "array", "items": {"type": "integer", "minimum": 0}}]},
        "model": _words(_models()),
        "parallel": _parallel(),
    }


def _topology() -> Schema:
    edits = dict.fromkeys(EDITS, ANY)
    keywords = [name for name in inspect.signature(machine).parameters if name not in ("name", "options")]
    listed = ", ".join(found for said in FABRICS.values() for found in re.findall(r"options? (.+)", said))
    of_fabrics = sorted(set(listed.split(", ")))
    options = dict.fromkeys([*keywords, *of_fabrics], ANY) | {"fabric": _one_or_more(_words(FABRICS))}
    built = {"machine": _one_or_more(_words(machines())), **options, **edits}
    drawn = {"network": _one_or_more({"type": "string", "pattern": _call()}), **edits}
    return {
        "anyOf": [
            _words(machines()),
            {"type": "string", "pattern": _call()},
            {"type": "object", "required": ["machine"], "properties": built, "additionalProperties": False},
            {"type": "object", "required": ["network"], "properties": drawn, "additionalProperties": False},
        ]
    }


def _parallel() -> Schema:
    """A name, a name with the options that this way of splitting has, or a product as Python writes it."""
    from ..train.parallel import STRATEGIES

    alone = _words(name for name, make in STRATEGIES.items() if not _needed(make))
    product = {"type": "string", "pattern": rf"\b({'|'.join(sorted(STRATEGIES))})\s*\("}
    return {"anyOf": [alone, product, *(_way(name, make) for name, make in STRATEGIES.items())]}


def _needed(make: Any) -> list[str]:
    return [name for name, option in inspect.signature(make).parameters.items() if option.default is option.empty]


def _way(name: str, make: Any) -> Schema:
    properties = dict.fromkeys(inspect.signature(make).parameters, ANY) | {"name": {"const": name}}
    required = ["name", *_needed(make)]
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def _models() -> list[str]:
    from ..train import models

    return list(models())


def _named(name: Schema) -> Schema:
    """A name alone, or with options."""
    return {"anyOf": [name, {"type": "object", "required": ["name"], "properties": {"name": name}}]}


def _one_or_more(one: Schema) -> Schema:
    return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}


def _words(names: Any) -> Schema:
    return {"enum": sorted(names)}


def _order() -> Schema:
    """By name, or a rank where the list is one permutation."""
    return {"type": ["string", "integer"], "pattern": r"^(given|reversed|random:[0-9]+)$", "minimum": 0}


def _call() -> str:
    """`ring(8, bandwidth=25GB/s)`, by the name of a network."""
    return rf"^\s*({'|'.join(sorted(NETWORKS))})\s*(\(.*\))?\s*$"


def _sizes() -> str:
    """A size, or first:last, or first:last:factor."""
    return rf"^{SIZE}(:{SIZE}(:{FACTOR})?)?$"
