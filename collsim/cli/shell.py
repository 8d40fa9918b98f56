"""The program around the commands: its name and version, options that commands share, and how a command ends."""

from __future__ import annotations

import inspect
import signal
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import collsim as cs
from collsim.errors import CollsimError, format_value, require_language
from collsim.files import require_writable_file
from collsim.interrupts import STOPPED, end_process, raise_at_interrupt
from collsim.locale.glossary import find_entries
from collsim.locale.synonyms import find_synonyms, load_commands
from collsim.package_data import read_toml

from .conversion import lighten_parameters
from .streams import StandardStreams, print_note

#: The exit code after a mistake of the user's.
MISTAKE = 2

#: Both spellings of the option that explains a command.
HELP: dict[str, object] = {"help_option_names": ["-h", "--help"]}
#: A command that hands words it does not know to the algorithm.
EXTRA: dict[str, object] = {"allow_extra_args": True, "ignore_unknown_options": True}

#: Every command in the order of `--help`, with the module beside this one that registers it.
COMMANDS = {
    **dict.fromkeys(("list", "show", "verify"), "schedules"),
    **dict.fromkeys(("run", "compare", "sweep", "routing"), "runs"),
    **dict.fromkeys(("real", "real-step", "real-library"), "real"),
    **dict.fromkeys(("train", "train-search", "train-accuracy", "train-pipeline"), "training"),
    "upgrades": "training",
    "goodput": "training",
    "inference": "training",
    "diagnose": "diagnose",
    **dict.fromkeys(("program", "hang", "read-script"), "programs"),
    "synthesize": "synthesis",
    **dict.fromkeys(("convert", "plan-schema"), "file_commands"),
    **dict.fromkeys(("accuracy", "predict", "nccl-diff", "calibrate"), "nccl"),
    **dict.fromkeys(("worksheet", "slides", "grade", "site", "app"), "teaching"),
    "glossary": "file_commands",
    "mcp": "mcp_server",
}


class Commands(TyperGroup):
    """The commands; the module of one is imported when its name is asked for, so that the others cost nothing."""

    def list_commands(self, ctx: object) -> list[str]:
        """All names, without an import."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name; for a name that no command has all are imported, so that the nearest is known.

        Args:
            ctx: Of click.
            cmd_name: As it was typed.
        """
        if cmd_name not in COMMANDS and (meant := load_commands().get(cmd_name.lower())):
            ctx.fail(f"No such command '{cmd_name}'. Did you mean '{meant}'?")
        if cmd_name not in COMMANDS and (entries := find_entries(cmd_name)):
            ctx.fail(f"No such command '{cmd_name}'. In the glossary: {entries[0].meaning}")
        if cmd_name not in self.commands:
            for module in {COMMANDS[cmd_name]} if cmd_name in COMMANDS else dict.fromkeys(COMMANDS.values()):
                import_module(f"{__package__}.{module}")
            self.commands |= get_command(app).commands  # type: ignore[attr-defined]
        return self.commands.get(cmd_name)

    def get_params(self, ctx: Any) -> list[Any]:
        """Options beside the commands."""
        return lighten_parameters(super().get_params(ctx))


class Command(TyperCommand):
    """One command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its arguments and options."""
        return lighten_parameters(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words behind the command; an option of another tool is answered with the one that is meant.

        Args:
            ctx: Of click.
            args: The words.
        """
        words = set(args)  # what reads them empties the list
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            option = getattr(error, "option_name", None)
            if type(error).__name__ == "NoSuchOption" and option and (answer := _answer_option(self, ctx, option)):
                ctx.fail(f"No such option: {option}. {answer}")
            if "extra argument" in str(error) and (machine := cs.machines().keys() & words):
                ctx.fail(f"{error}; did you mean --machine {machine.pop()}?")
            raise


def _answer_option(command: Command, ctx: Any, option: str) -> str:
    """What an option of another tool is here; nothing where the nearest spelling says more."""
    names = {param.name: param.opts[0] for param in command.get_params(ctx) if param.opts[0].startswith("-")}
    word = option.lstrip("-").replace("-", "_")
    if meant := find_synonyms(word, names):
        return f"Did you mean {' or '.join(names[name] for name in meant)}?"
    if entries := find_entries(word):
        return f"In the glossary: {entries[0].meaning}"
    return ""


app = typer.Typer(
    cls=Commands,
    help="See collective communication move, check it, and trust the numbers.",
    no_args_is_help=True,
    context_settings=HELP,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",  # whatever the version's default: what is escaped in a help text stays so
)


def command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command of `collsim`. A parameter that is a dataclass stands for an option for each of its fields.

    What goes wrong is said in one sentence on stderr, without a traceback.

    Args:
        name: None for the function's, with hyphens.
        settings: Of `typer.Typer.command`.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        parameters = inspect.signature(function).parameters
        hints = _add_help(function, parameters)
        # Options that several commands share are fields of a dataclass, and become parameters of the command here.
        groups = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
        options: dict[str, inspect.Parameter] = {}
        for parameter in parameters.values():
            if parameter.name in groups:
                options |= {field.name: field for field in _list_fields(groups[parameter.name])}
                continue
            kind = hints.get(parameter.name, parameter.annotation)
            options[parameter.name] = parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)

        def run(**arguments: Any) -> None:
            _run_command(function, groups, arguments)

        # typer reads the signature: it has to see the options in place of the groups.
        run.__signature__ = inspect.Signature(list(options.values()))  # type: ignore[attr-defined]
        run.__annotations__ = {option.name: option.annotation for option in options.values()}
        run.__name__, run.__doc__ = function.__name__, _unwrap_paragraphs(function.__doc__ or "")
        app.command(name, cls=Command, **settings)(run)
        return run

    return register


def _unwrap_paragraphs(text: str) -> str:
    """A docstring whose paragraphs break where the terminal does, not where the source does."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


@cache
def _load_help() -> dict[str, dict[str, str]]:
    return read_toml(__file__, "help.toml")


def _add_help(declared: Any, parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """The annotations of a command, or of a group of options, each with what `help.toml` says of it."""
    hints = get_type_hints(declared, include_extras=True)
    for name, text in _load_help().get(declared.__name__, {}).items():
        if get_origin(hints[name]) is Annotated:
            hints[name].__metadata__[0].help = text
        elif parameters[name].default is inspect.Parameter.empty:
            hints[name] = Annotated[hints[name], typer.Argument(help=text)]
        else:
            hints[name] = Annotated[hints[name], typer.Option(help=text)]
    return hints


def _list_fields(kind: Any) -> list[inspect.Parameter]:
    """The fields of a dataclass as parameters."""
    hints = _add_help(kind, inspect.signature(kind).parameters)
    return [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name])
        for f in fields(kind)
    ]


def _run_command(function: Callable[..., None], groups: Mapping[str, Any], arguments: dict[str, Any]) -> None:
    """Put the groups of options together and run a command; a mistake of the user's, of the file system or of nobody is
    a sentence and an exit code."""
    language = str(arguments.get("language", "en"))
    try:
        require_language(language)
        if arguments.get("out") is not None:  # before the work: it may take minutes
            require_writable_file(arguments["out"])
        for group, kind in groups.items():
            arguments[group] = kind(**{field.name: arguments.pop(field.name) for field in fields(kind)})
        function(**arguments)
    except CollsimError as error:
        print_note(f"collsim: {error.text(language)}")
        raise typer.Exit(MISTAKE) from None
    except OSError as error:
        print_note(f"collsim: {_describe_os_error(error)}")
        raise typer.Exit(MISTAKE) from None
    except MemoryError:
        print_note("collsim: this machine has not enough memory for that; use fewer ranks, chunks or sizes")
        raise typer.Exit(MISTAKE) from None


def _describe_os_error(error: OSError) -> str:
    """`cannot open '/x': Permission denied`."""
    reason = error.strerror or str(error)
    if error.filename is None:
        return reason
    return f"{format_value(str(error.filename))}: {reason}"


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print(f"collsim {cs.__version__}")
        raise typer.Exit(0)


@app.callback()
def main_options(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """See collective communication move, check it, and trust the numbers."""


def _format_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """A warning as a sentence: the line of code that gave it says nothing to who typed a command."""
    return f"collsim: {message}\n"


def main() -> None:
    """Entry point of the `collsim` command: whatever happens ends in an exit code, and nothing in a traceback."""
    warnings.formatwarning = _format_warning
    streams, code = StandardStreams(), 0
    usual_hook = sys.unraisablehook
    sys.unraisablehook = lambda fault: end_process() if fault.exc_type is KeyboardInterrupt else usual_hook(fault)
    try:
        raise_at_interrupt()
        app(prog_name="collsim")
    except KeyboardInterrupt:
        code = STOPPED
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: the exit code says how, whatever is pressed now
    code = streams.close(code)
    if code == STOPPED:  # at once: taking down the interpreter may last as long as what was waited for
        end_process()
    sys.exit(code)
