"""An exercise: a task, three hints, what counts as done; and what a checked answer says.

>>> from collsim.teach import exercise
>>> result = exercise("ring-allreduce").check(my_ring)       # doctest: +SKIP
>>> print(result)                                            # doctest: +SKIP
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...errors import CollsimError
from ...locale import Text, build_text, join_texts
from ...sandbox import Attempt, Limits
from ...sandbox.custom_function import try_function
from ...schedule import Schedule
from ...simulate import Trace, simulate
from ...topology import Topology, switch
from ...units import format_time
from ...verify import verify
from .failure import draw_failure, format_history
from .kinds.localized_task import CheckedAnswer, LocalizedTask
from .kinds.task import Partners, Task

_REACHED = 1.005  # times the bound: what three digits would call 1


def _text(key: str, **values: object) -> Text:
    """A text of this module in every language."""
    return build_text("exercises", f"exercise.{key}", **values)


@dataclass(frozen=True, repr=False)
class Exercise(LocalizedTask):
    """A task in one language. `check(function)` says whether a function solves it; `hint(1)` to `hint(3)` help.

    Attributes:
        task: what is asked, in both languages.

    Examples:
        >>> import collsim as cs
        >>> cs.exercise("ring-allreduce").hint(1)
        'A reduce-scatter, then an allgather; only the chunk numbers have to fit.'
    """

    task: Task

    @property
    def starter(self) -> str:
        """Code to begin with; where there is none, the shape that every answer has."""
        shape = f"def {self.name.replace('-', '_')}(n):\n    r = np.arange(n)\n    yield cs.copy(...)\n"
        return self.task.starter or shape

    @cached_property
    def topology(self) -> Topology:
        """The network on which the time of an answer is compared with the bound."""
        return self.task.network(self.task.compared_ranks)

    def check(self, function: Callable[..., object], *, record: bool = True, limits: Limits | None = None) -> Result:
        """Try a function of n that yields steps with many numbers of ranks, and say what is wrong first.

        The function runs in a process of its own with limits; it cannot harm this one. Where the system has seccomp
        it can write, start and signal nothing either; where not, a warning says so once (see
        `collsim.sandbox.custom_function`).

        Args:
            function: takes the number of ranks, yields steps.
            record: note the outcome in the progress file (`collsim.teach.exercises.solved_exercises`).
            limits: seconds and bytes for the function; the usual ones unless given.
        """
        attempt = try_function(function, self.task.function_request, limits)
        result = judge_attempt(self, attempt)
        if record:
            from .solved_exercises import record_result

            record_result(result, function)
        return result

    def _format_limits(self) -> str:
        """The budget in one line, for the number of ranks at which the time is compared."""
        n = self.task.compared_ranks if self.task.compared_ranks in self.task.ranks else self.task.ranks[-1]
        limits = list(self._limits(n))
        if not limits:
            return ""
        return self.say(_text("wanted_ranks", n=n, limits=join_texts("semicolons", limits)))

    def _limits(self, n: int) -> Iterator[Text]:
        """What an answer has to keep to with n ranks: steps, bytes, partners, time."""
        task = self.task
        if task.steps is not None:
            yield _text("at_most", steps=task.steps(n))
        if task.sent is not None:
            share = f"{task.sent(n):.4g}"
            yield _text("no_rank_sends_more", share=share)
        if task.partners is not None:
            yield _text("each_rank_sends", rule=task.partners.rule)
        if task.within is not None:
            where, times, nbytes = self.topology.name, f"{task.within:g}", task.nbytes
            yield _text("time_within_bound_on", times=times, nbytes=nbytes, where=where)


@dataclass(frozen=True, eq=False, repr=False)
class Result(CheckedAnswer):
    """What a check found. Printed, it gives its reason; in a notebook it also shows the run.

    Attributes:
        exercise: what was to be solved.
        passed: does the function solve the exercise?
        reason: why not, or what was achieved, in one or two sentences.
        ranks: number of ranks of the failure; None where that has no meaning.
        rank: where it went wrong first, from 0; None where that has no meaning.
        chunk: which chunk went wrong first, from 0; None where that has no meaning.
        step: in which step it went wrong first, from 0; None where that has no meaning.
        schedule: the one that failed; if none did, the largest that was tried. None where not even steps came.
        trace: the run that was compared with the bound; None if it did not come so far.
        printed: what the function printed.

    Examples:
        >>> import collsim as cs
        >>> def nothing(n):
        ...     return []
        >>> cs.exercise("ring-allreduce").check(nothing, record=False).passed
        False
    """

    exercise: Exercise
    ranks: int | None = None
    rank: int | None = None
    chunk: int | None = None
    step: int | None = None
    schedule: Schedule | None = None
    trace: Trace | None = None
    printed: str = ""

    @property
    def gap(self) -> float | None:
        """Time over bound, where it was compared."""
        return None if self.trace is None else self.trace.gap

    @property
    def picture(self) -> str:
        """The failure as text: the steps, the place in brackets, and what the wrong slot held over time. Empty if all
        is well."""
        if self.passed or self.schedule is None:
            return ""
        drawn = draw_failure(self.schedule, self.step, self.rank)
        if self.rank is not None and self.chunk is not None:
            drawn += "\n" + format_history(self.schedule, self.rank, self.chunk, self.exercise.language)
        return drawn

    def animate(self) -> Any:
        """The failed (or the compared) schedule in the player."""
        if (trace := self._trace_to_show) is None:
            template = "{name}: there is no schedule to show; {reason}"
            raise CollsimError(template, name=self.exercise.name, reason=self.reason)
        return trace.animate(language=self.exercise.language)

    @property
    def _trace_to_show(self) -> Trace | None:
        s, task = self.schedule, self.exercise.task
        if self.passed or s is None or (s.ranks == task.compared_ranks and self.trace is not None):
            return self.trace
        return simulate(s, switch(s.ranks, bandwidth="25GB/s", alpha="1us"), task.nbytes)

    def _shown_lines(self) -> list[str]:
        lines = [self.picture] if self.picture else []
        if self.printed.strip():
            lines += [self.exercise.say(_text("your_function_printed")), self.printed.rstrip()]
        return lines

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>{self._render_player()}"

    def _render_player(self) -> str:
        """The player; empty where there is no step to play, or too much for a picture."""
        if (trace := self._trace_to_show) is not None and len(trace.schedule):
            with contextlib.suppress(CollsimError):
                return str(self.animate()._repr_html_())
        return ""


# ---- judging


def judge_attempt(exercise: Exercise, attempt: Attempt) -> Result:
    """What an attempt is worth: right for every n, then cheap enough, then close enough to the bound.

    Args:
        exercise: With its budget and its bound.
        attempt: Schedules by n, and the error of the first n that had none.
    """
    for n, schedule in attempt.schedules.items():
        try:
            verify(schedule)
        except CollsimError as error:
            return _report_failure(exercise, attempt, n, error, schedule)
        budget_failure = _check_budget(exercise, n, schedule)
        if budget_failure is not None:
            return Result(exercise, False, budget_failure, ranks=n, schedule=schedule, printed=attempt.printed)
    if attempt.error is not None:
        return _report_failure(exercise, attempt, attempt.failed, attempt.error, None)
    return _compare_with_bound(exercise, attempt)


def _report_failure(
    exercise: Exercise, attempt: Attempt, n: int | None, error: CollsimError, schedule: Schedule | None
) -> Result:
    where = {name: getattr(error, name, None) for name in ("rank", "chunk", "step")}
    if getattr(error, "from_start", False):
        where["step"] = None
    if schedule is None or where["rank"] is None or where["rank"] >= schedule.endpoints:
        location = ""
    else:
        who, chunk, step = schedule.name_endpoint(int(where["rank"])), where["chunk"], where["step"]
        if step is None:
            pointer = _text("look_at_chunk", who=who, chunk=chunk)
        else:
            pointer = _text("look_at_chunk_in_step", who=who, chunk=chunk, step=step + 1)
        location = exercise.say(pointer)
    head = exercise.say(_text("ranks", n=n)) if n is not None else ""
    return Result(
        exercise,
        False,
        f"{head}{error.text(exercise.language)}{location}",
        ranks=n,
        schedule=schedule,
        printed=attempt.printed,
        **where,
    )


def _check_budget(exercise: Exercise, n: int, schedule: Schedule) -> str | None:
    task = exercise.task
    if task.steps is not None and schedule.steps > task.steps(n):
        most = task.steps(n)
        return exercise.say(_text("ranks_correct_but_takes", n=n, steps=schedule.steps, most=most))
    if task.one_peer and (crowd := _find_crowd(schedule)) is not None:
        step, whom, many = crowd
        return exercise.say(_text("ranks_correct_but_step", n=n, step=step + 1, whom=whom, many=many))
    sent, who = _measure_most_sent(schedule)
    if task.sent is not None and sent > task.sent(n) * (1 + 1e-9):
        return exercise.say(
            _text(
                "ranks_correct_but_sends",
                n=n,
                who=schedule.name_endpoint(who),
                sent=f"{sent:.4g}",
                most=f"{task.sent(n):.4g}",
            )
        )
    if task.partners is not None and (astray := _find_stray_transfer(schedule, task.partners, n)) is not None:
        step, whom, to = astray
        return exercise.say(
            _text("ranks_correct_but_partner", n=n, step=step + 1, whom=whom, to=to, rule=task.partners.rule)
        )
    return None


def _measure_most_sent(schedule: Schedule) -> tuple[float, int]:
    """Buffers sent by the busiest endpoint, with chunks of equal size; and which it is."""
    import numpy as np

    total = np.zeros(schedule.endpoints)
    for pattern in schedule.patterns:
        away = pattern.src != pattern.dst
        total += np.bincount(pattern.src[away], minlength=schedule.endpoints) * pattern.times * pattern.width
    return float(total.max() / schedule.chunks), int(total.argmax())


def _find_crowd(schedule: Schedule) -> tuple[int, str, int] | None:
    """The first step in which somebody sends to, or receives from, more than one other; who, and how many."""
    for number, step in enumerate(schedule.each_step()):
        for endpoints, peers in ((step.src, step.dst), (step.dst, step.src)):
            pairs = {(int(a), int(b)) for a, b in zip(endpoints, peers, strict=True) if a != b}
            for who in {a for a, _ in pairs}:
                many = sum(a == who for a, _ in pairs)
                if many > 1:
                    return number, schedule.name_endpoint(who), many
    return None


def _find_stray_transfer(schedule: Schedule, partners: Partners, n: int) -> tuple[int, str, str] | None:
    """The first transfer that goes where the task does not let it: its step, from whom, to whom."""
    for number, step in enumerate(schedule.each_step()):
        wrong = (step.src != step.dst) & ~partners.allowed(step.src, step.dst, n)
        if wrong.any():
            row = int(wrong.argmax())
            return number, schedule.name_endpoint(int(step.src[row])), schedule.name_endpoint(int(step.dst[row]))
    return None


def _compare_with_bound(exercise: Exercise, attempt: Attempt) -> Result:
    task = exercise.task
    largest = max(attempt.schedules)
    schedule = attempt.schedules.get(task.compared_ranks, attempt.schedules[largest])
    topology = exercise.topology if schedule.ranks == task.compared_ranks else task.network(schedule.ranks)
    trace = simulate(schedule, topology, task.nbytes)
    sent, _ = _measure_most_sent(schedule)
    bound = format_time(trace.bound.time)
    if trace.gap < _REACHED:
        gap = _text("which_reaches_bound", bound=bound)
    else:
        gap = _text("x_bound", gap=f"{trace.gap:.3g}", bound=bound)
    facts = exercise.say(
        _text(
            "ranks_busiest_sends_its",
            ranks=schedule.ranks,
            steps=schedule.steps,
            sent=f"{sent:.4g}",
            task_nbytes=task.nbytes,
            topology_name=topology.name,
            trace_time=format_time(trace.time),
            gap=gap,
        )
    )
    if task.within is not None and trace.gap > task.within:
        reason = exercise.say(_text("correct_but_not_within", within=f"{task.within:g}", facts=facts))
        if trace.bottleneck is not None:
            reason += exercise.say(
                _text(
                    "bottleneck",
                    bottleneck=trace.bottleneck,
                    name=trace.bottleneck.name,
                    share=f"{100 * trace.bottleneck.busy_share:.3g}",
                )
            )
        return Result(
            exercise, False, reason, ranks=schedule.ranks, schedule=schedule, trace=trace, printed=attempt.printed
        )
    tried = ", ".join(map(str, attempt.schedules))
    right = exercise.say(_text("correct_n", tried=tried, facts=facts))
    return Result(exercise, True, right, schedule=attempt.schedules[largest], trace=trace, printed=attempt.printed)
