"""Whatever ends a run, nothing of it stays: no process, no file, no port; and a sentence says why."""

import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import psutil
import pytest
from sampling import sample

import collsim as cs
from collsim.lab import launch
from collsim.lab.mpiexec import _accept_rank_0
from collsim.lab.ranks.wire import _HELLO, DATA, HOST, Frame, PeerWire, accept_ranks, connect_rank, open_listener

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
LONG = {"alpha": "10ms", "bandwidth": "1MB/s", "repeat": 20}  # about 1.5 s a run
SCRIPT = """
import collsim as cs
cs.run_for_real(cs.schedule("allreduce_ring", ranks=3), "1MiB", repeat=20, bandwidth="1MB/s",
                progress=lambda done, total: print(done, flush=True))
"""
STEP = """
import collsim as cs
model = cs.train.Model("own", [cs.train.Layer(f"l{k}", (65536,), flops=1e9) for k in range(4)])
cs.lab.training_step_for_real(model, 3, compute="200ms", bandwidth="5MB/s", repeat=20,
                          progress=lambda done, total: print(done, flush=True))
"""


def ranks_of(process):
    return [one for one in psutil.Process(process).children(recursive=True) if "collsim.lab" in " ".join(one.cmdline())]


def soon(what, seconds=10.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.02)
    return False


def while_running(act):
    """Run something long; act on its crew when the ranks run; the sentence that ends it."""
    crews, old = [], launch.RankProcesses

    class Watched(old):
        def __init__(self, *given):
            super().__init__(*given)
            crews.append(self)

    def report_runs(done, total):
        if done == 0:
            threading.Timer(0.2, act, (crews[0],)).start()

    launch.RankProcesses = Watched
    try:
        with pytest.raises(cs.CollsimError) as caught:
            cs.run_for_real(cs.schedule("allreduce_ring", ranks=3), "1MiB", progress=report_runs, **LONG)
    finally:
        launch.RankProcesses = old
    assert all(process.poll() is not None for process in crews[0].processes)
    return str(caught.value)


def test_a_rank_that_is_killed_is_named_and_the_others_end():
    assert while_running(lambda crew: crew.processes[1].kill()) == "the process of endpoint 1 was killed (signal 9)"


def test_a_rank_that_hangs_is_ended_when_the_time_is_up(monkeypatch):
    monkeypatch.setitem(LONG, "time_limit", "40s")
    monkeypatch.setattr(launch.RankProcesses, "collect_answers", _impatient(launch.RankProcesses.collect_answers))
    said = while_running(lambda crew: crew.processes[2].send_signal(signal.SIGSTOP))
    assert "the time is up, and endpoints" in said
    assert "2" in said


def test_ranks_that_read_nothing_keep_nobody_waiting():
    """They are told more than a pipe holds; whoever tells them goes on, and the time limit counts."""
    crew = launch.RankProcesses(2, "rank_process")
    try:
        for process in crew.processes:
            process.send_signal(signal.SIGSTOP)
        teller = threading.Thread(target=crew.send_all, args=(b"x" * 2**20,), daemon=True)
        teller.start()
        teller.join(10)
        assert not teller.is_alive()
        with pytest.raises(cs.CollsimError, match=r"the time is up, and endpoints \[0, 1\] have not ended"):
            crew.collect_answers("port", time.perf_counter() + 0.1)
    finally:
        crew.end()
    assert all(process.poll() is not None for process in crew.processes)


def _impatient(answers):
    def sooner(self, kind, until):
        return answers(self, kind, min(until, time.perf_counter() + 4) if kind == "ran" else until)

    return sooner


def _script(tmp_path, code):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )


@pytest.mark.parametrize(
    ("how", "code"),
    sample([(signal.SIGKILL, SCRIPT), (signal.SIGTERM, SCRIPT), (signal.SIGINT, SCRIPT), (signal.SIGKILL, STEP)], 1),
)
def test_when_the_parent_ends_its_ranks_end(how, code, tmp_path):
    parent = _script(tmp_path, code)
    try:
        assert parent.stdout.readline() == "0\n"
        ranks = ranks_of(parent.pid)
        assert len(ranks) == 3
        parent.send_signal(how)
        parent.wait(20)
        assert soon(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in ranks))
        assert not list(tmp_path.iterdir())
    finally:
        parent.kill()
        parent.communicate()


def test_ctrl_c_of_the_command_is_a_sentence(tmp_path):
    words = ["real", "allreduce_ring", "--ranks", "3", "--bandwidth", "100KB/s", "--nbytes", "256KiB", "--repeat", "9"]
    command = subprocess.Popen(
        [sys.executable, "-m", "collsim", *words, "--time-limit", "100s", "-o", str(tmp_path / "x.json")],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert soon(lambda: len(ranks_of(command.pid)) == 3, 30)
        ranks = ranks_of(command.pid)
        time.sleep(0.5)
        os.killpg(command.pid, signal.SIGINT)  # as a terminal does: to all of its processes
        assert command.communicate(timeout=20)[1] == "collsim: stopped\n"
        assert command.returncode == 130
        assert soon(lambda: not any(one.is_running() for one in ranks))
        assert not list(tmp_path.iterdir())
    finally:
        if command.poll() is None:
            os.killpg(command.pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_full_disk_is_a_sentence_and_leaves_no_file(tmp_path):
    import resource

    words = [
        "real",
        "allreduce_ring",
        "--ranks",
        "2",
        "--nbytes",
        "4KiB",
        "--repeat",
        "1",
        "-o",
        str(tmp_path / "x.html"),
    ]

    def full():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    found = subprocess.run(
        [sys.executable, "-m", "collsim", *words], capture_output=True, text=True, timeout=60, preexec_fn=full
    )
    assert found.returncode == 2, found.stderr
    assert "File too large" in found.stderr
    assert "Traceback" not in found.stderr
    assert not list(tmp_path.iterdir())


def test_a_run_writes_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    cs.run_for_real(cs.schedule("allreduce_ring", ranks=2), "4KiB", alpha="1ms", bandwidth="50MB/s")
    assert not list(tmp_path.iterdir())


# ---- who may connect


def test_only_this_computer_can_reach_the_port():
    with open_listener() as sock:
        assert sock.getsockname()[0] == "127.0.0.1" == HOST


def test_strangers_are_shown_out_and_keep_nobody_waiting():
    token, found = b"t" * 32, {}
    with open_listener() as sock:
        port = sock.getsockname()[1]
        thread = threading.Thread(target=lambda: found.update(accept_ranks(sock, {5}, token, 20)))
        thread.start()
        silent, wrong, half, far = (socket.create_connection((HOST, port)) for _ in range(4))
        wrong.sendall(_HELLO.pack(b"x" * 32, 5))
        half.sendall(b"t" * 10)
        far.sendall(_HELLO.pack(token, 7))  # the token, but nobody who is expected
        crowd = [socket.create_connection((HOST, port)) for _ in range(70)]
        for stranger in (wrong, far):
            stranger.settimeout(10)
            assert stranger.recv(1) == b""
        assert thread.is_alive()
        ours = connect_rank(port, 5, token)
        thread.join(10)
        assert list(found) == [5]
        for one in (silent, wrong, half, far, ours, *crowd, *found.values()):
            one.close()


def test_a_rank_that_says_late_who_it_is_is_let_in_and_an_mpiexec_that_ends_is_told():
    """It came a moment before a turn of waiting was over: shown out then, it would wait for its order forever."""
    token, came = b"t" * 32, []
    with subprocess.Popen(["sleep", "30"]) as living, open_listener() as sock:
        thread = threading.Thread(
            target=lambda: came.append(_accept_rank_0(living, sock, token, time.perf_counter() + 20))
        )
        thread.start()
        with socket.create_connection(sock.getsockname()) as rank0:
            time.sleep(1.2)
            rank0.sendall(_HELLO.pack(token, 0))
            thread.join(10)
            assert came
            came[0].close()
        with pytest.raises(cs.CollsimError, match="the time is up"):
            _accept_rank_0(living, sock, token, time.perf_counter())
        living.kill()
    with subprocess.Popen(["sh", "-c", "exit 3"], stderr=subprocess.PIPE) as gone:
        said = pytest.raises(cs.CollsimError, match="mpiexec ended with 3")
        with open_listener() as sock, said:
            _accept_rank_0(gone, sock, token, time.perf_counter() + 20)


def test_who_does_not_come_is_named():
    with open_listener() as sock, pytest.raises(cs.CollsimError, match=r"endpoints \[1, 2\] did not connect"):
        accept_ranks(sock, {1, 2}, b"t" * 32, 0.1)


def test_a_wire_takes_frames_and_nothing_else():
    ours, theirs = socket.socketpair()
    wire = PeerWire(3, ours)
    PeerWire(0, theirs).send(Frame(DATA, 7, b"abc", 1.5))
    assert wire.receive() == [Frame(DATA, 7, b"abc", 1.5)]
    theirs.send(b"\xff" * 40)
    with pytest.raises(cs.CollsimError, match="no frame of a rank"):
        wire.receive()
    theirs.close()
    with pytest.raises(cs.CollsimError, match="connection to endpoint 3 was closed"):
        wire.receive()
    wire.close()


def test_a_huge_frame_is_refused_before_it_is_waited_for():
    ours, theirs = socket.socketpair()
    theirs.send(b"\x00" + b"\x00" * 4 + b"\xff" * 4 + b"\x00" * 8)
    with pytest.raises(cs.CollsimError, match="no frame"):
        PeerWire(1, ours).receive()
    ours.close()
    theirs.close()


def test_the_token_stands_neither_on_the_command_line_nor_in_the_environment():
    seen = []

    def look(crew):
        for process in crew.processes:
            one = psutil.Process(process.pid)
            seen.append(" ".join(one.cmdline()) + " ".join(one.environ().values()))
        crew.processes[0].kill()

    import collsim.lab.real_run as door

    tokens, old = [], door.new_token

    def remembered():
        tokens.append(old())
        return tokens[-1]

    door.new_token = remembered
    try:
        while_running(look)
    finally:
        door.new_token = old
    assert len(tokens[0]) == 32
    assert len(seen) == 3
    assert not any(token.hex() in text or repr(token) in text for text in seen for token in tokens)


def test_errors_of_ranks_come_back_whole():
    error = pickle.loads(pickle.dumps(cs.CollsimError("the connection to endpoint {peer} was closed", peer=3)))
    assert error.text("zh") != str(error)
