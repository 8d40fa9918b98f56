"""What the programs and commands of pages print, written below them: `python docs/make_outputs.py`.

A block of Python runs in the names that the blocks above it left, and the block of plain text below it has what it
printed. The lines of a block `console` that begin with `$ collsim` run in the root of the repository, and what they
print follows. `<!-- varies -->` below a block stands for output that is another one in each run, such as times of this
computer.
"""

import contextlib
import io
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from collsim.cli import app

DOCS = Path(__file__).parent
ROOT = DOCS.parent
VARIES = "<!-- varies -->"
BLOCK = re.compile(
    rf"^```(?P<kind>python|console)\n(?P<code>(?!>>>).*?)^```\n(?P<shown>\n```(?:text)?\n.*?^```\n|\n{VARIES}\n)?",
    re.MULTILINE | re.DOTALL,
)
COMMAND = re.compile(r"^\$ collsim (.*)\n", re.MULTILINE)


def list_pages() -> list[Path]:
    """The pages whose blocks show what they print, in both languages."""
    return sorted(page for folder in ("howto", "explained") for page in (DOCS / folder).glob("*.md"))


def run_python(code: str, names: dict[str, Any]) -> str:
    """Run a block in a folder that has the examples.

    Args:
        code: The block.
        names: What the blocks above it left; the block adds to them.

    Returns:
        What it prints, without spaces at the end of its lines.
    """
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "<block>", "exec"), names)
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().rstrip().splitlines())


def run_commands(block: str) -> str:
    """Run the commands of a block.

    Args:
        block: The inside of a block `console`.

    Returns:
        The same block, each command followed by what it prints.
    """
    shown = ""
    for command in COMMAND.findall(block):
        with contextlib.chdir(ROOT):
            result = CliRunner().invoke(app, command.split())
        shown += f"$ collsim {command}\n{result.output.rstrip()}\n"
    return shown


def renew(text: str) -> str:
    """Run all blocks of a page.

    Args:
        text: The page.

    Returns:
        The page with what its blocks print today.
    """
    names: dict[str, Any] = {"__name__": "__page__"}

    def renew_block(match: re.Match[str]) -> str:
        kind, code, shown = match["kind"], match["code"], match["shown"] or ""
        if kind == "console":
            return f"```console\n{run_commands(code)}```\n{shown}"
        output = run_python(code, names)
        if VARIES in shown:
            return match[0]
        if output:
            shown = f"\n```text\n{output}```\n"
        else:
            shown = ""
        return f"```python\n{code}```\n{shown}"

    return BLOCK.sub(renew_block, text)


@contextlib.contextmanager
def enter_examples() -> Iterator[None]:
    """Work in a folder with the files of `examples` that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.symlink(ROOT / "examples", "examples")
        yield


if __name__ == "__main__":
    with enter_examples():
        for page in list_pages():
            page.write_text(renew(page.read_text(encoding="utf-8")), encoding="utf-8")
