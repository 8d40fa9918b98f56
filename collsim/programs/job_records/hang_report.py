"""Why a job hangs: findings, the first of them the cause, and their sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ...errors import Sentence, Words, join_words
from ...units import format_numbers
from .records import JobRecord, RecordedCall

FindingKind = Literal["operation", "size", "type", "missing", "message", "cycle", "unfinished", "silent", "moving"]
Origin = Literal["simulation", "flight recorder", "ras"]
_MAX_RANKS, _MAX_VARIANTS = 12, 4  # of a cycle, and in a sentence


@dataclass(frozen=True)
class CallVariant:
    """What some ranks did at a call.

    Attributes:
        ranks: these ranks.
        value: the operation, the sizes or the types; for RAS the number of calls that they have made.
        position: file and line, or nothing.
        count: how many ranks, where they are not named.
    """

    ranks: tuple[int, ...]
    value: str
    position: str = ""
    count: int = 0


@dataclass(frozen=True)
class HangFinding:
    """One thing that is wrong.

    Attributes:
        kind: `operation`, `size`, `type`: the members of a group called something else at the same number; `missing`:
            some did not call it; `message`: a send or a receive without its other end; `cycle`: ranks wait for one
            another; `unfinished`: all called the same and it has not ended; `silent`: a process does not answer;
            `moving`: the job went on meanwhile.
        group: what people call the group of ranks.
        number: of the call in its group, from 1; of a message among those of its rank.
        operation: the call.
        ranks: the ranks to look at: the minority, those that did not call, those of a message's other end, those that
            wait in a cycle; none where two halves differ.
        variants: what ranks did, the most numerous first.
        last: the last calls of `ranks` where they are behind, as far as they are known.
    """

    kind: FindingKind
    group: str
    number: int
    operation: str
    ranks: tuple[int, ...]
    variants: tuple[CallVariant, ...] = ()
    last: tuple[RecordedCall, ...] = ()

    @property
    def sentence(self) -> Sentence:
        """What is wrong, in a sentence or two."""
        writer = {
            "missing": _describe_missing,
            "message": _describe_message,
            "cycle": _describe_cycle,
            "unfinished": _describe_unfinished,
            "silent": _describe_silent,
            "moving": _describe_moving,
        }.get(self.kind, _describe_mismatch)
        return Sentence.from_words(writer(self))


@dataclass(frozen=True)
class HangReport:
    """Why a job hangs: the same for a simulated run, for Flight Recorder dumps and for what NCCL's RAS prints.

    Attributes:
        origin: who wrote it down.
        ranks: how many ranks the job has.
        findings: what is wrong, the cause first.
        unread: ranks of which nothing was given.
        record: the calls, where they are known; reports with the same findings are equal, whoever wrote them down.
    """

    origin: Origin = field(compare=False)
    ranks: int
    findings: tuple[HangFinding, ...]
    unread: tuple[int, ...] = ()
    record: JobRecord | None = field(default=None, repr=False, compare=False)

    @property
    def culprits(self) -> tuple[int, ...]:
        """The ranks to look at first; empty where the calls do not tell."""
        if not self.findings:
            return ()
        return self.findings[0].ranks

    @property
    def reason(self) -> Sentence:
        """All findings, and which ranks are not known."""
        words: list[Words] = [finding.sentence for finding in self.findings[:_MAX_VARIANTS]]
        if not words and self.unread:
            words.append(Sentence("What waits is not known: the partners of a call may be ranks without a file."))
        elif not words:
            words.append(Sentence("Nothing in it waits: every recorded call has ended or has its partners."))
        if self.unread:
            words.append(Sentence("No file of rank {ranks}.", ranks=format_numbers(self.unread)))
        if self.origin == "ras" and any(finding.kind in ("missing", "operation") for finding in self.findings):
            words.append(Sentence("Ask again: counts that change belong to a job that runs."))
        return Sentence.from_words(join_words(words, "{first} {then}"))

    def explanation(self, language: str = "en") -> str:
        """Say why it hangs.

        Args:
            language: `en` or `zh`.

        Returns:
            A few sentences.
        """
        return self.reason.text(language)

    def __str__(self) -> str:
        return self.explanation()


# ---- sentences -----------------------------------------------------------------------------------------------------


def _describe_call(value: Words, position: str) -> Words:
    if not position:
        return value
    return Sentence("{call} ({position})", call=value, position=position)


def _describe_mismatch(finding: HangFinding) -> Words:
    parts = []
    for variant in finding.variants[:_MAX_VARIANTS]:
        call = _describe_call(variant.value, variant.position)
        parts.append(Sentence("rank {ranks}: {call}", ranks=format_numbers(variant.ranks), call=call))
    values: dict[str, object] = {"number": finding.number, "group": finding.group, "variants": join_words(parts)}
    if finding.kind == "operation":
        return Sentence("Call {number} of group {group} is not the same on all ranks: {variants}.", **values)
    values["operation"] = finding.operation
    if finding.kind == "size":
        return Sentence("Call {number} of group {group}, {operation}, differs in its sizes: {variants}.", **values)
    return Sentence("Call {number} of group {group}, {operation}, differs in its element types: {variants}.", **values)


def _describe_missing(finding: HangFinding) -> Words:
    if not finding.ranks or not finding.variants[0].ranks:
        return _describe_counts(finding)
    (called, *_) = finding.variants
    sentence = Sentence(
        "Behind: rank {ranks}, without {call} of group {group}. Waiting in it: rank {others}.",
        ranks=format_numbers(finding.ranks),
        call=_describe_number(finding, called.position),
        group=finding.group,
        others=format_numbers(called.ranks),
    )
    if not finding.last:
        return sentence
    (last, *_) = finding.last
    call = _describe_number(last, last.position)
    return Sentence("{sentence} The last call of rank {rank}: {call}.", sentence=sentence, rank=last.rank, call=call)


def _describe_number(call: HangFinding | RecordedCall, position: str) -> Words:
    numbered = Sentence("{operation} number {number}", operation=call.operation, number=call.number)
    return _describe_call(numbered, position)


def _describe_counts(finding: HangFinding) -> Words:
    """Ranks that are counted and not named."""
    parts = [
        Sentence("{calls} times: {count} ranks", count=variant.count, calls=variant.value)
        for variant in finding.variants[:_MAX_VARIANTS]
    ] or [Sentence("not named")]
    sentence = Sentence(
        "Ranks of group {group} have called {operation} a different number of times: {counts}.",
        group=finding.group,
        operation=finding.operation,
        counts=join_words(parts),
    )
    if finding.ranks:
        return Sentence("{sentence} Behind: rank {ranks}.", sentence=sentence, ranks=format_numbers(finding.ranks))
    return Sentence("{sentence} `ncclras -v` names more of them.", sentence=sentence)


def _describe_silent(finding: HangFinding) -> Words:
    message = "No answer from rank {ranks} of group {group}: the process has ended, or is stopped."
    return Sentence(message, ranks=format_numbers(finding.ranks), group=finding.group)


def _describe_message(finding: HangFinding) -> Words:
    (waiting,) = finding.variants
    values: dict[str, object] = {
        "rank": waiting.ranks[0],
        "call": _describe_call(finding.operation, waiting.position),
        "peer": format_numbers(finding.ranks),
    }
    if finding.operation == "send":
        return Sentence("Rank {rank} waits in {call} for a receive of rank {peer}, which has none for it.", **values)
    return Sentence("Rank {rank} waits in {call} for a send of rank {peer}, which has none for it.", **values)


def _describe_cycle(finding: HangFinding) -> Words:
    parts = [
        Sentence(
            "rank {rank} in {call} for rank {peer}",
            rank=variant.ranks[0],
            call=_describe_call(variant.value, variant.position),
            peer=finding.ranks[(position + 1) % len(finding.ranks)],
        )
        for position, variant in enumerate(finding.variants[:_MAX_RANKS])
    ]
    return Sentence("Ranks wait for one another: {waits}.", waits=join_words(parts))


def _describe_unfinished(finding: HangFinding) -> Words:
    return Sentence(
        "All ranks of group {group} called {operation} number {number}, and it has not ended: look at the network and "
        "the GPUs, not at the program.",
        group=finding.group,
        operation=finding.operation,
        number=finding.number,
    )


def _describe_moving(finding: HangFinding) -> Words:
    message = "The counts of {operation} in group {group} went on between the texts: the job runs, or did then."
    return Sentence(message, operation=finding.operation, group=finding.group)
