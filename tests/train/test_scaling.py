"""Scaling over nodes, and what one slow GPU costs the whole job."""

import math

import pytest

import collsim as cs

GPT = cs.train.transformer(1024, 4, 16, seq=512)


def test_weak_scaling_keeps_the_work_of_a_gpu_and_strong_that_of_the_step():
    asked = {"parallel": cs.ddp(), "nodes": (1, 2, 4), "batch": 64, "dtype": "bfloat16"}
    weak = cs.train.measure_scaling(GPT, "dgx-a100", **asked)
    strong = cs.train.measure_scaling(GPT, "dgx-a100", kind="strong", **asked)
    assert weak.batch.tolist() == [64, 128, 256]
    assert strong.batch.tolist() == [64, 64, 64]
    for frame in (weak, strong):
        assert frame.efficiency_node[0] == 1
        each = frame.batch / frame.time / frame.gpus
        assert frame.efficiency_node.tolist() == pytest.approx((each / each[0]).tolist())
        assert (frame.efficiency_node.diff().dropna() < 0).all()
    assert strong.efficiency_node[2] < weak.efficiency_node[2]


def test_one_gpu_is_the_step_of_one_gpu_and_none_where_the_model_does_not_fit_on_one():
    frame = cs.train.measure_scaling(GPT, "dgx-a100", parallel=cs.ddp(), nodes=(1,), batch=64, dtype="bfloat16")
    box = cs.machine("dgx-a100")
    alone = cs.training_step(GPT, box, parallel=cs.ddp(), micro_batch=8, ranks=[0], dtype="bfloat16")
    own = frame.samples_per_second[0] / 8
    assert frame.efficiency_gpu[0] == pytest.approx(own / alone.samples_per_second)
    big = cs.train.measure_scaling("llama2-7b", "dgx-a100", parallel=cs.fsdp(), nodes=(1,), batch=8, dtype="bfloat16")
    assert math.isnan(big.efficiency_gpu[0])


def test_a_number_of_nodes_that_cannot_be_is_a_row_with_its_reason():
    frame = cs.train.measure_scaling(GPT, "dgx-a100", parallel=cs.ddp(), nodes=(1, 3), batch=64, kind="strong")
    assert "cannot be shared evenly" in frame.error[1]
    assert math.isnan(frame.time[1])
    with pytest.raises(cs.CollsimError, match="kind of scaling"):
        cs.train.measure_scaling(GPT, "dgx-a100", parallel=cs.ddp(), batch=64, kind="both")


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


# ---- what the whole job loses


def test_all_gpus_lose_what_one_slow_one_takes_longer():
    box = cs.machine("dgx-a100", nodes=2)
    t = cs.training_step(GPT, box, parallel=cs.ddp(), batch=128, dtype="bfloat16", interference=0)
    table = cs.train.time_faults(t, slow=(1.5, 2.0))
    slow = table[table.what == "slow"]
    assert slow.factor.tolist() == [1.5, 2.0]
    for row in slow.itertuples():
        assert row.time == t.what_if(slow={0: row.factor}).time
        assert row.more == pytest.approx(row.time / t.time - 1)
        assert row.own == pytest.approx(t.computing * (row.factor - 1))
        assert row.lost == pytest.approx(16 * (row.time - t.time))
        assert row.lost > row.own  # fifteen others wait
    assert slow.lost.iloc[1] > slow.lost.iloc[0]


def test_a_cable_without_another_way_stops_the_job_and_one_with_a_spare_costs_time():
    box = cs.machine("dgx-a100", nodes=2)
    t = cs.training_step(GPT, box, parallel=cs.ddp(), batch=128, dtype="bfloat16")
    table = cs.train.time_faults(t, slow=())
    kinds = [name.split(",")[0] for name in table.name]
    assert len(kinds) == len(set(kinds))
    assert {"nvlink", "infiniband"} <= set(kinds)
    assert not {"memory", "upi"} & set(kinds)
    stopped = table[table.error != ""]
    assert stopped.time.isna().all()
    assert stopped.error.str.contains("cannot reach").all()
    row = table[table.name.str.startswith("infiniband")].iloc[0]
    one, other = row["name"].split(", ")[1].split(" → ")
    carried = t.what_if(network="shared").link_bytes
    (gone,) = [k for k in range(len(box.links)) if box.link_name(k) == f"{one} → {other}"]
    assert carried[gone] == max(carried[k] for k in range(len(box.links)) if box.links.kind(k) == "infiniband")
    assert row.time == t.what_if(machine=box.without_link(one, other)).time
    star = cs.training_step(
        GPT, cs.topology.switch(4, bandwidth="25GB/s"), parallel=cs.ddp(), batch=32, dtype="bfloat16", compute="A100"
    )
    (only,) = cs.train.time_faults(star, slow=()).itertuples()
    assert math.isnan(only.lost)  # a rank's one cable to the switch
    alone = cs.training_step(GPT, cs.machine("dgx-a100"), parallel=cs.ddp(), micro_batch=8, ranks=[0])
    assert cs.train.time_faults(alone, slow=()).empty


def test_a_place_may_be_made_by_a_function_of_its_nodes():
    asked = {"parallel": cs.ddp(), "nodes": (1, 2), "batch": 64, "dtype": "bfloat16"}
    made = cs.train.measure_scaling(GPT, lambda nodes: cs.machine("dgx-a100", nodes=nodes), **asked)
    assert made.equals(cs.train.measure_scaling(GPT, "dgx-a100", **asked))


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"nodes": 4}, r"nodes=4 must be a list, for example \[1, 2, 4\]"),
        ({"nodes": "12"}, "nodes='12' must be a list"),
        ({"machine": lambda nodes: None}, r"machine\(nodes=1\) returned None, which is no Topology"),
        ({"machine": 5}, "unknown machine 5"),
    ],
)
def test_a_place_or_a_list_that_is_none_is_a_sentence(asked, says):
    given = {"machine": "dgx-a100", "parallel": cs.ddp(), "nodes": [1], "batch": 64, "dtype": "bfloat16", **asked}
    with pytest.raises(cs.CollsimError, match=says):
        cs.train.measure_scaling(GPT, given.pop("machine"), **given)


@pytest.mark.parametrize(
    ("slow", "says"), [(2, "slow=2 must be a list"), ("12", "must be a list"), (["2"], "'2' is no")]
)
def test_a_straggler_that_is_no_number_is_a_sentence(slow, says):
    t = cs.training_step(GPT, cs.machine("dgx-a100"), parallel=cs.ddp(), batch=64, dtype="bfloat16")
    with pytest.raises(cs.CollsimError, match=says):
        cs.train.time_faults(t, slow=slow)


def test_why_the_first_row_cannot_be_is_said_in_both_languages():
    with pytest.raises(cs.CollsimError, match="the next that is") as said:
        cs.train.measure_scaling("gpt2", "dgx-a100", parallel=cs.ddp(), nodes=(1, 2), batch=1, micro_batch=1)
    assert "下一个" in said.value.text("zh")


def test_losses_are_those_of_a_step():
    with pytest.raises(cs.CollsimError, match="wants a StepTrace"):
        cs.train.time_faults(5)
