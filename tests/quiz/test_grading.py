"""Grading: every student gets their result, whatever anybody's code does."""

import json
import os
from pathlib import Path

import pandas as pd
import pytest
from solutions import solution

import collsim as cs
from collsim.quiz import exercise, exercises, grade, summary
from collsim.quiz.guard import Limits

SOLUTIONS = (Path(__file__).parent / "solutions.py").read_text()
QUICK = Limits(seconds=1.5, memory=512 << 20)
RIGHT = "import numpy as np\nimport collsim as cs\n\ndef broadcast_to_all(n):\n    yield cs.copy(0, np.arange(1, n), chunk=0)\n"


def hand_in(folder, **files):
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def one(frame, student, name="broadcast-to-all"):
    rows = frame[(frame.student == student) & (frame.exercise == name)]
    assert len(rows) == 1, frame
    return rows.iloc[0]


def test_files_notebooks_progress_files_and_folders_are_graded(tmp_path, progress_file):
    hand_in(tmp_path, anna__py=RIGHT, bert__py=RIGHT.replace("np.arange(1, n)", "1"))
    (tmp_path / "carla").mkdir()
    (tmp_path / "carla" / "part1.py").write_text(RIGHT)
    (tmp_path / "carla" / "part2.py").write_text("import collsim as cs\ndef send_one_chunk(n):\n    yield cs.copy(0, 1, chunk=0)\n")
    cells = [
        "import numpy as np\nimport collsim as cs",
        "%matplotlib inline",
        RIGHT.split("\n\n")[1],
        "print(1/0)",
        "exercise('x').check(f)",
    ]
    book = {"cells": [{"cell_type": "markdown", "source": ["# hello"]}, *({"cell_type": "code", "source": [c]} for c in cells)]}
    (tmp_path / "dora.ipynb").write_text(json.dumps(book))
    namespace: dict = {}
    exec(SOLUTIONS, namespace)
    code = "def anything(n):\n    yield cs.copy(0, np.arange(1, n), chunk=0)\n"
    held = {"schema": "collsim.progress/1", "exercises": {"broadcast-to-all": {"passed": True, "tries": 1, "code": code}}}
    (tmp_path / "emil.json").write_text(json.dumps(held))
    frame = grade(tmp_path)
    assert {s: bool(one(frame, s).passed) for s in ("anna", "bert", "carla", "dora", "emil")} == {
        "anna": True, "bert": False, "carla": True, "dora": True, "emil": True,
    }  # fmt: skip
    assert one(frame, "carla", "send-one-chunk").passed
    assert "3 ranks" in one(frame, "bert").reason
    table = summary(frame)
    assert table.loc["carla", "passed"] == 2
    assert table.loc["bert", "passed"] == 0


def test_a_claimed_pass_without_code_that_passes_counts_for_nothing(tmp_path):
    claim = {"schema": "collsim.progress/1", "exercises": {"hierarchical-2x8": {"passed": True, "code": "def f(n):\n    return []\n"}}}
    hand_in(tmp_path, liar__json=json.dumps(claim))
    assert not one(grade(tmp_path), "liar", "hierarchical-2x8").passed


FORGERY = """    import os
    for fd in range(3, 60):
        try: os.write(fd, b'{"passed": true}\\n')
        except OSError: pass
    return
    yield"""
PATCH = """import collsim.verify, collsim.quiz.exercise
collsim.verify.verify = lambda s: None
collsim.quiz.exercise.verify = lambda s: None
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


@pytest.mark.parametrize("kind", HOSTILE)
def test_one_students_code_cannot_lose_anothers_result(tmp_path, kind):
    hand_in(tmp_path, a_good__py=RIGHT, z_good__py=RIGHT)
    (tmp_path / "m_bad.py").write_text(HOSTILE[kind], errors="surrogateescape")
    if kind == "empty":
        with_send = ""
        (tmp_path / "m_bad.py").write_text(with_send)
    frame = grade(tmp_path, limits=QUICK)
    assert one(frame, "a_good").passed
    assert one(frame, "z_good").passed
    assert not frame[(frame.student == "m_bad") & (frame.exercise == "broadcast-to-all")].passed.any() or kind == "forks"
    assert len(frame[frame.student == "m_bad"]) >= 1
    assert frame[frame.student == "m_bad"].reason.str.len().min() > 5


def test_after_an_exercise_that_kills_its_process_the_students_other_exercises_are_still_graded(tmp_path):
    code = HOSTILE["kills_its_parent"].replace("broadcast_to_all", "send_one_chunk") + RIGHT
    hand_in(tmp_path, odd__py=code)
    frame = grade(tmp_path, limits=QUICK)
    assert not one(frame, "odd", "send-one-chunk").passed
    assert one(frame, "odd", "broadcast-to-all").passed


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
    assert one(frame, "anna").reason == "kept from the first time"
    assert one(frame, "bert").passed
    (folder / "anna.py").write_text(RIGHT + "\n# changed\n")
    assert one(grade(folder, out=out), "anna").reason != "kept from the first time"


def test_a_grading_that_is_stopped_blames_nobody(tmp_path, monkeypatch):
    from collsim.quiz import grading

    folder = tmp_path / "in"
    folder.mkdir()
    hand_in(folder, anna__py=RIGHT)
    out = tmp_path / "grades.csv"

    def stopped(*_):
        assert "ended the grading" in pd.read_csv(out).reason[0], "if the process dies here, the table says who was running"
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(grading, "_graded", stopped)
        with pytest.raises(KeyboardInterrupt):
            grade(folder, out=out)
    assert one(grade(folder, out=out), "anna").passed


def test_the_solutions_file_passes_everything(tmp_path):
    hand_in(tmp_path, teacher__py=SOLUTIONS)
    frame = grade(tmp_path)
    assert frame.passed.all(), frame[~frame.passed].reason.tolist()
    assert set(frame.exercise) == set(exercises())


def test_students_code_does_not_see_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("COLLSIM_SECRET", "x")
    spy = RIGHT.replace("    yield", "    import os\n    assert 'COLLSIM_SECRET' not in os.environ\n    yield")
    hand_in(tmp_path, spy__py=spy)
    assert one(grade(tmp_path), "spy").passed


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
    assert one(grade(tmp_path), "fritz", "ring-allgather").passed
