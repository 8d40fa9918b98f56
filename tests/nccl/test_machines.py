"""Machines of the catalogue, as NCCL would see them."""

import pytest

from collsim import topology
from collsim.errors import CollsimError
from collsim.nccl import facts_of, predict


@pytest.mark.parametrize(
    ("name", "inside", "gigabytes"),
    [("dgx-a100", "nvswitch", 300), ("dgx-h100", "nvswitch", 450), ("dgx-1v", "cube", 150), ("mi300x-8gpu", "xgmi", 448)],
)
def test_facts_are_read_off_the_wiring(name, inside, gigabytes):
    seen = facts_of(topology.machine(name))
    assert (seen.inside, seen.link_rate, seen.ranks, seen.nodes) == (inside, gigabytes * 1e9, 8, 1)


def test_nodes_bring_nics():
    seen = facts_of(topology.machine("dgx-a100", nodes=2))
    assert (seen.nodes, seen.nics, seen.nic_rate, seen.net, seen.gdr) == (2, 8, 25e9, "ib", True)


def test_p2p_off_in_the_machine_is_nccl_p2p_disable():
    off = predict("allreduce", topology.machine("dgx-a100", p2p=False), "64MiB")
    assert off.facts.inside == "host"
    assert off.time == predict("allreduce", topology.machine("dgx-a100"), "64MiB", NCCL_P2P_DISABLE=1).time


def test_every_machine_with_gpus_is_predicted_with_and_without_p2p_and_gdr():
    said = 0
    for name, plan in topology.machines().items():
        nodes = 2 if plan.of_kind("nic") else 1
        for options in ({}, {"p2p": False}, {"gdr": False}):
            machine = topology.machine(name, nodes, **options)
            if not plan.gpu or not (plan.sm or plan.gpu.startswith("MI")):
                with pytest.raises(CollsimError, match="no GPU"):
                    predict("allreduce", machine, "64MiB")
                continue
            run = predict("allreduce", machine, "64MiB")
            assert run.time > 0
            assert run.parts.limit in (run.facts.inside, run.facts.net, "channels")
            said += 1
    assert said > 30


def test_a_generic_network_is_no_machine():
    with pytest.raises(CollsimError, match="not a machine"):
        predict("allreduce", topology.ring(8), "64MiB")


def test_a_part_of_the_gpus():
    assert predict("allreduce", topology.machine("dgx-a100"), "64MiB", ranks=4).facts.ranks == 4
    with pytest.raises(CollsimError, match="has 8 GPUs"):
        predict("allreduce", topology.machine("dgx-a100"), "64MiB", ranks=9)
