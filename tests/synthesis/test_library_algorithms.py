"""Never slower than ring and tree, and with switches that reduce where a machine has them; said honestly."""

import pytest

import collsim as cs
from collsim.sweep import close_gap
from collsim.synthesis import library_algorithms, report
from collsim.synthesis.library_algorithms import has_reducing_switch


def timed(kind, network, size, **options):
    made = cs.synthesize(kind, network, size, effort="low", **options)
    cs.verify(made)
    return made, cs.simulate(made, network, size, engine="event").time


@pytest.mark.parametrize(
    ("kind", "network", "size"),
    [
        ("allreduce", cs.machine("dgx-1v"), "256MiB"),
        ("allreduce", cs.machine("dgx-a100", nodes=2), "256MiB"),
        ("allgather", cs.topology.ring(4), "1MiB"),
        ("broadcast", cs.topology.torus(3, 3), "1MiB"),
    ],
)
def test_no_slower_than_ring_and_tree_at_their_best(kind, network, size):
    race = close_gap(kind, network, size, effort="low")
    best = min(trace.time for name, trace in race.runs.items() if name != "synthesized")
    assert race.trace.time <= best * (1 + 1e-9)


def test_a_ring_that_wins_is_said_to_be_one():
    made, _ = timed("allreduce", cs.machine("dgx-1v"), "256MiB")
    assert report(made).method == "known"
    assert "allreduce_ring is the fastest" in report(made).summary
    assert made.options["algorithm"] == "allreduce_ring"


@pytest.mark.parametrize("nodes", [1, 2])
def test_switches_that_reduce_make_an_allreduce_faster(nodes):
    """Eight H100 behind NVSwitch: with NVLS a GPU sends S(1 + 1/8) or less, without 2 * 7/8 S, 1.55 times as much."""
    network = cs.machine("dgx-h100", nodes=nodes)
    made, with_switches = timed("allreduce", network, "256MiB")
    plain, without = timed("allreduce", network, "256MiB", switches=False)
    assert made.endpoints > made.ranks
    assert made.helpers_on in ("nvswitch", "fabric")
    assert "switches of the machine reduce or multicast" in report(made).summary
    assert plain.endpoints == plain.ranks
    assert with_switches < 0.9 * without


@pytest.mark.parametrize("network", [cs.topology.switch(4), cs.topology.star(5), cs.topology.fully_connected(4)])
def test_a_switch_that_says_nothing_of_itself_does_not_reduce(network):
    """Nor is a host that nobody has put there, where a network has room for one more."""
    assert not has_reducing_switch(network)
    made, _ = timed("allreduce", network, "64MiB")
    assert made.endpoints == made.ranks


def test_an_algorithm_of_the_library_is_timed_once_for_the_search_and_the_race(monkeypatch):
    find_fastest, timed = library_algorithms.time_fastest_variant, []

    def record(entry, *arguments, **options):
        timed.append((entry.name, *arguments[4:]))
        return find_fastest(entry, *arguments, **options)

    monkeypatch.setattr(library_algorithms, "time_fastest_variant", record)
    race = close_gap("allgather", cs.topology.torus(3, 3), "64MiB", effort="low")
    assert set(race.runs) == {"synthesized", "ring", "tree"}
    assert ("allgather_ring",) in timed
    assert len(set(timed)) == len(timed)
    other = close_gap("allgather", cs.topology.torus(3, 3), "64MiB", effort="low", dtype="float16")
    assert ("allgather_ring", "float16") in timed, "elements of another size may be cut elsewhere: timed again"
    assert other.runs["ring"].dtype == "float16"
