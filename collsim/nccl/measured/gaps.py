"""What would explain a gap between prediction and measurement: of named changes to the machine, the one under which the
model fits best.

A hypothesis, never a finding: several causes can cost the same, a cause that is not on the list cannot be named, and
the model itself is off by some percent (docs/accuracy.md). Each hypothesis changes one fact of the machine, or one
environment variable of NCCL, and nothing is fitted. The distance of a curve is the mean over its sizes of |ln(predicted
/ measured)|, so that 0.1 is about 10 %; sizes count by how well the model knows them (`KNOWN`): being 20 % off says
much at 1 GiB and little at 8 KiB.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...errors import CollsimError
from ..machine.facts import PCIE_GBPS, Facts
from ..model.links import FABRICS, MEASURED, Parameters
from .published import Run

#: Median error of the model from a size on, bytes, on systems left out (docs/accuracy.md, NCCL and RCCL); a size weighs
#: the inverse.
KNOWN = ((2**24, 0.10), (2**16, 0.27), (0, 0.24))
#: Below this distance there is no gap to explain: about twice the model's own median error for large sizes
#: (docs/accuracy.md).
NO_GAP = 0.13
#: A hypothesis counts if it leaves no more than this share of the distance.
EXPLAINS = 2 / 3
#: And if it leaves no more than this, a factor of 1.6 (the wider band of the accuracy page), or next to nothing of a
#: very large gap.
LEAVES, NEXT_TO_NOTHING = math.log(1.6), 0.2
#: Hypotheses within this distance of the best explain as well: the model's own error for large sizes does not tell them
#: apart.
AS_WELL = KNOWN[0][1]

#: The oldest PCIe generation whose real rates are known (links.CARRIES).
_OLDEST_PCIE = 3
#: A change of the machine, None where it changes nothing there; or environment variables.
Change = Callable[[Facts], Facts | None]


@dataclass(frozen=True)
class Hypothesis:
    """One possible cause: a key for texts, what it says (English), and what it changes."""

    key: str
    says: str
    change: Change = field(default=lambda facts: facts)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Candidate:
    """A hypothesis tried: the distance that it leaves, and the predicted seconds per size."""

    key: str
    says: str
    distance: float
    predicted: tuple[float, ...]


@dataclass(frozen=True)
class Gap:
    """What was tried.

    Attributes:
        distance: of the plain prediction: weighed mean of |ln(predicted / measured)| over the sizes.
        ratio: predicted over measured time, weighed geometric mean: below 1 the measurement is slower than predicted.
        tried: all hypotheses that change the prediction, the best first.
        best: the one that explains the gap; None where there is no gap, or none on the list explains it.
        as_well: others that fit about as well; the measurement cannot tell them from the best.
    """

    distance: float
    ratio: float
    tried: tuple[Candidate, ...]
    best: Candidate | None
    as_well: tuple[Candidate, ...]

    @property
    def small(self) -> bool:
        """Is the gap within what the model is off anyway?"""
        return self.distance < NO_GAP

    def __str__(self) -> str:
        """In a sentence or two."""
        if self.small:
            return (
                f"Prediction and measurement are {apart(self.distance)} apart on average; there is nothing to explain."
            )
        much = (
            f"measured {'slower' if self.ratio < 1 else 'faster'} than predicted, {apart(self.distance)} apart on "
            "average"
        )
        if self.best is None:
            return f"It was {much}; none of {len(self.tried)} hypotheses explains that."
        others = f" As well would: {'; '.join(c.says for c in self.as_well)}." if self.as_well else ""
        return (
            f"It was {much}. The hypothesis that fits best: {self.best.says}; it leaves "
            f"{apart(self.best.distance)}.{others} This is a hypothesis, not a finding."
        )


def apart(distance: float) -> str:
    """A distance as people say it: `10 %`, and `a factor of 45` from two on."""
    factor = math.exp(distance)
    return f"{100 * (factor - 1):.0f}\N{NO-BREAK SPACE}%" if factor < 2 else f"a factor of {factor:.2g}"


def explain(run: Run, links: Parameters = MEASURED) -> Gap:
    """Try every hypothesis on a run; see `Gap`. Raises CollsimError where not even the plain prediction can be made."""
    plain = np.array([p.time for p in run.predicted(links)])
    distance, ratio = (
        _distance(plain, run),
        float(np.exp(np.average(np.log(plain / np.array(run.times)), weights=_weights(run)))),
    )
    tried = []
    for one in HYPOTHESES:
        seconds = _under(one, run, links)
        if seconds is not None and not np.allclose(seconds, plain, rtol=1e-3):
            tried.append(Candidate(one.key, one.says, _distance(seconds, run), tuple(float(s) for s in seconds)))
    tried.sort(key=lambda c: c.distance)
    fits = (
        bool(tried)
        and distance >= NO_GAP
        and tried[0].distance <= min(EXPLAINS * distance, max(LEAVES, NEXT_TO_NOTHING * distance))
    )
    near = [c for c in tried[1:] if c.distance <= tried[0].distance + AS_WELL] if fits else []
    return Gap(distance, ratio, tuple(tried), tried[0] if fits else None, tuple(near))


def _distance(seconds: Any, run: Run) -> float:
    return float(np.average(np.abs(np.log(seconds / np.array(run.times))), weights=_weights(run)))


def _weights(run: Run) -> list[float]:
    return [1 / next(error for least, error in KNOWN if n >= least) for n in run.nbytes]


def _under(one: Hypothesis, run: Run, links: Parameters) -> Any:
    """Predicted seconds under a hypothesis; None where it does not apply to this machine or run."""
    pinned = dict(run.settings)
    if any(name in pinned for name in one.settings):
        return None
    facts = one.change(run.facts)
    if facts is None:
        return None
    try:
        return np.array([p.time for p in replace(run, facts=facts).predicted(links, **one.settings)])
    except CollsimError:  # NCCL has that algorithm not here
        return None


# ---- what changes
# -----------------------------------------------------------------------------------------------------------------


def _p2p_off(facts: Facts) -> Facts | None:
    if facts.inside in ("none", "host"):
        return None
    return replace(facts, inside="host", link_rate=PCIE_GBPS[facts.pcie] * 1e9)


def _p2p_on(facts: Facts) -> Facts | None:
    return replace(facts, inside="pcie") if facts.inside == "host" else None


def _two_sockets(facts: Facts) -> Facts | None:
    return replace(facts, crossing=True) if facts.inside in ("pcie", "host") and not facts.crossing else None


def _older_pcie(facts: Facts) -> Facts | None:
    """One generation back: half the rate of the slots, and of what is staged through them."""
    if facts.pcie - 1 < _OLDEST_PCIE:
        return None
    slower = PCIE_GBPS[facts.pcie - 1] / PCIE_GBPS[facts.pcie]
    inside = facts.link_rate * slower if facts.inside in ("pcie", "host") else facts.link_rate
    return replace(facts, pcie=facts.pcie - 1, link_rate=inside)


def _half_width(facts: Facts) -> Facts | None:
    return replace(facts, link_rate=facts.link_rate / 2) if facts.inside in ("pcie", "host") else None


def _half_nvlink(facts: Facts) -> Facts | None:
    return replace(facts, link_rate=facts.link_rate / 2) if facts.inside in FABRICS else None


def _gdr_off(facts: Facts) -> Facts | None:
    return replace(facts, gdr=False) if facts.nodes > 1 and facts.gdr is not False and facts.net != "tcp" else None


def _gdr_on(facts: Facts) -> Facts | None:
    return replace(facts, gdr=True) if facts.nodes > 1 and facts.gdr is False and facts.net != "tcp" else None


def _one_nic(facts: Facts) -> Facts | None:
    return replace(facts, nics=1.0) if facts.nodes > 1 and facts.nics > 1 else None


def _half_network(facts: Facts) -> Facts | None:
    return replace(facts, nic_rate=facts.nic_rate / 2) if facts.nodes > 1 else None


def _tcp(facts: Facts) -> Facts | None:
    return replace(facts, net="tcp", gdr=False) if facts.nodes > 1 and facts.net != "tcp" else None


def _rdma(facts: Facts) -> Facts | None:
    return replace(facts, net="roce", gdr=None) if facts.nodes > 1 and facts.net == "tcp" else None


#: In the order in which people look for them.
HYPOTHESES = (
    Hypothesis("p2p_off", "GPUDirect P2P was off, so data went through host memory", _p2p_off),
    Hypothesis("p2p_on", "GPUDirect P2P worked after all", _p2p_on),
    Hypothesis("gdr_off", "GPUDirect RDMA was off, so data went through host memory to the NIC", _gdr_off),
    Hypothesis("gdr_on", "GPUDirect RDMA worked after all", _gdr_on),
    Hypothesis("tcp", "TCP sockets were used instead of RDMA", _tcp),
    Hypothesis("rdma", "RDMA was used instead of TCP sockets", _rdma),
    Hypothesis("one_nic", "only one NIC per node was used", _one_nic),
    Hypothesis(
        "half_network", "the network gave half of its rate (oversubscribed, shared, or a slower port)", _half_network
    ),
    Hypothesis("pcie_older", "PCIe ran one generation slower", _older_pcie),
    Hypothesis("pcie_width", "the GPUs had half of their PCIe lanes", _half_width),
    Hypothesis("two_sockets", "the GPUs sat on two sockets", _two_sockets),
    Hypothesis("half_nvlink", "half of the GPU's own links were in use", _half_nvlink),
    Hypothesis("nvls_off", "NVLink SHARP (NVLS) was off", settings={"NCCL_NVLS_ENABLE": 0}),
    Hypothesis("ring", "only rings were used", settings={"NCCL_ALGO": "Ring"}),
    Hypothesis("tree", "only trees were used", settings={"NCCL_ALGO": "Tree"}),
    Hypothesis("simple", "only the protocol Simple was used", settings={"NCCL_PROTO": "Simple"}),
    Hypothesis("ll", "only the protocol LL was used", settings={"NCCL_PROTO": "LL"}),
    Hypothesis("channels", "only two channels were used", settings={"NCCL_MAX_NCHANNELS": 2}),
)
