"""What would explain a gap between prediction and measurement: of named changes to the machine, the one under which the
model fits best.

A hypothesis, never a finding: several causes can cost the same, a cause that is not on the list cannot be named, and
the model itself is off. Each hypothesis changes one fact of the machine, or one environment variable of NCCL, and
nothing is fitted; none contradicts what somebody stated (`Run.stated`). How far a curve is off is counted in what the
model is off by on machines that it has not seen: half of the width of the interval of each size
(`Prediction.interval`), which four in five measurements of systems left out of the fit keep to. Where the gap itself is
no more than that, or several hypotheses explain it as well, the measurement cannot tell, and that is the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

import numpy as np
import numpy.typing as npt

from ...errors import CollsimError
from ...errors.arguments import check_arguments
from ...package_data import read_toml
from ..machine.machine_facts import PCIE_GBPS, Facts, find_gpu, is_known_gpu, stage_through_host
from ..model.links import FABRICS, MEASURED, LinkParameters
from ..model.relative_error import BANDS
from ..model.unknown_inputs import ALGORITHM
from ..nccl_environment import PredictOptions
from ..nccl_prediction import Prediction
from .log_evidence import JobLog, weigh_log
from .published_runs import MeasuredRun

#: Below this distance there is no gap to explain: about twice the model's own median error for large sizes
#: (docs/accuracy.md).
NO_GAP = 0.13
#: Half-widths of the interval from which a gap is more than the model is off by anyway: root mean square over sizes for
#: the gap, as few sizes far off are one too; mean for what a hypothesis leaves, as a single size decides nothing.
OUTSIDE = 1.0
#: A hypothesis counts if it leaves no more than this share of the gap,
MAX_REMAINING_SHARE = 0.7
#: and if it lies within the interval, or leaves next to nothing of a very large gap.
NEGLIGIBLE_SHARE = 0.2
#: and if at the largest sizes it leaves no more than this share of the gap there: a protocol, a link of half the rate
#: or a missing route each have a factor of their own, and latency hides nothing of it;
MAX_SHARE_AT_LARGEST = 1 / 3
#: or no more than this distance: causes that owners confirmed leave 0.16 (a100-2x1-nogdr) and 0.17 (v100-8).
MAX_DISTANCE_AT_LARGEST = 0.2
#: Hypotheses within so many half-widths of the best explain as well: half of the systems left out are off by no more,
#: where four in five are off by one (`model/interval_widths.json`, quantiles 0.5 and 0.8).
TIE_MARGIN = 0.44
#: More hypotheses than that explain nothing.
MAX_TIED = 3

Floats = npt.NDArray[np.float64]
Verdict = Literal["agree", "within", "explained", "several", "unexplained"]

#: A protocol for small calls cannot be told from a slow link by larger calls alone: with LL a ring has half of its rate
#: and a small call takes as long as ever, so that a run needs calls of at most so many bytes.
SMALL = 2**20
#: Links of a GPU that may be down, and B/s of the Ethernet of a host (1, 10 and 25 Gbit/s).
_LOST_LINKS, _HOST_NETWORKS = (1, 2, 3), (0.125e9, 1.25e9, 3.125e9)
#: Share of a card's or slot's rate that is left to peers behind the root complex: 9.84 of 24 GB/s (NVIDIA/nccl-tests
#: issue 112) and 27 of 48 (NVIDIA/nccl issue 949), both cured by turning PCI ACS off.
_THROUGH_ROOT = (9.84 / 24, 27 / 48)
#: The same in B/s a card: both were measured behind slots of PCIe 4, and nothing at hand says whether root complexes of
#: PCIe 5 carry more (27 GB/s came over two cards).
_THROUGH_ROOT_RATES = (9.84e9, 13.5e9)
#: B/s of the cards of an NVLink domain's trays, one to a GPU: ConnectX-7 of GB200 compute trays (DGX GB200 user guide).
_TRAY_CARD = 50e9
#: The oldest PCIe generation whose real rates are known (`links.toml`).
_OLDEST_PCIE = 3
#: A change of the machine, None where it changes nothing there; or environment variables.
Change = Callable[[Facts], Facts | None]
#: Share of its rate that the network of a machine gives, None where that changes nothing. NCCL's tuner does not see
#: it, and goes on to choose by the rate that cards announce.
NetworkShare = Callable[[Facts], float | None]


@dataclass(frozen=True)
class Hypothesis:
    """One possible cause.

    Attributes:
        key: for texts.
        description: what it says (English).
        changes: what it changes of the facts of a machine; of several changes the best fitting counts.
        network_shares: further changes: what the network gives of its rate, unseen by NCCL.
        settings: NCCL's variables that it sets.
        contradicts: the fact that it contradicts where somebody stated it.
        needs_small: whether only calls below `SMALL` can tell it.
        needs_log: whether only a log can tell it from another hypothesis.
        routes: NCCL's variables that change the routes of a Topology as `changes` changes the facts.
    """

    key: str
    description: str
    changes: tuple[Change, ...] = (lambda facts: facts,)
    network_shares: tuple[NetworkShare, ...] = ()
    settings: Mapping[str, int | str] = field(default_factory=dict)
    contradicts: str = ""
    needs_small: bool = False
    needs_log: bool = False
    routes: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Candidate:
    """A hypothesis that was tried, and how far it leaves the prediction from the measurement.

    Attributes:
        key: of the hypothesis in `HYPOTHESES`.
        description: what was otherwise, in words.
        distance: mean of |ln(predicted / measured)| over the sizes, weighed as in `Gap.distance`.
        predicted: s for each size of the run, if the hypothesis holds.
        half_widths: mean over the sizes of |ln(predicted / measured)| in half-widths of the prediction's interval.
    """

    key: str
    description: str
    distance: float
    predicted: tuple[float, ...]
    half_widths: float


@dataclass(frozen=True)
class Gap:
    """What was tried.

    Attributes:
        distance: of the plain prediction: mean of |ln(predicted / measured)| over the sizes, each weighed by the
            inverse of its interval's width, so that 0.1 is about 10 %.
        half_widths: the same in half-widths, root mean square over the class of sizes that is farthest off.
        ratio: predicted over measured time, weighed geometric mean: below 1 the measurement is slower than predicted.
        candidates: all hypotheses that change the prediction and contradict nothing stated, the best first.
        best: the one that explains the gap; None where there is no gap, none explains it, or it cannot be told.
        alternatives: others that fit about as well; the measurement cannot tell them from the best.
        verdict: `agree`; `within`, the gap is no more than the model is off by on machines left out; `explained`;
            `several`, too many explain it; `unexplained`.
        is_stated: a log states the cause; `best` is it, and no hypothesis.

    Examples:
        >>> import collsim as cs
        >>> machine = cs.machine("dgx-a100", nodes=2)
        >>> run = cs.nccl.create_run("allreduce", machine, nbytes=[2**20, 2**26], times=[9e-5, 1e-3])
        >>> cs.nccl.explain_gap(run).verdict
        'agree'
    """

    distance: float
    half_widths: float
    ratio: float
    candidates: tuple[Candidate, ...]
    best: Candidate | None
    alternatives: tuple[Candidate, ...]
    verdict: Verdict
    is_stated: bool = False

    @property
    def is_agreement(self) -> bool:
        """Do prediction and measurement agree?"""
        return self.verdict == "agree"

    @property
    def is_undecided(self) -> bool:
        """Can it not be told?"""
        return self.verdict in ("within", "several")

    def __str__(self) -> str:
        """In a sentence or two."""
        if self.is_agreement:
            distance = format_distance(self.distance)
            return f"Prediction and measurement are {distance} apart on average; there is nothing to explain."
        direction = "faster"
        if self.ratio < 1:
            direction = "slower"
        difference = f"measured {direction} than predicted, {format_distance(self.distance)} apart on average"
        if self.best:
            return f"It was {difference}. {self._explain_verdict()}"
        return f"It was {difference}; {self._explain_verdict()}"

    def _describe_fast_run(self) -> str:
        """What a run that is faster than predicted means; nothing of a slower one."""
        if self.ratio < 1:
            return ""
        return "; a run that is faster than predicted has no fault to look for"

    def _explain_verdict(self) -> str:
        if self.verdict == "within":
            return (
                "what explains that cannot be told: on machines that it has not seen the model is off by as much "
                f"({self.half_widths:.1f} of its interval's half-width){self._describe_fast_run()}."
            )
        # Several causes are all named: choosing one would be a guess.
        if self.verdict == "several":
            causes = "; ".join(c.description for c in self.alternatives)
            return f"which cause cannot be told, {len(self.alternatives)} hypotheses explain it as well: {causes}."
        if self.best is None:
            return f"none of {len(self.candidates)} hypotheses explains that{self._describe_fast_run()}."
        if self.is_stated:
            also = "".join(f"; and {c.description}" for c in self.alternatives)
            left = format_distance(self.best.distance)
            return f"The log states the cause: {self.best.description}{also}; a prediction with it is {left} off."
        others = ""
        if self.alternatives:
            others = f" As well would: {'; '.join(c.description for c in self.alternatives)}."
        return (
            f"The hypothesis to check first: {self.best.description}; it leaves "
            f"{format_distance(self.best.distance)}.{others} This is a hypothesis, not a finding."
        )


def format_distance(distance: float) -> str:
    """Write a distance as people say it: `10 %`, and `a factor of 45` from two on.

    Args:
        distance: Mean absolute log ratio of two times.

    Returns:
        The text.
    """
    factor = math.exp(distance)
    if factor < 2:
        return f"{100 * (factor - 1):.0f} %"
    return f"a factor of {factor:.2g}"


@check_arguments
def explain_gap(run: MeasuredRun, links: LinkParameters = MEASURED) -> Gap:
    """Try every hypothesis on a run; see `Gap`. `cs.diagnose` does so too and weighs what lspci, ibstat and other tools
    print beside the log and the table.

    Args:
        run: of `create_run`, or a published one.
        links: what links carry; collsim's own figures unless given.

    Returns:
        The gap, and the hypotheses that explain it.

    Raises:
        CollsimError: Where not even the plain prediction can be made.

    Examples:
        >>> import collsim as cs
        >>> machine = cs.machine("dgx-a100", nodes=2)
        >>> run = cs.nccl.create_run("allreduce", machine, nbytes=[2**20, 2**26], times=[9e-5, 1e-3])
        >>> 0.5 < cs.nccl.explain_gap(run).ratio < 2
        True
    """
    predicted = run.predict_sizes(links)
    plain = np.array([p.time for p in predicted])
    # Facts of the log may differ from the machine's; hypotheses are computed in words and scaled by that ratio.
    by_words = plain
    if run.machine is not None:
        by_words = np.array([p.time for p in replace(run, machine=None).predict_sizes(links)])
    half = _compute_half_widths(predicted, run)
    tried = []
    for hypothesis in HYPOTHESES:
        # Ruled out by evidence, or only to be considered when the log says so.
        if hypothesis.key in run.excluded or (hypothesis.needs_log and hypothesis.key not in run.confirmed):
            continue
        seconds = predict_under_hypothesis(hypothesis, run, links, plain / by_words)
        if hypothesis.needs_small and run.nbytes[0] > SMALL:
            continue
        # A hypothesis that changes nothing cannot explain anything.
        if seconds is not None and not np.allclose(seconds, plain, rtol=1e-3):
            off = (
                _measure_distance(seconds, run, half),
                tuple(map(float, seconds)),
                _measure_half_widths(seconds, run, half),
            )
            tried.append(Candidate(hypothesis.key, hypothesis.description, *off))
    tried.sort(key=lambda c: c.half_widths)
    distance, widths = _measure_distance(plain, run, half), _measure_half_widths(plain, run, half)
    ratio = float(np.exp(np.average(np.log(plain / np.array(run.times)), weights=1 / half)))
    far = _measure_farthest_class(_compute_log_errors(plain, run) / half, run)
    # Only what makes a run slower can explain a slow one.
    slower = [c for c in tried if float(np.mean(np.log(np.array(c.predicted) / plain))) > 0]
    stated = [c for c in slower if c.key in run.confirmed]
    # A cause that the log states outright wins over better fits.
    if stated and ratio < 1 and distance >= NO_GAP:
        return Gap(distance, far, ratio, tuple(tried), stated[0], tuple(stated[1:]), "explained", is_stated=True)
    fitting = [c for c in tried if _fits_largest_sizes(np.array(c.predicted), plain, run)]
    named = _select_explanations(fitting, widths)
    verdict = _decide_verdict(distance, far, len(named))
    best = None
    rest: list[Candidate] = []
    if verdict == "explained":
        best, *rest = named
    elif verdict == "several":
        rest = named
    return Gap(distance, far, ratio, tuple(tried), best, tuple(rest), verdict)


def list_stated_causes(log: JobLog, facts: Facts) -> tuple[Hypothesis, ...]:
    """List the causes of slow calls that a log states and that the machine does not have by itself.

    Args:
        log: of NCCL about a job.
        facts: of the machine.

    Returns:
        The hypotheses that the log confirms, in the order of `HYPOTHESES`.
    """
    confirmed = weigh_log(log, facts).confirmed - _HEALTHY
    stated = (hypothesis for hypothesis in HYPOTHESES if hypothesis.key in confirmed)
    return tuple(hypothesis for hypothesis in stated if can_change(hypothesis, facts))


def can_change(hypothesis: Hypothesis, facts: Facts) -> bool:
    """Whether a machine is another with what a hypothesis says: one that has no P2P loses nothing with it.

    Args:
        hypothesis: one of `HYPOTHESES`.
        facts: of the machine.
    """
    return any(change(facts) is not None for change in hypothesis.changes)


def _select_explanations(tried: list[Candidate], widths: float) -> list[Candidate]:
    """Hypotheses that explain a gap of so many half-widths, the best first, with those that do as well.

    What breaks by itself comes before what somebody must have set: the times cannot tell them apart, and who sets
    NCCL_ALGO, NCCL_PROTO or a number of channels mostly knows of it.
    """
    most = min(MAX_REMAINING_SHARE * widths, max(OUTSIDE, NEGLIGIBLE_SHARE * widths))
    named = [c for c in tried if c.half_widths <= min(most, tried[0].half_widths + TIE_MARGIN)]
    return sorted(named, key=lambda c: c.key in SETTINGS)


def _list_size_classes(run: MeasuredRun) -> list[npt.NDArray[np.bool_]]:
    """Which sizes of a run are in each class of docs/accuracy.md, in the order of `BANDS`."""
    sizes = np.array(run.nbytes)
    return [(sizes >= low) & (sizes < high) for _, low, high in BANDS]


def _fits_largest_sizes(seconds: Floats, plain: Floats, run: MeasuredRun) -> bool:
    """Whether a hypothesis is near the times of the largest class of sizes (docs/accuracy.md) that has two or more: as
    near as a cause that owners confirmed, or much nearer than the plain prediction. True where no class has two."""
    largest = next((in_class for in_class in _list_size_classes(run) if np.count_nonzero(in_class) > 1), None)
    if largest is None:
        return True
    gap = float(np.mean(_compute_log_errors(plain, run)[largest]))
    left = float(np.mean(_compute_log_errors(seconds, run)[largest]))
    return left <= max(MAX_DISTANCE_AT_LARGEST, MAX_SHARE_AT_LARGEST * gap)


def _decide_verdict(distance: float, widths: float, named: int) -> Verdict:
    if distance < NO_GAP:
        return "agree"
    if widths < OUTSIDE:
        return "within"
    if not named:
        return "unexplained"
    if named <= MAX_TIED:
        return "explained"
    return "several"


def _compute_log_errors(seconds: Floats, run: MeasuredRun) -> Floats:
    off: Floats = np.abs(np.log(seconds / np.array(run.times)))
    return off


def _compute_half_widths(predicted: Sequence[Prediction], run: MeasuredRun) -> Floats:
    """Half-widths of the interval of each size on the side where its measured time lies. Which algorithm ran is no
    doubt here, as rings and trees are hypotheses of their own."""
    intervals = [p.interval(known=(ALGORITHM,)) for p in predicted]
    fast = np.log([p.time / each.low for p, each in zip(predicted, intervals, strict=True)])
    slow = np.log([each.high / p.time for p, each in zip(predicted, intervals, strict=True)])
    half: Floats = np.where(np.array(run.times) > [p.time for p in predicted], slow, fast)
    return half


def _measure_farthest_class(half_widths: Floats, run: MeasuredRun) -> float:
    """Root mean square over the sizes of the class (docs/accuracy.md) that is farthest off: latency is no witness of a
    slow link, nor is bandwidth of a slow start. A class of a single size is no witness either, unless there is no
    other."""
    classes = [half_widths[in_class] for in_class in _list_size_classes(run)]
    witnesses = [widths for widths in classes if len(widths) > 1] or [half_widths]
    return max(float(np.sqrt(np.mean(widths**2))) for widths in witnesses)


def _measure_distance(seconds: Floats, run: MeasuredRun, half: Floats) -> float:
    return float(np.average(_compute_log_errors(seconds, run), weights=1 / half))


def _measure_half_widths(seconds: Floats, run: MeasuredRun, half: Floats) -> float:
    return float(np.mean(_compute_log_errors(seconds, run) / half))


def predict_under_hypothesis(
    hypothesis: Hypothesis, run: MeasuredRun, links: LinkParameters, link_factor: Floats | float = 1.0
) -> Floats | None:
    """Predict a run again as if a hypothesis held.

    Args:
        hypothesis: what may have been otherwise on the machine.
        run: the measured run, of which settings and stated facts are kept.
        links: what links of each kind carry and take.
        link_factor: (sizes,) time on the links of the run's Topology over the time by its facts: a hypothesis that
            changes a fact is predicted by facts, and takes so many times as long on the links.

    Returns:
        (sizes,) s, of the change that comes nearest where the hypothesis has several; None where it does not apply to
        this machine or run, or contradicts what was stated of it.
    """
    pinned = dict(run.settings)
    if any(name in pinned for name in hypothesis.settings):
        return None
    is_contradicted = hypothesis.contradicts in run.stated_facts and hypothesis.key not in run.confirmed
    tried = []
    for change in hypothesis.changes:
        try:
            facts = change(run.facts)
            if facts is None:
                continue
            # Another interface of a cluster that uses sockets is still sockets, as was stated.
            if is_contradicted and not (hypothesis.contradicts == "net" and facts.net == run.facts.net):
                continue
            if facts == run.facts or (hypothesis.routes and run.machine is not None):
                tried.append(_list_times(run, links, {**hypothesis.settings, **hypothesis.routes}))
            else:
                by_words = replace(run, facts=facts, machine=None)
                tried.append(link_factor * _list_times(by_words, links, hypothesis.settings))
        except CollsimError:  # NCCL has not that algorithm there, or such a machine is not modelled
            continue
    for network_share in hypothesis.network_shares:
        share = network_share(run.facts)
        if share is not None and not is_contradicted:
            carries = {**links.carries, run.facts.net: links.carries[run.facts.net] * share}
            tried.append(_list_times(run, replace(links, carries=carries), hypothesis.settings))
    return min(tried, key=lambda seconds: float(np.mean(_compute_log_errors(seconds, run))), default=None)


def _list_times(run: MeasuredRun, links: LinkParameters, settings: Mapping[str, int | str]) -> Floats:
    chosen = cast("PredictOptions", settings)  # the settings of hypotheses are names that `predict` has
    return np.array([p.time for p in run.predict_sizes(links, **chosen)])


# ---- what changes


def _change_where(applies: Callable[[Facts], bool], **changes: object) -> Change:
    """Other facts, of the machines that a condition holds of."""
    return lambda facts: replace(facts, **changes) if applies(facts) else None  # type: ignore[arg-type]


def _halve_where(applies: Callable[[Facts], bool], rate: Literal["link_rate", "nic_rate"]) -> Change:
    """Half of a rate, of the machines that a condition holds of."""
    return lambda facts: _change_where(applies, **{rate: getattr(facts, rate) / 2})(facts)


def _uses_rdma(facts: Facts) -> bool:
    return facts.nodes > 1 and facts.net != "tcp"


def _is_on_pcie(facts: Facts) -> bool:
    return facts.wiring in ("pcie", "host")


def _disable_p2p(facts: Facts) -> Facts | None:
    if facts.wiring == "none" or (facts.wiring == "host" and not facts.staged_between_switches):
        return None
    return replace(stage_through_host(facts), staged_between_switches=False)


def _share_uplink(facts: Facts) -> Facts | None:
    if facts.wiring != "host" or facts.switches or facts.local_ranks == 1:
        return None
    switches = 1 + int(facts.local_ranks > 2 and facts.crosses_sockets)
    return replace(facts, switches=switches, wired_nodes=None)


def _lower_pcie(facts: Facts) -> Facts | None:
    """One generation back: half the rate of the slots, and of what is staged through them."""
    if facts.pcie - 1 < _OLDEST_PCIE:
        return None
    slower = PCIE_GBPS[facts.pcie - 1] / PCIE_GBPS[facts.pcie]
    inside = facts.link_rate
    if _is_on_pcie(facts):
        inside = facts.link_rate * slower
    return replace(facts, pcie=facts.pcie - 1, link_rate=inside)


def _remove_links(lost: int) -> Change:
    """So many of a GPU's own links less; those of NVIDIA's and AMD's GPUs by `find_gpu`."""

    def change(facts: Facts) -> Facts | None:
        if facts.wiring not in FABRICS or not is_known_gpu(facts.gpu):
            return None
        links = find_gpu(facts.gpu).links
        if links <= 2 * lost:
            return None
        return replace(facts, link_rate=facts.link_rate * (links - lost) / links)

    return change


def _route_through_root(facts: Facts) -> Facts | None:
    """Peers and cards are reached through the root complex: what NVIDIA/nccl issue 949 (27 of 48 GB/s) and NVIDIA/
    nccl-tests issue 112 (9.84 of 24) had where PCI ACS was on."""
    if facts.nodes > 1 and facts.net in ("ib", "roce") and facts.gdr is not False and not facts.is_pcie_card:
        return replace(facts, is_pcie_card=True)
    if facts.wiring == "pcie":
        return replace(facts, link_rate=facts.link_rate / 2)
    return None


def _slow_down_cards(share: float = 1.0, rate: float = math.inf) -> NetworkShare:
    """Cards that read and write the memory of GPUs keep a share of their rate, or so many B/s."""

    def find_share(facts: Facts) -> float | None:
        if facts.nodes > 1 and facts.net in ("ib", "roce") and facts.gdr is not False:
            return min(share, rate / facts.nic_rate)
        return None

    return find_share


def _slow_down_peers(share: float) -> Change:
    """Peers over PCIe (also where they were said to go through host memory) keep a share of their rate."""

    def change(facts: Facts) -> Facts | None:
        if facts.nodes == 1 and facts.wiring in ("pcie", "host"):
            return replace(facts, wiring="pcie", link_rate=facts.link_rate * share, staged_between_switches=False)
        return None

    return change


def _split_domain(facts: Facts) -> Facts | None:
    """The hosts of an NVLink domain as nodes, with a card for each GPU."""
    if facts.hosts <= facts.nodes or facts.wiring not in FABRICS:
        return None
    cards = -(-facts.ranks // facts.hosts)
    split = replace(facts, nodes=facts.hosts, hosts=0, nics=float(cards), nic_rate=_TRAY_CARD, net="ib")
    return replace(split, wired_nodes=None)


def _use_host_network(rate: float) -> Change:
    """The Ethernet of the host, over sockets, in place of the cards."""

    def change(facts: Facts) -> Facts | None:
        if facts.nodes == 1 or facts.nic_rate <= rate:
            return None
        return replace(facts, net="tcp", gdr=False, nics=1.0, nic_rate=rate)

    return change


#: What a hypothesis changes of the facts of a machine; those of several changes, of which the best fitting counts.
_CHANGES: dict[str, tuple[Change, ...]] = {
    "p2p_off": (_disable_p2p,),
    "p2p_on": (_change_where(lambda facts: facts.wiring == "host", wiring="pcie"),),
    "gdr_off": (_change_where(lambda facts: _uses_rdma(facts) and facts.gdr is not False, gdr=False),),
    "gdr_on": (_change_where(lambda facts: _uses_rdma(facts) and facts.gdr is False, gdr=True),),
    "tcp": (_change_where(_uses_rdma, net="tcp", gdr=False),),
    "rdma": (_change_where(lambda facts: facts.nodes > 1 and facts.net == "tcp", net="roce", gdr=None),),
    "one_nic": (_change_where(lambda facts: facts.nodes > 1 and facts.nics > 1, nics=1.0),),
    "half_network": (_halve_where(lambda facts: facts.nodes > 1, "nic_rate"),),
    "one_qp": (_halve_where(lambda facts: facts.nodes > 1, "nic_rate"),),
    "split_domain": (_split_domain,),
    "pcie_older": (_lower_pcie,),
    "pcie_width": (_halve_where(_is_on_pcie, "link_rate"),),
    "two_sockets": (
        _change_where(
            lambda facts: _is_on_pcie(facts) and not facts.crosses_sockets, crosses_sockets=True, wired_nodes=None
        ),
    ),
    "shared_uplink": (_share_uplink,),
    "half_nvlink": (_halve_where(lambda facts: facts.wiring in FABRICS, "link_rate"),),
    "wrong_interface": tuple(map(_use_host_network, _HOST_NETWORKS)),
    "acs": (_route_through_root, *map(_slow_down_peers, _THROUGH_ROOT)),
    "nvlink_lost": tuple(map(_remove_links, _LOST_LINKS)),
}
#: Further variants: what the network gives of its rate, unseen by NCCL.
_NETWORK_SHARES: dict[str, tuple[NetworkShare, ...]] = {
    "acs": (
        *(_slow_down_cards(share=share) for share in _THROUGH_ROOT),
        *(_slow_down_cards(rate=rate) for rate in _THROUGH_ROOT_RATES),
    ),
    "half_network": (lambda facts: 0.5 if facts.nodes > 1 else None,),
    "one_qp": (lambda facts: 0.5 if facts.nodes > 1 else None,),
}
#: In the order in which people look for them.
HYPOTHESES = tuple(
    Hypothesis(key, changes=_CHANGES.get(key, Hypothesis.changes), network_shares=_NETWORK_SHARES.get(key, ()), **row)
    for key, row in read_toml(__file__, "gaps.toml").items()
)
#: Hypotheses that hold only where somebody set a variable; NVLS may be off without one.
SETTINGS = frozenset(h.key for h in HYPOTHESES if h.settings) - {"nvls_off"}
#: Those that say that something worked.
_HEALTHY = frozenset(["p2p_on", "gdr_on", "rdma"])
