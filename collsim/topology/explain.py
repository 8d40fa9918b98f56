"""A route as a sentence."""

from __future__ import annotations

from ..units import format_bandwidth, format_time
from .network import Hop, Topology


def explain(topology: Topology, src: str | int, dst: str | int) -> str:
    """Explain the route from src to dst: its hops, the rule that chose it, and the bandwidth and latency that it has
    when nothing else is under way.

    Args:
        topology: that has both.
        src: a rank, or the name of its device.
        dst: likewise.
    """
    a, b = topology.endpoint(src), topology.endpoint(dst)
    names = [str(topology._endpoint_name(e)) for e in (a, b)]
    if a == b:
        return f"{names[0].capitalize()} to itself: a copy in its own memory; no link is crossed."
    hops = topology.route(a, b)
    path = " → ".join([hops[0].src, *(hop.dst for hop in hops)])
    description = ""
    if topology.router is not None:
        # Only machines with rules (P2P, GPUDirect, PXN) have a reason to tell; plain networks take the shortest way.
        ends = int(topology.endpoint_device[a]), int(topology.endpoint_device[b])
        description = str(topology.router.describe_route(*ends))
    if description:
        description += ". "
    links = "1 link"
    if len(hops) != 1:
        links = f"{len(hops)} links"
    return (
        f"{names[0].capitalize()} to {names[1]}: {description}{path}. {links}: "
        f"{_list_crossed(hops)}. "
        f"{_describe_limit(hops)}"
    )


def _list_crossed(hops: list[Hop]) -> str:
    """`2 × NVLink 3 ×12, ...`, in the order first met."""
    counts: dict[str, int] = {}
    for hop in hops:
        counts[hop.label] = counts.get(hop.label, 0) + 1
    return ", ".join(f"{n} of {label}" if n > 1 else label for label, n in counts.items())


def _describe_limit(hops: list[Hop]) -> str:
    slowest = min(hops, key=lambda hop: hop.bandwidth)
    latency = format_time(sum(hop.alpha for hop in hops))
    return (
        f"Alone it is limited to {format_bandwidth(slowest.bandwidth)} by {slowest.label}, after {latency} of latency."
    )
