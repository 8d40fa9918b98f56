"""P2P and GPUDirect RDMA levels on every machine: nothing is lost on the way, paths are the hand-drawn ones, off is
never faster."""

import numpy as np
import pytest
from sampling import cross

import collsim as cs
from collsim.topology import machine
from collsim.topology.machines import machines

ALL = sorted(machines())
WITH_CARDS = [name for name in ALL if machines()[name].of_kind("nic")]
LEVELS = [True, False, "nvlink", "nvb", "pix", "pxb", "phb", "node", "sys"]
#: Ranks of different trays have no memory in common, and chips of a torus no memory at all.
WITH_MEMORY = [name for name in WITH_CARDS if name != "gb200-nvl72"]


def find_route(topology, a, b):
    hops = topology.route(a, b)
    return [hops[0].src, *(hop.dst for hop in hops)]


def some_pairs(topology, most=600):
    """All pairs of ranks, or as many drawn with a fixed seed."""
    n = topology.ranks
    src, dst = np.divmod(np.arange(n * n), n)
    if n * n > most:
        chosen = np.random.default_rng(0).choice(n * n, most, replace=False)
        src, dst = src[chosen], dst[chosen]
    return src, dst


@pytest.mark.parametrize(("name", "level"), cross(WITH_CARDS, LEVELS), ids=str)
def test_what_enters_a_device_that_is_no_endpoint_leaves_it(name, level):
    topology = machine(name, nodes=2, p2p=level, gdr=level)
    src, dst = some_pairs(topology)
    nbytes = np.random.default_rng(1).integers(1, 100, len(src))
    routes = topology.routes(src, dst)
    load = np.bincount(routes.link, weights=np.repeat(nbytes, routes.hops), minlength=len(topology.links))
    count, place, away = len(topology.devices), topology.endpoint_device, src != dst
    into, out = (np.bincount(side, weights=load, minlength=count) for side in (topology.links.dst, topology.links.src))
    ends, starts = (np.bincount(place[side[away]], weights=nbytes[away], minlength=count) for side in (dst, src))
    assert (into - ends == out - starts).all()


# ---- which way, drawn by hand
# ----------------------------------------------------------------------------------------------

NODE = "node0/"
DIRECT = ["gpu0", "pcie0", "nic0"]  # the card at the GPU's own switch: PIX
OVER_SOCKET = ["gpu2", "pcie1", "cpu0", "pcie0", "nic0"]  # another switch of the same socket: PHB
STAGED = ["gpu0", "pcie0", "cpu0", "memory0", "cpu0", "pcie0", "nic0"]
STAGED_OVER = ["gpu2", "pcie1", "cpu0", "memory0", "cpu0", "pcie0", "nic0"]


@pytest.mark.parametrize(
    ("gdr", "near", "far"),
    [
        (True, DIRECT, STAGED_OVER),
        (False, STAGED, STAGED_OVER),
        ("nvlink", STAGED, STAGED_OVER),
        ("pix", DIRECT, STAGED_OVER),
        ("pxb", DIRECT, STAGED_OVER),
        ("phb", DIRECT, OVER_SOCKET),
        ("node", DIRECT, OVER_SOCKET),
        ("sys", DIRECT, OVER_SOCKET),
    ],
)
def test_the_gdr_level_decides_between_the_card_and_host_memory(gdr, near, far):
    topology = machine("pcie-8gpu", nodes=2, gdr=gdr)
    assert find_route(topology, 0, 8)[: len(near)] == [NODE + d for d in near]
    assert find_route(topology, 2, 8)[: len(far)] == [NODE + d for d in far]


@pytest.mark.parametrize("gdr", [True, "sys"])
def test_the_single_root_server_reaches_its_card_over_three_switches(gdr):
    """GPU 0 under pcie1 under pcie0, the card at pcie0: PXB."""
    assert find_route(machine("pcie-8gpu-single-root", nodes=2, gdr=gdr), 0, 8)[:4] == [
        "node0/gpu0",
        "node0/pcie1",
        "node0/pcie0",
        "node0/nic0",
    ]


@pytest.mark.parametrize("gdr", [False, "pix"])
def test_a_level_below_pxb_stages_on_the_single_root_server(gdr):
    topology = machine("pcie-8gpu-single-root", nodes=2, gdr=gdr)
    assert "node0/memory0" in find_route(topology, 0, 8)


@pytest.mark.parametrize(
    ("p2p", "expected"),
    [
        (True, ["gpu0", "pcie1", "pcie0", "pcie2", "gpu7"]),
        ("pix", ["gpu0", "pcie1", "pcie0", "cpu0", "memory0", "cpu0", "pcie0", "pcie2", "gpu7"]),
        ("pxb", ["gpu0", "pcie1", "pcie0", "pcie2", "gpu7"]),
        (False, ["gpu0", "pcie1", "pcie0", "cpu0", "memory0", "cpu0", "pcie0", "pcie2", "gpu7"]),
    ],
)
def test_cascaded_switches_are_pxb(p2p, expected):
    assert find_route(machine("pcie-8gpu-single-root", p2p=p2p), 0, 7) == [NODE + d for d in expected]


@pytest.mark.parametrize(
    ("p2p", "direct"), [(True, False), ("pxb", False), ("phb", True), ("node", True), ("sys", True)]
)
def test_root_ports_of_one_socket_are_phb(p2p, direct):
    expected = ["gpu0", "cpu0", "gpu1"] if direct else ["gpu0", "cpu0", "memory0", "cpu0", "gpu1"]
    assert find_route(machine("workstation-4gpu", p2p=p2p), 0, 1) == [NODE + d for d in expected]


@pytest.mark.parametrize(("p2p", "nvb"), [("nvlink", False), ("nvb", True), ("pix", True), (True, True)])
def test_nvlink_through_another_gpu_is_a_level_of_its_own(p2p, nvb):
    """0 has two links to 4 and 4 two to 7; by 3 it would be two and one, by 1 none."""
    hops = find_route(machine("dgx-1v", p2p=p2p), 0, 7)
    assert hops == (["node0/gpu0", "node0/gpu4", "node0/gpu7"] if nvb else hops)
    assert ("node0/memory1" in hops) is not nvb


# ---- off is never faster
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "algorithm", ["allreduce_ring", "allreduce_recursive_doubling", "alltoall_pairwise", "broadcast_binomial"]
)
@pytest.mark.parametrize("name", WITH_MEMORY)
def test_p2p_off_is_never_faster_whatever_the_algorithm(name, algorithm):
    on, off = machine(name, p2p="sys"), machine(name, p2p=False)
    schedule = cs.schedule(algorithm, ranks=on.ranks)
    for size in ("8B", "16MiB"):
        assert cs.simulate(schedule, off, size).time >= cs.simulate(schedule, on, size).time * (1 - 1e-12)


@pytest.mark.parametrize("name", [n for n in WITH_MEMORY if machines()[n].gdr and machines()[n].of_kind("gpu")])
def test_gdr_off_is_never_faster(name):
    on, off = machine(name, nodes=2), machine(name, nodes=2, gdr=False)
    for algorithm in ("allreduce_ring", "alltoall_pairwise"):
        schedule = cs.schedule(algorithm, ranks=on.ranks)
        assert cs.simulate(schedule, off, "16MiB").time >= cs.simulate(schedule, on, "16MiB").time * (1 - 1e-12)
