"""Pipelines, and steps under FSDP, as the JSON that `lanes.js` draws: several runners on one clock.

A runner has rows: boxes (begin, end, text, kind, how dark, part of its height: 0 all, 1 upper, 2 lower), what is idle,
and what is held over time. Times are seconds, of pipelines in forward passes of a microbatch through a rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...train.parallel.levels import GatheredForm, gathered_form
from ...train.timing import joined, length, without
from ...train.workload.step_graph import COMPUTE
from ..hosts.bundle import joined as joined_source

if TYPE_CHECKING:
    from ...train import FSDP, Pipeline, PipelineTiming, StepTrace

SCHEMA = "collsim.lanes/1"
_NEAR = 1e-9  # of a runner's time: what is nearer touches


def lanes_source() -> str:
    """One ES module: several runners on one clock."""
    return joined_source("viz/splits/lanes.js")


def gaps(spans: Iterable[tuple[float, float]], end: float) -> list[list[float]]:
    """What is left of a time up to `end` without these spans."""
    left = without([(0.0, end)], joined(list(spans)))
    return [[float(a), float(b)] for a, b in left if b - a > _NEAR * end]


# ---- pipelines ------------------------------------------------------------------------------------------------------


def pipeline_runner(pipe: Pipeline, timing: PipelineTiming) -> dict[str, Any]:
    """A pipeline: for each rank its passes, when it is idle, and the microbatches that it holds."""
    ranks = range(pipe.size)
    most = max(1.0, float(max(timing.held)))
    rows = [_rank(pipe, timing, rank) for rank in ranks]
    return {
        "way": pipe.schedule,
        "time": timing.time,
        "share": timing.bubble,
        "most": most,
        "rows": rows,
        "figures": _pipeline_figures(pipe, timing),
        "stages": pipe.interleave,
    }


def _pipeline_figures(pipe: Pipeline, timing: PipelineTiming) -> list[dict[str, Any]] | None:
    """What formulas say beside what was drawn, of GPU 0; None where no formula holds."""
    form = timing.form
    if form is None:
        return None
    passes, micros = "passes", len({action.micro for action, *_ in timing.passes})
    known = {"m": micros, "p": pipe.size, "v": pipe.interleave, "r": 0, "idle": form.idle, **form.seconds}
    known["B"] = form.seconds["I"] + form.seconds["W"]
    rows = [
        {"name": "time", "form": form.time_is, "value": form.time, "drawn": timing.time, "unit": passes},
        {"name": "idle", "form": form.idle_is, "value": form.idle, "drawn": float(timing.idle[0]), "unit": passes},
        {
            "name": "held",
            "form": form.held_is,
            "value": form.held[0],
            "drawn": float(timing.held[0]),
            "unit": "microbatches",
        },
    ]
    return [{**row, "numbers": in_numbers(str(row["form"]), known)} for row in rows]


def in_numbers(formula: str, known: Mapping[str, float]) -> str:
    """A formula with the numbers in it, sums in brackets added up: `(m + p − 1)(F + B)` is `11 × 3`; "" for what is a
    number or a letter alone.

    Args:
        known: what each letter, and each word, stands for.
    """
    if not re.search(r"[^\W\d_]", formula) or formula in known:
        return ""
    text = re.sub(r"[^\W\d_]+", lambda word: f"«{known.get(word[0], word[0])}»", formula)
    text = re.sub(r"(?<=[\d»)])\s?(?=[«(])|(?<=»)(?=\d)", " × ", text)
    text = re.sub("«([a-z]+)» × ", r"\1", text).replace("«", "").replace("»", "")
    while (added := re.sub(r"(?<![a-z])\(([^()]*)\)", lambda brackets: _added(brackets[1]), text)) != text:
        text = added
    text = re.sub(r"(?<=[a-z])\(([^()]*)\)", lambda of: f"({', '.join(map(_added, of[1].split(',')))})", text)
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.4g}", text)


def _added(numbers: str) -> str:
    """A sum of products of numbers, added up."""
    total = 0.0
    for sign, product in re.findall(r"(^|[+−])\s*([^+−]+)", numbers):
        one = 1.0
        for factor in product.split("×"):
            one *= float(factor)
        total += -one if sign == "−" else one
    return f"{total:.10g}"


def _rank(pipe: Pipeline, timing: PipelineTiming, rank: int) -> dict[str, Any]:
    own = [(action, a, b) for action, at, a, b in timing.passes if at == rank]
    together = {(a, b): [one[0] for one in own if one[1:] == (a, b)] for _, a, b in own}
    boxes = [
        [a, b, str(action.micro), action.kind, _local(pipe, action.stage), _part(together[a, b], action)]
        for action, a, b in own
    ]
    return {
        "label": str(rank),
        "boxes": boxes,
        "idle": gaps([(a, b) for _, a, b in own], timing.time),
        "level": [[at, held] for at, held in timing.holding(rank)],
        "held": float(timing.held[rank]),
    }


def _local(pipe: Pipeline, stage: int) -> int:
    """Which of its rank's stages it is."""
    own = [s for s, rank in enumerate(pipe.stage_ranks) if rank == pipe.stage_ranks[stage]]
    return own.index(stage)


def _part(entry: Sequence[Any], action: Any) -> int:
    """Passes that run as one share the height of their box."""
    return 0 if len(entry) == 1 else 1 + entry.index(action)


# ---- FSDP -----------------------------------------------------------------------------------------------------------


def sharding_runner(way: str, trace: StepTrace) -> dict[str, Any]:
    """A step under FSDP on its first GPU: computing, the network, and bytes of gathered weights and whole gradients."""
    numbers = {name: str(i) for i, name in enumerate(_blocks(trace))}
    compute: list[list[Any]] = []
    network: list[list[Any]] = []
    for task, a, b in zip(trace.step.tasks, trace.begin.tolist(), trace.end.tolist(), strict=True):
        if 0 not in task.lanes or b <= a:
            continue
        named = task.name.removeprefix("gather ").removeprefix("reduce ").removeprefix("into ")
        text, kind = numbers.get(named, "r" if not task.is_compute else ""), PASSES[task.kind]
        entry = [a, b, text, kind, 0, _HALF.get(kind, 0)]
        (compute if task.stream == COMPUTE else network).append(entry)
    level, most = _levels(trace)
    spans = [(a, b) for a, b, *_ in compute]
    busy = length(joined([(a, b) for a, b, *_ in network]))
    return {
        "way": way,
        "time": trace.time,
        "share": trace.exposed,
        "compute": {"boxes": compute, "idle": gaps(spans, trace.time)},
        "network": {"boxes": network, "idle": []},
        "level": level,
        "most": most,
        "figures": _figures(trace, busy, level),
    }


#: Kinds of box by kinds of task.
PASSES = {"forward": "F", "backward": "B", "copy": "copy", "optimizer": "opt", "allgather": "gather"}
PASSES |= {"reduce_scatter": "reduce", "allreduce": "reduce", "dgrad": "I", "wgrad": "W"}

#: Gathers and reductions have communicators of their own and run beside one another: each has half of the row.
_HALF = {"gather": 1, "reduce": 2}


def _blocks(trace: StepTrace) -> list[str]:
    """Names of what is gathered by itself, in the order of the forward pass."""
    found = [task.name for task in trace.step.tasks if task.kind == "allgather" and task.name.startswith("gather ")]
    return [name.removeprefix("gather ") for name in dict.fromkeys(found) if name != "gather root"]


def _levels(trace: StepTrace) -> tuple[list[list[float]], dict[str, float]]:
    """[s, gathered bytes, whole gradients' bytes] from each moment on, and the most of each and of both."""
    moments = held_over_time(trace, 0, ("gathered", "whole gradients"))
    gathered, whole = zip(*(held for _, *held in moments), strict=True)
    both = max(a + b for a, b in zip(gathered, whole, strict=True))
    return last_of_each_moment(moments), {"gathered": max(gathered), "both": both}


def held_over_time(trace: StepTrace, lane: int, kinds: Sequence[str]) -> list[list[float]]:
    """[s, bytes of each kind] of a GPU of a lane, at each change; a moment may have several."""
    moments, held = trace.memory.over_time(lane)
    own = trace.memory.kinds(lane)
    columns = [held[:, own.index(kind)] if kind in own else 0.0 * moments for kind in kinds]
    return [list(row) for row in zip(moments.tolist(), *(column.tolist() for column in columns), strict=True)]


def last_of_each_moment(rows: list[list[float]]) -> list[list[float]]:
    """What is held from each moment on."""
    return list({row[0]: row for row in rows}.values())


def _figures(trace: StepTrace, busy: float, level: list[list[float]]) -> list[dict[str, Any]]:
    """What a formula says beside what was drawn; without a formula where there is none."""
    form = form_of(trace)
    gathers = sum(task.kind == "allgather" for task in trace.step.tasks)
    reduces = sum(task.kind == "reduce_scatter" for task in trace.step.tasks)
    rows: list[dict[str, Any]] = [
        {"name": "exposed", "form": "", "value": trace.exposed, "unit": "s"},
        {"name": "busy", "form": "", "calls": [gathers, reduces], "value": busy, "unit": "s"},
    ]
    sent = max(trace.sent_bytes.values())
    most = max(gathered for _, gathered, _ in level)
    rows += [
        {"name": "sends", "form": form.sent_is, "value": form.sent, "drawn": float(sent), "unit": "B"},
        {"name": "gathered", "form": form.gathered_is, "value": form.gathered, "drawn": most, "unit": "B"},
    ]
    both = max(gathered + whole for _, gathered, whole in level)
    return [*rows, {"name": "both", "form": "", "value": both, "unit": "B"}]


def form_of(trace: StepTrace) -> GatheredForm:
    """The formulas for a step whose request is a product of FSDP alone."""
    request = trace.request
    parallel: Any = request.parallel
    data: FSDP = parallel.data
    return gathered_form(data, request.model, len(request.ranks), request.dtype, request.accumulate)
