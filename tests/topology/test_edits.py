"""What-if edits: another topology, whose name says so; the old one stays as it was."""

import numpy as np
import pytest
from sampling import keep_fast

import collsim as cs
from collsim.topology import machine, ring, switch
from collsim.topology.machines import machines


def find_route(topology, a, b):
    hops = topology.route(a, b)
    return [hops[0].src, *(hop.dst for hop in hops)]


def test_half_a_cable_is_half_in_both_directions_and_nowhere_else():
    before = machine("dgx-a100")
    after = before.with_link("node0/gpu3", "node0/nvswitch", bandwidth="half")
    changed = np.flatnonzero(after.links.bandwidth != before.links.bandwidth)
    assert {after.link_name(i) for i in changed} == {"node0/gpu3 → node0/nvswitch", "node0/nvswitch → node0/gpu3"}
    assert set(after.links.bandwidth[changed]) == {150e9}
    assert after.name == "dgx-a100, node0/gpu3 – node0/nvswitch: bandwidth half"
    assert before.name == "dgx-a100"


@pytest.mark.parametrize(
    ("asked", "rate"), [("half", 12.5e9), ("x0.1", 2.5e9), ("10%", 2.5e9), ("double", 50e9), ("5GB/s", 5e9), (7e9, 7e9)]
)
def test_bandwidth_is_a_factor_in_words_or_a_rate(asked, rate):
    assert ring(4).with_link(0, 1, bandwidth=asked).route(0, 1)[0].bandwidth == pytest.approx(rate)


def test_alpha_can_be_changed_and_edits_add_up_in_the_name():
    topology = ring(4).with_link(0, 1, alpha="5us").with_link(1, 2, bandwidth="half")
    assert topology.route(0, 1)[0].alpha == pytest.approx(5e-6)
    assert topology.name == "ring(4), gpu0 – gpu1: alpha 5us; gpu1 – gpu2: bandwidth half"


def test_a_changed_cable_is_named_by_what_it_carries():
    slow = ring(4).with_link(0, 1, bandwidth="quarter")
    assert [hop.label for hop in slow.route(0, 1) + slow.route(1, 2)] == ["25 GB/s → 6.25 GB/s", "25 GB/s"]
    assert slow.with_link(0, 1, alpha="5us").route(0, 1)[0].label == "25 GB/s → 6.25 GB/s, 5 µs"
    late = slow.with_link(0, 1, alpha="5us").with_link(0, 1, bandwidth="1GB/s")
    assert late.route(0, 1)[0].label == "25 GB/s → 1 GB/s, 5 µs"
    assert ring(4).scaled(by=2).route(0, 1)[0].label == "25 GB/s → 50 GB/s"
    run = cs.simulate(cs.schedule("allreduce_ring", topology=slow), slow, "64MiB")
    assert "(25 GB/s → 6.25 GB/s" in run.explain()


def test_a_changed_cable_says_so_in_its_label_and_source():
    topology = machine("dgx-a100").with_link("node0/gpu3", "node0/nvswitch", bandwidth="half")
    assert topology.route(3, 4)[0].label == "NVLink 3 ×12 → 150 GB/s"
    cable = topology.links.cables[-1]
    assert "changed" in cable.source
    assert "20 per link" in cable.source


def test_scaled_multiplies_one_kind():
    before = machine("dgx-a100", nodes=2)
    after = before.scaled(kind="infiniband", by=2)
    kinds = np.array([c.kind for c in before.links.cables])[before.links.cable]
    assert (after.links.bandwidth == before.links.bandwidth * np.where(kinds == "infiniband", 2, 1)).all()
    assert after.name.endswith("infiniband ×2")
    assert set(switch(4).scaled(by=2).links.bandwidth) == {50e9}


def test_a_ring_with_a_cut_goes_the_other_way_round():
    topology = ring(4).without_link("gpu0", "gpu1")
    assert find_route(topology, 0, 1) == ["gpu0", "gpu3", "gpu2", "gpu1"]
    assert len(topology.links) == 6


def test_two_cuts_name_the_ranks_that_are_separated():
    with pytest.raises(cs.TopologyError, match="ranks 0, 3 and ranks 1, 2 cannot reach each other"):
        ring(4).without_link(0, 1).without_link(2, 3)


def test_a_machine_that_falls_apart_says_what_to_do_instead():
    """A GPU sends to another node over its PCIe alone; the link may be slow, and the machine is one still."""
    two = machine("dgx-a100", nodes=2)
    with pytest.raises(cs.TopologyError, match=r"cannot reach each other; .*with_link\(a, b, bandwidth='1GB/s'\)"):
        two.without_link("node0/gpu0", "node0/pcie0")
    slow = two.with_link("node0/gpu0", "node0/pcie0", bandwidth="1GB/s")
    assert find_route(slow, 0, 8) == find_route(two, 0, 8)


def test_without_nvlink_a_gpu_falls_back_to_pcie():
    topology = machine("dgx-a100").without_link("node0/gpu0", "node0/nvswitch")
    assert find_route(topology, 0, 1) == ["node0/gpu0", "node0/pcie0", "node0/gpu1"]
    assert "node0/memory0" in find_route(topology, 0, 2)  # PHB: staged
    assert find_route(topology, 1, 2) == ["node0/gpu1", "node0/nvswitch", "node0/gpu2"]


def test_only_the_hurt_node_changes_its_ways():
    topology = machine("dgx-a100", nodes=2).without_device("node1/nvswitch")
    assert find_route(topology, 0, 1) == ["node0/gpu0", "node0/nvswitch", "node0/gpu1"]
    assert find_route(topology, 8, 9) == ["node1/gpu0", "node1/pcie0", "node1/gpu1"]


def test_without_its_card_a_gpu_uses_the_next_one():
    topology = machine("dgx-a100", nodes=2).without_device("node0/nic0")
    assert find_route(topology, 0, 8)[:3] == ["node0/gpu0", "node0/pcie0", "node0/nic1"]
    assert find_route(topology, 8, 0)[-3:] == ["node0/nic1", "node0/pcie0", "node0/gpu0"]


def test_a_lost_spine_is_gone_round():
    topology = machine("dgx-a100", nodes=4, fabric="leaf-spine", radix=8)
    assert "fabric/spine0" in find_route(topology, 0, 16)
    after = topology.without_device("fabric/spine0")
    path = find_route(after, 0, 16)
    assert "fabric/spine0" not in path
    assert len(path) == len(find_route(topology, 0, 16))


@pytest.mark.parametrize("hurt", ["node0/nvswitch", "node0/nic3", "node1/pcie0", "fabric/spine2"])
def test_routes_on_a_hurt_machine_use_only_links_that_are_left(hurt):
    topology = machine("dgx-a100", nodes=3, fabric="leaf-spine", p2p="sys", gdr="sys")
    topology = (
        topology.without_link("node1/pcie0", "node1/cpu0") if hurt == "node1/pcie0" else topology.without_device(hurt)
    )
    n = topology.ranks
    src, dst = np.divmod(np.arange(n * n), n)
    routes = topology.routes(src, dst)
    for i in range(n * n):
        here = topology.endpoint_device[src[i]]
        for link in routes[i]:
            assert topology.links.src[link] == here
            here = topology.links.dst[link]
        assert here == topology.endpoint_device[dst[i]]


def test_losing_the_only_switch_names_who_is_separated():
    with pytest.raises(cs.TopologyError, match="ranks 0-7 and ranks 8-15 cannot reach"):
        machine("dgx-h100", nodes=2).without_device("fabric/switch0")


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (
            lambda t: t.with_link("node0/gpu0", "node0/gpu1", bandwidth="half"),
            "no link between node0/gpu0 – node0/gpu1; node0/gpu0 is joined to",
        ),
        (lambda t: t.with_link("node0/gpu0", "node0/nvswitch"), "changes nothing"),
        (lambda t: t.with_link("node0/gpu0", "node0/nvswitch", bandwidth=0), "bandwidth=0 must be more than 0"),
        (lambda t: t.with_link("node0/gpu0", "node0/nvswitch", bandwidth="x0"), "use without_link"),
        (lambda t: t.with_link("node0/gpu0", "node0/nvswitch", bandwidth="0%"), "use without_link"),
        (lambda t: t.with_link("node0/gpu0", "node0/nvswitch", bandwidth="triple"), "a factor is 'half', 'double'"),
        (lambda t: t.with_link("node0/gpu", "node0/nvswitch", bandwidth="half"), "did you mean"),
        (lambda t: t.without_device("node0/gpu3"), "rank 3 sits on node0/gpu3"),
        (lambda t: t.scaled(kind="infinband", by=2), "no links of that kind"),
        (lambda t: t.scaled(by=0), "must be a number above 0"),
    ],
)
def test_mistakes_are_told_with_the_value_and_the_way_out(edit, says):
    with pytest.raises(cs.TopologyError, match=says):
        edit(machine("dgx-a100"))


def test_helpers_keep_an_edit():
    topology = switch(4).with_link("gpu0", "switch0", bandwidth="half").with_helpers(1)
    assert topology.route(0, 4)[0].bandwidth == 12.5e9


# ---- every edit on every kind of machine
# -----------------------------------------------------------------------------------

KINDS = [
    "dgx-1v",
    "dgx-a100",
    "gb200-nvl72",
    "pcie-8gpu",
    "pcie-8gpu-single-root",
    "polaris",
    "rtx4090-8gpu",
    "mi300x-8gpu",
    "cpu-2socket-ib",
]


def figures(topology):
    """All that an edit could change by mistake."""
    links = topology.links
    return [a.tobytes() for a in (links.src, links.dst, links.bandwidth, links.alpha, links.cable)] + [
        topology.name,
        links.cables,
    ]


@pytest.mark.parametrize("name", KINDS)
def test_an_edit_leaves_the_original_as_it_was_and_the_new_one_cannot_be_written_to(name):
    topology = machine(name, nodes=2)
    before = figures(topology)
    a, b = topology.devices.name[topology.links.src[0]], topology.devices.name[topology.links.dst[0]]
    kind = topology.links.cables[0].kind
    for edited in (
        topology.with_link(a, b, bandwidth="half", alpha="3us"),
        topology.scaled(kind=kind, by=3),
        topology.scaled(by=0.5),
    ):
        assert figures(topology) == before
        for array in (edited.links.bandwidth, edited.links.alpha, edited.links.src):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


@pytest.mark.parametrize("name", KINDS)
def test_with_link_changes_both_directions_of_one_cable_and_says_so(name):
    topology = machine(name, nodes=2)
    for i in sorted({int(np.argmax(topology.links.cable == c)) for c in range(len(topology.links.cables))}):
        a, b = topology.devices.name[topology.links.src[i]], topology.devices.name[topology.links.dst[i]]
        edited = topology.with_link(a, b, bandwidth="x0.25", alpha="7us")
        changed = np.flatnonzero(
            (edited.links.bandwidth != topology.links.bandwidth) | (edited.links.alpha != topology.links.alpha)
        )
        assert {(int(edited.links.src[j]), int(edited.links.dst[j])) for j in changed} == {
            (topology.device(a), topology.device(b)), (topology.device(b), topology.device(a)),
        }  # fmt: skip
        assert (edited.links.bandwidth[changed] == topology.links.bandwidth[changed] / 4).all()
        assert (edited.links.alpha[changed] == 7e-6).all()
        assert edited.name == f"{name}(nodes=2), {a} – {b}: bandwidth x0.25, alpha 7us"


@pytest.mark.parametrize("name", KINDS)
def test_scaled_changes_every_link_of_its_kind_and_no_other_and_says_so(name):
    topology = machine(name, nodes=2)
    kinds = np.array([cable.kind for cable in topology.links.cables])[topology.links.cable]
    for kind in sorted(set(kinds.tolist())):
        edited = topology.scaled(kind=kind, by=2)
        assert (edited.links.bandwidth == np.where(kinds == kind, 2.0, 1.0) * topology.links.bandwidth).all()
        assert edited.name == f"{name}(nodes=2), {kind} ×2"
        assert edited.route(0, topology.ranks - 1)[0].link == topology.route(0, topology.ranks - 1)[0].link


@pytest.mark.parametrize("name", keep_fast(KINDS, [name for name in KINDS if name != "gb200-nvl72"]))
def test_without_a_device_no_route_crosses_it_or_the_ranks_that_it_cuts_off_are_named(name):
    topology = machine(name, nodes=2)
    place = set(topology.endpoint_device.tolist())
    size = len(machines()[name].devices)
    asked = [*[d for d in range(size) if d not in place][:40:3], 2 * size]
    for device in asked:
        gone = topology.devices.name[device]
        try:
            edited = topology.without_device(gone)
        except cs.TopologyError as error:
            said = str(error)
        else:
            said = ""
            assert edited.name == f"{name}(nodes=2), without {gone}"
            assert not ((edited.links.src == device) | (edited.links.dst == device)).any()
            src, dst = np.divmod(np.arange(edited.ranks**2), edited.ranks)
            chosen = np.random.default_rng(0).choice(len(src), min(len(src), 300), replace=False)
            assert device not in edited.links.src[edited.routes(src[chosen], dst[chosen]).link]
        assert not said or "cannot reach" in said, gone
