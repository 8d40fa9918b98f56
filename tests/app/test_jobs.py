"""Long work: it says how far it is, stops at once wherever it is, and nothing of it is left when nobody waits."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import chores
import psutil
import pytest

from collsim.app.jobs import worker_pool
from collsim.app.jobs.computation import Tab, TooManyJobs, WorkerDied, build_job_key
from collsim.app.jobs.result_cache import ResultCache
from collsim.app.jobs.worker import remove_folder
from collsim.app.jobs.worker_pool import HIDDEN_PATIENCE, MAX_JOBS, MAX_PER_CLIENT, WorkerPool
from collsim.app.pages.write.drafts import Draft
from collsim.app.scenario.choice import Choice
from collsim.app.scenario.outcome import Refused, compute_outcome

ROOT = Path(__file__).parents[2]


@pytest.fixture
def staff(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(Path(__file__).parent), str(ROOT))))
    made = []

    def start(**given):
        made.append(WorkerPool(**{"count": 1} | given))
        return made[-1]

    yield start
    for one in made:
        one.close()


def tab_of(session):
    """A page of the client whose name begins the name of its session; of this computer for `here`."""
    return Tab(session, "" if session == "here" else session.rstrip("0123456789"))


def eventually(true, seconds=40.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
    return True


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def learners_of(worker):
    """The processes in which code of others runs: copies of a fresh Python, which a worker starts for it."""
    pythons = []
    for child in worker.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # those that look whether a sandbox works end by themselves
            if child.cmdline()[:1] == [sys.executable]:
                pythons.append(child)
    return [child for child in pythons if child.ppid() in {python.pid for python in pythons}]


def test_a_result_comes_back_with_shares_on_the_way_and_is_kept(staff):
    workers = staff()
    job = workers.submit(tab_of("a"), chores.count, (4, 0.2), 1.0)
    assert eventually(lambda: 0 < job.share < 1)
    assert job.over.wait(40)
    assert pickle.loads(job.result) == [0, 1, 2, 3]
    assert workers.cache.get(build_job_key(chores.count, (4, 0.2))) == job.result


def test_a_part_of_the_result_is_there_before_the_rest(staff):
    job = staff().submit(tab_of("a"), chores.count_aloud, (5,), 1.0)
    parts = set()
    while not job.over.wait(0.02):
        parts.add(job.partial)
    assert len(parts - {None}) >= 3
    assert pickle.loads(job.result) == job.partial == (0, 1, 2, 3, 4)


def test_a_run_in_a_worker_is_the_run_on_the_spot(staff):
    choice = Choice(engine="event", nbytes="1MiB")
    job = staff().submit(tab_of("a"), compute_outcome, (choice,), 1.0)
    assert job.over.wait(60)
    assert pickle.loads(job.result).figures == compute_outcome(choice).figures


def test_what_is_stopped_stops_at_once_even_inside_one_long_operation(staff):
    workers = staff()
    job = workers.submit(tab_of("a"), chores.one_long_operation, (), 1.0)
    eventually(lambda: job.share == 0.5)
    process, began = job.worker.process, time.monotonic()
    workers.leave(tab_of("a"), job)
    assert time.monotonic() - began < 60  # the operation would take hours
    assert job.is_stopped
    assert not alive(process.pid)
    assert workers.submit(tab_of("a"), chores.count, (1, 0), 1.0).over.wait(40)


def test_the_processes_of_stopped_work_go_with_it(staff, tmp_path):
    workers, note = staff(), tmp_path / "pid"
    job = workers.submit(tab_of("a"), chores.with_a_child, (str(note),), 1.0)
    eventually(lambda: note.exists() and note.read_text())
    workers.leave(tab_of("a"), job)
    eventually(lambda: not alive(int(note.read_text())), 2.0)


def test_a_learners_endless_code_ends_with_the_worker_that_tries_it(staff):
    workers = staff()
    draft = Draft(code="def f(n):\n    while True:\n        pass\n    yield None\n")
    job = workers.submit(tab_of("a"), chores.try_patiently, (draft,), 0.0)
    eventually(lambda: job.worker is not None)
    worker = psutil.Process(job.worker.process.pid)
    learners = []
    eventually(lambda: learners.extend(learners_of(worker)) or learners)
    workers.leave(tab_of("a"), job)
    eventually(lambda: not any(alive(learner.pid) for learner in learners))
    assert workers.pace == 1.0


def test_two_who_want_the_same_share_it_and_only_the_last_one_stops_it(staff):
    workers = staff()
    job = workers.submit(tab_of("a"), chores.count, (100, 0.1), 1.0)
    assert workers.submit(tab_of("b"), chores.count, (100, 0.1), 1.0) is job
    workers.leave(tab_of("a"), job)
    assert not job.over.is_set()
    workers.leave(tab_of("b"), job)
    assert job.is_stopped


def test_what_takes_a_moment_does_not_wait_for_what_takes_long(staff):
    workers = staff()
    long = workers.submit(tab_of("a"), chores.count, (10**6, 0.01), 60.0)
    short = workers.submit(tab_of("b"), chores.count, (2, 0), 1.0)
    assert workers.count_ahead(short) == 0
    assert short.over.wait(40)
    assert not long.over.is_set()


def test_temporary_files_go_with_the_process(staff, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    workers = staff()
    job = workers.submit(tab_of("a"), chores.with_a_file, (), 1.0)
    eventually(lambda: list(tmp_path.rglob("half-written*")))
    workers.leave(tab_of("a"), job)
    eventually(lambda: not list(tmp_path.rglob("half-written*")))
    workers.close()
    eventually(lambda: not list(tmp_path.iterdir()))


def unseen(job, session, seconds):
    job.waiting[tab_of(session)] = time.monotonic() - seconds


def test_who_is_not_seen_any_more_has_gone(staff):
    workers = staff(patience=60.0)
    job, other = (
        workers.submit(tab_of("a"), chores.count, (1000, 0.1), 1.0),
        workers.submit(tab_of("b"), chores.count, (1001, 0.1), 1.0),
    )
    unseen(job, "a", 61)
    unseen(other, "b", 50)
    workers.drop_absent()
    assert job.is_stopped
    assert not other.over.is_set()


def test_whose_tab_is_open_may_look_once_a_minute(staff):
    workers = staff(patience=15.0, is_connected=lambda tab: tab == tab_of("open"))
    open_, closed = (
        workers.submit(tab_of("open"), chores.count, (1000, 0.1), 1.0),
        workers.submit(tab_of("closed"), chores.count, (1001, 0.1), 1.0),
    )
    unseen(open_, "open", 61)
    unseen(closed, "closed", 61)
    workers.drop_absent()
    assert closed.is_stopped
    assert not open_.over.is_set()
    unseen(open_, "open", HIDDEN_PATIENCE + 1)
    workers.drop_absent()
    assert open_.is_stopped


def test_who_was_forgotten_and_looks_again_waits_again(staff):
    workers = staff()
    job = workers.submit(tab_of("asleep"), chores.count, (1000, 0.1), 1.0)
    workers.submit(tab_of("other"), chores.count, (1000, 0.1), 1.0)
    unseen(job, "asleep", 3600)
    workers.drop_absent()
    assert set(job.waiting) == {tab_of("other")}
    workers.refresh(tab_of("asleep"), job)
    workers.leave(tab_of("other"), job)
    assert not job.over.is_set()
    workers.leave(tab_of("asleep"), job)
    workers.refresh(tab_of("asleep"), job)
    assert job.is_stopped
    assert job.waiting == {}


def test_what_came_while_somebody_estimated_is_not_computed_again(staff):
    workers = staff()
    done = workers.submit(tab_of("a"), chores.count, (1, 0), 1.0)
    assert done.over.wait(40)
    again = workers.submit(tab_of("b"), chores.count, (1, 0), 1.0)
    assert again.over.is_set()
    assert again.result == done.result
    assert workers.count_ahead(again) == 0
    assert workers.join(tab_of("c"), again.key) is None


def test_what_stands_in_the_row_says_how_many_are_before_it_and_can_be_left(staff):
    workers = staff()
    first, second = (
        workers.submit(tab_of("a"), chores.count, (100, 0.1), 1.0),
        workers.submit(tab_of("b"), chores.count, (2, 0), 1.0),
    )
    assert (workers.count_ahead(first), workers.count_ahead(second)) == (0, 1)
    assert second.stage == "queue"
    workers.leave(tab_of("b"), second)
    workers.leave(tab_of("a"), first)
    third = workers.submit(tab_of("c"), chores.count, (3, 0), 1.0)
    assert third.over.wait(40)
    assert second.result is None


def test_a_refusal_arrives_as_it_was_raised_a_bug_as_a_sentence_and_a_death_as_one(staff):
    workers = staff()
    refused = workers.submit(tab_of("a"), chores.refuse, (), 1.0)
    assert refused.over.wait(40)
    assert isinstance(refused.error, Refused)
    assert (refused.error.key, refused.error.values) == ("refused.ranks", {"ranks": 7, "limit": 5})
    broken = workers.submit(tab_of("a"), chores.break_down, (), 1.0)
    assert broken.over.wait(40)
    assert "ZeroDivisionError: of ours" in str(broken.error)
    dead = workers.submit(tab_of("a"), chores.die, (), 1.0)
    assert dead.over.wait(40)
    assert isinstance(dead.error, WorkerDied)
    assert workers.submit(tab_of("a"), chores.count, (1, 0), 1.0).over.wait(40)


def test_a_request_that_a_worker_cannot_read_ends_too(staff, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "")  # the worker does not find `chores`
    job = staff().submit(tab_of("a"), chores.count, (1, 0), 1.0)
    assert job.over.wait(40)
    assert isinstance(job.error, WorkerDied)


def test_the_estimate_learns_from_what_it_took(staff):
    workers = staff()
    assert workers.submit(tab_of("a"), chores.count, (1, 1.0), 0.2).over.wait(40)
    assert workers.pace > 1
    assert workers.submit(tab_of("a"), chores.count, (2, 0.0), 1.0).expected > 1


def test_results_are_never_more_bytes_than_the_limit():
    kept = ResultCache(1000)
    for number in range(50):
        kept.put(("f", (number,)), bytes(90))
        assert kept.nbytes <= 1000
    assert kept.get(("f", (49,))) is not None
    assert kept.get(("f", (0,))) is None
    kept.put(("f", (bytes(2000),)), b"")
    assert kept.get(("f", (bytes(2000),))) is None, "what it was made from counts too"
    kept.put(("f", ("large",)), bytes(2000))
    assert kept.get(("f", ("large",))) is None


def test_a_worker_and_its_folder_go_when_its_server_is_killed(staff, tmp_path):
    code = (
        f"import sys, time; sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(ROOT)!r}]\n"
        "import chores; from collsim.app.jobs.worker_pool import WorkerPool; from collsim.app.jobs.computation import Tab\n"
        "job = WorkerPool(1).submit(Tab('a'), chores.count, (10**6, 0.01), 1.0)\n"
        "while not job.share: time.sleep(0.05)\n"
        "print(job.worker.process.pid, flush=True); time.sleep(600)"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    pid = int(server.stdout.readline())
    assert alive(pid)
    (folder,) = tmp_path.iterdir()
    server.send_signal(signal.SIGKILL)
    server.wait()
    eventually(lambda: not alive(pid), 5.0)
    assert not folder.exists()


def test_once_all_is_closed_no_process_and_no_folder_comes_after(staff, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    started = []

    class Slow(worker_pool.WorkerProcess):
        def __init__(self, row):
            super().__init__(row)
            started.append(row)
            time.sleep(0.5)

    monkeypatch.setattr(worker_pool, "WorkerProcess", Slow)
    workers = staff()
    job = workers.submit(tab_of("a"), chores.count, (10**6, 0.01), 1.0)
    eventually(lambda: job.share)
    workers.submit(tab_of("a"), chores.count, (1, 0.01), 10.0)
    eventually(lambda: len(started) == 2)  # and it is still being started
    workers.close()
    assert not list(tmp_path.iterdir())
    time.sleep(1.0)
    assert len(started) == 2
    assert not list(tmp_path.iterdir())


def test_a_folder_goes_though_a_file_comes_at_the_last_moment(tmp_path, monkeypatch):
    folder = tmp_path / "work"
    folder.mkdir()
    real, late = os.rmdir, [folder / "late"]

    def rmdir(path, **given):
        if late:
            late.pop().touch()
        real(path, **given)

    monkeypatch.setattr(os, "rmdir", rmdir)
    remove_folder(str(folder))
    assert not late
    assert not folder.exists()


def test_one_client_has_so_many_computations_at_a_time_and_others_go_on(staff):
    workers = staff(count=0)
    jobs = [workers.submit(tab_of(f"a{k}"), chores.count, (k, 0.0), 1.0) for k in range(MAX_PER_CLIENT)]
    with pytest.raises(TooManyJobs):
        workers.submit(tab_of("a9"), chores.count, (9, 0.0), 1.0)
    assert workers.submit(tab_of("a9"), chores.count, (0, 0.0), 1.0) is jobs[0], "to wait with somebody costs nothing"
    workers.submit(tab_of("b1"), chores.count, (10, 0.0), 1.0)
    workers.leave(tab_of("a1"), jobs[1])
    workers.submit(tab_of("a9"), chores.count, (9, 0.0), 1.0)


def test_all_clients_together_have_a_limit_and_whoever_sits_at_the_computer_has_none(staff):
    workers = staff(count=0)
    for k in range(MAX_JOBS):
        workers.submit(tab_of(f"{k} student"), chores.count, (k, 0.0), 1.0)
    with pytest.raises(TooManyJobs):
        workers.submit(tab_of("one more"), chores.count, (-1, 0.0), 1.0)
    for k in range(MAX_PER_CLIENT + 1):
        workers.submit(tab_of("here"), chores.count, (1000 + k, 0.0), 1.0)


def test_who_asks_for_little_does_not_wait_behind_all_that_another_asked_for(staff):
    workers = staff()
    jobs = [workers.submit(tab_of(f"a{k}"), chores.count, (5, 0.1 + k / 1000), 1.0) for k in range(5)]
    assert eventually(lambda: jobs[0].began is not None)
    assert [workers.count_ahead(job) for job in jobs[1:]] == [1, 2, 3, 4]
    modest = workers.submit(tab_of("b1"), chores.count, (1, 0.0), 1.0)
    assert workers.count_ahead(modest) == 1, "only what is under way"
    assert modest.over.wait(40)
    assert sum(job.began is not None for job in jobs) <= 2


def test_of_two_workers_those_who_used_much_hold_one(staff):
    workers = staff(count=2)
    for client, seconds in {"a": 100.0, "c": 100.0, "b": 1.0, "d": 1.0, "e": 1.0}.items():
        workers._usage.add({client}, seconds)
    greedy = [
        workers.submit(tab_of(who), chores.count, (10**6, 0.01 + k / 1000), 1.0) for k, who in enumerate(("a1", "c1"))
    ]
    assert eventually(lambda: greedy[0].began is not None)
    assert workers.submit(tab_of("b1"), chores.count, (1, 0.0), 1.0).over.wait(40)
    assert greedy[1].began is None
    workers.leave(tab_of("a1"), greedy[0])
    assert eventually(lambda: greedy[1].began is not None)


def test_code_that_never_ends_keeps_nobody_elses_runs_waiting(staff):
    workers = staff()
    codes = [workers.submit(tab_of(f"a{k}"), chores.count, (10**6, 0.01 + k / 1000), 0.0) for k in range(4)]
    assert workers.submit(tab_of("b1"), chores.count, (1, 0.0), 1.0).over.wait(40)
    assert not any(job.over.is_set() for job in codes)
    assert sum(job.began is not None for job in codes) == 1


def test_pages_that_open_at_the_same_moment_share_their_workers(monkeypatch):
    made = []

    class Slow(WorkerPool):
        def __init__(self, **given):
            time.sleep(0.05)
            made.append(given)

    worker_pool._create_worker_pool.cache_clear()
    monkeypatch.setattr(worker_pool, "WorkerPool", Slow)
    monkeypatch.setattr(worker_pool, "register_shutdown", lambda end: None)
    with ThreadPoolExecutor(8) as pages:
        staff = {id(one) for one in pages.map(lambda _: worker_pool.get_worker_pool(), range(8))}
    worker_pool._create_worker_pool.cache_clear()
    assert len(made) == len(staff) == 1
