"""A stranger's rank program reaches no file, process or network, ends in time, and what it sends is read with care."""

import json

import numpy as np
import pytest

import collsim as cs
from collsim.rank_engine.record import unpack_executions
from collsim.sandbox import Isolation, Limits, detect_isolation, run_program

pytestmark = pytest.mark.skipif(detect_isolation() is Isolation.NONE, reason="needs a system with a sandbox")

REACH = """
def run(rank, size):
    import numpy as np
    os = np.lib._datasource.os
    found = []
    for attempt in (
        lambda: os.listdir("/root"),
        lambda: open_file(os, "/etc/passwd"),
        lambda: os.open("/tmp/written", 0o101),
        lambda: os.fork(),
        lambda: os.kill(os.getppid(), 9),
        lambda: os.system("true"),
    ):
        try:
            found.append(repr(attempt()))
        except Exception as error:
            found.append("refused " + type(error).__name__)
    return found

def open_file(os, name):
    return os.read(os.open(name, 0), 20)
"""


def test_what_reaches_out_is_refused():
    run = cs.program(REACH, 1, entry="run")
    assert run.verdict == "ends"
    *others, shell = run.results[0]
    assert all(answer.startswith("refused") for answer in others), others
    assert shell != "0", "a shell was started"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def run(rank, size):\n    while True:\n        pass\n", "Rank 0 is stopped in line 2 after 10,000,000 steps"),
        # what Python computes in one step is asked for its line when its time is over
        (
            "import numpy as np\ndef run(rank, size):\n    while True:\n        np.ones(1 << 22).sum()\n",
            "stopped in line",
        ),
        ("import itertools\ndef run(rank, size):\n    return -1 in itertools.count()\n", "it is in line 3"),
        ("def run(rank, size):\n    return [0] * 10**11\n", "MemoryError"),
        ("def run(rank, size):\n    return run(rank, size)\n", "RecursionError"),
        ("import os\ndef run(rank, size):\n    import sys\n    sys.exit(3)\n", "sys.exit(3)"),
    ],
)
def test_what_does_not_end_ends_in_a_sentence(source, message, monkeypatch):
    monkeypatch.setattr(run_program, "_LIMITS", Limits(seconds=3.0, memory=1 << 28, asks_for_line=True))
    try:
        said = cs.program(source, 2, entry="run").explanation()
    except cs.CollsimError as error:
        said = str(error)
    assert message in said


def test_too_many_messages_end_in_a_sentence():
    source = "import torch, torch.distributed as dist\ndef run(rank, size):\n    x = torch.zeros(1)\n    while True:\n"
    source += "        dist.isend(x, 1 - rank)\n"
    assert "20,000 messages" in cs.program(source, 2, entry="run").explanation()


GOOD = {
    "mode": [-1, False, []],
    "results": [{"array": 0}, [None, True, "x", 1.5]],
    "messages": [[0, 1, 0, 8, 0, None, 3, None]],
    "waits": [[0, "send", 3, [1], False, [["run", 3]], [], False]],
    "errors": [[1, "ValueError", "boo", 4, None, None], [0, "", "", 5, "steps", None]],
    "printed": ["", ""],
}
ARRAY = ["<f4", [2]]


def pack(execution, array=ARRAY, data=np.array([1, 2], "<f4").tobytes()):  # noqa: B008
    text = json.dumps({"executions": [execution], "arrays": [array]}).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_executions_are_read_and_what_is_none_is_refused():
    (execution,) = unpack_executions(pack(GOOD))
    assert execution.waits[0].frames[0].line == 3
    assert execution.results[0].tolist() == [1.0, 2.0]
    for name, value in [
        ("mode", [None, 1]),
        ("results", [{"array": 1}]),
        ("results", [{"array": [1]}]),
        ("results", [{}]),
        ("messages", [[0, 1, 0, "8", 0, None, 3, None]]),
        ("messages", [[0, 1]]),
        ("waits", [[0, 7, 3, [1], False, [], [], False]]),
        ("waits", [[0, "send", 3, [1], False, [], []]]),
        ("waits", [[0, "send", 3, [1], False, [], [], False, [0, "get"]]]),  # a shared object does not travel
        ("waits", {"a": 1}),
        ("errors", [[1, "a", "b", 1e99, None, None]]),
        ("errors", [[1, "a", "b", 1]]),
        ("errors", [[1, "a", "b", 1, "money", None]]),
        ("errors", [[1, "a", "b", 1, None, ["run"]]]),
        ("errors", [[1, "a", "b", 1, None, ["run", 7]]]),
        ("events", [[0, "send", "isend", 3]]),
        ("printed", 7),
        ("printed", [None]),
    ]:
        with pytest.raises(cs.CollsimError, match="no result"):
            unpack_executions(pack({**GOOD, name: value}))
    for array in (["O", [2]], ["<f4", [3]], ["<f4", ["2"]], ["<f4", [-1, -2]], ["<f4"], [], 7, ["<f4", [2**40, 2**40]]):
        with pytest.raises(cs.CollsimError, match="no result"):
            unpack_executions(pack(GOOD, array))
    for data in (
        b"",
        b"{}",
        b"[]",
        b"[1]",
        pack(None),
        b'{"executions": [], "arrays": []}',
        b"[" * 100_000,
        b"\xff",
        b"[null]",
    ):
        with pytest.raises(cs.CollsimError, match="no result"):
            unpack_executions(data)


def test_results_that_are_equal_are_one_array_and_others_stay_separate():
    run = cs.program("def run(rank, size):\n    import numpy as np\n    return np.float64(rank // 2)\n", 6, entry="run")
    assert [float(result) for result in run.results] == [0, 0, 1, 1, 2, 2]
    source = "import torch.distributed as dist\ndef allreduce(x):\n    dist.all_reduce(x)\n"
    run = cs.program(source, 64, "allreduce", nbytes="1MiB")  # 64 MiB of results, twice
    assert run.verdict == "right"
    assert all(result is run.results[0] for result in run.results)
