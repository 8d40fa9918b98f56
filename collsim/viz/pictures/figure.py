"""Figures of their own (never pyplot's) that a notebook shows."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ...errors.dependencies import require_package
from . import palette

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure


def create_figure(wide: float, tall: float, **options: Any) -> Figure:
    """An empty figure of so many inches.

    Args:
        wide: Width in inches.
        tall: Height in inches.
        **options: Keywords of `matplotlib.figure.Figure`.
    """
    require_package("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(wide, tall), facecolor=palette.CARD, **options)
    FigureCanvasAgg(figure)
    return figure


def show_in_notebook(artist: Any, dpi: float) -> Any:
    """A figure, or Axes of one, that a notebook shows as the figure; without pyplot it would not know how.

    Args:
        artist: A figure, or Axes of one; it gets a `_repr_png_`.
        dpi: Dots per inch.
    """
    artist._repr_png_ = partial(render_png, artist, dpi)
    return artist


def render_png(artist: Artist, dpi: float) -> bytes:
    """The bytes of a PNG file.

    Args:
        artist: A figure, or Axes of one.
        dpi: Dots per inch.
    """
    figure: Any = artist.get_figure(root=True)
    out = BytesIO()
    figure.savefig(out, format="png", dpi=dpi)
    return out.getvalue()
