"""What a teacher shows a class: the address under which others find this server, and the join code."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from .addresses import is_loopback, list_class_urls, listens_on_loopback
from .startup import build_join_url, get_join_code


@dataclass(frozen=True)
class Invitation:
    """How a class comes to a page.

    Attributes:
        address: what people type, without `http://` and without the join code.
        link: the whole address with the join code, for a QR code; empty where only this computer can reach the server.
        code: the join code, in capitals; empty where the server needs none.
    """

    address: str
    link: str = ""
    code: str = ""


def create_invitation(url: str, **query: str) -> Invitation:
    """Return the invitation to a page of the app.

    Args:
        url: the address under which the teacher's browser shows the app.
        query: what the address of the page holds.
    """
    parts = urlsplit(url)
    base = f"{parts.netloc}{parts.path.rpartition('/')[0]}/"
    if listens_on_loopback():
        return Invitation(f"{base}?{urlencode(query)}")
    class_url = list_class_urls()[0] if is_loopback(parts.hostname or "localhost") else f"{parts.scheme}://{base}"
    join_code = get_join_code()
    code = "" if join_code is None else join_code.code.upper()
    return Invitation(f"{class_url.partition('://')[2]}?{urlencode(query)}", build_join_url(class_url, **query), code)
