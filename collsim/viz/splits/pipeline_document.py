"""Pipelines, and steps under FSDP, as the JSON that `lanes.js` draws: several runners on one clock.

A runner has rows: boxes (begin, end, text, kind, how dark, part of its height: 0 all, 1 upper, 2 lower), what is idle,
and what is held over time. Times are seconds, of pipelines in forward passes of a microbatch through a rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...train.parallel.fsdp_formulas import FsdpFormulas, evaluate_fsdp_formulas
from ...train.timing.time_spans import measure_spans, merge_spans, subtract_spans
from ...train.workload.step_graph import COMPUTE

if TYPE_CHECKING:
    from ...train import FSDP, Pipeline, PipelineTiming, StepTrace

SCHEMA = "collsim.lanes/1"
_NEAR = 1e-9  # of a runner's time: what is nearer touches


def find_gaps(spans: Iterable[tuple[float, float]], end: float) -> list[list[float]]:
    """What is left of a time up to `end` without these spans.

    Args:
        spans: [begin, end] of what takes the time.
        end: End of the time, in the unit of the spans.
    """
    remaining = subtract_spans([(0.0, end)], merge_spans(list(spans)))
    return [[float(a), float(b)] for a, b in remaining if b - a > _NEAR * end]


# ---- pipelines ------------------------------------------------------------------------------------------------------


def build_pipeline_runner(pipe: Pipeline, timing: PipelineTiming) -> dict[str, Any]:
    """A pipeline: for each rank its passes, when it is idle, and the microbatches that it holds.

    Args:
        pipe: The pipeline.
        timing: When each pass begins and ends.
    """
    ranks = range(pipe.size)
    most = max(1.0, float(max(timing.peak_activations)))
    rows = [_describe_rank(pipe, timing, rank) for rank in ranks]
    return {
        "variant": pipe.schedule,
        "time": timing.time,
        "share": timing.bubble,
        "most": most,
        "rows": rows,
        "figures": _compare_pipeline_formulas(timing),
        "stages": pipe.interleave,
    }


def _compare_pipeline_formulas(timing: PipelineTiming) -> list[dict[str, object]] | None:
    """What formulas say beside what was drawn, of GPU 0; None where no formula holds."""
    form = timing.formulas
    if form is None:
        return None
    drawn = {
        "time": (form.time, timing.time, "passes"),
        "idle": (form.idle, float(timing.idle[0]), "passes"),
        "activations": (form.peak_activations[0], float(timing.peak_activations[0]), "microbatches"),
    }
    return [
        {
            "name": name,
            "form": getattr(form, f"{name}_formula"),
            "value": value,
            "drawn": measured,
            "unit": unit,
            "numbers": form.numbers[name],
        }
        for name, (value, measured, unit) in drawn.items()
    ]


def _describe_rank(pipe: Pipeline, timing: PipelineTiming, rank: int) -> dict[str, object]:
    passes = [(action, a, b) for action, moment, a, b in timing.passes if moment == rank]
    together = {(a, b): [run[0] for run in passes if run[1:] == (a, b)] for _, a, b in passes}
    boxes = [
        [
            a,
            b,
            str(action.microbatch),
            action.kind,
            _find_local_stage(pipe, action.stage),
            _find_part(together[a, b], action),
        ]
        for action, a, b in passes
    ]
    return {
        "label": str(rank),
        "boxes": boxes,
        "idle": find_gaps([(a, b) for _, a, b in passes], timing.time),
        "level": [[moment, count] for moment, count in timing.list_activations(rank)],
        "activations": float(timing.peak_activations[rank]),
    }


def _find_local_stage(pipe: Pipeline, stage: int) -> int:
    """Which of its rank's stages it is."""
    stages = [s for s, rank in enumerate(pipe.stage_ranks) if rank == pipe.stage_ranks[stage]]
    return stages.index(stage)


def _find_part(entry: Sequence[object], action: object) -> int:
    """Passes that run as one share the height of their box."""
    if len(entry) == 1:
        return 0
    return 1 + entry.index(action)


# ---- FSDP -----------------------------------------------------------------------------------------------------------


def build_sharding_runner(variant: str, trace: StepTrace) -> dict[str, object]:
    """A step under FSDP on its first GPU: computing, the network, and bytes of gathered weights and whole gradients.

    Args:
        variant: Name of the runner.
        trace: The step of training.
    """
    numbers = {name: str(i) for i, name in enumerate(_list_blocks(trace))}
    compute: list[list[Any]] = []
    network: list[list[Any]] = []
    for task, a, b in zip(trace.step.tasks, trace.begin.tolist(), trace.end.tolist(), strict=True):
        if 0 not in task.lanes or b <= a:
            continue
        block_name = task.name.removeprefix("gather ").removeprefix("reduce ").removeprefix("into ")
        kind = PASSES[task.kind]
        text = numbers.get(block_name, "r" * (not task.is_compute))  # "r": the root, which is no block
        entry = [a, b, text, kind, 0, _HALF.get(kind, 0)]
        if task.stream == COMPUTE:
            compute.append(entry)
        else:
            network.append(entry)
    level, most = _find_levels(trace)
    spans = [(a, b) for a, b, *_ in compute]
    busy = measure_spans(merge_spans([(a, b) for a, b, *_ in network]))
    return {
        "variant": variant,
        "time": trace.time,
        "share": trace.exposed,
        "compute": {"boxes": compute, "idle": find_gaps(spans, trace.time)},
        "network": {"boxes": network, "idle": []},
        "level": level,
        "most": most,
        "figures": _compare_sharding_formulas(trace, busy, level),
    }


#: Kinds of box by kinds of task.
PASSES = {"forward": "F", "backward": "B", "copy": "copy", "optimizer": "opt", "allgather": "gather"}
PASSES |= {"reduce_scatter": "reduce", "allreduce": "reduce", "dgrad": "I", "wgrad": "W"}

#: Gathers and reductions have communicators of their own and run beside one another: each has half of the row.
_HALF = {"gather": 1, "reduce": 2}


def _list_blocks(trace: StepTrace) -> list[str]:
    """Names of what is gathered by itself, in the order of the forward pass."""
    gathers = [task.name for task in trace.step.tasks if task.kind == "allgather" and task.name.startswith("gather ")]
    return [name.removeprefix("gather ") for name in dict.fromkeys(gathers) if name != "gather root"]


def _find_levels(trace: StepTrace) -> tuple[list[list[float]], dict[str, float]]:
    """[s, gathered bytes, whole gradients' bytes] from each moment on, and the most of each and of both."""
    moments = list_memory_over_time(trace, 0, ("gathered", "whole gradients"))
    gathered, whole_gradients = zip(*(nbytes for _, *nbytes in moments), strict=True)
    both = max(a + b for a, b in zip(gathered, whole_gradients, strict=True))
    return take_last_of_moment(moments), {"gathered": max(gathered), "both": both}


def list_memory_over_time(trace: StepTrace, lane: int, kinds: Sequence[str]) -> list[list[float]]:
    """[s, bytes of each kind] of a GPU of a lane, at each change; a moment may have several.

    Args:
        trace: The step of training.
        lane: Number of the lane.
        kinds: Kinds of memory, in the order of the columns.
    """
    moments, nbytes = trace.memory.trace_bytes(lane)
    present_kinds = trace.memory.list_kinds(lane)
    columns = [nbytes[:, present_kinds.index(kind)] if kind in present_kinds else 0.0 * moments for kind in kinds]
    return [list(row) for row in zip(moments.tolist(), *(column.tolist() for column in columns), strict=True)]


def take_last_of_moment(rows: list[list[float]]) -> list[list[float]]:
    """What is held from each moment on.

    Args:
        rows: [seconds, ...] rows, in order of time.
    """
    return list({row[0]: row for row in rows}.values())


def _compare_sharding_formulas(trace: StepTrace, busy: float, level: list[list[float]]) -> list[dict[str, object]]:
    """What a formula says beside what was drawn; without a formula where there is none."""
    form = get_formulas(trace)
    gathers = sum(task.kind == "allgather" for task in trace.step.tasks)
    reduces = sum(task.kind == "reduce_scatter" for task in trace.step.tasks)
    rows: list[dict[str, object]] = [
        {"name": "exposed", "form": "", "value": trace.exposed, "unit": "s"},
        {"name": "busy", "form": "", "calls": [gathers, reduces], "value": busy, "unit": "s"},
    ]
    sent = max(trace.sent_bytes.values())
    most = max(gathered for _, gathered, _ in level)
    rows += [
        {"name": "sends", "form": form.sent_formula, "value": form.sent_bytes, "drawn": float(sent), "unit": "B"},
        {"name": "gathered", "form": form.gathered_formula, "value": form.gathered_bytes, "drawn": most, "unit": "B"},
    ]
    both = max(gathered + whole_gradients for _, gathered, whole_gradients in level)
    return [*rows, {"name": "both", "form": "", "value": both, "unit": "B"}]


def get_formulas(trace: StepTrace) -> FsdpFormulas:
    """The formulas for a step whose request is a product of FSDP alone.

    Args:
        trace: The step of training.
    """
    request = trace.request
    parallel: Any = request.parallel
    data: FSDP = parallel.data_strategy
    return evaluate_fsdp_formulas(data, request.model, len(request.ranks), request.dtype, request.accumulate)
