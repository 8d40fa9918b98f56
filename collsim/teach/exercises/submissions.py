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
from .archive import ZipEntry, unpacked

_MOST_BYTES = 2_000_000  # of a file
_MOST_FILES = 40  # of a student
_MOST_ENTRIES = 2_000  # of a student's folders, whatever they are
_DEEPEST = 8  # folders in one another
SUFFIXES = (".py", ".ipynb", ".json")
#: How platforms name what a student handed in, in groups what names the student: Moodle (mod/assign/locallib.php)
#: "Anna Berg_4711_assignsubmission_file_ring", Canvas "berganna_LATE_4711_90210_ring".
_PLATFORMS = (
    re.compile(r"(.+_[0-9]+)_assignsubmission_[a-z]+(?:_.*)?$", re.ASCII | re.DOTALL),
    re.compile(r"([^_]+)(?:_LATE)?_([0-9]+)_[0-9]+_.+$", re.ASCII | re.DOTALL),
)
#: A file's name, and what reads it.
Handed = tuple[str, Callable[[], bytes]]


@dataclass(frozen=True)
class Submission:
    """One student's files; `problem` where one could not be read."""

    student: str
    files: tuple[File, ...]
    problem: str = ""

    @property
    def digest(self) -> str:
        """Changes when the files do."""
        made = hashlib.sha256(self.problem.encode())
        for file in self.files:
            made.update(f"{len(file.name)} {len(file.data)} {file.name}".encode() + file.data)
        return made.hexdigest()[:12]


def submissions(place: Path | str) -> list[Submission]:
    """All hand-ins of a folder or a zip of one, by the name of the file or subfolder; what Moodle and Canvas put around
    a student's name is left out. Raises CollsimError if there is no such place, or nothing in it."""
    root = require_path(place)
    if root.is_file() and root.suffix.lower() == ".zip":
        return _of_zip(root)
    if not root.is_dir():
        raise CollsimError("no folder or .zip {root!r} with submissions", root=str(root))
    found: dict[str, list[Path]] = {}
    for entry in sorted(root.iterdir()):
        if entry.name.startswith((".", "__")):
            continue
        if entry.suffix in SUFFIXES or entry.is_symlink() or entry.is_dir():
            whole = entry.is_dir() and not entry.is_symlink()
            found.setdefault(_student(entry.name if whole else entry.stem), []).append(entry)
    _require_some(found, root)
    return [_collected(student, _files(entries)) for student, entries in found.items()]


def _require_some(found: Collection[str], root: Path) -> None:
    if not found:
        raise CollsimError(
            "nothing in {root!r} to grade; a student hands in name.py, name.ipynb, name.json (progress) or a "
            "folder name/",
            root=str(root),
        )


def _student(name: str) -> str:
    """The student of a file or folder that a learning platform named; of every other its name."""
    matched = next(filter(None, (pattern.match(name) for pattern in _PLATFORMS)), None)
    return name if matched is None else "_".join(matched.groups())


def _of_zip(path: Path) -> list[Submission]:
    found: dict[str, list[ZipEntry]] = {}
    with unpacked(path, SUFFIXES, _MOST_BYTES) as entries:
        for entry in entries:
            top, inside = entry.parts[0], len(entry.parts) > 1
            if not top.startswith((".", "__")) and (inside or entry.read is not None):
                found.setdefault(_student(top if inside else top.rpartition(".")[0]), []).append(entry)
        _require_some(found, path)
        return [_collected(student, _unpacked(entries)) for student, entries in found.items()]


def _unpacked(entries: list[ZipEntry]) -> Iterator[Handed]:
    """A student's files in a zip, as `_inside` finds them in a folder."""
    for seen, entry in enumerate(entries, 1):
        try:
            _require_few(seen, min(len(entry.parts) - 2, _DEEPEST))
        except FormatError as error:
            yield entry.parts[0], partial(_fail, error)
            return
        if entry.read is not None and "__pycache__" not in entry.parts:
            yield entry.parts[-1], entry.read


def _files(entries: list[Path]) -> Iterator[Handed]:
    """A student's files in a folder."""
    for entry in entries:
        try:
            paths = sorted(_inside(entry)) if entry.is_dir() and not entry.is_symlink() else [entry]
        except (CollsimError, OSError) as error:
            yield entry.name, partial(_fail, error)
            continue
        for path in paths:
            yield path.name, partial(_data, path)


def _fail(error: Exception) -> bytes:
    raise error


def _collected(student: str, handed: Iterable[Handed]) -> Submission:
    files: list[File] = []
    problems: list[str] = []
    for name, read in handed:
        try:
            if len(files) == _MOST_FILES:
                raise FormatError("more than {most} files; hand in those with your answers", most=_MOST_FILES)
            files.append(File(replace_unprintable(name), read()))
        except (CollsimError, OSError) as error:
            problems.append(replace_unprintable(f"{name[:100]}: {error}"))
    return Submission(replace_unprintable(student), tuple(files), "; ".join(problems[:5]))


def _inside(folder: Path) -> Iterator[Path]:
    """Files of a folder and those in it; one after another, so that depth costs nothing. Raises FormatError where
    there are too many."""
    left, seen = [(str(folder), 0)], 0
    while left:
        place, depth = left.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                seen += 1
                _require_few(seen, depth if entry.is_dir(follow_symlinks=False) else 0)
                if entry.is_dir(follow_symlinks=False):
                    left += [(entry.path, depth + 1)] if entry.name != "__pycache__" else []
                elif entry.name.endswith(SUFFIXES):
                    yield Path(entry.path)


def _require_few(seen: int, depth: int) -> None:
    if seen > _MOST_ENTRIES:
        raise FormatError("more than {most:,} files and folders; hand in those with your answers", most=_MOST_ENTRIES)
    if depth == _DEEPEST:
        raise FormatError("folders are more than {most} deep in one another; hand in fewer", most=_DEEPEST)


def _data(path: Path) -> bytes:
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
        data = source.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise FormatError("it is larger than {most:,} bytes", most=_MOST_BYTES)
    return data
