"""How far from the truth a prediction may be: intervals, from runs of machines that were left out of the fit.

The logarithm of measured over predicted time is taken as a sum of what is not known of a machine: how long it waits
(launch and steps), how fast it moves bytes, and how its pipeline fills, each weighed by its share of the time, and a
rest. How far each is off was read from predictions of systems left out, by class of machine and collective; a class
with few systems is drawn towards all others. What these widths miss is made up for by a factor that covers the share
asked for, from scores that have not seen their own system (cross-conformal prediction: Vovk 2015; Lei et al. 2018).
`interval_widths.json` is made by docs/accuracy/spreads.py. A cluster's own measurements move the three and make them
narrower (`compute_posterior`: Bayesian linear regression, all normal).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from ...errors import CollsimError
from ..machine.facts import Facts

Floats = npt.NDArray[np.float64]
#: Share of measurements that an interval covers unless another level is given.
LEVEL = 0.8
#: Published systems of a class below which its interval is said to lean on others.
FEW = 4
#: Least standard deviation of a class's rate where its published systems are few and others differ: through host
#: memory, the root mean square of ten predictions against 24, 35 (NVIDIA/nccl issue 1130), 28, 35 (issue 1639), 9.2
#: (NVIDIA/nccl-tests issue 228), 5.2, 16.1, 9.1, 4.0 and 30.9 GB/s (the tables) is 0.23.
_LEAST_RATE_WIDTH: dict[str, float] = {"host": 0.25}
_ROOTED, _POINT_TO_POINT = ("broadcast", "reduce"), ("alltoall", "sendrecv")
_WIRED = {"cube": "mesh"}


class ClassWidths(TypedDict):
    """Widths of a class of machines: standard deviations of the three parts, and the published systems behind them."""

    widths: Sequence[float]
    systems: int


class FamilyWidths(TypedDict):
    """Widths of a family of classes, as `interval_widths.json` has them.

    Keys: `rest`, the standard deviation that no part explains; `size_share`, the share of a variance that other sizes
    of the same run say nothing of; `widths` of the whole family; `classes` by name, or name and group of collectives;
    `quantiles`, by level, the standard deviations on either side that cover it.
    """

    rest: float
    size_share: float
    widths: Sequence[float] | Floats
    classes: Mapping[str, ClassWidths]
    quantiles: NotRequired[Mapping[str, float]]


@dataclass(frozen=True)
class Shares:
    """Shares of a time, which sum to 1.

    Attributes:
        latency: launch and steps.
        fill: the pipeline between.
        bytes: moving bytes.
    """

    latency: float
    fill: float
    bytes: float

    @property
    def vector(self) -> Floats:
        """The three as an array."""
        return np.array([self.latency, self.fill, self.bytes])


@dataclass(frozen=True)
class Interval:
    """Where a time lies with some probability.

    Attributes:
        low: seconds.
        high: seconds.
        level: the probability.
        middle: seconds, the prediction as measurements moved it.
        systems: published systems of this class of machine that the interval was read from.
        reason: a sentence where these are few; "" otherwise.

    Examples:
        >>> import collsim as cs
        >>> interval = cs.nccl.predict("allreduce", cs.machine("dgx-a100"), "1GiB").interval(0.9)
        >>> interval.low < interval.middle < interval.high
        True
    """

    low: float
    high: float
    level: float
    middle: float
    systems: int
    reason: str = ""


@dataclass(frozen=True)
class Point:
    """A measurement on the machine that is predicted.

    Attributes:
        shares: shares of the predicted time.
        log_ratio: logarithm of measured over predicted time.
    """

    shares: Shares
    log_ratio: float


def compute_shares(latency: float, fill: float, bytes_time: float) -> Shares:
    """Compute the shares of three parts of a time.

    Args:
        latency: seconds of launch and steps.
        fill: seconds of the pipeline.
        bytes_time: seconds of moving bytes.

    Returns:
        The shares; all latency where the time is 0.
    """
    total = latency + fill + bytes_time
    if total > 0:
        return Shares(latency / total, fill / total, bytes_time / total)
    return Shares(1.0, 0.0, 0.0)


def classify_machine(facts: Facts) -> str:
    """Find the class of a machine.

    Args:
        facts: the machine.

    Returns:
        Its network where it has several nodes, else its wiring; `unknown gpu` for GPUs of no table.
    """
    if not facts.gpu_known:
        return "unknown gpu"
    return classify_wires(facts)


def classify_wires(facts: Facts) -> str:
    """Find the class of a machine by its wires alone.

    Args:
        facts: the machine.

    Returns:
        Its network where it has several nodes, else its wiring.
    """
    if facts.nodes > 1:
        return facts.net
    return _WIRED.get(facts.wiring, facts.wiring)


def get_family(kind: str) -> str:
    """Get the family of a class: classes of one family lean on one another where few systems are known.

    Args:
        kind: class of a machine.

    Returns:
        `nccl` (with RCCL), `mpi`, or `mpi full` for MPI on nodes full of ranks.
    """
    if kind.endswith(" full"):
        return "mpi full"
    if kind.startswith("mpi"):
        return "mpi"
    return "nccl"


def group_collective(collective: str) -> str:
    """Get the group of a collective: those of one group are alike in how far they are off.

    Args:
        collective: collsim's name of it.

    Returns:
        `rooted`, `p2p` or `ring`.
    """
    if collective in _ROOTED:
        return "rooted"
    if collective in _POINT_TO_POINT:
        return "p2p"
    return "ring"


def compute_interval(
    kind: str,
    collective: str,
    shares: Shares,
    seconds: float,
    level: float = LEVEL,
    points: Sequence[Point] = (),
    wires: str = "",
) -> Interval:
    """Compute the interval of a predicted time.

    Args:
        kind: class of the machine.
        collective: collsim's name of it.
        shares: shares of the predicted time.
        seconds: the predicted time.
        level: the probability that the interval covers.
        points: measurements on the same machine.
        wires: class of the machine by its wires, where `kind` is of an unknown GPU: no part is surer than for a known
            GPU on the same wires.

    Returns:
        The interval.

    Raises:
        CollsimError: for a level that is not between 0 and 1.
    """
    if not (isinstance(level, (int, float)) and 0 < level < 1):
        raise CollsimError("level={level!r} must be a share between 0 and 1, such as 0.8", level=level)
    family = _load_widths()[get_family(kind)]
    widths, systems = get_widths(kind, group_collective(collective), family)
    widths[2] = max(widths[2], _LEAST_RATE_WIDTH.get(wires or kind, 0.0))
    if wires and wires != kind:
        widths = np.maximum(widths, get_widths(wires, group_collective(collective), family)[0])
    shift, deviation = compute_posterior(widths, family["rest"], shares, points, family["size_share"])
    half_width = interpolate_quantile(family["quantiles"], level) * deviation
    middle = seconds * math.exp(shift)
    reason = ""
    if not (systems >= FEW or points):
        reason = _describe_few_systems(kind, systems)
    low, high = middle * math.exp(-half_width), middle * math.exp(half_width)
    return Interval(low, high, level, middle, systems, reason)


def _describe_few_systems(kind: str, systems: int) -> str:
    count = "no published system"
    if systems:
        count = f"{systems} published system" + "s" * (systems > 1)
    return f"the interval leans on other machines: {count} of its class ({kind})"


def get_widths(kind: str, group: str, family: FamilyWidths) -> tuple[Floats, int]:
    """Get the widths of a class of machines.

    Args:
        kind: class of the machine.
        group: group of the collective.
        family: widths of the class's family.

    Returns:
        Standard deviations of the three parts (latency, fill, bytes), and the published systems behind them.
    """
    classes = family["classes"]
    widths = classes.get(f"{kind}, {group}") or classes.get(kind)
    if widths is None:
        return np.array(family["widths"], float), 0
    return np.array(widths["widths"], float), int(widths["systems"])


def compute_posterior(
    widths: Floats, rest: float, shares: Shares, points: Sequence[Point], size_share: float = 0.0
) -> tuple[float, float]:
    """Compute how measurements move a prediction: Bayesian linear regression on the logarithm of the time.

    Args:
        widths: standard deviations of the three parts before.
        rest: standard deviation of what no part explains.
        shares: shares of the predicted time.
        points: measurements on the same machine.
        size_share: the share of a variance that other sizes say nothing of.

    Returns:
        Shift of the log of the time, and its standard deviation.
    """
    parts = shares.vector
    prior = np.diag(widths**2)
    unshared = size_share * float(parts @ prior @ parts) + rest**2
    shared = (1 - size_share) * prior
    if not points:
        return 0.0, math.sqrt(float(parts @ shared @ parts) + unshared)
    measured = np.stack([point.shares.vector for point in points])
    log_ratios = np.array([point.log_ratio for point in points])
    noise = size_share * np.einsum("ij,jk,ik->i", measured, prior, measured) + rest**2
    gain = shared @ measured.T @ np.linalg.inv(measured @ shared @ measured.T + np.diag(noise))
    posterior = shared - gain @ measured @ shared
    variance = max(0.0, float(parts @ posterior @ parts)) + unshared
    return float(parts @ gain @ log_ratios), math.sqrt(variance)


def interpolate_quantile(quantiles: Mapping[str, float], level: float) -> float:
    """Interpolate how many standard deviations cover a share of what was left out.

    Args:
        quantiles: standard deviations on either side, by level.
        level: the share.

    Returns:
        Standard deviations on either side.
    """
    levels = np.array([float(name) for name in quantiles])
    return float(np.interp(level, np.concatenate([[0.0], levels]), np.concatenate([[0.0], list(quantiles.values())])))


@cache
def _load_widths() -> dict[str, FamilyWidths]:
    from importlib.resources import files  # takes longer than a prediction, and most need no interval

    text = files(__package__).joinpath("interval_widths.json").read_text(encoding="utf-8")
    widths: dict[str, FamilyWidths] = json.loads(text)
    return widths
