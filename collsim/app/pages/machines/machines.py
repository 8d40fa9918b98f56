"""Machines: which way data go between two ranks, hop by hop, with a GPUDirect switch on and off side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

import collsim as cs
from collsim.errors import CollsimError
from collsim.markup import escape_markdown, escape_text
from collsim.topology.fabrics import FABRICS
from collsim.units import format_bandwidth, format_time
from collsim.viz.route.route import RankRoute, build_route_source

from ...scenario.choice import MOST_NODES, Choice
from ...scenario.custom_machine import OWN
from ...scenario.mistakes import sentence
from ...shell import codebox, player
from ...shell.address import leave, menu, remember, remembered
from ...shell.controls import choose, fabric_label, folded, forget, segment, spaced
from ...shell.machine_box import ownbox
from ...shell.notes import complain, mistake, note, note_html, title
from ...shell.open_in import open_in
from ...shell.page import page
from ...shell.session import forget_widgets, language, session, t
from ..whatif import edits
from . import pair
from .pair import Look, Pair

PAGE = "machines"
NODES = [1, 2, 4, 8]


@st.cache_data(max_entries=64, show_spinner=False)
def kept_look(of: Pair) -> Look:
    """Both ways, found once for all sessions; only so many are kept."""
    return pair.look(of)


@page(PAGE, 50, address=pair.ADDRESS)
def draw() -> None:
    """Draw the page: controls, the two cards, what it costs, and a place to paste one's own machine."""
    heading = st.container()
    of = _controls(remembered(PAGE))
    said = st.container()
    leave(of)
    with said:
        complain(session().complaints)
    heading.html(title(t("machines.title", a=of.a, b=of.b)))
    with said:
        of, shown = _found(of)
    _cards(shown, of)
    _costs(shown, of)
    open_in(t("machines.open_in"), "open_in", lambda choice: pair.chosen(choice, of))
    _break(of, shown)
    folded("code", t("code.title"), lambda: _code(of, shown))
    left, right = st.columns(2, gap="small")
    with left, st.expander(t("machines.paste"), expanded=bool(of.text)):
        _paste(of)
    with right:
        folded("about", t("machines.about"), lambda: _about(of, shown))


def _break(of: Pair, shown: Look) -> None:
    """A cable of the way breaks: What-if, with the schedule that is synthesized for what is left."""
    a, _, b = shown.cable.partition("~")
    if not shown.cable:
        return
    said = t("machines.break", cable=f"{a.rpartition('/')[2]} – {b.rpartition('/')[2]}")
    if st.button(escape_markdown(said), key="machines_break", icon=":material/route:", help=t("synthesis.show.help")):
        now = session()
        now.choice = replace(pair.chosen(now.choice, of), nbytes=of.nbytes, algorithms=())
        remember("whatif", replace(edits.PLAIN, cable=shown.cable, do="cut", synthesize=True))
        st.switch_page(menu()["whatif"])


def _found(of: Pair) -> tuple[Pair, Look]:
    """The ways of a pair; where there are none a sentence, and the last pair that had some."""
    try:
        shown = kept_look(of)
        st.session_state["good_pair"] = of
    except CollsimError as error:
        mistake(f"{sentence(error, language())} {t('mistake.kept')}")
        of = st.session_state.get("good_pair", Pair())
        shown = kept_look(of)
    return of, shown


# ---- controls ------------------------------------------------------------------------------------------------------


def _controls(of: Pair) -> Pair:
    """One row: which machine, how many, from where to where, what is compared."""
    place, nodes, fabric, a, b, by = st.columns([3, 1.1, 1.6, 1.3, 1.3, 2.2], vertical_alignment="bottom", gap="small")
    with place:
        of = _machine(of)
    several = "nodes" in pair.takes(of)
    with nodes:
        counts = sorted({*NODES, min(of.nodes, MOST_NODES)}) if several else [1]
        words = {count: str(count) for count in counts}
        of = replace(of, nodes=choose("m_nodes", t("nodes"), words, of.nodes, disabled=not several))
    with fabric:
        labels = {name: fabric_label(name) for name in FABRICS}
        of = replace(of, fabric=choose("m_fabric", t("fabric"), labels, of.fabric, disabled=of.nodes < 2))
    ranks = {rank: f"rank {rank}" for rank in range(_ranks(of))}
    of = replace(of, a=min(of.a, len(ranks) - 1), b=min(of.b, len(ranks) - 1))
    with a:
        of = replace(of, a=choose("m_a", t("machines.from"), ranks, of.a))
    with b:
        of = replace(of, b=choose("m_b", t("machines.to"), ranks, of.b))
    with by:
        return replace(of, by=segment("m_by", ["p2p", "gdr"], of.by, _by_label, t("machines.switch")))


def _machine(of: Pair) -> Pair:
    text = of.text or session().choice.own
    offered = [*([OWN] if text else []), *cs.topology.machines()]
    labels = {name: _place_label(name) for name in offered}
    chosen = choose("m_place", t("machines.place"), labels, OWN if of.text else of.machine)
    return replace(of, text=text) if chosen == OWN else replace(of, machine=chosen, text="")


def _ranks(of: Pair) -> int:
    """How many ranks there are to choose from; a machine that cannot be built is told of on the page."""
    try:
        return pair.build(of).ranks
    except CollsimError:
        return max(of.a, of.b) + 1


def _place_label(name: str) -> str:
    return str(cs.topology.machines()[name].title) if name != OWN else t("machines.paste")


def _by_label(by: str) -> str:
    return t(f"machines.{by}")


def _picked() -> None:
    """A rank was clicked in a picture: in turn the beginning and the end of the way."""
    rank = (st.session_state.get("ways") or {}).get("pick")
    if rank is None:
        return
    first = not st.session_state.get("second_click", False)
    st.session_state["second_click"] = first
    remember(PAGE, pair.clicked(remembered(PAGE), int(rank), first))
    forget("m_a", "m_b")


# ---- the two ways --------------------------------------------------------------------------------------------------


def _ways(shown: Look) -> list[tuple[bool, RankRoute]]:
    """The ways that there are, each with whether the switch is on."""
    return [(on, way) for on, way in zip((True, False), shown.ways, strict=True) if way is not None]


def _cards(shown: Look, of: Pair) -> None:
    found = _ways(shown)
    if of.a == of.b:
        mistake(t("machines.self"))
    elif shown.why[1]:
        mistake(t("machines.none", what=_switch(of, False), why=sentence(shown.why[1], language())))
    if not found:
        return
    if shown.same:
        note(t("machines.same"))
        found = found[:1]
    cards = [_card(way, _place_title(of, shown) if shown.same else _switch(of, on)) for on, way in found]
    columns = ("hop", "cable", "rate", "latency", "used")
    data = {
        "id": repr((of, shown.same)),
        "cards": cards,
        "head": ["#", *(t(f"machines.{name}") for name in columns)],
        "label": t("machines.title", a=of.a, b=of.b),
        **{name: t(f"machines.{name}") for name in ("play", "pause")},
        **player.look(),
    }
    mount = st.components.v2.component("collsim_ways", js=build_route_source())
    mount(key="ways", data=data, on_pick_change=_picked)
    note(t("machines.note"))


def _switch(of: Pair, on: bool) -> str:
    return t("race.on" if on else "race.off", what=t(of.by))


def _place_title(of: Pair, shown: Look) -> str:
    return shown.name if of.text else _place_label(of.machine)


def _card(way: RankRoute, heading: str) -> dict[str, Any]:
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
        "title": heading,
        "word": way.description[chinese],
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
        f"{100 * hop['ring']:.0f} %",
        hop["hot"],
        hop["kind"] == "memory",
    ]


def _costs(shown: Look, of: Pair) -> None:
    """Two pairs of bars: the buffer alone, and a ring over all ranks."""
    ways = _ways(shown)
    if not ways:
        return
    size = spaced(of.nbytes)
    blocks = [(t("machines.alone", nbytes=size, a=of.a, b=of.b), [(on, way.alone) for on, way in ways])]
    rings = [(on, way.ring) for on, way in ways if way.ring is not None]
    if len(rings) == len(ways):
        blocks.append((t("machines.ring", nbytes=size, ranks=shown.ranks), rings))
    body = "".join(_bars(title, [(_switch(of, on), seconds) for on, seconds in rows]) for title, rows in blocks)
    compared = _compared(blocks[0][1], blocks[1][1]) if len(ways) == len(blocks) == 2 else ""
    with st.container(border=True, key="card_costs"):
        said = f'<b style="font-size:19px;line-height:27px;color:var(--cs-ink)">{escape_text(compared)}</b>'
        grid = "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,280px),1fr));gap:12px 40px"
        st.html(f'<div style="{grid}">{said}{body}</div>')


def _compared(alone: list[tuple[bool, float]], ring: list[tuple[bool, float]]) -> str:
    """What turning the switch off costs the buffer alone, and the ring."""
    little, none = (rows[1][1] < 1.005 * rows[0][1] for rows in (alone, ring))
    if little and none:
        return t("machines.cost.none")
    if little:
        return t("machines.cost.same", ring=_ratio(ring))
    return t("machines.cost", alone=_ratio(alone), ring=_ratio(ring))


def _ratio(rows: list[tuple[bool, float]]) -> str:
    return f"{rows[1][1] / rows[0][1]:.3g}" if rows[0][1] else "1"


def _bars(heading: str, rows: list[tuple[str, float]]) -> str:
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
        lines += f'<span>{escape_text(name)}</span>{rail}<b style="text-align:right">{format_time(seconds)}</b>'
    grid = "display:grid;grid-template-columns:auto 1fr auto;gap:6px 12px;align-items:center;font-size:15px"
    return f'<div>{note_html(heading)}<div style="{grid}">{lines}</div></div>'


# ---- as code, one's own, and about ---------------------------------------------------------------------------------


def _code(of: Pair, shown: Look) -> None:
    """The way as a question to collsim, and a send from every rank to the next on real hardware."""
    choice = replace(pair.chosen(Choice(nbytes=of.nbytes), of), collective="sendrecv", algorithm="sendrecv_direct")
    codebox.of_way(choice, of.a, of.b, shown.ranks)


def _paste(of: Pair) -> None:
    """A text or a file of one's own; what it does not say is listed."""
    ownbox(of.text, PAGE, lambda text: _keep(replace(Pair(text=text), nbytes=of.nbytes, by=of.by)), _drop)


def _drop() -> None:
    _keep(replace(Pair(), nbytes=remembered(PAGE).nbytes))


def _keep(of: Pair) -> None:
    """Show this machine now, and offer it on the pages that share the run of Explore."""
    remember(PAGE, of)
    session().choice = replace(session().choice, own=of.text or session().choice.own)
    forget_widgets("m_")


def _about(of: Pair, shown: Look) -> None:
    """What the machine is, and where its wiring comes from."""
    if of.text:
        note(shown.name)
        return
    plan = cs.topology.machines()[of.machine]
    note(plan.chinese if language() == "zh" and plan.chinese else plan.about)
    note(plan.source)
