"""The catalogue of machines. Every TOML file here is one; dropping one in, and a sentence about it into the catalogs of
texts, is all that a new machine takes.

`machines()` lists them, `machine(name, nodes=...)` makes a Topology of one.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ...display.catalog import Catalog, Row
from ...dtypes import Ints
from ...errors import CollsimError, Sentence, TopologyError, describe_unknown, format_value, require_word
from ...errors.arguments import check_arguments, check_call
from ...errors.keywords import require_keywords
from ...limits import Extent, require_extent
from ...plugins import load as load_plugins
from ...plugins import register_into
from ...units import parse_count
from ..cables import Nic, apply_rates, find_nic
from ..calibrated import calibrate_links
from ..cluster import ClusterRouter, Policy
from ..fabrics import FABRIC_OPTIONS, Fabric, PathChoice, build_fabric, parse_path_choice
from ..facts import Assumption, Call, TopologyFacts
from ..machine_builder import LEVELS, LOC, P2C, PXB, SYS, Machine
from ..network import DEVICE_KINDS, Cable, Devices, Links, Topology, views
from ..node_names import NodeNames
from ..parts.gpus import find_model, find_nearest_model, label_gpu
from ..parts.refit import refit_machine
from ..rings import find_rings
from .machine_files import list_machine_files, read_machine

#: What `machine` takes where nothing is said.
_DEFAULTS: dict[str, object] = {"nodes": 1, "p2p": True, "gdr": True, "shm": True, "pxn": None, "fabric": "switch"}
_DEFAULTS |= {"routing": "d-mod-k", "hash_seed": 0}
_DEFAULTS |= {"oversubscription": 1, "nic": None, "placement": "node", "rates": "nominal"}


#: By name; of the whole process, as packages are asked once for theirs, whichever thread asks first.
_CATALOGUE: dict[str, Machine] = {}


@check_arguments
@cache
def machines() -> Catalog[Machine]:
    """The machines of the catalogue by name, including those of other installed packages.

    Returns:
        A mapping from names to machines, which prints as a table. A Machine has `title`, `about`, `devices`,
        `connections` (with sources) and `source`.

    Examples:
        >>> import collsim as cs
        >>> cs.machines()["dgx-a100"].title
        'DGX A100'
    """
    for name in list_machine_files():
        _CATALOGUE.setdefault(name, read_machine(name))  # a thread that comes second, or a package, replaces none
    load_plugins("collsim.machines", lambda entry: register_into(_CATALOGUE, lambda: _add(entry())))
    return Catalog(dict(sorted(_CATALOGUE.items())), _describe_machine)


def _describe_machine(machine: Machine) -> Row:
    return {"title": machine.title, "what": machine.about}


def _add(named: object) -> None:
    """Take what a package names: a Machine, a list of them, or a module with `MACHINES`."""
    named = getattr(named, "MACHINES", named)
    for entry in named if isinstance(named, (list, tuple)) else (named,):
        if not isinstance(entry, Machine):
            raise TopologyError("{thing!r} is no Machine; name a Machine or a list of them", thing=entry)
        _CATALOGUE[entry.name] = entry


@check_call
def machine(
    name: str | Machine,
    nodes: int = 1,
    *,
    p2p: bool | str = True,
    gdr: bool | str = True,
    shm: bool = True,
    pxn: bool | None = None,
    fabric: str = "switch",
    oversubscription: float = 1,
    routing: str = "d-mod-k",
    hash_seed: int = 0,
    nic: str | None = None,
    placement: str | list[int] = "node",
    rates: str = "nominal",
    gpu: str | None = None,
    pcie: int | None = None,
    cpu: str | None = None,
    nvlink: int | str | None = None,
    nics: int | str | None = None,
    gpus: int | None = None,
    **options: object,
) -> Topology:
    """`nodes` copies of a machine, joined by a fabric; rank r is GPU r mod g of node r // g, with g GPUs in a node.

    Args:
        name: one of `machines()`, or a Machine of your own.
        nodes: how many of them.
        p2p: GPUDirect P2P. True is NCCL's rule (up to PXB); False stages everything through host memory; or the worst
            path type allowed: `"nvlink"`, `"pix"`, `"pxb"`, `"phb"`, `"sys"` (NCCL_P2P_LEVEL).
        gdr: GPUDirect RDMA, likewise (NCCL_NET_GDR_LEVEL).
        shm: may GPUs of a node without P2P exchange data through host memory? False sends it over the network cards of
            the node (NCCL_SHM_DISABLE=1); those of a single node are then joined by one switch.
        pxn: may a GPU send over NVLink to another GPU that is next to the card? None: yes, as NCCL does.
        fabric: `"switch"` (one for all cards, non-blocking), `"leaf-spine"` (two layers), `"fat-tree"` (three layers),
            `"rail"` (card i of every node of a unit on leaf i, spines above), `"rail-only"` (card i of every node on
            switch i, nothing above), `"planes"` (card i on plane i mod planes), `"torus"` and `"mesh"` (a router for
            each node), `"dragonfly"` (groups of switches, a cable between any two groups).
        oversubscription: ports down / capacity up of a leaf: 1 is non-blocking, 2 is 2:1.
        routing: how a leaf-spine, fat-tree or rail fabric picks among equal routes. `"d-mod-k"`: by the receiving
            port; `"s-mod-k"`: by the sending port; `"static"`: a random table by receiving port; `"ecmp"`: a hash of
            both, for each flow; `"spray"`: the packets of each flow go over all cables, which at the level of flows are
            one trunk.
        hash_seed: of `"ecmp"` and `"static"`: another seed, other routes.
        nic: another network card than the machine's own: `"ib-edr"` to `"ib-xdr"`, `"roce-25"` to `"roce-800"`,
            `"tcp-1"` to `"tcp-400"`, `"efa-100"` to `"efa-400"` (Gbit/s), or `"slingshot"`. Where the
            machine has no cards of that kind it is one card a node; the name then contains `nics=1`.
        placement: `"node"`; `"round-robin"` (rank r on node r mod nodes); or a list: rank r sits where rank list[r]
            would by default. With any but `"node"` simulated rings go in rank order, as MPI's do; predictions of NCCL
            and steps of training order them by node, as NCCL does.
        rates: `"nominal"` or `"effective"` (what is measured, or what NCCL plans with).
        gpu: another GPU than the machine's own, by name: `"H200"`.
        pcie: another generation of its PCIe slots.
        cpu: another generation of processors, for the link between sockets: `"rome"`.
        nvlink: other NVLinks for the same GPUs: `"none"` (PCIe alone), `"bridge"` (GPUs 0-1, 2-3 ...), `"board"` (all
            on NVSwitches, with the NVLinks that the GPU has), or a generation, 1 to 5: that rate for the NVLinks that
            there are, and an NVSwitch board where there are none.
        nics: use so many network cards of each node, those next to a GPU first, spread over switches and sockets; or
            `"all"`. More cards than the machine has go beside its GPUs, up to one for each GPU.
        gpus: use so many GPUs of each node, those with the lowest numbers, and the cards that serve them.
        options: of the fabric. `radix`: ports of a switch (leaf-spine: 40; fat-tree: the smallest that holds all
            cards). `nodes_per_leaf`: of leaf-spine; unless given what half of the radix takes. `unit`: nodes that
            share the leaves of a rail fabric (32). `planes`: their number (2). `dims`: sizes of a torus or mesh
            (nearly square). `ports_per_switch`, `switches`, `cables`: of a dragonfly, cards at a switch (those of one
            node), switches of a group and cables of a switch to other groups (the smallest balanced ones).

    Returns:
        The Topology; its name is the call that makes it.

    Raises:
        TopologyError: for unknown names (with the nearest), levels, options, and sizes that do not fit.

    Examples:
        >>> machine("dgx-a100", nodes=2, gpus=4)
        <Topology dgx-a100(nodes=2, gpus=4): 8 ranks, 35 devices, 92 links>
    """
    known = inspect.signature(machine).parameters
    require_keywords("machine", options, [*(name for name in known if name != "options"), *FABRIC_OPTIONS])
    base = _find_machine(name)
    # A network named by rate alone (`tcp-10`) is one card a node unless the machine has several of that kind.
    if nics is None and not isinstance(name, Machine):
        nics = _count_named_cards(base, nic)
    parts = {"gpu": gpu, "pcie": pcie, "cpu": cpu, "nvlink": nvlink, "nics": nics, "gpus": gpus}
    node = refit_machine(base, gpu=gpu, pcie=pcie, cpu=cpu, nvlink=nvlink, nics=nics, gpus=gpus)
    # Checked before anything is built, so that the message is about the argument and not about what it led to.
    _require_words(pxn, shm, rates)
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}  # a YAML file has lists
    count = _parse_nodes(nodes)
    oversubscription = _parse_ratio(oversubscription)
    card = _find_card(node, nic)
    choice = parse_path_choice(routing, hash_seed)
    net = _build_net(node, count, card, fabric, oversubscription, rates, choice, options)
    policy = replace(_build_policy(node, card, net, p2p, gdr, pxn), shm=bool(shm))
    devices, order = _place_ranks(node, count, placement)
    request: dict[str, object] = {"nodes": count, "p2p": p2p, "gdr": gdr, "shm": shm, "pxn": pxn, "fabric": fabric}
    request |= {"oversubscription": oversubscription, "routing": choice.routing, "hash_seed": choice.seed}
    request |= {"nic": nic, "placement": order, "rates": rates}
    # The name of the topology is the call that makes it, and lists only what differs from the defaults.
    changed = {k: v for k, v in request.items() if v != _DEFAULTS[k]} | options
    other = {k: v for k, v in parts.items() if v is not None}
    arguments = ", ".join(f"{k}={_format_argument(v)}" for k, v in (changed | other).items())
    # `placement` is stored as it was given: "by hand" alone could not be repeated.
    settings = changed if order == "node" else {**changed, "placement": placement}
    router, links = ClusterRouter(node, count, net, policy), _build_links(node, count, net, card, rates)
    assumptions = _list_assumptions(node, gpu, pcie)
    facts = _collect_facts(router, card, base, other, settings, rates, order, assumptions)
    topology = _join_nodes(router, f"({arguments})" if arguments else "", links, devices, facts)
    # Without shared memory NCCL goes over the network cards of the node, which then need a switch between them.
    if shm:
        return topology
    return join_cards(topology)


#: Label of a PCIe cable, with its generation (`cables.build_pcie`).
_PCIE_LABEL = re.compile(r"PCIe (\d)\.0 ")


def _list_assumptions(node: Machine, gpu: str | None, pcie: int | None) -> tuple[Assumption, ...]:
    """What was assumed of a machine with another GPU: that its slots stayed, where the GPU has another generation."""
    labels = [cable.label for *_, cable in node.connections if cable.kind == "pcie"]
    slots = {int(match[1]) for label in labels if (match := _PCIE_LABEL.match(label))}
    if gpu is None or pcie is not None or len(slots) != 1:
        return ()
    (slot,), model = slots, find_model(gpu) or find_nearest_model(gpu)
    if model is None or model.pcie == slot:
        return ()
    reason = (
        f"{node.name} has PCIe {slot}.0 and {label_gpu(gpu)} PCIe {model.pcie}.0",
        f"{node.name} 为 PCIe {slot}.0，{label_gpu(gpu)} 为 PCIe {model.pcie}.0",
    )
    return (Assumption("pcie", f"{slot}.0", reason, (model.pcie,)),)


def _format_argument(value: object) -> str:
    """A value as the call has it; the word `none` in quotes, since without them it is None."""
    if value == "none":
        return "'none'"
    return str(getattr(value, "name", value))


#: Kinds of network that the same cards speak.
_FAMILY = {"ib": "rdma", "roce": "rdma"}


def _count_named_cards(node: Machine, nic: object) -> int | None:
    """Cards of a node where only the rate of its network is named: one, unless the machine has cards of that kind;
    None leaves the machine its own."""
    if not isinstance(nic, str) or not node.of_kind("nic"):
        return None
    kinds = [_FAMILY.get(kind, kind) for kind in (nic.split("-")[0], node.nic.split("-")[0])]
    if kinds[0] == kinds[1]:
        return None
    return 1


def _join_nodes(router: ClusterRouter, arguments: str, links: Links, placement: Ints, facts: TopologyFacts) -> Topology:
    """All nodes as one Topology."""
    orders = None
    if facts.placement == "node":  # rank r sits on GPU r, so that rings may go as they do in a node
        orders = order_rings(router.machine, router.nodes, router)
    return Topology(
        name=f"{router.machine.name}{arguments}",
        ranks=len(placement),
        devices=_build_devices(router.machine, router.nodes, router.fabric),
        links=links,
        endpoint_device=placement,
        router=router,
        shape="machine",
        orders=orders,
        facts=facts,
    )


def join_cards(topology: Topology) -> Topology:
    """Join the network cards of a single node by one switch, as they are where it stands among others.

    Args:
        topology: a machine of one node.

    Returns:
        The machine with the switch and a cable from each card to it; the same object where it has no card, has a fabric
        already, or is no machine.
    """
    node, router, facts = topology.facts.machine, topology.router, topology.facts
    if node is None or not isinstance(router, ClusterRouter) or router.fabric is not None or not node.of_kind("nic"):
        return topology
    card = find_nic(facts.options.get("nic") or node.nic)
    fabric = build_fabric("switch", 1, len(node.of_kind("nic")), apply_rates(card.cable, facts.rates))
    links, built = topology.links, _build_links(node, 1, fabric, card, facts.rates)
    # Their cables to devices of the node are there already; only those to the new switch are appended.
    first = 2 * len(node.connections)  # those of the cards come last
    added = {name: getattr(built, name)[first:] for name in ("src", "dst", "alpha", "bandwidth")}
    cables = (*links.cables, *built.cables)
    columns = {name: np.concatenate([getattr(links, name), column]) for name, column in added.items()}
    cable = np.concatenate([links.cable, built.cable[first:] + np.int32(len(links.cables))])
    return replace(
        topology,
        devices=_build_devices(node, 1, fabric),
        links=Links(**columns, cable=cable, cables=cables),
        router=replace(router, fabric=fabric, legs={}, chosen={}),
    )


def _require_words(pxn: object, shm: object, rates: object) -> None:
    """Check arguments that are one of a few words."""
    if pxn is not None and not isinstance(pxn, bool | np.bool_):
        message = "pxn={pxn} must be True, False, or None for yes"
        raise TopologyError(message, pxn=format_value(pxn))
    if not isinstance(shm, bool | np.bool_):
        raise TopologyError("shm={shm} must be True or False", shm=format_value(shm))
    require_word("rates", rates, ("nominal", "effective"), TopologyError)


def _find_machine(name: object) -> Machine:
    if isinstance(name, Machine):
        return name
    normalized_name = str(name).lower().replace("_", "-")
    if normalized_name in list_machine_files():
        return read_machine(normalized_name)
    known = machines()  # with those of other packages
    if normalized_name not in known:
        raise TopologyError(describe_unknown("machine", normalized_name if isinstance(name, str) else name, known))
    return known[normalized_name]


def _parse_nodes(nodes: object) -> int:
    try:
        return parse_count(nodes, "nodes")
    except CollsimError as error:
        raise TopologyError(error.sentence) from None


def _parse_ratio(oversubscription: object) -> float:
    """A plain number of at least a little above 0; 2.0 is shown as 2."""
    if isinstance(oversubscription, bool) or not isinstance(oversubscription, int | float | np.integer | np.floating):
        message = (
            "oversubscription={oversubscription} must be a number; 2 means that leaves have half the capacity upwards"
        )
        raise TopologyError(message, oversubscription=format_value(oversubscription))
    ratio = float(oversubscription)
    if not 0 < ratio < 1e6:
        message = "oversubscription={oversubscription} must be above 0; 1 is a fabric without a bottleneck"
        raise TopologyError(message, oversubscription=format_value(oversubscription))
    if ratio == int(ratio):
        return int(ratio)
    return ratio


def _find_card(node: Machine, name: str | None) -> Nic | None:
    if not node.of_kind("nic"):
        if name is not None:
            message = "machine {name!r} has no network card, so nic={nic!r} has no place"
            raise TopologyError(message, name=node.name, nic=name)
        return None
    return find_nic(node.nic if name is None else name)


def _build_net(
    node: Machine,
    nodes: int,
    card: Nic | None,
    name: str,
    oversubscription: float,
    rates: str,
    choice: PathChoice,
    options: dict[str, Any],
) -> Fabric | None:
    # The extent is estimated first: arrays of a cluster that does not fit are never made.
    cards = len(node.of_kind("nic"))
    orders = max(1, cards, len(node.paths)) * len(node.ranks)
    extent = Extent(nodes * len(node.devices), 2 * nodes * (len(node.connections) + cards), numbers=nodes * orders)
    require_extent(
        Sentence("{nodes:,} nodes of {name}", nodes=nodes, name=node.name), extent, "use fewer nodes", TopologyError
    )
    if nodes > 1 and card is None:
        message = "machine {name!r} has no network card, so there can be no {nodes} nodes; use nodes=1"
        raise TopologyError(message, name=node.name, nodes=nodes)
    # One node has no fabric, but its options are checked as if it had.
    if card:
        cable = apply_rates(card.cable, rates)
    else:
        cable = Cable("cable", "none", 1.0, 0.0, "no card")
    net = build_fabric(name, nodes, max(1, cards), cable, choice, oversubscription=oversubscription, **options)
    if nodes == 1 or card is None:
        return None
    return replace(net, sharp=card.sharp)


def _parse_level(what: str, level: bool | str, default: int) -> int:
    """A path type from True (the default), False (none) or a name."""
    if isinstance(level, bool | np.bool_):
        if level:
            return default
        return LOC
    words = {"nvlink": "NVL", "off": "LOC", "node": "PHB"}
    name = words.get(str(level).lower(), str(level).upper())
    if name not in LEVELS:
        known = ["nvlink", "nvb", "pix", "pxb", "phb", "sys"]
        message = "{what}={level}: {unknown} (True is NCCL's own rule, False is never)"
        raise TopologyError(
            message, what=what, level=format_value(level), unknown=describe_unknown("level", level, known)
        )
    return LEVELS.index(name)


def _build_policy(
    node: Machine, card: Nic | None, net: Fabric | None, p2p: bool | str, gdr: bool | str, pxn: bool | None
) -> Policy:
    default_level = PXB
    if node.amd_cpu and len(node.of_kind("gpu")) <= 2:
        default_level = SYS
    rdma = _parse_level("gdr", gdr, P2C)
    if not node.gdr or (card is not None and not card.rdma):
        rdma = LOC
    return Policy(_parse_level("p2p", p2p, default_level), rdma, net is not None and pxn is not False)


def _place_ranks(node: Machine, nodes: int, placement: str | list[int]) -> tuple[Ints, str]:
    """Device of each rank, and the placement's name."""
    per = len(node.ranks)
    # Rank r of node m is device r of the node, m machines further.
    default_devices = (np.arange(nodes)[:, None] * len(node.devices) + np.array(node.ranks)).ravel().astype(np.int32)
    if isinstance(placement, str):
        if placement == "node":
            return default_devices, "node"
        if placement == "round-robin":
            return default_devices.reshape(nodes, per).T.ravel().copy(), placement
        raise TopologyError(
            describe_unknown("placement", placement, ["node", "round-robin"]) + Sentence(", or give a list")
        )
    # A list says for each rank whose place it takes; each place is taken once.
    order = np.asarray(placement)
    if order.shape != default_devices.shape or not np.array_equal(np.sort(order), np.arange(len(default_devices))):
        message = "placement must hold each of 0 to {last} once; it has {size} entries"
        raise TopologyError(message, last=len(default_devices) - 1, size=order.size)
    return default_devices[order], "by hand"


def _build_devices(node: Machine, nodes: int, net: Fabric | None) -> Devices:
    switches: tuple[tuple[int, str], ...] = ()
    if net:
        switches = net.switches
    more = sum(count for count, _ in switches)
    kind = np.array([DEVICE_KINDS.index(k) for k in node.kinds], np.int8)
    return Devices(
        NodeNames(node.devices, nodes, switches),
        np.concatenate([np.tile(kind, nodes), np.full(more, DEVICE_KINDS.index("switch"), np.int8)]),
        np.concatenate([np.repeat(np.arange(nodes, dtype=np.int32), len(kind)), np.full(more, -1, np.int32)]),
    )


def _build_links(node: Machine, nodes: int, net: Fabric | None, card: Nic | None, rates: str) -> Links:
    """Columns: each node's cables, then those of its cards, then those between switches; both directions of a cable in
    turn."""
    number = {name: i for i, name in enumerate(node.devices)}
    inside = [apply_rates(cable, rates) for *_, cable in node.connections]
    cables = list(dict.fromkeys(inside))
    local = np.array([(number[a], number[b]) for a, b, _ in node.connections], np.int32).reshape(-1, 2)
    more = 0
    if net is not None and card is not None:
        more = net.ports + len(net.a)
    split = 2 * nodes * len(inside)
    src, dst, kind = (np.empty(split + 2 * more, np.int32) for _ in range(3))
    first = (np.arange(nodes, dtype=np.int32) * np.int32(len(number)))[:, None]
    # Written straight into the columns: a cluster of 16,384 GPUs has millions of links, and copies of them would
    # count.
    np.add(first, local.ravel(), out=src[:split].reshape(nodes, -1))
    np.add(first, local[:, ::-1].ravel(), out=dst[:split].reshape(nodes, -1))
    kind[:split].reshape(nodes, -1)[:] = np.repeat([cables.index(c) for c in inside], 2)
    if net is not None and card is not None:
        # The two directions of a cable stand next to each other: link 2i and link 2i + 1.
        src[split::2], src[split + 1 :: 2] = _find_fabric_ends(node, nodes, net)
        dst[split::2], dst[split + 1 :: 2] = src[split + 1 :: 2], src[split::2]
        makes = [(net.ports, apply_rates(card.cable, rates)), *net.list_uplinks()]
        kind[split:] = len(cables) + np.repeat(np.arange(len(makes)), [2 * count for count, _ in makes])
        cables += [cable for _, cable in makes]
    alpha, rate = (np.array([getattr(c, what) for c in cables]) for what in ("alpha", "bandwidth"))
    return Links(src, dst, alpha[kind], rate[kind], kind, tuple(cables))


def _find_fabric_ends(node: Machine, nodes: int, net: Fabric) -> tuple[Ints, Ints]:
    """Devices at both ends of each of the fabric's cables: the cards' own first, from the card."""
    cards = np.array(node.of_kind("nic"), np.int32)
    first = np.arange(nodes, dtype=np.int32) * np.int32(len(node.devices))
    switch = np.int32(nodes * len(node.devices))
    starts = np.concatenate([(first[:, None] + cards).ravel(), net.a.astype(np.int32) + switch])
    return starts, np.concatenate([net.home, net.b]).astype(np.int32) + switch


def change_parts(topology: Topology, changes: Mapping[str, object]) -> Topology:
    """The machine built again with other arguments of `machine`; edits and a calibration are made again on it.

    Args:
        topology: of a machine.
        changes: keywords of `machine`; None leaves that to the machine's own.

    Raises:
        TopologyError: For a network that is no machine, unknown keywords, and an edit of what is no longer there.
    """
    facts = topology.facts
    if facts.base is None:
        message = (
            "{name} is no machine, so it has no {parts} to change; with_link, scaled and without_link change its links"
        )
        raise TopologyError(message, name=topology.name, parts=", ".join(changes) or "parts")
    # Later arguments win: the changes over the parts over the options of the first call.
    arguments = {**facts.options, **facts.parts, **changes}
    base: str | Machine = facts.base
    # A machine of the catalogue goes by its name, so that the result has the name that the reader knows.
    if machines().get(facts.base.name) == facts.base:
        base = facts.base.name
    build: Callable[..., Topology] = machine  # which checks its arguments
    rebuilt = build(base, **{key: value for key, value in arguments.items() if value is not None})
    before = len(facts.calls)
    if facts.calibration is not None:
        before = facts.calls_before_calibration
    # Edits made before a calibration are part of what was measured; those after it come on top of it.
    rebuilt = _repeat_edits(rebuilt, facts.calls[:before])
    if facts.calibration is not None:
        kinds = {cable.kind for cable in rebuilt.links.cables}
        links = {kind: figures for kind, figures in facts.calibration.links.items() if kind in kinds}
        rebuilt = calibrate_links(rebuilt, replace(facts.calibration, links=links))
    return _keep_file(_repeat_edits(rebuilt, facts.calls[before:]), facts, changes)


def _repeat_edits(topology: Topology, calls: tuple[Call, ...]) -> Topology:
    for name, arguments in calls:
        topology = getattr(topology, name)(**arguments)
    return topology


def _keep_file(topology: Topology, facts: TopologyFacts, changes: Mapping[str, object]) -> Topology:
    """With what a reader said of the file, less what the changes settle."""
    if not facts.file:
        return topology
    reading = facts.reading
    if reading is not None:
        reading = replace(reading, options=tuple({**dict(reading.options), **changes}.items()))
    # An assumption of the reader that the caller has now decided is none any longer.
    settled = {str(assumption) for assumption in facts.assumptions if changes.get(assumption.option) is not None}
    remaining = replace(
        topology.facts,
        file=facts.file,
        notes=tuple(note for note in facts.notes if note not in settled),
        assumptions=tuple(each for each in facts.assumptions if str(each) not in settled),
        reading=reading,
    )
    return replace(topology, facts=remaining)


views["with_parts"] = change_parts


def order_rings(node: Machine, nodes: int, router: ClusterRouter) -> Ints:
    """Order the ranks of a machine's rings.

    Args:
        node: one of the equal nodes.
        nodes: how many of them.
        router: of the machine, which knows the card of each rank.

    Returns:
        (channels, ranks): the order of each channel, each entering a node by another card.
    """
    per = len(node.ranks)
    if nodes == 1:
        return np.array(node.rings or find_rings(node), np.int32)
    paths = np.array(node.paths or _rotate_ring(node, router), np.int32)
    return (np.arange(nodes, dtype=np.int32)[None, :, None] * per + paths[:, None, :]).reshape(len(paths), nodes * per)


def _rotate_ring(node: Machine, router: ClusterRouter) -> list[list[int]]:
    """Neighbours in turn, starting at the first rank of each card that any rank uses."""
    order = list(find_rings(node)[0])
    card = [router.card_of(0, node.ranks[rank]) for rank in order]
    starts = sorted(card.index(c) for c in set(card))
    return [order[start:] + order[:start] for start in starts]


def _collect_facts(
    router: ClusterRouter,
    card: Nic | None,
    base: Machine,
    parts: dict[str, Any],
    options: dict[str, Any],
    rates: str,
    placement: str,
    assumptions: tuple[Assumption, ...],
) -> TopologyFacts:
    node, policy = router.machine, router.policy
    return TopologyFacts(
        machine=node,
        base=base,
        parts=parts,
        options=options,
        nodes=router.nodes,
        nic=card.name if card else "",
        fabric=router.fabric.name if router.fabric else "",
        p2p=LEVELS[policy.p2p],
        gdr=LEVELS[policy.gdr],
        pxn=policy.pxn,
        rates=rates,
        placement=placement,
        dims=node.dims,
        assumptions=assumptions,
    )


__all__ = ["Machine", "join_cards", "machine", "machines"]
