"""A StepTrace as the JSON that `step.js` and `rivals.js` draw: boxes, waits, the critical chain, buckets, memory.

Times are seconds from the begin of the step. Tasks that follow one another at once and belong together (a pass, the
backward pass of a bucket's layers) are one box. Only the last microbatch's collectives are buckets that can be opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import numpy.typing as npt

from ...train.workload.collective_model import CollectiveModel
from ...train.workload.step_graph import COMPUTE, NETWORK

if TYPE_CHECKING:
    from ...schedule import Schedule
    from ...simulate import Trace
    from ...train import StepTrace
    from ...train.workload.step_graph import StepTask

SCHEMA = "collsim.step/1"
#: What GPUs hold, in the four groups that are drawn; every other kind is `other`.
GROUPS = {
    "parameters": "weights",
    "replica": "weights",
    "buffers": "weights",
    "gradients": "gradients",
    "replica's gradients": "gradients",
    "activations": "activations",
}
KINDS = ("weights", "other", "gradients", "activations")
_MAX_MOMENTS = 240
_TOUCH = 1e-9  # of the step's time: what is nearer touches

Span = list[int | str | float]  # lane, stream, begin, end


class DrawnBox(TypedDict):
    """Tasks of one lane that follow one another at once: seconds, and the names of the first and the last."""

    lane: int
    stream: str
    kind: str
    bucket: int
    micro: int
    t0: float
    t1: float
    name: str
    last: str


#: A collective of the last microbatch: seconds, bytes, and between which layers its tensors lie.
CollectiveRow = TypedDict(
    "CollectiveRow",
    {
        "task": int,
        "name": str,
        "kind": str,
        "pattern": str,
        "bucket": int,
        "nbytes": int,
        "ready": float,
        "begin": float,
        "end": float,
        "exposed": float,
        "tensors": int,
        "from": str,
        "to": str,
    },
)


class SendPattern(TypedDict):
    """Who sends to whom: places in the group; servers come behind the ranks."""

    pairs: list[list[int]]
    adds: bool
    servers: int
    ranks: int
    label: str


class MemoryCurve(TypedDict):
    """Bytes of each of `kinds` over time (seconds), of the fullest lane."""

    lane: int
    kinds: list[str]
    t: list[float]
    bytes: list[list[float]]
    peak: int


class StepDocument(TypedDict):
    """What `step.js` draws."""

    schema: str
    time: float
    ranks: int
    micro_batch: int
    lanes: list[dict[str, int]]
    boxes: list[DrawnBox]
    waits: list[list[float]]
    chain: list[Span]
    collectives: list[CollectiveRow]
    memory: MemoryCurve
    peak_memory: list[dict[str, int]]


def build_step_document(trace: StepTrace) -> StepDocument:
    """Everything that is drawn of a step: plain numbers, texts and lists.

    Args:
        trace: The step of training.
    """
    return {
        "schema": SCHEMA,
        "time": trace.time,
        "ranks": trace.step.ranks,
        "micro_batch": trace.step.micro_batch,
        "lanes": [{"first": int(ranks[0]), "count": len(ranks)} for ranks in trace.step.lanes],
        "boxes": build_boxes(trace),
        "waits": [[lane, float(a), float(b)] for lane, spans in enumerate(trace.exposed_spans) for a, b in spans],
        "chain": build_critical_chain(trace),
        "collectives": describe_collectives(trace),
        "memory": describe_memory(trace),
        "peak_memory": list_peak_memory(trace),
    }


def build_run_document(trace: Trace) -> StepDocument:
    """A run of one collective as a step that computes nothing: each GPU holds its buffer, and the network is busy.

    Args:
        trace: The run.
    """
    kind, time, nbytes = trace.schedule.collective, trace.time, int(trace.nbytes)
    name = trace.schedule.name
    buffer = {"weights": 0, "gradients": 0, "activations": 0, "other": nbytes}
    row: CollectiveRow = {
        "task": 0,
        "name": name,
        "kind": kind,
        "pattern": kind,
        "bucket": -1,
        "nbytes": nbytes,
        "ready": 0.0,
        "begin": 0.0,
        "end": time,
        "exposed": 0.0,
        "tensors": 0,
        "from": "",
        "to": "",
    }
    return {
        "schema": SCHEMA,
        "time": time,
        "ranks": trace.schedule.ranks,
        "micro_batch": 0,
        "lanes": [{"first": 0, "count": trace.schedule.ranks}],
        "boxes": [DrawnBox(lane=0, stream=NETWORK, kind=kind, bucket=-1, micro=0, t0=0.0, t1=time, name=name, last="")],
        "waits": [],
        "chain": [],
        "collectives": [row],
        "memory": MemoryCurve(lane=0, kinds=["other"], t=[0.0], bytes=[[nbytes]], peak=nbytes),
        "peak_memory": [{"rank": rank, **buffer} for rank in range(trace.schedule.ranks)],
    }


# ---- boxes ----------------------------------------------------------------------------------------------------------


def build_boxes(trace: StepTrace) -> list[DrawnBox]:
    """One for each run of tasks that belong together, lane by lane: kind, bucket (-1 for none), micro, t0, t1, and for
    computing the names of its first and last layer.

    Args:
        trace: The step of training.
    """
    of_layer = map_layers_to_buckets(trace)
    synchronised = {task.microbatch for task in trace.step.tasks if task.bucket >= 0}
    boxes: list[DrawnBox] = []
    for lane in range(len(trace.step.lanes)):
        last: dict[str, DrawnBox] = {}
        for number, task in enumerate(trace.step.tasks):
            if lane in task.lanes and trace.end[number] > trace.begin[number]:
                box = _build_box(trace, number, lane, of_layer if task.microbatch in synchronised else {})
                previous = last.get(task.stream)
                if previous is not None and _can_merge(previous, box, _TOUCH * trace.time):
                    previous["t1"] = box["t1"]
                    if task.kind != "copy":
                        previous["last"] = box["last"]
                else:
                    last[task.stream] = box
                    boxes.append(box)
    return boxes


def _build_box(trace: StepTrace, number: int, lane: int, of_layer: dict[int, int]) -> DrawnBox:
    task = trace.step.tasks[number]
    kind, bucket = task.kind, task.bucket
    if task.kind == "backward":
        bucket = of_layer.get(task.layer, -1)
    elif task.kind == "copy":
        kind = "copy"
        if task.name.startswith("into"):
            kind = "backward"
        if kind != "backward":
            bucket = -1
    return {
        "lane": lane,
        "stream": task.stream,
        "kind": kind,
        "bucket": bucket,
        "micro": task.microbatch,
        "t0": float(trace.begin[number]),
        "t1": float(trace.end[number]),
        "name": task.name,
        "last": task.name,
    }


def _can_merge(a: DrawnBox, b: DrawnBox, near: float) -> bool:
    alike = (a["kind"], a["bucket"], a["micro"]) == (b["kind"], b["bucket"], b["micro"])
    return alike and a["stream"] == COMPUTE and b["t0"] - a["t1"] <= near


def map_layers_to_buckets(trace: StepTrace) -> dict[int, int]:
    """The bucket that each layer's gradients go into, the earliest of several; a layer without any goes with the one
    behind it in the backward pass.

    Args:
        trace: The step of training.
    """
    model = trace.step.model
    layout = _get_bucket_layout(trace)
    bucket_of = {tensor: number for number, bucket in enumerate(layout) for tensor in bucket}
    bucket_of_layer: dict[int, int] = {}
    first, current = 0, len(layout) - 1
    for number, layer in enumerate(model.layers if layout else ()):
        buckets = [bucket_of[tensor] for tensor in range(first, first + len(layer.tensors)) if tensor in bucket_of]
        first += len(layer.tensors)
        bucket_of_layer[number] = current = min(buckets, default=current)
    return bucket_of_layer


def _get_bucket_layout(trace: StepTrace) -> list[list[int]]:
    """Tensors of each bucket."""
    return trace.request.parallel.assign_tensors(trace.step.model, trace.request.step)


# ---- collectives ----------------------------------------------------------------------------------------------------


def describe_collectives(trace: StepTrace) -> list[CollectiveRow]:
    """A row for each collective of the last microbatch that is on the network of the GPUs: its task, name, kind, bytes,
    when it was ready, began and ended, and the seconds of it in which GPUs wait.

    Args:
        trace: The step of training.
    """
    layout, layers = _get_bucket_layout(trace), [layer.name for layer in trace.step.model.layers for _ in layer.tensors]
    return [_describe_collective(trace, number, task, layout, layers) for number, task in _find_last_collectives(trace)]


def _find_last_collectives(trace: StepTrace) -> Iterator[tuple[int, StepTask]]:
    """The collectives that are listed: of each name that of the last microbatch."""
    number_of = {
        trace.step.tasks[number].name: number
        for number in trace.step.collectives
        if trace.step.tasks[number].stream == NETWORK
    }
    for number in sorted(number_of.values()):
        yield number, trace.step.tasks[number]


def _describe_collective(
    trace: StepTrace, number: int, task: StepTask, layout: Sequence[Sequence[int]], layers: Sequence[str]
) -> CollectiveRow:
    begin, end = float(trace.begin[number]), float(trace.end[number])
    ready = max((float(trace.end[a]) for a in task.dependencies), default=begin)
    tensors: Sequence[int] = ()
    if 0 <= task.bucket < len(layout):
        tensors = layout[task.bucket]
    layer_names = [layers[tensor] for tensor in tensors]
    return {
        "task": number,
        "name": task.name,
        "kind": task.kind,
        "pattern": name_pattern(task.kind, task.name),
        "bucket": task.bucket,
        "nbytes": int(task.nbytes),
        "ready": min(ready, begin),
        "begin": begin,
        "end": end,
        "exposed": float(trace.waits[number]),
        "tensors": len(tensors),
        "from": layer_names[-1] if layer_names else "",
        "to": layer_names[0] if layer_names else "",
    }


def build_critical_chain(trace: StepTrace) -> list[Span]:
    """The critical chain as spans that touch: [lane, stream, begin, end].

    Args:
        trace: The step of training.
    """
    spans: list[Span] = []
    for number in trace.critical_path:
        task, a, b = trace.step.tasks[number], float(trace.begin[number]), float(trace.end[number])
        if b <= a:
            continue
        if len(task.lanes) == 1 or not spans:
            lane = task.lanes[0]  # else the chain stays on the lane where it is
        if spans and spans[-1][:2] == [lane, task.stream]:
            spans[-1][3] = b
        else:
            spans.append([lane, task.stream, a, b])
    return spans


def describe_patterns(trace: StepTrace) -> dict[str, SendPattern]:
    """Who sends to whom in each kind of collective of the step, by kind and what it moves: pairs of places in the group
    (a server comes behind the ranks), whether it adds up, and the group.

    Args:
        trace: The step of training.
    """
    network = CollectiveModel(trace.topology, trace.request.collectives, trace.request.algorithm)
    pattern_by_name: dict[str, SendPattern] = {}
    for _, task in _find_last_collectives(trace):
        key = name_pattern(task.kind, task.name)
        if key not in pattern_by_name:
            pattern_by_name[key] = describe_pattern(network.build_schedule(trace.step.get_ranks(task), task))
    return pattern_by_name


def name_pattern(kind: str, name: str) -> str:
    """Collectives that look alike: `reduce gradients` of `gradients 3`.

    Args:
        kind: Kind of the collective's task, for example `allreduce`.
        name: Name of the collective's task, for example `gradients 3`.
    """
    return f"{kind} {name.rstrip('0123456789 ')}"


def describe_pattern(plan: Schedule) -> SendPattern:
    """Who sends to whom in a schedule.

    Args:
        plan: The schedule.
    """
    pairs: set[tuple[int, int]] = set()
    adds = False
    for step in plan.each_step():
        adds = adds or bool(np.any(step.reduce))
        pairs |= {(int(a), int(b)) for a, b in zip(step.src, step.dst, strict=True) if a != b}
    servers = plan.endpoints - plan.ranks
    return {
        "pairs": [list(pair) for pair in sorted(pairs)],
        "adds": adds,
        "servers": servers,
        "ranks": plan.ranks,
        "label": plan.name,
    }


# ---- memory ---------------------------------------------------------------------------------------------------------


def describe_memory(trace: StepTrace) -> MemoryCurve:
    """What the fullest lane's GPUs hold over time, in groups: `t` and a list of bytes for each of `kinds`.

    Args:
        trace: The step of training.
    """
    totals = [sum(trace.memory.peak(ranks[0]).values()) for ranks in trace.step.lanes]
    lane = totals.index(max(totals))
    moments, nbytes = trace.memory.trace_bytes(lane)
    sums = _sum_by_group(nbytes, trace.memory.list_kinds(lane))
    chosen = _choose_moments(sums.sum(axis=1))
    return {
        "lane": lane,
        "kinds": list(KINDS),
        "t": moments[chosen].tolist(),
        "bytes": [sums[chosen, k].tolist() for k in range(len(KINDS))],
        "peak": int(max(totals)),
    }


def _sum_by_group(nbytes: npt.NDArray[np.float64], kinds: Sequence[str]) -> npt.NDArray[np.float64]:
    """(moments, kinds) bytes as (moments, groups)."""
    sums = np.zeros((len(nbytes), len(KINDS)))
    for column, kind in enumerate(kinds):
        sums[:, KINDS.index(GROUPS.get(kind, "other"))] += nbytes[:, column]
    return sums


def _choose_moments(total: npt.NDArray[np.float64]) -> list[int]:
    """Moments that are drawn: evenly many of them, with the first, the last and the fullest."""
    every = max(1, -(-len(total) // _MAX_MOMENTS))
    return sorted({*range(0, len(total), every), len(total) - 1, int(np.argmax(total))})


def list_peak_memory(trace: StepTrace) -> list[dict[str, int]]:
    """For each GPU, in the order of ranks, what it holds in its fullest moment, in groups.

    Args:
        trace: The step of training.
    """
    rows = []
    for lane, ranks in enumerate(trace.step.lanes):
        groups = _group_peak(trace.memory.peak(ranks[0]))
        rows += [{"rank": int(rank), "lane": lane, **groups} for rank in ranks]
    return sorted(rows, key=lambda row: row["rank"])


def _group_peak(peak: Mapping[str, int]) -> dict[str, int]:
    """Bytes of each group of what a GPU holds."""
    groups = dict.fromkeys(KINDS, 0)
    for kind, nbytes in peak.items():
        groups[GROUPS.get(kind, "other")] += nbytes
    return groups


# ---- the modules ----------------------------------------------------------------------------------------------------
