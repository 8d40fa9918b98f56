"""Exercises: right answers pass, wrong ones are told why, and nothing that a function does harms the checker."""

import importlib
import os
import sys
import time

import numpy as np
import pytest
from solutions import ring_allreduce, solution

import collsim as cs
from collsim.sandbox import Limits, syscalls
from collsim.teach import exercise, list_exercises, progress, progress_path

QUICK = Limits(seconds=2.0, memory=256 << 20)


@pytest.mark.parametrize("name", list_exercises())
def test_every_exercise_can_be_solved_and_the_solution_is_what_the_third_hint_says(name):
    result = exercise(name).check(solution(name))
    assert result.passed, str(result)
    assert result.trace is not None
    assert result.gap >= 1 - 1e-9


@pytest.mark.parametrize("name", list_exercises())
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_exercise_says_its_task_and_three_hints_that_grow(name, language):
    e = exercise(name, language)
    assert len({e.hint(k) for k in (1, 2, 3)}) == 3
    assert e.title
    assert e.ask
    assert e.hint(3) != e.hint(1)
    if language == "zh":
        assert any("\u4e00" <= c <= "\u9fff" for c in e.ask + e.title)
    with pytest.raises(cs.CollsimError, match="three hints"):
        e.hint(4)


@pytest.mark.parametrize("name", [name for name, e in list_exercises().items() if len(e.task.ranks) > 1])
def test_dropping_the_last_step_is_noticed(name):
    right = solution(name)

    def short(n):
        yield from list(right(n))[:-1]

    result = exercise(name).check(short)
    assert not result.passed
    assert result.ranks is not None


@pytest.mark.parametrize("name", list_exercises())
def test_doing_nothing_passes_no_exercise(name):
    assert not exercise(name).check(lambda n: [])


def test_the_first_wrong_rank_chunk_and_step_are_named_and_drawn():
    def doubled(n):
        yield from ring_allreduce(n)
        if n == 3:
            yield cs.reduce(1, 2, chunk=0)

    result = exercise("ring-allreduce").check(doubled)
    # for n = 3 the correct ring is followed by one reduce too many: rank 2 then holds the sum of chunk 0 twice, in step
    # 4
    assert (result.passed, result.ranks, result.rank, result.chunk, result.step) == (False, 3, 2, 0, 4)
    assert "2·r0 + 2·r1 + 2·r2" in result.reason
    assert "[+0←1]" in result.picture
    assert "after step 5: 2·r0 + 2·r1 + 2·r2" in result.picture
    assert "rank 2" in str(result)
    assert "<iframe" in result._repr_html_()


@pytest.mark.parametrize(("factor", "times"), [(2, 1), (2, 20), (2, 62), (2, 63), (2, 64), (2, 65), (2, 130), (3, 41)])
def test_a_contribution_that_comes_so_often_that_64_bits_lose_it_is_wrong(factor, times):
    """Ranks 1 and 2 make factor^times copies of r1 in chunk 1, whose sum is at the root by then."""

    def reduce_to_root(n):
        for r in range(1, n):
            yield cs.reduce(r, 0, chunk=[0, 1])
        if n > 2:
            yield cs.copy(1, 1, chunk=0, into=1)
            for _ in range(times):
                yield cs.copy(1, 2, chunk=1)
                for _ in range(factor - 1):
                    yield cs.reduce(2, 1, chunk=1)
            yield cs.reduce(1, 0, chunk=1, into=0)

    result = exercise("reduce-to-root").check(reduce_to_root)
    count = 1 + factor**times
    assert not result.passed
    assert (
        f"chunk 0 = r0 + {'>2^63' if count > 2**63 else count}·r1 + r2, but reduce wants r0 + r1 + r2" in result.reason
    )
    assert "It begins in step 5: rank 1 gets something too much into chunk 1." in result.reason
    assert "-" not in result.picture.replace("reduce-to-root", "")


def test_correct_but_too_many_steps_is_distinguished_from_wrong():
    result = exercise("ring-allreduce").check(solution("parameter-server"))
    assert "correct, but rank 0 sends" in result.reason
    again = exercise("parameter-server").check(ring_allreduce)
    assert "correct, but it takes" in again.reason
    assert "2 would do" in again.reason


def test_correct_but_far_from_the_bound_names_the_bottleneck():
    result = exercise("hierarchical-2x8").check(ring_allreduce)
    assert not result.passed
    assert "not within 1.1 of the bound" in result.reason
    assert result.gap > 5


def test_alltoall_in_one_step_is_a_crowd():
    def at_once(n):
        s, d = np.nonzero(np.ones((n, n), bool))
        yield cs.copy(s, d, chunk=d, into=n + s)

    assert "talks to" in exercise("alltoall-pairwise").check(at_once).reason


def test_the_starter_sketch_runs_is_wrong_and_verify_says_where():
    names: dict = {"np": np, "cs": cs}
    exec(exercise("fix-the-sketch").starter, names)
    result = exercise("fix-the-sketch").check(names["fix_the_sketch"])
    assert not result.passed
    assert result.rank is not None
    assert "wants" in result.reason


def forever(n):
    while True:
        pass


def forever_yielding(n):
    while True:
        yield cs.copy(0, 1, chunk=0)


def stubborn(n):
    while True:
        try:
            time.sleep(60)
        except BaseException:
            continue


def greedy(n):
    hoard = []
    while True:
        hoard.append(np.empty(30_000_000))  # 240 MB: the second is too much


def deep(n):
    return deep(n)


def leaves(n):
    os._exit(0)


def exits(n):
    raise SystemExit


def kills_itself(n):
    os.kill(os.getpid(), 9)


def raises(n):
    yield cs.copy(0, 1 // 0, chunk=0)


def interrupts(n):
    raise KeyboardInterrupt


class Rude:
    def __repr__(self):
        raise ValueError("no repr for you")


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (forever, "did not end within 2 seconds"),
        (forever_yielding, "does a loop never stop"),
        (stubborn, "did not end within 2 seconds"),
        (greedy, "emory"),
        (deep, "RecursionError"),
        (leaves, "ended before it was done"),
        (exits, "ends the program"),
        (kills_itself, "PermissionError" if syscalls.has_seccomp() else "ended before it was done"),
        (raises, "ZeroDivisionError"),
        (interrupts, "KeyboardInterrupt"),
        (lambda n: None, "must yield its steps"),
        (lambda n: 5, "must yield its steps"),
        (lambda n: "copy", "must yield its steps"),
        (lambda n: [Rude()], "yields a Rude; a step is made with copy"),
        (lambda n: Rude(), "must yield its steps"),
        (lambda n: [[1, 2]], "a step is made with copy"),
        (lambda n: [cs.copy(0, n, chunk=0)], "does not exist"),
        (lambda n: [cs.copy(0, 1, chunk=0.5)], "whole numbers"),
        (list, "TypeError"),
        (42, "wants a function"),
        (None, "wants a function"),
    ],
)
def test_a_careless_or_hostile_function_is_answered_in_one_sentence(bad, says):
    begun = time.monotonic()
    result = exercise("broadcast-to-all").check(bad, limits=QUICK)
    assert not result.passed
    assert says in result.reason
    assert time.monotonic() - begun < 40
    assert str(result)


def test_what_a_function_prints_changes_or_patches_stays_in_its_process(monkeypatch):
    touched = []

    def meddling(n):
        print("hello from n =", n)
        touched.append(n)
        cs.verify.__globals__["run"] = None
        cs.ScheduleError.__init__ = None
        step = cs.copy(0, np.arange(1, n), chunk=0)
        yield step
        step.src.setflags(write=True)
        step.src[:] = 99

    result = exercise("broadcast-to-all").check(meddling)
    assert not result.passed  # the step was spoilt after it was yielded, so what arrives is a send from rank 99
    assert touched == []
    assert exercise("broadcast-to-all").check(solution("broadcast-to-all")).passed

    def talking(n):
        print("n is", n)
        yield cs.copy(0, np.arange(1, n), chunk=0)

    told = exercise("broadcast-to-all").check(talking)
    assert told.passed
    assert "n is 16" in str(told)


def test_a_table_that_would_fill_the_callers_memory_or_time_is_refused():
    far = exercise("broadcast-to-all").check(lambda n: [cs.copy(0, 1, chunk=10**8)])
    assert "chunk 100,000,000 is used" in far.reason


def test_without_fork_the_clock_is_watched_line_by_line(monkeypatch):
    monkeypatch.delattr(os, "fork")
    result = exercise("broadcast-to-all").check(forever, limits=Limits(seconds=0.5))
    assert "did not end within 0.5 seconds" in result.reason
    assert exercise("ring-allreduce").check(ring_allreduce).passed


def borrowed(n):
    yield from cs.schedule("allreduce_ring", ranks=n).each_step()


def called_by_name(n):
    yield from cs.algorithms()["allreduce_ring"](n).each_step()


def its_function(n):
    yield from cs.algorithms()["allreduce_ring"].function(n)


def taken_at_home(n):
    from collsim.algorithms.allreduce_ring import allreduce_ring

    yield from allreduce_ring.function(n)


@pytest.mark.parametrize(
    "function", [borrowed, called_by_name, its_function, taken_at_home, cs.algorithms()["allreduce_ring"]]
)
def test_steps_of_the_library_are_not_an_answer(function):
    result = exercise("ring-allreduce").check(function)
    assert not result.passed
    assert "is an algorithm of the library; write the steps yourself" in result.reason
    assert "是库里的算法" in cs.exercise("ring-allreduce", "zh").check(function).reason


RANKS = (2, 3, 4, 5, 6, 7, 8, 12, 16)
SCHEDULES = {n: cs.schedule("allreduce_ring", ranks=n) for n in RANKS}
STEPS = {n: list(s.each_step()) for n, s in SCHEDULES.items()}
TABLES = {n: s.transfers for n, s in SCHEDULES.items()}
LIBRARY = cs.algorithms()["allreduce_ring"].function


def from_a_dict_of_schedules(n):
    yield from SCHEDULES[n].patterns


def from_a_dict_of_steps(n):
    yield from STEPS[n]


def from_a_dict_of_tables(n):
    for k in range(2 * n - 2):
        rows = TABLES[n][TABLES[n]["step"] == k]
        yield (cs.reduce if rows["reduce"][0] else cs.copy)(rows["src"], rows["dst"], chunk=rows["chunk"])


def from_a_default(n, kept=STEPS):
    yield from kept[n]


def by_another_function(n):
    yield from from_a_dict_of_steps(n)


class Kept:
    schedules = SCHEDULES


def from_an_attribute(n):
    yield from Kept.schedules[n].each_step()


def with_the_watch_off(n):
    sys.setprofile(None)
    yield from LIBRARY(n)


def by_a_word_put_together(n):
    yield from getattr(cs, "sche" + "dule")("allreduce_" + "ring", ranks=n).each_step()


def imported(n):
    yield from importlib.import_module("collsim.algorithms.allreduce_ring").allreduce_ring.function(n)


def composed(n):
    yield from (cs.schedule("reduce_scatter_ring", ranks=n) + cs.schedule("allgather_ring", ranks=n)).each_step()


def from_the_closure():
    mine = STEPS

    def inner(n):
        yield from mine[n]

    return inner


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (from_a_dict_of_schedules, "SCHEDULES holds steps of a schedule that was made before"),
        (from_a_dict_of_steps, "STEPS holds steps of a schedule that was made before"),
        (from_a_dict_of_tables, "TABLES holds steps of a schedule that was made before"),
        (from_a_default, "kept holds steps of a schedule that was made before"),
        (by_another_function, "from_a_dict_of_steps holds steps of a schedule that was made before"),
        (from_the_closure(), "mine holds steps of a schedule that was made before"),
        (from_an_attribute, "each_step() reads a schedule that was made before"),
        (with_the_watch_off, "sys.setprofile hides steps from the check"),
        (by_a_word_put_together, "allreduce_ring is an algorithm of the library"),
        (imported, "allreduce_ring is an algorithm of the library"),
        (composed, "reduce_scatter_ring is an algorithm of the library"),
    ],
)
def test_steps_taken_from_a_schedule_are_not_an_answer_however_they_are_kept(function, said):
    result = exercise("ring-allreduce").check(function)
    assert not result.passed
    assert f"{said}; write the steps yourself" in result.reason
    assert "请自己写出每一步" in cs.exercise("ring-allreduce", "zh").check(function).reason


def test_a_helper_that_the_task_does_not_have_is_nobody():
    def by_a_helper(n):
        yield cs.reduce(np.arange(n), n, chunk=0)
        yield cs.copy(n, np.arange(n), chunk=0)

    assert "does not exist" in exercise("ring-allreduce").check(by_a_helper).reason


def test_a_schedule_next_to_a_function_is_no_reason_to_refuse_it():
    """Notebooks compare: what the function does not read may lie about."""
    assert STEPS
    assert exercise("ring-allreduce").check(ring_allreduce).passed


def sharded_server(n):
    r = np.arange(n)
    yield [cs.reduce(r, (r + d) % n, chunk=(r + d) % n) for d in range(1, n)]
    yield [cs.copy(r, (r + d) % n, chunk=r) for d in range(1, n)]


def direct_reduce_scatter(n):
    r = np.arange(n)
    for d in range(1, n):
        yield cs.reduce(r, (r + d) % n, chunk=(r + d) % n)


def direct_allgather(n):
    r = np.arange(n)
    for d in range(1, n):
        yield cs.copy(r, (r + d) % n, chunk=r)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("ring-allreduce", sharded_server),
        ("both-directions", sharded_server),
        ("ring-reduce-scatter", direct_reduce_scatter),
        ("ring-allgather", direct_allgather),
        ("parameter-server", sharded_server),
    ],
)
def test_a_right_answer_that_talks_to_whom_it_must_not_is_told_so(name, function):
    """All of them are correct and fast; the task is another one."""
    result = exercise(name).check(function)
    assert not result.passed
    assert "correct, but in step" in result.reason
    assert exercise(name).task.partners.rule[0] in result.reason
    assert exercise(name).task.partners.rule[0] in str(exercise(name)), "the task says it before anybody tries"


def test_a_decorated_function_may_be_handed_in():
    before = set(cs.algorithms())
    assert exercise("ring-allreduce").check(ring_allreduce).passed
    assert set(cs.algorithms()) == before


def test_progress_is_kept_and_a_spoilt_file_never_spoils_a_check(progress_file):
    exercise("broadcast-to-all").check(lambda n: [])
    exercise("broadcast-to-all").check(solution("broadcast-to-all"))
    entry = progress()["broadcast-to-all"]
    assert (entry["passed"], entry["tries"]) == (True, 2)
    assert "def broadcast_to_all" in entry["code"]
    exercise("broadcast-to-all").check(lambda n: [])
    assert progress()["broadcast-to-all"]["passed"], "a later failure does not take a pass away"
    progress_file.write_text("{broken")
    assert exercise("broadcast-to-all").check(solution("broadcast-to-all")).passed
    assert progress_file.read_text() == "{broken", "a file that cannot be read is not overwritten"
    with pytest.raises(cs.FormatError, match="not a progress file"):
        progress()


def test_how_a_box_ended_is_told_in_chinese():
    from collsim.sandbox.attempt import Ended, read_attempt
    from collsim.sandbox.frames import Ending, Kind, build_frame

    wanted, limits = exercise("broadcast-to-all").task.function_request, Limits(steps=1)
    table = build_frame(Kind.TABLE, (2, 1, 1, 2, 1, 1, 0, 1, 1, 1, 0, 1), b"")
    ends = [(b"", how) for how in (Ending.LATE, Ending.TOO_MUCH, Ending.BADLY, -11)]
    for data, how in [*ends, (build_frame(9), 0), (table, 0)]:
        told = read_attempt(Ended(data, how), wanted, limits).error.text("zh")
        assert any("\u4e00" <= c <= "\u9fff" for c in told), told


def test_in_chinese_the_reason_is_chinese():
    def wrong(n):
        yield cs.copy(0, 1, chunk=0)

    result = exercise("broadcast-to-all", "zh").check(wrong)
    assert "最后一步之后" in result.reason
    assert "尚未通过" in str(result)
    with pytest.raises(cs.CollsimError, match="unknown language"):
        exercise("broadcast-to-all", "fr")
    with pytest.raises(cs.CollsimError, match="did you mean 'ring-allreduce'"):
        exercise("ring-allreduc")


def test_progress_is_kept_in_the_users_folder_and_never_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.delenv("COLLSIM_PROGRESS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert exercise("broadcast-to-all").check(solution("broadcast-to-all")).passed
    assert list(here.iterdir()) == []
    assert progress_path().is_relative_to(tmp_path)
    assert progress(progress_path())["broadcast-to-all"]["passed"]
