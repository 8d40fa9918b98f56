"""Every line of a log whose form is known gives its fact, in the words of NCCL's and RCCL's sources."""

import pytest

from collsim.io.nccl import nccl_log_facts
from collsim.io.nccl.nccl_log_facts import LoggedChoice, iterate_lines, read_log_facts
from collsim.io.nccl.nccl_statements import read_statements

FRAME = "n1:100:200 [0] NCCL INFO "
WARN = "n1:100:200 [0] init.cc:1 NCCL WARN "
LINES = [
    ("NCCL_IB_HCA set to mlx5_0", "nccl.variable", ("NCCL_IB_HCA", "mlx5_0")),
    ("NCCL_P2P_DISABLE set by environment to 1.", "nccl.variable", ("NCCL_P2P_DISABLE", "1")),
    ("NCCL version 2.21.5+cuda12.4", "nccl.version", "2.21.5+cuda12.4"),
    ("cudaDriverVersion 12040", "nccl.cuda_driver", 12040),
    ("Using network AWS Libfabric", "nccl.network", "AWS Libfabric"),
    (
        "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>",
        "nccl.cards",
        ("mlx5_0", "mlx5_1"),
    ),
    (
        "NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [RO]; OOB eth0:10.0.0.1<0>",
        "nccl.cards",
        ("mlx5_0", "mlx5_1"),
    ),
    ("NET/IB : No device found.", "nccl.no_rdma_device", "NET/IB : No device found"),
    ("Failed to open libibverbs.so[.1]", "nccl.no_rdma_device", "Failed to open libibverbs"),
    ("NET/IB : Unable to open device mlx5_0", "nccl.no_rdma_device", "Unable to open device"),
    ("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", "nccl.gdr_of_card", False),
    ("GPU Direct RDMA Enabled for GPU 7000 / HCA 0 (distance 4 <= 5), read 0", "nccl.gdr_of_gpu", True),
    ("NVLS multicast support is not available on dev 0", "nccl.nvls", False),
    ("NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)", "nccl.nvls", True),
    (
        "MNNVL busId 0x901000 fabric UUID 1.2 cliqueId 0x7f01 state 3 healthMask 0x0",
        "nccl.clique",
        "1.2 cliqueId 0x7f01",
    ),
    ("MNNVL busId 0x901000 fabric UUID 1.2 cliqueId 0x7f01 state 3 healthMask 0x40", "nccl.health_mask", "0x40"),
    ("comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL 1", "nccl.mnnvl", True),
    ("comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL 1", "nccl.ranks", (8, 2, 4)),
    (
        "24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer",
        "nccl.channels",
        24,
    ),
    (
        "ncclCommInitRank comm 0x1 rank 3 nranks 8 cudaDev 3 nvmlDev 5 busId 7000 commId 0x7 - Init START",
        "nccl.device",
        (3, 5),
    ),
    (
        "ncclCommInitRank comm 0x1 rank 3 nranks 8 cudaDev 3 nvmlDev 5 busId 7000 commId 0x7 - Init START",
        "nccl.init_start",
        3,
    ),
    (
        "[Rank 3] ncclCommInitRank comm 0x1 rank 3 nranks 8 cudaDev 3 nvmlDev 5 busId 7 commId 0x7 - Init COMPLETE",
        "nccl.init_complete",
        3,
    ),
    ("1048576 Bytes -> Algo 1 proto 2 time 123.4", "nccl.choice", LoggedChoice(1048576, "Ring", "Simple")),
    (
        "AllReduce: 1048576 Bytes -> Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={0..23}",
        "nccl.choice",
        LoggedChoice(1048576, "NVLSTree", "Simple"),
    ),
    ("Bootstrap : Using eth0:10.0.0.1<0>", "nccl.bootstrap", "eth0"),
    ("Bootstrap: Using docker0:172.17.0.1<0>", "nccl.bootstrap", "docker0"),
    ("Comm config maxCTAs reset to NCCL_MAX_CTAS=4", "nccl.pinned_channels", 4),
    ("CC On, workFifoBytes 1048576", "nccl.confidential", "On"),
    (
        "Topology detection : could not read /sys/devices/x, ignoring",
        "nccl.unreadable_topology",
        "Topology detection : could not read",
    ),
    (
        "network path /sys/devices/virtual is not a PCI device (virtual). Attaching to first CPU",
        "nccl.unreadable_topology",
        "is not a PCI device",
    ),
    (
        "NET/IB : There are mismatched physical devices between local (mlx5_0) and remote (mlx5_3)",
        "nccl.cross_rail",
        "mismatched physical devices",
    ),
    ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA", "nccl.transport", "NET/IB/GDRDMA"),
    ("Channel 00 : 0[c000] -> 1[15000] via P2P/IPC comm 0x1 nRanks 08", "nccl.transport", "P2P"),
]
WARNINGS = [
    (
        "NET/IB : Got completion from peer 10.0.0.2<1> with status=12 opcode=1 len=0 vendor err 129",
        "nccl.ib_error",
        12,
    ),
    (
        "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1b000",
        "nccl.duplicate_gpu",
        "Duplicate GPU detected",
    ),
    (
        "Multiple Ranks are using the same GPU/Partition. Set NCCL_MULTI_RANK_GPU_ENABLE=1 to enable this configuration.",
        "nccl.duplicate_gpu",
        "Multiple Ranks are using the same GPU",
    ),
    ("Mismatched NCCL version detected : rank 0", "nccl.mixed_versions", "Mismatched NCCL version detected"),
    (
        "Detected mixed local Net device counts (min 4 max 8).",
        "nccl.mixed_cards",
        "Detected mixed local Net device counts",
    ),
    ("NUMA auto balancing enabled which can lead to variability", "host.numa_balancing", 1),
    ('Missing "iommu=pt" from kernel command line', "host.no_iommu_passthrough", 'Missing "iommu=pt"'),
]


@pytest.mark.parametrize(
    ("line", "kind", "value"),
    [(FRAME + line, *rest) for line, *rest in LINES] + [(WARN + line, *rest) for line, *rest in WARNINGS],
)
def test_a_line_states_its_fact(line, kind, value):
    assert (1, kind, value) in list(read_log_facts([line]))


def test_statements_of_a_log_are_its_facts_put_together():
    lines = [FRAME + line for line, *_ in LINES] + [WARN + line for line, *_ in WARNINGS]
    stated = read_statements(lines)
    assert stated.environment == {"NCCL_IB_HCA": "mlx5_0", "NCCL_P2P_DISABLE": "1"}
    assert (stated.network, stated.cards, stated.channels) == ("AWS Libfabric", ("mlx5_0", "mlx5_1"), 24)
    assert (stated.has_nvls, stated.uses_mnnvl) == (True, True)
    assert stated.cliques == {"1.2 cliqueId 0x7f01"}
    assert stated.warnings == tuple(text for text, *_ in WARNINGS)


@pytest.mark.parametrize("block", [1, 2, 5, 100])
def test_lines_of_a_text_are_those_of_python_wherever_it_is_cut(block, monkeypatch):
    monkeypatch.setattr(nccl_log_facts, "_BLOCK", block)
    for text in ("", "\n", "a\r\nb\rc\x0bd\u2028e\n\n\nf", "a\r\n\r\n\n\rb\x1c", "no end"):
        assert list(iterate_lines(text)) == text.splitlines()


def test_each_host_is_stated_once():
    heads = ["n1:100:200 [0]", "n1:100:200 [0]", "ip=10.0.0.1) n2:100:200 [0]", "n1:100:200 [0]"]
    lines = [f"{head} NCCL INFO Setting affinity" for head in heads]
    assert [value for _, kind, value in read_log_facts(lines) if kind == "nccl.host"] == ["n1", "n2"]


def test_text_that_only_mentions_nccl_is_no_log():
    assert list(read_log_facts(["We run NCCL; Using network Socket was printed once."])) == []


@pytest.mark.parametrize(
    "line",
    [
        "\x1b[32mn1:100:200 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\x1b[0m",
        "[1,0]<stdout>:n1:100:200 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC",
        "(WorkerDict pid=77, ip=10.0.0.1) n1:100:200 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC",
        "[2026-06-11 10:00:00] n1:100:200 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC",
        "2026-06-11T10:00:00.123Z stdout F n1:100:200 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC",
        "n1:100:200 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOCn1:101:201 [1] NCCL INFO Using network IB",
        "n1:100:200 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC.n1:101:201 [1] NCCL INFO Using network IB",
    ],
)
def test_tags_colours_and_glued_lines_hide_nothing(line):
    facts = list(read_log_facts([line]))
    assert (1, "nccl.variable", ("NCCL_P2P_LEVEL", "LOC")) in facts
    assert (1, "nccl.host", "n1") in facts
    if "Using" in line:
        assert (1, "nccl.network", "IB") in facts
