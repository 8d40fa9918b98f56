"""What tells classes of links apart that would have one name: "NVLink, even to odd"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...topology.network import DEVICE_KINDS
from ..sentences import words
from ..sentences.names import DEVICES

if TYPE_CHECKING:
    from ...simulate import Trace

Pair = tuple[str, str]
Links = Sequence[int]
_FEW = 4  # so many ranks or nodes are listed


def told_apart(trace: Trace, labels: Sequence[Pair], links: Sequence[Links]) -> list[Pair]:
    """The labels, those that several classes share each with what tells it from the others; all differ."""
    made = list(labels)
    for label in dict.fromkeys(labels):
        twins = [i for i, one in enumerate(labels) if one == label]
        if len(twins) > 1:
            for i, (en, zh) in zip(twins, _differences(trace, [links[i] for i in twins]), strict=True):
                whole = en.startswith(label[0])  # NVLink 2 ×1
                made[i] = (en, zh) if whole else (f"{label[0]}, {en}", words.tidy(f"{label[1]}，{zh}"))
    return made


def _differences(trace: Trace, classes: list[Links]) -> list[Pair]:
    """The first way to describe these classes in which no two are the same."""
    for way in _WAYS:
        said = [way(trace, links) for links in classes]
        found = [one for one in said if one is not None]
        if len(found) == len(said) == len(set(said)):
            return found
    return [(f"class {i + 1}", f"第 {i + 1} 类") for i in range(len(classes))]


def _product(trace: Trace, links: Links) -> Pair | None:
    """`NVLink 2 ×2`, where all are of one product."""
    table = trace.topology.links
    names = {table.cables[table.cable[i]].label for i in links}
    return (name := names.pop(), name) if len(names) == 1 else None


def _ends(trace: Trace, links: Links) -> Pair | None:
    """`GPU → NVSwitch`, where all lead from one kind of device, or level of switches, to one other."""
    table = trace.topology.links
    ends = {(_device(trace, int(table.src[i])), _device(trace, int(table.dst[i]))) for i in links}
    if len(ends) != 1:
        return None
    a, b = ends.pop()
    return (f"{a[0]} → {b[0]}", f"{a[1]} → {b[1]}") if a != b else None


def _levels(trace: Trace, links: Links) -> Pair | None:
    """`core and aggregation`, where all join two kinds of device, in either direction."""
    table = trace.topology.links
    ends = {frozenset(_device(trace, int(d)) for d in (table.src[i], table.dst[i])) for i in links}
    return _joined(sorted(ends.pop())) if len(ends) == 1 else None


def _joined(names: list[Pair]) -> Pair:
    """Two kinds of device, or one that is joined to its like."""
    if len(names) == 1:
        return f"{names[0][0]} to {names[0][0]}", f"{names[0][1]}之间"
    return f"{names[0][0]} and {names[1][0]}", f"{names[0][1]} 与 {names[1][1]}"


def _device(trace: Trace, device: int) -> Pair:
    devices = trace.topology.devices
    if (kind := DEVICE_KINDS[devices.kind[device]]) == "switch":  # by its level: edge, aggregation, core, leaf, spine
        word = str(devices.name[device]).removeprefix("fabric/").rstrip("0123456789")
        return DEVICES.get(word, (word, word))
    return DEVICES.get(kind, (kind.upper(), kind.upper()))


def _ranks(trace: Trace, links: Links) -> list[tuple[int, int]]:
    """The ranks at the two ends of each link, -1 where there is none."""
    topology = trace.topology
    rank = np.full(len(topology.devices), -1, np.int64)
    for own in range(trace.schedule.ranks - 1, -1, -1):
        rank[topology.endpoint_device[trace.place[own]]] = own
    return [(int(rank[topology.links.src[i]]), int(rank[topology.links.dst[i]])) for i in links]


def _parity(trace: Trace, links: Links) -> Pair | None:
    """`even to odd`; `even ranks` where one end is no rank."""
    ends = _ranks(trace, links)
    sides = [{r % 2 for r in side} if min(side) >= 0 else None for side in zip(*ends, strict=True)]
    known = [side for side in sides if side is not None]
    if not known or any(len(side) != 1 for side in known):
        return None
    names = [(("even", "偶数"), ("odd", "奇数"))[side.pop()] for side in known]
    if len(names) == 1:
        return f"{names[0][0]} ranks", f"{names[0][1]} rank"
    return f"{names[0][0]} to {names[1][0]}", f"{names[0][1]}到{names[1][1]}"


def _distance(trace: Trace, links: Links) -> Pair | None:
    """`ranks 8 or 56 apart`, between ranks."""
    ends = _ranks(trace, links)
    far = sorted({abs(a - b) for a, b in ends})
    if min(map(min, ends)) < 0 or len(far) > 2:
        return None
    return f"ranks {' or '.join(map(str, far))} apart", f"相距 {' 或 '.join(map(str, far))} 的 rank"


def _listed(trace: Trace, links: Links) -> Pair | None:
    """`of ranks 0 and 4`, `of ranks 8 to 15`."""
    found = sorted({r for pair in _ranks(trace, links) for r in pair if r >= 0})
    return _numbers("rank", "rank", found)


def _nodes(trace: Trace, links: Links) -> Pair | None:
    """`of node 3`."""
    node, table = trace.topology.devices.node, trace.topology.links
    found = sorted({int(n) for i in links for n in (node[table.src[i]], node[table.dst[i]]) if n >= 0})
    return _numbers("node", "节点", found)


def _numbers(word: str, word_zh: str, found: list[int]) -> Pair | None:
    if not found:
        return None
    plural = "s" * (len(found) > 1)
    if found[-1] - found[0] == len(found) - 1 and len(found) > 2:
        return f"of {word}s {found[0]} to {found[-1]}", f"{word_zh} {found[0]}–{found[-1]}"
    if len(found) > _FEW:
        return None
    texts = [str(n) for n in found]
    return f"of {word}{plural} {words.listed(texts)}", f"{word_zh} {words.listed(texts, True)}"


def _busy(trace: Trace, links: Links) -> Pair | None:
    """`busy 48 %`: always known, and what the classes were made by."""
    share = words.percent(float(max(trace.link_busy[i] for i in links)) / trace.spent)
    return f"busy {share}", f"占用 {share}"


_WAYS: tuple[Callable[[Trace, Links], Pair | None], ...] = (
    *(_product, _ends, _levels, _parity, _distance, _nodes, _listed),
    _busy,
)
