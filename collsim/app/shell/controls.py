"""One kind of control each: every control starts at the choice and holds nothing that is not on offer."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

import collsim as cs
from collsim.display.markup import escape_markdown
from collsim.errors import CollsimError, describe_unknown
from collsim.locale.synonyms import find_synonyms
from collsim.registry import get_algorithm
from collsim.sweep.synthesized_algorithm import SYNTHESIZED
from collsim.topology.parts.gpus import find_announcement

from ..scenario import custom_machine
from ..scenario.address_parameters import shorten
from ..scenario.choice import WORDS, MachineChoice, list_networks, list_usual_algorithms
from ..scenario.custom_machine import OWN
from ..scenario.mistakes import write_sentence
from ..texts import has_text
from .notes import draw_error, draw_mistake
from .session import WIDGETS, choose_text, get_language, get_session, queue_reruns, t

SIZES = ["8B", "1KiB", "16KiB", "256KiB", "1MiB", "4MiB", "16MiB", "64MiB", "256MiB", "1GiB", "4GiB"]
RANGES = ["1KiB:1GiB:2", "1KiB:1GiB:4", "8B:64MiB:4", "1MiB:16GiB:2"]
BANDWIDTHS = ["100Gbit/s", "25GB/s", "50GB/s", "100GB/s", "300GB/s"]
ALPHAS = ["100ns", "500ns", "1us", "5us", "20us"]
NODES = [1, 2, 4, 8, 16]


def choose(
    name: str,
    label: str,
    words: Mapping[Any, str],
    current: Any,
    *,
    disabled: bool = False,
    help: str | None = None,
    on_change: Callable[[], None] | None = None,
) -> Any:
    """One of the values of `words`, each shown as its text.

    Args:
        name: Name of the control: the key of its text, and of what it remembers.
        label: The text beside the control.
        words: The text of each option.
        current: What is chosen now.
        disabled: Whether nothing can be chosen.
        help: Key of the text under the question mark; None for none.
        on_change: Called when another option is chosen.
    """
    typed = _take_typed(name, words)
    key = start(name, current, words)
    chosen = st.selectbox(
        label,
        list(words),
        format_func=partial(_get_label, words),
        key=key,
        disabled=disabled,
        help=help,
        on_change=on_change,
        accept_new_options=True,
    )
    _answer_typed(label, typed, words)
    return chosen


def _get_label(words: Mapping[Any, str], value: object) -> str:
    """The text of an option; that of a word that was typed and is none is the word."""
    return words.get(value, str(value))


def _take_typed(name: str, words: Mapping[Any, str]) -> list[str]:
    """Words that somebody typed into a box and that are no option; one that is meant beyond doubt is chosen.

    A control may also hold an option that has gone since, because another control changed: nobody typed that.
    """
    key, offered = f"{WIDGETS}{name}", get_session().offered
    current, before = st.session_state.get(key), offered.get(key, frozenset())
    offered[key] = frozenset(map(str, words))
    if not before:
        return []
    is_list = isinstance(current, list)
    values: list[Any] = current if isinstance(current, list) else [current]
    chosen, typed = _read_typed(values, words, before)
    if chosen != values and (chosen or is_list):
        st.session_state[key] = chosen if is_list else chosen[0]
    return typed


def _read_typed(
    values: Iterable[Any], words: Mapping[Any, str], before: Collection[str] = ()
) -> tuple[list[Any], list[str]]:
    """What is chosen of the values of a box, with the option that a typed word means, and typed words that mean none.

    Args:
        values: Options and typed words.
        words: The text of each option.
        before: Options that there were before.
    """
    chosen: list[Any] = []
    typed: list[str] = []
    for value in values:
        if not isinstance(value, str) or value in words or value in before:
            chosen.append(value)
            continue
        synonyms, word = find_synonyms(value, map(str, words)), value.strip().lower()
        # "ring – large messages on few ranks": the name of an algorithm, and what it is for.
        meant = [
            option
            for option, text in words.items()
            if option in synonyms or word in (text.lower(), text.lower().partition(" – ")[0])
        ]
        if len(meant) == 1:
            chosen += meant
        else:
            typed.append(value)
    return list(dict.fromkeys(chosen)), typed


def _answer_typed(label: str, typed: Iterable[str], words: Mapping[Any, str]) -> None:
    """Say of each word that was typed and is no option what is meant, or what the glossary has for it."""
    options = [option for option in words if not isinstance(option, Heading)]
    names = [option if isinstance(option, str) else words[option] for option in options]
    for word in typed:
        draw_mistake(write_sentence(describe_unknown(label, shorten(word), names), get_language()))


def choose_start(
    name: str, label: str, words: Mapping[str, str], current: str, on_pick: Callable[[str, str], None]
) -> None:
    """What an editor begins with. It is a control of its own for each current choice: a slow browser may still send the
    value of one that is gone, and that must not replace what was typed.

    Args:
        name: Name of the control.
        label: The text beside it.
        words: The text of each option.
        current: What is chosen now.
        on_pick: Called with the option that was picked and the one before it.
    """
    st.selectbox(
        label,
        list(words),
        format_func=partial(_get_label, words),
        key=start(f"{name}_{current}", current, words),
        on_change=_on_start_picked,
        args=(name, current, words, on_pick),
        accept_new_options=True,
    )
    _answer_typed(label, get_session().typed.pop(name, ()), words)


def _on_start_picked(name: str, before: str, words: Mapping[str, str], on_pick: Callable[[str, str], None]) -> None:
    key = f"{WIDGETS}{name}_{before}"
    chosen, get_session().typed[name] = _read_typed([st.session_state[key]], words)
    # The control begins again, and the browser is sent its value. Until then it shows a typed word; and one that comes
    # back later would show its first option, and send it with the next click.
    del st.session_state[key]
    for option in chosen:
        on_pick(option, before)


def pick(name: str, options: Sequence[str], current: str, label: Callable[[str], str] | None = None) -> str:
    """One of a list, under the label and the help that its name has.

    Args:
        name: Name of the control: the key of its text, and of what it remembers.
        options: What can be chosen.
        current: What is chosen now.
        label: The text of an option; without it, the text that is there for it under the name of the control.
    """
    labels = {value: label(value) if label else label_choice(name, value) for value in options}
    return str(choose(name, t(name), labels, current, help=_help(name)))


def choose_several(
    name: str, options: list[str], current: Sequence[str], label: Callable[[str], str], title: str | None = None
) -> tuple[str, ...]:
    """Several of a list.

    Args:
        name: Name of the control: the key of its text, and of what it remembers.
        options: What can be chosen.
        current: What is chosen now.
        label: The text of an option.
        title: The text beside the control; None for the text of its name.
    """
    labels, title = {value: label(value) for value in options}, title or t(name)
    typed = _take_typed(name, labels)
    key = _begin(name, list(current), lambda chosen: set(chosen) <= set(options))
    format_option = partial(_get_label, labels)
    chosen = st.multiselect(
        title, options, format_func=format_option, key=key, help=_help(name), accept_new_options=True
    )
    _answer_typed(title, typed, labels)
    return tuple(chosen)


def choose_segment(
    name: str,
    options: list[Any],
    current: Any,
    format_option: Callable[[Any], str] = str,
    label: str | None = None,
    help: str | None = None,
    *,
    disabled: bool = False,
) -> Any:
    """One of a few, all in sight.

    Args:
        name: Name of the control: the key of its text, and of what it remembers.
        options: What can be chosen.
        current: What is chosen now.
        format_option: The text of an option.
        label: The text beside the control; None for the text of its name.
        help: Key of the text under the question mark; None for none.
        disabled: Whether nothing can be chosen.
    """
    key, help = start(name, current, options), help or _help(name)
    chosen: Any = st.segmented_control(
        label or _label(name),
        options,
        format_func=lambda option: escape_markdown(format_option(option)),
        key=key,
        help=help,
        required=True,
        width="stretch",
        disabled=disabled,
    )
    if chosen is None:
        return current
    return chosen


def switch(
    name: str, current: bool, label: str | None = None, help: str | None = None, *, disabled: bool = False
) -> bool:
    """On or off.

    Args:
        name: Name of the control: the key of its text, and of what it remembers.
        current: Whether it is on now.
        label: The text beside the control; None for the text of its name.
        help: Key of the text under the question mark; None for none.
        disabled: Whether nothing can be chosen.
    """
    key = _begin(name, current, lambda v: isinstance(v, bool))
    return bool(st.toggle(label or t(name), key=key, help=help or _help(name), disabled=disabled))


def number(name: str, current: int, least: int, most: int, label: str | None = None, help: str | None = None) -> int:
    """A whole number in a range; one outside of it is moved to the nearest end.

    Args:
        name: Name of the control: the key of its text, and of what it remembers.
        current: The number now.
        least: The least that is allowed.
        most: The most that is allowed.
        label: The text beside the control; None for the text of its name.
        help: Key of the text under the question mark; None for none.
    """
    key = _begin(name, min(max(current, least), most), lambda v: isinstance(v, int) and least <= v <= most)
    if least == most:
        return least
    return int(st.number_input(label or t(name), least, most, key=key, step=1, help=help or _help(name)))


def choose_quantity(
    name: str,
    options: Sequence[str],
    current: str,
    label: str | None = None,
    read: Callable[[str], object] | None = None,
    prefix: str = "",
    help: str | None = None,
    empty: str = "",
) -> str:
    """A text with a unit, from a list or typed. One that cannot be read gets a sentence below it, and the last good one
    counts. `prefix` tells its key from that of another page.

    Args:
        name: Name of the control: the key of its text, and of what it remembers.
        options: What can be chosen.
        current: What is chosen now.
        label: The text beside the control; None for the text of its name.
        read: Reads the text; None where any text will do.
        prefix: Beginning of the names.
        help: The text under the question mark; None for that of its name.
        empty: What "" is called, where that is on offer.
    """
    key = _begin(f"{prefix}{name}", current, lambda v: isinstance(v, str))
    offered = list(dict.fromkeys([*options, current, st.session_state[key]]))
    typed = st.selectbox(
        label or t(name),
        offered,
        key=key,
        format_func=lambda text: add_space(text) or empty,
        accept_new_options=True,
        help=help or _help(name),
    )
    if typed == "" and empty:
        return ""
    try:
        return str((read or WORDS[name].read or str)(str(typed or current)))
    except CollsimError as error:
        draw_error(error)
        return current


@st.fragment
@queue_reruns
def draw_tabs(name: str, parts: Mapping[str, Callable[[], None]]) -> None:
    """One part under each text, of which only the open one is drawn; opening another one draws nothing else again.

    Args:
        name: Name of the control: the key of its text, and of what it remembers.
        parts: What draws each part, by the key of its title.
    """
    labels, open_part = {t(part): part for part in parts}, st.session_state.get(f"open_{name}")
    key = start(name, t(str(open_part)) if open_part in parts else None, labels)
    for tab, (part, draw) in zip(st.tabs(list(labels), key=key, on_change="rerun"), parts.items(), strict=True):
        if tab.open:
            st.session_state[f"open_{name}"] = part
            with tab:
                draw()


@st.fragment
@queue_reruns
def draw_folded(name: str, label: str, draw: Callable[[], None]) -> None:
    """A part under its label that is drawn when it is opened; opening it draws nothing else again.

    Args:
        name: Name of the control: the key of its text, and of what it remembers.
        label: The text beside the control.
        draw: Draws the part.
    """
    part = st.expander(label, key=f"{WIDGETS}{name}", on_change="rerun")
    if part.open:
        with part:
            draw()


def add_space(text: str) -> str:
    """`256 MiB` for `256MiB` and `1 µs` for `1us`; anything else as it is.

    Args:
        text: The text.
    """
    if not re.fullmatch(r"[\d.]+\s*[A-Za-zµ/]+", text):
        return text
    return re.sub(r"(?<=\d)\s*(?=[A-Za-z])", " ", text).replace("us", "µs")


def start(name: str, value: Any, known: Collection[Any]) -> str:
    """The key of a control that begins at `value`, and begins again where it holds nothing that is `known`.

    Args:
        name: Name of the control: the key of its text, and of what it remembers.
        value: The value.
        known: The values that exist.
    """
    return _begin(name, value if value in known else next(iter(known)), known.__contains__)


def _begin(name: str, value: Any, fits: Callable[[Any], bool]) -> str:
    """Return the key of a control, which begins at `value` where it holds nothing that fits.

    Streamlit sends a value to the browser only in the run that sets it, and drops what it has not sent when another run
    begins before that one ends. So a value is set in every run until one has ended.
    """
    key, begun = f"{WIDGETS}{name}", get_session().begun
    if key not in st.session_state or not fits(st.session_state[key]):
        st.session_state[key] = value
        begun.add(key)
    elif key in begun:
        # Set again, though it is the same: what is set counts as unsent.
        st.session_state[key] = st.session_state[key]
    return key


def forget(*names: str) -> None:
    """Let these controls start again from what the page remembers.

    Args:
        *names: Names of the controls.
    """
    for name in names:
        st.session_state.pop(f"{WIDGETS}{name}", None)


def _label(name: str) -> str:
    if has_text(name):
        return t(name)
    return t(f"option.{name}")


def _help(name: str) -> str | None:
    return next((t(key) for key in (f"{name}.help", f"option.{name}.help") if has_text(key)), None)


def label_algorithm(name: str, collective: str) -> str:
    """`ring` of `allreduce_ring`, in the language of the page: the collective stands beside it already.

    Args:
        name: Name of the algorithm.
        collective: Name of the collective.
    """
    if name == SYNTHESIZED:
        return t("synthesis.name")
    short_name = name.removeprefix(f"{collective}_")
    return label_choice("algorithm.name", short_name).replace("_", " ")


def label_with_collective(name: str) -> str:
    """An algorithm with its collective.

    Args:
        name: Name of the algorithm.
    """
    collective = get_algorithm(name).collective
    return f"{collective}{t('comma')}{label_algorithm(name, collective)}"


def label_values(values: Iterable[object]) -> dict[Any, str]:
    """Options that are called what they are.

    Args:
        values: What can be chosen.
    """
    return {value: str(value) for value in values}


def list_algorithms(collective: str) -> list[str]:
    """All algorithms of a collective, the well-known ones first.

    Args:
        collective: Name of the collective.
    """
    names = list_usual_algorithms(collective)
    return [*names, *(name for name in cs.algorithms(collective) if name not in names)]


def describe_algorithm(name: str, collective: str) -> str:
    """An algorithm in a list: its name, and of the well-known ones when to use it, in a few words.

    Args:
        name: Name of the algorithm.
        collective: Name of the collective.
    """
    label = label_algorithm(name, collective)
    when = choose_text(getattr(get_algorithm(name), "when", ("", "")))
    short = re.split(r"[:;.,：；。，]", when)[0]
    if name not in list_usual_algorithms(collective) or not short:
        return label
    return f"{label} – {short[:1].lower()}{short[1:]}"


def list_machines_and_networks() -> list[str]:
    """Machines and networks to choose from: one's own first where there is one, then by maker, the newest first."""
    return [
        *([OWN] if get_session().choice.machine_text else []),
        *sorted(cs.machines(), key=_find_shelf),
        *list_networks(),
    ]


_MAKERS = ("NVIDIA", "AMD", "Google", "")


def _find_shelf(name: str) -> tuple[int, int, str]:
    """Where a machine stands in the list."""
    maker, year = _find_maker(name)
    return _MAKERS.index(maker) if maker in _MAKERS else len(_MAKERS), -year, str(cs.machines()[name].title)


def _find_maker(name: str) -> tuple[str, int]:
    """Maker and year of a machine's GPUs; no maker, and 0, where it has none."""
    return find_announcement(cs.machines()[name].gpu) or ("", 0)


@dataclass(frozen=True)
class Heading:
    """A line above a part of a list. A click on it chooses nothing.

    Attributes:
        text: What it says.
    """

    text: str


def _label_heading(name: str) -> Heading:
    """Maker and year of a machine's GPUs; of other entries what they are."""
    if name in cs.machines():
        maker, year = _find_maker(name)
        if maker:
            return Heading(f"{maker}, {year}")
        return Heading(t("place.cpus"))
    if name == OWN:
        return Heading(t("place.own"))
    return Heading(t("place.networks"))


def choose_machine(name: str, current: str) -> str:
    """One of all machines and networks, under headings.

    Args:
        name: Name of the control: the key of its text, and of what it remembers.
        current: What is chosen now.
    """
    words: dict[str | Heading, str] = {}
    for machine_name in list_machines_and_networks():
        words.setdefault(_label_heading(machine_name), f"── {_label_heading(machine_name).text} ──")
        words[machine_name] = label_machine(machine_name)
    if current not in words:
        current = list_machines_and_networks()[0]

    def skip_headings() -> None:
        if isinstance(st.session_state.get(key), Heading):  # gone, where what it belongs to has just gone
            st.session_state[key] = current

    key = f"{WIDGETS}{name}"
    return str(choose(name, t("place"), words, current, help=_help("place"), on_change=skip_headings))


def label_machine(name: str) -> str:
    """A machine by its title, one's own by its file, a generic network as one.

    Args:
        name: Name of the machine or network.
    """
    if name == OWN:
        return t("own.place", file=custom_machine.read_facts(get_session().choice.machine_text).file)
    if name not in cs.machines():
        return t("place.network", name=label_choice("network", name))
    return cs.machines()[name].write_title(get_language())


def label_nodes(choice: MachineChoice) -> str:
    """A machine with the number of its nodes where there are several: `2 x DGX A100`.

    Args:
        choice: Where something runs.
    """
    if choice.copies == 1:
        return label_machine(choice.machine)
    return t("race.nodes", machine=label_machine(choice.machine), count=choice.nodes)


def label_choice(kind: str, value: object) -> str:
    """What can be chosen, in the language of the page: `fabric.torus`; as it is where the catalogs have no word for it.

    Args:
        kind: What it is a value of: `fabric`, `network`, `engine`, `option.server`.
        value: The value, as addresses and Python have it.
    """
    if has_text(f"{kind}.{value}"):
        return t(f"{kind}.{value}")
    return str(value)
