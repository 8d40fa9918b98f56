"""The ways of splitting a model over a machine, each at its best over a small search that is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import CollsimError
from ..topology import Topology
from .run import sweep
from .scenario import _pairs
from .steps import splits

if TYPE_CHECKING:
    import pandas as pd

#: Bytes that close a bucket of ddp, as they are tried beside torch's own rule (None): from many small allreduces to a
#: single one.
BUCKETS = (None, "1MiB", "5MiB", "10MiB", "50MiB", "100MiB", "500MiB")
#: Columns of the table.
COLUMNS = (
    "parallel", "time", "computing", "exposed", "overlapped", "bubble", "memory", "mfu", "samples_per_second", "tried",
    "error",
)  # fmt: skip


def usual_ways(topology: Topology) -> list[Any]:
    """What is compared unless ways are named: ddp, data_parallel, and a parameter server or one for each GPU."""
    servers = list(dict.fromkeys((1, topology.ranks)))
    return [("ddp", {"bucket": list(BUCKETS)}), "data_parallel", ("parameter_server", {"servers": servers})]


def compare_ways(model: Any, topology: Topology, ways: Any, options: Mapping[str, Any], **how: Any) -> pd.DataFrame:
    """A row for each way, the fastest first; `attrs["search"]` says what was tried.

    Raises CollsimError for unknown names, and options with several values.
    """
    asked = [splits(way) for way in _pairs(usual_ways(topology) if ways is None else ways)]
    every = [one for several in asked for one in several]
    frame = sweep(model=model, topology=topology, parallel=every, **options, **how)
    if len(frame) != len(every):
        raise CollsimError("compare takes one value of each option of a training step; a sweep takes several")
    rows, at = [], 0
    for several in asked:
        rows.append(_best(frame.iloc[at : at + len(several)]))
        at += len(several)
    return _table(rows, [one.label for one in every])


def _best(tried: pd.DataFrame) -> dict[str, Any]:
    """The fastest of some rows, per sample; the first where none could run."""
    ran = tried[tried["error"].isna()]
    row: dict[Any, Any] = (tried.iloc[0] if ran.empty else ran.iloc[int(ran["samples_per_second"].argmax())]).to_dict()
    return {**row, "tried": len(tried)}


def _table(rows: list[dict[str, Any]], tried: list[str]) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame(rows).reindex(columns=list(COLUMNS))
    table = table.sort_values("samples_per_second", ascending=False, kind="stable", ignore_index=True)
    table.attrs["search"] = ", ".join(tried)
    return table
