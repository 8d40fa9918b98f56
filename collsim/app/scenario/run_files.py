"""Files of a run, out and in, through the one registry of formats. Nothing here knows Streamlit.

Out: whatever `exchange` can write from a schedule, a Trace, a machine or a sweep. In: a schedule in any format that it
reads.
"""

from __future__ import annotations

import gzip
import io
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

import collsim as cs
from collsim.analysis.run_facts import RunFacts
from collsim.errors import CollsimError, FormatError, Words
from collsim.errors.collected_warnings import collect_warnings
from collsim.io import Format, formats, load
from collsim.package_data import read_toml
from collsim.schedule import Schedule

from ..jobs.job_spec import job, report_progress
from .address_parameters import shorten
from .choice import MAX_RANKS, Choice, build_engine_settings
from .outcome import (
    MAX_TRANSFERS,
    Outcome,
    Refused,
    ask_topology,
    build_outcome,
    build_topology,
    compare,
    estimate_compare,
    estimate_seconds,
    list_used_options,
    simulate,
    sweep_algorithms,
    uses_events,
)

MAX_BYTES = 2 * 2**20
#: A file of more bytes than this is handed over zipped, where that makes it much smaller.
_PLAIN = 4 * 2**20
#: Processor seconds that a file takes: to begin with, and for each transfer. Measured from 16 ranks to 261,120
#: transfers of 256 ranks.
_SECONDS: dict[str, list[float]] = read_toml(__file__, "run_files.toml")["seconds"]
#: For a format that is not in the table.
_USUAL = 0.2, 3e-6
_BYTES_OF_TRANSFER = 20  # of an uploaded schedule, at the least: a row of CSV


@dataclass(frozen=True)
class Upload:
    """A file that a person gives to the app.

    Attributes:
        name: Its name; its suffix tells the format, and messages name it.
        data: Its content.
    """

    name: str
    data: bytes


# ---- out -----------------------------------------------------------------------------------------------------------


def list_formats() -> list[Format]:
    """Formats that a run can be written in: of its schedule, its Trace, its machine, and a sweep over sizes."""
    holds = ("trace", "schedule", "table", "topology")
    able = [
        f for f in formats().values() if f.write is not None and f.holds in holds and (f.name != "mp4" or has_ffmpeg())
    ]
    return sorted(able, key=lambda f: (holds.index(f.holds), f.name))


def has_ffmpeg() -> bool:
    """Is there an ffmpeg, on the path or brought by a package?"""
    return shutil.which("ffmpeg") is not None or find_spec("imageio_ffmpeg") is not None


def estimate_file(choice: Choice, name: str, language: str, t: float | None = None) -> float:
    """Seconds that `build_file` should take. Raises what it would raise before it runs anything.

    Args:
        choice: The run that is chosen.
        name: Name of the format, as the registry of formats has it.
        language: `en` or `zh`.
        t: Moment at which a page opens, seconds.
    """
    topology = build_topology(choice)
    options = list_used_options(choice, topology)
    plan: Schedule = cs.schedule(choice.algorithm, topology=topology, **options)
    runs = {"trace": 1, "table": len(cs.size_range(choice.sizes))}.get(formats()[name].holds, 0)
    return runs * estimate_seconds(choice, plan, topology, choice.nbytes) + _to_write(name, len(plan))


def _to_write(name: str, transfers: int) -> float:
    first, seconds_per_transfer = _SECONDS.get(name, _USUAL)
    return first + seconds_per_transfer * transfers


@job(estimate_file)
def build_file(
    choice: Choice,
    name: str,
    language: str,
    t: float | None = None,
) -> tuple[str, bytes]:
    """The name and the bytes of a file of a run; several files come as one zip.

    Args:
        choice: The run that is chosen.
        name: Name of the format, as the registry of formats has it.
        language: `en` or `zh`.
        t: Moment at which a page opens, seconds; None for the start.

    Raises:
        CollsimError: for what a format cannot hold
    """
    entry = formats()[name]
    content: object
    if entry.holds == "topology":
        content = build_topology(choice)
    elif entry.holds == "table":
        topology = build_topology(choice)
        used = list_used_options(choice, topology)
        sizes = cs.size_range(choice.sizes)
        content = sweep_algorithms(choice, [(choice.algorithm, used)], topology, sizes)
    else:
        trace = simulate(choice)
        content = trace.schedule
        if entry.holds == "trace":
            content = trace
    report_progress("run", 0.3)
    return write_file(content, entry, _select_options(entry, choice, language, t))


def _select_options(entry: Format, choice: Choice, language: str, t: float | None) -> dict[str, object]:
    """What a format takes of the choice, the language and the moment."""
    known = {"nbytes": cs.units.parse_bytes(choice.nbytes), "language": language, "t": t}
    return {key: value for key, value in known.items() if key in dict(entry.options)}


def write_file(content: object, entry: Format, options: dict[str, object]) -> tuple[str, bytes]:
    """Write into a folder of its own, and take what is there.

    Args:
        content: What is written: a schedule, a trace, a topology or a table.
        entry: The format.
        options: Options of the algorithm or format, by name.
    """
    write = entry.write
    assert write is not None
    return gather_files(f"collsim{entry.suffixes[0]}", lambda path: write(content, path, **options))


def gather_files(name: str, write: Callable[[Path], object]) -> tuple[str, bytes]:
    """What `write` makes in a folder of its own when it is given a path of that name: one file, or several as a zip.

    Args:
        name: Name of the file.
        write: Writes to a path.
    """
    with tempfile.TemporaryDirectory(prefix="collsim-file-") as folder:
        write(Path(folder) / name)
        written = sorted(Path(folder).iterdir())
        if len(written) == 1:
            return _compress_large(written[0].name, written[0].read_bytes())
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as together:
            for path in written:
                together.write(path, path.name)
        return f"{name}.zip", packed.getvalue()


def _compress_large(name: str, data: bytes) -> tuple[str, bytes]:
    """A large text zipped: a browser, a server of thirty and Perfetto all take 4 MB more gladly than 70."""
    if len(data) > _PLAIN and len(packed := gzip.compress(data, 6, mtime=0)) < len(data) / 2:
        return f"{name}.gz", packed
    return name, data


def list_table_formats() -> list[Format]:
    """Formats that a table can be written in."""
    return [f for f in list_formats() if f.holds == "table"]


@job(lambda runners, _: sum(estimate_file(choice, "markdown", "en") for _, choice in runners))
def build_race_table(runners: tuple[tuple[str, Choice], ...], name: str) -> tuple[str, bytes]:
    """The table of a race, a row for each runner and its name in front.

    Args:
        runners: The runs of the race, each with its label.
        name: Name of the format, as the registry of formats has it.
    """
    rows = []
    for number, (label, choice) in enumerate(runners, 1):
        rows.append({"runner": label, **simulate(choice).row()})
        report_progress("run", number / len(runners))
    return _write_table(pd.DataFrame(rows), formats()[name], "runner")


@job(lambda choice, _: estimate_compare(choice))
def build_comparison_table(choice: Choice, name: str) -> tuple[str, bytes]:
    """The table of a comparison, without what could not run.

    Args:
        choice: The run that is chosen.
        name: Name of the format, as the registry of formats has it.
    """
    table = compare(choice)
    return _write_table(table[table["error"].isna()], formats()[name], "algorithm")


def _write_table(table: pd.DataFrame, entry: Format, by: str) -> tuple[str, bytes]:
    """A table as a file; nccl-tests' JSON holds the sizes of one way only, so there it is a file for each in one
    zip."""
    if entry.name != "nccl-tests-json" or table[by].nunique() == 1:
        return write_file(table, entry, {})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as together:
        for number, (_, part) in enumerate(table.groupby(by, sort=False), 1):
            together.writestr(
                f"{number}-{part['algorithm'].iloc[0]}{entry.suffixes[0]}", write_file(part, entry, {})[1]
            )
    return f"collsim{entry.suffixes[0]}.zip", packed.getvalue()


# ---- in


def list_suffixes() -> list[str]:
    """Of the files that hold a schedule or a log of one, without the dot, gzip too."""
    able = {s for f in formats().values() if f.read is not None and f.holds in ("schedule", "log") for s in f.suffixes}
    return sorted({s.rpartition(".")[2] for s in able} | {"gz"})


def read_schedule(upload: Upload) -> Schedule:
    """What is in a file. Raises CollsimError: too large, no schedule, damaged, or wrong with the gpu, thread block and
    step of it.

    Args:
        upload: The schedule file that was uploaded.
    """
    if len(upload.data) > MAX_BYTES:
        message = "{nbytes:,} bytes are too many; a schedule file here has at most {most:,}"
        raise CollsimError(message, nbytes=len(upload.data), most=MAX_BYTES)
    ending = "".join(s for s in Path(upload.name).suffixes[-2:] if s[1:].lower() in list_suffixes()).lower()
    with tempfile.TemporaryDirectory(prefix="collsim-file-") as folder, collect_warnings():
        path = Path(folder) / f"file{ending or '.json'}"
        path.write_bytes(upload.data)
        try:
            content = load(path)
        except FormatError as error:
            name = shorten(upload.name)
            raise FormatError(error.sentence.rename({path.name: (name, name)})) from error
        if hasattr(content, "schedule") and not isinstance(content, Schedule):
            content = content.schedule()
    if not isinstance(content, Schedule):
        raise CollsimError("the file does not hold a schedule, but something else that collsim reads")
    if len(content) > MAX_TRANSFERS:
        raise Refused("refused.transfers", transfers=f"{len(content):,}", limit=f"{MAX_TRANSFERS:,}")
    return content


def place_choice(choice: Choice, ranks: int) -> Choice:
    """The choice, on a switch for so many ranks where its own machine has fewer.

    Args:
        choice: The run that is chosen.
        ranks: Number of ranks.
    """
    if ask_topology(choice, lambda topology: topology.ranks, 0) >= ranks:
        return choice
    return replace(choice, machine="switch", ranks=min(ranks, MAX_RANKS))


def describe_mistake(schedule: Schedule) -> Words:
    """What is wrong with a schedule; empty where it does what its collective promises.

    Args:
        schedule: The schedule.
    """
    try:
        cs.verify(schedule)
    except CollsimError as error:
        return error.sentence
    return ""


def estimate_played(upload: Upload, choice: Choice) -> float:
    """Seconds that `play_upload` should take.

    Args:
        upload: The schedule file that was uploaded.
        choice: The run that is chosen.
    """
    return len(upload.data) / 2e5


@job(estimate_played, compiled=lambda upload, choice: uses_events(choice))
def play_upload(upload: Upload, choice: Choice) -> tuple[Outcome, str, Words]:
    """A schedule from a file on the place of a choice: all that Explore shows, its label, and what is wrong with it.

    Args:
        upload: The schedule file that was uploaded.
        choice: The run that is chosen.
    """
    plan, topology = read_schedule(upload), build_topology(choice)
    report_progress("run", 0.3)
    trace = cs.simulate(plan, topology, choice.nbytes, choice.dtype, choice.engine, **build_engine_settings(choice))
    report_progress("run", 0.6)
    return build_outcome(RunFacts(trace)), f"{plan.collective}, {plan.label}", describe_mistake(plan)


def estimate_conversion(upload: Upload, choice: Choice, name: str, language: str, t: float | None = None) -> float:
    """Seconds that `convert_upload` should take.

    Args:
        upload: The schedule file that was uploaded.
        choice: The run that is chosen.
        name: Name of the format, as the registry of formats has it.
        language: `en` or `zh`.
        t: Moment at which a page opens, seconds.
    """
    return estimate_played(upload, choice) + _to_write(name, round(len(upload.data) / _BYTES_OF_TRANSFER))


@job(estimate_conversion)
def convert_upload(
    upload: Upload,
    choice: Choice,
    name: str,
    language: str,
    t: float | None = None,
) -> tuple[str, bytes]:
    """A schedule from a file in another format, or its run as a picture, film or page.

    Args:
        upload: The schedule file that was uploaded.
        choice: The run that is chosen.
        name: Name of the format, as the registry of formats has it.
        language: `en` or `zh`.
        t: Moment at which a page opens, seconds; None for the start.
    """
    entry = formats()[name]
    content = _select_held(entry, read_schedule(upload), choice)
    return write_file(content, entry, _select_options(entry, choice, language, t))


def _select_held(entry: Format, plan: Schedule, choice: Choice) -> object:
    """What a format holds: the schedule, where it runs, or its run there."""
    if entry.holds == "schedule":
        return plan
    topology = build_topology(choice)
    if entry.holds == "topology":
        return topology
    return cs.simulate(plan, topology, choice.nbytes, choice.dtype, choice.engine)
