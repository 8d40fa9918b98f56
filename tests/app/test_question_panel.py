"""Questions about the run on Explore, a class that answers them, and a run that is broken on purpose."""

import html
import json
import re

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from test_pages import address, explore, messages, opened, players

import collsim as cs
from collsim.app.classroom.question_card import get_class_sessions
from collsim.app.scenario.choice import Choice, from_query
from collsim.app.scenario.panels import ADDRESS, MAX_QUESTIONS, Panels, settle_mode
from collsim.app.scenario.run_questions import ask_about_run, break_run
from collsim.app.server.clients import LOCAL
from collsim.app.texts import say
from collsim.locale import LANGUAGES
from collsim.teach.breaking import BREAKAGES, break_it

RUN = {
    "collective": "allreduce",
    "algorithm": "allreduce_ring",
    "network": "switch",
    "ranks": "4",
    "bandwidth": "25GB/s",
    "alpha": "1us",
}
RUN |= {"nbytes": "64MiB"}
CHOICE = from_query(RUN)[0]
QUESTIONS = ask_about_run(CHOICE, 1)


def test_a_class_survives_when_a_page_clears_the_caches_of_streamlit():
    room = get_class_sessions().open(LOCAL)
    st.cache_resource.clear()
    st.cache_data.clear()
    assert get_class_sessions().is_leader(room, LOCAL)
    get_class_sessions().close(room, LOCAL)


def student() -> None:
    from collsim.app.main import main

    main(first="class")


def words(at):
    return html.unescape(
        re.sub("<.*?>", " ", " ".join(e.proto.body for e in at.get("html") if "<style>" not in e.proto.body))
    ).replace("\N{NO-BREAK SPACE}", " ")


def read_html(at):
    return "".join(e.proto.body for e in at.get("html") if "<style>" not in e.proto.body)


def figures(at):
    return any('class="cs-head"' in e.proto.body for e in at.get("html"))


def hidden_parts(at):
    """What each player of the page does not show."""
    return [json.loads(player.proto.json)["hides"] for player in players(at)]


def join_class(code, **query):
    at = AppTest.from_function(student, default_timeout=60)
    at.query_params["class"] = code
    for name, text in query.items():
        at.query_params[name] = text
    return at.run()


# ---- alone
# --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("number", range(MAX_QUESTIONS))
def test_every_question_hides_its_answer_and_the_run_until_it_is_revealed(number, language):
    at = opened(**RUN, ask="1", question=str(number + 1), lang=language)
    assert not at.exception
    assert messages(at) == []
    question, zh = QUESTIONS[number], language == "zh"
    hidden = [question.explanation[zh], *(c.reason[zh] for c in question.choices)]
    assert question.ask[zh] in words(at)
    assert not [text for text in hidden if text in words(at)]
    assert not figures(at)
    assert hidden_parts(at) == ["figures"]
    at.button(key="ask_reveal").click().run()
    assert not at.exception
    assert not [text for text in hidden if text not in words(at)]
    assert figures(at)
    assert hidden_parts(at) == [""]
    assert address(at)["answer"] == "shown"
    at.button(key="ask_again").click().run()
    assert not [text for text in hidden if text in words(at)]


def test_an_answer_is_judged_and_stands_in_the_address():
    place = next(k for k, q in enumerate(QUESTIONS) if q.kind == "choice")
    right = chr(65 + int(QUESTIONS[place].answer))
    at = opened(**RUN, ask="1", question=str(place + 1))
    at.button(key=f"ask_1_{place}_{right}").click().run()
    assert "Right." in words(at)
    assert address(at)["answer"] == right.lower()
    again = opened(**address(at))
    assert "Right." in words(again)
    wrong = "A" if right != "A" else "B"
    assert "No." in words(opened(**{**address(at), "answer": wrong.lower()}))


def test_a_number_is_typed_and_one_without_sense_gets_a_sentence():
    place = next(k for k, q in enumerate(QUESTIONS) if q.topic == "time")
    at = opened(**RUN, ask="1", question=str(place + 1))
    at.text_input(key="ask_number").set_value("fast")
    at.button(key="ask_check").click().run()
    assert len(messages(at)) == 1
    assert not figures(at)
    at.text_input(key="ask_number").set_value(QUESTIONS[place].answer_text)
    at.button(key="ask_check").click().run()
    assert messages(at) == []
    assert "Right." in words(at)


def test_another_seed_asks_otherwise_and_another_run_asks_about_itself():
    at = opened(**RUN, ask="1", question="2", answer="shown")
    at.button(key="ask_new").click().run()
    assert address(at)["ask"] == "2"
    assert "question" not in address(at)
    assert ask_about_run(CHOICE, 2)[0].ask[0] in words(at)
    at.number_input(key="w_ranks").set_value(6).run()
    other = from_query({**RUN, "ranks": "6"})[0]
    assert ask_about_run(other, 2)[0].ask[0] in words(at)
    assert "answer" not in address(at)
    at.button(key="ask_close").click().run()
    assert "ask" not in address(at)
    assert figures(at)


@pytest.mark.parametrize(
    "query",
    [
        {"ask": "x"},
        {"ask": "-1"},
        {"ask": "1", "question": "99"},
        {"ask": "1", "answer": "z" * 50},
        {"class": "<b>"},
        {"break": "bend"},
        {"break": "lose-x"},
        {"ask": "1" * 60},
    ],
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_hostile_address_gets_one_sentence(query, language):
    at = opened(**RUN, **query, lang=language)
    assert not at.exception
    assert len(messages(at)) == 1
    assert not any("<b>" in e.proto.body for e in at.get("html") if 'role="alert"' in e.proto.body)


def test_an_address_says_the_panels_and_is_read_back():
    for panels in (
        Panels(),
        Panels(3, 2, "8 MiB", "bcdf-abcdefgh"),
        Panels(fault="cut", fault_seed=4),
        Panels(0, class_key="bcdf"),
    ):
        assert ADDRESS.read(settle_mode(panels, ADDRESS.write(panels))) == (panels, [])


# ---- with a class
# ---------------------------------------------------------------------------------------------------------------


def test_a_student_votes_once_sees_nothing_of_the_others_and_learns_the_answer_at_the_reveal(sit_at):
    teacher = opened(**RUN, ask="1")
    teacher.button(key="ask_class").click().run()
    room = address(teacher)["class"]
    code = room[:4]
    assert code in words(teacher)
    assert hidden_parts(teacher) == ["figures"]
    one, other = join_class(code), join_class(code, lang="zh")
    question = QUESTIONS[0]
    assert question.ask[0] in words(one)
    assert question.ask[1] in words(other)
    right = int(question.answer)
    turn = get_class_sessions().get_leader_board(room, LOCAL).posed.round
    one.button(key=f"vote_{turn}_{right}").click().run()
    one.button(key=f"vote_{turn}_{right}").click().run()
    other.button(key=f"vote_{turn}_{(right + 1) % 4}").click().run()
    board = get_class_sessions().get_leader_board(room, LOCAL)
    assert (board.votes, board.present) == (2, 2)
    assert question.explanation[0] not in words(one)
    assert not players(one)
    teacher.run()
    assert question.explanation[0] not in words(teacher)
    teacher.button(key="class_reveal").click().run()
    assert question.explanation[0] in words(teacher)
    assert words(teacher).count("1 · 50 %") == 2
    for at, verdict in ((one.run(), "Right."), (other.run(), "不对。")):
        assert not at.exception
        assert verdict in words(at)
        assert words(at).count("1 · 50 %") == 2
        assert players(at)
    teacher.button(key="ask_next").click().run()
    assert QUESTIONS[1].ask[0] in words(one.run())
    teacher.button(key="ask_end").click().run()
    assert "class" not in address(teacher)
    assert messages(one.run()) == [say("en", "class.none", code=code)]
    assert one.text_input(key="class_code")


def open_page(name, **query):
    """The app at a page, as whoever sits at the server opens it."""

    def draw(name: str) -> None:
        from collsim.app.main import main

        main(first=name)

    at = AppTest.from_function(draw, default_timeout=60, args=(name,))
    at.query_params.update(query | {"lang": "en"})
    return at.run()


@pytest.mark.parametrize(
    ("page", "query", "text"),
    [
        ("train", {"machine": "pcie-8gpu", "nodes": "2"}, "resnet50 has 161 gradient tensors"),
        ("whatif", {}, "Turn off GPUDirect RDMA? The run takes 2.61 ms now. How long"),
    ],
)
def test_the_question_of_a_page_is_put_to_a_class_and_the_page_waits_for_the_reveal(page, query, text, sit_at):
    teacher = open_page(page, **query)
    assert 'class="cs-why' in read_html(teacher)
    teacher.button(key="ask_class").click().run()
    room = teacher.session_state["session"].panels.class_key
    question = get_class_sessions().get_leader_board(room, LOCAL).posed.question
    assert question.text.startswith(text)
    assert question.text in words(teacher)
    assert 'class="cs-why' not in read_html(teacher), "the headline would answer it"
    student = join_class(room[:4])
    assert question.text in words(student)
    teacher.button(key="class_reveal").click().run()
    assert not teacher.exception
    assert 'class="cs-why' in read_html(teacher)
    for at in (teacher, student.run()):
        assert question.explanation[0] in words(at)
    get_class_sessions().close(room, LOCAL)


def test_a_page_without_questions_takes_the_teachers_own_and_students_see_what_each_is_about(sit_at):
    teacher = open_page("lessons")
    teacher.button(key="ask_class").click().run()
    room = teacher.session_state["session"].panels.class_key
    student = join_class(room[:4])
    assert "What a collective is" in words(student)
    hangs = open_page("hangs")
    hangs.session_state["session"].panels = Panels(class_key=room)
    hangs.run()
    assert room[:4] in words(hangs)
    hangs.text_input(key="own_question_text").set_value("Which rank waits?")
    hangs.text_area(key="own_question_lines").set_value("rank 0\n* all of them")
    hangs.button(key="own_question_ask").click().run()
    assert not hangs.exception
    student.run()
    assert "Which rank waits?" in words(student)
    assert say("en", "class.custom") in words(student)
    assert "What a collective is" not in words(student)
    get_class_sessions().close(room, LOCAL)


def test_a_number_that_is_none_is_told_and_not_counted(sit_at):
    teacher = opened(**RUN, ask="1", question=str(next(k for k, q in enumerate(QUESTIONS) if q.topic == "time") + 1))
    teacher.button(key="ask_class").click().run()
    room = address(teacher)["class"]
    at = join_class(room[:4])
    field = f"vote_number_{get_class_sessions().get_leader_board(room, LOCAL).posed.round}"
    check = next(b for b in at.button if b.label == say("en", "ask.check"))
    at.text_input(key=field).set_value("nan")
    check.click().run()
    assert len(messages(at)) == 1
    assert get_class_sessions().get_leader_board(room, LOCAL).votes == 0
    at.text_input(key=field).set_value("4 ms")
    next(b for b in at.button if b.label == say("en", "ask.check")).click().run()
    assert messages(at) == []
    assert get_class_sessions().get_leader_board(room, LOCAL).votes == 1
    assert "4 ms" in words(at)
    get_class_sessions().close(room, LOCAL)


def test_a_teachers_key_is_of_no_use_on_the_students_page_and_a_lost_class_is_told_of(sit_at):
    teacher = opened(**RUN, ask="1")
    teacher.button(key="ask_class").click().run()
    room = address(teacher)["class"]
    at = join_class(room)
    assert address(at)["class"] == room[:4]
    assert not any(b.key == "class_reveal" for b in at.button)
    get_class_sessions().close(room, LOCAL)
    assert say("en", "class.over") in messages(teacher.run())
    assert messages(join_class("bcdf")) == [say("en", "class.none", code="bcdf")]


def test_a_page_on_another_device_leads_no_class_even_with_the_teachers_key(sit_at):
    teacher = opened(**RUN, ask="1")
    teacher.button(key="ask_class").click().run()
    room = address(teacher)["class"]
    sit_at("192.168.1.7")
    stranger = opened(**RUN, **{"ask": "1", "class": room})
    assert messages(stranger) == [say("en", "class.over")]
    assert not any(b.key in ("class_reveal", "ask_end", "own_question_ask") for b in stranger.button)
    stranger.button(key="ask_close").click().run()
    assert get_class_sessions().is_leader(room, LOCAL), "closing the panel there ends nothing here"
    get_class_sessions().close(room, LOCAL)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_third_class_of_a_device_is_refused_with_a_sentence(sit_at, language):
    sit_at("192.168.1.7")
    keys = []
    for _ in range(2):
        at = opened(**RUN, ask="1", lang=language)
        at.button(key="ask_class").click().run()
        keys.append(address(at)["class"])
    at = opened(**RUN, ask="1", lang=language)
    at.button(key="ask_class").click().run()
    assert "class" not in address(at)
    assert [toast.value for toast in at.toast] == [say(language, "class.yours", most=2, minutes=45)]
    for key in keys:
        get_class_sessions().close(key, "192.168.1.7")


def test_an_invitation_opens_the_students_page():
    room = get_class_sessions().open(LOCAL)
    at = AppTest.from_function(explore, default_timeout=60)
    at.query_params["class"] = room[:4]
    at.run()
    assert not at.exception
    assert say("en", "class.wait") in words(at)
    get_class_sessions().close(room, LOCAL)


# ---- break it
# -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("way", BREAKAGES)
def test_every_way_to_break_a_run_says_what_is_wrong_and_plays_it(way, language):
    at = opened(**RUN, **{"break": f"{way}-1"}, lang=language)
    assert not at.exception
    assert messages(at) == []
    shown = break_run(CHOICE, way, 1, language)
    assert shown.what in words(at)
    assert shown.verdict in words(at)
    assert not figures(at)
    sent = json.loads(players(at)[0].proto.json)["timeline"]
    if shown.timeline is not None:
        assert sent == json.loads(json.dumps(shown.timeline))
        assert (sent["mistake"] is None) == shown.right
    if sent.get("mistake"):
        assert sent["mistake"]["text"][language] in words(at)
    at.button(key="break_fix").click().run()
    assert "break" not in address(at)
    assert figures(at)


def test_another_way_and_another_place_are_in_the_address():
    at = opened(**RUN)
    at.button(key="break_start").click().run()
    assert address(at)["break"] == "lose-0"
    first = words(at)
    at.button(key="break_other").click().run()
    assert address(at)["break"] == "lose-1"
    assert words(at) != first
    at.segmented_control(key="break_way").set_value("cut").run()
    assert address(at)["break"] == "cut-0"
    at.button(key="ask_start").click().run()
    assert address(at)["ask"] == "0"
    assert "break" not in address(at)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_steps_are_counted_from_one_in_both_languages(language):
    trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), "1MiB")
    for seed in range(8):
        found = break_it(trace, "lose", seed=seed, language=language)
        steps = cs.schedule("allreduce_ring", ranks=4).each_step()
        rows = [
            (number, int(c), int(a), int(b))
            for number, s in enumerate(steps, 1)
            for c, a, b in zip(s.chunk, s.src, s.dst, strict=True)
        ]
        lost = [row for row in rows if _lost(*row)[language == "zh"] == found.what]
        assert len(lost) == 1
        assert f"{found.error.step + 1}" in re.findall(r"(?<=step )\d+|(?<=第 )\d+(?= 步)", found.verdict)


def _lost(step, chunk, src, dst):
    return (
        f"In step {step} the send of chunk {chunk} from rank {src} to rank {dst} is lost.",
        f"第 {step} 步，从 rank {src} 到 rank {dst} 的 chunk {chunk} 丢失了。",
    )


def test_what_a_broken_run_says_first_is_where_the_checker_first_finds_it():
    found = break_run(CHOICE, "lose", 3, "en")
    at = found.timeline["mistake"]
    trace = cs.simulate(
        cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4, bandwidth="25GB/s", alpha="1us"), "64MiB"
    )
    error = cs.teach.break_it(trace, "lose", seed=3).error
    assert (at["rank"], at["chunk"]) == (error.rank, error.chunk)


def test_the_first_page_has_both_buttons_in_sight_and_nothing_is_asked():
    at = opened()
    assert {"ask_start", "break_start"} <= {b.key for b in at.button}
    assert Choice() == from_query(address(at))[0]
    assert players(at)
