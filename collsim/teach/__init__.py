"""Teaching: exercises that check themselves, questions made from a run, worksheets, grading.

>>> from collsim.teach import exercise
>>> exercise("send-one-chunk").hint(1)
'A function of n yields steps; a step is made with copy or reduce.'
"""

from __future__ import annotations

from ..errors import CollsimError, unknown
from .breaking import Broken, break_it
from .exercises.exercise import Exercise, Result
from .exercises.grading import grade, summary
from .exercises.progress import progress, progress_path
from .exercises.tasks import TASKS
from .exercises.tasks.task import Task
from .language import language
from .questions.question import Question, Reply
from .questions.questions import questions
from .questions.worksheet import worksheet

__all__ = [
    "Broken",
    "Exercise",
    "Question",
    "Reply",
    "Result",
    "Task",
    "break_it",
    "exercise",
    "exercises",
    "grade",
    "progress",
    "progress_path",
    "questions",
    "summary",
    "worksheet",
]


def exercises(lang: str = "en") -> dict[str, Exercise]:
    """All exercises by name, in the order in which they are met.

    Args:
        lang: `en` or `zh`.
    """
    return {name: Exercise(task, language(lang)) for name, task in TASKS.items()}


def exercise(name: str, lang: str = "en") -> Exercise:
    """One exercise by name. Raises CollsimError with the nearest names."""
    if name not in TASKS:
        raise CollsimError(unknown("exercise", name, TASKS))
    return Exercise(TASKS[name], language(lang))
