"""Teaching: exercises that check themselves, questions made from a run, worksheets, grading.

>>> from collsim.teach import exercise
>>> exercise("send-one-chunk").hint(1)
'A function of n yields steps; a step is made with copy or reduce.'
"""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
    from .breaking import BreakResult, break_it
    from .exercises.exercise import Exercise, Result
    from .exercises.exercise_catalogue import exercise, list_exercises, settings
    from .exercises.grading import grade, summarize
    from .exercises.kinds.program_task import ProgramTask
    from .exercises.kinds.setting_task import SettingExercise, SettingResult
    from .exercises.kinds.task import Task
    from .exercises.program_exercise import ProgramExercise, ProgramResult
    from .exercises.solved_exercises import progress, progress_path
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
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "breaking": ("BreakResult", "break_it"),
            "exercises.exercise": ("Exercise", "Result"),
            "exercises.exercise_catalogue": ("exercise", "list_exercises", "settings"),
            "exercises.grading": ("grade", "summarize"),
            "exercises.kinds.program_task": ("ProgramTask",),
            "exercises.kinds.setting_task": ("SettingExercise", "SettingResult"),
            "exercises.kinds.task": ("Task",),
            "exercises.program_exercise": ("ProgramExercise", "ProgramResult"),
            "exercises.solved_exercises": ("progress", "progress_path"),
            "quiz.question": ("Question", "Reply"),
            "quiz.questions": ("questions",),
            "quiz.worksheet": ("worksheet",),
        },
    )
