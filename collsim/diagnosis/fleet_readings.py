"""What can be compared between nodes: readings of the same part on each, and which of them are odd.

A node is odd in what can be counted (lanes, links, ports, versions) where more than half of the nodes agree on another
value, and in what is measured where it is lower than the median by more than the spread of the fleet explains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal

from .evidence_pieces import Evidence, Fact
from .readers.gpu_bandwidth import PairMatrix
from .readers.gpu_tools import GpuLinks
from .readers.host_tools import PcieLink
from .readers.network_tools import CardPort, CardTest

#: A measured rate is odd below the median by this share, or by this many standard deviations where that is more: the
#: deviation is 1.4826 times the median distance from the median, as for normal noise, and 4 of them leave one false
#: alarm in 30,000 readings. Repeated runs of nccl-tests and perftest on healthy nodes differ by 1 to 3 %.
_MIN_DROP, _DEVIATIONS, _OF_NORMAL_NOISE = 0.05, 4.0, 1.4826
#: A part that so many of the nodes have is missing on one that has others of its kind.
_NEARLY_ALL = 0.9

Quantity = Literal[
    "nvlinks",
    "pcie_lanes",
    "pcie_speed",
    "port_gbits",
    "port_state",
    "card_gbits",
    "pair_bandwidth",
    "busbw",
    "gpus",
    "gpu_model",
    "driver",
    "nccl_version",
    "kernel",
    "variable",
    "network",
    "cards",
    "channels",
]
#: Quantities that are measured, so that healthy nodes differ a little; all others are counted or read.
MEASURED: frozenset[Quantity] = frozenset({"card_gbits", "pair_bandwidth", "busbw"})
_PEER_ACCESS = {True: "P2P", False: "no P2P"}
_VERSIONS: tuple[tuple[str, Quantity], ...] = (
    ("driver.version", "driver"),
    ("nccl.version", "nccl_version"),
    ("kernel.version", "kernel"),
    ("nccl.network", "network"),
    ("nccl.cards", "cards"),
    ("nccl.channels", "channels"),
)


@dataclass(frozen=True)
class NodeReading:
    """One value of one part of a node.

    Attributes:
        quantity: what it is.
        part: of the node, such as `GPU 3` or `mlx5_5`; "" for the whole.
        value: a number, higher is better; or a word.
        fact: line that says it; None for what no single line says.
        limit: what the part could give by its own word, in the unit of the value; None where nothing says.

    Examples:
        >>> import collsim as cs
        >>> reading = cs.diagnosis.NodeReading("port_gbits", "mlx5_0", 200.0, None, limit=400.0)
        >>> reading.part, reading.value
        ('mlx5_0', 200.0)
    """

    quantity: Quantity
    part: str
    value: float | str
    fact: Fact | None
    limit: float | None = None


@dataclass(frozen=True)
class OddReading:
    """A reading that differs from that of the other nodes.

    Attributes:
        node: which.
        reading: what it has; its value is `""` where the part is missing.
        usual: value of most nodes, or the median where it is measured; `""` where most have none.
        nodes: how many nodes have such a reading.

    Examples:
        >>> import collsim as cs
        >>> reading = cs.diagnosis.NodeReading("port_gbits", "mlx5_0", 200.0, None)
        >>> odd = cs.diagnosis.OddReading("n3", reading, 400.0, 8)
        >>> odd.node, odd.ratio
        ('n3', 0.5)
    """

    node: str
    reading: NodeReading
    usual: float | str
    nodes: int

    @property
    def ratio(self) -> float | None:
        """The value over the usual one; None for words."""
        if isinstance(self.reading.value, str) or isinstance(self.usual, str) or not self.usual:
            return None
        return self.reading.value / self.usual


def list_readings(evidence: Evidence) -> Iterator[NodeReading]:
    """List what a node's evidence says of its parts; of several readings of a part the last counts.

    Args:
        evidence: of one node.
    """
    for fact, gpu in evidence.select_values("nvlink.links", GpuLinks):
        yield NodeReading("nvlinks", f"GPU {gpu.gpu}", gpu.active, fact, gpu.total)
    for fact, link in evidence.select_values("pcie.link", PcieLink):
        yield NodeReading("pcie_lanes", link.device, link.lanes, fact, link.most_lanes)
        if link.is_busy:  # a link that nobody uses sleeps at the lowest speed
            yield NodeReading("pcie_speed", link.device, link.speed, fact, link.most_speed)
    rates = {}
    for fact, port in evidence.select_values("card.port", CardPort):
        rates[port.card] = port.gbits
        yield NodeReading("port_state", port.card, port.state, fact)
        if port.state == "Active":  # a port that is down prints the rate of its last link
            yield NodeReading("port_gbits", port.card, port.gbits, fact)
    for fact, test in evidence.select_values("card.test", CardTest):
        part = f"{test.device} ({test.queue_pairs} QP)"
        if test.uses_gpu:
            part = f"{test.device} (GPU, {test.queue_pairs} QP)"
        yield NodeReading("card_gbits", part, test.gbits, fact, rates.get(test.device))
    for fact, matrix in evidence.select_values("gpu.pairs", PairMatrix):
        yield NodeReading("pair_bandwidth", _PEER_ACCESS[matrix.enabled], matrix.median, fact)
    names = evidence.select_values("gpu.name", str)
    # A node has one kind of GPU; several pieces may list it again.
    for fact, name in names[:1]:
        yield NodeReading("gpu_model", "", name, fact)
        listed = Counter(other.piece for other, _ in names)
        yield NodeReading("gpus", "", max(listed.values()), fact)
    for fact, (name, value) in evidence.select_values("nccl.variable", tuple):
        yield NodeReading("variable", str(name), str(value), fact)
    for kind, quantity in _VERSIONS:
        for fact in evidence.select(kind)[:1]:
            yield NodeReading(quantity, "", _write_value(fact.value), fact)


def _write_value(value: object) -> str:
    if isinstance(value, tuple):
        separator = ", "
        if all(isinstance(part, int) for part in value):
            separator = "."
        return separator.join(map(str, value))
    return str(value)


def find_odd_readings(readings: Mapping[str, Mapping[tuple[Quantity, str], NodeReading]]) -> Iterator[OddReading]:
    """Find the readings of nodes that differ from those of most.

    Args:
        readings: of each node, by quantity and part.

    Yields:
        Odd readings, in the order of quantities, parts and nodes.
    """
    parts = dict.fromkeys(key for of_node in readings.values() for key in of_node)
    for key in parts:
        having = {node: of_node[key] for node, of_node in readings.items() if key in of_node}
        quantity = key[0]
        if quantity in MEASURED:
            yield from _find_low(having)
        elif quantity == "variable" and len(having) < len(readings) / 2:
            yield from _find_extra(readings, having)
        elif (common_value := _find_usual(having)) is not None:
            for node, reading in having.items():
                if _is_worse(reading.value, common_value):
                    yield OddReading(node, reading, common_value, len(having))
            yield from _find_missing(readings, key, having, common_value)


def _find_low(having: Mapping[str, NodeReading]) -> Iterator[OddReading]:
    """Measured values that are lower than the fleet's spread explains; two nodes alone have no spread."""
    values = [float(reading.value) for reading in having.values()]
    if len(values) < 3:
        return
    median_value = median(values)
    spread = _OF_NORMAL_NOISE * median(abs(value - median_value) for value in values)
    lowest = median_value - max(_MIN_DROP * median_value, _DEVIATIONS * spread)
    for node, reading in having.items():
        if float(reading.value) < lowest:
            yield OddReading(node, reading, median_value, len(values))


def _find_usual(having: Mapping[str, NodeReading]) -> float | str | None:
    """The value that more than half of at least three nodes have."""
    (value, count), *_ = Counter(reading.value for reading in having.values()).most_common(1)
    if len(having) < 3 or count <= len(having) / 2:
        return None
    return value


def _is_worse(value: float | str, usual: float | str) -> bool:
    """Fewer of what is counted; another word."""
    if isinstance(value, str) or isinstance(usual, str):
        return value != usual
    return value < usual


def _find_extra(
    readings: Mapping[str, Mapping[tuple[Quantity, str], NodeReading]], having: Mapping[str, NodeReading]
) -> Iterator[OddReading]:
    """Variables that few of the nodes set whose logs were given."""
    logged = [node for node, of_node in readings.items() if any(q in ("variable", "nccl_version") for q, _ in of_node)]
    if len(logged) >= 3 and len(having) < len(logged) / 2:
        for node, reading in having.items():
            yield OddReading(node, reading, "", len(logged))


def _find_missing(
    readings: Mapping[str, Mapping[tuple[Quantity, str], NodeReading]],
    key: tuple[Quantity, str],
    having: Mapping[str, NodeReading],
    usual: float | str,
) -> Iterator[OddReading]:
    """Nodes that print other parts of the quantity and lack the one that nearly all nodes have."""
    quantity, part = key
    if quantity == "port_gbits":  # a port without a link stands there with its state
        return
    printing = [node for node, of_node in readings.items() if any(other == quantity for other, _ in of_node)]
    lacking = [node for node in printing if node not in having]
    if lacking and len(having) >= _NEARLY_ALL * len(printing):
        for node in lacking:
            yield OddReading(node, NodeReading(quantity, part, "", None), usual, len(printing))
