"""Many copies of one machine, joined by a fabric: device, link and route by index arithmetic.

Node k's device d is k * D + d and its link l is k * L + l (D devices and L links in a machine); the fabric's follow. A
route is a way inside the first node, a way through the fabric and a way inside the last one; those inside a node are
found once per pair of local devices, by NCCL's rules:

- P2P (src/graph/paths.cc, ncclTopoCheckP2p): direct where the path's type is within the level, by default PXB (SYS on
  AMD processors with at most 2 GPUs). Otherwise data go through host memory on the receiver's socket (NCCL's SHM
  transport, buffer at the receiver, NCCL_SHM_LOCALITY=2): the PCIe links of both GPUs, the socket link where they
  differ, memory in and out.
- GPUDirect RDMA (ncclTopoCheckGdr): where card and GPU are within the level, by default PXB (P2C on Grace); GPUs before
  Ampere send that way only with NVLink or alone (NCCL_NET_GDR_READ). Otherwise through host memory on the GPU's socket.
- A GPU uses its nearest card; GPUs that share equally near cards take them in turn. On rails and planes the receiver's
  nearest card says the lane, and the sender uses its own card of that lane: directly within PXB, else over NVLink
  through the GPU beside it (PXN), else its nearest card and the way across the spines.

- Without shared memory (NCCL_SHM_DISABLE) what would be staged inside a node goes out by the sender's card and comes
  back by the receiver's. NCCL's own choice of that way where it is faster (ncclTopoCheckNet) is not modelled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..dtypes import Bools, ComparedByFields, Ints, Longs
from ..errors import Sentence, TopologyError, Words
from ..steps import HelperLocation
from .fabrics import Fabric
from .graph import ShortestPaths
from .machine_builder import LEVELS, LOC, NVB, NVL, P2C, PXB, PXN, Machine, MachinePaths, Path
from .network import Column, NoRoute

Local = tuple[int, ...]

#: The compute capability from which NVSwitches reduce: NVLink SHARP came with Hopper's (NCCL src/graph/tuning.cc,
#: nvlsEfficiency is 0 below 9.0).
_NVLS_SM = 90


@dataclass(frozen=True)
class Policy:
    """What NCCL may do.

    Attributes:
        p2p: worst path type over which GPUs of a node use P2P, an index into `machine_builder.LEVELS`.
        gdr: worst path type between GPU and card for GPUDirect RDMA, likewise.
        pxn: may a GPU use the card of another one over NVLink?
        shm: may GPUs of a node share host memory?
    """

    p2p: int
    gdr: int
    pxn: bool
    shm: bool = True


class Leg(NamedTuple):
    """How one local device reaches another.

    Attributes:
        out: local links in the first node.
        card_out: local number of the card that sends; -1 inside a node.
        card_in: local number of the card that receives; -1 inside a node.
        into: local links in the last node.
        description: why the route is what it is, in the words of nvidia-smi and NCCL.
    """

    out: Local
    card_out: int
    card_in: int
    into: Local
    description: Words


class FailedParts(NamedTuple):
    """What a node has lost: local links, and cards without a working cable."""

    links: frozenset[int]
    cards: frozenset[int]


@dataclass(frozen=True, eq=False)
class ClusterRouter(ComparedByFields):
    """Routes between devices of nodes.

    Attributes:
        machine: that each node is.
        nodes: number of them.
        fabric: what joins the cards; None for one node.
        policy: what NCCL may do.
        lost: original link numbers that are gone; the others are renumbered without gaps.
        legs: routes between local devices that were found so far, or why there is none.
        chosen: cards that were chosen so far; None where no card is near.
    """

    machine: Machine
    nodes: int
    fabric: Fabric | None
    policy: Policy
    lost: frozenset[int] = frozenset()
    legs: dict[tuple[int, ...], Leg | Sentence] = field(default_factory=dict, compare=False)
    chosen: dict[tuple[int, int], int | None] = field(default_factory=dict, compare=False)

    def __hash__(self) -> int:
        return hash((self.machine.name, self.nodes, self.policy))

    # ---- sizes

    @property
    def _local_links(self) -> int:
        return 2 * len(self.machine.connections)

    @cached_property
    def cards(self) -> list[int]:
        """Local devices that are network cards."""
        return self.machine.of_kind("nic")

    @property
    def _link_count(self) -> int:
        fabric = 0
        if self.fabric is not None:
            fabric = 2 * (self.fabric.ports + len(self.fabric.a))
        return self.nodes * self._local_links + fabric

    def memories(self, count: int) -> Ints:
        """Devices for `count` helpers: the first memory of node 0, 1, ..., then the second ones.

        Args:
            count: number of helpers.

        Returns:
            Shape (count,): numbers of devices.

        Raises:
            TopologyError: without any.
        """
        local = self.machine.of_kind("memory")
        if not local:
            message = "{name} has no host memory for a helper endpoint to sit in; let a rank serve (server='rank')"
            raise TopologyError(message, name=self.machine.name)
        # Helpers go round the nodes first, so that no node's cards carry two of them while another's carry none.
        which, node = np.divmod(np.arange(count), self.nodes)
        device = node * len(self.machine.devices) + np.array(local, np.int64)[which % len(local)]
        return np.asarray(device, np.int32)

    def reducing_switches(self, count: int, on: HelperLocation, nodes: Longs | None = None) -> Ints:
        """Devices for `count` helpers that are switches which reduce.

        Args:
            count: how many.
            on: `nvswitch`, the NVSwitches of the nodes, one each; `fabric`, the one switch between the nodes; `switch`,
                the first where there are as many helpers as nodes, else the second.
            nodes: those that they serve; all unless given.

        Raises:
            TopologyError: where there is no such switch, or it does not reduce (see `places`).
        """
        served = np.arange(self.nodes) if nodes is None else nodes
        if on == "nvswitch" or (on == "switch" and count == len(served)):
            return self._reducing_nvswitches(count, served)
        return self._reducing_fabric(count)

    def _reducing_nvswitches(self, count: int, served: Longs) -> Ints:
        local = self.machine.of_kind("nvswitch")
        if not local or self.machine.sm < _NVLS_SM:
            raise TopologyError(
                "{name} has no switch that reduces or multicasts: NVLink SHARP needs NVSwitch of the third "
                "generation (dgx-h100 and later)",
                name=self.machine.name,
            )
        if count != len(served):
            raise TopologyError(
                "an NVSwitch reduces only for the GPUs of its own node, and these ranks are on {nodes} × {name}; "
                "allreduce_nvls_tree has a switch for each node, allreduce_sharp the switch between the nodes",
                nodes=len(served),
                name=self.machine.name,
            )
        return (served * len(self.machine.devices) + local[0]).astype(np.int32)

    def _reducing_fabric(self, count: int) -> Ints:
        fabric = self.fabric
        if count != 1 or fabric is None or not fabric.sharp or fabric.switches != ((1, "switch"),) or len(fabric.a):
            raise TopologyError(
                "{nodes} × {name} has no network switch that reduces: SHARP needs one InfiniBand switch of HDR or "
                "later that joins several nodes (nodes=2, nic='ib-hdr', fabric='switch')",
                nodes=self.nodes,
                name=self.machine.name,
            )
        return np.array([self.nodes * len(self.machine.devices)], np.int32)

    # ---- what is broken

    def without(self, lost: Bools) -> ClusterRouter:
        """The same with links (numbered as now) gone.

        Args:
            lost: (links,) bool.
        """
        # Links are numbered without gaps, so that columns of a topology stay arrays; `lost` keeps the first numbers, by
        # which a machine without faults finds its routes.
        if self._link_numbers is None:
            original = np.arange(self._link_count)
        else:
            original = np.flatnonzero(self._link_numbers >= 0)
        gone = self.lost | frozenset(original[lost].tolist())
        return ClusterRouter(self.machine, self.nodes, self.fabric, self.policy, gone)

    @cached_property
    def _link_numbers(self) -> Longs | None:
        """Number now of each original link, -1 for the lost; None while nothing is lost."""
        if not self.lost:
            return None
        here = np.ones(self._link_count, bool)
        here[list(self.lost)] = False
        return np.where(here, np.cumsum(here) - 1, -1)

    @cached_property
    def _hurt(self) -> tuple[list[FailedParts], Longs]:
        """The different states that nodes are in (first: nothing lost), and the state of each node."""
        inside = self.nodes * self._local_links
        links: dict[int, set[int]] = {}
        cards: dict[int, set[int]] = {}
        for link in self.lost:
            node, local = divmod(link, max(1, self._local_links))
            if link < inside:
                links.setdefault(node, set()).add(local)
            elif link - inside < 2 * (self.fabric.ports if self.fabric else 0):
                node, card = divmod((link - inside) // 2, len(self.cards))
                cards.setdefault(node, set()).add(card)
        state = np.zeros(self.nodes, np.int64)
        states = [FailedParts(frozenset(), frozenset())]
        # Nodes that lost the same share a state, so that routes inside are searched once for each, not for each node.
        for node in sorted({*links, *cards}):
            hurt = FailedParts(frozenset(links.get(node, ())), frozenset(cards.get(node, ())))
            if hurt not in states:
                states.append(hurt)
            state[node] = states.index(hurt)
        return states, state

    @cached_property
    def _paths(self) -> list[MachinePaths]:
        return [MachinePaths(self.machine, hurt.links) for hurt in self._hurt[0]]

    @cached_property
    def _fabric_repair(self) -> tuple[Bools, ShortestPaths] | None:
        """Which fabric links are lost, and shortest ways over the others; None while all cables between switches are
        there."""
        if self.fabric is None:
            return None
        inside = self.nodes * self._local_links
        gone = np.zeros(2 * (self.fabric.ports + len(self.fabric.a)), bool)
        gone[[link - inside for link in self.lost if link >= inside]] = True
        if not gone.any():
            return None
        # Cable i is links 2i (a to b) and 2i + 1 (b to a), as everywhere in a topology.
        a, b = self.fabric.ends()
        src, dst = np.stack([a, b], 1).ravel().astype(np.int32), np.stack([b, a], 1).ravel().astype(np.int32)
        count = self.fabric.ports + sum(n for n, _ in self.fabric.switches)
        return gone, ShortestPaths(count, src[~gone], dst[~gone])

    # ---- routes

    def columns(self, src: Longs, dst: Longs) -> list[Column]:
        """Routes between devices in nodes, hop by hop, for arrays of equal length. Raises NoRoute.

        Args:
            src: shape (pairs,), numbers of devices.
            dst: shape (pairs,), numbers of devices.
        """
        size = len(self.machine.devices)
        ends, starts = dst >= self.nodes * size, src >= self.nodes * size  # at the fabric's one switch
        stands = bool(ends.any() or starts.any())
        if stands:
            src, dst = self._stand_ins(src, dst, starts, ends)
        (node, a), (goal, b) = _split(src, size), _split(dst, size)
        legs, which = self._legs(node, a, goal, b)
        hops = _look_up_local([leg.out for leg in legs], which, node * self._local_links)
        through = np.array([leg.card_out >= 0 for leg in legs], bool)
        if through.any():
            away = slice(None) if through.all() else np.flatnonzero(through[which])
            fabric = self._through_fabric(legs, which, node, goal, away)
            into = _look_up_local([leg.into for leg in legs], which, goal * self._local_links)
            # A route of the switch itself is that of a stand-in in a node, less what lies before or behind the switch.
            for hop in [*hops, fabric[0]] if stands else []:
                hop[starts] = -1
            for hop in [fabric[-1], *into] if stands else []:
                hop[ends] = -1
            hops += [*fabric, *into]
        return [column for hop in hops if len((column := _squeeze_hop(hop, self._link_numbers)).link)]

    def _legs(self, node: Ints, a: Ints, goal: Ints, b: Ints) -> tuple[list[Leg], Longs]:
        """The different ways between local devices that these pairs need, and which of them each pair takes. Raises
        NoRoute."""
        size, (states, state) = len(self.machine.devices), self._hurt
        shape = (2, len(states), size, len(states), size)
        if len(states) == 1:
            code = (np.where(node != goal, np.int32(size), np.int32(0)) + a) * size + b
        else:
            code = np.ravel_multi_index((node != goal, state[node], a, state[goal], b), shape)
        # A pair is one whole number: whether it leaves the node, and state and local device at both ends. Millions of
        # pairs have few different numbers, and only these are looked up.
        first, which = _find_distinct(code, prod(shape))
        keys = np.stack(np.unravel_index(code[first], shape), axis=1).tolist()
        return [self._leg(tuple(key), int(i)) for key, i in zip(keys, first, strict=True)], which

    def _stand_ins(self, src: Longs, dst: Longs, starts: Bools, ends: Bools) -> tuple[Longs, Longs]:
        """For the switch between the nodes, the same device of the next node: the way to that passes through it."""
        inside = self.nodes * len(self.machine.devices)
        there, here = (dst + len(self.machine.devices)) % inside, (src + len(self.machine.devices)) % inside
        src, dst = np.where(starts, there, src), np.where(ends, here, dst)
        both = starts & ends
        return np.where(both, 0, src), np.where(both, 0, dst)

    def _through_fabric(self, legs: list[Leg], which: Longs, node: Ints, goal: Ints, away: Longs | slice) -> list[Ints]:
        """Links in the fabric, hop by hop, of the pairs `away`; -1 for the others and where a route is shorter."""
        assert self.fabric is not None
        cards = len(self.cards)
        out, into = (np.array([leg[i] for leg in legs], np.int32)[which[away]] for i in (1, 2))
        src, dst = node[away] * cards + out, goal[away] * cards + into
        fabric_links = self.fabric.find_links(src, dst)
        if self._fabric_repair is not None:
            fabric_links = self._repair_routes(fabric_links, src, dst, np.arange(len(which))[away])
        hops = []
        for hop_links in fabric_links.T:
            hop = np.full(len(which), -1, np.int32)
            hop[away] = np.where(hop_links >= 0, hop_links + self.nodes * self._local_links, -1)
            hops.append(hop)
        return hops

    def _repair_routes(self, fabric_links: Longs, src: Longs, dst: Longs, pair: Longs) -> Longs:
        """The same ways, but shortest ones over what is left for those that would cross a lost link."""
        assert self.fabric is not None
        assert self._fabric_repair is not None
        gone, paths_left = self._fabric_repair
        # Links of a closed-form route are numbers; those that were removed are marked in `gone`.
        broken = np.flatnonzero((gone[np.maximum(fabric_links, 0)] & (fabric_links >= 0)).any(axis=1))
        if not len(broken):
            return fabric_links
        a, b = self.fabric.ends()
        link = {(x, y): 2 * i for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True))}
        link |= {(y, x): 2 * i + 1 for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True))}
        new: dict[int, list[int]] = {}
        for i in broken.tolist():
            # Hop by hop over what is left, because the closed form knows no detours.
            device, goal, new[i] = int(src[i]), int(dst[i]), []
            while device != goal:
                then = int(paths_left.find_next_hops(goal)[device])
                if then < 0:
                    raise NoRoute(
                        int(pair[i]), Sentence("no way is left through the fabric {fabric!r}", fabric=self.fabric.name)
                    )
                new[i].append(link[device, then])
                device = then
        # Detours may be longer than any route of the intact fabric, so the table gets wider where needed.
        width = max(fabric_links.shape[1], *(len(w) for w in new.values()))
        table = np.full((len(fabric_links), width), -1, np.int64)
        table[:, : fabric_links.shape[1]] = fabric_links
        for i, route in new.items():
            table[i] = [*route, *[-1] * (width - len(route))]
        return table

    # ---- one pair of local devices

    def _leg(self, key: tuple[int, ...], pair: int) -> Leg:
        if key not in self.legs:
            away, state, a, goal_state, b = key
            self.legs[key] = (
                self._find_remote_leg(state, a, goal_state, b) if away else self._find_inside_leg(state, a, b)
            )
        leg = self.legs[key]
        if isinstance(leg, Sentence):
            raise NoRoute(pair, leg)
        return leg

    def _find_inside_leg(self, state: int, a: int, b: int) -> Leg | Sentence:
        """Inside one node: direct where P2P is allowed, else through the receiver's host memory."""
        if a == b:
            return Leg((), -1, -1, (), "")
        paths, kinds = self._paths[state], self.machine.kinds
        path = paths.best(a, b)
        # Host memories and switches take part as helpers; P2P rules are about two GPUs.
        if kinds[a] != "gpu" or kinds[b] != "gpu":
            if path is not None:
                message = "{level} path between {ends}"
                sentence = Sentence(message, level=LEVELS[path.type], ends=self._ends(a, b))
                return Leg(path.links, -1, -1, (), sentence)
            other = self._find_remote_leg(state, a, state, b)
            if isinstance(other, Leg):
                return other
            return Sentence("no links join {ends}; let a rank serve (server='rank')", ends=self._ends(a, b))
        if path is not None and self._uses_chip_links(path):
            return Leg(path.links, -1, -1, (), Sentence("over the chips' own links"))
        if path is not None and self._p2p(path):
            return Leg(path.links, -1, -1, (), Sentence("{path}, GPUDirect P2P", path=self._describe_path(path)))
        # NCCL stages through the receiver's side: its buffer lies in the memory next to the receiving GPU.
        links = None
        if self.policy.shm:
            links = self._stage_through_memory(state, (a, b), b)
        if links is None:
            other = self._find_remote_leg(state, a, state, b)
            if isinstance(other, Leg):
                return other
            return Sentence(
                "P2P is not allowed, and no host memory or network card joins {ends}; allow it with p2p=True",
                ends=self._ends(a, b),
            )
        reason = Sentence("no direct path")
        if path:
            reason = Sentence("{path}, {reason}", path=self._describe_path(path), reason=self._explain_no_p2p(path))
        staged = Sentence("{reason}: staged through host memory (SHM)", reason=reason)
        return Leg(links, -1, -1, (), staged)

    def _ends(self, a: int, b: int) -> Sentence:
        return Sentence("{a} and {b}", a=self.machine.devices[a], b=self.machine.devices[b])

    def _p2p(self, path: Path) -> bool:
        return path.type <= self.policy.p2p and (path.type <= NVB or self.machine.p2p_over_pcie)

    def _explain_no_p2p(self, path: Path) -> Sentence:
        if path.type > NVB and not self.machine.p2p_over_pcie:
            return Sentence("the driver allows no P2P over PCIe")
        if self.policy.p2p == LOC:
            return Sentence("P2P is off")
        return Sentence("beyond the P2P level {level}", level=LEVELS[self.policy.p2p])

    def _uses_chip_links(self, path: Path) -> bool:
        """TPU chips route by themselves: no GPUDirect, and nothing that could switch it off."""
        return self.machine.connections[path.links[0] // 2][2].kind == "ici"

    def _find_remote_leg(self, state: int, a: int, goal_state: int, b: int) -> Leg | Sentence:
        """To another node: which cards, and how to reach them."""
        card_in = self.card_of(goal_state, b)
        own_card = self.card_of(state, a)
        if self.fabric is None or card_in is None or own_card is None:
            return Sentence("no network card with a working cable")
        # NCCL's PXN: a GPU whose card is far away hands its data over NVLink to a neighbour that is next to it.
        card_out, out = own_card, self._to_card(state, a, own_card)
        direct = self._paths[state].best(a, self.cards[own_card])
        if direct is None or direct.type > PXN:
            out = self._pass_through_peer(state, a, own_card) or out
        lanes = self.fabric.lanes
        # Cards of different rails meet at the spine only; a peer whose card is on the receiver's rail avoids that.
        if lanes is not None and lanes[card_out] != lanes[card_in]:
            rail_cards = [
                c for c in range(len(self.cards)) if lanes[c] == lanes[card_in] and c not in self._hurt[0][state].cards
            ]
            better = self._in_lane(state, a, rail_cards)
            if better is not None:
                card_out, out = better
            elif self.fabric.separate:
                message = "cards {own} and {other} are on lanes that nothing joins, and PXN is not used"
                return Sentence(message, own=own_card, other=card_in)
        into = self._from_card(goal_state, card_in, b)
        if out is None or into is None:
            return Sentence("no path between its device and its network card")
        message = "through card {card_out} ({way_out}) and card {card_in} ({way_in})"
        sentence = Sentence(message, card_out=card_out, way_out=out[1], card_in=card_in, way_in=into[1])
        return Leg(out[0], card_out, card_in, into[0], sentence)

    def _in_lane(self, state: int, a: int, rail_cards: list[int]) -> tuple[int, tuple[Local, Words] | None] | None:
        """A card of the lane: one's own within PXB, or with PXN over NVLink through the GPU beside it."""
        paths, cards = self._paths[state], self.cards
        for card in rail_cards:
            path = paths.best(a, cards[card])
            if path is not None and path.type <= PXB:
                return card, self._to_card(state, a, card)
        for card in rail_cards:
            through_peer = self._pass_through_peer(state, a, card)
            if through_peer is not None:
                return card, through_peer
        return None

    def _pass_through_peer(self, state: int, a: int, card: int) -> tuple[Local, Words] | None:
        """With PXN: over NVLink to a GPU next to the card (NCCL src/graph/paths.cc)."""
        paths, nic = self._paths[state], self.cards[card]
        if not self.policy.pxn or self.machine.kinds[a] != "gpu":
            return None
        for peer in paths.nearest(nic, self.machine.of_kind("gpu")):
            first, last = paths.best(a, peer), paths.best(peer, nic)
            if first and last and first.type == NVL and last.type <= min(P2C, self.policy.gdr):
                message = "PXN through {device}, GPUDirect RDMA"
                return (*first.links, *last.links), Sentence(message, device=self.machine.devices[peer])
        return None

    def card_of(self, state: int, device: int) -> int | None:
        """The card that a local device uses: its nearest; devices of a kind that share equally near ones take them in
        turn.

        Args:
            state: number of the state of the node's links: which of them are lost.
            device: number within the node.

        Returns:
            Number of the card within the node; None where it reaches none.
        """
        if (state, device) not in self.chosen:
            self._choose_cards(state, self.machine.kinds[device])
        return self.chosen[state, device]

    def with_cards(self, cards: Mapping[int, int]) -> ClusterRouter:
        """The same where devices of every node take these cards in place of their nearest.

        Args:
            cards: numbers of cards by local device; links and cards that were lost are not looked at.
        """
        return replace(self, legs={}, chosen={(0, device): card for device, card in cards.items()})

    def _choose_cards(self, state: int, kind: str) -> None:
        """The cards of all devices of a kind."""
        dead = self._hurt[0][state].cards
        alive = [device for i, device in enumerate(self.cards) if i not in dead]
        taken: Counter[tuple[int, ...]] = Counter()
        for device in self.machine.of_kind(kind):
            near = tuple(self._paths[state].nearest(device, alive))
            self.chosen[state, device] = self.cards.index(near[taken[near] % len(near)]) if near else None
            taken[near] += 1

    def _gdr(self, path: Path, sending: bool) -> bool:
        machine = self.machine
        reads = machine.sm >= 80 or machine.sm == 0 or len(machine.of_kind("gpu")) == 1
        reads = reads or any(cable.kind in ("nvlink", "xgmi") for _, _, cable in machine.connections)
        return path.type <= self.policy.gdr and (reads or not sending)

    def _to_card(self, state: int, device: int, card: int) -> tuple[Local, Words] | None:
        return self._find_card_leg(state, device, card, sending=True)

    def _from_card(self, state: int, card: int, device: int) -> tuple[Local, Words] | None:
        return self._find_card_leg(state, device, card, sending=False)

    def _find_card_leg(self, state: int, device: int, card: int, sending: bool) -> tuple[Local, Words] | None:
        """Links between a device and a card, in the direction of the data, and how."""
        paths, nic = self._paths[state], self.cards[card]
        if sending:
            ends = (device, nic)
        else:
            ends = (nic, device)
        path = paths.best(*ends)
        seen = paths.best(device, nic)  # NCCL judges both directions by the GPU's path to the card
        if path is None or seen is None:
            return None
        if self.machine.kinds[device] != "gpu":
            return path.links, Sentence("from host memory") if sending else Sentence("to host memory")
        # GPUDirect RDMA is allowed or not by the distance between GPU and card (NCCL_NET_GDR_LEVEL).
        if self._gdr(seen, sending):
            return path.links, Sentence("{level}, GPUDirect RDMA", level=LEVELS[seen.type])
        staged = self._stage_through_memory(state, ends, device)
        if staged is None:
            return None
        message = "{level}, no GPUDirect RDMA: staged through host memory"
        return staged, Sentence(message, level=LEVELS[seen.type])

    def _stage_through_memory(self, state: int, ends: tuple[int, int], beside: int) -> Local | None:
        """Links into the host memory beside a device and out of it again; None where there is no way."""
        paths = self._paths[state]
        for memory in paths.nearest(beside, self.machine.of_kind("memory"))[:1]:
            into, out = paths.best(ends[0], memory), paths.best(memory, ends[1])
            if into is not None and out is not None:
                return (*into.links, *out.links)
        return None

    # ---- words

    def describe_route(self, src: int, dst: int) -> Words:
        """What nvidia-smi and NCCL call the way between two devices, and whether it is direct or staged.

        Args:
            src: number of the device where it begins.
            dst: number of the device where it ends.
        """
        size = len(self.machine.devices)
        (node, a), (goal, b) = divmod(src, size), divmod(dst, size)
        state = self._hurt[1]
        return self._leg((int(node != goal), int(state[node]), a, int(state[goal]), b), 0).description

    def _describe_path(self, path: Path) -> Sentence:
        """`NV12 in nvidia-smi, NVL in NCCL`."""
        tool = "rocm-smi" if (word := find_smi_word(self.machine, path)) == "XGMI" else "nvidia-smi"
        return Sentence("{word} in {tool}, {level} in NCCL", word=word, tool=tool, level=LEVELS[path.type])


def find_smi_word(machine: Machine, path: Path) -> str:
    """nvidia-smi topo -m's word for a path between two devices; NV# counts links at the first; NVB has its PCIe
    word.

    Args:
        machine: that the path is in.
        path: between two of its local devices.

    Returns:
        `NV4`, `PIX`, `PXB`, `PHB`, `NODE` or `SYS`.
    """
    # A file's own word wins: it is what the machine's nvidia-smi printed.
    word_of_file = machine.words.get((path.devices[0], path.devices[-1]))
    if word_of_file:
        return word_of_file
    if path.type == NVL:
        cable = machine.connections[path.links[0] // 2][2]
        if cable.kind == "xgmi":
            return "XGMI"
        return f"NV{cable.width}"
    # NVB passes another GPU; nvidia-smi has no word for it and prints the way that PCIe alone would take.
    if path.type == NVB:
        plain = MachinePaths(
            machine,
            frozenset(
                link
                for link in range(2 * len(machine.connections))
                if machine.connections[link // 2][2].kind == "nvlink"
            ),
        )
        around = plain.best(path.devices[0], path.devices[-1])
        if around:
            return find_smi_word(machine, around)
        return "no word"
    if LEVELS[path.type] in ("PHB", "P2C", "C2C"):
        return machine.bridge
    if path.type != LOC:
        return LEVELS[path.type]
    return "X"


def _split(device: Longs, size: int) -> tuple[Ints, Ints]:
    """Node and local device: divmod, which numpy does many times slower."""
    numbers = device.astype(np.int32)
    node = numbers // size
    return node, numbers - node * size


def _find_distinct(code: npt.NDArray[np.generic], most: int) -> tuple[Longs, Longs]:
    """Where each different code below `most` is first, in the order of the codes, and for all which of them they
    are."""
    if most > 1000 + 4 * len(code):
        _, first, which = np.unique(code, return_index=True, return_inverse=True)
        return first, which.ravel()
    position = np.full(most, -1, np.int64)
    position[code[::-1]] = np.arange(len(code))[::-1]
    used = np.flatnonzero(position >= 0)
    first = position[used]
    position[used] = np.arange(len(used))
    return first, position[code]


def _look_up_local(local_routes: list[Local], which: Longs, offset: Ints) -> list[Ints]:
    """Local ways looked up per pair and moved to their node, hop by hop; -1 where shorter."""
    hops = []
    for i in range(max((len(local_route) for local_route in local_routes), default=0)):
        link = np.array([local_route[i] if i < len(local_route) else -1 for local_route in local_routes], np.int32)
        links = link[which]
        links += offset if link.min() >= 0 else np.where(links >= 0, offset, 0)
        hops.append(links)
    return hops


def _squeeze_hop(link: Ints, number: Longs | None) -> Column:
    """One hop without the pairs that do not make it, links numbered as now."""
    pair = None
    if len(link) and link.min() < 0:
        pair = np.flatnonzero(link >= 0)
        link = link[pair]
    return Column(pair, link if number is None else number[link].astype(np.int32))
