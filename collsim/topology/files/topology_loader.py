"""Topologies from files: one reader per format, picked by what the text looks like.

What a reader does not understand, or has to assume because the file does not say it, is in `topology.facts.notes`
and is warned about; nothing is dropped in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike

from ...errors import FormatError, require_path
from ...errors.arguments import check_arguments
from ...errors.collected_warnings import warn
from ...files import read_text
from ...limits import FILE_MEMORY, find_memory_limit, within
from ..facts import FromText
from ..machines import machines
from ..network import Topology, views
from .unread import find_unread_format

#: Bytes; a file that describes a machine is far smaller, and a stranger may have sent this one.
_LARGEST = 10 * 2**20


class FormatWarning(UserWarning):
    """Something in a file was not understood, or had to be assumed.

    Examples:
        >>> import collsim as cs
        >>> issubclass(cs.topology.FormatWarning, UserWarning)
        True
    """


@check_arguments
def load_topology(path: str | PathLike[str], **options: object) -> Topology:
    """A topology from a file.

    Formats: `nvidia-smi topo -m` as pasted; NCCL topology XML (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE, also RCCL's with
    xGMI), and the tree that NCCL's log has with NCCL_DEBUG_SUBSYS=GRAPH; ASTRA-sim's network YAML; collsim's own YAML
    (docs/machines.md), which `topology.to_yaml()` writes.

    Args:
        path: the file.
        options: for files that describe one machine, what `machine` takes: nodes, p2p, gdr, fabric ...; for topo -m
            also `gpu` ("A100"), `pcie` (generation), `cpu` ("rome") and `nics` (how many cards), which that text does
            not tell. Where a file leaves NVLink out, `nvlink="none"` is PCIe alone and `nvlink="board"` the usual board
            of `gpu`.

    Returns:
        The topology; `facts.notes` has what was not understood or assumed, and a FormatWarning says it.

    Raises:
        FormatError: with file, line and what was expected.

    Examples:
        >>> import collsim as cs
        >>> path = cs.save(cs.topology.ring(4), "ring.yaml")
        >>> cs.load_topology(path)
        <Topology ring(4): 4 ranks, 4 devices, 8 links>
    """
    file = require_path(path)
    try:
        text = read_text(file, _LARGEST)
    except FormatError:
        # A machine's name where a file belongs is a common slip, and gets the call that was meant.
        if str(path) in machines() and not file.exists():
            raise FormatError(
                "there is no file {path}; cs.machine({path!r}) is the machine of that name", path=str(path)
            ) from None
        raise
    return parse_topology_text(text, file.name, **options)


@check_arguments
def parse_topology_text(text: str, name: str = "text", **options: object) -> Topology:
    """A topology from text, as `load_topology` reads it from a file; for example pasted into the app.

    Args:
        text: what such a file holds.
        name: stands in errors and warnings in place of the file's name.
        options: as for `load_topology`.

    Returns:
        The topology.

    Raises:
        FormatError: With line and what was expected.

    Examples:
        >>> import collsim as cs
        >>> cs.topology.parse_topology_text(cs.topology.ring(4).to_yaml())
        <Topology ring(4): 4 ranks, 4 devices, 8 links>
    """
    if len(text) > _LARGEST:
        message = "{name} has {characters:,} characters; more than {most:,} is refused"
        raise FormatError(message, name=name, characters=len(text), most=_LARGEST)
    with within(find_memory_limit(FILE_MEMORY)):
        topology = _find_reader(text, name)(text, name, options)
    if topology.facts.assumptions:
        facts = replace(topology.facts, reading=_remember_reading(text, name, options))
        topology = replace(topology, facts=facts)
    for note in topology.facts.notes:
        warn(f"{name}: {note}", FormatWarning)
    return topology


def _remember_reading(text: str, name: str, options: dict[str, object]) -> FromText:
    """How to read it again, as a value that can be hashed."""
    plain = ((key, tuple(value) if isinstance(value, list) else value) for key, value in sorted(options.items()))
    return FromText(text, name, tuple(plain))


def _find_reader(text: str, name: str) -> Callable[[str, str, dict[str, object]], Topology]:
    head = text.lstrip()
    if not head:
        raise FormatError("{name} is empty; expected nvidia-smi topo -m text, NCCL topology XML, or YAML", name=name)
    if head.startswith("<"):
        from .nccl_xml import read_nccl_topology

        return read_nccl_topology
    from . import astra, collsim_yaml, nccl_tree, topo_m

    # Formats are told by what stands in the text, never by the file's ending: people paste.
    if nccl_tree.matches_format(text):
        return nccl_tree.read_nccl_tree
    if topo_m.matches_format(text):
        return topo_m.read_topo_matrix
    if astra.matches_format(text):
        return astra.read_astra_network
    # A known format of another program gets a sentence that says what reads it.
    if not collsim_yaml.matches_format(text) and (unread := find_unread_format(text)) is not None:
        raise unread.build_error(name)
    return collsim_yaml.read_machine_file


def _to_yaml(topology: Topology) -> str:
    from .collsim_yaml import to_yaml

    return to_yaml(topology)


views["to_yaml"] = _to_yaml
