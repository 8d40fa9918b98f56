"""`program`: a rank program, run on simulated ranks. `hang`: what a job wrote that hung. `read-script`: what a training
script does, and what is wrong in it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, cast

import typer

import collsim as cs
from collsim.errors import Sentence
from collsim.files import write_text
from collsim.programs import ProgramRun
from collsim.programs.job_records.flight_recorder import save_dumps
from collsim.programs.job_records.hang_report import HangReport
from collsim.programs.job_records.timeouts import DEFAULT_TIMEOUT
from collsim.rank_engine.expected import ProgramCollective
from collsim.topology_names import resolve_topology
from collsim.training_scripts import predict_step, read_script

from .options import Json, Language, parse_by_rank
from .output import list_records, print_json, require_table_file, save_rows, show
from .shell import command

_LONGEST_RESULT = 200  # characters of what a rank returned
_Timeout = Annotated[
    str | None, typer.Option(help="When a library gives up, as '30s': also print what it prints then, rank by rank.")
]
_FlightRecorder = Annotated[
    Path | None,
    typer.Option(help="Also write what each rank called, as PyTorch's Flight Recorder does, into this folder."),
]
_NoSandbox = Annotated[
    bool,
    typer.Option(
        "--no-sandbox",
        help="Run it also where this system has neither bubblewrap nor Landlock with seccomp; it may then do all that "
        "you may.",
    ),
]
_Files = Annotated[
    list[Path],
    typer.Argument(
        help="Flight Recorder dumps, one for each rank, or outputs of ncclras, or a folder of these, in any order."
    ),
]


@command()
def program(
    file: str,
    ranks: int = 4,
    collective: str | None = None,
    nbytes: str = "96B",
    eager_limit: str | None = None,
    machine: Annotated[str | None, typer.Option("--machine", "--topology")] = None,
    late: list[str] | None = None,
    timeout: _Timeout = None,
    flight_recorder: _FlightRecorder = None,
    language: Language = "en",
    allow_unsandboxed: _NoSandbox = False,
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    as_json: Json = False,
) -> None:
    """Run a program of torch.distributed, mpi4py, threads or numpy on simulated ranks: is it right, does it hang, and
    who waits for whom? Exit code 1 if it is wrong, hangs, fails or depends on timing."""
    require_table_file(out)
    # The function follows the file after a colon, as in pytest and uvicorn.
    path, _, entry = file.partition(":")
    run = cs.program(
        Path(path),
        ranks,
        cast("ProgramCollective | None", collective),  # `program` refuses any other word
        entry=entry or None,
        nbytes=nbytes,
        eager_limit=eager_limit,
        machine=machine,
        late=parse_by_rank("late", late, cs.units.parse_time),
        timeout=timeout or DEFAULT_TIMEOUT,
        allow_unsandboxed=allow_unsandboxed,
    )
    save_rows(list_records(run.messages), out)
    if flight_recorder is not None:
        save_dumps(run.flight_recorder(), flight_recorder)
    if as_json:
        print_json(_build_record(run, language))
    else:
        _print_run(run, language, timeout)
    # A program that is wrong or hangs is an error for the shell as well.
    if not run.is_right:
        raise typer.Exit(1)


def _print_run(run: ProgramRun, language: str, timeout: str | None) -> None:
    """The verdict, the traffic, the comparison with the library, and what libraries print after a timeout."""
    _print_verdict(run, language)
    if collectives := list_records(run.collectives):
        show([row | {"nbytes": cs.format_bytes(row["nbytes"])} for row in collectives], "collectives")
    if any(run.sent):
        sent, end = cs.format_bytes(max(run.sent)), cs.format_time(run.time)
        message = "Messages: {count}; the busiest rank sends {sent}. Nothing moves after {end}."
        print(Sentence(message, count=len(run.messages), sent=sent, end=end).text(language))
    if run.library_comparison is not None and any(run.sent):
        print(run.library_comparison.sentence.text(language))
    if timeout is not None:
        for log in run.timeout_logs:
            heading = Sentence("What {library} prints after {timeout}:", library=log.library, timeout=timeout)
            print(f"\n{heading.text(language)}\n{log}")


def _print_verdict(run: ProgramRun, language: str) -> None:
    """The verdict, a source that was completed, what ranks printed, and what they returned."""
    print(f"{run.verdict}: {run.explanation(language)}")
    if run.restored is not None:
        print("\n".join(f"{number:4} {line}" for number, line in enumerate(run.source.splitlines(), 1)))
    for rank, text in enumerate(run.printed):
        for line in text.splitlines():
            print(f"rank {rank}: {line}")
    if run.verdict != "ends":
        return
    for rank, result in enumerate(run.results):
        if result is not None:
            value = " ".join(str(result).split())[:_LONGEST_RESULT]
            print(Sentence("rank {rank} returns {value}", rank=rank, value=value).text(language))


def _build_record(run: ProgramRun, language: str) -> dict[str, object]:
    """What `--json` prints."""
    waits = [{"rank": wait.rank, "call": wait.call, "line": wait.line, "peers": wait.peers} for wait in run.waits]
    return {
        "verdict": run.verdict,
        "reason": run.explanation(language),
        "cycle": run.cycle,
        "waits": waits,
        "time": run.time,
        "sent": run.sent,
        "received": run.received,
        "messages": list_records(run.messages),
        "collectives": list_records(run.collectives),
        "printed": run.printed,
        "library_comparison": _build_comparison(run, language),
        "timeout_logs": [vars(log) for log in run.timeout_logs],
    }


def _build_comparison(run: ProgramRun, language: str) -> dict[str, object] | None:
    if run.library_comparison is None:
        return None
    return vars(run.library_comparison) | {"reason": run.library_comparison.sentence.text(language)}


@command()
def hang(
    files: _Files,
    language: Language = "en",
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    as_json: Json = False,
) -> None:
    """Read what a job wrote that hung, and say which rank is behind, at which call, and who never called. Exit code 1
    if something in it waits."""
    require_table_file(out)
    report = cs.programs.load_hang(*files)
    record = _build_hang_record(report, language)
    save_rows(record["findings"], out)
    if as_json:
        print_json(record)
    else:
        print(report.explanation(language))
    if report.findings:
        raise typer.Exit(1)


def _build_hang_record(report: HangReport, language: str) -> dict[str, object]:
    findings = []
    for finding in report.findings:
        record = {name: getattr(finding, name) for name in ("kind", "group", "number", "operation", "ranks")}
        record["variants"] = [vars(variant) for variant in finding.variants]
        findings.append({**record, "reason": finding.sentence.text(language)})
    return {
        "origin": report.origin,
        "reason": report.explanation(language),
        "culprits": report.culprits,
        "ranks": report.ranks,
        "unread": report.unread,
        "findings": findings,
    }


@command(name="read-script")
def read_script_command(
    file: str,
    machine: Annotated[str | None, typer.Option("--machine", "--topology")] = None,
    language: Language = "en",
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    as_json: Json = False,
) -> None:
    """Say what a training script of PyTorch does (DataParallel, DDP or FSDP, backend, processes, batch), what is wrong
    or missing in it, line by line, and what its steps would take on a machine. Nothing of the script runs. Exit code 1
    if something is wrong."""
    if machine is not None:
        resolve_topology(machine, "--machine")  # of a script that trains nothing nobody else reads it
    # Standard input lets a script be piped out of an article.
    if file == "-":
        reading = read_script(sys.stdin.read())
    else:
        reading = read_script(Path(file))
    if not as_json:
        print(reading.explanation(language))  # before a step, which the machine may be too small for
    steps = {}
    if machine is not None:
        steps = {number: predict_step(part, machine) for number, part in enumerate(reading.parts) if part.trains}
    if out is not None:
        write_text(out, reading.parts[0].corrected)
    known_steps = {number: step for number, step in steps.items() if step is not None}
    if as_json:
        records = {}
        for number, step in known_steps.items():
            figures = {"time": step.time, "gpus": step.gpus, "batch": step.batch, "bytes": step.gradient_bytes}
            records[str(number)] = {**figures, "text": step.text(language)}
        print_json({**reading.to_dict(language), "steps": records})
    else:
        for number, step in known_steps.items():
            print(f"\n{reading.parts[number].first_line}\n{step.text(language)}")
    if not reading.is_right:
        raise typer.Exit(1)
