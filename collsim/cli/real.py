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
    TableFile,
    algorithm_of,
    by_rank,
    own_options,
    wanted,
)
from .shell import EXTRA, command
from .tables import print_json, records, require_table_file, save_rows, show
from .training import Splitting, model_of

TimeLimit = Annotated[str, typer.Option(help="For all of it; the processes are ended then.")]


@dataclass(frozen=True)
class Imitated:
    """The network that the processes imitate, and how they use it."""

    alpha: Annotated[str, typer.Option(help="From the last byte of a message to its arrival; 0s: none.")] = "10ms"
    bandwidth: Annotated[str, typer.Option(help="Of each rank's cable, each way; 'none': as fast as the computer.")] = (
        "10MB/s"
    )
    late: Annotated[list[str] | None, typer.Option(help="rank=time after which it joins, as '3=50ms'.")] = None
    slow: Annotated[list[str] | None, typer.Option(help="rank=factor by which its cables are slower.")] = None
    eager: Annotated[
        bool,
        typer.Option("--eager/--waiting", help="Send when the last bytes have left, or when they have arrived."),
    ] = True

    def given(self) -> dict[str, Any]:
        """Keywords of run_for_real."""
        return {
            "alpha": self.alpha,
            "bandwidth": None if self.bandwidth == "none" else self.bandwidth,
            "late": by_rank("late", self.late, cs.units.parse_time),
            "slow": by_rank("slow", self.slow, float),
            "eager": self.eager,
        }


@dataclass(frozen=True)
class Elsewhere:
    """Other computers: nothing is started here."""

    hosts: Annotated[
        str | None, typer.Option(help="Write the program for these computers, 'a,b', and the line that starts it.")
    ] = None
    starter: Annotated[str, typer.Option(help="Of --hosts: mpi (mpiexec) or torch (torchrun).")] = "mpi"
    folder: Annotated[Path, typer.Option(help="Of --hosts and --read: where the program and the traces are.")] = Path(
        "."
    )
    read: Annotated[
        bool, typer.Option("--read", help="Read the traces that the program wrote, instead of running.")
    ] = False


@command(context_settings=EXTRA)
def real(
    context: typer.Context,
    algorithm: AlgorithmName,
    imitated: Imitated,
    elsewhere: Elsewhere,
    ranks: Annotated[int, typer.Option(help="Processes, at most 16 with helpers.")] = 4,
    nbytes: Size = "1MiB",
    on: Annotated[str, typer.Option(help="here: paced sockets; mpi: mpi4py; gloo: torch.")] = "here",
    repeat: Annotated[int, typer.Option(help="Runs after one to warm up.")] = 5,
    dtype: Annotated[str, typer.Option(help="Element type, as NCCL names them.")] = "float32",
    op: Annotated[str, typer.Option(help="sum, prod, max, min or avg.")] = "sum",
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Measure beside it what a message and a byte cost here.")
    ] = False,
    time_limit: TimeLimit = "60s",
    load: Load = None,
    lang: Language = "en",
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Also write x.html, x.png, x.json, x.gif ...")] = None,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Run an algorithm on processes of this computer over a network that they imitate, check its numbers, and show what
    was measured beside what was predicted. Options of the algorithm itself: --chunks 4, --root 2 ..."""
    plan = cs.schedule(algorithm_of(algorithm, load), ranks=ranks, **own_options(context))
    cs.verify(plan)
    if elsewhere.hosts is not None:
        _write(plan, nbytes, elsewhere, repeat, lang)
        return
    trace = (
        _read(plan, nbytes, elsewhere, imitated)
        if elsewhere.read
        else cs.run_for_real(
            plan,
            nbytes,
            on=on,
            repeat=repeat,
            dtype=dtype,
            op=op,
            calibrate=calibrate,
            time_limit=time_limit,
            progress=wanted(progress),
            **imitated.given(),
        )
    )
    if out is not None:
        trace.save(out)
    if as_json:
        print_json(_record(trace))
        return
    print(trace.text(lang))
    show(_steps(trace), "step by step")


def _write(plan: cs.Schedule, nbytes: str, elsewhere: Elsewhere, repeat: int, lang: str) -> None:
    """The program for other computers, and what to do with it."""
    from collsim.lab.hosts import write_program

    hosts = (elsewhere.hosts or "").split(",")
    job = write_program(plan, nbytes, elsewhere.folder, hosts, elsewhere.starter, repeat)
    print(job.text(lang))


def _read(plan: cs.Schedule, nbytes: str, elsewhere: Elsewhere, imitated: Imitated) -> cs.lab.RealTrace:
    """The traces that came back, beside the prediction for the network that the options say."""
    from collsim.lab.hosts import read_traces

    rate = None if imitated.bandwidth == "none" else cs.units.parse_bandwidth(imitated.bandwidth)
    return read_traces(plan, nbytes, elsewhere.folder, cs.units.parse_time(imitated.alpha), rate)


def _steps(trace: cs.lab.RealTrace) -> list[dict[str, Any]]:
    """A row per step for people, counted from 1."""
    return [
        {
            "step": row["step"] + 1,
            **{name: cs.format_time(row[name]) for name in ("predicted", "measured")},
            "later": f"{row['late'] * 1e3:+.2f} ms",
            "middle half": f"{row['low'] * 1e3:+.2f} to {row['high'] * 1e3:+.2f} ms",
        }
        for row in records(trace.beside)
    ]


def _record(trace: cs.lab.RealTrace) -> dict[str, Any]:
    """What a machine wants of it, SI units."""
    found = trace.calibrated
    return {
        **trace.row(),
        "predicted": trace.predicted.time,
        "times": trace.times.tolist(),
        "best": trace.best,
        "middle": list(trace.middle),
        "checked": trace.measured.checked,
        "processors": trace.measured.cores,
        "calibrated": None if found is None else {"alpha": found.alpha, "bandwidth": found.bandwidth},
        "beside": records(trace.beside),
        "sentence": trace.explain(),
    }


@command()
def real_step(
    model: Annotated[
        str,
        typer.Argument(help="A model of at most 64 MiB, a table of layers (layers.csv), or equal layers: 8x128KiB."),
    ],
    splitting: Splitting,
    ranks: Annotated[int, typer.Option(help="Processes, a GPU each, at most 16 with servers.")] = 4,
    batch: Annotated[int | None, typer.Option(help="Samples over all GPUs; one for each unless given.")] = None,
    compute: Annotated[
        str, typer.Option(help="How long a GPU computes, which it sleeps: of a microbatch, '97ms', or a GPU, 'A100'.")
    ] = "80ms",
    activations: Annotated[str, typer.Option(help="Of equal layers: bytes that one hands on for a sample.")] = "64KiB",
    alpha: Annotated[str, typer.Option(help="From the last byte of a message to its arrival; 0s: none.")] = "10ms",
    bandwidth: Annotated[str, typer.Option(help="Of each rank's cable, each way.")] = "10MB/s",
    algorithm: Annotated[str, typer.Option(help="Of the allreduces.")] = "allreduce_ring",
    slow: Annotated[list[str] | None, typer.Option(help="rank=factor by which it computes longer.")] = None,
    first_step: Annotated[bool, typer.Option("--first-step", help="The first step of a run.")] = False,
    repeat: Annotated[int, typer.Option(help="Runs after one to warm up.")] = 5,
    time_limit: TimeLimit = "60s",
    lang: Language = "en",
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Also write what was measured: x.html, x.trace.json, x.csv ...")
    ] = None,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Run a step of training on processes of this computer whose computing is a sleep, check what was sent, and show
    what was measured beside what was predicted. --parallel "fsdp()", "pipeline(4, '1f1b')", "pipeline(2) * ddp()"."""
    from collsim.lab.step import equal_layers

    count, times, size = model.partition("x")
    equal = count.isdigit() and times
    real = cs.lab.training_step_for_real(
        equal_layers(count, size, activations) if equal else model_of(model),
        ranks,
        parallel=splitting.way(),
        batch=batch,
        compute=compute,
        alpha=alpha,
        bandwidth=bandwidth,
        algorithm=algorithm,
        slow=by_rank("slow", slow, float),
        step=1 if first_step else 2,
        repeat=repeat,
        time_limit=time_limit,
        progress=wanted(progress),
    )
    if out is not None:
        real.save(out)
    if as_json:
        print_json(_record_of_step(real))
        return
    print(real.text(lang))
    show(_collectives(real), "what was sent")


def _collectives(real: cs.lab.RealStep) -> list[dict[str, Any]]:
    """A row per collective for people."""
    return [
        {
            "task": f"{row['name']} {row['kind']}",
            "microbatch": row["microbatch"] + 1,
            "bytes": cs.format_bytes(row["nbytes"]),
            **{name: cs.format_time(row[name]) for name in ("predicted", "measured")},
            "later": f"{row['late'] * 1e3:+.2f} ms",
            "middle half": f"{row['low'] * 1e3:+.2f} to {row['high'] * 1e3:+.2f} ms",
        }
        for row in records(real.beside)
        if not real.predicted.step.tasks[row["task"]].is_compute
    ]


def _record_of_step(real: cs.lab.RealStep) -> dict[str, Any]:
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
        "beside": records(real.beside),
        "sentence": real.explain(),
    }


@command()
def real_library(
    on: Annotated[str, typer.Option(help="mpi: MPI.Allreduce; gloo: torch's dist.all_reduce.")] = "mpi",
    ranks: Annotated[int, typer.Option(help="Processes, at most 16.")] = 4,
    nbytes: Size = "40028",
    repeat: Annotated[int, typer.Option(help="Runs after one to warm up.")] = 5,
    time_limit: TimeLimit = "60s",
    out: TableFile = None,
    as_json: Json = False,
) -> None:
    """Time a library's own allreduce on processes of this computer, and tell by its rounding which algorithm it ran."""
    from collsim.lab.library import library_allreduce, published

    require_table_file(out)
    found = library_allreduce(on, ranks, nbytes, repeat, time_limit)
    said = published(on, ranks, found.nbytes)
    table = [{"algorithm": name, "elements that differ": count} for name, count in found.differs.items()]
    save_rows(table, out)
    if as_json:
        print_json({**asdict(found), "best": found.best, "rounds_as": found.rounds_as, "published": said})
        return
    times = ", ".join(cs.format_time(time) for time in found.times)
    print(f"allreduce of {on}, {ranks} processes, {cs.format_bytes(found.nbytes)}: {times}")
    print(f"rounds as: {', '.join(found.rounds_as) or 'none of ours'}")
    for library, (name, ours) in said.items():
        print(f"{library} publishes: {name}" + (f" (our {ours})" if ours else ""))
    show(table, "its sums and ours")
