"""What is known of a calibrated machine: the knobs that `calibrate` turns, the links they give, and where nobody
measured.

A topology brings its calibration along in `facts.calibration` (`collsim.topology.calibrated`); `predict` reads it
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
from ...topology.calibrated import Measured, SizeCorrection
from ...units import format_bytes
from ..machine.machine_facts import NETS, Facts
from .links import MEASURED, LinkParameters

#: The entries of a field of `LinkParameters` that a knob scales; none: all of the field.
KnobEntries = tuple[tuple[str, tuple[str | int, ...]], ...]
#: Name of a knob -> what it scales.
Knobs = Mapping[str, KnobEntries]

_WIRES = ("nvswitch", "mesh", "cube", "bridge", "xgmi", "pcie", "host")
_NETS = tuple(net for net in NETS if net != "none")
_HOST = ("launch", "launch_p2p", "launch_per_gpu", "launch_each")
_INSIDE = tuple(name for name in MEASURED.carries if name not in _NETS)

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
    "bandwidth inside a node": (
        *(("carries", _INSIDE), ("nvls_carries", ()), ("nvls_multicast", ())),
        *(("host_one_way", ()), ("host_memory", ())),
    ),
    "bandwidth between nodes": (
        *(("carries", _NETS), ("tcp_per_nic", ())),
        *(("without_gdr", ()), ("host_bridge", ())),
    ),
    "bandwidth of a channel": (("channel", ()),),
    "pipeline of LL": (("fill", ("LL",)),),
    "pipeline of LL128": (("fill", ("LL128",)),),
    "pipeline of Simple": (("fill", ("Simple",)),),
}


def apply_knobs(links: LinkParameters, knobs: Knobs, factors: Mapping[str, float]) -> LinkParameters:
    """Turn knobs of the link parameters.

    Args:
        links: the parameters before.
        knobs: what each knob scales.
        factors: factor by name of the knob; knobs that are not named stay at 1.

    Returns:
        The parameters with the factors applied.

    Raises:
        CollsimError: for an unknown knob.
    """
    values: dict[str, Any] = {field.name: getattr(links, field.name) for field in fields(links)}
    for knob, factor in factors.items():
        if knob not in knobs:
            raise CollsimError(describe_unknown("knob", knob, knobs))
        for name, entries in knobs[knob]:
            value = values[name]
            if not isinstance(value, Mapping):
                values[name] = value * factor
                continue
            scaled = {key: number * factor for key, number in value.items() if not entries or key in entries}
            values[name] = {**value, **scaled}
    return LinkParameters(**values)


def get_calibration(machine: Facts | Topology) -> Measured | None:
    """Get what `calibrate` found about a machine.

    Args:
        machine: Facts carry no calibration.

    Returns:
        The calibration; None where the machine was not calibrated.
    """
    if isinstance(machine, Topology):
        return machine.facts.calibration
    return None


def get_link_parameters(machine: Facts | Topology) -> LinkParameters:
    """Get what the links of a machine carry.

    Args:
        machine: with its calibration, if it has one.

    Returns:
        The parameters as calibrated, else `links.MEASURED`.
    """
    calibration = get_calibration(machine)
    if calibration is None:
        return MEASURED
    return apply_knobs(MEASURED, CLUSTER, calibration.factors)


def select_pinned_settings(environment: Mapping[str, object]) -> dict[str, str]:
    """Select the settings that pin NCCL's choice: a calibration holds for the choice that they leave.

    Args:
        environment: NCCL's environment variables by name.

    Returns:
        NCCL_ALGO and NCCL_PROTO, where they are set.
    """
    return {name: str(environment[name]) for name in ("NCCL_ALGO", "NCCL_PROTO") if environment.get(name)}


def describe_poor_fit(held_out: float | None) -> str | None:
    """Describe a calibration whose predictions between the measured sizes are poor.

    Args:
        held_out: median relative error at sizes left out of the fit; None where it is not known.

    Returns:
        A sentence; None where the fit is not poor, or nobody knows.
    """
    if held_out is None or held_out <= POOR:
        return None
    return (
        f"sizes left out of the fit are {held_out:.0%} off in the median; the run was disturbed, or this model lacks "
        "something"
    )


def summarize_fit_data(
    facts: Facts, sizes: tuple[int, int], ranks: list[int], collectives: list[str], settings: Mapping[str, str]
) -> dict[str, object]:
    """Summarize the log of a calibration, in the keys that YAML files keep.

    Args:
        facts: the machine that was measured.
        sizes: the smallest and the largest size, bytes.
        ranks: numbers of ranks.
        collectives: collsim's names of what was measured.
        settings: NCCL_ALGO and NCCL_PROTO, where they were set.

    Returns:
        The summary (`Measured.fitted_on`).
    """
    summary: dict[str, object] = {
        "sizes": list(sizes),
        "ranks": ranks,
        "collectives": collectives,
        **_summarize_machine(facts),
    }
    if settings:
        summary["settings"] = dict(settings)
    return summary


def _summarize_machine(facts: Facts) -> dict[str, str | int | bool | None]:
    return {"gpu": facts.gpu, "nodes": facts.nodes, "inside": facts.wiring, "net": facts.net, "gdr": facts.gdr}


def find_extrapolations(
    fit_data: Mapping[str, Any], facts: Facts, collective: str, nbytes: int, settings: Mapping[str, str]
) -> Iterator[Sentence]:
    """Find what a prediction takes from outside the log that was fitted.

    Args:
        fit_data: the summary of that log (`summarize_fit_data`).
        facts: the machine of the prediction.
        collective: collsim's name of it.
        nbytes: nccl-tests' size, bytes.
        settings: NCCL_ALGO and NCCL_PROTO, where they are set.

    Yields:
        A sentence for each difference.
    """
    smallest, largest = fit_data["sizes"]
    # A fit says nothing of sizes outside of it: latency and rates were not separable there.
    if not smallest <= nbytes <= largest:
        yield Sentence(
            "{size} is outside the sizes measured ({smallest} to {largest})",
            size=format_bytes(nbytes),
            smallest=format_bytes(smallest),
            largest=format_bytes(largest),
        )
    if collective not in fit_data["collectives"]:
        measured = ", ".join(fit_data["collectives"])
        yield Sentence("{collective} was not measured; the log has {known}", collective=collective, known=measured)
    if facts.ranks not in fit_data["ranks"]:
        measured = ", ".join(map(str, fit_data["ranks"]))
        yield Sentence("{ranks} ranks were not measured; the log has {known}", ranks=facts.ranks, known=measured)
    unset = Sentence("not set")
    for name, value, measured_value in _list_differences(fit_data, facts, settings):
        yield Sentence(
            "{what} is {here} here, and was {then} when measured",
            what=name,
            here=value or unset,
            then=measured_value or unset,
        )


def interpolate_size_correction(
    fit_data: Mapping[str, object],
    size_corrections: Sequence[SizeCorrection],
    facts: Facts,
    call: tuple[str, int],
    settings: Mapping[str, str],
) -> float:
    """Interpolate what a calibration's knobs leave of a time, between measured sizes; it fades outside of them.

    Args:
        fit_data: the summary of the log (`summarize_fit_data`).
        size_corrections: factors by size, for each collective and number of ranks.
        facts: the machine of the prediction.
        call: collective, and nccl-tests' size in bytes.
        settings: NCCL_ALGO and NCCL_PROTO, where they are set.

    Returns:
        The factor on the time; 1 for what the log did not measure: another collective, number of ranks, machine or
        setting.
    """
    collective, nbytes = call
    key = collective, facts.ranks
    size_correction = next(
        (
            size_correction
            for size_correction in size_corrections
            if (size_correction.collective, size_correction.ranks) == key
        ),
        None,
    )
    if size_correction is None or nbytes <= 0 or any(_list_differences(fit_data, facts, settings)):
        return 1.0
    octaves, octave = np.log2(size_correction.sizes), math.log2(nbytes)
    factor = float(np.exp(np.interp(octave, octaves, np.log(size_correction.factors))))
    outside = max(float(octaves[0]) - octave, octave - float(octaves[-1]), 0.0)
    fading: float = factor ** (0.5**outside)
    return fading


def _list_differences(
    fit_data: Mapping[str, Any], facts: Facts, settings: Mapping[str, str]
) -> Iterator[tuple[str, object, object]]:
    """(name, value, value when measured) of all that is not as it was."""
    for name, value in _summarize_machine(facts).items():
        if fit_data[name] != value:
            yield name, value, fit_data[name]
    measured = fit_data.get("settings", {})
    for name in sorted({*measured, *settings}):
        if measured.get(name, "") != settings.get(name, ""):
            yield name, settings.get(name, ""), measured.get(name, "")
