"""What nobody stated about a machine, as distributions: which other values are likely, and what each makes of a time.

A prediction takes the usual value. Each other value is timed on its own, and the squares of the logarithms, weighed by
their probabilities, widen the interval on the side where they lie: a network card that is slower than assumed makes
calls slower, never faster. Probabilities are shares of the machines whose words do state the input, or of published
rates; the comment at each rule says which.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ...errors import Sentence
from ...units import format_bandwidth, format_time
from ..machine.machine_facts import Facts
from ..machine.machine_words import SLINGSHOT_10, SLINGSHOT_11
from ..machine.network_plugins import HOPPER
from ..search.constants import IN_NVSWITCH
from .algorithm_time import Call, compute_time, get_loads
from .prediction_interval import Interval, Side
from .tuner import choose_algorithm, count_filled_channels

if TYPE_CHECKING:
    from ...topology.facts import Effect
    from .links import LinkParameters
    from .tuner import TunerChoice

#: Probabilities of the network rate of a GPU over that of the usual box (`machine_facts.USUAL_NIC`): 33 systems of the
#: published tables whose words state it.
NIC_RATIOS: Mapping[float, float] = {0.125: 0.03, 0.25: 0.15, 0.5: 0.25, 2.0: 0.03, 4.0: 0.03}
#: Probability of Slingshot 10 where the generation is not stated: none of four systems that state it (Polaris, Alps,
#: Kestrel, LUMI) has it still, so one of six (Laplace's rule of succession).
SLINGSHOT_RATIOS: Mapping[float, float] = {SLINGSHOT_10 / SLINGSHOT_11: 1 / 6}
#: Probabilities of what a CPU moves over TCP for a card, over `LinkParameters.tcp_per_nic`: 1.4, 1.85, 1.9, 2.8, 3.9
#: and 4.7 GB/s (NVIDIA/nccl issues 209, 398 and 450; argonne-lcf/alcf-nccl-tests).
TCP_RATIOS: Mapping[float, float] = {0.5: 0.15, 0.67: 0.25, 1.4: 0.15, 1.7: 0.25}
#: The same of a wire that is slower than a CPU: 0.82 of 1.25 GB/s on a virtual machine (aws-samples), 1.17 on a host.
TCP_WIRE = {0.65: 0.25}
#: Probabilities of what goes through host memory, over what `links` says: published rates of one PCIe generation differ
#: by a factor of four (docs/accuracy.md): memory on one socket, few channels, or two GPUs behind one uplink halve it;
#: four GPUs on two sockets carry 1.45 times as much as on one (35 and 24 GB/s: NVIDIA/nccl issue 1130).
HOST_RATIOS: Mapping[float, float] = {0.35: 0.1, 0.5: 0.2, 1.45: 0.15}
#: Probabilities of what a card gets through host memory, over `LinkParameters.without_gdr`: 5.4 to 6.0 of a slot's
#: 15.75 GB/s, 12.6 of 31.5, and 33.3 over the two cards of 31.5 that rings use (NVIDIA/nccl issue 1412).
STAGED_CARD_RATIOS: Mapping[float, float] = {0.9: 0.25, 1.32: 0.25}
#: Probabilities of NVLink SHARP over several trays, over `links.nvls_domain`: 586 to 930 GB/s of 72 GPUs.
DOMAIN_RATIOS: Mapping[float, float] = {0.8: 0.25, 1.25: 0.25}
#: Probability that a PCIe card reaches its network card through host memory: 4 of 10 systems, 6 of which state it; on
#: boards all that state it do GPUDirect RDMA, but for EFA before the A100, which is known.
WITHOUT_GDR = 0.4
#: Probability that PCIe cards whose links nobody stated exchange data directly: 7 of 15 systems.
DIRECT = 7 / 15
#: Probabilities that NVLinks which nobody stated join up to four GPUs directly (5 of 10 systems with V100 to H200 that
#: run on so many GPUs of a node, and state it), and more V100 as a hybrid cube mesh (2 of 3); all 30 systems with more
#: GPUs of a later generation have switches.
MESH, CUBE, MESH_GPUS = 5 / 10, 2 / 3, 4
_VOLTA = 70
#: Probabilities of what bridges between two cards carry over all that the cards can have: an A100 or H100 needs three
#: (NVIDIA, product briefs), and two H100 whose bridges nobody counted move 116 GB/s (NVIDIA/nccl-tests issue 194).
BRIDGE_RATIOS: Mapping[float, float] = {1 / 3: 0.1, 2 / 3: 0.1}
#: B/s in one direction from which on two cards have more than one bridge: an A100 or H100 has 300 by three.
SEVERAL_BRIDGES = 2e11
#: Probability of either way to launch where it is not stated; the rest is between them.
LAUNCHES: Mapping[str, float] = {"one process": 0.35, "process per gpu": 0.35}
#: Nodes beyond which other traffic and paths of a network that is shared slow a call, and by how much: 7 of 66 runs
#: between nodes took over 1.3 times as long as predicted, and twice as often from 16 nodes on.
CROWD, CROWDED_RATIOS = 16, {0.6: 0.15}
#: Probabilities of the link rate and of the kernel and launch times of a GPU that no table has, over what its words
#: make of it: a generation of PCIe or half of the lanes, and a slower host.
GPU_RATIOS: Mapping[float, float] = {0.5: 0.2, 2.0: 0.1}
#: Seconds that each further channel takes with LL on GPUs before Hopper, and how probable that is: 1.2 us on V100 and
#: A100 of three systems (docs/accuracy.md), for any number of GPUs; others do not show it, and no source explains it.
CHANNEL_WITH_FLAGS, SLOW_CHANNELS = 1.2e-6, 0.3
#: Environment variables tell Slingshot's provider from which size on two ranks agree first, and how it copies from and
#: to a GPU. Ten sets of them on one machine (github.com/boeschf/nccl-benchmark-on-alps-2025, allreduce on 2, 8 and 32
#: nodes): with two sets 4 KiB take 69 us where others take 109, so nobody agrees first; with two others 8 B take 87 us
#: in place of 43, 7 us a step more, as GDRCopy is off; with most LL of 128 to 512 KiB runs at a twentieth of the wire
#: (674 us on 2 nodes, where the wire allows 106).
PROVIDER_SHARES: Mapping[str, float] = {"no rendezvous": 0.2, "no GDRCopy": 0.2, "slow flags": 0.2}
COPY_WITHOUT_GDRCOPY, FLAGS_RATIO = 7e-6, 0.05
#: Probability that NCCL runs a ring where its tuner takes a tree on two nodes over sockets. The tuner counts a tree of
#: two nodes by its rate inside a node (NCCL src/graph/tuning.cc), which sockets do not have, and the only two published
#: runs of the kind do not decide: 936 ms a step where a tree gives 497 ms of network and a ring 934 (horovod/horovod
#: issue 2581), and 5.44 GB/s where they give 7.5 and 4.0 (areal-project/AReaL issue 639).
RING_FOR_TREE = 0.5
#: Standard deviations on either side that hold four in five of a normal distribution.
_FOUR_IN_FIVE = 1.2816
#: Names of the doubt about what NCCL runs, and of that about many flows at one port.
ALGORITHM, INCAST = "algorithm", "incast"
#: Bytes that a TCP flow sends before the first acknowledgement (ten segments: RFC 6928), seconds of the shortest
#: retransmission timer (Linux include/net/tcp.h, TCP_RTO_MIN), and probabilities of what the queue of a port holds: 32
#: KB to 1 MB are published (Phanishayee et al., Measurement and analysis of TCP throughput collapse, FAST 2008), up to
#: 700 KB of 4 MB that all ports share (Alizadeh et al., Data center TCP, SIGCOMM 2010); switches with deep buffers or
#: marks lose nothing. One timer of a flow holds up all ranks that wait for it: goodput falls by up to 90 % (Vasudevan
#: et al., SIGCOMM 2009).
FIRST_WINDOW, RETRANSMISSION = 14_600, 0.2
PORT_BUFFERS: Mapping[float, float] = {64e3: 0.15, 256e3: 0.15, 700e3: 0.15}
_TWO_NODES = 2
#: Share of an interval's logarithmic width below which a measurement that would narrow it so is not advised.
_MIN_NARROWING = 0.02
_MIN_DEVIATION = 0.01  # standard deviation of a logarithm below which an input makes no difference


#: Probabilities of other machines than the one of a call, and the call on them.
Alternatives = Iterator[tuple[float, Call]]


@dataclass(frozen=True)
class UnknownInput:
    """Something that nobody stated and that changes the time.

    Attributes:
        name: of the input, for example `NIC rate`.
        assumption: what was assumed, as a sentence.
        measurement: what would tell it.
        fast: standard deviation of the logarithm of the time towards shorter times.
        slow: the same towards longer times.
    """

    name: str
    assumption: Sentence
    measurement: Sentence
    fast: float = 0.0
    slow: float = 0.0

    @property
    def sentence(self) -> Sentence:
        """What was assumed, and where four in five times lie for this doubt alone, as factors on the predicted time,
        where it makes a difference that is known."""
        if not self.has_effect:
            return self.assumption
        template = "{assumption} (alone, it puts four in five measurements at {low} to {high} of the predicted time)"
        low, high = math.exp(-_FOUR_IN_FIVE * self.fast), math.exp(_FOUR_IN_FIVE * self.slow)
        return Sentence(template, assumption=self.assumption, low=f"{low:.2f}", high=f"{high:.2f}")

    @property
    def deviations(self) -> Mapping[Side, float]:
        """`fast` and `slow` by side."""
        return {"fast": self.fast, "slow": self.slow}

    @property
    def variance(self) -> float:
        """Sum of both variances."""
        return self.fast**2 + self.slow**2

    @property
    def has_effect(self) -> bool:
        """Whether it makes a difference to the time."""
        return self.variance > _MIN_DEVIATION**2


@dataclass(frozen=True)
class _Rule:
    """When an input is unknown, and the machines that there may be in place of the assumed one; `is_always_named`:
    also where the call does not depend on it, as somebody left it out."""

    name: str
    is_unknown: Callable[[Call], bool]
    list_alternatives: Callable[[Call], Alternatives]
    describe: Callable[[Facts], Sentence]
    measurement: Sentence
    is_always_named: bool = False

    def measure(self, call: Call, baseline: float) -> UnknownInput:
        fast, slow = compute_deviations(
            [(share, math.log(compute_time(other).total / baseline)) for share, other in self.list_alternatives(call)]
        )
        return UnknownInput(self.name, self.describe(call.facts), self.measurement, fast, slow)


def compute_deviations(effects: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Compute how far other values of an input spread a time on either side of the assumed one.

    Args:
        effects: probability of a value, and the logarithm of its time over that of the assumed value.

    Returns:
        Standard deviations towards shorter and longer times: those of a normal distribution with the same second moment
        on that side.
    """
    fast = 2 * sum(share * effect**2 for share, effect in effects if effect < 0)
    slow = 2 * sum(share * effect**2 for share, effect in effects if effect > 0)
    return math.sqrt(fast), math.sqrt(slow)


def describe_inputs(
    inputs: Sequence[UnknownInput], measure: Callable[[Sequence[str]], Interval]
) -> tuple[Sentence, ...]:
    """Describe what nobody stated, and the measurement that would narrow the interval most, where one would.

    Args:
        inputs: that which matters most first.
        measure: the interval with the inputs of these names known.

    Returns:
        A sentence for each input, and one for the measurement.
    """
    sentences = [entry.sentence for entry in inputs]
    if not inputs:
        return ()
    narrowed = {entry: measure((entry.name,)) for entry in inputs}
    best = min(narrowed, key=lambda entry: narrowed[entry].ratio)
    now, then = measure(()), narrowed[best]
    # Else the measurement would narrow nothing that a reader sees.
    if math.log(then.ratio) < (1 - _MIN_NARROWING) * math.log(now.ratio):
        template = "the range {low} to {high} becomes {least} to {most} once you know {measurement}"
        ends = {"low": now.low, "high": now.high, "least": then.low, "most": then.high}
        times = {name: format_time(end) for name, end in ends.items()}
        sentences.append(Sentence(template, measurement=best.measurement, **times))
    return tuple(sentences)


def _change_facts(call: Call, **changes: object) -> Call:
    return replace(call, facts=replace(call.facts, **changes))  # type: ignore[arg-type]


def _change_links(call: Call, **changes: object) -> Call:
    links: LinkParameters = replace(call.links, **changes)  # type: ignore[arg-type]
    return replace(call, links=links)


def _scale_links(call: Call, factor: float, *names: str) -> Call:
    return _change_links(call, **{name: getattr(call.links, name) * factor for name in names})


def _vary(ratios: Mapping[Any, float], change: Callable[[Call, Any], Call]) -> Callable[[Call], Alternatives]:
    """Alternatives of one input from its values with their probabilities."""
    return lambda call: ((share, change(call, value)) for value, share in ratios.items())


def _scale_network(call: Call, factor: float) -> Call:
    carries = call.links.carries
    return _change_links(call, carries={**carries, call.facts.net: carries[call.facts.net] * factor})


def _list_nics(call: Call) -> Alternatives:
    for ratio, share in CARD_RATIOS[find_guessed_cards(call.facts.guessed)].items():
        yield share, _change_facts(call, nic_rate=call.facts.nic_rate * ratio)


def find_guessed_cards(guessed: frozenset[str]) -> str:
    """Find what nobody stated of the network cards.

    Args:
        guessed: as `Facts.guessed`.

    Returns:
        A key of `CARD_RATIOS`; "" where all is stated.
    """
    return next((name for name in CARD_RATIOS if name in guessed), "")


def describe_cards(guessed: str, cards: float, rate: float) -> Sentence:
    """Describe what was assumed of the network cards.

    Args:
        guessed: what nobody stated of them, a key of `CARD_RATIOS`.
        cards: of a node.
        rate: B/s of one.

    Returns:
        A sentence.
    """
    if guessed == "slingshot":
        return Sentence(
            "generation of Slingshot not stated: 11, {cards} x {rate} Gbit/s a node; a card of Slingshot 10 has {old}",
            cards=f"{cards:g}",
            rate=f"{SLINGSHOT_11:g}",
            old=f"{SLINGSHOT_10:g}",
        )
    template = "NIC rate or number not stated: {cards} x {rate} a node, as is usual"
    return Sentence(template, cards=f"{cards:g}", rate=format_bandwidth(rate))


def _list_tcp(call: Call) -> Alternatives:
    for ratio, share in TCP_RATIOS.items():
        yield share, _scale_links(call, ratio, "tcp_per_nic")
    for ratio, share in TCP_WIRE.items():
        yield share, _scale_network(call, ratio)


def _list_providers(call: Call) -> Alternatives:
    links, net = call.links, call.facts.net
    yield PROVIDER_SHARES["no rendezvous"], _change_links(call, eager={**links.eager, net: math.inf})
    yield PROVIDER_SHARES["no GDRCopy"], _change_links(call, software={**links.software, net: COPY_WITHOUT_GDRCOPY})
    if call.protocol != "Simple":
        yield PROVIDER_SHARES["slow flags"], _scale_network(call, FLAGS_RATIO)


def _list_channels(call: Call) -> Alternatives:
    filled = count_filled_channels(call.algorithm, call.protocol, call.comm, call.nbytes)
    yield SLOW_CHANNELS, _change_links(call, kernel=call.links.kernel + CHANNEL_WITH_FLAGS * (filled - 1))


def _list_boards(call: Call) -> Alternatives:
    """NVLinks without a switch, with what NCCL would choose there."""
    facts = call.facts
    wiring, share, reached = "mesh", MESH, (facts.local_ranks - 1) / (MESH_GPUS - 1)
    if facts.local_ranks > MESH_GPUS:
        wiring, share, reached = "cube", CUBE, 1.0
    if facts.cc > HOPPER or (wiring == "cube" and facts.cc != _VOLTA) or not facts.has_nvswitch:
        return
    other = _change_facts(call, wiring=wiring, link_rate=facts.link_rate * reached)
    # NVLink SHARP needs a switch.
    if call.algorithm in IN_NVSWITCH:
        choice = choose_algorithm(call.collective, replace(call.comm, nvls=None), call.nbytes)
        other = replace(other, algorithm=choice.algorithm, protocol=choice.protocol)
    yield share, other


def _describe_board(facts: Facts) -> Sentence:
    rate = format_bandwidth(facts.link_rate)
    if facts.is_amd:
        return Sentence("links inside a node not stated: xGMI between any two GPUs, {rate} a GPU", rate=rate)
    if facts.local_ranks > MESH_GPUS and facts.cc > _VOLTA:
        return Sentence(
            "links inside a node not stated: an NVSwitch board, {rate} a GPU, as all published systems of more than "
            "four such GPUs have",
            rate=rate,
        )
    return Sentence("links inside a node not stated: an NVSwitch board, {rate} a GPU", rate=rate)


def _list_gpus(call: Call) -> Alternatives:
    links = call.links
    for ratio, share in GPU_RATIOS.items():
        scaled = _change_links(call, kernel=links.kernel / ratio, kernel_p2p=links.kernel_p2p / ratio)
        scaled = _change_facts(scaled, link_rate=call.facts.link_rate * ratio)
        loads = get_loads(call)
        if loads is not None:  # the links of a topology: the GPU's own, and its slot
            pcie = tuple((direct / ratio, staged / ratio) for direct, staged in loads.pcie)
            scaled = replace(scaled, loads=replace(loads, gpu=loads.gpu / ratio, pcie=pcie))
        yield share, scaled


#: By what nobody stated of the network cards: probabilities of their rate over that of the usual card.
CARD_RATIOS: Mapping[str, Mapping[float, float]] = {"nic_rate": NIC_RATIOS, "slingshot": SLINGSHOT_RATIOS}
CARDS_MEASUREMENT = Sentence(
    "number and rate of the network cards (ibstat, ethtool), or the time of one large call between two nodes"
)
TCP_ASSUMPTION = Sentence("what a CPU moves over TCP is not stated: sockets, cores and virtual machines differ")
TCP_MEASUREMENT = Sentence("the time of one large call over two nodes")
_RULES = (
    _Rule(
        "NIC rate",
        lambda call: bool(find_guessed_cards(call.facts.guessed)) and call.facts.nodes > 1,
        _list_nics,
        lambda facts: describe_cards(find_guessed_cards(facts.guessed), facts.nics, facts.nic_rate),
        CARDS_MEASUREMENT,
        is_always_named=True,
    ),
    _Rule(
        "GPU links",
        lambda call: "wiring" in call.facts.guessed and call.facts.wiring in ("nvswitch", "xgmi"),
        _list_boards,
        _describe_board,
        Sentence("what joins the GPUs of a node (nvidia-smi topo -m, rocm-smi --showtopo)"),
        is_always_named=True,
    ),
    _Rule(
        "TCP",
        lambda call: call.facts.net == "tcp" and call.facts.nodes > 1,
        _list_tcp,
        lambda _: TCP_ASSUMPTION,
        TCP_MEASUREMENT,
    ),
    _Rule(
        "GPUDirect RDMA",
        lambda call: call.facts.gdr is None and call.facts.is_pcie_card and call.facts.nodes > 1,
        _vary({False: WITHOUT_GDR}, lambda call, gdr: _change_facts(call, gdr=gdr)),
        lambda _: Sentence("GPUDirect RDMA not stated: on"),
        Sentence("whether NCCL's log (NCCL_DEBUG=INFO) says GDRDMA"),
    ),
    _Rule(
        "staged cards",
        lambda call: call.facts.gdr is False and call.facts.net in ("ib", "roce", "efa") and call.facts.nodes > 1,
        _vary(STAGED_CARD_RATIOS, lambda call, ratio: _scale_links(call, ratio, "without_gdr")),
        lambda _: Sentence("what a network card gets through host memory is not stated: as in published runs"),
        Sentence("the time of one large call between two nodes"),
    ),
    _Rule(
        "links",
        lambda call: "wiring" in call.facts.guessed and call.facts.wiring == "host",
        _vary({"pcie": DIRECT}, lambda call, wiring: _change_facts(call, wiring=wiring)),
        lambda facts: Sentence(
            "links inside a node not stated: PCIe {generation} without P2P, through host memory", generation=facts.pcie
        ),
        Sentence("whether GPUs reach one another directly (nvidia-smi topo -p2p r)"),
    ),
    _Rule(
        "bridges",
        lambda call: call.facts.wiring == "bridge" and call.facts.link_rate >= SEVERAL_BRIDGES,
        _vary(BRIDGE_RATIOS, lambda call, ratio: _change_facts(call, link_rate=call.facts.link_rate * ratio)),
        lambda facts: Sentence(
            "number of NVLink bridges not stated: all, {rate} in one direction", rate=format_bandwidth(facts.link_rate)
        ),
        Sentence("the NVLinks between the two cards (nvidia-smi topo -m, nvidia-smi nvlink -s)"),
    ),
    _Rule(
        "host memory",
        lambda call: call.facts.wiring == "host",
        _vary(HOST_RATIOS, lambda call, ratio: _scale_links(call, ratio, "host_one_way", "host_memory")),
        lambda _: Sentence("what host memory and the root complex carry is not stated: as in published runs"),
        Sentence("the time of one large call inside a node"),
    ),
    _Rule(
        "NVLink domain",
        lambda call: call.facts.has_nvswitch and call.facts.trays > 1,
        _vary(DOMAIN_RATIOS, lambda call, ratio: _scale_links(call, ratio, "nvls_domain")),
        lambda facts: Sentence(
            "an NVLink domain of {hosts} trays, whose switches reduce as published runs say", hosts=facts.hosts
        ),
        Sentence("the time of one large allreduce over the whole domain"),
    ),
    _Rule(
        "Slingshot settings",
        lambda call: call.facts.net == "slingshot" and call.facts.nodes > 1,
        _list_providers,
        lambda _: Sentence("settings of Slingshot's provider (FI_CXI_..., GDRCopy) not stated: as in published runs"),
        Sentence("the time of one call of this size over two nodes"),
    ),
    _Rule(
        "channels",
        lambda call: call.protocol == "LL" and 0 < call.facts.cc < HOPPER and call.facts.nodes == 1,
        _list_channels,
        lambda _: Sentence("what a further channel takes with LL is not known: nothing"),
        Sentence("the time of one call of this size inside a node"),
    ),
    _Rule(
        "launch",
        lambda call: not call.facts.launch and call.facts.ranks_per_host > 1,
        _vary(LAUNCHES, lambda call, launch: _change_facts(call, launch=launch)),
        lambda _: Sentence("launch mode not stated: between one process for all GPUs of a node and one for each"),
        Sentence("who launches (launch=), or the time of the smallest call"),
    ),
    _Rule(
        "congestion",
        lambda call: call.facts.nodes >= CROWD,
        _vary(CROWDED_RATIOS, _scale_network),
        lambda facts: Sentence(
            "{nodes} nodes with the network to themselves: other traffic is not stated", nodes=facts.nodes
        ),
        Sentence("the time of one large call over all nodes"),
    ),
    _Rule(
        "GPU",
        lambda call: "gpu" in call.facts.guessed,
        _list_gpus,
        lambda facts: Sentence(
            "{gpu} is in no table of GPUs: its links and its start are those of its kin", gpu=facts.gpu
        ),
        Sentence("the times of one small and one large call inside a node"),
    ),
)


def list_unknown_inputs(call: Call) -> tuple[UnknownInput, ...]:
    """List what nobody stated about the machine of a call and what matters to its time.

    Args:
        call: with the algorithm and protocol that were chosen.

    Returns:
        The inputs, that which spreads the time most first.
    """
    expected_time = compute_time(call).total
    rules = [rule for rule in _RULES if rule.is_unknown(call)]
    inputs = [(rule.is_always_named, rule.measure(call, expected_time)) for rule in rules]
    return sort_inputs(entry for is_named, entry in inputs if is_named or entry.has_effect)


def sort_inputs(inputs: Iterable[UnknownInput]) -> tuple[UnknownInput, ...]:
    """Sort unknown inputs.

    Args:
        inputs: in any order.

    Returns:
        The same, that which spreads the time most first.
    """
    return tuple(sorted(inputs, key=lambda entry: -entry.variance))


def list_choice_inputs(call: Call, choice: TunerChoice | None) -> tuple[UnknownInput, ...]:
    """List what is not known of NCCL's choice: whether a tree of two nodes runs over sockets, or a ring.

    Args:
        call: with the algorithm and protocol that were chosen.
        choice: of the tuner, with the costs of all that it compared; None where it does not choose.

    Returns:
        The doubt about the algorithm where there is one; nothing where NCCL_ALGO rules the ring out.
    """
    facts = call.facts
    if choice is None or call.algorithm != "Tree" or facts.net != "tcp" or facts.nodes != _TWO_NODES:
        return ()
    costs = {protocol: cost for (algorithm, protocol), cost in choice.costs.items() if algorithm == "Ring"}
    if not costs:
        return ()
    # The loads of a topology are those of the tree: both are timed by what the words of the machine say.
    tree = replace(call, loads=None)
    ring = replace(tree, algorithm="Ring", protocol=min(costs, key=lambda protocol: costs[protocol]))
    ratio = compute_time(ring).total / compute_time(tree).total
    fast, slow = compute_deviations([(RING_FOR_TREE, math.log(ratio))])
    if math.hypot(fast, slow) <= _MIN_DEVIATION:
        return ()
    assumption = Sentence(
        "a tree, which NCCL's tuner takes on two nodes by its rate inside a node; over sockets published steps do not "
        "tell it from a ring"
    )
    measurement = Sentence("the times of one large call between the nodes, with NCCL_ALGO=Ring and without")
    return (UnknownInput(ALGORITHM, assumption, measurement, fast, slow),)


def compute_loss_share(senders: float, message: float) -> float:
    """Compute how probable it is that the port of a switch loses packets where many TCP flows meet.

    Args:
        senders: ranks that send to the ranks behind the port at a time.
        message: bytes of each.

    Returns:
        A probability; 0 where what they send at once fits into the smallest buffer.
    """
    burst = senders * min(message, FIRST_WINDOW)
    return sum(share for buffer, share in PORT_BUFFERS.items() if burst > buffer)


def list_incast_inputs(senders: float, message: float, seconds: float) -> tuple[UnknownInput, ...]:
    """List what happens where many TCP flows meet at one port of a switch: beyond its buffer packets are lost, and a
    flow whose last packet is lost waits for its retransmission timer.

    Args:
        senders: ranks that send to the ranks behind one port at a time.
        message: bytes of each.
        seconds: the expected time of the call, which has no loss.

    Returns:
        The doubt about the buffer; nothing where what is sent at once fits into the smallest.
    """
    lost = compute_loss_share(senders, message)
    fast, slow = compute_deviations([(lost, math.log1p(RETRANSMISSION / seconds))])
    if slow <= _MIN_DEVIATION:
        return ()
    assumption = Sentence(
        "{senders} TCP flows meet at one port of a switch, whose buffer is not stated: no packet is lost",
        senders=f"{senders:g}",
    )
    measurement = Sentence("the time of one call of this size over all nodes (nstat: TcpExtTCPTimeouts)")
    return (UnknownInput(INCAST, assumption, measurement, fast, slow),)


def list_file_inputs(effects: Iterable[Effect]) -> tuple[UnknownInput, ...]:
    """List what the file of a machine left open, each of its values as probable as the assumed one.

    Args:
        effects: what other values make of the time.

    Returns:
        The inputs that make a difference.
    """
    inputs = []
    for option, group in groupby(effects, key=lambda effect: effect.assumption.option):
        tried = list(group)
        share = 1 / (len(tried) + 1)
        fast, slow = compute_deviations([(share, math.log(effect.factor)) for effect in tried])
        if math.hypot(fast, slow) > _MIN_DEVIATION:
            value = tried[0].assumption.value
            assumption = Sentence("{option} not stated: {value}", option=option, value=value)
            inputs.append(
                UnknownInput(option, assumption, Sentence("{option} of this machine", option=option), fast, slow)
            )
    return tuple(inputs)
