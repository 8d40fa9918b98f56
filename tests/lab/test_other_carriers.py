"""MPI, Gloo, this computer as a machine, other computers: small runs, skipped with a sentence where a library is missing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app as commands
from collsim.lab.hosts import PROGRAM, TRACE, read_traces, write_program
from collsim.lab.library_allreduce import GLOO_RING, _sum_as_gloo_ring, find_published_choices, time_library_allreduce
from collsim.lab.mpiexec import require_library
from collsim.lab.ranks.pingpong import PIPE, SHARED, SOCKET
from collsim.lab.this_computer import MeasuredPipe, MeasuredRing, ThisComputer, _measure_best, _start_partner


def needs(on):
    try:
        require_library(on)
    except cs.CollsimError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("on", ["mpi", "gloo"])
def test_a_library_s_messages_carry_a_schedule_to_the_same_numbers(on):
    needs(on)
    found = cs.run_for_real(cs.schedule("allreduce_ring", ranks=3), "12KiB", on=on, time_limit="120s")
    assert (found.measured.on, found.measured.wrong, found.measured.checked) == (on, 0, 3 * 3072)
    assert (found.finish >= found.start).all() or on == "mpi"


def test_mpi_rounds_as_an_algorithm_that_mpich_publishes():
    needs("mpi")
    found = time_library_allreduce("mpi", 4, repeat=1)
    ours = {name for _, name in find_published_choices("mpi", 4, found.nbytes).values()}
    assert ours & set(found.rounds_as), found.differs  # with the MPICH wheel: halving and doubling
    assert found.differs["allreduce_ring"] > 1000


def test_gloo_s_ring_adds_each_block_from_the_rank_before_it_downwards():
    """3 elements in blocks of 2: the first is ranks 2, 1, 0, so -1e8 + 1 = -1e8 loses the 1; the second 0, 2, 1."""
    data = np.repeat(np.array([[1e8], [1], [-1e8]], np.float32), 3, axis=1)
    assert _sum_as_gloo_ring(data).tolist() == [0, 0, 1]


def test_gloo_rounds_as_its_ring_and_as_none_of_ours():
    needs("gloo")
    found = time_library_allreduce("gloo", 4, repeat=1, time_limit="120s")
    assert found.rounds_as == (GLOO_RING,)


def test_the_allreduce_of_a_library_ends_when_its_time_is_up():
    needs("mpi")
    found = CliRunner().invoke(commands, ["real-library", "--ranks", "2", "--time-limit", "50ms"])
    assert (found.exit_code, "the time is up, and mpiexec has not ended" in found.output) == (2, True)
    mine = psutil.Process().children(recursive=True)
    assert not [one for one in mine if "by_mpi" in " ".join(one.cmdline()) or "mpiexec" in one.name()]


def test_an_mpiexec_that_refuses_is_quoted_and_open_mpi_may_start_more_ranks_than_cores(tmp_path, monkeypatch):
    needs("mpi")
    fake = tmp_path / "mpiexec"
    dashes, told = "-" * 74, '"map $PRTE_MCA_rmaps_default_mapping_policy,"'
    lines = (dashes, told, "it refuses to.", "", "Other advice.", dashes)  # as Open MPI 5 writes to stderr
    fake.write_text("#!/bin/sh\n" + "".join(f"echo {line} >&2\n" for line in lines) + "exit 7\n")
    fake.chmod(0o755)
    monkeypatch.setattr("collsim.lab.mpiexec._find_mpiexec", lambda: str(fake))
    with pytest.raises(cs.CollsimError, match=r"mpiexec ended with 7: map :oversubscribe, it refuses to\.$"):
        cs.run_for_real(cs.schedule("allreduce_ring", ranks=2), "4KiB", on="mpi")


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setattr("collsim.lab.mpiexec.find_spec", lambda name: None)
    for on, room in (("mpi", "collsim\\[mpi\\]"), ("gloo", "collsim\\[torch\\]")):
        with pytest.raises(cs.CollsimError, match=room):
            cs.run_for_real(cs.schedule("allreduce_ring", ranks=2), "4KiB", on=on)


# ---- this computer


def test_a_ping_pong_goes_over_each_pipe():
    with _start_partner() as partner:
        for way in (PIPE, SOCKET, SHARED):
            assert 0 < _measure_best(partner, way, 1024) < 1.0
    assert partner.poll() is not None


def computer(*apart):
    rings = tuple(MeasuredRing(n, 1.0, 1.0 + by) for n, by in zip((2, 4, 8), apart, strict=False))
    return ThisComputer(2, (MeasuredPipe("pipe", 1e-6, 1e9), MeasuredPipe("ranks", 2e-4, 1e8)), rings)


def test_processes_are_predictable_as_long_as_all_before_are():
    assert [computer(*apart).predictable for apart in ((0.1, 0.2, 2), (0.5, 0.1, 0.1), (0, 0, -0.2))] == [4, 0, 8]
    assert "up to 4 processes, 2 on each processor" in computer(0.1, 0.2, 2).verdict()
    assert "no number" in computer(0.5).verdict()
    assert "all that were tried, up to 8" in computer(0, 0, 0).verdict()


def test_the_machine_file_is_read_by_every_entry_point(tmp_path):
    path = tmp_path / "this-computer.yaml"
    computer(0.1, 0.2, 2).save(path)
    network = cs.load_topology(path)
    assert (network.name, network.ranks) == ("this-computer", 4)
    t = cs.simulate(cs.schedule("allreduce_ring", topology=network), network, "1MiB")
    assert t.time == pytest.approx(6 * (2e-4 + 2**18 / 1e8))


# ---- other computers


PLAN = cs.schedule("allreduce_ring", ranks=2)
HOSTS = ["real", "allreduce_ring", "--ranks", "2", "--nbytes", "4KiB", "--hosts", "a,b"]


def test_the_line_names_the_hosts_and_strange_names_are_refused(tmp_path):
    job = write_program(PLAN, "4KiB", tmp_path, ["a", "b"])
    for language, word in (("en", "copy it to the computers"), ("zh", "把它复制到各台计算机")):
        said = CliRunner().invoke(commands, [*HOSTS, "--folder", str(tmp_path), "--lang", language]).output
        assert said == job.text(language) + "\n"
        assert word in said
        assert f"  {job.lines[0]}\n" in said
    assert job.lines == (f"mpiexec -n 2 --host a,b python3 {PROGRAM}",)
    four = write_program(cs.schedule("allreduce_ring", ranks=4), "4KiB", tmp_path, ["a", "b"]).lines
    assert four == (f"mpiexec -n 4 --host a:2,b:2 python3 {PROGRAM}",)  # Open MPI takes a bare name for one rank
    lines = write_program(PLAN, "4KiB", tmp_path, ["a", "b"], "torch").lines
    assert len(lines) == 2
    assert all("--nnodes=2 --nproc-per-node=1" in line for line in lines)
    for strange in (["a;rm"], ["-x"], [""], ["a b"], []):
        with pytest.raises(cs.CollsimError, match="host"):
            write_program(PLAN, "4KiB", tmp_path, strange)
    with pytest.raises(cs.CollsimError, match="do not share"):
        write_program(PLAN, "4KiB", tmp_path, ["a", "b", "c"])


@pytest.fixture
def traces(tmp_path):
    """What two ranks wrote, run here."""
    needs("mpi")
    write_program(PLAN, "4KiB", tmp_path, ["here"], repeat=2)
    mpiexec = Path(sys.executable).parent / "mpiexec"
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([mpiexec, "-n", "2", sys.executable, PROGRAM], cwd=tmp_path, check=True, timeout=100, env=bare)
    return tmp_path


def test_what_comes_back_is_a_trace_next_to_its_prediction(traces):
    found = read_traces(PLAN, "4KiB", traces, 1e-5, 1e9)
    assert len(found.times) == 2
    assert found.measured.checked == 2 * 2 * 1024
    assert found.predicted.time == pytest.approx(2 * (1e-5 + 2048 / 1e9))
    for change, said in (
        ({"schema": "x"}, "no trace of a rank"),
        ({"rank": 1}, "another run is asked for"),
        ({"runs": [{}]}, "not moments"),
        ({"runs": []}, "replay has not"),
    ):
        path = traces / TRACE.format(rank=0)
        whole = path.read_text()
        path.write_text(json.dumps(json.loads(whole) | change))
        with pytest.raises(cs.FormatError, match=said):
            read_traces(PLAN, "4KiB", traces)
        path.write_text(whole)
    (traces / TRACE.format(rank=1)).unlink()
    with pytest.raises(cs.FormatError, match="no file"):
        read_traces(PLAN, "4KiB", traces)
