"""Machines: which way data go between two ranks, hop by hop, with a GPUDirect switch on and off side by side."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import Any

import streamlit as st

import collsim as cs
from collsim.errors import CollsimError
from collsim.topology.fabrics import FABRICS
from collsim.units import format_bandwidth, format_time
from collsim.viz.route.route import RankRoute, ways_source

from ...scenario.choice import MOST_NODES, Choice
from ...scenario.custom_machine import OWN
from ...scenario.mistakes import told
from ...shell import codebox
from ...shell.address import enter, leave, remembered
from ...shell.controls import complain, fabric_label, mistake, spaced
from ...shell.machine_box import ownbox
from ...shell.session import is_dark, language, session, t
from ..open_in import onward
from . import pair
from .pair import Look, Yard

PAGE = "machines"
NODES = [1, 2, 4, 8]


@st.cache_data(max_entries=64, show_spinner=False)
def kept_look(yard: Yard) -> Look:
    """Both ways, found once for all sessions; only so many are kept."""
    return pair.look(yard)


def arrive() -> None:
    """Take the address over before anything is drawn."""
    enter(PAGE, pair.read)


def page() -> None:
    """Draw the page: controls, the two cards, what it costs, and a place to paste one's own machine."""
    kept: Yard = remembered()[PAGE]
    title = st.container()
    yard = _controls(kept)
    said = st.container()
    leave(PAGE, yard, pair.write(yard))
    with said:
        complain(session().complaints)
    title.html(f'<h1 class="cs-title">{html.escape(t("machines.title", a=yard.a, b=yard.b))}</h1>')
    try:
        shown = kept_look(yard)
        st.session_state["good_yard"] = yard
    except CollsimError as error:
        with said:
            mistake(f"{told(error, language())} {t('mistake.kept')}")
        yard = st.session_state.get("good_yard", Yard())
        shown = kept_look(yard)
    _cards(shown, yard)
    _costs(shown, yard)
    onward(t("machines.onward"), "onward", lambda choice: pair.chosen(choice, yard))
    with st.expander(t("code.title")):
        _code(yard, shown)
    left, right = st.columns(2, gap="small")
    with left, st.expander(t("machines.paste"), expanded=bool(yard.text)):
        _paste(yard)
    with right, st.expander(t("machines.about")):
        _about(yard, shown)


# ---- controls
# -------------------------------------------------------------------------------------------------------------------


def _controls(yard: Yard) -> Yard:
    """One row: which machine, how many, from where to where, what is compared."""
    place, nodes, fabric, a, b, by = st.columns([3, 1.1, 1.6, 1.3, 1.3, 2.2], vertical_alignment="bottom", gap="small")
    with place:
        text = yard.text or session().choice.own
        offered = [*([OWN] if text else []), *cs.topology.machines()]
        chosen = _select("place", t("machines.place"), offered, OWN if yard.text else yard.machine, _place_label)
        yard = replace(yard, text=text) if chosen == OWN else replace(yard, machine=chosen, text="")
    several = "nodes" in pair.takes(yard)
    with nodes:
        counts = sorted({*NODES, min(yard.nodes, MOST_NODES)}) if several else [1]
        yard = replace(yard, nodes=_select("nodes", t("nodes"), counts, yard.nodes, disabled=not several))
    with fabric:
        yard = replace(
            yard, fabric=_select("fabric", t("fabric"), list(FABRICS), yard.fabric, fabric_label, yard.nodes < 2)
        )
    ranks = _ranks(yard)
    yard = replace(yard, a=min(yard.a, ranks - 1), b=min(yard.b, ranks - 1))
    with a:
        yard = replace(yard, a=_select("a", t("machines.from"), list(range(ranks)), yard.a, _rank_label))
    with b:
        yard = replace(yard, b=_select("b", t("machines.to"), list(range(ranks)), yard.b, _rank_label))
    with by:
        key = _start("by", yard.by, ("p2p", "gdr"))
        picked: Any = st.segmented_control(
            t("machines.switch"), ["p2p", "gdr"], format_func=_by_label, key=key, required=True, width="stretch"
        )
    return replace(yard, by=picked or yard.by)


def _ranks(yard: Yard) -> int:
    """How many ranks there are to choose from; a machine that cannot be built is told of on the page."""
    try:
        return pair.build(yard).ranks
    except CollsimError:
        return max(yard.a, yard.b) + 1


def _place_label(name: str) -> str:
    return str(cs.topology.machines()[name].title) if name != OWN else t("machines.paste")


def _rank_label(rank: int) -> str:
    return f"rank {rank}"


def _by_label(by: str) -> str:
    return t(f"machines.{by}")


def _start(name: str, value: Any, known: Any) -> str:
    key = f"w_m_{name}"
    if key not in st.session_state or st.session_state[key] not in known:
        st.session_state[key] = value if value in known else next(iter(known))
    return key


def _select(name: str, label: str, options: list[Any], current: Any, shown: Any = str, disabled: bool = False) -> Any:
    words = {value: shown(value) for value in options}
    return st.selectbox(
        label, options, format_func=words.__getitem__, key=_start(name, current, options), disabled=disabled
    )


def _picked() -> None:
    """A rank was clicked in a picture: in turn the beginning and the end of the way."""
    rank = (st.session_state.get("ways") or {}).get("pick")
    if rank is None:
        return
    first = not st.session_state.get("second_click", False)
    st.session_state["second_click"] = first
    remembered()[PAGE] = pair.clicked(remembered()[PAGE], int(rank), first)
    for name in ("w_m_a", "w_m_b"):
        st.session_state.pop(name, None)


# ---- the two ways
# ---------------------------------------------------------------------------------------------------------------


def _cards(shown: Look, yard: Yard) -> None:
    found = [(on, way) for on, way in zip((True, False), shown.ways, strict=True) if way is not None]
    if yard.a == yard.b:
        mistake(t("machines.self"))
    elif shown.why[1]:
        mistake(t("machines.none", what=_switch(yard, False), why=told(shown.why[1], language())))
    if not found:
        return
    if shown.same:
        st.html(f'<div class="cs-note">{html.escape(t("machines.same"))}</div>')
        found = found[:1]
    cards = [_card(way, _place_title(yard, shown) if shown.same else _switch(yard, on)) for on, way in found]
    head = ["#", t("machines.hop"), t("machines.cable"), t("machines.rate"), t("machines.latency"), t("machines.used")]
    data = {
        "id": repr((yard, shown.same)),
        "cards": cards,
        "head": head,
        "label": t("machines.title", a=yard.a, b=yard.b),
        "play": t("machines.play"),
        "pause": t("machines.pause"),
        "lang": language(),
        "theme": "dark" if is_dark() else "light",
    }
    mount = st.components.v2.component("collsim_ways", js=ways_source())
    mount(key="ways", data=data, on_pick_change=_picked)
    st.html(f'<div class="cs-note">{html.escape(t("machines.note"))}</div>')


def _switch(yard: Yard, on: bool) -> str:
    return t("race.on" if on else "race.off", what=t(yard.by))


def _place_title(yard: Yard, shown: Look) -> str:
    return shown.name if yard.text else _place_label(yard.machine)


def _card(way: RankRoute, title: str) -> dict[str, Any]:
    """One card: words of the way, a row for each hop."""
    chinese = language() == "zh"
    words = {
        "hops": len(way.hops),
        "latency": format_time(way.alpha),
        "rate": format_bandwidth(way.bandwidth),
        "cable": way.limit,
    }
    memory = sum(hop["kind"] == "memory" for hop in way.hops)
    return {
        "title": title,
        "word": way.said[chinese],
        "says": t("machines.says" if len(way.hops) > 1 else "machines.says.one", **words),
        "rows": [_row(number, hop, chinese) for number, hop in enumerate(way.hops, 1)],
        "foot": t("machines.memory", count=memory) if memory else t("machines.direct"),
        "timeline": way.timeline,
        "marks": way.marks,
    }


def _row(number: int, hop: dict[str, Any], chinese: bool) -> list[Any]:
    return [
        str(number),
        f"{hop['from'][chinese]} → {hop['to'][chinese]}",
        hop["cable"],
        f"{hop['bandwidth'] / 1e9:.4g}",
        format_time(hop["alpha"]),
        f"{100 * hop['ring']:.0f}\N{NO-BREAK SPACE}%",
        hop["hot"],
        hop["kind"] == "memory",
    ]


def _costs(shown: Look, yard: Yard) -> None:
    """Two pairs of bars: the buffer alone, and a ring over all ranks."""
    ways = [(on, way) for on, way in zip((True, False), shown.ways, strict=True) if way is not None]
    if not ways:
        return
    size = spaced(yard.nbytes)
    blocks = [(t("machines.alone", nbytes=size, a=yard.a, b=yard.b), [(on, w.alone) for on, w in ways])]
    rings = [(on, w.ring) for on, w in ways if w.ring is not None]
    if len(rings) == len(ways):
        blocks.append(
            (t("machines.ring", nbytes=size, ranks=shown.ranks), [(on, r) for on, r in rings if r is not None])
        )
    body = "".join(_bars(title, [(_switch(yard, on), seconds) for on, seconds in rows]) for title, rows in blocks)
    first = ""
    if len(ways) == 2 and len(blocks) == 2:
        (_, alone), (_, ring) = blocks
        little = alone[1][1] < 1.005 * alone[0][1]
        if little and ring[1][1] < 1.005 * ring[0][1]:
            first = t("machines.cost.none")
        else:
            first = (
                t("machines.cost.same", ring=_ratio(ring))
                if little
                else t("machines.cost", alone=_ratio(alone), ring=_ratio(ring))
            )
    with st.container(border=True, key="card_costs"):
        said = f'<b style="font-size:19px;line-height:27px;color:var(--cs-ink)">{html.escape(first)}</b>'
        st.html(f'<div style="display:grid;grid-template-columns:1fr 1.4fr 1.4fr;gap:8px 40px">{said}{body}</div>')


def _ratio(rows: list[tuple[bool, float]]) -> str:
    return f"{rows[1][1] / rows[0][1]:.3g}" if rows[0][1] else "1"


def _bars(title: str, rows: list[tuple[str, float]]) -> str:
    """Bars on one scale, with their times."""
    longest = max(seconds for _, seconds in rows) or 1.0
    lines = ""
    for name, seconds in rows:
        hue = "full" if seconds > 1.2 * rows[0][1] else "ink3"
        width = 100 * seconds / longest
        bar = f"display:block;height:16px;border-radius:3px;width:{width:.1f}%;background:var(--cs-{hue})"
        rail = (
            f'<span style="background:var(--cs-grid);height:16px;border-radius:3px"><span style="{bar}"></span></span>'
        )
        lines += f'<span>{html.escape(name)}</span>{rail}<b style="text-align:right">{format_time(seconds)}</b>'
    grid = "display:grid;grid-template-columns:auto 1fr auto;gap:6px 12px;align-items:center;font-size:15px"
    return f'<div><div class="cs-note">{html.escape(title)}</div><div style="{grid}">{lines}</div></div>'


# ---- as code, one's own, and about
# ----------------------------------------------------------------------------------------------


def _code(yard: Yard, shown: Look) -> None:
    """The way as a question to collsim, and a send from every rank to the next on real hardware."""
    choice = replace(pair.chosen(Choice(nbytes=yard.nbytes), yard), collective="sendrecv", algorithm="sendrecv_direct")
    codebox.of_way(choice, yard.a, yard.b, shown.ranks)


def _paste(yard: Yard) -> None:
    """A text or a file of one's own; what it does not say is listed."""
    ownbox(yard.text, PAGE, lambda text: _keep(replace(Yard(text=text), nbytes=yard.nbytes, by=yard.by)), _drop)


def _drop() -> None:
    _keep(replace(Yard(), nbytes=remembered()[PAGE].nbytes))


def _keep(yard: Yard) -> None:
    """Show this machine now, and offer it on the pages that share the run of Explore."""
    remembered()[PAGE] = yard
    session().choice = replace(session().choice, own=yard.text or session().choice.own)
    for key in [str(k) for k in st.session_state if str(k).startswith("w_m_")]:
        del st.session_state[key]


def _about(yard: Yard, shown: Look) -> None:
    """Where the numbers come from."""
    if yard.text:
        st.html(f'<div class="cs-note">{html.escape(shown.name)}</div>')
        return
    plan = cs.topology.machines()[yard.machine]
    for text in (str(plan.about), str(plan.source)):
        st.html(f'<div class="cs-note">{html.escape(text)}</div>')
