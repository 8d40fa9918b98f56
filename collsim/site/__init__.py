"""What is handed out: worksheets as files, and a site that any web server or a USB stick can serve."""

from __future__ import annotations

from .build import Site, build
from .sheets import write_worksheet

__all__ = ["Site", "build", "write_worksheet"]
