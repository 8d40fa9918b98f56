"""collsim's own YAML: a machine with its options, a generic network, or any network link by link. Described in
docs/machines.md.

Written by `topology.to_yaml()`, read by `load_topology`. Errors name the line.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import (
    CollsimError,
    FormatError,
    Sentence,
    TopologyError,
    Words,
    describe_unknown,
    format_value,
    join_words,
)
from ...units import parse_bandwidth, parse_time
from ..cables import NICS, Nic
from ..calibrated import LinkFigures, Measured, Residue, calibrated
from ..figures import parse_cable_alpha, parse_cable_bandwidth
from ..generic import NETWORKS
from ..graph import ShortestPaths, build_topology
from ..machines import machine, machines
from ..network import DEVICE_KINDS, Cable, Topology
from ..plan import Machine, Plan
from ..spec import parse_topology
from .document import compose, value_of

if TYPE_CHECKING:
    from yaml.nodes import Node

_TOP = {
    "collsim",
    "name",
    "machine",
    "network",
    "options",
    "ranks",
    "devices",
    "links",
    "cables",
    "edits",
    "calibration",
    "edits_since",
    "routing",
}
_CABLE = {"kind", "label", "bandwidth", "alpha", "nominal", "effective", "width", "source"}
_MACHINE = {
    "name",
    "title",
    "about",
    "source",
    "gpu",
    "sm",
    "nic",
    "p2p_over_pcie",
    "gdr",
    "amd_cpu",
    "bridge",
    "nvswitches",
    "dims",
    "rings",
    "paths",
    "words",
    "devices",
    "joints",
}
_CALIBRATION = ("links", "nccl", "fitted_on", "median_error")
_RESIDUE = ("collective", "ranks", "sizes", "factors")
_EDITS = ("with_link", "without_link", "without_device", "scaled")


class _Place:
    """A piece of the document: its value, and where it is, for errors."""

    def __init__(self, node: Node, file: str, what: str):
        self.node, self.file, self.what = node, file, what

    def wrong(self, why: Words | Exception, /, **values: object) -> FormatError:
        line, said = self.node.start_mark.line + 1, Sentence.from_words(why, **values)
        return FormatError("{file}, line {line}: {what}: {why}", file=self.file, line=line, what=self.what, why=said)

    @property
    def form(self) -> str:
        """`mapping`, `sequence` or `scalar`."""
        return str(getattr(self.node, "id", ""))

    @property
    def value(self) -> Any:
        try:
            return value_of(self.node)
        except FormatError as error:
            why = "{file}, line {line}: {what}: {why}"
            raise FormatError(why, file=self.file, what=self.what, **error.values) from None

    def keys(self, allowed: set[str], needed: tuple[str, ...] = ()) -> dict[str, _Place]:
        """The entries of a mapping. Raises FormatError for others, doubles and missing ones."""
        if self.form != "mapping":
            raise self.wrong("expected a mapping with {allowed}", allowed=", ".join(sorted(allowed)))
        found: dict[str, _Place] = {}
        for key, value in self.node.value:
            name = str(key.value)
            place = _Place(key, self.file, self.what)
            if name not in allowed:
                raise place.wrong(describe_unknown("key", name, allowed))
            if name in found:
                raise place.wrong("key {name!r} is there twice", name=name)
            found[name] = _Place(value, self.file, name)
        for name in needed:
            if name not in found:
                raise self.wrong("key {name!r} is missing", name=name)
        return found

    def items(self) -> list[_Place]:
        if self.form != "sequence":
            raise self.wrong("expected a list")
        return [_Place(item, self.file, f"{self.what}[{i}]") for i, item in enumerate(self.node.value)]

    def fields(self) -> dict[str, _Place]:
        """A mapping with any keys."""
        if self.form != "mapping":
            raise self.wrong("expected a mapping")
        return {str(key.value): _Place(value, self.file, str(key.value)) for key, value in self.node.value}


def read(text: str, name: str, options: dict[str, Any]) -> Topology:
    """The topology of the file; `options` replace those that the file gives."""
    top = _top(text, name)
    topology = _edited(_built(top, name, options), top.get("edits"))
    if "calibration" in top:
        topology = _edited(_calibrated(topology, top["calibration"], as_written=not options), top.get("edits_since"))
    elif "edits_since" in top:
        raise top["edits_since"].wrong("edits since a calibration, and there is none; they belong under 'edits'")
    return replace(topology, facts=MappingProxyType({**topology.facts, "file": name}))


def _top(text: str, name: str) -> dict[str, _Place]:
    """The file's own keys. Raises FormatError for what is no such file, or of another version."""
    node = compose(text, name, "YAML, nor nvidia-smi topo -m, nor XML")
    if node is None or getattr(node, "id", "") != "mapping":
        raise FormatError(
            "{name} is not a topology: expected nvidia-smi topo -m text, NCCL XML, ASTRA-sim YAML, or YAML that "
            "begins 'collsim: 1'",
            name=name,
        )
    top = _Place(node, name, "topology").keys(_TOP, ("collsim",))
    if (version := top["collsim"].value) != 1:
        raise top["collsim"].wrong(
            "version {value} is unknown; this collsim reads version 1", value=format_value(version)
        )
    return top


def _built(top: dict[str, _Place], name: str, options: dict[str, Any]) -> Topology:
    kinds = [key for key in ("machine", "network", "links") if key in top]
    if len(kinds) != 1:
        why = "{name}: give one of machine, network and links; it has {kinds}"
        raise FormatError(why, name=name, kinds=join_words(kinds, "{first} and {then}") or Sentence("none"))
    place = top[kinds[0]]
    try:
        if kinds[0] == "machine":
            given = top["options"].fields() if "options" in top else {}
            return machine(_machine(place), **{**{key: _option(key, item) for key, item in given.items()}, **options})
        if options:
            why = "{name}: only a machine takes options; {options} cannot be used"
            raise FormatError(why, name=name, options=", ".join(options))
        if kinds[0] == "network":
            return parse_topology(str(place.value), NETWORKS)
    except FormatError:
        raise
    except (CollsimError, TypeError) as error:
        raise place.wrong(error) from None
    return _graph(top, name)


def _cable(place: _Place, cables: dict[str, _Place]) -> Cable:
    """A cable written out, or the name of one under `cables`."""
    if place.form == "scalar":
        if place.value not in cables:
            raise place.wrong(
                describe_unknown("cable", place.value, cables)
                if cables
                else Sentence("no cable {cable!r} under 'cables'", cable=place.value)
            )
        place = cables[place.value]
    found = place.keys(_CABLE, ("kind", "bandwidth", "source"))
    value = {key: item.value for key, item in found.items()}
    if value["bandwidth"] is None:
        raise found["bandwidth"].wrong("a cable needs a rate, for example 25GB/s")
    try:
        rates = {
            k: parse_cable_bandwidth(value[k], k)
            for k in ("bandwidth", "nominal", "effective")
            if value.get(k) is not None
        }
        rates.setdefault("nominal", rates["bandwidth"])
        texts = {k: str(value[k]) for k in ("kind", "source")}
        label = str(value.get("label", value["kind"]))
        alpha, width = parse_cable_alpha(value.get("alpha", 0.0)), int(value.get("width", 1))
        return Cable(label=label, alpha=alpha, width=width, **texts, **rates)  # type: ignore[arg-type]
    except (CollsimError, ValueError) as error:
        raise place.wrong(error) from None


def _option(key: str, place: _Place) -> Any:
    """An option of `machine`; a card may be written out as {name, rdma, cable}."""
    if key != "nic" or place.form != "mapping":
        return place.value
    found = place.keys({"name", "rdma", "cable"}, ("cable",))
    name, rdma = (found[k].value if k in found else usual for k, usual in (("name", "file"), ("rdma", True)))
    return Nic(str(name), _cable(found["cable"], {}), bool(rdma))


def _machine(place: _Place) -> str | Machine:
    if place.form == "scalar":
        if place.value not in machines():
            raise place.wrong(describe_unknown("machine", place.value, machines()))
        return str(place.value)
    found = place.keys(_MACHINE | {"cables"}, ("name", "joints", "source"))
    cables = found["cables"].fields() if "cables" in found else {}
    plan = Plan()
    try:
        plan.add(*(str(d) for d in (found["devices"].value if "devices" in found else ())))
        for joint in found["joints"].items():
            ends = joint.items()
            if len(ends) != 3:
                raise joint.wrong("a joint is [device, device, cable]")
            plan.join(str(ends[0].value), str(ends[1].value), _cable(ends[2], cables))
        plain = {k: item.value for k, item in found.items() if k not in ("devices", "joints", "cables")}
        plain |= {k: tuple(map(tuple, plain[k])) for k in ("rings", "paths") if k in plain}
        plain |= {"dims": tuple(plain["dims"])} if "dims" in plain else {}
        if "words" in plain:
            plain["words"] = {(plan.devices.index(a), plan.devices.index(b)): word for a, b, word in plain["words"]}
        made = Machine.drawn(plan, **{"title": plain["name"], "about": "", **plain})
        _ = made.kinds
    except (TopologyError, ValueError, TypeError) as error:
        if isinstance(error, FormatError):
            raise
        raise place.wrong(error) from None
    return made


def _graph(top: dict[str, _Place], name: str) -> Topology:
    cables = top["cables"].fields() if "cables" in top else {}
    devices: dict[str, dict[str, Any]] = {}
    for item in top["devices"].items() if "devices" in top else ():
        found = item.keys({"name", "kind", "node", "rank"}, ("name", "kind"))
        if found["kind"].value not in DEVICE_KINDS:
            raise found["kind"].wrong(describe_unknown("kind", found["kind"].value, DEVICE_KINDS))
        if str(found["name"].value) in devices:
            raise found["name"].wrong("device {name!r} is there twice", name=found["name"].value)
        devices[str(found["name"].value)] = {k: v.value for k, v in found.items() if k != "name"}
    number = {device: i for i, device in enumerate(devices)}
    joined: dict[tuple[int, int], Cable] = {}
    for item in top["links"].items():
        ends = item.items()
        if len(ends) != 3:
            raise item.wrong("a link is [device, device, cable], one direction")
        for end in ends[:2]:
            if str(end.value) not in number:
                raise end.wrong(describe_unknown("device", end.value, number))
        way = (number[str(ends[0].value)], number[str(ends[1].value)])
        if way in joined or way[0] == way[1]:
            raise item.wrong("a link joins two devices, and there is one from each to each")
        joined[way] = _cable(ends[2], cables)
    try:
        topology = build_topology(str(top["name"].value) if "name" in top else name, devices, joined)
    except TopologyError as error:
        raise top["links"].wrong(error) from None
    return _route_as_written(topology, top["routing"]) if "routing" in top else topology


def _route_as_written(topology: Topology, routing: _Place) -> Topology:
    """With routes that were chosen before the figures of some links changed: `alike` where all links counted the same,
    else (link, bandwidth, alpha) of those that changed."""
    links, bandwidth, alpha = topology.links, topology.links.bandwidth.copy(), topology.links.alpha.copy()
    if routing.value == "alike":
        return replace(topology, next_hop=ShortestPaths(len(topology.devices), links.src, links.dst))
    for item in routing.items():
        figures = item.items()
        is_link = len(figures) == 3 and isinstance(figures[0].value, int) and 0 <= figures[0].value < len(links)
        if not is_link:
            raise item.wrong("routing is 'alike', or a list of [number of a link, bandwidth, alpha]")
        try:
            bandwidth[figures[0].value] = parse_bandwidth(figures[1].value)
            alpha[figures[0].value] = parse_time(figures[2].value)
        except CollsimError as error:
            raise item.wrong(error) from None
    return replace(topology, next_hop=ShortestPaths(len(topology.devices), links.src, links.dst, bandwidth, alpha))


def _edited(topology: Topology, edits: _Place | None) -> Topology:
    for edit in edits.items() if edits is not None else ():
        found = edit.fields()
        if len(found) != 1 or next(iter(found)) not in _EDITS:
            raise edit.wrong("an edit is one of {edits}, with its arguments", edits=", ".join(_EDITS))
        ((what, place),) = found.items()
        given = {k: item.value for k, item in place.fields().items()}
        places = [given.pop(k) for k in ("a", "b", "device") if k in given]
        try:
            topology = getattr(topology, what)(*places, **given)
        except (CollsimError, TypeError) as error:
            raise place.wrong(error) from None
    return topology


def _calibrated(topology: Topology, place: _Place, as_written: bool) -> Topology:
    """With the figures found; a machine that was asked for with other options need not have every kind of link."""
    found = place.keys({*_CALIBRATION, "held_out_error", "residues"}, _CALIBRATION)
    here = {cable.kind for cable in topology.links.cables}
    given = found["links"].fields().items()
    links = {kind: _link_figures(item) for kind, item in given if as_written or kind in here}
    try:
        factors = {key: float(item.value) for key, item in found["nccl"].fields().items()}
        fitted_on = {key: item.value for key, item in found["fitted_on"].fields().items()}
        residues = tuple(_residue(item) for item in found["residues"].items()) if "residues" in found else ()
        held_out = found["held_out_error"].value if "held_out_error" in found else None
        errors = float(found["median_error"].value), None if held_out is None else float(held_out)
        return calibrated(topology, Measured(links, factors, fitted_on, *errors, residues))
    except (TopologyError, TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise place.wrong(error) from None


def _link_figures(place: _Place) -> LinkFigures:
    given = place.keys({"carries", "alpha"}, ("carries", "alpha"))
    try:
        return LinkFigures(given["carries"].value, parse_time(given["alpha"].value))
    except CollsimError as error:
        raise place.wrong(error) from None


def _residue(place: _Place) -> Residue:
    given = place.keys(set(_RESIDUE), _RESIDUE)
    try:
        sizes, factors = (tuple(item.value for item in given[name].items()) for name in ("sizes", "factors"))
        return Residue(str(given["collective"].value), int(given["ranks"].value), sizes, factors)
    except (TopologyError, TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise place.wrong(error) from None


# ---- writing


def to_yaml(topology: Topology) -> str:
    """The text that `read` reads back: the same devices, links, figures and routes."""
    import yaml

    data: dict[str, Any] = {"collsim": 1, "name": topology.name}
    asked = topology.facts.get("asked")
    if asked is None:
        data |= _links_written(topology)
    elif isinstance(asked, str):
        data["network"] = asked
    else:
        plan: Machine = asked[0]
        options: dict[str, Any] = asked[1]
        data["machine"] = plan.name if machines().get(plan.name) == plan else _machine_written(plan)
        if options:
            data["options"] = {key: _plain(value) for key, value in options.items()}
    calls = [] if asked is None else [{what: arguments} for what, arguments in topology.facts.get("calls", ())]
    found: Measured | None = topology.facts.get("calibration")
    before = topology.facts.get("calls before", len(calls))
    if calls[:before]:
        data["edits"] = calls[:before]
    if found is not None:
        data["calibration"] = {
            "links": {kind: {"carries": float(f.carries), "alpha": float(f.alpha)} for kind, f in found.links.items()},
            "nccl": {key: float(factor) for key, factor in found.factors.items()},
            "fitted_on": dict(found.fitted_on),
            "median_error": float(found.error),
            "held_out_error": found.held_out,
            "residues": [
                {"collective": r.collective, "ranks": r.ranks, "sizes": list(r.sizes), "factors": list(r.factors)}
                for r in found.residues
            ],
        }
    if calls[before:]:
        data["edits_since"] = calls[before:]
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120))


def _plain(value: Any) -> Any:
    if isinstance(value, Nic):
        if NICS.get(value.name) == value:
            return value.name
        return {"name": value.name, "rdma": value.rdma, "cable": _cable_written(value.cable)}
    return [_plain(v) for v in value] if isinstance(value, tuple | list) else value


def _named(cables: list[Cable]) -> dict[Cable, str]:
    return {cable: f"{cable.kind}-{i}" for i, cable in enumerate(dict.fromkeys(cables))}


def _cable_written(cable: Cable) -> dict[str, Any]:
    """Plain numbers in B/s and s, so that they come back exactly."""
    written = {
        key: getattr(cable, key)
        for key in ("kind", "label", "bandwidth", "alpha", "nominal", "effective", "width", "source")
    }
    return {
        key: float(v) if key in ("bandwidth", "alpha", "nominal", "effective") else v
        for key, v in written.items()
        if v is not None
    }


def _machine_written(plan: Machine) -> dict[str, Any]:
    names = _named([cable for *_, cable in plan.joints])
    written = {
        key: getattr(plan, key) for key in sorted(_MACHINE - {"devices", "joints", "rings", "paths", "words", "dims"})
    }
    if plan.dims:
        written["dims"] = list(plan.dims)
    written |= {key: [list(order) for order in getattr(plan, key)] for key in ("rings", "paths") if getattr(plan, key)}
    if plan.words:
        written["words"] = [[plan.devices[a], plan.devices[b], word] for (a, b), word in plan.words.items()]
    written["devices"] = list(plan.devices)
    written["cables"] = {name: _cable_written(cable) for cable, name in names.items()}
    written["joints"] = [[a, b, names[cable]] for a, b, cable in plan.joints]
    return written


def _links_written(topology: Topology) -> dict[str, Any]:
    links, names = topology.links, list(topology.devices.name)
    used = [
        replace(links.cables[c], bandwidth=float(r), alpha=float(a))
        for c, r, a in zip(links.cable, links.bandwidth, links.alpha, strict=True)
    ]
    cable = _named(used)
    rank = {int(d): r for r, d in enumerate(topology.endpoint_device[: topology.ranks])}
    devices = [
        {"name": n, "kind": DEVICE_KINDS[k], "node": int(m)} | ({"rank": rank[i]} if i in rank else {})
        for i, (n, k, m) in enumerate(zip(names, topology.devices.kind, topology.devices.node, strict=True))
    ]
    return {
        "cables": {name: _cable_written(c) for c, name in cable.items()},
        "devices": devices,
        "links": [[names[a], names[b], cable[c]] for a, b, c in zip(links.src, links.dst, used, strict=True)],
        **_routing_written(topology),
    }


def _routing_written(topology: Topology) -> dict[str, Any]:
    """By which figures routes were chosen, where these are not those of the links any longer."""
    paths, links = topology.next_hop, topology.links
    if not isinstance(paths, ShortestPaths):
        return {}
    if paths.bandwidth is None or paths.alpha is None:
        are_alike = np.ptp(links.bandwidth) == 0 and np.ptp(links.alpha) == 0 if len(links) else True
        return {} if are_alike else {"routing": "alike"}
    changed = np.flatnonzero((paths.bandwidth != links.bandwidth) | (paths.alpha != links.alpha))
    rows = [[int(i), float(paths.bandwidth[i]), float(paths.alpha[i])] for i in changed]
    return {"routing": rows} if rows else {}
