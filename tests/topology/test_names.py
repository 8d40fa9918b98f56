"""A topology by its name, and endpoints that do not exist."""

import pytest

import collsim as cs
from collsim.simulate import expected_cost, simulate_flows
from collsim.topology_names import resolve_topology


def ring(ranks):
    return cs.schedule("allreduce_ring", ranks=ranks)


@pytest.mark.parametrize(
    "call",
    [
        lambda where: cs.simulate(ring(8), where, "1MiB").time,
        lambda where: cs.simulate(cs.schedule("allreduce_ring", topology=where), where, "1MiB").time,
        lambda where: cs.lower_bound("allreduce", where, "1MiB").time,
        lambda where: cs.compare("allreduce", where, "1MiB", algorithm=["allreduce_ring"]).time.tolist(),
        lambda where: cs.best("allreduce", where, "1MiB", algorithm=["allreduce_ring"]).trace.time,
        lambda where: int(cs.crossover("allreduce_tree", "allreduce_ring", where)),
        lambda where: cs.sweep("allreduce", "allreduce_ring", where, "1MiB").time.tolist(),
        lambda where: simulate_flows(where, [0], [1], "1MiB").time,
        lambda where: expected_cost(ring(8), where, "1MiB").transfers,
        lambda where: cs.synthesize("allgather", where, effort="low").steps,
        lambda where: cs.nccl.predict("allreduce", where, "1MiB").time,
        lambda where: cs.nccl.predict_with_simulation("allreduce", where, "1MiB").notes,
        lambda where: cs.nccl.predict_and_simulate("allreduce", where, "1MiB")[1].time,
        lambda where: cs.nccl.read_facts(where).gpu,
        lambda where: cs.training_step("resnet50", where, parallel=cs.ddp(), batch=256).time,
    ],
    ids=[
        "simulate",
        "schedule",
        "bound",
        "compare",
        "best",
        "crossover",
        "sweep",
        "flows",
        "cost",
        "synthesize",
        "predict",
        "predict with simulation",
        "predict and simulate",
        "facts",
        "step",
    ],
)
def test_a_machine_is_named_wherever_a_topology_is_taken(call):
    assert call("dgx-a100") == call(cs.machine("dgx-a100")) == call(cs.machines()["dgx-a100"])


def test_a_name_takes_arguments_as_it_is_printed():
    for network in (
        cs.machine("dgx-a100", nodes=2, fabric="rail", gdr=False),
        cs.topology.torus(4, 4, bandwidth="50GB/s"),
        cs.topology.switch(8, alpha="3us"),
    ):
        assert resolve_topology(network.name, "simulate").links.bandwidth.tolist() == network.links.bandwidth.tolist()
        assert resolve_topology(network.name, "simulate").name == network.name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("dgx-a10", "did you mean 'dgx-a100'"),
        ("rign(8)", "did you mean 'ring'"),
        ("ring(8, latency=1us)", "did you mean 'alpha'"),
        ("dgx-a100(num_nodes=2)", "did you mean 'nodes'"),
        (8, "simulate wants a topology, got 8"),
        (None, "simulate wants a topology, got None"),
    ],
)
def test_what_is_no_topology_is_refused_with_the_way_out(value, text):
    with pytest.raises(cs.CollsimError, match=text):
        cs.simulate(ring(8), value, "1MiB")


def test_a_rank_that_does_not_exist_is_called_no_helper():
    with pytest.raises(cs.ScheduleError) as caught:
        cs.algorithm("broadcast", name="too_far")(lambda n: iter([cs.copy(0, 11, chunk=0)]))(8)
    assert "rank 11" in str(caught.value)
    assert "helper" not in str(caught.value)
    with pytest.raises(cs.TopologyError, match=r"ring\(4\) has no rank 7: its ranks are 0 to 3"):
        cs.topology.ring(4).route(0, 7)
    with pytest.raises(cs.TopologyError, match="no endpoint 9: its ranks are 0 to 7, its helpers up to 8"):
        cs.topology.switch(8, helpers=1).route(0, 9)
