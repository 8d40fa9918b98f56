"""Where every constant of the prediction comes from: NCCL itself, a vendor, a fit over published runs, or read off few
of them.

What is fitted is not written down here but asked of `crossval.KNOBS`, and how much data stands behind it is counted by
turning it.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib import import_module
from types import ModuleType
from typing import Any, Literal

from accuracy.crossval import KNOBS, PRIOR

from collsim.nccl.link_calibration import Sample
from collsim.nccl.model import links
from collsim.nccl.model.algorithm_time import compute_time
from collsim.nccl.model.calibration_knobs import apply_knobs

Kind = Literal["NCCL's own", "vendor", "fitted", "read off"]
_NCCL = "NVIDIA/nccl v2.30.7-1"
#: Rooms whose constants a prediction is made of; those of `links` are `Parameters`.
MODULES = tuple(
    import_module(f"collsim.nccl.{name}")
    for name in (
        *(
            "search.constants",
            "machine.machine_facts",
            "machine.machine_words",
            "machine.topology_facts",
            "machine.network_plugins",
        ),
        *(
            "search.node_graph",
            "search.ring_tree_search",
            "search.nvls_heads",
            "tuner_graphs",
            "model.tuner",
            "model.rccl",
            "model.algorithm_time",
        ),
        *(
            "nccl_prediction",
            "predicted_schedule",
            "model.prediction_interval",
            "model.unknown_inputs",
            "libraries.mpi",
            "libraries.loggp",
            "libraries.rounds",
        ),
    )
)
_OSU = "12 OSU runs with buffers on GPUs, least squares (see mpi.py)"
_OMPI = "Open MPI ompi/mca/coll"
_RCCL = "ROCm/rccl src/graph/tuning.cc, tuning_model_5 and 6"
#: What does not stand in `constants` (NCCL's own, all of it) or `links`, by module and name.
ORIGINS: Mapping[str, tuple[Kind, str]] = {
    "machine_facts.NVLINK_GBPS": ("vendor", "NVIDIA's NVLink page: payload of one link"),
    "machine_facts.GA102_LINK_GBPS": ("vendor", "nvidia-smi on an A6000"),
    "machine_facts.XGMI_GBPS": ("vendor", "AMD CDNA3 white paper"),
    "machine_facts.PCIE_GBPS": ("vendor", "PCI-SIG: x16 after line coding"),
    "machine_facts.USUAL_NIC": ("vendor", "NVIDIA's guides to DGX-1, DGX A100, DGX H100"),
    "machine_facts._SERIES": ("vendor", "NVIDIA's list of CUDA GPUs; AMD's data sheets"),
    "machine_facts._BY_NVLINK": ("vendor", "the GPUs that NVLink generation came with (NVIDIA's NVLink page)"),
    "machine_facts._BY_PCIE": ("read off", "the newest card of GPUS with that slot; only where a name says nothing"),
    "machine_facts._APU_LANES": (
        "vendor",
        "Framework Desktop (Ryzen AI Max): its slot (kyuz0/amd-strix-halo-vllm-toolboxes)",
    ),
    "machine_facts.GPUS": ("vendor", "data sheets of NVIDIA and AMD"),
    "tuner_graphs.XGMI_PER_LINK": ("read off", "RCCL's log, ROCm/rccl issue 1210"),
    "tuner_graphs._NIC_COUNTS": ("NCCL's own", f"{_NCCL} src/graph/topo.h: 12 GB/s for 100 Gbit/s"),
    "tuner_graphs._STAGED": ("read off", "what the bridge shares when data cross it twice; the tuner's choice only"),
    "tuner_graphs._NVLINK_OF": ("vendor", "NVIDIA's NVLink page"),
    "tuner_graphs._FAST_CHANNEL": ("NCCL's own", f"{_NCCL} src/graph/connect.cc"),
    "tuner_graphs._FEW_CHANNELS": ("NCCL's own", f"{_NCCL} src/graph/connect.cc"),
    "network_plugins.HOPPER": (
        "vendor",
        "compute capability of Hopper (NVIDIA's list of CUDA GPUs): P5, from which EFA keeps order",
    ),
    "ring_tree_search._STEPS_SAME": ("NCCL's own", f"{_NCCL} src/graph/search.cc"),
    "machine_words._BRIDGE_LINKS": ("vendor", "NVIDIA's product briefs of A100 and H100 PCIe"),
    "machine_words._RACK": ("vendor", "NVIDIA: GB200 NVL72"),
    "machine_words._TRAY": ("vendor", "NVIDIA: GB200 NVL72, 18 trays of 4 GPUs"),
    **dict.fromkeys(
        ("machine_words.SLINGSHOT_10", "machine_words.SLINGSHOT_11"),
        ("vendor", "cards of Slingshot 10 and 11 (glennklockwood.com/garden/slingshot)"),
    ),
    "machine_words._GENERATIONS": ("vendor", "IBTA, InfiniBand roadmap: four lanes; Slingshot as above"),
    "machine_words._NVLINK_OF": ("vendor", "NVIDIA's data sheets"),
    **{f"rccl.{name}": ("vendor", _RCCL) for name in ("LATENCIES", "SHARE", "TUNING")},
    "rccl._ROOTED_LL": ("vendor", _RCCL),
    "rccl._MANY_NODES": ("vendor", "ROCm/rccl src/rccl_wrap.cc"),
    **{
        f"rccl.{name}": ("vendor", "rocm.docs.amd.com/projects/rccl, how-to/rccl-usage-tips")
        for name in ("_MSCCLPP_BYTES", "_MSCCLPP_MULTIPLE", "MSCCLPP_STEPS", "_MSCCLPP_RANKS")
    },
    "algorithm_time._CHUNK": ("NCCL's own", f"{_NCCL} src/include/device.h, NCCL_STEPS"),
    "algorithm_time._NCCL_STEPS": ("NCCL's own", f"{_NCCL} src/include/device.h, NCCL_STEPS"),
    "algorithm_time._BYTES_PER_THREAD": ("NCCL's own", f"{_NCCL} src/device/common_kernel.h"),
    "algorithm_time._SLICES": ("NCCL's own", f"{_NCCL} src/include/collectives.h"),
    "algorithm_time._PAYLOAD": (
        "NCCL's own",
        f"{_NCCL} src/graph/tuning.cc: share of a line that is data, LL128 as measured by NCCL",
    ),
    "algorithm_time._TREE_LOADS": ("NCCL's own", f"{_NCCL} src/graph/trees.cc: edges of its two trees, counted"),
    "algorithm_time._SENDING": ("NCCL's own", f"{_NCCL} src/device/sendrecv.h: warps that send; 16 copy in a ring"),
    "algorithm_time._NVLINK_CHUNK": ("NCCL's own", f"{_NCCL} src/init.cc"),
    "algorithm_time._CHUNK_ELSEWHERE": ("NCCL's own", f"{_NCCL} src/init.cc"),
    "unknown_inputs.NIC_RATIOS": ("read off", "33 systems of the tables whose words state the rate"),
    "unknown_inputs.SLINGSHOT_RATIOS": ("read off", "none of four systems (Laplace's rule of succession)"),
    "unknown_inputs.MESH": ("read off", "5 of 10 systems of the tables that run on up to four GPUs of a node"),
    "unknown_inputs.MESH_GPUS": ("vendor", "boards of four A100 or H100 without switches"),
    "unknown_inputs.CUBE": ("read off", "2 of 3 systems of the tables that run on more than four V100 of a node"),
    "unknown_inputs._VOLTA": ("vendor", "compute capability of V100 (NVIDIA's list of CUDA GPUs)"),
    "mpi.HOST_NIC_RATIOS": ("read off", "12 systems of the tables with MPI"),
    "unknown_inputs.TCP_RATIOS": ("read off", "seven published rates (NVIDIA/nccl issues 209, 398, 450; ALCF)"),
    "unknown_inputs.TCP_WIRE": ("read off", "0.82 of 1.25 GB/s on a virtual machine (aws-samples)"),
    "unknown_inputs.HOST_RATIOS": ("read off", "published rates through host memory differ by a factor of four"),
    "unknown_inputs.STAGED_CARD_RATIOS": ("read off", "three published rates of a card without GPUDirect RDMA"),
    "unknown_inputs.DOMAIN_RATIOS": ("read off", "586 to 930 GB/s of 72 GPUs"),
    "unknown_inputs.WITHOUT_GDR": ("read off", "4 of 10 systems of PCIe cards"),
    "unknown_inputs.DIRECT": ("read off", "7 of 15 systems of PCIe cards"),
    "unknown_inputs.BRIDGE_RATIOS": ("read off", "order of magnitude: one or two of three bridges"),
    "unknown_inputs.SEVERAL_BRIDGES": ("vendor", "product briefs of A100 and H100 PCIe: 300 GB/s by three bridges"),
    "unknown_inputs.LAUNCHES": ("read off", "order of magnitude: most machines run one of the two"),
    "unknown_inputs.RING_FOR_TREE": (
        "read off",
        "two published steps, which do not decide (horovod issue 2581, AReaL issue 639)",
    ),
    "unknown_inputs.CROWD": ("read off", "runs between nodes that took over 1.3 times as long as predicted"),
    "unknown_inputs.CROWDED_RATIOS": ("read off", "runs between nodes that took over 1.3 times as long as predicted"),
    "unknown_inputs.GPU_RATIOS": ("read off", "order of magnitude: a generation of PCIe, or half of the lanes"),
    **dict.fromkeys(
        ("unknown_inputs.PROVIDER_SHARES", "unknown_inputs.COPY_WITHOUT_GDRCOPY", "unknown_inputs.FLAGS_RATIO"),
        ("read off", "ten sets of variables on one machine (boeschf/nccl-benchmark-on-alps-2025)"),
    ),
    **dict.fromkeys(
        ("unknown_inputs.CHANNEL_WITH_FLAGS", "unknown_inputs.SLOW_CHANNELS"),
        ("read off", "V100 and A100 of three systems"),
    ),
    "unknown_inputs.FIRST_WINDOW": ("vendor", "RFC 6928: ten segments"),
    "unknown_inputs.RETRANSMISSION": ("vendor", "Linux include/net/tcp.h, TCP_RTO_MIN"),
    "unknown_inputs.PORT_BUFFERS": (
        "read off",
        "32 KB to 1 MB a port (Phanishayee et al., FAST 2008), 700 KB of 4 MB (Alizadeh et al., SIGCOMM 2010)",
    ),
    "nccl_prediction.MAX_PEERS_AT_ONCE": ("NCCL's own", f"{_NCCL} src/include/device.h"),
    "mpi.STAGED_COPIES": ("vendor", "7 us in place of 1 for each copy (developer.nvidia.com/gdrcopy)"),
    "mpi.STAGED": ("read off", "none of three systems"),
    "mpi.MOVE_RATIOS": ("read off", "three broadcasts of 16 MiB with one library (aistabci/abci2.0benchmark)"),
    "algorithm_time._BOARD": (
        "vendor",
        "GPUs of an HGX board; NCCL src/device/all_reduce.h: a round of NVLS has a chunk for each",
    ),
    "algorithm_time._NEAR_TRAYS": (
        "read off",
        "8 GPUs on two trays as fast as on a board (OCI; NVIDIA/nccl issue 2140)",
    ),
    "mpi._FULL_NODES": ("read off", "calls below 64 KiB of seven systems with full nodes"),
    "mpi.MEMORY_RATIOS": ("read off", "processors of eight systems, as their makers and centres state them"),
    "mpi.COPIES": ("read off", "order of magnitude: libraries copy a message once or twice"),
    "algorithm_time._PEERS": (
        "read off",
        "129 us on 32 ranks, the most of any small alltoall measured (argonne-lcf/alcf-nccl-tests)",
    ),
    "predicted_schedule.SLOT": ("NCCL's own", f"{_NCCL} src/include/device.h"),
    "predicted_schedule.NVLS_CHUNK": ("NCCL's own", f"{_NCCL} src/enqueue.cc, calcCollChunking"),
    **{f"mpi.{name}": ("fitted", _OSU) for name in ("GPU", "GPU_CRAY", "INSIDE", "PEER", "FILL", "FADE", "WIRE")},
    "mpi._YEAR_OF_41": ("read off", "Open MPI 4.1.0 is of December 2020; a year for clusters to follow"),
    "mpi._DISJOINT": ("vendor", f"{_OMPI}/tuned: tables for ranks on separate nodes, since 5.0"),
    "mpi._MANY": ("read off", "full nodes: between 8 and 32 ranks a node in the runs at hand"),
    "loggp.WIRES": (
        "read off",
        "osu_latency, osu_bw and ib_write_bw of several systems; collectives where marked there",
    ),
    "loggp.EXTRA_COPIES": ("read off", f"{_OMPI}/base copies; the fourfold of reduce_scatter from one system"),
    "rounds._RADIX": ("vendor", f"{_OMPI}/tuned: k-nomial radix"),
    "rounds._CHAINS": ("vendor", f"{_OMPI}/tuned: chain fan-out"),
    "loggp._TRAFFIC": (
        "vendor",
        "McCalpin, The STREAM benchmark: a cache that allocates on writes reads the line first",
    ),
    "loggp._CORES": ("vendor", "data sheets of EPYC 7003: cores of a socket"),
    "loggp._STREAM_SHARE": ("read off", "STREAM on three generations of servers (anandtech.com/show/11544)"),
    "rounds._PACKS": ("read off", "the smallest alltoall of 64 ranks, 32 us (stackhpc)"),
}
#: What a picture shows at most, how long a search goes on, module for rounding, units, labels, and buffers that a rank
#: moves by counting.
_NO_CONSTANT = {
    *(
        "predicted_schedule._MAX_CHANNELS",
        "predicted_schedule._MAX_CHUNKS",
        "predicted_schedule._MAX_TRANSFERS",
        "mpi._ROUNDED",
        "loggp._FREE",
        "prediction_interval.LEVEL",
        "prediction_interval.SIDES",
        "prediction_interval._KNOWN",
        "unknown_inputs._MIN_NARROWING",
        "unknown_inputs.CARD_RATIOS",
        "mpi._GPU_PATHS",
        "mpi._COPIES",
        "mpi._TCP",
        "unknown_inputs._MIN_DEVIATION",
        "unknown_inputs._TWO_NODES",
        "unknown_inputs._FOUR_IN_FIVE",
        "prediction_interval.FEW",
        "tuner_graphs._ROUNDING",
        "topology_facts._ALIKE",
        "machine_facts.LANES",
        "machine_words._MAX_LETTERS",
        "machine_words._MAX_QUOTED",
    ),
    *(f"ring_tree_search.{name}" for name in ("_STEPS", "_STEPS_ALL", "MAX_GPUS", "_TREES")),
}


@dataclass(frozen=True)
class Constant:
    """A constant and its origin. `runs` and `systems` count the published runs that it moves, where it was fitted to
    them."""

    name: str
    value: str
    kind: Kind
    source: str
    runs: int | None = None
    systems: int | None = None


def list_named_values(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Constants that a module sets itself: upper case, with a number somewhere inside; not those that it imports."""
    for statement in ast.parse(inspect.getsource(module)).body:
        targets = (
            statement.targets
            if isinstance(statement, ast.Assign)
            else [statement.target]
            if isinstance(statement, ast.AnnAssign)
            else []
        )
        for node in (n for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)):
            if node.id == node.id.upper() and _has_number(value := getattr(module, node.id)):
                yield node.id, value


def _has_number(value: Any) -> bool:
    if is_dataclass(value):
        return any(_has_number(getattr(value, f.name)) for f in fields(value))
    if isinstance(value, Mapping):
        return any(map(_has_number, value.values()))
    if isinstance(value, (tuple, list)):
        return any(map(_has_number, value))
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def of_links() -> list[tuple[str, str | int | None, float, Kind]]:
    """Field, entry (None: the field has one value), value and kind of every constant in `links.MEASURED`."""
    entries: list[tuple[str, str | int | None, float, Kind]] = []
    for f in fields(links.MEASURED):
        if f.name in links.SWITCHES:
            continue
        value = getattr(links.MEASURED, f.name)
        for entry, number in value.items() if isinstance(value, Mapping) else [(None, value)]:
            entries.append((f.name, entry, number, _kind(f.name, entry)))
    return entries


def _kind(field: str, entry: str | int | None) -> Kind:
    name = field if entry is None else f"{field}.{entry}"
    if name in links.READ_OFF:
        return "read off"
    if name in links.FROM_NCCL:
        return "NCCL's own"
    is_fitted = any(field == f and (not entries or entry in entries) for knob in KNOBS.values() for f, entries in knob)
    if not is_fitted:
        raise LookupError(
            f"links: {name} has no mark: no knob of crossval turns it, and it stands in neither READ_OFF nor FROM_NCCL"
        )
    return "fitted"


def table(samples: Sequence[Sample] = (), runs: Sequence[tuple[str, str]] = ()) -> list[Constant]:
    """Every constant. `samples` are measured calls, `runs` the run and the system of each, to count what stands behind
    a fit."""
    entries = []
    for field, entry, number, kind in of_links():
        name = field if entry is None else f"{field}[{entry}]"
        start = getattr(PRIOR, field)
        first = start if entry is None else start[entry]
        source = (
            f"from {first:.3g}"
            if kind == "fitted"
            else links.READ_OFF.get(_plain(field, entry)) or links.FROM_NCCL[_plain(field, entry)]
        )
        moved = _find_moved_samples(samples, field, entry) if kind == "fitted" else []
        behind = {runs[i] for i in moved} if runs else set()
        counts = (len(behind), len({system for _, system in behind})) if kind == "fitted" and runs else (None, None)
        entries.append(Constant(f"links.{name}", f"{number:.3g}", kind, source, *counts))
    for module in MODULES:
        short = module.__name__.rpartition(".")[2]
        for name, value in list_named_values(module):
            if (full := f"{short}.{name}") in _NO_CONSTANT:
                continue
            kind, source = ("NCCL's own", f"{_NCCL}, see constants.py")
            if short != "constants" or full in ORIGINS:
                kind, source = ORIGINS[full]
            entries.append(Constant(full, _short(value), kind, source))
    return entries


def _plain(field: str, entry: str | int | None) -> str:
    return field if entry is None else f"{field}.{entry}"


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"table of {len(value)}"
    return (
        f"{value:g}"
        if isinstance(value, (int, float))
        else f"{len(value)} values"
        if isinstance(value, tuple)
        else "rates"
    )


def _find_moved_samples(samples: Sequence[Sample], field: str, entry: str | int | None) -> list[int]:
    """Samples whose time changes when this constant does."""
    knob = {"it": ((field, () if entry is None else (entry,)),)}
    either = [apply_knobs(links.MEASURED, knob, {"it": math.exp(step)}) for step in (-0.5, 0.5)]
    usual = [compute_time(s.call).total for s in samples]
    return [
        i
        for i, s in enumerate(samples)
        if any(compute_time(replace(s.call, links=p)).total != usual[i] for p in either)
    ]
