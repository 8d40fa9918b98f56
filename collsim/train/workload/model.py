"""A model as a training step sees it: a table of layers, and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...dtypes import itemsize
from ...errors import CollsimError, Sentence, Words, require_word
from ...files import csv_columns, csv_line, read_csv, refuse
from ...units import parse_count

if TYPE_CHECKING:
    import pandas as pd

#: How tensor parallelism cuts a layer: its columns (output), its rows (input; the result is summed), heads, words.
CUTS = ("", "column", "row", "heads", "words")
KINDS = ("gemm", "convolution", "attention", "flash", "norm", "embedding", "elementwise", "moe")
_MOST = 1e30  # of any figure of a layer: sums of such stay finite
MOST_LAYERS = 100_000
TOO_MANY = "model {name!r} has {layers:,} layers; {most:,} is the most"


@dataclass(frozen=True)
class Layer:
    """One layer: what it holds, and what a sample costs in it.

    Attributes:
        name: unique in its model.
        tensors: elements of each parameter tensor, in the order of registration. buffers: the same of float buffers
            (BatchNorm's).
        flops: floating point operations of the forward pass per sample (two for a multiply-add).
        moved: elements of activations that the forward pass reads and writes per sample; parameters come on top, once a
            pass.
        kept: elements of activations kept for the backward pass per sample. masks: bytes kept per sample whatever the
            type.
        handed: elements handed to the next layer per sample.
        kind: gemm, convolution, attention, flash (causal attention in one kernel that stores no scores), norm,
            embedding, elementwise or moe.
        ops: operations that the forward pass launches, as eager PyTorch does.
        width: channels of a group of a grouped convolution, tokens of a sequence in flash attention, columns of a
            matrix that may be no multiple of what is read at once; 0 for everything else.
        dtype: of its parameters and their gradients.
        cut: how tensor parallelism cuts it: column, row, heads or words; empty where it does not.
        experts: of a mixture of experts: how many share its tensors evenly; 0 for none. top: of these each token goes
            to so many.
        keys: elements of keys and values per sample, which context parallelism passes on.
        heads: of attention, which tensor parallelism shares evenly; 0 where that is not said.

    Raises CollsimError for a figure that is negative or no number.
    """

    name: str
    tensors: tuple[int, ...] = ()
    flops: float = 0.0
    moved: float = 0.0
    kept: float = 0.0
    handed: float = 0.0
    masks: float = 0.0
    kind: str = "gemm"
    ops: int = 1
    buffers: tuple[int, ...] = ()
    width: int = 0
    dtype: str = "float32"
    cut: str = ""
    experts: int = 0
    top: int = 0
    keys: float = 0.0
    heads: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise CollsimError("a layer's name must be a text that is not empty, got {name!r}", name=self.name)
        where = Sentence("layer {name!r}", name=self.name)
        for what in ("tensors", "buffers"):
            object.__setattr__(self, what, _counts(where, what, getattr(self, what)))
        for what in ("flops", "moved", "kept", "handed", "masks", "keys"):
            object.__setattr__(self, what, _figure(where, what, getattr(self, what)))
        parse_count(self.ops, Sentence("{where}: ops", where=where), least=0)
        for what in ("width", "experts", "top", "heads"):
            parse_count(getattr(self, what), Sentence("{where}: {what}", where=where, what=what), least=0)
        if self.top > self.experts:
            why = "{where}: top={top} of {experts} experts: a token goes to fewer than there are"
            raise CollsimError(why, where=where, top=self.top, experts=self.experts)
        require_word(Sentence("cut of layer ({where})", where=where), self.cut, CUTS)
        require_word(Sentence("kind of layer ({where})", where=where), self.kind, KINDS)
        itemsize(self.dtype)

    @property
    def parameters(self) -> int:
        """Elements of all its tensors."""
        return sum(self.tensors)

    @property
    def nbytes(self) -> int:
        """Bytes of its parameters, and of their gradients."""
        return self.parameters * itemsize(self.dtype)


def _counts(where: Words, what: str, values: Any) -> tuple[int, ...]:
    listed = values if isinstance(values, list | tuple) else [values]
    for value in listed:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST:
            why = "{where}: {what}={values!r}: {value!r} is no number of elements; give whole numbers of at least 0"
            raise CollsimError(why, where=where, what=what, values=values, value=value)
    return tuple(listed)


def _figure(where: Words, what: str, value: Any) -> float:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not 0 <= number < _MOST:
        why = "{where}: {what}={value!r} must be a number of at least 0"
        raise CollsimError(why, where=where, what=what, value=value)
    return float(number)


@dataclass(frozen=True)
class Model:
    """Layers in the order in which the forward pass runs them; gradients become ready in the opposite order.

    Attributes:
        name, layers: the table. A tensor that two layers share belongs to the one that runs first: its gradient is
            ready last.
        tokens: of a sample; 0 where samples have none. inputs: bytes of one sample as it is put in.
        source: where its figures come from.
    """

    name: str
    layers: tuple[Layer, ...]
    tokens: int = 0
    inputs: int = 0
    source: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise CollsimError("a model's name must be a text that is not empty, got {name!r}", name=self.name)
        for what in ("tokens", "inputs"):
            object.__setattr__(self, what, parse_count(getattr(self, what), what, least=0))
        if (
            not isinstance(self.layers, list | tuple)
            or not self.layers
            or not all(isinstance(layer, Layer) for layer in self.layers)
        ):
            why = "model {name!r} needs at least one Layer, got {layers!r:.80}"
            raise CollsimError(why, name=self.name, layers=self.layers)
        if len(self.layers) > MOST_LAYERS:
            raise CollsimError(TOO_MANY, name=self.name, layers=len(self.layers), most=MOST_LAYERS)
        object.__setattr__(self, "layers", tuple(self.layers))
        names = [layer.name for layer in self.layers]
        if len(set(names)) < len(names):
            twice = next(n for n in names if names.count(n) > 1)
            why = "model {name!r} has two layers named {twice!r}; names must differ"
            raise CollsimError(why, name=self.name, twice=twice)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Worked out once: a table may have thousands of layers."""
        return hash((self.name, self.layers, self.tokens, self.inputs, self.source))

    @cached_property
    def parameters(self) -> int:
        """Elements of all parameters."""
        return sum(layer.parameters for layer in self.layers)

    @cached_property
    def nbytes(self) -> int:
        """Bytes of all parameters, and of all gradients."""
        return sum(layer.nbytes for layer in self.layers)

    @cached_property
    def buffer_bytes(self) -> int:
        """Bytes of the float buffers, which DDP broadcasts before a forward pass."""
        return sum(4 * sum(layer.buffers) for layer in self.layers)

    @cached_property
    def tensors(self) -> tuple[tuple[int, str], ...]:
        """(bytes, dtype) of each parameter tensor, in the order of registration."""
        return tuple((n * itemsize(layer.dtype), layer.dtype) for layer in self.layers for n in layer.tensors)

    @cached_property
    def arrival(self) -> tuple[int, ...]:
        """Numbers of the tensors in the order in which their gradients become ready: the last layer's first, and of a
        layer the last registered first; a convolution's weights come before its bias (seen with torch 2.13)."""
        order: list[int] = []
        at = len(self.tensors)
        for layer in reversed(self.layers):
            own = range(at - len(layer.tensors), at)
            order += own if layer.kind == "convolution" else reversed(own)
            at -= len(layer.tensors)
        return tuple(order)

    @cached_property
    def flops(self) -> float:
        """Floating point operations of one sample's forward pass; the backward pass has twice as many."""
        return math.fsum(layer.flops for layer in self.layers)

    def to_frame(self) -> pd.DataFrame:
        """A row per layer: the columns of Layer, with parameters and bytes."""
        import pandas as pd

        rows = [{**{f.name: getattr(layer, f.name) for f in fields(Layer)}, **_sums(layer)} for layer in self.layers]
        return pd.DataFrame(rows)

    @staticmethod
    def from_csv(path: Any, name: str | None = None, **facts: Any) -> Model:
        """A model from a table with a row per layer, in the order of the forward pass.

        Columns: name, tensors (elements, separated by spaces), and any other attribute of Layer by its name.

        Args:
            facts: tokens, inputs, source.

        Raises FormatError that names the line for what a layer cannot be.
        """
        return _from_rows(path, name, facts)

    @staticmethod
    def from_torch(module: Any, *inputs: Any, name: str | None = None) -> Model:
        """A model from a torch.nn.Module that is run once on `inputs`; both may be on the device `meta`, which computes
        nothing.

        Sizes are per sample: the first dimension of the first input is the batch. Needs torch. Raises CollsimError
            without it.
        """
        from .from_torch import from_torch

        return from_torch(module, inputs, name)

    def __repr__(self) -> str:
        return f"<Model {self.name}: {len(self.layers)} layers, {self.parameters:,} parameters>"


def _sums(layer: Layer) -> dict[str, int]:
    return {"parameters": layer.parameters, "bytes": layer.nbytes}


def _from_rows(path: Any, name: str | None, facts: dict[str, Any]) -> Model:
    import csv

    reader = read_csv(path)
    try:
        columns = csv_columns(path, reader)
        rows = [(row, csv_line(reader)) for row in reader]
    except csv.Error as error:
        refuse(path, csv_line(reader), "is no CSV ({error})", error=error)
    known = {f.name for f in fields(Layer)}
    if "name" not in columns or set(columns) - known:
        refuse(
            path,
            "line 1",
            "has columns {columns}; wants name and any of {known}",
            columns=", ".join(map(str, columns)) or Sentence("none"),
            known=", ".join(sorted(known)),
        )
    layers = []
    for row, line in rows:
        try:
            layers.append(_layer(row))
        except CollsimError as error:
            refuse(path, line, error)
    try:
        return Model(name or Path(path).stem, tuple(layers), **facts)
    except CollsimError as error:
        refuse(path, "", error)


def _layer(row: dict[str, Any]) -> Layer:
    """A Layer from a row of texts; an empty field is what a Layer has by itself."""
    if None in row or None in row.values():
        raise CollsimError("has more or fewer fields than line 1")
    given: dict[str, Any] = {"name": ""}
    for column, text in row.items():
        if not (text := text.strip()):
            continue
        if column in ("tensors", "buffers"):
            given[column] = tuple(parse_count(part, column, least=0) for part in text.split())
        elif column in ("ops", "width", "experts", "top", "heads"):
            given[column] = parse_count(text, column, least=0)
        else:
            given[column] = text if column in ("name", "kind", "dtype", "cut") else _number(column, text)
    return Layer(**given)


def _number(column: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise CollsimError("{name}={text!r} is no number", name=column, text=text) from None
