"""How results leave a sandbox: frames of a fixed form, read by something that cannot fail whatever stands in them.

A frame is two 64-bit integers, its kind and how many bytes follow, and these bytes. What follows is a fixed number of
64-bit integers, then a table of 32-bit integers or a text. Nothing nests, nothing is evaluated, no length is believed
beyond the bytes that are there; integers are little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum

from .resource_limits import MAX_FRAMES

_HEAD = struct.Struct("<qq")


class Kind(IntEnum):
    """What a frame says."""

    TABLE = 1  # n, chunks, slots, number of patterns; 4 integers for each of these; columns of transfers
    FAILED = 2  # n, step, rank, chunk (-1: none), bytes of the English words; why, in English and in Chinese
    DONE = 3  # what was printed
    FOUND = 4  # position of a file, position of an exercise that it answers
    PROBLEM = 5  # position of a file; why it could not be read
    EXECUTIONS = 6  # of a rank program, as JSON


def build_frame(kind: Kind, numbers: Sequence[int] = (), rest: bytes = b"") -> bytes:
    """Build one frame.

    Args:
        kind: what it says.
        numbers: 64-bit integers.
        rest: a table or a text.

    Examples:
        >>> [(kind, bytes(body)) for kind, body in split_frames(build_frame(Kind.DONE, rest=b"printed"))]
        [(3, b'printed')]
    """
    body = struct.pack(f"<{len(numbers)}q", *numbers) + rest
    return _HEAD.pack(kind, len(body)) + body


def split_frames(data: bytes) -> list[tuple[int, memoryview]]:
    """Split bytes into frames.

    Args:
        data: whatever a process sent.

    Returns:
        Pairs of a kind and what follows, not copied; what is not whole at the end is left out.
    """
    frames: list[tuple[int, memoryview]] = []
    view, offset = memoryview(data), 0
    while offset + _HEAD.size <= len(data) and len(frames) < MAX_FRAMES:
        kind, size = _HEAD.unpack_from(data, offset)
        offset += _HEAD.size
        if size < 0 or size > len(data) - offset:
            break
        frames.append((kind, view[offset : offset + size]))
        offset += size
    return frames


def read_numbers(body: memoryview, count: int) -> tuple[tuple[int, ...], memoryview]:
    """Read integers at the beginning of what a frame holds.

    Args:
        body: what follows the frame's head.
        count: number of integers.

    Returns:
        The integers, zeros where there are fewer, and the rest.
    """
    available = min(count, len(body) // 8)
    return (*struct.unpack_from(f"<{available}q", body), *([0] * (count - available))), body[8 * available :]


def read_text(body: memoryview, most: int) -> str:
    """Read a text; arguments and result as of `replace_unprintable`, of at most `most` characters of UTF-8."""
    return replace_unprintable(bytes(body[: 4 * most]).decode("utf-8", "replace")[:most])


def replace_unprintable(text: str) -> str:
    """Replace characters that move a terminal's cursor or hide what is written.

    Args:
        text: a stranger's.

    Returns:
        The text, with U+FFFD in place of each such character.

    Examples:
        >>> replace_unprintable("a\x1b[2Jb")
        'a�[2Jb'
    """
    return "".join(c if c.isprintable() or c in "\n\N{NO-BREAK SPACE}" else "\N{REPLACEMENT CHARACTER}" for c in text)


# ---- how a job ended: what the process around it says, which no stranger's code reaches

_PART = 1 << 16  # what is read at once: an attempt that said too much is over by less than this
_ENDED = struct.Struct("<qqq")  # which job, how it ended, bytes of frames


class Ending(IntEnum):
    """How the process of a job ended; below zero: by that signal."""

    WELL = 0
    LATE = 1
    BADLY = 2  # by itself before it was done, or without memory
    TOO_MUCH = 3  # it answered more than it may


def build_ending(job: int, how: int, data: bytes) -> bytes:
    """Build what the process around a job says of it.

    Args:
        job: position of the job.
        how: how it ended (`Ending`, or minus the number of a signal).
        data: its frames.
    """
    return _ENDED.pack(job, how, len(data)) + data


def read_endings(read: Callable[[int], bytes], most: int) -> Iterator[tuple[int, int, bytes]]:
    """Read what `build_ending` has built, as far as it is whole.

    Args:
        read: returns so many bytes, or fewer at the end, as the method of a file does.
        most: bytes of the frames of one job; reading ends where there are more.

    Returns:
        Positions of jobs with how they ended and their frames.
    """
    while len(head := read(_ENDED.size)) == _ENDED.size:
        job, how, size = _ENDED.unpack(head)
        if not 0 <= size <= most + _PART:
            return
        data = read(size)
        if len(data) < size:
            return
        yield job, how, data
