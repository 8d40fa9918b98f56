"""What a stranger's code tries to get out of its box: some hundred and fifty attempts against each isolation, as root and as an
ordinary user.

The list of allowed names is not asked here: the isolation alone must hold. All attempts of one kind of box run in one box,
each in a process of its own, as the exercises of one student do.
"""

import contextlib
import ctypes
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from attempts import HELD, OPEN, PRELUDE, ROOT
from sampling import sample

from collsim.sandbox import Isolation, landlock, syscalls

pytestmark = pytest.mark.skipif(
    not syscalls.has_seccomp(), reason="this system has no seccomp, or a processor not known here"
)

DRIVER = str(Path(__file__).parent / "driver.py")
PACKAGES = [str(Path(__file__).parents[2]), str(Path(np.__file__).parents[1])]
NOBODY = 65534
LIMITS = {"seconds": 1.0, "memory": 256 << 20, "output": 4_000_000}
ALL = {**OPEN, **ROOT, **HELD}


@dataclass
class Outside:
    """All that attempts go for, and what came of them."""

    folder: Path
    token: str
    victim: subprocess.Popen
    sockets: dict
    shm: int
    attempts: dict
    before: list
    after: list
    peak: int
    files: dict
    state: tuple


def python(user):
    """A Python that this user may run, with what it needs to find numpy and collsim."""
    for candidate in (sys.executable, "/usr/bin/python3"):
        asked = [candidate, DRIVER, *PACKAGES]
        with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):
            told = subprocess.run(asked, input=b'{"ask": true}', capture_output=True, timeout=60, **who(user), cwd="/")
            return candidate, json.loads(told.stdout)[1]
    pytest.skip("no Python with numpy that an ordinary user may read")
    return None


def who(user):
    return {"user": user, "group": user, "extra_groups": []} if user != os.getuid() else {}


def made_folder(token, user):
    folder = Path(tempfile.mkdtemp(prefix="collsim-escapes-", dir="/var/tmp"))
    folder.chmod(0o755)
    inside = folder / "in"
    inside.mkdir()
    for name, text in {"secret": token, "kept": "kept", "empty": "", "renamed": "", "removed": ""}.items():
        (inside / name).write_text(text)
    for path in (inside, *inside.iterdir()):
        os.chown(path, user, user)
        os.utime(path, (10**9, 10**9))
    return inside


def snapshot_folder(folder):
    """Everything about the files of a folder that an attempt could have changed."""
    return {
        path.name: (s.st_mode, s.st_uid, s.st_nlink, s.st_mtime, s.st_size, tuple(os.listxattr(path)))
        for path in (folder, *folder.iterdir())
        if path.name != "socket"
        for s in [path.lstat()]
    }


def listening(folder, name):
    made = {
        "tcp": socket.create_server(("127.0.0.1", 0)),
        "udp": socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "path": socket.socket(socket.AF_UNIX),
        "abstract": socket.socket(socket.AF_UNIX),
    }
    made["udp"].bind(("127.0.0.1", 0))
    made["path"].bind(str(folder / "socket"))
    (folder / "socket").chmod(0o777)
    made["abstract"].bind("\0" + name)
    for kind in ("path", "abstract"):
        made[kind].listen()
    for one in made.values():
        one.setblocking(False)
    return made


def state(victim):
    """What others can change of a process."""
    pid = victim.pid
    limits = Path(f"/proc/{pid}/limits").read_text()
    held = (os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid), os.sched_getscheduler(pid))
    return victim.poll(), limits, held


def run(isolation, user, chosen):
    """Set everything up, run the attempts in one box, look what came of them."""
    interpreter, works = python(user)
    if isolation is Isolation.BUBBLEWRAP and not works:
        pytest.skip(f"bubblewrap does not work here for user {user}")
    if isolation is Isolation.LANDLOCK and not landlock.get_version():
        pytest.skip("this system has no Landlock")
    token, name = "SECRET-" + secrets.token_hex(16), "collsim-" + secrets.token_hex(8)
    folder = made_folder(token, user)
    sockets = listening(folder, name)
    libc = ctypes.CDLL(None)
    shm = libc.shmget(0, 4096, 0o1666)
    victim = subprocess.Popen(["sleep", "600"], **who(user))
    put = {"FOLDER": folder, "VICTIM": victim.pid, "NAME": name, "SHM": shm}
    put |= {"TCP": sockets["tcp"].getsockname()[1], "UDP": sockets["udp"].getsockname()[1]}
    codes = {attempt: code_of(body, put) for attempt, body in chosen.items()}
    try:
        files, before = snapshot_folder(folder), state(victim)
        told = subprocess.run(
            [interpreter, DRIVER, *PACKAGES],
            input=json.dumps({"attempts": codes, "isolation": isolation, "mark": str(folder), "limits": LIMITS}).encode(),
            capture_output=True, timeout=300, cwd="/", env={"COLLSIM_TOKEN": token, "PATH": os.environ["PATH"]}, **who(user),
        )  # fmt: skip
        assert told.returncode == 0, told.stderr.decode()
        yield Outside(folder, token, victim, sockets, shm, **json.loads(told.stdout), files=files, state=before)
    finally:
        victim.kill()
        victim.wait()
        libc.shmctl(shm, 0, None)
        for one in sockets.values():
            one.close()
        shutil.rmtree(folder.parent)


def code_of(body, put):
    """An attempt as a file with a function of n."""
    body = textwrap.dedent(body).strip()
    for name, value in put.items():
        body = body.replace(f"${name}", str(value))
    return PRELUDE + textwrap.indent(body, "    ") + "\n    yield cs.copy(0, 1, chunk=0)\n"


NEEDS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="needs root")
USERS = [pytest.param(0, marks=[NEEDS_ROOT, pytest.mark.slow], id="root"),
         pytest.param(NOBODY if os.getuid() == 0 else os.getuid(), id="ordinary")]  # fmt: skip
KINDS = sample([Isolation.BUBBLEWRAP, Isolation.LANDLOCK], 1)


@pytest.fixture(scope="module", params=USERS)
def user(request):
    return request.param


@pytest.fixture(scope="module", params=KINDS)
def outside(request, user):
    yield from run(request.param, user, ALL)


@pytest.mark.parametrize("attempt", ALL)
def test_an_attempt_does_not_get_out(outside, attempt):
    came = outside.attempts[attempt]
    assert "ESCAPED" not in came["printed"]
    assert outside.token not in json.dumps(came)
    assert "SECRET-" not in came["printed"]
    assert "NameError" not in came["error"], "a mistake in the attempt itself"
    assert "SyntaxError" not in came["error"]
    assert came["bytes"] <= LIMITS["output"] + (1 << 16)


def test_every_attempt_was_answered(outside):
    assert set(outside.attempts) == set(ALL)


def test_files_are_as_they_were(outside):
    assert snapshot_folder(outside.folder) == outside.files
    assert (outside.folder / "secret").read_text() == outside.token


def test_the_victim_and_the_server_are_as_they_were(outside):
    assert state(outside.victim) == outside.state
    assert outside.state[0] is None
    assert outside.before == outside.after


def test_nobody_called(outside):
    for kind in ("tcp", "path", "abstract"):
        with pytest.raises(BlockingIOError):
            outside.sockets[kind].accept()
    with pytest.raises(BlockingIOError):
        outside.sockets["udp"].recv(10)


def test_no_process_is_left(outside):
    """The driver writes the name of its folder on the command line of all that it starts."""
    mark = str(outside.folder).encode()
    assert [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark in words(path)] == []


def words(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_the_memory_of_the_server_stays_bounded(outside):
    assert outside.peak < 1 << 30


def test_what_takes_too_long_or_too_much_says_so(outside):
    came = outside.attempts
    for endless in ("runs without end", "sleeps through its end", "ignores the end of its time"):
        assert "did not end within 1 seconds" in came[endless]["error"]
    for greedy in ("fills the memory without touching it", "fills shared memory"):
        assert "Cannot allocate memory" in came[greedy]["error"]
    assert re.search("MemoryError|more memory|did not end", came["fills the memory"]["error"])
    assert "more than is read" in came["floods the way out"]["error"]
    assert came["calls in the manner of x32"]["how"] in (-signal.SIGSYS, 0), "0: this processor has no such calls"


@pytest.mark.skipif(os.getuid() != 0, reason="an ordinary user is held by more than the sandbox")
@pytest.mark.slow
def test_allow_unsandboxed_the_attempts_succeed():
    """Otherwise they would show nothing."""
    open_here = {**OPEN, **ROOT}
    for outside in run(Isolation.NONE, 0, open_here):
        tame = [
            name for name, came in outside.attempts.items()
            if "ESCAPED" not in came["printed"] and "SECRET-" not in came["printed"]
            and outside.token.removeprefix("SECRET-") not in came["printed"]
        ]  # fmt: skip
        assert {name: outside.attempts[name]["error"] for name in tame} == {}
