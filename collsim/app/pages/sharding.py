"""Sharding: one step under FSDP with prefetch, without it, and with weights that stay, on one clock; the water level of
what is gathered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import streamlit as st

import collsim as cs
from collsim.errors import CollsimError, Words
from collsim.train.model_families import models
from collsim.units import format_time
from collsim.viz.sentences.words import format_decimal_bytes
from collsim.viz.splits.lanes import build_lanes_source, build_sharding_runner, get_formulas

from ..jobs.worker import ReportProgress
from ..scenario import snippets
from ..scenario.address import PageAddress, Word
from ..scenario.choice import MACHINE_WORDS, WORDS, PlaceChoice, count, one_of
from ..scenario.mistakes import sentence
from ..scenario.outcome import build_place, quietly
from ..shell import codebox
from ..shell.address import leave, remembered
from ..shell.codebox import CodePart
from ..shell.controls import choose, number
from ..shell.notes import complain, mistake, part, title
from ..shell.page import page
from ..shell.player import look
from ..shell.results import latest
from ..shell.session import language, session, t
from ..shell.sidebar import where
from .train.tabs import tabs

PAGE = "sharding"
#: The runners, each with what `cs.fsdp` is told.
WAYS: dict[str, dict[str, Any]] = {
    "on": {},
    "off": {"prefetch": False},
    "keep": {"reshard_after_forward": False},
}
MOST_SAMPLES = 64


@dataclass(frozen=True)
class ShardingChoice(PlaceChoice):
    """A step under FSDP; `samples` of a GPU."""

    place: str = "dgx-h100"
    model: str = "llama2-7b"
    samples: int = 1


PLAIN = ShardingChoice()


@cache
def list_models() -> list[str]:
    """Models that are made of blocks, which FSDP gathers one by one."""
    return [name for name, model in models().items() if model.has_blocks]


ADDRESS = PageAddress(
    PLAIN,
    (
        Word("model", one_of("model", list_models)),
        Word("samples", count("samples", MOST_SAMPLES)),
        Word("machine", one_of("machine", lambda: cs.topology.machines()), "place"),
        *(WORDS[name] for name in MACHINE_WORDS),
    ),
)


@dataclass(frozen=True)
class ShardingRace:
    """What the page draws: runners, bytes of all weights, those that cannot run, and what there is to say of them; the
    PyTorch script of the first that runs, and the lines that start it."""

    runners: tuple[dict[str, Any], ...]
    whole: float
    failed: tuple[tuple[str, Words], ...]
    torch: tuple[str, str, str] | None = None


def steps(choice: ShardingChoice, report_progress: ReportProgress = quietly) -> dict[str, Any]:
    """Each runner's step, or why it cannot be."""
    place, out = build_place(choice), dict[str, Any]()
    for number_, (name, options) in enumerate(WAYS.items(), 1):
        try:
            out[name] = cs.training_step(
                choice.model, place, parallel=cs.fsdp(**options), micro_batch=choice.samples, dtype="bfloat16"
            )
        except CollsimError as error:
            out[name] = error
        report_progress("run", number_ / len(WAYS))
    return out


def raced(choice: ShardingChoice, report_progress: ReportProgress = quietly) -> ShardingRace:
    """Run them; what is drawn of each."""
    runners, failed, whole = [], [], 0.0
    torch: tuple[str, str, str] | None = None
    for name, made in steps(choice, report_progress).items():
        if isinstance(made, CollsimError):
            failed.append((name, made.sentence))
            continue
        runners.append(build_sharding_runner(name, made))
        whole = get_formulas(made).weight_bytes
        torch = torch or (made.script(), made.launch_lines(), made.launch_lines("tcp://"))
    return ShardingRace(tuple(runners), whole, tuple(failed), torch)


def expected(choice: ShardingChoice) -> float:
    """Seconds that `raced` should take."""
    return 0.6 + 3 * 1e-3 * len(cs.model(choice.model).layers)


@page(PAGE, 18, address=ADDRESS, moment=("t",), listed=False)
def draw() -> None:
    """Draw the page: what and where in the sidebar, the three ways on one clock."""
    choice: ShardingChoice = remembered(PAGE)
    with st.sidebar:
        part(t("train.what"))
        model = choose("sharding_model", t("train.model"), {name: name for name in list_models()}, choice.model)
        samples = number("sharding_samples", choice.samples, 1, MOST_SAMPLES, t("train.samples"))
        place = where(choice.where)
    choice = replace(choice, model=model, samples=samples, **place.place_words)
    st.html(title(t("page.sharding"), t("sharding.below")))
    tabs(PAGE)
    leave(choice)
    complain(session().complaints)
    found = latest(raced, choice, expected=expected, compiled=False, otherwise=(PLAIN,))
    if found is not None:
        _card(*found)
    torch = codebox.torch_of_step(found[0].torch) if found is not None and found[0].torch else []
    with st.expander(t("code.title")):
        codebox.draw(
            [CodePart(t("python"), script(choice), "python"), *torch],
            [CodePart(t("cli"), command(choice)), codebox.megatron(partial(megatron, choice))],
        )


def _card(made: ShardingRace, drawn: tuple[ShardingChoice]) -> None:
    for name, why in made.failed:
        mistake(t("sharding.failed", name=t(f"sharding.{name}"), why=sentence(why, language())))
    if not made.runners:
        return
    names = [(t(f"sharding.{run['way']}"), t(f"sharding.{run['way']}.note")) for run in made.runners]
    data = {
        "id": repr(drawn),
        "kind": "sharding",
        "runners": [{**run, "name": a, "note": b} for run, (a, b) in zip(made.runners, names, strict=True)],
        "said": told(made),
        "most": max([made.whole, *(run["most"]["both"] for run in made.runners)]),
        "whole": made.whole,
        **look(),
        "t": session().start.get("t"),
    }
    mount = st.components.v2.component("collsim_lanes", js=build_lanes_source())
    mount(key="sharding", data=data)


def told(made: ShardingRace) -> str:
    """What prefetch saves and costs, and what it takes not to give weights back."""
    runs = {run["way"]: run for run in made.runners}
    if runs.keys() != WAYS.keys():
        return ""
    on, off, keep = (runs[name] for name in WAYS)

    def size(run: dict[str, Any]) -> str:
        return format_decimal_bytes(run["most"]["gathered"])

    def sends(run: dict[str, Any]) -> str:
        return format_decimal_bytes(next(row["drawn"] for row in run["figures"] if row["name"] == "sends"))

    lines = [
        t("sharding.says.prefetch", saves=format_time(off["time"] - on["time"]), of=format_time(off["time"])),
        t("sharding.says.level", on=size(on), off=size(off), exposed=format_time(on["share"])),
        t("sharding.says.keep", on=sends(on), keep=sends(keep), level=size(keep)),
    ]
    return ("" if language() == "zh" else " ").join(lines)


def script(choice: ShardingChoice) -> str:
    """Python that prints the same figures."""
    lines = ["import collsim as cs", "", f"m = {snippets.place(choice.where)}"]
    for options in WAYS.values():
        way = f"cs.fsdp({', '.join(f'{k}={v}' for k, v in options.items())})"
        more = f'micro_batch={choice.samples}, dtype="bfloat16"'
        lines.append(f'print(cs.training_step("{choice.model}", m, parallel={way}, {more}))')
    return "\n".join(lines).replace("'", '"') + "\n"


def command(choice: ShardingChoice) -> str:
    """The commands that print the same figures."""
    words = ["collsim", "train", choice.model, *snippets.place_words(choice.where)]
    words += ["--micro-batch", str(choice.samples), "--dtype", "bfloat16", "--parallel"]
    ways = [f"fsdp({', '.join(f'{k}={v}' for k, v in options.items())})" for options in WAYS.values()]
    return "\n".join(" ".join(map(snippets.quoted, [*words, way])) for way in ways)


def megatron(choice: ShardingChoice) -> str:
    """The command line of Megatron-LM that shards so. Raises CollsimError for what it has not."""
    from collsim.train.parallel.megatron_command import build_megatron_command as line

    place = build_place(choice)
    nodes = int(place.facts.get("nodes", 1))
    batch = choice.samples * place.ranks
    return line(cs.fsdp(), cs.model(choice.model), batch, choice.samples, nodes=nodes, gpus=place.ranks // nodes)
