"""What students hand in: a Python file, a notebook, a progress file, or a folder of these, in a folder or in a zip;
read as bytes, never looked into here."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...errors import CollsimError, FormatError, require_path
from ...sandbox.frames import replace_unprintable
from ...sandbox.handins import File
from .archive import ZipEntry, open_archive

_MAX_BYTES = 2_000_000  # of a file
_MAX_FILES = 40  # of a student
_MAX_ENTRIES = 2_000  # of a student's folders, whatever they are
_DEEPEST = 8  # folders in one another
SUFFIXES = (".py", ".ipynb", ".json")
#: How platforms name what a student handed in, in groups what names the student: Moodle (mod/assign/locallib.php)
#: "Anna Berg_4711_assignsubmission_file_ring", Canvas "berganna_LATE_4711_90210_ring".
_PLATFORMS = (
    re.compile(r"(.+_[0-9]+)_assignsubmission_[a-z]+(?:_.*)?$", re.ASCII | re.DOTALL),
    re.compile(r"([^_]+)(?:_LATE)?_([0-9]+)_[0-9]+_.+$", re.ASCII | re.DOTALL),
)
#: A file's name, and what reads it.
NamedReader = tuple[str, Callable[[], bytes]]


@dataclass(frozen=True)
class Submission:
    """One student's files.

    Attributes:
        student: the name, as the folder or the platform has it.
        files: those that could be read.
        problem: why others could not be read, five reasons at most; empty where all could.
    """

    student: str
    files: tuple[File, ...]
    problem: str = ""

    @property
    def digest(self) -> str:
        """Changes when the files do."""
        digest = hashlib.sha256(self.problem.encode())
        for file in self.files:
            digest.update(f"{len(file.name)} {len(file.data)} {file.name}".encode() + file.data)
        return digest.hexdigest()[:12]


def list_submissions(path: Path | str) -> list[Submission]:
    """All hand-ins of a folder or a zip of one, by the name of the file or subfolder; what Moodle and Canvas put around
    a student's name is left out.

    Args:
        path: Of the folder or zip.

    Raises:
        CollsimError: There is no such folder or zip, or nothing in it.
    """
    root = require_path(path)
    if root.is_file() and root.suffix.lower() == ".zip":
        return _list_zip(root)
    if not root.is_dir():
        raise CollsimError("no folder or .zip {root!r} with submissions", root=str(root))
    entries_of: dict[str, list[Path]] = {}
    for entry in sorted(root.iterdir()):
        if entry.name.startswith((".", "__")):
            continue
        if entry.suffix in SUFFIXES or entry.is_symlink() or entry.is_dir():
            is_folder = entry.is_dir() and not entry.is_symlink()
            entries_of.setdefault(_find_student(entry.name if is_folder else entry.stem), []).append(entry)
    _require_some(entries_of, root)
    return [_collect_files(student, _list_files(entries)) for student, entries in entries_of.items()]


def _require_some(students: Collection[str], root: Path) -> None:
    if not students:
        raise CollsimError(
            "nothing in {root!r} to grade; a student hands in name.py, name.ipynb, name.json (progress) or a "
            "folder name/",
            root=str(root),
        )


def _find_student(name: str) -> str:
    """The student of a file or folder that a learning platform named; of every other its name."""
    matched = next(filter(None, (pattern.match(name) for pattern in _PLATFORMS)), None)
    return name if matched is None else "_".join(matched.groups())


def _list_zip(path: Path) -> list[Submission]:
    entries_of: dict[str, list[ZipEntry]] = {}
    with open_archive(path, SUFFIXES, _MAX_BYTES) as entries:
        for entry in entries:
            top, inside = entry.parts[0], len(entry.parts) > 1
            if not top.startswith((".", "__")) and (inside or entry.read is not None):
                entries_of.setdefault(_find_student(top if inside else top.rpartition(".")[0]), []).append(entry)
        _require_some(entries_of, path)
        return [_collect_files(student, _list_unpacked(entries)) for student, entries in entries_of.items()]


def _list_unpacked(entries: list[ZipEntry]) -> Iterator[NamedReader]:
    """A student's files in a zip, as `_list_files` finds them in a folder."""
    for seen, entry in enumerate(entries, 1):
        try:
            _require_few(seen, min(len(entry.parts) - 2, _DEEPEST))
        except FormatError as error:
            yield entry.parts[0], partial(_fail, error)
            return
        if entry.read is not None and "__pycache__" not in entry.parts:
            yield entry.parts[-1], entry.read


def _list_files(entries: list[Path]) -> Iterator[NamedReader]:
    """A student's files in a folder."""
    for entry in entries:
        try:
            paths = sorted(_walk_folder(entry)) if entry.is_dir() and not entry.is_symlink() else [entry]
        except (CollsimError, OSError) as error:
            yield entry.name, partial(_fail, error)
            continue
        for path in paths:
            yield path.name, partial(_read_data, path)


def _fail(error: Exception) -> bytes:
    raise error


def _collect_files(student: str, handed: Iterable[NamedReader]) -> Submission:
    files: list[File] = []
    problems: list[str] = []
    for name, read in handed:
        try:
            if len(files) == _MAX_FILES:
                raise FormatError("more than {most} files; hand in those with your answers", most=_MAX_FILES)
            files.append(File(replace_unprintable(name), read()))
        except (CollsimError, OSError) as error:
            problems.append(replace_unprintable(f"{name[:100]}: {error}"))
    return Submission(replace_unprintable(student), tuple(files), "; ".join(problems[:5]))


def _walk_folder(folder: Path) -> Iterator[Path]:
    """Files of a folder and those in it; one after another, so that depth costs nothing. Raises FormatError where
    there are too many."""
    waiting, seen = [(str(folder), 0)], 0
    while waiting:
        folder_path, depth = waiting.pop()
        with os.scandir(folder_path) as entries:
            for entry in entries:
                seen += 1
                _require_few(seen, depth if entry.is_dir(follow_symlinks=False) else 0)
                if entry.is_dir(follow_symlinks=False):
                    waiting += [(entry.path, depth + 1)] if entry.name != "__pycache__" else []
                elif entry.name.endswith(SUFFIXES):
                    yield Path(entry.path)


def _require_few(seen: int, depth: int) -> None:
    if seen > _MAX_ENTRIES:
        raise FormatError("more than {most:,} files and folders; hand in those with your answers", most=_MAX_ENTRIES)
    if depth == _DEEPEST:
        raise FormatError("folders are more than {most} deep in one another; hand in fewer", most=_DEEPEST)


def _read_data(path: Path) -> bytes:
    """The bytes of a plain file, opened without following a link or waiting for a pipe's other end."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        if path.is_symlink():
            raise FormatError("it is a link or no file at all; hand in the file itself") from error
        raise
    with os.fdopen(handle, "rb") as source:
        if not stat.S_ISREG(os.fstat(handle).st_mode) or path.is_symlink():
            raise FormatError("it is a link or no file at all; hand in the file itself")
        data = source.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise FormatError("it is larger than {most:,} bytes", most=_MAX_BYTES)
    return data
