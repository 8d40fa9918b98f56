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
from typing import Any, Final

from ...errors import CollsimError, describe_unknown
from ...package_data import read_number_tables, use_number_keys

#: Wirings inside a node on which GPUs write straight into one another's memory over their own links.
FABRICS: Final = ("nvswitch", "mesh", "cube", "bridge", "xgmi")

_TABLES = read_number_tables(__file__, "links.toml")
_TABLES["carries"] = {kind: row["share"] for kind, row in _TABLES["carries"].items()}
_TABLES |= {name: use_number_keys(_TABLES[name]) for name in ("nvls_carries", "nvls_multicast")}
#: What was not found by that fit, and from what it was read off; `origins` asks here.
READ_OFF: Final[dict[str, str]] = _TABLES["read_off"]
#: Fields of `LinkParameters` that are no constants: factors that turn a term of the model off.
SWITCHES: Final = ("protocol_overhead", "channel_caps", "card_spread", "drain")
#: Constants that are NCCL's own, with the file that has them.
FROM_NCCL: Final[dict[str, str]] = {"tree": "src/graph/tuning.cc: a tree's bandwidth x 0.92"}


def _default_to_table(name: str) -> Mapping[Any, Any]:
    """Default a field of `LinkParameters` to its table of `links.toml`."""
    return field(default_factory=lambda: dict(_TABLES[name]))


@dataclass(frozen=True)
class LinkParameters:
    """All constants as one value, so that a calibration can replace some of them; tables are in `links.toml`.

    Attributes:
        carries: share of the nominal rate that a kind of link carries.
        nvls_carries: the same of NVLink SHARP, by compute capability.
        nvls_domain: factor on that over more than two trays.
        nvls_multicast: the same of an allgather or reduce-scatter.
        host_one_way: share of a PCIe link through pinned host memory, in one direction.
        host_memory: share of a socket's memory, writes and reads together.
        host_fabric: factor where host memory is behind a PCIe fabric.
        crossing: factor on PCIe peer traffic across sockets.
        tcp_per_nic: B/s that a CPU moves over TCP for each NIC.
        without_gdr: share of a slot to a NIC without GPUDirect RDMA, both directions at once.
        host_bridge: the same where a PCIe card reaches its NIC through the host bridge.
        net_p2p: factor on the network for sends and receives, by collective.
        p2p_split: bytes up to which a send stays on one channel.
        unaligned: factor on the rate of blocks that are no multiple of 16 bytes.
        channel: B/s of one channel, by protocol.
        tree: a tree's share of a ring's rate inside a node.
        launch: seconds to launch a call.
        launch_p2p: seconds to launch grouped sends and receives.
        launch_per_gpu: seconds per GPU of a node, where it is not stated who launches.
        launch_each: seconds per GPU of a process, where it is.
        kernel: seconds that a kernel takes to start and end.
        kernel_p2p: the same of sends and receives.
        overlap: power of the norm that joins launch and kernel.
        blocks: factor on the launch per GPU of allgather and reduce-scatter.
        peer: seconds per peer of an alltoall.
        step: factor on a step of LL and LL128, by kind of link.
        step_bulk: the same of Simple.
        software: seconds that a network step takes longer in software, by network.
        step_without_gdr: factor on a network step without GPUDirect RDMA.
        eager: bytes from which a step negotiates first, by network.
        rendezvous: seconds that this takes.
        fill: share of sqrt(waiting x bytes) that the pipeline cannot hide, by protocol.
        fill_pcie: factor on that over PCIe and host memory.
        fade: ratio of bytes to waiting at which it fades, by protocol.
        wait: seconds of waiting that even two ranks have, by protocol.
        chain: share of a chain's steps over which a broadcast fills its pipeline.
        run_ahead: bytes from which a broadcast with LL waits for the call before.
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

    #: Fraction of the nominal rate that a ring of large transfers gets.
    carries: Mapping[str, float] = _default_to_table("carries")
    #: NVLink SHARP: fraction of a GPU's links that S(1+1/n) bytes get, by compute capability: H200 with 6 and 7 GPUs
    #: 435.6 and 460.0, B200 with 7 and 8 GPUs 811 and 841 GB/s of busbw (github.com/stas00/ml-engineering network;
    #: together-nccl-tests).
    nvls_carries: Mapping[int, float] = _default_to_table("nvls_carries")
    #: Read off: factor on that in an NVLink domain of more than two trays, whose switches sit in trays of their own. 72
    #: GB200 get 839 GB/s of busbw (algbw 425: github.com/coreweave/nccl-tests pull request 43), 8 GB300 on two trays as
    #: much as 8 on one board (481 of algbw, OCI's guide; B300 483: NVIDIA/nccl issue 2140).
    nvls_domain: float = 0.77
    #: The same of the S bytes that a GPU of an allgather receives and of a reduce-scatter sends, its own block among
    #: them: 358 to 362 GB/s of busbw on 8 H100 (github.com/togethercomputer/together-nccl-tests, github.com/xxrjun/
    #: nccl-tests-cluster), 305 on 4 of them at 128 MiB (Snellius). Of B200 nothing measured is at hand: as its ring
    #: against that of H100.
    nvls_multicast: Mapping[int, float] = _default_to_table("nvls_multicast")
    #: Through pinned host memory (`machine.host_flows`): share of a PCIe link in one direction. 18.2 of 31.5 GB/s
    #: between 2 RTX 4090, one way (github.com/Panlichen/nccl-tests test_scripts/4090_2card_para); 16.1 on 8 RTX 4090,
    #: both ways, each on a slot of its own (4090_8card_para there); 35 of 63 across the sockets of 4 GPUs (NVIDIA/nccl
    #: issue 1130). Where two GPUs share the uplink of a switch each gets half: NVIDIA/nccl issues 1086 and 1309.
    host_one_way: float = 0.56
    #: Read off: share of a socket's memory rate, writes and reads together. 4 GPUs of one socket get 24 GB/s each
    #: (NVIDIA/nccl issue 1130), 8 RTX 5090 on two sockets 28 (issue 1639), which is 192 and 224 of the 307 GB/s of
    #: eight channels of DDR5-4800.
    host_memory: float = 0.7
    #: Read off: factor where host memory is on the other side of a PCIe fabric, as reads wait for it: 4.04 GB/s both
    #: ways and 6.4 one way on PCIe 4 (github.com/thomaslie210/NCCL_Test_Results SmartIO).
    host_fabric: float = 0.4
    #: PCIe peer traffic over the inter-socket link: 14.4 to 15.8 of 19.7 GB/s
    #: (github.com/thomaslie210/NCCL_Test_Results). The fit starts from what NCCL plans with between AMD's sockets, 16
    #: GB/s where a slot has 24 (src/graph/topo.h).
    crossing: float = 0.67
    #: Read off: TCP moves what a CPU moves per NIC, the median of what is published of cards of 25 Gbit/s and more: 1.4
    #: GB/s (NVIDIA/nccl issue 450, 100 Gbit/s), 1.85 and 1.9 with one GPU and with eight a node, 2.8 on four nodes, 3.9
    #: with eight threads (issue 209, 32 Gbit/s), 4.7 (issue 398, 100 Gbit/s), 4.7 each over two of 200 Gbit/s
    #: (github.com/argonne-lcf/alcf-nccl-tests).
    tcp_per_nic: float = 2.8e9
    #: Fraction of a slot that send and receive each get to a NIC whose data are staged in host memory, GPUDirect RDMA
    #: off: 12.6 of 31.5 GB/s both ways at once where one way alone has 22.7 of the card's 25
    #: (github.com/thomaslie210/NCCL_Test_Results GDR_Off), 5.4 to 6.0 of 15.75
    #: (github.com/dexhunter/allreduce-experiments); a card of 12.5 GB/s is not held back: 10.8 (ROCm/ROCm issue 5571).
    without_gdr: float = 0.4
    #: The same where a PCIe card reaches its NIC through the host bridge: send and receive meet there, so that the fit
    #: starts from half. 14.8 of 31.5 GB/s both ways, 24.1 one way (GDR_On there).
    host_bridge: float = 0.5
    #: Point-to-point traffic over the network against a ring's: NCCL gives it few channels and sends in pieces of 128
    #: KiB (src/init.cc, p2pNetChunkSize). Sendrecv 24.9 to 26.2, alltoall 44.7 to 49.5 per GPU with a 50 GB/s NIC
    #: (github.com/xxrjun/nccl-tests-cluster), and others; the fit starts from 0.85 for both.
    net_p2p: Mapping[str, float] = _default_to_table("net_p2p")
    #: Read off: pieces of sends and receives up to this size stay on one channel (an A100 pair is flat at 12.5 GB/s up
    #: to 2 MiB: github.com/abhivijay96/nccl-tests exps/cw).
    p2p_split: float = 2.0**21
    #: Read off: what is left of a link's rate with LL128 and Simple where the block of a rank in an allgather or
    #: reduce-scatter is no multiple of 16 bytes. NCCL copies 16 bytes at a time only where all is aligned to them (src/
    #: collectives/device/common_kernel.h), and nccl-tests trims its blocks to that (commit 29f4114). 12 V100 of a DGX-2
    #: with blocks of 8 bytes more: 73.8 and 64.2 GB/s where reduce has 122.7 (github.com/wohlbier/nccl-tests). Others
    #: report it, too: NVIDIA/nccl issue 413, pytorch issue 195450, and horovod pull request 3727 (6.3 MB in over 7 ms,
    #: where a size that is aligned takes under 2).
    unaligned: float = 0.6
    #: What one channel moves per second, by protocol, of the GPUs before Hopper: calls of few bytes get few channels
    #: (NCCL src/enqueue.cc), and thread blocks of newer GPUs move more, as NCCL counts (constants.RING_LL128_MAX). The
    #: fit starts from NCCL's own: 20 GB/s (tuning.cc, perChMaxRingLL128Bws), and half of a line for LL.
    channel: Mapping[str, float] = _default_to_table("channel")
    #: What a tree gets inside a node of the rate that a ring gets: NCCL's own factor (tuning.cc); 556 of 686 GB/s on
    #: B200 (together-nccl-tests). Between nodes trees fill the wire as rings do: 192 of 200 GB/s (NVIDIA/nccl issue
    #: 1801).
    tree: float = 0.92
    #: Seconds that a process needs to launch: per call, per call of grouped sends and receives, and per GPU of a node
    #: where it is not stated how many of them a process has (one host process often launches for all).
    launch: float = 2.7e-6
    launch_p2p: float = 5.9e-6
    launch_per_gpu: float = 2.0e-6
    #: Seconds per GPU of the process where somebody says who launches: the smallest allreduce of 2, 4 and 8 GPUs of one
    #: process takes 6.2, 18.5 and 30.5 to 42.1 us (RTX 4070 Ti, RTX 4090, H200, A100 and MI350X); a process per GPU
    #: 13.1 us on the same 8 MI350X and on 8 MI300X. Their sources: docs/accuracy.md.
    launch_each: float = 3.4e-6
    #: Seconds that a kernel needs to start and to end, whoever launched it, and one of sends and receives: 8 MI300X
    #: take 6.0 us from a captured graph (there).
    kernel: float = 4.1e-6
    kernel_p2p: float = 5.9e-6
    #: Launching a call overlaps with the kernel before: the power of the norm that joins the two (1: their sum;
    #: infinity: the longer one). 8 H200 of one process take 31 us from 4 KiB to 512 KiB of NVLS and 35 at 1 MiB (Azure,
    #: see docs/accuracy.md): nearly the longer one. Between, as hosts are not evenly fast: chosen among 1, 1.25, 1.5,
    #: 2, 3, 4 and 8 by systems left out.
    overlap: float = 1.25
    #: Factor on that for allgather and reduce-scatter, where every rank has a block for every other and none is empty:
    #: the smallest call takes 14.0 and 27.8 us on 4 and 8 A100 where allreduce takes 11.8 and 23.2
    #: (github.com/abhivijay96/nccl-tests exps/cw).
    blocks: float = 1.3
    #: Seconds per peer of an alltoall.
    peer: float = 2.2e-6
    #: Factor on the library's step latency (tuning.cc, hwLatencies) of LL and LL128.
    step: Mapping[str, float] = _default_to_table("step")
    #: The same for Simple; `nvls` for NVLS and the NVLS part of NVLSTree.
    step_bulk: Mapping[str, float] = _default_to_table("step_bulk")
    #: Seconds that a step over a network takes more, whatever the protocol, where software stands between GPU and card.
    #: The fit starts from 20 us of EFA, as AWS's own tuner has it (aws/aws-ofi-nccl src/tuner/nccl_ofi_model.cpp,
    #: net_lat of P5), and 30 us of sockets.
    software: Mapping[str, float] = _default_to_table("software")
    #: Factor on a network step that is staged through host memory.
    step_without_gdr: float = 1.5
    #: Slingshot's provider sends up to about this many bytes at once and negotiates beyond (libfabric 2.4 changes:
    #: rendezvous eager size 2K; buffers of LL are twice the data); a step then takes this much longer.
    eager: Mapping[str, int] = _default_to_table("eager")
    rendezvous: float = 19e-6
    #: Pipeline: share of sqrt(waiting x bytes) that cannot be hidden, and the ratio bytes/waiting at which it fades
    #: (many chunks in flight).
    fill: Mapping[str, float] = _default_to_table("fill")
    #: Factor on that share where GPUs of a node are joined by PCIe or host memory: thread blocks are faster than such a
    #: link and seldom let it wait.
    fill_pcie: float = 0.44
    fade: Mapping[str, float] = _default_to_table("fade")
    #: Waiting that even a ring of two has: filling and draining the buffers of a channel.
    wait: Mapping[str, float] = _default_to_table("wait")
    #: Share of a chain's steps over which a broadcast or reduce has to fill its pipeline.
    chain: float = 0.98
    #: Read off: bytes from which on a broadcast or reduce with LL waits for the call before over all of its hops. Calls
    #: of up to 2 KiB take 5.2 to 7.1 us on V100 and 7.5 to 9.3 us on A100, of 2 nodes as of 8 and 32; at 16 KiB 12, 32
    #: and 33 us on 2, 8 and 32 nodes (github.com/aistabci/abci2.0benchmark).
    run_ahead: int = 8192
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
