"""Lab: a schedule on the processes of this computer, measured below its prediction."""

from __future__ import annotations

import secrets

import streamlit as st

from collsim.real import MOST_RANKS
from collsim.units import format_time
from collsim.viz.real.document import lab_source

from ...jobs.pool import client_of_tab
from ...shell import codebox
from ...shell.address import leave, remembered
from ...shell.codebox import CodePart
from ...shell.controls import algorithm_label, choose, number, quantity, segment
from ...shell.notes import complain, headline, note, part, quantity_figure, small, verdict
from ...shell.page import page
from ...shell.player import look
from ...shell.results import latest, requests
from ...shell.session import language, session, t
from . import asked, measure
from .asked import LabChoice
from .measure import LabShown

PAGE = "lab"
_SIZES = ["4KiB", "64KiB", "256KiB", "1MiB", "4MiB", "16MiB"]
_RATES = ["1MB/s", "5MB/s", "10MB/s", "25MB/s", "100MB/s"]
_TIMES = ["0s", "1ms", "5ms", "10ms", "20ms", "50ms"]
_ASKED, _TURN = "lab_asked", "lab_turn"


@page(PAGE, 75, address=asked.ADDRESS)
def draw() -> None:
    """Draw the page: what to run in the sidebar, the figures, the picture."""
    choice: LabChoice = remembered(PAGE)
    with st.sidebar:
        choice = _controls(choice)
        _button(choice)
    leave(choice)
    complain(session().complaints)
    shown, of = _shown(choice)
    if shown is None:
        return
    _headline(shown, of)
    if of != choice:
        note(t("lab.other"))
    mount = st.components.v2.component("collsim_lab", js=lab_source())
    ident = repr((of, st.session_state.get(_TURN) if "median" in shown.figures else 0))
    mount(key="lab", data={"id": ident, "document": shown.document, **look()})
    with st.expander(t("code.title")):
        codebox.draw([CodePart(t("python"), script(choice), "python")], [CodePart(t("cli"), command(choice))])


def _controls(choice: LabChoice) -> LabChoice:
    part(t("lab.what"))
    names = {name: _named(name) for name in asked.offered()}
    algorithm = choose("lab_algorithm", t("lab.algorithm"), names, choice.algorithm)
    size = quantity("lab_nbytes", _SIZES, choice.nbytes, t("lab.nbytes"), asked.read_size)
    ranks = number("lab_ranks", choice.ranks, 2, MOST_RANKS, t("lab.ranks"))
    part(t("lab.network"), "next")
    rate = quantity("lab_bandwidth", _RATES, choice.bandwidth, t("lab.bandwidth"), asked.read_rate)
    alpha = quantity("lab_alpha", _TIMES, choice.alpha, t("lab.alpha"), asked.read_time)
    who = {-1: t("lab.nobody")} | {rank: f"rank {rank}" for rank in range(ranks)}
    late = choose("lab_late", t("lab.late", time=format_time(asked.LATE)), who, choice.late)
    slow = choose("lab_slow", t("lab.slow", factor=f"{asked.SLOW:g}"), who, choice.slow)
    part(t("lab.often"), "next")
    often = choice.repeat if choice.repeat in asked.REPEATS else asked.PLAIN.repeat
    repeat = segment("lab_repeat", list(asked.REPEATS), often, label=t("lab.repeat"))
    return LabChoice(algorithm, size, ranks, rate, alpha, late, slow, repeat)


def _named(name: str) -> str:
    import collsim as cs

    collective = cs.algorithms()[name].collective
    return f"{collective}, {algorithm_label(name, collective)}"


def may_start() -> bool:
    """Only who sits at this computer starts processes on it: others of a class see what was predicted."""
    return not client_of_tab(requests().who)


def _button(choice: LabChoice) -> None:
    if not may_start():
        note(t("lab.elsewhere"))
        return
    again = st.session_state.get(_ASKED) == choice
    if st.button(t("lab.again" if again else "lab.run"), type="primary", key="lab_run", width="stretch"):
        st.session_state[_ASKED] = choice
        st.session_state[_TURN] = secrets.randbits(48)
    note(t("lab.small"))


def _shown(choice: LabChoice) -> tuple[LabShown | None, LabChoice]:
    """What was measured last, or the prediction where that is of something else."""
    wanted: LabChoice | None = st.session_state.get(_ASKED)
    if wanted is not None and may_start():
        found = latest(
            measure.measured, wanted, st.session_state[_TURN], expected=measure.expected, compiled=True, alone=True
        )
        if found is not None and (found[1][0] == choice or wanted == choice):
            return found[0], found[1][0]
    found = latest(measure.predicted, choice, expected=measure.expected_prediction, compiled=True)
    return (found[0], found[1][0]) if found is not None else (None, choice)


def _headline(shown: LabShown, of: LabChoice) -> None:
    """Predicted, measured, predicted with what was measured; and the sentence."""
    has, at = shown.figures, int(language() == "zh")
    boxes = [quantity_figure(small(t("lab.predicted")), format_time(has["predicted"]), t("lab.asked"))]
    if "median" not in has:
        lines = [t("lab.says", processes=shown.processes)]
        headline(*boxes, verdict(t("lab.nothing"), *lines, name=small(t("lab.why"))))
        return
    apart = has["median"] / has["predicted"] - 1
    longer = t("lab.longer" if apart >= 0 else "lab.shorter", share=f"{abs(apart):.1%}", runs=of.repeat)
    boxes.append(quantity_figure(small(t("lab.median")), format_time(has["median"]), longer))
    if "calibrated" in has:
        off = has["calibrated"] / has["median"] - 1
        key = "lab.too.long" if off >= 0 else "lab.too.short"
        value, off_by = format_time(has["calibrated"]), t(key, share=f"{abs(off):.1%}")
        boxes.append(quantity_figure(small(t("lab.calibrated")), value, off_by))
    said = [pair[at] for pair in shown.said]
    checked = t("lab.checked", elements=f"{shown.checked:,}", processes=shown.processes, cores=shown.cores)
    headline(*boxes, verdict(said[0], *said[1:], checked, name=small(t("lab.why"))))


def script(choice: LabChoice) -> str:
    """The same in Python."""
    wrong = "".join(f", {name}={value!r}" for name, value in choice.wrong.items())
    return (
        "import collsim as cs\n\n"
        f'plan = cs.schedule("{choice.algorithm}", ranks={choice.ranks})\n'
        f't = cs.run_for_real(plan, "{choice.nbytes}", bandwidth="{choice.bandwidth}", alpha="{choice.alpha}", '
        f"repeat={choice.repeat}, calibrate=True{wrong})\n"
        "print(t)\nprint(t.beside)\n"
    )


def command(choice: LabChoice) -> str:
    """The same from a shell."""
    wrong = [f"--late {rank}={late * 1e3:g}ms" for rank, late in choice.wrong.get("late", {}).items()]
    wrong += [f"--slow {rank}={slow:g}" for rank, slow in choice.wrong.get("slow", {}).items()]
    words = [
        f"collsim real {choice.algorithm} --ranks {choice.ranks} --nbytes {choice.nbytes}",
        f"--alpha {choice.alpha} --bandwidth {choice.bandwidth} --repeat {choice.repeat} --calibrate",
        *wrong,
    ]
    return " ".join(words)
