"""What would close the gap: the race against ring and tree, where the gain comes from, and why a gap remains."""

import re
from pathlib import Path

import pytest

import collsim as cs
from collsim.sweep import close_gap
from collsim.sweep.gap_closing import close_gap_of, compute_gap_parts
from collsim.sweep.synthesized_algorithm import SYNTHESIZED

MESH = {"bandwidth": "25GB/s", "alpha": 0}


def test_the_parts_of_a_ring_on_a_full_mesh_are_those_worked_out_by_hand():
    """Four blocks of 1 MB: three steps of 40 us and an alpha each. The bound is 3 MB over three cables, 40 us."""
    network = cs.topology.fully_connected(4, bandwidth="25GB/s", alpha="1us")
    ring = cs.simulate(cs.schedule("allgather_ring", ranks=4), network, 4_000_000, engine="event")
    parts = compute_gap_parts(ring)
    assert (parts.cut, parts.chunks, parts.latency) == pytest.approx((80e-6, 0, 3e-6), abs=1e-12)
    assert parts.floor == pytest.approx(120e-6)


def test_the_gain_on_a_full_mesh_is_the_cables_that_the_ring_leaves_idle():
    race = close_gap("allgather", cs.topology.fully_connected(4, **MESH), 4_000_000)
    assert race.trace.time == pytest.approx(40e-6)
    assert race.runs["ring"].time == pytest.approx(120e-6)
    said = str(race)
    assert "ring takes 120 µs, 3 times as long" in said
    assert "ring uses 1 of the 3 links of the narrowest cut, not 3" in said
    assert "needs 120 µs for what it carries, not 40 µs" in said
    assert "within 0.5 %" in said


@pytest.mark.parametrize(
    ("collective", "network", "nbytes"),
    [
        ("allreduce", cs.topology.switch(8), "64MiB"),
        ("allgather", cs.topology.ring(6), "1KiB"),
        ("broadcast", cs.topology.torus(3, 3), "1MiB"),
        ("reduce_scatter", cs.machine("dgx-1v"), "64MiB"),
        ("gather", cs.topology.line(4), "1MiB"),
    ],
)
def test_bound_and_parts_are_the_time_of_every_run(collective, network, nbytes):
    race = close_gap(collective, network, nbytes, effort="low")
    assert set(race.runs) == {SYNTHESIZED, "ring", "tree"}
    for row in race.rows():
        assert row["bound"] + row["cut"] + row["chunks"] + row["latency"] == pytest.approx(row["time"], rel=1e-6)
        assert min(row["cut"], row["chunks"], row["latency"]) >= 0


def test_a_schedule_that_waits_for_no_chunk_is_not_said_to_wait_for_parts_of_a_nanosecond():
    """64 MiB in nine blocks are no whole bytes: what its busiest link idles for is less than the time of a hundred."""
    race = close_gap("allgather", cs.topology.torus(3, 3, bandwidth="25GB/s", alpha="1us"), "64MiB")
    assert 0 < race.parts[SYNTHESIZED].chunks < 4e-9
    for language, none in (("en", "and that of the synthesized schedule for none"), ("zh", "而合成的调度不用等待")):
        told = " ".join(said.text(language) for said in race.sentences)
        assert none in told
        assert " ns" not in told


def test_a_dgx1_with_a_cable_less_is_served_better_by_a_new_schedule_than_by_the_ring():
    """The ring over the links that are left has two channels where the whole box has six."""
    broken = cs.machine("dgx-1v").without_link("node0/gpu0", "node0/gpu3")
    race = close_gap("allgather", broken, "64MiB", effort="low")
    assert race.rival in ("ring", "tree")
    assert race.runs["ring"].time > 1.8 * race.trace.time
    assert "over ring comes from" in str(race)


def test_the_page_says_what_a_broken_dgx1_takes():
    broken = cs.machine("dgx-1v").without_link("node0/gpu0", "node0/gpu3")
    times = {name: cs.format_time(one.time) for name, one in close_gap("allreduce", broken, "256MiB").runs.items()}
    page = (Path(__file__).parents[2] / "docs" / "synthesis.md").read_text(encoding="utf-8")
    said = f"256 MiB takes {times['ring']} around the remaining ring and {times[SYNTHESIZED]} synthesized"
    assert said in " ".join(page.split())


def test_a_ring_that_is_as_fast_is_said_to_be():
    race = close_gap("allreduce", cs.topology.switch(4, bandwidth="25GB/s", alpha=0), "64MiB")
    assert "ring takes as long" in str(race)
    assert "over ring" not in str(race)
    assert "within 0.5 %" in str(race)


def test_where_the_ring_is_the_best_that_was_found_that_is_said_too():
    """On a DGX-1V trees do not beat a ring of six channels, so the ring itself is what synthesis returns."""
    race = close_gap("allreduce", cs.machine("dgx-1v"), "256MiB", effort="low")
    assert race.rival == "ring"
    assert race.runs["ring"].time == pytest.approx(race.trace.time)
    assert "ring takes as long" in str(race)
    assert "allreduce_ring is the fastest" in str(race.provenance)
    assert "over ring" not in str(race)
    assert "over double binary tree" in str(race)
    # The ring sends the fewest buffers that ranks can, and uses all links: no schedule is faster.
    assert "within 0.5 % of it" in str(race)
    assert "2 × 7 buffers between 8 groups of ranks" in str(race)


def test_a_trace_races_its_own_run_and_both_languages_say_the_same_numbers():
    network = cs.topology.ring(4)
    trace = cs.simulate(cs.schedule("allreduce_tree", ranks=4), network, "1MiB")
    race = trace.close_gap(effort="low")
    assert set(race.runs) == {SYNTHESIZED, "ring", "tree", "run"}
    assert "tree as it was run" in str(race)
    for sentence in race.sentences:
        chinese = sentence.text("zh")
        assert chinese != str(sentence)
        figures = re.findall(r"\d[\d.]* (?:ms|µs|%)", str(sentence))
        assert set(figures) <= set(re.findall(r"\d[\d.]* (?:ms|µs|%)", chinese))
    cs.verify(race.schedule)


def test_a_ring_as_it_is_anyway_is_raced_once():
    trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), "1MiB")
    assert set(close_gap_of(trace, effort="low").runs) == {SYNTHESIZED, "ring", "tree"}


def test_a_run_on_ranks_of_its_own_is_raced_on_the_links_between_them():
    """Ranks 1 and 3 of a line sit two cables apart: 64 KB over 25 GB/s, both ways at once, and two alphas."""
    line = cs.topology.line(4, bandwidth="25GB/s", alpha="1us")
    trace = cs.simulate(cs.schedule("allgather_ring", ranks=2), line, 128_000, engine="event", ranks=[1, 3])
    assert trace.close_gap().trace.time == pytest.approx(64e3 / 25e9 + 2e-6)


def test_compare_and_sweep_list_what_is_synthesized():
    network = cs.topology.torus(3, 3)
    table = cs.compare("allgather", network, ["1KiB", "1MiB"], algorithm=["allgather_ring", SYNTHESIZED])
    times = table.pivot_table(index="nbytes", columns="algorithm", values="time")
    assert (times[SYNTHESIZED] < times["allgather_ring"] / 3).all()
    found = cs.sweep("allgather", [(SYNTHESIZED, {"effort": ["low"]})], network, "1MiB", engine=["lockstep", "event"])
    assert list(found["algorithm"]) == [SYNTHESIZED] * 2
    assert found["error"].isna().all()


def test_compare_and_sweep_leave_switches_that_reduce_out_when_told_to():
    """One DGX H100, 64 MiB: without NVLS at least 2 * 7/8 of them leave each GPU, at 450 GB/s."""
    network, least = cs.machine("dgx-h100"), 2 * 7 / 8 * 2**26 / 450e9
    asked = {"algorithm": [SYNTHESIZED], "engine": "event"}
    times = [cs.compare("allreduce", network, "64MiB", **asked, switches=on)["time"][0] for on in (True, False)]
    assert times[0] < least <= times[1]
    pair = (SYNTHESIZED, {"switches": [True, False]})
    assert list(cs.sweep("allreduce", [pair], network, "64MiB", engine="event")["time"]) == times


def test_with_barriers_a_matching_does_not_stand_for_what_can_be_found():
    """Its steps are of unequal length; the trees are tried too, so the worse of both is never shown."""
    network = cs.topology.torus(4, 4)
    found = cs.compare("allreduce", network, "64MiB", algorithm=[SYNTHESIZED])["time"][0]
    for method in ("trees", "greedy"):
        plan = cs.synthesize("allreduce", network, "64MiB", method=method)
        assert found <= cs.simulate(plan, network, "64MiB").time * (1 + 1e-9)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: close_gap("sendrecv", cs.topology.ring(4), 64), "sendrecv cannot be synthesized"),
        (lambda: cs.compare("sendrecv", cs.topology.ring(4), 64, algorithm=[SYNTHESIZED]), "cannot be synthesized"),
        (lambda: cs.sweep("allgather", [(SYNTHESIZED, {"chunk": 4})], "ring(4)", 64), "unknown option of synthesis"),
        (lambda: close_gap("allgather", cs.topology.ring(4), 64, effort="huge"), "unknown effort"),
        (lambda: cs.compare("resnet50", cs.machine("dgx-a100"), switches=False), "switches= is for collectives"),
        (lambda: close_gap("allgather", cs.topology.ring(1), 64), "needs 2"),
    ],
)  # fmt: skip
def test_mistakes_get_a_sentence(ask, says):
    with pytest.raises(cs.CollsimError, match=says):
        ask()


def test_it_can_be_stopped():
    def stop(done, in_all, what):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        close_gap("allgather", cs.machine("dgx-1v"), "1MiB", progress=stop)
