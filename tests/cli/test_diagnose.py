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


def test_the_cost_of_a_step_of_training_is_that_of_python():
    result = call(JOB, "--model", "resnet50", "--batch", "512", "--json")
    assert json.loads(result.output) == json.loads(cs.diagnose(JOB, model="resnet50", batch=512).to_json())
    assert json.loads(result.output)["cost"]["training"]["batch"] == 512


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


def write_nodes(folder, rates):
    for number, rate in enumerate(rates):
        (folder / f"node{number}").mkdir()
        text = f"CA 'mlx5_0'\n\tState: Active\n\tRate: {rate}\n\tLink layer: InfiniBand\n"
        (folder / f"node{number}" / "ibstat.txt").write_text(text)
    return folder


def test_nodes_of_a_folder_are_compared_and_an_odd_one_ends_with_1(tmp_path):
    result = call(write_nodes(tmp_path, [400, 400, 200, 400]), "--json")
    assert result.exit_code == 1
    assert json.loads(result.output)["odd_nodes"] == ["node2"]


def test_nodes_that_are_alike_end_with_0(tmp_path):
    assert call(write_nodes(tmp_path, [400, 400, 400])).exit_code == 0


def test_a_fleet_is_one_folder(tmp_path):
    assert call(*write_nodes(tmp_path, [400, 400, 400]).iterdir(), "--fleet").exit_code == 2
    assert call(tmp_path, "--job").exit_code == 2
