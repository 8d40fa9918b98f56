"""NVLinks of files that leave them out: clouds' topology files hold processors and PCIe only, as NCCL adds NVLink by
itself, and `nvidia-smi topo -mp` hides it. They are completed from the catalogue, by the bus ids of the GPUs, by
their model and number, or by what `gpu=` says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from ...errors import CollsimError, FormatError
from ...package_data import read_csv
from ..cables import build_nvlink
from ..machine_builder import Machine
from ..machines import machines
from ..parts.gpus import GPUS
from ..parts.nvlinks import parse_nvlink_part

#: GPUs of the usual NVSwitch board, and the compute capability times ten from which a board has one.
_BOARD, _MIN_SM = 8, 80


@dataclass(frozen=True)
class Board:
    """What completes a file.

    Attributes:
        label: what it is, for a sentence.
        machine: the machine of the catalogue, whose NVLinks and card are taken; None for the usual NVSwitch board.
        gpu: name of the GPU in `gpus.GPUS`.
    """

    label: str
    machine: Machine | None
    gpu: str


def parse_nvlink(value: object) -> str:
    """Read `nvlink=` as far as it says what a file leaves out.

    Args:
        value: What `machine` takes, or None.

    Returns:
        "board" for the usual board whatever the text looks like; "none" for all that `machine` does itself, so that
        nothing is completed before; "" where nothing is given.

    Raises:
        FormatError: For a value that `machine` does not know.
    """
    if value is None:
        return ""
    try:
        word = parse_nvlink_part(value)
    except CollsimError as error:
        raise FormatError(error.sentence) from None
    if word == "board":
        return "board"
    return "none"


@cache
def _read_rows(name: str) -> tuple[dict[str, str], ...]:
    return tuple(read_csv(__file__, name))


def find_board_by_bus(bus_ids: Iterable[str]) -> Board | None:
    """Find a cloud's machine by the bus ids of its GPUs.

    Args:
        bus_ids: of all GPUs of a file.

    Returns:
        The board; None where no machine of the catalogue has them.
    """
    present = set(bus_ids)
    for row in _read_rows("boards.csv"):
        if set(row["gpus"].split()) == present:
            machine = machines()[row["machine"]]
            return Board(machine.name, machine, machine.gpu)
    return None


def find_module(device_ids: Iterable[str]) -> str:
    """Find the GPU module of PCI device ids (pci-ids.ucw.cz); cards that may have a bridge are none.

    Args:
        device_ids: of all GPUs of a file.

    Returns:
        Its name in `gpus.GPUS`; "" where they are several, or no module.
    """
    present = {device.lower() for device in device_ids}
    modules = {row["device"]: row["gpu"] for row in _read_rows("modules.csv")}
    names = {modules.get(device, "") for device in present}
    if len(names) == 1:
        return names.pop()
    return ""


def find_board(gpu: str, count: int) -> Board | None:
    """Find the board on which so many GPUs of a model are sold.

    Args:
        gpu: its name in `gpus.GPUS`.
        count: GPUs of a node.

    Returns:
        The board; None where the model has no NVLink, or none is known with this number.
    """
    model = GPUS[gpu]
    for machine in machines().values():
        has_links = any(cable.kind == "nvlink" for *_, cable in machine.connections)
        if machine.gpu == gpu and len(machine.of_kind("gpu")) == count and has_links:
            return Board(machine.name, machine, gpu)
    if count == _BOARD and model.nvlink and model.sm >= _MIN_SM and model.links >= _BOARD:
        return Board("an NVSwitch board", None, gpu)
    return None


def add_nvlinks(machine: Machine, board: Board) -> Machine:
    """Add the NVLinks of a board to a machine with as many GPUs.

    Args:
        machine: the machine without them.
        board: of `find_board` or `find_board_by_bus`.

    Returns:
        The machine with them.
    """
    model = GPUS[board.gpu]
    # A board that no machine of the catalogue has is the common one: every GPU with all links to one NVSwitch.
    if board.machine is None:
        connections = tuple(
            (machine.devices[g], "nvswitch", build_nvlink(model.nvlink, model.links)) for g in machine.of_kind("gpu")
        )
    else:
        connections = tuple(connection for connection in board.machine.connections if connection[2].kind == "nvlink")
    ends = {name for a, b, _ in connections for name in (a, b)}
    devices = (*machine.devices, *sorted(ends - set(machine.devices)))
    rings = machine.rings
    if board.machine is not None:
        rings = board.machine.rings
    return replace(
        machine,
        devices=devices,
        connections=(*connections, *machine.connections),
        gpu=board.gpu,
        sm=model.sm,
        rings=rings,
    )
