"""A step that is split in several ways, and every legal split of it, for the page Split. No Streamlit here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import collsim as cs
from collsim.errors import CollsimError, Words
from collsim.locale import Text
from collsim.train import StepTrace
from collsim.train.model_families import models
from collsim.train.parallel.combined_split import as_split
from collsim.train.parallel.strategy_parser import parse_strategy
from collsim.train.step_explanation import describe_experts, describe_waits
from collsim.train.workload.transformer import RECOMPUTE
from collsim.units import parse_bytes
from collsim.viz.splits.split_document import build_split_document, build_splits_table

from ...jobs.job_spec import job, report_progress
from ...scenario.address_parameters import PageAddress, list_words
from ...scenario.choice import declare_menu, declare_number, declare_quantity
from ...scenario.pytorch import StepCode, write_step_code

TOP = 10
USUAL_SPLIT = "tensor(8, sequence=True) * pipeline(4) * zero(1, reduce_dtype='float32')"
#: More than any GPU has: what does not fit is run so, to show what it would be.
ENDLESS = "1e18B"


def read_split(text: str) -> str:
    """A split as collsim writes it.

    Args:
        text: The split, as a person writes it.

    Raises:
        CollsimError: It is none.
    """
    return parse_strategy(text).label


def _read_memory(text: str) -> str:
    """Bytes of a GPU as they were written; no bytes at all for its own."""
    if parse_bytes(text, "memory"):
        return text
    return ""


@cache
def list_models() -> list[str]:
    """Models whose layers say how they are partitioned."""
    return [name for name, model in models().items() if model.has_partitions]


@dataclass(frozen=True)
class SplitChoice:
    """What is trained where, and the split that is open.

    Attributes:
        model: Name of the model.
        machine: Name of the machine.
        nodes: Number of nodes.
        batch: Samples of a step, over all GPUs.
        memory: Memory of a GPU, as text; "" is its own.
        split: The split that is open, as text.
        micro: Samples of a microbatch.
        recompute: Which activations are computed again.
    """

    model: str = declare_menu("llama2-70b", "model", list_models, text="train.model")
    machine: str = declare_menu("dgx-h100", "machine", cs.machines, text="place", names="machine")
    nodes: int = declare_number(16, "nodes", 2048, known=(1, 2, 4, 8, 16, 32, 64, 128, 256), text="nodes")
    batch: int = declare_number(256, "batch", 65536, known=(64, 128, 256, 512, 1024, 1536, 2048, 4096))
    memory: str = declare_quantity("", _read_memory, ("", "16GB", "24GB", "40GB", "80GB", "141GB"))
    split: str = declare_quantity(USUAL_SPLIT, read_split, (), limit=200)
    micro: int = declare_number(1, "micro", 64)
    recompute: str = declare_menu("selective", "recompute", lambda: RECOMPUTE)


ADDRESS = PageAddress(SplitChoice(), list_words(SplitChoice))


def request(choice: SplitChoice) -> dict[str, Any]:
    """Keywords of `training_step` for the split that is open.

    Args:
        choice: What is chosen on the page Split.
    """
    return {
        "parallel": parse_strategy(choice.split),
        "batch": choice.batch,
        "micro_batch": choice.micro,
        "dtype": "bfloat16",
        "recompute": choice.recompute,
    }


def request_step(choice: SplitChoice) -> StepTrace:
    """The step that is open.

    Args:
        choice: What is chosen on the page Split.

    Raises:
        CollsimError: for what cannot be, and for what does not fit with what would
    """
    options = request(choice) | ({"memory": choice.memory} if choice.memory else {})
    return cs.training_step(choice.model, cs.machine(choice.machine, nodes=choice.nodes), **options)


@dataclass(frozen=True)
class SplitView:
    """What the page draws of the step that is open.

    Attributes:
        figures: As in `StepTrace.row`.
        waits: What GPUs wait for on the network; "" where they do not.
        document: What the lanes draw.
        torch: The PyTorch script with the lines that start it, or why there is none.
        refusal: Why the step does not fit, where it is run as if GPUs had room for it.
        experts: What uneven routing and capacities do; "" where nothing.
    """

    figures: dict[str, Any]
    waits: Text
    document: dict[str, Any]
    torch: StepCode
    refusal: Words | None = None
    experts: Text = ("", "")


def estimate_step(choice: SplitChoice) -> float:
    """Seconds that `show_step` should take: as many tasks as there are passes.

    Args:
        choice: What is chosen on the page Split.
    """
    pipe = as_split(parse_strategy(choice.split)).pipeline
    return 0.5 + 6e-4 * choice.batch / max(1, choice.nodes) * pipe.interleave * pipe.size / 4


@job(estimate_step)
def show_step(choice: SplitChoice) -> SplitView:
    """Run the step that is open.

    Args:
        choice: What is chosen on the page Split.

    Raises:
        CollsimError: for what cannot be, whatever the memory
    """
    reason: Words | None = None
    try:
        trace = request_step(choice)
    except CollsimError as error:
        trace, reason = request_step(replace(choice, memory=ENDLESS)), error.sentence
    report_progress("run", 0.7)
    waits: Text = ("", "")
    if trace.exposed:
        waits = describe_waits(trace)
    room = None
    if choice.memory:
        room = float(parse_bytes(choice.memory, "memory"))
    document, torch = build_split_document(trace, room), write_step_code(trace)
    return SplitView(trace.row(), waits, document, torch, reason, describe_experts(trace) or ("", ""))


def build_opened_row(choice: SplitChoice, step: SplitView) -> dict[str, object]:
    """The step that is open, as a row of the table beside it; its time and memory are those of its run.

    Args:
        choice: What is chosen on the page Split.
        step: The step that is open.
    """
    split = as_split(parse_strategy(choice.split))
    sizes = dict(step.document["axes"])
    return {
        **{name: sizes[name] for name in ("tp", "cp", "pp", "dp")},
        "ep": step.document["expert"],
        "interleave": split.pipeline.interleave,
        "micro_batch": choice.micro,
        "data": "" if split.data_strategy is None else split.data_strategy.label,
        "recompute": choice.recompute,
        "time": step.document["time"],
        "memory": step.document["memory"]["total"],
        "fits": step.refusal is None,
    }


@job(lambda model, machine, nodes, batch, memory: 10.0 + 0.1 * nodes)
def search_splits(model: str, machine: str, nodes: int, batch: int, memory: str) -> dict[str, object]:
    """Every legal split, as a table; the best are timed.

    Args:
        model: Name of the model.
        machine: Name of the machine.
        nodes: Number of nodes.
        batch: Samples of a step on all GPUs.
        memory: Bytes of a GPU's memory as a text with a unit; "" for what the GPU has.
    """
    topology = cs.machine(machine, nodes=nodes)
    frame = cs.best_parallel(
        model,
        topology,
        batch=batch,
        memory=memory or None,
        top=TOP,
        every=True,
        progress=lambda done, most: report_progress("run", 0.9 * done / most) if done % 50 == 0 else None,
    )
    return build_splits_table(frame)
