"""Every notebook runs from top to bottom, in this process and (slow) in Jupyter's own kernel, and three things are asked
of each run: no cell fails, each number in the prose is what the run beside it says, and nothing in it solves its
exercise."""

import sys
from pathlib import Path

import pytest
from books import CHECKED, NAMES, ROOT, cells, code, text
from in_process import MODULE, PICTURES, CellError, run_cells
from make_numbers import ran, renewed, unlike
from sampling import keep_fast
from solved import solved

from collsim.teach import exercise

HERE = Path(__file__).parent
PATHS = [str(HERE), str(HERE.parent / "teach")]


#: Processes that are measured, and runs of a thousand GPUs: each takes longer than many of the others together.
LONG = ("13-do-it-for-real.ipynb", "16-a-thousand-gpus.ipynb", "18-programs-and-hangs.ipynb")


@pytest.mark.parametrize("name", keep_fast(NAMES, [name for name in NAMES if name not in LONG]))
def test_a_notebook_runs_its_numbers_are_those_of_the_run_and_nothing_in_it_solves_its_exercise(
    name, tmp_path, monkeypatch
):
    monkeypatch.setenv("COLLSIM_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.chdir(ROOT / "zh")  # as Jupyter does
    settings = CHECKED.findall(code(name, "zh"))
    names = [exercise for exercise, _ in settings]
    numbers, namespace = run_cells(cells(name, "zh"), "globals()")
    check_numbers(name, numbers)
    assert settings
    assert namespace[PICTURES] >= 4, "each lesson has pictures"
    assert solved(namespace, names, settings) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_in_jupyters_kernel_a_notebook_has_the_same_numbers_and_solves_nothing(name, tmp_path, monkeypatch):
    monkeypatch.setenv("COLLSIM_PROGRESS", str(tmp_path / "progress.json"))
    settings = CHECKED.findall(code(name, "zh"))
    names = [exercise for exercise, _ in settings]
    numbers, solutions = ran(
        ROOT / "zh" / name,
        f"(__import__('sys').path.extend({PATHS!r}), __import__('solved').solved(globals(), {names!r}, {settings!r}))[1]",
    )
    check_numbers(name, numbers)
    assert solutions == []


def check_numbers(name, numbers):
    """The numbers in the prose of both languages are those of the run."""
    for language in ("en", "zh"):
        proses = zip(map(text, cells(name, language)), numbers, strict=True)
        assert [f"{language}: {wrong}" for prose, values in proses for wrong in unlike(prose, values)] == []
    assert sum(map(len, numbers)) >= 2, "a lesson without a number from its runs"


def build_cell(source, kind="code"):
    return {"cell_type": kind, "source": [source]}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("x = 1\nassert x == 2", "AssertionError"),
        ("class Broken:\n    def _repr_html_(self):\n        return 1 / 0\n\n\nBroken()", "ZeroDivisionError"),
        ("import matplotlib.pyplot as plt\nplt.title('$\\\\nonsense$')", "Unknown symbol"),
        ("import matplotlib.pyplot as plt\nplt.title('$\\\\nonsense$')\nplt.show()\n1", "Unknown symbol"),
    ],
)
def test_a_cell_that_fails_or_shows_what_cannot_be_drawn_is_named(source, reason):
    with pytest.raises(CellError, match=f"(?s)cell 1 fails.*{reason}"):
        run_cells([build_cell("y = 1"), build_cell(source)])
    assert MODULE not in sys.modules


def test_cells_share_one_namespace_and_marks_are_what_it_says():
    functions = "import inspect\ndef double(x):\n    return 2 * x\ndouble(3)"
    prose = build_cell("It is 6<!--= double(3) -->.", "markdown")
    numbers, source = run_cells([build_cell(functions), prose], "inspect.getsource(double)")
    assert numbers == [{}, {"double(3)": "6"}]
    assert source == "def double(x):\n    return 2 * x\n"
    with pytest.raises(CellError, match="cell 0 fails: NameError"):
        run_cells([prose])


def test_a_number_that_is_wrong_is_found_and_written_anew():
    prose, run = "It takes 4.73 ms<!--= t -->, of 1,024 B<!--= b -->.", {"t": "12.1 µs", "b": "1,024 B"}
    assert list(unlike(prose, {"t": "4.73 ms", "b": "1,024 B"})) == []
    (found,) = unlike(prose, run)
    assert "12.1 µs" in found
    assert renewed(prose, run) == "It takes 12.1 µs<!--= t -->, of 1,024 B<!--= b -->."
    with pytest.raises(ValueError, match="by hand"):
        renewed("It takes long<!--= t -->.", run)


def test_pictures_are_counted_and_tables_are_none():
    cells = [
        "import matplotlib.pyplot as plt\nimport collsim as cs\nplt.plot([1, 2])\nplt.show()",
        "cs.topology.ring(4).draw()",
        "cs.simulate(cs.schedule('allreduce_ring', ranks=4), cs.topology.ring(4), '1MiB').animate()",
        "cs.collectives()",
        "print(1)",
    ]
    _, namespace = run_cells(list(map(build_cell, cells)), "globals()")
    assert namespace[PICTURES] == 3


def test_a_solution_would_be_found():
    from solutions import ring_allreduce
    from solved import solves

    assert solves(ring_allreduce, exercise("ring-allreduce").task)
    assert not solves(lambda n: [], exercise("ring-allreduce").task)
    names = {"mine": ring_allreduce, "__name__": ring_allreduce.__module__}
    assert solved(names, ["ring-allreduce"], []) == [("ring_allreduce", "ring-allreduce")]
