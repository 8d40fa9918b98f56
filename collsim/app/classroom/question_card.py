"""How a question looks: the ask, the choices with their reasons, the verdict, and the votes of a class."""

from __future__ import annotations

from collections.abc import Sequence

from collsim.markup import escape_text
from collsim.teach.questions.question import Question, shown

#: A row of a tally: place of the choice or number in SI units, votes, is it right.
Group = tuple[float, int, bool]


def ask(label: str, question: Question, *, wall: bool = False) -> str:
    """The question itself, under a small line; `wall`: to be read from the last row."""
    kind = "cs-ask wall" if wall else "cs-ask"
    return f'<div class="{kind}"><small>{escape_text(label)}</small><b>{escape_text(question.text)}</b></div>'


def choices(question: Question, given: int | None, groups: Sequence[Group] = (), label: str = "") -> str:
    """Every choice with its reason; the right one and the given one stand out; with `groups` the votes for each."""
    everybody = sum(votes for _, votes, _ in groups)
    cards = []
    for k, one in enumerate(question.choices):
        right = k == question.answer
        mark = "✓" if right else "✗" if k == given else chr(65 + k)
        kind = "right" if right else "given" if k == given else ""
        votes = _bar(groups[k][1], everybody) if groups else ""
        words = f"<b>{escape_text(question.say(one.text))}</b><span>{escape_text(question.say(one.why))}</span>{votes}"
        cards.append(f'<div class="cs-choice {kind}"><i>{mark}</i><div>{words}</div></div>')
    named = f' role="list" aria-label="{escape_text(label)}"' if label else ""
    return f'<div class="cs-choices"{named}>{"".join(cards)}</div>'


def plain_choices(question: Question) -> str:
    """The choices with their letters and nothing that tells which is right, to be read from a wall."""
    texts = [f"<i>{chr(65 + k)}</i><div><b>{escape_text(text)}</b></div>" for k, text in enumerate(question.options)]
    cards = "".join(f'<div class="cs-choice">{text}</div>' for text in texts)
    return f'<div class="cs-choices">{cards}</div>'


def numbers(question: Question, groups: Sequence[Group], others: int, words: tuple[str, str]) -> str:
    """The numbers that a class gave, the commonest first. `words` name the table and what is beyond it."""
    everybody = others + sum(votes for _, votes, _ in groups)
    rows = [(shown(value, question.unit), votes, right) for value, votes, right in groups]
    rows += [(words[1], others, False)] if others else []
    lines = "".join(
        '<div class="cs-choice '
        f'{"right" if right else ""}"><i>{"✓" if right else "✗"}</i><div><b>{escape_text(text)}</b>'
        f"{_bar(votes, everybody)}</div></div>"
        for text, votes, right in rows
    )
    return f'<div class="cs-choices" role="list" aria-label="{escape_text(words[0])}">{lines}</div>'


def verdict(text: str, head: str = "") -> str:
    """Right or not, and why."""
    return (
        '<div class="cs-after" '
        f'role="status"><p>{f"<b>{escape_text(head)}</b> " if head else ""}{escape_text(text)}</p></div>'
    )


def _bar(votes: int, everybody: int) -> str:
    share = 100 * votes / everybody if everybody else 0
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
.cs-ask.wall b{font-size:40px;line-height:46px}
.st-key-card_question:has(.wall) .cs-choice b{font-size:24px;line-height:30px}
.st-key-card_question:has(.wall) .cs-choice i{font-size:24px;line-height:30px;width:26px}
@media(max-width:1400px){
 .st-key-choices{flex-direction:row!important;flex-wrap:wrap} .st-key-choices>div{flex:1 1 200px!important;
 width:auto!important}
 .st-key-choices button{min-height:60px} .st-key-card_question button p{font-size:16px}
 .cs-choices{display:grid;grid-template-columns:repeat(auto-fit,minmax(210px,1fr));gap:8px} .cs-choice{margin:0}
 .st-key-card_question .cs-note.small{display:none} .st-key-card_question{padding:12px 14px!important}
 .cs-ask:not(.wall) b{font-size:18px;line-height:24px}
}
"""
