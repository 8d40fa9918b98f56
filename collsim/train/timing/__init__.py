"""When the tasks of a step run: each collective by itself, or all of them on the links that they share."""

from .isolated_timing import time_alone
from .path_shares import share_network_time
from .shared_timing import RunningStep, SharedTiming, time_shared
from .time_spans import intersect_spans, measure_spans, merge_spans, subtract_spans

__all__ = [
    "RunningStep",
    "SharedTiming",
    "intersect_spans",
    "measure_spans",
    "merge_spans",
    "share_network_time",
    "subtract_spans",
    "time_alone",
    "time_shared",
]
