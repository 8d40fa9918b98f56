"""Find what links carry from measured times: few named factors, by robust least squares on log(predicted / measured).

`calibrate` does it for one cluster; `crossval` finds the constants in `links` with the same solver, and checks them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import yaml

from ..errors import CollsimError, FormatError, unknown
from ..topology import Topology
from ..units import format_bytes, parse_bytes
from .facts import Facts
from .graphs import communicator
from .links import MEASURED, Parameters
from .machines import facts_of
from .predict import Prediction, collective_name, predict
from .timing import Call, time_of
from .tuner import choose

Floats = npt.NDArray[np.float64]
_NUDGE = 1e-4

#: A knob scales the entries named (all entries of a field where none is): name -> ((field, entries), ...).
Knobs = Mapping[str, tuple[tuple[str, tuple[str | int, ...]], ...]]

#: What `calibrate` turns: few, so that a single sweep can determine them.
CLUSTER: Knobs = {
    "launch": (("launch", ()), ("launch_p2p", ()), ("launch_per_gpu", ()), ("peer", ())),
    "latency per step, LL and LL128": (("step", ()), ("rendezvous", ())),
    "latency per step, Simple": (("step_bulk", ()),),
    "bandwidth": (
        ("carries", ()),
        ("nvls_carries", ()),
        ("host_one_way", ()),
        ("tcp_per_nic", ()),
        ("channel_rate", ()),
    ),
    "pipeline of LL": (("fill", ("LL",)),),
    "pipeline of LL128": (("fill", ("LL128",)),),
    "pipeline of Simple": (("fill", ("Simple",)),),
}


@dataclass(frozen=True)
class Sample:
    """A measured call and its weight; `seconds` is what it took."""

    call: Call
    seconds: float
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a cluster's own measurements say about its links.

    Attributes:
        links: give it to `predict(..., links=...)`.
        factors: knob -> factor on collsim's own constants.
        residuals: a row per measurement: nbytes, measured and predicted seconds, ratio.
        smallest, largest: the sizes it was fitted on, bytes.
        error: median relative error of the fit.
    """

    links: Parameters
    factors: Mapping[str, float]
    residuals: pd.DataFrame
    facts: Facts
    smallest: int
    largest: int

    @property
    def error(self) -> float:
        return float((self.residuals.ratio - 1).abs().median())

    def predict(self, collective: str, nbytes: Any, *, extrapolate: bool = False, **environment: Any) -> Prediction:
        """As `predict`, with these links. Raises CollsimError beyond the sizes measured, unless `extrapolate` is said."""
        size = parse_bytes(nbytes)
        if not extrapolate and not self.smallest <= size <= self.largest:
            seen = f"{format_bytes(self.smallest)} to {format_bytes(self.largest)}"
            raise CollsimError(
                f"{format_bytes(size)} is outside the sizes measured ({seen}); say extrapolate=True to go there all the same"
            )
        return predict(collective, self.facts, size, links=self.links, **environment)

    def save(self, path: str | Path) -> None:
        """Write the factors as YAML; `load_links` reads them."""
        content = {
            "nccl_links": {k: float(v) for k, v in self.factors.items()},
            "fitted_on": {"sizes": [self.smallest, self.largest], "gpu": self.facts.gpu, "ranks": self.facts.ranks},
            "median_error": round(self.error, 4),
        }
        Path(path).write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))

    def __str__(self) -> str:
        turned = "\n".join(f"  {name:32s} x {factor:.2f}" for name, factor in self.factors.items())
        return f"{len(self.residuals)} measurements, median error {self.error:.1%} after fitting\n{turned}"


def load_links(path: str | Path) -> Parameters:
    """Links from a file that `Calibration.save` wrote. Raises FormatError for one that it did not."""
    try:
        content = yaml.safe_load(Path(path).read_text())
        factors = {str(k): float(v) for k, v in content["nccl_links"].items()}
        return turned(MEASURED, CLUSTER, factors)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, AttributeError, TypeError, KeyError, ValueError) as error:
        raise FormatError(f"{path}: not a calibration that collsim wrote: {error}") from error


def calibrate(measured: pd.DataFrame, machine: Facts | Topology, **environment: str) -> Calibration:
    """Fit the links of one cluster to its own nccl-tests log.

    Args:
        measured: columns `collective, nbytes, time` (seconds) and perhaps `ranks`, as `exchange` reads nccl-tests' output.
        machine: where it ran.
        environment: NCCL_ALGO, NCCL_PROTO as they were set.

    Raises CollsimError for a table with fewer than 4 usable rows or without those columns.
    """
    if missing := [name for name in ("collective", "nbytes", "time") if name not in measured]:
        raise CollsimError(f"calibrate wants columns collective, nbytes and time; {', '.join(missing)} is missing")
    if strange := set(environment) - {"NCCL_ALGO", "NCCL_PROTO"}:
        raise CollsimError(unknown("variable of calibrate", sorted(strange)[0], ("NCCL_ALGO", "NCCL_PROTO")))
    usable = measured[(measured.time > 0) & (measured.nbytes > 0)]
    if len(usable) < 4:
        raise CollsimError(
            f"{len(usable)} usable rows are too few to calibrate with; run nccl-tests over a range of sizes (-b 8 -e 1G -f 2)"
        )
    facts = facts_of(machine)
    samples = [sample(row, facts, environment) for row in usable.itertuples()]
    factors = solve(samples, MEASURED, CLUSTER, pull=0.05, scale=0.1)
    links = turned(MEASURED, CLUSTER, factors)
    predicted = np.array([time_of(replace(s.call, links=links)).total for s in samples])
    residuals = pd.DataFrame({"nbytes": usable.nbytes.to_numpy(), "measured": usable.time.to_numpy(), "predicted": predicted})
    residuals["ratio"] = residuals.predicted / residuals.measured
    return Calibration(links, factors, residuals, facts, int(usable.nbytes.min()), int(usable.nbytes.max()))


def sample(row: Any, facts: Facts, environment: Mapping[str, str]) -> Sample:
    """A measured row as a call with the algorithm and protocol that NCCL would choose."""
    ranks = getattr(row, "ranks", None)
    here = facts_of(facts, int(ranks)) if ranks is not None and ranks == ranks and int(ranks) > 0 else facts
    comm, size = communicator(here), int(row.nbytes)
    name = collective_name(row.collective)
    if name in ("alltoall", "sendrecv"):
        return Sample(Call(name, "Ring", "Simple", size, here, comm), float(row.time))
    choice = choose(name, comm, size, environment.get("NCCL_ALGO", ""), environment.get("NCCL_PROTO", ""))
    return Sample(Call(name, choice.algorithm, choice.protocol, size, here, comm), float(row.time))


def turned(links: Parameters, knobs: Knobs, factors: Mapping[str, float]) -> Parameters:
    """Links with knobs turned by these factors. Raises CollsimError for an unknown knob."""
    values: dict[str, Any] = {f.name: getattr(links, f.name) for f in fields(links)}
    for knob, factor in factors.items():
        if knob not in knobs:
            raise CollsimError(unknown("knob", knob, knobs))
        for name, entries in knobs[knob]:
            value = values[name]
            if isinstance(value, Mapping):
                values[name] = {k: v * factor if not entries or k in entries else v for k, v in value.items()}
            else:
                values[name] = value * factor
    return Parameters(**values)


def solve(
    samples: Sequence[Sample], start: Parameters, knobs: Knobs, pull: float | Mapping[str, float], scale: float = 0.25
) -> dict[str, float]:
    """Factors that bring predictions closest to what was measured.

    Levenberg-Marquardt on log ratios with a soft L1 loss of width `scale`; `pull`, one for all or by knob, keeps factors near 1 where
    data say little.
    """
    names = list(knobs)
    pulls = np.array([pull[name] if isinstance(pull, Mapping) else pull for name in names])
    want = np.log([s.seconds for s in samples])
    weight = np.array([s.weight for s in samples])

    def times(x: Floats, at: Sequence[int] | npt.NDArray[np.intp]) -> Floats:
        links = turned(start, knobs, dict(zip(names, np.exp(x), strict=True)))
        return np.log([time_of(replace(samples[i].call, links=links)).total for i in at])

    def residuals(x: Floats, seconds: Floats) -> Floats:
        ratio = seconds - want
        soft = np.sign(ratio) * np.sqrt(2 * (np.sqrt(1 + (ratio / scale) ** 2) - 1))
        return np.concatenate([weight * soft, pulls * x])

    everything, still = range(len(samples)), np.zeros(len(names))
    usual = times(still, everything)
    # most knobs move few samples, and only those need another look for the slope
    moved = [np.flatnonzero(np.any([times(s * e, everything) != usual for s in (-0.5, 0.5)], axis=0)) for e in np.eye(len(names))]

    def slope(x: Floats, seconds: Floats) -> Floats:
        at, columns = residuals(x, seconds), []
        for e, those in zip(np.eye(len(names)), moved, strict=True):
            near, nudged = x + _NUDGE * e, seconds.copy()
            nudged[those] = times(near, those)
            columns.append((residuals(near, nudged) - at) / _NUDGE)
        return np.stack(columns, axis=1)

    found = _levenberg_marquardt(lambda x: times(x, everything), residuals, slope, still)
    return dict(zip(names, np.exp(found).tolist(), strict=True))


def _levenberg_marquardt(
    seconds: Callable[[Floats], Floats],
    residuals: Callable[[Floats, Floats], Floats],
    slope: Callable[[Floats, Floats], Floats],
    x: Floats,
    rounds: int = 25,
) -> Floats:
    """Smallest sum of squares near x; stops when a round gains less than 1 in 10,000."""
    damping, now = 1e-2, seconds(x)
    at = residuals(x, now)
    for _ in range(rounds):
        jacobian, before = slope(x, now), float(at @ at)
        for _ in range(8):
            square = jacobian.T @ jacobian
            step = np.clip(np.linalg.solve(square + damping * np.diag(np.diag(square) + 1e-9), -jacobian.T @ at), -1, 1)
            there = seconds(x + step)
            trial = residuals(x + step, there)
            if trial @ trial < before:
                x, now, at, damping = x + step, there, trial, damping / 5
                break
            damping *= 5
        if before - float(at @ at) < 1e-4 * before:
            break
    return x
