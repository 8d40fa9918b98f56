"""The thirty students of `benchmarks/thirty_students.py` in short: a few of them, for a few seconds, on a server of
their own."""

import argparse
import asyncio
import importlib.util
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "thirty_students.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("thirty_students", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_few_students_walk_about_and_see_nothing_wrong(script, tmp_path):
    given = argparse.Namespace(students=4, minutes=0.15, think=0.4, csv=tmp_path / "students.csv")
    with (
        script.server(tmp_path / "log.txt") as (port, pid),
        ThreadPoolExecutor(1) as aside,
    ):  # Playwright has a loop in this thread
        notes, rows = aside.submit(lambda: asyncio.run(script.walk(given, port, pid, every=0.5))).result()
    assert notes.wrong == []
    assert len(notes.reruns) >= 4
    assert all(row.server > 50 for row in rows)
    assert max(row.server + row.workers for row in rows) < 3_000
    head, *lines = given.csv.read_text().splitlines()
    assert head == script.Row.HEAD
    assert lines == [str(row) for row in rows[:-1]]


def test_what_a_server_leaves_behind_is_an_error(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "_megabytes", lambda process: 1.0)  # as if every worker went on
    monkeypatch.setattr(script, "family", lambda pid: [SimpleNamespace(pid=pid), SimpleNamespace(pid=4711)])
    with pytest.raises(SystemExit, match="process 4711"), script.server(tmp_path / "log.txt"):
        pass


def test_growth_is_the_last_quarter_less_the_one_before(script):
    flat = [script.Row(float(s), 500.0, 0.0, 1.0, s, 0, 0) for s in range(101)]
    assert script.growth(flat) == 0
    leak = [script.Row(float(s), 500.0 + s, 0.0, 1.0, s, 0, 0) for s in range(101)]
    assert script.growth(leak) == pytest.approx(25, abs=1)


def test_processor_time_is_said_by_page_and_by_what_it_was_at(script):
    notes = script.Notes(pages={"explore": [(1.0, 2048), (3.0, 4096)], "write": [(0.5, 1024)]})
    spent = {
        "pages": {"explore": {"pandas": 0.2, "streamlit": 0.4}, "write": {"python": 0.1}},
        "jobs": {"compare": 2.0},
    }
    first, _, explore, write, workers = script.table(notes, spent, 3.0).splitlines()
    assert first.startswith("1.000 s of processor time a rerun")  # 3 s of 3 reruns
    assert explore.split() == ["explore", "2", "2.00", "3.00", "3", "0.300", "streamlit", "0.200,", "pandas", "0.100"]
    assert write.split() == ["write", "1", "0.50", "0.50", "1", "0.100", "python", "0.100"]
    assert workers == "workers: compare 2.0 s"
