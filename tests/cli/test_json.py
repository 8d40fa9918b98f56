"""`--json`: every command has it but the one that serves, and prints one document of plain values on stdout."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import make_output_schemas
import numpy as np
import pandas as pd
import pytest
from every_command import COMMANDS, SERVE
from jsonschema import Draft202012Validator
from sampling import sample
from typer.main import get_command
from typer.testing import CliRunner

import collsim.lab.this_computer as here
from collsim.cli import app
from collsim.cli.output import to_plain


def registered():
    """Names of all commands, as `collsim --help` lists them."""
    group = get_command(app)
    assert group.get_command(None, "no such command") is None  # every module has been asked
    assert sorted(group.commands) == sorted(group.list_commands(None))
    return list(group.commands)


def test_every_command_but_the_server_is_tried_here():
    assert sorted(registered()) == sorted([*COMMANDS, *SERVE])


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_one_document(name, folder):
    done = CliRunner().invoke(app, [name, *COMMANDS[name], "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)
    assert "NaN" not in done.stdout
    jsonschema.validate(json.loads(done.stdout), read_schema(name))


def read_schema(name):
    return json.loads((make_output_schemas.FOLDER / f"{name}.json").read_text("utf-8"))


def test_every_command_has_a_schema():
    files = {path.stem for path in make_output_schemas.FOLDER.iterdir()}
    assert files == set(COMMANDS)
    for name in files:
        Draft202012Validator.check_schema(read_schema(name))


#: Calls of which no schema knows.
OTHERS = [
    ["run", "allreduce_double_binary_tree", "--machine", "dgx-h100", "--nodes", "2", "--nbytes", "1GiB"],
    ["run", "alltoall_direct", "--machine", "pcie-8gpu", "--no-p2p"],
    ["compare", "reduce_scatter", "--machine", "dgx-1v", "--nbytes", "1MiB"],
    ["predict", "reduce_scatter", "--machine", "polaris", "--nodes", "3", "--nbytes", "64MiB"],
    ["train", "vgg16", "--machine", "dgx-1v", "--batch", "256", "--parallel", "zero(1)"],
    ["upgrades", "vgg16", "--machine", "dgx-1v", "--nodes", "2", "--batch", "512", "--part", "nic", "--price", "nic=1000"],
    ["inference", "mixtral-8x7b", "--machine", "dgx-a100", "--nodes", "2", "--tensor", "2", "--expert", "8"],
    ["goodput", "vgg16", "--machine", "dgx-1v", "--batch", "256", "--checkpoint", "10s", "--gpu-mtbf", "50000"],
    ["show", "allgather_ring", "--ranks", "5"],
    ["verify", "alltoall_direct", "--ranks", "2:4"],
    ["synthesize", "allgather", "--topology", "switch(3)"],
    ["train-pipeline", "3", "--microbatches", "4"],
    ["nccl-diff", "2.19", "2.23", "--machine", "dgx-a100", "--nodes", "2"],
]  # fmt: skip


@pytest.mark.parametrize("words", sample(OTHERS, 4), ids=" ".join)
def test_a_call_that_made_no_schema_keeps_to_it(words):
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    jsonschema.validate(json.loads(done.stdout), read_schema(words[0]))


def test_a_schema_refuses_a_lost_property_and_another_type():
    document = json.loads(CliRunner().invoke(app, ["run", *COMMANDS["run"], "--json"]).stdout)
    schema = read_schema("run")
    for wrong in ({"time": "1 ms"}, {"links": {}}, {"ranks": 1.5}):
        assert not Draft202012Validator(schema).is_valid(document | wrong), wrong
    for name in ("time", "links", "bottleneck"):
        assert not Draft202012Validator(schema).is_valid({key: document[key] for key in document if key != name})
    assert Draft202012Validator(schema).is_valid(document | {"of a later version": 1})


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_schema_is_what_its_examples_have_in_common(name):
    with make_output_schemas.enter_example_folder():
        written = make_output_schemas.write_text(name)
    assert (make_output_schemas.FOLDER / f"{name}.json").read_text("utf-8") == written, (
        "python docs/make_output_schemas.py"
    )


def test_without_json_a_command_talks_to_people(folder):
    for name in ("list", "run", "calibrate", "train-pipeline"):
        done = CliRunner().invoke(app, [name, *COMMANDS[name]])
        assert done.exit_code == 0
        with pytest.raises(json.JSONDecodeError):
            json.loads(done.stdout)


def test_this_computer_is_measured_as_a_document_too(monkeypatch):
    pipes, rings = (here.MeasuredPipe("ranks", 1e-5, 1e9),), (here.MeasuredRing(2, 0.1, 0.2),)
    monkeypatch.setattr(here, "calibrate_computer", lambda report_progress=None: here.ThisComputer(4, pipes, rings))
    said = json.loads(CliRunner().invoke(app, ["calibrate", "--here", "--json"]).stdout)
    assert said == {
        "processors": 4,
        "pipes": [{"name": "ranks", "alpha": 1e-5, "bandwidth": 1e9}],
        "rings": [{"processes": 2, "predicted": 0.1, "measured": 0.2}],
    }


def test_the_figures_of_a_calibration_are_those_that_are_printed(folder):
    words = ["calibrate", *COMMANDS["calibrate"]]
    said = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert f"{len(said['residuals'])} measurements" in CliRunner().invoke(app, words).stdout
    assert all(row["measured"] > 0 and row["predicted"] > 0 for row in said["residuals"])


@dataclass
class Pair:
    name: str
    values: np.ndarray


def test_whatever_a_command_finds_becomes_plain_values():
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, math.nan]})
    assert to_plain(frame) == [{"a": 1, "b": 0.5}, {"a": 2, "b": None}]
    assert to_plain(Pair("x", np.arange(2))) == {"name": "x", "values": [0, 1]}
    assert to_plain({"place": Path("a/b"), 3: (np.float64(2.5), math.inf, np.True_, None)}) == {
        "place": str(Path("a/b")),
        "3": [2.5, None, True, None],
    }
    with pytest.raises(TypeError, match="not JSON"):
        to_plain(object())


def test_a_sentence_of_a_list_ends():
    for row in json.loads(CliRunner().invoke(app, ["list", "topologies", "--json"]).stdout):
        assert row["what"].endswith("."), row["what"]
