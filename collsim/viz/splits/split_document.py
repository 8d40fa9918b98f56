"""A step that is split, as the JSON that `splitmap.js` draws: which ranks make its groups, what a GPU of each stage
sends over which links, what the fullest holds; and every legal split as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...train.parallel.combined_split import as_split
from ..sentences.words import name_kind
from .pipeline_document import PASSES, list_memory_over_time, take_last_of_moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ...train import StepTrace

#: Columns of a split, in the order in which they are sent.
COLUMNS = ("tp", "cp", "ep", "pp", "interleave", "dp", "micro_batch", "time", "memory", "fits", "timed", "pareto")
#: Seconds that a split's time is made of, by estimate.
PARTS = ("computing", "layers", "bubble", "data")
#: Ways of splitting in the order in which they are listed: those inside a layer first.
STRATEGIES = ("tensor", "context", "expert", "pipeline", "data")
#: Passes of a stage that are drawn at each end of a step; of a longer one the middle is cut.
MAX_PASSES = 80


def build_split_document(trace: StepTrace, room: float | None = None) -> dict[str, object]:
    """Everything that is drawn of the step that is open.

    Args:
        trace: The step of training.
        room: Bytes of a GPU's memory; None for what the GPU has.
    """
    step, grid = trace.step, as_split(trace.request.parallel).build_grid(trace.request.ranks)
    sizes = {"tp": grid.tp, "cp": grid.cp, "dp": grid.dp, "pp": grid.pp}
    return {
        "axes": [[axis, sizes[axis]] for axis in grid.order.split("-") if axis in sizes],
        "expert": grid.ep,
        "ranks": len(grid.ranks),
        "per": trace.topology.ranks // trace.topology.facts.nodes,
        "stages": len(step.lanes),
        "sends": _list_sends(trace),
        "memory": _describe_memory(trace, room),
        "drawn": _describe_drawn_stages(trace),
        "time": trace.time,
    }


def _list_sends(trace: StepTrace) -> list[list[dict[str, object]]]:
    """Of each stage what one of its GPUs sends: a row for each way of splitting and kind of link."""
    rows_of_stage: list[list[dict[str, object]]] = [[] for _ in trace.step.lanes]
    rows: list[Any] = list(trace.count_crossing_bytes().itertuples())
    for row in sorted(rows, key=lambda row: (row.lane, STRATEGIES.index(row.strategy), -row.bandwidth)):
        sent = {"nbytes": row.nbytes, "bandwidth": row.bandwidth, "time": row.time}
        rows_of_stage[row.lane].append({"strategy": row.strategy, "link": name_kind(row.link), **sent})
    return rows_of_stage


def _describe_memory(trace: StepTrace, room: float | None) -> dict[str, object]:
    """What the fullest GPU holds in its fullest moment, its stage, and what a GPU has."""
    fast, lanes = trace.costs.speed, trace.step.lanes
    peaks = [trace.memory.peak(ranks[0]) for ranks in lanes]
    totals = [sum(kinds.values()) for kinds in peaks]
    stage = totals.index(max(totals))
    if room is None and fast is not None:
        room = fast.capacity
    return {
        "kinds": [[kind, size] for kind, size in peaks[stage].items() if size],
        "total": totals[stage],
        "stage": stage,
        "room": room,
    }


# ---- the step on the first and the last stage -----------------------------------------------------------------------


def _describe_drawn_stages(trace: StepTrace) -> dict[str, object]:
    """The step on a GPU of the first stage and on one of the last: its passes (begin, end, microbatch, kind), its
    collectives (begin, end, strategy), what it holds from each moment on, in the order of `kinds`, and the most of
    that. Between the two moments of `cut` nothing is drawn; None where everything is."""
    ends = sorted({0, len(trace.step.lanes) - 1})
    passes = {lane: _list_passes(trace, lane) for lane in ends}
    cut = choose_cut(list(passes.values()), trace.time)
    kinds = list(dict.fromkeys(kind for lane in ends for kind in trace.memory.list_kinds(lane)))
    rows = [
        {
            "stage": lane,
            "boxes": _drop_cut_spans(passes[lane], cut),
            "network": _drop_cut_spans(_list_collectives(trace, lane), cut),
            "memory": _list_memory_levels(trace, lane, kinds, cut),
            "most": sum(trace.memory.peak(trace.step.lanes[lane][0]).values()),
        }
        for lane in ends
    ]
    return {"cut": cut, "kinds": kinds, "rows": rows}


def _list_passes(trace: StepTrace, lane: int) -> list[list[object]]:
    """What a GPU of a lane computes: [begin, end, microbatch, kind], in order."""
    spans = zip(trace.step.tasks, trace.begin.tolist(), trace.end.tolist(), strict=True)
    lane_spans = [(task, a, b) for task, a, b in spans if task.is_compute and lane in task.lanes and b > a]
    return sorted([a, b, task.microbatch, PASSES[task.kind]] for task, a, b in lane_spans)


def _list_collectives(trace: StepTrace, lane: int) -> list[list[object]]:
    """What a GPU of a lane has on the network: [begin, end, strategy], in order."""
    spans = []
    for i in trace.step.collectives:
        task, a, b = trace.step.tasks[i], float(trace.begin[i]), float(trace.end[i])
        if lane in task.lanes and b > a:
            spans.append([a, b, task.strategy])
    return sorted(spans)


def choose_cut(rows: Sequence[Sequence[Sequence[Any]]], time: float) -> list[float] | None:
    """The moments between which the middle of a step is cut, where rows have more passes than can be told apart: from
    the end of the first ones on to the begin of the last.

    Args:
        rows: Passes of each row, [begin, end, ...], in order.
        time: Length of the step, seconds.
    """
    if max(len(row) for row in rows) <= 2 * MAX_PASSES:
        return None
    long = [row for row in rows if len(row) > 2 * MAX_PASSES]
    low, high = min(row[MAX_PASSES - 1][1] for row in long), max(row[-MAX_PASSES][0] for row in long)
    if high - low > 0.1 * time:
        return [low, high]
    return None


def _drop_cut_spans(spans: list[list[Any]], cut: list[float] | None) -> list[list[Any]]:
    """Those that are not within the cut."""
    if cut is None:
        return spans
    return [span for span in spans if span[0] < cut[0] or span[1] > cut[1]]


def _list_memory_levels(trace: StepTrace, lane: int, kinds: list[str], cut: list[float] | None) -> list[list[float]]:
    """[s, bytes of each kind] from each moment on that is not within the cut, the last of a moment only."""
    last = take_last_of_moment(list_memory_over_time(trace, lane, kinds))
    if cut is None:
        return last
    before = [row for row in last if row[0] <= cut[1]][-1:]
    return [*(row for row in last if row[0] < cut[0]), *before, *(row for row in last if row[0] > cut[1])]


def build_splits_table(frame: pd.DataFrame) -> dict[str, object]:
    """A search as columns of plain values, the calls that make its splits, and the parts of their time.

    Args:
        frame: A table as `cs.best_parallel` returns it, a row for each split.
    """
    out: dict[str, object] = {name: frame[name].tolist() for name in (*COLUMNS, "recompute", "parallel")}
    out["data"] = frame["data_parallel"].tolist()
    out["parts"] = [[round(value, 6) for value in row] for row in frame[list(PARTS)].to_numpy().tolist()]
    return out
