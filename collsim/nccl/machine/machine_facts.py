"""The facts of a machine that decide how NCCL runs on it: GPU generation, links inside, NICs, nodes. No names of
systems.

Rates are B/s, one direction, nominal (what the standard says); what a link really carries is
`collsim.nccl.model.links`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from ...errors import CollsimError, describe_unknown
from ...topology.machine_builder import LEVELS
from ...topology.parts.gpus import GPUS as MODELS
from ...topology.parts.gpus import find_model
from .wired_nodes import WiredNodes

#: How GPUs of a node reach one another. `host` is staged through host memory, `xgmi` is AMD's mesh.
WiringKind = Literal["none", "nvswitch", "mesh", "cube", "bridge", "pcie", "host", "xgmi"]
#: What carries data between nodes.
Net = Literal["none", "ib", "roce", "efa", "slingshot", "tcp", "tcpx", "tcpxo"]
#: Who launches the kernels of a call: one process for all GPUs of its node, a process for each GPU, or a graph that was
#: captured before; "" where that is not stated.
Launch = Literal["", "one process", "process per gpu", "graph"]

WIRING_KINDS: tuple[WiringKind, ...] = get_args(WiringKind)
NETS: tuple[Net, ...] = get_args(Net)
LAUNCHES: tuple[Launch, ...] = get_args(Launch)

#: Lanes of a full PCIe slot.
LANES = 16


@dataclass(frozen=True)
class Gpu:
    """A GPU as collectives see it.

    Attributes:
        cc: compute capability (80 is 8.0); 0 for AMD.
        links: NVLinks or xGMI links of the GPU.
        pcie: PCIe generation of its slot.
        source: where these figures are published.
        lanes: PCIe lanes of the slot that its boards leave for a network card.
    """

    cc: int
    links: int
    pcie: int
    source: str
    lanes: int = LANES

    @property
    def is_apu(self) -> bool:
        """Whether GPU and CPU are one chip, so that no PCIe slot lies between them."""
        return self.lanes < LANES


#: By the name people write: the rows of `topology/parts/gpus.csv`. The NIC rate of the usual box is in `USUAL_NIC`.
GPUS: dict[str, Gpu] = {
    name: Gpu(int(not model.is_amd) * model.sm, model.links, model.pcie, model.source) for name, model in MODELS.items()
}

#: GB/s of one NVLink in one direction, by generation: payload rates of NVIDIA's NVLink page.
NVLINK_GBPS = {1: 20.0, 2: 25.0, 3: 25.0, 4: 25.0, 5: 50.0, 6: 100.0}
#: The same of GA102 and its kin (86, 89), as nvidia-smi shows it on an A6000.
GA102_LINK_GBPS = 14.0625
#: GB/s of one xGMI link in one direction: AMD CDNA3 white paper.
XGMI_GBPS = 64.0
#: GB/s of a x16 slot in one direction after line coding: PCI-SIG.
PCIE_GBPS = {1: 4.0, 2: 8.0, 3: 15.75, 4: 31.5, 5: 63.0, 6: 121.0}
#: Gbit/s of the NIC that a box of this GPU generation was usually sold with, where nobody says: DGX-1/2, DGX A100, DGX
#: H100/B200 guides.
USUAL_NIC = {0: 100, 80: 200, 90: 400}


@dataclass(frozen=True)
class Facts:
    """Everything that a prediction may know about a machine.

    Attributes:
        gpu: the GPU's name as people write it.
        cc: its compute capability (80 is 8.0); 0 where it is not NVIDIA's.
        ranks: one rank per GPU.
        nodes: nodes; those of one NVLink domain count as one.
        wiring: how the GPUs of a node reach one another.
        link_rate: B/s that one GPU has towards its peers over that wiring, one direction, nominal.
        pcie: PCIe generation of the GPU's slot.
        crosses_sockets: the GPUs of a node sit on more than one socket.
        switches: PCIe switches that join the GPUs of a node; 0 is direct attach.
        root_ports: root ports that these switches hang on, where there are some.
        over_fabric: the GPUs sit in another box, behind a PCIe fabric.
        staged_between_switches: only GPUs of different switches are staged through host memory, the others write to one
            another.
        nics: NICs of a node that these ranks can use.
        nic_rate: B/s of one NIC, one direction, nominal.
        net: what the NICs speak.
        is_pcie_card: the GPU is a PCIe card, whose NIC sits elsewhere in the PCIe tree, and not a module with a NIC on
            its own switch.
        gdr: NIC and GPU exchange data directly (GPUDirect RDMA); None where that is not stated.
        cpu: `intel`, `amd` or `arm`.
        hosts: operating systems, where an NVLink domain spans several; 0: as many as nodes.
        launch: who launches the kernels.
        guessed: names of fields that nobody stated, for which the usual value stands: `gpu` (it is none of `GPUS`),
            `wiring`, `nic_rate` for rate or number of the cards, and `slingshot` for the generation of theirs alone.
        wired_nodes: the wiring that these facts were read from, for the search of rings; None where only words are
            known.

    Raises:
        CollsimError: for an unknown wiring, network or way of launching, for nodes without a rank, and for several
            nodes without NICs or several ranks of a node without a link.

    Examples:
        >>> import collsim as cs
        >>> pair = cs.nccl.Facts("A40", cc=86, ranks=2, wiring="bridge", link_rate=56.25e9)
        >>> cs.nccl.predict("allreduce", pair, "1GiB").algorithm
        'Ring'
    """

    gpu: str
    cc: int
    ranks: int
    nodes: int = 1
    wiring: WiringKind = "none"
    link_rate: float = 0.0
    pcie: int = 4
    crosses_sockets: bool = False
    switches: int = 0
    root_ports: int = 1
    over_fabric: bool = False
    staged_between_switches: bool = False
    nics: float = 0
    nic_rate: float = 0.0
    net: Net = "none"
    is_pcie_card: bool = False
    gdr: bool | None = None
    cpu: str = "intel"
    hosts: int = 0
    launch: Launch = ""
    guessed: frozenset[str] = frozenset()
    wired_nodes: WiredNodes | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.ranks < 1 or self.nodes < 1 or self.ranks < self.nodes:
            raise CollsimError(
                "{ranks} ranks on {nodes} nodes: each node needs at least one rank", ranks=self.ranks, nodes=self.nodes
            )
        if self.wiring not in WIRING_KINDS:
            raise CollsimError(describe_unknown("kind of link inside a node", self.wiring, WIRING_KINDS))
        if self.net not in NETS:
            raise CollsimError(describe_unknown("kind of network", self.net, NETS))
        if self.launch not in LAUNCHES:
            raise CollsimError(describe_unknown("way of launching", self.launch, LAUNCHES[1:]))
        if self.nodes > 1 and (self.net == "none" or self.nics <= 0 or self.nic_rate <= 0):
            template = "{nodes} nodes need NICs: say nics, nic_rate and net (one of {nets})"
            raise CollsimError(template, nodes=self.nodes, nets=", ".join(NETS[1:]))
        if self.ranks > self.nodes and self.wiring == "none":
            template = "{ranks} ranks on {nodes} nodes share nodes, but no link inside a node is given"
            raise CollsimError(template, ranks=self.ranks, nodes=self.nodes)

    @property
    def local_ranks(self) -> int:
        """Ranks of the fullest node."""
        return -(-self.ranks // self.nodes)

    @property
    def ranks_per_host(self) -> int:
        """Ranks of one operating system."""
        return -(-self.ranks // (self.hosts or self.nodes))

    @property
    def trays(self) -> int:
        """Hosts of an NVLink domain; 1 where each node is one host."""
        return max(1, self.hosts // self.nodes)

    @property
    def has_nvswitch(self) -> bool:
        """Whether an NVSwitch joins the GPUs of a node."""
        return self.wiring == "nvswitch"

    @property
    def is_amd(self) -> bool:
        """Whether RCCL runs here in place of NCCL."""
        return self.cc == 0

    @property
    def wiring_key(self) -> tuple[object, ...]:
        """What must be unchanged for `wired_nodes` to be still this machine's."""
        return self.wiring, self.link_rate, self.pcie, self.crosses_sockets, self.nics, self.nic_rate, self.net


def stage_through_host(facts: Facts, p2p: str = "LOC") -> Facts:
    """Take P2P from the GPUs of a node, so that they exchange data through host memory.

    Args:
        facts: the machine.
        p2p: the worst path type over which some of them may still write to one another.

    Returns:
        The machine without it.

    Raises:
        CollsimError: where the GPUs share no host memory.
    """
    wired_nodes = facts.wired_nodes
    if wired_nodes is not None:
        wired_nodes = replace(wired_nodes, p2p=min(wired_nodes.p2p, p2p, key=LEVELS.index))
    rate = facts.link_rate
    if facts.wiring not in ("pcie", "host"):
        rate = PCIE_GBPS[facts.pcie] * 1e9
    staged = replace(facts, wiring="host", link_rate=rate, wired_nodes=wired_nodes)
    require_shared_host(staged)
    return staged


def require_shared_host(facts: Facts) -> None:
    """Refuse GPUs that would exchange data through host memory that they do not share.

    Args:
        facts: the machine.

    Raises:
        CollsimError: where the GPUs of an NVLink domain are staged through the memory of several hosts.
    """
    if facts.wiring == "host" and facts.hosts > facts.nodes:
        raise CollsimError(
            "without P2P: the {local} GPUs of an NVLink domain sit in {hosts} hosts, which share no memory; NCCL "
            "over the network inside such a domain is not modelled: leave P2P on, or describe its hosts as nodes",
            local=facts.local_ranks,
            hosts=facts.hosts // facts.nodes,
        )


def parse_launch(text: str) -> Launch:
    """Read who launches the kernels from words such as `mpirun, one process per GPU`.

    Args:
        text: free text, for example `one process, -g 8` or `HIP graph (-G 1)`.

    Returns:
        Who launches; "" where the text does not say it.
    """
    words = text.lower()
    if "graph" in words or re.search(r"-G [1-9]", text):
        return "graph"
    if re.search(r"process(es)? per (gpu|rank)|per gpu", words):
        return "process per gpu"
    if re.search(r"one process|single process|process per node|-g \d", words):
        return "one process"
    return ""


def find_gpu(name: str) -> Gpu:
    """Look a GPU up by its name.

    Args:
        name: as people write it, `NVIDIA A100-SXM4-80GB`; the longest known name inside it counts.

    Returns:
        The entry of `GPUS`.

    Raises:
        CollsimError: where the table has no such GPU.
    """
    model = find_model(name)
    if model is None:
        raise CollsimError(describe_unknown("GPU", name, GPUS))
    return GPUS[model.name]


#: Series of cards that are not all in the table: pattern -> compute capability and PCIe generation (NVIDIA: CUDA GPUs
#: list; AMD: data sheets). Cards without NVLink, or whose NVLinks are not mentioned.
_SERIES: tuple[tuple[str, int, int], ...] = (
    (r"radeon|instinct|\bmi\d|gfx|strix|ryzen|\bamd\b", 0, 4),
    (r"rtx\s*50|rtx pro|6000d|blackwell", 120, 5),
    (r"rtx\s*40|\bada\b", 89, 4),
    (r"rtx\s*30|rtx a\d", 86, 4),
    (r"rtx\s*20|\bgtx 16|titan rtx|quadro rtx", 75, 3),
)
#: Compute capability and links by NVLink generation, compute capability by PCIe generation: where a name says nothing.
_BY_NVLINK: dict[int, tuple[int, int]] = {1: (60, 4), 2: (70, 6), 3: (80, 12), 4: (90, 18), 5: (100, 18)}
_BY_PCIE: dict[int, int] = {3: 75, 4: 89, 5: 120, 6: 120}


#: APUs of AMD's, whose boards have slots of four lanes for all but memory: two of them with 100 Gbit/s cards in such
#: slots move 50.6 Gbit/s by RDMA (github.com/kyuz0/amd-strix-halo-vllm-toolboxes rdma_cluster/setup_guide.md).
_APU, _APU_LANES = r"strix|ryzen", 4


def is_known_gpu(name: str) -> bool:
    """Whether the table has a GPU of this name.

    Args:
        name: as people write it.
    """
    return find_model(name) is not None


def guess_gpu(name: str, intra_link: str) -> Gpu:
    """Describe a GPU that the table does not know, from its series and from how it is linked.

    Args:
        name: as people write it.
        intra_link: the links inside its node, `nvlink4-nvswitch` or `pcie5-x16-p2p`: NVLink and PCIe generation.

    Returns:
        A GPU with the compute capability, links and slot of its series or of its generation of links.
    """
    low, text = name.lower(), intra_link.strip().lower()
    series = next(((cc, slot) for pattern, cc, slot in _SERIES if re.search(pattern, low)), None)
    if text.startswith("xgmi"):
        return Gpu(0, 7, 5, "its words")
    nvlink = re.match(r"nvlink(\d)", text)
    # A series known to have no NVLink is not given one by a word of the table.
    if nvlink and int(nvlink[1]) in _BY_NVLINK and (series is None or series[0]):
        generation = int(nvlink[1])
        cc, links = _BY_NVLINK[generation]
        if series is not None:
            cc = series[0]
        return Gpu(cc, links, min(6, max(3, generation + 1)), "its words")
    pcie = re.match(r"pcie(\d)", text)
    slot = 4
    if series is not None:
        slot = series[1]
    if pcie and int(pcie[1]) in PCIE_GBPS:
        slot = int(pcie[1])
    if series is None:
        cc = _BY_PCIE.get(slot, 89)
    else:
        cc = series[0]
    # An APU sits in its socket by fewer lanes than a card has.
    lanes = LANES
    if re.search(_APU, low):
        lanes = _APU_LANES
    return Gpu(cc, 0, slot, "its words", lanes)
