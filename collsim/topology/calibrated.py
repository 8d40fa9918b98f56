"""A machine with what its links were found to carry, beside what they are sold with: the result of `calibrate`, kept
with the topology.

The routes stay as they are, as in every edit of figures. A file keeps it under the key `calibration`
(docs/machines.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from ..errors import Sentence, TopologyError, describe_unknown
from .network import Cable, Links, Topology


@dataclass(frozen=True)
class LinkFigures:
    """What links of one kind were found to carry.

    Attributes:
        carries: Fraction of the nominal bandwidth that data get.
        alpha: Seconds to cross the link.
    """

    carries: float
    alpha: float

    def __post_init__(self) -> None:
        for name, value, above in (("carries", self.carries, 0.0), ("alpha", self.alpha, -1.0)):
            if isinstance(value, bool) or not isinstance(value, Real) or not above < value < 1e3:
                if above == 0:
                    within = Sentence("above 0")
                else:
                    within = Sentence("of seconds, 0 or more")
                raise TopologyError("{name}={value!r} must be a number {range}", name=name, value=value, range=within)


@dataclass(frozen=True)
class SizeCorrection:
    """What the parameters of a calibration leave of one collective, as a smoothed factor by size.

    Attributes:
        collective: its name.
        ranks: number of ranks that it was measured with.
        sizes: bytes, ascending.
        factors: factor on the predicted time at each of `sizes`.
    """

    collective: str
    ranks: int
    sizes: tuple[int, ...]
    factors: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.sizes or len(self.sizes) != len(self.factors) or list(self.sizes) != sorted(set(self.sizes)):
            message = "size correction of {collective}: {sizes} ascending sizes and as many factors are wanted"
            raise TopologyError(message, collective=self.collective, sizes=len(self.sizes))
        for name, values in (("sizes", self.sizes), ("factors", self.factors)):
            if not all(isinstance(v, Real) and not isinstance(v, bool) and 0 < v < float("inf") for v in values):
                message = "size correction of {collective}: {name} must be numbers above 0"
                raise TopologyError(message, collective=self.collective, name=name)


@dataclass(frozen=True)
class Measured:
    """What a log said of a machine.

    Attributes:
        links: kind of link -> its figures.
        factors: parameter of the NCCL model -> factor on collsim's own figure; read by `collsim.nccl`.
        fitted_on: what was measured: sizes, collectives, ranks and so on; beyond it a prediction is a guess, and says
            so.
        error: median relative error of the fit.
        held_out: the same at sizes that were left out of it; None where they were too few.
        size_corrections: what the factors leave, by size.
    """

    links: Mapping[str, LinkFigures]
    factors: Mapping[str, float]
    fitted_on: Mapping[str, object]
    error: float
    held_out: float | None = None
    size_corrections: tuple[SizeCorrection, ...] = ()

    def __post_init__(self) -> None:
        sizes = self.fitted_on.get("sizes")
        if not isinstance(sizes, list) or len(sizes) != 2 or not all(isinstance(size, int) for size in sizes):
            message = "fitted_on: sizes={sizes!r} must be two numbers of bytes, the smallest and the largest measured"
            raise TopologyError(message, sizes=sizes)
        for name in ("ranks", "collectives"):
            if not isinstance(self.fitted_on.get(name), list):
                message = "fitted_on: {name}={value!r} must be a list of what was measured"
                raise TopologyError(message, name=name, value=self.fitted_on.get(name))
        if missing := [name for name in ("gpu", "nodes", "inside", "net", "gdr") if name not in self.fitted_on]:
            message = "fitted_on: {missing} is missing: what the machine was when it was measured"
            raise TopologyError(message, missing=", ".join(missing))


_SOURCE = "calibrated to a log of one's own"


def calibrate_links(topology: Topology, measured: Measured) -> Topology:
    """The same machine whose links carry what was measured.

    Args:
        topology: as built, or calibrated before.
        measured: figures by kind of link; kinds without figures stay as they are.

    Raises:
        TopologyError: For a kind of link that it does not have.
    """
    kinds = sorted({c.kind for c in topology.links.cables})
    if unknown_kinds := sorted(set(measured.links) - set(kinds)):
        message = "{name} has no links of that kind: {unknown}"
        raise TopologyError(message, name=topology.name, unknown=describe_unknown("kind", unknown_kinds[0], kinds))
    before = topology.facts
    name = topology.name
    if before.calibration is None:
        name = f"{topology.name}, calibrated"
    facts = replace(before, calibration=measured, calls_before_calibration=len(before.calls))
    return replace(topology, name=name, links=_apply_measured(topology.links, measured), facts=facts)


def _apply_measured(links: Links, measured: Measured) -> Links:
    """Links that carry what was measured; what had been given a share of its cable keeps the share."""
    cables = tuple(_calibrate_cable(cable, measured) for cable in links.cables)
    share = links.bandwidth / np.array([c.bandwidth for c in links.cables])[links.cable]
    is_measured = np.array([c.kind in measured.links for c in links.cables], bool)[links.cable]
    rate = np.where(is_measured, share * np.array([c.bandwidth for c in cables])[links.cable], links.bandwidth)
    delay = np.where(is_measured, np.array([c.alpha for c in cables])[links.cable], links.alpha)
    return Links(links.src, links.dst, delay, rate, links.cable, cables)


def _calibrate_cable(cable: Cable, measured: Measured) -> Cable:
    if cable.kind not in measured.links:
        return cable
    figures, nominal = measured.links[cable.kind], cable.nominal or cable.bandwidth
    before = cable.source.removeprefix(f"{_SOURCE}; before: ")
    return replace(
        cable,
        bandwidth=nominal * figures.carries,
        nominal=nominal,
        alpha=figures.alpha,
        source=f"{_SOURCE}; before: {before}",
    )
