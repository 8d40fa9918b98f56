"""One table of links between sockets: what the catalogue, the readers and the NCCL model take is the same."""

import warnings

import pytest

import collsim as cs
from collsim.nccl.facts import Facts
from collsim.nccl.graphs import socket_bandwidth
from collsim.topology import parse_topology_text
from collsim.topology.sockets import PROCESSORS, between, identified, processor, usual_processor

# `pcie-8gpu` as nvidia-smi would print it: pairs under switches, two switches at each socket, a card at two of them.
PCIE_8GPU = """
\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tPIX\tNODE\tNODE\tSYS\tSYS\tSYS\tSYS\tPIX\tSYS\t0-39\t0
GPU1\tPIX\t X \tNODE\tNODE\tSYS\tSYS\tSYS\tSYS\tPIX\tSYS\t0-39\t0
GPU2\tNODE\tNODE\t X \tPIX\tSYS\tSYS\tSYS\tSYS\tNODE\tSYS\t0-39\t0
GPU3\tNODE\tNODE\tPIX\t X \tSYS\tSYS\tSYS\tSYS\tNODE\tSYS\t0-39\t0
GPU4\tSYS\tSYS\tSYS\tSYS\t X \tPIX\tNODE\tNODE\tSYS\tPIX\t40-79\t1
GPU5\tSYS\tSYS\tSYS\tSYS\tPIX\t X \tNODE\tNODE\tSYS\tPIX\t40-79\t1
GPU6\tSYS\tSYS\tSYS\tSYS\tNODE\tNODE\t X \tPIX\tSYS\tNODE\t40-79\t1
GPU7\tSYS\tSYS\tSYS\tSYS\tNODE\tNODE\tPIX\t X \tSYS\tNODE\t40-79\t1
NIC0\tPIX\tPIX\tNODE\tNODE\tSYS\tSYS\tSYS\tSYS\t X \tSYS
NIC1\tSYS\tSYS\tSYS\tSYS\tPIX\tPIX\tNODE\tNODE\tSYS\t X
"""


def read(text, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse_topology_text(text, "topo.txt", **options)


def ring(machine, nbytes="1GiB"):
    return cs.simulate(cs.schedule("allreduce_ring", topology=machine), machine, nbytes).time


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
    cable = PROCESSORS[generation].link
    rate = cable.effective if effective else cable.nominal
    made = cs.machine(name, rates="effective" if effective else "nominal")
    rates = {b for kind, b in zip(made.links.kind_names, made.links.bandwidth, strict=True) if kind == "upi"}
    assert rates == {rate}


def nccls(vendor, model):
    """ncclTopoGetInterCpuBw of NCCL 2.30.7 (src/graph/topo.cc, topo.h)."""
    if vendor == "AuthenticAMD":
        return 16
    return 40 if model >= 0xCF else 22 if model >= 0x8F else 10 if model >= 0x55 else 6


def test_what_the_table_says_nccl_plans_with_is_what_nccl_plans_with():
    for model in range(30, 256):
        assert PROCESSORS[identified("x86_64", "GenuineIntel", 6, model)].nccl == nccls("GenuineIntel", model), model
        for family in (23, 25, 26, 143, 175, 191, 250):
            assert PROCESSORS[identified("x86_64", "AuthenticAMD", family, model)].nccl == 16
    assert PROCESSORS[identified("ppc64", "", 0, 0)].nccl == 32
    assert PROCESSORS[identified("arm64", "", 0, 0)].nccl == 6
    assert PROCESSORS[identified("x86_64", "Somebody", 6, 143)].nccl == 6


@pytest.mark.parametrize(
    ("family", "model", "name"),
    [(23, 49, "rome"), (143, 49, "rome"), (175, 1, "milan"), (175, 17, "genoa"), (25, 17, "genoa"), (191, 2, "turin")],
)
def test_amds_generations_are_told_by_either_way_of_counting_families(family, model, name):
    assert identified("x86_64", "AuthenticAMD", family, model) == name


def test_the_nccl_model_takes_its_socket_links_from_the_table():
    for pcie in (3, 4, 5, 6):
        facts = Facts("A100", 80, 8, inside="host", link_rate=1e9, pcie=pcie, crossing=True)
        assert socket_bandwidth(facts) == PROCESSORS[usual_processor(pcie)].nccl


def test_every_link_of_the_table_says_where_it_comes_from():
    for name in PROCESSORS:
        assert processor(name).source in between(name).source


def test_an_unknown_processor_is_told_with_the_nearest():
    with pytest.raises(cs.TopologyError, match="did you mean 'genoa'"):
        cs.machine("pcie-8gpu", cpu="genova")
