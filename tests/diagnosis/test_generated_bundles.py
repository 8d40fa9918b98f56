"""Bundles made at random: a machine, its log and table with noise, and one fault of the table of causes or none."""

import random

import pytest
from tool_outputs import write_inspector, write_nvbandwidth, write_rdma_statistic

import collsim as cs

#: Machines of the catalogue by the name that their GPUs say of themselves, and the rate of their cards in Gbit/s.
MACHINES = {
    "dgx-a100": ("NVIDIA A100-SXM4-80GB", 200),
    "dgx-h100": ("NVIDIA H100 80GB HBM3", 400),
    "hgx-h200": ("NVIDIA H200", 400),
}
GPUS, NOISE = 8, 0.08
H100 = "NVIDIA H100 80GB HBM3"
FAULTS = ("p2p_disabled", "sockets", "gdr_module", "acs", "cards_left_out", "nvls_off", "nvls_driver", "few_channels")
FAULTS += ("nvlink_lost", "pcie_link", "small_shm", "iommu", "slow_port", "congestion", "late_rank", "pinned_algorithm")
ONE_NODE = (
    "p2p_disabled",
    "nvls_off",
    "nvls_driver",
    "few_channels",
    "nvlink_lost",
    "pcie_link",
    "small_shm",
    "late_rank",
)


class Bundle:
    """The texts of one job, in the forms of the tools."""

    def __init__(self, seed, fault):
        self.draw = random.Random(seed)
        self.fault, self.name = fault, self.draw.choice(list(MACHINES))
        if fault in ("nvls_off", "nvls_driver"):
            self.name = self.draw.choice(["dgx-h100", "hgx-h200"])
        if fault == "few_channels":  # with NVLink SHARP two channels cost next to nothing
            self.name = "dgx-a100"
        self.gpu, self.gbits = MACHINES[self.name]
        self.nodes = 2
        if fault in (*ONE_NODE, ""):
            self.nodes = 1
        if fault == "" and self.draw.random() < 0.5:
            self.nodes = 2
        self.machine = cs.machine(self.name, nodes=self.nodes)
        self.hosts = [
            f"{self.draw.choice(['node', 'gpu', 'pod-w'])}{self.draw.randrange(100)}-{k}" for k in range(self.nodes)
        ]

    def info(self, rank, text):
        host = self.hosts[rank // GPUS]
        tag = self.draw.choice(["", "[1,0]<stdout>:"])
        return f"{tag}{host}:{4000 + rank}:{5000 + rank} [{rank % GPUS}] NCCL INFO {text}"

    def log(self):
        ranks, fault = self.nodes * GPUS, self.fault
        driver = 12000 if fault == "nvls_driver" else 12040
        lines = [f"NCCL version 2.{self.draw.choice([20, 21, 22])}.5+cuda12.4"]
        cards = [f"mlx5_{k}" for k in range(GPUS)]
        if fault == "cards_left_out":
            cards = cards[:1]
        using = " ".join(f"[{k}]{card}:1/IB" for k, card in enumerate(cards))
        for rank in range(ranks):
            lines.append(self.info(rank, f"cudaDriverVersion {driver}"))
            if fault == "sockets":
                lines += [self.info(rank, "NET/IB : No device found."), self.info(rank, "Using network Socket")]
            else:
                lines += [
                    self.info(rank, f"NET/IB : Using {using} [RO]; OOB eth0:10.0.0.1<0>"),
                    self.info(rank, "Using network IB"),
                ]
            if fault == "gdr_module":
                lines.append(self.info(rank, "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"))
            if fault == "p2p_disabled":
                lines.append(self.info(rank, "NCCL_P2P_DISABLE set by environment to 1."))
            if fault == "few_channels":
                lines.append(self.info(rank, "NCCL_MAX_NCHANNELS set by environment to 2."))
            if fault == "nvls_off":
                lines.append(self.info(rank, "NCCL_NVLS_ENABLE set by environment to 0."))
            if fault == "pinned_algorithm":
                lines.append(self.info(rank, "NCCL_PROTO set by environment to LL"))
            if fault == "nvls_driver" or self.name == "dgx-a100":
                lines.append(self.info(rank, "NVLS multicast support is not available on dev 0"))
            lines.append(
                self.info(
                    rank,
                    f"comm 0x{rank}a rank {rank} nRanks {ranks} nNodes {self.nodes} localRanks 8 localRank {rank % 8} MNNVL 0",
                )
            )
        lines.append(self.info(0, "Channel 00/02 :  " + " ".join(f"{rank:3}" for rank in range(ranks))))
        for rank in range(ranks):
            peer = (rank + 1) % ranks
            kind = "SHM/direct/direct" if fault == "p2p_disabled" else "P2P/CUMEM"
            if peer // GPUS != rank // GPUS:
                kind = {"sockets": "NET/Socket/0", "gdr_module": "NET/IB/0"}.get(fault, "NET/IB/0/GDRDMA")
            lines.append(self.info(rank, f"Channel 00/0 : {rank}[{rank % 8}] -> {peer}[{peer % 8}] via {kind}"))
        if fault == "small_shm":
            lines.append(
                f"{self.hosts[0]}:1:2 [0] misc/shmutils.cc:87 NCCL WARN Error: failed to extend /dev/shm/nccl-x to 99 bytes, error: No space left on device (28)"
            )
        banner, *rest = lines
        self.draw.shuffle(rest)  # ranks write at once
        return "\n".join([banner, *rest])

    def predict(self, nbytes):
        machine, settings = self.machine, {}
        options = {"nodes": self.nodes}
        if self.fault == "p2p_disabled":
            settings = {"NCCL_P2P_DISABLE": 1}
        elif self.fault == "sockets":
            machine = cs.machine(self.name, nic="tcp-100", **options)
        elif self.fault == "gdr_module":
            machine = cs.machine(self.name, gdr=False, **options)
        elif self.fault == "cards_left_out":
            machine = cs.machine(self.name, nics=1, **options)
        elif self.fault in ("nvls_off", "nvls_driver"):
            settings = {"NCCL_NVLS_ENABLE": 0}
        elif self.fault == "pinned_algorithm":
            settings = {"NCCL_PROTO": "LL"}
        elif self.fault == "few_channels":
            settings = {"NCCL_MAX_NCHANNELS": 2}
        slower = {
            "acs": 2.3,
            "iommu": 2.0,
            "nvlink_lost": 1.5,
            "pcie_link": 1.2,
            "slow_port": 1.8,
            "congestion": 2.5,
        }.get(self.fault, 1.0)
        return slower * cs.nccl.predict("allreduce", machine, nbytes, **settings).time

    def table(self):
        ranks = self.nodes * GPUS
        lines = ["# nThread 1 nGpus 1 minBytes 1048576", "# Using devices"]
        lines += [
            f"#  Rank {rank:2} Group  0 Pid {4000 + rank:6} on {self.hosts[rank // GPUS]:>10} device {rank % GPUS:2} [0x{17 + rank % GPUS:02x}] {self.gpu}"
            for rank in range(ranks)
        ]
        lines.append(
            "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"
        )
        for nbytes in (2**24, 2**26, 2**28, 2**30):
            time = self.predict(nbytes) * self.draw.uniform(1 - NOISE, 1 + NOISE)
            algbw = nbytes / time / 1e9
            half = f"{time * 1e6:9.1f} {algbw:7.2f} {algbw * 2 * (1 - 1 / ranks):7.2f}      0"
            lines.append(f"{nbytes:12} {nbytes // 4:13}     float     sum      -1 {half} {half}")
        return "\n".join(lines)

    def tools(self):
        """What else somebody has, some of it healthy."""
        texts = {}
        ports = [
            f"CA 'mlx5_{k}'\n\tPort 1:\n\t\tState: Active\n\t\tRate: {self.gbits // 2 if self.fault == 'slow_port' and k == 3 else self.gbits}\n\t\tLink layer: InfiniBand"
            for k in range(GPUS)
        ]
        if self.nodes > 1:
            texts["ibstat.txt"] = "\n".join(ports)
        if self.fault == "acs":
            texts["lspci.txt"] = (
                "05:00.0 PCI bridge: PEX\n\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+\n"
            )
        if self.fault == "iommu":
            texts["dmesg.txt"] = "[    1.02] iommu: Default domain type: Translated"
        if self.fault == "congestion" or (not self.fault and self.nodes > 1 and self.draw.random() < 0.3):
            first = self.draw.randrange(1000)
            last = first + self.draw.randrange(10_000, 10**6) * (self.fault == "congestion")
            texts["counters.txt"] = write_rdma_statistic(first, 5) + write_rdma_statistic(last, 9_000)
        if self.fault == "late_rank" or (not self.fault and self.nodes == 1 and self.draw.random() < 0.3):
            late = self.draw.randrange(GPUS) if self.fault else -1
            texts["inspector.log"] = write_inspector(late, GPUS, seconds=self.predict(2**30))
        if self.fault == "" and self.nodes == 1 and self.draw.random() < 0.3:
            pairs = [
                [None if a == b else 390 * self.draw.uniform(0.995, 1.005) for b in range(GPUS)] for a in range(GPUS)
            ]
            links = [55 * self.draw.uniform(0.9, 1.0) for _ in range(GPUS)]
            texts["nvbandwidth.txt"] = write_nvbandwidth(pairs, links).replace(H100, self.gpu)
        if self.fault == "nvlink_lost" or (not self.fault and self.draw.random() < 0.3):
            down = self.draw.randrange(GPUS) if self.fault else -1
            texts["nvlink.txt"] = "\n".join(
                f"GPU {k}: {self.gpu} (UUID: x)\n"
                + "\n".join(f"\t Link {q}: {'<inactive>' if k == down and q < 4 else '25 GB/s'}" for q in range(12))
                for k in range(GPUS)
            )
        if self.fault == "pcie_link" or (not self.fault and self.draw.random() < 0.3):
            lanes = 8 if self.fault else 16
            texts["pcie.txt"] = (
                "index, pstate, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max\n"
                f"0, P8, 1, 4, {lanes}, 16"
            )
        return texts

    def texts(self):
        texts = {"nccl.log": self.log(), **self.tools()}
        if self.fault != "small_shm":
            texts["all_reduce_perf.txt"] = self.table()
        return texts


def diagnose(seed, fault):
    return cs.diagnose(Bundle(seed, fault).texts())


@pytest.mark.parametrize("number", range(2 * len(FAULTS)))
def test_the_planted_fault_is_named_first(number):
    fault = FAULTS[number % len(FAULTS)]
    found = diagnose(number, fault)
    assert [cause.key for cause in found.causes[:1]] == [fault], found.report()


@pytest.mark.parametrize("number", range(12))
def test_a_healthy_job_gives_no_alarm(number):
    found = diagnose(1000 + number, "")
    assert (found.verdict, found.causes) == ("healthy", ()), found.report()


@pytest.mark.slow
def test_a_hundred_faults_are_found_and_a_hundred_healthy_jobs_give_no_alarm():
    drawn = [(seed, FAULTS[seed % len(FAULTS)]) for seed in range(100, 200)]
    missed = [(seed, fault) for seed, fault in drawn if [c.key for c in diagnose(seed, fault).causes[:1]] != [fault]]
    assert len(missed) <= 5, missed
    alarms = [seed for seed in range(2000, 2100) if diagnose(seed, "").causes]
    assert alarms == []
