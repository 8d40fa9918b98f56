"""`convert`: from one file format to another; `plan-schema`: what a plan may hold; `glossary`: what a word means."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import collsim as cs

from ..files import write_text
from .options import Json, Language, OutFile, TableOutput, choose_out
from .output import print_json
from .shell import command
from .streams import print_note


@command()
def convert(
    source: str,
    target: Annotated[Path | None, typer.Argument()] = None,
    out: OutFile = None,
    read_as: Annotated[str | None, typer.Option("--read-as", "--from")] = None,
    write_as: Annotated[str | None, typer.Option("--write-as", "--to")] = None,
    nbytes: str | None = None,
    as_json: Json = False,
) -> None:
    """Read one file and write it as another: `collsim convert a.xml b.json`."""
    destination = choose_out(target, out, "collsim convert a.xml b.json")
    options: dict[str, str] = {}
    if nbytes is not None:
        options["nbytes"] = nbytes
    converted = cs.io.convert(source, destination, read_as=read_as, write_as=write_as, **options)
    if as_json:
        print_json({"source": source, "holds": type(converted).__name__, "written": destination})
        return
    if hasattr(converted, "iloc"):
        print(f"{len(converted)} rows written to {destination}")
    else:
        print(f"{source} holds {converted!r}; written to {destination}")


@command()
def glossary(
    words: Annotated[list[str], typer.Argument(help="as an article or a log has it: ncclAllReduce, 全归约, GDR ...")],
    output: TableOutput,
    language: Language = "en",
) -> None:
    """Look a word of the field up: what it means, its Chinese, and what of collsim shows it."""
    entries = cs.glossary(" ".join(words))
    rows = [asdict(entry) for entry in entries]
    if output.write(rows, {"entries": rows}):
        return
    for entry in entries:
        print(entry.text(language))


@command("plan-schema")
def plan_schema_(
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    as_json: Json = False,
) -> None:
    """The JSON Schema of the plans that `collsim sweep` reads, for editors and checkers; JSON with and without
    --json."""
    from collsim.sweep.schema import build_plan_schema

    if out is None:
        print_json(build_plan_schema())
        return
    write_text(out, json.dumps(build_plan_schema(), indent=1) + "\n")
    print_note(f"written to {out}")
