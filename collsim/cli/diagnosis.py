"""`diagnose`: why a job is slow or dies, from what somebody has of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import collsim as cs
from collsim.diagnosis import Diagnosis
from collsim.files import require_writable_file, write_text

from .options import Json, Language
from .shell import command
from .tables import require_table_file, save_rows

#: Kinds of reports by the end of the name of the file.
_REPORTS: dict[str, Literal["markdown", "html"]] = {".md": "markdown", ".html": "html"}


@command()
def diagnose(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Logs of NCCL, tables of nccl-tests, outputs of nvidia-smi, lspci, ibstat, perftest ..., topology "
            "files, in any mixture; of a folder all files."
        ),
    ],
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="Replace names of hosts and IP addresses in what is quoted.")
    ] = False,
    language: Language = "en",
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="Also write the report, x.md or x.html, or its causes: x.csv, x.json or x.tex."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say why a job is slow or dies: the cause, the lines that state it, what it costs, and how to mend it. Nothing
    leaves this computer. Exit code 1 if there is a cause, or if the job is slow and the evidence does not say why."""
    is_report = out is not None and out.suffix in _REPORTS
    if out is not None and is_report:
        require_writable_file(out)
    else:
        require_table_file(out)
    diagnosis = cs.diagnose(*files, anonymize=anonymize)
    if out is not None and is_report:
        write_text(out, diagnosis.report(language, _REPORTS[out.suffix]) + "\n")
    else:
        save_rows(_list_rows(diagnosis, language), out)
    if as_json:
        print(diagnosis.to_json())
    else:
        print(diagnosis.report(language))
    if diagnosis.verdict in ("cause", "undecided"):
        raise typer.Exit(1)


def _list_rows(diagnosis: Diagnosis, language: str) -> list[dict[str, object]]:
    """The causes as a table, the first to mend first."""
    return [
        {
            "cause": cause.key,
            "explanation": cause.explanation(language),
            "is_stated": cause.is_stated,
            "predicted_busbw": cause.predicted,
            "evidence": "; ".join(f"{Path(fact.piece).name}:{fact.line}" for fact in cause.evidence),
            "check": cause.check(language),
            "fix": cause.fix(language),
        }
        for cause in diagnosis.causes
    ]
