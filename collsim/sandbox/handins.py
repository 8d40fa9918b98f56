"""In the sandbox: which functions a handed-in file defines, and these functions.

Reading Python, JSON and notebooks can cost as much as running them, and fail in as many ways; so it is done under the
same limits, by `send_found_exercises` for all files of a student, and once more for the function that is run.
"""

from __future__ import annotations

import ast
import json
import linecache
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import CollsimError, FormatError
from ..registry import Algorithm
from .frames import Kind, build_frame
from .learner_tables import Send
from .resource_limits import MAX_PRINTED

PROGRESS = "collsim.progress/1"  # the schema of a progress file
MODULE = "handed_in"


@dataclass(frozen=True)
class File:
    """A file as it was handed in; nothing has read it yet.

    Attributes:
        name: Its name.
        data: Its content.
    """

    name: str
    data: bytes


@dataclass(frozen=True)
class AnswerCode:
    """Code for one exercise.

    Attributes:
        code: The source of a module.
        function: Name of the function in it.
    """

    code: str
    function: str


def send_found_exercises(files: Sequence[File], exercises: Sequence[str], send: Send) -> None:
    """Send which file answers which exercise, and why one cannot be read; a later file goes before an earlier.

    Args:
        files: of one student.
        exercises: names.
        send: takes a frame.
    """
    for number, file in enumerate(files):
        try:
            for exercise in find_answers(file, exercises):
                send(build_frame(Kind.FOUND, (number, exercises.index(exercise))))
        except MemoryError:
            send(_build_problem(number, "it is nested too deeply, or needs too much memory to read"))
        except (CollsimError, ValueError, SyntaxError, RecursionError, AttributeError, TypeError) as error:
            send(_build_problem(number, str(error) or type(error).__name__))
    send(build_frame(Kind.DONE))


def _build_problem(number: int, message: str) -> bytes:
    return build_frame(Kind.PROBLEM, (number,), message[:MAX_PRINTED].encode("utf-8", "replace"))


def load_function(file: File, exercise: str) -> object:
    """Load the student's function for an exercise, in a module of its own.

    Args:
        file: one that answers the exercise.
        exercise: its name.

    Raises:
        Exception: Whatever the code raises.
    """
    answer = find_answers(file, [exercise])[exercise]
    return load_from_text(answer.code, answer.function, file.name.rpartition(".")[0] + ".py")


def load_from_text(code: str, name: str, file_name: str) -> object:
    """Load a function of a module that is made from its text.

    Args:
        code: the text of the module; it is run.
        name: of the function.
        file_name: the file that tracebacks name.
    """
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    linecache.cache[file_name] = (len(code), None, code.splitlines(True), file_name)
    exec(compile(code, file_name, "exec"), module.__dict__)
    function = getattr(module, name)
    if isinstance(function, Algorithm):
        return function.function
    return function


def find_answers(file: File, exercises: Sequence[str]) -> dict[str, AnswerCode]:
    """Find the exercises that a file answers.

    Args:
        file: Python, a notebook or a progress file.
        exercises: names.

    Returns:
        The code for each of them.

    Raises:
        CollsimError, ValueError, SyntaxError: The file cannot be read.
    """
    text = file.data.decode("utf-8")
    if file.name.endswith(".json"):
        entries = _read_progress(text)
        answers = {
            name: _find_last_function(str(entries[name].get("code", ""))) for name in exercises if name in entries
        }
        return {name: answer for name, answer in answers.items() if answer is not None}
    code = text
    if file.name.endswith(".ipynb"):
        code = _read_notebook(text)
    body = ast.parse(code).body
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    defined |= {
        name.id for node in body if isinstance(node, ast.Assign) for name in node.targets if isinstance(name, ast.Name)
    }
    return {name: AnswerCode(code, name.replace("-", "_")) for name in exercises if name.replace("-", "_") in defined}


def find_program(file: File, exercise: str) -> tuple[str, str | None]:
    """Find the rank program that answers an exercise: a text under its name, else the whole file.

    Args:
        file: one that answers the exercise.
        exercise: its name.

    Returns:
        The source, and the function that every rank calls where the source says it by the name of the exercise.

    Raises:
        CollsimError, ValueError, SyntaxError: The file cannot be read.
    """
    text, name = file.data.decode("utf-8"), exercise.replace("-", "_")
    if file.name.endswith(".json"):
        return str(_read_progress(text)[exercise].get("code", "")), None
    if file.name.endswith(".ipynb"):
        text = _read_notebook(text)
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == name for to in node.targets):
            value = node.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                return value.value, None
    return text, name


def _read_progress(text: str) -> Mapping[str, Mapping[str, Any]]:
    try:
        progress = json.loads(text)
        if progress["schema"] != PROGRESS:
            raise ValueError(f"schema {progress['schema']!r}")
        return {str(name): dict(entry) for name, entry in progress["exercises"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError("it is not a progress file of collsim: {error}", error=error) from error


def _find_last_function(code: str) -> AnswerCode | None:
    """Code from a progress file: the last function is the answer."""
    names = []
    if code.strip():
        names = [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
    if names:
        return AnswerCode("import numpy as np\nimport collsim as cs\n" + code, names[-1])
    return None


def _read_notebook(text: str) -> str:
    """Imports, functions and plain assignments of the code cells; what only shows things is left out."""
    try:
        cells = json.loads(text)["cells"]
        sources = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    except (KeyError, TypeError) as error:
        raise FormatError("it is not a notebook: {error}", error=error) from error
    statements = []
    for source in sources:
        try:
            body = ast.parse(source).body
        except SyntaxError:  # a magic, or a cell that is not finished
            continue
        declarations = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
        statements += [
            ast.unparse(node) for node in body if isinstance(node, declarations) or _is_plain_assignment(node)
        ]
    return "\n".join(statements)


def _is_plain_assignment(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and not any(isinstance(inner, ast.Call) for inner in ast.walk(node.value))
