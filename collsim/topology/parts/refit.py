"""A machine with other parts: another GPU, PCIe generation or processor, fewer GPUs or network cards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...errors import CollsimError, TopologyError
from ...units import parse_count
from ..cables import GA102_SM, build_nvlink, build_pcie, nvlink_bridge
from ..network import Cable
from ..plan import P2C, PHB, PIX, PXB, Machine, MachinePaths
from .gpus import GPUS, find_gpu_name, label_gpu
from .sockets import build_socket_cable, choose_memory, find_processor

#: The keywords of `machine` and `load_topology` that name parts.
PARTS = ("gpu", "pcie", "cpu", "nics", "gpus")


def refit_machine(
    plan: Machine,
    *,
    gpu: str | None = None,
    pcie: int | str | None = None,
    cpu: str | None = None,
    nics: int | str | None = None,
    gpus: int | str | None = None,
) -> Machine:
    """The machine with the parts that are given; the rest as it is.

    Args:
        plan: the machine.
        gpu: a name in `gpus.GPUS`: compute capability, NVLinks of its generation (as many as there are), P2P and
            GPUDirect as its driver allows; PCIe stays.
        pcie: generation of every slot; another one brings the memory of the processors that have it.
        cpu: generation of the processors, `sockets.PROCESSORS`, for the link between sockets and the memory of each.
        nics: use so many cards, those next to a GPU first, spread over switches and sockets; `"all"`.
        gpus: use so many GPUs, those with the lowest numbers, and the cards that serve them.

    Returns:
        Another Machine; `plan` itself where nothing is given.

    Raises:
        TopologyError: for unknown names, more cards or GPUs than there are, and NVLinks on a GPU that has none.
    """
    if gpus is not None:
        plan = with_gpus(plan, gpus)
    if gpu is not None:
        plan = replace(_with_gpu(plan, find_gpu_name(gpu)), gpu=label_gpu(gpu))
    if pcie is not None:
        plan = _with_pcie(plan, pcie)
    if cpu is not None:
        plan = replace(
            _replace_cables(plan, "upi", lambda _: build_socket_cable(cpu)), amd_cpu=find_processor(cpu).is_amd
        )
        plan = _replace_cables(plan, "memory", lambda _: find_processor(cpu).dram)
    if nics is None:
        return plan
    return with_cards(plan, nics)


def _replace_cables(plan: Machine, kind: str, build: Callable[[Cable], Cable]) -> Machine:
    """The machine with every cable of a kind made anew."""
    joints = tuple((a, b, build(cable) if cable.kind == kind else cable) for a, b, cable in plan.joints)
    return replace(plan, joints=joints)


def _with_gpu(plan: Machine, name: str) -> Machine:
    if not plan.of_kind("gpu"):
        raise TopologyError("machine {name!r} has no GPU, so gpu={gpu!r} has no place", name=plan.name, gpu=name)
    model = GPUS[name]

    def links(cable: Cable) -> Cable:
        if not model.nvlink:
            message = "gpu={name!r} has no NVLink, but {plan_name!r} has; give a GPU with NVLinks"
            raise TopologyError(message, name=name, plan_name=plan.name)
        if model.sm == GA102_SM:
            return nvlink_bridge(cable.width)
        return build_nvlink(model.nvlink, cable.width)

    refitted = _replace_cables(plan, "nvlink", links)
    return replace(refitted, sm=model.sm, p2p_over_pcie=model.p2p, gdr=model.gdr)


def _with_pcie(plan: Machine, generation: int | str) -> Machine:
    try:
        number = parse_count(generation, "pcie")
    except CollsimError as error:
        raise TopologyError(error.sentence) from None
    slots = _replace_cables(plan, "pcie", lambda cable: build_pcie(number, cable.width or 16))
    if slots.joints == plan.joints:
        return plan
    return _replace_cables(slots, "memory", lambda _: choose_memory(number))


def list_gpu_cards(plan: Machine) -> list[str]:
    """Network cards within PXB (on Grace P2C) of a GPU, as NCCL wants them for GPUDirect RDMA."""
    return [name for name, worst in _measure_distances(plan).items() if worst <= P2C]


def _measure_distances(plan: Machine) -> dict[str, int]:
    """Path type from each card to the GPU nearest to it."""
    paths, gpus, none = MachinePaths(plan), plan.of_kind("gpu"), len(plan.devices)
    types_of_card = {card: [path.type for g in gpus if (path := paths.best(g, card))] for card in plan.of_kind("nic")}
    return {plan.devices[card]: min(types, default=none) for card, types in types_of_card.items()}


def list_training_cards(plan: Machine) -> list[str]:
    """The cards that training uses where nobody says: those beside a GPU; all where none is, and on CPUs."""
    return list_gpu_cards(plan) or [plan.devices[card] for card in plan.of_kind("nic")]


def with_cards(plan: Machine, nics: int | str) -> Machine:
    """The machine with so many cards, the nearest to a GPU first, spread over switches and sockets; or with `"all"`.

    Args:
        plan: one node.
        nics: their number, or `"all"`.

    Raises:
        TopologyError: For more than there are.
    """
    there = [plan.devices[card] for card in plan.of_kind("nic")]
    if nics == "all":
        return plan
    try:
        count = parse_count(nics, "nics")
    except CollsimError as error:
        raise TopologyError("{error}, or 'all'", error=error) from None
    if count > len(there):
        message = "nics={count}: {name!r} has {there} network cards; use at most so many"
        raise TopologyError(message, count=count, name=plan.name, there=len(there))
    kept = _spread_cards(plan, count)
    return remove_devices(plan, [name for name in there if name not in kept])


def _spread_cards(plan: Machine, count: int) -> set[str]:
    """The cards nearest to a GPU, no two at one switch or socket before each has one: a box that is sold with fewer
    cards has them so, and NCCL's channels can then reach all of them."""
    paths, distances = MachinePaths(plan), _measure_distances(plan)
    remaining, kept = plan.of_kind("nic"), list[int]()

    def rank_card(card: int) -> tuple[int, ...]:
        types = [path.type for other in kept if (path := paths.best(card, other))]
        crowd = [sum(type <= level for type in types) for level in (PIX, PXB, PHB)]
        return distances[plan.devices[card]], *crowd

    while len(kept) < count:
        kept.append(min(remaining, key=rank_card))
        remaining.remove(kept[-1])
    return {plan.devices[card] for card in kept}


def with_gpus(plan: Machine, gpus: int | str) -> Machine:
    """The machine with its first GPUs only, as CUDA_VISIBLE_DEVICES leaves them to a job.

    Ring orders are found anew on the NVLinks that remain. A card goes with the GPUs that are the nearest to it (path
    type, bandwidth, links), as NCCL would use it for none of the others.

    Args:
        plan: the machine.
        gpus: how many.

    Returns:
        The smaller Machine; `plan` itself with all of its GPUs.

    Raises:
        TopologyError: for more GPUs than there are, and for a torus of TPUs, which has one fixed size.

    Examples:
        >>> from collsim.topology.machines import machines
        >>> with_gpus(machines()["dgx-a100"], 4)
        <Machine dgx-a100: 4 ranks, 17 devices, 19 cables>
    """
    devices = plan.of_kind("gpu")
    try:
        count = parse_count(gpus, "gpus")
    except CollsimError as error:
        raise TopologyError(error.sentence) from None
    if not devices or plan.dims:
        raise TopologyError("machine {name!r} comes in one size; leave out gpus={count}", name=plan.name, count=count)
    if count > len(devices):
        message = "gpus={count}: {name!r} has {available} GPUs; use at most so many, and nodes= for more of them"
        raise TopologyError(message, count=count, name=plan.name, available=len(devices))
    if count == len(devices):
        return plan
    paths, unused = MachinePaths(plan), set(devices[count:])
    unused_cards = [
        card for card in plan.of_kind("nic") if (near := _nearest_gpus(paths, devices, card)) and near <= unused
    ]
    smaller = remove_devices(plan, [plan.devices[device] for device in (*unused, *unused_cards)])
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


def remove_devices(plan: Machine, names: list[str]) -> Machine:
    """The machine without some of its devices, and their cables.

    Args:
        plan: one node.
        names: of local devices, `"nic3"`.
    """
    remaining = tuple(name for name in plan.devices if name not in names)
    number = {plan.devices.index(name): i for i, name in enumerate(remaining)}
    joints = tuple(joint for joint in plan.joints if not {joint[0], joint[1]} & set(names))
    words = {(number[a], number[b]): word for (a, b), word in plan.words.items() if a in number and b in number}
    return replace(plan, devices=remaining, joints=joints, words=words)
