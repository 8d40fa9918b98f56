"""What a page of the app may load, as browsers enforce it: an ASGI layer that adds a Content-Security-Policy.

Pages show texts of people whom nobody knows: a question of a teacher, the name in a file, a link. Whatever such a text
makes of a page, no browser asks another host for an image, a font, a style, a frame, a script or data because of it.
"""

from __future__ import annotations

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from collsim.package_data import read_toml

_HOST = re.compile(r"[A-Za-z0-9._:\[\]-]+")
#: Source of each kind of content. Streamlit has scripts and styles within its page, and draws charts with Vega, which
#: compiles what it draws; the player keeps pictures in blobs; components are modules in blobs.
_SOURCES: dict[str, str] = read_toml(__file__, "content_policy.toml")["sources"]


def build_content_policy(host: str) -> str:
    """Return the policy of a page.

    Args:
        host: the Host of the request. Browsers of before 2022 do not take the page's own WebSocket for 'self', so it
            is named.
    """
    socket = f" ws://{host} wss://{host}" if _HOST.fullmatch(host) else ""
    sources = _SOURCES | {"connect-src": f"'self' data: blob:{socket}"}
    return "; ".join(f"{kind} {source}" for kind, source in sources.items())


class ContentPolicy:
    """The ASGI layer; a response that has a policy of its own keeps it."""

    def __init__(self, app: ASGIApp):
        """Wrap an application.

        Args:
            app: Its responses get the headers.
        """
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add the policy to the response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        policy = build_content_policy(Headers(scope=scope).get("host", ""))

        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", policy)
                headers.setdefault("X-Content-Type-Options", "nosniff")
            await send(message)

        await self.app(scope, receive, send_with_policy)
