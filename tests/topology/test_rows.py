"""Devices, links and topologies as tables: rows, indexing, equality, frames, and what a notebook shows."""

import pickle

import networkx as nx
import numpy as np
import pytest

import collsim as cs
from collsim.topology import NETWORKS

FABRICS = ("switch", "leaf-spine", "fat-tree", "rail", "rail-only", "planes", "torus", "mesh", "dragonfly")


def graph():
    cycle = nx.cycle_graph(4)
    nx.set_edge_attributes(cycle, "25GB/s", "bandwidth")
    cycle[0][1]["bandwidth"] = "50GB/s"
    return cs.Topology.from_networkx(cycle)


BUILDERS = {
    **{name: lambda name=name: NETWORKS[name](4) for name in NETWORKS},
    **{name: lambda name=name: cs.machine(name) for name in ("dgx-a100", "dgx-1v", "tpu-v4-64", "cpu-2socket")},
    **{f"fabric {name}": lambda name=name: cs.machine("dgx-a100", nodes=4, fabric=name) for name in FABRICS},
    "graph": graph,
    "no gdr": lambda: cs.machine("dgx-a100", nodes=4, gdr=False),
    "no p2p": lambda: cs.machine("dgx-a100", p2p=False),
    "round robin": lambda: cs.machine("dgx-a100", nodes=4, placement="round-robin"),
    "4 GPUs": lambda: cs.machine("dgx-a100", gpus=4),
    "without a link": lambda: cs.machine("dgx-1v").without_link("node0/gpu0", "node0/gpu1"),
    "half a link": lambda: cs.topology.ring(4).with_link("gpu0", "gpu1", bandwidth="half"),
    "helper": lambda: cs.topology.switch(4, helpers=1),
    "yaml": lambda: cs.topology.parse_topology_text(cs.machine("dgx-a100").to_yaml(), "x.yaml"),
}


@pytest.mark.parametrize("name", BUILDERS)
def test_the_same_call_makes_an_equal_topology_and_so_does_another_process(name):
    one, two = BUILDERS[name](), BUILDERS[name]()
    one.route(0, one.ranks - 1)  # what a router has found so far does not count
    assert one == two == pickle.loads(pickle.dumps(one))
    assert hash(one) == hash(two)
    assert len({one, two}) == 1
    assert one.links == two.links
    assert one.devices == two.devices


def test_no_two_different_topologies_are_equal():
    topologies = [build() for build in BUILDERS.values()]
    for i, one in enumerate(topologies):
        assert [j for j, other in enumerate(topologies) if one == other] == [i]


def test_links_that_differ_in_one_figure_are_not_equal():
    links = cs.topology.ring(4).links
    assert links != cs.topology.ring(4, alpha="2us").links
    assert links != cs.topology.ring(4, bandwidth="1GB/s").links
    assert links != cs.topology.ring(5).links
    assert links != "links"
    assert cs.topology.ring(4).devices != cs.topology.ring(5).devices


def test_rows_are_what_the_columns_hold():
    topology = cs.machine("dgx-a100")
    links, devices = topology.links, topology.devices
    assert len(list(links)) == len(links) == 62
    for i, link in enumerate(links):
        cable = links.cables[links.cable[i]]
        expected = (i, links.src[i], links.dst[i], cable.kind, cable.label, links.bandwidth[i], links.alpha[i])
        assert link == links[i] == links[i - len(links)] == expected
    assert links[-2:] == [links[60], links[61]]
    assert links[np.int64(3)] == links[3]
    for i, device in enumerate(devices):
        assert device == devices[i] == topology[i] == topology[device.name]
        assert (device.number, device.name, device.node) == (i, devices.name[i], 0)
    assert list(topology) == list(devices)
    assert len(topology) == len(devices) == 25
    assert [device.name for device in topology if device.kind == "nvswitch"] == ["node0/nvswitch"]


def test_frames_hold_all_rows():
    topology = cs.machine("dgx-a100")
    links, devices, named = topology.links.to_frame(), topology.devices.to_frame(), topology.to_frame()
    assert links.to_numpy().tolist() == [list(link[1:]) for link in topology.links]
    assert devices.to_numpy().tolist() == [list(device[1:]) for device in topology.devices]
    assert [f"{src} → {dst}" for src, dst in named[["src", "dst"]].to_numpy()] == [
        topology.link_name(i) for i in range(len(topology.links))
    ]
    assert named.drop(columns=["src", "dst"]).equals(links.drop(columns=["src", "dst"]))
    assert named.loc[named.kind == "nvlink", "bandwidth"].sum() == 16 * 300e9


def test_a_row_that_does_not_exist_is_answered():
    topology = cs.topology.ring(4)
    for index in (8, -9, "gpu0", 1.5, None):
        with pytest.raises(cs.TopologyError, match=r"Links\[.*there are 8"):
            topology.links[index]
    with pytest.raises(cs.TopologyError, match="unknown device 'gpu9'"):
        topology["gpu9"]
    assert topology[-1] == topology.devices[-1]
    assert topology[:2] == topology.devices[:2]


def test_tables_say_what_they_are():
    topology = cs.machine("dgx-a100")
    assert repr(topology.links) == "<Links 62: 16 nvlink, 40 pcie, 4 memory, 2 upi>"
    assert repr(topology.devices) == "<Devices 25: 8 gpu, 2 cpu, 2 memory, 4 pcie, 1 nvswitch, 8 nic>"
    for table in (topology.links, topology.devices):
        assert table._repr_html_().count("<tr") == min(len(table), 60) + 1
    strange = cs.topology.network.Devices(["<script>"], np.zeros(1, np.int8), np.zeros(1, np.int32))
    assert "<script>" not in strange._repr_html_()


def test_one_topology_is_one_and_not_a_list_of_its_devices():
    table = cs.sweep("allreduce", "allreduce_ring", cs.topology.ring(4), "1MiB")
    assert len(table) == 1
    assert table.error.isna().all()
