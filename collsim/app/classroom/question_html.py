"""HTML of a question: its text, the choices with their reasons, the verdict, and the votes of a class."""

from __future__ import annotations

from collections.abc import Sequence

from collsim.display.markup import escape_text
from collsim.teach.quiz.question import Question, format_answer_value

from .class_sessions import VoteGroup


def render_question(label: str, question: Question, *, is_large: bool = False) -> str:
    """Return the question under a small line; a large one is read from the last row.

    Args:
        label: What screen readers call the choices.
        question: The question.
        is_large: In large type, for a class room.
    """
    if is_large:
        kind = "cs-ask large"
    else:
        kind = "cs-ask"
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
        if groups:
            bar = _render_votes(groups[k][1], total)
        else:
            bar = ""
        text, reason = escape_text(question.say(choice.text)), escape_text(question.say(choice.reason))
        body = f"<b>{text}</b><span>{reason}</span>{bar}"
        cards.append(f'<div class="cs-choice {kind}"><i>{mark}</i><div>{body}</div></div>')
    if label:
        attributes = f' role="list" aria-label="{escape_text(label)}"'
    else:
        attributes = ""
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
    if verdict:
        start = f"<b>{escape_text(verdict)}</b> "
    else:
        start = ""
    return f'<div class="cs-after" role="status"><p>{start}{escape_text(text)}</p></div>'


def _render_votes(votes: int, total: int) -> str:
    if total:
        share = 100 * votes / total
    else:
        share = 0
    return f'<em class="cs-votes"><u style="width:{share:.3g}%"></u><s>{votes} · {share:.0f} %</s></em>'


STYLE = """
.cs-ask small{display:block;font-size:14px;line-height:20px;font-weight:700;color:var(--cs-ink2)}
.cs-ask b{display:block;font-size:20px;line-height:27px;margin-top:4px;color:var(--cs-ink)}
.st-key-card_question{border:2px solid var(--cs-ink)!important;padding:18px!important}
.st-key-card_question button{min-height:46px;text-align:left}
.st-key-choices{gap:10px!important}
.st-key-choices button>div{width:100%}
.st-key-choices button>div>span{display:flex;width:100%;justify-content:space-between;text-align:left}
.st-key-card_question [data-testid=stBaseButton-tertiary]{min-height:34px;text-decoration:underline}
.st-key-card_question button p{font-size:17px;text-align:left}
.st-key-card_question .st-key-ask_row button{min-height:36px}
.st-key-card_question .st-key-ask_row button p{font-size:15px}
.cs-note.small{font-size:14px;line-height:19px}
.cs-choice{display:flex;gap:12px;border:1px solid var(--cs-line);border-radius:8px;padding:9px 12px;margin-bottom:8px;
 color:var(--cs-ink2)}
.cs-choice>div{flex:1;min-width:0}
.cs-choice i{font-style:normal;font-weight:700;width:18px;flex:none;font-size:16px;line-height:22px}
.cs-choice b{display:block;font-size:16px;line-height:22px;overflow-wrap:anywhere}
.cs-choice span{display:block;font-size:15px;line-height:20px}
.cs-choice.right{border:2px solid var(--cs-done)}.cs-choice.right :is(i,b){color:var(--cs-done)}
.cs-choice.given{border:2px solid var(--cs-full)}.cs-choice.given :is(i,b){color:var(--cs-fulltext)}
.cs-after p{font-size:16px;line-height:23px;margin:6px 0;color:var(--cs-ink)}
.cs-votes{display:flex;align-items:center;gap:10px;font-style:normal;margin-top:6px}
.cs-votes u{display:block;height:14px;min-width:2px;border-radius:3px;background:var(--cs-ink2);text-decoration:none;
 transition:width .3s}
.cs-votes s{text-decoration:none;white-space:nowrap;font-size:15px;line-height:20px;font-weight:700;color:var(--cs-ink)}
.cs-votes u{max-width:calc(100% - 92px)} .right .cs-votes u{background:var(--cs-done)}
.cs-ask.large b{font-size:28px;line-height:34px}
.st-key-card_question:has(.large) .cs-choice b{font-size:22px;line-height:28px}
.st-key-card_question:has(.large) .cs-choice i{font-size:22px;line-height:28px;width:24px}
@media(max-width:1400px){
 .st-key-choices{flex-direction:row!important;flex-wrap:wrap} .st-key-choices>div{flex:1 1 200px!important;
 width:auto!important}
 .st-key-choices button{min-height:60px} .st-key-card_question button p{font-size:16px}
 .cs-choices{display:grid;grid-template-columns:repeat(auto-fit,minmax(210px,1fr));gap:8px} .cs-choice{margin:0}
 .st-key-card_question .cs-note.small{display:none} .st-key-card_question{padding:12px 14px!important}
 .cs-ask:not(.large) b{font-size:18px;line-height:24px}
}
"""

#: A question beside its picture: from 1000 pixels on its column scrolls by itself and the picture stays; below, the
#: picture stands first.
BESIDE_STYLE = """
.st-key-beside .st-key-choices,.st-key-beside .cs-choices{flex-direction:column!important;display:flex}
.st-key-beside .st-key-choices>div{flex:none!important;width:100%!important}
.st-key-beside .st-key-choices button{min-height:40px}
@media(min-width:1000px){
 .st-key-beside>[data-testid=stLayoutWrapper]>[data-testid=stHorizontalBlock],
 .st-key-beside>[data-testid=stHorizontalBlock]{display:grid;align-items:start;
 grid-template-columns:minmax(360px,36%) minmax(0,1fr)}
 .st-key-beside [data-testid=stColumn]:has(:is(.st-key-besidetext,.st-key-besidestage)){width:auto!important;
 min-width:0}
 .st-key-beside [data-testid=stColumn]:has(.st-key-besidetext){position:sticky;top:0;max-height:calc(100vh - 76px);
 overflow:hidden auto;scrollbar-width:thin}
}
@media(max-width:999px){
 .st-key-beside [data-testid=stColumn]:has(.st-key-besidestage){order:-1;min-width:100%}
}
"""
