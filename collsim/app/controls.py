"""The sidebar: what, where, how. Every control is built from the registry and the machines, none knows an algorithm by name."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

import collsim as cs
from collsim.errors import CollsimError
from collsim.registry import Option
from collsim.simulate import ENGINES
from collsim.topology.fabrics import FABRICS

from .choice import (
    MOST_NODES,
    MOST_OF_OPTION,
    MOST_RANKS,
    READERS,
    SHAPES,
    Choice,
    Complaint,
    has_shape,
    networks,
    own_options,
    played_collectives,
    usual_algorithm,
    usual_algorithms,
)
from .mistakes import told
from .run import build_place, channels_offered
from .state import language, session, t
from .texts import TEXTS

SIZES = ["8B", "1KiB", "16KiB", "256KiB", "1MiB", "4MiB", "16MiB", "64MiB", "256MiB", "1GiB", "4GiB"]
RANGES = ["1KiB:1GiB:2", "1KiB:1GiB:4", "8B:64MiB:4", "1MiB:16GiB:2"]
BANDWIDTHS = ["100Gbit/s", "25GB/s", "50GB/s", "100GB/s", "300GB/s"]
ALPHAS = ["100ns", "500ns", "1us", "5us", "20us"]
NODES = [1, 2, 4, 8, 16]


def sidebar(page: str) -> None:
    """Draw all controls of a page and put what they say into the session's choice."""
    with st.sidebar:
        new = _what(session().choice, page)
        new = _where(new)
        new = _how(new, page)
    session().choice = new


def _part(name: str, place: str) -> None:
    st.html(f'<h2 class="cs-part {place}">{html.escape(t(name))}</h2>')


def _what(choice: Choice, page: str) -> Choice:
    _part("what", "")
    collective = pick("collective", played_collectives(), choice.collective)
    if collective != choice.collective:
        choice = replace(choice, collective=collective, algorithm=usual_algorithm(collective), options=(), algorithms=())
    known = list(cs.algorithms(collective))
    if page == "compare":
        several = many(
            "algorithms", known, choice.algorithms or usual_algorithms(collective), lambda name: algorithm_label(name, collective)
        )
        if not several:
            mistake(t("compare.none"))
            several = choice.algorithms
        sizes = quantity("sizes", RANGES, choice.sizes)
        return replace(choice, algorithms=() if several == usual_algorithms(collective) else several, sizes=sizes)
    algorithm = pick("algorithm", known, choice.algorithm, lambda name: algorithm_label(name, collective))
    if algorithm != choice.algorithm:
        kept = own_options(algorithm)
        choice = replace(choice, algorithm=algorithm, options=tuple((k, v) for k, v in choice.options if k in kept and k == "root"))
    st.html(f'<div class="cs-note" style="font-size:14px;line-height:19px;margin-top:-4px">{html.escape(_when(algorithm))}</div>')
    return replace(choice, nbytes=quantity("nbytes", SIZES, choice.nbytes))


def _when(algorithm: str) -> str:
    """The algorithm's own line on when to use it, where it has one, else what a step does."""
    entry = cs.algorithms()[algorithm]
    lines = getattr(entry, "when", ("", ""))
    return (lines if any(lines) else entry.says)[0 if language() == "en" else 1]


def _where(choice: Choice) -> Choice:
    _part("where", "next")
    machines = list(cs.topology.machines())
    choice = replace(choice, place=pick("place", machines + networks(), choice.place, place_label))
    if choice.place in machines:
        near = sorted({*NODES, min(choice.nodes, MOST_NODES)})
        choice = replace(choice, nodes=segment("nodes", near, choice.nodes))
        if choice.nodes > 1:
            choice = replace(choice, fabric=pick("fabric", list(FABRICS), choice.fabric, fabric_label))
        return replace(choice, p2p=switch("p2p", choice.p2p), gdr=switch("gdr", choice.gdr))
    if has_shape(choice.place):
        shapes = SHAPES[choice.place]
        here = choice.shape if "w_shape" in st.session_state or choice.shape else shapes[0]
        choice = replace(choice, shape=quantity("shape", shapes, here or shapes[0]))
    else:
        choice = replace(choice, ranks=number("ranks", choice.ranks, 1, MOST_RANKS))
    bandwidth = quantity("bandwidth", BANDWIDTHS, choice.bandwidth)
    return replace(choice, bandwidth=bandwidth, alpha=quantity("alpha", ALPHAS, choice.alpha))


def _how(choice: Choice, page: str) -> Choice:
    _part("how", "next")
    if page != "compare":
        choice = replace(choice, options=_options(choice))
    choice = replace(choice, dtype=pick("dtype", list(cs.dtypes()), choice.dtype))
    if len(ENGINES) > 1:
        choice = replace(choice, engine=segment("engine", list(ENGINES), choice.engine))
    return choice


def _options(choice: Choice) -> tuple[tuple[str, Any], ...]:
    """The algorithm's own options; one that stands at its default is not part of the choice."""
    given = dict(choice.options)
    found: dict[str, Any] = {}
    ranks, offered = _place_facts(choice)
    for name, o in own_options(choice.algorithm).items():
        if name == "channels":
            value = _channels(given.get(name), offered if choice.on_machine else 1)
        elif name == "per_node" and choice.on_machine:
            value = None  # the machine says it
        else:
            usual = ranks if o.default is None else o.default
            value = _option(choice.algorithm, o, given.get(name, usual), ranks)
            value = None if value == usual else value
        if value is not None:
            found[name] = value
    return tuple(found.items())


def _place_facts(choice: Choice) -> tuple[int, int]:
    """Ranks, and ring orders on offer; a place that cannot be built is told of on the page itself."""
    try:
        place = build_place(choice)
    except CollsimError:
        return choice.ranks, 1
    return place.ranks, channels_offered(place)


def _channels(given: int | None, offered: int) -> int | None:
    """How many channels; None means all that the machine offers (one, on a generic network)."""
    usual = max(1, offered)
    counts = sorted({1, 2, 4, 8, usual} - {n for n in (2, 4, 8) if usual > 1 and n > usual} | ({given} if given else set()))
    chosen = segment("channels", counts, given or usual, lambda n: t("option.channels.all", count=n) if n == usual > 1 else str(n))
    return None if chosen == usual else chosen


def _option(algorithm: str, o: Option, value: Any, ranks: int) -> Any:
    key = f"{algorithm}_{o.name}" + (f"_{ranks}" if o.default is None else "")  # one that follows the ranks starts anew with them
    text = {"label": _option_text(o.name), "help": t(f"option.{o.name}.help") if f"option.{o.name}.help" in TEXTS else None}
    if o.kind == "flag":
        return switch(key, bool(value), **text)
    if o.kind == "choice":
        return segment(key, list(o.choices), value, str, **text)
    least, most = (0, max(0, ranks - 1)) if o.kind == "root" else (1, MOST_OF_OPTION)
    return number(key, value, least, most, **text)


def _option_text(name: str) -> str:
    return t(f"option.{name}") if f"option.{name}" in TEXTS else name.replace("_", " ").capitalize()


# ---- one kind of control each: it starts at the choice, and holds nothing that is not on offer -------------------------------------


def pick(name: str, options: Sequence[str], current: str, label: Callable[[str], str] = str) -> str:
    """One of a list."""
    key = _start(name, current if current in options else options[0], lambda v: v in options)
    return str(st.selectbox(t(name), options, format_func={value: label(value) for value in options}.__getitem__, key=key))


def many(name: str, options: list[str], current: Sequence[str], label: Callable[[str], str]) -> tuple[str, ...]:
    """Several of a list."""
    key = _start(name, list(current), lambda chosen: set(chosen) <= set(options))
    return tuple(st.multiselect(t(name), options, format_func={value: label(value) for value in options}.__getitem__, key=key))


def segment(
    name: str, options: list[Any], current: Any, shown: Callable[[Any], str] = str, label: str | None = None, help: str | None = None
) -> Any:
    """One of a few, all in sight."""
    key = _start(name, current if current in options else options[0], lambda v: v in options)
    help = help or _help(name)
    chosen: Any = st.segmented_control(
        label or _label(name), options, format_func=shown, key=key, help=help, required=True, width="stretch"
    )
    return current if chosen is None else chosen


def switch(name: str, current: bool, label: str | None = None, help: str | None = None) -> bool:
    """On or off."""
    key = _start(name, current, lambda v: isinstance(v, bool))
    return bool(st.toggle(label or t(name), key=key, help=help or _help(name)))


def number(name: str, current: int, least: int, most: int, label: str | None = None, help: str | None = None) -> int:
    """A whole number in a range; one outside of it is moved to the nearest end."""
    key = _start(name, min(max(current, least), most), lambda v: isinstance(v, int) and least <= v <= most)
    if least == most:
        return least
    return int(st.number_input(label or t(name), least, most, key=key, step=1, help=help or _help(name)))


def quantity(name: str, options: Sequence[str], current: str) -> str:
    """A text with a unit, from a list or typed. One that cannot be read gets a sentence below it, and the last good one counts."""
    key = _start(name, current, lambda v: isinstance(v, str))
    offered = list(dict.fromkeys([*options, current, st.session_state[key]]))
    typed = st.selectbox(t(name), offered, key=key, format_func=spaced, accept_new_options=True, help=_help(name))
    try:
        return str(READERS[name](str(typed or current)))
    except CollsimError as error:
        mistake(told(error, language()))
        return current


def spaced(text: str) -> str:
    """`256 MiB` for `256MiB`, with a space that does not break; anything else as it is."""
    return re.sub(r"(?<=\d)\s*(?=[A-Za-z])", "\N{NO-BREAK SPACE}", text) if re.fullmatch(r"[\d.]+\s*[A-Za-zµ/]+", text) else text


def mistake(sentence: str) -> None:
    """One sentence, in place."""
    st.html(f'<div class="cs-mistake" role="alert">{html.escape(sentence)}</div>')


def complain(complaints: list[Complaint]) -> None:
    """Say what an address asked for in vain."""
    lines = []
    for c in complaints:
        why = t("url.unknown") if c.why == "unknown" else told(c.why, language())
        lines.append(html.escape(t("url.bad", name=c.name, value=c.value, why=why, used=c.used)))
    if lines:
        st.html(f'<div class="cs-mistake" role="alert">{"<br>".join(lines)}</div>')


def _start(name: str, value: Any, fits: Callable[[Any], bool]) -> str:
    key = f"w_{name}"
    if key not in st.session_state or not fits(st.session_state[key]):
        st.session_state[key] = value
    return key


def _label(name: str) -> str:
    return t(name) if name in TEXTS else t(f"option.{name}")


def _help(name: str) -> str | None:
    return next((t(key) for key in (f"{name}.help", f"option.{name}.help") if key in TEXTS), None)


def algorithm_label(name: str, collective: str) -> str:
    """`ring` of `allreduce_ring`: the collective stands beside it already."""
    return name.removeprefix(f"{collective}_").replace("_", " ")


def place_label(name: str) -> str:
    """A machine by its title, a generic network as one."""
    if name not in cs.topology.machines():
        return t("place.network", name=name.replace("_", " "))
    return str(cs.topology.machines()[name].title)


def fabric_label(name: str) -> str:
    """A fabric in words."""
    return t(f"fabric.{name}") if f"fabric.{name}" in TEXTS else name
