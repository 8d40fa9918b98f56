"""Which rank is behind, at which call, and who waits for whom. Nothing depends on the order of ranks or files.

Torch's analyzer takes the first rank that it reads as the norm (torch 2.13, `flight_recorder/components/builder.py`);
here the members of a group are compared with the majority.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ...rank_engine.execute import RankWait
from .hang_report import CallVariant, FindingKind, HangFinding, HangReport, Origin
from .records import JobRecord, RecordedCall
from .wait_graph import find_cycles

#: Collectives whose sizes may differ by rank.
_OWN_SIZES = ("all_to_all", "all_to_all_single", "gather", "scatter", "all_gather_v", "reduce_scatter_v")


@dataclass(frozen=True)
class _OpenCall:
    """A call that has not ended, and the ranks that have to do something before it can."""

    call: RecordedCall
    peers: tuple[int, ...]


def analyze_record(record: JobRecord, origin: Origin) -> HangReport:
    """Find out why a job hangs.

    Args:
        record: what each rank called.
        origin: who wrote it down.

    Returns:
        The report; without findings where nothing waits.
    """
    mismatches: list[HangFinding] = []
    behind: list[HangFinding] = []
    unfinished: list[HangFinding] = []
    waits: list[_OpenCall] = []
    for group in sorted(record.groups):
        finding, group_waits = _compare_group(record, group)
        waits += group_waits
        if finding is None:
            continue
        if finding.kind == "missing":
            behind.append(finding)
        elif finding.kind == "unfinished":
            unfinished.append(finding)
        else:
            mismatches.append(finding)
    messages, message_waits, sizes = _match_messages(record)
    waits += message_waits
    stuck = {wait.call.rank for wait in waits}
    merged = _merge_waits(waits, stuck)
    # Findings whose ranks wait themselves follow from something else; the roots do not wait.
    consequences = behind + messages
    roots = [_name_roots(finding, stuck) for finding in consequences if not set(finding.ranks) <= stuck]
    rest = [finding for finding in consequences if set(finding.ranks) <= stuck]
    cycles = [_build_cycle(cycle, waits) for cycle in find_cycles(merged)]
    # Messages of a cycle are explained by the cycle.
    if cycles and not mismatches:
        rest = [finding for finding in rest if not _is_in_cycle(finding, cycles)]
    findings = (*mismatches, *sizes, *roots, *cycles, *rest, *unfinished)
    return HangReport(origin, len(record.ranks), findings, record.unread, record)


# ---- collectives ---------------------------------------------------------------------------------------------------


def _compare_group(record: JobRecord, group: str) -> tuple[HangFinding | None, list[_OpenCall]]:
    """The first call of a group at which its members differ, and who waits in it for whom."""
    members = [rank for rank in record.groups[group] if rank in record.calls]
    by_rank = {
        rank: {call.number: call for call in record.calls[rank] if call.group == group and not call.is_message}
        for rank in members
    }
    numbers = sorted({number for calls in by_rank.values() for number in calls})
    begins = [min(calls) for calls in by_rank.values() if calls]  # older calls are no longer in the recorder's ring
    first = max(begins, default=1)
    unfinished: HangFinding | None = None
    for number in (number for number in numbers if number >= first):
        calls = {rank: by_rank[rank][number] for rank in members if number in by_rank[rank]}
        finding = _compare_calls(record, group, number, calls, members)
        if finding is not None:
            return finding, _list_group_waits(calls, members, finding)
        if unfinished is None and not all(call.is_complete for call in calls.values()):
            (operation, *_) = (call.operation for call in calls.values())
            unfinished = HangFinding("unfinished", record.label(group), number, operation, ())
    if unfinished is not None and set(members) != set(record.groups[group]):
        unfinished = None  # a rank that is not known may not have called it
    return unfinished, []


def _compare_calls(
    record: JobRecord,
    group: str,
    number: int,
    calls: Mapping[int, RecordedCall],
    members: Sequence[int],
) -> HangFinding | None:
    """What is wrong with one call of a group."""
    if all(call.is_complete for call in calls.values()) and len(calls) == len(members):
        readers: tuple[tuple[FindingKind, Callable[[RecordedCall], str]], ...] = (("operation", _get_operation),)
    else:
        readers = (("operation", _get_operation), ("size", _format_sizes), ("type", _format_dtypes))
    for kind, read in readers:
        variants = _group_by_value(calls, read)
        if len(variants) > 1:
            majority = variants[0]
            ranks = tuple(sorted(rank for variant in variants[1:] for rank in variant.ranks))
            if len(variants[1].ranks) == len(majority.ranks):
                ranks = ()  # two halves: neither is the norm
            operation = next(iter(calls.values())).operation
            return HangFinding(kind, record.label(group), number, operation, ranks, variants)
    absent = tuple(rank for rank in members if rank not in calls)
    if not absent:
        return None
    variants = _group_by_value(calls, _get_operation)
    last = tuple(record.calls[rank][-1] for rank in absent if record.calls[rank])
    return HangFinding("missing", record.label(group), number, variants[0].value, absent, variants, last)


def _group_by_value(calls: Mapping[int, RecordedCall], read: Callable[[RecordedCall], str]) -> tuple[CallVariant, ...]:
    """Ranks with the same value together, the most numerous first, then by their ranks."""
    ranks: dict[str, list[int]] = defaultdict(list)
    for rank in sorted(calls):
        ranks[read(calls[rank])].append(rank)
    variants = [CallVariant(tuple(group), value, calls[group[0]].position) for value, group in ranks.items()]
    return tuple(sorted(variants, key=lambda variant: (-len(variant.ranks), variant.ranks)))


def _get_operation(call: RecordedCall) -> str:
    return call.operation


def _format_sizes(call: RecordedCall) -> str:
    if call.operation in _OWN_SIZES or not (call.input_sizes or call.output_sizes):
        return ""
    return f"{_format_shapes(call.input_sizes)} -> {_format_shapes(call.output_sizes)}"


def _format_shapes(shapes: Sequence[Sequence[int]]) -> str:
    return ", ".join(f"[{', '.join(map(str, shape))}]" for shape in shapes[:4])


def _format_dtypes(call: RecordedCall) -> str:
    if call.operation in ("gather", "scatter"):  # only the root has the other side
        return ""
    return ", ".join(dict.fromkeys(call.dtypes))


def _list_group_waits(
    calls: Mapping[int, RecordedCall], members: Sequence[int], finding: HangFinding
) -> list[_OpenCall]:
    """Members that are in a call wait for those that did not make it, or that made another."""
    if finding.kind != "missing":
        return []
    return [_OpenCall(calls[rank], finding.ranks) for rank in members if rank in calls and not calls[rank].is_complete]


# ---- messages ------------------------------------------------------------------------------------------------------


def _match_messages(record: JobRecord) -> tuple[list[HangFinding], list[_OpenCall], list[HangFinding]]:
    """Sends and receives that have not ended: those without an other end, and those of another size."""
    sends, receives = _list_open_messages(record, "send"), _list_open_messages(record, "recv")
    findings: list[HangFinding] = []
    waits: list[_OpenCall] = []
    sizes: list[HangFinding] = []
    for src, dst in sorted({*sends, *receives}):
        pending, wanted = sends.get((src, dst), []), receives.get((src, dst), [])
        for send, receive in zip(pending, wanted, strict=False):
            if _format_shapes(send.input_sizes) != _format_shapes(receive.output_sizes):
                sizes.append(_build_size_finding(record, send, receive))
        for call in (*pending[len(wanted) :], *wanted[len(pending) :]):
            peers = _list_peers(record, call)
            if not peers or not set(peers) & set(record.calls):
                continue  # of the other end nothing is known
            waits.append(_OpenCall(call, peers))
            variants = (CallVariant((call.rank,), call.operation, call.position),)
            group = record.label(call.group)
            findings.append(HangFinding("message", group, call.number, call.operation, peers, variants))
    return findings, waits, sizes


def _list_open_messages(record: JobRecord, operation: str) -> dict[tuple[int, int], list[RecordedCall]]:
    """Messages that have not ended, by sender and receiver."""
    pairs: dict[tuple[int, int], list[RecordedCall]] = defaultdict(list)
    for rank, calls in record.calls.items():
        for call in calls:
            if call.operation == operation and not call.is_complete:
                pair = (rank, call.peer)
                if operation == "recv":
                    pair = (call.peer, rank)
                pairs[pair].append(call)
    return pairs


def _list_peers(record: JobRecord, call: RecordedCall) -> tuple[int, ...]:
    if call.peer >= 0:
        return (call.peer,)
    return tuple(rank for rank in record.groups.get(call.group, record.ranks) if rank != call.rank)


def _build_size_finding(record: JobRecord, send: RecordedCall, receive: RecordedCall) -> HangFinding:
    variants = (
        CallVariant((send.rank,), f"send {_format_shapes(send.input_sizes)}", send.position),
        CallVariant((receive.rank,), f"recv {_format_shapes(receive.output_sizes)}", receive.position),
    )
    return HangFinding("size", record.label(send.group), send.number, "send", (), variants)


# ---- who waits for whom --------------------------------------------------------------------------------------------


def _name_roots(finding: HangFinding, stuck: Collection[int]) -> HangFinding:
    """Of the ranks that are awaited those that do not wait themselves."""
    ranks = tuple(rank for rank in finding.ranks if rank not in stuck)
    return replace(finding, ranks=ranks, last=tuple(call for call in finding.last if call.rank in ranks))


def _merge_waits(waits: Sequence[_OpenCall], stuck: Collection[int]) -> list[RankWait]:
    """One wait for each rank: it goes on when all of its calls do. Ranks that do not wait will do nothing more."""
    by_rank: dict[int, list[_OpenCall]] = defaultdict(list)
    for wait in waits:
        by_rank[wait.call.rank].append(wait)
    merged = []
    for rank, parts in sorted(by_rank.items()):
        peers = tuple(dict.fromkeys(peer for part in parts for peer in part.peers))
        first = parts[0].call
        is_any = len(parts) == 1 and first.is_message and first.peer < 0
        ended = tuple(peer for peer in peers if peer not in stuck)
        merged.append(RankWait(rank, first.operation, first.line, peers, is_any, (), ended))
    return merged


def _build_cycle(cycle: Sequence[int], waits: Sequence[_OpenCall]) -> HangFinding:
    variants = []
    for position, rank in enumerate(cycle):
        peer = cycle[(position + 1) % len(cycle)]
        call = next(wait.call for wait in waits if wait.call.rank == rank and peer in wait.peers)
        variants.append(CallVariant((rank,), call.operation, call.position))
    return HangFinding("cycle", "", 0, variants[0].value, tuple(cycle), tuple(variants))


def _is_in_cycle(finding: HangFinding, cycles: Sequence[HangFinding]) -> bool:
    """Whether a cycle says the same: what waits is inside of it."""
    return any(set(finding.variants[0].ranks) <= set(cycle.ranks) for cycle in cycles)
