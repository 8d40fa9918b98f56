"""Files from strangers, read within bounds; files of ours, written whole or not at all.

Every reader of the exchange and of sweep plans goes through here: a file has a largest size (also after unzipping), is
UTF-8, and its XML or JSON has a largest number of elements and a largest depth. Whatever is wrong with it ends in a
`FormatError` that names the file, the place and what was expected.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from numbers import Number
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from .errors import CollsimError, FormatError, Sentence, Words, format_value, require_path

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    import pandas as pd

MOST_BYTES = 64 * 2**20
MOST_ELEMENTS = 2_000_000
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


def refuse(path: Any, where: Words, why: Words | Exception, /, **values: object) -> NoReturn:
    """Raise the FormatError `file, place: reason`; `values` are those of the reason, if it is a template."""
    place = {"file": Path(path).name, "why": Sentence.from_words(why, **values)}
    if not where:
        raise FormatError("{file}: {why}", **place)
    raise FormatError("{file}, {where}: {why}", **place, where=Sentence.from_words(where))


def read_bytes(path: Any, most: int = MOST_BYTES) -> bytes:
    """The bytes of a file, unzipped if it is gzip. Raises FormatError if there is none or it is larger than `most`."""
    data = read_head(path, most + 1)
    if len(data) > most:
        refuse(path, "", "larger than {most} MiB, the most that a file of this kind may have", most=most // 2**20 or 1)
    return data


def read_head(path: Any, most: int) -> bytes:
    """The first bytes of a file, unzipped if it is gzip; no more than these are read. Raises FormatError if there is no
    such file."""
    place = require_path(path)
    try:
        with open(place, "rb") as file:
            head = file.peek(2)[:2] if isinstance(file, io.BufferedReader) else b""
            source: Any = gzip.GzipFile(fileobj=file) if head == b"\x1f\x8b" else file
            data: bytes = source.read(most)
    except (FileNotFoundError, NotADirectoryError):
        raise FormatError("no file {path}", path=format_value(os.fspath(path))) from None
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(
            "{name} cannot be read: {error}",
            name=format_value(Path(path).name or os.fspath(path)),
            error=_reason(error),
        ) from error
    except (TypeError, ValueError) as error:
        raise FormatError("{path!r} is not the path of a file", path=path) from error
    return data


def read_text(path: Any, most: int = MOST_BYTES) -> str:
    """The text of a UTF-8 file, with or without a byte order mark. Raises FormatError naming the first bad byte."""
    data = read_bytes(path, most)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        why = "byte 0x{byte:02x} is not UTF-8; save the file as UTF-8"
        refuse(path, Sentence("line {line}", line=line), why, byte=data[error.start])
    if "\0" in text:
        why = "a zero byte; this is not a text file"
        refuse(path, Sentence("line {line}", line=text[: text.index(chr(0))].count(chr(10)) + 1), why)
    return text


def read_csv(path: Any) -> csv.DictReader[str]:
    """The rows of a CSV with a header. Lines end where csv says so, not at every character that ends one in Unicode."""
    return csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True)


def csv_columns(path: Any, reader: csv.DictReader[str]) -> list[str]:
    """The names of its columns. Raises FormatError for a name that stands there twice: one of the two would be lost."""
    names = list(reader.fieldnames or ())
    for name, times in Counter(names).items():
        if name and times > 1:
            refuse(path, "line 1", "has {times} columns named {name!r}; names must differ", times=times, name=name)
    return names


def csv_line(reader: csv.DictReader[str]) -> Sentence:
    """Where its reader is: in the row that it cannot read, too."""
    return Sentence("line {line}", line=reader.reader.line_num)


def read_xml(path: Any, *, depth: int = 8, elements: int = MOST_ELEMENTS) -> Iterator[tuple[str, Element, int]]:
    """Walk an XML file: `(event, element, depth)` with event `start` or `end`, depth 1 for the root; elements are
    emptied after their end.

    No document type, entity or external reference is accepted (defusedxml), whatever they would expand to.
    """
    import defusedxml.ElementTree as Safe  # for files of other tools alone
    from defusedxml.common import DefusedXmlException

    source = Growing(path, read_bytes(path))
    level = count = 0
    stack: list[Element] = []
    try:
        for event, element in Safe.iterparse(source, events=("start", "end"), forbid_dtd=True):
            source.parsed()
            if event == "start":
                level += 1
                count += 1
                stack.append(element)
                if level > depth:
                    why = "nested {level} deep; this format has at most {depth} levels"
                    refuse(path, Sentence("element <{tag}>", tag=_short(element.tag)), why, level=level, depth=depth)
                if count > elements:
                    refuse(path, "", "more than {elements:,} elements", elements=elements)
                yield "start", element, level
            else:
                yield "end", element, level
                level -= 1
                stack.pop()
                element.clear()
                if stack:
                    stack[-1].clear()  # forget finished children; attributes were read at the start
    except Safe.ParseError as error:
        why = "not well-formed XML ({error}); is the file truncated?"
        refuse(path, Sentence("line {line}", line=error.position[0]), why, error=str(error).split(":")[0])
    except DefusedXmlException:
        refuse(path, "", "a document type or entity is not accepted; expected plain elements")
    except (ValueError, LookupError) as error:
        if isinstance(error, FormatError):
            raise
        refuse(path, "", "XML that cannot be decoded ({error}); expected UTF-8", error=_reason(error))


class Growing:
    """A file (of bytes or of text) for an XML parser: pieces grow while no element comes out of them.

    Expat before 2.6 begins again at the start of a token with every piece, so that one token of 50 MB in pieces of
    16 KiB takes hours; in pieces that double it takes twice its length.
    """

    _FIRST, _MOST = 2**16, 4 * 2**20

    def __init__(self, path: Any, data: bytes | str):
        self.path = path
        self.source: Any = io.BytesIO(data) if isinstance(data, bytes) else io.StringIO(data)
        self.piece = self._FIRST

    def read(self, size: int = -1, /) -> Any:
        """The next piece, twice as long as the one before; `size` is only what the parser would be content with.

        Raises FormatError where nothing came out of many of them.
        """
        if self.piece > self._MOST:
            refuse(self.path, "", "more than {most} MiB without an element", most=self._MOST // 2**20)
        self.piece *= 2
        return self.source.read(self.piece)

    def parsed(self) -> None:
        """An element came out: pieces are short again."""
        self.piece = self._FIRST


def read_json(path: Any, most: int = MOST_BYTES) -> Any:
    """The value of a JSON file; NaN, infinities and deep nesting are refused."""
    text = read_text(path, most)
    if text.count("[") + text.count("{") > MOST_ELEMENTS or text.count(",") > 10 * MOST_ELEMENTS:
        why = "more than {most:,} objects or {most_values:,} values"
        refuse(path, "", why, most=MOST_ELEMENTS, most_values=10 * MOST_ELEMENTS)
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite, parse_int=_bounded)
    except json.JSONDecodeError as error:
        why = "not JSON: {problem} at column {column}; is the file truncated?"
        refuse(path, Sentence("line {line}", line=error.lineno), why, problem=error.msg, column=error.colno)
    except RecursionError:
        refuse(path, "", "nested too deep")
    except ValueError as error:
        refuse(path, "", error)


def _no_constant(name: str) -> NoReturn:
    raise CollsimError("{name} is not a number; expected finite numbers", name=name)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise CollsimError("{text} is too large for a number", text=_short(text))
    return value


def _bounded(text: str) -> int:
    if len(text) > 20:
        raise CollsimError("{text} is too large for a whole number", text=_short(text))
    return int(text)


def whole(path: Any, where: Words, name: str, value: Any, least: int = 0, most: int = 2**31 - 1) -> int:
    """A whole number from a text or a JSON value. Raises FormatError outside `least..most`."""
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        refuse(path, where, "{name}={value} is not a whole number", name=name, value=_short(value))
    if not least <= value <= most:
        why = "{name}={value} is out of range; expected {least} to {most}"
        refuse(path, where, why, name=name, value=_short(value), least=least, most=most)
    return value


def real(path: Any, where: Words, name: str, value: Any, least: float = 0.0, most: float = 1e18) -> float:
    """A finite number from a text or a JSON value. Raises FormatError outside `least..most`."""
    try:
        number = math.nan if isinstance(value, bool) or value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not least <= number <= most:
        why = "{name}={value} is not a number from {least:g} to {most:g}"
        refuse(path, where, why, name=name, value=_short(value), least=least, most=most)
    return number


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return repr(text[:40] + "...") if len(text) > 40 else repr(text) if isinstance(value, str) else text


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def require_writable_file(target: Path) -> None:
    """Check that a file can be written, before anything long is computed for it.

    Args:
        target: The file, which need not exist.

    Raises:
        FormatError: `target` is a folder, a device or a pipe, its folder does not exist, or no file can be created
            there (a read-only or full file system, missing rights).
    """
    if os.path.isdir(target):
        raise FormatError("cannot write {target!r}: it is a folder; add the name of a file", target=str(target))
    if os.path.exists(target) and not os.path.isfile(target):
        raise FormatError("cannot write {target!r}: it is a device or a pipe, and no file", target=str(target))
    if not os.path.isdir(target.parent):
        raise FormatError(
            "cannot write {target!r}: there is no folder {parent!r}", target=str(target), parent=str(target.parent)
        )
    import tempfile  # late: what reads files needs neither it nor what it loads

    with name_write_errors(target):
        with suppress(FileNotFoundError):
            os.stat(target)  # a name that is too long fails here
        tempfile.TemporaryFile(dir=Path(os.path.realpath(target)).parent).close()


@contextmanager
def name_write_errors(path: Any) -> Iterator[None]:
    """Turn every OSError of the body into a FormatError that names `path`.

    The system's own message names a temporary file or, as "No space left on device", no file.
    """
    try:
        yield
    except OSError as error:
        raise FormatError("cannot write {path!r}: {error}", path=os.fspath(path), error=_reason(error)) from error


@contextmanager
def replacing(path: Any) -> Iterator[Path]:
    """A temporary file of the same suffix beside `path`; it takes that name when all went well, and is gone when not.

    Raises FormatError naming `path` where nothing can be written there.
    """
    require_writable_file(require_path(path))
    target = Path(os.path.realpath(path))  # a link stays one
    import tempfile

    with name_write_errors(path):
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem[:20]}-", suffix=target.suffix)
        os.close(handle)
        try:
            yield Path(temporary)
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, target)
        finally:
            Path(temporary).unlink(missing_ok=True)


@contextmanager
def writing(path: Any) -> Iterator[IO[bytes]]:
    """A binary file that appears under its name only when it is complete; zipped if the name ends in `.gz`."""
    with replacing(path) as temporary, open(temporary, "wb") as raw:
        if temporary.suffix.lower() == ".gz":
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as zipped:
                yield zipped  # type: ignore[misc]
        else:
            yield raw


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Any, parts: str | Iterable[str]) -> None:
    """Write text (or pieces of it, one after another) as UTF-8: whole or not at all."""
    with writing(path) as file:
        for part in [parts] if isinstance(parts, str) else parts:
            file.write(part.encode())


# A spreadsheet takes a cell for a formula when its first character is one of these marks; it reads the full-width and
# the small forms like the plain ones, and skips blanks and quotes before them. A cell begins at the start of a text and
# after every character at which a spreadsheet of another country, or another import dialog, splits a line: a program
# that separates by semicolons finds three cells in "eve;=1+1;.py". Source: OWASP, "CSV Injection".
_CELL_START = r"(\A|[,;|\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029])"
_BLANKS = r"[ '\"`\0\x1f\xa0\xad\u2000-\u200f\u2018-\u201f\u202f\u205f-\u2064\u3000\ufeff]*"
_FORMULA_MARKS = r"[=+\-@\t\r\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]"
_FORMULA = re.compile(f"{_CELL_START}(?={_BLANKS}{_FORMULA_MARKS})")
_GUARDED_FORMULA = re.compile(f"{_CELL_START}'(?={_BLANKS}{_FORMULA_MARKS})")
_FORMULA_IN_JSON = re.compile(f"({_CELL_START}{_BLANKS})({_FORMULA_MARKS})")
_JSON_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


def guard_cell(value: Any) -> Any:
    """Make a value safe for a table that a spreadsheet may open: no part of a text is taken for a formula.

    Args:
        value: A cell. Texts get an apostrophe wherever a formula could begin; anything else stays as it is.

    Returns:
        The value to write; `unguard_cell` gives the original back.

    Example:
        >>> guard_cell("eve;=1+1;.py")
        "eve;'=1+1;.py"
    """
    return _FORMULA.sub(r"\1'", value) if isinstance(value, str) else value


def unguard_cell(value: Any) -> Any:
    """Take away the apostrophes that `guard_cell` put into a text."""
    return _GUARDED_FORMULA.sub(r"\1", value) if isinstance(value, str) else value


def guard_json(text: str) -> str:
    """JSON that stands in a file which a spreadsheet may open: the same value, with no formula in its texts.

    Args:
        text: JSON in ASCII, as `json.dumps` writes it.

    Example:
        >>> guard_json('{"name": "eve;=1+1"}')
        '{"name": "eve;\\\\u003d1+1"}'
    """

    def escape_marks(literal: re.Match[str]) -> str:
        return '"' + _FORMULA_IN_JSON.sub(lambda match: f"{match[1]}\\u{ord(match[3]):04x}", literal[1]) + '"'

    return _JSON_TEXT.sub(escape_marks, text)


def format_csv(frame: pd.DataFrame) -> str:
    """Format a table as CSV, without its index.

    Whatever is neither a number nor missing is a text, and guarded by `guard_cell`, as are the names of the columns.
    """
    import pandas as pd  # late: most files are no tables

    def guard(value: Any) -> Any:
        is_text = not isinstance(value, Number) and not (pd.api.types.is_scalar(value) and pd.isna(value))
        return guard_cell(str(value)) if is_text else value

    return str(frame.map(guard).rename(columns=guard_cell).to_csv(index=False))
