"""Pipelines: several schedules with the same passes on one clock, each held beside its formula."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from collsim.errors import CollsimError
from collsim.train import PipelineTiming, time_schedules
from collsim.train.pipelines import SCHEDULES
from collsim.train.pytorch.pipeline_scripts import write_pipeline_script
from collsim.viz.splits.lanes import build_lanes_source, build_pipeline_runner

from ..scenario.address import PageAddress, Word
from ..scenario.choice import count, one_of
from ..scenario.mistakes import sentence
from ..shell import codebox
from ..shell.address import leave, remembered
from ..shell.codebox import CodePart
from ..shell.controls import choose, many
from ..shell.notes import complain, mistake, title
from ..shell.page import page
from ..shell.player import look
from ..shell.session import language, session, t
from .train.tabs import tabs

PAGE = "pipeline"
#: What the controls offer; an address may say any number up to the most.
STAGES, MICROBATCHES = (2, 4, 8, 16), (1, 2, 4, 8, 16, 32, 64)
MOST_STAGES, MOST_MICROBATCHES, MOST_INTERLEAVE = 16, 64, 8
USUAL = ("gpipe", "1f1b", "interleaved", "zero-bubble")
RATIOS, HOPS = ("1", "2", "3"), ("0", "0.05", "0.1", "0.25", "0.5")


@dataclass(frozen=True)
class PipelineChoice:
    """Schedules on so many GPUs; `ratio` is the backward pass in forward passes, `hop` the way to the next GPU."""

    stages: int = 4
    microbatches: int = 8
    ratio: str = "2"
    hop: str = "0"
    interleave: int = 2
    schedules: tuple[str, ...] = USUAL


PLAIN = PipelineChoice()


def _number(name: str, least: float, most: float) -> Any:
    """A reader for a number in a range, kept as it was written."""

    def read(text: str) -> str:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise CollsimError("{name}={text!r} is no number from {least} to {most}", name=name, text=text, least=least,
                               most=most)  # fmt: skip
        return text

    return read


def _schedules(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one_of("schedule", lambda: SCHEDULES)(name) for name in text.split(",")))


ADDRESS = PageAddress(
    PLAIN,
    (
        Word("stages", count("stages", MOST_STAGES)),
        Word("microbatches", count("microbatches", MOST_MICROBATCHES)),
        Word("ratio", _number("ratio", 0.1, 10)),
        Word("hop", _number("hop", 0, 10)),
        Word("interleave", count("interleave", MOST_INTERLEAVE)),
        Word("schedules", _schedules, write=",".join),
    ),
)


@page(PAGE, 16, address=ADDRESS, moment=("t",), listed=False)
def draw() -> None:
    """Draw the page: tabs and controls in rows, the schedules on one clock."""
    choice: PipelineChoice = remembered(PAGE)
    st.html(title(t("page.pipeline"), t("pipeline.below")))
    tabs(PAGE)
    said = st.container()
    choice = _controls(choice)
    leave(choice)
    with said:
        complain(session().complaints)
    _lanes(choice)
    with st.expander(t("code.title")):
        codebox.draw(
            [
                CodePart(t("python"), script(choice), "python"),
                CodePart("PyTorch, pipelines.py", torch(choice), "python"),
            ],
            [CodePart(t("cli"), command(choice)), CodePart("Megatron-LM", megatron(choice), note=t("pipeline.code"))],
        )


def _controls(choice: PipelineChoice) -> PipelineChoice:
    with st.container(key="pipelinecontrols"):
        row = st.columns([1, 1, 1, 1, 1, 3], vertical_alignment="bottom", gap="small")
    numbers: dict[str, Any] = {}
    for column, (name, offered) in zip(row[:2], (("stages", STAGES), ("microbatches", MICROBATCHES)), strict=True):
        now = getattr(choice, name)
        with column:
            words = {n: str(n) for n in sorted({*offered, now})}
            numbers[name] = choose(f"pipeline_{name}", t(f"pipeline.{name}"), words, now)
    for column, (name, listed) in zip(row[2:4], (("ratio", RATIOS), ("hop", HOPS)), strict=True):
        now = getattr(choice, name)
        with column:
            words = {text: text for text in dict.fromkeys([*listed, now])}
            numbers[name] = choose(
                f"pipeline_{name}", t(f"pipeline.{name}"), words, now, help=t(f"pipeline.{name}.help")
            )
    with row[4]:
        thin = {n: str(n) for n in sorted({1, 2, 3, 4, choice.interleave})}
        numbers["interleave"] = choose("pipeline_interleave", t("pipeline.interleave"), thin, choice.interleave)
    with row[5]:
        names = many("pipeline.schedules", list(SCHEDULES), choice.schedules, lambda name: t(f"pipeline.{name}"))
    if not names:
        mistake(t("pipeline.none"))
    return replace(choice, **numbers, schedules=names or choice.schedules)


def timed(choice: PipelineChoice) -> dict[str, Any]:
    """Each schedule that was chosen: its pipeline and timing, or why it cannot be."""
    hop, ratio = float(choice.hop), float(choice.ratio)
    rest: dict[str, Any] = {"interleave": choice.interleave, "schedules": choice.schedules}
    return time_schedules(choice.stages, choice.microbatches, 1.0, ratio, hop, **rest)


def _lanes(choice: PipelineChoice) -> None:
    """The card: schedules that can be; a sentence for each of the others."""
    made = timed(choice)
    for name, one in made.items():
        if isinstance(one, CollsimError):
            mistake(t("pipeline.failed", name=t(f"pipeline.{name}"), why=sentence(one, language())))
    found = {name: one for name, one in made.items() if not isinstance(one, CollsimError)}
    if not found:
        return
    runners = []
    for name, (pipe, timing) in found.items():
        note = t(f"pipeline.{name}.note", v=pipe.interleave)
        runners.append(build_pipeline_runner(pipe, timing) | {"name": t(f"pipeline.{name}"), "note": note})
    data = {
        "id": repr(choice),
        "kind": "pipelines",
        "runners": runners,
        "said": told({name: timing for name, (_, timing) in found.items()}, choice),
        "unit": t("pipeline.unit", ratio=choice.ratio),
        "held": choice.microbatches,
        "most": max(run["most"] for run in runners),
        **look(),
        "t": session().start.get("t"),
    }
    mount = st.components.v2.component("collsim_lanes", js=build_lanes_source())
    mount(key="pipelines", data=data)


def told(timings: dict[str, PipelineTiming], choice: PipelineChoice) -> str:
    """What is to be seen, with the numbers of this run."""

    def share(timing: PipelineTiming) -> str:
        return f"{100 * timing.bubble:.1f} %"

    lines = []
    a, b = timings.get("gpipe"), timings.get("1f1b")
    if a is not None and b is not None:
        held = {"a": f"{b.peak_activations[0]:g}", "b": f"{a.peak_activations[0]:g}", "share": share(a)}
        key = "pipeline.says.memory" if abs(a.time - b.time) < 1e-9 * a.time else "pipeline.says.hops"
        lines.append(t(key, **held, more=f"{b.time - a.time:.3g}"))
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
    return ("" if language() == "zh" else " ").join(lines)


# ---- the same as code ----------------------------------------------------------------------------------------------


def script(choice: PipelineChoice) -> str:
    """Python that prints time, bubble and what ranks hold of each schedule."""
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


def command(choice: PipelineChoice) -> str:
    """The command that prints the same."""
    words = f"collsim train-pipeline {choice.stages} --microbatches {choice.microbatches} --backward {choice.ratio}"
    words += f" --hop {choice.hop} --interleave {choice.interleave}"
    return words + "".join(f" --schedule {name}" for name in choice.schedules)


def torch(choice: PipelineChoice) -> str:
    """The same schedules in torch.distributed.pipelining, those that can be; "" for none."""
    made = [one for one in timed(choice).values() if not isinstance(one, CollsimError)]
    return write_pipeline_script([pipe for pipe, _ in made], choice.microbatches) if made else ""


def megatron(choice: PipelineChoice) -> str:
    """Options of Megatron-LM: it has 1F1B and interleaved stages."""
    line = f"--pipeline-model-parallel-size {choice.stages}"
    if "interleaved" in choice.schedules and choice.interleave > 1:
        line += f" --num-virtual-stages-per-pipeline-rank {choice.interleave}"
    return f"{line} --micro-batch-size 1 --global-batch-size {choice.microbatches}"
