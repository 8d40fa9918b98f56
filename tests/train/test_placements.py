"""Steps on a machine whose ranks go round its nodes: NCCL orders its rings by node, whatever numbers ranks have."""

import numpy as np
import pytest

import collsim as cs
from collsim.train.workload.collective_model import CollectiveModel
from collsim.train.workload.step_graph import StepTask

PLACEMENTS = ["node", "round-robin"]


def dgx(placement, nodes=2):
    return cs.machine("dgx-1v", nodes=nodes, nic="tcp-10", nics=1, placement=placement)


def time_step(placement, parallel=None, nodes=2, **options):
    return cs.training_step(
        "vgg16",
        dgx(placement, nodes),
        parallel=parallel or cs.ddp(),
        batch=512,
        micro_batch=32,
        compute=0.15,
        **options,
    ).time


@pytest.mark.parametrize("network", ["alone", "shared"])
def test_a_step_over_all_ranks_takes_as_long_with_both_placements(network):
    node, around = (time_step(placement, network=network) for placement in PLACEMENTS)
    assert around == pytest.approx(node, rel=0.01)


@pytest.mark.parametrize("nodes", [2, 4])
def test_a_group_on_some_of_the_nodes_takes_as_long_with_both_placements(nodes):
    """Ranks of two nodes of four: numbers 0 to 15 with one placement, and r mod 4 < 2 with the other."""
    ranks = range(16), [rank for rank in range(8 * nodes) if rank % nodes < 2]
    node, around = (
        time_step(placement, nodes=nodes, ranks=chosen) for placement, chosen in zip(PLACEMENTS, ranks, strict=True)
    )
    assert around == pytest.approx(node, rel=0.01)


def test_a_tensor_split_whose_ranks_go_round_the_nodes_crosses_them():
    """Ranks 0 and 1 are on one node with one placement, and on two nodes with the other."""
    split = cs.tensor(2) * cs.ddp()
    options = {"parallel": split, "batch": 8, "dtype": "float16", "compute": "V100"}
    node, around = (cs.training_step("gpt2", dgx(placement), **options) for placement in PLACEMENTS)
    assert around.time > 1.3 * node.time
    seconds = []
    for step in (node, around):
        tensor = [number for number in step.step.collectives if step.step.tasks[number].stream == "tensor"]
        assert step.step.get_groups(step.step.tasks[tensor[0]])[0] == (0, 1)
        seconds.append((step.end - step.begin)[tensor].sum())
    assert seconds[1] > 10 * seconds[0]


@pytest.mark.parametrize("kind", ["allreduce", "allgather", "broadcast"])
def test_the_schedule_of_a_predicted_collective_crosses_the_nodes_as_often_with_both_placements(kind):
    crossings = []
    for placement in PLACEMENTS:
        topology = dgx(placement)
        task = StepTask("x", kind=kind, lanes=(0,), stream="data", nbytes=2**26)
        transfers = CollectiveModel(topology).build_schedule(tuple(range(16)), task).transfers
        node = topology.devices.node[topology.endpoint_device]
        crossings.append(np.count_nonzero(node[transfers["src"]] != node[transfers["dst"]]))
    assert crossings[0] == crossings[1] > 0
