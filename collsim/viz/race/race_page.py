"""A race as a file: the page that plays it offline, and films of all runners side by side on one clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors.dependencies import require_package
from ...locale import map_languages, repeat_text
from ..hosts.bundle import read_bundle
from ..hosts.player_page import build_offline_page
from ..pictures import colours, film
from ..pictures.film import Film
from ..timeline.timeline_document import decode
from .race_document import RacingRun, describe_runners

if TYPE_CHECKING:
    from PIL.Image import Image

#: Pixels of a film: its width, and the distance between two runners.
_WIDTH, _GAP = 1600, 16
#: Pictures of a film: a GIF of nine seconds, an MP4 of eight at 30 a second.
_GIF_FRAMES, _MP4_FRAMES = 60, 240


def save_race(runs: Sequence[RacingRun], path: Path, language: str = "en", t: float | None = None) -> None:
    """Write a race as what the suffix says: `.html` (the page, offline), `.gif` or `.mp4`.

    Args:
        runs: The runs, each with its name and a note.
        path: The file to write.
        language: `en` or `zh`.
        t: Moment at which the page begins, seconds; None for the start.

    Raises:
        CollsimError: Where there is no ffmpeg to write an `.mp4`.
    """
    writers: dict[str, Callable[[], object]] = {
        ".gif": lambda: film.save_gif(_render_race(runs, language, _GIF_FRAMES), path),
        ".mp4": lambda: film.save_mp4(_render_race(runs, language, _MP4_FRAMES), path),
        ".html": lambda: path.write_text(build_race_page(runs, language, t), encoding="utf-8"),
    }
    writers[path.suffix]()


def build_race_page(runs: Sequence[RacingRun], language: str = "en", t: float | None = None) -> str:
    """One HTML file that plays a race without a server or a network.

    Args:
        runs: The runs, each with its name and a note.
        language: `en` or `zh`.
        t: Moment at which it begins, seconds; None for the start.
    """
    title = f"{', '.join(run.name for run in runs)}, collsim"
    data = {"runners": describe_runners(runs, language)}
    return build_offline_page(read_bundle("race_page"), data, title, {"language": language, "theme": None, "t": t})


def _name_film(run: RacingRun, language: str) -> Film:
    """The film of a run, headed by what tells it from the others."""
    document = decode(run.runner.timeline)
    document["meta"]["title"] = map_languages(repeat_text(run.name))
    return Film.from_timeline(document, language)


def _render_race(runs: Sequence[RacingRun], language: str, frames: int) -> Iterator[Image]:
    """The pictures of the film; a run that has ended stays as it is."""
    require_package("PIL")
    from PIL import Image

    films = [_name_film(run, language) for run in runs]
    wide = (_WIDTH - _GAP * (len(films) - 1)) // len(films)
    heights = [round(each.size[1] * wide / each.size[0]) for each in films]
    tall = 2 * ((max(heights) + 1) // 2)
    for t in np.linspace(0.0, max(each.time for each in films), frames):
        picture = Image.new("RGB", (_WIDTH, tall), colours.CARD)
        for number, (each, height) in enumerate(zip(films, heights, strict=True)):
            frame = each.render_frame(min(float(t), each.time))
            picture.paste(frame.resize((wide, height), Image.Resampling.LANCZOS), (number * (wide + _GAP), 0))
        yield picture
