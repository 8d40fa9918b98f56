"""A step that is split, as the JSON that `splitmap.js` draws: which ranks make its groups, what a GPU sends over which
links and holds; and every legal split as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...training.parallel import Split
from ..hosts.bundle import joined

if TYPE_CHECKING:
    import pandas as pd

    from ...training import StepTrace

#: Columns of a split, in the order in which they are sent.
COLUMNS = ("tp", "cp", "ep", "pp", "interleave", "dp", "micro_batch", "time", "memory", "fits", "timed", "pareto")
#: Seconds that a split's time is made of, by estimate.
PARTS = ("computing", "layers", "bubble", "data")


def splits_source() -> str:
    """One ES module: ranks on nodes, bytes, memory, and the map of splits."""
    return joined("viz/splits/splitmap.js")


def split_document(trace: StepTrace) -> dict[str, Any]:
    """Everything that is drawn of the step that is open. Bytes and memory are those of a GPU of one lane: of an inner
    stage what it sends, of the fullest what it holds."""
    step, split = trace.step, trace.request.parallel
    made = split if isinstance(split, Split) else Split((split,))
    grid = made.grid(trace.request.ranks)
    sizes = {"tp": grid.tp, "cp": grid.cp, "dp": grid.dp, "pp": grid.pp}
    lane = len(step.lanes) // 2 if len(step.lanes) > 2 else 0
    frame = trace.crossings()
    return {
        "ways": [[way, sizes[way]] for way in grid.order.split("-") if way in sizes],
        "expert": grid.expert,
        "ranks": len(grid.ranks),
        "per": trace.topology.ranks // int(trace.topology.facts.get("nodes", 1)),
        "stage": lane,
        "stages": len(step.lanes),
        "sends": [
            {"way": row.way, "link": row.link, "nbytes": row.nbytes, "bandwidth": row.bandwidth, "time": row.time}
            for row in frame[frame["lane"] == lane].itertuples()
        ],
        "memory": _memory(trace),
        "time": trace.time,
    }


def _memory(trace: StepTrace) -> dict[str, Any]:
    """What the fullest GPU holds in its fullest moment, and what it has."""
    fast, held = trace.costs.speed, trace.memory.peak()
    kinds = [[kind, size] for kind, size in held.items() if size]
    return {"kinds": kinds, "total": sum(held.values()), "room": None if fast is None else fast.capacity}


def splits_table(frame: pd.DataFrame) -> dict[str, Any]:
    """A search as columns of plain values, the calls that make its splits, and the parts of their time."""
    out: dict[str, Any] = {name: frame[name].tolist() for name in (*COLUMNS, "recompute", "parallel")}
    out["data"] = frame["data_parallel"].tolist()
    out["parts"] = [[round(value, 6) for value in row] for row in frame[list(PARTS)].to_numpy().tolist()]
    return out
