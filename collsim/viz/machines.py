"""Machines as people draw them: a row of GPUs, PCIe and sockets above, the NVSwitch below, NICs at the edge that faces the fabric.

One node alone is a plain picture of the box. Two face each other, the second one mirrored, so that the ring runs 7 → 8 along the
bottom and 15 → 0 along the top without a crossing. Three to eight stand in two rows with the fabric between them, everything
in them smaller. Sizes are those of the mock (CSS pixels); cables are horizontal and vertical.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

from ..topology import Topology
from .geometry import Box, Point, both_ways, centred, straight
from .layout import Layout, Panel, hugged, label
from .picture import Picture

_MOST_IN_A_ROW = 16
#: Hybrid cube mesh of the DGX-1: two squares with their diagonals, joined corner to corner (GPU numbers of one machine).
_CUBE = {(a, b) for q in (0, 4) for a in range(q, q + 4) for b in range(a + 1, q + 4)} | {(a, a + 4) for a in range(4)}


@dataclass(eq=False)
class Node:
    """Devices of one node by kind, GPUs in the order of their ranks; `near` are the neighbours of every device."""

    number: int
    near: list[list[int]]
    kind: list[str]
    members: list[int]

    def of(self, *kinds: str) -> list[int]:
        return [d for d in self.members if self.kind[d] in kinds]

    def home(self, device: int) -> int | None:
        """The PCIe switch, else the CPU, that a GPU or NIC hangs on."""
        for kind in ("pcie", "cpu"):
            for d in self.near[device]:
                if self.kind[d] == kind:
                    return d
        return None

    def hanging(self, parent: int, kind: str) -> list[int]:
        """GPUs, NICs ... whose home is this device."""
        return [d for d in self.of(kind) if self.home(d) == parent]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """GPUs of this node that are joined directly."""
        gpus = set(self.of("gpu"))
        return sorted((a, b) for a in gpus for b in self.near[a] if b in gpus and a < b)

    @property
    def is_cube(self) -> bool:
        gpus = self.of("gpu")
        at = {g: i for i, g in enumerate(gpus)}
        return len(gpus) == 8 and {(at[a], at[b]) for a, b in self.pairs} == _CUBE


@dataclass(eq=False)
class Sheet:
    """What is being drawn: a box per device, and for cables that are not straight their corners, from the first device to the second."""

    what: Picture
    pipe: float
    boxes: dict[int, Box] = field(default_factory=dict)
    bends: dict[tuple[int, int], list[Point]] = field(default_factory=dict)
    left_hand: set[tuple[int, int]] = field(default_factory=set)
    names: dict[int, Any] = field(default_factory=dict)
    panels: list[Panel] = field(default_factory=list)

    def cable(self, a: int, b: int, *corners: Point, left_hand: bool = False) -> None:
        self.bends[(a, b)] = list(corners)
        if left_hand:
            self.left_hand.add((a, b))

    def joined(self, a: int, b: int) -> bool:
        return b in self._near[a]

    def __post_init__(self) -> None:
        self._near = [set(n) for n in self.what.neighbours()]
        self._rate: dict[tuple[int, int], float] = {}
        for a, b, rate in zip(self.what.src.tolist(), self.what.dst.tolist(), self.what.bandwidth.tolist(), strict=True):
            pair = (min(a, b), max(a, b))
            self._rate[pair] = max(rate, self._rate.get(pair, 0.0))

    def width(self, a: int, b: int) -> float:
        """Pixels of one direction of a cable."""
        return max(2.0, self.pipe * sqrt(self._rate.get((min(a, b), max(a, b)), 0.0) / 1e9))


def arrange_nodes(what: Picture, topology: Topology) -> Layout | None:
    """Place the insides of one to eight nodes and the fabric between them; None where they are not machines we know."""
    near = what.neighbours()
    nodes = [Node(k, near, what.kind, [d for d in range(len(what)) if what.node[d] == k]) for k in range(what.nodes)]
    most = max(len(n.of("gpu")) for n in nodes)
    if most > _MOST_IN_A_ROW or min(len(n.of("gpu")) for n in nodes) == 0:
        return None
    for n in nodes:
        rank = {d: what.endpoint[d] if what.endpoint[d] >= 0 else 10**9 + d for d in n.members}
        n.members.sort(key=lambda d: (n.kind[d] != "gpu", rank[d] if n.kind[d] == "gpu" else d))
    widest = max(1.0, float(what.bandwidth.max(initial=1e9)) / 1e9)
    sheet = Sheet(what, min(1.1, 19.2 / sqrt(widest)))
    title = str(topology.facts.get("title", topology.facts.get("machine", "")))
    key = None
    if len(nodes) == 1 and not nodes[0].of("nic"):
        _alone(sheet, nodes[0])
    elif len(nodes) <= 2:
        key = _facing(sheet, nodes, title)
    else:
        _in_two_rows(sheet, nodes, title)
    return _finished(sheet, key)


def _finished(sheet: Sheet, key: Box | None) -> Layout:
    """A Layout of the sheet: lines for every link, both directions side by side, a name on every device."""
    what = sheet.what
    spare = [d for d in range(len(what)) if d not in sheet.boxes]
    bottom = max(b.bottom for b in sheet.boxes.values())
    for i, d in enumerate(spare):
        sheet.boxes[d] = Box(16.0 + 70 * i, bottom + 24, 58, 26)
    boxes = [sheet.boxes[d] for d in range(len(what))]
    made = Layout(
        what, boxes, [sheet.names.get(d, label(what, d)) for d in range(len(what))], panels=sheet.panels, pipe=sheet.pipe, key=key
    )
    crowd: Counter[tuple[int, int]] = Counter()
    for a, b in zip(what.src.tolist(), what.dst.tolist(), strict=True):
        nth = crowd[(a, b)]
        crowd[(a, b)] += 1
        made.lines.append(_line(sheet, a, b, nth))
    if not made.panels:
        return hugged(made)
    made.w = max(p.box.right for p in made.panels) + 8
    made.w = max(made.w, max(b.right for b in boxes) + 8)
    made.h = max(max(p.box.bottom for p in made.panels), max(b.bottom for b in boxes)) + 6
    return made


def _line(sheet: Sheet, a: int, b: int, nth: int) -> list[Point]:
    """The polyline of the nth link from a to b, on its side of the cable."""
    there = (a, b) in sheet.bends
    pair = (a, b) if there or (b, a) in sheet.bends else (min(a, b), max(a, b))
    if (b, a) in sheet.bends and not there:
        pair = (b, a)
    corners = sheet.bends.get(pair) or straight(sheet.boxes[pair[0]], sheet.boxes[pair[1]])
    gap = (sheet.width(a, b) + 0.6) * (1 + 2 * nth)
    if pair in sheet.left_hand:
        gap = -gap
    out, home = both_ways(corners, gap)
    return out if (a, b) == pair else home


def _panel(node: Node, what: Picture, box: Box, title: str) -> Panel:
    ranks = [what.endpoint[g] for g in node.of("gpu") if what.endpoint[g] >= 0]
    en, zh = [title] if title else [], [title] if title else []
    if ranks and ranks[-1] - ranks[0] != len(ranks) - 1:
        en.append(f"{len(ranks)} ranks")
        zh.append(f"{len(ranks)} 个 rank")
    elif ranks:
        en.append(f"ranks {ranks[0]} to {ranks[-1]}" if len(ranks) > 1 else f"rank {ranks[0]}")
        zh.append(f"rank {ranks[0]}–{ranks[-1]}" if len(ranks) > 1 else f"rank {ranks[0]}")
    name = {"en": f"Node {node.number}", "zh": f"节点 {node.number}"}
    return Panel(box, name, {"en": ", ".join(en), "zh": "，".join(zh)}, node.number)


def _number(what: Picture, device: int) -> str:
    name = what.name[device]
    return name[len(name.rstrip("0123456789")) :]


def _name_insides(sheet: Sheet, node: Node, small: bool = False) -> None:
    """Short names for what is in a node; NICs are counted through all nodes, as ranks are."""
    cards = len(node.of("nic"))
    for i, d in enumerate(node.of("nic")):
        sheet.names[d] = {"en": f"NIC {node.number * cards + i}", "zh": f"网卡 {node.number * cards + i}"} if not small else ""
    wide = all(sheet.boxes[d].w > 100 for d in node.of("pcie"))
    for d in node.of("pcie"):
        number = _number(sheet.what, d)
        sheet.names[d] = {"en": f"PCIe switch {number}".strip(), "zh": f"PCIe 交换机 {number}".strip()} if wide else "PCIe"
    for d in node.of("cpu"):
        sheet.names[d] = f"CPU {_number(sheet.what, d)}".strip()
    for d in node.of("memory"):
        if sheet.what.endpoint[d] < 0:
            sheet.names[d] = {"en": "memory", "zh": "内存"}
    for d in node.of("nvswitch"):
        count = next((w for w in (sheet.what.name[d].partition("x")[2],) if w.isdigit()), "")
        sheet.names[d] = f"NVSwitch{f' × {count}' if count else ''}"


# ---- one node --------------------------------------------------------------------------------------------------------------


def _alone(sheet: Sheet, node: Node) -> None:
    """Host memory, sockets, PCIe switches and GPUs as a tree from the top, the NVSwitch as a bar below."""
    if node.is_cube:
        _cube(sheet, node, scale=1.45)
        _name_insides(sheet, node)
        return
    gpus, bars = node.of("gpu"), node.of("nvswitch")
    homes = _ordered_homes(node)
    rows = (8.0, 96.0, 200.0, 318.0) if not bars and not node.pairs else (8.0, 72.0, 146.0, 232.0)
    x, slot = 0.0, {}
    for home in homes:
        mine = node.hanging(home, "gpu") if home is not None else [g for g in gpus if node.home(g) is None]
        for g in mine:
            slot[g] = x
            x += 84.0
        x += 22.0
    for g in gpus:
        sheet.boxes[g] = Box(slot[g], rows[3], 62, 48)
    _tree_above(sheet, node, rows)
    for i, bar in enumerate(bars):
        wide = (x - 22 - 22) / len(bars)
        sheet.boxes[bar] = Box(i * wide + 1, rows[3] + 48 + 92, wide - 2 - 10 * (i < len(bars) - 1), 34)
    _name_insides(sheet, node)
    _down_to_bars(sheet, node)
    _arches(sheet, node, 110.0)
    for m in node.of("memory"):
        if sheet.what.endpoint[m] < 0:
            number = _number(sheet.what, m)
            sheet.names[m] = {"en": f"host memory {number}".strip(), "zh": f"主机内存 {number}".strip()}


def _ordered_homes(node: Node) -> list[int | None]:
    """PCIe switches (or sockets) in the order of the GPUs that hang on them."""
    homes: list[int | None] = []
    for g in node.of("gpu"):
        if node.home(g) not in homes:
            homes.append(node.home(g))
    return homes


def _tree_above(sheet: Sheet, node: Node, rows: tuple[float, float, float, float]) -> None:
    """PCIe switches over their GPUs, sockets over their switches, memory over its socket."""
    middle = {g: sheet.boxes[g].cx for g in node.of("gpu")}
    pending = node.of("pcie")
    for _ in range(3):
        for p in list(pending):
            below = [middle[d] for d in node.near[p] if d in middle and node.kind[d] in ("gpu", "pcie")]
            if below:
                middle[p] = (min(below) + max(below)) / 2
                pending.remove(p)
    lower = [p for p in node.of("pcie") if p in middle and node.hanging(p, "gpu")]
    for p in node.of("pcie"):
        x = middle.get(p, max(middle.values()) + 90)
        wide = min(
            136.0,
            max([b - a for a, b in zip(sorted(middle[q] for q in lower), sorted(middle[q] for q in lower)[1:], strict=False)] or [160.0])
            - 16,
        )
        sheet.boxes[p] = centred(
            x, rows[2] + 22 - (0 if p in lower or not lower else 62), wide if p in lower else 110.0, 44.0 if p in lower else 30.0
        )
        middle[p] = x
    cpus = node.of("cpu")
    for i, c in enumerate(cpus):
        below = [middle[d] for d in node.near[c] if node.kind[d] in ("pcie", "gpu") and d in middle]
        x = (min(below) + max(below)) / 2 if below else (i + 0.5) * max(middle.values()) / len(cpus)
        middle[c] = x
        direct = [middle[d] for d in node.near[c] if node.kind[d] == "gpu"]
        sheet.boxes[c] = centred(x, rows[1] + 21, max(130.0, max(direct) - min(direct) + 62 if direct else 0.0), 42)
    for m in node.of("memory"):
        over = next((middle[c] for c in node.near[m] if c in middle and node.kind[c] == "cpu"), next(iter(middle.values())))
        sheet.boxes[m] = centred(over, rows[0] + 18, 160, 36)
    _tree_cables(sheet, node)


def _tree_cables(sheet: Sheet, node: Node) -> None:
    """Vertical where the boxes allow it; between sockets horizontal."""
    for g in node.of("gpu"):
        home = node.home(g)
        if home is None:
            continue
        low, high = sheet.boxes[g], sheet.boxes[home]
        x = min(max(low.cx, high.x + 10), high.right - 10)
        if low.x + 6 <= x <= low.right - 6:
            sheet.cable(g, home, (x, low.y), (x, high.bottom))
    for c in node.of("cpu"):
        box = sheet.boxes[c]
        for d in node.near[c]:
            if d in sheet.boxes and node.kind[d] == "pcie":
                low = sheet.boxes[d]
                x = min(max(low.cx, box.x + 24), box.right - 24)
                sheet.cable(d, c, (low.cx, low.y), (x, box.bottom))


def _down_to_bars(sheet: Sheet, node: Node) -> None:
    """GPU to NVSwitch: straight down, out of the GPU on the right, into it on the left."""
    bars = node.of("nvswitch")
    for g in node.of("gpu"):
        box = sheet.boxes[g]
        for i, bar in enumerate(bars):
            if not sheet.joined(g, bar):
                continue
            to = sheet.boxes[bar]
            start = box.cx if len(bars) == 1 else box.x + (i + 0.5) * box.w / len(bars)
            down = to.y > box.y
            end = start if to.x + 8 < start < to.right - 8 else to.x + to.w * (node.of("gpu").index(g) + 0.5) / len(node.of("gpu"))
            sheet.cable(g, bar, (start, box.bottom if down else box.y), (end, to.y if down else to.bottom), left_hand=down)


def _arches(sheet: Sheet, node: Node, depth: float, up: bool = False) -> None:
    """Cables from GPU to GPU as nested arches below (or above) the row; arches that share a stretch get lanes of their own."""
    pairs = sorted(node.pairs, key=lambda p: (abs(sheet.boxes[p[0]].cx - sheet.boxes[p[1]].cx), p))
    ports: dict[int, list[tuple[float, tuple[int, int]]]] = {}
    for a, b in pairs:
        ports.setdefault(a, []).append((sheet.boxes[b].cx, (a, b)))
        ports.setdefault(b, []).append((sheet.boxes[a].cx, (a, b)))
    at: dict[tuple[int, tuple[int, int]], float] = {}
    for g, mine in ports.items():
        box = sheet.boxes[g]
        left = sorted((m for m in mine if m[0] < box.cx), key=lambda m: -m[0])
        right = sorted((m for m in mine if m[0] >= box.cx), key=lambda m: -m[0])
        order = [*left, *right]  # near ones outside, so that arches of one GPU nest
        for i, (_, pair) in enumerate(order):
            at[(g, pair)] = box.x + (i + 0.5) * box.w / len(order)
    lanes: list[list[tuple[float, float]]] = []
    lane_of: dict[tuple[int, int], int] = {}
    for pair in pairs:
        low, high = sorted((at[(pair[0], pair)], at[(pair[1], pair)]))
        free = (i for i, lane in enumerate(lanes) if all(high + 4 < x or low - 4 > y for x, y in lane))
        lane_of[pair] = next(free, len(lanes))
        if lane_of[pair] == len(lanes):
            lanes.append([])
        lanes[lane_of[pair]].append((low, high))
    for pair in pairs:
        a, b = pair
        deep = 12 + (depth - 12) * (lane_of[pair] + 0.5) / max(1, len(lanes))
        edge = [sheet.boxes[d].y if up else sheet.boxes[d].bottom for d in pair]
        y = min(edge) - deep if up else max(edge) + deep
        sheet.cable(a, b, (at[(a, pair)], edge[0]), (at[(a, pair)], y), (at[(b, pair)], y), (at[(b, pair)], edge[1]))


# ---- two nodes -------------------------------------------------------------------------------------------------------------


def _facing(sheet: Sheet, nodes: list[Node], title: str) -> Box | None:
    """Node 0 left, node 1 right and mirrored, the fabric between them; returns where the key of cables may stand."""
    cube = any(n.is_cube for n in nodes)
    most = max(len(n.of("gpu")) for n in nodes)
    pitch = max(41.0, min(106.0, 424.0 / most))
    panel = 454.0 if most <= 10 else 30 + most * pitch
    between = 210.0
    width = 16 + panel * len(nodes) + between if len(nodes) == 2 else 8 + panel + 150
    deep = False
    for n in nodes:
        mirror = width if n.number == 1 else None
        own = Sheet(sheet.what, sheet.pipe)
        if n.is_cube:
            _cube(own, n, reverse=mirror is not None)
            _cube_nics(own, n, panel)
        else:
            _inside(own, n, pitch, panel, reverse=mirror is not None)
        deep |= bool(n.of("nvswitch") or n.pairs)
        _take(sheet, own, mirror)
        _name_insides(sheet, n)
    height = 492.0 if cube else 456.0 if deep else 340.0
    for n in nodes:
        x = 8.0 if n.number == 0 else width - 8 - panel
        sheet.panels.append(_panel(n, sheet.what, Box(x, 8, panel, height), title))
    left, right = 8 + panel, width - 8 - panel if len(nodes) == 2 else width - 16
    _between(sheet, nodes, left, right, height if cube else 0.0)
    if len(nodes) == 2 and not cube and deep:
        return Box(left + 19, 240, right - left - 44, 216)
    return None


def _take(sheet: Sheet, own: Sheet, mirror: float | None) -> None:
    """Put the drawing of one node on the sheet, as it is or seen in a mirror (a mirror swaps left-hand and right-hand traffic back)."""
    for d, box in own.boxes.items():
        sheet.boxes[d] = box if mirror is None else box.mirrored(mirror)
    for pair, corners in own.bends.items():
        sheet.bends[pair] = corners if mirror is None else [(mirror - x, y) for x, y in corners]
    sheet.left_hand |= own.left_hand


def _inside(sheet: Sheet, node: Node, pitch: float, panel: float, reverse: bool) -> None:
    """One node with its NICs at the right edge; `reverse` counts GPUs from the right, for the node that will be mirrored."""
    gpus = node.of("gpu")[::-1] if reverse else node.of("gpu")
    wide = min(42.0, pitch - 11)
    offset = 19 + max(0.0, (panel - 30 - len(gpus) * pitch) / 2)
    for p, g in enumerate(gpus):
        sheet.boxes[g] = Box(offset + p * pitch + max(0.0, (pitch - 11 - wide) / 2), 293, wide, 40)
    homes = _place_pcie(sheet, node, gpus, pitch)
    above = _place_cpus(sheet, node, homes, reverse)
    _place_nics(sheet, node, homes, panel, reverse, 19.5 if above else 22.5)
    row = [sheet.boxes[g] for g in gpus]
    bars = node.of("nvswitch")
    left, wide_bar = min(b.x for b in row) - 1, max(b.right for b in row) - min(b.x for b in row) + 2
    for i, bar in enumerate(bars):
        part = wide_bar / len(bars)
        sheet.boxes[bar] = Box(left + i * part, 421, part - (8 if i < len(bars) - 1 else 0), 31)
    _down_to_bars(sheet, node)
    _arches(sheet, node, 118.0)


def _place_pcie(sheet: Sheet, node: Node, gpus: list[int], pitch: float) -> list[int]:
    """PCIe switches over their GPUs, from left to right."""
    at = {g: i for i, g in enumerate(gpus)}
    homes = [p for p in node.of("pcie") if node.hanging(p, "gpu")]
    homes.sort(key=lambda p: min(at[g] for g in node.hanging(p, "gpu")))
    for p in homes:
        mine = sorted(node.hanging(p, "gpu"), key=lambda g: at[g])
        centres = [sheet.boxes[g].cx for g in mine]
        wide = 46.0 if len(mine) == 2 else min(42.0, pitch - 8) if len(mine) == 1 else centres[-1] - centres[0] + 26
        sheet.boxes[p] = centred(sum(centres) / len(centres), 233.5, min(wide, len(mine) * pitch - 6), 25)
        for q, g in enumerate(mine):
            x = centres[q] if len(mine) != 2 else sheet.boxes[p].cx + (q - 0.5) * 26
            x = min(max(x, sheet.boxes[g].x + 5), sheet.boxes[g].right - 5)
            sheet.cable(g, p, (x, 293), (x, 246))
    others = [p for p in node.of("pcie") if p not in homes]
    for i, p in enumerate(others):
        under = [sheet.boxes[d].cx for d in node.near[p] if d in sheet.boxes]
        x = sum(under) / len(under) if under else 60.0 + 60 * i
        sheet.boxes[p] = centred(x, 196.0, 46, 20)
    return homes + others


def _place_cpus(sheet: Sheet, node: Node, homes: list[int], reverse: bool) -> bool:
    """Sockets between their PCIe switches where there is room, else above them (True); memory over each, if it is drawn."""
    cpus = node.of("cpu")
    taken = [sheet.boxes[p] for p in homes]
    upper = [sheet.boxes[p] for p in node.of("pcie") if not node.hanging(p, "gpu")]
    places: dict[int, Box] = {}
    for i, c in enumerate(cpus[::-1] if reverse else cpus):
        below = [sheet.boxes[d].cx for d in node.near[c] if d in sheet.boxes and node.kind[d] in ("pcie", "gpu")]
        row = [b.cx for b in sheet.boxes.values()]
        x = sum(below) / len(below) if below else min(row) + (i + 0.5) * (max(row) - min(row)) / len(cpus)
        places[c] = centred(x, 233.5, 42, 25)
    above = any(places[c].overlaps(b) for c in cpus for b in [*taken, *(places[o] for o in cpus if o != c)])
    for c in cpus:
        sheet.boxes[c] = centred(places[c].cx, 158 if above and upper else 193, 36, 22) if above else places[c]
        for m in node.near[c]:
            if node.kind[m] == "memory" and m in node.members:
                y = 124 if above and upper else 159 if above else 179
                sheet.boxes[m] = centred(places[c].cx, y, 44, 18 if above else 20)
                top = sheet.boxes[c].y
                sheet.cable(c, m, (places[c].cx - 8, top), (places[c].cx - 8, sheet.boxes[m].bottom))
    if above:
        for p in homes:
            sheet.boxes[p] = sheet.boxes[p].moved(0, 6)
            for g in node.hanging(p, "gpu"):
                sheet.bends[(g, p)] = [(sheet.bends[(g, p)][0][0], 293), (sheet.bends[(g, p)][0][0], sheet.boxes[p].bottom)]
        _climb(sheet, node, homes)
    for a in cpus:
        for b in cpus:
            if a < b and sheet.joined(a, b):
                y = 212 if not above else 174
                first, last = sorted((a, b), key=lambda d: sheet.boxes[d].cx)
                x0, x1 = sheet.boxes[first].cx + 9, sheet.boxes[last].cx + (-19 if above else -9) + (8 if above else 0)
                sheet.cable(first, last, (x0, sheet.boxes[first].y), (x0, y), (x1, y), (x1, sheet.boxes[last].y))
    return above


def _climb(sheet: Sheet, node: Node, homes: list[int]) -> None:
    """From PCIe switches up to a socket above them: into its side, the farther ones higher."""
    for c in node.of("cpu"):
        box = sheet.boxes[c]
        for side in (-1, 1):
            mine = [p for p in homes if sheet.joined(p, c) and (sheet.boxes[p].cx - box.cx) * side > 0]
            mine.sort(key=lambda p: -abs(sheet.boxes[p].cx - box.cx))
            for i, p in enumerate(mine):
                y = box.y + (i + 0.5) * box.h / len(mine)
                x = sheet.boxes[p].cx + 10
                edge = box.x if side < 0 else box.right
                if box.x < x < box.right:
                    sheet.cable(p, c, (x, sheet.boxes[p].y), (x, box.bottom))
                else:
                    sheet.cable(p, c, (x, sheet.boxes[p].y), (x, y), (edge, y))


def _place_nics(sheet: Sheet, node: Node, homes: list[int], panel: float, reverse: bool, step: float) -> None:
    """A column of NICs at the right edge, in the order of what they hang on, so that their cables nest."""
    nics = node.of("nic")
    order = {p: i for i, p in enumerate(sorted([*homes, *node.of("cpu")], key=lambda d: sheet.boxes[d].cx))}
    nics.sort(key=lambda d: (order.get(node.home(d) or 0, 99), -d if reverse else d))
    if len(nics) > 8:
        step = min(step, 8 * step / len(nics))
    elif 1 < len(nics) < 8:
        step = min(45.0, 7 * step / (len(nics) - 1))
    tall = min(19.0, step - 3)
    for row, d in enumerate(nics):
        y = 44 + row * step if len(nics) > 1 else 110.0
        sheet.boxes[d] = centred(8 + panel, y, 48, tall)
        home = node.home(d)
        if home is None:
            continue
        box = sheet.boxes[home]
        mine = [m for m in nics if node.home(m) == home]
        q, k = mine.index(d), len(mine)
        x = box.cx + (q - (k - 1) / 2) * (26 if k == 2 else min(16, box.w / (k + 1))) - (8 if k == 1 else 0)
        sheet.cable(home, d, (x, box.y), (x, y), (sheet.boxes[d].x, y))


# ---- the hybrid cube mesh --------------------------------------------------------------------------------------------------


def _cube(sheet: Sheet, node: Node, scale: float = 1.0, reverse: bool = False) -> None:
    """Two squares with diagonals, corner joined to corner: 0 1 | 5 4 above, 3 2 | 6 7 below; PCIe above and below, sockets outside."""

    def at(x: float, y: float) -> Point:
        return (464 - x if reverse else x) * scale, y * scale

    gpus = node.of("gpu")
    size = 44.0 * min(1.3, scale)
    columns, rows = {0: 92, 3: 92, 1: 192, 2: 192, 5: 272, 6: 272, 4: 372, 7: 372}, {0: 252, 1: 252, 5: 252, 4: 252}
    for i, g in enumerate(gpus):
        sheet.boxes[g] = centred(*at(columns[i], rows.get(i, 372)), size, size * 0.95)
    edges = {(gpus.index(a), gpus.index(b)): (a, b) for a, b in node.pairs}
    for (i, j), y in {(0, 4): 212.0, (3, 7): 412.0}.items():
        a, b = edges[(i, j)]
        out = -8 * scale if sheet.boxes[a].cx < sheet.boxes[b].cx else 8 * scale
        x0, x1, y0 = sheet.boxes[a].cx + out, sheet.boxes[b].cx - out, at(0, y)[1]
        edge = sheet.boxes[a].y if i == 0 else sheet.boxes[a].bottom
        sheet.cable(a, b, (x0, edge), (x0, y0), (x1, y0), (x1, edge))
    for p in node.of("pcie"):
        mine = [gpus.index(g) for g in node.hanging(p, "gpu")]
        if not mine:
            continue
        upper = all(i in rows for i in mine)
        xs = [sheet.boxes[gpus[i]].cx for i in mine]
        box = centred((min(xs) + max(xs)) / 2, at(0, 176 if upper else 446)[1], max(xs) - min(xs) + 26 * scale, 24 * min(1.3, scale))
        sheet.boxes[p] = box
        for i in mine:
            gpu = sheet.boxes[gpus[i]]
            x = gpu.cx + 7 * scale
            sheet.cable(gpus[i], p, (x, gpu.y if upper else gpu.bottom), (x, box.bottom if upper else box.y))
    _cube_sockets(sheet, node, at, scale)


def _cube_sockets(sheet: Sheet, node: Node, at: Any, scale: float) -> None:
    """Sockets left and right of the squares, half-way up."""
    cpus = node.of("cpu")
    for c in cpus:
        near = [sheet.boxes[p].cx for p in node.near[c] if p in sheet.boxes and node.kind[p] == "pcie"]
        is_left = not near or sum(near) / len(near) < 232 * scale
        box = centred((36 if is_left else 428) * scale, 312 * scale, 42 * min(1.3, scale), 26 * min(1.3, scale))
        sheet.boxes[c] = box
        for p in node.near[c]:
            if p not in sheet.boxes or node.kind[p] != "pcie":
                continue
            switch = sheet.boxes[p]
            x = box.cx + (10 if is_left else -10) * scale
            edge = switch.x if is_left else switch.right
            sheet.cable(p, c, (edge, switch.cy), (x, switch.cy), (x, box.y if switch.cy < box.cy else box.bottom))
        for m in node.near[c]:
            if node.kind[m] == "memory":
                sheet.boxes[m] = centred(box.cx - (7 if is_left else -7) * scale, box.bottom + 32 * scale, 30 * scale, 20 * scale)
    if len(cpus) == 2 and sheet.joined(cpus[0], cpus[1]):
        a, b = sorted(cpus, key=lambda c: sheet.boxes[c].cx)
        x0, x1, y = sheet.boxes[a].cx - 10 * scale, sheet.boxes[b].cx + 10 * scale, at(0, 146)[1]
        sheet.cable(a, b, (x0, sheet.boxes[a].y), (x0, y), (x1, y), (x1, sheet.boxes[b].y))


def _cube_nics(sheet: Sheet, node: Node, panel: float) -> None:
    """NICs of the upper PCIe switches at the top of the edge, those of the lower ones at its bottom."""
    nics = [d for d in node.of("nic") if node.home(d) in sheet.boxes]
    homes = {d: sheet.boxes[h] for d in nics if (h := node.home(d)) is not None}
    upper = sorted((d for d in nics if homes[d].cy < 300), key=lambda d: homes[d].cx)
    lower = sorted((d for d in nics if homes[d].cy >= 300), key=lambda d: -homes[d].cx)
    for row, d in enumerate(upper):
        y = 62.0 + 42 * row
        sheet.boxes[d] = centred(8 + panel, y, 48, 19)
        sheet.cable(node.home(d) or 0, d, (homes[d].cx, homes[d].y), (homes[d].cx, y), (sheet.boxes[d].x, y))
    for row, d in enumerate(lower):
        y = 470.0 + 19 * row
        sheet.boxes[d] = centred(8 + panel, y, 48, 16)
        sheet.cable(node.home(d) or 0, d, (homes[d].cx, homes[d].bottom), (homes[d].cx, y), (sheet.boxes[d].x, y))


# ---- the fabric ------------------------------------------------------------------------------------------------------------


def _between(sheet: Sheet, nodes: list[Node], left: float, right: float, tall: float) -> None:
    """The fabric's switches between two nodes: one tall bar, or a stack; those that only one node touches stand on its side."""
    what = sheet.what
    switches = [d for d in range(len(what)) if what.kind[d] == "switch" and d not in sheet.boxes]
    if not switches:
        return
    near = what.neighbours()
    cards = {d: [n for n in near[d] if what.kind[n] == "nic"] for d in switches}
    column: dict[float, list[int]] = {}
    middle = (left + right) / 2
    for d in switches:
        sides = {what.node[n] for n in cards[d]}
        x = middle if len(sides) != 1 or len(nodes) == 1 or len(switches) == 1 else left + 52 if 0 in sides else right - 52
        column.setdefault(x, []).append(d)
    rows = [sheet.boxes[n].cy for d in switches for n in cards[d]] or [44.0, 201.5]
    low, high = min(rows) - 16, max(rows) + 20
    for x, stack in column.items():
        stack.sort(key=lambda d: (sum(sheet.boxes[n].cy for n in cards[d]) / len(cards[d]) if cards[d] else 1e6, d))
        leaves = [d for d in stack if cards[d]]
        spines = [d for d in stack if not cards[d]]
        wide = 44.0 if len(column) == 1 else 34.0
        _stack(sheet, leaves or spines, x, low, high, wide)
        if leaves and spines:
            _stack(sheet, spines, x, high + 14, high + 14 + 26 * len(spines), 70.0)
    _fabric_names(sheet, switches)
    for d in switches:
        for n in cards[d]:
            card, bar = sheet.boxes[n], sheet.boxes[d]
            y = card.cy
            if bar.y <= y <= bar.bottom:
                sheet.cable(n, d, (card.right if bar.cx > card.cx else card.x, y), (bar.x if bar.cx > card.cx else bar.right, y))


def _stack(sheet: Sheet, devices: list[int], x: float, low: float, high: float, wide: float) -> None:
    part = (high - low) / max(1, len(devices))
    for i, d in enumerate(devices):
        sheet.boxes[d] = Box(x - wide / 2, low + i * part, wide, part - (5 if i < len(devices) - 1 else 0))


def _fabric_names(sheet: Sheet, switches: Iterable[int]) -> None:
    """`InfiniBand switch` for a single one; `leaf 3`, `spine 0` where there are several."""
    what, switches = sheet.what, list(switches)
    kinds = {k for s, d, k in zip(what.src.tolist(), what.dst.tolist(), what.link_kind, strict=True) if s in switches or d in switches}
    en, zh = ("Ethernet", "以太网") if kinds == {"ethernet"} else ("InfiniBand", "InfiniBand ")
    for d in switches:
        if len(switches) == 1:
            sheet.names[d] = {"en": f"{en} switch", "zh": f"{zh}交换机"}
        else:
            short = what.name[d].removeprefix("fabric/")
            word = short.rstrip("0123456789")
            sheet.names[d] = f"{word} {short[len(word) :]}".strip()


# ---- three to eight nodes --------------------------------------------------------------------------------------------------


def _in_two_rows(sheet: Sheet, nodes: list[Node], title: str) -> None:
    """Two rows of nodes with the fabric as a bar between them; the lower row has its NICs on top."""
    across = (len(nodes) + 1) // 2
    most = max(len(n.of("gpu")) for n in nodes)
    wide = max((1134.0 - 8 - across * 8) / across, 22.0 + most * 31)
    tall = 190.0
    fabric = Box(8, 8 + tall + 22, across * (wide + 8) - 8, 52)
    for n in nodes:
        row, column = divmod(n.number, across)
        box = Box(8 + column * (wide + 8), 8 if row == 0 else fabric.bottom + 22, wide, tall)
        panel = _panel(n, sheet.what, box, title)
        sheet.panels.append(panel if wide > 420 else replace(panel, note={"en": "", "zh": ""}))
        _small_inside(sheet, n, box, down=row == 0)
        _name_insides(sheet, n, small=True)
        if wide / most < 44:
            for d in n.of("cpu", "pcie", "memory"):
                sheet.names[d] = "" if sheet.what.endpoint[d] < 0 else sheet.names.get(d, "")
    _fabric_bar(sheet, fabric)


def _small_inside(sheet: Sheet, node: Node, box: Box, down: bool) -> None:
    """GPU row, NVSwitch bar, PCIe and NIC rows of one small node; `down`: its NICs are at the bottom."""
    gpus = node.of("gpu")
    pitch = (box.w - 22) / max(8, len(gpus))
    size = min(42.0, pitch - 5)
    rows = {"bar": 28.0, "gpu": 76.0, "pcie": 126.0, "nic": 163.0} if down else {"bar": 154.0, "gpu": 98.0, "pcie": 61.0, "nic": 22.0}
    offset = box.x + (box.w - len(gpus) * pitch) / 2
    for i, g in enumerate(gpus):
        sheet.boxes[g] = Box(offset + (i + 0.5) * pitch - size / 2, box.y + rows["gpu"], size, min(30.0, size))
    low = min(sheet.boxes[g].x for g in gpus)
    span = max(sheet.boxes[g].right for g in gpus) - low
    for i, bar in enumerate(node.of("nvswitch")):
        part = span / len(node.of("nvswitch"))
        sheet.boxes[bar] = Box(low + i * part, box.y + rows["bar"], part - 2, 18)
    homes = _small_pcie(sheet, node, box.y + rows["pcie"], pitch)
    _small_cards(sheet, node, box, box.y + rows["nic"])
    _small_cpus(sheet, node, homes, box.y + rows["pcie"], down)
    _down_to_bars(sheet, node)
    _arches(sheet, node, 42.0, up=down)


def _small_pcie(sheet: Sheet, node: Node, y: float, pitch: float) -> list[int]:
    homes = [p for p in node.of("pcie") if node.hanging(p, "gpu")] or node.of("pcie")
    for i, p in enumerate([p for p in node.of("pcie") if p not in homes]):
        below = [sheet.boxes[d].cx for d in node.of("gpu")]
        sheet.boxes[p] = Box(sum(below) / len(below) - 20 + 50 * i, y + (18 if y > sheet.boxes[node.of("gpu")[0]].y else -13), 40, 11)
    for i, p in enumerate(homes):
        centres = [sheet.boxes[g].cx for g in node.hanging(p, "gpu")] or [sheet.boxes[node.of("gpu")[0]].cx + i * pitch]
        wide = min(46.0, pitch * 0.92) if len(centres) < 3 else max(centres) - min(centres) + pitch * 0.5
        sheet.boxes[p] = Box((min(centres) + max(centres)) / 2 - wide / 2, y, wide, 16)
        for g in node.hanging(p, "gpu"):
            gpu, box = sheet.boxes[g], sheet.boxes[p]
            x = min(max(gpu.cx, box.x + 5), box.right - 5)
            x = min(max(x, gpu.x + 4), gpu.right - 4)
            ends = ((x, gpu.bottom), (x, box.y)) if box.y > gpu.y else ((x, gpu.y), (x, box.bottom))
            sheet.cable(g, p, *ends)
    return homes


def _small_cards(sheet: Sheet, node: Node, box: Box, y: float) -> None:
    """NICs in a row, right of the panel's label."""
    nics = node.of("nic")
    nics.sort(key=lambda d: (sheet.boxes[h].cx if (h := node.home(d)) is not None and h in sheet.boxes else 0.0, d))
    start = box.x + (205 if box.w > 420 else 84)
    room = (box.right - 10 - start) / max(1, len(nics))
    for i, d in enumerate(nics):
        wide = min(34.0, room - 4)
        sheet.boxes[d] = Box(start + (i + 0.5) * room - wide / 2, y, wide, 12)
        home = node.home(d)
        if home is None or home not in sheet.boxes:
            continue
        low, high = sorted((sheet.boxes[home], sheet.boxes[d]), key=lambda b: b.y)
        mine = [m for m in nics if node.home(m) == home]
        hub = sheet.boxes[home]
        x0, x1 = hub.cx + (mine.index(d) - (len(mine) - 1) / 2) * min(14, hub.w / (len(mine) + 1)), sheet.boxes[d].cx
        middle = low.bottom + (high.y - low.bottom) * (0.3 + 0.5 * (i + 0.5) / len(nics))
        down = hub.y < sheet.boxes[d].y
        first, last = (hub.bottom, sheet.boxes[d].y) if down else (hub.y, sheet.boxes[d].bottom)
        corners = [(x0, first), (x1, last)] if abs(x0 - x1) < 1.5 else [(x0, first), (x0, middle), (x1, middle), (x1, last)]
        sheet.cable(home, d, *corners)


def _small_cpus(sheet: Sheet, node: Node, homes: list[int], y: float, down: bool) -> None:
    """Sockets and memory: small boxes between the PCIe switches, or in the gap beside them."""
    cpus = node.of("cpu")
    row = sorted(sheet.boxes[g].cx for g in node.of("gpu"))
    for i, c in enumerate(cpus):
        below = [sheet.boxes[p].cx for p in homes if sheet.joined(p, c)]
        x = sum(below) / len(below) if below else row[0] + (i + 0.5) * (row[-1] - row[0]) / len(cpus)
        place = centred(x, y + 8, min(36.0, (row[-1] - row[0]) / 14 + 8), 14)
        squeezed = any(place.overlaps(sheet.boxes[p]) for p in homes)
        if squeezed:
            place = place.moved(0, 19 if down else -19)
            place = Box(place.x + 4, place.y + 2, max(8.0, place.w - 8), 9)
        sheet.boxes[c] = place
        for m in node.near[c]:
            if node.kind[m] == "memory" and m in node.members:
                beside = Box(place.right + 3, place.y, max(8.0, place.w * 0.7), 9)
                sheet.boxes[m] = beside if squeezed else Box(place.x + 2, place.y - 15 if down else place.bottom + 6, place.w - 4, 9)


def _fabric_bar(sheet: Sheet, bar: Box) -> None:
    """Switches side by side in the bar; every NIC straight up or down to its own."""
    what = sheet.what
    switches = [d for d in range(len(what)) if what.kind[d] == "switch" and d not in sheet.boxes]
    near = what.neighbours()
    part = bar.w / max(1, len(switches))
    for i, d in enumerate(switches):
        sheet.boxes[d] = Box(bar.x + i * part, bar.y, part - (6 if i < len(switches) - 1 else 0), bar.h)
    _fabric_names(sheet, switches)
    for d in switches:
        box = sheet.boxes[d]
        for n in near[d]:
            if what.kind[n] != "nic":
                continue
            card = sheet.boxes[n]
            below = card.y > box.y
            x = min(max(card.cx, box.x + 4), box.right - 4)
            ends = ((card.cx, card.y), (x, box.bottom)) if below else ((card.cx, card.bottom), (x, box.y))
            sheet.cable(n, d, *ends)
    links = [(a, b) for a in switches for b in near[a] if b in switches and a < b]
    for i, (a, b) in enumerate(links):
        one, two = sheet.boxes[a], sheet.boxes[b]
        y = one.y - 6 - (i % 3) * 4
        sheet.cable(a, b, (one.cx, one.y), (one.cx, y), (two.cx, y), (two.cx, two.y))
