"""A machine with other parts: one vocabulary for `machine`, `.with_`, files, the command line and sweeps."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.topology.parts.nvlinks import LINKS_OF_GENERATION
from collsim.topology_names import resolve_topology

QUESTION = {"nodes": 2, "gpus": 4, "nic": "roce-25", "nics": 1, "pcie": 3}


def is_same_machine(a, b):
    """All that a simulation reads is equal."""
    columns = ("src", "dst", "alpha", "bandwidth")
    return a.name == b.name and all(np.array_equal(getattr(a.links, c), getattr(b.links, c)) for c in columns)


def list_nvlinks(topology):
    return [cable for *_, cable in topology.facts.machine.connections if cable.kind == "nvlink"]


CHANGES = [
    {"nic": "roce-100"},
    {"nics": 4},
    {"pcie": 5},
    {"gpus": 8},
    {"gpu": "H100"},
    {"cpu": "rome"},
    {"nvlink": "board"},
    {"nvlink": "bridge"},
    {"nodes": 4, "fabric": "leaf-spine", "oversubscription": 2},
    {"gdr": False, "p2p": False},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_with_is_the_machine_that_is_built_with_that_word(change):
    built = cs.machine("pcie-8gpu", **QUESTION | change)
    assert is_same_machine(cs.machine("pcie-8gpu", **QUESTION).with_(**change), built)
    assert is_same_machine(resolve_topology(built.name, "test"), built)
    assert is_same_machine(cs.topology.parse_topology_text(built.to_yaml()), built)


def test_none_gives_a_part_back_to_the_machine():
    plain = cs.machine("dgx-a100", nodes=2)
    changed = plain.with_(nvlink="none", nics=2, pcie=3, nic="roce-25", p2p=False)
    assert is_same_machine(changed.with_(nvlink=None, nics=None, pcie=None, nic=None, p2p=None), plain)


def test_edits_and_calibrations_are_made_again():
    slow = cs.machine("pcie-8gpu", nodes=2).with_link("node1/gpu3", "node1/pcie1", bandwidth="half")
    faster = slow.with_(pcie=5)
    assert faster.facts.calls == slow.facts.calls
    assert faster.route("node1/gpu3", "node1/gpu2")[0].bandwidth == 63e9 / 2
    with pytest.raises(cs.TopologyError, match="gpu7"):
        cs.machine("pcie-8gpu").with_link("node0/gpu7", "node0/pcie3", bandwidth="half").with_(gpus=4)


def test_a_file_takes_the_same_words():
    text = "\tGPU0\tGPU1\nGPU0\t X \tNV12\nGPU1\tNV12\t X \n"
    with pytest.warns(cs.topology.FormatWarning):
        read = cs.topology.parse_topology_text(text, "t.txt", gpu="A100", nvlink="none")
    assert not list_nvlinks(read)
    board = read.with_(nvlink="board", pcie=5)
    assert {cable.label for cable in list_nvlinks(board)} == {"NVLink 3 ×12"}
    assert board.facts.file == "t.txt"
    assert "pcie" in {assumption.option for assumption in read.facts.assumptions}
    assert "pcie" not in {assumption.option for assumption in board.facts.assumptions}


def test_the_same_gpus_with_other_wires_compute_as_before():
    plain = cs.machine("pcie-8gpu", nodes=2)
    for nvlink in ("bridge", "board", *LINKS_OF_GENERATION):
        wired = plain.with_(nvlink=nvlink)
        assert wired.facts.machine.gpu == plain.facts.machine.gpu
        assert wired.facts.machine.sm == plain.facts.machine.sm
        assert list_nvlinks(wired)
    assert {cable.label for cable in list_nvlinks(plain.with_(nvlink=4))} == {"NVLink 4 ×18"}
    assert len(list_nvlinks(plain.with_(nvlink="bridge"))) == 4


def test_a_generation_leaves_the_wiring_that_there_is():
    wired = cs.machine("dgx-a100").with_(nvlink=4)
    assert {cable.label for cable in list_nvlinks(wired)} == {"NVLink 4 ×18"}
    bridged = cs.machine("rtx3090-4gpu", nvlink=4)
    assert {cable.label for cable in list_nvlinks(bridged)} == {"NVLink 4 ×4"}


def test_without_nvlink_nothing_of_it_is_left():
    bare = cs.machine("dgx-a100", nvlink="none")
    assert not list_nvlinks(bare)
    assert "nvswitch" not in bare.facts.machine.kinds
    assert {hop.kind for hop in bare.route(0, 7)} <= {"pcie", "upi", "memory"}
    assert cs.nccl.read_facts(bare).wiring != "nvswitch"
    assert cs.machine("dgx-a100", nvlink="none", gpu="L40").facts.machine.gpu == "L40"


def test_cards_are_added_next_to_gpus_until_each_has_one():
    more = cs.machine("pcie-8gpu", nics=4)
    hosts = {b for a, b, _ in more.facts.machine.connections if a.startswith("nic")}
    assert hosts == {"pcie0", "pcie1", "pcie2", "pcie3"}
    assert len(cs.machine("pcie-8gpu", nics=8).facts.machine.of_kind("nic")) == 8
    with pytest.raises(cs.TopologyError, match="6 free slots"):
        cs.machine("pcie-8gpu", nics=9)
    with pytest.raises(cs.TopologyError, match="0 free slots"):
        cs.machine("dgx-a100", nics=9)


def test_more_cards_carry_more():
    one, two, four = (
        cs.lower_bound("allreduce", cs.machine("pcie-8gpu", nodes=2, nics=count, nic="roce-25"), "1GiB").time
        for count in (1, 2, 4)
    )
    assert one == pytest.approx(2 * two, rel=0.01)
    assert two == pytest.approx(2 * four, rel=0.01)


REFUSED = [
    ("rtx4090-8gpu", {"nvlink": "board"}, "not sold with NVLink"),
    ("workstation-4gpu", {"nvlink": "board"}, "bridge"),
    ("pcie-8gpu", {"nvlink": 9}, "known: 1, 2, 3, 4, 5"),
    ("pcie-8gpu", {"nvlink": "wires"}, "board, bridge, none"),
    ("mi300x-8gpu", {"nvlink": 4}, "NVIDIA"),
    ("cpu-2socket", {"nvlink": 4}, "NVIDIA"),
]


@pytest.mark.parametrize(("name", "parts", "message"), REFUSED)
def test_what_no_machine_has_is_refused_with_a_way_out(name, parts, message):
    with pytest.raises(cs.TopologyError, match=message):
        cs.machine(name, **parts)


def test_a_network_without_machines_has_no_parts():
    with pytest.raises(cs.TopologyError, match="with_link"):
        cs.topology.ring(4).with_(nic="roce-25")


def test_a_sweep_takes_lists_of_parts():
    place = {"machine": "pcie-8gpu", "nodes": 2, "gpus": 4, "nic": ["roce-25", "roce-100"], "nvlink": [None, "board"]}
    table = cs.sweep(algorithm="allreduce_ring", topology=place, nbytes="64MiB")
    assert len(set(table["topology"])) == 4


def test_the_command_line_has_the_same_words():
    words = "predict allreduce --machine pcie-8gpu --nodes 2 --gpus 4 --nic roce-25 --nics 1 --pcie 3 --nvlink board"
    result = CliRunner().invoke(app, [*words.split(), "--nbytes", "64MiB", "--json"])
    predicted = cs.nccl.predict("allreduce", cs.machine("pcie-8gpu", **QUESTION, nvlink="board"), "64MiB")
    assert json.loads(result.stdout)[0]["time"] == pytest.approx(predicted.time, rel=1e-9)
