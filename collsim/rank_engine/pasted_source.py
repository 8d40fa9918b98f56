"""Sources that a web page has damaged: line breaks and indentation that are lost, spaces that are none.

Blogs often lose the breaks of their code, so that `import numpy as npdef f(x):# a notefor i in range(n):` is one line.
Where a break belongs follows from the grammar: no name stands beside another, and nothing follows a bracket or a
comment. Which lines belong to a loop follows from its variable: a statement that uses it, or a name that the loop has
bound, is inside; the first one that uses neither is behind it. Where that does not decide, nothing is restored.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..errors import Sentence

_LONGEST_LINE = 20_000  # characters that are searched for lost breaks
_MAX_SHOWN = 4  # places where a break is lost
#: Of a source that is put back, as each statement is compared with those behind it; a stranger's may have no end.
_MAX_CHARACTERS, _MAX_STATEMENTS = 20_000, 500
_INDENT = 4
#: Python attributes what it warns of in a source to the file of the source. A filter for this one concerns no other
#: code and stays, as `catch_warnings` would change the filters of all threads.
_FILE_NAME = "<pasted source>"
warnings.filterwarnings("ignore", module=_FILE_NAME)
_INVISIBLE = str.maketrans({"\u00a0": " ", "\u3000": " ", "\u200b": None, "\u200c": None, "\ufeff": None})
_HEADERS = ("def", "class", "for", "while", "if", "elif", "else", "try", "except", "finally", "with", "async")
#: Characters of Chinese, which stand in no code but in comments, strings and a few names.
_PROSE = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
_CONTINUATIONS = {"elif": ("if", "elif"), "else": ("if", "elif", "for", "while", "try", "except")}
_CONTINUATIONS |= {"except": ("try", "except"), "finally": ("try", "except", "else")}
#: Words that go on with an expression behind a bracket or a number.
_OPERATORS = {"if", "else", "in", "is", "and", "or", "not", "as", "for"}
_NAME = r"[^\W\d]\w{0,80}"
_WORD = re.compile(_NAME)
_NUMBER = re.compile(r"(?:0[xXbBoO][0-9a-fA-F_]+|\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?[jJ]?)")
# Every repetition has an end, so that the time of a search grows with the source and not with its square.
#: A statement whose first word is glued to the name before it.
_GLUED_WORD = re.compile(
    rf"(?:def {_NAME}\(|class {_NAME}\s*[:(]|import {_NAME}|from {_NAME}[\w.]{{0,80}} import"
    rf"|for {_NAME}[^:]{{0,80}} in |return\b|while )"
)
#: The head of a block that begins with a word which goes on with an expression elsewhere.
_GLUED_HEADER = re.compile(rf"for {_NAME}[^:\n]{{0,80}} in [^\n]{{0,200}}:|if (?:(?! else )[^:\n]){{0,200}}:")
#: A statement, looked for behind a comment: its end is where the language changes, or a keyword begins.
_STATEMENT = (
    rf"(?:(?:def|class|for|while|if|return|import|from|with|try|print|else|elif)\b[ (:]"
    rf"|{_NAME}(?:\.{_NAME}){{0,8}}(?:\[[^\]\n]{{0,80}}\]){{0,4}}\s?(?:[-+*/@]?=(?!=)|\())"
)
_BEHIND_COMMENT = re.compile(
    rf"(?<=[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef])(?=[A-Za-z_]){_STATEMENT}"
    rf"|(?<=\w)(?:def {_NAME}\(|for {_NAME} in [^:]{{0,200}}:|import {_NAME})",
    re.ASCII,
)

_BEHIND_COMMENT_AND_SPACE = re.compile(
    rf"(?<=[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef])[ ]?"
    rf"(?={_NAME}(?:\.{_NAME}){{0,8}}(?: ?=(?!=) ?|\()|for {_NAME} in |import {_NAME}|from {_NAME})",
    re.ASCII,
)
_WHOLE_IMPORT = re.compile(rf"(?:import|from {_NAME}[\w.]{{0,80}} import) {_NAME}")


@dataclass(frozen=True)
class RestoredSource:
    """A source that can be parsed again.

    Attributes:
        text: the source.
        breaks: how many line breaks were put back.
        has_indentation: whether its indentation was put back, too.
    """

    text: str
    breaks: int
    has_indentation: bool

    def describe(self) -> Sentence:
        """What was put back."""
        if not self.has_indentation:
            return Sentence("The program has spaces of a web page that are none of Python's; they were replaced.")
        if not self.breaks:
            return Sentence("The indentation of the program was lost; it was put back from which lines use what.")
        return Sentence(
            "{breaks} line breaks of the program and their indentation were lost; they were put back as the names in "
            "each line say.",
            breaks=self.breaks,
        )


@dataclass
class _Line:
    """A statement, or a comment, of a source: its text, and its own indentation where it began a line there."""

    text: str
    indent: int | None


@dataclass
class _Block:
    """A compound statement that is open: its first word, its columns, and what a loop has bound."""

    word: str
    indent: int
    variables: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    statements: int = 0
    uses: int = 0  # statements of the body that use the variables or what is bound


class _Ambiguous(Exception):
    """The grammar does not say where a statement belongs."""


def restore_source(source: str, guess_blocks: bool = False) -> RestoredSource | None:
    """Put back what a copy from a web page has lost.

    Args:
        source: what was pasted.
        guess_blocks: for readers that run nothing: where nothing says how far a block goes, an `if` has one statement
            and a loop goes on to the end, and lines that were joined by spaces are taken apart, too.

    Returns:
        A source that is Python; None for one that is Python already, and where it cannot be told what it was.
    """
    if is_python(source):
        return None
    text = source.translate(_INVISIBLE)
    if is_python(text):
        return RestoredSource(text, 0, has_indentation=False)
    lines = list(_split(text[:_MAX_CHARACTERS], guess_blocks))
    if len(text) > _MAX_CHARACTERS or len(lines) > _MAX_STATEMENTS:
        return None
    # Lost line breaks show as statements that did not begin their line.
    breaks = len(lines) - sum(line.indent is not None for line in lines)
    is_flat = not any(line.indent for line in lines)
    # Indentation is believed first; if that gives no Python, a flat text is indented anew.
    for ignores_columns in dict.fromkeys((False, is_flat)):
        try:
            restored = "\n".join(_indent(lines, ignores_columns, guess_blocks)) + "\n"
        except (_Ambiguous, RecursionError):
            continue
        if is_python(restored) and (guess_blocks or _is_plausible(restored, lines, text)):
            return RestoredSource(restored, breaks, has_indentation=True)
    return None


def describe_syntax_error(source: str, line: int, message: str, is_indentation: bool) -> Sentence:
    """Why a source is not Python, and what a copy from a web page may have lost.

    Args:
        source: the program.
        line: where the error is, from 1; 0 where it is of the whole source.
        message: Python's.
        is_indentation: whether it is about indentation.
    """
    if not line:
        return Sentence("the program is not Python: {message}", message=message)
    sentence = Sentence("line {line} of the program is not Python: {message}", line=line, message=message)
    lines = source.splitlines()
    text = ""
    if 0 < line <= len(lines):
        text = lines[line - 1]
    if "```" in source or _PROSE.search(re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", "", text).partition("#")[0]):
        return Sentence(
            "{sentence}. There is prose around the code: give the code alone; `collsim read-script` finds the code of "
            "an article",
            sentence=sentence,
        )
    starts = [part.text.split("(")[0].strip()[:40] for part in _split(text[:_LONGEST_LINE]) if part.indent is None]
    starts = [start for start in starts if not start.startswith("#")]
    if starts:
        words = ", ".join(repr(start) for start in starts[:_MAX_SHOWN])
        return Sentence(
            "{sentence}. Its line breaks are lost, before {words}: a break and the indentation belong there; which "
            "lines belong to a loop, only the original shows",
            sentence=sentence,
            words=words,
        )
    if is_indentation and not any(part[:1].isspace() for part in lines if part.strip()):
        return Sentence(
            # Nothing is indented though blocks begin: the copy has lost all of it.
            "{sentence}. No line is indented, so the indentation is lost: copy the program from where it has it; "
            "`collsim read-script` reads it as it is, and runs nothing",
            sentence=sentence,
        )
    if restore_source(source, guess_blocks=True) is not None:
        return Sentence(
            "{sentence}. Line breaks are lost, and where blocks end can only be guessed: copy the program from where "
            "it has them; `collsim read-script` reads it as it is, and runs nothing",
            sentence=sentence,
        )
    return sentence


def parse_pasted(text: str) -> ast.Module:
    """Parse a source of somebody else; what Python warns of in it, such as `"\\d"`, is not shown.

    Args:
        text: the source.

    Raises:
        SyntaxError: it is not Python.
        ValueError, RecursionError, MemoryError: it cannot be parsed.
    """
    return ast.parse(text, _FILE_NAME)


def is_python(text: str) -> bool:
    """Check whether a text is Python; nothing of it runs, and what is too long or too deep to read is none.

    Args:
        text: the source.
    """
    try:
        parse_pasted(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


# ---- line breaks -----------------------------------------------------------------------------------------------------


def _split(text: str, takes_spaces: bool = False) -> Iterator[_Line]:
    """The statements and comments of a source, in order; takes_spaces: a space may stand for a line break."""
    scanner = _Scanner(text, takes_spaces)
    while scanner.position < len(text) and len(scanner.lines) <= _MAX_STATEMENTS:
        scanner.read()
    scanner.end(is_line_end=True)
    yield from scanner.lines


class _Scanner:
    """Reads a source and cuts it where a statement ends.

    Args:
        text: the source.
        takes_spaces: whether lines may be joined by spaces.
    """

    def __init__(self, text: str, takes_spaces: bool) -> None:
        self.text, self.position, self._takes_spaces = text, 0, takes_spaces
        self.lines: list[_Line] = []
        self._start, self._depth = 0, 0
        self._begins_line = True

    def end(self, *, is_line_end: bool = False) -> None:
        """End a statement here."""
        piece = self.text[self._start : self.position]
        if stripped := piece.strip():
            indent = None
            if self._begins_line:
                indent = len(piece.expandtabs(_INDENT)) - len(piece.expandtabs(_INDENT).lstrip())
            self.lines.append(_Line(stripped.rstrip("\\").rstrip(), indent))
        if stripped or is_line_end:
            self._begins_line = is_line_end
        self._start = self.position

    def read(self) -> None:
        """Read a token."""
        text, position = self.text, self.position
        character = text[position]
        if character in "'\"":
            self._read_string()
        elif character == "#":
            self._read_comment()
        elif character == "\n":
            self._read_break()
        elif character in "([{":
            self._depth += 1
            self.position += 1
        elif character in ")]}":
            self._depth = max(0, self._depth - 1)
            self.position += 1
            self._end_before_name()
        elif match := _NUMBER.match(text, position):
            self.position = match.end()
            self._end_before_name()
        elif match := _WORD.match(text, position):
            self._read_word(match[0])
        else:
            self.position += 1
            if character == ":" and self._depth == 0 and self._is_header():
                self.end()

    def _read_string(self) -> None:
        quote = self.text[self.position]
        if self.text.startswith(quote * 3, self.position):
            quote *= 3
        self.position += len(quote)
        while self.position < len(self.text) and not self.text.startswith(quote, self.position):
            if len(quote) == 1 and self.text[self.position] == "\n":
                return  # no string of Python; the break ends it
            self.position += 1 + (self.text[self.position] == "\\")
        self.position += len(quote)
        self._end_before_name()

    def _read_comment(self) -> None:
        if self._depth == 0:
            self.end()
        end = self.text.find("\n", self.position)
        if end < 0:
            end = len(self.text)
        # A second `#` in a comment may begin the comment of the next line, glued to this one.
        following = self.text.find("#", self.position + 1, end)
        pattern = _BEHIND_COMMENT
        if self._takes_spaces:
            pattern = _BEHIND_COMMENT_AND_SPACE
        match = pattern.search(self.text, self.position + 1, end)
        starts = [end]
        if following >= 0:
            starts.append(following)
        if match is not None:
            starts.append(match.start())
        self.position = min(starts)
        if self._depth == 0:
            self.end()

    def _read_break(self) -> None:
        is_joined = self._depth > 0 or self.text.endswith("\\", 0, self.position)
        if is_joined:
            self.position += 1
            return
        self.end(is_line_end=True)
        self.position += 1
        self._start = self.position

    def _read_word(self, word: str) -> None:
        """A name beside another is none of Python's: a keyword is glued to the end of the first."""
        text, start = self.text, self.position
        self.position = start + len(word)
        if word == "import" and self._takes_spaces and _WHOLE_IMPORT.match(text[self._start : start].strip()):
            self.position = start
            self.end()
            self.position = start + len(word)
            return
        if word in keyword.kwlist or word in keyword.softkwlist or self._depth:
            return
        for position in range(start + 1, self.position):
            match = _GLUED_WORD.match(text, position)
            if match is not None and match.end() > self.position:
                self.position = position
                self.end()
                return

    def _end_before_name(self) -> None:
        """Behind a bracket, a string or a number a name begins another statement, unless it is an operator."""
        match = _WORD.match(self.text, self.position)
        if self._takes_spaces and self.text.startswith(" ", self.position):
            match = _GLUED_HEADER.match(self.text, self.position + 1)
            if not self._depth and match is not None:
                self.end()
            return
        if self._depth or match is None:
            return
        if match[0] not in _OPERATORS or _GLUED_HEADER.match(self.text, match.start()):
            self.end()

    def _is_header(self) -> bool:
        """Whether the statement up to here is the head of a block."""
        piece = self.text[self._start : self.position].strip()
        match = _WORD.match(piece)
        return match is not None and match[0] in _HEADERS and "lambda" not in piece


# ---- indentation -----------------------------------------------------------------------------------------------------


def _indent(lines: list[_Line], ignores_columns: bool, guess: bool) -> Iterator[str]:
    """The lines of a source with their indentation.

    Args:
        lines: statements and comments.
        ignores_columns: whether the columns at which lines begin say nothing, as all are 0.
        guess: whether a block whose end nothing says gets one.
    """
    blocks: list[_Block] = []
    comments: list[str] = []
    # Comments wait for the statement behind them, whose indentation they get.
    for number, line in enumerate(lines):
        if line.text.startswith("#"):
            comments.append(line.text)
            continue
        column = line.indent
        if ignores_columns:
            column = None
        _close_blocks(blocks, line.text, column, _list_following(lines[number + 1 :], ignores_columns), guess)
        indent = column or 0
        if blocks:
            indent = blocks[-1].indent + _INDENT
        if column is not None and blocks and column != indent and not blocks[-1].statements:
            indent = max(column, blocks[-1].indent + 1)
        for text in (*comments, line.text):
            yield " " * indent + text
        comments = []
        _note_statement(blocks, line.text, indent)
    yield from comments


def _list_following(lines: Iterable[_Line], ignores_columns: bool) -> list[str]:
    """The statements that may belong to the same function: up to the next one that certainly does not."""
    texts = []
    for line in lines:
        if re.match(r"(?:async )?def |class |@", line.text) or (line.indent == 0 and not ignores_columns):
            break
        if not line.text.startswith("#"):
            texts.append(line.text)
    return texts


def _close_blocks(blocks: list[_Block], text: str, column: int | None, following: list[str], guess: bool) -> None:
    """Close the blocks that a statement is behind."""
    word = _read_first_word(text)
    if column is not None:  # it began a line, whose indentation is left
        while blocks and column <= blocks[-1].indent:
            blocks.pop()
        return
    if word in _CONTINUATIONS:
        while blocks and blocks[-1].word not in _CONTINUATIONS[word]:
            blocks.pop()
        if not blocks:
            raise _Ambiguous
        blocks.pop()
        return
    # A block needs at least one statement, so this one belongs to it.
    if blocks and not blocks[-1].statements:
        return
    if word in ("def", "class", "async") or text.startswith("@"):
        inside = next((n for n, block in enumerate(blocks) if block.word == "class"), -1)
        del blocks[inside + 1 if "(self" in text else 0 :]
        return
    # A return at the very end closes all blocks of its function.
    if word == "return" and not following:
        while blocks and blocks[-1].word != "def":
            blocks.pop()
        return
    # A loop over the variable of an open loop cannot be inside of it.
    same = (n for n, block in enumerate(blocks) if block.variables & _list_loop_variables(text))
    del blocks[next(same, len(blocks)) :]  # no loop has the variable of one around it
    while blocks and blocks[-1].word != "def":
        try:
            if _is_inside(blocks[-1], blocks, [text, *following]):
                return
        except _Ambiguous:
            if not guess:
                raise
            if blocks[-1].word not in ("if", "elif", "else"):
                return
        blocks.pop()
    if blocks and blocks[-1].word == "def" and blocks[-1].uses:  # a return has ended the function
        blocks.clear()


def _is_inside(block: _Block, blocks: Sequence[_Block], statements: Sequence[str]) -> bool:
    """Whether the first of some statements belongs to the block of a loop.

    Args:
        block: the innermost one.
        blocks: all that are open.
        statements: the one in question and those behind it.

    Raises:
        _Ambiguous: nothing says so.
    """
    if block.word != "for":
        raise _Ambiguous
    for text in statements:
        if _list_loop_variables(text) & block.variables:
            return False
        if _list_names(text) & (block.variables | block.bound):
            return True
    # What is computed of neither, without a message, and has a new name is the same after the loop as in it.
    text = statements[0]
    known = set[str]().union(*(other.bound | other.variables for other in blocks))
    calls = {match[1].split(".")[0] for match in _CALLED.finditer(text)}
    if block.uses == block.statements and (bound := _list_bound(text)) and not bound & known and calls <= _PURE:
        return False
    raise _Ambiguous


_CALLED = re.compile(rf"({_NAME}(?:\.{_NAME})*)\(")
_PURE = {"np", "numpy", "torch", "sum", "len", "max", "min", "list", "tuple", "range", "sorted", "abs"}


def _note_statement(blocks: list[_Block], text: str, indent: int) -> None:
    """Count a statement in the blocks around it, and open that which it begins."""
    names, bound = _list_names(text), _list_bound(text)
    if blocks:
        block = blocks[-1]
        block.statements += 1
        if block.word == "for":
            block.uses += bool(names & (block.variables | block.bound))
        elif block.word == "def":
            block.uses += _read_first_word(text) == "return"
    for block in blocks:
        block.bound |= bound
    word = _read_first_word(text)
    if text.endswith(":") and word in _HEADERS:
        if word == "async":
            word = text.split()[1]
        blocks.append(_Block(word, indent, _list_loop_variables(text)))


def _read_first_word(text: str) -> str:
    match = _WORD.match(text)
    if match is None:
        return ""
    return match[0]


def _list_names(text: str) -> set[str]:
    """The names of a statement, those in f-strings too; not those of a comprehension's own."""
    code = re.sub(r"(?<![fF])(?:'[^'\n]*'|\"[^\"\n]*\")", "", text)
    local = {name for match in re.finditer(r"(?<=.)\bfor (.*?) in ", code) for name in _WORD.findall(match[1])}
    return set(_WORD.findall(code)) - set(keyword.kwlist) - local


def _list_loop_variables(text: str) -> set[str]:
    match = re.match(r"(?:async )?for (.*?) in ", text)
    if match is None:
        return set()
    return _list_names(match[1])


def _list_bound(text: str) -> set[str]:
    """The names that an assignment binds anew; one to a part of an array binds none."""
    match = re.match(rf"({_NAME}(?:\s*,\s*{_NAME})*)\s*=(?!=)", text)
    if match is None:
        return set()
    return set(_WORD.findall(match[1]))


# ---- whether it can be right -----------------------------------------------------------------------------------------


def _is_plausible(text: str, lines: Sequence[_Line], source: str) -> bool:
    """Whether nothing is left that two glued statements may be: a name that nobody defines, an assignment in another,
    code at the end of a comment."""
    # A comment that holds code may have swallowed a statement when its break was lost.
    if any(line.text.startswith("#") and re.search(r"[=(]|\breturn ", line.text) for line in lines):
        return len(lines) == len(source.splitlines())  # comments that stood on their lines
    tree = parse_pasted(text)
    if any(isinstance(node, ast.Assign) and len(node.targets) > 1 for node in ast.walk(tree)):
        return False
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    bound |= {
        str(node.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler)
    }
    return "*" in bound or used <= bound | set(dir(builtins)) | {"__file__"}
