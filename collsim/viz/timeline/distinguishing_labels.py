"""What tells classes of links apart that would have one name: "NVLink, even to odd"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from ...analysis.device_names import name_device_kind
from ...locale import Text, build_text, join_texts, list_items, repeat_text
from ...topology.network import DEVICE_KINDS
from ...units import format_percent
from ..sentences import words

if TYPE_CHECKING:
    from ...simulate import Trace

Links = Sequence[int]
_FEW = 4  # so many ranks or nodes are listed


def distinguish_labels(trace: Trace, labels: Sequence[Text], links: Sequence[Links]) -> list[Text]:
    """The labels, those that several classes share each with what tells it from the others; all differ.

    Args:
        trace: The run.
        labels: A label for each class, in English and Chinese.
        links: Links of the topology that each class holds.
    """
    result = list(labels)
    for label in dict.fromkeys(labels):
        twins = [i for i, other in enumerate(labels) if other == label]
        if len(twins) > 1:
            for i, difference in zip(twins, _find_differences(trace, [links[i] for i in twins]), strict=True):
                is_product = difference[0].startswith(label[0])  # NVLink 2 ×1
                result[i] = difference
                if not is_product:
                    result[i] = words.tidy_text(join_texts("clauses", [label, difference]))
    return result


def _find_differences(trace: Trace, classes: list[Links]) -> list[Text]:
    """The first way to describe these classes in which no two are the same."""
    for describe in _DESCRIPTIONS:
        texts = [describe(trace, links) for links in classes]
        known_texts = [text for text in texts if text is not None]
        if len(known_texts) == len(texts) == len(set(texts)):
            return known_texts
    return [build_text("timeline", "distinguishing_labels.class", i=i + 1) for i in range(len(classes))]


def _describe_product(trace: Trace, links: Links) -> Text | None:
    """`NVLink 2 ×2`, where all are of one product."""
    table = trace.topology.links
    names = {table.cables[table.cable[i]].label for i in links}
    if len(names) == 1:
        return repeat_text(names.pop())
    return None


def _describe_ends(trace: Trace, links: Links) -> Text | None:
    """`GPU → NVSwitch`, where all lead from one kind of device, or level of switches, to one other."""
    table = trace.topology.links
    ends = {(_name_device(trace, int(table.src[i])), _name_device(trace, int(table.dst[i]))) for i in links}
    if len(ends) != 1:
        return None
    a, b = ends.pop()
    if a != b:
        return tuple(f"{src} → {dst}" for src, dst in zip(a, b, strict=True))
    return None


def _describe_levels(trace: Trace, links: Links) -> Text | None:
    """`core and aggregation`, where all join two kinds of device, in either direction."""
    table = trace.topology.links
    ends = {frozenset(_name_device(trace, int(d)) for d in (table.src[i], table.dst[i])) for i in links}
    if len(ends) == 1:
        return _join_names(sorted(ends.pop()))
    return None


def _join_names(names: list[Text]) -> Text:
    """Two kinds of device, or one that is joined to its like."""
    if len(names) == 1:
        return build_text("timeline", "distinguishing_labels.to", name=names[0])
    return build_text("timeline", "distinguishing_labels.and", first=names[0], second=names[1])


def _name_device(trace: Trace, device: int) -> Text:
    devices = trace.topology.devices
    if (kind := DEVICE_KINDS[devices.kind[device]]) == "switch":  # by its level: edge, aggregation, core, leaf, spine
        word = str(devices.name[device]).removeprefix("fabric/").rstrip("0123456789")
        return name_device_kind(word)
    named = name_device_kind(kind)
    if named == repeat_text(kind):
        return repeat_text(kind.upper())
    return named


def _find_ranks(trace: Trace, links: Links) -> list[tuple[int, int]]:
    """The ranks at the two ends of each link, -1 where there is none."""
    topology = trace.topology
    rank = np.full(len(topology.devices), -1, np.int64)
    for number in range(trace.schedule.ranks - 1, -1, -1):
        rank[topology.endpoint_device[trace.placement[number]]] = number
    return [(int(rank[topology.links.src[i]]), int(rank[topology.links.dst[i]])) for i in links]


def _describe_parity(trace: Trace, links: Links) -> Text | None:
    """`even to odd`; `even ranks` where one end is no rank."""
    ends = _find_ranks(trace, links)
    sides = [{r % 2 for r in side} if min(side) >= 0 else None for side in zip(*ends, strict=True)]
    known = [side for side in sides if side is not None]
    if not known or any(len(side) != 1 for side in known):
        return None
    names = [build_text("timeline", f"distinguishing_labels.{('even', 'odd')[side.pop()]}") for side in known]
    if len(names) == 1:
        return build_text("timeline", "distinguishing_labels.ranks_of_parity", parity=names[0])
    return build_text("timeline", "distinguishing_labels.from_to", first=names[0], second=names[1])


def _describe_distance(trace: Trace, links: Links) -> Text | None:
    """`ranks 8 or 56 apart`, between ranks."""
    ends = _find_ranks(trace, links)
    far = sorted({abs(a - b) for a, b in ends})
    if min(map(min, ends)) < 0 or len(far) > 2:
        return None
    return build_text("timeline", "distinguishing_labels.ranks_apart", far=join_texts("or", map(str, far)))


def _describe_ranks(trace: Trace, links: Links) -> Text | None:
    """`of ranks 0 and 4`, `of ranks 8 to 15`."""
    ranks = sorted({r for pair in _find_ranks(trace, links) for r in pair if r >= 0})
    return _format_numbers("rank", ranks)


def _describe_nodes(trace: Trace, links: Links) -> Text | None:
    """`of node 3`."""
    node, table = trace.topology.devices.node, trace.topology.links
    nodes = sorted({int(n) for i in links for n in (node[table.src[i]], node[table.dst[i]]) if n >= 0})
    return _format_numbers("node", nodes)


def _format_numbers(noun: Literal["rank", "node"], numbers: list[int]) -> Text | None:
    if not numbers:
        return None
    if numbers[-1] - numbers[0] == len(numbers) - 1 and len(numbers) > 2:
        key = f"distinguishing_labels.of_{noun}s_from_to"
        return build_text("timeline", key, first=numbers[0], last=numbers[-1])
    if len(numbers) > _FEW:
        return None
    listed = list_items([str(n) for n in numbers])
    return build_text("timeline", f"distinguishing_labels.of_{noun}s", count=len(numbers), numbers=listed)


def _describe_use(trace: Trace, links: Links) -> Text | None:
    """`busy 48 %`: always known, and what the classes were made by."""
    share = format_percent(float(max(trace.link_busy[i] for i in links)) / trace.duration)
    return build_text("timeline", "distinguishing_labels.busy", share=share)


_DESCRIPTIONS: tuple[Callable[[Trace, Links], Text | None], ...] = (
    *(_describe_product, _describe_ends, _describe_levels, _describe_parity),
    *(_describe_distance, _describe_nodes, _describe_ranks, _describe_use),
)
