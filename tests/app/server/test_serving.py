"""Real servers, started in every way there is: where they listen, whom they ask, how they end."""

import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener, urlopen

import psutil
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from collsim.app.server.addresses import list_addresses
from collsim.app.server.connections import OPEN_FILES
from collsim.app.server.startup import PAGES

ROOT = Path(__file__).parents[3]
#: Read by every Python at its start: whoever looks up or calls another computer is written down and gets an error.
WATCH = """
import os, sys
def look(event, args):
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event == "socket.connect" and isinstance(args[1], tuple) and args[0].type != 2:  # 2: UDP, which sends nothing
        host = args[1][0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host not in (None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::"):
        with open(os.environ["WATCHED"], "a") as file:
            file.write(f"{event} {host}\\n")
        raise OSError(f"{host} is outside")
sys.addaudithook(look)
"""
STREAMLIT = ("streamlit", "run", "app.py", "--server.headless=true")
WAYS = {"streamlit": STREAMLIT, "collsim": ("collsim", "app", "--headless")}


@contextmanager
def served(folder, *words):
    """A server in a process of its own: the process, its port, what it printed, and whom it called outside."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "sitecustomize.py").write_text(WATCH)
    log, watched = folder / "log.txt", folder / "watched.txt"
    watched.touch()
    paths = os.pathsep.join((str(folder), str(ROOT)))
    env = {**os.environ, "PYTHONPATH": paths, "WATCHED": str(watched), "TMPDIR": str(folder)}
    for name in [name for name in env if name.startswith("STREAMLIT_")]:
        del env[name]
    option = "--server.port" if words[0] == "streamlit" else "--port"
    with log.open("w") as out:
        command = [sys.executable, "-m", *words, f"{option}={port}"]
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env=env,
            preexec_fn=as_started_by_hand,
        )
        try:
            end = time.monotonic() + 90
            while not alive(port):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.1)
            yield process, port, log, watched
        finally:
            process.kill()
            process.wait()


def as_started_by_hand():
    """In the process of the server: it hears Ctrl-C even where these tests do not, and few files may be open."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))


def alive(port):
    try:
        return urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1).status == 200
    except OSError:
        return False


def listens(process):
    return {conn.laddr.ip for conn in process.net_connections("tcp") if conn.status == psutil.CONN_LISTEN}


def got(url, **headers):
    try:
        with build_opener().open(Request(url, headers={"Accept": "text/html", **headers}), timeout=10) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize("way", WAYS)
def test_without_more_the_app_listens_on_this_computer_only_and_calls_nobody(way, tmp_path):
    with served(tmp_path, *WAYS[way]) as (process, port, log, watched):
        assert listens(psutil.Process(process.pid)) == {"127.0.0.1"}
        assert got(f"http://127.0.0.1:{port}/")[0] == 200
        assert got(f"http://127.0.0.1:{port}/", Host="rebound.example")[0] == 403
        assert got(f"http://127.0.0.1:{port}/_stcore/host-config", Origin="http://evil.example")[0] == 403
        assert f"http://localhost:{port}/" in log.read_text()
        assert watched.read_text() == "", "an outside computer was asked"
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        assert not alive(port)


@pytest.mark.skipif(not list_addresses(), reason="this machine has no address but its own loopback")
def test_a_class_finds_the_app_at_its_real_address_and_comes_in_with_the_code(tmp_path):
    with served(tmp_path, "collsim", "app", "--class", "--headless") as (process, port, log, watched):
        said = log.read_text()
        code = re.search(r"Join code: (\w{6})", said)[1]
        room = f"http://{list_addresses()[0]}:{port}/"
        assert room in said
        assert "█" in said, "the QR code"
        assert got(room)[0] == 401
        assert got(f"{room}_stcore/host-config", Accept="*/*")[0] == 403
        cookie = _cookie(f"{room}?class=abcd&join={code.lower()}")
        assert got(room, Cookie=cookie)[0] == 200
        assert got(f"{room}_stcore/host-config", Cookie=cookie, Origin="http://evil.example")[0] == 403
        assert is_limited(port)
        soft, hard = psutil.Process(process.pid).rlimit(psutil.RLIMIT_NOFILE)
        assert soft == min(hard, OPEN_FILES)
        assert watched.read_text() == "", "an outside computer was asked"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert "Traceback" not in log.read_text()
        assert not alive(port)


def is_limited(port):
    """Whether the server cuts a connection whose head has no end, and a page that pings without a pause."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as link, contextlib.suppress(ConnectionError):
        link.sendall(b"GET /" + b"a" * 2**20)
        while link.recv(65536):
            pass
    with connect(f"ws://localhost:{port}/_stcore/stream", proxy=None) as page:
        try:
            for _ in range(100):
                page.ping()
                time.sleep(0.01)
        except ConnectionClosed:
            return True
    return False


def _cookie(url):
    """What the browser is given with the right code; the address that it then goes to has no code in it."""
    found = []

    class Stays(HTTPRedirectHandler):
        def redirect_request(self, req, fp, code, msg, headers, newurl):
            found.append((headers["Set-Cookie"].split(";")[0], newurl))

    with pytest.raises(HTTPError):
        build_opener(Stays).open(Request(url, headers={"Accept": "text/html"}), timeout=10)
    (cookie, onward), *_ = found
    assert "join" not in onward.partition("?")[2]
    return cookie


def test_no_folder_of_pages_stands_next_to_the_script_that_streamlit_runs():
    """Streamlit takes such a folder for pages of its own, and says of ours that they do not exist."""
    assert Path(PAGES).is_file()
    assert not Path(PAGES).with_name("pages").exists()
