"""Cables that files name only in part, and the step from a node to a topology."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..cables import Nic
from ..facts import Assumption
from ..machine_builder import Machine
from ..machines import machine
from ..network import Cable, Topology
from ..parts.refit import list_training_cards, remove_devices
from ..parts.sockets import find_processor
from .boards import parse_nvlink

_MAX_NOTES = 100


def usual_memory(cpu: str) -> Cable:
    """The memory of a socket of a processor's generation, which no file says.

    Args:
        cpu: name of the generation, as in `parts/processors.toml`.

    Returns:
        Its cable.
    """
    processor = find_processor(cpu)
    cable = processor.dram
    return replace(
        cable,
        source=f"bandwidth order of magnitude: {cable.label}-{processor.memory[1]}, all channels of a socket of "
        f"{processor.title}, the file does not say; alpha order of magnitude: one DRAM access",
    )


def finish(
    node: Machine,
    notes: Iterable[str],
    name: str,
    options: dict[str, Any],
    card: Nic | None = None,
    assumptions: Iterable[Assumption] = (),
) -> Topology:
    """A topology of a machine from a file; `notes` and `assumptions` go into its facts, `card` is used unless `nic=`
    asks for another.

    Cards that are not beside a GPU are left out, with a note, unless `nics=` says how many to use: they are for
    storage.

    Args:
        node: one of the equal nodes.
        notes: what was not understood, or assumed without an option that says it.
        name: of the file.
        options: of `machine`.
        card: what the file says of the network card; None leaves the machine its own.
        assumptions: those that an option can settle; what `options` say is dropped.
    """
    assumptions = [assumption for assumption in assumptions if options.get(assumption.option) is None]
    if options.get("nics") is None:
        node, left_out = _keep_training_cards(node)
        assumptions = [*assumptions, *left_out]
    if card is not None and node.of_kind("nic") and "nic" not in options:
        options = {**options, "nic": card}
    if parse_nvlink(options.get("nvlink")) == "board":
        options = {key: value for key, value in options.items() if key != "nvlink"}  # its NVLinks are there by now
    topology = machine(node, **options)
    notes = [*notes, *map(str, assumptions)]
    if len(notes) > _MAX_NOTES:
        notes = [*notes[:_MAX_NOTES], f"and {len(notes) - _MAX_NOTES:,} more notes like these"]
    facts = replace(topology.facts, file=name, notes=tuple(notes), assumptions=tuple(assumptions))
    return replace(topology, facts=facts)


def _keep_training_cards(node: Machine) -> tuple[Machine, list[Assumption]]:
    """The machine with the cards that training uses, and what that assumes."""
    cards = [node.devices[card] for card in node.of_kind("nic")]
    used = list_training_cards(node)
    if len(used) == len(cards):
        return node, []
    rest = [name for name in cards if name not in used]
    message = (
        f"{', '.join(rest)} {'is' if len(rest) == 1 else 'are'} not beside a GPU (PIX or PXB), as cards for storage "
        "are",
        f"{'、'.join(rest)} 不在 GPU 旁（PIX 或 PXB），通常用于存储",
    )
    return remove_devices(node, rest), [Assumption("nics", str(len(used)), message, ("all",))]
