"""Where a prediction and a simulation of the same call are far apart: the term that makes the difference, in one line,
and the published runs it rests on.

A simulation takes the links as the topology states them; a prediction adds what is measured: launch, steps, the share
of a link that is data, the rate that a link really carries, and the pipeline that steps cannot hide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Unpack

from ..errors import CollsimError, Sentence, Words
from ..errors.arguments import check_arguments
from ..locale import Text, build_text, has_text, translate
from ..package_data import read_toml
from ..simulate import Trace, simulate
from ..topology import Topology
from ..topology_names import TopologyLike, resolve_topology
from ..units import ByteSize, format_bandwidth, format_time
from .bayesian_update import MeasuredTimes
from .machine.idle_cards import IdleCards, find_idle_cards
from .machine.machine_facts import Facts
from .machine.nccl_routes import place_ranks
from .machine.topology_facts import read_facts
from .model.algorithm_time import (
    Call,
    compute_bridge_rate,
    compute_host_times,
    compute_intra_rate,
    compute_link_times,
    compute_loads,
    compute_net_rate,
    compute_time,
    get_intra_kind,
)
from .model.links import READ_OFF, TERMS
from .nccl_environment import PredictOptions
from .nccl_prediction import BUSBW, Prediction, predict
from .predicted_schedule import build_schedule, measure_simulation_terms
from .predicted_schedule import predict_and_simulate as simulated

_SEARCH: Final = "NCCL's own search (src/graph/search.cc)"
#: Share of a difference from which NCCL's own rings explain it rather than another term.
_AS_MUCH = 0.9
#: Times that differ by less than this factor are not explained.
FAR = 1.5
#: NCCL's name of those of our algorithms that it has itself (src/graph/tuning.cc).
_TABLES: Final = read_toml(__file__, "difference.toml")
NCCL_ALGORITHMS: Final[dict[str, str]] = _TABLES["algorithms"]
_FIT = "fitted to some 170 published nccl-tests runs (docs/accuracy.md)"
#: The published runs that show what a kind of link carries (`links`, where each figure stands beside its constant).
EVIDENCE: Final[dict[str, str]] = _TABLES["evidence"]


@dataclass(frozen=True)
class Difference:
    """A prediction (s) and a simulation (s) of one call that differ, and why.

    Attributes:
        algorithm: of NCCL, that the prediction is for.
        term: the largest of the terms that the simulation does not know (`model.links.TERMS`); where the simulation is
            the slower `latency`, `pieces` (chunks so few that the pipeline fills and drains), `cards` (beyond a GPU's
            nearest) or `shared` (a link that transfers wait for); either way `rings`, where NCCL's search finds others
            than the simulated schedule has.
        seconds: of that term.
        predicted: s.
        simulated: s.
        reason: what the term is.
        evidence: what it is known from.
        label: of the simulated algorithm, where NCCL would run another one, or has other rings; "" where NCCL would run
            the same.
        nccl_simulated: seconds of what NCCL would run, simulated on the same links; 0 where the two are the same.
        idle_cards: network cards that NCCL's rings leave idle; None where there are none, or they are not to blame.
        shares_link: whether the simulated rings or trees share the link that `reason` names.
        is_uneven: whether nodes have different numbers of ranks, which the prediction takes to be equal.

    Examples:
        >>> import collsim as cs
        >>> machine = cs.machine("dgx-a100", nodes=2)
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", topology=machine), machine, "1KiB")
        >>> cs.nccl.explain_difference(trace).term
        'latency'
    """

    predicted: float
    simulated: float
    algorithm: str
    term: str
    seconds: float
    reason: Words
    evidence: str
    label: str = ""
    nccl_simulated: float = 0.0
    idle_cards: IdleCards | None = None
    shares_link: bool = False
    is_uneven: bool = False

    @property
    def factor(self) -> float:
        """The longer over the shorter."""
        return max(self.predicted / self.simulated, self.simulated / self.predicted)

    def text(self, language: str = "en") -> str:
        """What differs by how much, and why, in one sentence.

        Args:
            language: One of `collsim.locale.LANGUAGES`.
        """
        times = {
            "predicted": format_time(self.predicted),
            "simulated": format_time(self.simulated),
            "nccl_simulated": format_time(self.nccl_simulated),
            "seconds": format_time(self.seconds),
        }
        # Without another algorithm the two models timed the same one; then a term of the model is the reason.
        if not self.label:
            key = "difference.simulate_longer"
            if self.predicted > self.simulated:
                key = "difference.predict_longer"
            facts = {"algorithm": self.algorithm, "factor": f"{self.factor:.3g}", "reason": self.reason}
            term = build_text("nccl", f"difference.term.{self.term}")
            return translate(language, "nccl", key, term=term, evidence=self.evidence, **facts, **times)
        key = "difference.other_algorithm"
        if self.label in NCCL_ALGORITHMS:
            return self._describe_other_rings(language, times)
        if self.term in ("shared", "latency"):
            key = f"difference.other_algorithm_{self.term}"
        algorithm: Text | str = self.algorithm
        if has_text("nccl", f"difference.algorithm.{self.algorithm}"):
            algorithm = build_text("nccl", f"difference.algorithm.{self.algorithm}")
        return translate(language, "nccl", key, label=self.label, link=self.reason, algorithm=algorithm, **times)

    def _describe_other_rings(self, language: str, times: Mapping[str, str]) -> str:
        """NCCL's rings or trees beside those of the simulation, on the same links."""
        key = "difference.other_rings"
        if self.shares_link:
            key = "difference.other_rings_shared"
        sentences = [translate(language, "nccl", key, label=self.label, link=self.reason, **times)]
        if self.idle_cards is not None:
            sentences.append(self.idle_cards.text(language))
            if self.idle_cards.pcie:
                sentences.append(translate(language, "nccl", "difference.faster_pcie", label=self.label))
        if self.is_uneven:
            sentences.append(translate(language, "nccl", "difference.uneven"))
        return translate(language, "words", "semicolons").join(sentences)

    def __str__(self) -> str:
        return self.text()


@check_arguments
def explain_difference(run: Trace) -> Difference | None:
    """Why NCCL is predicted to take `FAR` times as long as a simulation, or as little; None where it is not.

    The prediction is for the same algorithm where NCCL has it, else for what NCCL chooses. None also for what NCCL does
    not run on: generic networks, processors, collectives that nccl-tests has not.

    Args:
        run: of an algorithm on a machine.

    Returns:
        The largest term of the difference; None where the two agree, or nothing can be compared.

    Examples:
        >>> import collsim as cs
        >>> machine = cs.machine("dgx-a100", nodes=2)
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", topology=machine), machine, "1GiB")
        >>> cs.nccl.explain_difference(trace) is None
        True
    """
    name = run.schedule.collective
    if name not in BUSBW or not run.time or run.topology.facts.machine is None:
        return None
    try:
        prediction = predict(name, run.topology, run.nbytes, run.schedule.ranks, NCCL_ALGO=_get_nccl_algorithm(run))
    except CollsimError:  # NCCL does not run there, or has not that algorithm there
        return None
    difference = find_large_difference(prediction, run)
    if difference is None or prediction.algorithm == "P2P":
        return difference
    try:
        machine = place_ranks(run.topology, name, run.schedule.ranks)
        choice = build_schedule(prediction, machine)
        seconds = float(simulate(choice, machine, run.nbytes, run.dtype, run.engine).time)
    except CollsimError:  # an algorithm without a schedule here
        return difference
    if _get_nccl_algorithm(run) is not None:
        return _compare_with_rings_of_nccl(difference, prediction, run, seconds)
    return _compare_with_choice_of_nccl(difference, run, seconds)


def _compare_with_rings_of_nccl(difference: Difference, p: Prediction, run: Trace, nccl_seconds: float) -> Difference:
    """The same difference, or that NCCL's search finds other rings, where these make as much of it. A link that
    transfers share is compared with what NCCL's rings take on the same links in any case."""
    seconds = nccl_seconds - run.time
    if p.time < run.time:
        seconds = -seconds
    is_shared = difference.term == "shared" and run.bottleneck is not None
    if p.graph_search is None or (seconds < _AS_MUCH * difference.seconds and not is_shared):
        return difference
    idle_cards = None
    if seconds >= _AS_MUCH * difference.seconds:
        difference = replace(difference, term="rings", seconds=seconds, evidence=_SEARCH)
        idle_cards = find_idle_cards(read_facts(run.topology, run.schedule.ranks), p.graph_search)
    is_uneven = run.schedule.ranks % run.topology.facts.nodes > 0
    difference = replace(difference, label=run.schedule.name, nccl_simulated=nccl_seconds, idle_cards=idle_cards)
    difference = replace(difference, is_uneven=is_uneven)
    if is_shared and run.bottleneck is not None:
        return replace(difference, reason=run.topology.link_name(run.bottleneck.busiest), shares_link=True)
    return replace(difference, reason="NCCL's search finds other rings or trees")


def _compare_with_choice_of_nccl(difference: Difference, run: Trace, seconds: float) -> Difference:
    """The same difference, with what NCCL would run simulated too, so that like is compared with like."""
    reason = difference.reason
    if difference.term == "shared" and run.bottleneck is not None:
        link = run.topology.link_name(run.bottleneck.busiest)
        reason = Sentence("{link} ({cable})", link=link, cable=run.bottleneck.label)
    return replace(difference, label=run.schedule.name, nccl_simulated=seconds, reason=reason)


def _get_nccl_algorithm(run: Trace) -> str | None:
    return NCCL_ALGORITHMS.get(run.schedule.name)


@check_arguments
def predict_with_simulation(
    collective: str,
    machine: Facts | TopologyLike,
    nbytes: ByteSize,
    *,
    measured: MeasuredTimes | None = None,
    **environment: Unpack[PredictOptions],
) -> Prediction:
    """`predict`, with a note where the simulation of the same algorithm on the machine's links is far from it.

    Facts have no links to simulate, so nothing is added there.

    Args:
        collective: as for `predict`.
        machine: as for `predict`.
        nbytes: nccl-tests' size, bytes or text.
        measured: measurements on the machine, as for `predict`.
        environment: NCCL_ALGO, ranks ... as for `predict`.

    Returns:
        The prediction.

    Raises:
        CollsimError: As `predict`.

    Examples:
        >>> import collsim as cs
        >>> cs.nccl.predict_with_simulation("allreduce", cs.machine("dgx-a100", nodes=2), "64MiB").algorithm
        'Ring'
    """
    if not isinstance(machine, Facts):
        machine = resolve_topology(machine, "predict_with_simulation")
    prediction = predict(collective, machine, nbytes, measured=measured, **environment)
    if measured is not None or not isinstance(machine, Topology):
        return prediction  # a simulation knows nothing of what was measured
    try:
        _, run = simulated(collective, machine, nbytes, **environment)
    except CollsimError:  # ranks that nodes cannot share evenly, algorithms without a schedule here
        return prediction
    difference = find_large_difference(prediction, run)
    if difference is None:
        return prediction
    return replace(prediction, notes=(*prediction.notes, str(difference)))


def find_large_difference(p: Prediction, run: Trace) -> Difference | None:
    """Find the term that makes the difference between a prediction and a simulation of the same call.

    Args:
        p: the prediction.
        run: the simulation of the prediction's algorithm on the same machine.

    Returns:
        The difference; None where the times differ by less than `FAR`.
    """
    seconds = run.time
    if not seconds or max(p.time / seconds, seconds / p.time) <= FAR:
        return None
    call = p.call
    if call is None:
        return None
    if p.time < seconds:
        return Difference(
            p.time, seconds, p.algorithm, *_explain_slower_simulation(p, run, compute_stated_time(call), call)
        )
    terms = compute_terms(call)
    term = max(terms, key=lambda name: terms[name])
    return Difference(p.time, seconds, p.algorithm, term, terms[term], *_describe_term(call, term))


def _explain_slower_simulation(
    p: Prediction, run: Trace, link_time: float, call: Call
) -> tuple[str, float, Words, str]:
    """What makes a simulation the slower one."""
    terms = measure_simulation_terms(run)
    terms["cards"] = -compute_terms(call)["cards"]
    # What is left after the named terms is links shared by several transfers, if there is a busiest link at all.
    neck = run.bottleneck
    shared = run.time - link_time - sum(terms.values())
    if neck is not None:
        terms["shared"] = shared
    term = max(terms, key=lambda name: terms[name])
    if neck is not None and term == "shared":
        link, share = run.topology.link_name(neck.busiest), 100 * neck.busiest_share
        reason = Sentence(
            "transfers share {link}, busy for {share:.3g} % of the run, and the prediction for NCCL's {algorithm} "
            "takes the rate measured on other machines of this kind",
            link=link,
            share=share,
            algorithm=p.algorithm,
        )
        return "shared", shared, reason, _describe_rate(call)[1]
    if term == "latency":
        message = f"every step waits for the latency of each link; NCCL's own steps take {format_time(p.parts.steps)}"
        return "latency", terms["latency"], message, f"steps {_FIT}"
    if term == "cards":
        message = (
            f"the simulation sends by the nearest card of a GPU, and NCCL's channels use {p.facts.nics:g} of a node"
        )
        return "cards", terms["cards"], message, _SEARCH
    message = f"{run.schedule.chunks} chunks are few, and the pipeline fills and drains; NCCL cuts finer"
    return "pieces", terms["pieces"], message, "NCCL's own buffers (src/include/device.h)"


def compute_terms(call: Call) -> dict[str, float]:
    """Compute what a call takes beyond the bytes on links at their nominal rates.

    Args:
        call: the call.

    Returns:
        Seconds by name of the term (`model.links.TERMS`): what turning it off saves, after those before it. With
        `compute_stated_time` their sum is the time of the call. `cards` is not above 0: it is what several cards save.
    """
    seconds: dict[str, float] = {}
    total = compute_time(call).total
    for term in TERMS:
        call = replace(call, links=call.links.without(term))
        rest = compute_time(call).total
        seconds[term], total = total - rest, rest
    return seconds


def compute_stated_time(call: Call) -> float:
    """Compute what the bytes of a call take on links at their nominal rates, with all terms turned off.

    Args:
        call: the call.

    Returns:
        Seconds.
    """
    return compute_time(replace(call, links=call.links.without(*TERMS))).total


def _describe_term(call: Call, term: str) -> tuple[Words, str]:
    """What a term is, and what it is known from."""
    if term == "rate":
        return _describe_rate(call)
    if term == "channels":
        return "NCCL's channels move no more than their thread blocks do", "NCCL's own caps (src/graph/tuning.cc)"
    if term == "protocol":
        return f"{call.protocol} fills its lines only in part with data", "NCCL's own constants (src/graph/tuning.cc)"
    if term == "alignment":
        return "ranks' blocks are no multiple of 16 bytes, and are copied in smaller pieces", READ_OFF["unaligned"]
    reasons = {
        "launch": "the kernels are launched and the hosts work before anything moves",
        "steps": f"NCCL's steps with {call.protocol} wait for one another",
        "fill": f"the pipeline of {call.protocol} fills and drains",
        "cards": "the bytes go by the nearest card of a GPU",
    }
    return reasons[term], _FIT


def _describe_rate(call: Call) -> tuple[Words, str]:
    facts = call.facts
    times = compute_link_times(call)
    limit = max(times, key=lambda name: times[name])
    if limit == "fabric":
        reason = Sentence("{link} carries the bytes of many hops", link=call.fabric.busiest_link)
        return reason, EVIDENCE.get(facts.net) or _FIT
    # On a machine of PCIe alone the slot is the wire itself, and what limits it is described as such.
    if limit == "host" or (limit == "pcie" and facts.wiring != "pcie"):
        return _describe_host_limit(call)
    if limit in (facts.wiring, "bridge"):
        real, full, kind = compute_intra_rate(call), facts.link_rate, get_intra_kind(facts)
        crossing = facts.crosses_sockets and limit == "pcie"
        who = "peer copies over PCIe"
        if limit != "pcie":
            who = f"{kind} links"
        across = ""
        if crossing:
            across = " between sockets"
        sources = [EVIDENCE.get(kind) or READ_OFF.get(f"carries.{kind}", _FIT)]
        if crossing:
            sources.append(EVIDENCE["crossing"])
        return f"{who}{across} move at {format_bandwidth(real)} of {format_bandwidth(full)}", "; ".join(sources)
    full = facts.nics * facts.nic_rate
    return (
        f"the {facts.nics:g} cards of a node ({limit}) carry {format_bandwidth(compute_net_rate(call))} of "
        f"{format_bandwidth(full)}",
        _find_network_evidence(call),
    )


def _describe_host_limit(call: Call) -> tuple[str, str]:
    """Which link on the way through host memory, or between GPUs and network cards, holds the data up."""
    times = compute_host_times(call)
    limit = max(times, key=lambda name: times[name])
    link = {"slot": "a PCIe link", "memory": "a socket's memory", "socket": "the link between sockets"}[limit]
    course = "staged through host memory"
    if call.facts.wiring != "host":
        course = "between GPUs and network cards"
    rate = compute_loads(call.collective, call.algorithm, call.facts)[0] * call.nbytes / times[limit]
    message = f"data {course} move at {format_bandwidth(rate)}, all that {link} leaves them"
    sources = {"slot": EVIDENCE["slot"], "memory": READ_OFF["host_memory"], "socket": "the nominal rate of that link"}
    evidence = sources[limit]
    if limit == "slot" and call.facts.over_fabric:
        evidence = READ_OFF["host_fabric"]
    return message, evidence


def _find_network_evidence(call: Call) -> str:
    facts = call.facts
    if facts.net != "tcp" and compute_bridge_rate(call) < facts.nic_rate * call.links.carries[facts.net]:
        return EVIDENCE["without gdr" if facts.gdr is False else "host bridge"]
    return EVIDENCE.get(facts.net) or READ_OFF.get(f"carries.{facts.net}", _FIT)
