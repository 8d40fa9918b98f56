"""The command line: the words of the API, tables for people, `--json` for machines.

Exit codes: 0 all is well; 1 something was checked and is wrong; 2 a mistake in what was asked, told in one sentence.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import collsim as cs
from collsim.errors import CollsimError, unknown
from collsim.registry import find
from collsim.registry import load as load_algorithm
from collsim.sweep.plan import read_plan
from collsim.topology.spec import parse_topology

P = ParamSpec("P")
app = typer.Typer(
    help="See collective communication move, check it, and trust the numbers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
EXTRA = {"allow_extra_args": True, "ignore_unknown_options": True}


def says_mistakes(command: Callable[P, None]) -> Callable[P, None]:
    """A user's mistake is one sentence on stderr and exit code 2, never a traceback."""

    @wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except CollsimError as error:
            print(f"collsim: {error}", file=sys.stderr)
            raise typer.Exit(2) from None
        except BrokenPipeError:
            sys.stderr.close()
            raise typer.Exit(0) from None

    return guarded


def _version(asked: bool) -> None:
    if asked:
        print(f"collsim {cs.__version__}")
        raise typer.Exit(0)


@app.callback()
def main_options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")] = False,
) -> None:
    """See collective communication move, check it, and trust the numbers."""


Machine = Annotated[str | None, typer.Option(help="A machine by name, see `collsim list machines`.")]
Network = Annotated[str | None, typer.Option(help="A generic network: 'ring(8, bandwidth=25GB/s, alpha=1us)'.")]
Nodes = Annotated[int, typer.Option(help="How many of the machine, joined by its network.")]
Ranks = Annotated[int | None, typer.Option(help="Ranks; all of the machine or network unless given.")]
Size = Annotated[str, typer.Option(help="nccl-tests' size: '256MiB', '1GB', or bytes.")]
Sizes = Annotated[str, typer.Option(help="Sizes first:last:factor, as '1KiB:1GiB:4'.")]
Dtype = Annotated[str, typer.Option(help="Element type, as NCCL names them.")]
Engine = Annotated[str, typer.Option(help="lockstep: a barrier after each step; event: none.")]
Sharing = Annotated[str | None, typer.Option(help="Of the event engine: fair, fifo (store and forward) or none.")]
P2P = Annotated[bool, typer.Option("--p2p/--no-p2p", help="GPUDirect P2P between the GPUs of a node.")]
GDR = Annotated[bool, typer.Option("--gdr/--no-gdr", help="GPUDirect RDMA between GPU and NIC.")]
Fabric = Annotated[
    str, typer.Option(help="What joins the nodes: switch, leaf-spine, fat-tree, rail, rail-only, planes, torus, mesh, dragonfly.")
]
Oversubscription = Annotated[float, typer.Option(help="Ports down / capacity up of a leaf switch.")]
File = Annotated[Path | None, typer.Option("--topology-file", help="nvidia-smi topo -m, NCCL topology XML, or our YAML.")]
Language = Annotated[str, typer.Option(help="en or zh.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Load = Annotated[Path | None, typer.Option(help="A Python file that registers algorithms of your own; it is run.")]


@app.command("list")
@says_mistakes
def list_(
    what: Annotated[str, typer.Argument(help="algorithms, machines, topologies, collectives or formats")] = "algorithms",
    as_json: Json = False,
) -> None:
    """What there is: algorithms, machines, topologies, collectives, file formats."""
    tables: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "algorithms": _algorithm_rows,
        "machines": lambda: [{"name": name, "what": str(about)} for name, about in cs.machines().items()],
        "topologies": lambda: [{"name": name, "what": (f.__doc__ or "").split("\n")[0]} for name, f in cs.topology.NETWORKS.items()],
        "collectives": _collective_rows,
        "formats": _format_rows,
    }
    if what not in tables:
        raise CollsimError(unknown("list", what, tables))
    _show(tables[what](), what, as_json)


def _algorithm_rows() -> list[dict[str, Any]]:
    return [
        {"name": a.name, "collective": a.collective, "options": ", ".join(o for o in a.options if o != "topology"), "what": a.doc}
        for a in cs.algorithms().values()
    ]


def _collective_rows() -> list[dict[str, Any]]:
    return [
        {"name": c.name, "before": c.before, "after": c.after, "reduces": c.reduces, "busbw / algbw at n=8": round(c.busbw(8), 4)}
        for c in cs.collectives().values()
    ]


def _format_rows() -> list[dict[str, Any]]:
    return [
        {
            "name": f.name,
            "suffixes": " ".join(f.suffixes),
            "holds": f.holds,
            "read": "yes" if f.read else "",
            "write": "yes" if f.write else "",
            "what": f.about,
        }
        for f in cs.formats().values()
    ]


@app.command(context_settings=EXTRA)
@says_mistakes
def show(
    context: typer.Context,
    algorithm: Annotated[str, typer.Argument(help="for example allreduce_ring")],
    ranks: Annotated[int, typer.Option(help="Number of ranks.")] = 4,
    load: Load = None,
    as_json: Json = False,
) -> None:
    """The schedule as text: a row per rank, a column per step (`+2←3` adds chunk 2 from rank 3, `=2←3` copies it).

    Options of the algorithm itself go after its name, as --chunks 4 or --root 2.
    """
    plan = _algorithm(algorithm, load)(ranks, **_own_options(context))
    if as_json:
        names = plan.transfers.dtype.names or ()
        _print_json({"name": plan.name, "ranks": plan.ranks, "chunks": plan.chunks, **{k: plan.transfers[k].tolist() for k in names}})
        return
    entry = find(plan.name)
    print(plan)
    print(f"\n{entry.doc}\n{entry.says[0]}\nSource: {entry.source}" if entry.source else f"\n{entry.doc}")


@app.command(context_settings=EXTRA)
@says_mistakes
def run(
    context: typer.Context,
    algorithm: Annotated[str, typer.Argument(help="for example allreduce_ring")],
    machine: Machine = None,
    topology: Network = None,
    nodes: Nodes = 1,
    ranks: Ranks = None,
    nbytes: Size = "64MiB",
    dtype: Dtype = "float32",
    engine: Engine = "lockstep",
    sharing: Sharing = None,
    p2p: P2P = True,
    gdr: GDR = True,
    fabric: Fabric = "switch",
    oversubscription: Oversubscription = 1,
    topology_file: File = None,
    load: Load = None,
    out: Annotated[Path | None, typer.Option(help="Also write x.html, x.gif, x.png or x.json.")] = None,
    as_json: Json = False,
) -> None:
    """Time one algorithm on one machine or network. Options of the algorithm itself: --channels 8, --root 2 ..."""
    joined = {"nodes": nodes, "p2p": p2p, "gdr": gdr, "fabric": fabric, "oversubscription": oversubscription}
    network = _network(machine, topology, topology_file, joined, ranks)
    plan = cs.schedule(_algorithm(algorithm, load), ranks=ranks, topology=network, **_own_options(context))
    cs.verify(plan)
    more: dict[str, Any] = {} if sharing is None else {"sharing": sharing}
    trace = cs.simulate(plan, network, nbytes, dtype, engine, **more)
    if out is not None:
        trace.save(out)
    if as_json:
        _print_json(_trace_record(trace))
        return
    print(trace)
    _show(_busiest(trace), "busiest links, one direction each", False)


def _trace_record(trace: cs.Trace) -> dict[str, Any]:
    neck = trace.bottleneck
    return {
        **trace.row(),
        "bottleneck": None if neck is None else {"link": neck.name, "kind": neck.kind, "share": neck.share, "saves": neck.saves},
        "sent_bytes": trace.sent_bytes.tolist(),
        "links": _records(trace.links[trace.links.bytes > 0]),
    }


def _busiest(trace: cs.Trace) -> list[dict[str, Any]]:
    top = trace.links[trace.links.bytes > 0].sort_values("busy", ascending=False, kind="stable").head(8)
    return [
        {
            "link": row["link"],
            "what": row["label"],
            "bandwidth": cs.format_bandwidth(row["bandwidth"]),
            "bytes": cs.format_bytes(row["bytes"]),
            "busy": f"{100 * row['share']:.3g} %",
        }
        for row in _records(top)
    ]


def _records(frame: Any) -> list[dict[str, Any]]:
    """A frame as plain dicts, with None where there is no value."""
    rows: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return rows


@app.command()
@says_mistakes
def compare(
    collective: Annotated[str, typer.Option(help="allreduce, broadcast, ...")] = "allreduce",
    algorithm: Annotated[list[str] | None, typer.Option(help="Only these; all of the collective unless given.")] = None,
    machine: Machine = None,
    topology: Network = None,
    nodes: Nodes = 1,
    nbytes: Sizes = "1KiB:1GiB:4",
    dtype: Dtype = "float32",
    engine: Engine = "lockstep",
    p2p: P2P = True,
    gdr: GDR = True,
    fabric: Fabric = "switch",
    oversubscription: Oversubscription = 1,
    topology_file: File = None,
    as_json: Json = False,
) -> None:
    """Time the algorithms of a collective over sizes: a row each, the fastest of a size marked with *, the best at the largest first."""
    joined = {"nodes": nodes, "p2p": p2p, "gdr": gdr, "fabric": fabric, "oversubscription": oversubscription}
    network = _network(machine, topology, topology_file, joined, None)
    sizes = cs.size_range(nbytes)
    frame = cs.sweep(collective, algorithm or None, network, sizes, dtype, engine)
    found = _records(frame)
    if as_json:
        _print_json(found)
        return
    fastest = {size: min((r["time"] for r in found if r["nbytes"] == size and r["error"] is None), default=math.nan) for size in sizes}
    ran = [row for row in found if row["error"] is None]
    by_choice: dict[str, dict[int, str]] = {}
    for row in sorted(ran, key=lambda row: (-row["nbytes"], row["time"])):
        by_choice.setdefault(row["algorithm"], {})[row["nbytes"]] = _cell(row, fastest[row["nbytes"]])
    table = [{"algorithm": name, **{cs.format_bytes(size): cells[size] for size in sizes}} for name, cells in by_choice.items()]
    _show(table, f"{collective} on {network.name}", False)
    for name, why in {row["algorithm"]: row["error"] for row in found if row["error"] is not None}.items():
        print(f"{name}: {why}")


def _cell(row: dict[str, Any], best: float) -> str:
    return cs.format_time(row["time"]) + ("*" if math.isclose(row["time"], best, rel_tol=1e-12) else "")


@app.command(context_settings=EXTRA)
@says_mistakes
def verify(
    context: typer.Context,
    algorithm: Annotated[str, typer.Argument(help="a name, or my.py:my_algorithm (the file is run)")],
    ranks: Annotated[str, typer.Option(help="One number, or first:last.")] = "1:33",
    load: Load = None,
    as_json: Json = False,
) -> None:
    """Check that an algorithm does what its collective promises, for many numbers of ranks. Exit code 1 if it does not."""
    entry = _algorithm(algorithm, load)
    own = _own_options(context)
    failed: dict[int, str] = {}
    checked = _rank_range(ranks)
    for n in checked:
        try:
            cs.verify(entry(n, **own))
        except CollsimError as error:
            failed[n] = str(error)
    if as_json:
        _print_json({"algorithm": entry.name, "checked": checked, "failed": failed})
    elif failed:
        print(f"{entry.name}: {len(failed)} of {len(checked)} numbers of ranks fail; the first, n={min(failed)}:\n{failed[min(failed)]}")
    else:
        print(f"{entry.name}: correct for n = {ranks.replace(':', ' to ')}")
    if failed:
        raise typer.Exit(1)


@app.command()
@says_mistakes
def sweep(
    plan: Annotated[Path, typer.Argument(help="A YAML file; docs/sweeps.md describes it.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="x.parquet, x.csv, x.json or x.sqlite; a killed sweep goes on.")] = None,
    as_json: Json = False,
) -> None:
    """Simulate every combination of a plan; results are on disk as they come."""
    arguments = read_plan(plan)
    bar = Progress(TextColumn("{task.completed} of {task.total}"), BarColumn(), TimeRemainingColumn(), console=Console(stderr=True))
    with bar:
        task = bar.add_task("sweep", total=None)
        frame = cs.sweep(**arguments, out=out, progress=lambda done, total, _: bar.update(task, completed=done, total=total))
    if as_json:
        _print_json(_records(frame))
    elif out is None:
        print(frame.to_string(max_rows=40))
    failed = int(frame["error"].notna().sum()) if "error" in frame else 0
    print(f"{len(frame)} scenarios, {failed} could not run" + (f"; written to {out}" if out else ""), file=sys.stderr)


@app.command()
@says_mistakes
def convert(
    source: Annotated[str, typer.Argument(help="a schedule, topology, log or table; `collsim list formats`")],
    target: Annotated[str, typer.Argument(help="the format follows from the suffix")],
    read_as: Annotated[str | None, typer.Option("--from", help="Format of the source, where its suffix does not say.")] = None,
    write_as: Annotated[str | None, typer.Option("--to", help="Format of the target, where its suffix does not say.")] = None,
    nbytes: Annotated[str | None, typer.Option(help="Size, for formats with bytes in them.")] = None,
) -> None:
    """Read one file and write it as another: `collsim convert a.xml b.json`."""
    options = {} if nbytes is None else {"nbytes": nbytes}
    thing = cs.convert(source, target, read_as=read_as, write_as=write_as, **options)
    print(f"{source} holds {thing!r}; written to {target}" if not hasattr(thing, "iloc") else f"{len(thing)} rows written to {target}")


@app.command()
@says_mistakes
def accuracy(
    cases: Annotated[Path, typer.Argument(help="CSV that describes the machines.")],
    measured: Annotated[Path, typer.Argument(help="CSV with the measured rows.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="CSV of predictions.")] = None,
) -> None:
    """Hold the NCCL model against a table of measurements; says where it is wrong, the misses first."""
    print(cs.nccl.accuracy(cases, measured, out))


@app.command()
@says_mistakes
def predict(
    collective: Annotated[str, typer.Argument(help="allreduce, allgather, ...")],
    machine: Annotated[str, typer.Option(help="A machine by name.")],
    nodes: Nodes = 1,
    nbytes: Sizes = "1KiB:1GiB:4",
    as_json: Json = False,
) -> None:
    """What nccl-tests would print on a machine: NCCL's choice, the time, and what NCCL's own tuner believes."""
    network = cs.machine(machine, nodes=nodes)
    rows: list[dict[str, Any]] = []
    for size in cs.size_range(nbytes):
        p = cs.nccl.predict(collective, network, size)
        rows.append(
            {
                "nbytes": size,
                "time": p.time,
                "algbw": p.algbw,
                "busbw": p.busbw,
                "algorithm": p.algorithm,
                "protocol": p.protocol,
                "channels": p.channels,
                "tuner_time": p.tuner_time,
            }
        )
    if as_json:
        _print_json(rows)
        return
    as_text: dict[str, Callable[[float], str]] = {
        "nbytes": cs.format_bytes,
        "time": cs.format_time,
        "algbw": cs.format_bandwidth,
        "busbw": cs.format_bandwidth,
        "tuner_time": cs.format_time,
    }
    table = [{k: as_text[k](v) if k in as_text and v is not None else v for k, v in row.items()} for row in rows]
    _show(table, f"{collective} on {network.name}, as nccl-tests would print it", False)


@app.command()
@says_mistakes
def calibrate(
    log: Annotated[Path, typer.Argument(help="nccl-tests output, text or JSON.")],
    machine: Annotated[str, typer.Option(help="The machine it ran on.")],
    nodes: Nodes = 1,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="YAML of the fitted links.")] = None,
) -> None:
    """Fit the links of your cluster to its own log; prints the residuals."""
    fitted = cs.calibrate(log, cs.machine(machine, nodes=nodes))
    print(fitted)
    if out is not None:
        fitted.save(out)


@app.command(context_settings=EXTRA)
@says_mistakes
def worksheet(
    context: typer.Context,
    out: Annotated[Path, typer.Argument(help="sheet.md or sheet.pdf; the key goes to sheet-key beside it.")],
    algorithm: Annotated[str, typer.Option(help="for example allreduce_ring")] = "allreduce_ring",
    machine: Machine = None,
    topology: Network = None,
    nodes: Nodes = 1,
    ranks: Ranks = None,
    nbytes: Size = "64MiB",
    seed: Annotated[int, typer.Option(help="Another seed, other questions.")] = 0,
    count: Annotated[int, typer.Option(help="How many questions.")] = 8,
    lang: Language = "en",
) -> None:
    """Questions made from a run, and their answer key, in Markdown or PDF."""
    from collsim.site import write_worksheet

    network = _network(machine, topology, None, {"nodes": nodes, "oversubscription": 1}, ranks)
    plan = cs.schedule(_algorithm(algorithm, None), ranks=ranks, topology=network, **_own_options(context))
    sheet, key = write_worksheet(cs.simulate(plan, network, nbytes), out, seed=seed, count=count, lang=lang)
    print(f"worksheet {sheet}, key {key}")


@app.command()
@says_mistakes
def grade(
    folder: Annotated[Path, typer.Argument(help="What the students handed in: name.py, name.ipynb, or a folder name/.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="CSV, on disk after each student.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only these exercises.")] = None,
    lang: Language = "en",
    as_json: Json = False,
) -> None:
    """Check every student's exercises, each in a process of its own with limits; a table for the teacher."""
    from collsim.quiz import summary

    bar = Progress(TextColumn("{task.completed} of {task.total} {task.description}"), BarColumn(), console=Console(stderr=True))
    with bar:
        task = bar.add_task("", total=None)
        frame = cs.grade(
            folder, only=only, out=out, lang=lang,
            progress=lambda done, total, student: bar.update(task, completed=done, total=total, description=student),
        )  # fmt: skip
    if as_json:
        _print_json(_records(frame))
    else:
        print(summary(frame).to_string())


@app.command()
@says_mistakes
def site(
    out: Annotated[Path, typer.Argument(help="A folder, new or made by an earlier build.")],
    lang: Annotated[list[str] | None, typer.Option(help="en, zh; both unless given.")] = None,
) -> None:
    """Build the static site: lessons, gallery, races and questions for any web server or a USB stick; plays from file:// too."""
    from collsim.site import build

    bar = Progress(TextColumn("{task.completed} runs {task.description}"), console=Console(stderr=True))
    with bar:
        task = bar.add_task("", total=None)
        made = build(out, lang or ("en", "zh"), progress=lambda done, name: bar.update(task, completed=done, description=name))
    print(f"{made.path}: {made.runs} runs, {made.files} files, {cs.format_bytes(made.nbytes)}; open index.html")


@app.command("app")
@says_mistakes
def app_(port: Annotated[int, typer.Option(help="Port on this computer.")] = 8501) -> None:
    """Start the app in the browser (needs `pip install collsim[app]`)."""
    import subprocess

    script = Path(__file__).parent.parent / "app.py"
    if not script.is_file():
        raise CollsimError("app.py is not beside the package; start it from a checkout with `streamlit run app.py`")
    raise typer.Exit(subprocess.call([sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={port}"]))


# ---- what the commands share ---------------------------------------------------------------------------------------------------


def _algorithm(name: str, load: Path | None) -> cs.Algorithm:
    if load is not None:
        return load_algorithm(f"{load}:{name}")
    return load_algorithm(name) if ".py" in name else find(name)


def _network(machine: str | None, topology: str | None, file: Path | None, joined: dict[str, Any], ranks: int | None) -> cs.Topology:
    """The one place that was named; `joined` are the keywords of a machine."""
    if sum(given is not None for given in (machine, topology, file)) > 1:
        raise CollsimError("give one of --machine, --topology and --topology-file")
    if machine:
        return cs.machine(machine, **joined)
    if topology:
        return parse_topology(topology, cs.topology.NETWORKS)
    if file:
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            network = cs.load_topology(file)
        for note in notes:  # what the file does not say and was assumed
            print(f"collsim: {note.message}", file=sys.stderr)
        return network
    if ranks is None:
        raise CollsimError("say where to run: --machine dgx-a100 --nodes 2, or --topology 'switch(8)', or at least --ranks 8")
    return cs.topology.switch(ranks)


def _own_options(context: typer.Context) -> dict[str, Any]:
    """`--chunks 4 --server=helper` as keywords of the algorithm, which checks their names and values itself."""
    options: dict[str, Any] = {}
    words = list(context.args)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            raise CollsimError(f"unexpected {word!r}; options of the algorithm are written --name value")
        name, equals, value = word[2:].partition("=")
        if not equals:
            if not words:
                raise CollsimError(f"option --{name} needs a value")
            value = words.pop(0)
        options[name.replace("-", "_")] = _option_value(value)
    return options


def _option_value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text)
    except ValueError:
        return text


def _rank_range(text: str) -> list[int]:
    first, _, last = text.partition(":")
    try:
        low, high = int(first), int(last or first)
    except ValueError:
        raise CollsimError(f"ranks {text!r} must be a number or first:last, for example 2:33") from None
    if not 1 <= low <= high <= 4096:
        raise CollsimError(f"ranks {text!r}: 1 <= first <= last <= 4096")
    return list(range(low, high + 1))


def _show(rows: list[dict[str, Any]], title: str, as_json: bool) -> None:
    if as_json:
        _print_json(rows)
        return
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in rows[0] if rows else []:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _print_json(value: Any) -> None:
    print(json.dumps(value, allow_nan=False, default=_plain, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"not JSON: {value!r}")


def main() -> None:
    """Entry point of the `collsim` command."""
    app(prog_name="collsim")


if __name__ == "__main__":
    main()
