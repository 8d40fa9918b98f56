"""What the page Lab shows of a step of training, predicted and measured, as plain data. No Streamlit here."""

from __future__ import annotations

from typing import Any

import collsim as cs
from collsim.errors import CollsimError
from collsim.lab import RealStep
from collsim.lab.real_step import write_sentences
from collsim.lab.real_step_run import build_equal_layers, predict_step
from collsim.train import ParallelStrategy, StepTrace
from collsim.units import format_bytes, parse_bytes, parse_time
from collsim.viz.real.lab_document import build_lab_step_document

from ...jobs.job_spec import report_progress
from .collective_figures import LabView
from .lab_choice import IN_A_BUCKET, LAYERS, LIMIT, LabChoice

_START, _OTHERS = 4.0, 3  # s until all processes are connected; runs of the bucket sizes that are not chosen
# Bytes of a float32.
_ELEMENT = 4


def build_model(choice: LabChoice) -> cs.train.Model:
    """Eight equal layers; in a pipeline one hands on as many bytes for a sample as it has gradients.

    Args:
        choice: What is chosen on the page Lab.

    Raises:
        CollsimError: where the gradients are no whole number of elements each
    """
    nbytes = parse_bytes(choice.nbytes)
    if nbytes % (LAYERS * _ELEMENT) or not nbytes:
        message = "{size} of gradients do not make {layers} layers of whole float32; use a multiple of {least} bytes"
        raise CollsimError(message, size=format_bytes(nbytes), layers=LAYERS, least=LAYERS * _ELEMENT)
    return build_equal_layers(LAYERS, nbytes // LAYERS, nbytes // LAYERS)


def build_step_options(choice: LabChoice, layers: int) -> dict[str, Any]:
    """Keywords of a step whose buckets hold so many layers; a forward pass takes half of its backward.

    Args:
        choice: What is chosen on the page Lab.
        layers: Number of layers in a bucket.
    """
    backward = parse_time(choice.backward)
    return {
        "ranks": choice.ranks,
        "parallel": build_split(choice, layers),
        "compute": [(backward / 2, backward)] * LAYERS,
        "alpha": choice.alpha,
        "bandwidth": choice.bandwidth,
        "slow": choice.straggler,
    }


def build_split(choice: LabChoice, layers: int) -> ParallelStrategy:
    """How the step is split.

    Args:
        choice: What is chosen on the page Lab.
        layers: Number of layers in a bucket.
    """
    if choice.split == "ddp":
        return cs.ddp(count_bucket_bytes(choice, layers), view=True)
    if choice.split == "fsdp":
        return cs.fsdp()
    return cs.pipeline(choice.ranks, choice.split)


def list_bucket_layers(choice: LabChoice) -> tuple[int, ...]:
    """Layers in a bucket that are tried; of a split without buckets the one that is chosen, which does not count.

    Args:
        choice: What is chosen on the page Lab.
    """
    if choice.split == "ddp":
        return IN_A_BUCKET
    return (choice.layers,)


def count_bucket_bytes(choice: LabChoice, layers: int) -> int:
    """Bytes of a bucket of so many layers.

    Args:
        choice: What is chosen on the page Lab.
        layers: Number of layers in a bucket.
    """
    return parse_bytes(choice.nbytes) // LAYERS * layers


def _predict_by_layers(choice: LabChoice) -> dict[int, StepTrace]:
    """By layers in a bucket."""
    model = build_model(choice)
    return {layers: predict_step(model, **build_step_options(choice, layers)) for layers in list_bucket_layers(choice)}


def predict_sheet(choice: LabChoice) -> LabView:
    """The prediction alone."""
    predictions = _predict_by_layers(choice)
    document = _build_document(choice, predictions, {})
    return LabView(document, {"predicted": predictions[choice.layers].time}, processes=choice.ranks)


def _build_document(
    choice: LabChoice, predictions: dict[int, StepTrace], measured_steps: dict[int, RealStep]
) -> dict[str, object]:
    sizes = [
        (
            count_bucket_bytes(choice, layers),
            trace.time,
            measured_steps[layers].time if layers in measured_steps else None,
        )
        for layers, trace in predictions.items()
        if choice.split == "ddp"
    ]
    chosen = count_bucket_bytes(choice, choice.layers)
    return build_lab_step_document(predictions[choice.layers], measured_steps.get(choice.layers), sizes, chosen)


def measure_step(choice: LabChoice) -> LabView:
    """Run the step; of DDP with every bucket size.

    Args:
        choice: What is chosen on the page Lab.

    Raises:
        CollsimError: For what cannot be run.
    """
    total_runs = sum(_count_runs(choice, layers) + 1 for layers in list_bucket_layers(choice))
    measured_steps: dict[int, RealStep] = {}
    before = 0
    for layers in list_bucket_layers(choice):
        runs = _count_runs(choice, layers)

        def report_runs(done: int, total: int, before: int = before) -> None:
            """Tell the bar how far it is.

            Args:
                done: Number of runs that are done.
                total: Number of runs in all.
                before: Runs that are done of the sizes before.
            """
            report_progress("run", (before + done) / total_runs)

        measured_steps[layers] = cs.lab.training_step_for_real(
            build_model(choice),
            **build_step_options(choice, layers),
            repeat=runs,
            time_limit=LIMIT,
            progress=report_runs,
        )
        before += runs + 1
    real = measured_steps[choice.layers]
    low, high = real.middle
    figures = {"predicted": real.predicted.time, "median": real.time, "best": real.best, "low": low, "high": high}
    figures |= {"waits": real.measured.exposed, "waits_predicted": real.predicted.exposed}
    document = _build_document(
        choice, {layers: measured_step.predicted for layers, measured_step in measured_steps.items()}, measured_steps
    )
    checked = sum(measured_step.checked for measured_step in measured_steps.values())
    return LabView(document, figures, write_sentences(real), choice.ranks, real.cores, checked)


def _count_runs(choice: LabChoice, layers: int) -> int:
    """The chosen size as often as asked, the others a few times."""
    if layers == choice.layers:
        return choice.repeat
    return min(_OTHERS, choice.repeat)


def estimate_step(choice: LabChoice) -> float:
    """Seconds that the measurement takes. Raises CollsimError for what cannot be run."""
    return sum(
        _START + (_count_runs(choice, layers) + 1) * (trace.time + 0.1)
        for layers, trace in _predict_by_layers(choice).items()
    )
