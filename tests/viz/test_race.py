"""What a race is told of each run."""

import pytest

import collsim as cs
from collsim.viz.race.race_document import build_course, build_runner
from collsim.viz.timeline.timeline_document import decode


@pytest.fixture(scope="module")
def three():
    network = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")
    ways = [("allreduce_parameter_server", {"server": "helper"}), ("allreduce_ring", {}), ("allreduce_ring", {})]
    return [
        build_runner(cs.simulate(cs.schedule(name, topology=network, **options), network, "64MiB"))
        for name, options in ways
    ]


def test_places_follow_the_times_and_equal_times_share_one(three):
    assert [entry["position"] for entry in build_course(three)] == [3, 1, 1]


def test_the_server_of_eight_ranks_carries_eight_buffers_and_stands_out(three):
    server, ring, _ = build_course(three)
    assert server["busiest"] == 8 * 64 * 2**20
    assert ring["busiest"] == 14 * 8 * 2**20
    assert (server["hot"], ring["hot"]) == (True, False)


def test_every_runner_says_why_in_both_languages(three):
    server, ring, _ = three
    assert ring.reason[0].startswith("Every rank sends 1.75 buffers. Every cable in use: busy 99.4")
    assert server.reason[0].startswith("The server sends 8 buffers, more than any other.")
    assert "1.75 份缓冲区" in ring.reason[1]


def test_a_runner_is_played_from_an_ordinary_timeline(three):
    assert decode(three[1].timeline)["meta"]["title"]["en"].startswith("allreduce_ring")


def test_a_single_rank_has_nothing_to_race_for():
    network = cs.topology.switch(1)
    alone = build_runner(cs.simulate(cs.schedule("allreduce_ring", topology=network), network, "1MiB"))
    assert alone.reason == ("Nothing has to move.", "没有数据需要移动。")
    assert build_course([alone])[0]["load"] == 0
