"""Questions about the run on Explore: predict, then reveal; alone, or with a class that votes in its own browsers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import pandas as pd
import streamlit as st

from collsim.display.markup import escape_markdown, escape_text
from collsim.errors import CollsimError
from collsim.files import format_csv
from collsim.teach.quiz.question import Question

from ..scenario.choice import Choice
from ..scenario.mistakes import write_sentence
from ..scenario.panels import LONGEST_ANSWER, MOST_SEEDS, SHOWN, Panels
from ..scenario.run_questions import ask_about_run, estimate_questions
from ..server import create_invitation, get_session_client, render_qr_svg
from ..server.startup import read_limits
from ..shell.notes import draw_mistake, format_note
from ..shell.results import get_latest
from ..shell.session import get_language, get_session, queue_reruns, t
from . import question_html
from .class_sessions import IDLE_SECONDS, MOST_PER_CLIENT, ClassSessions, PosedQuestion, TooManySessions, VoteBoard
from .custom_question import discard_custom_question, draw_editor, get_custom_question

ButtonKind = Literal["primary", "secondary"]
#: How a press of a button changes what is open.
PanelChange = Callable[[Panels], Panels]

#: In this module and not in one of Streamlit's caches: a message from any page can clear those.
_SESSIONS = ClassSessions(votes_per_client=read_limits().pages)


def get_class_sessions() -> ClassSessions:
    """Return the classes of this server, which all pages share."""
    return _SESSIONS


def draw_buttons() -> None:
    """Draw the buttons that open the questions and break the run, always in sight at the end of the sidebar."""
    with st.sidebar, st.container(key="classroom", horizontal=True, gap="small"):
        panels = get_session().panels
        _draw_switch("ask", panels.seed is not None, _open_questions, _close_questions)
        _draw_switch("break", bool(panels.fault), _break_run, _restore_run)
    st.html(f"<style>{_STYLE}</style>")


def _draw_switch(name: str, is_on: bool, turn_on: PanelChange, turn_off: PanelChange) -> None:
    if is_on:
        kind: ButtonKind = "primary"
    else:
        kind = "secondary"
    st.button(
        t(f"{name}.start"),
        key=f"{name}_start",
        type=kind,
        help=t(f"{name}.start.help"),
        on_click=_change_panels,
        args=(turn_off if is_on else turn_on,),
        width="stretch",
    )


def draw_panel(choice: Choice) -> bool:
    """Draw the question that is open.

    Args:
        choice: The run that it is about.

    Returns:
        Whether it takes the place of the figures that would answer it.
    """
    panels = get_session().panels
    if panels.seed is None:
        return False
    st.html(f"<style>{question_html.STYLE}</style>")
    with st.container(border=True, key="card_question"):
        result = get_latest(ask_about_run, choice, panels.seed, expected=estimate_questions, only=True)
        if result is None:
            _draw_button("close", "ask.close", _close_questions)
            return False
        questions: list[Question] = result[0]
        return _draw_question(choice, panels, panels.seed, questions)


def _draw_question(choice: Choice, panels: Panels, seed: int, questions: list[Question]) -> bool:
    is_leader = bool(panels.class_key) and get_class_sessions().is_leader(panels.class_key, get_session_client())
    number, count = min(panels.number, len(questions) - 1), len(questions)
    posed = PosedQuestion(choice, seed, number, count, questions[number])
    label = t("ask.count", number=number + 1, all=count)
    if is_leader and (custom := get_custom_question()) is not None:
        posed, label = PosedQuestion(choice, seed, -custom[0], count, custom[1]), t("own.question.head")
    question = replace(posed.question, language=get_language())
    st.html(question_html.render_question(label, question, is_large=is_leader))
    if is_leader:
        return _draw_with_class(panels.class_key, posed, question)
    if panels.class_key:
        draw_mistake(t("class.over"))
    return _draw_alone(panels, number, count, question)


# ---- what a button changes -----------------------------------------------------------------------------------------


def _change_panels(change: PanelChange) -> None:
    current = get_session()
    current.panels = change(current.panels)


def _draw_button(key: str, text: str, change: PanelChange, disabled: bool = False, help: str | None = None) -> None:
    st.button(t(text), key=f"ask_{key}", disabled=disabled, help=help, on_click=_change_panels, args=(change,))


def _open_questions(panels: Panels) -> Panels:
    return Panels(seed=0, class_key=panels.class_key)


def _close_questions(panels: Panels) -> Panels:
    if panels.class_key:
        get_class_sessions().close(panels.class_key, get_session_client())
    return Panels()


def _break_run(panels: Panels) -> Panels:
    return replace(_close_questions(panels), fault="lose")


def _restore_run(panels: Panels) -> Panels:
    return replace(panels, fault="", fault_seed=0)


def _open_question(number: int) -> PanelChange:
    return lambda panels: replace(panels, number=number, answer="")


def _choose_next_seed(panels: Panels) -> Panels:
    return replace(panels, seed=((panels.seed or 0) + 1) % (MOST_SEEDS + 1), number=0, answer="")


def _give_answer(text: str) -> PanelChange:
    return lambda panels: replace(panels, answer=text)


# ---- alone ---------------------------------------------------------------------------------------------------------


def _draw_navigation(number: int, count: int) -> None:
    _draw_button("back", "ask.back", _open_question(number - 1), disabled=number == 0)
    _draw_button("next", "ask.next", _open_question(number + 1), disabled=number + 1 >= count)
    _draw_button("new", "ask.new", _choose_next_seed)
    _draw_button("close", "ask.close", _close_questions)


def _draw_alone(panels: Panels, number: int, count: int, question: Question) -> bool:
    """Let one person answer, then show every choice with its reason. Return whether the answer is hidden."""
    answer, is_revealed = None, panels.answer == SHOWN
    if panels.answer and not is_revealed:
        try:
            answer, is_revealed = question.value(panels.answer), True
        except CollsimError as error:
            draw_mistake(write_sentence(error, get_language()))
    if is_revealed:
        _draw_answer(question, answer)
    elif question.kind == "number":
        _draw_number_form(question)
    else:
        _draw_choices(panels, question)
    with st.container(key="ask_row", horizontal=True, gap="small"):
        if is_revealed:
            _draw_button("again", "ask.again", _give_answer(""))
        else:
            _draw_button("reveal", "ask.reveal", _give_answer(SHOWN))
            _draw_button("class", "class.start", open_class, help=t("class.start.help"))
        _draw_navigation(number, count)
        if not is_revealed:
            _draw_peek_toggle()
    return not is_revealed


def _draw_peek_toggle() -> None:
    st.toggle(t("ask.peek"), key="ask_peek", help=t("ask.hidden"))


def is_run_visible() -> bool:
    """Whether the run is to be seen while its question is open."""
    return bool(st.session_state.get("ask_peek"))


def _draw_choices(panels: Panels, question: Question) -> None:
    with st.container(key="choices"):
        for k, text in enumerate(question.options):
            letter = chr(65 + k)
            key, change = f"ask_{panels.seed}_{panels.number}_{letter}", _give_answer(letter.lower())
            label = f"{letter} · {escape_markdown(text)}"
            st.button(label, key=key, on_click=_change_panels, args=(change,), width="stretch", shortcut=str(k + 1))


def _draw_number_form(question: Question) -> None:
    with st.form("ask_form", border=False), st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        hint = t(f"ask.answer.{question.unit}")
        st.text_input(t("ask.answer"), key="ask_number", placeholder=hint, max_chars=LONGEST_ANSWER, width=320)
        st.form_submit_button(t("ask.check"), key="ask_check", type="primary", on_click=_submit_number)


def _submit_number() -> None:
    text = str(st.session_state.get("ask_number", "")).strip()
    _change_panels(_give_answer(text[:LONGEST_ANSWER]))


def _draw_answer(question: Question, answer: float | None) -> None:
    if answer is None:
        verdict = ""
    else:
        verdict = t("lessons.right" if question.right(answer) else "lessons.wrong")
    if question.choices:
        if answer is None:
            position = None
        else:
            position = int(answer)
        st.html(question_html.render_answered_choices(question, position))
    st.html(question_html.render_verdict(_explain_answer(question), verdict))


def _explain_answer(question: Question) -> str:
    """Return the worked explanation, after the answer where it does not hold it."""
    if question.choices or question.answer_text in question.explanation_text:
        return question.explanation_text
    return f"{t('ask.is', answer=question.answer_text)} {question.explanation_text}"


# ---- with a class --------------------------------------------------------------------------------------------------


def open_class(panels: Panels) -> Panels:
    """The panels with a class of their own; a toast says why where no further one may be opened.

    Args:
        panels: What is open.
    """
    try:
        return replace(panels, class_key=get_class_sessions().open(get_session_client()), answer="")
    except TooManySessions as error:
        limits = {"most": MOST_PER_CLIENT, "minutes": IDLE_SECONDS // 60}
        st.toast(t("class.yours", **limits) if error.is_own_limit else t("class.full"))
        return panels


def _draw_with_class(class_key: str, posed: PosedQuestion, question: Question) -> bool:
    """Draw the teacher's side: how to join, the question to be projected, how many have answered; the votes once they
    are revealed. Return whether the answer is hidden."""
    sessions, leader = get_class_sessions(), (class_key, get_session_client())
    sessions.pose(*leader, posed)
    board = sessions.get_leader_board(*leader)
    is_revealed = board is not None and board.is_revealed
    left, right = st.columns([3, 2], gap="medium")
    with left:
        if board is not None and is_revealed:
            draw_votes(question, board)
        elif question.choices:
            st.html(question_html.render_open_choices(question))
        else:
            st.html(format_note(t(f"ask.answer.{question.unit}")))
    with right:
        draw_invitation(class_key)
        _draw_vote_count(leader, is_revealed)
    with st.container(key="ask_row", horizontal=True, gap="small"):
        if is_revealed:
            st.button(t("ask.again"), key="class_again", on_click=sessions.clear_votes, args=leader)
        else:
            st.button(t("ask.reveal"), key="class_reveal", type="primary", on_click=sessions.reveal, args=leader)
        if posed.number >= 0:
            _draw_navigation(posed.number, posed.count)
        draw_editor()
        _draw_download(leader)
        _draw_button("end", "class.end", end_class)
        if not is_revealed:
            _draw_peek_toggle()
    return not is_revealed and posed.number >= 0


def _draw_download(leader: tuple[str, str]) -> None:
    """Offer all votes of this class so far, once some are revealed: a row for every answer."""
    rows = [
        {"question": revealed.question.text, "answer": text, "right": is_right, "votes": votes}
        for revealed in get_class_sessions().get_revealed(*leader)
        for text, votes, is_right in revealed.votes
    ]
    if rows:
        name, table = f"collsim-class-{leader[0][:4]}.csv", format_csv(pd.DataFrame(rows))
        st.download_button(t("class.csv"), table, name, "text/csv", key="class_csv", on_click="ignore")


def end_class(panels: Panels) -> Panels:
    """The panels without their class, which is over for everybody.

    Args:
        panels: What is open.
    """
    discard_custom_question()
    get_class_sessions().close(panels.class_key, get_session_client())
    return replace(panels, class_key="")


def draw_invitation(class_key: str) -> None:
    """Draw where students go, large enough to be read from the last row, with a QR code where they can reach this
    server.

    Args:
        class_key: The secret key of the class's leader; its first letters are the code.
    """
    invitation = create_invitation(st.context.url or "", **{"class": class_key[:4]})
    parts = [f"<small>{escape_text(t('class.join'))}</small><b>{escape_text(invitation.address)}</b>"]
    if invitation.code:
        parts.append(f"<small>{escape_text(t('class.key'))}</small><b class='key'>{escape_text(invitation.code)}</b>")
    picture = ""
    if invitation.link:
        picture = f'<img src="{render_qr_svg(invitation.link)}" alt="{escape_text(t("class.qr"))}">'
    else:
        parts.append(format_note(t("class.local"), kind="small"))
    st.html(f'<div class="cs-join"><div>{"".join(parts)}</div>{picture}</div>')


@st.fragment(run_every=1.0)
@queue_reruns
def _draw_vote_count(leader: tuple[str, str], is_revealed: bool) -> None:
    """Draw how many have answered, while they do."""
    board = get_class_sessions().get_leader_board(*leader)
    if board is None:
        st.rerun()
    if board.present:
        text = t("class.votes", votes=board.votes, here=board.present)
    else:
        text = t("class.nobody")
    counts = f'data-votes="{board.votes}" data-here="{board.present}"'
    st.html(f'<div class="cs-count" role="status" {counts}>{escape_text(text)}</div>')
    if board.is_revealed != is_revealed:
        st.rerun()


def draw_votes(question: Question, board: VoteBoard) -> None:
    """Draw the votes of a class, the right answer and why; the vote of a voter who looks stands out.

    Args:
        question: The question.
        board: Votes of the class.
    """
    if question.choices:
        if board.own_vote is None:
            position = None
        else:
            position = int(board.own_vote)
        st.html(question_html.render_answered_choices(question, position, board.groups, t("class.tally")))
    else:
        labels = t("class.tally"), t("class.others")
        st.html(question_html.render_numbers(question, board.groups, board.other_votes, labels))
    st.html(question_html.render_verdict(_explain_answer(question)))


_STYLE = """
[data-testid=stSidebar] :has(>.st-key-classroom){position:sticky;bottom:0;z-index:5}
.st-key-classroom{background:var(--cs-card);padding:10px 0 12px;border-top:1px solid var(--cs-line)}
.st-key-classroom button{min-height:36px;padding:4px 6px} .st-key-classroom button p{font-size:15px;white-space:nowrap}
.st-key-card_question .st-key-ask_row button{min-height:36px}
 .st-key-card_question .st-key-ask_row button p{font-size:15px}
.cs-join small{display:block;font-size:14px;line-height:20px;color:var(--cs-ink2);font-weight:700}
.cs-join b{display:block;font-size:34px;line-height:42px;overflow-wrap:anywhere;color:var(--cs-ink)}
.cs-join{display:flex;flex-wrap:wrap;gap:8px 24px;align-items:flex-start} .cs-join>div{flex:1 1 240px;min-width:0}
.cs-join b.key{letter-spacing:.12em} .cs-join img{width:184px;height:184px;margin-top:8px;border-radius:7px}
.cs-count{font-size:20px;line-height:28px;font-weight:700;color:var(--cs-ink)}
"""
