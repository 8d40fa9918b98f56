"""A thousand GPUs: which ranks share a layer, a pipeline and the batch, what that sends where, and one slow GPU."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ...simulate import Trace
from ...topology import machine
from ...train import Split, StepTrace, measure_scaling, model, pipeline, tensor, training_step, zero
from ...units import format_bytes, format_time
from ...viz.splits.pipeline_picture import build_pipeline_picture
from ..lesson import Lesson, LessonFacts, Section, build_facts, simulate_algorithm

if TYPE_CHECKING:
    import pandas as pd

_MODEL, _SMALLER, _NODES, _SLOWER = "gpt3-175b", "gpt3-13b", 128, 1.5
_TENSOR, _PIPELINE, _BATCH = 8, 16, 256
#: Ranks of a node are neighbours in a tensor group, as Megatron-LM counts them, or in a data parallel group.
_INSIDE, _ACROSS = "tp-cp-ep-dp-pp", "dp-tp-cp-ep-pp"


@cache
def _simulate_step(order: str) -> StepTrace:
    split = Split((tensor(_TENSOR, sequence=True), pipeline(_PIPELINE), zero(1)), order)
    options: dict[str, Any] = {"batch": _BATCH, "micro_batch": 1, "dtype": "bfloat16", "recompute": "selective"}
    return training_step(_MODEL, machine("dgx-a100", nodes=_NODES), parallel=split, **options)


def _simulate_gather() -> Trace:
    """One allgather of a tensor group, inside a node."""
    tasks = _simulate_step(_INSIDE).step.tasks
    nbytes = next(task.nbytes for task in tasks if task.kind == "allgather")
    return simulate_algorithm("allgather_ring", machine("dgx-a100"), f"{nbytes}B")


def _describe_crossing(rows: pd.DataFrame, strategy: str) -> list[str]:
    """What a GPU of the first stage sends for a strategy, and how long that takes, by
    `StepTrace.count_crossing_bytes`."""
    row = rows[(rows["lane"] == 0) & (rows["strategy"] == strategy)].sort_values("nbytes").iloc[-1]
    return [format_bytes(row["nbytes"]), format_time(row["time"])]


def _compare_rates(rows: pd.DataFrame) -> float:
    """How many times as fast a GPU sends over NVLink as over its InfiniBand card."""
    rates = rows.groupby("link")["bandwidth"].max()
    return float(rates["nvlink"] / rates["infiniband"])


def _build_placement_facts() -> LessonFacts:
    inside, across = _simulate_step(_INSIDE), _simulate_step(_ACROSS)
    near, far = inside.count_crossing_bytes(), across.count_crossing_bytes()
    gather, gpus = _simulate_gather(), inside.step.ranks
    return build_facts(
        gather,
        lanes=(build_pipeline_picture(pipeline(_PIPELINE), _BATCH // (gpus // _TENSOR // _PIPELINE)),),
        gather=gather,
        model=_MODEL,
        gpus=f"{gpus:,}",
        states=format_bytes(zero(1).count_state_bytes(model(_MODEL).parameters, 1)),
        most=format_bytes(inside.memory.max()),
        tensor=_TENSOR,
        stages=_PIPELINE,
        replicas=gpus // _TENSOR // _PIPELINE,
        by_tensor=_describe_crossing(near, "tensor"),
        by_stage=_describe_crossing(near, "pipeline"),
        by_data=_describe_crossing(near, "data"),
        over_cards=_describe_crossing(far, "tensor"),
        time=format_time(inside.time),
        slow=format_time(across.time),
        factor=f"{_compare_rates(near):g}",
        all_slower=format_time(_compare_rates(near) * inside.time),
    )


def _build_straggler_facts() -> LessonFacts:
    step = _simulate_step(_INSIDE)
    late = step.what_if(slow={3: _SLOWER})
    table = _measure_scaling()
    rows = tuple(
        (f"{int(gpus):,}", format_time(time), f"{100 * share:.3g} %")
        for gpus, time, share in table[["gpus", "time", "efficiency_node"]].to_numpy().tolist()
    )
    gather = _simulate_gather()
    return build_facts(
        gather,
        rows,
        gather=gather,
        gpus=f"{step.step.ranks:,}",
        tensor=_TENSOR,
        smaller=_SMALLER,
        time=format_time(step.time),
        late=format_time(late.time),
        idle=format_time(step.bubble),
        longer=format_time(late.bubble),
        own=format_time(_sum_compute_time(late) - _sum_compute_time(step)),
        more=format_time(late.time - step.time),
        slower=f"{100 * (_SLOWER - 1):g}",
        share=f"{100 * (_SLOWER - 1) / step.step.ranks:.2g}",
        lost=f"{100 * (late.time / step.time - 1):.3g}",
    )


def _sum_compute_time(step: StepTrace) -> float:
    """Seconds in which a GPU of the first stage computes."""
    spent = zip(step.step.tasks, step.begin.tolist(), step.end.tolist(), strict=True)
    return float(sum(end - begin for task, begin, end in spent if task.is_compute and 0 in task.lanes))


@cache
def _measure_scaling() -> pd.DataFrame:
    """The same batch on more and more nodes."""
    split = tensor(_TENSOR) * zero(1)
    options: dict[str, Any] = {
        "nodes": (1, 2, 4, 8, 16),
        "batch": 64,
        "micro_batch": 1,
        "kind": "strong",
        "dtype": "bfloat16",
    }
    return measure_scaling(_SMALLER, "dgx-a100", parallel=split, **options)


_PLACEMENT = Section("placement", _build_placement_facts, right=1, view="logical")

_STRAGGLER = Section("straggler", _build_straggler_facts, right=1, view="logical")

LESSON = Lesson(
    notebook="16-a-thousand-gpus",
    exercises=("choose-the-split",),
    sections=(_PLACEMENT, _STRAGGLER),
)
