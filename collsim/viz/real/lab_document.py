"""A RealTrace, or a prediction that nobody has measured yet, as the JSON that `lab.js` draws. Times are seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...lab.lateness import compute_step_ends, find_delayed_runs, predict_calibrated
from ..training.step_document import map_layers_to_buckets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...lab import RealStep, RealTrace
    from ...simulate import Trace
    from ...train import StepTrace

Floats = npt.NDArray[np.float64]
TaskBox = list[int | float | str]  # 1 on the network, number, begin, end, description
SCHEMA = "collsim.lab/1"
_PASSES = ("forward", "backward", "dgrad", "wgrad")


def build_lab_document(predicted: Trace, measured: RealTrace | None = None) -> dict[str, object]:
    """What is drawn: the predicted steps and, where it was measured, what every rank did and how late steps came.

    Args:
        predicted: The predicted run.
        measured: The measured run; None where nobody has measured it yet.
    """
    schedule, table = predicted.schedule, predicted.schedule.transfers
    arrival = predicted.finish - _get_route_latency(predicted)
    document: dict[str, object] = {
        "schema": SCHEMA,
        "ranks": schedule.ranks,
        "names": [schedule.name_endpoint(e) for e in range(schedule.endpoints)],
        "steps": schedule.steps,
        "predicted": {
            "time": predicted.time,
            "ends": compute_step_ends(table["step"], predicted.finish[None], schedule.steps)[0].tolist(),
            "line": _build_line(schedule.steps, table, predicted.start, arrival, predicted.finish),
        },
    }
    if measured is not None:
        document["measured"] = _describe_measurement(measured)
    return document


def _get_route_latency(trace: Trace) -> float:
    """s of every transfer's route: all cross two cables of a switch."""
    if len(trace.topology.links):
        return float(2 * trace.topology.links.alpha[0])
    return 0.0


def _build_line(steps: int, table: Any, start: Floats, arrival: Floats, finish: Floats) -> list[list[float]]:
    """A box per step: step, first start, last byte, last arrival, 1 where it reduces."""
    return [box for rank in _build_boxes(steps, table, start, arrival, finish, table["dst"] * 0, 1) for box in rank]


def _build_boxes(
    steps: int, table: Any, start: Floats, arrival: Floats, finish: Floats, endpoint: Any, count: int
) -> list[list[list[float]]]:
    """For each endpoint a box per step in which anything comes to it."""
    boxes: list[list[list[float]]] = [[] for _ in range(count)]
    key = endpoint.astype(np.int64) * steps + table["step"]
    for cell in np.unique(key):
        rows = key == cell
        reduces = bool(table["reduce"][rows].any())
        box = [int(cell % steps), start[rows].min(), arrival[rows].max(), finish[rows].max(), int(reduces)]
        boxes[int(cell // steps)].append([box[0], *(float(x) for x in box[1:4]), box[4]])
    return boxes


def _describe_measurement(trace: RealTrace) -> dict[str, object]:
    schedule, frame, table = trace.schedule, trace.comparison, trace.schedule.transfers
    columns = schedule.steps, table, trace.start, trace.came, trace.finish
    fitted = predict_calibrated(trace)
    expected = None
    if fitted is not None:
        step_ends = [
            compute_step_ends(table["step"], trace_of_step.finish[None], schedule.steps)[0]
            for trace_of_step in (fitted, trace.predicted)
        ]
        # How much later each step ends with the measured latencies than predicted, less what the steps before it are
        # late: what this step alone adds.
        expected = np.diff(step_ends[0] - step_ends[1], prepend=0.0).tolist()
    return {
        "time": trace.time,
        "times": trace.times.tolist(),
        "middle": list(trace.middle),
        "best": trace.best,
        "run": trace.measured.median_run + 1,
        "ends": frame["measured"].tolist(),
        "line": _build_line(*columns),
        "boxes": _build_boxes(*columns, table["dst"], schedule.endpoints),
        "late": frame["late"].tolist(),
        "low": frame["low"].tolist(),
        "high": frame["high"].tolist(),
        "expected": expected,
        "delayed": [list(trace_of_step) for trace_of_step in find_delayed_runs(trace)],
    }


def build_lab_step_document(
    predicted: StepTrace,
    measured: RealStep | None = None,
    sizes: Sequence[tuple[int, float, float | None]] = (),
    chosen: int = 0,
) -> dict[str, object]:
    """A step of training: the boxes of the prediction and, where it was measured, of every process; and for each
    bucket size (bytes, predicted s, measured s or None) the time.

    Args:
        predicted: The predicted run.
        measured: The measured run; None where nobody has measured it yet.
        sizes: For each bucket size: bytes, predicted seconds, measured seconds or None.
        chosen: Index of the bucket size that is open.
    """
    numbers, lanes = _number_tasks(predicted), predicted.step.lanes
    document: dict[str, object] = {
        "schema": SCHEMA,
        "number": _choose_number_kind(predicted),
        "predicted": {
            "time": predicted.time,
            "lanes": [_build_lane_boxes(predicted, lane, numbers) for lane in range(len(lanes))],
            "names": [f"rank {ranks[0]}" if len(lanes) > 1 else "" for ranks in lanes],
        },
        "sizes": [{"nbytes": nbytes, "predicted": p, "measured": m} for nbytes, p, m in sizes],
        "chosen": chosen,
    }
    if measured is not None:
        run, first = measured.median_run, measured.measured.begin
        rows = zip(np.fmax(measured.begin[run], first), measured.end[run], strict=True)
        document["measured"] = {
            "time": measured.time,
            "ranks": [_build_step_boxes(predicted, begin, end, numbers) for begin, end in rows],
        }
    return document


def _choose_number_kind(trace: StepTrace) -> str:
    """What the numbers in boxes count: microbatches where stages share the work, else buckets of gradients, or layers
    where each has collectives of its own."""
    if len(trace.step.lanes) > 1:
        return "microbatch"
    if trace.request.parallel.assign_tensors(trace.step.model, trace.request.step):
        return "bucket"
    return "layer"


def _number_tasks(trace: StepTrace) -> list[int]:
    """For each task its number, -1 for none."""
    tasks, kind = trace.step.tasks, _choose_number_kind(trace)
    if kind == "microbatch":
        return [task.microbatch for task in tasks]
    if kind == "bucket":
        bucket_of = map_layers_to_buckets(trace)
        numbers = [task.bucket for task in tasks]
        for number, task in enumerate(tasks):
            if task.kind == "backward":
                numbers[number] = bucket_of.get(task.layer, -1)
            elif task.is_compute:
                numbers[number] = -1
        return numbers
    layers = {task.name: task.layer for task in tasks if task.layer >= 0}
    numbers = []
    for task in tasks:
        name = task.name
        if not task.is_compute:
            name = name.partition(" ")[2]
        numbers.append(layers.get(name, -1))
    return numbers


def _build_lane_boxes(trace: StepTrace, lane: int, numbers: list[int]) -> list[TaskBox]:
    """The boxes of the ranks of one lane as they are predicted."""
    is_in_lane = np.array([lane in task.lanes for task in trace.step.tasks])
    return _build_step_boxes(trace, np.where(is_in_lane, trace.begin, np.nan), trace.end, numbers)


def _build_step_boxes(trace: StepTrace, begin: Floats, end: Floats, numbers: list[int]) -> list[TaskBox]:
    """Of each task that takes time and that a rank takes part in: 1 on the network, its number (-1: none), begin, end,
    and what it is."""
    boxes = []
    for task, number, a, b in zip(trace.step.tasks, numbers, begin.tolist(), end.tolist(), strict=True):
        if b > a and (task.kind in _PASSES or not task.is_compute):
            description = f"{task.name}, {task.kind}"
            boxes.append([int(not task.is_compute), number, a, b, description])
    return boxes
