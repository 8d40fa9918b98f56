"""Causes of slow and hanging jobs: what states each of them, and what rules it out.

The rows follow NCCL's troubleshooting documents (docs/userguide: troubleshooting, env, gpu_troubleshooting,
runtime_and_mpi_issues) and public threads of its maintainers; each cause names its own below. A cause that lines state
comes before one that only the times fit, and none is named that a line contradicts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ..package_data import TomlTable, read_toml
from .comparison_causes import (
    find_cable_errors,
    find_late_rank,
    find_losses,
    find_lost_links,
    find_lost_xgmi,
    find_mixed_cards,
    find_slow_cards,
    find_slow_host_links,
)
from .evidence_pieces import Evidence, Fact
from .readers.gpu_bandwidth import PairLatency, PairMatrix
from .readers.gpu_tools import GpuLinks
from .readers.host_tools import PcieLink
from .readers.network_tools import CardPort, CardTest

Find = Callable[[Evidence], tuple[Fact, ...]]
#: The first CUDA whose drivers have multicast (src/transport/nvls.cc, cuMulticastCreate), and the first kernel with
#: DMA-BUF for peers (Documentation of NVIDIA GPUDirect RDMA).
_MULTICAST_CUDA, _DMABUF_KERNEL = 12010, (5, 12)
#: Bytes of /dev/shm in a container by default (docs.docker.com, --shm-size).
_SMALL_SHM = 64 * 2**20
#: So many ranks on other GPUs each are no accident of a scheduler that gives one GPU of each node.
_FEWEST_CONTAINERS = 3
#: A rate below this share of another is not noise: two queue pairs over two ports give twice that of one.
_HALF = 0.65
#: Writes to a peer take less time than staging through the host; where they take so many times as long, they do not
#: get through as they should.
_STUCK = 10


@dataclass(frozen=True)
class CauseRule:
    """How one cause shows.

    Attributes:
        key: of the cause; its texts stand in the catalog `diagnosis` as `KEY.title`, `.check` and `.fix`.
        find: facts that state it; nothing where they do not.
        exclude: facts that rule it out.
        hypothesis: key of the hypothesis of `nccl.explain_gap` that reckons what it costs; "" for none.
        source: where it is published.
        ends_job: the job dies or hangs of it, and is not only slow.
        needs_gap: it is a cause only where the job is slower than predicted; the state is common in healthy machines.
        conclusive: kinds of facts that make it a cause although collectives take no longer than predicted: the job
            waits for something else.
        is_by_design: some machines are so by design; those that give what they can have a limit, and no fault.
    """

    key: str
    find: Find
    exclude: Find
    hypothesis: str = ""
    source: str = ""
    ends_job: bool = False
    needs_gap: bool = False
    conclusive: Sequence[str] = ()
    is_by_design: bool = False


def _select_variables(evidence: Evidence, **values: Sequence[str]) -> tuple[Fact, ...]:
    """Facts of variables that have one of the values named for them; any where none is."""
    return tuple(
        fact
        for fact, (name, value) in evidence.select_values("nccl.variable", tuple)
        if name in values and (not values[name] or value.upper() in values[name])
    )


def _select_transport(evidence: Evidence, *kinds: str) -> tuple[Fact, ...]:
    return tuple(fact for fact in evidence.select("nccl.transport") if fact.value in kinds)


def _select_warnings(evidence: Evidence, *words: str) -> tuple[Fact, ...]:
    """Warnings that have all of the words."""
    warnings = evidence.select_values("nccl.warning", str)
    return tuple(fact for fact, text in warnings if all(word in text for word in words))[:2]


def _find_unused_nvlink(evidence: Evidence) -> tuple[Fact, ...]:
    """Host memory between GPUs that have NVLink, where no line says why."""
    staged = _select_transport(evidence, "SHM")
    if not staged or any(CAUSE_BY_KEY[key].find(evidence) for key in ("p2p_disabled", "p2p_refused")):
        return ()
    rows = [fact for fact, (_, links) in evidence.select_values("topology.row", tuple) if links]
    active = [fact for fact, gpu in evidence.select_values("nvlink.links", GpuLinks) if gpu.active]
    wired = (*rows[:1], *active[:1])
    if not wired:
        return ()
    return (*staged[:1], *wired)


def _find_sockets(evidence: Evidence) -> tuple[Fact, ...]:
    used = (*evidence.select("nccl.network", "Socket")[:1], *_select_transport(evidence, "NET/Socket")[:1])
    if not used or not _is_multi_node(evidence):
        return ()
    reasons = (*evidence.select("nccl.no_rdma_device")[:1], *evidence.select("container.no_rdma_devices")[:1])
    settings = _select_variables(evidence, NCCL_IB_DISABLE=("1",), NCCL_NET=("SOCKET",))
    has_cards = evidence.select("card.port")[:1]
    return (*used, *reasons, *settings[:1], *has_cards)


def _is_multi_node(evidence: Evidence) -> bool:
    counts = evidence.select_values("nccl.ranks", tuple)
    if counts:
        return any(nodes > 1 for _, (_, nodes, _) in counts)
    return len(evidence.list_values("nccl.host")) > 1


def _find_gdr_module(evidence: Evidence) -> tuple[Fact, ...]:
    disabled = evidence.select("nccl.gdr_of_card", False)
    if not disabled or evidence.select("nccl.gdr_of_card", True) or _find_sockets(evidence):
        return ()
    listing = evidence.select("module.listing")
    loaded = {fact.value for fact in evidence.select("module.loaded")}
    if loaded & {"nvidia_peermem", "nv_peer_mem"}:
        listing = ()
    old = [fact for fact, version in evidence.select_values("kernel.version", tuple) if version < _DMABUF_KERNEL]
    return (*disabled[:1], *listing[:1], *old[:1])


def _find_gdr_too_far(evidence: Evidence) -> tuple[Fact, ...]:
    enabled = evidence.select("nccl.gdr_of_card", True)
    refused = evidence.select("nccl.gdr_of_gpu", False)
    set_off = _select_variables(evidence, NCCL_NET_GDR_LEVEL=("LOC", "0"), NCCL_DMABUF_ENABLE=("0",))
    if set_off:
        return set_off[:2]
    if not enabled or not refused:
        return ()
    return (*enabled[:1], *refused[:2])


def _find_acs(evidence: Evidence) -> tuple[Fact, ...]:
    redirected = evidence.select("pcie.acs", True)
    if not redirected:
        return ()
    slow_tests = _find_slow_gpu_tests(evidence)
    return (*redirected[:3], *slow_tests)


def _find_slow_gpu_tests(evidence: Evidence) -> tuple[Fact, ...]:
    """Tests of a card that sends a GPU's memory at far less than the same card sends host memory."""
    tests = evidence.select_values("card.test", CardTest)
    host = {test.device: (fact, test) for fact, test in tests if not test.uses_gpu}
    slow: list[Fact] = []
    for fact, test in tests:
        if test.uses_gpu and test.device in host and test.gbits < _HALF * host[test.device][1].gbits:
            slow += [host[test.device][0], fact]
    return tuple(slow)


def _find_narrow_links(evidence: Evidence) -> tuple[Fact, ...]:
    """Links with fewer lanes than they could have, slower while busy (an idle link sleeps at the lowest speed), or with
    half of the rate of their neighbours."""
    links = evidence.select_values("pcie.link", PcieLink)
    trained = tuple(fact for fact, link in links if link.lanes < link.most_lanes or _is_awake_and_slow(link))[:8]
    slow_cards: tuple[Fact, ...] = ()
    if _find_narrow_cards(evidence):
        slow_cards = find_slow_cards(evidence)
    return (*trained, *find_slow_host_links(evidence), *slow_cards)


def _find_narrow_cards(evidence: Evidence) -> tuple[Fact, ...]:
    """Links of network cards, as lspci names them, with fewer lanes than they could have."""
    links = evidence.select_values("pcie.link", PcieLink)
    return tuple(fact for fact, link in links if link.is_card and link.lanes < link.most_lanes)


def _is_awake_and_slow(link: PcieLink) -> bool:
    """Speeds are GT/s where lspci says them, and generations where nvidia-smi does: 2.5 and 1 are those of a link that
    sleeps, if nothing says that it is busy."""
    is_awake = link.is_busy or link.speed not in (1, 2.5)
    return is_awake and link.speed < link.most_speed


def _find_awake_links(evidence: Evidence) -> tuple[Fact, ...]:
    """Links at full speed while busy."""
    links = evidence.select_values("pcie.link", PcieLink)
    most = {link.device: link.most_speed for _, link in links if link.most_speed}
    if _find_narrow_links(evidence):
        return ()
    return tuple(fact for fact, link in links if link.is_busy and link.speed >= most.get(link.device, math.inf))[:2]


def _find_missing_cards(evidence: Evidence) -> tuple[Fact, ...]:
    """Fewer cards used than are active with the same rate."""
    used = evidence.select_values("nccl.cards", tuple)
    active = [(fact, port) for fact, port in evidence.select_values("card.port", CardPort) if port.state == "Active"]
    if not used or not active:
        return ()
    fact_of_used, names = max(used, key=lambda pair: len(pair[1]))
    fastest = max(port.gbits for _, port in active)
    left_out = [fact for fact, port in active if port.gbits == fastest and port.card not in names]
    if not left_out or not any(port.card in names for _, port in active):
        return ()
    return (fact_of_used, *_select_variables(evidence, NCCL_IB_HCA=())[:1], *left_out[:2])


def _find_down_ports(evidence: Evidence) -> tuple[Fact, ...]:
    """Active ports that NCCL uses, of the same layer as the fastest, at half of its rate or less; else cards that are
    slow in perftest, unless their PCIe links say why."""
    ports = evidence.select_values("card.port", CardPort)
    used = {card for cards in evidence.list_values("nccl.cards") if isinstance(cards, tuple) for card in cards}
    fastest = max((port.gbits for _, port in ports), default=0.0)
    layers = {port.layer for _, port in ports if port.gbits == fastest}
    slow = [
        fact
        for fact, port in ports
        if port.layer in layers and port.state == "Active" and port.card in used and port.gbits <= fastest / 2
    ]
    if slow or _find_narrow_cards(evidence):
        return tuple(slow[:4])
    return find_slow_cards(evidence)


def _find_single_queue_pair(evidence: Evidence) -> tuple[Fact, ...]:
    """A bond whose ports one queue pair cannot fill together, and no variable that asks for more of them."""
    if _select_variables(evidence, NCCL_IB_QPS_PER_CONNECTION=()):
        return ()
    bonds = evidence.select("bond.mode")
    tests = evidence.select_values("card.test", CardTest)
    many = {test.device: (fact, test) for fact, test in tests if test.queue_pairs > 1}
    slow: list[Fact] = []
    for fact, test in tests:
        if test.queue_pairs == 1 and test.device in many and test.gbits < _HALF * many[test.device][1].gbits:
            slow += [fact, many[test.device][0]]
    used = evidence.select_values("nccl.cards", tuple)
    bonded = [fact for fact, cards in used if any("bond" in card for card in cards)]
    if not slow and not (bonds and bonded):
        return ()
    return (*bonded[:1], *bonds[:1], *slow[:2])


def _find_split_domain(evidence: Evidence) -> tuple[Fact, ...]:
    """Processes in other cliques of one NVLink fabric, or NVLink between nodes switched off."""
    off = _select_variables(evidence, NCCL_MNNVL_ENABLE=("0",))
    if off:
        return off[:1]
    for kind in ("nccl.clique", "fabric.clique"):
        facts = evidence.select(kind)
        first = {fact.value: fact for fact in reversed(facts)}
        fabrics = {str(value).split()[0] for value in first}
        if len(first) > 1 and len(fabrics) < len(first):
            logged = evidence.select("nccl.mnnvl", False)[:1]
            return (*list(first.values())[:2], *logged)
    return ()


def _find_nvls_without_driver(evidence: Evidence) -> tuple[Fact, ...]:
    missing = evidence.select("nccl.nvls", False)
    old = [fact for fact, cuda in evidence.select_values("nccl.cuda_driver", int) if cuda < _MULTICAST_CUDA]
    if not missing or not old or not _has_nvls_gpus(evidence):
        return ()
    printed = [fact for fact, cuda in evidence.select_values("driver.cuda", tuple) if cuda < (12, 1)]
    return (*missing[:1], *old[:1], *printed[:1])


def _find_nvls_off(evidence: Evidence) -> tuple[Fact, ...]:
    if not _has_nvls_gpus(evidence) or _find_nvls_without_driver(evidence):
        return ()
    off = _select_variables(evidence, NCCL_NVLS_ENABLE=("0",))
    return (*off[:1], *evidence.select("nccl.nvls", False)[:1], *evidence.select("fabric_manager.state")[:1])


def _has_nvls_gpus(evidence: Evidence) -> bool:
    """Whether GPUs have NVLink SHARP: Hopper and Blackwell of servers."""
    names = " ".join(str(name) for name in evidence.list_values("gpu.name"))
    return any(model in names for model in ("H100", "H200", "H800", "H20", "B200", "B300", "GB200", "GB300"))


def _find_small_shm(evidence: Evidence) -> tuple[Fact, ...]:
    # Until NCCL 2.20 the warning does not say why: posix_fallocate fails where there is no room (src/misc/shmutils.cc).
    warned = _select_warnings(evidence, "/dev/shm", "failed to extend")
    if not warned:
        return ()
    small = [fact for fact, size in evidence.select_values("host.shm_bytes", int) if size <= _SMALL_SHM]
    return (*warned, *small[:1])


def find_isolated_containers(evidence: Evidence) -> tuple[Fact, ...]:
    """Containers of one host that NCCL takes for nodes: more of them than hosts, or with a host name and another GPU of
    the machine each.

    Args:
        evidence: all pieces.
    """
    hosts = len(evidence.list_values("nccl.host"))
    counts = evidence.select_values("nccl.ranks", tuple)
    alone = [(fact, nodes) for fact, (_, nodes, local) in counts if nodes > 1 and local == 1]
    devices = {rank: (fact, device) for fact, (rank, device) in evidence.select_values("nccl.device", tuple)}
    numbers = [device for _, device in devices.values()]
    # On nodes with one GPU each NVML numbers every one of them 0.
    has_each_another = len(numbers) >= _FEWEST_CONTAINERS and len(set(numbers)) == len(numbers)
    lines = [fact for fact, nodes in alone if nodes > hosts > 0 or has_each_another][:1]
    if lines and has_each_another:
        lines += [fact for fact, _ in devices.values()][:2]
    return tuple(lines)


def _find_uneven_ranks(evidence: Evidence) -> tuple[Fact, ...]:
    """Nodes of one communicator with other numbers of ranks than others have."""
    by_size: dict[tuple[int, int], dict[int, Fact]] = {}
    for fact, (ranks, nodes, local) in evidence.select_values("nccl.ranks", tuple):
        if nodes > 1:
            by_size.setdefault((ranks, nodes), {}).setdefault(local, fact)
    return next((tuple(facts.values())[:3] for facts in by_size.values() if len(facts) > 1), ())


#: Interfaces that end on the host: bridges of containers and virtual machines, and the loop.
_VIRTUAL_INTERFACE = re.compile(r"docker\d|virbr\d|br-[0-9a-f]|veth|cni\d|lo$|podman\d|lxcbr\d|lxdbr\d")


def _find_wrong_interface(evidence: Evidence) -> tuple[Fact, ...]:
    """An interface of the host alone, over which processes of several hosts look for one another."""
    bootstraps = evidence.select_values("nccl.bootstrap", str)
    virtual = [fact for fact, name in bootstraps if _VIRTUAL_INTERFACE.match(name) is not None]
    if not virtual or len(evidence.list_values("nccl.host")) < 2:
        return ()
    return (*virtual[:2], *_select_variables(evidence, NCCL_SOCKET_IFNAME=())[:1])


def _find_missing_rank(evidence: Evidence) -> tuple[Fact, ...]:
    """Ranks that began to initialize and did not complete, where others did or none at all was warned of."""
    started = {fact.value: fact for fact in evidence.select("nccl.init_start")}
    completed = {fact.value for fact in evidence.select("nccl.init_complete")}
    if not completed:
        return ()
    return tuple(fact for rank, fact in started.items() if rank not in completed)[:4]


def _select_facts(rows: Sequence[TomlTable], supporting: Sequence[TomlTable], evidence: Evidence) -> tuple[Fact, ...]:
    """Facts that rows of `causes.toml` name, and after them, if there are any, those of the supporting rows."""
    facts = tuple(fact for row in rows for fact in _select_row(row, evidence))
    return facts and (*facts, *_select_facts(supporting, (), evidence))


def _select_row(row: TomlTable, evidence: Evidence) -> tuple[Fact, ...]:
    """Facts of the variables that a row of `causes.toml` names, or of its kind, values and words."""
    if "variables" in row:
        return _select_variables(evidence, **row["variables"])[: row.get("most")]
    facts = [
        fact
        for fact in evidence.select(row["kind"])
        if ("values" not in row or fact.value in row["values"])
        and fact.value not in row.get("other_than", ())
        and all(word in str(fact.value) for word in row.get("words", ()))
    ]
    return tuple(facts[: row.get("most")])


#: What finds the facts of causes that rows of `causes.toml` cannot say.
_FINDERS: dict[str, Find] = {
    "small_shm": _find_small_shm,
    "wrong_interface": _find_wrong_interface,
    "nvlink_unused": _find_unused_nvlink,
    "sockets": _find_sockets,
    "split_domain": _find_split_domain,
    "isolated_containers": find_isolated_containers,
    "mixed_cards": find_mixed_cards,
    "uneven_ranks": _find_uneven_ranks,
    "gdr_module": _find_gdr_module,
    "gdr_refused": _find_gdr_too_far,
    "acs": _find_acs,
    "nvlink_lost": find_lost_links,
    "xgmi_lost": find_lost_xgmi,
    "pcie_link": _find_narrow_links,
    "cards_left_out": _find_missing_cards,
    "slow_port": _find_down_ports,
    "one_queue_pair": _find_single_queue_pair,
    "nvls_driver": _find_nvls_without_driver,
    "nvls_off": _find_nvls_off,
    "bad_cable": find_cable_errors,
    "congestion": find_losses,
    "late_rank": find_late_rank,
    "stuck_rank": _find_missing_rank,
}
_EXCLUDERS: dict[str, Find] = {"pcie_link": _find_awake_links}


def _build_rule(key: str, row: TomlTable) -> CauseRule:
    stating, supporting, excluding = (row.pop(name, ()) for name in ("facts", "supporting", "excluding"))
    find = _FINDERS.get(key) or partial(_select_facts, stating, supporting)
    exclude = _EXCLUDERS.get(key) or partial(_select_facts, excluding, ())
    return CauseRule(key, find, exclude, **row)


#: Causes in the order in which they are looked for; those that end a job come first.
CAUSES = tuple(_build_rule(key, row) for key, row in read_toml(__file__, "causes.toml").items())
CAUSE_BY_KEY = {cause.key: cause for cause in CAUSES}


@dataclass(frozen=True)
class OpenQuestion:
    """Evidence that several causes fit: which, and the facts that say so.

    Attributes:
        key: which question, by which its text is found.
        causes: keys of the causes that fit alike.
        facts: the evidence, with file and line.

    Examples:
        >>> import collsim as cs
        >>> matrix = "   D\\\\D     0      1\\n     0 900.00 {0}\\n     1 {0} 900.00\\n"
        >>> titles = {"Disabled": "20.00", "Enabled": "12.00"}
        >>> log = "".join(
        ...     f"Unidirectional P2P={title} Bandwidth Matrix (GB/s)\\n" + matrix.format(rate)
        ...     for title, rate in titles.items()
        ... )
        >>> (question,) = cs.diagnose({"p2p.txt": log}).questions
        >>> question.key, question.causes  # direct transfers are slower than those through the host
        ('slow_peers', ('acs', 'iommu', 'numa_partitions'))
    """

    key: str
    causes: tuple[str, ...]
    facts: tuple[Fact, ...]


def find_questions(evidence: Evidence) -> tuple[OpenQuestion, ...]:
    """Find what several causes explain as well, so that something further has to be asked.

    Args:
        evidence: all pieces.
    """
    questions = []
    matrices = evidence.select_values("gpu.pairs", PairMatrix)
    enabled = next(((fact, matrix) for fact, matrix in matrices if matrix.enabled), None)
    staged = next(((fact, matrix) for fact, matrix in matrices if not matrix.enabled), None)
    waits = {
        latency.enabled: (fact, latency) for fact, latency in evidence.select_values("gpu.pair_latency", PairLatency)
    }
    slow: tuple[Fact, ...] = ()
    if enabled and staged and enabled[1].median < staged[1].median:
        slow = (enabled[0], staged[0])
    elif len(waits) > 1 and waits[True][1].median > _STUCK * waits[False][1].median:
        slow = (waits[True][0], waits[False][0])
    if slow:
        questions.append(OpenQuestion("slow_peers", ("acs", "iommu", "numa_partitions"), slow))
    by_nodes = evidence.select_values("run.by_nodes", tuple)
    if len(by_nodes) > 2 and by_nodes[-1][1][1] < _HALF * by_nodes[0][1][1]:
        causes = ("congestion", "oversubscription", "slow_node")
        questions.append(OpenQuestion("falls_with_nodes", causes, (by_nodes[0][0], by_nodes[-1][0])))
    return tuple(questions)
