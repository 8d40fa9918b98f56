"""A run for real: how slow may a cable be before the time changes?

The prediction decides, by the rule that processes follow (eager sends); what they measure differs from run to run.
"""

from __future__ import annotations

from functools import cache

from ....errors import CollsimError
from ....locale import Text, build_text
from ....registry import schedule
from ....simulate import Trace, simulate
from ....topology import switch
from ....units import format_time, parse_count
from ..kinds.setting_task import SettingTask, judge_edge

_RANKS, _SLOW, _MAX_FACTOR = 6, 3, 100


@cache
def _predict(factor: int) -> Trace:
    """The parameter server over what `run_for_real` imitates: alpha of 10 ms, half of it on each of two cables."""
    network = switch(_RANKS, bandwidth="10MB/s", alpha="5ms")
    slower = network.with_link(f"gpu{_SLOW}", "switch0", bandwidth=f"x{1 / factor}")
    server = schedule("allreduce_parameter_server", ranks=_RANKS)
    return simulate(server, slower, "256KiB", engine="event", eager=True)


def _is_unnoticed(factor: int) -> bool:
    """Does nobody notice? 1e-9: sums in another order."""
    return _predict(factor).time <= (1 + 1e-9) * _predict(1).time


def _judge(value: object) -> tuple[bool, Text, Trace]:
    factor = parse_count(value, "factor")
    if factor > _MAX_FACTOR:
        template = "factor={factor}: cables more than {most} times slower are not tried here; give a smaller number"
        raise CollsimError(template, factor=factor, most=_MAX_FACTOR)
    trace = _predict(factor)
    real_time, unscaled, more = (format_time(_predict(k).time) for k in (factor, 1, factor + 1))
    right, reason = judge_edge(
        _is_unnoticed(factor),
        _is_unnoticed(factor + 1),
        (real_time, real_time),
        build_text("exercises", "70_real.instead_noticed", usual=unscaled),
        build_text("exercises", "70_real.as_without_unnoticed_but"),
        build_text("exercises", "70_real.as_without_one_more", more=more),
    )
    return right, reason, trace


TASKS = (SettingTask("unnoticed-cable", judge=_judge),)
