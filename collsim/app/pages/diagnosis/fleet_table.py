"""What differs between the nodes of a fleet, as a table of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from collsim.locale import translate

_COLUMNS = ("node", "part", "quantity", "value", "usual", "predicted", "line")


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
