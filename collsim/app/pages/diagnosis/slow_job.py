"""Why is this job slow: the texts that somebody gives, and what they say. Nothing here knows Streamlit."""

from __future__ import annotations

from dataclasses import dataclass

from collsim.diagnosis import Diagnosis, diagnose, list_studied_cases

from ...jobs.worker import ReportProgress
from ...scenario.outcome import ignore_progress

#: Texts that a page takes, and characters of each.
MOST_TEXTS, LONGEST = 20, 4_000_000


@dataclass(frozen=True)
class JobTexts:
    """What somebody gave, or a studied case.

    Attributes:
        pieces: names of files with their texts; a pasted one is called `text`.
        case: key of a studied case, where there are no pieces.
    """

    pieces: tuple[tuple[str, str], ...] = ()
    case: str = ""

    @property
    def texts(self) -> dict[str, str]:
        """The texts to diagnose by their names."""
        if self.case:
            return dict(list_studied_cases()[self.case].texts)
        return dict(self.pieces)


def diagnose_texts(evidence: JobTexts, report_progress: ReportProgress = ignore_progress) -> Diagnosis:
    """Diagnose the texts.

    Args:
        evidence: what was given.
        report_progress: called with the stage and the share that is done, 0 to 1.

    Raises:
        CollsimError: There is no text.
    """
    return diagnose(evidence.texts)


def estimate_diagnosis(evidence: JobTexts) -> float:
    """Estimate how long it takes, s: a prediction for each hypothesis, and the reading of the texts.

    Args:
        evidence: what was given.
    """
    return 1.0 + sum(len(text) for text in evidence.texts.values()) / 2e6
