"""The studies in the docs are short, run, and print what the page says."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("script", sorted((DOCS / "studies").glob("*.py")), ids=lambda p: p.stem)
def test_a_study_is_at_most_15_lines(script):
    code = script.read_text(encoding="utf-8").split('"""', 2)[2]
    lines = [line for line in code.splitlines() if line.strip() and not line.startswith(("import ", "from "))]
    assert len(lines) <= 15


def test_the_pages_of_studies_are_current_in_both_languages(tmp_path):
    spec = importlib.util.spec_from_file_location("make_studies", DOCS / "make_studies.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    there = [path.read_text(encoding="utf-8") for path in module.PAGES]
    assert [path.name for path in module.PAGES] == ["studies.md", "studies.zh.md"]
    assert there == module.pages(tmp_path), "run python docs/make_studies.py"
