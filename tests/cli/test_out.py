"""`--out` of every command: a file that cannot be written is refused before anything is computed for it."""

import pytest
import typer
from typer.testing import CliRunner

from collsim.cli import app

GROUP = typer.main.get_command(app)
COMMANDS = {name: GROUP.get_command(None, name) for name in GROUP.list_commands(None)}
WRITERS = {name: one for name, one in COMMANDS.items() if any(parameter.name == "out" for parameter in one.params)}


def test_all_commands_that_write_are_found():
    known = {"run", "train", "train-search", "sweep", "synthesize", "real", "slides", "worksheet", "grade", "calibrate"}
    assert known <= set(WRITERS)


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(name):
    words = []
    for parameter in WRITERS[name].params:
        if parameter.name == "out":
            words += ["/proc/x.csv"] if parameter.param_type_name == "argument" else ["--out", "/proc/x.csv"]
        elif parameter.required:
            words += ["4"] if parameter.param_type_name == "argument" else [parameter.opts[0], "4"]
    done = CliRunner().invoke(app, [name, *words])
    assert done.exit_code == 2, done.output
    assert "cannot write '/proc/x.csv'" in done.output
