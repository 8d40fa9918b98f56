"""A helper that is a switch sits on the switch: NVLS on the NVSwitch, SHARP on the InfiniBand switch; no cable is
invented for it."""

import numpy as np
import pytest

import collsim as cs
from collsim.simulate import Launch, simulate_ordered

GIB = 2**30


def test_nvls_helper_is_the_nvswitch_and_crosses_one_nvlink():
    box = cs.machine("dgx-h100").with_helpers(1, on="switch")
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


@pytest.mark.parametrize(
    ("machine", "nodes", "count", "sentence"),
    [
        ("dgx-a100", 1, 1, "third generation"),
        ("pcie-8gpu", 1, 1, "no switch that reduces"),
        ("dgx-h100", 4, 2, "2 reducing switches have no place"),
    ],
)
def test_machines_without_such_a_switch_say_so(machine, nodes, count, sentence):
    with pytest.raises(cs.TopologyError, match=sentence):
        cs.machine(machine, nodes=nodes).with_helpers(count, on="switch")


def test_the_switch_of_a_generic_network_reduces_too():
    network = cs.topology.switch(4).with_helpers(1, on="switch")
    assert network.routes([2], [4]).hops.tolist() == [1]
    with pytest.raises(cs.TopologyError, match="place for a helper"):
        network.with_helpers(2, on="hub")
