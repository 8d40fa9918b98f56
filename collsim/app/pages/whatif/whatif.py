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

from collsim.sweep.synthesized import can_be
from collsim.units import format_bandwidth, format_time
from collsim.viz.sentences.words import name_all_of_kind, name_kind

from ...scenario import companions, snippets
from ...scenario.address import Complaint, shortened
from ...scenario.choice import Choice
from ...scenario.companions import Several
from ...scenario.outcome import build_place, options_used
from ...shell import charts, codebox, player
from ...shell.address import leave, remember, remembered
from ...shell.charts import MEBI, Picture, bar_column, number_column, text_column
from ...shell.controls import algorithm_label, choose, folded, forget, place_label, spaced
from ...shell.look import color
from ...shell.notes import complain, heading, note, title, verdict
from ...shell.page import page
from ...shell.results import latest
from ...shell.session import is_dark, language, session, t
from ...shell.sidebar import sidebar
from ...synthesis.box import box, let_switches, offer
from . import edits
from .cards import cards
from .edits import Change, Edit

PAGE = "whatif"


@st.cache_data(max_entries=48, show_spinner=False)
def kept_cables(choice: Choice) -> dict[str, tuple[str, str]]:
    """The busiest cables of a run, found once for all sessions."""
    return edits.cables(choice)


def _agree(found: dict[str, Any], query: Mapping[str, str], complaints: list[Complaint]) -> Edit:
    """An edit of the run that pages share; what the place of this run does not have is told and left out."""
    choice = session().choice
    edit = replace(edits.PLAIN, **found)
    known: dict[str, tuple[str, Callable[[], bool]]] = {
        "scale": ("kind", lambda: edit.kind in (edits.kinds(choice) or [edit.kind])),
        "cable": ("cable", lambda: edits.has_cable(choice, edit)),
        "beside": ("beside", lambda: edit.beside in edits.companions(choice) or not edits.ranks(choice)),
    }
    for word, (name, there) in known.items():
        if found.get(name) and not there():
            complaints.append(Complaint(word, shortened(found[name]), "unknown", "–"))
            edit = replace(edit, **dict[str, Any]({name: ""}))
    return edit if found else Edit()


def _on_machine(_choice: Choice) -> Edit:
    """On another machine it begins anew: a cable of one is not in another."""
    return Edit()


@page(
    PAGE,
    40,
    address=replace(edits.ADDRESS, agree=_agree),
    choice=True,
    moment=("t", "view"),
    on_machine=_on_machine,
)
def draw() -> None:
    """Draw the page: the run in the sidebar, the changes in a row, then before and after."""
    now = session()
    before = now.choice
    sidebar(PAGE)
    if (before.place, before.nodes, before.fabric) != (now.choice.place, now.choice.nodes, now.choice.fabric):
        _forget_place()
    st.html(title(t("whatif.title")))
    cards(now.choice, remembered(PAGE), PAGE, kept_cables(now.choice))
    edit = _changes(now.choice, remembered(PAGE))
    leave(edit)
    complain(now.complaints)
    event = edits.timed(now.choice, edit).engine == "event"
    synthesized, switches = edit.synthesize, edit.switches
    edit = replace(edit, synthesize=False, switches=True)
    found = latest(
        edits.change, now.choice, edit, expected=edits.expected_change, compiled=event, otherwise=(Choice(), Edit())
    )
    if found is None:
        return
    shown, (choice, done) = found
    # where it is another, the last good pictures stand here, and this change may not be possible
    asked = (choice, done) == (now.choice, edit)
    _change(shown, choice, done, partial(_synthesis, synthesized, switches) if asked else None)
    if asked:
        folded("code", t("code.title"), partial(_code, now.choice, edit))


def _change(shown: Change, choice: Choice, edit: Edit, synthesis: Callable[[Choice, Edit], None] | None = None) -> None:
    """Before and after; `synthesis` draws what would be the best after."""
    start = session().start
    _headline(shown, edit.troubled and choice.engine == "lockstep")
    if synthesis is not None:
        synthesis(choice, edit)
    if shown.times:
        _spread(shown)
    _pictures(shown, choice, edit, start.get("t"))
    if shown.several is not None:
        _several(shown.several, repr((choice, edit)), start)
    with st.container(key="whatif_tables"):
        left, right = st.columns(2, gap="small")
    with left, st.container(border=True, key="card_links"):
        _links(shown)
    with right, st.container(border=True, key="card_tornado"):
        _tornado(shown)


def _synthesis(shown: bool, switches: bool, choice: Choice, edit: Edit) -> None:
    """The schedule that is synthesized for the place after the change, or the button that asks for it; `switches`: it
    may use those that reduce."""
    if shown:
        if edits.switching(choice, edit):
            let_switches(switches, _switched)
        fallback = t("whatif.fallback", name=algorithm_label(choice.algorithm, choice.collective))
        given: dict[str, Any] = {
            "close": partial(_turned, False),
            "run": fallback,
            "code": partial(_synthesis_code, choice, edit, switches),
        }
        box(edits.repaired, choice, edit, switches, expected=edits.expected_repair, **given)
    elif can_be(choice.collective):
        offer("synthesis_show", t("whatif.synthesize"), t("synthesis.show.help"), partial(_turned, True))


def _synthesis_code(choice: Choice, edit: Edit, switches: bool) -> None:
    place = edits.changed(choice, edit)
    used = options_used(choice.algorithm, dict(choice.options), place, choice.on_machine)
    after, changed = edits.code(choice, edit)
    codebox.of_synthesis(after, used, "" if changed == snippets.place(after) else changed, switches)


def _turned(on: bool) -> None:
    remember(PAGE, replace(remembered(PAGE), synthesize=on))


def _switched(on: bool) -> None:
    remember(PAGE, replace(remembered(PAGE), switches=on))


def _code(choice: Choice, edit: Edit) -> None:
    place = build_place(choice)
    used = options_used(choice.algorithm, dict(choice.options), place, choice.on_machine)
    before = edits.timed(choice, edit)
    after, changed = edits.code(before, edit)
    trouble = edits.conditions(choice, edit, place.ranks)
    other = edits.changed(choice, edit)
    said = (
        (companions.python(edit.beside, other), companions.command(edit.beside, other, choice.algorithm))
        if edit.beside
        else ("", [])
    )
    codebox.of_change(before, after, changed, used, place.ranks, trouble, edits.RUNS if edit.jitter else 0, said)


def _forget_place() -> None:
    """Another place was chosen: a cable or a rank of the one before may not be in it."""
    remember(PAGE, replace(remembered(PAGE), cable="", straggler=edits.NOBODY))
    forget("x_cable", "x_straggler")


# ---- the changes ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Control:
    """A menu for one field of an edit: its values, what each is called, and whether it does anything now."""

    values: Sequence[Any]
    said: Callable[[Any], str]
    able: Callable[[Edit], bool] = lambda edit: True
    label: str = ""
    help: bool = False


def _said(name: str) -> str:
    return t(f"whatif.{name}")


def _or_none(said: Callable[[Any], str]) -> Callable[[Any], str]:
    """What a value is called, and the empty one `none`."""
    return lambda value: said(value) if value not in ("", edits.NOBODY) else t("whatif.none")


def _parts(choice: Choice, edit: Edit) -> dict[str, _Control]:
    """Changes of the parts of the place: a kind of link, one cable, one rank."""
    chinese = language() == "zh"
    cables = kept_cables(choice)
    offered = dict.fromkeys(["", *cables, edit.cable])
    ranks = dict.fromkeys([edits.NOBODY, *range(edits.ranks(choice)), edit.straggler])
    return {
        "kind": _Control(["", *edits.kinds(choice)], _or_none(lambda kind: name_kind(kind)[chinese])),
        "factor": _Control(list(edits.FACTORS), _said, lambda edit: bool(edit.kind)),
        "cable": _Control(list(offered), _or_none(lambda name: cables.get(name, (name, name))[chinese])),
        "do": _Control(list(edits.CABLE), _said, lambda edit: bool(edit.cable)),
        "straggler": _Control(list(ranks), _or_none("rank {}".format), help=True),
        "how": _Control(list(edits.STRAGGLERS), _said, lambda edit: edit.straggler != edits.NOBODY),
    }


def _conditions(choice: Choice) -> dict[str, _Control]:
    """Changes of the run, and what only machines have: GPUDirect, the order of ranks, the fabric's uplinks."""
    made = {
        "jitter": _Control(edits.JITTERS, _or_none(spaced), help=True),
        "traffic": _Control(edits.TRAFFIC, _or_none(lambda name: _said(f"traffic.{name}")), help=True),
        "beside": _Control(edits.companions(choice), _or_none(lambda name: _said(f"beside.{name}")), help=True),
    }
    if not choice.on_machine:
        return made
    several = choice.copies > 1
    uplinks = several and choice.fabric in ("leaf-spine", "fat-tree", "rail")
    return made | {
        "p2p": _Control(edits.SWITCHED, _said, label="p2p"),
        "gdr": _Control(edits.SWITCHED, _said, label="gdr"),
        "placement": _Control(edits.PLACEMENTS, lambda name: _said(f"placement.{name}"), lambda _: several),
        "oversubscription": _Control(edits.OVERSUBSCRIPTIONS, "{} : 1".format, lambda _: uplinks, help=True),
    }


def _changes(choice: Choice, edit: Edit) -> Edit:
    """Controls of all changes; what this place does not have is left out."""
    widths = [1.3, 1.2, 1.9, 1.2, 1, 1.2]
    edit = _row(edit, _parts(choice, edit), st.columns(widths, vertical_alignment="bottom", gap="small"))
    return _row(edit, _conditions(choice), st.columns(7, vertical_alignment="bottom", gap="small"))


def _row(edit: Edit, controls: Mapping[str, _Control], columns: Sequence[Any]) -> Edit:
    """A menu in each column, one after another, so that each knows what those before it say."""
    for column, (name, one) in zip(columns, controls.items(), strict=False):
        label = one.label or f"whatif.{name}"
        with column:
            value = choose(
                f"x_{name}",
                t(label),
                {value: one.said(value) for value in one.values},
                getattr(edit, name),
                disabled=not one.able(edit),
                help=t(f"{label}.help") if one.help else None,
            )
        edit = replace(edit, **{name: value})
    return edit


# ---- before and after ----------------------------------------------------------------------------------------------


def _headline(shown: Change, barrier: bool) -> None:
    """By how much, from what to what, and which cable is the busiest now; `barrier`: the run that was asked for has
    barriers."""
    times = t("whatif.times", before=format_time(shown.before.time), after=format_time(shown.after.time))
    lines = [f"{times} (busbw {format_bandwidth(shown.before.busbw)} → {format_bandwidth(shown.after.busbw)})"]
    before, after, all_ = shown.crossings
    if before != after:
        lines.append(t("whatif.crossings", before=before, after=after, all=all_))
    if barrier:
        lines.append(t("whatif.event"))
    busiest = shown.verdict[language() == "zh"]
    st.html(verdict(_by_how_much(shown), *lines, style="flex:none", lead=busiest))


def _by_how_much(shown: Change) -> str:
    if shown.nothing:
        return t("whatif.nothing")
    if abs(shown.speedup - 1) < 5e-4:
        return t("whatif.equal")
    key, times = ("whatif.faster", shown.speedup) if shown.speedup > 1 else ("whatif.slower", 1 / shown.speedup)
    return t(key, times=f"{times:.3g}")


def _spread(shown: Change) -> None:
    """How the time is spread over many runs with jitter."""
    times = np.array(shown.times)
    low, middle, high = np.quantile(times, (0.05, 0.5, 0.95))
    quantities = {"median": middle, "low": low, "high": high, "before": shown.before.time}
    words = {name: format_time(value) for name, value in quantities.items()}
    said = t("whatif.spread", runs=len(times), last=len(times) - 1, **words)
    with st.container(border=True, key="card_spread"):
        heading(said)
        charts.chart("spread", _histogram, times, float(middle), float(high), said)


def _histogram(times: np.ndarray[Any, Any], middle: float, high: float, said: str) -> Picture:
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
    made: Picture = alt.layer(*layers).properties(height=150, description=said)
    return made


def _pictures(shown: Change, choice: Choice, edit: Edit, seconds: float | None) -> None:
    """Both runs on one clock, as a race of two, from a moment if one is given."""
    where = f"{algorithm_label(choice.algorithm, choice.collective)}{t('comma')}{place_label(choice.place)}"
    runners = [(shown.before, t("whatif.before"), where), (shown.after, t("whatif.after"), where)]
    player.race(runners, repr((choice, edit)), "before_after", seconds)


def _several(shown: Several, ident: str, start: dict[str, Any]) -> None:
    """All at once in the player, and how much slower each is than alone."""
    _, _, alone, took, _ = shown.rows[0]
    this, *others = (row[4] for row in shown.rows)
    factor, low, high = (f"{value:.3g}" for value in (this, min(others), max(others)))
    words = {"count": len(shown.rows), "alone": format_time(alone), "time": format_time(took), "factor": factor}
    slowed = "whatif.several.others" if low != high else "whatif.several.other"
    with st.container(border=True, key="card_several"):
        heading(t("whatif.several.free" if factor == "1" else "whatif.several", **words))
        note(t(f"{slowed}.free" if low == high == "1" else slowed, low=low, high=high))
        player.player(shown.timeline, ident, start)


def _links(shown: Change) -> None:
    """What every link carried before and after; the largest changes first."""
    heading(t("whatif.links"))
    links = shown.links
    if links.empty:
        note(t("whatif.links.none"))
        return
    moments = {"a": "before", "b": "after"}
    columns = {"link": (links[language()], text_column("col.link", width="medium"))}
    columns |= {
        f"bytes_{k}": (links[f"bytes_{k}"] / MEBI, number_column(f"whatif.mib.{m}")) for k, m in moments.items()
    }
    columns |= {f"share_{k}": (100 * links[f"share_{k}"], bar_column(f"whatif.busy.{m}")) for k, m in moments.items()}
    charts.table(columns, most=360)


def _tornado(shown: Change) -> None:
    """What doubling each kind of link, or one of the busiest cables, would save now."""
    heading(t("whatif.tornado"))
    note(t("whatif.tornado.note"))
    saved = shown.tornado
    if saved.empty:
        return
    names = [
        name_all_of_kind(k)[language() == "zh"] if w == "kind" else n
        for w, k, n in zip(saved["what"], saved["name"], saved[language()], strict=True)
    ]
    frame = pd.DataFrame({"name": names, "saved": saved["doubled"], "what": saved["what"]})
    frame = frame.assign(said=[f"{100 * v:.1f} %" for v in frame["saved"]]).drop_duplicates("name")
    frame = frame.sort_values("saved", ascending=False, kind="stable")
    charts.chart("tornado", _savings, frame)


def _savings(frame: pd.DataFrame) -> Picture:
    """A bar for each, with its share; kinds of link in another colour than single cables."""
    dark, most = is_dark(), max(0.1, 1.15 * float(frame["saved"].max()))
    ticks = alt.Axis(format="%", tickCount=5, labelOverlap=True)
    base = alt.Chart(frame).encode(
        y=alt.Y("name:N", sort=list(frame["name"]), title=None, axis=alt.Axis(labelLimit=260)),
        x=alt.X("saved:Q", title=t("whatif.saves"), axis=ticks, scale=alt.Scale(domain=[0, most])),
        tooltip=charts.tips(name="col.link", said="whatif.saves"),
    )
    hues = alt.Scale(domain=["kind", "link"], range=[color("full", dark), color("ink3", dark)])
    bars = base.mark_bar(height=16).encode(color=alt.Color("what:N", scale=hues, legend=None))
    words = base.mark_text(align="left", dx=6, fontSize=14, color=color("ink", dark)).encode(text=alt.Text("said:N"))
    look = {"height": 34 * len(frame) + 30, "description": t("whatif.tornado")}
    made: Picture = alt.layer(bars, words).properties(**look)
    return made
