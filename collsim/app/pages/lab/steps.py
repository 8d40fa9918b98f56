"""What the page Lab shows of a step of training, predicted and measured, as plain data. No Streamlit here."""

from __future__ import annotations

from typing import Any

import collsim as cs
from collsim.errors import CollsimError
from collsim.lab import RealStep
from collsim.lab.real_step import sentences
from collsim.lab.step import equal_layers, predicted_step
from collsim.train import ParallelStrategy, StepTrace
from collsim.units import format_bytes, parse_bytes, parse_time
from collsim.viz.real.document import build_lab_step_document

from ...jobs.worker import ReportProgress
from .asked import IN_A_BUCKET, LAYERS, LIMIT, LabChoice
from .measure import LabShown

_START, _OTHERS = 4.0, 3  # s until all processes are connected; runs of the bucket sizes that are not chosen
_ELEMENT = 4


def model_of(choice: LabChoice) -> cs.train.Model:
    """Eight equal layers; in a pipeline one hands on as many bytes for a sample as it has gradients.

    Raises CollsimError where the gradients are no whole number of elements each.
    """
    nbytes = parse_bytes(choice.nbytes)
    if nbytes % (LAYERS * _ELEMENT) or not nbytes:
        why = "{size} of gradients do not make {layers} layers of whole float32; use a multiple of {least} bytes"
        raise CollsimError(why, size=format_bytes(nbytes), layers=LAYERS, least=LAYERS * _ELEMENT)
    return equal_layers(LAYERS, nbytes // LAYERS, nbytes // LAYERS)


def given(choice: LabChoice, layers: int) -> dict[str, Any]:
    """Keywords of a step whose buckets hold so many layers; a forward pass takes half of its backward."""
    backward = parse_time(choice.backward)
    return {
        "ranks": choice.ranks,
        "parallel": way_of(choice, layers),
        "compute": [(backward / 2, backward)] * LAYERS,
        "alpha": choice.alpha,
        "bandwidth": choice.bandwidth,
        "slow": choice.straggler,
    }


def way_of(choice: LabChoice, layers: int) -> ParallelStrategy:
    """How the step is split."""
    if choice.split == "ddp":
        return cs.ddp(bucket_bytes(choice, layers), view=True)
    return cs.fsdp() if choice.split == "fsdp" else cs.pipeline(choice.ranks, choice.split)


def sizes_of(choice: LabChoice) -> tuple[int, ...]:
    """Layers in a bucket that are tried; of a split without buckets the one that is chosen, which does not count."""
    return IN_A_BUCKET if choice.split == "ddp" else (choice.layers,)


def bucket_bytes(choice: LabChoice, layers: int) -> int:
    """Bytes of a bucket of so many layers."""
    return parse_bytes(choice.nbytes) // LAYERS * layers


def _predictions(choice: LabChoice) -> dict[int, StepTrace]:
    """By layers in a bucket."""
    model = model_of(choice)
    return {layers: predicted_step(model, **given(choice, layers)) for layers in sizes_of(choice)}


def predicted(choice: LabChoice, report_progress: ReportProgress = lambda stage, share: None) -> LabShown:
    """The prediction alone."""
    found = _predictions(choice)
    document = _document(choice, found, {})
    return LabShown(document, {"predicted": found[choice.layers].time}, processes=choice.ranks)


def _document(choice: LabChoice, found: dict[int, StepTrace], ran: dict[int, RealStep]) -> dict[str, Any]:
    sizes = [
        (bucket_bytes(choice, layers), trace.time, ran[layers].time if layers in ran else None)
        for layers, trace in found.items()
        if choice.split == "ddp"
    ]
    chosen = bucket_bytes(choice, choice.layers)
    return build_lab_step_document(found[choice.layers], ran.get(choice.layers), sizes, chosen)


def expected_prediction(choice: LabChoice) -> float:
    """Seconds that the prediction takes."""
    return 0.5


def measured(choice: LabChoice, turn: int, report_progress: ReportProgress = lambda stage, share: None) -> LabShown:
    """Run it, of DDP with every bucket size; `turn` tells one measurement of the same from the next."""
    whole = sum(_runs(choice, layers) + 1 for layers in sizes_of(choice))
    ran: dict[int, RealStep] = {}
    before = 0
    for layers in sizes_of(choice):
        runs = _runs(choice, layers)

        def told(done: int, total: int, before: int = before) -> None:
            report_progress("run", (before + done) / whole)

        ran[layers] = cs.lab.training_step_for_real(
            model_of(choice), **given(choice, layers), repeat=runs, time_limit=LIMIT, progress=told
        )
        before += runs + 1
    real = ran[choice.layers]
    low, high = real.middle
    figures = {"predicted": real.predicted.time, "median": real.time, "best": real.best, "low": low, "high": high}
    figures |= {"waits": real.measured.exposed, "waits_predicted": real.predicted.exposed}
    document = _document(choice, {layers: one.predicted for layers, one in ran.items()}, ran)
    checked = sum(one.checked for one in ran.values())
    return LabShown(document, figures, sentences(real), choice.ranks, real.cores, checked)


def _runs(choice: LabChoice, layers: int) -> int:
    """The chosen size as often as asked, the others a few times."""
    return choice.repeat if layers == choice.layers else min(_OTHERS, choice.repeat)


def expected(choice: LabChoice, turn: int) -> float:
    """Seconds that the measurement takes. Raises CollsimError for what cannot be run."""
    return sum(
        _START + (_runs(choice, layers) + 1) * (trace.time + 0.1) for layers, trace in _predictions(choice).items()
    )
