"""How far from the truth a prediction may be: intervals, from runs of machines that were left out of the fit.

The logarithm of measured over predicted time is taken as a sum of what is not known of a machine: how long it waits
(launch and steps), how fast it moves bytes, and how its pipeline fills, each weighed by its share of the time, and a
rest. How far each is off was read from predictions of systems left out, by class of machine and collective, a class
with few systems leaning on all others; what these widths miss is made up for by a factor that covers the share asked
for, from scores that have not seen their own system (cross-conformal prediction: Vovk 2015; Lei et al. 2018).
`interval_widths.json` is made by docs/accuracy/spreads.py. Measurements of one's own move the three and make them
narrower (`given`: Bayesian linear regression, all normal).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import CollsimError
from ..machine.facts import Facts

Floats = npt.NDArray[np.float64]
#: Share of measurements that an interval covers where nobody says.
LEVEL = 0.8
#: Published systems of a class below which its interval is said to lean on others.
FEW = 4
_ROOTED, _POINT_TO_POINT = ("broadcast", "reduce"), ("alltoall", "sendrecv")
_WIRED = {"cube": "mesh"}


@dataclass(frozen=True)
class Shares:
    """Parts of a time: launch and steps; the pipeline between; bytes. They sum to 1."""

    latency: float
    fill: float
    bytes: float

    @property
    def vector(self) -> Floats:
        return np.array([self.latency, self.fill, self.bytes])


@dataclass(frozen=True)
class Interval:
    """Where a time lies with a probability of `level`.

    Attributes:
        low, high: seconds. middle: seconds, the prediction as measurements moved it. systems: published systems of this
        class that it was read from. why: a sentence where they are few; "" else.
    """

    low: float
    high: float
    level: float
    middle: float
    systems: int
    reason: str = ""


@dataclass(frozen=True)
class Point:
    """A measurement of one's own: its shares, and the log of measured over predicted time."""

    shares: Shares
    log_ratio: float


def compute_shares(latency: float, fill: float, moved: float) -> Shares:
    """Seconds of the three parts as shares."""
    total = latency + fill + moved
    return Shares(latency / total, fill / total, moved / total) if total > 0 else Shares(1.0, 0.0, 0.0)


def classify_machine(facts: Facts) -> str:
    """The class of a machine: its network where it has several nodes, else its wiring; GPUs of no table are one."""
    if not facts.gpu_known:
        return "unknown gpu"
    if facts.nodes > 1:
        return facts.net
    return _WIRED.get(facts.wiring, facts.wiring)


def get_family(kind: str) -> str:
    """Classes that lean on one another where few systems are known: NCCL and RCCL, MPI, MPI on nodes full of ranks."""
    return "mpi full" if kind.endswith(" full") else "mpi" if kind.startswith("mpi") else "nccl"


def group_collective(collective: str) -> str:
    """Collectives that are alike in how far they are off."""
    return "rooted" if collective in _ROOTED else "p2p" if collective in _POINT_TO_POINT else "ring"


def compute_interval(
    kind: str, collective: str, parts: Shares, seconds: float, level: float = LEVEL, points: Sequence[Point] = ()
) -> Interval:
    """The interval of a predicted time on a class of machine; `points` are measurements on the same machine.

    Raises CollsimError for a level that is not between 0 and 1.
    """
    if not (isinstance(level, (int, float)) and 0 < level < 1):
        raise CollsimError("level={level!r} must be a share between 0 and 1, such as 0.8", level=level)
    known = _known()[get_family(kind)]
    widths, systems = get_widths(kind, group_collective(collective), known)
    shift, deviation = compute_posterior(widths, known["rest"], parts, points, known["own"])
    half = interpolate_quantile(known["quantiles"], level) * deviation
    middle = seconds * math.exp(shift)
    why = "" if systems >= FEW or points else _few(kind, systems)
    return Interval(middle * math.exp(-half), middle * math.exp(half), level, middle, systems, why)


def _few(kind: str, systems: int) -> str:
    count = "no published system" if not systems else f"{systems} published system" + "s" * (systems > 1)
    return f"the interval leans on other machines: {count} of its class ({kind})"


def get_widths(kind: str, group: str, known: Mapping[str, Any]) -> tuple[Floats, int]:
    """Standard deviations of the three parts, and the systems they were read from."""
    classes = known["classes"]
    found = classes.get(f"{kind}, {group}") or classes.get(kind) or {"widths": known["widths"], "systems": 0}
    return np.array(found["widths"], float), int(found["systems"])


def compute_posterior(
    widths: Floats, rest: float, parts: Shares, points: Sequence[Point], own: float = 0.0
) -> tuple[float, float]:
    """Shift of the log of a time and its standard deviation, once measurements are known; `own` is the share of a
    variance that other sizes say nothing of."""
    here = parts.vector
    prior = np.diag(widths**2)
    alone = own * float(here @ prior @ here) + rest**2
    shared = (1 - own) * prior
    if not points:
        return 0.0, math.sqrt(float(here @ shared @ here) + alone)
    seen = np.stack([point.shares.vector for point in points])
    off = np.array([point.log_ratio for point in points])
    noise = own * np.einsum("ij,jk,ik->i", seen, prior, seen) + rest**2
    gain = shared @ seen.T @ np.linalg.inv(seen @ shared @ seen.T + np.diag(noise))
    left = shared - gain @ seen @ shared
    return float(here @ gain @ off), math.sqrt(max(0.0, float(here @ left @ here)) + alone)


def interpolate_quantile(quantiles: Mapping[str, float], level: float) -> float:
    """Standard deviations on either side that cover this share of what was left out, between the levels kept."""
    levels = np.array([float(name) for name in quantiles])
    return float(np.interp(level, np.concatenate([[0.0], levels]), np.concatenate([[0.0], list(quantiles.values())])))


@cache
def _known() -> dict[str, Any]:
    from importlib.resources import files

    found: dict[str, Any] = json.loads(files(__package__).joinpath("interval_widths.json").read_text(encoding="utf-8"))
    return found
