"""Types of elements by the names of NumPy, PyTorch and nccl-tests: each question gives one answer under all of them."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.dtypes import OTHER_NAMES, find_dtype_name, list_dtypes

RING = cs.topology.ring(4)


@pytest.mark.parametrize(
    ("names", "ours"),
    [
        (["float32", "fp32", "FP32", "torch.float32", np.float32, np.dtype("float32")], "float32"),
        (["float16", "fp16", "half", "torch.half", "ncclFloat16", np.float16], "float16"),
        (["bfloat16", "bf16", "BF16", "torch.bfloat16", ml_dtypes.bfloat16], "bfloat16"),
        (["float64", "fp64", "double", np.float64], "float64"),
        (["float8_e4m3", "float8_e4m3fn", "torch.float8_e4m3fn", ml_dtypes.float8_e4m3fn], "float8_e4m3"),
    ],
)
def test_a_type_has_one_name_in_every_result(names, ours):
    plan = cs.schedule("allreduce_ring", 4)
    traces = [cs.simulate(plan, RING, "1MiB", dtype=name) for name in names]
    assert {trace.dtype for trace in traces} == {ours}
    assert {trace.time for trace in traces} == {cs.simulate(plan, RING, "1MiB", dtype=ours).time}


def test_each_other_name_is_one_of_a_type():
    assert set(OTHER_NAMES.values()) <= set(list_dtypes())
    assert not set(OTHER_NAMES) & set(list_dtypes())


@pytest.mark.parametrize("name", ["float", float, "int", int, "fp8", "complex64", None, 3, ["bf16"]])
def test_a_word_that_is_no_type_or_two_is_refused(name):
    with pytest.raises(cs.CollsimError, match="dtype"):
        find_dtype_name(name)


def test_training_takes_the_names_of_pytorch():
    step, same = (
        cs.training_step("gpt2", "dgx-a100", parallel=cs.ddp(), batch=16, dtype=name) for name in ("bf16", "bfloat16")
    )
    assert step.time == same.time
    assert cs.model("gpt2").to("bf16") == cs.model("gpt2").to("bfloat16")
    assert cs.train.get_eager_speed("H100", "bf16") == cs.train.get_eager_speed("H100", "bfloat16")
    for name in ("int8", "fp64", "float8_e4m3"):
        with pytest.raises(cs.CollsimError, match="dtype of a training step"):
            cs.training_step("gpt2", "dgx-a100", parallel=cs.ddp(), batch=16, dtype=name)


def test_tables_and_the_command_line_say_one_name():
    frame = cs.sweep("allreduce", "allreduce_ring", RING, dtype=["bf16", "half"])
    assert list(frame["dtype"]) == ["bfloat16", "float16"]
    command = "run allreduce_ring --topology ring(4) --nbytes 1MiB --dtype bf16 --json"
    assert json.loads(CliRunner().invoke(app, command.split()).stdout)["dtype"] == "bfloat16"
