"""A measurement compared with its prediction: how much later each step ends, and the likely cause."""

from __future__ import annotations

import numpy as np

from ..dtypes import Floats, Ints
from ..errors import require_language
from ..errors.dependencies import pandas as pd
from ..locale import LANGUAGES, Text, build_text, join_texts
from ..simulate import Trace
from ..units import format_time
from .prediction import predict_run
from .real_trace import RealTrace

#: A run is held up if it takes longer than the median by this share and by this many times the usual distance from it.
_HELD_SHARE, _HELD_TIMES = 0.05, 5.0
#: A step is to blame that has more than this share of all that is late; a rank, that begins by this share of a run
#: later than the others.
_BLAME, _RANK = 0.5, 0.05
#: What was measured beside a run explains it where it is at most this many times as late.
_BUSIER = 1.5
#: Below this share of the prediction nothing needs a cause.
_NEGLIGIBLE_SHARE = 0.005


def _text(key: str, **values: object) -> Text:
    """A text of this module in every language."""
    return build_text("lab", f"lateness.{key}", **values)


def compute_step_ends(schedule_steps: Ints, finish: Floats, steps: int) -> Floats:
    """(runs, steps) s at which each step, and all before it, had ended.

    Args:
        schedule_steps: (transfers,) step of each.
        finish: (runs, transfers) s.
        steps: How many there are.
    """
    seconds = np.zeros((len(finish), steps))
    for number, run in enumerate(finish):
        np.maximum.at(seconds[number], schedule_steps, run)
    return np.maximum.accumulate(seconds, axis=1)


def compute_lateness(trace: RealTrace) -> Floats:
    """(runs, steps) s by which each step adds more to the time than predicted.

    Args:
        trace: All of its runs count.
    """
    steps, count = trace.schedule.transfers["step"], trace.schedule.steps
    measured = compute_step_ends(steps, trace.measured.finish, count)
    predicted = compute_step_ends(steps, trace.predicted.finish[None], count)
    zero = np.zeros((1, 1))
    # A run begins at 0 s: what each step adds is the difference to the end of the one before.
    return np.diff(measured, axis=1, prepend=zero[[0] * len(measured)]) - np.diff(predicted, axis=1, prepend=zero)


def compare_steps(trace: RealTrace) -> pd.DataFrame:
    """A row per step, all in s: `predicted` and `measured` are its end (measured: of the median run), `late` is the
    median over the runs of what the step takes more than predicted, `low` and `high` are its quartiles.

    Args:
        trace: All of its runs count.
    """
    steps, count = trace.schedule.transfers["step"], trace.schedule.steps
    late = compute_lateness(trace)
    low, median, high = np.quantile(late, [0.25, 0.5, 0.75], axis=0)
    return pd.DataFrame(
        {
            "step": np.arange(count),
            "predicted": compute_step_ends(steps, trace.predicted.finish[None], count)[0],
            "measured": compute_step_ends(steps, trace.finish[None], count)[0],
            "late": median,
            "low": low,
            "high": high,
        }
    )


def find_delayed_runs(trace: RealTrace) -> list[tuple[int, int, float]]:
    """Runs far above the median: (run, step in which it lost most, s more than the median run took).

    Args:
        trace: With one run, none is above the median.
    """
    times, late = trace.times, compute_lateness(trace)
    middle = float(np.median(times))
    typical_deviation = float(np.median(np.abs(times - middle)))
    far = np.flatnonzero((times - middle > _HELD_SHARE * middle) & (times - middle > _HELD_TIMES * typical_deviation))
    typical = np.median(late, axis=0)
    return [(int(r), int(np.argmax(late[r] - typical)), float(times[r] - middle)) for r in far]


def predict_calibrated(trace: RealTrace) -> Trace | None:
    """The prediction with what a message and a byte were measured to cost here; None where nobody measured.

    Args:
        trace: Its network's late and slow ranks are predicted too.
    """
    if trace.calibrated is None:
        return None
    cost, network = trace.calibrated, trace.network
    return predict_run(
        trace.schedule,
        trace.nbytes,
        trace.dtype,
        cost.alpha,
        cost.bandwidth,
        late=network.late,
        slow=network.slow,
        eager=network.eager,
    )


def explain(trace: RealTrace, language: str = "en") -> str:
    """What is late, where and why: one rank or run that was held up, one step, or all steps by the same."""
    language_number = LANGUAGES.index(require_language(language))
    return join_texts("sentences", write_sentences(trace))[language_number]


def format_summary(trace: RealTrace, language: str = "en") -> str:
    """What was run where, the prediction, the measurement, what was checked, and why they differ, a line each.

    Args:
        trace: Of `run_for_real`.
        language: "en" or "zh".
    """
    language_number = LANGUAGES.index(require_language(language))
    low, high = map(format_time, trace.middle)
    processes, cores = trace.schedule.endpoints, trace.measured.cores
    where = f"{trace.nbytes:,} bytes, {trace.dtype}, {trace.measured.on}"
    lines: tuple[Text, ...] = (
        _text(
            "processes_on_processors_this",
            schedule_label=trace.schedule.label,
            processes=processes,
            cores=cores,
            where=where,
        ),
        _text("predicted", predicted_time=format_time(trace.predicted.time)),
        _text(
            "measured_median_runs_middle",
            trace_time=format_time(trace.time),
            times=len(trace.times),
            low=low,
            high=high,
            best=format_time(trace.best),
        ),
        _text("checked_elements_all_as", checked=f"{trace.measured.checked:,}"),
    )
    return "\n".join([*(line[language_number] for line in lines), explain(trace, language)])


def write_sentences(trace: RealTrace) -> list[Text]:
    """The headline, its likely cause, and runs that were held up: English and Chinese.

    Args:
        trace: Of `run_for_real`.
    """
    pairs = _blame_rank(trace) or _blame_step(trace) or _blame_all_steps(trace)
    delayed = find_delayed_runs(trace)
    if delayed:
        run, step, more = max(delayed, key=lambda delay: delay[2])
        pairs.append(
            _text(
                "runs_were_held_up",
                delayed=len(delayed),
                times=len(trace.times),
                run=run + 1,
                more=format_time(more),
                step=step + 1,
            )
        )
    return pairs


def _find_first_starts(trace: Trace) -> Floats:
    """(ranks,) s at which each rank sends for the first time; nan where it never does."""
    first = np.full(trace.schedule.endpoints, np.nan)
    np.fmin.at(first, trace.schedule.transfers["src"], trace.start)
    return first


def _blame_rank(trace: RealTrace) -> list[Text] | None:
    """A rank that begins far later than predicted, and than the others."""
    late = np.nan_to_num(_find_first_starts(trace) - _find_first_starts(trace.predicted))
    rank = int(np.argmax(late))
    beyond = float(late[rank] - np.median(late))
    if beyond < _RANK * trace.time or trace.difference <= _NEGLIGIBLE_SHARE:
        return None
    name, late_by = trace.schedule.name_endpoint(rank), format_time(beyond)
    return [_text("far_off_begins_later", name=name, late_by=late_by), _text("likely_cause_its_process")]


def _blame_step(trace: RealTrace) -> list[Text] | None:
    """A step that is late by more than all others together."""
    late = np.median(compute_lateness(trace), axis=0)
    total, worst = float(late.clip(0).sum()), int(np.argmax(late))
    if len(late) < 3 or trace.difference <= _NEGLIGIBLE_SHARE or late[worst] < _BLAME * total:
        return None
    most, all_of_it = format_time(float(late[worst])), format_time(total)
    return [
        _text("step_blame_come_late", worst=worst + 1, most=most, all_of_it=all_of_it),
        _text("likely_cause_processes_do" if worst == 0 else "likely_cause_something_this"),
    ]


def _blame_all_steps(trace: RealTrace) -> list[Text]:
    """All steps late by about the same: what a message or a byte costs here."""
    # The median over runs for each step: a single hiccup of the computer does not count.
    late = np.median(compute_lateness(trace), axis=0)
    if abs(trace.difference) <= _NEGLIGIBLE_SHARE or not len(late):
        # Within what two runs differ by anyway, there is nothing to explain.
        return [_text("as_predicted_apart", difference=f"{abs(trace.difference):.1%}")]
    if trace.difference < 0:
        return [_explain_sooner(trace)]
    low, high = np.quantile(late, [0.1, 0.9])
    worst = int(np.argmax(late))
    pairs = [
        _text(
            "no_step_blame_most",
            low=format_time(float(low)),
            high=format_time(float(high)),
            worst=worst + 1,
            late=format_time(float(late[worst])),
        )
    ]
    return [*pairs, _explain_cause(trace)]


def _explain_sooner(trace: RealTrace) -> Text:
    share = f"{-trace.difference:.1%}"
    return _text("sooner_than_predicted_nobody", share=share)


def _explain_cause(trace: RealTrace) -> Text:
    """A message that costs more than it should, where that was measured; else too few processors."""
    cost, fitted = trace.calibrated, predict_calibrated(trace)
    processes, cores = trace.schedule.endpoints, trace.measured.cores
    if trace.network.bandwidth is None:
        return _text("likely_cause_processes_wait", processes=processes, cores=cores)
    if cost is None or fitted is None:
        return _text("likely_cause_process_wakes", processes=processes, cores=cores)
    more, late = fitted.time - trace.predicted.time, trace.time - trace.predicted.time
    explained, total = format_time(more), format_time(late)
    alpha, rate = format_time(cost.alpha), f"{cost.bandwidth / 1e6:.3g} MB/s"
    if more > _BUSIER * late:
        return _text("likely_cause_process_wakes_2", alpha=alpha, rate=rate, explained=explained, total=total)
    return _text("likely_cause_message_costs", alpha=alpha, rate=rate, explained=explained, total=total)
