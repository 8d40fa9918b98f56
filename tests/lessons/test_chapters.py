"""The lessons as data: every number of a run comes from it, in both languages, and one file is one lesson."""

import pickle
import re
import string
from dataclasses import replace
from pathlib import Path

import pytest

import collsim as cs
from collsim.lessons import chapters, lesson
from collsim.lessons.chapters import LESSONS, SECTIONS
from collsim.teach import exercise

NAMES = list(SECTIONS)
FILES = sorted(path.name for path in Path(chapters.__file__).parent.glob("[0-9]*.py"))
#: A number in prose; those in names (float16, r0, cuda-12) are none.
NUMBER = re.compile(r"(?<![\w.\-])\d[\d,]*(?:\.\d+)?")
#: Numbers of formulas and of what is counted on fingers: 2(n-1)/n, GPU 0, 1 contribution; 50 % and 100 % are half and all.
PLAIN = {"0", "1", "2", "50", "100"}


def bare(text):
    """A template without what is filled in."""
    return " ".join(literal for literal, *_ in string.Formatter().parse(text))


def typed(texts, sources):
    """Numbers that are typed into templates and are neither of a formula nor said to be somebody else's."""
    found = (n.rstrip(",") for pair in texts for text in pair for n in NUMBER.findall(bare(text)))
    return [n for n in found if n not in PLAIN | sources.keys()]


@pytest.mark.parametrize("name", NAMES)
def test_no_number_of_a_lesson_is_typed(name):
    told, section = SECTIONS[name]
    assert typed([told.title, *section.texts], told.sources) == []


def test_a_typed_number_would_be_found():
    assert typed(
        [("{t.size} over {t.ranks} ranks take {t.time}, not 4.7 ms", "PyTorch 2.13")], {"2.13": "its docs"}
    ) == ["4.7"]


def test_every_number_of_others_that_a_lesson_sources_is_in_it():
    for told in LESSONS.values():
        said = " ".join(bare(text) for section in told.sections for pair in section.texts for text in pair)
        assert [n for n in told.sources if n not in NUMBER.findall(said)] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_same_values_stand_in_both_languages(name):
    for pair in SECTIONS[name][1].texts:
        fields = [sorted(field for _, field, *_ in string.Formatter().parse(text) if field) for text in pair]
        assert set(fields[0]) == set(fields[1]), pair


def read_section(name):
    """Everything that a section says when it is run anew, with its numbers."""
    told = replace(SECTIONS[name][1]).fill_texts()
    spoken = [text for one in told.question.choices for text in (one.text, one.reason)]
    return (*told.before, told.question.ask, told.question.explanation, *spoken, *told.after, *sum(told.table, ()))


#: Sections whose texts hold counts only, which no cable changes.
UNTIMED = {"collective", "broken", "rounding", "orders", "hang"}


@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_a_lesson_changes_with_its_run(name, monkeypatch):
    """With cables of half the bandwidth the times in the text change: they were computed, not typed."""
    before = read_section(name)
    run = lesson.simulate
    monkeypatch.setattr(lesson, "simulate", lambda s, topology, nbytes: run(s, topology.scaled(by=0.5), nbytes))
    after = read_section(name)
    assert (before != after) == (name not in UNTIMED)
    for en, zh in (*before, *after):
        numbers = [set(re.findall(r"\d+(?:\.\d+)?", text)) for text in (en, zh)]
        assert numbers[0] == numbers[1], "the same numbers in both languages"


@pytest.mark.parametrize("name", NAMES)
def test_the_run_of_a_lesson_does_what_it_says_or_is_broken_on_purpose(name):
    schedule = SECTIONS[name][1].fill_texts().trace.schedule
    if name == "broken":
        with pytest.raises(cs.ScheduleError):
            cs.verify(schedule)
    else:
        cs.verify(schedule)


@pytest.mark.parametrize("name", NAMES)
def test_the_right_choice_is_the_one_that_the_reason_names(name):
    """Where the reason begins with a figure that is one of the choices, it is the right one."""
    told = SECTIONS[name][1].fill_texts()
    figures = re.findall(r"\d[\d.]* (?:ms|µs|%|buffers)", told.question.explanation[0])
    fitting = [k for k, one in enumerate(told.question.choices) if one.text[0] in figures[:1]]
    assert fitting in ([], [told.question.answer])


def fields(*texts):
    """Names that are filled into templates."""
    return {field for pair in texts for text in pair for _, field, *_ in string.Formatter().parse(text) if field}


@pytest.mark.parametrize("name", NAMES)
def word_runs(text, length=5):
    """All runs of so many words of a text."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[k : k + length]) for k in range(len(words) - length + 1)}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_before_a_question_does_not_hold_its_answer(name):
    """Neither what the right choice says nor the words of its reason stand in a paragraph above the question."""
    section = SECTIONS[name][1]
    right = section.choices[section.right]
    assert not fields(right.text) & fields(*section.before)
    told = section.fill_texts()
    above = " ".join(pair[0] for pair in told.before)
    chosen = told.question.choices[section.right]
    figures = re.findall(r"\d[\d.]* (?:ms|µs|s|%|[KMGT]iB)", chosen.text[0])
    assert not [figure for figure in figures if figure in above]
    reasons = (chosen.text[0], chosen.reason[0], told.question.explanation[0])
    assert not set().union(*map(word_runs, reasons)) & word_runs(above)


def test_an_answer_that_is_given_away_would_be_found():
    said = "every chunk goes into host memory and out again on both sides"
    assert word_runs("Watch it: every chunk goes into host memory.") & word_runs(said)
    assert not word_runs("Watch the host memory.") & word_runs(said)


def test_lessons_are_numbered_from_one_without_a_gap_and_a_file_is_a_lesson():
    assert list(LESSONS) == list(range(1, len(LESSONS) + 1))
    assert [int(name[:2]) for name in FILES] == list(LESSONS)
    assert [told.number for told in LESSONS.values()] == list(LESSONS)


def test_what_a_lesson_names_is_there():
    for told in LESSONS.values():
        assert told.sections
        assert all(exercise(name).title for name in told.exercises)  # an unknown name is refused
        assert all(section.title for section in told.sections) or len(told.sections) == 1
        assert all(section.view in ("physical", "logical") for section in told.sections)


def test_what_a_page_caches_of_a_section_can_be_pickled():
    """Streamlit pickles what it caches: pictures hold data, and no function."""
    pictures = SECTIONS["hang"][1].fill_texts().lanes_after
    (picture,) = pickle.loads(pickle.dumps(pictures))
    assert picture.html(0) == pictures[0].html(0)


def test_the_step_that_answers_a_question_is_found_in_the_run():
    """In the ring a rank holds a finished sum after it and none before; the others need the run to its end."""
    told = {name: section.fill_texts() for name, (_, section) in SECTIONS.items()}
    answered = {name: one.answer_step for name, one in told.items() if one.answer_step is not None}
    assert set(answered) == {"ring", "pipelined", "broken", "dispatch"}
    schedule = told["ring"].trace.schedule
    cells = [(rank, chunk) for rank in range(schedule.ranks) for chunk in range(schedule.chunks)]
    writes = [write for cell in cells for write in cs.verify.list_contributions(schedule, *cell)]
    assert answered["ring"] == 1 + min(step for step, terms in writes if len(terms) == schedule.ranks)
    for name in ("pipelined", "broken", "dispatch"):
        rows = told[name].trace.schedule.transfers
        assert answered[name] == 1 + rows["step"].max(), name
