"""`train`: one step of training, how long it takes, and where the time goes; `upgrades`: what to buy first;
`goodput`: what failures cost; `inference`: what a prompt and a token take."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import collsim as cs
from collsim.dtypes import find_dtype_name
from collsim.errors import CollsimError, require_word
from collsim.purchases.part_prices import parse_price_texts
from collsim.train.compute.compute_costs import FUSED, parse_gpu
from collsim.train.compute.gpu_speeds import DTYPES

from .options import CountOrRanks, Json, Language, MachineSpec, Prices, Progress, Size, TableOutput, parse_ranks
from .output import print_json, show
from .shell import command
from .streams import print_note

if TYPE_CHECKING:
    from collsim.purchases import Upgrades
    from collsim.train.parallel.strategy import ParallelStrategy

_BACKENDS = (
    "is there NCCL? python -c 'import torch, torch.distributed as d; print(d.is_nccl_available(), "
    "d.is_nccl_available() and torch.cuda.nccl.version())'; without a GPU: --dist-backend gloo"
)
_OPPOSITES = {"asynchronous": "synchronous"}  # options that say the opposite of the keyword in Python


@dataclass(frozen=True)
class Splitting:
    """How a step is split over GPUs."""

    parallel: str = "ddp"
    bucket: str | None = None
    hook: str | None = None
    overlap: Annotated[bool | None, typer.Option("--overlap/--no-overlap")] = None
    view: Annotated[bool | None, typer.Option("--view")] = None
    find_unused: Annotated[bool | None, typer.Option("--find-unused")] = None
    no_sync: Annotated[bool | None, typer.Option("--no-sync/--always-sync")] = None
    nccl: Annotated[bool | None, typer.Option("--nccl/--no-nccl")] = None
    servers: int | None = None
    on: str | None = None
    asynchronous: Annotated[bool | None, typer.Option("--asynchronous")] = None
    accumulate: int | None = None

    def build_strategy(self) -> ParallelStrategy:
        """The value that `training_step` takes: a name with the options of its function, or a product in Python."""
        from collsim.train.parallel.strategy_parser import STRATEGIES, parse_strategy

        name = self.parallel.replace("-", "_")
        options = {key: value for key, value in vars(self).items() if value is not None and key != "parallel"}
        if not options:
            return parse_strategy(name if name in STRATEGIES else self.parallel)
        for key in options:
            if name not in STRATEGIES:
                raise CollsimError("--{key}: write it inside --parallel {name!r}", key=key.replace("_", "-"),
                                   name=self.parallel)  # fmt: skip
            if _OPPOSITES.get(key, key) not in signature(STRATEGIES[name]).parameters:
                raise CollsimError("--{key} is no option of --parallel {name}", key=key.replace("_", "-"), name=name)
        for key in options.keys() & _OPPOSITES.keys():
            options[_OPPOSITES[key]] = not options.pop(key)
        return STRATEGIES[name](**options)


@dataclass(frozen=True)
class StepOptions:
    """What is trained in a step, and how it is timed."""

    batch: int | None = None
    micro_batch: int | None = None
    dtype: str = "float32"
    compute: str | None = None
    optimizer: str = "adam"
    interference: float | None = None
    network: str = "alone"
    recompute: str = "none"
    memory: str | None = None
    memory_format: str | None = None
    optimizer_kernels: str | None = None
    host_launch: str | None = None

    compile: Annotated[
        str | None,
        typer.Option(help="Operations of eager PyTorch: mode of torch.compile: none, default or reduce-overhead."),
    ] = None

    def to_arguments(self, network: cs.Topology) -> dict[str, Any]:
        """Collect the keywords of `training_step`.

        Args:
            network: The machine, whose GPU computes where `--compute` names none.

        Returns:
            The keywords.

        Raises:
            CollsimError: Without a number of samples.
        """
        if self.batch is None and self.micro_batch is None:
            raise CollsimError("say how many samples: --batch 4096 (over all GPUs), or --micro-batch 32 (of one)")
        arguments = dict(vars(self))
        names = ("memory_format", "optimizer_kernels", "host_launch", "compile")
        eager = {name: arguments.pop(name) for name in names}
        chosen = {name: value for name, value in eager.items() if value is not None}
        if chosen:
            words = parse_gpu(self.compute)
            if words and words.kernels == FUSED:
                message = (
                    "--compute {compute} has no operations of PyTorch to choose: leave out --{option}, or say eager"
                )
                option = next(iter(chosen)).replace("_", "-")
                raise CollsimError(message, compute=self.compute, option=option)
            gpu = (words.name if words else self.compute) or str(getattr(network.facts.machine, "gpu", ""))
            arguments["compute"] = cs.train.get_eager_speed(gpu, self.dtype, **chosen)
        return arguments


def find_model(word: str, attention: str | None = None, weights: str | None = None) -> cs.train.Model:
    """Find a model of the catalogue, or of a table of layers.

    Args:
        word: Its name, or the path of a CSV table.
        attention: sdpa or eager; None: as the model has it.
        weights: Type of the weights, their gradients and the optimizer's state; None: as the model has them.

    Returns:
        The model.
    """
    if word.endswith(".csv"):
        model = cs.train.Model.from_csv(word)
    elif attention is None:
        model = cs.model(word)
    else:
        model = cs.model(word, flash=require_word("attention", attention, ("sdpa", "eager")) == "sdpa")
    if weights is None:
        return model
    return model.to(require_word("weights", find_dtype_name(weights), DTYPES))


@command()
def train(
    model: str,
    machine_spec: MachineSpec,
    splitting: Splitting,
    options: StepOptions,
    ranks: CountOrRanks = None,
    attention: str | None = None,
    weights: str | None = None,
    what_if: list[str] | None = None,
    first_step: Annotated[bool, typer.Option("--first-step")] = False,
    language: Language = "en",
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    pytorch: Annotated[bool, typer.Option("--pytorch")] = False,
    as_json: Json = False,
) -> None:
    """One step of training: how long, what of it waits for the network, memory, and why."""
    from collsim.train.step_export import build_record
    from collsim.train.step_request import STEADY_STEP

    network = machine_spec.build_network()
    trace = cs.training_step(
        find_model(model, attention, weights),
        network,
        parallel=splitting.build_strategy(),
        ranks=parse_ranks(ranks),
        step=1 if first_step else STEADY_STEP,
        **options.to_arguments(network),
    )
    changes = {word: trace.what_if(**_parse_change(word)) for word in what_if or ()}
    if out is not None:
        trace.save(out)
    # The script alone goes to standard output, so that it can be redirected to a file.
    if pytorch:
        print(trace.script(), end="")
        print_note(f"start it:\n{trace.launch_lines()}\n{_BACKENDS}")
        return
    if as_json:
        record = build_record(trace)
        if changes:
            record["what_if"] = {word: build_record(other) for word, other in changes.items()}
        print_json(record)
        return
    _show_step(trace, changes, language)


def _show_step(trace: cs.train.StepTrace, changes: dict[str, cs.train.StepTrace], language: str) -> None:
    """A step for people: what it took and why, what each change would do, and the tables."""
    from collsim.train.step_explanation import describe_change

    print(trace)
    print(trace.explain(language))
    print(trace.interval.sentence.text(language))
    for word, other in changes.items():
        print(f"{word}: {describe_change(other, language)}")
    show(_list_collectives(trace), "collectives")
    show(_list_exposed_parts(trace), "what the network costs")


#: Commas between changes, and none between the arguments of a call: of those what follows closes a bracket first.
_OUTSIDE = re.compile(r",(?![^()]*\))")
#: Words of options, of which `none` is one.
_WORDS = ("optimizer", "recompute")


def _parse_change(word: str) -> dict[str, object]:
    """`network=2` as a keyword of what_if; several are joined by commas. Raises CollsimError for what is none."""
    options: dict[str, Any] = {}
    for part in _OUTSIDE.split(word):
        name, equals, text = part.partition("=")
        if not equals or not name.strip() or not text.strip():
            message = "--what-if {word!r}: {part!r} is no change; write name=value, for example network=2"
            raise CollsimError(message, word=word, part=part)
        key, value = name.strip().replace("-", "_"), text.strip()
        if key == "parallel":
            options[key] = Splitting(parallel=value).build_strategy()
        elif key in _WORDS:
            options[key] = value
        else:
            options[key] = _parse_value(value)
    return options


def _parse_value(text: str) -> Any:
    """A word of the command line as the value that it stands for."""
    known = {"true": True, "false": False, "none": None}
    if text.lower() in known:
        return known[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


#: A collective, and s when it begins and ends.
_Ran = tuple[cs.train.StepTask, float, float]
#: So many collectives are listed one by one; more than that by what they have in common.
_LISTED = 24


def _list_exposed_parts(trace: cs.train.StepTrace) -> list[dict[str, object]]:
    """The rows of `StepTrace.split_exposed` that cost anything, for people."""
    return [
        {
            "for": row["strategy"],
            "collective": row["kind"],
            **_describe_collective(row),
            "count": row["count"] or "",
            "exposed": cs.format_time(row["exposed"]),
        }
        for row in trace.split_exposed().to_dict("records")
        if row["exposed"] > 1e-6 * trace.time
    ]


def _describe_collective(row: Mapping[Hashable, object]) -> dict[str, str]:
    """The size of a collective, which ranks run it, and how many such groups do so at once; empty for interference."""
    ranks, groups = row["ranks"], row["groups"]
    if not isinstance(ranks, tuple) or not ranks:
        return {"bytes": "", "groups": ""}
    words = f"ranks {cs.units.format_numbers(ranks)}"
    if groups != 1:
        words = f"{groups} like {words}"
    return {"bytes": cs.format_bytes(int(str(row["nbytes"]))), "groups": words}


def _list_collectives(trace: cs.train.StepTrace) -> list[dict[str, object]]:
    """A row for each collective of the last microbatch; where they are many, for those that are alike: of one kind and
    size, and one name up to its numbers."""
    last = max(task.microbatch for task in trace.step.tasks)
    listed = [
        (task, float(begin), float(end))
        for task, begin, end in zip(trace.step.tasks, trace.begin, trace.end, strict=True)
        if not task.is_compute and task.microbatch == last
    ]
    if len(listed) <= _LISTED:
        named = ((f"{task.name} {task.kind}", task.nbytes, begin, end) for task, begin, end in listed)
        return [
            {"collective": name, **_format_figures(nbytes, begin), "time": cs.format_time(end - begin)}
            for name, nbytes, begin, end in named
        ]
    alike: dict[tuple[str, str, int], list[_Ran]] = {}
    for run in listed:
        task = run[0]
        alike.setdefault((re.sub(r"\d+", "", task.name), task.kind, task.nbytes), []).append(run)
    return [_build_row(same) for same in alike.values()]


def _build_row(same: list[_Ran]) -> dict[str, object]:
    """A row for collectives that are alike: how many they are, when the first begins, and the least and most that one
    takes."""
    names = sorted({task.name for task, _, _ in same}, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])
    task, many = same[0][0], sum(task.repeats for task, _, _ in same)
    times = [(end - begin) / task.repeats for task, begin, end in same]
    name = " … ".join(dict.fromkeys((names[0], names[-1])))
    range_of_times = " to ".join(dict.fromkeys((cs.format_time(min(times)), cs.format_time(max(times)))))
    figures = _format_figures(task.nbytes, min(begin for _, begin, _ in same))
    return {"collective": f"{name} {task.kind}", "times": many, **figures, "each": range_of_times}


def _format_figures(nbytes: int, begin: float) -> dict[str, str]:
    return {"bytes": cs.format_bytes(nbytes), "begin": cs.format_time(begin)}


@command()
def train_search(
    model: str,
    machine_spec: MachineSpec,
    batch: Annotated[int, typer.Option()],
    memory: str | None = None,
    top: int = 10,
    dtype: str = "bfloat16",
    compute: str | None = None,
    context_sizes: Annotated[list[int] | None, typer.Option("--context-sizes", "--context")] = None,
    expert_sizes: Annotated[list[int] | None, typer.Option("--expert-sizes", "--expert")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    as_json: Json = False,
) -> None:
    """Every legal way to split a step over the machine's GPUs: the best, how long they take and what they hold."""
    known = find_model(model)
    frame = cs.best_parallel(
        known,
        machine_spec.build_network(),
        batch=batch,
        memory=memory,
        top=top,
        dtype=dtype,
        compute=compute,
        # All splits are kept where a file is written; the screen gets the best.
        every=out is not None,
        out=out,
        progress=not as_json,
        context_sizes=tuple(context_sizes or (1,)),
        expert_sizes=expert_sizes,
    ).drop(columns="split")
    rows = frame[: top or None].to_dict("records")
    if as_json:
        print_json(rows)
        return
    title = model
    if out is not None:
        title = f"{model}: {len(frame)} splits"
    show([_format_split(dict(row)) for row in rows], title)


def _format_split(row: dict[Any, Any]) -> dict[str, Any]:
    """A row for people."""
    return {
        "split": row["parallel"],
        "micro batch": row["micro_batch"],
        "recompute": row["recompute"],
        "time": cs.format_time(row["time"]),
        "memory": cs.format_bytes(row["memory"]),
        "reason": row["reason"],
    }


@command()
def train_accuracy(
    table: Path,
    out: Annotated[Path, typer.Option("-o", "--out")],
    as_json: Json = False,
) -> None:
    """What training_step says of a table of measured steps, beside what was measured."""
    from collsim.train.measured_steps import predict_measured_steps

    from ..errors.dependencies import pandas

    written = predict_measured_steps(table, out)
    if as_json:
        print_json(pandas.read_csv(written))
    else:
        print(written)


@command()
def train_pipeline(
    stages: int,
    microbatches: int = 8,
    forward: str = "1",
    backward: str = "2",
    hop: str = "0",
    interleave: int = 2,
    schedule: list[str] | None = None,
    *,
    output: TableOutput,
) -> None:
    """Schedules of a pipeline: how long, how much of it is bubble, and how many microbatches GPUs hold."""
    from collsim.train import time_schedules
    from collsim.train.pipelines.pass_orders import SCHEDULES

    known = [require_word("schedule of a pipeline", name, SCHEDULES) for name in schedule or SCHEDULES]
    seconds = [_parse_value(text) for text in (forward, backward, hop)]
    timings = time_schedules(stages, microbatches, *seconds, interleave=interleave, schedules=known)
    refused = [timing for timing in timings.values() if isinstance(timing, CollsimError)]
    if len(refused) == len(timings):  # none of them can be, and the first says why
        raise refused[0]
    rows = [_build_schedule_row(name, timing) for name, timing in timings.items()]
    if output.write(rows):
        return
    show(
        [{key: _format_value(value) for key, value in row.items()} for row in rows],
        f"{stages} GPUs, {microbatches} microbatches",
    )


def _format_value(value: object) -> str:
    """A figure for people."""
    if isinstance(value, list):
        return ", ".join(map(_format_value, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    if value is None:
        return ""
    return str(value)


def _build_schedule_row(name: str, timing: Any) -> dict[str, Any]:
    """A row for a schedule; for one that cannot be the reason."""
    row: dict[str, Any] = {"schedule": name, "time": None, "bubble": None, "peak_activations": None, "formula": None}
    # A schedule that cannot have so many microbatches is a row with its reason, not an error of the table.
    if isinstance(timing, CollsimError):
        return row | {"reason": str(timing)}
    _, t = timing
    row |= {"time": t.time, "bubble": t.bubble, "peak_activations": t.peak_activations.tolist(), "reason": ""}
    if t.formulas is not None:
        row["formula"] = t.formulas.time
    return row


@command()
def upgrades(
    run: str,
    machine_spec: MachineSpec,
    splitting: Splitting,
    options: StepOptions,
    nbytes: Size = "64MiB",
    ranks: CountOrRanks = None,
    part: list[str] | None = None,
    price: Prices = None,
    gpu_hour: float | None = None,
    kwh: float | None = None,
    watts: float | None = None,
    epoch: float | None = None,
    tokens: float | None = None,
    parameters: float | None = None,
    run_gpus: float | None = None,
    tflops: float | None = None,
    language: Language = "en",
    progress: Progress = None,
    *,
    output: TableOutput,
) -> None:
    """What to buy first: every part that could be better, alone and in pairs, with the time that it saves."""
    network, prices = machine_spec.build_network(), parse_price_texts(price or ())
    timed: cs.nccl.Prediction | cs.train.StepTrace
    if run in cs.collectives():
        timed = cs.nccl.predict(run, network, nbytes, parse_ranks(ranks))
    else:
        split, arguments = splitting.build_strategy(), options.to_arguments(network)
        timed = cs.training_step(find_model(run), network, parallel=split, ranks=parse_ranks(ranks), **arguments)
    money = {"gpu_hour": gpu_hour, "kwh": kwh, "watts": watts, "epoch": epoch, "tokens": tokens}
    costs: tuple[cs.purchases.RunningCost, ...] = ()
    days: cs.purchases.TrainingDays | None = None
    if any(value is not None for value in money.values()):
        step = _require_step(timed, run)
        costs = cs.purchases.estimate_costs(step, **money)
        if tokens is not None:
            flops = None if tflops is None else 1e12 * tflops
            run_options = {"parameters": parameters, "gpus": run_gpus, "flops_per_gpu": flops}
            days = cs.purchases.estimate_days_like_step(step, tokens, **run_options)
    table = cs.upgrades(timed, part, prices, progress=progress)
    variants = cs.purchases.compare_wires(timed)
    wires = [
        {"change": each.change and str(each.change), "time": each.time, "factor": each.factor} for each in variants
    ]
    record = {**table.to_record(), "wires": wires, "costs": costs, "days": days}
    if output.write(table.list_records(), record):
        return
    for cost in costs:
        print(cost.text(language))
    if days is not None:
        print(days.text(language))
    _print_table(table, language)
    show([variant.list_cells(language) for variant in variants], "")


def _require_step(timed: cs.nccl.Prediction | cs.train.StepTrace, run: str) -> cs.train.StepTrace:
    """The step of training that costs are of: only that has samples, and so an epoch and a run."""
    if not isinstance(timed, cs.train.StepTrace):
        raise CollsimError("costs are of a step of training: name a model in place of {run!r}", run=run)
    return timed


@dataclass(frozen=True)
class FailureOptions:
    """A long run and its failures, as `estimate_goodput` takes them."""

    run_gpus: int | None = None
    checkpoint: str = "60s"
    restart: str = "600s"
    interval: str | None = None
    gpu_mtbf: float | None = None
    link_mtbf: float | None = None
    node_mtbf: float | None = None


@command()
def goodput(
    model: str,
    machine_spec: MachineSpec,
    splitting: Splitting,
    options: StepOptions,
    failures: FailureOptions,
    output: TableOutput,
    ranks: CountOrRanks = None,
    language: Language = "en",
) -> None:
    """Which part of the time a long run trains where parts fail, and how often it should write a checkpoint."""
    network = machine_spec.build_network()
    split, arguments = splitting.build_strategy(), options.to_arguments(network)
    step = cs.training_step(find_model(model), network, parallel=split, ranks=parse_ranks(ranks), **arguments)
    run = cs.purchases.estimate_goodput(step, **vars(failures))
    if output.write([run.row()], {**run.row(), "sources": run.sources}):
        return
    print(run.text(language))
    for source in run.sources:
        print_note(f"collsim: times between failures: {source}")


@dataclass(frozen=True)
class InferenceOptions:
    """How a model answers, as `time_inference` takes it."""

    tensor: int = 1
    expert: int = 1
    batch: int = 1
    prompt: int = 2048
    dtype: str = "bfloat16"
    dispatch_dtype: str | None = None
    compute: str | None = None


@command()
def inference(
    model: str,
    machine_spec: MachineSpec,
    options: InferenceOptions,
    output: TableOutput,
    language: Language = "en",
) -> None:
    """Prefill of a prompt and decode of a token: seconds, collectives, and which link decides."""
    times = cs.inference.time_inference(model, machine_spec.build_network(), **vars(options))
    rows = times.list_rows()
    if output.write(rows, {**times.row(), "calls": rows}):
        return
    print(times.text(language))
    show(times.list_cells(language), "")


def _print_table(table: Upgrades, language: str) -> None:
    print(table.explanation(language))
    show(list(table.list_cells(language)), "")
    for change, error in table.refused:
        print(f"{change.text(language)}: {error.text(language)}")
