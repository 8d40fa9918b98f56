"""`collsim program`: a file or a function of it, a verdict, JSON, and an exit code."""

import json

import pytest
from typer.testing import CliRunner

from collsim.cli import app

HANG = """import torch
import torch.distributed as dist


def swap(send, recv):
    other = 1 - dist.get_rank()
    dist.send(send, other)
    dist.recv(recv, other)


def exchange(send, recv):
    other = 1 - dist.get_rank()
    work = dist.isend(send, other)
    dist.recv(recv, other)
    work.wait()
"""


def call(*words):
    return CliRunner().invoke(app, ["program", *map(str, words)])


def test_a_hang_names_ranks_and_lines_and_a_fixed_program_ends(tmp_path):
    path = tmp_path / "hang.py"
    path.write_text(HANG)
    hangs = call(f"{path}:swap", "--ranks", 2)
    assert hangs.exit_code == 1
    assert "Rank 0 waits in send (line 7) for rank 1" in hangs.output
    chinese = call(f"{path}:swap", "--ranks", 2, "--lang", "zh")
    assert "第 7 行" in chinese.output
    ends = call(f"{path}:exchange", "--ranks", 2, "--nbytes", "1KiB", "--json")
    assert ends.exit_code == 0
    record = json.loads(ends.stdout)
    assert (record["verdict"], record["sent"], record["cycle"]) == ("ends", [1024, 1024], None)
    assert [message["send_line"] for message in record["messages"]] == [13, 13]


def test_everything_around_the_output_of_a_program_is_in_the_chosen_language(tmp_path):
    path = tmp_path / "hang.py"
    path.write_text(HANG + "\n\ndef rank():\n    return dist.get_rank()\n")
    headings = ("Messages", "prints after", "returns")
    outputs = {
        language: "".join(
            call(f"{path}:{entry}", "--ranks", 2, "--language", language, "--timeout", "30s").output
            for entry in ("swap", "exchange", "rank")
        )
        for language in ("en", "zh")
    }
    assert [[heading in output for heading in headings] for output in outputs.values()] == [[True] * 3, [False] * 3]
    assert "rank 1 返回 1" in outputs["zh"]


def test_a_mistake_is_a_sentence(tmp_path):
    path = tmp_path / "two.py"
    path.write_text(HANG)
    for words, message in (
        ((path,), "say which of swap, exchange"),
        ((f"{path}:swapp",), "did you mean 'swap'"),
        ((tmp_path / "none.py",), "none.py"),
        ((f"{path}:swap", "--ranks", 0), "ranks=0"),
    ):
        result = call(*words)
        assert result.exit_code == 2, result.output
        assert message in result.stderr


def test_a_machine_and_a_late_rank_give_the_time(tmp_path):
    path = tmp_path / "hang.py"
    path.write_text(HANG)
    words = (f"{path}:exchange", "--ranks", 2, "--topology", "switch(2, bandwidth=1GB/s, alpha=1us)", "--json")
    plain, late = (json.loads(call(*words, *more).stdout) for more in ((), ("--late", "1=5ms")))
    assert late["time"] == pytest.approx(plain["time"] + 5e-3)
    assert late["messages"][0]["arrived"] <= late["time"]
    assert "late=7 is no rank" in call(f"{path}:exchange", "--ranks", 2, "--late", "7=1ms").stderr


def test_a_dump_is_written_and_read_again_and_logs_are_printed(tmp_path):
    path, dumps = tmp_path / "hang.py", tmp_path / "dumps"
    path.write_text(HANG)
    result = call(f"{path}:swap", "--ranks", 2, "--timeout", "30s", "--flight-recorder", dumps)
    assert "OpType=SEND" in result.output
    assert "Timed out waiting 30000ms for send operation" in result.output
    assert sorted(file.name for file in dumps.iterdir()) == ["trace_0", "trace_1"]
    report = CliRunner().invoke(app, ["hang", str(dumps / "trace_1"), str(dumps / "trace_0")])
    assert report.exit_code == 1
    assert "rank 0 in send (program.py:7) for rank 1" in report.output
    record = json.loads(CliRunner().invoke(app, ["hang", str(dumps), "--json"]).output)
    assert record["culprits"] == [0, 1]
    assert record["findings"][0]["kind"] == "cycle"
    ends = call(f"{path}:exchange", "--ranks", 2, "--flight-recorder", dumps)
    assert ends.exit_code == 0
    assert CliRunner().invoke(app, ["hang", str(dumps)]).exit_code == 0
