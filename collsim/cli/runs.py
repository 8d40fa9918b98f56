"""`run`, `compare`, `sweep` and `routing`: how long it takes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np
import typer

import collsim as cs
from collsim.simulate import Engine, expected_cost

from ..analysis.ranking import get_sort_key, round_time
from ..collective import get_collective, translate_collective
from ..errors import Sentence
from ..sweep.gap_closing import SynthesisRace, close_gap
from ..sweep.synthesized_algorithm import SYNTHESIZED
from ..topology.fabrics import ROUTINGS
from .options import (
    AlgorithmOrFile,
    CountOrRanks,
    Json,
    Load,
    MachineSpec,
    Prices,
    Progress,
    Size,
    Sizes,
    Switches,
    Synthesize,
    TableOutput,
    TimingOptions,
    find_algorithm,
    is_progress_shown,
    load_schedule,
    load_stored_schedule,
    parse_algorithm_options,
    parse_ranks,
    print_assumptions,
    require_synthesis,
    require_writable,
)
from .output import build_race_record, list_records, print_json, show, show_race
from .shell import EXTRA, command
from .streams import print_note

if TYPE_CHECKING:
    import pandas as pd

    from ..simulate.run import Cost

_LONG = 2.0  # s: of what is expected to take longer it is said beforehand
_SIZES = "1KiB:1GiB:4"  # that are compared, unless given
#: Columns of times that `routing` prints, and what they are in a record.
_ROUTING_TIMES = {"best": "best", "median": "median", "99 %": "p99", "worst": "worst"}


CollectiveAndFiles = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="COLLECTIVE FILE",
        help="the collective (allreduce unless given), and files of schedules to compare with it: x.xml",
    ),
]
Compared = Annotated[
    list[str] | None, typer.Option(help="Only these, names or files; all of the collective unless given.")
]
Drawn = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        help="Also write x.html, x.gif, x.png or x.json; with --synthesize of what was found, x.xml too.",
    ),
]


@command(context_settings=EXTRA)
def run(
    context: typer.Context,
    algorithm: AlgorithmOrFile,
    machine_spec: MachineSpec,
    timing: TimingOptions,
    ranks: CountOrRanks = None,
    nbytes: Size = "64MiB",
    load: Load = None,
    beside: list[str] | None = None,
    synthesize: Synthesize = False,
    switches: Switches = True,
    out: Drawn = None,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Time one algorithm, or the schedule of a file, on one machine or network. Options of the algorithm itself:
    --channels 8, --root 2 ..."""
    options = parse_algorithm_options(context)
    build, numbers, count = _find_schedule(algorithm, load, ranks, options)
    network = machine_spec.build_network(count, assumed=False)
    plan = build(network)
    if beside and synthesize:
        raise cs.CollsimError("--synthesize is for one run alone; leave out --beside")
    require_synthesis(synthesize, switches)
    if out is not None and not beside:
        require_writable(_find_file_kind(out, synthesize), out)
    if beside:
        _run_together(plan, numbers, beside, network, nbytes, timing, out, progress, as_json)
        return
    # How long it will take is said before it begins.
    what = plan, network, nbytes, timing.dtype, timing.named_engine
    _print_cost(expected_cost(*what, ranks=numbers, **timing.conditions))
    cs.verify(plan)
    trace = timing.simulate(plan, network, nbytes, is_progress_shown(progress), numbers)
    race = None
    if synthesize:
        race = trace.close_gap(switches=switches, progress=is_progress_shown(progress))
    if out is not None:
        _save_run(trace, race, out)

    # A file's assumptions are judged by what they change of this run's time.
    def time(other: cs.Topology) -> float:
        return timing.simulate(build(other), other, nbytes, ranks=numbers).time

    print_assumptions(network, time)
    if as_json:
        _print_run_json(trace, race)
        return
    print(trace)
    _print_channels(plan, "channels" in options)
    _print_difference(trace)
    show(_list_busiest_links(trace), "busiest links, one direction each")
    if race is not None:
        show_race(race)


def _print_run_json(trace: cs.Trace, race: SynthesisRace | None) -> None:
    """The figures of a run; with --synthesize the race as `synthesis`."""
    record = _build_trace_record(trace)
    if race is not None:
        record["synthesis"] = build_race_record(race)
    print_json(record)


def _find_schedule(
    algorithm: str, load: Path | None, ranks: str | None, options: dict[str, object]
) -> tuple[Callable[[cs.Topology], cs.Schedule], list[int] | None, int | None]:
    """What builds the schedule for a topology (a file holds the same for every one), the numbers of its ranks where
    they are named, and how many they are."""
    selected = parse_ranks(ranks)
    numbers, count = (selected, len(selected)) if isinstance(selected, list) else (None, selected)
    stored = load_stored_schedule(algorithm, load, options, count)
    if stored is not None:
        return lambda _: stored, numbers, stored.ranks
    entry = find_algorithm(algorithm, load)
    return lambda network: cs.schedule(entry, ranks=count, topology=network, **options), numbers, count


@command(context_settings=EXTRA)
def routing(
    context: typer.Context,
    algorithm: AlgorithmOrFile,
    machine_spec: MachineSpec,
    ranks: CountOrRanks = None,
    nbytes: Size = "64MiB",
    only: list[str] | None = None,
    seeds: int = 100,
    dtype: str = "float32",
    engine: str = "lockstep",
    load: Load = None,
    progress: Progress = None,
    *,
    output: TableOutput,
) -> None:
    """Time one algorithm with each routing of a leaf-spine, fat-tree or rail fabric, and over many hash seeds: median,
    99 %, and the most flows that meet on a cable."""
    options = parse_algorithm_options(context)
    build, numbers, count = _find_schedule(algorithm, load, ranks, options)
    network = machine_spec.build_network(count)
    plan = build(network)
    cs.verify(plan)
    compared = cs.analysis.compare_routing(
        *(plan, network, nbytes, dtype, cast(Engine, engine)),
        routings=only or ROUTINGS,
        seeds=seeds,
        ranks=numbers,
        progress=is_progress_shown(progress),
    )
    rows = [{"routing": name, **row} for name, entry in compared.items() for row in list_records(entry.to_frame())]
    times = [{**entry.row(), "times": entry.to_frame()} for entry in compared.values()]
    what = {"schedule": plan.label, "machine": network.name, "nbytes": cs.units.parse_bytes(nbytes)}
    if output.write(rows, {**what, "routings": times}):
        return
    show([_format_routing(entry.row()) for entry in compared.values()], f"{plan.label}, {nbytes}, {network.name}")


def _format_routing(row: dict[str, Any]) -> dict[str, str]:
    """A row of `routing` for people."""
    times = {name: cs.units.format_time(row[key]) for name, key in _ROUTING_TIMES.items()}
    seed = {"worst seed": str(row["worst_seed"]), "flows on a cable": f"{row['flows']:.3g}"}
    return {"routing": row["routing"], "runs": str(row["runs"]), **times, **seed}


def _find_file_kind(out: Path, synthesize: bool) -> str:
    """What `--out` holds: a run where its suffix is one of runs, or nothing is synthesized; else the schedule found."""
    runs = (f.suffixes for f in cs.io.formats().values() if f.holds == "trace" and f.write is not None)
    of_run = any(out.name.endswith(suffix) for suffixes in runs for suffix in suffixes)
    if of_run or not synthesize:
        return "trace"
    return "schedule"


def _save_run(trace: cs.Trace, race: SynthesisRace | None, out: Path) -> None:
    """Save a run; where something was synthesized, that: its run in a format of runs, else its schedule (x.xml ...)."""
    if race is None:
        trace.save(out)
    elif _find_file_kind(out, synthesize=True) == "trace":
        race.trace.save(out)
    else:
        cs.save(race.schedule, out)


def _print_channels(plan: cs.Schedule, are_pinned: bool) -> None:
    """How many channels a run took that named none."""
    if not are_pinned and "channels" in plan.options:
        print(f"channels {plan.options['channels']}, all that the machine offers; --channels 1 for a single one")


def _print_difference(trace: cs.Trace) -> None:
    """Where what NCCL is measured to take is far from this simulation: which term makes the difference."""
    line = cs.nccl.explain_difference(trace)
    if line is not None:
        print(line)


def _run_together(
    plan: cs.Schedule,
    numbers: list[int] | None,
    companions: list[str],
    network: cs.Topology,
    nbytes: str,
    timing: TimingOptions,
    out: Path | None,
    progress: Any,
    as_json: bool,
) -> None:
    """Several collectives at once, all of the same size: a row for each, with its slow-down."""
    if timing.engine != "event":
        message = "--beside needs --engine event, got {engine!r}: a barrier after each step would tie them together"
        raise cs.CollsimError(message, engine=timing.engine)
    others = [_parse_companion(word, plan, network) for word in companions]
    plans, ranks = [plan, *(s for s, _ in others)], [numbers, *(r for _, r in others)]
    what: tuple[cs.Topology, str, str, Engine] = (network, nbytes, timing.dtype, "event")
    # Runs alone are timed as well, because the slow-down is a ratio to them.
    _print_cost(
        expected_cost(plans, *what, ranks=ranks, **timing.conditions),
        *(expected_cost(s, *what, ranks=r, **timing.conditions) for s, r in zip(plans, ranks, strict=True)),
    )
    for schedule in plans:
        cs.verify(schedule)
    together = cs.simulate(plans, *what, ranks=ranks, progress=is_progress_shown(progress), **timing.conditions)
    if out is not None:
        together.save(out)
    table = together.to_frame()[["algorithm", "ranks", "nbytes", "alone", "time", "slowdown"]]
    if as_json:
        print_json({"time": together.time, "collectives": list_records(table)})
        return
    formats = {"alone": cs.format_time, "time": cs.format_time, "nbytes": cs.format_bytes, "slowdown": "{:.3g}".format}
    show(
        [{name: formats.get(name, str)(value) for name, value in row.items()} for row in list_records(table)],
        f"at once on {network.name}",
    )


def _parse_companion(word: str, plan: cs.Schedule, network: cs.Topology) -> tuple[cs.Schedule, list[int] | None]:
    """`allreduce_ring@0-3` or `@0,8` as a schedule and its ranks; without ranks those of the run, and its own algorithm
    with the options of the run."""
    name, separator, listed = word.partition("@")
    if not separator and name == plan.name:
        return plan, None
    if not separator:
        return cs.schedule(name, ranks=plan.ranks, topology=network), None
    ranks: list[int] = []
    for part in listed.split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        first, last = 0, -1
        if match:
            first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < network.ranks:
            where = Sentence("{name} has ranks 0 to {last}", name=network.name, last=network.ranks - 1)
            message = "--beside {word!r}: {part!r} names no ranks ({where}); write algorithm@0-7 or algorithm@0,8"
            raise cs.CollsimError(message, word=word, part=part, where=where)
        ranks += range(first, last + 1)
    return cs.schedule(name, ranks=len(ranks)), ranks


def _print_cost(cost: Cost, *later: Cost) -> None:
    """What a long run will take, before it starts, with others that come after it."""
    seconds = sum(c.seconds for c in (cost, *later))
    if seconds > _LONG:
        expected = f"up to about {seconds:,.0f} s and {cs.format_bytes(cost.memory)} of memory"
        print_note(f"collsim: {cost.transfers:,} transfers; {expected} ({cost.how}); Ctrl-C stops it")


def _build_trace_record(trace: cs.Trace) -> dict[str, object]:
    bottleneck = None
    if (link := trace.bottleneck) is not None:
        bottleneck = {"link": link.name, "kind": link.kind, "busy_share": link.busy_share, "savings": link.savings}
    return {
        **trace.row(),
        "channels": trace.schedule.channels,
        "bottleneck": bottleneck,
        "sent_bytes": trace.sent_bytes.tolist(),
        "links": list_records(trace.links[trace.links.bytes > 0]),
    }


def _list_busiest_links(trace: cs.Trace) -> list[dict[str, object]]:
    links = trace.topology.links
    top = [int(link) for link in np.argsort(-trace.link_busy, kind="stable") if trace.link_bytes[link] > 0][:8]
    return [
        {
            "link": trace.topology.link_name(link),
            "what": links.cables[links.cable[link]].label,
            "bandwidth": cs.format_bandwidth(links.bandwidth[link]),
            "bytes": cs.format_bytes(trace.link_bytes[link]),
            "busy": f"{100 * trace.link_busy[link] / trace.duration:.3g} %",
        }
        for link in top
    ]


@command()
def compare(
    machine_spec: MachineSpec,
    timing: TimingOptions,
    what: CollectiveAndFiles = None,
    collective: str | None = None,
    algorithm: Compared = None,
    nbytes: Sizes = _SIZES,
    synthesize: Synthesize = False,
    switches: Switches = True,
    channels: int | None = None,
    chunks: int | None = None,
    model: str | None = None,
    batch: int | None = None,
    micro_batch: int | None = None,
    progress: Progress = None,
    *,
    output: TableOutput,
) -> None:
    """Time the algorithms of a collective over sizes, each at its best channels and chunks: a row each, the fastest of
    a size marked with *, the best at the largest first. With --synthesize --json holds `rows`, and `synthesis` at the
    largest size. With --model: the ways of splitting a step of training, each at its best buckets or servers."""
    require_synthesis(synthesize, switches)
    _require_alone(
        model,
        {"synthesize": synthesize, "collective": bool(what) or collective is not None, "algorithm": algorithm,
         "nbytes": nbytes != _SIZES, "channels": channels, "chunks": chunks},
        {"batch": batch, "micro-batch": micro_batch},
    )  # fmt: skip
    if model is not None:
        network = machine_spec.build_network()
        _compare_strategies(model, network, batch, micro_batch, timing.dtype, progress, output)
        return
    # Words may be the collective and schedule files in any order.
    kind, stored = _split_words(what or [], collective)
    network = machine_spec.build_network(next((schedule.ranks for schedule in stored), None), assumed=False)
    sizes, entries = cs.size_range(nbytes), _choose_algorithms(kind, algorithm, stored, synthesize)
    frame = cs.compare(
        kind,
        network,
        sizes,
        algorithm=entries,
        channels=channels,
        chunks=chunks,
        dtype=timing.dtype,
        engine=(timing.engine, timing.conditions),
        switches=switches,
        progress=is_progress_shown(progress),
    )
    print_assumptions(network, _build_timer(kind, frame, entries, timing))
    rows, record, race = list_records(frame), None, None
    if synthesize:
        # The race is run at the largest size, where bandwidth decides.
        race = _run_race(kind, network, sizes[-1], timing.dtype, switches, progress)
        record = {"rows": rows, "synthesis": race and build_race_record(race)}
    if not output.write(rows, record):
        _show_comparison(f"{kind} on {network.name}", frame, sizes, race)


def _show_comparison(title: str, frame: pd.DataFrame, sizes: list[int], race: SynthesisRace | None) -> None:
    """The table for people, what could not run, and the race."""
    rows = list_records(frame)
    _show_times(title, rows, sizes)
    print(f"channels × chunks: each at its best of {frame.attrs['search']}, said behind a time where not 1 × 1")
    for name, error in {row["algorithm"]: row["error"] for row in rows if row["error"] is not None}.items():
        print(f"{name}: {error}")
    if race is not None:
        show_race(race)


def _show_times(title: str, rows: list[dict[str, Any]], sizes: list[int]) -> None:
    """A row for each algorithm, a column for each size, the best at the largest first."""
    fastest = {
        size: min((r["time"] for r in rows if r["nbytes"] == size and r["error"] is None), default=math.nan)
        for size in sizes
    }
    runnable = [row for row in rows if row["error"] is None]
    by_choice: dict[str, dict[int, str]] = {}
    for row in sorted(runnable, key=lambda row: (-row["nbytes"], *get_sort_key(row["time"], row["algorithm"]))):
        by_choice.setdefault(row["algorithm"], {})[row["nbytes"]] = _format_cell(row, fastest[row["nbytes"]])
    table = [
        {"algorithm": name, **{cs.format_bytes(size): cells[size] for size in sizes}}
        for name, cells in by_choice.items()
    ]
    show(table, title)


def _split_words(words: list[str], collective: str | None) -> tuple[str, list[cs.Schedule]]:
    """The collective and the schedules of files among the arguments of `compare`."""
    entries = list(map(_read_entry, words))
    names = [entry for entry in entries if isinstance(entry, str)]
    stored = [entry for entry in entries if isinstance(entry, cs.Schedule)]
    if collective is not None:
        names.append(collective)
    if len(set(names)) > 1:
        message = "compare takes one collective, got {names}; algorithms are named by --algorithm"
        raise cs.CollsimError(message, names=" and ".join(names))
    kinds = [get_collective(schedule.collective).name for schedule in stored]
    return translate_collective((names or kinds or ["allreduce"])[0]), stored


def _choose_algorithms(
    collective: str, named: list[str] | None, stored: list[cs.Schedule], synthesize: bool
) -> list[str | cs.Schedule] | None:
    """What to compare: the algorithms and files of --algorithm, else all of the collective; then the other files."""
    if named is None and not stored and not synthesize:
        return None
    entries = [*map(_read_entry, named or cs.algorithms(collective)), *stored]
    if synthesize and SYNTHESIZED not in entries:
        entries.append(SYNTHESIZED)
    return entries


def _read_entry(word: str) -> str | cs.Schedule:
    """The schedule of a file, called as the file; any other word as it is."""
    schedule = load_schedule(word)
    if schedule is None:
        return word
    return replace(schedule, name=Path(word).name)


def _run_race(
    collective: str, network: cs.Topology, nbytes: int, dtype: str, switches: bool, progress: bool | None
) -> SynthesisRace | None:
    """What is synthesized for the largest size, raced; None where nothing is, and the table says why."""
    try:
        return close_gap(
            collective, network, nbytes, dtype=dtype, switches=switches, progress=is_progress_shown(progress)
        )
    except cs.CollsimError:
        return None


def _require_alone(model: str | None, collectives: dict[str, object], steps: dict[str, object]) -> None:
    """Raises CollsimError for an option of collectives beside a model, and of steps of training without one."""
    for option, value in steps.items():
        if value and model is None:
            raise cs.CollsimError("--{option} is for a step of training; say of which --model", option=option)
    for option, value in collectives.items():
        if value and model is not None:
            raise cs.CollsimError("--{option} is for a collective; leave out --model", option=option)


def _compare_strategies(
    model: str,
    network: cs.Topology,
    batch: int | None,
    micro_batch: int | None,
    dtype: str,
    progress: bool | None,
    output: TableOutput,
) -> None:
    """The ways of splitting a model, a row each, the fastest first."""
    from .training import find_model

    frame = cs.compare(
        find_model(model),
        network,
        batch=batch,
        micro_batch=micro_batch,
        dtype=dtype,
        progress=is_progress_shown(progress),
    )
    rows = list_records(frame)
    if output.write(rows):
        return
    formats = {"time": cs.format_time, "exposed": cs.format_time, "bubble": cs.format_time, "memory": _format_size}
    table = [
        {
            "parallel": row["parallel"],
            **{name: format_value(row[name]) for name, format_value in formats.items()},
            "tried": row["tried"],
        }
        for row in rows
        if row["error"] is None
    ]
    show(table, f"{model} on {network.name}")
    print(f"the best of: {frame.attrs['search']}")
    if frame.attrs["collectives"] == "links":
        print("collectives take what the links alone take: no launch, no protocol (NCCL's model knows not all of them)")
    for row in rows:
        if row["error"] is not None:
            print(f"{row['parallel']}: {row['error']}")


def _format_size(nbytes: float) -> str:
    return cs.format_bytes(round(nbytes))


def _build_timer(
    collective: str, frame: Any, entries: list[str | cs.Schedule] | None, timing: TimingOptions
) -> Callable[[cs.Topology], float]:
    """Seconds of the algorithm that is the fastest at the largest size, on another topology, again at its best."""
    runnable = frame[frame["error"].isna()]
    last = runnable[runnable["nbytes"] == runnable["nbytes"].max()]
    stored = {entry.name: entry for entry in entries or () if isinstance(entry, cs.Schedule)}

    def time(network: cs.Topology) -> float:
        if last.empty:
            raise cs.CollsimError("nothing could run")
        name, size = last["algorithm"].iloc[0], int(last["nbytes"].iloc[0])
        engine = (timing.engine, timing.conditions)
        chosen = [stored.get(name, name)]
        table = cs.compare(collective, network, size, algorithm=chosen, dtype=timing.dtype, engine=engine)
        return float(table["time"].iloc[0])

    return time


def _format_cell(row: dict[str, Any], best: float) -> str:
    """`2.61 ms* (8 × 4)`: the time, is it the fastest, and the channels and chunks it took where they are not one."""
    text = str(cs.format_time(row["time"]))
    if round_time(row["time"]) == round_time(best):
        text += "*"
    if (row["channels"], row["chunks"]) != (1, 1):
        text += f" ({row['channels']} × {row['chunks']})"
    return text


@command()
def sweep(
    plan: Path,
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    price: Prices = None,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Simulate every combination of a plan; results are on disk as they come."""
    from collsim.sweep.plan import read_plan
    from collsim.sweep.store import parse_options

    arguments = read_plan(plan)
    if price:
        from collsim.purchases.part_prices import parse_price_texts

        arguments["prices"] = {**arguments.get("prices", {}), **parse_price_texts(price)}
    frame = cs.sweep(**arguments, out=out, progress=is_progress_shown(progress))
    if as_json:
        print_json([parse_options(row) for row in list_records(frame)])
    elif out is None:
        print(frame.to_string(max_rows=40))
    note = f"{len(frame)} scenarios, {frame['error'].count()} could not run"
    if out is not None:
        note += f"; written to {out}"
    print_note(note)
