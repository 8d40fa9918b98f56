"""What-if: one run before and after a change; what moved, and what it would pay to change next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from collsim.locale import Text
from collsim.sweep.synthesized_algorithm import can_synthesize
from collsim.teach.quiz.question import Question
from collsim.units import format_bandwidth, format_time
from collsim.viz.race.race_document import RacingRun
from collsim.viz.sentences.words import name_all_of_kind, name_kind

from ...classroom.class_sessions import PosedQuestion
from ...classroom.question_card import draw_class_button, is_leading_class
from ...classroom.question_panel import draw_class_card
from ...editor.machine_card import draw_machine_card
from ...editor.sidebar import draw_sidebar
from ...editor.upgrades_panel import draw_run_upgrades
from ...scenario import companions, snippets
from ...scenario.address_parameters import Complaint, shorten
from ...scenario.choice import Choice
from ...scenario.companions import ConcurrentRuns
from ...scenario.outcome import build_topology, list_used_options
from ...shell import charts, codebox, player
from ...shell.address import change_remembered, finish_controls, get_remembered
from ...shell.charts import MEBI, Picture, build_bar_column, build_text_column, number_column
from ...shell.controls import add_space, choose, draw_folded, forget, label_algorithm, label_machine
from ...shell.look import color
from ...shell.notes import draw_card, draw_heading, draw_note, format_title, format_verdict
from ...shell.page import register_page
from ...shell.results import get_latest
from ...shell.session import choose_text, get_language, get_session, is_dark, t
from ...synthesis.box import draw_box, let_switches, offer
from ...texts import write_texts
from . import run_edits
from .cards import draw_cards, list_questions, write_question
from .run_edits import Change, Edit

PAGE = "whatif"
#: How far an answer to the question of a class may be off.
_TOLERANCE = 0.1


@st.cache_data(max_entries=48, show_spinner=False)
def load_cables(choice: Choice) -> dict[str, Text]:
    """The busiest cables of a run, found once for all sessions.

    Args:
        choice: The run that is chosen.
    """
    return run_edits.list_cables(choice)


def _reconcile(fields: dict[str, Any], query: Mapping[str, str], complaints: list[Complaint]) -> Edit:
    """An edit of the run that pages share; what its machine does not have is reported and left out."""
    choice = get_session().choice
    edit = replace(run_edits.PLAIN, **fields)
    known: dict[str, tuple[str, Callable[[], bool]]] = {
        "scale": ("link_kind", lambda: edit.link_kind in (run_edits.list_link_kinds(choice) or [edit.link_kind])),
        "cable": ("cable", lambda: run_edits.has_cable(choice, edit)),
        "beside": (
            "companion",
            lambda: edit.companion in run_edits.list_companions(choice) or not run_edits.count_ranks(choice),
        ),
    }
    for word, (name, is_known) in known.items():
        if fields.get(name) and not is_known():
            complaints.append(Complaint(word, shorten(fields[name]), "unknown", "–"))
            edit = replace(edit, **dict[str, Any]({name: ""}))
    if fields:
        return edit
    return Edit()


@register_page(
    PAGE,
    40,
    address=replace(run_edits.ADDRESS, agree=_reconcile),
    choice=True,
    moment=("t", "view"),
    on_machine=lambda _: Edit(),  # a cable of one machine is not in another
)
def draw() -> None:
    """Draw the page: the run in the sidebar, the changes in a row, then before and after."""
    now = get_session()
    before = now.choice
    draw_sidebar(PAGE)
    if (before.machine, before.nodes, before.fabric) != (now.choice.machine, now.choice.nodes, now.choice.fabric):
        _forget_cable_and_rank()
    st.html(format_title(t("whatif.title")))
    draw_cards(now.choice, get_remembered(PAGE), PAGE, load_cables(now.choice))
    with st.expander(t("whatif.all")):
        edit = _draw_changes(now.choice, get_remembered(PAGE))
    finish_controls(edit)
    synthesized, switches = edit.synthesize, edit.switches
    edit = replace(edit, synthesize=False, switches=True)
    latest_result = get_latest(run_edits.run_change, now.choice, edit, fallback=(Choice(), Edit()))
    if latest_result is None:
        return
    change_shown, (choice, done) = latest_result
    # where it is another, the last good pictures stand here, and this change may not be possible
    is_current = (choice, done) == (now.choice, edit)
    if is_leading_class() and _ask_class(change_shown, choice, done):
        return  # all below tells the answer
    _draw_change(change_shown, choice, done, partial(_draw_synthesis, synthesized, switches) if is_current else None)
    draw_machine_card(now.choice)
    draw_run_upgrades(now.choice)
    if not is_leading_class():
        draw_class_button()
    if is_current:
        draw_folded("code", t("code.title"), partial(_draw_code, now.choice, edit))


def _ask_class(change_shown: Change, choice: Choice, edit: Edit) -> bool:
    """Ask the class how long the run takes after the change of a card. Return whether the answer is hidden."""
    changes = [
        write_question(name, change, choice)
        for name, change in list_questions(choice, load_cables(choice))
        if replace(change, synthesize=False) == edit
    ]
    if not changes:
        return False
    before, after = format_time(change_shown.before.time), format_time(change_shown.after.time)
    ask = write_texts("whatif.class.ask", change=changes[0], before=before)
    explanation = write_texts("whatif.class.why", before=before, after=after, verdict=change_shown.verdict)
    question = Question("number", PAGE, ask, explanation, change_shown.after.time, unit="time", tolerance=_TOLERANCE)
    return draw_class_card(PosedQuestion(f"{PAGE}-{edit}", 0, 1, question, choice))


def _draw_change(
    change_shown: Change, choice: Choice, edit: Edit, synthesis: Callable[[Choice, Edit], None] | None = None
) -> None:
    """Before and after; `synthesis` draws what would be the best after."""
    start = get_session().start
    _draw_headline(change_shown, edit.needs_event_engine and choice.engine == "lockstep")
    if synthesis is not None:
        synthesis(choice, edit)
    if change_shown.times:
        _draw_spread(change_shown)
    _draw_race(change_shown, choice, edit, start.get("t"))
    if change_shown.concurrent_runs is not None:
        _draw_together(change_shown.concurrent_runs, repr((choice, edit)), start)
    with st.container(key="whatif_tables"):
        left, right = st.columns(2, gap="small")
    with left, st.container(border=True, key="card_links"):
        _draw_links(change_shown)
    with right, st.container(border=True, key="card_tornado"):
        _draw_tornado(change_shown)


def _draw_synthesis(is_shown: bool, switches: bool, choice: Choice, edit: Edit) -> None:
    """The schedule that is synthesized for the machine after the change, or the button that asks for it; `switches`: it
    may use those that reduce."""
    if is_shown:
        if run_edits.has_reducing_switches(choice, edit):
            let_switches(switches, lambda on: change_remembered(PAGE, switches=on))
        fallback = t("whatif.fallback", name=label_algorithm(choice.algorithm, choice.collective))
        options: dict[str, Any] = {
            "close": partial(change_remembered, PAGE, synthesize=False),
            "run": fallback,
            "code": partial(_build_synthesis_code, choice, edit, switches),
        }
        draw_box(run_edits.repair, choice, edit, switches, **options)
    elif can_synthesize(choice.collective):
        show = partial(change_remembered, PAGE, synthesize=True)
        offer("synthesis_show", t("whatif.synthesize"), t("synthesis.show.help"), show)


def _build_synthesis_code(choice: Choice, edit: Edit, switches: bool) -> None:
    topology = run_edits.build_changed_topology(choice, edit)
    used = list_used_options(choice, topology)
    after, changed = run_edits.build_code(choice, edit)
    if changed == snippets.write_machine(after):
        changed = ""
    codebox.draw_synthesis_code(after, used, changed, switches=switches)


def _draw_code(choice: Choice, edit: Edit) -> None:
    topology, other = build_topology(choice), run_edits.build_changed_topology(choice, edit)
    used = list_used_options(choice, topology)
    before = run_edits.choose_engine(choice, edit)
    after, changed = run_edits.build_code(before, edit)
    conditions = run_edits.build_conditions(choice, edit, topology.ranks)
    together, words, runs = "", list[str](), 0
    if edit.companion:
        together = companions.write_python(edit.companion, other)
        words = companions.write_command(edit.companion, other, choice.algorithm)
    if edit.jitter:
        runs = run_edits.RUNS
    script = snippets.write_change_python(before, changed, used, conditions, runs, together)
    commands = snippets.write_command(before, used), snippets.write_command(after, used, conditions, words)
    notes = []
    if changed != snippets.write_machine(after):
        notes = [t("code.edits")]
    if "background" in conditions:
        notes += [t("whatif.nocli")]
    codebox.draw_real_code(after, script, "\n".join(dict.fromkeys(commands)), used, topology.ranks, " ".join(notes))


def _forget_cable_and_rank() -> None:
    """Another machine was chosen: a cable or a rank of the one before may not be in it."""
    change_remembered(PAGE, cable="", straggler=run_edits.NOBODY)
    forget("x_cable", "x_straggler")


# ---- the changes ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Control:
    """A menu for one field of an edit: its values, what each is called, and whether it does anything now."""

    values: Sequence[object]
    format_value: Callable[[Any], str]
    able: Callable[[Edit], bool] = lambda edit: True
    label: str = ""
    help: bool = False


def _name_value(name: str) -> str:
    return t(f"whatif.{name}")


def _with_none(name_value: Callable[[Any], str]) -> Callable[[Any], str]:
    """What a value is called, and the empty one `none`."""
    return lambda value: name_value(value) if value not in ("", run_edits.NOBODY) else t("whatif.none")


def _draw_part_controls(choice: Choice, edit: Edit) -> dict[str, _Control]:
    """Changes of the parts of the machine: a kind of link, one cable, one rank."""
    cables = load_cables(choice)
    offered = dict.fromkeys(["", *cables, edit.cable])
    ranks = dict.fromkeys([run_edits.NOBODY, *range(run_edits.count_ranks(choice)), edit.straggler])
    return {
        "link_kind": _Control(
            ["", *run_edits.list_link_kinds(choice)], _with_none(lambda kind: choose_text(name_kind(kind)))
        ),
        "factor": _Control(list(run_edits.FACTORS), _name_value, lambda edit: bool(edit.link_kind)),
        "cable": _Control(list(offered), _with_none(lambda name: choose_text(cables.get(name, (name,))))),
        "cable_change": _Control(list(run_edits.CABLE_CHANGES), _name_value, lambda edit: bool(edit.cable)),
        "straggler": _Control(list(ranks), _with_none("rank {}".format), help=True),
        "straggler_fault": _Control(
            list(run_edits.STRAGGLERS), _name_value, lambda edit: edit.straggler != run_edits.NOBODY
        ),
    }


def _draw_condition_controls(choice: Choice) -> dict[str, _Control]:
    """Changes of the run, and what only machines have: GPUDirect, the order of ranks, the fabric's uplinks."""
    controls = {
        "jitter": _Control(run_edits.JITTERS, _with_none(add_space), help=True),
        "traffic": _Control(run_edits.TRAFFIC, _with_none(lambda name: _name_value(f"traffic.{name}")), help=True),
        "companion": _Control(
            run_edits.list_companions(choice), _with_none(lambda name: _name_value(f"companion.{name}")), help=True
        ),
    }
    if not choice.on_machine:
        return controls
    several = choice.copies > 1
    uplinks = several and choice.fabric in ("leaf-spine", "fat-tree", "rail")
    return controls | {
        "p2p": _Control(run_edits.SWITCH_POSITIONS, _name_value, label="p2p"),
        "gdr": _Control(run_edits.SWITCH_POSITIONS, _name_value, label="gdr"),
        "placement": _Control(run_edits.PLACEMENTS, lambda name: _name_value(f"placement.{name}"), lambda _: several),
        "oversubscription": _Control(run_edits.OVERSUBSCRIPTIONS, "{} : 1".format, lambda _: uplinks, help=True),
    }


def _draw_changes(choice: Choice, edit: Edit) -> Edit:
    """Controls of all changes; what this machine does not have is left out."""
    widths = [1.3, 1.2, 1.9, 1.2, 1, 1.2]
    edit = _draw_control_row(
        edit, _draw_part_controls(choice, edit), st.columns(widths, vertical_alignment="bottom", gap="small")
    )
    return _draw_control_row(
        edit, _draw_condition_controls(choice), st.columns(7, vertical_alignment="bottom", gap="small")
    )


def _draw_control_row(edit: Edit, controls: Mapping[str, _Control], columns: Sequence[Any]) -> Edit:
    """A menu in each column, one after another, so that each knows what those before it say."""
    for column, (name, control) in zip(columns, controls.items(), strict=False):
        label = control.label or f"whatif.{name}"
        with column:
            value = choose(
                f"x_{name}",
                t(label),
                {value: control.format_value(value) for value in control.values},
                getattr(edit, name),
                disabled=not control.able(edit),
                help=t(f"{label}.help") if control.help else None,
            )
        edit = replace(edit, **{name: value})
    return edit


# ---- before and after ----------------------------------------------------------------------------------------------


def _draw_headline(change_shown: Change, barrier: bool) -> None:
    """By how much, from what to what, and which cable is the busiest now; `barrier`: the run that was asked for has
    barriers."""
    times = t("whatif.times", before=format_time(change_shown.before.time), after=format_time(change_shown.after.time))
    lines = [
        f"{times} (busbw {format_bandwidth(change_shown.before.busbw)} → {format_bandwidth(change_shown.after.busbw)})"
    ]
    before, after, pairs = change_shown.crossings
    if before != after:
        lines.append(t("whatif.crossings", before=before, after=after, all=pairs))
    if barrier:
        lines.append(t("whatif.event"))
    busiest = choose_text(change_shown.verdict)
    st.html(format_verdict(_describe_change(change_shown), *lines, style="flex:none", lead=busiest))


def _describe_change(change_shown: Change) -> str:
    if change_shown.is_empty:
        return t("whatif.nothing")
    if abs(change_shown.speedup - 1) < 5e-4:
        return t("whatif.equal")
    if change_shown.speedup > 1:
        key, times = ("whatif.faster", change_shown.speedup)
    else:
        key, times = ("whatif.slower", 1 / change_shown.speedup)
    return t(key, times=f"{times:.3g}")


def _draw_spread(change_shown: Change) -> None:
    """How the time is spread over many runs with jitter."""
    times = np.array(change_shown.times)
    low, middle, high = np.quantile(times, (0.05, 0.5, 0.95))
    quantities = {"median": middle, "low": low, "high": high, "before": change_shown.before.time}
    words = {name: format_time(value) for name, value in quantities.items()}
    text = t("whatif.spread", runs=len(times), last=len(times) - 1, **words)
    with draw_card("spread", text):
        charts.draw_chart("spread", _build_histogram, times, float(middle), float(high), text)


def _build_histogram(times: np.ndarray[Any, Any], middle: float, high: float, description: str) -> Picture:
    """Bars of times, and a rule at the one in the middle."""
    counts, edges = np.histogram(times, bins=24)
    unit, per = next(
        (name, scale) for name, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if high >= scale or scale == 1e-6
    )
    frame = pd.DataFrame({"low": edges[:-1] / per, "high": edges[1:] / per, "runs": counts})
    dark = is_dark()
    ticks, span = alt.Axis(tickCount=8, format="~r"), alt.Scale(zero=False, nice=False)
    x = alt.X("low:Q", bin="binned", title=f"{t('time')}, {unit}", scale=span, axis=ticks)
    y = alt.Y("runs:Q", title=t("whatif.runs"), axis=alt.Axis(tickCount=4))
    bars = alt.Chart(frame).mark_bar(color=color("room", dark), stroke=color("card", dark))
    marks = alt.Chart(pd.DataFrame({"low": [middle / per]})).mark_rule(color=color("full", dark), strokeWidth=3)
    layers = bars.encode(x=x, x2=alt.X2("high:Q"), y=y, tooltip=[alt.Tooltip("runs:Q")]), marks.encode(x=alt.X("low:Q"))
    return charts.layer(*layers, height=150, description=description)


def _draw_race(change_shown: Change, choice: Choice, edit: Edit, seconds: float | None) -> None:
    """Both runs on one clock, as a race of two, from a moment if one is given."""
    where = f"{label_algorithm(choice.algorithm, choice.collective)}{t('comma')}{label_machine(choice.machine)}"
    runners = [
        RacingRun(change_shown.before, t("whatif.before"), where),
        RacingRun(change_shown.after, t("whatif.after"), where),
    ]
    player.mount_race(runners, repr((choice, edit)), "before_after", seconds)


def _draw_together(together: ConcurrentRuns, ident: str, start: dict[str, object]) -> None:
    """All at once in the player, and how much slower each is than alone."""
    _, _, alone, concurrent_time, _ = together.rows[0]
    this, *others = (row[4] for row in together.rows)
    factor, low, high = (f"{value:.3g}" for value in (this, min(others), max(others)))
    words = {
        "count": len(together.rows),
        "alone": format_time(alone),
        "time": format_time(concurrent_time),
        "factor": factor,
    }
    slowed = "whatif.several.other"
    if low != high:
        slowed = "whatif.several.others"
    with draw_card("several", t("whatif.several.free" if factor == "1" else "whatif.several", **words)):
        draw_note(t(f"{slowed}.free" if low == high == "1" else slowed, low=low, high=high))
        player.mount_player(together.timeline, ident, start)


def _draw_links(change_shown: Change) -> None:
    """What every link carried before and after; the largest changes first."""
    draw_heading(t("whatif.links"))
    links = change_shown.links
    if links.empty:
        draw_note(t("whatif.links.none"))
        return
    moments = {"a": "before", "b": "after"}
    columns = {"link": (links[get_language()], build_text_column("col.link", width="medium"))}
    columns |= {
        f"bytes_{k}": (links[f"bytes_{k}"] / MEBI, number_column(f"whatif.mib.{m}")) for k, m in moments.items()
    }
    columns |= {
        f"share_{k}": (100 * links[f"share_{k}"], build_bar_column(f"whatif.busy.{m}")) for k, m in moments.items()
    }
    charts.draw_table(columns, most=360)


def _draw_tornado(change_shown: Change) -> None:
    """What doubling each kind of link, or one of the busiest cables, would save now."""
    draw_heading(t("whatif.tornado"))
    draw_note(t("whatif.tornado.note"))
    saved = change_shown.tornado
    if saved.empty:
        return
    names = [
        choose_text(name_all_of_kind(k)) if w == "kind" else n
        for w, k, n in zip(saved["what"], saved["name"], saved[get_language()], strict=True)
    ]
    frame = pd.DataFrame({"name": names, "saved": saved["doubled"], "what": saved["what"]})
    frame = frame.assign(text=[f"{100 * v:.1f} %" for v in frame["saved"]]).drop_duplicates("name")
    frame = frame.sort_values("saved", ascending=False, kind="stable")
    charts.draw_chart("tornado", _build_savings, frame)


def _build_savings(frame: pd.DataFrame) -> Picture:
    """A bar for each, with its share; kinds of link in another colour than single cables."""
    dark, most = is_dark(), max(0.1, 1.5 * float(frame["saved"].max()))
    ticks = alt.Axis(format="%", tickCount=5, labelOverlap=True)
    base = alt.Chart(frame).encode(
        y=alt.Y("name:N", sort=list(frame["name"]), title=None, axis=alt.Axis(labelLimit=260)),
        x=alt.X("saved:Q", title=t("whatif.saves"), axis=ticks, scale=alt.Scale(domain=[0, most])),
        tooltip=charts.build_tips(name="col.link", text="whatif.saves"),
    )
    hues = alt.Scale(domain=["kind", "link"], range=[color("full", dark), color("ink3", dark)])
    bars = base.mark_bar(height=16).encode(color=alt.Color("what:N", scale=hues, legend=None))
    words = base.mark_text(align="left", dx=6, fontSize=14, color=color("ink", dark)).encode(text=alt.Text("text:N"))
    look = {"height": 34 * len(frame) + 30, "description": t("whatif.tornado")}
    return charts.layer(bars, words, **look)
