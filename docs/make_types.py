"""Write collsim/viz/documents.d.ts, the types of the documents that Python sends to the JavaScript, from their
TypedDicts: `make docs`. A test checks that it is current, and `tsc` holds the JavaScript to it."""

from __future__ import annotations

import inspect
import types
import typing
from pathlib import Path

from collsim.viz.timeline import timeline_types
from collsim.viz.training import step_document

FILE = Path(__file__).parents[1] / "collsim" / "viz" / "documents.d.ts"
HEAD = "// Types of the documents that Python sends. Written by docs/make_types.py (make docs); edit the TypedDicts.\n"
NAMES = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", object: "any"}


def text() -> str:
    """The file as it should be."""
    documents = [
        value
        for module in (timeline_types, step_document)
        for value in vars(module).values()
        if typing.is_typeddict(value) and value.__module__ == module.__name__
    ]
    return HEAD + "".join(f"\n{_describe_document(item)}" for item in documents)


def _describe_document(document_type: type) -> str:
    hints = typing.get_type_hints(document_type)
    optional = document_type.__optional_keys__  # type: ignore[attr-defined]
    fields = "".join(f"  {name}{'?' * (name in optional)}: {_translate(hint)};\n" for name, hint in hints.items())
    docstring = inspect.getdoc(document_type) or ""
    comment = "" if docstring.startswith("dict(") else f"/** {' '.join(docstring.split())} */\n"
    return f"{comment}export interface {document_type.__name__} {{\n{fields}}}\n"


def _translate(hint: object) -> str:
    """A Python type as TypeScript has it.

    Raises:
        KeyError: For a type that no document should hold.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(map(_translate, arguments))
    if origin is list:
        item = _translate(arguments[0])
        return f"({item})[]" if " | " in item else f"{item}[]"
    if origin is dict:
        return f"Record<string, {_translate(arguments[1])}>"
    if typing.is_typeddict(hint):
        return typing.cast(type, hint).__name__
    return NAMES[typing.cast(type, hint)]


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
