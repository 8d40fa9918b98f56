"""What a step of training on processes returns: all runs, the step as it was measured, and its prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import require_word
from ..training import StepTrace
from ..units import format_bytes, format_time
from .ranks.network import ImitatedNetwork
from .trace import RepeatedRuns

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Pair = tuple[str, str]
LANGUAGES = ("en", "zh")


@dataclass(frozen=True, eq=False, repr=False)
class RealStep(RepeatedRuns):
    """A step of training that ran on processes.

    Attributes:
        predicted: the StepTrace of the network that was imitated.
        begin, end: (runs, ranks, tasks) s from the start of a run at which each task began and had ended on each rank.
        network: what was imitated. cores: processors that this process could use.
        checked: elements that were compared with `replay` over all runs; one that differs is an error.
    """

    predicted: StepTrace
    begin: Floats
    end: Floats
    network: ImitatedNetwork
    cores: int
    checked: int

    @cached_property
    def times(self) -> Floats:
        """(runs,) s of each run, in their order."""
        found: Floats = self.end.max(axis=(1, 2))
        return found

    @property
    def median_run(self) -> int:
        """The run whose time is the median; of an even number the lower of the two."""
        return int(np.argsort(self.times, kind="stable")[(len(self.times) - 1) // 2])

    @property
    def time(self) -> float:
        """Seconds of the median run."""
        return float(self.times[self.median_run])

    @cached_property
    def measured(self) -> StepTrace:
        """The median run as a StepTrace: all ranks share its one lane, so a task begins with the first of them and ends
        with the last."""
        run = self.median_run
        began, ended = self.begin[run].min(axis=0), self.end[run].max(axis=0)
        return replace(self.predicted, begin=began, end=ended, notes=(), was=None)

    @cached_property
    def beside(self) -> pd.DataFrame:
        """A row per task: task, name, kind, bucket, nbytes; predicted and measured end (of the median run); late: by
        how much later the last rank ended it, the median over the runs, with its quartiles low and high; all in s."""
        import pandas as pd

        late = self.end.max(axis=1) - self.predicted.end
        low, median, high = np.quantile(late, [0.25, 0.5, 0.75], axis=0)
        tasks = self.predicted.step.tasks
        columns = {name: [getattr(task, name) for task in tasks] for name in ("name", "kind", "bucket", "nbytes")}
        ends = {"predicted": self.predicted.end, "measured": self.measured.end}
        return pd.DataFrame(
            {"task": np.arange(len(tasks)), **columns, **ends, "late": median, "low": low, "high": high}
        )

    def explain(self, lang: str = "en") -> str:
        """How far from the prediction it is, and which task loses or wins most."""
        at = LANGUAGES.index(require_word("lang", lang, LANGUAGES))
        return (" ", "")[at].join(pair[at] for pair in sentences(self))

    def said(self, lang: str = "en") -> str:
        """What was run, the prediction, the measurement, what was checked, and why they differ, a line each."""
        at = LANGUAGES.index(require_word("lang", lang, LANGUAGES))
        return "\n".join([*(pair[at] for pair in _lines(self)), self.explain(lang)])

    def __str__(self) -> str:
        return self.said()

    def __repr__(self) -> str:
        step = self.predicted.step
        return (
            f"<RealStep {step.model.name}, {step.says}, {len(self.times)} runs: median {format_time(self.time)}, "
            f"predicted {format_time(self.predicted.time)}>"
        )


def _lines(real: RealStep) -> tuple[Pair, ...]:
    step, predicted, measured = real.predicted.step, real.predicted, real.measured
    low, high = map(format_time, real.middle)
    waits = [f"{format_time(trace.exposed)}" for trace in (predicted, measured)]
    buckets = len(step.collectives)
    return (
        (
            f"{step.model.name}, {step.says}: {step.ranks} processes on {real.cores} processors of this computer, "
            f"{buckets} collective{'s' * (buckets != 1)}, {format_bytes(step.model.nbytes)} of gradients",
            f"{step.model.name}，{step.says}：本机 {real.cores} 个处理器上的 {step.ranks} 个进程，"
            f"{buckets} 次集合通信，梯度共 {format_bytes(step.model.nbytes)}",
        ),
        (
            f"predicted  {format_time(predicted.time)}, of which {waits[0]} wait for the network",
            f"预测  {format_time(predicted.time)}，其中 {waits[0]} 在等待网络",
        ),
        (
            f"measured   {format_time(real.time)}, of which {waits[1]} wait for the network; the median of "
            f"{len(real.times)} runs; the middle half {low} to {high}, the best {format_time(real.best)}",
            f"实测  {format_time(real.time)}，其中 {waits[1]} 在等待网络；{len(real.times)} 次的中位数；"
            f"中间一半 {low} 到 {high}，最快 {format_time(real.best)}",
        ),
        (
            f"checked    {real.checked:,} elements, all as replay has them, bit for bit",
            f"已核对  {real.checked:,} 个元素，与 replay 逐位相同",
        ),
    )


def sentences(real: RealStep) -> list[Pair]:
    """How far apart, and what is longer by most: the sleeps or what is sent."""
    share, late = abs(real.apart), real.time - real.predicted.time
    longer = late >= 0
    found: list[Pair] = [
        (
            f"{share:.1%} {'longer' if longer else 'sooner'} than predicted.",
            f"比预测{'长' if longer else '短'} {share:.1%}。",
        )
    ]
    name, more = _most(real)
    if more > 0:
        found.append(
            (
                f"Of all tasks {name} takes most more than predicted: {format_time(more)}.",
                f"所有任务中，{name} 比预测多出最多：{format_time(more)}。",
            )
        )
    return found


def _most(real: RealStep) -> tuple[str, float]:
    """The task that takes longer than predicted by most, from where the last rank began it to where the last ended it,
    in the median of the runs."""
    own = np.median(real.end.max(axis=1) - real.begin.max(axis=1), axis=0) - (real.predicted.end - real.predicted.begin)
    worst = int(np.argmax(own))
    task = real.predicted.step.tasks[worst]
    return (task.name if not task.computes else f"{task.name} ({task.kind})"), float(own[worst])
