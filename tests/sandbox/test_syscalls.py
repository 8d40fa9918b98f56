"""The filter of system calls: its numbers are the kernel's, its jumps land, and what is not on the list is refused."""

import os
import re
import struct
from pathlib import Path

import pytest

from collsim.sandbox import syscalls
from collsim.sandbox.isolation import Isolation, enter_sandbox
from collsim.sandbox.resource_limits import Limits
from collsim.sandbox.sandbox_launcher import run_forked

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
RENAMED = {"newfstatat": "fstatat", "fadvise64": "fadvise64", "lseek": "lseek", "fcntl": "fcntl", "mmap": "mmap"}


@pytest.mark.parametrize(("kind", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_the_numbers_are_those_of_the_kernels_headers(kind, column):
    if not HEADERS[kind].is_file():
        pytest.skip("the kernel's headers are not installed")
    told = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[kind].read_text()))
    ours = {name: pair[column] for name, pair in syscalls._FREE.items()}
    ours |= {name: pair[column] for name, (pair, _) in syscalls._WHERE.items()}
    for name, number in ours.items():
        if number is not None:
            assert int(told.get(name) or told[RENAMED[name]]) == number, name
    assert set(told) >= {name for name, number in ours.items() if number is None} if kind == "x86_64" else True


def ran(kind, number, *arguments, architecture=None):
    """What the filter answers to a call: a small machine for the five instructions that it uses."""
    halves = [half for value in (*arguments, *[0] * (6 - len(arguments))) for half in (value & 2**32 - 1, value >> 32)]
    data = struct.pack("=II8x12I", number, architecture or syscalls._MACHINES[kind][1], *halves)
    held, at, made = 0, 0, [struct.unpack("=HBBI", one) for one in syscalls.build_filter(kind)]
    while True:
        code, then, otherwise, value = made[at]
        at += 1
        if code == syscalls._RETURN:
            return value
        if code == syscalls._LOAD:
            (held,) = struct.unpack_from("=I", data, value)
        elif code == syscalls._AND:
            held &= value
        else:
            holds = held == value if code == syscalls._EQUAL else held >= value
            at += then if holds else otherwise


@pytest.mark.parametrize(("kind", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_every_number_is_allowed_or_refused_as_the_list_says(kind, column):
    free = {pair[column] for pair in syscalls._FREE.values()}
    asked = {pair[column] for pair, _ in syscalls._WHERE.values()}
    for number in range(600):
        if number not in asked:
            assert ran(kind, number) == (syscalls._ALLOW if number in free else syscalls._REFUSE), number
    for number in (2**30, 2**31, 2**32 - 1):
        assert ran(kind, number) == syscalls._KILL
    assert ran(kind, 0, architecture=0x40000003) == syscalls._KILL  # AUDIT_ARCH_I386


@pytest.mark.parametrize(("kind", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_arguments_are_looked_at_where_they_decide(kind, column):
    number = {name: pair[column] for name, (pair, _) in syscalls._WHERE.items()}
    for flags, allowed in ((os.O_RDONLY, True), (os.O_RDONLY | os.O_CLOEXEC, True), (os.O_WRONLY, False),
                           (os.O_RDWR, False), (3, False), (os.O_CREAT, False), (os.O_TRUNC, False),
                           (os.O_APPEND, False), (0o20000000, False)):  # fmt: skip
        assert (ran(kind, number["openat"], 0, 0, flags) == syscalls._ALLOW) == allowed, oct(flags)
    for command, allowed in ((1030, True), (0, True), (4, False), (8, False), (10, False), (1033, False)):
        assert (ran(kind, number["fcntl"], 0, command) == syscalls._ALLOW) == allowed, command
    for request, allowed in ((0x5401, True), (0x5412, False)):  # TIOCSTI types into the terminal of the teacher
        assert (ran(kind, number["ioctl"], 0, request) == syscalls._ALLOW) == allowed, request
    for pid, new, allowed in ((0, 0, True), (7, 0, False), (0, 1, False), (0, 1 << 32, False)):
        assert (ran(kind, number["prlimit64"], pid, 7, new) == syscalls._ALLOW) == allowed, (pid, new)


@pytest.mark.skipif(not syscalls.has_seccomp(), reason="this system has no seccomp, or a processor not known here")
def test_the_kernel_refuses_every_call_that_is_not_on_the_list():
    """Every number up to 600, with arguments of zero, in a child that is shut in: EPERM. The kernel itself lets two
    calls of x86-64 past every filter, uretprobe and uprobe; they answer only to its own probes."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    column = 0 if os.uname().machine == "x86_64" else 1
    listed = {pair[column] for pair in syscalls._FREE.values()} | {p[column] for p, _ in syscalls._WHERE.values()}

    def job(send):
        for number in set(range(600)) - listed - ({335, 336} if column == 0 else set()):
            if libc.syscall(number, 0, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != 1:
                send(b"%d " % number)
        send(b"done")

    assert run_forked(job, Limits(), Isolation.LANDLOCK).data == b"done"


def test_allow_unsandboxed_nothing_is_shut():
    enter_sandbox(Isolation.NONE)
    os.getpgid(0)
