"""From a cluster's own nccl-tests log to a model of that cluster: reading is in `io`, fitting in `nccl`; this joins
them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..collective import get_collective
from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..topology_names import TopologyLike, resolve_topology

if TYPE_CHECKING:
    import pandas as pd

    from ..nccl import Calibration


@check_arguments
def calibrate(
    log: str | Path | pd.DataFrame, topology: TopologyLike, *, collective: str | None = None, **environment: str
) -> Calibration:
    """Fit a few named parameters of the links to measured times, by robust least squares.

    Args:
        log: path of nccl-tests output (text, or `-J` JSON), or a table with columns collective, nbytes, time (s).
        topology: the machine it ran on.
        collective: what was run, for a log of an nccl-tests before 2.16.7, which does not print the test's name, where
            columns and bandwidths do not tell it.
        environment: NCCL_ALGO and NCCL_PROTO, where they were set.

    Returns:
        A Calibration: its links, residuals, `predict` (which refuses to extrapolate) and `save`.

    Raises:
        FormatError: for a log that is none.
        CollsimError: for too few rows.

    Examples:
        >>> import collsim as cs
        >>> fit = cs.analysis.calibrate("examples/all_reduce_perf.txt", cs.machine("dgx-a100"))  # doctest: +SKIP
        >>> fit.save("mycluster.yaml")  # doctest: +SKIP
    """
    from ..io import load
    from ..nccl import fit_calibration

    if isinstance(log, (str, os.PathLike)):
        table: pd.DataFrame = load(log)
    else:
        table = log
    topology = resolve_topology(topology, "calibrate")
    if not hasattr(table, "columns") or not hasattr(table, "iloc"):
        raise CollsimError("{log!s} holds {table!r}; calibrate wants nccl-tests output", log=log, table=table)
    # A column that the log fills wins; the caller's word fills the rows that do not say it.
    if collective is not None:
        get_collective(collective)
    if collective is not None and "collective" in table:
        table = table.assign(collective=table["collective"].where(table["collective"].notna(), collective))
    elif collective is not None:
        table = table.assign(collective=collective)
    return fit_calibration(table, topology, **environment)
