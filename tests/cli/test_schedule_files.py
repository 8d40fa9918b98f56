"""`run`, `compare`, `show` and `verify` take schedule files; the collective is an argument; each command has -h and -o."""

import json

import pytest
from sampling import sample
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.cli.shell import COMMANDS

RING = ["--topology", "ring(4)"]


def collsim(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def answer(*words):
    done = collsim(*words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(params=["mine.json", "mine.xml", "mine.csv"])
def file(tmp_path, request):
    path = tmp_path / request.param
    cs.save(cs.schedule("allreduce_tree", ranks=4), path)
    return path


def test_run_times_the_schedule_of_a_file(file):
    trace = cs.simulate(cs.load(file), cs.topology.ring(4), "1MiB")
    assert answer("run", file, *RING, "--nbytes", "1MiB")["time"] == trace.time
    assert answer("run", file)["ranks"] == 4, "without a place it runs on a switch of its ranks"


def test_compare_puts_the_schedule_of_a_file_among_the_algorithms(file):
    for words in (("allreduce", file), (file,), ("--algorithm", file, "--algorithm", "allreduce_ring")):
        rows = {row["algorithm"]: row for row in answer("compare", *words, *RING, "--nbytes", "1MiB")}
        assert rows[file.name]["error"] is None
        assert rows[file.name]["time"] > rows["allreduce_ring"]["time"]
    assert len(rows) == 2


def test_show_prints_the_schedule_of_a_file_and_verify_checks_it(file, tmp_path):
    assert "4 steps" in collsim("show", file).stdout
    assert answer("verify", file) == {"algorithm": str(file), "checked": [4], "left_out": [], "failed": {}}
    with cs.registered():
        wrong = cs.algorithm("allreduce", name="cheat")(lambda n: cs.copy(0, 1, chunk=0))
    cs.save(wrong(4), tmp_path / "cheat.json")
    done = collsim("verify", tmp_path / "cheat.json")
    assert (done.exit_code, "allreduce wants" in done.stdout) == (1, True)


def test_a_file_without_transfers_is_a_schedule_too(tmp_path):
    cs.save(cs.schedule("allreduce_ring", ranks=1), tmp_path / "one.json")
    assert "0 transfers" in collsim("show", tmp_path / "one.json").stdout
    assert answer("verify", tmp_path / "one.json")["checked"] == [1]


def test_a_wrong_file_is_neither_run_nor_ranked(tmp_path):
    with cs.registered():
        wrong = cs.algorithm("allreduce", name="cheat")(lambda n: cs.copy(0, 1, chunk=0))
    cs.save(wrong(4), tmp_path / "cheat.json")
    done = collsim("run", tmp_path / "cheat.json", *RING)
    assert (done.exit_code, "allreduce wants" in done.stderr) == (2, True)
    rows = answer("compare", tmp_path / "cheat.json", *RING, "--nbytes", "1MiB")
    assert "allreduce wants" in next(row["error"] for row in rows if row["algorithm"] == "cheat.json")
    assert rows[0]["algorithm"] != "cheat.json"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run", "FILE", "--channels", "2"), "has no options; leave out --channels"),
        (("run", "FILE", "--ranks", "8"), "has 4 ranks; leave out --ranks 8"),
        (("run", "nothing.json"), "nothing.json"),
        (("show", "FILE", "--chunks", "2"), "has no options; leave out --chunks"),
        (("verify", "FILE", "--ranks", "2:8"), "has 4 ranks; leave out --ranks 2:8"),
        (("compare", "allgather", "FILE", *RING), "is a schedule for allreduce, not for allgather"),
        (("compare", "allgather", "--collective", "reduce", *RING), "one collective, got allgather and reduce"),
    ],
)
def test_what_does_not_fit_a_file_is_said(tmp_path, words, sentence):
    cs.save(cs.schedule("allreduce_tree", ranks=4), tmp_path / "x.json")
    done = collsim(*(tmp_path / "x.json" if word == "FILE" else word for word in words))
    assert done.exit_code == 2
    assert sentence in " ".join(done.stderr.split())


def test_a_file_for_other_ranks_is_a_row_with_its_reason(file):
    rows = answer("compare", file, "--topology", "ring(8)", "--nbytes", "1MiB")
    assert "is for 4 ranks, ring(8) has 8" in next(row["error"] for row in rows if row["algorithm"] == file.name)


def test_python_takes_schedules_where_it_takes_algorithms():
    network, tree = cs.topology.ring(4), cs.schedule("allreduce_tree", ranks=4)
    table = cs.compare("allreduce", network, "1MiB", algorithm=[tree, "allreduce_ring"])
    assert list(table["algorithm"]) == ["allreduce_ring", "allreduce_tree"]
    one, other = (cs.sweep("allreduce", [s], network, "1MiB") for s in (tree, cs.schedule("allreduce_tree", 4, root=1)))
    assert one["scenario"].item() != other["scenario"].item(), "the content is part of what a result is stored under"
    with pytest.raises(cs.CollsimError, match="has no options; leave out chunks"):
        cs.sweep("allreduce", [(tree, {"chunks": 4})], network, "1MiB")


@pytest.mark.parametrize("collective", [("allgather",), ("--collective", "allgather")])
def test_the_collective_is_an_argument_and_still_an_option(collective):
    rows = answer("compare", *collective, *RING, "--nbytes", "1MiB")
    assert {row["algorithm"].partition("_")[0] for row in rows} == {"allgather"}


@pytest.mark.parametrize("name", sample(COMMANDS, 8))
def test_every_command_explains_itself_by_h(name):
    short, long = collsim(name, "-h"), collsim(name, "--help")
    assert (short.exit_code, short.stdout) == (0, long.stdout)


def test_run_writes_to_o(tmp_path):
    assert collsim("run", "allreduce_ring", *RING, "-o", tmp_path / "x.json").exit_code == 0
    assert (tmp_path / "x.json").stat().st_size


@pytest.mark.parametrize("what", ["algorithms", "machines", "topologies", "collectives", "models", "formats"])
def test_a_list_for_machines_has_values_and_not_words_for_them(what):
    """Numbers and truth values are JSON's own, not texts such as "yes" or "1.5"."""
    texts = {value for row in answer("list", what) for value in row.values() if isinstance(value, str)}
    assert not {"yes", "no", "True", "False"} & texts
    assert not [text for text in texts if text.replace(".", "", 1).isdigit()]
