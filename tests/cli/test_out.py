"""`--out` of every command: a file that cannot be written is refused before anything is computed for it."""

import csv
import json

import every_command
import pytest
import typer
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app

GROUP = typer.main.get_command(app)
COMMANDS = {name: GROUP.get_command(None, name) for name in GROUP.list_commands(None)}
WRITERS = {name: one for name, one in COMMANDS.items() if any(parameter.name == "out" for parameter in one.params)}


def test_every_command_that_ends_writes_its_answer():
    assert set(COMMANDS) - set(WRITERS) == every_command.SERVE


@pytest.mark.slow
def test_every_command_explains_itself():
    for name, one in COMMANDS.items():
        options = [parameter for parameter in one.params if parameter.name == "out"]
        assert all("-o" in parameter.opts and "--out" in parameter.opts for parameter in options), name
        done = CliRunner().invoke(app, [name, "-h"])
        assert done.exit_code == 0, name
        assert "Usage" in done.output


def test_the_collective_is_an_argument_everywhere():
    for name, one in COMMANDS.items():
        if name in ("calibrate", "program"):  # their subject is a file, of which --collective says what it is for
            continue
        of_collective = [p for p in one.params if p.name == "collective" or "COLLECTIVE" in (p.metavar or "")]
        if of_collective:
            assert any(p.param_type_name == "argument" for p in of_collective), name


@pytest.mark.parametrize("name", ["list", "verify", "compare", "predict", "train-pipeline"])
def test_a_table_is_written_as_it_is_printed_for_machines(name, tmp_path):
    words = [name, *every_command.COMMANDS[name]]
    files = {suffix: tmp_path / f"x{suffix}" for suffix in (".json", ".csv", ".md", ".tex")}
    for file in files.values():
        done = CliRunner().invoke(app, [*words, "--json", "-o", str(file)])
        assert done.exit_code == 0, done.output
    rows = json.loads(files[".json"].read_text())
    printed = json.loads(done.stdout)
    if name == "predict":  # notes and assumptions of a size are lists, which a table has not
        assert all(row.pop("notes") for row in printed)
        assert [row.pop("assumptions") for row in printed] == [[]]  # large, on a machine that is known
    assert rows == printed if name != "verify" else [row["ranks"] for row in rows] == printed["checked"]
    with files[".csv"].open(newline="") as lines:
        table = list(csv.DictReader(lines))
    assert len(table) == len(rows)
    assert list(table[0]) == list(rows[0])
    first = next(key for key, value in rows[0].items() if value is not None)
    assert [line[first] for line in table] == [str(row[first]) for row in rows]
    assert files[".md"].read_text().count("\n") == len(rows) + 2
    assert "\\toprule" in files[".tex"].read_text()


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["show", "allreduce_ring", "--ranks", "3"], "x.xml"),
        (["convert", str(every_command.ROOT / "examples" / "algorithm.xml")], "x.json"),
        (["worksheet", "--topology", "ring(4)", "--count", "2"], "x.md"),
        (["plan-schema"], "x.json"),
    ],
)
def test_a_file_is_named_by_the_option_too(words, file, tmp_path):
    done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / file)])
    assert done.exit_code == 0, done.output
    assert (tmp_path / file).stat().st_size > 100
    if words[0] == "show":
        assert cs.load(tmp_path / file).ranks == 3


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["list", "-o", "x.doc"], "a table goes to a file ending in .csv, .json, .md, .tex"),
        (["worksheet", "--topology", "ring(4)"], "say where to write: collsim worksheet sheet.md"),
        (["slides", "a.html", "-o", "b.html"], "give a.html or -o b.html, not both"),
        (["show", "allreduce_ring", "-o", "x.doc"], "no format writes a schedule to 'x.doc'"),
    ],
)
def test_a_file_that_no_command_can_write_is_answered(words, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert text in " ".join(done.output.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(name):
    words = []
    for parameter in WRITERS[name].params:
        if parameter.name == "out":
            words += ["/proc/x.csv"] if parameter.param_type_name == "argument" else ["--out", "/proc/x.csv"]
        elif parameter.required:
            words += ["4"] if parameter.param_type_name == "argument" else [parameter.opts[0], "4"]
    done = CliRunner().invoke(app, [name, *words])
    assert done.exit_code == 2, done.output
    assert "cannot write '/proc/x.csv'" in done.output


def test_the_json_of_predict_holds_what_was_assumed_and_prints_nothing_beside_it():
    done = CliRunner().invoke(app, ["predict", "allreduce", "--machine", "dgx-h100", "--nbytes", "1KiB", "--json"])
    (row,) = json.loads(done.stdout)
    assert any("launch mode not stated" in each for each in row["assumptions"])
    assert (any("version" in each for each in row["notes"]), done.stderr) == (True, "")


def test_predict_says_that_a_larger_call_takes_less_time():
    words = ["predict", "broadcast", "--machine", "dgx-h100", "--nodes", "4", "--nbytes"]
    done = CliRunner().invoke(app, [*words, "1MiB:2MiB:2"])
    assert done.exit_code == 0, done.output
    assert done.stderr.count("a call of 1.5 MiB takes less time") == 1
    rows = json.loads(CliRunner().invoke(app, [*words, "1MiB:2MiB:2", "--json"]).stdout)
    assert [any("takes less time" in each for each in row["notes"]) for row in rows] == [True, False]
    assert rows[1]["time"] < rows[0]["time"]
