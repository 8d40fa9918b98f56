"""The pages as HTML: one shell, a body per kind of page, and what its script needs as JSON."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from ..lessons.chapters import LESSONS, SECTIONS
from ..lessons.lesson import Telling
from ..markup import escape_text
from ..teach.language import Text
from ..viz.hosts.page import build_html_document, encode_inline_json
from ..viz.splits.still import PipelinePicture
from .texts import TEXTS

LANGUAGES = ("en", "zh")
_POLICY = (
    "default-src 'none'; script-src 'self' file: 'unsafe-inline'; style-src 'self' file: 'unsafe-inline'; img-src "
    "'self' file: data: blob:; base-uri 'none'; form-action 'none'"
)
_HEAD = '<link rel="stylesheet" href="{root}assets/site.css">'
_BODY = """<header><b>{name}</b>{links}<a class="other" href="{other}" hreflang="{othercode}">{othername}</a></header>
<main>
{body}
</main>
<footer>{made}</footer>
<noscript>{script}</noscript>
<script type="application/json" id="page">{data}</script>
<script src="{root}assets/player.js"></script>
{scripts}<script src="{root}assets/site.js"></script>"""
_MENU = (
    ("story.html", "story"),
    ("index.html", "lessons"),
    ("gallery.html", "gallery"),
    ("race.html", "race"),
    ("questions.html", "questions"),
)


def say(key: str, lang: str, **values: object) -> str:
    text = TEXTS[key][LANGUAGES.index(lang)]
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def page(
    name: str, lang: str, title: str, body: str, data: Mapping[str, Any], version: str, scripts: Sequence[str] = ()
) -> str:
    """One page of one language; `name` is its file, the same in both. `scripts`: assets that it needs beside the
    player."""
    other = "zh" if lang == "en" else "en"
    current = name if not name.startswith("lesson") else "index.html"
    links = "".join(
        f'<a href="{file}"{" aria-current=page" if file == current else ""}>{escape_text(say(key, lang))}</a>'
        for file, key in _MENU
    )
    words = {key: say(key, lang) for key in ("reveal", "answer", "check", "right", "wrong", "unclear", "tally", "show")}
    shown = _BODY.format(
        root="../",
        name=escape_text(say("name", lang)),
        links=links,
        other=f"../{other}/{name}",
        othercode=other,
        othername=escape_text(say("other", lang)),
        body=body,
        made=escape_text(say("made", lang, version=version)),
        script=escape_text(say("script", lang)),
        scripts="".join(f'<script src="../assets/{script}"></script>\n' for script in scripts),
        data=encode_inline_json({"root": "../", "words": words, **data}),
    )
    return build_html_document(lang, f"{title}, collsim", _POLICY, _HEAD.format(root="../"), shown)


def lesson_file(key: str) -> str:
    """The page of a section: `lesson-3.html`, and `lesson-3-2.html` for the second section of lesson 3."""
    lesson, section = SECTIONS[key]
    at = lesson.sections.index(section) + 1
    return f"lesson-{lesson.number}.html" if at == 1 else f"lesson-{lesson.number}-{at}.html"


def lesson_title(key: str, lang: str) -> str:
    """`3. The ring, step by step`."""
    lesson, _ = SECTIONS[key]
    return f"{lesson.number}. {lesson.title[LANGUAGES.index(lang)]}"


def lesson_body(key: str, told: Telling, lang: str) -> str:
    """What is said before the run, the run, the questions, and, folded, what would give the answer away."""
    k = LANGUAGES.index(lang)
    title = SECTIONS[key][1].title
    return (
        f"<h1>{escape_text(lesson_title(key, lang))}</h1>\n"
        + (f"<h2>{escape_text(title[k])}</h2>\n" if title else "")
        + _paragraphs(told.before, k, "lead")
        + lanes(told.lanes, k)
        + f'<div id="player" class="player"></div>\n<h2>{escape_text(say("questions", lang))}</h2>'
        '<p class="tally" aria-live="polite"></p><div id="questions"></div>'
        + _following(key, told, lang)
        + f"<nav>{_ways(key, lang)}</nav>"
    )


def _paragraphs(texts: Sequence[Text], k: int, kind: str) -> str:
    return "".join(f'<p class="{kind}">{escape_text(text[k])}</p>\n' for text in texts)


def lanes(shown: Sequence[PipelinePicture], k: int, narrow: bool = True) -> str:
    """Pipelines as rows of boxes, below each other; `narrow` where there is little room."""
    return "".join(f'<div class="lanes">{one.html(k, narrow=narrow)}</div>\n' for one in shown)


def _following(key: str, told: Telling, lang: str) -> str:
    """What follows from the answer, to unfold; after the last section, the notebook."""
    k, (lesson, section) = LANGUAGES.index(lang), SECTIONS[key]
    body = _paragraphs(told.after, k, "after") + lanes(told.lanes_after, k)
    if told.table:
        rows = ["".join(f"<td>{escape_text(cell[k])}</td>" for cell in row) for row in told.table]
        body += "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"
    folded = f"<details><summary>{escape_text(say('following', lang))}</summary>{body}</details>" if body else ""
    if section is not lesson.sections[-1] or not lesson.notebook:
        return folded
    exercises = ", ".join(lesson.exercises)
    return f"{folded}<p>{escape_text(say('notebook', lang, notebook=lesson.notebook, exercises=exercises))}</p>"


def _ways(key: str, lang: str) -> str:
    """Links to the section before and the one after."""
    keys = list(SECTIONS)
    at = keys.index(key)
    beside = ((keys[at - 1] if at else None, "back"), (keys[at + 1] if at + 1 < len(keys) else None, "next"))
    return " · ".join(
        f'<a href="{lesson_file(other)}">{escape_text(say(way, lang))}</a>' for other, way in beside if other
    )


def contents_body(lang: str, counts: Mapping[str, int]) -> str:
    """The lessons by number, each with its sections."""
    about, heading = escape_text(say("about", lang, **counts)), escape_text(say("lessons", lang))
    items = "".join(f"<li>{_linked(number, lang)}</li>" for number in LESSONS)
    return f'<h1>{heading}</h1><p class="lead">{about}</p><ol class="lessons">{items}</ol>'


def _linked(number: int, lang: str) -> str:
    """The title of a lesson as a link, and links to its further sections."""
    k, sections = LANGUAGES.index(lang), LESSONS[number].sections
    first = f'<a href="{lesson_file(sections[0].key)}">{escape_text(LESSONS[number].title[k])}</a>'
    further = [
        f'<a class="section" href="{lesson_file(one.key)}">{escape_text((one.title or LESSONS[number].title)[k])}</a>'
        for one in sections[1:]
    ]
    return " · ".join([first, *further])


def gallery_body(lang: str) -> str:
    controls = "".join(_select(name, lang) for name in ("algorithm", "place", "ranks"))
    return (
        f'<h1>{escape_text(say("gallery", lang))}</h1><div class="controls">{controls}</div><div id="player" '
        'class="player"></div>'
        f'<h2>{escape_text(say("questions", lang))}</h2><p class="tally" aria-live="polite"></p><div '
        'id="questions"></div>'
    )


def race_body(lang: str, places: Mapping[str, str]) -> str:
    options = "".join(
        f'<option value="{html.escape(key)}">{escape_text(name)}</option>' for key, name in places.items()
    )
    return (
        f'<h1>{escape_text(say("race", lang))}</h1><p class="lead">{escape_text(say("racing", lang))}</p>'
        f'<div class="controls">{_select("place", lang, options)}</div><div id="racers" class="racers"></div>'
    )


def questions_body(lang: str) -> str:
    return (
        f'<h1>{escape_text(say("questions", lang))}</h1><p class="lead">{escape_text(say("asking", lang))}</p>'
        '<p class="tally" aria-live="polite"></p><div id="questions"></div>'
    )


def _select(name: str, lang: str, options: str = "") -> str:
    return f'<label>{escape_text(say(name, lang))}<select id="{name}">{options}</select></label>'


def entrance() -> str:
    """The first page of all: goes on in the reader's language, and says both where scripts are off."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>collsim</title></head><body>\n'
        '<p><a href="en/index.html">English</a> · <a href="zh/index.html" lang="zh-CN">中文</a></p>\n'
        '<script>const zh = (navigator.language || "en").toLowerCase().startsWith("zh");'
        'location.replace(zh ? "zh/index.html" : "en/index.html")</script>\n'
        "</body></html>\n"
    )
