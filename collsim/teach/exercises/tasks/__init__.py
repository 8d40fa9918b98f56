"""The exercises in the order in which they are met: from one chunk to two machines."""

from __future__ import annotations

from ..exercise import Task
from . import first, machines, ring, trees

TASKS: dict[str, Task] = {task.name: task for module in (first, ring, trees, machines) for task in module.TASKS}
