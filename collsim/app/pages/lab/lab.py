"""Lab: a schedule on the processes of this computer, measured below its prediction."""

from __future__ import annotations

import secrets
import shlex
from dataclasses import replace

import streamlit as st

from collsim.units import format_time, parse_time

from ...server.session_client import is_local_session
from ...shell.address import finish_controls, get_remembered
from ...shell.codebox import draw_code_box
from ...shell.controls import choose
from ...shell.form import draw_field, draw_fields
from ...shell.notes import draw_headline, draw_note, draw_part, format_quantity, format_verdict
from ...shell.page import register_page
from ...shell.player import mount_bundle
from ...shell.results import get_latest
from ...shell.session import choose_text, t
from . import lab_choice, measurement, training_figures
from .collective_figures import LabView
from .lab_choice import LabChoice

PAGE = "lab"
_ASKED, _TURN = "lab_asked", "lab_turn"
_ANY = ("ddp", "fsdp")  # ways for any number of ranks; a pipeline has no more stages than layers


@register_page(PAGE, 75, address=lab_choice.ADDRESS)
def draw() -> None:
    """Draw the page: what to run in the sidebar, the figures, the picture."""
    with st.sidebar:
        choice = _draw_controls(get_remembered(PAGE))
    finish_controls(choice)
    with st.container(key="lab_start", horizontal=True, vertical_alignment="center"):
        _draw_button(choice)
    lab_result, of = _find_shown(choice)
    if lab_result is None:
        return
    _draw_headline(lab_result, of)
    if of != choice:
        draw_note(t("lab.other"))
    _mount(lab_result, of)
    draw_code_box(build_script(choice), build_command(choice))


def _mount(lab_result: LabView, of: LabChoice) -> None:
    """The picture: of a collective, or of a step of training."""
    name = "lab"
    if of.sheet == "step":
        name = "lab_step"
    ident = repr((of, st.session_state.get(_TURN) if "median" in lab_result.figures else 0))
    mount_bundle(name, name, {"id": ident, "document": lab_result.document})


def _draw_controls(choice: LabChoice) -> LabChoice:
    draw_part(t("lab.what"))
    choice = draw_field(PAGE, choice, "sheet")
    if choice.sheet == "step":
        choice = _draw_step_controls(choice)
    else:
        choice = draw_fields(PAGE, choice, "algorithm", "nbytes", "ranks")
    draw_part(t("lab.network"), "next")
    choice = _draw_fault_controls(draw_fields(PAGE, choice, "bandwidth", "alpha"))
    draw_part(t("lab.often"), "next")
    return draw_field(PAGE, choice, "repeat")


def _draw_step_controls(choice: LabChoice) -> LabChoice:
    choice = draw_field(PAGE, choice, "nbytes", text="lab.gradients")
    choice = draw_fields(PAGE, choice, "backward", "split")
    if choice.split == "ddp":
        choice = draw_field(PAGE, choice, "layers")
    return draw_field(PAGE, choice, "ranks", most=0 if choice.split in _ANY else lab_choice.LAYERS)


def _draw_fault_controls(choice: LabChoice) -> LabChoice:
    """Who is late or slow."""
    rank_labels = {-1: t("lab.nobody")} | {rank: f"rank {rank}" for rank in range(choice.ranks)}
    if choice.sheet == "step":
        slow = choose("lab_slow", t("lab.straggler", factor=f"{lab_choice.STRAGGLES:g}"), rank_labels, choice.slow)
        return replace(choice, slow=slow)
    late = choose("lab_late", t("lab.late", time=format_time(lab_choice.LATE)), rank_labels, choice.late)
    slow = choose("lab_slow", t("lab.slow", factor=f"{lab_choice.SLOW:g}"), rank_labels, choice.slow)
    return replace(choice, late=late, slow=slow)


def can_start_processes() -> bool:
    """Only who sits at this computer starts processes on it: others of a class see what was predicted."""
    return is_local_session()


def _draw_button(choice: LabChoice) -> None:
    if not can_start_processes():
        draw_note(t("lab.elsewhere"))
        return
    again = st.session_state.get(_ASKED) == choice
    if st.button(t("lab.again" if again else "lab.run"), type="primary", key="lab_run"):
        st.session_state[_ASKED] = choice
        st.session_state[_TURN] = secrets.randbits(48)
    draw_note(t("lab.small"))


def _find_shown(choice: LabChoice) -> tuple[LabView | None, LabChoice]:
    """What was measured last, or the prediction where that is of something else."""
    requested: LabChoice | None = st.session_state.get(_ASKED)
    if requested is not None and requested.sheet == choice.sheet and can_start_processes():
        latest_result = get_latest(measurement.measure_choice, requested, st.session_state[_TURN])
        if latest_result is not None and (latest_result[1][0] == choice or requested == choice):
            return latest_result[0], latest_result[1][0]
    latest_result = get_latest(measurement.predict_choice, choice)
    if latest_result is not None:
        return (latest_result[0], latest_result[1][0])
    return (None, choice)


def _draw_headline(lab_result: LabView, of: LabChoice) -> None:
    """Predicted, measured, predicted with what was measured; and the sentence."""
    has = lab_result.figures
    boxes = [format_quantity(t("lab.predicted"), format_time(has["predicted"]), t("lab.asked"))]
    if "median" not in has:
        lines = [t("lab.says", processes=lab_result.processes)]
        draw_headline(*boxes, format_verdict(t("lab.nothing"), *lines, name=t("lab.why")))
        return
    difference = has["median"] / has["predicted"] - 1
    longer = t("lab.longer" if difference >= 0 else "lab.shorter", share=f"{abs(difference):.1%}", runs=of.repeat)
    boxes.append(format_quantity(t("lab.median"), format_time(has["median"]), longer))
    if "calibrated" in has:
        off = has["calibrated"] / has["median"] - 1
        key = "lab.too.short"
        if off >= 0:
            key = "lab.too.long"
        value, off_by = format_time(has["calibrated"]), t(key, share=f"{abs(off):.1%}")
        boxes.append(format_quantity(t("lab.calibrated"), value, off_by))
    if "waits" in has:
        waits = t("lab.waits.predicted", time=format_time(has["waits_predicted"]))
        boxes.append(format_quantity(t("lab.waits"), format_time(has["waits"]), waits))
    sentences = [choose_text(pair) for pair in lab_result.sentences]
    checked = t(
        "lab.checked", elements=f"{lab_result.checked:,}", processes=lab_result.processes, cores=lab_result.cores
    )
    draw_headline(*boxes, format_verdict(sentences[0], *sentences[1:], checked, name=t("lab.why")))


def build_script(choice: LabChoice) -> str:
    """The same in Python.

    Args:
        choice: What is chosen on the page Lab.
    """
    if choice.sheet == "step":
        return _build_step_script(choice)
    wrong = "".join(f", {name}={value!r}" for name, value in choice.wrong.items())
    return (
        "import collsim as cs\n\n"
        f'plan = cs.schedule("{choice.algorithm}", ranks={choice.ranks})\n'
        f't = cs.run_for_real(plan, "{choice.nbytes}", bandwidth="{choice.bandwidth}", alpha="{choice.alpha}", '
        f"repeat={choice.repeat}, calibrate=True{wrong})\n"
        "print(t)\nprint(t.comparison)\n"
    )


def _build_step_script(choice: LabChoice) -> str:
    elements = training_figures.build_model(choice).layers[0].parameters
    slow = ""
    if choice.straggler:
        slow = f", slow={choice.straggler!r}"
    backward = parse_time(choice.backward)
    return (
        "import collsim as cs\n\n"
        f'layers = tuple(cs.train.Layer(f"layers.{{i}}.linear", ({elements},), outputs={elements}) '
        f"for i in range({lab_choice.LAYERS}))\n"
        f'model = cs.train.Model("eight layers", layers)\n'
        "t = cs.lab.training_step_for_real(\n"
        f"    model, {choice.ranks}, parallel=cs.{_format_split(choice)},\n"
        f"    compute=[({backward / 2:g}, {backward:g})] * {lab_choice.LAYERS},  # s: forward and backward of a layer\n"
        f'    bandwidth="{choice.bandwidth}", alpha="{choice.alpha}", repeat={choice.repeat}{slow},\n'
        ")\n"
        "print(t)\nprint(t.comparison)\n"
    )


def build_command(choice: LabChoice) -> str:
    """The same from a shell.

    Args:
        choice: What is chosen on the page Lab.
    """
    if choice.sheet == "step":
        return _build_step_command(choice)
    wrong = [f"--late {rank}={late * 1e3:g}ms" for rank, late in choice.wrong.get("late", {}).items()]
    wrong += [f"--slow {rank}={slow:g}" for rank, slow in choice.wrong.get("slow", {}).items()]
    words = [
        f"collsim real {choice.algorithm} --ranks {choice.ranks} --nbytes {choice.nbytes}",
        f"--alpha {choice.alpha} --bandwidth {choice.bandwidth} --repeat {choice.repeat} --calibrate",
        *wrong,
    ]
    return " ".join(words)


def _format_split(choice: LabChoice) -> str:
    """How the step is split, as it is written."""
    if choice.split == "ddp":
        return f"ddp({training_figures.count_bucket_bytes(choice, choice.layers)}, view=True)"
    if choice.split == "fsdp":
        return "fsdp()"
    return f"pipeline({choice.ranks}, '{choice.split}')"


def _build_step_command(choice: LabChoice) -> str:
    """A step of training from a shell: a forward pass takes half of its backward."""
    size = training_figures.count_bucket_bytes(choice, 1)
    if choice.split == "ddp":
        strategy = f"ddp --bucket {training_figures.count_bucket_bytes(choice, choice.layers)} --view"
    else:
        strategy = shlex.quote(_format_split(choice))
    slow = "".join(f" --slow {rank}={factor:g}" for rank, factor in choice.straggler.items())
    return (
        f"collsim real-step {lab_choice.LAYERS}x{size} --activations {size} --ranks {choice.ranks} "
        f"--parallel {strategy} "
        f"--compute {1.5 * lab_choice.LAYERS * parse_time(choice.backward):g} --alpha {choice.alpha} "
        f"--bandwidth {choice.bandwidth} --repeat {choice.repeat}{slow}"
    )
