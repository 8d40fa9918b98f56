"""The layers and losses of `torch.nn` as modules, with the signatures of torch 2.13 (torch/nn/modules).

Wherever a layer has a `device` or `dtype`, there is one device, and float32 is the only type.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Sequence
from types import ModuleType
from typing import ClassVar, Literal

import numpy as np

from ..gradients import Value, apply_in_place, set_recording
from ..tensors import DType, KnownModule, Tensor, as_tensor
from ..torch_functions import TensorFunctions
from . import functional
from .functional import Padding, Pair
from .modules import ModelOnAllDevices, Module, ModuleList, Parameter, Sequential
from .refused_options import refuse_changed


class Linear(Module):
    """A matrix product and a sum; its first numbers are drawn as torch draws them."""

    @refuse_changed("dtype")
    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: object = None, dtype: DType | None = None
    ) -> None:
        """The layer.

        Args:
            in_features: Numbers of an input.
            out_features: Numbers of an output.
            bias: Whether numbers are added.
            device: Not used.
            dtype: None or float32.
        """
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        bound = 1 / math.sqrt(max(1, in_features))
        self.weight = self._draw_uniform(out_features, in_features, bound=bound)
        self.bias = self._draw_uniform(out_features, bound=bound) if bias else None

    def forward(self, input: Tensor) -> Tensor:
        """Compute the output.

        Args:
            input: Of shape (..., in_features).
        """
        return functional.linear(input, self.weight, self.bias)


class Conv2d(Module):
    """A convolution of images."""

    @refuse_changed("padding_mode", "dtype")
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair | Padding = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: Literal["zeros"] = "zeros",
        device: object = None,
        dtype: DType | None = None,
    ) -> None:
        """The layer.

        Args:
            in_channels: Channels of an image.
            out_channels: Channels of an output.
            kernel_size: Pixels of a window.
            stride: Pixels from a window to the next.
            padding: Rows and columns of zeros around an image; `same` for an output as large as the image.
            dilation: Pixels from an element of a window to the next.
            groups: Parts of the channels, each of which makes as many of the outputs.
            bias: Whether a number is added to each channel.
            padding_mode: Refused.
            device: Not used.
            dtype: None or float32.
        """
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"{in_channels} and {out_channels} channels must be divisible by groups={groups}")
        size = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        bound = 1 / math.sqrt(in_channels // groups * math.prod(size))
        self.weight = self._draw_uniform(out_channels, in_channels // groups, *size, bound=bound)
        self.bias = self._draw_uniform(out_channels, bound=bound) if bias else None
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def forward(self, input: Tensor) -> Tensor:
        """Compute the output.

        Args:
            input: Of shape (N, in_channels, height, width).
        """
        return functional.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class BatchNorm2d(Module):
    """Channels with the mean 0 and the variance 1."""

    #: How many dimensions an input may have.
    dimensions: ClassVar[tuple[int, ...]] = (4,)
    #: Of all batches that it was trained with.
    running_mean: Tensor
    #: Of all batches that it was trained with.
    running_var: Tensor
    #: How many batches there were.
    num_batches_tracked: Tensor

    @refuse_changed("affine", "track_running_stats", "dtype", "bias")
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: object = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        """The layer.

        Args:
            num_features: Channels.
            eps: Added to the variance.
            momentum: Share of each batch in the statistics for evaluation; None for the mean of all batches.
            affine: Refused.
            track_running_stats: Refused.
            device: Not used.
            dtype: None or float32.
            bias: Refused.
        """
        super().__init__()
        self.weight = Parameter(self.functions.ones(num_features))
        self.bias = Parameter(self.functions.zeros(num_features))
        self.register_buffer("running_mean", self.functions.zeros(num_features))
        self.register_buffer("running_var", self.functions.ones(num_features))
        self.register_buffer("num_batches_tracked", self.functions.zeros((), dtype=np.int64))
        self.eps, self.momentum = eps, momentum

    def forward(self, input: Tensor) -> Tensor:
        """Compute the output.

        Args:
            input: Of shape (N, channels, ...).
        """
        if input.ndim not in self.dimensions:
            raise ValueError(
                f"expected {' or '.join(f'{n}D' for n in self.dimensions)} input (got {input.ndim}D input)"
            )
        dims = tuple(axis for axis in range(input.ndim) if axis != 1)
        shape = (1, -1, *(1,) * (input.ndim - 2))
        if not self.training:
            statistics = self.running_mean.view(shape), self.running_var.view(shape)
        else:
            if input.numel() == input.shape[1]:
                message = "Expected more than 1 value per channel when training"
                raise ValueError(f"{message}, got input size {tuple(input.shape)}")
            statistics = input.mean(dims, keepdim=True), input.var(dims, keepdim=True, correction=0)
            with set_recording(False):
                self.num_batches_tracked += 1
                share = 1 / self.num_batches_tracked.item() if self.momentum is None else self.momentum
                values = input.mean(dims), input.var(dims)
                for statistic, value in zip((self.running_mean, self.running_var), values, strict=True):
                    statistic += share * (value - statistic)
        return functional.normalize(input, *statistics, self.weight.view(shape), self.bias.view(shape), self.eps)


class BatchNorm1d(BatchNorm2d):
    """`BatchNorm2d` of inputs with one number or one row for each channel."""

    dimensions = (2, 3)


class LayerNorm(Module):
    """The last dimensions with the mean 0 and the variance 1."""

    @refuse_changed("dtype")
    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: object = None,
        dtype: DType | None = None,
    ) -> None:
        """The layer.

        Args:
            normalized_shape: Lengths of the last dimensions.
            eps: Added to the variance.
            elementwise_affine: Whether it has parameters.
            bias: Whether one of them is added.
            device: Not used.
            dtype: None or float32.
        """
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.weight = self.bias = None
        if elementwise_affine:
            self.weight = Parameter(self.functions.ones(self.normalized_shape))
        if elementwise_affine and bias:
            self.bias = Parameter(self.functions.zeros(self.normalized_shape))
        self.eps = eps

    def forward(self, input: Tensor) -> Tensor:
        """Compute the output.

        Args:
            input: Of shape (..., *normalized_shape).
        """
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class Embedding(Module):
    """A table of vectors."""

    @refuse_changed("padding_idx", "max_norm", "scale_grad_by_freq", "sparse", "_weight", "_freeze", "dtype")
    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: object = None,
        dtype: DType | None = None,
    ) -> None:
        """The layer.

        Args:
            num_embeddings: Rows.
            embedding_dim: Numbers of a row.
            padding_idx: Refused.
            max_norm: Refused.
            norm_type: Of `max_norm`, not used.
            scale_grad_by_freq: Refused.
            sparse: Refused.
            _weight: Refused.
            _freeze: Refused.
            device: Not used.
            dtype: None or float32.
        """
        super().__init__()
        self.weight = Parameter(self.functions.randn(num_embeddings, embedding_dim))

    def forward(self, input: np.ndarray) -> Tensor:
        """Compute the output.

        Args:
            input: Numbers of rows, of any shape.
        """
        return functional.embedding(input, self.weight)


class Dropout(Module):
    """Zeros in place of some numbers while it is trained."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        """The layer.

        Args:
            p: Share of zeros.
            inplace: Whether the input is changed itself.
        """
        super().__init__()
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Compute the output.

        Args:
            input: Any tensor.
        """
        return drop(self.functions, input, self.p, self.training, self.inplace)


def drop(
    functions: TensorFunctions, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`torch.nn.functional.dropout`.

    Args:
        functions: Of the rank, for its random numbers.
        input: Any tensor.
        p: Share of zeros, 0 to 1.
        training: Whether there are any.
        inplace: Whether the input is changed itself.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or not p:
        return input
    factor = np.float32(1 / max(1 - p, 1e-12))  # of nothing where all are zeros
    dropped: Tensor = apply_in_place(
        lambda tensor: as_tensor(tensor * ((functions.rand(*input.shape) >= p) * factor)), input, inplace
    )
    return dropped


class Flatten(Module):
    """Several dimensions as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        """The layer.

        Args:
            start_dim: The first of them.
            end_dim: The last one.
        """
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Compute the output.

        Args:
            input: Any tensor.
        """
        return input.flatten(self.start_dim, self.end_dim)


def _make_module(name: str, word: str, *options: str) -> type[Module]:
    """A module that calls a function with options that it is made with."""
    function = functional.FUNCTIONS[word]
    parameters = inspect.signature(function).parameters
    signature = inspect.Signature([parameters[option] for option in options])

    def __init__(self: Value, *args: Value, **named: Value) -> None:
        Module.__init__(self)
        bound = signature.bind(*args, **named)
        bound.apply_defaults()
        self.__dict__.update(bound.arguments)

    def forward(self: Value, *args: Value) -> Tensor:
        return function(*args, **{option: getattr(self, option) for option in options})

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    with_itself = signature.replace(parameters=[itself, *signature.parameters.values()])
    __init__.__signature__ = with_itself  # type: ignore[attr-defined]
    return type(name, (Module,), {"__init__": __init__, "forward": forward, "__doc__": function.__doc__})


_OLD_REDUCTIONS = ("size_average", "reduce", "reduction")
#: Modules that call a function and have no parameters, with their options in torch's order.
_OF_FUNCTIONS = {
    "ReLU": ("relu", "inplace"),
    "LeakyReLU": ("leaky_relu", "negative_slope", "inplace"),
    "Sigmoid": ("sigmoid",),
    "Tanh": ("tanh",),
    "GELU": ("gelu", "approximate"),
    "Softmax": ("softmax", "dim"),
    "LogSoftmax": ("log_softmax", "dim"),
    "MaxPool2d": ("max_pool2d", "kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"),
    "AvgPool2d": (
        "avg_pool2d", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override",
    ),
    "MSELoss": ("mse_loss", *_OLD_REDUCTIONS),
    "L1Loss": ("l1_loss", *_OLD_REDUCTIONS),
    "NLLLoss": ("nll_loss", "weight", "size_average", "ignore_index", "reduce", "reduction"),
    "CrossEntropyLoss": (
        "cross_entropy", "weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing",
    ),
    "BCELoss": ("binary_cross_entropy", "weight", *_OLD_REDUCTIONS),
    "BCEWithLogitsLoss": ("binary_cross_entropy_with_logits", "weight", *_OLD_REDUCTIONS, "pos_weight"),
}  # fmt: skip
_LAYERS: dict[str, type[Module]] = {
    **{name: _make_module(name, *words) for name, words in _OF_FUNCTIONS.items()},
    "DataParallel": ModelOnAllDevices,
    **{
        layer.__name__: layer
        for layer in (
            Linear, Conv2d, BatchNorm1d, BatchNorm2d, LayerNorm, Embedding, Dropout, Flatten, Sequential, ModuleList,
        )
    },
}  # fmt: skip


def clip_grad_norm_(
    parameters: Value,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """`torch.nn.utils.clip_grad_norm_`: shorten the gradients of parameters to a length together.

    Args:
        parameters: A parameter, or several.
        max_norm: The length.
        norm_type: The power that the length is of; infinity for that of the largest element.
        error_if_nonfinite: Whether a length that is not finite is an error.
        foreach: Not used.

    Returns:
        Their length before.

    Raises:
        RuntimeError: It is not finite.
    """
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    gradients = [np.asarray(parameter.grad) for parameter in listed if parameter.grad is not None]
    if not gradients:
        return as_tensor(np.float32(0))
    norm = np.linalg.norm(np.concatenate([gradient.reshape(-1) for gradient in gradients]), float(norm_type))
    if error_if_nonfinite and not np.isfinite(norm):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients is non-finite, so it cannot be clipped.")
    for gradient in gradients:
        gradient *= np.minimum(1, max_norm / (norm + 1e-6)).astype(gradient.dtype)
    return as_tensor(norm)


def build_network_modules(functions: TensorFunctions, parallel: dict[str, object]) -> dict[str, ModuleType]:
    """The modules `torch.nn` and its parts.

    Args:
        functions: Of the rank, for its random numbers.
        parallel: Words of `torch.nn.parallel` besides DataParallel.

    Returns:
        Modules by name.
    """
    # Classes of this rank, as layers draw their first numbers from its random numbers.
    layers: dict[str, Value] = {name: type(name, (kind,), {"functions": functions}) for name, kind in _LAYERS.items()}
    nn, inner, utils = KnownModule("torch.nn"), KnownModule("torch.nn.parallel"), KnownModule("torch.nn.utils")
    words = KnownModule("torch.nn.functional")
    vars(words).update(functional.FUNCTIONS)
    vars(words).update(dropout=functools.partial(drop, functions))
    vars(utils).update(clip_grad_norm_=clip_grad_norm_)
    vars(inner).update(DataParallel=layers["DataParallel"], **parallel)
    vars(nn).update(layers, Module=Module, Parameter=Parameter, functional=words, parallel=inner, utils=utils)
    return {module.__name__: module for module in (nn, inner, utils, words)}
