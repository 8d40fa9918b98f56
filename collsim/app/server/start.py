"""What `app.py` hands to Streamlit: the script of the pages, the door, and what happens at the start and the end."""

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
from typing import Any
from urllib.parse import urlencode

from starlette.middleware import Middleware
from starlette.types import Scope
from streamlit import config

from collsim.errors import CollsimError
from collsim.plugins import SWITCH, refuse

from .admission import Admission, code_wanted
from .clients import ClientLimits, Clients
from .door import Door
from .listening import listens_on_loopback, url_here, urls_of_the_room
from .loading import Loading
from .qr import in_terminal

#: The script of the pages.
PAGES = str(Path(__file__).parents[1] / "entry" / "script.py")
#: The variable that says how many pages one client may have open; its reruns grow with it.
TABS = "COLLSIM_TABS_PER_CLIENT"
_begins: list[Callable[[], None]] = []
_ends: list[Callable[[], None]] = []


@cache
def admission() -> Admission | None:
    """Who may come in from the room; None where the server is for this computer only."""
    return None if listens_on_loopback() else Admission(code_wanted())


def middleware(first: Callable[[Scope, str], str]) -> list[Middleware]:
    """The layers around Streamlit; `first` says what stands on a page until Streamlit has loaded there, or nothing."""
    if admission() is not None and os.environ.get(SWITCH) != "1":
        refuse()  # what was installed for its owner is not for whoever comes in
    base = str(config.get_option("server.baseUrlPath") or "").strip("/")
    clients = Clients(limits_wanted())
    base = f"/{base}" if base else ""
    loading = Middleware(Loading, base=base, first=first)
    return [Middleware(Door, admission=admission(), clients=clients, base=base), loading]


def limits_wanted() -> ClientLimits:
    """The limits of a client; `COLLSIM_TABS_PER_CLIENT` says how many pages. Raises CollsimError for no number."""
    given = os.environ.get(TABS, "")
    if not given:
        return ClientLimits()
    if not given.isdecimal() or not 1 <= int(given) <= 1000:
        raise CollsimError(
            "{tabs}={given!r}: pages that one client may have open are a number from 1 to 1000", tabs=TABS, given=given
        )
    return replace(ClientLimits(), tabs=int(given))


def joined(url: str, **query: str) -> str:
    """An address of the app with the join code in it, where there is one, and what else it asks for."""
    held = admission()
    said = {**query, **({} if held is None else {"join": held.code})}
    return f"{url}?{urlencode(said)}" if said else url


def at_end(end: Callable[[], None]) -> None:
    """Call this when the server ends; a signal ends it without Python's `atexit`."""
    _ends.append(end)


def at_start(begin: Callable[[], None]) -> None:
    """Call this beside the start, while the first pages are served already."""
    _begins.append(begin)


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[dict[str, Any]]:
    """Say where the app is and open it; at the end stop what is being computed."""
    print(welcome(), flush=True)
    threading.Thread(target=_get_ready, daemon=True, name="collsim-ready").start()
    if not config.get_option("server.headless"):
        webbrowser.open(url_here())
    try:
        yield {}
    finally:
        for end in _ends:
            end()


def _get_ready() -> None:
    for begin in _begins:
        begin()


def welcome() -> str:
    """What the terminal shows: the address; of a server that is open to a room also the join code and a QR code."""
    held = admission()
    if held is None:
        return f"\n  collsim: {url_here()}\n  For this computer only; `collsim app --class` opens it to a room.\n"
    first, *others = urls_of_the_room()
    lines = [
        f"  collsim is open to the room: {first}",
        f"  Join code: {held.code.upper()}",
        *(f"  This computer is also {url}" for url in others),
        f"  You, at this computer: {url_here()}",
    ]
    picture = in_terminal(joined(first))
    return "\n".join(["", *lines, "", picture if _prints(picture) else ""])


def _prints(text: str) -> bool:
    """Has the terminal these characters?"""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
