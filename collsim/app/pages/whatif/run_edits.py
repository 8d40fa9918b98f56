"""What is changed in a run, and the two runs before and after. Nothing here knows Streamlit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

import collsim as cs
from collsim.analysis.device_names import name_device, name_link
from collsim.errors import CollsimError
from collsim.locale import Text, repeat_text, split_languages
from collsim.simulate import ConcurrentTrace
from collsim.viz.race.race_document import Runner, build_runner
from collsim.viz.sentences.time_sentences import describe_busiest_cable
from collsim.viz.sentences.words import name_kind

from ...jobs.job_spec import is_compiled, job, report_progress
from ...scenario import snippets
from ...scenario.address_parameters import PageAddress, declare_word, list_words
from ...scenario.choice import Choice, build_engine_settings, create_whole_reader, create_word_reader, read_flag
from ...scenario.companions import (
    COMPANIONS,
    ConcurrentRuns,
    build_concurrent_runs,
    count_transfers,
    find_companions,
    run_together,
)
from ...scenario.machine_edits import Action, Edits, MachineEdit, apply_edits, write_edit_calls
from ...scenario.outcome import (
    MAX_PAGE_RANKS,
    SECONDS_TO_DRAW,
    Refused,
    ask_topology,
    build_any_topology,
    build_plan,
    build_topology,
    estimate_seconds,
    list_used_options,
    uses_events,
)
from ...synthesis.synthesis_result import Synthesized, can_switches_reduce, close_gap, estimate_synthesis
from ...texts import write_texts

#: Transfers of a run that is changed: both runs are played side by side in the browser.
MAX_CHANGED = 60_000
MAX_CABLES = 12
FACTORS = {"half": 0.5, "double": 2.0, "four": 4.0}
#: What a cable becomes; `one`: of the links that it bonds, one is gone.
CABLE_CHANGES = {"half": "half", "tenth": "x0.1", "double": "double", "one": "", "cut": ""}
SWITCH_POSITIONS = ("same", "on", "off")
PLACEMENTS = ("same", "round-robin")
#: Ports down to capacity up of a leaf switch; 1 is non-blocking.
OVERSUBSCRIPTIONS = (1, 2, 4, 8)
#: What may be wrong with one rank: an option of the event engine, and its value for that rank.
STRAGGLERS: dict[str, tuple[str, object]] = {
    "slow2": ("slow", 2), "slow10": ("slow", 10), "late100us": ("late", "100us"), "late1ms": ("late", "1ms")
}  # fmt: skip
JITTERS = ("", "1us", "10us", "100us")
#: Other traffic: half the ranks away, from rank 0 or from every rank, as many bytes as the run has.
TRAFFIC = ("", "one", "all")
#: Runs that make a distribution, with the seeds 0, 1, 2 ...
RUNS = 100
#: The number of no rank: ranks are counted from 0.
NOBODY = -1


@dataclass(frozen=True)
class Edit:
    """What is changed in a run. Changes of timing are those that only a run without barriers can show.

    Attributes:
        gdr: GPUDirect RDMA, on or off.
        p2p: Peer-to-peer access between GPUs, as it is or switched.
        link_kind: The kind of link whose bandwidth changes; "" for none.
        factor: What happens to the bandwidth of `link_kind`.
        cable: The cable that changes, `a~b` with two names of devices; "" for none.
        cable_change: What happens to `cable`.
        placement: How ranks are placed on the GPUs.
        oversubscription: Of the fabric.
        straggler: The slow rank, or NOBODY.
        straggler_fault: How the straggler is slow, a key of `STRAGGLERS`.
        jitter: Mean extra delay of a transfer, as text; "" for none.
        traffic: Other traffic on the links, as text; "" for none.
        companion: Another collective at the same time; "" for none.
        synthesize: Whether the schedule that is synthesized after the edit is shown.
        switches: Whether the synthesized schedule may use switches that reduce.
    """

    gdr: str = declare_word("off", create_word_reader(SWITCH_POSITIONS), "then_gdr")
    p2p: str = declare_word("same", create_word_reader(SWITCH_POSITIONS), "then_p2p")
    link_kind: str = declare_word("", str, "scale")
    factor: str = declare_word("double", create_word_reader(FACTORS))
    cable: str = declare_word("", str, limit=80)
    cable_change: str = declare_word("half", create_word_reader(CABLE_CHANGES), "do")
    placement: str = declare_word("same", create_word_reader(PLACEMENTS))
    oversubscription: int = declare_word(1, create_whole_reader(OVERSUBSCRIPTIONS))
    straggler: int = declare_word(NOBODY, create_whole_reader(range(MAX_PAGE_RANKS)))
    straggler_fault: str = declare_word("slow2", create_word_reader(STRAGGLERS), "how")
    jitter: str = declare_word("", create_word_reader(JITTERS))
    traffic: str = declare_word("", create_word_reader(TRAFFIC))
    companion: str = declare_word("", create_word_reader(COMPANIONS), "beside")
    synthesize: bool = declare_word(False, read_flag, write={True: "1", False: ""}.__getitem__)
    switches: bool = declare_word(True, read_flag, write={True: "", False: "0"}.__getitem__)

    @property
    def needs_event_engine(self) -> bool:
        """Whether it changes when transfers start or how long they take, which only a run without barriers shows."""
        return self.straggler != NOBODY or bool(self.jitter or self.traffic or self.companion)


#: No edit at all. The page opens with `Edit()`, which has something to show.
PLAIN = Edit(gdr="same")


def _adapt_address(edit: Edit, query: dict[str, str]) -> dict[str, str]:
    """The address of the first page is bare; in any other what is as it was is left out."""
    if edit == Edit():
        return {}
    return query or {"then_gdr": "same"}


ADDRESS = PageAddress(
    PLAIN,
    list_words(PLAIN),
    lambda fields, query, complaints: replace(PLAIN if fields else Edit(), **fields),
    _adapt_address,
)


def build_changed_topology(choice: Choice, edit: Edit) -> cs.Topology:
    """The machine or network after the edit.

    Args:
        choice: The run that is chosen.
        edit: The change that is made to the run.

    Raises:
        CollsimError: for what cannot be: a cable that is not there, ranks that are cut off
    """
    topology = build_topology(_set_switches(choice, edit))
    if settings := _list_machine_settings(choice, edit):
        topology = build_any_topology(_set_switches(choice, edit), **settings)
    return apply_edits(topology, _list_link_edits(topology, edit))


def _list_link_edits(topology: cs.Topology, edit: Edit) -> Edits:
    """What the edit does to cables, as edits of a machine."""
    edits: Edits = ()
    if edit.link_kind:
        edits = (MachineEdit("scale", edit.link_kind, f"x{FACTORS[edit.factor]:g}"),)
    if edit.cable:
        left = _describe_remaining(topology, edit)
        action: Action = "cut"
        if left:
            action = "rate"
        edits = (*edits, MachineEdit(action, edit.cable, left))
    return edits


def _describe_remaining(topology: cs.Topology, edit: Edit) -> str:
    """What is left of the bandwidth of a cable; nothing where it is broken, or was made of one link."""
    if edit.cable_change != "one":
        return CABLE_CHANGES[edit.cable_change]
    width = count_bonded_links(topology, edit.cable)
    if width > 1:
        return f"x{(width - 1) / width:.6g}"
    return ""


def count_bonded_links(topology: cs.Topology, cable: str) -> int:
    """Links that a cable `a~b` bonds, as NVLinks are; 1 where it is not there.

    Args:
        topology: The machine or network.
        cable: A cable by its ends, `a~b`.
    """
    ends, names, links = set(cable.split("~")), topology.devices.name, topology.links
    links_of_cable = (
        links.cables[kind].width
        for a, b, kind in zip(links.src.tolist(), links.dst.tolist(), links.cable.tolist(), strict=True)
        if {names[a], names[b]} == ends and links.cables[kind].kind != "pcie"
    )
    return next(links_of_cable, 1)


def build_code(choice: Choice, edit: Edit) -> tuple[Choice, str]:
    """The choice after the edit as far as a choice can say it, and the code that builds the machine after it.

    Args:
        choice: The run that is chosen.
        edit: The change that is made to the run.
    """
    after = _set_switches(choice, edit)
    text = snippets.write_machine(after, **_list_machine_settings(choice, edit))
    return after, text + write_edit_calls(_list_link_edits(build_topology(after), edit))


def choose_engine(choice: Choice, edit: Edit) -> Choice:
    """The choice as both runs are timed: timing conditions need the engine without barriers.

    Args:
        choice: The run that is chosen.
        edit: The change that is made to the run.
    """
    if edit.needs_event_engine:
        return replace(choice, engine="event")
    return choice


def build_conditions(choice: Choice, edit: Edit, ranks: int) -> dict[str, object]:
    """The timing conditions of an edit as keywords of `simulate`.

    Args:
        choice: The run that is chosen.
        edit: The change that is made to the run.
        ranks: Number of ranks.
    """
    values: dict[str, object] = {}
    if edit.straggler != NOBODY:
        name, value = STRAGGLERS[edit.straggler_fault]
        values[name] = {edit.straggler: value}
    if edit.jitter:
        values["jitter"] = edit.jitter
    if edit.traffic and ranks > 1:
        if edit.traffic == "all":
            sources = range(ranks)
        else:
            sources = range(1)
        values["background"] = [(r, (r + ranks // 2) % ranks, choice.nbytes) for r in sources]
    return values


def _list_machine_settings(choice: Choice, edit: Edit) -> dict[str, object]:
    """Keywords of `machine` that an edit sets, where there are several nodes to order and to join."""
    settings: dict[str, object] = {}
    if edit.placement != "same" and choice.copies > 1:
        settings = {"placement": edit.placement}
    if edit.oversubscription > 1 and choice.copies > 1:
        settings["oversubscription"] = edit.oversubscription
    return settings


def _set_switches(choice: Choice, edit: Edit) -> Choice:
    """The choice with P2P and GDR as the edit wants them."""
    if not choice.on_machine:
        return choice
    forced = {name: getattr(edit, name) == "on" for name in ("p2p", "gdr") if getattr(edit, name) != "same"}
    return replace(choice, **forced)


@dataclass(frozen=True)
class Change:
    """Before and after, as plain data.

    Attributes:
        is_empty: the edit changes nothing.
        before: the run without the edit, as a race shows it.
        after: the run with the edit.
        speedup: time before over time after.
        links: a row per link with a name, kind, bytes and share before and after; the largest changes first.
        tornado: what, name (English and Chinese), and the share of the time saved by doubling, after the change.
        crossings: neighbours in a ring that sit in different nodes: before, after, of how many.
        verdict: the busiest cable after the change and what doubling would save, English and Chinese; empty where
            nothing moves.
        times: s, of many runs after the change that differ in their jitter; empty without jitter.
        concurrent_runs: the run and those beside it, after the change; None where nothing runs beside.
    """

    is_empty: bool
    before: Runner
    after: Runner
    speedup: float
    links: pd.DataFrame
    tornado: pd.DataFrame
    crossings: tuple[int, int, int]
    verdict: Text = ("", "")
    times: tuple[float, ...] = ()
    concurrent_runs: ConcurrentRuns | None = None


#: Runs of a schedule in a change: before, after, and with each kind of link and the busiest cables doubled.
_RUNS_OF_CHANGE = 14


def estimate_change(choice: Choice, edit: Edit) -> float:
    """Seconds that `run_change` should take. Raises what it would raise before it runs anything.

    Args:
        choice: The run that is chosen.
        edit: The change that is made to the run.
    """
    choice, topology = choose_engine(choice, edit), build_topology(choice)
    plan = _plan(choice, topology, list_used_options(choice, topology))
    runs = _RUNS_OF_CHANGE
    if edit.jitter:
        runs += RUNS
    transfer_ratio = count_transfers(plan, edit.companion, topology) / max(1, len(plan))
    return transfer_ratio * (
        runs * estimate_seconds(choice, plan, topology, choice.nbytes) + 2 * SECONDS_TO_DRAW * len(plan)
    )


@job(estimate_change, compiled=lambda choice, edit: uses_events(choose_engine(choice, edit)))
def run_change(choice: Choice, edit: Edit) -> Change:
    """Run the choice before and after.

    Args:
        choice: The run that is chosen.
        edit: The change that is made to the run.

    Raises:
        CollsimError: for what cannot be, Refused for what is too much
    """
    choice, topology, other = choose_engine(choice, edit), build_topology(choice), build_changed_topology(choice, edit)
    options = list_used_options(choice, topology)
    conditions = build_conditions(choice, edit, topology.ranks)
    first, together = (
        _run(choice, topology, options),
        _run_together(choice, edit.companion, other, options, **conditions),
    )
    if together is None:
        second = _run(choice, other, options, **conditions)
    else:
        second = together[0]
    report_progress("run", 0.1)
    times: tuple[float, ...] = ()
    if edit.jitter:
        times = _simulate_times(choice, edit, second.schedule, other, conditions)
    ring = np.arange(topology.ranks)
    before, after = build_runner(first), build_runner(second)
    report_progress("run", 0.7)
    table = _measure_sensitivity(second)
    return Change(
        is_empty=topology.name == other.name and not edit.needs_event_engine,
        before=before,
        after=after,
        speedup=first.time / second.time if second.time else 1.0,
        links=_select_changed_links(cs.analysis.compare_runs(first, second).links, first, second),
        tornado=_build_tornado(second, table),
        crossings=(
            topology.crossings(ring, (ring + 1) % len(ring)),
            other.crossings(ring, (ring + 1) % len(ring)),
            len(ring),
        ),
        verdict=("", "") if table.empty else describe_busiest_cable(second, table),
        times=times,
        concurrent_runs=None if together is None else build_concurrent_runs(together),
    )


def _run_together(
    choice: Choice, companions: str, topology: cs.Topology, options: dict[str, object], **conditions: object
) -> ConcurrentTrace | None:
    """The run with others beside it, where any are asked for."""
    if not companions:
        return None
    plan = _plan(choice, topology, options)
    if (count := count_transfers(plan, companions, topology)) > MAX_CHANGED:
        raise Refused("whatif.large", transfers=f"{count:,}", limit=f"{MAX_CHANGED:,}")
    return run_together(
        plan,
        companions,
        topology,
        choice.nbytes,
        choice.dtype,
        "event",
        **{**build_engine_settings(choice), **conditions},
    )


def _simulate_times(
    choice: Choice,
    edit: Edit,
    plan: cs.Schedule,
    topology: cs.Topology,
    conditions: dict[str, object],
) -> tuple[float, ...]:
    """s, of many runs that differ in their jitter."""
    settings = {**build_engine_settings(choice), **conditions}

    def report(done: int, every: int) -> None:
        report_progress("run", 0.1 + 0.5 * done / every)

    if not edit.companion:
        many = cs.simulate_many(plan, topology, choice.nbytes, choice.dtype, runs=RUNS, progress=report, **settings)
        return tuple(many.tolist())
    times = []
    for seed in range(RUNS):
        times.append(
            run_together(plan, edit.companion, topology, choice.nbytes, choice.dtype, "event", seed=seed, **settings)[
                0
            ].time
        )
        report(seed + 1, RUNS)
    return tuple(times)


def _plan(choice: Choice, topology: cs.Topology, options: dict[str, Any]) -> cs.Schedule:
    return build_plan(choice, topology, options, MAX_CHANGED, "whatif.large")


def _run(choice: Choice, topology: cs.Topology, options: dict[str, object], **conditions: object) -> cs.Trace:
    settings = {**build_engine_settings(choice), **conditions}
    return cs.simulate(
        _plan(choice, topology, options), topology, choice.nbytes, choice.dtype, choice.engine, **settings
    )


def _select_changed_links(table: pd.DataFrame, *traces: cs.Trace) -> pd.DataFrame:
    """Only what changed: more or fewer bytes, or busy for another share of the run."""
    moved = (table["bytes"].abs() > 0) | (table["share"].abs() > 5e-4)
    names: dict[str, Text] = {}
    for trace in traces:
        used = np.flatnonzero(trace.link_bytes)
        names |= {trace.topology.link_name(int(i)): name_link(trace, int(i)) for i in used}
    changed_links = table[moved]
    changed_links = changed_links.assign(size=changed_links["bytes"].abs(), turn=changed_links["share"].abs())
    changed_links = changed_links.sort_values(["size", "turn"], ascending=False, kind="stable").drop(
        columns=["size", "turn"]
    )
    return changed_links.assign(
        **split_languages([names.get(name, repeat_text(name)) for name in changed_links["link"]]),
    )


def _measure_sensitivity(trace: cs.Trace) -> pd.DataFrame:
    """Kinds of link and the busiest single cables, by running again; no row where nothing moves."""
    if not trace.time or not trace.link_bytes.any():
        return pd.DataFrame(columns=["what", "name", "elasticity", "doubled"])
    return cs.analysis.sensitivity(trace, most_links=5)


def _build_tornado(trace: cs.Trace, table: pd.DataFrame) -> pd.DataFrame:
    """What doubling saves, with names for people."""
    by_name = {trace.topology.link_name(int(i)): name_link(trace, int(i)) for i in np.flatnonzero(trace.link_bytes)}
    names = [
        name_kind(n) if what == "kind" else by_name.get(n, (n, n))
        for what, n in zip(table["what"], table["name"], strict=True)
    ]
    return table.assign(**split_languages(names), doubled=table["doubled"].clip(lower=0))


def has_reducing_switches(choice: Choice, edit: Edit) -> bool:
    """Has the machine after the edit switches that reduce?

    Args:
        choice: The run that is chosen.
        edit: The change that is made to the run.

    Raises:
        CollsimError: for what cannot be
    """
    return can_switches_reduce(build_changed_topology(choice, edit))


@job(lambda choice, *_: estimate_synthesis(build_topology(choice).ranks), compiled=is_compiled, in_worker=True)
def repair(choice: Choice, edit: Edit, switches: bool) -> Synthesized:
    """What is synthesized for the machine after the edit, against the run that falls back to the ways that are left.

    Args:
        choice: The run that is chosen.
        edit: The change that is made to the run.
        switches: Whether switches of the machine that reduce may be used.

    Raises:
        CollsimError: for what cannot be
    """
    other = build_changed_topology(choice, edit)
    options = list_used_options(choice, other)
    return close_gap(_run(choice, other, options), switches)


def can_lose(choice: Choice, cable: str) -> bool:
    """Do all ranks of the machine still reach each other without a cable?

    Args:
        choice: The run that is chosen.
        cable: A cable by its ends, `a~b`.
    """
    try:
        build_changed_topology(choice, replace(PLAIN, cable=cable, cable_change="cut"))
    except CollsimError:
        return False
    return True


def count_ranks(choice: Choice) -> int:
    """Ranks of the machine; none where it cannot be built.

    Args:
        choice: The run that is chosen.
    """
    return ask_topology(choice, lambda topology: topology.ranks, 0)


def list_companions(choice: Choice) -> list[str]:
    """What can run at the same time on the machine; nothing where it cannot be built.

    Args:
        choice: The run that is chosen.
    """
    return ask_topology(choice, find_companions, [""])


def list_link_kinds(choice: Choice) -> list[str]:
    """Kinds of link that the machine has; none where it cannot be built.

    Args:
        choice: The run that is chosen.
    """
    return ask_topology(choice, lambda topology: sorted({cable.kind for cable in topology.links.cables}), [])


def has_cable(choice: Choice, edit: Edit) -> bool:
    """Is the cable of an edit there? Of a machine that cannot be built the page says so by itself.

    Args:
        choice: The run that is chosen.
        edit: The change that is made to the run.
    """
    try:
        topology = build_changed_topology(choice, replace(edit, link_kind="", cable=""))
    except CollsimError:
        return True
    names = topology.devices.name
    ends = set(edit.cable.split("~"))
    return any(
        {names[a], names[b]} == ends
        for a, b in zip(topology.links.src.tolist(), topology.links.dst.tolist(), strict=True)
    )


def list_cables(choice: Choice) -> dict[str, Text]:
    """The busiest cables of the run, as `a~b`, with their names in English and Chinese; none where it cannot run.

    Args:
        choice: The run that is chosen.
    """
    try:
        topology = build_topology(choice)
        options = list_used_options(choice, topology)
        # A cable carries the same bytes in both engines.
        trace = _run(replace(choice, engine="lockstep"), topology, options)
    except CollsimError:
        return {}
    links, names = topology.links, topology.devices.name
    names_of_cable: dict[str, Text] = {}
    seen: set[frozenset[int]] = set()
    for i in np.argsort(-trace.link_busy, kind="stable"):
        ends = frozenset((int(links.src[i]), int(links.dst[i])))
        if len(names_of_cable) == MAX_CABLES or not trace.link_bytes[i]:
            break
        if ends not in seen:
            seen.add(ends)
            a, b = sorted(ends)
            ends_of_cable = {"a": name_device(trace, a), "b": name_device(trace, b)}
            node = max(int(topology.devices.node[a]), int(topology.devices.node[b]))
            text = write_texts("whatif.ends", **ends_of_cable)
            if int(topology.devices.node.max(initial=0)) > 0 and node >= 0:
                text = write_texts("whatif.ends.node", **ends_of_cable, node=node)
            names_of_cable[f"{names[a]}~{names[b]}"] = text
    return names_of_cable
