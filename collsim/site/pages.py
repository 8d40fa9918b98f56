"""The pages as HTML: one shell, a body per kind of page, and what its script needs as JSON."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..lessons.short import Lesson
from .texts import TEXTS

LANGUAGES = ("en", "zh")
_POLICY = (
    "default-src 'none'; script-src 'self' file: 'unsafe-inline'; style-src 'self' file: 'unsafe-inline'; img-src "
    "'self' file: data: blob:; base-uri 'none'; form-action 'none'"
)
_SHELL = """<!doctype html>
<html lang="{code}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<link rel="stylesheet" href="{root}assets/site.css">
</head>
<body>
<header><b>{name}</b>{links}<a class="other" href="{other}" hreflang="{othercode}">{othername}</a></header>
<main>
{body}
</main>
<footer>{made}</footer>
<noscript>{script}</noscript>
<script type="application/json" id="page">{data}</script>
<script src="{root}assets/player.js"></script>
<script src="{root}assets/site.js"></script>
</body>
</html>
"""
_MENU = (("index.html", "lessons"), ("gallery.html", "gallery"), ("race.html", "race"), ("questions.html", "questions"))


def say(key: str, lang: str, **values: object) -> str:
    text = TEXTS[key][LANGUAGES.index(lang)]
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def page(name: str, lang: str, title: str, body: str, data: Mapping[str, Any], version: str) -> str:
    """One page of one language; `name` is its file, the same in both."""
    other = "zh" if lang == "en" else "en"
    current = name if not name.startswith("lesson") else "index.html"
    links = "".join(
        f'<a href="{file}"{" aria-current=page" if file == current else ""}>{html.escape(say(key, lang))}</a>'
        for file, key in _MENU
    )
    words = {key: say(key, lang) for key in ("reveal", "answer", "check", "right", "wrong", "unclear", "tally", "show")}
    return _SHELL.format(
        code="zh-CN" if lang == "zh" else "en",
        policy=html.escape(_POLICY, quote=True),
        title=html.escape(f"{title}, collsim"),
        root="../",
        name=html.escape(say("name", lang)),
        links=links,
        other=f"../{other}/{name}",
        othercode=other,
        othername=html.escape(say("other", lang)),
        body=body,
        made=html.escape(say("made", lang, version=version)),
        script=html.escape(say("script", lang)),
        data=inline({"root": "../", "words": words, **data}),
    )


def inline(value: Any) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def lesson_body(lesson: Lesson, lang: str, before: str | None, after: str | None) -> str:
    k = LANGUAGES.index(lang)
    text = "".join(f'<p class="lead">{html.escape(p[k])}</p>\n' for p in lesson.paragraphs)
    ways = [
        f'<a href="{file}">{html.escape(say(key, lang))}</a>'
        for file, key in ((before, "back"), (after, "next"))
        if file
    ]
    return (
        f'<h1>{html.escape(lesson.title[k])}</h1>\n{text}<div id="player" class="player"></div>\n'
        f'<h2>{html.escape(say("questions", lang))}</h2><p class="tally" aria-live="polite"></p>'
        f'<div id="questions"></div><nav>{" · ".join(ways)}</nav>'
    )


def contents_body(lessons: Sequence[tuple[str, Lesson]], lang: str, counts: Mapping[str, int]) -> str:
    k = LANGUAGES.index(lang)
    items = "".join(f'<li><a href="{file}">{html.escape(lesson.title[k])}</a></li>' for file, lesson in lessons)
    about, heading = html.escape(say("about", lang, **counts)), html.escape(say("lessons", lang))
    return f'<h1>{heading}</h1><p class="lead">{about}</p><ol class="lessons">{items}</ol>'


def gallery_body(lang: str) -> str:
    controls = "".join(_select(name, lang) for name in ("algorithm", "place", "ranks"))
    return (
        f'<h1>{html.escape(say("gallery", lang))}</h1><div class="controls">{controls}</div><div id="player" '
        'class="player"></div>'
        f'<h2>{html.escape(say("questions", lang))}</h2><p class="tally" aria-live="polite"></p><div '
        'id="questions"></div>'
    )


def race_body(lang: str, places: Mapping[str, str]) -> str:
    options = "".join(
        f'<option value="{html.escape(key)}">{html.escape(name)}</option>' for key, name in places.items()
    )
    return (
        f'<h1>{html.escape(say("race", lang))}</h1><p class="lead">{html.escape(say("racing", lang))}</p>'
        f'<div class="controls">{_select("place", lang, options)}</div><div id="racers" class="racers"></div>'
    )


def questions_body(lang: str) -> str:
    return (
        f'<h1>{html.escape(say("questions", lang))}</h1><p class="lead">{html.escape(say("asking", lang))}</p>'
        '<p class="tally" aria-live="polite"></p><div id="questions"></div>'
    )


def _select(name: str, lang: str, options: str = "") -> str:
    return f'<label>{html.escape(say(name, lang))}<select id="{name}">{options}</select></label>'


def entrance() -> str:
    """The first page of all: goes on in the reader's language, and says both where scripts are off."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>collsim</title></head><body>\n'
        '<p><a href="en/index.html">English</a> · <a href="zh/index.html" lang="zh-CN">中文</a></p>\n'
        '<script>const zh = (navigator.language || "en").toLowerCase().startsWith("zh");'
        'location.replace(zh ? "zh/index.html" : "en/index.html")</script>\n'
        "</body></html>\n"
    )
