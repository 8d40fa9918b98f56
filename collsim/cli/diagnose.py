"""`diagnose`: why a job is slow or dies, from what somebody has of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import collsim as cs
from collsim.diagnosis import Diagnosis, FleetDiagnosis, compare_nodes
from collsim.diagnosis.fleet_nodes import is_fleet
from collsim.files import write_text

from .options import Json, Language
from .output import require_table_file, save_rows
from .shell import command

#: Kinds of reports by the end of the name of the file.
_REPORTS: dict[str, Literal["markdown", "html"]] = {".md": "markdown", ".html": "html"}


@command()
def diagnose(
    files: list[Path],
    anonymize: Annotated[bool, typer.Option("--anonymize", "--anonymous")] = False,
    language: Language = "en",
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    fleet: Annotated[bool | None, typer.Option("--fleet/--job")] = None,
    model: str | None = None,
    batch: Annotated[int | None, typer.Option("--batch", min=1)] = None,
    as_json: Json = False,
) -> None:
    """Say why a job is slow or dies: the cause, the lines that state it, what it costs, and how to fix it; of a folder
    with the files of many nodes, which node, card or cable is the odd one. Nothing leaves this computer. Exit code 1 if
    there is a cause or an odd node, or if the job is slow and the evidence does not say why."""
    if out is not None and out.suffix not in _REPORTS:
        require_table_file(out)
    # Without the option a folder is taken for a fleet where its files are named after nodes.
    if fleet or (fleet is None and is_fleet(files)):
        if len(files) != 1:
            raise cs.CollsimError("--fleet takes one folder, with a subfolder for each node")
        diagnosis: Diagnosis | FleetDiagnosis = compare_nodes(files[0], anonymize=anonymize, model=model, batch=batch)
    else:
        diagnosis = cs.diagnose(*files, anonymize=anonymize, model=model, batch=batch)
    if out is not None and out.suffix in _REPORTS:
        write_text(out, diagnosis.report(language, _REPORTS[out.suffix]) + "\n")
    else:
        save_rows(diagnosis.list_rows(language), out)
    if as_json:
        print(diagnosis.to_json())
    else:
        print(diagnosis.report(language))
    # Scripts stop at a cause: the exit code says that there is one.
    if diagnosis.verdict in ("cause", "undecided", "odd"):
        raise typer.Exit(1)
