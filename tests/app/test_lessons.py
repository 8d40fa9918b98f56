"""Lessons: every one opens in both languages, hides its answer until it is asked for, and has an address."""

import json
import re

import pytest
from catalogs import pair_page_texts
from sampling import cross
from streamlit.testing.v1 import AppTest
from test_pages import address, messages

from collsim.app.classroom.question_card import get_class_sessions
from collsim.app.server.clients import LOCAL
from collsim.display.markup import escape_text
from collsim.lessons.chapters import LESSONS as CHAPTERS
from collsim.lessons.chapters import SECTIONS
from collsim.locale import LANGUAGES
from collsim.units import format_time

LESSONS = pair_page_texts("lessons")

NAMES = list(SECTIONS)


def fill_section(name):
    return SECTIONS[name][1].fill_texts()


def lessons() -> None:
    from collsim.app.main import main

    main(first="lessons")


def opened(**query):
    at = AppTest.from_function(lessons, default_timeout=60)
    for name, text in query.items():
        at.query_params[name] = text
    return at.run()


def words(at):
    bodies = " ".join(e.proto.body for e in at.get("html"))
    bodies = re.sub('<span class="cs-points"[^>]*>(.*?)</span>', r"\1", bodies)  # words that light the picture
    return re.sub("<style>.*?</style>|<.*?>", " ", bodies, flags=re.DOTALL)


def played(at):
    return next(
        json.loads(e.proto.json) for e in at.get("bidi_component") if e.proto.component_name.endswith("collsim_player")
    )


@pytest.mark.parametrize(("name", "language"), cross(NAMES, LANGUAGES))
def test_every_lesson_opens_asks_and_answers(name, language):
    at = opened(lesson=name, lang=language)
    assert not at.exception
    assert messages(at) == []
    told = fill_section(name)
    zh = language == "zh"
    assert played(at)["timeline"]["schema"] == "collsim.timeline/1"

    escaped = words(at)
    assert escape_text(told.question.ask[zh]) in escaped
    hidden = [
        escape_text(text[zh])
        for text in (told.question.explanation, *told.after, *(c.reason for c in told.question.choices))
    ]
    assert not [text for text in hidden if text in escaped]
    at.button(key=f"answer_{name}_0").click().run()
    assert not at.exception
    assert not [text for text in hidden if text not in words(at)]
    assert address(at)["answer"] == "1"
    at.button(key=f"again_{name}").click().run()
    assert not [text for text in hidden if text in words(at)]


@pytest.mark.parametrize("name", NAMES)
def test_every_question_has_one_right_answer_and_a_reason_for_each(name):
    for language in (0, 1):
        question = fill_section(name).question
        texts = [c.text[language] for c in question.choices]
        assert len(set(texts)) == len(texts) >= 3
        assert 0 <= question.answer < len(texts)
        assert all(c.reason[language].strip() for c in question.choices)
        assert all(p[language].strip() for p in (*fill_section(name).before, *fill_section(name).after))


@pytest.mark.parametrize("name", NAMES)
def test_english_holds_no_chinese_and_chinese_is_not_english(name):
    one = fill_section(name)
    lesson, section = SECTIONS[name]
    pairs = [
        lesson.title,
        section.title or lesson.title,
        *one.before,
        *one.after,
        one.question.ask,
        one.question.explanation,
    ]
    assert not [en for en, _ in pairs if re.search("[\u4e00-\u9fff]", en)]
    assert not [zh for en, zh in pairs if " " in en and not re.search("[\u4e00-\u9fff]", zh)]


def test_the_numbers_are_those_of_the_runs():
    # a parameter server: n-1 buffers into one cable and n-1 out of it
    assert "448 MiB" in fill_section("server").after[0][0]
    assert fill_section("server").question.explanation[0].startswith("7 workers send through one cable, then 15: 2.14")
    # 2(N-1)/N for 2, 4, 8, 16 and 64 ranks
    assert [row[3][0] for row in fill_section("volume").table[1:]] == [
        f"{2 * (n - 1) / n:.4g}" for n in (2, 4, 8, 16, 64)
    ]
    assert fill_section("ring").question.choices[int(fill_section("ring").question.answer)].text[0] == "step 7"


def test_the_story_is_read_in_order_and_answers_are_remembered():
    at = opened()
    assert not at.exception
    seen = []
    for name in NAMES[1:]:
        at.button(key="lesson_next").click().run()
        assert not at.exception
        seen.append(address(at)["lesson"])
        assert seen[-1] == name
    assert "lesson_next" not in [b.key for b in at.button]
    at.button(key=f"answer_{NAMES[-1]}_2").click().run()
    at.button(key="lesson_back").click().run()
    assert "answer" not in address(at)
    at.button(key="lesson_next").click().run()
    assert address(at) == {"lesson": NAMES[-1], "answer": "3"}


@pytest.mark.parametrize(
    "query",
    [
        {"lesson": "<script>"},
        {"lesson": "rings"},
        {"lesson": "ring", "answer": "-1"},
        {"answer": "99"},
        {"answer": "x"},
    ],
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_hostile_address_gets_one_sentence_and_a_lesson(query, language):
    at = opened(lang=language, **query)
    assert not at.exception
    assert len(messages(at)) == 1
    assert not any("<script>" in e.proto.body for e in at.get("html"))
    assert played(at)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_number_in_the_address_opens_that_lesson(language):
    for number, lesson in CHAPTERS.items():
        at = opened(lesson=str(number), lang=language)
        assert messages(at) == []
        assert address(at).get("lesson", NAMES[0]) == lesson.sections[0].key
    assert len(messages(opened(lesson=str(len(CHAPTERS) + 1)))) == 1


def test_the_last_section_of_a_lesson_leads_to_its_notebook():
    for name in ("ring", "volume"):
        at = opened(lesson=name, answer="1")
        assert ("03-ring-step-by-step" in words(at)) == (name == "volume")
        assert ("ring-reduce-scatter" in words(at)) == (name == "volume")


def test_a_moment_of_the_player_is_in_the_address():
    at = opened(lesson="ring", t="0.001", view="physical")
    assert played(at)["t"] == 0.001
    assert played(at)["view"] == "physical"
    at.button(key="lesson_next").click().run()
    assert played(at)["t"] is None
    assert "t" not in address(at)
    assert played(opened(lesson="ring", t="nan", view="sideways"))["view"] == "logical"


def test_where_a_phase_ends_is_hidden_until_the_question_is_answered():
    at = opened(lesson="ring")
    assert played(at)["hides"] == "phases"
    at.button(key="answer_ring_1").click().run()
    assert played(at)["hides"] == ""


@pytest.mark.parametrize("name", NAMES)
def test_neither_text_nor_picture_of_a_lesson_tells_the_answer_before_it(name):
    one = fill_section(name)
    answer = one.question.choices[int(one.question.answer)].text
    lanes = [tuple(lane.describe(k) for k in range(2)) for lane in one.lanes]
    for k in range(2):
        told = " ".join(text[k] for text in (*one.before, *lanes))
        assert answer[k] not in told or not re.search("[0-9]", answer[k]), "a word alone is no answer"
    if name in ("own", "real"):
        assert format_time(one.trace.time) in one.before[-1][0], "the picture plays a run that the text has told of"
    if name == "hang":
        assert not one.lanes
        assert one.lanes_after


def test_a_lesson_is_kept_small():
    assert all(len(json.dumps(fill_section(name).timeline)) < 300_000 for name in NAMES)


def test_words_of_the_page_stand_in_both_languages():
    assert not [key for key, pair in LESSONS.items() if len(pair) != 2 or not all(text.strip() for text in pair)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_rows_of_a_pipeline_stand_in_its_lesson_and_those_of_the_answer_come_with_it(language):
    def open_lesson(**query):
        bodies = "".join(e.proto.body for e in opened(lesson="orders", lang=language, **query).get("html"))
        wide, narrow = (re.findall('<img alt="([^"]+)"', bodies)[k::2] for k in (0, 1))
        assert wide == narrow
        return wide

    told, k = fill_section("orders"), int(language == "zh")
    assert open_lesson() == [one.describe(k) for one in told.lanes]
    assert open_lesson(answer="1") == [one.describe(k) for one in (*told.lanes, *told.lanes_after)]


def test_a_lessons_question_is_put_to_a_class_beside_the_picture():
    teacher = opened(lesson="ring")
    teacher.button(key="ask_class").click().run()
    key = teacher.session_state["session"].panels.class_key
    question = fill_section("ring").question
    board = get_class_sessions().get_board(key[:4], "anna")
    assert board.posed.question == question
    assert get_class_sessions().vote(key[:4], LOCAL, "anna", float(question.answer), board.posed.round)
    teacher.run()
    assert not teacher.exception
    assert played(teacher)["hides"] == "phases"
    assert question.explanation[0] not in words(teacher)
    teacher.button(key="class_reveal").click().run()
    assert played(teacher)["hides"] == ""
    assert question.explanation[0] in words(teacher)
    assert "1 · 100 %" in words(teacher)
    teacher.button(key="lesson_next").click().run()
    assert get_class_sessions().get_board(key[:4], "anna").posed.question != question, "the next lesson asks its own"
    get_class_sessions().close(key, LOCAL)
