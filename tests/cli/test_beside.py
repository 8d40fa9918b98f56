"""`collsim run --beside`: which ranks a companion gets, what all of them are said to cost, and what is refused."""

import json

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app, runs
from collsim.simulate import expected_cost

BASE = ["run", "allreduce_ring", "--topology", "switch(8)", "--engine", "event"]


def run_command(*words):
    return CliRunner().invoke(app, [*BASE, *words])


def rows(*words):
    done = run_command(*words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["collectives"]


def test_a_companion_without_ranks_has_those_of_the_run():
    beside = "--ranks", "4", "--beside", "allreduce_ring", "--beside", "allreduce_recursive_doubling"
    assert [row["ranks"] for row in rows(*beside)] == [4, 4, 4]
    assert [row["ranks"] for row in rows("--beside", "allreduce_recursive_doubling")] == [8, 8]
    assert [row["ranks"] for row in rows("--beside", "allreduce_ring@0-2,5", "--beside", "allreduce_ring@7,6")] == [
        8,
        4,
        2,
    ]


@pytest.mark.parametrize(
    "listed", ["²", "0-²", "", "1-", "-1", "x", "3-1", "8", "0-99999999999", "0-" + "9" * 5000, "0,,1"]
)
def test_what_is_no_rank_is_refused_before_it_is_counted_out(listed):
    done = run_command("--beside", f"allreduce_ring@{listed}")
    assert done.exit_code == 2, done.output
    assert "switch(8) has ranks 0 to 7" in done.output
    assert "algorithm@0-7 or algorithm@0,8" in done.output


def test_the_cost_that_is_said_is_that_of_all_at_once_and_then_of_each_alone(monkeypatch):
    said = []
    monkeypatch.setattr(runs, "_print_cost", lambda *costs: said.append(costs))
    rows("--beside", "allreduce_ring@0-3")
    s, four, topo = cs.schedule("allreduce_ring", 8), cs.schedule("allreduce_ring", 4), cs.topology.switch(8)
    every, *alone = said[0]
    assert every == expected_cost([s, four], topo, "64MiB")
    assert alone == [expected_cost(one, topo, "64MiB", engine="event") for one in (s, four)]
    monkeypatch.undo()
    monkeypatch.setattr(runs, "_LONG", 0.0)
    assert f"{len(s) + len(four)} transfers; up to about" in run_command("--beside", "allreduce_ring@0-3").output
