"""Texts that state each of the causes, in the forms of the tools."""

from tool_outputs import BROKEN_MESH, write_inspector, write_perfquery, write_rdma_statistic, write_rocm_smi

import collsim as cs

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
    "wrong_interface": [
        "\n".join(info(f"Bootstrap : Using docker0:172.17.0.1<0>\n{info('NCCL_SOCKET_IFNAME set to docker', host)}", host) for host in ("n1", "n2"))
    ],
    "uneven_ranks": [
        "\n".join(
            info(f"comm 0x1 rank {rank} nRanks 12 nNodes 2 localRanks {local} localRank 0 MNNVL 0", host)
            for rank, local, host in ((0, 8, "n1"), (8, 4, "n2"))
        )
    ],
    "duplicate_gpu": [log() + "\nn1:1:2 [0] init.cc:1 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1b000"],
    "mixed_versions": [log() + "\nn1:1:2 [0] init.cc:1 NCCL WARN Mismatched NCCL version detected : rank 0"],
    "mixed_cards": [log() + "\nn1:1:2 [0] init.cc:1 NCCL WARN Detected mixed local Net device counts (min 4 max 8). Set NCCL_IGNORE_NET_MISMATCH=1"],
    "wrong_results": [log() + "\n# Out of bounds values : 3 FAILED"],
    "p2p_disabled": [log("NCCL_P2P_DISABLE set by environment to 1.", VIA_SHM)],
    "p2p_refused": [log(VIA_SHM), " \tGPU0\tGPU1\n GPU0\tX\tCNS\n GPU1\tCNS\tX"],
    "nvlink_unused": [log(VIA_SHM), "\tGPU0\tGPU1\nGPU0\t X \tNV12\nGPU1\tNV12\t X "],
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
    "xgmi_lost": [write_rocm_smi(BROKEN_MESH, name="AMD Instinct MI210")],
    "bad_cable": [write_perfquery(symbol_errors=3) + write_perfquery(symbol_errors=3_000)],
    "congestion": [
        write_rdma_statistic(10) + write_rdma_statistic(90_000, marks=12), table(PAIR, A100, ("n1", "n2"), slower=2.5)
    ],
    "late_rank": [write_inspector(last_rank=2)],
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
