"""`diagnose`: why a job is slow or dies, from what somebody has of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import collsim as cs
from collsim.errors import CollsimError
from collsim.files import write_text

from .options import Json, Language
from .shell import command

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
    lang: Language = "en",
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Also write the report: x.md or x.html.")] = None,
    as_json: Json = False,
) -> None:
    """Say why a job is slow or dies: the cause, the lines that state it, what it costs, and how to mend it. Nothing
    leaves this computer. Exit code 1 if there is a cause, or if the job is slow and the evidence does not say why."""
    if out is not None and out.suffix not in _REPORTS:
        raise CollsimError("{path}: a report is written as .md or .html", path=out)
    diagnosis = cs.diagnose(*_list_files(files), anonymize=anonymize)
    if out is not None:
        write_text(out, diagnosis.report(lang, _REPORTS[out.suffix]) + "\n")
    print(diagnosis.to_json() if as_json else diagnosis.report(lang))
    if diagnosis.verdict in ("cause", "undecided"):
        raise typer.Exit(1)


def _list_files(paths: list[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += sorted(file for file in path.iterdir() if file.is_file())
        else:
            files.append(path)
    return files
