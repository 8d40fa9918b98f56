"""What the parts of a machine cost in a sweep, and the time that money saves: columns with the words of `upgrades`."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence

from ..errors.dependencies import pandas as pd
from ..purchases.part_changes import PART_NAMES, PartChange
from ..purchases.part_prices import divide_by_price, sum_prices
from ..topology import Topology
from .scenario import Work
from .step_sweep import StepWork


def list_part_changes(before: Topology, after: Topology) -> list[PartChange] | None:
    """List the parts in which a machine differs from another one.

    Args:
        before: the machine as it is.
        after: with other parts.

    Returns:
        The changes; None where they differ in more than parts, or are no machines.

    Examples:
        >>> import collsim as cs
        >>> from collsim.sweep.part_costs import list_part_changes
        >>> box = cs.machine("pcie-8gpu", nodes=2, nic="roce-25")
        >>> [str(change) for change in list_part_changes(box, box.with_(nic="roce-100", pcie=5))]
        ['nic=roce-100', 'pcie=5']
    """
    old, new = before.facts, after.facts
    if old.base is None or old.base != new.base or old.calls != new.calls:
        return None
    was = {"nodes": old.nodes, "nic": old.nic, **old.options, **old.parts}
    now = {"nodes": new.nodes, "nic": new.nic, **new.options, **new.parts}
    names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    if not set(names) <= set(PART_NAMES):
        return None  # another fabric, or other rates: nothing that `upgrades` has a price for
    return [PartChange(name, now.get(name)) for name in names]


def add_cost_columns(frame: pd.DataFrame, work: Sequence[Work | StepWork], prices: Mapping[str, float]) -> pd.DataFrame:
    """Add what each machine costs more than the first one, and what that saves.

    Args:
        frame: the rows of a sweep, in the order of `work`.
        work: the scenarios of the rows.
        prices: of `parse_prices`.

    Returns:
        The table with the columns change, saved, share, price and per_thousand. They are empty where parts have no
        price, and where the first machine did not do the same work.
    """
    first = work[0].topology
    times: dict[str, float] = {}
    records: list[dict[str, object]] = []
    rows = iter(frame.to_dict("records"))
    # The rows of the first machine come first, so that each later row finds the time to compare with.
    for piece in work:
        changes = list_part_changes(first, piece.topology)
        for inputs, row in zip(piece.inputs, rows, strict=False):
            key, time = _name_work(inputs, row), row.get("time")
            if piece.topology is first and time is not None:
                times[key] = time
            records.append(_price_row(changes, times.get(key), time, prices))
    return frame.join(pd.DataFrame(records, frame.index))


def _name_work(inputs: Mapping[str, object], row: Mapping[Hashable, object]) -> str:
    """What a scenario does, on whatever machine: a step with as many samples, a collective of as many ranks."""
    named = {name: value for name, value in inputs.items() if name != "topology"}
    return json.dumps({**named, "batch": row.get("batch")}, sort_keys=True, default=str)


def _price_row(
    changes: Sequence[PartChange] | None, before: float | None, time: float | None, prices: Mapping[str, float]
) -> dict[str, object]:
    change, price, saved, share = None, None, None, None
    if changes is not None:
        change, price = " + ".join(map(str, changes)), sum_prices(changes, prices)
    if before is not None and time is not None:
        saved, share = before - time, (before - time) / before
    per_thousand = None
    if saved is not None:
        per_thousand = divide_by_price(saved, price)
    return {"change": change, "saved": saved, "share": share, "price": price, "per_thousand": per_thousand}
