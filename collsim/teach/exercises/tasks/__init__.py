"""The exercises in the order in which they are met: from one chunk to a step of training.

A file whose name begins with a number is a family, or one exercise; the number says where it stands in the order. A new
one with `TASKS` is all that a new exercise needs.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ..kinds.program_task import ProgramTask
from ..kinds.setting_task import SettingTask
from ..kinds.task import Task


def _load_tasks() -> list[Task | SettingTask | ProgramTask]:
    """All tasks in order. Raises ValueError for a name that stands in two files."""
    files = sorted(module.name for module in iter_modules(__path__) if module.name[0].isdecimal())
    modules = [import_module(f"{__name__}.{name}") for name in files]
    tasks: list[Task | SettingTask | ProgramTask] = [task for module in modules for task in module.TASKS]
    names = [task.name for task in tasks]
    if duplicates := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"exercises {sorted(duplicates)} stand twice in {__name__}")
    return tasks


_ALL = _load_tasks()
#: Exercises that are answered by an algorithm, by a setting, and by a rank program.
TASKS: dict[str, Task] = {task.name: task for task in _ALL if isinstance(task, Task)}
SETTINGS: dict[str, SettingTask] = {task.name: task for task in _ALL if isinstance(task, SettingTask)}
PROGRAMS: dict[str, ProgramTask] = {task.name: task for task in _ALL if isinstance(task, ProgramTask)}
#: What is handed in and graded.
GRADED: dict[str, Task | ProgramTask] = {**TASKS, **PROGRAMS}
