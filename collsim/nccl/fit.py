"""Find what links carry from measured times: few named factors, by robust least squares on log(predicted / measured).

`calibrate` does it for one cluster; `crossval` finds the constants in `links` with the same solver, and checks them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..errors import CollsimError, unknown
from ..simulate.trace import views
from ..topology import Topology
from ..topology.calibrated import Figures, Measured, calibrated
from ..topology.network import Hop
from ..units import format_bytes, format_time
from .calibrated import CLUSTER, Knobs, beyond, calibration_of, fitted_on, turned
from .facts import Facts
from .graphs import communicator
from .links import MEASURED, Parameters
from .machines import facts_of, searched
from .predict import Prediction, collective_name, predict
from .timing import Call, hops, inside_rate, net_rate, step_time, time_of
from .tuner import choose

Floats = npt.NDArray[np.float64]
_NUDGE = 1e-4
#: Kinds of link that carry a ring inside a node where it has no links of GPUs' own all around.
_KINDS_INSIDE = {"pcie": ("c2c", "pcie"), "host": ("c2c", "pcie")}
#: How strongly factors are kept near 1, and the log ratio from which a measurement counts as an outlier.
_PULL, _OUTLIER = 0.15, 0.1


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
        machine: the machine with it: a Topology whose links carry what was measured, for `predict` and `simulate` alike (Facts stay Facts).
        links: the same for `predict(..., links=...)`.
        factors: knob -> factor on collsim's own figure; only those that this log says something about.
        residuals: a row per measurement: nbytes, measured and predicted seconds, ratio.
        fitted_on: what was measured: sizes (smallest and largest, bytes), ranks, collectives, gpu, nodes, inside, net, gdr.
        error: median relative error of the fit.
    """

    machine: Facts | Topology
    links: Parameters
    factors: Mapping[str, float]
    residuals: pd.DataFrame
    fitted_on: Mapping[str, Any]

    @property
    def error(self) -> float:
        return float((self.residuals.ratio - 1).abs().median())

    @property
    def unknown(self) -> tuple[str, ...]:
        """Knobs that no measurement of this log moves: they stay as collsim has them."""
        return tuple(name for name in CLUSTER if name not in self.factors)

    def predict(self, collective: str, nbytes: Any, *, extrapolate: bool = False, **environment: Any) -> Prediction:
        """As `predict`, with these links. Raises CollsimError beyond what was measured, unless `extrapolate` is said."""
        found = predict(collective, self.machine, nbytes, links=self.links, **environment)
        guessed = tuple(beyond(self.fitted_on, facts_of(self.machine), found.collective, found.nbytes))
        if guessed and not extrapolate:
            raise CollsimError(f"{'; '.join(guessed)}; say extrapolate=True to go there all the same")
        return replace(found, notes=(*found.notes, *guessed))

    def save(self, path: str | Path) -> None:
        """Write the machine as YAML, whole or not at all: `load_topology` gives it back calibrated.

        Raises CollsimError where there is no Topology to write: for Facts, and for a suffix other than .yaml or .yml.
        """
        if not isinstance(self.machine, Topology):
            raise CollsimError("Facts have no links to write down; calibrate a topology, for example machine('dgx-a100', nodes=2)")
        views["save"](self.machine, path)

    def __str__(self) -> str:
        lines = [f"{len(self.residuals)} measurements, median error {self.error:.1%} after fitting"]
        lines += [f"  {name:36s} x {factor:.2f}" for name, factor in self.factors.items()]
        if isinstance(self.machine, Topology):
            known = calibration_of(self.machine)
            lines += [
                f"  {kind} links: {f.carries:.0%} of nominal, {format_time(f.alpha)} each"
                for kind, f in (known.links if known else {}).items()
            ]
        worst = self.residuals.assign(off=(self.residuals.ratio - 1).abs()).nlargest(3, "off")
        lines += [
            f"  farthest off: {format_bytes(int(size))} predicted {ratio:.2f} x measured"
            for size, ratio in zip(worst.nbytes, worst.ratio, strict=True)
        ]
        if self.unknown:
            lines.append(f"  this log says nothing about: {', '.join(self.unknown)}")
        return "\n".join(lines)


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
    spoken = {name: CLUSTER[name] for name in CLUSTER if moved(samples, MEASURED, CLUSTER[name])}
    factors = solve(samples, MEASURED, spoken, pull=_PULL, scale=_OUTLIER)
    links = turned(MEASURED, CLUSTER, factors)
    predicted = np.array([time_of(replace(s.call, links=links)).total for s in samples])
    residuals = pd.DataFrame({"nbytes": usable.nbytes.to_numpy(), "measured": usable.time.to_numpy(), "predicted": predicted})
    residuals["ratio"] = residuals.predicted / residuals.measured
    sizes, ranks = (int(usable.nbytes.min()), int(usable.nbytes.max())), sorted({s.call.facts.ranks for s in samples})
    seen = fitted_on(facts, sizes, ranks, sorted({s.call.collective for s in samples}))
    found = Calibration(machine, links, factors, residuals, seen)
    if not isinstance(machine, Topology):
        return found
    return replace(found, machine=calibrated(machine, Measured(figures(machine, links), factors, seen, round(found.error, 4))))


def figures(machine: Topology, links: Parameters) -> dict[str, Figures]:
    """What cables of each kind carry and what they take to cross, for simulations of whole chunks.

    A ring's share of the nominal rate; and of a step of the protocol Simple, which moves whole chunks as a simulation does, what the
    cables of other kinds on that way leave. Kinds are those between neighbours in a node, and between nodes.
    """
    facts, found = facts_of(machine), dict[str, Figures]()
    call = Call("allgather", "Ring", "Simple", 2**30, facts, communicator(facts, found=searched(facts)), links)
    per_node = facts.ranks // facts.nodes
    if facts.local > 1:
        one = replace(call, facts=replace(facts, ranks=facts.local, nodes=1, hosts=0))
        step = step_time(one, "allgather", "Simple") / (facts.local - 1)
        kinds = _KINDS_INSIDE.get(facts.inside, ("nvlink", "xgmi"))
        ways = (machine.route(0, peer) for peer in range(1, facts.local))
        way = next((w for w in ways if any(hop.kind in kinds for hop in w)), [])  # pairs may have a bridge that the ring's others lack
        found |= _of_way(way, kinds, inside_rate(call) / facts.link_rate, step)
    if facts.nodes > 1:
        near, far = hops("allgather", "Ring", facts)
        inside = 0.0 if not near else near * step
        step = (step_time(call, "allgather", "Simple") - inside) / far
        way = [hop._replace(alpha=found[hop.kind].alpha) if hop.kind in found else hop for hop in machine.route(0, per_node)]
        found |= _of_way(way, ("infiniband", "ethernet", "cable"), net_rate(call) / (facts.nics * facts.nic_rate), step)
    return found


def _of_way(way: Sequence[Hop], kinds: Sequence[str], carries: float, step: float) -> dict[str, Figures]:
    """Figures of the first of these kinds that is on the way."""
    kind = next((k for k in kinds if any(hop.kind == k for hop in way)), None)
    if kind is None:
        return {}
    others = sum(hop.alpha for hop in way if hop.kind != kind)
    return {kind: Figures(carries, max(0.0, step - others) / sum(hop.kind == kind for hop in way))}


def sample(row: Any, facts: Facts, environment: Mapping[str, str]) -> Sample:
    """A measured row as a call with the algorithm and protocol that NCCL would choose."""
    ranks = getattr(row, "ranks", None)
    here = facts_of(facts, int(ranks)) if ranks is not None and ranks == ranks and int(ranks) > 0 else facts
    comm, size = communicator(here, found=searched(here)), int(row.nbytes)
    name = collective_name(row.collective)
    if name in ("alltoall", "sendrecv"):
        return Sample(Call(name, "Ring", "Simple", size, here, comm), float(row.time))
    choice = choose(name, comm, size, environment.get("NCCL_ALGO", ""), environment.get("NCCL_PROTO", ""))
    return Sample(Call(name, choice.algorithm, choice.protocol, size, here, comm), float(row.time))


def moved(samples: Sequence[Sample], start: Parameters, knob: tuple[tuple[str, tuple[str | int, ...]], ...]) -> bool:
    """Does turning this knob, up or down, change the time of any sample?"""
    either = [turned(start, {"it": knob}, {"it": factor}) for factor in (math.exp(-0.5), math.exp(0.5))]
    return any(
        time_of(replace(s.call, links=links)).total != time_of(replace(s.call, links=start)).total for s in samples for links in either
    )


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
