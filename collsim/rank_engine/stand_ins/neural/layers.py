"""`torch.nn`: modules with parameters, and the layers and losses of `functional` as modules."""

from __future__ import annotations

import functools
import inspect
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from types import GeneratorType, ModuleType
from typing import ClassVar

import numpy as np

from ..gradients import Blocking, Value, set_recording
from ..tensors import KnownModule, Tensor, as_tensor
from ..torch_functions import TensorFunctions
from . import functional


class Parameter(Tensor):
    """A tensor that belongs to a module, which is trained."""

    def __new__(cls, data: np.ndarray, requires_grad: bool = True) -> Parameter:  # type: ignore[override]
        """The same memory as a parameter."""
        parameter = np.asarray(data).view(cls)
        parameter.requires_grad = requires_grad
        return parameter


class Module:
    """A layer, or a model of layers. Its parameters and layers are its attributes, as a program sets them."""

    training = True
    #: Of the rank, for its random numbers.
    functions: ClassVar[TensorFunctions]

    def __init__(self) -> None:
        self.buffer_names: list[str] = []

    def forward(self, *_: Value, **__: Value) -> Value:
        """Compute the output; a program's own modules do."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Value, **options: Value) -> Blocking:
        result = self.forward(*args, **options)
        if isinstance(result, GeneratorType):  # as functions of a program are, since they may wait
            result = yield from result
        return result

    def register_buffer(self, name: str, tensor: Tensor, persistent: bool = True) -> None:
        """Add a tensor that is not trained."""
        self.buffer_names.append(name)
        setattr(self, name, tensor)

    def register_parameter(self, name: str, param: Parameter) -> None:
        """Add a parameter."""
        setattr(self, name, param)

    def add_module(self, name: str, module: Module) -> None:
        """Add a layer."""
        setattr(self, name, module)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Its layers by name."""
        return iter([(name, value) for name, value in vars(self).items() if isinstance(value, Module)])

    def children(self) -> Iterator[Module]:
        """Its layers."""
        return iter([child for _, child in self.named_children()])

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """Itself and all layers in it, by name.

        Args:
            prefix: Its own name.
        """
        modules = [(prefix, self)]
        for name, child in self.named_children():
            modules += child.named_modules(f"{prefix}.{name}" if prefix else name)
        return iter(modules)

    def modules(self) -> Iterator[Module]:
        """Itself and all layers in it."""
        return iter([module for _, module in self.named_modules()])

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Its parameters by name, each once.

        Args:
            prefix: Its own name.
            recurse: Whether those of its layers belong to them.
        """
        parameters: dict[int, tuple[str, Parameter]] = {}
        for name, value in self._list_tensors(prefix, recurse):
            if isinstance(value, Parameter):
                parameters.setdefault(id(value), (name, value))
        return iter(parameters.values())

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Its parameters."""
        return iter([parameter for _, parameter in self.named_parameters(recurse=recurse)])

    def named_buffers(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Its tensors that are not trained, by name."""
        return iter([pair for pair in self._list_tensors(prefix) if not isinstance(pair[1], Parameter)])

    def buffers(self) -> Iterator[Tensor]:
        """Its tensors that are not trained."""
        return iter([buffer for _, buffer in self.named_buffers()])

    def _list_tensors(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        for path, module in self.named_modules(prefix):
            for name, value in vars(module).items():
                if isinstance(value, Parameter) or (isinstance(value, Tensor) and name in module.buffer_names):
                    yield (f"{path}.{name}" if path else name), value
            if not recurse:
                return

    def state_dict(self) -> OrderedDict[str, Tensor]:
        """Its parameters and buffers by name, which share its memory."""
        return OrderedDict((name, value.detach()) for name, value in self._list_tensors())

    def load_state_dict(self, state_dict: dict[str, Tensor], strict: bool = True) -> None:
        """Copy parameters and buffers into its own.

        Args:
            state_dict: By name.
            strict: Whether all names have to be known, and none may lack.

        Raises:
            RuntimeError: A name is unknown, or lacks.
        """
        known = dict(self._list_tensors())
        if strict and known.keys() != state_dict.keys():
            names = sorted(known.keys() ^ state_dict.keys())
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}: {', '.join(names)}")
        for name, value in state_dict.items():
            if name in known:
                known[name].detach().copy_(value)

    def train(self, mode: bool = True) -> Module:
        """Begin to train, or to evaluate."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Begin to evaluate."""
        return self.train(False)

    def to(self, *_: object, **__: object) -> Module:
        """Itself: there are no devices."""
        return self

    cuda = cpu = to

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Train its parameters, or do not."""
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of its parameters."""
        for parameter in self.parameters():
            parameter.grad = None

    def apply(self, fn: Callable[[Module], object]) -> Blocking:
        """Call a function with each layer in it, and with itself.

        Args:
            fn: The function.
        """
        for module in reversed(list(self.modules())):
            result = fn(module)
            if isinstance(result, GeneratorType):
                yield from result
        return self

    def __repr__(self) -> str:
        inner = "".join(
            f"\n  ({name}): {repr(child).replace(chr(10), chr(10) + '  ')}" for name, child in self.named_children()
        )
        return f"{type(self).__name__}({inner}\n)" if inner else f"{type(self).__name__}()"

    def _draw_uniform(self, *shape: int, bound: float) -> Parameter:
        return Parameter((self.functions.rand(*shape) * 2 - 1) * bound)


class Linear(Module):
    """A matrix product and a sum; its first numbers are drawn as torch draws them."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, **_: object) -> None:
        """The layer.

        Args:
            in_features: Numbers of an input.
            out_features: Numbers of an output.
            bias: Whether numbers are added.
        """
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        bound = 1 / math.sqrt(max(1, in_features))
        self.weight = self._draw_uniform(out_features, in_features, bound=bound)
        self.bias = self._draw_uniform(out_features, bound=bound) if bias else None

    def forward(self, input: Tensor) -> Tensor:
        """Compute the output."""
        return functional.linear(input, self.weight, self.bias)


class Conv2d(Module):
    """A convolution of images."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: functional.Pair,
        stride: functional.Pair = 1,
        padding: functional.Pair = 0,
        bias: bool = True,
    ) -> None:
        """The layer.

        Args:
            in_channels: Of an input.
            out_channels: Of an output.
            kernel_size: Pixels of a window in each direction.
            stride: Pixels from a window to the next.
            padding: Rows and columns of zeros around an image.
            bias: Whether numbers are added.
        """
        super().__init__()
        size = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        bound = 1 / math.sqrt(in_channels * math.prod(size))
        self.weight = self._draw_uniform(out_channels, in_channels, *size, bound=bound)
        self.bias = self._draw_uniform(out_channels, bound=bound) if bias else None
        self.stride, self.padding = stride, padding

    def forward(self, input: Tensor) -> Tensor:
        """Compute the output."""
        return functional.conv2d(input, self.weight, self.bias, self.stride, self.padding)


class BatchNorm2d(Module):
    """Each channel with the mean 0 and the variance 1 of its batch, or of all batches that it was trained with."""

    #: Of all batches that it was trained with.
    running_mean: Tensor
    #: Of all batches that it was trained with.
    running_var: Tensor
    #: How many batches there were.
    num_batches_tracked: Tensor

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, **_: object) -> None:
        """The layer.

        Args:
            num_features: Channels.
            eps: Added to the variance.
            momentum: Share of a batch in the statistics.
        """
        super().__init__()
        self.weight, self.bias = (
            Parameter(self.functions.ones(num_features)),
            Parameter(self.functions.zeros(num_features)),
        )
        self.register_buffer("running_mean", self.functions.zeros(num_features))
        self.register_buffer("running_var", self.functions.ones(num_features))
        self.register_buffer("num_batches_tracked", self.functions.zeros((), dtype=np.int64))
        self.eps, self.momentum = eps, momentum

    def forward(self, input: Tensor) -> Tensor:
        """Compute the output.

        Args:
            input: Of shape (N, channels, ...).
        """
        dims = tuple(axis for axis in range(input.ndim) if axis != 1)
        shape = (1, -1, *(1,) * (input.ndim - 2))
        if not self.training:
            statistics = self.running_mean.view(shape), self.running_var.view(shape)
        else:
            statistics = input.mean(dims, keepdim=True), input.var(dims, True, 0)
            with set_recording(False):
                values = input.mean(dims), input.var(dims)
                for statistic, value in zip((self.running_mean, self.running_var), values, strict=True):
                    statistic += self.momentum * (value - statistic)
                self.num_batches_tracked += 1
        return functional.normalize(input, *statistics, self.weight.view(shape), self.bias.view(shape), self.eps)


class BatchNorm1d(BatchNorm2d):
    """`BatchNorm2d` of inputs with one number or one row for each channel."""


class LayerNorm(Module):
    """The last dimensions with the mean 0 and the variance 1."""

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5, **_: object) -> None:
        """The layer.

        Args:
            normalized_shape: Lengths of the last dimensions.
            eps: Added to the variance.
        """
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.weight = Parameter(self.functions.ones(self.normalized_shape))
        self.bias = Parameter(self.functions.zeros(self.normalized_shape))
        self.eps = eps

    def forward(self, input: Tensor) -> Tensor:
        """Compute the output."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class Embedding(Module):
    """A table of vectors."""

    def __init__(self, num_embeddings: int, embedding_dim: int, **_: object) -> None:
        """The layer.

        Args:
            num_embeddings: Rows.
            embedding_dim: Numbers of a row.
        """
        super().__init__()
        self.weight = Parameter(self.functions.randn(num_embeddings, embedding_dim))

    def forward(self, input: np.ndarray) -> Tensor:
        """Compute the output."""
        return functional.embedding(input, self.weight)


class Dropout(Module):
    """Zeros in place of some numbers while it is trained."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        """The layer.

        Args:
            p: Share of zeros.
            inplace: Not used.
        """
        super().__init__()
        self.p = p

    def forward(self, input: Tensor) -> Tensor:
        """Compute the output."""
        return drop(self.functions, input, self.p, self.training)


def drop(functions: TensorFunctions, input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """`torch.nn.functional.dropout`.

    Args:
        functions: Of the rank, for its random numbers.
        input: Value tensor.
        p: Share of zeros.
        training: Whether there are any.
    """
    if not training or not p:
        return input
    return as_tensor(input * ((functions.rand(*input.shape) >= p) / np.float32(1 - p)))


class Flatten(Module):
    """All dimensions but the first as one."""

    def forward(self, input: Tensor) -> Tensor:
        """Compute the output."""
        return input.flatten(1)


class Sequential(Module):
    """Layers one after another."""

    def __init__(self, *layers: Value) -> None:
        """The layers.

        Args:
            layers: In their order, or a dict of them by name.
        """
        super().__init__()
        named = layers[0].items() if len(layers) == 1 and isinstance(layers[0], dict) else enumerate(layers)
        for name, layer in named:
            setattr(self, str(name), layer)

    def forward(self, input: Value) -> Blocking:
        """Compute the output."""
        for layer in self.children():
            input = yield from layer(input)
        return input

    def __len__(self) -> int:
        return len(list(self.children()))

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, position: int) -> Module:
        return list(self.children())[position]


class ModuleList(Sequential):
    """A list of layers."""

    def __init__(self, modules: Sequence[Module] = ()) -> None:
        """The layers."""
        super().__init__(*modules)

    def append(self, module: Module) -> ModuleList:
        """Add a layer."""
        setattr(self, str(len(self)), module)
        return self


class ModelOnAllDevices(Module):
    """A model on all GPUs of one process; without GPUs it is the model itself, as with torch."""

    def __init__(self, module: Module, *_: object, **__: object) -> None:
        """The model."""
        super().__init__()
        self.module = module

    def forward(self, *args: Value, **options: Value) -> Blocking:
        """Compute the output."""
        return (yield from self.module(*args, **options))


def _make_module(name: str, function: Callable[..., Tensor]) -> type[Module]:
    """A module that calls a function, with options that it is made with."""
    words = [parameter for parameter in inspect.signature(function).parameters if parameter not in ("input", "target")]

    def __init__(self: Value, *args: Value, **options: Value) -> None:
        Module.__init__(self)
        self.options = dict(zip(words, args, strict=False)) | options

    def forward(self: Value, *args: Value) -> Tensor:
        return function(*args, **{name: value for name, value in self.options.items() if name in words})

    return type(name, (Module,), {"__init__": __init__, "forward": forward, "__doc__": function.__doc__})


#: Modules that call a function and have no parameters.
_OF_FUNCTIONS = {
    "ReLU": "relu", "LeakyReLU": "leaky_relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "GELU": "gelu",
    "Softmax": "softmax", "LogSoftmax": "log_softmax", "MaxPool2d": "max_pool2d", "AvgPool2d": "avg_pool2d",
    "MSELoss": "mse_loss", "L1Loss": "l1_loss", "NLLLoss": "nll_loss", "CrossEntropyLoss": "cross_entropy",
    "BCELoss": "binary_cross_entropy", "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
}  # fmt: skip
_LAYERS: dict[str, type[Module]] = {
    **{name: _make_module(name, functional.FUNCTIONS[word]) for name, word in _OF_FUNCTIONS.items()},
    "DataParallel": ModelOnAllDevices,
    **{
        layer.__name__: layer
        for layer in (
            Linear, Conv2d, BatchNorm1d, BatchNorm2d, LayerNorm, Embedding, Dropout, Flatten, Sequential, ModuleList,
        )
    },
}  # fmt: skip


def clip_grad_norm_(parameters: Value, max_norm: float, **_: object) -> Tensor:
    """`torch.nn.utils.clip_grad_norm_`: shorten the gradients of parameters to a length together.

    Args:
        parameters: A parameter, or several.
        max_norm: The length.

    Returns:
        Their length before.
    """
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    gradients = [np.asarray(parameter.grad) for parameter in listed if parameter.grad is not None]
    norm = math.sqrt(sum(float((gradient * gradient).sum()) for gradient in gradients))
    for gradient in gradients:
        gradient *= min(1.0, max_norm / (norm + 1e-6))
    return as_tensor(np.float32(norm))


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
