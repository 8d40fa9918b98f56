"""Numbers in the prose of the notebooks, from the runs beside them. `make docs` writes them anew.

A number is followed by the expression that makes it, in a comment that no reader sees:
`4.73 ms<!--= cs.format_time(t.time) -->`. The Chinese notebooks are run, in Jupyter's own kernel: the English ones have
the same code but for the language that they ask for.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from make_notebooks import FOLDERS, notebooks
from nbclient import NotebookClient

MARK = re.compile(r"<!--= (.*?) -->", re.DOTALL)
#: What a value is made of: numbers, words, anything else.
PARTS = re.compile(r"[\d.,]+|[A-Za-zµ]+|.", re.DOTALL)


def ran(book: Path, after: str = "None") -> tuple[list[dict[str, str]], Any]:
    """Run a notebook from top to bottom.

    Args:
        after: an expression for the end of the run, whose value is a JSON document.

    Returns what each expression in the prose is, by cell, and the value of the last one. Raises
    nbclient.exceptions.CellExecutionError where a cell fails.
    """
    read = nbformat.read(book, as_version=4)
    client = NotebookClient(
        read, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(book.parent)}}
    )

    def value(code: str) -> Any:
        cell = nbformat.v4.new_code_cell(f"import json; print(json.dumps({code}, ensure_ascii=False))")
        reply = client.execute_cell(cell, len(read.cells) - 1)
        return json.loads("".join(output["text"] for output in reply["outputs"] if output["output_type"] == "stream"))

    values: list[dict[str, str]] = []
    with client.setup_kernel():
        for k, cell in enumerate(read.cells):
            marks = MARK.findall(cell["source"]) if cell["cell_type"] == "markdown" else []
            if cell["cell_type"] == "code":
                client.execute_cell(cell, k)
            texts = value(f"[str(eval(mark)) for mark in {marks!r}]") if marks else []
            values.append(dict(zip(marks, texts, strict=True)))
        return values, value(after)


def unlike(prose: str, values: dict[str, str]) -> Iterator[str]:
    """Numbers of a text that are not what the run says."""
    for mark in MARK.finditer(prose):
        value, before = values[mark.group(1)], prose[: mark.start()]
        if not before.endswith(value):
            yield f"the prose says {before[-12:]!r}, the run says {value!r} ({mark.group(1)})"


def renewed(prose: str, values: dict[str, str]) -> str:
    """A text with the run's numbers in place of those that stand before the expressions. Raises ValueError where what
    stands there is no number of that form."""
    out, position = "", 0
    for mark in MARK.finditer(prose):
        value = values[mark.group(1)]
        before = out + prose[position : mark.start()]
        if not before.endswith(value):
            old = re.search(f"(?:{''.join(map(_form, PARTS.findall(value)))})$", before)
            if old is None:
                raise ValueError(f"{before[-30:]!r} does not end in something like {value!r}; write it by hand")
            before = before[: old.start()] + value
        out, position = before + mark.group(0), mark.end()
    return out + prose[position:]


def _form(part: str) -> str:
    """A pattern for what may have stood where a part of a value stands."""
    if part[0].isdigit():
        return r"[\d.,]+"
    return r"\w+" if part.isalpha() else r"\s" if part.isspace() else re.escape(part)


def write(book: Path, values: list[dict[str, str]]) -> None:
    """Put a run's numbers into the prose of a notebook."""
    read = json.loads(book.read_text(encoding="utf-8"))
    for cell, cell_values in zip(read["cells"], values, strict=True):
        if cell_values:
            cell["source"] = renewed("".join(cell["source"]), cell_values).splitlines(keepends=True)
    book.write_text(json.dumps(read, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for book in notebooks("zh"):
        values, _ = ran(book)
        for folder in FOLDERS.values():
            write(folder / book.name, values)
