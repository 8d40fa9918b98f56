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
    as_tensor,
    flatten_shape,
    return_tensors,
)

#: Options of functions that make tensors: there are no devices, and elements lie one after another.
_WITHOUT_EFFECT = ("device", "layout", "memory_format", "pin_memory")
#: Those that are not simulated.
_REFUSED = ("generator", "out")


def _make_maker(function: Callable[..., Value]) -> Callable[..., Value]:
    """A function that makes tensors, with the options that all of them have in torch."""

    @functools.wraps(function)
    def make(*args: Value, requires_grad: bool = False, **options: Value) -> Value:
        for name in (*_WITHOUT_EFFECT, *_REFUSED):
            if options.pop(name, None) is not None and name in _REFUSED:
                raise RuntimeError(f"torch.{function.__name__}: {name}= is not simulated; leave it out")
        result = function(*args, **options)
        return result.requires_grad_() if requires_grad else result

    return make


@_make_maker
def make_tensor(data: object, *, dtype: DType | None = None) -> Tensor:
    """`torch.tensor`: floats are float32, integers int64.

    Args:
        data: Numbers, nested lists or an array.
        dtype: The type of the elements.

    Returns:
        A new tensor.
    """
    array = np.array(data)
    if dtype is None and array.dtype == np.float64 and not isinstance(data, np.ndarray):
        dtype = np.float32
    return array.astype(dtype or array.dtype).view(Tensor)


def share_tensor(data: object, dtype: DType | None = None, device: object = None) -> Tensor:
    """`torch.as_tensor`: the memory of an array of the same type.

    Args:
        data: Numbers, nested lists, an array or a tensor.
        dtype: The type of the elements.
        device: Not used.
    """
    if not isinstance(data, np.ndarray) or (dtype is not None and data.dtype != dtype):
        tensor: Tensor = make_tensor(data, dtype=dtype)
        return tensor
    return as_tensor(data)


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
        seed: Of the random numbers.

    Shared parameters:
        shape, size: Lengths, one after another or in one sequence; torch calls them `size`.
        dtype: Type of the elements; None for float32, and in the likes of `ones_like` for that of the other tensor.
        input, other: Tensors.
        tensors: Of shapes that differ in `dim` at most.
        dim: A dimension.
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def manual_seed(self, seed: int) -> None:
        """Begin the random numbers anew."""
        self._random = np.random.default_rng(int(seed))

    @_make_maker
    def full(self, size: Shape, fill_value: float, *, dtype: DType | None = None) -> Tensor:
        """A tensor of one value; integers where the value is one."""
        if dtype is None:
            dtype = _find_type(fill_value)
        return np.full(size, fill_value, dtype).view(Tensor)

    @_make_maker
    def zeros(self, *shape: Shape, size: Shape | None = None, dtype: DType | None = None) -> Tensor:
        """Zeros."""
        return np.zeros(_find_shape(shape, size), dtype or np.float32).view(Tensor)

    empty = zeros

    @_make_maker
    def ones(self, *shape: Shape, size: Shape | None = None, dtype: DType | None = None) -> Tensor:
        """Ones."""
        return np.ones(_find_shape(shape, size), dtype or np.float32).view(Tensor)

    @_make_maker
    def zeros_like(self, input: np.ndarray, *, dtype: DType | None = None) -> Tensor:
        """Zeros in the shape of another tensor."""
        return np.zeros(input.shape, dtype or input.dtype).view(Tensor)

    empty_like = zeros_like

    @_make_maker
    def ones_like(self, input: np.ndarray, *, dtype: DType | None = None) -> Tensor:
        """Ones in the shape of another tensor."""
        return np.ones(input.shape, dtype or input.dtype).view(Tensor)

    @_make_maker
    def full_like(self, input: np.ndarray, fill_value: float, *, dtype: DType | None = None) -> Tensor:
        """One value in the shape of another tensor."""
        return np.full(input.shape, fill_value, dtype or input.dtype).view(Tensor)

    @_make_maker
    def arange(self, *bounds: float, dtype: DType | None = None, **named: float) -> Tensor:
        """Numbers in equal steps.

        Args:
            bounds: End; or begin and end; or begin, end and step.
            dtype: None for float32 where a bound is a float, else int64.
            named: `start`, `end` and `step`.
        """
        names: tuple[str, ...] = ("start", "end", "step")
        if len(bounds) == 1 and "end" not in named:
            names = ("end",)
        arguments = {"start": 0, "step": 1, **dict(zip(names, bounds, strict=False)), **named}
        if len(bounds) > len(names) or set(arguments) != {"start", "end", "step"}:
            raise TypeError(f"torch.arange takes start, end and step, not {', '.join(map(str, (*bounds, *named)))}")
        values = np.arange(arguments["start"], arguments["end"], arguments["step"])
        if dtype is None:
            dtype = np.float32 if values.dtype.kind == "f" else values.dtype
        return values.astype(dtype).view(Tensor)

    @_make_maker
    def rand(self, *shape: Shape, size: Shape | None = None, dtype: DType | None = None) -> Tensor:
        """Random numbers from 0 to 1."""
        numbers = self._random.random(_find_shape(shape, size), np.float32)
        return numbers.astype(dtype or np.float32).view(Tensor)

    @_make_maker
    def randn(self, *shape: Shape, size: Shape | None = None, dtype: DType | None = None) -> Tensor:
        """Random numbers of the normal distribution."""
        numbers = self._random.standard_normal(_find_shape(shape, size), np.float32)
        return numbers.astype(dtype or np.float32).view(Tensor)

    @_make_maker
    def randint(
        self,
        *bounds: Value,
        low: int = 0,
        high: int | None = None,
        size: Shape | None = None,
        dtype: DType | None = None,
    ) -> Tensor:
        """Random integers: `randint(high, size)` or `randint(low, high, size)`.

        Args:
            bounds: These without their names.
            low: The lowest number.
            high: One more than the highest.
            size: Lengths.
            dtype: None for int64.
        """
        # Those that are not named, from the last one on.
        rest = list(bounds)
        if size is None:
            size = rest.pop()
        if high is None:
            high = rest.pop()
        if rest:
            low = rest.pop()
        if rest:
            raise TypeError("torch.randint takes low, high and size")
        return np.asarray(self._random.integers(low, high, size)).astype(dtype or np.int64).view(Tensor)

    @_make_maker
    def randperm(self, n: int, *, dtype: DType | None = None) -> Tensor:
        """The numbers from 0 to n - 1 in random order, int64 unless another type is given."""
        return np.asarray(self._random.permutation(n)).astype(dtype or np.int64).view(Tensor)

    @_make_maker
    def eye(self, n: int, m: int | None = None, *, dtype: DType | None = None) -> Tensor:
        """Ones on the diagonal of n rows and m columns, n unless given."""
        return np.eye(n, m, dtype=dtype or np.float32).view(Tensor)

    @_make_maker
    def linspace(self, start: float, end: float, steps: int, *, dtype: DType | None = None) -> Tensor:
        """So many numbers from one to another."""
        return np.linspace(start, end, steps).astype(dtype or np.float32).view(Tensor)

    def from_numpy(self, ndarray: np.ndarray) -> Tensor:
        """The same memory as a tensor."""
        return ndarray.view(Tensor)

    cat = staticmethod(cat)

    def stack(self, tensors: Sequence[np.ndarray], dim: int = 0) -> Tensor:
        """Tensors along a new dimension."""
        result = np.stack([np.asarray(tensor) for tensor in tensors], axis=dim).view(Tensor)
        stacked: Tensor = record(result, tensors, lambda gradient: list(np.moveaxis(gradient, dim, 0)))
        return stacked

    def allclose(
        self, input: np.ndarray, other: np.ndarray, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
    ) -> bool:
        """Whether two tensors hold nearly the same.

        Args:
            input: The first.
            other: The second.
            rtol: Share of the second by which they may differ.
            atol: Difference that is always allowed.
            equal_nan: Whether two that are no numbers are the same.
        """
        return bool(np.allclose(input, other, rtol, atol, equal_nan))

    def equal(self, input: np.ndarray, other: np.ndarray) -> bool:
        """Whether two tensors hold the same."""
        return bool(np.array_equal(input, other))

    def is_tensor(self, obj: object) -> bool:
        """Whether it is a tensor."""
        return isinstance(obj, Tensor)


def _find_shape(shape: tuple[Shape, ...], size: Shape | None) -> Shape:
    """`zeros(2, 3)`, `zeros((2, 3))` and `zeros(size=(2, 3))`."""
    if size is None:
        return flatten_shape(shape)
    if shape:
        raise TypeError(f"a tensor has one size, not {shape} and size={size}")
    return size


def _find_type(value: object) -> DType:
    """The type of a tensor of one value."""
    if isinstance(value, bool | np.bool_):
        return np.bool_
    return np.int64 if isinstance(value, int | np.integer) else np.float32


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
    vars(torch).update({name: getattr(functions, name) for name in names})
    vars(torch).update(Tensor=Tensor, tensor=make_tensor, as_tensor=share_tensor, no_grad=_NoGrad)
    vars(torch).update(device=lambda type="cpu", index=None: "cpu", cuda=_build_cuda_module())
    vars(torch).update(FloatTensor=Tensor, LongTensor=lambda *data: Tensor(*data).to(np.int64), Size=tuple)
    vars(torch).update(
        inference_mode=_NoGrad, autograd=autograd, set_num_threads=lambda count: None, __version__="2.13.0"
    )
    return torch


class _NoGrad:
    """`with torch.no_grad():` and `@torch.no_grad()`: nothing is recorded in the block, or in the function."""

    def __new__(cls, mode: Value = True) -> Value:
        block = super().__new__(cls)
        if callable(mode):  # `@torch.no_grad` without parentheses
            block.__init__()  # type: ignore[misc]
            return block(mode)
        return block

    def __init__(self, mode: bool = True) -> None:
        """Record nothing, or, of `torch.inference_mode(False)`, what the program does."""
        self._is_recording = not mode
        self._blocks: list[AbstractContextManager[None]] = []

    def __call__(self, function: Callable[..., Value]) -> Callable[..., Value]:
        @functools.wraps(function)
        def call(*args: Value, **options: Value) -> Value:
            with set_recording(self._is_recording):
                result = function(*args, **options)
                if isinstance(result, GeneratorType):  # as functions of a program are
                    result = yield from result
            return result

        return call

    def __enter__(self) -> None:
        self._blocks.append(set_recording(self._is_recording))
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
