"""Charts and tables: axes whose ticks have units, the look of the theme, and columns with their values."""

from __future__ import annotations

import copy
import hashlib
import math
import pickle
import threading
from collections.abc import Callable
from typing import Any, Literal

import altair as alt
import pandas as pd
import pyarrow
import streamlit as st
from altair.utils import schemapi
from cachetools import LRUCache

from collsim.files import guard_cell

from .look import build_chart_look
from .session import get_language, is_dark, t

Picture = alt.LayerChart | alt.FacetChart
SIZES: list[list[Any]] = [["B", 1], ["KiB", 2**10], ["MiB", 2**20], ["GiB", 2**30], ["TiB", 2**40]]
TIMES: list[list[Any]] = [["ns", 1e-9], ["µs", 1e-6], ["ms", 1e-3], ["s", 1]]
RATES: list[list[Any]] = [["B/s", 1], ["kB/s", 1e3], ["MB/s", 1e6], ["GB/s", 1e9]]
MEBI = 2**20
_ONE_AT_A_TIME = threading.Lock()  # what altair does with tables and themes holds for all threads
_MADE: LRUCache[bytes, dict[str, Any]] = LRUCache(256)  # pictures as Vega-Lite has them, 10 to 100 kB each
ROOM = {"left": 4, "right": 24, "top": 8, "bottom": 4}  # pixels round a chart

# Altair holds every part of a chart against the schema of Vega-Lite when it is made, and the whole when it is sent:
# half of the time of a page with charts, most of it under a lock that all sessions share. Tests ask the schema instead.
# For the same reason pages write encodings as classes: for a string, Altair searches the schema for what it means.
schemapi.disable_debug_mode()


def build_axis(values: pd.Series[Any], base: int) -> alt.Axis:
    """Ticks at powers of two or ten, written with their unit, at most nine of them.

    Args:
        values: Values of the axis.
        base: Base of the ticks: 2 or 10.
    """
    if base == 2:
        units = SIZES
    elif values.max() < 1e4:
        units = TIMES
    else:
        units = RATES
    first, last = math.floor(math.log(values.min(), base)), math.ceil(math.log(values.max(), base))
    step = max(1, -(-(last - first) // 8))
    expression = f"format(datum.value/{units[0][1]}, '~r') + ' {units[0][0]}'"
    for name, size in units[1:]:
        expression = f"datum.value >= {size * 0.9999} ? format(datum.value/{size}, '~r') + ' {name}' : {expression}"
    return alt.Axis(
        labelExpr=expression,
        labelFlush=False,
        labelOverlap=True,
        labelSeparation=10,
        values=[float(base) ** k for k in range(first, last + 1, step)],
    )


def build_size_axis(nbytes: pd.Series[Any]) -> alt.X:
    """The logarithmic axis of sizes that every curve over sizes has; its column is `nbytes`.

    Args:
        nbytes: Sizes in bytes.
    """
    scale = alt.Scale(type="log", base=2, nice=False)
    return alt.X("nbytes:Q", scale=scale, title=t("compare.size.axis"), axis=build_axis(nbytes, 2))


def build_factor_axis(values: list[float], title: str | None, **scale: Any) -> alt.Y:
    """A logarithmic axis of the column `ratio`, with ticks such as 0.5× and 2×.

    Args:
        values: Values of the axis.
        title: Title of the axis; None for none.
        **scale: Scale of the axis; None for a logarithmic one.
    """
    ticks = alt.Axis(values=values, labelExpr="format(datum.value, '~r') + '×'")
    return alt.Y("ratio:Q", scale=alt.Scale(type="log", nice=False, **scale), title=title, axis=ticks)


def build_labels_axis(column: str, width: int = 420, **more: Any) -> alt.Y:
    """An axis of names, without ticks and line.

    Args:
        column: Name of the column.
        width: Room for the names, pixels.
        **more: Further keywords of the function that builds the topology.
    """
    look = alt.Axis(labelLimit=width, ticks=False, domain=False, **more)
    return alt.Y(f"{column}:N", sort=None, title=None, axis=look)


def build_tips(**titles: str) -> list[alt.Tooltip]:
    """What the pointer over a mark shows: the keys of the titles' texts by column.

    Args:
        **titles: Key of the title by column.
    """
    return [alt.Tooltip(f"{column}:N", title=t(key)) for column, key in titles.items()]


def layer(*layers: Any, **properties: Any) -> Picture:
    """Charts over each other.

    Args:
        *layers: The charts, the lowest first.
        **properties: Properties of the picture, such as `height` and `description`.
    """
    picture: Picture = alt.layer(*layers).properties(**properties)
    return picture


def draw_chart(key: str, make: Callable[..., Picture], *arguments: Any) -> None:
    """Draw the picture that `make(*given)` makes over the whole width, in the look of the theme; it is made once.

    Args:
        key: Key of the text that describes the chart.
        make: Builds the picture.
        *arguments: Arguments of `make`.
    """
    name = hashlib.sha256(
        pickle.dumps((make.__module__, make.__qualname__, get_language(), is_dark(), arguments))
    ).digest()
    with _ONE_AT_A_TIME:
        spec = _MADE.get(name)
    if spec is None:
        spec = _build_spec(make(*arguments).configure(**build_chart_look(is_dark())))
        with _ONE_AT_A_TIME:
            _MADE[name] = spec
    st.vega_lite_chart(spec=copy.deepcopy(spec), width="stretch", theme=None, key=f"chart_{key}")


def _build_spec(picture: Picture) -> dict[str, Any]:
    """A picture as Vega-Lite has it, its tables as Arrow has them."""
    tables: dict[str, bytes] = {}

    def name_table(frame: Any) -> Any:
        """Its name is what is in it, so that an equal picture is not sent again.

        Args:
            frame: A table of the chart.
        """
        data = _encode_arrow(frame)
        name = hashlib.sha256(data).hexdigest()[:16]
        tables[name] = data
        return {"name": name}

    with _ONE_AT_A_TIME, alt.theme.enable("none"):
        alt.data_transformers.register("collsim", name_table)
        with alt.data_transformers.enable("collsim"):
            document: dict[str, object] = picture.to_dict(validate=False)
    return document | {"datasets": tables}


def _encode_arrow(frame: pd.DataFrame) -> bytes:
    """A table as a stream of Arrow's."""
    columns = pyarrow.Table.from_pandas(frame, preserve_index=False)
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, columns.schema) as stream:
        stream.write_table(columns)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def draw_table(columns: dict[str, tuple[Any, Any]], most: int = 420) -> None:
    """A table over the whole width, at most so many pixels high: by column its values and how they are shown.

    Args:
        columns: By column its values and its look; the key of its heading for a column of texts.
        most: Height of the table, pixels.
    """
    frame = pd.DataFrame({name: values for name, (values, _) in columns.items()})
    looks = {name: build_text_column(look) if isinstance(look, str) else look for name, (_, look) in columns.items()}
    height = min(most, 38 + 35 * max(1, len(frame)))
    show_frame(frame, column_config=looks, height=height)


def show_frame(frame: pd.DataFrame, width: Literal["stretch", "content"] = "stretch", **options: Any) -> None:
    """Show a table whose menu downloads it as CSV, so its texts are guarded like those of every CSV of ours.

    Args:
        frame: The table, shown without its index.
        width: "stretch" for the width of the page, "content" for that of the table.
        options: Further arguments of `st.dataframe`.
    """
    guarded = frame.map(guard_cell).rename(columns=guard_cell)
    st.dataframe(guarded, hide_index=True, width=width, **options)


def build_text_column(key: str, width: Any = None) -> Any:
    """A column of texts.

    Args:
        key: Key of the text or control.
        width: Width of the column.
    """
    return st.column_config.TextColumn(t(key), width=width)


def number_column(key: str, form: str = "%.4g") -> object:
    """A column of numbers.

    Args:
        key: Key of the text or control.
        form: Format of the numbers, as d3 writes it.
    """
    return st.column_config.NumberColumn(t(key) if "." in key else key, format=form)


def build_bar_column(key: str, most: float = 100.0, form: str = "%.1f %%") -> object:
    """Numbers with a bar each, from 0 to `most`.

    Args:
        key: Key of the text or control.
        most: The end of the scale.
        form: Format of the numbers, as d3 writes it.
    """
    return st.column_config.ProgressColumn(t(key), format=form, min_value=0, max_value=most)
