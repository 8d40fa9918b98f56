"""What commands print and write can be searched: `collsim run ... | grep "4.73 ms"` finds its line."""

import pytest
from every_command import COMMANDS
from sampling import sample
from spaces import odd_spaces
from typer.testing import CliRunner

from collsim.cli import app

#: What a browser or a player reads; there a number is bound to its unit.
FOR_BROWSERS = {".html", ".xml", ".js", ".svg"}


@pytest.mark.parametrize("name", sample(COMMANDS, 10))
def test_a_command_prints_plain_spaces(name, folder):
    done = CliRunner().invoke(app, [name, *COMMANDS[name]])
    assert done.exit_code == 0, done.output
    assert done.output.strip()
    assert odd_spaces(done.output) == set()
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix not in FOR_BROWSERS:
            assert odd_spaces(path.read_text(encoding="utf-8")) == set(), path.name


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_plain_spaces(name):
    assert odd_spaces(CliRunner().invoke(app, [name, "--help"]).output) == set()


def test_the_time_of_a_run_is_found():
    words = ["run", "allreduce_ring", "--topology", "switch(8, bandwidth=25GB/s, alpha=1us)", "--nbytes", "64MiB"]
    assert "4.73 ms" in CliRunner().invoke(app, words).output
