"""Ports of network cards and what they reach: ibstat, ibstatus (infiniband-diags) and perftest (linux-rdma/perftest,
perftest_parameters.h)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...io.nccl.nccl_log_facts import Stated


@dataclass(frozen=True)
class CardPort:
    """A port of a network card: Gbit/s, state (`Active`, `Down`), and link layer (`InfiniBand`, `Ethernet`)."""

    card: str
    gbits: float
    state: str
    layer: str


@dataclass(frozen=True)
class CardTest:
    """A run of perftest: device, queue pairs, Gbit/s on average, whether GPU memory was sent, and the link layer."""

    device: str
    queue_pairs: int
    gbits: float
    uses_gpu: bool
    layer: str


def read_cards(lines: Sequence[str]) -> Iterator[Stated]:
    """Read `ibstat` and `ibstatus`: a port of a card each, at the line of its rate.

    Args:
        lines: of any text.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    card, state = "", ""
    rate: tuple[int, float] | None = None
    for number, line in enumerate(lines, 1):
        if (head := re.match(r"^CA '([\w.-]{1,60})'|^Infiniband device '([\w.-]{1,60})'", line)) is not None:
            card, state, rate = head[1] or head[2], "", None
        elif (word := re.match(r"\s*[Ss]tate:\s+(?:\d: )?(\w{1,20})", line)) is not None and card:
            state = word[1].capitalize()
        elif (number_of := re.match(r"\s*[Rr]ate:\s+(\d{1,4}(?:\.\d)?)", line)) is not None and card:
            rate = (number, float(number_of[1]))
        elif (layer := re.match(r"\s*[Ll]ink.layer:\s+(\w{1,20})", line)) is not None and card and rate is not None:
            yield rate[0], "card.port", CardPort(card, rate[1], state, layer[1])


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
