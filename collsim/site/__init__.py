"""What is handed out: worksheets and slides as files, and a site that any web server or a USB stick can serve."""

from __future__ import annotations

from .slides import SlideDeck, write_slides
from .static_site import Site, build_site
from .worksheet_files import write_worksheet

__all__ = ["Site", "SlideDeck", "build_site", "write_slides", "write_worksheet"]
