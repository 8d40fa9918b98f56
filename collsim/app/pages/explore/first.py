"""The first minute: one run as a picture, a sentence and a button."""

from __future__ import annotations

from collsim.units import format_bytes

from ...classroom.class_sessions import PosedQuestion
from ...classroom.question_card import is_leading_class, open_class
from ...classroom.question_panel import draw_class_beside
from ...scenario.choice import Choice
from ...scenario.panels import ALL_CARDS
from ...scenario.simple_run import (
    SimpleView,
    build_simple_page,
    describe_view,
    run_simple,
    use_all_channels,
    use_single_channel,
)
from ...shell.address import finish_controls
from ...shell.controls import label_algorithm, label_nodes
from ...shell.filebox import build_run_exports
from ...shell.player import mount_simple_page
from ...shell.results import get_latest
from ...shell.session import get_language, get_session, set_panels, t


def draw() -> None:
    """Draw the simple page. A choice that cannot run leaves a sentence and the last run that worked."""
    finish_controls()
    now = get_session()
    latest_result = get_latest(run_simple, use_all_channels(now.choice), fallback=(Choice(),))
    if latest_result is None:
        return
    simple_runs, (choice,) = latest_result
    data = _build_data(simple_runs, choice)
    displayed = use_single_channel(choice)
    if get_session().panels.cards == ALL_CARDS:
        displayed = choice
    page = build_simple_page, (choice, data["title"], data["all"], get_language())
    data["exports"] = build_run_exports("simple_page", displayed, page)
    if not (now.panels.predict and simple_runs.questions and is_leading_class()):
        mount_simple_page(data, now.start, _switch, _ask_class)
        return
    number, count = min(now.panels.number, len(simple_runs.questions) - 1), len(simple_runs.questions)
    posed = PosedQuestion("first", number, count, simple_runs.questions[number].question, choice)
    picture, is_hidden = draw_class_beside(posed)
    with picture:
        classroom = {"number": number, "revealed": not is_hidden}
        mount_simple_page({**data, "classroom": classroom}, now.start, _switch, _ask_class)


def _ask_class(number: int) -> None:
    """Put a question of the picture to a class, of which one is opened.

    Args:
        number: Its number, from 0.
    """
    open_class()
    set_panels(predict=True, number=number)


def _build_data(simple_runs: SimpleView, choice: Choice) -> dict[str, object]:
    panels = get_session().panels
    title, all_cards = _build_title(simple_runs, choice), panels.cards == ALL_CARDS
    return {**describe_view(simple_runs, choice), "title": title, "all": all_cards, "predict": panels.predict}


def _build_title(simple_runs: SimpleView, choice: Choice) -> str:
    """`256 MiB allreduce, ring over 2 x DGX A100 (16 GPUs)`."""
    algorithm = label_algorithm(choice.algorithm, choice.collective)
    words = {"nbytes": format_bytes(simple_runs.nbytes), "collective": choice.collective, "algorithm": algorithm}
    return t("simple.title", machine=label_nodes(choice), ranks=simple_runs.ranks, **words)


def _switch(name: str, on: bool) -> None:
    """Keep what a reader switched on or off, for the address and for the full page."""
    if name == "cards":
        set_panels(cards=ALL_CARDS if on else "")
    else:
        set_panels(predict=on)
