"""Exercises that a rank program answers: checked, graded, and hostile hand-ins stay in the sandbox."""

import json

import pytest
from sampling import keep_fast, sample
from solutions import PROGRAM_ANSWERS

import collsim as cs
from collsim.sandbox import Isolation, detect_isolation
from collsim.sandbox.attempt import Ended
from collsim.sandbox.frames import Kind, build_frame
from collsim.sandbox.resource_limits import Limits
from collsim.teach.exercises.program_exercise import judge_ended
from collsim.teach.exercises.tasks import PROGRAMS

pytestmark = pytest.mark.skipif(detect_isolation() is Isolation.NONE, reason="needs a system with a sandbox")

LIBRARY = """import torch.distributed as dist

def {name}(send, recv):
    recv[:] = send
    dist.all_reduce(recv)
"""
PAIR = """import torch.distributed as dist

def make_it_hang(send, recv):
    if dist.get_rank() < 2:
        dist.recv(recv, 1 - dist.get_rank())
"""


@pytest.fixture(autouse=True)
def progress_file(tmp_path, monkeypatch):
    monkeypatch.setenv("COLLSIM_PROGRESS", str(tmp_path / "progress.json"))


@pytest.mark.parametrize("name", sample(PROGRAMS, 1))
def test_the_starter_does_not_solve_it_and_the_answer_does_in_both_languages(name):
    exercise = cs.exercise(name)
    assert not exercise.check(exercise.starter, record=False)
    solved = cs.exercise(name, "zh").check(PROGRAM_ANSWERS[name])
    assert solved, solved
    assert "通过" in str(solved)
    assert cs.teach.progress()[name]["code"] == PROGRAM_ANSWERS[name]
    assert {exercise.say(text) for text in exercise.task.hints} == {exercise.hint(k) for k in (1, 2, 3)}


@pytest.mark.parametrize(
    ("name", "answer", "reason"),
    [
        ("make-it-right", LIBRARY.format(name="make_it_right"), "calls a collective of the library"),
        ("make-it-hang", PAIR, "not all of them are in one cycle"),
        ("one-and-a-half-buffers", PROGRAM_ANSWERS["make-it-right"], "sends 2 buffers; 1.333 would do"),
        (
            "make-it-right",
            "def make_it_right(send, recv):\n    recv[:] = send\n",
            "holds 1 in element 0; 3 is expected",
        ),
        ("make-it-right", "def make_it_right(", "not Python"),
    ],
)
def test_what_is_no_answer_is_told_why(name, answer, reason):
    result = cs.exercise(name).check(answer, record=False)
    assert not result
    assert reason in result.reason


def test_hand_ins_are_graded_as_files_notebooks_and_progress(tmp_path):
    folder = tmp_path / "handed-in"
    folder.mkdir()
    right = PROGRAM_ANSWERS["make-it-right"]
    (folder / "ada.py").write_text(right)
    cell = {"cell_type": "code", "source": f"import collsim as cs\nmake_it_right = {right!r}"}
    (folder / "bob.ipynb").write_text(json.dumps({"cells": [cell, {"cell_type": "code", "source": "%%program\nx ="}]}))
    (folder / "cy.py").write_text(cs.exercise("make-it-right").starter)
    entry = {"passed": True, "code": right}
    (folder / "dee.json").write_text(
        json.dumps({"schema": "collsim.progress/1", "exercises": {"make-it-right": entry}})
    )
    table = cs.grade(folder, only="make-it-right")
    assert dict(zip(table.student, table.passed, strict=True)) == {"ada": True, "bob": True, "cy": False, "dee": True}
    assert "Rank 0 waits in send (line 10)" in table.reason[2]


HOSTILE = {
    "reader": "open('/etc/passwd').read()",
    "writer": "open({target!r}, 'w').write('x')",
    "starter": "import os\n    os.system('touch ' + {target!r})",
    "climber": "().__class__.__base__.__subclasses__()[0].__init__.__globals__['os'].abort()",
    "looper": "\n    while True:\n        pass",
    "eater": "recv[:] = sum([0] * 10**10)",
}


@pytest.mark.parametrize("kind", keep_fast(HOSTILE, ["writer", "climber", "eater"]))
def test_hostile_programs_pass_nothing_and_touch_nothing(kind, tmp_path):
    folder, target = tmp_path / "handed-in", tmp_path / "touched"
    folder.mkdir()
    attack = HOSTILE[kind].format(target=str(target))
    code = f"import torch.distributed as dist\n\ndef make_it_right(send, recv):\n    {attack}\n"
    (folder / "mallory.py").write_text(code)
    (folder / "zoe.py").write_text(PROGRAM_ANSWERS["make-it-right"])
    table = cs.grade(folder, only="make-it-right", limits=Limits(seconds=4.0))
    assert dict(zip(table.student, table.passed, strict=True)) == {"mallory": False, "zoe": True}
    assert not target.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 40,
        build_frame(Kind.EXECUTIONS, (), b"[]"),
        build_frame(Kind.EXECUTIONS, (), b'[{"mode": [0, false, []], "results": "x"}]'),
        build_frame(Kind.DONE),
        build_frame(Kind.FAILED, (1,), b"why"),
    ],
)
def test_whatever_a_process_sends_it_does_not_pass(data):
    exercise = cs.exercise("make-it-right")
    result = judge_ended(exercise, Ended(data), Limits())
    assert not result
    assert result.reason
