"""A fleet on the page: its nodes as a picture, and what differs as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from collsim.diagnosis import FleetDiagnosis
from collsim.locale import translate
from collsim.viz.diagnosis import fleet_picture

_COLUMNS = ("node", "part", "quantity", "value", "usual", "predicted", "line")


def draw_fleet(fleet: FleetDiagnosis) -> None:
    """Draw the nodes.

    Args:
        fleet: what tells its nodes apart.
    """
    picture = fleet_picture.draw_fleet_picture(fleet)
    st.html(f"<style>{fleet_picture.STYLE}</style>{picture}")


def label_fleet_rows(rows: Sequence[Mapping[str, object]], language: str) -> pd.DataFrame:
    """Return the findings as a table with the names of its columns in a language.

    Args:
        rows: of `FleetDiagnosis.list_rows`.
        language: `en` or `zh`.
    """
    columns = [name for name in _COLUMNS if any(row[name] not in ("", None) for row in rows)]
    table = {}
    for name in columns:
        heading = translate(language, "diagnosis", f"fleet.column.{name}")
        table[heading] = [str(row[name] or "") for row in rows]
    return pd.DataFrame(table)
