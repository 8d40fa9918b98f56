"""A cause is named where lines state it, and not where a line contradicts it; healthy jobs are called healthy."""

import csv
import json
from pathlib import Path

import pytest

import collsim as cs
from collsim.diagnosis.causes import CAUSES
from collsim.locale import LANGUAGES, load_messages
from collsim.programs.job_records.flight_recorder import save_dumps

ROOT = Path(__file__).parents[2]
GIVEN = ROOT.parent / "shared" / "data" / "evidence"
A100 = "NVIDIA A100-SXM4-80GB"
H100 = "NVIDIA H100 80GB HBM3"


def info(text, host="n1", rank=0):
    return f"{host}:{100 + rank}:{200 + rank} [{rank}] NCCL INFO {text}"


def log(*lines, nodes=1, hosts=("n1",), ranks=8):
    count = f"comm 0x1 rank 0 nRanks {ranks} nNodes {nodes} localRanks {ranks // nodes} localRank 0 MNNVL 0"
    return "\n".join([*(info("cudaDriverVersion 12040", host) for host in hosts), info(count), *map(info, lines)])


def table(machine, gpu, hosts=("n1",), slower=1.0, **settings):
    """What nccl-tests would print on a machine, all times so many times as long."""
    ranks = machine.ranks
    lines = [
        f"#  Rank {rank:2} Group  0 Pid  {rank} on  {hosts[rank * len(hosts) // ranks]} device {rank} [0x0{rank}] {gpu}"
        for rank in range(ranks)
    ]
    lines.append("#       size         count      type   redop    root     time   algbw   busbw #wrong")
    for size in (2**24, 2**27, 2**30):
        time = slower * cs.nccl.predict("allreduce", machine, size, **settings).time
        algbw = size / time / 1e9
        lines.append(
            f"{size} {size // 4} float sum -1 {time * 1e6:.1f} {algbw:.2f} {2 * algbw * (1 - 1 / ranks):.2f} 0"
        )
    return "\n".join(["# Collective test starting: all_reduce_perf", *lines])


BOX = cs.machine("dgx-a100")
PAIR = cs.machine("dgx-a100", nodes=2)
VIA_SHM = "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"
VIA_P2P = "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"
VIA_GDR = "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"
VIA_NET = "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0"
LINKS = "GPU 0: {gpu} (UUID: a)\n\t Link 0: 25 GB/s\n\t Link 1: {state}\nGPU 1: {gpu} (UUID: b)\n\t Link 0: 25 GB/s\n\t Link 1: 25 GB/s"
ACS = "05:00.0 PCI bridge: Broadcom / LSI PEX\n\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+"
PORT = "CA '{card}'\n\tPort 1:\n\t\tState: {state}\n\t\tPhysical state: LinkUp\n\t\tRate: {rate}\n\t\tLink layer: InfiniBand"
TEST = (
    " Number of qps   : {pairs}\t\tTransport type : IB\n Dual-port       : OFF\t\tDevice         : mlx5_bond_0\n"
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    " 65536      5000             {rate}             {rate}      0.3\n"
)

STATED = {
    "small_shm": [log() + "\nn1:1:2 [0] misc/shmutils.cc:81 NCCL WARN Error: failed to extend /dev/shm/nccl-a to 9 bytes, error: No space left on device (28)"],
    "memory_lock": [log() + "\nn1:1:2 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory"],
    "open_files": [log() + "\nn1:1:2 [0] x.cc:1 NCCL WARN socket failed: Too many open files"],
    "dead_gpu": ["[1.0] NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus."],
    "unreachable_peer": [log() + "\nn1:1:2 [0] net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<1> with status=12 opcode=1 len=0 vendor err 129"],
    "duplicate_gpu": [log() + "\nn1:1:2 [0] init.cc:1 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1b000"],
    "mixed_versions": [log() + "\nn1:1:2 [0] init.cc:1 NCCL WARN Mismatched NCCL version detected : rank 0"],
    "mixed_cards": [log() + "\nn1:1:2 [0] init.cc:1 NCCL WARN Detected mixed local Net device counts (min 4 max 8). Set NCCL_IGNORE_NET_MISMATCH=1"],
    "p2p_disabled": [log("NCCL_P2P_DISABLE set by environment to 1.", VIA_SHM)],
    "p2p_refused": [log(VIA_SHM), " \tGPU0\tGPU1\n GPU0\tX\tCNS\n GPU1\tCNS\tX"],
    "sockets": [log("NET/IB : No device found.", "Using network Socket", nodes=2, hosts=("n1", "n2"), ranks=16)],
    "split_domain": [
        log("MNNVL busId 0x1 fabric UUID a.b cliqueId 0x1 state 3 healthMask 0x0", "MNNVL busId 0x1 fabric UUID a.b cliqueId 0x2 state 3 healthMask 0x0", nodes=2)
    ],
    "imex": ["    Fabric\n        State                             : In Progress\n"],
    "isolated_containers": [log(nodes=8, ranks=8)],
    "gdr_module": [
        log("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", VIA_NET, nodes=2, ranks=16, hosts=("n1", "n2")),
        "$ lsmod | grep nvidia\nnvidia_uvm 1 8\n$ uname -r\n5.4.0-150-generic",
    ],
    "gdr_refused": [
        log(
            "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'",
            "GPU Direct RDMA Disabled for GPU 1b000 / HCA 0 (distance 7 > 4), read 0",
            VIA_NET,
            nodes=2,
            ranks=16,
        )
    ],
    "acs": [ACS, table(PAIR, A100, ("n1", "n2"), slower=2.5)],
    "iommu": ["[0.5] iommu: Default domain type: Translated", table(PAIR, A100, ("n1", "n2"), slower=2.5)],
    "nvlink_lost": [LINKS.format(gpu=A100, state="<inactive>")],
    "pcie_link": ["index, pstate, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max\n0, P0, 4, 4, 8, 16"],
    "cards_left_out": [
        log("NCCL_IB_HCA set to mlx5_0", "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>", nodes=2, ranks=16),
        "\n".join(PORT.format(card=card, state="Active", rate=200) for card in ("mlx5_0", "mlx5_1")),
    ],
    "slow_port": [
        log("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>", nodes=2, ranks=16),
        PORT.format(card="mlx5_0", state="Active", rate=200) + "\n" + PORT.format(card="mlx5_1", state="Active", rate=100),
    ],
    "one_queue_pair": [TEST.format(pairs=1, rate=92.5), TEST.format(pairs=8, rate=185.0)],
    "nvls_driver": [
        info("cudaDriverVersion 12000") + "\n" + info("NVLS multicast support is not available on dev 0"), f"GPU 0: {H100} (UUID: a)"
    ],
    "nvls_off": [log("NCCL_NVLS_ENABLE set by environment to 0."), f"GPU 0: {H100} (UUID: a)"],
    "few_channels": [log("NCCL_MAX_NCHANNELS set by environment to 2."), table(BOX, A100, slower=5)],
    "pinned_algorithm": [
        log("NCCL_PROTO set by environment to LL", "Channel 00/01 :    0   1   2   3   4   5   6   7", VIA_P2P),
        table(BOX, A100, NCCL_PROTO="LL"),
    ],
    "no_topology": [log("Topology detection : could not read /sys/devices/x, ignoring"), table(BOX, A100, slower=3)],
    "throttling": ["        HW Thermal Slowdown               : Active"],
    "numa_balancing": ["kernel.numa_balancing = 1"],
    "confidential": [log("CC On, workFifoBytes 1048576"), table(BOX, A100, slower=3)],
    "stuck_rank": [
        "\n".join(
            [info(f"ncclCommInitRank comm 0x1 rank {r} nranks 2 cudaDev {r} busId 1 commId 0x7 - Init START") for r in (0, 1)]
            + [info("ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 commId 0x7 - Init COMPLETE")]
        )
    ],
}  # fmt: skip


def diagnose(texts, **options):
    return cs.diagnose({f"text{number}": text for number, text in enumerate(texts)}, **options)


@pytest.mark.parametrize("key", [cause.key for cause in CAUSES])
def test_lines_that_state_a_cause_name_it_first_with_the_lines(key):
    found = diagnose(STATED[key])
    assert found.verdict == "cause"
    assert found.causes[0].key == key, [cause.key for cause in found.causes]
    assert found.causes[0].is_stated
    texts = {f"text{number}": text for number, text in enumerate(STATED[key])}
    for fact in found.causes[0].evidence:
        assert fact.text == texts[fact.piece].splitlines()[fact.line - 1].strip()[:200]


@pytest.mark.parametrize(
    ("key", "against"),
    [
        ("p2p_disabled", log(VIA_P2P)),
        ("sockets", log(VIA_GDR)),
        ("gdr_module", log(VIA_GDR)),
        ("acs", "$ systemd-detect-virt\nkvm"),
        ("numa_balancing", "kernel.numa_balancing = 0"),
    ],
)
def test_a_line_that_contradicts_a_cause_rules_it_out(key, against):
    found = diagnose([*STATED[key], against])
    assert key not in [cause.key for cause in found.causes]
    assert key in [ruled_out for ruled_out, _ in found.ruled_out]


def test_a_job_as_fast_as_predicted_is_healthy_whatever_words_look_bad():
    found = diagnose([log("NVLS multicast support is not available on dev 0", VIA_P2P), table(BOX, A100)])
    assert (found.verdict, found.causes) == ("healthy", ())
    assert found.cost.measured == pytest.approx(found.cost.possible, rel=0.02)


def test_a_link_that_sleeps_is_healthy():
    idle = "index, pstate, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max\n0, P8, 1, 4, 16, 16"
    assert diagnose([idle]).causes == ()
    assert (
        diagnose(
            [
                "25:00.0 VGA\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16"
            ]
        ).causes
        == ()
    )


def test_acs_alone_is_no_cause_where_nothing_is_slow():
    assert diagnose([ACS, table(PAIR, A100, ("n1", "n2"))]).verdict == "healthy"
    assert diagnose([ACS]).verdict == "unknown"


def test_peers_slower_than_staging_are_asked_about_and_not_decided():
    rows = "{title}\n   D\\D     0      1 \n     0 900.0 {rate} \n     1 {rate} 900.0 \n"
    matrices = rows.format(title="Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", rate="22.1") + rows.format(
        title="Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", rate="10.1"
    )
    found = diagnose([matrices])
    assert found.verdict == "undecided"
    assert [(question.key, question.causes) for question in found.questions] == [
        ("slow_peers", ("acs", "iommu", "numa_partitions"))
    ]


def test_the_cost_is_that_of_the_prediction():
    found = diagnose(
        [log("NCCL_P2P_DISABLE set by environment to 1.", VIA_SHM), table(BOX, A100, NCCL_P2P_LEVEL="LOC")]
    )
    plain, slow = (cs.nccl.predict("allreduce", BOX, 2**30, **s) for s in ({}, {"NCCL_P2P_LEVEL": "LOC"}))
    assert found.cost.possible == pytest.approx(plain.busbw)
    assert found.cost.measured == pytest.approx(slow.busbw, rel=0.01)
    assert found.causes[0].predicted == pytest.approx(slow.busbw, rel=0.3)


def test_every_cause_and_question_has_its_texts_in_every_language():
    asked = {"stuck_collective", "numa_partitions", "oversubscription", "congestion", "slow_node"}
    for language in LANGUAGES:
        messages = load_messages(language, "diagnosis")
        for key in {cause.key for cause in CAUSES} | asked:
            assert all(messages[f"{key}.{part}"].strip() for part in ("title", "check", "fix")), key
    assert load_messages("en", "diagnosis").keys() == load_messages("zh", "diagnosis").keys()


def test_names_of_hosts_and_addresses_are_replaced_everywhere():
    texts = [*STATED["sockets"], table(PAIR, A100, ("secret-a", "secret-b"), slower=4)]
    texts[0] = (
        texts[0].replace("n1:", "secret-a:").replace("n2:", "secret-b:")
        + "\n"
        + info("Bootstrap : Using eth0:10.1.2.3<0>", "secret-a")
    )
    found = diagnose(texts, anonymize=True)
    written = found.report() + found.report("zh", "html") + found.to_json()
    assert "host1" in written
    assert "secret" not in written
    assert "10.1.2.3" not in written


def test_a_report_in_html_holds_no_markup_of_the_evidence():
    hostile = (
        info("NCCL_P2P_DISABLE set by environment to 1")
        + "\n"
        + info("Channel 00 : 0[0] -> 1[1] via SHM/<script>alert(1)</script>")
    )
    assert "<script>" not in diagnose([hostile]).report("en", "html")
    assert "<script>" not in cs.diagnose({"<script>x": hostile}).report("en", "html")


def test_a_document_has_what_the_object_has():
    found = diagnose(STATED["acs"])
    document = json.loads(found.to_json())
    assert document["verdict"] == "cause"
    assert document["causes"][0]["key"] == "acs"
    assert document["cost"]["possible"] == found.cost.possible
    assert document["causes"][0]["evidence"][0]["line"] == 2


@pytest.mark.parametrize(
    "text",
    ["\0" * 1000, "GPU 0: " * 10_000, "CA '" + "x" * 10**5, "NCCL INFO " * 10_000, "Link 0: <inactive>\n" * 10_000, ""],
)
def test_nonsense_is_named_and_decides_nothing(text):
    found = diagnose([text])
    assert found.verdict == "unknown"
    assert found.causes == ()


def test_dumps_of_a_hang_and_texts_are_read_together(tmp_path):
    program = """
import torch.distributed as dist, torch
dist.init_process_group("nccl")
x = torch.ones(4)
if dist.get_rank() != 2:
    dist.all_reduce(x)
"""
    run = cs.program(program, ranks=4)
    save_dumps(run.flight_recorder(), tmp_path)
    (tmp_path / "nccl.log").write_text(log(VIA_P2P))
    found = cs.diagnose(*sorted(tmp_path.iterdir()))
    assert [cause.key for cause in found.causes] == ["stuck_collective"]
    assert found.causes[0].explanation() == cs.load_hang(*sorted(tmp_path.glob("*[0-9]"))).reason.text("en")
    assert "2" in found.causes[0].explanation("zh")


def test_nothing_and_too_much_are_refused():
    with pytest.raises(cs.CollsimError, match="no evidence"):
        cs.diagnose()
    with pytest.raises(cs.CollsimError, match="at most"):
        cs.diagnose({str(number): "x" for number in range(3_000)})


EXPECTED = {
    "g01-p2p-loc": "p2p_disabled",
    "g02-socket": "sockets",
    "g03-no-peermem": "gdr_module",
    "g04-acs": "acs",
    "g05-nvlink-down": "nvlink_lost",
    "g06-one-qp": "one_queue_pair",
    "g07-mnnvl-split": "split_domain",
    "g08-shm": "small_shm",
    "g09-nvls-off": "nvls_driver",
    "g10-healthy-a100": "healthy",
    "g11-healthy-idle-link": "healthy",
    "g12-healthy-tree-above-nic": "healthy",
    "g13-undecidable-p2p-slow": "undecided",
    "g14-undecidable-node-count": "undecided",
}


@pytest.mark.skipif(not GIVEN.is_dir(), reason="the bundles of evidence are not there")
def test_bundles_of_public_cases_get_their_causes():
    with (GIVEN / "cases.csv").open(encoding="utf-8") as file:
        names = [row["name"] for row in csv.DictReader(file)]
    assert names == list(EXPECTED)
    answers = {}
    for name in names:
        found = cs.diagnose(*sorted((GIVEN / name).iterdir()))
        answers[name] = found.causes[0].key if found.verdict == "cause" else found.verdict
        assert found.verdict != "cause" or len(found.causes) == 1, name
    assert answers == EXPECTED
