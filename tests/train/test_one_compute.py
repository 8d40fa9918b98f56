"""One model of computing: a GPU takes as long alone as among others, whoever asks."""

import json
from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.app.pages.train.code import build_script
from collsim.app.pages.train.step_scenarios import time_step
from collsim.app.pages.train.training_choice import TrainingChoice
from collsim.cli import app
from collsim.train import get_eager_speed, get_gpu_speed

MACHINES = ("dgx-1v", "dgx-a100", "dgx-h100", "hgx-h200", "hgx-b200")
MODELS = ("gpt2", "bert-base", "resnet50", "mobilenet_v2", "vgg16", "vit_b_16", "llama3-8b", "qwen3-30b-a3b")


def time_passes(trace):
    """s of each compute task of the first GPU but the copies of buckets."""
    tasks = zip(trace.step.tasks, trace.costs.seconds, strict=True)
    return np.array([s for task, s in tasks if task.is_compute and task.kind != "copy" and 0 in task.lanes])


def time_replicas(model, machine, ranks, samples, dtype="bfloat16", **options):
    options = {"parallel": cs.ddp(), "micro_batch": samples, "dtype": dtype, "memory": 1e15, **options}
    return cs.training_step(model, machine, ranks=ranks, **options)


@pytest.mark.parametrize("compute", ["fused", "eager"])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("model", MODELS)
def test_a_gpu_computes_as_long_alone_as_among_others(model, machine, compute):
    for samples, dtype in ((1, "bfloat16"), (16, "float32")):
        one, eight = (time_replicas(model, machine, n, samples, dtype, compute=compute) for n in (1, 8))
        assert time_passes(eight) == pytest.approx(time_passes(one), rel=1e-12)
        assert one.costs.label == eight.costs.label


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("model", MODELS)
def test_a_faster_gpu_computes_no_longer(model, dtype):
    """H200 has rates of its own where its memory did not help: within their digits it is no slower than an H100."""
    for compute in ("fused", "eager"):
        traces = [time_replicas(model, machine, 1, 8, dtype, compute=compute) for machine in MACHINES[1:]]
        seconds = [trace.computing for trace in traces]
        assert all(fast <= 1.01 * slow for slow, fast in pairwise(seconds)), seconds
        assert seconds[-1] < seconds[0]


@pytest.mark.parametrize("model", ["gpt2", "resnet50"])
def test_more_gpus_make_no_step_faster(model):
    for compute in ("fused", "eager", get_eager_speed("H100", "bfloat16", compile="default")):
        machine = cs.machine("dgx-h100", nodes=2)
        traces = [time_replicas(model, machine, n, 16, compute=compute) for n in (1, 2, 4, 8, 16)]
        seconds = [trace.computing for trace in traces]
        assert all(few <= many * (1 + 1e-12) for few, many in pairwise(seconds)), seconds
        assert traces[0].time == min(trace.time for trace in traces)


@pytest.mark.parametrize(("machine", "gpu"), [("dgx-a100", "A100"), ("dgx-h100", "H100")])
@pytest.mark.parametrize(("mode", "compute"), [("", "fused"), ("none", "eager")])
@pytest.mark.parametrize("count", [1, 8])
def test_python_command_and_page_agree(machine, gpu, mode, compute, count, capsys):
    expected = time_replicas("gpt2", machine, count, 4, memory=None, compute=compute)
    speed = {"fused": get_gpu_speed, "eager": get_eager_speed}[compute](gpu, "bfloat16")
    assert time_replicas("gpt2", machine, count, 4, compute=speed).time == expected.time
    words = ["gpt2", "--machine", machine, "--ranks", str(count), "--micro-batch", "4", "--dtype", "bfloat16"]
    record = json.loads(CliRunner().invoke(app, ["train", *words, "--compute", compute, "--json"]).stdout)
    assert (record["time"], record["compute"]) == (expected.time, expected.costs.label)
    assert record["interval"]["reason"] == str(expected.interval.reason)
    interval = record["interval"]
    assert (interval["low"], interval["high"]) == (expected.interval.low, expected.interval.high)
    if count == 8:
        choice = TrainingChoice(model="gpt2", machine=machine, nodes=1, samples=4, compile=mode)
        shown = time_step(choice)
        assert shown.time == expected.time
        exec(compile(build_script(choice), "page", "exec"), {})
        assert str(shown) in capsys.readouterr().out


@pytest.mark.parametrize(("machine", "gpu"), [("dgx-a100", "A100"), ("dgx-h100", "H100"), ("hgx-h200", "H200")])
def test_a_lone_gpu_runs_eager_pytorch_where_that_was_measured_and_nothing_says_otherwise(machine, gpu):
    fused, eager = get_gpu_speed(gpu, "bfloat16"), get_eager_speed(gpu, "bfloat16")
    lone = fused if gpu == "A100" else eager
    for compute in (None, gpu):
        assert time_replicas("gpt2", machine, 1, 4, compute=compute).costs.speed == lone
        assert time_replicas("gpt2", machine, 2, 4, compute=compute).costs.speed == fused
    for ranks in (1, 2):
        assert time_replicas("gpt2", machine, ranks, 4, compute="fused").costs.speed == fused
        assert time_replicas("gpt2", machine, ranks, 4, compute=f"{gpu} fused").costs.speed == fused


@pytest.mark.parametrize("compute", [None, "H100", "fused", "eager", "H200 eager"])
def test_a_step_keeps_its_kernels_on_more_and_on_fewer_gpus(compute):
    one, two = (time_replicas("gpt2", "dgx-h100", ranks, 4, compute=compute) for ranks in (1, 2))
    assert one.what_if(ranks=2, batch=None, micro_batch=4).costs.speed == one.costs.speed
    assert two.what_if(ranks=1, batch=None, micro_batch=4).costs.speed == two.costs.speed
    assert one.what_if(ranks=2, compute="fused", batch=8).costs.speed == get_gpu_speed("H100", "bfloat16")
    table = cs.train.measure_scaling(
        "gpt2", lambda nodes: cs.machine("dgx-h100", nodes=nodes, gpus=1), parallel="ddp", nodes=[1, 2], batch=8
    )
    assert table.efficiency_gpu[0] == pytest.approx(1.0)
    assert 0.5 < table.efficiency_gpu[1] < 1


def test_a_gpu_that_is_named_may_run_eager_pytorch():
    h100 = time_replicas("gpt2", "dgx-a100", 8, 4, compute="H100 eager")
    assert h100.costs.speed == get_eager_speed("H100", "bfloat16")
    assert time_replicas("gpt2", "dgx-a100", 8, 4, compute="H100").costs.speed == get_gpu_speed("H100", "bfloat16")
    for wrong in ("eage", "H101 eager", "eager H100"):
        with pytest.raises(cs.CollsimError, match=wrong):
            time_replicas("gpt2", "dgx-a100", 8, 4, compute=wrong)


#: Eager PyTorch on GPUs whose operations were not measured: images/s of ResNet-50 with 256 samples and momentum (NVIDIA/
#: DeepLearningExamples, PyTorch/Classification/ConvNets/resnet50v1.5, README: DGX A100 80GB and DGX-1 32GB), tokens/s of
#: GPT-2 with 8 samples of 1,024 tokens and a fused AdamW (rasbt/LLMs-from-scratch, ch05/10_llm-training-speed, steps 6
#: to 9: stored scores, scaled_dot_product_attention, torch.compile, padded vocabulary).
@pytest.mark.parametrize(
    ("gpu", "machine", "ranks", "dtype", "layout", "rate"),
    [
        ("A100", "dgx-a100", 1, "float32", "channels_first", 938),
        ("A100", "dgx-a100", 8, "float32", "channels_first", 7248),
        ("A100", "dgx-a100", 1, "float16", "channels_last", 2470),
        ("A100", "dgx-a100", 8, "float16", "channels_last", 16621),
        ("V100", "dgx-1v", 1, "float32", "channels_first", 356),
        ("V100", "dgx-1v", 8, "float32", "channels_first", 2766),
        ("V100", "dgx-1v", 1, "float16", "channels_last", 1156),
        ("V100", "dgx-1v", 8, "float16", "channels_last", 8056),
    ],
)
def test_images_per_second_as_published(gpu, machine, ranks, dtype, layout, rate):
    speed = get_eager_speed(gpu, dtype, memory_format=layout)
    trace = time_replicas("resnet50", machine, ranks, 256, dtype, compute=speed, optimizer="momentum")
    assert trace.samples_per_second == pytest.approx(rate, rel=0.3)


@pytest.mark.parametrize(
    ("options", "mode", "rate"),
    [
        ({"flash": False}, "none", 55256),
        ({"flash": True}, "none", 91901),
        ({"flash": True}, "default", 112046),
        ({"flash": True, "padded": True}, "default", 127345),
    ],
)
def test_tokens_per_second_as_published(options, mode, rate):
    speed = get_eager_speed("A100", "bfloat16", optimizer_kernels="fused", compile=mode)
    trace = time_replicas(cs.model("gpt2", **options).to("bfloat16"), "dgx-a100", 1, 8, compute=speed)
    assert 1024 * trace.samples_per_second == pytest.approx(rate, rel=0.25)
