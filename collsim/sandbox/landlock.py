"""Where Linux has Landlock (5.13 and later): a process that may read only below some folders and write nowhere.

It needs no rights, so an ordinary teacher's account is enough. Numbers and structs: Linux
include/uapi/linux/landlock.h.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable

from . import system

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls, the same on x86-64 and arm64
# LANDLOCK_CREATE_RULESET_VERSION and LANDLOCK_RULE_PATH_BENEATH (linux/landlock.h).
_VERSION, _BENEATH = 1, 1
# LANDLOCK_ACCESS_FS_READ_FILE and READ_DIR.
_READ_FILE, _READ_FOLDER = 0b100, 0b1000
_FILES = {1: 13, 2: 14, 3: 15, 4: 15}  # how many rights for files each version knows; 16 since the fifth
_TCP, _SCOPED = 0b11, 0b11  # bind and connect; abstract sockets and signals


def get_version() -> int:
    """Return the version of Landlock that this system has; 0 where it has none."""
    try:
        if system.get_machine():
            return system.call(_CREATE, None, 0, _VERSION)
        return 0
    except OSError:
        return 0


def restrict_files(paths: Iterable[str]) -> None:
    """Let this process read only below some files and folders, write nowhere and reach no other process. It cannot be
    undone.

    Args:
        paths: files and folders.

    Raises:
        OSError: The system refuses it.
    """
    known = get_version()
    rights = (1 << _FILES.get(known, 16)) - 1
    # The struct grew with the versions, and a kernel refuses fields that it does not know: it gets as many bytes as its
    # version has.
    rules = struct.pack("QQQ", rights, _TCP if known >= 4 else 0, _SCOPED if known >= 6 else 0)
    ruleset = system.call(_CREATE, rules, 8 * (1 + (known >= 4) + (known >= 6)), 0)
    try:
        for path in paths:
            _allow(ruleset, path)
        # Landlock demands it of a process without rights: a setuid program would else run with rules that somebody else
        # made.
        system.call_prctl(system.NO_NEW_PRIVILEGES, 1)
        system.call(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        rights = _READ_FILE | (_READ_FOLDER if folder else 0)
        system.call(_ADD, ruleset, _BENEATH, struct.pack("=Qi", rights, handle), 0)
    finally:
        os.close(handle)
