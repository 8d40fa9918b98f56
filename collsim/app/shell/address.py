"""Pages and their addresses: what a page remembers, and the part of the URL that says it.

What stands in an address is declared with the page (`shell.page.Page`). What cannot be used becomes a complaint, never
an error.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, cast

import streamlit as st

from collsim.locale import LANGUAGES
from collsim.locale.synonyms import find_near_names

from ..scenario.address_parameters import Complaint, read_words, shorten
from ..scenario.choice import MOMENT, Choice, list_option_keys, to_query
from ..scenario.outcome import read_choice
from .notes import complain
from .page import Page, list_pages
from .session import forget_widgets, get_language, get_session, is_dark


def read_page_address(page: Page) -> None:
    """At the start of every run: what the page remembers, taken from the address where a person, a link or the back
    button changed it.

    Args:
        page: The page.
    """
    now, query = get_session(), st.query_params.to_dict()
    is_other_page, has_only_look = page.name != now.page, not set(query) - {"lang", "theme"}
    if is_other_page:
        _change_page(page)
    same = now.written is not None and (query == now.written or (is_other_page and has_only_look))
    keeps_address, now.keeps_address = now.keeps_address, False
    same = same or (keeps_address and not is_other_page)
    if not same or page.name not in now.page_values:
        _read(page, query, shared=not same)
        forget_widgets()
    if is_other_page or not same:
        now.last_run = _identify_run(page, now.page_values[page.name])


def _change_page(page: Page) -> None:
    """Another page: Streamlit gives its controls an identity of their own, even under the same key."""
    now = get_session()
    now.page, now.complaints = page.name, []
    now.start = dict(now.moments.get(page.name, {}))
    forget_widgets()


def _read(page: Page, query: dict[str, str], shared: bool) -> None:
    """Take over an address; `shared`: also the run in it that pages share."""
    now = get_session()
    language, theme = query.pop("lang", None), query.pop("theme", None)
    now.complaints = []
    if page.choice and shared:
        now.choice, now.complaints = read_choice(query)
    now.page_values[page.name], unread = page.address.read(query)
    begins, unreadable = read_words((word for word in MOMENT if word.name in page.moment), query)
    now.start = now.moments[page.name] = begins
    now.complaints += unread + unreadable + _complain_of_strangers(page, query)
    if language is not None and language not in LANGUAGES:
        now.complaints.append(Complaint("lang", shorten(language), "unknown", get_language()))
    elif language is not None:
        st.session_state["language"] = language
    if theme is not None and theme not in THEMES:
        now.complaints.append(Complaint("theme", shorten(theme), "unknown", "dark" if is_dark() else "light"))


#: What `theme` in an address can be: the switch at the head turns the page to it.
THEMES = ("light", "dark")
#: Words that Streamlit and the classroom read.
_FOREIGN = frozenset({"embed", "embed_options", "class", "code"})


def _complain_of_strangers(page: Page, query: Mapping[str, str]) -> list[Complaint]:
    """Complaints about words that mean nothing on a page, so that nobody takes another machine for theirs."""
    known = {word.name for word in page.words}
    if page.choice:
        known |= list_option_keys()
    strangers = [name for name in query if name not in known | _FOREIGN]
    words = ", ".join(sorted({"lang", "theme", *(word.name for word in page.words)}))
    return [_complain_of_stranger(shorten(name), shorten(query[name]), known, words) for name in strangers]


def _complain_of_stranger(name: str, value: str, known: Collection[str], words: str) -> Complaint:
    """The complaint about a word that means nothing on a page: what is meant, or else the words that mean something."""
    if name.lower() in ("backend", "dist_backend", "dist-backend", "后端"):
        return Complaint(name, value, "backend", words)
    if near := find_near_names(name, sorted(known)):
        return Complaint(name, value, "near", ", ".join(f"{word}={value}" for word in near))
    return Complaint(name, value, "stranger", words)


def _identify_run(page: Page, value: object) -> tuple[Choice | None, object]:
    """What the moment of an address and its complaints belong to."""
    return get_session().choice if page.choice else None, page.run(value)


def write_page_address(value: Any = None) -> None:
    """At the end of a page's controls: remember `value`, where it is another one, and write the address.

    Args:
        value: The value.
    """
    now = get_session()
    page = list_pages()[now.page]
    if page.choice and now.last_run is not None and now.choice != now.last_run[0]:
        now.panels = replace(now.panels, number=0, answer="")
    if value is None:
        value = now.page_values[page.name]
    run = _identify_run(page, value)
    if run != now.last_run:
        now.complaints = []
        now.start = {name: begins for name, begins in now.start.items() if name != "t"}
    now.last_run, now.page_values[page.name] = run, value
    _write(_query(page, value))


def _query(page: Page, value: object) -> dict[str, str]:
    """The address of a page that remembers `value`; the moment stays as the address has it."""
    now = get_session()
    query = {}
    if page.choice and now.choice != Choice():
        query = to_query(now.choice)
    query |= page.address.write(value)
    query |= {name: st.query_params[name] for name in now.start if name in st.query_params and name in page.moment}
    if get_language() != "en" or "lang" in st.query_params:
        query["lang"] = get_language()
    if (theme := get_address_theme()) is not None:
        query["theme"] = theme
    return page.settle(value, query)


def get_address_theme() -> str | None:
    """The theme that the address asks for; None where it asks for none."""
    theme = st.query_params.get("theme")
    return theme if theme in THEMES else None


def _write(query: dict[str, str]) -> None:
    if st.query_params.to_dict() != query:
        st.query_params.from_dict(query)
    get_session().written = query


def finish_controls(value: Any = None) -> None:
    """At the end of a page's controls: remember `value`, write the address, and say what it asked for in vain.

    Args:
        value: As `write_page_address` takes it.
    """
    write_page_address(value)
    complain()


def get_remembered(page: str) -> Any:
    """What a page of this tab remembers.

    Args:
        page: Name of the page.
    """
    return get_session().page_values[page]


def remember(page: str, value: object) -> None:
    """Let a page remember something else, before it is drawn again.

    Args:
        page: Name of the page.
        value: The value.
    """
    get_session().page_values[page] = value


def change_remembered(page: str, **fields: object) -> None:
    """Let a page remember the same with other fields, before it is drawn again.

    Args:
        page: Name of the page.
        **fields: New values by field.
    """
    remember(page, replace(get_remembered(page), **fields))


def put_menu(entries: Mapping[str, st.Page]) -> None:
    """Let every page find the others.

    Args:
        entries: Entries of the menu by name of the page.
    """
    st.session_state["menu"] = dict(entries)


def get_menu() -> dict[str, st.Page]:
    """All pages by name, for a button that leads to one of them."""
    return cast(dict[str, st.Page], st.session_state["menu"])
