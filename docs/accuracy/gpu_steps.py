"""How far off steps on one GPU in eager PyTorch are: the figures of a table in docs/training.md.

    PYTHONPATH=docs python -m accuracy.gpu_steps

`gpu_steps.csv` holds what `benchmarks/gpu_steps.py` measured on one H100 and one H200: rows of use `fit`, whose
profiled kernels the rates of `eager_operations.csv` were read from, and rows `held out`, measured after that.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

import collsim as cs
from collsim.train import Model, get_eager_speed, transformer

TABLE = Path(__file__).with_name("gpu_steps.csv")
#: Machines with the GPUs that were measured.
MACHINES = {"NVIDIA H100 80GB HBM3": ("H100", "dgx-h100"), "NVIDIA H200": ("H200", "hgx-h200")}

Row = Mapping[str, str]


class Error(NamedTuple):
    """What is predicted of a row over what was measured, less one.

    Attributes:
        row: The row.
        time: Of the step, forward, backward and optimizer.
        memory: Of the peak.
    """

    row: Row
    time: float
    memory: float


def read_rows(use: str) -> list[Row]:
    """The rows of a use (`fit` or `held out`)."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["use"] == use]


def build_model(row: Row) -> Model:
    """Build the model that a row was measured with."""
    sizes = {name: int(row[name]) for name in ("hidden", "layers", "heads", "kv_heads", "ffn", "seq", "vocab")}
    flash, gated = row["attention"] != "eager", row["gated"] == "True"
    if row["family"] == "gpt2":
        model = cs.model(row["model"], seq=sizes["seq"], flash=flash, dropout=False)
    elif row["family"] == "bert":
        model = cs.model(row["model"], seq=sizes["seq"], flash=flash, masked_lm=True, dropout=False)
    elif row["family"] in ("cnn", "vit"):
        model = cs.model(row["model"])
    else:
        model = transformer(
            sizes["hidden"],
            sizes["layers"],
            sizes["heads"],
            seq=sizes["seq"],
            vocab=sizes["vocab"] or 8,
            ffn=sizes["ffn"],
            kv_heads=sizes["kv_heads"],
            gated=gated,
            bias=not gated,
            tied=False,
            positions=False,
            flash=flash,
            dropout=False,
            fused=False,
            huggingface=row["family"] == "llama",
        )
    if row["family"] == "blocks":  # measured without embedding and head
        model = replace(model, layers=tuple(layer for layer in model.layers if layer.block))
    return model.to("bfloat16") if row["dtype"] == "bfloat16" else model


def predict_row(row: Row) -> Error:
    """Predict a row: the passes of one of its GPUs, without the collectives of those that share its blocks."""
    gpu, name = MACHINES[row["gpu"]]
    dtype = "float32" if row["dtype"] == "float32" else "bfloat16"
    speed = get_eager_speed(
        gpu,
        dtype,
        memory_format=row["memory_format"] or "channels_first",  # type: ignore[arg-type]
        optimizer_kernels=row["kernels"],  # type: ignore[arg-type]
    )
    tp, samples, recompute = int(row["tp"]), int(row["samples"]), "none"
    parallel: cs.train.ParallelStrategy = cs.data_parallel()
    if tp > 1:
        parallel = cs.tensor(tp) * cs.ddp()
    elif row["recompute"] == "True":
        parallel, recompute = cs.ddp(), "full"
    trace = cs.training_step(
        build_model(row),
        cs.machine(name),
        parallel=parallel,
        batch=samples,
        micro_batch=samples,
        ranks=tp,
        dtype=dtype,
        optimizer=row["optimizer"],
        recompute=recompute,
        memory=1e15,
        compute=replace(speed, wait_time=0.0),
    )
    tasks = zip(trace.step.tasks, trace.costs.seconds, strict=True)
    seconds = sum(spent for task, spent in tasks if task.is_compute and task.kind != "copy" and 0 in task.lanes)
    held = trace.memory.max() - trace.memory.peak().get("buckets", 0)  # one process alone has none
    return Error(row, seconds * 1e3 / float(row["step_ms"]) - 1, held / float(row["peak_bytes"]) - 1)


@cache
def list_errors(use: str) -> tuple[Error, ...]:
    """Predict all rows of a use."""
    return tuple(predict_row(row) for row in read_rows(use))


def format_table(use: str) -> Iterator[str]:
    """Lines of a table: a row for each GPU and family, and one for each GPU."""
    yield "| GPU | models | steps | time: median | within 25% | worst | peak memory: median | lowest | highest |"
    yield "|---|---|---|---|---|---|---|---|---|"
    errors = list_errors(use)
    for name, (gpu, _) in MACHINES.items():
        mine = [error for error in errors if error.row["gpu"] == name]
        for family in dict.fromkeys(error.row["family"] for error in mine):
            yield f"| {gpu} | {family} | {_format_errors(e for e in mine if e.row['family'] == family)}"
        yield f"| {gpu} | all | {_format_errors(mine)}"


def _format_errors(errors: Iterable[Error]) -> str:
    listed = list(errors)
    times, memories = [error.time for error in listed], [error.memory for error in listed]
    near = sum(abs(time) <= 0.25 for time in times) / len(times)
    shares = (
        f"{_median_size(times):.1%} | {near:.0%} | {max(times, key=abs):+.0%} | {_median_size(memories):.1%} | "
        f"{min(memories):+.0%} | {max(memories):+.0%}"
    )
    return f"{len(times)} | {shares} |".replace("-", "−")


def _median_size(figures: Iterable[float]) -> float:
    return median(map(abs, figures))


if __name__ == "__main__":
    for use in ("held out", "fit"):
        print(f"\n{use}\n", *format_table(use), sep="\n")
