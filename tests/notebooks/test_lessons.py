"""The lessons: both languages in step, no outputs stored, and every number in the prose comes from the run beside it
(test_run.py holds it to that).

A number in the prose is followed by the expression that makes it, in a comment that no reader sees:
`4.73 ms<!--= cs.format_time(t.time) -->`.
"""

import re

import pytest
from books import NAMES, ROOT, cells, code, text
from make_numbers import MARK

from collsim.lessons.chapters import LESSONS

#: A quantity as prose has it: a number and a unit.
QUANTITY = re.compile(r"(?<![\w.-])(\d[\d,]*(?:\.\d+)?)[  ]?(ns|µs|us|ms|[KMG]iB|[kMG]?B|[kMG]B/s|%|times|倍)(?![\w/])")


def is_prose(cell):
    """A task is no prose of the notebook: it is held to its exercise in test_exercises.py."""
    return cell["cell_type"] == "markdown" and not text(cell).startswith("<!-- task: ")


def test_notebooks_are_those_of_the_lessons_in_order_and_each_has_a_twin():
    told = [f"{lesson.notebook}.ipynb" for lesson in LESSONS.values() if lesson.notebook]
    assert told == NAMES
    assert sorted(p.name for p in (ROOT / "zh").glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_two_languages_are_in_step(name):
    one, other = cells(name), cells(name, "zh")
    assert [c["cell_type"] for c in one] == [c["cell_type"] for c in other]
    for a, b in zip(one, other, strict=True):
        if a["cell_type"] == "code":
            assert text(a).replace('language = "en"', 'language = "zh"') == text(b)
            continue
        assert sorted(MARK.findall(text(a))) == sorted(MARK.findall(text(b))), "the same numbers in both languages"
        levels = [re.findall(r"^#+", t, re.MULTILINE) for t in (text(a), text(b))]
        assert levels[0] == levels[1]
        assert not re.search(r"[\u4e00-\u9fff]", text(a)), "English only"
        assert re.search(r"[\u4e00-\u9fff]", text(b)), f"not translated: {text(b)[:60]}"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_cells_are_short_prose_comes_first_and_nothing_is_stored(name, language):
    all_cells = cells(name, language)
    assert all_cells[0]["cell_type"] == "markdown"
    assert text(all_cells[0]).startswith(f"# {name[:2]} ")
    for cell in all_cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
            assert len(text(cell).splitlines()) <= 18
        else:
            assert len(MARK.sub("", text(cell))) < 1500


@pytest.mark.parametrize("name", NAMES)
def test_each_lesson_ends_in_exercises_that_check_themselves(name):
    all_cells = [text(c) for c in cells(name)]
    begins = next(k for k, t in enumerate(all_cells) if t.startswith("## Exercises"))
    after = "\n".join(all_cells[begins:])
    assert ".check(" in after or 'exercise("' in after
    assert "questions(" in after or ".check(" in after


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_quantity_is_typed_that_is_not_an_input_of_the_code(name, language):
    inputs = code(name, language).replace(" ", "")
    for cell in cells(name, language):
        if is_prose(cell):
            bare = re.sub(r"\S* ?\S*" + MARK.pattern, " ", text(cell))
            for number, unit in QUANTITY.findall(bare):
                assert f"{number}{unit}" in inputs or (unit in ("times", "倍") and number in inputs), (
                    f"{number} {unit} comes from nowhere: {bare[:80]!r}"
                )


def prose_numbers(prose):
    """Numbers that stand in a text and are not followed by the expression that makes them; code, formulas, links,
    headings left out."""
    bare = re.sub(r"\S* ?\S*" + MARK.pattern, " ", prose, flags=re.DOTALL)
    bare = re.sub(r"(?m)^#.*$|`[^`]*`|\$\$[\s\S]*?\$\$|\$[^$]*\$|\]\([^)]*\)", " ", bare)
    return [number.replace(",", "").rstrip(".") for number in re.findall(r"(?<![\w.\-])\d[\d,]*(?:\.\d+)?", bare)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_other_number_in_the_prose_is_an_input_of_the_code(name, language):
    inputs = set(re.findall(r"\d+(?:\.\d+)?", code(name, language)))
    typed = [n for c in cells(name, language) if is_prose(c) for n in prose_numbers(text(c)) if n not in inputs]
    assert not typed, f"write the expression behind each: 4.73 ms<!--= cs.format_time(t.time) -->; typed: {typed}"


@pytest.mark.parametrize("name", NAMES)
def test_every_picture_is_shown(name):
    assert not [text(c) for c in cells(name) if c["cell_type"] == "code" and text(c).rstrip().endswith(";")]


def test_the_number_test_can_fail():
    assert prose_numbers("It takes 4.73 ms<!--= x -->, not 5.1 ms; `n = 7`, $2K$ and 1,024 more") == ["5.1", "1024"]
    prose = "It takes 4.73 ms<!--= 'x' -->."
    mark = MARK.search(prose)
    assert not prose[: mark.start()].endswith(str(eval(mark.group(1))))
    assert QUANTITY.findall("about 12.5 GB/s and 3 %") == [("12.5", "GB/s"), ("3", "%")]


def test_the_sketch_in_lesson_three_is_the_starter_of_its_exercise():
    from collsim.teach import exercise

    starter = [line.split("#")[0].strip() for line in exercise("fix-the-sketch").starter.splitlines()]
    lesson = next(text(c) for c in cells("03-ring-step-by-step.ipynb") if "def fix_the_sketch" in text(c))
    body = [line.strip() for line in lesson.split("\n\n")[0].splitlines()]
    assert [line for line in starter if line and '"""' not in line] == body
