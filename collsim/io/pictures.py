"""Pictures, films and pages of a run. The package `viz` draws them: its writers are among the `views` of a Trace."""

from __future__ import annotations

from functools import partial

from ..files import FilePath
from ..simulate import Trace
from ..simulate.trace import views
from .file_formats import Format, register


def write_picture(trace: Trace, path: FilePath, **options: object) -> None:
    """Write a run as what the suffix says. Raises CollsimError for unknown options, and `.mp4` where ffmpeg is
    missing.

    Args:
        trace: to draw.
        path: its suffix is `.html`, `.png`, `.gif`, `.mp4` ...
        options: of the writer of that suffix.
    """
    views["picture"](trace, path, **options)


_picture = partial(Format, holds="trace", write=write_picture)
_LANGUAGE, _DPI, _FRAMES = ("language", "en or zh"), ("dpi", "dots per inch"), ("frames", "pictures in the film")

register(
    _picture(
        "html",
        (".html",),
        about="the player with the run in it, one file that needs no network",
        options=(
            _LANGUAGE,
            ("theme", "light or dark"),
            ("view", "physical or logical"),
            ("t", "the moment to open at, in seconds"),
        ),
        chinese="内含这次运行的播放器，一个文件，无需联网",
    )
)
register(_picture("gif", (".gif",), about="a film of the run", chinese="运行的动画", options=(_LANGUAGE, _FRAMES)))
register(
    _picture(
        "mp4",
        (".mp4",),
        about="a film of the run (needs ffmpeg)",
        chinese="运行的影片（需要 ffmpeg）",
        options=(_LANGUAGE, _FRAMES),
    )
)
register(
    _picture(
        "png",
        (".png",),
        about="the machine with the bytes on every link",
        chinese="机器图，标出每条链路的字节",
        options=(_LANGUAGE, _DPI),
    )
)
register(
    _picture(
        "svg",
        (".svg",),
        about="the machine with the bytes on every link, to scale",
        chinese="机器图，标出每条链路的字节，矢量图",
        options=(_LANGUAGE, _DPI),
    )
)
register(
    _picture("timeline", (".json",), about="what the player plays", chinese="播放器所播放的内容", options=(_LANGUAGE,))
)
