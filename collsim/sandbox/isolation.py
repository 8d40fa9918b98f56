"""How this system can isolate a stranger's code, and how a process is isolated.

1. seccomp and Landlock, which the process puts on itself before it looks at the code (`enter_sandbox`): no call to the
   system but those that compute, no file but what Python reads, nothing written. They are enough for all that
   tests/sandbox tries.
2. bubblewrap around that, where it is installed and works: namespaces of its own for users, processes, network, shared
   memory and names, and a file system in which nothing is but what Python reads. It holds what a fault in the first
   would let out.

Seccomp is asked for in both cases: it is what keeps a process from becoming many, and from the rarely used calls of the
kernel. Where it is missing, or both bubblewrap and Landlock are, a process cannot be isolated.
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

#: The only folder in a sandbox that is not for reading Python; empty, and nothing can be written in it.
TEMPORARY_FOLDER = "/tmp"
#: Of the empty folder in memory that stands for the temporary one.
_TEMPORARY_BYTES = 1 << 20
_PACKAGE = Path(__file__).resolve().parents[1]
#: What a Python reads beside its own folders: shared libraries, and fonts and zones that matplotlib and pandas look at.
_SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/localtime"),
    *("/etc/alternatives", "/usr/share/zoneinfo", "/usr/share/fonts"),
)


class Isolation(StrEnum):
    """What keeps a stranger's code from this system."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "Landlock"
    NONE = "none"


_NO_ISOLATION = Sentence(
    "this system has neither bubblewrap nor Landlock with seccomp, so code of others would run with all that you may "
    "do; on Linux install bubblewrap, or agree: collsim grade --no-sandbox, grade(..., allow_unsandboxed=True)"
)


class NoIsolation(CollsimError):
    """This system cannot isolate a process, and nobody agreed to run a stranger's code without that."""

    def __init__(self) -> None:
        super().__init__(_NO_ISOLATION)


@lru_cache(maxsize=1)
def detect_isolation() -> Isolation:
    """Return the best isolation that this system offers; it is tried once in a process.

    Examples:
        >>> detect_isolation() in Isolation
        True
    """
    if not syscalls.has_seccomp():
        return Isolation.NONE
    if _can_run_bubblewrap():
        return Isolation.BUBBLEWRAP
    if landlock.get_version():
        return Isolation.LANDLOCK
    return Isolation.NONE


def _can_run_bubblewrap() -> bool:
    """Installed is not enough: containers and some distributions refuse the namespaces."""
    try:
        ended = subprocess.run(
            [*build_bubblewrap_command(Isolation.BUBBLEWRAP), sys.executable, "-I", "-S", "-c", ""],
            capture_output=True,
            timeout=20,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return ended.returncode == 0


def build_bubblewrap_command(isolation: Isolation) -> list[str]:
    """Return the words that go before a command line, so that it runs inside bubblewrap.

    Args:
        isolation: how the command is isolated; there are no words where that is not by bubblewrap.

    Returns:
        The command `bwrap` with its options, or an empty list.
    """
    if isolation is not Isolation.BUBBLEWRAP:
        return []
    alone = ["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup"]
    words = [shutil.which("bwrap") or "bwrap", *alone, "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += [*_build_tmpfs_options(), "--dev-bind", "/dev/null", "/dev/null"]
    for path in list_readable_paths():
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        else:
            words += ["--ro-bind-try", path, path]
    return [*words, "--remount-ro", "/", "--chdir", "/", "--"]


@lru_cache(maxsize=1)
def _build_tmpfs_options() -> tuple[str, ...]:
    """An empty folder with a size, as far as this bubblewrap (0.5 and later) knows sizes."""
    help_text = subprocess.run([shutil.which("bwrap") or "bwrap", "--help"], capture_output=True, text=True, timeout=20)
    sized: tuple[str, ...] = ()
    if "--size" in help_text.stdout + help_text.stderr:
        sized = ("--size", str(_TEMPORARY_BYTES))
    return (*sized, "--tmpfs", TEMPORARY_FOLDER)


@lru_cache(maxsize=1)
def list_readable_paths() -> tuple[str, ...]:
    """Return files and folders that a process may read which runs Python, numpy and collsim, shorter paths first."""
    paths = sysconfig.get_paths()
    python_paths = [sys.prefix, sys.base_prefix, str(_PACKAGE), os.path.realpath(sys.executable)]
    python_paths += [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    python_paths += [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    mounts = {os.path.abspath(path) for path in (*python_paths, *_SYSTEM) if os.path.exists(path)}
    readable: list[str] = []
    for path in sorted(mounts, key=lambda path: (path.count("/"), path)):
        if not any(path.startswith(above + "/") and not os.path.islink(above) for above in readable):
            readable.append(path)
    return tuple(readable)


# ---- inside


def enter_sandbox(isolation: Isolation, *, readable: Sequence[str] | None = None) -> None:
    """Isolate this process. It cannot be undone, and nothing that it does afterwards gets out.

    Args:
        isolation: how; `Isolation.NONE` changes nothing.
        readable: files and folders that it may still read; all that the user may, where None.

    Raises:
        OSError: The system refuses what `detect_isolation` has detected.
    """
    if isolation is Isolation.NONE:
        return
    with contextlib.suppress(OSError):  # refused where there are none to give up
        system.give_up_capabilities()
    system.call_prctl(system.DUMPABLE, 0)  # its memory is nobody's to read, and /proc/self is root's
    if readable is not None and landlock.get_version():
        landlock.restrict_files(readable)
    syscalls.restrict_calls()
