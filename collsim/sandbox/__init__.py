"""Code of others: where it runs, what it may use, and how what it yields comes back.

`fence` says which walls there are, `process` is the one launcher, `frames` the form of what comes back, `attempt` what
is made of it, `own` the way for a learner's own function. SECURITY.md says what this protects, and what it does not.
"""

from __future__ import annotations

from .attempt import Attempt
from .fence import NoWalls, Walls, walls
from .limits import Limits

__all__ = ["Attempt", "Limits", "NoWalls", "Walls", "walls"]
