"""What NCCL's log states besides rings and trees, put together for a whole job: its network, its cards, NVLS, NVLink
between nodes, the variables that were set, and its warnings. The lines themselves are known to `nccl_log_facts` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from .nccl_log_facts import read_log_facts

Value = TypeVar("Value")
_MAX_WARNINGS = 20
#: Kinds of facts that are put together; a long log has many of others.
_KINDS = (
    "nccl.variable",
    "nccl.network",
    "nccl.cards",
    "nccl.channels",
    "nccl.nvls",
    "nccl.clique",
    "nccl.mnnvl",
    "nccl.warning",
)


@dataclass(frozen=True)
class JobStatements:
    """What a log states.

    Attributes:
        environment: variables that were set, with their values.
        network: of `Using network`: IB, Socket, or the name of a plugin; "" where the log does not say.
        cards: names of the cards of the process that lists most.
        channels: of collectives; 0 where the log does not say.
        has_nvls: whether NVLink SHARP is available; None where the log does not say.
        cliques: NVLink fabric and clique of the processes, where some are on nodes that NVLink could join.
        uses_mnnvl: whether NCCL takes NVLink between nodes (MNNVL 1).
        warnings: texts of `NCCL WARN`, each once.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    network: str = ""
    cards: tuple[str, ...] = ()
    channels: int = 0
    has_nvls: bool | None = None
    cliques: frozenset[str] = frozenset()
    uses_mnnvl: bool = False
    warnings: tuple[str, ...] = ()


def read_statements(lines: Iterable[str]) -> JobStatements:
    """Read what a log states.

    Args:
        lines: of the log.

    Returns:
        The statements; of several lines about one thing the last counts, of cards and channels the largest.
    """
    values: dict[str, list[object]] = {kind: [] for kind in _KINDS}
    # Every rank states the same, so that most values are one object.
    known: dict[tuple[str, object], object] = {}
    for _, kind, value in read_log_facts(lines):
        if kind in values:
            values[kind].append(known.setdefault((kind, value), value))

    def select(kind: str, value_type: type[Value]) -> list[Value]:
        return [value for value in values[kind] if isinstance(value, value_type)]

    networks, availability = select("nccl.network", str), select("nccl.nvls", bool)
    return JobStatements(
        environment={str(name): str(value) for name, value in select("nccl.variable", tuple)},
        # The last statement wins where a log holds several runs; the largest where channels or cards are listed one
        # by one.
        network=next(reversed(networks), ""),
        cards=max(select("nccl.cards", tuple), key=len, default=()),
        channels=max(select("nccl.channels", int), default=0),
        has_nvls=next(reversed(availability), None),
        cliques=frozenset(select("nccl.clique", str)),
        uses_mnnvl=any(select("nccl.mnnvl", bool)),
        warnings=tuple(dict.fromkeys(text.strip() for text in select("nccl.warning", str)))[:_MAX_WARNINGS],
    )
