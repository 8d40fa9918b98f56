"""Options that several commands take, and what they stand for: where a run takes place, how it is timed, which
algorithm."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import typer

import collsim as cs
from collsim.errors import CollsimError, Sentence, Words, join_words
from collsim.errors.collected_warnings import collect_warnings
from collsim.locale.synonyms import load_synonyms
from collsim.registry import get_algorithm, load_algorithm
from collsim.simulate import Engine
from collsim.topology.files.effects import describe_effects, find_effects
from collsim.topology_names import resolve_topology

from .output import print_json, require_table_file, save_rows
from .streams import print_note


def complete_algorithms(incomplete: str) -> list[str]:
    """Names for the shell to complete."""
    return [name for name in cs.algorithms() if name.startswith(incomplete)]


def complete_machines(incomplete: str) -> list[str]:
    """Names for the shell to complete."""
    return [name for name in cs.machines() if name.startswith(incomplete)]


AlgorithmName = Annotated[str, typer.Argument(help="for example allreduce_ring", autocompletion=complete_algorithms)]
AlgorithmOrFile = Annotated[
    str,
    typer.Argument(
        help="for example allreduce_ring, or the file of a schedule: x.xml", autocompletion=complete_algorithms
    ),
]
Ranks = Annotated[
    int | None,
    typer.Option(help="Ranks, as many on each node; all of the machine or network unless given."),
]
CountOrRanks = Annotated[
    str | None,
    typer.Option(
        help="How many ranks, as many on each node, or the numbers of ranks: 0,1; all of the machine unless given."
    ),
]
Size = Annotated[str, typer.Option(help="nccl-tests' size: '256MiB', '1GB', or bytes.")]
Sizes = Annotated[str, typer.Option(help="Sizes first:last:factor, as '1KiB:1GiB:4'.")]
Language = Annotated[str, typer.Option("--language", "--lang", help="en or zh.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
TableFile = Annotated[
    Path | None, typer.Option("-o", "--out", help="Also write the table: x.csv, x.json, x.md or x.tex.")
]
Prices = Annotated[
    list[str] | None,
    typer.Option(help="Of a part or a change, for the whole machine: nic=2400, nic=roce-100=2400; repeat for more."),
]
OutFile = Annotated[Path | None, typer.Option("-o", "--out", help="The same as the argument.")]
Load = Annotated[Path | None, typer.Option(help="A Python file that registers algorithms of your own; it is run.")]
Synthesize = Annotated[
    bool,
    typer.Option("--synthesize", help="Also find a schedule for this machine, raced against ring and tree."),
]
_SWITCHES = (
    "Synthesis may use switches of the machine that reduce or multicast (NVLS, SHARP); it may unless told not to."
)
Switches = Annotated[bool, typer.Option("--switches/--no-switches", help=_SWITCHES)]
Progress = Annotated[
    bool | None,
    typer.Option("--progress/--no-progress", help="A bar on stderr; where that is a terminal unless given."),
]


@dataclass(frozen=True)
class TableOutput:
    """Where the rows of a command go, other than to people."""

    out: TableFile = None
    as_json: Json = False

    def __post_init__(self) -> None:
        require_table_file(self.out)

    def write(self, rows: object, record: object = None) -> bool:
        """Write the rows into the file and, with `--json`, to stdout.

        Args:
            rows: As `save_rows` takes them.
            record: What `--json` prints; the rows unless given.

        Returns:
            Whether that is all: with `--json` nothing is printed for people.
        """
        save_rows(rows, self.out)
        if self.as_json:
            print_json(rows if record is None else record)
        return self.as_json


#: Options of `MachineSpec` that are keywords of `cs.machine`, but for `nics`, which is a number or a word.
_MACHINE_OPTIONS = (
    *("nodes", "p2p", "gdr", "shm", "pxn", "fabric", "oversubscription", "routing", "hash_seed"),
    *("placement", "rates"),
    *("nic", "gpu", "pcie", "cpu", "gpus", "nvlink"),
)


@dataclass(frozen=True)
class MachineSpec:
    """Where a run takes place: a machine, a generic network, or what a file describes."""

    machine: Annotated[str | None, typer.Option(autocompletion=complete_machines)] = None
    topology: str | None = None
    topology_file: Path | None = None
    nodes: int | None = None
    p2p: Annotated[bool | None, typer.Option("--p2p/--no-p2p")] = None
    gdr: Annotated[bool | None, typer.Option("--gdr/--no-gdr")] = None
    shm: Annotated[bool | None, typer.Option("--shm/--no-shm")] = None
    fabric: str | None = None
    oversubscription: float | None = None
    routing: str | None = None
    hash_seed: int | None = None

    gpu: str | None = None
    nic: str | None = None
    pcie: int | None = None
    cpu: str | None = None
    nvlink: str | None = None
    nics: str | None = None

    pxn: Annotated[bool | None, typer.Option("--pxn/--no-pxn")] = None
    placement: str | None = None
    rates: str | None = None
    gpus: Annotated[int | None, typer.Option("--gpus-per-node", "--gpus")] = None

    def build_network(self, ranks: int | None = None, assumed: bool = True) -> cs.Topology:
        """Build the network that the options name, or one switch.

        Args:
            ranks: Ranks of that switch; None refuses to run without a name.
            assumed: Print what a file does not say?

        Returns:
            The network.

        Raises:
            CollsimError: None is named, or several are.
        """
        if sum(option is not None for option in (self.machine, self.topology, self.topology_file)) > 1:
            raise CollsimError("give one of --machine, --topology and --topology-file")
        options = {name: getattr(self, name) for name in _MACHINE_OPTIONS} | {"nics": _parse_count_or_word(self.nics)}
        options = {name: value for name, value in options.items() if value is not None}  # else as the machine has it
        if self.machine is not None:
            return cs.machine(self.machine, **options)
        if options and self.topology_file is None:
            flags = join_words(f"--{name.replace('_', '-')}" for name in options)
            raise CollsimError("{flags}: only --machine takes parts and nodes; a network has its own", flags=flags)
        if self.topology is not None:
            return resolve_topology(self.topology, "--topology")
        if self.topology_file is not None:
            return _read_topology(self.topology_file, options, assumed)
        if ranks is None:
            raise CollsimError("say where to run: --machine dgx-a100 --nodes 2, or --topology 'switch(8)'")
        return cs.topology.switch(ranks)


def _parse_count_or_word(text: str | None) -> int | str | None:
    """`4` as a number; `machine` checks any other word."""
    if text is not None and re.fullmatch("[0-9]{1,9}", text):
        return int(text)
    return text


def print_assumptions(network: cs.Topology, time: Callable[[cs.Topology], float]) -> None:
    """What a file did not say, with what another value would make of the answer, to stderr."""
    for line, _ in describe_effects(network, find_effects(network, time)):
        print_note(f"collsim: {name_options(line)}")


def name_options(line: str) -> str:
    """Name the options of the command line where a note has keywords of Python: `set gpu=...`."""
    return re.sub(r"set (\w+)=[.]{3}", r"set --\1", line)


def _read_topology(file: Path, options: dict[str, object], assumed: bool) -> cs.Topology:
    """The topology in a file; what was not understood, and what was assumed where `assumed`, goes to stderr."""
    with collect_warnings() as notes:
        network = cs.load_topology(file, **options)
    later: tuple[str, ...] = ("\0",)  # no message ends in that
    if not assumed:
        later = tuple(map(str, network.facts.assumptions)) or later
    for note in notes:
        if not note.endswith(later):
            print_note(f"collsim: {note}")
    return network


@dataclass(frozen=True)
class TimingOptions:
    """How a run is timed: the type of its elements, the engine, and what the event engine is told about the machine's
    state."""

    dtype: str = "float32"
    engine: str = "lockstep"
    sharing: str | None = None
    jitter: str | None = None
    seed: int | None = None
    slow: list[str] | None = None
    late: list[str] | None = None
    gamma: str | None = None
    launch: str | None = None
    overhead: str | None = None
    injection: str | None = None
    eager: Annotated[bool | None, typer.Option("--eager/--no-eager")] = None

    @property
    def named_engine(self) -> Engine:
        """`engine` as `simulate` takes it, which refuses other names. (Typer reads Literal only from 0.19 on.)"""
        return cast(Engine, self.engine)

    @property
    def conditions(self) -> dict[str, Any]:
        """The keywords of `simulate` beyond dtype and engine."""
        names = ("sharing", "jitter", "seed", "gamma", "launch", "overhead", "injection", "eager")
        options = {name: getattr(self, name) for name in names}
        faults = {
            "slow": parse_by_rank("slow", self.slow, float),
            "late": parse_by_rank("late", self.late, cs.units.parse_time),
        }
        return {name: value for name, value in {**options, **faults}.items() if value is not None}

    def simulate(
        self,
        schedule: cs.Schedule,
        network: cs.Topology,
        nbytes: str,
        progress: bool | None = None,
        ranks: list[int] | None = None,
    ) -> cs.Trace:
        """Time a schedule as the options say.

        Args:
            schedule: What runs.
            network: Where.
            nbytes: nccl-tests' size.
            progress: True for a bar.
            ranks: Numbers of the network's ranks; None for as many of each node.

        Returns:
            Its run.
        """
        what = schedule, network, nbytes, self.dtype, self.named_engine
        return cs.simulate(*what, ranks=ranks, progress=progress, **self.conditions)


def parse_by_rank(name: str, words: list[str] | None, parse_value: Callable[[str], float]) -> dict[int, float] | None:
    """Parse an option that is repeated for ranks.

    Args:
        name: Of the option, `slow` or `late`.
        words: Its values, each `rank=value`.
        parse_value: Of the value.

    Returns:
        `["3=2"]` as {3: 2.0}; None where there are none.

    Raises:
        CollsimError: A word is not of that form.
    """
    values: dict[int, float] = {}
    for word in words or ():
        rank, _, text = word.partition("=")
        try:
            values[int(rank)] = float(parse_value(text))
        except ValueError as error:
            reason: Words = ""
            if isinstance(error, CollsimError):
                reason = Sentence(": {error}", error=error)
            example = {"slow": "3=2", "late": "3=1ms"}[name]
            message = "--{name} {word!r} is not rank=value, for example --{name} {example}{reason}"
            raise CollsimError(message, name=name, word=word, example=example, reason=reason) from None
    return values or None


def parse_ranks(text: str | None) -> int | list[int] | None:
    """Parse which ranks of a machine take part.

    Args:
        text: `8`, how many, or `0,1`, their numbers; None for all.

    Returns:
        What the parameter `ranks` of Python takes for it.

    Raises:
        CollsimError: The text is neither.
    """
    if text is None:
        return None
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        message = "--ranks {text!r} is neither a number of ranks, for example 8, nor their numbers, for example 0,1"
        raise CollsimError(message, text=text) from None
    if len(numbers) == 1:
        return numbers[0]
    return numbers


def require_synthesis(synthesize: bool, switches: bool) -> None:
    """Raises CollsimError for `--no-switches` where nothing is synthesized."""
    if not switches and not synthesize:
        raise CollsimError("--no-switches is for what is synthesized; add --synthesize")


def choose_out(argument: Path | None, option: Path | None, example: str) -> Path:
    """Choose the file or folder that a command writes: that of its argument or that of `-o`.

    Args:
        argument: What the argument is.
        option: What `-o` is.
        example: A name for the message.

    Raises:
        CollsimError: Neither is there, or both.
    """
    if argument is not None and option is not None:
        raise CollsimError("give {first} or -o {second}, not both", first=str(argument), second=str(option))
    out = option or argument
    if out is None:
        raise CollsimError("say where to write: {example}", example=example)
    return out


def require_writable(holds: str, out: Path) -> None:
    """Raises CollsimError where no format writes a `schedule` or `trace` to this name, or its folder is not there."""
    from ..io.file_formats import require_writable as require_format  # formats bring tables with them

    require_format(holds, out)


def find_algorithm(name: str, load: Path | None) -> cs.Algorithm:
    """An algorithm by name, from a file (`my.py:name`), or by name after running a file.

    Args:
        name: Or `my.py:name`, or a file that registers one.
        load: A file to run first; None for none.
    """
    if load is not None:
        return load_algorithm(f"{load}:{name}")
    if ".py" in name:
        return load_algorithm(name)
    if Path(name).is_file():
        load_schedule(name)  # says what it is, where it is no schedule
        message = "{name} holds a schedule; give the name of an algorithm here, or run the file: collsim run {name}"
        raise CollsimError(message, name=name)
    return get_algorithm(name)


def load_stored_schedule(
    name: str, load: Path | None, options: Mapping[str, object], ranks: int | str | None
) -> cs.Schedule | None:
    """The schedule of a file in the place of an algorithm; None where an algorithm is named.

    Args:
        name: What stands in the place of an algorithm.
        load: A file to run first, which holds algorithms; None for none.
        options: Those of the command that are an algorithm's.
        ranks: As the command has it; None where it has none.

    Raises:
        CollsimError: For options of an algorithm, and another number of ranks, beside a file; and as `load_schedule`.
    """
    schedule = None
    if load is None:
        schedule = load_schedule(name)
    if schedule is None:
        return None
    if options:
        message = "{name} is the schedule of a file, which has no options; leave out --{option}"
        raise CollsimError(message, name=name, option=next(iter(options)))
    if ranks is not None and str(ranks) != str(schedule.ranks):
        message = "{name} has {count} ranks; leave out --ranks {ranks}"
        raise CollsimError(message, name=name, count=schedule.ranks, ranks=ranks)
    return schedule


def load_schedule(name: str) -> cs.Schedule | None:
    """The schedule in a file (`x.xml`, `x.json`, `x.csv` ...); None for what names no such file.

    Args:
        name: What stands in the place of an algorithm on the command line.

    Raises:
        CollsimError: For a file that holds something else.
        FormatError: For a damaged one, and for a format that is not read, with its name and what to give instead.
    """
    if "." not in name or ".py" in name:
        return None
    suffixes = [s for f in cs.io.formats().values() if f.holds == "schedule" and f.read is not None for s in f.suffixes]
    if not any(name.endswith(suffix) for suffix in suffixes) and not Path(name).is_file():
        return None
    loaded = cs.load(name)
    if not isinstance(loaded, cs.Schedule):
        message = "{name} holds {what}, not a schedule; give the name of an algorithm or the file of a schedule"
        raise CollsimError(message, name=name, what=type(loaded).__name__)
    return loaded


def parse_algorithm_options(context: typer.Context) -> dict[str, Any]:
    """`--chunks 4 --server=helper` as keywords of the algorithm, which checks their names and values itself.

    Args:
        context: Its words that no option of the command took.

    Raises:
        CollsimError: A word is no option, or an option has no value.
    """
    options: dict[str, Any] = {}
    words = list(context.args)
    while words:
        word = words.pop(0)
        _refuse_other_spelling(context, word)
        if not word.startswith("--"):
            if word in cs.machines():
                raise CollsimError("unexpected {word!r}; machines are written --machine {word}", word=word)
            raise CollsimError("unexpected {word!r}; options of the algorithm are written --name value", word=word)
        name, equals, value = word[2:].partition("=")
        if not equals:
            if not words:
                raise CollsimError("option --{name} needs a value", name=name)
            value = words.pop(0)
        options[name.replace("-", "_")] = _parse_option_value(value)
    return options


def _refuse_other_spelling(context: typer.Context, word: str) -> None:
    """Raise CollsimError for an option of other tools that is one of the command's: `-n 8`, `--size 64MiB`. A loaded
    algorithm may have an option of that name."""
    name = word.lstrip("-").partition("=")[0].replace("-", "_")
    meant = [meaning for meaning in load_synonyms().get(name, ()) if meaning in context.params]
    if word.startswith("-") and meant and not context.params.get("load"):
        spelled = join_words([f"--{meaning.replace('_', '-')}" for meaning in meant], "{first} or {then}")
        raise CollsimError("unknown option {word}; did you mean {close}?", word=word, close=spelled)


def _parse_option_value(text: str) -> object:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text)
    except ValueError:
        return text


def is_progress_shown(progress: bool | None) -> bool:
    """Is there a progress bar: as the option says, else where standard error is a terminal?"""
    if progress is None:
        return sys.stderr.isatty()
    return progress
