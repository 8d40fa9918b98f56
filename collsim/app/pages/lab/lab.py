"""Lab: a schedule on the processes of this computer, measured below its prediction."""

from __future__ import annotations

import secrets
import shlex
from dataclasses import replace
from typing import Any

import streamlit as st

from collsim.lab import MOST_RANKS
from collsim.registry import find
from collsim.units import format_time, parse_time
from collsim.viz.real.document import build_lab_source, build_lab_step_source

from ...server import is_local_session
from ...shell import codebox
from ...shell.address import leave, remembered
from ...shell.codebox import CodePart
from ...shell.controls import algorithm_label, choose, number, quantity, segment
from ...shell.notes import complain, headline, note, part, quantity_figure, small, verdict
from ...shell.page import page
from ...shell.player import look
from ...shell.results import latest
from ...shell.session import language, session, t
from . import asked, measure, steps
from .asked import LabChoice
from .measure import LabShown

PAGE = "lab"
_SIZES = ["4KiB", "64KiB", "256KiB", "1MiB", "4MiB", "16MiB"]
_RATES = ["1MB/s", "5MB/s", "10MB/s", "25MB/s", "100MB/s"]
_PASSES = ["5ms", "10ms", "20ms", "50ms", "100ms"]
_TIMES = ["0s", "1ms", "5ms", "10ms", "20ms", "50ms"]
_ASKED, _TURN = "lab_asked", "lab_turn"
_ANY = ("ddp", "fsdp")  # ways for any number of ranks; a pipeline has no more stages than layers


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
    _mount(shown, of)
    with st.expander(t("code.title")):
        codebox.draw([CodePart(t("python"), script(choice), "python")], _shell(choice))


def _mount(shown: LabShown, of: LabChoice) -> None:
    """The picture: of a collective, or of a step of training."""
    name, source = ("lab_step", build_lab_step_source) if of.sheet == "step" else ("lab", build_lab_source)
    mount = st.components.v2.component(f"collsim_{name}", js=source())
    ident = repr((of, st.session_state.get(_TURN) if "median" in shown.figures else 0))
    mount(key=name, data={"id": ident, "document": shown.document, **look()})


def _shell(choice: LabChoice) -> list[CodePart]:
    return [CodePart(t("cli"), step_command(choice) if choice.sheet == "step" else command(choice))]


def _controls(choice: LabChoice) -> LabChoice:
    part(t("lab.what"))
    sheet = segment("lab_sheet", list(asked.SHEETS), choice.sheet, lambda one: t(f"lab.sheet.{one}"), t("lab.what"))
    choice = replace(choice, sheet=sheet)
    choice = _of_step(choice) if sheet == "step" else _of_collective(choice)
    part(t("lab.network"), "next")
    rate = quantity("lab_bandwidth", _RATES, choice.bandwidth, t("lab.bandwidth"), asked.read_rate)
    alpha = quantity("lab_alpha", _TIMES, choice.alpha, t("lab.alpha"), asked.read_time)
    choice = _wrong(replace(choice, bandwidth=rate, alpha=alpha))
    part(t("lab.often"), "next")
    often = choice.repeat if choice.repeat in asked.REPEATS else asked.PLAIN.repeat
    return replace(choice, repeat=segment("lab_repeat", list(asked.REPEATS), often, label=t("lab.repeat")))


def _of_collective(choice: LabChoice) -> LabChoice:
    names = {name: _named(name) for name in asked.offered()}
    algorithm = choose("lab_algorithm", t("lab.algorithm"), names, choice.algorithm)
    size = quantity("lab_nbytes", _SIZES, choice.nbytes, t("lab.nbytes"), asked.read_size)
    ranks = number("lab_ranks", choice.ranks, 2, MOST_RANKS, t("lab.ranks"))
    return replace(choice, algorithm=algorithm, nbytes=size, ranks=ranks)


def _of_step(choice: LabChoice) -> LabChoice:
    size = quantity("lab_nbytes", _SIZES, choice.nbytes, t("lab.gradients"), asked.read_size)
    backward = quantity("lab_backward", _PASSES, choice.backward, t("lab.backward"), asked.read_time)
    split = segment("lab_split", list(asked.SPLITS), choice.split, lambda one: t(f"lab.split.{one}"), t("lab.split"))
    if split == "ddp":
        layers = segment("lab_layers", list(asked.IN_A_BUCKET), choice.layers, label=t("lab.layers"))
        choice = replace(choice, layers=layers)
    ranks = number("lab_ranks", choice.ranks, 2, MOST_RANKS if split in _ANY else asked.LAYERS, t("lab.ranks"))
    return replace(choice, nbytes=size, backward=backward, split=split, ranks=ranks)


def _wrong(choice: LabChoice) -> LabChoice:
    """Who is late or slow."""
    who = {-1: t("lab.nobody")} | {rank: f"rank {rank}" for rank in range(choice.ranks)}
    if choice.sheet == "step":
        slow = choose("lab_slow", t("lab.straggler", factor=f"{asked.STRAGGLES:g}"), who, choice.slow)
        return replace(choice, slow=slow)
    late = choose("lab_late", t("lab.late", time=format_time(asked.LATE)), who, choice.late)
    slow = choose("lab_slow", t("lab.slow", factor=f"{asked.SLOW:g}"), who, choice.slow)
    return replace(choice, late=late, slow=slow)


def _named(name: str) -> str:

    collective = find(name).collective
    return f"{collective}, {algorithm_label(name, collective)}"


def may_start() -> bool:
    """Only who sits at this computer starts processes on it: others of a class see what was predicted."""
    return is_local_session()


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
    if wanted is not None and wanted.sheet == choice.sheet and may_start():
        by = _by(wanted)
        found = latest(
            by.measured, wanted, st.session_state[_TURN], expected=by.expected, compiled=True, exclusive=True
        )
        if found is not None and (found[1][0] == choice or wanted == choice):
            return found[0], found[1][0]
    by = _by(choice)
    found = latest(by.predicted, choice, expected=by.expected_prediction, compiled=True)
    return (found[0], found[1][0]) if found is not None else (None, choice)


def _by(choice: LabChoice) -> Any:
    """Who predicts and measures it."""
    return steps if choice.sheet == "step" else measure


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
    if "waits" in has:
        waits = t("lab.waits.predicted", time=format_time(has["waits_predicted"]))
        boxes.append(quantity_figure(small(t("lab.waits")), format_time(has["waits"]), waits))
    said = [pair[at] for pair in shown.said]
    checked = t("lab.checked", elements=f"{shown.checked:,}", processes=shown.processes, cores=shown.cores)
    headline(*boxes, verdict(said[0], *said[1:], checked, name=small(t("lab.why"))))


def script(choice: LabChoice) -> str:
    """The same in Python."""
    if choice.sheet == "step":
        return _step_script(choice)
    wrong = "".join(f", {name}={value!r}" for name, value in choice.wrong.items())
    return (
        "import collsim as cs\n\n"
        f'plan = cs.schedule("{choice.algorithm}", ranks={choice.ranks})\n'
        f't = cs.run_for_real(plan, "{choice.nbytes}", bandwidth="{choice.bandwidth}", alpha="{choice.alpha}", '
        f"repeat={choice.repeat}, calibrate=True{wrong})\n"
        "print(t)\nprint(t.beside)\n"
    )


def _step_script(choice: LabChoice) -> str:
    elements = steps.model_of(choice).layers[0].parameters
    slow = f", slow={choice.straggler!r}" if choice.straggler else ""
    backward = parse_time(choice.backward)
    return (
        "import collsim as cs\n\n"
        f'layers = tuple(cs.train.Layer(f"layers.{{i}}.linear", ({elements},), outputs={elements}) '
        f"for i in range({asked.LAYERS}))\n"
        f'model = cs.train.Model("eight layers", layers)\n'
        "t = cs.lab.training_step_for_real(\n"
        f"    model, {choice.ranks}, parallel=cs.{_spoken(choice)},\n"
        f"    compute=[({backward / 2:g}, {backward:g})] * {asked.LAYERS},  # s: forward and backward of a layer\n"
        f'    bandwidth="{choice.bandwidth}", alpha="{choice.alpha}", repeat={choice.repeat}{slow},\n'
        ")\n"
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


def _spoken(choice: LabChoice) -> str:
    """How the step is split, as it is written."""
    if choice.split == "ddp":
        return f"ddp({steps.bucket_bytes(choice, choice.layers)}, view=True)"
    return "fsdp()" if choice.split == "fsdp" else f"pipeline({choice.ranks}, '{choice.split}')"


def step_command(choice: LabChoice) -> str:
    """A step of training from a shell: a forward pass takes half of its backward."""
    size = steps.bucket_bytes(choice, 1)
    way = (
        f"ddp --bucket {steps.bucket_bytes(choice, choice.layers)} --view"
        if choice.split == "ddp"
        else (shlex.quote(_spoken(choice)))
    )
    slow = "".join(f" --slow {rank}={factor:g}" for rank, factor in choice.straggler.items())
    return (
        f"collsim real-step {asked.LAYERS}x{size} --activations {size} --ranks {choice.ranks} --parallel {way} "
        f"--compute {1.5 * asked.LAYERS * parse_time(choice.backward):g} --alpha {choice.alpha} "
        f"--bandwidth {choice.bandwidth} --repeat {choice.repeat}{slow}"
    )
