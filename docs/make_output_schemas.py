"""Write docs/schemas/COMMAND.json, the JSON Schema of what `--json` of a command prints.

    python docs/make_output_schemas.py

A schema is what the example calls of `tests/cli/every_command.py` have in common: genson merges their documents. Units
and meanings of properties come from docs/tables.md. Properties may be added in later versions, so a schema allows more.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from genson import SchemaBuilder
from typer.testing import CliRunner

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "tests" / "cli"))

from every_command import COMMANDS, FILES, VARIANTS  # noqa: E402

from collsim.cli import app  # noqa: E402

FOLDER = DOCS / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: Objects whose keys are data: names of links, terms, models, options.
MAPS = {
    *("savings", "differs", "factors", "failed", "failures", "options", "engine_options", "refused", "notes", "words"),
    *("published", "memory_by_kind", "steps", "exposed_by_kind", "what_if", "explanation", "launch_options"),
}
#: Units whose values are real numbers, even where an example has a whole one.
REAL = ("s", "B/s", "factor", "part of 1", "%")
ROW = re.compile(r"^\| (`[\w ,`]+`) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)


def read_columns() -> dict[str, tuple[str, str]]:
    """Unit and meaning of each column, by its name, from docs/tables.md."""
    text = (DOCS / "tables.md").read_text(encoding="utf-8").partition("## Columns")[2].partition("\n## ")[0]
    rows = [
        (re.findall(r"`(\w+)`", names), unit.strip(), meaning.strip()) for names, unit, meaning in ROW.findall(text)
    ]
    return {name: (unit, meaning) for names, unit, meaning in rows for name in names}


@contextlib.contextmanager
def enter_example_folder() -> Iterator[None]:
    """Work in a folder with the files that the example calls read."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in FILES.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(text, encoding="utf-8")
        yield


def run_command(name: str, words: list[str]) -> Any:
    """The document that a command prints.

    Args:
        name: Of the command.
        words: Its arguments and options.
    """
    result = CliRunner().invoke(app, [name, *words, "--json"])
    if result.exit_code not in (0, 1):  # 1: it answers that something is wrong
        raise RuntimeError(f"collsim {name} {' '.join(words)}: {result.output}")
    return json.loads(result.stdout)


def build_schema(name: str) -> dict[str, Any]:
    """The schema of a command's document, from all example calls of it.

    Args:
        name: Of the command.
    """
    if name == "plan-schema":  # prints a schema itself
        return {"$schema": DIALECT, "title": f"collsim {name} --json", "$ref": DIALECT}
    forms: list[tuple[set[str], SchemaBuilder]] = []
    for words in (COMMANDS[name], *VARIANTS.get(name, ())):
        document = run_command(name, words)
        keys = _list_keys(document)
        builder = next((builder for known, builder in forms if len(keys & known) * 2 > len(keys | known)), None)
        if builder is None:
            builder = SchemaBuilder(None)
            forms.append((keys, builder))
        builder.add_object(document)
    schemas = [builder.to_schema() for _, builder in forms]
    for schema in schemas:
        _complete(schema, "", read_columns())
    head = {"$schema": DIALECT, "title": f"collsim {name} --json"}
    if len(schemas) == 1:
        return head | schemas[0]
    return head | {"anyOf": schemas}


def _list_keys(document: Any) -> set[str]:
    """Keys of an object or of the first row; options may change the form of a document as a whole."""
    if isinstance(document, list):
        document = document[0]
    return set(document)


def _complete(schema: dict[str, Any], name: str, columns: dict[str, tuple[str, str]]) -> None:
    """Add the meaning of columns, make maps of objects whose keys are data, and allow anything where all examples have
    null."""
    for part in schema.get("anyOf", ()):
        if part != {"type": "null"}:
            _complete(part, name, columns)
    if schema == {"type": "null"}:
        del schema["type"]
    if name in MAPS and "properties" in schema:
        merged = SchemaBuilder(None)
        for value in schema.pop("properties").values():
            merged.add_schema(value)
        schema.pop("required", None)
        schema["additionalProperties"] = merged.to_schema()
        _complete(schema["additionalProperties"], "", columns)
    for key, value in schema.get("properties", {}).items():
        _complete(value, key, columns)
    if "items" in schema:
        _complete(schema["items"], name, columns)
        return
    unit, meaning = columns.get(name, ("", ""))
    if meaning:
        schema["description"] = f"{meaning} ({unit})" if unit else meaning
    if unit in REAL and "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        types = ["number" if kind == "integer" else kind for kind in types]
        schema["type"] = types[0] if len(types) == 1 else sorted(set(types))


def write_text(name: str) -> str:
    """The file of a command as it should be.

    Args:
        name: Of the command.
    """
    return json.dumps(build_schema(name), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    with enter_example_folder():
        for name in COMMANDS:
            (FOLDER / f"{name}.json").write_text(write_text(name), encoding="utf-8")


if __name__ == "__main__":
    main()
