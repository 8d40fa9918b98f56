"""The exercises in the order in which they are met: from one chunk to two machines.

A file is a family, or one exercise. A new one here with `TASKS` is all that a new exercise needs; the number in its
name says where it stands in the order.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ....errors import CollsimError
from .task import Task


def _found() -> dict[str, Task]:
    """All tasks by name. Raises CollsimError for a name that stands in two files."""
    found: dict[str, Task] = {}
    for name in sorted(module.name for module in iter_modules(__path__) if module.name != "task"):
        for task in import_module(f"{__name__}.{name}").TASKS:
            if task.name in found:
                raise CollsimError(f"exercise {task.name!r} stands twice in {__name__}")
            found[task.name] = task
    return found


TASKS: dict[str, Task] = _found()
