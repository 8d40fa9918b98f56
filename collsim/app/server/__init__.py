"""The server around the pages: where it listens, whom it admits, and the limits of each client.

By default it listens on this computer only. `collsim app --class` opens it to a class: then a client enters the join
code before anything of the app runs (`access_control`), and what one client and all clients together may use is limited
(`clients`).
"""

from .addresses import listens_on_loopback
from .invitation import Invitation, create_invitation
from .join_code import render_qr_svg
from .page_delivery import write_loader
from .rerun_queue import ServerBusy
from .session_client import get_session_client, is_local_session
from .startup import PAGES, build_middleware, get_rerun_queue, register_shutdown, register_startup, run_lifespan

__all__ = [
    "PAGES",
    "Invitation",
    "ServerBusy",
    "build_middleware",
    "create_invitation",
    "get_rerun_queue",
    "get_session_client",
    "is_local_session",
    "listens_on_loopback",
    "register_shutdown",
    "register_startup",
    "render_qr_svg",
    "run_lifespan",
    "write_loader",
]
