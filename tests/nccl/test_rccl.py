"""RCCL's tuner, against its published tables and formulas worked by hand (GB/s, microseconds)."""

import pytest

from collsim.nccl import parse_facts, predict
from collsim.nccl.model import rccl
from collsim.nccl.model.tuner import Communicator, Graph, choose_algorithm, compute_cost_table, compute_tuner_time
from collsim.nccl.tuner_graphs import build_communicator

KIB, MIB = 1024, 1024**2


def accelerators(nodes: int, rccl: str = "gfx942") -> Communicator:
    """Nodes of 8 MI300X with 8 NICs: 7 channels of 48 GB/s."""
    ring = Graph(7, 48, 48)
    return Communicator(8 * nodes, nodes, 90, ring, ring, cpu="amd", rccl=rccl)


def test_the_table_of_one_node():
    """Ring LL: 12 + 14 x 0.8 us; 7 x 48 x 0.08 of n / 2(n-1) = 8/14. Tree LL: 12 + 2 x 7 x 0.9; 0.06 of a half. No tree
    with Simple inside a node."""
    found = {
        (e.algorithm, e.protocol): (e.latency, e.bandwidth) for e in compute_cost_table("allreduce", accelerators(1))
    }
    assert found["Ring", "LL"] == pytest.approx((23.2, 336 * 0.08 * 8 / 14))
    assert found["Ring", "Simple"] == pytest.approx((17 + 14 * 2.1, 336 * 8 / 14))
    assert found["Tree", "LL"] == pytest.approx((24.6, 336 * 0.06 / 2))
    assert ("Tree", "Simple") not in found


def test_steps_between_nodes_wait_for_the_network():
    """Two nodes, tree with LL: 12 + 2 (7 x 0.9 + 10.5); ring: 28 steps inside at the 2 us that an AMD processor needs to
    post, and 2 between."""
    found = {(e.algorithm, e.protocol): e.latency for e in compute_cost_table("allreduce", accelerators(2))}
    assert found["Tree", "LL"] == pytest.approx(12 + 2 * (7 * 0.9 + 10.5))
    assert found["Ring", "LL"] == pytest.approx(12 + 28 * 2.0 + 2 * 9.5)


def test_a_correction_by_size_is_read_at_its_power_of_two():
    """Ring with Simple on two nodes: a tenth below 256 MiB (64 x 2^22), the whole from there on; inside a node always
    the whole."""
    for comm, share in ((accelerators(2), 0.1), (accelerators(1), 1.0)):
        cost = next(e for e in compute_cost_table("allreduce", comm) if (e.algorithm, e.protocol) == ("Ring", "Simple"))
        below, at = 256 * MIB - 1, 256 * MIB
        assert compute_tuner_time("allreduce", cost, comm, below) == pytest.approx(
            cost.latency + below / 1000 / cost.bandwidth / share
        )
        assert compute_tuner_time("allreduce", cost, comm, at) == pytest.approx(
            cost.latency + at / 1000 / cost.bandwidth
        )
    assert all(len(t) == 27 for known in rccl.TUNING.values() for t in (*known.tree.values(), *known.ring.values()))


@pytest.mark.parametrize(
    ("nodes", "tuning", "sizes"),
    [
        (2, "gfx942", {MIB: "LL", MIB + 1: "LL128", 9 * MIB: "LL128", 9 * MIB + 1: "Simple"}),
        (4, "gfx942", {9 * MIB + 1: "LL128", 34 * MIB: "LL128", 35 * MIB: "Simple"}),  # 3.8 x 9 MiB
        (2, "gfx950", {131071: "LL", 131072: "LL128", 17660227: "LL128", 17660228: "Simple"}),
    ],
)
def test_between_nodes_the_protocol_of_an_allreduce_goes_by_size(nodes, tuning, sizes):
    comm = accelerators(nodes, tuning)
    assert {size: choose_algorithm("allreduce", comm, size).protocol for size in sizes} == sizes
    assert choose_algorithm("allreduce", comm, 64 * MIB, protocols="LL").protocol == "LL"  # unless it is set


def test_a_gather_goes_by_the_bytes_of_a_rank():
    """96 KiB of each of 16 ranks are LL, a byte more each LL128."""
    comm = accelerators(2)
    assert choose_algorithm("allgather", comm, 16 * 96 * KIB).protocol == "LL"
    assert choose_algorithm("allgather", comm, 16 * (96 * KIB + 1)).protocol == "LL128"


def test_the_name_of_an_accelerator_says_whose_tables_it_has():
    names = {"MI300X": "gfx942", "MI325X": "gfx942", "MI355X": "gfx950", "MI250X": "", "A100": ""}
    assert {name: rccl.find_architecture(name) for name in names} == names
    assert build_communicator(parse_facts("MI300X", 8, 1, "xgmi-mi300x", "none")).rccl == "gfx942"
    assert build_communicator(parse_facts("A100-SXM4", 8, 1, "nvlink3-nvswitch", "none")).rccl == ""


def test_small_calls_over_two_nodes_take_the_longer_steps_of_rccl():
    """A tree's step takes 10.5 us where NCCL counts 5: two of them are 11 us more, times collsim's factor."""
    two = parse_facts("MI300X", 16, 2, "xgmi-mi300x", "8x400G RoCE")
    same = parse_facts("MI250X", 16, 2, "xgmi-mi300x", "8x400G RoCE")
    ours, nccls = (predict("allreduce", machine, 8, NCCL_ALGO="tree", NCCL_PROTO="LL") for machine in (two, same))
    inside = 2 * 7 * (0.9 - 0.6) * 0.21e-6
    assert ours.parts.steps - nccls.parts.steps == pytest.approx(2 * (10.5 - 5.0) * 1.45e-6 + inside)
