"""Eager PyTorch on one GPU: operations by hand, and whole steps as they were measured on an H100."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from accuracy import gpu_steps

import collsim as cs
from collsim.train import Layer, Model, get_eager_speed, get_gpu_speed, transformer

BOX = cs.machine("dgx-h100")
STEPS = Path(__file__).parents[3] / "shared" / "data" / "training" / "h100-steps.csv"


def time_passes(trace):
    """s of the forward pass, the backward pass and the optimizer."""
    passes = dict.fromkeys(("forward", "backward", "optimizer"), 0.0)
    for task, seconds in zip(trace.step.tasks, trace.costs.seconds, strict=True):
        if task.kind in passes:
            passes[task.kind] += seconds
    return passes


def time_alone(model, samples=1, dtype="bfloat16", optimizer="sgd", **options):
    options = {"compute": get_eager_speed("H100", dtype, **options)}
    return cs.training_step(
        model, BOX, parallel=cs.data_parallel(), batch=samples, ranks=[0], dtype=dtype, optimizer=optimizer, **options
    )


def test_a_product_takes_its_flops_at_a_share_of_the_peak_and_a_constant():
    flops = 2.0 * 4096 * 8192 * 8192
    layer = Layer(
        "product", (8192 * 8192,), flops=flops, outputs=4096 * 8192, traffic=2 * 4096 * 8192, dtype="bfloat16"
    )
    passes = time_passes(time_alone(Model("one", (layer,))))
    assert passes["forward"] == pytest.approx(flops / (0.83 * 989e12) + 9e-6, rel=1e-9)
    assert passes["backward"] == pytest.approx(2 * flops / (0.83 * 989e12) + 18e-6, rel=1e-9)


def build_two_layers(first_ops):
    """A small layer of some operations, and a large one of one operation; s that the GPU takes for each."""
    small = Layer("small", (64,), flops=128.0, outputs=8, traffic=16, ops=first_ops, dtype="bfloat16")
    flops = 2.0 * 4096 * 4096 * 4096
    large = Layer("large", (4096 * 4096,), flops=flops, outputs=4096 * 4096, traffic=2 * 4096**2, dtype="bfloat16")
    return Model("two", (small, large)), 9e-6 + 128 / (0.83 * 989e12), 9e-6 + flops / (0.83 * 989e12)


def test_a_layer_begins_when_it_is_launched_and_the_gpu_is_free():
    model, _, large = build_two_layers(10)
    speed = get_eager_speed("H100", "bfloat16")
    passes = time_passes(time_alone(model))
    assert passes["forward"] == pytest.approx(10 * speed.forward_launch + large, rel=1e-6)
    model, small, large = build_two_layers(0)  # nothing holds the large one up
    assert time_passes(time_alone(model))["forward"] == pytest.approx(small + large, rel=1e-6)


def test_what_the_gpu_still_has_to_do_hides_the_host_of_later_passes():
    """A forward pass that takes the GPU long gives the host time to launch the backward pass and the optimizer."""
    names = [f"layer{number}" for number in range(40)]
    tiny = [Layer(name, (8, 8), flops=16.0, outputs=8, traffic=16, ops=20, dtype="bfloat16") for name in names]
    flops = 2.0 * 16384**3
    long = Layer("long", (16384**2,), flops=flops, outputs=16384**2, traffic=16384**2, dtype="bfloat16")
    alone, behind = (time_passes(time_alone(Model("m", layers))) for layers in (tuple(tiny), (*tiny, long)))
    assert behind["backward"] - 2 * flops / (0.83 * 989e12) < 0.7 * alone["backward"]
    assert behind["optimizer"] < alone["optimizer"] + 16384**2 * 2 * 3 * 1.2 / 2e12


def test_weights_in_16_bits_have_no_copy_and_halve_gradients_and_optimizer():
    model = transformer(1024, 4, 16, vocab=1024)
    wide, narrow = (time_alone(m, optimizer="adam").memory for m in (model, model.to("bfloat16")))
    p = model.parameters
    products = sum(layer.parameters for layer in model.layers if layer.kind == "gemm")
    assert max(wide.to_frame()["parameters"]) == 4 * p + 2 * (products + 1024 * 1024)  # every block, and the tied head
    assert wide.peak()["optimizer"] == 8 * p
    assert narrow.peak()["parameters"] == 2 * p
    assert narrow.peak()["optimizer"] == 4 * p
    split = cs.training_step(
        model.to("bfloat16"),
        BOX,
        parallel=cs.tensor(2) * cs.ddp(),
        batch=1,
        ranks=2,
        dtype="bfloat16",
        optimizer="adam",
    ).memory.peak()
    assert split["optimizer"] == pytest.approx(4 * p / 2, rel=0.05)


def test_what_decides_changes_the_time_and_is_said():
    resnet = cs.model("resnet50")
    first, last = (
        time_alone(resnet, 64, memory_format=layout, optimizer="adam") for layout in ("channels_first", "channels_last")
    )
    assert time_passes(first)["forward"] > 1.2 * time_passes(last)["forward"]
    assert "channels first" in first.costs.label
    assert "channels last" in last.costs.label
    fused = time_alone(resnet, 64, optimizer="adam", optimizer_kernels="fused")
    assert time_passes(first)["optimizer"] > 2 * time_passes(fused)["optimizer"]
    stored, flash = (time_alone(cs.model("gpt2", flash=flash), 8) for flash in (False, True))
    assert time_passes(stored)["forward"] > time_passes(flash)["forward"]
    padded, unpadded = (time_alone(cs.model("gpt2", flash=True, padded=padded), 8) for padded in (True, False))
    head = 2.0 * 8 * 1024 * 768 * 50257
    grown = time_passes(unpadded)["forward"] - time_passes(padded)["forward"]
    assert grown == pytest.approx(head / 989e12 * (1 / 0.13 - 1 / 0.83), rel=0.01)


def test_text_says_the_kernels_of_any_number_of_gpus():
    for ranks in (1, 2):
        options = {"parallel": cs.ddp(), "micro_batch": 32, "ranks": ranks}
        assert cs.training_step("resnet50", BOX, compute="fused", **options).costs.speed == get_gpu_speed("H100")
        assert cs.training_step("resnet50", BOX, compute="eager", **options).costs.speed == get_eager_speed("H100")
    with pytest.raises(cs.CollsimError, match="channels_last"):
        get_eager_speed("H100", memory_format="nchw")


def test_scaling_compares_one_gpu_with_many_by_the_same_constants():
    frame = cs.train.measure_scaling("resnet50", "dgx-h100", nodes=(1,), parallel=cs.ddp(), batch=8 * 64)
    assert 0.9 < float(frame["efficiency_gpu"].iloc[0]) <= 1.0


def build_measured_model(row):
    flash = row["attention"] == "sdpa"
    name, sizes = (
        row["model"],
        {key: int(row[key] or 0) for key in ("hidden", "layers", "heads", "seq", "ffn", "kv_heads")},
    )
    if name == "blocks" or name.startswith("llama"):
        gated = row["note"] != "gpt"
        return transformer(
            sizes["hidden"],
            sizes["layers"],
            sizes["heads"],
            seq=sizes["seq"],
            vocab=int(row["vocab"]) or 8,
            ffn=sizes["ffn"],
            kv_heads=sizes["kv_heads"],
            gated=gated,
            bias=not gated,
            tied=name == "blocks",
            positions=False,
            flash=flash,
            padded=name == "blocks",
            fused=False,
            huggingface=name != "blocks",
        ).to("bfloat16")
    if name.startswith("gpt2"):
        return cs.model(name, flash=flash, dropout=False)
    if name.startswith("bert"):
        return cs.model(name, seq=sizes["seq"], flash=flash, masked_lm=True, dropout=False)
    return cs.model(name)


@pytest.mark.skipif(not STEPS.exists(), reason="the measured steps are not there")
def test_measured_steps_on_an_h100_are_met():
    """Rows of one GPU: of those under tensor parallelism its share was measured without the rest."""
    with STEPS.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["tp"] == "1"]
    assert len(rows) > 20
    times, memories = [], []
    for row in rows:
        dtype = "float32" if row["dtype"] == "float32" else "bfloat16"
        trace = time_alone(build_measured_model(row), int(row["samples"]), dtype, row["optimizer"])
        times.append(sum(time_passes(trace).values()) * 1e3 / float(row["step_ms"]) - 1)
        memories.append(trace.memory.max() / float(row["peak_bytes"]) - 1)
    assert np.median(np.abs(times)) < 0.1
    assert np.mean(np.abs(times) < 0.25) >= 0.9
    assert np.median(np.abs(memories)) < 0.05


@pytest.mark.parametrize("gpu", ["H100", "H200"])
def test_a_sixth_of_the_steps_that_no_rate_was_read_from_is_met(gpu):
    rows = [row for row in gpu_steps.read_rows("held out") if gpu in row["gpu"]][::6]
    errors = [gpu_steps.predict_row(row) for row in rows]
    assert len(errors) == 8
    assert np.median([abs(error.time) for error in errors]) < 0.1
    assert np.median([abs(error.memory) for error in errors]) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("gpu", ["H100", "H200"])
def test_steps_that_no_rate_was_read_from_are_met(gpu):
    """The goals: median 10 %, nine in ten within 25 %, memory 5 %, and never below by more than 10 %."""
    errors = [error for error in gpu_steps.list_errors("held out") if gpu in error.row["gpu"]]
    assert len(errors) == 47
    assert np.median([abs(error.time) for error in errors]) < 0.1
    assert np.mean([abs(error.time) < 0.25 for error in errors]) >= 0.9
    assert np.median([abs(error.memory) for error in errors]) < 0.01
    assert min(error.memory for error in errors) > -0.1
    assert max(error.memory for error in errors) < 0.1
    for page in ("training.md", "training.zh.md"):  # its table has these figures
        text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8").replace(" %", "%")
        lines = [line.split(" | ", 2)[2] for line in gpu_steps.format_table("held out") if line.startswith(f"| {gpu}")]
        assert len(lines) == 6
        assert all(line in text for line in lines)


def test_16_bit_batch_norms_take_torchs_own_kernels_and_few_channels_leave_the_gpu_idle():
    def time_norm(channels, **options):
        shape = {"traffic": 3.0 * 64 * 56 * 56 * 64, "outputs": 64 * 56 * 56 * 64}
        layer = Layer("bn", (channels, channels), kind="norm", buffers=(channels,) * 2, **shape)
        return time_passes(time_alone(Model("bn", (layer,)), **options))["backward"]

    assert time_norm(64) > 3 * time_norm(1024)
    assert time_norm(64, memory_format="channels_last") == pytest.approx(
        time_norm(1024, memory_format="channels_last"), rel=1e-3
    )
    assert time_norm(64, dtype="bfloat16") > 0.6 * time_norm(
        64, dtype="float32"
    )  # half of the bytes, no half of the time


def test_huggingface_models_launch_more_and_keep_what_autocast_leaves_in_float32():
    options = {"gated": True, "bias": False, "positions": False, "tied": False, "flash": True, "fused": False}
    plain, huggingface = (transformer(2048, 4, 16, huggingface=word, **options) for word in (False, True))
    fast, slow = (time_passes(time_alone(model)) for model in (plain, huggingface))
    assert slow["forward"] > 1.2 * fast["forward"]
    assert slow["backward"] > 1.05 * fast["backward"]
    norm = plain.layers[1]
    assert norm.count_activation_bytes(2) == 4 * 2048 * 1024  # float32 under autocast
    assert plain.to("bfloat16").layers[1].count_activation_bytes(2) == 2 * 2048 * 1024


def test_python_next_to_the_operations_of_a_layer_delays_its_forward_pass_alone():
    speed = get_eager_speed("H100", "bfloat16")
    plain, checked = (
        Layer("small", (64,), flops=128.0, outputs=8, traffic=16, ops=10, python_ops=ops, dtype="bfloat16")
        for ops in (0, 20)
    )
    fast, slow = (time_passes(time_alone(Model("one", (layer,)))) for layer in (plain, checked))
    assert slow["forward"] - fast["forward"] == pytest.approx(20 * speed.forward_launch)
    assert slow["backward"] == pytest.approx(fast["backward"])


def test_a_compiled_step_fuses_what_is_between_products_and_launches_less():
    layer = Layer("up", (512 * 512,), flops=2.0 * 512 * 512 * 10**5, outputs=512e5, traffic=512e5, pointwise=18 * 512e5)
    speeds = [get_eager_speed("H100", "bfloat16", compile=mode) for mode in ("none", "default", "reduce-overhead")]
    layer = replace(layer, ops=11, python_ops=20, dtype="bfloat16")
    (gpu, host), (fused, fewer), (graph, none) = (
        speed.estimate_pass_seconds(layer, layer.flops, 0.0, layer.ops, False) for speed in speeds
    )
    # 16 of 18 accesses of an element of two bytes are gone; of 31 launches two are left
    assert gpu - fused == pytest.approx(16 * 512e5 * 2 / (0.88 * 3.35e12), rel=1e-6)
    assert graph == fused
    assert (host, fewer, none) == pytest.approx((31 * 20e-6, 2 * 20e-6, 0.0))


def test_a_compiled_model_is_between_published_speedups():
    """PyTorch's documentation: 30 % to twice as fast. The interval says that nothing was measured."""
    for name, options in {"gpt2": {}, "bert-base": {"masked_lm": True, "seq": 128}, "resnet50": {}}.items():
        model = cs.model(name, **options)
        eager, compiled = (
            cs.training_step(
                model,
                BOX,
                parallel=cs.ddp(),
                ranks=1,
                micro_batch=32,
                dtype="bfloat16",
                compute=get_eager_speed("H100", "bfloat16", compile=mode),
                memory="1TB",
            )
            for mode in ("none", "default")
        )
        assert 1.05 < eager.time / compiled.time < 2
        assert compiled.interval.low <= 0.55 * eager.time
        assert compiled.interval.high >= 1.2 * eager.time
        assert "torch.compile was not measured" in str(compiled.interval.reason)
        assert "torch.compile" not in str(eager.interval.reason)
        assert compiled.memory.max() == eager.memory.max()
