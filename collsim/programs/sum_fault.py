"""Where a sum goes wrong: the message after which a rank lacks a contribution forever, or has one twice.

What each message holds is known (`rank_engine.provenance`), as a sum of numbers that tell the ranks apart. From the
rank whose result is wrong the search goes back from message to message, to the first one that is to blame.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import Sentence
from ..rank_engine.engine import Message
from ..rank_engine.execute import Execution, Piece
from ..rank_engine.provenance import make_contents

#: With more ranks there are too many sums to tell them apart by trying (3^9 = 19,683 sums of contributions).
_MAX_RANKS = 9
_MAX_TIMES = 2  # how often a contribution is in a sum, at most


@dataclass(frozen=True)
class SumFault:
    """Where a sum goes wrong.

    Attributes:
        message: the number of the message, in the order of the sends.
        sentence: which contribution is missing or doubled, and why.
    """

    message: int
    sentence: Sentence


def find_sum_fault(execution: Execution, ranks: int, collective: str | None) -> SumFault | None:
    """Find where a sum goes wrong.

    Args:
        execution: of a program, with what its messages hold.
        ranks: how many ranks there are.
        collective: what it should do.

    Returns:
        The first fault of the first rank that has a wrong sum. None where it has none, where it is not known what the
        messages hold, and for other collectives than allreduce and reduce.
    """
    provenance = execution.provenance
    if provenance is None or provenance.reason is not None or ranks > _MAX_RANKS:
        return None
    holders = {"allreduce": range(ranks), "reduce": range(1)}.get(collective or "", range(0))
    contents = make_contents(ranks)
    for rank in holders:
        for piece in provenance.results[rank]:
            if piece.content != sum(contents):
                history = _SumHistory(execution.messages, provenance.messages, contents, piece.first)
                return history.find_fault(rank, piece.content)
    return None


class _SumHistory:
    """The messages that hold one element, and which contributions are in each.

    Args:
        messages: all messages, in the order of their sends.
        pieces: what each holds.
        contents: the content of each rank's own contribution.
        element: the number of the element.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        pieces: Sequence[Sequence[Piece]],
        contents: Sequence[int],
        element: int,
    ) -> None:
        self._messages = messages
        every_count = itertools.product(range(_MAX_TIMES + 1), repeat=len(contents))
        self._counts = {
            sum(times * content for times, content in zip(counts, contents, strict=True)): counts
            for counts in every_count
        }
        self._held: Mapping[int, tuple[int, ...]] = dict(self._list_held(pieces, element))

    def _list_held(self, pieces: Sequence[Sequence[Piece]], element: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The contributions in each message that holds the element."""
        for number, pieces_of_message in enumerate(pieces):
            for piece in pieces_of_message:
                if piece.first <= element < piece.first + piece.count and piece.content in self._counts:
                    yield number, self._counts[piece.content]

    def find_fault(self, rank: int, content: int) -> SumFault | None:
        """The fault of a rank that ends with a wrong sum; None where no message explains it."""
        counts = self._counts.get(content)
        if counts is None:
            return None
        for contributor, times in enumerate(counts):
            if times == 0:
                return self._find_loss(rank, contributor)
        doubled = next(contributor for contributor, times in enumerate(counts) if times > 1)
        return self._find_double(rank, doubled)

    def _list_received(self, rank: int, before: float = float("inf")) -> list[int]:
        """Messages with the element that a rank had received before a moment, in their order."""
        received = [
            (message.matched, number)
            for number, message in enumerate(self._messages)
            if number in self._held and message.dst == rank and message.matched is not None and message.matched < before
        ]
        return [number for _, number in sorted(received)]

    def _find_loss(self, rank: int, contributor: int) -> SumFault | None:
        """Where a contribution is lost on its way to a rank."""
        received, first, before = self._list_received(rank), rank, float("inf")
        for number in received:
            if self._held[number][contributor]:
                line = self._messages[number].recv_line or 0
                lost = Sentence(
                    "The contribution of rank {contributor} is missing: rank {rank} receives it in line {line} and "
                    "does not add it.",
                    contributor=contributor,
                    rank=rank,
                    line=line,
                )
                return SumFault(number, lost)
        while received:
            number = received[-1]
            message = self._messages[number]
            before = message.posted
            for later in self._list_received(message.src):
                if self._held[later][contributor]:
                    early = Sentence(
                        "The contribution of rank {contributor} is missing: line {line} of rank {src} sends the "
                        "buffer before line {received} receives it.",
                        contributor=contributor,
                        line=message.send_line,
                        src=message.src,
                        received=self._messages[later].recv_line or 0,
                    )
                    return SumFault(number, early)
            if message.src == contributor:
                break
            rank, received = message.src, self._list_received(message.src, before)
        received = self._list_received(first)
        if not received:
            return None
        values = {"contributor": contributor, "line": self._messages[received[-1]].recv_line or 0}
        missing = Sentence(
            "The contribution of rank {contributor} is missing: no message brings it to rank {rank}, the last one "
            "that it receives neither (line {line}).",
            **values,
            rank=first,
        )
        if first == contributor:
            missing = Sentence(
                "The contribution of rank {contributor} is missing: what replaces it in line {line} does not hold it.",
                **values,
            )
        return SumFault(received[-1], missing)

    def _find_double(self, rank: int, contributor: int) -> SumFault | None:
        """Where a contribution is added for the second time."""
        received = [number for number in self._list_received(rank) if self._held[number][contributor]]
        before = float("inf")
        while True:
            earlier = [number for number in received if self._held[number][contributor] > 1]
            if not earlier:
                break
            message = self._messages[earlier[0]]
            rank, before = message.src, message.posted
            received = [number for number in self._list_received(rank, before) if self._held[number][contributor]]
        if not received:
            return None
        number = received[min(int(rank != contributor), len(received) - 1)]  # beside its own the first is one too many
        return SumFault(
            number,
            Sentence(
                "The contribution of rank {contributor} is added twice: rank {rank} has it already when it receives it "
                "from rank {src} (line {line}).",
                contributor=contributor,
                rank=rank,
                src=self._messages[number].src,
                line=self._messages[number].recv_line or 0,
            ),
        )
