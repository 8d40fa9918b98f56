"""The options of Megatron-LM that split a step so.

Source: Megatron-LM, megatron/training/arguments.py (core 0.13).
"""

from __future__ import annotations

from .model_parallel import ContextParallel, ExpertParallel, TensorParallel
from .sharding import FSDP, Zero
from .split import Split
from .spoken import spoken
from .strategy import Parallel


def options(parallel: Parallel | str, batch: int, micro_batch: int, recompute: str = "none") -> str:
    """Options of `pretrain_gpt.py`, one a line; in bfloat16. Raises CollsimError for a text that is no way of
    splitting."""
    way = spoken(parallel) if isinstance(parallel, str) else parallel
    split = way if isinstance(way, Split) else Split((way,))
    lines = [f"--micro-batch-size {micro_batch} --global-batch-size {batch} --bf16"]
    tensor, pipe = split.part(TensorParallel), split.pipe
    if tensor is not None and tensor.size > 1:
        lines.append(f"--tensor-model-parallel-size {tensor.size}" + " --sequence-parallel" * tensor.sequence)
    if pipe.size > 1:
        lines.append(f"--pipeline-model-parallel-size {pipe.size}")
    if pipe.size > 1 and pipe.interleave > 1:
        lines.append(f"--num-virtual-stages-per-pipeline-rank {pipe.interleave}")
    if split.size(ContextParallel) > 1:
        lines.append(f"--context-parallel-size {split.size(ContextParallel)}")
    if split.size(ExpertParallel) > 1:
        lines.append(f"--expert-model-parallel-size {split.size(ExpertParallel)}")
    data = split.data
    if isinstance(data, Zero):
        lines.append("--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather")
    elif isinstance(data, FSDP):
        lines.append("--use-torch-fsdp2")
    if recompute == "full":
        lines.append("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1")
    elif recompute == "selective":
        lines.append("--recompute-granularity selective")
    elif recompute == "alternate":  # it has no such choice: half of a stage's blocks, one behind another
        lines.append("--recompute-granularity full --recompute-method block --recompute-num-layers $((BLOCKS / 2))")
    return " \\\n".join(lines)
