"""docs/algorithms.md says what the registry says."""

import importlib.util
import re
from functools import cache
from pathlib import Path

import collsim as cs

DOCS = Path(__file__).parent.parent.parent / "docs"


@cache
def maker():
    spec = importlib.util.spec_from_file_location("make_algorithms", DOCS / "make_algorithms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.build_page = cache(module.build_page)  # a second each
    return module


def test_the_pages_are_current():
    made = maker()
    written = [path.read_text(encoding="utf-8") for path in made.PAGES]
    assert written == [made.build_page(0), made.build_page(1)], "run: python docs/make_algorithms.py"


def test_every_algorithm_has_its_section_and_its_row():
    for page in map(maker().build_page, (0, 1)):
        for name in cs.algorithms():
            assert page.count(f"\n### {name}\n") == 1
            assert page.count(f"(#{name})") == 1


def test_each_page_is_in_its_language():
    """The first sentence on an algorithm is whole; no word of a formula is left in English."""
    made = maker()
    assert not re.search("[\u4e00-\u9fff]", made.build_page(0))
    assert [entry.name for entry in cs.algorithms().values() if not entry.doc.endswith((".", ")"))] == []
    words = {
        word for entry in cs.algorithms().values() for word in re.findall("[A-Za-z]{3,}", made.format_formula(entry, 1))
    }
    assert words <= {
        "allreduce",
        "chunk",
        "log",
        "max",
        "GPU",
        "rank",
        "ring",
        "root",
        "token",
        "torus",
        "NVLink",
        "worker",
    }
