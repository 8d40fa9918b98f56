"""What is drawn of a topology: every device and link, or, where there are too many, a smaller set that stands for them.

A device that nothing uses may be left out (an idle NIC of a single node), and in a large cluster one box stands for a whole node.
`device_of` and `link_of` say where each device and link of the topology went, so that no byte is lost on the way to the screen:
bytes of links that were merged are added, and a link inside a merged box is part of that box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..topology import Topology
from ..topology.network import DEVICE_KINDS

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: Beyond so many nodes, or ranks in machines, a node is one box.
MOST_NODES, MOST_RANKS = 8, 128


@dataclass(frozen=True, eq=False)
class Picture:
    """Columns like those of a topology, of what is drawn.

    Attributes:
        name, kind, node, endpoint: per device; endpoint is a rank or helper, else -1.
        src, dst, link_kind, link_label, alpha, bandwidth: per directed link (seconds; bytes per second, one direction).
        device_of, link_of: where each device and link of the topology went; -1 for those not drawn.
        shape: the topology's own, or `cluster` where nodes are boxes.
    """

    shape: str
    ranks: int
    name: list[str]
    kind: list[str]
    node: list[int]
    endpoint: list[int]
    src: Ints
    dst: Ints
    link_kind: list[str]
    link_label: list[str]
    alpha: Floats
    bandwidth: Floats
    device_of: Ints
    link_of: Ints

    def __len__(self) -> int:
        return len(self.name)

    @property
    def nodes(self) -> int:
        return 1 + max(self.node, default=-1)

    def neighbours(self) -> list[list[int]]:
        """For each device the devices that it has a link to, in the order of their numbers."""
        near: list[set[int]] = [set() for _ in self.name]
        for a, b in zip(self.src.tolist(), self.dst.tolist(), strict=True):
            near[a].add(b)
            near[b].add(a)
        return [sorted(n) for n in near]


def picture(topology: Topology, used: npt.NDArray[np.bool_] | None = None) -> Picture:
    """The drawn part of a topology.

    Args:
        used: (links,) which links carry something; None to draw everything.
    """
    nodes = 1 + int(topology.devices.node.max(initial=-1))
    if nodes > MOST_NODES or (nodes and topology.ranks > MOST_RANKS):
        return _by_node(topology, nodes)
    keep = np.ones(len(topology.devices), bool)
    if used is not None and nodes:
        keep = _worth_drawing(topology, used, nodes)
    device_of = np.where(keep, np.cumsum(keep) - 1, -1)
    return _merged(topology, device_of.astype(np.int64), topology.shape)


def _worth_drawing(topology: Topology, used: npt.NDArray[np.bool_], nodes: int) -> npt.NDArray[np.bool_]:
    """Host memory that nothing touches is left out; so are the NICs and the fabric of a single node that stays inside."""
    devices, links = topology.devices, topology.links
    touched = np.zeros(len(devices), bool)
    touched[links.src[used]] = touched[links.dst[used]] = True
    kind = np.array(DEVICE_KINDS)[devices.kind]
    outside = (kind == "nic") | (kind == "switch")
    idle = (kind == "memory") & ~touched
    if nodes == 1 and not (touched & outside).any():
        idle |= outside
    idle[topology.endpoint_device] = False
    keep: npt.NDArray[np.bool_] = ~idle
    return keep


def _by_node(topology: Topology, nodes: int) -> Picture:
    """A box per node; helpers and the fabric's switches stay what they are."""
    node = topology.devices.node
    alone = np.flatnonzero(node < 0)
    device_of = np.where(node >= 0, node, 0).astype(np.int64)
    device_of[alone] = nodes + np.arange(len(alone))
    return _merged(topology, device_of, "cluster")


def _merged(topology: Topology, device_of: Ints, shape: str) -> Picture:
    devices, links = topology.devices, topology.links
    count = 1 + int(device_of.max(initial=-1))
    first = np.full(count, -1)
    kept = np.flatnonzero(device_of >= 0)[::-1]
    first[device_of[kept]] = kept
    several = np.bincount(device_of[device_of >= 0], minlength=count) > 1
    whole = (shape == "cluster") & (devices.node[first] >= 0) if count else several
    endpoint = np.full(count, -1)
    placed = device_of[topology.endpoint_device]
    for e in range(len(placed) - 1, -1, -1):
        if placed[e] >= 0 and not whole[placed[e]]:
            endpoint[placed[e]] = e
    a, b = device_of[links.src], device_of[links.dst]
    drawn = (a >= 0) & (b >= 0) & (a != b)
    key = (a * max(1, count) + b) * max(1, len(links.cables)) + links.cable
    _, lead, inverse = np.unique(key[drawn], return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(lead))  # links keep the order of the topology
    link_of = np.full(len(links), -1, np.int64)
    link_of[drawn] = order[inverse.ravel()]
    of = np.flatnonzero(drawn)[np.sort(lead)]
    bandwidth = np.bincount(link_of[drawn], weights=links.bandwidth[drawn], minlength=len(of)).astype(np.float64)
    cables = [links.cables[c] for c in links.cable[of]]
    return Picture(
        shape=shape,
        ranks=topology.ranks,
        name=[f"node{devices.node[f]}" if w else str(devices.name[f]) for f, w in zip(first, whole, strict=True)],
        kind=["host" if w else DEVICE_KINDS[devices.kind[f]] for f, w in zip(first, whole, strict=True)],
        node=[int(devices.node[f]) for f in first],
        endpoint=[int(e) for e in endpoint],
        src=a[of],
        dst=b[of],
        link_kind=[c.kind for c in cables],
        link_label=[c.label for c in cables],
        alpha=links.alpha[of],
        bandwidth=bandwidth,
        device_of=device_of,
        link_of=link_of,
    )
