"""Synthesis: the best schedule for this machine, found instead of chosen.

Three methods make ordinary Schedules, which are verified and timed as any other:

- `forests`: spanning trees packed at the narrowest cut (bandwidth);
- `greedy`: chunks matched with free pairs of ranks on a clock (any network, many ranks);
- `exact`: a solver finds the schedule of fewest steps and proves that there is none of fewer (small machines).
"""

from .solver import Answer, exact, least_steps
from .synthesize import Report, report, synthesize

__all__ = ["Answer", "Report", "exact", "least_steps", "report", "synthesize"]
