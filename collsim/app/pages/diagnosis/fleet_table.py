"""What differs between the nodes of a fleet, as a table of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from collsim.display.markup import escape_text
from collsim.locale import translate

_COLUMNS = ("node", "part", "quantity", "value", "usual", "predicted", "line")


def format_fleet_table(rows: Sequence[Mapping[str, object]], language: str) -> str:
    """Write the findings as a table whose cells wrap.

    Args:
        rows: of `FleetDiagnosis.list_rows`.
        language: `en` or `zh`.
    """
    columns = [name for name in _COLUMNS if any(row[name] not in ("", None) for row in rows)]
    heads = "".join(
        f"<th>{escape_text(translate(language, 'diagnosis', f'fleet.column.{name}'))}</th>" for name in columns
    )
    body = "".join(_format_row([str(row[name] or "") for name in columns]) for row in rows)
    return f'<table class="dx-tells"><tr>{heads}</tr>{body}</table>'


def _format_row(cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<td>{escape_text(cell)}</td>' for cell in cells)}</tr>"
