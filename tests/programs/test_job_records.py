"""Hangs of real jobs: Flight Recorder dumps and RAS outputs against simulated runs, and files that lie."""

import itertools
import json
import pickle
import random
import subprocess
import sys
import zipfile
from contextlib import suppress

import pytest

import collsim as cs

TORCH = "import torch\nimport torch.distributed as dist\nx = torch.ones(4)\nrank, n = dist.get_rank(), dist.get_world_size()\n"
#: Programs that hang; who is to blame, and the kind of the first finding.
HANGS = {
    "skipped": ("dist.all_reduce(x)\nif rank != 2:\n    dist.all_reduce(x)\n", "missing", (2,)),
    "other operation": (
        "dist.all_reduce(x)\nif rank == 2:\n    dist.barrier()\nelse:\n    dist.all_reduce(x)\n",
        "operation",
        (2,),
    ),
    "other root's operation": (
        "if rank == 1:\n    dist.reduce(x, 0)\nelse:\n    dist.broadcast(x, 0)\n",
        "operation",
        (1,),
    ),
    "size": ("x = torch.ones(4 + 4 * (rank == 3))\ndist.all_reduce(x)\n", "size", (3,)),
    "type": ("x = x.double() if rank == 0 else x\ndist.broadcast(x, 0)\n", "type", (0,)),
    "halves": ("if rank % 2:\n    dist.barrier()\nelse:\n    dist.all_reduce(x)\n", "operation", ()),
    "cycle": ("dist.send(x, (rank + 1) % n)\ndist.recv(x, (rank - 1) % n)\n", "cycle", (0, 1, 2, 3)),
    "no sender": ("if rank == 0:\n    dist.recv(x, 1)\n", "message", (1,)),
    "message of another size": (
        "if rank == 0:\n    dist.send(x, 1)\nelif rank == 1:\n    dist.recv(torch.zeros(4), 2)\n",
        "message",
        (2,),
    ),
    "groups": (
        "a, b = dist.new_group([0, 1]), dist.new_group([1, 2])\n"
        "if rank == 0:\n    dist.all_reduce(x, group=a)\n"
        "if rank == 1:\n    dist.all_reduce(x, group=b)\n    dist.all_reduce(x, group=a)\n"
        "if rank == 2:\n    dist.barrier()\n",
        "missing",
        (3,),
    ),
}


def save(run, folder, names="trace_{}"):
    folder.mkdir(exist_ok=True)
    for rank, data in run.flight_recorder().items():
        (folder / names.format(rank)).write_bytes(data)
    return sorted(folder.iterdir())


@pytest.mark.parametrize("name", HANGS)
def test_a_dump_gives_the_report_of_the_run_in_every_order_of_files(name, run_program, tmp_path):
    source, kind, culprits = HANGS[name]
    run = run_program(TORCH + source, 4)
    wanted = "hangs"
    if kind in ("size", "type"):
        wanted = "error"  # with gloo; NCCL hangs, or reduces garbage
    assert run.verdict == wanted
    assert (run.hang.findings[0].kind, run.hang.culprits) == (kind, culprits)
    files = save(run, tmp_path / "dumps")
    for order in itertools.permutations(files):
        assert cs.programs.load_hang(*order) == run.hang
    report = cs.programs.load_hang(tmp_path / "dumps")
    assert report.origin == "flight recorder"
    assert str(report) == str(run.hang)
    assert report.record == run.record


def test_lines_sizes_and_the_last_call_are_told(run_program):
    report = run_program(TORCH + HANGS["skipped"][0], 4).hang
    assert report.findings[0].number == 2
    assert report.findings[0].variants[0].ranks == (0, 1, 3)
    assert "program.py:7" in str(report)  # where the others wait
    assert "program.py:5" in str(report)  # the last call of rank 2
    assert "[8]" in str(run_program(TORCH + HANGS["size"][0], 4).hang)
    assert "第 2 次 all_reduce" in report.explanation("zh")


def test_a_program_that_ends_has_no_findings(run_program, tmp_path):
    run = run_program(
        TORCH + "dist.all_reduce(x)\nif rank == 0:\n    dist.send(x, 1)\nif rank == 1:\n    dist.recv(x, 0)\n", 3
    )
    assert run.hang.findings == ()
    assert cs.programs.load_hang(*save(run, tmp_path / "dumps")).findings == ()


def test_json_and_dumps_of_gloo_are_read(run_program, tmp_path):
    """Gloo writes the default group without its name, and leaves `scheduled` what has ended."""
    run = run_program(TORCH + HANGS["other operation"][0], 4)
    for rank, data in run.flight_recorder().items():
        document = pickle.loads(data)
        document["pg_config"] = {"": {"name": "", "desc": "", "ranks": "[0, 1, 2, 3]"}}
        for entry in document["entries"]:
            entry["profiling_name"] = entry["profiling_name"].replace("nccl", "gloo")
            entry["state"] = "scheduled"
            torch_frame = {"name": "f", "filename": "/x/site-packages/torch/distributed/distributed_c10d.py", "line": 1}
            entry["frames"].insert(0, torch_frame)
        (tmp_path / f"dump_{rank}.json").write_text(json.dumps(document))
    assert cs.programs.load_hang(tmp_path) == run.hang


def test_a_rank_without_a_file_is_named_and_not_blamed(run_program, tmp_path):
    files = save(run_program(TORCH + HANGS["skipped"][0], 4), tmp_path / "dumps")
    report = cs.programs.load_hang(*files[:2])
    assert report.unread == (2, 3)
    assert report.culprits == ()
    assert "2, 3" in str(report)
    assert "Nothing in it waits" not in str(cs.programs.load_hang(files[0]))


def test_the_ring_of_a_recorder_may_have_lost_old_calls(run_program, tmp_path):
    run = run_program(TORCH + "for _ in range(6):\n    dist.all_reduce(x)\nif rank:\n    dist.barrier()\n", 3)
    for rank, data in run.flight_recorder().items():
        document = pickle.loads(data)
        document["entries"] = document["entries"][rank + 1 :]
        (tmp_path / f"trace_{rank}").write_bytes(pickle.dumps(document, protocol=4))
    report = cs.programs.load_hang(tmp_path)
    assert report.findings == run.hang.findings
    assert report.culprits == (0,)


def test_what_all_have_called_and_nobody_ended_is_no_fault_of_the_program(tmp_path, run_program):
    run = run_program(TORCH + "dist.all_reduce(x)\n", 3)
    for rank, data in run.flight_recorder().items():
        document = pickle.loads(data)
        document["entries"][0]["state"] = "started"
        document["pg_status"]["0"]["last_completed_collective"] = -1
        (tmp_path / f"trace_{rank}").write_bytes(pickle.dumps(document, protocol=2))
    (finding,) = cs.programs.load_hang(tmp_path).findings
    assert (finding.kind, finding.ranks) == ("unfinished", ())


# ---- files that lie


class Attack:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_dumps_in_a_zip_are_asked_for_without_it(tmp_path):
    path = tmp_path / "flight-recorder.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("trace_0", b"")
    with pytest.raises(cs.FormatError, match="unpack it"):
        cs.programs.load_hang(path)


def test_a_dump_that_calls_something_is_refused_and_calls_nothing(tmp_path):
    victim = tmp_path / "victim"
    for protocol in range(6):
        file = tmp_path / f"trace_{protocol}"
        file.write_bytes(pickle.dumps({"entries": [Attack(victim)]}, protocol))
        with pytest.raises(cs.FormatError, match=r"pickle|neither"):
            cs.programs.load_hang(file)
    assert not victim.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02r\xff\xff\xff\x7f.",  # a memo of 16 GiB in the unpickler of C
        b"\x80\x02}" + b"(" * 100_000 + b".",
        b"\x80\x02)q\x00" + b"h\x00\x86q\x00" * 60 + b"}h\x00K\x01s.",  # a key whose hash takes forever
        b"\x80\x02X\xff\xff\xff\x7fab.",
        b"\x80\x02}X\x07\x00\x00\x00entries]K\x01as.",
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f}.",
        b"\x80",
    ],
)
def test_a_damaged_pickle_ends_in_a_sentence(data, tmp_path):
    file = tmp_path / "trace_0"
    file.write_bytes(data)
    with pytest.raises(cs.FormatError):
        cs.programs.load_hang(file)


def test_any_byte_of_a_dump_may_be_wrong(run_program, tmp_path):
    data = run_program(TORCH + HANGS["groups"][0], 4).flight_recorder()[1]
    rng, file = random.Random(3), tmp_path / "trace_1"
    for _ in range(400):
        damaged = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        file.write_bytes(damaged)
        with suppress(cs.CollsimError):
            assert len(str(cs.programs.load_hang(file))) < 4_000


def test_files_that_do_not_belong_together_are_refused(run_program, tmp_path):
    files = save(run_program(TORCH + HANGS["cycle"][0], 2), tmp_path / "dumps")
    again = tmp_path / "copy_1"
    again.write_bytes(files[1].read_bytes())
    with pytest.raises(cs.FormatError, match="rank 1"):
        cs.programs.load_hang(*files, again)
    nameless = tmp_path / "trace"
    nameless.write_bytes(files[1].read_bytes())
    with pytest.raises(cs.FormatError, match="ends in its rank"):
        cs.programs.load_hang(nameless)
    ras = tmp_path / "ras.txt"
    ras.write_text(RAS)
    with pytest.raises(cs.CollsimError, match="one kind"):
        cs.programs.load_hang(ras, *files)
    with pytest.raises(cs.CollsimError, match="give the files"):
        cs.programs.load_hang()
    with pytest.raises(cs.CollsimError, match="does not import"):
        cs.program("def run(rank, size):\n    pass\n", 2).flight_recorder()


# ---- RAS: the example of NCCL's documentation, which lists the outliers

RAS = """\
Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4         8        32        32   RUNNING  MISMATCH

Warnings
========

#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different AllReduce operation counts
  26 ranks have launched up to operation 6650
  6 ranks have launched up to operation 6649
  Rank 0 -- GPU 0 managed by process 483072 on node 172.16.64.210
  Rank 2 -- GPU 2 managed by process 483074 on node 172.16.64.210
  Rank 3 -- GPU 3 managed by process 483075 on node 172.16.64.210
  Rank 4 -- GPU 4 managed by process 483076 on node 172.16.64.210
  Rank 5 -- GPU 5 managed by process 483077 on node 172.16.64.210
  Rank 7 -- GPU 7 managed by process 483079 on node 172.16.64.210
"""


def read_ras(tmp_path, *texts):
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / f"ras-{number}.txt")
        files[-1].write_text(text)
    report = cs.programs.load_hang(*files)
    assert report == cs.programs.load_hang(*reversed(files))
    return report


def test_ras_names_the_ranks_behind(tmp_path):
    report = read_ras(tmp_path, RAS)
    (finding,) = report.findings
    assert (finding.kind, finding.operation, finding.number) == ("missing", "AllReduce", 6650)
    assert report.culprits == (0, 2, 3, 4, 5, 7)
    assert set(finding.variants[0].ranks) == set(range(32)) - set(report.culprits)
    assert report.ranks == 32
    assert read_ras(tmp_path, RAS, RAS).findings == report.findings


def test_counts_that_change_between_queries_belong_to_a_job_that_runs(tmp_path):
    report = read_ras(tmp_path, RAS, RAS.replace("6650", "6652").replace("6649", "6651"))
    assert [finding.kind for finding in report.findings] == ["moving"]
    assert report.culprits == ()


def test_ras_with_a_single_rank_with_silent_ranks_and_with_unnamed_ones(tmp_path):
    single = "#1-2 (0a) MISMATCH\n  Communicator ranks have different AllGather operation counts\n"
    single += (
        "  3 ranks have launched up to operation 9\n  Rank 1 has not launched any operations -- GPU 1 managed by x\n"
    )
    assert read_ras(tmp_path, single).culprits == (1,)
    silent = "Errors\n======\n\n#0-0 (cf264af53edbe986) INCOMPLETE\n  Missing communicator data from 1 rank\n"
    silent += "  The missing rank: 21\n"
    (finding,) = read_ras(tmp_path, silent).findings
    assert (finding.kind, finding.ranks) == ("silent", (21,))
    unnamed = RAS.partition("  Rank 0")[0]
    report = read_ras(tmp_path, unnamed)
    assert report.culprits == ()
    assert "6649 times: 6 ranks" in str(report)


def test_counts_that_ras_does_not_list_are_said_to_differ(tmp_path):
    text = "#0-0 (0a) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
    report = read_ras(tmp_path, text)
    assert report.culprits == ()
    assert "AllReduce" in str(report)


def test_ranks_that_called_another_operation_in_its_place(tmp_path):
    text = "#0-0 (0a) MISMATCH\n"
    for operation, low, high in (("AllReduce", "1 ranks", "3 ranks"), ("Broadcast", "3 ranks", "1 ranks")):
        text += f"  Communicator ranks have different {operation} operation counts\n"
        for count, calls in ((high, 7), (low, 6)):
            if count.startswith("1"):
                text += f"  Rank 2 has launched up to operation {calls} -- GPU 2 managed by process 3 on node a\n"
            else:
                text += f"  {count} have launched up to operation {calls}\n"
    text = "Group Comms\n    0         1         1         4         4         4   RUNNING  MISMATCH\n" + text
    report = read_ras(tmp_path, text)
    assert (report.findings[0].kind, report.culprits) == ("operation", (2,))
    assert [variant.value for variant in report.findings[0].variants] == ["AllReduce", "Broadcast"]


def test_json_of_ras_has_all_counts(tmp_path):
    ranks = [{"rank": r, "collective_counts": {"AllReduce": 5 - (r == 2), "Broadcast": 1}} for r in (0, 1, 2)]
    missing = [{"rank": 3, "status": {"unresponsive": True}}]
    document = {"communicators": [{"hash": "0xae", "size": 4, "ranks": ranks, "missing_ranks": missing}]}
    file = tmp_path / "ras.json"
    file.write_text(json.dumps(document))
    report = cs.programs.load_hang(file)
    assert {finding.kind: finding.ranks for finding in report.findings} == {"silent": (3,), "missing": (2,)}
    document["communicators"][0]["ranks"][0]["collective_counts"]["AllReduce"] = "five"
    file.write_text(json.dumps(document))
    with pytest.raises(cs.FormatError, match="whole numbers"):
        cs.programs.load_hang(file)


# ---- what libraries print


def test_the_watchdog_prints_each_ranks_own_call():
    run = cs.program(TORCH + HANGS["other operation"][0], 4, timeout="30s")
    (log,) = run.timeout_logs
    assert log.library == "NCCL"
    assert (
        "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=4, "
        "NumelOut=4, Timeout(ms)=30000) ran for 30000 milliseconds before timing out." in log.ranks[0]
    )
    assert "OpType=ALLREDUCE, NumelIn=1, NumelOut=1" in log.ranks[2]  # a barrier is one of one number
    assert "last enqueued work: 2, last completed work: 1" in log.ranks[2]
    assert "[PG ID 0 PG GUID 0(default_pg) Rank 2]" in log.ranks[2]


def test_gloo_and_the_launchers_of_mpi_say_how_long_they_waited(run_program):
    run = cs.program(TORCH + HANGS["cycle"][0], 3, timeout=6)
    assert [log.library for log in run.timeout_logs] == ["NCCL", "gloo"]
    assert "Timed out waiting 6000ms for send operation to complete" in run.timeout_logs[1].ranks[1]
    source = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\ncomm.recv(source=1 - comm.rank)\n"
    logs = cs.program(source, 2, timeout="3s").timeout_logs
    assert [log.library for log in logs] == ["MPICH", "Open MPI"]
    assert "APPLICATION TIMED OUT, TIMEOUT = 3s" in str(logs[0])
    assert "Timeout: 3 seconds" in str(logs[1])
    assert cs.program("def run(rank):\n    pass\n", 2).timeout_logs == ()
    with pytest.raises(cs.CollsimError, match="more than 0"):
        cs.program("def run(rank):\n    pass\n", 2, timeout=0)


# ---- torch itself


@pytest.mark.slow
def test_torchs_analyzer_reads_our_dumps_and_we_read_those_of_torch(run_program, tmp_path):
    pytest.importorskip("torch", reason="torch is an extra")
    run = run_program(TORCH + HANGS["other operation"][0], 4)
    save(run, tmp_path / "ours")
    script = "from torch.distributed.flight_recorder.fr_trace import main; main()"
    words = [sys.executable, "-c", script, str(tmp_path / "ours"), "-p", "trace_"]
    result = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    text = result.stdout + result.stderr
    assert "Culprit rank 2; Error type: COLLECTIVE_TYPE_MISMATCH" in text
    assert "program.py:8" in text or "program.py:9" in text
    (tmp_path / "theirs").mkdir()
    source = GLOO.format(program=HANGS["other operation"][0].replace("\n", "\n        "), folder=tmp_path / "theirs")
    file = tmp_path / "job.py"
    file.write_text(source)
    subprocess.run([sys.executable, str(file)], check=True, timeout=120)
    report = cs.programs.load_hang(tmp_path / "theirs")
    assert (report.findings[0].kind, report.culprits) == ("operation", (2,))
    assert "job.py" in str(report)


GLOO = """
import datetime, multiprocessing, os, tempfile
import torch, torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace

def run(rank, n, store):
    os.environ["TORCH_FR_BUFFER_SIZE"] = "2000"
    dist.init_process_group(
        "gloo", init_method="file://" + store, rank=rank, world_size=n, timeout=datetime.timedelta(seconds=5)
    )
    x = torch.ones(4)
    try:
        {program}
    except RuntimeError:
        pass
    with open(f"{folder}/dump_{{rank}}", "wb") as file:
        file.write(_dump_fr_trace())
    os._exit(0)

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        ranks = [multiprocessing.Process(target=run, args=(rank, 4, folder + "/store")) for rank in range(4)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
"""
