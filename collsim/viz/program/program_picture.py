"""A rank program over time as SVG: when each rank waited and in which line, when messages moved, and a hang's cycle.

Colours are those of the page (`--cs-...`), so that one picture serves both themes. Its words are names of calls and
numbers, which are the same in every language.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from collsim.programs import ProgramRun
from collsim.programs.program_timing import RankSpan
from collsim.rank_engine.engine import Message
from collsim.units import format_bytes, format_time

from ...package_data import read_package_file
from ..pictures.svg import draw_element, draw_text, wrap_svg
from .playback import COUNTERS, build_counters, find_latencies

_LABELS, _CYCLE, _AXIS, _STUB = 62, 130, 26, 22  # px: ranks at the left, cycle at the right, time and stubs above
_COUNTER = 60  # px: a column of counters
_CHARACTER = 7.2  # px of a character of the labels, at most
_MAX_BANDS = 1_500  # more are a grey surface, and no browser draws them well


@dataclass(frozen=True)
class _Layout:
    """Positions in px: of times, and of the lanes of ranks."""

    width: int
    right: int  # width of the column for the cycle
    end: float  # s at the right end of the time column
    lane: int
    gap: int

    def find_x(self, moment: float) -> float:
        return _LABELS + moment / self.end * (self.width - _LABELS - self.right)

    def find_top(self, rank: int) -> int:
        return _AXIS + _STUB + rank * (self.lane + self.gap)


def draw_program_lanes(run: ProgramRun, width: int = 640, *, has_counters: bool = False) -> str:
    """Draw a run.

    Args:
        run: of a program.
        width: of the picture in px; texts that do not fit into their boxes are left out.
        has_counters: Whether it has a column each for what ranks sent, received and waited, beside the lanes of a
            program that ends; a page writes their heads (`data-head`).

    Returns:
        An SVG element, with a label for screen readers.
    """
    lane, gap = 26, 26
    if run.ranks > 12:
        lane, gap = 14, 12
    right = 12
    if run.verdict == "hangs":
        right = _CYCLE
    elif has_counters:
        right = len(COUNTERS) * _COUNTER + 8
    timeline = run.timeline
    end = max(timeline.time, 1e-9)
    if run.verdict == "hangs":
        end *= 1.6  # room for what lasts forever
    layout = _Layout(width, right, end, lane, gap)
    height = layout.find_top(run.ranks - 1) + lane + _STUB + 4
    parts = [
        _draw_axis(layout, timeline.time, height),
        *_draw_lanes(run, layout),
        *_draw_bands(run, layout),
        *_draw_waits(run, layout),
    ]
    if run.verdict == "hangs":
        parts += _draw_cycle(run, layout)
    elif has_counters:
        parts += _draw_counters(run, layout, height)
    label = f"{run.verdict}: {run.ranks} ranks, {len(timeline.messages)} messages, {format_time(timeline.time)}"
    facts: dict[str, object] = {
        "data_ranks": run.ranks,
        "data_x0": layout.find_x(0),
        "data_x1": layout.find_x(timeline.time),
    }
    facts |= {"data_messages": len(timeline.messages), "style": f"max-width:{width * 1.3:.0f}px"}
    return wrap_svg([_DEFINITIONS.replace("#", str(width)), *parts], "pl", label, width, height, **facts)


_DEFINITIONS = read_package_file(__file__, "definitions.svg").replace("\n", "")


def _draw_text(x: float, y: float, text: str, style: str = "", anchor: str = "start", **attributes: object) -> str:
    look = f"font:13px var(--st-font,sans-serif);fill:var(--cs-ink);{style}"
    return draw_text(text, x, y, text_anchor=anchor, pointer_events="none", **attributes, style=look)


def _draw_counters(run: ProgramRun, layout: _Layout, height: int) -> list[str]:
    """What each rank has sent and received, and how long it has waited: at the end, until a cursor moves."""
    parts = []
    for position, counter in enumerate(build_counters(run)):
        x = layout.width - (len(COUNTERS) - 1 - position) * _COUNTER
        note = "font-size:12px;fill:var(--cs-ink2)"
        parts.append(_draw_text(x, 10, "", note, "end", data_head=counter.name))
        parts.append(_draw_text(x, 24, counter.unit_name, note, "end"))
        for rank, value in enumerate(counter.values):
            y = layout.find_top(rank) + layout.lane / 2 + 5
            mark = {"data_counter": counter.name, "data_rank": rank, "data_unit": f"{counter.unit:g}"}
            text = f"{value / counter.unit:.{counter.digits}f}"
            parts.append(_draw_text(x, y, text, "font-weight:700", "end", **mark, data_digits=counter.digits))
        if len(set(counter.values)) == 1:  # all ranks come to the same number
            total = f"/ {counter.values[0] / counter.unit:.{counter.digits}f}"
            parts.append(_draw_text(x, height - 8, total, note, "end"))
    return parts


def _draw_axis(layout: _Layout, time: float, height: int) -> str:
    """Times above the lanes: the beginning, the end, and what fits between."""
    parts, last = [], -1e9
    if time <= 0:
        return _draw_text(layout.find_x(0), 15, "0")
    end = layout.find_x(time)
    # The time of the end is bold, and stands left of its line.
    before_end = end - 1.1 * _CHARACTER * len(format_time(time))
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, text = layout.find_x(time * share), format_time(time * share)
        room = len(text) * _CHARACTER
        if share not in (0.0, 1.0) and (x - last < room + 12 or before_end - x < room / 2 + 8):
            continue
        anchor = {0.0: "start", 1.0: "end"}.get(share, "middle")
        weight = {1.0: "font-weight:700"}.get(share, "fill:var(--cs-ink2)")
        parts.append(_draw_text(x, 15, text, weight, anchor))
        line = f"M{x:.1f} {_AXIS - 4}V{height - 4}"
        parts.append(draw_element("path", d=line, stroke="var(--cs-line)", stroke_width=1, fill="none"))
        last = x
    return "".join(parts)


def _draw_lanes(run: ProgramRun, layout: _Layout) -> list[str]:
    parts = []
    for rank in range(run.ranks):
        top = layout.find_top(rank)
        until = run.timeline.ends[rank]
        if any(wait.rank == rank for wait in run.waits):
            until = layout.end
        left, begin = layout.find_x(0), layout.find_x(min(run.late.get(rank, 0.0), layout.end))
        if begin > left:
            parts.append(_draw_rect(left, top, begin - left, layout.lane, "none", stroke_dasharray="3 3"))
        width = max(2.0, layout.find_x(until) - begin)
        parts.append(_draw_rect(begin, top, width, layout.lane, "var(--cs-idle)", stroke_width=".5"))
        name = f"rank {rank}"
        parts.append(_draw_text(0, top + layout.lane / 2 + 5, name, "font-weight:700"))
    return parts


def _draw_rect(
    x: float, y: float, width: float, height: float, fill: str, stroke: str = "var(--cs-ink2)", **attributes: object
) -> str:
    rectangle = {"x": x, "y": y, "width": width, "height": height}
    return draw_element("rect", **rectangle, fill=fill, stroke=stroke, **attributes)


def _draw_waits(run: ProgramRun, layout: _Layout) -> list[str]:
    """The spans in which ranks wait, with call and line where they fit."""
    parts = []
    for span in (*run.timeline.spans, *_list_setup_waits(run)):
        end, fill, colour = span.end, "plw", "var(--cs-ink)"
        if end is None:
            end, fill, colour = layout.end, "plf", "var(--cs-fulltext)"
        left, right, top = layout.find_x(span.begin), layout.find_x(end), layout.find_top(span.rank)
        if right - left < 0.5:
            continue
        title = f"<title>{escape(f'rank {span.rank}: {span.call}, {span.line}')}</title>"
        rectangle = {"x": left, "y": top, "width": right - left, "height": layout.lane}
        look = {"fill": f"url(#{fill}{layout.width})", "stroke": colour, "stroke_width": ".8"}
        mark = {"class_": "wait", "data_lines": span.line, "data_begin": f"{span.begin:.9g}"}
        parts.append(draw_element("rect", title, **mark, **rectangle, **look))
        text = f"{span.call} {span.line}"
        if span.end is None and span.peer >= 0:
            arrow = "→" if "send" in span.call.lower() else "←"
            longer = f"{span.call} {span.line} {arrow} {span.peer}"
            if len(longer) * _CHARACTER + 8 < right - left:
                text = longer
        room = len(text) * _CHARACTER + 8
        if room < right - left and layout.lane > 16:
            middle = (left + right) / 2
            background = middle - room / 2, top + 4, room, layout.lane - 8, "var(--cs-card)"
            parts.append(_draw_rect(*background, stroke="", pointer_events="none"))
            parts.append(_draw_text(middle, top + layout.lane / 2 + 5, text, f"fill:{colour}", "middle"))
    return parts


def _list_setup_waits(run: ProgramRun) -> list[RankSpan]:
    """Waits forever that move no data and have no span, as in `new_group`."""
    timed = {span.rank for span in run.timeline.spans if span.end is None}
    return [
        RankSpan(wait.rank, wait.call, wait.line, -1, run.timeline.ends[wait.rank], None)
        for wait in run.waits
        if 0 <= wait.rank < run.ranks and wait.rank not in timed
    ]


def _draw_bands(run: ProgramRun, layout: _Layout) -> list[str]:
    """The messages between lanes; one between the last and the first lane leaves below and comes in above."""
    messages = run.execution.messages[:_MAX_BANDS]
    if not messages:
        return []
    parts = []
    wrong = None
    if run.sum_fault is not None and run.sum_fault.message < len(messages):
        wrong = messages[run.sum_fault.message]
    for message, times, alpha in zip(messages, run.timeline.messages, find_latencies(run), strict=False):
        if message.src == message.dst:
            continue
        begin, end = times.begin, times.arrived
        is_moving = begin is not None and end is not None
        if begin is None or end is None:
            begin, end, alpha = times.posted, layout.end, 0.0
        if run.ranks > 2 and {message.src, message.dst} == {0, run.ranks - 1}:
            lasts = run.ranks - 1
            below, above = layout.find_top(lasts) + layout.lane, layout.find_top(0)
            stubs = [(below, below + _STUB), (above - _STUB, above)]
            if message.src == 0:
                stubs = [(above, above - _STUB), (below + _STUB, below)]
        elif message.src < message.dst:
            stubs = [(layout.find_top(message.src) + layout.lane, layout.find_top(message.dst))]
        else:
            stubs = [(layout.find_top(message.src), layout.find_top(message.dst) + layout.lane)]
        shares = np.linspace(0.0, 1.0, len(stubs) + 1)
        for (start, goal), share, next_share in zip(stubs, shares[:-1], shares[1:], strict=True):
            # The first byte arrives alpha (s) after it was sent and so does the last: the band leans by alpha, and
            # its width is the time that the bytes take.
            corners = (
                (layout.find_x(begin + share * alpha), start),
                (layout.find_x(end - (1 - share) * alpha), start),
                (layout.find_x(end - (1 - next_share) * alpha), goal),
                (layout.find_x(begin + next_share * alpha), goal),
            )
            is_far = abs(goal - start) > max(layout.gap, _STUB)
            parts.append(_draw_band(corners, is_moving, is_far, message, message is wrong))
    return parts


def _draw_band(
    corners: tuple[tuple[float, int], ...], is_moving: bool, is_far: bool, message: Message, is_wrong: bool
) -> str:
    points = " ".join(f"{x:.1f},{y}" for x, y in corners)
    look = 'fill="var(--cs-sumfill)" stroke="var(--cs-sum2)"'
    colour = "var(--cs-ink)"
    if not is_moving:
        look, colour = 'fill="none" stroke="var(--cs-full)" stroke-dasharray="4 3"', "var(--cs-fulltext)"
    if is_far:
        look += ' fill-opacity=".35"'
    if is_wrong:
        look += ' style="stroke:var(--cs-full);stroke-width:3px"'
    text = format_bytes(message.nbytes)
    lines = f"{message.send_line}"
    if message.recv_line is not None:
        lines += f" → {message.recv_line}"
    title = escape(f"{message.src} → {message.dst}: {text}, {lines}")
    ends = " ".join(str(line) for line in (message.send_line, message.recv_line) if line is not None)
    band = f'<polygon class="band" data-lines="{ends}" points="{points}" {look}><title>{title}</title></polygon>'
    room = min(corners[1][0], corners[2][0]) - max(corners[0][0], corners[3][0])
    tall = abs(corners[2][1] - corners[0][1])
    if room > len(text) * _CHARACTER and tall > 16 and not is_far:
        x, y = sum(x for x, _ in corners) / 4, (corners[0][1] + corners[2][1]) / 2
        band += _draw_text(x, y + 4.5, text, f"fill:{colour}", "middle")
    return band


def _draw_cycle(run: ProgramRun, layout: _Layout) -> list[str]:
    """Who waits for whom forever: a square for each rank, an arrow from each that waits."""
    x, parts = layout.width - layout.right + 22, []
    centre = {rank: layout.find_top(rank) + layout.lane / 2 for rank in range(run.ranks)}
    waits = [wait for wait in run.waits if 0 <= wait.rank < run.ranks]
    for wait in waits:
        for peer in wait.peers[:4]:
            if peer == wait.rank or peer not in centre:
                continue
            start, goal = centre[wait.rank], centre[peer]
            side = 13 + min(80, 10 + abs(goal - start) * 0.28)
            parts.append(
                f'<path class="arrow" d="M{x + 13:.0f} {start + 3:.0f}C{x + side:.0f} {start:.0f} {x + side:.0f} '
                f'{goal:.0f} {x + 15:.0f} {goal - 3:.0f}" fill="none" stroke="var(--cs-full)" stroke-width="1.6" '
                f'marker-end="url(#pla{layout.width})"/>'
            )
    for wait in waits:
        top = centre[wait.rank]
        half = min(12, layout.lane / 2)
        square = x - 12, top - half, 24, 2 * half, "var(--cs-card)"
        parts.append(_draw_rect(*square, stroke="var(--cs-full)", rx=4, stroke_width=1.6))
        parts.append(_draw_text(x, top + 5, str(wait.rank), "font-weight:700;fill:var(--cs-fulltext)", "middle"))
    # A rank that has ended is not in a call: its square is dashed.
    waiting = {wait.rank for wait in waits}
    for rank in sorted({rank for wait in waits for rank in wait.ended} & centre.keys() - waiting):
        half = min(12, layout.lane / 2)
        square = x - 12, centre[rank] - half, 24, 2 * half, "var(--cs-card)"
        parts.append(_draw_rect(*square, class_="ended", rx=4, stroke_width=1.6, stroke_dasharray="3 3"))
        parts.append(_draw_text(x, centre[rank] + 5, str(rank), "fill:var(--cs-ink2)", "middle"))
    return parts
