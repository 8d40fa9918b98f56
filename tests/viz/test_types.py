"""The types of the JavaScript are those of the documents that Python sends."""

import make_types
import pytest

import collsim as cs
from collsim.viz import build_timeline


def test_the_types_are_those_of_the_documents():
    assert make_types.FILE.read_text("utf-8") == make_types.text(), "run make docs"
    assert "interface Timeline {" in make_types.text()
    assert "hops?: TimelineHops;" in make_types.text()


def test_a_type_that_no_document_should_hold_is_refused():
    with pytest.raises(KeyError):
        make_types._translate(complex)


def test_a_timeline_has_the_keys_of_its_type_and_no_others():
    timeline = build_timeline(cs.simulate(cs.schedule("allreduce_ring", ranks=4), "dgx-a100", "1MiB"))
    declared = make_types.timeline_types.Timeline
    assert declared.__required_keys__ <= set(timeline) <= declared.__required_keys__ | declared.__optional_keys__
    for name in ("meta", "stage", "devices", "links", "routes", "transfers", "steps", "figures", "logical"):
        part = declared.__annotations__[name]
        assert part.__required_keys__ <= set(timeline[name]), name
        assert set(timeline[name]) <= part.__required_keys__ | part.__optional_keys__, name
