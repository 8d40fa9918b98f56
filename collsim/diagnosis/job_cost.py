"""What a job gets and could get: busbw of its largest size, seconds of a training step, hours of work in a day."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import CollsimError, Sentence, Words
from ..locale import translate
from ..nccl.measured.published_runs import MeasuredRun
from ..nccl.nccl_prediction import Prediction
from ..train import Model, training_step
from ..train import model as get_model
from ..train.parallel.ddp_strategy import ddp
from ..train.parallel.sharded_parallel import fsdp
from ..train.step_trace import StepTrace
from ..units import format_bandwidth, format_bytes, format_time, parse_count

#: Splits and samples of a GPU that are tried where nobody says the batch: the first that fits the GPUs' memory counts.
_SPLITS = ((ddp(), 4), (fsdp(), 4), (fsdp(), 1))
_HOURS = 24.0


@dataclass(frozen=True)
class TrainingCost:
    """What a step of training takes with the network as it was measured, and as it could be.

    Attributes:
        model: its name.
        batch: samples of a step over all GPUs.
        split: how the model is split, as `ddp()`.
        dtype: what is computed in.
        nbytes: bytes that collectives of a step combine, as nccl-tests counts them: of `ddp()` the gradients.
        step: seconds, where every collective takes as many times its predicted time as the measured ones of its size.
        possible: predicted seconds.
        low: lower end of where four in five measured steps lie, s.
        high: upper end, s.
        notes: what was assumed.

    Examples:
        >>> import collsim as cs
        >>> texts = cs.diagnosis.list_studied_cases()["p2p_disabled"].texts
        >>> diagnosis = cs.diagnose(texts, model="gpt2-xl")
        >>> training = diagnosis.cost.training
        >>> training.batch, training.split, training.step > 2 * training.possible
        (32, 'ddp()', True)
    """

    model: str
    batch: int
    split: str
    dtype: str
    nbytes: int
    step: float
    possible: float
    low: float
    high: float
    notes: tuple[str, ...] = ()

    @property
    def hours_of_day(self) -> float:
        """Hours of work that a day of 24 h does, at the speed that is possible."""
        return _HOURS * min(1.0, self.possible / self.step)

    def text(self, language: str = "en") -> str:
        """Write the figures with what was assumed, in `en` or `zh`.

        Args:
            language: `en` or `zh`.
        """
        words = {name: getattr(self, name) for name in ("model", "batch", "dtype", "split")}
        times = {name: format_time(getattr(self, name)) for name in ("step", "possible", "low", "high")}
        figures = {"nbytes": format_bytes(self.nbytes), "hours": f"{self.hours_of_day:.3g}"}
        return translate(language, "diagnosis", "cost.training", **words, **times, **figures)


@dataclass(frozen=True)
class JobCost:
    """What a job gets and could get, at the largest size that was measured.

    Attributes:
        nbytes: the size.
        measured: busbw, B/s.
        possible: predicted busbw of the machine without the fault, B/s.
        low: lower end of four in five of such predictions, B/s.
        high: upper end, B/s.
        training: what it costs a step of training; None where no model was given.

    Examples:
        >>> import collsim as cs
        >>> cost = cs.diagnosis.JobCost(2**30, measured=20e9, possible=230e9, low=210e9, high=245e9)
        >>> cost.text().partition(";")[0]
        'At 1 GiB the measured busbw is 20 GB/s'
    """

    nbytes: int
    measured: float
    possible: float
    low: float
    high: float
    training: TrainingCost | None = None

    def text(self, language: str = "en") -> str:
        """Write it in one sentence or two.

        Args:
            language: `en` or `zh`.
        """
        rates = {name: format_bandwidth(getattr(self, name)) for name in ("measured", "possible", "low", "high")}
        sentences = [translate(language, "diagnosis", "cost", nbytes=format_bytes(self.nbytes), **rates)]
        if self.training is not None:
            sentences.append(self.training.text(language))
        return translate(language, "words", "sentences").join(sentences)


@dataclass(frozen=True)
class TrainingStepRun:
    """A step of training on the machine of a job without a fault, and how much slower its collectives were measured.

    Attributes:
        trace: of the step.
        sizes: (sizes,) bytes that were measured, ascending.
        ratios: (sizes,) measured over predicted time.
    """

    trace: StepTrace
    sizes: npt.NDArray[np.float64]
    ratios: npt.NDArray[np.float64]

    def compute_cost(self, possible_ratio: float) -> TrainingCost:
        """Compute what the step takes.

        Args:
            possible_ratio: how many times their predicted time collectives take where only one of several faults is
                gone; 1 where all are.
        """
        step, request = self.trace.step, self.trace.request
        nbytes = np.array([max(1, task.nbytes) for task in step.tasks], dtype=float)
        measured = np.exp(np.interp(np.log(nbytes), np.log(self.sizes), np.log(self.ratios)))
        possible = self.trace.time_scaled_collectives(np.full(len(nbytes), possible_ratio))
        interval = self.trace.interval
        return TrainingCost(
            model=request.model.name,
            batch=request.batch,
            split=request.parallel.label,
            dtype=request.dtype,
            nbytes=sum(step.tasks[number].nbytes for number in step.collectives),
            step=self.trace.time_scaled_collectives(measured),
            possible=possible,
            low=interval.low / self.trace.time * possible,
            high=interval.high / self.trace.time * possible,
            notes=tuple(self.trace.notes),
        )


@dataclass(frozen=True)
class JobPredictions:
    """What the machine of a job gives without a fault.

    Attributes:
        run: measured times.
        predicted: of each size of the run.
        training: a step of training; None where no model was given, or it cannot be trained there.
    """

    run: MeasuredRun
    predicted: Sequence[Prediction]
    training: TrainingStepRun | None = None

    def compute_cost(self, limit: float = math.inf) -> JobCost:
        """Compute what the job gets and could get at its largest size.

        Args:
            limit: busbw that other faults leave, B/s.
        """
        prediction = self.predicted[-1]
        measured = prediction.busbw * prediction.time / self.run.times[-1]
        slower = max(1.0, prediction.busbw / max(limit, measured))
        # The longest time is the lowest busbw.
        low, high = (prediction.busbw * prediction.time / bound / slower for bound in (prediction.high, prediction.low))
        training = None
        if self.training is not None:
            training = self.training.compute_cost(slower)
        return JobCost(self.run.nbytes[-1], measured, prediction.busbw / slower, low, high, training)


def simulate_training(
    run: MeasuredRun, predicted: Sequence[Prediction], model: Model, batch: int | None
) -> TrainingStepRun | Words:
    """Time a step of training on the machine of a run, split by `ddp()`, or by `fsdp()` where that does not fit.

    It computes in bfloat16, as models of this size are trained.

    Args:
        run: measured times on a machine.
        predicted: of each of its sizes, on the machine without a fault.
        model: what is trained.
        batch: samples of a step over all GPUs; None for four a GPU, or one where four do not fit.

    Returns:
        The step; or why there is none, in words.
    """
    if run.machine is None:
        return Sentence("no machine is known to train {model} on", model=model.name)
    ranks = run.facts.ranks
    reason: Words = ""
    # The next strategy is tried where the model does not fit: DDP first, as the simplest that a user has.
    for strategy, samples in _SPLITS:
        try:
            trace = training_step(
                model,
                run.machine,
                parallel=strategy,
                batch=batch or samples * ranks,
                dtype="bfloat16",
                ranks=ranks,
            )
        except CollsimError as error:
            reason = error.sentence
            continue
        order = np.argsort(run.nbytes)
        ratios = np.array([t / p.time for t, p in zip(run.times, predicted, strict=True)])
        return TrainingStepRun(trace, np.array(run.nbytes, dtype=float)[order], ratios[order])
    return reason


def predict_job(
    run: MeasuredRun | None, predicted: Sequence[Prediction], model: Model | str | None, batch: int | None
) -> tuple[JobPredictions | None, tuple[Words, ...]]:
    """Collect what a job could get.

    Args:
        run: its measured times; None without any.
        predicted: of each of its sizes; none where the machine is not modelled.
        model: of training; None for busbw alone.
        batch: samples of a step over all GPUs; None for four a GPU.

    Returns:
        The predictions, None without a measurement on a known machine; and why there is no step of training where one
        was asked for.

    Raises:
        CollsimError: There is no such model.
    """
    if model is not None and not isinstance(model, Model):
        model = get_model(model)
    if batch is not None:
        batch = parse_count(batch, "batch")
    if run is None or not predicted:
        if model is None:
            return None, ()
        message = "what a step of {model} costs needs a table of nccl-tests and the machine that it was measured on"
        return None, (Sentence(message, model=model.name),)
    if model is None:
        return JobPredictions(run, predicted), ()
    step = simulate_training(run, predicted, model, batch)
    if isinstance(step, TrainingStepRun):
        return JobPredictions(run, predicted, step), ()
    return JobPredictions(run, predicted), (step,)
