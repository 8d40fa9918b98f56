"""Files of ours: no cell of a table is a formula, whatever reads it, and what cannot be written is said at once."""

import ast
import csv
import io
import json
import os
import random
import threading
from collections import defaultdict
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

import collsim as cs
from collsim import files
from collsim.files import (
    format_csv,
    guard_cell,
    guard_json,
    read_text,
    replace_file,
    require_writable_file,
    unguard_cell,
    write_text,
)

PACKAGE = Path(cs.__file__).parent
SEPARATORS = (",", ";", "\t", "|")
MARKS = "=+-@＝＋－＠﹦﹢﹣﹫"
BLANKS = " \N{NO-BREAK SPACE}\N{IDEOGRAPHIC SPACE}\N{ZERO WIDTH SPACE}\N{ZERO WIDTH NO-BREAK SPACE}\"'`\0"


def cells(text):
    """All cells that a spreadsheet may find in a CSV, whichever separator it takes and whether or not it knows quotes."""
    for separator in SEPARATORS:
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting):
                yield from row


def formulas(text):
    """Cells that a spreadsheet would calculate: no number, and a mark before any letter."""
    return [cell for cell in cells(text) if cell.lstrip(BLANKS.replace("'", ""))[:1] in set(MARKS) and not number(cell)]


def number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@x",
    "\tx",
    "\rx",
    "eve;=1+1;.py",
    "eve; =1+1;.py",
    "a\t=1",
    "a,=1",
    "a|@x",
    "two\n=lines",
    "two\r\n=lines",
    'x"; "=1',
    '"=1',
    "  =1",
    "\N{NO-BREAK SPACE}=1",
    "\N{ZERO WIDTH NO-BREAK SPACE}=1",
    *(f"{mark}HYPERLINK(1)" for mark in MARKS),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_part_of_a_cell_is_a_formula_whatever_separator_is_taken(text):
    written = format_csv(pd.DataFrame({text: [text, "plain", "it's"], "n": [-1.5, 2, 3]}))
    assert formulas(written) == []
    harmless = number(text) or text[0] in "\t\r"
    assert harmless or formulas(pd.DataFrame({"a": [text]}).to_csv(index=False)), "the test finds it unguarded"
    assert unguard_cell(guard_cell(text)) == text
    if "\r" not in text:  # the csv module of Python before 3.13 leaves it without quotes
        back = pd.read_csv(io.StringIO(written, newline=""), keep_default_na=False)
        assert unguard_cell(back.columns[0]) == text
        assert list(map(unguard_cell, back.iloc[:, 0])) == [text, "plain", "it's"]
        assert list(back["n"]) == [-1.5, 2, 3], "numbers stay numbers"


def test_random_texts_are_no_formulas_and_come_back():
    rng = random.Random(1)
    alphabet = MARKS + BLANKS + ",;|\t\n\r\v\f\x85\N{LINE SEPARATOR}" + "ab1("
    texts = ["".join(rng.choices(alphabet, k=rng.randrange(1, 8))) for _ in range(20_000)]
    assert [text for text in texts if unguard_cell(guard_cell(text)) != text] == []
    assert formulas(format_csv(pd.DataFrame({"a": texts, "b": texts[::-1]}))) == []


def test_what_is_no_text_stays_and_what_only_prints_as_a_text_is_guarded():
    class Shy:
        def __str__(self):
            return "=1"

    frame = pd.DataFrame({"a": [1, None, Shy()], "b": [True, False, pd.NA]}, dtype=object)
    assert format_csv(frame) == "a,b\n1,True\n,False\n'=1,\n"
    assert guard_cell("a - b, 3 = 4") == "a - b, 3 = 4"


def test_json_in_a_table_says_the_same_and_has_no_formula():
    rng = random.Random(2)
    alphabet = MARKS + "\"\\',; a\t\n1"

    def value(depth):
        kind = rng.random() if depth else 0
        if kind < 0.6:
            return "".join(rng.choices(alphabet, k=rng.randrange(6)))
        return rng.choice([1, 1e-5, None, True, [value(depth - 1), 2], {value(0): value(depth - 1), "n": 3}])

    for _ in range(5_000):
        plain = {"name": value(2), "more": value(2)}
        guarded = guard_json(json.dumps(plain))
        assert json.loads(guarded) == plain
        assert formulas(f"# {guarded}\nstep,src\n") == []


def test_a_schedule_with_a_strangers_name_opens_as_no_formula_and_is_read_back(tmp_path):
    @cs.algorithm("allreduce", name="eve;=1+1;")
    def eve(n):
        yield [cs.reduce(0, 1, chunk=0)]
        yield [cs.copy(1, 0, chunk=0)]

    plan = cs.schedule(eve, ranks=2)
    path = tmp_path / "x.csv"
    cs.save(plan, path)
    assert ";=1" not in path.read_text()
    assert formulas(path.read_text()) == []
    assert cs.load(path).name == "eve;=1+1;"


@cache
def callers():
    """By the name of a function or method that writes a table, the modules that call one of this name."""
    modules = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in ("to_csv", "writerow", "dataframe")):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                modules[name].add(path.relative_to(PACKAGE).as_posix())
    return modules


def test_every_table_goes_through_the_guard():
    assert callers()["to_csv"] == {"files.py"}
    assert callers()["writerow"] | callers()["writerows"] == {"train/measured_steps.py"}, (
        "it guards cells that are no numbers"
    )
    assert callers()["dataframe"] == {"app/shell/charts.py"}, "the menu of a table on a page downloads it, too"


@pytest.mark.parametrize("name", ["folder", "none/x.csv", "x" * 300 + ".csv"])
def test_a_file_that_cannot_be_written_is_said_before_there_is_anything_to_write(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(cs.FormatError) as refused:
        require_writable_file(tmp_path / name)
    assert str(tmp_path / name) in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"], "no temporary file stays"


def test_a_folder_that_is_read_only_is_said_before_there_is_anything_to_write():
    with pytest.raises(cs.FormatError, match=r"cannot write '/proc/x\.csv': "):
        require_writable_file(Path("/proc/x.csv"))


def test_a_full_disk_is_said_of_the_file_that_was_asked_for(tmp_path):
    def fill_disk(path):
        with replace_file(path) as temporary:
            temporary.write_text("half")
            raise OSError(28, "No space left on device")

    target = tmp_path / "x.csv"
    target.write_text("before")
    with pytest.raises(cs.FormatError) as refused:
        fill_disk(target)
    assert str(refused.value) == f"cannot write {str(target)!r}: No space left on device"
    assert target.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_and_one_that_nobody_writes_to_is_refused(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("a\n" * 100_000,))
    writer.start()
    assert read_text(pipe) == "a\n" * 100_000
    writer.join()
    monkeypatch.setattr(files, "_PIPE_PATIENCE", 0.1)
    with pytest.raises(cs.FormatError, match="is a pipe, and nothing came through it"):
        cs.diagnose(pipe)


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_a_file_that_is_written_again_keeps_its_permissions(tmp_path):
    target = tmp_path / "x.csv"
    write_text(target, "before")
    assert target.stat().st_mode & 0o777 == files._find_mode(tmp_path / "new")
    target.chmod(0o640)
    write_text(target, "after")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("after", 0o640)
    with replace_file(target, is_private=True) as fresh:
        fresh.write_text("mine")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("mine", 0o600)
