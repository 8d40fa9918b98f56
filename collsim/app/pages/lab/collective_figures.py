"""A collective on the page Lab, predicted and measured, as plain data. No Streamlit here."""

from __future__ import annotations

from dataclasses import dataclass, field

import collsim as cs
from collsim.lab.lateness import predict_calibrated, write_sentences
from collsim.lab.prediction import MessageCost, predict_run
from collsim.lab.real_run import check_request
from collsim.locale import Text
from collsim.units import parse_bandwidth, parse_bytes, parse_time
from collsim.viz.real.lab_document import build_lab_document

from ...jobs.job_spec import report_progress
from .lab_choice import LIMIT, LabChoice

_START = 4.0  # s until all processes are connected, of a run and of the two that calibrate


@dataclass(frozen=True)
class LabView:
    """What the page shows of a run.

    Attributes:
        document: What the player draws.
        figures: Seconds by name: predicted; where the run was measured also median, best, low, high and calibrated.
        sentences: What is said about the run.
        processes: Number of processes that ran.
        cores: Number of cores of this computer.
        checked: How many results were compared with the right ones.
    """

    document: dict[str, object]
    figures: dict[str, float]
    sentences: list[Text] = field(default_factory=list)
    processes: int = 0
    cores: int = 0
    checked: int = 0


def _plan(choice: LabChoice) -> cs.Schedule:
    plan = cs.schedule(choice.algorithm, ranks=choice.ranks)
    check_request(plan, choice.nbytes, repeat=choice.repeat, time_limit=LIMIT)
    return plan


def predict_collective(choice: LabChoice) -> LabView:
    """The prediction alone; no process is started.

    Args:
        choice: What is chosen on the page Lab.
    """
    plan = _plan(choice)
    alpha, rate = parse_time(choice.alpha), parse_bandwidth(choice.bandwidth)
    trace = predict_run(plan, parse_bytes(choice.nbytes), "float32", alpha, rate, **choice.wrong)
    return LabView(build_lab_document(trace), {"predicted": trace.time}, processes=plan.endpoints)


def measure_collective(choice: LabChoice) -> LabView:
    """Run it as often as chosen, and measure what a message costs here.

    Args:
        choice: What is chosen on the page Lab.

    Raises:
        CollsimError: For what cannot be run.
    """

    def report_runs(done: int, total: int) -> None:
        """Tell the bar how far it is.

        Args:
            done: Number of runs that are done.
            total: Number of runs in all.
        """
        report_progress("run", 0.15 + 0.85 * done / total)

    trace = cs.run_for_real(
        _plan(choice),
        choice.nbytes,
        alpha=choice.alpha,
        bandwidth=choice.bandwidth,
        repeat=choice.repeat,
        calibrate=True,
        time_limit=LIMIT,
        progress=report_runs,
        **choice.wrong,
    )
    low, high = trace.middle
    figures = {"predicted": trace.predicted.time, "median": trace.time, "best": trace.best, "low": low, "high": high}
    fitted = predict_calibrated(trace)
    if fitted is not None:
        figures |= {"calibrated": fitted.time}
    if trace.calibrated is not None:
        figures |= {"alpha": trace.calibrated.alpha, "bandwidth": trace.calibrated.bandwidth}
    counted = trace.schedule.endpoints, trace.measured.cores, trace.measured.checked
    return LabView(build_lab_document(trace.predicted, trace), figures, write_sentences(trace), *counted)


def estimate_collective(choice: LabChoice) -> float:
    """Seconds that the measurement takes: the runs, the two of the calibration, and the start of the processes.

    Args:
        choice: What is chosen on the page Lab.

    Raises:
        CollsimError: For what cannot be run.
    """
    seconds = predict_collective(choice).figures["predicted"]
    calibration = (MessageCost.RUNS + 1) * (choice.ranks - 1) * (2 * parse_time(choice.alpha) + 0.04)
    return 3 * _START + (choice.repeat + 1) * (seconds + 0.1) + calibration
