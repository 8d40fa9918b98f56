"""What the page Lab shows of a run, predicted or measured, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....locale import Text


@dataclass(frozen=True)
class LabView:
    """What is shown. `figures` in s: predicted; where it was measured also median, best, low, high, calibrated."""

    document: dict[str, object]
    figures: dict[str, float]
    sentences: list[Text] = field(default_factory=list)
    processes: int = 0
    cores: int = 0
    checked: int = 0
