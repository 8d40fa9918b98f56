"""Machines of the catalogue, as NCCL would see them."""

import pytest
from sampling import sample

import collsim as cs
from collsim import topology
from collsim.errors import CollsimError
from collsim.nccl import parse_facts, predict, predict_and_simulate, read_facts, search_graphs


@pytest.mark.parametrize(
    ("name", "inside", "gigabytes"),
    [
        ("dgx-a100", "nvswitch", 300),
        ("dgx-h100", "nvswitch", 450),
        ("dgx-1v", "cube", 150),
        ("mi300x-8gpu", "xgmi", 448),
    ],
)
def test_facts_are_read_off_the_wiring(name, inside, gigabytes):
    seen = read_facts(topology.machine(name))
    assert (seen.wiring, seen.link_rate, seen.ranks, seen.nodes) == (inside, gigabytes * 1e9, 8, 1)


def test_nodes_bring_nics():
    seen = read_facts(topology.machine("dgx-a100", nodes=2))
    assert (seen.nodes, seen.nics, seen.nic_rate, seen.net, seen.gdr) == (2, 8, 25e9, "ib", True)


def test_p2p_off_in_the_machine_is_nccl_p2p_disable():
    off = predict("allreduce", topology.machine("dgx-a100", p2p=False), "64MiB")
    assert off.facts.wiring == "host"
    assert off.time == predict("allreduce", topology.machine("dgx-a100"), "64MiB", NCCL_P2P_DISABLE=1).time


@pytest.mark.parametrize(
    ("names", "least"),
    sample([(["dgx-a100", "pcie-8gpu", "gb200-nvl72", "cpu-2socket"], 6), (cs.machines(), 31)], 1),
    ids=["some", "all"],
)
def test_every_machine_with_gpus_is_predicted_with_and_without_p2p_and_gdr(names, least):
    said = 0
    for name in names:
        plan = cs.machines()[name]
        nodes = 2 if plan.of_kind("nic") else 1
        for options in ({}, {"p2p": False}, {"gdr": False}):
            machine = topology.machine(name, nodes, **options)
            if not plan.gpu or not (plan.sm or plan.gpu.startswith("MI")):
                with pytest.raises(CollsimError, match="no GPU"):
                    predict("allreduce", machine, "64MiB")
                continue
            if name == "gb200-nvl72" and "p2p" in options:
                with pytest.raises(CollsimError, match="hosts, which share no memory"):
                    predict("allreduce", machine, "64MiB")
                continue
            run = predict("allreduce", machine, "64MiB")
            assert run.time > 0
            # without GPUDirect RDMA bytes between GPUs and cards cross their slots twice, by way of host memory
            slots = ["pcie"] * (run.facts.gdr is False)
            assert run.parts.limit in (run.facts.wiring, run.facts.net, "channels", *slots)
            said += 1
    assert said >= least


def test_in_a_mesh_fewer_gpus_have_fewer_links_as_the_words_of_tables_say():
    """4 of 12 NVLinks join two A100 of four, and one of seven xGMI links two MI300X of eight; behind a switch all links
    stay."""
    for name, card, word, sizes in (
        ("polaris", "A100", "nvlink3-mesh4", (2, 3, 4)),
        ("mi300x-8gpu", "MI300X", "xgmi-mi300x", (2, 4, 8)),
    ):
        machine = topology.machine(name)
        for n in sizes:
            there = read_facts(machine, n)
            assert there.link_rate == pytest.approx(parse_facts(card, n, 1, word, "none").link_rate), (name, n)
            assert read_facts(read_facts(machine), n) == there
            run, simulated = predict_and_simulate("allreduce", machine, "256MiB", ranks=n)
            assert simulated.time < 1.3 * run.time, (name, n)
    assert search_graphs(topology.machine("polaris"), 2).rings.total_speed == 80.0
    assert read_facts(topology.machine("dgx-a100"), 2).link_rate == 300e9


def test_a_generic_network_is_no_machine():
    with pytest.raises(CollsimError, match="not a machine"):
        predict("allreduce", topology.ring(8), "64MiB")


def test_a_part_of_the_gpus():
    assert predict("allreduce", topology.machine("dgx-a100"), "64MiB", ranks=4).facts.ranks == 4
    with pytest.raises(CollsimError, match="has 8 GPUs"):
        predict("allreduce", topology.machine("dgx-a100"), "64MiB", ranks=9)


@pytest.mark.parametrize(
    ("name", "nodes", "with_first_gpu", "without_it"),
    [
        ("dgx-a100", 8, (0, 4), (3, 7)),  # eight equal GPUs on NVSwitch, a card each
        ("dgx-h100", 2, (0, 1, 2, 3), (4, 5, 6, 7)),
        ("a40-8gpu", 1, (0, 1), (2, 3)),  # a pair joined by a bridge
        ("a40-8gpu", 1, (0, 1, 2, 3), (4, 5, 6, 7)),  # the GPUs of one socket
        ("pcie-8gpu", 1, (0, 1), (6, 7)),  # a pair behind one switch
        ("pcie-8gpu", 2, (0, 1), (4, 5)),  # the pairs beside a network card
    ],
)
def test_groups_of_one_shape_cost_the_same_with_and_without_the_first_gpu(name, nodes, with_first_gpu, without_it):
    machine = topology.machine(name, nodes=nodes)
    size = machine.ranks // nodes
    first, other = (
        predict("allgather", machine, "1GB", ranks=[node * size + gpu for node in range(nodes) for gpu in gpus])
        for gpus in (with_first_gpu, without_it)
    )
    assert other.time == pytest.approx(first.time, rel=0.005)


def test_gpus_without_a_way_to_a_card_are_refused_as_the_simulation_does():
    machine = topology.machine("gb200-nvl72", nodes=2, nic="tcp-10")  # one card, in the first tray of each node
    for collective in ("alltoall", "allreduce"):
        with pytest.raises(CollsimError, match="GPUs 0, 1, 2, 3 of a node have one"):
            predict(collective, machine, "1GiB", ranks=[47, 119])
    with pytest.raises(CollsimError, match="cannot reach"):
        cs.simulate(cs.schedule("allreduce_ring", ranks=2), machine, "1GiB", ranks=[47, 119])
    assert predict("alltoall", machine, "1GiB", ranks=[0, 72]).facts.nics == 1


def test_scaled_infiniband_is_seen_and_a_card_carries_no_more_than_its_slot():
    """Halved, the ring's bytes take twice as long; doubled, HDR's 25 GB/s would be 50, of which PCIe 4.0 leaves
    31.5."""
    built = topology.machine("dgx-a100", nodes=2)
    half, double = built.scaled(kind="infiniband", by=0.5), built.scaled(kind="infiniband", by=2)
    slow, usual, fast = (
        predict("allreduce", m, "256MiB", NCCL_ALGO="Ring", NCCL_PROTO="Simple") for m in (half, built, double)
    )
    assert [p.facts.nic_rate for p in (slow, usual, fast)] == [12.5e9, 25e9, 31.5e9]
    assert slow.parts.limit == usual.parts.limit == "ib"
    assert slow.parts.bytes == pytest.approx(2 * usual.parts.bytes)
    assert slow.time > usual.time > fast.time
    assert predict("allreduce", double, "256MiB").time < predict("allreduce", built, "256MiB").time
    assert double.name == "dgx-a100(nodes=2), infiniband ×2"


def test_one_slow_nvlink_holds_the_whole_ring_back():
    half = topology.machine("dgx-a100").with_link("node0/gpu3", "node0/nvswitch", bandwidth="half")
    assert read_facts(half).link_rate == 150e9
    assert predict("allreduce", half, "1GiB").parts.bytes == pytest.approx(
        2 * predict("allreduce", topology.machine("dgx-a100"), "1GiB").parts.bytes
    )


def test_failed_and_slow_cards():
    """7 cards of 8; and with one card at half, seven at full speed carry more than eight at half."""
    built = topology.machine("dgx-a100", nodes=2)
    failed = read_facts(built.without_link("node1/nic2", "fabric/switch0"))
    slow = read_facts(built.with_link("node1/nic2", "fabric/switch0", bandwidth="half"))
    assert (failed.nics, failed.nic_rate) == (slow.nics, slow.nic_rate) == (7, 25e9)
    assert (
        predict("allgather", built.without_link("node1/nic2", "fabric/switch0"), "1GiB").time
        > predict("allgather", built, "1GiB").time
    )


def test_pcie_as_a_whole_is_another_generation():
    server = topology.machine("pcie-8gpu-single-root")
    faster = server.scaled(kind="pcie", by=2)
    assert (read_facts(server).pcie, read_facts(faster).pcie) == (4, 5)
    assert predict("allreduce", faster, "256MiB").time < predict("allreduce", server, "256MiB").time
    with pytest.raises(CollsimError, match=r"no generation that NCCL knows.*2 or 0.5"):
        read_facts(server.scaled(kind="pcie", by=1.3))


def test_edits_without_a_word_are_refused_and_those_that_nothing_crosses_are_not():
    server = topology.machine("pcie-8gpu")
    with pytest.raises(CollsimError, match=r"the ring crosses .*cpu.*use simulate"):
        predict("allreduce", server.with_link("node0/cpu0", "node0/memory0", bandwidth="half"), "1MiB")
    fast = topology.machine("dgx-a100")
    assert predict("allreduce", fast.scaled(kind="upi", by=0.5), "1MiB").time == predict("allreduce", fast, "1MiB").time
    switchless = fast.without_link("node0/gpu3", "node0/nvswitch")
    with pytest.raises(CollsimError, match="gpu3 has no NVLink to the NVSwitch"):
        read_facts(switchless)


@pytest.mark.parametrize("name", ["pcie-8gpu", "rtx4090-8gpu", "mi300x-8gpu", "workstation-4gpu"])
def test_a_machine_whose_links_are_all_faster_is_as_much_faster(name):
    """Of bytes alone: what is staged through host memory crosses PCIe, memory and the link between sockets."""
    machine = topology.machine(name)
    slow, built, fast = (
        predict("allreduce", machine if by == 1 else machine.scaled(by=by), "4GiB").time for by in (0.5, 1, 2)
    )
    assert slow / built == pytest.approx(2, rel=0.03)
    assert built / fast == pytest.approx(2, rel=0.03)
    if name == "mi300x-8gpu":
        with pytest.raises(CollsimError, match="scale all its links"):
            predict("allreduce", machine.with_link("node0/gpu0", "node0/gpu1", bandwidth="half"), "1MiB")


def test_the_memory_of_the_host_counts_where_gpus_are_staged_through_it():
    server = topology.machine("pcie-8gpu")
    slow = predict("allreduce", server.scaled(kind="memory", by=0.25), "64MiB")
    assert slow.time > 1.5 * predict("allreduce", server, "64MiB").time


XML = """<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">{gpus}</cpu></system>"""
DEVICE = """<pci busid="0000:{bus}:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">{inside}</pci>"""


def test_a_topology_file_with_gpus_is_predicted_and_one_without_says_the_way_out(tmp_path):
    nvlinks = (
        '<gpu dev="{i}" sm="90" rank="{i}" gdr="1"><nvlink target="0000:ff:00.0" count="18" tclass="0x068000"/></gpu>'
    )
    for name, inside in (("full.xml", nvlinks), ("bare.xml", "")):
        gpus = "".join(DEVICE.format(bus=f"{i:02d}", inside=inside.format(i=i)) for i in range(2))
        (tmp_path / name).write_text(XML.format(gpus=gpus))
    full = cs.load_topology(tmp_path / "full.xml")
    assert (read_facts(full).cc, read_facts(full).wiring, read_facts(full).link_rate) == (90, "nvswitch", 450e9)
    assert predict("allreduce", full, "64MiB").busbw > 100e9
    with pytest.warns(UserWarning, match="no <gpu>"):
        bare = cs.load_topology(tmp_path / "bare.xml", nvlink="none")
    with pytest.raises(CollsimError, match="NCCL_TOPO_DUMP_FILE"):
        predict("allreduce", bare, "64MiB")


def test_files_of_rccl_are_refused_where_its_rings_are_not_modelled(tmp_path):
    """Four GPUs with xGMI to their two neighbours; and GPUs whose sm= is no NVIDIA GPU's."""
    link = '<xgmi target="0000:{bus}:00.0" count="1" tclass="0x038000"/>'
    for name, near, sm, said in (("gaps", (1, 3), 80, "mesh with gaps"), ("pcie", (), 104, "sm=104")):
        gpus = ""
        for i in range(4):
            links = "".join(link.format(bus=f"{(i + step) % 4:02d}") for step in near)
            gpus += DEVICE.format(bus=f"{i:02d}", inside=f'<gpu dev="{i}" sm="{sm}" rank="{i}" gdr="1">{links}</gpu>')
        path = tmp_path / f"{name}.xml"
        path.write_text(XML.format(gpus=gpus))
        with pytest.raises(CollsimError, match=said):
            read_facts(cs.load_topology(path))
