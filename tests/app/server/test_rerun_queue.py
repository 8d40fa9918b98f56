"""The queue of reruns: one of each client at a time, whoever used least first, and no slot is lost."""

import random
import threading
import time

import pytest

from collsim.app.server import rerun_queue
from collsim.app.server.rerun_queue import BUDGET, HEAVY_PATIENCE, PATIENCE, REST, RerunQueue, ServerBusy

SOON = 20.0  # seconds for which a test waits for what should happen at once


class Clock:
    """A clock that tests set, and the processor time of each thread."""

    def __init__(self):
        self.now, self.thread = 0.0, threading.local()

    def __call__(self):
        return self.now

    def processor(self):
        return getattr(self.thread, "seconds", 0.0)

    def use(self, seconds):
        self.thread.seconds = self.processor() + seconds


class Rerun(threading.Thread):
    """A rerun of a client, which ends when it is told to."""

    def __init__(self, queue, client, clock=None, before=0.0):
        super().__init__(daemon=True)
        self.queue, self.client, self.clock, self.before = queue, client, clock, before
        self.begun, self.may_end, self.seconds, self.refused = threading.Event(), threading.Event(), 0.0, False
        self.start()

    def run(self):
        if self.before:
            self.clock.use(self.before)
        try:
            with self.queue.admit(self.client):
                self.begun.set()
                self.may_end.wait(20)
                if self.seconds:
                    self.clock.use(self.seconds)
        except ServerBusy:
            self.refused = True

    def begins(self):
        return self.begun.wait(SOON)

    def waits(self):
        return not self.begun.wait(0.1)

    def end(self, seconds=0.0):
        self.seconds = seconds
        self.may_end.set()
        self.join(SOON)
        assert not self.is_alive()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def build(clock, monkeypatch):
    monkeypatch.setattr(rerun_queue, "_POLL", 0.01)
    return lambda **options: RerunQueue(**{"clock": clock, "processor_clock": clock.processor} | options)


def count_begun(reruns, expected):
    """How many have begun when as many as expected should have, and a while later."""
    end = time.monotonic() + SOON
    while sum(rerun.begun.is_set() for rerun in reruns) < expected and time.monotonic() < end:
        time.sleep(0.005)
    time.sleep(0.1)
    return sum(rerun.begun.is_set() for rerun in reruns)


def use(queue, **seconds):
    for client, used in seconds.items():
        queue._usage.add([client], used)


def test_a_client_has_one_rerun_at_a_time_and_all_together_have_three(build):
    queue = build()
    first = Rerun(queue, "a")
    assert first.begins()
    second = Rerun(queue, "a")
    others = [Rerun(queue, client) for client in "bcd"]
    assert count_begun(others, 2) == 2
    assert second.waits()
    for other in others:
        other.end()
    assert second.waits()
    first.end()
    assert second.begins()
    second.end()


def test_of_those_that_wait_the_client_that_used_least_comes_first(build):
    queue = build(slots=1)
    use(queue, a=1.0, b=2.0, c=0.5)
    running = Rerun(queue, "x")
    assert running.begins()
    waiting = []
    for client in "abc":
        waiting.append(Rerun(queue, client))
        while len(queue._waiting) < len(waiting):
            time.sleep(0.001)
    order = []
    running.end()
    while len(order) < 3:
        begun = [rerun for rerun in waiting if rerun.begun.is_set() and rerun.client not in order]
        assert len(begun) <= 1
        for rerun in begun:
            order.append(rerun.client)
            rerun.end()
        time.sleep(0.001)
    assert order == ["c", "a", "b"]


def test_what_a_rerun_used_is_the_processor_time_of_its_thread(build, clock):
    queue = build()
    rerun = Rerun(queue, "a", clock)
    assert rerun.begins()
    clock.now += 30.0  # it waited for others
    rerun.end(seconds=1.5)
    assert queue._usage.seconds("a") == pytest.approx(1.5)


def test_what_a_thread_does_before_it_is_admitted_counts_too(build, clock):
    """What a control calls runs before the page is drawn."""
    queue = build()
    rerun = Rerun(queue, "a", clock, before=2.0)
    assert rerun.begins()
    rerun.end(seconds=1.0)
    assert queue._usage.seconds("a") == pytest.approx(3.0)


def test_a_thread_that_runs_a_page_twice_counts_its_time_once(build, clock):
    queue = build()
    for _ in range(2):
        with queue.admit("a"):
            clock.use(1.0)
    assert queue._usage.seconds("a") == pytest.approx(2.0)


def test_a_client_beyond_its_budget_begins_while_nobody_else_runs(build):
    queue = build()
    use(queue, heavy=100.0, other=100.0, a=1.0, b=1.0, c=1.0, d=1.0)
    modest = Rerun(queue, "a")
    assert modest.begins()
    heavy = [Rerun(queue, client) for client in ("heavy", "other")]
    assert all(rerun.waits() for rerun in heavy)
    modest.end()
    assert count_begun(heavy, 1) == 1
    light = Rerun(queue, "b")
    assert light.begins(), "the others begin at once all the same"
    for rerun in (light, *sorted(heavy, key=lambda rerun: not rerun.begun.is_set())):
        assert rerun.begins()
        rerun.end()


def test_it_leaves_the_lock_to_others_for_twice_the_time_that_it_had_it(build, clock):
    queue = build()
    use(queue, heavy=100.0, a=1.0, b=1.0, c=1.0)
    first = Rerun(queue, "heavy", clock)
    assert first.begins()
    first.end(seconds=2.0)
    second = Rerun(queue, "heavy")
    assert second.waits()
    clock.now += REST * 2.0 - 0.1
    assert second.waits()
    light = Rerun(queue, "a")
    assert light.begins()
    light.end()
    clock.now += 0.2
    assert second.begins(), "nobody asks for anything: it begins by itself"
    second.end()


def test_who_waits_for_too_long_is_refused_and_sooner_beyond_the_budget(build, clock):
    queue = build(slots=1)
    use(queue, heavy=100.0, a=1.0, b=1.0, c=1.0)
    running = Rerun(queue, "a")
    assert running.begins()
    heavy, light = Rerun(queue, "heavy"), Rerun(queue, "b")
    assert heavy.waits()
    clock.now += HEAVY_PATIENCE
    heavy.join(SOON)
    assert heavy.refused
    assert light.waits()
    assert light.is_alive()
    clock.now += PATIENCE - HEAVY_PATIENCE
    light.join(SOON)
    assert light.refused
    running.end()
    assert not queue._waiting
    assert not queue._running


def test_a_refusal_counts_what_was_done_before_it(build, clock):
    queue = build(slots=1)
    running = Rerun(queue, "a")
    assert running.begins()
    refused = Rerun(queue, "b", clock, before=3.0)
    assert refused.waits()
    clock.now += PATIENCE
    refused.join(SOON)
    assert queue._usage.seconds("b") == pytest.approx(3.0)
    running.end()


def finishes(act):
    """Whether something comes to an end soon, in a thread of its own."""
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(SOON)
    return not thread.is_alive()


def test_a_rerun_inside_of_another_one_does_not_wait(build):
    queue, counts = build(slots=1), []

    def rerun():
        with queue.admit("a"), queue.admit("a"):
            counts.append(queue._running.total())

    assert finishes(rerun)
    assert counts == [1]
    assert not queue._running


def test_whoever_sits_at_the_computer_does_not_wait(build, clock):
    queue = build(slots=1)
    running = Rerun(queue, "a")
    assert running.begins()

    def rerun():
        with queue.admit(""):
            clock.use(100.0)

    assert finishes(rerun)
    assert not queue.is_heavy("")
    running.end()


def test_what_a_rerun_raises_does_not_keep_its_slot(build):
    queue = build(slots=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), queue.admit("a"):
            raise ZeroDivisionError
    assert not queue._running


def test_a_class_behind_one_address_has_several_reruns_and_budgets(build):
    queue = build(slots=3, per_client=2)
    reruns = [Rerun(queue, "school") for _ in range(3)]
    assert count_begun(reruns, 2) == 2
    for rerun in reruns:
        rerun.end()
    use(queue, school=1.9 * BUDGET, a=0.1, b=0.1)
    assert not queue.is_heavy("school")
    use(queue, school=0.2 * BUDGET)
    assert queue.is_heavy("school")


def test_where_all_use_much_nobody_is_held_back_for_it(build):
    queue = build()
    use(queue, a=100.0, b=100.0, c=100.0)
    reruns = [Rerun(queue, client) for client in "abc"]
    assert all(rerun.begins() for rerun in reruns)
    for rerun in reruns:
        rerun.end()


def test_never_more_run_than_there_are_slots_and_in_the_end_none(monkeypatch):
    monkeypatch.setattr(rerun_queue, "_POLL", 0.001)
    queue, rng = RerunQueue(slots=4, per_client=2), random.Random(0)
    running, most, lock, all_used = dict.fromkeys("abcdefg", 0), [0, 0], threading.Lock(), threading.Event()

    def work(client, seconds):
        with queue.admit(client):
            with lock:
                running[client] += 1
                most[:] = max(most[0], running[client]), max(most[1], sum(running.values()))
                if most == [2, 4]:
                    all_used.set()
            # Until every slot was used at once nobody leaves: on a slow machine the work would end before the next begins.
            all_used.wait(SOON)
            time.sleep(seconds)
            with lock:
                running[client] -= 1

    clients = ["a", "a", *(rng.choice("abcdefg") for _ in range(200))]
    threads = [threading.Thread(target=work, args=(client, 0.002 * rng.random())) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert most == [2, 4]
    assert not queue._waiting
    assert not queue._running
