"""The sidebar: what, where, how. Every control is built from the registry and the machines, none knows an algorithm by
name."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from collsim.dtypes import list_dtypes
from collsim.registry import Option, get_algorithm
from collsim.simulate import ENGINES, SHARING
from collsim.topology.fabrics import FABRICS
from collsim.topology.network import count_offered_channels

from ..scenario.choice import (
    MAX_NODES,
    MAX_OPTION,
    MAX_RANKS,
    SHAPES,
    AnyMachineChoice,
    Choice,
    can_reduce,
    choose_usual_algorithm,
    create_option_reader,
    has_shape,
    list_networks,
    list_own_options,
    list_played_collectives,
    list_synthesized,
    list_usual_algorithms,
    read_file_fields,
)
from ..scenario.custom_machine import OWN
from ..scenario.outcome import ask_topology
from ..shell.address import get_menu
from ..shell.controls import (
    ALPHAS,
    BANDWIDTHS,
    NODES,
    RANGES,
    SIZES,
    choose_machine,
    choose_quantity,
    choose_segment,
    choose_several,
    describe_algorithm,
    label_algorithm,
    label_choice,
    list_algorithms,
    number,
    pick,
    switch,
)
from ..shell.filebox import draw_upload, get_upload
from ..shell.machine_box import draw_machine_popover, offer_machine
from ..shell.notes import draw_mistake, draw_note, draw_part
from ..shell.session import choose_text, get_session, t
from ..texts import has_text
from .machine_history import record_machine, take_wanted
from .parts_shelf import draw_parts_shelf

_AUTO = "auto"


def draw_sidebar(page: str) -> None:
    """Draw all controls of a page and put what they say into the session's choice.

    Args:
        page: Name of the page.
    """
    with st.sidebar:
        if page == "explore":
            st.page_link(get_menu()["lessons"], label=t("begin"), icon=":material/school:")
        get_session().choice = _choose_engine(choose_where(_choose_collective(get_session().choice, page)), page)


def _choose_collective(choice: Choice, page: str) -> Choice:
    draw_part(t("what"))
    if page == "explore" and get_upload() is not None:
        draw_upload()
        return replace(choice, nbytes=choose_quantity("nbytes", SIZES, choice.nbytes))
    collective = pick("collective", list_played_collectives(), choice.collective)
    if collective != choice.collective:
        usual_algorithm = choose_usual_algorithm(collective)
        choice = replace(choice, collective=collective, algorithm=usual_algorithm, options=(), algorithms=())
    if page == "compare":
        return _choose_compared(choice)
    choice = replace(_choose_algorithm(choice), nbytes=choose_quantity("nbytes", SIZES, choice.nbytes))
    if page == "explore":
        draw_upload()
    return choice


def _choose_compared(choice: Choice) -> Choice:
    """The algorithms and sizes of a comparison."""
    usual_names = list_usual_algorithms(choice.collective)
    known = [*list_algorithms(choice.collective), *list_synthesized(choice.collective)]
    several = choose_several(
        "algorithms", known, choice.algorithms or usual_names, lambda name: label_algorithm(name, choice.collective)
    )
    if not several:
        draw_mistake(t("compare.none"))
        several = choice.algorithms
    sizes = choose_quantity("sizes", RANGES, choice.sizes)
    if several == usual_names:
        several = ()
    return replace(choice, algorithms=several, sizes=sizes)


def _choose_algorithm(choice: Choice) -> Choice:
    """The algorithm of a run, and when to use it; another one keeps the root."""
    algorithm = pick(
        "algorithm",
        list_algorithms(choice.collective),
        choice.algorithm,
        lambda name: describe_algorithm(name, choice.collective),
    )
    if algorithm != choice.algorithm:
        root = {k: v for k, v in choice.options if k == "root" and k in list_own_options(algorithm)}
        choice = replace(choice, algorithm=algorithm, options=tuple(root.items()))
    draw_note(_describe_algorithm(algorithm), "font-size:14px;line-height:19px;margin-top:-4px")
    return choice


def _describe_algorithm(algorithm: str) -> str:
    """The algorithm's own line on when to use it, where it has one, else what a step does."""
    entry = get_algorithm(algorithm)
    lines = getattr(entry, "when", ("", ""))
    if any(lines):
        return choose_text(lines)
    return choose_text(entry.summary)


def choose_where(choice: AnyMachineChoice) -> AnyMachineChoice:
    """The machine and what can be set of it.

    Args:
        choice: What is chosen on the page.
    """
    draw_part(t("where"), "next")
    offer_machine(choice.machine_text)  # an address may have brought one
    choice = take_wanted(choice)
    machine = choose_machine("place", choice.machine)
    if machine == OWN != choice.machine:
        choice = replace(choice, **read_file_fields(get_session().choice.machine_text))
    elif machine != choice.machine:
        choice = replace(choice, machine=machine, parts=(), edits=())
    draw_machine_popover("side", "stretch")
    if choice.machine in list_networks():
        choice = _choose_network(choice)
    else:
        choice = _choose_machine(choice)
    return record_machine(draw_parts_shelf(choice))


def _choose_network(choice: AnyMachineChoice) -> AnyMachineChoice:
    """Size and links of a generic network."""
    if has_shape(choice.machine):
        shapes = SHAPES[choice.machine]
        choice = replace(choice, shape=choose_quantity("shape", shapes, choice.shape or shapes[0]))
    else:
        choice = replace(choice, ranks=number("ranks", choice.ranks, 1, MAX_RANKS))
    if can_reduce(choice.machine):
        choice = replace(choice, reduces=switch("reduces", choice.reduces))
    bandwidth = choose_quantity("bandwidth", BANDWIDTHS, choice.bandwidth)
    return replace(choice, bandwidth=bandwidth, alpha=choose_quantity("alpha", ALPHAS, choice.alpha))


def _choose_machine(choice: AnyMachineChoice) -> AnyMachineChoice:
    """Nodes, fabric and GPUDirect, as far as the machine has them."""
    if "nodes" in choice.takes:
        near = sorted({*NODES, min(choice.nodes, MAX_NODES)})
        choice = replace(choice, nodes=choose_segment("nodes", near, choice.nodes))
    if choice.copies > 1:
        choice = replace(choice, fabric=pick("fabric", list(FABRICS), choice.fabric))
    switched: dict[str, Any] = {
        name: switch(name, getattr(choice, name)) for name in ("p2p", "gdr") if name in choice.takes
    }
    return replace(choice, **switched)


def _choose_engine(choice: Choice, page: str) -> Choice:
    draw_part(t("how"), "next")
    if page != "compare" and (page != "explore" or get_upload() is None):
        choice = replace(choice, options=_choose_options(choice))
    choice = replace(choice, dtype=pick("dtype", list(list_dtypes()), choice.dtype))
    if len(ENGINES) > 1:
        choice = replace(
            choice, engine=choose_segment("engine", list(ENGINES), choice.engine, partial(label_choice, "engine"))
        )
    if choice.engine == "event":
        choice = replace(
            choice, sharing=choose_segment("sharing", list(SHARING), choice.sharing, partial(label_choice, "sharing"))
        )
        if choice.sharing == "none":
            draw_note(t("sharing.none.note"))
    return choice


def _choose_options(choice: Choice) -> tuple[tuple[str, Any], ...]:
    """The algorithm's own options; one that stands at its default is not part of the choice."""
    ranks, offered = _place_facts(choice)
    own_options = list_own_options(choice.algorithm)
    values = {name: _choose_option(choice, option, ranks, offered) for name, option in own_options.items()}
    return tuple((name, value) for name, value in values.items() if value is not None)


def _choose_option(choice: Choice, option: Option, ranks: int, offered: int) -> object:
    """What is set of one option; None for its default, and for what the machine says."""
    chosen = dict(choice.options).get(option.name)
    if option.kind == "amounts":  # an address may say them; `load` is what a control offers
        return chosen
    if option.kind == "other":
        return _choose_sides(choice.algorithm, option, chosen, ranks)
    if option.name == "channels":
        if not choice.on_machine:
            offered = 1
        return _choose_channels(chosen, offered)
    # How many GPUs a node has is known of a machine.
    if option.name == "per_node" and choice.on_machine:
        return None
    default: object = option.default
    if option.default is None:
        default = ranks
    if chosen is None:
        chosen = default
    value = _draw_option(choice.algorithm, option, chosen, ranks)
    if value == default:
        return None
    return value


def _place_facts(choice: Choice) -> tuple[int, int]:
    """Ranks, and ring orders on offer; of a machine that cannot be built the page itself says why."""
    return ask_topology(choice, lambda topology: (topology.ranks, count_offered_channels(topology)), (choice.ranks, 1))


def _choose_channels(current: int | None, offered: int) -> int | None:
    """How many channels; None means all that the machine offers (one, on a generic network)."""
    default = max(1, offered)
    # A machine has so many ring orders, and more channels than that would repeat them; a generic network has one
    # order, on which channels only cut the buffer, so any number is on offer.
    counts = {1, 2, 4, 8, default} - {n for n in (2, 4, 8) if default > 1 and n > default}
    if current:
        counts.add(current)
    labels = {n: str(n) for n in sorted(counts)}
    if default > 1:
        labels[default] = t("option.channels.all", count=default)
    chosen: int = choose_segment("channels", list(labels), current or default, labels.__getitem__)
    if chosen == default:
        return None
    return chosen


def _draw_option(algorithm: str, o: Option, value: Any, ranks: int) -> Any:
    key = f"{algorithm}_{o.name}"
    if o.default is None:
        key += f"_{ranks}"  # one that follows the ranks starts anew with them
    text: dict[str, Any] = {
        "label": _label_option(o.name),
        "help": t(f"option.{o.name}.help") if has_text(f"option.{o.name}.help") else None,
    }
    if o.kind == "flag":
        return switch(key, bool(value), **text)
    if o.kind == "choice":
        return choose_segment(key, list(o.choices), value, lambda word: _label_word(o.name, word), **text)
    if o.kind == "root":
        least, most = (0, max(0, ranks - 1))
    else:
        least, most = (o.least, MAX_OPTION)
    return number(key, value, least, most, **text)


def _choose_sides(algorithm: str, o: Option, value: str | None, ranks: int) -> str | None:
    """Sides of a grid whose product is the number of ranks, or None: as the algorithm finds them itself."""
    pairs = [f"{d}x{ranks // d}" for d in range(2, ranks // 2 + 1) if ranks % d == 0]
    key, label = f"{algorithm}_{o.name}_{ranks}", _label_option(o.name)
    chosen = choose_quantity(
        key,
        [_AUTO, *pairs],
        value or _AUTO,
        label,
        lambda text: text if text == _AUTO else create_option_reader(o)(text),
    )
    if chosen == _AUTO:
        return None
    return chosen


def _label_word(option: str, word: Any) -> str:
    """A word that an option may have: that of an algorithm inside of one, or its own."""
    if option in ("inner", "outer"):
        return label_choice("algorithm.name", word)
    return label_choice(f"option.{option}", word)


def _label_option(name: str) -> str:
    if has_text(f"option.{name}"):
        return t(f"option.{name}")
    return name.replace("_", " ").capitalize()
