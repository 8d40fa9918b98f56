"""Tables on a terminal: names and figures stay whole, however narrow it is."""

import re
import sys

import pytest
from typer.testing import CliRunner

from collsim.cli import app
from collsim.cli.nccl import merge_notes
from collsim.cli.output import show

ESCAPE = re.compile(r"\x1b\[[\d;]*m")
NAMES = ["allreduce_hierarchical_parameter_server", "allreduce_ring"]
ROWS = [{"algorithm": name} | {f"{n} KiB": f"{n}.5 µs (8 × 16)" for n in range(1, 12)} for name in NAMES]


@pytest.fixture
def shown(capsys, monkeypatch):
    """What a terminal of so many columns shows; None: not a terminal."""

    def shown(rows, width):
        monkeypatch.setenv("COLUMNS", str(width or 80))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: width is not None, raising=False)
        show(rows, "a title")
        return [line.rstrip() for line in ESCAPE.sub("", capsys.readouterr().out).splitlines()]

    return shown


@pytest.mark.parametrize("width", [60, 80, 120])
def test_columns_that_do_not_fit_follow_below_with_the_first_one_and_no_name_or_figure_is_broken(shown, width):
    lines = shown(ROWS, width)
    assert max(map(len, lines)) <= width
    for row in ROWS:
        name, *figures = row.values()
        assert re.findall(r"\S+ µs \(8 × 16\)", " ".join(line for line in lines if line.startswith(name))) == figures
    assert sum(line.startswith("algorithm") for line in lines) == lines.count("") + 1 > 1
    assert lines.count("a title") == 1


def test_a_row_is_one_line_where_nobody_looks_on(shown):
    _, *lines = shown(ROWS, None)
    assert [line.split()[0] for line in lines] == ["algorithm", *NAMES]
    assert all(figure in line for row, line in zip(ROWS, lines[1:], strict=True) for figure in row.values())


def test_only_sentences_are_broken_and_only_between_words(shown):
    said = "the bytes are fewer than with a ring and the steps are more than with a tree of the same ranks"
    lines = shown([{"name": "a", "why": said}, {"name": "b", "why": "short"}], 60)
    assert " ".join(" ".join(lines[2:-1]).split()) == f"a {said}"
    assert len(lines) == 5
    assert all(one in said.split() for line in lines[2:4] for one in line.split()[1:])


def test_notes_that_differ_in_their_numbers_are_printed_once():
    notes = [("1 KiB", "2.30 is assumed"), ("1 KiB", "0.70 to 1.31"), ("4 KiB", "2.30 is assumed")]
    notes += [("4 KiB", "0.71 to 1.30"), ("16 KiB", "0.80 to 1.20"), ("16 KiB", "38 µs"), ("1 MiB", "1.22 ms")]
    assert merge_notes(notes) == [
        "2.30 is assumed",
        "0.70 to 1.31 [1 KiB; 2 other sizes with other numbers]",
        "38 µs [16 KiB; 1 other size with other numbers]",
    ]
    done = CliRunner().invoke(app, ["predict", "allreduce", "--machine", "dgx-h100", "--nodes", "2"])
    assert done.stderr.count("launch mode not stated") == 1
    assert len(done.stderr.splitlines()) < 11
