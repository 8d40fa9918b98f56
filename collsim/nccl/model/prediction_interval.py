"""How far from the truth a prediction may be: intervals, from runs of machines that were left out of the fit.

The logarithm of measured over predicted time is taken as a sum of what is not known of a machine: how long it waits
(launch and steps), how fast it moves bytes, and how its pipeline fills, each weighed by its share of the time; inputs
that nobody stated (`unknown_inputs`); and a rest. How far each is off towards shorter and towards longer times was read
from predictions of systems left out, by class of machine and collective; a class with few systems is drawn towards all
others, and one of which nothing is known has what whole kinds of machine left out were off. What these widths miss is
made up for by a factor that covers the share asked for on each side, from scores that have not seen their own system
(cross-conformal prediction: Vovk 2015; Lei et al. 2018). `interval_widths.json` is made by docs/accuracy/spreads.py. A
cluster's own measurements move the three and make them narrower (`compute_posterior`: Bayesian linear regression, all
normal).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypedDict

import numpy as np
import numpy.typing as npt

from ...errors import CollsimError, Sentence
from ...package_data import read_package_file
from ..machine.machine_facts import Facts

Floats = npt.NDArray[np.float64]
#: Towards shorter and towards longer times, with the sign of the logarithm of measured over predicted.
Side = Literal["fast", "slow"]
SIDES: Mapping[Side, int] = {"fast": -1, "slow": 1}
#: Share of measurements that an interval covers unless another level is given.
LEVEL = 0.8
#: Published systems of a class below which its interval is said to lean on others.
FEW = 4
_KNOWN: Mapping[Side, float] = {"fast": 0.0, "slow": 0.0}
_ROOTED, _POINT_TO_POINT = ("broadcast", "reduce"), ("alltoall", "sendrecv")
_WIRED = {"cube": "mesh"}


class ClassWidths(TypedDict):
    """Widths of a class of machines: standard deviations of the three parts on either side, and the published systems
    behind them."""

    fast: Sequence[float]
    slow: Sequence[float]
    systems: int


class FamilyWidths(TypedDict):
    """Widths of a family of classes, as `interval_widths.json` has them.

    Keys: `rest`, the standard deviation that no part explains; `size_share`, the share of a variance that other sizes
    of the same run say nothing of; `classes` by name, or name and group of collectives, "" for any other; `quantiles`
    by side and level: the standard deviations on that side that cover it.
    """

    rest: float
    size_share: float
    classes: Mapping[str, ClassWidths]
    quantiles: Mapping[Side, Mapping[str, float]]


@dataclass(frozen=True)
class Shares:
    """Shares of a time, which sum to 1, and what nobody stated.

    Attributes:
        latency: launch and steps.
        fill: the pipeline between.
        bytes: moving bytes.
        unknown: standard deviations of the logarithm of the time, by side, for each input that nobody stated.
    """

    latency: float
    fill: float
    bytes: float
    unknown: Mapping[str, Mapping[Side, float]] = field(default_factory=dict)

    @property
    def vector(self) -> Floats:
        """The three shares as an array."""
        return np.array([self.latency, self.fill, self.bytes])

    def weigh(self, side: Side, names: Sequence[str]) -> Floats:
        """Weigh what may be off: the three parts by their shares, unknown inputs by what they make of the time.

        Args:
            side: towards shorter or longer times.
            names: unknown inputs, in this order.

        Returns:
            Three weights, and one for each name.
        """
        return np.concatenate([self.vector, [self.unknown.get(name, _KNOWN)[side] for name in names]])


@dataclass(frozen=True)
class Interval:
    """Where a time lies with some probability.

    Attributes:
        low: seconds.
        high: seconds.
        level: the probability.
        middle: seconds, the prediction as measurements moved it.
        systems: published systems of this class of machine that the interval was read from.
        reason: a sentence where these are few; None otherwise.

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
    reason: Sentence | None = None

    @property
    def ratio(self) -> float:
        """`high` over `low`."""
        return self.high / self.low


@dataclass(frozen=True)
class Point:
    """A measurement on the machine that is predicted.

    Attributes:
        shares: shares of the predicted time.
        log_ratio: logarithm of measured over predicted time.
    """

    shares: Shares
    log_ratio: float


def compute_shares(
    latency: float, fill: float, bytes_time: float, unknown: Mapping[str, Mapping[Side, float]] | None = None
) -> Shares:
    """Compute the shares of three parts of a time.

    Args:
        latency: seconds of launch and steps.
        fill: seconds of the pipeline.
        bytes_time: seconds of moving bytes.
        unknown: as for `Shares`; None: all inputs are known.

    Returns:
        The shares; all latency where the time is 0.
    """
    total, inputs = latency + fill + bytes_time, unknown or {}
    if total > 0:
        return Shares(latency / total, fill / total, bytes_time / total, inputs)
    return Shares(1.0, 0.0, 0.0, inputs)


def classify_machine(facts: Facts) -> str:
    """Find the class of a machine.

    Args:
        facts: the machine.

    Returns:
        Its network where it has several nodes, else its wiring; `nvlink domain` for NVSwitches that join several hosts.
    """
    if facts.nodes > 1:
        return facts.net
    if facts.has_nvswitch and facts.trays > 1:
        return "nvlink domain"
    return _WIRED.get(facts.wiring, facts.wiring)


def get_family(kind: str) -> str:
    """Get the family of a class: classes of one family lean on one another where few systems are known.

    Args:
        kind: class of a machine.

    Returns:
        `nccl` (with RCCL) or `mpi`.
    """
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
) -> Interval:
    """Compute the interval of a predicted time.

    Args:
        kind: class of the machine.
        collective: collsim's name of it.
        shares: shares of the predicted time, and what nobody stated.
        seconds: the predicted time.
        level: the probability that the interval covers.
        points: measurements on the same machine.

    Returns:
        The interval.

    Raises:
        CollsimError: for a level that is not between 0 and 1.
    """
    if not (isinstance(level, (int, float)) and 0 < level < 1):
        raise CollsimError("level={level!r} must be a share between 0 and 1, such as 0.8", level=level)
    family, group = _load_widths()[get_family(kind)], group_collective(collective)
    low, shift, high = compute_log_ends(kind, group, family, shares, level, points)
    systems, reason = get_widths(kind, group, family)["systems"], None
    if not (systems >= FEW or points):
        reason = _describe_few_systems(kind, systems)
    return Interval(
        seconds * math.exp(low), seconds * math.exp(high), level, seconds * math.exp(shift), systems, reason
    )


def compute_log_ends(
    kind: str, group: str, family: FamilyWidths, shares: Shares, level: float, points: Sequence[Point] = ()
) -> tuple[float, float, float]:
    """Compute an interval on the logarithm of measured over predicted time.

    Args:
        kind: class of the machine.
        group: group of the collective.
        family: widths of the class's family.
        shares: shares of the predicted time, and what nobody stated.
        level: the probability that the interval covers.
        points: measurements on the same machine.

    Returns:
        Low end, middle, high end.
    """
    known = get_widths(kind, group, family)
    fast, slow = (compute_posterior(known, side, family, shares, points) for side in SIDES)
    # Each side has its own widths, so measurements shift it by a little more or less: the side counts towards which
    # they point.
    shift = slow[0]
    if shift < 0:
        shift = fast[0]
    low = shift - fast[1] * interpolate_quantile(family["quantiles"]["fast"], level)
    high = shift + slow[1] * interpolate_quantile(family["quantiles"]["slow"], level)
    return low, shift, high


def _describe_few_systems(kind: str, systems: int) -> Sentence:
    template = "the interval leans on other machines: published systems of its class ({kind}): {systems}"
    return Sentence(template, kind=kind, systems=systems)


def get_widths(kind: str, group: str, family: FamilyWidths) -> ClassWidths:
    """Get the widths of a class of machines.

    Args:
        kind: class of the machine.
        group: group of the collective.
        family: widths of the class's family.

    Returns:
        Those of the class and group, else of the class, else of any class.
    """
    classes = family["classes"]
    return next(classes[name] for name in (f"{kind}, {group}", kind, "") if name in classes)


def compute_posterior(
    known: ClassWidths, side: Side, family: FamilyWidths, shares: Shares, points: Sequence[Point] = ()
) -> tuple[float, float]:
    """Compute how measurements move a prediction: Bayesian linear regression on the logarithm of the time.

    Args:
        known: widths of the class before.
        side: towards shorter or longer times.
        family: `rest` and `size_share` count.
        shares: shares of the predicted time, and what nobody stated.
        points: measurements on the same machine.

    Returns:
        Shift of the log of the time, and its standard deviation on that side.
    """
    names = sorted({name for part in (shares, *(point.shares for point in points)) for name in part.unknown})
    weights, prior = shares.weigh(side, names), np.diag([*np.square(known[side]), *(1.0 for _ in names)])
    rest, size_share = family["rest"], family["size_share"]
    unshared = size_share * float(weights @ prior @ weights) + rest**2
    shared = (1 - size_share) * prior
    if not points:
        return 0.0, math.sqrt(float(weights @ shared @ weights) + unshared)
    measured = np.stack([point.shares.weigh(side, names) for point in points])
    log_ratios = np.array([point.log_ratio for point in points])
    # Row by row x' P x: what a size has of its own, and what no part explains, is noise of that measurement.
    noise = size_share * np.einsum("ij,jk,ik->i", measured, prior, measured) + rest**2
    # The gain of a Kalman filter: prior mean 0, so the posterior mean is the gain times what was measured.
    gain = shared @ measured.T @ np.linalg.inv(measured @ shared @ measured.T + np.diag(noise))
    posterior = shared - gain @ measured @ shared
    variance = max(0.0, float(weights @ posterior @ weights)) + unshared
    return float(weights @ gain @ log_ratios), math.sqrt(variance)


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
    widths: dict[str, FamilyWidths] = json.loads(read_package_file(__file__, "interval_widths.json"))
    return widths
