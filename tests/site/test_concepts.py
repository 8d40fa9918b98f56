"""Pages that explain a concept: what they print is what they say, and their tables are the package's."""

import contextlib
import io
import re

import pytest
from make_articles import DOCS

import collsim as cs

#: A block of Python with the block of its output.
PRINTED = re.compile(r"^```python\n(.*?)^```\n(?:\n```\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["backends.md", "backends.zh.md", "parallelism.md", "parallelism.zh.md"])
def test_a_page_prints_what_stands_below_its_code(page):
    blocks = PRINTED.findall((DOCS / "explained" / page).read_text(encoding="utf-8"))
    assert sum(bool(output) for _, output in blocks) >= 1
    names = {}
    for source, output in blocks:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(source, names)
        assert printed.getvalue() == output


@pytest.mark.parametrize("page", ["backends.md", "backends.zh.md"])
def test_the_table_of_backends_is_that_of_the_package(page):
    signs = {"yes": "✓", "no": "–", "if built for GPUs": "?"}
    columns = [("nccl", "gpu"), ("gloo", "cpu"), ("gloo", "gpu"), ("mpi", "cpu"), ("mpi", "gpu")]
    text = (DOCS / "explained" / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z_, ]+) \|(( [✓–?] \|){5})$", text, re.MULTILINE)
    operations = [name for names, *_ in rows for name in names.split(", ")]
    assert len(operations) == 11
    for names, cells, _ in rows:
        for name in names.split(", "):
            support = [signs[cs.nccl.get_support(backend, name, device)] for backend, device in columns]
            assert support == cells.replace(" ", "").strip("|").split("|"), name
