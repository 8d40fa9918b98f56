"""What a topology says of itself beyond its devices and links: how it was built, what was changed, which file it came
from, and what a reader had to assume because the file does not say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ..locale import LANGUAGES, Text, repeat_text

if TYPE_CHECKING:
    from .calibrated import Measured
    from .machine_builder import Machine

#: Ratios nearer to 1 than this are said to make no difference.
_SAME = 0.01

#: The name of an edit and its arguments.
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Assumption:
    """One thing that the input does not say.

    Attributes:
        option: the keyword of `load_topology` that says it (`nic`), on the command line `--nic`.
        value: what was taken.
        reason: why, as (English, Chinese).
        others: values that are as possible; the first few are tried to tell the effect.
    """

    option: str
    value: str
    reason: tuple[str, str]
    others: tuple[object, ...] = ()

    def __str__(self) -> str:
        return f"{self.reason[0]}: assumed {self.value}; set {self.option}=... if that is wrong"

    @property
    def chinese(self) -> str:
        return f"{self.reason[1]}：取 {self.value}；若不是，请给出 {self.option}=…"


@dataclass(frozen=True)
class Effect:
    """What another value in place of an assumption makes of a time.

    Attributes:
        assumption: what a machine file left open and the reader assumed.
        value: the other value that was tried.
        factor: time with that value over time with the assumed one; above 1 it is slower.
    """

    assumption: Assumption
    value: Any
    factor: float

    @property
    def is_negligible(self) -> bool:
        """Does it make no difference?"""
        return abs(self.factor - 1) < _SAME

    def __str__(self) -> str:
        option = f"{self.assumption.option}={self.value}"
        if self.is_negligible:
            return f"{option} makes no difference"
        return f"with {option} it takes {self.factor:.2g} times as long"

    @property
    def chinese(self) -> str:
        condition = f"若 {self.assumption.option} 为 {self.value}："
        if self.is_negligible:
            return condition + "没有差别"
        times = f"{max(self.factor, 1 / self.factor):.2g}"
        if self.factor > 1:
            return f"{condition}用时为 {times} 倍"
        return f"{condition}用时为 1/{times}"


@dataclass(frozen=True)
class FromText:
    """The text that a topology was read from, and the options it was read with, to read it again.

    Attributes:
        text: the whole file.
        name: of the file, for messages and for the topology.
        options: (keyword, value) of `load_topology`, sorted by keyword; lists are tuples, so that it can be hashed.
    """

    text: str = field(repr=False)
    name: str
    options: tuple[tuple[str, Any], ...]


class DragonflyGroup(NamedTuple):
    """Sizes of a dragonfly.

    Attributes:
        switches: Switches of a group.
        hosts: Ranks at each switch.
    """

    switches: int
    hosts: int


@dataclass(frozen=True)
class TopologyFacts:
    """How a topology was built and changed. A field keeps its default where it does not apply.

    Attributes:
        machine: the machine that each node is; None for a network without machines.
        base: the machine before its parts were changed; `machine` itself where none was.
        parts: the parts that were changed (gpu, pcie, cpu, nvlink, nics, gpus), by keyword of `machine`.
        options: the other arguments of `machine` that differ from its defaults, by keyword.
        nodes: number of nodes.
        nic: name of the network card; empty without one.
        fabric: name of what joins the nodes; empty for one node.
        p2p: worst path type of GPUDirect P2P, a name in `machine_builder.LEVELS`.
        gdr: worst path type of GPUDirect RDMA, a name in `machine_builder.LEVELS`.
        pxn: may a GPU use the card of another one over NVLink?
        rates: `nominal` or `effective`.
        placement: `node` (rank r on GPU r), `round-robin` or `by hand`.
        network: the call that builds a generic network, as text; empty for machines and graphs.
        dims: size of each dimension of a torus or mesh, the last one the fastest.
        dragonfly: sizes of a dragonfly.
        file: name of the file that it was read from.
        notes: what a reader did not understand, or had to assume.
        assumptions: those of the notes that an option can settle.
        reading: how to read the file again; None where nothing was assumed.
        dimensions: kind and size of each dimension of an ASTRA-sim file, the first one the fastest.
        edits: a text for each edit, as in the topology's name.
        calls: the edits as calls that make them again.
        calibration: what `calibrate` found; the links carry it.
        calls_before_calibration: how many of `calls` came before it.

    Example:
        >>> import collsim as cs
        >>> facts = cs.machine("dgx-a100", nodes=2, gdr=False).facts
        >>> facts.nodes, facts.p2p, facts.gdr, facts.options
        (2, 'PXB', 'LOC', {'nodes': 2, 'gdr': False})
    """

    machine: Machine | None = None
    base: Machine | None = None
    parts: Mapping[str, object] = field(default_factory=dict, hash=False)
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    nodes: int = 1
    nic: str = ""
    fabric: str = ""
    p2p: str = ""
    gdr: str = ""
    pxn: bool = False
    rates: str = "nominal"
    placement: str = "node"
    network: str = ""
    dims: tuple[int, ...] = ()
    dragonfly: DragonflyGroup | None = None
    file: str = ""
    notes: tuple[str, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    reading: FromText | None = None
    dimensions: tuple[tuple[str, int], ...] = ()
    edits: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    calibration: Measured | None = None
    calls_before_calibration: int = 0

    @property
    def titles(self) -> Text:
        """The machine as people call it, in every language; empty for a network without machines."""
        if self.machine is None:
            return repeat_text("")
        return tuple(map(self.machine.write_title, LANGUAGES))

    @property
    def nvswitches(self) -> int:
        """NVSwitch chips of each node; 0 where there are none, or where their number is not known."""
        if self.machine is not None:
            return self.machine.nvswitches
        return 0
