"""The sheet that machines are drawn on: devices of a node by kind, boxes, bent cables, names; and the layout made
of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import sqrt

from ...locale import Text, build_text, join_texts, map_languages
from .geometry import Box, Point, draw_straight, split_directions
from .reduction import Picture
from .shapes import SHORT, Label, Panel, StageLayout, crop_stage, label_device, split_number, write_label

#: Hybrid cube mesh of the DGX-1: two squares with their diagonals, joined corner to corner (GPU numbers of one
#: machine).
_CUBE = {(a, b) for q in (0, 4) for a in range(q, q + 4) for b in range(a + 1, q + 4)} | {(a, a + 4) for a in range(4)}
_NUMBERED = 44.0  # pixels in which "PCIe 0" can be read


@dataclass(eq=False)
class NodeDevices:
    """Devices of one node.

    Attributes:
        number: Number of the node.
        near: Neighbours of every device of the picture.
        kind: Kind of every device of the picture.
        members: The devices of this node, GPUs in the order of their ranks.
    """

    number: int
    near: list[list[int]]
    kind: list[str]
    members: list[int]

    def get_devices(self, *kinds: str) -> list[int]:
        """Devices of these kinds, in the node's order.

        Args:
            *kinds: Kinds of device.
        """
        return [d for d in self.members if self.kind[d] in kinds]

    def find_home(self, device: int) -> int | None:
        """The PCIe switch, else the CPU, that a GPU or NIC hangs on.

        Args:
            device: Number of a device in the picture.
        """
        return next((d for kind in ("pcie", "cpu") for d in self.near[device] if self.kind[d] == kind), None)

    def list_attached(self, parent: int, kind: str) -> list[int]:
        """GPUs, NICs ... whose home is this device.

        Args:
            parent: The device that they hang on.
            kind: Kind of device: `gpu`, `nic`, ...
        """
        return [d for d in self.get_devices(kind) if self.find_home(d) == parent]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """GPUs of this node that are joined directly."""
        gpus = set(self.get_devices("gpu"))
        return sorted((a, b) for a in gpus for b in self.near[a] if b in gpus and a < b)

    @property
    def is_cube(self) -> bool:
        gpus = self.get_devices("gpu")
        number_of_gpu = {g: i for i, g in enumerate(gpus)}
        return len(gpus) == 8 and {(number_of_gpu[a], number_of_gpu[b]) for a, b in self.pairs} == _CUBE


@dataclass(eq=False)
class Sheet:
    """What is being drawn.

    Attributes:
        picture: The devices and links.
        pipe: Pixels of a cable's width per square root of GB/s.
        chips: NVSwitches of a node, which are drawn as one bar.
        boxes: Box of each device that has one.
        bends: Corners of cables that are not straight, from the first device to the second.
        left_hand: Cables whose lines keep to the left.
        names: Label of each device that has one.
        panels: Frames around the devices of a node.
    """

    picture: Picture
    pipe: float
    chips: int = 0  # NVSwitches of a node, drawn as one bar
    boxes: dict[int, Box] = field(default_factory=dict)
    bends: dict[tuple[int, int], list[Point]] = field(default_factory=dict)
    left_hand: set[tuple[int, int]] = field(default_factory=set)
    names: dict[int, Label] = field(default_factory=dict)
    panels: list[Panel] = field(default_factory=list)

    def add_cable(self, a: int, b: int, *corners: Point, left_hand: bool = False) -> None:
        """Set the corners of the cable between two devices.

        Args:
            a: The device at which the corners begin.
            b: The device at which they end.
            *corners: Points of the cable's middle line, CSS pixels.
            left_hand: Data from `a` to `b` is drawn on the left of its direction instead of the right.
        """
        self.bends[(a, b)] = list(corners)
        if left_hand:
            self.left_hand.add((a, b))

    def place_bars(self, bars: Sequence[int], box: Box, gap: float) -> None:
        """Divide a box among the NVSwitches of a node.

        Args:
            bars: The NVSwitches.
            box: Room for all of them.
            gap: Pixels between two of them.
        """
        part = box.w / max(1, len(bars))
        for i, bar in enumerate(bars):
            self.boxes[bar] = Box(box.x + i * part, box.y, part - gap * (i < len(bars) - 1), box.h)

    def is_linked(self, a: int, b: int) -> bool:
        """Is there a link between two devices of the picture?

        Args:
            a: A device of the picture.
            b: Another device of the picture.
        """
        return b in self._near[a]

    def __post_init__(self) -> None:
        self._near = [set(n) for n in self.picture.neighbours()]
        self._rate: dict[tuple[int, int], float] = {}
        for a, b, rate in zip(
            self.picture.src.tolist(), self.picture.dst.tolist(), self.picture.bandwidth.tolist(), strict=True
        ):
            pair = (min(a, b), max(a, b))
            self._rate[pair] = max(rate, self._rate.get(pair, 0.0))

    def narrow_cables(self, pairs: Iterable[tuple[int, int]], room: float) -> None:
        """Make all cables narrower, by one ruler, until one direction of each of these takes no more than `room`
        pixels.

        Args:
            pairs: Pairs of devices that cables join.
            room: Pixels that one direction of a cable may take.
        """
        widest = max((self._rate.get((min(pair), max(pair)), 0.0) for pair in pairs), default=0.0)
        if widest:
            self.pipe = min(self.pipe, max(room, 1.5) / sqrt(widest / 1e9))

    def get_width(self, a: int, b: int) -> float:
        """Pixels of one direction of a cable.

        Args:
            a: A device.
            b: Another device.
        """
        return max(1.2, self.pipe * sqrt(self._rate.get((min(a, b), max(a, b)), 0.0) / 1e9))


def finish_sheet(sheet: Sheet, key: Box | None) -> StageLayout:
    """A StageLayout of the sheet: lines for every link, both directions side by side, a name on every device.

    Args:
        sheet: The sheet that is being drawn; boxes, cables and names are added to it.
        key: Free space for the legend of cables; None for none.
    """
    picture = sheet.picture
    # Devices that no arrangement knows still appear, in a row below: nothing is left out in silence.
    unplaced = [d for d in range(len(picture)) if d not in sheet.boxes]
    bottom = max(b.bottom for b in sheet.boxes.values())
    for i, d in enumerate(unplaced):
        sheet.boxes[d] = Box(16.0 + 70 * i, bottom + 24, 58, 26)
    boxes = [sheet.boxes[d] for d in range(len(picture))]
    names = [sheet.names.get(d, label_device(picture, d)) for d in range(len(picture))]
    layout = StageLayout(picture, boxes, names, panels=sheet.panels, pipe=sheet.pipe, key=key)
    crowd: Counter[tuple[int, int]] = Counter()
    for a, b in zip(picture.src.tolist(), picture.dst.tolist(), strict=True):
        nth = crowd[(a, b)]
        crowd[(a, b)] += 1
        layout.lines.append(_build_line(sheet, a, b, nth))
    # Without panels, or with something above the edge, the picture is cut to what is drawn.
    if not layout.panels or min(b.y for b in [*boxes, *(p.box for p in layout.panels)]) < 0:
        return crop_stage(layout)
    layout.w = max(max(p.box.right for p in layout.panels), max(b.right for b in boxes)) + 8
    layout.h = max(max(p.box.bottom for p in layout.panels), max(b.bottom for b in boxes)) + 6
    return layout


def _build_line(sheet: Sheet, a: int, b: int, nth: int) -> list[Point]:
    """The polyline of the nth link from a to b, on its side of the cable."""
    pair = next((ends for ends in ((a, b), (b, a)) if ends in sheet.bends), (min(a, b), max(a, b)))
    corners = sheet.bends.get(pair) or draw_straight(sheet.boxes[pair[0]], sheet.boxes[pair[1]])
    gap = (sheet.get_width(a, b) + 0.6) * (1 + 2 * nth)
    if pair in sheet.left_hand:
        gap = -gap
    out, home = split_directions(corners, gap)
    if (a, b) == pair:
        return out
    return home


def build_panel(node: NodeDevices, picture: Picture, box: Box, title: Text) -> Panel:
    """The box around a node, with its number and ranks.

    Args:
        node: Devices of the node.
        picture: What is drawn of the topology.
        box: A rectangle in CSS pixels.
        title: Name of the machine in every language.
    """
    ranks = [picture.endpoint[g] for g in node.get_devices("gpu") if picture.endpoint[g] >= 0]
    notes = [title]
    if ranks:
        key = "rank"
        if ranks[-1] - ranks[0] != len(ranks) - 1:
            key = "rank_count"
        elif len(ranks) > 1:
            key = "ranks"
        notes.append(build_text("pictures", f"layout.{key}", first=ranks[0], last=ranks[-1], count=len(ranks)))
    name = build_text("pictures", "layout.node", number=node.number)
    note = join_texts("clauses", filter(any, notes))
    return Panel(box, map_languages(name), map_languages(note), node.number)


def name_insides(sheet: Sheet, node: NodeDevices) -> None:
    """Short names for what is in a node; NICs are counted through all nodes, as ranks are.

    Args:
        sheet: The sheet that is being drawn; boxes, cables and names are added to it.
        node: Devices of the node.
    """
    cards = len(node.get_devices("nic"))
    for i, d in enumerate(node.get_devices("nic")):
        number = node.number * cards + i
        # Too small to read means no label: half a word would look like an error.
        sheet.names[d] = ""
        if sheet.boxes[d].h > 10:
            sheet.names[d] = f"NIC {number}"
    wide = all(sheet.boxes[d].w > 100 for d in node.get_devices("pcie"))
    numbered = all(sheet.boxes[d].w >= _NUMBERED for d in node.get_devices("pcie"))
    for d in node.get_devices("pcie"):
        number_text = split_number(sheet.picture.name[d])[1]
        if wide:
            sheet.names[d] = write_label("pcie_switch", number=number_text)
        elif numbered:
            sheet.names[d] = f"PCIe {number_text}".strip()
        else:
            sheet.names[d] = "PCIe"
    for d in node.get_devices("cpu"):
        sheet.names[d] = f"CPU {split_number(sheet.picture.name[d])[1]}".strip()
    for d in node.get_devices("memory"):
        if sheet.picture.endpoint[d] < 0:
            sheet.names[d] = write_label("memory")
    for d in node.get_devices("nvswitch"):
        sheet.names[d] = "NVSwitch"
        if sheet.chips > 1:
            sheet.names[d] = f"NVSwitch × {sheet.chips}"


def name_fabric(sheet: Sheet, switches: Iterable[int]) -> None:
    """`InfiniBand switch` for a single one; `leaf 3`, `spine 0` where there are several.

    Args:
        sheet: The sheet that is being drawn; boxes, cables and names are added to it.
        switches: Switches of the fabric.
    """
    picture, switches = sheet.picture, list(switches)
    links = zip(picture.src.tolist(), picture.dst.tolist(), picture.link_kind, strict=True)
    kinds = {kind for src, dst, kind in links if src in switches or dst in switches}
    key = "infiniband_switch"
    if kinds == {"ethernet"}:
        key = "ethernet_switch"
    for d in switches:
        word, number = split_number(picture.name[d])
        sheet.names[d] = f"{SHORT.get(word, word)} {number}".strip()
        if len(switches) == 1:
            sheet.names[d] = write_label(key)


def draw_cables_to_bars(sheet: Sheet, node: NodeDevices) -> None:
    """GPU to NVSwitch: straight down, out of the GPU on the right, into it on the left.

    Args:
        sheet: The sheet that is being drawn; boxes, cables and names are added to it.
        node: Devices of the node.
    """
    bars = node.get_devices("nvswitch")
    for g in node.get_devices("gpu"):
        box = sheet.boxes[g]
        for i, bar in enumerate(bars):
            if not sheet.is_linked(g, bar):
                continue
            bar_box = sheet.boxes[bar]
            start = box.cx
            if len(bars) != 1:
                start = box.x + (i + 0.5) * box.w / len(bars)
            if bar_box.x + 8 < start < bar_box.right - 8:
                end = start
            else:
                end = bar_box.x + bar_box.w * (node.get_devices("gpu").index(g) + 0.5) / len(node.get_devices("gpu"))
            ends = (start, box.face_y(bar_box.cy)), (end, bar_box.face_y(box.cy))
            sheet.add_cable(g, bar, *ends, left_hand=bar_box.y > box.y)


def draw_arches(sheet: Sheet, node: NodeDevices, depth: float) -> None:
    """Cables from GPU to GPU as nested arches below the row; arches that share a stretch get lanes of their own.

    Args:
        sheet: The sheet that is being drawn; boxes, cables and names are added to it.
        node: Devices of the node.
        depth: Height of the space for the arches, CSS pixels.
    """
    pairs = sorted(node.pairs, key=lambda p: (abs(sheet.boxes[p[0]].cx - sheet.boxes[p[1]].cx), p))
    ports: dict[int, list[tuple[float, tuple[int, int]]]] = {}
    for a, b in pairs:
        ports.setdefault(a, []).append((sheet.boxes[b].cx, (a, b)))
        ports.setdefault(b, []).append((sheet.boxes[a].cx, (a, b)))
    port_of: dict[tuple[int, tuple[int, int]], float] = {}
    for g, own_ports in ports.items():
        box = sheet.boxes[g]
        left = sorted((m for m in own_ports if m[0] < box.cx), key=lambda m: -m[0])
        right = sorted((m for m in own_ports if m[0] >= box.cx), key=lambda m: -m[0])
        order = [*left, *right]  # near ones outside, so that arches of one GPU nest
        for i, (_, pair) in enumerate(order):
            port_of[(g, pair)] = box.x + (i + 0.5) * box.w / len(order)
    lanes: list[list[tuple[float, float]]] = []
    lane_of: dict[tuple[int, int], int] = {}
    for pair in pairs:
        low, high = sorted((port_of[(pair[0], pair)], port_of[(pair[1], pair)]))
        # The first lane in which the arch meets no other; a new one where all are taken.
        free = (i for i, lane in enumerate(lanes) if all(high + 4 < x or low - 4 > y for x, y in lane))
        lane_of[pair] = next(free, len(lanes))
        if lane_of[pair] == len(lanes):
            lanes.append([])
        lanes[lane_of[pair]].append((low, high))
    if lanes:
        sheet.narrow_cables(pairs, ((depth - 12) / len(lanes) - 2) / 2)
    for pair in pairs:
        a, b = pair
        # Arches share the depth evenly, so that the number of lanes does not change the height of the picture.
        deep = 12 + (depth - 12) * (lane_of[pair] + 0.5) / max(1, len(lanes))
        edge = [sheet.boxes[d].bottom for d in pair]
        x0, x1, y = port_of[(a, pair)], port_of[(b, pair)], max(edge) + deep
        sheet.add_cable(a, b, (x0, edge[0]), (x0, y), (x1, y), (x1, edge[1]))
