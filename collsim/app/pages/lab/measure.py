"""What the page Lab shows, predicted and measured, as plain data. No Streamlit here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import collsim as cs
from collsim.lab.lateness import calibrated_prediction, sentences
from collsim.lab.prediction import MessageCost, predict
from collsim.lab.run import check
from collsim.units import parse_bandwidth, parse_bytes, parse_time
from collsim.viz.real.document import build_lab_document

from ...jobs.worker import ReportProgress
from .asked import LIMIT, LabChoice

Pair = tuple[str, str]
_START = 4.0  # s until all processes are connected, of a run and of the two that calibrate


@dataclass(frozen=True)
class LabShown:
    """What is shown. `figures` in s: predicted; where it was measured also median, best, low, high, calibrated."""

    document: dict[str, Any]
    figures: dict[str, float]
    said: list[Pair] = field(default_factory=list)
    processes: int = 0
    cores: int = 0
    checked: int = 0


def _plan(choice: LabChoice) -> cs.Schedule:
    plan = cs.schedule(choice.algorithm, ranks=choice.ranks)
    check(plan, choice.nbytes, repeat=choice.repeat, time_limit=LIMIT)
    return plan


def predicted(choice: LabChoice, report_progress: ReportProgress = lambda stage, share: None) -> LabShown:
    """The prediction alone."""
    plan = _plan(choice)
    alpha, rate = parse_time(choice.alpha), parse_bandwidth(choice.bandwidth)
    trace = predict(plan, parse_bytes(choice.nbytes), "float32", alpha, rate, **choice.wrong)
    return LabShown(build_lab_document(trace), {"predicted": trace.time}, processes=plan.endpoints)


def expected_prediction(choice: LabChoice) -> float:
    """Seconds that the prediction takes."""
    return 0.3


def measured(choice: LabChoice, turn: int, report_progress: ReportProgress = lambda stage, share: None) -> LabShown:
    """Run it; `turn` tells one measurement of the same from the next."""

    def told(done: int, total: int) -> None:
        report_progress("run", 0.15 + 0.85 * done / total)

    trace = cs.run_for_real(
        _plan(choice),
        choice.nbytes,
        alpha=choice.alpha,
        bandwidth=choice.bandwidth,
        repeat=choice.repeat,
        calibrate=True,
        time_limit=LIMIT,
        progress=told,
        **choice.wrong,
    )
    low, high = trace.middle
    figures = {"predicted": trace.predicted.time, "median": trace.time, "best": trace.best, "low": low, "high": high}
    fitted = calibrated_prediction(trace)
    figures |= {} if fitted is None else {"calibrated": fitted.time}
    if trace.calibrated is not None:
        figures |= {"alpha": trace.calibrated.alpha, "bandwidth": trace.calibrated.bandwidth}
    counted = trace.schedule.endpoints, trace.measured.cores, trace.measured.checked
    return LabShown(build_lab_document(trace.predicted, trace), figures, sentences(trace), *counted)


def expected(choice: LabChoice, turn: int) -> float:
    """Seconds that the measurement takes: the runs, the two of the calibration, and the start of the processes.

    Raises CollsimError for what cannot be run.
    """
    seconds = predicted(choice).figures["predicted"]
    calibration = (MessageCost.RUNS + 1) * (choice.ranks - 1) * (2 * parse_time(choice.alpha) + 0.04)
    return 3 * _START + (choice.repeat + 1) * (seconds + 0.1) + calibration
