"""Pieces of evidence about a job, and the facts that they state, each with the line that says it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

from ..errors import CollsimError, FormatError, Sentence, Words
from ..files import iterate_chunks, read_whole_lines
from ..io.chakra import iterate_chakra
from ..io.nccl.nccl_log_facts import Stated, read_log_facts
from ..io.torch_profiler import ProfilerTrace, is_profiler_trace, parse_profiler_trace, read_profiler_trace
from ..locale import has_text, translate
from .readers.execution_traces import write_chakra_node
from .readers.profiler_traces import write_profiler_trace
from .readers.timed_calls import TimedCall, combine_calls
from .readers.tool_readers import TOOL_READERS
from .readers.topology_dumps import read_tree

Value = TypeVar("Value")
#: Characters of a line that are looked at, and that are quoted.
_LONGEST_LINE, _LONGEST_QUOTE = 4096, 200
#: Texts that somebody may give at once, and facts that are kept of each kind and piece.
_MAX_PIECES, _MAX_FACTS = 2_000, 4_096
#: Characters of all texts together, so that their lines fit into the memory of a small computer.
_MAX_CHARACTERS = 256 * 2**20
#: Bytes of a file by which it is decided whether it is a trace.
_HEAD = 2**20


@dataclass(frozen=True)
class Fact:
    """One thing that a line states.

    Attributes:
        kind: what it is about, such as `nccl.variable` or `pcie.acs`.
        value: what it says; its type is that of its kind.
        piece: name of the piece.
        line: number of the line in it, from 1.
        text: the line, at most 200 characters.

    Examples:
        >>> import collsim as cs
        >>> log = "h:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC"
        >>> diagnosis = cs.diagnose({"nccl.log": log})
        >>> fact = diagnosis.causes[0].evidence[0]
        >>> fact.kind, fact.value, fact.line
        ('nccl.variable', ('NCCL_P2P_LEVEL', 'LOC'), 1)
    """

    kind: str
    value: object
    piece: str
    line: int
    text: str

    def quote(self) -> str:
        """Write it with the name of its file and the number of its line."""
        return f"{Path(self.piece).name}:{self.line}: {self.text}"


@dataclass(frozen=True)
class EvidencePiece:
    """One text that somebody gave.

    Attributes:
        name: of the file, or `text 1`.
        tools: what its parts were recognized as.
        first_line: the first line that is not empty; reports quote it where no tool was recognized.

    Examples:
        >>> import collsim as cs
        >>> log = "h:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC"
        >>> diagnosis = cs.diagnose({"nccl.log": log})
        >>> piece = diagnosis.pieces[0]
        >>> piece.name, piece.tools
        ('nccl.log', ('NCCL log',))
    """

    name: str
    tools: tuple[str, ...]
    first_line: str

    def describe(self, language: str = "en") -> str:
        """Write what its parts were recognized as; the name of a program is the same in every language.

        Args:
            language: `en` or `zh`.
        """
        names = []
        for tool in self.tools:
            key = f"tool.{tool}"
            names.append(translate(language, "diagnosis", key) if has_text("diagnosis", key) else tool)
        return translate(language, "words", "items").join(names)


@dataclass(frozen=True)
class Evidence:
    """All pieces, their texts and facts.

    Attributes:
        pieces: as they were given.
        texts: of each piece by its name.
        facts: of all pieces, in the order of lines.
        notes: what could not be read, and why.
    """

    pieces: tuple[EvidencePiece, ...]
    texts: Mapping[str, str]
    facts: tuple[Fact, ...]
    notes: tuple[Words, ...] = ()

    def select(self, kind: str, value: object = None) -> tuple[Fact, ...]:
        """Return the facts of a kind, with one value where it is given.

        Args:
            kind: of the facts.
            value: None for all values.
        """
        return tuple(fact for fact in self.facts if fact.kind == kind and (value is None or fact.value == value))

    def select_values(self, kind: str, value_type: type[Value]) -> list[tuple[Fact, Value]]:
        """Return the facts of a kind with their values, of which every one has the type.

        Args:
            kind: of the facts.
            value_type: of their values; others are left out.
        """
        return [(fact, fact.value) for fact in self.facts if fact.kind == kind and isinstance(fact.value, value_type)]

    def list_values(self, kind: str) -> list[object]:
        """Return the values of the facts of a kind, each once, in the order of lines."""
        return list(dict.fromkeys(fact.value for fact in self.select(kind)))

    def find_texts(self, tool: str) -> list[tuple[str, str]]:
        """Return name and text of the pieces in which a tool's output was recognized."""
        return [(piece.name, self.texts[piece.name]) for piece in self.pieces if tool in piece.tools]


def read_texts(
    paths: Iterable[Path], notes: list[Words], errors: list[CollsimError] | None = None
) -> Iterator[tuple[str, str]]:
    """Read files one by one, of a damaged one what is whole.

    Args:
        paths: of the files.
        notes: takes what was left out.
        errors: takes what is wrong with files that cannot be read; None to raise the first.

    Yields:
        The path and the text of each; of a Chakra trace a line for each of its nodes, of one of PyTorch's profiler a
        line for each collective.

    Raises:
        CollsimError: One of them cannot be read and `errors` is None, or they are too large together.
    """
    characters = 0
    for path in paths:
        try:
            if path.suffix == ".et":
                text = "\n".join(_write_chakra_nodes(path, notes))
            elif is_profiler_trace(next(iterate_chunks(path, _HEAD), b"").decode("utf-8", "replace")):
                text = _write_trace(path.name, read_profiler_trace(path), notes)
            else:
                text, damage = read_whole_lines(path)
                notes += damage
        except CollsimError as error:
            if errors is None:
                raise
            errors.append(error)
            continue
        characters += len(text)
        if characters > _MAX_CHARACTERS:
            message = (
                "{path}: with this file there are more than {most} MiB; give fewer files, or the parts that matter"
            )
            raise CollsimError(message, path=path.name, most=_MAX_CHARACTERS // 2**20)
        yield str(path), text


def _write_chakra_nodes(path: Path, notes: list[Words]) -> Iterator[str]:
    nodes = iterate_chakra(path)
    yield write_chakra_node(next(nodes, {}))
    try:
        yield from map(write_chakra_node, nodes)
    except CollsimError as error:  # of a file that is cut the nodes before it are whole
        notes.append(Sentence("{error}; what is before the damage was read", error=error))


def _write_trace(name: str, trace: ProfilerTrace, notes: list[Words]) -> str:
    if trace.damage is not None:
        notes.append(Sentence("{piece}: {reason}", piece=name, reason=trace.damage))
    return "\n".join(write_profiler_trace(trace))


def _convert_trace(name: str, text: str, notes: list[Words]) -> str:
    """A trace as lines, and any other text as it is."""
    if not is_profiler_trace(text[:_HEAD]):
        return text
    try:
        return _write_trace(name, parse_profiler_trace((text,), name), notes)
    except FormatError as error:
        notes.append(error.sentence)
    return text


def clean_text(text: str) -> str:
    """Return a text without characters that a terminal or a reader of it would act on."""
    return "".join(letter if letter.isprintable() or letter == "\t" else "\N{REPLACEMENT CHARACTER}" for letter in text)


def require_few_pieces(count: int) -> None:
    """Refuse more pieces than are read.

    Args:
        count: of pieces.

    Raises:
        CollsimError: There are too many.
    """
    if count > _MAX_PIECES:
        raise CollsimError("{count} pieces of evidence; at most {most} are read", count=count, most=_MAX_PIECES)


def require_texts(texts: Mapping[str, str]) -> None:
    """Refuse what are no texts by the names of their files.

    Args:
        texts: of evidence.

    Raises:
        CollsimError: A name or a text is something else.
    """
    for name, text in texts.items():
        if not isinstance(name, str) or not isinstance(text, str):
            message = "{name!r}: {text!r}: give texts by the names of their files, as {{'nccl.log': '...'}}"
            raise CollsimError(message, name=name, text=text)


def read_evidence(texts: Mapping[str, str]) -> Evidence:
    """Read pieces of evidence.

    Args:
        texts: by the names of their files, or names of yours.

    Raises:
        CollsimError: Nothing or too much was given.
    """
    if not texts:
        raise CollsimError("no evidence: give a log, a table of nccl-tests or what a tool such as nvidia-smi printed")
    require_few_pieces(len(texts))
    require_texts(texts)
    read: list[EvidencePiece] = []
    facts: list[Fact] = []
    notes: list[Words] = []
    texts = {clean_text(name): text for name, text in texts.items()}
    texts = {name: _convert_trace(Path(name).name, text, notes) for name, text in texts.items()}
    for name, text in texts.items():
        tools = []
        whole_lines = text.splitlines()
        lines = [line[:_LONGEST_LINE] for line in whole_lines]
        cut = [number for number, line in enumerate(whole_lines, 1) if len(line) > _LONGEST_LINE]
        if cut:
            message = "{piece}: of {count} {count:line|lines}, line {line} first, only {most:,} characters were read"
            values = {"count": len(cut), "line": cut[0], "most": _LONGEST_LINE}
            notes.append(Sentence(message, piece=Path(name).name, **values))
        # A line of NCCL's log is none of a tool's, and logs are long.
        numbers = [number for number, line in enumerate(lines, 1) if " NCCL " not in line]
        others = [lines[number - 1] for number in numbers]
        stated_by: dict[str, Iterable[Stated]] = {"NCCL log": chain(read_log_facts(lines), read_tree(lines))}
        stated_by |= {tool: _renumber(reader(others), numbers) for tool, reader in TOOL_READERS.items()}
        for tool, statements in stated_by.items():
            stated = list(_build_facts(name, lines, statements))
            if stated:
                tools.append(tool)
                facts += stated
        first_line = next((line.strip() for line in lines if line.strip()), "")
        read.append(EvidencePiece(name, tuple(tools), clean_text(first_line[:_LONGEST_QUOTE])))
    calls = [(fact, fact.value) for fact in facts if isinstance(fact.value, TimedCall)]
    facts += [replace(fact, kind=kind, value=value) for fact, kind, value in combine_calls(calls)]
    return Evidence(tuple(read), texts, tuple(facts), tuple(notes))


def _renumber(stated: Iterable[Stated], numbers: Sequence[int]) -> Iterator[Stated]:
    """Statements of some of the lines with the numbers that these have in the whole."""
    return ((numbers[number - 1], kind, value) for number, kind, value in stated)


def _build_facts(name: str, lines: Sequence[str], stated: Iterable[Stated]) -> Iterator[Fact]:
    counts: dict[str, int] = {}
    for number, kind, value in stated:
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] <= _MAX_FACTS:
            yield Fact(kind, value, name, number, clean_text(lines[number - 1].strip()[:_LONGEST_QUOTE]))
