"""Pieces of evidence that cannot be of one job: they state different numbers of ranks or GPUs, or different GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from ..locale import translate
from .evidence_pieces import Evidence, EvidencePiece, Fact, Value
from .job import list_tested_hosts

#: The model in the name of a GPU: H100 of `NVIDIA H100 80GB HBM3`.
_MODEL = re.compile(r"\b(?:RTX \d{4}|GB\d{3}|MI\d{3}|[ABHLTV]\d{1,3})")


class _Statement(NamedTuple):
    """A number or names of GPUs that a line of a piece states."""

    fact: Fact
    value: frozenset[str] | int
    piece: EvidencePiece


@dataclass(frozen=True)
class Contradiction:
    """Two pieces that disagree.

    Attributes:
        key: `ranks`, `gpus` (of a node) or `models` (of GPUs).
        facts: a line of each of the two.
        values: what each says, as text.

    Examples:
        >>> import collsim as cs
        >>> log = "n1:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0"
        >>> matrix = "\\tGPU0\\tGPU1\\nGPU0\\t X \\tNV18\\nGPU1\\tNV18\\t X "
        >>> (contradiction,) = cs.diagnose({"nccl.log": log, "topo.txt": matrix}).contradictions
        >>> contradiction.key, contradiction.values
        ('gpus', ('8', '2'))
    """

    key: str
    facts: tuple[Fact, Fact]
    values: tuple[str, str]

    def text(self, language: str = "en") -> str:
        """Write it as a question.

        Args:
            language: `en` or `zh`.
        """
        first, second = (Path(fact.piece).name for fact in self.facts)
        a, b = self.values
        key = f"contradiction.{self.key}"
        return translate(language, "diagnosis", key, first=first, second=second, a=a, b=b)


def find_contradictions(evidence: Evidence) -> tuple[Contradiction, ...]:
    """Find pieces that disagree, for each thing the first two.

    Args:
        evidence: all pieces.
    """
    result = []
    for key in ("ranks", "gpus", "models"):
        statements = [statement for piece in evidence.pieces for statement in _find_statement(key, evidence, piece)]
        for first, second in combinations(statements, 2):
            if first.piece is not second.piece and _contradict(key, first, second):
                values = (_format_value(first.value), _format_value(second.value))
                result.append(Contradiction(key, (first.fact, second.fact), values))
                break
    return tuple(result)


def _find_statement(key: str, evidence: Evidence, piece: EvidencePiece) -> Iterator[_Statement]:
    """What a piece says of ranks, GPUs or models, with a line that says it; at most one."""

    def select(kind: str, value_type: type[Value]) -> list[tuple[Fact, Value]]:
        return [(fact, value) for fact, value in evidence.select_values(kind, value_type) if fact.piece == piece.name]

    counts, gpus = select("nccl.ranks", tuple), select("nccl.gpu", tuple)
    names = [fact for fact in evidence.select("gpu.name") if fact.piece == piece.name]
    if key == "models":
        models = frozenset(match[0] for fact in names if (match := _MODEL.search(str(fact.value))))
        if models:
            yield _Statement(names[0], models, piece)
    elif counts:
        position = {"ranks": 0, "gpus": 2}[key]
        fact, value = max(counts, key=lambda pair: pair[1][position])
        yield _Statement(fact, int(value[position]), piece)
    elif gpus and key == "ranks":
        fact, value = max(gpus, key=lambda pair: int(pair[1][1]))
        yield _Statement(fact, int(value[1]), piece)
    elif gpus:  # logs until 2.18 do not say how many ranks are on a node
        buses: dict[str, set[str]] = {}
        for _, (host, _, bus) in gpus:
            buses.setdefault(host, set()).add(bus)
        largest = max(buses, key=lambda host: len(buses[host]))
        yield _Statement(next(f for f, v in gpus if v[0] == largest), len(buses[largest]), piece)
    elif key == "ranks":
        hosts = list_tested_hosts(evidence.texts.get(piece.name, ""))
        if hosts and names:
            yield _Statement(names[0], len(hosts), piece)
    else:
        if rows := select("topology.row", tuple):
            yield _Statement(rows[0][0], len({value[0] for _, value in rows}), piece)
        if files := select("topology.gpus", int):
            yield _Statement(*files[0], piece)


def _contradict(key: str, first: _Statement, second: _Statement) -> bool:
    a, b = first.value, second.value
    if isinstance(a, frozenset) and isinstance(b, frozenset):
        return not a & b
    if key == "gpus" and isinstance(a, int) and isinstance(b, int):  # a job may use fewer GPUs than the node has
        by_kind = {first.fact.kind.partition(".")[0]: a, second.fact.kind.partition(".")[0]: b}
        return by_kind.get("nccl", 0) > by_kind.get("topology", 0) > 0
    return a != b


def _format_value(value: frozenset[str] | int) -> str:
    if isinstance(value, int):
        return str(value)
    return ", ".join(sorted(value))
