"""What is synthesized for a run, raced against it, ring and tree, as plain data. Nothing here knows Streamlit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import collsim as cs
from collsim.analysis.device_names import name_link
from collsim.locale import Text
from collsim.sweep import gap_closing
from collsim.sweep.gap_closing import SynthesisRace
from collsim.sweep.synthesized_algorithm import SYNTHESIZED
from collsim.viz.race.race_document import Runner, build_runner

from ..jobs.job_spec import is_compiled, job, report_progress
from ..scenario.choice import Choice
from ..scenario.outcome import SECONDS_OF_PAIR, SECONDS_TO_SYNTHESIZE, build_topology, simulate

#: Transfers up to which a run is played beside others, as on the page Race.
MAX_PLAYED = 60_000
#: Seconds that running its rivals, and finding the parts of their gaps, takes.
_RIVAL_SECONDS = 6.0
#: What each phase of a search is called among the stages of a computation, where it begins on the bar, and its width.
STAGES = {
    "rates": ("rates", 0.0, 0.0),
    "trees": ("trees", 0.02, 0.15),
    "reducing trees": ("trees", 0.02, 0.15),
    "timing trees": ("timing", 0.17, 0.2),
    "matching": ("matching", 0.37, 0.15),
    "solver": ("solver", 0.52, 0.1),
    "ring and tree": ("library", 0.62, 0.2),
}


@dataclass(frozen=True)
class Synthesized:
    """What a page shows of it.

    Attributes:
        provenance: how it was found and what is proved, in English and Chinese.
        sentences: by how much it is faster, where the gain comes from, what gap remains.
        rows: a row for each run, as `SynthesisRace.rows`.
        runners: those that can be played, by `run` of their row.
        thinned: pieces per tree of the run that is played and of the one that is timed, where these differ; and the
            seconds of the one that is played.
    """

    provenance: Text
    sentences: tuple[Text, ...]
    rows: list[dict[str, Any]]
    runners: dict[str, Runner]
    thinned: tuple[int, int, float] | None


def estimate_synthesis(ranks: int) -> float:
    """Seconds that synthesis and its rivals should take on a network of so many ranks.

    Args:
        ranks: Number of ranks.
    """
    return SECONDS_TO_SYNTHESIZE + _RIVAL_SECONDS + SECONDS_OF_PAIR * ranks**2


def can_switches_reduce(topology: cs.Topology) -> bool:
    """Has a topology switches that reduce or multicast, as far as it says?

    Args:
        topology: The machine or network.
    """
    from collsim.synthesis.library_algorithms import has_reducing_switch  # a page without synthesis needs no compiler

    return has_reducing_switch(topology)


@job(lambda choice, *_: estimate_synthesis(build_topology(choice).ranks), compiled=is_compiled, in_worker=True)
def synthesize_for_run(choice: Choice, switches: bool) -> Synthesized:
    """What is synthesized for the machine, collective and size of a run.

    Args:
        choice: The run that is chosen.
        switches: Whether switches of the machine that reduce may be used.

    Raises:
        CollsimError: for what cannot be
    """
    return close_gap(simulate(choice), switches)


@job(lambda choice, *_: estimate_synthesis(build_topology(choice).ranks), compiled=is_compiled, in_worker=True)
def explain_synthesis(choice: Choice) -> tuple[Text, ...]:
    """The sentences alone, against ring and tree: nothing is played.

    Args:
        choice: The run that is chosen.
    """
    topology = build_topology(choice)
    race = gap_closing.close_gap(
        choice.collective, topology, choice.nbytes, dtype=choice.dtype, progress=_create_reporter()
    )
    return write_sentences(race)


def write_sentences(race: SynthesisRace) -> tuple[Text, ...]:
    """The sentences, with links by the names that the pictures have.

    Args:
        race: The synthesized schedule and its rivals.
    """
    names: dict[str, Text] = {}
    for name, trace in race.runs.items():
        busiest = race.parts[name].busiest
        names[trace.topology.link_name(busiest)] = name_link(trace, busiest)
    return tuple(sentence.rename(names).texts for sentence in race.sentences)


def close_gap(trace: cs.Trace, switches: bool) -> Synthesized:
    """The same of a run that is there; `switches`: those of the machine that reduce or multicast may be used.

    Args:
        trace: The run.
        switches: Whether switches of the machine that reduce may be used.
    """
    race: SynthesisRace = trace.close_gap(switches=switches, progress=_create_reporter())
    report_progress("run", 0.85)
    runs, thinned = dict(race.runs), None
    if len(race.schedule) > MAX_PLAYED and "pieces" in race.schedule.options:
        runs[SYNTHESIZED] = thinner = _thin_trees(race.trace)
        pieces = [run.schedule.options["pieces"] for run in (thinner, race.trace)]
        thinned = pieces[0], pieces[1], thinner.time
    runners = {name: build_runner(run) for name, run in runs.items() if len(run.schedule) <= MAX_PLAYED}
    return Synthesized(race.provenance.texts, write_sentences(race), race.rows(), runners, thinned)


def _create_reporter() -> Callable[[int, int, str], None]:
    """What tells the bar how far the search is; it never goes back."""
    progress = [0.0]

    def report(done: int, in_all: int, what: str) -> None:
        stage, begin, width = STAGES[what]
        progress[0] = max(progress[0], begin + width * min(1.0, done / max(1, in_all)))
        report_progress(stage, progress[0])

    return report


def _thin_trees(trace: cs.Trace) -> cs.Trace:
    """The same trees with so few pieces that they can be played."""
    s = trace.schedule
    pieces = max(1, s.options["pieces"] * MAX_PLAYED // len(s))
    fields: dict[str, Any] = {"ranks": s.ranks, "root": s.root}
    plan = cs.synthesize(s.collective, trace.topology, trace.nbytes, method="trees", pieces=pieces, **fields)
    return cs.simulate(plan, trace.topology, trace.nbytes, trace.dtype, "event")
