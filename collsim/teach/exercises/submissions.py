"""What students hand in: a Python file, a notebook, a progress file, or a folder of these; read as bytes, never looked
into here."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import CollsimError, FormatError
from ...sandbox.frames import printable
from ...sandbox.handins import File

_MOST_BYTES = 2_000_000  # of a file
_MOST_FILES = 40  # of a student
_MOST_ENTRIES = 2_000  # of a student's folders, whatever they are
_DEEPEST = 8  # folders in one another
SUFFIXES = (".py", ".ipynb", ".json")


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


def submissions(folder: Path | str) -> list[Submission]:
    """All hand-ins of a folder, by the name of the file or subfolder. Raises CollsimError if there is no folder or
    nothing in it."""
    root = Path(folder)
    if not root.is_dir():
        raise CollsimError("no folder {root!r} with submissions", root=str(root))
    found: dict[str, list[Path]] = {}
    for entry in sorted(root.iterdir()):
        if entry.name.startswith((".", "__")):
            continue
        if entry.suffix in SUFFIXES or entry.is_symlink() or entry.is_dir():
            whole = entry.is_dir() and not entry.is_symlink()
            found.setdefault(entry.name if whole else entry.stem, []).append(entry)
    if not found:
        raise CollsimError(
            "nothing in {root!r} to grade; a student hands in name.py, name.ipynb, name.json (progress) or a "
            "folder name/",
            root=str(root),
        )
    return [_read(student, entries) for student, entries in found.items()]


def _read(student: str, entries: list[Path]) -> Submission:
    files: list[File] = []
    problems: list[str] = []
    for entry in entries:
        try:
            paths = sorted(_inside(entry)) if entry.is_dir() and not entry.is_symlink() else [entry]
        except (CollsimError, OSError) as error:
            problems.append(printable(f"{entry.name}: {error}"))
            continue
        for path in paths:
            try:
                if len(files) == _MOST_FILES:
                    raise FormatError("more than {most} files; hand in those with your answers", most=_MOST_FILES)
                files.append(File(path.name, _data(path)))
            except (CollsimError, OSError) as error:
                problems.append(printable(f"{path.name[:100]}: {error}"))
    return Submission(printable(student), tuple(files), "; ".join(problems[:5]))


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
