"""Facts of a Topology made by `collsim.topology.machine`: its GPUs, how they are wired, its NICs, its P2P and GPUDirect levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import CollsimError
from ..topology import Topology
from .facts import Facts, Inside, Net
from .facts import gpu as gpu_facts

_NET_OF_CARD: dict[str, Net] = {"ib": "ib", "roce": "roce", "tcp": "tcp", "efa": "efa", "slingshot": "slingshot"}
_TYPES = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")


def facts_of(machine: Facts | Topology, ranks: int | None = None) -> Facts:
    """Facts of a machine: its own if it is Facts, else read off a Topology made by `machine(...)`.

    Args:
        ranks: use only so many, of the same number on each node. None: all GPUs.

    Raises CollsimError for a Topology that is no machine (a generic network says nothing of GPUs), or more ranks than GPUs.
    """
    found = machine if isinstance(machine, Facts) else _read(machine)
    if ranks is None or ranks == found.ranks:
        return found
    if not found.nodes <= ranks <= found.ranks:
        raise CollsimError(f"ranks={ranks}: this machine has {found.ranks} GPUs on {found.nodes} nodes, and each node takes part")
    return replace(found, ranks=ranks)


def _read(topology: Topology) -> Facts:
    asked = topology.facts.get("asked") if isinstance(topology, Topology) else None
    if not asked or not hasattr(asked[0], "of_kind"):
        name = getattr(topology, "name", topology)
        raise CollsimError(f"{name!r} is not a machine; NCCL runs on GPUs: give machine('dgx-a100', nodes=2) or nccl.Facts")
    plan, said = asked[0], topology.facts
    gpus = plan.of_kind("gpu")
    if not gpus or (not plan.sm and "MI" not in plan.gpu):
        raise CollsimError(f"{topology.name} has no GPU that NCCL or RCCL runs on")
    nodes, card = int(said["nodes"]), gpu_facts(plan.gpu)
    amd = plan.gpu.startswith("MI")
    own = [cable.label.lower() for a, b, cable in plan.joints if "gpu0" in (a, b) and cable.kind in ("nvlink", "xgmi")]
    inside, rate, crossing = _inside(plan, said["p2p"], len(gpus))
    nics, nic_rate, net = _nics(plan, said["nic"]) if nodes > 1 else (0.0, 0.0, "none")
    return Facts(
        gpu=plan.gpu,
        cc=0 if amd else plan.sm,
        ranks=topology.ranks,
        nodes=nodes,
        inside=inside if len(gpus) > 1 else "none",
        link_rate=rate,
        pcie=_generation(plan) or card.pcie,
        crossing=crossing,
        switches=len(plan.of_kind("pcie")) if inside in ("pcie", "host") else 0,
        nics=nics,
        nic_rate=nic_rate,
        net=net,  # type: ignore[arg-type]
        card=all("bridge" in label for label in own),
        gdr=None if net == "none" else said["gdr"] != "LOC",
        cpu="arm" if any(cable.kind == "c2c" for *_, cable in plan.joints) else "amd" if plan.amd_cpu else "intel",
    )


def _inside(plan: Any, level: str, count: int) -> tuple[Inside, float, bool]:
    """(wiring, B/s of one GPU towards its peers, do they sit on several sockets)."""
    own = [(a, b, cable) for a, b, cable in plan.joints if "gpu0" in (a, b)]
    crossing = _socket(plan, "gpu0") != _socket(plan, plan.devices[plan.of_kind("gpu")[-1]])
    fast = [(b if a == "gpu0" else a, cable) for a, b, cable in own if cable.kind in ("nvlink", "xgmi")]
    slot = max((cable.nominal or cable.bandwidth for _, _, cable in own if cable.kind in ("pcie", "c2c")), default=0.0)
    peers = {name for name, _ in fast}
    rate = sum(cable.nominal or cable.bandwidth for _, cable in fast)
    if fast and level != "LOC":
        if any(name.startswith("nvswitch") for name in peers):
            return "nvswitch", rate, crossing
        if len(peers) == count - 1:
            kind: Inside = "xgmi" if fast[0][1].kind == "xgmi" else "bridge" if count == 2 else "mesh"
            return kind, rate, crossing
        if len(peers) > 1:
            return "cube", rate, crossing
    switched = not crossing and len(plan.of_kind("pcie")) > 0
    needed = "SYS" if crossing else "PXB" if switched else "PHB"
    allowed = plan.p2p_over_pcie and _TYPES.index(level) >= _TYPES.index(needed)
    return ("pcie" if allowed else "host"), slot, crossing


def _socket(plan: Any, device: str) -> str:
    """The cpu above a device, by following PCIe upwards."""
    seen, here = {device}, [device]
    while here:
        name = here.pop(0)
        if name.startswith("cpu"):
            return name
        for a, b, cable in plan.joints:
            if name in (a, b) and cable.kind in ("pcie", "c2c"):
                other = b if a == name else a
                if other not in seen:
                    seen.add(other)
                    here.append(other)
    return ""


def _generation(plan: Any) -> int:
    labels = [cable.label for a, b, cable in plan.joints if cable.kind == "pcie" and "gpu0" in (a, b)]
    digits = [ch for label in labels for ch in label.split(".")[0] if ch.isdigit()]
    return int(digits[0]) if digits else 0


def _nics(plan: Any, name: str) -> tuple[float, float, Net]:
    from ..topology.cables import NICS

    cable = NICS[name].cable
    kind = _NET_OF_CARD.get(name.split("-")[0])
    if kind is None:
        raise CollsimError(f"NIC {name!r}: NCCL's way over it is not modelled; known kinds: {', '.join(_NET_OF_CARD)}")
    return float(len(plan.of_kind("nic"))), float(cable.nominal or cable.bandwidth), kind
