"""Classes of cables: no two lines of the same view have one name."""

import pytest

import collsim as cs
from collsim.analysis.run_facts import RunFacts
from collsim.viz.layout.arrangement import lay_out
from collsim.viz.timeline.link_rows import build_rows
from collsim.viz.timeline.node_stages import build_drawing

GENERIC = {"bandwidth": "25GB/s", "alpha": "1us"}
PLACES = {
    "dgx-1v": lambda: cs.machine("dgx-1v"),
    "8 dgx-1v": lambda: cs.machine("dgx-1v", nodes=8),
    "2 dgx-a100": lambda: cs.machine("dgx-a100", nodes=2),
    "mi300x": lambda: cs.machine("mi300x-8gpu"),
    "torus": lambda: cs.topology.torus(4, 4, **GENERIC),
    "fat tree": lambda: cs.topology.fat_tree(4, **GENERIC),
    "tree": lambda: cs.topology.tree(15, **GENERIC),
    "dragonfly": lambda: cs.topology.dragonfly(2, 2, 1, **GENERIC),
}
ALGORITHMS = ("allreduce_ring", "allreduce_tree", "allreduce_halving_doubling", "allreduce_parameter_server")


def lines(algorithm, topology):
    facts = RunFacts(cs.simulate(cs.schedule(algorithm, topology=topology), topology, "64MiB"))
    return build_rows(facts, build_drawing(lay_out(topology, facts.trace.link_bytes), facts, inside=True))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_two_classes_of_cables_have_one_name(algorithm, place):
    found = lines(algorithm, PLACES[place]())
    for language in ("en", "zh"):
        names = [row["label"][language] for row in found]
        assert len(set(names)) == len(names), names


def test_what_distinguishes_classes_is_said():
    """A tree on a DGX-1V loads single NVLinks and pairs of them; halving and doubling loads by distance."""
    assert [row["label"]["en"] for row in lines("allreduce_tree", PLACES["dgx-1v"]())] == ["NVLink 2 ×1", "NVLink 2 ×2"]
    far = [row["label"]["en"] for row in lines("allreduce_halving_doubling", PLACES["mi300x"]())]
    assert far == ["xGMI, ranks at distance 1", "xGMI, ranks at distance 2", "xGMI, ranks at distance 4"]
