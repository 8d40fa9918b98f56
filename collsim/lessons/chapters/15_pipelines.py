"""Pipelines: microbatches go through stages like chunks along a chain; what is idle at both ends, and what is held."""

from __future__ import annotations

from ...simulate import Trace
from ...topology import line
from ...train import PipelineTiming, pipeline
from ...train.pipelines.pass_orders import SCHEDULES
from ...viz.splits.pipeline_picture import PipelinePicture, build_pipeline_picture
from ..lesson import Lesson, LessonFacts, Section, build_facts, simulate_algorithm

_STAGES, _FEW, _MANY = 4, 8, 16


def _time_passes(schedule: str, microbatches: int = _FEW) -> PipelineTiming:
    """A backward pass takes as long as two forward passes; nothing to pay from GPU to GPU."""
    return pipeline(_STAGES, schedule).time_passes(microbatches, forward=1, backward=2)


def _draw_passes(schedule: str, microbatches: int = _FEW, until: float = 0.0) -> PipelinePicture:
    """The same as rows of boxes."""
    return build_pipeline_picture(pipeline(_STAGES, schedule), microbatches, until=until)


def _simulate_chain() -> Trace:
    """Chunks that go along a chain one behind the other."""
    return simulate_algorithm("broadcast_chain", line(_STAGES, bandwidth="25GB/s", alpha="1us"), chunks=_FEW)


def _format_percent(share: float) -> str:
    return f"{100 * share:.3g}"


def _build_bubble_facts() -> LessonFacts:
    few, many = _time_passes("gpipe"), _time_passes("gpipe", _MANY)
    chain = _simulate_chain()
    return build_facts(
        chain,
        lanes=(_draw_passes("gpipe"),),
        lanes_after=(_draw_passes("gpipe", _MANY),),
        chain=chain,
        stages=_STAGES,
        few=_FEW,
        many=_MANY,
        time=f"{few.time:g}",
        idle=f"{few.idle[0]:g}",
        longer=f"{many.time:g}",
        bubble=_format_percent(few.bubble),
        half=_format_percent(few.bubble / 2),
        less=_format_percent(many.bubble),
        slots=_MANY + _STAGES - 1,
        empty=_STAGES - 1,
    )


def _build_order_facts() -> LessonFacts:
    timings = {name: _time_passes(name) for name in SCHEDULES}
    rows = tuple(
        (name, f"{t.time:g}", f"{_format_percent(t.bubble)} %", f"{t.peak_activations.max():g}")
        for name, t in timings.items()
    )
    all_first, in_turn = timings["gpipe"], timings["1f1b"]
    return build_facts(
        _simulate_chain(),
        rows,
        lanes=(_draw_passes("gpipe"),),
        lanes_after=tuple(_draw_passes(name, until=all_first.time) for name in ("1f1b", "interleaved", "zero-bubble")),
        stages=_STAGES,
        few=_FEW,
        time=f"{all_first.time:g}",
        same=f"{in_turn.time:g}",
        bubble=_format_percent(all_first.bubble),
        thin=_format_percent(timings["interleaved"].bubble),
        held=f"{all_first.peak_activations[0]:g}",
        less=f"{in_turn.peak_activations[0]:g}",
        each=", ".join(f"{count:g}" for count in in_turn.peak_activations),
    )


_BUBBLES = Section("bubbles", _build_bubble_facts, right=2)

_ORDERS = Section("orders", _build_order_facts, right=1)

LESSON = Lesson(
    notebook="15-pipelines-and-bubbles",
    exercises=("small-bubble", "order-that-fits"),
    sections=(_BUBBLES, _ORDERS),
)
