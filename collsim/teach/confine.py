"""Where Linux can: a process that may write only below one folder, signal only its own, and leaves no children behind.

Landlock (Linux 5.13 and later; signals since 6.12, TCP since 6.7) needs no rights, so an ordinary teacher's account is
enough. Numbers and structs: Linux include/uapi/linux/landlock.h and prctl.h. Elsewhere these functions do nothing and
say so.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
import sys
import time
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls, the same on x86-64 and arm64
_VERSION, _BENEATH = 1, 1
_NO_NEW_PRIVILEGES, _SUBREAPER, _DEATH_SIGNAL = 38, 36, 1  # prctl
_READ = 0b1101  # execute, read a file, list a folder
_FILES = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # how many rights for files each version knows
_TCP, _SCOPED = 0b11, 0b11  # bind and connect; abstract sockets and signals
_ROUNDS = 200
#: What Python needs to go on; hand-ins and tables of grades lie elsewhere.
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/sys", "/dev")

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def version() -> int:
    """The version of Landlock that this system has; 0 where it has none."""
    return 0 if _libc is None else max(0, int(_libc.syscall(_CREATE, None, 0, _VERSION)))


def only_below(folder: str) -> bool:
    """From now on this process and its children write only below `folder`, read only that and the system, and reach
    nobody else.

    It cannot be undone. False where the system has no such thing; raises OSError where it refuses.
    """
    known = version()
    if _libc is None or not known:
        return False
    rights = (1 << _FILES.get(known, 16)) - 1
    rules = struct.pack("QQQ", rights, _TCP if known >= 4 else 0, _SCOPED if known >= 6 else 0)
    ruleset = _called(_CREATE, rules, 8 * (1 + (known >= 4) + (known >= 6)), 0)
    try:
        _allow(ruleset, folder, rights)
        _allow(ruleset, os.devnull, rights & 0b110)
        places = (*_SYSTEM, sys.prefix, sys.base_prefix, str(Path(__file__).parents[1]))
        packages = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
        for place in dict.fromkeys((*places, *packages)):
            if os.path.isdir(place):
                _allow(ruleset, place, rights & _READ)
        if _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "no_new_privs was refused")
        _called(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
    return True


def _allow(ruleset: int, place: str, rights: int) -> None:
    handle = os.open(place, os.O_PATH | os.O_CLOEXEC)
    try:
        _called(_ADD, ruleset, _BENEATH, struct.pack("=Qi", rights, handle), 0)
    finally:
        os.close(handle)


def _called(number: int, *arguments: object) -> int:
    assert _libc is not None
    found = int(_libc.syscall(number, *arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def end_with_parent(parent: int) -> None:
    """From now on this process is killed when the thread that forked it ends, however that ends; at once where process
    `parent` is gone."""
    if _libc is not None:
        _libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the call, which tells nobody of that
            os.kill(os.getpid(), signal.SIGKILL)


def adopt_orphans() -> None:
    """Let what a child leaves behind become a child of this process, so that `end_children` finds it."""
    if _libc is not None:
        _libc.prctl(_SUBREAPER, 1, 0, 0, 0)


def end_children() -> None:
    """End all children of this process, and theirs, however fast they make new ones. Only for a process whose children
    are strangers."""
    if _libc is None:
        return
    for _ in range(_ROUNDS):
        children = _children(os.getpid())
        if not children:
            return
        for step in (signal.SIGSTOP, signal.SIGKILL):
            for child in children:
                with contextlib.suppress(OSError):
                    os.kill(child, step)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.005)


def _children(parent: int) -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split() if entry.isdigit() else []
            if fields and int(fields[1]) == parent:
                found.append(int(entry))
    return found
