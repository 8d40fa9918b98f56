"""`--json`: every command has it but the one that serves, and prints one document of plain values on stdout."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import collsim.lab.here as here
import collsim.site
from collsim.cli import app
from collsim.cli.tables import plain
from collsim.site import Site

ROOT = Path(__file__).parents[2]
#: Commands that answer with nothing: what they do does not end by itself.
SERVE = {"app"}
SMALL = ("--topology", "switch(4)", "--nbytes", "1MiB")
COMMANDS = {
    "list": ["machines"],
    "show": ["allreduce_ring", "--ranks", "3"],
    "verify": ["allreduce_ring", "--ranks", "2:5"],
    "run": ["allreduce_ring", *SMALL],
    "compare": ["--algorithm", "allreduce_ring", "--channels", "1", "--chunks", "1", *SMALL],
    "sweep": ["plan.yaml"],
    "real": ["allreduce_ring", "--ranks", "2", "--nbytes", "1KiB", "--alpha", "1ms", "--repeat", "1"],
    "real-library": ["--ranks", "2", "--nbytes", "1KiB", "--repeat", "1"],
    "real-step": ["2x1KiB", "--ranks", "2", "--compute", "4ms", "--alpha", "1ms", "--repeat", "1"],
    "train": ["resnet50", "--machine", "dgx-a100", "--batch", "256"],
    "train-search": ["gpt2", "--machine", "dgx-a100", "--batch", "32", "--top", "1"],
    "train-accuracy": ["steps.csv", "-o", "answered.csv"],
    "train-pipeline": ["2", "--microbatches", "2"],
    "synthesize": ["allgather", "--topology", "ring(4)"],
    "convert": [str(ROOT / "examples" / "algorithm.xml"), "out.json"],
    "accuracy": ["cases.csv", "measured.csv"],
    "predict": ["allreduce", "--machine", "dgx-h100", "--nbytes", "1GiB"],
    "calibrate": [str(ROOT / "examples" / "all_reduce_perf.txt"), "--machine", "dgx-a100"],
    "worksheet": ["sheet.md", "--topology", "ring(4)", "--count", "2"],
    "slides": ["slides.html", "--lesson", "1"],
    "grade": ["handed-in", "--only", "send-one-chunk"],
    "site": ["out"],
    "plan-schema": [],
}
FILES = {
    "plan.yaml": "algorithm: allreduce_ring\ntopology: switch(4)\nnbytes: 1MiB\n",
    "steps.csv": "model,batch,gpus,gpu_type,mode,value,unit\nresnet50,256,8,A100,ddp,1,s\n",
    "cases.csv": "case_id,gpu,ranks,nodes,collective,intra_link,inter_link,gdr,algo,proto\n"
    "one,A100-SXM4,8,1,allreduce,nvlink3-nvswitch,none,,auto,auto\n",
    "measured.csv": "case_id,size_bytes,time_us\none,1048576,38\n",
    "handed-in/ada.py": "import collsim as cs\n\ndef send_one_chunk(n):\n    yield cs.copy(0, 1, chunk=0)\n",
}


def registered():
    """Names of all commands, as `collsim --help` lists them."""
    group = get_command(app)
    assert group.get_command(None, "no such command") is None  # every module has been asked
    assert sorted(group.commands) == sorted(group.list_commands(None))
    return list(group.commands)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        collsim.site, "build", lambda out, *_, **__: Site(Path(out), 1, 2, 3)
    )  # half a minute; others run it
    return tmp_path


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
    monkeypatch.setattr(here, "calibrate_here", lambda tell=None: here.ThisComputer(4, pipes, crowds))
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
