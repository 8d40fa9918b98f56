"""Many nodes compared with one another: which node, card or cable is the odd one, beside what is predicted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Literal

from ..errors import CollsimError, Sentence, Words, require_flags
from ..errors.arguments import check_arguments
from ..errors.dependencies import pandas as pd
from ..locale import translate
from ..units import format_bandwidth, format_bytes
from .anonymity import Anonymizer
from .causes import CAUSES
from .diagnosis_report import Block, ReportFormat, write_document
from .evidence_pieces import Evidence, Fact, read_evidence
from .fleet_nodes import FEWEST_NODES, FleetTexts, read_fleet
from .fleet_readings import NodeReading, OddReading, Quantity, find_odd_readings, list_readings
from .job import list_tested_hosts, read_whole_table
from .job_diagnosis import Diagnosis, diagnose

if TYPE_CHECKING:
    from ..train import Model

FleetVerdict = Literal["odd", "alike", "unknown"]
#: A cause that more than this share of the nodes state is that of the fleet, and not of a node.
_MAX_SHARE_OF_NODES = 0.5
#: A pair of nodes is slow below this share of the median of all pairs.
_SLOW_PAIR = 0.9


@dataclass(frozen=True)
class NodeCause:
    """A cause that a node's evidence states and most nodes' evidence does not.

    Attributes:
        node: which.
        key: of the table of causes, such as `nvlink_lost`.
        evidence: lines that state it.

    Examples:
        >>> import collsim as cs
        >>> from pathlib import Path
        >>> for node, level in [("n1", "SYS"), ("n2", "SYS"), ("n3", "LOC")]:
        ...     Path("logs", node).mkdir(parents=True, exist_ok=True)
        ...     _ = Path("logs", node, "nccl.log").write_text(
        ...         f"h:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to {level}"
        ...     )
        >>> cause = cs.diagnosis.compare_nodes("logs").causes[0]
        >>> cause.node, cause.key
        ('n3', 'p2p_disabled')
    """

    node: str
    key: str
    evidence: tuple[Fact, ...]


@dataclass(frozen=True)
class SlowPair:
    """Two nodes that are slow together, though each is as fast as others with other nodes: a cable or a switch's port.

    Attributes:
        nodes: the two.
        busbw: measured, B/s.
        usual: median of all pairs, B/s.

    Examples:
        >>> import collsim as cs
        >>> cs.diagnosis.SlowPair(("n1", "n7"), busbw=11e9, usual=92e9).nodes
        ('n1', 'n7')
    """

    nodes: tuple[str, str]
    busbw: float
    usual: float


@dataclass(frozen=True)
class FleetDiagnosis:
    """What tells nodes of a fleet apart.

    Attributes:
        nodes: names of all nodes.
        odd: readings that differ from those of the other nodes.
        causes: what single nodes' evidence states.
        slow_pairs: pairs that are slow though their nodes are not.
        typical: diagnosis of a node that is like most, so that a fault of all nodes is told, too; None where every
            node differs in something.
        typical_node: which node that is; "" for none.
        predicted_pair: busbw that a pair of nodes is predicted to have, B/s; None without tables of pairs.
        readings: of each node by quantity and part.
        notes: what could not be read.

    Examples:
        >>> import collsim as cs
        >>> from pathlib import Path
        >>> for node, driver in [("n1", "570.133"), ("n2", "570.133"), ("n3", "535.54")]:
        ...     Path("fleet", node).mkdir(parents=True, exist_ok=True)
        ...     _ = Path("fleet", node, "smi.txt").write_text(
        ...         f"| NVIDIA-SMI 570.1 Driver Version: {driver} CUDA Version: 12.8 |"
        ...     )
        >>> fleet = cs.diagnosis.compare_nodes("fleet")
        >>> fleet.typical_node, fleet.odd_nodes
        ('n1', ('n3',))
    """

    nodes: tuple[str, ...]
    odd: tuple[OddReading, ...]
    causes: tuple[NodeCause, ...]
    slow_pairs: tuple[SlowPair, ...]
    typical: Diagnosis | None
    typical_node: str
    predicted_pair: float | None
    readings: Mapping[str, Mapping[tuple[Quantity, str], NodeReading]]
    notes: tuple[Words, ...] = ()

    def list_notes(self, language: str = "en") -> list[str]:
        """Return what could not be read, in `en` or `zh`.

        Args:
            language: `en` or `zh`.
        """
        return [Sentence.from_words(note).text(language) for note in self.notes]

    @property
    def odd_nodes(self) -> tuple[str, ...]:
        """Nodes that differ, the one with most findings first."""
        counts = Counter([*(odd.node for odd in self.odd), *(cause.node for cause in self.causes)])
        return tuple(node for node, _ in counts.most_common())

    @property
    def verdict(self) -> FleetVerdict:
        """`odd` where a node or a pair differs, `alike`, or `unknown` where there is nothing to compare."""
        if self.odd or self.causes or self.slow_pairs:
            return "odd"
        if len(self.nodes) < FEWEST_NODES or not any(self.readings.values()):
            return "unknown"
        return "alike"

    def explanation(self, language: str = "en") -> str:
        """Write the answer in a sentence.

        Args:
            language: `en` or `zh`.
        """
        counts = {"count": len(self.nodes), "odd": len(self.odd_nodes), "pairs": len(self.slow_pairs)}
        return _translate_fleet(language, f"verdict.{self.verdict}", **counts)

    def list_rows(self, language: str = "en") -> list[dict[str, object]]:
        """Return a row for each finding: node, part, what it is, its value, that of the others, the line.

        Args:
            language: `en` or `zh`.
        """
        rows = [self._write_odd_row(odd, language) for odd in self.odd]
        for cause in self.causes:
            title = _translate(language, f"{cause.key}.title")
            rows.append(_create_row(cause.node, title, evidence=cause.evidence))
        for pair in self.slow_pairs:
            row = _create_row(" – ".join(pair.nodes), _translate_fleet(language, "pair"))
            row |= {"value": format_bandwidth(pair.busbw), "usual": format_bandwidth(pair.usual)}
            row |= {"predicted": _write_amount("busbw", self.predicted_pair), "ratio": pair.busbw / pair.usual}
            rows.append(row)
        return rows

    def _write_odd_row(self, odd: OddReading, language: str) -> dict[str, object]:
        reading = odd.reading
        evidence = filter(None, [reading.fact])
        row = _create_row(odd.node, _translate_fleet(language, f"quantity.{reading.quantity}"), reading.part, evidence)
        missing = _translate_fleet(language, "missing")
        row["value"] = _write_amount(reading.quantity, reading.value) or missing
        row["usual"] = _write_amount(reading.quantity, odd.usual) or missing
        row["predicted"] = _write_amount(reading.quantity, self.predict_reading(reading))
        row["ratio"] = odd.ratio
        return row

    def predict_reading(self, reading: NodeReading) -> float | None:
        """Return what a healthy node is predicted to have, or what the part says that it can do, in the reading's unit.

        Args:
            reading: of a node of this fleet, or of its pairs.
        """
        if reading.quantity != "busbw":
            return reading.limit
        if not reading.part:
            return self.predicted_pair
        if self.typical is None or self.typical.cost is None:
            return None
        if not reading.part.endswith(f" {format_bytes(self.typical.cost.nbytes)}"):
            return None
        return self.typical.cost.possible

    def to_frame(self) -> pd.DataFrame:
        """Return the findings as a table, a row each."""
        return pd.DataFrame(self.list_rows(), columns=list(_COLUMNS))

    def to_json(self) -> str:
        """Write it as one JSON document; rates are in B/s and Gbit/s as the tools print them."""
        document = {
            "verdict": self.verdict,
            "explanation": self.explanation(),
            "nodes": self.nodes,
            "odd_nodes": self.odd_nodes,
            "odd": list(map(self._write_odd, self.odd)),
            "causes": [
                {"node": cause.node, "key": cause.key, "lines": [fact.quote() for fact in cause.evidence]}
                for cause in self.causes
            ],
            "slow_pairs": [
                {"nodes": pair.nodes, "busbw": pair.busbw, "usual": pair.usual, "predicted": self.predicted_pair}
                for pair in self.slow_pairs
            ],
            "typical_node": self.typical_node,
            "typical": self.typical and json.loads(self.typical.to_json()),
            "notes": self.list_notes(),
        }
        return json.dumps(document, ensure_ascii=False, indent=2)

    def _write_odd(self, odd: OddReading) -> dict[str, object]:
        reading = odd.reading
        named = {"node": odd.node, "quantity": reading.quantity, "part": reading.part, "value": reading.value}
        compared = {"usual": odd.usual, "predicted": self.predict_reading(reading), "compared_nodes": odd.nodes}
        return {**named, **compared, "line": reading.fact and reading.fact.quote()}

    def report(self, language: str = "en", format: ReportFormat = "markdown") -> str:
        """Write the whole as a document: what is odd, and what the evidence of the other nodes says.

        Args:
            language: `en` or `zh`.
            format: `markdown`, or `html` with every character of the evidence escaped.
        """
        blocks: list[Block] = [("title", _translate_fleet(language, "title"))]
        blocks += [("text", self.explanation(language)), ("text", "")]
        rows = self.list_rows(language)
        if rows:
            columns = [name for name in _COLUMNS if any(row[name] not in ("", None) for row in rows)]
            head = [_translate_fleet(language, f"column.{name}") for name in columns]
            blocks += [("table", [head, *([_write_cell(row[name]) for name in columns] for row in rows)]), ("text", "")]
        for key in dict.fromkeys(cause.key for cause in self.causes):
            blocks.append(("heading", _translate(language, f"{key}.title")))
            blocks.append(("text", _translate(language, "report.check", command=_translate(language, f"{key}.check"))))
            fix = _translate(language, "report.fix", fix=_translate(language, f"{key}.fix"))
            blocks += [("text", fix), ("text", "")]
        if self.typical is not None:
            blocks.append(("heading", _translate_fleet(language, "typical", node=self.typical_node)))
            blocks.append(("text", self.typical.explanation(language)))
        blocks += [("item", note) for note in self.list_notes(language)]
        return write_document(blocks, format)

    def __str__(self) -> str:
        return self.report()


_COLUMNS = ("node", "part", "quantity", "value", "usual", "predicted", "ratio", "line")


@check_arguments
def compare_nodes(
    folder: str | Path | Mapping[str, str],
    anonymize: bool = False,
    model: Model | str | None = None,
    batch: int | None = None,
) -> FleetDiagnosis:
    """Compare the nodes of a fleet: which node, card or cable is the odd one. Nothing leaves this computer.

    Args:
        folder: with a subfolder for each node, or with files named after the nodes. A node's files are those that
            `diagnose` takes, the same of every node. Tables of nccl-tests over two nodes each tell slow cables. Or the
            texts of such files by their names.
        anonymize: as of `diagnose`; nodes are `host1`, `host2` ...
        model: as of `diagnose`, for the node that is like most.
        batch: the same.

    Returns:
        What is odd, and the diagnosis of a node that is like most.

    Raises:
        CollsimError: It is no folder, has fewer than three nodes, or a file cannot be read.

    Examples:
        >>> import collsim as cs
        >>> from pathlib import Path
        >>> for node, driver in [("n1", "570.133"), ("n2", "570.133"), ("n3", "535.54")]:
        ...     Path("fleet", node).mkdir(parents=True, exist_ok=True)
        ...     _ = Path("fleet", node, "smi.txt").write_text(
        ...         f"| NVIDIA-SMI 570.1 Driver Version: {driver} CUDA Version: 12.8 |"
        ...     )
        >>> cs.diagnosis.compare_nodes("fleet").odd_nodes
        ('n3',)
    """
    require_flags(anonymize=anonymize)
    texts = read_fleet(folder)
    if anonymize:
        texts = _anonymize(texts)
    pairs = _list_pairs(texts)
    if len(texts.nodes) < FEWEST_NODES and not pairs:
        message = (
            "{folder}: files of {count} {count:node|nodes}; at least {fewest} are compared. Give each node a subfolder "
            "of its own"
        )
        raise CollsimError(message, folder=texts.name, count=len(texts.nodes), fewest=FEWEST_NODES)
    evidence = {node: read_evidence(node_texts) for node, node_texts in texts.nodes.items()}
    readings = {
        node: {
            (reading.quantity, reading.part): reading
            for reading in (*list_readings(node_evidence), *_read_tables(node_evidence, texts.notes))
        }
        for node, node_evidence in evidence.items()
    }
    slow_nodes, slow_pairs = _find_slow_pairs(pairs)
    odd = (*find_odd_readings(readings), *slow_nodes)
    causes = _find_node_causes(evidence)
    # Nodes with a finding do not show what is usual.
    different = {reading.node for reading in odd} | {cause.node for cause in causes}
    # The typical node stands for the healthy ones: its diagnosis is what all of them share.
    typical_node = next((node for node in evidence if node not in different), "")
    typical = None
    if typical_node:
        typical = diagnose(dict(texts.nodes[typical_node]), model=model, batch=batch)
    nodes = tuple(dict.fromkeys((*evidence, *(node for pair in pairs for node in pair.nodes))))
    notes = (*texts.notes, *(note for node_evidence in evidence.values() for note in node_evidence.notes))
    predicted_pair = _predict_pair(texts, pairs)
    return FleetDiagnosis(nodes, odd, causes, slow_pairs, typical, typical_node, predicted_pair, readings, notes)


def _read_tables(evidence: Evidence, notes: list[Words]) -> Iterator[NodeReading]:
    """The busbw of a node's own tables, at their largest sizes."""
    for name, text in evidence.find_texts("nccl-tests"):
        row = _read_largest(name, text, notes)
        if row is not None:
            collective, nbytes, busbw = row
            fact = next((fact for fact in evidence.select("run.table") if fact.piece == name), None)
            yield NodeReading("busbw", f"{collective} {format_bytes(nbytes)}", busbw, fact)


def _read_largest(name: str, text: str, notes: list[Words]) -> tuple[str, int, float] | None:
    """Collective, bytes and busbw of the largest size of a table; None where it cannot be read."""
    try:
        table = read_whole_table(text, Path(name).name, notes)
    except CollsimError:
        return None
    largest = table.sort_values("nbytes").iloc[-1]
    return str(largest["collective"]), int(largest["nbytes"]), float(largest["busbw"])


@dataclass(frozen=True)
class _PairTest:
    """A table of nccl-tests over two nodes: its file, and the busbw of its largest size, B/s."""

    name: str
    nodes: tuple[str, str]
    busbw: float


def _list_pairs(texts: FleetTexts) -> list[_PairTest]:
    pairs = []
    for name, text in texts.shared.items():
        first, *others = dict.fromkeys(list_tested_hosts(text)) or [""]
        row = _read_largest(name, text, texts.notes)
        if len(others) == 1 and row is not None:
            pairs.append(_PairTest(name, (first, others[0]), row[2]))
    return pairs


def _predict_pair(texts: FleetTexts, pairs: Sequence[_PairTest]) -> float | None:
    """The busbw of two healthy nodes, B/s: all pairs are the same test, so one prediction does."""
    if not pairs:
        return None
    cost = diagnose({pairs[0].name: texts.shared[pairs[0].name]}).cost
    if cost is None:
        return None
    return cost.possible


def _find_slow_pairs(pairs: Sequence[_PairTest]) -> tuple[tuple[OddReading, ...], tuple[SlowPair, ...]]:
    """Nodes whose pairs are all slow, and what is slow without them.

    The node with most slow pairs is taken first and its pairs are set aside, as its partners are slow with it only.
    """
    if len(pairs) < FEWEST_NODES:
        return (), ()
    median_busbw = median(pair.busbw for pair in pairs)
    remaining = list(pairs)
    odd: list[OddReading] = []
    while True:
        nodes = dict.fromkeys(node for pair in remaining for node in pair.nodes)
        rates = {node: [pair.busbw for pair in remaining if node in pair.nodes] for node in nodes}
        slow = [node for node in nodes if len(rates[node]) > 1 and max(rates[node]) < _SLOW_PAIR * median_busbw]
        if not slow:
            break
        worst = max(slow, key=lambda node: (len(rates[node]), -min(rates[node])))
        odd.append(OddReading(worst, NodeReading("busbw", "", max(rates[worst]), None), median_busbw, len(nodes)))
        remaining = [pair for pair in remaining if worst not in pair.nodes]
    return tuple(odd), tuple(
        SlowPair(p.nodes, p.busbw, median_busbw) for p in remaining if p.busbw < _SLOW_PAIR * median_busbw
    )


def _find_node_causes(evidence: Mapping[str, Evidence]) -> tuple[NodeCause, ...]:
    """Causes that lines of a node state, where most nodes do not state the same."""
    causes: list[NodeCause] = []
    for rule in CAUSES:
        stating = []
        for node, node_evidence in evidence.items():
            facts = rule.find(node_evidence)
            if facts and not rule.exclude(node_evidence):
                stating.append(NodeCause(node, rule.key, facts))
        if len(stating) <= _MAX_SHARE_OF_NODES * len(evidence):
            causes += stating
    return tuple(causes)


def _anonymize(texts: FleetTexts) -> FleetTexts:
    """The same texts with stand-ins for names and addresses, each node's and host's the same everywhere."""
    all_texts = [text for node_texts in texts.nodes.values() for text in node_texts.values()]
    anonymizer = Anonymizer([*all_texts, *texts.shared.values()], hosts=list(texts.nodes))
    nodes = {anonymizer.mask(node): anonymizer.mask_texts(node_texts) for node, node_texts in texts.nodes.items()}
    notes = list(map(anonymizer.mask_words, texts.notes))
    return replace(texts, nodes=nodes, shared=anonymizer.mask_texts(texts.shared), notes=notes)


def _translate_fleet(language: str, key: str, **values: object) -> str:
    return translate(language, "diagnosis", f"fleet.{key}", **values)


def _translate(language: str, key: str, **values: object) -> str:
    return translate(language, "diagnosis", key, **values)


def _create_row(node: str, quantity: str, part: str = "", evidence: Iterable[Fact] = ()) -> dict[str, object]:
    row: dict[str, object] = dict.fromkeys(_COLUMNS, "")
    line = next((fact.quote() for fact in evidence), "")
    return row | {"node": node, "part": part, "quantity": quantity, "ratio": None, "line": line}


def _write_amount(quantity: Quantity, value: float | str | None) -> str:
    """A value with its unit."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if quantity == "busbw":
        return format_bandwidth(value)
    if quantity == "pair_bandwidth":
        return format_bandwidth(1e9 * value)
    if quantity in ("card_gbits", "port_gbits"):
        return f"{value:g} Gbit/s"
    return f"{value:g}"


def _write_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}"
    return str(value)
