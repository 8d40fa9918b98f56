"""Where devices and links are drawn, in CSS pixels: deterministic, so that pictures can be compared.

Machines are arranged as people draw them (`one_node`, `two_nodes`, `many_nodes` here); generic networks by their shape:
a ring on a circle, ranks under a switch, a tree with its root on top, a torus as a grid with its long cables bent round
it. Anything else is arranged by networkx. The stage is as large as what is in it; a player scales it to fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import ceil, cos, hypot, pi, sin, sqrt

import numpy as np

from ...errors.dependencies import networkx as nx
from ...locale import build_text, map_languages
from ...topology.facts import TopologyFacts
from .geometry import Box, Point, center_box, draw_straight, split_directions
from .reduction import Picture

Text = dict[str, str]
Label = str | Text  # a text that is the same in both languages, or one for each
NO_FACTS = TopologyFacts()
SHORT = {"aggregation": "agg"}

MARGIN = 16.0
NARROW_WIDTH = 500.0  # a wider picture of a machine has another one for narrow screens, if that can be narrower


@dataclass(frozen=True)
class Panel:
    """The box of one node, or a band behind one level of switches.

    Attributes:
        box: where it is drawn.
        label: its name, English and Chinese.
        note: what it holds, in short, English and Chinese: `× 4` for a band of four switches.
        node: number of the node; -1 for a band.
        foot: its name is at its bottom, not at its top.
    """

    box: Box
    label: Text
    note: Text
    node: int
    foot: bool = False


@dataclass(eq=False)
class StageLayout:
    """A picture with a place for everything. Filled by the functions that arrange; read-only afterwards.

    Attributes:
        boxes, labels: per device of the picture.
        lines: per directed link, the polyline from its source to its destination.
        panels: Frames around the devices of a node.
        w, h: Width and height in CSS pixels.
        pipe: pixels of a cable's width per square root of GB/s; both directions of every cable fit side by side.
        key: a free box for the legend of cables, or None.
        narrow: The same for a narrow screen, where this one would be too wide for it.
    """

    picture: Picture
    boxes: list[Box]
    labels: list[Label]
    lines: list[list[Point]] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)
    w: float = 0.0
    h: float = 0.0
    pipe: float = 1.1
    key: Box | None = None
    narrow: StageLayout | None = None

    def find_panel(self, device: int) -> int:
        """Index of the panel that a device belongs to, or -1.

        Args:
            device: Number of a device in the picture.
        """
        node = self.picture.node[device]
        return next((i for i, p in enumerate(self.panels) if p.node == node and node >= 0), -1)


# ---- generic networks


def arrange(picture: Picture, facts: TopologyFacts = NO_FACTS) -> StageLayout:
    """Place a network that is not made of machines; `facts` as its topology declares them.

    Args:
        picture: What is drawn of the topology.
        facts: What the topology says of itself, for example `dims`.
    """
    positions, bends = SHAPES.get(picture.shape, _place_graph)(picture, facts)
    size = _choose_box_size(picture, positions)
    boxes = [center_box(x, y, *_get_box_size(picture, d, size)) for d, (x, y) in enumerate(positions)]
    stage = StageLayout(picture, boxes, [label_device(picture, d) for d in range(len(picture))])
    if picture.shape == "switch" and len(picture) > 1:
        _stretch_switch(stage)
        _draw_vertical_links(stage)
    else:
        _draw_links(stage, bends)
    return crop_stage(stage)


def write_label(key: str, **values: object) -> Label:
    """A label of the catalog of pictures, by language.

    Args:
        key: Its key, without `layout.`.
        **values: What stands in its braces; an empty one leaves no space.
    """
    return {
        name: text.strip() for name, text in map_languages(build_text("pictures", f"layout.{key}", **values)).items()
    }


def split_number(name: str) -> tuple[str, str]:
    """The word and the number of a device: `leaf`, `3` of `fabric/leaf3`; no number where it has none.

    Args:
        name: Its name.
    """
    word = name.rstrip("0123456789")
    return word.removeprefix("fabric/"), name[len(word) :]


def label_device(picture: Picture, device: int) -> Label:
    """What is written on a device: the rank's number, the server, or what it is.

    Args:
        picture: What is drawn of the topology.
        device: Number of a device in the picture.
    """
    endpoint, kind, name = picture.endpoint[device], picture.kind[device], picture.name[device]
    if 0 <= endpoint < picture.ranks:
        return str(endpoint)
    if endpoint >= 0 and kind not in ("switch", "nvswitch"):
        number = ""
        if sum(e >= picture.ranks for e in picture.endpoint) > 1:
            number = str(endpoint - picture.ranks)
        return write_label("server", number=number)
    if kind == "switch":
        word, number = split_number(name)
        if picture.kind.count("switch") == 1:
            number = ""
        else:
            word = SHORT.get(word, word)
        if word == "switch":
            return write_label("switch", number=number)
        return f"{word} {number}".strip()
    return name


def _get_box_size(picture: Picture, device: int, size: float) -> tuple[float, float]:
    if picture.endpoint[device] >= picture.ranks and size >= 24:
        return size * 1.35, size * 0.95
    if picture.kind[device] in ("switch", "nvswitch") and size >= 16:
        return size * 1.7, size * 0.7
    return size, size * 0.95


def _choose_box_size(picture: Picture, positions: list[Point]) -> float:
    """As large as the closest two devices allow, at most 44 px; small squares stand closer together."""
    points = np.array(positions, float)
    if len(points) < 2:
        return 44.0
    closest = np.inf
    for first in range(0, len(points), 512):
        part = points[first : first + 512, None] - points[None]
        distances = np.maximum(np.abs(part[..., 0]), np.abs(part[..., 1]))
        distances[np.arange(len(part)), first + np.arange(len(part))] = np.inf
        closest = min(closest, float(distances.min()))
    return float(min(44.0, closest * (0.6 if closest > 14 else 0.8)))


def _draw_links(stage: StageLayout, bends: dict[tuple[int, int], list[Point]] | None = None) -> None:
    """A polyline for every link: bent where `bends` says so, else straight; the two directions side by side."""
    picture, bends = stage.picture, bends or {}
    links = list(zip(picture.src.tolist(), picture.dst.tolist(), strict=True))
    back = set(links)
    # Both directions of a cable lie side by side, with room in proportion to the smallest box.
    size = min((min(b.w, b.h) for b in stage.boxes), default=44.0)
    widest = sqrt(max(1e-9, float(picture.bandwidth.max(initial=0)) / 1e9))
    gap = min(11.0, max(2.0, size * 0.25))
    stage.pipe = (gap - min(2.5, gap * 0.3)) / widest
    crowd: dict[tuple[int, int], int] = {}
    stage.lines = []
    for a, b in links:
        # Parallel cables of one pair lie farther and farther out.
        nth = crowd[(a, b)] = crowd.get((a, b), -1) + 1
        low, high = min(a, b), max(a, b)
        line = bends.get((low, high)) or draw_straight(stage.boxes[low], stage.boxes[high])
        distance = 0.0
        if (b, a) in back:
            distance = gap * (1 + 2 * nth)
        there, home = split_directions(line, distance)
        if a == low:
            stage.lines.append(there)
        else:
            stage.lines.append(home)


def crop_stage(stage: StageLayout) -> StageLayout:
    """Move everything so that the stage is as small as it can be, with a margin.

    Args:
        stage: The layout, which is changed in place.
    """
    points = np.array([p for line in stage.lines for p in line] or [(0.0, 0.0)])
    boxes = [*stage.boxes, *(p.box for p in stage.panels)]
    left = min(float(points[:, 0].min()), *(b.x for b in boxes)) - MARGIN
    top = min(float(points[:, 1].min()), *(b.y for b in boxes)) - MARGIN
    right = max(float(points[:, 0].max()), *(b.right for b in boxes)) + MARGIN
    bottom = max(float(points[:, 1].max()), *(b.bottom for b in boxes)) + MARGIN
    stage.boxes = [b.shift(-left, -top) for b in stage.boxes]
    stage.panels = [replace(p, box=p.box.shift(-left, -top)) for p in stage.panels]
    stage.lines = [[(x - left, y - top) for x, y in line] for line in stage.lines]
    stage.w, stage.h = right - left, bottom - top
    return stage


Placement = tuple[list[Point], dict[tuple[int, int], list[Point]]]


def _place_ring(picture: Picture, facts: TopologyFacts = NO_FACTS) -> Placement:
    """A circle; with many ranks a stadium, which uses a wide screen better. Rank 0 at the top left, clockwise."""
    if len(picture) <= 8:
        return _place_small_ring(len(picture)), {}
    return _place_stadium(len(picture)), {}


def _place_small_ring(n: int) -> list[Point]:
    radius = 80.0
    if n > 2:
        radius = max(110.0, n * 118 / (2 * pi))
    first = -pi / 2
    if n % 4 == 0:  # a flat top where that is more legible
        first -= pi / n
    angles = [first + 2 * pi * r / n for r in range(n)]
    return [(radius * cos(a), radius * sin(a)) for a in angles]


def _place_stadium(n: int) -> list[Point]:
    """n points, equally far apart, on two half circles joined by straight lines, clockwise from the top left."""
    pitch = max(16.0, min(140.0, 2500 / n))
    around = n * pitch
    radius = min(around / (2 * pi), max(185.0, around / 14))
    side = (around - 2 * pi * radius) / 2
    points = []
    for r in range(n):
        distance = r * pitch
        if distance < side:
            points.append((distance - side / 2, -radius))
        elif distance < side + pi * radius:
            a = (distance - side) / radius - pi / 2
            points.append((side / 2 + radius * cos(a), radius * sin(a)))
        elif distance < 2 * side + pi * radius:
            points.append((side / 2 - (distance - side - pi * radius), radius))
        else:
            a = (distance - 2 * side - pi * radius) / radius + pi / 2
            points.append((-side / 2 + radius * cos(a), radius * sin(a)))
    return points


def _place_circle(picture: Picture, facts: TopologyFacts = NO_FACTS) -> Placement:
    n = len(picture)
    radius = max(170.0, min(440.0, n * 44 / (2 * pi)), n * 14 / (2 * pi))
    return [(1.25 * radius * cos(a), radius * sin(a)) for a in (2 * pi * r / n - pi / 2 for r in range(n))], {}


def _place_line(picture: Picture, facts: TopologyFacts = NO_FACTS) -> Placement:
    """A row; beyond 12 a snake of rows."""
    n = len(picture)
    across = n
    if n > 12:
        across = min(24, ceil(sqrt(2.5 * n)))
    rows = [divmod(r, across) for r in range(n)]
    positions = []
    for row, column in rows:
        if row % 2:
            column = across - 1 - column
        positions.append((column * 88.0, row * 92.0))
    return positions, {}


def _place_star(picture: Picture, facts: TopologyFacts = NO_FACTS) -> Placement:
    """The device with most links in the middle, the others round it."""
    hub = _find_busiest(picture)
    others = [d for d in range(len(picture)) if d != hub]
    around = dict(zip(others, _place_around(len(others)), strict=True))
    return [around.get(d, (0.0, 0.0)) for d in range(len(picture))], {}


def _place_around(count: int) -> list[Point]:
    """Places on an ellipse, from the top clockwise."""
    radius = max(130.0, count * 64 / (2 * pi))
    angles = [2 * pi * i / count - pi / 2 for i in range(count)]
    return [(1.3 * radius * cos(a), radius * sin(a)) for a in angles]


def _find_hub(picture: Picture) -> int:
    """The switch, or what stands for it."""
    if "switch" in picture.kind:
        return picture.kind.index("switch")
    return _find_busiest(picture)


def _find_busiest(picture: Picture) -> int:
    """The device with most links."""
    return int(np.argmax(np.bincount(picture.src, minlength=len(picture))))


def _place_switch(picture: Picture, facts: TopologyFacts = NO_FACTS) -> Placement:
    """Ranks under the switch, helpers in their middle; more than 16 stand in two rows, above it and below."""
    hub = _find_hub(picture)
    ranks = [d for d in range(len(picture)) if d != hub and 0 <= picture.endpoint[d] < picture.ranks]
    helpers = [d for d in range(len(picture)) if d != hub and d not in set(ranks)]
    # More than this many in one row would be too small to read.
    rows = [ranks]
    if len(ranks) + len(helpers) > 17:
        rows = [ranks[: ceil(len(ranks) / 2)], ranks[ceil(len(ranks) / 2) :]]
    # Helpers stand in the middle, next to the switch.
    rows[0] = rows[0][: len(rows[0]) // 2] + helpers + rows[0][len(rows[0]) // 2 :]
    pitch = 69.0
    if len(rows[0]) > 17:
        pitch = max(7.0, 1110 / len(rows[0]))
    positions: list[Point] = [(0.0, 0.0)] * len(picture)
    for row, y in zip(rows, (0.0, -430.0), strict=False):
        for i, d in enumerate(row):
            positions[d] = ((i - (len(row) - 1) / 2) * pitch, y)
    positions[hub] = (0.0, -215.0)
    return positions, {}


def _stretch_switch(stage: StageLayout) -> None:
    """The switch as a bar as wide as the row of ranks, so that every cable is vertical."""
    picture = stage.picture
    hub = _find_hub(picture)
    others = [b for d, b in enumerate(stage.boxes) if d != hub]
    if not others:
        return
    left, right = min(b.x for b in others) - 14, max(b.right for b in others) + 14
    stage.boxes[hub] = Box(left, -215.0 - 42, right - left, 84)


def _draw_vertical_links(stage: StageLayout) -> None:
    """Cables of a switch bar, straight up and down; out of a rank on the right, into it on the left."""
    picture = stage.picture
    hub = max(range(len(picture)), key=lambda d: stage.boxes[d].w)
    bar = stage.boxes[hub]
    width = min((b.w for d, b in enumerate(stage.boxes) if d != hub), default=44.0)
    gap = max(3.0, min(15.0, width * 0.36))
    widest = sqrt(max(1e-9, float(picture.bandwidth.max(initial=0)) / 1e9))
    stage.pipe = min(9.0, gap * 0.62) / widest
    lines = []
    for a, b in zip(picture.src.tolist(), picture.dst.tolist(), strict=True):
        is_outward = b == hub
        if is_outward:
            box, shift = stage.boxes[a], gap / 2
        else:
            box, shift = stage.boxes[b], -gap / 2
        x = box.cx + shift
        ends = [(x, box.face_y(bar.cy)), (x, bar.face_y(box.cy))]
        if not is_outward:
            ends.reverse()
        lines.append(ends)
    stage.lines = lines


def _place_tree(picture: Picture, facts: TopologyFacts = NO_FACTS) -> Placement:
    """Root on top (lowest rank, or the switch farthest from the ranks), children below, parents above their middle."""
    near, root = picture.neighbours(), 0
    if picture.shape != "tree" and picture.kind[0] == "gpu" and len(near[0]) == 1 and len(picture) >= 3:
        root = max(range(len(picture)), key=lambda d: (len(near[d]), -d))
    return place_tree(near, root), {}


def place_tree(near: list[list[int]], root: int) -> list[Point]:
    """A place for every device of a tree; parents above the middle of their children, what is not connected in a row
    below.

    Args:
        near: For each device the devices that it has a link to.
        root: The device on top.
    """
    depth, parent, order = {root: 0}, {root: -1}, [root]
    for d in order:
        for c in near[d]:
            if c not in depth:
                depth[c], parent[c] = depth[d] + 1, d
                order.append(c)
    lost = [d for d in range(len(near)) if d not in depth]
    children: dict[int, list[int]] = {}
    for d in order[1:]:
        children.setdefault(parent[d], []).append(d)
    x: dict[int, float] = {}
    leaves = 0
    stack: list[tuple[int, bool]] = [(root, False)]
    # Parents come after their children: a node is visited a second time when its subtree has its places.
    while stack:
        d, done = stack.pop()
        below = children.get(d, [])
        if not below:
            x[d] = float(leaves)
            leaves += 1
        elif done:
            x[d] = (x[below[0]] + x[below[-1]]) / 2
        else:
            stack += [(d, True), *((c, False) for c in reversed(below))]
    pitch = max(20.0, min(90.0, 1100 / max(1, leaves)))
    deep = max(depth.values())
    positions = [(0.0, 0.0)] * len(near)
    for d in order:
        positions[d] = (x[d] * pitch, depth[d] * 100.0)
    for i, d in enumerate(lost):
        positions[d] = (i * pitch, (deep + 1) * 100.0)
    return positions


def _place_layers(picture: Picture, facts: TopologyFacts = NO_FACTS) -> Placement:
    """Ranks in the bottom row, switches above them by their distance to the nearest rank."""
    near = picture.neighbours()
    level = {d: 0 for d in range(len(picture)) if picture.endpoint[d] >= 0}
    order = list(level)
    for d in order:
        for c in near[d]:
            if c not in level:
                level[c] = level[d] + 1
                order.append(c)
    rows: dict[int, list[int]] = {}
    for d in range(len(picture)):
        rows.setdefault(level.get(d, 0), []).append(d)
    widest = max(len(row) for row in rows.values())
    width = max(360.0, min(1100.0, widest * 62.0), widest * 14.0)
    positions = [(0.0, 0.0)] * len(picture)
    for depth, row in rows.items():
        for i, d in enumerate(row):
            positions[d] = ((i + 0.5) / len(row) * width, -depth * 120.0)
    return positions, {}


def _get_dimensions(picture: Picture, facts: TopologyFacts) -> tuple[int, ...]:
    dims = facts.dims
    if dims and int(np.prod(dims)) == picture.ranks:
        return dims
    return (picture.ranks,)


def _place_grid(picture: Picture, facts: TopologyFacts = NO_FACTS) -> Placement:
    """Rows and columns, a third dimension as planes side by side; cables that are not between neighbours bend round the
    boxes."""
    dims = _get_dimensions(picture, facts)
    if len(dims) == 1:
        if picture.shape == "torus":
            return _place_ring(picture)
        return _place_line(picture)
    planes = int(np.prod(dims[:-2]))
    wide = planes
    if planes > 4:
        wide = ceil(sqrt(planes))
    pitch = max(20.0, min(92.0, 1100 / (wide * (dims[-1] + 0.7))))
    ranks = [_find_grid_cell(r, dims[-1], dims[-2], wide) for r in range(picture.ranks)]
    others = [((d - picture.ranks, -1.3), (-1, -1, d)) for d in range(picture.ranks, len(picture))]
    positions = [(x * pitch, y * pitch) for (x, y), _ in [*ranks, *others]]
    return positions, _bend_long_cables(picture, positions, [cell for _, cell in [*ranks, *others]], pitch)


def _find_grid_cell(rank: int, across: int, down: int, wide: int) -> tuple[Point, tuple[int, int, int]]:
    """Where a rank stands, in cells, and its plane, row and column."""
    plane, rest = divmod(rank, across * down)
    row, column = divmod(rest, across)
    top, left = divmod(plane, wide)
    return (left * (across + 0.7) + column, top * (down + 0.7) + row), (plane, row, column)


def _bend_long_cables(
    picture: Picture, positions: list[Point], cell: list[tuple[int, int, int]], pitch: float
) -> dict[tuple[int, int], list[Point]]:
    """Bends for the cables of a grid that do not join neighbours: along the gaps between rows and columns."""
    half, aside = pitch * 0.3, pitch * 0.44
    bends = {}
    for a, b in zip(picture.src.tolist(), picture.dst.tolist(), strict=True):
        low, high = min(a, b), max(a, b)
        (x0, y0), (x1, y1) = positions[low], positions[high]
        if hypot(x1 - x0, y1 - y0) < pitch * 1.2 or -1 in (cell[low][0], cell[high][0]):
            continue
        if abs(y1 - y0) < 1:
            lane = aside
            if cell[low][0] != cell[high][0]:
                lane = aside * 0.8 + 2 * (cell[low][2] % 3)
            bends[(low, high)] = [(x0, y0 - half), (x0, y0 - lane), (x1, y0 - lane), (x1, y1 - half)]
        elif abs(x1 - x0) < 1:
            bends[(low, high)] = [(x0 - half, y0), (x0 - aside, y0), (x0 - aside, y1), (x1 - half, y1)]
    return bends


def _place_hypercube(picture: Picture, facts: TopologyFacts = NO_FACTS) -> Placement:
    """Each bit of the rank is a direction: a square, a cube, two cubes side by side ..."""
    directions = [(120.0, 0.0), (0.0, 150.0), (58.0, -62.0), (330.0, 26.0), (30.0, 310.0), (740.0, 40.0)]
    while 2 ** len(directions) < picture.ranks:
        x, y = directions[-2]
        directions.append((2.4 * y, 2.3 * x))
    positions = [
        (
            float(sum(x for i, (x, _) in enumerate(directions) if r >> i & 1)),
            float(sum(y for i, (_, y) in enumerate(directions) if r >> i & 1)),
        )
        for r in range(picture.ranks)
    ]
    positions += [(-130.0, 75.0 + 60.0 * i) for i in range(len(picture) - picture.ranks)]
    return positions, {}


def _place_dragonfly(picture: Picture, facts: TopologyFacts = NO_FACTS) -> Placement:
    """Groups round a circle: their switches side by side, the ranks of each switch outside it, global cables across."""
    hubs = [d for d in range(len(picture)) if picture.endpoint[d] < 0]
    if facts.dragonfly is None or not hubs:
        return _place_graph(picture)
    group, per = facts.dragonfly
    groups = len(hubs) // group
    inner = max(150.0, len(hubs) * 34 / (2 * pi))
    outer = max(inner + 56, len(hubs) * per * 27 / (2 * pi))
    positions: list[Point] = [(0.0, 0.0)] * len(picture)
    near = picture.neighbours()
    for i, d in enumerate(hubs):
        g, s = divmod(i, group)
        angle = 2 * pi * (g + 0.08 + 0.84 * (s + 0.5) / group) / groups - pi / 2
        positions[d] = (inner * cos(angle), inner * sin(angle))
        own_ranks = [c for c in near[d] if picture.endpoint[c] >= 0]
        for q, c in enumerate(own_ranks):
            a = angle + 2 * pi * 0.84 / len(hubs) * ((q + 0.5) / len(own_ranks) - 0.5)
            positions[c] = (outer * cos(a), outer * sin(a))
    return positions, {}


def _place_graph(picture: Picture, facts: TopologyFacts = NO_FACTS) -> Placement:
    """Any network: by layers where ranks hang on switches, else by springs."""
    if _has_ranks_on_switches(picture):
        return _place_layers(picture)
    if len(picture) > 300:
        return _place_circle(picture)
    return (_place_by_springs(picture), {})


def _has_ranks_on_switches(picture: Picture) -> bool:
    """Does every rank hang on one or two switches, and on nothing else?"""
    leaves, near = [d for d in range(len(picture)) if picture.endpoint[d] >= 0], picture.neighbours()
    hang = (len(near[d]) <= 2 and all(picture.endpoint[c] < 0 for c in near[d]) for d in leaves)
    return len(leaves) < len(picture) and all(hang)


def _place_by_springs(picture: Picture) -> list[Point]:
    """networkx's spring layout, from a circle, so always the same."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(picture)))
    graph.add_edges_from((a, b) for a, b in zip(picture.src.tolist(), picture.dst.tolist(), strict=True) if a < b)
    start = nx.circular_layout(graph)
    position_of = nx.spring_layout(graph, pos=start, seed=1, iterations=300, k=1.6 / sqrt(max(1, len(picture))))
    points = np.array([position_of[d] for d in range(len(picture))])
    scale = max(260.0, 74.0 * sqrt(len(picture)))
    scaled = (points - points.min(axis=0)) / np.maximum(np.ptp(points, axis=0), 1e-9) * [1.6 * scale, scale]
    return [(float(x), float(y)) for x, y in scaled]


SHAPES: dict[str, Callable[[Picture, TopologyFacts], Placement]] = {
    "ring": _place_ring,
    "line": _place_line,
    "star": _place_star,
    "switch": _place_switch,
    "fully_connected": _place_circle,
    "tree": _place_tree,
    "torus": _place_grid,
    "mesh": _place_grid,
    "hypercube": _place_hypercube,
    "fat_tree": _place_layers,
    "dragonfly": _place_dragonfly,
}
