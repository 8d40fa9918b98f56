"""`worksheet`, `slides`, `grade`, `site` and `app`: for a class."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

import collsim as cs
from collsim.errors import CollsimError
from collsim.files import require_writable_file
from collsim.sandbox import Isolation, detect_isolation

from .options import (
    Json,
    Language,
    MachineSpec,
    OutFile,
    Progress,
    Ranks,
    Size,
    choose_out,
    find_algorithm,
    is_progress_shown,
    parse_algorithm_options,
)
from .output import list_records, print_json
from .shell import EXTRA, command
from .streams import print_note


@command(context_settings=EXTRA)
def worksheet(
    context: typer.Context,
    machine_spec: MachineSpec,
    sheet: Annotated[Path | None, typer.Argument()] = None,
    out: OutFile = None,
    algorithm: str = "allreduce_ring",
    ranks: Ranks = None,
    nbytes: Size = "64MiB",
    seed: int = 0,
    count: int = 8,
    language: Language = "en",
    as_json: Json = False,
) -> None:
    """Questions made from a run, with the machine, its rings and the schedule, and their answer key; or for Moodle."""
    from collsim.site import write_worksheet

    file = choose_out(sheet, out, "collsim worksheet sheet.md --machine dgx-a100")
    require_writable_file(file)
    network = machine_spec.build_network(ranks)
    plan = cs.schedule(
        find_algorithm(algorithm, None), ranks=ranks, topology=network, **parse_algorithm_options(context)
    )
    sheet, key = write_worksheet(cs.simulate(plan, network, nbytes), file, seed=seed, count=count, language=language)
    if as_json:
        print_json({"sheet": sheet, "key": key})
    else:
        print(f"worksheet {sheet}, key {key}" if key != sheet else f"{sheet}: questions for Moodle, with their answers")


@command()
def slides(
    file: Annotated[Path | None, typer.Argument()] = None,
    out: OutFile = None,
    lessons: Annotated[list[int] | None, typer.Option("--lessons", "--lesson")] = None,
    language: Language = "en",
    as_json: Json = False,
) -> None:
    """Slides of the lessons, as one HTML file to show or to print: what is said, the question, the answer, the run."""
    from collsim.site import write_slides

    slides = write_slides(choose_out(file, out, "collsim slides slides.html"), lessons or (), language)
    if as_json:
        print_json(slides)
        return
    count = "one lesson"
    if slides.lessons != 1:
        count = f"{slides.lessons} lessons"
    print(f"{slides.path}: {slides.slides} slides of {count}; print them from the browser, for PDF too")


@command()
def grade(
    folder: Path,
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    only: list[str] | None = None,
    language: Language = "en",
    allow_unsandboxed: Annotated[bool, typer.Option("--no-sandbox")] = False,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Check every student's exercises, each in a process of its own with limits; a table for the teacher."""
    from collsim.teach import summarize

    if allow_unsandboxed and detect_isolation() is Isolation.NONE:
        print_note("No sandbox here: the hand-ins run with all that you may do.")
    frame = cs.grade(
        folder,
        only=only,
        out=out,
        language=language,
        allow_unsandboxed=allow_unsandboxed,
        progress=is_progress_shown(progress),
    )
    if as_json:
        print_json(list_records(frame))
    else:
        print(summarize(frame).to_string())


@command()
def site(
    folder: Annotated[Path | None, typer.Argument()] = None,
    out: OutFile = None,
    languages: Annotated[list[str] | None, typer.Option("--languages", "--lang")] = None,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Build the static site: lessons, gallery, races and questions for any web server or a USB stick; plays from
    file:// too."""
    from collsim.site import build_site

    website = build_site(
        choose_out(folder, out, "collsim site FOLDER"), languages or ("en", "zh"), progress=is_progress_shown(progress)
    )
    if as_json:
        print_json(website)
        return
    size = cs.format_bytes(website.nbytes)
    print(f"{website.path}: {website.runs} runs, {website.files} files, {size}; open index.html")


#: What the extra `app` brings and the app cannot do without (pyproject.toml), as it is imported.
_APP_PACKAGES = ("streamlit", "uvicorn", "cachetools", "psutil", "segno", "pandas", "matplotlib", "PIL", "networkx")


@command("app")
def app_(
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8501,
    to_class: Annotated[bool, typer.Option("--class")] = False,
    address: str | None = None,
    tabs: Annotated[int | None, typer.Option(min=1)] = None,
    headless: Annotated[bool | None, typer.Option("--headless/--browser")] = None,
) -> None:
    r"""Start the app, for this computer or with --class for a room (needs `pip install 'collsim\[app]'`)."""
    flags = [f"--server.port={port}"]
    if to_class:
        flags += ["--server.address=0.0.0.0"]
    elif address is not None or tabs is not None:
        raise CollsimError("--address and --tabs are of an app that is open to a room; add --class")
    if address is not None:
        flags += [f"--browser.serverAddress={address}"]
    if tabs is not None:
        os.environ["COLLSIM_TABS_PER_CLIENT"] = str(tabs)
    if headless is not None:
        flags += [f"--server.headless={str(headless).lower()}"]
    _serve(flags)


def _serve(flags: list[str]) -> None:
    """Run Streamlit in this process, so that whoever stops `collsim app` stops it."""
    if missing := [name for name in _APP_PACKAGES if find_spec(name) is None]:
        message = "the app needs packages that are not installed ({packages}): pip install 'collsim[app]'"
        raise CollsimError(message, packages=", ".join(missing))
    import click
    from streamlit.web.cli import main as streamlit

    try:
        streamlit(["run", str(_find_script()), *flags], prog_name="streamlit", standalone_mode=False)
    except click.Abort:  # what click makes of Ctrl-C
        raise KeyboardInterrupt from None


def _find_script() -> Path:
    """`app.py` with its configuration beside it: in an installed package (pyproject.toml), or in a checkout."""
    package = Path(__file__).parents[1]
    script = next((f for f in (package / "app/server/app.py", package.parent / "app.py") if f.is_file()), None)
    if script is None:
        message = "app.py is neither in {package!r} nor beside it; install collsim again"
        raise CollsimError(message, package=str(package))
    return script
