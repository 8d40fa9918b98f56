"""Grading: every student gets their result, whatever anybody's code does."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pandas as pd
import pytest
from solutions import solution

import collsim as cs
from collsim.sandbox import Isolation, Limits, NoIsolation, detect_isolation, sandbox_launcher
from collsim.teach import exercise, grade, list_exercises, summarize
from collsim.teach.exercises import grading

SOLUTIONS = (Path(__file__).parent / "solutions.py").read_text()
RIGHT = (
    "import numpy as np\nimport collsim as cs\n\ndef broadcast_to_all(n):\n    yield cs.copy(0, np.arange(1, n), "
    "chunk=0)\n"
)


@pytest.fixture(scope="module")
def limits(tmp_path_factory):
    """Four times what a right hand-in takes from its start to its grade on this machine, as loaded as it is."""
    folder = hand_in(tmp_path_factory.mktemp("timed"), good__py=RIGHT)
    begin = time.monotonic()
    assert grade(folder, only="broadcast-to-all", limits=Limits(seconds=600)).passed.all()
    return Limits(seconds=max(1.5, 4 * (time.monotonic() - begin)), memory=512 << 20)


def hand_in(folder, **files):
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def select_row(frame, student, name="broadcast-to-all"):
    rows = frame[(frame.student == student) & (frame.exercise == name)]
    assert len(rows) == 1, frame
    return rows.iloc[0]


def test_files_notebooks_progress_files_and_folders_are_graded(tmp_path, progress_file):
    hand_in(tmp_path, anna__py=RIGHT, bert__py=RIGHT.replace("np.arange(1, n)", "1"))
    (tmp_path / "carla").mkdir()
    (tmp_path / "carla" / "part1.py").write_text(RIGHT)
    (tmp_path / "carla" / "part2.py").write_text(
        "import collsim as cs\ndef send_one_chunk(n):\n    yield cs.copy(0, 1, chunk=0)\n"
    )
    cells = [
        "import numpy as np\nimport collsim as cs",
        "%matplotlib inline",
        RIGHT.split("\n\n")[1],
        "print(1/0)",
        "exercise('x').check(f)",
    ]
    book = {
        "cells": [
            {"cell_type": "markdown", "source": ["# hello"]},
            *({"cell_type": "code", "source": [c]} for c in cells),
        ]
    }
    (tmp_path / "dora.ipynb").write_text(json.dumps(book))
    namespace: dict = {}
    exec(SOLUTIONS, namespace)
    code = "def anything(n):\n    yield cs.copy(0, np.arange(1, n), chunk=0)\n"
    held = {
        "schema": "collsim.progress/1",
        "exercises": {"broadcast-to-all": {"passed": True, "tries": 1, "code": code}},
    }
    (tmp_path / "emil.json").write_text(json.dumps(held))
    frame = grade(tmp_path)
    assert {s: bool(select_row(frame, s).passed) for s in ("anna", "bert", "carla", "dora", "emil")} == {
        "anna": True, "bert": False, "carla": True, "dora": True, "emil": True,
    }  # fmt: skip
    assert select_row(frame, "carla", "send-one-chunk").passed
    assert "3 ranks" in select_row(frame, "bert").reason
    table = summarize(frame)
    assert table.loc["carla", "passed"] == 2
    assert table.loc["bert", "passed"] == 0


def test_a_claimed_pass_without_code_that_passes_counts_for_nothing(tmp_path):
    claim = {
        "schema": "collsim.progress/1",
        "exercises": {"hierarchical-2x8": {"passed": True, "code": "def f(n):\n    return []\n"}},
    }
    hand_in(tmp_path, liar__json=json.dumps(claim))
    assert not select_row(grade(tmp_path), "liar", "hierarchical-2x8").passed


DOUBLED = """import collsim as cs

def reduce_to_root(n):
    for r in range(1, n):
        yield cs.reduce(r, 0, chunk=[0, 1])
    if n > 2:
        yield cs.copy(1, 1, chunk=0, into=1)
        for _ in range(64):
            yield cs.copy(1, 2, chunk=1)
            yield cs.reduce(2, 1, chunk=1)
        yield cs.reduce(1, 0, chunk=1, into=0)
"""


def test_a_contribution_that_comes_2_to_the_64_times_too_often_is_no_pass(tmp_path):
    hand_in(tmp_path, right__py=DOUBLED.replace("n > 2", "n > 99"), wrong__py=DOUBLED)
    frame = grade(tmp_path, only="reduce-to-root")
    assert select_row(frame, "right", "reduce-to-root").passed
    assert not select_row(frame, "wrong", "reduce-to-root").passed
    assert "r0 + >2^63·r1 + r2, but reduce wants r0 + r1 + r2" in select_row(frame, "wrong", "reduce-to-root").reason


FORGERY = """    import os
    for fd in range(3, 60):
        try: os.write(fd, b'{"passed": true}\\n')
        except OSError: pass
    return
    yield"""
PATCH = """import collsim.verify, collsim.teach.exercises.exercise
collsim.verify.verify = lambda s: None
collsim.teach.exercises.exercise.verify = lambda s: None
"""
HOSTILE = {
    "loops_on_import": "while True: pass\n" + RIGHT,
    "kills_its_parent": RIGHT.replace("    yield", "    import os\n    os.kill(os.getppid(), 9)\n    yield"),
    "kills_the_group": RIGHT.replace("    yield", "    import os\n    os.killpg(0, 9)\n    yield"),
    "exits": "import os\nos._exit(3)\n" + RIGHT,
    "eats_memory": RIGHT.replace("    yield", "    x = [b'x' * 10**7 for _ in range(10**6)]\n    yield"),
    "syntax": "def broadcast_to_all(n:\n",
    "empty": "",
    "not_utf8": "\udcff",
    "forks": RIGHT.replace("    yield", "    import os, time\n    if os.fork() == 0:\n        time.sleep(30)\n    yield"),
    "forges": RIGHT.replace("    yield", FORGERY),
    "patches": PATCH + RIGHT.replace("np.arange(1, n)", "1"),
}  # fmt: skip


def first(code):
    """The right answer with something else done first."""
    return RIGHT.replace("    yield", textwrap.indent(textwrap.dedent(code).strip(), "    ") + "\n    yield")


HOSTILE |= {
    "costly_to_parse": "x = f'" + "{1}" * 130_000 + "'\n" + RIGHT,
    "sends_json": first("""
        import os
        for fd in range(3, 60):
            try: os.write(fd, b'{"n":2,"chunks":Infinity}\\n' + b'[' * 200_000)
            except OSError: pass
        os._exit(0)
    """),
    "nests_folders": first("""
        import os, tempfile
        path = tempfile.gettempdir()
        for _ in range(3000):
            path += '/d'
            os.mkdir(path)
        while True: pass
    """),
    "bombs": first("""
        import os, time
        for _ in range(200):
            if os.fork() == 0:
                os.setsid()
                time.sleep(60)
        while True: pass
    """),
    "floods": first("""
        import os
        while True:
            print('x' * 10**6)
            os.write(1, b'x' * 10**6)
    """),
    "closes": first("import os; os.closerange(0, 100)"),
    "nests_deep": RIGHT + "x = " + "-" * 10**6 + "1\n",
    "raises_escapes": first("raise ValueError(chr(27) + '[2K' + chr(27) + '[1A m_bad passed')"),
    "stops_itself": first("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"),
    "catches_all": first("""
        while True:
            try:
                while True: pass
            except BaseException: pass
    """),
}  # fmt: skip


#: Harm that takes its time, up to the limit; one endless loop is in `make check`, too.
LONG = {"bombs", "catches_all", "costly_to_parse", "floods", "forks", "nests_deep", "nests_folders", "stops_itself"}


def hand_in_all(folder, kinds):
    """A good hand-in before and after each that is not."""
    for kind in kinds:
        (folder / f"{kind}.py").write_text(HOSTILE[kind], errors="surrogateescape")
    return hand_in(folder, a_good__py=RIGHT, m_good__py=RIGHT, z_good__py=RIGHT)


@pytest.fixture(
    scope="module",
    params=[HOSTILE.keys() - LONG, pytest.param(HOSTILE.keys(), marks=pytest.mark.slow)],
    ids=["short", "all"],
)
def hostile_class(request, tmp_path_factory, limits):
    """What is handed in, sorted, and the table of it."""
    kinds = sorted(request.param)
    return kinds, grade(hand_in_all(tmp_path_factory.mktemp("in"), kinds), limits=limits)


def test_nobodys_code_can_lose_anothers_result(hostile_class):
    kinds, frame = hostile_class
    assert all(select_row(frame, student).passed for student in ("a_good", "m_good", "z_good"))
    assert set(frame.student) == {"a_good", "m_good", "z_good", *kinds}


def test_hostile_code_passes_nothing_and_its_reason_is_a_sentence(hostile_class):
    kinds, frame = hostile_class
    for kind in kinds:
        rows = frame[frame.student == kind]
        assert not rows.passed.any(), kind
        assert rows.reason.str.len().min() > 5, kind
        # a reason may not move the teacher's cursor
        assert not rows.reason.str.contains("[\\x00-\\x09\\x0b-\\x1f\\x7f]").any(), kind


VANDAL = """    import os, glob, signal
    for path in [*glob.glob({folder!r} + '/*'), {out!r}, {elsewhere!r}]:
        for harm in (lambda: open(path, 'w').write('student,exercise,passed\\nm_bad,broadcast-to-all,True\\n'), lambda: os.remove(path)):
            try: harm()
            except OSError: pass
    try: open({folder!r} + '/new.py', 'w').write('x')
    except OSError: pass
    for pid in map(int, filter(str.isdigit, os.listdir('/proc'))):
        try:
            if b'pytest' in open(f'/proc/{{pid}}/cmdline', 'rb').read(): os.kill(pid, signal.SIGURG)
        except OSError: pass
    try: stolen = open({folder!r} + '/a_good.py').read()
    except OSError: stolen = ''
    yield cs.copy(0, np.arange(1, n) if stolen else 1, chunk=0)
"""


@pytest.mark.skipif(detect_isolation() is Isolation.NONE, reason="this system isolates nothing")
def test_code_that_deletes_forges_steals_and_signals_reaches_nothing(tmp_path, limits):
    folder, elsewhere, out = tmp_path / "in", tmp_path / "elsewhere.txt", tmp_path / "grades.csv"
    folder.mkdir()
    elsewhere.write_text("kept")
    hand_in(folder, a_good__py=RIGHT, z_good__py=RIGHT)
    body = VANDAL.format(folder=str(folder), out=str(out), elsewhere=str(elsewhere))
    (folder / "m_bad.py").write_text(RIGHT.split("    yield")[0] + body)
    signals = []
    before = signal.signal(signal.SIGURG, lambda *_: signals.append(1))
    try:
        frame = grade(folder, out=out, limits=limits)
    finally:
        signal.signal(signal.SIGURG, before)
    assert select_row(frame, "a_good").passed
    assert select_row(frame, "z_good").passed
    assert not select_row(frame, "m_bad").passed, "it could read another one's answer"
    assert sorted(p.name for p in folder.iterdir()) == ["a_good.py", "m_bad.py", "z_good.py"]
    assert (folder / "a_good.py").read_text() == RIGHT
    assert elsewhere.read_text() == "kept"
    assert list(pd.read_csv(out).passed) == [True, False, True]
    assert signals == []


ORPHAN = """
import os, time
from collsim.sandbox import sandbox_launcher
parent = os.getpid()
if os.fork() == 0:
    while os.getppid() == parent:
        time.sleep(0.01)
    sandbox_launcher._end_with(parent)
    print("lives on")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a child lives on")
def test_a_child_whose_parent_ended_before_it_could_ask_to_be_ended_ends_by_itself():
    """The pipe to what it prints closes when both have ended."""
    assert subprocess.run([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, timeout=60, check=True).stdout == b""


def test_what_a_student_starts_does_not_outlive_the_grading(tmp_path, limits):
    mark = f"collsim-test-{os.getpid()}"
    daemon = first(f"""
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0: os.execvp('sleep', ['{mark}', '60'])
            os._exit(0)
        time.sleep(0.3)
    """)
    hand_in(tmp_path, daemon__py=daemon)
    grade(tmp_path, limits=limits)
    alive = (
        [p for p in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in _read(p)] if Path("/proc").is_dir() else []
    )
    assert alive == []


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_links_and_pipes_are_not_followed(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    hand_in(folder, anna__py=RIGHT)
    (folder / "eve.py").symlink_to(folder / "anna.py")
    (folder / "carl").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.py")
    frame = grade(folder)
    assert select_row(frame, "anna").passed
    for student in ("eve", "carl", "pipe"):
        rows = frame[frame.student == student]
        assert not rows.passed.any()
        assert rows.reason.str.contains("a link or no file at all").any()


@pytest.mark.slow
def test_hand_ins_that_are_deep_large_or_many_cost_their_author_only(tmp_path, limits):
    """1,200 folders in one another, JSON of 200,000 brackets as a notebook and as progress, 100 files, 3 MB."""
    hand_in(tmp_path, anna__py=RIGHT, zoe__py=RIGHT)
    hand_in(tmp_path, brackets__ipynb="[" * 200_000, braces__json='{"schema":' * 100_000)
    hand_in(tmp_path, infinite__json='{"schema":"collsim.progress/1","exercises":{"broadcast-to-all":Infinity}}')
    hand_in(tmp_path, large__py="#" * 3_000_000)
    (tmp_path / "many").mkdir()
    for number in range(100):
        (tmp_path / "many" / f"{number:03}.py").write_text(RIGHT if number == 0 else "")
    here = os.open(tmp_path, os.O_RDONLY)
    names = ["deep", *["d" * 50] * 1_200]
    for name in names:
        os.mkdir(name, dir_fd=here)
        here, above = os.open(name, os.O_RDONLY, dir_fd=here), here
        os.close(above)
    os.close(here)
    try:
        frame = grade(tmp_path, limits=limits)
    finally:
        subprocess.run(["rm", "-r", str(tmp_path / "deep")], check=True)
    assert {s for s in set(frame.student) if one_or_none(frame, s)} == {"anna", "zoe", "many"}
    why = {row.student: row.reason for row in frame.itertuples() if not row.passed}
    assert "8 deep" in why["deep"]
    assert "2,000,000 bytes" in why["large"]
    assert "more than 40 files" in why["many"]
    assert all(len(reason) < 3_000 for reason in why.values())


def one_or_none(frame, student):
    return bool(frame[(frame.student == student) & (frame.exercise == "broadcast-to-all")].passed.any())


def test_code_that_is_costly_to_read_costs_its_limit(tmp_path, limits):
    (row,) = grade(hand_in(tmp_path, costly__py=HOSTILE["costly_to_parse"]), limits=limits).itertuples()
    assert "reading what was handed in" in row.reason


def test_a_hand_in_may_import_what_notebooks_import(tmp_path):
    """Nothing can be written, not even a cache of fonts."""
    imports = "import matplotlib.pyplot as plt\nimport pandas as pd\nimport networkx as nx\nimport random, math, json\n"
    hand_in(tmp_path, anna__py=imports + RIGHT)
    assert select_row(grade(tmp_path), "anna").passed


#: As on Windows: no fork, no limits of the system, no isolation.
PLAIN = "import os, sys; del os.fork; sys.modules['resource'] = None; "


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.setattr(sandbox_launcher, "_START", PLAIN + sandbox_launcher._START)
    for module in (grading, sandbox_launcher):
        monkeypatch.setattr(module, "detect_isolation", lambda: Isolation.NONE)


def test_allow_unsandboxed_nothing_runs_until_the_teacher_agrees(tmp_path, plain):
    with pytest.raises(NoIsolation, match="--no-sandbox"):
        grade(hand_in(tmp_path, anna__py=RIGHT), out=tmp_path / "grades.csv")
    assert not (tmp_path / "grades.csv").exists()
    assert select_row(grade(tmp_path, allow_unsandboxed=True), "anna").passed


@pytest.mark.slow
def test_without_fork_and_limits_everybody_still_gets_their_result(tmp_path, plain, limits):
    kinds = ["forges", "patches", "exits", "loops_on_import", "raises_escapes"]
    frame = grade(hand_in_all(tmp_path, kinds), limits=limits, allow_unsandboxed=True)
    assert all(select_row(frame, student).passed for student in ("a_good", "m_good", "z_good"))
    assert not frame[frame.student.isin(kinds)].passed.any()
    assert "did not end within" in select_row(frame, "loops_on_import").reason


def test_code_that_kills_the_grading_itself_is_named_and_the_next_start_goes_on_with_the_others(tmp_path):
    folder, out = tmp_path / "in", tmp_path / "grades.csv"
    folder.mkdir()
    hand_in(folder, a_good__py=RIGHT, m_bad__py=HOSTILE["kills_its_parent"], z_good__py=RIGHT)
    start = (
        "from collsim.teach.exercises import grading; from collsim.sandbox import Isolation, sandbox_launcher as p; p._START = "
        f"{PLAIN!r} + p._START; p.detect_isolation = lambda: Isolation.NONE; grading.grade({str(folder)!r}, "
        f"out={str(out)!r}, allow_unsandboxed=True)"
    )
    assert subprocess.run([sys.executable, "-c", start], capture_output=True).returncode == -signal.SIGKILL
    kept = pd.read_csv(out)
    assert list(kept.student) == ["a_good", "m_bad"]
    assert "ended the grading" in kept.reason[1]
    frame = grade(folder, out=out)
    assert list(frame.passed) == [True, False, True]


def test_after_an_exercise_that_kills_its_process_the_students_other_exercises_are_still_graded(tmp_path, limits):
    code = HOSTILE["kills_its_parent"].replace("broadcast_to_all", "send_one_chunk") + RIGHT
    hand_in(tmp_path, odd__py=code)
    frame = grade(tmp_path, limits=limits)
    assert not select_row(frame, "odd", "send-one-chunk").passed
    assert select_row(frame, "odd", "broadcast-to-all").passed


def test_results_are_on_disk_after_every_student_and_not_computed_twice(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    hand_in(folder, anna__py=RIGHT, bert__py=RIGHT)
    out = tmp_path / "grades.csv"
    seen = []

    def stop_at_bert(done, total, student):
        seen.append(student)
        if student == "bert":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade(folder, out=out, progress=stop_at_bert)
    assert list(pd.read_csv(out).student) == ["anna"]
    anna = pd.read_csv(out)
    anna["reason"] = "kept from the first time"
    anna.to_csv(out, index=False)
    frame = grade(folder, out=out)
    assert select_row(frame, "anna").reason == "kept from the first time"
    assert select_row(frame, "bert").passed
    (folder / "anna.py").write_text(RIGHT + "\n# changed\n")
    assert select_row(grade(folder, out=out), "anna").reason != "kept from the first time"


TWO = RIGHT + "def send_one_chunk(n):\n    yield cs.copy(0, 1, chunk=0)\n"


def exercises_in(path):
    return sorted(pd.read_csv(path).exercise)


def test_a_table_of_some_exercises_answers_for_these_alone(tmp_path, monkeypatch):
    folder = tmp_path / "in"
    folder.mkdir()
    hand_in(folder, anna__py=TWO)
    out = tmp_path / "grades.csv"
    some, other = ["broadcast-to-all"], ["send-one-chunk"]
    grade(folder, out=tmp_path / "some.csv", only=some)
    assert sorted(grade(folder, out=tmp_path / "some.csv").exercise) == some + other
    assert list(grade(folder, out=out, only=some).exercise) == some
    assert list(grade(folder, out=out, only=other).exercise) == other
    assert exercises_in(out) == some + other, "the file keeps what this call did not ask for"
    everything = grade(folder, out=out)
    assert sorted(everything.exercise) == some + other
    assert exercises_in(out) == some + other
    monkeypatch.setattr(grading, "_grade_submission", lambda *_: pytest.fail("all of it is known"))
    assert list(grade(folder, out=out, only=other).exercise) == other
    assert exercises_in(out) == some + other
    assert sorted(grade(folder, out=out).exercise) == some + other


def test_a_grading_of_some_exercises_does_not_replace_one_of_others_by_changed_code(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    hand_in(folder, anna__py=TWO)
    out = tmp_path / "grades.csv"
    grade(folder, out=out)
    hand_in(folder, anna__py=TWO.replace("cs.copy(0, 1,", "cs.copy(1, 0,"))
    grade(folder, out=out, only=["broadcast-to-all"])
    assert exercises_in(out) == ["broadcast-to-all"], "the other result is of code that was handed in no more"
    assert not select_row(grade(folder, out=out), "anna", "send-one-chunk").passed


def test_grading_again_loses_no_earlier_result_when_it_is_stopped(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    hand_in(folder, anna__py=RIGHT, bert__py=RIGHT)
    out = tmp_path / "grades.csv"
    grade(folder, out=out)
    hand_in(folder, anna__py=RIGHT + "# changed")

    def stop(done, total, student):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade(folder, out=out, progress=stop)
    assert list(pd.read_csv(out).student) == ["anna", "bert"]


def test_a_table_that_cannot_be_written_is_said_before_any_code_runs(tmp_path, monkeypatch):
    hand_in(tmp_path, anna__py=RIGHT)
    monkeypatch.setattr(grading, "_grade_submission", lambda *_: pytest.fail("it ran"))
    with pytest.raises(cs.CollsimError, match=r"cannot write '/proc/grades\.csv'"):
        grade(tmp_path, out="/proc/grades.csv")


def test_a_grading_that_is_stopped_blames_nobody(tmp_path, monkeypatch):
    folder = tmp_path / "in"
    folder.mkdir()
    hand_in(folder, anna__py=RIGHT)
    out = tmp_path / "grades.csv"

    def stopped(*_):
        assert "ended the grading" in pd.read_csv(out).reason[0], (
            "if the process dies here, the table says who was running"
        )
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(grading, "_grade_submission", stopped)
        with pytest.raises(KeyboardInterrupt):
            grade(folder, out=out)
    assert select_row(grade(folder, out=out), "anna").passed


@pytest.mark.slow
def test_the_solutions_file_passes_everything(tmp_path):
    answers = "\n\n".join(one.task.answer for one in list_exercises().values())
    hand_in(tmp_path, teacher__py=f"{SOLUTIONS}\n\n{answers}")
    frame = grade(tmp_path)
    assert frame.passed.all(), frame[~frame.passed].reason.tolist()
    assert set(frame.exercise) == set(list_exercises())


def test_students_code_does_not_see_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("COLLSIM_SECRET", "x")
    spy = RIGHT.replace("    yield", "    import os\n    assert 'COLLSIM_SECRET' not in os.environ\n    yield")
    hand_in(tmp_path, spy__py=spy)
    assert select_row(grade(tmp_path), "spy").passed


def test_mistakes_of_the_teacher_are_one_sentence(tmp_path):
    with pytest.raises(cs.CollsimError, match="no folder"):
        grade(tmp_path / "nowhere")
    with pytest.raises(cs.CollsimError, match="nothing in"):
        grade(tmp_path)
    hand_in(tmp_path, anna__py=RIGHT)
    with pytest.raises(cs.CollsimError, match="unknown exercise"):
        grade(tmp_path, only=["ring"])
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n")
    with pytest.raises(cs.CollsimError, match="not a table of grades"):
        grade(tmp_path, out=tmp_path / "wrong.csv")
    assert os.path.exists(tmp_path / "wrong.csv")


def test_a_progress_file_that_was_written_can_be_handed_in(tmp_path, progress_file):
    exercise("ring-allgather").check(solution("ring-allgather"))
    hand_in(tmp_path, fritz__json=progress_file.read_text())
    progress_file.unlink()
    assert select_row(grade(tmp_path), "fritz", "ring-allgather").passed


def test_a_name_that_a_spreadsheet_would_compute_is_no_formula_in_the_table(tmp_path):
    folder, out = tmp_path / "in", tmp_path / "grades.csv"
    folder.mkdir()
    (folder / "=cmd|'calc'!A0.py").write_text(RIGHT)
    frame = grade(folder, only=["broadcast-to-all"], out=out)
    (name,) = set(frame["student"])
    assert name.startswith("=cmd")
    assert "\n'=cmd" in out.read_text()
    again = grade(folder, only=["broadcast-to-all"], out=out)
    assert list(again["student"]) == [name], "read back it is the same student"
