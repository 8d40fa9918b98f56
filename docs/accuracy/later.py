"""Runs collected when the model was finished (`later_cases.csv`, `later_times.csv`): no fit, no term and no width of an
interval has seen them.

`later_times.csv` keeps what the model predicted before anybody looked at them (`first_us` and the ends of its
interval), since reasons that they show may become terms: then the figures of today are no longer blind.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from accuracy.spreads import summarize_covered

from collsim.nccl.measured.prediction_accuracy import BANDS, predict_rows, read_tables
from collsim.nccl.model.prediction_interval import get_family

HERE = Path(__file__).parent
CASES, TIMES = HERE / "later_cases.csv", HERE / "later_times.csv"


def compare_later(first: bool) -> pd.DataFrame:
    """Compare each row with its prediction.

    Args:
        first: with what was predicted before anybody looked at the runs; else with what is predicted now.

    Returns:
        The columns that `spreads.mark_covered` has: run, library, machine, band, off (logarithm of measured over
        predicted), inside, above, high_over_low.

    Raises:
        LookupError: for a run that cannot be predicted.
    """
    described, rows, unread = read_tables(CASES, TIMES)
    predicted, failed = predict_rows(described, rows)
    if failed or unread:
        raise LookupError(f"not predicted: {failed | unread}")
    machines = described.set_index("case_id").kind
    table = pd.DataFrame(
        [
            (case_id, get_family(p.kind), machines[case_id], p.nbytes, seconds * 1e6, p.time * 1e6, low, high)
            for case_id, p, seconds in predicted
            for low, high in [(p.interval().low * 1e6, p.interval().high * 1e6)]
        ],
        columns=["run", "library", "machine", "nbytes", "measured", "predicted", "low", "high"],
    )
    if first:
        names = ["first_us", "first_low_us", "first_high_us"]
        table[["predicted", "low", "high"]] = rows[names].astype(float).to_numpy()
    lows = [low for _, low, _ in BANDS]
    return table.assign(
        band=[next(k for k, low in enumerate(lows) if nbytes >= low) for nbytes in table.nbytes],
        off=np.log(table.measured / table.predicted),
        inside=(table.low <= table.measured) & (table.measured <= table.high),
        above=table.measured > table.high,
        high_over_low=table.high / table.low,
    )


def summarize_later(first: bool, by: str) -> pd.DataFrame:
    """Summarize `compare_later` by a column (`library`, `machine`) and band, as `spreads.covered` does."""
    return summarize_covered(compare_later(first), (by,))
