"""What NCCL's RAS subsystem prints: how many calls of each collective the ranks of a communicator have made.

Source: NVIDIA/nccl docs/userguide/source/troubleshooting/ras.rst and src/ras/client_support.cc (NCCL 2.24 and later;
the JSON form 2.28.7 and later). RAS counts calls and knows neither sizes nor lines, so a mismatch shows as two
operations of which the same ranks have called one less and one more.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...files import FilePath, refuse
from .hang_report import CallVariant, HangFinding, HangReport

_BLOCK = re.compile(r"\s{0,8}#(\d{1,6}-\d{1,6}) \(([0-9a-fA-Fx:]{1,80})\)", re.ASCII)
_OPERATION = re.compile(r"\s{0,12}Communicator ranks have different (\w{1,40}) operation counts", re.ASCII)
_MANY = re.compile(r"\s{0,12}(\d{1,7}) ranks? have (?:launched up to operation (\d{1,18})|not launched any)", re.ASCII)
_SINGLE = re.compile(
    r"\s{0,12}Rank (\d{1,7}) has (?:launched up to operation (\d{1,18})|not launched any operations)", re.ASCII
)
_MEMBER = re.compile(r"\s{0,12}Rank (\d{1,7}) -- ", re.ASCII)
_SILENT = re.compile(r"\s{0,12}The missing ranks?: ([\d, ]{1,2000})", re.ASCII)
_ROW = re.compile(r"\s{0,12}(\d{1,7})\s+\d{1,7}\s+\d{1,7}\s+\S{1,20}\s+(\d{1,7})\s+\d{1,7}\s+[A-Z]{2,12}\s", re.ASCII)
_MAX_RANKS = 65_536


@dataclass
class _CountGroup:
    """Ranks that have made as many calls: how many ranks, and which, as far as they are named."""

    calls: int
    count: int
    ranks: set[int] = field(default_factory=set)


@dataclass
class RasCommunicator:
    """What RAS says of one communicator.

    Attributes:
        name: `#0-0 (hash)`, or the hash.
        size: its ranks; 0 where the text does not say.
        counts: by operation the ranks that have made as many calls.
        silent: ranks that did not answer.
    """

    name: str
    size: int = 0
    counts: dict[str, list[_CountGroup]] = field(default_factory=dict)
    silent: set[int] = field(default_factory=set)


# ---- reading -------------------------------------------------------------------------------------------------------


def looks_like_ras(text: str) -> bool:
    """Whether a text is of RAS.

    Args:
        text: its beginning.

    Returns:
        Whether it is.
    """
    return "Communicators..." in text or "Job summary" in text or _BLOCK.search(text) is not None


def read_ras_text(path: FilePath, text: str) -> list[RasCommunicator]:
    """Read what `ncclras` prints.

    Args:
        path: of the file, for messages.
        text: all of it.

    Returns:
        The communicators of which it says more than their status.

    Raises:
        FormatError: it has no table and no block of a communicator.
    """
    sizes: dict[str, int] = {}
    blocks: list[RasCommunicator] = []
    operation, current = "", _CountGroup(0, 0)
    for line in text.splitlines():
        if match := _ROW.match(f"{line} "):
            sizes[match[1]] = int(match[2])
        elif match := _BLOCK.match(line):
            blocks.append(RasCommunicator(f"#{match[1]} ({match[2]})", sizes.get(match[1].partition("-")[0], 0)))
            operation = ""
        elif not blocks:
            # Lines before the first block are headings.
            continue
        elif match := _OPERATION.match(line):
            operation = match[1]
            blocks[-1].counts[operation] = []
        elif match := _SILENT.match(line):
            blocks[-1].silent.update(int(word) for word in match[1].replace(",", " ").split()[:_MAX_RANKS])
        elif operation and (match := _MANY.match(line)):
            current = _CountGroup(int(match[2] or 0), int(match[1]))
            blocks[-1].counts[operation].append(current)
        elif operation and (match := _SINGLE.match(line)):
            blocks[-1].counts[operation].append(_CountGroup(int(match[2] or 0), 1, {int(match[1])}))
        elif operation and (match := _MEMBER.match(line)):
            current.ranks.add(int(match[1]))
    if not blocks and not sizes:
        refuse(path, "", "no output of ncclras: it has no table of communicators")
    return _join_blocks(blocks)


def _join_blocks(blocks: Sequence[RasCommunicator]) -> list[RasCommunicator]:
    """Errors and warnings of one communicator stand in two places."""
    joined: dict[str, RasCommunicator] = {}
    for block in blocks:
        communicator = joined.setdefault(block.name, RasCommunicator(block.name, block.size))
        communicator.counts.update(block.counts)
        communicator.silent |= block.silent
    return list(joined.values())


def read_ras_document(path: FilePath, document: dict[str, object]) -> list[RasCommunicator]:
    """Read RAS's JSON, which has the counts of all ranks.

    Args:
        path: of the file, for messages.
        document: what it holds.

    Returns:
        The communicators.

    Raises:
        FormatError: ranks or counts are no numbers.
    """
    communicators = document.get("communicators")
    if not isinstance(communicators, list):
        refuse(path, "communicators", "a list is expected")
    try:
        return [_read_communicator(entry) for entry in communicators[:_MAX_RANKS]]
    except (KeyError, TypeError, ValueError, AttributeError):
        refuse(path, "communicators", "ranks and counts of calls are whole numbers")


def _read_communicator(entry: dict[str, object]) -> RasCommunicator:
    calls: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    ranks, silent = entry["ranks"], entry.get("missing_ranks") or []
    if not isinstance(ranks, list) or not isinstance(silent, list) or len(ranks) > _MAX_RANKS:
        raise TypeError
    for rank in ranks:
        for operation, count in list(rank["collective_counts"].items())[:100]:
            calls[_shorten(operation)][_read_count(count)].add(_read_count(rank["rank"]))
    communicator = RasCommunicator(_shorten(entry["hash"]), _read_count(entry["size"]))
    communicator.silent = {_read_count(rank["rank"]) for rank in silent[:_MAX_RANKS]}
    for operation, groups in calls.items():
        if len(groups) > 1:
            parts = [_CountGroup(count, len(members), members) for count, members in groups.items()]
            communicator.counts[operation] = parts
    return communicator


def _read_count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ValueError
    return value


def _shorten(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return "".join(c for c in value[:80] if c.isprintable())


# ---- the report ----------------------------------------------------------------------------------------------------


def build_ras_report(texts: Sequence[Sequence[RasCommunicator]]) -> HangReport:
    """Say which ranks are behind.

    Args:
        texts: what each of one or more queries printed, in any order.

    Returns:
        The report. Where counts differ between queries the job runs, and no rank is named.
    """
    versions: dict[str, list[RasCommunicator]] = defaultdict(list)
    for communicators in texts:
        for communicator in communicators:
            versions[communicator.name].append(communicator)
    findings: list[HangFinding] = []
    for name in sorted(versions):
        findings += _find_differences(versions[name], len(texts))
    order = {"operation": 0, "silent": 1, "missing": 2, "moving": 3}
    findings.sort(key=lambda finding: order[finding.kind])
    size = max((communicator.size for group in versions.values() for communicator in group), default=0)
    return HangReport("ras", size, tuple(findings))


def _find_differences(versions: Sequence[RasCommunicator], texts: int) -> Iterable[HangFinding]:
    communicator = versions[0]
    operations = sorted({operation for version in versions for operation in version.counts})
    moving = [operation for operation in operations if _is_moving(versions, operation, texts)]
    if moving:
        return [HangFinding("moving", communicator.name, 0, moving[0], ())]
    findings = [_find_behind(communicator, operation) for operation in operations]
    if communicator.silent:
        findings.append(HangFinding("silent", communicator.name, 0, "", tuple(sorted(communicator.silent))))
    return _join_exchanged(findings)


def _is_moving(versions: Sequence[RasCommunicator], operation: str, texts: int) -> bool:
    """Whether the counts of an operation changed between queries; a query that does not list it saw equal counts."""
    states = {
        tuple(sorted((group.calls, group.count) for group in version.counts.get(operation, ()))) for version in versions
    }
    return len(states) > 1 or len(versions) < texts


def _find_behind(communicator: RasCommunicator, operation: str) -> HangFinding:
    """The ranks that have called an operation less often than others."""
    groups = sorted(communicator.counts[operation], key=lambda group: -group.calls)
    named = {rank for group in groups for rank in group.ranks}
    total = communicator.size or sum(group.count for group in groups)
    unnamed = [group for group in groups if len(group.ranks) < group.count]
    if len(unnamed) == 1 and 0 < total <= _MAX_RANKS:  # all others are named
        unnamed[0].ranks |= set(range(total)) - named - communicator.silent
    if not groups:  # RAS lists single ranks only where they are few
        return HangFinding("missing", communicator.name, 0, operation, ())
    first = groups[0]
    variants = tuple(CallVariant(tuple(sorted(group.ranks)), str(group.calls), count=group.count) for group in groups)
    behind = tuple(sorted({rank for group in groups[1:] for rank in group.ranks}))
    return HangFinding("missing", communicator.name, first.calls, operation, behind, variants)


def _join_exchanged(findings: Sequence[HangFinding]) -> list[HangFinding]:
    """Ranks that called one operation less and another more than the rest have called the other in its place."""
    behind = [finding for finding in findings if finding.kind == "missing" and finding.ranks]
    for first in behind:
        for second in behind:
            ahead = second.variants[0].ranks
            if first is not second and set(first.ranks) == set(ahead) and len(ahead) <= len(second.ranks):
                variants = (
                    CallVariant(second.ranks, first.operation, count=len(second.ranks)),
                    CallVariant(ahead, second.operation, count=len(ahead)),
                )
                ranks = ahead
                if len(ahead) == len(second.ranks):
                    ranks = ()
                exchanged = HangFinding("operation", first.group, first.number, first.operation, ranks, variants)
                return [exchanged, *(other for other in findings if other not in (first, second))]
    return list(findings)
