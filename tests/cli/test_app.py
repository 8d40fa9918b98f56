"""`collsim app` is Streamlit: what reaches the one reaches the other."""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from collsim.cli.shell import app


def test_the_help_says_what_to_install():
    assert "collsim[app]" in CliRunner().invoke(app, ["app", "--help"]).output


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_sigterm_ends_streamlit():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "collsim", "app", f"--port={port}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(300):
                if b"streamlit" in Path(f"/proc/{process.pid}/cmdline").read_bytes() and _answers(port):
                    break
                time.sleep(0.1)
            assert _answers(port)
            process.send_signal(signal.SIGTERM)
            process.wait(20)
            assert not _answers(port)
        finally:
            process.kill()


def _answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
