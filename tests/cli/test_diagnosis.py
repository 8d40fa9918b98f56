"""`collsim diagnose`: the report, the document, the exit code."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app

JOB = Path(__file__).parents[2] / "examples" / "slow-job"


def call(*words):
    return CliRunner().invoke(app, ["diagnose", *map(str, words)])


def test_a_folder_gives_cause_line_and_fix_and_ends_with_1():
    result = call(JOB)
    assert result.exit_code == 1
    assert "nccl.log:4: " in result.output
    assert "NCCL_P2P_LEVEL" in result.output


def test_the_document_is_that_of_python():
    document = json.loads(call(*sorted(JOB.iterdir()), "--json").output)
    assert document == json.loads(cs.diagnose(*sorted(JOB.iterdir())).to_json())
    assert document == json.loads(cs.diagnose(JOB).to_json())


def test_a_healthy_piece_ends_with_0(tmp_path):
    text = tmp_path / "sysctl.txt"
    text.write_text("kernel.numa_balancing = 0\n")
    assert call(text).exit_code == 0


@pytest.mark.parametrize(("name", "mark"), [("report.md", "# "), ("report.html", "<h1>")])
def test_a_report_is_written_in_the_language_that_is_asked_for(tmp_path, name, mark):
    call(JOB, "-o", tmp_path / name, "--lang", "zh")
    written = (tmp_path / name).read_text(encoding="utf-8")
    assert written.startswith(mark)
    assert "P2P 被环境变量关闭" in written


def test_other_endings_are_refused_before_anything_is_read(tmp_path):
    result = call(tmp_path / "nothing.log", "-o", tmp_path / "report.pdf")
    assert result.exit_code == 2
    assert not (tmp_path / "report.pdf").exists()
