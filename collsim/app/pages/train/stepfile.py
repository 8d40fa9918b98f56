"""The step of the page Train as a file."""

from __future__ import annotations

import collsim as cs

from ...jobs.worker import ReportProgress
from ...scenario.files import gathered
from ...scenario.outcome import quietly
from ...shell import filebox
from ...shell.session import language, t
from . import steps
from .asked import TrainingChoice

#: What a step is written as, in the order of the menu (docs/training.md), and how many seconds that takes at most.
SUFFIXES = {"html": 6.0, "trace.json": 1.0, "json": 1.0, "csv": 1.0, "png": 2.0, "svg": 2.0, "py": 1.0, "et": 4.0}


def draw(choice: TrainingChoice) -> None:
    """The menu, the button, and the file."""
    labels = {suffix: f"{t(f'train.file.{suffix}')} (.{suffix})" for suffix in SUFFIXES}
    filebox.offered(labels, lambda suffix: (made, expected, (choice, suffix, language())))


def expected(choice: TrainingChoice, suffix: str, lang: str) -> float:
    """Seconds that `made` should take."""
    return SUFFIXES[suffix] + steps.expected(choice)


def made(
    choice: TrainingChoice, suffix: str, lang: str, report_progress: ReportProgress = quietly
) -> tuple[str, bytes]:
    """The name and the bytes of a file of the step, with the switches that are on. Raises CollsimError for what a
    format cannot hold."""
    now: cs.train.StepTrace = steps.switched(choice, steps.run(steps.bare(choice)))
    report_progress("run", 0.5)
    if suffix == "html":
        return gathered("collsim-step.html", lambda path: now.animate(lang).save(path))
    return gathered(f"collsim-step.{suffix}", now.save)
