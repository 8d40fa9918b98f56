"""Pipelines: how many microbatches make a small bubble, and which order fits into memory.

Every number that decides an answer comes from running the passes.
"""

from __future__ import annotations

from functools import cache

from ....errors import CollsimError, require_word
from ....locale import Text, build_text
from ....train import PipelineTiming, pipeline
from ....train.pipelines.pass_orders import SCHEDULES
from ....units import format_percent, parse_count
from ..kinds.setting_task import SettingTask, judge_edge

_STAGES, _MAX_MICROBATCHES = 8, 1000
_BUBBLE, _SMALLER = 0.12, 0.05  # of the step
_MICROBATCHES = 32


def _text(key: str, **values: object) -> Text:
    """A text of this module in every language."""
    return build_text("exercises", f"82_pipelines.{key}", **values)


@cache
def _time_passes(schedule: str, microbatches: int) -> PipelineTiming:
    return pipeline(_STAGES, schedule).time_passes(microbatches, forward=1, backward=2)


def _judge_microbatches(value: object) -> tuple[bool, Text, PipelineTiming]:
    count = parse_count(value, "microbatches")
    if count > _MAX_MICROBATCHES:
        raise CollsimError(
            "microbatches={count}: more than {most:,} are not tried here", count=count, most=_MAX_MICROBATCHES
        )
    timing = _time_passes("1f1b", count)
    share = format_percent(timing.bubble)
    right, reason = judge_edge(
        timing.bubble < _BUBBLE,
        count > 1 and _time_passes("1f1b", count - 1).bubble < _BUBBLE,
        _text("bubble_step", share=share),
        _text("still_too_much"),
        _text("enough_but_fewer_microbatches"),
        _text("one_microbatch_less_too"),
    )
    return right, reason, timing


def _judge_order(value: object) -> tuple[bool, Text, PipelineTiming]:
    name = require_word("schedule of a pipeline", value, SCHEDULES)
    timing = _time_passes(name, _MICROBATCHES)
    share, most_held = format_percent(timing.bubble), f"{timing.peak_activations.max():g}"
    fits, small = timing.peak_activations.max() <= _STAGES, timing.bubble < _SMALLER
    reason = _text(
        "bubble_and_microbatches",
        bubble=_text(f"bubble_{'small' if small else 'large'}", share=share),
        microbatches=_text(f"{'fits' if fits else 'too_many'}", count=most_held),
    )
    return bool(fits and small), reason, timing


TASKS = (SettingTask("small-bubble", judge=_judge_microbatches), SettingTask("order-that-fits", judge=_judge_order))
