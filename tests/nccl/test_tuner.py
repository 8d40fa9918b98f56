"""NCCL's tuner, against numbers that NCCL printed and against its formulas worked by hand (GB/s, microseconds)."""

import pytest

from collsim.errors import CollsimError
from collsim.nccl.model.tuner import (
    Communicator,
    Graph,
    choose_algorithm,
    choose_resources,
    compute_cost_table,
    compute_tuner_time,
    is_available,
)
from collsim.nccl.search import constants as c

KIB, MIB = 1024, 1024**2


def one_node(
    channels: int, speed: float, cc: int, nvls: Graph | None = None, path: str = "NVL", ranks: int = 8
) -> Communicator:
    graph = Graph(channels, speed, speed, type_intra=path)
    return Communicator(ranks, 1, cc, graph, graph, nvls)


def hopper(nodes: int) -> Communicator:
    """Nodes of 8 H100 with 8 NICs of 400 Gbit/s: ring and tree 8 x 45, NVLS 8 x 40 inside and 45 between."""
    tree = Graph(8, 45, 45, pattern=c.BALANCED_TREE)
    return Communicator(8 * nodes, nodes, 90, Graph(8, 45, 45), tree, Graph(8, 40, 45, pattern=c.NVLS))


# Two ranks on two hosts over sockets: NCCL 2.29.7 printed this table (RTX 5090, two host ids).
SOCKETS = Communicator(2, 2, 120, Graph(2, 1.2, 1.2, "LOC", "PHB"), Graph(2, 2.4, 1.2, "LOC", "PHB", pattern=c.TREE))
H100 = one_node(12, 30, 90, Graph(8, 40, 60, pattern=c.NVLS))
A100 = one_node(12, 20, 80)
DGX1V = one_node(6, 20, 70)
PCIE = one_node(1, 5, 89, path="SYS")
B200 = one_node(16, 45, 100, Graph(8, 80, 90, pattern=c.NVLS))


def table(collective: str, comm: Communicator) -> dict[tuple[str, str], tuple[float, float]]:
    return {
        (e.algorithm, e.protocol): (round(e.latency, 1), round(e.bandwidth, 1))
        for e in compute_cost_table(collective, comm)
    }


def test_the_table_that_nccl_printed_for_two_hosts_over_sockets():
    # Ring LL: 6.6 + 2 steps x 5.0 = 16.6; 2 channels x 2.4 x 0.5 x n/(2(n-1)) = 1.2 (two nodes use bwIntra 1.2: 2 x 1.2
    # x 0.5 x 1 = 1.2)
    assert table("allreduce", SOCKETS) == {
        ("Tree", "LL"): (16.8, 0.5),
        ("Tree", "Simple"): (36.4, 1.9),
        ("Ring", "LL"): (16.6, 1.2),
        ("Ring", "Simple"): (36.4, 2.4),
    }
    assert table("allgather", SOCKETS) == {
        ("Ring", "LL"): (11.6, 2.4),
        ("Ring", "Simple"): (22.4, 4.8),
        ("PAT", "Simple"): (17.6, 3.6),
    }
    assert table("broadcast", SOCKETS) == {("Ring", "LL"): (9.3, 1.2), ("Ring", "Simple"): (22.4, 2.4)}


def test_the_choice_that_nccl_made_there():
    # 16 KiB: LL 9.3 + 16384/1200 = 22.95 us against Simple 22.4 + 16384/2400 = 29.2; 32 KiB: 36.6 against 36.05
    assert choose_algorithm("broadcast", SOCKETS, 16 * KIB).protocol == "LL"
    assert choose_algorithm("broadcast", SOCKETS, 16 * KIB).time_us == pytest.approx(9.3 + 16384 / 1200)
    assert choose_algorithm("broadcast", SOCKETS, 32 * KIB).protocol == "Simple"
    assert choose_algorithm("broadcast", SOCKETS, 32 * KIB).time_us == pytest.approx(22.4 + 32768 / 2400)


def test_eight_h100():
    # Ring LL: 6.6 + 14 x 0.6 = 15.0; min(141, 0.5 x 360) x 8/14 = 80.6. Tree LL: 6.8 + 14 x 0.6 = 15.2.
    # NVLS: 8 x min(40 x 0.85 x 7/8 x 2 = 59.5, 60) = 476 x 8/14 = 272.
    costs = table("allreduce", H100)
    assert costs["Tree", "LL"] == (15.2, 43.6)
    assert costs["Tree", "LL128"] == (31.5, 128.8)
    assert costs["Tree", "Simple"] == (64.4, 165.6)
    assert costs["Ring", "LL"] == (15.0, 80.6)
    assert costs["Ring", "LL128"] == (40.6, 189.3)
    assert costs["Ring", "Simple"] == (56.0, 205.7)
    assert costs["NVLS", "Simple"] == (25.0, 272.0)
    gather = table("allgather", H100)
    assert (gather["Ring", "LL"], gather["Ring", "LL128"], gather["Ring", "Simple"]) == (
        (10.8, 161.1),
        (27.3, 378.5),
        (32.2, 411.4),
    )
    assert table("broadcast", H100)["Ring", "LL"] == (7.2, 141.0)
    assert table("broadcast", H100)["Ring", "Simple"] == (11.8, 360.0)


@pytest.mark.parametrize(
    ("collective", "comm", "switches"),
    [
        ("allreduce", H100, {8: "Ring LL", 2 * MIB: "NVLS Simple"}),
        ("allgather", H100, {8: "Ring LL", 8 * MIB: "Ring LL128", 32 * MIB: "Ring Simple"}),
        ("broadcast", H100, {8: "Ring LL", 2 * MIB: "Ring Simple"}),
        ("allreduce", A100, {8: "Ring LL", 4 * MIB: "Ring LL128", 32 * MIB: "Ring Simple"}),
        ("allreduce", DGX1V, {8: "Ring LL", MIB: "Ring LL128", 16 * MIB: "Ring Simple"}),
        ("allreduce", PCIE, {8: "Ring LL", 256 * KIB: "Ring Simple"}),
        ("allreduce", hopper(2), {8: "Tree LL", 256 * KIB: "Tree LL128", 4 * MIB: "NVLSTree Simple"}),
        ("allreduce", hopper(8), {8: "Tree LL", 256 * KIB: "Tree LL128", 16 * MIB: "NVLSTree Simple"}),
    ],
)
def test_the_choice_switches_at_these_powers_of_two(collective, comm, switches):
    found, last = {}, ""
    for size in (2**k for k in range(3, 35)):
        choice = choose_algorithm(collective, comm, size)
        name = f"{choice.algorithm} {choice.protocol}"
        if name != last:
            found[size] = last = name
    assert found == switches


def test_a100_v100_and_pcie_rings():
    # n/(2(n-1)) = 8/14. A100: LL min(87.7, 120), LL128 0.92 x 240; V100: LL min(39, 60), LL128 0.92 x 120; PCIe: 8.4 +
    # 14 x 5.7 = 88.2
    a100, v100, pcie = table("allreduce", A100), table("allreduce", DGX1V), table("allreduce", PCIE)
    assert [a100["Ring", p] for p in c.PROTOCOLS] == [(15.0, 50.1), (40.6, 126.2), (56.0, 137.1)]
    assert [v100["Ring", p] for p in c.PROTOCOLS] == [(15.0, 22.3), (40.6, 63.1), (56.0, 68.6)]
    assert (pcie["Ring", "LL"], pcie["Ring", "Simple"]) == ((20.6, 1.4), (88.2, 2.9))
    assert ("Ring", "LL128") not in pcie  # the path crosses sockets


def test_two_and_eight_nodes_of_h100():
    # Tree LL over 2 nodes: 6.8 + 2(7 x 0.6 + 1 x 5.0) = 25.2; over 8 nodes lg N = 3. NVLSTree: 25 + 2 x 20.9 = 66.8.
    two, eight = table("allreduce", hopper(2)), table("allreduce", hopper(8))
    assert (two["Tree", "LL"], two["Tree", "LL128"], two["NVLSTree", "Simple"]) == (
        (25.2, 19.5),
        (48.5, 146.8),
        (66.8, 246.2),
    )
    assert eight["Ring", "Simple"] == (585.2, 182.9)  # 8.4 + 112 x 3.4 + 14 x 14
    assert (eight["Tree", "Simple"], eight["NVLSTree", "Simple"]) == ((148.4, 144.0), (150.4, 182.9))


def test_b200_nvls_is_capped_by_the_raised_speed():
    # min(80 x 0.74 x 7/8 x 2 = 103.6, 90) x 8 = 720 GB/s on the bus
    assert table("allreduce", B200)["NVLS", "Simple"][1] == pytest.approx(720 * 8 / 14, abs=0.05)


def test_only_rings_carry_broadcast_and_reduce():
    assert (
        {e.algorithm for e in compute_cost_table("broadcast", H100)}
        == {e.algorithm for e in compute_cost_table("reduce", H100)}
        == {"Ring"}
    )


def test_pat_is_for_one_gpu_per_node():
    assert is_available("allgather", "PAT", "Simple", SOCKETS)
    assert not is_available("allgather", "PAT", "Simple", hopper(2))


def test_long_rings_of_simple_pay_more_latency_between_nodes():
    cost = next(
        e for e in compute_cost_table("allreduce", hopper(8)) if (e.algorithm, e.protocol) == ("Ring", "Simple")
    )
    size = 16 * 64 * 64  # channels after doubling x ranks x 64 bytes
    assert compute_tuner_time("allreduce", cost, hopper(8), size) == pytest.approx(
        1.4 * 585.2 + size / 1000 / cost.bandwidth, rel=1e-3
    )
    assert compute_tuner_time("allreduce", cost, hopper(8), size - 1) == pytest.approx(
        585.2 + size / 1000 / cost.bandwidth, rel=1e-3
    )


def test_nccl_algo_and_proto_restrict_the_choice():
    assert choose_algorithm("allreduce", H100, 64 * MIB, algorithms="Ring").algorithm == "Ring"
    assert choose_algorithm("allreduce", H100, 64 * MIB, algorithms="^NVLS").algorithm == "Ring"
    assert choose_algorithm("allreduce", H100, 64 * MIB, algorithms="allreduce:tree;broadcast:ring").algorithm == "Tree"
    assert choose_algorithm("allreduce", H100, 1 * KIB, algorithms="ring", protocols="Simple").protocol == "Simple"
    # 8 MiB without LL128: LL 15.0 + 8389/80.6 = 119 us, Simple 56.0 + 8389/205.7 = 96.8 us
    assert choose_algorithm("allreduce", H100, 8 * MIB, algorithms="ring", protocols="^LL128").protocol == "Simple"


def test_a_wrong_word_names_the_right_ones():
    with pytest.raises(CollsimError, match="did you mean 'Ring'"):
        choose_algorithm("allreduce", H100, 8, algorithms="Rinf")
    with pytest.raises(CollsimError, match=r"leave nothing .*; it has Ring$"):
        choose_algorithm("broadcast", H100, 8, algorithms="Tree")


def test_small_calls_give_up_channels_then_threads():
    # Ring LL needs 8 bytes x 8 ranks x 512 threads = 32 KiB per channel
    assert choose_resources("Ring", "LL", A100, 24 * 32 * KIB) == (24, 512)
    assert choose_resources("Ring", "LL", A100, 3 * 32 * KIB) == (3, 512)
    assert choose_resources("Ring", "LL", A100, 16 * KIB) == (1, 256)
    assert choose_resources("Ring", "LL", A100, 8) == (1, 96)
    assert choose_resources("NVLS", "Simple", H100, 8) == (16, 640)


def test_one_rank_has_nothing_to_do():
    assert choose_algorithm("allreduce", Communicator(1, 1, 90, Graph(1, 1, 1), Graph(1, 1, 1)), MIB).time_us == 0
