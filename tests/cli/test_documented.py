"""Commands that the pages name are commands: their words and options are taken. What they say is tested elsewhere."""

import importlib
import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from collsim.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [path for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")) if path.name != "CHANGELOG.md"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = get_command(app)


def commands(text):
    """The words of each command that a text names: what may be left out is there, of choices the first."""
    lines = [line for kind, block in FENCE.findall(text) if not kind for line in block.splitlines()]
    named = re.findall(r"`(?:\.venv/bin/)?(collsim [a-z][^`]*)`", FENCE.sub("", text))
    for command in (*named, *(line for line in lines if line.startswith("collsim "))):
        said = re.sub(r" (#|>|\.\.\.|…).*", "", " ".join(command.split()))
        yield [re.sub(r"^N$", "2", word.split("|")[0]) for word in shlex.split(re.sub(r"[][]", " ", said))[1:]]


def refused(words):
    """Why the command line does not take them, or nothing; a name alone stands for the command."""
    command = COMMANDS.get_command(None, words[0])
    if command is None:
        return f"no command {words[0]}"
    try:
        if words[1:]:
            command.make_context(words[0], words[1:])
    except Exception as error:  # typer's own, of which it has several
        return str(getattr(error, "message", error)) or f"{words} lacks an argument"
    return None


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_command_that_a_page_names_is_taken(path):
    assert [why for why in map(refused, commands(path.read_text("utf-8"))) if why] == []


def test_the_pages_name_commands_enough():
    assert sum(len(list(commands(path.read_text("utf-8")))) for path in PAGES) > 80


def test_an_option_a_command_and_a_choice_that_are_not_there_are_found():
    page = "`collsim rum x` `collsim run allreduce_ring --nodes two` `collsim site OUT --lnag zh`\n```\ncollsim list machine s\n```\n"
    assert sum(refused(words) is not None for words in commands(page)) == 4


def test_every_option_says_what_it_is():
    """`help.toml` has no table that no command reads, and leaves no argument out."""
    import collsim.cli as cli

    silent = [
        f"{name} {parameter.name}"
        for name in cli.shell.COMMANDS
        for parameter in COMMANDS.get_command(None, name).params
        if parameter.name not in ("help", "extra") and not getattr(parameter, "help", None)
    ]
    assert silent == []
    declared = {
        name
        for module in set(cli.shell.COMMANDS.values())
        for name in vars(importlib.import_module(f"collsim.cli.{module}"))
    }
    assert set(cli.shell._load_help()) <= declared | set(vars(importlib.import_module("collsim.cli.options")))
