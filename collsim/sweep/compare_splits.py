"""How a model may be split over a machine, each split at its best over a small search that is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import CollsimError
from ..errors.dependencies import pandas as pd
from ..topology import Topology
from .scenario import OneOrMany, StrategyEntry, list_pairs
from .step_sweep import list_splits
from .sweep_runner import sweep

if TYPE_CHECKING:
    from ..train import Model

#: Bytes that close a bucket of ddp, as they are tried beside torch's own rule (None): from many small allreduces to a
#: single one.
BUCKETS = (None, "1MiB", "5MiB", "10MiB", "50MiB", "100MiB", "500MiB")
#: Columns of the table.
COLUMNS = (
    "parallel", "time", "computing", "exposed", "overlapped", "bubble", "memory", "mfu", "samples_per_second", "tried",
    "error",
)  # fmt: skip


def list_usual_splits(topology: Topology) -> list[StrategyEntry]:
    """List what is compared unless splits are named: ddp, data_parallel, and a parameter server or one for each GPU.

    Args:
        topology: The machine.

    Returns:
        Splits as `sweep(parallel=)` takes them.
    """
    servers = list(dict.fromkeys((1, topology.ranks)))
    return [("ddp", {"bucket": list(BUCKETS)}), "data_parallel", ("parameter_server", {"servers": servers})]


def compare_splits(
    model: Model | str,
    topology: Topology,
    parallel: OneOrMany[StrategyEntry] | None,
    options: Mapping[str, Any],
    **execution: Any,
) -> pd.DataFrame:
    """Compare splits of a model.

    Args:
        model: A Model or the name of one.
        topology: The machine.
        parallel: Splits as `sweep` takes them; None for the usual ones.
        options: Of `training_step`, one value each.
        execution: `executor` and `progress` of `sweep`.

    Returns:
        A row for each split, the fastest first; `attrs["search"]` says what was tried, and
        `attrs["collectives"]` what timed all of them. Where one of them uses
        collectives that NCCL's model does not know, the links alone time all of them, unless `collectives=` says so.

    Raises:
        CollsimError: For unknown names, and options with several values.
    """
    if parallel is None:
        parallel = list_usual_splits(topology)
    groups = [list_splits(split) for split in list_pairs("parallel", parallel)]
    all_splits = [split for group in groups for split in group]
    frame = sweep(model=model, topology=topology, parallel=all_splits, **options, **execution)
    if len(frame) != len(all_splits):
        raise CollsimError("compare takes one value of each option of a training step; a sweep takes several")
    rows, first = [], 0
    for group in groups:
        rows.append(_select_best(frame.iloc[first : first + len(group)]))
        first += len(group)
    table = _build_table(rows, [split.label for split in all_splits])
    table.attrs["collectives"] = "nccl"
    if "collectives" in frame:
        table.attrs["collectives"] = frame["collectives"].iloc[0]
    return table


def _select_best(tried: pd.DataFrame) -> dict[str, object]:
    """The fastest of some rows, per sample; the first where none could run."""
    runnable, fastest = tried[tried["error"].isna()], tried.iloc[0]
    if not runnable.empty:
        fastest = runnable.iloc[int(runnable["samples_per_second"].argmax())]
    return {**{str(name): value for name, value in fastest.items()}, "tried": len(tried)}


def _build_table(rows: list[dict[str, object]], tried: list[str]) -> pd.DataFrame:
    table = pd.DataFrame(rows).reindex(columns=list(COLUMNS))
    table = table.sort_values("samples_per_second", ascending=False, kind="stable", ignore_index=True)
    table.attrs["search"] = ", ".join(tried)
    return table
