"""NCCL's environment variables: their values, and the machine that they leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias, TypedDict

from ..errors import CollsimError, Sentence, describe_unknown
from ..topology import Topology
from .machine.machine_facts import Facts, stage_through_host
from .machine.nccl_routes import apply_route_settings
from .machine.topology_facts import CardFacts
from .search import constants as c

#: On or off, as Python or the environment has it; None or "": not set.
Flag: TypeAlias = bool | int | str | None
#: A number, as Python or the environment has it, or a name; None or "": not set.
Level: TypeAlias = int | str | None


class NcclSettings(TypedDict, total=False):
    """NCCL's environment variables, with the values that NCCL takes (NCCL documentation, Environment Variables)."""

    NCCL_ALGO: str | None
    NCCL_PROTO: str | None
    NCCL_P2P_DISABLE: Flag
    NCCL_P2P_LEVEL: Level
    NCCL_SHM_DISABLE: Flag
    NCCL_NET_GDR_LEVEL: Level
    NCCL_MAX_NCHANNELS: Level
    NCCL_CROSS_NIC: Level
    NCCL_NVLS_ENABLE: Flag
    NCCL_PAT_ENABLE: Flag


class NcclOptions(NcclSettings, total=False):
    """Options of `predict` beside the links: NCCL's environment, who launches the kernels, and NCCL's version."""

    launch: str | None
    version: str | None


class PredictOptions(NcclOptions, total=False):
    """The same with the number of ranks."""

    ranks: int | str | Sequence[int] | None


def read_text(value: object) -> str:
    """Read an environment variable as text.

    Args:
        value: its value; None: not set.

    Returns:
        The text; "" where it is not set.
    """
    if value is None:
        return ""
    return str(value).strip()


def parse_flag(variable: str, value: Flag, *, has_auto: bool = False) -> bool | None:
    """Read an environment variable that switches something on or off.

    Args:
        variable: its name, for errors.
        value: its value.
        has_auto: whether 2 lets NCCL choose.

    Returns:
        On or off; None where it is not set, or NCCL chooses.

    Raises:
        CollsimError: for any other value.
    """
    text = read_text(value).lower()
    if text == "" or (has_auto and text == "2"):
        return None
    if text not in ("0", "false", "1", "true"):
        template = "{variable}={value!r} must be 0 or 1{auto}"
        auto: Sentence | str = ""
        if has_auto:
            auto = Sentence(", or 2 where NCCL is to choose")
        raise CollsimError(template, variable=variable, value=value, auto=auto)
    return text in ("1", "true")


def parse_level(variable: str, value: Level, default: str) -> str:
    """Read a path type from NCCL's words or its old numbers 0 to 5 (src/graph/paths.cc, ncclGetLevel).

    Args:
        variable: name of the environment variable, for errors.
        value: its value.
        default: the path type where it is not set.

    Returns:
        One of `constants.PATH_TYPES`, or the default.

    Raises:
        CollsimError: for any other value.
    """
    text = read_text(value)
    if text == "":
        return default
    numbers = {"0": "LOC", "1": "PIX", "2": "PXB", "3": "PHB", "4": "SYS", "5": "SYS"}
    path_type = numbers.get(text, text.upper())
    if path_type not in c.PATH_TYPES:
        names = ("LOC", "NVL", "PIX", "PXB", "PHB", "SYS")
        raise CollsimError(describe_unknown(Sentence("value of {variable}", variable=variable), value, names))
    return path_type


def parse_p2p_level(settings: NcclSettings) -> str:
    """Read the worst path type over which GPUs may write to one another.

    Args:
        settings: NCCL_P2P_DISABLE and NCCL_P2P_LEVEL count.

    Returns:
        One of `constants.PATH_TYPES`: `LOC` where P2P is off, `SYS` where nothing is set.

    Raises:
        CollsimError: for values that NCCL does not know.
    """
    level = parse_level("NCCL_P2P_LEVEL", settings.get("NCCL_P2P_LEVEL"), "SYS")
    is_disabled = parse_flag("NCCL_P2P_DISABLE", settings.get("NCCL_P2P_DISABLE"))
    if is_disabled:
        return "LOC"
    return level


def apply_environment(facts: Facts, p2p_level: str, gdr_level: Level) -> tuple[Facts, tuple[str, ...]]:
    """Find the machine that is left after NCCL_P2P_* and NCCL_NET_GDR_LEVEL.

    Args:
        facts: the machine.
        p2p_level: the worst path type over which GPUs may write to one another.
        gdr_level: NCCL_NET_GDR_LEVEL.

    Returns:
        The machine as NCCL may use it, and sentences on what that changes.

    Raises:
        CollsimError: where GPUs would have to share the memory of several hosts, and for an unknown level.
    """
    notes: list[str] = []
    if facts.wiring not in ("none", "host") and not c.is_type_at_most(_find_needed_level(facts), p2p_level):
        staged = stage_through_host(facts, p2p_level)
        notes += note_staging(facts, staged)
        facts = staged
    if facts.staged_between_switches and not c.is_type_at_most("PIX", p2p_level):
        facts = replace(stage_through_host(facts, p2p_level), staged_between_switches=False)
    level = parse_level("NCCL_NET_GDR_LEVEL", gdr_level, "")
    if level and facts.nodes > 1:
        nearest_card = "PIX"
        if facts.is_pcie_card:
            nearest_card = "PHB"
        facts = replace(facts, gdr=c.is_type_at_most(nearest_card, level) and facts.gdr is not False)
    return facts, tuple(notes)


def note_staging(before: Facts, after: Facts) -> tuple[str, ...]:
    """Say that settings took P2P from the GPUs of a node.

    Args:
        before: the machine without the settings.
        after: the machine with them.

    Returns:
        A sentence; nothing where P2P is as it was.
    """
    if after.wiring == before.wiring or after.wiring != "host":
        return ()
    return ("peers are reached through host memory",)


def replace_host_memory_by_cards(facts: Facts, cards: CardFacts | None) -> Facts:
    """Send what GPUs of a node would stage through host memory over its network cards, as NCCL_SHM_DISABLE does.

    NCCL then runs the network transport between GPUs of one node (src/transport/net.cc): every GPU counts as a node of
    its own, with its share of the cards.

    Args:
        facts: the machine after NCCL_P2P_*.
        cards: its network cards; None: it has none.

    Returns:
        The machine without shared memory; unchanged where nothing is staged.

    Raises:
        CollsimError: where no network card is known.
    """
    if facts.wiring != "host":
        return facts
    nics, nic_rate, net = cards or (0.0, 0.0, "none")
    if nics <= 0:
        raise CollsimError(
            "NCCL_SHM_DISABLE=1 without P2P sends the data of a node over its network cards, and {gpu} has none here; "
            "give Facts with nics, nic_rate and net, or leave it out",
            gpu=facts.gpu,
        )
    return replace(
        facts,
        nodes=facts.ranks,
        hosts=facts.hosts or facts.nodes,
        wiring="none",
        link_rate=0.0,
        nics=nics / facts.local_ranks,
        nic_rate=nic_rate,
        net=net,
        wired_nodes=None,
    )


def route_machine(machine: Topology, settings: NcclSettings) -> Topology:
    """Route a machine's data as these settings let NCCL do.

    Args:
        machine: a machine.
        settings: NCCL_P2P_DISABLE, NCCL_P2P_LEVEL, NCCL_NET_GDR_LEVEL and NCCL_SHM_DISABLE count.

    Returns:
        The machine with these routes; the same object where no setting changes them.

    Raises:
        CollsimError: for values that NCCL does not know.
    """
    p2p = parse_level("NCCL_P2P_LEVEL", settings.get("NCCL_P2P_LEVEL"), "")
    if parse_flag("NCCL_P2P_DISABLE", settings.get("NCCL_P2P_DISABLE")):
        p2p = "LOC"
    gdr = parse_level("NCCL_NET_GDR_LEVEL", settings.get("NCCL_NET_GDR_LEVEL"), "")
    is_shm_off = parse_flag("NCCL_SHM_DISABLE", settings.get("NCCL_SHM_DISABLE"))
    has_shm = None
    if is_shm_off is not None:
        has_shm = not is_shm_off
    return apply_route_settings(machine, p2p, gdr, has_shm)


def _find_needed_level(facts: Facts) -> str:
    """The worst path type that GPUs of a node need to reach one another."""
    if facts.wiring in ("nvswitch", "mesh", "bridge", "cube", "xgmi"):
        return "NVL"
    if facts.crosses_sockets:
        return "SYS"
    return "PHB"
