"""Synthesis: a schedule for this machine, found instead of chosen, and what is proved of it.

Three methods make ordinary Schedules, which are verified and timed as any other:

- `forests`: spanning trees packed at the narrowest cut, which no schedule can beat (bandwidth);
- `greedy`: chunks matched with free pairs of ranks on a clock, without any proof (any network, many ranks);
- `exact`: a solver finds the schedule of fewest steps and proves that there is none of fewer (small machines).
"""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
    from .process_groups import GroupSchedules, synthesize_groups
    from .route_choice import choose_routes
    from .solver import Answer, find_least_steps, solve_exactly
    from .switch_removal import RankPath, SplitNetwork, remove_switches
    from .synthesizer import Report, repair, report, synthesize

__all__ = [
    "Answer",
    "GroupSchedules",
    "RankPath",
    "Report",
    "SplitNetwork",
    "choose_routes",
    "find_least_steps",
    "remove_switches",
    "repair",
    "report",
    "solve_exactly",
    "synthesize",
    "synthesize_groups",
]

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "process_groups": ("GroupSchedules", "synthesize_groups"),
            "route_choice": ("choose_routes",),
            "solver": ("Answer", "find_least_steps", "solve_exactly"),
            "switch_removal": ("RankPath", "SplitNetwork", "remove_switches"),
            "synthesizer": ("Report", "repair", "report", "synthesize"),
        },
    )
