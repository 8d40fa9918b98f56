"""What a timeline draws: the stage, and where nodes are boxes on it also what is in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...errors import CollsimError
from ..layout.geometry import flat
from ..layout.inside import Insides, insides
from ..layout.shapes import StageLayout
from ..sentences import words

if TYPE_CHECKING:
    from ...simulate import Trace

MOST_HOPS = 400_000  # of all transfers' routes; beyond, nodes stay closed
_BARS = (("nvlink", "xgmi", "pcie", "upi", "memory"), ("infiniband", "ethernet"))  # the first of each that a node has


@dataclass(frozen=True, eq=False)
class Drawn:
    """A stage, and the insides of its nodes. Links are numbered through: those of the stage, then those inside.

    Attributes:
        link_of: for each link of the topology its number, -1 where it is not drawn. links: how many there are.
    """

    stage: StageLayout
    insides: list[Insides]
    link_of: npt.NDArray[np.int64]
    links: int

    @property
    def kinds(self) -> set[str]:
        """Kinds of link that are drawn."""
        return {k for made in (self.stage, *(one.stage for one in self.insides)) for k in made.picture.link_kind}

    def links_inside(self) -> dict[str, list[Any]]:
        """The links inside nodes, as columns of the timeline: without ends and ways, which the open node has."""
        columns: dict[str, list[Any]] = {k: [] for k in ("src", "dst", "kind", "label", "alpha", "bandwidth", "path")}
        for one in self.insides:
            what = one.stage.picture
            for k in range(len(one.nodes)):
                columns["src"] += [-1] * len(what.src)
                columns["dst"] += [-1] * len(what.src)
                columns["kind"] += what.link_kind
                columns["label"] += what.link_label
                columns["alpha"] += what.alpha.tolist()
                columns["bandwidth"] += one.bandwidth[k].tolist()
                columns["path"] += [[]] * len(what.src)
        return columns

    def bars(self, trace: Trace) -> list[list[dict[str, Any]]]:
        """For each box of the stage that stands for a node: what joins the ranks in it, and what leaves it, with the
        links of each."""
        found: list[list[dict[str, Any]]] = [[] for _ in self.stage.boxes]
        if not self.insides:
            return found
        links, node = trace.topology.links, trace.topology.devices.node
        kinds = np.array([c.kind for c in links.cables])[links.cable]
        for box in range(len(found)):
            if self.stage.picture.kind[box] != "host":
                continue
            k = self.stage.picture.node[box]
            a, b = node[links.src] == k, node[links.dst] == k
            for own, wanted in ((a & b, _BARS[0]), (a ^ b, _BARS[1])):
                here = set(kinds[own].tolist())
                kind = next((one for one in wanted if one in here), None)
                if kind is not None:
                    ids = sorted(set(self.link_of[own & (kinds == kind)].tolist()) - {-1})
                    en, zh = ("IB", "IB") if kind == "infiniband" else words.kind_name(kind)
                    found[box].append({"label": {"en": words.capital(en), "zh": zh}, "links": ids})
        return found


def drawn(made: StageLayout, trace: Trace, inside: bool) -> Drawn:
    """The stage with the insides of its nodes, where it has boxes for them."""
    count = len(made.picture.src)
    plain = Drawn(made, [], made.picture.link_of, count)
    if not inside or made.picture.shape != "cluster" or not len(trace.schedule) or _hops(trace) > MOST_HOPS:
        return plain
    found, own = insides(trace.topology, trace.link_bytes + trace.other_bytes, count)
    if not found:
        return plain
    last = found[-1]
    return Drawn(
        made,
        found,
        np.where(made.picture.link_of >= 0, made.picture.link_of, own),
        last.first[-1] + len(last.stage.picture.src),
    )


def _hops(trace: Trace) -> int:
    """Hops of all routes in use, each once."""
    t = trace.schedule.transfers
    pairs = np.unique(t["src"].astype(np.int64) * trace.schedule.endpoints + t["dst"])
    src, dst = np.divmod(pairs, trace.schedule.endpoints)
    try:
        return int(trace.topology.routes(trace.place[src], trace.place[dst]).hops.sum())
    except CollsimError:
        return MOST_HOPS + 1


def held_ranks(trace: Trace, made: StageLayout) -> list[list[int]]:
    """For each device the ranks of the schedule that sit in it, where it stands for a whole node."""
    held: list[list[int]] = [[] for _ in made.boxes]
    ranks = trace.place[: trace.schedule.ranks]
    devices = made.picture.device_of[trace.topology.endpoint_device[ranks]]
    for rank, device in enumerate(devices.tolist()):
        if made.picture.endpoint[device] < 0:
            held[device].append(rank)
    return held


def inside_of(trace: Trace, made: Drawn) -> list[dict[str, Any]]:
    """How nodes are drawn that are opened: one entry for all that are alike."""
    ours = {int(there): here for here, there in enumerate(trace.place)}
    boxes = [d for d, kind in enumerate(made.stage.picture.kind) if kind == "host"]
    box_of = {made.stage.picture.node[d]: d for d in boxes}
    return [_entry(one, ours, boxes, box_of) for one in made.insides]


def _entry(one: Insides, ours: dict[int, int], boxes: list[int], box_of: dict[int, int]) -> dict[str, Any]:
    what, stage, panel = one.stage.picture, one.stage, one.stage.panels[0]
    nodes = [
        {
            "node": k,
            "device": box_of[k],
            "first": first,
            "label": made.label,
            "note": made.note,
            "foot": panel.foot,
            "labels": labels,
            "endpoint": [ours.get(e, -1) if e >= 0 else -1 for e in ends],
        }
        for k, first, made, labels, ends in zip(
            one.nodes, one.first, one.panels, one.labels, one.endpoints, strict=True
        )
    ]
    return {
        "stage": {"w": round(stage.w, 1), "h": round(stage.h, 1), "pipe": round(stage.pipe, 5)},
        "panel": {k: round(getattr(panel.box, k), 2) for k in ("x", "y", "w", "h")},
        "strip": {
            "device": boxes,
            **{k: [round(getattr(box, k), 2) for box in one.strip] for k in ("x", "y", "w", "h")},
        },
        "devices": {
            "name": what.name,
            "kind": what.kind,
            **{k: [round(getattr(box, k), 2) for box in stage.boxes] for k in ("x", "y", "w", "h")},
        },
        "links": {
            "src": what.src.tolist(),
            "dst": what.dst.tolist(),
            "path": [flat(line) for line in stage.lines],
        },
        "nodes": nodes,
    }
