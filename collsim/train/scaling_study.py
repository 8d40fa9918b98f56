"""How a step scales: the same work on more nodes (strong), or work that grows with them (weak); and what the whole job
loses to one slow GPU or one broken cable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, Unpack

import numpy as np

from ..errors import CollsimError, Sentence, require_list, require_word
from ..errors.arguments import check_arguments
from ..errors.dependencies import pandas as pd
from ..topology import Topology
from ..topology.machines import machine as machine_named
from ..units import parse_count
from .compute.compute_costs import add_kernels
from .parallel.strategy import ParallelStrategy
from .step_request import ScalingOptions, get_collective_model, training_step
from .step_trace import StepTrace
from .timing.link_footprints import Footprints
from .workload.model import Model

SCALING_KINDS = ("strong", "weak")
#: How many times as long a straggler computes, unless said.
STRAGGLER_FACTORS = (1.1, 1.25, 1.5, 2.0)
#: Kinds of link on a board, which no cable carries.
_INSIDE = ("memory", "upi", "xgmi", "c2c")
#: Makes a Topology of so many nodes.
MachineFactory = Callable[[int], Topology]


@check_arguments
def measure_scaling(
    model: Model | str,
    machine: str | MachineFactory,
    *,
    parallel: ParallelStrategy | str,
    nodes: Sequence[int] = (1, 2, 4, 8, 16),
    batch: int,
    kind: str = "weak",
    **options: Unpack[ScalingOptions],
) -> pd.DataFrame:
    """A step on more and more nodes of a machine: a row for each number of nodes, with nodes, gpus, batch, time (s),
    samples_per_second, exposed, bubble (s), efficiency_node, efficiency_gpu, and error where it cannot be.

    `efficiency_node` is samples per second and GPU against those of the first row's nodes; `efficiency_gpu` against one
    GPU by itself with its share of the first row's batch, NaN where the model does not fit on one. Both are 1 where
    doubling the GPUs doubles what they do.

    Args:
        model: a Model, or a name of the catalogue.
        machine: its name, or a function that makes a Topology of so many nodes.
        parallel: how the step is split on every number of nodes, as `training_step` takes it.
        nodes: numbers of nodes, a row each.
        batch: samples of the first row's step; of all rows' with `kind="strong"`. Weak: as many more as GPUs.
        kind: `weak`, the batch grows with the nodes, or `strong`, it stays.
        options: what `training_step` takes besides.

    Returns:
        The table.

    Raises:
        CollsimError: For an unknown kind, and where the first row cannot be.

    Examples:
        >>> import collsim as cs
        >>> table = cs.train.measure_scaling("resnet18", "dgx-a100", parallel=cs.ddp(), nodes=[1, 2], batch=256)
        >>> table[["nodes", "gpus", "batch"]]
           nodes  gpus  batch
        0      1     8    256
        1      2    16    512
    """
    require_word("kind of scaling", kind, SCALING_KINDS)
    counts = _parse_nodes(nodes)
    first = parse_count(batch, "batch")
    options["compute"] = add_kernels(options.get("compute"))  # of every row: one GPU alone may have others
    rows: list[dict[str, Any]] = []
    for count in counts:
        if kind == "strong":
            samples = first
        else:
            # Weak scaling: samples a GPU stay as in the first row.
            samples = first * count // counts[0]
        row, error = _time_row(model, _build_machine(machine, count), samples, count, parallel, options)
        if error is not None and not rows:
            raise error
        rows.append(row)
    # One GPU by itself gets the share that a GPU had in the first row.
    _add_efficiency(rows, _measure_one_gpu(model, machine, first // rows[0]["gpus"], options))
    frame = pd.DataFrame(rows)
    return frame[[*(name for name in frame if name != "error"), "error"]]


def _parse_nodes(nodes: Sequence[int]) -> list[int]:
    require_list("nodes", nodes, "[1, 2, 4]")
    counts = sorted({parse_count(n, "nodes") for n in nodes})
    if not counts:
        raise CollsimError("scaling needs at least one number of nodes; the list given is empty")
    return counts


def _add_efficiency(rows: list[dict[str, Any]], alone: float) -> None:
    """Samples per second and GPU against the first row's, and against `alone`, those of one GPU by itself."""
    samples_per_gpu = rows[0]["samples_per_second"] / rows[0]["gpus"]
    for row in rows:
        per_gpu = row["samples_per_second"] / row["gpus"]
        row["efficiency_node"], row["efficiency_gpu"] = per_gpu / samples_per_gpu, per_gpu / alone


def _build_machine(machine: str | MachineFactory, nodes: int) -> Topology:
    if callable(machine):
        topology = machine(nodes)
    else:
        topology = machine_named(machine, nodes=nodes)
    if not isinstance(topology, Topology):
        raise CollsimError(
            "machine(nodes={nodes}) returned {result!r}, which is no Topology", nodes=nodes, result=topology
        )
    return topology


def _time_row(
    model: Model | str,
    topology: Topology,
    batch: int,
    nodes: int,
    parallel: ParallelStrategy | str,
    options: Mapping[str, Any],
) -> tuple[dict[str, Any], CollsimError | None]:
    """A row, and why there is none of its figures."""
    row: dict[str, Any] = {"nodes": nodes, "gpus": topology.ranks, "batch": batch}
    none = dict.fromkeys(("time", "samples_per_second", "exposed", "bubble"), float("nan"))
    try:
        t = training_step(model, topology, parallel=parallel, batch=batch, **options)
    except CollsimError as error:
        return {**row, **none, "error": str(error)}, error
    figures = {"time": t.time, "samples_per_second": t.samples_per_second, "exposed": t.exposed, "bubble": t.bubble}
    return {**row, **figures, "error": ""}, None


def _measure_one_gpu(
    model: Model | str, machine: str | MachineFactory, samples: int, options: Mapping[str, Any]
) -> float:
    """Samples per second of one GPU; NaN where the step does not fit on it."""
    from .parallel.ddp_strategy import ddp

    rest = {name: value for name, value in options.items() if name not in ("micro_batch", "ranks", "memory")}
    topology = _build_machine(machine, 1)
    try:
        t = training_step(model, topology, parallel=ddp(), micro_batch=max(1, samples), ranks=[0], **rest)
    except CollsimError:
        return float("nan")
    return t.samples_per_second


@check_arguments
def time_faults(trace: StepTrace, slow: Sequence[float] = STRAGGLER_FACTORS) -> pd.DataFrame:
    """What the whole job loses where one GPU computes longer, or one cable is gone: a row for each.

    The slow one is the first GPU; of the cables that the step sends over, the one of each kind with most bytes is gone,
    in both directions, and what used it takes another way where there is one. `attrs["stops"]` has a sentence in both
    languages for each row that stops, by its name, and `attrs["cables"]` the kind and the name of each cable.

    Args:
        trace: of `training_step`.
        slow: factors by which the slow GPU computes longer, a row each.

    Returns:
        Columns what (slow or cable), name, factor (of a slow GPU, else NaN), time (s), more (share of the step's time),
        own (s that the slow GPU alone computes longer; NaN of a cable), lost (GPU-seconds a step, of all GPUs
        together), and error where it stops.

    Raises:
        CollsimError: For what is no StepTrace, and where `slow` is no list of numbers.

    Examples:
        >>> import collsim as cs
        >>> network = cs.topology.switch(4, bandwidth="25GB/s", alpha="1us")
        >>> step = cs.training_step("resnet18", network, parallel=cs.ddp(), batch=128, compute="A100")
        >>> table = cs.train.time_faults(step, slow=[1.5])
        >>> table.what.tolist()
        ['slow', 'cable']
    """
    if not isinstance(trace, StepTrace):
        raise CollsimError("losses wants a StepTrace, got {trace!r:.200}; training_step makes one", trace=trace)
    require_list("slow", slow, "[1.1, 1.5]")
    for factor in slow:
        if not isinstance(factor, Real) or isinstance(factor, bool):
            raise CollsimError("slow: {factor!r} is no number; give how many times as long it computes", factor=factor)
    # All GPUs of a lane do the same, so that any of them stands for the slow one.
    rank = trace.step.lanes[0][0]
    computing = trace.computing
    stops: dict[str, Sentence] = {}
    rows = [
        _time_loss(
            trace,
            stops,
            "slow",
            f"rank {rank}",
            {"slow": {rank: factor}},
            factor=float(factor),
            own=computing * (factor - 1),
        )
        for factor in slow
    ]
    cables = _list_busiest_cables(trace)
    rows += [
        _time_loss(trace, stops, "cable", name, {"machine": ends}, factor=float("nan"), own=float("nan"))
        for name, (*_, ends) in cables.items()
    ]
    table = pd.DataFrame(rows)
    table.attrs["stops"] = stops
    table.attrs["cables"] = {name: (kind, link) for name, (kind, link, _) in cables.items()}
    return table


def _time_loss(
    trace: StepTrace, stops: dict[str, Sentence], what: str, name: str, change: dict[str, Any], **known: float
) -> dict[str, Any]:
    try:
        if what == "cable":
            change = {"machine": trace.topology.without_link(*change["machine"])}
        time = trace.what_if(**change).time
    except CollsimError as error:
        # A network without the cable may not be connected; then the job stops, which is a result. The row has the name
        # of the cable, so the sentence has that of the network as it was.
        values = error.sentence.values
        if "name" in values:
            values = values | {"name": trace.topology.name}
        stops[name] = Sentence(error.sentence.key, **values)
        return {
            "what": what,
            "name": name,
            "time": float("nan"),
            "more": float("nan"),
            **known,
            "lost": float("nan"),
        } | {"error": str(error)}
    more, lost = time / trace.time - 1, (time - trace.time) * trace.step.ranks
    return {"what": what, "name": name, "time": time, "more": more, **known, "lost": lost, "error": ""}


def _list_busiest_cables(trace: StepTrace) -> dict[str, tuple[str, str, tuple[int, int]]]:
    """Of each kind of link between devices the one that the step's collectives put most bytes on, the first of those
    that carry as many: by its name in the table its kind, its name and its two devices."""
    footprints = Footprints([trace.step], get_collective_model(trace.request))
    links, carried = trace.topology.links, footprints.sum_link_bytes(trace.step)[: len(trace.topology.links)]
    most: dict[str, int] = {}
    for k in np.flatnonzero(carried).tolist():
        kind = links.kind(k)
        if kind not in _INSIDE and (kind not in most or carried[k] > carried[most[kind]]):
            most[kind] = k
    cables = {}
    for kind, k in most.items():
        link = trace.topology.link_name(k)
        cables[f"{kind}, {link}"] = kind, link, (int(links.src[k]), int(links.dst[k]))
    return cables
