"""Whatever legal words a table puts together is predicted, and what is predicted could be measured."""

import itertools
import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collsim.nccl.machine.machine_words import parse_facts, parse_network
from collsim.nccl.measured.prediction_accuracy import find_library, predict_rows

#: The words of published tables, and kinds of machine that can have them.
NVLINK = (
    "A100-SXM4",
    "A100-SXM4 (ND A100 v4 class)",
    "A40",
    "B200",
    "GB200",
    "GH200-120GB",
    "H100-PCIe",
    "H100-SXM5-80GB",
    "H20",
    "H200",
)
NVLINK += ("H800", "RTX 2080 Ti", "RTX 3090", "V100-SXM2-16GB", "V100-SXM3-32GB", "A100-PCIE-40GB")
AMD = ("MI300X", "MI325X")
PLAIN = ("RTX 4090", "RTX 5090", "RTX PRO 6000 Blackwell 96GB", "GB10")
WIRED = tuple(f"nvlink{g}-{w}" for g in (2, 3, 4, 5) for w in ("nvswitch", "mesh4", "hybridcubemesh", "bridge"))
WIRED += ("nvlink4-nvswitch-h800", "nvlink5-nvl4", "nvlink5-nvl72", "nvlink5-nvl8")
SLOTS = (
    "",
    "none",
    "shm",
    "pcie3-x16-nop2p",
    "pcie4-fabric-nop2p",
    "pcie4-p2p",
    "pcie4-x16",
    "pcie4-x16-crosssocket",
    "pcie4-x16-p2p",
)
SLOTS += (
    "pcie4-x16-nop2p-crosssocket",
    "pcie5-plx-p2p",
    "pcie5-plx-shm-between-switches",
    "pcie5-x16-1socket",
    "pcie5-x16-2socket",
)
SLOTS += (
    "pcie5-x16-2switch-1root",
    "pcie5-x16-2switch-2root",
    "pcie5-x16-3switch-tree",
    "pcie5-x16-4switch",
    "pcie5-x16-direct-2socket",
)
NETS = (
    "",
    "1 NIC 400G per GPU (rate inferred)",
    "16x100G RoCE",
    "16x200G EFA",
    "1x100G EFA",
    "1x10GbE (TCP sockets)",
    "1x25GbE RoCE",
)
NETS += (
    "1xEDR100 IB",
    "1xSlingshot200 (libfabric)",
    "200G RoCE (2x100G functions)",
    "2xSlingshot (TCP sockets)",
    "32x100G EFA",
)
NETS += (
    "2xSlingshot (libfabric cxi)",
    "400G IB per GPU (rate not stated)",
    "400G IB per GPU between racks",
    "4x200GbE TCPX",
)
NETS += (
    "4x200G IB (inferred: 95 GB/s at ~24 GB/s per NIC)",
    "8x200GbE TCPXO",
    "8x400G EFA v4",
    "8x400G IB/RoCE (not stated)",
)
NETS += ("8xHDR200 IB", "8xNDR400 IB", "HDR200 IPoIB (TCP sockets)", "IB/RoCE (rate not stated)", "NIC rate not stated")
NETS += ("Slingshot (TCP sockets)", "Slingshot200 (libfabric)", "nvl72 (MNNVL)")
COLLECTIVES = ("allgather", "allreduce", "alltoall", "broadcast", "reduce", "reducescatter", "sendrecv")
SIZES = tuple(2**k for k in range(3, 34))
#: Times may fall where NCCL changes its choice (it keeps LL for long in broadcasts over many nodes), and grow faster
#: than bytes where it changes to a slower one; not by more than this. With one choice they do not fall.
FALLS, GROWS = 0.5, 8.0


def bounds(smaller, larger, ranks):
    """Least and most that a time may be of the time for half the bytes. MPI's libraries change their algorithm by fixed
    tables made on other machines: n - 1 rounds may follow log2(n), and the other way round. (64 ranks of ABCI with 16
    KiB, measured: a ring takes 5.7 times as long as recursive doubling does for half of it.)"""
    if (smaller.algorithm, smaller.protocol) == (larger.algorithm, larger.protocol):
        return 1.0, GROWS
    if smaller.algorithm.startswith("MPI"):
        return min(FALLS, 1 / ranks), max(GROWS, ranks)
    return FALLS, GROWS


@st.composite
def cases(draw):
    """A line of a table, as strings."""
    gpu, inside = draw(
        st.one_of(
            st.tuples(st.sampled_from(NVLINK), st.sampled_from(WIRED + SLOTS)),
            st.tuples(st.sampled_from(AMD), st.sampled_from((*SLOTS, "xgmi-mi300x"))),
            st.tuples(st.sampled_from((*PLAIN, "none (CPU buffers)")), st.sampled_from(SLOTS)),
        )
    )
    nodes = draw(st.one_of(st.just(1), st.integers(2, 1024)))
    fullest = draw(st.integers(2 if nodes == 1 else 1, 8))
    return {
        "case_id": "run",
        "gpu": gpu,
        "nodes": str(nodes),
        "ranks": str(draw(st.integers(max(2, nodes, nodes * (fullest - 1) + 1), nodes * fullest))),
        "collective": draw(st.sampled_from(COLLECTIVES)),
        "intra_link": inside,
        "inter_link": "none" if nodes == 1 else draw(st.sampled_from(NETS)),
        "gdr": draw(st.sampled_from(("yes", "no", "unknown", "n/a", ""))),
        "algo": draw(st.sampled_from(("auto", "mpi-auto", "nvls", "nvlstree", "ring", "tree", "", "n/a"))),
        "proto": draw(st.sampled_from(("", "LL", "Simple", "auto", "n/a"))),
    }


def least_time(case: dict[str, str], nbytes: int, nvls: bool) -> float:
    """Seconds below which no machine of these words can be, by the nominal rate of its NICs and of a GPU's links."""
    n, nodes, kind = int(case["ranks"]), int(case["nodes"]), case["collective"]
    if find_library(pd.Series(case)) == "mpi":
        if nodes == 1 or kind in ("alltoall", "sendrecv"):
            return 0.0
        nics, rate, *_ = parse_network(case["inter_link"], -(-n // nodes))
        return nbytes * (nodes - 1) / nodes / (nics * rate)
    machine = parse_facts(case["gpu"], n, nodes, case["intra_link"], case["inter_link"], case["gdr"])
    rounds = 2 if kind == "allreduce" else 1
    if kind in ("broadcast", "reduce", "sendrecv"):
        inside, between = 1.0, 1.0
    else:
        inside = 1.0 if nvls else rounds * (n - 1) / n
        between = rounds * (machine.nodes - 1) / machine.nodes
    if kind == "alltoall":
        between = (n - machine.local_ranks) * (n // machine.nodes) / n
    if machine.nodes > 1:
        return nbytes * between / (machine.nics * machine.nic_rate)
    return nbytes * inside / machine.link_rate


@settings(max_examples=150, deadline=None, derandomize=True)
@pytest.mark.slow
@given(cases())
def test_any_legal_words_are_predicted_and_their_times_could_be_measured(case):
    rows = pd.DataFrame([{"case_id": "run", "size_bytes": size, "time_us": 1.0} for size in SIZES])
    found, failed = predict_rows(pd.DataFrame([case]), rows)
    assert not failed
    runs = [p for _, p, _ in found]
    assert [p.nbytes for p in runs] == list(SIZES)
    assert all(math.isfinite(p.time) and p.time > 1e-7 for p in runs)
    for smaller, larger in itertools.pairwise(runs):
        least, most = bounds(smaller, larger, int(case["ranks"]))
        assert least * smaller.time <= larger.time <= most * smaller.time, (smaller, larger)
    last = runs[-1]
    assert last.time >= 0.999 * least_time(case, last.nbytes, last.algorithm.startswith("NVLS"))


@pytest.mark.parametrize(("word", "same"), [("", "NIC rate not stated")])
def test_a_network_that_is_left_blank_is_the_usual_one(word, same):
    assert parse_facts("H200", 16, 2, "nvlink4-nvswitch", word) == parse_facts("H200", 16, 2, "nvlink4-nvswitch", same)
