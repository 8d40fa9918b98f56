"""The catalogue of models. Every file here is a family; a new file is all that a new family takes.

A file has `MODELS`: names, each with a function that builds the Model. `models()` lists them, `model(name)` builds
one with options.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TypeAlias

from ...display.catalog import Catalog, Row
from ...errors import CollsimError, Sentence, describe_unknown
from ...errors.arguments import check_arguments
from ..workload.model import Model

#: The value of an option of a model: tokens of a sample, whether attention is flash, ...
ModelOption: TypeAlias = int | bool | None


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


@check_arguments
def models() -> Catalog[Model]:
    """The models of the catalogue by name, each with its default options.

    Returns:
        A mapping from names to models, which prints as a table. `model(name, ...)` takes options.

    Examples:
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


@check_arguments
def model(name: str, **options: ModelOption) -> Model:
    """Build a model of the catalogue.

    Args:
        name: `"resnet50"`, `"bert-base"`, `"gpt2"`, `"llama3-8b"` ...; see `models()`.
        **options: Options of that model: `seq=` (tokens of a sample) and `flash=` for transformers, `huggingface=` for
            Llama (kernels of huggingface's modules).

    Returns:
        The model.

    Raises:
        CollsimError: The name or an option is unknown; the error names the nearest.

    Examples:
        >>> import collsim as cs
        >>> cs.model("gpt2", seq=512)
        <Model gpt2: 87 layers, 124,439,808 parameters>
    """
    builders = _load_builders()
    if not isinstance(name, str):
        raise CollsimError(describe_unknown("model", name, builders))
    names = {known.replace("_", "-"): known for known in builders}
    spelling = name.lower().replace("_", "-")
    if spelling not in names:
        raise CollsimError(describe_unknown("model", name, builders))
    _require_options(builders[names[spelling]], name, options)
    return _build(names[spelling], tuple(sorted(options.items())))


def list_model_options(name: str) -> tuple[str, ...]:
    """List the options that `model` takes for a model of the catalogue.

    Args:
        name: Name of the model, as `models` lists it.

    Returns:
        Their names.
    """
    return tuple(inspect.signature(_load_builders()[name]).parameters)


def _require_options(build: Callable[..., Model], name: str, options: Mapping[str, ModelOption]) -> None:
    """Raise CollsimError for options that the model `name` does not have."""
    allowed = inspect.signature(build).parameters
    for option in options:
        if option not in allowed:
            raise CollsimError(describe_unknown(Sentence("option of model {name}", name=name), option, allowed))


@cache
def _build(name: str, options: tuple[tuple[str, ModelOption], ...]) -> Model:
    return _load_builders()[name](**dict(options))


__all__ = ["list_model_options", "model", "models"]
