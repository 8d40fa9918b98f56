"""The exercises by name, in a language."""

from __future__ import annotations

from ...display.catalog import Catalog
from ...errors import require_language, require_word
from ...errors.arguments import check_arguments
from .exercise import Exercise
from .kinds.setting_task import SettingExercise
from .program_exercise import ProgramExercise
from .tasks import PROGRAMS, SETTINGS, TASKS


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
