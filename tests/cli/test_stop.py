"""Ctrl-C ends a command with one sentence and exit code 130, and leaves no half of a file and no process behind."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from sampling import cross

LONG = [
    "run",
    "alltoall_direct",
    "--topology",
    "ring(128)",
    "--engine",
    "event",
    "--nbytes",
    "1000003",
]  # 16,384 transfers, a minute
PLAN = (
    "collective: allreduce\ntopology: ['switch(256)', 'ring(256)']\nnbytes: [1000003, 1000007, 1000033, "
    "1000037]\nengine: [event]\n"
)


def hear_ctrl_c():
    """In a process that starts: hear Ctrl-C even where these tests do not (`nohup`, `&` in a script)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def started(*words, cwd):
    """A command in a group of its own, killed at the end."""
    command = subprocess.Popen(
        [sys.executable, "-m", "collsim", *map(str, words)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear_ctrl_c,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        yield command
    finally:
        if command.poll() is None:
            os.killpg(command.pid, signal.SIGKILL)
        command.stdout.close()
        command.stderr.close()
        command.wait()


def test_a_run_is_stopped_and_writes_nothing(tmp_path):
    with started(*LONG, "--out", tmp_path / "ring.json", cwd=tmp_path) as run:
        said = run.stderr.readline()
        assert "16,384 transfers" in said, said
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert err == "collsim: stopped\n"
    assert out == ""
    assert list(tmp_path.iterdir()) == []


#: A module on the search path of Python that presses Ctrl-C when another module is about to be loaded.
PRESS = """
import os, signal, sys

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["PRESS_AT"]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Press())
"""


@pytest.mark.parametrize(
    ("module", "program"),
    cross(
        ["numpy", "collsim.registry", "collsim.simulate", "typer", "collsim.cli.shell", "collsim.cli.runs", "numba"],
        [("-m", "collsim"), ("collsim",)],
    ),
    ids=str,
)
def test_a_command_is_stopped_while_it_loads(program, module, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(PRESS)
    (tmp_path / "collsim").write_text("from collsim.cli import main\n\nmain()\n")
    monkeypatch.setenv("PRESS_AT", module)
    paths = f"{tmp_path}{os.pathsep}{Path(__file__).parents[2]}"
    done = subprocess.run(
        [sys.executable, *(program if program[0] == "-m" else [tmp_path / "collsim"]), *LONG],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=hear_ctrl_c,
    )
    assert done.returncode == 130
    assert done.stderr.endswith("collsim: stopped\n")
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_measured_run_is_stopped_with_its_processes(tmp_path):
    words = ("allreduce_ring", "--ranks", "3", "--nbytes", "1KiB", "--alpha", "3s", "--repeat", "1")
    with started("real", *words, cwd=tmp_path) as run:
        for _ in range(300):
            if len(psutil.Process(run.pid).children()) >= 3:
                break
            time.sleep(0.1)
        time.sleep(1.0)
        os.killpg(run.pid, signal.SIGINT)
        _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert err.endswith("collsim: stopped\n")
    assert "Traceback" not in err
    _await_the_end_of(run.pid)


def test_an_interrupt_that_is_lost_in_a_destructor_still_ends_the_command():
    """What is raised there Python prints and forgets."""
    code = (
        "import sys; sys.argv = ['collsim', 'list', 'collectives']\n"
        "class Late:\n    def __del__(self): raise KeyboardInterrupt\n"
        "import collsim.cli.shell as shell\n"
        "usual = shell.import_module\n"
        "shell.import_module = lambda name: (Late(), usual(name))[1]\n"
        "shell.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "collsim: stopped\n")


def test_importing_the_package_leaves_ctrl_c_alone():
    code = "import signal, collsim; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=hear_ctrl_c)
    assert done.stdout == "True\n"


def test_a_sweep_is_stopped_with_its_workers_and_goes_on_later(tmp_path):
    (tmp_path / "plan.yaml").write_text(PLAN)
    with started("sweep", "plan.yaml", "-o", "out.csv", "--progress", cwd=tmp_path) as sweep:
        seen = ""
        while "%" not in seen:  # the bar has appeared: something is done
            seen += sweep.stderr.read(1) or pytest.fail(seen)
        os.killpg(sweep.pid, signal.SIGINT)  # as a terminal does: to the command and to its workers
        _, err = sweep.communicate(timeout=60)
    assert sweep.returncode == 130, err
    assert err.endswith("collsim: stopped\n")
    assert "Traceback" not in seen + err
    assert not (tmp_path / "out.csv").exists()
    assert (tmp_path / "out.csv.part").exists()
    _await_the_end_of(sweep.pid)


def _await_the_end_of(group):
    for _ in range(300):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a worker of the sweep is still there")
