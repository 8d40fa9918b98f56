"""What nccl-tests would print for a collective on a machine: the model's time, and beside it what NCCL's tuner
believes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..errors import CollsimError, Sentence, describe_unknown
from ..topology import Topology
from ..topology.assumed import assumptions
from ..topology.calibrated import Measured
from ..topology.files.effects import sentences
from ..units import format_bandwidth, format_bytes, format_time, parse_bytes, parse_count
from .bayesian_update import update_prediction
from .machine.fabric_cost import ONE_SWITCH, FabricCost, compute_fabric_cost
from .machine.facts import PCIE_GBPS, Facts, require_shared_host
from .machine.network_plugins import find_plugin_settings
from .machine.topology_facts import GraphSearch, build_graph_search, parse_cross_nic, read_facts
from .model.calibration_knobs import (
    describe_poor_fit,
    find_extrapolations,
    get_calibration,
    get_link_parameters,
    interpolate_residue,
    select_pinned_settings,
)
from .model.links import FABRICS, LinkParameters
from .model.prediction_interval import (
    LEVEL,
    Interval,
    Point,
    Shares,
    classify_machine,
    compute_interval,
    compute_shares,
)
from .model.releases import Release, describe_release, find_release, parse_version
from .model.timing import Call, TimeParts, compute_launch_time, compute_time, has_unaligned_blocks
from .model.tuner import TunerChoice, choose_algorithm, parse_allowed_names
from .search import constants as c
from .tuner_graphs import build_communicator

#: Collectives of nccl-tests, with the factor from algbw to busbw (nccl-tests doc/PERFORMANCE.md; sendrecv 1).
BUSBW: dict[str, Callable[[int], float]] = {
    "allreduce": lambda n: 2 * (n - 1) / n,
    "allgather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "alltoall": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1.0,
    "reduce": lambda n: 1.0,
    "sendrecv": lambda n: 1.0,
}
_POINT_TO_POINT = ("alltoall", "sendrecv")


@dataclass(frozen=True)
class Prediction:
    """One call, as nccl-tests would print it, and why.

    Attributes:
        time: seconds. algbw, busbw: B/s, as nccl-tests counts.
        algorithm, protocol, channels, threads: what NCCL chooses (`P2P` for collectives made of sends and receives).
        parts: the time taken apart: launch, steps, bytes, fill; and the tightest link.
        tuner: what NCCL's own tuner believed when it chose; None for sends and receives, which it does not tune.
        facts: the machine as the model sees it.
        notes: what was assumed or left out.
        graphs: what NCCL's search finds on its links; None where that is not known or not NCCL's.
        points: measurements of one's own that moved `time` and narrow its interval (`measured=` of `predict`).
        before: seconds without them.
        between: what the fabric between nodes costs beside one switch for all cards.
        version: of NCCL, 18 for 2.18; None where nobody said.
    """

    collective: str
    nbytes: int
    time: float
    algbw: float
    busbw: float
    algorithm: str
    protocol: str
    channels: int
    threads: int
    parts: TimeParts
    tuner: TunerChoice | None
    facts: Facts
    notes: tuple[str, ...] = field(default_factory=tuple)
    graph_search: GraphSearch | None = field(default=None, compare=False, repr=False)
    points: tuple[Point, ...] = ()
    prior_time: float | None = None
    fabric: FabricCost = ONE_SWITCH
    version: int | None = None

    @property
    def release(self) -> Sentence:
        """What NCCL's version means for the choice, or which was assumed."""
        if self.facts.is_amd:
            return Sentence("RCCL runs here, whose tables are its own; NCCL's versions do not count")
        return describe_release(self.version)

    @property
    def kind(self) -> str:
        """The class of the machine, as `model.spread` has it."""
        return classify_machine(self.facts)

    @property
    def shares(self) -> Shares:
        """Parts of the time that wait, fill the pipeline, and move bytes."""
        return compute_shares(self.parts.launch + self.parts.steps, self.parts.fill, self.parts.bytes)

    def interval(self, level: float = LEVEL) -> Interval:
        """Where the measured time lies with a probability of `level`, and from how many published systems that is
        known. Raises CollsimError for a level that is not between 0 and 1."""
        unmoved = self.time if self.prior_time is None else self.prior_time
        return compute_interval(self.kind, self.collective, self.shares, unmoved, level, self.points)

    @cached_property
    def _usual(self) -> Interval:
        return self.interval()

    @property
    def low(self) -> float:
        """Seconds: four in five measurements lie between `low` and `high`."""
        return self._usual.low

    @property
    def high(self) -> float:
        return self._usual.high

    @property
    def tuner_time(self) -> float | None:
        """Seconds that NCCL's tuner believes, which knows no contention; None where it has no opinion."""
        return None if self.tuner is None else self.tuner.time_us * 1e-6

    def scale(self, factor: float) -> Prediction:
        """The same, so many times as long: what a calibration found that the model does not explain."""
        rates = {"algbw": self.algbw / factor, "busbw": self.busbw / factor}
        return replace(self, time=self.time * factor, parts=self.parts.scale(factor), **rates)  # type: ignore[arg-type]

    def __str__(self) -> str:
        believed = "" if self.tuner_time is None else f"; NCCL's tuner believes {format_time(self.tuner_time)}"
        return (
            f"{self.collective} of {format_bytes(self.nbytes)} on {self.facts.ranks} {self.facts.gpu}: "
            f"{format_time(self.time)} ({format_time(self.low)} to {format_time(self.high)}), "
            f"busbw {format_bandwidth(self.busbw)}, {self.algorithm} {self.protocol}, "
            f"{self.channels} channels{believed}"
        )


def predict(
    collective: str,
    machine: Facts | Topology,
    nbytes: Any,
    ranks: Any = None,
    *,
    NCCL_ALGO: str | None = None,
    NCCL_PROTO: str | None = None,
    NCCL_P2P_DISABLE: bool | int | str | None = None,
    NCCL_P2P_LEVEL: int | str | None = None,
    NCCL_NET_GDR_LEVEL: int | str | None = None,
    NCCL_MAX_NCHANNELS: int | str | None = None,
    NCCL_CROSS_NIC: int | str | None = None,
    NCCL_NVLS_ENABLE: bool | int | str | None = None,
    NCCL_PAT_ENABLE: bool | int | str | None = None,
    links: LinkParameters | None = None,
    launch: str | None = None,
    version: str | None = None,
    measured: Any = None,
) -> Prediction:
    """Predict what nccl-tests prints (out of place, float, sum).

    Args:
        collective: allreduce, allgather, reduce_scatter, broadcast, reduce, alltoall or sendrecv.
        machine: `machine("dgx-h100", nodes=2)`, or Facts.
        nbytes: nccl-tests' size: for allgather and reduce_scatter the whole array.
        ranks: fewer ranks than GPUs.
        NCCL_ALGO ... NCCL_PAT_ENABLE: NCCL's environment variables, with their values as NCCL takes them; None or "":
        not set.
            NCCL_CROSS_NIC decides which graphs the search finds, and so what the tuner chooses and over which cards,
            rails and spines of a Topology's fabric the bytes go.
        launch: who launches the kernels: "one process" for all GPUs of a node, "process per gpu", or "graph", captured
        before. None: as the machine says, else not known, and a middle is taken. It decides small calls.
        version: of NCCL, "2.18" or "2.18.5": algorithms, protocols and the tables by which its tuner chooses were
        others before 2.28. None: 2.30's. `Prediction.release` says what that means.
        measured: times of one's own on this machine, {"8B": "13us", "1GiB": "8.1ms"} or a table with columns nbytes and
        time, of this collective: one or two move launch, pipeline and rate, and narrow the interval.
        links: what links carry; None: what the machine was calibrated to, where it was, else collsim's own figures.

    Raises CollsimError for unknown names and values, and where NCCL_ALGO and NCCL_PROTO leave nothing.

    What a machine's file does not say and makes a difference here is in `notes`, with the difference that another value
    makes, found by predicting again.
    """
    settings = {name: value for name, value in locals().items() if name.startswith("NCCL_")}

    def found(place: Facts | Topology, size: Any = nbytes) -> Prediction:
        return _predicted(collective, place, size, ranks, links, launch, parse_version(version), **settings)

    here = found(machine)
    if measured is not None:
        here = update_prediction(here, measured, lambda size: found(machine, size))
    if not isinstance(machine, Topology) or not assumptions(machine):
        return here
    lines = sentences(machine, lambda place: found(place).time)
    return replace(here, notes=(*here.notes, *(en for en, _ in lines)))


def _predicted(
    collective: str,
    machine: Facts | Topology,
    nbytes: Any,
    ranks: Any,
    links: LinkParameters | None,
    launch: str | None,
    version: int | None,
    *,
    NCCL_ALGO: str | None,
    NCCL_PROTO: str | None,
    NCCL_P2P_DISABLE: bool | int | str | None,
    NCCL_P2P_LEVEL: int | str | None,
    NCCL_NET_GDR_LEVEL: int | str | None,
    NCCL_MAX_NCHANNELS: int | str | None,
    NCCL_CROSS_NIC: int | str | None,
    NCCL_NVLS_ENABLE: bool | int | str | None,
    NCCL_PAT_ENABLE: bool | int | str | None,
) -> Prediction:
    """`predict` without what the machine's file left open."""
    name = parse_collective(collective)
    size = parse_bytes(nbytes)
    facts = read_facts(machine, ranks)
    facts = facts if launch is None else replace(facts, launch=launch)  # type: ignore[arg-type]
    level = _level("NCCL_P2P_LEVEL", NCCL_P2P_LEVEL, "SYS")
    p2p = "LOC" if _flag("NCCL_P2P_DISABLE", NCCL_P2P_DISABLE) else level
    facts, notes = _environment(facts, p2p, NCCL_NET_GDR_LEVEL)
    found = build_graph_search(facts, p2p, parse_cross_nic(NCCL_CROSS_NIC))
    notes += _guess_notes(facts) + _plugin_notes(facts)
    most = parse_count(NCCL_MAX_NCHANNELS, "NCCL_MAX_NCHANNELS") if _text(NCCL_MAX_NCHANNELS) else None
    pat = _flag("NCCL_PAT_ENABLE", NCCL_PAT_ENABLE, auto=True)
    algorithms, protocols = _text(NCCL_ALGO), _text(NCCL_PROTO)
    for variable, said, names in (("NCCL_ALGO", algorithms, c.ALGORITHMS), ("NCCL_PROTO", protocols, c.PROTOCOLS)):
        parse_allowed_names(
            said, name, names, variable
        )  # words that NCCL does not know are refused where it chooses nothing, too
    known = get_calibration(machine) if links is None else None
    links = get_link_parameters(machine) if links is None else links
    comm = build_communicator(facts, most, pat, found)
    if version is not None:
        comm, notes = replace(comm, release=_release(version, facts)), (*notes, str(describe_release(version)))
    if _flag("NCCL_NVLS_ENABLE", NCCL_NVLS_ENABLE, auto=True) is False:
        comm = replace(comm, nvls=None)
    choice = None
    if facts.ranks > 1 and name not in _POINT_TO_POINT:
        choice = choose_algorithm(name, comm, size, algorithms, protocols)
        if most is not None and choice.algorithm in c.IN_NVSWITCH:
            notes += ("NVLS has channels of its own, which NCCL_MAX_NCHANNELS does not bound",)
    call = Call(name, "Ring", "LL", size, facts, comm, links)
    if isinstance(machine, Topology) and facts.ranks > 1:
        way = compute_fabric_cost(name, "Ring" if choice is None else choice.algorithm, machine, facts, found)
        call, notes = replace(call, fabric=way), (*notes, *_fabric_notes(machine, way))
    notes += _crossing_notes(found, facts.nodes, call.fabric)
    here = replace(_timed(call, choice, notes, found), version=version)
    settings = select_pinned_settings({"NCCL_ALGO": algorithms, "NCCL_PROTO": protocols})
    return here if known is None else apply_calibration(here, known, settings)


def _release(version: int, facts: Facts) -> Release | None:
    """The tuner of a version. Raises CollsimError where it is not NCCL that runs."""
    if facts.is_amd:
        raise CollsimError(
            "version='2.{minor}' is of NCCL, and {gpu} runs RCCL, whose tables are its own; leave the version out",
            minor=version,
            gpu=facts.gpu,
        )
    return find_release(version)


def _crossing_notes(found: GraphSearch | None, nodes: int, way: FabricCost) -> tuple[str, ...]:
    """What it costs that rings change the card between nodes."""
    crossings = found.rings.count_crossings(nodes) if found else 0
    if found is None or not crossings:
        return ()
    said = f"{crossings} of {nodes * len(found.rings.channels)} hops of rings between nodes change the card"
    if way == ONE_SWITCH:
        return (f"{said}, on rails the rail: that way is not slower here",)
    return (f"{said}; a hop takes {format_time(way.hop_delay)} longer inside its nodes than over one switch",)


def _fabric_notes(machine: Topology, way: FabricCost) -> tuple[str, ...]:
    """What the fabric costs, and the hops that change rail."""
    fabric, found = machine.facts.get("fabric"), []
    if way.slowdown > 1:
        found.append(
            f"fabric {fabric}: bytes between nodes take {way.slowdown:.3g} times as long as over one switch, held up "
            f"by {way.busiest_link}"
        )
    if way.rail_changes:
        found.append(
            f"fabric {fabric}: {way.rail_changes} of {way.hops} hops between nodes leave their rail or unit over the "
            "spines"
        )
    return tuple(found)


def _guess_notes(facts: Facts) -> tuple[str, ...]:
    """What was taken for a GPU that no table knows."""
    if facts.gpu_known:
        return ()
    links = f"links of {facts.link_rate / 1e9:g} GB/s" if facts.wiring in FABRICS else "no links of its own"
    return (
        f"{facts.gpu} is in no table of GPUs: taken as one with PCIe {facts.pcie} and {links}; the interval is wide",
    )


def _plugin_notes(facts: Facts) -> tuple[str, ...]:
    """What the network's plugin sets, where it does."""
    said = find_plugin_settings(facts)
    if said is None:
        return ()
    names = {"NCCL_ALGO": said.algorithms, "NCCL_PROTO": said.protocols}
    sets = " and ".join(f"{name}={value}" for name, value in names.items() if value)
    return (f"the plugin of this network sets {sets} where you set nothing ({said.source})",)


def _timed(call: Call, choice: TunerChoice | None, notes: tuple[str, ...], found: Any) -> Prediction:
    """A call of one rank, a transfer from point to point (no choice), or what the tuner chose."""
    if call.facts.ranks == 1:
        return _alone(call, notes)
    if choice is None:
        run = ("P2P", "Simple", call.comm.running_channels, c.THREADS["Simple"])
        call = replace(call, protocol="Simple")
    else:
        run = (choice.algorithm, choice.protocol, choice.channels, choice.threads)
        call = replace(call, algorithm=choice.algorithm, protocol=choice.protocol)
        if has_unaligned_blocks(call.collective, call.protocol, call.nbytes, call.facts.ranks):
            block = call.nbytes // call.facts.ranks
            notes += (f"blocks of {block:,} B are no multiple of 16: NCCL copies them more slowly; pad them",)
    made = _prediction(call.collective, call.nbytes, call.facts, compute_time(call), choice, run, notes, found)
    return replace(made, fabric=call.fabric)


def apply_calibration(p: Prediction, known: Measured, settings: Mapping[str, str]) -> Prediction:
    """A prediction with a calibration's links, times what its log left over; notes say what nobody measured."""
    call = p.collective, p.nbytes
    guessed = (
        f"beyond the calibration: {sentence}"
        for sentence in find_extrapolations(known.fitted_on, p.facts, *call, settings)
    )
    bad = describe_poor_fit(known.held_out)
    notes = (*p.notes, *guessed, *(() if bad is None else (f"the calibration: {bad}",)))
    return replace(p.scale(interpolate_residue(known.fitted_on, known.residues, p.facts, call, settings)), notes=notes)


def _prediction(
    name: str,
    size: int,
    facts: Facts,
    parts: TimeParts,
    choice: TunerChoice | None,
    run: tuple[str, str, int, int],
    notes: tuple[str, ...],
    graphs: GraphSearch | None,
) -> Prediction:
    rate = size / parts.total
    return Prediction(
        name, size, parts.total, rate, rate * BUSBW[name](facts.ranks), *run, parts, choice, facts, notes, graphs
    )


def _alone(call: Call, notes: tuple[str, ...]) -> Prediction:
    parts, size = TimeParts(compute_launch_time(call), 0.0, 0.0, 0.0, "nothing to send"), call.nbytes
    run, said = ("Ring", "Simple", 1, c.LEAST_THREADS), (*notes, "one rank copies")
    return Prediction(call.collective, size, parts.total, size / parts.total, 0.0, *run, parts, None, call.facts, said)


def parse_collective(collective: str) -> str:
    """Our name of a collective of nccl-tests: `all_reduce_perf`, `AllReduce` and `reducescatter` are understood."""
    plain = {k.replace("_", ""): k for k in BUSBW}
    key = str(collective).lower().replace("_", "").replace("-", "").removesuffix("perf")
    if key not in plain:
        raise CollsimError(describe_unknown("collective of nccl-tests", collective, BUSBW))
    return plain[key]


def _text(value: object) -> str:
    """The value of an environment variable as text, "" where it is not set."""
    return "" if value is None else str(value).strip()


def _flag(variable: str, value: object, auto: bool = False) -> bool | None:
    """On or off; None where it is not set, or set to what NCCL itself takes then: 2, where it has an automatic
    choice."""
    text = _text(value).lower()
    if text == "" or (auto and text == "2"):
        return None
    if text not in ("0", "false", "1", "true"):
        why = "{variable}={value!r} must be 0 or 1{auto}"
        raise CollsimError(
            why, variable=variable, value=value, auto=Sentence(", or 2 where NCCL is to choose") if auto else ""
        )
    return text in ("1", "true")


def _environment(facts: Facts, p2p: str, gdr_level: object) -> tuple[Facts, tuple[str, ...]]:
    """The machine that is left after NCCL_P2P_* and NCCL_NET_GDR_LEVEL."""
    notes: list[str] = []
    needed = (
        "NVL"
        if facts.wiring in ("nvswitch", "mesh", "bridge", "cube", "xgmi")
        else "SYS"
        if facts.crosses_sockets
        else "PHB"
    )
    if facts.wiring not in ("none", "host") and not c.is_type_at_most(needed, p2p):
        facts = replace(facts, wiring="host", link_rate=PCIE_GBPS[facts.pcie] * 1e9)
        require_shared_host(facts)
        notes.append("peers are reached through host memory")
    if facts.staged_between_switches and not c.is_type_at_most("PIX", p2p):
        facts = replace(facts, staged_between_switches=False)
    level = _level("NCCL_NET_GDR_LEVEL", gdr_level, "")
    if level and facts.nodes > 1:
        facts = replace(
            facts, gdr=c.is_type_at_most("PHB" if facts.is_pcie_card else "PIX", level) and facts.gdr is not False
        )
    return facts, tuple(notes)


def _level(variable: str, value: object, usual: str) -> str:
    """A path type from NCCL's words or its old numbers 0 to 5 (src/graph/paths.cc, ncclGetLevel)."""
    text = _text(value)
    if text == "":
        return usual
    numbers = {"0": "LOC", "1": "PIX", "2": "PXB", "3": "PHB", "4": "SYS", "5": "SYS"}
    name = numbers.get(text, text.upper())
    if name not in c.PATH_TYPES:
        raise CollsimError(
            describe_unknown(
                Sentence("value of {variable}", variable=variable), value, ("LOC", "NVL", "PIX", "PXB", "PHB", "SYS")
            )
        )
    return name
