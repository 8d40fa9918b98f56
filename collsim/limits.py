"""How much may be built: memory is computed from sizes before anything is built, and too much is refused.

Topologies and schedules call `require_extent` with their counts. The limit is `MEMORY`, and less for what strangers
write: `FILE_MEMORY` for a file, and less still for the pages of the app. To allow more:

    with cs.limits.within("64GiB"):
        cs.topology.hypercube(2**25)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from .errors import CollsimError, Sentence, Words, join_words
from .errors.arguments import check_arguments
from .units import ByteSize, format_bytes, parse_bytes

__all__ = [
    "FILE_MEMORY",
    "MAX_SCENARIOS",
    "MAX_TASKS",
    "MEMORY",
    "Extent",
    "find_memory_limit",
    "find_row_limit",
    "require_extent",
    "require_few",
    "within",
]


def __dir__() -> list[str]:
    return sorted(__all__)


#: Bytes. A million GPUs on a fat tree are 1.2 GiB by this count, their halving and doubling 2.5 GiB
#: (docs/performance.md).
MEMORY = 4 * 2**30
#: Bytes for what a file describes: a stranger may have written it.
FILE_MEMORY = 2**29
#: Runs of one sweep.
MAX_SCENARIOS = 1_000_000
#: Tasks of a training step, and passes of a pipeline: about 10 µs and a KiB each (measured).
MAX_TASKS = 1_000_000

# Bytes each at the peak of building, measured and rounded up: 35 to 76 a link, 21 in the columns of a row and as many
# again while it is checked (tests/test_limits.py holds them against tracemalloc).
_LINK, _DEVICE, _ROW, _NUMBER = 80, 24, 64, 8

_memory_limit: ContextVar[int | None] = ContextVar("memory_limit", default=None)


@dataclass(frozen=True)
class Extent:
    """How large a thing will be.

    Attributes:
        devices: of a topology.
        links: of a topology, each direction for itself.
        rows: of a schedule, as its algorithm yields them.
        numbers: everything else in arrays, of 8 bytes each: ring orders, positions of ranks.

    Examples:
        >>> Extent(rows=1000).memory
        64000
    """

    devices: int = 0
    links: int = 0
    rows: int = 0
    numbers: int = 0

    @property
    def memory(self) -> int:
        """Bytes at the peak of building it."""
        return _DEVICE * self.devices + _LINK * self.links + _ROW * self.rows + _NUMBER * self.numbers


@check_arguments
def find_memory_limit(default: int | None = None) -> int:
    """Find how much memory something that is built here may take.

    Args:
        default: bytes where `within` says nothing; `MEMORY` unless given.

    Returns:
        Bytes.

    Examples:
        >>> with within("1GiB"):
        ...     find_memory_limit()
        1073741824
    """
    limit = _memory_limit.get()
    if limit is not None:
        return limit
    if default is None:
        return MEMORY
    return default


@check_arguments
def find_row_limit() -> int:
    """Find how many rows a schedule that is built here may have.

    Returns:
        Rows.

    Examples:
        >>> with within("1MiB"):
        ...     find_row_limit()
        16384
    """
    return find_memory_limit() // _ROW


@check_arguments
@contextmanager
def within(memory: ByteSize) -> Iterator[None]:
    """Let everything that is built in the body take this much memory, in this thread only.

    Args:
        memory: bytes or a text with a unit; more or less than usual.

    Yields:
        Nothing.

    Raises:
        CollsimError: `memory` is no size.

    Examples:
        >>> import collsim as cs
        >>> with cs.limits.within("64GiB"):
        ...     network = cs.topology.hypercube(8)
    """
    token = _memory_limit.set(parse_bytes(memory, "memory"))
    try:
        yield
    finally:
        _memory_limit.reset(token)


@check_arguments
def require_extent(what: Words, extent: Extent, advice: Words, error: type[CollsimError] = CollsimError) -> None:
    """Check that something is not too large, before it is built.

    Args:
        what: its name, for the message.
        extent: how large it will be.
        advice: what to do about it.
        error: the class to raise.

    Raises:
        CollsimError: it would take more memory than it may take here. It is of the class `error`.

    Examples:
        >>> require_extent("switch(8)", Extent(devices=9, links=16), "use fewer ranks")
    """
    limit = find_memory_limit()
    if extent.memory > limit:
        counts = [
            (extent.devices, Sentence("{count} devices", count=_format_count(extent.devices))),
            (extent.links, Sentence("{count} links", count=_format_count(extent.links))),
            (extent.rows, Sentence("{count} rows", count=_format_count(extent.rows))),
            (extent.numbers, Sentence("{count} numbers", count=_format_count(extent.numbers))),
        ]
        raise error(
            "{what} would take {memory} of memory ({counted}); {most} is the most here, so {advice}",
            what=Sentence.from_words(what),
            memory=_format_memory(extent.memory),
            counted=join_words(words for count, words in counts if count),
            most=_format_memory(limit),
            advice=Sentence.from_words(advice),
        )


@check_arguments
def require_few(what: Words, count: int, most: int, advice: Words) -> None:
    """Check that there are not too many things that are done one after another.

    Args:
        what: their name, for the message.
        count: how many there are.
        most: how many there may be.
        advice: what to do about it.

    Raises:
        CollsimError: there are more.

    Examples:
        >>> require_few("scenarios", 10, MAX_SCENARIOS, "use fewer sizes")
    """
    if count > most:
        message = "{count} {what}; {most:,} is the most, so {advice}"
        raise CollsimError(
            message,
            count=_format_count(count),
            what=Sentence.from_words(what),
            most=most,
            advice=Sentence.from_words(advice),
        )


def _format_count(count: int) -> Words:
    if count < 10**15:
        return f"{count:,}"
    return Sentence("more than 10^15")


def _format_memory(memory: int) -> str:
    return format_bytes(float(memory) if memory < 2**60 else 2.0**60)
