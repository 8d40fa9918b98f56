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

#: Widths of the pictures, px: of the middle column, and of a phone.
_WIDE, _NARROW = 544, 338
_SHAPES = ("wide", "narrow", "widechart", "narrowchart")


def draw_job_machine(diagnosis: Diagnosis, machine: str) -> None:
    """Draw the picture of the machine and, where something was measured, the chart below it.

    Args:
        diagnosis: of a job.
        machine: its name and size.
    """
    language = get_language()
    pictures = dict.fromkeys(_SHAPES, "")
    for shape, width in (("wide", _WIDE), ("narrow", _NARROW)):
        pictures[shape] = job_picture.draw_job_picture(diagnosis, language, width)
        pictures[f"{shape}chart"] = _draw_chart(diagnosis, language, width)
    options = {"findings": len(diagnosis.causes), "layers": bool(pictures["wide"]), "staged": _is_staged(diagnosis)}
    _mount(pictures, diagnosis.report(language), (t("diagnosis.machine"), machine), options)


def draw_fleet(fleet: FleetDiagnosis) -> None:
    """Draw the nodes of a fleet.

    Args:
        fleet: what tells its nodes apart.
    """
    pictures = dict.fromkeys(_SHAPES, "")
    for shape, width in (("wide", _WIDE), ("narrow", _NARROW)):
        pictures[shape] = fleet_picture.draw_fleet_picture(fleet, width)
    heading = (t("diagnosis.fleet"), t("diagnosis.fleet.note"))
    _mount(pictures, fleet.report(get_language()), heading, {"findings": 0, "layers": False, "staged": False})


def _mount(
    pictures: Mapping[str, str], report: str, heading: tuple[str, str], options: Mapping[str, int | bool]
) -> None:
    """Mount the component with pictures, the report that it copies, a heading with small print, and its options."""
    identity = hashlib.sha256("".join((*pictures.values(), report)).encode()).hexdigest()[:16]
    name = f"collsim_job_picture_{get_language()}"
    mount = st.components.v2.component(name, html=_build_skeleton(), css=_STYLE, js=read_bundle("job"))
    words = {"copy": t("diagnosis.copy"), "copied": t("diagnosis.copied"), "title": heading[0], "note": heading[1]}
    mount(key="job_picture", data={"id": identity, **pictures, **options, "report": report, "words": words})


def _draw_chart(diagnosis: Diagnosis, language: str, width: int) -> str:
    run = diagnosis.job.run
    if run is None:
        return ""
    try:
        table = compare_run(run)
    except CollsimError:
        return ""
    return job_chart.draw_job_chart(table, _list_fault_rates(diagnosis, table), language, width)


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


_STYLE = (
    job_picture.STYLE
    + job_chart.STYLE
    + fleet_picture.STYLE
    + """
.board{color:var(--cs-ink);font-family:var(--st-font,sans-serif)}
.top{display:flex;justify-content:space-between;align-items:flex-start;gap:10px;margin-bottom:8px}
h3{font-size:16px;line-height:22px;margin:0;padding:5px 0 0}
h3 small{font-weight:400;font-size:14px;color:var(--cs-ink2)}
.layers{display:inline-flex;border:1px solid var(--cs-edge);border-radius:7px;overflow:hidden;height:34px;flex:none}
.layers button{border:0;border-left:1px solid var(--cs-line);padding:0 12px;font:15px/32px var(--st-font,sans-serif);
 background:var(--cs-card);color:var(--cs-ink2);cursor:pointer}
.layers button:first-child{border-left:0}
.layers button[aria-pressed=true]{background:var(--cs-ink);color:var(--cs-card);font-weight:700}
.narrow,.narrowchart{display:none}[hidden]{display:none!important}
.legend{display:flex;flex-wrap:wrap;gap:3px 20px;font-size:14px;line-height:20px;color:var(--cs-ink2);margin-top:8px}
.legend i{display:inline-block;width:22px;height:10px;margin-right:7px;border:1px solid var(--cs-room)}
.legend .u{background:var(--cs-room)}.legend .h{background:var(--cs-hostink);border-color:var(--cs-hostink)}
.legend .c{background:var(--cs-roomtint)}.legend .a{background:var(--cs-fulltint);border:2px solid var(--cs-full)}
.rates{border-top:1px solid var(--cs-line);margin-top:10px;padding-top:8px}
.rates h3{padding:0 0 6px}
.copy{margin-top:12px;height:36px;padding:0 14px;border:1px solid var(--cs-ink);border-radius:7px;cursor:pointer;
 background:var(--cs-ink);color:var(--cs-card);font:700 15px/34px var(--st-font,sans-serif)}
@media(max-width:700px){.wide,.widechart{display:none}.narrow,.narrowchart{display:block}}
"""
)
