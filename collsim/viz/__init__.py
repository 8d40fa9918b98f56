"""Pictures of a Trace: the player in a notebook or a file, still pictures, and plots. Reads Traces; computes nothing
new.

Packages, each of which imports only from those before it:

- `sentences`, `layout`: what happens in words; where things stand (blind to each other);
- `timeline`: both in the JSON that the player draws;
- `pictures`: stills, films and plots of matplotlib;
- `hosts`: notebook, widget and offline file, and the JavaScript that they load, joined;
- `race`, `route`, `training`, `simple`, `program`, `diagnosis`: several runs on one clock; the route between two ranks;
  a step of training; the first minute; the ranks of a program on lanes; a diagnosed job (blind to each other);
- `real`, `splits`: a measured run, or step, below its prediction; a step over many GPUs: pipelines and FSDP on one
  clock, ranks on nodes, every split as a map (blind to each other);
- `story`: one page to scroll, from a server that adds everything to a step of training.

`player` is JavaScript: `model`, then `draw`, `charts` and `ui`, each of which imports only from those before it.
matplotlib and Pillow are imported when a picture is asked for, never before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from ..errors.arguments import check_arguments
from .hosts.show import Animation, save_run
from .timeline.timeline_document import build_timeline, decode, encode

if TYPE_CHECKING:
    from ..simulate import Trace
    from .hosts.player_page import FrameOptions

__all__ = ["Animation", "animate", "build_timeline", "decode", "encode", "html", "plots", "save_run"]


def __getattr__(name: str) -> object:
    if name not in ("plots", "nccl_plots", "training_plots"):
        raise AttributeError(f"module 'collsim.viz' has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"collsim.viz.pictures.{name}")


@check_arguments
def animate(trace: Trace, language: str = "en", **options: Unpack[FrameOptions]) -> Animation:
    """The player, for a notebook cell: shows itself, also in exported notebooks without a network.

    Args:
        trace: The run.
        language: `en` or `zh`.
        **options: Of the frame: `height` (pixels), `theme` (`light`, `dark`), `view` (`physical`, `logical`), `t`
            (seconds).

    Returns:
        An object that a notebook shows as the player; its `save` writes a file.

    Raises:
        CollsimError: The language is not known.

    Examples:
        >>> import collsim as cs
        >>> from collsim import viz
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=8), "dgx-a100", "1MiB")
        >>> viz.animate(trace, language="zh").timeline["meta"]["ranks"]
        8
    """
    return Animation(trace, language, options)


@check_arguments
def html(trace: Trace) -> str:
    """A run as HTML for a notebook: its figures, and below them the player where the run is not too large to be
    drawn.

    Args:
        trace: The run.

    Returns:
        HTML that needs no other file.

    Examples:
        >>> import collsim as cs
        >>> from collsim import viz
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), nbytes="1MiB")
        >>> "allreduce_ring(4)" in viz.html(trace)
        True
    """
    from ..errors import CollsimError
    from .hosts.notebook_tables import format_printed_trace

    try:
        return format_printed_trace(str(trace)) + animate(trace)._repr_html_()
    except CollsimError:
        return format_printed_trace(str(trace))
