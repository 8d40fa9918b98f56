"""The catalogue of models. Every file here is a family; dropping one in is all that a new model takes.

A file holds `MODELS`: names, each with a function that makes the Model. `models()` lists them, `model(name)` makes one.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from functools import cache
from types import MappingProxyType
from typing import Any

from ...errors import CollsimError, Sentence, unknown
from ..workload.model import Model


@cache
def models() -> MappingProxyType[str, Callable[..., Model]]:
    """All models by name: functions that make them, and whose parameters are their options."""
    found: dict[str, Callable[..., Model]] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        for name, make in importlib.import_module(f"{__name__}.{module}").MODELS.items():
            if name in found:
                raise CollsimError("model {name!r} is in the catalogue twice", name=name)
            found[name] = make
    return MappingProxyType(dict(sorted(found.items())))


def model(name: str, **options: Any) -> Model:
    """A model of the catalogue.

    Args:
        name: `"resnet50"`, `"bert-base"`, `"gpt2"`, `"llama3-8b"` ...; see `models()`.
        options: of that model: `seq=` (tokens of a sample) and `flash=` for transformers.

    Raises CollsimError for unknown names (with the nearest) and options.
    """
    known = models()
    asked = str(name).lower().replace("_", "-") if isinstance(name, str) else name
    same = {k.replace("_", "-"): k for k in known}
    if not isinstance(asked, str) or asked not in same:
        raise CollsimError(unknown("model", name, known))
    return _made(same[asked], tuple(sorted(_accepted(known[same[asked]], name, options).items())))


def _accepted(make: Callable[..., Model], name: str, options: dict[str, Any]) -> dict[str, Any]:
    allowed = inspect.signature(make).parameters
    for option in options:
        if option not in allowed:
            raise CollsimError(unknown(Sentence("option of model {name}", name=name), option, allowed))
    return options


@cache
def _made(name: str, options: tuple[tuple[str, Any], ...]) -> Model:
    return models()[name](**dict(options))


__all__ = ["model", "models"]
