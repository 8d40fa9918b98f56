"""Failures over a run: Daly's published intervals, a run that is played out with random failures, and the limits."""

import math

import numpy as np
import pytest

import collsim as cs
from collsim.purchases.run_failures import find_best_checkpoint_interval

HOUR = 3600.0


@pytest.fixture(scope="module")
def step():
    network = cs.machine("dgx-h100", nodes=16)
    return cs.training_step("llama2-7b", network, parallel=cs.fsdp(), micro_batch=1, dtype="bfloat16")


@pytest.mark.parametrize(("hours", "minutes"), [(24, 117), (6, 57), (0.25, 9.1)])
def test_the_best_interval_is_dalys(hours, minutes):
    """Daly 2006, figures 3 to 5: a checkpoint of 5 minutes; his estimates are of higher order, not exact."""
    assert find_best_checkpoint_interval(300, hours * HOUR) / 60 == pytest.approx(minutes, rel=0.01)


def play_run(seconds, interval, checkpoint, restart, mtbf, random):
    """Seconds until so much has been computed for good, failure by failure."""
    clock = done = 0.0
    failure = random.exponential(mtbf)
    while done < seconds:
        end = clock + interval + checkpoint
        if end <= failure:
            clock, done = end, done + interval
            continue
        while failure < end:  # a restart may fail, too
            clock = failure
            failure = clock + random.exponential(mtbf)
            clock += restart
            if clock <= failure:
                break
    return clock


@pytest.mark.parametrize(
    ("checkpoint", "restart", "hours"), [(60, 600, 3), (300, 600, 1), (5, 30, 24), (120, 1800, 0.75)]
)
def test_goodput_is_that_of_a_run_with_random_failures(step, checkpoint, restart, hours):
    run = cs.purchases.estimate_goodput(
        step, checkpoint=checkpoint, restart=restart, gpu_mtbf=hours * 128, link_mtbf=math.inf, node_mtbf=math.inf
    )
    assert run.mtbf == pytest.approx(hours * HOUR)
    random = np.random.default_rng(1)
    segments = 20_000
    took = play_run(segments * run.interval, run.interval, checkpoint, restart, run.mtbf, random)
    assert run.goodput == pytest.approx(segments * run.interval / took, rel=0.02)
    shares = run.goodput, run.checkpoint_share, run.failure_share
    assert sum(shares) == pytest.approx(1)
    assert min(shares) > 0


def test_no_other_interval_is_better(step):
    best = cs.purchases.estimate_goodput(step, gpu_mtbf=400)
    for factor in (0.5, 0.9, 1.1, 2):
        other = cs.purchases.estimate_goodput(step, gpu_mtbf=400, interval=best.interval * factor)
        assert other.goodput < best.goodput
        assert other.best_interval == best.interval


def test_the_rates_are_those_of_llama_3(step):
    """419 unexpected interruptions in 54 days on 16,384 GPUs: each part's rate comes from that table."""
    run = cs.purchases.estimate_goodput(step, run_gpus=16_384)
    assert 54 * run.failures_per_day == pytest.approx(419, rel=1e-3)
    assert "2407.21783" in run.sources[0]
    assert run.gpus == 16_384


def test_parts_count_as_they_take_part(step):
    never = {"gpu_mtbf": math.inf, "link_mtbf": math.inf, "node_mtbf": math.inf}

    def count(traced, part):
        return HOUR / cs.purchases.estimate_goodput(traced, interval="1s", **{**never, part: 1.0}).mtbf

    assert [round(count(step, part)) for part in never] == [128, 128, 16]
    alone = cs.training_step("resnet50", "dgx-a100", parallel=cs.ddp(), batch=64, ranks=4)
    assert round(count(alone, "gpu_mtbf")) == 4
    assert cs.purchases.estimate_goodput(alone, interval="1s", **{**never, "link_mtbf": 1.0}).mtbf == math.inf


def test_without_failures_only_checkpoints_cost(step):
    run = cs.purchases.estimate_goodput(
        step, checkpoint="1s", interval="9s", gpu_mtbf=math.inf, link_mtbf=math.inf, node_mtbf=math.inf
    )
    assert run.goodput == pytest.approx(0.9)
    assert run.failure_share == pytest.approx(0)
    assert run.sources == ()
    assert math.isinf(run.best_interval)


def test_where_nothing_fails_and_checkpoints_are_free_all_time_trains(step):
    never = {"gpu_mtbf": math.inf, "link_mtbf": math.inf, "node_mtbf": math.inf}
    run = cs.purchases.estimate_goodput(step, checkpoint=0, **never)
    assert (run.best_interval, run.goodput) == (math.inf, 1.0)


def test_failures_that_come_faster_than_checkpoints_leave_nothing(step):
    run = cs.purchases.estimate_goodput(step, gpu_mtbf=1e-6, interval="1s")
    assert run.goodput == 0
    assert run.lost_gpu_hours_per_day == 24 * 128


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"gpu_mtbf": 0}, "gpu_mtbf"),
        ({"node_mtbf": True}, "node_mtbf"),
        ({"link_mtbf": math.nan}, "link_mtbf"),
        ({"checkpoint": "-1s"}, "negative"),
        ({"restart": "ten"}, "restart"),
        ({"run_gpus": 0}, "run_gpus"),
        ({"checkpoint": 0}, "takes no time"),
        ({"interval": 0}, "above 0"),
    ],
)
def test_what_cannot_be_is_refused(step, options, says):
    with pytest.raises(cs.CollsimError, match=says):
        cs.purchases.estimate_goodput(step, **options)


def test_the_sentences_have_the_figures_and_what_was_assumed(step):
    run = cs.purchases.estimate_goodput(step, run_gpus=16_384, interval="100s")
    for language, words in {
        "en": ("Assumed", "A checkpoint after every"),
        "zh": ("假设", "写一次检查点损失最小"),
    }.items():
        text = run.text(language)
        for word in (*words, "16,384", f"{100 * run.goodput:.1f} %", "3.09"):
            assert word in text, (language, word)
