"""The exercises in the order in which they are met: from one chunk to a step of training.

A file whose name begins with a number is a family, or one exercise; the number says where it stands in the order. A new
one with `TASKS` is all that a new exercise needs.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from .setting import SettingTask
from .task import Task


def _load_tasks() -> list[Task | SettingTask]:
    """All tasks in order. Raises ValueError for a name that stands in two files."""
    files = sorted(module.name for module in iter_modules(__path__) if module.name[0].isdecimal())
    tasks: list[Task | SettingTask] = [task for name in files for task in import_module(f"{__name__}.{name}").TASKS]
    names = [task.name for task in tasks]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"exercises {sorted(twice)} stand twice in {__name__}")
    return tasks


_ALL = _load_tasks()
#: Exercises that are answered by an algorithm, and those that are answered by a setting.
TASKS: dict[str, Task] = {task.name: task for task in _ALL if isinstance(task, Task)}
SETTINGS: dict[str, SettingTask] = {task.name: task for task in _ALL if isinstance(task, SettingTask)}
