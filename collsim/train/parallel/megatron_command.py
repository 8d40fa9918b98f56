"""The command line of Megatron-LM that splits a step so.

Source: Megatron-LM, megatron/training/arguments.py (commit 000c4ac): names, what is on unless told otherwise,
and what `validate_args` refuses; megatron/core/distributed/README.md: FSDP.
"""

from __future__ import annotations

from ...errors import CollsimError, join_words
from ..workload.decoder_shape import DecoderShape, read_decoder_shape
from ..workload.model import Model
from .combined_split import Split, as_split
from .model_parallel import ContextParallel, ExpertParallel, TensorParallel
from .rank_groups import RANK_ORDER
from .strategy import ParallelStrategy
from .strategy_parser import parse_strategy

#: Axes of a product in the order of its options.
_AXES = ("tp", "cp", "ep", "pp", "dp")
#: Orders of ranks that it knows, with the option that chooses them.
_ORDERS = {RANK_ORDER: "", "tp-cp-ep-pp-dp": "--use-tp-pp-dp-mapping"}


def build_megatron_command(
    parallel: ParallelStrategy | str,
    model: Model,
    batch: int,
    micro_batch: int,
    recompute: str = "none",
    nodes: int = 1,
    gpus: int = 8,
) -> str:
    """Build the command line of Megatron-LM that splits a step so: `torchrun pretrain_gpt.py` with its options, a line
    for each kind of them; in bfloat16, on data that it makes up.

    Args:
        parallel: The strategy, or its text.
        model: The model.
        batch: Samples of a step, over all GPUs.
        micro_batch: Samples of a replica at a time.
        recompute: Activations that are computed again: none, selective, alternate or full.
        nodes: Number of nodes.
        gpus: GPUs of each node.

    Returns:
        The lines, joined by backslashes.

    Raises:
        CollsimError: The text is no strategy, or Megatron-LM has no option for a part of it.
    """
    if isinstance(parallel, str):
        strategy = parse_strategy(parallel)
    else:
        strategy = parallel
    split = as_split(strategy)
    sizes = read_decoder_shape(model)
    _require_supported(strategy, split, model, sizes)
    far = "--standalone"
    if nodes > 1:
        far = f"--nnodes {nodes} --rdzv-backend c10d --rdzv-endpoint FIRST_NODE:29500"
    shared = split.get_size(TensorParallel) > 1 or split.get_size(ContextParallel) > 1
    alone = ""
    if shared and (split.data_strategy is None or not split.data_strategy.shares_gradients):
        alone = "CUDA_DEVICE_MAX_CONNECTIONS=1 "
    lines = [f"{alone}torchrun {far} --nproc-per-node {gpus} pretrain_gpt.py"]
    stages = split.pipeline.size * split.pipeline.interleave
    if sizes is None:
        model_options, stage_blocks = ["$MODEL_ARGS"], 0
    else:
        model_options, stage_blocks = _list_model_options(sizes), sizes.blocks // stages
    lines += model_options
    lines += ["--mock-data --tokenizer-type NullTokenizer --train-iters 20 --lr 1e-4 --bf16"]
    lines += [f"--micro-batch-size {micro_batch} --global-batch-size {batch}"]
    lines += _list_part_options(split, sizes)
    lines += [_format_recompute(recompute, stage_blocks), _format_rank_order(split)]
    return " \\\n".join(filter(None, lines))


def _require_supported(strategy: ParallelStrategy, split: Split, model: Model, sizes: DecoderShape | None) -> None:
    """Refuse what none of its options says, and what `validate_args`, its layers and its configuration refuse."""
    for part in split.parts:
        if not part.axis:
            raise CollsimError("Megatron-LM has no option for {part}", part=part.label)
        for option, is_used in part.find_missing_megatron_options().items():
            if is_used:
                raise CollsimError("Megatron-LM has no option for {part}", part=f"{option} in {part.label}")
    if not model.tokens or model.layers[-1].name != "head":
        raise CollsimError("pretrain_gpt.py of Megatron-LM trains decoders, and {name} is none", name=model.name)
    split.pipeline.list_megatron_options()  # its schedule, before what its stages are of
    t, c = split.find_part(TensorParallel), split.get_size(ContextParallel)
    if t is not None and t.size > 1 and not t.sequence and split.get_size(ExpertParallel) > 1:
        message = "Megatron-LM has experts beside {part} only with sequence=True"
        raise CollsimError(message, part=t.label)
    counts = [("seq", model.tokens, 2 * c if c > 1 else 1)]
    if sizes is not None:
        stages = split.pipeline.size * split.pipeline.interleave
        counts += [("layers", sizes.blocks, stages), ("heads", sizes.heads, 1 if t is None else t.size)]
    for what, many, by in counts:
        if many % by:
            message = "Megatron-LM wants a multiple of {by} for {what}={many} with {says}"
            raise CollsimError(message, by=by, what=what, many=many, says=split.label)


def _list_model_options(sizes: DecoderShape) -> list[str]:
    """The sizes of a decoder."""
    lines = [f"--num-layers {sizes.blocks} --hidden-size {sizes.h} --ffn-hidden-size {sizes.ffn}"]
    heads = f"--num-attention-heads {sizes.heads}"
    heads += f" --group-query-attention --num-query-groups {sizes.kv_heads}" * (sizes.kv_heads < sizes.heads)
    heads += f" --kv-channels {sizes.head_dim}" * (sizes.head_dim * sizes.heads != sizes.h)
    longest = sizes.positions or sizes.seq
    lines += [heads, f"--seq-length {sizes.seq} --max-position-embeddings {longest} --vocab-size {sizes.vocab}"]
    more = ["--swiglu"] * sizes.gated + ["--disable-bias-linear --normalization RMSNorm"] * (not sizes.bias)
    more += ["--position-embedding-type rope"] * (not sizes.positions)
    more += ["--untie-embeddings-and-output-weights"] * (not sizes.tied)
    more += ["--attention-dropout 0 --hidden-dropout 0 --attention-backend flash"] * sizes.flash
    return [*lines, " ".join(more)]


def _list_part_options(split: Split, sizes: DecoderShape | None) -> list[str]:
    """GPUs that share layers, sequences and experts, stages, and how replicas keep together."""
    lines = []
    for part in sorted(split.parts, key=lambda part: _AXES.index(part.axis)):
        torch_fsdp = part.list_torch_fsdp_options() if _can_use_torch_fsdp(split, sizes) else []
        lines += torch_fsdp or part.list_megatron_options()
    return lines


def _can_use_torch_fsdp(split: Split, sizes: DecoderShape | None) -> bool:
    """Does it take torch's FSDP2? Not with a pipeline, experts, or a head that shares the embedding's matrix."""
    return split.pipeline.size == 1 and split.get_size(ExpertParallel) == 1 and sizes is not None and not sizes.tied


def _format_recompute(recompute: str, blocks: int) -> str:
    """What is computed again; `blocks` of a stage, 0 where they are not known."""
    if recompute == "full":
        return "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
    if recompute == "selective":
        return "--recompute-granularity selective"
    if recompute == "alternate":  # it has no such choice: half of a stage's blocks, one behind another
        half = "$HALF_OF_A_STAGE"
        if blocks:
            half = str(-(-blocks // 2))
        return f"--recompute-granularity full --recompute-method block --recompute-num-layers {half}"
    return ""


def _format_rank_order(split: Split) -> str:
    if split.rank_order not in _ORDERS:
        known = join_words(list(_ORDERS), "{first} and {then}")
        raise CollsimError(
            "Megatron-LM has no order {order!r} of ranks; it has {known}", order=split.rank_order, known=known
        )
    return _ORDERS[split.rank_order]
