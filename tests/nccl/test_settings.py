"""NCCL's settings over all machines of the catalogue: each is predicted or refused with a sentence, and turns the time
the right way."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from sampling import sample

import collsim as cs
from collsim.errors import CollsimError
from collsim.nccl import Facts, Prediction, predict
from collsim.nccl.nccl_prediction import BUSBW

#: Machines on whose GPUs NCCL or RCCL runs, and what joins several of them.
MACHINES = tuple(name for name in cs.machines() if not name.startswith(("cpu", "tpu")))
SEARCHED = ("a40-8gpu", "azure-ndv4", "polaris", "rtx4090-8gpu")
FABRICS = ("switch", "rail", "leaf-spine")
PLACES = [(name, nodes, FABRICS[(i + nodes) % 3]) for i, name in enumerate(MACHINES) for nodes in (1, 2, 4)]
SIZES = (8, 2**20, 2**30)
SETTINGS: dict[str, tuple[Any, ...]] = {
    "NCCL_ALGO": ("Ring", "Tree", "NVLS", "NVLSTree", "PAT", "CollNetDirect", "^Ring"),
    "NCCL_PROTO": ("LL", "LL128", "Simple"),
    "NCCL_P2P_DISABLE": (1,),
    "NCCL_P2P_LEVEL": ("LOC", "NVL", "5"),
    "NCCL_NET_GDR_LEVEL": ("LOC", "PIX", "SYS"),
    "NCCL_MAX_NCHANNELS": (16, 4, 1),
    "NCCL_CROSS_NIC": (0,),
}
#: These take something away; the other settings choose, and NCCL's own choice need not be the fastest.
TAKES = {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL", "NCCL_MAX_NCHANNELS"}
#: How much NCCL may gain where a setting makes its tuner change the algorithm or the protocol: its choice is not always
#: the fastest.
SWITCH = 0.65
#: Fewer bytes in flight are no slower as long as latency decides.
LARGE = 2**24


@cache
def machine(name: str, nodes: int, fabric: str) -> Facts:
    """The facts of a machine, read once. Several nodes are searched for some; the others take the closed rule, which is
    quick."""
    found = cs.nccl.read_facts(cs.machine(name, nodes=nodes, **({"fabric": fabric} if nodes > 1 else {})))
    return found if nodes == 1 or (nodes == 2 and name in SEARCHED) else replace(found, wired_nodes=None)


def told(collective: str, place: tuple[str, int, str], size: int, settings: Mapping[str, Any]) -> Prediction | None:
    """The prediction; None where NCCL would refuse, with a sentence that says what was asked for."""
    try:
        return predict(collective, machine(*place), size, **settings)
    except CollsimError as error:
        if "without P2P" in str(error) or any(f"{name}={value!r}" in str(error) for name, value in settings.items()):
            return None
        raise


def most(p: Prediction) -> float:
    """B/s of busbw that the nominal rates of links allow: a GPU's own inside a node, the cards' of a node between
    nodes."""
    facts: Facts = p.facts
    n, local = facts.ranks, facts.local_ranks
    if p.collective == "alltoall":
        near, far = (n - 1) / n, (n - local) * local / n
    elif p.algorithm.startswith("NVLS") and p.collective == "allreduce":
        near, far = 1.0, 1.0  # the switch adds up: a GPU sends its part once
    elif p.collective in ("broadcast", "reduce", "sendrecv"):
        near, far = 1.0, 1.0
    else:
        rounds = 2 if p.collective == "allreduce" else 1
        near, far = rounds * (n - 1) / n, rounds * (facts.nodes - 1) / facts.nodes
    least = near / facts.link_rate if facts.nodes == 1 else far / (facts.nics * facts.nic_rate)
    return BUSBW[p.collective](n) / least


@pytest.mark.parametrize("name", sample(MACHINES, 7))
def test_every_setting_is_predicted_or_refused_and_nothing_beats_its_links(name):
    for place in (p for p in PLACES if p[0] == name):
        for collective, (variable, values) in itertools.product(
            ("allreduce", "allgather", "alltoall"), SETTINGS.items()
        ):
            for value, size in itertools.product(values, (8, 2**30)):
                found = told(collective, place, size, {variable: value})
                if found is not None:
                    assert found.time > 1e-6
                    assert found.busbw <= most(found), (
                        place,
                        collective,
                        variable,
                        value,
                        size,
                        found.busbw,
                        most(found),
                    )


@pytest.mark.parametrize("name", sample(MACHINES, 7))
def test_what_takes_something_away_does_not_make_it_faster(name):
    for place in (p for p in PLACES if p[0] == name):
        for collective, size in itertools.product(("allreduce", "broadcast", "sendrecv"), SIZES):
            usual = predict(collective, machine(*place), size)
            same = {} if usual.algorithm == "P2P" else {"NCCL_ALGO": usual.algorithm, "NCCL_PROTO": usual.protocol}
            for variable, value in ((v, value) for v in sorted(TAKES) for value in SETTINGS[v]):
                if variable == "NCCL_MAX_NCHANNELS" and size < LARGE:
                    continue
                for pinned, least in (({}, SWITCH), (same, 0.999)):
                    found = told(collective, place, size, {variable: value, **pinned})
                    if found is not None:
                        assert found.time >= least * usual.time, (
                            place,
                            collective,
                            size,
                            variable,
                            value,
                            pinned,
                            found.time / usual.time,
                        )


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("collective", ["allreduce", "reduce_scatter", "alltoall"])
def test_fewer_channels_move_less_and_one_no_more_than_a_thread_block(name, collective):
    place = name, 1, "switch"
    pinned = {} if collective == "alltoall" else {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}
    rates = [
        predict(collective, machine(*place), 2**30, NCCL_MAX_NCHANNELS=k, **pinned).busbw for k in (64, 16, 8, 4, 2, 1)
    ]
    assert all(fewer <= 1.001 * more for more, fewer in itertools.pairwise(rates))
    assert rates[-1] <= 40e9  # the most that NCCL counts for one channel of any generation (constants.RING_LL128_MAX)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place[0]}-{place[1]}")
def test_more_bytes_take_longer_but_for_a_change_of_algorithm_or_protocol(place):
    for collective in BUSBW:
        runs = [predict(collective, machine(*place), 2**k) for k in range(3, 31, 3)]
        for small, large in itertools.pairwise(runs):
            same = (small.algorithm, small.protocol) == (large.algorithm, large.protocol)
            assert large.time >= small.time * (1 - 1e-12 if same else SWITCH), (collective, small, large)


def test_cards_that_cannot_cross_rails_choose_as_before_where_there_is_one_card_each():
    """NCCL_CROSS_NIC matters to the search of graphs; on nodes with one card there is nothing to cross."""
    one = "workstation-4gpu"
    found = [predict("allreduce", machine(one, 2, "switch"), 2**26, NCCL_CROSS_NIC=k) for k in (0, 1, 2)]
    assert len({(p.time, p.algorithm, p.protocol, p.channels) for p in found}) == 1


def test_p2p_off_in_a_rack_of_many_hosts_is_refused_and_its_trays_count_as_hosts():
    rack = cs.machine("gb200-nvl72")
    with pytest.raises(CollsimError, match="72 GPUs of an NVLink domain sit in 18 hosts"):
        predict("allreduce", rack, 8, NCCL_P2P_DISABLE=1)
    with pytest.raises(CollsimError, match="sit in 18 hosts"):
        predict("allreduce", cs.machine("gb200-nvl72", p2p=False), 8)
    facts = cs.nccl.read_facts(rack)
    assert (facts.ranks_per_host, facts.hosts) == (4, 18)
    assert (cs.nccl.read_facts(rack, 8).ranks_per_host, cs.nccl.read_facts(rack, 4).hosts) == (4, 1)
    words = cs.nccl.parse_facts("GB200", 72, 18, "nvlink5-nvl72", "nvl72 (MNNVL)")
    assert predict("allreduce", words, 8).parts.launch == predict("allreduce", rack, 8).parts.launch


def test_nvls_says_that_a_bound_on_channels_is_not_its_own():
    run = predict("allreduce", machine("dgx-h100", 1, "switch"), 2**30, NCCL_MAX_NCHANNELS=4)
    assert run.algorithm == "NVLS"
    assert any("NCCL_MAX_NCHANNELS" in note for note in run.notes)
