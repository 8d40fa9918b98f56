"""The websocket of one page: only messages that a page of this app sends reach Streamlit, at the pace of its client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .message_filter import judge_message

#: Seconds after which a page is closed that does not read what the app sends: until then Streamlit stores it.
SEND_TIMEOUT = 30.0
#: The codes with which a connection is closed (RFC 6455, 7.4.1): one message was too large; the page did not answer.
TOO_LARGE, UNRESPONSIVE = 1009, 1008


class PageConnection:
    """Passes messages between a page and Streamlit.

    Args:
        receive: returns the next message of the page.
        send: sends a message to the page.
        pace: counts a message of the page and returns the seconds for which it waits.
    """

    def __init__(self, receive: Receive, send: Send, pace: Callable[[], float]):
        self._receive, self._send, self._pace = receive, send, pace
        self._is_closed = False
        self._unresponsive = asyncio.Event()

    async def serve(self, app: ASGIApp, scope: Scope) -> None:
        """Serve the page until it is closed.

        Args:
            app: Streamlit's.
            scope: Of the WebSocket.
        """
        try:
            await app(scope, self._receive_allowed, self._send_while_open)
        except RuntimeError:  # Starlette's, where Streamlit reads from or closes what is closed already
            if not self._is_closed:
                raise

    async def _receive_allowed(self) -> Message:
        """Return the next message of the page that may reach Streamlit; close the page at one that is too large."""
        while True:
            message = await self._receive_until_closed()
            if message["type"] != "websocket.receive":
                return message
            await asyncio.sleep(self._pace())
            verdict = judge_message(message.get("bytes") or b"")
            if verdict == "close":
                await self._send_while_open({"type": "websocket.close", "code": TOO_LARGE})
                return {"type": "websocket.disconnect", "code": TOO_LARGE}
            if verdict == "pass":
                return message

    async def _receive_until_closed(self) -> Message:
        """Return the next message of the page, or its end where it does not read."""
        message = asyncio.ensure_future(self._receive())
        unresponsive = asyncio.ensure_future(self._unresponsive.wait())
        try:
            await asyncio.wait((message, unresponsive), return_when=asyncio.FIRST_COMPLETED)
            if unresponsive.done():
                return {"type": "websocket.disconnect", "code": UNRESPONSIVE}
            self._is_closed = self._is_closed or message.result()["type"] == "websocket.disconnect"
            return message.result()
        finally:
            message.cancel()
            unresponsive.cancel()

    async def _send_while_open(self, message: Message) -> None:
        """Send a message to the page; end a page that does not read."""
        if self._is_closed:
            return
        self._is_closed = message["type"] == "websocket.close"
        try:
            async with asyncio.timeout(SEND_TIMEOUT):
                await self._send(message)
        except TimeoutError:
            self._is_closed = True
            self._unresponsive.set()
        except (OSError, RuntimeError):  # it is gone or closed, which the app learns when it reads
            self._is_closed = True
