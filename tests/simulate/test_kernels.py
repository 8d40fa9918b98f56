"""Compiled kernels: what is kept on disk is what stands in the files, and no index counts from the end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import collsim

pytest.importorskip("numba")
TABLES = Path(collsim.__file__).parent / "simulate" / "kernels" / "kernel_records.py"
CALLED = "from __future__ import annotations\nfrom .kernel_records import compile_inner\n\n@compile_inner\ndef called(x: int) -> int:\n    return x + {}\n"
CALLER = """from __future__ import annotations
from .called import called
from .kernel_records import compile_kernel

@compile_kernel
def caller(x: int) -> int:
    return called(x)
"""


@pytest.mark.slow
def test_a_kernel_in_the_cache_is_made_again_when_one_that_it_calls_in_another_file_changes(tmp_path):
    """numba looks at the file of the caller alone, and would answer 11 twice."""
    room = tmp_path / "room"
    room.mkdir()
    (room / "__init__.py").touch()
    (room / "kernel_records.py").write_text(TABLES.read_text().replace("from ...dtypes", "from collsim.dtypes"))
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


def test_compiled_an_index_is_taken_as_it_is_and_never_counts_from_the_end():
    """numba asks at every access; that it does not is a quarter of the engine's speed."""
    code = (
        "from __future__ import annotations\nimport numpy as np\nfrom collsim.simulate.kernels import kernel_records\n"
        "def at(values: Ints, i: int) -> int:\n    return values[i]\n"
        "values = np.array([7, 8, 9], np.int32)\nprint(kernel_records.compile_kernel(at)(values[1:], -1))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=TABLES.parents[3], capture_output=True, text=True, check=True
    )
    assert done.stdout == "7\n"


WATCHED = """
import os, sys
os.environ["NUMBA_DISABLE_JIT"] = "1"
sys.path.insert(0, {here!r})
import numpy as np
from event_cases import network, on_six, irregular
import collsim as cs
from collsim.simulate.kernels import gates, queue, walk

class Watched(np.ndarray):
    def __getitem__(self, i):
        if (min(i) if type(i) is tuple else i) < 0:
            raise IndexError("counts from the end")
        return super().__getitem__(i)

    def __setitem__(self, i, value):
        if (min(i) if type(i) is tuple else i) < 0:
            raise IndexError("counts from the end")
        super().__setitem__(i, value)

for kernels, name in ((gates, "build"), (queue, "run_until"), (walk, "walk_in_order"), (walk, "lay_out"), (walk, "sum_up")):
    def watched(*given, plain=getattr(kernels, name)):
        return plain(*[x.view(Watched) if isinstance(x, np.ndarray) else x for x in given])
    setattr(kernels, name, watched)

{extra}
rng = np.random.default_rng(7)
src, on = rng.integers(0, 6, 40), rng.integers(1, 6, 40)
flows = list(zip(src, (src + on) % 6, rng.integers(0, 10**6, 40), rng.choice([0, 1e-5, 2e-5], 40)))
for name in ("allreduce_ring", "alltoall_direct"):
    for sharing in ("fair", "fifo", "none"):
        for options in ({{}}, {{"jitter": 1e-6, "gamma": 1e10}}, {{"eager": sharing != "fifo", "late": {{2: 1e-5}}}}):
            for topo in (irregular(3), network("ring", 6)):
                trace = cs.simulate(on_six(name), topo, 100_003, engine="event", sharing=sharing, background=flows,
                                    shortcuts=False, **options)
                trace.segments
print("watched")
"""


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("", ""),
        (
            "own = gates.open_gate; queue.open_gate = lambda table, *a: (table[-1, 0], own(table, *a))[1]",
            "from the end",
        ),
    ],
    ids=["the kernels", "one that does"],
)
@pytest.mark.slow
def test_no_kernel_has_an_index_that_counts_from_the_end(extra, said):
    """Compiled, it would read what lies before the table. Plain Python says so, and the watch itself is seen to work."""
    code = WATCHED.format(here=str(Path(__file__).parent), extra=extra)
    done = subprocess.run([sys.executable, "-c", code], cwd=TABLES.parents[3], capture_output=True, text=True)
    assert (said in done.stderr and done.stdout == "") if said else done.stdout == "watched\n", done.stderr
