"""A machine with other NVLinks: none, those of another generation, bridges between neighbours, or an NVSwitch board."""

from __future__ import annotations

from dataclasses import replace

from ...errors import CollsimError, TopologyError, require_word
from ...units import parse_count
from ..cables import GA102_SM, build_bridge, build_nvlink
from ..machine_builder import Machine, find_kind
from ..network import Cable
from .gpus import GpuModel, find_model

#: NVLinks of the GPU modules of a generation: P100, V100, A100, H100, B200 (rows of `gpus.csv`).
LINKS_OF_GENERATION = {1: 4, 2: 6, 3: 12, 4: 18, 5: 18}
#: The words of `nvlink=`, beside a generation.
NVLINK_WORDS = ("none", "bridge", "board")
#: The fewest NVLinks of a GPU that is sold on a board with NVSwitches (V100 of a DGX-2).
_MIN_LINKS_OF_BOARD = 6
#: NVLinks of the three bridges of an A100 or H100 PCIe (NVIDIA's data sheets: 600 GB/s both ways).
_MAX_LINKS_OF_BRIDGE = 12


def parse_nvlink_part(value: object) -> str | int:
    """Read `nvlink=` of a machine.

    Args:
        value: A generation, or one of `NVLINK_WORDS`.

    Returns:
        The generation as a number, or the word.

    Raises:
        TopologyError: For any other value.
    """
    if isinstance(value, str) and not value.strip().isdigit():
        return require_word("value of nvlink", value.strip().lower(), NVLINK_WORDS, TopologyError)
    try:
        generation = parse_count(value, "nvlink")
    except CollsimError as error:
        raise TopologyError(error.sentence) from None
    if generation not in LINKS_OF_GENERATION:
        message = "NVLink generation {generation!r} is unknown; known: {known}, or {words}"
        known = ", ".join(map(str, LINKS_OF_GENERATION))
        raise TopologyError(message, generation=generation, known=known, words=", ".join(NVLINK_WORDS))
    return generation


def refit_nvlinks(machine: Machine, nvlink: str | int) -> Machine:
    """The machine with other NVLinks; its GPUs compute as they did.

    Args:
        machine: one node.
        nvlink: what `parse_nvlink_part` returns. `"none"` leaves PCIe alone; `"bridge"` joins GPUs 0-1, 2-3 and so on;
            `"board"` joins all GPUs by NVSwitches, with the NVLinks that the GPU has. A generation gives the NVLinks
            that there are its rate, and a machine without any a board of that generation, whatever its GPU is sold
            with: the same GPUs with other wires.

    Raises:
        TopologyError: Where there is no GPU of NVIDIA's, or the GPU is not sold so.
    """
    if nvlink == "none":
        return _remove_nvlinks(machine)
    model = find_model(machine.gpu)
    if not machine.of_kind("gpu") or (model is not None and model.is_amd):
        message = "machine {name!r} has no GPU of NVIDIA's, so nvlink={nvlink!r} has no place"
        raise TopologyError(message, name=machine.name, nvlink=nvlink)
    # A generation alone is a thought experiment: other wires for the same GPUs, whether they are sold so or not.
    if isinstance(nvlink, int):
        if any(cable.kind == "nvlink" for *_, cable in machine.connections):
            return _replace_generation(machine, nvlink)
        return _join_by_switch(machine, build_nvlink(nvlink, LINKS_OF_GENERATION[nvlink]))
    # "bridge" and "board" are products, and only GPUs that have them get them.
    if model is None or not model.links:
        message = "nvlink={nvlink!r}: {gpu} is not sold with NVLink; a generation gives it some all the same: nvlink=4"
        raise TopologyError(message, nvlink=nvlink, gpu=machine.gpu or "the GPU")
    if nvlink == "bridge":
        return _bridge_pairs(machine, model)
    if model.links < _MIN_LINKS_OF_BOARD:
        message = "nvlink='board': {gpu} is on no board with NVSwitches; 'bridge' joins it to its neighbour"
        raise TopologyError(message, gpu=model.name)
    return _join_by_switch(machine, build_nvlink(model.nvlink, model.links))


def _remove_nvlinks(machine: Machine) -> Machine:
    """The machine on PCIe alone; itself where there are no NVLinks."""
    connections = tuple(connection for connection in machine.connections if connection[2].kind != "nvlink")
    if len(connections) == len(machine.connections):
        return machine
    names = [name for name in machine.devices if not name.startswith("nvswitch")]
    # Devices are renumbered without the switches, and the words of `nvidia-smi` go with their numbers.
    number = {machine.devices.index(name): i for i, name in enumerate(names)}
    gpus = set(machine.of_kind("gpu"))
    words = {
        (number[a], number[b]): word
        for (a, b), word in machine.words.items()
        if a in number and b in number and not {a, b} <= gpus
    }
    return replace(
        machine, devices=tuple(names), connections=connections, words=words, rings=(), paths=(), nvswitches=0
    )


def _join_by_switch(machine: Machine, cable: Cable) -> Machine:
    bare = _remove_nvlinks(machine)
    links = tuple((bare.devices[gpu], "nvswitch", cable) for gpu in bare.of_kind("gpu"))
    return replace(bare, devices=(*bare.devices, "nvswitch"), connections=(*links, *bare.connections))


def _bridge_pairs(machine: Machine, model: GpuModel) -> Machine:
    bare = _remove_nvlinks(machine)
    gpus = [bare.devices[gpu] for gpu in bare.of_kind("gpu")]
    if model.sm == GA102_SM:
        cable = build_bridge(model.links)
    else:
        cable = build_nvlink(model.nvlink, min(model.links, _MAX_LINKS_OF_BRIDGE))
    links = tuple((a, b, cable) for a, b in zip(gpus[::2], gpus[1::2], strict=False))
    return replace(bare, connections=(*links, *bare.connections))


def _replace_generation(machine: Machine, generation: int) -> Machine:
    """The same wiring with NVLinks of another generation; a GPU at a switch has as many as its generation gives it."""

    def renew(a: str, b: str, cable: Cable) -> Cable:
        if cable.kind != "nvlink":
            return cable
        if find_kind(a) == "nvswitch" or find_kind(b) == "nvswitch":
            return build_nvlink(generation, LINKS_OF_GENERATION[generation])
        return build_nvlink(generation, cable.width)

    return replace(machine, connections=tuple((a, b, renew(a, b, cable)) for a, b, cable in machine.connections))
