"""What-if edits. Each returns another topology, whose name says what was changed.

Changed numbers leave the routes as they are, because hardware does not reroute around a slow cable. A lost cable or
device does change them: a generic network goes the shortest way that is left, a machine chooses again as NCCL would.
Devices keep their numbers; a device that was lost stays in the table without cables.
"""

from __future__ import annotations

import re
from dataclasses import replace
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..dtypes import Bools, Floats, Longs
from ..errors import CollsimError, Sentence, TopologyError, Words, describe_unknown
from ..units import Bandwidth, Duration, format_bandwidth, format_time
from .cable_figures import parse_cable_alpha, parse_cable_bandwidth
from .facts import Call
from .graph import ShortestPaths, format_ranks, require_connected
from .network import Cable, Links, Router, Topology

_FACTORS = {"half": 0.5, "double": 2.0, "quarter": 0.25, "third": 1 / 3, "twice": 2.0}
_MULTIPLE = re.compile(r"[x×]\s*(\d*\.?\d+(?:[eE][+-]?\d+)?)")
_PERCENT = re.compile(r"(\d*\.?\d+)\s*%")


@runtime_checkable
class ReroutingRouter(Protocol):
    """A router that finds other routes when links are lost."""

    def without(self, lost: Bools) -> Router:
        """The same with the links marked in `lost` (by their numbers now) gone and the rest renumbered."""
        ...


def with_link(
    topology: Topology, a: str | int, b: str | int, *, bandwidth: Bandwidth | None = None, alpha: Duration | None = None
) -> Topology:
    """Change bandwidth or alpha of the cable between devices a and b, in both directions.

    Args:
        topology: as it was.
        a: a device, by name or number.
        b: the device at the other end.
        bandwidth: B/s, text with a unit, or a factor as text (`"half"`, `"10%"`); None leaves it.
        alpha: s or text; None leaves it.
    """
    if bandwidth is None and alpha is None:
        message = "with_link({a!r}, {b!r}) changes nothing; give bandwidth='half', bandwidth='25GB/s' or alpha='2us'"
        raise TopologyError(message, a=a, b=b)
    # A cable is a link in each direction, and an edit is of the cable.
    which = _find_cable_links(topology, a, b)
    rate, delay = topology.links.bandwidth.copy(), topology.links.alpha.copy()
    try:
        if bandwidth is not None:
            factor = _parse_factor(bandwidth)
            rate[which] = rate[which] * factor if factor is not None else parse_cable_bandwidth(bandwidth)
        if alpha is not None:
            delay[which] = parse_cable_alpha(alpha)
    except CollsimError as error:
        way_out: Words = ""
        if isinstance(bandwidth, str):
            way_out = Sentence("; a factor is 'half', 'double', 'x0.1' or '10%'")
        message = "with_link({a!r}, {b!r}): {error}{way_out}"
        raise TopologyError(message, a=a, b=b, error=error, way_out=way_out) from None
    call = {
        "a": _find_name(topology, a),
        "b": _find_name(topology, b),
        **_plain_arguments(bandwidth=bandwidth, alpha=alpha),
    }
    current = {"bandwidth": format_bandwidth(rate[which][0]), "alpha": format_time(delay[which][0])}
    values = {"bandwidth": bandwidth, "alpha": alpha}
    # The text repeats the user's own words where there are some ("half"), and the resulting figure otherwise.
    changes = [f"{k} {v if isinstance(v, str) else current[k]}" for k, v in values.items() if v is not None]
    text = f"{_format_pair(topology, a, b)}: {', '.join(changes)}"
    return _record_edit(topology, _relabel_links(topology.links, which, rate, delay), text, ("with_link", call))


def scale_links(topology: Topology, kind: str | None, by: float) -> Topology:
    """Multiply the bandwidth of every link of a kind by `by`.

    Args:
        topology: as it was.
        kind: of links, as in `Cable.kind`; None for all links.
        by: factor above 0.
    """
    if isinstance(by, bool) or not isinstance(by, Real) or not 0 < by < 1e12:
        message = "scaled(by={by!r}) must be a number above 0 (and below 1e12); 2 doubles the bandwidth"
        raise TopologyError(message, by=by)
    links = topology.links
    kinds = sorted({c.kind for c in links.cables})
    if kind is not None and (not isinstance(kind, str) or kind not in kinds):
        message = "{name} has no links of that kind: {unknown}"
        raise TopologyError(message, name=topology.name, unknown=describe_unknown("kind", kind, kinds))
    # Rates change link by link and the cables with them, because sentences and labels read the cable.
    chosen = np.array([kind is None or c.kind == kind for c in links.cables], bool)
    rate = np.where(chosen[links.cable], links.bandwidth * by, links.bandwidth)
    cables = tuple(_scale_cable(c, by) if yes else c for c, yes in zip(links.cables, chosen, strict=True))
    new = Links(links.src, links.dst, links.alpha, rate, links.cable, cables)
    return _record_edit(
        topology, new, f"{kind or 'every link'} ×{by:g}", ("scaled", _plain_arguments(kind=kind, by=float(by)))
    )


def remove_link(topology: Topology, a: str | int, b: str | int) -> Topology:
    """Remove the cable between devices a and b, both directions.

    Args:
        topology: as it was.
        a: a device, by name or number.
        b: the device at the other end.
    """
    lost = np.zeros(len(topology.links), bool)
    lost[_find_cable_links(topology, a, b)] = True
    call = {"a": _find_name(topology, a), "b": _find_name(topology, b)}
    return _remove_links(topology, lost, f"without {_format_pair(topology, a, b)}", ("without_link", call))


def remove_device(topology: Topology, device: str | int) -> Topology:
    """Remove all cables of a device.

    Args:
        topology: as it was.
        device: by name or number; no rank may sit on it.
    """
    gone = topology.device(device)
    name = topology.devices.name[gone]
    endpoints = np.flatnonzero(topology.endpoint_device == gone)
    if len(endpoints):
        if endpoints[0] < topology.ranks:
            what = Sentence("rank {rank}", rank=endpoints[0])
        else:
            what = Sentence("helper {helper}", helper=endpoints[0] - topology.ranks)
        message = "{name}: {what} sits on {device}, so it cannot be taken away; simulate fewer ranks instead"
        raise TopologyError(message, name=topology.name, what=what, device=name)
    lost = (topology.links.src == gone) | (topology.links.dst == gone)
    return _remove_links(topology, lost, f"without {name}", ("without_device", {"device": name}))


def _remove_links(topology: Topology, lost: Bools, text: str, call: Call) -> Topology:
    old = topology.links
    remaining = ~lost
    links = Links(
        old.src[remaining],
        old.dst[remaining],
        old.alpha[remaining],
        old.bandwidth[remaining],
        old.cable[remaining],
        old.cables,
    )
    edited = _record_edit(topology, links, text, call)
    # A router computes routes by formula; it must be told which links are gone, and may be unable to do without.
    if topology.router is not None:
        if not isinstance(topology.router, ReroutingRouter):
            message = "{name} cannot lose links; slow them down instead: with_link(a, b, bandwidth='1GB/s')"
            raise TopologyError(message, name=topology.name)
        repaired = replace(edited, router=topology.router.without(lost))
        _require_routes(repaired)
        return repaired
    paths = ShortestPaths.of_links(len(topology.devices), links)
    require_connected(edited, paths)
    return replace(edited, next_hop=paths)


def _require_routes(topology: Topology) -> None:
    """All pairs where that is cheap, else every endpoint to and from the first of its node, of the next and of the
    whole."""
    n = topology.endpoints
    try:
        if n < 128:  # a pair costs up to 80 us
            src, dst = np.divmod(np.arange(n * n), n)
            topology.routes(src, dst)
            return
        # With many endpoints not all pairs are tried: losing a link shows at the nearest, the next node or the first.
        node = topology.devices.node[topology.endpoint_device]
        _, first, which = np.unique(node, return_index=True, return_inverse=True)
        everyone = np.arange(n)
        node_number = which.ravel()
        for other in (first[node_number], first[(node_number + 1) % len(first)], np.zeros(n, np.int64)):
            topology.routes(everyone, other)
            topology.routes(other, everyone)
    except TopologyError as error:
        raise TopologyError(_explain_separation(topology) or error.sentence) from None


def _explain_separation(topology: Topology) -> Sentence | None:
    """Which ranks rank 0 still reaches both ways, and which it does not."""
    if topology.ranks > 4096:  # two routes a rank, at up to 80 us each: two thirds of a second
        return None
    near, far = [], []
    for rank in range(topology.ranks):
        try:
            topology.routes([0, rank], [rank, 0])
            near.append(rank)
        except TopologyError:
            far.append(rank)
    if not far:
        return None
    template = (
        "{name}: {near} and {far} cannot reach each other; build a smaller machine, or slow the link down instead: "
        "with_link(a, b, bandwidth='1GB/s')"
    )
    return Sentence(template, name=topology.name, near=format_ranks(near), far=format_ranks(far))


def _find_cable_links(topology: Topology, a: str | int, b: str | int) -> Longs:
    first, second = topology.device(a), topology.device(b)
    links = topology.links
    between = np.flatnonzero(
        ((links.src == first) & (links.dst == second)) | ((links.src == second) & (links.dst == first))
    )
    if not len(between):
        near = sorted({topology.devices.name[d] for d in links.dst[links.src == first]})
        neighbours: Words = ""
        if near:
            neighbours = Sentence(
                "; {name} is joined to {near}", name=topology.devices.name[first], near=", ".join(near[:8])
            )
        message = "{name} has no link between {pair}{neighbours}"
        raise TopologyError(message, name=topology.name, pair=_format_pair(topology, a, b), neighbours=neighbours)
    return between


def _relabel_links(links: Links, which: Longs, rate: Floats, delay: Floats) -> Links:
    """Links with their own Cable for the changed ones, so that its label and source say that it was changed."""
    cables, column = list(links.cables), links.cable.copy()
    for i in which:
        new = _change_cable(links.cables[links.cable[i]], float(rate[i]), float(delay[i]))
        if new not in cables:
            cables.append(new)
        column[i] = cables.index(new)
    return Links(links.src, links.dst, delay, rate, column, tuple(cables))


def _change_cable(old: Cable, rate: float, delay: float) -> Cable:
    label = _relabel_cable(old, rate, delay)
    nominal = rate * ((old.nominal or old.bandwidth) / old.bandwidth)  # it still carries the share that it carried
    return Cable(old.kind, label, rate, delay, f"changed by an edit; before: {old.source}", nominal=nominal)


def _relabel_cable(old: Cable, rate: float, delay: float) -> str:
    """`NVLink 3 ×12 → 150 GB/s`: what the cable was, and what it carries now; its alpha where an edit changed that."""
    was, _, now = old.label.partition(" → ")
    latency = ""
    if "," in now or delay != old.alpha:
        latency = f", {format_time(delay)}"
    return f"{was} → {format_bandwidth(rate)}{latency}"


def _scale_cable(cable: Cable, by: float) -> Cable:
    rates = {"bandwidth": cable.bandwidth, "nominal": cable.nominal, "effective": cable.effective}
    scaled: dict[str, Any] = {key: None if rate is None else rate * by for key, rate in rates.items()}
    label = _relabel_cable(cable, cable.bandwidth * by, cable.alpha)
    return replace(cable, label=label, source=f"×{by:g} by an edit; before: {cable.source}", **scaled)


def _parse_factor(bandwidth: object) -> float | None:
    """0.5 for "half"; 0.1 for "x0.1" or "10%"; None for a plain quantity."""
    if not isinstance(bandwidth, str):
        return None
    text = bandwidth.strip().lower()
    if text in _FACTORS:
        return _FACTORS[text]
    match, percent = _MULTIPLE.fullmatch(text), _PERCENT.fullmatch(text)
    if match is None and percent is None:
        return None
    factor = float(match[1]) if match else float(percent[1]) / 100  # type: ignore[index]
    if not 0 < factor < 1e9:
        message = "bandwidth={bandwidth!r} must be a factor above 0; for no link at all use without_link"
        raise CollsimError(message, bandwidth=bandwidth)
    return factor


def _format_pair(topology: Topology, a: str | int, b: str | int) -> str:
    return f"{topology.devices.name[topology.device(a)]} – {topology.devices.name[topology.device(b)]}"


def _find_name(topology: Topology, device: str | int) -> str:
    return topology.devices.name[topology.device(device)]


def _plain_arguments(**arguments: Any) -> dict[str, Any]:
    """Arguments that were given, as plain numbers and texts."""
    return {k: v if isinstance(v, str) else float(v) for k, v in arguments.items() if v is not None}


def _record_edit(topology: Topology, links: Links, text: str, call: Call) -> Topology:
    """With other links; `facts` keep what was said of each edit, and the calls that would make it again."""
    before = topology.facts
    joint = ", "
    if before.edits:
        joint = "; "
    facts = replace(before, edits=(*before.edits, text), calls=(*before.calls, call))
    return replace(topology, name=f"{topology.name}{joint}{text}", links=links, facts=facts)
