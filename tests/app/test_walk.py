"""Somebody clicks about: whatever the controls are set to, there is a picture and never a traceback."""

import random

import pytest
from test_pages import compare, explore, messages, opened

OURS = "collsim itself"


def widgets(at):
    """Everything in the sidebar that can be set, as (element, values to choose from)."""
    found = [(w, list(range(len(w.options)))) for w in at.sidebar.selectbox if w.options]
    found += [(w, list(range(len(w.options)))) for w in at.sidebar.segmented_control]
    found += [(w, [True, False]) for w in at.sidebar.toggle]
    found += [(w, [w.min, min(w.max, w.min + 1), min(w.max, 7), min(w.max, 16)]) for w in at.sidebar.number_input]
    return found


def set_at_random(at, rng):
    widget, values = rng.choice(widgets(at))
    value = rng.choice(values)
    if hasattr(widget, "select_index"):
        widget.select_index(value)
    elif hasattr(widget, "options"):
        widget.set_value(rng.choice(RAW.get(widget.key, [widget.value])))
    else:
        widget.set_value(value)
    return f"{widget.key} = {value}"


RAW = {"w_nodes": [1, 2, 4], "w_lang": ["en", "zh"], "w_engine": ["lockstep", "event"]}


@pytest.mark.parametrize(("page", "steps"), [(explore, 120), (compare, 25)])
def test_a_random_walk_over_the_controls_never_reaches_a_traceback(page, steps):
    rng = random.Random(7)
    at = opened(page, sizes="1KiB:1MiB:32")
    path = []
    for _ in range(steps):
        path.append(set_at_random(at, rng))
        at.run()
        assert not at.exception, path
        assert not any(OURS in m or "自身出错" in m for m in messages(at)), (path[-6:], messages(at))
        assert len(messages(at)) <= 2, (path[-6:], messages(at))
