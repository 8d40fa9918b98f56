"""A question of any page: its choices, the answer with its reasons, and a class that votes on it in its browsers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import pandas as pd
import streamlit as st

from collsim.display.markup import escape_markdown, escape_text
from collsim.files import format_csv
from collsim.teach.quiz.question import Question

from ..server.invitation import create_invitation
from ..server.join_code import render_qr_svg
from ..server.session_client import get_session_client
from ..server.startup import read_limits
from ..shell.notes import format_note
from ..shell.session import get_language, get_session, queue_reruns, rerun_page, set_panels, t
from ..styles import read_style
from . import question_html
from .class_sessions import IDLE_SECONDS, MAX_PER_CLIENT, ClassSessions, PosedQuestion, TooManySessions, VoteBoard
from .custom_question import discard_custom_question, draw_editor, get_custom_question

ButtonKind = Literal["primary", "secondary"]

#: In this module and not in one of Streamlit's caches: a message from any page can clear those.
_SESSIONS = ClassSessions(votes_per_client=read_limits().pages)


def get_class_sessions() -> ClassSessions:
    """Return the classes of this server, which all pages share."""
    return _SESSIONS


def is_leading_class() -> bool:
    """Whether this tab leads a class that is still open."""
    class_key = get_session().panels.class_key
    return bool(class_key) and get_class_sessions().is_leader(class_key, get_session_client())


def draw_panel_button(
    key: str, text: str, act: Callable[[], None], disabled: bool = False, help: str | None = None
) -> None:
    """Draw a button that changes what is open.

    Args:
        key: Of the button, after `ask_`.
        text: Key of its text.
        act: What a press does.
        disabled: Whether it cannot be pressed.
        help: Text that explains it.
    """
    st.button(t(text), key=f"ask_{key}", disabled=disabled, help=help, on_click=act)


def draw_class_button() -> None:
    """Draw the button that puts the question of this page to a class."""
    draw_panel_button("class", "class.start", open_class, help=t("class.start.help"))


# ---- the question and its answer -----------------------------------------------------------------------------------


def draw_choices(question: Question, keys: Sequence[str], choose: Callable[[int], None]) -> None:
    """Draw a button for each choice; a number key presses it, too.

    Args:
        question: A question with choices.
        keys: Key of the button of each.
        choose: Called with the position of the choice.
    """
    with st.container(key="choices"):
        for k, text in enumerate(question.options):
            label = f"{chr(65 + k)} · {escape_markdown(text)}"
            st.button(label, key=keys[k], on_click=choose, args=(k,), width="stretch", shortcut=str(k + 1))


def draw_answer(question: Question, answer: float | None) -> None:
    """Draw every choice with its reason, whether the answer is right, and why.

    Args:
        question: The question.
        answer: The position of the choice, or the number, that somebody gave; None: it was revealed without one.
    """
    verdict = ""
    if answer is not None:
        verdict = t("lessons.right" if question.right(answer) else "lessons.wrong")
    if question.choices:
        position = None
        if answer is not None:
            position = int(answer)
        st.html(question_html.render_answered_choices(question, position))
    st.html(question_html.render_verdict(_explain_answer(question), verdict))


def _explain_answer(question: Question) -> str:
    """Return the worked explanation, after the answer where it does not hold it."""
    if question.choices or question.answer_text in question.explanation_text:
        return question.explanation_text
    return f"{t('ask.is', answer=question.answer_text)} {question.explanation_text}"


# ---- with a class --------------------------------------------------------------------------------------------------


def open_class() -> None:
    """Open a class of this tab; a toast says why where no further one may be opened."""
    try:
        set_panels(class_key=get_class_sessions().open(get_session_client()), answer="")
    except TooManySessions as error:
        limits = {"most": MAX_PER_CLIENT, "minutes": IDLE_SECONDS // 60}
        st.toast(t("class.yours", **limits) if error.is_own_limit else t("class.full"))


def label_question(posed: PosedQuestion) -> str:
    """What stands above a question: its number, or that the teacher wrote it.

    Args:
        posed: The question as it is put to the class.
    """
    if posed.number < 0:
        return t("class.custom")
    if posed.count == 1:
        return t("lessons.predict")
    return t("ask.count", number=posed.number + 1, all=posed.count)


def draw_class_question(posed: PosedQuestion, draw_navigation: Callable[[], None] = lambda: None) -> bool:
    """Put a question to the class that this tab leads, and draw the teacher's side of it: how to join, the question to
    be projected, how many have answered; the votes once they are revealed.

    Args:
        posed: The question of the page. A question that the teacher wrote takes its place.
        draw_navigation: Draws the buttons that lead to other questions of the page.

    Returns:
        Whether the answer to the question of the page is still hidden.
    """
    # A question of the teacher's own stands before those of the run.
    if (custom := get_custom_question()) is not None:
        posed = replace(posed, number=-custom[0], question=custom[1])
    get_session().is_asking = True
    class_key = get_session().panels.class_key
    sessions, leader = get_class_sessions(), (class_key, get_session_client())
    sessions.pose(*leader, posed)
    board = sessions.get_leader_board(*leader)
    # The answer leaves the server only when it is revealed: pages of students are open to inspection.
    is_revealed = board is not None and board.is_revealed
    question = replace(posed.question, language=get_language())
    st.html(question_html.render_question(label_question(posed), question, is_large=True))
    if board is not None and is_revealed:
        draw_votes(question, board)
    elif question.choices:
        st.html(question_html.render_open_choices(question))
    else:
        st.html(format_note(t(f"ask.answer.{question.unit}")))
    _draw_vote_count(leader, is_revealed)
    with st.container(key="ask_row", horizontal=True, gap="small"):
        if is_revealed:
            st.button(t("ask.again"), key="class_again", on_click=sessions.clear_votes, args=leader)
        else:
            st.button(t("ask.reveal"), key="class_reveal", type="primary", on_click=sessions.reveal, args=leader)
        if posed.number >= 0:
            draw_navigation()
        draw_editor()
        _draw_download(leader)
        draw_panel_button("end", "class.end", end_class)
    draw_invitation(class_key)
    return not is_revealed and posed.number >= 0


def reveal_class_answer() -> None:
    """Reveal the answer to the question that is put to the class of this tab."""
    get_class_sessions().reveal(get_session().panels.class_key, get_session_client())


def draw_free_question() -> None:
    """Draw the teacher's side of a class on a page that asks nothing: a question of the teacher's own, and how to
    join."""
    if (custom := get_custom_question()) is not None:
        draw_class_question(PosedQuestion("own", -custom[0], 1, custom[1]))
        return
    get_session().is_asking = True
    with st.container(key="ask_row", horizontal=True, gap="small"):
        draw_editor()
        draw_panel_button("end", "class.end", end_class)
    draw_invitation(get_session().panels.class_key)


def _draw_download(leader: tuple[str, str]) -> None:
    """Offer all votes of this class so far, once some are revealed: a row for every answer."""
    rows = [
        {"question": revealed.question.text, "answer": text, "right": is_right, "votes": votes}
        for revealed in get_class_sessions().get_revealed(*leader)
        for text, votes, is_right in revealed.votes
    ]
    if rows:
        name, table = f"collsim-class-{leader[0][:4]}.csv", format_csv(pd.DataFrame(rows))
        st.download_button(t("class.csv"), table, name, key="class_csv", on_click="ignore")


def end_class() -> None:
    """End the class of this tab, for everybody."""
    discard_custom_question()
    get_class_sessions().close(get_session().panels.class_key, get_session_client())
    set_panels(class_key="")


def draw_invitation(class_key: str) -> None:
    """Draw where students go, large enough to be read from the last row, with a QR code where they can reach this
    server.

    Args:
        class_key: The secret key of the class's leader; its first letters are the code.
    """
    invitation = create_invitation(st.context.url or "", **{"class": class_key[:4]})
    parts = [f"<small>{escape_text(t('class.join'))}</small> <b>{escape_text(invitation.address)}</b>"]
    if invitation.code:
        parts.append(f"<small>{escape_text(t('class.key'))}</small> <b class='key'>{escape_text(invitation.code)}</b>")
    picture = ""
    if invitation.link:
        picture = f'<img src="{render_qr_svg(invitation.link)}" alt="{escape_text(t("class.qr"))}">'
    else:
        parts.append(format_note(t("class.local"), kind="small"))
    st.html(f"<style>{question_html.STYLE}{_STYLE}</style>")
    st.html(f'<div class="cs-join"><div>{" ".join(parts)}</div>{picture}</div>')


@st.fragment(run_every=1.0)
@queue_reruns
def _draw_vote_count(leader: tuple[str, str], is_revealed: bool) -> None:
    """Draw how many have answered, while they do."""
    board = get_class_sessions().get_leader_board(*leader)
    if board is None:
        rerun_page()
    text = t("class.nobody")
    if board.present:
        text = t("class.votes", votes=board.votes, here=board.present)
    counts = f'data-votes="{board.votes}" data-here="{board.present}"'
    st.html(f'<div class="cs-count" role="status" {counts}>{escape_text(text)}</div>')
    if board.is_revealed != is_revealed:
        rerun_page()


def draw_votes(question: Question, board: VoteBoard) -> None:
    """Draw the votes of a class, the right answer and why; the vote of a voter who looks stands out.

    Args:
        question: The question.
        board: Votes of the class.
    """
    if question.choices:
        position = None
        if board.own_vote is not None:
            position = int(board.own_vote)
        st.html(question_html.render_answered_choices(question, position, board.groups, t("class.tally")))
    else:
        labels = t("class.tally"), t("class.others")
        st.html(question_html.render_numbers(question, board.groups, board.other_votes, labels))
    st.html(question_html.render_verdict(_explain_answer(question)))


_STYLE = read_style("question_card")
