"""The first minute: a run with one channel and the same with all, and the questions that stop it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import collsim as cs
from collsim.teach.questions.moments import moments
from collsim.viz.simple.simple import SimpleRun, build_simple_run
from collsim.viz.timeline.document import MOST_TRANSFERS

from ..jobs.worker import ReportProgress
from .choice import Choice, own_options, to_query
from .outcome import Refused, build_place, expected_outcome, options_used, quietly, simulate


@dataclass(frozen=True)
class SimpleShown:
    """What the simple page draws.

    Attributes:
        runs: with one channel, and with all where that is another run.
        nbytes, ranks: of the run. questions: those that stop the first run, as plain data.
    """

    runs: tuple[SimpleRun, SimpleRun | None]
    nbytes: int
    ranks: int
    questions: tuple[dict[str, Any], ...]


def single(choice: Choice) -> Choice:
    """The choice with one channel, where it names no number and could have more."""
    if "channels" not in own_options(choice.algorithm) or "channels" in dict(choice.options) or not choice.on_machine:
        return choice
    used = options_used(choice.algorithm, dict(choice.options), build_place(choice), choice.on_machine)
    return replace(choice, options=(*choice.options, ("channels", 1))) if used.get("channels", 1) > 1 else choice


def whole(choice: Choice) -> Choice:
    """The choice without its one channel: all that the machine offers."""
    return replace(choice, options=tuple(pair for pair in choice.options if pair != ("channels", 1)))


def run_name(choice: Choice) -> str:
    """The name of a run for the browser, which keeps the moment at which a run of that name is.

    What the page Compare plots is not part of it.
    """
    words = to_query(replace(choice, algorithms=(), sizes=Choice().sizes))
    return "&".join(f"{name}={value}" for name, value in words.items())


def simple(choice: Choice, report_progress: ReportProgress = quietly) -> SimpleShown:
    """Run a choice with one channel, and with all. Raises CollsimError for what cannot be."""
    one = single(choice)
    trace = _played(one)
    report_progress("run", 0.3)
    all_ = None if one == choice else build_simple_run(_played(choice))
    report_progress("run", 0.9)
    asked = tuple(moment.record() for moment in moments(trace))
    return SimpleShown((build_simple_run(trace), all_), int(trace.nbytes), trace.schedule.ranks, asked)


def _played(choice: Choice) -> cs.Trace:
    trace = simulate(choice)
    if len(trace.schedule) > MOST_TRANSFERS:
        raise Refused("refused.transfers", transfers=f"{len(trace.schedule):,}", limit=f"{MOST_TRANSFERS:,}")
    return trace


def expected_simple(choice: Choice) -> float:
    """Seconds that `simple` should take. Raises what it would raise."""
    return expected_outcome(choice)
