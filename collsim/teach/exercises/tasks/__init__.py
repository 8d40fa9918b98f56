"""The exercises in the order in which they are met: from one chunk to two machines."""

from __future__ import annotations

from . import first, machines, ring, trees
from .task import Task

TASKS: dict[str, Task] = {task.name: task for module in (first, ring, trees, machines) for task in module.TASKS}
