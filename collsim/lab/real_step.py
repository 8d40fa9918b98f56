"""What a step of training on processes returns: all runs, the step as it was measured, and its prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from ..dtypes import Floats
from ..errors import require_language
from ..errors.dependencies import pandas as pd
from ..locale import LANGUAGES, Text, build_text, join_texts
from ..train import StepTask, StepTrace
from ..units import format_bytes, format_time
from .ranks.emulated_network import ImitatedNetwork
from .real_trace import RepeatedRuns, find_median_run


def _text(key: str, **values: object) -> Text:
    """A text of this module in every language."""
    return build_text("lab", f"real_step.{key}", **values)


@dataclass(frozen=True, eq=False, repr=False)
class RealStep(RepeatedRuns):
    """A step of training that ran on processes.

    Attributes:
        predicted: the StepTrace of the network that was imitated.
        begin: (runs, ranks, tasks) s from the start of a run at which a rank was ready for a task; nan where it takes
            no part.
        sent: (runs, ranks, tasks) s at which it sent its first byte; nan where it takes no part or sends nothing.
        end: (runs, ranks, tasks) s at which it had done its part; nan where it takes no part.
        network: what was imitated.
        cores: processors that this process could use.
        checked: elements that were compared with `replay` over all runs; one that differs is an error.

    Examples:
        >>> import collsim as cs
        >>> layers = tuple(cs.train.Layer(name, tensors=(1000,)) for name in ("first", "second"))
        >>> step = cs.lab.training_step_for_real(cs.train.Model("small", layers), ranks=2, compute="1ms")
        >>> step.begin.shape[:2]  # runs, ranks
        (1, 2)
    """

    predicted: StepTrace
    begin: Floats
    sent: Floats
    end: Floats
    network: ImitatedNetwork
    cores: int
    checked: int

    @cached_property
    def times(self) -> Floats:
        """(runs,) s of each run, in their order."""
        seconds: Floats = np.nanmax(self.end, axis=(1, 2))
        return seconds

    @property
    def median_run(self) -> int:
        """The run whose time is the median."""
        return find_median_run(self.times)

    @property
    def time(self) -> float:
        """Seconds of the median run."""
        return float(self.times[self.median_run])

    @cached_property
    def measured(self) -> StepTrace:
        """The median run as a StepTrace: computing begins with the first rank of its lanes, a collective with the first
        byte that is sent, and both end with the last rank."""
        run = self.median_run
        ready, sent, ended = (moments[run] for moments in (self.begin, self.sent, self.end))
        began: Floats = np.fmin.reduce(sent)
        none = np.isnan(began)
        began[none] = np.fmin.reduce(ready)[none]
        return replace(self.predicted, begin=began, end=np.fmax.reduce(ended), notes=(), previous=None)

    @cached_property
    def comparison(self) -> pd.DataFrame:
        """A row per task: task, name, kind, micro, bucket, nbytes; predicted and measured end (of the median run);
        late: by how much later the last rank ended it, the median over the runs, with its quartiles low and high; all
        in s."""
        late = np.fmax.reduce(self.end, axis=1) - self.predicted.end
        low, median, high = np.quantile(late, [0.25, 0.5, 0.75], axis=0)
        tasks = self.predicted.step.tasks
        columns = {
            name: [getattr(task, name) for task in tasks] for name in ("name", "kind", "microbatch", "bucket", "nbytes")
        }
        ends = {"predicted": self.predicted.end, "measured": self.measured.end}
        return pd.DataFrame(
            {"task": np.arange(len(tasks)), **columns, **ends, "late": median, "low": low, "high": high}
        )

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the measured step, as `StepTrace.save`. Raises CollsimError.

        Args:
            path: File to write; its suffix says the format.
        """
        return self.measured.save(path)

    def explain(self, language: str = "en") -> str:
        """How far from the prediction it is, and which task loses or wins most.

        Args:
            language: `en` or `zh`.
        """
        language_number = LANGUAGES.index(require_language(language))
        return join_texts("sentences", write_sentences(self))[language_number]

    def text(self, language: str = "en") -> str:
        """What was run, the prediction, the measurement, what was checked, and why they differ, a line each.

        Args:
            language: `en` or `zh`.
        """
        language_number = LANGUAGES.index(require_language(language))
        return "\n".join([*(pair[language_number] for pair in _format_lines(self)), self.explain(language)])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        step = self.predicted.step
        return (
            f"<RealStep {step.model.name}, {step.label}, {len(self.times)} runs: median {format_time(self.time)}, "
            f"predicted {format_time(self.predicted.time)}>"
        )


def _format_lines(real: RealStep) -> tuple[Text, ...]:
    step, predicted, measured = real.predicted.step, real.predicted, real.measured
    low, high = map(format_time, real.middle)
    # Both times of waiting are of the network: of the prediction and of the run.
    waits = [f"{format_time(trace.exposed)}" for trace in (predicted, measured)]
    sent = [step.tasks[number] for number in step.collectives]
    many, size = sum(task.repeats for task in sent), format_bytes(sum(task.repeats * task.nbytes for task in sent))
    return (
        _text(
            "processes_on_processors_this",
            model_name=step.model.name,
            step_label=step.label,
            ranks=step.ranks,
            cores=real.cores,
            many=many,
            size=size,
        ),
        _text("predicted_which_wait_network", predicted_time=format_time(predicted.time), waits=waits[0]),
        _text(
            "measured_which_wait_network",
            real_time=format_time(real.time),
            waits=waits[1],
            times=len(real.times),
            low=low,
            high=high,
            best=format_time(real.best),
        ),
        _text("checked_elements_all_as", checked=f"{real.checked:,}"),
    )


def write_sentences(real: RealStep) -> list[Text]:
    """By how much the step differs from its prediction, which task is longer by most, and the likely cause; English and
    Chinese.

    Args:
        real: Of `training_step_for_real`.
    """
    share, late = abs(real.difference), real.time - real.predicted.time
    key = "sooner_than_predicted"
    if late >= 0:
        key = "longer_than_predicted"
    sentence = _text(key, share=f"{share:.1%}")
    task, more = _find_latest_task(real)
    if more <= 0:
        return [sentence]
    name, many = f"{task.name} ({task.kind})", max(other.microbatch for other in real.predicted.step.tasks)
    key = "latest_task"
    if many:
        key = "latest_task_of_microbatch"
    latest = _text(key, name=name, microbatch=task.microbatch + 1, more=format_time(more))
    return [sentence, latest, _explain_cause(real)]


def _explain_cause(real: RealStep) -> Text:
    """Computing goes by its own clock, so what is late is what was sent."""
    ranks, cores = real.predicted.step.ranks, real.cores
    return _text("likely_cause_each_its", ranks=ranks, cores=cores)


def _find_latest_task(real: RealStep) -> tuple[StepTask, float]:
    """The task that takes longer than predicted by most, from where the last rank was ready for it to where the last
    ended it, in the median of the runs."""
    durations = np.fmax.reduce(real.end, axis=1) - np.fmax.reduce(real.begin, axis=1)
    excess = np.median(durations, axis=0) - (real.predicted.end - real.predicted.begin)
    worst = int(np.argmax(excess))
    return real.predicted.step.tasks[worst], float(excess[worst])
