"""Sharded data parallelism: ZeRO as DeepSpeed does it, fully sharded data parallelism (FSDP2) as PyTorch does it.

Sources: Rajbhandari et al. 2020 (arXiv 1910.02054), sections 5 and 7; deepspeed/runtime/zero/config.py and
stage_1_and_2.py (buckets are closed before they would exceed 5·10⁸ elements); torch 2.13,
torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, ClassVar

from ...dtypes import find_dtype_name, find_itemsize
from ...errors import CollsimError, require_flags
from ...errors.arguments import check_arguments
from ...units import parse_count
from .fsdp_sync import FsdpSync
from .replica_sync import ReplicaSync, ZeroSync
from .strategy import (
    ReplicaStrategy,
    TorchReplicas,
    get_optimizer_bytes,
    parse_accumulate,
    register_strategy,
)

if TYPE_CHECKING:
    from .split_builder import SplitBuilder

#: Elements of a bucket that ZeRO does not exceed (deepspeed/runtime/zero/config.py, reduce_bucket_size and
#: allgather_bucket_size).
ZERO_BUCKET_ELEMENTS = 500_000_000
#: What torch's `fully_shard` is in every script.
_describe_fully_shard = partial(
    TorchReplicas,
    call="fully_shard",
    imports=("from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard",),
    purpose="each block is gathered by itself; the rest is the root",
)


@dataclass(frozen=True)
class Zero(ReplicaStrategy):
    """ZeRO; `zero(...)` makes one, and says what the options are.

    Attributes:
        stage: 1 shares the optimizer, 2 gradients too, 3 weights too.
        bucket: elements of a bucket, at most.
        overlap: gradients are reduced beside the backward pass.
        reduce_dtype: of gradients; None: the computation's.
        accumulate: microbatches of a step; None: as many as the batch asks for.
        coalesce: stage 3 gathers and reduces a block at once.

    Examples:
        >>> import collsim as cs
        >>> cs.zero(3).count_state_bytes(params=1000, ranks=10)  # 16 bytes a parameter, shared by all
        1600.0
    """

    name: ClassVar[str] = "zero"
    leading: ClassVar[tuple[str, ...]] = ("stage",)
    stage: int = 3
    bucket: int = ZERO_BUCKET_ELEMENTS
    overlap: bool = True
    reduce_dtype: str | None = None
    accumulate: int | None = None
    coalesce: bool = True

    @property
    def keeps_weights(self) -> bool:
        """Are gathered weights kept for the backward pass?"""
        return self.stage < 3

    @property
    def shares_gradients(self) -> bool:
        """From stage 2 on."""
        return self.stage > 1

    def describe_torch(self, dtype: str) -> TorchReplicas:
        """`fully_shard`; with weights that stay in stages 1 and 2.

        Args:
            dtype: Number format of the computation, `"bfloat16"`.
        """
        return _describe_fully_shard(
            reduce_dtype=self.reduce_dtype or dtype,
            missing=("bucket", "overlap") if self.keeps_weights else ("coalesce",),
            keeps_weights=self.keeps_weights,
            waits_for_gathers=self.stage == 3 and not self.overlap,
            reduces_each=self.stage > 1,
            reduces_once=self.stage == 1,
            gathers_once=self.keeps_weights,
        )

    def list_megatron_options(self) -> list[str]:
        """Its distributed optimizer in stage 1, its own FSDP from stage 2 on."""
        small = _format_gradient_option(self.reduce_dtype)
        if self.stage > 1:
            return [_format_megatron_fsdp(self.keeps_weights, 1) + small]
        overlap_option = ""
        if self.overlap:
            overlap_option = " --overlap-grad-reduce --overlap-param-gather"
        if self.overlap and self.bucket != ZERO_BUCKET_ELEMENTS:
            overlap_option += f" --ddp-bucket-size {self.bucket}"
        return [f"--use-distributed-optimizer{overlap_option}{small}"]

    def find_missing_megatron_options(self) -> dict[str, bool]:
        """From stage 2 on gradients always overlap, and its buckets are its own."""
        missing = _find_missing_dtype(self.reduce_dtype)
        if self.stage > 1:
            missing |= {"overlap=False": not self.overlap, "bucket": self.bucket != ZERO_BUCKET_ELEMENTS}
        return missing | {"coalesce=False": not self.coalesce}

    def create_sync(self, builder: SplitBuilder) -> ReplicaSync:
        """Stage 3 gathers weights as FSDP does; 1 and 2 reduce gradients in buckets.

        Args:
            builder: What builds the tasks of the step.
        """
        if self.stage == 3:
            data = FSDP(prefetch=self.overlap, reduce_dtype=self.reduce_dtype)
            return FsdpSync(builder, data, coalesces=self.coalesce)
        return ZeroSync(builder, self)

    def count_sent_bytes(self, params: float, ranks: int, dtype: str = "bfloat16") -> float:
        """Count the bytes that a rank sends in a step: gradients are reduce-scattered and weights gathered once, in
        stage 3 twice (Rajbhandari et al. 2020, section 7): 2 and 3 · (n − 1)/n · bytes, by rings.

        Args:
            params: Number of parameters of the model.
            ranks: Number of data parallel ranks.
            dtype: Type of gradients and gathered weights.

        Returns:
            Bytes of a step.
        """
        n, size = parse_count(ranks, "ranks"), parse_count(params, "params") * find_itemsize(dtype)
        return (3 if self.stage == 3 else 2) * size * (n - 1) / n

    def count_state_bytes(self, params: float, ranks: int, dtype: str = "bfloat16", optimizer: str = "adam") -> float:
        """Count the bytes of weights, gradients and optimizer on a rank (Rajbhandari et al. 2020, figure 1): in 16 bits
        with Adam 2 + 2 + 12 a parameter, of which stage 1 shares the 12, stage 2 gradients too, stage 3 all.

        Args:
            params: Number of parameters of the model.
            ranks: Number of data parallel ranks.
            dtype: Type that the step computes in.
            optimizer: adam, momentum, sgd or none.

        Returns:
            Bytes of a rank.
        """
        n, count = parse_count(ranks, "ranks"), parse_count(params, "params")
        item = find_itemsize(dtype)
        rest = get_optimizer_bytes(optimizer)
        if item < 4:
            rest += 4
        shared = rest + item * (self.stage - 1)
        return count * (2 * item + rest - shared + shared / n)


@register_strategy
@check_arguments
def zero(
    stage: int,
    *,
    bucket: int = ZERO_BUCKET_ELEMENTS,
    overlap: bool = True,
    reduce_dtype: str | None = None,
    accumulate: int | None = None,
    coalesce: bool = True,
) -> Zero:
    """ZeRO: data parallel ranks share the optimizer (1), gradients too (2), weights too (3).

    Args:
        stage: 1, 2 or 3.
        bucket: elements of a bucket of gradients, and of weights that are gathered after the optimizer, at most.
        overlap: gradients are reduced beside the backward pass.
        reduce_dtype: of gradients, the computation's unless given; float32 for Megatron's distributed optimizer.
        accumulate: microbatches of a step. Stage 1 reduces after the last, 2 and 3 after each; 3 gathers for each.
        coalesce: stage 3 gathers and reduces a block at once; False: each tensor by itself, as DeepSpeed did until 2021
            (its pull requests 1188 and 1453), when it also waited for each (`overlap=False`).

    Returns:
        A strategy.

    Raises:
        CollsimError: For other stages.

    Examples:
        >>> import collsim as cs
        >>> cs.zero(1).count_sent_bytes(params=10**9, ranks=8, dtype="bfloat16")  # 2 (n - 1) / n of 2 GB
        3500000000.0
    """
    if isinstance(stage, bool) or not isinstance(stage, Real) or stage not in (1, 2, 3):
        raise CollsimError("zero({stage!r}): stage 1 shares the optimizer, 2 gradients too, 3 weights too", stage=stage)
    require_flags(overlap=overlap, coalesce=coalesce)
    elements, reduced = parse_count(bucket, "bucket"), _parse_dtype(reduce_dtype)
    return Zero(int(stage), elements, overlap, reduced, parse_accumulate(accumulate), coalesce)


@dataclass(frozen=True)
class FSDP(ReplicaStrategy):
    """Fully sharded data parallelism; `fsdp(...)` makes one, and says what the options are.

    Attributes:
        reshard_after_forward: gathered weights of a block are given back after its forward pass.
        prefetch: the next block is gathered while one computes.
        replicate: replicas, each sharded over the rest.
        no_sync: gradients are reduced after the last microbatch only.
        reduce_dtype: of gradients; None: the computation's.
        accumulate: microbatches of a step; None: as many as the batch asks for.

    Examples:
        >>> import collsim as cs
        >>> cs.train.FSDP(replicate=2) == cs.fsdp(replicate=2)
        True
    """

    name: ClassVar[str] = "fsdp"
    reshard_after_forward: bool = True
    prefetch: bool = True
    replicate: int = 1
    no_sync: bool = False
    reduce_dtype: str | None = None
    accumulate: int | None = None

    @property
    def keeps_weights(self) -> bool:
        """Are gathered weights kept for the backward pass?"""
        return not self.reshard_after_forward

    @property
    def shares_gradients(self) -> bool:
        """Always."""
        return True

    def describe_torch(self, dtype: str) -> TorchReplicas:
        """`fully_shard`.

        Args:
            dtype: Number format of the computation, `"bfloat16"`.
        """
        return _describe_fully_shard(
            reduce_dtype=self.reduce_dtype or dtype,
            keeps_weights=self.keeps_weights,
            waits_for_gathers=not self.prefetch,
            reduces_each=True,
            reduces_once=self.no_sync,
        )

    def list_megatron_options(self) -> list[str]:
        """Its own FSDP."""
        return [_format_megatron_fsdp(self.keeps_weights, self.replicate) + _format_gradient_option(self.reduce_dtype)]

    def list_torch_fsdp_options(self) -> list[str]:
        """Torch has no replicas of shards there."""
        if self.replicate > 1:
            return []
        keeps = _format_gradient_option(self.reduce_dtype)
        if self.keeps_weights:
            keeps = f" --torch-fsdp2-no-reshard-after-forward{keeps}"
        return [f"--use-torch-fsdp2 --no-gradient-accumulation-fusion --ckpt-format torch_dist{keeps}"]

    def find_missing_megatron_options(self) -> dict[str, bool]:
        """It always gathers ahead, as torch does, and reduces after each microbatch."""
        missing = _find_missing_dtype(self.reduce_dtype)
        return missing | {"prefetch=False": not self.prefetch, "no_sync=True": self.no_sync}

    def create_sync(self, builder: SplitBuilder) -> ReplicaSync:
        """Blocks are gathered before they compute, and their gradients reduced.

        Args:
            builder: What builds the tasks of the step.
        """
        return FsdpSync(builder, self)


@register_strategy
@check_arguments
def fsdp(
    reshard_after_forward: bool = True,
    prefetch: bool = True,
    *,
    replicate: int = 1,
    no_sync: bool = False,
    reduce_dtype: str | None = None,
    accumulate: int | None = None,
) -> FSDP:
    """Fully sharded data parallelism as PyTorch 2.13 does it (FSDP2): every block of the model is a unit, what is left
    over the root, which stays gathered.

    Args:
        reshard_after_forward: gathered weights of a block are given back after its forward pass, and gathered again for
            the backward pass; False keeps them (ZeRO-2's volume).
        prefetch: the next block is gathered while one computes.
        replicate: hybrid sharding (HSDP): so many replicas, each sharded over the rest; gradients are reduce-scattered
            inside one and then reduced over all.
        no_sync: gradients are reduced after the last microbatch only, and are whole until then.
        reduce_dtype: of gradients, the computation's unless given.
        accumulate: microbatches of a step.

    Returns:
        A strategy.

    Raises:
        CollsimError: For counts below 1, and unknown types.

    Examples:
        >>> import collsim as cs
        >>> cs.fsdp(replicate=2).label
        'fsdp(replicate=2)'
    """
    require_flags(reshard_after_forward=reshard_after_forward, prefetch=prefetch, no_sync=no_sync)
    replicas = parse_count(replicate, "replicate")
    return FSDP(
        reshard_after_forward, prefetch, replicas, no_sync, _parse_dtype(reduce_dtype), parse_accumulate(accumulate)
    )


def _find_missing_dtype(reduce_dtype: str | None) -> dict[str, bool]:
    """Megatron-LM reduces gradients in two types."""
    return {f"reduce_dtype={reduce_dtype!r}": reduce_dtype not in (None, "bfloat16", "float32")}


def _format_gradient_option(reduce_dtype: str | None) -> str:
    """Megatron-LM reduces gradients in float32 unless told otherwise."""
    if reduce_dtype == "float32":
        return ""
    return " --grad-reduce-in-bf16"


def _format_megatron_fsdp(keeps_weights: bool, replicas: int) -> str:
    """Its own module, Megatron-FSDP."""
    sharded = "optim_grads_params"
    if keeps_weights:
        sharded = "optim_grads"
    copies = ""
    if replicas > 1:
        copies = f" --num-distributed-optimizer-instances {replicas}"
    return (
        f"--use-megatron-fsdp --data-parallel-sharding-strategy {sharded} --use-distributed-optimizer{copies} "
        "--overlap-grad-reduce --overlap-param-gather --no-gradient-accumulation-fusion --ckpt-format fsdp_dtensor"
    )


def _parse_dtype(dtype: str | None) -> str | None:
    if dtype is None:
        return None
    return find_dtype_name(dtype)
