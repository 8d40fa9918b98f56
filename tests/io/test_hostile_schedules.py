"""Schedule files whose numbers a stranger chose: what loads is verified, simulated, replayed and drawn to an end, or to a
sentence."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import collsim as cs
from collsim.io import load
from collsim.viz.timeline.timeline_document import build_timeline

FIELDS = ("ranks", "endpoints", "chunks", "slots", "root")
SIGNED = [0, 1, 2, 3, 4, 5, 7, 8, -1, -2, -4, 63, 1000]
LARGE = [2**15, 2**24, 2**25, 2**28, 2**31 - 1, 2**31, -(2**31), 2**63, 10**30]
NUMBERS = st.sampled_from([*SIGNED, *LARGE, 1.5, "3", "x", None, True, []])
SMALL = st.integers(0, 8)
MODULI = st.integers(1, 9) | NUMBERS


def rows(endpoints, slots):
    row = st.tuples(
        st.integers(0, endpoints - 1),
        st.integers(0, endpoints - 1),
        st.integers(0, slots - 1),
        st.integers(0, slots - 1),
        st.sampled_from(["copy", "reduce"]),
        st.integers(0, 2),
    )
    return st.lists(row.map(list), max_size=4, unique_by=lambda r: r[1])


@st.composite
def documents(draw):
    """A file of few ranks that is right in its form, with up to two numbers that are not."""
    ranks = draw(st.integers(1, 5))
    endpoints = ranks + draw(st.integers(0, 2))
    chunks = draw(st.sampled_from([1, 2, 3, ranks, 2 * ranks]))
    slots = chunks + draw(st.integers(0, 6))
    transfers = rows(endpoints, slots)
    moduli = st.sampled_from([1, slots, chunks]) | MODULI
    repeated = st.fixed_dictionaries(
        {"times": SMALL, "shift": SMALL | NUMBERS, "modulus": moduli, "transfers": transfers}
    )
    wide = st.fixed_dictionaries({"width": st.integers(1, 3) | NUMBERS, "transfers": transfers})
    document = {
        "format": "collsim-schedule",
        "version": 1,
        "collective": draw(
            st.sampled_from([*sorted(cs.collectives()), "reduce_scatter+allgather", "allgather+reduce"])
        ),
        "ranks": ranks,
        "endpoints": endpoints,
        "chunks": chunks,
        "slots": slots,
        "root": draw(st.integers(0, ranks - 1)),
        "helpers_on": draw(st.sampled_from(["host", "switch"])),
        "steps": draw(st.lists(transfers | repeated | wide, max_size=4)),
    }
    for _ in range(draw(st.integers(0, 2))):
        document[draw(st.sampled_from(FIELDS))] = draw(NUMBERS)
    return document


def play(schedule):
    """Everything that can be done with a schedule; only a CollsimError may come out."""

    def attempt(action):
        try:
            return action()
        except cs.CollsimError as error:
            _ = str(error), error.text("zh")
            return None

    network = cs.topology.switch(max(2, schedule.endpoints))
    attempt(lambda: cs.verify(schedule))
    attempt(lambda: cs.replay(schedule, np.ones((schedule.ranks, 2 * schedule.ranks), np.float32)))
    attempt(lambda: schedule.transfers)
    assert str(schedule)
    for engine in ("lockstep", "event"):
        trace = attempt(lambda engine=engine: cs.simulate(schedule, network, "1MiB", engine=engine))
        if trace is not None:
            attempt(lambda trace=trace: (trace.bound, trace.bottleneck, trace.busbw))
            attempt(lambda trace=trace: build_timeline(trace))


@given(documents())
@settings(max_examples=200, deadline=None)
def test_what_loads_is_played_to_an_end_or_to_a_sentence(tmp_path_factory, document):
    path = tmp_path_factory.mktemp("hostile") / "x.json"
    path.write_text(json.dumps(document))
    try:
        schedule = load(path)
    except cs.FormatError:
        return
    if schedule.endpoints <= 16 and schedule.steps <= 100 and schedule.slots <= 1000:
        play(schedule)


def ring_of_four(tmp_path, **changes):
    """A file of a ring, whose first pattern is changed."""
    path = tmp_path / "x.json"
    cs.save(cs.schedule("allreduce_ring", ranks=4), path)
    document = json.loads(path.read_text())
    document["steps"][0] |= changes
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"modulus": 3}, r"chunk 3 .*chunk reaches slots 3 to 5 \(modulus=3\); slots are 0 to 3"),
        ({"modulus": 5}, r"chunk reaches slots 0 to 4 \(modulus=5\)"),
        ({"modulus": 2**31 - 1, "shift": 2**31 - 1}, r"chunk reaches slots 0 to 2147483646"),
        ({"modulus": 2**31}, "modulus=2147483648 is out of range"),
        ({"modulus": 0}, "modulus=0 is out of range"),
        ({"shift": -(2**31)}, "shift=-2147483648 is out of range"),
        ({"times": -1}, "times=-1 is out of range"),
        ({"times": 2**31 - 1}, "would take .* of memory .* use fewer chunks, slots and steps"),
        ({"width": 2}, r"ranges of chunks \(width=2\) do not repeat"),
        ({"times": 1, "width": 2}, "and the 1 after it does not exist"),
    ],
)
def test_a_pattern_that_leaves_the_slots_is_refused_with_its_place(tmp_path, changes, message):
    with pytest.raises(cs.FormatError, match=rf"x\.json.*{message}"):
        load(ring_of_four(tmp_path, **changes))


def test_a_pattern_whose_groups_fill_the_slots_is_loaded(tmp_path):
    assert load(ring_of_four(tmp_path, modulus=2)).slots == 4
    assert load(ring_of_four(tmp_path, modulus=3, shift=0)).slots == 4, "it stays where it is"


def test_a_channel_that_nobody_has_is_refused_in_both_formats(tmp_path):
    path = tmp_path / "x.json"
    cs.save(cs.schedule("allreduce_ring", ranks=2), path)
    path.write_text(path.read_text().replace('"reduce", 0]', '"reduce", 134217728]'))
    with pytest.raises(cs.FormatError, match="there is no channel 134217728; channels are 0 to 32767"):
        load(path)
    table = tmp_path / "x.csv"
    table.write_text("step,src,dst,chunk,into,op,channel\n0,0,1,0,0,copy,32768\n")
    with pytest.raises(cs.FormatError, match="channel=32768 is out of range"):
        load(table, collective="broadcast", ranks=2)
