"""A step that is split, as the JSON that `splitmap.js` draws: which ranks make its groups, what a GPU of each stage
sends over which links, what the fullest holds; and every legal split as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...training.parallel import Split
from ..hosts.bundle import joined
from ..sentences.words import kind_name

if TYPE_CHECKING:
    import pandas as pd

    from ...training import StepTrace

#: Columns of a split, in the order in which they are sent.
COLUMNS = ("tp", "cp", "ep", "pp", "interleave", "dp", "micro_batch", "time", "memory", "fits", "timed", "pareto")
#: Seconds that a split's time is made of, by estimate.
PARTS = ("computing", "layers", "bubble", "data")
#: Ways of splitting in the order in which they are listed: those inside a layer first.
WAYS = ("tensor", "context", "expert", "pipeline", "data")


def splits_source() -> str:
    """One ES module: ranks on nodes, bytes, memory, and the map of splits."""
    return joined("viz/splits/splitmap.js")


def split_document(trace: StepTrace, room: float | None = None) -> dict[str, Any]:
    """Everything that is drawn of the step that is open.

    Args:
        room: bytes of a GPU; its own unless given.
    """
    step, split = trace.step, trace.request.parallel
    made = split if isinstance(split, Split) else Split((split,))
    grid = made.grid(trace.request.ranks)
    sizes = {"tp": grid.tp, "cp": grid.cp, "dp": grid.dp, "pp": grid.pp}
    return {
        "ways": [[way, sizes[way]] for way in grid.order.split("-") if way in sizes],
        "expert": grid.expert,
        "ranks": len(grid.ranks),
        "per": trace.topology.ranks // int(trace.topology.facts.get("nodes", 1)),
        "stages": len(step.lanes),
        "sends": _sends(trace),
        "memory": _memory(trace, room),
        "time": trace.time,
    }


def _sends(trace: StepTrace) -> list[list[dict[str, Any]]]:
    """Of each stage what one of its GPUs sends: a row for each way of splitting and kind of link."""
    out: list[list[dict[str, Any]]] = [[] for _ in trace.step.lanes]
    rows: list[Any] = list(trace.crossings().itertuples())
    for row in sorted(rows, key=lambda row: (row.lane, WAYS.index(row.way), -row.bandwidth)):
        sent = {"nbytes": row.nbytes, "bandwidth": row.bandwidth, "time": row.time}
        out[row.lane].append({"way": row.way, "link": kind_name(row.link), **sent})
    return out


def _memory(trace: StepTrace, room: float | None) -> dict[str, Any]:
    """What the fullest GPU holds in its fullest moment, its stage, and what a GPU has."""
    fast, lanes = trace.costs.speed, trace.step.lanes
    held = [trace.memory.peak(ranks[0]) for ranks in lanes]
    totals = [sum(kinds.values()) for kinds in held]
    stage = totals.index(max(totals))
    return {
        "kinds": [[kind, size] for kind, size in held[stage].items() if size],
        "total": totals[stage],
        "stage": stage,
        "room": room if room is not None else None if fast is None else fast.capacity,
    }


def splits_table(frame: pd.DataFrame) -> dict[str, Any]:
    """A search as columns of plain values, the calls that make its splits, and the parts of their time."""
    out: dict[str, Any] = {name: frame[name].tolist() for name in (*COLUMNS, "recompute", "parallel")}
    out["data"] = frame["data_parallel"].tolist()
    out["parts"] = [[round(value, 6) for value in row] for row in frame[list(PARTS)].to_numpy().tolist()]
    return out
