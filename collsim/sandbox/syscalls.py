"""The system calls that are left to a stranger's code: to compute, to read what it may read, to answer and to end.

A seccomp filter (Linux 4.14 and later) refuses everything else with EPERM: another process or thread, a signal, a
socket, a limit, a mount, shared memory, keys, a file opened for writing, a new address for anything. It needs no
rights, and it holds root as well. Libseccomp would write such a filter too, but its binding on PyPI (pyseccomp) is of
2021 and needs the system's library, and the sandbox must not depend on a library; the program is forty lines.

Format of the program: Linux Documentation/userspace-api/seccomp_filter.rst and include/uapi/linux/{filter,seccomp,
audit}.h. Numbers of the calls: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Mapping

from ..package_data import read_csv
from . import system

# ---- the list

#: Calls that are allowed whatever their arguments, with their numbers on x86-64 and arm64 (None: it has no such call).
_FREE: Mapping[str, tuple[int, int | None]] = {
    row["name"]: (int(row["x86_64"]), int(row["arm64"]) if row["arm64"] else None)
    for row in read_csv(__file__, "syscalls.csv")
}
# Every flag with which an open could change something: O_ACCMODE, O_CREAT, O_TRUNC, O_APPEND, __O_TMPFILE.
_CHANGING = 0o3 | 0o100 | 0o1000 | 0o2000 | 0o20000000
#: Calls that are allowed where one argument (counted from 0) has one of some values after a mask.
_WHERE: Mapping[str, tuple[tuple[int | None, int | None], tuple[tuple[int, int, tuple[int, ...]], ...]]] = {
    "open": ((2, None), ((1, _CHANGING, (0,)),)),
    "openat": ((257, 56), ((2, _CHANGING, (0,)),)),
    "ioctl": ((16, 29), ((1, 0xFFFFFFFF, (0x5401, 0x5413, 0x5450, 0x5451)),)),  # is it a terminal, its size, cloexec
    "fcntl": ((72, 25), ((1, 0xFFFFFFFF, (0, 1, 2, 3, 1030)),)),  # F_DUPFD, GETFD, SETFD, GETFL, DUPFD_CLOEXEC
    "sched_getaffinity": ((204, 123), ((0, 0xFFFFFFFF, (0,)),)),  # of itself
    "prlimit64": ((302, 261), ((0, 0xFFFFFFFF, (0,)), (2, 0xFFFFFFFF, (0,)), (-2, 0xFFFFFFFF, (0,)))),  # look, not set
}

# ---- the program

# Operations of classic BPF (linux/bpf_common.h): load a word, jump if equal, jump if not below, and, return.
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050001, 0x80000000  # refuse: EPERM
_NUMBER, _KIND, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32 = 0x40000000  # a second table of calls for 32-bit pointers
#: Per kind of processor: the column of the tables above, AUDIT_ARCH and the number of seccomp.
_MACHINES = {"x86_64": (0, 0xC000003E, 317), "aarch64": (1, 0xC00000B7, 277)}
# SECCOMP_SET_MODE_FILTER, its flag TSYNC, and SECCOMP_GET_ACTION_AVAIL (linux/seccomp.h).
_SET_FILTER, _ALL_THREADS, _IS_THERE = 1, 1, 2


def has_seccomp() -> bool:
    """Whether this system has seccomp filters, on a kind of processor whose calls are known here."""
    if system.get_machine() not in _MACHINES:
        return False
    try:
        system.call(_MACHINES[system.get_machine()][2], _IS_THERE, 0, struct.pack("=I", _KILL))
    except OSError:
        return False
    return True


def build_filter(kind: str) -> list[bytes]:
    """Build the filter.

    Args:
        kind: of processor: `x86_64` or `aarch64`.

    Returns:
        Its instructions, of eight bytes each.
    """
    column, architecture, _ = _MACHINES[kind]
    instructions = [
        # Of another architecture (int 0x80 on x86-64) the same numbers are other calls: no list here is about those.
        _build_instruction(_LOAD, _KIND),
        _build_instruction(_EQUAL, architecture, 1, 0),
        _build_instruction(_RETURN, _KILL),
        _build_instruction(_LOAD, _NUMBER),
        _build_instruction(_AT_LEAST, _X32, 0, 1),
        _build_instruction(_RETURN, _KILL),
    ]
    for numbers in _FREE.values():
        if numbers[column] is not None:
            instructions += [_build_instruction(_EQUAL, numbers[column], 0, 1), _build_instruction(_RETURN, _ALLOW)]
    for pair, conditions in _WHERE.values():
        if pair[column] is not None:
            instructions += _build_conditional(pair[column], conditions)
    return [*instructions, _build_instruction(_RETURN, _REFUSE)]


def _build_conditional(number: int | None, conditions: Iterable[tuple[int, int, tuple[int, ...]]]) -> list[bytes]:
    """A block for one call: every condition must hold, or the call is refused."""
    block: list[bytes] = []
    for argument, mask, values in conditions:
        half = 4 if argument < 0 else 0  # -2: the upper half of argument 2
        block += [_build_instruction(_LOAD, _ARGUMENTS + 8 * abs(argument) + half), _build_instruction(_AND, mask)]
        # On a match jump over the comparisons that are left and the refusal, to the next condition.
        block += [_build_instruction(_EQUAL, value, len(values) - index, 0) for index, value in enumerate(values)]
        block.append(_build_instruction(_RETURN, _REFUSE))
    block.append(_build_instruction(_RETURN, _ALLOW))
    # Another call jumps over the whole block.
    return [_build_instruction(_EQUAL, number, 0, len(block)), *block]


def _build_instruction(code: int, value: int | None, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)


def restrict_calls() -> None:
    """Refuse all other system calls of this process. It cannot be undone.

    Raises:
        OSError: The system refuses the filter.
    """
    program = b"".join(build_filter(system.get_machine()))
    buffer = ctypes.create_string_buffer(program, len(program))
    system.call_prctl(system.NO_NEW_PRIVILEGES, 1)
    pointed = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    system.call(_MACHINES[system.get_machine()][2], _SET_FILTER, _ALL_THREADS, pointed)
