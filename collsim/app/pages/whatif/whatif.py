"""What-if: one run before and after a change; what moved, and what it would pay to change next."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from collsim.units import format_bandwidth, format_time
from collsim.viz.race.race import course, race_source
from collsim.viz.sentences.words import every, kind_name

from ...scenario import companions
from ...scenario.choice import Choice, Complaint, moment, to_query
from ...scenario.companions import Several
from ...scenario.outcome import asked, build_place, options_used
from ...shell import codebox
from ...shell.address import enter, leave, remembered
from ...shell.controls import algorithm_label, complain, place_label, spaced
from ...shell.look import chart_look, color
from ...shell.player import player
from ...shell.results import latest
from ...shell.session import is_dark, language, session, t
from ...shell.sidebar import sidebar
from . import edits
from .edits import Change, Edit

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
    known = edits.kinds(session().choice)
    if edit.kind and known and edit.kind not in known:
        more.append(Complaint("scale", edit.kind[:60], "unknown", "–"))
        edit = replace(edit, kind="")
    if edit.cable and not edits.has_cable(session().choice, edit):
        more.append(Complaint("cable", edit.cable[:60], "unknown", "–"))
        edit = replace(edit, cable="")
    if edit.beside and edits.ranks(session().choice) and edit.beside not in edits.companions(session().choice):
        more.append(Complaint("beside", edit.beside, "unknown", "–"))
        edit = replace(edit, beside="")
    return edit, complaints + more + moment(dict(query))[1]


def arrive() -> None:
    """Take the address over before anything is drawn."""
    enter(PAGE, _read)


def page() -> None:
    """Draw the page: the run in the sidebar, the changes in a row, then before and after."""
    now = session()
    before, kept = now.choice, remembered()[PAGE]
    start = moment(st.query_params.to_dict())[0]
    sidebar(PAGE)
    if (before.place, before.nodes, before.fabric) != (now.choice.place, now.choice.nodes, now.choice.fabric):
        _elsewhere()
    st.html(f'<h1 class="cs-title">{html.escape(t("whatif.title"))}</h1>')
    edit = _changes(now.choice, remembered()[PAGE])
    if (now.choice, edit) != (before, kept):
        start.pop("t", None)  # a moment of another run
    query = ({} if now.choice == Choice() else to_query(now.choice)) | edits.write(edit)
    leave(PAGE, edit, query | {name: st.query_params[name] for name in start})
    complain(now.complaints)
    event = edits.timed(now.choice, edit).engine == "event"
    found = latest(
        edits.change, now.choice, edit, expected=edits.expected_change, compiled=event, otherwise=(Choice(), Edit())
    )
    if found is None:
        return
    shown: Change = found[0]
    of, did = found[1]
    _headline(shown, did.troubled and of.engine == "lockstep")
    if shown.times:
        _spread(shown)
    _pictures(shown, of, did, start.get("t"))
    if shown.several is not None:
        _several(shown.several, repr((of, did)), start)
    with st.container(key="whatif_tables"):
        left, right = st.columns(2, gap="small")
    with left, st.container(border=True, key="card_links"):
        _links(shown)
    with right, st.container(border=True, key="card_tornado"):
        _tornado(shown)
    if (of, did) == (
        now.choice,
        edit,
    ):  # else the last good pictures stand here, and this change may not be possible at all
        with st.expander(t("code.title")):
            _code(now.choice, edit)


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


def _elsewhere() -> None:
    """Another place was chosen: a cable or a rank of the one before may not be in it."""
    remembered()[PAGE] = replace(remembered()[PAGE], cable="", straggler=edits.NOBODY)
    for name in ("cable", "straggler"):
        st.session_state.pop(f"w_x_{name}", None)


# ---- the changes
# -----------------------------------------------------------------------------------------------------------------


def _changes(choice: Choice, edit: Edit) -> Edit:
    """Controls of all changes; what this place does not have is left out."""
    chinese = language() == "zh"
    known = edits.kinds(choice)
    cables = kept_cables(choice)
    first = st.columns([1.3, 1.2, 1.9, 1.2, 1, 1.2], vertical_alignment="bottom", gap="small")
    with first[0]:
        kind = _select(
            "kind",
            t("whatif.kind"),
            ["", *known],
            edit.kind,
            lambda k: kind_name(k)[chinese] if k else t("whatif.none"),
        )
    with first[1]:
        factor = _select("factor", t("whatif.factor"), list(edits.FACTORS), edit.factor, _said, not kind)
    with first[2]:
        offered = list(dict.fromkeys(["", *cables, *([edit.cable] if edit.cable else [])]))
        cable = _select(
            "cable",
            t("whatif.cable"),
            offered,
            edit.cable,
            lambda c: cables.get(c, (c, c))[chinese] if c else t("whatif.none"),
        )
    with first[3]:
        do = _select("do", t("whatif.do"), list(edits.CABLE), edit.do, _said, not cable)
    with first[4]:
        offered_ranks = dict.fromkeys([edits.NOBODY, *range(edits.ranks(choice)), edit.straggler])
        names = {r: t("whatif.none") if r == edits.NOBODY else f"rank {r}" for r in offered_ranks}
        key = _start("straggler", edit.straggler, names)
        rank = st.selectbox(
            t("whatif.straggler"), list(names), format_func=names.__getitem__, key=key, help=t("whatif.straggler.help")
        )
    with first[5]:
        how = _select("how", t("whatif.how"), list(edits.STRAGGLERS), edit.how, _said, rank == edits.NOBODY)
    made = replace(edit, kind=kind, factor=factor, cable=cable, do=do, straggler=rank, how=how)
    second = st.columns(7, vertical_alignment="bottom", gap="small")
    with second[0]:
        jitter = _select(
            "jitter", t("whatif.jitter"), list(edits.JITTERS), edit.jitter, _mean, told=t("whatif.jitter.help")
        )
    with second[1]:
        traffic = _select(
            "traffic", t("whatif.traffic"), list(edits.TRAFFIC), edit.traffic, _other, told=t("whatif.traffic.help")
        )
    with second[2]:
        companion = _select(
            "beside",
            t("whatif.beside"),
            edits.companions(choice),
            edit.beside,
            _companion,
            told=t("whatif.beside.help"),
        )
    made = replace(made, jitter=jitter, traffic=traffic, beside=companion)
    return _machine_changes(made, choice, second[3:]) if choice.on_machine else made


def _mean(jitter: str) -> str:
    return spaced(jitter) if jitter else t("whatif.none")


def _other(traffic: str) -> str:
    return t(f"whatif.traffic.{traffic}") if traffic else t("whatif.none")


def _companion(beside: str) -> str:
    return t(f"whatif.beside.{beside}") if beside else t("whatif.none")


def _machine_changes(edit: Edit, choice: Choice, columns: Sequence[Any]) -> Edit:
    """What only machines have: GPUDirect, the order of ranks, the fabric's uplinks."""
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


def _select(
    name: str, label: str, options: list[str], current: str, shown: Any, disabled: bool = False, told: str | None = None
) -> str:
    words = {value: shown(value) for value in options}
    key = _start(name, current, options)
    return str(st.selectbox(label, options, format_func=words.__getitem__, key=key, disabled=disabled, help=told))


# ---- before and after
# ------------------------------------------------------------------------------------------------------------


def _headline(shown: Change, barrier: bool) -> None:
    """By how much, from what to what, and which cable is the busiest now; `barrier`: the run that was asked for has
    barriers."""
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
    if barrier:
        lines.append(t("whatif.event"))
    spans = "".join(f"<span>{html.escape(line)}</span>" for line in lines)
    verdict = f'<span style="color:var(--cs-ink)">{html.escape(shown.verdict[language() == "zh"])}</span>'
    st.html(f'<div class="cs-why" style="flex:none"><b>{html.escape(first)}</b>{verdict}{spans}</div>')


def _spread(shown: Change) -> None:
    """How the time is spread over many runs with jitter."""
    times = np.array(shown.times)
    low, middle, high = np.quantile(times, (0.05, 0.5, 0.95))
    words = {
        "median": format_time(middle),
        "low": format_time(low),
        "high": format_time(high),
        "before": format_time(shown.before.time),
    }
    said = t("whatif.spread", runs=len(times), last=len(times) - 1, **words)
    counts, edges = np.histogram(times, bins=24)
    unit, per = next(
        (name, scale) for name, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if high >= scale or scale == 1e-6
    )
    frame = pd.DataFrame({"low": edges[:-1] / per, "high": edges[1:] / per, "runs": counts})
    dark = is_dark()
    x = alt.X(
        "low:Q",
        bin="binned",
        title=f"{t('time')}, {unit}",
        scale=alt.Scale(zero=False, nice=False),
        axis=alt.Axis(tickCount=8, format="~r"),
    )
    bars = alt.Chart(frame).mark_bar(color=color("room", dark), stroke=color("card", dark))
    bars = bars.encode(
        x=x, x2="high:Q", y=alt.Y("runs:Q", title=t("whatif.runs"), axis=alt.Axis(tickCount=4)), tooltip=["runs:Q"]
    )
    marks = (
        alt.Chart(pd.DataFrame({"low": [middle / per]}))
        .mark_rule(color=color("full", dark), strokeWidth=3)
        .encode(x="low:Q")
    )
    with st.container(border=True, key="card_spread"):
        st.markdown(f"**{said}**")
        picture = alt.layer(bars, marks).properties(height=150, description=said)
        st.altair_chart(picture.configure(**chart_look(dark)), width="stretch", theme=None, key="chart_spread")


def _pictures(shown: Change, choice: Choice, edit: Edit, seconds: float | None) -> None:
    """Both runs on one clock, as a race of two, from a moment if one is given."""
    runners = (shown.before, shown.after)
    note = f"{algorithm_label(choice.algorithm, choice.collective)}{t('comma')}{place_label(choice.place)}"
    names = (t("whatif.before"), t("whatif.after"))
    entries = [
        {**facts, "name": name, "note": note, "why": one.why[language() == "zh"]}
        for one, facts, name in zip(runners, course(runners), names, strict=True)
    ]
    data = {
        "id": repr((choice, edit)),
        "runners": entries,
        "lang": language(),
        "theme": "dark" if is_dark() else "light",
    }
    mount = st.components.v2.component("collsim_race", js=race_source())
    mount(key="before_after", data=data | ({} if seconds is None else {"t": seconds}), on_state_change=lambda: None)


def _several(shown: Several, ident: str, start: dict[str, Any]) -> None:
    """All at once in the player, and how much slower each is than alone."""
    with st.container(border=True, key="card_several"):
        _, _, alone, took, _ = shown.rows[0]
        this, *others = (row[4] for row in shown.rows)
        factor, low, high = (f"{value:.3g}" for value in (this, min(others), max(others)))
        key = "whatif.several.free" if factor == "1" else "whatif.several"
        st.markdown(
            f"**{t(key, count=len(shown.rows), alone=format_time(alone), time=format_time(took), factor=factor)}**"
        )
        key = (
            "whatif.several.others"
            if low != high
            else "whatif.several.other.free"
            if high == "1"
            else "whatif.several.other"
        )
        st.html(f'<div class="cs-note">{html.escape(t(key, low=low, high=high))}</div>')
        player(shown.timeline, ident, start)


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
            "bytes_a": table["bytes_a"] / MEBI,
            "bytes_b": table["bytes_b"] / MEBI,
            "share_a": 100 * table["share_a"],
            "share_b": 100 * table["share_b"],
        }
    )
    bar: dict[str, Any] = {"format": "%.1f %%", "min_value": 0, "max_value": 100}
    columns = {
        "link": st.column_config.TextColumn(t("col.link"), width="medium"),
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
    names = [
        every(k)[language() == "zh"] if w == "kind" else n
        for w, k, n in zip(table["what"], table["name"], table[language()], strict=True)
    ]
    frame = pd.DataFrame({"name": names, "saved": table["doubled"], "what": table["what"]})
    frame = frame.assign(said=[f"{100 * v:.1f}\N{NO-BREAK SPACE}%" for v in frame["saved"]]).drop_duplicates("name")
    frame = frame.sort_values("saved", ascending=False, kind="stable")
    most = max(0.1, 1.15 * float(frame["saved"].max()))
    base = alt.Chart(frame).encode(
        y=alt.Y("name:N", sort=list(frame["name"]), title=None, axis=alt.Axis(labelLimit=260)),
        x=alt.X(
            "saved:Q",
            title=t("whatif.saves"),
            axis=alt.Axis(format="%", tickCount=5, labelOverlap=True),
            scale=alt.Scale(domain=[0, most]),
        ),
        tooltip=[alt.Tooltip("name:N", title=t("col.link")), alt.Tooltip("said:N", title=t("whatif.saves"))],
    )
    hues = alt.Scale(domain=["kind", "link"], range=[color("full", dark), color("ink3", dark)])
    bars = base.mark_bar(height=16).encode(color=alt.Color("what:N", scale=hues, legend=None))
    words = base.mark_text(align="left", dx=6, fontSize=14, color=color("ink", dark)).encode(text="said:N")
    picture = alt.layer(bars, words).properties(height=34 * len(frame) + 30, description=t("whatif.tornado"))
    st.altair_chart(picture.configure(**chart_look(dark)), width="stretch", theme=None, key="chart_tornado")
