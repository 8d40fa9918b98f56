"""Which walls this system can put around a stranger's code, and how they are put up.

1. seccomp and Landlock, which the process puts on itself before it looks at the code (`shut_in`): no call to the system
   but those that compute, no file but what Python reads, nothing written. They are enough for all that tests/sandbox
   tries.
2. bubblewrap around that, where it is installed and works: namespaces of its own for users, processes, network, shared
   memory and names, and a file system in which nothing is but what Python reads. It holds what a fault in the first
   would let out.

Seccomp is asked for in both cases: it is what keeps a process from becoming many, and from the rarely used doors of the
kernel. Where it is not there, or neither bubblewrap nor Landlock is, there are no walls.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from ..errors import CollsimError, Sentence
from . import landlock, syscalls, system

ROOM = "/tmp"  # the only folder in a box that is not for reading Python; empty, and nothing can be written in it
_ROOM_BYTES = 1 << 20
_PACKAGE = Path(__file__).resolve().parents[1]
#: What a Python reads beside its own folders: shared libraries, and fonts and zones that matplotlib and pandas look at.
_SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/localtime"),
    *("/etc/alternatives", "/usr/share/zoneinfo", "/usr/share/fonts"),
)


class Walls(StrEnum):
    """What stands between a stranger's code and this system."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "Landlock"
    NONE = "none"


_NO_WALLS = Sentence(
    "this system has neither bubblewrap nor Landlock with seccomp, so code of others would run with all that you may "
    "do; on Linux install bubblewrap, or agree: collsim grade --without-walls, grade(..., without_walls=True)"
)


class NoWalls(CollsimError):
    """There are no walls here, and nobody agreed to run a stranger's code without them."""

    def __init__(self) -> None:
        super().__init__(_NO_WALLS)


@lru_cache(maxsize=1)
def walls() -> Walls:
    """The best that there is here; tried once in a process."""
    if not syscalls.there():
        return Walls.NONE
    if _bubblewrap_works():
        return Walls.BUBBLEWRAP
    return Walls.LANDLOCK if landlock.version() else Walls.NONE


def _bubblewrap_works() -> bool:
    """Installed is not enough: containers and some distributions refuse the namespaces."""
    try:
        ended = subprocess.run(
            [*around(Walls.BUBBLEWRAP), sys.executable, "-I", "-S", "-c", ""], capture_output=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return ended.returncode == 0


def around(wanted: Walls) -> list[str]:
    """The words that go before a command line, so that it runs inside bubblewrap; none for other walls."""
    if wanted is not Walls.BUBBLEWRAP:
        return []
    alone = ["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup"]
    words = [shutil.which("bwrap") or "bwrap", *alone, "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += [*_room(), "--dev-bind", "/dev/null", "/dev/null"]
    for place in places():
        if os.path.islink(place):
            words += ["--symlink", os.readlink(place), place]
        else:
            words += ["--ro-bind-try", place, place]
    return [*words, "--remount-ro", "/", "--chdir", "/", "--"]


@lru_cache(maxsize=1)
def _room() -> tuple[str, ...]:
    """An empty folder with a size, as far as this bubblewrap (0.5 and later) knows sizes."""
    told = subprocess.run([shutil.which("bwrap") or "bwrap", "--help"], capture_output=True, text=True, timeout=20)
    sized = ("--size", str(_ROOM_BYTES)) if "--size" in told.stdout + told.stderr else ()
    return (*sized, "--tmpfs", ROOM)


@lru_cache(maxsize=1)
def places() -> tuple[str, ...]:
    """Files and folders that a process may read which runs Python, numpy and collsim: shorter ones first."""
    paths = sysconfig.get_paths()
    own = [sys.prefix, sys.base_prefix, str(_PACKAGE), os.path.realpath(sys.executable)]
    own += [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    own += [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    wanted = {os.path.abspath(place) for place in (*own, *_SYSTEM) if os.path.exists(place)}
    kept: list[str] = []
    for place in sorted(wanted, key=lambda place: (place.count("/"), place)):
        if not any(place.startswith(above + "/") and not os.path.islink(above) for above in kept):
            kept.append(place)
    return tuple(kept)


# ---- inside


def shut_in(wanted: Walls, *, reading: Sequence[str] | None = None) -> None:
    """Put this process inside its walls; it cannot be undone, and nothing that it does afterwards gets out.

    Args:
        reading: files and folders that it may still read; all that the user may, where None.

    Raises OSError where the system refuses what `walls()` found.
    """
    if wanted is Walls.NONE:
        return
    with contextlib.suppress(OSError):  # refused where there are none to give up
        system.give_up_capabilities()
    system.control(system.DUMPABLE, 0)  # its memory is nobody's to read, and /proc/self is root's
    if reading is not None and landlock.version():
        landlock.only_read(reading)
    syscalls.only_compute()
