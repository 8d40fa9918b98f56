"""The catalogue of models. Every file here is a family; dropping one in is all that a new model takes.

A file holds `MODELS`: names, each with a function that builds the Model. `models()` lists them, `model(name)` builds
one with options.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from ...catalog import Catalog, Row
from ...errors import CollsimError, Sentence, unknown
from ..workload.model import Model


class _ModelsByName(Mapping[str, Model]):
    """The models of the catalogue with their default options; each is built when it is first looked up."""

    def __getitem__(self, name: str) -> Model:
        if name not in _load_builders():
            raise KeyError(name)
        return _build(name, ())

    def __iter__(self) -> Iterator[str]:
        return iter(_load_builders())

    def __len__(self) -> int:
        return len(_load_builders())


def models() -> Catalog[Model]:
    """The models of the catalogue by name, each with its default options.

    Returns:
        A mapping from names to models, which prints as a table. `model(name, ...)` takes options.

    Example:
        >>> import collsim as cs
        >>> f"{cs.models()['bert-base'].parameters:,}"
        '109,482,240'
    """
    return Catalog(_ModelsByName(), _describe_model)


def _describe_model(entry: Model) -> Row:
    return {
        "parameters": entry.parameters,
        "layers": len(entry.layers),
        "forward GFLOP a sample": entry.flops / 1e9,
        "tokens": entry.tokens or None,
    }


@cache
def _load_builders() -> dict[str, Callable[..., Model]]:
    """The functions that build the models, by name; their parameters are the options of `model`."""
    builders: dict[str, Callable[..., Model]] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        for name, build in importlib.import_module(f"{__name__}.{module}").MODELS.items():
            if name in builders:
                raise CollsimError("model {name!r} is in the catalogue twice", name=name)
            builders[name] = build
    return dict(sorted(builders.items()))


def model(name: str, **options: Any) -> Model:
    """A model of the catalogue.

    Args:
        name: `"resnet50"`, `"bert-base"`, `"gpt2"`, `"llama3-8b"` ...; see `models()`.
        options: of that model: `seq=` (tokens of a sample) and `flash=` for transformers.

    Raises CollsimError for unknown names (with the nearest) and options.
    """
    known = _load_builders()
    asked = str(name).lower().replace("_", "-") if isinstance(name, str) else name
    same = {k.replace("_", "-"): k for k in known}
    if not isinstance(asked, str) or asked not in same:
        raise CollsimError(unknown("model", name, known))
    return _build(same[asked], tuple(sorted(_accepted(known[same[asked]], name, options).items())))


def _accepted(make: Callable[..., Model], name: str, options: dict[str, Any]) -> dict[str, Any]:
    allowed = inspect.signature(make).parameters
    for option in options:
        if option not in allowed:
            raise CollsimError(unknown(Sentence("option of model {name}", name=name), option, allowed))
    return options


@cache
def _build(name: str, options: tuple[tuple[str, Any], ...]) -> Model:
    return _load_builders()[name](**dict(options))


__all__ = ["model", "models"]
