"""Lesson 3 is lesson 3 in the app, on the static site, in the notebooks and in the teacher's guide, in both languages."""

import html
import importlib.util
import json
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from collsim.lessons.chapters import LESSONS
from collsim.site import pages

ROOT = Path(__file__).parents[2]
LANGUAGES = ("en", "zh")
GUIDES = {"en": ROOT / "docs" / "teaching.md", "zh": ROOT / "docs" / "teaching.zh.md"}


def maker():
    spec = importlib.util.spec_from_file_location("make_lessons", ROOT / "docs" / "make_lessons.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def titles(language):
    """What every door must say: number and title of each lesson."""
    return {number: lesson.title[LANGUAGES.index(language)] for number, lesson in LESSONS.items()}


def notebooks(language):
    folder = ROOT / "notebooks" if language == "en" else ROOT / "notebooks" / language
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.ipynb"))}


def source(cell):
    return "".join(cell["source"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_notebooks_are_named_numbered_and_titled_as_the_lessons(language):
    with_notebook = {number: lesson.notebook for number, lesson in LESSONS.items() if lesson.notebook}
    assert list(notebooks(language)) == list(with_notebook.values())
    heads = [source(book["cells"][0]).splitlines()[0] for book in notebooks(language).values()]
    assert heads == [f"# {number:02} {titles(language)[number]}" for number in with_notebook]
    assert [name[:3] for name in notebooks(language)] == [f"{number:02}-" for number in with_notebook]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_exercises_of_a_lesson_are_those_of_its_notebook(language):
    for lesson in (one for one in LESSONS.values() if one.notebook):
        cells = notebooks(language)[lesson.notebook]["cells"]
        code = "\n".join(source(cell) for cell in cells if cell["cell_type"] == "code")
        assert tuple(dict.fromkeys(re.findall(r'exercise\("([\w-]+)"', code))) == lesson.exercises


def app():
    from collsim.app.main import main

    main(first="lessons")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_app_lists_and_opens_them_under_their_numbers(language):
    at = AppTest.from_function(app, default_timeout=60)
    at.query_params["lang"], at.query_params["lesson"] = language, "3"
    at.run()
    firsts = [f"lesson_{lesson.sections[0].key}" for lesson in LESSONS.values()]
    listed = {b.key: b.label for b in at.button if b.key in firsts}
    assert list(listed.values()) == list(titles(language).values())
    shown = html.unescape(" ".join(e.proto.body for e in at.get("html")))
    count = re.search(r"Lesson (\d+) of (\d+)" if language == "en" else r"第 (\d+) 课，共 (\d+) 课", shown)
    assert count.groups() == ("3", str(len(LESSONS)))
    assert titles(language)[3] in shown


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_site_lists_and_opens_them_under_their_numbers(language):
    body = pages.build_contents_body(language, {"runs": 0, "algorithms": 0, "places": 0})
    items = re.findall(r'<li><a href="([^"]+)">([^<]*)</a>', body)
    assert [(f"lesson-{n}.html", title) for n, title in titles(language).items()] == [
        (file, html.unescape(text)) for file, text in items
    ]
    for number, lesson in LESSONS.items():
        for section in lesson.sections:
            assert pages.format_lesson_title(section.key, language) == f"{number}. {titles(language)[number]}"
            assert pages.name_lesson_file(section.key).startswith(f"lesson-{number}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_guide_lists_them_with_notebook_and_exercises(language):
    text = GUIDES[language].read_text(encoding="utf-8")
    assert text == maker().page(language), "run: make docs"
    rows = re.findall(r"^\| \d+ \| \[.*/lessons\?.*$", text, re.MULTILINE)
    more = "" if language == "en" else "&lang=zh"
    assert rows == [
        f"| {n} | [{titles(language)[n]}](http://localhost:8501/lessons?lesson={n}{more}) | "
        + (f"`{lesson.notebook}` | " if lesson.notebook else " | ")
        + ", ".join(f"`{name}`" for name in lesson.exercises)
        + " |"
        for n, lesson in LESSONS.items()
    ]


def test_a_lesson_that_the_guide_or_a_notebook_names_by_number_is_about_that():
    """`Lesson 5. Inside a box`: the words beside a number are those of that lesson's title, or its exercises."""
    about = {1: "before and after", 2: "server", 3: "ring", 4: "Small messages", 5: "Inside", 6: "Between boxes"}
    named = re.findall(r"\| Lesson (\d)\W+(?:its notebook: )?([^|]{20,60})", GUIDES["en"].read_text(encoding="utf-8"))
    assert len(named) >= 8
    assert [(n, said) for n, said in named if about[int(n)].lower() not in said.lower()] == []
