"""The first minute: one run as a picture, a sentence and a button."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from collsim.units import format_bytes

from ...scenario.choice import Choice
from ...scenario.panels import ALL_CARDS
from ...scenario.simple import SimpleShown, expected_simple, run_name, simple, single, whole
from ...shell.address import leave
from ...shell.controls import algorithm_label, place_label
from ...shell.notes import complain
from ...shell.player import simple_page
from ...shell.results import latest
from ...shell.session import session, t


def draw() -> None:
    """Draw the simple page. A choice that cannot run leaves a sentence and the last run that worked."""
    leave()
    now = session()
    complain(now.complaints)
    event = now.choice.engine == "event"
    found = latest(simple, whole(now.choice), expected=expected_simple, compiled=event, otherwise=(Choice(),))
    if found is None:
        return
    shown, (choice,) = found
    simple_page(_data(shown, choice), now.start, _switch)


def _data(shown: SimpleShown, choice: Choice) -> dict[str, Any]:
    panels = session().panels
    return {
        "id": run_name(choice),
        "names": [run_name(single(choice)), run_name(choice)],
        "title": _title(shown, choice),
        "runs": [run and asdict(run) for run in shown.runs],
        "all": panels.cards == ALL_CARDS,
        "predict": panels.predict,
        "questions": list(shown.questions),
    }


def _title(shown: SimpleShown, choice: Choice) -> str:
    """`256 MiB allreduce, ring over 2 x DGX A100 (16 GPUs)`."""
    place = place_label(choice.place)
    place = place if choice.copies == 1 else t("race.nodes", place=place, count=choice.nodes)
    algorithm = algorithm_label(choice.algorithm, choice.collective)
    words = {"nbytes": format_bytes(shown.nbytes), "collective": choice.collective, "algorithm": algorithm}
    return t("simple.title", place=place, ranks=shown.ranks, **words)


def _switch(name: str, on: bool) -> None:
    """Keep what a reader switched on or off, for the address and for the full page."""
    now = session()
    if name == "cards":
        now.panels = replace(now.panels, cards=ALL_CARDS if on else "")
    else:
        now.panels = replace(now.panels, predict=on)
