"""`predict`, `nccl-diff`, `accuracy` and `calibrate`: what NCCL would do, and what it did."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import collsim as cs

from .options import (
    CountOrRanks,
    Json,
    Language,
    MachineSpec,
    Progress,
    Sizes,
    TableOutput,
    is_progress_shown,
    name_options,
    parse_ranks,
)
from .output import list_records, print_json, show
from .shell import command
from .streams import print_note

if TYPE_CHECKING:
    from ..nccl.bayesian_update import MeasuredTimes
    from ..units import ByteSize, Duration


@command()
def accuracy(
    cases: Path,
    measured: Path,
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    as_json: Json = False,
) -> None:
    """Compare the NCCL model with a table of measurements, largest errors first."""
    accuracy = cs.nccl.evaluate_accuracy(cases, measured, out)
    if as_json:
        print_json({name: getattr(accuracy, name) for name in ("cases", "effects", "failures", "notes")})
    else:
        print(accuracy)


#: A number in a note, with the unit of a time or a size.
_QUANTITY = re.compile(r"\d[\d.,]*(?: (?:[nµm]?s|[KMGT]?i?B)\b)?")
#: Columns of the table of `predict`, with how people read them.
_COLUMNS: dict[str, Callable[[Any], str]] = {
    "nbytes": cs.format_bytes,
    **dict.fromkeys(("time", "low", "high"), cs.format_time),
    **dict.fromkeys(("algbw", "busbw"), cs.format_bandwidth),
    **dict.fromkeys(("algorithm", "protocol", "channels"), str),
    "tuner_time": cs.format_time,
}


@command()
def predict(
    collective: str,
    machine_spec: MachineSpec,
    ranks: CountOrRanks = None,
    nbytes: Sizes = "1KiB:1GiB:4",
    measured: str | None = None,
    launch: str | None = None,
    version: Annotated[str | None, typer.Option("--version", "--nccl")] = None,
    *,
    output: TableOutput,
) -> None:
    """What nccl-tests would print on a machine: NCCL's choice, the time, where four in five measurements lie, and what
    NCCL's own tuner believes."""
    times = None
    if measured is not None:
        times = _parse_times(measured)
    network = machine_spec.build_network(assumed=False)
    selection = parse_ranks(ranks)
    rows: list[dict[str, Any]] = []
    remarks: list[dict[str, list[str]]] = []
    for size in cs.size_range(nbytes):
        p = cs.nccl.predict_with_simulation(
            collective, network, size, measured=times, launch=launch, version=version, ranks=selection
        )
        rows.append({name: getattr(p, name) for name in _COLUMNS})
        kinds = {
            "notes": (p.used_ranks, p.release, *p.registered_buffers, *p.faster_larger_calls, *p.notes),
            "assumptions": (p.interval().reason, *p.assumptions),
        }
        remarks.append({kind: [name_options(str(each)) for each in texts if each] for kind, texts in kinds.items()})
    if output.write(rows, [row | of_row for row, of_row in zip(rows, remarks, strict=True)]):
        return
    texts = [
        (cs.format_bytes(row["nbytes"]), text)
        for row, of_row in zip(rows, remarks, strict=True)
        for text in (*of_row["notes"], *of_row["assumptions"])
    ]
    for note in merge_notes(texts):
        print_note(f"collsim: {note}")
    table = [{name: _format_cell(name, value) for name, value in row.items()} for row in rows]
    show(table, f"{collective} on {network.name}, as nccl-tests would print it")


def merge_notes(notes: list[tuple[str, str]]) -> list[str]:
    """Merge notes that differ from size to size in their numbers only.

    Args:
        notes: A size and a note of it, the smallest size first.

    Returns:
        Of each kind the first note, with its size and the number of other sizes whose numbers differ.
    """
    kinds: dict[str, dict[str, str]] = {}
    # Notes are alike where they are the same but for their quantities.
    for size, note in notes:
        kinds.setdefault(_QUANTITY.sub("#", note), {}).setdefault(note, size)
    merged = []
    for variants in kinds.values():
        note, size = next(iter(variants.items()))
        others = len(variants) - 1
        if others:
            note += f" [{size}; {others} other size{'s' if others > 1 else ''} with other numbers]"
        merged.append(note)
    return merged


@command(name="nccl-diff")
def compare_nccl_releases(
    old: str,
    new: str,
    machine_spec: MachineSpec,
    collective: Annotated[str, typer.Argument()] = "allreduce",
    nbytes: Sizes = "1KiB:1GiB:2",
    language: Language = "en",
    *,
    output: TableOutput,
) -> None:
    """What another version of NCCL would choose on a machine, size by size, how long that takes, and which calls it
    adds. Without a machine: on which machines of the library the two versions differ."""
    if machine_spec == type(machine_spec)():
        _compare_everywhere(old, new, collective, nbytes, language, output)
        return
    network = machine_spec.build_network(assumed=False)
    comparison = cs.nccl.compare_releases(old, new, network, collective, cs.size_range(nbytes))
    rows = list_records(comparison.table)
    if output.write(rows, {"rows": rows, "new_calls": comparison.new_calls}):
        return
    table = [
        row
        | {"nbytes": cs.format_bytes(row["nbytes"])}
        | {name: cs.format_time(row[name]) for name in ("old_time", "new_time")}
        for row in rows
    ]
    show(table, f"{collective} on {network.name}, NCCL {old} and {new}")
    print(comparison.text(language))


def _compare_everywhere(old: str, new: str, collective: str, nbytes: str, language: str, output: TableOutput) -> None:
    """On which machines two versions differ, and the calls that the newer one adds."""
    from ..nccl.release_differences import find_changed_machines

    sizes = cs.size_range(nbytes)
    changed = find_changed_machines(old, new, collective, sizes)
    rows = [
        {"machine": name, "one_node": one_node, "two_nodes": two_nodes}
        for name, (one_node, two_nodes) in changed.items()
    ]
    calls = cs.nccl.compare_releases(old, new, "dgx-a100", collective, sizes[:1]).new_calls
    if output.write(rows, {"machines": rows, "new_calls": calls}):
        return
    differing = [row for row in rows if row["one_node"] or row["two_nodes"]]
    if differing:
        show(differing, f"{collective}, NCCL {old} and {new}")
    summary = cs.errors.Sentence(
        "Of {count} sizes so many differ in algorithm, protocol or time; on {same} of {machines} machines none does.",
        count=len(sizes),
        same=len(rows) - len(differing),
        machines=len(rows),
    )
    print(summary.text(language))
    if calls:
        sentence = cs.errors.Sentence("New calls, none of them in these times: {calls}.", calls="; ".join(calls))
        print(sentence.text(language))


def _format_cell(name: str, value: object) -> str:
    """A cell of the table of `predict`; `None` where NCCL's tuner says nothing."""
    if value is None:
        return "None"
    return _COLUMNS[name](value)


def _parse_times(words: str) -> MeasuredTimes:
    """`8B=13us,1GiB=8.1ms` as a mapping, or the table of a log or trace."""
    if "=" in words:
        times: dict[ByteSize, Duration] = {}
        for pair in words.split(","):
            size, _, time = pair.partition("=")
            times[size] = time
        return times
    table: MeasuredTimes = cs.load(words)
    return table


@command()
def calibrate(
    machine_spec: MachineSpec,
    log: Annotated[Path | None, typer.Argument()] = None,
    here: Annotated[bool, typer.Option("--here")] = False,
    collective: str | None = None,
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Fit the links of your cluster to its own log, and print the residuals; or measure this computer."""
    if here:
        _calibrate_here(log, out, progress, as_json)
        return
    if log is None:
        raise cs.CollsimError("say what to calibrate to: a log of nccl-tests, or --here for this computer")
    fitted = cs.analysis.calibrate(log, machine_spec.build_network(), collective=collective)
    names = ("factors", "fitted_on", "error", "held_out", "residuals")
    if as_json:
        print_json({name: getattr(fitted, name) for name in names})
    else:
        print(fitted)
    if out is not None:
        fitted.save(out)


def _calibrate_here(log: Path | None, out: Path | None, progress: bool | None, as_json: bool) -> None:
    from collsim.display.progress import open_progress
    from collsim.lab.this_computer import calibrate_computer

    if log is not None:
        raise cs.CollsimError("--here measures this computer and takes no log")
    with open_progress(is_progress_shown(progress), "measurements", "done", "in all") as tell:
        host = calibrate_computer(report_progress=tell)
    if as_json:
        print_json(host)
    else:
        print(host)
    if out is not None:
        host.save(out)
