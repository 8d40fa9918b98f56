"""Compiled kernels: what is kept on disk is what stands in the files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import collsim

pytest.importorskip("numba")
TABLES = Path(collsim.__file__).parent / "simulate" / "kernels" / "tables.py"
CALLED = "from __future__ import annotations\nfrom .tables import inner\n\n@inner\ndef called(x: int) -> int:\n    return x + {}\n"
CALLER = """from __future__ import annotations
from .called import called
from .tables import compiled

@compiled
def caller(x: int) -> int:
    return called(x)
"""


def test_a_kernel_in_the_cache_is_made_again_when_one_that_it_calls_in_another_file_changes(tmp_path):
    """numba looks at the file of the caller alone, and would answer 11 twice."""
    room = tmp_path / "room"
    room.mkdir()
    (room / "__init__.py").touch()
    (room / "tables.py").write_text(TABLES.read_text())
    (room / "caller.py").write_text(CALLER)
    answers = []
    for more in (1, 1, 2):
        (room / "called.py").write_text(CALLED.format(more))
        asked = "from room.caller import caller; print(caller(10), sum(caller.stats.cache_hits.values()))"
        done = subprocess.run(
            [sys.executable, "-B", "-c", asked],
            env=os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(done.stdout.split())
    assert answers == [["11", "0"], ["11", "1"], ["12", "0"]]
