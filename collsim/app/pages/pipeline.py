"""Pipelines: several schedules with the same passes on one clock, each held beside its formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from collsim.errors import CollsimError
from collsim.train import PipelineTiming, time_schedules
from collsim.train.pipelines.pass_orders import SCHEDULES
from collsim.train.pytorch.pipeline_scripts import write_pipeline_script
from collsim.viz.splits.pipeline_document import build_pipeline_runner

from ..scenario.address_parameters import Control, PageAddress, declare_word, list_words
from ..scenario.choice import create_list_reader, declare_number
from ..shell.address import finish_controls, get_remembered
from ..shell.codebox import CodePart, draw_code_box
from ..shell.form import draw_row
from ..shell.notes import draw_mistake, explain, format_title
from ..shell.page import register_page
from ..shell.player import mount_bundle
from ..shell.session import get_language, get_session, t
from .train.tabs import draw_tabs

PAGE = "pipeline"
USUAL = ("gpipe", "1f1b", "interleaved", "zero-bubble")


def _create_number_reader(name: str, least: float, most: float) -> Callable[[str], str]:
    """A reader for a number in a range, kept as it was written."""

    def read(text: str) -> str:
        """Read a text that was typed; it raises for one that is none.

        Args:
            text: The text.
        """
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise CollsimError("{name}={text!r} is no number from {least} to {most}", name=name, text=text, least=least,
                               most=most)  # fmt: skip
        return text

    return read


@dataclass(frozen=True)
class PipelineChoice:
    """The pipeline schedules that are compared.

    Attributes:
        stages: Number of GPUs.
        microbatches: Microbatches of a step.
        ratio: Time of a backward pass in forward passes, as text.
        hop: Time to the next GPU in forward passes, as text.
        interleave: Stages of a GPU in schedules that interleave.
        schedules: Names of the schedules.
    """

    stages: int = declare_number(4, "stages", 16, known=(2, 4, 8, 16))
    microbatches: int = declare_number(8, "microbatches", 64, known=(1, 2, 4, 8, 16, 32, 64))
    ratio: str = declare_word(
        "2", _create_number_reader("ratio", 0.1, 10), control=Control("menu", lambda: ("1", "2", "3"))
    )
    hop: str = declare_word(
        "0", _create_number_reader("hop", 0, 10), control=Control("menu", lambda: ("0", "0.05", "0.1", "0.25", "0.5"))
    )
    interleave: int = declare_number(2, "interleave", 8, known=(1, 2, 3, 4))
    schedules: tuple[str, ...] = declare_word(
        USUAL,
        create_list_reader("schedule", lambda: SCHEDULES),
        write=",".join,
        control=Control("several", lambda: SCHEDULES, names="pipeline"),
    )


ADDRESS = PageAddress(PipelineChoice(), list_words(PipelineChoice))


@register_page(PAGE, 16, address=ADDRESS, moment=("t",), listed=False)
def draw() -> None:
    """Draw the page: tabs and controls in rows, the schedules on one clock."""
    choice: PipelineChoice = get_remembered(PAGE)
    st.html(format_title(t("page.pipeline"), t("pipeline.below")))
    draw_tabs(PAGE)
    notes = st.container()
    choice = _draw_controls(choice)
    with notes:
        finish_controls(choice)
    _draw_lanes(choice)
    torch = CodePart("PyTorch, pipelines.py", build_torch_code(choice), "python")
    megatron = CodePart("Megatron-LM", build_megatron_options(choice), note=t("pipeline.code"))
    draw_code_box(build_script(choice), build_command(choice), [torch], [megatron])


def _draw_controls(before: PipelineChoice) -> PipelineChoice:
    with st.container(key="pipelinecontrols"):
        choice = draw_row(PAGE, before, stages=1, microbatches=1, ratio=1, hop=1, interleave=1, schedules=3)
    if not choice.schedules:
        draw_mistake(t("pipeline.none"))
        return replace(choice, schedules=before.schedules)
    return choice


def time_choices(choice: PipelineChoice) -> dict[str, Any]:
    """Each schedule that was chosen: its pipeline and timing, or why it cannot be.

    Args:
        choice: The pipelines that are chosen.
    """
    hop, ratio = float(choice.hop), float(choice.ratio)
    rest: dict[str, Any] = {"interleave": choice.interleave, "schedules": choice.schedules}
    return time_schedules(choice.stages, choice.microbatches, 1.0, ratio, hop, **rest)


def _draw_lanes(choice: PipelineChoice) -> None:
    """The card: schedules that can be; a sentence for each of the others."""
    timings = time_choices(choice)
    for name, result in timings.items():
        if isinstance(result, CollsimError):
            draw_mistake(t("pipeline.failed", name=t(f"pipeline.{name}"), reason=explain(result)))
    good_timings = {name: result for name, result in timings.items() if not isinstance(result, CollsimError)}
    if not good_timings:
        return
    runners = []
    for name, (pipe, timing) in good_timings.items():
        note = t(f"pipeline.{name}.note", v=pipe.interleave)
        runners.append(build_pipeline_runner(pipe, timing) | {"name": t(f"pipeline.{name}"), "note": note})
    data = {
        "id": repr(choice),
        "kind": "pipelines",
        "runners": runners,
        "said": describe_timings({name: timing for name, (_, timing) in good_timings.items()}, choice),
        "unit": t("pipeline.unit", ratio=choice.ratio),
        "microbatches": choice.microbatches,
        "most": max(run["most"] for run in runners),
        "t": get_session().start.get("t"),
    }
    mount_bundle("lanes", "pipelines", data)


def describe_timings(timings: dict[str, PipelineTiming], choice: PipelineChoice) -> str:
    """What is to be seen, with the numbers of this run.

    Args:
        timings: Timings by the name of the schedule.
        choice: The pipelines that are chosen.
    """

    def share(timing: PipelineTiming) -> str:
        return f"{100 * timing.bubble:.1f} %"

    lines = []
    a, b = timings.get("gpipe"), timings.get("1f1b")
    if a is not None and b is not None:
        words = {"a": f"{b.peak_activations[0]:g}", "b": f"{a.peak_activations[0]:g}", "share": share(a)}
        key = "pipeline.says.hops"
        if abs(a.time - b.time) < 1e-9 * a.time:
            key = "pipeline.says.memory"
        lines.append(t(key, **words, more=f"{b.time - a.time:.3g}"))
    if (thin := timings.get("interleaved")) is not None and choice.interleave > 1:
        lines.append(t("pipeline.says.thin", v=choice.interleave, share=share(thin)))
    if (zero := timings.get("zero-bubble")) is not None:
        lines.append(t("pipeline.says.zero", share=share(zero)))
    if a is not None:
        twice = time_schedules(
            choice.stages, 2 * choice.microbatches, 1.0, float(choice.ratio), float(choice.hop), schedules=("gpipe",)
        )["gpipe"]
        assert not isinstance(twice, CollsimError)
        lines.append(t("pipeline.says.twice", m=2 * choice.microbatches, a=share(a), b=share(twice[1])))
    return ("" if get_language() == "zh" else " ").join(lines)


# ---- the same as code ----------------------------------------------------------------------------------------------


def build_script(choice: PipelineChoice) -> str:
    """Python that prints time, bubble and what ranks hold of each schedule.

    Args:
        choice: The pipelines that are chosen.
    """
    lines = ["import collsim as cs", ""]
    lines.append(
        f"made = cs.train.time_schedules({choice.stages}, {choice.microbatches}, forward=1, "
        f"backward={float(choice.ratio):g}, hop={float(choice.hop):g}, interleave={choice.interleave}, "
        f"schedules={list(choice.schedules)!r})"
    )
    lines += [
        "for name, (pipe, t) in made.items():",
        "    print(name, t.time, f'{t.bubble:.1%}', t.peak_activations.tolist())",
    ]
    return "\n".join(lines).replace("'", '"').replace('f"{t.bubble:.1%}"', "f'{t.bubble:.1%}'") + "\n"


def build_command(choice: PipelineChoice) -> str:
    """The command that prints the same.

    Args:
        choice: The pipelines that are chosen.
    """
    words = f"collsim train-pipeline {choice.stages} --microbatches {choice.microbatches} --backward {choice.ratio}"
    words += f" --hop {choice.hop} --interleave {choice.interleave}"
    return words + "".join(f" --schedule {name}" for name in choice.schedules)


def build_torch_code(choice: PipelineChoice) -> str:
    """The same schedules in torch.distributed.pipelining, those that can be; "" for none.

    Args:
        choice: The pipelines that are chosen.
    """
    timings = [timing for timing in time_choices(choice).values() if not isinstance(timing, CollsimError)]
    if timings:
        return write_pipeline_script([pipe for pipe, _ in timings], choice.microbatches)
    return ""


def build_megatron_options(choice: PipelineChoice) -> str:
    """Options of Megatron-LM: it has 1F1B and interleaved stages.

    Args:
        choice: The pipelines that are chosen.
    """
    line = f"--pipeline-model-parallel-size {choice.stages}"
    if "interleaved" in choice.schedules and choice.interleave > 1:
        line += f" --num-virtual-stages-per-pipeline-rank {choice.interleave}"
    return f"{line} --micro-batch-size 1 --global-batch-size {choice.microbatches}"
