"""Pictures, films and pages of a run. They are drawn in the room of pictures, which gives its writer to every Trace
when it is there."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..simulate import Trace
from ..simulate.trace import views
from .formats import Format, register


def write_picture(trace: Trace, path: Any, **options: Any) -> None:
    """Write a run as what the suffix says. Raises CollsimError for unknown options, and `.mp4` where ffmpeg is
    missing."""
    views["picture"](trace, path, **options)


_picture = partial(Format, holds="trace", write=write_picture)
_LANG, _DPI, _FRAMES = ("lang", "en or zh"), ("dpi", "dots per inch"), ("frames", "pictures in the film")

register(
    _picture(
        "html",
        (".html",),
        about="the player with the run in it, one file that needs no network",
        options=(
            _LANG,
            ("theme", "light or dark"),
            ("view", "physical or logical"),
            ("t", "the moment to open at, in seconds"),
        ),
    )
)
register(_picture("gif", (".gif",), about="a film of the run", options=(_LANG, _FRAMES)))
register(_picture("mp4", (".mp4",), about="a film of the run (needs ffmpeg)", options=(_LANG, _FRAMES)))
register(_picture("png", (".png",), about="the machine with the bytes on every link", options=(_LANG, _DPI)))
register(_picture("svg", (".svg",), about="the machine with the bytes on every link, to scale", options=(_LANG, _DPI)))
register(_picture("timeline", (".json",), about="what the player plays", options=(_LANG,)))
