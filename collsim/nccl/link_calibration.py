"""Fit effective link bandwidths to measured times: few named factors, by robust least squares on
log(predicted / measured).

`fit_calibration` does it for one cluster; `docs/accuracy/crossval.py` finds and checks the
constants of `model.links` with the same solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from ..errors import CollsimError, describe_unknown, join_words
from ..errors.arguments import check_arguments
from ..simulate.trace import views
from ..topology import Topology
from ..topology.calibrated import LinkFigures, Measured, SizeCorrection, calibrate_links
from ..topology.network import Hop
from ..units import ByteSize, format_bytes, format_time
from .machine.fabric_cost import compute_fabric_cost
from .machine.flows import MachineCall
from .machine.link_loads import compute_link_loads
from .machine.machine_facts import Facts
from .machine.topology_facts import build_graph_search, read_facts
from .model.algorithm_time import Call, compute_link_times, compute_step_time, compute_time, count_hops
from .model.calibration_knobs import (
    CLUSTER,
    Knobs,
    apply_knobs,
    describe_poor_fit,
    find_extrapolations,
    interpolate_size_correction,
    select_pinned_settings,
    summarize_fit_data,
)
from .model.links import MEASURED, LinkParameters
from .model.relative_error import compute_relative_error
from .model.tuner import choose_algorithm
from .nccl_environment import PredictOptions
from .nccl_prediction import Prediction, apply_calibration, parse_collective, predict
from .tuner_graphs import build_communicator

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
#: Change of the logarithm of a factor by which its derivative is taken.
_DERIVATIVE_STEP = 1e-4
#: Kinds of link that carry a ring inside a node where it has no links of GPUs' own all around.
_KINDS_INSIDE = {"pcie": ("c2c", "pcie"), "host": ("c2c", "pcie")}
#: How strongly factors are kept near 1, and the log ratio from which a measurement counts as an outlier.
_PULL, _OUTLIER = 0.15, 0.1
#: Width in octaves over which what the factors leave is smoothed, the weight of the prior (that nothing is left), and
#: the sizes from which on the fit is checked with half of them.
_OCTAVES, _PRIOR_WEIGHT, _FEWEST_SIZES = 1.0, 0.1, 8


@dataclass(frozen=True)
class Sample:
    """A measured call, for a fit.

    Attributes:
        call: what was called: collective, size, algorithm, protocol and machine, as the model takes it.
        seconds: s that it took.
        weight: factor on its error in the fit.
    """

    call: Call
    seconds: float
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a cluster's own measurements say about its links.

    Attributes:
        machine: the machine with it: a Topology whose links carry what was measured, for `predict` and `simulate` alike
            (Facts stay Facts).
        links: the same for `predict(..., links=...)`, without the corrections by size.
        measured: factors (knob -> factor on collsim's own figure; only those that this log says something about), what
            was measured, errors, and `size_corrections`: what the knobs leave, by size.
        residuals: a row per measurement: collective, nbytes, measured and predicted seconds, ratio.

    Examples:
        >>> import collsim as cs
        >>> import pandas as pd
        >>> log = pd.DataFrame({"nbytes": [2**20, 2**22, 2**24, 2**26], "time": [9e-5, 2e-4, 5e-4, 1.2e-3]})
        >>> calibration = cs.nccl.fit_calibration(log.assign(collective="allreduce"), cs.machine("dgx-a100", nodes=2))
        >>> abs(calibration.predict("allreduce", "64MiB").time / 1.2e-3 - 1) < 0.05
        True
    """

    machine: Facts | Topology
    links: LinkParameters
    measured: Measured
    residuals: pd.DataFrame

    @property
    def factors(self) -> Mapping[str, float]:
        return self.measured.factors

    @property
    def fitted_on(self) -> Mapping[str, object]:
        """What was measured: sizes (smallest and largest, bytes), ranks, collectives, gpu, nodes, inside, net, gdr,
        settings."""
        return self.measured.fitted_on

    @property
    def error(self) -> float:
        """Median relative error at the sizes that it was fitted on."""
        return self.measured.error

    @property
    def held_out(self) -> float | None:
        """Median relative error at sizes left out: each half of them predicted from a fit of the other; None where
        there are too few."""
        return self.measured.held_out

    @property
    def unknown_knobs(self) -> tuple[str, ...]:
        """Knobs that no measurement of this log moves: they stay as collsim has them."""
        return tuple(name for name in CLUSTER if name not in self.factors)

    def predict(
        self, collective: str, nbytes: ByteSize, *, extrapolate: bool = False, **environment: Unpack[PredictOptions]
    ) -> Prediction:
        """Predict as `cs.nccl.predict` does, with these links.

        Args:
            collective: The collective.
            nbytes: nccl-tests' size, bytes (`"64MiB"`).
            extrapolate: Whether to predict beyond what was measured, too.
            **environment: ranks, NCCL_ALGO ... as for `predict`.

        Returns:
            The prediction.

        Raises:
            CollsimError: The call is beyond what was measured, unless `extrapolate` is True; else as `predict`.
        """
        prediction = predict(collective, self.machine, nbytes, links=self.links, **environment)
        settings = select_pinned_settings(environment)
        guessed = join_words(
            find_extrapolations(self.fitted_on, prediction.facts, prediction.collective, prediction.nbytes, settings),
            "{first}; {then}",
        )
        if guessed and not extrapolate:
            raise CollsimError("{guessed}; say extrapolate=True to go there all the same", guessed=guessed)
        return apply_calibration(prediction, self.measured, settings)

    def save(self, path: str | Path) -> None:
        """Write the machine as YAML, whole or not at all: `load_topology` gives it back calibrated.

        Args:
            path: Path of a .yaml or .yml file.

        Raises:
            CollsimError: There is no Topology to write (Facts), or the suffix is another.
        """
        if not isinstance(self.machine, Topology):
            raise CollsimError(
                "Facts have no links to write down; calibrate a topology, for example machine('dgx-a100', nodes=2)"
            )
        views["save"](self.machine, path)

    def __str__(self) -> str:
        left_out = ""
        if self.held_out is not None:
            left_out = f", {self.held_out:.1%} at sizes left out of the fit"
        lines = [f"{len(self.residuals)} measurements, median error {self.error:.1%} after fitting{left_out}"]
        lines += [f"  {name:36s} x {factor:.2f}" for name, factor in self.factors.items()]
        lines += [
            f"  {kind} links: {f.carries:.0%} of nominal, {format_time(f.alpha)} each"
            for kind, f in self.measured.links.items()
        ]
        by_size = [factor for size_correction in self.measured.size_corrections for factor in size_correction.factors]
        lines.append(f"  left to the sizes themselves          x {min(by_size):.2f} to {max(by_size):.2f}")
        worst = self.residuals.assign(off=compute_relative_error(self.residuals.ratio)).nlargest(3, "off")
        lines += [
            f"  farthest off: {format_bytes(int(size))} predicted {ratio:.2f} x measured"
            for size, ratio in zip(worst.nbytes, worst.ratio, strict=True)
        ]
        if self.unknown_knobs:
            lines.append(f"  this log says nothing about: {', '.join(self.unknown_knobs)}")
        if sentence := describe_poor_fit(self.held_out):
            lines.append(f"  poor: {sentence}")
        return "\n".join(lines)


@check_arguments
def fit_calibration(measured: pd.DataFrame, machine: Facts | Topology, **environment: str | None) -> Calibration:
    """Fit the links of one cluster to its own nccl-tests log.

    First the knobs of `calibration_knobs.CLUSTER`, few and named; what they leave of each collective and number of
    ranks is smoothed over sizes (a weight of one octave, robust against single rows) and kept with them. What that is
    worth is checked at sizes left out.

    Args:
        measured: columns `collective, nbytes, time` (seconds) and perhaps `ranks`, as `cs.io.load` reads the
            output of nccl-tests.
        machine: where it ran.
        environment: NCCL_ALGO, NCCL_PROTO as they were set.

    Returns:
        The machine with the links as measured, and what is left.

    Raises:
        CollsimError: For a table with fewer than 4 usable rows (with a size, a time, and 2 ranks or more) or without
            those columns, and for cells that are no numbers.

    Examples:
        >>> import collsim as cs
        >>> import pandas as pd
        >>> log = pd.DataFrame({"nbytes": [2**20, 2**22, 2**24, 2**26], "time": [9e-5, 2e-4, 5e-4, 1.2e-3]})
        >>> calibration = cs.nccl.fit_calibration(log.assign(collective="allreduce"), cs.machine("dgx-a100", nodes=2))
        >>> sorted(calibration.measured.links)
        ['infiniband', 'nvlink']
    """
    from ..errors.dependencies import pandas as pd

    if unknown := set(environment) - {"NCCL_ALGO", "NCCL_PROTO"}:
        raise CollsimError(describe_unknown("variable of calibrate", sorted(unknown)[0], ("NCCL_ALGO", "NCCL_PROTO")))
    facts = read_facts(machine)
    usable = _require_usable(measured, facts)
    samples = [build_sample(row, machine, environment) for row in usable.itertuples()]
    factors, size_corrections = _fit_with_size_corrections(samples)
    links = apply_knobs(MEASURED, CLUSTER, factors)
    residuals = pd.DataFrame(
        {
            "collective": [s.call.collective for s in samples],
            "nbytes": [s.call.nbytes for s in samples],
            "measured": [s.seconds for s in samples],
            "predicted": _predict_seconds(samples, factors, size_corrections),
        }
    )
    residuals["ratio"] = residuals.predicted / residuals.measured
    sizes, ranks = (int(usable.nbytes.min()), int(usable.nbytes.max())), sorted({s.call.facts.ranks for s in samples})
    seen = summarize_fit_data(
        facts, sizes, ranks, sorted({s.call.collective for s in samples}), select_pinned_settings(environment)
    )
    error = round(float(compute_relative_error(residuals.ratio).median()), 4)
    held_out = _measure_held_out_error(samples)
    # Errors at sizes that the fit did not see say how far it can be trusted.
    known = Measured({}, factors, seen, error, held_out, size_corrections)
    if not isinstance(machine, Topology):
        return Calibration(machine, links, known, residuals)
    known = replace(known, links=compute_link_figures(machine, links))
    return Calibration(calibrate_links(machine, known), links, known, residuals)


def _require_usable(measured: pd.DataFrame, facts: Facts) -> pd.DataFrame:
    """The rows that can be fitted: four at least, each of a known collective."""
    if missing := [name for name in ("collective", "nbytes", "time") if name not in measured]:
        raise CollsimError(
            "calibrate wants columns collective, nbytes and time; {missing} is missing", missing=", ".join(missing)
        )
    usable = _select_usable(measured, facts)
    if usable.collective.isna().any():
        raise CollsimError(
            "the log does not name its test, as nccl-tests before 2.16.7 did not, and its columns do not tell it; say "
            "collective='allgather' (--collective)"
        )
    if len(usable) < 4:
        raise CollsimError(
            "{usable} usable rows are too few to calibrate with; run nccl-tests on 2 GPUs or more over a range of "
            "sizes (-b 8 -e 1G -f 2)",
            usable=len(usable),
        )
    return usable


def _select_usable(measured: pd.DataFrame, facts: Facts) -> pd.DataFrame:
    """Rows that say something of links: with a size and a time, of 2 ranks or more. A log without a column of ranks
    has all ranks of the machine."""
    table = measured.assign(
        **{name: _parse_numbers(measured, name) for name in ("nbytes", "time", "ranks") if name in measured}
    )
    if "ranks" in table:
        table = table.assign(ranks=table.ranks.where(table.ranks > 0, facts.ranks))
    else:
        table = table.assign(ranks=float(facts.ranks))
    return table[(table.time > 0) & (table.nbytes > 0) & (table.ranks > 1)]


def _parse_numbers(measured: pd.DataFrame, column: str) -> pd.Series[float]:
    from ..errors.dependencies import pandas as pd

    numbers = pd.to_numeric(measured[column], errors="coerce").astype(float)
    wrong = np.asarray(np.isinf(numbers) | (numbers.isna() & measured[column].notna()))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise CollsimError(
            "calibrate: row {row}: {column}={value!r} is not a finite number",
            row=row,
            column=column,
            value=measured[column].iloc[row],
        )
    return numbers


def _fit_with_size_corrections(samples: Sequence[Sample]) -> tuple[dict[str, float], tuple[SizeCorrection, ...]]:
    """The knobs that these samples move, and what they leave by size."""
    moved_knobs = {name: CLUSTER[name] for name in CLUSTER if has_effect(samples, MEASURED, CLUSTER[name])}
    factors = fit_factors(samples, MEASURED, moved_knobs, pull=_PULL, scale=_OUTLIER)
    left = np.log([s.seconds for s in samples]) - np.log(_predict_seconds(samples, factors, ()))
    groups: dict[tuple[str, int], list[int]] = {}
    for i, sample in enumerate(samples):
        groups.setdefault((sample.call.collective, sample.call.facts.ranks), []).append(i)
    size_corrections = []
    for (collective, ranks), indices in groups.items():
        sizes = np.array([samples[i].call.nbytes for i in indices])
        known = np.unique(sizes)
        smooth = _smooth_over_sizes(np.log2(sizes), left[indices], np.log2(known))
        size_corrections.append(
            SizeCorrection(collective, ranks, tuple(known.tolist()), tuple(np.exp(smooth).round(4).tolist()))
        )
    return factors, tuple(size_corrections)


def _smooth_over_sizes(x: Floats, left: Floats, points: Floats) -> Floats:
    """Mean of log ratios near each size, Gaussian weight of one octave, single outliers weighed down; towards 0 where
    little is known."""
    near = np.exp(-0.5 * ((points[:, None] - x) / _OCTAVES) ** 2)
    middle = np.zeros(len(points))  # what the knobs say; a row far from all others is not believed
    for _ in range(8):
        weight = near / (1 + ((left - middle[:, None]) / (2 * _OUTLIER)) ** 2)
        middle = weight @ left / weight.sum(axis=1)
    known = near.sum(axis=1)
    return np.asarray(middle * known / (known + _PRIOR_WEIGHT))


def _predict_seconds(
    samples: Sequence[Sample], factors: Mapping[str, float], size_corrections: Sequence[SizeCorrection]
) -> Floats:
    """Seconds of each sample's call, with the knobs turned and the size corrections of its collective."""
    links = apply_knobs(MEASURED, CLUSTER, factors)
    predicted = []
    for call in (s.call for s in samples):
        seen = summarize_fit_data(call.facts, (0, 0), [], [], {})
        time = compute_time(replace(call, links=links)).total
        predicted.append(
            time * interpolate_size_correction(seen, size_corrections, call.facts, (call.collective, call.nbytes), {})
        )
    return np.array(predicted)


def _measure_held_out_error(samples: Sequence[Sample]) -> float | None:
    """Median relative error of each half of the sizes, every other one, by a fit of the other half."""
    sizes = sorted({s.call.nbytes for s in samples})
    if len(sizes) < _FEWEST_SIZES:
        return None
    half = {size: i % 2 for i, size in enumerate(sizes)}
    off: list[float] = []
    for fold in (0, 1):
        factors, size_corrections = _fit_with_size_corrections([s for s in samples if half[s.call.nbytes] != fold])
        rest = [s for s in samples if half[s.call.nbytes] == fold]
        off += compute_relative_error(
            _predict_seconds(rest, factors, size_corrections) / np.array([s.seconds for s in rest])
        ).tolist()
    return round(float(np.median(off)), 4)


def compute_link_figures(machine: Topology, links: LinkParameters) -> dict[str, LinkFigures]:
    """Compute what cables of each kind carry and what they take to cross, for simulations of whole chunks.

    A ring's share of the nominal rate; and of a step of the protocol Simple, which moves whole chunks as a simulation
    does, what the cables of other kinds on that route leave. Kinds are those between neighbours in a node, and between
    nodes.

    Args:
        machine: The machine.
        links: What its links carry and take by the fit.

    Returns:
        Share of the nominal rate and latency (s), by kind of link.
    """
    facts, figures = read_facts(machine), dict[str, LinkFigures]()
    search = build_graph_search(facts)
    comm = build_communicator(facts, graph_search=search)
    loads = compute_link_loads(MachineCall("allgather", "Ring", machine, facts, search))
    call = Call("allgather", "Ring", "Simple", 2**30, facts, comm, links, loads=loads)
    real = compute_link_times(call)
    nominal = compute_link_times(replace(call, links=links.without("rate")))
    per_node = facts.ranks // facts.nodes
    if facts.local_ranks > 1:
        inside_call = replace(call, facts=replace(facts, ranks=facts.local_ranks, nodes=1, hosts=0))
        step = compute_step_time(inside_call, "allgather", "Simple") / (facts.local_ranks - 1)
        kinds = _KINDS_INSIDE.get(facts.wiring, ("nvlink", "xgmi"))
        routes = (machine.route(0, peer) for peer in range(1, facts.local_ranks))
        # Pairs may have a bridge that the ring's others lack.
        route = next((w for w in routes if any(hop.kind in kinds for hop in w)), [])
        figures |= _build_link_figures(route, kinds, _compute_share(nominal, real, facts.wiring), step)
    if facts.nodes > 1:
        near, far = count_hops("allgather", "Ring", facts)
        inside = 0.0
        if near:
            inside = near * step
        step = (compute_step_time(call, "allgather", "Simple") - inside) / far
        route = [
            hop._replace(alpha=figures[hop.kind].alpha) if hop.kind in figures else hop
            for hop in machine.route(0, per_node)
        ]
        figures |= _build_link_figures(
            route, ("infiniband", "ethernet", "cable"), _compute_share(nominal, real, facts.net), step
        )
        if real.get("pcie", 0.0) > real[facts.net] and "pcie" not in figures:  # slots hold up what goes to the cards
            slot = next(hop for hop in route if hop.kind == "pcie")
            figures["pcie"] = LinkFigures(_compute_share(nominal, real, "pcie"), slot.alpha)
    return figures


def _compute_share(nominal: Mapping[str, float], real: Mapping[str, float], sort: str) -> float:
    """What links of a sort carry of their nominal rate, to the digits that do not depend on the order of operations."""
    return float(f"{nominal[sort] / real[sort]:.12g}")


def _build_link_figures(
    route: Sequence[Hop], kinds: Sequence[str], carries: float, step: float
) -> dict[str, LinkFigures]:
    """Figures of the first of these kinds that is on the way."""
    kind = next((k for k in kinds if any(hop.kind == k for hop in route)), None)
    if kind is None:
        return {}
    others = sum(hop.alpha for hop in route if hop.kind != kind)
    return {kind: LinkFigures(carries, max(0.0, step - others) / sum(hop.kind == kind for hop in route))}


def build_sample(row: Any, machine: Facts | Topology, environment: Mapping[str, str | None]) -> Sample:
    """Read a measured row as a call with the algorithm and protocol that NCCL would choose.

    Args:
        row: A row with collective, nbytes, time (s) and ranks.
        machine: Where it ran.
        environment: NCCL_ALGO and NCCL_PROTO as they were set.

    Returns:
        The call, and the seconds that it took.
    """
    facts = read_facts(machine, row.ranks)
    graphs = build_graph_search(facts)
    comm, size = build_communicator(facts, graph_search=graphs), int(row.nbytes)
    name, algorithm, protocol = parse_collective(row.collective), "Ring", "Simple"
    if name not in ("alltoall", "sendrecv"):
        settings = select_pinned_settings(environment)
        choice = choose_algorithm(name, comm, size, settings.get("NCCL_ALGO", ""), settings.get("NCCL_PROTO", ""))
        algorithm, protocol = choice.algorithm, choice.protocol
    call = Call(name, algorithm, protocol, size, facts, comm)
    if isinstance(machine, Topology):
        hops = MachineCall(name, algorithm, machine, facts, graphs, comm.running_channels)
        call = replace(call, fabric=compute_fabric_cost(hops), loads=compute_link_loads(hops))
    return Sample(call, float(row.time))


def has_effect(
    samples: Sequence[Sample], start: LinkParameters, knob: tuple[tuple[str, tuple[str | int, ...]], ...]
) -> bool:
    """Does turning this knob, up or down, change the time of any sample?"""
    either = [apply_knobs(start, {"it": knob}, {"it": factor}) for factor in (math.exp(-0.5), math.exp(0.5))]
    return any(
        compute_time(replace(s.call, links=links)).total != compute_time(replace(s.call, links=start)).total
        for s in samples
        for links in either
    )


def fit_factors(
    samples: Sequence[Sample],
    start: LinkParameters,
    knobs: Knobs,
    pull: float | Mapping[str, float],
    scale: float = 0.25,
    loss: Literal["soft_l1", "cauchy"] = "soft_l1",
) -> dict[str, float]:
    """Fit the factors that bring predictions closest to what was measured: Levenberg-Marquardt on log ratios.

    Args:
        samples: Calls with measured seconds.
        start: Links with all factors at 1.
        knobs: Fields of the links that each factor multiplies, by name.
        pull: How strongly factors are held near 1 where data say little, one for all or by knob.
        scale: Width of the loss, in log ratio.
        loss: `soft_l1` still follows outliers, as a median does; `cauchy` lets go of them.

    Returns:
        The factors, by knob.
    """
    names = list(knobs)
    pulls = np.array([pull[name] if isinstance(pull, Mapping) else pull for name in names])
    want = np.log([s.seconds for s in samples])
    weight = np.array([s.weight for s in samples])

    def compute_log_times(x: Floats, indices: Sequence[int] | npt.NDArray[np.intp]) -> Floats:
        links = apply_knobs(start, knobs, dict(zip(names, np.exp(x), strict=True)))
        return np.log([compute_time(replace(samples[i].call, links=links)).total for i in indices])

    def compute_residuals(x: Floats, seconds: Floats) -> Floats:
        ratio = seconds - want
        far = (ratio / scale) ** 2
        if loss == "cauchy":
            rho = np.log1p(far)
        else:
            rho = 2 * (np.sqrt(1 + far) - 1)
        return np.concatenate([weight * np.sign(ratio) * np.sqrt(rho), pulls * x])

    everything, still = range(len(samples)), np.zeros(len(names))
    uncalibrated = compute_log_times(still, everything)
    # Most knobs move few samples, and only those are computed again for the slope.
    moved = [
        np.flatnonzero(np.any([compute_log_times(s * e, everything) != uncalibrated for s in (-0.5, 0.5)], axis=0))
        for e in np.eye(len(names))
    ]

    def compute_slope(x: Floats, seconds: Floats) -> Floats:
        base, columns = compute_residuals(x, seconds), []
        for e, samples_moved in zip(np.eye(len(names)), moved, strict=True):
            near, near_seconds = x + _DERIVATIVE_STEP * e, seconds.copy()
            near_seconds[samples_moved] = compute_log_times(near, samples_moved)
            columns.append((compute_residuals(near, near_seconds) - base) / _DERIVATIVE_STEP)
        return np.stack(columns, axis=1)

    optimum = minimize_squares(lambda x: compute_log_times(x, everything), compute_residuals, compute_slope, still)
    return dict(zip(names, np.exp(optimum).tolist(), strict=True))


def minimize_squares(
    seconds: Callable[[Floats], Floats],
    residuals: Callable[[Floats, Floats], Floats],
    slope: Callable[[Floats, Floats], Floats],
    x: Floats,
) -> Floats:
    """Find the smallest sum of squares near a point (Levenberg-Marquardt); stops when a round gains less than 1 in
    10,000, and after 25 rounds.

    Args:
        seconds: Logarithms of the predicted times, of parameters.
        residuals: What is squared, of parameters and these logarithms.
        slope: (residuals, parameters) derivatives, of the same.
        x: (parameters,) where the search begins.

    Returns:
        (parameters,) at the minimum.
    """
    damping, now = 1e-2, seconds(x)
    current = residuals(x, now)
    for _ in range(25):
        jacobian, before = slope(x, now), float(current @ current)
        for _ in range(8):
            square = jacobian.T @ jacobian
            step = np.clip(
                np.linalg.solve(square + damping * np.diag(np.diag(square) + 1e-9), -jacobian.T @ current), -1, 1
            )
            there = seconds(x + step)
            trial = residuals(x + step, there)
            if trial @ trial < before:
                x, now, current, damping = x + step, there, trial, damping / 5
                break
            damping *= 5
        if before - float(current @ current) < 1e-4 * before:
            break
    return x
