"""The study in `examples/cluster/` gives the same rows on processes, on Dask and over MPI, and its Slurm script is sound."""

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "cluster"
MPIEXEC = Path(sys.executable).parent / "mpiexec"
SHELLCHECK = shutil.which("shellcheck", path=Path(sys.executable).parent) or shutil.which("shellcheck")


def study(out, *words, before=(), how=()):
    """Runs the example as its first lines say; the rows that it wrote."""
    command = [*map(str, before), sys.executable, *how, str(EXAMPLE / "study.py"), *words, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"12 scenarios, 0 failed; written to {out}\n"
    return pd.read_csv(out).set_index("scenario").sort_index()


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The rows from processes of this computer."""
    return study(tmp_path_factory.mktemp("study") / "here.csv")


@pytest.mark.slow
@pytest.mark.skipif(not MPIEXEC.exists(), reason="the mpi extra is not installed")
def test_over_mpi(here, tmp_path):
    found = study(tmp_path / "mpi.csv", "--mpi", before=[MPIEXEC, "-n", "3"], how=["-m", "mpi4py.futures"])
    pd.testing.assert_frame_equal(found, here)


@pytest.mark.slow
def test_on_dask(here, tmp_path):
    distributed = pytest.importorskip("distributed", reason="the dask extra is not installed")
    one = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "protocol": "tcp", "dashboard_address": None}
    with distributed.LocalCluster(**one) as cluster:
        found = study(tmp_path / "dask.csv", "--dask", cluster.scheduler_address)
    pd.testing.assert_frame_equal(found, here)


@pytest.mark.skipif(SHELLCHECK is None, reason="shellcheck is not installed")
def test_the_slurm_script_is_sound(tmp_path):
    done = subprocess.run([SHELLCHECK, EXAMPLE / "study.sbatch"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    (tmp_path / "bad.sh").write_text("#!/bin/bash\ncd $1\nrm -rf $UNSET/*\n")
    assert subprocess.run([SHELLCHECK, tmp_path / "bad.sh"], capture_output=True, check=False).returncode == 1
