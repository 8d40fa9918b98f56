"""`--synthesize`: the schedule that closes the gap, from the commands that show one."""

import json

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.sweep import close_gap

MESH = ["--topology", "fully_connected(4, bandwidth=25GB/s, alpha=0s)", "--no-progress"]


def run_command(*words):
    return CliRunner().invoke(app, [*words, *MESH])


def test_run_shows_the_schedule_that_gets_there_and_where_the_gain_comes_from(tmp_path):
    out = tmp_path / "found.json"
    done = run_command("run", "allgather_ring", "--nbytes", "4MB", "--synthesize", "--out", str(out))
    assert done.exit_code == 0, done.output
    assert "this run takes 3 times as long" in done.stdout  # three steps of 40 us; the bound is 40 us
    assert "ring takes 120 µs, 3 times as long" in done.stdout
    assert "uses 1 of the 3 links of the narrowest cut, not 3" in done.stdout
    assert "synthesized_allgather" in out.read_text(encoding="utf-8")


def test_the_schedule_goes_home_as_a_program_of_msccl(tmp_path):
    out = tmp_path / "found.xml"
    done = run_command("run", "allgather_ring", "--nbytes", "4MB", "--synthesize", "--out", str(out))
    assert done.exit_code == 0, done.output
    cs.verify(cs.io.read_msccl(out))


def test_run_says_it_to_machines():
    done = run_command("run", "allgather_ring", "--nbytes", "4MB", "--synthesize", "--json")
    found = json.loads(done.stdout)["synthesis"]
    assert found["runs"][0]["run"] == "synthesized"
    assert found["runs"][0]["time"] == pytest.approx(40e-6)
    assert any("Where the gain" in sentence for sentence in found["sentences"])


def test_compare_lists_it_and_says_the_sentence_of_the_largest_size():
    done = run_command(
        "compare",
        "--collective",
        "allgather",
        "--nbytes",
        "4KB:4MB:1000",
        "--synthesize",
        "--algorithm",
        "allgather_ring",
    )
    assert done.exit_code == 0, done.output
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("synthesized ") and "*" in line]
    assert "40 µs*" in row
    assert "uses 1 of the 3 links of the narrowest cut" in done.stdout


def test_compare_says_it_to_machines_too():
    words = ["--collective", "allgather", "--algorithm", "allgather_ring", "--nbytes", "4KB:4MB:1000", "--json"]
    found = json.loads(run_command("compare", *words, "--synthesize").stdout)
    assert {row["algorithm"] for row in found["rows"]} == {"allgather_ring", "synthesized"}
    assert (
        found["synthesis"]
        == json.loads(run_command("run", "allgather_ring", "--nbytes", "4MB", "--synthesize", "--json").stdout)[
            "synthesis"
        ]
    )


def test_compare_without_it_does_not_search():
    rows = json.loads(run_command("compare", "--collective", "allgather", "--nbytes", "4MB", "--json").stdout)
    assert "synthesized" not in {row["algorithm"] for row in rows}


def test_a_place_that_cannot_be_written_is_said_before_anything_is_looked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(cs.Trace, "close_gap", None)
    done = run_command(
        "run", "allgather_ring", "--nbytes", "4MB", "--synthesize", "--out", str(tmp_path / "no" / "x.xml")
    )
    assert done.exit_code == 2
    assert "there is no folder" in done.output


@pytest.mark.parametrize(
    "words",
    [
        ["run", "allgather_ring", "--nbytes", "4MB", "--synthesize", "--out"],
        ["run", "allgather_ring", "--nbytes", "4MB", "--out"],
        ["synthesize", "allgather", "-o"],
    ],
)
def test_a_suffix_that_nothing_writes_is_said_before_anything_is_run(words, tmp_path, monkeypatch):
    for name in ("simulate", "synthesize"):
        monkeypatch.setattr(cs, name, lambda *a, **o: pytest.fail("it ran"))
    done = run_command(*words, str(tmp_path / "x.foo"))
    assert done.exit_code == 2, done.output
    assert "no format writes a" in done.output
    assert not list(tmp_path.iterdir())


H100 = ["--machine", "dgx-h100", "--no-progress", "--json"]


@pytest.mark.slow
def test_without_switches_that_reduce_at_every_command():
    """Eight H100: with NVLS 256 MiB take 0.745 ms, without at least 2 * 7/8 of them at 450 GB/s, 1.04 ms."""
    most = 2 * 7 / 8 * 2**28 / 450e9

    def run_json(*words):
        return json.loads(CliRunner().invoke(app, [*words, *H100]).stdout)

    asked = {
        "synthesize": lambda *more: run_json("synthesize", "allreduce", "--objective", "256MiB", *more)["time"],
        "run": lambda *more: next(
            run["time"]
            for run in run_json("run", "allreduce_ring", "--nbytes", "256MiB", "--synthesize", *more)["synthesis"]["runs"]
            if run["run"] == "synthesized"
        ),
        "compare": lambda *more: next(
            row["time"]
            for row in run_json(
                "compare", "--nbytes", "256MiB", "--algorithm", "allreduce_ring", "--engine", "event", "--synthesize",
                *more,
            )["rows"]
            if row["algorithm"] == "synthesized"
        ),
    }  # fmt: skip
    for name, time in asked.items():
        assert time() < 0.75 * most, name
        assert most <= time("--no-switches") < 1.05 * most, name


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "sendrecv_direct", "--synthesize"], "sendrecv cannot be synthesized"),
        (["run", "allreduce_ring", "--synthesize", "--engine", "event", "--beside", "allreduce_ring"], "one run alone"),
        (["compare", "--collective", "sendrecv", "--synthesize"], "sendrecv cannot be synthesized"),
        (["compare", "--model", "resnet50", "--synthesize"], "leave out --model"),
        (["run", "allreduce_ring", "--no-switches"], "add --synthesize"),
        (["compare", "--no-switches"], "add --synthesize"),
    ],
)
def test_what_cannot_be_synthesized_is_a_sentence(words, says):
    done = run_command(*words)
    assert done.exit_code == 2, done.output
    assert says in done.output
    assert "Traceback" not in done.output


def test_the_largest_size_is_raced_on_the_command_line_as_in_python():
    race = close_gap("allgather", cs.topology.fully_connected(4, bandwidth="25GB/s", alpha=0), "4MB")
    done = run_command("run", "allgather_ring", "--nbytes", "4MB", "--synthesize")
    for sentence in race.sentences:
        assert str(sentence) in done.stdout


@pytest.mark.parametrize("ranks", ["0,3,5", "4"])
def test_a_process_group_is_synthesized_and_timed_on_its_own_gpus(ranks):
    """GPUs 0, 3 and 5 of a DGX-1V; four of its eight: what Python finds for them."""
    words = ["synthesize", "allreduce", "--machine", "dgx-1v", "--ranks", ranks, "--json"]
    row = json.loads(CliRunner().invoke(app, words).stdout)
    group = [int(rank) for rank in ranks.split(",")] if "," in ranks else int(ranks)
    schedule = cs.synthesize("allreduce", "dgx-1v", ranks=group)
    assert row["summary"] == cs.synthesis.report(schedule).summary
    assert row["time"] == cs.simulate(schedule, "dgx-1v", 2**36, engine="event", ranks=group).time
