"""What stands on the first page until Streamlit has loaded there: the same picture, by the same module, in the page.

Streamlit's page is empty until some eighty scripts are there and a connection is made. This one carries the module of
the simple page and the run that it begins with, so that it is drawn at once, in the place where the page will draw it.
It can be used at once: when Streamlit's component stands below it, this very picture moves in there, with its moment,
its focus and all that was pressed, and tells it what the data do not say. What Streamlit builds meanwhile is hidden, so
nothing moves under a reader's eyes.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import Scope

from collsim.locale import LANGUAGES, match_language
from collsim.package_data import read_package_file
from collsim.units import format_bytes, parse_bytes

#: By language, once `make` has made them.
_FRAMES: dict[str, str] = {}

_PAGE = read_package_file(__file__, "first_frame.html")


def build_first_frame(scope: Scope, base: str) -> str:
    """The frame for a request; empty where it does not ask for the bare first page, or there is none yet.

    Args:
        scope: The request, as ASGI has it.
        base: Path below which the app is served.
    """
    headers = Headers(scope=scope)
    query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))
    if scope["path"] != f"{base}/" or "text/html" not in headers.get("accept", "") or set(query) - {"lang"}:
        return ""
    language_wish = query.get("lang") or headers.get("accept-language", "")
    return _FRAMES.get(match_language(language_wish), "")


def make() -> None:
    """Make the frames; takes a second or two, most of it to load what draws the pages."""
    from collsim.display.palette import FONT, TOKENS
    from collsim.viz.hosts.bundle import read_bundle
    from collsim.viz.hosts.player_page import encode_inline_json

    from ..scenario.choice import Choice
    from ..scenario.simple_run import describe_view, run_simple, use_all_channels
    from ..shell.look import draw_logo

    choice = use_all_channels(Choice())
    simple_run = run_simple(choice)
    pairs = {name: ",".join(TOKENS[name]) for name in ("bg", "card", "line")}
    run = describe_view(simple_run, choice)
    for language in LANGUAGES:
        data = {**run, "title": _build_title(choice, simple_run.ranks, language), "language": language}
        page = {
            "font": FONT,
            "light": draw_logo(False),
            "dark": draw_logo(True),
            "module": read_bundle("first_frame"),
            **pairs,
        }
        _FRAMES[language] = _PAGE.format(run=encode_inline_json(data), **page)


def _build_title(choice: Any, ranks: int, language: Any) -> str:
    """As the page has it."""
    from collsim.topology.machines import machines

    from ..texts import say

    machine_title = machines()[choice.machine].title
    if choice.copies != 1:
        machine_title = say(language, "race.nodes", machine=machine_title, count=choice.nodes)
    algorithm = say(language, f"algorithm.name.{choice.algorithm.removeprefix(f'{choice.collective}_')}")
    words = {"collective": choice.collective, "algorithm": algorithm, "machine": machine_title, "ranks": ranks}
    return say(language, "simple.title", nbytes=format_bytes(parse_bytes(choice.nbytes)), **words)
