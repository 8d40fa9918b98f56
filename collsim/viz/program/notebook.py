"""A rank program in a notebook: the verdict, the lanes of its ranks and the player of its schedule, and the cell magic
`%%program` that runs what stands in its cell:

    %load_ext collsim
    %%program run --ranks 4 --collective allreduce
"""

from __future__ import annotations

import argparse
import shlex
from typing import NoReturn, Protocol

from collsim.display.markup import escape_text
from collsim.display.palette import TOKENS
from collsim.errors import CollsimError, require_language
from collsim.locale import LANGUAGES, translate
from collsim.programs import ProgramRun
from collsim.programs.program_entry import program
from collsim.schedule import Schedule
from collsim.units import format_bytes, format_time

from .program_picture import draw_program_lanes

#: Colours of verdicts; that of others is `full`.
_TOKENS = {"right": "done", "ends": "done", "race": "near"}
_WIDTH = 760


def format_run_html(run: ProgramRun, language: str = "en") -> str:
    """What a notebook shows of a rank program.

    Args:
        run: of the program.
        language: `en` or `zh`.

    Returns:
        HTML: the verdict and its reason, the lanes of the ranks, and the player where the messages make a schedule.
    """
    require_language(language)
    lines = [run.explanation(language)]
    if run.execution.messages:
        sent, time = format_bytes(max(run.sent)), format_time(run.time)
        values = {"messages": len(run.execution.messages), "sent": sent, "time": time}
        lines.append(translate(language, "sentences", "program.facts", **values))
    texts = "".join(f"<div>{escape_text(line)}</div>" for line in lines)
    printed = [f"rank {rank}: {text.rstrip()}" for rank, text in enumerate(run.printed) if text.strip()]
    if printed:
        texts += f'<pre style="margin:6px 0 0">{escape_text(chr(10).join(printed))}</pre>'
    colours = ";".join(f"--cs-{name}:{colour}" for name, (colour, _) in TOKENS.items())
    picture = ""
    if run.execution.messages or run.waits:
        picture = draw_program_lanes(run, _WIDTH)
    head = f'<b style="font-size:1.2em">{escape_text(translate(language, "sentences", f"program.{run.verdict}"))}</b>'
    token = _TOKENS.get(run.verdict, "full")
    card = (
        f'<div style="{colours};background:var(--cs-card);color:var(--cs-ink);max-width:900px;padding:10px 14px">'
        f'<div style="border-left:4px solid var(--cs-{token});padding-left:12px;margin-bottom:10px">{head}{texts}</div>'
        f"{picture}</div>"
    )
    if isinstance(run.schedule, Schedule) and len(run.schedule):
        card += str(getattr(run.animate(language=language), "_repr_html_")())  # noqa: B009
    return card


# ---- %%program -----------------------------------------------------------------------------------------------------


class Shell(Protocol):
    """What the magic needs of IPython.

    Attributes:
        user_ns: Variables of the notebook.
    """

    user_ns: dict[str, object]

    def register_magic_function(self, func: object, magic_kind: str, magic_name: str) -> None:
        """Make a function known as a magic."""


class _Options(argparse.ArgumentParser):
    """Options of the magic; a wrong one is an error of collsim and does not end the kernel."""

    def error(self, message: str) -> NoReturn:
        raise CollsimError("%%program: {message}; for example %%program run --ranks 4", message=message)


def _build_options() -> _Options:
    options = _Options(prog="%%program", add_help=False)
    options.add_argument("name", nargs="?", help="the variable that gets the ProgramRun")
    options.add_argument("--ranks", type=int, default=4)
    options.add_argument("--collective")
    options.add_argument("--entry")
    options.add_argument("--nbytes", default="96B")
    options.add_argument("--eager-limit")
    options.add_argument("--machine")
    options.add_argument("--late", action="append", default=[])
    options.add_argument("--language", "--lang", default="en", choices=LANGUAGES)
    return options


def register_program_magic(shell: Shell) -> None:
    """Make `%%program` known to a notebook: `%load_ext collsim` does so.

    The cell is run as `cs.program` runs it. Options: `--ranks --collective --entry --nbytes --eager-limit --machine
    --late RANK=TIME --language`; a name before them is the variable that gets the `ProgramRun`.

    Args:
        shell: of IPython.
    """

    def run_cell(line: str, cell: str) -> _ShownRun:
        options = _build_options().parse_args(shlex.split(line))
        run = program(
            cell,
            options.ranks,
            options.collective,
            entry=options.entry,
            nbytes=options.nbytes,
            eager_limit=options.eager_limit,
            machine=options.machine,
            late=dict(map(_parse_late, options.late)),
        )
        if options.name:
            shell.user_ns[options.name] = run
        return _ShownRun(run, options.language)

    shell.register_magic_function(run_cell, "cell", "program")


def _parse_late(text: str) -> tuple[int, str]:
    rank, _, delay = text.partition("=")
    if not rank.isdecimal() or not delay:
        raise CollsimError("--late {text} must be rank=time, as 2=300us", text=text)
    return int(rank), delay


class _ShownRun:
    """The value of such a cell: it shows the run in the language that was asked for."""

    def __init__(self, run: ProgramRun, language: str) -> None:
        self.run = run
        self.language = language

    def _repr_html_(self) -> str:
        return format_run_html(self.run, self.language)

    def __repr__(self) -> str:
        return f"{self.run.verdict}: {self.run.explanation(self.language)}"
