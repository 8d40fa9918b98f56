"""The server around the pages: where it listens, who comes in, and how much one client may ask for.

Without more it listens on this computer only. `collsim app --class` opens it to the room: then a client gives the join
code before anything runs (`door`), and what one client and all clients together may ask for is bounded (`clients`).
"""

from .clients import client_of
from .invitation import Invitation, invitation
from .listening import listens_on_loopback
from .qr import as_picture
from .start import PAGES, at_end, at_start, lifespan, middleware

__all__ = [
    "PAGES",
    "Invitation",
    "as_picture",
    "at_end",
    "at_start",
    "client_of",
    "invitation",
    "lifespan",
    "listens_on_loopback",
    "middleware",
]
