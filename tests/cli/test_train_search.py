"""`collsim train-search` and `collsim train-accuracy`: the words of the API."""

import csv
import json

import pytest
from typer.testing import CliRunner

from collsim.cli import app

SEARCH = ["train-search", "gpt2", "--machine", "dgx-a100", "--batch", "32", "--top", "2"]


def test_the_best_splits_as_rows_and_as_a_table(tmp_path):
    out = tmp_path / "all.csv"
    done = CliRunner().invoke(app, [*SEARCH, "-o", str(out), "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    assert len(rows) == 2
    assert rows[0]["reason"] == "the fastest that fits"
    with out.open(newline="") as file:
        every = list(csv.DictReader(file))
    assert len(every) > 20
    assert every[0]["parallel"] == rows[0]["parallel"]
    shown = CliRunner().invoke(app, SEARCH)
    assert rows[0]["parallel"].split(" ")[0] in shown.output


@pytest.mark.slow
def test_none_at_the_top_is_all_of_them():
    done = CliRunner().invoke(app, [*SEARCH[:-1], "0", "--json"])
    rows = json.loads(done.stdout)
    assert (done.exit_code, len(rows) > 20, all(row["timed"] for row in rows)) == (0, True, True)


def test_fewer_than_none_at_the_top_is_a_sentence():
    done = CliRunner().invoke(app, [*SEARCH[:-1], "-1"])
    assert (done.exit_code, "top=-1 is too small" in done.output) == (2, True)


def test_what_fits_nowhere_is_a_sentence():
    done = CliRunner().invoke(app, [*SEARCH, "--memory", "10MB"])
    assert done.exit_code == 2
    assert "needs least" in done.output


def test_a_table_that_is_none_is_a_sentence(tmp_path):
    table = tmp_path / "x.csv"
    table.write_text("a,b\n1,2\n")
    done = CliRunner().invoke(app, ["train-accuracy", str(table), "-o", str(tmp_path / "y.csv")])
    assert done.exit_code == 2
    assert "has no column" in done.output
