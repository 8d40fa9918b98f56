"""Sentences on a page: title, note, mistake, figure and verdict, each in one form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from collsim.markup import bind_units, escape_markdown, escape_text

from ..scenario.address import Complaint
from ..scenario.mistakes import sentence
from .session import language, t


def title(text: str, below: str = "") -> str:
    """The heading of a page, with a note below it."""
    return f'<h1 class="cs-title">{escape_text(text)}</h1>{note_html(below) if below else ""}'


def part(text: str, kind: str = "") -> None:
    """The heading of a part of the sidebar."""
    st.html(f'<h2 class="{f"cs-part {kind}".strip()}">{escape_text(text)}</h2>')


def heading(text: str, detail: str = "") -> None:
    """The heading of a card, and a text after it in plain type."""
    words = [f"**{escape_markdown(bind_units(text))}**", escape_markdown(bind_units(detail))]
    st.markdown(" ".join(filter(None, words)))


def note(text: str, style: str = "", kind: str = "", width: Literal["stretch", "content"] = "stretch") -> None:
    """A line of small print."""
    st.html(note_html(text, style, kind), width=width)


def status(text: str) -> None:
    """A note that screen readers say when it changes."""
    st.html(f'<div class="cs-note" role="status">{escape_text(text)}</div>')


def note_html(text: str, style: str = "", kind: str = "") -> str:
    """The same as HTML."""
    look = f' style="{style}"' if style else ""
    return f'<div class="{f"cs-note {kind}".strip()}"{look}>{escape_text(text)}</div>'


def mistake(*sentences: str) -> None:
    """What cannot be done, in place; a line for each of several."""
    st.html(f'<div class="cs-mistake" role="alert">{"<br>".join(map(escape_text, sentences))}</div>')


def complain(complaints: list[Complaint]) -> None:
    """Say what an address asked for in vain."""
    if complaints:
        st.html(f'<div class="cs-mistake" role="alert">{"<br>".join(map(_in_vain, complaints))}</div>')


def _in_vain(c: Complaint) -> str:
    why = t("url.unknown") if c.why == "unknown" else sentence(c.why, language())
    return escape_text(t("url.bad", name=c.name, value=c.value, why=why, used=c.used))


def small(text: str, style: str = "", about: str = "") -> str:
    """The name of a figure or a verdict; the pointer over it says what it means."""
    look = (f' title="{escape_text(about)}"' if about else "") + (f' style="{style}"' if style else "")
    return f"<small{look}>{escape_text(text)}</small>"


def figure(name: str, number: str, unit: str, *notes: str) -> str:
    """A number in large type under its name (as HTML), and what it is of."""
    below = "".join(f"<span>{escape_text(text)}</span>" for text in notes)
    return f'<div class="cs-fig">{name}<b>{number}<i>{unit}</i></b>{below}</div>'


def quantity_figure(name: str, value: str, note: str) -> str:
    """The same for a quantity with its unit: `4.7 ms`."""
    number, _, unit = value.partition(" ")
    return figure(name, f"{number} ", unit, note)


def verdict(
    head: str | Sequence[str],
    *lines: str,
    name: str = "",
    lead: str | None = None,
    token: str = "",
    style: str = "",
    status: bool = False,
) -> str:
    """What it comes to: a sentence or several in large type, and lines below.

    Args:
        name: over it, as HTML. lead: the first of the lines, in the colour of the head.
        token: colour of its border, where it is not the usual one.
        status: screen readers say it when it changes.
    """
    look = ";".join(filter(None, (f"border-color:var(--cs-{token})" if token else "", style)))
    more = (f' style="{look}"' if look else "") + (' role="status"' if status else "")
    heads = "".join(f"<b>{escape_text(text)}</b>" for text in ([head] if isinstance(head, str) else head))
    first = "" if lead is None else f'<span style="color:var(--cs-ink)">{escape_text(lead)}</span>'
    below = "".join(f"<span>{escape_text(line)}</span>" for line in lines)
    return f'<div class="cs-why"{more}>{name}{heads}{first}{below}</div>'


def headline(*boxes: str) -> None:
    """Figures and a verdict in a row."""
    st.html(f'<div class="cs-head">{"".join(boxes)}</div>')


def bound_note(bound: float, gap: float) -> str:
    """What stands under the lower bound: how far from it this run is, or that it reaches it."""
    if not bound:
        return t("bound.none")
    times = f"{gap:.3g}"
    return t("bound.reached") if times == "1" else t("bound.note", gap=times)
