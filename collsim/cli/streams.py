"""Standard output and standard error as they are found: in any encoding, closed, cut off by `head`, on a full disk."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from typing import Any

from collsim.package_data import read_toml

#: What our texts become where an encoding lacks a character; any other becomes `?`.
PLAIN: dict[str, str] = read_toml(__file__, "streams.toml")["characters"]


def _encode_plainly(error: UnicodeError) -> tuple[str, int]:
    """A handler of `codecs`: the characters that cannot be encoded, in ASCII."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAIN.get(character, "?") for character in error.object[error.start : error.end]), error.end


class _Descriptor(io.FileIO):
    """The file below a standard stream. After the first write that fails, what is written goes nowhere: the command
    does its work to the end, and its exit code says how that went.

    Attributes:
        error: why that write failed, or None.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)
        self.error: OSError | None = None

    def write(self, data: Any, /) -> int:
        """Write bytes; returns how many were taken."""
        if self.error is None:
            try:
                return super().write(data)
            except OSError as error:
                self.error = error
        return memoryview(data).nbytes


class StandardStreams:
    """`sys.stdout` and `sys.stderr`, made safe to print to: what cannot be encoded is replaced, and what a closed or
    broken stream does not take goes nowhere."""

    def __init__(self) -> None:
        codecs.register_error("collsim", _encode_plainly)
        self._output = _make_safe("stdout", 1)
        _make_safe("stderr", 2)

    def close(self, code: int) -> int:
        """Write out what was printed.

        Args:
            code: the exit code of the command.

        Returns: `code`; 2 where its output could not be written, unless only its reader had gone (`| head`).
        """
        sys.stdout.flush()
        error = self._output.error if self._output else None
        if error is not None and error.errno not in (errno.EPIPE, errno.EINVAL):  # EINVAL is that of Windows
            print_note(f"collsim: standard output: {error.strerror}")
            return 2
        return code


def _make_safe(name: str, number: int) -> _Descriptor | None:
    """Replace a standard stream; None where it is closed, or no file (the console of Windows)."""
    stream = getattr(sys, name)
    if stream is None:  # closed by who started the command (`>&-`)
        setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, it stays open
        return None
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(raw, io.FileIO):
        stream.reconfigure(errors="collsim")
        return None
    descriptor = _Descriptor(number)
    safe = io.TextIOWrapper(
        descriptor if raw is stream.buffer else io.BufferedWriter(descriptor),  # type: ignore[arg-type]
        encoding=stream.encoding,
        errors="collsim",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
    setattr(sys, name, safe)
    return descriptor


def print_note(text: str) -> None:
    """Print a line on standard error."""
    print(text, file=sys.stderr, flush=True)
