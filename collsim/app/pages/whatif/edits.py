"""What is changed in a run, and the two runs before and after. Nothing here knows Streamlit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

import collsim as cs
from collsim.errors import CollsimError
from collsim.simulate import Together
from collsim.viz.race.race import Runner, build_runner
from collsim.viz.sentences.causes import describe_busiest_cable
from collsim.viz.sentences.names import name_device, name_link
from collsim.viz.sentences.words import name_kind

from ...jobs.worker import ReportProgress
from ...scenario import snippets
from ...scenario.address import PageAddress, Word
from ...scenario.choice import Choice, among, engine_settings, flag
from ...scenario.companions import BESIDE, Several, offered, run_together, several, transfers
from ...scenario.outcome import (
    MOST_RANKS_HERE,
    SECONDS_TO_DRAW,
    Refused,
    build_place,
    options_used,
    place_of,
    quietly,
    seconds,
)
from ...synthesis.found import Synthesized, closed, reduces
from ...synthesis.found import expected as expected_synthesis

MOST_CHANGED = 60_000
MOST_CABLES = 12
FACTORS = {"half": 0.5, "double": 2.0, "four": 4.0}
#: What a cable becomes; `one`: of the links that it bonds, one is gone.
CABLE = {"half": "half", "tenth": "x0.1", "double": "double", "one": "", "cut": ""}
SWITCHED = ("same", "on", "off")
PLACEMENTS = ("same", "round-robin")
OVERSUBSCRIPTIONS = (1, 2, 4, 8)
#: What may be wrong with one rank: an option of the event engine, and its value for that rank.
STRAGGLERS: dict[str, tuple[str, Any]] = {
    "slow2": ("slow", 2), "slow10": ("slow", 10), "late100us": ("late", "100us"), "late1ms": ("late", "1ms")
}  # fmt: skip
JITTERS = ("", "1us", "10us", "100us")
#: Other traffic: half the ranks away, from rank 0 or from every rank, as many bytes as the run has.
TRAFFIC = ("", "one", "all")
#: Runs that make a distribution, with the seeds 0, 1, 2 ...
RUNS = 100
NOBODY = -1


@dataclass(frozen=True)
class Edit:
    """What is changed. `kind` and `cable` are empty for none; a cable is `a~b`, two names of devices.

    `straggler` (a rank, or NOBODY) with `how`, `jitter` (mean extra delay of a transfer), `traffic` and `beside`
    (another collective at the same time) are trouble that only a run without barriers can show. `synthesize`: the
    schedule that is synthesized for the place after the edit stands below; `switches`: it may use those that reduce.
    """

    gdr: str = "off"
    p2p: str = "same"
    kind: str = ""
    factor: str = "double"
    cable: str = ""
    do: str = "half"
    placement: str = "same"
    oversubscription: int = 1
    straggler: int = NOBODY
    how: str = "slow2"
    jitter: str = ""
    traffic: str = ""
    beside: str = ""
    synthesize: bool = False
    switches: bool = True

    @property
    def troubled(self) -> bool:
        return self.straggler != NOBODY or bool(self.jitter or self.traffic or self.beside)


#: No edit at all. The page opens with `Edit()`, which has something to show.
PLAIN = Edit(gdr="same")


def _whole(known: Sequence[int]) -> Callable[[str], int]:
    """A reader for one of a few whole numbers."""
    return lambda text: int(among(tuple(map(str, known)))(text))


#: The words of an edit in an address.
WORDS = (
    Word("then_gdr", among(SWITCHED), "gdr"),
    Word("then_p2p", among(SWITCHED), "p2p"),
    Word("scale", str, "kind"),
    Word("factor", among(FACTORS)),
    Word("cable", str, limit=80),
    Word("do", among(CABLE)),
    Word("placement", among(PLACEMENTS)),
    Word("oversubscription", _whole(OVERSUBSCRIPTIONS)),
    Word("straggler", _whole(range(MOST_RANKS_HERE))),
    Word("how", among(STRAGGLERS)),
    Word("jitter", among(JITTERS)),
    Word("traffic", among(TRAFFIC)),
    Word("beside", among(BESIDE)),
    Word("synthesize", flag, write=lambda on: "1" if on else ""),
    Word("switches", flag, write=lambda on: "" if on else "0"),
)


def _adapt(edit: Edit, said: dict[str, str]) -> dict[str, str]:
    """The address of the first page is bare; in any other what is as it was is left out."""
    return {} if edit == Edit() else said or {"then_gdr": "same"}


ADDRESS = PageAddress(
    PLAIN, WORDS, lambda found, query, complaints: replace(PLAIN if found else Edit(), **found), _adapt
)


def changed(choice: Choice, edit: Edit) -> cs.Topology:
    """The place after the edit. Raises CollsimError for what cannot be: a cable that is not there, ranks that are cut
    off."""
    place = build_place(_switched(choice, edit))
    if given := _joined(choice, edit):
        place = place_of(_switched(choice, edit), **given)
    if edit.kind:
        place = place.scaled(edit.kind, FACTORS[edit.factor])
    if edit.cable:
        a, _, b = edit.cable.partition("~")
        left = _left(place, edit)
        place = place.with_link(a, b, bandwidth=left) if left else place.without_link(a, b)
    return place


def _left(place: cs.Topology, edit: Edit) -> str:
    """What is left of the bandwidth of a cable; nothing where it is broken, or was made of one link."""
    if edit.do != "one":
        return CABLE[edit.do]
    width = bonded(place, edit.cable)
    return f"x{(width - 1) / width:.6g}" if width > 1 else ""


def bonded(place: cs.Topology, cable: str) -> int:
    """Links that a cable `a~b` bonds, as NVLinks are; 1 where it is not there."""
    ends, names, links = set(cable.split("~")), place.devices.name, place.links
    found = (
        links.cables[kind].width
        for a, b, kind in zip(links.src.tolist(), links.dst.tolist(), links.cable.tolist(), strict=True)
        if {names[a], names[b]} == ends and links.cables[kind].kind != "pcie"
    )
    return next(found, 1)


def code(choice: Choice, edit: Edit) -> tuple[Choice, str]:
    """The choice after the edit as far as a choice can say it, and the code that builds the place after it."""
    after = _switched(choice, edit)
    text = snippets.place(after, **_joined(choice, edit))
    if edit.kind:
        text += f".scaled({edit.kind!r}, {FACTORS[edit.factor]:g})"
    if edit.cable:
        a, _, b = edit.cable.partition("~")
        left = _left(build_place(after), edit)
        text += f".with_link({a!r}, {b!r}, bandwidth={left!r})" if left else f".without_link({a!r}, {b!r})"
    return after, text


def timed(choice: Choice, edit: Edit) -> Choice:
    """The choice as both runs are timed: trouble needs the engine without barriers."""
    return replace(choice, engine="event") if edit.troubled else choice


def conditions(choice: Choice, edit: Edit, ranks: int) -> dict[str, Any]:
    """Trouble as keywords of `simulate`."""
    given: dict[str, Any] = {}
    if edit.straggler != NOBODY:
        name, value = STRAGGLERS[edit.how]
        given[name] = {edit.straggler: value}
    if edit.jitter:
        given["jitter"] = edit.jitter
    if edit.traffic and ranks > 1:
        sources = range(ranks) if edit.traffic == "all" else range(1)
        given["background"] = [(r, (r + ranks // 2) % ranks, choice.nbytes) for r in sources]
    return given


def _joined(choice: Choice, edit: Edit) -> dict[str, Any]:
    """Keywords of `machine` that an edit sets, where there are several nodes to order and to join."""
    given: dict[str, Any] = {"placement": edit.placement} if edit.placement != "same" and choice.copies > 1 else {}
    return given | (
        {"oversubscription": edit.oversubscription} if edit.oversubscription > 1 and choice.copies > 1 else {}
    )


def _switched(choice: Choice, edit: Edit) -> Choice:
    """The choice with P2P and GDR as the edit wants them."""
    if not choice.on_machine:
        return choice
    wanted = {name: getattr(edit, name) == "on" for name in ("p2p", "gdr") if getattr(edit, name) != "same"}
    return replace(choice, **wanted)


@dataclass(frozen=True)
class Change:
    """Before and after, as plain data.

    Attributes:
        nothing: the edit changes nothing.
        before, after: as a race shows them. `speedup`: time before over time after.
        links: a row per link with a name, kind, bytes and share before and after; the largest changes first.
        tornado: what, name (English and Chinese), and the share of the time saved by doubling, after the change.
        crossings: neighbours in a ring that sit in different nodes: before, after, of how many.
        verdict: the busiest cable after the change and what doubling would save, English and Chinese; empty where
        nothing moves. times: s, of many runs after the change that differ in their jitter; empty without jitter.
        several: the run and those beside it, after the change; None where nothing runs beside.
    """

    nothing: bool
    before: Runner
    after: Runner
    speedup: float
    links: pd.DataFrame
    tornado: pd.DataFrame
    crossings: tuple[int, int, int]
    verdict: tuple[str, str] = ("", "")
    times: tuple[float, ...] = ()
    several: Several | None = None


#: Runs of a schedule in a change: before, after, and with each kind of link and the busiest cables doubled.
_RUNS_OF_CHANGE = 14


def expected_change(choice: Choice, edit: Edit) -> float:
    """Seconds that `change` should take. Raises what it would raise before it runs anything."""
    choice, place = timed(choice, edit), build_place(choice)
    plan = _plan(choice, place, options_used(choice.algorithm, dict(choice.options), place, choice.on_machine))
    runs = _RUNS_OF_CHANGE + (RUNS if edit.jitter else 0)
    every = transfers(plan, edit.beside, place) / max(1, len(plan))
    return every * (runs * seconds(choice, plan, place, choice.nbytes) + 2 * SECONDS_TO_DRAW * len(plan))


def change(choice: Choice, edit: Edit, report_progress: ReportProgress = quietly) -> Change:
    """Run the choice before and after. Raises CollsimError for what cannot be, Refused for what is too much."""
    choice, place, other = timed(choice, edit), build_place(choice), changed(choice, edit)
    options = options_used(choice.algorithm, dict(choice.options), place, choice.on_machine)
    trouble = conditions(choice, edit, place.ranks)
    first, together = _run(choice, place, options), _together(choice, edit.beside, other, options, **trouble)
    second = _run(choice, other, options, **trouble) if together is None else together[0]
    report_progress("run", 0.1)
    times = _times(choice, edit, second.schedule, other, trouble, report_progress) if edit.jitter else ()
    ring = np.arange(place.ranks)
    before, after = build_runner(first), build_runner(second)
    report_progress("run", 0.7)
    table = _sensitivity(second)
    return Change(
        nothing=place.name == other.name and not edit.troubled,
        before=before,
        after=after,
        speedup=first.time / second.time if second.time else 1.0,
        links=_links(cs.compare(first, second).links, first, second),
        tornado=_tornado(second, table),
        crossings=(
            place.crossings(ring, (ring + 1) % len(ring)),
            other.crossings(ring, (ring + 1) % len(ring)),
            len(ring),
        ),
        verdict=("", "") if table.empty else describe_busiest_cable(second, table),
        times=times,
        several=None if together is None else several(together),
    )


def _together(
    choice: Choice, beside: str, place: cs.Topology, options: dict[str, Any], **trouble: Any
) -> Together | None:
    """The run with others beside it, where any are asked for."""
    if not beside:
        return None
    plan = _plan(choice, place, options)
    _require_few(transfers(plan, beside, place))
    return run_together(
        plan, beside, place, choice.nbytes, choice.dtype, "event", **{**engine_settings(choice), **trouble}
    )


def _times(
    choice: Choice,
    edit: Edit,
    plan: cs.Schedule,
    place: cs.Topology,
    trouble: dict[str, Any],
    report_progress: ReportProgress,
) -> tuple[float, ...]:
    """s, of many runs that differ in their jitter."""
    settings = {**engine_settings(choice), **trouble}

    def report(done: int, every: int) -> None:
        report_progress("run", 0.1 + 0.5 * done / every)

    if not edit.beside:
        many = cs.simulate_many(plan, place, choice.nbytes, choice.dtype, runs=RUNS, progress=report, **settings)
        return tuple(many.tolist())
    times = []
    for seed in range(RUNS):
        times.append(
            run_together(plan, edit.beside, place, choice.nbytes, choice.dtype, "event", seed=seed, **settings)[0].time
        )
        report(seed + 1, RUNS)
    return tuple(times)


def _plan(choice: Choice, place: cs.Topology, options: dict[str, Any]) -> cs.Schedule:
    plan: cs.Schedule = cs.schedule(choice.algorithm, topology=place, **options)
    _require_few(len(plan))
    return plan


def _require_few(count: int) -> None:
    if count > MOST_CHANGED:
        raise Refused("whatif.large", transfers=f"{count:,}", limit=f"{MOST_CHANGED:,}")


def _run(choice: Choice, place: cs.Topology, options: dict[str, Any], **trouble: Any) -> cs.Trace:
    settings = {**engine_settings(choice), **trouble}
    return cs.simulate(_plan(choice, place, options), place, choice.nbytes, choice.dtype, choice.engine, **settings)


def _links(table: pd.DataFrame, *traces: cs.Trace) -> pd.DataFrame:
    """Only what changed: more or fewer bytes, or busy for another share of the run."""
    moved = (table["bytes"].abs() > 0) | (table["share"].abs() > 5e-4)
    names: dict[str, tuple[str, str]] = {}
    for trace in traces:
        used = np.flatnonzero(trace.link_bytes)
        names |= {trace.topology.link_name(int(i)): name_link(trace, int(i)) for i in used}
    shown = table[moved]
    shown = shown.assign(size=shown["bytes"].abs(), turn=shown["share"].abs())
    shown = shown.sort_values(["size", "turn"], ascending=False, kind="stable").drop(columns=["size", "turn"])
    return shown.assign(
        en=[names.get(n, (n, n))[0] for n in shown["link"]], zh=[names.get(n, (n, n))[1] for n in shown["link"]]
    )


def _sensitivity(trace: cs.Trace) -> pd.DataFrame:
    """Kinds of link and the busiest single cables, by running again; no row where nothing moves."""
    if not trace.time or not trace.link_bytes.any():
        return pd.DataFrame(columns=["what", "name", "elasticity", "doubled"])
    return cs.analysis.sensitivity(trace, most_links=5)


def _tornado(trace: cs.Trace, table: pd.DataFrame) -> pd.DataFrame:
    """What doubling saves, with names for people."""
    by_name = {trace.topology.link_name(int(i)): name_link(trace, int(i)) for i in np.flatnonzero(trace.link_bytes)}
    said = [
        name_kind(n) if what == "kind" else by_name.get(n, (n, n))
        for what, n in zip(table["what"], table["name"], strict=True)
    ]
    return table.assign(en=[en for en, _ in said], zh=[zh for _, zh in said], doubled=table["doubled"].clip(lower=0))


def expected_repair(choice: Choice, edit: Edit, switches: bool) -> float:
    """Seconds that `repaired` should take. Raises what building the place raises."""
    return expected_synthesis(build_place(choice).ranks)


def switching(choice: Choice, edit: Edit) -> bool:
    """Has the place after the edit switches that reduce? Raises CollsimError for what cannot be."""
    return reduces(changed(choice, edit))


def repaired(choice: Choice, edit: Edit, switches: bool, report_progress: ReportProgress = quietly) -> Synthesized:
    """What is synthesized for the place after the edit, against the run that falls back to the ways that are left.
    Raises CollsimError for what cannot be."""
    other = changed(choice, edit)
    options = options_used(choice.algorithm, dict(choice.options), other, choice.on_machine)
    return closed(_run(choice, other, options), switches, report_progress)


def can_lose(choice: Choice, cable: str) -> bool:
    """Do all ranks of the place still reach each other without a cable?"""
    try:
        changed(choice, replace(PLAIN, cable=cable, do="cut"))
    except CollsimError:
        return False
    return True


def ranks(choice: Choice) -> int:
    """Ranks of the place; none where it cannot be built."""
    try:
        return build_place(choice).ranks
    except CollsimError:
        return 0


def companions(choice: Choice) -> list[str]:
    """What can run beside on the place; nothing where it cannot be built."""
    try:
        return offered(build_place(choice))
    except CollsimError:
        return offered(None)


def kinds(choice: Choice) -> list[str]:
    """Kinds of link that the place has; none where it cannot be built."""
    try:
        return sorted({cable.kind for cable in build_place(choice).links.cables})
    except CollsimError:
        return []


def has_cable(choice: Choice, edit: Edit) -> bool:
    """Is the cable of an edit there? Of a place that cannot be built the page says so by itself."""
    try:
        place = changed(choice, replace(edit, kind="", cable=""))
    except CollsimError:
        return True
    names = place.devices.name
    ends = set(edit.cable.split("~"))
    return any(
        {names[a], names[b]} == ends for a, b in zip(place.links.src.tolist(), place.links.dst.tolist(), strict=True)
    )


def cables(choice: Choice) -> dict[str, tuple[str, str]]:
    """The busiest cables of the run, as `a~b`, with their names in English and Chinese; none where it cannot run."""
    try:
        place = build_place(choice)
        options = options_used(choice.algorithm, dict(choice.options), place, choice.on_machine)
        trace = _run(
            replace(choice, engine="lockstep"), place, options
        )  # a cable carries the same bytes in both engines
    except CollsimError:
        return {}
    links, names = place.links, place.devices.name
    found: dict[str, tuple[str, str]] = {}
    seen: set[frozenset[int]] = set()
    for i in np.argsort(-trace.link_busy, kind="stable"):
        ends = frozenset((int(links.src[i]), int(links.dst[i])))
        if len(found) == MOST_CABLES or not trace.link_bytes[i]:
            break
        if ends not in seen:
            seen.add(ends)
            a, b = sorted(ends)
            one, two = name_device(trace, a), name_device(trace, b)
            node = max(int(place.devices.node[a]), int(place.devices.node[b]))
            where = (
                (f", node {node}", f"，节点 {node}")
                if int(place.devices.node.max(initial=0)) > 0 and node >= 0
                else ("", "")
            )
            found[f"{names[a]}~{names[b]}"] = (f"{one[0]} – {two[0]}{where[0]}", f"{one[1]} – {two[1]}{where[1]}")
    return found
