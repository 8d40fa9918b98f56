"""Figures of their own (never pyplot's) that a notebook shows, in the light and in the dark theme."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ...display import palette as tokens
from ...errors.arguments import check_arguments
from ...errors.dependencies import require_package
from . import colours

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

    figure = Figure(figsize=(wide, tall), facecolor=colours.CARD, **options)
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


@check_arguments
def darken(figure: Figure) -> Figure:
    """Give a finished figure the colours of the dark theme, for slides with a dark background.

    Args:
        figure: of a plot, as `plots.gantt(trace).figure`; it is changed.

    Returns:
        The same figure.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz import plots
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), "1MiB")
        >>> plots.darken(plots.gantt(trace).figure).savefig("dark.png")
    """
    for artist in figure.findobj():
        for part in ("facecolor", "edgecolor", "color", "markerfacecolor", "markeredgecolor"):
            # `set_color` of a patch or a collection would fill its face and edge with one colour
            if part == "color" and hasattr(artist, "get_facecolor"):
                continue
            if hasattr(artist, f"get_{part}") and hasattr(artist, f"set_{part}"):
                getattr(artist, f"set_{part}")(_darken_colors(getattr(artist, f"get_{part}")()))
    return figure


def _darken_colors(colors: Any) -> Any:
    """One colour, or an array of colours; `none` and `auto` stay."""
    from matplotlib.colors import to_rgba, to_rgba_array

    if isinstance(colors, str) and colors in ("none", "auto"):
        return colors
    rows = to_rgba_array(colors)
    dark = [(*_darken_color(row[:3]), row[3]) for row in rows]
    if isinstance(colors, str) or (len(rows) == 1 and len(colors) != 1):
        return to_rgba(dark[0])
    return dark


def _darken_color(color: Any) -> tuple[float, ...]:
    """The dark colour of a token; a grey between those of ink and card; any other colour as it is."""
    from matplotlib.colors import to_hex, to_rgb

    dark = {light.lower(): night for light, night in reversed(tokens.TOKENS.values())}
    if (name := to_hex(color)) in dark:
        return to_rgb(dark[name])
    if max(color) - min(color) > 0.02:
        return tuple(color)
    ink, card = (to_rgb(tokens.TOKENS[token][1]) for token in ("ink", "card"))
    return tuple(color[0] * c + (1 - color[0]) * i for i, c in zip(ink, card, strict=True))
