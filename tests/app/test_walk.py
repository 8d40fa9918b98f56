"""Somebody clicks about: whatever the controls of whatever page are set to, there is a page and never a traceback."""

import random

import pytest
from sampling import keep_fast
from streamlit.testing.v1 import AppTest
from test_machines import SMI
from test_pages import messages

from collsim.app.main import PAGES

OURS = ("collsim itself", "自身出错")
#: Segmented controls show texts of their values; these are the values.
SEGMENTS = {
    "w_nodes": [1, 2, 4],
    "w_language": ["en", "zh"],
    "w_engine": ["lockstep", "event"],
    "w_sharing": ["fair", "fifo", "none"],
    "w_channels": [1, 2],
    "w_r_engine": ["lockstep", "event"],
    "w_r_count": [2, 3, 4],
    "w_e_told": ["all", "plain"],
    "w_train_show": ["step", "race"],  # its other tabs are pages
    "w_train_dtype": ["float32", "float16", "bfloat16"],
    "w_train_servers_on": ["host", "rank"],
}
#: What a reader may paste as a machine of their own.
PASTED = ["", "hello", SMI, "nodes: [", "GPU0 GPU1\n" * 3]
#: Where a walk begins, so that it sees the event engine and a machine of the reader's own.
ADDRESSES = {
    "explore": [
        {"mode": "full"},
        {"mode": "simple"},
        {"engine": "event", "sharing": "fifo"},
        {"network": "torus", "shape": "4x4", "engine": "event"},
    ],
    "race": [{}, {"engine": "event"}],
    "compare": [{"sizes": "1KiB:1MiB:32"}, {"sizes": "1KiB:1MiB:1024", "engine": "event"}],
    "whatif": [{"nbytes": "1MiB"}, {"engine": "event", "nbytes": "1MiB"}],
    "machines": [{}, {"machine": "dgx-h100", "nodes": "2"}],
    "measured": [{}, {"run": "own", "machine": "polaris", "nodes": "2"}],
}
#: So many that most controls of a page are touched once; `make fuzz` walks on for hours.
STEPS = {"explore": 28, "compare": 10, "lessons": 20}


def opened(page, query):
    at = AppTest.from_string(f"from collsim.app.main import main\nmain(first={page!r})", default_timeout=90)
    for name, text in query.items():
        at.query_params[name] = text
    return at.run()


def controls(at):
    """Everything that can be set now, as (element, how to set it to something)."""
    found = [
        (w, lambda w, rng: w.select_index(rng.randrange(len(w.options))))
        for w in at.selectbox
        if w.options and not w.disabled
    ]
    found += [
        (w, lambda w, rng: w.set_value(rng.choice(SEGMENTS[w.key])))
        for w in at.segmented_control
        if w.key in SEGMENTS and not w.disabled
    ]
    found += [(w, lambda w, rng: w.set_value(rng.random() < 0.5)) for w in at.toggle if not w.disabled]
    found += [
        (w, lambda w, rng: w.set_value(rng.choice([w.min, min(w.max, w.min + 1), min(w.max, 7), min(w.max, 16)])))
        for w in at.number_input
    ]
    found += [(w, lambda w, rng: w.click()) for w in at.button if not w.disabled]
    found += [(w, lambda w, rng: w.set_value(rng.choice(PASTED))) for w in at.text_area]
    found += [(w, lambda w, rng: w.set_value(rng.choice(["", "x" * 300, "1", "<b>"]))) for w in at.text_input]
    return found


@pytest.mark.parametrize(
    ("page", "address"),
    keep_fast(
        [(page, address) for page in PAGES for address in range(len(ADDRESSES.get(page, [{}])))],
        [("story", 0), ("race", 0), ("explore", 1), ("whatif", 0)],
    ),
)
def test_a_random_walk_never_reaches_a_traceback(page, address):
    query = ADDRESSES.get(page, [{}])[address]
    rng, at, path = random.Random(100 * address + len(page)), opened(page, query), [query]
    touched = set()
    for _ in range(STEPS.get(page, 14)):
        fitting = controls(at)
        fresh = [one for one in fitting if one[0].key not in touched] or fitting  # each control once before any twice
        control, change = rng.choice(fresh if rng.random() < 0.7 else fitting)
        touched.add(control.key)
        change(control, rng)
        path.append(f"{control.key} = {getattr(control, 'value', '')!r}"[:90])
        at.run()
        assert not at.exception, (path[-8:], at.exception)
        assert not any(ours in m for m in messages(at) for ours in OURS), (path[-8:], messages(at))
        assert len(messages(at)) <= 3, (path[-8:], messages(at))
    assert len(touched) >= min(5, len(controls(at)))
