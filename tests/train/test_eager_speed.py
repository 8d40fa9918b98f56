"""Eager PyTorch on one GPU: operations by hand, and whole steps as they were measured on an H100."""

import csv
from pathlib import Path

import numpy as np
import pytest

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
    assert passes["forward"] == pytest.approx(flops / (0.84 * 989e12) + 9e-6, rel=1e-9)
    assert passes["backward"] == pytest.approx(2 * flops / (0.84 * 989e12) + 18e-6, rel=1e-9)


def test_the_host_launches_ahead_of_the_gpu_so_that_a_pass_takes_the_longer_of_both_sums():
    small = Layer("small", (64,), flops=128.0, outputs=8, traffic=16, ops=10, dtype="bfloat16")
    flops = 2.0 * 4096 * 4096 * 4096
    large = Layer("large", (4096 * 4096,), flops=flops, outputs=4096 * 4096, traffic=2 * 4096**2, dtype="bfloat16")
    host = 11 * 15.5e-6
    gpu = 2 * 9e-6 + (flops + 128) / (0.84 * 989e12)
    assert host > 9e-6
    passes = time_passes(time_alone(Model("two", (small, large))))
    assert passes["forward"] == pytest.approx(max(host, gpu), rel=1e-6)


def test_weights_in_16_bits_have_no_copy_and_halve_gradients_and_optimizer():
    model = transformer(1024, 4, 16, vocab=1024)
    wide, narrow = (time_alone(m, optimizer="adam").memory.peak() for m in (model, model.to("bfloat16")))
    p = model.parameters
    assert wide["parameters"] == 6 * p
    assert wide["optimizer"] == 8 * p
    assert narrow["parameters"] == 2 * p
    assert narrow["optimizer"] == 4 * p
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
    assert grown == pytest.approx(head / 989e12 * (1 / 0.13 - 1 / 0.84), rel=0.01)


def test_a_step_on_one_gpu_is_eager_where_its_operations_were_measured_and_nowhere_else():
    alone = cs.training_step("resnet50", BOX, parallel=cs.ddp(), batch=32, ranks=[0])
    assert alone.costs.speed == get_eager_speed("H100")
    many = cs.training_step("resnet50", BOX, parallel=cs.ddp(), batch=64, ranks=2)
    assert many.costs.speed == get_gpu_speed("H100")
    other = cs.training_step("resnet50", "dgx-a100", parallel=cs.ddp(), batch=32, ranks=[0])
    assert other.costs.speed == get_gpu_speed("A100")
    with pytest.raises(cs.CollsimError, match="H100"):
        get_eager_speed("A100")
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
