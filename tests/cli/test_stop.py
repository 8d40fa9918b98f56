"""Ctrl-C ends a command with one sentence and exit code 130, and leaves no half of a file and no process behind."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

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


@contextmanager
def started(*words, cwd):
    """A command in a group of its own, that hears Ctrl-C even where these tests do not (`nohup`, `&` in a script);
    killed at the end."""
    command = subprocess.Popen(
        [sys.executable, "-m", "collsim", *map(str, words)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
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
