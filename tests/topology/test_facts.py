"""What a file does not say is told with the answer, with the effect of another value, and can be given."""

import os
import re
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner
from wirings import PCIE_8GPU, read, ring

import collsim as cs
from collsim.cli import app
from collsim.topology.files.effects import describe_effects, find_effects, read_again

DATA = Path(os.environ.get("COLLSIM_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
# Two cards under the GPUs' switch and two on root ports of their own, as cards for storage are.
WITH_STORAGE = """
\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\tNIC3\tCPU Affinity
GPU0\t X \tPXB\tPIX\tPXB\tNODE\tSYS\t0-15
GPU1\tPXB\t X \tPXB\tPIX\tNODE\tSYS\t0-15
NIC0\tPIX\tPXB\t X \tPXB\tNODE\tSYS
NIC1\tPXB\tPIX\tPXB\t X \tNODE\tSYS
NIC2\tNODE\tNODE\tNODE\tNODE\t X \tSYS
NIC3\tSYS\tSYS\tSYS\tSYS\tSYS\t X
"""


def options_of(topology):
    return {one.option for one in topology.facts.assumptions}


def test_everything_that_the_text_does_not_say_is_an_assumption_and_what_is_given_is_none():
    assert options_of(read(PCIE_8GPU)) == {"gpu", "pcie", "cpu", "nic"}
    given = {"gpu": "A100", "pcie": 4, "cpu": "milan", "nic": "ib-hdr"}
    assert not options_of(read(PCIE_8GPU, **given))
    for name in given:
        assert options_of(read(PCIE_8GPU, **{name: given[name]})) == {"gpu", "pcie", "cpu", "nic"} - {name}


def test_the_effect_is_that_of_a_run_with_the_other_value():
    two = read(PCIE_8GPU, gpu="A100", nodes=2, p2p="sys")
    found = {(e.assumption.option, e.value): e.factor for e in find_effects(two, ring)}
    slow = read(PCIE_8GPU, gpu="A100", nodes=2, p2p="sys", nic="ib-edr")
    assert found["nic", "ib-edr"] == ring(slow) / ring(two) > 1.2
    assert found["pcie", 3] == ring(read(PCIE_8GPU, gpu="A100", nodes=2, p2p="sys", pcie=3)) / ring(two)


def test_a_line_says_what_was_taken_how_to_give_it_and_what_another_would_make_of_it():
    lines = dict(
        describe_effects(read(PCIE_8GPU, gpu="A100", nodes=2), find_effects(read(PCIE_8GPU, gpu="A100", nodes=2), ring))
    )
    line = next(line for line in lines if "NIC0, NIC1" in line)
    assert "assumed ib-hdr; set nic=... if that is wrong; with nic=ib-edr it takes 1.3 times as long" in line
    assert "若 nic 为 ib-edr：用时为 1.3 倍" in lines[line]


def test_what_makes_no_difference_to_the_answer_is_not_listed():
    one = read(PCIE_8GPU, gpu="A100")
    assert "nic" in options_of(one)
    assert not any(
        "NIC0" in line for line, _ in describe_effects(one, find_effects(one, ring))
    )  # nothing leaves the node


def test_the_notes_of_a_prediction_have_them():
    two = read(PCIE_8GPU, gpu="A100", nodes=2)
    said = " ".join(cs.nccl.predict("allreduce", two, "1GiB").notes)
    for option, value in (("pcie", 3), ("nic", "ib-edr")):
        other = cs.nccl.predict("allreduce", read_again(two, **{option: value}), "1GiB").time
        factor = other / cs.nccl.predict("allreduce", two, "1GiB").time
        assert (f"with {option}={value} it takes {factor:.2g} times as long" in said) == (factor > 1.01), option
    assert "with pcie=3 " in said


def test_cards_for_storage_do_not_carry_training_unless_asked():
    usual, every = read(WITH_STORAGE, nodes=2), read(WITH_STORAGE, nodes=2, nics="all")
    assert "nic2" not in usual.facts.machine.devices
    assert "nic3" in every.facts.machine.devices
    assert "NIC" not in " ".join(str(one) for one in every.facts.assumptions if one.option == "nics")
    told = next(one for one in usual.facts.assumptions if one.option == "nics")
    assert "nic2, nic3 are not beside a GPU" in str(told)
    assert len(read(WITH_STORAGE, nodes=2, nics=1).facts.machine.of_kind("nic")) == 1
    with pytest.raises(cs.TopologyError, match="has 4 network cards"):
        read(WITH_STORAGE, nodes=2, nics=5)


def test_cards_are_kept_where_none_is_next_to_a_gpu():
    text = WITH_STORAGE.replace("PIX", "NODE").replace("PXB", "NODE")
    assert len(read(text, nodes=2).facts.machine.of_kind("nic")) == 4


def test_a_machine_of_the_catalogue_takes_other_parts():
    plain = cs.machine("dgx-a100", nodes=2)
    four = cs.machine("dgx-a100", nodes=2, nics=4)
    assert len(four.facts.machine.of_kind("nic")) == 4
    assert ring(four) > ring(plain) * 1.5
    assert four.name == "dgx-a100(nodes=2, nics=4)"
    assert cs.machine("pcie-8gpu", pcie=3).route(0, 1)[0].label == "PCIe 3.0 ×16"
    assert cs.machine("dgx-a100", gpu="H100").route(0, 1)[0].label == "NVLink 4 ×12"
    assert cs.nccl.read_facts(cs.machine("pcie-8gpu", gpu="L40")).cc == 89
    with pytest.raises(cs.TopologyError, match="has no NVLink"):
        cs.machine("dgx-a100", gpu="L40")


def test_other_parts_are_written_to_yaml_and_read_again(tmp_path):
    made = cs.machine("dgx-a100", nodes=2, nics=4, pcie=5)
    (tmp_path / "m.yaml").write_text(made.to_yaml())
    assert ring(cs.load_topology(tmp_path / "m.yaml")) == ring(made)


def test_cells_that_run_together_are_split_with_a_note():
    text = "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIXPXB\nGPU1\tPIX\t X \tPXB\nGPU2\tPXB\tPXB\t X \n"
    assert "line 2: GPU0 has 'PIXPXB', read as PIX and PXB" in read(text).facts.notes


@pytest.mark.skipif(not DATA.exists(), reason="needs the data of the machines")
def test_real_files_list_what_they_do_not_say():
    found = {}
    for path in sorted((DATA / "topo-m").glob("*.txt")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine = cs.load_topology(path)
        assert {"gpu", "pcie", "cpu"} <= options_of(machine)
        found[path.name] = [one for one in find_effects(machine, ring) if not one.is_negligible]
    assert found
    assert any(found.values())  # NVSwitches alone do not change with these GPUs


def test_the_command_line_lists_them_and_takes_them(tmp_path):
    path = tmp_path / "topo.txt"
    path.write_text(PCIE_8GPU)
    words = ["run", "allreduce_ring", "--topology-file", str(path), "--nodes", "2", "--nbytes", "64MiB"]
    told = CliRunner().invoke(app, words)
    assert re.search(r"set --nic if that is wrong; with nic=ib-edr it takes 1\.\d times as long", told.stderr)
    given = ["--gpu", "A100", "--nic", "ib-edr", "--pcie", "4", "--cpu", "ice-lake", "--nics", "2"]
    done = CliRunner().invoke(app, [*words, *given])
    assert done.exit_code == 0, done.output
    assert "assumed" not in done.stderr
