"""An address is a choice and a choice is an address; a bad address never raises."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import collsim as cs
from collsim.app.scenario.choice import (
    MAX_NODES,
    MAX_RANKS,
    SHAPES,
    WORDS,
    Choice,
    can_reduce,
    from_query,
    list_networks,
    list_own_options,
    name_option_key,
    to_query,
    write_network,
)
from collsim.app.scenario.mistakes import write_sentence

CHOICES = [
    Choice(),
    Choice(machine="ring", ranks=5, bandwidth="100Gbit/s", alpha="500ns", nbytes="1000003B", dtype="bfloat16"),
    Choice(nodes=3, p2p=False, gdr=False, options=(("channels", 4),)),
    Choice(
        collective="broadcast",
        algorithm="broadcast_chain",
        options=(("root", 3), ("chunks", 16)),
        machine="switch",
        ranks=7,
    ),
    Choice(algorithm="allreduce_parameter_server", options=(("server", "helper"),), machine="star", ranks=9),
    Choice(algorithms=("allreduce_ring", "allreduce_tree"), sizes="1KiB:1MiB:4"),
    Choice(machine="torus", shape="2x2x2"),
]


@pytest.mark.parametrize("choice", CHOICES)
def test_a_choice_survives_its_address(choice):
    again, complaints = from_query(to_query(choice))
    assert complaints == []
    assert to_query(again) == to_query(choice)
    assert again == choice


BAD = {
    "collective": ["", "allreduse", "<script>", "None"],
    "algorithm": ["ring", "allreduce_rin", "../../etc/passwd", "allreduce_ring" * 50],
    "machine": ["dgx-h10", "dgx a100", "💥"],
    "network": ["rings", "eval(1)"],
    "nodes": ["0", "-1", "2.5", "1e9", "banana", "99999999999999999999"],
    "ranks": ["0", "257", "nan", "inf", "0x10"],
    "nbytes": ["64M", "-1", "1.5B", "many", "9" * 500, "1e400"],
    "bandwidth": ["0", "25", "25GB", "-1GB/s", "fast/s"],
    "alpha": ["-1us", "1 year", "nan"],
    "p2p": ["maybe", "2"],
    "dtype": ["float12", "object"],
    "engine": ["warp", "LOCKSTEP"],
    "shape": ["axb", "0x4", "4x", "x"],
    "algorithms": ["allreduce_ring,foo", ",,foo", "x" * 1000, "x" * 100_000],
    "sizes": ["1:2:0", "64M:1G", "1KiB:1GiB:1.0000001", "::::"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_a_bad_value_falls_back_and_says_so_in_one_sentence(name, text):
    if (name, text) in [("bandwidth", "25")]:
        assert from_query({name: text})[1] == []  # a plain number is bytes per second
        return
    choice, complaints = from_query({name: text})
    assert getattr(choice, {"network": "machine"}.get(name, name)) == getattr(
        Choice(), {"network": "machine"}.get(name, name)
    )
    assert [c.name for c in complaints] == [name]
    for language in ("en", "zh"):
        said = write_sentence(complaints[0].reason, language)
        assert said
        assert "\n" not in said
        assert len(said) < 700


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.sampled_from([*WORDS, "root", "chunks", "channels", "server", "t", "x"]), st.text(max_size=80))
)
def test_no_address_at_all_raises(query):
    choice, _ = from_query(query)
    assert choice.algorithm in cs.algorithms(choice.collective)
    assert 1 <= choice.ranks <= MAX_RANKS
    assert 1 <= choice.nodes <= MAX_NODES
    assert from_query(to_query(choice))[0] == replace(choice, **_unseen(choice))


def _unseen(choice):
    """Fields that do not matter for a choice are not in its address."""
    base = Choice()
    hidden = (
        ("ranks", "shape", "bandwidth", "alpha")
        if choice.on_machine
        else ("nodes", "p2p", "gdr", "shape" if choice.machine not in SHAPES else "ranks")
    )
    if not can_reduce(choice.machine):
        hidden += ("reduces",)
    if choice.engine == "lockstep":
        hidden += ("sharing",)
    return {name: getattr(base, name) for name in hidden}


def test_an_algorithm_of_another_collective_is_not_used():
    choice, complaints = from_query({"collective": "broadcast", "algorithm": "allreduce_ring"})
    assert choice.collective == "broadcast"
    assert choice.algorithm in cs.algorithms("broadcast")
    assert "allreduce" in str(complaints[0].reason)


def test_an_algorithm_that_nobody_knows_is_replaced_by_the_one_that_the_complaint_names():
    choice, (complaint,) = from_query({"collective": "alltoall", "algorithm": "alltoall_linear"})
    assert complaint.used == choice.algorithm
    assert choice.algorithm in cs.algorithms("alltoall")


@pytest.mark.parametrize("text", ["", ","])
def test_no_algorithms_at_all_are_the_usual_ones(text):
    assert from_query({"algorithms": text}) == (Choice(), [])


def test_the_algorithm_alone_says_the_collective():
    assert from_query({"algorithm": "broadcast_flat"})[0].collective == "broadcast"


def test_options_of_algorithms_have_addresses_of_their_own():
    for name in cs.algorithms():
        keys = [name_option_key(o) for o in list_own_options(name)]
        assert len(set(keys)) == len(keys)
        assert not set(keys) & set(WORDS)


@pytest.mark.parametrize("network", list_networks())
def test_the_text_of_every_network_builds_it(network):
    from collsim.topology.spec import parse_topology

    topology = parse_topology(
        write_network(Choice(machine=network, bandwidth="100Gbit/s", alpha="2us")), cs.topology.NETWORKS
    )
    assert 2 <= topology.ranks <= MAX_RANKS
    assert topology.links.bandwidth[0] == 12.5e9
