"""Sentences on a page: title, note, mistake, figure and verdict, each in one form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import streamlit as st

from collsim.display.markup import bind_units, escape_markdown, escape_text
from collsim.errors import CollsimError, Sentence, Words
from collsim.nccl import Interval, Prediction
from collsim.units import format_bytes, format_time

from ..scenario.address_parameters import Complaint
from ..scenario.mistakes import write_sentence
from .session import get_language, get_session, t


def format_title(text: str, below: str = "") -> str:
    """The heading of a page, with a note below it.

    Args:
        text: The text.
        below: A note below the title; "" for none.
    """
    html = f'<h1 class="cs-title">{escape_text(text)}</h1>'
    if below:
        html += format_note(below)
    return html


def draw_part(text: str, kind: str = "") -> None:
    """The heading of a part of the sidebar.

    Args:
        text: The text.
        kind: A CSS class.
    """
    st.html(f'<h2 class="{f"cs-part {kind}".strip()}">{escape_text(text)}</h2>')


def draw_heading(text: str, detail: str = "") -> None:
    """The heading of a card, and a text after it in plain type.

    Args:
        text: The text.
        detail: A text after the heading; "" for none.
    """
    words = [f"**{escape_markdown(bind_units(text))}**", escape_markdown(bind_units(detail))]
    st.markdown(" ".join(filter(None, words)))


@contextmanager
def draw_card(key: str, heading: str, detail: str = "") -> Iterator[None]:
    """A card with its heading, round what is drawn meanwhile.

    Args:
        key: Of the card, after `card_`.
        heading: As in `draw_heading`.
        detail: As in `draw_heading`.
    """
    with st.container(border=True, key=f"card_{key}"):
        draw_heading(heading, detail)
        yield


def draw_note(text: str, style: str = "", kind: str = "", width: Literal["stretch", "content"] = "stretch") -> None:
    """A line of small print.

    Args:
        text: The text.
        style: Further CSS.
        kind: A CSS class.
        width: Width of the note.
    """
    st.html(format_note(text, style, kind), width=width)


def draw_assumptions(
    nbytes: int, seconds: float, interval: Interval, assumptions: Iterable[Sentence], lead: str = ""
) -> None:
    """Where a predicted time lies, what was assumed, and the measurement that would narrow it most.

    Args:
        nbytes: Size of the call.
        seconds: The predicted time.
        interval: Where four in five measurements lie.
        assumptions: Of the prediction.
        lead: What predicts, where the page does not say it.
    """
    times = {"time": seconds, "low": interval.low, "high": interval.high}
    range_text = t("assumptions.range", size=format_bytes(nbytes), **{k: format_time(v) for k, v in times.items()})
    sentences = (*filter(None, [interval.reason]), *assumptions)
    lines = (lead + range_text, *(f"– {sentence.text(get_language())}" for sentence in sentences))
    draw_note("\n".join(lines), "white-space:pre-line")


def draw_choice_notes(predictions: Iterable[Prediction]) -> None:
    """What NCCL would do for registered buffers, and where a larger call takes less time; each sentence once.

    Args:
        predictions: Of NCCL's model.
    """
    notes = dict.fromkeys(each for p in predictions for each in (*p.registered_buffers, *p.faster_larger_calls))
    for sentence in notes:
        draw_note(t("compare.nccl.note", text=sentence.text(get_language())))


def draw_status(text: str) -> None:
    """A note that screen readers say when it changes.

    Args:
        text: The text.
    """
    st.html(f'<div class="cs-note" role="status">{escape_text(text)}</div>')


def format_note(text: str, style: str = "", kind: str = "") -> str:
    """The same as HTML.

    Args:
        text: The text.
        style: Further CSS.
        kind: A CSS class.
    """
    look = ""
    if style:
        look = f' style="{style}"'
    return f'<div class="{f"cs-note {kind}".strip()}"{look}>{escape_text(text)}</div>'


def draw_mistake(*sentences: str) -> None:
    """What cannot be done, in place; a line for each of several.

    Args:
        *sentences: What cannot be done, a line for each.
    """
    st.html(f'<div class="cs-mistake" role="alert">{"<br>".join(map(escape_text, sentences))}</div>')


def explain(error: CollsimError | Words) -> str:
    """An error as a sentence in the language of the page.

    Args:
        error: The error, or its words.
    """
    return write_sentence(error, get_language())


def draw_error(error: CollsimError | Words) -> None:
    """What cannot be done, as its error says it.

    Args:
        error: The error, or its words.
    """
    draw_mistake(explain(error))


def complain(complaints: list[Complaint] | None = None) -> None:
    """Say what an address asked for in vain.

    Args:
        complaints: Words of the address that cannot be used; None for those of the open page.
    """
    if complaints is None:
        complaints = get_session().complaints
    if complaints:
        lines = "<br>".join(map(_describe_complaint, complaints))
        st.html(f'<div class="cs-mistake cs-complaint" role="alert">{lines}</div>')


def _describe_complaint(c: Complaint) -> str:
    suggestions = {"near": "url.near", "backend": "url.backend", "stranger": "url.stranger"}
    if suggestion := suggestions.get(str(c.reason)):
        return escape_text(t(suggestion, name=c.name, value=c.value, words=c.used))
    reason = t("url.unknown")
    if c.reason != "unknown":
        reason = explain(c.reason)
    return escape_text(t("url.bad", name=c.name, value=c.value, reason=reason, used=c.used))


def _format_name(text: str, about: str = "", style: str = "") -> str:
    """The name of a figure or a verdict; the pointer over it says what it means."""
    look = ""
    if about:
        look += f' title="{escape_text(about)}"'
    if style:
        look += f' style="{style}"'
    return f"<small{look}>{escape_text(text)}</small>"


def format_figure(name: str, number: str, unit: str, *notes: str, about: str = "") -> str:
    """A number in large type under its name (as HTML), and what it is of.

    Args:
        name: The name of the figure.
        number: The number.
        unit: Unit of the number.
        *notes: Notes below the number.
        about: What it means; "" for none.
    """
    below = "".join(f"<span>{escape_text(text)}</span>" for text in notes)
    return f'<div class="cs-fig">{_format_name(name, about)}<b>{number}<i>{unit}</i></b>{below}</div>'


def format_quantity(name: str, value: str, note: str, about: str = "") -> str:
    """The same for a quantity with its unit: `4.7 ms`.

    Args:
        name: The name of the figure.
        value: The quantity with its unit.
        note: A note below; "" for none.
        about: What it means; "" for none.
    """
    number, _, unit = value.partition(" ")
    return format_figure(name, f"{number} ", unit, note, about=about)


def format_verdict(
    head: str | Sequence[str],
    *lines: str,
    name: str = "",
    about: str = "",
    name_style: str = "",
    lead: str | None = None,
    folded: tuple[str, str] = ("", ""),
    token: str = "",
    style: str = "",
    status: bool = False,
) -> str:
    """What it comes to: a sentence or several in large type, and lines below.

    Args:
        head: The sentence in large type, or several.
        *lines: Lines below.
        name: Name over it; "" for none.
        about: What the name means; "" for none.
        name_style: Further CSS of the name.
        lead: The first of the lines, in the colour of the head; None for none.
        folded: What opens the lines that are folded, and these lines; empty for none.
        token: Name of the border's colour, where it is not the usual one.
        style: Further CSS.
        status: Whether screen readers say it when it changes.
    """
    look = [style]
    if token:
        look.insert(0, f"border-color:var(--cs-{token})")
    more = ""
    if any(look):
        more += f' style="{";".join(filter(None, look))}"'
    if status:
        more += ' role="status"'
    if name:
        name = _format_name(name, about, name_style)
    if isinstance(head, str):
        head = [head]
    heads = "".join(f"<b>{escape_text(text)}</b>" for text in head)
    first = ""
    if lead is not None:
        first = f'<span style="color:var(--cs-ink)">{escape_text(lead)}</span>'
    below = "".join(f"<span>{escape_text(line)}</span>" for line in lines)
    summary, details = map(escape_text, folded)
    if details:
        below += f"<details><summary>{summary}</summary><span>{details}</span></details>"
    return f'<div class="cs-why"{more}>{name}{heads}{first}{below}</div>'


def draw_headline(*boxes: str) -> None:
    """Figures and a verdict in a row.

    Args:
        *boxes: Figures as HTML.
    """
    st.html(f'<div class="cs-head">{"".join(boxes)}</div>')


def describe_bound(bound: float, gap: float) -> str:
    """What stands under the lower bound: how far from it this run is, or that it reaches it.

    Args:
        bound: The least time of any schedule, seconds.
        gap: Time over the bound, as a factor.
    """
    if not bound:
        return t("bound.none")
    times = f"{gap:.3g}"
    if times == "1":
        return t("bound.reached")
    return t("bound.note", gap=times)
