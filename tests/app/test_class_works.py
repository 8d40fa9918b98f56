"""A student's program on the projector: sent with the code of a class, opened by its teacher, run after a click."""

import random
import time
from html import escape
from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from collsim.app.classroom.question_card import get_class_sessions
from collsim.app.pages.program import program as program_page
from collsim.app.pages.program.program_drafts import ADDRESS, ProgramDraft
from collsim.app.scenario.address_parameters import pack_text
from collsim.app.server.clients import LOCAL
from collsim.app.texts import say
from collsim.programs.program_entry import LONGEST_PROGRAM
from collsim.sandbox.allowlist import LONGEST

SOURCE = "def run(rank, size):\n    return 'written by a student'\n"


def program() -> None:
    """The app on this page."""
    from collsim.app.main import main

    main(first="program")


def show(at):
    return " ".join(str(element.proto.body) for element in at.get("html"))


def open_page(**query):
    at = AppTest.from_function(program, default_timeout=60)
    at.query_params.update(query)
    return at.run()


@pytest.fixture
def class_page():
    """The page of a teacher who has opened a class, and its code."""
    at = open_page(lang="en").button(key="works_class_open").click().run()
    key = at.session_state["session"].panels.class_key
    yield at, key
    get_class_sessions().close(key, LOCAL)


def test_a_program_longer_than_an_algorithm_comes_back_from_its_own_address():
    source = "\n".join(f"value_{number} = {number}" for number in range(1_500))
    draft = ProgramDraft(collective="none").with_code(source)
    assert len(source) > LONGEST  # of an algorithm
    read, complaints = ADDRESS.read(ADDRESS.write(draft))
    assert not complaints
    assert read.code == source
    _, (complaint,) = ADDRESS.read({"code": pack_text("#" * (LONGEST_PROGRAM + 1))})
    assert "100,001 characters is too long; 100,000 is the most" in str(complaint.reason)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_program_that_no_address_can_hold_is_in_none_and_can_be_downloaded(language):
    letters = random.Random(7).choices([chr(code) for code in range(48, 123)], k=60_000)
    draft = ProgramDraft(collective="none").with_code(f"# {''.join(letters)}\n{SOURCE}")
    assert len(draft.code) < LONGEST_PROGRAM
    words = ADDRESS.write(draft)
    assert "code" not in words
    assert not ADDRESS.read(words)[1]
    at = open_page(lang=language, **words)
    at.session_state["session"].page_values["program"] = draft
    shown = show(at.run())
    assert not at.exception
    assert escape(say(language, "program.address")) in shown
    assert at.get("download_button")
    assert not [button for button in at.button if button.label == say(language, "class.works.send")]


def test_a_program_longer_than_an_algorithm_stays_whole_when_it_is_edited(monkeypatch):
    source, drafts = "x = 1\n" * LONGEST, []

    def stop(draft):
        drafts.append(draft)
        raise InterruptedError

    typed = {"program_editor": {"code": {"turn": 0, "text": source}}, "session": SimpleNamespace(complaints=[])}
    monkeypatch.setattr(st, "session_state", typed)
    monkeypatch.setattr(program_page, "get_remembered", lambda page: ProgramDraft())
    monkeypatch.setattr(program_page, "_draw_controls", stop)
    with pytest.raises(InterruptedError):
        program_page.draw()
    assert drafts[0].code == source


def test_a_program_is_sent_and_runs_on_the_projector_after_a_click(class_page):
    teacher, key = class_page
    assert not teacher.exception
    assert say("en", "class.works.none") in show(teacher)
    words = ADDRESS.write(ProgramDraft(collective="none", ranks=3).with_code(SOURCE))
    student = open_page(lang="zh", **words)
    student.text_input(key="w_works_class").set_value(key[:4].upper())
    next(button for button in student.button if button.label == say("zh", "class.works.send")).click().run()
    assert not student.exception
    assert say("zh", "class.works.sent") in show(student)
    teacher.run().button(key="class_work_1").click().run()
    assert not teacher.exception
    assert say("en", "write.link") in show(teacher)
    assert "written by a student" not in show(teacher)
    teacher.button(key="program_run_link").click().run()
    for _ in range(60):  # it runs in a process of its own
        if "written by a student" in show(teacher):
            break
        time.sleep(0.2)
        teacher.run()
    assert "written by a student" in show(teacher)


def test_a_code_that_no_class_has_is_refused():
    student = open_page(lang="en")
    student.text_input(key="w_works_class").set_value("none")
    next(button for button in student.button if button.label == say("en", "class.works.send")).click().run()
    assert not student.exception
    assert say("en", "class.works.refused") in show(student)
