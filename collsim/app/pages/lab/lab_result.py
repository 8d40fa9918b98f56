"""What the page Lab shows of a run, predicted or measured, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....locale import Text


@dataclass(frozen=True)
class LabView:
    """What the page shows of a run.

    Attributes:
        document: What the player draws.
        figures: Seconds by name: predicted; where the run was measured also median, best, low, high and calibrated.
        sentences: What is said about the run.
        processes: Number of processes that ran.
        cores: Number of cores of this computer.
        checked: How many results were compared with the right ones.
    """

    document: dict[str, object]
    figures: dict[str, float]
    sentences: list[Text] = field(default_factory=list)
    processes: int = 0
    cores: int = 0
    checked: int = 0
