"""The teacher's guide: its links open what they say, its numbers are those of the runs behind them, in both
languages."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from links import panels_of, trace_of
from make_numbers import MARK, unlike

import collsim as cs
from collsim.app.scenario.panels import Panels
from collsim.teach import list_exercises

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = {"en": DOCS / "teaching.md", "zh": DOCS / "teaching.zh.md"}
LINK = re.compile(r"\]\((http[^)]*)\)")


def links(language):
    found = LINK.findall(GUIDES[language].read_text(encoding="utf-8"))
    return list(dict.fromkeys(url for url in found if "/lessons?" not in url))  # those are tests/lessons' own


@pytest.mark.parametrize("language", GUIDES)
def test_every_link_opens_a_run_in_its_language_without_a_complaint(language):
    assert len(links(language)) >= 10
    for url in links(language):
        assert trace_of(url).time > 0
        assert (parse_qs(urlsplit(url).query).get("lang") == ["zh"]) == (language == "zh")


@pytest.mark.parametrize("language", GUIDES)
def test_every_number_is_what_the_linked_run_says(language):
    text = GUIDES[language].read_text(encoding="utf-8")
    names = {"cs": cs, "run": [trace_of(url) for url in links(language) if panels_of(url) == Panels()]}
    marks = MARK.findall(text)
    assert len(marks) > 15
    assert list(unlike(text, {mark: str(eval(mark, names)) for mark in marks})) == []


@pytest.mark.parametrize("language", GUIDES)
def test_links_that_ask_or_break_open_with_their_panel(language):
    opened = [panels_of(url) for url in links(language)]
    assert Panels(seed=1) in opened
    assert {panels.fault for panels in opened} >= {"lose", "cut"}


def test_the_two_guides_are_in_step():
    one, other = (path.read_text(encoding="utf-8") for path in GUIDES.values())
    assert re.findall(r"^#+", one, re.MULTILINE) == re.findall(r"^#+", other, re.MULTILINE)
    assert sorted(MARK.findall(one)) == sorted(MARK.findall(other))
    assert [url.replace("&lang=zh", "") for url in links("zh")] == links("en")
    tables = [[line.count("|") for line in text.splitlines() if line.startswith("|")] for text in (one, other)]
    assert tables[0] == tables[1]


@pytest.mark.parametrize("language", GUIDES)
def test_exercises_that_the_guide_names_exist(language):
    named = set(re.findall(r"`(ring-[a-z-]+)`", GUIDES[language].read_text(encoding="utf-8")))
    assert named
    assert named <= set(list_exercises())
