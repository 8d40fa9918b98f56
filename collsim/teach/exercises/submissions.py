"""What students hand in: a Python file, a notebook, a progress file, or a folder of these; read as text, never run
here."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ...errors import CollsimError, FormatError
from ..guard import printable
from .progress import progress
from .tasks import TASKS

_MOST_BYTES = 2_000_000
SUFFIXES = (".py", ".ipynb", ".json")


@dataclass(frozen=True)
class Answer:
    """Code for one exercise: a module's text, and the function in it."""

    code: str
    function: str


@dataclass(frozen=True)
class Submission:
    """One student's answers by exercise; `problem` where a file could not be read."""

    student: str
    answers: dict[str, Answer]
    problem: str = ""

    @property
    def digest(self) -> str:
        """Changes when the code does."""
        text = repr(sorted((k, v.code, v.function) for k, v in self.answers.items())) + self.problem
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def submissions(folder: Path | str) -> list[Submission]:
    """All hand-ins of a folder, by the name of the file or subfolder. Raises CollsimError if there is no folder or
    nothing in it."""
    root = Path(folder)
    if not root.is_dir():
        raise CollsimError(f"no folder {str(root)!r} with submissions")
    found: dict[str, list[Path]] = {}
    for entry in sorted(root.iterdir()):
        if entry.name.startswith((".", "__")):
            continue
        if entry.is_dir() and not entry.is_symlink():
            found.setdefault(entry.name, []).extend(
                sorted(p for p in entry.rglob("*") if p.suffix in SUFFIXES and "__pycache__" not in p.parts)
            )
        elif entry.suffix in SUFFIXES or entry.is_symlink():
            found.setdefault(entry.stem, []).append(entry)
    if not found:
        raise CollsimError(
            f"nothing in {str(root)!r} to grade; a student hands in name.py, name.ipynb, name.json (progress) or a "
            "folder name/"
        )
    return [_read(student, files) for student, files in found.items()]


def _read(student: str, files: Iterable[Path]) -> Submission:
    answers: dict[str, Answer] = {}
    problems = []
    for path in files:
        try:
            if path.is_symlink() or not path.is_file():
                raise FormatError(f"{path.name} is a link or no file at all; hand in the file itself")
            if path.stat().st_size > _MOST_BYTES:
                raise FormatError(f"{path.name} is larger than {_MOST_BYTES:,} bytes")
            answers |= _answers(path)
        except (CollsimError, OSError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
            problems.append(printable(f"{path.name}: {error or type(error).__name__}"))
    return Submission(printable(student), answers, "; ".join(problems))


def _answers(path: Path) -> dict[str, Answer]:
    if path.suffix == ".json":
        return {
            name: made
            for name, entry in progress(path).items()
            if name in TASKS and (made := _last_function(str(entry.get("code", ""))))
        }
    text = path.read_text(encoding="utf-8")
    code = _notebook(text) if path.suffix == ".ipynb" else text
    body = ast.parse(code).body
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    defined |= {
        name.id for node in body if isinstance(node, ast.Assign) for name in node.targets if isinstance(name, ast.Name)
    }
    return {name: Answer(code, name.replace("-", "_")) for name in TASKS if name.replace("-", "_") in defined}


def _last_function(code: str) -> Answer | None:
    """Code from a progress file: the last function is the answer."""
    names = [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)] if code.strip() else []
    return Answer("import numpy as np\nimport collsim as cs\n" + code, names[-1]) if names else None


def _notebook(text: str) -> str:
    """Imports, functions and plain assignments of the code cells; what only shows things is left out."""
    try:
        cells = json.loads(text)["cells"]
        sources = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    except (KeyError, TypeError) as error:
        raise FormatError(f"it is not a notebook: {error}") from error
    kept = []
    for source in sources:
        try:
            body = ast.parse(source).body
        except SyntaxError:  # a magic, or a cell that is not finished
            continue
        wanted = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
        kept += [ast.unparse(node) for node in body if isinstance(node, wanted) or _plain_assignment(node)]
    return "\n".join(kept)


def _plain_assignment(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and not any(isinstance(inner, ast.Call) for inner in ast.walk(node.value))
