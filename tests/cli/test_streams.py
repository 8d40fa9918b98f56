"""Whatever standard output is, a command ends with an exit code and without a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sampling import cross, sample

RUN = ("run", "allreduce_ring", "--topology", "switch(8, bandwidth=25GB/s, alpha=1us)", "--nbytes", "64MiB")
#: A command that prints with rich, one with `print`, one document, a help text, and one that finds something wrong.
SPOKEN = {
    "run": RUN,
    "list": ("list", "machines"),
    "json": ("list", "machines", "--json"),
    "help": ("run", "--help"),
    "version": ("--version",),
}
FULL = Path("/dev/full")


def collsim(words, cwd, encoding="utf-8", **options):
    """A finished command."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    return subprocess.run([sys.executable, "-m", "collsim", *words], cwd=cwd, env=env, check=False, **options)


@pytest.mark.parametrize(("name", "encoding"), cross(SPOKEN, ["ascii", "cp1252", "latin-1"]))
def test_what_an_encoding_lacks_is_replaced(name, encoding, tmp_path):
    done = collsim(SPOKEN[name], tmp_path, encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode(encoding)


def test_a_unit_and_an_arrow_stay_readable_in_ascii(tmp_path):
    text = collsim((*RUN[:-1], "1KiB"), tmp_path, "ascii").stdout.decode("ascii")
    assert "28.1 us" in text
    assert "gpu0 -> switch0" in text


def test_a_document_loses_no_character_in_ascii(tmp_path):
    documents = [json.loads(collsim(SPOKEN["json"], tmp_path, encoding).stdout) for encoding in ("utf-8", "ascii")]
    assert documents[0] == documents[1]


def test_a_mistake_is_told_in_any_encoding(tmp_path):
    done = collsim(("show", "allreduce_rïng→"), tmp_path, "ascii")
    assert done.returncode == 2
    assert b"allreduce_r?ng->" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows has other descriptors")
@pytest.mark.parametrize("name", sample(SPOKEN, 1))
def test_a_closed_standard_output_is_nowhere(name, tmp_path):
    done = collsim(SPOKEN[name], tmp_path, stdout=None, preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (0, b"")
    done = collsim(
        ("show", "no such algorithm"), tmp_path, stdout=None, stderr=None, preexec_fn=lambda: (os.close(1), os.close(2))
    )
    assert done.returncode == 2


@pytest.mark.parametrize(("name", "unbuffered"), cross(SPOKEN, ["", "1"]))
def test_a_reader_that_goes_away_is_no_mistake(name, unbuffered, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    reader, writer = os.pipe()
    os.close(reader)
    done = collsim(SPOKEN[name], tmp_path, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("name", sample(SPOKEN, 1))
def test_a_full_disk_is_said_once(name, tmp_path):
    with FULL.open("w") as full:
        done = collsim(SPOKEN[name], tmp_path, stdout=full)
        assert done.returncode == 2
        assert done.stderr == b"collsim: standard output: No space left on device\n"
        assert collsim(SPOKEN[name], tmp_path, stdout=full, stderr=full).returncode == 2
        assert collsim(SPOKEN[name], tmp_path, stderr=full).returncode == 0


def test_a_failed_check_counts_though_nobody_reads_it(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import collsim as cs\n\n@cs.algorithm('allreduce')\ndef nothing(n):\n    yield cs.copy(0, 1, chunk=0)\n"
    )
    assert collsim(("verify", "mine.py:nothing", "--ranks", "2"), tmp_path).returncode == 1
    reader, writer = os.pipe()
    os.close(reader)
    done = collsim(("verify", "mine.py:nothing", "--ranks", "2"), tmp_path, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr.count(b"Traceback")) == (1, 0)
