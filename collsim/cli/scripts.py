"""`read-script`: what a training script or a command line does, and what is wrong or missing in it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from collsim.files import read_text, require_writable_file, write_text
from collsim.training_scripts import predict_step, read_script

from .options import Json, Language
from .output import print_json
from .shell import command


@command(name="read-script")
def read_script_command(
    file: Annotated[
        str,
        typer.Argument(help="A training script, an article with code, or command lines; - reads standard input."),
    ],
    machine: Annotated[
        str | None,
        typer.Option("--machine", "--topology", help="Also say what its steps do there: 'dgx-a100(nodes=2)'."),
    ] = None,
    language: Language = "en",
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Also write the corrected script, x.py; of several the first.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what a training script of PyTorch does (DataParallel, DDP or FSDP, backend, processes, batch), what is wrong
    or missing in it, line by line, and what its steps would take on a machine. Nothing of the script runs. Exit code 1
    if something is wrong."""
    if out is not None:
        require_writable_file(out)
    if file == "-":
        reading = read_script(sys.stdin.read())
    else:
        reading = read_script(read_text(Path(file)))
    steps = {}
    if machine is not None:
        steps = {number: predict_step(part, machine) for number, part in enumerate(reading.parts) if part.trains}
    if out is not None:
        write_text(out, next(part.corrected for part in reading.parts))
    if as_json:
        known_steps = {
            f"{number}": {
                "time": step.time,
                "gpus": step.gpus,
                "batch": step.batch,
                "bytes": step.gradient_bytes,
                "text": step.text(language),
            }
            for number, step in steps.items()
            if step is not None
        }
        print_json({**reading.to_dict(language), "steps": known_steps})
    else:
        print(reading.explanation(language))
        for number, step in steps.items():
            if step is not None:
                print(f"\n{reading.parts[number].first_line}\n{step.text(language)}")
    if not reading.is_right:
        raise typer.Exit(1)
