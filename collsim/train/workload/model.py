"""A model as a training step sees it: a table of layers, and nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...dtypes import find_dtype_name, find_itemsize
from ...errors import CollsimError, Sentence, Words, require_word
from ...files import locate_csv_line, open_csv, read_csv_columns, refuse
from ...units import parse_count

if TYPE_CHECKING:
    import pandas as pd
    import torch

#: How tensor parallelism partitions a layer: by columns (its output), by rows (its input; results are summed), by
#: attention heads, by vocabulary; "" where it does not.
PARTITIONS = ("", "column", "row", "heads", "vocab")
LAYER_KINDS = ("gemm", "convolution", "attention", "flash", "norm", "embedding", "elementwise", "moe")
#: A name that goes on behind a number: what comes before is the name of a block.
_NUMBERED = re.compile(r"(.*?\.)?\d+(?=\.)")
_MAX_FIGURE = 1e30  # of any figure of a layer: sums of such stay finite
MAX_LAYERS = 100_000
TOO_MANY_LAYERS = "model {name!r} has {layers:,} layers; {most:,} is the most"
#: Attributes of a Layer by what they hold.
_SIZES = ("tensors", "buffers")
_FIGURES = (
    "flops",
    "traffic",
    "pointwise",
    "backward_pointwise",
    "activations",
    "wide_activations",
    "outputs",
    "mask_bytes",
    "kv_size",
)
_COUNTS = ("ops", "width", "kernel", "python_ops", "experts", "top_k", "heads")
_WORDS = ("name", "kind", "dtype", "partition")


@dataclass(frozen=True)
class Layer:
    """One layer: what it holds, and what one sample costs in it.

    Attributes:
        name: Name, unique in its model.
        tensors: Elements of each parameter tensor, in the order of registration.
        flops: Floating point operations of the forward pass per sample (two for a multiply-add).
        traffic: Elements of activations that the forward pass reads and writes per sample; parameters come on top, once
            a pass.
        pointwise: Elements that the operations beside the layer's product read and write per sample when each is a
            kernel of its own, as in eager PyTorch (an activation, a residual).
        backward_pointwise: The same in a backward pass; 0: one and a half times as many.
        activations: Elements of activations that are kept for the backward pass per sample.
        wide_activations: Elements more of them that are kept in the type of the weights, where that is wider: what
            torch.autocast leaves in float32.
        outputs: Elements that the next layer receives per sample.
        mask_bytes: Bytes that are kept for the backward pass per sample, whatever the type (dropout masks, indices).
        kind: gemm, convolution, attention, flash (causal attention in one kernel that stores no scores), norm,
            embedding, elementwise or moe.
        ops: Operations that the forward pass launches, as eager PyTorch does.
        python_ops: Operations whose time the host's forward pass takes beside them: views, masks, caches, and the
            choice of a convolution's kernel, which a backward pass makes twice.
        buffers: Elements of each float buffer (BatchNorm's statistics).
        width: Channels of a group of a grouped convolution, tokens of a sequence in flash attention, columns of a
            matrix that may not be a multiple of what is read at once; 0 for everything else.
        kernel: Side of a convolution's kernel; 0 where that is not known.
        dtype: Type of its parameters and their gradients.
        partition: How tensor parallelism partitions it: column, row, heads or vocab; empty where it does not.
        experts: Experts that share its tensors evenly; 0 where it is no mixture of experts.
        top_k: Experts that each token goes to.
        kv_size: Elements of keys and values per sample, which context parallelism passes on.
        heads: Attention heads, which tensor parallelism shares evenly; 0 where that is not known.

    Raises:
        CollsimError: A figure is negative or no number, or a name is unknown.

    Examples:
        >>> import collsim as cs
        >>> cs.train.Layer("fc", (2048 * 1000, 1000), flops=2.0 * 2048 * 1000).parameters
        2049000
    """

    name: str
    tensors: tuple[int, ...] = ()
    flops: float = 0.0
    traffic: float = 0.0
    activations: float = 0.0
    outputs: float = 0.0
    mask_bytes: float = 0.0
    kind: str = "gemm"
    ops: int = 1
    buffers: tuple[int, ...] = ()
    width: int = 0
    dtype: str = "float32"
    partition: str = ""
    experts: int = 0
    top_k: int = 0
    kv_size: float = 0.0
    heads: int = 0
    pointwise: float = 0.0
    kernel: int = 0
    python_ops: int = 0
    wide_activations: float = 0.0
    backward_pointwise: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise CollsimError("a layer's name must be a text that is not empty, got {name!r}", name=self.name)
        label = Sentence("layer {name!r}", name=self.name)
        for attribute in _SIZES:
            # The class is frozen: checked values are put in through `object`.
            object.__setattr__(self, attribute, _parse_sizes(label, attribute, getattr(self, attribute)))
        for attribute in _FIGURES:
            object.__setattr__(self, attribute, _parse_figure(label, attribute, getattr(self, attribute)))
        for attribute in _COUNTS:
            name = Sentence("{where}: {what}", where=label, what=attribute)
            parse_count(getattr(self, attribute), name, least=0)
        if self.top_k > self.experts:
            message = "{where}: top_k={top_k} of {experts} experts: a token goes to fewer than there are"
            raise CollsimError(message, where=label, top_k=self.top_k, experts=self.experts)
        require_word(Sentence("partition of layer ({where})", where=label), self.partition, PARTITIONS)
        require_word(Sentence("kind of layer ({where})", where=label), self.kind, LAYER_KINDS)
        object.__setattr__(self, "dtype", find_dtype_name(self.dtype))

    @property
    def parameters(self) -> int:
        """Elements of all its tensors."""
        return sum(self.tensors)

    @property
    def nbytes(self) -> int:
        """Bytes of its parameters, and of their gradients."""
        return self.parameters * find_itemsize(self.dtype)

    def count_activation_bytes(self, itemsize: int) -> float:
        """Count the bytes of activations that are kept for the backward pass per sample, without masks.

        Args:
            itemsize: Bytes of an element of the type that is computed in.

        Returns:
            Bytes.
        """
        wide = max(itemsize, find_itemsize(self.dtype))
        if self.kind == "attention" and wide > itemsize:
            wide += itemsize  # the product behind a softmax in float32 keeps a copy in 16 bits
        return self.activations * itemsize + self.wide_activations * wide

    @property
    def backward_ratio(self) -> float:
        """Reads and writes of the operations beside its product in a backward pass, for one in a forward pass."""
        if self.backward_pointwise:
            return self.backward_pointwise / self.pointwise
        return 1.5  # gelu 3 for 2, SwiGLU 9 for 5

    @property
    def block(self) -> str:
        """Name of the block that it is part of, its own up to the first number: `h.3` of `h.3.mlp.up`; empty for a
        layer outside of blocks."""
        match = _NUMBERED.match(self.name)
        if match:
            return match.group()
        return ""


def _parse_sizes(label: Words, attribute: str, values: object) -> tuple[int, ...]:
    """Numbers of elements, checked; a single number counts as one tensor."""
    if isinstance(values, list | tuple):
        sizes = values
    else:
        sizes = [values]
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < _MAX_FIGURE:
            message = "{where}: {what}={values!r}: {value!r} is no number of elements; give whole numbers of at least 0"
            raise CollsimError(message, where=label, what=attribute, values=values, value=size)
    return tuple(sizes)


def _parse_figure(label: Words, attribute: str, value: object) -> float:
    """A finite number of at least 0, checked."""
    figure = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        figure = value
    if not 0 <= figure < _MAX_FIGURE:
        message = "{where}: {what}={value!r} must be a number of at least 0"
        raise CollsimError(message, where=label, what=attribute, value=value)
    return float(figure)


@dataclass(frozen=True)
class Model:
    """Layers in the order in which the forward pass runs them; gradients become ready in the opposite order.

    Attributes:
        name: Name of the model.
        layers: The table. A tensor that two layers share belongs to the one that runs first: its gradient is ready
            last.
        tokens: Tokens of a sample; 0 where samples have none.
        input_bytes: Bytes of one sample as it is put in.
        source: Where its figures come from.

    Raises:
        CollsimError: There is no layer, two layers have one name, or there are more than 100,000.

    Examples:
        >>> import collsim as cs
        >>> cs.train.Model("two", (cs.train.Layer("a", (100,)), cs.train.Layer("b", (50, 10))))
        <Model two: 2 layers, 160 parameters>
    """

    name: str
    layers: tuple[Layer, ...]
    tokens: int = 0
    input_bytes: int = 0
    source: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise CollsimError("a model's name must be a text that is not empty, got {name!r}", name=self.name)
        for attribute in ("tokens", "input_bytes"):
            object.__setattr__(self, attribute, parse_count(getattr(self, attribute), attribute, least=0))
        is_table = isinstance(self.layers, list | tuple) and all(isinstance(layer, Layer) for layer in self.layers)
        if not is_table or not self.layers:
            message = "model {name!r} needs at least one Layer, got {layers!r:.80}"
            raise CollsimError(message, name=self.name, layers=self.layers)
        if len(self.layers) > MAX_LAYERS:
            raise CollsimError(TOO_MANY_LAYERS, name=self.name, layers=len(self.layers), most=MAX_LAYERS)
        object.__setattr__(self, "layers", tuple(self.layers))
        # Names address layers (compute by name, edits), so two of one name would be one in every table.
        names = [layer.name for layer in self.layers]
        if len(set(names)) < len(names):
            duplicate = next(name for name in names if names.count(name) > 1)
            message = "model {name!r} has two layers named {twice!r}; names must differ"
            raise CollsimError(message, name=self.name, twice=duplicate)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Computed once: a table may have thousands of layers."""
        return hash((self.name, self.layers, self.tokens, self.input_bytes, self.source))

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
        return tuple(
            (size * find_itemsize(layer.dtype), layer.dtype) for layer in self.layers for size in layer.tensors
        )

    @cached_property
    def gradient_order(self) -> tuple[int, ...]:
        """Numbers of the tensors in the order in which their gradients become ready: the last layer's first, and within
        a layer the last registered first; a convolution's weights come before its bias (observed with torch 2.13)."""
        order: list[int] = []
        end = len(self.tensors)
        for layer in reversed(self.layers):
            begin = end - len(layer.tensors)
            numbers = range(begin, end)
            order += numbers if layer.kind == "convolution" else reversed(numbers)
            end = begin
        return tuple(order)

    @property
    def has_blocks(self) -> bool:
        """Whether it is made of blocks, which FSDP gathers and activation recomputation computes again as a whole."""
        return any(layer.block for layer in self.layers)

    @property
    def has_partitions(self) -> bool:
        """Whether layers say how tensor parallelism partitions them, as those of all transformers do."""
        return any(layer.partition for layer in self.layers)

    @cached_property
    def flops(self) -> float:
        """Floating point operations of one sample's forward pass; the backward pass has twice as many."""
        return math.fsum(layer.flops for layer in self.layers)

    def to(self, dtype: str) -> Model:
        """Convert the model's weights, as `torch.nn.Module.to` does.

        Args:
            dtype: Type of the weights, their gradients and the optimizer's state: float32, float16 or bfloat16.

        Returns:
            The same model with weights of that type.

        Raises:
            CollsimError: The type is unknown.

        Examples:
            >>> import collsim as cs
            >>> model = cs.model("llama2-7b")
            >>> model.nbytes // model.to("bfloat16").nbytes
            2
        """
        layers = tuple(replace(layer, dtype=dtype) for layer in self.layers)
        return replace(self, layers=layers)

    def to_frame(self) -> pd.DataFrame:
        """A row per layer: the attributes of `Layer`, with parameters and bytes."""
        from ...errors.dependencies import pandas as pd

        rows = []
        for layer in self.layers:
            attributes = {field.name: getattr(layer, field.name) for field in fields(Layer)}
            rows.append({**attributes, "parameters": layer.parameters, "bytes": layer.nbytes})
        return pd.DataFrame(rows)

    @staticmethod
    def from_csv(
        path: str | PathLike[str], name: str | None = None, *, tokens: int = 0, input_bytes: int = 0, source: str = ""
    ) -> Model:
        """Read a model from a table with a row per layer, in the order of the forward pass.

        Columns are name, tensors (elements, separated by spaces), and any other attribute of `Layer` by its name.

        Args:
            path: Path of a CSV file.
            name: Name of the model; the file's name by default.
            tokens: Tokens of a sample; 0 where samples have none.
            input_bytes: Bytes of one sample as it is put in.
            source: Where the figures come from.

        Returns:
            The model.

        Raises:
            FormatError: A line is not what a layer can be; the error names it.

        Examples:
            >>> import collsim as cs
            >>> from pathlib import Path
            >>> from tempfile import TemporaryDirectory
            >>> with TemporaryDirectory() as folder:
            ...     path = Path(folder, "small.csv")
            ...     _ = path.write_text("name,tensors,flops\\nconv,9408,2e9\\nfc,2048000 1000,4e6\\n")
            ...     cs.train.Model.from_csv(path)
            <Model small: 2 layers, 2,058,408 parameters>
        """
        layers = _read_layers(path)
        try:
            return Model(name or Path(path).stem, layers, tokens, input_bytes, source)
        except CollsimError as error:
            refuse(path, "", error)

    @staticmethod
    def from_torch(module: torch.nn.Module, *inputs: torch.Tensor, name: str | None = None) -> Model:
        """Read a model from a torch.nn.Module, which runs once. Needs torch.

        Args:
            module: The module; on the device `meta` it computes nothing.
            *inputs: Its inputs, on the same device. The first dimension of the first one is the batch: all figures are
                divided by it.
            name: Name of the model; the module's class by default.

        Returns:
            The model, with a layer for each leaf of the module.

        Raises:
            CollsimError: torch is missing, or the module does not run on these inputs.

        Examples:
            >>> import collsim as cs
            >>> import torch  # doctest: +SKIP
            >>> cs.train.Model.from_torch(torch.nn.Linear(8, 4), torch.ones(1, 8))  # doctest: +SKIP
            <Model Linear: 1 layers, 36 parameters>
        """
        from .from_torch import trace_module

        return trace_module(module, inputs, name)

    def __repr__(self) -> str:
        return f"<Model {self.name}: {len(self.layers)} layers, {self.parameters:,} parameters>"


def _read_layers(path: str | PathLike[str]) -> tuple[Layer, ...]:
    """The layers of a CSV file. Raises FormatError that names the line."""
    import csv

    reader = open_csv(path)
    try:
        columns = read_csv_columns(path, reader)
        rows = [(row, locate_csv_line(reader)) for row in reader]
    except csv.Error as error:
        refuse(path, locate_csv_line(reader), "is no CSV ({error})", error=error)
    known = {field.name for field in fields(Layer)}
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
            layers.append(_parse_layer(row))
        except CollsimError as error:
            refuse(path, line, error)
    return tuple(layers)


def _parse_layer(row: Mapping[str | None, str | None]) -> Layer:
    """A Layer from a row of texts; an empty field is the default of a Layer."""
    attributes: dict[str, Any] = {"name": ""}
    for column, field in row.items():
        if column is None or field is None:  # what csv.DictReader makes of a longer or shorter row
            raise CollsimError("has more or fewer fields than line 1")
        text = field.strip()
        if not text:
            continue
        if column in _SIZES:
            attributes[column] = tuple(parse_count(size, column, least=0) for size in text.split())
        elif column in _COUNTS:
            attributes[column] = parse_count(text, column, least=0)
        elif column in _WORDS:
            attributes[column] = text
        else:
            attributes[column] = _parse_number(column, text)
    return Layer(**attributes)


def _parse_number(column: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise CollsimError("{name}={text!r} is no number", name=column, text=text) from None
