"""The ES module players, hosted by Streamlit components: one mount each, one key, a timeline under an id."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import streamlit as st

from collsim.viz.race.race_document import RacingRun, describe_runners

from ..server.page_delivery import write_loader
from .filebox import hear_export
from .session import get_language, is_dark


@dataclass(frozen=True)
class UnansweredQuestion:
    """A question that is not answered yet.

    Attributes:
        answer_step: The step, counted from 1, in which the run shows the answer: the player stops before it. None where
            no step shows it.
        skip: Is called when somebody wants to see the answer without choosing one.
    """

    answer_step: int | None
    skip: Callable[[], None]


Hidden = Literal["", "phases", "figures"]


def look() -> dict[str, str]:
    """The language and the theme, as every component takes them."""
    return {"language": get_language(), "theme": "dark" if is_dark() else "light"}


def mount_bundle(name: str, key: str, data: Mapping[str, Any], **listeners: Any) -> None:
    """Mount a component that is loaded from its bundle, with the language and the theme.

    Args:
        name: Of the component.
        key: Of the component, one for each place.
        data: What its module takes; its `id` names what is drawn, and the same name means that nothing starts again.
        **listeners: Called when the component changes a value, as `on_NAME_change`.
    """
    mount = st.components.v2.component(f"collsim_{name}", js=write_loader(name))
    mount(key=key, data={**look(), **data}, **listeners)


def mount_player(
    timeline: Mapping[str, Any],
    run: str,
    start: Mapping[str, Any],
    key: str = "player",
    *,
    hides: Hidden = "",
    question: UnansweredQuestion | None = None,
    panel: Mapping[str, Any] | None = None,
    exports: Mapping[str, Any] | None = None,
    on_edit: Callable[[], None] | None = None,
) -> None:
    """Mount the player. It plays on over reruns, and reports only what is changed of its machine: the browser keeps its
    moment.

    Args:
        timeline: as `collsim.viz.timeline.encode` returns it.
        run: names the run; the same name means the same picture, and nothing starts again.
        start: `t` (s), `view` and open `node` at which it begins, as far as they are given.
        key: of the component, another one on every page.
        hides: What a question that is open asks: where phases end, or all figures of the run. Empty: nothing.
        question: The question that is open beside the run, where a step of it shows the answer.
        panel: what can be changed of the machine in the picture; None for nothing.
        exports: What its menu offers, as `filebox.build_exports` returns it; None for what the browser makes alone.
        on_edit: is called when somebody changes it; the component's `edit` says what.
    """
    begins = {name: start.get(name) for name in ("t", "view", "node")}
    answer_step = None if question is None else question.answer_step
    options = {"hides": hides, "answerStep": answer_step, "editing": panel, "exports": exports}
    mount_bundle(
        "player",
        key,
        {"id": run, "timeline": timeline, **options, **begins},
        on_edit_change=on_edit or _ignore,
        on_export_change=partial(hear_export, key),
        on_skip_change=_ignore if question is None else question.skip,
    )


def _ignore() -> None:
    """What a component without an editor calls."""


#: Height of the picture of a machine alone, px.
_MACHINE_HEIGHT = 380


def mount_machine(timeline: Mapping[str, Any], run: str, panel: Mapping[str, Any], on_edit: Callable[[], None]) -> None:
    """Mount the picture of a machine that is edited.

    Args:
        timeline: as `collsim.viz.timeline.machine_timeline` builds it.
        run: names the machine; the same name means the same picture.
        panel: what can be changed of it.
        on_edit: is called when somebody changes it.
    """
    options = {"compact": _MACHINE_HEIGHT, "idle": True, "view": "physical"}
    data = {"id": run, "timeline": timeline, "editing": panel, **options}
    mount_bundle("player", "machine_picture", data, on_edit_change=on_edit)


def mount_simple_page(
    data: dict[str, Any],
    start: Mapping[str, Any],
    report: Callable[[str, bool], None],
    ask_class: Callable[[int], None],
) -> None:
    """Mount the simple page.

    It stands in no fragment: it shares the page with the switches at its head only, and what is sent together with one
    of them has to rerun the whole page.

    Args:
        data: as the module `simple.js` takes it.
        start: `t` (s) at which the run begins, where it is given.
        report: is called with `cards` or `predict`, and on or off, when a reader switches that.
        ask_class: is called with the number of a question, from 0, that is to be put to a class.
    """

    def switched(name: str) -> None:
        """A switch was thrown.

        Args:
            name: The name.
        """
        report(name, bool(st.session_state["simple_page"][name]))

    def put_question() -> None:
        """A question is to be put to a class."""
        # A component's value comes from the browser and may be anything.
        number = st.session_state["simple_page"]["question"]
        if isinstance(number, int):
            ask_class(max(0, number))

    mount_bundle(
        "simple",
        "simple_page",
        {**data, "t": start.get("t")},
        on_cards_change=partial(switched, "cards"),
        on_predict_change=partial(switched, "predict"),
        on_question_change=put_question,
        on_export_change=partial(hear_export, "simple_page"),
    )


def mount_race(
    runners: Sequence[RacingRun],
    ident: str,
    key: str,
    seconds: float | None,
    exports: Mapping[str, Any] | None = None,
    *,
    hides: bool = False,
) -> None:
    """Mount runs side by side on one clock: each with its name and a note, from a moment (s) if one is given.

    Args:
        runners: The runs, each with its name and a note.
        ident: Name of what is played: another one begins anew.
        key: Key of the text or control.
        seconds: Moment to begin at, seconds; None for the start.
        exports: What its menu offers, as `filebox.build_exports` returns it; None for what the browser makes alone.
        hides: A class is asked who ends first: nothing is shown that tells.
    """
    rows = describe_runners(runners, get_language())
    data = {"id": ident, "runners": rows, "verdict": key == "race", "hides": hides, "exports": exports}
    if hides:  # another run from its start for the browser, which else plays on where it was, and tells who ends first
        data |= {"id": f"{ident} asked", "t": 0}
    elif seconds is not None:
        data["t"] = seconds
    mount_bundle("race", key, data, on_export_change=partial(hear_export, key))
