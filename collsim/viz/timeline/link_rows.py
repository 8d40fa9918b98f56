"""Links that are alike, as lines of a table: the links-over-time view and the legend of a timeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.device_names import name_link
from ...analysis.run_facts import RunFacts
from ...locale import Text, build_text, list_items, map_languages, repeat_text
from ...topology.network import DEVICE_KINDS
from ...units import format_percent
from ..sentences import words
from .distinguishing_labels import distinguish_labels
from .timeline_types import LinkRow

if TYPE_CHECKING:
    from ...simulate import Trace
    from .node_stages import Drawing

MAX_ROWS = 8
_ALIKE = 0.03  # links of one kind whose use differs by less are one line
_FEW_NODES = 4  # up to so many, the links between two nodes are a line of their own
_NETWORK = ("infiniband", "ethernet")


def list_link_kinds(trace: Trace) -> list[dict[str, object]]:
    """One entry per kind of link in use, the most used first: kind, product name, bandwidth (B/s, one direction).

    Args:
        trace: The run.
    """
    links = trace.topology.links
    best: dict[str, tuple[float, dict[str, object]]] = {}
    for link in np.flatnonzero(trace.link_busy > 0).tolist():
        cable = links.cables[links.cable[link]]
        share = float(trace.link_busy[link])
        if share > best.get(cable.kind, (-1.0, {}))[0]:
            row = {"kind": cable.kind, "label": cable.label, "bandwidth": float(links.bandwidth[link])}
            best[cable.kind] = share, row
    return [entry for _, entry in sorted(best.values(), key=lambda pair: -pair[0])]


@dataclass(frozen=True, eq=False)
class Group:
    """Links of the topology that are alike.

    Attributes:
        kind: of their cables.
        nodes: the two that a network link joins; None where there is no such single pair.
        links: their ids.
        share: of the run's duration, for which the busiest of them is busy.
    """

    kind: str
    nodes: tuple[int, int] | None
    links: tuple[int, ...]
    share: float


def build_rows(facts: RunFacts, drawing: Drawing) -> list[LinkRow]:
    """Classes of links that are alike, the most used first; what does not fit goes into a last line that says so.

    Args:
        facts: Of the run.
        drawing: The stage, with the nodes that can be opened.
    """
    trace = facts.trace
    if not trace.duration:
        return []
    hot = set() if trace.bottleneck is None else set(trace.bottleneck.links)
    groups = _group_links(facts)
    listed_groups = groups
    if len(groups) > MAX_ROWS:
        listed_groups = groups[: MAX_ROWS - 1]
    used_ids: set[int] = set()
    names = [_name_group(facts, g, [o for o in listed_groups if o is not g]) for g in listed_groups]
    labels = distinguish_labels(trace, [label for label, _ in names], [g.links for g in listed_groups])
    table = [
        _build_row(drawing, g, (label, note), bool(hot & set(g.links)), used_ids)
        for g, label, (_, note) in zip(listed_groups, labels, names, strict=True)
    ]
    rest = groups[len(listed_groups) :]
    if rest:
        count, top = sum(len(g.links) for g in rest), format_percent(max(g.share for g in rest))
        label = build_text("timeline", "rows.more_links", count=count)
        note = build_text("timeline", "rows.none_above", top=top)
        link_ids = _map_links(drawing, tuple(link for g in rest for link in g.links), used_ids)
        table.append({"label": map_languages(label), "note": map_languages(note), "links": link_ids, "hot": False})
    return [line for line in table if line["links"]]


def _group_links(facts: RunFacts) -> list[Group]:
    trace = facts.trace
    used = np.flatnonzero(trace.link_busy > 0)
    links = trace.topology.links
    share = trace.link_busy / trace.duration
    between = _find_node_pairs(facts)
    classes: dict[tuple[str, tuple[int, int] | None], list[int]] = {}
    for link in used.tolist():
        kind = links.kind(link)
        classes.setdefault((kind, between.get(link) if kind in _NETWORK else None), []).append(link)
    groups = []
    for (kind, nodes), members in classes.items():
        # The busiest first: links are one line as long as they are within _ALIKE of the first of the line.
        members.sort(key=lambda i: (-share[i], i))
        begin = 0
        for end in range(1, len(members) + 1):
            if end == len(members) or share[members[end]] < share[members[begin]] * (1 - _ALIKE):
                groups.append(Group(kind, nodes, tuple(sorted(members[begin:end])), float(share[members[begin]])))
                begin = end
    return sorted(groups, key=lambda g: (-round(g.share, 4), g.nodes or (-1, -1), g.links))


def _find_node_pairs(facts: RunFacts) -> dict[int, tuple[int, int]]:
    """For links between nodes whose traffic is all from one node to one other: those two."""
    trace = facts.trace
    nodes = int(trace.topology.devices.node.max(initial=-1)) + 1
    if not 2 <= nodes <= _FEW_NODES:
        return {}
    (src, dst), routes = facts.pairs, facts.pair_routes
    node = trace.topology.devices.node[trace.topology.endpoint_device[trace.placement]]
    a = np.repeat(node[src], routes.hops)
    b = np.repeat(node[dst], routes.hops)
    # None marks a link that data of more than one pair of nodes cross.
    pair_of_link: dict[int, tuple[int, int] | None] = {}
    for link, pair in zip(routes.link.tolist(), zip(a.tolist(), b.tolist(), strict=True), strict=True):
        if pair_of_link.get(link, pair) == pair:
            pair_of_link[link] = pair
        else:
            pair_of_link[link] = None
    return {
        link: pair for link, pair in pair_of_link.items() if pair is not None and pair[0] != pair[1] and min(pair) >= 0
    }


def _build_row(drawing: Drawing, group: Group, texts: tuple[Text, Text], hot: bool, used_ids: set[int]) -> LinkRow:
    label, note = map(map_languages, texts)
    link_ids = _map_links(drawing, group.links, used_ids)
    return {"label": label, "note": note, "links": link_ids, "hot": hot}


def _name_group(facts: RunFacts, group: Group, others: list[Group]) -> tuple[Text, Text]:
    """Label and note of a line."""
    trace, name = facts.trace, words.name_kind(group.kind)
    count = len(group.links)
    twin = any(o.kind == group.kind and o.nodes == group.nodes for o in others)
    amount = build_text("timeline", "rows.link", count=count)
    if twin or count == 1:
        note = amount
    else:
        note = build_text("timeline", "rows.all_alike", amount=amount)
    if group.nodes is not None:
        if group.kind == "infiniband":
            name = repeat_text("IB")
        a, b = group.nodes
        pairs = _name_pairs(facts, group) or amount
        return build_text("timeline", "rows.node_node", name=name, a=a, b=b), pairs
    if count <= 2:
        label = name_link(trace, group.links[0])
        joins = {frozenset((int(trace.topology.links.src[i]), int(trace.topology.links.dst[i]))) for i in group.links}
        if count == 1 and group.kind == "cable":
            return label, repeat_text("")
        if count == 1:
            return label, name
        if len(joins) == 1:
            return label, build_text("timeline", "rows.both_directions")
        other = name_link(trace, group.links[1])
        return label, build_text("timeline", "rows.and", other=other)
    if group.kind == "pcie" and _has_only_nic_routes(facts, group):
        return build_text("timeline", "rows.pcie_nics"), note
    if group.kind == "pcie" and twin and (ends := _name_pcie_ends(trace, group)) is not None:
        return ends, note
    if group.kind == "cable":
        return build_text("timeline", "rows.cables"), note
    return build_text("sentences", "causes.all_of_kind", kind=name), note


def _name_pcie_ends(trace: Trace, group: Group) -> Text | None:
    """PCIe links that all end in a GPU, or all in a socket."""
    links, kinds = trace.topology.links, trace.topology.devices.kind
    members = list(group.links)
    for kind, key in (("gpu", "pcie_gpus"), ("cpu", "pcie_sockets")):
        code = DEVICE_KINDS.index(kind)
        if bool(((kinds[links.src[members]] == code) | (kinds[links.dst[members]] == code)).all()):
            return build_text("timeline", f"rows.{key}")
    return None


def _name_pairs(facts: RunFacts, group: Group) -> Text | None:
    """`7 → 8` where one or two pairs of ranks use the links of a line."""
    (src, dst), routes = facts.pairs, facts.pair_routes
    owner = np.repeat(np.arange(len(src)), routes.hops)[np.isin(routes.link, group.links)]
    pairs = np.unique(owner)
    if not 1 <= len(pairs) <= 2:
        return None
    texts = [f"{src[p]} → {dst[p]}" for p in pairs]
    return list_items(texts)


def _has_only_nic_routes(facts: RunFacts, group: Group) -> bool:
    """Do all routes over these links leave the node?"""
    trace = facts.trace
    (src, dst), routes = facts.pairs, facts.pair_routes
    node = trace.topology.devices.node[trace.topology.endpoint_device[trace.placement]]
    inside = np.repeat(node[src] == node[dst], routes.hops)
    return not bool(inside[np.isin(routes.link, group.links)].any())


def _map_links(drawing: Drawing, links: tuple[int, ...], used_ids: set[int]) -> list[int]:
    """Picture ids of links, each in one line only (where links were merged, the busiest line has them)."""
    ids = sorted({int(drawing.link_of[link]) for link in links} - {-1} - used_ids)
    used_ids.update(ids)
    return ids
