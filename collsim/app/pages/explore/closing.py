"""Close the gap: one click shows what is synthesized for the run on Explore, raced against ring and tree."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from collsim.sweep.synthesized import can_be

from ...scenario.choice import Choice
from ...scenario.outcome import Outcome, build_place, options_used
from ...shell import codebox
from ...shell.session import session, t
from ...synthesis.box import box, let_switches, offer
from ...synthesis.found import expected_of_run, of_run, reduces


def panel(choice: Choice, shown: Outcome) -> bool:
    """Draw the button, or what it shows in place of the run. False: the run is to be drawn."""
    if not session().panels.synthesize:
        if shown.figures.bound and can_be(choice.collective):
            offer("synthesis_show", t("synthesis.show"), t("synthesis.show.help"), partial(_turned, True))
        return False
    switches = session().panels.switches
    if reduces(build_place(choice)):
        let_switches(switches, _switched)
    code = partial(_code, choice, switches)
    box(of_run, choice, switches, expected=expected_of_run, close=partial(_turned, False), code=code)
    return True


def _code(choice: Choice, switches: bool) -> None:
    used = options_used(choice.algorithm, dict(choice.options), build_place(choice), choice.on_machine)
    codebox.of_synthesis(choice, used, switches=switches)


def _turned(on: bool) -> None:
    now = session()
    now.panels = replace(now.panels, synthesize=on)


def _switched(on: bool) -> None:
    now = session()
    now.panels = replace(now.panels, switches=on)
