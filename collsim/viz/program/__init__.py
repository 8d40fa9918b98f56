"""Pictures of rank programs: a lane for each rank, a band for each message, and who waits for whom forever."""

from typing import TYPE_CHECKING

from ...errors.attributes import answer_for_package

if TYPE_CHECKING:
    from .notebook import format_run_html
    from .playback import Playback, build_counters, build_playback
    from .program_moments import list_moments
    from .program_picture import draw_program_lanes

__all__ = [
    "Playback",
    "build_counters",
    "build_playback",
    "draw_program_lanes",
    "format_run_html",
    "list_moments",
]

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "notebook": ("format_run_html",),
            "playback": ("Playback", "build_counters", "build_playback"),
            "program_moments": ("list_moments",),
            "program_picture": ("draw_program_lanes",),
        },
    )
