"""Which collectives of its library a rank program called: equal calls together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..errors.dependencies import pandas as pd

if TYPE_CHECKING:
    from ..rank_engine.execute import Execution

_COLUMNS = ("line", "call", "ranks", "nbytes", "dtype")


def tabulate_collectives(execution: Execution) -> pd.DataFrame:
    """Tabulate the collectives that ended.

    Args:
        execution: What the ranks called.

    Returns:
        A row for equal calls, in the order of their first: `line`, `call`, `ranks` (how many take part), `nbytes` and
        `dtype` of the buffer of the group's first rank, and `calls`.
    """
    calls: Counter[tuple[object, ...]] = Counter()
    for event in execution.events:
        if event.kind != "collective" or event.is_internal or not event.is_complete:
            continue
        members = execution.groups[event.group]
        if event.rank == members[0]:
            calls[event.line, event.call, len(members), event.nbytes, event.dtype] += 1
    rows = [(*call, count) for call, count in calls.items()]
    return pd.DataFrame(rows, columns=[*_COLUMNS, "calls"])
