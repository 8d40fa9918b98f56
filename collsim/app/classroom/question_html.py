"""HTML of a question: its text, the choices with their reasons, the verdict, and the votes of a class."""

from __future__ import annotations

from collections.abc import Sequence

from collsim.display.markup import escape_text
from collsim.teach.quiz.question import Question, format_answer_value

from ..styles import read_style
from .class_sessions import VoteGroup


def render_question(label: str, question: Question, *, is_large: bool = False) -> str:
    """Return the question under a small line; a large one is read from the last row.

    Args:
        label: What screen readers call the choices.
        question: The question.
        is_large: In large type, for a class room.
    """
    kind = "cs-ask"
    if is_large:
        kind = "cs-ask large"
    return f'<div class="{kind}"><small>{escape_text(label)}</small><b>{escape_text(question.text)}</b></div>'


def render_answered_choices(
    question: Question, answer: int | None, groups: Sequence[VoteGroup] = (), label: str = ""
) -> str:
    """Return every choice with its reason.

    Args:
        question: A question with choices.
        answer: The position of the choice that was taken, which stands out beside the right one; None for none.
        groups: The votes for every choice, in its order; none are shown without them.
        label: The name of the list for screen readers.
    """
    total = sum(votes for _, votes, _ in groups)
    cards = []
    for k, choice in enumerate(question.choices):
        mark, kind = chr(65 + k), ""
        if k == question.answer:
            mark, kind = "✓", "right"
        elif k == answer:
            mark, kind = "✗", "given"
        # Before the reveal there are no votes to show.
        bar = ""
        if groups:
            bar = _render_votes(groups[k][1], total)
        text, reason = escape_text(question.say(choice.text)), escape_text(question.say(choice.reason))
        body = f"<b>{text}</b><span>{reason}</span>{bar}"
        cards.append(f'<div class="cs-choice {kind}"><i>{mark}</i><div>{body}</div></div>')
    attributes = ""
    if label:
        attributes = f' role="list" aria-label="{escape_text(label)}"'
    return f'<div class="cs-choices"{attributes}>{"".join(cards)}</div>'


def render_open_choices(question: Question) -> str:
    """Return the choices with their letters, and nothing that tells which is right.

    Args:
        question: The question.
    """
    texts = [f"<i>{chr(65 + k)}</i><div><b>{escape_text(text)}</b></div>" for k, text in enumerate(question.options)]
    cards = "".join(f'<div class="cs-choice">{text}</div>' for text in texts)
    return f'<div class="cs-choices">{cards}</div>'


def render_numbers(question: Question, groups: Sequence[VoteGroup], other_votes: int, labels: tuple[str, str]) -> str:
    """Return the numbers that a class gave, the commonest first.

    Args:
        question: A question whose answer is a number.
        groups: The commonest numbers with their votes.
        other_votes: How many gave another number.
        labels: The name of the list for screen readers, and of its last row.
    """
    total = other_votes + sum(votes for _, votes, _ in groups)
    rows = [(format_answer_value(value, question.unit), votes, is_right) for value, votes, is_right in groups]
    if other_votes:
        rows.append((labels[1], other_votes, False))
    cards = []
    for text, votes, is_right in rows:
        if is_right:
            kind, mark = ("right", "✓")
        else:
            kind, mark = ("", "✗")
        body = f"<b>{escape_text(text)}</b>{_render_votes(votes, total)}"
        cards.append(f'<div class="cs-choice {kind}"><i>{mark}</i><div>{body}</div></div>')
    return f'<div class="cs-choices" role="list" aria-label="{escape_text(labels[0])}">{"".join(cards)}</div>'


def render_verdict(text: str, verdict: str = "") -> str:
    """Return why the answer is what it is, after whether the answer given is right.

    Args:
        text: The text.
        verdict: Right or wrong, in a word.
    """
    start = ""
    if verdict:
        start = f"<b>{escape_text(verdict)}</b> "
    return f'<div class="cs-after" role="status"><p>{start}{escape_text(text)}</p></div>'


def _render_votes(votes: int, total: int) -> str:
    share = 0.0
    if total:
        share = 100 * votes / total
    return f'<em class="cs-votes"><u style="width:{share:.3g}%"></u><s>{votes} · {share:.0f} %</s></em>'


STYLE = read_style("questions")

#: A question beside its picture: from 1000 pixels on its column scrolls by itself and the picture stays; below, the
#: picture stands first.
BESIDE_STYLE = read_style("question_panel")
