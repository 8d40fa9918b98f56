"""What `app.py` hands to Streamlit: the script of the pages, the layers around them, and what happens at the start and
at the end of the server."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

from starlette.middleware import Middleware
from starlette.types import Scope
from streamlit import config

from collsim.errors import CollsimError
from collsim.plugins import SWITCH, disable

from .access_control import AccessControl
from .addresses import build_local_url, get_base_path, list_class_urls, listens_on_loopback
from .clients import ClientLimits, Clients
from .connections import install_limits, raise_file_limit
from .content_policy import ContentPolicy
from .join_code import JoinCode, read_join_code, render_qr_text
from .page_delivery import PageDelivery
from .rerun_queue import RerunQueue

#: The script of the pages.
PAGES = str(Path(__file__).parents[1] / "entry" / "streamlit_script.py")
#: The environment variable that sets how many pages one client may have open; its other limits grow with it.
TABS = "COLLSIM_TABS_PER_CLIENT"
#: Of a client that may open more pages than usual, so many pages count as one client.
PAGES_PER_RERUN = ClientLimits().pages
_startup_callbacks: list[Callable[[], None]] = []
_shutdown_callbacks: list[Callable[[], None]] = []


@cache
def get_join_code() -> JoinCode | None:
    """Return the join code of this server; None where it is for this computer only."""
    return None if listens_on_loopback() else JoinCode(read_join_code())


def build_middleware(build_first_frame: Callable[[Scope, str], str]) -> list[Middleware]:
    """Return the ASGI layers around Streamlit.

    Args:
        build_first_frame: returns, for a request and the path before all paths, the HTML that stands on a page until
            Streamlit has loaded there, or an empty text.
    """
    join_code = get_join_code()
    if join_code is not None and os.environ.get(SWITCH) != "1":
        disable()  # packages that the owner installed are not for the class
    base = get_base_path()
    limits = read_limits()
    install_limits(limits.pages)
    if join_code is not None:
        raise_file_limit()
    clients = Clients(limits, is_heavy=get_rerun_queue().is_heavy)
    return [
        Middleware(ContentPolicy),
        Middleware(AccessControl, join_code=join_code, clients=clients, base=base),
        Middleware(PageDelivery, base=base, build_first_frame=build_first_frame),
    ]


@cache
def get_rerun_queue() -> RerunQueue:
    """Return the queue of reruns of this server. A class behind one address has a rerun under way for every so many
    pages that the address may open."""
    return RerunQueue(per_client=max(1, read_limits().pages // PAGES_PER_RERUN))


def read_limits() -> ClientLimits:
    """Return the limits of a client; `COLLSIM_TABS_PER_CLIENT` sets the number of its pages.

    Raises:
        CollsimError: the variable holds no number from 1 to 1000.
    """
    text = os.environ.get(TABS, "")
    if not text:
        return ClientLimits()
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        template = "{tabs}={value!r}: pages that one client may have open are a number from 1 to 1000"
        raise CollsimError(template, tabs=TABS, value=text)
    return replace(ClientLimits(), pages=int(text))


def build_join_url(url: str, **query: str) -> str:
    """Return an address of the app with a query and, where there is a join code, with the code in it.

    Args:
        url: Without a query.
        query: Its parameters.
    """
    join_code = get_join_code()
    if join_code is not None:
        query["join"] = join_code.code
    return f"{url}?{urlencode(query)}" if query else url


def register_shutdown(callback: Callable[[], None]) -> None:
    """Call this when the server ends; a signal ends it without Python's `atexit`."""
    _shutdown_callbacks.append(callback)


def register_startup(callback: Callable[[], None]) -> None:
    """Call this at the start, in a thread of its own, while the server already serves its first pages."""
    _startup_callbacks.append(callback)


@asynccontextmanager
async def run_lifespan(app: object) -> AsyncIterator[dict[str, object]]:
    """Print where the app is and open it; at the end of the server stop all computations.

    Args:
        app: Not used: Starlette calls it with the application.
    """
    print(describe_server(), flush=True)
    threading.Thread(target=_run_startup, daemon=True, name="collsim-startup").start()
    if not config.get_option("server.headless"):
        webbrowser.open(build_local_url())
    try:
        yield {}
    finally:
        for callback in _shutdown_callbacks:
            callback()


def _run_startup() -> None:
    for callback in _startup_callbacks:
        callback()


def describe_server() -> str:
    """Return what the terminal shows: the address; of a server that is open to a class also the join code and a QR
    code."""
    join_code = get_join_code()
    if join_code is None:
        return (
            f"\n  collsim: {build_local_url()}\n  For this computer only; `collsim app --class` opens it to a class.\n"
        )
    first, *others = list_class_urls()
    lines = [
        f"  collsim is open to the room: {first}",
        f"  Join code: {join_code.code.upper()}",
        *(f"  This computer is also {url}" for url in others),
        f"  You, at this computer: {build_local_url()}",
    ]
    picture = render_qr_text(build_join_url(first))
    return "\n".join(["", *lines, "", picture if _can_print(picture) else ""])


def _can_print(text: str) -> bool:
    """Whether the terminal has these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
