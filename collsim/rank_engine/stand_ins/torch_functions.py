"""The module `torch` of a rank program, without `distributed`: functions that make, join and change tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import GeneratorType, ModuleType

import numpy as np

from .gradients import Value, record, set_recording
from .tensors import (
    DTYPES,
    ELEMENTWISE,
    WORDS,
    DType,
    KnownModule,
    Shape,
    Tensor,
    flatten_shape,
    return_tensors,
)


def make_tensor(data: object, dtype: DType | None = None, device: object = None, requires_grad: bool = False) -> Tensor:
    """`torch.tensor`: floats are float32, integers int64.

    Args:
        data: numbers, nested lists or an array.
        dtype: the type of the elements.
        device: not used.
        requires_grad: whether a gradient of it is computed.

    Returns:
        A new tensor.
    """
    array = np.array(data)
    if dtype is None and array.dtype == np.float64 and not isinstance(data, np.ndarray):
        dtype = np.float32
    return array.astype(dtype or array.dtype).view(Tensor).requires_grad_(requires_grad)


def cat(tensors: Sequence[np.ndarray], dim: int = 0) -> Tensor:
    """`torch.cat`: tensors one after another.

    Args:
        tensors: Of shapes that differ in one dimension at most.
        dim: This dimension.
    """
    arrays = [np.asarray(tensor) for tensor in tensors]
    ends = np.cumsum([array.shape[dim] for array in arrays])[:-1]
    result = np.concatenate(arrays, axis=dim).view(Tensor)
    joined: Tensor = record(result, tensors, lambda gradient: np.split(gradient, ends, axis=dim))
    return joined


class TensorFunctions:
    """The functions of the module `torch` that make and join tensors.

    Args:
        seed: of the random numbers.
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def manual_seed(self, seed: int) -> None:
        """Begin the random numbers anew."""
        self._random = np.random.default_rng(int(seed))

    def full(self, size: Shape, fill_value: float, dtype: DType | None = None, **_: object) -> Tensor:
        """A tensor of one value; integers where the value is one."""
        if dtype is None:
            dtype = np.int64 if isinstance(fill_value, int) else np.float32
        return np.full(size, fill_value, dtype).view(Tensor)

    def zeros(self, *size: Shape, dtype: DType = np.float32, **_: object) -> Tensor:
        """Zeros."""
        return np.zeros(flatten_shape(size), dtype).view(Tensor)

    empty = zeros

    def ones(self, *size: Shape, dtype: DType = np.float32, **_: object) -> Tensor:
        """Ones."""
        return np.ones(flatten_shape(size), dtype).view(Tensor)

    def zeros_like(self, tensor: np.ndarray, dtype: DType | None = None, **_: object) -> Tensor:
        """Zeros in the shape of another tensor."""
        return np.zeros(tensor.shape, dtype or tensor.dtype).view(Tensor)

    empty_like = zeros_like

    def ones_like(self, tensor: np.ndarray, dtype: DType | None = None, **_: object) -> Tensor:
        """Ones in the shape of another tensor."""
        return np.ones(tensor.shape, dtype or tensor.dtype).view(Tensor)

    def arange(self, *bounds: float, dtype: DType | None = None, **_: object) -> Tensor:
        """Numbers in equal steps.

        Args:
            bounds: End; or begin and end; or begin, end and step.
            dtype: None for float32 where a bound is a float, else int64.
        """
        values = np.arange(*bounds)
        if dtype is None:
            dtype = np.float32 if values.dtype.kind == "f" else values.dtype
        return values.astype(dtype).view(Tensor)

    def rand(self, *size: Shape, **_: object) -> Tensor:
        """Random numbers from 0 to 1."""
        return self._random.random(flatten_shape(size), np.float32).view(Tensor)

    def randn(self, *size: Shape, **_: object) -> Tensor:
        """Random numbers of the normal distribution."""
        return self._random.standard_normal(flatten_shape(size), np.float32).view(Tensor)

    def randint(self, *bounds: Shape, **_: object) -> Tensor:
        """Random integers: `randint(high, size)` or `randint(low, high, size)`."""
        *limits, size = bounds
        # The last two of (0, high) or (0, low, high).
        low, high = (0, *limits)[-2:]
        return np.asarray(self._random.integers(low, high, size)).view(Tensor)

    def from_numpy(self, array: np.ndarray) -> Tensor:
        """The same memory as a tensor."""
        return array.view(Tensor)

    cat = staticmethod(cat)

    def stack(self, tensors: Sequence[np.ndarray], dim: int = 0) -> Tensor:
        """Tensors along a new dimension."""
        result = np.stack([np.asarray(tensor) for tensor in tensors], axis=dim).view(Tensor)
        stacked: Tensor = record(result, tensors, lambda gradient: list(np.moveaxis(gradient, dim, 0)))
        return stacked

    def allclose(self, first: np.ndarray, second: np.ndarray, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
        """Whether two tensors hold nearly the same."""
        return bool(np.allclose(first, second, rtol, atol))

    def equal(self, first: np.ndarray, second: np.ndarray) -> bool:
        """Whether two tensors hold the same."""
        return bool(np.array_equal(first, second))

    def full_like(self, tensor: np.ndarray, fill_value: float, dtype: DType | None = None, **_: object) -> Tensor:
        """One value in the shape of another tensor."""
        return np.full(tensor.shape, fill_value, dtype or tensor.dtype).view(Tensor)

    def eye(self, size: int, columns: int | None = None, dtype: DType = np.float32, **_: object) -> Tensor:
        """Ones on the diagonal."""
        return np.eye(size, columns, dtype=dtype).view(Tensor)

    def linspace(self, start: float, end: float, steps: int, dtype: DType = np.float32, **_: object) -> Tensor:
        """So many numbers from one to another."""
        return np.linspace(start, end, steps).astype(dtype).view(Tensor)

    def randperm(self, count: int, **_: object) -> Tensor:
        """The numbers from 0 on in random order."""
        return np.asarray(self._random.permutation(count)).view(Tensor)

    def is_tensor(self, value: object) -> bool:
        """Whether it is a tensor."""
        return isinstance(value, Tensor)


#: Functions of torch that numpy has under the same or another name, with the same positional arguments.
_NUMPY_FUNCTIONS: dict[str, Callable[..., object]] = {
    **{name: getattr(np, function) for name, function in WORDS["functions"].items()},
    **ELEMENTWISE,
}


def build_torch_module(functions: TensorFunctions) -> ModuleType:
    """The stand-in for the module `torch`, without `distributed`.

    Args:
        functions: of its rank, with the random numbers: programs of one run draw the same ones every time.

    Returns:
        A module with tensors on numpy.

    Examples:
        >>> from collsim.rank_engine.stand_ins.torch_functions import TensorFunctions, build_torch_module
        >>> [part.tolist() for part in build_torch_module(TensorFunctions(0)).arange(5).chunk(4)]
        [[0, 1], [2, 3], [4]]
    """
    torch = KnownModule("torch")
    names = [name for name in dir(TensorFunctions) if not name.startswith("_")]
    autograd = KnownModule("torch.autograd")
    vars(autograd).update(no_grad=_NoGrad)
    vars(torch).update(DTYPES)
    vars(torch).update({name: return_tensors(function) for name, function in _NUMPY_FUNCTIONS.items()})
    vars(torch).update({name: getattr(Tensor, name) for name in WORDS["methods"]})
    vars(torch).update({name: _take_requires_grad(getattr(functions, name)) for name in names})
    vars(torch).update(Tensor=Tensor, tensor=make_tensor, as_tensor=make_tensor, no_grad=_NoGrad)
    vars(torch).update(device=lambda *_: "cpu", cuda=_build_cuda_module())
    vars(torch).update(FloatTensor=Tensor, LongTensor=lambda *data: Tensor(*data).to(np.int64), Size=tuple)
    vars(torch).update(
        inference_mode=_NoGrad, autograd=autograd, set_num_threads=lambda count: None, __version__="2.13.0"
    )
    return torch


def _take_requires_grad(function: Callable[..., Value]) -> Callable[..., Value]:
    """A function that makes tensors, with the option of torch to compute gradients of them."""

    @functools.wraps(function)
    def call(*args: Value, requires_grad: bool = False, **options: Value) -> Value:
        result = function(*args, **options)
        return result.requires_grad_() if requires_grad else result

    return call


class _NoGrad:
    """`with torch.no_grad():` and `@torch.no_grad()`: nothing is recorded in the block, or in the function."""

    def __init__(self, *_: object) -> None:
        self._blocks: list[AbstractContextManager[None]] = []

    def __call__(self, function: Callable[..., Value]) -> Callable[..., Value]:
        @functools.wraps(function)
        def call(*args: Value, **options: Value) -> Value:
            with set_recording(False):
                result = function(*args, **options)
                if isinstance(result, GeneratorType):  # as functions of a program are
                    result = yield from result
            return result

        return call

    def __enter__(self) -> None:
        self._blocks.append(set_recording(False))
        self._blocks[-1].__enter__()

    def __exit__(self, *error: Value) -> None:
        self._blocks.pop().__exit__(*error)


def _build_cuda_module() -> ModuleType:
    cuda = KnownModule("torch.cuda")
    vars(cuda).update(
        is_available=lambda: False,
        device_count=lambda: 0,
        set_device=lambda device: None,
        synchronize=lambda *device: None,
        current_device=lambda: 0,
    )
    return cuda
