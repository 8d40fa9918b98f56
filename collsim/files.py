"""Files from strangers, read within bounds; files of ours, written whole or not at all.

Every reader of a file format and of sweep plans uses these functions: a file has a largest size (also after unzipping),
is UTF-8 or UTF-16, and its XML or JSON has a largest number of elements and a largest depth. Whatever is wrong with it
ends in a `FormatError` that names the file, the place and what was expected.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import math
import os
import re
import select
import stat
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from numbers import Number, Real
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, TypeAlias

from .errors import CollsimError, FormatError, Sentence, Words, format_value, require_path
from .errors.dependencies import pandas as pd

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


#: Where a file is: a text or a Path.
FilePath: TypeAlias = str | os.PathLike[str]

#: Of a file that is read at once.
MAX_BYTES = 64 * 2**20
#: Parts of a document (elements, brackets, tasks): each becomes an object of Python, some hundred bytes long.
MAX_ELEMENTS = 2_000_000
_CHUNK = 2**20  # bytes that are read at once
_PIPE_PATIENCE = 60  # seconds until the first byte of a pipe
#: What `surrogateescape` makes of bytes that are not UTF-8.
_NO_TEXT = re.compile("[\udc80-\udcff]")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


def refuse(path: FilePath, where: Words, reason: Words | Exception, /, **values: object) -> NoReturn:
    """Raise the FormatError `file, place: reason`.

    Args:
        path: of the file; its name alone goes into the message.
        where: the place in the file: a line, an element; empty where there is none.
        reason: a template, a sentence or an error.
        values: of the fields of the template.

    Raises:
        FormatError: always.

    Examples:
        >>> refuse("a.csv", "line 3", "op={op!r}; expected copy or reduce", op="add")
        Traceback (most recent call last):
        collsim.errors.FormatError: a.csv, line 3: op='add'; expected copy or reduce
    """
    file, sentence = Path(path).name, Sentence.from_words(reason, **values)
    if not where:
        raise FormatError("{file}: {reason}", file=file, reason=sentence)
    raise FormatError("{file}, {where}: {reason}", file=file, where=Sentence.from_words(where), reason=sentence)


def list_files(paths: Iterable[FilePath]) -> list[Path]:
    """Return the files that are named, and those of folders that are named, but for hidden ones.

    Args:
        paths: files and folders.

    Raises:
        CollsimError: One of them is no path.
    """
    files: list[Path] = []
    for path in map(require_path, paths):
        if os.path.isdir(path):  # of a text that no file can have as a name, too
            files += sorted(part for part in path.iterdir() if part.is_file() and not part.name.startswith("."))
        else:
            files.append(path)
    return files


def read_bytes(path: FilePath, most: int = MAX_BYTES) -> bytes:
    """Read a file, unzipped if it is gzip.

    Args:
        path: of the file.
        most: bytes that it may have, unzipped.

    Returns:
        Its bytes.

    Raises:
        FormatError: there is no such file, or it is larger.
    """
    data = read_head(path, most + 1)
    if len(data) > most:
        refuse(path, "", "larger than {most} MiB, the most that a file of this kind may have", most=most // 2**20 or 1)
    return data


def read_head(path: FilePath, most: int) -> bytes:
    """Read the first bytes of a file, unzipped if it is gzip, and no more than these.

    Args:
        path: of the file.
        most: bytes to read.

    Returns:
        At most so many bytes.

    Raises:
        FormatError: there is no such file, or it cannot be read.
    """
    return b"".join(iterate_chunks(path, most))


def iterate_chunks(path: FilePath, most: int) -> Iterator[bytes]:
    """Read the first bytes of a file in pieces, unzipped if it is gzip.

    Args:
        path: of the file.
        most: bytes to read.

    Yields:
        At most so many bytes in all; of a damaged file those before the damage.

    Raises:
        FormatError: there is no such file, or it is damaged from here on.
    """
    try:
        with open(require_path(path), "rb", opener=_open_for_reading) as file:
            head = b""
            if isinstance(file, io.BufferedReader):
                head = file.peek(2)[:2]
            source: Any = file
            if head == b"\x1f\x8b":
                source = gzip.GzipFile(fileobj=file)
            while most > 0 and (chunk := source.read1(min(most, _CHUNK))):
                yield chunk
                most -= len(chunk)
    except (FileNotFoundError, NotADirectoryError):
        raise FormatError("no file {path}", path=format_value(os.fspath(path))) from None
    except (OSError, EOFError, zlib.error) as error:
        name = format_value(Path(path).name or os.fspath(path))
        raise FormatError("{name} cannot be read: {error}", name=name, error=_describe_os_error(error)) from error
    except FormatError:
        raise
    except (TypeError, ValueError) as error:
        raise FormatError("{path!r} is not the path of a file", path=path) from error


def _open_for_reading(path: str, flags: int) -> int:
    """Open a file. Of a pipe that nobody writes to, `open` and the first byte would be waited for without an end."""
    waiting = getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags | waiting)
    if not waiting:  # Windows has no such pipes
        return handle
    if stat.S_ISFIFO(os.fstat(handle).st_mode) and not select.select([handle], [], [], _PIPE_PATIENCE)[0]:
        os.close(handle)
        raise FormatError(
            "{path} is a pipe, and nothing came through it in {seconds} s",
            path=format_value(path),
            seconds=_PIPE_PATIENCE,
        )
    os.set_blocking(handle, True)
    return handle


def find_encoding(data: bytes | bytearray) -> str:
    """UTF-16 where its byte order mark is first, as PowerShell writes it; else UTF-8, with or without a mark."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig"


def read_text(path: FilePath, most: int = MAX_BYTES) -> str:
    """Read a text file, see `decode_text`.

    Args:
        path: of the file.
        most: bytes that it may have, unzipped.

    Returns:
        Its text.

    Raises:
        FormatError: it cannot be read, is too large, or is no text.
    """
    return decode_text(read_bytes(path, most), path)


def decode_text(data: bytes, path: FilePath) -> str:
    """Decode what a text file holds: UTF-8 with or without a byte order mark, or UTF-16 with one.

    Args:
        data: what it holds.
        path: of the file, for messages.

    Returns:
        The text.

    Raises:
        FormatError: it is no text; the message names the first wrong byte.
    """
    encoding = find_encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = "byte 0x{byte:02x} is not {encoding}; save the file as UTF-8"
        name = encoding.removesuffix("-sig").upper()
        refuse(path, Sentence("line {line}", line=line), message, byte=data[error.start], encoding=name)
    if "\0" in text:
        message = "a zero byte; this is not a text file"
        refuse(path, Sentence("line {line}", line=text[: text.index(chr(0))].count(chr(10)) + 1), message)
    return text


def read_whole_lines(path: FilePath) -> tuple[str, tuple[Sentence, ...]]:
    """Read a text file that its writer may have left damaged, as a job does that is killed while it writes.

    Args:
        path: of the file.

    Returns:
        Its text, with empty lines in place of those that are not whole UTF-8 text, and what was left out.

    Raises:
        FormatError: it cannot be read, is too large, or most of its lines are no text.
    """
    name, notes = Path(path).name, []
    data = bytearray()
    try:
        for chunk in iterate_chunks(path, MAX_BYTES + 1):
            data += chunk
    except FormatError as error:
        if not data:
            raise
        notes.append(Sentence("{error}; what is before the damage was read", error=error))
    if len(data) > MAX_BYTES:
        read_bytes(path)  # refuses it
    encoding = find_encoding(data)
    errors = "replace" if encoding == "utf-16" else "surrogateescape"
    text = data.decode(encoding, errors)
    if "\0" not in text and (text.isascii() or not _NO_TEXT.search(text)):
        return text, tuple(notes)
    lines = text.split("\n")
    damaged = [n for n, line in enumerate(lines) if "\0" in line or (not line.isascii() and _NO_TEXT.search(line))]
    if 2 * len(damaged) > sum(map(bool, lines)):
        read_text(path)  # refuses it
    for number in damaged:
        lines[number] = ""
    if damaged:
        message = "{file}: {count} {count:line is|lines are} no whole UTF-8 text and left out, the first is line {line}"
        notes.append(Sentence(message, file=name, count=len(damaged), line=damaged[0] + 1))
    return "\n".join(lines), tuple(notes)


def read_source(source: str | os.PathLike[str]) -> str:
    """Read a program that is given as a text or as a file.

    A text is never opened as a file, because texts come from addresses and pages, too.

    Args:
        source: the text itself, or a Path.

    Returns:
        The text.

    Raises:
        CollsimError: a text is the name of a file; the message says how to give the file.
        FormatError: a file cannot be read.

    Examples:
        >>> try:
        ...     read_source("train.py")
        ... except CollsimError as error:
        ...     print(str(error).partition(";")[0])
        'train.py' is the name of a file, and a text is read as the program itself
    """
    if not isinstance(source, str):
        return read_text(source)
    if re.fullmatch(r"\S{1,400}\.(?:py|sh)(?::\w+)?", source.strip()):
        message = (
            "{source!r} is the name of a file, and a text is read as the program itself; give pathlib.Path({file!r}), "
            "or the text in the file"
        )
        raise CollsimError(message, source=source.strip(), file=re.sub(r":\w+$", "", source.strip()))
    return source


def open_csv(path: FilePath) -> csv.DictReader[str]:
    """Open a CSV file with a header. Lines end where csv says so, not at every character that ends one in Unicode.

    Args:
        path: of the file.

    Returns:
        A reader of its rows.

    Raises:
        FormatError: as `read_text`.
    """
    return csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True)


def read_csv_columns(path: FilePath, reader: csv.DictReader[str]) -> list[str]:
    """Read the names of the columns.

    Args:
        path: of the file, for the message.
        reader: as `open_csv` returns it.

    Returns:
        The names.

    Raises:
        FormatError: a name is there twice: one of the two columns would be lost.
    """
    names = list(reader.fieldnames or ())
    for name, times in Counter(names).items():
        if name and times > 1:
            refuse(path, "line 1", "has {times} columns named {name!r}; names must differ", times=times, name=name)
    return names


def locate_csv_line(reader: csv.DictReader[str]) -> Sentence:
    """Say in which line a reader is, even where it cannot read that line.

    Args:
        reader: as `open_csv` returns it.

    Returns:
        The place, for `refuse`.
    """
    return Sentence("line {line}", line=reader.reader.line_num)


def read_xml(
    path: FilePath, *, text: str | None = None, depth: int = 8, elements: int = MAX_ELEMENTS
) -> Iterator[tuple[str, Element, int]]:
    """Walk an XML file. Elements are emptied after their end, so that a large file needs little memory.

    No document type, entity or external reference is accepted (defusedxml), whatever they would expand to.

    Args:
        path: of the file.
        text: of a small file that was read before; its elements keep their children.
        depth: how deep elements may be nested.
        elements: how many there may be.

    Yields:
        `(event, element, depth)`: event `start` or `end`, and depth 1 for the root.

    Raises:
        FormatError: it cannot be read, is not well-formed, or has more of something than it may have.
    """
    import defusedxml.ElementTree as Safe  # for files of other tools alone
    from defusedxml.common import DefusedXmlException

    source = GrowingReader(path, read_bytes(path) if text is None else text)
    level = count = 0
    stack: list[Element] = []
    try:
        for event, element in Safe.iterparse(source, events=("start", "end"), forbid_dtd=True):
            source.reset()
            if event == "start":
                level += 1
                count += 1
                stack.append(element)
                if level > depth:
                    message = "nested {level} deep; this format has at most {depth} levels"
                    refuse(
                        path, Sentence("element <{tag}>", tag=_shorten(element.tag)), message, level=level, depth=depth
                    )
                if count > elements:
                    refuse(path, "", "more than {elements:,} elements", elements=elements)
                yield "start", element, level
            else:
                yield "end", element, level
                level -= 1
                stack.pop()
                if text is not None:
                    continue
                element.clear()
                if stack:
                    stack[-1].clear()  # forget finished children; attributes were read at the start
    except Safe.ParseError as error:
        message = "not well-formed XML ({error}); is the file truncated?"
        refuse(path, Sentence("line {line}", line=error.position[0]), message, error=str(error).split(":")[0])
    except DefusedXmlException:
        refuse(path, "", "a document type or entity is not accepted; expected plain elements")
    except (ValueError, LookupError) as error:
        if isinstance(error, FormatError):
            raise
        refuse(path, "", "XML that cannot be decoded ({error}); expected UTF-8", error=_describe_os_error(error))


class GrowingReader:
    """A file (of bytes or of text) for an XML parser: pieces grow while no element comes out of them.

    Expat before 2.6 begins again at the start of a token with every piece, so that one token of 50 MB in pieces of
    16 KiB takes hours; in pieces that double it takes twice its length.

    Attributes:
        path: of the file, for messages.
        source: the data.
        piece: length of the last piece.
    """

    _FIRST, _MAX_PIECE = 2**16, 4 * 2**20

    def __init__(self, path: FilePath, data: bytes | str):
        """A reader at the beginning of its data.

        Args:
            path: Of the file, for messages.
            data: Its whole content.
        """
        self.path = path
        self.source: Any = io.BytesIO(data) if isinstance(data, bytes) else io.StringIO(data)
        self.piece = self._FIRST

    def read(self, size: int = -1, /) -> Any:
        """Read the next piece, twice as long as the one before.

        Args:
            size: what the parser would be content with; it gets more.

        Returns:
            Bytes or text.

        Raises:
            FormatError: nothing came out of many pieces.
        """
        if self.piece > self._MAX_PIECE:
            refuse(self.path, "", "more than {most} MiB without an element", most=self._MAX_PIECE // 2**20)
        self.piece *= 2
        return self.source.read(self.piece)

    def reset(self) -> None:
        """Say that an element came out, so that pieces are short again."""
        self.piece = self._FIRST


def read_json(path: FilePath, most: int = MAX_BYTES) -> Any:
    """Read a JSON file; NaN, infinities and deep nesting are refused.

    Args:
        path: of the file.
        most: bytes that it may have, unzipped.

    Returns:
        Its value.

    Raises:
        FormatError: it cannot be read, is no JSON, or has more of something than it may have.
    """
    text = read_text(path, most)
    if text.count("[") + text.count("{") > MAX_ELEMENTS or text.count(",") > 10 * MAX_ELEMENTS:
        message = "more than {most:,} objects or {most_values:,} values"
        refuse(path, "", message, most=MAX_ELEMENTS, most_values=10 * MAX_ELEMENTS)
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_parse_finite, parse_int=_parse_bounded)
    except json.JSONDecodeError as error:
        message = "not JSON: {problem} at column {column}; is the file truncated?"
        refuse(path, Sentence("line {line}", line=error.lineno), message, problem=error.msg, column=error.colno)
    except RecursionError:
        refuse(path, "", "nested too deep")
    except ValueError as error:
        refuse(path, "", error)


def find_json(text: str, start: int = 0) -> object:
    """Decode the JSON value that begins somewhere in a text, within the bounds of `read_json`.

    Args:
        text: that holds the value, with anything behind it.
        start: index of its first character.

    Returns:
        The value; None where no value of JSON begins there, or a number in it is none.
    """
    if text.count("[", start) + text.count("{", start) > MAX_ELEMENTS:
        return None
    decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_parse_finite, parse_int=_parse_bounded)
    try:
        return decoder.raw_decode(text, start)[0]
    except (ValueError, RecursionError, CollsimError):
        return None


def _refuse_constant(name: str) -> NoReturn:
    raise CollsimError("{name} is not a number; expected finite numbers", name=name)


def _parse_finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise CollsimError("{text} is too large for a number", text=_shorten(text))
    return value


def _parse_bounded(text: str) -> int:
    if len(text) > 20:
        raise CollsimError("{text} is too large for a whole number", text=_shorten(text))
    return int(text)


def parse_whole_number(
    path: FilePath, where: Words, name: str, value: object, least: int = 0, most: int = 2**31 - 1
) -> int:
    """Read a whole number from a value of a file.

    Args:
        path: of the file, for the message.
        where: the place in it.
        name: of the value.
        value: a text, or a value of JSON.
        least: the smallest that is accepted.
        most: the largest.

    Returns:
        The number.

    Raises:
        FormatError: it is none, or out of range.

    Examples:
        >>> parse_whole_number("a.csv", "line 3", "ranks", "8", 1)
        8
    """
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        refuse(path, where, "{name}={value} is not a whole number", name=name, value=_shorten(value))
    if not least <= value <= most:
        message = "{name}={value} is out of range; expected {least} to {most}"
        refuse(path, where, message, name=name, value=_shorten(value), least=least, most=most)
    return value


def parse_real_number(path: FilePath, where: Words, name: str, value: object) -> float:
    """Read a number from 0 to 10^18 from a value of a file.

    Args:
        path: of the file, for the message.
        where: the place in it.
        name: of the value.
        value: a text, or a value of JSON.

    Returns:
        The number.

    Raises:
        FormatError: it is none, or out of range.

    Examples:
        >>> parse_real_number("a.csv", "line 3", "alpha", "1.5")
        1.5
    """
    number = math.nan
    if isinstance(value, str | Real) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            number = float(value)
    if not 0 <= number <= 1e18:
        refuse(path, where, "{name}={value} is not a number from 0 to 1e+18", name=name, value=_shorten(value))
    return number


def _shorten(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    if len(text) > 40:
        return repr(text[:40] + "...")
    return repr(value)


def _describe_os_error(error: BaseException) -> str:
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
        message = "cannot write {target!r}: there is no folder {parent!r}"
        raise FormatError(message, target=str(target), parent=str(target.parent))
    import tempfile  # late: what reads files needs neither it nor what it loads

    with name_write_errors(target):
        with suppress(FileNotFoundError):
            os.stat(target)  # a name that is too long fails here
        tempfile.TemporaryFile(dir=Path(os.path.realpath(target)).parent).close()


@contextmanager
def name_write_errors(path: FilePath) -> Iterator[None]:
    """Turn every OSError of the body into a FormatError that names `path`.

    The system's own message names a temporary file or, as "No space left on device", no file.

    Args:
        path: of the file that the body writes.
    """
    try:
        yield
    except OSError as error:
        message = "cannot write {path!r}: {error}"
        raise FormatError(message, path=os.fspath(path), error=_describe_os_error(error)) from error


@contextmanager
def replace_file(path: FilePath, *, is_private: bool = False) -> Iterator[Path]:
    """Write a file under another name next to it; it takes its own name when the body ends well, and is gone otherwise.

    A file that was there keeps its permissions.

    Args:
        path: of the file; a link stays one.
        is_private: only its owner may read it, and a link in its place is replaced.

    Yields:
        The path to write to, of the same suffix.

    Raises:
        FormatError: nothing can be written there.
    """
    require_writable_file(require_path(path))
    target = Path(path)
    if not is_private:
        target = Path(os.path.realpath(path))
    import tempfile

    with name_write_errors(path):
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem[:20]}-", suffix=target.suffix)
        os.close(handle)
        try:
            yield Path(temporary)
            if not is_private:  # as `mkstemp` makes it
                os.chmod(temporary, _find_mode(target))
            os.replace(temporary, target)
        finally:
            Path(temporary).unlink(missing_ok=True)


@contextmanager
def create_file(path: FilePath) -> Iterator[IO[bytes]]:
    """Write a binary file that appears under its name only when it is complete; zipped if the name ends in `.gz`.

    Args:
        path: of the file.

    Yields:
        The open file.

    Raises:
        FormatError: nothing can be written there.
    """
    with replace_file(path) as temporary, open(temporary, "wb") as raw:
        if temporary.suffix.lower() == ".gz":
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as zipped:
                yield zipped  # type: ignore[misc]
        else:
            yield raw


def _find_mode(target: Path) -> int:
    """The permissions of a file, or those that a new one gets."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(os.stat(target).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_text(path: FilePath, parts: str | Iterable[str]) -> None:
    """Write a text as UTF-8: whole or not at all.

    Args:
        path: of the file.
        parts: the text, or pieces of it, one after another.

    Raises:
        FormatError: nothing can be written there.
    """
    with create_file(path) as file:
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


def guard_cell(value: object) -> Any:
    """Make a value safe for a table that a spreadsheet may open: no part of a text is taken for a formula.

    Args:
        value: A cell. Texts get an apostrophe wherever a formula could begin; anything else stays as it is.

    Returns:
        The value to write; `unguard_cell` gives the original back.

    Examples:
        >>> guard_cell("eve;=1+1;.py")
        "eve;'=1+1;.py"
    """
    if isinstance(value, str):
        return _FORMULA.sub(r"\1'", value)
    return value


def unguard_cell(value: object) -> Any:
    """Take away the apostrophes that `guard_cell` put into a text.

    Args:
        value: a cell; anything but a text stays as it is.

    Returns:
        The value.

    Examples:
        >>> unguard_cell("eve;'=1+1;.py")
        'eve;=1+1;.py'
    """
    if isinstance(value, str):
        return _GUARDED_FORMULA.sub(r"\1", value)
    return value


def guard_json(text: str) -> str:
    """JSON that stands in a file which a spreadsheet may open: the same value, with no formula in its texts.

    Args:
        text: JSON in ASCII, as `json.dumps` writes it.

    Examples:
        >>> guard_json('{"name": "eve;=1+1"}')
        '{"name": "eve;\\\\u003d1+1"}'
    """

    def escape_marks(literal: re.Match[str]) -> str:
        return '"' + _FORMULA_IN_JSON.sub(lambda match: f"{match[1]}\\u{ord(match[3]):04x}", literal[1]) + '"'

    return _JSON_TEXT.sub(escape_marks, text)


def format_csv(frame: pd.DataFrame) -> str:
    """Format a table as CSV, without its index.

    Whatever is neither a number nor missing is a text, and guarded by `guard_cell`, as are the names of the columns.

    Args:
        frame: the table.

    Returns:
        The text.
    """

    def guard(value: Any) -> Any:
        is_text = not isinstance(value, Number) and not (pd.api.types.is_scalar(value) and pd.isna(value))
        if is_text:
            return guard_cell(str(value))
        return value

    return str(frame.map(guard).rename(columns=guard_cell).to_csv(index=False))
