"""A wrong algorithm is never ranked, wherever runs are ordered by time: it has a sentence in `error`, and no time."""

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

import collsim as cs
from collsim import faults
from collsim.analysis.differences import require_one_collective
from collsim.app.pages.explore import chunk_search
from collsim.app.pages.race import lineup
from collsim.app.scenario import outcome
from collsim.app.scenario.choice import Choice
from collsim.collective import get_collective
from collsim.faults import UnverifiedError, find_fault, require_right
from collsim.sweep import close_gap
from collsim.synthesis import library_algorithms
from collsim.viz.pictures import plots

SWITCH = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")
RING, TREE = "allreduce_ring", "allreduce_tree"


@pytest.fixture
def cheat():
    """Moves one chunk and says that this is an allreduce."""

    @cs.algorithm("allreduce")
    def cheat(n):
        yield cs.copy(0, 1, chunk=0)

    with cs.registered(cheat):
        yield cheat


@pytest.fixture
def sometimes():
    """A right allreduce with one chunk, a wrong and therefore faster one with several."""

    @cs.algorithm("allreduce", chunks=lambda n, chunks: chunks)
    def sometimes(n, chunks=1):
        others = np.arange(1, n)
        yield cs.reduce(others, 0, chunk=0)
        yield cs.copy(0, others, chunk=0)  # the first chunk only

    with cs.registered(sometimes):
        yield sometimes


def run(schedule, **options):
    return cs.simulate(schedule, SWITCH, "64MiB", **options)


# ---- tables --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", ["64MiB", ["1KiB", "64MiB"]])
def test_compare_puts_what_is_wrong_last_with_its_sentence(cheat, sizes):
    assert run(cheat(8)).time < cs.best("allreduce", SWITCH, "64MiB").trace.time, "it would win"
    table = cs.compare("allreduce", SWITCH, sizes)
    for _, rows in table.groupby("nbytes"):
        assert rows["algorithm"].iloc[0] != "cheat"
        wrong = rows[rows["algorithm"] == "cheat"].iloc[0]
        assert np.isnan(wrong["time"])
        assert "allreduce wants r0 + r1" in wrong["error"]


def test_compare_verifies_an_algorithm_of_code_without_a_module():
    source = """
@cs.algorithm("allreduce")
def rootless(n):
    yield cs.copy(0, 1, chunk=0)
"""
    with cs.registered():
        names = {"cs": cs}
        exec(source, names)
    with cs.registered(names["rootless"]):
        row = cs.compare("allreduce", SWITCH, "1MiB", algorithm=["rootless"]).iloc[0]
    assert names["rootless"].function.__module__ in (None, "builtins")
    assert np.isnan(row["time"])
    assert "rootless(8)" in row["error"]


def test_an_algorithm_that_is_wrong_with_some_options_runs_with_the_others(sometimes):
    table = cs.compare("allreduce", SWITCH, "64MiB", algorithm=["sometimes"])
    assert (table["chunks"].item(), table["error"].notna().item()) == (1, False)
    found = cs.best("allreduce", SWITCH, "64MiB", algorithm=["sometimes"])
    assert found.options.get("chunks", 1) == 1
    wrong = found.tried[found.tried["error"].notna()]
    assert {json.loads(options)["chunks"] for options in wrong["options"]} >= {2, 4, 256}
    assert wrong["time"].isna().all()
    assert list(found.tried["time"].isna()) == sorted(found.tried["time"].isna()), "what is wrong comes last"
    assert plots.time_over_chunks(found.tried).lines


def test_sweep_gives_no_figures_for_what_is_wrong(cheat):
    table = cs.sweep("allreduce", [cheat, RING], SWITCH, ["1KiB", "64MiB"]).set_index("algorithm")
    assert table.loc["cheat", "time"].isna().all()
    assert all("chunk 0 = r0" in error for error in table.loc["cheat", "error"])
    assert table.loc[RING, "error"].isna().all()
    assert table.loc[RING, "time"].notna().all()


def test_a_sweep_in_other_processes_and_in_a_file_gives_none_either(cheat, tmp_path):
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        table = cs.sweep("allreduce", [cheat], SWITCH, "1KiB", executor=pool, out=tmp_path / "x.csv")
    assert "chunk 0 = r0" in table["error"].item()
    again = cs.sweep("allreduce", [cheat], SWITCH, "1KiB", out=tmp_path / "x.csv")
    assert again["error"].item() == table["error"].item()


# ---- searches ------------------------------------------------------------------------------------------------------


def test_best_and_cheapest_never_return_what_is_wrong(cheat):
    found = cs.best("allreduce", SWITCH, "64MiB")
    assert found.trace.schedule.name != "cheat"
    assert "cheat" in set(found.tried["algorithm"])
    prices = cs.analysis.cheapest({"a": 1.0}, {"a": SWITCH}, "allreduce", "64MiB", "10s")
    assert "cheat" not in prices["algorithm"].item()
    with pytest.raises(cs.CollsimError, match=r"no algorithm for allreduce runs on .*rank 0 has chunk 0 = r0"):
        cs.best("allreduce", SWITCH, "64MiB", algorithm=["cheat"])


def test_crossover_and_the_difference_of_two_runs_refuse_what_is_wrong(cheat):
    for pair in (("cheat", RING), (RING, cheat)):
        with pytest.raises(cs.ScheduleError, match=r"cheat\(8\): after the last step"):
            cs.crossover(*pair, SWITCH)
    ring, wrong = run(cs.schedule(RING, ranks=8)), run(cheat(8))
    for pair in ((ring, wrong), (wrong, ring)):
        with pytest.raises(cs.ScheduleError, match=r"cheat\(8\): after the last step"):
            cs.analysis.compare_runs(*pair)
    with pytest.raises(cs.ScheduleError, match=r"cheat\(8\): after the last step"):
        wrong.close_gap()


def test_synthesis_takes_no_wrong_algorithm_of_a_user():
    @cs.algorithm("allreduce", helpers=lambda n: 1, helpers_on="switch")
    def allreduce_bruck(n):  # one of the names that synthesis times beside its own
        yield cs.copy(0, 1, chunk=0)

    @cs.algorithm("allgather")
    def allgather_ring(n):
        yield cs.copy(0, 1, chunk=0)

    box = cs.machine("dgx-h100", gpus=4)  # few ranks, of which the solver is sure at once
    with cs.registered(allreduce_bruck, allgather_ring):
        for collective in ("allreduce", "allgather"):
            for objective in ("latency", "1KiB"):
                cs.verify(cs.synthesize(collective, box, objective, "low"))
            race = close_gap(collective, box, "1MiB", effort="low")
            assert all(find_fault(trace.schedule) is None for trace in race.runs.values())


def test_the_shortest_allreduce_is_a_right_one(cheat):
    right = library_algorithms.find_shortest(get_collective("allreduce"), cs.topology.ring(4), 4, steps=10)
    assert right.name != "cheat"
    assert right.steps > cheat(4).steps


def test_a_training_step_is_not_timed_with_a_wrong_allreduce(cheat):
    table = cs.sweep(model="resnet18", topology="dgx-a100", batch=64, algorithm=["cheat", RING])
    assert ["chunk 0 = r0" in str(error) for error in table["error"]] == [True, False]
    assert list(table["time"].isna()) == [True, False]


# ---- the app -------------------------------------------------------------------------------------------------------


def test_the_race_page_gives_the_sentence_in_place_of_a_runner(cheat):
    ring = Choice(machine="switch", nbytes="64MiB", nodes=1)
    field = lineup.run_field((ring, replace(ring, algorithm="cheat")))
    assert "chunk 0 = r0" in str(field.runners[1])
    assert field.overtaking is None
    assert field.runners[0].time > 0


def test_the_compare_page_names_it_and_does_not_lead_with_it(cheat):
    choice = Choice(machine="switch", nodes=1, sizes="1KiB:64MiB:65536", algorithms=("cheat", RING))
    table = outcome.compare(choice)
    assert set(table[table["error"].isna()]["algorithm"]) == {RING}
    assert "chunk 0 = r0" in str(table.attrs["refusals"]["cheat"])
    assert outcome.find_crossings(table)[0] == [RING]


def test_explore_says_that_a_time_below_the_bound_is_that_of_no_correct_schedule(cheat):
    shown = outcome.compute_outcome(Choice(machine="switch", nodes=1, nbytes="64MiB", algorithm="cheat"))
    assert any("below the bound" in en and "低于下界" in zh for en, zh in shown.notes)
    shown = outcome.compute_outcome(Choice(machine="switch", nodes=1, nbytes="64MiB", algorithm=RING))
    assert not any("below the bound" in en for en, _ in shown.notes)


def test_the_search_for_chunks_leaves_out_what_is_wrong(sometimes):
    table = chunk_search.search_chunks(Choice(machine="switch", nodes=1, nbytes="64MiB", algorithm="sometimes"))
    assert list(table["chunks"]) == [1]


# ---- a run by itself -----------------------------------------------------------------------------------------------


def test_a_run_below_its_bound_says_that_it_is_wrong(cheat):
    trace = run(cheat(8))
    assert trace.gap < 1
    assert "below the bound of 4.7 ms" in str(trace.error).replace("\N{NO-BREAK SPACE}", " ")
    assert "rank 0 has chunk 0 = r0" in str(trace.error)
    assert trace.row()["error"] == str(trace.error)
    assert str(trace.error) in str(trace)
    assert str(trace.error) in trace.explain()
    assert "no correct allreduce" in repr(trace)
    assert "没有任何正确的 allreduce" in trace.error.text("zh")


@pytest.mark.parametrize("options", [{}, {"engine": "event"}, {"engine": "event", "sharing": "none"}])
def test_a_correct_run_has_no_error(options):
    trace = run(cs.schedule("allreduce_direct_one_shot", ranks=8), **options)
    assert trace.error is None
    assert trace.row()["error"] is None
    assert "correct" not in repr(trace)


def test_a_run_of_links_that_carry_more_than_they_can_is_not_called_wrong():
    """Sharing `none`: the time may be below the bound though the schedule is right."""

    @cs.algorithm("allreduce")
    def everybody(n):
        src, dst = np.nonzero(~np.eye(n, dtype=bool))
        yield cs.reduce(src, dst, chunk=0)

    trace = run(everybody(8), engine="event", sharing="none")
    assert trace.gap < 1
    assert trace.error is None


# ---- once for each content -----------------------------------------------------------------------------------------


@pytest.fixture
def verified(monkeypatch):
    """The schedules that were verified."""
    seen = []
    monkeypatch.setattr(faults, "_results", type(faults._results)())

    def verify(schedule):
        seen.append(schedule.label)
        cs.verify(schedule)

    monkeypatch.setattr(faults, "verify", verify)
    return seen


def two_hops(extra=None):
    @cs.algorithm("allreduce")
    def two_hops(n):
        others = np.arange(1, n)
        yield cs.reduce(others, 0, chunk=0)
        yield cs.copy(0, others if extra is None else extra, chunk=0)

    return two_hops


def test_a_content_is_verified_once_and_a_new_definition_anew(verified):
    first = two_hops()
    for _ in range(3):
        cs.sweep("allreduce", [first], [SWITCH, cs.topology.fully_connected(8)], ["1KiB", "1MiB"])
        require_right(first(8))
    assert verified == ["two_hops(8)"]
    require_right(first(4))
    require_right(two_hops()(8))
    assert verified == ["two_hops(8)", "two_hops(4)"], "the same content under the same name"
    with pytest.raises(cs.ScheduleError):
        require_right(two_hops(extra=[1, 2])(8))
    assert verified == ["two_hops(8)", "two_hops(4)", "two_hops(8)"]


def test_collsims_own_are_not_verified_again_unless_a_user_stands_in_for_a_part(verified):
    require_right(cs.schedule(RING, ranks=1024))
    require_right(cs.schedule(RING, ranks=2**20))
    assert verified == []

    @cs.algorithm("reduce_scatter")
    def reduce_scatter_ring(n):
        yield cs.reduce(0, 1, chunk=0)

    with cs.registered(reduce_scatter_ring):
        composed = cs.schedule("allreduce_hierarchical", ranks=8, per_node=4, inner="ring")
    with pytest.raises(cs.ScheduleError):
        require_right(composed)
    require_right(replace(cs.schedule(RING, ranks=4), name="mine"))  # an edited copy is nobody's
    assert verified == ["allreduce_hierarchical(8, per_node=4, inner='ring')", "mine(4)"]


def test_what_is_remembered_is_bounded_and_collects_no_tracebacks(verified, monkeypatch):
    monkeypatch.setattr(faults, "_MAX_RESULTS", 2)
    wrong = two_hops(extra=[1])
    errors = []
    for n in (4, 5, 6, 6):
        with pytest.raises(cs.ScheduleError) as caught:
            require_right(wrong(n))
        errors.append(caught.value)
    assert len(faults._results) == 2
    assert all(error.__traceback__ is None for error in faults._results.values())
    assert errors[2] is not errors[3]
    assert (str(errors[2]), errors[2].rank) == (str(errors[3]), errors[3].rank)


def test_a_schedule_too_large_to_be_verified_is_not_ranked(monkeypatch):
    monkeypatch.setattr(faults, "MAX_TRANSFERS", 10)
    large = two_hops()
    with pytest.raises(UnverifiedError, match=r"two_hops\(8\) has 14 transfers and was not verified"):
        require_right(large(8))
    row = cs.sweep("allreduce", [large], SWITCH, "1MiB").iloc[0]
    assert "was not verified" in row["error"]
    assert cs.analysis.compare_runs(run(large(8)), run(large(8))).speedup == 1, (
        "whoever made both runs may look at their difference"
    )


# ---- different collectives -----------------------------------------------------------------------------------------


def test_runs_of_different_collectives_are_not_compared():
    allreduce, allgather = (run(cs.schedule(name, ranks=8)) for name in (RING, "allgather_ring"))
    with pytest.raises(
        cs.CollsimError, match=r"allreduce_ring\(8\) is for allreduce, allgather_ring\(8\) for allgather"
    ):
        cs.analysis.compare_runs(allreduce, allgather)
    both = cs.schedule("reduce_scatter_ring", ranks=8) + cs.schedule("allgather_ring", ranks=8)
    assert cs.analysis.compare_runs(allreduce, run(both)).speedup == pytest.approx(1), "together they are an allreduce"
    require_one_collective("x", [("a", "allreduce"), ("b", "reduce_scatter+allgather")])


def test_a_crossover_is_of_one_collective_and_names_who_wins_on_either_side():
    with pytest.raises(
        cs.CollsimError, match=r"crossover .*allreduce_ring\(8\) is for allreduce, allgather_ring\(8\) for allgather"
    ):
        cs.crossover(RING, "allgather_ring", SWITCH)
    doubling = "allreduce_recursive_doubling"
    for pair in ((doubling, RING), (RING, doubling)):
        size = cs.crossover(*pair, SWITCH)
        assert (size.below, size.above) == ("allreduce_recursive_doubling(8)", "allreduce_ring(8)")
        for nbytes, winner in ((int(size * 0.99), doubling), (int(size * 1.01), RING)):
            assert cs.best("allreduce", SWITCH, nbytes, algorithm=[doubling, RING]).trace.schedule.name == winner
    assert (str(size), cs.format_bytes(size)) == (str(int(size)), cs.format_bytes(int(size)))
    for copied in (copy.copy(size), pickle.loads(pickle.dumps(size))):
        assert (copied, copied.below, copied.above) == (size, size.below, size.above)
    assert "allreduce_ring(8)" in repr(size)
    assert "起 allreduce_ring(8) 更快" in size.summary.text("zh")


def test_runners_of_several_collectives_and_sizes_are_raced_and_stand_in_the_address():
    ring = Choice(machine="switch", nbytes="64MiB", nodes=1)
    gather = replace(ring, collective="allgather", algorithm="allgather_ring", nbytes="16MiB")
    times = [runner.time for runner in lineup.run_field((ring, gather)).runners]
    eight = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")
    assert times == [
        cs.simulate(cs.schedule("allreduce_ring", ranks=8), eight, "64MiB").time,
        cs.simulate(cs.schedule("allgather_ring", ranks=8), eight, "16MiB").time,
    ]
    runners, complaints = lineup.ADDRESS.read(lineup.ADDRESS.write((ring, gather)))
    assert (runners, complaints) == ((ring, gather), [])
    assert lineup.find_difference(runners) == "algorithm"
    assert lineup.find_difference((ring, replace(ring, nbytes="1MiB"))) == "nbytes"


def test_a_pinned_run_races_the_one_that_is_shown_and_what_of_it_cannot_be_read_is_told():
    ring = Choice(machine="switch", nbytes="64MiB", nodes=1)
    shown = replace(ring, algorithm="allreduce_tree", nbytes="1MiB", engine="event")
    runners, complaints = lineup.build_pinned_race(lineup.write_runner(ring, without=()), shown)
    assert (runners, complaints) == ((replace(ring, engine="event"), shown), [])
    _, complaints = lineup.build_pinned_race("algorithm:allreduce_rink;network:switch", shown)
    assert [c.value for c in complaints] == ["allreduce_rink"]


def test_a_map_of_winners_is_of_one_collective():
    table = cs.sweep(["allgather", "broadcast"], ["allgather_ring", "broadcast_chain"], SWITCH, "1MiB")
    with pytest.raises(cs.CollsimError, match="rows of allgather, broadcast"):
        plots.winner_map(table)
