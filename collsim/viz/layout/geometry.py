"""Boxes and polylines in CSS pixels, y downwards: what the layouts are drawn with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A rectangle in drawing units; y grows downwards.

    Attributes:
        x: of its left edge.
        y: of its top edge.
        w: width.
        h: height.
    """

    x: float
    y: float
    w: float
    h: float

    @property
    def cx(self) -> float:
        return self.x + self.w / 2

    @property
    def cy(self) -> float:
        return self.y + self.h / 2

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def bottom(self) -> float:
        return self.y + self.h

    def mirror(self, width: float) -> Box:
        """The same box in a stage of this width seen in a mirror.

        Args:
            width: Width of the stage, CSS pixels.
        """
        return Box(width - self.x - self.w, self.y, self.w, self.h)

    def face_x(self, x: float) -> float:
        """The left or right edge: the one that faces a position.

        Args:
            x: A horizontal position.
        """
        if x < self.cx:
            return self.x
        return self.right

    def face_y(self, y: float) -> float:
        """The top or bottom edge: the one that faces a height.

        Args:
            y: A vertical position.
        """
        if y < self.cy:
            return self.y
        return self.bottom

    def shift(self, dx: float, dy: float) -> Box:
        """The same box somewhere else.

        Args:
            dx: To the right, CSS pixels.
            dy: Downwards, CSS pixels.
        """
        return Box(self.x + dx, self.y + dy, self.w, self.h)

    def overlaps(self, other: Box, slack: float = 0.01) -> bool:
        """Do the two share more than a border?

        Args:
            other: The other box.
            slack: Pixels by which they may overlap without counting.
        """
        across = self.x + slack < other.right and other.x + slack < self.right
        return across and self.y + slack < other.bottom and other.y + slack < self.bottom


def center_box(cx: float, cy: float, w: float, h: float) -> Box:
    """The box of this size around a point.

    Args:
        cx: x of the middle, CSS pixels.
        cy: y of the middle, CSS pixels.
        w: Width, CSS pixels.
        h: Height, CSS pixels.
    """
    return Box(cx - w / 2, cy - h / 2, w, h)


def find_exit(box: Box, towards: Point) -> Point:
    """Where a straight line from the middle of a box to a point crosses the border of the box.

    Args:
        box: A rectangle in CSS pixels.
        towards: A point outside of the box, CSS pixels.
    """
    dx, dy = towards[0] - box.cx, towards[1] - box.cy
    scale = min(box.w / 2 / abs(dx) if dx else 1e9, box.h / 2 / abs(dy) if dy else 1e9)
    return (box.cx + dx * scale, box.cy + dy * scale)


def shift_line(points: Sequence[Point], distance: float) -> list[Point]:
    """The polyline moved `by` pixels to the right-hand side of its travel; corners stay corners.

    Args:
        points: Corners of a polyline, CSS pixels.
        distance: How far to the right of its direction the line moves, CSS pixels.
    """
    line = [p for i, p in enumerate(points) if i == 0 or hypot(p[0] - points[i - 1][0], p[1] - points[i - 1][1]) > 1e-9]
    if len(line) < 2 or distance == 0:
        return list(points)
    sides = [_find_right_normal(a, b) for a, b in pairwise(line)]
    shifted = [_shift(line[0], sides[0], distance)]
    for corner, (before, after) in zip(line[1:-1], pairwise(sides), strict=True):
        cosine = before[0] * after[0] + before[1] * after[1]
        if cosine < -0.9:
            shifted += [_shift(corner, before, distance), _shift(corner, after, distance)]
        else:
            shifted.append(_shift(corner, (before[0] + after[0], before[1] + after[1]), distance / (1 + cosine)))
    return [*shifted, _shift(line[-1], sides[-1], distance)]


def split_directions(points: Sequence[Point], gap: float) -> tuple[list[Point], list[Point]]:
    """The two directions of a cable, `gap` pixels apart, each on its right-hand side (left-hand with a negative
    gap).

    Args:
        points: Corners of a polyline, CSS pixels.
        gap: Distance between the two directions, CSS pixels; negative for left-hand traffic.
    """
    return shift_line(points, gap / 2), shift_line(list(points)[::-1], gap / 2)


def draw_straight(a: Box, b: Box) -> list[Point]:
    """The straight line between two boxes, border to border.

    Args:
        a: A box.
        b: Another box.
    """
    return [find_exit(a, (b.cx, b.cy)), find_exit(b, (a.cx, a.cy))]


def flatten_points(points: Sequence[Point]) -> list[float]:
    """`[x0, y0, x1, y1, ...]`, rounded to hundredths of a pixel.

    Args:
        points: Corners of a polyline, CSS pixels.
    """
    return [round(float(v), 2) for point in points for v in point]


def _find_right_normal(a: Point, b: Point) -> Point:
    """Unit vector to the right of travel from a to b (y grows downwards)."""
    length = hypot(b[0] - a[0], b[1] - a[1])
    return (-(b[1] - a[1]) / length, (b[0] - a[0]) / length)


def _shift(p: Point, side: Point, distance: float) -> Point:
    return (p[0] + side[0] * distance, p[1] + side[1] * distance)
