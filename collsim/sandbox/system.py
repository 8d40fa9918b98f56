"""The few calls to the Linux kernel that Python has no name for.

Numbers: Linux include/uapi/linux/prctl.h, capability.h and the tables of system calls of x86-64 and arm64.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys

NO_NEW_PRIVILEGES, DEATH_SIGNAL, DUMPABLE = 38, 1, 4  # prctl
_CAPABILITIES = {"x86_64": 126, "aarch64": 91}  # capset
_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def get_machine() -> str:
    """Return the kind of processor as Linux calls it; empty where this is not Linux, or Python not of its 64 bits."""
    if sys.platform == "linux" and struct.calcsize("P") == 8:
        return platform.machine()
    return ""


def call(number: int, *arguments: object) -> int:
    """Make a system call.

    Args:
        number: of the call on this kind of processor.
        arguments: numbers, bytes, or None for a null pointer.

    Returns:
        What the kernel returns, at least 0.

    Raises:
        OSError: The kernel refuses it.
    """
    if _libc is None:
        raise OSError("this is not Linux")
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def call_prctl(what: int, value: int = 0) -> None:
    """Call prctl for this process.

    Args:
        what: number of the operation.
        value: its argument.

    Raises:
        OSError: The kernel refuses it.
    """
    if _libc is None:
        raise OSError("this is not Linux")
    if _libc.prctl(what, ctypes.c_ulong(value), 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def give_up_capabilities() -> None:
    """From now on root may no more than anybody else: no raised limit, no other's file, no mount."""
    number = _CAPABILITIES.get(get_machine())
    if number is not None:
        call(number, struct.pack("=Ii", _VERSION_3, 0), struct.pack("=6I", 0, 0, 0, 0, 0, 0))
