"""The backend guide against PyTorch's documentation, and Gloo's algorithms."""

import os
import re
from pathlib import Path

import pytest

import collsim as cs
from collsim.errors import CollsimError
from collsim.nccl import parse_facts, predict
from collsim.nccl.libraries.backends import get_support, recommend_backend
from collsim.nccl.libraries.gloo import Loopback, choose_gloo_algorithm, predict_gloo_interval, predict_gloo_time
from collsim.nccl.libraries.loggp import Host
from collsim.nccl.model.links import MEASURED

#: The table of PyTorch's docs/source/distributed.md (2.13): gloo CPU, gloo GPU, mpi CPU, mpi GPU, nccl CPU, nccl GPU.
DOCUMENTED = """
| send, recv | ✓ | ✘ | ✓ | ? | ✘ | ✓ |
| broadcast | ✓ | ✓ | ✓ | ? | ✘ | ✓ |
| all_reduce | ✓ | ✓ | ✓ | ? | ✘ | ✓ |
| reduce | ✓ | ✓ | ✓ | ? | ✘ | ✓ |
| all_gather | ✓ | ✓ | ✓ | ? | ✘ | ✓ |
| gather, scatter | ✓ | ✓ | ✓ | ? | ✘ | ✓ |
| reduce_scatter | ✓ | ✓ | ✘ | ? | ✘ | ✓ |
| all_to_all | ✓ | ✓ | ✓ | ? | ✘ | ✓ |
| barrier | ✓ | ✘ | ✓ | ? | ✘ | ✓ |
"""
MEANS = {"✓": "yes", "✘": "no", "?": "if built for GPUs"}
PLACES = [(backend, device) for backend in ("gloo", "mpi", "nccl") for device in ("cpu", "gpu")]
REFERENCE = Path(os.environ.get("COLLSIM_REFERENCE", Path(__file__).parents[3] / "shared/reference")) / "06-pytorch.md"
GIB = 2**30
A100 = parse_facts("A100-SXM4", 8, 1, "nvlink3-nvswitch", "none")


@pytest.mark.parametrize(
    ("situation", "wanted"),
    [
        ({"tensors": "cpu"}, "gloo"),  # rule of thumb: Gloo for distributed CPU training
        ({"tensors": "gpu"}, "nccl"),  # NCCL for distributed GPU training
        ({"tensors": "gpu", "hosts": 4, "rdma": False}, "nccl"),  # on Ethernet too
        ({"tensors": "gpu", "nvlink": False}, "nccl"),
        ({"tensors": "gpu", "gpus": 1}, "nccl"),
        ({"tensors": "gpu", "ranks_per_gpu": 2}, "gloo"),  # Duplicate GPU detected
        ({"tensors": "both"}, "cpu:gloo,cuda:nccl"),
    ],
)
def test_the_rule_of_thumb(situation, wanted):
    advice = recommend_backend(**situation)
    assert advice.backend == wanted
    assert advice.reasons


def test_what_a_backend_can_do_is_what_the_documentation_says():
    for line in DOCUMENTED.strip().splitlines():
        names, *said = [cell.strip() for cell in line.strip("| ").split("|")]
        for name in names.split(", "):
            assert [get_support(where, name, device) for where, device in PLACES] == [MEANS[mark] for mark in said], (
                name
            )
    with pytest.raises(CollsimError, match="reduce_grad"):
        get_support("gloo", "reduce_grad", "cpu")
    with pytest.raises(CollsimError, match="unknown backend 'ucc'"):
        get_support("ucc", "send", "cpu")


@pytest.mark.skipif(not REFERENCE.exists(), reason=f"the extract of the documentation is not here ({REFERENCE})")
def test_the_table_above_is_that_of_the_documentation():
    assert re.findall(r"^\| (?:[a-z_, ]+) \|.*[✓✘].*$", REFERENCE.read_text(), re.M) == DOCUMENTED.strip().splitlines()


def test_every_statement_of_the_guide_is_in_the_table():
    """What the advice says of a backend that lacks something, against the documentation's cells."""
    shared = recommend_backend("gpu", ranks_per_gpu=2)
    lacking = [
        name for name in ("send", "recv", "barrier", "all_reduce", "gather") if get_support("gloo", name, "gpu") == "no"
    ]
    assert lacking == ["send", "recv", "barrier"]
    assert "it has no send, recv or barrier for them" in str(shared)
    assert get_support("mpi", "reduce_scatter", "cpu") == "no"
    assert "no reduce_scatter" in recommend_backend("cpu", built_with_mpi=True).alternative
    assert not recommend_backend("cpu").alternative
    assert {get_support("nccl", name, "cpu") for name in ("send", "all_reduce", "barrier")} == {"no"}
    assert "NCCL moves CUDA tensors only" in str(recommend_backend("cpu"))


def test_operations_that_the_advice_cannot_do_are_said():
    assert "no send and no barrier" in str(
        recommend_backend("gpu", ranks_per_gpu=2, operations=("send", "all_reduce", "barrier"))
    )
    assert "copy them" not in str(recommend_backend("gpu", ranks_per_gpu=2, operations=("all_reduce",)))
    assert "copy them" not in str(recommend_backend("gpu", operations=("send", "barrier", "all_to_all")))
    assert "copy them" not in str(recommend_backend("cpu", operations=("send", "barrier", "reduce_scatter")))
    with pytest.raises(CollsimError, match="reduce_grad"):
        recommend_backend("gpu", operations=("reduce_grad",))


def test_amd_gpus_have_rccl_under_the_same_name():
    assert recommend_backend("gpu", amd=True).backend == "nccl"
    assert "RCCL" in str(recommend_backend("gpu", amd=True))
    assert "RCCL" not in str(recommend_backend("gpu"))


@pytest.mark.parametrize(
    ("ranks", "nbytes", "segments"),
    [(4, 1000, 8), (4, 8 * 2**20, 8), (4, 8 * 2**20 + 1, 12), (3, 2**26, 66), (3, 6 * 2**20 + 1, 9)],
)
def test_the_ring_of_gloo_has_two_segments_for_a_rank_and_none_above_a_mebibyte(ranks, nbytes, segments):
    """max(ceil(S / 1 MiB), 2n), rounded up to a multiple of n: 64 MiB on 3 ranks is 64, so 66."""
    found = choose_gloo_algorithm("allreduce", ranks, nbytes)
    assert (found.name, found.segments) == ("ring", segments)
    assert found.segment == -(-nbytes // segments) <= 2**20


@pytest.mark.parametrize("collective", ["allreduce", "reduce_scatter", "allgather", "broadcast", "alltoall"])
def test_the_algorithms_of_gloo_can_be_run(collective):
    cs.verify(cs.schedule(choose_gloo_algorithm(collective, 6, "1MiB").algorithm, ranks=6))


def test_bcube_only_where_it_is_asked_for():
    assert choose_gloo_algorithm("allreduce", 8, 64).name == "ring"
    assert choose_gloo_algorithm("allreduce", 8, 64, bcube=True).algorithm == "allreduce_bcube"
    for wrong in (
        {"collective": "broadcast", "bcube": True},
        {"collective": "sendrecv"},
        {"collective": "allreduce", "ranks": 1},
    ):
        with pytest.raises(CollsimError):
            choose_gloo_algorithm(**{"ranks": 8, "nbytes": 64, **wrong})


def test_a_slow_wire_and_a_busy_cpu_both_hold_gloo_back():
    """One NIC of 100 Gbit/s gives what a CPU moves; one of 10 Gbit/s what TCP carries of it. What a CPU moves is more
    than what is left where each 1 MiB is waited for, sent and added, two at once: about (26 us + 260 + 291) / 2."""
    ten, hundred = (
        parse_facts("A100-SXM4", 16, 2, "nvlink3-nvswitch", f"1x{rate}GbE (TCP sockets)") for rate in ("10", "100")
    )
    assert predict_gloo_time("allreduce", ten, "1GiB", tensors="cpu") == pytest.approx(
        2 * 15 / 16 * 2**30 / (1.25e9 * MEASURED.carries["tcp"]), rel=0.01
    )
    turns, wire, add = 15 * 64, 2**20 / MEASURED.tcp_per_nic, 2**20 / Host.add
    around = turns * max(wire, add, (26e-6 + wire + add) / 2), turns * wire
    assert predict_gloo_time("allreduce", hundred, "1GiB", tensors="cpu") == pytest.approx(sum(around), rel=0.01)


def test_a_collective_of_gloo_runs_over_one_card_however_many_there_are():
    one, eight = (parse_facts("A100-SXM4", 16, 2, "nvlink3-nvswitch", f"{nics}x25GbE (TCP sockets)") for nics in (1, 8))
    for collective in ("allreduce", "allgather", "broadcast", "alltoall", "reduce"):
        assert predict_gloo_time(collective, one, "64MiB") == predict_gloo_time(collective, eight, "64MiB")


def test_small_rings_of_gloo_wait_once_for_every_rank_and_half():
    """2n segments, two on the way at once: n - 1 waits of 26 us each time around."""
    for n in (2, 4, 8):
        nodes = parse_facts("A100-SXM4", n, n, "none", "1x25GbE (TCP sockets)")
        assert predict_gloo_time("allreduce", nodes, 8, tensors="cpu") == pytest.approx(2 * (n - 1) * 26e-6, rel=0.01)
        assert predict_gloo_time("allgather", nodes, 8, tensors="cpu") == pytest.approx((n - 1) * 26e-6, rel=0.01)


def test_the_last_rounds_of_a_broadcast_share_the_card_of_their_node():
    """Two nodes of 4: rounds over 1 and 2 ranks inside (1 and 2 flows over loopback), then 4 flows over one card."""
    two = parse_facts("A100-SXM4", 8, 2, "nvlink3-nvswitch", "1x25GbE (TCP sockets)")
    seconds = 3 * 26e-6 + GIB * ((1 + 2) / 4e9 + 4 / (3.125e9 * MEASURED.carries["tcp"]))
    assert predict_gloo_time("broadcast", two, GIB, tensors="cpu") == pytest.approx(seconds)
    assert cs.schedule(choose_gloo_algorithm("broadcast", 8, GIB).algorithm, ranks=8).steps == 3


def test_an_alltoall_of_gloo_posts_all_of_its_messages_at_once():
    """4 nodes of 2: each sends 6/8 of the buffer of both ranks over its card; 7 messages wait as long as one."""
    four = parse_facts("A100-SXM4", 8, 4, "nvlink3-mesh4", "1x10GbE (TCP sockets)")
    seconds = 26e-6 + 2 * 6 / 8 * GIB / (1.25e9 * MEASURED.carries["tcp"])
    assert predict_gloo_time("alltoall", four, GIB, tensors="cpu") == pytest.approx(seconds)


def test_a_single_gpu_has_no_rule_about_versions():
    assert "no rule depends on NCCL's version" in str(recommend_backend("gpu", gpus=1))


def test_gloo_is_far_slower_than_nccl_on_gpus():
    assert predict_gloo_time("allreduce", A100, "64MiB") > 20 * predict("allreduce", A100, "64MiB").time


def test_gloo_reduce_scatter_is_an_allreduce():
    assert predict_gloo_time("reduce_scatter", A100, "64MiB") == predict_gloo_time("allreduce", A100, "64MiB")


def test_a_message_of_gloo_is_one_message_over_one_card_however_many_nodes_there_are():
    """12.5 GB/s of wire, of which a CPU moves some 4: 26 us and 1 GiB. Inside a node eight ranks share loopback's 4
    GB/s, and a message takes four ways through the kernel."""
    times = [
        predict_gloo_time(
            "sendrecv",
            parse_facts("A100-SXM4", 8 * n, n, "nvlink3-nvswitch", "8x100GbE (TCP sockets)"),
            GIB,
            tensors="cpu",
        )
        for n in (2, 8)
    ]
    assert times == [pytest.approx(26e-6 + GIB / MEASURED.tcp_per_nic)] * 2
    assert predict_gloo_time("sendrecv", A100, GIB, tensors="cpu") == pytest.approx(4 * 26e-6 + GIB / (4e9 / 8))


def test_what_was_measured_between_processes_of_a_host_is_what_gloo_is_predicted_from():
    """A ring of 4 with 2 cores: 6 messages of 4 ways of 20 us, twice as long because two processes share a core."""
    four = parse_facts("A100-SXM4", 4, 1, "nvlink3-nvswitch", "1x25GbE (TCP sockets)")
    here = Loopback(20e-6, 3e9, cores=2)
    assert predict_gloo_time("allreduce", four, 8, tensors="cpu", loopback=here) == pytest.approx(
        6 * 4 * 20e-6 * 2, rel=0.01
    )
    alone = Loopback(20e-6, 3e9, cores=8)
    assert predict_gloo_time("allreduce", four, 8, tensors="cpu", loopback=alone) == pytest.approx(
        6 * 4 * 20e-6, rel=0.01
    )
    bytes_moved = 2 * 3 / 4 * GIB / (3e9 / 4)
    assert predict_gloo_time("allreduce", four, GIB, tensors="cpu", loopback=here) == pytest.approx(
        bytes_moved, rel=0.01
    )


def test_an_interval_of_gloo_holds_its_time_and_says_that_no_run_stands_behind_it():
    found = predict_gloo_interval("allreduce", A100, "64MiB", tensors="cpu")
    seconds = predict_gloo_time("allreduce", A100, "64MiB", tensors="cpu")
    assert found.low < seconds / 1.5 < 1.5 * seconds < found.high
    assert "class (mpi gloo): 0" in str(found.reason)
    wider = predict_gloo_interval("allreduce", A100, "64MiB", tensors="cpu", level=0.9)
    assert wider.low < found.low < found.high < wider.high
    with pytest.raises(CollsimError, match="level"):
        predict_gloo_interval("allreduce", A100, "64MiB", level=80)


def test_packets_may_be_lost_where_many_ranks_of_gloo_send_to_one_node():
    many = cs.machine("dgx-a100", nodes=16)

    def measure_slow_side(collective, machine):
        interval = predict_gloo_interval(collective, machine, "1MiB", tensors="cpu")
        return interval.high / interval.middle

    for collective in ("alltoall", "reduce"):
        assert measure_slow_side(collective, many) > 1.2 * measure_slow_side(collective, cs.machine("dgx-a100"))
    assert measure_slow_side("allreduce", many) == pytest.approx(measure_slow_side("allgather", many), rel=0.5)


def test_cuda_tensors_cross_pcie_twice_whatever_they_are_called():
    """80 % of 31.5 GB/s, there and back."""
    host, *gpu = (predict_gloo_time("allreduce", A100, GIB, tensors=word) for word in ("cpu", "gpu", "cuda", "GPU"))
    assert gpu == [pytest.approx(host + 2 * GIB / (31.5e9 * 0.8))] * 3


def test_what_gloo_cannot_do_is_said():
    for word in ("gpu", "cuda", "GPU"):
        with pytest.raises(CollsimError, match="CUDA tensors"):
            predict_gloo_time("sendrecv", A100, "1MiB", tensors=word)
    for word in ("junk", "both", ""):
        with pytest.raises(CollsimError, match=f"place of tensors '{word}'"):
            predict_gloo_time("allreduce", A100, "1MiB", tensors=word)
    with pytest.raises(CollsimError, match="place of tensors"):
        recommend_backend("disk")
