"""`list`, `show` and `verify`: what there is, and what it does, without a clock."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

import collsim as cs
from collsim.display.catalog import format_cell
from collsim.display.progress import open_progress
from collsim.errors import CollsimError, describe_unknown
from collsim.registry import get_algorithm

from .options import (
    AlgorithmOrFile,
    Json,
    Load,
    Progress,
    TableOutput,
    find_algorithm,
    is_progress_shown,
    load_stored_schedule,
    parse_algorithm_options,
    require_writable,
)
from .output import print_json, show
from .shell import EXTRA, command

#: Ranks of a schedule that is shown, and numbers of ranks that are verified, unless others are given.
_RANKS, _RANK_RANGE = 4, "1:33"


@command("list")
def list_(
    what: Annotated[
        str, typer.Argument(autocompletion=lambda incomplete: [name for name in _LISTS if name.startswith(incomplete)])
    ] = "algorithms",
    *,
    output: TableOutput,
) -> None:
    """What there is: algorithms, machines, topologies, collectives, models, file formats."""
    if what not in _LISTS:
        raise CollsimError(describe_unknown("list", what, _LISTS))
    rows = _LISTS[what]()
    if not output.write(rows):
        show([{heading: format_cell(value) for heading, value in row.items()} for row in rows], what)


def _list_topologies() -> list[dict[str, object]]:
    return [{"name": name, "what": _summarize(build)} for name, build in cs.topology.NETWORKS.items()]


def _summarize(function: Callable[..., object]) -> str:
    """The first paragraph of its docstring in one line."""
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())


_LISTS: dict[str, Callable[[], list[dict[str, object]]]] = {
    "algorithms": lambda: cs.algorithms().rows(),
    "machines": lambda: cs.machines().rows(),
    "topologies": _list_topologies,
    "collectives": lambda: cs.collectives().rows(),
    "models": lambda: cs.models().rows(),
    "formats": lambda: cs.io.formats().rows(),
}


@command("show", context_settings=EXTRA)
def show_(
    context: typer.Context,
    algorithm: AlgorithmOrFile,
    ranks: int | None = None,
    load: Load = None,
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    as_json: Json = False,
) -> None:
    """The schedule as text: a row per rank, a column per step (`+2←3` adds chunk 2 from rank 3, `=2←3` copies it).

    Options of the algorithm itself go after its name, as --chunks 4 or --root 2.
    """
    if out is not None:
        require_writable("schedule", out)
    options = parse_algorithm_options(context)
    stored = load_stored_schedule(algorithm, load, options, ranks)
    if stored is None:
        plan = find_algorithm(algorithm, load)(_RANKS if ranks is None else ranks, **options)
    else:  # which may be empty, as that of one rank
        plan = stored
    if out is not None:
        cs.save(plan, out)
    if as_json:
        names = plan.transfers.dtype.names or ()
        columns = {name: plan.transfers[name].tolist() for name in names}
        print_json({"name": plan.name, "ranks": plan.ranks, "chunks": plan.chunks, **columns})
        return
    print(plan)
    if stored is not None:
        return
    entry = get_algorithm(plan.name)
    print(f"\n{entry.doc}")
    if entry.source:
        print(f"{entry.summary[0]}\nSource: {entry.source}")


@command(context_settings=EXTRA)
def verify(
    context: typer.Context,
    algorithm: str,
    ranks: Annotated[str | None, typer.Option(help=f"One number, or first:last; {_RANK_RANGE} unless given.")] = None,
    load: Load = None,
    progress: Progress = None,
    *,
    output: TableOutput,
) -> None:
    """Check that an algorithm does what its collective promises, for many numbers of ranks, or that the schedule of a
    file does. Exit code 1 if not. Numbers that the algorithm does not take are left out, and listed."""
    options = parse_algorithm_options(context)
    stored = load_stored_schedule(algorithm, load, options, ranks)
    if stored is None:
        entry = find_algorithm(algorithm, load)
        name, build = entry.name, lambda n: entry(n, **options)
        checked, left_out = _split_rank_counts(entry, _RANK_RANGE if ranks is None else ranks)
    else:
        name, build = algorithm, lambda _: stored
        checked, left_out = [stored.ranks], []
    failed = _find_failures(build, checked, is_progress_shown(progress))
    if failed:
        first = min(failed)
        text = f"{name}: {len(failed)} of {len(checked)} numbers of ranks fail; the first, n={first}:\n{failed[first]}"
    else:
        text = f"{name}: correct for n = {cs.units.format_numbers(checked)}"
        if left_out:
            text += f"; it does not take {cs.units.format_numbers(left_out)}"
    rows = [{"ranks": n, "correct": n not in failed, "error": failed.get(n)} for n in checked]
    if not output.write(rows, {"algorithm": name, "checked": checked, "left_out": left_out, "failed": failed}):
        print(text)
    if failed:
        raise typer.Exit(1)


def _split_rank_counts(entry: cs.Algorithm, ranks: str) -> tuple[list[int], list[int]]:
    """Numbers of ranks that an algorithm takes, and those that it refuses by its own rule, which are no failures."""
    counts = _parse_rank_range(ranks)
    taken = [n for n in counts if entry.ranks is None or entry.ranks(n) is None]
    if not taken:
        message = "{name} takes none of ranks={ranks}: {reason}"
        raise CollsimError(message, name=entry.name, ranks=ranks, reason=entry.ranks and entry.ranks(counts[0]))
    return taken, sorted(set(counts) - set(taken))


def _find_failures(build: Callable[[int], cs.Schedule], checked: list[int], bar: bool) -> dict[int, str]:
    """Numbers of ranks for which a schedule is wrong, and why."""
    failed: dict[int, str] = {}
    with open_progress(bar, "numbers of ranks") as tell:
        for done, n in enumerate(checked, 1):
            try:
                cs.verify(build(n))
            except CollsimError as error:
                failed[n] = str(error)
            if tell is not None:
                tell(done, len(checked))
    return failed


def _parse_rank_range(text: str) -> list[int]:
    first, _, last = text.partition(":")
    try:
        low, high = int(first), int(last or first)
    except ValueError:
        raise CollsimError("ranks {text!r} must be a number or first:last, for example 2:33", text=text) from None
    if not 1 <= low <= high <= 4096:
        raise CollsimError("ranks {text!r}: 1 <= first <= last <= 4096", text=text)
    return list(range(low, high + 1))
