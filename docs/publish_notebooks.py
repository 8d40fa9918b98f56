"""Run the notebooks and write copies with their outputs, as notebooks and as pages: `make published`.

The sources in `notebooks/` stay without outputs. The copies are for the site and for a release:

    python docs/publish_notebooks.py build/notebooks
"""

import copy
import html
import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import markdown
import nbformat
from make_notebooks import FOLDERS, notebooks
from nbclient import NotebookClient

STYLE = (
    "body{max-width:60rem;margin:2rem auto;padding:0 1rem;font-family:sans-serif;line-height:1.5}"
    "pre{overflow:auto;padding:.6rem;background:#f4f4f4}img{max-width:100%}iframe{max-width:100%}"
    "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2rem .5rem}"
)
TITLES = {"en": "Notebooks with their outputs", "zh": "带输出的笔记本"}


def run_notebook(book: Path) -> nbformat.NotebookNode:
    """The notebook with what its cells print and show. The reader's progress in the exercises stays as it is.

    Args:
        book: its file, which stays as it is.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell fails.
    """
    run = nbformat.read(book, 4)
    client = NotebookClient(run, timeout=600, resources={"metadata": {"path": str(book.parent)}})
    # A kernel shows figures inline unless the environment names another backend of matplotlib.
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    with TemporaryDirectory() as folder:
        client.execute(env={**environment, "COLLSIM_PROGRESS": str(Path(folder) / "progress.json")})
    return run


def has_picture(output: nbformat.NotebookNode) -> bool:
    """Whether a cell shows a picture or the player there; a table or a verdict in HTML is none."""
    data = output.get("data", {})
    return "image/png" in data or bool(re.search("<(?:svg|iframe) ", data.get("text/html", "")))


def count_figures(run: nbformat.NotebookNode) -> int:
    """Pictures that the cells show."""
    return sum(has_picture(output) for cell in run.cells for output in cell.get("outputs", ()))


def keep_still(run: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy for readers that run no scripts, as GitHub: the still picture in place of the player."""
    still = copy.deepcopy(run)
    for cell in still.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data and "<iframe " in data.get("text/html", ""):
                del data["text/html"]
    return still


def format_output(output: nbformat.NotebookNode) -> str:
    """What a cell shows, as HTML: its richest form that needs nothing from elsewhere."""
    if output.output_type == "stream":
        return f"<pre>{html.escape(output.text)}</pre>"
    data = output.get("data", {})
    if "text/html" in data:
        return f"<div>{data['text/html']}</div>"
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{data["image/png"]}">'
    return f"<pre>{html.escape(data.get('text/plain', ''))}</pre>"


def write_page(run: nbformat.NotebookNode, language: str) -> str:
    """A run notebook as one page that fetches nothing."""
    parts = []
    for cell in run.cells:
        if cell.cell_type == "markdown":
            text = cell.source.replace(".ipynb)", ".html)")
            parts.append(markdown.markdown(text, extensions=["tables", "fenced_code"]))
        else:
            parts.append(f"<pre><code>{html.escape(cell.source)}</code></pre>")
            parts += [format_output(output) for output in cell.outputs]
    return format_page(read_title(run), "\n".join(parts), language)


def read_title(run: nbformat.NotebookNode) -> str:
    """The heading of a notebook, with its number."""
    return run.cells[0].source.splitlines()[0].lstrip("# ")


def format_page(title: str, body: str, language: str) -> str:
    """The frame of a page."""
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>'
    )
    return (
        f'<!doctype html><html lang="{language}"><head>{head}<style>{STYLE}</style></head><body>{body}</body></html>\n'
    )


def publish_notebooks(folder: Path, language: str, books: list[Path]) -> dict[str, int]:
    """Write the copies of a language, and a page that lists them.

    Args:
        folder: where they go.
        language: `en` or `zh`.
        books: the notebooks.

    Returns:
        How many figures each shows, by name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures, items = {}, []
    for book in books:
        run = run_notebook(book)
        nbformat.write(keep_still(run), folder / book.name)
        page = folder / f"{book.stem}.html"
        page.write_text(write_page(run, language), encoding="utf-8")
        figures[book.stem] = count_figures(run)
        title = read_title(run)
        items.append(f'<li><a href="{page.name}">{title}</a> (<a href="{book.name}">.ipynb</a>)</li>')
    title = TITLES[language]
    body = f"<h1>{title}</h1><ul>{''.join(items)}</ul>"
    (folder / "index.html").write_text(format_page(title, body, language), encoding="utf-8")
    return figures


if __name__ == "__main__":
    target = Path(sys.argv[1])
    for name in FOLDERS:
        for stem, count in publish_notebooks(target / name, name, notebooks(name)).items():
            print(f"{name} {stem}: {count} figures")
