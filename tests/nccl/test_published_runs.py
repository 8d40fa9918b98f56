"""Published runs: facts with a source, on machines that the model can build; and runs of one's own."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import collsim as cs
from collsim.errors import CollsimError
from collsim.nccl import (
    compare_published_runs,
    compare_ring_and_tree,
    compare_run,
    create_run,
    get_published_run,
    load_published_runs,
    predict_choices,
)
from collsim.nccl.model.links import MEASURED
from collsim.nccl.nccl_prediction import BUSBW

RUNS = load_published_runs()


def test_some_twenty_runs_over_the_kinds_of_machine():
    assert 20 <= len(RUNS) <= 30
    assert {r.facts.wiring for r in RUNS.values()} >= {
        "nvswitch",
        "mesh",
        "cube",
        "bridge",
        "pcie",
        "host",
        "xgmi",
        "none",
    }
    assert {r.facts.net for r in RUNS.values()} >= {"ib", "roce", "efa", "slingshot", "tcp", "tcpxo", "none"}


@pytest.mark.parametrize("name", RUNS)
def test_every_run_has_a_source_titles_in_both_languages_and_rising_sizes(name):
    run = RUNS[name]
    assert run.source.startswith("https://")
    assert run.year >= 2018
    assert all(run.title)
    assert list(run.nbytes) == sorted(set(run.nbytes))
    assert len(run.nbytes) >= 4


@pytest.mark.parametrize("name", RUNS)
def test_no_published_figure_is_faster_than_the_wire(name):
    run = RUNS[name]
    if (
        run.facts.nodes == 1 and run.facts.wiring != "host"
    ):  # over two nodes tree and NVLS beat the wire's busbw; NVLS beats a link's
        rate = max(BUSBW[run.collective](run.facts.ranks) * n / t for n, t in zip(run.nbytes, run.times, strict=True))
        assert rate < 1.1 * run.facts.link_rate


def test_titles_and_names_are_distinguished():
    assert len({r.title[0] for r in RUNS.values()}) == len({r.title[1] for r in RUNS.values()}) == len(RUNS)


def test_the_file_is_part_of_the_package_and_holds_no_more_than_it_needs():
    text = files("collsim.nccl.measured").joinpath("published_runs.json").read_text(encoding="utf-8")
    assert len(text) < 30_000
    assert set(json.loads(text)) == {"about", "runs"}
    assert Path(str(files("collsim.nccl.measured").joinpath("published_runs.json"))).parent.name == "measured"


def test_busbw_and_ratio_are_those_of_nccl_tests():
    run = get_published_run("a100-8")
    table = compare_run(run)
    last = table.iloc[-1]
    assert last["busbw"] == pytest.approx(2 * 7 / 8 * run.nbytes[-1] / run.times[-1])
    assert last["ratio"] == pytest.approx(last["predicted"] / last["time"])
    assert last["predicted_busbw"] == pytest.approx(last["busbw"] / last["ratio"])


def test_the_model_does_on_these_runs_what_the_accuracy_page_says():
    table = compare_published_runs()
    large = table[table["nbytes"] >= 2**24]
    errors = (large["ratio"] - 1).abs().groupby(large["run"]).median()
    assert errors.median() < 0.12
    assert np.isfinite(table["predicted"]).all()


def test_an_unknown_run_gets_the_nearest_name():
    with pytest.raises(CollsimError, match="did you mean 'h100-8-nvls'"):
        get_published_run("h100-8-nvl")


def test_a_run_of_ones_own_sorts_sizes_takes_medians_and_drops_empty_rows():
    run = create_run("all_reduce_perf", cs.machine("dgx-a100"), [1024, 0, 8, 1024, 1024], [3.0, 1.0, 1.0, 5.0, 4.0])
    assert (run.nbytes, run.times) == ((8, 1024), (1.0, 4.0))
    assert run.collective == "allreduce"
    with pytest.raises(CollsimError, match="no row has a positive size and time"):
        create_run("allreduce", cs.machine("dgx-a100"), [0], [1.0])


def test_tree_gives_way_to_ring_where_the_tuner_says_so_and_later_with_more_nodes():
    machine = cs.machine("dgx-a100", nodes=2)
    turns = [compare_ring_and_tree(machine, nodes=n).tuner_crossing for n in (2, 4, 16)]
    assert turns == sorted(turns)
    crossing = compare_ring_and_tree(machine, nodes=16)
    before = crossing.table[crossing.table["nbytes"] < crossing.crossing]
    after = crossing.table[crossing.table["nbytes"] > crossing.crossing]
    assert (before["tree"] < before["ring"]).all()
    assert (after["tree"] > after["ring"]).all()


def test_inside_one_node_ring_and_tree_do_not_cross_late():
    found = compare_ring_and_tree(cs.machine("dgx-a100"))
    assert found.crossing is None or found.crossing < 2**21  # where LL gives way, the two are within some percent
    last = found.table.iloc[-1]
    assert last["ring"] < last["tree"]  # no crossing means that the ring is ahead everywhere


def test_choices_have_a_row_per_size_and_nodes_and_say_what_predict_says():
    machine = cs.machine("dgx-h100", nodes=2)
    table = predict_choices("allreduce", machine, ["1KiB", "1GiB"], [1, 2, 4])
    assert list(table["ranks"]) == [8, 8, 16, 16, 32, 32]
    two = cs.nccl.predict("allreduce", machine, "1GiB")
    row = table[(table["nodes"] == 2) & (table["nbytes"] == 2**30)].iloc[0]
    assert (row["algorithm"], row["time"]) == (two.algorithm, pytest.approx(two.time))


def test_choices_and_crossings_of_a_calibrated_machine_are_of_what_was_measured():
    """A log half as slow again at all sizes: the row of the machine itself is what predict says of it, and others say
    what is guessed."""
    machine = cs.machine("dgx-a100", nodes=2)
    sizes = [2**k for k in range(3, 31, 3)]
    times = [1.5 * cs.nccl.predict("allreduce", machine, n).time for n in sizes]
    known = cs.analysis.calibrate(pd.DataFrame({"collective": "allreduce", "nbytes": sizes, "time": times}), machine)
    table = predict_choices("allreduce", known.machine, ["1GiB"], [2, 4]).set_index("nodes")
    said = cs.nccl.predict("allreduce", known.machine, "1GiB")
    assert (table.time[2], table.notes[2]) == (said.time, said.notes) == (pytest.approx(times[-1], rel=0.05), ())
    assert any("nodes is 4 here, and was 2" in note for note in table.notes[4])
    assert table.time[4] > 1.3 * predict_choices("allreduce", machine, ["1GiB"], [4]).time[0]
    assert list(predict_choices("allreduce", known.machine, ["1GiB"], [2], links=MEASURED).time) == list(
        predict_choices("allreduce", machine, ["1GiB"], [2]).time
    )
    crossing = compare_ring_and_tree(known.machine, ["1MiB", "1GiB"])
    assert list(crossing.table.ring) == [
        cs.nccl.predict("allreduce", known.machine, n, NCCL_ALGO="Ring").time for n in ("1MiB", "1GiB")
    ]
    assert any("NCCL_ALGO is Ring here" in note for note in crossing.notes)


def test_a_machine_without_a_network_cannot_grow():
    with pytest.raises(CollsimError, match="says nothing of a network"):
        predict_choices("allreduce", cs.machine("dgx-h100"), ["1KiB"], [1, 2])
    with pytest.raises(CollsimError, match="at least one size"):
        predict_choices("allreduce", cs.machine("dgx-h100"), [], [1])
