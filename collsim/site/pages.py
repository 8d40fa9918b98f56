"""The pages as HTML: one shell, a body per kind of page, and what its script needs as JSON."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..display.markup import escape_text, format_table
from ..display.palette import build_css_variables
from ..lessons.chapters import LESSONS, SECTIONS
from ..lessons.lesson import FilledSection, LanePicture
from ..lessons.pointing_words import mark_pointing_words
from ..locale import LANGUAGES, Text, translate
from ..package_data import read_package_file
from ..viz.hosts.player_page import build_html_document, encode_inline_json

_POLICY = (
    "default-src 'none'; script-src 'self' file: 'unsafe-inline'; style-src 'self' file: 'unsafe-inline'; img-src "
    "'self' file: data: blob:; base-uri 'none'; form-action 'none'"
)
_HEAD = '<link rel="stylesheet" href="{root}assets/site.css">'
_BODY = read_package_file(__file__, "body.html").removesuffix("\n")
_MENU = (
    ("story.html", "story"),
    ("index.html", "lessons"),
    ("gallery.html", "gallery"),
    ("choose.html", "choose"),
    ("race.html", "race"),
    ("questions.html", "questions"),
)


def read_style(name: str) -> str:
    """Return a style sheet of this package, with the colours before it.

    Args:
        name: Name of the file.
    """
    variables = build_css_variables(("bg", "card", "ink", "ink2", "line", "done", "fulltext"))
    return f":root{{{variables}}}\n{(Path(__file__).parent / name).read_text(encoding='utf-8')}"


def get_text(key: str, language: str, **values: object) -> str:
    """One of the site's texts, in one language, its values filled in."""
    return translate(language, "site", key, **values)


def build_page(name: str, language: str, title: str, body: str, data: Mapping[str, Any], version: str) -> str:
    """One page of one language.

    Args:
        name: Of its file, the same in both languages.
        language: "en" or "zh".
        title: Of the page.
        body: HTML.
        data: For its scripts, as JSON.
        version: Of collsim, for the footer.
    """
    other = "zh" if language == "en" else "en"
    current = name if not name.startswith("lesson") else "index.html"
    links = "".join(
        f'<a href="{file}"{" aria-current=page" if file == current else ""}>{escape_text(get_text(key, language))}</a>'
        for file, key in _MENU
    )
    words = {
        key: get_text(key, language)
        for key in ("reveal", "answer", "check", "right", "wrong", "unclear", "tally", "show", "sentence", "unreadable")
    }
    filled = _BODY.format(
        root="../",
        name=escape_text(get_text("name", language)),
        links=links,
        other=f"../{other}/{name}",
        othercode=other,
        othername=escape_text(get_text("other", language)),
        body=body,
        made=escape_text(get_text("made", language, version=version)),
        script=escape_text(get_text("script", language)),
        data=encode_inline_json({"root": "../", "words": words, **data}),
    )
    return build_html_document(language, f"{title}, collsim", _POLICY, _HEAD.format(root="../"), filled)


def name_lesson_file(key: str) -> str:
    """The page of a section: `lesson-3.html`, and `lesson-3-2.html` for the second section of lesson 3."""
    lesson, section = SECTIONS[key]
    number = lesson.sections.index(section) + 1
    return f"lesson-{lesson.number}.html" if number == 1 else f"lesson-{lesson.number}-{number}.html"


def format_lesson_title(key: str, language: str) -> str:
    """`3. The ring, step by step`."""
    lesson, _ = SECTIONS[key]
    return f"{lesson.number}. {lesson.title[LANGUAGES.index(language)]}"


def build_lesson_body(key: str, filled_section: FilledSection, language: str) -> str:
    """What is said before the run, the run, the questions, and, folded, what would give the answer away."""
    k = LANGUAGES.index(language)
    title = SECTIONS[key][1].title
    return (
        f"<h1>{escape_text(format_lesson_title(key, language))}</h1>\n"
        + (f"<h2>{escape_text(title[k])}</h2>\n" if title else "")
        + _build_paragraphs(filled_section.before, k, "lead", filled_section)
        + draw_lanes(filled_section.lanes, k)
        + f'<div id="player" class="player"></div>\n<h2>{escape_text(get_text("questions", language))}</h2>'
        '<p class="tally" aria-live="polite"></p><div id="questions"></div>'
        + _build_conclusion(key, filled_section, language)
        + f"<nav>{_link_neighbours(key, language)}</nav>"
    )


def _build_paragraphs(texts: Sequence[Text], k: int, kind: str, filled_section: FilledSection) -> str:
    marked = (mark_pointing_words(text[k], filled_section.contents, LANGUAGES[k]) for text in texts)
    return "".join(f'<p class="{kind}">{text}</p>\n' for text in marked)


def draw_lanes(pictures: Sequence[LanePicture], k: int, narrow: bool = True) -> str:
    """Pictures below each other; `narrow` where there is little room."""
    return "".join(f'<div class="lanes">{picture.html(k, narrow=narrow)}</div>\n' for picture in pictures)


def _build_conclusion(key: str, filled_section: FilledSection, language: str) -> str:
    """What follows from the answer, to unfold; after the last section, the notebook."""
    k, (lesson, section) = LANGUAGES.index(language), SECTIONS[key]
    body = _build_paragraphs(filled_section.after, k, "after", filled_section) + draw_lanes(
        filled_section.lanes_after, k
    )
    if filled_section.table:
        body += format_table([cell[k] for cell in row] for row in filled_section.table)
    folded = (
        f"<details><summary>{escape_text(get_text('following', language))}</summary>{body}</details>" if body else ""
    )
    if section is not lesson.sections[-1] or not lesson.notebook:
        return folded
    exercises = ", ".join(lesson.exercises)
    return (
        f"{folded}<p>{escape_text(get_text('notebook', language, notebook=lesson.notebook, exercises=exercises))}</p>"
    )


def _link_neighbours(key: str, language: str) -> str:
    """Links to the section before and the one after."""
    keys = list(SECTIONS)
    position = keys.index(key)
    neighbours = (
        (keys[position - 1] if position else None, "back"),
        (keys[position + 1] if position + 1 < len(keys) else None, "next"),
    )
    return " · ".join(
        f'<a href="{name_lesson_file(other)}">{escape_text(get_text(text_key, language))}</a>'
        for other, text_key in neighbours
        if other
    )


def build_contents_body(language: str, counts: Mapping[str, int]) -> str:
    """The lessons by number, each with its sections."""
    about, heading = escape_text(get_text("about", language, **counts)), escape_text(get_text("lessons", language))
    items = "".join(f"<li>{_link_lesson(number, language)}</li>" for number in LESSONS)
    return f'<h1>{heading}</h1><p class="lead">{about}</p><ol class="lessons">{items}</ol>'


def _link_lesson(number: int, language: str) -> str:
    """The title of a lesson as a link, and links to its further sections."""
    k, sections = LANGUAGES.index(language), LESSONS[number].sections
    first = f'<a href="{name_lesson_file(sections[0].key)}">{escape_text(LESSONS[number].title[k])}</a>'
    titled = [(section.key, section.title or LESSONS[number].title) for section in sections[1:]]
    further = [
        f'<a class="section" href="{name_lesson_file(key)}">{escape_text(title[k])}</a>' for key, title in titled
    ]
    return " · ".join([first, *further])


def build_gallery_body(language: str) -> str:
    """The gallery: any run of the site in the player, and questions about it.

    Args:
        language: "en" or "zh".
    """
    controls = "".join(_select(name, language) for name in ("algorithm", "network", "ranks"))
    return (
        f'<h1>{escape_text(get_text("gallery", language))}</h1><div class="controls">{controls}</div><div id="player" '
        'class="player"></div>'
        f'<h2>{escape_text(get_text("questions", language))}</h2><p class="tally" aria-live="polite"></p><div '
        'id="questions"></div>'
    )


def build_race_body(language: str, networks: Mapping[str, str]) -> str:
    """The page on which runs race.

    Args:
        language: "en" or "zh".
        networks: Text by key of each network and number of ranks that has a race.
    """
    options = "".join(
        f'<option value="{html.escape(key)}">{escape_text(name)}</option>' for key, name in networks.items()
    )
    return (
        f"<h1>{escape_text(get_text('race', language))}</h1>"
        f'<p class="lead">{escape_text(get_text("racing", language))}</p>'
        f'<div class="controls">{_select("network", language, options)}</div><div id="racers" class="racers"></div>'
    )


def build_choice_body(language: str) -> str:
    """The page on which algorithm, ranks, size and cables are chosen freely.

    Args:
        language: "en" or "zh".
    """
    values = {"nbytes": "64MiB", "bandwidth": "25GB/s", "alpha": "1us", "first": ""}
    labels = {name: escape_text(get_text(f"choose.{name}", language)) for name in values}
    fields = "".join(
        f'<label>{labels[name]}<input id="{name}" value="{value}" size="12"></label>' for name, value in values.items()
    )
    selects = "".join(_select(name, language) for name in ("algorithm", "ranks"))
    return (
        f"<h1>{escape_text(get_text('choose', language))}</h1>"
        f'<p class="lead">{escape_text(get_text("choosing", language))}</p>'
        f'<div class="controls">{selects}{fields}</div><div id="result" aria-live="polite"></div>'
    )


def build_questions_body(language: str) -> str:
    """The page of questions.

    Args:
        language: "en" or "zh".
    """
    return (
        f"<h1>{escape_text(get_text('questions', language))}</h1>"
        f'<p class="lead">{escape_text(get_text("asking", language))}</p>'
        '<p class="tally" aria-live="polite"></p><div id="questions"></div>'
    )


def _select(name: str, language: str, options: str = "") -> str:
    return f'<label>{escape_text(get_text(name, language))}<select id="{name}">{options}</select></label>'


def build_entrance() -> str:
    """The first page of all: goes on in the reader's language, and says both where scripts are off."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>collsim</title></head><body>\n'
        '<p><a href="en/index.html">English</a> · <a href="zh/index.html" lang="zh-CN">中文</a></p>\n'
        '<script>const zh = (navigator.language || "en").toLowerCase().startsWith("zh");'
        'location.replace(zh ? "zh/index.html" : "en/index.html")</script>\n'
        "</body></html>\n"
    )
