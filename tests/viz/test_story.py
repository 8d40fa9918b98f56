"""The numbers of the story are those of the engine: closed forms against runs, cards and bytes against arithmetic."""

import json

import pytest

import collsim as cs
from collsim.units import parse_bandwidth
from collsim.viz.story.story_document import (
    ALGORITHMS,
    BUCKETS,
    RANKS,
    build_story_document,
    encode_story,
)

MIB = 2**20


@pytest.fixture(scope="module")
def story():
    return json.loads(encode_story())


def on_the_page(story, name, n, size, bandwidth, alpha, gamma=0.0):
    """The page's own formula (values.js, timeOf)."""
    row = story["costs"][name][story["ranks"].index(n)]
    return row["steps"] * alpha + row["share"] * size / bandwidth + row["added"] * size * gamma


@pytest.mark.parametrize("name", ALGORITHMS)
def test_times_on_the_page_are_those_of_runs(story, name):
    algorithm, options = ALGORITHMS[name]
    for n in RANKS:
        for size, bandwidth, alpha in ((256 * MIB, "25GB/s", 2e-6), (MIB, "100GB/s", 20e-6)):
            network = cs.topology.switch(n, bandwidth=bandwidth, alpha=alpha / 2)  # a path crosses two cables
            run = cs.simulate(cs.schedule(algorithm, ranks=n, **options), network, size)
            shown = on_the_page(story, name, n, size, parse_bandwidth(bandwidth), alpha)
            assert shown == pytest.approx(run.time, rel=1e-9), (n, size)


def test_adding_takes_what_the_engine_without_barriers_takes(story):
    network, plan = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us"), cs.schedule("allreduce_ring", ranks=8)
    rate, size = 100e9, 256 * MIB
    run = cs.simulate(plan, network, size, engine="event", gamma=rate)
    assert on_the_page(story, "ring", 8, size, 25e9, 2e-6, 1 / rate) == pytest.approx(run.time, rel=1e-6)


def test_the_numbers_of_the_mock_come_out(story):
    server = on_the_page(story, "server", 8, 256 * MIB, 25e9, 2e-6)
    assert server == pytest.approx(2 * (7 * 256 * MIB / 25e9 + 2e-6))  # 150.3 ms
    assert server == pytest.approx(0.1503, rel=1e-3)
    assert on_the_page(story, "server", 16, 256 * MIB, 25e9, 2e-6) == pytest.approx(0.3221, rel=1e-3)
    assert on_the_page(story, "ring", 8, 256 * MIB, 25e9, 2e-6) == pytest.approx(0.01882, rel=1e-3)
    assert on_the_page(story, "ring", 64, MIB, 25e9, 2e-6) == pytest.approx(334.6e-6, rel=1e-3)
    assert on_the_page(story, "halving", 64, MIB, 25e9, 2e-6) == pytest.approx(106.6e-6, rel=1e-3)


def test_the_server_has_the_hot_link_and_twice_its_bandwidth_halves_the_time(story):
    eight = story["bytes"][RANKS.index(8)]
    assert (eight["server"], eight["other"]) == (7, 1)  # gradients, each way
    assert eight["saves"] == pytest.approx(0.5, abs=1e-3)
    assert eight["rest"] == pytest.approx(0, abs=1e-9)


def test_each_channel_more_takes_another_card(story):
    for row in story["cards"]["channels"]:
        # 30 steps of a piece over 25 GB/s and six cables: four of PCIe (0.5 us), two of InfiniBand (0.6 us)
        piece = story["cards"]["nbytes"] / 16 / row["channels"]
        assert row["time"] == pytest.approx(30 * (piece / 25e9 + 3.2e-6), rel=1e-9)
        assert row["cards"] == row["channels"]


def test_a_drawn_ring_sends_the_chunks_of_the_schedule(story):
    assert story["rings"]["4"][0] == [0, 1, 2, 3]
    assert story["rings"]["4"][1] == [3, 0, 1, 2]  # what arrived in the first step goes on
    assert len(story["rings"]["8"]) == 14


def test_the_steps_of_training_are_those_of_the_engine(story):
    assert len(story["training"]["steps"]) == len(BUCKETS)
    for step in story["training"]["steps"]:
        ends = [end for *_, end in step["boxes"]]
        assert max(ends) == pytest.approx(step["time"])
        assert 0 < sum(b - a for a, b in step["waits"]) <= step["exposed"], "computing beside the network is slower"
        assert step["time"] <= step["apart"] * (1 + 1e-9)
    one = next(step for step in story["training"]["steps"] if step["buckets"] == 1)
    assert one["time"] == pytest.approx(one["apart"]), "a single bucket has nothing to overlap with"


def test_the_document_is_made_of_runs_and_not_kept(story):
    assert json.loads(json.dumps(build_story_document(), allow_nan=False)) == story
