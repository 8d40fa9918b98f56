"""`worksheet`, `grade`, `site` and `app`: for a class."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import collsim as cs
from collsim.errors import CollsimError

from .handover import hand_over
from .options import Json, Language, Place, Progress, Ranks, Size, algorithm_of, own_options, wanted
from .shell import EXTRA, command
from .tables import print_json, records


@command(context_settings=EXTRA)
def worksheet(
    context: typer.Context,
    out: Annotated[Path, typer.Argument(help="sheet.md or sheet.pdf; the key goes to sheet-key beside it.")],
    place: Place,
    algorithm: Annotated[str, typer.Option(help="for example allreduce_ring")] = "allreduce_ring",
    ranks: Ranks = None,
    nbytes: Size = "64MiB",
    seed: Annotated[int, typer.Option(help="Another seed, other questions.")] = 0,
    count: Annotated[int, typer.Option(help="How many questions.")] = 8,
    lang: Language = "en",
) -> None:
    """Questions made from a run, and their answer key, in Markdown or PDF."""
    from collsim.site import write_worksheet

    network = place.network(ranks)
    plan = cs.schedule(algorithm_of(algorithm, None), ranks=ranks, topology=network, **own_options(context))
    sheet, key = write_worksheet(cs.simulate(plan, network, nbytes), out, seed=seed, count=count, lang=lang)
    print(f"worksheet {sheet}, key {key}")


@command()
def grade(
    folder: Annotated[
        Path, typer.Argument(help="What the students handed in: name.py, name.ipynb, or a folder name/.")
    ],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="CSV, on disk after each student.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only these exercises.")] = None,
    lang: Language = "en",
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Check every student's exercises, each in a process of its own with limits; a table for the teacher."""
    from collsim.quiz import summary

    frame = cs.grade(folder, only=only, out=out, lang=lang, progress=wanted(progress))
    if as_json:
        print_json(records(frame))
    else:
        print(summary(frame).to_string())


@command()
def site(
    out: Annotated[Path, typer.Argument(help="A folder, new or made by an earlier build.")],
    lang: Annotated[list[str] | None, typer.Option(help="en, zh; both unless given.")] = None,
    progress: Progress = None,
) -> None:
    """Build the static site: lessons, gallery, races and questions for any web server or a USB stick; plays from
    file:// too."""
    from collsim.site import build

    made = build(out, lang or ("en", "zh"), progress=wanted(progress))
    print(f"{made.path}: {made.runs} runs, {made.files} files, {cs.format_bytes(made.nbytes)}; open index.html")


@command("app")
def app_(port: Annotated[int, typer.Option(help="Port on this computer.", min=1, max=65535)] = 8501) -> None:
    """Start the app in the browser (needs `pip install collsim\\[app]`)."""
    script = Path(__file__).parents[2] / "app.py"
    if not script.is_file():
        raise CollsimError("app.py is not beside the package; start it from a checkout with `streamlit run app.py`")
    hand_over([sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={port}"])
