"""Questions about a run, and a run with one thing broken, as plain data for the pages. Nothing here knows Streamlit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from collsim.teach import break_it, questions
from collsim.teach.questions.question import Question
from collsim.viz.timeline.document import build_timeline, encode

from ..jobs.worker import ReportProgress
from .choice import Choice
from .outcome import expected_outcome, quietly, simulate
from .panels import MOST_QUESTIONS

# In runs of `outcome`: questions run it again with twice the bytes and with every kind of link doubled, a broken run
# twice.
_RUNS_OF_QUESTIONS, _RUNS_OF_BROKEN = 3.0, 1.5


@dataclass(frozen=True)
class BrokenRun:
    """A broken run.

    Attributes:
        what: was done to it; says: what the checker or the clock answers, steps counted from 1.
        timeline: for the player, which points at the first wrong cell by itself; None where there is no such run.
        right: the data still come out right.
    """

    what: str
    says: str
    timeline: dict[str, Any] | None
    right: bool


def asked_about(choice: Choice, seed: int, report_progress: ReportProgress = quietly) -> list[Question]:
    """Questions about a run. Raises CollsimError where there are none."""
    report_progress("run", 0.0)
    return questions(simulate(choice), seed, MOST_QUESTIONS)


def expected_questions(choice: Choice, seed: int) -> float:
    """Seconds that `asked_about` should take."""
    return _RUNS_OF_QUESTIONS * expected_outcome(choice)


def broken(choice: Choice, way: str, place: int, lang: str, report_progress: ReportProgress = quietly) -> BrokenRun:
    """A run with one thing broken. Raises CollsimError for one that cannot be taken apart."""
    report_progress("run", 0.0)
    found = break_it(simulate(choice), way, place, lang)
    report_progress("run", 0.6)
    made = None if found.trace is None else build_timeline(found.trace)
    at = made["mistake"] if made else None
    says = at["text"][lang] if at else found.says
    return BrokenRun(found.what, says, encode(made) if made else None, found.error is None)


def expected_broken(choice: Choice, way: str, place: int, lang: str) -> float:
    """Seconds that `broken` should take."""
    return _RUNS_OF_BROKEN * expected_outcome(choice)
