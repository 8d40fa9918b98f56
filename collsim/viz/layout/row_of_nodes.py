"""Several nodes side by side under the fabric: cards on top, then sockets, PCIe switches, GPUs and the NVSwitch, each
in its row.

Everything in a node has a column of its own, so that cables are vertical and none passes behind a box: a PCIe switch
stands over its GPUs and under its cards, a socket between its switches.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .geometry import Box, centred
from .levels import fabric_on_top
from .sheet import NodeDevices, Sheet, arches, down_to_bars, name_insides, panel_of

_EDGE = 12.0  # between a panel and what is in it
_APART = 8.0  # between panels
_LEVEL_CARDS = 84.0  # with so many pixels from GPU to GPU cards lie, below they stand
_HOST = 50.0  # width of a socket that stands between its switches


@dataclass(eq=False)
class _Rows:
    """Tops of the rows in a panel, from its top."""

    nic: float = 12.0
    memory: float = 0.0
    cpu: float = 0.0
    upper: float = 0.0
    lower: float = 0.0
    gpu: float = 0.0
    bar: float = 0.0
    tall: float = 0.0
    card: float = 20.0  # height of a card


@dataclass(eq=False)
class _Inside:
    """One node while it is being placed: x runs from 0, rows are known."""

    sheet: Sheet
    node: NodeDevices
    pitch: float
    rows: _Rows
    x: float = 0.0
    span: dict[int, tuple[float, float]] = field(default_factory=dict)
    cards: dict[int, float] = field(default_factory=dict)

    def children(self, device: int) -> list[int]:
        """What hangs on a socket or switch: switches and ranks, in order."""
        node = self.node
        found = [d for d in node.near[device] if node.kind[d] == "pcie" and parent_of(node, d) == device]
        return found + [d for d in ranks_of(node) if node.home(d) == device]

    def nics(self, device: int) -> list[int]:
        return [d for d in self.node.of("nic") if self.node.home(d) == device]

    def memory(self, device: int) -> list[int]:
        return [d for d in self.node.near[device] if self.node.kind[d] == "memory" and self.sheet.what.endpoint[d] < 0]


def side_by_side(sheet: Sheet, nodes: list[NodeDevices], title: str, roomy: float = 64.0) -> None:
    """Nodes in a row, their cards on top, and the fabric's switches above them, a band for each of its levels.

    `roomy`: pixels from GPU to GPU where there is room.
    """
    pitch = max(34.0, min(roomy, (1134.0 / len(nodes) - 2 * _EDGE - _APART) / max(len(ranks_of(n)) for n in nodes)))
    rows = _rows(sheet, nodes, upright=pitch < _LEVEL_CARDS)
    insides = [_Inside(sheet, n, pitch, rows) for n in nodes]
    for inside in insides:
        _columns(inside)
    wide = max(max(inside.x for inside in insides) + 2 * _EDGE, 190.0)
    for i, inside in enumerate(insides):
        left = _APART + i * (wide + _APART)
        _boxes(inside, left + (wide - inside.x) / 2, rows)
        name_insides(sheet, inside.node)
        panel = panel_of(inside.node, sheet.what, Box(left, 0.0, wide, rows.tall), title)
        sheet.panels.append(replace(panel, foot=True))
        down_to_bars(sheet, inside.node)
        arches(sheet, inside.node, rows.tall - rows.gpu - 76)
    fabric_on_top(sheet, [d for n in nodes for d in n.of("nic")], _APART, len(nodes) * (wide + _APART))


def ranks_of(node: NodeDevices) -> list[int]:
    """Devices in the bottom row: the GPUs, or the memories that ranks sit in."""
    return node.of("gpu") or node.of("memory")


def parent_of(node: NodeDevices, switch: int) -> int | None:
    """The device above a PCIe switch: its socket, or the switch that has more switches below it."""
    if sockets := [d for d in node.near[switch] if node.kind[d] == "cpu"]:
        return sockets[0]
    above = [d for d in node.near[switch] if node.kind[d] == "pcie" and not node.hanging(d, "gpu")]
    return above[0] if above and node.hanging(switch, "gpu") else None


def _rows(sheet: Sheet, nodes: list[NodeDevices], *, upright: bool = True) -> _Rows:
    """Where the rows are: those that no node needs take no room."""
    kinds = {sheet.what.kind[d] for n in nodes for d in n.members}
    rows = _Rows()
    at = rows.nic
    if "nic" in kinds:
        rows.card = 50.0 if upright and max(len(n.of("nic")) for n in nodes) > 2 else 20.0
        at += rows.card + 30
    host = [d for n in nodes for d in n.of("memory") if sheet.what.endpoint[d] < 0]
    if host:
        rows.memory, at = at, at + 20 + 22
    if "cpu" in kinds:
        rows.cpu, at = at, at + 30 + 26
    if any(not n.hanging(p, "gpu") and n.of("gpu") for n in nodes for p in n.of("pcie")):
        rows.upper, at = at, at + 22 + 26
    if "pcie" in kinds:
        rows.lower, at = at, at + 22 + 26
    rows.gpu, at = at, at + 32
    if "nvswitch" in kinds:
        rows.bar, at = at + 56, at + 56 + 28
    elif any(n.pairs for n in nodes):
        at += 16 + min(120.0, 9.0 * max(len(n.pairs) for n in nodes))
    rows.tall = at + 36
    return rows


# ---- columns


def _columns(inside: _Inside) -> None:
    """A stretch of x for every device that is not above another."""
    node = inside.node
    for root in node.of("cpu") or [p for p in node.of("pcie") if parent_of(node, p) is None]:
        _column(inside, root)
    for lost in [d for d in [*node.of("pcie"), *ranks_of(node)] if d not in inside.span]:
        _column(inside, lost)
    _lone_cards(inside)


def _lone_cards(inside: _Inside) -> None:
    """Room for the cards that are above no other device."""
    for card in [d for d in inside.node.of("nic") if d not in inside.cards]:
        inside.cards[card] = inside.x + inside.pitch / 2
        inside.x += inside.pitch


def _column(inside: _Inside, device: int) -> None:
    """A socket or switch right above its ranks, or between the two halves of what hangs on it."""
    below = [d for d in inside.children(device) if d not in inside.span]
    start = inside.x
    if any(inside.node.kind[d] == "pcie" for d in below):
        half = (len(below) + 1) // 2
        for d in below[:half]:
            _column(inside, d)
        _own_column(inside, device)
        for d in below[half:]:
            _column(inside, d)
        return
    for d in below:
        inside.span[d] = (inside.x, inside.x + inside.pitch)
        inside.x += inside.pitch
    if not below and device not in ranks_of(inside.node):
        _own_column(inside, device)
        return
    cards = inside.nics(device)
    least = max(len(cards), 1) * inside.pitch + (64 if inside.memory(device) else 0)
    inside.x = max(inside.x, start + least)
    inside.span[device] = (start, inside.x)
    room = inside.x - start - (64 if inside.memory(device) else 0)
    for i, card in enumerate(cards):
        inside.cards[card] = inside.x - room + (i + 0.5) * room / len(cards)


def _own_column(inside: _Inside, device: int) -> None:
    """Room for a socket by itself; its cards above it, and beside it those that its memory leaves no room for."""
    cards, over = inside.nics(device), not inside.memory(device)
    inside.span[device] = (inside.x, inside.x + _HOST)
    for i, card in enumerate(cards):
        inside.cards[card] = inside.x + (_HOST / 2 if over and i == 0 else _HOST + 16 + 32 * (i - over))
    inside.x += _HOST + 32 * max(0, len(cards) - over) + 4


# ---- boxes and cables


def _boxes(inside: _Inside, left: float, rows: _Rows) -> None:
    sheet, node = inside.sheet, inside.node
    for d, (low, high) in inside.span.items():
        kind, middle = node.kind[d], left + (low + high) / 2
        if d in ranks_of(node):
            sheet.boxes[d] = centred(middle, rows.gpu + 16, min(46.0, inside.pitch - 6), 32)
        elif kind == "cpu":
            sheet.boxes[d] = centred(middle, rows.cpu + 15, high - low - 8, 30)
        else:
            top = rows.lower if node.hanging(d, "gpu") or not rows.upper else rows.upper
            sheet.boxes[d] = centred(middle, top + 11, high - low - 2, 22)
    narrow = rows.card > 30
    for card, x in inside.cards.items():
        sheet.boxes[card] = centred(
            left + x, rows.nic + rows.card / 2, min(28.0, inside.pitch - 6) if narrow else 54.0, rows.card
        )
    bars = node.of("nvswitch")
    places = [sheet.boxes[g] for g in ranks_of(node)]
    low, wide = min(b.x for b in places), max(b.right for b in places) - min(b.x for b in places)
    for i, bar in enumerate(bars):
        part = wide / len(bars)
        sheet.boxes[bar] = Box(low + i * part, rows.bar, part - (6 if i < len(bars) - 1 else 0), 28)
    for c in node.of("cpu"):
        for m in inside.memory(c):
            box = sheet.boxes[c]
            x = box.cx if box.w <= _HOST else box.x + 30
            sheet.boxes[m] = centred(x, rows.memory + 10, 46 if box.w <= _HOST else 58, 20)
            sheet.cable(c, m, (x, box.y), (x, rows.memory + 20))
    _upwards(inside)
    _between_sockets(sheet, node)


def _upwards(inside: _Inside) -> None:
    """Cables from ranks and switches to what is above them, and from those to their cards."""
    sheet, node = inside.sheet, inside.node
    for host in [*node.of("cpu"), *node.of("pcie")]:
        top = sheet.boxes[host]
        below = [d for d in inside.children(host) if d in sheet.boxes]
        for d in below:
            box = sheet.boxes[d]
            if top.x <= box.cx <= top.right:
                sheet.cable(d, host, (box.cx, box.y), (box.cx, top.bottom))
        for side in (-1, 1):
            far = [d for d in below if (sheet.boxes[d].cx - top.cx) * side > top.w / 2]
            far.sort(key=lambda d: -abs(sheet.boxes[d].cx - top.cx))
            for i, d in enumerate(far):
                box, y = sheet.boxes[d], top.y + 10 + (i + 0.5) * (top.h - 10) / len(far)
                x = box.right - 9 if side < 0 else box.x + 9
                sheet.cable(d, host, (x, box.y), (x, y), (top.x if side < 0 else top.right, y))
        for card in inside.nics(host):
            box = sheet.boxes[card]
            if top.x + 4 <= box.cx <= top.right - 4:
                between = (
                    sheet.joined(host, card) and top.w < 40 and any(node.kind[d] == "cpu" for d in node.near[host])
                )
                x = box.cx + (0 if not between else -5 if _host_side(inside, host) > 0 else 5)
                sheet.cable(host, card, (x, top.y), (x, box.bottom))
            else:
                sheet.cable(host, card, (top.right, top.y + 6), (box.cx, top.y + 6), (box.cx, box.bottom))


def _host_side(inside: _Inside, switch: int) -> float:
    """On which side of a switch its socket stands."""
    boxes = inside.sheet.boxes
    above = parent_of(inside.node, switch)
    return boxes[above].cx - boxes[switch].cx if above is not None and above in boxes else 0.0


def _between_sockets(sheet: Sheet, node: NodeDevices) -> None:
    """Neighbours straight, others over the top."""
    cpus = sorted(node.of("cpu"), key=lambda c: sheet.boxes[c].cx)
    lane = 0
    for i, a in enumerate(cpus):
        for k, b in enumerate(cpus[i + 1 :]):
            if not sheet.joined(a, b):
                continue
            one, two = sheet.boxes[a], sheet.boxes[b]
            if k == 0:
                sheet.cable(a, b, (one.right, one.y + 6), (two.x, two.y + 6))
            else:
                lane += 1
                y = one.y - 5 - 5 * lane
                sheet.cable(a, b, (one.right - 4, one.y), (one.right - 4, y), (two.x + 4, y), (two.x + 4, two.y))
