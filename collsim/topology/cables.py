"""What machines are wired with: every number, one direction, with its source.

`nominal` is what the standard says, `effective` what was measured or what NCCL plans with. alpha is per link crossed.
In a source *spec* is a standard or a data sheet, *measured* a published figure, *NCCL* a constant of its
src/graph/topo.h (commit 5067397), and *order of magnitude* a choice between such figures, to be calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..errors import TopologyError, require_word
from .network import Cable

_NCCL = "NCCL src/graph/topo.h (5067397)"
_ML = "stas00/ml-engineering network/README.md"
_ABCI = "aistabci/abci2.0benchmark pt2pt"
_RTX = "voipmonitor/rtx6kpro hardware/wrx90-cpayne-8gpu-root-topology-comparison.md"
_EXCALIBUR = "ukri-excalibur/excalibur-tests output"

#: s of a PCI Express link by generation, and what that is known from.
_PCIE_ALPHA = {
    1: (0.4e-6, "alpha order of magnitude: as PCIe 3.0"),
    2: (0.4e-6, "alpha order of magnitude: as PCIe 3.0"),
    3: (
        0.4e-6,
        "alpha measured: OSU latency V100 with GPUDirect 2.38 µs less host 0.87 µs over 4 PCIe links is 0.38 µs "
        f"each ({_ABCI})",
    ),
    4: (
        0.5e-6,
        "alpha measured: OSU latency A100 with GPUDirect 3.29 µs less host 1.47 µs over 4 PCIe links is 0.455 µs "
        f"each ({_ABCI})",
    ),
    5: (
        0.35e-6,
        "alpha measured: flag ping-pong through one switch 0.633 to 0.727 µs over 2 links is 0.32 to 0.36 µs each "
        f"({_RTX})",
    ),
    6: (0.35e-6, "alpha order of magnitude: as PCIe 5.0"),
}
#: B/s of a lane, one way, by generation: transfers a second less the line code, 8b/10b in the first two (2.5 and 5
#: GT/s) and 128b/130b in the next three; the sixth has flits with error correction, 121 GB/s on 16 lanes.
_PCIE_LANE = {
    1: 0.25e9,
    2: 0.5e9,
    3: 8e9 * 128 / 130 / 8,
    4: 16e9 * 128 / 130 / 8,
    5: 32e9 * 128 / 130 / 8,
    6: 121e9 / 16,
}
#: B/s of a lane as NCCL counts it: 12 GB/s for 16 lanes of the third generation (src/graph/topo.h).
_PCIE_NCCL = {1: 3e9 / 16, 2: 6e9 / 16, 3: 12e9 / 16, 4: 24e9 / 16, 5: 48e9 / 16, 6: 96e9 / 16}


def build_pcie(generation: int, lanes: int = 16) -> Cable:
    """PCI Express, `lanes` wide. Nominal: signalling rate × 128/130, rounded to 0.1 GB/s at ×16 as people quote it.

    Args:
        generation: 1 to 6.
        lanes: width of the slot.

    Returns:
        The cable, with the source of its numbers.
    """
    if generation not in _PCIE_LANE:
        message = "PCIe generation {generation!r} is unknown; known: {known}"
        raise TopologyError(message, generation=generation, known=", ".join(map(str, _PCIE_LANE)))
    alpha, alpha_source = _PCIE_ALPHA[generation]
    nominal = {1: 4e9, 2: 8e9, 3: 15.75e9, 4: 31.5e9, 5: 63e9, 6: 121e9}[generation] * lanes / 16
    return Cable(
        kind="pcie",
        label=f"PCIe {generation}.0 ×{lanes}",
        bandwidth=nominal,
        alpha=alpha,
        nominal=nominal,
        effective=_PCIE_NCCL[generation] * lanes,
        width=lanes,
        source=f"bandwidth spec: {_PCIE_LANE[generation] / 1e9:.3f} GB/s per lane (PCI-SIG; {_ML}); effective: "
        f"{_NCCL}; {alpha_source}",
    )


_NVLINK_ALPHA = (
    0.7e-6,
    "alpha order of magnitude: between NCCL's 0.6 µs per LL step (src/graph/tuning.cc hwLatencies) and the 1.85 µs "
    f"of a whole V100 copy, launch included ({_ABCI})",
)
_NVLINK = {  # generation: (GPUs, nominal per link, NCCL's per link)
    1: ("P100", 20e9, 18e9),
    2: ("V100", 25e9, 20e9),
    3: ("A100", 25e9, 20e9),
    4: ("H100, H200", 25e9, 20.6e9),
    5: ("B200", 50e9, 40.1e9),
}


def build_nvlink(generation: int, links: int) -> Cable:
    """`links` bonded NVLinks of a generation."""
    gpus, nominal, effective = _NVLINK[generation]
    alpha, alpha_source = _NVLINK_ALPHA
    return Cable(
        kind="nvlink",
        label=f"NVLink {generation} ×{links}",
        bandwidth=nominal * links,
        alpha=alpha,
        nominal=nominal * links,
        effective=effective * links,
        width=links,
        source=f"bandwidth spec: {nominal / 1e9:g} GB/s per link of {gpus} ({_ML}); effective: {effective / 1e9:g} "
        "per link, "
        f"{_NCCL}; {alpha_source}",
    )


#: Compute capability of GA102 (RTX 3090, A6000, A40) times ten.
GA102_SM = 86


def nvlink_bridge(links: int) -> Cable:
    """The bridge of two graphics cards with GA102: four links, fewer where contacts are missing (NVIDIA/nccl issue
    557).

    Args:
        links: NVLinks in it, 1 to 4.
    """
    return Cable(
        kind="nvlink",
        label=f"NVLink bridge ×{links}",
        bandwidth=14.0625e9 * links,
        alpha=_NVLINK_ALPHA[0],
        nominal=14.0625e9 * links,
        effective=12e9 * links,
        width=links,
        source=f"bandwidth spec: 14.0625 GB/s per link of GA102; effective: 12 per link, {_NCCL}; measured 50.8 GB/s "
        f"each way on an A40 pair (NVIDIA/nccl-tests issue 74); {_NVLINK_ALPHA[1]}",
    )


#: The bridge as it is sold.
NVLINK_BRIDGE = nvlink_bridge(4)

#: Grace to its GPU.
C2C = Cable(
    kind="c2c",
    label="NVLink-C2C",
    bandwidth=450e9,
    alpha=0.5e-6,
    nominal=450e9,
    effective=359e9,
    source="bandwidth spec: 900 GB/s both directions together; effective: measured host to device 359 GB/s on GH200 "
    f"({_ML}); "
    "alpha order of magnitude: as a PCIe hop",
)

#: Grace to Grace in one tray.
GRACE_LINK = replace(
    C2C,
    kind="upi",
    label="Grace coherent link",
    bandwidth=150e9,
    nominal=150e9,
    effective=None,
    alpha=0.2e-6,
    source="bandwidth order of magnitude: below C2C, not re-checked, to be calibrated; alpha order of magnitude: as "
    "between other sockets",
)


#: AMD's GPU architecture (as it begins) -> (nominal, RCCL's GB/s of one link, what it is).
_XGMI = (
    ("94", 64e9, 48e9, "MI300"),
    ("95", 76.8e9, 48e9, "MI350"),
    ("910", 50e9, 36e9, "MI200"),
    ("", 46e9, 24e9, "MI50 to MI100"),
)


def build_xgmi(links: int = 1, gcn: str = "942") -> Cable:
    """AMD Infinity Fabric between two GPUs: `gcn` is their architecture, `"942"` (or `"gfx942"`) for MI300X.

    Args:
        links: joined side by side.
        gcn: LLVM's name of the architecture, with or without `gfx`.
    """
    short = gcn.lower().removeprefix("gfx")
    if short.startswith(("90a", "910")):
        short = "910"
    elif short.startswith("90"):
        short = ""
    _, nominal, rccl, what = next(row for row in _XGMI if short.startswith(row[0]))
    return Cable(
        kind="xgmi",
        label=f"xGMI ×{links}",
        bandwidth=nominal * links,
        alpha=0.7e-6,
        nominal=nominal * links,
        effective=rccl * links,
        width=links,
        source=_describe_xgmi_source(what, nominal, rccl),
    )


def _describe_xgmi_source(what: str, nominal: float, rccl: float) -> str:
    known = what == "MI300"
    rough = f"order of magnitude, {nominal / 1e9:g} GB/s per link of {what}"
    if known:
        bandwidth = f"bandwidth spec: 64 GB/s per peer link ({_ML})"
    else:
        bandwidth = f"bandwidth {rough}"
    measured = ""
    if known:
        measured = f", measured 47.67 busbw between two GPUs ({_ML})"
    plans = f"RCCL plans with {rccl / 1e9:g} per link of {what} (ROCm/rccl src/graph/topo.h; issue 1210){measured}"
    return f"{bandwidth}; effective: {plans}; alpha order of magnitude: as NVLink"


def build_ici(gigabytes: float, what: str, source: str) -> Cable:
    """A TPU's link to a neighbour: GB/s, one direction."""
    return Cable(
        kind="ici",
        label=f"ICI, {what}",
        bandwidth=gigabytes * 1e9,
        alpha=1e-6,
        nominal=gigabytes * 1e9,
        source=f"bandwidth spec: {gigabytes:g} GB/s per link and direction ({source}); alpha order of magnitude",
    )


_SOCKET_ALPHA = (
    0.2e-6,
    "alpha order of magnitude: above a remote memory access (0.1 µs), below the 0.58 µs that another NUMA node adds "
    "to a peer copy on EPYC (0.72 against 1.3 µs, voipmonitor/rtx6kpro "
    "hardware/asus-esc8000a-e13p-broadcom-switches.md)",
)


def build_socket_link(label: str, gigatransfers: float, links: int, nccl: float, cpu: str, lanes: int = 16) -> Cable:
    """The link between two sockets: `links` of `lanes` lanes at `gigatransfers` per second; `nccl` is its model's
    GB/s.

    Args:
        label: as people say it, `"UPI"`.
        gigatransfers: 10^9 transfers a second of a lane.
        links: between the two sockets.
        nccl: 10^9 B/s that NCCL's model takes for it.
        cpu: of the processors, for the source.
        lanes: of one link.
    """
    nominal = gigatransfers * 1e9 * lanes / 8 * links
    alpha, alpha_source = _SOCKET_ALPHA
    return Cable(
        kind="upi",
        label=f"{label} ×{links}",
        bandwidth=nominal,
        alpha=alpha,
        nominal=nominal,
        effective=nccl * 1e9,
        width=links,
        source=f"bandwidth by {links} links of {lanes} lanes at {gigatransfers:g} GT/s, the class of {cpu}, order of "
        "magnitude: the number of links depends on the board; "
        f"effective: {nccl:g}, {_NCCL}; {alpha_source}",
    )


def build_memory(label: str, megatransfers: int, channels: int, cpu: str) -> Cable:
    """Memory of one socket. Reads and writes share the channels; each direction is given the whole."""
    rate = megatransfers * 1e6 * 8 * channels
    return Cable(
        kind="memory",
        label=f"{label} ×{channels}",
        bandwidth=rate,
        alpha=0.1e-6,
        nominal=rate,
        width=channels,
        source=f"bandwidth spec: {channels} channels × 8 bytes × {megatransfers} MT/s, {cpu} (JEDEC arithmetic; reads "
        "and "
        f"writes share it); "
        "alpha order of magnitude: one DRAM access",
    )


@dataclass(frozen=True)
class Nic:
    """A network card.

    Attributes:
        name: as `machine(nic=...)` takes it.
        cable: to its switch.
        rdma: does it do RDMA? Without it there is no GPUDirect RDMA either.
        sharp: does its switch reduce for NCCL? "NVIDIA ConnectX-6 HDR and above, NVIDIA Quantum HDR switch and above"
            (NVIDIA SHARP 3.9.1 LTS, Using NVIDIA SHARP with NVIDIA NCCL).
    """

    name: str
    cable: Cable
    rdma: bool = True
    sharp: bool = False


def _build_infiniband(name: str, rate: float, effective: float, alpha: float, alpha_source: str) -> Nic:
    source = f"bandwidth spec: {rate * 8 / 1e9:g} Gbit/s data rate ({_ML}); {alpha_source}"
    cable = Cable("infiniband", f"IB {name.upper()}", rate, alpha, source, nominal=rate, effective=effective)
    return Nic(f"ib-{name}", cable, sharp=name != "edr")


def _build_ethernet(gigabits: int, rdma: bool) -> Nic:
    rate = gigabits * 1e9 / 8
    name, label = (f"roce-{gigabits}", f"RoCE {gigabits}G") if rdma else (f"tcp-{gigabits}", f"TCP {gigabits}G")
    share, alpha, alpha_source = _ROCE if rdma else _TCP
    source = f"bandwidth spec: {gigabits} Gbit/s line rate; {alpha_source}"
    return Nic(name, Cable("ethernet", label, rate, alpha, source, nominal=rate, effective=rate * share), rdma)


_ROCE = (
    0.94,
    0.7e-6,
    f"effective: measured 0.93 to 0.98 of the line rate (osu_bw 25G and 50G, {_EXCALIBUR}; ib_write_bw 200G, "
    f"schmaustech/nvidia-tools-image); alpha measured: host latency 1.38 to 1.44 µs over two cables ({_EXCALIBUR})",
)
_TCP = (
    0.91,
    13e-6,
    "effective: measured NCCL socket busbw 1.14 of 1.25 GB/s (dexhunter/allreduce-experiments), faster cards reach "
    "less; alpha measured: kernel TCP 26 µs one way over two cables at 10 GbE (RTI Perftest 6.1)",
)
_HDR_WHY = (
    "effective: ib_read_bw 197.5 Gbit/s (Azure/aks-rdma-infiniband); alpha measured: host latency over two cables "
    f"1.47 µs with HDR ({_ABCI}), 0.97 µs with HDR100 ({_EXCALIBUR}): 0.49 to 0.74 µs each"
)

#: Network cards by name, for `machine(nic=...)`.
NICS: dict[str, Nic] = {
    nic.name: nic
    for nic in (
        _build_infiniband(
            "edr",
            12.5e9,
            12.17e9,
            0.5e-6,
            f"effective: osu_bw host 12.17 GB/s ({_EXCALIBUR}); alpha measured: host latency 0.87 to 1.02 µs over "
            f"two cables ({_ABCI}; {_EXCALIBUR})",
        ),
        _build_infiniband("hdr", 25e9, 24.69e9, 0.6e-6, _HDR_WHY),
        _build_infiniband(
            "ndr",
            50e9,
            48.9e9,
            0.6e-6,
            "effective: NCCL busbw 48.9 GB/s per NIC (xxrjun/nccl-tests-cluster); alpha order of magnitude: as HDR",
        ),
        _build_infiniband(
            "xdr",
            100e9,
            97e9,
            0.6e-6,
            "effective: order of magnitude, as the share of NDR; alpha order of magnitude: as HDR",
        ),
        *(_build_ethernet(g, True) for g in (25, 50, 100, 200, 400, 800)),
        *(_build_ethernet(g, False) for g in (1, 10, 25, 40, 50, 100, 200, 400)),
        Nic(
            "efa-100",
            Cable(
                "ethernet",
                "EFA 100G",
                12.5e9,
                7e-6,
                "bandwidth spec: 4 × 100 Gbit/s of AWS p4d; effective: NCCL busbw 43.8 of 50 GB/s over 4 "
                "(aws-samples/aws-efa-eks); alpha order of magnitude: EFA's SRD takes about 15 µs one way",
                nominal=12.5e9,
                effective=10.95e9,
            ),
        ),
        Nic(
            "efa-200",
            Cable(
                "ethernet",
                "EFA 200G",
                25e9,
                7e-6,
                f"bandwidth spec: 200 Gbit/s per adapter; effective: ib_write_bw SRD 193.72 Gbit/s on p5en ({_ML}); "
                "alpha order of magnitude: as EFA 100G",
                nominal=25e9,
                effective=24.2e9,
            ),
        ),
        Nic(
            "efa-400",
            Cable(
                "ethernet",
                "4 × EFA 100G",
                50e9,
                7e-6,
                "bandwidth spec: 32 × 100 Gbit/s of AWS p5, four to a GPU; effective: order of magnitude, the share "
                "of EFA 200G; alpha order of magnitude: as EFA 100G",
                nominal=50e9,
                effective=48.4e9,
            ),
        ),
        Nic(
            "slingshot",
            Cable(
                "ethernet",
                "Slingshot 11",
                25e9,
                0.9e-6,
                "bandwidth spec: Rosetta ports of 200 Gbit/s (De Sensi et al. 2020, arXiv 2008.08886); effective: "
                "NCCL ring busbw 92 of 100 GB/s on 4 NICs (boeschf/nccl-benchmark-on-alps-2025); alpha order of "
                "magnitude: about 1.8 µs between hosts under one switch",
                nominal=25e9,
                effective=23e9,
            ),
        ),
    )
}


def find_nic(name: object) -> Nic:
    """A network card by name. Raises TopologyError with the nearest names."""
    if isinstance(name, Nic):
        return name
    return NICS[require_word("NIC", name, NICS, TopologyError)]


def apply_rates(cable: Cable, rates: str) -> Cable:
    """The cable with its nominal or its effective rate as the one that simulations use."""
    if rates == "nominal" or cable.effective is None:
        return cable
    return replace(cable, bandwidth=cable.effective)
