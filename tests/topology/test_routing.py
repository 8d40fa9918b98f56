"""How a fabric picks among equal routes: D-mod-k, S-mod-k, a static table, ECMP by hash, packet spraying."""

import re

import numpy as np
import pytest

import collsim as cs
from collsim.topology.cables import find_nic
from collsim.topology.fabrics import ROUTINGS, PathChoice, build_fabric

HDR = find_nic("ib-hdr").cable
#: 64 cards, one a node: 8 leaves of 8 ports with 8 spines; and a three-layer fat tree that holds 128.
TWO, THREE = ("leaf-spine", {"radix": 16}), ("fat-tree", {"radix": 8})


def build(shape, routing, seed=0):
    name, options = shape
    return build_fabric(name, 64, 1, HDR, PathChoice(routing, seed), **options)


def find_spines(net, src, dst):
    """The spine that each pair crosses, -1 within a leaf."""
    up = net.find_links(src, dst)[:, 1]
    cable = np.maximum(up // 2 - net.ports, 0)
    return np.where(up >= 0, net.b[cable] - net.switches[0][0], -1)


def shift(by, ports=64):
    return np.arange(ports), (np.arange(ports) + by) % ports


@pytest.mark.parametrize("shape", [TWO, THREE], ids=["two layers", "three layers"])
@pytest.mark.parametrize("routing", ["d-mod-k", "s-mod-k"])
def test_no_shift_permutation_collides_with_d_mod_k_or_s_mod_k(shape, routing):
    """Zahavi, Fat-tree routing and node ordering providing contention free traffic for MPI global collectives, 2012:
    theorem 1. Every collective of unidirectional shifts runs at the full rate."""
    net = build(shape, routing)
    for by in range(1, 64):
        links = net.find_links(*shift(by))
        assert np.bincount(links[links >= 0]).max() == 1, by


def test_d_mod_k_goes_by_the_receiver_alone_and_s_mod_k_by_the_sender():
    src, dst = np.divmod(np.arange(64 * 64), 64)
    far = src // 8 != dst // 8
    assert (find_spines(build(TWO, "d-mod-k"), src, dst)[far] == dst[far] % 8).all()
    assert (find_spines(build(TWO, "s-mod-k"), src, dst)[far] == src[far] % 8).all()


def test_a_static_table_knows_the_receiver_alone_and_ecmp_both():
    src, dst = np.divmod(np.arange(64 * 64), 64)
    far = src // 8 != dst // 8
    for routing, alone in (("static", True), ("ecmp", False)):
        spine = find_spines(build(TWO, routing, 5), src, dst)
        same = all(len(set(spine[far & (dst == port)].tolist())) == 1 for port in range(64))
        assert same == alone


def test_a_hash_is_even_over_cables_and_independent_between_seeds_and_layers():
    """Chi-squared of 8 cables, and of the pairs (cable of one seed, cable of the next): 99.9 % of a fair hash stay
    below 24.3 (7 degrees of freedom) and 103.4 (63)."""
    src, dst = np.divmod(np.arange(512 * 512), 512)
    far = src // 8 != dst // 8
    net = build_fabric("leaf-spine", 512, 1, HDR, PathChoice("ecmp", 1), radix=16)
    other = build_fabric("leaf-spine", 512, 1, HDR, PathChoice("ecmp", 2), radix=16)
    one, two = (find_spines(n, src[far], dst[far]) for n in (net, other))

    def measure(values, bins):
        counts = np.bincount(values, minlength=bins)
        expected = len(values) / bins
        return ((counts - expected) ** 2 / expected).sum()

    assert measure(one, 8) < 24.3
    assert measure(one * 8 + two, 64) < 103.4
    tree = build(THREE, "ecmp", 1)
    a, b = np.divmod(np.arange(64 * 64), 64)
    links = tree.find_links(a, b)
    climb = links[links[:, 2] >= 0]
    pair = (tree.b[climb[:, 1] // 2 - 64] % 4) * 4 + tree.b[climb[:, 2] // 2 - 64] % 4
    assert measure(pair, 16) < 37.7  # 15 degrees of freedom


def test_the_same_seed_gives_the_same_routes_in_every_process():
    net = build(TWO, "ecmp", 3)
    assert find_spines(net, np.arange(8), np.arange(8) + 8).tolist() == FIRST_SPINES


#: Worked out with Python's own whole numbers from the definition of splitmix64, see `mix`.
def mix(number):
    number = (number + 0x9E3779B97F4A7C15) % 2**64
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB % 2**64
    return number ^ (number >> 31)


FIRST_SPINES = [(mix((port * 64 + port + 8 + mix(3)) % 2**64) >> 2) % 8 for port in range(8)]


def test_splitmix64_is_that_of_its_authors():
    """The first three numbers of seed 1234567, as in Vigna's splitmix64.c."""
    state, numbers = 1234567, []
    for _ in range(3):
        numbers.append(mix(state))
        state = (state + 0x9E3779B97F4A7C15) % 2**64
    assert numbers == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("shape", [TWO, THREE], ids=["two layers", "three layers"])
def test_spraying_makes_one_trunk_with_the_rate_of_all_cables_of_a_switch(shape):
    plain, sprayed = build(shape, "d-mod-k"), build(shape, "spray")

    def sum_rates(net):
        rates = np.concatenate([np.full(count, cable.bandwidth) for count, cable in net.list_uplinks()])
        switches = net.switches[0][0]
        lower = np.zeros(switches)
        np.add.at(lower, net.a[net.a < switches], rates[net.a < switches])
        return lower, rates.sum()

    assert np.allclose(sum_rates(plain)[0], sum_rates(sprayed)[0], rtol=1e-12)
    assert sum_rates(plain)[1] == pytest.approx(sum_rates(sprayed)[1], rel=1e-12)
    lower = sprayed.switches[0][0]
    assert np.bincount(sprayed.a[sprayed.a < lower]).tolist() == [1] * lower


def test_a_fat_tree_with_fewer_uplinks_is_sprayed_over_what_it_has():
    plain = build_fabric("fat-tree", 64, 1, HDR, radix=8, oversubscription=2)
    sprayed = build_fabric("fat-tree", 64, 1, HDR, PathChoice("spray"), radix=8, oversubscription=2)
    total = [sum(count * cable.bandwidth for count, cable in net.list_uplinks()) for net in (plain, sprayed)]
    assert total[0] == pytest.approx(total[1], rel=1e-12)


def test_a_machine_takes_routing_and_seed_and_its_name_and_yaml_have_them(tmp_path):
    network = cs.machine("dgx-h100", nodes=4, fabric="rail", unit=2, routing="ECMP", hash_seed=7)
    assert network.name == "dgx-h100(nodes=4, fabric=rail, routing=ecmp, hash_seed=7, unit=2)"
    (tmp_path / "x.yaml").write_text(network.to_yaml())
    read = cs.load_topology(tmp_path / "x.yaml")
    src, dst = np.divmod(np.arange(32 * 32), 32)
    for field in ("start", "link"):
        assert (getattr(read.routes(src, dst), field) == getattr(network.routes(src, dst), field)).all()
    assert network != network.with_(hash_seed=8)
    assert network.with_(hash_seed=8).with_(hash_seed=7) == network


def test_flows_of_a_lost_cable_take_another_and_the_others_stay():
    network = cs.machine("dgx-h100", nodes=16, gpus=1, fabric="leaf-spine", radix=8, routing="ecmp", hash_seed=1)
    less = network.without_link("fabric/leaf0", "fabric/spine0")
    changed = 0
    for dst in range(4, 16):
        before = [hop.dst for hop in network.route(0, dst)]
        after = [hop.dst for hop in less.route(0, dst)]
        assert ("fabric/spine0" in before[:2] + before[2:6]) == (before != after)
        changed += before != after
    assert 0 < changed < 12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"routing": "ecpm"}, "did you mean 'ecmp'"),
        ({"routing": 3}, "unknown routing '3'"),
        ({"routing": "ecmp", "fabric": "switch"}, "one route between two cards"),
        ({"routing": "ecmp", "fabric": "torus"}, "fabric='leaf-spine' or fabric='fat-tree' or fabric='rail'"),
        ({"hash_seed": 3}, "hash_seed=3 changes nothing with routing 'd-mod-k'"),
        ({"routing": "ecmp", "hash_seed": -1}, "hash_seed=-1"),
        ({"routing": "ecmp", "hash_seed": 2**63}, "is too large"),
        ({"routing": "ecmp", "hash_seed": True}, "hash_seed=True"),
    ],
)
def test_a_routing_that_cannot_be_is_refused_with_its_way_out(options, message):
    with pytest.raises(cs.CollsimError, match=re.escape(message)):
        cs.machine("dgx-h100", **{"nodes": 4, "fabric": "leaf-spine", **options})


def test_every_routing_runs_on_every_fabric_that_has_a_choice():
    alltoall = cs.schedule("alltoall_pairwise", ranks=32)
    for fabric in ("leaf-spine", "fat-tree", "rail"):
        for routing in ROUTINGS:
            network = cs.machine("dgx-h100", nodes=4, fabric=fabric, routing=routing)
            lockstep = cs.simulate(alltoall, network, "64MiB").time
            event = cs.simulate(alltoall, network, "64MiB", engine="event").time
            assert 0 < event <= lockstep * 1.01
