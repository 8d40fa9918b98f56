"""A step of training on processes: buckets are sent as they fill, sums are right, and nothing stays of what ends it."""

import socket
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.lab import launch, rank_steps, real_step_run
from collsim.lab.ranks.emulated_network import ImitatedNetwork
from collsim.lab.ranks.endpoint_program import Move, RankProgram
from collsim.lab.ranks.exchange import Exchange
from collsim.lab.ranks.nic import RankNic
from collsim.lab.ranks.wire import PeerWire
from collsim.train.workload.model import Layer, Model
from collsim.train.workload.step_graph import StepTask, StepTasks, TrainingStep

FOUR = Model("four", tuple(Layer(f"layer {i}", (4096,), flops=1.0) for i in range(4)))  # 16 KiB of gradients each
GIVEN = {"compute": [(0.002, 0.03)] * 4, "alpha": "2ms", "bandwidth": "10MB/s"}


@pytest.fixture(scope="module")
def bucket_each():
    return cs.lab.training_step_for_real(FOUR, 3, parallel=cs.ddp(1), repeat=2, **GIVEN)


def numbers(real, **wanted):
    """Tasks with these attributes, in the order in which they are issued."""
    tasks = real.predicted.step.tasks
    return [i for i, task in enumerate(tasks) if all(getattr(task, k) == v for k, v in wanted.items())]


def test_every_bucket_is_sent_after_its_gradients_and_next_to_the_rest_of_the_backward(bucket_each):
    backward, buckets = (numbers(bucket_each, kind=kind) for kind in ("backward", "allreduce"))
    assert len(backward) == len(buckets) == 4
    begin, end = bucket_each.begin, bucket_each.end
    for passed, bucket in zip(backward, buckets, strict=True):
        assert (begin[:, :, bucket] >= end[:, :, passed]).all()
    assert (begin[:, :, buckets[0]] < end[:, :, backward[-1]]).all()  # it does not wait for the end of the backward
    assert (begin[:, :, buckets[1:]] >= end[:, :, buckets[:-1]]).all()  # one behind another, in order


def test_no_rank_sleeps_less_or_sends_faster_than_asked(bucket_each):
    took = bucket_each.end - bucket_each.begin
    assert (took[:, :, numbers(bucket_each, kind="backward")] >= 0.03 - 1e-9).all()
    ended, began = (part[:, :, numbers(bucket_each, kind="allreduce")] for part in (bucket_each.end, bucket_each.begin))
    least = 2 * 2 * (0.002 + 16384 / 3 / 10e6)  # 2(n-1) messages of a third of a bucket, after the last rank came
    assert (ended.max(axis=1) - began.max(axis=1) >= 0.99 * least).all()


def test_all_sums_are_compared_and_the_measured_step_has_the_tasks_of_the_predicted_one(bucket_each):
    assert bucket_each.checked == 2 * 3 * 4 * 4096  # runs x ranks x layers x elements
    measured = bucket_each.measured
    assert measured.step is bucket_each.predicted.step
    assert measured.time == pytest.approx(bucket_each.time)
    assert list(bucket_each.comparison["name"]) == [task.name for task in measured.step.tasks]
    assert bucket_each.times.shape == (2,)
    assert "2,048" not in bucket_each.text("zh")
    assert "逐位相同" in bucket_each.text("zh")


def test_without_overlap_all_buckets_wait_for_the_backward():
    real = cs.lab.training_step_for_real(FOUR, 2, parallel=cs.ddp(1, overlap=False, hook="fp16"), **GIVEN)
    last = numbers(real, kind="backward")[-1]
    assert (real.begin[0][:, numbers(real, kind="allreduce")] >= real.end[0][:, [last]]).all()
    assert {task.nbytes for task in real.predicted.step.tasks if task.kind == "allreduce"} == {8192}


def test_a_straggler_sleeps_longer_and_the_others_wait_for_it_in_the_first_bucket():
    real = cs.lab.training_step_for_real(FOUR, 2, parallel=cs.ddp("64KiB"), slow={1: 2.0}, **GIVEN)
    took = (real.end - real.begin)[0]
    backward, (bucket,) = numbers(real, kind="backward"), numbers(real, kind="allreduce")
    assert (took[1][backward] >= 0.06 - 1e-9).all()
    assert took[0][backward].sum() < took[1][backward].sum()
    assert took[0][bucket] > 4 * 0.03  # rank 0 is there four layers of 30 ms before rank 1
    assert real.predicted.time > 4 * 0.06


# ---- other ways of splitting

BLOCKS = real_step_run.build_equal_layers(4, "16KiB", "8KiB")


def least(real, number):
    """s that a collective takes at least, once all who send have begun: what its schedule asks of the network."""
    return 0.99 * float(real.predicted.end[number] - real.predicted.begin[number])


def test_fsdp_gathers_the_next_block_while_one_computes_and_reduces_next_to_the_backward():
    real = cs.lab.training_step_for_real(BLOCKS, 3, parallel=cs.fsdp(), **GIVEN)
    gathers, forward = (numbers(real, kind=kind) for kind in ("allgather", "forward"))
    begin, end = real.begin[0], real.end[0]
    for block, computed in enumerate(forward):
        assert (begin[:, computed] >= end[:, gathers[block]]).all()  # its weights are there
    assert (begin[:, gathers[1]] < end[:, forward[0]]).all()  # the next ones come meanwhile
    reduces = numbers(real, kind="reduce_scatter")
    assert len(reduces) == 4
    assert (begin[:, reduces[0]] < begin[:, numbers(real, kind="backward")[-1]]).all()
    assert len(gathers) == 8  # given back after the forward pass, so gathered again
    assert real.checked == (3 * 8 + 4) * 4096  # all of what is gathered on each rank, a third of what is reduced


@pytest.mark.parametrize(("schedule", "order"), [("gpipe", "fffbbb"), ("1f1b", "ffbfbb")])
def test_stages_of_a_pipeline_compute_when_what_they_read_has_come(schedule, order):
    real = cs.lab.training_step_for_real(BLOCKS, 2, parallel=cs.pipeline(2, schedule), batch=3, **GIVEN)
    tasks, begin, end = real.predicted.step.tasks, real.begin[0], real.end[0]
    sends = numbers(real, kind="send")
    assert len(sends) == 6  # activations and gradients of three microbatches
    for number in sends:
        source, target = tasks[number].ranks
        reads = [
            k for k, before in enumerate(real.predicted.step.predecessors) if number in before and tasks[k].is_compute
        ]
        assert (begin[target, reads] >= end[target, number]).all()
        assert end[target, number] - real.sent[0][source, number] >= least(real, number)
        assert np.isnan(real.sent[0][target, number])
    passes = [k for k in np.argsort(begin[0]) if tasks[k].kind in ("forward", "backward") and 0 in tasks[k].lanes]
    assert "".join(tasks[k].kind[0] for k in passes) == order


def test_servers_are_processes_of_their_own_and_their_sums_are_right():
    real = cs.lab.training_step_for_real(FOUR, 3, parallel=cs.parameter_server(2, bucket=1), **GIVEN)
    assert real.begin.shape == (1, 3, len(real.predicted.step.tasks))  # ranks; the servers are no GPUs
    assert real.checked == 3 * 4 * 4096


def test_a_product_of_ways_runs_its_groups_at_the_same_time():
    real = cs.lab.training_step_for_real(BLOCKS, 4, parallel=cs.pipeline(2) * cs.ddp("16KiB"), **GIVEN)
    buckets = numbers(real, kind="allreduce")
    assert len(buckets) == 4
    took_part = ~np.isnan(real.end[0][:, buckets])
    assert took_part.sum(axis=0).tolist() == [2, 2, 2, 2]  # each stage's two replicas


@pytest.mark.parametrize(
    ("layers", "says"),
    [
        ("²", "layers='²' is not a whole number"),
        ("9" * 5000, "layers='9+…' of 5,000 characters is not a whole number"),
        ("99999999", "layers=99999999 is too large; layers is at most 1,000"),
        ("0", "layers='0' is too small"),
    ],
    ids=["superscript", "digits", "many", "none"],
)
def test_a_number_of_layers_that_nobody_means_is_a_sentence_before_anything_is_made(layers, says):
    with pytest.raises(cs.CollsimError, match=says):
        real_step_run.build_equal_layers(layers, "1KiB")
    run = CliRunner().invoke(app, ["real-step", f"{layers}x1KiB", "--ranks", "2"])
    assert isinstance(run.exception, (cs.CollsimError, SystemExit)), run.exception


def test_computing_that_waits_for_another_rank_without_a_message_is_refused():
    own = StepTask("a", "forward", (0,)), StepTask("b", "forward", (1,), dependencies=(0,))
    silent = TrainingStep(FOUR, "by hand", ((0,), (1,)), StepTasks(own), 2, 1, "float32")
    with pytest.raises(cs.CollsimError, match="by hand: b waits for a of other ranks, and nothing is sent"):
        rank_steps.require_messages(silent)
    told = replace(
        silent,
        tasks=StepTasks(
            [
                own[0],
                StepTask("m", "send", (0, 1), "network", (0,)),
                StepTask("b", "forward", (1,), dependencies=(1,)),
            ]
        ),
    )
    rank_steps.require_messages(told)


def test_a_wrong_sum_is_an_error(monkeypatch):
    usual = rank_steps.draw_numbers

    def draw_wrong_numbers(run, seed):
        values, held, expected = usual(run, seed)
        expected[1][0] = expected[1][0] + 1
        return values, held, expected

    monkeypatch.setattr(rank_steps, "draw_numbers", draw_wrong_numbers)
    with pytest.raises(cs.CollsimError, match=r"run 1 left .* elements of rank 1 other than replay has them"):
        cs.lab.training_step_for_real(FOUR, 2, **GIVEN)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_rank_that_is_killed_in_a_step_is_named_and_the_others_end(monkeypatch):
    crews, old = [], launch.RankProcesses

    class Watched(old):
        def __init__(self, *given):
            super().__init__(*given)
            crews.append(self)

    monkeypatch.setattr(launch, "RankProcesses", Watched)
    with pytest.raises(cs.CollsimError, match=r"the process of endpoint 2 was killed \(signal 9\)"):
        cs.lab.training_step_for_real(
            FOUR, 3, progress=lambda done, total: done and crews[0].processes[2].kill(), **GIVEN
        )
    assert all(process.poll() is not None for process in crews[0].processes)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"parallel": cs.parameter_server(synchronous=False)}, "workers that wait for nobody are not run for real"),
        ({"ranks": 16, "parallel": cs.parameter_server(2)}, "would start 18 processes; 16 is the most here"),
        ({"parallel": cs.pipeline(4)}, "pipeline"),
        (
            {"model": cs.train.Model("bare", (cs.train.Layer("a", flops=1e9),)), "compute": "1ms"},
            "bare: nothing would be sent in this step",
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
    monkeypatch.setattr(real_step_run, "lead_runs", None)
    asked = {"model": FOUR, "ranks": 2} | GIVEN | wrong
    with pytest.raises(cs.CollsimError, match=said):
        cs.lab.training_step_for_real(asked.pop("model"), **asked)


def test_what_comes_for_a_collective_that_has_not_begun_waits_for_it():
    """Rank 0 sends both at once, the rows of the second from 1 on; rank 1 begins the second when the first has ended."""
    one, other = (PeerWire(1 - k, sock) for k, sock in enumerate(socket.socketpair()))
    sender, receiver = RankNic(0, {1: one}, ImitatedNetwork()), RankNic(1, {0: other}, ImitatedNetwork())
    sends = RankProgram(0, (Move(0, 0, 0, 1, 0),), (), {0: ((False, 0),)})
    receives = RankProgram(1, (), (Move(0, 0, 0, 0, 0),), {0: ((True, 0),)})
    for row in (1, 0):
        Exchange(sends, [np.full(4, row + 1.0)], sender, first_row=row).run(0.0)
    slots = [[np.zeros(4)], [np.zeros(4)]]
    first, second = (Exchange(receives, slots[row], receiver, first_row=row) for row in (0, 1))
    first.run(0.0)
    assert [of[0].tolist() for of in slots] == [[1.0] * 4, [0.0] * 4]
    second.run(0.0)
    assert slots[1][0].tolist() == [2.0] * 4
    one.close()
    other.close()
