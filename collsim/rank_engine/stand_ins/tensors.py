"""The tensors that rank programs use, on numpy arrays: views are views, `chunk` cuts as torch cuts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Literal, NamedTuple, Protocol

import numpy as np

from ...errors import describe_unknown
from ...package_data import read_toml
from .gradients import (
    Blocking,
    Record,
    Value,
    compute_gradients,
    needs_gradient,
    record,
    record_move,
    record_ufunc,
    refuse_in_place,
    refuse_unknown,
)

DType = type[np.generic] | np.dtype
Shape = int | Sequence[int]
Operand = float | np.ndarray
#: A dimension, or several; None: all.
Dimension = int | Sequence[int] | None
#: What numpy says of the ufunc whose result it wraps: the function, its arguments, and which result it is.
_Context = tuple[np.ufunc, tuple[object, ...], int]

WORDS = read_toml(__file__, "tensors.toml")
DTYPES: dict[str, type[np.generic]] = {name: getattr(np, kind) for name, kind in WORDS["types"].items()}


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


class Reducer(Protocol):
    """What sums the gradients of several ranks."""

    def reduce(self, ready: Sequence[Tensor]) -> Blocking:
        """Sum the gradients of tensors, which are complete, in this order."""


class Tensor(np.ndarray):
    """An array with the words of torch that rank programs use."""

    #: Its gradient, once `backward` has computed it.
    grad: Tensor | None = None
    #: Whether a gradient of it is computed.
    requires_grad = False
    #: How it was computed itself; None for one that a program made.
    record: Record | None = None
    #: What is told when its gradient is complete.
    reducer: Reducer | None = None

    @property
    def size(self) -> _Size:  # type: ignore[override]
        """The number of elements; called, the shape, or its length along a dimension."""
        return _Size.measure(self.shape)

    def __new__(cls, *data: Shape) -> Tensor:
        """`torch.Tensor`: of numbers, or of a shape; float32 in either case."""
        if len(data) == 1 and not isinstance(data[0], int):
            return np.array(data[0], np.float32).view(cls)
        return np.zeros(flatten_shape(data), np.float32).view(cls)

    def __array_wrap__(  # type: ignore[override]
        self, array: np.ndarray, context: _Context | None = None, return_scalar: bool = False
    ) -> Tensor:
        """Sums of all elements are tensors, too, which can be sent; integers divided are float32, as in torch."""
        if context is None:
            return array.view(Tensor)
        function, args, _ = context
        if array.dtype == np.float64:
            is_new = len(args) == function.nin
            if is_new and not any(isinstance(arg, np.ndarray) and arg.dtype == np.float64 for arg in args):
                array = array.astype(np.float32)
        tensor = array.view(Tensor)
        record_ufunc(tensor, function, args)
        return tensor

    def __array_function__(self, function: Callable[..., Value], types: Value, args: Value, kwargs: Value) -> Value:
        """A function of numpy, which records nothing."""
        operands = args[0] if args and isinstance(args[0], list | tuple) else args
        if needs_gradient(*operands):
            raise refuse_unknown(function.__name__)
        return super().__array_function__(function, types, args, kwargs)

    def __repr__(self) -> str:
        return f"tensor({np.array2string(self.view(np.ndarray), separator=', ', precision=4)})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        if self.ndim == 0 and spec:
            return format(self.item(), spec)
        return repr(self)

    @property  # type: ignore[override]
    def data(self) -> Tensor:
        """The same memory, of which no gradient is computed."""
        return self.detach()

    @data.setter
    def data(self, values: np.ndarray) -> None:
        """Set all elements."""
        self.detach()[...] = values

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

    def __getitem__(self, key: Value) -> Value:
        """A part, also of one element, which is a view as in torch: it can be sent and filled."""
        part = super().__getitem__(key)
        if isinstance(part, np.generic):
            return super().__getitem__((*key, ...) if isinstance(key, tuple) else (key, ...))
        return part

    def __iter__(self) -> Iterator[Value]:
        """The parts along the first dimension."""
        return iter([self[position] for position in range(len(self))])

    def __setitem__(self, key: Value, value: Value) -> None:
        """Change a part."""
        if needs_gradient(self, value):
            raise refuse_in_place(self)
        super().__setitem__(key, value)

    def clone(self) -> Tensor:
        """A copy."""
        return self.copy()

    def detach(self) -> Tensor:
        """The same memory, of which no gradient is computed."""
        if not self.requires_grad:
            return self
        return np.asarray(self).view(Tensor)

    def cpu(self, memory_format: None = None) -> Tensor:
        """The same tensor: there are no devices."""
        return self

    def cuda(self, device: object = None, non_blocking: bool = False, memory_format: None = None) -> Tensor:
        """The same tensor: there are no devices."""
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Compute a gradient of it, or do not."""
        self.requires_grad = requires_grad
        return self

    def backward(
        self,
        gradient: np.ndarray | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: object = None,
    ) -> Blocking:
        """Compute the gradients of what it was computed from; ranks that average theirs wait for one another.

        Args:
            gradient: Of this tensor; None for 1.
            retain_graph: Whether it can be done again.
            create_graph: Not simulated.
            inputs: Not simulated.

        Raises:
            RuntimeError: For what is not simulated.
        """
        if create_graph or inputs is not None:
            raise RuntimeError("backward: create_graph= and inputs= are not simulated; leave them out")
        ready: dict[Reducer, list[Tensor]] = {}
        for leaf in compute_gradients(self, gradient, bool(retain_graph)):
            if leaf.reducer is not None:
                ready.setdefault(leaf.reducer, []).append(leaf)
        for reducer, leaves in ready.items():
            yield from reducer.reduce(leaves)

    def contiguous(self) -> Tensor:
        """The same memory where its elements lie one after the other, else a copy in which they do."""
        return np.ascontiguousarray(self).reshape(self.shape).view(Tensor)

    def numpy(self) -> np.ndarray:
        """The same memory as an array of numpy."""
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return np.asarray(self)

    def to(
        self,
        *targets: Value,
        dtype: DType | None = None,
        device: object = None,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: None = None,
    ) -> Tensor:
        """Another type; the same tensor where it has it. A device changes nothing here.

        Args:
            targets: A type, a device or another tensor; `non_blocking` and `copy` may follow.
            dtype: A type.
            device: Not used.
            non_blocking: Not used.
            copy: Whether it is a copy in any case.
            memory_format: Not used.
        """
        flags = [target for target in targets if isinstance(target, bool)]
        for target in targets:
            if isinstance(target, np.ndarray):
                dtype = target.dtype
            elif _is_type(target):
                dtype = target
        if dtype is not None and self.dtype != dtype:
            return _cast(self, dtype)
        if copy or flags[1:] == [True]:
            return self.clone()
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
        if needs_gradient(self, value):
            raise refuse_in_place(self)
        np.add(self, value, out=self, casting="same_kind")
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

    def split(self, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
        """Pieces along an axis, views of this tensor.

        Args:
            split_size: Elements of each piece, the last may have fewer; or the sizes of all pieces.
            dim: The axis.

        Raises:
            RuntimeError: Sizes do not add up to the axis, in torch's words.
        """
        if isinstance(split_size, Sequence):
            ends = np.cumsum(split_size)
            if ends[-1] != self.shape[dim]:
                raise RuntimeError(f"split_with_sizes: the sizes {list(split_size)} are not {self.shape[dim]} together")
            return _as_tensors(np.split(self, ends[:-1], axis=dim))
        return _as_tensors(np.split(self, range(split_size, self.shape[dim], split_size), axis=dim))

    def tensor_split(self, indices_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
        """Exactly so many pieces, as equal as can be, or those between some positions."""
        return _as_tensors(np.array_split(self, indices_or_sections, axis=dim))

    def narrow(self, dimension: int, start: int, length: int) -> Tensor:
        """A part of a dimension, as a view.

        Args:
            dimension: Which.
            start: The first element; negative ones count from the end.
            length: How many.

        Raises:
            RuntimeError: It has not so many, in torch's words.
        """
        count = self.shape[dimension]
        first = start + count * (start < 0)
        if not 0 <= first <= first + length <= count:
            raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({count}).")
        part: Tensor = self[(slice(None),) * (dimension % self.ndim) + (slice(first, first + length),)]
        return part

    def view(self, *shape: Value) -> Value:  # type: ignore[override]
        """The same memory in another shape (or, as numpy has it, as another type).

        Args:
            shape: Lengths, one of which may be -1; or a type.

        Raises:
            RuntimeError: Where the elements do not lie so that this can be a view; reshape copies them.
        """
        if len(shape) == 1 and (_is_type(shape[0]) or isinstance(shape[0], type)):
            return super().view(shape[0])
        reshaped = self.reshape(*shape)
        if self.size and not np.may_share_memory(reshaped, self):
            raise RuntimeError("view size is not compatible with input tensor's size and stride; use .reshape(...)")
        return reshaped

    def view_as(self, other: np.ndarray) -> Tensor:
        """The same memory in the shape of another tensor."""
        return np.asarray(self.view(*other.shape)).view(Tensor)

    def type(self, dtype: Value = None, non_blocking: bool = False) -> Tensor | str:
        """Another type; without one the name of its own.

        Args:
            dtype: A type, such as `torch.float64` or `torch.FloatTensor`.
            non_blocking: Not used.

        Raises:
            TypeError: For what is no type, such as the name of one.
        """
        if dtype is None:
            return f"torch.{self.dtype.name}"
        if dtype is Tensor:
            dtype = np.float32
        if not _is_type(dtype):
            raise TypeError(f"type: {dtype!r} is no type that is known here; use one such as torch.float32")
        return self.to(dtype)

    def add(self, other: Operand, *, alpha: float = 1) -> Tensor:
        """The sum with a value.

        Args:
            other: A number or a tensor.
            alpha: Factor of it.
        """
        return as_tensor(self + alpha * other)

    def matmul(self, other: np.ndarray) -> Tensor:
        """The matrix product."""
        return as_tensor(self @ other)

    mm = dot = matmul  # type: ignore[assignment]

    def norm(self, p: float | str = "fro", dim: Dimension = None, keepdim: bool = False) -> Tensor:
        """A norm: the Euclidean one, or another one of vectors.

        Args:
            p: The exponent; infinity for the largest element.
            dim: Along which; None for all elements.
            keepdim: Whether the dimension stays, with the length 1.

        Raises:
            RuntimeError: For a norm of matrices.
        """
        if p in ("fro", 2):
            return _compute_length(as_tensor(self * self).sum(dim, keepdim))
        if isinstance(p, str):
            raise RuntimeError(f"norm: p={p!r} is not simulated; use a number")
        sizes = as_tensor(np.abs(self))
        if p == math.inf:
            return as_tensor(_reduce_along(np.maximum, sizes, dim, keepdim, {}))
        total = as_tensor(sizes**p).sum(dim, keepdim)
        return as_tensor(total ** (1 / p))

    def squeeze(self, dim: Dimension = None, **options: Value) -> Tensor:  # type: ignore[override]
        """The same memory without dimensions of size one.

        Args:
            dim: Which, as far as they are of size one; None for all.
            options: `axis`, where a function of numpy calls it.
        """
        axis, _ = _read_axis("squeeze", options, dim)
        if not options:
            dims = np.arange(self.ndim) if dim is None else np.atleast_1d(dim)
            axis = tuple(int(axis) for axis in dims if self.ndim and self.shape[axis] == 1)
        return as_tensor(super().squeeze(axis))

    def nonzero(self) -> Tensor:  # type: ignore[override]
        """The positions of the elements that are not 0, a row each."""
        return np.argwhere(np.asarray(self)).view(Tensor)

    def permute(self, *dims: Shape) -> Tensor:
        """The same memory with its dimensions in another order."""
        array: Tensor = super().transpose(flatten_shape(dims))
        return array

    def repeat(self, *times: Shape) -> Tensor:  # type: ignore[override]
        """Copies along each dimension."""
        return as_tensor(np.tile(np.asarray(self), flatten_shape(times)))

    def index_select(self, dim: int, index: np.ndarray) -> Tensor:
        """Elements along a dimension, by their positions."""
        return np.take(self, index, axis=dim).view(Tensor)

    def new_zeros(self, *size: Shape, dtype: DType | None = None, device: object = None) -> Tensor:
        """Zeros of the same type, unless another one is given.

        Args:
            size: Lengths.
            dtype: Type of the elements.
            device: Not used.
        """
        return np.zeros(flatten_shape(size), dtype or self.dtype).view(Tensor)

    new_empty = new_zeros

    def new_full(
        self, size: Shape, fill_value: Operand, *, dtype: DType | None = None, device: object = None
    ) -> Tensor:
        """One value in all elements, of the same type unless another one is given.

        Args:
            size: Lengths.
            fill_value: The value.
            dtype: Type of the elements.
            device: Not used.
        """
        return np.full(size, fill_value, dtype or self.dtype).view(Tensor)

    def clamp(self, min: Operand | None = None, max: Operand | None = None) -> Tensor:
        """With all elements between two bounds.

        Args:
            min: The lower bound; None for none.
            max: The upper bound; None for none.
        """
        # With one bound numpy takes the maximum, which shares the gradient of an element at the bound.
        if self.dtype.kind == "f" and min is None and max is not None:
            min = -np.inf
        elif self.dtype.kind == "f" and max is None and min is not None:
            max = np.inf
        return as_tensor(np.ndarray.clip(self, min, max))  # type: ignore[arg-type]

    def clamp_(self, min: Operand | None = None, max: Operand | None = None) -> Tensor:
        """Bring all elements between two bounds."""
        return self.copy_(self.clamp(min, max))

    def transpose(self, *dims: Value) -> Tensor:
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
        self,
        dim: Dimension = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: int | None = None,
        **options: Value,
    ) -> Tensor:
        """The variance; of a sample, as torch has it.

        Args:
            dim: Along which; None for all elements. A bool is `unbiased`.
            unbiased: Whether it is that of a sample.
            keepdim: Whether the dimension stays, with the length 1.
            correction: In place of `unbiased`: 1 for that of a sample, 0 for that of the elements.
            options: `axis` and `ddof`, where a function of numpy calls it.
        """
        if isinstance(dim, bool):
            unbiased, dim = dim, None
        if correction is None:
            correction = options.pop("ddof", int(unbiased))
        axis, keepdim = _read_axis("var", options, dim, keepdim)
        distances = self - self.mean(axis, keepdim=True)
        total = (distances * distances).sum(axis, keepdim)
        return as_tensor(total / (self.numel() // max(1, total.numel()) - correction))

    def std(  # type: ignore[override]
        self,
        dim: Dimension = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: int | None = None,
        **options: Value,
    ) -> Tensor:
        """The standard deviation; of a sample, as torch has it."""
        return as_tensor(np.sqrt(self.var(dim, unbiased, keepdim, correction=correction, **options)))

    def max(  # type: ignore[override]
        self, dim: Dimension | Tensor = None, keepdim: bool = False, **options: Value
    ) -> Value:
        """The largest element; along a dimension the largest ones with their positions."""
        return _find_extreme(np.maximum, np.argmax, self, dim, keepdim, options)

    def min(  # type: ignore[override]
        self, dim: Dimension | Tensor = None, keepdim: bool = False, **options: Value
    ) -> Value:
        """The smallest element; along a dimension the smallest ones with their positions."""
        return _find_extreme(np.minimum, np.argmin, self, dim, keepdim, options)

    def argsort(  # type: ignore[override]
        self, dim: int = -1, descending: bool = False, stable: bool = False, **options: Value
    ) -> Tensor:
        """Positions of the elements in their order.

        Args:
            dim: The dimension along which they are sorted.
            descending: The largest first.
            stable: Not used: the order of equal elements stays in any case.
            options: `axis`, where a function of numpy calls it.
        """
        array = np.asarray(self)
        if descending:
            array = -array
        return np.argsort(array, axis=_read_axis("argsort", options, dim)[0], kind="stable").view(Tensor)

    def sort(  # type: ignore[override]
        self, dim: int = -1, descending: bool = False, stable: bool = False, **options: Value
    ) -> ValuesIndices | None:
        """The elements in their order with their positions.

        Args:
            dim: The dimension along which they are sorted.
            descending: The largest first.
            stable: Not used: the order of equal elements stays in any case.
            options: `axis`, where a function of numpy calls it, which wants the elements sorted in place.
        """
        if options:
            super().sort(axis=_read_axis("sort", options, dim)[0])
            return None
        return self._sort(dim, descending)

    def _sort(self, dim: int, descending: bool) -> ValuesIndices:
        indices = self.argsort(dim, descending)
        return ValuesIndices(np.take_along_axis(self, indices, dim).view(Tensor), indices)

    def topk(self, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> ValuesIndices:
        """The largest elements with their positions.

        Args:
            k: How many.
            dim: Along which dimension.
            largest: False for the smallest ones.
            sorted: Not used: they are in order in any case.
        """
        values, indices = self._sort(dim, descending=largest)
        first = np.arange(k)
        return ValuesIndices(values.index_select(dim, first), indices.index_select(dim, first))

    def softmax(self, dim: int, dtype: DType | None = None) -> Tensor:
        """Exponentials along a dimension, whose sum is one.

        Args:
            dim: The dimension.
            dtype: Type in which they are computed; None for that of the tensor.
        """
        if dtype is not None:
            return self.to(dtype).softmax(dim)
        powers = np.exp(self - np.maximum.reduce(np.asarray(self), axis=dim, keepdims=True))
        return as_tensor(powers / powers.sum(dim, keepdim=True))

    def log_softmax(self, dim: int, dtype: DType | None = None) -> Tensor:
        """The logarithm of `softmax`.

        Args:
            dim: The dimension.
            dtype: Type in which it is computed; None for that of the tensor.
        """
        if dtype is not None:
            return self.to(dtype).log_softmax(dim)
        differences = self - np.maximum.reduce(np.asarray(self), axis=dim, keepdims=True)
        return as_tensor(differences - np.log(np.exp(differences).sum(dim, keepdim=True)))

    def sum(self, dim: Dimension = None, keepdim: bool = False, **options: Value) -> Tensor:  # type: ignore[override]
        """The sum of all elements, or along a dimension."""
        return _reduce_along(np.add, self, dim, keepdim, options)

    def prod(self, dim: Dimension = None, keepdim: bool = False, **options: Value) -> Tensor:  # type: ignore[override]
        """The product of all elements, or along a dimension."""
        return _reduce_along(np.multiply, self, dim, keepdim, options)

    def mean(self, dim: Dimension = None, keepdim: bool = False, **options: Value) -> Tensor:  # type: ignore[override]
        """The mean of all elements, or along a dimension.

        Args:
            dim: Along which; None for all elements.
            keepdim: Whether the dimension stays, with the length 1.
            options: `dtype`; those of numpy, where one of its functions calls it.

        Raises:
            RuntimeError: For whole numbers without a `dtype`, in torch's words.
        """
        if self.dtype.kind in "iub" and options.get("dtype") is None and "axis" not in options:
            raise RuntimeError("mean(): could not infer output dtype. Input dtype must be a floating point dtype.")
        total = self.sum(dim, keepdim, **options)
        return as_tensor(total / (self.numel() // max(1, total.numel())))

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """The parts along a dimension, which they do not have any more, as views."""
        return tuple(np.moveaxis(self, dim, 0))

    def t(self) -> Tensor:
        """Rows as columns, as a view."""
        return self.permute(*reversed(range(self.ndim)))

    @property
    def T(self) -> Tensor:  # type: ignore[override]
        """Rows as columns, as a view."""
        return self.t()

    def expand(self, *shape: Shape) -> Tensor:
        """A view in which dimensions of size one are repeated.

        Args:
            shape: The lengths of the view; -1 leaves one as it is.
        """
        requested = flatten_shape(shape)
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


def as_tensor(value: Value) -> Tensor:
    """A tensor as it is, and anything else as one.

    Args:
        value: A tensor, an array or a number.
    """
    if isinstance(value, Tensor):
        return value
    return np.asarray(value).view(Tensor)


def flatten_shape(size: tuple[Shape, ...]) -> Shape:
    """`(2, 3)` of `zeros(2, 3)` and of `zeros((2, 3))`."""
    if len(size) == 1 and isinstance(size[0], Sequence):
        return tuple(size[0])
    return tuple(int(length) for length in size if isinstance(length, int | np.integer))


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
    options: dict[str, Value],
) -> Tensor | ValuesIndices:
    """The largest or smallest elements; numpy's own functions call it with `axis`, and want no positions."""
    if isinstance(dim, Tensor):  # torch.max(a, b)
        return as_tensor(reduce(tensor, dim))
    array = np.asarray(tensor)
    if dim is None and not options and needs_gradient(tensor):
        extreme = as_tensor(reduce.reduce(array, axis=None))
        equal = array == extreme
        # As in torch, equal elements share the gradient.
        shared: Tensor = record(extreme, (tensor,), lambda gradient: [gradient * equal / np.count_nonzero(equal)])
        return shared
    if dim is None:
        out = options.pop("out", None)
        axis, keepdim = _read_axis(reduce.__name__, options, dim, keepdim)
        return as_tensor(reduce.reduce(array, axis=axis, out=out, keepdims=keepdim))
    indices = find(array, axis=dim, keepdims=True)
    values = _take_along(tensor, indices, dim)
    if not keepdim:
        values, indices = values.squeeze(dim), np.squeeze(indices, dim)
    return ValuesIndices(values, as_tensor(indices))


@record_move
def _take_along(tensor: Tensor, indices: np.ndarray, dim: int) -> Tensor:
    return as_tensor(np.take_along_axis(np.asarray(tensor), indices, dim))


def _cast(tensor: Tensor, dtype: DType) -> Tensor:
    """Another type."""
    result = np.asarray(tensor).astype(dtype).view(Tensor)
    cast: Tensor = record(result, (tensor,), lambda gradient: [gradient.astype(tensor.dtype)])
    return cast


#: What numpy calls keywords of torch.
_NUMPY_KEYWORDS = {"dim": "axis", "dims": "axis", "keepdim": "keepdims", "shifts": "shift", "diagonal": "k"}


def _rectify(tensor: Tensor) -> Tensor:
    """The tensor where it is positive, else 0, where torch takes the gradient for 0, too."""
    array = np.asarray(tensor)
    result: Tensor = record(as_tensor(np.maximum(array, 0)), (tensor,), lambda gradient: [gradient * (array > 0)])
    return result


def _compute_length(squares: Tensor) -> Tensor:
    """The root of sums of squares, where torch takes the gradient of a sum of zeros for 0."""
    root = np.sqrt(np.asarray(squares))
    length: Tensor = record(
        as_tensor(root),
        (squares,),
        lambda gradient: [np.divide(gradient, 2 * root, out=np.zeros_like(root), where=root != 0)],
    )
    return length


def _divide(tensor: Operand, other: Operand, rounding_mode: Literal["trunc", "floor"] | None = None) -> np.ndarray:
    """The quotient, which may be rounded."""
    if rounding_mode is None:
        return np.asanyarray(np.divide(tensor, other))
    if rounding_mode == "floor":
        return np.asanyarray(np.floor_divide(tensor, other))
    if rounding_mode != "trunc":
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}"
        )
    quotient = np.trunc(np.true_divide(tensor, other))
    return np.asanyarray(quotient).astype(np.result_type(tensor, other))


#: Words that are methods of a tensor and functions of torch, element by element. With an underscore at their end they
#: change the tensor.
ELEMENTWISE: dict[str, Callable[..., np.ndarray]] = {
    **{name: getattr(np, function) for name, function in WORDS["elementwise"].items()},
    "relu": _rectify,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: np.exp(-np.logaddexp(0, -x)),  # 1 / (1 + exp(-x)) has no gradient where exp(-x) is infinite
    "div": _divide,
    "sub": lambda x, other, alpha=1: np.subtract(x, other if alpha == 1 else alpha * other),
}


def return_tensors(function: Callable[..., object]) -> Callable[..., Tensor]:
    """A function or method of numpy whose result is a tensor, and whose axis is called `dim`.

    Args:
        function: Of numpy.
    """

    def call(*args: object, **options: object) -> Tensor:
        if options:
            options = {_NUMPY_KEYWORDS.get(name, name): value for name, value in options.items()}
        result = as_tensor(function(*args, **options))
        if needs_gradient(*args) and result.dtype.kind == "f" and not result.requires_grad:
            raise refuse_unknown(getattr(function, "__name__", ""))
        return result

    return call


def _make_change(function: np.ufunc) -> Callable[[Tensor, Operand], Tensor]:
    """`+=` and its kin; of a computed tensor that needs a gradient the result is another tensor."""

    def change(self: Tensor, value: Operand) -> Tensor:
        if needs_gradient(self, value):
            if self.requires_grad and self.record is None:
                raise refuse_in_place(self)
            return as_tensor(function(self, value))
        function(self, value, out=self, casting="same_kind")
        return self

    return change


def _make_in_place(function: Callable[..., np.ndarray]) -> Callable[..., Tensor]:
    def change(self: Tensor, *operands: Operand, **options: Value) -> Tensor:
        result = function(self, *operands, **options)
        if not np.can_cast(result.dtype, self.dtype, "same_kind"):
            raise RuntimeError(f"result type {result.dtype.name} can't be cast to the desired type {self.dtype.name}")
        return self.copy_(result)

    return change


def _make_cast(dtype: type[np.generic]) -> Callable[[Tensor], Tensor]:
    def cast(self: Tensor) -> Tensor:
        return _cast(self, dtype)

    return cast


for _name, _change in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide}.items():
    setattr(Tensor, f"__i{_name}__", _make_change(_change))
for _name in ("bool", "double", "float", "half", "int", "long"):
    setattr(Tensor, _name, _make_cast(DTYPES[_name]))
for _name, _function in ELEMENTWISE.items():
    setattr(Tensor, _name, return_tensors(_function))
    setattr(Tensor, f"{_name}_", _make_in_place(_function))
for _name in ("all", "any", "argmax", "argmin", "cumsum"):
    setattr(Tensor, _name, return_tensors(getattr(np.ndarray, _name)))
for _name in WORDS["moves"]:
    setattr(Tensor, _name, record_move(getattr(Tensor, _name)))


def _reduce_along(
    function: np.ufunc, tensor: Tensor, dim: Dimension, keepdim: bool, options: dict[str, Value]
) -> Tensor:
    """Reduce along a dimension; numpy's own functions call it with `axis`."""
    dtype, out = options.pop("dtype", None), options.pop("out", None)
    axis, keepdim = _read_axis(function.__name__, options, dim, keepdim)
    if isinstance(axis, list):
        axis = tuple(axis)
    if dtype is None and tensor.dtype == np.bool_:
        dtype = np.int64
    result = function.reduce(np.asarray(tensor), axis=axis, dtype=dtype, out=out, keepdims=keepdim)
    total = as_tensor(result)
    if not needs_gradient(tensor):
        return total
    if function is not np.add:
        raise refuse_unknown(function.__name__)

    def backward(gradient: np.ndarray) -> list[np.ndarray]:
        if axis is not None and not keepdim:
            gradient = np.expand_dims(gradient, axis)
        return [np.broadcast_to(gradient, tensor.shape)]

    reduced: Tensor = record(total, (tensor,), backward)
    return reduced


def _read_axis(call: str, options: dict[str, Value], dim: Dimension, keepdim: bool = False) -> tuple[Value, bool]:
    """What numpy calls the dimension, and whether it stays, where one of its functions calls a method of a tensor."""
    for name in ("dtype", "kind", "order", "out"):
        if options.get(name, 0) is None:  # numpy gives all that it has
            del options[name]
    unknown = sorted(options.keys() - {"axis", "keepdims"})
    if unknown:
        raise TypeError(f"{call}() got an unexpected keyword argument {unknown[0]!r}")
    return options.get("axis", dim), options.get("keepdims", keepdim)


def _is_type(value: object) -> bool:
    """Whether it is the type of elements."""
    return isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic))


def _as_tensors(arrays: Sequence[np.ndarray]) -> tuple[Tensor, ...]:
    return tuple(array.view(Tensor) for array in arrays)
