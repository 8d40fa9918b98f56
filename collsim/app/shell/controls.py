"""One kind of control each: every control starts at the choice and holds nothing that is not on offer."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

import collsim as cs
from collsim.errors import CollsimError
from collsim.markup import escape_markdown
from collsim.registry import find
from collsim.sweep.synthesized import SYNTHESIZED
from collsim.topology.parts.gpus import announced

from ..scenario import custom_machine
from ..scenario.choice import WORDS, networks, usual_algorithms
from ..scenario.custom_machine import OWN
from ..scenario.mistakes import sentence
from ..texts.catalogue import TEXTS
from .notes import mistake
from .session import WIDGETS, language, queue_reruns, session, t

SIZES = ["8B", "1KiB", "16KiB", "256KiB", "1MiB", "4MiB", "16MiB", "64MiB", "256MiB", "1GiB", "4GiB"]
RANGES = ["1KiB:1GiB:2", "1KiB:1GiB:4", "8B:64MiB:4", "1MiB:16GiB:2"]
BANDWIDTHS = ["100Gbit/s", "25GB/s", "50GB/s", "100GB/s", "300GB/s"]
ALPHAS = ["100ns", "500ns", "1us", "5us", "20us"]
NODES = [1, 2, 4, 8, 16]


def choose(
    name: str, label: str, words: Mapping[Any, str], current: Any, *, disabled: bool = False, help: str | None = None
) -> Any:
    """One of the values of `words`, each shown as its text."""
    key = start(name, current, words)
    return st.selectbox(label, list(words), format_func=words.__getitem__, key=key, disabled=disabled, help=help)


def pick(name: str, options: Sequence[str], current: str, label: Callable[[str], str] = str) -> str:
    """One of a list, under the label and the help that its name has."""
    return str(choose(name, t(name), {value: label(value) for value in options}, current, help=_help(name)))


def many(name: str, options: list[str], current: Sequence[str], label: Callable[[str], str]) -> tuple[str, ...]:
    """Several of a list."""
    key = _begin(name, list(current), lambda chosen: set(chosen) <= set(options))
    labels = {value: label(value) for value in options}
    return tuple(st.multiselect(t(name), options, format_func=labels.__getitem__, key=key, help=_help(name)))


def segment(
    name: str,
    options: list[Any],
    current: Any,
    shown: Callable[[Any], str] = str,
    label: str | None = None,
    help: str | None = None,
) -> Any:
    """One of a few, all in sight."""
    key, help = start(name, current, options), help or _help(name)
    chosen: Any = st.segmented_control(
        label or _label(name),
        options,
        format_func=lambda option: escape_markdown(shown(option)),
        key=key,
        help=help,
        required=True,
        width="stretch",
    )
    return current if chosen is None else chosen


def switch(name: str, current: bool, label: str | None = None, help: str | None = None) -> bool:
    """On or off."""
    key = _begin(name, current, lambda v: isinstance(v, bool))
    return bool(st.toggle(label or t(name), key=key, help=help or _help(name)))


def number(name: str, current: int, least: int, most: int, label: str | None = None, help: str | None = None) -> int:
    """A whole number in a range; one outside of it is moved to the nearest end."""
    key = _begin(name, min(max(current, least), most), lambda v: isinstance(v, int) and least <= v <= most)
    if least == most:
        return least
    return int(st.number_input(label or t(name), least, most, key=key, step=1, help=help or _help(name)))


def quantity(
    name: str,
    options: Sequence[str],
    current: str,
    label: str | None = None,
    read: Callable[[str], Any] | None = None,
    prefix: str = "",
) -> str:
    """A text with a unit, from a list or typed. One that cannot be read gets a sentence below it, and the last good one
    counts. `prefix` tells its key from that of another page."""
    key = _begin(f"{prefix}{name}", current, lambda v: isinstance(v, str))
    offered = list(dict.fromkeys([*options, current, st.session_state[key]]))
    typed = st.selectbox(
        label or t(name), offered, key=key, format_func=spaced, accept_new_options=True, help=_help(name)
    )
    try:
        return str((read or WORDS[name].read or str)(str(typed or current)))
    except CollsimError as error:
        mistake(sentence(error, language()))
        return current


@st.fragment
@queue_reruns
def tabs(name: str, parts: Mapping[str, Callable[[], None]]) -> None:
    """One part under each text, of which only the open one is drawn; opening another one draws nothing else again."""
    labels, kept = {t(part): part for part in parts}, st.session_state.get(f"open_{name}")
    key = start(name, t(str(kept)) if kept in parts else None, labels)
    for tab, (part, draw) in zip(st.tabs(list(labels), key=key, on_change="rerun"), parts.items(), strict=True):
        if tab.open:
            st.session_state[f"open_{name}"] = part
            with tab:
                draw()


@st.fragment
@queue_reruns
def folded(name: str, label: str, draw: Callable[[], None], opened: bool = False) -> None:
    """A part under its label that is drawn when it is opened; opening it draws nothing else again."""
    part = st.expander(label, opened, key=f"{WIDGETS}{name}", on_change="rerun")
    if part.open:
        with part:
            draw()


def spaced(text: str) -> str:
    """`256 MiB` for `256MiB` and `1 µs` for `1us`; anything else as it is."""
    if not re.fullmatch(r"[\d.]+\s*[A-Za-zµ/]+", text):
        return text
    return re.sub(r"(?<=\d)\s*(?=[A-Za-z])", " ", text).replace("us", "µs")


def start(name: str, value: Any, known: Collection[Any]) -> str:
    """The key of a control that begins at `value`, and begins again where it holds nothing that is `known`."""
    return _begin(name, value if value in known else next(iter(known)), known.__contains__)


def _begin(name: str, value: Any, fits: Callable[[Any], bool]) -> str:
    """Its key. Streamlit tells a browser of a value in the run that sets it alone, and drops what it has not sent yet
    when another run begins before that one ends: so a value is set in every run until one has ended."""
    key, begun = f"{WIDGETS}{name}", session().begun
    if key not in st.session_state or not fits(st.session_state[key]):
        st.session_state[key] = value
        begun.add(key)
    elif key in begun:
        st.session_state[key] = st.session_state[key]
    return key


def forget(*names: str) -> None:
    """Let these controls start again from what the page remembers."""
    for name in names:
        st.session_state.pop(f"{WIDGETS}{name}", None)


def _label(name: str) -> str:
    return t(name) if name in TEXTS else t(f"option.{name}")


def _help(name: str) -> str | None:
    return next((t(key) for key in (f"{name}.help", f"option.{name}.help") if key in TEXTS), None)


def algorithm_label(name: str, collective: str) -> str:
    """`ring` of `allreduce_ring`: the collective stands beside it already."""
    if name == SYNTHESIZED:
        return t("synthesis.name")
    return " ".join(_WRITTEN.get(word, word) for word in name.removeprefix(f"{collective}_").split("_"))


#: Words of names as people write them.
_WRITTEN = {
    "nvls": "NVLS",
    "kary": "k-ary",
    "knomial": "k-nomial",
    "pat": "PAT",
    "bcube": "BCube",
    "sharp": "SHARP",
    "collnet": "CollNet",
    "bruck": "Bruck",
    "sparbit": "Sparbit",
    "bine": "Bine",
}


def algorithms_offered(collective: str) -> list[str]:
    """All algorithms of a collective, the well-known ones first."""
    usual = usual_algorithms(collective)
    return [*usual, *(name for name in cs.algorithms(collective) if name not in usual)]


def algorithm_choice(name: str, collective: str) -> str:
    """An algorithm in a list: its name, and of the well-known ones when to use it, in a few words."""
    label = algorithm_label(name, collective)
    when = getattr(find(name), "when", ("", ""))[0 if language() == "en" else 1]
    short = re.split(r"[:;.,：；。，]", when)[0]
    if name not in usual_algorithms(collective) or not short:
        return label
    return f"{label} – {short[:1].lower()}{short[1:]}"


def places() -> list[str]:
    """Machines and networks to choose from: one's own first where there is one, then by maker, the newest first."""
    return [*([OWN] if session().choice.own else []), *sorted(cs.topology.machines(), key=_shelf), *networks()]


_MAKERS = ("NVIDIA", "AMD", "Google", "")


def _shelf(name: str) -> tuple[int, int, str]:
    """Where a machine stands in the list."""
    maker, year = _made(name)
    return _MAKERS.index(maker) if maker in _MAKERS else len(_MAKERS), -year, str(cs.topology.machines()[name].title)


def _made(name: str) -> tuple[str, int]:
    """Maker and year of a machine's GPUs; no maker, and 0, where it has none."""
    return announced(cs.topology.machines()[name].gpu) or ("", 0)


@dataclass(frozen=True)
class Heading:
    """What stands above a part of a list; who clicks it has chosen nothing."""

    text: str


def _heading(name: str) -> Heading:
    """Maker and year of a machine's GPUs; of other places what they are."""
    if name in cs.topology.machines():
        maker, year = _made(name)
        return Heading(f"{maker}, {year}" if maker else t("place.cpus"))
    return Heading(t("place.own" if name == OWN else "place.networks"))


def choose_place(name: str, current: str) -> str:
    """One of all places, under headings."""
    words: dict[str | Heading, str] = {}
    for place in places():
        words.setdefault(_heading(place), f"── {_heading(place).text} ──")
        words[place] = place_label(place)
    key = start(name, current if current in words else next(iter(places())), words)

    def skip_headings() -> None:
        if isinstance(st.session_state.get(key), Heading):  # gone, where what it belongs to has just gone
            st.session_state[key] = current

    chosen = st.selectbox(
        t("place"), list(words), format_func=words.__getitem__, key=key, help=_help("place"), on_change=skip_headings
    )
    return str(chosen)


def place_label(name: str) -> str:
    """A machine by its title, one's own by its file, a generic network as one."""
    if name == OWN:
        return t("own.place", file=custom_machine.facts(session().choice.own).file)
    if name not in cs.topology.machines():
        return t("place.network", name=name.replace("_", " "))
    return str(cs.topology.machines()[name].title)


def fabric_label(name: str) -> str:
    """A fabric in words."""
    return t(f"fabric.{name}") if f"fabric.{name}" in TEXTS else name
