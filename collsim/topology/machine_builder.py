"""A machine, piece by piece: its devices, the cables that connect them, and the paths in it as NCCL sees them.

Path types and their order are NCCL's (src/graph/topo.h): a path is as bad as its worst element; among paths the better
type wins, then more bandwidth, then fewer links, then the lower device. A GPU is passed only between two NVLinks (NVB),
once.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..errors import Sentence, TopologyError, describe_unknown
from ..locale import has_text, translate
from .network import DEVICE_KINDS, Cable

#: NCCL's path types, best first; `LEVELS[t]` is the name of type t.
LEVELS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS = range(10)
#: Path type of a single link of a kind; a path has the worst type of its links.
_LINK_TYPE = {"nvlink": NVL, "xgmi": NVL, "ici": NVL, "c2c": C2C, "pcie": PIX, "upi": SYS, "memory": LOC, "cable": LOC}


@dataclass
class MachineBuilder:
    """Devices and cables of a machine, collected one by one; `Machine.from_builder` freezes them.

    Attributes:
        devices: Names of the devices.
        connections: Two names and the cable between them.
    """

    devices: list[str] = field(default_factory=list)
    connections: list[tuple[str, str, Cable]] = field(default_factory=list)

    def add(self, *names: str) -> None:
        """Add devices to the machine.

        Args:
            names: A kind and a number each; those that are there already change nothing.
        """
        self.devices += [name for name in names if name not in self.devices]

    def connect(self, a: str, b: str, cable: Cable) -> None:
        """Add a cable, and its two devices where they are new."""
        self.add(a, b)
        self.connections.append((a, b, cable))


@dataclass(frozen=True, repr=False)
class Machine:
    """One machine of a catalogue.

    Attributes:
        name: `"dgx-a100"`.
        title: `"DGX A100"`.
        about: a sentence about it.
        devices: names in order; the kind is the name without its number. GPU g of a node is its rank g.
        connections: (device, device, cable), full duplex; connection i is local links 2i and 2i+1.
        source: where the wiring comes from.
        gpu: name of the GPU; empty where there is none.
        sm: its compute capability times ten; 0 where there is none.
        nic: the card that its `nic` devices are, a name in `cables.load_nics()`.
        p2p_over_pcie: False where the driver refuses P2P without NVLink (GeForce since Ada).
        gdr: False where GPUs cannot do GPUDirect RDMA (GeForce).
        amd_cpu: NCCL allows P2P across sockets on AMD processors with at most 2 GPUs.
        bridge: nvidia-smi's word for two PCIe roots of one socket: `NODE` (a host bridge each) or `PHB` (one for all).
        rings: ring orders of one machine alone, one per channel; rank order when empty.
        paths: orders in each node when there are several, entered at the first GPU and left at the last; rotations when
            empty.
        nvswitches: NVSwitch chips, which are one device as in NCCL; 0 where it is not known.
        dims: sizes of the torus that the ranks' own links make; empty where they make none.
        words: nvidia-smi's word for pairs of local devices, where a file has said it.
        chinese: `about` in Chinese, of a machine of another package (texts of our own are in `collsim.locale`).
    """

    name: str
    title: str
    about: str
    devices: tuple[str, ...]
    connections: tuple[tuple[str, str, Cable], ...]
    source: str
    gpu: str = ""
    sm: int = 0
    nic: str = ""
    p2p_over_pcie: bool = True
    gdr: bool = True
    amd_cpu: bool = False
    bridge: str = "NODE"
    rings: tuple[tuple[int, ...], ...] = ()
    paths: tuple[tuple[int, ...], ...] = ()
    nvswitches: int = 0
    dims: tuple[int, ...] = ()
    words: Mapping[tuple[int, int], str] = field(default_factory=dict)
    chinese: str = ""

    @classmethod
    def from_builder(cls, builder: MachineBuilder, **facts: object) -> Machine:
        """The machine with what the builder collected; `facts` are its other fields."""
        devices, connections = tuple(builder.devices), tuple(builder.connections)
        return cls(devices=devices, connections=connections, **facts)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        if not self.source:
            message = "machine {name!r} has no source for its wiring; say where it comes from"
            raise TopologyError(message, name=self.name)
        for a, b, cable in self.connections:
            if cable.kind not in _LINK_TYPE:
                message = "{a} to {b}: {unknown}"
                raise TopologyError(
                    message,
                    a=a,
                    b=b,
                    unknown=describe_unknown("kind of cable inside a machine", cable.kind, _LINK_TYPE),
                )

    def write_title(self, language: str) -> str:
        """What people call it; a title without words is the same in every language.

        Args:
            language: `en` or `zh`.
        """
        key = f"{self.name}.title"
        if has_text("machines", key) and self.title == translate("en", "machines", key):
            return translate(language, "machines", key)
        return self.title

    def __str__(self) -> str:
        return self.title

    def __repr__(self) -> str:
        counts = f"{len(self.ranks)} ranks, {len(self.devices)} devices, {len(self.connections)} cables"
        return f"<Machine {self.name}: {counts}>"

    def describe(self, language: str) -> str:
        """The sentence about it; English where there is none in that language.

        Args:
            language: one of `collsim.locale.LANGUAGES`.
        """
        if has_text("machines", self.name) and self.about == translate("en", "machines", self.name):
            return translate(language, "machines", self.name)
        if language == "zh" and self.chinese:
            return self.chinese
        return self.about

    def describe_source(self, language: str) -> str:
        """Where its wiring comes from; English where there is no translation.

        Args:
            language: one of `collsim.locale.LANGUAGES`.
        """
        return Sentence(self.source).text(language)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        return tuple(find_kind(name) for name in self.devices)

    def of_kind(self, kind: str) -> list[int]:
        """Local device numbers of a kind, in order."""
        return [i for i, k in enumerate(self.kinds) if k == kind]

    @cached_property
    def ranks(self) -> list[int]:
        """Local devices that ranks sit on: the GPUs, or the host memories of a machine without GPUs."""
        return self.of_kind("gpu") or self.of_kind("memory")


def find_kind(name: str) -> str:
    """The kind of a device: "gpu3" is a gpu.

    Args:
        name: A kind and a number.

    Raises:
        TopologyError: Its kind is unknown.
    """
    if (kind := name.rstrip("0123456789")) not in DEVICE_KINDS:
        message = "device {name!r}: a name is a kind and a number; kinds are {kinds}"
        raise TopologyError(message, name=name, kinds=", ".join(DEVICE_KINDS))
    return kind


@dataclass(frozen=True)
class Path:
    """A path between two devices of one machine.

    Attributes:
        type: NCCL's type of it, an index into `LEVELS`; lower is nearer.
        links: local links in order.
        devices: local devices that it visits, both ends included.
        bandwidth: B/s of its slowest link; inf for a path without links.
    """

    type: int
    links: tuple[int, ...]
    devices: tuple[int, ...]
    bandwidth: float


@dataclass(frozen=True, eq=False)
class MachinePaths:
    """Best paths in one machine, found per start when first asked for.

    Attributes:
        machine: whose devices they join.
        lost: local links that are gone.
        known: start -> end -> path, what was found so far.
    """

    machine: Machine
    lost: frozenset[int] = frozenset()
    known: dict[int, dict[int, Path]] = field(default_factory=dict)

    @cached_property
    def neighbours(self) -> list[list[tuple[int, int, Cable]]]:
        """Per device: (device, local link, cable)."""
        number = {name: i for i, name in enumerate(self.machine.devices)}
        neighbours: list[list[tuple[int, int, Cable]]] = [[] for _ in number]
        for i, (a, b, cable) in enumerate(self.machine.connections):
            for link, x, y in ((2 * i, number[a], number[b]), (2 * i + 1, number[b], number[a])):
                if link not in self.lost:
                    neighbours[x].append((y, link, cable))
        return neighbours

    def best(self, a: int, b: int) -> Path | None:
        """The best path from local device a to b, or None."""
        if a not in self.known:
            self.known[a] = dict(self._search(a))
        return self.known[a].get(b)

    def _search(self, start: int) -> Iterator[tuple[int, Path]]:
        done = set()
        first = Path(LOC, (), (start,), float("inf"))
        heap = [(LOC, -first.bandwidth, 0, first.devices, first.links, first)]
        while heap:
            *_, path = heapq.heappop(heap)
            here = path.devices[-1]
            if here in done:
                continue
            done.add(here)
            yield here, path
            for step in self._steps(path):
                if step.devices[-1] not in done:
                    heapq.heappush(heap, (step.type, -step.bandwidth, len(step.links), step.devices, step.links, step))

    def _steps(self, path: Path) -> Iterator[Path]:
        kinds = self.machine.kinds
        here = path.devices[-1]
        for there, link, cable in self.neighbours[here]:
            kind, next_kind = kinds[here], kinds[there]
            if path.links and not _can_pass(kind, next_kind, cable, path):
                continue
            type_ = _extend_type(path, kind, next_kind, cable)
            yield Path(type_, (*path.links, link), (*path.devices, there), min(path.bandwidth, cable.bandwidth))

    def nearest(self, start: int, goals: Iterable[int]) -> list[int]:
        """List the devices with the best path from one: its type, then bandwidth, then links.

        Args:
            start: Number of the device.
            goals: Numbers of the devices to choose from.

        Returns:
            Numbers in the order given; empty where no path leads to any.
        """
        candidates = [
            (path.type, -path.bandwidth, len(path.links), goal) for goal in goals if (path := self.best(start, goal))
        ]
        if not candidates:
            return []
        best = min(candidates)[:3]
        return [candidate[3] for candidate in candidates if candidate[:3] == best]


def _can_pass(kind: str, next_kind: str, cable: Cable, path: Path) -> bool:
    """May data pass through a device of this kind? GPUs only as NVLink, NVLink, to a GPU, once; NICs and memories
    never.

    TPUs have routers of their own, so data pass any number of them.
    """
    if kind == "gpu" and cable.kind == "ici":
        return True
    if kind == "gpu":
        return len(path.links) == 1 and path.type == NVL and _LINK_TYPE[cable.kind] == NVL and next_kind == "gpu"
    return kind not in ("nic", "memory", "host")


def _extend_type(path: Path, kind: str, next_kind: str, cable: Cable) -> int:
    """NCCL's ncclTopoSetPaths: the type of a path grown by one link."""
    type_ = _LINK_TYPE[cable.kind]
    if kind == "pcie" and next_kind == "pcie":
        type_ = PXB
    if cable.kind == "pcie" and "cpu" in (kind, next_kind):
        type_ = PHB
        if path.type == C2C:
            type_ = P2C
    if kind == "gpu" and path.links and path.type == NVL and type_ == NVL and cable.kind != "ici":
        type_ = NVB
    return max(path.type, type_)
