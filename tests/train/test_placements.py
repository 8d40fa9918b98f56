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


def _time_allreduce(machine, ranks, nbytes=100_000_000):
    """Seconds of an allreduce of a group in a step."""
    task = StepTask("allreduce", "allreduce", (0,), nbytes=nbytes)
    return CollectiveModel(machine).time_groups((tuple(ranks),), task)


@pytest.mark.parametrize(("ranks", "slower_ranks"), [((0, 4), (0, 1)), ((3, 7), (1, 5)), ((0, 1, 2, 3), (0, 1, 4, 5))])
def test_a_group_is_timed_on_the_gpus_that_it_has(ranks, slower_ranks):
    """On a DGX-1V some pairs of GPUs share two NVLinks, some one: the same digits as `predict` for these ranks."""
    machine = cs.machine("dgx-1v")
    for chosen in (ranks, slower_ranks):
        assert _time_allreduce(machine, chosen) == cs.nccl.predict("allreduce", machine, 100_000_000, chosen).time
    near, far = (_time_allreduce(machine, chosen) for chosen in (ranks, slower_ranks))
    assert near != pytest.approx(far, rel=0.05)


def test_the_plan_of_a_step_runs_on_its_own_gpus():
    """GPUs 0 and 4 exchange data over their two NVLinks, in the price and in the plan that is drawn."""
    machine = cs.machine("dgx-1v")
    for ranks in ((0, 1), (0, 4)):
        step = cs.training_step("bert-large", machine, parallel=cs.ddp(), batch=8, ranks=ranks)
        number = max(step.step.collectives, key=lambda task: step.step.tasks[task].nbytes)
        task = step.step.tasks[number]
        trace = cs.simulate(step.step.build_schedule(number, machine), machine, task.nbytes, ranks=list(ranks))
        price = float((step.end - step.begin)[number])
        assert trace.time == pytest.approx(price, rel=0.4)
        assert price == pytest.approx(cs.nccl.predict("allreduce", machine, task.nbytes, ranks).time, rel=1e-9)


def test_gpus_that_are_alike_are_timed_once():
    """Every GPU of a DGX A100 is wired as the first is, so eight groups of one GPU a node are one prediction."""
    model = CollectiveModel(cs.machine("dgx-a100", nodes=2))
    assert len({model.find_placement((gpu, 8 + gpu)) for gpu in range(8)}) == 1
    assert len({model.find_placement((0, gpu)) for gpu in range(1, 8)}) > 1  # two share a PCIe switch


def test_a_group_is_timed_where_its_nodes_are_in_the_fabric():
    """Uplinks of leaves that are eight times oversubscribed hold up nodes of two leaves, and not those of one."""
    machine = cs.machine("dgx-a100", nodes=8, fabric="leaf-spine", radix=36, oversubscription=8)
    groups = [
        tuple(rank for node in nodes for rank in range(8 * node, 8 * node + 8)) for nodes in ((0, 1), (2, 3), (1, 4))
    ]
    near, also_near, far = (_time_allreduce(machine, group, 2**30) for group in groups)
    assert near == also_near
    assert far > 3 * near
    assert far == cs.nccl.predict("allreduce", machine, 2**30, groups[2]).time
