"""Code of others: where it runs, what it may use, and how what it yields comes back.

`isolation` says how this system can isolate a process, `process` is the one launcher, `frames` the form of what comes
back, `attempt` reads it, `own` runs a learner's own function, `run_program` a rank program. SECURITY.md says what this
protects and what it does not.
"""

from __future__ import annotations

from .attempt import Attempt
from .isolation import Isolation, NoIsolation, detect_isolation
from .resource_limits import Limits

__all__ = ["Attempt", "Isolation", "Limits", "NoIsolation", "detect_isolation"]
