"""Machines as people draw them: a row of GPUs, PCIe and sockets above, the NVSwitch below, NICs at the edge that faces the fabric.

One node alone is a plain picture of the box. Two face each other, the second one mirrored, so that the ring runs 7 → 8 along the
bottom and 15 → 0 along the top without a crossing. Three to eight stand in two rows with the fabric between them, everything
in them smaller. Sizes are those of the mock (CSS pixels); cables are horizontal and vertical.
"""

from __future__ import annotations

from math import sqrt

from ..topology import Topology
from .alone import alone
from .facing import facing
from .layout import Layout
from .picture import Picture
from .sheet import Node, Sheet, finished
from .two_rows import in_two_rows

_MOST_IN_A_ROW = 16


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
        alone(sheet, nodes[0])
    elif len(nodes) <= 2:
        key = facing(sheet, nodes, title)
    else:
        in_two_rows(sheet, nodes, title)
    return finished(sheet, key)
