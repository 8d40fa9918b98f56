"""One table of links between sockets: what the catalogue, the readers and the NCCL model take is the same."""

import pytest
from wirings import PCIE_8GPU, read, ring

import collsim as cs
from collsim.nccl.machine.machine_facts import Facts
from collsim.nccl.tuner_graphs import get_socket_bandwidth
from collsim.topology.parts.sockets import (
    build_socket_cable,
    choose_processor,
    find_processor,
    identify_processor,
    load_processors,
)


@pytest.mark.parametrize("p2p", [True, False])
def test_a_wiring_gives_the_same_time_by_its_name_and_as_nvidia_smi_prints_it(p2p):
    by_name, printed = cs.machine("pcie-8gpu", p2p=p2p), read(PCIE_8GPU, gpu="A100", p2p=p2p)
    # 2 x 7/8 x 1 GiB over a slot of 31.5 GB/s is 59.7 ms; without P2P a slot carries every byte twice
    assert ring(by_name) == pytest.approx((1 if p2p else 2) * 1.75 * 2**30 / 31.5e9, rel=1e-3)
    assert ring(printed) == ring(by_name)
    named, text = (cs.nccl.predict("allreduce", m, "1GiB") for m in (by_name, printed))
    assert text.time == named.time
    assert text.tuner_time == named.tuner_time


@pytest.mark.parametrize("effective", [False, True])
@pytest.mark.parametrize(
    ("name", "generation"),
    [("dgx-a100", "rome"), ("dgx-h100", "sapphire-rapids"), ("dgx-1v", "broadwell"), ("mi300x-8gpu", "genoa")],
)
def test_machines_of_the_catalogue_have_the_links_of_the_table(name, generation, effective):
    cable = load_processors()[generation].link
    rate = cable.effective if effective else cable.nominal
    made = cs.machine(name, rates="effective" if effective else "nominal")
    rates = {b for i, b in enumerate(made.links.bandwidth) if made.links.kind(i) == "upi"}
    assert rates == {rate}


def nccls(vendor, model):
    """ncclTopoGetInterCpuBw of NCCL 2.30.7 (src/graph/topo.cc, topo.h)."""
    if vendor == "AuthenticAMD":
        return 16
    return 40 if model >= 0xCF else 22 if model >= 0x8F else 10 if model >= 0x55 else 6


def test_what_the_table_says_nccl_plans_with_is_what_nccl_plans_with():
    for model in range(30, 256):
        assert load_processors()[identify_processor("x86_64", "GenuineIntel", 6, model)].nccl == nccls(
            "GenuineIntel", model
        ), model
        for family in (23, 25, 26, 143, 175, 191, 250):
            assert load_processors()[identify_processor("x86_64", "AuthenticAMD", family, model)].nccl == 16
    assert load_processors()[identify_processor("ppc64", "", 0, 0)].nccl == 32
    assert load_processors()[identify_processor("arm64", "", 0, 0)].nccl == 6
    assert load_processors()[identify_processor("x86_64", "Somebody", 6, 143)].nccl == 6


@pytest.mark.parametrize(
    ("family", "model", "name"),
    [(23, 49, "rome"), (143, 49, "rome"), (175, 1, "milan"), (175, 17, "genoa"), (25, 17, "genoa"), (191, 2, "turin")],
)
def test_amds_generations_are_told_by_either_way_of_counting_families(family, model, name):
    assert identify_processor("x86_64", "AuthenticAMD", family, model) == name


@pytest.mark.parametrize(
    ("name", "pcie", "processor"),
    [("pcie-8gpu", 5, "sapphire-rapids"), ("dgx-1v", 5, "sapphire-rapids"), ("rtx4090-8gpu", 5, "genoa")],
)
def test_another_generation_of_slots_brings_the_socket_link_of_its_processors(name, pcie, processor):
    node = cs.machine(name, pcie=pcie).facts.machine
    links = {cable for *_, cable in node.connections if cable.kind == "upi"}
    assert links == {build_socket_cable(processor)}
    said = cs.machine(name, pcie=pcie, cpu="ice-lake").facts.machine
    assert {cable for *_, cable in said.connections if cable.kind == "upi"} == {build_socket_cable("ice-lake")}


def test_what_nccls_tuner_believes_follows_the_socket_link():
    """A ring over two sockets of Sapphire Rapids: 22 GB/s, where Ice Lake has 10 (NCCL src/graph/topo.h)."""
    slow, fast = (cs.nccl.predict("allreduce", cs.machine("pcie-8gpu", pcie=pcie), "1GiB") for pcie in (4, 5))
    assert fast.tuner_time == pytest.approx(slow.tuner_time / 2, rel=0.05)


def test_the_nccl_model_takes_its_socket_links_from_the_table():
    for pcie in (3, 4, 5, 6):
        facts = Facts("A100", 80, 8, wiring="host", link_rate=1e9, pcie=pcie, crosses_sockets=True)
        assert get_socket_bandwidth(facts) == load_processors()[choose_processor(pcie)].nccl


def test_every_link_of_the_table_says_where_it_comes_from():
    for name in load_processors():
        assert find_processor(name).source in build_socket_cable(name).source


def test_an_unknown_processor_is_told_with_the_nearest():
    with pytest.raises(cs.TopologyError, match="did you mean 'genoa'"):
        cs.machine("pcie-8gpu", cpu="genova")
