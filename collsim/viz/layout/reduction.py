"""What is drawn of a topology: every device and link, or, where there are too many, a smaller set that stands for them.

A device that nothing uses may be left out (an idle NIC of a single node), and in a large cluster one box stands for a
whole node. `device_of` and `link_of` say where each device and link of the topology went, so that no byte is lost on
the way to the screen: bytes of links that were merged are added, and a link inside a merged box is part of that box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...errors import CollsimError
from ...topology import Topology
from ...topology.network import DEVICE_KINDS

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
#: Bytes on each link, or whether it is used at all.
Carried = npt.NDArray[np.int64] | npt.NDArray[np.bool_]

#: Beyond so many nodes, ranks, or ranks of more than two nodes, a node is one box.
MAX_NODES, MAX_RANKS, MAX_RANKS_IN_ROW = 4, 128, 32
MAX_BOXES = 4096


@dataclass(frozen=True, eq=False)
class Picture:
    """Columns like those of a topology, of what is drawn.

    Attributes:
        shape: the topology's own, or `cluster` where nodes are boxes.
        ranks: number of ranks.
        name: of each device.
        kind: of each device.
        node: of each device.
        endpoint: rank or helper on each device, else -1.
        src: (links,) device where each directed link begins.
        dst: (links,) device where it ends.
        link_kind: (links,) kind of its cable.
        link_label: (links,) product name of its cable.
        alpha: (links,) s to cross it.
        bandwidth: (links,) B/s, one direction.
        device_of: (devices of the topology,) where each went; -1 for those not drawn.
        link_of: (links of the topology,) where each went; -1 for those not drawn.
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


def build_picture(topology: Topology, carried: Carried | None = None) -> Picture:
    """The drawn part of a topology.

    Args:
        topology: The machine or network.
        carried: (links,) bytes on each link, or which links are used at all; None to draw everything.

    Raises:
        CollsimError: Even a box per node is too much to draw.
    """
    nodes = 1 + int(topology.devices.node.max(initial=-1))
    folded = nodes > MAX_NODES or (nodes > 0 and topology.ranks > (MAX_RANKS if nodes < 3 else MAX_RANKS_IN_ROW))
    _require_few_boxes(topology, nodes, folded)
    if folded:
        return _build_folded_picture(topology, nodes, carried)
    keep = np.ones(len(topology.devices), bool)
    if carried is not None and nodes > 0:
        keep = _select_devices(topology, carried > 0, nodes)
    # Only devices that stand for themselves get a box; the others are in the box of their alias, or in none with it.
    keep &= (alias := _merge_switches(topology)) == np.arange(len(keep))
    device_of = np.where(keep, np.cumsum(keep) - 1, -1)[alias]
    return _merge_devices(topology, device_of.astype(np.int64), topology.shape, carried, np.flatnonzero(keep))


def _require_few_boxes(topology: Topology, nodes: int, folded: bool) -> None:
    if folded:
        boxes = nodes + int((topology.devices.node < 0).sum())
    else:
        boxes = len(topology.devices)
    if boxes > MAX_BOXES:
        message = "{name} has {boxes:,} boxes to draw, at most {most:,} can be; its figures need no picture"
        raise CollsimError(message, name=topology.name, boxes=boxes, most=MAX_BOXES)


def _merge_switches(topology: Topology) -> Ints:
    """For each device the one that is drawn for it: cascaded PCIe switches with the GPUs of only one of them are one
    box, and switches that hold cards only are drawn as the switch that they hang on, or as their socket."""
    devices, links = topology.devices, topology.links
    alias = np.arange(len(devices))
    kind = np.array(DEVICE_KINDS)[devices.kind]
    switches = np.flatnonzero(kind == "pcie")
    if len(switches) == 0:
        return alias
    near: dict[int, list[int]] = {int(p): [] for p in switches}
    for a, b in zip(links.src.tolist(), links.dst.tolist(), strict=True):
        if a in near:
            near[a].append(b)
    holds = {p: any(kind[d] == "gpu" for d in near[p]) for p in near}
    for tree in _find_trees(near):
        with_gpus = [p for p in tree if holds[p]]
        sockets = [d for p in tree for d in near[p] if kind[d] == "cpu"]
        # Cascaded switches of one group of GPUs are one step in the picture; a reader gains nothing from the chain.
        if len(with_gpus) == 1:
            alias[tree] = with_gpus[0]
        elif not with_gpus and len(sockets) == 1:
            # Switches without GPUs and with one socket only lead cards to it, and are drawn as that socket.
            alias[tree] = sockets[0]
        else:
            for p in tree:
                above = [d for d in near[p] if d in near]
                if not holds[p] and len(above) == 1 and all(kind[d] in ("nic", "pcie") for d in near[p]):
                    alias[p] = above[0]
    return alias


def _find_trees(near: dict[int, list[int]]) -> list[list[int]]:
    """PCIe switches that are joined to one another."""
    trees, seen = [], set[int]()
    for start in near:
        if start not in seen:
            tree = [start]
            seen.add(start)
            # The list grows while it is walked: a search in breadth, without a second list.
            for p in tree:
                new = [d for d in near[p] if d in near and d not in seen]
                seen.update(new)
                tree += new
            trees.append(tree)
    return trees


def _select_devices(topology: Topology, used: npt.NDArray[np.bool_], nodes: int) -> npt.NDArray[np.bool_]:
    """What nothing touches is left out: host memory, switches beside those in use, all NICs of a single node that stays
    inside, and, where nodes are many and narrow, sockets on which only switches hang."""
    devices, links = topology.devices, topology.links
    touched = np.zeros(len(devices), bool)
    touched[links.src[used]] = touched[links.dst[used]] = True
    kind = np.array(DEVICE_KINDS)[devices.kind]
    outside = (kind == "nic") | (kind == "switch")
    bare = (kind == "cpu") & (nodes > 2)
    from_endpoint = np.isin(kind[links.src], ("gpu", "nic"))
    bare[links.dst[from_endpoint]] = False
    idle = ((kind == "memory") | bare) & ~touched
    if nodes == 1 and not (touched & outside).any():
        idle |= outside
    idle |= _find_idle_switches(topology, touched)
    # Whoever takes part is drawn, also in a run in which it moves nothing.
    idle[topology.endpoint_device] = False
    keep: npt.NDArray[np.bool_] = ~idle
    return keep


def _find_idle_switches(topology: Topology, touched: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Switches of the fabric that carry nothing while others do, if no NIC hangs on them (spines)."""
    switch, links = topology.devices.kind == DEVICE_KINDS.index("switch"), topology.links
    holds = np.zeros(len(switch), bool)
    holds[links.dst[~switch[links.src]]] = True
    idle: npt.NDArray[np.bool_] = switch & ~touched & ~holds & (touched & switch).any()
    return idle


def _build_folded_picture(topology: Topology, nodes: int, carried: Carried | None) -> Picture:
    """A box per node; helpers and the fabric's switches stay what they are."""
    node = topology.devices.node
    alone = np.flatnonzero(node < 0)
    device_of = np.where(node >= 0, node, 0).astype(np.int64)
    if carried is not None:
        touched = np.zeros(len(node), bool)
        touched[topology.links.src[carried > 0]] = touched[topology.links.dst[carried > 0]] = True
        idle = _find_idle_switches(topology, touched)
        device_of[idle] = -1
        alone = alone[~idle[alone]]
    device_of[alone] = nodes + np.arange(len(alone))
    return _merge_devices(topology, device_of, "cluster", carried)


def build_node_picture(topology: Topology, members: Ints, carried: Carried) -> Picture:
    """The inside of one node, whose devices are `members`.

    Args:
        topology: The machine or network.
        members: Numbers of the node's devices in the topology.
        carried: (links,) bytes on each link of the topology.
    """
    inside = np.zeros(len(topology.devices), bool)
    inside[members] = True
    keep = _select_devices(topology, carried > 0, 1 + int(topology.devices.node.max()))
    keep &= (alias := _merge_switches(topology)) == np.arange(len(keep))
    keep &= inside
    device_of = np.where(inside, np.where(keep, np.cumsum(keep) - 1, -1)[alias], -1)
    return _merge_devices(topology, device_of.astype(np.int64), "node", carried, np.flatnonzero(keep))


def _merge_devices(
    topology: Topology,
    device_of: Ints,
    shape: str,
    carried: Carried | None,
    first: npt.NDArray[np.intp] | None = None,
) -> Picture:
    """`first`: the device that gives each box its name and kind; None for the lowest of those in it."""
    devices, links = topology.devices, topology.links
    count = 1 + int(device_of.max(initial=-1))
    if first is None:
        first = np.full(count, -1)
        # From the last to the first, so that what is written last is the lowest device of each box.
        drawn_devices = np.flatnonzero(device_of >= 0)[::-1]
        first[device_of[drawn_devices]] = drawn_devices
    is_node_box = (shape == "cluster") & (devices.node[first] >= 0)  # boxes that stand for a node
    a, b = device_of[links.src], device_of[links.dst]
    drawn, link_of, lead_links = _merge_links(topology, a, b, count)
    bandwidth = sum_bandwidths(
        links.bandwidth[drawn], link_of[drawn], len(lead_links), None if carried is None else carried[drawn]
    )
    cables = [links.cables[c] for c in links.cable[lead_links]]
    boxes = list(zip(first, is_node_box, strict=True))
    return Picture(
        shape=shape,
        ranks=topology.ranks,
        name=[f"node{devices.node[f]}" if w else str(devices.name[f]) for f, w in boxes],
        kind=["host" if w else DEVICE_KINDS[devices.kind[f]] for f, w in boxes],
        node=[int(devices.node[f]) for f in first],
        endpoint=_find_endpoints(device_of[topology.endpoint_device], is_node_box),
        src=a[lead_links],
        dst=b[lead_links],
        link_kind=[c.kind for c in cables],
        link_label=[c.label for c in cables],
        alpha=links.alpha[lead_links],
        bandwidth=bandwidth,
        device_of=device_of,
        link_of=link_of,
    )


def _find_endpoints(placed: Ints, is_node_box: npt.NDArray[np.bool_]) -> list[int]:
    """The lowest endpoint in each box, -1 where there is none or the box stands for a node; `placed`: the box of each
    endpoint, or -1."""
    endpoint = np.full(len(is_node_box), -1)
    for e in range(len(placed) - 1, -1, -1):
        if placed[e] >= 0 and not is_node_box[placed[e]]:
            endpoint[placed[e]] = e
    return [int(e) for e in endpoint]


def _merge_links(
    topology: Topology, a: Ints, b: Ints, count: int
) -> tuple[npt.NDArray[np.bool_], Ints, npt.NDArray[np.intp]]:
    """Links between the same two boxes by the same cable are one: which are drawn, as which of the picture, and the
    first of each. They keep the order of the topology."""
    links = topology.links
    drawn = (a >= 0) & (b >= 0) & (a != b)
    # One whole number for (from, to, cable); `max` keeps it valid where nothing is drawn.
    key = (a * max(1, count) + b) * max(1, len(links.cables)) + links.cable
    _, lead, inverse = np.unique(key[drawn], return_index=True, return_inverse=True)
    link_of = np.full(len(links), -1, np.int64)
    # `unique` sorts by key. The rank of each group's first link puts the groups back in the topology's order.
    link_of[drawn] = np.argsort(np.argsort(lead))[inverse.ravel()]
    return drawn, link_of, np.flatnonzero(drawn)[np.sort(lead)]


def sum_bandwidths(bandwidth: Floats, link: Ints, count: int, carried: Carried | None) -> Floats:
    """Bandwidth of links that stand for several: their sum, or where they carry unequal bytes so much that the share in
    use is that of the busiest of them: a folded thing shows its maximum, never its mean alone.

    Args:
        bandwidth: (links,) bytes per second of each link of the topology that is drawn.
        link: (links,) the link of the picture that stands for each link of the topology.
        count: Number of links of the picture.
        carried: (links,) bytes on each link; None where nothing runs.
    """
    total = np.bincount(link, weights=bandwidth, minlength=count).astype(np.float64)
    if carried is None:
        return total
    busiest = np.zeros(count)
    np.maximum.at(busiest, link, carried / bandwidth)
    moved = np.bincount(link, weights=carried.astype(np.float64), minlength=count)
    # All bytes over the time of the busiest link: the rate at which the drawn link is in use as long as that one.
    return np.where(busiest > 0, moved / np.where(busiest > 0, busiest, 1), total)
