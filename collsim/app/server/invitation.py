"""What a teacher shows a class: the address under which others find this server, and the code that lets them in."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from .listening import is_loopback, listens_on_loopback, urls_of_the_room
from .start import admission, joined


@dataclass(frozen=True)
class Invitation:
    """How a class comes to a page.

    Attributes:
        shown: the address to be typed, without `http://` and without the join code.
        link: the whole address with the join code, for a QR code; empty where only this computer can reach the server.
        code: the join code, in capitals; empty where none is asked for.
    """

    shown: str
    link: str = ""
    code: str = ""


def invitation(opened: str, **query: str) -> Invitation:
    """The way to the app; `opened` is the address under which the teacher's browser sees it."""
    here = urlsplit(opened)
    if listens_on_loopback():
        base = here.path.rpartition("/")[0]
        return Invitation(f"{here.netloc}{base}/?{urlencode(query)}")
    name = here.hostname or "localhost"
    found = (
        urls_of_the_room()[0] if is_loopback(name) else f"{here.scheme}://{here.netloc}{here.path.rpartition('/')[0]}/"
    )
    held = admission()
    return Invitation(
        f"{found.partition('://')[2]}?{urlencode(query)}", joined(found, **query), held.code.upper() if held else ""
    )
