"""How the data of a job moves: as its log prints it, and as it would on the machine without a fault."""

from __future__ import annotations

from dataclasses import dataclass

from ..io.nccl.nccl_log_facts import LoggedChoice
from ..locale import translate
from ..nccl.model.links import FABRICS
from ..nccl.nccl_prediction import Prediction
from .evidence_pieces import Evidence, Fact

#: Words of NCCL's log for what connects GPUs of a node, and for networks.
_IN_NODE = {**dict.fromkeys((*FABRICS, "pcie"), "P2P"), "host": "SHM"}
_NETWORKS = {"ib": "IB", "roce": "IB", "tcp": "Socket"}


@dataclass(frozen=True)
class DataPath:
    """Transports, channels, algorithm, protocol and cards.

    Attributes:
        transports: in NCCL's words: `P2P`, `SHM`, `NET/IB/GDRDMA`, `NET/Socket` ...
        channels: of collectives; 0 where that is not known.
        algorithm: at the largest size; "" where that is not known.
        protocol: the same.
        cards: how many network cards a node uses; 0 where that is not known, or none is needed.
        evidence: lines that say so; empty for a prediction.

    Examples:
        >>> import collsim as cs
        >>> cs.diagnosis.DataPath(("SHM",), 4, "Tree", "Simple").text()
        'SHM, channels: 4, Tree, Simple'
    """

    transports: tuple[str, ...]
    channels: int = 0
    algorithm: str = ""
    protocol: str = ""
    cards: int = 0
    evidence: tuple[Fact, ...] = ()

    def text(self, language: str = "en") -> str:
        """Write it in a line.

        Args:
            language: `en` or `zh`.
        """
        words = list(self.transports)
        if self.channels:
            words.append(translate(language, "diagnosis", "path.channels", count=self.channels))
        words += filter(None, [self.algorithm, self.protocol])
        if self.cards:
            words.append(translate(language, "diagnosis", "path.cards", count=self.cards))
        return translate(language, "diagnosis", "path.separator").join(words)


def find_used_path(evidence: Evidence) -> DataPath | None:
    """Find what a job used, in the lines of its log.

    Args:
        evidence: all pieces.

    Returns:
        The path; None where no line says anything of it.
    """
    transports = evidence.select("nccl.transport")
    channels = evidence.select_values("nccl.channels", int)
    choices = evidence.select_values("nccl.choice", LoggedChoice)
    cards = evidence.select_values("nccl.cards", tuple)
    if not (transports or channels or choices):
        return None
    facts = [*transports]
    path = DataPath(tuple(str(fact.value) for fact in transports))
    count, algorithm, protocol, used_cards = 0, "", "", 0
    if channels:
        # A log may list channels several times (communicators split); the largest number is the job's.
        fact, count = max(channels, key=lambda pair: pair[1])
        facts.append(fact)
    if choices:
        fact, choice = max(choices, key=lambda pair: pair[1].nbytes)
        facts.append(fact)
        algorithm, protocol = choice.algorithm, choice.protocol
    # Cards matter only to a job that left the node.
    if any(transport.startswith("NET") for transport in path.transports) and cards:
        fact, names = max(cards, key=lambda pair: len(pair[1]))
        facts.append(fact)
        used_cards = len(names)
    return DataPath(path.transports, count, algorithm, protocol, used_cards, tuple(facts))


def predict_path(prediction: Prediction | None) -> DataPath | None:
    """Say how data moves on the machine of a prediction, in the words of NCCL's log.

    Args:
        prediction: of the largest size, on the machine without a fault; None where there is none.
    """
    if prediction is None:
        return None
    facts = prediction.facts
    transports: list[str] = []
    cards = 0
    if facts.ranks > facts.nodes:
        transports += filter(None, [_IN_NODE.get(facts.wiring, "")])
    if facts.nodes > 1:
        network = f"NET/{_NETWORKS.get(facts.net, facts.net)}"
        if facts.gdr:
            network += "/GDRDMA"
        transports.append(network)
        cards = round(facts.nics)
    return DataPath(tuple(transports), prediction.channels, prediction.algorithm, prediction.protocol, cards)
