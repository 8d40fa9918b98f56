"""Causes that show where like parts of one job are compared: GPUs of a machine, ranks of a collective, and a counter
with its own earlier value. A part alone says nothing, since models and machines differ by design."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from statistics import median

from ..io.nccl.nccl_log_facts import find_host
from .evidence_pieces import Evidence, Fact
from .readers.gpu_bandwidth import HostLink, PairRow
from .readers.gpu_tools import GpuLinks, LinkKinds
from .readers.network_tools import ERROR_COUNTERS, LOSS_COUNTERS, CardTest, PortCounter
from .readers.timed_calls import LateRank

#: A link between host and GPU with half of the lanes or of the speed is below this share of its neighbours.
_HALF = 0.65
#: Rates of GPUs on one NVSwitch agree to a percent in nvbandwidth; one of 18 links is 5.6 %.
_LOST_LINK, _ALIKE = 0.955, 0.98
#: GB/s between GPUs that no PCIe of today carries in one direction (generation 6 with 16 lanes: 121).
_NVLINK_RATE = 125.0
#: Fewer GPUs or cards have no majority.
_FEWEST_GPUS = 3
#: Counters of errors that say something once they grow at all; of the others a few are within a cable's error rate.
_SEVERE = frozenset({"LinkErrorRecoveryCounter", "LinkDownedCounter", "link_down_events_phy"})
_MAX_TOLERATED = 10
_MOMENTS = re.compile(r"before|after|start|end|begin|pre|post|first|second|[\W_]", re.IGNORECASE)


def find_lost_links(evidence: Evidence) -> tuple[Fact, ...]:
    """GPUs with fewer NVLinks than others of the machine: as nvidia-smi counts them, as the rates in NCCL's tree add
    up, or as nvbandwidth measures them through a switch.

    Args:
        evidence: all pieces.
    """
    gpus = evidence.select_values("nvlink.links", GpuLinks)
    most: dict[str, int] = {}
    for _, gpu in gpus:
        most[gpu.name] = max(most.get(gpu.name, 0), gpu.active)
    counted = tuple(fact for fact, gpu in gpus if gpu.active < most[gpu.name])[:8]
    rates = evidence.select_values("nccl.nvlink_rate", float)
    highest: dict[str, float] = {}
    for fact, rate in rates:
        highest[fact.piece] = max(highest.get(fact.piece, 0.0), rate)
    printed = tuple(fact for fact, rate in rates if 0 < rate < highest[fact.piece])[:8]
    return counted or printed or _find_slow_rows(evidence)


def _find_slow_rows(evidence: Evidence) -> tuple[Fact, ...]:
    """GPUs that reach less than all others of a matrix, which agree among themselves at a rate that only NVLink has."""
    by_test = defaultdict(list)
    for fact, row in evidence.select_values("gpu.pair_row", PairRow):
        by_test[fact.piece, row.test].append((fact, row.median))
    for rows in by_test.values():
        usual = median(rate for _, rate in rows)
        slow = [fact for fact, rate in rows if rate < _LOST_LINK * usual]
        others = [rate for _, rate in rows if rate >= _LOST_LINK * usual]
        is_uniform = len(others) > len(slow) and min(others) > _ALIKE * max(others)
        if slow and len(rows) >= _FEWEST_GPUS and is_uniform and usual > _NVLINK_RATE:
            return tuple(slow[:4])
    return ()


def find_slow_host_links(evidence: Evidence) -> tuple[Fact, ...]:
    """GPUs whose link to the host carries half of what those of their neighbours do, while they copy.

    Args:
        evidence: all pieces.
    """
    by_test = defaultdict(list)
    for fact, link in evidence.select_values("gpu.host_link", HostLink):
        by_test[fact.piece, link.test].append((fact, link))
    for links in by_test.values():
        usual = median(link.rate for _, link in links)
        slow = [fact for fact, link in links if link.rate < _HALF * usual]
        if slow and len(links) >= _FEWEST_GPUS:
            return tuple(dict.fromkeys(slow))[:2]
    return ()


def find_slow_cards(evidence: Evidence) -> tuple[Fact, ...]:
    """Cards that reach half of what most cards do in the same test of perftest, beside one that reaches it.

    Args:
        evidence: all pieces.
    """
    by_test = defaultdict(list)
    for fact, test in evidence.select_values("card.test", CardTest):
        by_test[test.queue_pairs, test.uses_gpu, test.layer].append((fact, test))
    for tests in by_test.values():
        usual = median(test.gbits for _, test in tests)
        slow = [fact for fact, test in tests if test.gbits < _HALF * usual]
        devices = {test.device for _, test in tests}
        if slow and len(devices) >= _FEWEST_GPUS and len(slow) < len(tests) / 2:
            return (*slow[:4], next(fact for fact, test in tests if test.gbits >= usual))
    return ()


def find_mixed_cards(evidence: Evidence) -> tuple[Fact, ...]:
    """Hosts of one job that list other numbers of network cards than others: the warning of NCCL 2.30, and before it
    the lists.

    Args:
        evidence: all pieces.
    """
    warned = evidence.select("nccl.mixed_cards")[:2]
    by_host: dict[str, tuple[int, Fact]] = {}
    for fact, cards in evidence.select_values("nccl.cards", tuple):
        host = find_host(fact.text)
        if host and len(cards) > by_host.get(host, (0, fact))[0]:
            by_host[host] = len(cards), fact
    counts = dict(by_host.values())
    if warned or len(counts) < 2:
        return warned
    return counts[min(counts)], counts[max(counts)]


def find_lost_xgmi(evidence: Evidence) -> tuple[Fact, ...]:
    """GPUs that reach fewer others over xGMI than most of the same table do: a mesh has the same number everywhere.

    Args:
        evidence: all pieces.
    """
    by_piece = defaultdict(list)
    for fact, links in evidence.select_values("gpu.link_kinds", LinkKinds):
        by_piece[fact.piece].append((fact, links.kinds.count("XGMI")))
    for rows in by_piece.values():
        most = max(count for _, count in rows)
        fewer = tuple(fact for fact, count in rows if count < most)
        if fewer and len(rows) >= _FEWEST_GPUS:
            return fewer[:4]
    return ()


def find_late_rank(evidence: Evidence) -> tuple[Fact, ...]:
    """A rank that most collectives wait for, as NCCL Inspector or PyTorch's profiler times them.

    Args:
        evidence: all pieces.
    """
    return tuple(fact for fact, _ in evidence.select_values("job.late_rank", LateRank))[:2]


def find_losses(evidence: Evidence) -> tuple[Fact, ...]:
    """Readings of counters of lost and repeated packets that grew, the later beside the earlier.

    Args:
        evidence: all pieces.
    """
    grown = _list_growth(evidence)
    return tuple(fact for pair, name, _ in grown if name in LOSS_COUNTERS for fact in pair)[:4]


def find_cable_errors(evidence: Evidence) -> tuple[Fact, ...]:
    """Readings of counters of a cable's errors that grew, the later beside the earlier.

    Args:
        evidence: all pieces.
    """
    severe = [
        pair
        for pair, name, growth in _list_growth(evidence)
        if name in _SEVERE or (name in ERROR_COUNTERS and growth > _MAX_TOLERATED)
    ]
    return tuple(fact for pair in severe for fact in pair)[:4]


def find_single_readings(evidence: Evidence) -> tuple[Fact, ...]:
    """Readings of counters of losses and errors above zero with no other one to compare them with.

    Args:
        evidence: all pieces.
    """
    return tuple(
        fact
        for readings in _group_counters(evidence).values()
        if len(readings) == 1
        for fact, counter in readings
        if counter.value and counter.name in LOSS_COUNTERS | ERROR_COUNTERS
    )


def _list_growth(evidence: Evidence) -> list[tuple[tuple[Fact, Fact], str, int]]:
    """Pairs of readings between which a counter grew, its name, and by how much. A counter never falls, so that the
    larger reading is the later, whatever the order of the pieces."""
    grown = []
    for readings in _group_counters(evidence).values():
        first, last = (choose(readings, key=lambda reading: reading[1].value) for choose in (min, max))
        if last[1].value > first[1].value:
            grown.append(((first[0], last[0]), last[1].name, last[1].value - first[1].value))
    return grown


def _group_counters(evidence: Evidence) -> dict[tuple[str, str, str], list[tuple[Fact, PortCounter]]]:
    """Readings of one counter of one card of one node: in one piece, or in pieces whose names differ in words such as
    `before` and `after` only. A card without a name is one card where each piece has one reading of it."""
    groups = defaultdict(list)
    for fact, counter in evidence.select_values("card.counter", PortCounter):
        node = _MOMENTS.sub("", str(Path(fact.piece)))
        groups[node, counter.card, counter.name].append((fact, counter))
    return {
        key: readings
        for key, readings in groups.items()
        if key[1] or len({fact.piece for fact, _ in readings}) == len(readings)
    }
