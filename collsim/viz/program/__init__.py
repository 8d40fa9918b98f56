"""Pictures of rank programs: a lane for each rank, a band for each message, and who waits for whom forever."""

from __future__ import annotations

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
