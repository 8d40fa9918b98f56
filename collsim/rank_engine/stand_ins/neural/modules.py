"""`torch.nn.Module` and its parameters, and the modules that hold others (torch/nn/modules/module.py, torch 2.13)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from types import GeneratorType
from typing import ClassVar

import numpy as np

from ..gradients import Blocking, Value, clear_gradients
from ..tensors import DType, Tensor
from ..torch_functions import TensorFunctions


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
        #: Whether each buffer is part of the state.
        self.buffer_names: dict[str, bool] = {}

    def forward(self, *_: Value, **__: Value) -> Value:
        """Compute the output; a program's own modules do."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Value, **options: Value) -> Blocking:
        result = self.forward(*args, **options)
        if isinstance(result, GeneratorType):  # as functions of a program are, since they may wait
            result = yield from result
        return result

    def register_buffer(self, name: str, tensor: Tensor, persistent: bool = True) -> None:
        """Add a tensor that is not trained.

        Args:
            name: Of its attribute.
            tensor: Any.
            persistent: Whether it is part of the state.
        """
        self.buffer_names[name] = persistent
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

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Itself and all layers in it, by name.

        Args:
            memo: Those that were listed before.
            prefix: Its own name.
            remove_duplicate: Whether a layer with several names is listed once.
        """
        if memo is None:
            memo = set()
        if self in memo:
            return iter(())
        if remove_duplicate:
            memo.add(self)
        modules = [(prefix, self)]
        for name, child in self.named_children():
            modules += child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)
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
        tensors = self._list_tensors(prefix, recurse)
        return iter([(name, value) for name, value in tensors if isinstance(value, Parameter)])

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Its parameters, each once.

        Args:
            recurse: Whether those of its layers belong to them.
        """
        return iter([parameter for _, parameter in self.named_parameters(recurse=recurse)])

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Its tensors that are not trained by name, each once.

        Args:
            prefix: Its own name.
            recurse: Whether those of its layers belong to them.
        """
        return iter([pair for pair in self._list_tensors(prefix, recurse) if not isinstance(pair[1], Parameter)])

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Its tensors that are not trained, each once.

        Args:
            recurse: Whether those of its layers belong to them.
        """
        return iter([buffer for _, buffer in self.named_buffers(recurse=recurse)])

    def _list_tensors(
        self, prefix: str = "", recurse: bool = True, is_state: bool = False
    ) -> Iterator[tuple[str, Tensor]]:
        """Parameters and buffers, each once; those of the state under all of their names."""
        listed: set[int] = set()
        for path, module in self.named_modules(prefix=prefix, remove_duplicate=not is_state):
            for name, value in vars(module).items():
                persistent = isinstance(value, Parameter) or module.buffer_names.get(name)
                if not isinstance(value, Tensor) or persistent is None:
                    continue
                if persistent if is_state else id(value) not in listed:
                    listed.add(id(value))
                    yield (f"{path}.{name}" if path else name), value
            if not recurse:
                return

    def state_dict(self) -> OrderedDict[str, Tensor]:
        """Its parameters and buffers by name, which share its memory."""
        return OrderedDict((name, value.detach()) for name, value in self._list_tensors(is_state=True))

    def load_state_dict(self, state_dict: dict[str, Tensor], strict: bool = True) -> None:
        """Copy parameters and buffers into its own.

        Args:
            state_dict: By name.
            strict: Whether all names have to be known, and none may lack.

        Raises:
            RuntimeError: A name is unknown, or lacks; or a tensor has another shape.
        """
        known = dict(self._list_tensors(is_state=True))
        if strict and known.keys() != state_dict.keys():
            names = sorted(known.keys() ^ state_dict.keys())
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}: {', '.join(names)}")
        for name, value in state_dict.items():
            if name not in known:
                continue
            if known[name].shape != value.shape:
                raise RuntimeError(f"size mismatch for {name}: {value.shape}, and the model has {known[name].shape}")
            known[name].detach().copy_(value)

    def train(self, mode: bool = True) -> Module:
        """Begin to train, or to evaluate.

        Args:
            mode: Whether it is trained: `Dropout` and the statistics of batches depend on it.
        """
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Begin to evaluate."""
        return self.train(False)

    def to(
        self,
        *targets: object,
        device: object = None,
        dtype: DType | None = None,
        non_blocking: bool = False,
        memory_format: object = None,
    ) -> Module:
        """Itself, as there are no devices.

        Args:
            targets: Devices, types and tensors.
            device: Not used.
            dtype: None or float32.
            non_blocking: Not used.
            memory_format: Not used.

        Raises:
            RuntimeError: A type is not float32, which all parameters have.
        """
        for target in (*targets, dtype):
            kind = target.dtype if isinstance(target, np.ndarray) else target
            if isinstance(kind, type | np.dtype) and kind != np.float32:
                raise RuntimeError(f"Module.to: {np.dtype(kind).name} is not simulated; leave it out")
        return self

    cuda = cpu = to

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Train its parameters, or do not.

        Args:
            requires_grad: Whether they are trained.
        """
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of its parameters.

        Args:
            set_to_none: Whether there are none afterwards; else they are zeros.
        """
        clear_gradients(self.parameters(), set_to_none)

    def apply(self, fn: Callable[[Module], object]) -> Blocking:
        """Call a function with each layer in it, and with itself.

        Args:
            fn: The function.
        """
        for child in self.children():
            yield from child.apply(fn)
        result = fn(self)
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


class Sequential(Module):
    """Layers one after another."""

    def __init__(self, *args: Value) -> None:
        """The layers.

        Args:
            args: In their order, or a dict of them by name.
        """
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else enumerate(args)
        for name, layer in named:
            setattr(self, str(name), layer)

    def forward(self, input: Value) -> Blocking:
        """Compute the output.

        Args:
            input: Of the first layer.
        """
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

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        """The layers.

        Args:
            modules: In their order; None for none.
        """
        super().__init__(*(modules or ()))

    def append(self, module: Module) -> ModuleList:
        """Add a layer."""
        setattr(self, str(len(self)), module)
        return self


class ModelOnAllDevices(Module):
    """A model on all GPUs of one process; without GPUs it is the model itself, as with torch."""

    def __init__(self, module: Module, device_ids: object = None, output_device: object = None, dim: int = 0) -> None:
        """The model.

        Args:
            module: The model.
            device_ids: Not used.
            output_device: Not used.
            dim: Not used.
        """
        super().__init__()
        self.module = module

    def forward(self, *args: Value, **options: Value) -> Blocking:
        """Compute the output."""
        return (yield from self.module(*args, **options))
