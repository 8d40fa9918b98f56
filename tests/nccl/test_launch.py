"""Launching a call overlaps with the kernel before it; what a network's plugin sets, and a table's version, choose."""

from dataclasses import replace

import pandas as pd
import pytest

from collsim.nccl import parse_facts, predict
from collsim.nccl.machine.network_plugins import find_plugin_settings
from collsim.nccl.measured.prediction_accuracy import predict_rows
from collsim.nccl.model.links import MEASURED

BOX = parse_facts("H200", 8, 1, "nvlink4-nvswitch", "none", launch="one process, -g 8")


def test_launch_and_kernel_are_joined_by_the_norm_between_their_sum_and_the_longer_one():
    """The host takes a + 8 b, the kernel c and its steps and bytes; at 1 their sum, far up the longer one."""
    host = MEASURED.launch + 8 * MEASURED.launch_each
    for power, joined in ((1.0, sum), (200.0, max)):
        p = predict("allreduce", BOX, "4KiB", links=replace(MEASURED, overlap=power))
        kernel = MEASURED.kernel + p.parts.steps + p.parts.bytes + p.parts.fill
        assert p.time == pytest.approx(joined((host, kernel)), rel=0.01)


def test_rccl_hands_small_allreduces_of_eight_processes_to_mscclpp():
    """16 and 6.0 us are published of 16 and 64 bytes from a captured graph, and 10.3 and 19.4 us of 256 KiB and 1 MiB."""
    box = parse_facts("MI300X", 8, 1, "xgmi-mi300x", "none", launch="HIP graph (-G 1)")
    small, middle, largest, beyond = (predict("allreduce", box, n).time for n in (64, 2**18, 2**20, 2**20 + 32))
    assert [small, middle, largest] == pytest.approx([6.0e-6, 10.3e-6, 19.4e-6], rel=0.4)
    assert beyond > 1.3 * largest
    assert predict("allreduce", box, 64).parts.steps == pytest.approx(2 * 0.8e-6)  # RCCL's own latency of a step
    assert predict("allreduce", box, 16).parts.steps > predict("allreduce", box, 64).parts.steps
    for other in (
        parse_facts("MI300X", 8, 1, "xgmi-mi300x", "none", launch="one process, -g 8"),
        parse_facts("MI300X", 4, 1, "xgmi-mi300x", "none", launch="HIP graph (-G 1)"),
        parse_facts("MI250X", 8, 1, "xgmi-mi300x", "none", launch="HIP graph (-G 1)"),
    ):
        assert not any("MSCCL++" in note for note in predict("allreduce", other, 64).notes)
    assert any("MSCCL++" in note for note in predict("allreduce", box, 64).notes)
    assert not any("MSCCL++" in note for note in predict("allgather", box, 64).notes)


def test_a_graph_that_was_captured_launches_nothing():
    p = predict("allreduce", BOX, 8, launch="graph")
    assert p.parts.launch == pytest.approx(MEASURED.kernel)
    one, each = (predict("allreduce", BOX, 8, launch=who).time for who in ("one process", "process per gpu"))
    assert p.time < each < one


def test_a_large_call_hides_its_launch():
    """Of 28 us that a process needs for 8 GPUs nearly nothing is left where the kernel takes milliseconds."""
    small, large = (predict("allreduce", BOX, n).parts.launch for n in (8, "1GiB"))
    assert small > 20e-6
    assert large < 0.5 * small


@pytest.mark.parametrize(
    ("gpu", "wires", "network", "algorithms", "protocols"),
    [
        ("A100-SXM4", "nvlink3-nvswitch", "4x100G EFA", {"Ring", "Tree"}, {"Simple"}),
        ("H100-SXM5", "nvlink4-nvswitch", "4x200GbE TCPX", {"Ring"}, {"Simple"}),
        ("H100-SXM5", "nvlink4-nvswitch", "8x200GbE TCPXO", {"Ring", "Tree", "NVLSTree"}, {"Simple", "LL128"}),
    ],
)
def test_what_the_plugin_of_a_network_sets_is_chosen_unless_the_user_sets_another(
    gpu, wires, network, algorithms, protocols
):
    machine = parse_facts(gpu, 16, 2, wires, network, "yes")
    made = [predict("allreduce", machine, 2**k) for k in range(3, 33)]
    assert {p.algorithm for p in made} <= algorithms
    assert {p.protocol for p in made} == protocols
    assert all(any("plugin of this network" in note for note in p.notes) for p in made)
    assert predict("allreduce", machine, 8, NCCL_ALGO="Tree", NCCL_PROTO="LL").protocol == "LL"


def test_other_networks_leave_nccl_alone():
    for network in ("8xNDR400 IB", "32x100G EFA", "4x400G RoCE"):
        assert find_plugin_settings(parse_facts("H100-SXM5", 16, 2, "nvlink4-nvswitch", network, "yes")) is None


def test_the_version_of_a_table_chooses():
    """2.18 has no PAT, which 2.30 takes for small allgathers with one GPU per node."""
    rows = pd.DataFrame({"case_id": ["a", "b"], "size_bytes": [1024, 1024], "time_us": [30.0, 30.0]})
    words = {"gpu": "H100-SXM5", "ranks": "16", "nodes": "16", "intra_link": "none", "inter_link": "1xNDR400 IB"}
    usual = {"collective": "allgather", "gdr": "yes", "algo": "auto", "proto": "auto", "launch": ""}
    cases = [
        {"case_id": run, **words, **usual, "nccl_version": said} for run, said in (("a", "2.18.3"), ("b", "unknown"))
    ]
    found, failed = predict_rows(pd.DataFrame(cases), rows)
    assert not failed
    assert [p.algorithm for _, p, _ in found] == ["Ring", "PAT"]
