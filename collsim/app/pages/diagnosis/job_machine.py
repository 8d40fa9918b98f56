"""The machine and the rates of a diagnosed job on the page: pictures with layers, and the same as a table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from collsim.diagnosis import Diagnosis, FleetDiagnosis
from collsim.display.markup import escape_text
from collsim.errors import CollsimError
from collsim.locale import translate
from collsim.nccl import compare_run
from collsim.units import format_bandwidth
from collsim.viz.diagnosis import fleet_picture, job_chart, job_picture
from collsim.viz.diagnosis.job_links import describe_links, find_job_links
from collsim.viz.hosts.bundle import read_bundle

from ...shell import charts
from ...shell.session import get_language, t
from ...styles import read_style

#: Widths of the pictures, px: of the middle column, and of a phone.
_WIDTHS = {"wide": 544, "narrow": 338}


def draw_job_machine(diagnosis: Diagnosis, machine: str) -> None:
    """Draw the picture of the machine and, where something was measured, the chart below it.

    Args:
        diagnosis: of a job.
        machine: its name and size.
    """
    language = get_language()
    pictures = {shape: job_picture.draw_job_picture(diagnosis, language, width) for shape, width in _WIDTHS.items()}
    options = {
        "findings": len(diagnosis.causes),
        "layers": bool(pictures["wide"]),
        "staged": _is_staged(diagnosis),
        "chart": _describe_chart(diagnosis, language),
    }
    _mount(pictures, diagnosis.report(language), (t("diagnosis.machine"), machine), options)


def draw_fleet(fleet: FleetDiagnosis) -> None:
    """Draw the nodes of a fleet.

    Args:
        fleet: what tells its nodes apart.
    """
    pictures = {shape: fleet_picture.draw_fleet_picture(fleet, width) for shape, width in _WIDTHS.items()}
    heading = (t("diagnosis.fleet"), t("diagnosis.fleet.note"))
    _mount(
        pictures,
        fleet.report(get_language()),
        heading,
        {"findings": 0, "layers": False, "staged": False, "chart": None},
    )


def _mount(pictures: Mapping[str, str], report: str, heading: tuple[str, str], options: Mapping[str, object]) -> None:
    """Mount the component with pictures, the report that it copies, a heading with small print, and its options."""
    identity = hashlib.sha256("".join((*pictures.values(), str(options), report)).encode()).hexdigest()[:16]
    name = f"collsim_job_picture_{get_language()}"
    mount = st.components.v2.component(name, html=_build_skeleton(), css=_STYLE, js=read_bundle("job"))
    words = {"copy": t("diagnosis.copy"), "copied": t("diagnosis.copied"), "title": heading[0], "note": heading[1]}
    mount(
        key="job_picture",
        data={"id": identity, "widths": _WIDTHS, **pictures, **options, "report": report, "words": words},
    )


def _describe_chart(diagnosis: Diagnosis, language: str) -> job_chart.JobChart | None:
    run = diagnosis.job.run
    if run is None:
        return None
    try:
        table = compare_run(run)
    except CollsimError:
        return None
    return job_chart.describe_job_chart(table, _list_fault_rates(diagnosis, table), language)


def _list_fault_rates(diagnosis: Diagnosis, table: pd.DataFrame) -> list[float]:
    """Busbw by size that is predicted with the first cause; nothing where that is not modelled."""
    if diagnosis.gap is None or not diagnosis.causes or diagnosis.causes[0].predicted is None:
        return []
    at_last = float(table["busbw"].iloc[-1] * table["time"].iloc[-1])
    target = at_last / diagnosis.causes[0].predicted
    candidates = diagnosis.gap.candidates
    match = min(candidates, key=lambda c: abs(c.predicted[-1] - target), default=None)
    if match is None or abs(match.predicted[-1] - target) > 1e-6 * target:
        return []
    work = table["busbw"] * table["time"]
    return [float(amount / seconds) for amount, seconds in zip(work, match.predicted, strict=True)]


def _build_skeleton() -> str:
    """What stands around the pictures; it depends on the language alone, as sessions share components."""
    layers = "".join(
        f'<button type="button" data-layer="{layer}">{escape_text(t(f"diagnosis.layer.{layer}"))}</button>'
        for layer in ("both", "used", "could")
    )
    marks = "".join(
        f'<span class="mark-{mark}"><i class="{mark}"></i>{escape_text(t(f"diagnosis.legend.{name}"))}</span>'
        for mark, name in (("h", "staged"), ("u", "used"), ("c", "could"), ("a", "part"))
    )
    return (
        '<div class="board"><div class="top"><h3><b></b> <small></small></h3>'
        f'<div class="layers" role="group" aria-label="{escape_text(t("diagnosis.layers"))}">{layers}</div></div>'
        f'<div class="machine"><div class="wide"></div><div class="narrow"></div>'
        f'<div class="legend">{marks}</div></div>'
        f'<div class="rates"><h3>{escape_text(t("diagnosis.chart"))}'
        f" <small>{escape_text(t('diagnosis.chart.note'))}</small></h3>"
        '<div class="widechart"></div><div class="narrowchart"></div></div>'
        f'<button type="button" class="copy">{escape_text(t("diagnosis.copy"))}</button></div>'
    )


def _is_staged(diagnosis: Diagnosis) -> bool:
    return diagnosis.used is not None and "SHM" in diagnosis.used.transports and "P2P" not in diagnosis.used.transports


def draw_link_table(diagnosis: Diagnosis) -> None:
    """The picture as a table: how many links of each product are used and could be.

    Args:
        diagnosis: of a job whose machine is known.
    """
    if diagnosis.machine is None:
        return
    rows = describe_links(diagnosis.machine, find_job_links(diagnosis.machine, diagnosis.used))
    table = pd.DataFrame(
        {
            t("diagnosis.table.cable"): [row["cable"] for row in rows],
            t("diagnosis.table.bandwidth"): [format_bandwidth(float(str(row["bandwidth"]))) for row in rows],
            t("diagnosis.table.links"): [row["links"] for row in rows],
            t("diagnosis.table.used"): [_format_count(row["used"]) for row in rows],
            t("diagnosis.table.could"): [row["possible"] for row in rows],
        }
    )
    charts.show_frame(table)


def _format_count(count: object) -> str:
    if count is None:
        return translate(get_language(), "app", "diagnosis.table.unknown")
    return str(count)


_STYLE = read_style("job_machine")
