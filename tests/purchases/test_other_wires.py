"""The same GPUs with other wires."""

import json

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.locale import LANGUAGES

BOX = cs.machine("pcie-8gpu", gpus=4)


@pytest.mark.parametrize(
    "run",
    [
        cs.training_step("gpt2-medium", BOX, parallel=cs.ddp(), micro_batch=4, dtype="bfloat16"),
        cs.simulate(cs.schedule("allreduce_ring", topology=BOX), BOX, "64MiB"),
        cs.nccl.predict("allreduce", BOX, "64MiB"),
    ],
    ids=["step", "simulation", "prediction"],
)
def test_a_variant_takes_what_the_run_takes_on_the_machine_with_these_wires(run):
    present, *variants = cs.purchases.compare_wires(run)
    assert present.change is None
    assert present.run is run
    assert {str(variant.change) for variant in variants} >= {"nvlink=board", "nvlink=bridge", "pcie=3"}
    assert [variant.time for variant in variants] == sorted(variant.time for variant in variants)
    for variant in variants:
        assert variant.change is not None
        machine = BOX.with_(**{variant.change.part: variant.change.value})
        assert variant.run.topology.links == machine.links if hasattr(variant.run, "topology") else variant.run.machine
        assert variant.factor == variant.time / present.time
        assert len({variant.text(language) for language in LANGUAGES[:2]}) == 2


def test_computing_stays_as_it_is_and_nvlink_is_faster_than_pcie():
    step = cs.training_step("gpt2-medium", BOX, parallel=cs.ddp(), micro_batch=4, dtype="bfloat16")
    times = {str(variant.change): variant.run for variant in cs.purchases.compare_wires(step)}
    assert times["nvlink=board"].time < times["None"].time < times["pcie=3"].time
    assert times["nvlink=board"].computing == pytest.approx(step.computing)


def test_wires_that_a_gpu_is_not_sold_with_are_left_out():
    run = cs.simulate(cs.schedule("allreduce_ring", ranks=2), cs.machine("dgx-h100", gpus=2), "1MiB")
    assert not {str(variant.change) for variant in cs.purchases.compare_wires(run)} & {"pcie=5", "pcie=6"}


def test_a_network_without_machines_is_refused():
    run = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), "1MiB")
    with pytest.raises(cs.CollsimError, match="no machine"):
        cs.purchases.compare_wires(run)


def test_a_rank_alone_has_no_wires_to_compare():
    machine = cs.machine("dgx-a100", gpus=1)
    run = cs.simulate(cs.schedule("reduce_chain", topology=machine), machine, "1MiB")
    (present,) = cs.purchases.compare_wires(run)
    assert (present.change, present.time, present.factor) == (None, 0.0, 1.0)


@pytest.mark.slow
def test_the_command_has_the_same_wires():
    words = [
        "upgrades",
        "resnet50",
        "--machine",
        "pcie-8gpu",
        "--nodes",
        "2",
        "--micro-batch",
        "16",
        "--dtype",
        "bfloat16",
        "--part",
        "p2p",
    ]
    step = cs.training_step(
        "resnet50", cs.machine("pcie-8gpu", nodes=2), parallel=cs.ddp(), micro_batch=16, dtype="bfloat16"
    )
    wires = cs.purchases.compare_wires(step)
    rows = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)["wires"]
    assert rows[0]["change"] is None
    assert [(row["time"], row["factor"]) for row in rows] == [(each.time, each.factor) for each in wires]
    assert "the machine as it is" in CliRunner().invoke(app, words).stdout
