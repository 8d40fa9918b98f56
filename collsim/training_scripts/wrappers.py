"""What stands around the command that starts a training: containers, job queues, profilers, shells, environments.

Each of them runs the command that follows its own options: `docker run --gpus all IMAGE torchrun ...`,
`kubectl exec POD -- python ...`, `bash -c "cd app && python ..."`. Only words are looked at; nothing is run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from ..package_data import read_toml

#: Names of programs, modules, functions and options by what they are.
NAMES = read_toml(__file__, "names.toml")
LAUNCHERS = NAMES["launchers"]
WRAPPERS = NAMES["wrappers"] + NAMES["shells"]
_COMMANDS = frozenset((*LAUNCHERS, *WRAPPERS))
_PYTHON = re.compile(r"python[\d.]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
#: Words that end a command of a shell.
_SEPARATORS = ("&&", "||", ";", "|", "&")


def split_shell_words(text: str) -> list[str]:
    """Split a command line as a shell does; what a shell would put in (`$(hostname)`) stays one word and is not run.

    Args:
        text: the line.

    Raises:
        ValueError: a quotation mark is not closed.
    """
    return shlex.split(_mask_substitutions(text), comments=True)


def _mask_substitutions(text: str) -> str:
    """The text with `$SHELL` in place of each `$(...)` and of what stands between backticks."""
    closing = _pair_brackets(text)
    masked: list[str] = []
    position = 0
    while position < len(text):
        end = -1
        if text.startswith("$(", position):
            end = closing.get(position + 1, -1)
        elif text[position] == "`":
            end = text.find("`", position + 1)
        masked.append(text[position] if end < 0 else "$SHELL")
        position = max(position, end) + 1
    return "".join(masked)


def _pair_brackets(text: str) -> dict[int, int]:
    """The position of the closing bracket by that of its opening one."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for position, character in enumerate(text):
        if character == "(":
            opened.append(position)
        elif character == ")" and opened:
            pairs[opened.pop()] = position
    return pairs


def split_commands(words: Sequence[str]) -> Iterator[list[str]]:
    """Split words at `&&`, `;` and `|` into commands.

    Args:
        words: of a line.

    Yields:
        The words of each command, in order.
    """
    command: list[str] = []
    for word in words:
        if word.rstrip(";") and word not in _SEPARATORS:
            command.append(word.rstrip(";"))
        if word in _SEPARATORS or word.endswith(";"):
            yield command
            command = []
    yield command


def find_command(words: Sequence[str]) -> int | None:
    """Find the first word that is a command by itself: python, a launcher, or a program that runs another one.

    Args:
        words: what follows a program and may begin with its options.

    Returns:
        Its position; None if there is none.
    """
    for number, word in enumerate(words):
        name = PurePath(word).name
        if (name in _COMMANDS or _PYTHON.fullmatch(name)) and (
            number == 0 or words[number - 1] not in NAMES["naming_options"]
        ):
            return number
    return None


def read_assignments(words: Sequence[str]) -> dict[str, str]:
    """Read the variables that words set: `NAME=value`, as in front of a command and behind `-e`, `-x` and `--env`.

    Args:
        words: up to a command.
    """
    texts = (word.removeprefix("--env=") for word in words)
    return {match[1]: match[2] for text in texts if (match := _ASSIGNMENT.fullmatch(text))}


def unwrap_command(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Take away what stands around a command.

    Args:
        words: of one command.

    Returns:
        Variables that are set for it, and its words from python or the launcher on; no words where there is no command.
    """
    environment: dict[str, str] = {}
    rest = list(words)
    while rest:
        if assignment := _ASSIGNMENT.fullmatch(rest[0]):
            environment[assignment[1]] = assignment[2]
            rest = rest[1:]
            continue
        name = PurePath(rest[0]).name
        if name not in WRAPPERS:
            return environment, rest
        script = _find_shell_script(rest)
        start = find_command(rest[1:])
        if script and (start is None or name in (*NAMES["shells"], "sbatch")):
            rest = _split_first_command(script)
        elif start is not None:
            environment |= read_assignments(rest[1 : start + 1])
            rest = rest[start + 1 :]
        else:
            return environment, []
    return environment, rest


def _find_shell_script(words: Sequence[str]) -> str:
    """The text that a shell would run in `bash -c "..."`, `sbatch --wrap="..."` or `ssh HOST "..."`; "" for none."""
    for number, word in enumerate(words[1:], 1):
        if word.startswith("--wrap="):
            return word.removeprefix("--wrap=")
        if (word == "--wrap" or re.fullmatch(r"-[a-z]*c", word)) and number + 1 < len(words):
            return words[number + 1]
    return words[-1] if re.search(r"\S\s+\S", words[-1]) else ""


def _split_first_command(script: str) -> list[str]:
    """The words of the first command of a shell's script that is python, a launcher or a program that runs one."""
    try:
        commands = list(split_commands(split_shell_words(script)))
    except ValueError:
        return []
    return next((command for command in commands if find_command(command) is not None), [])
