"""The step of the page Train as a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from collsim.viz.pictures.training_plots import write_step_film, write_step_picture

from ...jobs.job_spec import job, report_progress
from ...scenario.run_files import gather_files, has_ffmpeg
from ...shell import filebox
from ...shell.session import get_language, t
from . import step_scenarios
from .training_choice import TrainingChoice

#: What a step is written as, in the order of the menu (docs/training.md), and how many seconds that takes at most.
SUFFIXES = {
    "html": 6.0,
    "trace.json": 1.0,
    "json": 1.0,
    "csv": 1.0,
    "png": 2.0,
    "svg": 2.0,
    "gif": 8.0,
    "mp4": 20.0,
    "py": 1.0,
    "et": 4.0,
}


def draw(choice: TrainingChoice) -> None:
    """The menu, the button, and the file.

    Args:
        choice: The step of training that is chosen.
    """
    labels = {
        suffix: f"{t(f'train.file.{suffix}')} (.{suffix})" for suffix in SUFFIXES if suffix != "mp4" or has_ffmpeg()
    }
    filebox.draw_offer(labels, lambda suffix: (build_file, (choice, suffix, get_language())))


def build_exports(choice: TrainingChoice) -> dict[str, object]:
    """What the menu of the picture is given.

    Args:
        choice: The step of training that is chosen.
    """
    language = get_language()
    return filebox.build_exports(
        "step",
        lambda kind, moment: (
            build_file,
            (choice, kind, language, moment if kind in ("html", "svg", "png") else None),
        ),
    )


def estimate_file(choice: TrainingChoice, suffix: str, language: str, t: float | None = None) -> float:
    """Seconds that `build_file` should take.

    Args:
        choice: The step of training that is chosen.
        suffix: Suffix of the file, for example `.json`.
        language: `en` or `zh`.
        t: Moment that is shown, seconds.
    """
    return SUFFIXES[suffix] + step_scenarios.estimate_step(choice)


@job(estimate_file)
def build_file(
    choice: TrainingChoice,
    suffix: str,
    language: str,
    t: float | None = None,
) -> tuple[str, bytes]:
    """The name and the bytes of a file of the step, with the switches that are on.

    Args:
        choice: The step of training that is chosen.
        suffix: Suffix of the file, for example `.json`.
        language: `en` or `zh`.
        t: Moment at which a page begins, or that a picture marks, seconds; None for none.

    Raises:
        CollsimError: for what a format cannot hold
    """
    now = step_scenarios.time_switched_step(choice)
    report_progress("run", 0.5)
    writers: dict[str, Callable[[Path], object]] = {
        "html": lambda path: now.animate(language, t=t).save(path),
        "gif": lambda path: write_step_film(now, path, language),
        "mp4": lambda path: write_step_film(now, path, language),
        "png": lambda path: write_step_picture(now, path, language, t),
        "svg": lambda path: write_step_picture(now, path, language, t),
    }
    return gather_files(f"collsim-step.{suffix}", writers.get(suffix, now.save))
