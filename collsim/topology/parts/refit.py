"""A machine with other parts: another GPU, PCIe generation or processor, other NVLinks, fewer GPUs, fewer or more
network cards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...errors import CollsimError, TopologyError
from ...units import parse_count
from ..cables import GA102_SM, build_bridge, build_nvlink, build_pcie
from ..machine_builder import P2C, PHB, PIX, PXB, Machine, MachinePaths
from ..network import Cable
from .gpus import GPUS, find_gpu_name, label_gpu
from .nvlinks import parse_nvlink_part, refit_nvlinks
from .sockets import choose_memory, choose_processor, find_processor

#: The keywords of `machine` and `load_topology` that name parts.
PARTS = ("gpu", "pcie", "cpu", "nvlink", "nics", "gpus")


def refit_machine(
    machine: Machine,
    *,
    gpu: str | None = None,
    pcie: int | str | None = None,
    cpu: str | None = None,
    nvlink: int | str | None = None,
    nics: int | str | None = None,
    gpus: int | str | None = None,
) -> Machine:
    """The machine with the parts that are given; the rest as it is.

    Args:
        machine: the machine.
        gpu: a name in `gpus.GPUS`: compute capability, NVLinks of its generation (as many as there are), P2P and
            GPUDirect as its driver allows; PCIe stays.
        pcie: generation of every slot; another one brings the memory and the socket link of the processors that have
            it.
        cpu: generation of the processors, `processors.toml`, for the link between sockets and the memory of each.
        nvlink: `"none"`, `"bridge"`, `"board"` or a generation, see `nvlinks.refit_nvlinks`.
        nics: use so many cards, those next to a GPU first, spread over switches and sockets; `"all"`. More than there
            are go beside the GPUs.
        gpus: use so many GPUs, those with the lowest numbers, and the cards that serve them.

    Returns:
        Another Machine; `machine` itself where nothing is given.

    Raises:
        TopologyError: for unknown names, more GPUs than there are, more cards than have a slot, and NVLinks on a GPU
            that has none.
    """
    wires = None
    if nvlink is not None:
        wires = parse_nvlink_part(nvlink)
    # The order counts: fewer GPUs first, then other GPUs with their links, then wires of their own.
    if gpus is not None:
        machine = with_gpus(machine, gpus)
    if wires == "none":
        # Without NVLink of the old GPU, which the new one might not have.
        machine = refit_nvlinks(machine, wires)
    if gpu is not None:
        machine = replace(_with_gpu(machine, find_gpu_name(gpu), wires is None), gpu=label_gpu(gpu))
    if wires is not None:
        machine = refit_nvlinks(machine, wires)
    if pcie is not None:
        machine = _with_pcie(machine, pcie)
    if cpu is not None:
        machine = _with_processor(machine, cpu)
    # Cards last: they go beside GPUs and into slots that the steps above have settled.
    if nics is None:
        return machine
    return with_cards(machine, nics)


def _replace_cables(machine: Machine, kind: str, build: Callable[[Cable], Cable]) -> Machine:
    """The machine with every cable of a kind made anew."""
    connections = tuple((a, b, build(cable) if cable.kind == kind else cable) for a, b, cable in machine.connections)
    return replace(machine, connections=connections)


def _with_gpu(machine: Machine, name: str, with_links: bool) -> Machine:
    """The machine with another GPU and, unless its NVLinks are a part of their own, the NVLinks of that GPU."""
    if not machine.of_kind("gpu"):
        raise TopologyError("machine {name!r} has no GPU, so gpu={gpu!r} has no place", name=machine.name, gpu=name)
    model = GPUS[name]

    def links(cable: Cable) -> Cable:
        if not model.nvlink:
            message = "gpu={name!r} has no NVLink, but {plan_name!r} has; give a GPU with NVLinks"
            raise TopologyError(message, name=name, plan_name=machine.name)
        if model.sm == GA102_SM:
            return build_bridge(cable.width)
        return build_nvlink(model.nvlink, cable.width)

    # Links of the node stay as many as they are; only their generation follows the GPU.
    refitted = machine
    if with_links:
        refitted = _replace_cables(machine, "nvlink", links)
    return replace(refitted, sm=model.sm, p2p_over_pcie=model.p2p, gdr=model.gdr)


def _with_pcie(machine: Machine, generation: int | str) -> Machine:
    try:
        number = parse_count(generation, "pcie")
    except CollsimError as error:
        raise TopologyError(error.sentence) from None
    slots = _replace_cables(machine, "pcie", lambda cable: build_pcie(number, cable.width or 16))
    if slots.connections == machine.connections:
        return machine
    # What host memory carries was measured on servers of eight channels (`LinkParameters.host_memory`), so that the
    # memory is that of the usual server whoever makes its processors.
    linked = _replace_cables(slots, "upi", lambda _: find_processor(choose_processor(number, machine.amd_cpu)).link)
    return _replace_cables(linked, "memory", lambda _: choose_memory(number))


def _with_processor(machine: Machine, name: str) -> Machine:
    """The machine with other processors: the link between sockets, and the memory of each."""
    processor = find_processor(name)
    linked = _replace_cables(machine, "upi", lambda _: processor.link)
    return _replace_cables(replace(linked, amd_cpu=processor.is_amd), "memory", lambda _: processor.dram)


def list_gpu_cards(machine: Machine) -> list[str]:
    """Network cards within PXB (on Grace P2C) of a GPU, as NCCL wants them for GPUDirect RDMA."""
    return [name for name, worst in _measure_distances(machine).items() if worst <= P2C]


def _measure_distances(machine: Machine) -> dict[str, int]:
    """Path type from each card to the GPU nearest to it."""
    paths, gpus, none = MachinePaths(machine), machine.of_kind("gpu"), len(machine.devices)
    types_of_card = {
        card: [path.type for g in gpus if (path := paths.best(g, card))] for card in machine.of_kind("nic")
    }
    return {machine.devices[card]: min(types, default=none) for card, types in types_of_card.items()}


def list_training_cards(machine: Machine) -> list[str]:
    """The cards that training uses where nobody says: those beside a GPU; all where none is, and on CPUs."""
    return list_gpu_cards(machine) or [machine.devices[card] for card in machine.of_kind("nic")]


def with_cards(machine: Machine, nics: int | str) -> Machine:
    """The machine with so many cards, the nearest to a GPU first, spread over switches and sockets; or with `"all"`.

    More cards than there are go to the PCIe switches or sockets that GPUs are at, the one with the fewest first, until
    each of them has as many cards as GPUs: the densest boxes that are sold have a card for each GPU.

    Args:
        machine: one node.
        nics: their number, or `"all"`.

    Raises:
        TopologyError: For more than there are slots.
    """
    there = [machine.devices[card] for card in machine.of_kind("nic")]
    if isinstance(nics, str) and nics == "all":
        return machine
    try:
        count = parse_count(nics, "nics")
    except CollsimError as error:
        raise TopologyError("{error}, or 'all'", error=error) from None
    if count > len(there):
        return _add_cards(machine, count)
    chosen = _spread_cards(machine, count)
    return remove_devices(machine, [name for name in there if name not in chosen])


def _add_cards(machine: Machine, count: int) -> Machine:
    """The machine with new cards beside its GPUs, each with a cable like that of a card that is there."""
    there = machine.of_kind("nic")
    free = _count_slots(machine)
    if not there or count > len(there) + sum(free.values()):
        message = "nics={count}: {name!r} has {there} network cards and {slots} free slots beside its GPUs; use fewer"
        slots = sum(free.values()) * bool(there)
        raise TopologyError(message, count=count, name=machine.name, there=len(there), slots=slots)
    cards = {machine.devices[card] for card in there}
    # A new card gets a cable like that of a card which is there: slots of one machine are alike.
    slot = next(cable for a, b, cable in machine.connections if cards & {a, b})
    first = 1 + max(int(name.removeprefix("nic") or 0) for name in cards)
    connections, devices = list(machine.connections), list(machine.devices)
    for number in range(first, first + count - len(there)):
        host = max(free, key=lambda name: free[name])  # the first of those with the most free slots
        free[host] -= 1
        devices.append(f"nic{number}")
        connections.append((f"nic{number}", host, slot))
    # Rings and paths of the file were for the old cards; they are searched anew.
    return replace(machine, devices=tuple(devices), connections=tuple(connections), rings=(), paths=())


def _count_slots(machine: Machine) -> dict[str, int]:
    """Cards that may be added at each PCIe switch or socket of GPUs, until it has as many as GPUs."""
    counts: dict[str, list[int]] = {}
    for a, b, cable in machine.connections:
        for device, host in ((a, b), (b, a)):
            kind = device.rstrip("0123456789")
            if kind in ("gpu", "nic") and cable.kind in ("pcie", "c2c"):
                counts.setdefault(host, [0, 0])[kind == "nic"] += 1
    return {host: gpus - cards for host, (gpus, cards) in counts.items() if gpus > cards}


def _spread_cards(machine: Machine, count: int) -> set[str]:
    """The cards nearest to a GPU, no two at one switch or socket before each has one: a box that is sold with fewer
    cards has them so, and NCCL's channels can then reach all of them."""
    paths, distances = MachinePaths(machine), _measure_distances(machine)
    remaining, chosen = machine.of_kind("nic"), list[int]()

    def rank_card(card: int) -> tuple[int, ...]:
        types = [path.type for other in chosen if (path := paths.best(card, other))]
        crowd = [sum(type <= level for type in types) for level in (PIX, PXB, PHB)]
        return distances[machine.devices[card]], *crowd

    while len(chosen) < count:
        chosen.append(min(remaining, key=rank_card))
        remaining.remove(chosen[-1])
    return {machine.devices[card] for card in chosen}


def with_gpus(machine: Machine, gpus: int | str) -> Machine:
    """The machine with its first GPUs only, as CUDA_VISIBLE_DEVICES leaves them to a job.

    Ring orders are found anew on the NVLinks that remain. A card goes with the GPUs that are the nearest to it (path
    type, bandwidth, links), as NCCL would use it for none of the others.

    Args:
        machine: the machine.
        gpus: how many.

    Returns:
        The smaller Machine; `machine` itself with all of its GPUs.

    Raises:
        TopologyError: for more GPUs than there are, and for a torus of TPUs, which has one fixed size.

    Examples:
        >>> from collsim.topology.machines import machines
        >>> with_gpus(machines()["dgx-a100"], 4)
        <Machine dgx-a100: 4 ranks, 17 devices, 19 cables>
    """
    devices = machine.of_kind("gpu")
    try:
        count = parse_count(gpus, "gpus")
    except CollsimError as error:
        raise TopologyError(error.sentence) from None
    if not devices or machine.dims:
        raise TopologyError(
            "machine {name!r} comes in one size; leave out gpus={count}", name=machine.name, count=count
        )
    if count > len(devices):
        message = "gpus={count}: {name!r} has {available} GPUs; use at most so many, and nodes= for more of them"
        raise TopologyError(message, count=count, name=machine.name, available=len(devices))
    if count == len(devices):
        return machine
    paths, unused = MachinePaths(machine), set(devices[count:])
    unused_cards = [
        # A card goes with its GPUs: NCCL would use it for none of the others.
        card
        for card in machine.of_kind("nic")
        if (near := _nearest_gpus(paths, devices, card)) and near <= unused
    ]
    smaller = remove_devices(machine, [machine.devices[device] for device in (*unused, *unused_cards)])
    return replace(smaller, rings=(), paths=())


def _nearest_gpus(paths: MachinePaths, gpus: list[int], card: int) -> set[int]:
    """The GPUs from which a card is reached by the best path."""
    costs = {
        gpu: (path.type, -path.bandwidth, len(path.links))
        for gpu in gpus
        if (path := paths.best(gpu, card)) is not None
    }
    best = min(costs.values(), default=None)
    return {gpu for gpu, cost in costs.items() if cost == best}


def remove_devices(machine: Machine, names: list[str]) -> Machine:
    """The machine without some of its devices, and their cables.

    Args:
        machine: one node.
        names: of local devices, `"nic3"`.
    """
    remaining = tuple(name for name in machine.devices if name not in names)
    number = {machine.devices.index(name): i for i, name in enumerate(remaining)}
    connections = tuple(
        connection for connection in machine.connections if not {connection[0], connection[1]} & set(names)
    )
    words = {(number[a], number[b]): word for (a, b), word in machine.words.items() if a in number and b in number}
    return replace(machine, devices=remaining, connections=connections, words=words)
