"""The switches of a fabric above what hangs on them: one bar, or a band for each level with its name and number of
switches."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import ceil

from ...locale import build_text, has_text, map_languages, repeat_text
from .geometry import Box
from .reduction import Picture
from .shapes import Panel, split_number
from .sheet import Sheet, name_fabric

_NARROW = 76.0  # below this a switch stands upright, so that its name fits
_ILLEGIBLE = 18.0  # below this it has no name; the band says what it is
_UPRIGHT = 72.0
_TITLE = 152.0  # room for a band's name, left of its switches
_BETWEEN = 26.0  # between two rows and the levels that are between them
_NAMED_SLOT = 60.0  # there: pixels of a switch that has its name written level


def find_levels(picture: Picture, lowest: list[int]) -> list[list[int]]:
    """Switches by their distance to `lowest` (cards or nodes): leaves, what is above them, and so on; those of one name
    stay together.

    Args:
        picture: What is drawn of the topology.
        lowest: Devices at the bottom (cards or nodes).
    """
    # Breadth first: `order` grows while it is walked, so each switch is met over its shortest way from below.
    near, far, order = picture.neighbours(), dict.fromkeys(lowest, 0), list(lowest)
    for d in order:
        for s in near[d]:
            if picture.kind[s] == "switch" and s not in far:
                far[s] = far[d] + 1
                order.append(s)
    least: dict[str, int] = {}
    for d in order[len(lowest) :]:
        least.setdefault(_get_switch_word(picture, d), far[d])
    levels: dict[int, list[int]] = {}
    for d in sorted(order[len(lowest) :]):
        levels.setdefault(least[_get_switch_word(picture, d)], []).append(d)
    return [levels[height] for height in sorted(levels)]


def _get_switch_word(picture: Picture, switch: int) -> str:
    """`leaf` of `fabric/leaf3`."""
    return split_number(picture.name[switch])[0]


def place_fabric_on_top(sheet: Sheet, cards: list[int], left: float, right: float) -> None:
    """Boxes, bands and cables of the fabric above the cards, whose boxes are there already; y grows upwards from -8 to
    less.

    Args:
        sheet: The sheet that is being drawn; boxes, cables and names are added to it.
        cards: Devices below the fabric, whose boxes are there already.
        left: Left edge of the space, CSS pixels.
        right: Right edge of the space, CSS pixels.
    """
    picture = sheet.picture
    levels = find_levels(picture, cards)
    switches = [d for level in levels for d in level]
    if not switches:
        return
    near, y, below = picture.neighbours(), min(sheet.boxes[d].y for d in cards), set(cards)
    y = min(0.0, y)
    for level in levels:
        level.sort(key=lambda d: (_compute_mean([sheet.boxes[n].cx for n in near[d] if n in below]), d))
        y = _place_level(sheet, level, left, right, y, alone=len(switches) == 1)
        _align_over_members(sheet, level, below)
        below = set(level)
    name_fabric(sheet, switches)
    for lower, level in pairwise([cards, *levels]):
        _draw_upward_cables(sheet, set(lower), set(level))
        _draw_cables_along(sheet, level)


def _place_level(sheet: Sheet, level: list[int], left: float, right: float, y: float, *, alone: bool) -> float:
    """Boxes of one level and its band; the y of the band's top."""
    picture = sheet.picture
    slot = (right - left) / len(level)
    if alone:
        tall = 40.0
    elif slot >= _NARROW:
        tall = 26.0
    elif slot >= _ILLEGIBLE:
        tall = _UPRIGHT
    else:
        tall = 20.0
    along = {n for d in level for n in picture.neighbours()[d]} & set(level)
    arcs = 0.0
    if len(along) and len(level) > 2:
        arcs = 8.0 * min(6, len(level) - 1)
    if alone:
        gap = 30.0
    else:
        # Many cables need height, or they would run nearly level and could not be told apart; by eye, within limits.
        gap = max(44.0, min(84.0, 3.0 * sum(len(picture.neighbours()[d]) for d in level) ** 0.75))
    bottom = y - gap
    inner, wide = 0.0, slot
    if not alone:
        inner, wide = 6.0, slot - min(12.0, slot * 0.25)
    top = bottom - inner - tall
    if tall == _UPRIGHT:
        wide = min(wide, 30.0)
    for i, d in enumerate(level):
        sheet.boxes[d] = Box(left + (i + 0.5) * slot - wide / 2, top, wide, tall)
    if alone:
        return top
    word = _get_switch_word(picture, level[0])
    name = repeat_text(word)
    if has_text("pictures", f"layout.level.{word}"):
        name = build_text("pictures", f"layout.level.{word}")
    band = Box(left - _TITLE, top - inner - arcs, right - left + _TITLE + 8, tall + 2 * inner + arcs)
    sheet.panels.append(Panel(band, map_languages(name), map_languages(repeat_text(f"× {len(level)}")), -1))
    return band.y


def _align_over_members(sheet: Sheet, level: list[int], below: set[int]) -> None:
    """Switches that share nothing below them stand as wide as what is theirs, so that cables go straight up."""
    near = sheet.picture.neighbours()
    spans = []
    for d in level:
        boxes = [sheet.boxes[n] for n in near[d] if n in below]
        spans.append((min(b.x for b in boxes), max(b.right for b in boxes)) if boxes else (0.0, -1.0))
    are_separate = all(left_span[1] + 10 < right_span[0] for left_span, right_span in pairwise(spans)) and all(
        high - low > _NARROW for low, high in spans
    )
    if are_separate and len(level) > 1:
        for d, (low, high) in zip(level, spans, strict=True):
            sheet.boxes[d] = replace(sheet.boxes[d], x=low - 4, w=high - low + 8)


def _draw_upward_cables(sheet: Sheet, low: set[int], high: set[int]) -> None:
    """From boxes up to the switches above them: straight up where they can be, else slanting between two short upright
    ends."""
    near = sheet.picture.neighbours()
    for d in [*low, *high]:
        ends = [n for n in near[d] if n in (high if d in low else low)]
        if len(ends) > 1:
            sheet.narrow_cables([(d, n) for n in ends], 0.42 * sheet.boxes[d].w / len(ends))
    for n in low:
        for d in near[n]:
            if d in high:
                lower, upper = sheet.boxes[n], sheet.boxes[d]
                x = min(max(lower.cx, upper.x + 6), upper.right - 6)
                if lower.x < x < lower.right and len(high & set(near[n])) == 1:
                    sheet.add_cable(n, d, (x, lower.y), (x, upper.bottom))
                    continue
                start, end = _find_port(sheet, n, d, high & set(near[n])), _find_port(sheet, d, n, low & set(near[d]))
                stub = sheet.get_width(n, d) + 4
                sheet.add_cable(
                    n, d, (start, lower.y), (start, lower.y - stub), (end, upper.bottom + stub), (end, upper.bottom)
                )


def _find_port(sheet: Sheet, device: int, other: int, others: set[int]) -> float:
    """Where on the edge of a box the cable to `other` ends: in the order in which all of them stand, so that they do
    not cross there."""
    box, order = sheet.boxes[device], sorted(others, key=lambda d: (sheet.boxes[d].cx, d))
    room = box.w - min(12.0, box.w / 2)
    return box.cx + room * ((order.index(other) + 0.5) / len(order) - 0.5)


def _draw_cables_along(sheet: Sheet, level: list[int]) -> None:
    """Cables between switches of one level: neighbours side to side, others in arcs above."""
    pairs = [(i, k) for i in range(len(level)) for k in range(i + 1, len(level)) if sheet.is_linked(level[i], level[k])]
    far = sorted((p for p in pairs if p[1] - p[0] > 1), key=lambda p: p[1] - p[0])
    for i, k in pairs:
        first, second = sheet.boxes[level[i]], sheet.boxes[level[k]]
        if k == i + 1:
            sheet.add_cable(level[i], level[k], (first.right, first.cy), (second.x, second.cy))
            continue
        lane = far.index((i, k))
        y = first.y - 5 - 8.0 * min(6, len(level) - 1) * (lane + 0.5) / ceil(len(far))
        out = first.w * (0.3 + 0.15 * (lane % 3))
        sheet.add_cable(
            level[i],
            level[k],
            (first.cx + out / 2, first.y),
            (first.cx + out / 2, y),
            (second.cx - out / 2, y),
            (second.cx - out / 2, second.y),
        )


# ---- between two rows, on a narrow screen


def sort_between(picture: Picture, upper: list[int], lower: list[int]) -> list[list[int]]:
    """Levels of switches from the upper row down to the lower one: those that only one row touches are on its side.

    Args:
        picture: What is drawn of the topology.
        upper: Devices of the upper row that hang on the fabric; it may be empty.
        lower: Those of the lower row.
    """
    levels, near = find_levels(picture, [*upper, *lower]), picture.neighbours()
    if not levels or not upper:
        return levels
    above, below = ([d for d in levels[0] if not set(near[d]) & set(others)] for others in (lower, upper))
    shared = [d for d in levels[0] if d not in above and d not in below]
    return [level for level in (above, shared, *levels[1:], below) if level]


def is_in_rows(picture: Picture, rows: list[list[int]]) -> bool:
    """Whether each cable of the fabric joins two rows that are next to each other, so that none passes behind a switch.

    Args:
        picture: What is drawn of the topology.
        rows: The upper row, switches level by level, and the lower row.
    """
    row_of = {d: k for k, row in enumerate(rows) for d in row}
    pairs = zip(picture.src.tolist(), picture.dst.tolist(), strict=True)
    return all(abs(row_of[a] - row_of[b]) == 1 for a, b in pairs if a in row_of and b in row_of)


def place_levels_between(sheet: Sheet, levels: list[list[int]], y: float, left: float, right: float) -> float:
    """Boxes of the fabric below `y`, a row for each level; the y at which what follows begins.

    Args:
        sheet: The sheet that is being drawn; boxes and names are added to it.
        levels: Switches from the upper row down to the lower one.
        y: Lower edge of what is above, CSS pixels.
        left: Left edge of the space, CSS pixels.
        right: Right edge of the space, CSS pixels.
    """
    for level in levels:
        slot = (right - left) / len(level)
        wide = slot - 4
        tall = max(60.0, 1.75 * wide)  # so that the player writes its name upright
        if slot > _NAMED_SLOT:
            tall = 26.0
        y += _BETWEEN
        for i, d in enumerate(level):
            sheet.boxes[d] = Box(left + i * slot + 2, y, wide, tall)
        y += tall
    name_fabric(sheet, [d for level in levels for d in level])
    return y + _BETWEEN


def draw_cables_between(sheet: Sheet, rows: list[list[int]]) -> None:
    """From devices to switches above or below them: straight where one is over the other, else slanting.

    Args:
        sheet: The sheet that is being drawn; cables are added to it.
        rows: The upper row, switches level by level, and the lower row, whose boxes are there already.
    """
    switches = {d for level in rows[1:-1] for d in level}
    for device in [d for row in rows for d in row]:
        box = sheet.boxes[device]
        for switch in switches & set(sheet.picture.neighbours()[device]):
            other = sheet.boxes[switch]
            x = box.cx
            if box.w > other.w:
                x = min(max(other.cx, box.x + 6), box.right - 6)
            end = min(max(x, other.x + 6), other.right - 6)
            if other.y > box.y:
                sheet.add_cable(device, switch, (x, box.bottom), (end, other.y))
            else:
                sheet.add_cable(device, switch, (x, box.y), (end, other.bottom))


def _compute_mean(values: list[float]) -> float:
    if values:
        return sum(values) / len(values)
    return 0.0
