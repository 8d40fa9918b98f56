"""What the network costs a step is a counterfactual, and the same in every interface and language."""

import json
import random

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.app.pages.train import step_scenarios
from collsim.app.pages.train.training_choice import TrainingChoice
from collsim.cli import app
from collsim.train.timing.isolated_timing import time_alone

#: Gbit/s between nodes, from 1 to 400.
CARDS = ("tcp-1", "tcp-10", "roce-25", "roce-50", "roce-100", "roce-200", "roce-400")
MODELS = ("resnet50", "vgg16", "bert-large", "gpt2")
SPLITS = ("ddp", "ddp(bucket='1MiB', overlap=False)", "zero(2)", "fsdp()", "tensor(2) * zero(1)", "pipeline(2) * ddp()")


def draw_step(rng):
    """Arguments of a step; only decoders can be split by layers and matrices."""
    model = rng.choice(MODELS)
    splits = SPLITS if model == "gpt2" else SPLITS[:3]
    return {
        "model": model,
        "machine": rng.choice(("dgx-1v", "dgx-a100", "dgx-h100")),
        "nic": rng.choice(CARDS),
        "parallel": rng.choice(splits),
        "micro_batch": rng.choice((1, 4, 16)),
        "interference": rng.choice((None, 0.0, 0.3, 1.0)),
    }


def run_step(model, machine, nic, parallel, **options):
    split = cs.train.parse_strategy(parallel if "(" in parallel else f"{parallel}()")
    return cs.training_step(model, cs.machine(machine, nodes=2, nic=nic), parallel=split, **options)


def run_command(model, machine, nic, parallel, micro_batch, interference, *more):
    options = ["--micro-batch", str(micro_batch)]
    if interference is not None:
        options += ["--interference", str(interference)]
    place = ["--machine", machine, "--nodes", "2", "--nic", nic, "--parallel", parallel]
    run = CliRunner().invoke(app, ["train", model, *place, *options, *more])
    assert run.exit_code == 0, run.output
    return run.stdout


def open_page(model, machine, parallel, micro_batch, interference):
    """The figures of the page Train, which takes a machine with its own cards."""
    text = "" if interference is None else str(interference)
    place = {"machine": machine, "nodes": 2, "strategy": parallel}
    choice = TrainingChoice(model=model, samples=micro_batch, interference=text, dtype="float32", **place)
    return step_scenarios.compute_step(choice).figures


@pytest.mark.parametrize("seed", range(10))
def test_what_the_network_costs_is_the_time_less_that_on_a_network_that_costs_nothing(seed):
    step = draw_step(random.Random(seed))
    trace = run_step(**step)
    costs = trace.costs.seconds
    assert not costs[[not task.is_compute for task in trace.step.tasks]].any()
    free = time_alone(trace.step, costs, 0.0)[1].max()
    assert trace.exposed == pytest.approx(trace.time - free, rel=1e-9, abs=1e-9 * trace.time)
    parts = trace.split_exposed()
    assert parts.exposed.sum() == pytest.approx(trace.exposed, rel=1e-9, abs=1e-9 * trace.time)
    assert (parts.exposed >= 0).all()
    record = json.loads(run_command(*step.values(), "--json"))
    assert record["exposed"] == trace.exposed
    assert sum(part["exposed"] for part in record["exposed_parts"]) == pytest.approx(
        trace.exposed, abs=1e-9 * trace.time
    )
    for language in ("en", "zh"):
        printed = run_command(*step.values(), "--language", language)
        assert trace.explain(language) in printed
        assert (cs.format_time(trace.exposed) in trace.explain(language)) == (trace.exposed > 1e-6 * trace.time)


def test_the_page_train_shows_the_same():
    rng = random.Random(2)
    for _ in range(3):
        step = {**draw_step(rng), "nic": None, "parallel": "ddp"}
        trace = run_step(**step)
        del step["nic"]
        figures = open_page(**step)
        assert (figures["exposed"], figures["time"]) == (trace.exposed, trace.time)


def test_a_slower_network_costs_more_whatever_the_step():
    rng = random.Random(35)
    for _ in range(5):
        step = draw_step(rng)
        costs = [run_step(**{**step, "nic": nic}).exposed for nic in ("roce-400", "roce-100", "tcp-10", "tcp-1")]
        assert costs == sorted(costs)
        assert costs[-1] > costs[0]
