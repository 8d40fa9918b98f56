"""Pictures, films and pages of a run. The package `viz` draws them: its writers are among the `views` of a Trace."""

from __future__ import annotations

from ..files import FilePath
from ..simulate import Trace
from ..simulate.trace import views
from .file_formats import register_built_in


def write_picture(trace: Trace, path: FilePath, **options: object) -> None:
    """Write a run as what the suffix says. Raises CollsimError for unknown options, and `.mp4` where ffmpeg is
    missing.

    Args:
        trace: to draw.
        path: its suffix is `.html`, `.png`, `.gif`, `.mp4` ...
        options: of the writer of that suffix.
    """
    views["picture"](trace, path, **options)


for _name in ("html", "gif", "mp4", "png", "svg", "timeline"):
    register_built_in(_name, write=write_picture)
