"""collsim's own YAML round-trips; ASTRA-sim's is read; mistakes name their line."""

import warnings

import numpy as np
import pytest
from sampling import keep_fast

import collsim as cs
from collsim.topology import FormatWarning, generic, load_topology, machine, parse_topology_text
from collsim.topology.machines import machines


def same(one, two):
    n = one.ranks
    src, dst = np.divmod(np.arange(n * n), n)
    assert two.name == one.name
    assert list(two.devices.name) == list(one.devices.name)
    assert two.links.bandwidth.tolist() == one.links.bandwidth.tolist()
    assert two.links.alpha.tolist() == one.links.alpha.tolist()
    assert two.routes(src, dst).link.tolist() == one.routes(src, dst).link.tolist()
    assert (two.orders is None) == (one.orders is None)
    assert one.orders is None or two.orders.tolist() == one.orders.tolist()


GENERIC = [
    generic.ring(5),
    generic.torus(3, 4, bandwidth="1.23456789GB/s", alpha="333ns"),
    generic.tree(9, arity=3),
    generic.dragonfly(1, 2, 1),
    generic.switch(4).scaled(by=3),
    generic.ring(4).without_link(0, 1).with_link(1, 2, alpha="2us"),
]


@pytest.mark.parametrize("topology", GENERIC, ids=lambda t: t.name)
def test_generic_networks_round_trip(topology):
    same(topology, parse_topology_text(topology.to_yaml()))


@pytest.mark.parametrize("name", keep_fast(sorted(machines()), ["cpu-2socket", "dgx-a100", "pcie-8gpu", "polaris"]))
def test_every_machine_of_the_catalogue_round_trips_with_its_options(name):
    options = {"nodes": 2, "gdr": False} if machines()[name].of_kind("nic") else {}
    topology = machine(name, p2p="phb", rates="effective", **options)
    same(topology, parse_topology_text(topology.to_yaml()))


def test_a_machine_with_edits_fabric_and_placement_round_trips():
    topology = machine("dgx-a100", nodes=4, fabric="rail", unit=2, oversubscription=2, placement="round-robin")
    topology = topology.without_device("node1/nic2").with_link("node0/gpu3", "node0/nvswitch", bandwidth="half")
    same(topology, parse_topology_text(topology.to_yaml()))


def test_sizes_of_a_fabric_round_trip_with_its_name():
    topology = machine("dgx-a100", nodes=6, fabric="torus", dims=[2, 3])
    same(topology, parse_topology_text(topology.to_yaml()))
    assert topology.name == machine("dgx-a100", nodes=6, fabric="torus", dims=(2, 3)).name


def test_a_network_from_networkx_round_trips_link_by_link():
    import networkx as nx

    graph = nx.petersen_graph()
    for i, (_, _, data) in enumerate(graph.edges(data=True)):
        data.update(bandwidth=1e9 + i, alpha=1e-6 * i)
    topology = cs.Topology.from_networkx(graph, "petersen")
    same(topology, parse_topology_text(topology.to_yaml()))


def test_a_machine_read_from_a_file_round_trips():
    text = (
        "\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tNV2\tPIX\t0-3\nGPU1\tNV2\t X \tNODE\t0-3\nNIC0\tPIX\tNODE\t X \n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        topology = parse_topology_text(text, nodes=2)
        again = parse_topology_text(topology.to_yaml())
    same(topology, again)
    assert again.explain(0, 1) == topology.explain(0, 1)


def test_options_given_to_the_reader_replace_those_of_the_file(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(machine("dgx-a100", nodes=2).to_yaml())
    assert load_topology(path).ranks == 16
    assert load_topology(path, nodes=3).ranks == 24


MINE = """\
collsim: 1
machine:
  name: mine
  source: my desk
  cables:
    slot: {kind: pcie, bandwidth: 31.5GB/s, alpha: 0.5us, source: spec}
  connections:
    - [gpu0, cpu0, slot]
    - [gpu1, cpu0, slot]
    - [cpu0, memory0, {kind: memory, bandwidth: 100GB/s, source: guess}]
options:
  p2p: phb
"""


def test_a_machine_can_be_written_by_hand():
    topology = parse_topology_text(MINE)
    assert [h.dst for h in topology.route(0, 1)] == ["node0/cpu0", "node0/gpu1"]
    assert topology.route(0, 1)[0].bandwidth == 31.5e9


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("31.5GB/s", "31.5G"), "line 6: slot: bandwidth='31.5G'"),
        (
            ("[gpu1, cpu0, slot]", "[gpu1, cpu0, slott]"),
            r"line 9: connections\[1\]\[2\]: unknown cable 'slott'; did you mean 'slot'",
        ),
        (
            ("kind: pcie", "kind: pcPe"),
            "line 3: machine: gpu0 to cpu0: unknown kind of cable inside a machine 'pcPe'; did you mean 'pcie'",
        ),
        (("bandwidth: 31.5GB/s", "bandwidth: null"), "line 6: bandwidth: a cable needs a rate"),
        (("[gpu1, cpu0, slot]", "[gpu1, cpu0]"), r"line 9: connections\[1\]: a connection is"),
        (("  source: my desk\n", ""), "line 3: machine: key 'source' is missing"),
        (("name: mine", "nam: mine"), "line 3: machine: unknown key 'nam'; did you mean 'name'"),
        (("gpu1", "tpu1"), "kinds are gpu, cpu"),
        (("p2p: phb", "p2p: fast"), "p2p='fast'"),
        (("p2p: phb", "speed: 3"), "unknown keyword of machine 'speed'"),
        (("collsim: 1", "collsim: 2"), "line 1: collsim: version 2 is unknown"),
        (("source: spec", "source: spec, kind: x"), "line 6: slot: key 'kind' is there twice"),
        (("options:\n", "options: &a\n"), None),
        (("name: mine", "name: *a"), "aliases .* are not taken"),
        (("name: mine", "name: [mine"), "is not YAML"),
        (("machine:", "network: ring(4)\nmachine:"), "give one of machine, network and links"),
    ],
)
def test_mistakes_name_the_line(change, says):
    text = MINE.replace(*change)
    assert text != MINE
    if says is None:
        parse_topology_text(text)
        return
    with pytest.raises(cs.FormatError, match=says):
        parse_topology_text(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("collsim: 1\nnetwork: rong(4)", "line 2: network: unknown topology 'rong'; did you mean 'ring'"),
        ("collsim: 1\nmachine: dgx-a10", "line 2: machine: unknown machine 'dgx-a10'"),
        (
            "collsim: 1\ndevices: [{name: a, kind: gpu}]\nlinks: [[a, b, {kind: x, bandwidth: 1GB/s, source: s}]]",
            "line 3: .*unknown device 'b'",
        ),
        (
            "collsim: 1\nnetwork: ring(4)\nedits: [{without_device: {device: gpu0}}]",
            "line 3: without_device: ring.4.: rank 0 sits on gpu0",
        ),
        ("a: 1", "line 1: topology: unknown key 'a'"),
        ("- 1", "is not a topology"),
    ],
)
def test_small_files_with_mistakes(text, says):
    with pytest.raises(cs.FormatError, match=says):
        parse_topology_text(text)


# ---- ASTRA-sim
# ---------------------------------------------------------------------------------------------------------------

ASTRA = (
    "topology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 50.0, 25.0 ]  # GB/s\nlatency: [ 500.0, 700.0 "
    "]  # ns\n"
)


def test_astra_sim_dimensions_are_ring_and_switch_with_its_gigabytes_of_2_to_the_30():
    topology = parse_topology_text(ASTRA)
    assert topology.ranks == 8
    hops = topology.route(0, 1)
    assert [(h.dst, h.bandwidth) for h in hops] == [("gpu1", 50 * 2**30)]
    hops = topology.route(1, 5)  # the other value of dimension 1, through its switch
    assert [(h.dst, h.bandwidth) for h in hops] == [("switch1", 25 * 2**30), ("gpu5", 25 * 2**30)]
    assert sum(h.alpha for h in hops) == pytest.approx(2 * 700e-9)


def test_astra_sim_fully_connected_has_a_link_between_any_two():
    topology = parse_topology_text("topology: [ FullyConnected ]\nnpus_count: [ 5 ]\nbandwidth: [ 1 ]\nlatency: [ 0 ]")
    assert len(topology.links) == 5 * 4


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("Ring", "Rings"), "topology of dimension 0 is 'Rings'"),
        (("[ 4, 2 ]", "[ 4 ]"), "npus_count has 1"),
        (("[ 4, 2 ]", "[ 4, 1 ]"), "npus_count of dimension 1 is 1"),
        (("25.0", "-1"), "dimension 1 has bandwidth -1"),
        (("bandwidth", "bandwith"), "bandwidth must be a list"),
    ],
)
def test_astra_sim_mistakes(change, says):
    with pytest.raises(cs.FormatError, match=says):
        parse_topology_text(ASTRA.replace(*change))


def test_astra_sim_keys_that_are_not_understood_are_reported():
    with pytest.warns(FormatWarning, match="key 'wires' is not understood"):
        parse_topology_text(ASTRA + "wires: 3\n")


@pytest.mark.parametrize("head", ["", "npus_count: "], ids=["ours", "astra-sim"])
@pytest.mark.parametrize("level", ["[", "- ", "{a: "], ids=["brackets", "dashes", "braces"])
def test_a_hundred_thousand_levels_are_refused_at_the_first_too_many(head, level):
    """PyYAML alone needs minutes for this: its time grows with the square of the depth."""
    with pytest.raises(cs.FormatError, match="line 2: refused, nested more than 32 deep"):
        parse_topology_text((head or "collsim: ") + "\n  " + level * 100_000)


def test_a_million_values_are_refused():
    with pytest.raises(cs.FormatError, match="more than 500,000 values"):
        parse_topology_text("collsim: [" + "1," * 1_000_000 + "1]")


EIGHT = "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("[ Ring ]\n", "&a [ Ring ]\nmore: *a\n"), "line 2: refused, aliases .* are not taken"),
        (("[ 8 ]", "[ 8 ]\nnpus_count: [ 4 ]"), "key 'npus_count' is there twice"),
        (("[ 50 ]", "[ 0x" + "f" * 2000 + " ]"), "is too long for a number"),
        (("[ 50 ]", "[ .nan ]"), "they must be numbers above 0"),
        (("[ 8 ]", "[ 2001-99-99 ]"), r"does not fit its tag \(month"),
    ],
)
def test_bad_networks_of_astra_sim_are_refused_in_a_short_sentence(change, says):
    assert parse_topology_text(EIGHT).ranks == 8
    with pytest.raises(cs.FormatError, match=says) as caught:
        parse_topology_text(EIGHT.replace(*change))
    assert len(str(caught.value)) < 200


def test_the_name_of_a_machine_is_no_file_and_the_error_says_what_makes_it():
    with pytest.raises(cs.FormatError, match=r"cs\.machine\('dgx-a100'\)"):
        cs.load_topology("dgx-a100")


def test_a_text_of_a_derived_class_and_one_that_is_no_unicode_are_read_as_any_other():
    class Text(str):
        pass

    for text in (Text("speed: 3"), "speed: a\udcff"):
        with pytest.raises(cs.FormatError, match="unknown key 'speed'"):
            cs.topology.parse_topology_text(text)
