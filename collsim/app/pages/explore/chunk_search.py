"""The best number of chunks of an algorithm that pipelines. Nothing here knows Streamlit."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

import collsim as cs

from ...jobs.job_spec import job
from ...scenario.choice import Choice, build_engine_settings
from ...scenario.outcome import build_topology, estimate_seconds, uses_events

_RUNS = 16  # of `cs.best` for one algorithm: doublings, and what lies between the neighbours of the best
# `cs.best` tries 1 to 256 chunks, and the run with the most takes the longest.
_MANY = 256


def estimate_search(choice: Choice) -> float:
    """Seconds that `search_chunks` should take.

    Args:
        choice: The run that is chosen.
    """
    topology = build_topology(choice)
    plan = cs.schedule(choice.algorithm, topology=topology, chunks=_MANY)
    return _RUNS * estimate_seconds(choice, plan, topology, choice.nbytes)


@job(estimate_search, compiled=uses_events)
def search_chunks(choice: Choice) -> pd.DataFrame:
    """Chunks and seconds of all runs of `cs.best`, of the number of channels that is the fastest.

    Args:
        choice: The run that is chosen.
    """
    options: dict[str, Any] = {"engine": choice.engine, "dtype": choice.dtype, **build_engine_settings(choice)}
    best = cs.best(choice.collective, build_topology(choice), choice.nbytes, algorithm=[choice.algorithm], **options)
    pairs = zip(map(json.loads, best.tried["options"]), best.tried["time"], strict=True)
    rows = [
        {"chunks": options["chunks"], "time": time} for options, time in pairs if "chunks" in options and time == time
    ]
    return pd.DataFrame(rows).sort_values("chunks").reset_index(drop=True)
