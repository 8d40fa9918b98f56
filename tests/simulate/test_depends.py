"""Explicit dependencies between transfers."""

import numpy as np
import pytest
from event_cases import ALPHA, RATE, network, run

import collsim as cs
from collsim.schedule import freeze
from collsim.steps import copy

close = pytest.approx


def explicit(depends):
    from dataclasses import replace

    s = freeze("given", "allreduce", 4, [copy([0, 1, 2], [1, 2, 3], 0)], chunks=1)
    start = np.concatenate([[0], np.cumsum([len(d) for d in depends])])
    return replace(s, depends=(start, np.array([row for d in depends for row in d], np.int64)))


@pytest.mark.parametrize("shortcuts", [True, False])
def test_explicit_dependencies_replace_the_order_of_channels(shortcuts):
    """Three transfers of one step, made to follow one another."""
    t = run(explicit([[], [0], [1]]), network("line", 4), 1_000_000, shortcuts=shortcuts)
    assert t.finish == close(np.arange(1, 4) * (ALPHA + 1e6 / RATE), rel=1e-12)


def test_dependencies_that_point_forward_are_followed_too():
    t = run(explicit([[1], [2], []]), network("line", 4), 1_000_000)
    assert t.finish == close(np.arange(3, 0, -1) * (ALPHA + 1e6 / RATE), rel=1e-12)


def test_a_circle_of_dependencies_is_named():
    with pytest.raises(
        cs.ScheduleError, match=r"cannot end: transfer \d .* waits for transfer \d .*waits for the first of them"
    ):
        run(explicit([[2], [0], [1]]), network("line", 4), 1_000_000)


def test_dependencies_of_the_wrong_shape_are_refused():
    from dataclasses import replace

    with pytest.raises(cs.ScheduleError, match="rising offsets"):
        run(
            replace(explicit([[], [0], [1]]), depends=(np.zeros(2, np.int64), np.zeros(0, np.int64))),
            network("line", 4),
            1,
        )
    with pytest.raises(cs.ScheduleError, match="names transfer 9"):
        run(explicit([[], [9], [1]]), network("line", 4), 1)
