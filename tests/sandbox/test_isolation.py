"""Which isolation is found, what they leave to be read, and that nothing of a stranger's runs without them unasked."""

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import collsim as cs
from collsim.sandbox import (
    Isolation,
    Limits,
    NoIsolation,
    custom_function,
    isolation,
    landlock,
    sandbox_launcher,
    syscalls,
)
from collsim.sandbox.attempt import read_attempt
from collsim.sandbox.handins import File
from collsim.sandbox.jobs import FINDING, SandboxTask
from collsim.sandbox.learner_tables import FunctionRequest
from collsim.sandbox.sandbox_launcher import run_sandboxed
from collsim.teach import exercise, grade
from collsim.teach.exercises import grading

CODE = b"import collsim as cs\ndef f(n):\n    yield cs.copy(0, 1, chunk=0)\n"
TASK = SandboxTask("mine", FunctionRequest("broadcast", (2,)), "f")
HERE = [kind for kind in Isolation if kind is Isolation.NONE or syscalls.has_seccomp()]


@pytest.fixture
def anew():
    """What was found before is forgotten, before and after."""
    kept = (isolation.detect_isolation, isolation._build_tmpfs_options, isolation.list_readable_paths)
    for one in kept:
        one.cache_clear()
    yield
    for one in kept:
        one.cache_clear()


def test_without_bubblewrap_landlock_holds_and_without_seccomp_nothing(anew, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "which", lambda name: None)
        patched.setenv("PATH", "")
        assert isolation.detect_isolation() is (
            Isolation.LANDLOCK if syscalls.has_seccomp() and landlock.get_version() else Isolation.NONE
        )
    isolation.detect_isolation.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(syscalls, "has_seccomp", lambda: False)
        assert isolation.detect_isolation() is Isolation.NONE
    isolation.detect_isolation.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(landlock, "get_version", lambda: 0)
        patched.setattr(isolation, "_can_run_bubblewrap", lambda: False)
        assert isolation.detect_isolation() is Isolation.NONE


def test_a_bubblewrap_that_fails_is_not_taken(anew, monkeypatch, tmp_path):
    """As in a container that refuses namespaces."""
    false = tmp_path / "bwrap"
    false.write_text("#!/bin/sh\nexit 1\n")
    false.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(false))
    assert not isolation._can_run_bubblewrap()


@pytest.mark.skipif(os.environ.get("CI") != "true" or os.name != "posix", reason="CI installs bubblewrap")
def test_where_the_tests_are_run_for_all_there_is_bubblewrap():
    assert subprocess.run(["bwrap", "--version"], capture_output=True).returncode == 0


def test_what_may_be_read_is_python_and_not_the_home_or_the_folder_of_the_server():
    for private in (Path.home(), Path.cwd(), Path(cs.__file__).parents[1], Path("/etc"), Path("/proc"), Path("/tmp")):
        assert str(private) not in isolation.list_readable_paths()
    assert any(str(Path(cs.__file__).parent).startswith(place) for place in isolation.list_readable_paths())


def test_nothing_runs_allow_unsandboxed_unless_somebody_agreed(monkeypatch):
    def never(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr(sandbox_launcher.subprocess, "Popen", never)
    with pytest.raises(NoIsolation, match="allow_unsandboxed=True"):
        run_sandboxed([File("a.py", CODE)], [TASK], Limits(), isolation=Isolation.NONE)


@pytest.mark.parametrize("inside", HERE)
def test_one_launcher_gives_the_same_answer_in_every_box(inside):
    if inside is Isolation.BUBBLEWRAP and not isolation._can_run_bubblewrap():
        pytest.skip("bubblewrap does not work here")
    made = dict(run_sandboxed([File("a.py", CODE)], [TASK], Limits(), isolation=inside, allow_unsandboxed=True))
    assert len(read_attempt(made[0], TASK.request, Limits()).schedules[2]) == 1


def test_only_what_a_file_answers_is_run_and_a_later_file_goes_first():
    first = File("a.py", b"def one(n):\n    raise ValueError('the first')\n")
    second = File("b.py", CODE.replace(b"def f", b"def one"))
    tasks = [SandboxTask("none", TASK.request), SandboxTask("one", TASK.request)]
    made = dict(run_sandboxed([first, second], tasks, Limits(), find=True, allow_unsandboxed=True))
    assert set(made) == {FINDING, 1}
    assert read_attempt(made[1], TASK.request, Limits()).error is None


def test_a_box_that_nobody_waits_for_any_more_ends():
    endless = File("a.py", CODE.replace(b"    yield", b"    while n > 2: pass\n    yield"))
    late = SandboxTask("late", FunctionRequest("broadcast", (3,)), "f")
    coming = run_sandboxed([endless], [TASK, late], Limits(seconds=300), allow_unsandboxed=True)
    next(coming)
    coming.close()  # it waits for the process, and would wait for five minutes


def test_grading_and_checking_say_that_there_is_no_isolation(monkeypatch, tmp_path):
    monkeypatch.setattr(grading, "detect_isolation", lambda: Isolation.NONE)
    (tmp_path / "anna.py").write_bytes(CODE)
    with pytest.raises(cs.CollsimError, match="--no-sandbox"):
        grade(tmp_path)
    monkeypatch.setattr(custom_function.syscalls, "has_seccomp", lambda: False)
    custom_function._warn_once.cache_clear()
    with pytest.warns(custom_function.OpenGround, match="all that you may"):
        assert exercise("broadcast-to-all").check(broadcast).passed
    with warnings.catch_warnings():
        warnings.simplefilter("error", custom_function.OpenGround)
        exercise("broadcast-to-all").check(broadcast)


def broadcast(n):
    for r in range(1, n):
        yield cs.copy(0, r, chunk=r - r)


@pytest.mark.skipif(not syscalls.has_seccomp(), reason="this system has no seccomp")
def test_a_learners_own_function_writes_and_starts_nothing_but_reads_what_they_may(tmp_path):
    (tmp_path / "mine.txt").write_text("0")

    def reads(n):
        yield cs.copy(0, [*range(1, n)], chunk=int((tmp_path / "mine.txt").read_text()))

    def writes(n):
        (tmp_path / "mine.txt").write_text("1")
        yield cs.copy(0, [*range(1, n)], chunk=0)

    assert exercise("broadcast-to-all").check(reads).passed
    assert "PermissionError" in exercise("broadcast-to-all").check(writes).reason
    assert (tmp_path / "mine.txt").read_text() == "0"


def test_a_child_whose_reader_has_gone_ends_without_doing_its_job():
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-c", "from collsim.sandbox.student_process import main; main()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=theirs) as child:  # no job ever comes
        os.close(theirs)
        assert child.wait(60) == 0
