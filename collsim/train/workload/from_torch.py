"""A Model from a torch.nn.Module: run once, its leaves become layers.

FLOPs are torch's own count (torch.utils.flop_counter) of each leaf. Attention that is a function and no module counts
for the leaf that ran before it. On the device `meta` nothing is computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from ...errors import CollsimError
from .model import Layer, Model

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from torch.utils.flop_counter import FlopCounterMode
    from torch.utils.hooks import RemovableHandle

#: What modules take and return: tensors in tuples, lists and dictionaries.
Tensors: TypeAlias = "Tensor | tuple[Tensors, ...] | list[Tensors] | Mapping[str, Tensors] | None"
#: Kinds of layer, by a word in the name of the module's class.
_KINDS = {
    "Linear": "gemm",
    "Conv": "convolution",
    "Norm": "norm",
    "Embedding": "embedding",
    "Attention": "attention",
}


def trace_module(module: Module, inputs: tuple[Tensor, ...], name: str | None) -> Model:
    """Run a module once and read its layers; see `Model.from_torch`.

    Args:
        module: The module.
        inputs: Its inputs; the first dimension of the first one is the batch.
        name: Name of the model; None for the module's class.

    Returns:
        The model.

    Raises:
        CollsimError: torch is missing, or the module does not run on these inputs.
    """
    try:
        torch, flop_counter = import_module("torch"), import_module("torch.utils.flop_counter")
    except ImportError as error:
        raise CollsimError("Model.from_torch needs torch: pip install 'collsim[torch]'") from error
    if not isinstance(module, torch.nn.Module) or not inputs or not isinstance(inputs[0], torch.Tensor):
        message = "from_torch wants a torch.nn.Module and its inputs, got {kind} and {inputs} inputs"
        raise CollsimError(message, kind=type(module).__name__, inputs=len(inputs))
    if not inputs[0].dim() or not len(inputs[0]):
        raise CollsimError(
            "from_torch: the first dimension of the first input is the batch; it must hold at least one sample"
        )
    recorder = _LeafRecorder(torch, len(inputs[0]))
    # No gradients: hooks and the counter need the forward pass alone, and less memory.
    with flop_counter.FlopCounterMode(display=False) as counter, torch.no_grad():
        hooks = [hook for leaf, label in _list_leaves(module) for hook in recorder.watch(leaf, label, counter)]
        try:
            # A user's module may raise anything; hooks are removed in every case.
            module(*inputs)
        except Exception as error:  # whatever a user's module raises
            message = "from_torch: {kind} does not run on these inputs: {error}"
            raise CollsimError(message, kind=type(module).__name__, error=str(error)[:400]) from error
        finally:
            for hook in hooks:
                hook.remove()
        recorder.assign_flops(counter)
    recorder.require_all_parameters(module)
    size = inputs[0].numel() // len(inputs[0])
    tokens = 0
    # A floating-point input has no tokens; whole numbers are words.
    if not inputs[0].dtype.is_floating_point:
        tokens = size
    source = f"torch {torch.__version__}, FLOPs by torch.utils.flop_counter"
    layers = tuple(recorder.build_layers())
    return Model(name or type(module).__name__, layers, tokens, size * inputs[0].element_size(), source)


def _list_leaves(module: Module) -> Iterator[tuple[Module, str]]:
    """Modules that have parameters of their own, or no children, with their names."""
    for label, child in module.named_modules():
        if next(child.children(), None) is None or next(child.parameters(recurse=False), None) is not None:
            yield child, label or type(child).__name__


@dataclass
class _LeafRecord:
    """What a leaf holds, and what the whole batch cost in it; attributes as those of `Layer`."""

    tensors: tuple[int, ...]
    buffers: tuple[int, ...]
    kind: str
    width: int
    dtype: str
    flops: float = 0.0
    traffic: float = 0.0
    activations: float = 0.0
    outputs: float = 0.0
    ops: int = 0


class _LeafRecorder:
    """Records the leaves of a module in the order of their first run."""

    def __init__(self, torch: ModuleType, batch: int):
        self.torch, self.batch = torch, batch
        self.records: dict[str, _LeafRecord] = {}
        self._counted_parameters: set[int] = set()
        self._counted_flops, self._latest_leaf = 0.0, ""

    def watch(self, leaf: Module, label: str, counter: FlopCounterMode) -> list[RemovableHandle]:
        """Register hooks that record each run of the `leaf` named `label`; `counter` counts FLOPs."""
        return [
            leaf.register_forward_pre_hook(lambda *_: self.assign_flops(counter)),
            leaf.register_forward_hook(lambda leaf, inputs, output: self._record(leaf, label, inputs, output, counter)),
        ]

    def assign_flops(self, counter: FlopCounterMode) -> None:
        """Count the FLOPs since the last leaf for that leaf."""
        total = float(counter.get_total_flops())
        if self._latest_leaf:
            self.records[self._latest_leaf].flops += total - self._counted_flops
        self._counted_flops = total

    def _record(self, leaf: Module, label: str, inputs: Tensors, output: Tensors, counter: FlopCounterMode) -> None:
        total = float(counter.get_total_flops())
        if label not in self.records:
            self.records[label] = self._create_record(leaf)
        record = self.records[label]
        elements_read, elements_written = self._count_elements(inputs), self._count_elements(output)
        record.flops += total - self._counted_flops
        record.traffic += elements_read + elements_written
        record.activations += elements_written
        record.outputs = elements_written
        record.ops += 1
        self._counted_flops, self._latest_leaf = total, label

    def _create_record(self, leaf: Module) -> _LeafRecord:
        """Parameters and float buffers that no leaf before it has."""
        parameters = [p for p in leaf.parameters(recurse=False) if id(p) not in self._counted_parameters]
        self._counted_parameters |= {id(p) for p in parameters}
        buffers = [b.numel() for b in leaf.buffers(recurse=False) if b.dtype.is_floating_point and b.dim()]
        kind = next((kind for word, kind in _KINDS.items() if word in type(leaf).__name__), "elementwise")
        groups, width = getattr(leaf, "groups", 1), 0
        if groups > 1:
            width = getattr(leaf, "in_channels", 0) // groups
        dtype = "float32"
        if parameters:
            dtype = str(parameters[0].dtype).removeprefix("torch.")
        return _LeafRecord(tuple(p.numel() for p in parameters), tuple(buffers), kind, width, dtype)

    def _count_elements(self, values: Tensors) -> float:
        """Elements of all tensors in a nest of tuples, lists and dictionaries."""
        if isinstance(values, self.torch.Tensor):
            return float(values.numel())
        if isinstance(values, dict):
            values = list(values.values())
        if isinstance(values, tuple | list):
            return math.fsum(self._count_elements(value) for value in values)
        return 0.0

    def require_all_parameters(self, module: Module) -> None:
        """Refuse a `module` of which some never ran: DDP would wait for the gradients of its parameters."""
        missing = [label for label, p in module.named_parameters() if id(p) not in self._counted_parameters]
        if missing:
            message = "from_torch: {missing} ({count} in all) belongs to no module that ran; DDP calls it unused"
            raise CollsimError(message, missing=missing[0], count=len(missing))

    def build_layers(self) -> Iterator[Layer]:
        """Build a Layer for each record, with figures per sample."""
        for label, record in self.records.items():
            figures = dict(vars(record))
            for name in ("flops", "traffic", "activations", "outputs"):
                figures[name] /= self.batch
            yield Layer(label, **figures)
