"""Scripts of products of ways: a mesh of processes (DeviceMesh), tensor parallelism, a pipeline, and replicas that are
sharded (fully_shard, FSDP2) or whole (replicate).

Sources: torch 2.13, torch/distributed/device_mesh.py, fsdp/_fully_shard/_fully_shard.py, _composable/
replicate_with_fsdp.py, pipelining/stage.py and schedules.py; how they go together: torchtitan,
torchtitan/models/llama3/parallelize.py and distributed/pipeline_parallel.py. ZeRO's stages are fully_shard with weights
that stay: what is sent is the same, new weights are gathered before they are used and not behind the optimizer.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

from ...errors import CollsimError
from ...package_data import read_texts
from ..parallel.combined_split import Split, as_split
from ..parallel.model_parallel import ContextParallel, ExpertParallel, TensorParallel
from ..parallel.sharded_units import ModelUnit, count_tied_elements
from ..parallel.strategy import Workload
from ..workload.decoder_shape import DecoderShape, read_decoder_shape
from .decoder_modules import write_decoder, write_units
from .pipeline_scripts import SINGLE_STAGE_SCHEDULES, TORCH_SCHEDULES, format_stages
from .script_parts import JOIN, ScriptedStep, escape_name, write_header, write_timing

_PARTS = read_texts(__file__, "product_scripts.toml")

_POLICY = "\n\npolicy = MixedPrecisionPolicy(param_dtype=torch.{dtype}, reduce_dtype=torch.{reduce})\n"


def write_product_script(step: ScriptedStep) -> str:
    """Write the script of a product of strategies.

    Args:
        step: The step, whose strategy is a product.

    Returns:
        The script.

    Raises:
        CollsimError: PyTorch has no module for a part of it.
    """
    workload, split = step.workload, as_split(step.parallel)
    listed = split.build_stages(workload)
    sizes = _find_decoder_shape(workload, split, listed)
    dims = {
        "tp": split.get_size(TensorParallel),
        "dp": split.count_replicas(len(workload.ranks)),
        "pp": split.pipeline.size,
    }
    return (
        write_header(step, _write_imports(workload, split, sizes, dims))
        + _PARTS["ask"].format(micro=workload.micro_batch)
        + JOIN
        + _write_mesh(split, dims)
        + _write_differences(workload, split, sizes, dims)
        + _write_modules(workload, split, listed, sizes, dims)
        + _write_share(workload, split, dims)
        + _write_make(workload, split, sizes, dims)
        + _write_step(step, split, dims, ends=sizes is not None and _has_two_copies(workload, split))
        + write_timing(step, f"asked.batch * {workload.accumulate * dims['dp']}")
        + _PARTS["end"].format(held=step.memory_by_gpu[0][1] / 2**30)
    )


def _find_decoder_shape(workload: Workload, split: Split, listed: list[tuple[ModelUnit, ...]]) -> DecoderShape | None:
    """Those of a decoder whose ends are on the first and the last stage; None for what runs as units. Raises
    CollsimError for what neither can do."""
    context = split.find_part(ContextParallel)
    expert = split.find_part(ExpertParallel)
    tensor = split.find_part(TensorParallel)
    if context is not None and context.size > 1:
        message = "no PyTorch script for {part}: torch's context_parallel is a prototype, for CUDA's kernels alone"
        raise CollsimError(message, part=context.label)
    if expert is not None and expert.size > 1:
        raise CollsimError("no PyTorch script for {part}: torch has no module for experts", part=expert.label)
    shape = read_decoder_shape(workload.model)
    # A model whose ends are known can be written as one module with stages; any other runs unit by unit.
    if shape is not None and {"norm", "head"} <= {unit.name for unit in listed[-1]}:
        _require_whole(workload.model.name, shape, tensor)
        return shape
    shared = tensor is not None and tensor.size > 1
    if shared or workload.recompute == "selective":
        says = "recompute='selective'"
        if tensor is not None and shared:
            says = tensor.label
        message = "no PyTorch script for {part} of {name}: it knows the layers of cs.train.transformer alone"
        raise CollsimError(message, part=says, name=workload.model.name)
    return None


def _require_whole(name: str, sizes: DecoderShape, tensor: TensorParallel | None) -> None:
    """Refuse parts of heads, and of a sequence that is cut into unequal parts."""
    if tensor is None or tensor.size == 1:
        return
    counts = {"heads": sizes.heads, "kv_heads": sizes.kv_heads} | ({"seq": sizes.seq} if tensor.sequence else {})
    for what, many in counts.items():
        if many % tensor.size:
            message = "no PyTorch script for {part} of {name}: {what}={many} cannot be shared evenly by {t} GPUs"
            raise CollsimError(message, part=tensor.label, name=name, what=what, many=many, t=tensor.size)


def _write_mesh(split: Split, dims: dict[str, int]) -> str:
    named: list[tuple[str, int]] = []
    copies = 1
    if split.data_strategy is not None:
        copies = split.data_strategy.replicate
    for axis in reversed(split.rank_order.split("-")):
        if axis == "dp" and copies > 1:
            named += [("replicate", copies), ("shard", dims["dp"] // copies)]
        elif dims.get(axis, 1) > 1:
            named.append((axis, dims[axis]))
    named = named or [("dp", 1)]
    sizes, names = ", ".join(str(size) for _, size in named), ", ".join(f'"{name}"' for name, _ in named)
    comma = "," * (len(named) == 1)
    return _PARTS["mesh"].format(order=split.rank_order, sizes=sizes + comma, names=names + comma)


def _has_two_copies(workload: Workload, split: Split) -> bool:
    """Are the first and the last stage, which share the embedding's matrix, on two GPUs?"""
    ranks = split.pipeline.stage_ranks
    return ranks[0] != ranks[-1] and bool(count_tied_elements(workload.model))


def _find_autocast_dtype(workload: Workload, dims: dict[str, int]) -> str | None:
    """The type in which torch.autocast computes where no replica's policy says one; None for 32 bits, and for weights
    that are in it."""
    if dims["dp"] == 1 and workload.has_wide_weights:
        return workload.dtype
    return None


def _write_differences(workload: Workload, split: Split, sizes: DecoderShape | None, dims: dict[str, int]) -> str:
    """What the step does and torch does otherwise, as a comment."""
    data, pipe, differences = split.data_strategy, split.pipeline, []
    if data is not None and dims["dp"] > 1:
        torch, changed = data.describe_torch(workload.dtype), data.list_changed_options()
        missing = [name for name in torch.missing if name in changed]
        if missing:
            differences += [f"{' and '.join(missing)} of {data.label}: torch has no such switch for it"]
        # What torch does otherwise is told in the script itself, because its times will differ for it.
        if dims["pp"] > 1 and workload.accumulate > 1 and torch.reduces_each:
            differences.append(
                "torch reduces a pipeline's gradients once, after its last microbatch, and keeps weights that a"
            )
            differences.append("backward pass has gathered; collsim's step reduces after each microbatch")
    if pipe.scatter and dims["tp"] > 1:
        differences.append("scatter of the pipeline: torch sends the whole from each GPU")
    if (
        dims["pp"] > 1
        and count_tied_elements(workload.model)
        and (sizes is None or not _has_two_copies(workload, split))
    ):
        differences.append("embedding and head are two matrices here, whose gradients are not added up")
    if differences:
        return "# Not as in collsim's step:\n" + "".join(f"# {line}\n" for line in differences)
    return ""


def _write_modules(
    workload: Workload,
    split: Split,
    listed: list[tuple[ModelUnit, ...]],
    sizes: DecoderShape | None,
    dims: dict[str, int],
) -> str:
    """The modules, and which part of them each stage has."""
    name, again = escape_name(workload.model.name), workload.recompute
    if sizes is not None:
        stages = _list_ranges([sum(unit.is_block for unit in stage) for stage in listed])
        return write_decoder(
            name, sizes, stages, split.find_part(TensorParallel), again, _find_autocast_dtype(workload, dims)
        )
    units = [(unit.layers, unit.is_block) for stage in listed for unit in stage]
    tensors = [(tuple(n for layer in layers for n in layer.tensors), block) for layers, block in units]
    return write_units(name, tensors, _list_ranges([len(stage) for stage in listed]), again)


def _list_ranges(counts: list[int]) -> list[tuple[int, int]]:
    ends = list(accumulate(counts, initial=0))
    return list(pairwise(ends))


def _write_imports(workload: Workload, split: Split, sizes: DecoderShape | None, dims: dict[str, int]) -> str:
    """The modules that the script needs."""
    lines = []
    if sizes is not None:
        lines = ["import torch.nn.functional as F"]
    lines += ["from torch import nn"]
    if workload.recompute in ("full", "alternate"):
        lines.append("from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper")
    lines.append("from torch.distributed.device_mesh import init_device_mesh")
    if dims["dp"] > 1 and split.data_strategy is not None:
        lines += split.data_strategy.describe_torch(workload.dtype).imports
    if dims["pp"] > 1:
        lines += ["from torch.distributed.pipelining import PipelineStage"]
        lines += [f"from torch.distributed.pipelining.schedules import {TORCH_SCHEDULES[split.pipeline.schedule]}"]
    if dims["tp"] > 1:
        part = split.find_part(TensorParallel)
        styles = ["ColwiseParallel", "PrepareModuleInput", "RowwiseParallel", "loss_parallel", "parallelize_module"]
        if part is not None and part.sequence:
            styles += ["SequenceParallel"]
        lines += ["from torch.distributed.tensor import Replicate, Shard"]
        lines += ["from torch.distributed.tensor.parallel import (", *(f"    {name}," for name in sorted(styles)), ")"]
    # Imports only for what the script uses: a reader takes each of them for a hint.
    if workload.recompute == "selective":
        lines.append("from torch.utils.checkpoint import checkpoint")
    return "\n".join(lines) + "\n"


def _write_share(workload: Workload, split: Split, dims: dict[str, int]) -> str:
    """`share(stage)`: how replicas keep together; nothing where there is one."""
    data = split.data_strategy
    if data is None or dims["dp"] == 1:
        return ""
    torch, policy = data.describe_torch(workload.dtype), ""
    values = {"what": torch.purpose, "call": torch.call, "mesh": 'mesh["dp"]', "policy": "", "reshard": ""}
    values |= {"waited": "", "more": ""}
    # torch reduces in the type of the parameters unless a policy says another.
    if workload.dtype != "float32" or torch.reduce_dtype != "float32":
        policy = _POLICY.format(dtype=workload.dtype, reduce=torch.reduce_dtype)
        values["policy"] = ", mp_policy=policy"
    if torch.keeps_weights:
        values["reshard"] = ", reshard_after_forward=False"
    if torch.waits_for_gathers:
        values |= {"waited": _PARTS["waited"], "more": _PARTS["wait"]}
    if data.replicate > 1:
        values["mesh"] = 'mesh["replicate", "shard"]'
    return policy + _PARTS["share"].format(**values)


def _write_make(workload: Workload, split: Split, sizes: DecoderShape | None, dims: dict[str, int]) -> str:
    """`make(number)`: a stage, cut and shared before it has memory."""
    before = tied = narrow = ""
    if not workload.has_wide_weights and workload.dtype != "float32":
        narrow = f"    stage.to(torch.{workload.dtype})  # weights, gradients and the optimizer's state\n"
    if sizes is not None and sizes.tied:
        tied = "    tie(stage)\n"
    if dims["tp"] > 1:
        before = "    cut(stage)\n"
    before = narrow + before + tied
    if dims["dp"] > 1:
        before += "    share(stage)\n"
    return _PARTS["make"].format(before=before, after=tied)


def _write_step(step: ScriptedStep, split: Split, dims: dict[str, int], *, ends: bool) -> str:
    """`step()`: all microbatches and the optimizer; `ends` add up the gradients of their copies."""
    workload, contexts = step.workload, []
    if dims["tp"] > 1:
        contexts = ["loss_parallel()"]
    if dtype := _find_autocast_dtype(workload, dims):
        contexts.append(f"torch.autocast(device.type, torch.{dtype})")
    values: dict[str, object] = {
        "micros": workload.accumulate,
        "context": ", ".join(contexts) or "contextlib.nullcontext()",
        "last": "optimizer.step()",
    }
    if workload.optimizer == "none":
        values["last"] = "pass"
    if dims["pp"] > 1:
        listed = "[parameter for part in parts for parameter in part.parameters()]"
        values["optimizer"] = step.write_optimizer(listed)
        values |= {"ends": "", "added": "", "stages": "stages", "compiled": step.write_compile("parts", many=True)}
        values["schedule"] = TORCH_SCHEDULES[split.pipeline.schedule]
        if ends:
            values |= {"ends": _PARTS["ends"], "added": _PARTS["added"]}
        # torch's classes of single-stage schedules take a stage, the others a list.
        if values["schedule"] in SINGLE_STAGE_SCHEDULES:
            values["stages"] = "stages[0]"
        return _PARTS["staged"].format(mine=format_stages(split.pipeline), **values)
    values |= {"optimizer": step.write_optimizer("model.parameters()"), "compiled": step.write_compile("model")}
    return _PARTS["whole"].format(sync=_write_sync(workload, split, dims), **values)


def _write_sync(workload: Workload, split: Split, dims: dict[str, int]) -> str:
    """Which microbatches reduce gradients, and give weights back."""
    data, many = split.data_strategy, workload.accumulate
    if data is None or dims["dp"] == 1 or many == 1:
        return ""
    last = f"micro == {many - 1}"
    lines, torch = [], data.describe_torch(workload.dtype)
    if torch.reduces_once:
        lines.append(f"        model.set_requires_gradient_sync({last})  # gradients are reduced once\n")
    if torch.gathers_once:
        lines.append(f"        model.set_reshard_after_backward({last})  # weights are gathered once\n")
    return "".join(lines)
