"""Mixtures of outputs that somebody has of one job: what is wrong is named, and what only looks bad is not."""

import random

import pytest
from stated_causes import A100, H100, PORT, info
from tool_outputs import (
    TREE_LINES,
    write_inspector,
    write_nvbandwidth,
    write_perfquery,
    write_tree,
)

import collsim as cs

HOSTS = ("gpu-a", "gpu-b")
CARDS = [f"mlx5_{card}" for card in range(8)]
GIB = 2**30


def write_table(gpu, hosts, busbw, ranks, test="all_reduce_perf"):
    """A table of nccl-tests whose busbw (GB/s) is reached at large sizes, with 2 % of noise."""
    draw = random.Random(busbw)
    factor = 2 * (ranks - 1) / ranks
    lines = [f"# Collective test starting: {test}", "# nThread 1 nGpus 1 minBytes 16777216 maxBytes 1073741824", "#"]
    lines += [
        f"#  Rank {rank:2} Group  0 Pid {2100 + rank} on {hosts[rank * len(hosts) // ranks]} device {rank % 8} [0x07] {gpu}"
        for rank in range(ranks)
    ]
    lines.append("#       size         count      type   redop    root     time   algbw   busbw #wrong")
    for nbytes in (2**24, 2**26, 2**28, 2**30):
        time = (60e-6 + nbytes * factor / (busbw * 1e9)) * draw.uniform(0.98, 1.02)
        algbw = nbytes / time / 1e9
        lines.append(
            f"{nbytes:12} {nbytes // 4:13} float sum -1 {time * 1e6:9.1f} {algbw:7.2f} {algbw * factor:7.2f} 0"
        )
    return "\n".join(lines)


def write_log(*lines, hosts=HOSTS[:1], ranks_per_host=8, version="2.21.5"):
    """A log as people cut it out with grep: who, where, and some lines, but no rings."""
    ranks = len(hosts) * ranks_per_host
    written = [f"NCCL version {version}+cuda12.4"]
    for rank in range(ranks):
        text = (
            f"rank {rank} nRanks {ranks} nNodes {len(hosts)} localRanks {ranks_per_host} localRank {rank % 8} MNNVL 0"
        )
        written.append(info(f"comm 0x{rank}5 {text}", hosts[rank // ranks_per_host], rank))
    return "\n".join([*written, *lines])


def write_cards(names=CARDS, host="gpu-a"):
    using = " ".join(f"[{number}]{name}:1/IB" for number, name in enumerate(names))
    return info(f"NET/IB : Using {using} [RO]; OOB eth0:10.1.0.1<0>", host)


def write_ports(rates):
    return "\n".join(PORT.format(card=card, state="Active", rate=rate) for card, rate in rates.items())


def write_card_tests(rates):
    return "\n".join(
        f"$ ib_write_bw -d {card} --report_gbits n2\n                    RDMA_Write BW Test\n"
        f" Dual-port       : OFF\t\tDevice         : {card}\n Number of qps   : 1\t\tTransport type : IB\n"
        " Link type       : IB\n #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        f" 65536      5000             {rate:.2f}             {rate:.2f}\t\t   0.376"
        for card, rate in rates.items()
    )


def write_matrix(gpus, cell):
    rows = [f"GPU{a}\t" + "\t".join(" X " if a == b else cell(a, b) for b in range(gpus)) for a in range(gpus)]
    return "\t" + "\t".join(f"GPU{gpu}" for gpu in range(gpus)) + "\n" + "\n".join(rows)


def hop(via, rank=7, host="gpu-a"):
    return info(f"Channel 00/0 : {rank}[7] -> {rank + 1}[0] [send] via {via}", host, rank)


STAGED = [
    info(f"Channel 00 : {rank}[{rank}] -> {(rank + 1) % 8}[0] via SHM/direct/direct", rank=rank) for rank in range(8)
]
DIRECT = [info(f"Channel 00/0 : {rank}[{rank}] -> {(rank + 1) % 8}[0] via P2P/CUMEM", rank=rank) for rank in range(8)]
BETWEEN = [write_cards(), write_cards(host="gpu-b"), hop("NET/IB/0/GDRDMA"), hop("NET/IB/0/GDRDMA", 14, "gpu-b")]
NAMES = f"GPU 0: {A100} (UUID: GPU-1)"
SHORT_TREE = TREE_LINES[: TREE_LINES.rindex("NVL[240.0]")] + "NVL[160.0] - NVS/0-0\n" + "=" * 42
THERMAL = "    Clocks Event Reasons\n        SW Power Cap      : {power}\n        HW Thermal Slowdown    : {heat}\n"
PODS = [f"worker-{pod}" for pod in range(8)]

CAUSES = {
    "a program that limits channels": (
        "few_channels",
        [write_log(info("Comm config maxCTAs set to 2"), *DIRECT), write_table(A100, HOSTS[:1], 42, 8)],
    ),
    "processes that meet on a bridge of containers": (
        "wrong_interface",
        ["\n".join(info("Bootstrap : Using docker0:172.17.0.1<0>", host) for host in HOSTS)],
    ),
    "a port at half of its rate": (
        "slow_port",
        [
            write_log(*BETWEEN, hosts=HOSTS),
            write_ports(dict.fromkeys(CARDS, 200) | {"mlx5_4": 100}),
            write_table(A100, HOSTS, 98, 16),
        ],
    ),
    "a card that perftest finds slow": (
        "slow_port",
        [
            write_log(*BETWEEN, hosts=HOSTS),
            write_card_tests(dict.fromkeys(CARDS, 197.2) | {"mlx5_3": 98.1}),
            write_table(A100, HOSTS, 95, 16),
        ],
    ),
    "a node that lists seven cards": (
        "mixed_cards",
        [write_log(write_cards(), write_cards(CARDS[:7], "gpu-b"), hosts=HOSTS)],
    ),
    "containers of one box": (
        "isolated_containers",
        [
            write_log(
                *(
                    info(
                        f"comm 0x1 rank {r} nranks 8 cudaDev 0 nvmlDev {r} busId 7000 commId 0x5 - Init START",
                        PODS[r],
                        r,
                    )
                    for r in range(8)
                ),
                hosts=PODS,
                ranks_per_host=1,
            ),
            write_table(A100, PODS, 11, 8),
        ],
    ),
    "a tree forced on one node": (
        "pinned_algorithm",
        [write_log(info("NCCL_ALGO set by environment to Tree"), *DIRECT), write_table(H100, HOSTS[:1], 215, 8)],
    ),
    "a hot GPU beside collectives that are well": (
        "throttling",
        [THERMAL.format(power="Not Active", heat="Active"), write_log(*DIRECT), write_table(H100, HOSTS[:1], 465, 8)],
    ),
    "a late rank beside collectives that are well": (
        "late_rank",
        [write_inspector(last_rank=3, ranks=8), write_table(H100, HOSTS[:1], 460, 8)],
    ),
    "a benchmark through PyTorch": (
        "p2p_disabled",
        [
            write_log(info("NCCL_P2P_LEVEL set by environment to LOC"), *STAGED),
            "The average bandwidth of all_reduce over 8 ranks (5 warmups / 20 trials):\n\n"
            "| payload |    busbw   |    algbw   |\n|   64MiB |   8.90GBps |   5.09GBps |\n|    1GiB |   9.20GBps |   5.26GBps |\n",
            NAMES,
        ],
    ),
    "a tree of NCCL with eight links of twelve": (
        "nvlink_lost",
        [write_log(ranks_per_host=2), write_tree(lines=SHORT_TREE), write_table(A100, HOSTS[:1], 150, 2)],
    ),
    "nodes with eight and with four ranks": (
        "uneven_ranks",
        [
            "\n".join(
                info(
                    f"comm 0x1 rank {r} nRanks 12 nNodes 2 localRanks {8 if r < 8 else 4} localRank 0 MNNVL 0",
                    HOSTS[r // 8],
                )
                for r in range(12)
            )
        ],
    ),
}
HEALTHY = {
    "GeForce cards whose driver refuses peers": [
        write_matrix(8, lambda a, b: "CNS"),
        write_matrix(8, lambda a, b: "NODE" if a // 4 == b // 4 else "SYS"),
        write_log(*STAGED),
        write_table("NVIDIA GeForce RTX 4090", HOSTS[:1], 15.4, 8),
    ],
    "a power cap of a busy GPU": [
        THERMAL.format(power="Active", heat="Not Active"),
        write_table(H100, HOSTS[:1], 465, 8),
    ],
    "every tool at once": [
        write_log(*BETWEEN, hosts=HOSTS),
        write_card_tests(dict.fromkeys(CARDS, 197.2)),
        write_ports(dict.fromkeys(CARDS, 200)),
        write_nvbandwidth(
            [[None if a == b else 245 + 0.3 * b for b in range(8)] for a in range(8)],
            [24.9 + 0.1 * k for k in range(8)],
        ).replace(H100, A100),
        write_perfquery(0) + write_perfquery(0, wait=9_999),
        "$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz iommu=pt quiet\nkernel.numa_balancing = 0",
        write_table(A100, HOSTS, 182, 16),
    ],
    "host memory on PCIe of one socket": [
        write_matrix(4, lambda a, b: "NODE"),
        write_log(*STAGED[:4], ranks_per_host=4, version="2.23.4"),
        write_table("NVIDIA A40", HOSTS[:1], 17.5, 4),
    ],
}


def diagnose(texts):
    return cs.diagnose({f"text{number}": text for number, text in enumerate(texts)})


@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_is_named_first_and_alone(name):
    key, texts = CAUSES[name]
    diagnosis = diagnose(texts)
    assert [cause.key for cause in diagnosis.causes] == [key], diagnosis.report()
    assert diagnosis.causes[0].is_stated


@pytest.mark.parametrize("name", HEALTHY)
def test_what_only_looks_bad_is_no_fault(name):
    diagnosis = diagnose(HEALTHY[name])
    assert diagnosis.verdict == "healthy", diagnosis.report()
    limits = ["p2p_refused"] * ("GeForce" in name)
    assert [(cause.key, cause.is_fault) for cause in diagnosis.causes] == [(key, False) for key in limits]


def test_what_is_possible_is_that_of_the_machine_without_the_fault():
    containers = diagnose(CAUSES["containers of one box"][1])
    assert containers.cost.possible == pytest.approx(cs.nccl.predict("allreduce", cs.machine("dgx-a100"), GIB).busbw)
    links = diagnose(CAUSES["a tree of NCCL with eight links of twelve"][1])
    assert links.cost.possible > 1.3 * links.cost.measured
    port = diagnose(CAUSES["a port at half of its rate"][1])
    assert "nics=7" not in port.machine.name


def test_a_limit_of_the_machine_is_no_fault_and_hides_none():
    refused = "$ nvidia-smi topo -p2p r\n \tGPU0\tGPU1\n GPU0\tX\tCNS\n GPU1\tCNS\tX"
    geforce = [
        refused,
        write_log(*STAGED[:4], ranks_per_host=4),
        write_table("NVIDIA GeForce RTX 4090", HOSTS[:1], 17, 4),
    ]
    limited = diagnose(geforce)
    assert (limited.verdict, [cause.is_fault for cause in limited.causes]) == ("healthy", [False])
    assert limited.causes[0].explanation() in limited.explanation()
    hot = diagnose([*geforce, "    HW Thermal Slowdown     : Active"])
    assert (hot.verdict, [cause.key for cause in hot.causes]) == ("cause", ["throttling", "p2p_refused"])
    # The prediction of an A100 has P2P: refusing it explains why it is slow.
    slow = diagnose([refused, write_log(*STAGED), write_table(A100, HOSTS[:1], 15, 8)])
    assert (slow.verdict, slow.causes[0].key, slow.causes[0].is_fault) == ("cause", "p2p_refused", True)


def test_a_card_that_is_slow_in_a_narrow_slot_needs_no_cable():
    tests = write_card_tests({"mlx5_2": 391, "mlx5_3": 196, "mlx5_4": 391})
    slot = (
        "4d:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"
        "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
        "\t\tLnkSta:\tSpeed 32GT/s, Width x{lanes}"
    )
    narrow = diagnose([tests, slot.format(lanes="8 (downgraded)")])
    assert [cause.key for cause in narrow.causes] == ["pcie_link"]
    assert [fact.kind for fact in narrow.causes[0].evidence] == ["pcie.link", "card.test", "card.test"]
    assert [cause.key for cause in diagnose([tests, slot.format(lanes="16")]).causes] == ["slow_port"]


def test_the_cost_of_a_slow_port_is_that_of_its_rate():
    log = write_log(write_cards(), *BETWEEN, hosts=HOSTS)
    predicted = {}
    for rate in (200, 100):
        ports = write_ports({**dict.fromkeys(CARDS, 400), "mlx5_5": rate})
        (cause,) = diagnose([log, ports, write_table(H100, HOSTS, 92, 16)]).causes
        predicted[rate] = cause.predicted
    assert predicted[100] == pytest.approx(predicted[200] / 2, rel=0.05)


def test_causes_that_only_the_times_fit_are_not_said_to_be_so():
    open_question = diagnose([write_table(H100, HOSTS, 160, 16)])
    assert open_question.verdict == "undecided"
    assert len(open_question.causes) > 1
    assert not open_question.explanation().startswith(open_question.causes[0].explanation())


def test_a_run_with_rings_on_purpose_is_not_blamed_for_it():
    texts = [
        write_log(info("NCCL_ALGO set by environment to Ring"), *DIRECT),
        write_table(H100, HOSTS[:1], 100, 8),  # rings would reach 357 of 452 GB/s
    ]
    assert "pinned_algorithm" not in [cause.key for cause in diagnose(texts).causes if cause.is_stated]


def test_logs_of_ranks_in_files_of_their_own_are_one_log():
    half = write_log(*BETWEEN, hosts=HOSTS).splitlines()
    variable = info("NCCL_PROTO set by environment to LL", "gpu-b", 8)
    texts = ["\n".join(half[:9]), "\n".join([*half[9:], variable]), write_table(A100, HOSTS, 55, 16)]
    assert [cause.key for cause in diagnose(texts).causes] == ["pinned_algorithm"]
