"""DistributedDataParallel, as PyTorch does it: buckets of gradients, launched in order while the backward pass goes on.

Sources: torch/csrc/distributed/c10d/reducer.cpp and torch/nn/parallel/distributed.py, torch 2.13. A bucket is launched
when it and all before it are ready; gradients are copied into it and divided in one pass, and back again after the
allreduce, unless they are views of it; the optimizer waits for all. Buffers are broadcast before a forward pass that
follows a synchronised one, and the forward pass waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...dtypes import find_dtype_name
from ...errors import CollsimError, require_flags, require_word
from ...errors.arguments import check_arguments
from ...units import ByteSize, parse_bytes, parse_count
from ..workload.model import Model
from ..workload.step_graph import TrainingStep
from .buckets import (
    BROADCAST_PIECE_BYTES,
    BUCKET_BYTES,
    FIRST_BUCKET_BYTES,
    HOOK_ITEM_BYTES,
    assign_buckets,
    build_initial_buckets,
    build_single_bucket,
    rebuild_buckets,
)
from .replica_sync import BucketedSync, ReplicaSync
from .strategy import (
    ReplicaStrategy,
    TorchReplicas,
    WholeModelStep,
    WholeModelStrategy,
    Workload,
    parse_accumulate,
    register_strategy,
)

if TYPE_CHECKING:
    from .split_builder import SplitBuilder

_UNITS = ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)


@dataclass(frozen=True)
class DDP(WholeModelStrategy, ReplicaStrategy):
    """PyTorch's DistributedDataParallel; `ddp(...)` makes one, and says what the options are.

    Attributes:
        bucket: bytes that close a bucket; None: torch's.
        first: bytes that close the first bucket; None: torch's.
        hook: `fp16` or `bf16`, the type on the wire; None: as computed.
        view: gradients are views of the buckets.
        find_unused: look for unused parameters.
        static_graph: buckets are rebuilt one step later.
        accumulate: microbatches of a step; None: as many as the batch asks for.
        no_sync: only the last microbatch synchronises.
        overlap: allreduces run beside the backward pass.
        broadcast_buffers: rank 0's buffers go to all before a forward pass.

    Examples:
        >>> import collsim as cs
        >>> cs.ddp().list_bucket_bytes(cs.model("resnet18"))  # in the order of launch
        [2052000, 28852224, 15853824]
    """

    name: ClassVar[str] = "ddp"
    bucket: int | None = None
    first: int | None = None
    hook: str | None = None
    view: bool = False
    find_unused: bool = False
    static_graph: bool = False
    accumulate: int | None = None
    no_sync: bool = True
    overlap: bool = True
    broadcast_buffers: bool = True

    @property
    def caps(self) -> tuple[int, int]:
        """Bytes that close the first bucket, and the others. A cap that was given rules the first too (since PyTorch
        #121640)."""
        first, cap = FIRST_BUCKET_BYTES, BUCKET_BYTES
        if self.bucket is not None:
            first = cap = self.bucket
        if self.first is not None:
            first = self.first
        return first, cap

    def format_option(self, name: str, value: object) -> str:
        """The value of an option; a size in the largest unit of which it is a whole number.

        Args:
            name: Name of the option.
            value: Its value.
        """
        if name in ("bucket", "first"):
            return repr(_format_size(value))
        return repr(value)

    @property
    def torch_module(self) -> str:
        """By itself; in a product it is `replicate`."""
        return "DistributedDataParallel"

    def describe_torch(self, dtype: str) -> TorchReplicas:
        """`replicate`, which has no buckets.

        Args:
            dtype: Number format of the computation, `"bfloat16"`.
        """
        return TorchReplicas(
            call="replicate",
            imports=(
                "from torch.distributed._composable.replicate_with_fsdp import replicate",
                "from torch.distributed.fsdp import MixedPrecisionPolicy",
            ),
            purpose="gradients are reduced block by block",
            reduce_dtype=find_dtype_name(self.hook or "float32"),
            missing=("bucket", "first", "overlap", "find_unused", "static_graph"),
            reduces_each=not self.no_sync,
            reduces_once=self.no_sync,
        )

    def list_megatron_options(self) -> list[str]:
        """Its buckets count elements."""
        options = []
        if self.overlap:
            options.append("--overlap-grad-reduce")
        if self.overlap and self.bucket:
            # Elements of float32.
            options.append(f"--ddp-bucket-size {self.bucket // 4}")
        if self.hook:
            options.append("--grad-reduce-in-bf16")
        return [" ".join(options)]

    def find_missing_megatron_options(self) -> dict[str, bool]:
        """Half precision other than bfloat16, the first bucket, and torch's switches."""
        missing = {f"hook={self.hook!r}": self.hook == "fp16", "first": self.first is not None}
        missing |= {"find_unused=True": self.find_unused, "static_graph=True": self.static_graph}
        return missing | {"no_sync=False": not self.no_sync}

    def create_sync(self, builder: SplitBuilder) -> ReplicaSync:
        """Buckets of gradients that are reduced.

        Args:
            builder: What builds the tasks of the step.
        """
        return BucketedSync(builder, self)

    def assign_tensors(self, model: Model, step: int = 2) -> list[list[int]]:
        """Assign the tensors of a model to buckets. Buckets are rebuilt after the first step, with `static_graph` after
        the second, with `find_unused` never.

        Args:
            model: The model.
            step: Which step of the run, from 1, of those that synchronise.

        Returns:
            Numbers of the tensors of each bucket, in the order of launch.
        """
        parse_count(step, "step")
        rebuilt_from = 2
        if self.static_graph:
            rebuilt_from = 3
        if step >= rebuilt_from and (self.static_graph or not self.find_unused):
            return rebuild_buckets(model, *self.caps)
        if self.find_unused:
            return build_initial_buckets(model, *self.caps)
        return build_single_bucket(model)

    def list_bucket_bytes(self, model: Model, step: int = 2) -> list[int]:
        """List the sizes of the buckets of gradients.

        Args:
            model: The model.
            step: Which step of the run, from 1.

        Returns:
            Bytes of each bucket in the order of launch; with a hook half of that goes over the wire.

        Raises:
            CollsimError: `model` is no Model.
        """
        if not isinstance(model, Model):
            raise CollsimError("buckets wants a Model, got {model!r}; make one with model('resnet50')", model=model)
        return [sum(model.tensors[i][0] for i in bucket) for bucket in self.assign_tensors(model, step)]

    def build_step(self, workload: Workload) -> TrainingStep:
        """Build the step: for each microbatch forward and backward, allreduces beside the backward that synchronises,
        then the optimizer.

        Args:
            workload: Model, GPUs, samples and types of the step.

        Returns:
            The step.
        """
        return _Step(self, workload).write_step()


def _format_size(size: object) -> object:
    """A size in the largest unit of which it is a whole number."""
    for unit, factor in _UNITS:
        if isinstance(size, int) and size % factor == 0:
            return f"{size // factor}{unit}"
    return size


@register_strategy
@check_arguments
def ddp(
    bucket: ByteSize | None = None,
    first: ByteSize | None = None,
    hook: str | None = None,
    view: bool = False,
    find_unused: bool = False,
    *,
    static_graph: bool = False,
    accumulate: int | None = None,
    no_sync: bool = True,
    overlap: bool = True,
    broadcast_buffers: bool = True,
    bucket_cap_mb: float | None = None,
    find_unused_parameters: bool = False,
    gradient_as_bucket_view: bool = False,
) -> DDP:
    """DistributedDataParallel as PyTorch 2.13 does it.

    Args:
        bucket: bytes that close a bucket, `"25MiB"` unless given; torch's own word, bucket_cap_mb, counts in MiB.
        first: bytes that close the first bucket: 1 MiB, or `bucket` where that is given.
        hook: `"fp16"` or `"bf16"`: half the bytes on the wire.
        view: gradients are views of the buckets (torch: gradient_as_bucket_view): no copies, and less memory.
        find_unused: look for unused parameters (torch: find_unused_parameters): buckets are never rebuilt, a map is
            reduced too.
        static_graph: buckets are rebuilt one step later.
        accumulate: microbatches of a step.
        no_sync: only the last of them synchronises; False: all do.
        overlap: False waits with all allreduces until the backward pass has ended.
        broadcast_buffers: rank 0's buffers (BatchNorm's statistics) go to all before a forward pass.
        bucket_cap_mb: torch's name of `bucket`, in MiB.
        find_unused_parameters: torch's name of `find_unused`.
        gradient_as_bucket_view: torch's name of `view`.

    Returns:
        A strategy.

    Raises:
        CollsimError: For a bucket of less than a byte, and unknown hooks.

    Examples:
        >>> import collsim as cs
        >>> cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(bucket="10MiB"), batch=256).step.label
        "ddp(bucket='10MiB')"
    """
    cap = _parse_bucket(bucket, bucket_cap_mb)
    if hook is not None:
        require_word("hook of ddp", hook, HOOK_ITEM_BYTES)
    flags = {"view": view, "find_unused": find_unused, "static_graph": static_graph}
    flags |= {"no_sync": no_sync, "overlap": overlap, "broadcast_buffers": broadcast_buffers}
    torchs = {"find_unused_parameters": find_unused_parameters, "gradient_as_bucket_view": gradient_as_bucket_view}
    require_flags(**flags, **torchs)
    flags |= {"view": view or gradient_as_bucket_view, "find_unused": find_unused or find_unused_parameters}
    return DDP(cap, _parse_cap("first", first), hook, accumulate=parse_accumulate(accumulate), **flags)


def _parse_bucket(bucket: ByteSize | None, bucket_cap_mb: float | None) -> int | None:
    """The cap of a bucket in bytes, by our word or by torch's; None where neither is given."""
    if bucket_cap_mb is None:
        return _parse_cap("bucket", bucket)
    cap = _parse_cap("bucket_cap_mb", _convert_mebibytes(bucket_cap_mb))
    if bucket is not None and _parse_cap("bucket", bucket) != cap:
        message = "the size of buckets is given twice, and differently: {value}"
        raise CollsimError(message, value=f"{bucket!r}, '{bucket_cap_mb} MiB'")
    return cap


def _convert_mebibytes(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer) or not 0 < value < 2**40:
        message = "bucket_cap_mb={value!r} must be a number of MiB above 0; torch's default is 25"
        raise CollsimError(message, value=value)
    return int(value * 2**20)


def _parse_cap(name: str, value: ByteSize | None) -> int | None:
    if value is None:
        return None
    size = parse_bytes(value, name)
    if size < 1:
        raise CollsimError(
            "{name}={value!r}: a bucket of 0 bytes holds nothing; the smallest, {name}=1, puts every tensor in its own",
            name=name,
            value=value,
        )
    return size


class _Step(WholeModelStep):
    """One step of DDP under construction. All GPUs do the same, so they share lane 0."""

    def __init__(self, parallel: DDP, workload: Workload):
        super().__init__(workload)
        self.parallel = parallel
        self.layout = parallel.assign_tensors(workload.model, workload.step_number)
        self.sizes = [sum(workload.model.tensors[i][0] for i in bucket) for bucket in self.layout]
        self.launched: list[int] = []

    def write_step(self) -> TrainingStep:
        workload, p = self.workload, self.parallel
        first: list[int] = []
        for micro in range(workload.accumulate):
            # Without synchronisation before the last microbatch gradients add up locally (`no_sync`).
            sync = micro == workload.accumulate - 1 or not p.no_sync
            waits = self.add_buffer_broadcasts(micro) if micro == 0 or not p.no_sync else ()
            passed = self.add_forward(0, micro, waits)
            if sync:
                numbers = self.add_synchronised_backward(micro, passed)
            else:
                numbers = self.add_backward(0, micro, passed)
            first = first or numbers
        last = self.add_optimizer()
        if not p.view:  # else gradients are views of the buckets
            self.add_gradient_allocations(first, last)
        if p.hook:
            size = max(map(self.count_wire_bytes, self.sizes), default=0)
            self.add_allocation(0, "compressed", size, first[-1], last)
        resident = self.count_resident_bytes() | {"buckets": workload.model.nbytes}
        return self.finish(p.label, (workload.ranks,), resident)

    def count_wire_bytes(self, nbytes: int) -> int:
        """Bytes of a bucket on the network."""
        hook = self.parallel.hook
        if hook is None:
            return nbytes
        return nbytes * HOOK_ITEM_BYTES[hook] // 4

    def add_buffer_broadcasts(self, micro: int) -> tuple[int, ...]:
        """The broadcast of buffers in pieces, before the forward pass; its tasks."""
        sizes = [4 * n for layer in self.workload.model.layers for n in layer.buffers]
        if not self.parallel.broadcast_buffers or not sizes:
            return ()
        waits = (len(self.tasks) - 1,) if self.tasks else ()
        pieces = assign_buckets(sizes, ["float32"] * len(sizes), (BROADCAST_PIECE_BYTES,))
        return tuple(
            self.add_task(
                "buffers", "broadcast", (0,), dependencies=waits, microbatch=micro, nbytes=sum(sizes[i] for i in p)
            )
            for p in pieces
        )

    def add_synchronised_backward(self, micro: int, passed: list[int]) -> list[int]:
        """The backward pass with its allreduces, and all that is done until the optimizer may start."""
        tensor_layers = [number for number, layer in enumerate(self.workload.model.layers) for _ in layer.tensors]
        # Of each bucket the layer whose gradients come last, as the pass goes from the last layer to the first.
        last = [min((tensor_layers[i] for i in bucket), default=0) for bucket in self.layout]
        self.launched = []

        def launch_ready(layer: int, _: int) -> None:
            while len(self.launched) < len(last) and last[len(self.launched)] >= layer:
                self.launch_bucket(micro)

        numbers = self.add_backward(0, micro, passed, launch_ready if self.parallel.overlap else None)
        while len(self.launched) < len(last):
            self.launch_bucket(micro)
        waits = tuple(self.launched)
        if self.parallel.find_unused and not self.parallel.static_graph:
            tensors = len(self.workload.model.tensors)
            behind = (len(self.tasks) - 1,)
            waits += (
                self.add_task(
                    "unused map", "allreduce", (0,), dependencies=behind, microbatch=micro, nbytes=4 * tensors
                ),
            )
        self.finish_buckets(micro, waits)
        return numbers

    def launch_bucket(self, micro: int) -> None:
        """The next bucket: gradients are copied into it (and divided), then its allreduce is launched."""
        number = len(self.launched)
        self.add_bucket_copy(number, micro, f"into bucket {number}", ())
        last = next(i for i in range(len(self.tasks) - 1, -1, -1) if self.tasks[i].is_compute)
        size = self.count_wire_bytes(self.sizes[number])
        task = self.add_task(
            f"bucket {number}", "allreduce", (0,), dependencies=(last,), microbatch=micro, bucket=number, nbytes=size
        )
        self.launched.append(task)

    def finish_buckets(self, micro: int, waits: tuple[int, ...]) -> None:
        """After the backward pass: each bucket is waited for and copied back; then what else was launched."""
        for number, task in enumerate(self.launched):
            self.add_bucket_copy(number, micro, f"out of bucket {number}", (task,))
        self.add_task("wait", "copy", (0,), dependencies=waits, microbatch=micro)

    def add_bucket_copy(self, number: int, micro: int, name: str, after: tuple[int, ...]) -> None:
        """One way between gradients and a bucket: a kernel for each tensor, unless they are views; a hook's cast beside
        it."""
        p, size, into = self.parallel, self.sizes[number], not after
        # Gradients that are views of the bucket need no copy; each other tensor is a kernel of its own.
        moved, ops = (0, 0) if p.view else (2 * size, len(self.layout[number]))
        if p.hook:
            moved, ops = moved + size + self.count_wire_bytes(size), ops + 1
        elif p.view and into:
            moved, ops = 2 * size, 1  # divided where it is
        if ops:
            self.add_task(
                name,
                "copy",
                (0,),
                dependencies=after,
                microbatch=micro,
                bucket=number,
                memory_bytes=float(moved),
                ops=ops,
            )
