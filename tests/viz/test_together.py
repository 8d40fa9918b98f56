"""Several collectives at once, as one picture: what the player is given, and that files and tables take them like one
run."""

import json

import numpy as np
import pytest

import collsim as cs
from collsim.schedule import freeze
from collsim.steps import copy
from collsim.viz.timeline import concurrent_timeline
from collsim.viz.timeline.timeline_document import build_timeline

RATE = 25e9


def two_rings(**options):
    """A ring of four and a chain of three over ranks 3, 2, 5 of one switch, without latency; they share the cables of
    ranks 2 and 3."""
    topo = cs.topology.switch(6, bandwidth=RATE, alpha=0)
    ring, chain = cs.schedule("allreduce_ring", 4), cs.schedule("broadcast_chain", 3, chunks=4)
    return cs.simulate([ring, chain], topo, ["4MB", "2MB"], ranks=[[0, 1, 2, 3], [3, 2, 5]], **options)


@pytest.mark.parametrize("sharing", ["fair", "fifo", "none"])
def test_the_whole_is_what_its_parts_are(sharing):
    both = two_rings(sharing=sharing, background=[(1, 4, "1MB")])
    whole = both.whole
    frame = whole.to_frame()
    assert len(frame) == sum(len(t.schedule) for t in both)
    assert whole.time == both.time
    assert (whole.link_bytes + both.background.link_bytes == both.link_bytes).all()
    for number, (t, rows) in enumerate(zip(both, whole.row_of, strict=True)):
        own, part = t.to_frame(), frame.iloc[rows]
        assert np.array_equal(part["start"], t.start)
        assert np.array_equal(part["finish"], t.finish)
        assert np.array_equal(part["src"], both.placements[number][own["src"]])
        assert np.array_equal(part["chunk"] - whole.first_slot[number], own["chunk"])
        assert np.array_equal(part["bytes"], own["bytes"])
    for link in np.flatnonzero(whole.link_bytes).tolist():
        assert both.usage(link).nbytes == pytest.approx(sum(t.usage(link).nbytes for t in both))
    table = both.links.set_index("link")
    assert table["other"].sum() > 0
    if sharing != "none":
        assert table["share"].max() <= 1 + 1e-9


def test_every_cell_of_the_whole_ends_where_its_collective_wants_it():
    """Played by the rules of the player: 4 contributions in every chunk of the ring, the root's own in every chunk of
    the chain."""
    made = build_timeline(two_rings())
    state, t = made["state"], made["transfers"]
    assert state["goal"] == [4] * 4 + [1] * 4
    count = np.zeros((made["meta"]["endpoints"], made["meta"]["slots"]), int)
    count[tuple(np.array(state["initial"]).T)] = 1
    for step in range(len(made["steps"]["t0"])):
        rows = [i for i, s in enumerate(t["step"]) if s == step]
        before = count.copy()
        for i in rows:
            carried = before[t["src"][i], t["chunk"][i]]
            count[t["dst"][i], t["into"][i]] = carried + t["reduce"][i] * count[t["dst"][i], t["into"][i]]
    assert all(count[e, c] == state["goal"][c] for e, c in state["wanted"])
    assert {e for e, c in state["wanted"] if c >= 4} == {2, 3, 5}


def test_each_collective_has_a_letter_a_name_its_slots_and_its_slow_down():
    both = two_rings(begin=[0, "10us"])
    groups = build_timeline(both)["groups"]
    assert [(g["name"], g["first"], g["slots"]) for g in groups] == [("A", 0, 4), ("B", 4, 4)]
    assert groups[0]["label"]["en"].startswith("allreduce_ring, ranks 0–3, ")
    assert groups[1]["label"]["en"].startswith("broadcast_chain, ranks 3, 2 and 5, ")
    for g, t, alone, factor in zip(groups, both, both.alone, both.slowdown, strict=True):
        assert factor > 1.01
        assert g["slowdown"] == pytest.approx(factor, rel=1e-5)
        assert (g["alone"], g["t1"]) == pytest.approx((alone.time, t.time), abs=1e-11)
        assert f"{factor:.3g} ×" in g["note"]["en"]
    assert groups[1]["t0"] == pytest.approx(10e-6)
    assert [concurrent_timeline.get_letter(n) for n in (0, 25, 26)] == ["A", "Z", "A1"]
    alone = cs.simulate([both[0].schedule], both.topology, "4MB")
    assert "as fast as alone" in build_timeline(alone)["groups"][0]["note"]["en"]


def test_a_sentence_says_whose_step_it_is_and_where_its_ranks_sit():
    told = build_timeline(two_rings())["steps"]["text"]
    assert any(text.startswith("A: Every rank sends") for text in told["en"])
    assert any(text.startswith("B (its ranks from 0 on: 3, 2, 5): Rank 0 sends") for text in told["en"])
    assert all(text[:1] in "AB" for text in told["zh"])


def test_a_wrong_schedule_next_to_a_right_one_is_pointed_at_in_the_common_numbering():
    right = cs.schedule("broadcast_chain", 3)
    wrong = freeze("half", "broadcast", 3, [copy(0, 1, 0)], chunks=1)
    both = cs.simulate([right, wrong], cs.topology.switch(6), "1MB", ranks=[[0, 1, 2], [5, 4, 3]])
    found = build_timeline(both)["mistake"]
    assert (found["rank"], found["chunk"]) == (3, 1)
    assert found["text"]["en"].startswith("B: ")
    assert build_timeline(two_rings())["mistake"] is None


@pytest.mark.parametrize("suffix", [".html", ".json", ".png", ".gif", ".trace.json"])
def test_several_at_once_can_be_written_like_one_run(tmp_path, suffix):
    both = two_rings()
    path = tmp_path / f"x{suffix}"
    both.save(path)
    assert path.stat().st_size > 1000
    if suffix == ".json":
        assert json.loads(path.read_text()) == build_timeline(both.whole) == both.animate().timeline
    if suffix == ".html":
        assert "broadcast_chain" in path.read_text()


def test_the_bottleneck_of_all_is_found_by_running_all_again():
    """Two rings on one set of cables, without latency: twice the bandwidth, half the time; without bytes nothing
    remains."""
    s, topo = cs.schedule("allreduce_ring", 4), cs.topology.ring(4, bandwidth=RATE, alpha=0)
    both = cs.simulate([s, s], topo, "4MiB")
    assert both.whole.bottleneck.busy_share == pytest.approx(1)
    assert both.whole.bottleneck.savings == {"cable": pytest.approx(0.5)}
    assert both.whole.bottleneck.latency == 0
    assert both.whole.bound.time == pytest.approx(both[0].bound.time)
    slow = cs.simulate([s, s], topo, "4MiB", slow={1: 4})
    assert slow.whole.run_again(slow.topology).time == slow.time == pytest.approx(4 * both.time)
