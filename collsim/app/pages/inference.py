"""Inference: what a prompt and a token take on several GPUs, what of it is communication, and which link decides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from collsim.display.markup import escape_markdown
from collsim.errors import CollsimError
from collsim.inference import InferenceTimes, count_kv_bytes, time_inference
from collsim.train.model_families import models
from collsim.units import format_percent, format_time

from ..editor.sidebar import choose_where
from ..jobs.job_spec import is_compiled, job, report_progress
from ..scenario import snippets
from ..scenario.address_parameters import list_words
from ..scenario.choice import MachineChoice, build_machine_address, declare_menu, declare_number
from ..scenario.outcome import build_topology
from ..shell import charts
from ..shell.address import finish_controls, get_remembered
from ..shell.codebox import draw_code_box
from ..shell.form import draw_fields
from ..shell.look import color
from ..shell.notes import draw_part, format_title
from ..shell.page import register_page
from ..shell.results import get_latest
from ..shell.session import get_language, is_dark, t
from .train.tabs import draw_tabs

PAGE = "inference"
MAX_GPUS, MAX_SEQUENCES, MAX_TOKENS = 512, 1024, 131_072
#: Counts of a choice, which `time_inference` and the command call so, too.
COUNTS = ("tensor", "expert", "batch", "prompt")
#: Colours of what a phase does.
_HUES = {"compute": "idle", "tensor": "room", "logits": "ink3", "dispatch": "full", "combine": "sumfill"}


@cache
def list_decoders() -> list[str]:
    """Models that write a text token by token."""
    names = []
    for name, model in models().items():
        try:
            count_kv_bytes(model)
        except CollsimError:
            continue
        names.append(name)
    return names


@dataclass(frozen=True)
class InferenceChoice(MachineChoice):
    """A model on a machine, and what is asked of it; names as in `time_inference`.

    Attributes:
        machine: Name of the machine.
        model: Name of the model.
        tensor: GPUs that share each layer.
        expert: Groups of GPUs that share the experts.
        batch: Sequences at a time.
        prompt: Tokens of each prompt.
    """

    machine: str = "dgx-h100"
    model: str = declare_menu("llama3-70b", "model", list_decoders, text="train.model")
    tensor: int = declare_number(8, "tensor", MAX_GPUS)
    expert: int = declare_number(1, "expert", MAX_GPUS)
    batch: int = declare_number(8, "batch", MAX_SEQUENCES)
    prompt: int = declare_number(2048, "prompt", MAX_TOKENS)


PLAIN = InferenceChoice()
ADDRESS = build_machine_address(PLAIN, list_words(PLAIN))


@job(lambda choice: 0.3 + 1e-5 * (choice.tensor * choice.expert) ** 2, compiled=is_compiled)
def estimate_times(choice: InferenceChoice) -> InferenceTimes:
    """Both phases of what is chosen.

    Args:
        choice: The model and the machine that are chosen.
    """
    topology = build_topology(choice)
    report_progress("run", 0.1)
    return time_inference(choice.model, topology, **{name: getattr(choice, name) for name in COUNTS})


@register_page(PAGE, 19, address=ADDRESS, listed=False)
def draw() -> None:
    """Draw the page: what and where in the sidebar, both phases as bars, their collectives as a table."""
    with st.sidebar:
        draw_part(t("inference.what"))
        choice: InferenceChoice = choose_where(draw_fields(PAGE, get_remembered(PAGE), "model", *COUNTS))
    st.html(format_title(t("page.inference"), t("inference.below")))
    draw_tabs(PAGE)
    finish_controls(choice)
    latest_result = get_latest(estimate_times, choice, fallback=(PLAIN,))
    if latest_result is not None:
        _draw_times(latest_result[0])
    draw_code_box(build_script(choice), build_command(choice))


def _draw_times(times: InferenceTimes) -> None:
    charts.draw_chart("inference", _build_bars, _build_bar_rows(times))
    st.markdown(escape_markdown(times.text(get_language())))
    rows = times.list_cells(get_language())
    if rows:
        draw_part(t("inference.calls"), "next")
        charts.show_frame(pd.DataFrame(rows))


def _build_bar_rows(times: InferenceTimes) -> pd.DataFrame:
    """A row for each part of each bar; a bar is a phase, as long as all others."""
    rows = []
    for phase in (times.prefill, times.decode):
        name = t("inference.phase", phase=t(f"inference.{phase.name}"), time=format_time(phase.time))
        parts = {"compute": phase.compute}
        for call in phase.calls:
            parts[call.purpose] = parts.get(call.purpose, 0.0) + call.total
        rows += [
            {
                "phase": name,
                "order": list(_HUES).index(part),
                "part": t(f"inference.part.{part}"),
                "share": 100 * seconds / phase.time,
                "text": f"{format_time(seconds)} ({format_percent(seconds / phase.time)})",
            }
            for part, seconds in parts.items()
        ]
    return pd.DataFrame(rows)


def _build_bars(frame: pd.DataFrame) -> charts.Picture:
    """Both phases one above the other, each as parts of its own time: they differ by factors of ten and more."""
    dark = is_dark()
    used = frame.drop_duplicates("part").sort_values("order")
    hues = alt.Scale(domain=list(used["part"]), range=[color(list(_HUES.values())[k], dark) for k in used["order"]])
    legend = alt.Legend(orient="top", columns=2, labelLimit=320)
    y = alt.Y("phase:N", sort=None, axis=None, scale=alt.Scale(paddingInner=0.45, paddingOuter=0.3))
    base = alt.Chart(frame).encode(y=y)
    bars = base.mark_bar().encode(
        x=alt.X(
            "share:Q",
            stack="zero",
            title=t("inference.share"),
            scale=alt.Scale(domain=[0, 100]),
            axis=alt.Axis(values=list(range(0, 101, 20))),
        ),
        color=alt.Color("part:N", scale=hues, title=None, legend=legend),
        order=alt.Order("order:Q"),
        tooltip=[alt.Tooltip(f"{column}:N", title=None) for column in ("phase", "part", "text")],
    )
    names = alt.Chart(frame.drop_duplicates("phase")).encode(y=y, x=alt.value(0), text=alt.Text("phase:N"))
    look: dict[str, Any] = {"align": "left", "fontSize": 15, "fontWeight": "bold", "baseline": "bottom"}
    titles = names.mark_text(dy=-28, color=color("ink", dark), **look)
    return charts.layer(bars, titles, height=250, description=t("page.inference"), padding=charts.ROOM)


def build_script(choice: InferenceChoice) -> str:
    """Python that prints the same figures.

    Args:
        choice: The model and the machine that are chosen.
    """
    counts = {name: getattr(choice, name) for name in COUNTS}
    call = snippets.write_call("cs.inference.time_inference", repr(choice.model), "m", **counts)
    return snippets.write_script(f"m = {snippets.write_machine(choice)}", f"times = {call}", "print(times.text())")


def build_command(choice: InferenceChoice) -> str:
    """The command that prints the same figures.

    Args:
        choice: The model and the machine that are chosen.
    """
    counts = snippets.list_option_words({name: getattr(choice, name) for name in COUNTS})
    machine = snippets.write_machine_words(choice)
    return snippets.join_words(["collsim", "inference", choice.model, *machine, *counts])
