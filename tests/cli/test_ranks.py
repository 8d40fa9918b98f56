"""`--ranks`: how many ranks, or the numbers of those that take part."""

import json

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app

#: Commands that time a machine, of which `--ranks` chooses ranks.
COMMANDS = {
    "predict": ["predict", "allreduce", "--machine", "dgx-a100", "--nbytes", "1MiB"],
    "train": ["train", "resnet50", "--machine", "dgx-a100", "--batch", "64"],
    "upgrades": ["upgrades", "allreduce", "--machine", "dgx-a100"],
    "goodput": ["goodput", "resnet50", "--machine", "dgx-a100", "--batch", "64"],
}


def run_command(name, ranks):
    return CliRunner().invoke(app, [*COMMANDS[name], "--ranks", ranks])


@pytest.mark.parametrize("name", COMMANDS)
def test_two_ranks_on_one_gpu_are_refused_as_in_python(name):
    done = run_command(name, "0,0")
    with pytest.raises(cs.CollsimError) as refusal:
        cs.nccl.predict("allreduce", "dgx-a100", "1MiB", ranks=[0, 0])
    assert done.exit_code == 2
    assert done.stderr.strip() == f"collsim: {refusal.value}"


@pytest.mark.parametrize(("words", "ranks"), [("2", 2), ("0,1", [0, 1]), ("3, 0,1,2", [0, 1, 2, 3])])
def test_a_number_or_numbers_are_those_of_python(words, ranks):
    done = CliRunner().invoke(app, [*COMMANDS["predict"], "--ranks", words, "--json"])
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    assert row["time"] == cs.nccl.predict("allreduce", "dgx-a100", "1MiB", ranks=ranks).time


@pytest.mark.parametrize("words", ["0,x", "", "0,,1", "1.5", "0-3"])
def test_what_names_no_ranks_is_refused_with_an_example(words):
    done = run_command("predict", words)
    assert done.exit_code == 2
    assert f"--ranks {words!r}" in done.stderr
    assert "0,1" in done.stderr
