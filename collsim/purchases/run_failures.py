"""What failures cost a long run: how often it stops, how often it should write a checkpoint, and which part of the time
trains.

Failures are independent and come at a constant rate (exponential times between them), and one of any part stops the
job. A run computes for an interval, writes a checkpoint, and after a failure restarts from the last one; a restart or a
checkpoint may fail as well. Expected time, and the interval that makes it least: J. T. Daly, A higher order estimate of
the optimum checkpoint interval for restart dumps (Future Generation Computer Systems 22, 2006), equation 20; first
order: J. W. Young (Communications of the ACM 17, 1974).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Final

from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..errors.dependencies import pandas as pd
from ..locale import translate
from ..package_data import read_toml
from ..train import StepTrace
from ..units import Duration, format_time, parse_count, parse_time

_HOUR, _DAY, _MINUTE = 3600.0, 86400.0, 60.0
#: Newton's steps double the digits that are right; so many are far more than a double has.
_STEPS: Final = 60
#: Checkpoints of so many mean times between failures: exp(-30) is lost beside 1.
_MAX_CHECKPOINT_RATIO: Final = 30.0
_MAX_EXPONENT: Final = 700.0


@dataclass(frozen=True)
class Goodput:
    """What failures cost a run of equal steps.

    Attributes:
        step_time: s of a step.
        gpus: GPUs that take part.
        mtbf: s between two failures of any part that stop the job.
        checkpoint: s that a checkpoint takes.
        restart: s from a failure until the job computes again.
        interval: s of computing between two checkpoints.
        best_interval: s, the interval with the least expected time.
        sources: where the mean times between failures come from.

    Examples:
        >>> import collsim as cs
        >>> run = cs.purchases.Goodput(1.0, 8, mtbf=1000.0, checkpoint=1.0, restart=10.0, interval=50.0,
        ...                            best_interval=44.0, sources=())
        >>> round(run.goodput, 3)  # about 1 - 1/50 (checkpoints) - (25 + 10)/1000 (work done again, restarts)
        0.946
    """

    step_time: float
    gpus: int
    mtbf: float
    checkpoint: float
    restart: float
    interval: float
    best_interval: float
    sources: tuple[str, ...]

    @property
    def goodput(self) -> float:
        """Part of the time that advances the training, 0 to 1."""
        return 1 / _compute_slowdown(self.interval, self.checkpoint, self.restart, self.mtbf)

    @property
    def failures_per_day(self) -> float:
        """Failures that stop the job, in a day."""
        return _DAY / self.mtbf

    @property
    def steps_per_day(self) -> float:
        """Steps that are done for good in a day."""
        return self.goodput * _DAY / self.step_time

    @property
    def checkpoint_share(self) -> float:
        """Part of the time in which checkpoints are written that count."""
        return self.goodput * self.checkpoint / self.interval

    @property
    def failure_share(self) -> float:
        """Part of the time that failures cost: work done again, and restarts."""
        return 1 - self.goodput - self.checkpoint_share

    @property
    def lost_gpu_hours_per_day(self) -> float:
        """Hours of all GPUs together in a day that train nothing."""
        return 24 * self.gpus * (1 - self.goodput)

    def row(self) -> dict[str, object]:
        """The figures as one flat record in SI units, for tables."""
        return {
            "gpus": self.gpus,
            "step_time": self.step_time,
            "mtbf": self.mtbf,
            "checkpoint": self.checkpoint,
            "restart": self.restart,
            "interval": self.interval,
            "best_interval": self.best_interval,
            "goodput": self.goodput,
            "checkpoint_share": self.checkpoint_share,
            "failure_share": self.failure_share,
            "failures_per_day": self.failures_per_day,
            "steps_per_day": self.steps_per_day,
            "lost_gpu_hours_per_day": self.lost_gpu_hours_per_day,
        }

    def text(self, language: str = "en") -> str:
        """Say what failures cost, in sentences.

        Args:
            language: `en` or `zh`.
        """
        values = {
            "gpus": f"{self.gpus:,}",
            "mtbf": format_long_time(self.mtbf, language),
            "interval": format_long_time(self.interval, language),
            "best": format_long_time(self.best_interval, language),
            "checkpoint": format_long_time(self.checkpoint, language),
            "restart": format_long_time(self.restart, language),
            "goodput": f"{100 * self.goodput:.1f} %",
            "checkpoints": f"{100 * self.checkpoint_share:.1f} %",
            "failures": f"{100 * self.failure_share:.1f} %",
            "hours": f"{self.lost_gpu_hours_per_day:,.0f}",
            "steps": f"{self.steps_per_day:,.0f}",
        }
        keys = ["failures.rate", "failures.goodput"]
        if not math.isclose(self.interval, self.best_interval, rel_tol=0.05):
            keys.append("failures.better")
        keys.append("failures.assumed")
        sentences = [translate(language, "purchases", key, **values) for key in keys]
        return translate(language, "words", "sentences").join(sentences)


@check_arguments
def estimate_goodput(
    step: StepTrace,
    *,
    run_gpus: int | None = None,
    checkpoint: Duration = "60s",
    restart: Duration = "600s",
    interval: Duration | None = None,
    gpu_mtbf: float | None = None,
    link_mtbf: float | None = None,
    node_mtbf: float | None = None,
) -> Goodput:
    """Estimate which part of the time a run of such steps trains, where parts fail.

    Args:
        step: of `training_step`.
        run_gpus: GPUs of the run, of which the step is a part that takes as long; nodes and cards count in proportion.
            Those of the step unless given.
        checkpoint: time in which the job stands still to write one; s or text.
        restart: time from a failure until the job computes again; s or text.
        interval: time of computing between two checkpoints, s or text; the best one unless given.
        gpu_mtbf: hours between two failures of one GPU; as in the training of Llama 3 unless given. `inf`: none.
        link_mtbf: of one network card with its cable and its share of the switches, likewise.
        node_mtbf: of one node without its GPUs and cards (host, software, storage), likewise.

    Returns:
        Mean time between failures of the job, the best interval, and the parts of the time.

    Raises:
        CollsimError: A number is not above 0.

    Examples:
        >>> import collsim as cs
        >>> step = cs.training_step("resnet50", "dgx-a100", parallel=cs.ddp(), micro_batch=128, dtype="bfloat16")
        >>> run = cs.purchases.estimate_goodput(step, checkpoint="5s", gpu_mtbf=86_000)
        >>> round(run.goodput, 4), round(run.best_interval / 3600, 1)
        (0.9993, 4.4)
        >>> round(cs.purchases.estimate_goodput(step, run_gpus=16384).mtbf / 3600, 1)  # without network cards
        3.4
    """
    counts, total = _count_parts(step), step.step.ranks
    if run_gpus is not None:
        total = parse_count(run_gpus, "run_gpus")
    table = read_toml(__file__, "failure_rates.toml")
    named_hours = {"gpu": gpu_mtbf, "link": link_mtbf, "node": node_mtbf}
    rate, sources = 0.0, []
    for part, count in counts.items():
        hours = named_hours[part]
        if hours is None:
            hours = table["hours"][part]
            sources = [str(table["source"])]
        elif not isinstance(hours, Real) or isinstance(hours, bool) or not hours > 0:
            message = "{part}_mtbf={hours!r} must be hours above 0; inf stands for a part that never fails"
            raise CollsimError(message, part=part, hours=hours)
        rate += count * total / step.step.ranks / (hours * _HOUR)
    seconds = {"checkpoint": parse_time(checkpoint, "checkpoint"), "restart": parse_time(restart, "restart")}
    mtbf = math.inf
    if rate:
        mtbf = 1 / rate
    best = find_best_checkpoint_interval(seconds["checkpoint"], mtbf)
    chosen = best
    if interval is not None:
        chosen = parse_time(interval, "interval")
    if not chosen:
        message = "a checkpoint that takes no time is written after every step: give checkpoint= or interval= above 0 s"
        raise CollsimError(message)
    return Goodput(step.time, total, mtbf, **seconds, interval=chosen, best_interval=best, sources=tuple(sources))


@check_arguments
def tabulate_goodput(runs: Sequence[Goodput]) -> pd.DataFrame:
    """The runs as a table.

    Args:
        runs: of `estimate_goodput`.

    Returns:
        A row for each, with the columns of `Goodput.row()`; s and h.

    Examples:
        >>> import collsim as cs
        >>> step = cs.training_step("resnet50", "dgx-a100", parallel=cs.ddp(), micro_batch=128, dtype="bfloat16")
        >>> runs = [cs.purchases.estimate_goodput(step, run_gpus=gpus) for gpus in (8, 1024)]
        >>> cs.purchases.tabulate_goodput(runs)["goodput"].round(3).tolist()
        [0.998, 0.972]
    """
    return pd.DataFrame([run.row() for run in runs])


@check_arguments
def find_best_checkpoint_interval(checkpoint: float, mtbf: float) -> float:
    """Find the interval between checkpoints with the least expected time.

    Args:
        checkpoint: s that one takes.
        mtbf: s between failures.

    Returns:
        s of computing; infinite where nothing fails.

    Examples:
        >>> from collsim.purchases.run_failures import find_best_checkpoint_interval
        >>> # Daly 2006, figures 3 and 4, in minutes
        >>> [round(find_best_checkpoint_interval(300, hours * 3600) / 60) for hours in (24, 6)]
        [117, 57]
    """
    if math.isinf(mtbf):
        return mtbf
    if not checkpoint:
        return 0.0
    ratio = checkpoint / mtbf
    # A checkpoint that takes many times as long as the job lives hardly ever succeeds; then the interval is that life.
    if ratio > _MAX_CHECKPOINT_RATIO:
        return mtbf
    # The derivative of the expected time is 0 where exp((interval + checkpoint) / mtbf) (1 - interval / mtbf) = 1.
    # Young's interval lies close to it, and Newton's method goes on from there.
    x = min(math.sqrt(2 * ratio), 0.9)
    for _ in range(_STEPS):
        value = math.log1p(-x) + x + ratio
        x = min(max(x + value * (1 - x) / x, x / 2), (1 + x) / 2)
    return x * mtbf


def format_long_time(seconds: float, language: str = "en") -> str:
    """Format a time that may be hours or days.

    Args:
        seconds: s.
        language: `en` or `zh`.
    """
    if math.isinf(seconds):
        return translate(language, "purchases", "time.never")
    for key, unit in (("time.days", _DAY), ("time.hours", _HOUR), ("time.minutes", _MINUTE)):
        if seconds >= 2 * unit:
            return translate(language, "purchases", key, number=f"{seconds / unit:.3g}")
    return format_time(seconds)


def _compute_slowdown(interval: float, checkpoint: float, restart: float, mtbf: float) -> float:
    """How many times as long it takes with checkpoints and failures."""
    if math.isinf(interval):
        return 1.0
    if math.isinf(mtbf):
        return 1 + checkpoint / interval
    # Far beyond the mean time between failures a segment practically never ends; exp() overflows above 709.
    if (interval + checkpoint) / mtbf > _MAX_EXPONENT or restart / mtbf > _MAX_EXPONENT:
        return math.inf
    return mtbf / interval * math.exp(restart / mtbf) * math.expm1((interval + checkpoint) / mtbf)


def _count_parts(step: StepTrace) -> dict[str, int]:
    """Parts of which one failure stops the job: the GPUs that take part, their nodes, and the cards between them."""
    topology = step.topology
    devices = topology.endpoint_device[[rank for lane in step.step.lanes for rank in lane]]
    nodes = set(topology.devices.node[devices].tolist())
    links = 0
    if len(nodes) > 1 and topology.facts.machine is not None:
        links = len(nodes) * len(topology.facts.machine.of_kind("nic"))
    return {"gpu": step.step.ranks, "link": links, "node": len(nodes)}
