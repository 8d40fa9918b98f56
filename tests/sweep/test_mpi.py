"""A sweep over MPI processes, with a real `mpiexec`: `mpi4py.futures` is an executor like any other."""

import subprocess
import sys
from pathlib import Path

import pytest

MPIEXEC = Path(sys.executable).parent / "mpiexec"
SCRIPT = """
import collsim as cs
from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor

def rank(_):
    return MPI.COMM_WORLD.rank

if __name__ == "__main__":
    given = ("allreduce", ["allreduce_ring", "allreduce_tree"], [f"switch({n})" for n in (4, 8, 16)], ["1KiB", "1MiB"])
    with MPIPoolExecutor() as pool:
        elsewhere = set(pool.map(rank, range(32)))
        frame = cs.sweep(*given, executor=pool)
    print(0 in elsewhere, MPI.COMM_WORLD.size, len(frame), frame.error.isna().all(), frame.equals(cs.sweep(*given)))
"""


@pytest.mark.skipif(not MPIEXEC.exists(), reason="the mpi extra is not installed")
def test_mpi_processes_give_the_same_table_as_one(tmp_path):
    pytest.importorskip("mpi4py", reason="the mpi extra is not installed")
    script = tmp_path / "sweep_over_mpi.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [MPIEXEC, "-n", "3", sys.executable, "-m", "mpi4py.futures", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.split() == ["False", "3", "12", "True", "True"], done.stderr
