"""A table of measured training steps, and what `training_step` says of each: how a row becomes a call.

Columns that are read: model, hidden, layers, heads, seq, batch, micro_batch, precision, gpus, gpu_type, nodes,
nic_per_node_GBps, tp, pp, schedule, interleave, overlap, graphs, mode, value, unit, note. `docs/training.md` says what
each of them becomes.
No constant belongs to a source of measurements.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache, reduce
from operator import mul
from os import PathLike
from pathlib import Path
from typing import Any, cast

from ..errors import CollsimError, Sentence, require_path
from ..files import create_file, guard_cell, locate_csv_line, open_csv, read_csv_columns, refuse, unguard_cell
from ..package_data import read_toml
from ..topology import Topology, machine
from .compute.gpu_speeds import GpuSpeed, get_gpu_speed
from .model_families import model as model_named
from .parallel.ddp_strategy import ddp
from .parallel.model_parallel import context, expert, pipeline, tensor
from .parallel.sharded_parallel import fsdp, zero
from .parallel.strategy import ParallelStrategy
from .step_request import StepArguments, parse_request, training_step
from .workload.expert_load import OverlapWith
from .workload.model import Model
from .workload.transformer import transformer

REQUIRED_COLUMNS = ("model", "batch", "gpus", "gpu_type", "mode", "value", "unit")
_RESULT_COLUMNS = ("predicted_s", "measured_s", "unread")
_TABLES = read_toml(__file__, "measured_steps.toml")
#: What a GPU's name begins with: a machine, the GPU whose figures count, its own peak in 16 bits, memory and memory
#: rate where they differ (NVIDIA GB200 and GB300 NVL72 data sheets, per GPU, dense; H100 96GB: HBM2e of 2.4 TB/s,
#: pytorch/torchtitan docs/performance.md).
_GPUS = [(row["name"], row["machine"], row["gpu"], row["own"]) for row in _TABLES["gpus"]]
#: Times the peak in 16 bits: 8 bits, and 4 bits where a GPU has them (data sheets, dense).
_TIMES = {"fp8": 2.0, "mxfp8": 2.0, "float8": 2.0, "nvfp4": 4.0}
#: Blackwell Ultra: 15 Pflop/s in 4 bits, dense (NVIDIA developer blog, "Inside NVIDIA Blackwell Ultra", 2025), and 2.5
#: in 16 bits (GB300 NVL72 data sheet).
_ULTRA, _ULTRA_NARROW = ("gb300", "b300"), 15.0 / 2.5
#: Of the time that 8 bits with one scale a tensor save, a scale a row saves this share: Llama 3 8B on eight H100 made
#: 5,760 tokens/s in bfloat16, 6,418 with a scale a row, 7,186 with one a tensor (pytorch/torchtitan, commit 7a04053).
_ROWWISE = (1 / 5760 - 1 / 6418) / (1 / 5760 - 1 / 7186)
#: Share of such a peak that products reach, against the share in 16 bits: on H100 1,280 of 1,979 Tflop/s, and 720 of
#: 989.5 (SemiAnalysis, "MI300X vs H100 vs H200 Benchmark Part 1: Training", December 2024).
_NARROW = (1280 / 1979) / (720 / 989.5)
#: Operands are about half of what a product moves. They are read in 16 bits and written in 8, then read in 8: 4 bytes
#: in place of 2, so that half as much again is moved.
_CASTS = 0.5
#: W that a GPU usually has (NVIDIA data sheets), where rows say that it had less.
_WATTS = {"H100": 700.0, "H200": 700.0, "A100": 400.0}
#: Models by their published name, where a row does not say how wide they are.
_NAMES: dict[str, str] = _TABLES["names"]
#: What a release says beside its rows: patterns of columns, and what replaces them.
_RECIPES = _TABLES["recipes"]
#: Models with layers that no step has, and which.
_OTHERS = {
    r"nemotron[ _-]?(3|h)": Sentence("state space layers (Mamba)"),
    r"qwen3[ _-]next": Sentence("linear attention"),
    r"deepseek[ _-]?v4": Sentence("sparse attention"),
}


@dataclass(frozen=True)
class MeasuredStep:
    """A row as a call.

    Attributes:
        call: arguments of `training_step`.
        seconds: s of a step, as measured.
    """

    call: Mapping[str, object]
    seconds: float

    def predict(self) -> float:
        """Seconds, as `training_step` says; of equal calls it is asked once."""
        return _time_call(tuple(self.call.items()))


@lru_cache(maxsize=256)
def _time_call(call: tuple[tuple[str, Any], ...]) -> float:
    return training_step(**dict(call)).time


def predict_measured_steps(path: str | PathLike[str], out: str | PathLike[str]) -> Path:
    """Write a table of measured steps again, with what `training_step` says of each.

    Args:
        path: Path of a CSV file with the columns that the module names.
        out: Path of the new file, which has the columns predicted_s, measured_s (s) and unread besides (why a row is no
            call; its times are empty).

    Returns:
        The path of the new file.

    Raises:
        FormatError: The file is no such table.
    """
    header, rows = _read_table(path)
    target = require_path(out, "out")
    with create_file(target) as file:
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow([guard_cell(name) for name in (*header, *_RESULT_COLUMNS)])
        for cells in rows:
            writer.writerow(
                [_format_cell(value) for value in (*cells, *_predict_row(dict(zip(header, cells, strict=True))))]
            )
        file.write(text.getvalue().encode())
    return target


def _format_cell(value: float | str) -> float | str:
    """As `guard_cell`; a number of the table is a text here, and stays as it is."""
    try:
        float(value)
    except ValueError:
        cell: float | str = guard_cell(value)
        return cell
    return value


def _read_table(path: str | PathLike[str]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows, whatever their names are, without answers that are there already."""
    reader = open_csv(path)
    rows: list[list[str]] = []
    try:
        columns = [unguard_cell(name) for name in read_csv_columns(path, reader)]
        # Answers of an earlier run are dropped, so that a file can be fed back.
        positions = [i for i, name in enumerate(columns) if name not in _RESULT_COLUMNS]
        for cells in filter(None, reader.reader):  # blank lines are no rows
            if len(cells) > len(columns):
                message = "{cells} values; the header has {columns}"
                refuse(path, locate_csv_line(reader), message, cells=len(cells), columns=len(columns))
            cells += [""] * (len(columns) - len(cells))
            rows.append([unguard_cell(cells[i]) for i in positions])
    except csv.Error as error:
        refuse(path, locate_csv_line(reader), "is no CSV ({error})", error=error)
    if missing := next((name for name in REQUIRED_COLUMNS if name not in columns), None):
        refuse(
            path,
            "line 1",
            "has no column {missing!r}; wants {needed}",
            missing=missing,
            needed=", ".join(REQUIRED_COLUMNS),
        )
    return [columns[i] for i in positions], rows


def _predict_row(row: dict[str, str]) -> tuple[float | str, float | str, str]:
    """Seconds as predicted and as measured, and why there are none."""
    try:
        measured = parse_row(row)
        return measured.predict(), measured.seconds, ""
    except CollsimError as error:
        return "", "", str(error)


# ---- a row as a call ------------------------------------------------------------------------------------------------


def parse_row(row: Mapping[str, str]) -> MeasuredStep:
    """Read a row of the table as a call of `training_step`.

    Args:
        row: Texts by column; columns that are not required may be missing or empty.

    Returns:
        The call, and the seconds that were measured.

    Raises:
        CollsimError: `training_step` cannot say anything of the row.
    """
    row, compute = _apply_recipes(row)
    gpus = _read_count(row, "gpus")
    _require_unit(row["unit"])
    prefix, name, gpu, figures = _find_gpu(row["gpu_type"])
    known = _build_model(row)
    box, ranks = _build_machine(name, gpus, _read_optional_count(row, "nodes") or 0, _read_nic_rate(row))
    fast, dtype = _select_speed(gpu, figures, row.get("precision", ""), prefix in _ULTRA)
    fast = replace(_apply_row_conditions(fast, row), **compute)
    parallel, recompute = _parse_parallel(row, gpus, box)
    batch = _read_count(row, "batch")
    call = {
        "model": known,
        "machine": box,
        "ranks": ranks,
        "parallel": parallel,
        "batch": batch,
        "micro_batch": _read_optional_count(row, "micro_batch"),
        "dtype": dtype,
        "compute": fast,
        "recompute": recompute,
        # The step was run, so it fitted; how the framework saved memory is not known.
        "memory": 2**60,
    }
    return MeasuredStep(call, _parse_seconds(row, known, batch, gpus, call))


def _apply_recipes(row: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Any]]:
    """The row with what its release says beside it, and constants of the release's kernels."""
    filled, compute = dict(row), dict[str, Any]()
    for recipe in _RECIPES:
        patterns = recipe["rows"].items()
        if all(re.match(pattern, row.get(name) or "", re.IGNORECASE) for name, pattern in patterns):
            filled |= recipe.get("columns", {})
            filled |= {name: value for name, value in recipe.get("settings", {}).items() if not filled.get(name)}
            compute |= recipe.get("compute", {})
            for name, value in recipe.get("mode", {}).items():
                filled["mode"] = re.sub(rf"\b{name}=\S*", f"{name}={value}", filled["mode"])
    return filled, compute


def _read_number(row: Mapping[str, str], name: str) -> float | None:
    """A number of a row; None where it is not published."""
    text = (row.get(name) or "").strip()
    try:
        value = None
        if text:
            value = float(text)
    except ValueError:
        raise CollsimError("{name}={text!r} is no number", name=name, text=text) from None
    if value is None or math.isfinite(value):
        return value
    return None


def _read_optional_count(row: Mapping[str, str], name: str) -> int | None:
    """A whole number of at least 1; None where it is not published."""
    if (row.get(name) or "").strip():
        return _read_count(row, name)
    return None


def _read_count(row: Mapping[str, str], name: str) -> int:
    value = _read_number(row, name)
    if value is None or value < 1 or value != int(value):
        message = "{name}={value!r}: a step needs a whole number of at least 1"
        raise CollsimError(message, name=name, value=row.get(name))
    return int(value)


def _read_nic_rate(row: Mapping[str, str]) -> float | None:
    """GB/s of a node's NICs; None where that is not published."""
    value = _read_number(row, "nic_per_node_GBps")
    if value is not None and value <= 0:
        raise CollsimError("{name}={value!r} must be more than 0", name="nic_per_node_GBps", value=value)
    return value


def _find_gpu(text: str) -> tuple[str, str, str, dict[str, float]]:
    low = text.lower()
    for entry in _GPUS:
        if low.startswith(entry[0]):
            return entry
    raise CollsimError("gpu_type={text!r} is no GPU that the catalogue has a machine of", text=text)


def _build_model(row: Mapping[str, str]) -> Model:
    """By its published name, else a GPT of the width that the row says."""
    name, seq = row["model"].lower(), _read_optional_count(row, "seq")
    for pattern, other in _OTHERS.items():
        if re.search(pattern, name):
            message = "model={model!r} has {layers}, which a step does not know"
            raise CollsimError(message, model=row["model"], layers=other)
    for pattern, known in _NAMES.items():
        if re.search(pattern, name):
            second = known == "deepseek-v3" and "w/o mtp" not in name
            return _build_known_model(known, seq, second)
    if "resnet" in name and "," not in name:
        return model_named(name.replace("-", ""))
    h, layers, heads = (_read_optional_count(row, column) for column in ("hidden", "layers", "heads"))
    if h is None or layers is None or heads is None or seq is None:
        message = "model={model!r} is not in the catalogue, and its row does not say how wide it is"
        raise CollsimError(message, model=row["model"])
    known = next((word for word in ("mpt", "llama") if word in name), "")
    if _is_vtrain_on_one_node(row["mode"], _read_optional_count(row, "nodes") or 1):
        known = "vtrain"
    return _build_sized_model(known, h, layers, heads, seq)


@cache
def _build_known_model(name: str, seq: int | None, second: bool) -> Model:
    return model_named(name, **({"seq": seq} if seq else {}), **({"second": True} if second else {}))


@cache
def _build_sized_model(known: str, h: int, layers: int, heads: int, seq: int) -> Model:
    """GPT as Megatron-LM has it; as vTrain has it (src/config.py: 50,257 words; src/model/gpt_modeling.py); MPT
    (llm-foundry scripts/train/yamls/pretrain: 50,368 words, no vectors beside
    matrices, no table of positions, flash attention); Llama 2 34B (Touvron et al. 2023: 8 heads of keys)."""
    if known == "vtrain":
        return transformer(h, layers, heads, seq=seq, vocab=50257, padded=False)
    if known == "mpt":
        return transformer(h, layers, heads, seq=seq, vocab=50368, bias=False, positions=False, flash=True)
    if known == "llama":
        more = {"vocab": 32000, "ffn": 22016, "kv_heads": 8, "gated": True, "bias": False, "tied": False}
        return transformer(h, layers, heads, seq=seq, positions=False, flash=True, **more)  # type: ignore[arg-type]
    return transformer(h, layers, heads, seq=seq, vocab=51200)


@cache
def _build_machine(name: str, gpus: int, nodes: int, nic: float | None) -> tuple[Topology, tuple[int, ...]]:
    """The machine, with as fast a network as the row says, and the GPUs that take part: the first of each node."""
    per = machine(name).ranks
    # An NVL72 rack is one node whatever the row calls one.
    many = max(nodes if name != "gb200-nvl72" else 0, -(-gpus // per))
    box = machine(name, nodes=many)
    if many > 1 and nic is not None:
        kinds = {cable.kind for cable in box.links.cables}
        # The network is scaled to the rate of the row: its kind, latency and count of cards stay.
        nominal_rate = sum(get_nic_rates(name))
        kind = "ethernet"
        if "infiniband" in kinds:
            kind = "infiniband"
        box = box.scaled(kind=kind, by=nic * 1e9 / nominal_rate)
    if gpus % many:
        raise CollsimError("{gpus} GPUs are not spread evenly over {many} nodes", gpus=gpus, many=many)
    # GPUs of each node are the first ones, as schedulers give them out.
    gpus_per_node = gpus // many
    return box, tuple(node * per + i for node in range(many) for i in range(gpus_per_node))


@cache
def get_nic_rates(name: str) -> tuple[float, ...]:
    """B/s of the NICs of a node, one direction."""
    from ..nccl import read_facts

    facts = read_facts(machine(name, nodes=2))
    return (facts.nic_rate,) * int(facts.nics)


@cache
def _derive_speed(
    gpu: str, figures: tuple[tuple[str, float], ...], times: float, dtype: str, rowwise: bool = False
) -> GpuSpeed:
    speed = replace(get_gpu_speed(gpu, dtype), **dict(figures))  # type: ignore[arg-type]
    faster = times * _NARROW
    if rowwise:
        faster = 1 / (1 - _ROWWISE * (1 - 1 / faster))
    narrow = {}
    if times > 1:
        narrow = {"peak": speed.peak * faster, "cast_traffic": _CASTS}
    return replace(speed, attention_peak=speed.peak, **narrow)  # type: ignore[arg-type]


def _select_speed(gpu: str, figures: dict[str, float], precision: str, ultra: bool) -> tuple[GpuSpeed, str]:
    """The GPU's speed, and the type that all but matrix products are in."""
    low = precision.lower()
    if low.startswith("fp32"):
        return _derive_speed(gpu, (), 1.0, "float32"), "float32"
    times = next((times for word, times in _TIMES.items() if low.removeprefix("amp_").startswith(word)), 1.0)
    if ultra and times == _TIMES["nvfp4"]:
        times = _ULTRA_NARROW
    dtype = "bfloat16"
    if low.startswith("fp16"):
        dtype = "float16"
    return _derive_speed(gpu, tuple(figures.items()), times, dtype, "rowwise" in low), dtype


def _apply_row_conditions(fast: GpuSpeed, row: Mapping[str, str]) -> GpuSpeed:
    """The GPU with the power that the row says ("(500 W)"), and with the attention of its model and framework: MPT's
    biases need Triton's kernel (llm-foundry scripts/train/benchmarking/submit_benchmarks.py, attn_impl); Megatron's
    comes from Transformer Engine, which takes cuDNN's on Hopper (NVIDIA/NeMo docs, memory_optimizations.rst)."""
    watts = _search_number(r"\((\d+) W\)", row["gpu_type"])
    if watts and fast.gpu in _WATTS:
        fast = fast.with_power_limit(watts, _WATTS[fast.gpu])
    if row["model"].lower().startswith("mpt"):
        return fast.with_triton()
    if _MEGATRON in row["mode"]:
        fast = fast.with_cudnn()
        if row.get("graphs"):
            return fast.with_graphs()
        if (_search_number(r"EP=(\d+)", row["mode"]) or 1) > 1:
            return fast.with_separate_experts(_parse_expert_precision(row))
    return fast


def _search_number(pattern: str, text: str) -> int | None:
    match = re.search(pattern, text)
    if match:
        return int(match.group(1))
    return None


def _parse_parallel(row: Mapping[str, str], gpus: int, box: Topology) -> tuple[ParallelStrategy, str]:
    """How the step is split, and what is computed again, by the words of the row's mode."""
    mode = row["mode"]
    if mode.startswith("LoRA"):
        message = "mode={mode!r}: LoRA leaves most weights as they are, and a step computes gradients of all"
        raise CollsimError(message, mode=mode)
    t, p = _read_optional_count(row, "tp") or 1, _read_optional_count(row, "pp") or 1
    c = _search_number(r"CP[ =](\d+)", mode) or 1
    # Megatron's counts GPUs that share a layer, which share no expert.
    e = max(1, (_search_number(r"EP=(\d+)", mode) or 1) // t)
    dp = gpus // (t * p * c)
    parts: list[ParallelStrategy] = []
    if t > 1:
        parts.append(tensor(t, sequence=_has_sequence_parallelism(mode)))
    if c > 1:
        parts.append(context(c))
    if e > 1:
        node = _count_expert_node(row, e, t)
        limit = _LIMITED_NODES if "deepseek" in row["model"].lower() and node * _EXPERT_GROUPS == e else 0
        parts.append(expert(e, node, overlap_with=cast(OverlapWith, row.get("overlap") or "nothing"), max_nodes=limit))
    if p > 1:
        parts.append(_parse_pipeline(row, p, scatter=t > 1 and not _has_sequence_parallelism(mode)))
    if dp * c > 1 or not parts:
        data = _parse_data_strategy(row, p, box)
        if data == _MEGATRON_FP16 and not parts:
            parts.append(tensor(1))  # a product's gradients are in their buckets: nothing is copied or cast
        parts.append(data)
    product = reduce(mul, parts)
    return product, _parse_recompute(mode, box)


#: Groups of DeepSeek-V3's experts, and those that a token goes to (Megatron-Bridge, deepseek_provider.py:
#: moe_router_num_groups, moe_router_group_topk). A group is a node where the experts are on so many nodes.
_EXPERT_GROUPS, _LIMITED_NODES, _GPUS_OF_NODE = 8, 4, 8


def _count_expert_node(row: Mapping[str, str], e: int, t: int) -> int:
    """GPUs of a node to which tokens go once: in nodes of eight DeepSeek's recipes and those of Qwen3 30B take DeepEP
    or HybridEP (Megatron-Bridge, scripts/performance/configs, workload_base_configs.py: moe_flex_dispatcher_backend of
    v0.2.0 to v0.5.0); in a rack of NVL72 all GPUs are one node."""
    local, has_flex = _GPUS_OF_NODE // t, re.search(r"deepseek|qwen3_30b", row["model"].lower())
    is_rack = row["gpu_type"].startswith("GB")
    if has_flex and _MEGATRON in row["mode"] and not is_rack and 0 < local < e and e % local == 0:
        return local
    return 0


def _parse_expert_precision(row: Mapping[str, str]) -> str:
    """What `GpuSpeed.with_separate_experts` calls the type of products."""
    low = row.get("precision", "").lower()
    if low.startswith(("mxfp8", "fp8-mx")):
        return "mxfp8"
    return "fp8" if low.startswith("fp8") else "16 bits"


def _parse_pipeline(row: Mapping[str, str], p: int, scatter: bool) -> ParallelStrategy:
    """The pipeline by the columns `schedule` and `interleave`, or else by the words of the row's mode."""
    mode, schedule = row["mode"], (row.get("schedule") or "").strip().lower()
    v = (
        _read_optional_count(row, "interleave")
        or _search_number(r"interleave (\d+)", mode)
        or _search_number(r"VP=(\d+)", mode)
    )
    if not schedule:
        schedule = "1f1b"
        if v is None and "Interleaved" in mode:
            schedule = "interleaved"
    return pipeline(p, schedule, v, scatter)


#: FSDP by name, or PyTorch's word for it with tensor parallelism (torch DeviceMesh's tutorial: "2D").
_FSDP = r"FSDP(?!=)|FSDP=[1-9]|\b2D\b"


#: What Megatron-Bridge's rows have in their mode, and no other framework's: stages of a GPU.
_MEGATRON = "VP="


def _has_sequence_parallelism(mode: str) -> bool:
    """Where it is said; in Megatron-Bridge, and in PyTorch's tensor parallelism with FSDP (torchtitan docs: norms and
    dropout along the sequence) always."""
    is_named = "sequence parallelism" in mode and "no sequence" not in mode
    return is_named or _MEGATRON in mode or bool(re.search(_FSDP, mode))


#: How Megatron-LM, in float16, keeps replicas together unless told otherwise: gradients in 16 bits, all at the end
#: (megatron/training/arguments.py: accumulate_allreduce_grads_in_fp32 is for bfloat16, overlap_grad_reduce is off).
_MEGATRON_FP16 = ddp(view=True, overlap=False, hook="fp16")


def _parse_data_strategy(row: Mapping[str, str], p: int, box: Topology) -> ParallelStrategy:
    mode = row["mode"]
    if "HSDP" in mode:
        return fsdp(replicate=box.facts.nodes)
    if re.search(_FSDP, mode):
        # Pipelines of PyTorch keep what was gathered, and reduce after the last microbatch
        # (torch/distributed/pipelining/stage.py, perform_reduce_grad).
        wide = "float32" if "gradients in float32" in mode else None
        return fsdp(p == 1 and "SHARD_GRAD_OP" not in mode, no_sync=p > 1, reduce_dtype=wide)
    if stage := _search_number(r"ZeRO-([123])\b", mode):
        return zero(stage)
    if row.get("precision", "").lower().startswith("fp16") and re.search(r"Megatron|1F1B|recompute", mode):
        return _MEGATRON_FP16
    if any(word in mode for word in ("Megatron", _MEGATRON)):
        # Gradients are in one buffer (megatron/core/distributed/distributed_data_parallel.py).
        return ddp(view=True, hook="bf16" if _MEGATRON in mode else None)
    # "bucket_cap_mb=1" must not match 16 or 100.
    if "bucket_cap_mb=1" in mode and "bucket_cap_mb=1 " not in mode and not mode.endswith("=25"):
        return ddp(bucket="1MiB")
    return ddp()


def _is_vtrain_on_one_node(mode: str, nodes: int) -> bool:
    """Rows of vTrain on one node, whose times fit its own model of GPT and not all that its configurations say."""
    return nodes == 1 and "use_checkpoint true in its config" in mode


def _parse_recompute(mode: str, box: Topology) -> str:
    """Megatron-DeepSpeed's runs on one node say that they recompute, and take as long as runs that do not. PyTorch's
    selective checkpointing (FSDP) computes half of what is in blocks again, not what Megatron-LM's does: torchtitan
    every second product, or block; foundation-model-stack/fms-fsdp docs/configurations.md every k-th block."""
    low = mode.lower()
    if _is_vtrain_on_one_node(mode, box.facts.nodes):
        return "none"
    if "full recompute" in low or "full ac" in low or "checkpointing=true" in low:
        return "full"
    if "selective" not in low and "sac" not in low:
        return "none"
    if re.search(_FSDP + "|HSDP", mode):
        return "alternate"
    return "selective"


def _parse_seconds(row: Mapping[str, str], known: Model, batch: int, gpus: int, call: Mapping[str, Any]) -> float:
    """Seconds of a step, whatever was published of it."""
    value, unit = _read_number(row, "value"), row["unit"]
    if value is None or value <= 0:
        raise CollsimError("value={value!r} is no figure of a step", value=row["value"])
    if unit == "s/iteration":
        return value
    if unit == "tokens/s/GPU" and known.tokens:
        return batch * known.tokens / (value * gpus)
    if unit.startswith("TFLOP/s/GPU"):
        times = 3
        if "recompute counted" in unit and parse_request(StepArguments(**call)).recompute == "full":
            times = 4
        return times * known.flops * batch / (value * 1e12 * gpus)
    raise CollsimError("unit={unit!r}: {name} has no tokens", unit=unit, name=known.name)


def _require_unit(unit: str) -> None:
    """Refuse efficiencies, bytes and gains, which are no time of a step."""
    if unit not in ("s/iteration", "tokens/s/GPU") and not unit.startswith("TFLOP/s/GPU"):
        raise CollsimError("unit={unit!r}: wants s/iteration, tokens/s/GPU or TFLOP/s/GPU", unit=unit)
