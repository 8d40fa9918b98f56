"""A student's side of a class: the question that the teacher asks, one vote, and the answer once it is revealed. Fits a
phone."""

from __future__ import annotations

import secrets
from dataclasses import replace

import streamlit as st

from collsim.display.markup import escape_markdown
from collsim.errors import CollsimError
from collsim.teach.quiz.question import Question

from ..scenario.address_parameters import PageAddress, Word
from ..scenario.choice import Choice
from ..scenario.outcome import Outcome, build_topology, compute_outcome
from ..scenario.panels import CLASS_KEY, LONGEST_ANSWER
from ..server.session_client import get_session_client
from ..shell.address import finish_controls, get_menu, get_remembered, remember
from ..shell.controls import add_space, label_algorithm, label_machine
from ..shell.notes import draw_mistake, draw_note, draw_status, explain, format_title
from ..shell.player import mount_player
from ..shell.results import get_exact
from ..shell.session import choose_text, get_language, queue_reruns, rerun_page, t
from ..styles import read_style
from . import question_html
from .class_sessions import PosedQuestion, VoteBoard
from .question_card import ButtonKind, draw_votes, get_class_sessions, label_question

PAGE = "class"
#: The run that a question is about, or its topic in words where there is none.
Subject = tuple[Choice | None, str]


def get_invited_code() -> str:
    """Return the code of a class that the address of another page names without its teacher's key; else an empty
    text."""
    match = CLASS_KEY.fullmatch(st.query_params.get("class", "").lower())
    if match and not match[2]:
        return match[1]
    return ""


def _parse_code(text: str) -> str:
    """Return the code of a class. A teacher's key is left out: nobody leads a class from this page."""
    return text.strip().lower()[:4]


ADDRESS = PageAddress(
    "",
    (Word("class", _parse_code, limit=10_000),),
    lambda words, query, complaints: words.get("class", ""),
    lambda code, words: {"class": code},
)


def draw() -> None:
    """Draw the page: the question and the choices; once the answer is revealed, also the run that it is about."""
    code: str = get_remembered(PAGE)
    st.html(f"<style>{question_html.STYLE}{_STYLE}</style>")
    finish_controls(code)
    # A code that cannot be one is not looked up, which leaves guessing nothing to try.
    board = None
    if CLASS_KEY.fullmatch(code):
        board = get_class_sessions().get_board(code, get_voter())
    if board is None:
        _draw_code_form(code)
        return
    st.html(format_title(t("class.title", code=code)))
    choice, topic = _get_subject(board)
    if choice is not None:
        _draw_description(choice)
    elif topic:
        draw_note(topic)
    with st.container(border=True, key="card_question"):
        _draw_question(code, (choice, topic), board.is_revealed)
    with st.container(key="class_works", horizontal=True, gap="small"):
        for page, label in (("program", "class.works.link"), ("write", "class.works.schedule")):
            if st.button(t(label), key=f"class_{page}"):
                st.switch_page(get_menu()[page])
    # Only after the reveal: the run would give the answer away.
    if choice is None or not board.is_revealed:
        return
    outcome: Outcome | None = get_exact(compute_outcome, choice)
    if outcome is not None and outcome.timeline is not None:
        mount_player(outcome.timeline, repr(choice), {}, key="player_class")


def _get_subject(board: VoteBoard) -> Subject:
    """Return what the question is about."""
    if board.posed is None:
        return None, ""
    return board.posed.choice, choose_text(board.posed.topic)


def _draw_description(choice: Choice) -> None:
    """Draw what the question is about."""
    words = {"collective": choice.collective, "algorithm": label_algorithm(choice.algorithm, choice.collective)}
    if choice.on_machine:
        machine_label = f"{label_machine(choice.machine)} × {choice.nodes}"
    else:
        machine_label = label_machine(choice.machine)
    draw_note(
        t(
            "class.about",
            **words,
            machine=machine_label,
            ranks=build_topology(choice).ranks,
            nbytes=add_space(choice.nbytes),
        )
    )


def _draw_code_form(code: str) -> None:
    """Ask for the code where there is no class, or its class is over."""
    st.html(format_title(t("page.class")))
    if code:
        draw_mistake(t("class.none", code=code))
    draw_note(t("class.entry"))
    st.text_input(
        t("class.code"), key="class_code", help=t("class.code.help"), max_chars=4, on_change=_submit_code, width=240
    )
    with st.container(border=True, key="class_teach"):
        draw_note(t("class.teach", button=t("class.start")))
        if st.button(t("class.teach.open"), key="class_teach_open"):
            st.switch_page(get_menu()["lessons"])


def _submit_code() -> None:
    remember(PAGE, _parse_code(str(st.session_state["class_code"])))


def get_voter() -> str:
    """Return a random word of this tab: it has one vote, and no name."""
    return str(st.session_state.setdefault("voter", secrets.token_urlsafe(9)))


@st.fragment(run_every=3.0)
@queue_reruns
def _draw_question(code: str, subject: Subject, is_revealed: bool) -> None:
    """Draw the question as it is now. Another subject, the answer, or the end of the class draws the whole page
    again."""
    board = get_class_sessions().get_board(code, get_voter())
    # This part alone is drawn every 3 s; what the rest of the page shows depends on these three.
    if board is None or board.is_revealed != is_revealed or _get_subject(board) != subject:
        rerun_page()
    posed = board.posed
    if posed is None:
        draw_status(t("class.wait"))
        return
    question = replace(posed.question, language=get_language())
    st.html(question_html.render_question(label_question(posed), question))
    if board.is_revealed:
        if board.own_vote is not None:
            verdict = t("lessons.right" if question.right(board.own_vote) else "lessons.wrong")
            st.html(question_html.render_verdict("", verdict))
        draw_votes(question, board)
        return
    _draw_vote(code, posed, question, board.own_vote)


def _draw_vote(code: str, posed: PosedQuestion, question: Question, own_vote: float | None) -> None:
    if question.choices:
        _draw_choices(code, posed, question, own_vote)
    else:
        _draw_number_form(code, posed, question)
    if own_vote is not None:
        if question.choices:
            answer = question.options[int(own_vote)]
        else:
            answer = replace(question, answer=own_vote).answer_text
        draw_status(t("class.mine", answer=answer))
    draw_note(t("class.privacy"))


def _draw_choices(code: str, posed: PosedQuestion, question: Question, own_vote: float | None) -> None:
    with st.container(key="choices"):
        for k, text in enumerate(question.options):
            kind: ButtonKind = "secondary"
            if own_vote == k:
                kind = "primary"
            key, vote = f"vote_{posed.round}_{k}", (code, float(k), posed.round)
            label = f"{chr(65 + k)} · {escape_markdown(text)}"
            st.button(label, key=key, type=kind, on_click=_submit_vote, args=vote, width="stretch")


def _draw_number_form(code: str, posed: PosedQuestion, question: Question) -> None:
    field = f"vote_number_{posed.round}"
    with st.form(f"vote_{posed.round}", border=False, enter_to_submit=True):
        hint = t(f"ask.answer.{question.unit}")
        st.text_input(t("ask.answer"), key=field, placeholder=hint, max_chars=LONGEST_ANSWER)
        vote = (code, question, posed.round, field)
        st.form_submit_button(t("ask.check"), type="primary", on_click=_submit_number, args=vote)
    if message := st.session_state.pop("vote_mistake", ""):
        draw_mistake(message)


def _submit_vote(code: str, value: float, round: int) -> None:
    if not get_class_sessions().vote(code, get_session_client(), get_voter(), value, round):
        st.toast(t("class.late"))


def _submit_number(code: str, question: Question, round: int, field: str) -> None:
    try:
        value = question.value(str(st.session_state.get(field, "")))
    except CollsimError as error:
        st.session_state["vote_mistake"] = explain(error)
        return
    _submit_vote(code, value, round)


_STYLE = read_style("student_page")
