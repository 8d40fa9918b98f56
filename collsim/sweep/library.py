"""NCCL as one of the algorithms of a sweep: the model of `collsim.nccl` says what it would choose and take, under its
settings.

Its room is imported when a sweep asks for it: `import collsim` stays quick.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from ..errors import CollsimError, describe_unknown
from ..topology import Topology

#: Its name among algorithms, and among engines: no schedule of ours is simulated.
NCCL = "nccl"


def check_settings(collectives: Iterable[str], settings: dict[str, Any]) -> None:
    """Raises CollsimError for collectives that nccl-tests has not, and for settings that are not NCCL's. Values are
    checked when run."""
    from ..nccl.nccl_prediction import parse_collective, predict

    for name in collectives:
        parse_collective(name)
    known = [name for name in inspect.signature(predict).parameters if name.startswith("NCCL_")]
    for setting in settings:
        if setting not in known:
            raise CollsimError(describe_unknown("setting of NCCL", setting, known))


def predicted(collective: str, topology: Topology, nbytes: int, settings: dict[str, Any]) -> dict[str, Any]:
    """The figures of one row: time in seconds, algbw and busbw in B/s, and what NCCL chooses. Raises CollsimError."""
    from ..nccl.nccl_prediction import predict

    found = predict(collective, topology, nbytes, **settings)
    return {
        "how": "nccl.predict",
        "time": found.time,
        "algbw": found.algbw,
        "busbw": found.busbw,
        "nccl_algorithm": found.algorithm,
        "nccl_protocol": found.protocol,
        "nccl_channels": found.channels,
        "nccl_tuner_time": found.tuner_time,
    }
