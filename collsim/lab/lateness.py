"""The measurement beside its prediction: how much later each step ends, and the likely cause, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import require_word
from ..locale import LANGUAGES, Text
from ..simulate import Trace
from ..units import format_time
from .prediction import predict_run
from .trace import RealTrace

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
#: A run is held up if it takes longer than the median by this share and by this many times the usual distance from it.
_HELD_SHARE, _HELD_TIMES = 0.05, 5.0
#: A step is to blame that has more than this share of all that is late; a rank, that begins by this share of a run
#: later than the others.
_BLAME, _RANK = 0.5, 0.05
#: What was measured beside a run explains it where it is at most this many times as late.
_BUSIER = 1.5
#: Below this share of the prediction nothing needs a cause.
_NOTHING = 0.005


def compute_step_ends(schedule_steps: npt.NDArray[np.int32], finish: Floats, steps: int) -> Floats:
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
    return np.diff(measured, axis=1, prepend=zero[[0] * len(measured)]) - np.diff(predicted, axis=1, prepend=zero)


def compare_steps(trace: RealTrace) -> pd.DataFrame:
    """A row per step, all in s: `predicted` and `measured` are its end (measured: of the median run), `late` is the
    median over the runs of what the step takes more than predicted, `low` and `high` are its quartiles.

    Args:
        trace: All of its runs count.
    """
    import pandas as pd

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
    usual = float(np.median(np.abs(times - middle)))
    far = np.flatnonzero((times - middle > _HELD_SHARE * middle) & (times - middle > _HELD_TIMES * usual))
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
    language_number = LANGUAGES.index(require_word("language", language, LANGUAGES))
    return (" ", "")[language_number].join(pair[language_number] for pair in write_sentences(trace))


def format_summary(trace: RealTrace, language: str = "en") -> str:
    """What was run where, the prediction, the measurement, what was checked, and why they differ, a line each.

    Args:
        trace: Of `run_for_real`.
        language: "en" or "zh".
    """
    language_number = LANGUAGES.index(require_word("language", language, LANGUAGES))
    low, high = map(format_time, trace.middle)
    processes, cores = trace.schedule.endpoints, trace.measured.cores
    where = f"{trace.nbytes:,} bytes, {trace.dtype}, {trace.measured.on}"
    lines: tuple[Text, ...] = (
        (
            f"{trace.schedule.label}, {processes} processes on {cores} processors of this computer ({where})",
            f"{trace.schedule.label}，本机 {cores} 个处理器上的 {processes} 个进程（{where}）",
        ),
        (f"predicted  {format_time(trace.predicted.time)}", f"预测  {format_time(trace.predicted.time)}"),
        (
            f"measured   {format_time(trace.time)}, the median of {len(trace.times)} runs; the middle half {low} to "
            f"{high}, the best {format_time(trace.best)}",
            f"实测  {format_time(trace.time)}，{len(trace.times)} 次的中位数；中间一半 {low} 到 {high}，"
            f"最快 {format_time(trace.best)}",
        ),
        (
            f"checked    {trace.measured.checked:,} elements, all as replay has them, bit for bit",
            f"已检查  {trace.measured.checked:,} 个元素，与 replay 逐位相同",
        ),
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
            (
                f"{len(delayed)} of {len(trace.times)} runs were held up, run {run + 1} most: {format_time(more)} "
                f"more, most of it in step {step + 1}; something else had the processor.",
                f"{len(trace.times)} 次运行中有 {len(delayed)} 次被耽搁，"
                f"最多的是第 {run + 1} 次：多用 {format_time(more)}，"
                f"主要在第 {step + 1} 步；当时处理器在忙别的事。",
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
    if beyond < _RANK * trace.time or trace.difference <= _NOTHING:
        return None
    name, late_by = trace.schedule.who(rank), format_time(beyond)
    return [
        (
            f"{name.capitalize()} is far off: it begins {late_by} later than the others against the prediction.",
            f"{name} 偏离最大：与预测相比，它比其他 rank 晚开始 {late_by}。",
        ),
        (
            "Likely cause: its process was not given a processor in time; all that wait for it inherit that.",
            "可能的原因：它的进程没有及时得到处理器；等待它的 rank 都随之推迟。",
        ),
    ]


_FIRST: Text = (
    "Likely cause: the processes do not begin at the same moment; a step ends with its slowest, and the later ones "
    "inherit that.",
    "可能的原因：各进程不在同一时刻开始；一步以最慢的结束，后面的步随之推迟。",
)
_OTHER: Text = (
    "Likely cause: something in this step costs more than bytes and messages do; look at who sends in it.",
    "可能的原因：这一步里有字节和消息之外的开销；请看这一步由谁发送。",
)


def _blame_step(trace: RealTrace) -> list[Text] | None:
    """A step that is late by more than all others together."""
    late = np.median(compute_lateness(trace), axis=0)
    total, worst = float(late.clip(0).sum()), int(np.argmax(late))
    if len(late) < 3 or trace.difference <= _NOTHING or late[worst] < _BLAME * total:
        return None
    most, all_of_it = format_time(float(late[worst])), format_time(total)
    return [
        (
            f"Step {worst + 1} is to blame: {most} of the {all_of_it} that come late.",
            f"主要是第 {worst + 1} 步：迟到的 {all_of_it} 中占 {most}。",
        ),
        _FIRST if worst == 0 else _OTHER,
    ]


def _blame_all_steps(trace: RealTrace) -> list[Text]:
    """All steps late by about the same: what a message or a byte costs here."""
    late = np.median(compute_lateness(trace), axis=0)
    if abs(trace.difference) <= _NOTHING or not len(late):
        return [
            (
                f"As predicted: {abs(trace.difference):.1%} apart.",
                f"与预测一致：相差 {abs(trace.difference):.1%}。",
            )
        ]
    if trace.difference < 0:
        return [_explain_sooner(trace)]
    low, high = np.quantile(late, [0.1, 0.9])
    worst = int(np.argmax(late))
    pairs = [
        (
            f"No step is to blame: most come {format_time(float(low))} to {format_time(float(high))} late, step "
            f"{worst + 1} the most (+{format_time(float(late[worst]))}).",
            f"不是某一步的问题：多数步晚 {format_time(float(low))} 到 {format_time(float(high))}，"
            f"第 {worst + 1} 步最多（+{format_time(float(late[worst]))}）。",
        )
    ]
    return [*pairs, _explain_cause(trace)]


def _explain_sooner(trace: RealTrace) -> Text:
    share = f"{-trace.difference:.1%}"
    return (
        f"{share} sooner than predicted: nobody waited where the prediction does.",
        f"比预测快 {share}：有些地方预测要等待，实际没有等。",
    )


def _explain_cause(trace: RealTrace) -> Text:
    """A message that costs more than it should, where that was measured; else too few processors."""
    cost, fitted = trace.calibrated, predict_calibrated(trace)
    processes, cores = trace.schedule.endpoints, trace.measured.cores
    if trace.network.bandwidth is None:
        return (
            f"Likely cause: {processes} processes wait for {cores} processors; nothing is paced, so the prediction "
            "knows what a message costs and not who has a processor.",
            f"可能的原因：{processes} 个进程在等 {cores} 个处理器；没有限速，预测只知道一条消息的开销，"
            "不知道谁占着处理器。",
        )
    if cost is None or fitted is None:
        return (
            f"Likely cause: a process wakes up late ({processes} processes on {cores} processors); "
            "calibrate=True measures what a message costs here.",
            f"可能的原因：进程醒得晚（{cores} 个处理器上有 {processes} 个进程）；"
            "calibrate=True 可测出这里一条消息的开销。",
        )
    more, late = fitted.time - trace.predicted.time, trace.time - trace.predicted.time
    explained, total = format_time(more), format_time(late)
    alpha, rate = format_time(cost.alpha), f"{cost.bandwidth / 1e6:.3g} MB/s"
    if more > _BUSIER * late:
        return (
            f"Likely cause: a process wakes up late, and how late changes from moment to moment: measured beside it, a "
            f"message cost {alpha} and bytes went at {rate}, which would be {explained} longer; the runs were {total}.",
            f"可能的原因：进程醒得晚，而且时刻在变：在旁边测得一条消息要 {alpha}，字节以 {rate} 传送，按此要长 "
            f"{explained}；而各次运行只长 {total}。",
        )
    return (
        f"Likely cause: a message costs {alpha} here and bytes go at {rate}, because a process wakes up late; at these "
        f"the prediction is {explained} longer, of {total} that were measured.",
        f"可能的原因：这里一条消息要 {alpha}，字节以 {rate} 传送，因为进程醒得晚；按此计算，预测要长 {explained}，"
        f"而实测多出 {total}。",
    )
