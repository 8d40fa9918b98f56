"""docs/algorithms.md says what the registry says."""

import importlib.util
from pathlib import Path

import collsim as cs

DOCS = Path(__file__).parent.parent.parent / "docs"


def maker():
    spec = importlib.util.spec_from_file_location("make_algorithms", DOCS / "make_algorithms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current():
    written = (DOCS / "algorithms.md").read_text(encoding="utf-8")
    assert written == maker().page(), "run: python docs/make_algorithms.py"


def test_every_algorithm_has_its_section_and_its_row():
    page = maker().page()
    for name in cs.algorithms():
        assert page.count(f"\n### {name}\n") == 1
        assert page.count(f"(#{name})") == 1
