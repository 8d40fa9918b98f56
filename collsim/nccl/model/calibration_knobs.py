"""What is known of a calibrated machine: the knobs that `calibrate` turns, the links they give, and where nobody
measured.

A topology brings its calibration along in `facts["calibration"]` (`collsim.topology.calibrated`); `predict` reads it
here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ...errors import CollsimError, Sentence, describe_unknown
from ...topology import Topology
from ...topology.calibrated import Measured, Residue
from ...units import format_bytes
from ..machine.facts import NETS, Facts
from .links import CARRIES, MEASURED, LinkParameters

#: A knob scales the entries named (all entries of a field where none is): name -> ((field, entries), ...).
Knobs = Mapping[str, tuple[tuple[str, tuple[str | int, ...]], ...]]

_WIRES = ("nvswitch", "mesh", "cube", "bridge", "xgmi", "pcie", "host")
_NETS = tuple(net for net in NETS if net != "none")
_HOST = ("launch", "launch_p2p", "launch_per_gpu", "launch_each")
_INSIDE = tuple(name for name in CARRIES if name not in _NETS)

#: Median error at sizes left out of a fit above which a calibration is called poor: twice what it should reach.
POOR = 0.1
#: What `calibrate` turns: few, so that a single sweep can determine them. Those that a log does not move stay as they
#: are.
CLUSTER: Knobs = {
    "launch": tuple((name, ()) for name in (*_HOST, "kernel", "kernel_p2p")),
    "launch per peer": (("peer", ()),),
    "latency inside a node, LL and LL128": (("step", _WIRES),),
    "latency inside a node, Simple": (("step_bulk", (*_WIRES, "nvls")),),
    "latency between nodes, LL and LL128": (("step", _NETS), ("rendezvous", ())),
    "latency between nodes, Simple": (("step_bulk", _NETS),),
    "latency of software between nodes": (("software", ()),),
    "bandwidth inside a node": (("carries", _INSIDE), ("nvls_carries", ()), ("host_one_way", ())),
    "bandwidth between nodes": (("carries", _NETS), ("tcp_per_nic", ())),
    "bandwidth of a channel": (("channel", ()),),
    "pipeline of LL": (("fill", ("LL",)),),
    "pipeline of LL128": (("fill", ("LL128",)),),
    "pipeline of Simple": (("fill", ("Simple",)),),
}


def apply_knobs(links: LinkParameters, knobs: Knobs, factors: Mapping[str, float]) -> LinkParameters:
    """Links with knobs turned by these factors. Raises CollsimError for an unknown knob."""
    values: dict[str, Any] = {f.name: getattr(links, f.name) for f in fields(links)}
    for knob, factor in factors.items():
        if knob not in knobs:
            raise CollsimError(describe_unknown("knob", knob, knobs))
        for name, entries in knobs[knob]:
            value = values[name]
            if isinstance(value, Mapping):
                values[name] = {k: v * factor if not entries or k in entries else v for k, v in value.items()}
            else:
                values[name] = value * factor
    return LinkParameters(**values)


def get_calibration(machine: Facts | Topology) -> Measured | None:
    """What `calibrate` found about this machine; None where nobody did."""
    return machine.facts.get("calibration") if isinstance(machine, Topology) else None


def get_link_parameters(machine: Facts | Topology) -> LinkParameters:
    """What the links of this machine carry: as calibrated, else as `links.MEASURED` says."""
    known = get_calibration(machine)
    return MEASURED if known is None else apply_knobs(MEASURED, CLUSTER, known.factors)


def select_pinned_settings(environment: Mapping[str, Any]) -> dict[str, str]:
    """NCCL_ALGO and NCCL_PROTO where they are set: a calibration holds for the choice that they leave."""
    return {name: str(environment[name]) for name in ("NCCL_ALGO", "NCCL_PROTO") if environment.get(name)}


def describe_poor_fit(held_out: float | None) -> str | None:
    """A sentence where predictions between the sizes measured are bad; None where they are not, or nobody knows."""
    if held_out is None or held_out <= POOR:
        return None
    return (
        f"sizes left out of the fit are {held_out:.0%} off in the median; the run was disturbed, or this model lacks "
        "something"
    )


def summarize_fit_data(
    facts: Facts, sizes: tuple[int, int], ranks: list[int], collectives: list[str], settings: Mapping[str, str]
) -> dict[str, Any]:
    """What a calibration keeps of its log, in the words of YAML."""
    said = {"settings": dict(settings)} if settings else {}
    return {"sizes": list(sizes), "ranks": ranks, "collectives": collectives, **_situation(facts), **said}


def _situation(facts: Facts) -> dict[str, Any]:
    return {"gpu": facts.gpu, "nodes": facts.nodes, "inside": facts.wiring, "net": facts.net, "gdr": facts.gdr}


def find_extrapolations(
    seen: Mapping[str, Any], facts: Facts, collective: str, nbytes: int, settings: Mapping[str, str]
) -> Iterator[Sentence]:
    """Sentences on what a prediction takes from outside the log that was fitted."""
    smallest, largest = seen["sizes"]
    if not smallest <= nbytes <= largest:
        yield Sentence(
            "{size} is outside the sizes measured ({smallest} to {largest})",
            size=format_bytes(nbytes),
            smallest=format_bytes(smallest),
            largest=format_bytes(largest),
        )
    if collective not in seen["collectives"]:
        yield Sentence(
            "{collective} was not measured; the log has {known}",
            collective=collective,
            known=", ".join(seen["collectives"]),
        )
    if facts.ranks not in seen["ranks"]:
        known = ", ".join(map(str, seen["ranks"]))
        yield Sentence("{ranks} ranks were not measured; the log has {known}", ranks=facts.ranks, known=known)
    for what, here, then in _differences(seen, facts, settings):
        unset = Sentence("not set")
        yield Sentence(
            "{what} is {here} here, and was {then} when measured", what=what, here=here or unset, then=then or unset
        )


def interpolate_residue(
    seen: Mapping[str, Any],
    residues: Sequence[Residue],
    facts: Facts,
    call: tuple[str, int],
    settings: Mapping[str, str],
) -> float:
    """Factor on the time of a call (collective, bytes) that the log's residue says: between sizes by interpolation,
    fading outside.

    1 for what the log did not measure: another collective, number of ranks, machine or setting.
    """
    collective, nbytes = call
    found = next((r for r in residues if (r.collective, r.ranks) == (collective, facts.ranks)), None)
    if found is None or nbytes <= 0 or any(_differences(seen, facts, settings)):
        return 1.0
    sizes, at = np.log2(found.sizes), math.log2(nbytes)
    factor = float(np.exp(np.interp(at, sizes, np.log(found.factors))))
    outside = max(float(sizes[0]) - at, at - float(sizes[-1]), 0.0)
    fading: float = factor ** (0.5**outside)
    return fading


def _differences(seen: Mapping[str, Any], facts: Facts, settings: Mapping[str, str]) -> Iterator[tuple[str, Any, Any]]:
    """(what, here, when measured) of all that is not as it was."""
    for what, here in _situation(facts).items():
        if seen[what] != here:
            yield what, here, seen[what]
    then = seen.get("settings", {})
    for what in sorted({*then, *settings}):
        if then.get(what, "") != settings.get(what, ""):
            yield what, settings.get(what, ""), then.get(what, "")
