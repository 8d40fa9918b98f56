"""How a step scales: the same work on more nodes (strong), or work that grows with them (weak)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import CollsimError, require_word
from ..topology.machines import machine as machine_named
from ..units import parse_count
from .parallel import Parallel
from .run import training_step
from .workload.model import Model

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("strong", "weak")


def scaling(
    model: Model | str,
    machine: str,
    *,
    parallel: Parallel,
    nodes: Sequence[int] = (1, 2, 4, 8, 16),
    batch: int,
    kind: str = "weak",
    **options: Any,
) -> pd.DataFrame:
    """A step on more and more nodes of a machine: a row for each number of nodes, with nodes, gpus, batch, time (s),
    samples_per_second, exposed, bubble (s), efficiency_node, efficiency_gpu, and error where it cannot be.

    `efficiency_node` is samples per second and GPU against those of the first row's nodes; `efficiency_gpu` against one
    GPU by itself with its share of the first row's batch, NaN where the model does not fit on one. Both are 1 where
    doubling the GPUs doubles what they do.

    Args:
        batch: samples of the first row's step; of all rows' with `kind="strong"`. Weak: as many more as GPUs.
        options: what `training_step` takes besides.

    Raises CollsimError for an unknown kind, and where the first row cannot be.
    """
    import pandas as pd

    require_word("kind of scaling", kind, KINDS)
    counts = sorted({parse_count(n, "nodes") for n in nodes})
    if not counts:
        raise CollsimError("scaling needs at least one number of nodes; the list given is empty")
    first = parse_count(batch, "batch")
    rows: list[dict[str, Any]] = []
    for count in counts:
        samples = first if kind == "strong" else first * count // counts[0]
        rows.append(_row(model, machine_named(machine, nodes=count), samples, count, parallel, options))
        if len(rows) == 1 and rows[0]["error"]:
            raise CollsimError(rows[0]["error"])
    each = rows[0]["samples_per_second"] / rows[0]["gpus"]
    alone = _one_gpu(model, machine, first // rows[0]["gpus"], options)
    for row in rows:
        own = row["samples_per_second"] / row["gpus"]
        row["efficiency_node"], row["efficiency_gpu"] = own / each, own / alone
    frame = pd.DataFrame(rows)
    return frame[[*(name for name in frame if name != "error"), "error"]]


def _row(model: Any, place: Any, batch: int, nodes: int, parallel: Parallel, options: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"nodes": nodes, "gpus": place.ranks, "batch": batch}
    none = dict.fromkeys(("time", "samples_per_second", "exposed", "bubble"), float("nan"))
    try:
        t = training_step(model, place, parallel=parallel, batch=batch, **options)
    except CollsimError as error:
        return {**row, **none, "error": str(error)}
    figures = {"time": t.time, "samples_per_second": t.samples_per_second, "exposed": t.exposed, "bubble": t.bubble}
    return {**row, **figures, "error": ""}


def _one_gpu(model: Any, machine: str, samples: int, options: Any) -> float:
    """Samples per second of one GPU; NaN where the step does not fit on it."""
    from .parallel import ddp

    rest = {name: value for name, value in options.items() if name not in ("micro_batch", "ranks", "memory")}
    try:
        place = machine_named(machine, nodes=1)
        t = training_step(model, place, parallel=ddp(), micro_batch=max(1, samples), ranks=[0], **rest)
    except CollsimError:
        return float("nan")
    return t.samples_per_second
