"""Ports of network cards and what they reach: ibstat, ibstatus and perfquery (infiniband-diags), ibv_devinfo
(linux-rdma/rdma-core), perftest (linux-rdma/perftest, perftest_parameters.h), ethtool and iproute2's rdma."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...io.nccl.nccl_log_facts import Stated
from ...package_data import read_toml


@dataclass(frozen=True)
class CardPort:
    """A port of a network card, by ibstat, ibstatus or ibv_devinfo.

    Attributes:
        card: its name, `mlx5_0`.
        gbits: rate in Gbit/s.
        state: `Active`, `Down` ...; empty where the text has none.
        layer: link layer, `InfiniBand` or `Ethernet`; empty where the text has none.
    """

    card: str
    gbits: float
    state: str
    layer: str


@dataclass(frozen=True)
class CardTest:
    """A run of perftest between two cards.

    Attributes:
        device: the card, `mlx5_0`.
        queue_pairs: number of queue pairs.
        gbits: average rate in Gbit/s.
        uses_gpu: was GPU memory sent (`--use_cuda`, `--use_rocm`)?
        layer: link layer, `InfiniBand` or `Ethernet`.
    """

    device: str
    queue_pairs: int
    gbits: float
    uses_gpu: bool
    layer: str


_CARD = re.compile(r"^CA '([\w.-]{1,60})'|^Infiniband device '([\w.-]{1,60})'|^hca_id:\s+([\w.-]{1,60})")


def read_cards(lines: Sequence[str]) -> Iterator[Stated]:
    """Read `ibstat`, `ibstatus` and `ibv_devinfo`: a port of a card each, at the line of its rate.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    card, state, layer_before, lanes = "", "", "", 4
    rate: tuple[int, float] | None = None
    for number, line in enumerate(lines, 1):
        if (head := _CARD.match(line)) is not None:
            card, state, layer_before, rate = next(filter(None, head.groups())), "", "", None
        elif not card:
            continue
        elif (word := re.match(r"\s*[Ss]tate:\s+(?:\d: |PORT_)?(\w{1,20})", line)) is not None:
            state = word[1].capitalize()
        elif (number_of := re.match(r"\s*[Rr]ate:\s+(\d{1,4}(?:\.\d)?)", line)) is not None:
            rate = (number, float(number_of[1]))
        elif (layer := re.match(r"\s*[Ll]ink.layer:\s+(\w{1,20})", line)) is not None:
            layer_before = layer[1]
            if rate is not None:
                yield rate[0], "card.port", CardPort(card, rate[1], state, layer[1])
        elif (width := re.match(r"\s*active_width:\s+(\d{1,2})X", line)) is not None:
            lanes = int(width[1])
        elif (speed := re.match(r"\s*active_speed:\s+(\d{1,4}(?:\.\d)?) Gbps", line)) is not None:
            # of a lane, rounded up to 25, 50 and 100 Gbit/s from InfiniBand's EDR on
            yield number, "card.port", CardPort(card, lanes * float(speed[1]), state, layer_before)


def read_card_tests(lines: Sequence[str]) -> Iterator[Stated]:
    """Read perftest's bandwidth tests, at the line of the result.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    device, queue_pairs, uses_gpu, is_mib, layer = "", 1, False, False, "Ethernet"
    for number, line in enumerate(lines, 1):
        if "--use_cuda" in line or "--use_rocm" in line:
            uses_gpu = True
        if (name := re.search(r"\bDevice\s{1,20}: (\S{1,60})", line)) is not None:
            device = name[1]
        elif (pairs := re.search(r"Number of qps\s{1,10}: (\d{1,5})", line)) is not None:
            queue_pairs = int(pairs[1])
        elif (link := re.search(r"Link type\s{1,20}: (\w{1,20})", line)) is not None:
            layer = {"IB": "InfiniBand"}.get(link[1], "Ethernet")
        elif "BW average" in line:
            is_mib = "MiB/sec" in line
        elif device and (
            row := re.match(r"^\s*\d{1,12}\s+\d{1,12}\s+[\d.]{1,12}\s+([\d.]{1,12})\s+[\d.]{1,12}\s*$", line)
        ):
            gbits = float(row[1])
            if is_mib:
                gbits *= 2**20 * 8 / 1e9
            yield number, "card.test", CardTest(device, queue_pairs, gbits, uses_gpu, layer)
            device, queue_pairs, uses_gpu = "", 1, False


@dataclass(frozen=True)
class PortCounter:
    """A counter of a port of a network card.

    Attributes:
        card: its name; empty where the text does not say.
        name: as ethtool, perfquery or the kernel writes it.
        value: since the port was started or the counter reset; it only grows.
    """

    card: str
    name: str
    value: int


#: Counters of packets that were lost, came out of order or were sent again, and of pauses and marks that keep the
#: network from it (Linux Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst).
_COUNTERS: dict[str, list[str]] = read_toml(__file__, "network_tools.toml")
LOSS_COUNTERS = frozenset(_COUNTERS["losses"])
#: Digits of a counter of 64 bits.
_LONGEST_COUNTER = 20
_PAUSE_COUNTERS = re.compile(
    r"(?:[rt]x_(?:prio\d_)?pause(?:_ctrl_phy)?|np_cnp_sent|rp_cnp_handled|np_ecn_marked_roce_packets|PortXmitWait)$"
)
#: Counters of a cable's errors (InfiniBand specification, PortCounters; mlx5 counters of the physical layer).
ERROR_COUNTERS = frozenset(_COUNTERS["errors"])


def read_counters(lines: Sequence[str]) -> Iterator[Stated]:
    """Read counters of network cards: `ethtool -S`, `rdma statistic` and `perfquery`. What is read twice shows whether
    it grows.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    card = ""
    for number, line in enumerate(lines, 1):
        if (command := re.search(r"\bethtool -S (\S{1,60})", line)) is not None:
            card = command[1]
        elif (port := re.match(r"^# Port (?:extended )?counters: Lid (\d{1,8}) port (\d{1,4})", line)) is not None:
            card = f"lid {port[1]} port {port[2]}"
        elif (link := re.match(r"^\s*link (\S{1,60}/\d{1,4}) (.{1,4000})", line)) is not None:
            words = link[2].split()
            for name, value in zip(words[::2], words[1::2], strict=False):
                yield from _state_counter(number, link[1], name, value)
        elif (entry := re.match(r"^\s*([A-Za-z]\w{3,60})\s?:[\s.]{1,60}(\d{1,20})\s*$", line)) is not None:
            yield from _state_counter(number, card, entry[1], entry[2])


def _state_counter(number: int, card: str, name: str, value: str) -> Iterator[Stated]:
    is_known = name in LOSS_COUNTERS or name in ERROR_COUNTERS or _PAUSE_COUNTERS.match(name) is not None
    if is_known and value.isascii() and value.isdigit() and len(value) <= _LONGEST_COUNTER:
        yield number, "card.counter", PortCounter(card, name, int(value))
