"""How PyTorch puts gradients into buckets.

Sources: torch/csrc/distributed/c10d/reducer.cpp, `compute_bucket_assignment_by_size` and `rebuild_buckets`;
reducer.hpp, `kDefaultFirstBucketBytes` and `kDefaultBucketBytesCap`; torch/nn/parallel/distributed.py,
`_ddp_init_helper` (torch 2.13).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..workload.model import Model

#: Bytes that close the first bucket, and each other one, unless the user gives a cap. The first is small so that
#: sending begins early.
FIRST_BUCKET_BYTES, BUCKET_BYTES = 2**20, 25 * 2**20
#: Bytes of a piece in which DDP broadcasts buffers (torch/nn/parallel/distributed.py, broadcast_bucket_size).
BROADCAST_PIECE_BYTES = 250 * 2**20
#: Bytes of an element on the wire (torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py).
HOOK_ITEM_BYTES = {"fp16": 2, "bf16": 2}
#: Bytes; more than any model has, so that a bucket is never full.
_UNLIMITED = 2**63


def assign_buckets(sizes: Sequence[int], kinds: Sequence[str], caps: Sequence[int]) -> list[list[int]]:
    """Put tensors into buckets in the order given: a bucket closes as soon as it holds at least its cap.

    Buckets that are still open at the end come last, in the order in which their types first came.

    Args:
        sizes: Bytes of each tensor.
        kinds: Type of each tensor; each type has buckets of its own.
        caps: Bytes that close the first bucket of a type, the second ...; the last holds for all further ones.

    Returns:
        Numbers of the tensors of each bucket.
    """
    closed_buckets: list[list[int]] = []
    open_buckets: dict[str, list[int]] = {}
    bucket_bytes: dict[str, int] = {}
    cap_numbers: dict[str, int] = {}
    for i, (size, kind) in enumerate(zip(sizes, kinds, strict=True)):
        open_buckets.setdefault(kind, []).append(i)
        bucket_bytes[kind] = bucket_bytes.get(kind, 0) + size
        position = cap_numbers.setdefault(kind, 0)
        if bucket_bytes[kind] >= caps[position]:
            closed_buckets.append(open_buckets.pop(kind))
            bucket_bytes[kind], cap_numbers[kind] = 0, min(position + 1, len(caps) - 1)
    return closed_buckets + list(open_buckets.values())


def rebuild_buckets(model: Model, first: int, cap: int) -> list[list[int]]:
    """Buckets from the order in which gradients become ready. Numbers of tensors, in order of launch."""
    order = model.gradient_order
    sizes, kinds = zip(*(model.tensors[i] for i in order), strict=True) if order else ((), ())
    return [[order[i] for i in bucket] for bucket in assign_buckets(sizes, kinds, (first, cap))]


def build_initial_buckets(model: Model, first: int, cap: int) -> list[list[int]]:
    """Build the buckets that DDP begins with under `find_unused_parameters`: filled in the order of registration and
    launched backwards, so that the one with the first cap comes last.

    Args:
        model: The model.
        first: Bytes that close the first bucket.
        cap: Bytes that close each other one.

    Returns:
        Numbers of the tensors of each bucket, in the order of launch.
    """
    sizes, kinds = zip(*model.tensors, strict=True) if model.tensors else ((), ())
    # Registered first is needed first in the forward pass, so its gradient is ready last: launch is in reverse.
    return sorted(assign_buckets(sizes, kinds, (first, cap)), key=min)[::-1]


def build_single_bucket(model: Model) -> list[list[int]]:
    """One bucket (for each dtype), as DDP is built without `find_unused_parameters`."""
    return build_initial_buckets(model, _UNLIMITED, _UNLIMITED)
