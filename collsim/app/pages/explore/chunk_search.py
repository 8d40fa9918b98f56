"""The best number of chunks of an algorithm that pipelines. Nothing here knows Streamlit."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

import collsim as cs

from ...jobs.worker import ReportProgress
from ...scenario.choice import Choice, engine_settings
from ...scenario.outcome import build_place, quietly, seconds

_RUNS = 16  # of `cs.best` for one algorithm: doublings, and what lies between the neighbours of the best
_MANY = 256


def tried(choice: Choice, report_progress: ReportProgress = quietly) -> pd.DataFrame:
    """Chunks and seconds of all runs of `cs.best`, of the number of channels that is the fastest."""
    given: dict[str, Any] = {"engine": choice.engine, "dtype": choice.dtype, **engine_settings(choice)}
    found = cs.best(choice.collective, build_place(choice), choice.nbytes, algorithm=[choice.algorithm], **given)
    pairs = zip(map(json.loads, found.tried["options"]), found.tried["time"], strict=True)
    rows = [
        {"chunks": options["chunks"], "time": time} for options, time in pairs if "chunks" in options and time == time
    ]
    return pd.DataFrame(rows).sort_values("chunks").reset_index(drop=True)


def expected(choice: Choice) -> float:
    """Seconds that `tried` should take."""
    topology = build_place(choice)
    plan = cs.schedule(choice.algorithm, topology=topology, chunks=_MANY)
    return _RUNS * seconds(choice, plan, topology, choice.nbytes)
