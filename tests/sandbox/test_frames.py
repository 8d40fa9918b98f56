"""Whatever comes out of a box is a schedule or a sentence; nothing that is sent stops the one who reads it."""

import struct

import numpy as np
import pytest

import collsim as cs
from collsim.sandbox import Limits, attempt, frames
from collsim.sandbox.attempt import Ended
from collsim.sandbox.frames import Ending, Kind, build_frame
from collsim.sandbox.learner_tables import FunctionRequest, send_tables
from collsim.teach import exercise
from collsim.teach.exercises.exercise import judge_attempt

TWO = FunctionRequest("broadcast", (2,))
ROW = np.array([0, 1, 0, 0, 0, 0], "<i4").tobytes()
DONE = build_frame(Kind.DONE)


def tried(data, wanted=TWO, how=Ending.WELL):
    return attempt.read_attempt(Ended(data, how), wanted, Limits())


def table(*numbers, rest=ROW):
    return build_frame(Kind.TABLE, numbers, rest) + DONE


def test_what_is_sent_comes_back():
    sent = []
    send_tables(
        lambda: lambda n: [cs.copy(0, np.arange(1, n), chunk=0)],
        FunctionRequest("broadcast", (2, 5)),
        Limits(),
        sent.append,
    )
    made = tried(b"".join(sent), FunctionRequest("broadcast", (2, 5)))
    assert made.error is None
    assert {n: len(s) for n, s in made.schedules.items()} == {2: 1, 5: 4}
    cs.verify(made.schedules[5])


def test_a_repeated_pattern_comes_back_as_one():
    def repeated(n):
        r = np.arange(n)
        yield cs.steps.repeat(cs.copy(r, (r + 1) % n, chunk=r), n - 1, -1, n)

    sent = []
    wanted = FunctionRequest("allgather", (4,))
    send_tables(lambda: repeated, wanted, Limits(), sent.append)
    (only,) = tried(b"".join(sent), wanted).schedules[4].patterns
    assert (only.times, only.shift, only.modulus) == (3, -1, 4)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "ended before it was done"),
        (b"rubbish", "ended before it was done"),
        (b'{"n":2,"chunks":Infinity}', "ended before it was done"),
        (b"[" * 200_000, "ended before it was done"),
        (build_frame(9), "not a table"),
        (build_frame(Kind.TABLE), "not a table"),
        (table(3, 1, 1, 0), "not a table"),
        (table(2, 1, 1, 2**40), "not a table"),
        (table(2, 1, 1, -1), "not a table"),
        (table(2, 1, 1, 1, 5, 1, 0, 1), "not a table"),
        (table(2, 1, 1, 1, 1, 10**12, 0, 1), "more than"),
        (table(2, 1, 1, 1, 1, -5, 0, 1), "less than once"),
        (table(2, 1, 1, 1, 1, 2, 2**62, 1), "shift or modulus"),
        (table(2, 1, 1, 1, 1, 2, 1, 2**62), "shift or modulus"),
        (table(2, 1, 1, 1, 1, 2, 1, 10**6), "chunk 999,999 is used"),
        (table(2, -5, 10**12, 0), "at most"),
        (table(2, 2**62, 1, 0), "at most"),
        (table(2, -5, 1, 0), "do not fit"),
        (table(2, 1, 1, 1, 1, 1, 0, 1, rest=np.array([0, 7, 0, 0, 0, 0], "<i4").tobytes()), "does not exist"),
        (table(2, 1, 1, 1, 1, 1, 0, 1, rest=np.array([0, 1, 0, 0, 0, 2**31 - 1], "<i4").tobytes()), "a channel is"),
        (table(2, 1, 1, 1, 1, 1, 0, 1, rest=np.array([0, 1, 0, 0, 0, -1], "<i4").tobytes()), "a channel is"),
        (build_frame(Kind.FAILED, (2, 2**62, -(2**62), 3, 9), b"\xff\x1b[2J") + DONE, "\N{REPLACEMENT CHARACTER}"),
        (struct.pack("<qq", 1, 2**62), "ended before it was done"),
        (struct.pack("<qq", 1, -1), "ended before it was done"),
        (struct.pack("<qq", 3, 0) * 10**5, "ended before it was done"),
    ],
)
def test_a_child_that_sends_rubbish_is_not_believed(data, says):
    made = tried(data)
    assert made.schedules == {}
    assert says in str(made.error)
    assert str(made.error).replace("\n", "").isprintable()


def test_how_a_process_ended_is_told():
    for how, says in ((Ending.LATE, "within 10 seconds"), (Ending.TOO_MUCH, "more than is read"), (-11, "signal 11")):
        assert says in str(tried(b"", how=how).error)


@pytest.mark.slow
def test_six_thousand_random_frames_are_judged_without_an_exception():
    """Frames of noise, of small whole numbers, and right ones with some bytes changed."""
    random = np.random.default_rng(15)
    sent: list[bytes] = []
    task = exercise("ring-allgather").task
    wanted = FunctionRequest(task.collective, (2, 3, 4))

    def ring(n):
        r = np.arange(n)
        yield cs.steps.repeat(cs.copy(r, (r + 1) % n, chunk=r), n - 1, -1, n)

    send_tables(lambda: ring, wanted, Limits(), sent.append)
    right = b"".join(sent)
    assert judge_attempt(exercise("ring-allgather"), tried(right, wanted)).schedule is not None
    outcomes = {"right": 0, "wrong": 0}
    for number in range(6_000):
        result = judge_attempt(exercise("ring-allgather"), tried(_hostile(random, number, right), wanted))
        assert result.reason
        outcomes["right" if result.passed else "wrong"] += 1
    assert outcomes["wrong"] > 5_000


def _hostile(random, number, right):
    if number % 3 == 0:
        return random.bytes(int(random.integers(0, 300)))
    if number % 3 == 1:
        big = random.choice([1, 3, 100, 2**31, 2**62])
        numbers = [2, *random.integers(-2, 1 + big, 3), *random.integers(-2, 6, int(random.integers(0, 9)))]
        few = random.integers(-1, 5, int(random.integers(0, 40))).astype("<i4").tobytes()
        return build_frame(Kind(int(random.integers(1, 6))), [int(k) for k in numbers], few) + DONE
    changed = bytearray(right)
    for at in random.integers(0, len(right), int(random.integers(1, 4))):
        changed[at] = int(random.integers(0, 256))
    return bytes(changed)


def test_steps_count_for_all_numbers_of_ranks_together():
    """Reading a table costs its steps, however few seconds it took to write it: 19,000 and 19,000 are not read."""
    wanted = FunctionRequest("broadcast", (2, 3))
    shapes = [1, 1, 0, 1] * 19_000
    rows = np.tile(np.array([[0], [1], [0], [0], [0], [0]], "<i4"), 19_000).tobytes()
    data = b"".join(build_frame(Kind.TABLE, (n, 1, 1, 19_000, *shapes), rows) for n in (2, 3)) + DONE
    made = tried(data, wanted)
    assert set(made.schedules) == {2}
    assert made.failed == 3
    assert "1,000 steps" in str(made.error)


def test_jobs_that_are_cut_off_or_say_too_much_end_the_reading():
    import io

    whole = frames.build_ending(0, 0, b"abc") + frames.build_ending(1, 2, b"")
    assert list(frames.read_endings(io.BytesIO(whole).read, 10)) == [(0, 0, b"abc"), (1, 2, b"")]
    for cut in range(len(whole) - 1):
        assert len(list(frames.read_endings(io.BytesIO(whole[:cut]).read, 10))) < 2
    for size in (-1, 2**62, 10**6):
        assert list(frames.read_endings(io.BytesIO(struct.pack("<qqq", 0, 0, size) + b"x" * 100).read, 10)) == []
