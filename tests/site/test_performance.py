"""The page on speed: every quantity is written by benchmarks/figures.py, was measured once in a session that
docs/performance.json describes, or is a goal or an input."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import figures  # noqa: E402

DATA = json.loads(figures.DATA.read_text(encoding="utf-8"))
#: A time, a size or a rate, or several of one unit.
QUANTITY = re.compile(
    r"(?:\d[\d.,]*(?:,|;| to| and)? )*\d(?:[\d.,]*\d)?(?:\s(?:million/s|s|ms|MiB|GiB|kB|transfers/s|times the expected)\b|/s)"
)
#: A row of figures whose unit is in its first cell.
SERIES = re.compile(r"\d+(?: \| \d+){11}")


def list_quantities(page):
    """Quantities of each section that no mark follows, and rows of figures; headings are section names."""
    text = figures.MARK.sub("", re.sub(r"(`[^`]*`)|\[[^\]]*\]\([^)]*\)", "code", page))
    _, *parts = re.split(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {
        title: Counter(" ".join(found.split()) for found in (*QUANTITY.findall(part), *SERIES.findall(part)))
        for title, part in zip(parts[::2], parts[1::2], strict=True)
    }


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.name)
def test_figures_of_benchmarks_are_those_of_the_file(page):
    text = page.read_text("utf-8")
    assert figures.renew(text, DATA["repeated"]) == text, "run: python benchmarks/figures.py --pages"
    assert Counter(figures.MARK.findall(text)) == Counter(DATA["repeated"].keys())
    assert set(DATA["repeated"]) == set(figures.BENCHMARKS)


def test_every_other_quantity_has_a_session_or_is_an_input():
    expected = {title: Counter(quantities) for title, quantities in DATA["inputs"].items()}
    for entry in DATA["once"]:
        expected.setdefault(entry["section"], Counter()).update(entry["figures"])
    quantities = list_quantities(figures.PAGES[0].read_text("utf-8"))
    assert {title: found for title, found in quantities.items() if found} == expected


def test_every_session_says_machine_date_and_load():
    sessions = {entry["session"] for entry in (*DATA["once"], *DATA["repeated"].values())}
    assert set(DATA["sessions"]) == sessions
    assert all(session.keys() == {"machine", "date", "load", "clock"} for session in DATA["sessions"].values())
    assert all(re.match(r"\d{4}-\d\d", session["date"]) for session in DATA["sessions"].values())


@pytest.mark.parametrize("name", sorted(set(figures.BENCHMARKS.values())))
def test_the_benchmark_of_a_figure_exists(name):
    file, _, test = name.partition("::")
    assert f"def {test.partition('[')[0]}(" in (ROOT / "benchmarks" / file).read_text("utf-8")


def test_a_number_without_a_source_is_found():
    page = "# Speed\n\nIt takes 2.6 s; `3 s` is code.\n\n## More\n\n0.061 s<!--= event.order.fair --> of 5 GiB\n"
    assert list_quantities(page) == {"Speed": Counter(["2.6 s"]), "More": Counter(["5 GiB"])}
    assert figures.renew("0.061 s<!--= a.b -->", {"a.b": {"time": "45 ms", "session": "s"}}) == "45 ms<!--= a.b -->"
    document = {
        "benchmarks": [
            {"fullname": f"benchmarks/{name}", "stats": {"min": 2.0}} for name in figures.BENCHMARKS.values()
        ]
    }
    assert figures.read_times(document) == dict.fromkeys(figures.BENCHMARKS.values(), 2.0)
