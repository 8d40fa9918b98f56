"""Machines: which way data go between two ranks, hop by hop, with a GPUDirect switch on and off side by side."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

import collsim as cs
from collsim.display.markup import escape_markdown, escape_text
from collsim.errors import CollsimError
from collsim.topology.fabrics import FABRICS
from collsim.units import format_bandwidth, format_time
from collsim.viz.route.route import RankRoute

from ...editor.machine_card import draw_machine_card
from ...editor.machine_history import record_machine, take_wanted
from ...editor.parts_shelf import draw_parts_shelf
from ...scenario.choice import MAX_NODES, Choice, read_file_fields
from ...scenario.custom_machine import OWN
from ...shell import codebox, player
from ...shell.address import finish_controls, get_menu, get_remembered, remember
from ...shell.controls import add_space, choose, draw_folded, forget, label_choice, label_machine
from ...shell.form import draw_field
from ...shell.machine_box import draw_machine_box, offer_machine
from ...shell.notes import draw_mistake, draw_note, explain, format_note, format_title
from ...shell.open_in import open_in
from ...shell.page import register_page
from ...shell.session import choose_text, forget_widgets, get_language, get_session, t
from ..whatif import run_edits
from . import pair
from .pair import Look, Pair

PAGE = "machines"
NODES = [1, 2, 4, 8]


@st.cache_data(max_entries=64, show_spinner=False)
def load_look(of: Pair) -> Look:
    """Both ways, found once for all sessions; only so many are kept.

    Args:
        of: Two ranks of a machine, and what is compared between them.
    """
    return pair.look(of)


@register_page(PAGE, 50, address=pair.ADDRESS)
def draw() -> None:
    """Draw the page: controls, the two cards, what it costs, and a place to paste one's own machine."""
    heading = st.container()
    of = _draw_controls(get_remembered(PAGE))
    notes = st.container()
    with notes:
        finish_controls(of)
    heading.html(format_title(t("machines.title", a=of.a, b=of.b)))
    with notes:
        of, look = _find_routes(of)
    draw_machine_card(of)
    _draw_cards(look, of)
    _draw_costs(look, of)
    open_in(t("machines.open_in"), "open_in", lambda choice: pair.build_choice(choice, of))
    _break(of, look)
    draw_folded("code", t("code.title"), partial(_draw_code, of, look))
    left, right = st.columns(2, gap="small")
    with left, st.expander(t("machines.paste"), expanded=of.machine == OWN):
        draw_machine_box(PAGE)
    with right:
        draw_folded("about", t("machines.about"), lambda: _draw_machine_notes(of, look))


def _break(of: Pair, look: Look) -> None:
    """A cable of the way breaks: What-if, with the schedule that is synthesized for what is left."""
    a, _, b = look.cable.partition("~")
    if not look.cable:
        return
    text = t("machines.break", cable=f"{a.rpartition('/')[2]} – {b.rpartition('/')[2]}")
    if st.button(escape_markdown(text), key="machines_break", icon=":material/route:", help=t("synthesis.show.help")):
        now = get_session()
        now.choice = replace(pair.build_choice(now.choice, of), nbytes=of.nbytes, algorithms=())
        remember("whatif", replace(run_edits.PLAIN, cable=look.cable, cable_change="cut", synthesize=True))
        st.switch_page(get_menu()["whatif"])


def _find_routes(of: Pair) -> tuple[Pair, Look]:
    """The ways of a pair; where there are none a sentence, and the last pair that had some."""
    try:
        look = load_look(of)
        st.session_state["good_pair"] = of
    except CollsimError as error:
        draw_mistake(f"{explain(error)} {t('mistake.kept')}")
        of = st.session_state.get("good_pair", Pair())
        look = load_look(of)
    return of, look


# ---- controls ------------------------------------------------------------------------------------------------------


def _draw_controls(of: Pair) -> Pair:
    """One row: which machine, how many, from where to where, what is compared; then other parts of the machine."""
    offer_machine(of.machine_text)  # an address may have brought one
    before, of = of, take_wanted(of)
    if of != before:
        forget_widgets("m_")
    machine_column, nodes, fabric, a, b, by = st.columns(
        [3, 1.1, 1.6, 1.3, 1.3, 2.2], vertical_alignment="bottom", gap="small"
    )
    with machine_column:
        of = _choose_machine(of)
    several = "nodes" in of.takes
    with nodes:
        counts = [1]
        if several:
            counts = sorted({*NODES, min(of.nodes, MAX_NODES)})
        words = {count: str(count) for count in counts}
        of = replace(of, nodes=choose("m_nodes", t("nodes"), words, of.nodes, disabled=not several))
    with fabric:
        labels = {name: label_choice("fabric", name) for name in FABRICS}
        of = replace(of, fabric=choose("m_fabric", t("fabric"), labels, of.fabric, disabled=of.nodes < 2))
    ranks = {rank: f"rank {rank}" for rank in range(_choose_ranks(of))}
    of = replace(of, a=min(of.a, len(ranks) - 1), b=min(of.b, len(ranks) - 1))
    with a:
        of = replace(of, a=choose("m_a", t("machines.from"), ranks, of.a))
    with b:
        of = replace(of, b=choose("m_b", t("machines.to"), ranks, of.b))
    with by:
        of = draw_field("m", of, "by")
    return record_machine(draw_parts_shelf(of))


def _choose_machine(of: Pair) -> Pair:
    text = get_session().choice.machine_text
    offered = list(cs.machines())
    if text:
        offered.insert(0, OWN)
    labels = {name: _label_machine_name(name) for name in offered}
    chosen = choose("m_place", t("machines.place"), labels, of.machine)
    if chosen == of.machine:
        return of
    if chosen == OWN:
        return replace(of, **read_file_fields(text))
    return replace(of, machine=chosen, parts=(), edits=())


def _choose_ranks(of: Pair) -> int:
    """How many ranks there are to choose from; a machine that cannot be built is told of on the page."""
    try:
        return pair.build(of).ranks
    except CollsimError:
        return max(of.a, of.b) + 1


def _label_machine_name(name: str) -> str:
    if name != OWN:
        return label_machine(name)
    return t("machines.paste")


def _on_rank_picked() -> None:
    """A rank was clicked in a picture: in turn the beginning and the end of the way."""
    rank = (st.session_state.get("routes") or {}).get("pick")
    if rank is None:
        return
    first = not st.session_state.get("second_click", False)
    st.session_state["second_click"] = first
    remember(PAGE, pair.pick_rank(get_remembered(PAGE), int(rank), first))
    forget("m_a", "m_b")


# ---- the two ways --------------------------------------------------------------------------------------------------


def _list_routes(look: Look) -> list[tuple[bool, RankRoute]]:
    """The ways that there are, each with whether the switch is on."""
    return [(on, route) for on, route in zip((True, False), look.routes, strict=True) if route is not None]


def _draw_cards(look: Look, of: Pair) -> None:
    routes = _list_routes(look)
    if of.a == of.b:
        draw_mistake(t("machines.self"))
    elif look.reasons[1]:
        draw_mistake(t("machines.none", what=_switch(of, False), reason=explain(look.reasons[1])))
    if not routes:
        return
    if look.same:
        draw_note(t("machines.same"))
        routes = routes[:1]
    cards = [_draw_card(route, _place_title(of, look) if look.same else _switch(of, on)) for on, route in routes]
    columns = ("hop", "cable", "rate", "latency", "used")
    data = {
        "id": repr((of, look.same)),
        "cards": cards,
        "head": ["#", *(t(f"machines.{name}") for name in columns)],
        "label": t("machines.title", a=of.a, b=of.b),
        **{name: t(f"machines.{name}") for name in ("play", "pause")},
    }
    player.mount_bundle("route", "routes", data, on_pick_change=_on_rank_picked)
    draw_note(t("machines.note"))


def _switch(of: Pair, on: bool) -> str:
    return t("race.on" if on else "race.off", what=t(of.by))


def _place_title(of: Pair, look: Look) -> str:
    if of.machine == OWN:
        return look.name
    return _label_machine_name(of.machine)


def _draw_card(route: RankRoute, heading: str) -> dict[str, object]:
    """One card: words of the way, a row for each hop."""
    words = {
        "hops": len(route.hops),
        "latency": format_time(route.alpha),
        "rate": format_bandwidth(route.bandwidth),
        "cable": route.limit,
    }
    memory = sum(hop["kind"] == "memory" for hop in route.hops)
    return {
        "title": heading,
        "word": choose_text(route.description),
        "says": t("machines.says" if len(route.hops) > 1 else "machines.says.one", **words),
        "rows": [_draw_hop(number, hop) for number, hop in enumerate(route.hops, 1)],
        "foot": t("machines.memory", count=memory) if memory else t("machines.direct"),
        "timeline": route.timeline,
        "marks": route.marks,
    }


def _draw_hop(number: int, hop: dict[str, Any]) -> list[object]:
    return [
        str(number),
        f"{choose_text(hop['from'])} → {choose_text(hop['to'])}",
        hop["cable"],
        f"{hop['bandwidth'] / 1e9:.4g}",
        format_time(hop["alpha"]),
        f"{100 * hop['ring']:.0f} %",
        hop["hot"],
        hop["kind"] == "memory",
    ]


def _draw_costs(look: Look, of: Pair) -> None:
    """Two pairs of bars: the buffer alone, and a ring over all ranks."""
    routes = _list_routes(look)
    if not routes:
        return
    size = add_space(of.nbytes)
    blocks = [(t("machines.alone", nbytes=size, a=of.a, b=of.b), [(on, route.alone) for on, route in routes])]
    rings = [(on, route.ring) for on, route in routes if route.ring is not None]
    if len(rings) == len(routes):
        blocks.append((t("machines.ring", nbytes=size, ranks=look.ranks), rings))
    body = "".join(_draw_bars(title, [(_switch(of, on), seconds) for on, seconds in rows]) for title, rows in blocks)
    compared = ""
    if len(routes) == len(blocks) == 2:
        compared = _describe_costs(blocks[0][1], blocks[1][1])
    with st.container(border=True, key="card_costs"):
        headline = f'<b style="font-size:19px;line-height:27px;color:var(--cs-ink)">{escape_text(compared)}</b>'
        grid = "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,280px),1fr));gap:12px 40px"
        st.html(f'<div style="{grid}">{headline}{body}</div>')


def _describe_costs(alone: list[tuple[bool, float]], ring: list[tuple[bool, float]]) -> str:
    """What turning the switch off costs the buffer alone, and the ring."""
    little, none = (rows[1][1] < 1.005 * rows[0][1] for rows in (alone, ring))
    if little and none:
        return t("machines.cost.none")
    if little:
        return t("machines.cost.same", ring=_compute_ratio(ring))
    return t("machines.cost", alone=_compute_ratio(alone), ring=_compute_ratio(ring))


def _compute_ratio(rows: list[tuple[bool, float]]) -> str:
    if rows[0][1]:
        return f"{rows[1][1] / rows[0][1]:.3g}"
    return "1"


def _draw_bars(heading: str, rows: list[tuple[str, float]]) -> str:
    """Bars on one scale, with their times."""
    longest = max(seconds for _, seconds in rows) or 1.0
    lines = ""
    for name, seconds in rows:
        hue = "ink3"
        if seconds > 1.2 * rows[0][1]:
            hue = "full"
        width = 100 * seconds / longest
        bar = f"display:block;height:16px;border-radius:3px;width:{width:.1f}%;background:var(--cs-{hue})"
        rail = (
            f'<span style="background:var(--cs-grid);height:16px;border-radius:3px"><span style="{bar}"></span></span>'
        )
        lines += f'<span>{escape_text(name)}</span>{rail}<b style="text-align:right">{format_time(seconds)}</b>'
    grid = "display:grid;grid-template-columns:auto 1fr auto;gap:6px 12px;align-items:center;font-size:15px"
    return f'<div>{format_note(heading)}<div style="{grid}">{lines}</div></div>'


# ---- as code, one's own, and about ---------------------------------------------------------------------------------


def _draw_code(of: Pair, look: Look) -> None:
    """The way as a question to collsim, and a send from every rank to the next on real hardware."""
    choice = replace(
        pair.build_choice(Choice(nbytes=of.nbytes), of), collective="sendrecv", algorithm="sendrecv_direct"
    )
    codebox.draw_route_code(choice, of.a, of.b, look.ranks)


def _draw_machine_notes(of: Pair, look: Look) -> None:
    """What the machine is, and where its wiring comes from."""
    if of.machine == OWN:
        draw_note(look.name)
        return
    plan = cs.machines()[of.machine]
    draw_note(plan.describe(get_language()))
    draw_note(plan.describe_source(get_language()))
