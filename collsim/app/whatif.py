"""What-if: one run before and after a change; what moved, and what it would pay to change next."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from collsim.units import format_bandwidth, format_time
from collsim.viz.race import course, race_source
from collsim.viz.words import kind_name

from . import codebox, edits
from .address import enter, leave, remembered
from .choice import Choice, Complaint, to_query
from .controls import algorithm_label, complain, place_label
from .edits import Change, Edit
from .look import chart_look, color
from .run import asked, build_place, options_used
from .sidebar import sidebar
from .state import is_dark, language, session, t
from .waiting import latest

PAGE = "whatif"
MEBI = 2**20


@st.cache_data(max_entries=48, show_spinner=False)
def kept_cables(choice: Choice) -> dict[str, tuple[str, str]]:
    """The busiest cables of a run, found once for all sessions."""
    return edits.cables(choice)


def _read(query: dict[str, str]) -> tuple[Edit, list[Complaint]]:
    """The run and its edit; the run is that of Explore."""
    session().choice, complaints = asked(query)
    edit, more = edits.read(query)
    return edit, complaints + more


def arrive() -> None:
    """Take the address over before anything is drawn."""
    enter(PAGE, _read)


def page() -> None:
    """Draw the page: the run in the sidebar, the changes in a row, then before and after."""
    now = session()
    before = now.choice
    sidebar(PAGE)
    if (before.place, before.nodes, before.fabric) != (now.choice.place, now.choice.nodes, now.choice.fabric):
        _elsewhere()
    st.html(f'<h1 class="cs-title">{html.escape(t("whatif.title"))}</h1>')
    edit = _changes(now.choice, remembered()[PAGE])
    leave(PAGE, edit, ({} if now.choice == Choice() else to_query(now.choice)) | edits.write(edit))
    complain(now.complaints)
    event = now.choice.engine == "event"
    found = latest(edits.change, now.choice, edit, expected=edits.expected_change, compiled=event, otherwise=(Choice(), Edit()))
    if found is None:
        return
    shown: Change = found[0]
    _headline(shown)
    _pictures(shown, now.choice, edit)
    left, right = st.columns(2, gap="small")
    with left, st.container(border=True, key="card_links"):
        _links(shown)
    with right, st.container(border=True, key="card_tornado"):
        _tornado(shown)
    with st.expander(t("code.title")):
        _code(now.choice, edit)


def _code(choice: Choice, edit: Edit) -> None:
    place = build_place(choice)
    used = options_used(choice.algorithm, dict(choice.options), place, choice.on_machine)
    after, changed = edits.code(choice, edit)
    codebox.of_change(choice, after, changed, used, place.ranks)


def _elsewhere() -> None:
    """Another place was chosen: a cable of the one before is not in it."""
    remembered()[PAGE] = replace(remembered()[PAGE], cable="")
    st.session_state.pop("w_x_cable", None)


# ---- the changes -----------------------------------------------------------------------------------------------------------------


def _changes(choice: Choice, edit: Edit) -> Edit:
    """Controls of all changes; what this place does not have is left out."""
    chinese = language() == "zh"
    known = edits.kinds(choice)
    cables = kept_cables(choice)
    first = st.columns([1.4, 1.3, 2.2, 1.3], vertical_alignment="bottom", gap="small")
    with first[0]:
        kind = _select("kind", t("whatif.kind"), ["", *known], edit.kind, lambda k: kind_name(k)[chinese] if k else t("whatif.none"))
    with first[1]:
        factor = _select("factor", t("whatif.factor"), list(edits.FACTORS), edit.factor, _said, not kind)
    with first[2]:
        offered = list(dict.fromkeys(["", *cables, *([edit.cable] if edit.cable else [])]))
        cable = _select(
            "cable", t("whatif.cable"), offered, edit.cable, lambda c: cables.get(c, (c, c))[chinese] if c else t("whatif.none")
        )
    with first[3]:
        do = _select("do", t("whatif.do"), list(edits.CABLE), edit.do, _said, not cable)
    made = replace(edit, kind=kind, factor=factor, cable=cable, do=do)
    return _machine_changes(made, choice) if choice.on_machine else made


def _machine_changes(edit: Edit, choice: Choice) -> Edit:
    """What only machines have: GPUDirect, the order of ranks, the fabric's uplinks."""
    columns = st.columns(4, vertical_alignment="bottom", gap="small")
    values: dict[str, Any] = {}
    for column, name in zip(columns, ("p2p", "gdr"), strict=False):
        with column:
            values[name] = _select(name, t(name), list(edits.SWITCHED), getattr(edit, name), _said)
    with columns[2]:
        label = t("whatif.placement")
        alone = choice.copies < 2
        values["placement"] = _select("placement", label, list(edits.PLACEMENTS), edit.placement, _placement, alone)
    with columns[3]:
        flat = alone or choice.fabric not in ("leaf-spine", "fat-tree", "rail")
        key = _start("oversubscription", edit.oversubscription, edits.OVERSUBSCRIPTIONS)
        values["oversubscription"] = st.selectbox(
            t("whatif.oversubscription"),
            list(edits.OVERSUBSCRIPTIONS),
            format_func={n: f"{n} : 1" for n in edits.OVERSUBSCRIPTIONS}.__getitem__,
            key=key,
            disabled=flat,
            help=t("whatif.oversubscription.help"),
        )
    return replace(edit, **values)


def _placement(name: str) -> str:
    return t(f"whatif.placement.{name}")


def _said(name: str) -> str:
    return t(f"whatif.{name}")


def _start(name: str, value: Any, known: Any) -> str:
    key = f"w_x_{name}"
    if key not in st.session_state or st.session_state[key] not in known:
        st.session_state[key] = value if value in known else next(iter(known))
    return key


def _select(name: str, label: str, options: list[str], current: str, shown: Any, disabled: bool = False) -> str:
    words = {value: shown(value) for value in options}
    return str(st.selectbox(label, options, format_func=words.__getitem__, key=_start(name, current, options), disabled=disabled))


# ---- before and after ------------------------------------------------------------------------------------------------------------


def _headline(shown: Change) -> None:
    """By how much, from what to what, and why it now takes as long as it does."""
    if shown.nothing:
        first = t("whatif.nothing")
    elif abs(shown.speedup - 1) < 5e-4:
        first = t("whatif.equal")
    else:
        key, times = ("whatif.faster", shown.speedup) if shown.speedup > 1 else ("whatif.slower", 1 / shown.speedup)
        first = t(key, times=f"{times:.3g}")
    lines = [t("whatif.times", before=format_time(shown.before.time), after=format_time(shown.after.time))]
    lines[0] += f" (busbw {format_bandwidth(shown.before.busbw)} → {format_bandwidth(shown.after.busbw)})"
    before, after, every = shown.crossings
    if before != after:
        lines.append(t("whatif.crossings", before=before, after=after, all=every))
    spans = "".join(f"<span>{html.escape(line)}</span>" for line in lines)
    st.html(f'<div class="cs-why" style="flex:none"><b>{html.escape(first)}</b>{spans}</div>')


def _pictures(shown: Change, choice: Choice, edit: Edit) -> None:
    """Both runs on one clock, as a race of two."""
    runners = (shown.before, shown.after)
    note = f"{algorithm_label(choice.algorithm, choice.collective)}, {place_label(choice.place)}"
    names = (t("whatif.before"), t("whatif.after"))
    entries = [
        {**facts, "name": name, "note": note, "why": one.why[language() == "zh"]}
        for one, facts, name in zip(runners, course(runners), names, strict=True)
    ]
    data = {"id": repr((choice, edit)), "runners": entries, "lang": language(), "theme": "dark" if is_dark() else "light"}
    mount = st.components.v2.component("collsim_race", js=race_source())
    mount(key="before_after", data=data, on_state_change=lambda: None)


def _links(shown: Change) -> None:
    """What every link carried before and after; the largest changes first."""
    st.markdown(f"**{t('whatif.links')}**")
    table = shown.links
    if table.empty:
        st.html(f'<div class="cs-note">{html.escape(t("whatif.links.none"))}</div>')
        return
    frame = pd.DataFrame(
        {
            "link": table[language()],
            "kind": [kind_name(k)[language() == "zh"] for k in table["kind"]],
            "bytes_a": table["bytes_a"] / MEBI,
            "bytes_b": table["bytes_b"] / MEBI,
            "share_a": 100 * table["share_a"],
            "share_b": 100 * table["share_b"],
        }
    )
    bar: dict[str, Any] = {"format": "%.1f %%", "min_value": 0, "max_value": 100}
    columns = {
        "link": st.column_config.TextColumn(t("col.link"), width="medium"),
        "kind": st.column_config.TextColumn(t("whatif.kind.column")),
        "bytes_a": st.column_config.NumberColumn(t("whatif.mib.before"), format="%.4g"),
        "bytes_b": st.column_config.NumberColumn(t("whatif.mib.after"), format="%.4g"),
        "share_a": st.column_config.ProgressColumn(t("whatif.busy.before"), **bar),
        "share_b": st.column_config.ProgressColumn(t("whatif.busy.after"), **bar),
    }
    st.dataframe(frame, column_config=columns, hide_index=True, width="stretch", height=min(360, 38 + 35 * len(frame)))


def _tornado(shown: Change) -> None:
    """What doubling each kind of link, or one of the busiest cables, would save now."""
    st.markdown(f"**{t('whatif.tornado')}**")
    st.html(f'<div class="cs-note">{html.escape(t("whatif.tornado.note"))}</div>')
    table = shown.tornado
    if table.empty:
        return
    dark = is_dark()
    names = [t("whatif.every", kind=n) if w == "kind" else n for w, n in zip(table["what"], table[language()], strict=True)]
    frame = pd.DataFrame({"name": names, "saved": table["doubled"], "what": table["what"]})
    frame = frame.assign(said=[f"{100 * v:.1f}\N{NO-BREAK SPACE}%" for v in frame["saved"]]).drop_duplicates("name")
    frame = frame.sort_values("saved", ascending=False, kind="stable")
    most = max(0.1, 1.15 * float(frame["saved"].max()))
    base = alt.Chart(frame).encode(
        y=alt.Y("name:N", sort=list(frame["name"]), title=None, axis=alt.Axis(labelLimit=260)),
        x=alt.X(
            "saved:Q", title=t("whatif.saves"), axis=alt.Axis(format="%", tickCount=5, labelOverlap=True), scale=alt.Scale(domain=[0, most])
        ),
        tooltip=[alt.Tooltip("name:N", title=t("col.link")), alt.Tooltip("said:N", title=t("whatif.saves"))],
    )
    hues = alt.Scale(domain=["kind", "link"], range=[color("full", dark), color("ink3", dark)])
    bars = base.mark_bar(height=16).encode(color=alt.Color("what:N", scale=hues, legend=None))
    words = base.mark_text(align="left", dx=6, fontSize=14, color=color("ink", dark)).encode(text="said:N")
    picture = alt.layer(bars, words).properties(height=34 * len(frame) + 30, description=t("whatif.tornado"))
    st.altair_chart(picture.configure(**chart_look(dark)), width="stretch", theme=None, key="chart_tornado")
