"""The thirty students of `benchmarks/thirty_students.py` in short: a few of them, for a few seconds, on a server of their own."""

import asyncio
import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "thirty_students.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("thirty_students", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_a_few_students_walk_about_and_see_nothing_wrong(script, tmp_path):
    with script.server(tmp_path / "log.txt") as (port, pid):
        notes, curve = asyncio.run(script.walk(4, 15.0, 0.5, port, pid, every=0.5))
    assert notes.wrong == []
    assert len(notes.reruns) >= 4
    assert all(server > 50 for _, server, _, _ in curve)
    assert max(server + workers for _, server, workers, _ in curve) < 3_000


def test_growth_is_the_last_quarter_less_the_one_before(script):
    flat = [(float(s), 500.0, 0.0, s) for s in range(101)]
    assert script.growth(flat) == 0
    leak = [(float(s), 500.0 + s, 0.0, s) for s in range(101)]
    assert script.growth(leak) == pytest.approx(25, abs=1)
