"""A sweep that is killed goes on where it was, on any executor, and a scenario that fails is a row."""

import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import pandas as pd
import pytest

import collsim as cs

SLOW_SWEEP = """
import sys, time
import numpy as np
import collsim as cs

@cs.algorithm("broadcast")
def slow_flat(n, root=0, pause=0):
    time.sleep(0.2)
    with open(sys.argv[2], "a") as log:
        print(pause, file=log)
    yield cs.copy(root, np.arange(1, n), chunk=0)

if __name__ == "__main__":
    choices = [("slow_flat", {"pause": k + 1}) for k in range(12)]
    frame = cs.sweep("broadcast", choices, "switch(4)", ["1KiB", "1MiB"], out=sys.argv[1])
    print(len(frame), frame.error.isna().all())
"""


def stored(path) -> int:
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            return db.execute("SELECT count(*) FROM rows").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def test_killed_with_9_in_the_middle_it_goes_on(tmp_path):
    script, out, log = tmp_path / "slow.py", tmp_path / "out.csv", tmp_path / "log"
    script.write_text(SLOW_SWEEP)
    command = [sys.executable, str(script), str(out), str(log)]
    part = tmp_path / "out.csv.part"
    with subprocess.Popen(command, start_new_session=True) as process:
        deadline = time.monotonic() + 60
        while stored(part) < 6 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    before = stored(part)
    assert 6 <= before < 24, "killed in the middle"
    assert not out.exists(), "no half-written table"

    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["24", "True"]
    assert len(pd.read_csv(out)) == 24
    assert not part.exists()
    runs = len(log.read_text().split())
    in_flight = 2 * (os.cpu_count() or 1)
    assert runs <= 12 + in_flight, "only what was in flight ran twice"


def test_a_complete_store_is_not_run_again(tmp_path):
    given = ("allreduce", ["allreduce_ring"], "switch(8)", ["1KiB", "1MiB"])
    first = cs.sweep(*given, out=tmp_path / "x.sqlite")
    stamp = (tmp_path / "x.sqlite").stat().st_mtime_ns
    ticks = []
    again = cs.sweep(*given, out=tmp_path / "x.sqlite", progress=lambda done, total, _: ticks.append((done, total)))
    assert ticks == [(2, 2)], "everything was there at the start"
    assert again.equals(first)
    assert stamp <= (tmp_path / "x.sqlite").stat().st_mtime_ns


@pytest.mark.parametrize("engine", ["lockstep", ["lockstep", ("event", {"sharing": "fair"})]])
def test_every_kind_of_table_holds_what_sweep_returns(tmp_path, engine):
    given = {
        "algorithm": ["allreduce_ring", ("allreduce_tree", {"chunks": 4})],
        "topology": "switch(6)",
        "nbytes": [1, "1MiB"],
    }
    frame = cs.sweep(**given, engine=engine, where=lambda row: True, out=tmp_path / "t.csv")
    figures = ["nbytes", "time", "algbw", "busbw", "bound"]
    readers = {
        "csv": pd.read_csv,
        "parquet": lambda path: pytest.importorskip("pyarrow.parquet").read_table(path).to_pandas(),
        "json": lambda path: pd.DataFrame(json.loads(line) for line in path.read_text().splitlines()),
    }
    for suffix, read in readers.items():
        path = tmp_path / f"t.{suffix}"
        assert cs.sweep(**given, engine=engine, out=path).equals(frame)
        table = read(path)
        assert list(table.scenario) == list(frame.scenario)
        assert (table[figures] == frame[figures]).all(axis=None), f"to the last digit in {suffix}"
        for name in ("options", "engine_options"):
            assert [x if isinstance(x, str) else json.dumps(x) for x in table[name]] == list(frame[name])


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json", "sqlite"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_runs(tmp_path, suffix, monkeypatch):
    from collsim.sweep import sweep_runner

    monkeypatch.setattr(sweep_runner, "run_scenarios", lambda work: pytest.fail("it ran"))
    folder = tmp_path / f"x.{suffix}"
    folder.mkdir()
    for place in (folder, tmp_path / "none" / f"x.{suffix}", f"/proc/x.{suffix}"):
        with pytest.raises(cs.FormatError) as refused:
            cs.sweep("allreduce", "allreduce_ring", "switch(4)", out=place)
        assert f"cannot write {str(place)!r}" in str(refused.value)
    assert [p.name for p in tmp_path.iterdir()] == [folder.name]


def test_a_full_disk_ends_the_sweep_with_a_sentence_and_keeps_what_is_there(tmp_path, monkeypatch):
    from collsim.sweep import store

    class Full(store.Store):
        def __init__(self, path):
            super().__init__(path)
            self._db.execute("PRAGMA max_page_count=12")  # 48 KiB

    given = ("allreduce", "allreduce_ring", [f"switch({n})" for n in range(2, 40)], ["1KiB", "1MiB", "1GiB"])
    out = tmp_path / "x.csv"
    with monkeypatch.context() as patch:
        patch.setattr(store, "Store", Full)
        with pytest.raises(cs.FormatError, match=r"cannot write '.*x\.csv': database or disk is full"):
            cs.sweep(*given, out=out)
    assert stored(tmp_path / "x.csv.part") > 0
    assert not out.exists()
    assert len(cs.sweep(*given, out=out)) == len(pd.read_csv(out)) == 38 * 3


def test_the_id_knows_the_inputs():
    def ids(**changed):
        given = {
            "collective": "allreduce",
            "algorithm": "allreduce_ring",
            "topology": "switch(4)",
            "nbytes": "1MiB",
            **changed,
        }
        return set(cs.sweep(**given).scenario)

    base = ids()
    assert ids() == base
    for change in (
        {"nbytes": "2MiB"},
        {"dtype": "float16"},
        {"topology": "switch(4, alpha=2us)"},
        {"algorithm": ("allreduce_ring", {"channels": 2})},
        {"order": "reversed"},
    ):
        assert ids(**change) != base, change


def test_a_worker_that_dies_takes_only_its_own_scenarios_with_it(monkeypatch):
    from collsim.sweep import sweep_runner

    parent, simulate = os.getpid(), sweep_runner.simulate

    def deadly(plan, *rest, **options):
        if plan.options.get("channels") == 3 and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return simulate(plan, *rest, **options)

    monkeypatch.setattr(sweep_runner, "simulate", deadly)  # forked workers inherit it
    monkeypatch.setattr(sweep_runner, "_ALONE", 0.0)
    frame = cs.sweep("allreduce", [("allreduce_ring", {"channels": [1, 2, 3, 4, 5]})], "switch(4)", ["1KiB", "1MiB"])
    dead = frame.options == '{"channels": 3}'
    assert frame[dead].error.str.contains("died").all()
    assert frame[~dead].error.isna().all()
    assert len(frame) == 10


def test_a_small_sweep_starts_no_process_however_much_other_threads_compute(monkeypatch):
    """A process that is forked while a thread imports waits for that import, which nobody ends there."""
    from collsim.sweep import sweep_runner

    seconds = itertools.count(0, 10)  # as many threads beside it would make it
    monkeypatch.setattr(time, "process_time", lambda: next(seconds))
    monkeypatch.setattr(sweep_runner, "_open_workers", lambda: pytest.fail("a small sweep was forked"))
    assert len(cs.sweep("allreduce", ["allreduce_ring", "allreduce_tree"], "switch(4)", ["1KiB"])) == 2


def test_processes_give_the_same_table_as_one():
    given = ("allreduce", ["allreduce_ring", "allreduce_tree"], ["switch(8)", "ring(8)"], ["1KiB", "1MiB"])
    with ProcessPoolExecutor(2) as pool:
        assert cs.sweep(*given, executor=pool).equals(cs.sweep(*given))


def test_dask_survives_a_killed_worker(tmp_path):
    distributed = pytest.importorskip("distributed", reason="the dask extra is not installed")
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "distributed.cli.dask_scheduler",
            "--port",
            "0",
            "--no-dashboard",
            "--host",
            "127.0.0.1",
            "--scheduler-file",
            str(tmp_path / "scheduler.json"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as scheduler:
        workers = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "distributed.cli.dask_worker",
                    "--scheduler-file",
                    str(tmp_path / "scheduler.json"),
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--local-directory",
                    str(tmp_path),
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(2)
        ]
        try:
            deadline = time.monotonic() + 60
            while not (tmp_path / "scheduler.json").exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            with distributed.Client(scheduler_file=str(tmp_path / "scheduler.json"), timeout=60) as client:
                client.wait_for_workers(2, timeout=60)
                killed = []

                def kill_one(done, total, _):
                    if done >= 4 and not killed:
                        workers[0].kill()
                        killed.append(done)

                names = ["allreduce_ring", "allreduce_tree", "allreduce_halving_doubling", "allreduce_swing"]
                given = ("allreduce", names, [f"switch({n})" for n in (4, 8, 16, 32, 64)], ["1KiB", "1MiB"])
                frame = cs.sweep(*given, executor=client.get_executor(), progress=kill_one)
                assert killed, "one worker was killed in the middle"
                assert frame.error.isna().all()
                assert frame.equals(cs.sweep(*given))
        finally:
            for process in (*workers, scheduler):
                process.kill()
                process.wait()
