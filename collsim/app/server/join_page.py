"""The pages of access control: where a client types the join code, and why it is refused. They load nothing else."""

from __future__ import annotations

import html
from collections.abc import Iterable

from ...display.palette import build_css_variables
from ...locale import translate
from ..styles import read_style


def render_join_page(query: Iterable[tuple[str, str]], language: str, message: str = "") -> str:
    """Return the page that asks for the join code and then continues to where its address led.

    Args:
        query: names and values of the address.
        language: `en` or `zh`.
        message: the key in the catalog `classroom` of what went wrong before, or an empty text.
    """
    hidden = "".join(
        f'<input type="hidden" name="{html.escape(name)}" value="{html.escape(value)}">'
        for name, value in query
        if name != "join"
    )
    error = f'<p role="alert">{_translate(message, language)}</p>' if message else ""
    field = (
        f'<label for="join">{_translate("code", language)}</label>'
        '<input id="join" name="join" autofocus required maxlength="40" autocomplete="off" autocapitalize="none" '
        'spellcheck="false">'
    )
    form = f'<form method="get">{hidden}{field}<button>{_translate("join", language)}</button></form>'
    return _render_page(language, f"<p>{_translate('ask', language)}</p>{error}{form}")


def render_refusal(reason: str, language: str, plain: bool = False) -> str:
    """Return why a client is refused, as a page or as plain text.

    Args:
        reason: a key of the catalog `classroom`.
        language: `en` or `zh`.
        plain: text in place of a page.
    """
    if plain:
        return translate(language, "classroom", reason)
    return _render_page(language, f'<p role="alert">{_translate(reason, language)}</p>')


def _translate(key: str, language: str) -> str:
    return html.escape(translate(language, "classroom", key))


def _render_page(language: str, body: str) -> str:
    title = _translate("title", language)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    words = f"<main><h1>{title}</h1>{body}</main>"
    return (
        f'<!doctype html><html lang="{language}"><head>{head}<style>{_STYLE}</style></head><body>{words}</body></html>'
    )


_STYLE = (
    f":root{{color-scheme:light dark;{build_css_variables(('ink', 'bg', 'card', 'edge'))}}}\n{read_style('join_page')}"
)
