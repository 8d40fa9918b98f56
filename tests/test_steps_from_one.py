"""People count steps from 1: whatever they read says so, from the player to a hint. Columns of tables and the Python API
count from 0, as Python does."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from catalogs import pair_texts
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.schedule import freeze
from collsim.teach import break_it, exercise, list_exercises
from collsim.teach.breaking import BREAKAGES
from collsim.viz.timeline.timeline_document import build_timeline

TEXTS = pair_texts()

ROOT = Path(__file__).parents[1]
FROM_NOUGHT = re.compile(r"\bsteps? 0\b|第 ?0 ?步|步骤 ?0\b|第零步|\bstep zero\b", re.IGNORECASE)
#: Where a step is the name of a field in somebody's file, whose numbers are as the file has them.
FILES = {"formats.md", "timeline.md"}


def find_steps(text):
    return [text[max(0, hit.start() - 40) : hit.end() + 40] for hit in FROM_NOUGHT.finditer(text)]


def pages():
    for path in (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("notebooks/**/*.ipynb"),
        *ROOT.glob("examples/*"),
    ):
        if path.name in FILES or path.suffix not in (".md", ".ipynb", ".py", ".yaml"):
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
        yield str(path.relative_to(ROOT)), text


def test_the_search_finds_a_count_from_nought():
    for text in ("what step 0 must do", "第 0 步 rank r", "        step 0  step 1", "Step 0 of 6"):
        assert find_steps(text)
    for text in ("step 10 of 16", "第 10 步", "in steps of 0.5 s", "a first step"):
        assert not find_steps(text)


def test_no_page_no_notebook_and_no_example_counts_steps_from_nought():
    assert not {name: hits for name, text in pages() if (hits := find_steps(text))}


def test_no_text_of_the_app_the_lessons_and_the_player_counts_steps_from_nought():
    wrong = {key: text for key, pair in TEXTS.items() for text in pair if find_steps(text)}
    for path in (*ROOT.glob("collsim/lessons/*.py"), *ROOT.glob("collsim/site/*"), *ROOT.glob("collsim/viz/**/*.js")):
        if path.is_file() and (hits := find_steps(path.read_text(encoding="utf-8"))):
            wrong[path.name] = hits
    assert not wrong


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_exercise_counts_steps_from_nought(language):
    for name in list_exercises():
        task = exercise(name, language)
        assert not find_steps("\n".join([str(task), *map(task.hint, (1, 2, 3)), task.starter])), name


def test_no_algorithm_says_a_step_from_nought():
    for name, algorithm in cs.algorithms().items():
        assert not find_steps(
            "\n".join([algorithm.doc, *algorithm.summary, *algorithm.when, algorithm.function.__doc__ or ""])
        ), name


def test_a_printed_schedule_begins_with_step_one_and_ends_with_the_last():
    head = str(cs.schedule("allreduce_ring", ranks=4)).splitlines()[1].split()
    assert head == [word for k in range(1, 7) for word in ("step", str(k))]
    shown = CliRunner().invoke(app, ["show", "allreduce_ring", "--ranks", "4"]).stdout
    assert "step 1" in shown
    assert not find_steps(shown)


def early(n):
    yield cs.copy(1, 0, chunk=0)


def test_what_goes_wrong_in_the_first_step_goes_wrong_in_step_one():
    found = cs.exercise("broadcast-to-all").check(early, record=False)
    assert "step 1" in found.reason
    assert (found.step, find_steps(str(found))) == (0, [])
    assert find_steps(str(cs.exercise("broadcast-to-all", "zh").check(early, record=False))) == []
    with pytest.raises(cs.ScheduleError, match=r"step 1: .*dst=4 does not exist") as caught:
        freeze("mine", "broadcast", 4, [cs.copy(0, 4, chunk=0)])
    assert caught.value.step == 0


@pytest.mark.parametrize("how", BREAKAGES)
def test_whatever_is_broken_is_told_in_steps_from_one_by_all_that_tell_it(how):
    """The sentence of `break_it`, of the checker and of the player; step 1 is told wherever the first is broken."""
    trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), "1MiB")
    first = 0
    for seed in range(12):
        for language in ("en", "zh"):
            made = break_it(trace, how, seed, language)
            assert find_steps(str(made)) == []
            assert made.trace is None or find_steps(json.dumps(build_timeline(made.trace), ensure_ascii=False)) == []
            first += made.error is not None and getattr(made.error, "step", None) == 0 and "tep 1" in str(made.error)
    assert bool(first) == (
        how in ("lose", "swap")
    )  # a chunk too many does no harm there, a second addition is a step later


def test_a_run_narrates_from_the_first_step_on():
    trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), "1MiB")
    assert list(trace.steps["step"]) == list(np.arange(6)), "a column counts as Python does"
    assert find_steps(json.dumps(build_timeline(trace), ensure_ascii=False)) == []
