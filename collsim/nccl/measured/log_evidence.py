"""What a log of NCCL says of the hypotheses that would explain a gap: which it states, and which it rules out.

A line that states a cause counts for more than any fit. What a log does not show is ruled out only where NCCL would
have printed it at this level: transports are printed for all connections, variables when they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ..machine.machine_facts import Facts

#: Hypotheses that are settings, and the variables of NCCL that set them.
_SETTINGS = {
    "ring": ("NCCL_ALGO",),
    "tree": ("NCCL_ALGO",),
    "simple": ("NCCL_PROTO",),
    "ll": ("NCCL_PROTO",),
    "channels": ("NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_MAX_NRINGS"),
}
#: Those that `predict` takes.
_PINS = ("NCCL_ALGO", "NCCL_PROTO")
#: Channels to which the hypothesis of few channels goes down.
_FEW = 2
_TENSOR_NVLS = 90  # compute capability times ten of Hopper, the first with NVLink SHARP
_OFF = ("LOC", "0")


class JobStatementsLike(Protocol):
    """What a log states, as `collsim.io` reads it."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that were set."""

    @property
    def network(self) -> str:
        """IB, Socket, or a plugin."""

    @property
    def cards(self) -> tuple[str, ...]:
        """Names of the cards of a process."""

    @property
    def channels(self) -> int:
        """Channels of collectives, 0 where unknown."""

    @property
    def has_nvls(self) -> bool | None:
        """Whether NVLink SHARP is available."""

    @property
    def cliques(self) -> frozenset[str]:
        """Cliques of NVLink domains."""

    @property
    def uses_mnnvl(self) -> bool:
        """Whether NVLink joins nodes."""


class JobLog(Protocol):
    """A log of NCCL, as `collsim.load` reads it."""

    @property
    def transports(self) -> Mapping[tuple[int, int, int], str]:
        """Transports of channels and pairs."""

    @property
    def statements(self) -> JobStatementsLike:
        """What else it states."""


@dataclass(frozen=True)
class LogEvidence:
    """What a log says of hypotheses.

    Attributes:
        confirmed: keys of those that it states.
        excluded: keys of those that it rules out.
        settings: NCCL_ALGO and NCCL_PROTO, where they were set.
    """

    confirmed: frozenset[str]
    excluded: frozenset[str]
    settings: tuple[tuple[str, str], ...]


def weigh_log(log: JobLog, facts: Facts) -> LogEvidence:
    """Weigh a log against the hypotheses.

    Args:
        log: of the job that was measured.
        facts: of the machine as it was described.

    Returns:
        What it states and rules out.
    """
    states = log.statements
    verdicts: dict[str, bool | None] = {
        **_weigh_settings(states),
        **_weigh_peers(log),
        **_weigh_network(log, facts),
        "nvls_off": _is_nvls_off(states, facts),
        "split_domain": _is_domain_split(states),
    }
    confirmed = frozenset(key for key, verdict in verdicts.items() if verdict)
    excluded = frozenset(key for key, verdict in verdicts.items() if verdict is False)
    pins = tuple((name, states.environment[name]) for name in _PINS if name in states.environment)
    return LogEvidence(confirmed, excluded, pins)


def _weigh_settings(states: JobStatementsLike) -> dict[str, bool | None]:
    """Settings that were not printed were not made; those of few channels show in their number."""
    verdicts: dict[str, bool | None] = {}
    for key, names in _SETTINGS.items():
        if not any(name in states.environment for name in names):
            verdicts[key] = False
    if "channels" not in verdicts and states.channels:
        verdicts["channels"] = states.channels <= _FEW
    return verdicts


def _weigh_peers(log: JobLog) -> dict[str, bool | None]:
    """Whether GPUs of a node write to one another, by the transports of the log."""
    kinds = {transport.partition("/")[0] for transport in log.transports.values()}
    if "P2P" in kinds:
        return {"p2p_off": False, "p2p_on": True}
    if "SHM" in kinds:
        return {"p2p_off": True, "p2p_on": False}
    environment = log.statements.environment
    if environment.get("NCCL_P2P_DISABLE") == "1" or environment.get("NCCL_P2P_LEVEL") in _OFF:
        return {"p2p_off": True, "p2p_on": False}
    return {}


def _weigh_network(log: JobLog, facts: Facts) -> dict[str, bool | None]:
    """Sockets or RDMA, GPUDirect RDMA, and the number of cards."""
    if facts.nodes == 1:
        return {}
    states, verdicts = log.statements, dict[str, bool | None]()
    routes = [transport for transport in log.transports.values() if transport.startswith("NET/")]
    if states.network:
        is_socket = states.network == "Socket"
        verdicts |= {"tcp": is_socket, "rdma": not is_socket}
        if is_socket:  # cards, ports and peers of RDMA were not used
            return verdicts | dict.fromkeys(("gdr_off", "gdr_on", "acs", "one_nic", "half_network"), False)
        verdicts["wrong_interface"] = False
    if routes and states.network == "IB":
        is_direct = any("GDRDMA" in route for route in routes)
        verdicts |= {"gdr_off": not is_direct, "gdr_on": is_direct}
        if not is_direct:  # no peer copies between GPU and card that ACS could send elsewhere
            verdicts["acs"] = False
    if states.cards:
        verdicts["one_nic"] = len(states.cards) == 1 and facts.nics > 1
        is_bonded = any("bond" in card for card in states.cards)
        verdicts["one_qp"] = is_bonded and "NCCL_IB_QPS_PER_CONNECTION" not in states.environment
    return verdicts


def _is_nvls_off(states: JobStatementsLike, facts: Facts) -> bool | None:
    """GPUs before Hopper have no NVLink SHARP, so that its absence is no fault."""
    if facts.cc < _TENSOR_NVLS:
        return False
    if states.environment.get("NCCL_NVLS_ENABLE") == "0":
        return True
    return states.has_nvls is False or None


def _is_domain_split(states: JobStatementsLike) -> bool | None:
    """Processes that see different cliques, and NCCL that takes no NVLink between nodes."""
    if not states.cliques:
        return None
    return len(states.cliques) > 1 and not states.uses_mnnvl
