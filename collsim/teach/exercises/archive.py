"""A zip of hand-ins, as a learning platform or a file manager packs it: read in memory, nothing of it is unpacked onto
a disk.

It may come from anybody: how long its list of entries is, how much would be unpacked, and every name are judged before
anything is unpacked.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...errors import CollsimError, FormatError, Sentence
from ...files import refuse
from ...sandbox.frames import replace_unprintable

_MAX_LISTED = 4 * 2**20  # bytes of the list of entries: 20,000 of a platform's names
_MAX_UNPACKED = 512 * 2**20  # bytes of all that is read
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others take memory as their data say
#: What zipfile and zlib raise for data that are not what their headers say.
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError, LookupError)


@dataclass(frozen=True)
class ZipEntry:
    """A file or folder of a zip.

    Attributes:
        parts: Its folders and its name.
        read: Reads its content; None for a folder.
    """

    parts: tuple[str, ...]
    read: Callable[[], bytes] | None


class _ShortReads(io.BufferedReader):
    """A file of which little is read at once: zipfile asks for the whole list, as long as the file says it is."""

    def __init__(self, path: Path):
        super().__init__(io.FileIO(path))
        self.path = path

    def read(self, size: int | None = -1, /) -> bytes:
        """At most so many bytes. Raises FormatError for more than a list may have."""
        data = super().read(_MAX_LISTED + 1 if size is None or size < 0 else min(size, _MAX_LISTED + 1))
        if len(data) > _MAX_LISTED:
            refuse(self.path, "", "more files and folders than a class hands in; pack fewer students into one zip")
        return data


@contextmanager
def open_archive(path: Path, suffixes: tuple[str, ...], most: int) -> Iterator[list[ZipEntry]]:
    """Open a zip for as long as the block lasts.

    Args:
        path: Of the zip.
        suffixes: Files with one of them can be read; all others are listed only.
        most: Bytes that are read of each at most.

    Yields:
        Every file and folder.

    Raises:
        FormatError: For what is no zip, is too large, or has a name that leads out of it.
    """
    try:
        raw = _ShortReads(path)
    except OSError as error:
        refuse(path, "", "it cannot be read ({error})", error=_format_reason(error))
    with raw, _open_zip(path, raw) as archive:
        yield _list_entries(path, archive, suffixes, most)


def _open_zip(path: Path, raw: _ShortReads) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(raw)
    except CollsimError:
        raise
    except _BROKEN as error:
        refuse(path, "", "it is no zip that can be read ({error}); export it again", error=_format_reason(error))


def _list_entries(path: Path, archive: zipfile.ZipFile, suffixes: tuple[str, ...], most: int) -> list[ZipEntry]:
    entries, size = [], 0
    for info in archive.infolist():
        parts = _split_name(path, info.orig_filename)
        is_readable = parts[-1].endswith(suffixes) and not info.is_dir()
        size += info.file_size if is_readable and info.file_size <= most else 0
        entries.append(ZipEntry(parts, partial(_read_data, archive, info, most) if is_readable else None))
    if size > _MAX_UNPACKED:
        template = "it unpacks to more than {most} MiB; pack fewer students into one zip"
        refuse(path, "", template, most=_MAX_UNPACKED // 2**20)
    return _strip_own_folder(path.stem, sorted(entries, key=lambda entry: entry.parts))


def _split_name(path: Path, name: str) -> tuple[str, ...]:
    """The folders of an entry and its name. Raises FormatError where that leads elsewhere, or cannot be shown."""
    where = Sentence("entry {name!r}", name=name[:100])
    if replace_unprintable(name) != name or "\n" in name:
        template = "control characters in a name; pack it again, or unpack it and grade the folder"
        refuse(path, where, template)
    parts = name.replace("\\", "/").rstrip("/").split("/")
    if any(part in ("", ".", "..") for part in parts) or ":" in parts[0]:
        template = "a name that leads out of the zip; pack it again, or unpack it and grade the folder"
        refuse(path, where, template)
    return tuple(parts)


def _strip_own_folder(stem: str, entries: list[ZipEntry]) -> list[ZipEntry]:
    """`homework/...` of homework.zip (and of `homework (1).zip`) without that folder: file managers pack it so."""
    ours = [entry for entry in entries if entry.parts[0] != "__MACOSX"]
    tops = {entry.parts[0] for entry in ours}
    if len(tops) != 1 or not stem.startswith(tuple(tops)) or any(entry.read and not entry.parts[1:] for entry in ours):
        return ours
    return [replace(entry, parts=entry.parts[1:]) for entry in ours if entry.parts[1:]]


def _read_data(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """The bytes of a file. Raises FormatError where it is none, or cannot be unpacked."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise FormatError("it is a link or no file at all; hand in the file itself")
    if info.file_size > most:
        raise FormatError("it is larger than {most:,} bytes", most=most)
    if info.flag_bits & 1:
        raise FormatError("it is encrypted; pack it without a password")
    if info.compress_type not in _METHODS:
        raise FormatError("it is packed by method {method}; pack it by Deflate", method=info.compress_type)
    try:
        with archive.open(info) as source:
            return source.read(most + 1)
    except _BROKEN as error:
        raise FormatError("it cannot be unpacked ({error}); hand it in again", error=_format_reason(error)) from error


def _format_reason(error: BaseException) -> str:
    return replace_unprintable(str(error))[:200] or type(error).__name__
