"""Close the gap: one click shows what is synthesized for the run on Explore, raced against ring and tree."""

from __future__ import annotations

from functools import partial

from collsim.sweep.synthesized_algorithm import can_synthesize

from ...scenario.choice import Choice
from ...scenario.outcome import Outcome, build_topology, list_used_options
from ...shell import codebox
from ...shell.session import get_session, set_panels, t
from ...synthesis.box import draw_box, let_switches, offer
from ...synthesis.synthesis_result import can_switches_reduce, synthesize_for_run


def draw_offer(choice: Choice, outcome: Outcome) -> None:
    """Draw the button, where something could be synthesized.

    Args:
        choice: The run that is chosen.
        outcome: The run and its figures.
    """
    if outcome.figures.bound and can_synthesize(choice.collective) and not get_session().panels.synthesize:
        offer("synthesis_show", t("synthesis.show"), t("synthesis.show.help"), partial(set_panels, synthesize=True))


def draw_closing(choice: Choice) -> bool:
    """Draw what the button shows in place of the run. False: the run is to be drawn.

    Args:
        choice: The run that is chosen.
    """
    if not get_session().panels.synthesize:
        return False
    switches = get_session().panels.switches
    if can_switches_reduce(build_topology(choice)):
        let_switches(switches, lambda on: set_panels(switches=on))
    code = partial(_build_code, choice, switches)
    draw_box(synthesize_for_run, choice, switches, close=partial(set_panels, synthesize=False), code=code)
    return True


def _build_code(choice: Choice, switches: bool) -> None:
    used = list_used_options(choice, build_topology(choice))
    codebox.draw_synthesis_code(choice, used, switches=switches)
