"""The tensors that rank programs use, on numpy arrays: views are views, `chunk` cuts as torch cuts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np

from ...errors import describe_unknown
from ...package_data import read_toml

DType = type[np.generic] | np.dtype
Shape = int | Sequence[int]
Operand = float | np.ndarray
#: A dimension, or several; None: all.
Dimension = int | Sequence[int] | None
#: What numpy says of the ufunc whose result it wraps: the function, its arguments, and which result it is.
_Context = tuple[np.ufunc, tuple[object, ...], int]

_WORDS = read_toml(__file__, "tensors.toml")
_DTYPES: dict[str, type[np.generic]] = {name: getattr(np, kind) for name, kind in _WORDS["types"].items()}


class KnownModule(ModuleType):
    """A module of a library, of which some words are known here; others are named with those that come near."""

    def __getattr__(self, name: str) -> object:
        known = [word for word in vars(self) if not word.startswith("_")]
        raise AttributeError(f"{self.__name__}: {describe_unknown('word', name, known)}")


class _Size(int):
    """The number of elements, as numpy has it, and the shape where it is called, as torch has it."""

    shape: tuple[int, ...] = ()

    @classmethod
    def measure(cls, shape: tuple[int, ...]) -> _Size:
        """The size of an array of a shape."""
        size = cls(math.prod(shape))
        size.shape = shape
        return size

    def __call__(self, dim: int | None = None) -> int | tuple[int, ...]:
        if dim is None:
            return self.shape
        return self.shape[dim]


class Tensor(np.ndarray):
    """An array with the words of torch that rank programs use."""

    #: Gradients are not computed; a program may set them.
    grad: Tensor | None = None

    @property
    def size(self) -> _Size:  # type: ignore[override]
        """The number of elements; called, the shape, or its length along a dimension."""
        return _Size.measure(self.shape)

    def __new__(cls, *data: Shape) -> Tensor:
        """`torch.Tensor`: of numbers, or of a shape; float32 in either case."""
        if len(data) == 1 and not isinstance(data[0], int):
            return np.array(data[0], np.float32).view(cls)
        return np.zeros(_flatten_shape(data), np.float32).view(cls)

    def __array_wrap__(  # type: ignore[override]
        self, array: np.ndarray, context: _Context | None = None, return_scalar: bool = False
    ) -> Tensor:
        """Sums of all elements are tensors, too, which can be sent; integers divided are float32, as in torch."""
        if context is not None and array.dtype == np.float64:
            function, args, _ = context
            is_new = len(args) == function.nin
            if is_new and not any(isinstance(arg, np.ndarray) and arg.dtype == np.float64 for arg in args):
                array = array.astype(np.float32)
        return array.view(Tensor)

    def __repr__(self) -> str:
        return f"tensor({np.array2string(self.view(np.ndarray), separator=', ', precision=4)})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        if self.ndim == 0 and spec:
            return format(self.item(), spec)
        return repr(self)

    @property  # type: ignore[override]
    def data(self) -> Tensor:
        """The same memory."""
        return self

    @data.setter
    def data(self, values: np.ndarray) -> None:
        """Set all elements."""
        if values is not self:
            self[...] = values

    @property
    def device(self) -> Literal["cpu"]:
        """Where it is: on the processor."""
        return "cpu"

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a GPU: never."""
        return False

    def __getattr__(self, name: str) -> object:
        known = [word for word in dir(type(self)) if not word.startswith("_")]
        raise AttributeError(f"a tensor: {describe_unknown('word', name, known)}")

    def __getitem__(self, key: Any) -> Any:
        """A part, also of one element, which is a view as in torch: it can be sent and filled."""
        part = super().__getitem__(key)
        if isinstance(part, np.generic):
            return super().__getitem__((*key, ...) if isinstance(key, tuple) else (key, ...))
        return part

    def __iter__(self) -> Iterator[Any]:
        """The parts along the first dimension."""
        return iter([self[position] for position in range(len(self))])

    def clone(self) -> Tensor:
        """A copy."""
        return self.copy()

    def detach(self) -> Tensor:
        """The same memory."""
        return self

    cpu = cuda = requires_grad_ = detach

    def contiguous(self) -> Tensor:
        """The same memory where its elements lie one after the other, else a copy in which they do."""
        return np.ascontiguousarray(self).reshape(self.shape).view(Tensor)

    def numpy(self) -> np.ndarray:
        """The same memory as an array of numpy."""
        array: np.ndarray = self.view(np.ndarray)
        return array

    def to(self, target: object = None, **options: object) -> Tensor:
        """Another type; a device changes nothing here.

        Args:
            target: A type of elements, or a device.
            options: `dtype` as in torch; others change nothing.
        """
        dtype = options.get("dtype", target)
        if isinstance(dtype, type) and issubclass(dtype, np.generic):
            return self.astype(dtype).view(Tensor)
        return self

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    nelement = numel

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    def add_(self, value: Operand, alpha: float = 1) -> Tensor:
        """Add in place.

        Args:
            value: Of a shape that broadcasts to this one.
            alpha: Factor of `value`.
        """
        if alpha != 1:
            value = alpha * value
        self += value
        return self

    def copy_(self, value: Operand, non_blocking: bool = False) -> Tensor:
        """Copy the values of another tensor into this one."""
        self[...] = value
        return self

    def zero_(self) -> Tensor:
        """Set all elements to zero."""
        self[...] = 0
        return self

    def fill_(self, value: Operand) -> Tensor:
        """Set all elements to a value."""
        self[...] = value
        return self

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        """At most so many pieces of equal size; the last is smaller, and there may be fewer."""
        return self.split(max(1, -(-self.shape[dim] // chunks)), dim)

    def split(self, size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
        """Pieces along an axis, views of this tensor.

        Args:
            size: Elements of each piece, the last may have fewer; or the sizes of all pieces.
            dim: The axis.

        Raises:
            RuntimeError: Sizes do not add up to the axis, in torch's words.
        """
        if isinstance(size, Sequence):
            ends = np.cumsum(size)
            if ends[-1] != self.shape[dim]:
                raise RuntimeError(f"split_with_sizes: the sizes {list(size)} are not {self.shape[dim]} together")
            return _as_tensors(np.split(self, ends[:-1], axis=dim))
        return _as_tensors(np.split(self, range(size, self.shape[dim], size), axis=dim))

    def tensor_split(self, sections: int, dim: int = 0) -> tuple[Tensor, ...]:
        """Exactly so many pieces, as equal as can be."""
        return _as_tensors(np.array_split(self, sections, axis=dim))

    def narrow(self, dim: int, start: int, length: int) -> Tensor:
        """A part of a dimension, as a view."""
        part: Tensor = self[(slice(None),) * dim + (slice(start, start + length),)]
        return part

    def view(self, *shape: Any) -> Any:  # type: ignore[override]
        """The same memory in another shape (or, as numpy has it, as another type).

        Args:
            shape: Lengths, one of which may be -1; or a type.

        Raises:
            RuntimeError: Where the elements do not lie so that this can be a view; reshape copies them.
        """
        if len(shape) == 1 and isinstance(shape[0], type | np.dtype):
            return super().view(shape[0])
        reshaped = self.reshape(*shape)
        if self.size and not np.may_share_memory(reshaped, self):
            raise RuntimeError("view size is not compatible with input tensor's size and stride; use .reshape(...)")
        return reshaped

    def view_as(self, other: np.ndarray) -> Tensor:
        """The same memory in the shape of another tensor."""
        return np.asarray(self.view(*other.shape)).view(Tensor)

    def type(self, dtype: DType | None = None) -> Tensor | str:
        """Another type; without one the name of its own."""
        if dtype is None:
            return f"torch.{self.dtype.name}"
        return self.to(dtype)

    def add(self, value: Operand, alpha: float = 1) -> Tensor:
        """The sum with a value."""
        return np.asarray(self + alpha * value).view(Tensor)

    def matmul(self, other: np.ndarray) -> Tensor:
        """The matrix product."""
        return np.asarray(self @ other).view(Tensor)

    mm = matmul

    def norm(self) -> Tensor:
        """The Euclidean norm."""
        return np.asarray(np.linalg.norm(self), self.dtype).view(Tensor)

    def permute(self, *dims: Shape) -> Tensor:
        """The same memory with its dimensions in another order."""
        array: Tensor = super().transpose(_flatten_shape(dims))
        return array

    def repeat(self, *times: Shape) -> Tensor:  # type: ignore[override]
        """Copies along each dimension."""
        return np.tile(self, _flatten_shape(times)).view(Tensor)

    def index_select(self, dim: int, index: np.ndarray) -> Tensor:
        """Elements along a dimension, by their positions."""
        return np.take(self, index, axis=dim).view(Tensor)

    def new_zeros(self, *size: Shape) -> Tensor:
        """Zeros of the same type."""
        return np.zeros(_flatten_shape(size), self.dtype).view(Tensor)

    new_empty = new_zeros

    def new_full(self, size: Shape, fill_value: Operand) -> Tensor:
        """One value in all elements, of the same type."""
        return np.full(size, fill_value, self.dtype).view(Tensor)

    def clamp(self, min: Operand | None = None, max: Operand | None = None) -> Tensor:
        """With all elements between two bounds."""
        return np.clip(self, min, max).view(Tensor)

    def clamp_(self, min: Operand | None = None, max: Operand | None = None) -> Tensor:
        """Bring all elements between two bounds."""
        return self.copy_(self.clamp(min, max))

    def transpose(self, *dims: Any) -> Tensor:
        """The same memory with two dimensions exchanged.

        Args:
            dims: The two; numpy's own functions give the order of all of them.
        """
        if len(dims) == 2:
            return np.swapaxes(self, *dims)
        array: Tensor = super().transpose(*dims)
        return array

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:  # type: ignore[override]
        """Several dimensions as one: the same memory where it can be."""
        end = end_dim % max(1, self.ndim) + 1
        return np.reshape(self, (*self.shape[:start_dim], -1, *self.shape[end:])).view(Tensor)

    def var(  # type: ignore[override]
        self, dim: Dimension = None, keepdim: bool = False, correction: int = 1, **options: Any
    ) -> Tensor:
        """The variance; of a sample, as torch has it."""
        # numpy's own functions call it with `axis` and `ddof`
        axis, ddof = options.get("axis", dim), options.get("ddof", correction)
        return np.asarray(np.var(self.numpy(), axis=axis, ddof=ddof, keepdims=keepdim), self.dtype).view(Tensor)

    def std(  # type: ignore[override]
        self, dim: Dimension = None, keepdim: bool = False, correction: int = 1, **options: Any
    ) -> Tensor:
        """The standard deviation; of a sample, as torch has it."""
        return np.asarray(np.sqrt(self.var(dim, keepdim, correction, **options))).view(Tensor)

    def max(  # type: ignore[override]
        self, dim: Dimension | Tensor = None, keepdim: bool = False, **options: Any
    ) -> Any:
        """The largest element; along a dimension the largest ones with their positions."""
        return _find_extreme(np.maximum, np.argmax, self, dim, keepdim, options)

    def min(  # type: ignore[override]
        self, dim: Dimension | Tensor = None, keepdim: bool = False, **options: Any
    ) -> Any:
        """The smallest element; along a dimension the smallest ones with their positions."""
        return _find_extreme(np.minimum, np.argmin, self, dim, keepdim, options)

    def argsort(self, dim: int = -1, descending: bool = False, **options: Any) -> Tensor:  # type: ignore[override]
        """Positions of the elements in their order.

        Args:
            dim: The dimension along which they are sorted.
            descending: The largest first.
            options: `axis`, where a function of numpy calls it.
        """
        array = self.numpy()
        if descending:
            array = -array
        return np.argsort(array, axis=options.get("axis", dim), kind="stable").view(Tensor)

    def sort(  # type: ignore[override]
        self, dim: int = -1, descending: bool = False, **options: Any
    ) -> ValuesIndices | None:
        """The elements in their order with their positions.

        Args:
            dim: The dimension along which they are sorted.
            descending: The largest first.
            options: `axis`, where a function of numpy calls it, which wants the elements sorted in place.
        """
        if "axis" in options:
            super().sort(axis=options["axis"])
            return None
        return self._sort(dim, descending)

    def _sort(self, dim: int, descending: bool) -> ValuesIndices:
        indices = self.argsort(dim, descending)
        return ValuesIndices(np.take_along_axis(self, indices, dim).view(Tensor), indices)

    def topk(self, k: int, dim: int = -1) -> ValuesIndices:
        """The largest elements with their positions."""
        values, indices = self._sort(dim, descending=True)
        first = np.arange(k)
        return ValuesIndices(values.index_select(dim, first), indices.index_select(dim, first))

    def softmax(self, dim: int) -> Tensor:
        """Exponentials along a dimension, whose sum is one."""
        powers = np.exp(self - np.maximum.reduce(self, axis=dim, keepdims=True))
        return np.asarray(powers / np.add.reduce(powers, axis=dim, keepdims=True)).view(Tensor)

    def sum(self, dim: Dimension = None, keepdim: bool = False, **options: Any) -> Tensor:  # type: ignore[override]
        """The sum of all elements, or along a dimension."""
        return _reduce_along(np.add, self, dim, keepdim, options)

    def prod(self, dim: Dimension = None, keepdim: bool = False, **options: Any) -> Tensor:  # type: ignore[override]
        """The product of all elements, or along a dimension."""
        return _reduce_along(np.multiply, self, dim, keepdim, options)

    def mean(self, dim: Dimension = None, keepdim: bool = False, **options: Any) -> Tensor:  # type: ignore[override]
        """The mean of all elements, or along a dimension."""
        total = self.sum(dim, keepdim, **options)
        return np.asarray(total / (self.numel() // max(1, total.numel()))).view(Tensor)

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """The parts along a dimension, which they do not have any more, as views."""
        return tuple(np.moveaxis(self, dim, 0))

    def t(self) -> Tensor:
        """Rows as columns, as a view."""
        return self.T

    def expand(self, *shape: Shape) -> Tensor:
        """A view in which dimensions of size one are repeated.

        Args:
            shape: The lengths of the view; -1 leaves one as it is.
        """
        requested = _flatten_shape(shape)
        assert isinstance(requested, tuple)
        shape = (1,) * (len(requested) - self.ndim) + self.shape
        lengths = np.where(np.array(requested) == -1, shape, requested)
        return np.broadcast_to(self, lengths.tolist()).view(Tensor)

    def unsqueeze(self, dim: int) -> Tensor:
        """One more dimension of size one."""
        return np.expand_dims(self, dim).view(Tensor)

    def is_contiguous(self) -> bool:
        """Whether the elements lie one after the other."""
        return bool(self.flags.c_contiguous)


class ValuesIndices(NamedTuple):
    """What `max`, `sort` and `topk` return along a dimension: `values, indices = x.max(dim=1)`."""

    values: Tensor
    indices: Tensor


def _find_extreme(
    reduce: np.ufunc,
    find: Callable[..., np.ndarray],
    tensor: Tensor,
    dim: Dimension | Tensor,
    keepdim: bool,
    options: dict[str, Any],
) -> Tensor | ValuesIndices:
    """The largest or smallest elements; numpy's own functions call it with `axis`, and want no positions."""
    if isinstance(dim, Tensor):  # torch.max(a, b)
        return np.asarray(reduce(tensor, dim)).view(Tensor)
    if dim is None:
        result = reduce.reduce(tensor, axis=options.get("axis"), out=options.get("out"), keepdims=keepdim)
        return np.asarray(result).view(Tensor)
    values = np.asarray(reduce.reduce(tensor, axis=dim, keepdims=keepdim)).view(Tensor)
    return ValuesIndices(values, np.asarray(find(tensor, axis=dim, keepdims=keepdim)).view(Tensor))


#: What numpy calls keywords of torch.
_NUMPY_KEYWORDS = {"dim": "axis", "keepdim": "keepdims"}
#: Words that are methods of a tensor and functions of torch, element by element. With an underscore at their end they
#: change the tensor.
_ELEMENTWISE: dict[str, Callable[..., np.ndarray]] = {
    **{name: getattr(np, function) for name, function in _WORDS["elementwise"].items()},
    "relu": lambda x: np.maximum(x, 0),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


def _return_tensors(function: Callable[..., object]) -> Callable[..., Tensor]:
    """A function or method of numpy whose result is a tensor, and whose axis is called `dim`."""

    def call(*args: object, **options: object) -> Tensor:
        if options:
            options = {_NUMPY_KEYWORDS.get(name, name): value for name, value in options.items()}
        return np.asarray(function(*args, **options)).view(Tensor)

    return call


def _make_in_place(function: Callable[..., np.ndarray]) -> Callable[..., Tensor]:
    def change(self: Tensor, *operands: Operand) -> Tensor:
        return self.copy_(function(self, *operands))

    return change


def _make_cast(dtype: type[np.generic]) -> Callable[[Tensor], Tensor]:
    def cast(self: Tensor) -> Tensor:
        return self.astype(dtype).view(Tensor)

    return cast


for _name in ("bool", "double", "float", "half", "int", "long"):
    setattr(Tensor, _name, _make_cast(_DTYPES[_name]))
for _name, _function in _ELEMENTWISE.items():
    setattr(Tensor, _name, _return_tensors(_function))
    setattr(Tensor, f"{_name}_", _make_in_place(_function))
for _name in ("all", "any", "argmax", "argmin", "cumsum", "squeeze"):
    setattr(Tensor, _name, _return_tensors(getattr(np.ndarray, _name)))


def _reduce_along(function: np.ufunc, tensor: Tensor, dim: Dimension, keepdim: bool, options: dict[str, Any]) -> Tensor:
    """Reduce along a dimension; numpy's own functions call it with `axis`."""
    axis = options.get("axis", dim)
    if isinstance(axis, list):
        axis = tuple(axis)
    dtype = options.get("dtype")
    if dtype is None and tensor.dtype == np.bool_:
        dtype = np.int64
    result = function.reduce(tensor, axis=axis, dtype=dtype, out=options.get("out"), keepdims=keepdim)
    return np.asarray(result).view(Tensor)


def _as_tensors(arrays: Sequence[np.ndarray]) -> tuple[Tensor, ...]:
    return tuple(array.view(Tensor) for array in arrays)


def make_tensor(data: object, dtype: DType | None = None, device: object = None, requires_grad: bool = False) -> Tensor:
    """`torch.tensor`: floats are float32, integers int64.

    Args:
        data: numbers, nested lists or an array.
        dtype: the type of the elements.
        device: not used.
        requires_grad: not used.

    Returns:
        A new tensor.
    """
    array = np.array(data)
    if dtype is None and array.dtype == np.float64 and not isinstance(data, np.ndarray):
        dtype = np.float32
    return array.astype(dtype or array.dtype).view(Tensor)


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
        return np.zeros(_flatten_shape(size), dtype).view(Tensor)

    empty = zeros

    def ones(self, *size: Shape, dtype: DType = np.float32, **_: object) -> Tensor:
        """Ones."""
        return np.ones(_flatten_shape(size), dtype).view(Tensor)

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
        return self._random.random(_flatten_shape(size), np.float32).view(Tensor)

    def randn(self, *size: Shape, **_: object) -> Tensor:
        """Random numbers of the normal distribution."""
        return self._random.standard_normal(_flatten_shape(size), np.float32).view(Tensor)

    def randint(self, *bounds: Shape, **_: object) -> Tensor:
        """Random integers: `randint(high, size)` or `randint(low, high, size)`."""
        *limits, size = bounds
        # The last two of (0, high) or (0, low, high).
        low, high = (0, *limits)[-2:]
        return np.asarray(self._random.integers(low, high, size)).view(Tensor)

    def from_numpy(self, array: np.ndarray) -> Tensor:
        """The same memory as a tensor."""
        return array.view(Tensor)

    def cat(self, tensors: Sequence[np.ndarray], dim: int = 0) -> Tensor:
        """Tensors one after another."""
        return np.concatenate(tensors, axis=dim).view(Tensor)

    def stack(self, tensors: Sequence[np.ndarray], dim: int = 0) -> Tensor:
        """Tensors along a new dimension."""
        return np.stack(tensors, axis=dim).view(Tensor)

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
    **{name: getattr(np, function) for name, function in _WORDS["functions"].items()},
    **_ELEMENTWISE,
}


def _flatten_shape(size: tuple[Shape, ...]) -> Shape:
    """`(2, 3)` of `zeros(2, 3)` and of `zeros((2, 3))`."""
    if len(size) == 1 and isinstance(size[0], Sequence):
        return tuple(size[0])
    return tuple(int(length) for length in size if isinstance(length, int | np.integer))


def build_torch_module(seed: int) -> ModuleType:
    """The stand-in for the module `torch`, without `distributed`.

    Args:
        seed: of its random numbers: programs of one run draw the same ones every time.

    Returns:
        A module with tensors on numpy.

    Examples:
        >>> from collsim.rank_engine.stand_ins.tensors import build_torch_module
        >>> [part.tolist() for part in build_torch_module(0).arange(5).chunk(4)]
        [[0, 1], [2, 3], [4]]
    """
    torch = KnownModule("torch")
    functions = TensorFunctions(seed)
    names = [name for name in dir(TensorFunctions) if not name.startswith("_")]
    vars(torch).update(_DTYPES)
    vars(torch).update({name: _return_tensors(function) for name, function in _NUMPY_FUNCTIONS.items()})
    vars(torch).update({name: getattr(Tensor, name) for name in _WORDS["methods"]})
    vars(torch).update({name: getattr(functions, name) for name in names})
    vars(torch).update(Tensor=Tensor, tensor=make_tensor, as_tensor=make_tensor, no_grad=_NoGrad)
    vars(torch).update(device=lambda *_: "cpu", cuda=_build_cuda_module())
    vars(torch).update(FloatTensor=Tensor, LongTensor=lambda *data: Tensor(*data).to(np.int64), Size=tuple)
    vars(torch).update(inference_mode=_NoGrad, set_num_threads=lambda count: None, __version__="2.13.0")
    return torch


class _NoGrad:
    """`with torch.no_grad():` and `@torch.no_grad()`, which change nothing here."""

    def __call__(self, function: Callable[..., object]) -> Callable[..., object]:
        return function

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


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
