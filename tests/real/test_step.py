"""A step of training on processes: buckets are sent as they fill, sums are right, and nothing stays of what ends it."""

import socket
import sys

import numpy as np
import pytest

import collsim as cs
from collsim.real import launch, step
from collsim.real.ranks.exchange import Exchange
from collsim.real.ranks.network import ImitatedNetwork
from collsim.real.ranks.program import Move, RankProgram
from collsim.real.ranks.wire import PeerWire
from collsim.training.workload.model import Layer, Model

FOUR = Model("four", tuple(Layer(f"layer {i}", (4096,), flops=1.0) for i in range(4)))  # 16 KiB of gradients each
GIVEN = {"compute": [(0.002, 0.03)] * 4, "alpha": "2ms", "bandwidth": "10MB/s"}


@pytest.fixture(scope="module")
def bucket_each():
    return cs.training_step_for_real(FOUR, 3, parallel=cs.ddp(1), repeat=2, **GIVEN)


def numbers(real, **wanted):
    """Tasks with these attributes, in the order in which they are issued."""
    tasks = real.predicted.step.tasks
    return [i for i, task in enumerate(tasks) if all(getattr(task, k) == v for k, v in wanted.items())]


def test_every_bucket_is_sent_after_its_gradients_and_beside_the_rest_of_the_backward(bucket_each):
    backward, buckets = (numbers(bucket_each, kind=kind) for kind in ("backward", "allreduce"))
    assert len(backward) == len(buckets) == 4
    begin, end = bucket_each.begin, bucket_each.end
    for passed, bucket in zip(backward, buckets, strict=True):
        assert (begin[:, :, bucket] >= end[:, :, passed]).all()
    assert (begin[:, :, buckets[0]] < end[:, :, backward[-1]]).all()  # it does not wait for the end of the backward
    assert (begin[:, :, buckets[1:]] >= end[:, :, buckets[:-1]]).all()  # one behind another, in order


def test_no_rank_sleeps_less_or_sends_faster_than_asked(bucket_each):
    took = bucket_each.end - bucket_each.begin
    assert (took[:, :, numbers(bucket_each, kind="backward")] >= 0.03).all()
    ended, began = (part[:, :, numbers(bucket_each, kind="allreduce")] for part in (bucket_each.end, bucket_each.begin))
    least = 2 * 2 * (0.002 + 16384 / 3 / 10e6)  # 2(n-1) messages of a third of a bucket, after the last rank came
    assert (ended.max(axis=1) - began.max(axis=1) >= 0.99 * least).all()


def test_all_sums_are_compared_and_the_measured_step_has_the_tasks_of_the_predicted_one(bucket_each):
    assert bucket_each.checked == 2 * 3 * 4 * 4096  # runs x ranks x layers x elements
    measured = bucket_each.measured
    assert measured.step is bucket_each.predicted.step
    assert measured.time == pytest.approx(bucket_each.time)
    assert list(bucket_each.beside["name"]) == [task.name for task in measured.step.tasks]
    assert bucket_each.times.shape == (2,)
    assert "2,048" not in bucket_each.said("zh")
    assert "逐位相同" in bucket_each.said("zh")


def test_without_overlap_all_buckets_wait_for_the_backward():
    real = cs.training_step_for_real(FOUR, 2, parallel=cs.ddp(1, overlap=False, hook="fp16"), **GIVEN)
    last = numbers(real, kind="backward")[-1]
    assert (real.begin[0][:, numbers(real, kind="allreduce")] >= real.end[0][:, [last]]).all()
    assert {task.nbytes for task in real.predicted.step.tasks if task.kind == "allreduce"} == {8192}


def test_a_straggler_sleeps_longer_and_the_others_wait_for_it_in_the_first_bucket():
    real = cs.training_step_for_real(FOUR, 2, parallel=cs.ddp("64KiB"), slow={1: 2.0}, **GIVEN)
    took = (real.end - real.begin)[0]
    backward, (bucket,) = numbers(real, kind="backward"), numbers(real, kind="allreduce")
    assert (took[1][backward] >= 0.06).all()
    assert took[0][backward].sum() < took[1][backward].sum()
    assert took[0][bucket] > 4 * 0.03  # rank 0 is there four layers of 30 ms before rank 1
    assert real.predicted.time > 4 * 0.06


def test_a_wrong_sum_is_an_error(monkeypatch):
    usual = step.expected_of

    def other(run):
        values, held, expected = usual(run)
        expected[1][0] = expected[1][0] + 1
        return values, held, expected

    monkeypatch.setattr(step, "expected_of", other)
    with pytest.raises(cs.CollsimError, match=r"run 1 left .* elements of rank 1 other than replay has them"):
        cs.training_step_for_real(FOUR, 2, **GIVEN)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_rank_that_is_killed_in_a_step_is_named_and_the_others_end(monkeypatch):
    crews, old = [], launch.Crew

    class Watched(old):
        def __init__(self, *given):
            super().__init__(*given)
            crews.append(self)

    monkeypatch.setattr(launch, "Crew", Watched)
    with pytest.raises(cs.CollsimError, match=r"the process of endpoint 2 was killed \(signal 9\)"):
        cs.training_step_for_real(FOUR, 3, progress=lambda done, total: done and crews[0].processes[2].kill(), **GIVEN)
    assert all(process.poll() is not None for process in crews[0].processes)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"parallel": cs.zero(1)}, "is not run for real; use ddp"),
        (
            {"model": cs.Model("bare", (cs.Layer("a", flops=1e9),)), "compute": "1ms"},
            "bare has no parameters, so nothing would be sent",
        ),
        ({"slow": [1]}, r"slow=\[1\] must be a dict of ranks"),
        ({"ranks": 17}, "ranks=17 must be from 2 to 16"),
        ({"bandwidth": None}, "a step of training is paced"),
        ({"model": "resnet50", "compute": "97ms"}, "is more than 64.MiB, the most that is run for real here"),
        ({"repeat": 90, "time_limit": "5s"}, "90 runs and one to warm up would take"),
        ({"compute": "A100", "bandwidth": "1B/s"}, "more than time_limit=60 s"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_starts(wrong, said, monkeypatch):
    monkeypatch.setattr(step, "led", None)
    asked = {"model": FOUR, "ranks": 2} | GIVEN | wrong
    with pytest.raises(cs.CollsimError, match=said):
        cs.training_step_for_real(asked.pop("model"), **asked)


def test_what_a_rank_sends_of_the_next_bucket_waits_for_its_turn():
    """Rank 0 sends both buckets at once, the rows of the second from 1 on; rank 1 is still in the first."""
    one, other = (PeerWire(1 - k, sock) for k, sock in enumerate(socket.socketpair()))
    fast = ImitatedNetwork()
    for row in (0, 1):
        sends = RankProgram(0, (Move(row, 0, 0, 1, 0),), (), {0: ((False, 0),)})
        Exchange(sends, [np.full(4, row + 1.0)], {1: one}, fast).run(0.0)
    got = []
    for row, beyond in ((0, 1), (1, 2)):
        slots = [np.zeros(4)]
        receives = RankProgram(1, (), (Move(row, 0, 0, 0, 0),), {0: ((True, 0),)})
        Exchange(receives, slots, {0: other}, fast, beyond=beyond).run(0.0)
        got.append(slots[0].tolist())
    assert got == [[1.0] * 4, [2.0] * 4]
    one.close()
    other.close()
