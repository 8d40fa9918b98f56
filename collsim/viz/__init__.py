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

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
    from .hosts.show import Animation, animate, html, save_run
    from .pictures import plots
    from .timeline.timeline_document import build_timeline, decode, encode

__all__ = ["Animation", "animate", "build_timeline", "decode", "encode", "html", "plots", "save_run"]

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "hosts.show": ("Animation", "animate", "html", "save_run"),
            "pictures.nccl_plots": ("nccl_plots",),
            "pictures.plots": ("plots",),
            "pictures.training_plots": ("training_plots",),
            "timeline.timeline_document": ("build_timeline", "decode", "encode"),
        },
    )
