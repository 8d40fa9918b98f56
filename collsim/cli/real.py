"""`real`, `real-step`: a schedule, or a step of training, on the processes of this computer, beside its prediction."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import collsim as cs

from .options import (
    AlgorithmName,
    Json,
    Language,
    Load,
    Progress,
    Size,
    TableOutput,
    find_algorithm,
    is_progress_shown,
    parse_algorithm_options,
    parse_by_rank,
)
from .output import list_records, print_json, show
from .shell import EXTRA, command
from .training import Splitting, find_model

TimeLimit = Annotated[str, typer.Option(help="For all of it; the processes are ended then.")]


@dataclass(frozen=True)
class NetworkOptions:
    """The network that the processes imitate, and how they use it."""

    alpha: str = "10ms"
    bandwidth: str = "10MB/s"
    late: list[str] | None = None
    slow: list[str] | None = None
    eager: Annotated[bool, typer.Option("--eager/--no-eager", " /--waiting")] = True

    def to_arguments(self) -> dict[str, Any]:
        """Keywords of run_for_real."""
        bandwidth: str | None = self.bandwidth
        if bandwidth == "none":
            bandwidth = None
        return {
            "alpha": self.alpha,
            "bandwidth": bandwidth,
            "late": parse_by_rank("late", self.late, cs.units.parse_time),
            "slow": parse_by_rank("slow", self.slow, float),
            "eager": self.eager,
        }


@dataclass(frozen=True)
class OtherComputers:
    """Other computers: nothing is started here."""

    hosts: str | None = None
    starter: str = "mpi"
    folder: Path = Path(".")
    read: Annotated[bool, typer.Option("--read")] = False


@command(context_settings=EXTRA)
def real(
    context: typer.Context,
    algorithm: AlgorithmName,
    imitated: NetworkOptions,
    other_computers: OtherComputers,
    ranks: int = 4,
    nbytes: Size = "1MiB",
    on: str = "here",
    repeat: int = 5,
    dtype: str = "float32",
    op: str = "sum",
    calibrate: Annotated[bool, typer.Option("--calibrate")] = False,
    time_limit: TimeLimit = "60s",
    load: Load = None,
    language: Language = "en",
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Run an algorithm on processes of this computer over a network that they imitate, check its numbers, and show what
    was measured beside what was predicted. Options of the algorithm itself: --chunks 4, --root 2 ..."""
    # Wrong schedules are refused here: processes would only find out after they were started.
    plan = cs.schedule(find_algorithm(algorithm, load), ranks=ranks, **parse_algorithm_options(context))
    cs.verify(plan)
    # For other computers a program is written, which measures there and is read back with --read.
    if other_computers.hosts is not None:
        _write_program(plan, nbytes, other_computers, repeat, language)
        return
    if other_computers.read:
        trace = _read_traces(plan, nbytes, other_computers, imitated)
    else:
        trace = cs.run_for_real(
            plan,
            nbytes,
            on=on,
            repeat=repeat,
            dtype=dtype,
            op=op,
            calibrate=calibrate,
            time_limit=time_limit,
            progress=is_progress_shown(progress),
            **imitated.to_arguments(),
        )
    if out is not None:
        trace.save(out)
    if as_json:
        print_json(_build_record(trace))
        return
    print(trace.text(language))
    show(_build_step_rows(trace), "step by step")


def _write_program(plan: cs.Schedule, nbytes: str, other_computers: OtherComputers, repeat: int, language: str) -> None:
    """The program for other computers, and what to do with it."""
    from collsim.lab.hosts import write_program

    hosts = (other_computers.hosts or "").split(",")
    job = write_program(plan, nbytes, other_computers.folder, hosts, other_computers.starter, repeat)
    print(job.text(language))


def _read_traces(
    plan: cs.Schedule, nbytes: str, other_computers: OtherComputers, imitated: NetworkOptions
) -> cs.lab.RealTrace:
    """The traces that came back, beside the prediction for the network that the options say."""
    from collsim.lab.hosts import read_traces

    rate = None
    if imitated.bandwidth != "none":
        rate = cs.units.parse_bandwidth(imitated.bandwidth)
    return read_traces(plan, nbytes, other_computers.folder, cs.units.parse_time(imitated.alpha), rate)


def _build_step_rows(trace: cs.lab.RealTrace) -> list[dict[str, Any]]:
    """A row per step for people, counted from 1."""
    return [{"step": row["step"] + 1, **_format_times(row)} for row in list_records(trace.comparison)]


def _format_times(row: dict[str, Any]) -> dict[str, str]:
    """What was predicted and measured, and how much later that was."""
    return {
        **{name: cs.format_time(row[name]) for name in ("predicted", "measured")},
        "later": f"{row['late'] * 1e3:+.2f} ms",
        "middle half": f"{row['low'] * 1e3:+.2f} to {row['high'] * 1e3:+.2f} ms",
    }


def _build_record(trace: cs.lab.RealTrace) -> dict[str, object]:
    """What a machine wants of it, SI units."""
    calibrated = None
    if (fit := trace.calibrated) is not None:
        calibrated = {"alpha": fit.alpha, "bandwidth": fit.bandwidth}
    return {
        **trace.row(),
        "predicted": trace.predicted.time,
        "times": trace.times.tolist(),
        "best": trace.best,
        "middle": list(trace.middle),
        "checked": trace.measured.checked,
        "processors": trace.measured.cores,
        "calibrated": calibrated,
        "comparison": list_records(trace.comparison),
        "sentence": trace.explain(),
    }


@command()
def real_step(
    model: str,
    splitting: Splitting,
    ranks: int = 4,
    batch: int | None = None,
    compute: str = "80ms",
    activations: str = "64KiB",
    alpha: str = "10ms",
    bandwidth: str = "10MB/s",
    algorithm: str = "allreduce_ring",
    slow: list[str] | None = None,
    first_step: Annotated[bool, typer.Option("--first-step")] = False,
    repeat: int = 5,
    time_limit: TimeLimit = "60s",
    language: Language = "en",
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Run a step of training on processes of this computer whose computing is a sleep, check what was sent, and show
    what was measured beside what was predicted. --parallel "fsdp()", "pipeline(4, '1f1b')", "pipeline(2) * ddp()"."""
    from collsim.lab.real_step_run import build_equal_layers

    # `8x128KiB` is no model of the catalogue: eight equal layers of so many bytes.
    count, times, size = model.partition("x")
    if count.isdigit() and times:
        layers = build_equal_layers(count, size, activations)
    else:
        layers = find_model(model)
    real = cs.lab.training_step_for_real(
        layers,
        ranks,
        parallel=splitting.build_strategy(),
        batch=batch,
        compute=compute,
        alpha=alpha,
        bandwidth=bandwidth,
        algorithm=algorithm,
        slow=parse_by_rank("slow", slow, float),
        step=2 - first_step,
        repeat=repeat,
        time_limit=time_limit,
        progress=is_progress_shown(progress),
    )
    if out is not None:
        real.save(out)
    if as_json:
        print_json(_build_step_record(real))
        return
    print(real.text(language))
    show(_build_collective_rows(real), "what was sent")


def _build_collective_rows(real: cs.lab.RealStep) -> list[dict[str, Any]]:
    """A row per collective for people."""
    return [
        {
            "task": f"{row['name']} {row['kind']}",
            "microbatch": row["microbatch"] + 1,
            "bytes": cs.format_bytes(row["nbytes"]),
            **_format_times(row),
        }
        for row in list_records(real.comparison)
        if not real.predicted.step.tasks[row["task"]].is_compute
    ]


def _build_step_record(real: cs.lab.RealStep) -> dict[str, object]:
    """What a machine wants of it, SI units."""
    return {
        **real.measured.row(),
        "predicted": real.predicted.time,
        "predicted_exposed": real.predicted.exposed,
        "times": real.times.tolist(),
        "best": real.best,
        "middle": list(real.middle),
        "checked": real.checked,
        "processors": real.cores,
        "comparison": list_records(real.comparison),
        "sentence": real.explain(),
    }


@command()
def real_library(
    on: str = "mpi",
    ranks: int = 4,
    nbytes: Size = "40028",
    repeat: int = 5,
    time_limit: TimeLimit = "60s",
    *,
    output: TableOutput,
) -> None:
    """Time a library's own allreduce on processes of this computer, and tell by its rounding which algorithm it ran."""
    from collsim.lab.library_allreduce import find_published_choices, time_library_allreduce

    result = time_library_allreduce(on, ranks, nbytes, repeat, time_limit)
    rules = find_published_choices(on, ranks, result.nbytes)
    table = [{"algorithm": name, "elements that differ": count} for name, count in result.differs.items()]
    record = {**asdict(result), "best": result.best, "rounds_as": result.rounds_as, "published": rules}
    if output.write(table, record):
        return
    times = ", ".join(cs.format_time(time) for time in result.times)
    print(f"allreduce of {on}, {ranks} processes, {cs.format_bytes(result.nbytes)}: {times}")
    print(f"rounds as: {', '.join(result.rounds_as) or 'none of ours'}")
    for library, (name, algorithm) in rules.items():
        line = f"{library} publishes: {name}"
        if algorithm:
            line += f" (our {algorithm})"
        print(line)
    show(table, "its sums and ours")
