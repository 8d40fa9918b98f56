"""The sidebar: what, where, how. Every control is built from the registry and the machines, none knows an algorithm by
name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

import collsim as cs
from collsim.errors import CollsimError
from collsim.markup import escape_markdown
from collsim.registry import Option, find
from collsim.simulate import ENGINES, SHARING
from collsim.topology.fabrics import FABRICS
from collsim.topology.network import channels_offered

from ..scenario import custom_machine
from ..scenario.choice import (
    MOST_NODES,
    MOST_OF_OPTION,
    MOST_RANKS,
    SHAPES,
    Choice,
    dropped,
    filed,
    found_ways,
    has_shape,
    may_reduce,
    networks,
    option_reader,
    own_options,
    played_collectives,
    usual_algorithm,
    usual_algorithms,
)
from ..scenario.outcome import build_place
from ..texts.catalogue import TEXTS
from .address import menu
from .controls import (
    ALPHAS,
    BANDWIDTHS,
    NODES,
    RANGES,
    SIZES,
    algorithm_choice,
    algorithm_label,
    algorithms_offered,
    choose_place,
    fabric_label,
    many,
    number,
    pick,
    quantity,
    segment,
    switch,
)
from .filebox import upload_box, uploaded
from .machine_box import ownbox
from .notes import mistake, note, part
from .session import language, session, t

_AUTO = "auto"


def sidebar(page: str) -> None:
    """Draw all controls of a page and put what they say into the session's choice."""
    with st.sidebar:
        if page == "explore":
            st.page_link(menu()["lessons"], label=t("begin"), icon=":material/school:")
        session().choice = _how(where(_what(session().choice, page)), page)


def _what(choice: Choice, page: str) -> Choice:
    part(t("what"))
    if page == "explore" and uploaded() is not None:
        upload_box()
        return replace(choice, nbytes=quantity("nbytes", SIZES, choice.nbytes))
    collective = pick("collective", played_collectives(), choice.collective)
    if collective != choice.collective:
        usual = usual_algorithm(collective)
        choice = replace(choice, collective=collective, algorithm=usual, options=(), algorithms=())
    if page == "compare":
        return _several(choice)
    choice = replace(_algorithm(choice), nbytes=quantity("nbytes", SIZES, choice.nbytes))
    if page == "explore":
        upload_box()
    return choice


def _labels(collective: str) -> Callable[[str], str]:
    return lambda name: algorithm_label(name, collective)


def _several(choice: Choice) -> Choice:
    """The algorithms and sizes of a comparison."""
    usual = usual_algorithms(choice.collective)
    known = [*algorithms_offered(choice.collective), *found_ways(choice.collective)]
    several = many("algorithms", known, choice.algorithms or usual, _labels(choice.collective))
    if not several:
        mistake(t("compare.none"))
        several = choice.algorithms
    sizes = quantity("sizes", RANGES, choice.sizes)
    return replace(choice, algorithms=() if several == usual else several, sizes=sizes)


def _algorithm(choice: Choice) -> Choice:
    """The algorithm of a run, and when to use it; another one keeps the root."""
    algorithm = pick(
        "algorithm",
        algorithms_offered(choice.collective),
        choice.algorithm,
        lambda name: algorithm_choice(name, choice.collective),
    )
    if algorithm != choice.algorithm:
        root = {k: v for k, v in choice.options if k == "root" and k in own_options(algorithm)}
        choice = replace(choice, algorithm=algorithm, options=tuple(root.items()))
    note(_when(algorithm), "font-size:14px;line-height:19px;margin-top:-4px")
    return choice


def _when(algorithm: str) -> str:
    """The algorithm's own line on when to use it, where it has one, else what a step does."""
    entry = find(algorithm)
    lines = getattr(entry, "when", ("", ""))
    return (lines if any(lines) else entry.says)[0 if language() == "en" else 1]


def where(choice: Choice, take: Callable[[str], None] | None = None, drop: Callable[[], None] | None = None) -> Choice:
    """The place and what can be set of it. `take` puts a machine of one's own into what the page remembers, `drop`
    removes it; unless given, into the run that pages share."""
    part(t("where"), "next")
    choice = replace(choice, place=choose_place("place", choice.place))
    _own(choice, take or _take, drop or _drop)
    if choice.place not in networks():
        return _machine(choice)
    if has_shape(choice.place):
        shapes = SHAPES[choice.place]
        here = choice.shape if "w_shape" in st.session_state or choice.shape else shapes[0]
        choice = replace(choice, shape=quantity("shape", shapes, here or shapes[0]))
    else:
        choice = replace(choice, ranks=number("ranks", choice.ranks, 1, MOST_RANKS))
    if may_reduce(choice.place):
        choice = replace(choice, reduces=switch("reduces", choice.reduces))
    bandwidth = quantity("bandwidth", BANDWIDTHS, choice.bandwidth)
    return replace(choice, bandwidth=bandwidth, alpha=quantity("alpha", ALPHAS, choice.alpha))


def _machine(choice: Choice) -> Choice:
    """Nodes, fabric and GPUDirect, as far as the machine has them."""
    if "nodes" in choice.takes:
        near = sorted({*NODES, min(choice.nodes, MOST_NODES)})
        choice = replace(choice, nodes=segment("nodes", near, choice.nodes))
    if choice.copies > 1:
        choice = replace(choice, fabric=pick("fabric", list(FABRICS), choice.fabric, fabric_label))
    switched: dict[str, Any] = {
        name: switch(name, getattr(choice, name)) for name in ("p2p", "gdr") if name in choice.takes
    }
    return replace(choice, **switched)


def _own(choice: Choice, take: Callable[[str], None], drop: Callable[[], None]) -> None:
    """A machine of one's own: pasted or uploaded here, used everywhere."""
    label = t("own.change", file=custom_machine.facts(choice.own).file) if choice.own else t("own.give")
    with st.popover(escape_markdown(label), width="stretch"):
        ownbox(choice.own, "side", take, drop)


def _take(text: str) -> None:
    session().choice = replace(session().choice, **filed(text))


def _drop() -> None:
    session().choice = dropped(session().choice)


def _how(choice: Choice, page: str) -> Choice:
    part(t("how"), "next")
    if page != "compare" and (page != "explore" or uploaded() is None):
        choice = replace(choice, options=_options(choice))
    choice = replace(choice, dtype=pick("dtype", list(cs.dtypes()), choice.dtype))
    if len(ENGINES) > 1:
        choice = replace(choice, engine=segment("engine", list(ENGINES), choice.engine))
    if choice.engine == "event":
        choice = replace(choice, sharing=segment("sharing", list(SHARING), choice.sharing))
        if choice.sharing == "none":
            note(t("sharing.none"))
    return choice


def _options(choice: Choice) -> tuple[tuple[str, Any], ...]:
    """The algorithm's own options; one that stands at its default is not part of the choice."""
    ranks, offered = _place_facts(choice)
    own = own_options(choice.algorithm)
    found = {name: _one_option(choice, option, ranks, offered) for name, option in own.items()}
    return tuple((name, value) for name, value in found.items() if value is not None)


def _one_option(choice: Choice, option: Option, ranks: int, offered: int) -> Any:
    """What is set of one option; None for its default, and for what the machine says."""
    given = dict(choice.options).get(option.name)
    if option.kind == "other":
        return _sides(choice.algorithm, option, given, ranks)
    if option.name == "channels":
        return _channels(given, offered if choice.on_machine else 1)
    if option.name == "per_node" and choice.on_machine:
        return None
    usual = ranks if option.default is None else option.default
    value = _option(choice.algorithm, option, usual if given is None else given, ranks)
    return None if value == usual else value


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
    counts = sorted(
        {1, 2, 4, 8, usual} - {n for n in (2, 4, 8) if usual > 1 and n > usual} | ({given} if given else set())
    )
    chosen = segment(
        "channels", counts, given or usual, lambda n: t("option.channels.all", count=n) if n == usual > 1 else str(n)
    )
    return None if chosen == usual else chosen


def _option(algorithm: str, o: Option, value: Any, ranks: int) -> Any:
    key = f"{algorithm}_{o.name}" + (
        f"_{ranks}" if o.default is None else ""
    )  # one that follows the ranks starts anew with them
    text = {
        "label": _option_text(o.name),
        "help": t(f"option.{o.name}.help") if f"option.{o.name}.help" in TEXTS else None,
    }
    if o.kind == "flag":
        return switch(key, bool(value), **text)
    if o.kind == "choice":
        return segment(key, list(o.choices), value, str, **text)
    least, most = (0, max(0, ranks - 1)) if o.kind == "root" else (1, MOST_OF_OPTION)
    return number(key, value, least, most, **text)


def _sides(algorithm: str, o: Option, value: str | None, ranks: int) -> str | None:
    """Sides of a grid whose product is the number of ranks, or None: as the algorithm finds them itself."""
    pairs = [f"{d}x{ranks // d}" for d in range(2, ranks // 2 + 1) if ranks % d == 0]
    key, label = f"{algorithm}_{o.name}_{ranks}", _option_text(o.name)
    chosen = quantity(
        key, [_AUTO, *pairs], value or _AUTO, label, lambda text: text if text == _AUTO else option_reader(o)(text)
    )
    return None if chosen == _AUTO else chosen


def _option_text(name: str) -> str:
    return t(f"option.{name}") if f"option.{name}" in TEXTS else name.replace("_", " ").capitalize()
