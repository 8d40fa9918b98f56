"""Train: one step of training, its timeline, what would change it, and three strategies on one clock."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from collsim.units import format_bytes, format_time, parse_bytes

from ...classroom.class_sessions import PosedQuestion
from ...classroom.question_card import draw_class_button, is_leading_class
from ...classroom.question_panel import draw_class_card
from ...editor.machine_card import draw_machine_card
from ...editor.upgrades_panel import draw_upgrades
from ...scenario.address_parameters import write_size
from ...scenario.choice import Choice
from ...shell import codebox, filebox
from ...shell.address import change_remembered, finish_controls, get_menu, get_remembered, remember
from ...shell.controls import draw_folded, forget, label_algorithm, label_machine
from ...shell.notes import (
    complain,
    draw_headline,
    draw_mistake,
    explain,
    format_figure,
    format_quantity,
    format_title,
    format_verdict,
)
from ...shell.page import register_page
from ...shell.player import mount_bundle
from ...shell.results import get_exact, get_latest
from ...shell.session import choose_text, get_language, get_session, t
from . import growthview, rivals, step_costs, step_scenarios, stepfile, training_choice
from .code import build_command, build_script
from .costs_panel import draw_costs
from .step_scenarios import ChangedStep, CollectiveOpened, StepView
from .tabs import draw_tabs
from .train_controls import draw_controls
from .training_choice import (
    PLAIN,
    TrainingChoice,
    name_difference,
    read_pinned,
    select_timed,
    write_pinned_run,
    write_step,
)

PAGE = "train"


@register_page(
    PAGE, 15, address=training_choice.ADDRESS, moment=("t",), run=select_timed, on_machine=training_choice.build_choice
)
def draw() -> None:
    """Draw the page: controls in the sidebar, figures and the sentence, the card of the step or the race."""
    choice: TrainingChoice = draw_controls(get_remembered(PAGE))
    top = st.container()
    choice = replace(choice, show=draw_tabs(choice.show))
    with top:
        finish_controls(choice)
    if choice.show == TrainingChoice().show and is_leading_class() and _ask_class(select_timed(choice)):
        return  # all below tells the answer
    # The tab comes first: what is computed depends on it.
    step_shown = None
    if choice.show == "race":
        _draw_race(choice, top)
    elif choice.show == "scaling":
        growthview.draw(select_timed(choice), top)
    else:
        step_shown = _draw_step(choice, top)
    draw_machine_card(choice)
    if step_shown is not None and choice.on_machine:
        timed = select_timed(choice)
        draw_folded("upgrades", t("upgrades.title"), partial(draw_upgrades, step_costs.list_upgrades, timed))
        draw_folded("costs", t("costs.title"), partial(draw_costs, timed))
    torch = codebox.build_step_torch_parts(step_shown.torch) if step_shown is not None else []
    script, command = build_script(choice), build_command(choice)
    codebox.draw_code_box(script, command, torch, note=t("train.torch"), text=choice.machine_text)
    if step_shown is not None:
        draw_folded("files", t("tab.files"), partial(stepfile.draw, select_timed(choice)))


def _ask_class(timed: TrainingChoice) -> bool:
    """Put a question about the step to the class. Return whether its answer is hidden."""
    labelled_questions = get_exact(step_scenarios.ask_about_step, timed)
    if labelled_questions is None:
        return True
    label, step_questions = labelled_questions
    number, count = min(get_session().panels.number, len(step_questions) - 1), len(step_questions)
    return draw_class_card(PosedQuestion(f"train-{label}", number, count, step_questions[number], topic=(label, label)))


# ---- one step ------------------------------------------------------------------------------------------------------


def _draw_step(choice: TrainingChoice, top: Any) -> StepView | None:
    timed = select_timed(choice)
    with top:
        latest_result = get_latest(step_scenarios.compute_step, timed, fallback=(PLAIN,))
    if latest_result is None:
        return None
    step_shown: StepView = latest_result[0]
    drawn: TrainingChoice = latest_result[1][0]
    with top:
        _draw_headline(step_shown)
    _draw_card(step_shown, drawn, choice)
    _draw_pin(choice)
    return step_shown


def _draw_pin(choice: TrainingChoice) -> None:
    """The button that pins the step; while another one is pinned, the one that plays both on one clock."""
    text, icon = write_step(choice), ":material/keep:"
    with st.container(key="step_actions", horizontal=True, gap="small"):
        if not is_leading_class():
            draw_class_button()
        if not choice.pinned:
            hint = t("pin.step.help")
            st.button(t("pin.step"), key="pin_start", help=hint, icon=icon, on_click=_pin, args=(text,))
            if run := get_session().panels.pinned:
                hint = t("pin.step.race.help", run=run)
                st.button(t("pin.step.run"), key="pin_run", icon=icon, help=hint, on_click=_race_run, args=(run,))
            return
        if choice.pinned == text:
            st.button(t("pin.step.pinned"), key="pin_start", icon=icon, disabled=True)
        else:
            hint = t("pin.step.race.help", run=choice.pinned)
            st.button(
                t("pin.step.race"), key="pin_race", type="primary", icon=icon, help=hint, on_click=_show, args=("race",)
            )
        st.button(t("pin.end"), key="pin_end", type="tertiary", on_click=_pin, args=("",))


def _pin(text: str) -> None:
    change_remembered(PAGE, pinned=text)


def _race_run(run: str) -> None:
    """Play the step with the run of one collective that is pinned on Explore."""
    _pin(write_pinned_run(run))
    _show("race")


def _show(view: str) -> None:
    """Another view of the page; its tab follows."""
    change_remembered(PAGE, show=view)
    forget("train_show")


def _draw_headline(step_shown: StepView) -> None:
    """Four figures and the sentence."""
    row = step_shown.figures
    sentences = {about: choose_text(pair) for about, pair in step_shown.sentences.items()}
    notes = []
    if row["interference_time"] > 1e-3 * row["time"]:
        notes.append(t("train.exposed.interference", slowed=format_time(row["interference_time"])))
    if row["bubble"] > 1e-3 * row["time"]:
        notes.append(t("train.exposed.idle", idle=format_time(row["bubble"])))
    number, _, unit = format_time(row["exposed"]).partition(" ")
    head, *reasons = map(choose_text, step_shown.network)
    rest = choose_text((" ", "")).join(filter(None, map(sentences.get, ("cards", "overlap", "use", "range"))))
    token = "done"
    if row["exposed"] > 0.02 * row["time"]:
        token = "full"
    draw_headline(
        format_quantity(
            t("train.time"), format_time(row["time"]), t("train.rate", rate=f"{row['samples_per_second']:,.0f}")
        ),
        format_figure(
            t("train.exposed"),
            f"{number} ",
            unit,
            t("train.exposed.note", share=f"{100 * row['exposed'] / row['time']:.3g} %"),
            *notes,
        ),
        format_figure(
            t("train.overlapped"),
            f"{100 * row['overlapped']:.3g} ",
            "%",
            t("train.overlapped.note", whole=format_time(row["communication"])),
        ),
        format_quantity(t("train.memory"), format_bytes(row["memory"]), t("train.memory.note")),
        format_verdict(
            head,
            *(reason[:1].upper() + reason[1:] for reason in reasons),
            name=t("train.why"),
            folded=(t("train.why.more"), rest),
            token=token,
        ),
    )


def _draw_card(step_shown: StepView, drawn: TrainingChoice, choice: TrainingChoice) -> None:
    """The card of the step; with the collective that is open in it."""
    rows = step_shown.document["collectives"]
    chosen = None
    if choice.open != "none":
        chosen = step_scenarios.find_collective(rows, choice.open)
    if choice.open not in ("", "none") and chosen is None:
        known = ", ".join(row["name"] for row in rows[:8])
        draw_mistake(t("train.open.unknown", name=choice.open, known=known or "–"))
    opened: CollectiveOpened | None = None
    if chosen is not None:
        opened = get_exact(step_scenarios.open_collective, drawn, chosen["task"])
    data = {
        "id": repr(drawn),
        "step": step_shown.document,
        "ghost": step_shown.ghost,
        "rows": [_describe_change(change) for change in step_shown.changes],
        "curve": [list(point) for point in step_shown.curve],
        "bucket_bytes": step_shown.bucket_bytes,
        "asked": bool(drawn.bucket),
        "open": chosen["name"] if chosen else "",
        "opened": _describe_opened(opened) if opened is not None and chosen is not None else None,
        "every": choice.every,
        "exports": stepfile.build_exports(choice),
        "t": get_session().start.get("t"),
    }
    mount_bundle("step", "step", data, on_act_change=_on_act, on_export_change=partial(filebox.hear_export, "step"))


def _describe_change(change: ChangedStep) -> dict[str, object]:
    """A switch as the card shows it."""
    refusal = "" if change.refusal is None else explain(change.refusal)
    return asdict(replace(change, refusal=None)) | {"reason": choose_text(change.reason), "refusal": refusal}


def _describe_opened(collective: CollectiveOpened) -> dict[str, object]:
    """The collective that is open, as the card shows it."""
    link = refusal = ""
    if collective.query is not None:
        page = get_menu()["explore"].url_path or "/"  # the first page of the menu has an empty path
        link = f"{page}?{urlencode(collective.query | {'lang': get_language()})}"
    if collective.refusal is not None:
        refusal = explain(collective.refusal)
    return asdict(replace(collective, query=None, refusal=None)) | {"link": link, "refusal": refusal}


def _on_act() -> None:
    """Something in the card was clicked: a collective, a switch, a size of buckets, one GPU or all."""
    act = (st.session_state.get("step") or {}).get("act")
    if not isinstance(act, dict):
        # What the browser sends is data of a stranger: each field is checked.
        return
    choice: TrainingChoice = get_remembered(PAGE)
    match act.get("what"):
        case "open":
            choice = replace(choice, open=str(act.get("name", ""))[:60])
        case "switch" if act.get("name") in training_choice.CHANGES:
            choice = replace(choice, changes=_toggle_change(choice.changes, act["name"]))
        case "bucket" if isinstance(act.get("nbytes"), int) and act["nbytes"] > 0:
            choice = replace(choice, bucket=write_size(act["nbytes"]))
            forget("train_bucket")
        case "default bucket":
            choice = replace(choice, bucket="")
            forget("train_bucket")
        case "every":
            choice = replace(choice, every=bool(act.get("on")))
    remember(PAGE, choice)


def _toggle_change(changes: tuple[str, ...], name: str) -> tuple[str, ...]:
    """In the order in which the page has them."""
    return tuple(change for change in training_choice.CHANGES if (change in changes) != (change == name))


# ---- three strategies ------------------------------------------------------------------------------------------------


def _draw_race(choice: TrainingChoice, top: Any) -> None:
    if choice.pinned and choice.pinned != write_step(choice):
        _race_pinned(choice, top)
        return
    timed = rivals.build_common_choice(choice)
    with top:
        latest_result = get_latest(rivals.race_strategies, timed, fallback=(rivals.build_common_choice(PLAIN),))
    if latest_result is None:
        return
    step_race, (drawn,) = latest_result
    with top:
        texts = []
        if drawn.on_machine:
            texts = [t("train.one", machine=step_race.machine)]
        st.html(format_title(t("train.show.race"), " ".join([*texts, t("train.links")])))
    names = {name: t("train.copies" if name == "copies" else f"train.strategy.{name}") for name in rivals.STRATEGIES}
    _draw_rivals(step_race, names, repr(drawn))


def _race_pinned(choice: TrainingChoice, top: Any) -> None:
    """The pinned step, or run of one collective, and the step that is chosen, on one clock."""
    pinned, complaints = read_pinned(choice.pinned)
    timed = select_timed(choice)
    with top:
        complain(complaints)
        step_race: rivals.StepRace | None = get_exact(rivals.race_pinned, pinned, timed)
    if step_race is None:
        return
    if isinstance(pinned, Choice):
        difference = (_name_run(pinned), f"{timed.model}, {t(f'train.strategy.{timed.strategy}')}")
    else:
        difference = name_difference(pinned, timed)
    names = {"pinned": t("pin.step.first", step=difference[0]), "chosen": t("pin.step.second", step=difference[1])}
    with top:
        st.html(format_title(t("pin.step.title"), t("pin.step.note")))
    _draw_rivals(step_race, names, repr((pinned, timed)))
    st.button(t("pin.end"), key="pin_end", type="tertiary", on_click=_pin, args=("",))


def _name_run(run: Choice) -> str:
    """A run of one collective, in a few words."""
    algorithm = label_algorithm(run.algorithm, run.collective)
    return t("comma").join(
        [run.collective, algorithm, format_bytes(parse_bytes(run.nbytes)), label_machine(run.machine)]
    )


def _draw_rivals(step_race: rivals.StepRace, names: dict[str, str], ident: str) -> None:
    """Steps on one clock; a sentence for each that cannot run."""
    if step_race.failed:
        draw_mistake(
            *(t("train.failed", name=names[strategy], reason=explain(reason)) for strategy, reason in step_race.failed)
        )
    if not step_race.runners:
        return
    runners = [
        {**asdict(runner), "name": names[runner.strategy], "reason": choose_text(runner.reason)}
        for runner in step_race.runners
    ]
    mount_bundle("rivals", "rivals", {"id": ident, "runners": runners, "t": get_session().start.get("t")})
