"""Sharding: one step under FSDP with prefetch, without it, and with weights that stay, on one clock; the water level of
what is gathered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import streamlit as st

import collsim as cs
from collsim.errors import CollsimError, Words
from collsim.train.model_families import models
from collsim.units import format_time
from collsim.viz.sentences.words import format_decimal_bytes
from collsim.viz.splits.pipeline_document import build_sharding_runner, get_formulas

from ..editor.sidebar import choose_where
from ..jobs.job_spec import job, report_progress
from ..scenario import snippets
from ..scenario.address_parameters import list_words
from ..scenario.choice import MachineChoice, build_machine_address, declare_menu, declare_number
from ..scenario.outcome import build_topology
from ..scenario.pytorch import StepCode, write_step_code
from ..shell import codebox
from ..shell.address import finish_controls, get_remembered
from ..shell.codebox import CodePart
from ..shell.form import draw_fields
from ..shell.notes import draw_mistake, draw_part, explain, format_title
from ..shell.page import register_page
from ..shell.player import mount_bundle
from ..shell.results import get_latest
from ..shell.session import get_language, get_session, t
from .train.tabs import draw_tabs

PAGE = "sharding"
#: The runners, each with what `cs.fsdp` is told.
VARIANTS: dict[str, dict[str, Any]] = {
    "on": {},
    "off": {"prefetch": False},
    "keep": {"reshard_after_forward": False},
}
MAX_SAMPLES = 64


@cache
def list_models() -> list[str]:
    """Models that are made of blocks, which FSDP gathers one by one."""
    return [name for name, model in models().items() if model.has_blocks]


@dataclass(frozen=True)
class ShardingChoice(MachineChoice):
    """A step under FSDP, with the machine of `MachineChoice`.

    Attributes:
        machine: Name of the machine.
        model: Name of the model.
        samples: Samples of each GPU.
    """

    machine: str = "dgx-h100"
    model: str = declare_menu("llama2-7b", "model", list_models, text="train.model")
    samples: int = declare_number(1, "samples", MAX_SAMPLES, text="train.samples")


PLAIN = ShardingChoice()
ADDRESS = build_machine_address(PLAIN, list_words(PLAIN))


@dataclass(frozen=True)
class ShardingRace:
    """What the page draws.

    Attributes:
        runners: The steps on one clock, each as its document.
        weight_bytes: Bytes of all weights of the model.
        failed: The strategies that cannot run, each with the reason.
        torch: The PyTorch script of the first that runs, and the lines that start it.
    """

    runners: tuple[dict[str, Any], ...]
    weight_bytes: float
    failed: tuple[tuple[str, Words], ...]
    torch: StepCode | None = None


def simulate_steps(choice: ShardingChoice) -> dict[str, Any]:
    """Each runner's step, or why it cannot be.

    Args:
        choice: The step and the strategies that are chosen.
    """
    topology, step_traces = build_topology(choice), dict[str, object]()
    for number_, (name, options) in enumerate(VARIANTS.items(), 1):
        try:
            step_traces[name] = cs.training_step(
                choice.model, topology, parallel=cs.fsdp(**options), micro_batch=choice.samples, dtype="bfloat16"
            )
        except CollsimError as error:
            step_traces[name] = error
        report_progress("run", number_ / len(VARIANTS))
    return step_traces


@job(lambda choice: 0.6 + 3e-3 * len(cs.model(choice.model).layers))
def race_steps(choice: ShardingChoice) -> ShardingRace:
    """Run them; what is drawn of each.

    Args:
        choice: The step and the strategies that are chosen.
    """
    runners, failed, weight_bytes = [], [], 0.0
    torch: StepCode | None = None
    for name, trace in simulate_steps(choice).items():
        if isinstance(trace, CollsimError):
            failed.append((name, trace.sentence))
            continue
        runners.append(build_sharding_runner(name, trace))
        weight_bytes = get_formulas(trace).weight_bytes
        torch = torch or write_step_code(trace)
    return ShardingRace(tuple(runners), weight_bytes, tuple(failed), torch)


@register_page(PAGE, 18, address=ADDRESS, moment=("t",), listed=False)
def draw() -> None:
    """Draw the page: what and where in the sidebar, the three ways on one clock."""
    with st.sidebar:
        draw_part(t("train.what"))
        choice: ShardingChoice = choose_where(draw_fields(PAGE, get_remembered(PAGE), "model", "samples"))
    st.html(format_title(t("page.sharding"), t("sharding.below")))
    draw_tabs(PAGE)
    finish_controls(choice)
    latest_result = get_latest(race_steps, choice, fallback=(PLAIN,))
    torch: list[CodePart] = []
    if latest_result is not None:
        _draw_card(*latest_result)
        if latest_result[0].torch:
            torch = codebox.build_step_torch_parts(latest_result[0].torch)
    megatron = codebox.build_megatron_parts(partial(build_megatron_options, choice))
    codebox.draw_code_box(build_script(choice), build_command(choice), torch, [megatron])


def _draw_card(step_race: ShardingRace, drawn: tuple[ShardingChoice]) -> None:
    for name, reason in step_race.failed:
        draw_mistake(t("sharding.failed", name=t(f"sharding.{name}"), reason=explain(reason)))
    if not step_race.runners:
        return
    names = [(t(f"sharding.{run['variant']}"), t(f"sharding.{run['variant']}.note")) for run in step_race.runners]
    data = {
        "id": repr(drawn),
        "kind": "sharding",
        "runners": [{**run, "name": a, "note": b} for run, (a, b) in zip(step_race.runners, names, strict=True)],
        "said": describe_race(step_race),
        "most": max([step_race.weight_bytes, *(run["most"]["both"] for run in step_race.runners)]),
        "weight_bytes": step_race.weight_bytes,
        "t": get_session().start.get("t"),
    }
    mount_bundle("lanes", "sharding", data)


def describe_race(step_race: ShardingRace) -> str:
    """What prefetch saves and costs, and what it takes not to give weights back.

    Args:
        step_race: The runs of the race.
    """
    runs = {run["variant"]: run for run in step_race.runners}
    if runs.keys() != VARIANTS.keys():
        return ""
    on, off, keep = (runs[name] for name in VARIANTS)

    def size(run: dict[str, Any]) -> str:
        return format_decimal_bytes(run["most"]["gathered"])

    def sends(run: dict[str, Any]) -> str:
        return format_decimal_bytes(next(row["drawn"] for row in run["figures"] if row["name"] == "sends"))

    lines = [
        t("sharding.says.prefetch", saves=format_time(off["time"] - on["time"]), of=format_time(off["time"])),
        t("sharding.says.level", on=size(on), off=size(off), exposed=format_time(on["share"])),
        t("sharding.says.keep", on=sends(on), keep=sends(keep), level=size(keep)),
    ]
    return ("" if get_language() == "zh" else " ").join(lines)


def build_script(choice: ShardingChoice) -> str:
    """Python that prints the same figures.

    Args:
        choice: The step and the strategies that are chosen.
    """
    step = {"micro_batch": choice.samples, "dtype": "bfloat16"}
    calls = [
        snippets.write_call(
            "cs.training_step",
            repr(choice.model),
            "m",
            f"parallel={snippets.write_call('cs.fsdp', **options)}",
            **step,
        )
        for options in VARIANTS.values()
    ]
    return snippets.write_script(f"m = {snippets.write_machine(choice)}", *(f"print({call})" for call in calls))


def build_command(choice: ShardingChoice) -> str:
    """The commands that print the same figures.

    Args:
        choice: The step and the strategies that are chosen.
    """
    words = ["collsim", "train", choice.model, *snippets.write_machine_words(choice)]
    words += ["--micro-batch", str(choice.samples), "--dtype", "bfloat16", "--parallel"]
    strategies = [snippets.write_call("fsdp", **options) for options in VARIANTS.values()]
    return "\n".join(snippets.join_words([*words, strategy]) for strategy in strategies)


def build_megatron_options(choice: ShardingChoice) -> str:
    """The command line of Megatron-LM that shards so.

    Args:
        choice: The step and the strategies that are chosen.

    Raises:
        CollsimError: Megatron-LM has no options for such a split.
    """
    from collsim.train.parallel.megatron_command import build_megatron_command

    topology = build_topology(choice)
    nodes = topology.facts.nodes
    batch = choice.samples * topology.ranks
    return build_megatron_command(
        cs.fsdp(), cs.model(choice.model), batch, choice.samples, nodes=nodes, gpus=topology.ranks // nodes
    )
