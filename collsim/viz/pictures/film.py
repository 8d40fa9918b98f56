"""A run as a short film: devices, links coloured by their use in the current step, chunks on their way, the clock.
Pillow only.

The picture is simpler than the player's but true to it: a chunk takes on each hop the share of its time that this hop
alone needs.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...errors import CollsimError, Sentence
from ...errors.dependencies import require_package
from ...locale import translate
from ..sentences import words
from ..timeline.timeline_document import build_timeline
from ..timeline.timeline_types import Timeline
from . import colours
from .machine_picture import get_text

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

    from ...simulate import Trace

_WIDTH = 760  # pixels of the finished film
_FINE = 2  # drawn so many times larger, then reduced, for smooth lines
_FOOT, _HEAD = 40, 44
_SECONDS = 9.0
_MAX_TOKENS = 400
_FACES = ("NotoSansCJK-Regular.ttc", "LiberationSans-Regular.ttf", "Arial.ttf", "DejaVuSans.ttf")


def write_gif(trace: Trace, path: Path, language: str = "en", frames: int = 60) -> None:
    """An animated GIF of about nine seconds that repeats forever.

    Args:
        trace: The run.
        path: The file to write.
        language: `en` or `zh`.
        frames: Number of pictures, 2 to 1000.
    """
    save_gif(_render_frames(trace, language, frames), path)


def save_gif(pictures: Iterable[Image], path: Path) -> None:
    """Write pictures of one size as an animated GIF.

    Args:
        pictures: The pictures, in their order.
        path: The file to write.
    """
    require_package("PIL")
    from PIL.Image import Dither, Quantize

    # A film keeps its colours down: a palette of 64 makes a file of a third of the bytes.
    pictures = [picture.quantize(colors=64, method=Quantize.FASTOCTREE, dither=Dither.NONE) for picture in pictures]
    pause = max(20, int(1000 * _SECONDS / len(pictures)))
    film = {"save_all": True, "append_images": pictures[1:], "loop": 0, "disposal": 1}
    film["duration"] = [*([pause] * (len(pictures) - 1)), 1600]
    pictures[0].save(path, format="GIF", optimize=True, **film)


def _find_ffmpeg() -> str:
    """The program on the path, or the one that the package imageio-ffmpeg brings."""
    if program := shutil.which("ffmpeg"):
        return program
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    except (ImportError, RuntimeError) as error:
        message = Sentence(
            "writing .mp4 needs the program ffmpeg, which is not installed here (pip install imageio-ffmpeg brings one)"
        )
        raise CollsimError("{reason}; or save as .gif or .html", reason=message) from error


def write_mp4(trace: Trace, path: Path, language: str = "en", frames: int = 240) -> None:
    """An H.264 film.

    Args:
        trace: The run.
        path: The file to write.
        language: `en` or `zh`.
        frames: Number of pictures, 2 to 1000.

    Raises:
        CollsimError: Where there is no ffmpeg to write it.
    """
    save_mp4(_render_frames(trace, language, frames), path)


def save_mp4(pictures: Iterator[Image], path: Path) -> None:
    """Write pictures of one size as an H.264 film of 30 a second.

    Args:
        pictures: The pictures, in their order.
        path: The file to write.

    Raises:
        CollsimError: Where there is no ffmpeg to write it.
    """
    ffmpeg = _find_ffmpeg()
    # Frames go through a pipe: thousands of pictures would fill the disk.
    first = next(pictures).convert("RGB")
    frames = f"-f rawvideo -pix_fmt rgb24 -video_size {first.width}x{first.height} -framerate 30 -i -"
    # H.264 wants even sizes; padding by a pixel is invisible.
    target = "-vf pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white -pix_fmt yuv420p -movflags +faststart"
    command = [ffmpeg, "-y", "-loglevel", "error", *frames.split(), *target.split(), str(path)]
    with tempfile.TemporaryFile() as errors, subprocess.Popen(command, stdin=subprocess.PIPE, stderr=errors) as process:
        assert process.stdin is not None
        # ffmpeg may end early; what it said is read below.
        with contextlib.suppress(BrokenPipeError), process.stdin as film:
            for picture in itertools.chain([first], pictures):
                film.write(picture.convert("RGB").tobytes())
        if process.wait():
            errors.seek(0)
            message = "ffmpeg could not write the film: {text}"
            raise CollsimError(message, text=errors.read().decode(errors="replace").strip()[-300:])


def _render_frames(trace: Trace, language: str, frames: int) -> Iterator[Image]:
    require_frames(frames)
    film = Film.from_timeline(build_timeline(trace, inside=False), language)
    return (film.render_frame(t) for t in np.linspace(0.0, film.time, frames))


def require_frames(frames: int) -> None:
    """Raise CollsimError for a number of pictures that makes no film.

    Args:
        frames: Number of pictures.
    """
    if not 2 <= frames <= 1000:
        raise CollsimError("frames={frames!r} must be 2 to 1000", frames=frames)


@dataclass(frozen=True, eq=False)
class Film:
    """A timeline, ready to be drawn at any moment.

    Attributes:
        document: The timeline.
        language: `en` or `zh`.
        time: Seconds that the run takes.
        scale: Drawn pixels per pixel of the stage.
        size: Width and height in pixels.
        t0: When each transfer begins, in s.
        t1: When each transfer ends, in s.
        step: Step of each transfer.
        font: Path of the font; None for the default one.
        first: Where the hops of each transfer begin in `hops`, if the timeline has them.
        still: Image of what does not move, of the step that was drawn last.
    """

    document: Timeline
    language: str
    time: float
    scale: float
    size: tuple[int, int]
    t0: npt.NDArray[np.float64]
    t1: npt.NDArray[np.float64]
    step: npt.NDArray[np.int64]
    font: str | None
    first: npt.NDArray[np.int64] | None  # where the hops of each transfer begin in `hops`, if the timeline has them
    still: dict[int, Image] = field(default_factory=dict)  # what does not move, of the step drawn last

    @classmethod
    def from_timeline(cls, document: Timeline, language: str) -> Film:
        """A film of a run.

        Args:
            document: The timeline of the run (docs/timeline.md).
            language: "en" or "zh"; English where no font has Chinese characters.
        """
        stage, t = document["stage"], document["transfers"]
        scale = min(1.3, _WIDTH / stage["w"])
        size = (int(max(420.0, stage["w"] * scale)), int(stage["h"] * scale) + _HEAD + _FOOT)
        font = next((name for name in _FACES if _can_load_font(name)), None)
        if font != _FACES[0] and language == "zh":
            language = "en"
        return cls(
            document,
            language,
            float(document["figures"]["time"]),
            scale * _FINE,
            size,
            np.array(t["t0"]),
            np.array(t["t1"]),
            np.array(t["step"], int),
            font,
            _find_first_hops(document),
        )

    def render_frame(self, t: float) -> Image:
        """The picture at one moment (seconds).

        Args:
            t: Moment of the run, seconds.
        """
        require_package("PIL")
        from PIL import Image, ImageDraw

        step = self._find_step(t)
        if step not in self.still:
            self.still.clear()
            self.still[step] = Image.new("RGB", (self.size[0] * _FINE, self.size[1] * _FINE), colours.CARD)
            pen, use = ImageDraw.Draw(self.still[step]), self._measure_use(step)
            self._draw_panels(pen)
            self._draw_links(pen, use)
            self._draw_devices(self.still[step], pen, use)
        picture = self.still[step].copy()
        pen = ImageDraw.Draw(picture)
        self._draw_tokens(pen, t)
        self._draw_texts(pen, t, step)
        return picture.resize(self.size, Image.Resampling.BOX)

    # ---- facts

    def _find_step(self, t: float) -> int:
        starts = self.document["steps"]["t0"]
        if starts:
            return max(0, int(np.searchsorted(starts, t + 1e-15, side="right")) - 1)
        return -1

    def _measure_use(self, step: int) -> dict[int, float]:
        """Share of capacity that each link uses in a step."""
        document = self.document
        if step < 0:
            return {}
        length = document["steps"]["t1"][step] - document["steps"]["t0"][step] or np.inf
        carried: dict[int, float] = {}
        routes = document["routes"]
        for i in np.flatnonzero(self.step == step).tolist():
            route = document["transfers"]["route"][i]
            for link in routes["link"][routes["start"][route] : routes["start"][route + 1]]:
                carried[link] = carried.get(link, 0.0) + document["transfers"]["bytes"][i]
        rate = document["links"]["bandwidth"]
        return {link: nbytes / rate[link] / length for link, nbytes in carried.items()}

    def _locate_transfer(self, i: int, t: float) -> tuple[float, float] | None:
        """Where transfer i is at time t, in pixels of the stage."""
        document, links = self.document, self.document["links"]
        route = document["transfers"]["route"][i]
        hops = document["routes"]["link"][document["routes"]["start"][route] : document["routes"]["start"][route + 1]]
        if not hops:
            return None
        nbytes = document["transfers"]["bytes"][i]
        if self.first is not None:
            return self._locate_on_hop(hops, int(self.first[i]), t)
        need = np.array([links["alpha"][h] + nbytes / links["bandwidth"][h] for h in hops])
        done = (t - self.t0[i]) / (self.t1[i] - self.t0[i]) * need.sum()
        hop = min(int(np.searchsorted(np.cumsum(need), done)), len(hops) - 1)
        part = 1.0
        if need[hop]:
            part = (done - need[:hop].sum()) / need[hop]
        return self._interpolate_path(hops[hop], float(part))

    def _locate_on_hop(self, hops: list[int], first: int, t: float) -> tuple[float, float]:
        """The same where each hop has times of its own: between two hops a chunk waits at the end of the one it has
        crossed."""
        begin, end = (self.document["hops"][k][first : first + len(hops)] for k in ("t0", "t1"))
        hop = max(0, int(np.searchsorted(begin, t, side="right")) - 1)
        part = 1.0
        if end[hop] > begin[hop]:
            part = (t - begin[hop]) / (end[hop] - begin[hop])
        return self._interpolate_path(hops[hop], part)

    def _interpolate_path(self, link: int, part: float) -> tuple[float, float]:
        """The point after this part of a link's polyline."""
        path = np.array(self.document["links"]["path"][link]).reshape(-1, 2)
        along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(path, axis=0).T))])
        position = min(1.0, max(0.0, part)) * along[-1]
        return float(np.interp(position, along, path[:, 0])), float(np.interp(position, along, path[:, 1]))

    # ---- drawing

    def _to_pixels(self, x: float, y: float) -> tuple[float, float]:
        return x * self.scale, y * self.scale + _HEAD * _FINE

    def _get_font(self, size: float) -> FreeTypeFont | ImageFont:
        from PIL import ImageFont

        pixels = max(6.0, size * _FINE)
        if self.font is None:
            return ImageFont.load_default(pixels)
        return ImageFont.truetype(self.font, pixels)

    def _draw_panels(self, pen: ImageDraw) -> None:
        for p in self.document["panels"]:
            (x, y), (right, bottom) = self._to_pixels(p["x"], p["y"]), self._to_pixels(p["x"] + p["w"], p["y"] + p["h"])
            pen.rounded_rectangle(
                (x, y, right, bottom), 8 * _FINE, fill=colours.SUNK, outline=colours.LINE, width=_FINE
            )
            text_y = y + 4 * _FINE
            if p["foot"]:
                text_y = bottom - 15 * _FINE
            label, font = get_text(p["label"], self.language), self._get_font(10)
            pen.text((x + 10 * _FINE, text_y), label, fill=colours.INK2, font=font)

    def _draw_links(self, pen: ImageDraw, use: dict[int, float]) -> None:
        links = self.document["links"]
        for i in sorted(range(len(links["path"])), key=lambda i: use.get(i, -1.0)):
            path = links["path"][i]
            points = [self._to_pixels(path[q], path[q + 1]) for q in range(0, len(path), 2)]
            wide = max(1.5, self.document["stage"]["pipe"] * sqrt(links["bandwidth"][i] / 1e9)) * self.scale
            share = use.get(i, 0.0)
            if share <= 0:
                pen.line(points, fill=colours.IDLE, width=max(1, int(wide)), joint="curve")
                if wide > 7 * _FINE:
                    pen.line(points, fill=colours.SUNK, width=int(wide - 3 * _FINE), joint="curve")
                continue
            name = colours.classify_use(share)
            pen.line(points, fill=colours.TINT[name], width=max(2, int(wide)), joint="curve")
            pen.line(points, fill=colours.USE[name], width=max(2, int(wide * sqrt(min(1.0, share)))), joint="curve")

    def _draw_upright_label(self, picture: Image, label: str, x: float, y: float, room: float) -> None:
        """A label that reads upwards, in a tall box."""
        from PIL import Image, ImageDraw

        font = self._get_font(10)
        wide = int(ImageDraw.Draw(picture).textlength(label, font=font)) + 4
        if wide > room:
            return
        strip = Image.new("RGB", (wide, 14 * _FINE), colours.CARD)
        ImageDraw.Draw(strip).text((wide / 2, 7 * _FINE), label, fill=colours.INK, font=font, anchor="mm")
        rotated = strip.rotate(90, expand=True)
        picture.paste(rotated, (int(x - rotated.width / 2), int(y - rotated.height / 2)))

    def _draw_devices(self, picture: Image, pen: ImageDraw, use: dict[int, float]) -> None:
        d, links = self.document["devices"], self.document["links"]
        live = {e for link in use for e in (links["src"][link], links["dst"][link])}
        for i in range(len(d["kind"])):
            x, y = self._to_pixels(d["x"][i], d["y"][i])
            right, bottom = self._to_pixels(d["x"][i] + d["w"][i], d["y"][i] + d["h"][i])
            outline, width, ink, largest = colours.EDGE, _FINE, colours.INK3, 9.0
            if i in live:
                outline, width, ink = colours.INK, int(1.4 * _FINE), colours.INK
            if d["endpoint"][i] >= 0:
                ink, largest = colours.INK, 14.0
            pen.rounded_rectangle((x, y, right, bottom), 3 * _FINE, fill=colours.CARD, outline=outline, width=width)
            label = get_text(d["label"][i], self.language)
            if not label:
                continue
            # In tall, narrow boxes the label is upright.
            if bottom - y > 1.7 * (right - x):
                self._draw_upright_label(picture, label, (x + right) / 2, (y + bottom) / 2, bottom - y)
                continue
            font = self._get_font(min(largest, (bottom - y) / _FINE * 0.6))
            if pen.textlength(label, font=font) <= right - x - 2 and bottom - y >= 8 * _FINE:
                pen.text(((x + right) / 2, (y + bottom) / 2), label, fill=ink, font=font, anchor="mm")

    def _draw_tokens(self, pen: ImageDraw, t: float) -> None:
        """Chunks on their way: a square adds on arrival, a circle replaces."""
        moving = np.flatnonzero((self.t0 <= t) & (t < self.t1))
        # More tokens than can be told apart are thinned out evenly.
        drawn = moving[:: max(1, len(moving) // _MAX_TOKENS)].tolist()
        has_numbers = len(drawn) <= 40
        half = 4.0 * _FINE
        if has_numbers:
            half = 9.0 * _FINE
        font = self._get_font(9)
        transfers = self.document["transfers"]
        for i in drawn:
            position = self._locate_transfer(i, t)
            if position is None:
                continue
            x, y = self._to_pixels(*position)
            box = (x - half, y - half, x + half, y + half)
            if transfers["reduce"][i]:
                ink = colours.INK
                pen.rounded_rectangle(box, 3 * _FINE, fill=colours.SUM, outline=ink, width=_FINE)
            else:
                ink = colours.CARD
                pen.ellipse(box, fill=colours.DONE, outline=ink, width=_FINE)
            if has_numbers:
                pen.text((x, y), str(transfers["chunk"][i]), fill=ink, font=font, anchor="mm")

    def _draw_texts(self, pen: ImageDraw, t: float, step: int) -> None:
        document, wide = self.document, self.size[0] * _FINE
        title = get_text(document["meta"]["title"], self.language)
        pen.text((12 * _FINE, 9 * _FINE), title, fill=colours.INK, font=self._get_font(15))
        base = (self.size[1] - _FOOT) * _FINE
        count = len(document["steps"]["t0"])
        phase = next(
            (get_text(p["label"], self.language) for p in document["phases"] if p["first"] <= step <= p["last"]), ""
        )
        step_text = ""
        if count:
            step_text = translate(self.language, "pictures", "film.step", number=step + 1, count=count, phase=phase)
        clock = f"{words.format_duration(t)} / {words.format_duration(self.time)}"
        pen.text((12 * _FINE, base + 6 * _FINE), step_text, fill=colours.INK, font=self._get_font(12))
        pen.text((wide - 12 * _FINE, base + 6 * _FINE), clock, fill=colours.INK, font=self._get_font(12), anchor="ra")
        y = base + 29 * _FINE
        left, right = 12 * _FINE, wide - 12 * _FINE
        pen.line((left, y, right, y), fill=colours.GRID, width=4 * _FINE)
        if self.time:
            pen.line((left, y, left + (right - left) * t / self.time, y), fill=colours.INK, width=4 * _FINE)


def _find_first_hops(document: Timeline) -> npt.NDArray[np.int64] | None:
    if "hops" not in document:
        return None
    counts = np.diff(document["routes"]["start"])[document["transfers"]["route"]]
    return np.concatenate([[0], np.cumsum(counts)])


def _can_load_font(name: str) -> bool:
    require_package("PIL")
    from PIL import ImageFont

    try:
        ImageFont.truetype(name, 12)
    except OSError:
        return False
    return True
