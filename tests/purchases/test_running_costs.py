"""Cost and energy of a step, an epoch and a run."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.purchases import (
    RunningCost,
    estimate_costs,
    estimate_days_like_step,
    estimate_training_days,
    find_gpu_watts,
    tabulate_costs,
)


@pytest.mark.parametrize(
    ("parameters", "tokens", "gpus", "flops", "days"),
    [(175e9, 300e9, 1024, 140e12, 33.9), (1008e9, 450e9, 3072, 163e12, 83.9)],
)
def test_the_formula_gives_the_published_days(parameters, tokens, gpus, flops, days):
    """Narayanan et al. 2021 (arXiv 2104.04473), section 5.1: 34 days of GPT-3, 84 of a trillion parameters (table 1:
    1008 billion)."""
    assert estimate_training_days(parameters, tokens, gpus, flops) == pytest.approx(days, abs=0.05)


@pytest.fixture(scope="module")
def step():
    return cs.training_step("gpt2-medium", cs.machine("pcie-8gpu", nodes=2), parallel=cs.ddp(), micro_batch=4,
                            dtype="bfloat16")  # fmt: skip


def test_a_run_is_as_many_steps_as_its_tokens_need(step):
    one, epoch, run = estimate_costs(step, gpu_hour=2.5, kwh=0.2, epoch=64_000, tokens=1e9)
    assert (one.seconds, epoch.steps) == (step.time, 1000)
    assert run.steps == pytest.approx(1e9 / (64 * 1024))
    for cost in (one, epoch, run):
        assert cost.seconds == pytest.approx(cost.steps * step.time)
        assert cost.gpu_hours == pytest.approx(cost.seconds * 16 / 3600)
        assert cost.kwh == pytest.approx(cost.gpu_hours * 0.3)  # 300 W of an A100 PCIe
        assert cost.money == pytest.approx(cost.gpu_hours * 2.5 + cost.kwh * 0.2)
    assert list(tabulate_costs((one, epoch, run))["stretch"]) == ["step", "epoch", "run"]


def test_watts_are_of_the_form_in_which_the_gpu_is_built_in():
    assert find_gpu_watts(cs.machine("dgx-h100")) == 700
    assert find_gpu_watts(cs.machine("pcie-8gpu", gpu="H100")) == 350
    assert find_gpu_watts(cs.machine("pcie-8gpu", nvlink="bridge")) == 300
    assert find_gpu_watts(cs.machine("mi300x-8gpu")) == 750


def test_without_a_price_there_is_no_money(step):
    (cost,) = estimate_costs(step, watts=200)
    assert cost.money is None
    assert cost.kwh == pytest.approx(step.time * 16 * 200 / 3.6e6)
    assert "Wh" in cost.text("en")
    assert "费用" not in cost.text("zh")


@pytest.mark.parametrize("wrong", [{"gpu_hour": 0}, {"watts": -1}, {"tokens": float("inf")}, {"epoch": True}])
def test_numbers_that_are_none_are_refused(step, wrong):
    with pytest.raises(cs.CollsimError, match="above 0"):
        estimate_costs(step, **wrong)


def test_images_have_no_tokens():
    images = cs.training_step("resnet50", "dgx-a100", parallel=cs.ddp(), micro_batch=16)
    with pytest.raises(cs.CollsimError, match="epoch="):
        estimate_costs(images, tokens=1e9)


def test_the_formula_agrees_with_the_step_but_for_attention(step):
    """6 FLOPs a parameter and token; the step counts attention, and embeddings that are looked up compute nothing."""
    run = estimate_days_like_step(step, 1e9)
    assert run.days == pytest.approx(estimate_costs(step, tokens=1e9)[1].days, rel=0.15)
    assert not run.recompute
    again = estimate_days_like_step(step.what_if(recompute="full"), 1e9)
    assert again.recompute
    assert again.days == pytest.approx(estimate_costs(step.what_if(recompute="full"), tokens=1e9)[1].days, rel=0.15)


def test_small_and_large_costs_are_readable():
    small = RunningCost("step", 1, 1e-3, 4.2e-7, 3.02e-5, 3.02e-5)
    assert (
        small.text() == "A step takes 1 ms: 0.00000042 GPU-hours. It costs 0.0000302. GPUs at full power use 30.2 mWh."
    )
    assert "30.2 mWh" in small.text("zh")
    large = RunningCost("run", 1e6, 6e6, 1.15e5, 28_730.4, 3450.0)
    assert "It costs 28,730. GPUs at full power use 3.45 MWh." in large.text()


@pytest.mark.slow
def test_the_command_line_has_the_same_figures(step):
    words = "upgrades gpt2-medium --machine pcie-8gpu --nodes 2 --micro-batch 4 --dtype bfloat16 --part nic"
    result = CliRunner().invoke(app, [*words.split(), "--gpu-hour", "2.5", "--tokens", "1e9", "--json"])
    run = estimate_costs(step, gpu_hour=2.5, tokens=1e9)[1]
    document = json.loads(result.stdout)
    assert document["costs"][1]["money"] == pytest.approx(run.money)
    assert document["days"]["days"] == pytest.approx(estimate_days_like_step(step, 1e9).days)
    published = ["--tokens", "300e9", "--parameters", "175e9", "--run-gpus", "1024", "--tflops", "140"]
    assert "33.9 days on 1,024 GPUs of 140 TFLOP/s" in CliRunner().invoke(app, [*words.split(), *published]).stdout
    assert document["rows"] == json.loads(cs.upgrades(step, parts=["nic"]).to_json())["rows"]
    refused = CliRunner().invoke(app, ["upgrades", "allreduce", "--machine", "dgx-a100", "--gpu-hour", "1"])
    assert refused.exit_code == 2
