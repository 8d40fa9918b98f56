"""A Model from a torch.nn.Module: run once, its leaves become layers.

FLOPs are torch's own count (torch.utils.flop_counter) of what each leaf does; attention that is a function and no
module is booked to the leaf that ran before it. On the device `meta` nothing is computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ...errors import CollsimError
from .model import Layer, Model

_KINDS = {
    "Linear": "gemm",
    "Conv": "convolution",
    "Norm": "norm",
    "Embedding": "embedding",
    "Attention": "attention",
}


def from_torch(module: Any, inputs: tuple[Any, ...], name: str | None) -> Model:
    """See `Model.from_torch`."""
    try:
        torch, counter = import_module("torch"), import_module("torch.utils.flop_counter")
    except ImportError as error:
        raise CollsimError("Model.from_torch needs torch: pip install 'collsim[torch]'") from error
    if not isinstance(module, torch.nn.Module) or not inputs or not isinstance(inputs[0], torch.Tensor):
        why = "from_torch wants a torch.nn.Module and its inputs, got {kind} and {inputs} inputs"
        raise CollsimError(why, kind=type(module).__name__, inputs=len(inputs))
    if not inputs[0].dim() or not len(inputs[0]):
        raise CollsimError(
            "from_torch: the first dimension of the first input is the batch; it must hold at least one sample"
        )
    seen = _Seen(torch, len(inputs[0]))
    with counter.FlopCounterMode(display=False) as flops, torch.no_grad():
        hooks = [hook for leaf, at in _leaves(module) for hook in seen.watch(leaf, at, flops)]
        try:
            module(*inputs)
        except Exception as error:  # whatever a stranger's module raises
            why = "from_torch: {kind} does not run on these inputs: {error}"
            raise CollsimError(why, kind=type(module).__name__, error=str(error)[:400]) from error
        finally:
            for hook in hooks:
                hook.remove()
        seen.close(flops)
    seen.leftover(module)
    size = inputs[0].numel() // len(inputs[0])
    tokens = size if not inputs[0].dtype.is_floating_point else 0
    source = f"torch {torch.__version__}, FLOPs by torch.utils.flop_counter"
    return Model(name or type(module).__name__, tuple(seen.layers()), tokens, size * inputs[0].element_size(), source)


def _leaves(module: Any) -> Iterator[tuple[Any, str]]:
    """Modules that hold parameters of their own, or nothing below them, with their names."""
    for at, child in module.named_modules():
        if next(child.children(), None) is None or next(child.parameters(recurse=False), None) is not None:
            yield child, at or type(child).__name__


class _Seen:
    """What ran, in the order of its first run."""

    def __init__(self, torch: Any, batch: int):
        self.torch, self.batch = torch, batch
        self.found: dict[str, dict[str, Any]] = {}
        self.owned: set[int] = set()
        self.before, self.last = 0.0, ""

    def watch(self, leaf: Any, at: str, flops: Any) -> list[Any]:
        return [
            leaf.register_forward_pre_hook(lambda *_: self.close(flops)),
            leaf.register_forward_hook(lambda leaf, given, out: self.ran(leaf, at, given, out, flops)),
        ]

    def close(self, flops: Any) -> None:
        """What was computed since the last leaf belongs to it."""
        total = float(flops.get_total_flops())
        if self.last:
            self.found[self.last]["flops"] += total - self.before
        self.before = total

    def ran(self, leaf: Any, at: str, given: Any, out: Any, flops: Any) -> None:
        total = float(flops.get_total_flops())
        record = self.found.setdefault(at, self.held(leaf))
        read, written = self.elements(given), self.elements(out)
        record["flops"] += total - self.before
        record["moved"] += read + written
        record["kept"] += written
        record["handed"] = written
        record["ops"] += 1
        self.before, self.last = total, at

    def held(self, leaf: Any) -> dict[str, Any]:
        """Parameters and float buffers that no leaf before it has."""
        fresh = [p for p in leaf.parameters(recurse=False) if id(p) not in self.owned]
        self.owned |= {id(p) for p in fresh}
        buffers = [b.numel() for b in leaf.buffers(recurse=False) if b.dtype.is_floating_point and b.dim()]
        kind = next((k for word, k in _KINDS.items() if word in type(leaf).__name__), "elementwise")
        return {
            "tensors": tuple(p.numel() for p in fresh),
            "buffers": tuple(buffers),
            "kind": kind,
            "width": getattr(leaf, "in_channels", 0) // leaf.groups if getattr(leaf, "groups", 1) > 1 else 0,
            "dtype": str(fresh[0].dtype).removeprefix("torch.") if fresh else "float32",
            "flops": 0.0,
            "moved": 0.0,
            "kept": 0.0,
            "handed": 0.0,
            "ops": 0,
        }

    def elements(self, values: Any) -> float:
        """Elements of all tensors in a nest of tuples, lists and dictionaries."""
        if isinstance(values, self.torch.Tensor):
            return float(values.numel())
        if isinstance(values, dict):
            values = list(values.values())
        return math.fsum(self.elements(v) for v in values) if isinstance(values, tuple | list) else 0.0

    def leftover(self, module: Any) -> None:
        """Parameters of modules that never ran: DDP would wait for them."""
        missing = [at for at, p in module.named_parameters() if id(p) not in self.owned]
        if missing:
            why = "from_torch: {missing} ({count} in all) belongs to no module that ran; DDP calls it unused"
            raise CollsimError(why, missing=missing[0], count=len(missing))

    def layers(self) -> Iterator[Layer]:
        for at, record in self.found.items():
            per_sample = {k: record[k] / self.batch for k in ("flops", "moved", "kept", "handed")}
            yield Layer(at, **{**record, **per_sample})
