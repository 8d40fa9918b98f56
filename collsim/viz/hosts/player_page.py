"""One timeline as one offline HTML file, and as a frame for a notebook.

Both put the text of the player and the timeline into a single page that loads nothing: no server, no network, no
other file. The page forbids everything but itself by a content security policy that names the hash of its own script.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from typing import Any, TypedDict

from ...display.markup import bind_units
from ...display.palette import TOKENS
from ...errors import CollsimError, require_language
from ...package_data import read_package_file
from .bundle import read_bundle

__all__ = [
    "build_html_document",
    "build_notebook_frame",
    "build_standalone_page",
    "encode_inline_json",
]

THEMES = (None, "light", "dark")

DOCUMENT = read_package_file(__file__, "document.html")
BODY = read_package_file(__file__, "player_body.html").removesuffix("\n")
LIGHT, DARK = TOKENS["bg"]


def build_html_document(language: str, title: str, policy: str, head: str, body: str) -> str:
    """Return one HTML page, with the content security policy that its caller needs; ``head`` and ``body`` are HTML.

    Args:
        language: Language of the page: `en` or `zh`.
        title: The title, a short text.
        policy: The content security policy.
        head: HTML of the head.
        body: HTML of the body.
    """
    code = "en"
    if language == "zh":
        code = "zh-CN"
    policy, title = html.escape(policy, quote=True), html.escape(title)
    return DOCUMENT.format(code=code, policy=policy, title=title, head=head, body=body)


def encode_inline_json(value: object) -> str:
    """Return JSON that may stand inside a script element: no ``</``, no ``<!--``, no NaN.

    Args:
        value: A value that JSON can hold.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return bind_units(text).replace("<", "\\u003c")


def _build_title(timeline: Mapping[str, Any], language: str) -> str:
    meta = timeline.get("meta")
    text = title = meta.get("title", {}) if isinstance(meta, Mapping) else {}
    if isinstance(title, Mapping):
        text = title.get(language) or title.get("en")
    if text:
        return f"{text}, collsim"
    return "collsim"


def _build_background_css(theme: str | None) -> str:
    base = "html,body{margin:0;height:100%}main{padding:12px 16px 20px;box-sizing:border-box}"
    if theme is not None:
        return base + f"body{{background:{DARK if theme == 'dark' else LIGHT}}}"
    return base + f"body{{background:{LIGHT}}}@media(prefers-color-scheme:dark){{body{{background:{DARK}}}}}"


class FrameOptions(TypedDict, total=False):
    """How a run is shown in a notebook: colours, view, the moment at which it stands (s) and height (pixels)."""

    theme: str | None
    view: str | None
    t: float | None
    height: int


def build_standalone_page(
    timeline: Mapping[str, object] | str,
    language: str = "en",
    theme: str | None = None,
    *,
    view: str | None = None,
    t: float | None = None,
) -> str:
    """Return one HTML file that plays ``timeline`` without a server or a network.

    Args:
        timeline: a timeline (``docs/timeline.md``) as a dict, or as JSON text; the packed form ``{"schema", "z"}`` too.
        language: language of the controls, ``"en"`` or ``"zh"``.
        theme: ``"light"``, ``"dark"``, or None for the reader's own setting.
        view: ``"physical"`` or ``"logical"`` to begin with; None lets the player choose.
        t: moment to begin at, in seconds of the run.

    Raises:
        ValueError: For an unknown language or theme, text that is not JSON, or a number that JSON cannot hold (NaN).
    """
    require_language(language)
    data: Mapping[str, object] = json.loads(timeline) if isinstance(timeline, str) else timeline
    options = {"language": language, "theme": theme, "view": view, "t": t}
    return build_offline_page(read_bundle("player_page"), data, _build_title(data, language), options)


def build_offline_page(
    script: str, data: Mapping[str, object], title: str, options: Mapping[str, Any], style: str = ""
) -> str:
    """Return one HTML file in which ``script`` draws ``data`` into the element ``player``, and loads nothing.

    Args:
        script: An ES module, which reads the elements ``timeline`` (the data) and ``options``.
        data: What the script draws, as JSON can hold it.
        title: Title of the page.
        options: At least ``language`` and ``theme``.
        style: More CSS.

    Raises:
        ValueError: For an unknown theme, or a number that JSON cannot hold (NaN).
    """
    language, theme = options["language"], options["theme"]
    if theme not in THEMES:
        raise CollsimError("unknown theme {theme!r}; use 'light', 'dark' or None", theme=theme)
    if "</script" in script:
        raise ValueError("the player must not contain '</script'")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:; base-uri "
        "'none'; form-action 'none'"
    )
    body = BODY.format(timeline=encode_inline_json(data), options=encode_inline_json(dict(options)), script=script)
    return build_html_document(language, title, policy, f"<style>{_build_background_css(theme)}{style}</style>", body)


def build_notebook_frame(
    timeline: Mapping[str, object] | str,
    language: str = "en",
    theme: str | None = None,
    *,
    view: str | None = None,
    t: float | None = None,
    height: int = 900,
) -> str:
    """Return an ``<iframe srcdoc>`` with the standalone page inside, for ``_repr_html_``.

    The frame is sandboxed (its scripts cannot reach the notebook) and needs no widget manager, so it survives
    ``nbconvert --to html`` and works offline.

    Args:
        timeline: A timeline, as for `build_standalone_page`.
        language: Language of the controls, ``"en"`` or ``"zh"``.
        theme: ``"light"``, ``"dark"``, or None for the reader's own setting.
        view: ``"physical"`` or ``"logical"`` to begin with; None lets the player choose.
        t: Moment to begin at, in seconds of the run.
        height: Height of the frame in CSS pixels.

    Raises:
        ValueError: as `build_standalone_page`.
    """
    return wrap_in_frame(build_standalone_page(timeline, language, theme, view=view, t=t), height)


def wrap_in_frame(page: str, height: int, title: str = "collsim player") -> str:
    """Return a page inside a sandboxed ``<iframe srcdoc>``, ``height`` CSS pixels high.

    Args:
        page: The HTML page.
        height: Height in CSS pixels.
        title: What screen readers call the frame.
    """
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" sandbox="allow-scripts allow-downloads" '
        f'allow="fullscreen" loading="lazy" title="{title}" width="100%" height="{int(height)}" '
        'style="border:0;width:100%;min-width:320px"></iframe>'
    )
