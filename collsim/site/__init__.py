"""What is handed out: worksheets and slides as files, and a site that any web server or a USB stick can serve."""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
    from .slides import SlideDeck, write_slides
    from .static_site import Site, build_site
    from .worksheet_files import write_worksheet

__all__ = ["Site", "SlideDeck", "build_site", "write_slides", "write_worksheet"]

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "slides": ("SlideDeck", "write_slides"),
            "static_site": ("Site", "build_site"),
            "worksheet_files": ("write_worksheet",),
        },
    )
