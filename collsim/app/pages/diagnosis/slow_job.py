"""Why is this job slow: the texts that somebody gives, and what they say. Nothing here knows Streamlit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from collsim.diagnosis import Diagnosis, diagnose

from ...jobs.worker import ReportProgress
from ...scenario.outcome import ignore_progress

#: Texts that a page takes, and characters of each.
MOST_TEXTS, LONGEST = 20, 4_000_000


@dataclass(frozen=True)
class JobTexts:
    """What somebody gave.

    Attributes:
        texts: names of files with their texts; a pasted one is called `text`.
        is_sample: whether it is the sample.
    """

    texts: tuple[tuple[str, str], ...] = ()
    is_sample: bool = False


def read_sample() -> JobTexts:
    """The sample: a job of eight H100 that exchanges data through host memory, written for the documentation."""
    folder = Path(__file__).parent / "sample"
    return JobTexts(tuple((file.name, file.read_text(encoding="utf-8")) for file in sorted(folder.iterdir())), True)


def diagnose_texts(evidence: JobTexts, report_progress: ReportProgress = ignore_progress) -> Diagnosis:
    """Diagnose the texts.

    Args:
        evidence: what was given.
        report_progress: called with the stage and the share that is done, 0 to 1.

    Raises:
        CollsimError: There is no text.
    """
    return diagnose(dict(evidence.texts))


def estimate_diagnosis(evidence: JobTexts) -> float:
    """Estimate how long it takes, s: a prediction for each hypothesis, and the reading of the texts.

    Args:
        evidence: what was given.
    """
    return 1.0 + sum(len(text) for _, text in evidence.texts) / 2e6
