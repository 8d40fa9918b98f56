"""Train: one step of training, its timeline, what would change it, and three ways on one clock."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from collsim.units import format_bytes, format_time
from collsim.viz.training.document import build_rivals_source, build_step_source

from ...scenario.address import size_word
from ...scenario.mistakes import sentence
from ...shell import codebox
from ...shell.address import leave, menu, remember, remembered
from ...shell.codebox import CodePart
from ...shell.controls import folded, forget
from ...shell.notes import complain, figure, headline, mistake, quantity_figure, small, title, verdict
from ...shell.page import page
from ...shell.player import look
from ...shell.results import latest
from ...shell.session import language, session, t
from . import asked, growthview, rivals, stepfile, steps
from .asked import PLAIN, TrainingChoice
from .code import command, script
from .controls import controls
from .steps import ChangedStep, CollectiveOpened, StepShown
from .tabs import tabs

PAGE = "train"
Pair = tuple[str, str]


@page(PAGE, 15, address=asked.ADDRESS, moment=("t",), run=lambda value: _timed(value), on_machine=asked.on)
def draw() -> None:
    """Draw the page: controls in the sidebar, figures and the sentence, the card of the step or the race."""
    choice: TrainingChoice = controls(remembered(PAGE))
    top = st.container()
    choice = replace(choice, show=tabs(choice.show))
    leave(choice)
    with top:
        complain(session().complaints)
    made = None
    if choice.show == "race":
        _race(choice, top)
    elif choice.show == "scaling":
        growthview.draw(_timed(choice), top)
    else:
        made = _step(choice, top)
    torch = codebox.torch_of_step(made.torch) if made is not None else []
    with st.expander(t("code.title")):
        codebox.draw(
            [CodePart(t("python"), script(choice), "python"), *torch],
            [CodePart(t("cli"), command(choice), note=t("train.torch"))],
            (choice.own,) if choice.own else (),
        )
    if made is not None:
        folded("files", t("tab.files"), partial(stepfile.draw, _timed(choice)))


def _timed(choice: TrainingChoice) -> TrainingChoice:
    """What of it decides when things happen: not what is opened, nor how it is shown."""
    return replace(choice, open="", show=PLAIN.show, every=False)


# ---- one step ------------------------------------------------------------------------------------------------------


def _step(choice: TrainingChoice, top: Any) -> StepShown | None:
    timed = _timed(choice)
    with top:
        found = latest(
            steps.shown,
            timed,
            expected=steps.expected,
            compiled=steps.engine_needed(timed),
            otherwise=(PLAIN,),
        )
    if found is None:
        return None
    made: StepShown = found[0]
    drawn: TrainingChoice = found[1][0]
    with top:
        _headline(made)
    _card(made, drawn, choice)
    return made


def _headline(made: StepShown) -> None:
    """Four figures and the sentence."""
    row, said = made.figures, {about: pair[language() == "zh"] for about, pair in made.said.items()}
    notes = []
    if row["interference_time"] > 1e-3 * row["time"]:
        notes.append(t("train.exposed.interference", slowed=format_time(row["interference_time"])))
    if row["bubble"] > 1e-3 * row["time"]:
        notes.append(t("train.exposed.idle", idle=format_time(row["bubble"])))
    number, _, unit = format_time(row["exposed"]).partition(" ")
    head, _, why = said["network"].partition(": " if language() == "en" else "：")
    lines = [why[:1].upper() + why[1:] if why else "", said.get("overlap", ""), said.get("use", "")]
    headline(
        quantity_figure(
            small(t("train.time")),
            format_time(row["time"]),
            t("train.rate", rate=f"{row['samples_per_second']:,.0f}"),
        ),
        figure(
            small(t("train.exposed")),
            f"{number} ",
            unit,
            t("train.exposed.note", share=f"{100 * row['exposed'] / row['time']:.3g} %"),
            *notes,
        ),
        figure(
            small(t("train.overlapped")),
            f"{100 * row['overlapped']:.3g} ",
            "%",
            t("train.overlapped.note", whole=format_time(row["communication"])),
        ),
        quantity_figure(small(t("train.memory")), format_bytes(row["memory"]), t("train.memory.note")),
        verdict(
            head if why else said["network"],
            *filter(None, [lines[0], "".join(lines[1:]) if language() == "zh" else " ".join(filter(None, lines[1:]))]),
            name=small(t("train.why")),
            token="full" if row["exposed"] > 0.02 * row["time"] else "done",
        ),
    )


def _card(made: StepShown, drawn: TrainingChoice, choice: TrainingChoice) -> None:
    """The card of the step; with the collective that is open in it."""
    rows = made.document["collectives"]
    chosen = None if choice.open == "none" else steps.named(rows, choice.open)
    if choice.open not in ("", "none") and chosen is None:
        known = ", ".join(row["name"] for row in rows[:8])
        mistake(t("train.open.unknown", name=choice.open, known=known or "–"))
    opened = None
    if chosen is not None:
        found = latest(steps.opened, drawn, chosen["task"], expected=steps.expected_opened, compiled=True, only=True)
        opened = found[0] if found is not None else None
    mount = st.components.v2.component("collsim_step", js=build_step_source())
    data = {
        "id": repr(drawn),
        "step": made.document,
        "ghost": made.ghost,
        "rows": [_change(one) for one in made.changes],
        "curve": [list(point) for point in made.curve],
        "usual": made.usual,
        "asked": bool(drawn.bucket),
        "open": chosen["name"] if chosen else "",
        "opened": _opened(opened) if opened is not None and chosen is not None else None,
        "every": choice.every,
        **look(),
        "t": session().start.get("t"),
    }
    mount(key="step", data=data, on_act_change=_acted)


def _change(one: ChangedStep) -> dict[str, Any]:
    """A switch as the card shows it."""
    trouble = sentence(one.trouble, language()) if one.trouble is not None else ""
    why = one.why[language() == "zh"]
    return {"name": one.name, "on": one.on, "before": one.before, "after": one.after, "why": why, "trouble": trouble}


def _opened(one: CollectiveOpened) -> dict[str, Any]:
    """The collective that is open, as the card shows it."""
    page = menu()["explore"].url_path if one.query is not None else ""
    link = f"{page or '/'}?{urlencode(one.query | {'lang': language()})}" if one.query is not None else ""
    trouble = sentence(one.trouble, language()) if one.trouble is not None else ""
    return asdict(replace(one, query=None, trouble=None)) | {"link": link, "trouble": trouble}


def _acted() -> None:
    """Something in the card was clicked: a collective, a switch, a size of buckets, one GPU or all."""
    act = (st.session_state.get("step") or {}).get("act")
    if not isinstance(act, dict):
        return
    choice: TrainingChoice = remembered(PAGE)
    match act.get("what"):
        case "open":
            choice = replace(choice, open=str(act.get("name", ""))[:60])
        case "switch" if act.get("name") in asked.CHANGES:
            choice = replace(choice, changes=_toggled(choice.changes, act["name"]))
        case "bucket" if isinstance(act.get("nbytes"), int) and act["nbytes"] > 0:
            choice = replace(choice, bucket=size_word(act["nbytes"]))
            forget("train_bucket")
        case "usual":
            choice = replace(choice, bucket="")
            forget("train_bucket")
        case "every":
            choice = replace(choice, every=bool(act.get("on")))
    remember(PAGE, choice)


def _toggled(changes: tuple[str, ...], name: str) -> tuple[str, ...]:
    """In the order in which the page has them."""
    return tuple(one for one in asked.CHANGES if (one in changes) != (one == name))


# ---- three ways ----------------------------------------------------------------------------------------------------


def _race(choice: TrainingChoice, top: Any) -> None:
    timed = rivals.alike(choice)
    with top:
        found = latest(rivals.raced, timed, expected=rivals.expected, compiled=True, otherwise=(rivals.alike(PLAIN),))
    if found is None:
        return
    made, (drawn,) = found
    with top:
        one = [t("train.one", place=made.place)] if drawn.where.on_machine else []
        st.html(title(t("train.show.race"), " ".join([*one, t("train.links")])))
    names = {name: t("train.copies" if name == "copies" else f"train.way.{name}") for name in rivals.WAYS}
    if made.failed:
        mistake(*(t("train.failed", name=names[way], why=sentence(why, language())) for way, why in made.failed))
    if not made.runners:
        return
    mount = st.components.v2.component("collsim_rivals", js=build_rivals_source())
    runners = [{**asdict(one), "name": names[one.way], "why": one.why[language() == "zh"]} for one in made.runners]
    data = {"id": repr(drawn), "runners": runners, "place": made.place, **look(), "t": session().start.get("t")}
    mount(key="rivals", data=data)
