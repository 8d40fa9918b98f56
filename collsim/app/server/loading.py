"""What a browser loads before a page can be drawn, made quick: an ASGI layer between the door and Streamlit.

Streamlit's scripts and style sheets go compressed (3 MB become 1), each compressed once, as their names change with
what is in them. The first page comes with a picture of its run (`entry.first_frame`), which stands there until the
page does.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from cachetools import LRUCache
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Bytes of compressed files that are kept.
MOST_KEPT = 24 * 2**20
_PACKED = (".js", ".css", ".html", ".svg", ".json")
#: What asks for a part of a file, or for nothing where it has not changed; and what would be wrong of another body.
_PARTIAL = (b"range", b"if-none-match", b"if-modified-since", b"if-range")
_OF_BODY = (b"content-length", b"etag", b"accept-ranges", b"last-modified")


@dataclass(frozen=True)
class Served:
    """A whole answer of the app."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def with_body(self, body: bytes, *more: tuple[bytes, bytes]) -> Served:
        """The same headers, as far as they hold for any body, with another one."""
        kept = tuple(pair for pair in self.headers if pair[0].lower() not in _OF_BODY)
        return Served(self.status, (*kept, *more, (b"content-length", str(len(body)).encode())), body)

    async def say(self, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": self.status, "headers": list(self.headers)})
        await send({"type": "http.response.body", "body": self.body})


class Loading:
    """The layer; `base` is the path before all, `first` says what stands on a page until Streamlit has loaded there."""

    def __init__(self, app: ASGIApp, base: str = "", first: Callable[[Scope, str], str] = lambda scope, base: ""):
        self.app, self.base, self.first = app, base, first
        self._kept: MutableMapping[str, Served] = LRUCache(MOST_KEPT, getsizeof=lambda answer: len(answer.body))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with what is better than what the app says, or let the app answer."""
        if scope["type"] == "http" and scope["method"] == "GET":
            headers = Headers(scope=scope)
            if self._is_packed(scope["path"], headers):
                await (await self._file(scope)).say(send)
                return
            frame = self.first(scope, self.base)
            if frame:
                await _with(frame, await _answered(self.app, scope)).say(send)
                return
        await self.app(scope, receive, send)

    def _is_packed(self, path: str, headers: Headers) -> bool:
        inside = path.startswith(f"{self.base}/static/") and path.endswith(_PACKED)
        return inside and "gzip" in headers.get("accept-encoding", "") and "range" not in headers

    async def _file(self, scope: Scope) -> Served:
        """A file, compressed where the app has it."""
        path = scope["path"]
        if path in self._kept:
            return self._kept[path]
        plain = await _answered(self.app, scope)
        if plain.status != 200 or any(name.lower() == b"content-encoding" for name, _ in plain.headers):
            return plain
        body = await asyncio.to_thread(gzip.compress, plain.body, 6, mtime=0)
        packed = plain.with_body(body, (b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding"))
        if len(body) <= MOST_KEPT:
            self._kept[path] = packed
        return packed


def _with(frame: str, page: Served) -> Served:
    """The page with the picture at its end; as it is where it is no page."""
    before, end, after = page.body.rpartition(b"</body>")
    return page.with_body(before + frame.encode() + end + after) if page.status == 200 and end else page


async def _answered(app: ASGIApp, scope: Scope) -> Served:
    """The app's whole answer, as if the browser had nothing yet. That a browser has gone is not said: what the app
    would break off then would be kept for all others."""
    wanted: dict[str, Any] = {**scope, "extensions": {}}
    wanted["headers"] = [(name, value) for name, value in scope["headers"] if name.lower() not in _PARTIAL]
    got: list[Message] = []
    asked: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        return asked.pop() if asked else await asyncio.get_running_loop().create_future()

    async def take(message: Message) -> None:
        got.append(message)

    await app(wanted, receive, take)
    body = b"".join(message.get("body", b"") for message in got[1:])
    return Served(got[0]["status"], tuple((bytes(a), bytes(b)) for a, b in got[0].get("headers", ())), body)
