"""Somebody clicks about on Race, What-if and Machines: never a traceback."""

import random

import pytest
from test_machines import opened as machines
from test_pages import messages
from test_race import opened as race
from test_walk import OURS
from test_whatif import opened as whatif


def widgets(at):
    """Everything on the page that can be set, as (element, values to choose from)."""
    found = [(w, list(range(len(w.options)))) for w in at.selectbox if w.options and not w.disabled]
    found += [(w, [True, False]) for w in at.toggle]
    return found + [(w, [w.min, min(w.max, 7), min(w.max, 16)]) for w in at.number_input]


@pytest.mark.parametrize(("page", "seed"), [(race, 1), (machines, 2), (whatif, 3)])
def test_a_random_walk_never_reaches_a_traceback(page, seed):
    rng, at, path = random.Random(seed), page(nbytes="1MiB"), []
    for _ in range(20):
        widget, values = rng.choice(widgets(at))
        value = rng.choice(values)
        path.append(f"{widget.key} = {value}")
        (widget.select_index if hasattr(widget, "select_index") else widget.set_value)(value)
        at.run()
        assert not at.exception, path
        assert not any(OURS in m or "自身出错" in m for m in messages(at)), (path[-5:], messages(at))
