"""`DistributedDataParallel` of a rank program: which collectives it calls, when, and of how many elements.

The order is that of gloo's Flight Recorder with torch 2.13 (torch/nn/parallel/distributed.py and
torch/csrc/distributed/c10d/reducer.cpp): at its start the ranks compare their parameters and take those of the first
rank; each backward pass averages the gradients, in one bucket the first time and in buckets of 1 MiB and 25 MiB
afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .engine import Blocking
from .stand_ins.gradients import Value, needs_gradient
from .stand_ins.neural.modules import Module
from .stand_ins.neural.refused_options import refuse_changed
from .stand_ins.tensors import Tensor, as_tensor

if TYPE_CHECKING:
    from .stand_ins.mesh_groups import ProcessGroup
    from .torch_dialect import TorchDistributed

#: Bytes of the first bucket and of later ones.
_BUCKETS = (2**20, 25 * 2**20)
#: Bytes of a piece in which tensors are broadcast.
_BROADCAST_PIECE = 250 * 2**20


class DistributedDataParallel(Module):
    """A model of which each rank has a copy, with gradients that are the mean of all ranks."""

    distributed: ClassVar[TorchDistributed]

    @refuse_changed(
        "static_graph",
        "delay_all_reduce_named_params",
        "param_to_hook_all_reduce",
        "mixed_precision",
        "device_mesh",
        "skip_all_reduce_unused_params",
        "bucket_cap_mb_list",
    )
    def __init__(  # type: ignore[misc]
        self,
        module: Module,
        device_ids: object = None,
        output_device: object = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: None = None,
        param_to_hook_all_reduce: None = None,
        mixed_precision: None = None,
        device_mesh: None = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> Blocking:
        """Compare the models of all ranks, and take the parameters of the first one.

        Args:
            module: The model.
            device_ids: Not used.
            output_device: Not used.
            dim: Not used.
            broadcast_buffers: Whether the start and each forward pass take buffers of the first rank; None for True.
            init_sync: Whether the ranks compare models and take those of the first one.
            process_group: None for all ranks.
            bucket_cap_mb: MiB of a bucket of gradients; None for 1 of the first one and 25 of all others.
            find_unused_parameters: Whether some parameters may have no gradient.
            check_reduction: Not used.
            gradient_as_bucket_view: Not used.
            static_graph: Refused.
            delay_all_reduce_named_params: Refused.
            param_to_hook_all_reduce: Refused.
            mixed_precision: Refused.
            device_mesh: Refused.
            skip_all_reduce_unused_params: Refused.
            bucket_cap_mb_list: Refused.
            batched_grad_copy: Not used.
            forward_sync_buffers: Whether each forward pass takes the buffers of the first rank, as the start then does;
                None for what `broadcast_buffers` says.
        """
        super().__init__()
        self.module, self.group = module, process_group or self.distributed.world
        self.trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
        if not self.trained:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that require a "
                "gradient."
            )
        starts_with_buffers = forward_sync_buffers is not None or broadcast_buffers is None or broadcast_buffers
        self._takes_buffers = starts_with_buffers
        if forward_sync_buffers is not None:
            self._takes_buffers = forward_sync_buffers
        self.synchronizes, self._has_trained = True, True
        self._finds_unused, self._has_finished = find_unused_parameters, True
        self._order: Sequence[Tensor] = ()  # of the first gradients, until the buckets have it
        self._has_order = find_unused_parameters
        self._limits: Sequence[float] = _BUCKETS
        if bucket_cap_mb is not None:
            self._limits = (int(bucket_cap_mb * 2**20),)
        # Until the order of the gradients is known there is one bucket; where some may be missing it stays unknown.
        limits = self._limits if find_unused_parameters else (float("inf"),)
        self._buckets = fill_buckets(self.trained, limits)[::-1]
        for parameter in self.trained:
            parameter.reducer = self  # type: ignore[assignment]
        if init_sync:
            yield from self._compare_models()
            tensors: list[Tensor] = list(module.parameters())
            if starts_with_buffers:
                tensors += module.buffers()
            yield from self._take_tensors(tensors)

    def _call(self, word: str, *args: Value, **options: Value) -> Blocking:
        """Call a collective of its group."""
        return (yield from getattr(self.distributed, word)(*args, group=self.group, **options))

    def _compare_models(self) -> Blocking:
        size = self.group.size()
        count = as_tensor(np.array([len(self.trained)]))
        counts = [as_tensor(np.zeros_like(count)) for _ in range(size)]
        yield from self._call("all_gather", counts, count)
        for rank, other in enumerate(counts):
            if other[0] != count[0]:
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank {self.group.rank()} has {len(self.trained)} "
                    f"params, while rank {rank} has inconsistent {int(other[0])} params."
                )
        shapes = [
            number
            for parameter in self.trained
            for number in (*parameter.shape, *(step // parameter.itemsize for step in parameter.strides))
        ]
        first = as_tensor(np.array(shapes))
        yield from self._call("broadcast", first, group_src=0)
        position = 0
        for number, parameter in enumerate(self.trained):
            shape = first[position : position + parameter.ndim].tolist()
            if shape != list(parameter.shape):
                raise RuntimeError(
                    f"[{self.group.rank()}]: params[{number}] in this process with sizes {list(parameter.shape)} "
                    "appears not to match sizes of the same param in process 0."
                )
            position += 2 * parameter.ndim

    def _take_tensors(self, tensors: Sequence[Tensor]) -> Blocking:
        """Take tensors of the first rank."""
        for bucket in fill_buckets(tensors, (_BROADCAST_PIECE,)):
            flat = join_tensors(bucket)
            yield from self._call("broadcast", flat, group_src=0)
            spread_tensor(flat, bucket)

    def forward(self, *args: Value, **options: Value) -> Blocking:
        """Compute the output of this rank's inputs.

        Args:
            args: Of the model.
            options: Of the model.

        Raises:
            RuntimeError: Some gradients of the pass before were never complete, in torch's words.
        """
        is_trained = self.synchronizes and needs_gradient(*self.trained)
        if is_trained and not self._has_finished:
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one. This error "
                "indicates that your module has parameters that were not used in producing loss. You can enable unused "
                "parameter detection by passing the keyword argument `find_unused_parameters=True` to "
                "`torch.nn.parallel.DistributedDataParallel`"
            )
        if is_trained and self._order:
            yield from self._rebuild_buckets()
        # Only after a pass that averages gradients can buffers differ, as torch sees it.
        if self._takes_buffers and self._has_trained:
            yield from self._take_tensors(list(self.module.buffers()))
        self._has_trained = is_trained
        return (yield from self.module(*args, **options))

    def _rebuild_buckets(self) -> Blocking:
        """Take the order of the first rank's gradients for buckets, once."""
        self._buckets, self._order = fill_buckets(self._order, self._limits), ()
        for count in (len(self.trained) + 1, len(self._buckets)):
            numbers = as_tensor(np.zeros(count, np.int32))
            yield from self._call("broadcast", numbers, group_src=0)

    def reduce(self, ready: Sequence[Tensor]) -> Blocking:
        """Average gradients over the ranks, as `backward` ends.

        Args:
            ready: Parameters in the order in which their gradients were complete.
        """
        if not self.synchronizes:
            return
        known = {id(parameter) for parameter in ready}
        posted = []
        self._has_finished = False
        for bucket in self._buckets:
            if not self._finds_unused and any(id(parameter) not in known for parameter in bucket):
                return  # torch waits for the rest, and says so in the next forward pass
            flat = join_tensors(list(map(_copy_gradient, bucket)))
            flat /= self.group.size()
            work = yield from self._call("all_reduce", flat, async_op=True)
            posted.append((bucket, flat, work))
        used = as_tensor(np.array([id(parameter) in known for parameter in self.trained], np.int32))
        if self._finds_unused:
            yield from self._call("all_reduce", used)
        is_used = {id(parameter) for parameter, count in zip(self.trained, used.tolist(), strict=True) if count}
        for bucket, flat, work in posted:
            yield from work.wait()
            gradients = list(map(_copy_gradient, bucket))
            spread_tensor(flat, gradients)
            for parameter, gradient in zip(bucket, gradients, strict=True):
                if id(parameter) in is_used:
                    parameter.grad = gradient
        self._has_finished = True
        if not self._has_order:
            self._order, self._has_order = ready, True

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Add up gradients of several passes on each rank first."""
        before, self.synchronizes = self.synchronizes, False
        try:
            yield
        finally:
            self.synchronizes = before


def fill_buckets(tensors: Sequence[Tensor], limits: Sequence[float]) -> list[list[Tensor]]:
    """Put tensors of one type into buckets, each of which ends with the tensor that fills it.

    Args:
        tensors: In their order.
        limits: Bytes of the first bucket, of the second one, and so on; the last for all others.

    Returns:
        The buckets, in the order in which they are full.
    """
    full: list[list[Tensor]] = []
    open_buckets: dict[np.dtype[Value], list[Tensor]] = {}
    counts: dict[np.dtype[Value], int] = {}
    for tensor in tensors:
        bucket = open_buckets.setdefault(tensor.dtype, [])
        bucket.append(tensor)
        count = counts.get(tensor.dtype, 0)
        if sum(part.nbytes for part in bucket) >= limits[min(count, len(limits) - 1)]:
            full.append(open_buckets.pop(tensor.dtype))
            counts[tensor.dtype] = count + 1
    return [*full, *open_buckets.values()]


def join_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """A copy of tensors as one.

    Args:
        tensors: Of one type.
    """
    return as_tensor(np.concatenate([np.asarray(tensor).reshape(-1) for tensor in tensors]))


def spread_tensor(flat: Tensor, tensors: Sequence[Tensor]) -> None:
    """Copy what `join_tensors` made into the tensors.

    Args:
        flat: All elements.
        tensors: Which are filled.
    """
    position = 0
    for tensor in tensors:
        count = tensor.numel()
        np.asarray(tensor)[...] = np.asarray(flat[position : position + count]).reshape(tensor.shape)
        position += count


def _copy_gradient(parameter: Tensor) -> Tensor:
    """The gradient of a parameter; zeros where it has none."""
    if parameter.grad is None:
        return as_tensor(np.zeros_like(np.asarray(parameter)))
    return parameter.grad.clone()
