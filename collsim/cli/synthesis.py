"""`synthesize`: a schedule for a machine, found instead of chosen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

import collsim as cs

from .options import (
    CountOrRanks,
    Json,
    MachineSpec,
    Progress,
    Switches,
    is_progress_shown,
    parse_ranks,
    require_writable,
)
from .output import print_json, show
from .shell import command

if TYPE_CHECKING:
    from collsim.synthesis.synthesizer import Effort


#: Bytes at which a schedule is timed that was found for no size.
_SIZES = {"bandwidth": 2**36, "latency": 1024}


@command()
def synthesize(
    collective: str,
    machine_spec: MachineSpec,
    objective: str = "bandwidth",
    effort: str = "normal",
    method: str | None = None,
    pieces: int | None = None,
    switches: Switches = True,
    ranks: CountOrRanks = None,
    root: int = 0,
    out: Annotated[Path | None, typer.Option("-o", "--out")] = None,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """Find a schedule for a machine or network, verify it and time it beside its lower bound. Trees come with the share
    of the narrowest cut that they reach, which no schedule can exceed; the fewest steps with a proof that there are no
    fewer; a greedy matching with none: what it finds is good, not proved to be the best."""
    selected = parse_ranks(ranks)
    network = machine_spec.build_network(None if isinstance(selected, list) else selected)
    if out is not None:
        require_writable("schedule", out)
    from ..sweep.gap_closing import explain_bound

    shows_progress = is_progress_shown(progress)
    options: dict[str, Any] = {"ranks": selected, "root": root, "method": method, "pieces": pieces}
    options |= {"switches": switches, "progress": shows_progress}
    schedule = cs.synthesize(collective, network, objective, cast("Effort", effort), **options)
    if out is not None:
        cs.save(schedule, out)
    schedule_ranks = selected if isinstance(selected, list) else None
    # An objective that is no size is timed at the size for which it is typical.
    size = _SIZES.get(objective) or cs.units.parse_bytes(objective)
    trace = cs.simulate(schedule, network, size, engine="event", ranks=schedule_ranks, progress=shows_progress)
    report, cut = cs.synthesis.report(schedule), trace.bound.cut
    row = {**trace.row(), "chunks": schedule.chunks}
    if report is not None:
        row |= {"method": report.method, "objective": report.objective, "summary": report.summary}
    row["cut"] = cut and cut.describe(network)
    if as_json:
        print_json(row)
        return
    print(repr(schedule)[1:-1])
    print(row.get("summary", ""))
    times = {"time": cs.format_time(trace.time), "bound": cs.format_time(trace.bound.time), "gap": f"{trace.gap:.4g}"}
    show([{"size": cs.format_bytes(size), **times}], f"timed by the event engine on {network.name}")
    if cut is not None:
        print(f"the narrowest cut: {cut.describe(network)}")
    else:
        print(explain_bound(trace))
