"""The losses of `torch.nn.functional`, with the signatures of torch 2.13 (torch/nn/functional.py)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..gradients import record
from ..tensors import Tensor, as_tensor
from .refused_options import refuse_changed

Reduction = Literal["mean", "sum", "none"]
#: Options from before there was `reduction`.
_refuse_old_reductions = refuse_changed("size_average", "reduce")


@refuse_changed("size_average", "reduce", "weight")
def mse_loss(
    input: Tensor,
    target: np.ndarray,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Reduction = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Squares of the differences.

    Args:
        input: Any tensor.
        target: Of a shape that broadcasts.
        size_average: Refused.
        reduce: Refused.
        reduction: `mean`, `sum` or `none`.
        weight: Refused.
    """
    difference = input - target
    return _reduce(difference * difference, reduction)


@refuse_changed("size_average", "reduce", "weight")
def l1_loss(
    input: Tensor,
    target: np.ndarray,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Reduction = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute differences.

    Args:
        input: Any tensor.
        target: Of a shape that broadcasts.
        size_average: Refused.
        reduce: Refused.
        reduction: `mean`, `sum` or `none`.
        weight: Refused.
    """
    return _reduce(np.abs(input - target), reduction)


@_refuse_old_reductions
def nll_loss(
    input: Tensor,
    target: np.ndarray,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """The negative logarithm of the probability of the right class.

    Args:
        input: Logarithms, of shape (classes,) or (N, classes, ...).
        target: The right class of each, of shape (N, ...).
        weight: One number for each class; None for 1.
        size_average: Refused.
        ignore_index: The class of what has no loss.
        reduce: Refused.
        reduction: `mean`, `sum` or `none`.
    """
    return _measure_classes(input, target, weight, ignore_index, reduction)


@_refuse_old_reductions
def cross_entropy(
    input: Tensor,
    target: np.ndarray,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """`nll_loss` of `log_softmax`.

    Args:
        input: Of shape (classes,) or (N, classes, ...).
        target: The right class of each, of shape (N, ...); or the probabilities of all classes, of the input's shape.
        weight: One number for each class; None for 1.
        size_average: Refused.
        ignore_index: The class of what has no loss; not with probabilities.
        reduce: Refused.
        reduction: `mean`, `sum` or `none`.
        label_smoothing: The part of the right class, 0 to 1, that all classes share.
    """
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    dim = _find_class_dimension(input)
    logarithms = input.log_softmax(dim)
    if target.shape != input.shape:
        return _measure_classes(logarithms, target, weight, ignore_index, reduction, label_smoothing)
    if np.asarray(target).dtype.kind != "f":
        raise RuntimeError("Expected floating point type for target with class probabilities")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    count = input.shape[dim]
    shares = target * (1 - label_smoothing) + label_smoothing / count
    weights = _read_weights(weight, logarithms, dim).reshape(-1, *(1,) * (input.ndim - dim - 1))
    return _reduce(-(logarithms * shares * weights).sum(dim), reduction)


def _find_class_dimension(input: Tensor) -> int:
    return min(1, input.ndim - 1)


def _read_weights(weight: Tensor | None, logarithms: Tensor, dim: int) -> np.ndarray:
    """A number for each class."""
    count = logarithms.shape[dim]
    if weight is None:
        return np.ones(count, logarithms.dtype)
    if weight.shape != (count,):
        raise RuntimeError(f"weight is of shape {weight.shape}, and there are {count} classes")
    return np.asarray(weight)


def _measure_classes(
    logarithms: Tensor,
    target: np.ndarray,
    weight: Tensor | None,
    ignore_index: int,
    reduction: Reduction,
    smoothing: float = 0.0,
) -> Tensor:
    """The loss of classes, by the logarithms of their probabilities."""
    dim = _find_class_dimension(logarithms)
    others = [axis for axis in range(logarithms.ndim) if axis != dim]
    classes, shape = np.asarray(target).reshape(-1), tuple(logarithms.shape[axis] for axis in others)
    if classes.dtype not in (np.int64, np.uint8):
        raise RuntimeError(f"expected scalar type Long but found {classes.dtype.name}")
    if target.shape != shape:
        raise ValueError(f"Expected target size {list(shape)}, got {list(target.shape)}")
    rows = logarithms.permute(*others, dim).reshape(-1, logarithms.shape[dim])
    is_counted = classes != ignore_index
    unknown = classes[is_counted & ((classes < 0) | (classes >= rows.shape[1]))]
    if unknown.size:
        raise IndexError(f"Target {unknown[0]} is out of bounds.")
    # The likeliest class in place of one that is left out: zero times its logarithm is zero.
    classes = np.where(is_counted, classes, np.argmax(np.asarray(rows), 1))
    weights = _read_weights(weight, logarithms, dim)
    shares = weights[classes] * is_counted
    losses = -rows[np.arange(len(classes)), classes] * shares
    if smoothing:
        losses = (1 - smoothing) * losses - smoothing / len(weights) * (rows * weights).sum(1) * is_counted
    return _reduce(losses.reshape(shape), reduction, shares.sum())


@_refuse_old_reductions
def binary_cross_entropy(
    input: Tensor,
    target: np.ndarray,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """The negative logarithm of the probability of what is true.

    Args:
        input: Probabilities.
        target: What is true, 0 to 1, of the same shape.
        weight: Factors of the losses, of a shape that broadcasts; None for 1.
        size_average: Refused.
        reduce: Refused.
        reduction: `mean`, `sum` or `none`.
    """
    _require_same_shape(input, target)
    array, truth = np.asarray(input), np.asarray(target)
    if not ((array >= 0) & (array <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    with np.errstate(divide="ignore"):  # torch's least logarithm is -100
        true, false = np.maximum(np.log(array), -100), np.maximum(np.log1p(-array), -100)

    def backward(gradient: np.ndarray) -> list[np.ndarray]:
        return [gradient * (array - truth) / np.maximum(array * (1 - array), 1e-12), gradient * (false - true)]

    losses = record(as_tensor(-(truth * true + (1 - truth) * false)), (input, target), backward)
    if weight is not None:
        losses = losses * weight
    return _reduce(losses, reduction)


@_refuse_old_reductions
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: np.ndarray,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Reduction = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of the sigmoid.

    Args:
        input: Any tensor.
        target: What is true, 0 to 1, of the same shape.
        weight: Factors of the losses, of a shape that broadcasts; None for 1.
        size_average: Refused.
        reduce: Refused.
        reduction: `mean`, `sum` or `none`.
        pos_weight: Factors of the losses of what is true, of a shape that broadcasts; None for 1.
    """
    _require_same_shape(input, target)
    losses = np.logaddexp(0, -input)
    if pos_weight is not None:
        losses = losses * (1 + (pos_weight - 1) * target)
    losses = (1 - target) * input + losses
    if weight is not None:
        losses = losses * weight
    return _reduce(losses, reduction)


def _require_same_shape(input: Tensor, target: np.ndarray) -> None:
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")


def _reduce(losses: np.ndarray, reduction: Reduction, divisor: float | None = None) -> Tensor:
    """All losses, their sum, or their mean; the divisor of the mean is their number, or another one."""
    tensor = as_tensor(losses)
    if reduction == "none":
        return tensor
    if reduction == "sum":
        return tensor.sum()
    if reduction != "mean":
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return tensor.mean() if divisor is None else as_tensor(tensor.sum() / divisor)
