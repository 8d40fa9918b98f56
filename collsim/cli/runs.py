"""`run`, `compare` and `sweep`: how long it takes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import collsim as cs
from collsim.simulate import Engine

from ..analysis.standing import counted, standing
from ..errors import Sentence
from ..sweep.closing import SynthesisRace
from ..sweep.synthesized import SYNTHESIZED
from .options import (
    AlgorithmOrFile,
    Json,
    Load,
    Place,
    Progress,
    Ranks,
    Size,
    Sizes,
    Switches,
    Synthesize,
    TableFile,
    TimingOptions,
    algorithm_of,
    load_schedule,
    own_options,
    require_synthesis,
    say_assumed,
    wanted,
    writable,
)
from .shell import EXTRA, command
from .streams import print_note
from .tables import print_json, race_record, records, require_table_file, save_rows, show, show_race

_LONG = 2.0  # s: of what is expected to take longer it is said beforehand
_SIZES = "1KiB:1GiB:4"  # that are compared, unless given


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
    place: Place,
    timing: TimingOptions,
    ranks: Ranks = None,
    nbytes: Size = "64MiB",
    load: Load = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(help="At the same time: algorithm (on the ranks of the run), algorithm@0-7 or @0,8."),
    ] = None,
    synthesize: Synthesize = False,
    switches: Switches = True,
    out: Drawn = None,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Time one algorithm, or the schedule of a file, on one machine or network. Options of the algorithm itself:
    --channels 8, --root 2 ..."""
    own = own_options(context)
    build, ranks = _find_schedule(algorithm, load, ranks, own)
    network = place.network(ranks, assumed=False)
    plan = build(network)
    if beside and synthesize:
        raise cs.CollsimError("--synthesize is for one run alone; leave out --beside")
    require_synthesis(synthesize, switches)
    if out is not None and not beside:
        writable(_kind_of(out, synthesize), out)
    if beside:
        _run_together(plan, beside, network, nbytes, timing, out, progress, as_json)
        return
    _say_cost(cs.expected_cost(plan, network, nbytes, timing.dtype, timing.named_engine, **timing.conditions))
    cs.verify(plan)
    trace = cs.simulate(
        plan, network, nbytes, timing.dtype, timing.named_engine, progress=wanted(progress), **timing.conditions
    )
    race = trace.close_gap(switches=switches, progress=wanted(progress)) if synthesize else None
    if out is not None:
        trace.save(out) if race is None else _save_found(race, out)

    def time(other: cs.Topology) -> float:
        return float(
            cs.simulate(build(other), other, nbytes, timing.dtype, timing.named_engine, **timing.conditions).time
        )

    say_assumed(network, time)
    if as_json:
        print_json(_trace_record(trace) | ({} if race is None else {"synthesis": race_record(race)}))
        return
    print(trace)
    _say_channels(plan, "channels" in own)
    _say_apart(trace)
    show(_busiest(trace), "busiest links, one direction each")
    if race is not None:
        show_race(race)


def _find_schedule(
    algorithm: str, load: Path | None, ranks: int | None, own: dict[str, Any]
) -> tuple[Callable[[cs.Topology], cs.Schedule], int | None]:
    """What builds the schedule for a topology, and its number of ranks; a file holds the same for every topology."""
    stored = None if load is not None else load_schedule(algorithm)
    if stored is None:
        entry = algorithm_of(algorithm, load)
        return lambda network: cs.schedule(entry, ranks=ranks, topology=network, **own), ranks
    if own:
        message = "{name} is the schedule of a file, which has no options; leave out --{option}"
        raise cs.CollsimError(message, name=algorithm, option=next(iter(own)))
    if ranks not in (None, stored.ranks):
        message = "{name} has {count} ranks; leave out --ranks {ranks}"
        raise cs.CollsimError(message, name=algorithm, count=stored.ranks, ranks=ranks)
    return lambda _: stored, stored.ranks


def _kind_of(out: Path, synthesize: bool) -> str:
    """What `--out` holds: a run where its suffix is one of runs, or nothing is synthesized; else the schedule found."""
    runs = (f.suffixes for f in cs.io.formats().values() if f.holds == "trace" and f.write is not None)
    of_run = any(out.name.endswith(suffix) for suffixes in runs for suffix in suffixes)
    return "trace" if of_run or not synthesize else "schedule"


def _save_found(race: SynthesisRace, out: Path) -> None:
    """What was synthesized: its run in a format of runs, else its schedule (MSCCL's x.xml, x.csv ...)."""
    if _kind_of(out, True) == "trace":
        race.trace.save(out)
    else:
        cs.save(race.schedule, out)


def _say_channels(plan: cs.Schedule, told: bool) -> None:
    """How many channels a run took that named none."""
    if not told and "channels" in plan.options:
        print(f"channels {plan.options['channels']}, all that the machine offers; --channels 1 for a single one")


def _say_apart(trace: cs.Trace) -> None:
    """Where what NCCL is measured to take is far from this simulation: which term makes the difference."""
    line = cs.nccl.explain_difference(trace)
    if line is not None:
        print(line)


def _run_together(
    plan: cs.Schedule,
    beside: list[str],
    network: cs.Topology,
    nbytes: str,
    timing: TimingOptions,
    out: Path | None,
    progress: Any,
    as_json: bool,
) -> None:
    """Several collectives at once, all of the same size: a row for each, with its slow-down."""
    if timing.engine != "event":
        why = "--beside needs --engine event, got {engine!r}: a barrier after each step would tie them together"
        raise cs.CollsimError(why, engine=timing.engine)
    others = [_companion(word, plan, network) for word in beside]
    plans, ranks = [plan, *(s for s, _ in others)], [None, *(r for _, r in others)]
    what: tuple[cs.Topology, str, str, Engine] = (network, nbytes, timing.dtype, "event")
    at_once = cs.expected_cost(plans, *what, ranks=ranks, **timing.conditions)
    _say_cost(
        at_once, *(cs.expected_cost(s, *what, ranks=r, **timing.conditions) for s, r in zip(plans, ranks, strict=True))
    )
    for schedule in plans:
        cs.verify(schedule)
    together = cs.simulate(plans, *what, ranks=ranks, progress=wanted(progress), **timing.conditions)
    if out is not None:
        together.save(out)
    table = together.to_frame()[["algorithm", "ranks", "nbytes", "alone", "time", "slowdown"]]
    if as_json:
        print_json({"time": together.time, "collectives": records(table)})
        return
    said = {"alone": cs.format_time, "time": cs.format_time, "nbytes": cs.format_bytes, "slowdown": "{:.3g}".format}
    show(
        [{name: said.get(name, str)(value) for name, value in row.items()} for row in records(table)],
        f"at once on {network.name}",
    )


def _companion(word: str, plan: cs.Schedule, network: cs.Topology) -> tuple[cs.Schedule, list[int] | None]:
    """`allreduce_ring@0-3` or `@0,8` as a schedule and its ranks; without ranks those of the run, and its own algorithm
    with the options of the run."""
    name, at, listed = word.partition("@")
    if not at:
        return plan if name == plan.name else cs.schedule(name, ranks=plan.ranks, topology=network), None
    ranks: list[int] = []
    for part in listed.split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if not first <= last < network.ranks:
            where = Sentence("{name} has ranks 0 to {last}", name=network.name, last=network.ranks - 1)
            why = "--beside {word!r}: {part!r} names no ranks ({where}); write algorithm@0-7 or algorithm@0,8"
            raise cs.CollsimError(why, word=word, part=part, where=where)
        ranks += range(first, last + 1)
    return cs.schedule(name, ranks=len(ranks)), ranks


def _say_cost(cost: Any, *then: Any) -> None:
    """What a long run will take, before it starts, with others that come after it."""
    seconds = sum(c.seconds for c in (cost, *then))
    if seconds > _LONG:
        expected = f"up to about {seconds:,.0f} s and {cs.format_bytes(cost.memory)} of memory"
        print_note(f"collsim: {cost.transfers:,} transfers; {expected} ({cost.how}); Ctrl-C stops it")


def _trace_record(trace: cs.Trace) -> dict[str, Any]:
    neck = trace.bottleneck
    return {
        **trace.row(),
        "channels": trace.schedule.channels,
        "bottleneck": None
        if neck is None
        else {"link": neck.name, "kind": neck.kind, "share": neck.share, "saves": neck.saves},
        "sent_bytes": trace.sent_bytes.tolist(),
        "links": records(trace.links[trace.links.bytes > 0]),
    }


def _busiest(trace: cs.Trace) -> list[dict[str, Any]]:
    links = trace.topology.links
    top = [int(link) for link in np.argsort(-trace.link_busy, kind="stable") if trace.link_bytes[link] > 0][:8]
    return [
        {
            "link": trace.topology.link_name(link),
            "what": links.cables[links.cable[link]].label,
            "bandwidth": cs.format_bandwidth(links.bandwidth[link]),
            "bytes": cs.format_bytes(trace.link_bytes[link]),
            "busy": f"{100 * trace.link_busy[link] / trace.spent:.3g} %",
        }
        for link in top
    ]


@command()
def compare(
    place: Place,
    timing: TimingOptions,
    what: CollectiveAndFiles = None,
    collective: Annotated[str | None, typer.Option(help="The same as the first argument.")] = None,
    algorithm: Compared = None,
    nbytes: Sizes = _SIZES,
    synthesize: Synthesize = False,
    switches: Switches = True,
    channels: Annotated[int | None, typer.Option(help="Pin the channels; the best of a few unless given.")] = None,
    chunks: Annotated[int | None, typer.Option(help="Pin the chunks; the best of a few unless given.")] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Instead: the ways of splitting a step of training of this model, or of a table of layers."),
    ] = None,
    batch: Annotated[int | None, typer.Option(help="Of --model: samples of the step, over all GPUs.")] = None,
    micro_batch: Annotated[int | None, typer.Option(help="Of --model: samples of a GPU at a time.")] = None,
    out: TableFile = None,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Time the algorithms of a collective over sizes, each at its best channels and chunks: a row each, the fastest of
    a size marked with *, the best at the largest first. With --synthesize --json holds `rows`, and `synthesis` at the
    largest size. With --model: the ways of splitting a step of training, each at its best buckets or servers."""
    require_synthesis(synthesize, switches)
    require_table_file(out)
    _require_alone(
        model,
        {"synthesize": synthesize, "collective": bool(what) or collective is not None, "algorithm": algorithm,
         "nbytes": nbytes != _SIZES, "channels": channels, "chunks": chunks},
        {"batch": batch, "micro-batch": micro_batch},
    )  # fmt: skip
    if model is not None:
        _compare_ways(model, place.network(), batch, micro_batch, timing.dtype, progress, out, as_json)
        return
    kind, stored = _split_words(what or [], collective)
    network = place.network(stored[0].ranks if stored else None, assumed=False)
    sizes = cs.size_range(nbytes)
    entries = _choose_algorithms(kind, algorithm, stored, synthesize)
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
        progress=wanted(progress),
    )
    found = records(frame)
    save_rows(found, out)
    say_assumed(network, _time_of_the_fastest(kind, frame, entries, timing))
    race = _race_at(kind, network, sizes[-1], timing.dtype, switches, progress) if synthesize else None
    if as_json:
        synthesis = None if race is None else race_record(race)
        print_json({"rows": found, "synthesis": synthesis} if synthesize else found)
        return
    _show_compared(f"{kind} on {network.name}", found, sizes)
    print(f"channels × chunks: each at its best of {frame.attrs['search']}, said behind a time where not 1 × 1")
    for name, why in {row["algorithm"]: row["error"] for row in found if row["error"] is not None}.items():
        print(f"{name}: {why}")
    if race is not None:
        show_race(race)


def _show_compared(title: str, found: list[dict[str, Any]], sizes: list[int]) -> None:
    """A row for each algorithm, a column for each size, the best at the largest first."""
    fastest = {
        size: min((r["time"] for r in found if r["nbytes"] == size and r["error"] is None), default=math.nan)
        for size in sizes
    }
    ran = [row for row in found if row["error"] is None]
    by_choice: dict[str, dict[int, str]] = {}
    for row in sorted(ran, key=lambda row: (-row["nbytes"], *standing(row["time"], row["algorithm"]))):
        by_choice.setdefault(row["algorithm"], {})[row["nbytes"]] = _cell(row, fastest[row["nbytes"]])
    table = [
        {"algorithm": name, **{cs.format_bytes(size): cells[size] for size in sizes}}
        for name, cells in by_choice.items()
    ]
    show(table, title)


def _split_words(words: list[str], collective: str | None) -> tuple[str, list[cs.Schedule]]:
    """The collective and the schedules of files among the arguments of `compare`."""
    names, stored = [], []
    for word in words:
        schedule = load_schedule(word)
        if schedule is None:
            names.append(word)
        else:
            stored.append(replace(schedule, name=Path(word).name))
    if collective is not None:
        names.append(collective)
    if len(set(names)) > 1:
        message = "compare takes one collective, got {names}; algorithms are named by --algorithm"
        raise cs.CollsimError(message, names=" and ".join(names))
    kinds = [cs.collective(schedule.collective).name for schedule in stored]
    return (names or kinds or ["allreduce"])[0], stored


def _choose_algorithms(
    collective: str, named: list[str] | None, stored: list[cs.Schedule], synthesize: bool
) -> list[str | cs.Schedule] | None:
    """What to compare: the algorithms and files of --algorithm, else all of the collective; then the other files."""
    if named is None and not stored and not synthesize:
        return None
    entries: list[str | cs.Schedule] = []
    for name in named or cs.algorithms(collective):
        schedule = load_schedule(name)
        entries.append(name if schedule is None else replace(schedule, name=Path(name).name))
    entries += stored
    return [*entries, SYNTHESIZED] if synthesize and SYNTHESIZED not in entries else entries


def _race_at(
    collective: str, network: cs.Topology, nbytes: int, dtype: str, switches: bool, progress: bool | None
) -> SynthesisRace | None:
    """What is synthesized for the largest size, raced; None where nothing is, and the table says why."""
    try:
        return cs.close_gap(collective, network, nbytes, dtype=dtype, switches=switches, progress=wanted(progress))
    except cs.CollsimError:
        return None


def _require_alone(model: str | None, collectives: dict[str, Any], steps: dict[str, Any]) -> None:
    """Raises CollsimError for an option of collectives beside a model, and of steps of training without one."""
    for option, given in (steps if model is None else collectives).items():
        if given and model is None:
            raise cs.CollsimError("--{option} is for a step of training; say of which --model", option=option)
        if given:
            raise cs.CollsimError("--{option} is for a collective; leave out --model", option=option)


def _compare_ways(
    model: str,
    network: cs.Topology,
    batch: int | None,
    micro_batch: int | None,
    dtype: str,
    progress: bool | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """The ways of splitting a model, a row each, the fastest first."""
    from .training import model_of

    given = {"batch": batch, "micro_batch": micro_batch, "dtype": dtype, "progress": wanted(progress)}
    frame = cs.compare(model_of(model), network, **given)
    found = records(frame)
    save_rows(found, out)
    if as_json:
        print_json(found)
        return
    said = {"time": cs.format_time, "exposed": cs.format_time, "bubble": cs.format_time, "memory": _size}
    ran = [row for row in found if row["error"] is None]
    table = [
        {"parallel": row["parallel"], **{name: say(row[name]) for name, say in said.items()}, "tried": row["tried"]}
        for row in ran
    ]
    show(table, f"{model} on {network.name}")
    print(f"the best of: {frame.attrs['search']}")
    for row in found:
        if row["error"] is not None:
            print(f"{row['parallel']}: {row['error']}")


def _size(nbytes: float) -> str:
    return cs.format_bytes(round(nbytes))


def _time_of_the_fastest(
    collective: str, frame: Any, entries: list[str | cs.Schedule] | None, timing: TimingOptions
) -> Callable[[cs.Topology], float]:
    """Seconds of the algorithm that is the fastest at the largest size, on another topology, again at its best."""
    ran = frame[frame["error"].isna()]
    last = ran[ran["nbytes"] == ran["nbytes"].max()]
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


def _cell(row: dict[str, Any], best: float) -> str:
    """`2.61 ms* (8 × 4)`: the time, is it the fastest, and the channels and chunks it took where they are not one."""
    chosen = "" if row["channels"] == row["chunks"] == 1 else f" ({row['channels']} × {row['chunks']})"
    return cs.format_time(row["time"]) + ("*" if counted(row["time"]) == counted(best) else "") + chosen


@command()
def sweep(
    plan: Annotated[Path, typer.Argument(help="A YAML file; docs/sweeps.md describes it.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="x.parquet, x.csv, x.json or x.sqlite; a killed sweep goes on.")
    ] = None,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Simulate every combination of a plan; results are on disk as they come."""
    from collsim.sweep.plan import read_plan
    from collsim.sweep.store import parse_options

    frame = cs.sweep(**read_plan(plan), out=out, progress=wanted(progress))
    if as_json:
        print_json([parse_options(row) for row in records(frame)])
    elif out is None:
        print(frame.to_string(max_rows=40))
    failed = int(frame["error"].notna().sum()) if "error" in frame else 0
    print_note(f"{len(frame)} scenarios, {failed} could not run" + (f"; written to {out}" if out else ""))
