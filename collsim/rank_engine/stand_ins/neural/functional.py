"""`torch.nn.functional`: layers and losses as functions of tensors. Their gradients are those of their parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from ..gradients import record
from ..tensors import Tensor, as_tensor
from ..torch_functions import cat

Reduction = Literal["mean", "sum", "none"]
#: Of an image in both directions, or of each.
Pair = int | Sequence[int]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Multiply by the transposed weight, and add the bias."""
    result = input.matmul(weight.t())
    return result if bias is None else as_tensor(result + bias)


def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Pair = 1, padding: Pair = 0, **_: object
) -> Tensor:
    """Convolve images with one group and no dilation.

    Args:
        input: Of shape (N, channels, height, width).
        weight: Of shape (outputs, channels, height, width).
        bias: One number for each output.
        stride: Pixels from a window to the next.
        padding: Rows and columns of zeros around an image.
    """
    windows = _cut_windows(input, weight.shape[2:], stride, padding)  # (N, channels, rows, columns, height * width)
    count, _, rows, columns, _ = windows.shape
    flat = windows.permute(0, 2, 3, 1, 4).contiguous().view(count, rows * columns, -1)
    result = flat.matmul(weight.flatten(1).t()).transpose(1, 2)
    result = as_tensor(result.reshape(count, weight.shape[0], rows, columns))
    return result if bias is None else as_tensor(result + bias.reshape(-1, 1, 1))


def max_pool2d(input: Tensor, kernel_size: Pair, stride: Pair | None = None, padding: Pair = 0) -> Tensor:
    """Take the largest pixel of each window."""
    windows = _cut_windows(input, _read_pair(kernel_size), stride or kernel_size, padding, -np.inf)
    return as_tensor(windows.max(-1).values)


def avg_pool2d(input: Tensor, kernel_size: Pair, stride: Pair | None = None, padding: Pair = 0) -> Tensor:
    """Take the mean of each window."""
    return _cut_windows(input, _read_pair(kernel_size), stride or kernel_size, padding).mean(-1)


def _read_pair(value: Pair) -> Sequence[int]:
    return (value, value) if isinstance(value, int) else value


def _cut_windows(input: Tensor, size: Sequence[int], stride: Pair, padding: Pair, outside: float = 0) -> Tensor:
    """The windows of images: (N, channels, rows, columns, pixels of a window)."""
    (down, right), (above, left) = _read_pair(stride), _read_pair(padding)
    *front, height, width = input.shape
    if len(front) != 2:
        raise RuntimeError(f"images are of shape (N, channels, height, width), not {tuple(input.shape)}")
    # The pixels of all images as rows, with one more behind them that stands for all outside of an image.
    pixels = np.full((height + 2 * above, width + 2 * left), height * width)
    pixels[above : above + height, left : left + width] = np.arange(height * width).reshape(height, width)
    windows = np.lib.stride_tricks.sliding_window_view(pixels, tuple(size))[::down, ::right]
    rows, columns = windows.shape[:2]
    flat = input.flatten(2)
    if above or left:
        flat = cat([flat, np.full((*front, 1), outside, input.dtype)], 2)
    cut: Tensor = flat[:, :, windows.reshape(rows, columns, -1)]
    return cut


def softmax(input: Tensor, dim: int = -1, **_: object) -> Tensor:
    """Exponentials along a dimension, whose sum is one."""
    return input.softmax(dim)


def log_softmax(input: Tensor, dim: int = -1, **_: object) -> Tensor:
    """The logarithm of `softmax`."""
    return input.log_softmax(dim)


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """The tensor where it is positive, else a part of it."""
    return as_tensor(input * np.where(np.asarray(input) > 0, 1, negative_slope).astype(input.dtype))


def gelu(input: Tensor, **_: object) -> Tensor:
    """Multiply by the normal distribution.

    Args:
        input: Any tensor.
        _: Not used.
    """
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
    """Subtract the mean of the last dimensions, and divide by their deviation."""
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    return normalize(input, input.mean(dims, keepdim=True), input.var(dims, True, 0), weight, bias, eps)


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


def embedding(input: np.ndarray, weight: Tensor) -> Tensor:
    """The rows of a table."""
    rows: Tensor = weight[np.asarray(input)]
    return rows


# ---- losses


def mse_loss(input: Tensor, target: np.ndarray, reduction: Reduction = "mean") -> Tensor:
    """Squares of the differences."""
    difference = input - target
    return _reduce(difference * difference, reduction)


def l1_loss(input: Tensor, target: np.ndarray, reduction: Reduction = "mean") -> Tensor:
    """Absolute differences."""
    return _reduce(np.abs(input - target), reduction)


def nll_loss(input: Tensor, target: np.ndarray, reduction: Reduction = "mean") -> Tensor:
    """The negative logarithm of the probability of the right class.

    Args:
        input: Logarithms, of shape (N, classes).
        target: The right class of each.
        reduction: `mean`, `sum` or `none`.
    """
    classes = np.asarray(target)
    if classes.dtype.kind not in "iu":
        raise RuntimeError(f"expected scalar type Long but found {classes.dtype.name}")
    return _reduce(-input[np.arange(len(classes)), classes], reduction)


def cross_entropy(input: Tensor, target: np.ndarray, reduction: Reduction = "mean", **_: object) -> Tensor:
    """`nll_loss` of `log_softmax`.

    Args:
        input: Of shape (N, classes).
        target: The right class of each, or the probabilities of all classes.
        reduction: `mean`, `sum` or `none`.
        _: Not used.
    """
    logarithms = input.log_softmax(1)
    if np.asarray(target).dtype.kind == "f":
        return _reduce(-(logarithms * target).sum(1), reduction)
    return nll_loss(logarithms, target, reduction)


def binary_cross_entropy(input: Tensor, target: np.ndarray, reduction: Reduction = "mean") -> Tensor:
    """The negative logarithm of the probability of what is true."""
    return _reduce(-(np.log(input) * target + np.log(1 - input) * (1 - target)), reduction)


def binary_cross_entropy_with_logits(input: Tensor, target: np.ndarray, reduction: Reduction = "mean") -> Tensor:
    """`binary_cross_entropy` of the sigmoid."""
    return _reduce(FUNCTIONS["relu"](input) - input * target + np.log1p(np.exp(-np.abs(input))), reduction)


def _reduce(losses: np.ndarray, reduction: Reduction) -> Tensor:
    tensor = as_tensor(losses)
    if reduction == "none":
        return tensor
    return tensor.mean() if reduction == "mean" else tensor.sum()


#: What needs no numbers of the rank's own; `dropout` does.
FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    function.__name__: function
    for function in (
        linear, conv2d, max_pool2d, avg_pool2d, softmax, log_softmax, leaky_relu, gelu, layer_norm, embedding, mse_loss,
        l1_loss, nll_loss, cross_entropy, binary_cross_entropy, binary_cross_entropy_with_logits,
    )
}  # fmt: skip
for _name in ("relu", "sigmoid", "tanh"):
    FUNCTIONS[_name] = getattr(Tensor, _name)
