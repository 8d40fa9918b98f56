"""Warnings of the package go to the caller who collects them, and to nobody else's threads."""

import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

import collsim as cs
from collsim.errors.collected_warnings import collect_warnings, warn

PACKAGE = Path(cs.__file__).parent
#: A file that names no GPU, so that one is assumed.
MATRIX = "\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n"


def test_a_warning_stands_at_the_line_outside_of_the_package():
    with pytest.warns(cs.topology.FormatWarning) as caught:
        cs.topology.parse_topology_text(MATRIX, "m.txt")
    assert {note.filename for note in caught} == {__file__}


def test_collected_warnings_are_shown_to_nobody(recwarn):
    with collect_warnings() as outer:
        warn("one")
        with collect_warnings() as inner:
            cs.topology.parse_topology_text(MATRIX, "m.txt")
    assert outer == ["one"]
    assert inner
    assert all(message.startswith("m.txt: ") for message in inner)
    assert not recwarn.list


def test_two_threads_that_collect_leave_warnings_as_they_were():
    """One begins inside the other and ends after it: the filters of the process would stay changed."""
    begun, ended = threading.Event(), threading.Event()
    before = list(warnings.filters)
    messages = {}

    def run_longer():
        assert begun.wait(60)
        with collect_warnings() as messages["second"]:
            begun_second.set()
            assert ended.wait(60)
            warn("of the second")

    begun_second = threading.Event()
    thread = threading.Thread(target=run_longer)
    thread.start()
    with collect_warnings() as messages["first"]:
        begun.set()
        assert begun_second.wait(60)
        warn("of the first")
    ended.set()
    thread.join()
    assert messages == {"first": ["of the first"], "second": ["of the second"]}
    assert warnings.filters == before


def test_the_package_changes_the_filters_of_no_other_thread():
    """`warnings.catch_warnings` is for the whole process, and the app runs its sessions in threads."""
    change = re.compile(r"\b(catch_warnings|simplefilter|resetwarnings|warnings\.warn)\(")
    files = {path for path in PACKAGE.rglob("*.py") if change.search(path.read_text(encoding="utf-8"))}
    # Languages are listed when the package is imported, below `collsim.errors` and before anybody collects.
    assert files == {PACKAGE / "errors" / "collected_warnings.py", PACKAGE / "locale" / "__init__.py"}


def test_what_python_warns_of_in_a_pasted_source_is_not_shown():
    code = "from collsim.rank_engine.pasted_source import is_python; print(is_python('a = \"\\\\d\"'))"
    done = subprocess.run([sys.executable, "-W", "default", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("True", "")
    assert subprocess.run(
        [sys.executable, "-W", "default", "-c", "import ast; ast.parse(\"a = '\\\\d'\")"],
        capture_output=True,
        check=True,
    ).stderr
