"""What a network's plugin for NCCL sets in NCCL's environment where the user sets nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .machine_facts import Facts

#: Compute capability of Hopper.
HOPPER = 90


@dataclass(frozen=True)
class PluginSettings:
    """Environment variables that a plugin sets.

    Attributes:
        algorithms: NCCL_ALGO; "" leaves it.
        protocols: NCCL_PROTO; "" leaves it.
        source: where that is published.
    """

    algorithms: str
    protocols: str
    source: str


#: EFA before P5 does not keep the order in which bytes arrive, which LL and LL128 rely on.
_EFA: Final = PluginSettings(
    "", "Simple", "aws/aws-ofi-nccl src/platform-aws.c: force_proto_simple for p3dn, p4d and p4de"
)
_BY_NET: Final = {
    "tcpx": PluginSettings(
        "Ring", "Simple", "GoogleCloudPlatform/container-engine-accelerators gpudirect-tcpx/nccl-config.yaml @21ed661"
    ),
    "tcpxo": PluginSettings(
        "", "Simple,LL128", "Google Cloud, A3 Mega: NCCL configs of GPUDirect-TCPXO (a3plus_guest_config)"
    ),
}


def find_plugin_settings(facts: Facts) -> PluginSettings | None:
    """Find what the plugin of the network between these nodes sets.

    Args:
        facts: the machine.

    Returns:
        Its settings; None where it leaves NCCL alone, and on one node.
    """
    if facts.nodes == 1:
        return None
    if facts.net == "efa":
        if 0 < facts.cc < HOPPER:
            return _EFA
        return None
    return _BY_NET.get(facts.net)
