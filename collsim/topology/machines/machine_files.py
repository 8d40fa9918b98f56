"""The machines of the catalogue, a file each: `dgx-a100.toml` is `dgx-a100`.

The keys are those of a machine in collsim's YAML (docs/machines.md); the format is TOML, which Python reads without
another package. Wiring is written shorter: `gpu0..7` are eight devices, `gpu0..6 by 2` every second of them, and a
cable is a `part` with the arguments of its builder, so that its rates and their sources stand in `cables.toml` alone.
What a machine is stands in the catalogs of texts, `machines/catalogue.json`; so does a title with words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from ...locale import translate
from ...package_data import read_toml
from ..cables import (
    build_bridge,
    build_c2c,
    build_grace_link,
    build_ici,
    build_memory,
    build_nvlink,
    build_pcie,
    build_xgmi,
)
from ..machine_builder import Machine, MachineBuilder
from ..network import Cable
from ..parts.sockets import build_socket_cable
from .torus import list_torus_links, order_snake

#: The builders that a cable's `part` names; its other keys are their arguments.
PARTS: Final[Mapping[str, Callable[..., Cable]]] = MappingProxyType(
    {
        "bridge": build_bridge,
        "c2c": build_c2c,
        "grace": build_grace_link,
        "ici": build_ici,
        "memory": build_memory,
        "nvlink": build_nvlink,
        "pcie": build_pcie,
        "sockets": build_socket_cable,
        "xgmi": build_xgmi,
    }
)
_RANGE = re.compile(r"([a-z]+)(\d+)\.\.(\d+)(?: by (\d+))?")


@cache
def list_machine_files() -> tuple[str, ...]:
    """List the names of the machines that have a file, in order."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.toml")))


@cache
def read_machine(name: str) -> Machine:
    """Read the machine of a file.

    Args:
        name: one of `list_machine_files()`.
    """
    facts = read_toml(__file__, f"{name}.toml")
    cables = {label: PARTS[part.pop("part")](**part) for label, part in facts.pop("cables").items()}
    builder = MachineBuilder()
    builder.add(*(device for row in facts.pop("devices", ()) for device in expand_devices(row)))
    for row in facts.pop("connections", ()):
        _connect_row(builder, row, cables)
    facts |= {key: tuple(map(tuple, facts[key])) for key in ("rings", "paths") if key in facts}
    if "torus" in facts:
        facts |= _wire_torus(builder, tuple(facts["dims"]), cables[facts.pop("torus")])
    title = facts.pop("title", None) or translate("en", "machines", f"{name}.title")
    return Machine.from_builder(builder, name=name, title=title, about=translate("en", "machines", name), **facts)


def _connect_row(builder: MachineBuilder, row: Sequence[str], cables: Mapping[str, Cable]) -> None:
    """Connect the devices of a row `[devices, others, cable]`; more of `others, cable` are connected in turn with the
    first, each device to all of them before the next one."""
    near, ends, labels = expand_devices(row[0]), row[1::2], row[2::2]
    pairs = zip(*(pair_devices(near, expand_devices(far)) for far in ends), strict=True)
    for pairs_of_device in pairs:
        for (a, b), label in zip(pairs_of_device, labels, strict=True):
            builder.connect(a, b, cables[label])


def expand_devices(devices: str) -> list[str]:
    """Write out the devices that a range stands for.

    Args:
        devices: one device, or a range of them.

    Examples:
        >>> expand_devices("cpu0..6 by 2")
        ['cpu0', 'cpu2', 'cpu4', 'cpu6']
        >>> expand_devices("nvswitch")
        ['nvswitch']
    """
    match = _RANGE.fullmatch(devices)
    if match is None:
        return [devices]
    kind, first, last, stride = match.groups()
    return [f"{kind}{number}" for number in range(int(first), int(last) + 1, int(stride or 1))]


def pair_devices(one_side: list[str], other_side: list[str]) -> Iterable[tuple[str, str]]:
    """Pair the devices at both ends of a connection, in order; of the shorter side each serves several in a row.

    Args:
        one_side: devices that it comes from.
        other_side: devices that it goes to.

    Examples:
        >>> list(pair_devices(["gpu0", "gpu1"], ["nvswitch"]))
        [('gpu0', 'nvswitch'), ('gpu1', 'nvswitch')]
    """
    count = max(len(one_side), len(other_side))
    return ((one_side[i * len(one_side) // count], other_side[i * len(other_side) // count]) for i in range(count))


def _wire_torus(builder: MachineBuilder, dims: tuple[int, ...], cable: Cable) -> dict[str, tuple[object, ...]]:
    """Connect the chips of a torus; its sizes, and a ring through all chips both ways."""
    links = list(list_torus_links(dims))
    builder.add(*dict.fromkeys(a for a, _ in links))
    for a, b in links:
        builder.connect(a, b, cable)
    ring = order_snake(dims)
    return {"dims": dims, "rings": (ring, (ring[0], *ring[:0:-1]))}
