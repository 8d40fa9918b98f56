"""The first minute: a run with one channel and the same with all, and the questions that stop it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from collsim.analysis.run_facts import RunFacts
from collsim.teach.quiz.moment_questions import QuestionAtStep, list_step_questions
from collsim.viz.hosts.bundle import read_bundle
from collsim.viz.hosts.player_page import build_offline_page
from collsim.viz.simple.simple_document import SimpleRun, build_simple_run
from collsim.viz.timeline.timeline_document import MAX_TRANSFERS

from ..jobs.job_spec import job, report_progress
from .choice import Choice, list_own_options, to_query
from .outcome import (
    Refused,
    build_topology,
    estimate_outcome,
    list_used_options,
    run_choice,
    uses_events,
)


@dataclass(frozen=True)
class SimpleView:
    """What the simple page draws.

    Attributes:
        runs: with one channel, and with all where that is another run.
        nbytes: nccl-tests' size of the run in bytes.
        ranks: number of ranks of the run.
        questions: those that stop the first run.
    """

    runs: tuple[SimpleRun, SimpleRun | None]
    nbytes: int
    ranks: int
    questions: tuple[QuestionAtStep, ...]


def describe_view(view: SimpleView, choice: Choice) -> dict[str, object]:
    """What the simple page says of its runs, whatever the language.

    Args:
        view: The runs.
        choice: The run with all channels.
    """
    return {
        "id": run_name(choice),
        "names": [run_name(use_single_channel(choice)), run_name(choice)],
        "runs": [run and asdict(run) for run in view.runs],
        "questions": [question.record() for question in view.questions],
    }


def use_single_channel(choice: Choice) -> Choice:
    """The choice with one channel, where it names no number and could have more.

    Args:
        choice: The run that is chosen.
    """
    if (
        "channels" not in list_own_options(choice.algorithm)
        or "channels" in dict(choice.options)
        or not choice.on_machine
    ):
        return choice
    used = list_used_options(choice, build_topology(choice))
    if used.get("channels", 1) > 1:
        return replace(choice, options=(*choice.options, ("channels", 1)))
    return choice


def use_all_channels(choice: Choice) -> Choice:
    """The choice without its one channel: all that the machine offers.

    Args:
        choice: The run that is chosen.
    """
    return replace(choice, options=tuple(pair for pair in choice.options if pair != ("channels", 1)))


def run_name(choice: Choice) -> str:
    """The name of a run for the browser, which keeps the moment at which a run of that name is.

    What the page Compare plots is not part of it.

    Args:
        choice: The run that is chosen.
    """
    words = to_query(replace(choice, algorithms=(), sizes=Choice().sizes))
    return "&".join(f"{name}={value}" for name, value in words.items())


@job(estimate_outcome, compiled=uses_events)
def run_simple(choice: Choice) -> SimpleView:
    """Run a choice with one channel, and with all.

    Args:
        choice: The run that is chosen.

    Raises:
        CollsimError: for what cannot be
    """
    single_choice = use_single_channel(choice)
    facts = _play_run(single_choice)
    report_progress("run", 0.3)
    all_channels = None
    if single_choice != choice:
        all_channels = build_simple_run(_play_run(choice))
    report_progress("run", 0.9)
    trace, questions = facts.trace, tuple(list_step_questions(facts))
    return SimpleView((build_simple_run(facts), all_channels), int(trace.nbytes), trace.schedule.ranks, questions)


def _play_run(choice: Choice) -> RunFacts:
    facts = run_choice(choice)
    transfers = len(facts.trace.schedule)
    if transfers > MAX_TRANSFERS:
        raise Refused("refused.transfers", transfers=f"{transfers:,}", limit=f"{MAX_TRANSFERS:,}")
    return facts


@job(lambda choice, *_: estimate_outcome(choice), compiled=lambda choice, *_: uses_events(choice))
def build_simple_page(
    choice: Choice,
    title: str,
    all_cards: bool,
    language: str,
    t: float,
) -> tuple[str, bytes]:
    """The name and the bytes of an offline page with the picture of the simple page.

    Args:
        choice: The run with all channels.
        title: Title of the page.
        all_cards: Whether it begins with the run of all channels.
        language: `en` or `zh`.
        t: Moment at which it opens, seconds.
    """
    data = {**describe_view(run_simple(choice), choice), "title": title, "all": all_cards}
    look = {"language": language, "theme": None, "t": t}
    return "collsim.html", build_offline_page(read_bundle("simple_page"), data, title, look).encode()
