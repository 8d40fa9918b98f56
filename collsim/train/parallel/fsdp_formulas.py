"""What a GPU sends and holds under FSDP by formula, to hold beside what a step of it does.

Sources: Rajbhandari et al. 2020 (arXiv 1910.02054), section 7: two gathers and a reduction of (n − 1)/n of all bytes;
torch 2.13, _fsdp_param_group.py: at most two blocks are gathered at a time, and the root stays.
"""

from __future__ import annotations

from typing import NamedTuple

from ...dtypes import find_itemsize
from ..workload.model import Model
from .sharded_parallel import FSDP
from .sharded_units import LayerPartition, build_units


class FsdpFormulas(NamedTuple):
    """Formulas of FSDP, and what they give.

    Attributes:
        sent_bytes: bytes that a GPU sends in a step.
        gathered_bytes: most bytes of gathered weights that a GPU holds.
        weight_bytes: bytes of all weights.
        sent_formula: formula of `sent_bytes`: P all parameters, r those of the root.
        gathered_formula: formula of `gathered_bytes`: b the parameters of a block, r those of the root.
    """

    sent_bytes: float
    gathered_bytes: float
    weight_bytes: float
    sent_formula: str
    gathered_formula: str


def evaluate_fsdp_formulas(data: FSDP, model: Model, ranks: int, dtype: str, accumulate: int = 1) -> FsdpFormulas:
    """Evaluate the formulas for a model of which nothing else is split.

    Args:
        data: The options of FSDP.
        model: The model.
        ranks: Number of GPUs, a multiple of `data.replicate`.
        dtype: Type that the step computes in.
        accumulate: Microbatches of the step.

    Returns:
        The formulas, and bytes of a GPU by them.
    """
    item, shards, copies = find_itemsize(dtype), ranks // data.replicate, data.replicate
    wire = find_itemsize(data.reduce_dtype or dtype)
    listed = build_units(model, LayerPartition())
    blocks = sorted((unit.parameters for unit in listed if unit.is_block), reverse=True)
    root = sum(unit.parameters for unit in listed if not unit.is_block)
    gathers = accumulate
    # Weights that were released after the forward pass are gathered once more for the backward pass.
    if data.reshard_after_forward:
        gathers *= 2
    reduces = 1
    if not data.no_sync:
        reduces = accumulate
    moved = item * (gathers * sum(blocks) + accumulate * root) + wire * reduces * (sum(blocks) + root)
    sent = moved * (shards - 1) / shards
    # Among replicas of the shards it is a plain allreduce of a shard, which a ring sends twice.
    sent += 2 * wire * reduces * (copies - 1) / copies * (sum(blocks) + root) / shards
    # At most the block at work and the prefetched one are whole, and then the largest two count.
    alive = 1 + data.prefetch
    if not data.reshard_after_forward:
        alive = len(blocks)
    gathered = item * (sum(blocks[:alive]) + root)
    factor_texts = {1: ""}
    parts = f"{factor_texts.get(gathers, gathers)}(P − r) + {factor_texts.get(accumulate, accumulate)}r"
    formula = f"{shards - 1}/{shards} × ({parts} + {factor_texts.get(reduces, reduces)}P) × {item} B"
    if copies > 1:
        formula += f" + 2 ({copies} − 1)/{copies} × P/{shards} × {wire} B"
    words = "P"
    if data.reshard_after_forward:
        words = "(2b + r)" if data.prefetch else "(b + r)"
    return FsdpFormulas(sent, gathered, item * (sum(blocks) + root), formula, f"{words} × {item} B")
