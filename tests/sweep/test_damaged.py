"""Damaged stores, plans without an end, and sweeps that are killed."""

import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

import collsim as cs
from collsim.files import write_text
from collsim.sweep import read_plan

ONE = {"algorithm": "allreduce_ring", "topology": "switch(4)"}


def stored(path, change):
    """The store of a sweep, with one statement run on it."""
    cs.sweep(**ONE, nbytes=[1024, 2048], out=path)
    with sqlite3.connect(path) as db:
        db.execute(change)
    db.close()
    return path


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE rows SET row = '{'",
        "UPDATE rows SET row = '[1]'",
        "UPDATE rows SET row = '" + "[" * 100_000 + "'",
        "UPDATE rows SET id = CAST(x'ff' AS TEXT) WHERE rowid = 1",
        "DROP TABLE rows",
        "ALTER TABLE rows RENAME COLUMN id TO other",
    ],
    ids=lambda change: change[:40],
)
def test_a_damaged_store_is_told_of_or_filled_again(tmp_path, change):
    path = stored(tmp_path / "x.sqlite", change)
    try:
        rows = len(cs.sweep(**ONE, nbytes=[1024, 2048], out=path))
    except cs.FormatError as error:
        rows, said = 0, str(error)
    assert rows == 2 or "is not a store of results, or damaged" in said[:1000]


def test_bits_that_turned_in_a_store_are_no_traceback(tmp_path):
    path = tmp_path / "x.sqlite"
    cs.sweep(**ONE, nbytes=list(range(300)), out=path)
    good = path.read_bytes()
    for first in (100, 4100, 8200):
        path.write_bytes(bytes(b ^ 255 if first < i < first + 60 else b for i, b in enumerate(good)))
        try:
            said = "damaged" * (len(cs.sweep(**ONE, nbytes=list(range(300)), out=path)) == 300)
        except cs.FormatError as error:
            said = str(error)
        assert "damaged" in said


@pytest.mark.parametrize(
    ("topology", "nbytes", "says"),
    [
        ("{machine: dgx-a100, nodes: [" + "1," * 3000 + "1], p2p: [" + "true," * 3000 + "true]}", "1", "topologies"),
        ("[switch(4)]", "[" + "'1KiB:1TiB:1.01'," * 25 + "1]", "scenarios"),
    ],
)
def test_a_plan_without_an_end_is_refused_before_it_begins(tmp_path, topology, nbytes, says):
    write_text(tmp_path / "plan.yaml", f"topology: {topology}\nnbytes: {nbytes}\n")
    with pytest.raises(cs.CollsimError, match=f"{says} in a sweep; .* is the most"):
        cs.sweep(**read_plan(tmp_path / "plan.yaml"))


def test_a_tag_that_does_not_fit_in_a_plan_is_told_with_its_line(tmp_path):
    write_text(tmp_path / "plan.yaml", "topology: [switch(4)]\nnbytes: !!int ''\n")
    with pytest.raises(cs.FormatError, match=r"plan\.yaml, line 1: a value that does not fit its tag"):
        read_plan(tmp_path / "plan.yaml")


def test_a_table_for_a_spreadsheet_holds_no_formula(tmp_path):
    place = cs.Topology.from_networkx(cs.topology.switch(2).to_networkx(), name="=cmd()")
    cs.sweep(algorithm="allreduce_ring", topology=[place], out=tmp_path / "x.csv")
    assert ",'=cmd()," in (tmp_path / "x.csv").read_text()


SLEEPERS = """
import os, time, sys
from collsim.sweep.sweep_runner import _open_workers
with _open_workers() as (pool, _):
    print(*{pool.submit(os.getpid).result() for _ in range(20)}, flush=True)
    for _ in range(4):
        pool.submit(time.sleep, 600)
    time.sleep(600)
"""


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_workers_end_when_the_sweep_is_killed():
    with subprocess.Popen([sys.executable, "-c", SLEEPERS], stdout=subprocess.PIPE, text=True) as sweep:
        workers = [int(word) for word in sweep.stdout.readline().split()]
        assert workers
        assert all(alive(pid) for pid in workers)
        os.kill(sweep.pid, signal.SIGKILL)
    for _ in range(100):
        if not any(alive(pid) for pid in workers):
            break
        time.sleep(0.1)
    assert [pid for pid in workers if alive(pid)] == []


def test_where_the_kernel_does_not_tell_a_worker_looks_for_itself(monkeypatch):
    from collsim.sweep import orphans

    ended = []
    monkeypatch.setattr(orphans, "_LOOK", 0.0)
    monkeypatch.setattr(orphans.os, "_exit", ended.append)
    orphans._watch_parent(parent=-1)  # nobody has this number, so the parent is gone
    assert ended == [1]
