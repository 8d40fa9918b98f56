"""What a run on processes returns: a Trace whose columns were measured, with all its runs and its prediction."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from ..dtypes import Floats
from ..errors.arguments import check_call
from ..simulate import Bottleneck, Engine, Trace
from ..simulate.lockstep import Segments, Timing
from ..topology import Topology
from ..units import format_time

if TYPE_CHECKING:
    import pandas as pd

    from .prediction import MessageCost
    from .ranks.emulated_network import ImitatedNetwork

#: A measured run stands where a Trace names its engine; `simulate` does not take it.
ENGINE = cast(Engine, "real")


@dataclass(frozen=True, eq=False)
class Measurement:
    """All runs of a schedule, a row each; moments in s from the start of a run.

    Attributes:
        start: (runs, transfers) s at which each transfer began.
        came: (runs, transfers) s at which the receiver had its last byte.
        finish: (runs, transfers) s at which it counts as arrived: after the latency, where that is imitated.
        on: what carried it: `here` (paced sockets), `mpi`, `gloo`, or `hosts`.
        cores: processors that this process could use.
        checked: elements that were compared.
        wrong: elements that were not what replay says, over all runs; a run with any raises, so it is 0.
    """

    start: Floats
    came: Floats
    finish: Floats
    on: str
    cores: int
    checked: int
    wrong: int = 0

    @property
    def times(self) -> Floats:
        """(runs,) s of each run."""
        seconds: Floats = self.finish.max(axis=1, initial=0.0)
        return seconds

    @property
    def median_run(self) -> int:
        """The run whose time is the median."""
        return find_median_run(self.times)


def find_median_run(times: Floats) -> int:
    """The run whose time is the median; of an even number the lower of the two.

    Args:
        times: (runs,) s of each run.
    """
    return int(np.argsort(times, kind="stable")[(len(times) - 1) // 2])


class _Runs(Protocol):
    """What `RepeatedRuns` is told."""

    @property
    def times(self) -> Floats: ...

    @property
    def time(self) -> float: ...

    @property
    def predicted(self) -> Any: ...


class RepeatedRuns:
    """How several runs of one thing spread, and how far they are from their prediction."""

    @property
    def best(self: _Runs) -> float:
        """Seconds of the fastest run."""
        return float(self.times.min())

    @property
    def middle(self: _Runs) -> tuple[float, float]:
        """Between which times the middle half of the runs lies, s."""
        low, high = np.quantile(self.times, [0.25, 0.75])
        return float(low), float(high)

    @property
    def difference(self: _Runs) -> float:
        """By how much the median run takes longer than predicted: 0.1 is 10 %."""
        return self.time / self.predicted.time - 1 if self.predicted.time else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class RealTrace(RepeatedRuns, Trace):
    """A Trace of a run on the processes of a computer; its columns are those of the median run.

    Attributes:
        measured: all runs.
        predicted: the same schedule on the network that was imitated, by the event engine.
        network: what was imitated: alpha, bandwidth, eager, late, slow.
        calibrated: what a message and a byte cost here, where that was measured beside it.
        out: the result, where it was given buffers.

    Examples:
        >>> import collsim as cs
        >>> issubclass(cs.lab.RealTrace, cs.Trace)
        True
    """

    measured: Measurement = field(default=None)  # type: ignore[assignment]
    predicted: Trace = field(default=None)  # type: ignore[assignment]
    network: ImitatedNetwork = field(default=None)  # type: ignore[assignment]
    calibrated: MessageCost | None = None
    out: npt.NDArray[np.generic] | None = None

    @property
    def times(self) -> Floats:
        """(runs,) s of each run, in their order."""
        return self.measured.times

    @property
    def median(self) -> float:
        """Seconds of the median run, whose columns these are; `time`."""
        return self.time

    @cached_property
    def came(self) -> Floats:
        """(transfers,) s at which the last byte of each had come in; it counts as arrived alpha later."""
        seconds: Floats = self.measured.came[self.measured.median_run]
        return seconds

    @cached_property
    def comparison(self) -> pd.DataFrame:
        """A row per step: step, predicted and measured end, and `late`: what it takes more than predicted, the median
        over the runs with its quartiles; all in s."""
        from .lateness import compare_steps

        return compare_steps(self)

    @cached_property
    def bottleneck(self) -> Bottleneck | None:
        """That of the prediction, with the share of the measured time: nothing can be run again with other cables."""
        bottleneck = self.predicted.bottleneck
        if bottleneck is None or not self.duration:
            return None
        return replace(bottleneck, busy_share=float(self.link_busy[bottleneck.link] / self.duration))

    @check_call
    def run_again(self, topology: Topology, no_bytes: bool = False) -> Trace:
        """The prediction on other links: what was measured cannot be measured again on them.

        Args:
            topology: The network with the other links.
            no_bytes: Whether messages cost their latency only, as if they had no bytes.
        """
        return self.predicted.run_again(topology, no_bytes)

    def explain(self, language: str = "en") -> str:
        """How far from the prediction it is, and the likely cause.

        Args:
            language: `en` or `zh`.
        """
        from .lateness import explain

        return explain(self, language)

    def __repr__(self) -> str:
        return (
            f"<RealTrace {self.schedule.label}, {len(self.times)} runs: median {format_time(self.time)}, "
            f"predicted {format_time(self.predicted.time)}>"
        )

    def __str__(self) -> str:
        return self.text()

    def text(self, language: str = "en") -> str:
        """All of it in a few lines: predicted, measured, checked, and why.

        Args:
            language: `en` or `zh`.
        """
        from .lateness import format_summary

        return format_summary(self, language)


def build_timing(predicted: Trace, measured: Measurement) -> Timing:
    """The Timing of the median run: first start and last arrival of each step, and when its bytes moved.

    Args:
        predicted: Of the same schedule.
        measured: All runs; the median one counts.
    """
    run = measured.median_run
    start, came, finish = measured.start[run], measured.came[run], measured.finish[run]
    steps = predicted.schedule.transfers["step"]
    count = predicted.schedule.steps
    begin, end = np.full(count, np.inf), np.zeros(count)
    np.minimum.at(begin, steps, start)
    np.maximum.at(end, steps, finish)
    return Timing(
        np.where(np.isfinite(begin), begin, end),
        end,
        predicted.timing.link_bytes,
        lambda: (start, finish),
        "measured",
        lambda: _build_segments(predicted, start, came),
    )


def _build_segments(predicted: Trace, start: Floats, came: Floats) -> Segments:
    """The bytes of a transfer move from its start to its last byte, at one rate."""
    table = predicted.schedule.transfers
    nbytes = predicted.slot_bytes[table["chunk"]]
    row = np.flatnonzero((nbytes > 0) & (table["src"] != table["dst"]) & (came > start))
    rate = nbytes[row] / (came[row] - start[row])
    return Segments(row, np.full(len(row), -1), start[row], came[row], rate)
