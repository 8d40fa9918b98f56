"""Gradients of tensors: what is computed from tensors that require them is recorded, and read backwards.

Rules are those of torch's autograd (tools/autograd/derivatives.yaml, torch 2.13). An operation without a rule is
refused, as its result would have no gradient and nobody would notice.
"""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

#: What a program computes with: tensors, numbers, and objects of its own.
Value: TypeAlias = Any
#: A call that may suspend its rank, as gradients are averaged over ranks.
Blocking: TypeAlias = Generator[Any, Any, Any]
#: Whether operations are recorded: of the rank that runs, as each has a context of its own.
_IS_RECORDING: ContextVar[bool] = ContextVar("is_recording", default=True)
_numbers = itertools.count()
#: From the gradient of a result to those of its inputs; None for an input that needs none.
Backward = Callable[[np.ndarray], Sequence[np.ndarray | None]]


@dataclass(slots=True, eq=False)
class Record:
    """How a tensor was computed.

    Attributes:
        inputs: The tensors, and numbers, that it was computed from.
        backward: Computes their gradients; None once it was used, as torch frees it.
        number: Grows with each record, so that a result has a greater one than its inputs.
    """

    inputs: Sequence[Value]
    backward: Backward | None
    number: int = field(default_factory=lambda: next(_numbers))


@contextmanager
def set_recording(is_recording: bool) -> Iterator[None]:
    """Record operations in a block, or do not.

    Args:
        is_recording: Whether they are recorded.
    """
    token = _IS_RECORDING.set(is_recording)
    try:
        yield
    finally:
        _IS_RECORDING.reset(token)


def needs_gradient(*values: object) -> bool:
    """Whether what is computed from values is recorded.

    Args:
        values: Tensors and numbers.
    """
    for value in values:  # a loop, as every operation of a tensor asks
        if getattr(value, "requires_grad", False):
            return _IS_RECORDING.get()
    return False


def record(result: Value, inputs: Sequence[Value], backward: Backward) -> Value:
    """Note how a tensor was computed, where that is recorded.

    Args:
        result: The tensor.
        inputs: What it was computed from.
        backward: From its gradient to those of the inputs.

    Returns:
        The tensor.
    """
    if needs_gradient(*inputs) and result.dtype.kind == "f":
        result.requires_grad, result.record = True, Record(tuple(inputs), backward)
    return result


def record_ufunc(result: Value, function: np.ufunc, args: Sequence[Value]) -> None:
    """Note which function of numpy a tensor was computed with.

    Args:
        result: The tensor.
        function: The function.
        args: Its arguments, with the tensor it was to fill behind them.

    Raises:
        RuntimeError: It changed a tensor in place, or no rule is known of the function.
    """
    if result.dtype.kind != "f" or not needs_gradient(*args):
        return
    if len(args) > function.nin:
        raise refuse_in_place(args[-1])
    rule = _RULES.get(function.__name__)
    if rule is None:
        raise refuse_unknown(function.__name__)
    value = np.asarray(result)
    arrays = [np.asarray(arg) for arg in args]

    def backward(gradient: np.ndarray) -> list[np.ndarray]:
        parts = rule(gradient, value, *arrays)
        return [_reduce_to(part, array.shape) for part, array in zip(parts, arrays, strict=True)]

    record(result, args, backward)


def refuse_in_place(tensor: Value) -> RuntimeError:
    """The refusal of a change of a tensor that gradients are computed of, or from.

    Args:
        tensor: What would be changed.
    """
    if tensor.requires_grad and tensor.record is None:
        return RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    return RuntimeError("changes in place of what needs gradients are not simulated; write x = x + y, not x.add_(y)")


def apply_in_place(function: Callable[[Value], Value], tensor: Value, is_in_place: bool) -> Value:
    """Apply a function of a tensor, as torch does with `inplace=True`.

    Where gradients are recorded, the result is another tensor, as records need the elements of the old one. Whatever
    else is computed from the old one is refused: torch would take the new elements for it.

    Args:
        function: Of one tensor.
        tensor: The tensor.
        is_in_place: Whether the tensor is to have the result.

    Returns:
        The result.
    """
    if not is_in_place:
        return function(tensor)
    if not needs_gradient(tensor):
        tensor[...] = function(tensor)
        return tensor
    if tensor.record is None:
        raise refuse_in_place(tensor)
    kind: Value = type(tensor)
    before: Value = np.asarray(tensor).view(kind)
    before.requires_grad, before.record = True, tensor.record
    tensor.__class__ = _make_replaced(kind)
    return function(before)


@functools.cache
def _make_replaced(kind: type) -> type:
    """The type of a tensor that can be used no more; every operation asks whether a tensor requires a gradient."""

    def refuse(self: Value) -> bool:
        raise RuntimeError(
            "a tensor that inplace=True changed is used again, which is not simulated; use the result, or leave "
            "inplace out"
        )

    return type(kind.__name__, (kind,), {"requires_grad": property(refuse)})


def clear_gradients(tensors: Iterable[Value], set_to_none: bool) -> None:
    """Drop gradients.

    Args:
        tensors: Whose gradients.
        set_to_none: Whether they have none afterwards; else those they have become zeros.
    """
    for tensor in tensors:
        if set_to_none:
            tensor.grad = None
        elif tensor.grad is not None:
            tensor.grad[...] = 0


def refuse_unknown(name: str) -> RuntimeError:
    """The refusal of an operation of which no gradient is known here.

    Args:
        name: Of the operation.
    """
    return RuntimeError(f"the gradient of {name} is not known here; call it with x.detach(), or under torch.no_grad()")


def record_move(method: Callable[..., Value]) -> Callable[..., Value]:
    """A method whose result has elements of its tensor as they are: some or all of them, in any order and shape.

    Args:
        method: Of a tensor; its result may be several tensors.
    """

    @functools.wraps(method)
    def call(self: Value, *args: Value, **options: Value) -> Value:
        if not self.requires_grad or not _IS_RECORDING.get():
            return method(self, *args, **options)
        with set_recording(False):
            result = method(self, *args, **options)

        def add_back(gradient: np.ndarray, part: int) -> list[np.ndarray]:
            def move(values: np.ndarray) -> np.ndarray:
                with set_recording(False):
                    moved = method(values.reshape(self.shape).view(type(self)), *args, **options)
                return np.asarray(moved[part] if isinstance(result, tuple) else moved)

            total = np.zeros(int(self.size), gradient.dtype)
            view = move(total)
            # Added to a view, it is where it belongs. Of a copy, moving the positions of the elements shows that.
            if np.may_share_memory(view, total) and view.flags.writeable:
                view += gradient
            else:
                np.add.at(total, move(np.arange(total.size)).reshape(-1), gradient.reshape(-1))
            return [total.reshape(self.shape)]

        for number, part in enumerate(result if isinstance(result, tuple) else (result,)):
            record(part, (self,), functools.partial(add_back, part=number))
        return result

    return call


def compute_gradients(tensor: Value, gradient: np.ndarray | None, keeps_graph: bool) -> list[Value]:
    """Compute the gradients of all tensors that a result was computed from, and add them to those of the first ones.

    Args:
        tensor: The result.
        gradient: Its gradient; None for 1, where it is one number.
        keeps_graph: Whether the records stay, for another time.

    Returns:
        The tensors that were not computed themselves, in the order in which their gradients were complete.

    Raises:
        RuntimeError: It has no gradient, in torch's words.
    """
    if not tensor.requires_grad:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    if gradient is None and tensor.size != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    start = np.ones(tensor.shape, tensor.dtype)
    if gradient is not None:
        start = np.asarray(gradient, tensor.dtype).reshape(tensor.shape)
    totals = {id(tensor): (tensor, start)}
    leaves: list[Value] = []
    # The latest first: then all that was computed from a tensor has been read before the tensor.
    pending = [(-tensor.record.number, id(tensor))] if tensor.record is not None else []
    if tensor.record is None:
        leaves.append(tensor)
    while pending:
        current, total = totals.pop(heapq.heappop(pending)[1])
        for value, part in zip(current.record.inputs, _read_back(current.record, total, keeps_graph), strict=True):
            if part is None or not getattr(value, "requires_grad", False):
                continue
            if id(value) in totals:
                totals[id(value)] = (value, totals[id(value)][1] + part)
                continue
            totals[id(value)] = (value, part)
            if value.record is None:
                leaves.append(value)
            else:
                heapq.heappush(pending, (-value.record.number, id(value)))
    for leaf in leaves:
        _add_gradient(leaf, totals[id(leaf)][1])
    return leaves


def _read_back(done: Record, gradient: np.ndarray, keeps_graph: bool) -> Sequence[np.ndarray | None]:
    if done.backward is None:
        message = "Trying to backward through the graph a second time (or directly access saved tensors after they have"
        raise RuntimeError(f"{message} already been freed). Specify retain_graph=True")
    backward = done.backward
    if not keeps_graph:
        done.backward = None
    with set_recording(False):
        return backward(gradient)


def _add_gradient(leaf: Value, gradient: np.ndarray) -> None:
    values = np.array(gradient, leaf.dtype).view(type(leaf))
    if leaf.grad is None:
        leaf.grad = values
    else:
        np.add(leaf.grad, values, out=leaf.grad.numpy())


def _reduce_to(gradient: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A gradient summed over what was repeated to make the shapes of the inputs equal."""
    gradient = np.asarray(gradient)
    if gradient.shape == shape:
        return gradient
    total = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
    repeated = tuple(axis for axis, length in enumerate(shape) if length == 1 and total.shape[axis] != 1)
    return np.asarray(total.sum(axis=repeated, keepdims=True)).reshape(shape)


def _multiply_matrices_back(gradient: np.ndarray, _: np.ndarray, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    """The gradients of a matrix product; a vector is a row on the left and a column on the right."""
    left, right = a.reshape(1, -1) if a.ndim == 1 else a, b.reshape(-1, 1) if b.ndim == 1 else b
    if a.ndim == 1:
        gradient = np.expand_dims(gradient, -1 if b.ndim == 1 else -2)
    if b.ndim == 1:
        gradient = np.expand_dims(gradient, -1)
    parts = [gradient @ np.swapaxes(right, -1, -2), np.swapaxes(left, -1, -2) @ gradient]
    return [
        _reduce_to(part, to.shape).reshape(x.shape) for part, to, x in zip(parts, (left, right), (a, b), strict=True)
    ]


def _select_greater_back(gradient: np.ndarray, _: np.ndarray, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    """The gradients of a maximum, which equal elements share."""
    share = np.where(a == b, 0.5, a > b)
    return [gradient * share, gradient * (1 - share)]


def _raise_back(gradient: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    """The gradients of a power; 0 of the base of x ** 0, and of the exponent of 0 ** x, where that is finite."""
    with np.errstate(divide="ignore", invalid="ignore"):  # of numbers that are not taken, or that torch has, too
        of_base = np.where(b == 0, 0, b * a ** (b - 1.0))
        of_exponent = np.where((a == 0) & (b >= 0), 0, y * np.log(a))
        return [gradient * of_base, gradient * of_exponent]


#: By the name of the function of numpy: from its gradient, its result and its arguments to their gradients.
_RULES: dict[str, Callable[..., Sequence[np.ndarray]]] = {
    "add": lambda g, y, a, b: (g, g),
    "subtract": lambda g, y, a, b: (g, -g),
    "multiply": lambda g, y, a, b: (g * b, g * a),
    "divide": lambda g, y, a, b: (g / b, -g * y / b),
    "negative": lambda g, y, a: (-g,),
    "absolute": lambda g, y, a: (g * np.sign(a),),
    "square": lambda g, y, a: (2 * g * a,),
    "reciprocal": lambda g, y, a: (-g * y * y,),
    "power": _raise_back,
    "exp": lambda g, y, a: (g * y,),
    "log": lambda g, y, a: (g / a,),
    "log1p": lambda g, y, a: (g / (1 + a),),
    "logaddexp": lambda g, y, a, b: (g * np.exp(a - y), g * np.exp(b - y)),
    "sqrt": lambda g, y, a: (g / (2 * y),),
    "sin": lambda g, y, a: (g * np.cos(a),),
    "cos": lambda g, y, a: (-g * np.sin(a),),
    "tanh": lambda g, y, a: (g * (1 - y * y),),
    "maximum": _select_greater_back,
    "minimum": lambda g, y, a, b: _select_greater_back(g, y, -a, -b),
    "clip": lambda g, y, a, low, high: (g * (y == a), np.zeros_like(low, float), np.zeros_like(high, float)),
    "matmul": _multiply_matrices_back,
}
