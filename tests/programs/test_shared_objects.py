"""Threads that wait for a queue, a lock or an event: for whom they wait, and the cycles among them."""

import pathlib

import pytest

HEAD = "import queue, threading\n"
START = """
threads = [threading.Thread(target=work, args=(r,)) for r in range(size)]
for t in threads: t.start()
for t in threads: t.join()
"""
FULL_RING = """
size = 4
boxes = [queue.Queue(maxsize=1) for _ in range(size)]
def work(rank):
    for part in range(2):
        boxes[(rank + 1) % size].put(part)
    return [boxes[rank].get() for _ in range(2)]
"""
LOCKS = """
size = 3
locks = [threading.Lock() for _ in range(size)]
all_hold = threading.Barrier(size)
def work(rank):
    with locks[rank]:
        all_hold.wait()
        with locks[(rank + 1) % size]:
            pass
"""
BOTH_GET = """
size = 2
a, b = queue.Queue(), queue.Queue()
def work(rank):
    mine, other = (a, b) if rank == 0 else (b, a)
    value = mine.get()
    other.put(value + 1)
"""
EVENTS = """
size = 2
events = [threading.Event(), threading.Event()]
def work(rank):
    events[rank].wait()
    events[1 - rank].set()
"""


@pytest.mark.parametrize(
    ("source", "call", "cycle"),
    [
        (FULL_RING, "put", (0, 1, 2, 3)),
        (LOCKS, "acquire", (0, 1, 2)),
        (BOTH_GET, "get", (0, 1)),
        (EVENTS, "wait", (0, 1)),
    ],
)
def test_a_wait_for_what_threads_share_has_peers_and_a_cycle(run_program, source, call, cycle):
    run = run_program(HEAD + source + START)
    assert run.verdict == "hangs"
    assert run.cycle == cycle
    following = dict(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
    assert {wait.rank: wait.peers for wait in run.waits} == {rank: (peer,) for rank, peer in following.items()}
    assert {wait.call for wait in run.waits} == {call}


def test_full_queues_end_where_everything_is_buffered(run_program):
    assert "ends where every message is buffered" in run_program(HEAD + FULL_RING + START).explanation()
    assert "buffered" not in run_program(HEAD + BOTH_GET + START).explanation()


def test_a_consumer_waits_for_a_producer_that_has_ended(run_program):
    source = """
size = 2
box = queue.Queue()
def work(rank):
    for _ in range(3 + rank):
        box.get() if rank else box.put(1)
"""
    run = run_program(HEAD + source + START)
    assert [(wait.rank, wait.peers, wait.ended) for wait in run.waits] == [(1, (0,), (0,))]
    assert run.cycle is None


def test_the_main_thread_that_joins_before_it_takes_is_in_the_cycle(run_program):
    source = """
box = queue.Queue(maxsize=2)
def work():
    for k in range(4):
        box.put(k)
t = threading.Thread(target=work)
t.start()
t.join()
print([box.get() for _ in range(4)])
"""
    run = run_program(HEAD + source)
    assert run.verdict == "hangs"
    assert {(wait.call, wait.line) for wait in run.waits} == {("join", 9), ("put", 6)}
    assert run.cycle == (-1, 0)  # -1 is the main thread
    assert "The main thread waits in join (line 9) for rank 0" in run.explanation()
    assert "-1" not in run.explanation() + run.explanation("zh")


def test_the_main_thread_has_its_name_among_several_cycles(run_program):
    source = """
box, first, second = queue.Queue(maxsize=1), threading.Lock(), threading.Lock()
def put_twice():
    box.put(1)
    box.put(2)
def take(one, other, mine, theirs):
    with one:
        mine.set()
        theirs.wait()
        with other:
            pass
a, b = threading.Event(), threading.Event()
threads = [threading.Thread(target=put_twice), threading.Thread(target=take, args=(first, second, a, b)),
           threading.Thread(target=take, args=(second, first, b, a))]
for t in threads:
    t.start()
threads[0].join()
print(box.get(), box.get())
"""
    run = run_program(HEAD + source)
    assert set(run.cycles) == {(-1, 0), (1, 2)}
    for language in ("en", "zh"):
        assert "main → 0 → main" in run.explanation(language)
        assert "1 → 2 → 1" in run.explanation(language)
        assert "-1" not in run.explanation(language)


CONDITION = """
condition, items = threading.Condition(), []
def take():
    with condition:
        {wait}
        items.append(items.pop() + 1)
def give():
    with condition:
        items.append(5)
        {notify}
threads = [threading.Thread(target=f) for f in (take, give)]
for t in threads: t.start()
for t in threads: t.join()
print(items)
"""


@pytest.mark.parametrize("wait", ["while not items: condition.wait()", "condition.wait_for(lambda: items)"])
@pytest.mark.parametrize("notify", ["condition.notify()", "condition.notify_all()"])
def test_a_condition_lets_its_lock_go_until_it_is_notified(run_program, wait, notify):
    run = run_program(HEAD + CONDITION.format(wait=wait, notify=notify))
    assert (run.verdict, run.printed) == ("ends", ("[6]\n",))
    silent = run_program(HEAD + CONDITION.format(wait=wait, notify="pass"))
    assert silent.verdict == "hangs"
    assert [(wait.call, wait.line) for wait in silent.waits if wait.rank >= 0] == [("wait", 6)]


def test_a_condition_wants_its_lock(run_program):
    run = run_program(HEAD + "threading.Condition().notify()\n")
    assert (run.verdict, "un-acquired lock" in str(run)) == ("error", True)


def test_a_condition_gives_back_a_lock_that_was_taken_twice(run_program):
    source = CONDITION.format(wait="with condition:\n            condition.wait()", notify="condition.notify()")
    assert run_program(HEAD + source).verdict == "ends"


def test_no_thread_waits_for_itself(run_program):
    source = "size = 1\nbox = queue.Queue()\ndef work(rank):\n    box.put(1)\n    return box.get() + box.get()\n"
    run = run_program(HEAD + source + START)
    assert (run.verdict, run.cycle) == ("hangs", None)
    assert [wait.peers for wait in run.waits if wait.rank == 0] == [()]


def test_two_cycles_are_both_named(run_program):
    source = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\ncomm.recv(source=comm.rank ^ 1)\n"
    run = run_program(source, 4)
    assert run.cycle == (0, 1)
    assert run.cycles == ((0, 1), (2, 3))
    assert "2 separate cycles: 0 → 1 → 0, 2 → 3 → 2" in run.explanation()
    assert "2 个" in run.explanation("zh")


def test_the_given_program_with_full_queues_has_its_cycle(run_program):
    path = pathlib.Path(__file__).parents[3] / "shared/data/programs/o02_bounded_queues_full.py"
    if not path.exists():
        pytest.skip("the given programs are not at hand")
    run = run_program(path.read_text())
    assert run.cycle == (0, 1, 2, 3)
    assert {wait.line for wait in run.waits} == {18}
