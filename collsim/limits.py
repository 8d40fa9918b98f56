"""What may be built: memory is worked out from sizes before anything is made, and too much is refused with a sentence.

Topologies and schedules ask `require` with their counts. The most is `MEMORY`, and less for what strangers write: a
file has `FILE_MEMORY`, the app's pages less still. Who wants more says so:

    with cs.limits.within("64GiB"):
        cs.topology.hypercube(2**25)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from .errors import CollsimError, Sentence, Words, join_words
from .units import format_bytes, parse_bytes

#: Bytes. A million GPUs on a fat tree are 1.2 GiB by this count, their halving and doubling 2.5 GiB
#: (docs/performance.md).
MEMORY = 4 * 2**30
FILE_MEMORY = 2**29
MOST_SCENARIOS = 1_000_000
#: Tasks of a training step, and passes of a pipeline: about 10 µs and a KiB each (measured).
MOST_TASKS = 1_000_000

# Bytes each at the peak of building, measured and rounded up: 35 to 76 a link, 21 in the columns of a row and as many
# again while it is checked (tests/test_limits.py holds them against tracemalloc).
_LINK, _DEVICE, _ROW, _NUMBER = 80, 24, 64, 8

_most: ContextVar[int | None] = ContextVar("most", default=None)


@dataclass(frozen=True)
class Extent:
    """How large a thing will be.

    Attributes:
        devices, links: of a topology, links counted one way.
        rows: of a schedule as it is yielded.
        numbers: whatever else is held in arrays: ring orders, positions of ranks.
    """

    devices: int = 0
    links: int = 0
    rows: int = 0
    numbers: int = 0

    @property
    def memory(self) -> int:
        """Bytes at the peak of building it."""
        return _DEVICE * self.devices + _LINK * self.links + _ROW * self.rows + _NUMBER * self.numbers


def most_memory(usual: int | None = None) -> int:
    """Bytes that a thing built here may take: as `within` says, else `usual`, else `MEMORY`."""
    given = _most.get()
    return given if given is not None else MEMORY if usual is None else usual


def most_rows() -> int:
    """Rows that a schedule built here may have."""
    return most_memory() // _ROW


@contextmanager
def within(memory: object) -> Iterator[None]:
    """What is built inside may take so many bytes (`"64GiB"`), more or fewer than usual; in this thread only."""
    token = _most.set(parse_bytes(memory, "memory"))
    try:
        yield
    finally:
        _most.reset(token)


def require(what: Words, extent: Extent, advice: Words, error: type[CollsimError] = CollsimError) -> None:
    """Raises `error` where a thing of this extent would take more memory than may be taken here."""
    most = most_memory()
    if extent.memory > most:
        counted = [
            (extent.devices, Sentence("{count} devices", count=_counted(extent.devices))),
            (extent.links, Sentence("{count} links", count=_counted(extent.links))),
            (extent.rows, Sentence("{count} rows", count=_counted(extent.rows))),
            (extent.numbers, Sentence("{count} numbers", count=_counted(extent.numbers))),
        ]
        raise error(
            "{what} would take {memory} of memory ({counted}); {most} is the most here, so {advice}",
            what=Sentence.from_words(what),
            memory=_said(extent.memory),
            counted=join_words(said for count, said in counted if count),
            most=_said(most),
            advice=Sentence.from_words(advice),
        )


def require_few(what: Words, count: int, most: int, advice: Words) -> None:
    """Raises CollsimError for more things than may be made one after another."""
    if count > most:
        why = "{count} {what}; {most:,} is the most, so {advice}"
        raise CollsimError(
            why, count=_counted(count), what=Sentence.from_words(what), most=most, advice=Sentence.from_words(advice)
        )


def _counted(count: int) -> Words:
    return f"{count:,}" if count < 10**15 else Sentence("more than 10^15")


def _said(memory: int) -> str:
    return format_bytes(float(memory) if memory < 2**60 else 2.0**60)
