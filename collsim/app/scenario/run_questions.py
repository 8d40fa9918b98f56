"""Questions about a run, and a run with one thing broken, as plain data for the pages. Nothing here knows Streamlit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from collsim.teach import break_it, questions
from collsim.teach.quiz.question import Question
from collsim.viz.timeline.timeline_document import build_timeline, encode

from ..jobs.job_spec import job, report_progress
from .choice import Choice
from .outcome import estimate_outcome, simulate
from .panels import MAX_QUESTIONS

# In runs of `outcome`: questions run it again with twice the bytes and with every kind of link doubled, a broken run
# twice.
_RUNS_OF_QUESTIONS, _RUNS_OF_BROKEN = 3.0, 1.5


@dataclass(frozen=True)
class BrokenRun:
    """A broken run.

    Attributes:
        what: was done to it.
        verdict: what the checker or the clock answers, steps counted from 1.
        timeline: for the player, which points at the first wrong cell by itself; None where there is no such run.
        right: the data still come out right.
    """

    what: str
    verdict: str
    timeline: dict[str, Any] | None
    right: bool


@job(lambda choice, _: _RUNS_OF_QUESTIONS * estimate_outcome(choice))
def ask_about_run(choice: Choice, seed: int) -> list[Question]:
    """Questions about a run.

    Args:
        choice: The run that is chosen.
        seed: Chooses the questions: the same number, the same questions.

    Raises:
        CollsimError: where there are none
    """
    report_progress("run", 0.0)
    return questions(simulate(choice), seed, MAX_QUESTIONS)


@job(lambda choice, *_: _RUNS_OF_BROKEN * estimate_outcome(choice))
def break_run(choice: Choice, breakage: str, position: int, language: str) -> BrokenRun:
    """A run with one thing broken.

    Args:
        choice: The run that is chosen.
        breakage: Name of what is broken.
        position: Number of the variant: which transfer or rank is meant.
        language: `en` or `zh`.

    Raises:
        CollsimError: for one that cannot be taken apart
    """
    report_progress("run", 0.0)
    broken_run = break_it(simulate(choice), breakage, position, language)
    report_progress("run", 0.6)
    verdict = broken_run.verdict
    if broken_run.trace is None:
        return BrokenRun(broken_run.what, verdict, None, broken_run.error is None)
    document = build_timeline(broken_run.trace)
    if document["mistake"] is not None:
        verdict = document["mistake"]["text"][language]
    return BrokenRun(broken_run.what, verdict, encode(document), broken_run.error is None)
