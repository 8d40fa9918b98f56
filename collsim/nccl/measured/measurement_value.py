"""What each measurement of one's own buys: a run predicted from none, one, two and three of its own points."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...errors.arguments import check_arguments
from ...units import ByteSize, Duration
from ..bayesian_update import update_prediction
from ..model.relative_error import compute_relative_error
from .published_runs import MeasuredRun

if TYPE_CHECKING:
    import pandas as pd


@check_arguments
def evaluate_measurement_value(run: MeasuredRun) -> pd.DataFrame:
    """A row for no point, the smallest size, the largest beside it, and the middle one.

    Columns: points (how many), added (bytes of the one that came; 0 at first), error (median `relative_error` of all
    other sizes), wide (median of high / low of their intervals), inside (share of their times inside). NaN where no
    size is left.

    Args:
        run: of `create_run`, or a published one.

    Returns:
        The table.

    Examples:
        >>> import collsim as cs
        >>> cs.nccl.evaluate_measurement_value(cs.nccl.get_published_run("a100-8")).points.tolist()
        [0, 1, 2, 3]
    """
    from ...errors.dependencies import pandas as pd

    plain = run.predict_sizes()
    by_size = {p.nbytes: p for p in plain}
    measured_seconds = dict(zip(run.nbytes, run.times, strict=True))
    # The points that an engineer would measure first: the ends and the middle of the sizes.
    order = list(dict.fromkeys((run.nbytes[0], run.nbytes[-1], run.nbytes[len(run.nbytes) // 2])))
    rows = []
    for count in range(len(order) + 1):
        # Points that are given are not judged, or the error would shrink by itself.
        known: dict[ByteSize, Duration] = {size: measured_seconds[size] for size in order[:count]}
        others = [
            p if not known else update_prediction(p, known, by_size.__getitem__) for p in plain if p.nbytes not in known
        ]
        off = compute_relative_error(np.array([p.time / measured_seconds[p.nbytes] for p in others]))
        wide = [p.high / p.low for p in others]
        inside = [p.low <= measured_seconds[p.nbytes] <= p.high for p in others]
        figures = (math.nan,) * 3
        if others:
            figures = (float(np.median(off)), float(np.median(wide)), float(np.mean(inside)))
        added = 0
        if count:
            added = order[count - 1]
        rows.append((count, added, *figures))
    return pd.DataFrame(rows, columns=["points", "added", "error", "wide", "inside"])
