"""A sweep is the product of what it was given, in order, with a row for what could not run."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import collsim as cs


def test_a_row_for_every_combination_in_order():
    frame = cs.sweep("allreduce", ["allreduce_ring", "allreduce_tree"], [cs.topology.switch(4), cs.topology.ring(4)], ["1KiB", "1MiB"])
    assert list(frame.algorithm) == ["allreduce_ring"] * 2 + ["allreduce_tree"] * 2 + ["allreduce_ring"] * 2 + ["allreduce_tree"] * 2
    assert list(frame.nbytes) == [1024, 2**20] * 4
    assert frame.error.isna().all()


def test_a_row_is_the_simulation_itself():
    network = cs.topology.switch(8)
    frame = cs.sweep("allreduce", ["allreduce_ring"], network, ["64MiB"])
    trace = cs.simulate(cs.schedule("allreduce_ring", ranks=8), network, "64MiB")
    assert frame.time[0] == trace.time
    assert frame.busbw[0] == trace.busbw


def test_options_of_an_algorithm_go_with_its_name():
    two = cs.machine("dgx-a100", nodes=2)
    frame = cs.sweep("allreduce", [("allreduce_ring", {"channels": 1}), ("allreduce_ring", {"channels": 8})], two, "256MiB")
    assert frame.time[1] < frame.time[0] / 4


def test_what_cannot_run_is_a_row_with_its_reason():
    frame = cs.sweep("allreduce", [("allreduce_tree", {"chunks": 0}), "allreduce_ring"], cs.topology.switch(4), "1MiB")
    assert "chunks" in frame.error[0]
    assert frame.error.isna()[1]


def test_any_executor_gives_the_same_table():
    given = ("allreduce", ["allreduce_ring", "allreduce_tree"], [cs.topology.switch(4), cs.topology.ring(4)], ["1KiB", "1MiB"])
    with ThreadPoolExecutor(2) as pool:
        assert cs.sweep(*given, executor=pool).equals(cs.sweep(*given))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"collective": "allredcue"}, "did you mean 'allreduce'"),
        ({"algorithm": ["allreduce_rin"]}, "did you mean 'allreduce_ring'"),
        ({"algorithm": ["broadcast_flat"]}, "not for allreduce"),
        ({"nbytes": ["64M"]}, "64MB"),
        ({"topology": []}, "at least one topology"),
    ],
)
def test_mistakes_are_told_before_anything_runs(given, sentence):
    with pytest.raises(cs.CollsimError, match=sentence):
        cs.sweep(**{"topology": cs.topology.switch(4), **given})
