"""Progress: one small local file that says what was solved, with the code that solved it, so that a teacher can run it
again."""

from __future__ import annotations

import inspect
import json
import os
import textwrap
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_data_path

from ...errors import FormatError, format_value, require_path
from ...errors.arguments import check_arguments
from ...files import read_json, replace_file

if TYPE_CHECKING:
    from .exercise import Result
    from .program_exercise import ProgramResult

SCHEMA = "collsim.progress/1"
_MAX_BYTES = 16 * 2**20


@check_arguments
def progress_path() -> Path:
    """The file in which progress is kept: the one that `COLLSIM_PROGRESS` names, else one in this user's data folder.

    Source of the folder: platformdirs; on Linux `$XDG_DATA_HOME/collsim`, usually `~/.local/share/collsim`.

    Returns:
        The path; the file need not exist.

    Examples:
        >>> import collsim as cs
        >>> cs.teach.progress_path().suffix
        '.json'
    """
    named = os.environ.get("COLLSIM_PROGRESS")
    return Path(named) if named else user_data_path("collsim", appauthor=False) / "progress.json"


@check_arguments
def progress(file: Path | str | None = None) -> dict[str, dict[str, Any]]:
    """What has been tried: per exercise `passed`, `tries`, `gap` (best), `when` (of the first pass), `code`.

    Args:
        file: a progress file; this user's (`progress_path`) unless given.

    Returns:
        A dict for each exercise by name; empty where nothing was tried.

    Raises:
        FormatError: For a file that is none.

    Examples:
        >>> import collsim as cs
        >>> cs.teach.progress("new.json")
        {}
    """
    source = require_path(file, "file") if file is not None else progress_path()
    if not os.path.isfile(source):  # of a text that no file can have as a name, too
        return {}
    try:
        record = read_json(source, _MAX_BYTES)
        if record["schema"] != SCHEMA:
            raise ValueError(f"schema {record['schema']!r}")
        entries: dict[str, dict[str, Any]] = {str(k): dict(v) for k, v in record["exercises"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        template = "{source!r} is not a progress file of collsim: {error}"
        raise FormatError(template, source=str(source), error=format_value(str(error), 300)) from error
    return entries


def record_result(result: Result | ProgramResult, function: Callable[..., Any] | str) -> None:
    """Write one outcome down. A folder that cannot be written, or a file that cannot be read, never spoils a check.

    Args:
        result: Counts as a try; a better gap replaces the stored code.
        function: What was checked; its source is stored where it can be read.
    """
    try:
        entries = progress()
    except FormatError:
        return
    entry = entries.setdefault(
        result.exercise.name, {"passed": False, "tries": 0, "gap": None, "when": None, "code": ""}
    )
    entry["tries"] = int(entry.get("tries") or 0) + 1
    if result.passed:
        entry["when"] = entry.get("when") or datetime.now(UTC).isoformat(timespec="seconds")
        better = entry.get("gap") is None or (result.gap is not None and result.gap < entry["gap"])
        if better or not entry["passed"]:
            entry["gap"], entry["code"] = result.gap, _read_source(function)
        entry["passed"] = True
    _write(entries)


def _read_source(function: Callable[..., Any] | str) -> str:
    """Its source, if Python knows it; the first 20,000 characters."""
    if isinstance(function, str):
        return function[:20_000]
    try:
        return textwrap.dedent(inspect.getsource(getattr(function, "function", function)))[:20_000]
    except Exception:
        return ""


def _write(entries: dict[str, dict[str, Any]]) -> None:
    target = progress_path()
    text = json.dumps({"schema": SCHEMA, "exercises": entries}, ensure_ascii=False, indent=1)
    with suppress(OSError, ValueError):  # ValueError: code with characters that are no text
        target.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(target, is_private=True) as fresh:
            fresh.write_text(text, encoding="utf-8")
