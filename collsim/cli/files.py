"""`convert`: from one file format to another; `plan-schema`: what a plan may hold."""

from __future__ import annotations

from typing import Annotated

import typer

import collsim as cs

from .options import Json
from .shell import command
from .tables import print_json


@command()
def convert(
    source: Annotated[str, typer.Argument(help="a schedule, topology, log or table; `collsim list formats`")],
    target: Annotated[str, typer.Argument(help="the format follows from the suffix")],
    read_as: Annotated[
        str | None, typer.Option("--from", help="Format of the source, where its suffix does not say.")
    ] = None,
    write_as: Annotated[
        str | None, typer.Option("--to", help="Format of the target, where its suffix does not say.")
    ] = None,
    nbytes: Annotated[str | None, typer.Option(help="Size, for formats with bytes in them.")] = None,
    as_json: Json = False,
) -> None:
    """Read one file and write it as another: `collsim convert a.xml b.json`."""
    options = {} if nbytes is None else {"nbytes": nbytes}
    thing = cs.io.convert(source, target, read_as=read_as, write_as=write_as, **options)
    if as_json:
        print_json({"source": source, "holds": type(thing).__name__, "written": target})
        return
    print(
        f"{source} holds {thing!r}; written to {target}"
        if not hasattr(thing, "iloc")
        else f"{len(thing)} rows written to {target}"
    )


@command("plan-schema")
def plan_schema_(as_json: Json = False) -> None:
    """The JSON Schema of the plans that `collsim sweep` reads, for editors and checkers; JSON with and without
    --json."""
    from collsim.sweep.schema import plan_schema

    print_json(plan_schema())
