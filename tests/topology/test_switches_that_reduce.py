"""A helper that is a switch sits on the switch: NVLS on the NVSwitch, SHARP on the InfiniBand switch; no cable is
invented for it."""

import json
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.app.pages.race import lineup
from collsim.app.pages.whatif import run_edits
from collsim.app.scenario import outcome, snippets
from collsim.app.scenario.choice import from_query, to_query
from collsim.cli import app
from collsim.simulate import Launch, simulate_ordered
from collsim.topology.spec import parse_topology

GIB = 2**30


def test_nvls_helper_is_the_nvswitch_and_crosses_one_nvlink():
    box = cs.machine("dgx-h100").with_helpers(1, on="nvswitch")
    assert box.devices.name[box.endpoint_device[8]] == "node0/nvswitch"
    route = box.routes([3], [8])[0]
    assert [box.links.kind(int(i)) for i in route] == ["nvlink"]
    assert len(box.links) == len(cs.machine("dgx-h100").links)


def test_sharp_helper_is_the_switch_between_the_nodes():
    two = cs.machine("dgx-h100", nodes=2).with_helpers(1, on="switch")
    name = two.devices.name
    assert name[two.endpoint_device[16]] == "fabric/switch0"
    up, down = two.routes([11], [16])[0], two.routes([16], [11])[0]
    # GPU -> PCIe switch -> NIC -> fabric switch, and the same way back
    assert name[two.links.dst[up[-1]]] == name[two.links.src[down[0]]] == "fabric/switch0"
    assert [(name[two.links.src[i]], name[two.links.dst[i]]) for i in up] == [
        (name[two.links.dst[i]], name[two.links.src[i]]) for i in down[::-1]
    ]
    assert [two.links.kind(int(i)) for i in up].count("infiniband") == 1


def test_many_pairs_at_once_give_the_routes_of_each_alone():
    two = cs.machine("dgx-h100", nodes=2).with_helpers(1, on="switch")
    src, dst = np.array([0, 16, 9, 3, 16]), np.array([16, 5, 16, 12, 15])
    together = two.routes(src, dst)
    for i, (a, b) in enumerate(zip(src, dst, strict=True)):
        assert together[i].tolist() == two.routes([a], [b])[0].tolist()


def test_nvls_tree_helpers_are_the_nvswitches_of_the_nodes():
    two = cs.machine("dgx-h100", nodes=2).with_helpers(2, on="switch")
    assert [two.devices.name[d] for d in two.endpoint_device[16:]] == ["node0/nvswitch", "node1/nvswitch"]


@pytest.mark.parametrize("node", [0, 2])
def test_gpus_of_one_node_of_several_reduce_in_the_switch_of_their_node(node):
    """Each direction of 8 GPUs' NVLinks carries S(1 + 1/8), together 18 S, and no other link anything; and it takes as
    long as on one node by itself."""
    four, plan, group = (
        cs.machine("dgx-h100", nodes=4),
        cs.schedule("allreduce_nvls", ranks=8),
        range(8 * node, 8 * node + 8),
    )
    alone = cs.simulate(plan, cs.machine("dgx-h100"), "8MiB", engine="event")
    t = cs.simulate(plan, four, "8MiB", engine="event", ranks=list(group))
    both = cs.simulate([plan, plan], four, "8MiB", ranks=[list(group), list(range(8, 16))])
    ordered = simulate_ordered(
        [Launch((), 0.0, plan, 2**23, tuple(group)), Launch((), 0.0, plan, 2**23, tuple(range(8, 16)))], four
    )
    assert t.time == pytest.approx(alone.time, rel=1e-12)
    assert both.time == pytest.approx(alone.time, rel=1e-12)
    assert ordered.end == pytest.approx([alone.time, alone.time], rel=1e-12)
    kinds = t.links.groupby("kind").bytes.sum()
    assert kinds.get("nvlink") == 18 * 2**23
    assert kinds.drop("nvlink").sum() == 0


def test_a_reducing_switch_beats_the_speed_of_its_links():
    """Each direction carries S(1 + 1/n), not 2S(n-1)/n: busbw up to 450 GB/s * 2 * 7/8 / (9/8) = 700 GB/s (nccl-tests
    issue 153)."""
    box = cs.machine("dgx-h100")
    trace = cs.simulate(cs.schedule("allreduce_nvls", ranks=8, chunks=64), box, GIB)
    assert 450e9 < trace.busbw < 700e9
    ring = cs.simulate(cs.schedule("allreduce_ring", ranks=8), box, GIB)
    assert ring.busbw < 450e9


# ---- one rule for who may reduce in a switch -----------------------------------------------------------------------

NVLS, SHARP, GENERIC = "third generation", "no network switch that reduces", "does not say that a switch of it reduces"


@pytest.mark.parametrize(
    ("algorithm", "place", "sentence"),
    [
        ("allreduce_nvls", {"name": "dgx-a100"}, NVLS),
        ("allreduce_nvls", {"name": "dgx-a100", "nodes": 2}, NVLS),
        ("allreduce_nvls_tree", {"name": "dgx-a100", "nodes": 2}, NVLS),
        ("reduce_scatter_nvls", {"name": "dgx-1v", "nodes": 2}, NVLS),
        ("allreduce_nvls", {"name": "pcie-8gpu"}, NVLS),
        ("allreduce_nvls", {"name": "mi300x-8gpu"}, NVLS),
        ("allreduce_nvls", {"name": "dgx-h100", "nodes": 2}, "only for the GPUs of its own node"),
        ("allreduce_sharp", {"name": "dgx-h100"}, SHARP),
        ("allreduce_sharp", {"name": "dgx-h100", "nodes": 2, "fabric": "rail"}, SHARP),
        ("allreduce_sharp", {"name": "dgx-h100", "nodes": 2, "nic": "roce-400"}, SHARP),
        ("allreduce_sharp", {"name": "dgx-1v", "nodes": 2}, SHARP),
        ("allreduce_collnet_chain", {"name": "dgx-h100"}, SHARP),
        ("broadcast_multicast", {"name": "dgx-a100"}, NVLS),
        ("broadcast_multicast", {"name": "dgx-1v", "nodes": 2}, SHARP),
    ],
)
def test_machines_without_such_a_switch_say_so(algorithm, place, sentence):
    topology = cs.machine(place.pop("name"), **place)
    with pytest.raises(cs.TopologyError, match=sentence):
        cs.simulate(cs.schedule(algorithm, topology=topology), topology, "1MiB")


def test_two_nodes_are_refused_with_the_sentence_of_one():
    errors = []
    for nodes in (1, 2):
        topology = cs.machine("dgx-a100", nodes=nodes)
        with pytest.raises(cs.TopologyError) as caught:
            cs.simulate(cs.schedule("allreduce_nvls", topology=topology), topology, "1MiB")
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


@pytest.mark.parametrize(
    ("algorithm", "place", "device"),
    [
        ("allreduce_nvls", {"name": "gb200-nvl72"}, "node0/nvswitch"),
        ("allreduce_nvls_tree", {"name": "dgx-h100", "nodes": 2}, "node1/nvswitch"),
        ("allreduce_sharp", {"name": "dgx-a100", "nodes": 2}, "fabric/switch0"),
        ("broadcast_multicast", {"name": "dgx-h100"}, "node0/nvswitch"),
        ("broadcast_multicast", {"name": "dgx-h100", "nodes": 2}, "fabric/switch0"),
    ],
)
def test_machines_with_such_a_switch_use_it(algorithm, place, device):
    topology = cs.machine(place.pop("name"), **place)
    trace = cs.simulate(cs.schedule(algorithm, topology=topology), topology, "1MiB")
    assert topology.devices.name[trace.topology.endpoint_device[-1]] == device


SHAPES = [
    cs.topology.switch(8),
    cs.topology.switch(8, helpers=1),
    cs.topology.star(8),
    cs.topology.fully_connected(8),
    cs.topology.ring(8),
]


@pytest.mark.parametrize("topology", SHAPES, ids=lambda topology: f"{topology.name}, {topology.endpoints} endpoints")
@pytest.mark.parametrize("algorithm", ["allreduce_nvls", "allreduce_sharp", "broadcast_multicast"])
def test_a_switch_that_says_nothing_of_itself_does_not_reduce(algorithm, topology):
    schedule = cs.schedule(algorithm, ranks=8)
    for run in (
        lambda: cs.simulate(schedule, topology, "1MiB"),
        lambda: cs.simulate([schedule], topology, "1MiB"),
        lambda: simulate_ordered([Launch((), 0.0, schedule, 2**20, tuple(range(8)))], topology),
    ):
        with pytest.raises(cs.TopologyError, match=rf"{GENERIC}.*switch\(8, reduces=True\)"):
            run()


def test_a_switch_that_is_said_to_reduce_does():
    network = cs.topology.switch(4, reduces=True)
    assert network.name == "switch(4, reduces=True)"
    assert parse_topology(network.name, cs.topology.NETWORKS).reducing == (4,)
    assert network.with_helpers(1, on="switch").routes([2], [4]).hops.tolist() == [1]
    with pytest.raises(cs.TopologyError, match="place for a helper"):
        network.with_helpers(2, on="hub")
    with pytest.raises(cs.TopologyError, match=r"reduces='yes'.*True or False"):
        cs.topology.switch(4, reduces="yes")


def test_a_node_of_a_graph_may_say_that_it_reduces():
    """Two switches, of which one adds; two that add, for one helper, are one too many."""
    graph = nx.Graph()
    for rank in range(4):
        graph.add_node(rank, kind="gpu")
        graph.add_edge(rank, "left" if rank < 2 else "right", bandwidth="25GB/s", alpha="1us")
    graph.add_edge("left", "right", bandwidth="100GB/s", alpha="1us")
    graph.nodes["left"].update(kind="switch")
    graph.nodes["right"].update(kind="switch", reduces=True)
    sharp = cs.schedule("allreduce_sharp", ranks=4)
    trace = cs.simulate(sharp, cs.Topology.from_networkx(graph), "4MiB")
    names = trace.topology.devices.name
    assert names[trace.topology.endpoint_device[4]] == "right"
    assert trace.links.set_index("link").bytes["left → right"] == 2 * 4 * 2**20
    graph.nodes["left"].update(reduces=True)
    with pytest.raises(cs.TopologyError, match="2 switches that reduce, for 1"):
        cs.simulate(sharp, cs.Topology.from_networkx(graph), "4MiB")
    graph.nodes[0].update(reduces=True)
    with pytest.raises(cs.TopologyError, match=r"node 0: .*a switch"):
        cs.Topology.from_networkx(graph)


def test_helpers_that_are_there_already_are_used_where_they_are_of_the_kind():
    """The topology of a run has that run's helpers: those of another kind take no part in the next."""
    network = cs.topology.switch(8, reduces=True)
    sharp = cs.simulate(cs.schedule("allreduce_sharp", ranks=8), network, "1MiB")
    server = cs.simulate(cs.schedule("allreduce_parameter_server", ranks=8, server="helper"), sharp.topology, "1MiB")
    assert server.topology.devices.name[server.topology.endpoint_device[8]] == "host0"
    again = cs.simulate(sharp.schedule, server.topology, "1MiB")
    assert (again.time, again.topology.devices.name[again.topology.endpoint_device[8]]) == (sharp.time, "switch0")
    assert cs.simulate(sharp.schedule, sharp.topology, "1MiB").time == sharp.time
    two = cs.machine("dgx-h100", nodes=2)
    fabric = cs.simulate(cs.schedule("allreduce_sharp", topology=two), two, "1MiB").topology
    tree = cs.simulate(cs.schedule("allreduce_nvls_tree", topology=fabric), fabric, "1MiB")
    assert {two.devices.name[d] for d in tree.topology.endpoint_device[16:]} == {"node0/nvswitch", "node1/nvswitch"}


# ---- the same at every interface -----------------------------------------------------------------------------------

PLACES = {
    "two DGX A100": (cs.machine("dgx-a100", nodes=2), {"machine": "dgx-a100", "nodes": "2"}, NVLS),
    "a plain switch": (cs.topology.switch(8), {"network": "switch", "ranks": "8"}, GENERIC),
}


@pytest.mark.parametrize("place", PLACES)
def test_every_interface_refuses_with_the_same_sentence(place):
    topology, query, sentence = PLACES[place]
    name = "allreduce_nvls"
    for table in (
        cs.compare("allreduce", topology, "1MiB", algorithm=[name, "allreduce_ring"]),
        cs.sweep("allreduce", [name], topology, "1MiB"),
    ):
        assert sentence in table.set_index("algorithm")["error"][name]
    with pytest.raises(cs.CollsimError, match=sentence):
        cs.best("allreduce", topology, "1MiB", algorithm=[name])
    assert cs.best("allreduce", topology, "1MiB").trace.schedule.helpers_on != "nvswitch"
    with pytest.raises(cs.TopologyError, match=sentence):
        cs.crossover(name, "allreduce_ring", topology)
    words = ["--topology", "switch(8)"] if "network" in query else ["--machine", "dgx-a100", "--nodes", "2"]
    done = CliRunner().invoke(app, ["run", name, *words, "--nbytes", "1MiB"])
    assert done.exit_code == 2
    assert sentence in " ".join(done.stderr.split())
    choice, complaints = from_query({"algorithm": name, "nbytes": "1MiB", **query})
    assert complaints == []
    for page in (
        outcome.compute_outcome,
        lineup.simulate_runner,
        lambda choice: run_edits.run_change(choice, run_edits.PLAIN),
    ):
        with pytest.raises(cs.TopologyError, match=sentence):
            page(choice)
    table = outcome.compare(replace(choice, algorithms=(name, "allreduce_ring"), sizes="1MiB:2MiB:2"))
    assert sentence in str(table.attrs["refusals"][name])


def test_every_interface_takes_a_switch_that_is_said_to_reduce():
    network = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us", reduces=True)
    time = cs.simulate(cs.schedule("allreduce_sharp", ranks=8), network, "64MiB").time
    assert cs.best("allreduce", network, "64MiB").trace.schedule.name == "allreduce_sharp"
    made = cs.synthesize("allreduce", network, "64MiB", "low")
    assert made.options["algorithm"] == "allreduce_sharp"
    words = ["--topology", network.name, "--nbytes", "64MiB", "--json"]
    assert json.loads(CliRunner().invoke(app, ["run", "allreduce_sharp", *words]).stdout)["time"] == time
    query = {"algorithm": "allreduce_sharp", "network": "switch", "nbytes": "64MiB", "reduces": "on"}
    choice, complaints = from_query(query)
    assert complaints == []
    assert (to_query(choice)["reduces"], outcome.simulate(choice).time) == ("on", time)
    assert "reduces=True" in snippets.write_machine(choice)
    assert "reduces" not in to_query(replace(choice, reduces=False))
    assert lineup.simulate_runner(choice).time == time
    plan = cs.sweep("allreduce", ["allreduce_sharp"], ["switch(8)", "switch(8, reduces=true)"], "64MiB")
    assert list(plan["error"].isna()) == [False, True]
    assert plan["scenario"].nunique() == 2
