"""Scaling over nodes, and what one slow GPU costs the whole job."""

import math

import pytest

import collsim as cs

GPT = cs.transformer(1024, 4, 16, seq=512)


def test_weak_scaling_keeps_the_work_of_a_gpu_and_strong_that_of_the_step():
    asked = {"parallel": cs.ddp(), "nodes": (1, 2, 4), "batch": 64, "dtype": "bfloat16"}
    weak = cs.training.scaling(GPT, "dgx-a100", **asked)
    strong = cs.training.scaling(GPT, "dgx-a100", kind="strong", **asked)
    assert weak.batch.tolist() == [64, 128, 256]
    assert strong.batch.tolist() == [64, 64, 64]
    for frame in (weak, strong):
        assert frame.efficiency_node[0] == 1
        each = frame.batch / frame.time / frame.gpus
        assert frame.efficiency_node.tolist() == pytest.approx((each / each[0]).tolist())
        assert (frame.efficiency_node.diff().dropna() < 0).all()
    assert strong.efficiency_node[2] < weak.efficiency_node[2]


def test_one_gpu_is_the_step_of_one_gpu_and_none_where_the_model_does_not_fit_on_one():
    frame = cs.training.scaling(GPT, "dgx-a100", parallel=cs.ddp(), nodes=(1,), batch=64, dtype="bfloat16")
    box = cs.machine("dgx-a100")
    alone = cs.training_step(GPT, box, parallel=cs.ddp(), micro_batch=8, ranks=[0], dtype="bfloat16")
    own = frame.samples_per_second[0] / 8
    assert frame.efficiency_gpu[0] == pytest.approx(own / alone.samples_per_second)
    big = cs.training.scaling("llama2-7b", "dgx-a100", parallel=cs.fsdp(), nodes=(1,), batch=8, dtype="bfloat16")
    assert math.isnan(big.efficiency_gpu[0])


def test_a_number_of_nodes_that_cannot_be_is_a_row_with_its_reason():
    frame = cs.training.scaling(GPT, "dgx-a100", parallel=cs.ddp(), nodes=(1, 3), batch=64, kind="strong")
    assert "cannot be shared evenly" in frame.error[1]
    assert math.isnan(frame.time[1])
    with pytest.raises(cs.CollsimError, match="kind of scaling"):
        cs.training.scaling(GPT, "dgx-a100", parallel=cs.ddp(), batch=64, kind="both")


def test_one_slow_gpu_makes_all_wait_for_what_it_takes_longer():
    """Free overlap and one node: the step grows by the half that computing grows by, and by no more."""
    t = cs.training_step(GPT, cs.machine("dgx-a100"), parallel=cs.ddp(), batch=64, dtype="bfloat16", interference=0)
    slow = t.what_if(slow={3: 1.5})
    assert slow.computing == pytest.approx(1.5 * t.computing)
    assert t.computing * 0.5 * 0.8 < slow.time - t.time <= t.computing * 0.5 * (1 + 1e-9)


def test_a_slow_stage_sets_the_pace_of_a_pipeline():
    """Eight microbatches more cost eight times what the slow stage computes for one."""
    box = cs.machine("dgx-a100")
    few, many = (
        cs.training_step(
            GPT, box, parallel=cs.pipeline(4) * cs.ddp(), batch=2 * m, micro_batch=1, dtype="bfloat16", slow={4: 3}
        )
        for m in (8, 16)
    )
    (lane,) = [k for k, ranks in enumerate(few.step.lanes) if 4 in ranks]
    frame = few.tasks
    own = frame[frame.kind.isin(["forward", "backward"]) & frame.lanes.map(lambda lanes: lane in lanes)]
    assert many.time - few.time == pytest.approx(own.time.sum(), rel=0.05)
    assert few.time > few.what_if(slow={}).time


@pytest.mark.parametrize("slow", [{9: 2}, {0: 0.5}, {0: "2"}, {0: True}])
def test_a_straggler_that_cannot_be_is_a_sentence(slow):
    with pytest.raises(cs.CollsimError, match="name a rank that takes part"):
        cs.training_step(GPT, cs.machine("dgx-a100"), parallel=cs.ddp(), batch=64, slow=slow)
