"""`progress=`: a bar where somebody sees it, a function that is checked before the run, and a run that can be
stopped."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.simulate import expected_cost, simulate_flows
from collsim.simulate.waiting import defer_interrupt, report_waiting

RING, SWITCH = cs.schedule("allreduce_ring", 16), cs.topology.switch(16)
UNEVEN = 1_000_003  # not a multiple of the ranks: every transfer is looked at
COMMAND = [sys.executable, "-m", "collsim", "verify", "allreduce_ring", "--ranks", "2:130"]


@pytest.mark.parametrize(
    "call",
    [
        lambda progress: cs.simulate(RING, SWITCH, UNEVEN, progress=progress),
        lambda progress: cs.simulate(RING, SWITCH, UNEVEN, engine="event", progress=progress),
        lambda progress: simulate_flows(SWITCH, [0, 1], [2, 3], "1MiB", progress=progress),
        lambda progress: cs.simulate_many(RING, SWITCH, UNEVEN, runs=2, jitter="1us", progress=progress),
        lambda progress: cs.sweep("allreduce", "allreduce_ring", SWITCH, UNEVEN, progress=progress),
    ],
)
def test_what_cannot_be_called_is_refused_before_the_run(call):
    called = []
    for wrong in (
        lambda: called.append(1),
        lambda one: called.append(1),
        lambda *, keyword: called.append(1),
        7,
        "yes",
    ):
        with pytest.raises(cs.CollsimError, match="progress="):
            call(wrong)
    assert not called
    call(lambda *counts: called.append(counts))
    assert called[-1][0] == called[-1][1] > 0
    call(False)


def test_true_is_a_bar_that_is_taken_away_again(capsys, monkeypatch):
    monkeypatch.setattr("collsim.display.progress._DELAY", 0.0)
    plain = cs.simulate(RING, SWITCH, UNEVEN, engine="event")
    assert capsys.readouterr().err == ""
    barred = cs.simulate(RING, SWITCH, UNEVEN, engine="event", progress=True)
    shown = capsys.readouterr().err
    assert "transfers" in shown
    assert shown.endswith("\r"), "the line is left empty"
    assert barred.time == plain.time
    assert barred.bottleneck.savings == plain.bottleneck.savings
    assert "transfers" in capsys.readouterr().err, "the runs behind the bottleneck show how far they are"


def test_the_bar_says_when_the_engine_is_compiled(capsys):
    numba = pytest.importorskip("numba")
    with report_waiting(True) as tell:
        tell(0, 10)
        assert "compiling" not in capsys.readouterr().err
        numba.njit(lambda x: x + 1)(1)
        assert "compiling the event engine" in capsys.readouterr().err
    numba.njit(lambda x: x + 2)(1)
    assert "compiling" not in capsys.readouterr().err, "nobody waits any more"


def test_a_run_that_was_stopped_can_be_run_again():
    def stop(done, total):
        if done:
            raise KeyboardInterrupt

    for shortcuts in (True, False):
        given = {"engine": "event", "shortcuts": shortcuts}
        before = cs.simulate(RING, SWITCH, UNEVEN, **given).time
        with pytest.raises(KeyboardInterrupt):
            cs.simulate(RING, SWITCH, UNEVEN, **given, progress=stop)
        assert cs.simulate(RING, SWITCH, UNEVEN, **given).time == before


def test_flows_that_share_everything_can_be_stopped_too():
    """12,288 flows are fewer than a slice has transfers, but as each of them ends the rates of many others change."""
    hosts = 768
    rng = np.random.default_rng(1)
    src = np.repeat(np.arange(hosts), 16)
    dst = (src + rng.integers(1, hosts, len(src))) % hosts
    told = []
    simulate_flows(
        cs.topology.switch(hosts), src, dst, rng.integers(2**20, 2**26, len(src)), progress=lambda *n: told.append(n)
    )
    assert len(told) > 4
    assert told == sorted(told)


def test_ctrl_c_waits_until_the_compiler_is_loaded():
    reached = []

    def load():
        with defer_interrupt():
            signal.raise_signal(signal.SIGINT)
            reached.append(True)

    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # also where these tests were started to ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            load()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, usual)
    assert reached


def test_the_expected_cost_grows_with_the_transfers():
    less, more = (
        expected_cost(cs.schedule("allreduce_ring", n), cs.topology.switch(n), UNEVEN, engine="event") for n in (16, 32)
    )
    assert more.transfers / less.transfers == pytest.approx(62 * 32 / (30 * 16))
    assert more.seconds > less.seconds


def in_a_terminal(command):
    """What a command shows in a terminal of 40 rows and 100 columns."""
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, np.array([40, 100, 0, 0], np.uint16).tobytes())
    run = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while more := os.read(ours, 65536):
            shown += more
    except OSError:  # Linux: the other end is closed
        pass
    os.close(ours)
    assert run.wait(timeout=60) == 0, shown
    return shown.decode(errors="replace")


def test_a_bar_is_shown_in_a_terminal_only_or_where_it_is_asked_for(monkeypatch):
    at_once = "import collsim.display.progress, collsim.cli; collsim.display.progress._DELAY = 0; collsim.cli.app()"
    assert "numbers of ranks/s" in in_a_terminal([sys.executable, "-c", at_once, *COMMAND[3:]])
    quiet = subprocess.run(COMMAND, capture_output=True, text=True, check=True)
    assert quiet.stderr == ""
    monkeypatch.setattr("collsim.display.progress._DELAY", 0.0)
    asked = CliRunner().invoke(app, [*COMMAND[3:], "--progress"])
    assert "numbers of ranks/s" in asked.stderr
    assert asked.stdout == quiet.stdout
    assert CliRunner().invoke(app, [*COMMAND[3:], "--no-progress"]).stderr == ""
