"""Teaching: exercises that check themselves, questions made from a run, worksheets, grading.

>>> from collsim.teach import exercise
>>> exercise("send-one-chunk").hint(1)
'A function of n yields steps; a step is made with copy or reduce.'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..display.catalog import Catalog
from ..errors import require_language, require_word
from ..errors.arguments import check_arguments
from ..errors.attributes import answer_for_package
from .breaking import BreakResult, break_it
from .exercises.exercise import Exercise, Result
from .exercises.grading import grade, summarize
from .exercises.kinds.program_task import ProgramTask
from .exercises.kinds.setting_task import SettingExercise, SettingResult
from .exercises.kinds.task import Task
from .exercises.program_exercise import ProgramExercise, ProgramResult
from .exercises.solved_exercises import progress, progress_path
from .exercises.tasks import PROGRAMS, SETTINGS, TASKS
from .quiz.question import Question, Reply
from .quiz.questions import questions
from .quiz.worksheet import worksheet

__all__ = [
    "BreakResult",
    "Exercise",
    "ProgramExercise",
    "ProgramResult",
    "ProgramTask",
    "Question",
    "Reply",
    "Result",
    "SettingExercise",
    "SettingResult",
    "Task",
    "break_it",
    "exercise",
    "grade",
    "list_exercises",
    "progress",
    "progress_path",
    "questions",
    "settings",
    "summarize",
    "worksheet",
]


if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(__name__, __all__)


@check_arguments
def list_exercises(language: str = "en") -> Catalog[Exercise]:
    """All exercises by name, in the order in which they are met.

    Args:
        language: `en` or `zh`.

    Returns:
        A mapping from names to exercises, which prints as a table.

    Examples:
        >>> import collsim as cs
        >>> "ring-allreduce" in cs.teach.list_exercises()
        True
    """
    exercises = {name: Exercise(task, require_language(language)) for name, task in TASKS.items()}
    return Catalog(exercises, lambda entry: {"title": entry.title, "collective": entry.task.collective})


@check_arguments
def exercise(name: str, language: str = "en") -> Exercise | SettingExercise | ProgramExercise:
    """One exercise by name: about an algorithm, a setting of a training step (`settings`), or a rank program.

    Args:
        name: `ring-allreduce`, `small-bubble` ...
        language: `en` or `zh`, the language of its texts.

    Returns:
        The exercise, whose `check` tries an answer.

    Raises:
        CollsimError: For an unknown name, with the nearest, and an unknown language.

    Examples:
        >>> import collsim as cs
        >>> cs.exercise("ring-allreduce").title
        'Ring allreduce'
    """
    require_word("exercise", name, [*TASKS, *SETTINGS, *PROGRAMS])
    if name in SETTINGS:
        return settings(language)[name]
    if name in PROGRAMS:
        return ProgramExercise(PROGRAMS[name], require_language(language))
    return Exercise(TASKS[name], require_language(language))


@check_arguments
def settings(language: str = "en") -> dict[str, SettingExercise]:
    """The exercises that are answered by a value: what to set in a step of training.

    Args:
        language: `en` or `zh`, the language of their texts.

    Returns:
        The exercises by name.

    Raises:
        CollsimError: For an unknown language.

    Examples:
        >>> import collsim as cs
        >>> cs.teach.settings()["small-bubble"].check(4).passed
        False
    """
    return {name: SettingExercise(task, require_language(language)) for name, task in SETTINGS.items()}
