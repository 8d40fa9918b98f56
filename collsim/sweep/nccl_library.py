"""NCCL as one of the algorithms of a sweep: the model of `collsim.nccl` says what it would choose and take, under its
settings.

That package is imported when a sweep asks for it: `import collsim` stays quick.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from ..errors import CollsimError, describe_unknown
from ..topology import Topology

#: Its name among algorithms, and among engines: no schedule of ours is simulated.
NCCL = "nccl"


def check_settings(collectives: Iterable[str], settings: dict[str, object]) -> None:
    """Raise CollsimError for collectives that nccl-tests has not, and for settings that are not NCCL's.

    Args:
        collectives: Names.
        settings: NCCL's environment variables; their values are checked when they are used.
    """
    from ..nccl.nccl_prediction import parse_collective, predict

    for name in collectives:
        parse_collective(name)
    known = [name for name in inspect.signature(predict).parameters if name.startswith("NCCL_")]
    for setting in settings:
        if setting not in known:
            raise CollsimError(describe_unknown("setting of NCCL", setting, known))


def predict_row(collective: str, topology: Topology, nbytes: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Predict the figures of one row.

    Args:
        collective: Its name.
        topology: A machine.
        nbytes: nccl-tests' size.
        settings: NCCL's environment variables.

    Returns:
        Time in s, algbw and busbw in B/s, and what NCCL chooses.

    Raises:
        CollsimError: As `nccl.predict`.
    """
    from ..nccl.nccl_prediction import predict

    prediction = predict(collective, topology, nbytes, **settings)
    return {
        "how": "nccl.predict",
        "time": prediction.time,
        "algbw": prediction.algbw,
        "busbw": prediction.busbw,
        "nccl_algorithm": prediction.algorithm,
        "nccl_protocol": prediction.protocol,
        "nccl_channels": prediction.channels,
        "nccl_tuner_time": prediction.tuner_time,
    }
