"""`real`: run a schedule on the processes of this computer, beside its prediction."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import collsim as cs

from .options import Json, Language, Load, Progress, Size, algorithm_of, by_rank, own_options, wanted
from .shell import EXTRA, command
from .tables import print_json, records, show


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
            "late": by_rank("late", self.late, cs.parse_time),
            "slow": by_rank("slow", self.slow, float),
            "eager": self.eager,
        }


@command(context_settings=EXTRA)
def real(
    context: typer.Context,
    algorithm: Annotated[str, typer.Argument(help="for example allreduce_ring")],
    imitated: Imitated,
    ranks: Annotated[int, typer.Option(help="Processes, at most 16 with helpers.")] = 4,
    nbytes: Size = "1MiB",
    on: Annotated[str, typer.Option(help="here: paced sockets; mpi: mpi4py; gloo: torch.")] = "here",
    repeat: Annotated[int, typer.Option(help="Runs after one to warm up.")] = 5,
    dtype: Annotated[str, typer.Option(help="Element type, as NCCL names them.")] = "float32",
    op: Annotated[str, typer.Option(help="sum, prod, max, min or avg.")] = "sum",
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Measure beside it what a message and a byte cost here.")
    ] = False,
    time_limit: Annotated[str, typer.Option(help="For all of it; the processes are ended then.")] = "60s",
    load: Load = None,
    lang: Language = "en",
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Also write x.html, x.png, x.json, x.csv ...")] = None,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Run an algorithm on processes of this computer over a network that they imitate, check its numbers, and show what
    was measured beside what was predicted. Options of the algorithm itself: --chunks 4, --root 2 ..."""
    plan = cs.schedule(algorithm_of(algorithm, load), ranks=ranks, **own_options(context))
    cs.verify(plan)
    trace = cs.run_for_real(
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
    if out is not None:
        trace.save(out)
    if as_json:
        print_json(_record(trace))
        return
    print(trace.said(lang))
    show(_steps(trace), "step by step")


def _steps(trace: cs.RealTrace) -> list[dict[str, Any]]:
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


def _record(trace: cs.RealTrace) -> dict[str, Any]:
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
