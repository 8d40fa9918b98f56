"""What links really carry, and what a step over them really costs: few factors, per kind of link and protocol.

All but those in `READ_OFF` were found together by `crossval.refit`: least squares on the logarithm of predicted over
measured time of some 170 published nccl-tests runs, weighed by run, with a loss that lets go of those far from all
others (Cauchy), starting from NCCL's own link speeds and step latencies (`crossval.PRIOR`), with kinds of link that few
systems have held near their family. `docs/accuracy.md` shows how they do on systems left out of that fit. Beside a
factor stands a published run on an undisturbed machine that shows it. Two or three significant digits are kept.
No constant speaks of a system: only of what carries the data. Seconds, bytes, B/s; fractions of the nominal rate of one
direction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ...errors import CollsimError, describe_unknown

#: Wirings inside a node on which GPUs write straight into one another's memory over their own links.
FABRICS: Final = ("nvswitch", "mesh", "cube", "bridge", "xgmi")

#: Fraction of the nominal rate that a ring of large transfers gets.
CARRIES: Final[dict[str, float]] = {
    # 8x V100, allreduce 134.7 of 150 GB/s: github.com/Panlichen/nccl-tests test_scripts/v100_8card_para
    "nvlink-70": 0.79,
    "nvlink-80": 0.77,  # 4x and 8x A100, 234.7 of 300: github.com/eugenesiow/LLM-Insights infrastructure/hardware
    "nvlink-90": 0.81,  # 4 to 8 H200, 363 to 366 of 450: github.com/stas00/ml-engineering network
    "nvlink-100": 0.78,  # 4 to 8 B200, 673 to 686 of 900: github.com/stas00/ml-engineering network
    "bridge": 0.78,  # A40 pair, 47.5 of 56.25: github.com/eugenesiow/LLM-Insights infrastructure/hardware
    "xgmi": 0.74,  # 8x MI300X, 312.9 of 448: github.com/stas00/ml-engineering network
    "pcie1": 0.75,  # read off: NCCL's own constants are 3 of 4 and 6 of 8 GB/s (src/graph/topo.h)
    "pcie2": 0.75,
    "pcie3": 0.74,  # NCCL's own constant is 12 of 15.75 (src/graph/topo.h)
    "pcie4": 0.73,  # A100-PCIE under one switch, 19.7 of 31.5: github.com/thomaslie210/NCCL_Test_Results
    "pcie5": 0.75,  # one peer-to-peer copy gets 53.9 of 63, and no ring more: github.com/voipmonitor/rtx6kpro hardware
    "pcie6": 0.77,  # as its family: nothing measured is at hand
    "ib": 0.90,  # B200 ring over 8 NDR, 388 of 400: github.com/togethercomputer/together-nccl-tests
    "roce": 0.90,  # MI325X 350 of 400, H100 157 of 200 (github.com/hisohara/ai-scripts; NVIDIA/nccl issue 1411)
    "efa": 0.87,  # read off: p4d, 43.8 of 50: github.com/aws-samples/aws-efa-eks
    "slingshot": 0.87,  # 36.1 of 50 (argonne-lcf/alcf-nccl-tests) and 92 of 100 (boeschf/nccl-benchmark-on-alps-2025)
    "tcp": 0.89,  # 10 GbE, 1.17 of 1.25: github.com/dexhunter/allreduce-experiments
    "tcpx": 0.52,  # read off, one system: A3 High, 50.2 of 100: github.com/dstackai/dstack
    "tcpxo": 0.89,  # A3 Mega, 188.7 of 200: github.com/GoogleCloudPlatform/cluster-toolkit
}

#: NVLink SHARP: fraction of a GPU's links that S(1+1/n) bytes get, by compute capability: H200 with 6 and 7 GPUs 435.6
#: and 460.0, B200 with 7 and 8 GPUs 811 and 841 GB/s of busbw (github.com/stas00/ml-engineering network;
#: together-nccl-tests).
NVLS_CARRIES: Final[dict[int, float]] = {90: 0.65, 100: 0.63}

#: Read off: factor on that in an NVLink domain of more than two trays, whose switches sit in trays of their own. 72
#: GB200 get 839 GB/s of busbw (algbw 425: github.com/coreweave/nccl-tests pull request 43), 8 GB300 on two trays as
#: much as 8 on one board (481 of algbw, OCI's guide; B300 483: NVIDIA/nccl issue 2140).
NVLS_DOMAIN = 0.77

#: The same of the S bytes that a GPU of an allgather receives and of a reduce-scatter sends, its own block among them:
#: 358 to 362 GB/s of busbw on 8 H100 (github.com/togethercomputer/together-nccl-tests, github.com/xxrjun/
#: nccl-tests-cluster), 305 on 4 of them at 128 MiB (Snellius). Of B200 nothing measured is at hand: as its ring against
#: that of H100.
NVLS_MULTICAST: Final[dict[int, float]] = {90: 0.92, 100: 0.89}

#: Through pinned host memory (`machine.host_flows`): share of a PCIe link in one direction. 18.2 of 31.5 GB/s between 2
#: RTX 4090, one way (github.com/Panlichen/nccl-tests test_scripts/4090_2card_para); 16.1 on 8 RTX 4090, both ways, each
#: on a slot of its own (4090_8card_para there); 35 of 63 across the sockets of 4 GPUs (NVIDIA/nccl issue 1130). Where
#: two GPUs share the uplink of a switch each gets half: NVIDIA/nccl issues 1086 and 1309.
HOST_ONE_WAY = 0.56
#: Read off: share of a socket's memory rate, writes and reads together. 4 GPUs of one socket get 24 GB/s each (NVIDIA/
#: nccl issue 1130), 8 RTX 5090 on two sockets 28 (issue 1639), which is 192 and 224 of the 307 GB/s of eight channels
#: of DDR5-4800.
HOST_MEMORY = 0.7
#: Read off: factor where host memory is on the other side of a PCIe fabric, as reads wait for it: 4.04 GB/s both ways
#: and 6.4 one way on PCIe 4 (github.com/thomaslie210/NCCL_Test_Results SmartIO).
HOST_FABRIC = 0.4

#: PCIe peer traffic over the inter-socket link: 14.4 to 15.8 of 19.7 GB/s (github.com/thomaslie210/NCCL_Test_Results).
#: The fit starts from what NCCL plans with between AMD's sockets, 16 GB/s where a slot has 24 (src/graph/topo.h).
CROSSING = 0.67

#: Read off: TCP moves what a CPU moves per NIC, the median of what is published of cards of 25 Gbit/s and more: 1.4
#: GB/s (NVIDIA/nccl issue 450, 100 Gbit/s), 1.85 and 1.9 with one GPU and with eight a node, 2.8 on four nodes, 3.9
#: with eight threads (issue 209, 32 Gbit/s), 4.7 (issue 398, 100 Gbit/s), 4.7 each over two of 200 Gbit/s
#: (github.com/argonne-lcf/alcf-nccl-tests).
TCP_PER_NIC = 2.8e9

#: Fraction of a slot that send and receive each get to a NIC whose data are staged in host memory, GPUDirect RDMA off:
#: 12.6 of 31.5 GB/s both ways at once where one way alone has 22.7 of the card's 25 (github.com/thomaslie210/
#: NCCL_Test_Results GDR_Off), 5.4 to 6.0 of 15.75 (github.com/dexhunter/allreduce-experiments); a card of 12.5 GB/s
#: is not held back: 10.8 (ROCm/ROCm issue 5571).
WITHOUT_GDR = 0.4

#: The same where a PCIe card reaches its NIC through the host bridge: send and receive meet there, so that the fit
#: starts from half. 14.8 of 31.5 GB/s both ways, 24.1 one way (GDR_On there).
HOST_BRIDGE = 0.5

#: Point-to-point traffic over the network against a ring's: NCCL gives it few channels and sends in pieces of 128 KiB
#: (src/init.cc, p2pNetChunkSize). Sendrecv 24.9 to 26.2, alltoall 44.7 to 49.5 per GPU with a 50 GB/s NIC
#: (github.com/xxrjun/nccl-tests-cluster), and others; the fit starts from 0.85 for both.
NET_P2P: Final[dict[str, float]] = {"sendrecv": 0.61, "alltoall": 0.83}

#: Read off: pieces of sends and receives up to this size stay on one channel (an A100 pair is flat at 12.5 GB/s up to 2
#: MiB: github.com/abhivijay96/nccl-tests exps/cw).
P2P_SPLIT = 2.0**21

#: Read off: what is left of a link's rate with LL128 and Simple where the block of a rank in an allgather or
#: reduce-scatter is no multiple of 16 bytes. NCCL copies 16 bytes at a time only where all is aligned to them (src/
#: collectives/device/common_kernel.h), and nccl-tests trims its blocks to that (commit 29f4114). 12 V100 of a DGX-2
#: with blocks of 8 bytes more: 73.8 and 64.2 GB/s where reduce has 122.7 (github.com/wohlbier/nccl-tests). Others
#: report it, too: NVIDIA/nccl issue 413, pytorch issue 195450, and horovod pull request 3727 (6.3 MB in over 7 ms,
#: where a size that is aligned takes under 2).
UNALIGNED = 0.6

#: What one channel moves per second, by protocol, of the GPUs before Hopper: calls of few bytes get few channels (NCCL
#: src/enqueue.cc), and thread blocks of newer GPUs move more, as NCCL counts (constants.RING_LL128_MAX). The fit starts
#: from NCCL's own: 20 GB/s (tuning.cc, perChMaxRingLL128Bws), and half of a line for LL.
CHANNEL: Final[dict[str, float]] = {"LL": 1.8e10, "LL128": 2.0e10, "Simple": 2.0e10}

#: What a tree gets inside a node of the rate that a ring gets: NCCL's own factor (tuning.cc); 556 of 686 GB/s on B200
#: (together-nccl-tests). Between nodes trees fill the wire as rings do: 192 of 200 GB/s (NVIDIA/nccl issue 1801).
TREE = 0.92

#: Seconds that a process needs to launch: per call, per call of grouped sends and receives, and per GPU of a node where
#: it is not stated how many of them a process has (one host process often launches for all).
LAUNCH, LAUNCH_P2P, LAUNCH_PER_GPU = 2.7e-6, 5.9e-6, 2.0e-6

#: Seconds per GPU of the process where somebody says who launches: the smallest allreduce of 2, 4 and 8 GPUs of one
#: process takes 6.2, 18.5 and 30.5 to 42.1 us (RTX 4070 Ti, RTX 4090, H200, A100 and MI350X); a process per GPU 13.1 us
#: on the same 8 MI350X and on 8 MI300X. Their sources: docs/accuracy.md.
LAUNCH_EACH = 3.4e-6

#: Seconds that a kernel needs to start and to end, whoever launched it, and one of sends and receives: 8 MI300X take
#: 6.0 us from a captured graph (there).
KERNEL, KERNEL_P2P = 4.1e-6, 5.9e-6

#: Launching a call overlaps with the kernel before: the power of the norm that joins the two (1: their sum; infinity:
#: the longer one). 8 H200 of one process take 31 us from 4 KiB to 512 KiB of NVLS and 35 at 1 MiB (Azure, see
#: docs/accuracy.md): nearly the longer one. Between, as hosts are not evenly fast: chosen among 1, 1.25, 1.5, 2, 3, 4
#: and 8 by systems left out.
OVERLAP = 1.25

#: Factor on that for allgather and reduce-scatter, where every rank has a block for every other and none is empty: the
#: smallest call takes 14.0 and 27.8 us on 4 and 8 A100 where allreduce takes 11.8 and 23.2
#: (github.com/abhivijay96/nccl-tests exps/cw).
BLOCKS = 1.3

#: Seconds per peer of an alltoall.
PEER = 2.2e-6

#: Factor on the library's step latency (tuning.cc, hwLatencies) of LL and LL128.
STEP: Final[dict[str, float]] = {
    **dict.fromkeys(FABRICS, 0.21),
    **dict.fromkeys(("pcie", "host"), 0.19),
    **dict.fromkeys(("ib", "roce", "efa", "tcp", "tcpx", "tcpxo"), 1.45),
    "slingshot": 1.3,
}

#: The same for Simple; `nvls` for NVLS and the NVLS part of NVLSTree.
STEP_BULK: Final[dict[str, float]] = {
    **dict.fromkeys(FABRICS, 0.43),
    "nvls": 0.52,
    **dict.fromkeys(("pcie", "host"), 0.41),
    **dict.fromkeys(("ib", "roce", "efa", "tcp", "tcpx", "tcpxo"), 1.37),
    "slingshot": 1.3,
}

#: Seconds that a step over a network takes more, whatever the protocol, where software stands between GPU and card. The
#: fit starts from 20 us of EFA, as AWS's own tuner has it (aws/aws-ofi-nccl src/tuner/nccl_ofi_model.cpp, net_lat of
#: P5), and 30 us of sockets.
SOFTWARE: Final[dict[str, float]] = {"efa": 3.1e-5, "tcp": 3.3e-5, "tcpx": 5.1e-5, "tcpxo": 5.1e-5}

#: Factor on a network step that is staged through host memory.
STEP_WITHOUT_GDR = 1.5

#: Slingshot's provider sends up to about this many bytes at once and negotiates beyond (libfabric 2.4 changes:
#: rendezvous eager size 2K; buffers of LL are twice the data); a step then takes this much longer.
EAGER: Final[dict[str, int]] = {"slingshot": 4096}
RENDEZVOUS = 19e-6

#: Pipeline: share of sqrt(waiting x bytes) that cannot be hidden, and the ratio bytes/waiting at which it fades (many
#: chunks in flight).
FILL: Final[dict[str, tuple[float, float]]] = {"LL": (1.4, 16.0), "LL128": (2.2, 30.0), "Simple": (2.6, 5.0)}

#: Factor on that share where GPUs of a node are joined by PCIe or host memory: thread blocks are faster than such a
#: link and seldom let it wait.
FILL_PCIE = 0.44

#: Waiting that even a ring of two has: filling and draining the buffers of a channel.
WAIT: Final[dict[str, float]] = {"LL": 11e-6, "LL128": 11e-6, "Simple": 5.3e-6}

#: Share of a chain's steps over which a broadcast or reduce has to fill its pipeline.
CHAIN = 0.98

#: Read off: bytes from which on a broadcast or reduce with LL waits for the call before over all of its hops. Calls of
#: up to 2 KiB take 5.2 to 7.1 us on V100 and 7.5 to 9.3 us on A100, of 2 nodes as of 8 and 32; at 16 KiB 12, 32 and 33
#: us on 2, 8 and 32 nodes (github.com/aistabci/abci2.0benchmark).
RUN_AHEAD = 8192

#: What was not found by that fit, and from what it was read off; `origins` asks here.
READ_OFF: Final[dict[str, str]] = {
    **dict.fromkeys(("carries.pcie1", "carries.pcie2"), "NCCL's own constants, 3 of 4 and 6 of 8 GB/s (topo.h)"),
    "carries.efa": "43.8 of 50 GB/s (aws-samples/aws-efa-eks)",
    "carries.tcpx": "one system: 50.2 of 100 GB/s (dstackai/dstack)",
    "nvls_multicast.90": "8 H100, 358 GB/s of busbw (togethercomputer/together-nccl-tests)",
    "nvls_multicast.100": "as a ring of B200 against one of H100",
    "tcp_per_nic": "median of seven (NVIDIA/nccl issues 209, 398, 450; argonne-lcf/alcf-nccl-tests)",
    "nvls_domain": "72 GB200, 839 GB/s of busbw (coreweave/nccl-tests pull request 43)",
    "host_memory": "24 GB/s on 4 GPUs of one socket and 28 on 8 RTX 5090 (NVIDIA/nccl issues 1130 and 1639)",
    "host_fabric": "4.04 GB/s both ways, 6.4 one way (thomaslie210/NCCL_Test_Results SmartIO)",
    "p2p_split": "an A100 pair (abhivijay96/nccl-tests)",
    "unaligned": "12 V100 (wohlbier/nccl-tests)",
    "run_ahead": "broadcasts of 2, 8 and 32 nodes (aistabci/abci2.0benchmark)",
    "overlap": "among seven powers, by systems left out",
    "eager.slingshot": "libfabric 2.4: rendezvous eager size",
}
#: Fields of `LinkParameters` that are no constants: factors that turn a term of the model off.
SWITCHES: Final = ("protocol_overhead", "channel_caps", "card_spread", "drain")
#: Constants that are NCCL's own, with the file that has them.
FROM_NCCL: Final[dict[str, str]] = {"tree": "src/graph/tuning.cc: a tree's bandwidth x 0.92"}


@dataclass(frozen=True)
class LinkParameters:
    """The constants above as one value, so that a calibration can replace some of them.

    Attributes:
        carries: share of the nominal rate that a kind of link carries (`CARRIES`).
        nvls_carries: the same of NVLink SHARP, by compute capability (`NVLS_CARRIES`).
        nvls_domain: factor on that over more than two trays (`NVLS_DOMAIN`).
        nvls_multicast: the same of an allgather or reduce-scatter (`NVLS_MULTICAST`).
        host_one_way: share of a PCIe link through pinned host memory, in one direction (`HOST_ONE_WAY`).
        host_memory: share of a socket's memory, writes and reads together (`HOST_MEMORY`).
        host_fabric: factor where host memory is behind a PCIe fabric (`HOST_FABRIC`).
        crossing: factor on PCIe peer traffic across sockets (`CROSSING`).
        tcp_per_nic: B/s that a CPU moves over TCP for each NIC (`TCP_PER_NIC`).
        without_gdr: share of a slot to a NIC without GPUDirect RDMA, both directions at once (`WITHOUT_GDR`).
        host_bridge: the same where a PCIe card reaches its NIC through the host bridge (`HOST_BRIDGE`).
        net_p2p: factor on the network for sends and receives, by collective (`NET_P2P`).
        p2p_split: bytes up to which a send stays on one channel (`P2P_SPLIT`).
        unaligned: factor on the rate of blocks that are no multiple of 16 bytes (`UNALIGNED`).
        channel: B/s of one channel, by protocol (`CHANNEL`).
        tree: a tree's share of a ring's rate inside a node (`TREE`).
        launch: seconds to launch a call (`LAUNCH`).
        launch_p2p: seconds to launch grouped sends and receives (`LAUNCH_P2P`).
        launch_per_gpu: seconds per GPU of a node, where it is not stated who launches (`LAUNCH_PER_GPU`).
        launch_each: seconds per GPU of a process, where it is (`LAUNCH_EACH`).
        kernel: seconds that a kernel takes to start and end (`KERNEL`).
        kernel_p2p: the same of sends and receives (`KERNEL_P2P`).
        overlap: power of the norm that joins launch and kernel (`OVERLAP`).
        blocks: factor on the launch per GPU of allgather and reduce-scatter (`BLOCKS`).
        peer: seconds per peer of an alltoall (`PEER`).
        step: factor on a step of LL and LL128, by kind of link (`STEP`).
        step_bulk: the same of Simple (`STEP_BULK`).
        software: seconds that a network step takes longer in software, by network (`SOFTWARE`).
        step_without_gdr: factor on a network step without GPUDirect RDMA (`STEP_WITHOUT_GDR`).
        eager: bytes from which a step negotiates first, by network (`EAGER`).
        rendezvous: seconds that this takes (`RENDEZVOUS`).
        fill: share of sqrt(waiting x bytes) that the pipeline cannot hide, by protocol (`FILL`).
        fill_pcie: factor on that over PCIe and host memory (`FILL_PCIE`).
        fade: ratio of bytes to waiting at which it fades, by protocol (`FILL`).
        wait: seconds of waiting that even two ranks have, by protocol (`WAIT`).
        chain: share of a chain's steps over which a broadcast fills its pipeline (`CHAIN`).
        run_ahead: bytes from which a broadcast with LL waits for the call before (`RUN_AHEAD`).
        protocol_overhead: factor on what the flags of LL and LL128 take of the bytes on the wire.
        channel_caps: factor on NCCL's own caps on what thread blocks move.
        card_spread: share of the cards beyond a GPU's nearest that its channels use.
        drain: factor on the last slice of a ring, which has nothing to overlap with.

    Examples:
        >>> import collsim as cs
        >>> machine, bare = cs.machine("dgx-a100"), cs.nccl.LinkParameters().without(*cs.nccl.TERMS)
        >>> cs.nccl.predict("allgather", machine, "1GiB", links=bare).parts.limit
        'nvswitch'
    """

    carries: Mapping[str, float] = field(default_factory=lambda: dict(CARRIES))
    nvls_carries: Mapping[int, float] = field(default_factory=lambda: dict(NVLS_CARRIES))
    nvls_domain: float = NVLS_DOMAIN
    nvls_multicast: Mapping[int, float] = field(default_factory=lambda: dict(NVLS_MULTICAST))
    host_one_way: float = HOST_ONE_WAY
    host_memory: float = HOST_MEMORY
    host_fabric: float = HOST_FABRIC
    crossing: float = CROSSING
    tcp_per_nic: float = TCP_PER_NIC
    without_gdr: float = WITHOUT_GDR
    host_bridge: float = HOST_BRIDGE
    net_p2p: Mapping[str, float] = field(default_factory=lambda: dict(NET_P2P))
    p2p_split: float = P2P_SPLIT
    unaligned: float = UNALIGNED
    channel: Mapping[str, float] = field(default_factory=lambda: dict(CHANNEL))
    tree: float = TREE
    launch: float = LAUNCH
    launch_p2p: float = LAUNCH_P2P
    launch_per_gpu: float = LAUNCH_PER_GPU
    launch_each: float = LAUNCH_EACH
    kernel: float = KERNEL
    kernel_p2p: float = KERNEL_P2P
    overlap: float = OVERLAP
    blocks: float = BLOCKS
    peer: float = PEER
    step: Mapping[str, float] = field(default_factory=lambda: dict(STEP))
    step_bulk: Mapping[str, float] = field(default_factory=lambda: dict(STEP_BULK))
    software: Mapping[str, float] = field(default_factory=lambda: dict(SOFTWARE))
    step_without_gdr: float = STEP_WITHOUT_GDR
    eager: Mapping[str, int] = field(default_factory=lambda: dict(EAGER))
    rendezvous: float = RENDEZVOUS
    fill: Mapping[str, float] = field(default_factory=lambda: {p: share for p, (share, _) in FILL.items()})
    fill_pcie: float = FILL_PCIE
    fade: Mapping[str, float] = field(default_factory=lambda: {p: fade for p, (_, fade) in FILL.items()})
    wait: Mapping[str, float] = field(default_factory=lambda: dict(WAIT))
    chain: float = CHAIN
    run_ahead: int = RUN_AHEAD
    protocol_overhead: float = 1.0
    channel_caps: float = 1.0
    card_spread: float = 1.0
    drain: float = 1.0

    def without(self, *terms: str) -> LinkParameters:
        """Turn terms of the model off: what is left without all of them is bytes on links at their nominal rates.

        Args:
            terms: names of `TERMS`.

        Returns:
            The parameters without them.

        Raises:
            CollsimError: for an unknown term.
        """
        parameters = self
        for term in terms:
            if term not in TERMS:
                raise CollsimError(describe_unknown("term", term, TERMS))
            parameters = replace(parameters, **_build_values_without(term, parameters))  # type: ignore[arg-type]
        return parameters


def _build_values_without(term: str, links: LinkParameters) -> dict[str, object]:
    """The fields that a term stands for, with the values that turn it off."""
    if term == "launch":
        fields = ("launch", "launch_p2p", "launch_per_gpu", "launch_each", "kernel", "kernel_p2p", "peer")
        return dict.fromkeys(fields, 0.0)
    if term == "steps":
        without_steps = {name: dict.fromkeys(getattr(links, name), 0.0) for name in ("step", "step_bulk", "software")}
        return {**without_steps, "rendezvous": 0.0}
    if term == "fill":
        return {"fill": dict.fromkeys(links.fill, 0.0), "drain": 0.0, "p2p_split": 0.0}
    if term == "rate":
        shares = {name: dict.fromkeys(getattr(links, name), 1.0) for name in _SHARES}
        ones = dict.fromkeys(("nvls_domain", "host_one_way", "host_fabric", "crossing", "tree"), 1.0)
        unlimited = dict.fromkeys(("tcp_per_nic", "without_gdr", "host_bridge"), math.inf)
        # a cable of a topology carries its rate in each direction, memory its rate of both together
        return {**shares, **ones, **unlimited, "host_memory": 2.0}
    if term == "channels":
        return {"channel": dict.fromkeys(links.channel, math.inf), "channel_caps": math.inf}
    return {{"alignment": "unaligned", "protocol": "protocol_overhead", "cards": "card_spread"}[term]: _OFF[term]}


_SHARES: Final = ("carries", "nvls_carries", "nvls_multicast", "net_p2p")
#: Value that turns a term of a single field off.
_OFF: Final = {"alignment": 1.0, "protocol": 0.0, "cards": 0.0}
#: Terms of a prediction, in the order in which `difference.compute_terms` turns them off: kernel launches, steps that
#: wait for one another, the pipeline between them, blocks that are not aligned, flags of the protocol, caps of thread
#: blocks, what links carry of their nominal rates, and cards beyond a GPU's nearest.
TERMS: Final = ("fill", "launch", "steps", "alignment", "protocol", "channels", "rate", "cards")


#: What collsim predicts with unless a calibration says otherwise.
MEASURED: Final = LinkParameters()
