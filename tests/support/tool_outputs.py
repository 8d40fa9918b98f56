"""Small outputs of the tools whose lines `cs.diagnose` reads, in the tools' own forms.

The forms are those of NVIDIA/nvbandwidth (output.cpp, json_output.cpp), NVIDIA/cuda-samples
(p2pBandwidthLatencyTest.cu), ROCm's rocm_smi.py and amdsmi_commands.py, Huawei's npu-smi and hccl_test, AWS Neuron's
nccom-test, DeepSpeed's communication benchmarks, stas00/ml-engineering (all_reduce_bench.py), NVIDIA/nccl
(plugins/profiler/inspector, graph/topo.cc), infiniband-diags (perfquery.c), iproute2 (rdma statistic) and ethtool.
"""

import json


def _write_matrix(cells, width=10):
    size = len(cells[0])
    lines = ["  " + "".join(f"{column:{width}}" for column in range(size))]
    return lines + [f"{row:2}" + "".join(f"{cell:>{width}}" for cell in line) for row, line in enumerate(cells)]


def write_nvbandwidth(pairs, to_gpus, from_gpus=None, latency=None):
    """What nvbandwidth prints: a matrix of pairs (`None` on the diagonal) and a row of each direction to the host."""
    name = "NVIDIA H100 80GB HBM3"
    lines = ["nvbandwidth Version: v0.8", "Built from Git version: v0.8", "", "CUDA Runtime Version: 12080"]
    lines += ["CUDA Driver Version: 12080", "Driver Version: 570.86.15", "", "gpu-07"]
    lines += [f"Device {gpu}: {name} (00000000:{16 + gpu:02X}:00)" for gpu in range(len(to_gpus))]
    tests = [("host_to_device_memcpy_ce", "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)", [to_gpus])]
    if from_gpus:
        tests.append(("device_to_host_memcpy_ce", "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)", [from_gpus]))
    if pairs:
        title = "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"
        tests.append(("device_to_device_memcpy_read_ce", title, pairs))
    if latency:
        title = "Device to Device Latency SM GPU(row) <-> GPU(column) (ns)"
        tests.append(("device_to_device_latency_sm", title, latency))
    for test, title, cells in tests:
        printed = [["N/A" if cell is None else f"{cell:.2f}" for cell in row] for row in cells]
        total = sum(cell for row in cells for cell in row if cell is not None)
        lines += ["", f"Running {test}.", title, *_write_matrix(printed), "", f"SUM {test} {total:.2f}"]
    return "\n".join([*lines, "", "NOTE: The reported results may not reflect the full capabilities of the platform."])


def write_nvbandwidth_json(pairs, to_gpus):
    """The same as nvbandwidth writes with -j: numbers are strings."""

    def test(name, description, cells):
        matrix = [["N/A" if cell is None else f"{cell:f}" for cell in row] for row in cells]
        return {"name": name, "status": "Passed", "bandwidth_description": description, "bandwidth_matrix": matrix}

    document = {
        "nvbandwidth": {
            "CUDA Runtime Version": 12080,
            "Driver Version": "570.86.15",
            "GPU Device list": [f"{gpu}: NVIDIA H100 80GB HBM3: (00000000:18:00)" for gpu in range(len(to_gpus))],
            "git_version": "v0.8",
            "testcases": [
                test("host_to_device_memcpy_ce", "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)", [to_gpus]),
                test("device_to_device_memcpy_read_ce", "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)", pairs),
                {"name": "host_device_latency_sm", "status": "Waived"},
            ],
        }
    }
    return json.dumps(document, indent=2)


def write_peer_test(enabled, disabled, latency_enabled=2.1, latency_disabled=13.2, can_access=True, gpus=4):
    """What p2pBandwidthLatencyTest prints of GPUs whose pairs are alike."""
    lines = ["[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]"]
    lines += [f"Device: {gpu}, NVIDIA A40, pciBusID: {gpu + 1:x}, pciDeviceID: 0, pciDomainID:0" for gpu in range(gpus)]
    word = "CAN" if can_access else "CANNOT"
    lines += [f"Device={a} {word} Access Peer Device={b}" for a in range(gpus) for b in range(gpus) if a != b]
    lines += [
        "",
        "***NOTE: In case a device doesn't have P2P access to other one, it falls back to normal memcopy procedure.",
    ]
    lines += [
        "So you can see lesser Bandwidth (GB/s) and unstable Latency (us) in those cases.",
        "",
        "P2P Connectivity Matrix",
    ]
    lines += ["     D\\D" + "".join(f"{gpu:6}" for gpu in range(gpus))]
    lines += [f"     {a}\t" + "".join(f"{int(can_access or a == b):6}" for b in range(gpus)) for a in range(gpus)]
    for title, value, own in (
        ("Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", disabled, 640.1),
        ("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", enabled, 640.2),
        ("Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)", 1.4 * disabled, 641.0),
        ("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)", 1.9 * enabled, 641.0),
        ("P2P=Disabled Latency Matrix (us)", latency_disabled, 1.6),
    ):
        label = "   GPU" if "Latency" in title else "   D\\D"
        lines += [title, label + "".join(f"{gpu:6} " for gpu in range(gpus))]
        lines += [f"{a:6} " + "".join(f"{own if a == b else value:6.2f} " for b in range(gpus)) for a in range(gpus)]
    lines += ["", "   CPU" + "".join(f"{gpu:6} " for gpu in range(gpus))]
    lines += [f"{a:6} " + "".join(f"{3.1 if a == b else 9.1:6.2f} " for b in range(gpus)) for a in range(gpus)]
    lines += ["P2P=Enabled Latency (P2P Writes) Matrix (us)", "   GPU" + "".join(f"{gpu:6} " for gpu in range(gpus))]
    lines += [
        f"{a:6} " + "".join(f"{1.6 if a == b else latency_enabled:6.2f} " for b in range(gpus)) for a in range(gpus)
    ]
    return "\n".join([*lines, "", "NOTE: The CUDA Samples are not meant for performance measurements."])


def write_rocm_smi(kinds, name="AMD Instinct MI300X"):
    """What rocm-smi --showproductname --showtopo prints; kinds are words between GPUs."""
    gpus = range(len(kinds))
    head = "       " + "".join(f"GPU{gpu:<10}" for gpu in gpus)
    lines = ["============================ ROCm System Management Interface ============================"]
    lines += [f"GPU[{gpu}]\t\t: Card Series: \t\t{name}" for gpu in gpus]
    for title, cells in (
        ("Weight between two GPUs", [["0" if a == b else "15" for b in gpus] for a in gpus]),
        ("Hops between two GPUs", [["0" if a == b else "1" for b in gpus] for a in gpus]),
        ("Link Type between two GPUs", kinds),
    ):
        lines += [f" {title} ".center(90, "="), head]
        lines += [f"GPU{row:<4}" + "".join(f"{cell:<13}" for cell in line) for row, line in enumerate(cells)] + [""]
    lines += ["======================================= Numa Nodes ======================================="]
    lines += [f"GPU[{gpu}]\t\t: (Topology) Numa Node: {gpu // 4}" for gpu in gpus]
    return "\n".join(
        [*lines, "================================== End of ROCm SMI Log ==================================="]
    )


def write_amd_smi(kinds, access="ENABLED"):
    """What amd-smi topology prints."""
    buses = [f"0000:{5 + 33 * gpu:02x}:00.0" for gpu in range(len(kinds))]
    lines = []
    for title, cells in (
        ("ACCESS", [["ENABLED" if a == b else access for b in buses] for a in buses]),
        ("WEIGHT", [["0" if a == b else "15" for b in buses] for a in buses]),
        ("HOPS", [["0" if a == b else "1" for b in buses] for a in buses]),
        ("LINK TYPE", [["SELF" if cell == "0" else cell for cell in row] for row in kinds]),
        ("NUMA BW", [["N/A" if a == b else "50000-50000" for b in buses] for a in buses]),
        ("CACHE COHERANCY", [["SELF" if a == b else "C" for b in buses] for a in buses]),
    ):
        lines += [f"{title} TABLE: ", "             " + "".join(f"{bus:<13}" for bus in buses)]
        lines += [
            f"{bus:<13}" + "".join(f"{cell:<13}" for cell in row) for bus, row in zip(buses, cells, strict=True)
        ] + [""]
    return "\n".join(lines)


MESH = [["0" if a == b else "XGMI" for b in range(4)] for a in range(4)]
BROKEN_MESH = [["0" if a == b else "PCIE" if {a, b} == {1, 2} else "XGMI" for b in range(4)] for a in range(4)]
PAIRS = [[None if a == b else 390.0 + a + b for b in range(4)] for a in range(4)]
HALF_PAIRS = [[None if a == b else 280.0 if 2 in (a, b) else 390.0 for b in range(4)] for a in range(4)]

NPU_SMI = """\t   NPU0       NPU1       NPU2       NPU3       CPU Affinity
NPU0       X          HCCS       HCCS       HCCS       144-167
NPU1       HCCS       X          HCCS       HCCS       144-167
NPU2       HCCS       HCCS       X          HCCS       96-119
NPU3       HCCS       HCCS       HCCS       X          96-119

Legend:

  X    = Self
  SYS  = Path traversing PCIe and NUMA nodes. Nodes are connected through SMP, such as QPI, UPI.
  HCCS = Connection traversing HCCS.
"""

HCCL_TEST = """the minbytes is 8192, maxbytes is 1073741824, iters is 20, warmup_iters is 5
data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:
8192              | 38.79          | 0.21117              | success
134217728         | 1560.24        | 86.02351             | success
1073741824        | 11805.60       | 90.95190             | success
"""

NCCOM_TEST = """   size(B)    count(elems)     type    time(us)    algbw(GB/s)    busbw(GB/s)
     65536           32768     bf16       79.20           0.83           1.60
1073741824       536870912     bf16    51135.80          21.00          40.69
Avg bus bandwidth:\t21.1450GB/s
"""

DS_BENCH = """n0: ---- Performance of all_reduce on 8 devices ---------------------------------------------------------
n0: Size (Bytes)         Description               Duration             Throughput (Gbps)    BusBW (Gbps)
n0: ----------------------------------------------------------------------------------------------------
n0: 1.0 MB               262144x4                  81.245 us            206.5                180.7
n0: 1.0 GB               268435456x4               8.345 ms             2058.7               1801.4
"""

TORCH_BENCH = """Environment:
- software: torch=2.7.0, cuda=12.8, nccl=(2, 26, 2)
- hardware: _CudaDeviceProperties(name='NVIDIA H100 80GB HBM3', major=9, minor=0, total_memory=81089MB, multi_processor_count=132)

The average bandwidth of all_reduce over 8 ranks (5 warmups / 20 trials):

| payload |    busbw   |    algbw   |
| ------: | ---------: | ---------: |
|   32KiB |   1.18GBps |   0.67GBps |
|  256MiB | 420.62GBps | 240.35GBps |
|    1GiB | 455.72GBps | 260.41GBps |

Legend: 1KiB = 2**10Bytes, 1MiB = 2**20Bytes, 1GiB = 2**30Bytes
"""

OSU_NCCL = """# OSU NCCL-CUDA Allreduce Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1048576               48.10
1073741824          4210.50
"""

OSU_MPI = """# OSU MPI-CUDA Allreduce Latency Test v7.4
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
1048576              401.10           390.00            420.00          100
"""


IMB = """#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part
#----------------------------------------------------------------
# Calling sequence was:
# ./IMB-MPI1 -mem 4 PingPong Allgather Barrier

# List of Benchmarks to run:

# PingPong
# Allgather
# Barrier

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
# ( 6 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.24         0.00
      4194304           10       380.12     11034.16

#----------------------------------------------------------------
# Benchmarking Allgather
# #processes = 4
# ( 4 additional processes waiting in MPI_Barrier)
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            1         1000         3.13         3.77         3.45
      1048576           40       204.26       206.33       205.30

#----------------------------------------------------------------
# Benchmarking Allgather
# #processes = 8
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            1         1000         5.00         5.40         5.20
      1048576           20       404.26       406.33       405.30

#---------------------------------------------------
# Benchmarking Barrier
# #processes = 8
#---------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000        22.93        22.95        22.94


# All processes entering MPI_Finalize
"""


def write_inspector(last_rank=-1, ranks=4, calls=6, nbytes=2**30, seconds=0.0042):
    """What NCCL Inspector writes: an object for each collective and rank; the last rank to come waits least."""
    lines = []
    for call in range(calls):
        for rank in range(ranks):
            time = seconds * (1.0 if last_rank < 0 or rank == last_rank else 1.6)
            algbw = nbytes / time / 1e9
            record = {
                "header": {"id": "0x9e7a479f95a66c", "rank": rank, "n_ranks": ranks, "nnodes": 1},
                "metadata": {
                    "inspector_output_format_version": "v4.0",
                    "git_rev": "75e61acda",
                    "rec_mechanism": "nccl_profiler_interface",
                    "dump_timestamp_us": 1749490229087081 + call,
                    "hostname": "gpu-07",
                    "pid": 4000 + rank,
                },
                "coll_perf": {
                    "coll": "AllReduce",
                    "coll_sn": call + 1,
                    "coll_msg_size_bytes": nbytes,
                    "coll_exec_time_us": round(time * 1e6),
                    "coll_timing_source": "kernel_gpu",
                    "coll_algobw_gbs": round(algbw, 6),
                    "coll_busbw_gbs": round(algbw * 2 * (1 - 1 / ranks), 6),
                },
            }
            lines.append(json.dumps(record))
    return "\n".join(lines)


def write_profiler_trace(
    rank=0, ranks=4, calls=6, nbytes=2**28, seconds=0.0012, last_rank=-1, gpu="NVIDIA H100 80GB HBM3", computing=0.25
):
    """What PyTorch's profiler writes of one rank (kineto output_json.cpp): allreduces, each with a kernel that computes
    during a part of it; the last rank to come waits least."""
    duration = seconds * 1e6 * (1.0 if last_rank in (-1, rank) else 1.6)
    info = {"backend": "nccl", "rank": rank, "world_size": ranks, "pg_count": 1, "pg_config": [{"pg_name": "0"}]}
    devices = ", ".join(json.dumps({"id": k, "name": gpu, "numSms": 132}) for k in range(8))
    group = f'"Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "{[*range(ranks)]}"'
    call = (
        f'"External id": 9,"queued": 0, "Collective name": "allreduce", "In msg nelems": {nbytes // 2}, "Out msg nelems": {nbytes // 2}, '
        f'"Group size": {ranks}, "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]", {group}'
    )
    events = [
        '\n  {\n    "ph": "M",\n    "name": "process_name",\n    "ts": 4458676416788.066,\n    "pid": 77,\n    "tid": 0,\n    "args": {\n      "name": "python"\n    }\n  },'
    ]
    for number in range(calls):
        begin = 4458676416788.066 + rank + number * 5_000
        for name, start, length, args in (
            ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", begin, duration, call),
            (
                "void at::native::elementwise_kernel<128, 2>(int)",
                begin - 100,
                100 + computing * duration,
                '"queued": 0',
            ),
        ):
            events.append(
                f'\n  {{\n    "ph": "X",\n    "cat": "kernel",\n    "name": "{name}",\n    "pid": {rank},\n    "tid": 7,\n    '
                f'"ts": {start:.3f},\n    "dur": {length:.3f}\n    ,\n    "args": {{\n      {args}\n    }}\n  }},'
            )
    end = '\n  {\n    "ph": "i",\n    \n    "s": "g",\n    "name": "Record Window End",\n    "pid": "",\n    "tid": "",\n    "ts": 4458676516788.066\n    \n  }'
    return (
        f' {{\n    "schemaVersion": 1,\n    "deviceProperties": [{devices}],\n    \n      "distributedInfo": {json.dumps({**info, "nccl_version": "2.27.5"})},'
        f'\n    "displayTimeUnit": "ms",\n    "baseTimeNanoseconds": 1790857026000000000,\n    "traceEvents": [\n    {"".join(events)}{end}\n  ],"traceName": "rank{rank}.json" }}'
    )


def write_ethtool(discards=0, pauses=0, device="eth2"):
    return (
        f"$ ethtool -S {device}\nNIC statistics:\n     rx_packets: 991823\n     rx_discards_phy: {discards}\n"
        f"     rx_prio3_pause: {pauses}\n     link_down_events_phy: 0\n"
    )


def write_rdma_statistic(out_of_sequence=0, marks=0):
    return (
        f"$ rdma statistic\nlink mlx5_0/1 rx_write_requests 4096 rx_read_requests 12 out_of_buffer 0 out_of_sequence {out_of_sequence} "
        f"duplicate_request 0 rnr_nak_retry_err 0 packet_seq_err 0 local_ack_timeout_err 0 np_cnp_sent {marks} rp_cnp_handled 0\n"
    )


def write_perfquery(symbol_errors=0, wait=0):
    return (
        "$ perfquery -x\n# Port extended counters: Lid 7 port 1 (CapMask: 0x5A00)\nPortSelect:......................1\n"
        f"PortXmitData:....................918273645\nPortXmitWait:....................{wait}\n"
        f"SymbolErrorCounter:..............{symbol_errors}\nLinkErrorRecoveryCounter:........0\nLinkDownedCounter:...............0\n"
    )


IBV_DEVINFO = """hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t28.39.1002
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tactive_mtu:\t\t4096 (5)
\t\t\tlink_layer:\t\tInfiniBand
\t\t\tactive_width:\t\t4X (2)
\t\t\tactive_speed:\t\t100.0 Gbps (128)
"""

PLAN = json.dumps(
    {
        "name": "allreduce_2nodes",
        "collective": "allreduce",
        "protocol": "Simple",
        "inplace": True,
        "num_threads_per_block": 768,
        "min_message_size": 0,
        "max_message_size": 1073741824,
        "gpus": [
            {
                "id": rank,
                "input_chunks": 2,
                "output_chunks": 2,
                "scratch_chunks": 0,
                "threadblocks": [{"id": 0, "ops": [{"name": "nop"}], "channels": [], "remote_buffer_refs": []}],
                "channels": [{"channel_type": "memory", "connected_to": [1 - rank]}],
            }
            for rank in range(2)
        ],
    }
)

GOAL = "num_ranks 2\n\nrank 0 {\nl1: send 1024b to 1 tag 0\n}\nrank 1 {\nl1: recv 1024b from 0 tag 0\n}\n"

TREE_LINES = """=== System : maxBw 240.0 totalBw 240.0 ===
CPU/0-0 (1/2/-1)
+ PCI[24.0] - PCI/0-1000 (1000c0301000100f)
              + PCI[24.0] - GPU/0-7000 (0)
                            + NVL[240.0] - NVS/0-0
              + PCI[24.0] - NIC/0-c000
                            + NET[25.0] - NET/0-0 (0/18d32200038f3f04/1/25.000000)
CPU/0-1 (1/2/-1)
+ PCI[24.0] - PCI/0-81000 (1000c0301000100f)
              + PCI[24.0] - GPU/0-87000 (1)
                            + NVL[240.0] - NVS/0-0
              + PCI[24.0] - NIC/0-8c000
                            + NET[25.0] - NET/0-1 (0/18d32200038f3f05/1/25.000000)
+ SYS[16.0] - CPU/0-0
=========================================="""


def write_tree(host="n1", rank=0, lines=TREE_LINES):
    """NCCL's tree of a system as the log of a rank has it (NCCL_DEBUG_SUBSYS=GRAPH)."""
    return "\n".join(f"{host}:{100 + rank}:{200 + rank} [{rank}] NCCL INFO {line}" for line in lines.splitlines())


#: The output of each tool by its name in a diagnosis.
OUTPUTS = {
    "nvbandwidth": write_nvbandwidth(PAIRS, [55.3, 55.2, 55.1, 55.4], [53.0, 52.9, 53.1, 53.0], PAIRS),
    "nvbandwidth -j": write_nvbandwidth_json(PAIRS, [55.3, 55.2, 55.1, 55.4]),
    "p2pBandwidthLatencyTest": write_peer_test(48.0, 22.0),
    "rocm-smi --showtopo": write_rocm_smi(MESH),
    "amd-smi topology": write_amd_smi(MESH),
    "npu-smi info -t topo": NPU_SMI,
    "hccl_test": HCCL_TEST,
    "nccom-test": NCCOM_TEST,
    "DeepSpeed ds_bench": DS_BENCH,
    "all_reduce_bench.py": TORCH_BENCH,
    "NCCL Inspector": write_inspector(),
    "PyTorch profiler": write_profiler_trace(),
    "ethtool -S": write_ethtool(),
    "rdma statistic": write_rdma_statistic(),
    "perfquery": write_perfquery(),
    "ibv_devinfo": IBV_DEVINFO,
    "OSU (NCCL)": OSU_NCCL,
    "OSU (MPI)": OSU_MPI,
    "IMB": IMB,
    "MSCCL++ plan": PLAN,
    "GOAL": GOAL,
    "tree in NCCL's log": write_tree(),
}
