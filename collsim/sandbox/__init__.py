"""Code of others: where it runs, what it may use, and how what it yields comes back.

`isolation` says how this system can isolate a process, `process` is the one launcher, `frames` the form of what comes
back, `attempt` reads it, `own` runs a learner's own function, `run_program` a rank program. SECURITY.md says what this
protects and what it does not.
"""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
    from .attempt import Attempt
    from .isolation import Isolation, NoIsolation, detect_isolation
    from .resource_limits import Limits

__all__ = ["Attempt", "Isolation", "Limits", "NoIsolation", "detect_isolation"]

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "attempt": ("Attempt",),
            "isolation": ("Isolation", "NoIsolation", "detect_isolation"),
            "resource_limits": ("Limits",),
        },
    )
