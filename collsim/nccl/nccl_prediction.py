"""What nccl-tests would print for a collective on a machine: the model's time, and what NCCL's tuner believes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..collective import collectives, find_collective_name
from ..errors import CollsimError, Sentence, require_word
from ..errors.arguments import check_arguments, check_call
from ..topology import Topology
from ..topology.calibrated import Measured
from ..topology.files.effects import describe_effects, find_effects
from ..topology.parts.rank_selection import describe_ranks, read_rank_numbers, select_ranks
from ..topology_names import TopologyLike, resolve_topology
from ..units import ByteSize, format_bandwidth, format_bytes, format_time, parse_bytes, parse_count
from .bayesian_update import MeasuredTimes, update_prediction
from .machine.fabric_cost import ONE_SWITCH, FabricCost, compute_fabric_cost
from .machine.flows import MachineCall
from .machine.idle_cards import count_near_cards, find_idle_cards
from .machine.link_loads import compute_link_loads
from .machine.machine_facts import Facts
from .machine.nccl_routes import has_shared_memory, select_participants, split_by_gpus
from .machine.network_plugins import find_plugin_settings
from .machine.topology_facts import (
    GraphSearch,
    build_graph_search,
    parse_cross_nic,
    read_card_facts,
    read_facts,
)
from .model import rccl
from .model.algorithm_time import Call, TimeParts, compute_launch_time, compute_time, has_unaligned_blocks
from .model.calibration_knobs import (
    describe_poor_fit,
    find_extrapolations,
    get_calibration,
    get_link_parameters,
    interpolate_size_correction,
    select_pinned_settings,
)
from .model.larger_calls import describe_faster_larger_call
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
from .model.releases import (
    Release,
    describe_registered_buffers,
    describe_release,
    find_release,
    parse_version,
)
from .model.tuner import Communicator, TunerChoice, choose_algorithm, parse_allowed_names
from .model.unknown_inputs import (
    UnknownInput,
    describe_inputs,
    list_choice_inputs,
    list_file_inputs,
    list_incast_inputs,
    list_unknown_inputs,
    sort_inputs,
)
from .nccl_environment import (
    Flag,
    Level,
    NcclSettings,
    apply_environment,
    note_staging,
    parse_flag,
    parse_p2p_level,
    read_text,
    replace_host_memory_by_cards,
    route_machine,
)
from .search import constants as c
from .tuner_graphs import build_communicator

#: Collectives of nccl-tests, with the factor from algbw to busbw by number of ranks.
BUSBW: dict[str, Callable[[int], float]] = {
    name: collectives()[name].busbw
    for name in ("allreduce", "allgather", "reduce_scatter", "alltoall", "broadcast", "reduce", "sendrecv")
}
_POINT_TO_POINT = ("alltoall", "sendrecv")
#: Peers that a rank receives from at a time (NCCL src/include/device.h, NCCL_MAX_DEV_WORK_P2P_PER_BATCH).
MAX_PEERS_AT_ONCE = 8


@dataclass(frozen=True)
class Prediction:
    """One call, as nccl-tests would print it, and what the time consists of.

    Attributes:
        collective: collsim's name of it.
        nbytes: nccl-tests' size, bytes.
        time: seconds.
        algbw: B/s, as nccl-tests counts.
        busbw: B/s, as nccl-tests counts.
        algorithm: what NCCL chooses; `P2P` for collectives made of sends and receives.
        protocol: what NCCL chooses.
        channels: channels of the call.
        threads: threads of a channel.
        parts: the parts of the time: launch, steps, bytes, fill; and the tightest link.
        tuner: what NCCL's own tuner believed when it chose; None for sends and receives, which it does not tune.
        facts: the machine as the model sees it.
        notes: what was assumed or left out.
        graph_search: what NCCL's search finds on its links; None where that is not known or not NCCL's.
        uneven_search: the same on nodes with one rank more or less; None where all nodes have as many.
        points: measurements on the machine that moved `time` and narrow its interval (`measured=` of `predict`).
        prior_time: seconds without them; None where there are none.
        fabric: what the links between nodes cost in comparison with one switch for all cards.
        version: of NCCL, 18 for 2.18; None where none was given.
        used_ranks: which GPUs take part, where they are not all of the machine: `2 ranks: GPU 0 of each node`.
        call: what the time was computed from; None for one rank, which sends nothing.
        file_inputs: what the file of the machine left open.
        machine: the Topology that it is of; None of words alone.
        repeat: predicts the same call on another machine; `predict_on` calls it.

    Examples:
        >>> import collsim as cs
        >>> prediction = cs.nccl.predict("allreduce", cs.machine("dgx-a100", nodes=2), "64MiB")
        >>> prediction.algorithm, prediction.protocol
        ('Ring', 'LL128')
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
    tuner: TunerChoice | None = field(hash=False)  # holds a table of costs, which has no hash
    facts: Facts
    notes: tuple[str, ...] = field(default_factory=tuple)
    graph_search: GraphSearch | None = field(default=None, compare=False, repr=False)
    uneven_search: GraphSearch | None = field(default=None, compare=False, repr=False)
    points: tuple[Point, ...] = ()
    prior_time: float | None = None
    fabric: FabricCost = ONE_SWITCH
    version: int | None = None
    used_ranks: str = ""
    call: Call | None = field(default=None, compare=False, repr=False)
    file_inputs: tuple[UnknownInput, ...] = ()
    machine: Topology | None = field(default=None, compare=False, repr=False)
    repeat: Callable[[Topology], Prediction] | None = field(default=None, compare=False, repr=False)

    def __repr__(self) -> str:
        size, time = format_bytes(self.nbytes), format_time(self.time)
        choice = f"{self.algorithm}, {self.protocol}, {self.channels} channels"
        return f"<Prediction {self.collective} of {size} on {self.facts.ranks} ranks: {time} ({choice})>"

    @property
    def release(self) -> Sentence:
        """What NCCL's version means for the choice, or which was assumed."""
        if self.facts.is_amd:
            return Sentence("RCCL runs here, whose tables are its own; NCCL's versions do not count")
        return describe_release(self.version)

    @property
    def registered_buffers(self) -> tuple[Sentence, ...]:
        """What NCCL would do instead if the program registered its buffers; nothing where it would do the same."""
        if self.facts.is_amd or self.facts.nodes > 1 or self.facts.wiring not in ("nvswitch", "mesh"):
            return ()
        return describe_registered_buffers(self.version, self.collective)

    @property
    def faster_larger_calls(self) -> tuple[Sentence, ...]:
        """That a larger call takes less time, as NCCL chooses something faster for it; nothing where none does."""
        if self.call is None:
            return ()
        return describe_faster_larger_call(self.call, self.tuner)

    @property
    def kind(self) -> str:
        """The class of the machine, as `model.prediction_interval` has it."""
        return classify_machine(self.facts)

    @property
    def shares(self) -> Shares:
        """Shares of the time that wait, fill the pipeline, and move bytes, and what nobody stated."""
        parts = self.parts
        unknown = {unknown_input.name: unknown_input.deviations for unknown_input in self.unknown_inputs}
        return compute_shares(parts.launch + parts.steps, parts.fill, parts.bytes, unknown)

    @cached_property
    def unknown_inputs(self) -> tuple[UnknownInput, ...]:
        """What nobody stated about the machine and what changes the time, the most important first: the interval is
        wide for it, and its `measurement` would narrow it."""
        if self.call is None:
            return ()
        facts, inputs = self.facts, (*list_unknown_inputs(self.call), *list_choice_inputs(self.call, self.tuner))
        if self.collective == "alltoall" and facts.net == "tcp" and facts.nodes > 1:
            peers = min(MAX_PEERS_AT_ONCE, facts.ranks - facts.local_ranks)
            inputs += list_incast_inputs(peers * facts.local_ranks / facts.nics, self.nbytes / facts.ranks, self.time)
        inputs += self.file_inputs
        return sort_inputs(inputs)

    def interval(self, level: float = LEVEL, known: Sequence[str] = ()) -> Interval:
        """Where the measured time lies with some probability, and from how many published systems that is known.

        Args:
            level: the probability, between 0 and 1.
            known: names of `unknown_inputs` that count as known to be what was assumed.

        Returns:
            The interval.

        Raises:
            CollsimError: for a level that is not between 0 and 1.
        """
        if self.prior_time is None:
            prior_time = self.time
        else:
            prior_time = self.prior_time
        shares = self.shares
        unknown = {name: spread for name, spread in shares.unknown.items() if name not in known}
        shares = replace(shares, unknown=unknown)
        return compute_interval(self.kind, self.collective, shares, prior_time, level, self.points)

    @property
    def assumptions(self) -> tuple[Sentence, ...]:
        """What was assumed because nobody stated it and what it alone makes of the time, that which matters most
        first; and the measurement that would narrow the interval most, where one would."""
        if self.points:
            return tuple(entry.sentence for entry in self.unknown_inputs)
        return describe_inputs(self.unknown_inputs, lambda known: self.interval(known=known))

    @cached_property
    def _usual_interval(self) -> Interval:
        return self.interval()

    @property
    def low(self) -> float:
        """Seconds: four in five measurements lie between `low` and `high`."""
        return self._usual_interval.low

    @property
    def high(self) -> float:
        """Seconds: four in five measurements lie between `low` and `high`."""
        return self._usual_interval.high

    @property
    def tuner_time(self) -> float | None:
        """Seconds that NCCL's tuner estimates, which ignores contention; None where it does not choose."""
        if self.tuner is None:
            return None
        return self.tuner.time_us * 1e-6

    @check_call
    def predict_on(self, machine: Topology) -> Prediction:
        """The same call with the same settings on another machine.

        Args:
            machine: the machine.

        Raises:
            CollsimError: This prediction was not made by `predict`.
        """
        if self.repeat is None:
            raise CollsimError("this prediction was put together by hand; predict the call on the other machine")
        return replace(self.repeat(machine), machine=machine, repeat=self.repeat)

    @check_call
    def scale(self, factor: float) -> Prediction:
        """Scale the time, by what a calibration found that the model does not explain.

        Args:
            factor: factor on the time.

        Returns:
            The same call with the scaled time, parts and rates.
        """
        parts = self.parts.scale(factor)
        return replace(self, time=self.time * factor, parts=parts, algbw=self.algbw / factor, busbw=self.busbw / factor)

    def __str__(self) -> str:
        believed = ""
        if self.tuner_time is not None:
            believed = f"; NCCL's tuner believes {format_time(self.tuner_time)}"
        used = self.used_ranks and f"; {self.used_ranks}"
        return (
            f"{self.collective} of {format_bytes(self.nbytes)} on {self.facts.ranks} {self.facts.gpu}: "
            f"{format_time(self.time)} ({format_time(self.low)} to {format_time(self.high)}), "
            f"busbw {format_bandwidth(self.busbw)}, {self.algorithm} {self.protocol}, "
            f"{self.channels} channels{believed}{used}"
        )


@check_arguments
def predict(
    collective: str,
    machine: Facts | TopologyLike,
    nbytes: ByteSize,
    ranks: int | str | Sequence[int] | None = None,
    *,
    NCCL_ALGO: str | None = None,
    NCCL_PROTO: str | None = None,
    NCCL_P2P_DISABLE: Flag = None,
    NCCL_P2P_LEVEL: Level = None,
    NCCL_SHM_DISABLE: Flag = None,
    NCCL_NET_GDR_LEVEL: Level = None,
    NCCL_MAX_NCHANNELS: Level = None,
    NCCL_CROSS_NIC: Level = None,
    NCCL_NVLS_ENABLE: Flag = None,
    NCCL_PAT_ENABLE: Flag = None,
    links: LinkParameters | None = None,
    launch: str | None = None,
    version: str | None = None,
    measured: MeasuredTimes | None = None,
) -> Prediction:
    """Predict what nccl-tests prints (out of place, float, sum).

    Unknown properties of the machine that change the result are in `notes`, with the difference that another value
    makes, found by predicting again. NCCL's environment variables take their values as NCCL does; None or "": not set.

    Args:
        collective: allreduce, allgather, reduce_scatter, broadcast, reduce, alltoall or sendrecv.
        machine: `machine("dgx-h100", nodes=2)`, its name, or Facts.
        nbytes: nccl-tests' size in bytes, or text such as `"64MiB"`: for allgather and reduce_scatter the whole array.
        ranks: fewer ranks than GPUs, the first GPUs of each node; or their numbers. Where nodes give different GPUs,
            the time is that of the slower ones on all nodes. None: all.
        NCCL_ALGO: algorithms that NCCL may choose, `"Ring,Tree"`, `"^NVLS"`.
        NCCL_PROTO: protocols that it may choose, `"Simple"`, `"^LL128"`.
        NCCL_P2P_DISABLE: 1 stages what GPUs of a node exchange through host memory.
        NCCL_P2P_LEVEL: the worst path type for P2P: `"LOC"`, `"NVL"`, `"PIX"`, `"PXB"`, `"PHB"` or `"SYS"`, or NCCL's
            old numbers 0 (LOC), 1 (PIX), 2 (PXB), 3 (PHB), 4 and 5 (SYS). Not set: what the machine allows.
        NCCL_SHM_DISABLE: 1 sends what would be staged through host memory over the network cards of the node.
        NCCL_NET_GDR_LEVEL: the worst path type for GPUDirect RDMA, in the same words. Not set: what the machine allows.
        NCCL_MAX_NCHANNELS: the most channels.
        NCCL_CROSS_NIC: 0 to 2; it decides which graphs the search finds, and so what the tuner chooses and over which
            cards, rails and spines of a Topology's fabric the bytes go.
        NCCL_NVLS_ENABLE: 0 leaves NVLink SHARP out, 2 lets NCCL choose.
        NCCL_PAT_ENABLE: 1 lets NCCL choose PAT with several GPUs per node, 0 never, 2 is NCCL's default.
        links: what links carry; None: what the machine was calibrated to, where it was, else collsim's own figures.
        launch: who launches the kernels (not a time, as in `simulate`): "one process" for all GPUs of a node, "process
            per gpu", or "graph", captured before. None: as the machine states it, else a value between the two process
            modes. It matters for small sizes.
        version: of NCCL, "2.18" or "2.18.5": before 2.28 it had other algorithms, protocols and tables to choose by.
            None: 2.30. `Prediction.release` says what that means.
        measured: times of this collective on this machine, {"8B": "13us", "1GiB": "8.1ms"} or a table with columns
            nbytes (bytes) and time (s): one or two move launch, pipeline and rate, and narrow the interval.

    Returns:
        The prediction.

    Raises:
        CollsimError: for unknown names and values, and where NCCL_ALGO and NCCL_PROTO leave nothing.

    Examples:
        >>> import collsim as cs
        >>> prediction = cs.nccl.predict("allreduce", cs.machine("dgx-h100", nodes=2), "1GiB")
        >>> prediction.algorithm, prediction.protocol
        ('NVLSTree', 'Simple')
        >>> prediction.low < prediction.time < prediction.high
        True
    """
    settings: NcclSettings = {
        "NCCL_ALGO": NCCL_ALGO,
        "NCCL_PROTO": NCCL_PROTO,
        "NCCL_P2P_DISABLE": NCCL_P2P_DISABLE,
        "NCCL_P2P_LEVEL": NCCL_P2P_LEVEL,
        "NCCL_SHM_DISABLE": NCCL_SHM_DISABLE,
        "NCCL_NET_GDR_LEVEL": NCCL_NET_GDR_LEVEL,
        "NCCL_MAX_NCHANNELS": NCCL_MAX_NCHANNELS,
        "NCCL_CROSS_NIC": NCCL_CROSS_NIC,
        "NCCL_NVLS_ENABLE": NCCL_NVLS_ENABLE,
        "NCCL_PAT_ENABLE": NCCL_PAT_ENABLE,
    }
    used_ranks = ""
    # Facts have no GPUs that could be numbered, only their number.
    if not isinstance(machine, Facts):
        machine = resolve_topology(machine, "predict")
        kinds = split_by_gpus(machine, ranks)
        if kinds:
            options = {"links": links, "launch": launch, "version": version, "measured": measured}
            return _predict_kinds_of_nodes(collective, machine, nbytes, kinds, ranks, {**settings, **options})
        machine, ranks, used_ranks = select_participants(machine, ranks)
    elif isinstance(ranks, Sequence) and not isinstance(ranks, str):
        raise CollsimError("ranks={value!r}: facts of a machine have no numbered GPUs; say how many", value=ranks)
    request = _Request(collective, ranks, links, launch, parse_version(version), settings)
    prediction = _predict_call(request, machine, nbytes)
    if measured is not None:
        # Measured times move the prediction of other sizes, too.
        prediction = update_prediction(prediction, measured, lambda size: _predict_call(request, machine, size))
    if used_ranks:
        prediction = replace(prediction, used_ranks=used_ranks)
    if not isinstance(machine, Topology):
        return prediction
    prediction = replace(prediction, machine=machine, repeat=partial(_predict_on, request, nbytes))
    # Each assumption of the file is varied, and named if the time depends on it.
    if not machine.facts.assumptions:
        return prediction
    effects = find_effects(machine, lambda variant: _predict_call(request, variant, nbytes).time)
    notes = (*prediction.notes, *(english for english, _ in describe_effects(machine, effects)))
    return replace(prediction, notes=notes, file_inputs=list_file_inputs(effects))


@dataclass(frozen=True)
class _Request:
    """The arguments of `predict`, but for machine, size and measurements; `version` is 18 for 2.18."""

    collective: str
    ranks: int | str | None
    links: LinkParameters | None
    launch: str | None
    version: int | None
    settings: NcclSettings


def _predict_kinds_of_nodes(
    collective: str,
    machine: Topology,
    nbytes: ByteSize,
    kinds: Sequence[Sequence[int]],
    ranks: object,
    options: Mapping[str, Any],
) -> Prediction:
    """The slowest of predictions with the GPUs of one node on all nodes: NCCL takes the least channels and rates of all
    nodes (src/init.cc), so the slowest decides."""
    options = dict(options)
    if 2 * min(map(len, kinds)) == max(map(len, kinds)):  # some nodes give one rank
        options["NCCL_NVLS_ENABLE"] = "0"
    predictions = [predict(collective, machine, nbytes, same, **options) for same in kinds]
    slowest = max(predictions, key=lambda prediction: prediction.time)
    numbers = np.sort(read_rank_numbers(ranks))
    fullest = max(predictions, key=lambda prediction: prediction.facts.ranks)
    facts = replace(fullest.facts, ranks=len(numbers))
    return replace(
        slowest,
        facts=facts,
        busbw=slowest.algbw * BUSBW[slowest.collective](facts.ranks),
        used_ranks=str(describe_ranks(machine, numbers)),
        notes=(*slowest.notes, f"nodes give different GPUs: as with {slowest.used_ranks}, the slowest of them"),
        graph_search=None,
        uneven_search=None,
    )


def _describe_used_ranks(machine: Facts | Topology, facts: Facts) -> str:
    """Which GPUs take part, where some of the machine do not."""
    if not isinstance(machine, Topology) or facts.ranks >= machine.ranks:
        return ""
    return str(describe_ranks(machine, select_ranks(machine, facts.ranks)))


def _apply_settings(
    request: _Request, machine: Facts | Topology, p2p_level: str
) -> tuple[Facts | Topology, Facts, tuple[str, ...]]:
    """The machine as NCCL's settings and the launch leave it, its facts, and what that changes."""
    settings, facts = request.settings, read_facts(machine, request.ranks)
    notes: tuple[str, ...] = ()
    if isinstance(machine, Topology):
        routed = route_machine(machine, settings)
        if routed is not machine:
            before, facts, machine = facts, read_facts(routed, request.ranks), routed
            notes = note_staging(before, facts)
    else:
        facts, notes = apply_environment(facts, p2p_level, settings["NCCL_NET_GDR_LEVEL"])
    if request.launch is not None:
        facts = replace(facts, launch=request.launch)  # type: ignore[arg-type]
    return machine, facts, notes


def _predict_on(request: _Request, nbytes: ByteSize, machine: Topology) -> Prediction:
    """`_predict_call` with the machine last, so that a prediction can be repeated on another."""
    return _predict_call(request, machine, nbytes)


def _predict_call(request: _Request, machine: Facts | Topology, nbytes: ByteSize) -> Prediction:
    """`predict` without measurements, and without what the machine's file left open.

    Of nodes with different numbers of ranks NCCL takes the least channels and the least rates that its search finds
    (src/init.cc, where ranks gather one another's graphs), so the slower sort of node decides.
    """
    facts = read_facts(machine, request.ranks)
    fewest = facts.ranks // facts.nodes
    if not facts.ranks % facts.nodes:
        return _predict_equal_nodes(request, machine, nbytes)
    if fewest == 1:
        request = _leave_out_nvls(request, facts)
    prediction = _predict_equal_nodes(request, machine, nbytes)
    facts = prediction.facts
    fewer = _predict_equal_nodes(replace(request, ranks=fewest * facts.nodes), machine, nbytes)
    note = f"nodes have {facts.local_ranks} and {fewest} ranks: NCCL takes the least channels and rates of both"
    if fewer.time <= prediction.time:
        return replace(prediction, notes=(*prediction.notes, note), uneven_search=fewer.graph_search)
    busbw = fewer.algbw * BUSBW[fewer.collective](facts.ranks)
    return replace(
        fewer,
        facts=facts,
        busbw=busbw,
        notes=(*fewer.notes, note),
        used_ranks=prediction.used_ranks,
        uneven_search=prediction.graph_search,
    )


def _leave_out_nvls(request: _Request, facts: Facts) -> _Request:
    """The request without NVLink SHARP, which a node with one rank has not: all nodes take the fewest channels of any,
    none (NCCL src/transport/nvls.cc, src/init.cc)."""
    names = read_text(request.settings["NCCL_ALGO"])
    allowed = parse_allowed_names(names, parse_collective(request.collective), c.ALGORITHMS, "NCCL_ALGO")
    if allowed <= set(c.IN_NVSWITCH) and facts.has_nvswitch:
        template = (
            "NCCL_ALGO={names!r}: a node with one rank has no NVLink SHARP, so NCCL uses it on none of the {nodes} "
            "nodes, and stops; give each node two ranks or more, or allow Ring or Tree"
        )
        raise CollsimError(template, names=names, nodes=facts.nodes)
    return replace(request, settings={**request.settings, "NCCL_NVLS_ENABLE": "0"})


def _predict_equal_nodes(request: _Request, machine: Facts | Topology, nbytes: ByteSize) -> Prediction:
    """`_predict_call` with as many ranks on every node as on the fullest."""
    settings, collective, size = request.settings, parse_collective(request.collective), parse_bytes(nbytes)
    p2p_level = parse_p2p_level(settings)
    machine, facts, notes = _apply_settings(request, machine, p2p_level)
    is_shm_off = facts.wiring == "host" and not _has_shared_memory(machine, settings)
    if is_shm_off:
        facts = replace_host_memory_by_cards(facts, read_card_facts(machine))
        notes += (
            f"the GPUs of a node exchange data over its {facts.nics * facts.ranks / facts.hosts:g} network cards",
        )
    graph_search = build_graph_search(facts, p2p_level, parse_cross_nic(settings["NCCL_CROSS_NIC"]))
    if collective not in _POINT_TO_POINT:
        idle_cards = find_idle_cards(facts, graph_search)
        if idle_cards is not None:
            facts, notes = replace(facts, nics=float(idle_cards.ring_count)), (*notes, str(idle_cards))
    elif graph_search is not None and facts.nodes > 1:
        facts = replace(facts, nics=min(facts.nics, float(count_near_cards(graph_search))))
    notes += _note_guessed_gpu(facts) + _note_plugin(facts)
    most_channels = None
    if read_text(settings["NCCL_MAX_NCHANNELS"]):
        most_channels = parse_count(settings["NCCL_MAX_NCHANNELS"], "NCCL_MAX_NCHANNELS")
    pat = parse_flag("NCCL_PAT_ENABLE", settings["NCCL_PAT_ENABLE"], has_auto=True)
    algorithms, protocols = read_text(settings["NCCL_ALGO"]), read_text(settings["NCCL_PROTO"])
    # names that NCCL does not know are refused where it chooses nothing, too
    parse_allowed_names(algorithms, collective, c.ALGORITHMS, "NCCL_ALGO")
    parse_allowed_names(protocols, collective, c.PROTOCOLS, "NCCL_PROTO")
    links, calibration = request.links, None
    if links is None:
        links, calibration = get_link_parameters(machine), get_calibration(machine)
    comm = build_communicator(facts, most_channels, pat, graph_search)
    if request.version is not None:
        comm = replace(comm, release=_find_release(request.version, facts))
        notes += (str(describe_release(request.version)),)
    if parse_flag("NCCL_NVLS_ENABLE", settings["NCCL_NVLS_ENABLE"], has_auto=True) is False:
        comm = replace(comm, nvls=None)
    choice = _choose(collective, comm, size, algorithms, protocols)
    if choice is not None:
        notes += _note_last_resort(comm, choice)
    if choice is not None and most_channels is not None and choice.algorithm in c.IN_NVSWITCH:
        notes += ("NVLS has channels of its own, which NCCL_MAX_NCHANNELS does not bound",)
    if rccl.runs_mscclpp(facts, collective, size):
        notes += ("RCCL hands this call to MSCCL++, which sends to all ranks at once (up to ROCm 7.12)",)
    call = Call(collective, "Ring", "LL", size, facts, comm, links)
    if isinstance(machine, Topology) and facts.ranks > 1:
        algorithm = getattr(choice, "algorithm", "Ring")
        call, loads_notes = _add_loads(call, algorithm, machine, graph_search, with_fabric=not is_shm_off)
        notes += loads_notes
    notes += _note_crossings(graph_search, facts.nodes, call.fabric)
    prediction = replace(
        _time_call(call, choice, notes, graph_search),
        version=request.version,
        used_ranks=_describe_used_ranks(machine, facts),
    )
    if calibration is None:
        return prediction
    pinned = select_pinned_settings({"NCCL_ALGO": algorithms, "NCCL_PROTO": protocols})
    return apply_calibration(prediction, calibration, pinned)


def _add_loads(
    call: Call, algorithm: str, machine: Topology, graph_search: GraphSearch | None, *, with_fabric: bool
) -> tuple[Call, tuple[str, ...]]:
    """Add what the flows of the algorithm put on the links of a Topology, and notes on it."""
    facts = call.facts
    notes: tuple[str, ...] = ()
    hops = MachineCall(call.collective, algorithm, machine, facts, graph_search, call.comm.running_channels)
    loads = compute_link_loads(hops)
    if loads is not None and loads.card > 0 and facts.net == "none":
        # Some pairs of a single node have neither P2P nor host memory, and meet over its cards.
        cards = read_card_facts(machine)
        assert cards is not None  # a route over cards needs them
        call = replace(call, facts=replace(facts, net=cards[2]))
        notes += ("GPUs of a node without P2P exchange data over its network cards",)
    call = replace(call, loads=loads)
    if with_fabric:
        call = replace(call, fabric=compute_fabric_cost(hops))
        notes += _note_fabric(machine, call.fabric)
    return call, notes


def _has_shared_memory(machine: Facts | Topology, settings: NcclSettings) -> bool:
    """Whether GPUs of a node may share host memory: as NCCL's settings leave it, of a Topology in its routes."""
    if isinstance(machine, Topology):
        return has_shared_memory(machine)
    return not parse_flag("NCCL_SHM_DISABLE", settings["NCCL_SHM_DISABLE"])


def _choose(collective: str, comm: Communicator, nbytes: int, algorithms: str, protocols: str) -> TunerChoice | None:
    """What the tuner chooses; None for sends and receives, which it does not tune, and for one rank."""
    if comm.ranks == 1 or collective in _POINT_TO_POINT:
        return None
    return choose_algorithm(collective, comm, nbytes, algorithms, protocols)


def _find_release(version: int, facts: Facts) -> Release:
    """The tuner of a version. Raises CollsimError where it is not NCCL that runs."""
    if facts.is_amd:
        raise CollsimError(
            "version='2.{minor}' is of NCCL, and {gpu} runs RCCL, whose tables are its own; leave the version out",
            minor=version,
            gpu=facts.gpu,
        )
    return find_release(version)


def _note_crossings(graph_search: GraphSearch | None, nodes: int, fabric: FabricCost) -> tuple[str, ...]:
    """What it costs that rings change the card between nodes."""
    if graph_search is None:
        return ()
    rings = graph_search.rings
    crossings = rings.count_crossings(nodes)
    if not crossings:
        return ()
    share = f"{crossings} of {nodes * len(rings.channels)} hops of rings between nodes change the card"
    if fabric == ONE_SWITCH:
        return (f"{share}, on rails the rail: that way is not slower here",)
    return (f"{share}; a hop takes {format_time(fabric.hop_delay)} longer inside its nodes than over one switch",)


def _note_fabric(machine: Topology, fabric: FabricCost) -> tuple[str, ...]:
    """What the fabric costs, and the hops that change rail."""
    name, notes = machine.facts.fabric, []
    if fabric.slowdown > 1:
        notes.append(
            f"fabric {name}: bytes between nodes take {fabric.slowdown:.3g} times as long as over one switch, held up "
            f"by {fabric.busiest_link}"
        )
    if fabric.rail_changes:
        notes.append(
            f"fabric {name}: {fabric.rail_changes} of {fabric.hops} hops between nodes leave their rail or unit over "
            "the spines"
        )
    return tuple(notes)


def _note_last_resort(comm: Communicator, choice: TunerChoice) -> tuple[str, ...]:
    """That the tuner's time rests on no link, where NCCL's search found nothing (search.cc, "falling back to simple
    order"). From Blackwell on no channel is slower than 18 GB/s in a node, more than AMD's sockets have by NCCL's count
    (16): logs of two RTX 5090 on an EPYC have this line (NVIDIA/nccl-tests issue 287)."""
    graph = comm.get_graph(choice.algorithm)
    if graph is None or graph.bw_intra > c.LAST_RESORT:
        return ()
    slowest = c.get_speeds(comm.cc, comm.nodes)[-1]
    return (
        f"NCCL's search finds no path that carries its slowest channel ({slowest:g} GB/s) and falls back to "
        f"{c.LAST_RESORT:g} GB/s, so the time of its tuner is no estimate of this machine",
    )


def _note_guessed_gpu(facts: Facts) -> tuple[str, ...]:
    """What was taken for a GPU that no table knows."""
    if "gpu" not in facts.guessed:
        return ()
    links = "no links of its own"
    if facts.wiring in FABRICS:
        links = f"links of {facts.link_rate / 1e9:g} GB/s"
    return (
        f"{facts.gpu} is in no table of GPUs: taken as one with PCIe {facts.pcie} and {links}; the interval is wide",
    )


def _note_plugin(facts: Facts) -> tuple[str, ...]:
    """What the network's plugin sets, where it does."""
    settings = find_plugin_settings(facts)
    if settings is None:
        return ()
    values = {"NCCL_ALGO": settings.algorithms, "NCCL_PROTO": settings.protocols}
    assignments = " and ".join(f"{name}={value}" for name, value in values.items() if value)
    return (f"the plugin of this network sets {assignments} where you set nothing ({settings.source})",)


def _time_call(
    call: Call, choice: TunerChoice | None, notes: tuple[str, ...], graph_search: GraphSearch | None
) -> Prediction:
    """A call of one rank, a transfer from point to point (no choice), or what the tuner chose."""
    if call.facts.ranks == 1:
        return _time_one_rank(call, notes)
    if choice is None:
        # A transfer from point to point has nothing to choose.
        run = ("P2P", "Simple", call.comm.running_channels, c.THREADS["Simple"])
        call = replace(call, protocol="Simple")
    else:
        run = (choice.algorithm, choice.protocol, choice.channels, choice.threads)
        call = replace(call, algorithm=choice.algorithm, protocol=choice.protocol)
        # Blocks that do not begin at 16 bytes cannot be copied with wide loads.
        if has_unaligned_blocks(call.collective, call.protocol, call.nbytes, call.facts.ranks):
            block = call.nbytes // call.facts.ranks
            notes += (f"blocks of {block:,} B are no multiple of 16: NCCL copies them more slowly; pad them",)
    parts = compute_time(call)
    algbw = call.nbytes / parts.total
    busbw = algbw * BUSBW[call.collective](call.facts.ranks)
    return Prediction(
        call.collective,
        call.nbytes,
        parts.total,
        algbw,
        busbw,
        *run,
        parts,
        choice,
        call.facts,
        notes,
        graph_search,
        fabric=call.fabric,
        call=call,
    )


def _time_one_rank(call: Call, notes: tuple[str, ...]) -> Prediction:
    parts = TimeParts(compute_launch_time(call), 0.0, 0.0, 0.0, "nothing to send")
    run, algbw = ("Ring", "Simple", 1, c.MIN_THREADS), call.nbytes / parts.total
    notes = (*notes, "one rank copies")
    return Prediction(call.collective, call.nbytes, parts.total, algbw, 0.0, *run, parts, None, call.facts, notes)


def apply_calibration(prediction: Prediction, calibration: Measured, settings: Mapping[str, str]) -> Prediction:
    """Apply what a calibration's knobs leave of a time, by size.

    Args:
        prediction: with the links of the calibration.
        calibration: the calibration.
        settings: NCCL_ALGO and NCCL_PROTO, where they are set.

    Returns:
        The prediction with its time scaled; notes say what nobody measured.
    """
    call, fit_data, facts = (prediction.collective, prediction.nbytes), calibration.fitted_on, prediction.facts
    extrapolations = find_extrapolations(fit_data, facts, *call, settings)
    notes = [*prediction.notes, *(f"beyond the calibration: {sentence}" for sentence in extrapolations)]
    poor = describe_poor_fit(calibration.held_out)
    if poor is not None:
        notes.append(f"the calibration: {poor}")
    factor = interpolate_size_correction(fit_data, calibration.size_corrections, facts, call, settings)
    return replace(prediction.scale(factor), notes=tuple(notes))


def parse_collective(collective: str) -> str:
    """Read the name of a collective of nccl-tests.

    Args:
        collective: As in `collsim.collective.find_collective_name`.

    Returns:
        collsim's name of it.

    Raises:
        CollsimError: for any other collective.

    Examples:
        >>> parse_collective("all_reduce_perf")
        'allreduce'
    """
    return require_word("collective of nccl-tests", find_collective_name(collective), BUSBW)
