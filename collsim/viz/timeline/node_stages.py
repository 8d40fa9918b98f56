"""What a timeline draws: the stage, and where nodes are boxes on it also what is in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...analysis.run_facts import RunFacts
from ...errors import CollsimError
from ...locale import build_text, map_languages, repeat_text
from ..layout.geometry import flatten_points
from ..layout.node_layout import Insides, build_insides
from ..layout.shapes import StageLayout
from ..sentences import words

if TYPE_CHECKING:
    from ...simulate import Trace

MAX_HOPS = 400_000  # of all transfers' routes; beyond, nodes stay closed
_BARS = (("nvlink", "xgmi", "pcie", "upi", "memory"), ("infiniband", "ethernet"))  # the first of each that a node has


@dataclass(frozen=True, eq=False)
class Drawing:
    """A stage, and the insides of its nodes. Links are numbered through: those of the stage, then those inside.

    Attributes:
        link_of: for each link of the topology its number, -1 where it is not drawn.
        links: how many there are.
    """

    stage: StageLayout
    insides: list[Insides]
    link_of: npt.NDArray[np.int64]
    links: int

    @property
    def kinds(self) -> set[str]:
        """Kinds of link that are drawn."""
        return {
            k for stage in (self.stage, *(inside.stage for inside in self.insides)) for k in stage.picture.link_kind
        }

    def list_inside_links(self) -> dict[str, list[object]]:
        """The links inside nodes, as columns of the timeline: without ends and ways, which the open node has."""
        columns: dict[str, list[object]] = {
            k: [] for k in ("src", "dst", "kind", "label", "alpha", "bandwidth", "path")
        }
        for inside in self.insides:
            picture = inside.stage.picture
            for k in range(len(inside.nodes)):
                columns["src"] += [-1] * len(picture.src)
                columns["dst"] += [-1] * len(picture.src)
                columns["kind"] += picture.link_kind
                columns["label"] += picture.link_label
                columns["alpha"] += picture.alpha.tolist()
                columns["bandwidth"] += inside.bandwidth[k].tolist()
                columns["path"] += [[]] * len(picture.src)
        return columns

    def build_bars(self, trace: Trace) -> list[list[dict[str, object]]]:
        """For each box of the stage that stands for a node: what joins the ranks in it, and what leaves it, with the
        links of each.

        Args:
            trace: The run.
        """
        bars: list[list[dict[str, object]]] = [[] for _ in self.stage.boxes]
        if not self.insides:
            return bars
        links, node = trace.topology.links, trace.topology.devices.node
        kinds = np.array([c.kind for c in links.cables])[links.cable]
        for box in range(len(bars)):
            if self.stage.picture.kind[box] != "host":
                continue
            k = self.stage.picture.node[box]
            a, b = node[links.src] == k, node[links.dst] == k
            for is_member, wanted in ((a & b, _BARS[0]), (a ^ b, _BARS[1])):
                kinds_here = set(kinds[is_member].tolist())
                kind = next((candidate for candidate in wanted if candidate in kinds_here), None)
                if kind is not None:
                    ids = sorted(set(self.link_of[is_member & (kinds == kind)].tolist()) - {-1})
                    if kind == "infiniband":
                        name = repeat_text("IB")
                    else:
                        name = build_text("sentences", "causes.all_of_kind", kind=words.name_kind(kind))
                    bars[box].append({"label": map_languages(name), "links": ids})
        return bars


def build_drawing(stage: StageLayout, facts: RunFacts, inside: bool) -> Drawing:
    """The stage with the insides of its nodes, where it has boxes for them.

    Args:
        stage: Boxes and lines of the picture.
        facts: Of the run.
        inside: Whether nodes that are boxes get their inside, too.
    """
    trace = facts.trace
    count = len(stage.picture.src)
    plain = Drawing(stage, [], stage.picture.link_of, count)
    if not inside or stage.picture.shape != "cluster" or not len(trace.schedule) or _count_hops(facts) > MAX_HOPS:
        return plain
    nodes_inside, inside_link = build_insides(trace.topology, trace.link_bytes + trace.other_bytes, count)
    if not nodes_inside:
        return plain
    last = nodes_inside[-1]
    return Drawing(
        stage,
        nodes_inside,
        np.where(stage.picture.link_of >= 0, stage.picture.link_of, inside_link),
        last.first[-1] + len(last.stage.picture.src),
    )


def _count_hops(facts: RunFacts) -> int:
    """Hops of all routes in use, each once."""
    try:
        return int(facts.pair_routes.hops.sum())
    except CollsimError:
        return MAX_HOPS + 1


def list_ranks_in_devices(trace: Trace, layout: StageLayout) -> list[list[int]]:
    """For each device the ranks of the schedule that sit in it, where it stands for a whole node.

    Args:
        trace: The run.
        layout: Boxes and lines of the picture.
    """
    ranks_of: list[list[int]] = [[] for _ in layout.boxes]
    ranks = trace.placement[: trace.schedule.ranks]
    devices = layout.picture.device_of[trace.topology.endpoint_device[ranks]]
    for rank, device in enumerate(devices.tolist()):
        if layout.picture.endpoint[device] < 0:
            ranks_of[device].append(rank)
    return ranks_of


def describe_insides(trace: Trace, drawing: Drawing) -> list[dict[str, object]]:
    """How nodes are drawn that are opened: one entry for all that are alike.

    Args:
        trace: The run.
        drawing: The stage, with the nodes that can be opened.
    """
    rank_of = {int(position): rank for rank, position in enumerate(trace.placement)}
    boxes = [d for d, kind in enumerate(drawing.stage.picture.kind) if kind == "host"]
    box_of = {drawing.stage.picture.node[d]: d for d in boxes}
    return [_describe_inside(nodes, rank_of, boxes, box_of) for nodes in drawing.insides]


def _describe_inside(
    inside: Insides, rank_of: dict[int, int], boxes: list[int], box_of: dict[int, int]
) -> dict[str, object]:
    picture, stage, panel = inside.stage.picture, inside.stage, inside.stage.panels[0]
    nodes = [
        {
            "node": k,
            "device": box_of[k],
            "first": first,
            "label": node_panel.label,
            "note": node_panel.note,
            "foot": panel.foot,
            "labels": labels,
            "endpoint": [rank_of.get(e, -1) if e >= 0 else -1 for e in ends],
        }
        for k, first, node_panel, labels, ends in zip(
            inside.nodes, inside.first, inside.panels, inside.labels, inside.endpoints, strict=True
        )
    ]
    return {
        "stage": {"w": round(stage.w, 1), "h": round(stage.h, 1), "pipe": round(stage.pipe, 5)},
        "panel": {k: round(getattr(panel.box, k), 2) for k in ("x", "y", "w", "h")},
        "strip": {
            "device": boxes,
            **{k: [round(getattr(box, k), 2) for box in inside.strip] for k in ("x", "y", "w", "h")},
        },
        "devices": {
            "name": picture.name,
            "kind": picture.kind,
            **{k: [round(getattr(box, k), 2) for box in stage.boxes] for k in ("x", "y", "w", "h")},
        },
        "links": {
            "src": picture.src.tolist(),
            "dst": picture.dst.tolist(),
            "path": [flatten_points(line) for line in stage.lines],
        },
        "nodes": nodes,
    }
