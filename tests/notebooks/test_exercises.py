"""Exercises in notebooks: the task stands above the cell, the solution stands nowhere, and the last cell says what now."""

import re
from itertools import pairwise

import pytest
from books import CHECKED, NAMES, ROOT, cells, code, text
from make_notebooks import page

from collsim.lessons.chapters import LESSONS
from collsim.teach import Exercise, exercise

BOTH = pytest.mark.parametrize("language", ["en", "zh"])
EACH = pytest.mark.parametrize("name", NAMES)


def list_exercises_of(name):
    """The exercises of a notebook."""
    return [exercise for exercise, _ in CHECKED.findall(code(name))]


@BOTH
@EACH
def test_every_exercise_cell_is_preceded_by_its_task(name, language):
    all_cells, found = cells(name, language), []
    for before, cell in pairwise(all_cells):
        if cell["cell_type"] == "code" and (wanted := CHECKED.search(text(cell))):
            task = exercise(wanted[1], language)
            assert before["cell_type"] == "markdown"
            assert task.title in text(before)
            assert task.ask in text(before)
            found.append(wanted[1])
    assert found, "no exercise"
    assert tuple(found) == next(one.exercises for one in LESSONS.values() if f"{one.notebook}.ipynb" == name)
    bare = re.findall(r'^exercise\("[\w-]+", language\)$', code(name, language), re.MULTILINE)
    assert not bare, "a task that is seen only after its cell has run"


@BOTH
@EACH
def test_tasks_and_the_way_on_are_those_of_the_registries(name, language):
    book = ROOT / name if language == "en" else ROOT / language / name
    assert book.read_text(encoding="utf-8") == page(book, language), "run: make docs"


def bare(said):
    return re.sub(r"\s", "", said)


@BOTH
@EACH
def test_no_notebook_holds_a_line_that_is_the_solution(name, language):
    """The lines of a right answer that yield steps, and the third hint, which says them."""
    import inspect

    from solutions import solution

    said = bare("\n".join(text(cell) for cell in cells(name, language)))
    assert ".hint(3)" not in code(name, language)
    for task in (one for one in list_exercises_of(name) if isinstance(exercise(one), Exercise)):
        lines = re.findall(r"^ *(yield cs\..*|yield \[.*)$", inspect.getsource(solution(task)), re.MULTILINE)
        assert [line for line in lines if bare(line) in said] == [], task


@BOTH
@EACH
def test_a_notebook_ends_with_what_now(name, language):
    last = cells(name, language)[-1]
    head, onward, trying = text(last).split("\n\n")
    assert last["cell_type"] == "markdown"
    assert head == ("## What now" if language == "en" else "## 接下来")
    assert trying.startswith("Try: " if language == "en" else "试一试：")
    books = [f"{lesson.notebook}.ipynb" for lesson in LESSONS.values() if lesson.notebook]
    following = books[books.index(name) + 1 :][:1]
    assert re.findall(r"\]\((.*?)\)", onward) == following
    assert all((ROOT / language.replace("en", "") / book).is_file() for book in following)


@EACH
def test_a_notebook_has_a_picture_of_its_wiring(name):
    assert re.search(r"\.(draw|animate)\(language=language\)$", code(name), re.MULTILINE)
