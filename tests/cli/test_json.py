"""`--json`: every command has it but the one that serves, and prints one document of plain values on stdout."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from every_command import COMMANDS, SERVE
from typer.main import get_command
from typer.testing import CliRunner

import collsim.lab.here as here
from collsim.cli import app
from collsim.cli.output import plain


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


def test_without_json_a_command_talks_to_people(folder):
    for name in ("list", "run", "calibrate", "train-pipeline"):
        done = CliRunner().invoke(app, [name, *COMMANDS[name]])
        assert done.exit_code == 0
        with pytest.raises(json.JSONDecodeError):
            json.loads(done.stdout)


def test_this_computer_is_measured_as_a_document_too(monkeypatch):
    pipes, crowds = (here.MeasuredPipe("ranks", 1e-5, 1e9),), (here.MeasuredCrowd(2, 0.1, 0.2),)
    monkeypatch.setattr(here, "calibrate_computer", lambda report_progress=None: here.ThisComputer(4, pipes, crowds))
    said = json.loads(CliRunner().invoke(app, ["calibrate", "--here", "--json"]).stdout)
    assert said == {
        "processors": 4,
        "pipes": [{"name": "ranks", "alpha": 1e-5, "bandwidth": 1e9}],
        "crowds": [{"processes": 2, "predicted": 0.1, "measured": 0.2}],
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
    assert plain(frame) == [{"a": 1, "b": 0.5}, {"a": 2, "b": None}]
    assert plain(Pair("x", np.arange(2))) == {"name": "x", "values": [0, 1]}
    assert plain({"place": Path("a/b"), 3: (np.float64(2.5), math.inf, np.True_, None)}) == {
        "place": str(Path("a/b")),
        "3": [2.5, None, True, None],
    }
    with pytest.raises(TypeError, match="not JSON"):
        plain(object())


def test_a_sentence_of_a_list_ends():
    for row in json.loads(CliRunner().invoke(app, ["list", "topologies", "--json"]).stdout):
        assert row["what"].endswith("."), row["what"]
