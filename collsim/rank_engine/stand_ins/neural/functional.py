"""`torch.nn.functional`: layers as functions of tensors. Their gradients are those of their parts.

Signatures are those of torch/nn/functional.py of torch 2.13.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from ..gradients import apply_in_place, record
from ..tensors import DType, Tensor, as_tensor
from ..torch_functions import cat
from .losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    l1_loss,
    mse_loss,
    nll_loss,
)
from .refused_options import refuse_changed

#: Of an image in both directions, or of each.
Pair = int | Sequence[int]
#: No border, or one with which an output is as large as the image.
Padding = Literal["valid", "same"]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Multiply by the transposed weight, and add the bias.

    Args:
        input: Of shape (..., inputs).
        weight: Of shape (outputs, inputs).
        bias: Of shape (outputs,); None for 0.
    """
    result = input.matmul(weight.t())
    return result if bias is None else as_tensor(result + bias)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair | Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve images.

    Args:
        input: Of shape (N, channels, height, width).
        weight: Of shape (outputs, channels / groups, height, width).
        bias: One number for each output.
        stride: Pixels from a window to the next.
        padding: Rows and columns of zeros around an image; `same` for an output as large as the image.
        dilation: Pixels from an element of a window to the next.
        groups: Parts of the channels, each of which makes as many of the outputs.

    Raises:
        RuntimeError: The padding is an unknown word, or `same` where the stride is not 1.
    """
    if isinstance(padding, str) and padding not in ("valid", "same"):
        raise RuntimeError(f"Invalid padding string: '{padding}'; use 'valid' or 'same'")
    if padding == "same" and tuple(_read_pair(stride)) != (1, 1):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    windows = _cut_windows(input, weight.shape[2:], stride, padding, dilation)
    count, _, rows, columns, _ = windows.shape
    # (N, groups, rows * columns, inputs of an output) times (groups, inputs, outputs)
    flat = windows.permute(0, 2, 3, 1, 4).contiguous().view(count, rows * columns, groups, -1).transpose(1, 2)
    result = flat.matmul(weight.reshape(groups, weight.shape[0] // groups, -1).transpose(1, 2)).transpose(2, 3)
    result = as_tensor(result.reshape(count, weight.shape[0], rows, columns))
    return result if bias is None else as_tensor(result + bias.reshape(-1, 1, 1))


@refuse_changed("ceil_mode", "return_indices")
def max_pool2d(
    input: Tensor,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """Take the largest pixel of each window.

    Args:
        input: Of shape (N, channels, height, width).
        kernel_size: Pixels of a window.
        stride: Pixels from a window to the next; None for those of a window.
        padding: Rows and columns around an image, which are never the largest.
        dilation: Pixels from an element of a window to the next.
        ceil_mode: Refused.
        return_indices: Refused.
    """
    return as_tensor(_cut_pool(input, kernel_size, stride, padding, dilation, -np.inf).max(-1).values)


@refuse_changed("ceil_mode", "divisor_override")
def avg_pool2d(
    input: Tensor,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Take the mean of each window.

    Args:
        input: Of shape (N, channels, height, width).
        kernel_size: Pixels of a window.
        stride: Pixels from a window to the next; None for those of a window.
        padding: Rows and columns of zeros around an image.
        ceil_mode: Refused.
        count_include_pad: Whether the mean is also that of the zeros.
        divisor_override: Refused.
    """
    cut = functools.partial(_cut_pool, kernel_size=kernel_size, stride=stride, padding=padding)
    if count_include_pad:
        return cut(input).mean(-1)
    inside = as_tensor(np.ones_like(np.asarray(input)))
    return as_tensor(cut(input).sum(-1) / cut(inside).sum(-1))


def _read_pair(value: Pair) -> Sequence[int]:
    return (value, value) if isinstance(value, int) else value


def _cut_pool(
    input: Tensor, kernel_size: Pair, stride: Pair | None, padding: Pair, dilation: Pair = 1, outside: float = 0
) -> Tensor:
    size, steps = _read_pair(kernel_size), _read_pair(dilation)
    for pad, length, step in zip(_read_pair(padding), size, steps, strict=True):
        if 2 * pad > step * (length - 1) + 1:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={pad}, kernel_size={length} and "
                f"dilation={step}"
            )
    if stride is None:
        stride = kernel_size
    return _cut_windows(input, size, stride, padding, dilation, outside)


def _cut_windows(
    input: Tensor, size: Sequence[int], stride: Pair, padding: Pair | Padding, dilation: Pair, outside: float = 0
) -> Tensor:
    """The windows of images: (N, channels, rows, columns, pixels of a window)."""
    *front, height, width = input.shape
    if len(front) != 2:
        raise RuntimeError(f"images are of shape (N, channels, height, width), not {tuple(input.shape)}")
    steps = (*_read_pair(stride), *_read_pair(dilation))
    spans = [step * (length - 1) + 1 for step, length in zip(steps[2:], size, strict=True)]
    if padding == "same":
        borders = [((span - 1) // 2, span // 2) for span in spans]
    else:
        borders = [(count, count) for count in _read_pair(0 if padding == "valid" else padding)]
    # The pixels of all images as rows, with one more behind them that stands for all outside of an image.
    pixels = np.pad(np.arange(height * width).reshape(height, width), borders, constant_values=height * width)
    windows = np.lib.stride_tricks.sliding_window_view(pixels, spans)[tuple(slice(None, None, step) for step in steps)]
    flat = input.flatten(2)
    if np.any(borders):
        flat = cat([flat, np.full((*front, 1), outside, input.dtype)], 2)
    cut: Tensor = flat[:, :, windows.reshape(*windows.shape[:2], -1)]
    return cut


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """Exponentials along a dimension, whose sum is one.

    Args:
        input: Any tensor.
        dim: The dimension; None for 0 of tensors with 0, 1 or 3 dimensions, else 1.
        _stacklevel: Not used.
        dtype: The type of the result; None for that of the input.
    """
    return input.softmax(_choose_dimension(input, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """The logarithm of `softmax`.

    Args:
        input: Any tensor.
        dim: As of `softmax`.
        _stacklevel: Not used.
        dtype: The type of the result; None for that of the input.
    """
    return input.log_softmax(_choose_dimension(input, dim), dtype)


def _choose_dimension(input: Tensor, dim: int | None) -> int:
    if dim is None:
        dim = int(input.ndim not in (0, 1, 3))
    return dim


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """The tensor where it is positive, else 0.

    Args:
        input: Any tensor.
        inplace: Whether it is changed itself.
    """
    result: Tensor = apply_in_place(Tensor.relu, input, inplace)  # type: ignore[attr-defined]
    return result


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The tensor where it is positive, else a part of it.

    Args:
        input: Any tensor.
        negative_slope: The part.
        inplace: Whether it is changed itself.
    """

    def scale(tensor: Tensor) -> Tensor:
        return as_tensor(tensor * np.where(np.asarray(tensor) > 0, 1, negative_slope).astype(tensor.dtype))

    result: Tensor = apply_in_place(scale, input, inplace)
    return result


def gelu(input: Tensor, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    """Multiply by the normal distribution.

    Args:
        input: Any tensor.
        approximate: `tanh` for the distribution by this function.
    """
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (input + 0.044715 * input * input * input)
        return as_tensor(0.5 * input * (1 + np.tanh(inner)))
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    array = np.asarray(input)
    shares = (1 + np.vectorize(math.erf)(array / math.sqrt(2))) / 2
    slope = shares + array * np.exp(-array * array / 2) / math.sqrt(2 * math.pi)
    result = as_tensor((array * shares).astype(array.dtype))
    output: Tensor = record(result, (input,), lambda gradient: [(gradient * slope).astype(array.dtype)])
    return output


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Subtract the mean of the last dimensions, and divide by their deviation.

    Args:
        input: Any tensor.
        normalized_shape: Lengths of the last dimensions.
        weight: Of these lengths, factors afterwards; None for 1.
        bias: Of these lengths, added afterwards; None for 0.
        eps: Added to the variance.
    """
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    if input.shape[dims[0] :] != tuple(normalized_shape):
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape "
            f"{['*', *normalized_shape]}, but got input of size{list(input.shape)}"
        )
    return normalize(
        input, input.mean(dims, keepdim=True), input.var(dims, keepdim=True, correction=0), weight, bias, eps
    )


def normalize(
    input: Tensor, mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Subtract a mean and divide by a deviation.

    Args:
        input: Any tensor.
        mean: Of a shape that broadcasts.
        variance: As `mean`.
        weight: Factor afterwards; None for 1.
        bias: Added afterwards; None for 0.
        eps: Added to the variance.
    """
    result = (input - mean) / np.sqrt(variance + eps)
    if weight is not None:
        result = result * weight
    return as_tensor(result if bias is None else result + bias)


@refuse_changed("padding_idx", "max_norm", "scale_grad_by_freq", "sparse")
def embedding(
    input: np.ndarray,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of a table.

    Args:
        input: Numbers of rows, of any shape.
        weight: The table.
        padding_idx: Refused.
        max_norm: Refused.
        norm_type: Of `max_norm`, not used.
        scale_grad_by_freq: Refused.
        sparse: Refused.

    Raises:
        IndexError: There is no such row.
    """
    numbers = np.asarray(input)
    if ((numbers < 0) | (numbers >= len(weight))).any():
        raise IndexError("index out of range in self")
    rows: Tensor = weight[numbers]
    return rows


#: What needs no numbers of the rank's own; `dropout` does.
FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    function.__name__: function
    for function in (
        linear, conv2d, max_pool2d, avg_pool2d, softmax, log_softmax, relu, leaky_relu, gelu, layer_norm, embedding,
        mse_loss, l1_loss, nll_loss, cross_entropy, binary_cross_entropy, binary_cross_entropy_with_logits,
    )
}  # fmt: skip
for _name in ("sigmoid", "tanh"):
    FUNCTIONS[_name] = getattr(Tensor, _name)
