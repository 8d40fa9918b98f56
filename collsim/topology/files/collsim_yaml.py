"""collsim's own YAML: a machine with its options, a generic network, or any network link by link. Described in
docs/machines.md.

Written by `topology.to_yaml()`, read by `load_topology`. Errors name the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import CollsimError, FormatError, Sentence, Words, describe_unknown, format_value, join_words
from ...package_data import read_toml
from ...units import parse_bandwidth, parse_time
from ..cable_figures import parse_cable_alpha, parse_cable_bandwidth
from ..cables import Nic, load_nics
from ..calibrated import LinkFigures, Measured, SizeCorrection, calibrate_links
from ..generic import NETWORKS
from ..graph import ShortestPaths, build_topology
from ..machine_builder import Machine, MachineBuilder
from ..machines import machine, machines
from ..network import DEVICE_KINDS, Cable, Topology
from ..spec import parse_topology
from .yaml_document import build_value, compose

if TYPE_CHECKING:
    from yaml.nodes import Node

_KEYS = {name: set(keys) for name, keys in read_toml(__file__, "collsim_yaml.toml").items()}
_TOP, _CABLE, _MACHINE = _KEYS["top"], _KEYS["cable"], _KEYS["machine"]


_CALIBRATION = ("links", "nccl", "fitted_on", "median_error")
_RESIDUE = ("collective", "ranks", "sizes", "factors")
_EDITS = ("with_link", "without_link", "without_device", "scaled")


class _YamlNode:
    """A piece of the document: its value, and where it is, for errors."""

    def __init__(self, node: Node, file: str, what: str):
        self.node, self.file, self.what = node, file, what

    def build_error(self, reason: Words | Exception, /, **values: object) -> FormatError:
        line, sentence = self.node.start_mark.line + 1, Sentence.from_words(reason, **values)
        return FormatError(
            "{file}, line {line}: {what}: {reason}", file=self.file, line=line, what=self.what, reason=sentence
        )

    @contextmanager
    def locate_errors(self) -> Iterator[None]:
        """Give the line to errors of what is built from this piece, unless they have one."""
        try:
            yield
        except FormatError:
            raise
        except (CollsimError, TypeError, ValueError) as error:
            raise self.build_error(error) from None

    @property
    def form(self) -> str:
        """`mapping`, `sequence` or `scalar`."""
        return str(getattr(self.node, "id", ""))

    @property
    def value(self) -> Any:
        try:
            return build_value(self.node)
        except FormatError as error:
            message = "{file}, line {line}: {what}: {reason}"
            raise FormatError(message, file=self.file, what=self.what, **error.values) from None

    def keys(self, allowed: set[str], needed: tuple[str, ...] = ()) -> dict[str, _YamlNode]:
        """The entries of a mapping. Raises FormatError for others, doubles and missing ones."""
        if self.form != "mapping":
            raise self.build_error("expected a mapping with {allowed}", allowed=", ".join(sorted(allowed)))
        entries: dict[str, _YamlNode] = {}
        for key, value in self.node.value:
            # Errors carry the line of the key, which is where the reader has to look.
            name = str(key.value)
            node = _YamlNode(key, self.file, self.what)
            if name not in allowed:
                raise node.build_error(describe_unknown("key", name, allowed))
            if name in entries:
                raise node.build_error("key {name!r} is there twice", name=name)
            entries[name] = _YamlNode(value, self.file, name)
        for name in needed:
            if name not in entries:
                raise self.build_error("key {name!r} is missing", name=name)
        return entries

    def items(self) -> list[_YamlNode]:
        if self.form != "sequence":
            raise self.build_error("expected a list")
        return [_YamlNode(item, self.file, f"{self.what}[{i}]") for i, item in enumerate(self.node.value)]

    def fields(self) -> dict[str, _YamlNode]:
        """A mapping with any keys."""
        if self.form != "mapping":
            raise self.build_error("expected a mapping")
        return {str(key.value): _YamlNode(value, self.file, str(key.value)) for key, value in self.node.value}


def matches_format(text: str) -> bool:
    """Does the text say that it is collsim's?"""
    return re.search(r"^[ \t{]*['\"]?collsim['\"]?\s*:", text, re.MULTILINE) is not None


def read_machine_file(text: str, name: str, options: dict[str, object]) -> Topology:
    """The topology of the file; `options` replace those that the file gives.

    Args:
        text: of the file.
        name: of the file, for errors.
        options: keywords of `machine`; only a machine takes any.
    """
    top = _read_top(text, name)
    topology = _apply_edits(_build(top, name, options), top.get("edits"))
    if "calibration" in top:
        topology = _apply_edits(
            _apply_calibration(topology, top["calibration"], as_written=not options), top.get("edits_since")
        )
    elif "edits_since" in top:
        raise top["edits_since"].build_error("edits since a calibration, and there is none; they belong under 'edits'")
    return replace(topology, facts=replace(topology.facts, file=name))


def _read_top(text: str, name: str) -> dict[str, _YamlNode]:
    """The file's own keys. Raises FormatError for what is no such file, or of another version."""
    node = compose(text, name, Sentence("YAML, nor nvidia-smi topo -m, nor XML"))
    if node is None or getattr(node, "id", "") != "mapping":
        raise FormatError(
            "{name} is not a topology, it begins with {start}; expected nvidia-smi topo -m text, NCCL XML, ASTRA-sim "
            "YAML, or YAML that begins 'collsim: 1'",
            name=name,
            start=format_value(text.strip().splitlines()[0]),
        )
    top = _YamlNode(node, name, "topology").keys(_TOP, ("collsim",))
    if (version := top["collsim"].value) != 1:
        raise top["collsim"].build_error(
            "version {value} is unknown; this collsim reads version 1", value=format_value(version)
        )
    return top


def _build(top: dict[str, _YamlNode], name: str, options: dict[str, Any]) -> Topology:
    kinds = [key for key in ("machine", "network", "links") if key in top]
    if len(kinds) != 1:
        message = "{name}: give one of machine, network and links; it has {kinds}"
        raise FormatError(message, name=name, kinds=join_words(kinds, "{first} and {then}") or Sentence("none"))
    node = top[kinds[0]]
    with node.locate_errors():
        if kinds[0] == "machine":
            if "options" in top:
                written_options = top["options"].fields()
            else:
                written_options = {}
            return machine(
                _read_machine(node),
                # Options of the call win over those of the file.
                **{**{key: _read_option(key, item) for key, item in written_options.items()}, **options},
            )
        if options:
            message = "{name}: only a machine takes options; {options} cannot be used"
            raise FormatError(message, name=name, options=", ".join(options))
        if kinds[0] == "network":
            return parse_topology(str(node.value), NETWORKS)
    # Neither machine nor network: the file lists links.
    return _read_graph(top, name)


def _read_cable(node: _YamlNode, cables: dict[str, _YamlNode]) -> Cable:
    """A cable written out, or the name of one under `cables`."""
    if node.form == "scalar":
        if node.value not in cables:
            raise node.build_error(
                describe_unknown("cable", node.value, cables)
                if cables
                else Sentence("no cable {cable!r} under 'cables'", cable=node.value)
            )
        # A name under `cables` stands for a cable that is written once.
        node = cables[node.value]
    entries = node.keys(_CABLE, ("kind", "bandwidth", "source"))
    value = {key: item.value for key, item in entries.items()}
    if value["bandwidth"] is None:
        raise entries["bandwidth"].build_error("a cable needs a rate, for example 25GB/s")
    with node.locate_errors():
        rates = {
            k: parse_cable_bandwidth(value[k], k)
            for k in ("bandwidth", "nominal", "effective")
            if value.get(k) is not None
        }
        # Without a nominal rate the cable's rate is taken for what the label promises.
        rates.setdefault("nominal", rates["bandwidth"])
        texts = {k: str(value[k]) for k in ("kind", "source")}
        label = str(value.get("label", value["kind"]))
        alpha, width = parse_cable_alpha(value.get("alpha", 0.0)), int(value.get("width", 1))
        return Cable(label=label, alpha=alpha, width=width, **texts, **rates)  # type: ignore[arg-type]


def _read_option(key: str, node: _YamlNode) -> Any:
    """An option of `machine`; a card may be written out as {name, rdma, cable}."""
    if key != "nic" or node.form != "mapping":
        return node.value
    entries = node.keys({"name", "rdma", "cable"}, ("cable",))
    name, rdma = (entries[k].value if k in entries else default for k, default in (("name", "file"), ("rdma", True)))
    return Nic(str(name), _read_cable(entries["cable"], {}), bool(rdma))


def _read_machine(node: _YamlNode) -> str | Machine:
    if node.form == "scalar":
        if node.value not in machines():
            raise node.build_error(describe_unknown("machine", node.value, machines()))
        return str(node.value)
    entries = node.keys(_MACHINE | {"cables"}, ("name", "connections", "source"))
    if "cables" in entries:
        cables = entries["cables"].fields()
    else:
        cables = {}
    builder = MachineBuilder()
    with node.locate_errors():
        builder.add(*(str(d) for d in (entries["devices"].value if "devices" in entries else ())))
        for connection in entries["connections"].items():
            ends = connection.items()
            if len(ends) != 3:
                raise connection.build_error("a connection is [device, device, cable]")
            builder.connect(str(ends[0].value), str(ends[1].value), _read_cable(ends[2], cables))
        plain = {k: item.value for k, item in entries.items() if k not in ("devices", "connections", "cables")}
        plain |= {k: tuple(map(tuple, plain[k])) for k in ("rings", "paths") if k in plain}
        plain |= {"dims": tuple(plain["dims"])} if "dims" in plain else {}
        if "words" in plain:
            plain["words"] = {
                (builder.devices.index(a), builder.devices.index(b)): word for a, b, word in plain["words"]
            }
        built = Machine.from_builder(builder, **{"title": plain["name"], "about": "", **plain})
        # `kinds` is computed from the device names and raises for one that says nothing; better here than at the
        # first use.
        _ = built.kinds
    return built


def _read_graph(top: dict[str, _YamlNode], name: str) -> Topology:
    if "cables" in top:
        cables = top["cables"].fields()
    else:
        cables = {}
    devices: dict[str, dict[str, Any]] = {}
    for item in top["devices"].items() if "devices" in top else ():
        entries = item.keys({"name", "kind", "node", "rank"}, ("name", "kind"))
        if entries["kind"].value not in DEVICE_KINDS:
            raise entries["kind"].build_error(describe_unknown("kind", entries["kind"].value, DEVICE_KINDS))
        if str(entries["name"].value) in devices:
            raise entries["name"].build_error("device {name!r} is there twice", name=entries["name"].value)
        devices[str(entries["name"].value)] = {k: v.value for k, v in entries.items() if k != "name"}
    # Devices are numbered in the order of the file: ranks follow it unless `rank` says otherwise.
    number = {device: i for i, device in enumerate(devices)}
    cable_of_pair: dict[tuple[int, int], Cable] = {}
    for item in top["links"].items():
        ends = item.items()
        if len(ends) != 3:
            raise item.build_error("a link is [device, device, cable], one direction")
        for end in ends[:2]:
            if str(end.value) not in number:
                raise end.build_error(describe_unknown("device", end.value, number))
        pair = (number[str(ends[0].value)], number[str(ends[1].value)])
        if pair in cable_of_pair or pair[0] == pair[1]:
            raise item.build_error("a link joins two devices, and there is one from each to each")
        cable_of_pair[pair] = _read_cable(ends[2], cables)
    with top["links"].locate_errors():
        topology = build_topology(str(top["name"].value) if "name" in top else name, devices, cable_of_pair)
    if "routing" in top:
        return _route_as_written(topology, top["routing"])
    return topology


def _route_as_written(topology: Topology, routing: _YamlNode) -> Topology:
    """With routes that were chosen before the figures of some links changed: `alike` where all links counted the same,
    else (link, bandwidth, alpha) of those that changed."""
    links, bandwidth, alpha = topology.links, topology.links.bandwidth.copy(), topology.links.alpha.copy()
    if routing.value == "alike":
        return replace(topology, next_hop=ShortestPaths(len(topology.devices), links.src, links.dst))
    for item in routing.items():
        figures = item.items()
        is_link = len(figures) == 3 and isinstance(figures[0].value, int) and 0 <= figures[0].value < len(links)
        if not is_link:
            raise item.build_error("routing is 'alike', or a list of [number of a link, bandwidth, alpha]")
        with item.locate_errors():
            bandwidth[figures[0].value] = parse_bandwidth(figures[1].value)
            alpha[figures[0].value] = parse_time(figures[2].value)
    # Shortest paths depend on the figures, so routes of an edited file are found with those from before.
    return replace(topology, next_hop=ShortestPaths(len(topology.devices), links.src, links.dst, bandwidth, alpha))


def _apply_edits(topology: Topology, edits: _YamlNode | None) -> Topology:
    for edit in edits.items() if edits is not None else ():
        entries = edit.fields()
        if len(entries) != 1 or next(iter(entries)) not in _EDITS:
            raise edit.build_error("an edit is one of {edits}, with its arguments", edits=", ".join(_EDITS))
        ((what, node),) = entries.items()
        arguments = {k: item.value for k, item in node.fields().items()}
        positions = [arguments.pop(k) for k in ("a", "b", "device") if k in arguments]
        with node.locate_errors():
            topology = getattr(topology, what)(*positions, **arguments)
    return topology


def _apply_calibration(topology: Topology, node: _YamlNode, as_written: bool) -> Topology:
    """With the figures found; a machine that was asked for with other options need not have every kind of link."""
    entries = node.keys({*_CALIBRATION, "held_out_error", "size_corrections"}, _CALIBRATION)
    kinds = {cable.kind for cable in topology.links.cables}
    items = entries["links"].fields().items()
    # Kinds that this machine does not have (another option asked for fewer cards) are left out.
    links = {kind: _read_link_figures(item) for kind, item in items if as_written or kind in kinds}
    with node.locate_errors():
        factors = {key: float(item.value) for key, item in entries["nccl"].fields().items()}
        fitted_on = {key: item.value for key, item in entries["fitted_on"].fields().items()}
        size_corrections: tuple[SizeCorrection, ...] = ()
        if "size_corrections" in entries:
            size_corrections = tuple(_read_size_correction(item) for item in entries["size_corrections"].items())
        held_out = None
        if "held_out_error" in entries:
            held_out = entries["held_out_error"].value
        errors = float(entries["median_error"].value), None if held_out is None else float(held_out)
        return calibrate_links(topology, Measured(links, factors, fitted_on, *errors, size_corrections))


def _read_link_figures(node: _YamlNode) -> LinkFigures:
    entries = node.keys({"carries", "alpha"}, ("carries", "alpha"))
    with node.locate_errors():
        return LinkFigures(entries["carries"].value, parse_time(entries["alpha"].value))


def _read_size_correction(node: _YamlNode) -> SizeCorrection:
    entries = node.keys(set(_RESIDUE), _RESIDUE)
    with node.locate_errors():
        sizes, factors = (tuple(item.value for item in entries[name].items()) for name in ("sizes", "factors"))
        return SizeCorrection(str(entries["collective"].value), int(entries["ranks"].value), sizes, factors)


# ---- writing


def to_yaml(topology: Topology) -> str:
    """The text that `read` reads back: the same devices, links, figures and routes.

    Args:
        topology: a machine or network of the package is written by its name and options, any other link by link.
    """
    import yaml

    data: dict[str, Any] = {"collsim": 1, "name": topology.name}
    facts = topology.facts
    calls = [{what: arguments} for what, arguments in facts.calls]
    # The shortest true form is written: a name, a call, or, for what neither can say, every link.
    if facts.base is not None:
        is_known = machines().get(facts.base.name) == facts.base
        data["machine"] = facts.base.name if is_known else _write_machine(facts.base)
        if options := {**facts.options, **facts.parts}:
            data["options"] = {key: _write_plain(value) for key, value in options.items()}
    elif facts.network:
        data["network"] = facts.network
    else:
        data |= _write_links(topology)
        calls = []  # the links are written as the edits left them
    calibration, before = facts.calibration, len(calls)
    if calibration is not None:
        # Edits before a calibration were measured with it; those after it come on top.
        before = facts.calls_before_calibration
    if calls[:before]:
        data["edits"] = calls[:before]
    if calibration is not None:
        data["calibration"] = {
            "links": {
                kind: {"carries": float(f.carries), "alpha": float(f.alpha)} for kind, f in calibration.links.items()
            },
            "nccl": {key: float(factor) for key, factor in calibration.factors.items()},
            "fitted_on": dict(calibration.fitted_on),
            "median_error": float(calibration.error),
            "held_out_error": calibration.held_out,
            "size_corrections": [
                {"collective": r.collective, "ranks": r.ranks, "sizes": list(r.sizes), "factors": list(r.factors)}
                for r in calibration.size_corrections
            ],
        }
    if calls[before:]:
        data["edits_since"] = calls[before:]
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120))


def _write_plain(value: object) -> object:
    if isinstance(value, Nic):
        if load_nics().get(value.name) == value:
            return value.name
        return {"name": value.name, "rdma": value.rdma, "cable": _write_cable(value.cable)}
    if isinstance(value, tuple | list):
        return [_write_plain(v) for v in value]
    return value


def _name_cables(cables: list[Cable]) -> dict[Cable, str]:
    return {cable: f"{cable.kind}-{i}" for i, cable in enumerate(dict.fromkeys(cables))}


def _write_cable(cable: Cable) -> dict[str, object]:
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


def _write_machine(machine: Machine) -> dict[str, object]:
    names = _name_cables([cable for *_, cable in machine.connections])
    written = {
        key: getattr(machine, key)
        for key in sorted(_MACHINE - {"devices", "connections", "rings", "paths", "words", "dims"})
    }
    if machine.dims:
        written["dims"] = list(machine.dims)
    written |= {
        key: [list(order) for order in getattr(machine, key)] for key in ("rings", "paths") if getattr(machine, key)
    }
    if machine.words:
        written["words"] = [[machine.devices[a], machine.devices[b], word] for (a, b), word in machine.words.items()]
    written["devices"] = list(machine.devices)
    written["cables"] = {name: _write_cable(cable) for cable, name in names.items()}
    written["connections"] = [[a, b, names[cable]] for a, b, cable in machine.connections]
    return written


def _write_links(topology: Topology) -> dict[str, object]:
    links, names = topology.links, list(topology.devices.name)
    used = [
        replace(links.cables[c], bandwidth=float(r), alpha=float(a))
        for c, r, a in zip(links.cable, links.bandwidth, links.alpha, strict=True)
    ]
    cable = _name_cables(used)
    rank = {int(d): r for r, d in enumerate(topology.endpoint_device[: topology.ranks])}
    # A device hosts at most one rank here, so the number stands with the device.
    devices = [
        {"name": n, "kind": DEVICE_KINDS[k], "node": int(m)} | ({"rank": rank[i]} if i in rank else {})
        for i, (n, k, m) in enumerate(zip(names, topology.devices.kind, topology.devices.node, strict=True))
    ]
    return {
        "cables": {name: _write_cable(c) for c, name in cable.items()},
        "devices": devices,
        "links": [[names[a], names[b], cable[c]] for a, b, c in zip(links.src, links.dst, used, strict=True)],
        **_write_routing(topology),
    }


def _write_routing(topology: Topology) -> dict[str, object]:
    """By which figures routes were chosen, where these are not those of the links any longer."""
    paths, links = topology.next_hop, topology.links
    if not isinstance(paths, ShortestPaths):
        return {}
    if paths.bandwidth is None or paths.alpha is None:
        are_alike = True
        if len(links):
            are_alike = np.ptp(links.bandwidth) == 0 and np.ptp(links.alpha) == 0
        if are_alike:
            return {}
        return {"routing": "alike"}
    # Only links whose figures changed since are listed, which keeps files of edited machines short.
    changed = np.flatnonzero((paths.bandwidth != links.bandwidth) | (paths.alpha != links.alpha))
    rows = [[int(i), float(paths.bandwidth[i]), float(paths.alpha[i])] for i in changed]
    if rows:
        return {"routing": rows}
    return {}
