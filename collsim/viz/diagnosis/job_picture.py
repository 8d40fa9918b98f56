"""The machine of a diagnosed job as SVG: what the job used laid over what it could use, with the numbers of its causes.

Colours are those of the page (`--cs-...`), so that one picture serves both themes. A page chooses the layers by
`data-layer` of the root: `both`, `used` or `could` (`collsim/app/styles/job_machine.css`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import sqrt

import numpy as np
import numpy.typing as npt

from ...diagnosis import Diagnosis
from ...errors import CollsimError
from ...locale import translate
from ...topology import Topology
from ..layout.arrangement import lay_out
from ..layout.geometry import Box, Point
from ..layout.node_layout import lay_out_node
from ..layout.shapes import Label, StageLayout
from ..pictures.svg import draw_element, draw_text, wrap_svg
from .job_links import Bools, JobLinks, find_job_links, find_parts, list_causes_of_job

Ints = npt.NDArray[np.int64]
_PLATE, _GAP, _TOP = 28.0, 10.0, 4.0  # px: height of a plate, space around it, above the picture
_FONT, _SMALL = 14.0, 12.0  # px: of plates and of boxes at least
_LETTER, _CAPITAL = 0.56, 0.68  # of the size of the font: width of a letter and of a capital on average
_LAST_NARROW = 0x2E7F  # the character before those of East Asia
_ROUND = 10.0  # px: radius of a finding's number
_MIN_DOWN = 0.92  # px of a unit of the arrangement
_MAX_SOCKETS = 4  # in a row that has room for wider boxes
_WIDEST, _THINNEST = 13.0, 2.0  # px of a cable


@dataclass(frozen=True)
class _Sheet:
    """The arrangement of a machine, and how many px a unit of it is across and down: small pictures are not lower, so
    that names have room."""

    stage: StageLayout
    link_of: Ints
    scale: float
    down: float
    top: float

    @property
    def bottom(self) -> float:
        """Below the lowest box and cable, px."""
        lowest = [box.bottom for box in self.stage.boxes] + [y for line in self.stage.lines for _, y in line]
        return self.top + max(lowest) * self.down

    def place(self, box: Box) -> Box:
        return Box(box.x * self.scale, self.top + box.y * self.down, box.w * self.scale, box.h * self.down)

    def move(self, line: Sequence[Point]) -> list[Point]:
        return [(x * self.scale, self.top + y * self.down) for x, y in line]


def draw_job_picture(diagnosis: Diagnosis, language: str = "en", width: int = 544) -> str:
    """Draw the machine of a job; of several nodes that are alike the first.

    Args:
        diagnosis: of the job.
        language: `en` or `zh`.
        width: of the picture, px.

    Returns:
        An SVG element with a label for screen readers; "" where the evidence describes no machine, or one that is too
        large to draw.
    """
    machine = diagnosis.machine
    if machine is None:
        return ""
    links = find_job_links(machine, diagnosis.used)
    try:
        sheet = _arrange(machine, links, width)
    except CollsimError:
        return ""
    parts = [
        *_draw_plates(diagnosis, sheet, links, language, width),
        *_draw_links(sheet, links),
        *_draw_boxes(diagnosis, machine, sheet, links, language),
    ]
    height = sheet.bottom + _TOP
    if diagnosis.possible is not None:
        height += _GAP + _PLATE
    return wrap_svg(parts, "jp", _describe(diagnosis, language), width, height, data_layer="both")


def _arrange(machine: Topology, links: JobLinks, width: int) -> _Sheet:
    carried = links.possible.copy()
    if links.used is not None:
        carried |= links.used
    if not carried.any():
        carried[:] = True
    arranged = None
    if int(machine.devices.node.max(initial=-1)) >= 0:
        arranged = lay_out_node(machine, carried)
    if arranged is None:
        stage = lay_out(machine, carried)
        link_of = stage.picture.link_of
    else:
        stage, link_of = arranged
    scale = width / max(stage.w, 1.0)
    return _Sheet(stage, link_of, scale, max(scale, _MIN_DOWN), _TOP + _PLATE + _GAP)


def _describe(diagnosis: Diagnosis, language: str) -> str:
    """What the picture shows, in words."""
    words = []
    if diagnosis.machine is not None:
        words.append(diagnosis.machine.name)
    for key, path in (("picture.used", diagnosis.used), ("picture.could", diagnosis.possible)):
        if path is not None:
            words.append(translate(language, "diagnosis", key, path=path.text(language)))
    return "; ".join(words)


# ---- plates --------------------------------------------------------------------------------------------------------


def _draw_plates(diagnosis: Diagnosis, sheet: _Sheet, links: JobLinks, language: str, width: int) -> Iterator[str]:
    """What was used above the machine, with the causes that sit in no part of it, and what could be used below."""
    numbers = list_causes_of_job(diagnosis)
    kind = "free"
    if links.is_staged:
        kind = "staged"
    text = translate(language, "diagnosis", "picture.unknown")
    if diagnosis.used is not None:
        text = translate(language, "diagnosis", "picture.used", path=diagnosis.used.text(language))
    yield f'<g class="used plate lit" data-findings="{_join(numbers)}">'
    yield _draw_plate(text, Box(1, _TOP, width - 2, _PLATE), kind, len(numbers))
    yield "</g>"
    for position, number in enumerate(reversed(numbers[:4])):
        yield _draw_number(number, width - 18 - position * (2 * _ROUND + 3), _TOP + _PLATE / 2)
    if diagnosis.possible is not None:
        text = translate(language, "diagnosis", "picture.could", path=diagnosis.possible.text(language))
        top = sheet.bottom + _GAP
        yield '<g class="could plate lit" data-findings="">'
        yield _draw_plate(text, Box(1, top, width - 2, _PLATE), "free", 0)
        yield "</g>"


def _draw_plate(text: str, box: Box, kind: str, numbers: int) -> str:
    room = box.w - 12 - numbers * (2 * _ROUND + 3)
    size = min(_FONT, max(_SMALL, room / max(1.0, _measure(text, 1.0))))
    text = _shorten(text, room, size)
    return _draw_rect(kind, box, 5) + _draw_name(text, box.x + 6 + room / 2, box.cy + size * 0.35, size, 700)


def _draw_rect(kind: str, box: Box, radius: int) -> str:
    return draw_element("rect", class_=kind, x=box.x, y=box.y, width=box.w, height=box.h, rx=radius)


def _draw_name(text: str, x: float, y: float, size: float, weight: int) -> str:
    return draw_text(text, x, y, font_size=size, font_weight=weight, text_anchor="middle")


def _measure(text: str, size: float) -> float:
    """Width of a text, px: characters beyond Latin are as wide as they are high."""
    capitals = sum(letter.isupper() for letter in text)
    wide = sum(ord(letter) > _LAST_NARROW for letter in text)
    return size * (wide + _CAPITAL * capitals + _LETTER * (len(text) - wide - capitals))


def _shorten(text: str, room: float, size: float) -> str:
    if _measure(text, size) <= room:
        return text
    while text and _measure(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip(" ,，:：") + "…"


# ---- links ---------------------------------------------------------------------------------------------------------


def _draw_links(sheet: _Sheet, links: JobLinks) -> Iterator[str]:
    """The widest below. What could be used is a casing; what was used is a core in it, or alone."""
    stage = sheet.stage
    count = len(stage.lines)
    possible, used = _fold(links.possible, sheet.link_of, count), np.zeros(count, bool)
    if links.used is not None:
        used = _fold(links.used, sheet.link_of, count)
    for number in sorted(range(count), key=lambda i: -float(stage.picture.bandwidth[i])):
        rate = float(stage.picture.bandwidth[number])
        wide = min(_WIDEST, max(_THINNEST, stage.pipe * sqrt(rate / 1e9) * sheet.scale))
        path = _write_path(sheet.move(stage.lines[number]))
        yield f'<path class="n" d="{path}" stroke-width="1"/>'
        if possible[number]:
            yield f'<g class="could"><path class="c" d="{path}" stroke-width="{wide + 2:.1f}"/>'
            yield f'<path class="t" d="{path}" stroke-width="{wide:.1f}"/></g>'
        if used[number]:
            kind = "u"
            if links.is_staged:
                kind = "u h"
            yield f'<g class="used"><path class="{kind}" d="{path}" stroke-width="{max(2.0, wide * 0.6):.1f}"/></g>'


def _fold(chosen: Bools, link_of: Ints, count: int) -> Bools:
    """(drawn links,) whether any of the links that each stands for is chosen."""
    folded = np.zeros(count, bool)
    folded[link_of[chosen & (link_of >= 0)]] = True
    return folded


def _write_path(line: Sequence[Point]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in line)


# ---- boxes ---------------------------------------------------------------------------------------------------------


def _draw_boxes(
    diagnosis: Diagnosis, machine: Topology, sheet: _Sheet, links: JobLinks, language: str
) -> Iterator[str]:
    """Devices, those of a cause lit; its number is on the last of them."""
    stage = sheet.stage
    findings: dict[int, list[int]] = {}
    for number, cause in enumerate(diagnosis.causes, 1):
        for device in find_parts(cause, machine):
            drawn = _find_drawn(sheet, machine, device)
            if drawn >= 0 and number not in findings.setdefault(drawn, []):
                findings[drawn].append(number)
    circles = []
    last = {number: device for device in sorted(findings) for number in findings[device]}
    for device, box in enumerate(map(sheet.place, stage.boxes)):
        kind = stage.picture.kind[device]
        numbers = findings.get(device, [])
        if kind in ("memory", "cpu") and stage.picture.kind.count("cpu") <= _MAX_SOCKETS:
            box = _widen(box, _get_text(stage.labels[device], language))
        yield f'<g class="lit" data-findings="{_join(numbers)}">'
        yield _draw_rect(_choose_class(kind, numbers, links), box, 4)
        yield _draw_label(stage.labels[device], box, kind, language)
        yield "</g>"
        for position, number in enumerate([number for number in numbers if last[number] == device][:3]):
            circles.append(_draw_number(number, box.right - position * (2 * _ROUND + 2), box.y - 1))
    yield from circles


def _find_drawn(sheet: _Sheet, machine: Topology, device: int) -> int:
    """The box of a device, by its name within the node; -1 where it is not drawn."""
    name = str(machine.devices.name[device])
    if name in sheet.stage.picture.name:
        return sheet.stage.picture.name.index(name)
    return -1


def _choose_class(kind: str, numbers: Sequence[int], links: JobLinks) -> str:
    if numbers:
        return "at"
    if kind in ("memory", "cpu") and links.is_staged:
        return "staged"
    if kind == "gpu":
        return "gpu"
    if kind == "nvswitch":
        return "free"
    return "part"


def _draw_label(label: Label, box: Box, kind: str, language: str) -> str:
    """The name, or the word of it that fits; nothing where none does."""
    label = _get_text(label, language)
    size = _SMALL
    if kind == "gpu":
        size = max(_SMALL, min(20.0, box.h * 0.55))
    words = label.split()
    for text in (label, " ".join(words[:1]), " ".join(words[-1:])):
        if text and _measure(text, size) <= box.w - 2:
            weight = 400
            if kind == "gpu":
                weight = 700
            return _draw_name(text, box.cx, box.cy + size * 0.36, size, weight)
    return f"<title>{escape(label)}</title>"


def _get_text(label: Label, language: str) -> str:
    if isinstance(label, dict):
        return label.get(language, label["en"])
    return label


def _widen(box: Box, text: str) -> Box:
    """A box that has room for its name: sockets and memory stand alone in their rows."""
    wide = max(box.w, _measure(text, _SMALL) + 8)
    return Box(box.cx - wide / 2, box.y, wide, box.h)


def _draw_number(number: int, x: float, y: float) -> str:
    kind = "num"
    if number == 1:
        kind = "num first"
    circle = draw_element("circle", class_=kind, cx=x, cy=y, r=_ROUND)
    digit = draw_text(str(number), x, y + 4.6, class_="digit", font_size=13, text_anchor="middle")
    return draw_element("g", circle + digit, class_="finding", data_findings=number)


def _join(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))
