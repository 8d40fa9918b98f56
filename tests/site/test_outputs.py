"""How-to pages and explanations show what their programs and commands print today, in both languages."""

import make_outputs
import pytest
from sampling import keep_fast

REMAKE = "run: python docs/make_outputs.py"


#: Pages whose programs take long; those of a page in two languages are the same.
LONG = {"collisions.md", "collisions.zh.md", "buy-first.zh.md", "program.zh.md", "bounds.zh.md"}
PAGES = make_outputs.list_pages()


@pytest.mark.parametrize(
    "page",
    keep_fast(PAGES, [page for page in PAGES if page.name not in LONG]),
    ids=lambda page: f"{page.parent.name}/{page.name}",
)
def test_a_page_shows_what_its_programs_and_commands_print(page):
    text = page.read_text(encoding="utf-8")
    with make_outputs.enter_examples():
        assert make_outputs.renew(text) == text, REMAKE


def test_output_that_is_wrong_or_missing_is_written_and_output_that_varies_is_left():
    block = "```python\nx = 2\nprint(x)\n```\n"
    right = block + "\n```text\n2\n```\n"
    for text in (block, block + "\n```\n3\n```\n", right):
        assert make_outputs.renew(text) == right
    varying = "```python\nimport time\nprint(time.time())\n```\n\n<!-- varies -->\n"
    assert make_outputs.renew(varying) == varying
    silent = "```python\nx = 2\n```\n"
    assert make_outputs.renew(silent + "\n```text\n2\n```\n") == silent


def test_a_command_shows_what_it_prints():
    page = "```console\n$ collsim list collectives --json\n[]\n```\n"
    assert '"allreduce"' in make_outputs.renew(page)


def test_a_page_that_prints_shows_it():
    """No block of these pages prints in silence, but for those whose output is another one in each run."""
    pages = [page.read_text(encoding="utf-8") for page in make_outputs.list_pages()]
    assert sum(text.count(make_outputs.VARIES) for text in pages) <= 2
    assert sum(text.count("```text\n") for text in pages) >= 30
